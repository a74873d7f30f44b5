/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Convection and diffusion: -div(k grad u) + beta . grad u = f, by streamline-upwind Petrov-Galerkin (SUPG,
  Brooks & Hughes 1982). In weak form, for all v that are 0 where u is given:
    (k grad u, grad v) + (beta . grad u, v + tau beta . grad v) = (f, v + tau beta . grad v)
      + (k du/dn, v) on the boundary
    convection -peclet 1e4 -ksp_type gmres -ksp_gmres_restart 50 -ksp_converged_reason
    mpirun -n 3 convection -solution layer -cell tet4 -n 12 -ksp_type bicgstab -pc_type jacobi -output layer

  The matrix is not symmetric. If convection dominates (|beta| h > 2 k), it has no dominant diagonal either,
  and Galerkin's method (tau = 0) oscillates: see -solution layer -stabilise no, which fails. Here tau = h /
  (2 |beta|) (coth s - 1 / s) with s = |beta| h / (2 k), and h is the length of the cell along the stream.
  Second derivatives of u belong to the term with tau, but are 0 in linear elements on bricks. In quadratic
  ones they are left out, which costs them an order where diffusion matters. Some problems are known, with
  |beta| = 1 and k = 1 / Pe:
    layer   beta along x, f = 0: u = (exp(Pe x) - 1) / (exp(Pe) - 1), with a layer of thickness 1 / Pe on the
            right. With this tau the values at the nodes of even bricks are exact, for any Pe. The program
            checks that, to the solver's tolerance
    smooth  beta at an -angle: u = sin(pi x) exp(y), times cos(z) in 3D. The error must fall like h in H1
            (checked to 0.1)
    skew    beta at an -angle, f = 0: u is 1 where the stream enters at y <= 0.2, else 0. A layer goes from
            there through the box. The exact u is in [0, 1]. SUPG is not monotone across a layer: see
            -peclet 1e6 -solution skew, which warns

  A problem of your own has data of groups (fem/scalar.h). What flows in by source, flux, transfer, at given
  values and with the stream must sum up to 0. A range is printed beside that of the maximum principle.
    convection -mesh part.msh -material "water: conductivity = 1e-3, velocity = 1 0 0"
      -boundary "inlet: value = 1; wall: value = 0"
*/
#include "fem/cells.h"
#include "fem/program.h"
#include "fem/scalar.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

typedef enum Solution { LAYER, SMOOTH, SKEW, BOTH, OWN } Solution;

typedef struct Settings {
  PoiseInt n;
  int cell, solution, stabilise, assembly, check;
  double scale, peclet, angle;
  char field[POISE_OPTION_LENGTH], mesh[POISE_OPTION_LENGTH], output[POISE_OPTION_LENGTH];
  char material[POISE_OPTION_LENGTH], boundary[POISE_OPTION_LENGTH];
} Settings;

static const FemCell kinds[] = {FEM_TRI3, FEM_QUAD4, FEM_TET4, FEM_HEX8};

static const PoiseOption options[] = {
    {"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "quad4", 0, 0, "tri3|quad4|tet4|hex8",
     "kind of cells"},
    {"mesh", POISE_OPTION_STRING, offsetof(Settings, mesh), "", 0, 0, NULL,
     "a .msh file of Gmsh, version 2 or 4.1, with a problem of your own; not beside -cell and -n"},
    {"mesh_scale", POISE_OPTION_REAL, offsetof(Settings, scale), "1", 1e-30, 1e30, NULL, FEM_SCALE_HELP},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "24", 2, 20000, NULL,
     "bricks per side; smooth: of the coarser mesh"},
    {"solution", POISE_OPTION_CHOICE, offsetof(Settings, solution), "both", 0, 0, "layer|smooth|skew|both",
     "which problem to solve; both: layer and smooth"},
    {"material", POISE_OPTION_STRING, offsetof(Settings, material), "", 0, 0, NULL, FEM_MATERIAL_HELP},
    {"boundary", POISE_OPTION_STRING, offsetof(Settings, boundary), "", 0, 0, NULL, FEM_BOUNDARY_HELP},
    {"peclet", POISE_OPTION_REAL, offsetof(Settings, peclet), "100", 1e-3, 1e12, NULL,
     "Peclet number of the box"},
    {"angle", POISE_OPTION_REAL, offsetof(Settings, angle), "30", -360, 360, NULL,
     "smooth, skew: of beta with the x axis, degrees"},
    {"stabilise", POISE_OPTION_BOOL, offsetof(Settings, stabilise), "yes", 0, 0, NULL,
     "SUPG; no: Galerkin's method"},
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "auto", 0, 0, FEM_WAYS,
     "how the matrix is assembled; auto: device on a GPU if it can be, else elements"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL,
     "compare with the other way"},
    {"field", POISE_OPTION_STRING, offsetof(Settings, field), "u", 0, 0, NULL, FEM_FIELD_HELP},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write the solution to <name>_<solution>.vtu, residual norms to .csv"},
    {0}};

typedef struct Level {
  const Settings *set;
  Solution which;
  double beta[3]; /* of a known problem */
  FemMesh mesh;
  FemScalar own;
  FemSystem system;
  PoiseKSP ksp;
  PoiseVec exact;
  double *values;
} Level;

/* ---- the problem ----------------------------------------------------------------------------- */

static double Layer(const double x[3], void *arg, double gradient[3])
{
  const double pe = ((const Level *)arg)->set->peclet, scale = -expm1(-pe);
  gradient[0] = pe * exp(-pe * (1 - x[0])) / scale;
  gradient[1] = gradient[2] = 0;
  return (exp(-pe * (1 - x[0])) - exp(-pe)) / scale;
}

static double Smooth(const double x[3], void *arg, double gradient[3])
{
  const double u = sin(pi * x[0]) * exp(x[1]) * cos(x[2]);
  (void)arg;
  gradient[0] = pi * cos(pi * x[0]) * exp(x[1]) * cos(x[2]);
  gradient[1] = u;
  gradient[2] = -sin(pi * x[0]) * exp(x[1]) * sin(x[2]);
  return u;
}

static void LayerValue(const double x[3], void *arg, double *value)
{
  double gradient[3];
  *value = Layer(x, arg, gradient);
}

static void SmoothValue(const double x[3], void *arg, double *value)
{
  double gradient[3];
  *value = Smooth(x, arg, gradient);
}

/* The stream enters at x = 0 and at y = 0. */
static void SkewValue(const double x[3], void *arg, double *value)
{
  (void)arg;
  *value = x[1] <= 0.2 + 1e-12;
}

static const struct {
  const char *name;
  FemExact exact; /* or NULL */
  FemValue value; /* on the boundary */
} solutions[] = {{"layer", Layer, LayerValue}, {"smooth", Smooth, SmoothValue}, {"skew", NULL, SkewValue}};

static double SmoothSource(const FemPoint *p, const Level *l)
{
  double g[3], u = Smooth(p->x, NULL, g), minusLaplacian = (p->dim == 2 ? pi * pi - 1 : pi * pi) * u;
  return minusLaplacian / l->set->peclet + l->beta[0] * g[0] + l->beta[1] * g[1];
}

/* k, beta and f at a point. */
static FemMaterial Data(const FemPoint *p, const Level *l)
{
  if (l->which == OWN) return FemMaterialAt(&l->own, p);
  return (FemMaterial){.conductivity = 1 / l->set->peclet,
                       .velocity = {l->beta[0], l->beta[1], l->beta[2]},
                       .source = l->which == SMOOTH ? SmoothSource(p, l) : 0};
}

static double Tau(int nodes, const FemVector *grad, const FemMaterial *data)
{
  const double speed = sqrt(FemDot(data->velocity, data->velocity));
  double along[3];
  if (speed == 0) return 0;
  for (int c = 0; c < 3; c++) along[c] = data->velocity[c] / speed;
  return FemStreamTime(nodes, grad[0], along, data->conductivity / speed) / speed;
}

/* K_ab = (k grad N_a, grad N_b) + (N_a + tau s_a, s_b),  F_a = (N_a + tau s_a, f),  s_a = beta . grad N_a */
static void Transport(const FemPoint *p, void *arg, double *K, double *F)
{
  const Level *l = arg;
  const FemMaterial data = Data(p, l);
  const FemVector *grad = FemGrad(p);
  const double tau = l->set->stabilise ? Tau(p->nodes, grad, &data) : 0;
  double s[FEM_MAX_NODES];
  for (int a = 0; a < p->nodes; a++) s[a] = FemDot(data.velocity, grad[a]);
  for (int a = 0; a < p->nodes; a++) {
    const double test = p->N[a] + tau * s[a];
    for (int b = 0; b < p->nodes && K != NULL; b++)
      K[a * p->nodes + b] += p->dV * (data.conductivity * FemDot(grad[a], grad[b]) + test * s[b]);
    F[a] += p->dV * test * data.source;
  }
}

/* ---- one mesh -------------------------------------------------------------------------------- */

static PoiseErr AssembleCells(Level *l)
{
  const double *beta = l->beta;
  const FemOperator op = {.stiffness = 1 / l->set->peclet,
                          .stream = {beta[0], beta[1], beta[2]},
                          .upwind = l->set->stabilise,
                          .source = l->which == SMOOTH};
  POISE_TRY(FemAssembleCells(&l->system, Transport, l, &op));
  return l->set->check ? FemCheckAssembly(&l->system, Transport, l) : POISE_OK;
}

/* u is given on the whole boundary; skew: on the sides x = 0 and y = 0, which are groups 1 and 3. */
static PoiseErr AssembleKnown(Level *l)
{
  POISE_TRY(AssembleCells(l));
  for (int g = 0; g < l->mesh.groups; g++) {
    const FemGroup *group = &l->mesh.group[g];
    if (group->dim != l->mesh.dim - 1) continue;
    if (l->which == SKEW && group->number != 1 && group->number != 3) continue;
    POISE_TRY(FemFix(&l->system, group->number, solutions[l->which].value, l));
  }
  return FemConstrain(&l->system);
}

static PoiseErr AssembleOwn(Level *l)
{
  POISE_TRY(FemScalarRead(&l->mesh, FEM_IN_STREAM, l->set->material, l->set->boundary, &l->own));
  POISE_TRY(AssembleCells(l));
  POISE_TRY(FemScalarBoundary(&l->own, &l->system));
  return l->own.fixes ? FemConstrain(&l->system) : POISE_OK;
}

/* known: errors are. */
static PoiseErr PrintHeader(PoiseContext ctx, int known)
{
  POISE_TRY(PoisePrintf(ctx, "%-8s %9s %9s %10s", "solution", "cells", "unknowns", "iterations"));
  if (known) POISE_TRY(PoisePrintf(ctx, " %11s %11s %11s %5s", "L2 error", "H1 error", "at nodes", "order"));
  return PoisePrintf(ctx, "\n");
}

static PoiseErr Assemble(PoiseContext ctx, PoiseInt n, FemTimes *times, Level *l)
{
  const Settings *set = l->set;
  const FemBox box = {.cell = kinds[set->cell], .n = {n, n, n}, .length = {1, 1, 1}};
  FemAssembly how;
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(set->mesh[0] != '\0' ? FemReadMesh(ctx, set->mesh, set->scale, &l->mesh)
                                 : FemMeshBox(ctx, &box, &l->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));
  if (l->which == OWN) {
    POISE_TRY(FemPrintBody(&l->mesh, "", 0));
    POISE_TRY(PrintHeader(ctx, 0));
  }

  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(FemChooseAssembly(&l->mesh, 1, (FemAssembly)set->assembly, l->which != OWN, &how));
  POISE_TRY(FemSystemCreate(&l->mesh, 1, how, &l->system));
  POISE_TRY(l->which == OWN ? AssembleOwn(l) : AssembleKnown(l));
  return FemStageEnd(ctx, times, FEM_ASSEMBLY);
}

/* Errors: in L2, in H1, and the largest at a node. */
static PoiseErr Compare(Level *l, double e[3])
{
  double mean;
  POISE_TRY(FemErrors(&l->mesh, l->values, solutions[l->which].exact, l, &e[0], &e[1], &mean));
  POISE_TRY(PoiseVecDuplicate(l->system.x, &l->exact));
  POISE_TRY(FemInterpolate(&l->mesh, 1, solutions[l->which].value, l, l->exact));
  POISE_TRY(PoiseVecAXPY(l->exact, -1, l->system.x));
  return PoiseVecNorm(l->exact, POISE_NORM_INF, &e[2]);
}

static PoiseErr Output(PoiseContext ctx, FemTimes *times, const Level *l)
{
  char name[POISE_OPTION_LENGTH + 16];
  const FemField field = {l->set->field, 1, 0, l->values};
  if (l->set->output[0] == '\0') return POISE_OK;
  POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
  snprintf(name, sizeof name, "%s_%s", l->set->output, l->which == OWN ? "own" : solutions[l->which].name);
  POISE_TRY(FemWriteMesh(&l->mesh, name, 1, &field));
  POISE_TRY(FemWriteHistory(l->ksp, NULL, name));
  return FemStageEnd(ctx, times, FEM_OUTPUT);
}

static PoiseErr Solve(PoiseContext ctx, PoiseInt n, FemTimes *times, Level *l)
{
  POISE_TRY(Assemble(ctx, n, times, l));
  POISE_TRY(FemSolverCreate(&l->system, "bicgstab", "ilu", 1e-10, times, &l->ksp));
  POISE_TRY(FemSolve(&l->system, l->ksp, times));
  POISE_TRY(FemGather(&l->mesh, 1, l->system.x, &l->values));
  return Output(ctx, times, l);
}

/* ---- judgement ------------------------------------------------------------------------------- */

/* u need not be known for that. must: its range by the maximum principle. */
static PoiseErr JudgeRange(PoiseContext ctx, const Level *l, const double must[2])
{
  double range[2];
  POISE_TRY(FemRange(l->system.x, range));
  return FemPrintRange(
      ctx, range, must,
      l->set->stabilise
          ? "SUPG is not monotone across layers: within some cells of one, values out of "
            "range are the scheme's.\nFiner cells make the strip narrower, not the values better."
          : "Galerkin's method oscillates where |beta| h > 2 k: leave out -stabilise no.");
}

static PoiseErr JudgeOwn(PoiseContext ctx, Level *l)
{
  POISE_TRY(FemScalarFlows(&l->own, l->system.x, NULL, 0));
  POISE_TRY(FemScalarPrint(&l->own));
  POISE_TRY(JudgeRange(ctx, l, l->own.range));
  return FemScalarBalance(&l->own, &l->system, 1);
}

/* coarser: the errors on the mesh before this one, if there was one. */
static PoiseErr JudgeErrors(PoiseContext ctx, Level *l, const double *coarser, double e[3])
{
  POISE_TRY(Compare(l, e));
  POISE_TRY(PoisePrintf(ctx, " %11.3e %11.3e %11.3e", e[0], e[1], e[2]));
  if (coarser != NULL) {
    double order = log2(coarser[1] / e[1]);
    POISE_TRY(PoisePrintf(ctx, " %5.2f\n", order));
    return FemCheckOrder(&l->mesh, "H1", order, 1);
  }
  POISE_TRY(PoisePrintf(ctx, "\n"));
  if (l->which == SMOOTH || e[2] < 1e-6) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "the layer is off by %.1e at a node, where it should be exact", e[2]);
}

static PoiseErr Judge(PoiseContext ctx, Level *l, const double *coarser, double e[3])
{
  static const double bounds[2] = {0, 1};
  POISE_TRY(PoisePrintf(ctx, "%-8s %9" PRId64 " %9" PRId64 " %10" PRId64,
                        l->which == OWN ? "own" : solutions[l->which].name, l->mesh.allCells,
                        l->mesh.allNodes, PoiseKSPIterations(l->ksp)));
  if (l->which == LAYER || l->which == SMOOTH) return JudgeErrors(ctx, l, coarser, e);
  POISE_TRY(PoisePrintf(ctx, "\n"));
  return l->which == OWN ? JudgeOwn(ctx, l) : JudgeRange(ctx, l, bounds);
}

static PoiseErr SolveOn(PoiseContext ctx, const Settings *set, Solution which, PoiseInt n, FemTimes *times,
                        const double *coarser, double e[3])
{
  const double angle = which == LAYER ? 0 : set->angle * pi / 180;
  Level l = {.set = set, .which = which, .beta = {cos(angle), sin(angle), 0}};
  PoiseErr err = Solve(ctx, n, times, &l);
  if (err == POISE_OK) err = FemStageBegin(ctx, times, FEM_CHECK);
  if (err == POISE_OK) err = Judge(ctx, &l, coarser, e);
  if (err == POISE_OK) err = FemStageEnd(ctx, times, FEM_CHECK);
  free(l.values);
  PoiseVecDestroy(&l.exact);
  PoiseKSPDestroy(&l.ksp);
  FemScalarFree(&l.own);
  FemSystemFree(&l.system);
  FemMeshFree(&l.mesh);
  return err;
}

/* What the options ask for must fit together. */
static PoiseErr Check(PoiseContext ctx, Settings *set)
{
  int own;
  POISE_TRY(FemCheckMesh(ctx, (const char *const[]){"cell", "n", NULL}));
  POISE_TRY(FemScalarAsked(ctx, (FemAssembly)set->assembly,
                           (const char *const[]){"solution", "peclet", "angle", NULL}, &own));
  if (own) set->solution = OWN;
  if (!own && set->mesh[0] != '\0')
    POISE_FAIL(POISE_ERR_OPTION, "-mesh is for a problem of your own: give -material or -boundary");
  if (set->solution == SKEW && !(set->angle > 0 && set->angle < 90))
    POISE_FAIL(POISE_ERR_OPTION, "-solution skew: the angle must be between 0 and 90 degrees");
  return FemTryOutput(ctx, set->output);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0, 0};
  double coarse[3], fine[3];
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(Check(ctx, &set));
  const Solution which = (Solution)set.solution;
  const int known = which != SKEW && which != OWN;
  if (which != OWN) POISE_TRY(PrintHeader(ctx, known));
  if (!known) POISE_TRY(SolveOn(ctx, &set, which, set.n, &times, NULL, coarse));
  if (which == LAYER || which == BOTH) POISE_TRY(SolveOn(ctx, &set, LAYER, set.n, &times, NULL, coarse));
  if (which == SMOOTH || which == BOTH) {
    POISE_TRY(SolveOn(ctx, &set, SMOOTH, set.n, &times, NULL, coarse));
    POISE_TRY(SolveOn(ctx, &set, SMOOTH, 2 * set.n, &times, coarse, fine));
  }
  POISE_TRY(FemPrintTimes(ctx, &times));
  if (which == SKEW) return PoisePrintf(ctx, "\nNo error is known; u was only compared with its range.\n");
  if (which == OWN) return PoisePrintf(ctx, "\nFlows balance to the residual of the solve.\n");
  return PoisePrintf(ctx, "\nErrors are what theory says.\n");
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv,
                 "Convection and diffusion by stabilised finite elements, of a known solution or your own.",
                 options, Run);
}

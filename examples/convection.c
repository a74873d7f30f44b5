/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Convection and diffusion: -div(grad u) / Pe + beta . grad u = f with |beta| = 1, by linear elements and
  streamline-upwind Petrov-Galerkin (SUPG, Brooks & Hughes 1982).
    convection -peclet 1e4 -ksp_type gmres -ksp_gmres_restart 50 -ksp_converged_reason
    mpirun -n 3 convection -solution layer -cell tet4 -n 12 -ksp_type bicgstab -pc_type jacobi -output layer

  The matrix is not symmetric. If convection dominates (Pe h > 2), it has no dominant diagonal either, and
  Galerkin's method oscillates: see -solution layer -stabilise no, which fails. SUPG tests with N + tau beta .
  grad N. Here tau = h / 2 (coth(Pe h / 2) - 2 / (Pe h)), and h is the length of the cell along the stream.
  Two solutions are known:
    layer   beta along x, f = 0: u = (exp(Pe x) - 1) / (exp(Pe) - 1), with a layer of thickness 1 / Pe on the
            right. With this tau the values at the nodes of even bricks are exact, for any Pe. The program
            checks that, to the solver's tolerance
    smooth  beta at an -angle: u = sin(pi x) exp(y), times cos(z) in 3D. The error must fall like h in H1
            (checked to 0.1)
*/
#include "fem/cells.h"
#include "fem/program.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

typedef enum Solution { LAYER, SMOOTH, BOTH } Solution;

typedef struct Settings {
  PoiseInt n;
  int cell, solution, stabilise, assembly, check;
  double peclet, angle;
  char output[POISE_OPTION_LENGTH];
} Settings;

static const FemCell kinds[] = {FEM_TRI3, FEM_QUAD4, FEM_TET4, FEM_HEX8};

static const PoiseOption options[] = {{"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "quad4", 0, 0,
                                       "tri3|quad4|tet4|hex8", "kind of cells"},
                                      {"n", POISE_OPTION_INT, offsetof(Settings, n), "24", 2, 20000, NULL,
                                       "bricks per side; smooth: of the coarser mesh"},
                                      {"solution", POISE_OPTION_CHOICE, offsetof(Settings, solution), "both",
                                       0, 0, "layer|smooth|both", "which problem to solve"},
                                      {"peclet", POISE_OPTION_REAL, offsetof(Settings, peclet), "100", 1e-3,
                                       1e12, NULL, "Peclet number of the box"},
                                      {"angle", POISE_OPTION_REAL, offsetof(Settings, angle), "30", -360, 360,
                                       NULL, "smooth: of beta with the x axis, degrees"},
                                      {"stabilise", POISE_OPTION_BOOL, offsetof(Settings, stabilise), "yes",
                                       0, 0, NULL, "SUPG; no: Galerkin's method"},
                                      {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly),
                                       "elements", 0, 0, FEM_WAYS, "how the matrix is assembled"},
                                      {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no",
                                       0, 0, NULL, "compare with the other way"},
                                      {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0,
                                       NULL,
                                       "write the solution to <name>_<solution>.vtu, residual norms to .csv"},
                                      {0}};

/* ---- the problem ----------------------------------------------------------------------------- */

typedef struct Problem {
  const Settings *set;
  double beta[3];
} Problem;

static double Layer(const double x[3], void *arg, double gradient[3])
{
  const double pe = ((const Problem *)arg)->set->peclet, scale = -expm1(-pe);
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

static double SmoothSource(const FemPoint *p, const Problem *problem)
{
  double g[3], u = Smooth(p->x, NULL, g), minusLaplacian = (p->dim == 2 ? pi * pi - 1 : pi * pi) * u;
  return minusLaplacian / problem->set->peclet + problem->beta[0] * g[0] + problem->beta[1] * g[1];
}

/*
  K_ab = (grad N_a, grad N_b) / Pe + (N_a, s_b) + tau (s_a, s_b),  F_a = (N_a + tau s_a, f),  s_a = beta .
  grad N_a. Second derivatives of linear elements on bricks are 0, so the method stays consistent.
*/
static void Transport(const FemPoint *p, const Problem *problem, double f, double *K, double *F)
{
  const double eps = 1 / problem->set->peclet;
  const double tau = problem->set->stabilise ? FemStreamTime(p->nodes, p->grad[0], problem->beta, eps) : 0;
  double s[FEM_MAX_NODES];
  for (int a = 0; a < p->nodes; a++) s[a] = FemDot(problem->beta, p->grad[a]);
  for (int a = 0; a < p->nodes; a++) {
    const double test = p->N[a] + tau * s[a];
    for (int b = 0; b < p->nodes && K != NULL; b++)
      K[a * p->nodes + b] += p->dV * (eps * FemDot(p->grad[a], p->grad[b]) + test * s[b]);
    F[a] += p->dV * test * f;
  }
}

static void LayerForm(const FemPoint *p, void *arg, double *K, double *F)
{
  Transport(p, arg, 0, K, F);
}

static void SmoothForm(const FemPoint *p, void *arg, double *K, double *F)
{
  Transport(p, arg, SmoothSource(p, arg), K, F);
}

static const struct {
  const char *name;
  FemForm form;
  FemExact exact;
  FemValue value;
} solutions[] = {{"layer", LayerForm, Layer, LayerValue}, {"smooth", SmoothForm, Smooth, SmoothValue}};

/* ---- one mesh -------------------------------------------------------------------------------- */

typedef struct Level {
  FemMesh mesh;
  FemSystem system;
  PoiseKSP ksp;
  PoiseVec exact;
  double *values;
} Level;

static PoiseErr Assemble(PoiseContext ctx, Problem *problem, Solution which, PoiseInt n, FemTimes *times,
                         Level *l)
{
  const Settings *set = problem->set;
  const FemBox box = {.cell = kinds[set->cell], .n = {n, n, n}, .length = {1, 1, 1}};
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(FemMeshBox(ctx, &box, &l->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));

  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(FemSystemCreate(&l->mesh, 1, (FemAssembly)set->assembly, &l->system));
  const double *beta = problem->beta;
  const FemOperator op = {.stiffness = 1 / set->peclet,
                          .stream = {beta[0], beta[1], beta[2]},
                          .upwind = set->stabilise,
                          .source = which == SMOOTH};
  POISE_TRY(FemAssembleCells(&l->system, solutions[which].form, problem, &op));
  if (set->check) POISE_TRY(FemCheckAssembly(&l->system, solutions[which].form, problem));
  for (int g = 0; g < l->mesh.groups; g++) {
    const FemGroup *group = &l->mesh.group[g];
    if (group->dim == l->mesh.dim - 1)
      POISE_TRY(FemFix(&l->system, group->number, solutions[which].value, problem));
  }
  POISE_TRY(FemConstrain(&l->system));
  return FemStageEnd(ctx, times, FEM_ASSEMBLY);
}

/* Errors: in L2, in H1, and the largest at a node. */
static PoiseErr Solve(PoiseContext ctx, Problem *problem, Solution which, PoiseInt n, FemTimes *times,
                      Level *l, double e[3])
{
  char name[POISE_OPTION_LENGTH + 16];
  double mean;
  POISE_TRY(Assemble(ctx, problem, which, n, times, l));
  POISE_TRY(FemSolverCreate(&l->system, "bicgstab", "ilu", 1e-10, &l->ksp));
  POISE_TRY(FemSolve(&l->system, l->ksp, times));
  POISE_TRY(FemGather(&l->mesh, 1, l->system.x, &l->values));
  POISE_TRY(FemErrors(&l->mesh, l->values, solutions[which].exact, problem, &e[0], &e[1], &mean));
  POISE_TRY(PoiseVecDuplicate(l->system.x, &l->exact));
  POISE_TRY(FemInterpolate(&l->mesh, 1, solutions[which].value, problem, l->exact));
  POISE_TRY(PoiseVecAXPY(l->exact, -1, l->system.x));
  POISE_TRY(PoiseVecNorm(l->exact, POISE_NORM_INF, &e[2]));
  POISE_TRY(PoisePrintf(ctx, "%-8s %9" PRId64 " %9" PRId64 " %10" PRId64 " %11.3e %11.3e %11.3e",
                        solutions[which].name, l->mesh.allCells, l->mesh.allNodes, PoiseKSPIterations(l->ksp),
                        e[0], e[1], e[2]));

  if (problem->set->output[0] == '\0') return POISE_OK;
  POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
  const FemField field = {"u", 1, 0, l->values};
  snprintf(name, sizeof name, "%s_%s", problem->set->output, solutions[which].name);
  POISE_TRY(FemWriteMesh(&l->mesh, name, 1, &field));
  POISE_TRY(FemWriteHistory(l->ksp, name));
  return FemStageEnd(ctx, times, FEM_OUTPUT);
}

/* coarser: the errors on the mesh before this one, if there was one. */
static PoiseErr Judge(PoiseContext ctx, const Level *l, Solution which, const double *coarser,
                      const double e[3])
{
  if (coarser != NULL) {
    double order = log2(coarser[1] / e[1]);
    POISE_TRY(PoisePrintf(ctx, " %5.2f\n", order));
    return FemCheckOrder(&l->mesh, "H1", order, 1);
  }
  POISE_TRY(PoisePrintf(ctx, "\n"));
  if (which == SMOOTH || e[2] < 1e-6) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "the layer is off by %.1e at a node, where it should be exact", e[2]);
}

static PoiseErr SolveOn(PoiseContext ctx, Problem *problem, Solution which, PoiseInt n, FemTimes *times,
                        const double *coarser, double e[3])
{
  Level l = {.ksp = NULL};
  PoiseErr err = Solve(ctx, problem, which, n, times, &l, e);
  if (err == POISE_OK) err = Judge(ctx, &l, which, coarser, e);
  free(l.values);
  PoiseVecDestroy(&l.exact);
  PoiseKSPDestroy(&l.ksp);
  FemSystemFree(&l.system);
  FemMeshFree(&l.mesh);
  return err;
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0};
  double coarse[3], fine[3];
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(FemTryOutput(ctx, set.output));
  Problem layer = {&set, {1, 0, 0}},
          smooth = {&set, {cos(set.angle * pi / 180), sin(set.angle * pi / 180), 0}};
  POISE_TRY(PoisePrintf(ctx, "%-8s %9s %9s %10s %11s %11s %11s %5s\n", "solution", "cells", "unknowns",
                        "iterations", "L2 error", "H1 error", "at nodes", "order"));
  if (set.solution != SMOOTH) POISE_TRY(SolveOn(ctx, &layer, LAYER, set.n, &times, NULL, coarse));
  if (set.solution != LAYER) {
    POISE_TRY(SolveOn(ctx, &smooth, SMOOTH, set.n, &times, NULL, coarse));
    POISE_TRY(SolveOn(ctx, &smooth, SMOOTH, 2 * set.n, &times, coarse, fine));
  }
  POISE_TRY(FemPrintTimes(ctx, &times));
  return PoisePrintf(ctx, "\nErrors are what theory says.\n");
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv,
                 "Convection and diffusion by stabilised finite elements, checked against known solutions.",
                 options, Run);
}

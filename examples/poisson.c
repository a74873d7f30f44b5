/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Poisson's equation by finite elements: -div(k grad u) = f. u is given on a part of the boundary, and k du/dn
  on the rest. In weak form, for all v that are 0 where u is given:
    (k grad u, grad v) = (f, v) + (k du/dn, v) on the boundary
  Meshes have triangles, quadrilaterals, tetrahedra or hexahedra; elements are linear or quadratic.
    poisson                                               all kinds of cells, each on two meshes
    mpirun -n 4 poisson -cell tet10 -n 12 -shape ring -output ring -pc_type bjacobi -ksp_converged_reason

  The example shows how forms are written (Stiffness, Flux), and how A and b come from them. The mesh, the
  elements and assembly are in examples/fem. The data are those of u = sin(pi x) exp(y), times cos(z) in 3D,
  and k = 1, so the errors are known. With polynomials of degree k they must fall like h^(k + 1) in L2 and
  like h^k in H1. The program checks this to 0.1 in the exponent. More to try:
    -dirichlet none -nullspace      derivatives alone: u is unique up to a constant
    -bump 0.4                       a mesh that folds over: an error names the cell
    -mesh part.msh -dirichlet foot  a mesh of any shape by Gmsh; all of its boundary must be in physical
                                    groups. Lengths in u are then relative to its longest side
    -grading 3 -assembly coo -check_assembly

  A problem of your own has data of groups (fem/scalar.h). What flows in by source, flux, transfer and at
  given values must sum up to 0. A range is printed beside that of the maximum principle.
    poisson -mesh part.msh -material "core: conductivity = 200, source = 1e5; rest: conductivity = 1"
      -boundary "foot: value = 100; fins: transfer = 25, outside = 20; side: flux = 10"
*/
#include "fem/element.h"
#include "fem/program.h"
#include "fem/scalar.h"
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

typedef enum Shape { BOX, RING } Shape;
enum { MOST_LEVELS = 10 };

typedef struct Settings {
  PoiseInt n, refinements;
  int cell, plane, shape, assembly, check, nullspace, own;
  double scale, bump, grading;
  char field[POISE_OPTION_LENGTH], mesh[POISE_OPTION_LENGTH], dirichlet[POISE_OPTION_LENGTH],
      output[POISE_OPTION_LENGTH];
  char material[POISE_OPTION_LENGTH], boundary[POISE_OPTION_LENGTH];
} Settings;

static const PoiseOption options[] = {
    {"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "all", 0, 0,
     "tri3|tri6|quad4|tet4|tet10|hex8|all", "kind of cells"},
    {"mesh", POISE_OPTION_STRING, offsetof(Settings, mesh), "", 0, 0, NULL,
     "a .msh file of Gmsh, version 2 or 4.1; not beside the options of boxes"},
    {"mesh_scale", POISE_OPTION_REAL, offsetof(Settings, scale), "1", 1e-30, 1e30, NULL, FEM_SCALE_HELP},
    {"plane", POISE_OPTION_CHOICE, offsetof(Settings, plane), "slab", 0, 0, "slab|axisymmetric",
     FEM_PLANE_HELP},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "0", 0, 20000, NULL,
     "bricks per side of the coarsest mesh, 0: few, but enough for each kind of cells"},
    {"refinements", POISE_OPTION_INT, offsetof(Settings, refinements), "1", 0, MOST_LEVELS, NULL,
     "how often the mesh is halved"},
    {"shape", POISE_OPTION_CHOICE, offsetof(Settings, shape), "box", 0, 0, "box|ring",
     "the unit box, or a quarter of a ring"},
    {"bump", POISE_OPTION_REAL, offsetof(Settings, bump), "0.03", 0, 1, NULL,
     "how far nodes are moved inside the box"},
    {"grading", POISE_OPTION_REAL, offsetof(Settings, grading), "1", 0.001, 1000, NULL,
     "width of the last brick over that of the first"},
    {"dirichlet", POISE_OPTION_STRING, offsetof(Settings, dirichlet), "left,bottom", 0, 0, NULL,
     "groups of facets, or their numbers, where u is given, or none; elsewhere its normal derivative is"},
    {"material", POISE_OPTION_STRING, offsetof(Settings, material), "", 0, 0, NULL, FEM_MATERIAL_HELP},
    {"boundary", POISE_OPTION_STRING, offsetof(Settings, boundary), "", 0, 0, NULL, FEM_BOUNDARY_HELP},
    {"nullspace", POISE_OPTION_BOOL, offsetof(Settings, nullspace), "no", 0, 0, NULL,
     "without values of u: the constant is a null space"},
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "auto", 0, 0, FEM_WAYS,
     "how the matrix is assembled; auto: device on a GPU if it can be, else elements"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL,
     "compare with the other way"},
    {"field", POISE_OPTION_STRING, offsetof(Settings, field), "u", 0, 0, NULL, FEM_FIELD_HELP},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write the finest solution to <name>_<cell>.vtu, residual norms to .csv"},
    {0}};

/* ---- the problem ----------------------------------------------------------------------------- */

typedef struct Level {
  const Settings *set;
  FemMesh mesh;
  double low[3], scale; /* the known solution is one of scale (x - low) */
  FemScalar own;
  FemSystem system;
  PoiseKSP ksp;
  double *values;
} Level;

/* u, and its gradient unless that is NULL; z is 0 in 2D. */
static double Exact(const double x[3], void *arg, double gradient[3])
{
  const Level *l = arg;
  double s[3];
  for (int c = 0; c < 3; c++) s[c] = l->scale * (x[c] - l->low[c]);
  const double sine = sin(pi * s[0]), e = exp(s[1]), cosine = cos(s[2]), u = sine * e * cosine;
  if (gradient == NULL) return u;
  gradient[0] = l->scale * pi * cos(pi * s[0]) * e * cosine;
  gradient[1] = l->scale * u;
  gradient[2] = -l->scale * sine * e * sin(s[2]);
  return u;
}

static void ExactValue(const double x[3], void *arg, double *value)
{
  *value = Exact(x, arg, NULL);
}

/* k and f at a point. */
static FemMaterial Data(const FemPoint *p, const Level *l)
{
  if (l->set->own) return FemMaterialAt(&l->own, p);
  const double u = Exact(p->x, (void *)l, NULL);
  return (FemMaterial){.conductivity = 1,
                       .source = (p->dim == 2 ? pi * pi - 1 : pi * pi) * u * l->scale * l->scale};
}

/* K_ab = (k grad N_a, grad N_b),  F_a = (f, N_a) */
static void Stiffness(const FemPoint *p, void *arg, double *K, double *F)
{
  const FemMaterial data = Data(p, arg);
  for (int a = 0; a < p->nodes; a++) F[a] += p->dV * data.source * p->N[a];
  if (K == NULL) return;
  const FemVector *grad = FemGrad(p);
  for (int a = 0; a < p->nodes; a++) {
    for (int b = 0; b < p->nodes; b++) {
      double dot = grad[a][0] * grad[b][0] + grad[a][1] * grad[b][1] + grad[a][2] * grad[b][2];
      K[a * p->nodes + b] += p->dV * data.conductivity * dot;
    }
  }
}

/* F_a = (grad u . n, N_a) on the boundary */
static void Flux(const FemPoint *p, void *arg, double *K, double *F)
{
  double g[3];
  (void)K;
  Exact(p->x, arg, g);
  double flux = g[0] * p->normal[0] + g[1] * p->normal[1] + g[2] * p->normal[2];
  for (int a = 0; a < p->nodes; a++) F[a] += p->dV * flux * p->N[a];
}

/* ---- one mesh -------------------------------------------------------------------------------- */

/* The sides of the box stay where they are. */
static void Move(double x[3], void *arg)
{
  const Settings *set = arg;
  double bump = set->bump * sin(2 * pi * x[0]) * sin(2 * pi * x[1]);
  x[0] += bump;
  x[1] -= bump;
  if (set->cell == FEM_TET4 || set->cell == FEM_TET10 || set->cell == FEM_HEX8)
    x[2] += bump * sin(2 * pi * x[2]);
  if (set->shape == RING) {
    double r = 0.5 + 0.5 * x[0], angle = 0.5 * pi * x[1];
    x[0] = r * cos(angle);
    x[1] = r * sin(angle);
  }
}

/* u on the groups of -dirichlet, its normal derivative on all others. */
static PoiseErr AssembleBoundary(Level *l, const FemClauses *given)
{
  for (int g = 0; g < l->mesh.groups; g++) {
    const FemGroup *group = &l->mesh.group[g];
    if (group->dim != l->mesh.dim - 1) continue;
    if (FemClauseOf(given, group->number) != NULL)
      POISE_TRY(FemFix(&l->system, group->number, ExactValue, l));
    else
      POISE_TRY(FemAssembleFacets(&l->system, group->number, Flux, l));
  }
  return POISE_OK;
}

static PoiseErr AssembleCells(Level *l)
{
  const FemOperator laplace = {.stiffness = 1, .source = 1};
  POISE_TRY(FemAssembleCells(&l->system, Stiffness, l, &laplace));
  return l->set->check ? FemCheckAssembly(&l->system, Stiffness, l) : POISE_OK;
}

static PoiseErr AssembleKnown(Level *l)
{
  static const FemKey noKeys[] = {{0}};
  FemClauses given = {0};
  PoiseErr err = POISE_OK;
  if (strcmp(l->set->dirichlet, "none") != 0) /* find wrong names before the work begins */
    err = FemReadClauses(&l->mesh, l->mesh.dim - 1, "dirichlet", l->set->dirichlet, noKeys, 0, &given);
  if (err == POISE_OK) err = AssembleCells(l);
  if (err == POISE_OK) err = AssembleBoundary(l, &given);
  FemClausesFree(&given);
  POISE_TRY(err);
  if (!l->set->nullspace) return FemConstrain(&l->system);
  POISE_TRY(FemMatTakeOptions(l->mesh.ctx, &l->system.A));
  POISE_TRY(PoiseMatSetNullSpace(l->system.A, 1, 0, NULL));
  return PoiseMatSetTransposeNullSpace(l->system.A, 1, 0,
                                       NULL); /* leaves out the constant part that integration leaves in b */
}

static PoiseErr AssembleOwn(Level *l)
{
  POISE_TRY(FemScalarRead(&l->mesh, FEM_STEADY, l->set->material, l->set->boundary, &l->own));
  POISE_TRY(AssembleCells(l));
  POISE_TRY(FemScalarBoundary(&l->own, &l->system));
  return l->own.fixes ? FemConstrain(&l->system) : POISE_OK;
}

static PoiseErr Output(const Settings *set, const FemSystem *system, PoiseKSP ksp, const double *values)
{
  char name[POISE_OPTION_LENGTH + 16];
  const FemField field = {set->field, 1, 0, values};
  snprintf(name, sizeof name, "%s_%s", set->output, FemCellInfoOf(system->mesh->cell)->name);
  POISE_TRY(FemWriteMesh(system->mesh, name, 1, &field));
  return FemWriteHistory(ksp, NULL, name);
}

static void Volume(const FemPoint *p, void *arg, double *volume)
{
  (void)arg;
  *volume += p->dV;
}

/* Set where the mesh begins, its longest side, and how far it lies from the origin. */
static PoiseErr Measure(Level *l, double *far)
{
  double high[3], size = 0;
  POISE_TRY(FemMeshBounds(&l->mesh, l->low, high));
  *far = 0;
  for (int c = 0; c < 3; c++) {
    size = fmax(size, high[c] - l->low[c]);
    *far = fmax(*far, fmax(fabs(l->low[c]), fabs(high[c])));
  }
  l->scale = 1 / size;
  return POISE_OK;
}

/* Check that all facets are in groups, as others would have no flux. Over the whole boundary n must sum up
   to 0, and (x - low) . n to dim times the volume. Jacobians lose digits far from the origin. */
static PoiseErr CheckClosed(const Level *l, double far)
{
  const FemMesh *mesh = &l->mesh;
  double volume, n[3] = {0}, area = 0, gauss = 0;
  FemReference reference;
  FemPoint p;
  POISE_TRY(FemIntegrate(mesh, Volume, NULL, 1, &volume));
  FemReferenceFacet(mesh->cell, &reference);
  for (PoiseInt f = 0; f < mesh->facets; f++) {
    FemFacetBegin(mesh, &reference, f, &p);
    for (int q = 0; q < reference.points; q++) {
      FemFacetPoint(&reference, q, &p);
      area += p.dV;
      for (int d = 0; d < mesh->dim; d++) {
        n[d] += p.dV * p.normal[d];
        gauss += p.dV * p.normal[d] * (p.x[d] - l->low[d]);
      }
    }
  }
  double sums[5] = {area, gauss, n[0], n[1], n[2]};
  POISE_TRY(PoiseSum(mesh->ctx, 5, sums));
  const double open = fmax(fmax(fabs(sums[2]), fabs(sums[3])), fabs(sums[4])), must = mesh->dim * volume;
  const double h = pow(volume / (double)mesh->allCells, 1.0 / mesh->dim),
               tolerance = 1e-9 + 100 * DBL_EPSILON * far / h;
  if (open <= tolerance * sums[0] && fabs(sums[1] - must) <= tolerance * must) return POISE_OK;
  POISE_FAIL(POISE_ERR_ARG,
             "a part of the boundary is in no physical group: over what is, normals sum up to (%g, %g, %g) "
             "and not to 0, "
             "or x . n to %g and not to %g",
             sums[2], sums[3], sums[4], sums[1], must);
}

static PoiseErr MakeMesh(PoiseContext ctx, const Settings *set, PoiseInt n, Level *l)
{
  double far = 0;
  FemBox box = {.cell = (FemCell)set->cell, .map = Move, .arg = (void *)set};
  for (int d = 0; d < 3; d++) {
    box.n[d] = n;
    box.length[d] = 1;
    box.grading[d] = set->grading;
  }
  if (set->mesh[0] == '\0')
    POISE_TRY(FemMeshBox(ctx, &box, &l->mesh));
  else
    POISE_TRY(FemReadMesh(ctx, set->mesh, set->scale, &l->mesh));
  if (set->plane == FEM_REVOLVED) POISE_TRY(FemMeshRevolve(&l->mesh));
  if (set->mesh[0] == '\0' || set->own) return POISE_OK;
  POISE_TRY(Measure(l, &far));
  return CheckClosed(l, far);
}

/* Errors against the known solution. */
static PoiseErr Compare(Level *l, double errors[2])
{
  double mean;
  POISE_TRY(FemErrors(&l->mesh, l->values, Exact, l, &errors[0], &errors[1], &mean));
  if (!l->set->nullspace) return POISE_OK;
  for (PoiseInt i = 0; i < l->mesh.nodes; i++) l->values[i] -= mean; /* u_h is unique up to that */
  return FemErrors(&l->mesh, l->values, Exact, l, &errors[0], &errors[1], &mean);
}

static PoiseErr PrintHeader(PoiseContext ctx, const Settings *set)
{
  POISE_TRY(PoisePrintf(ctx, "%-6s %9s %9s %10s", "mesh", "cells", "unknowns", "iterations"));
  if (!set->own) POISE_TRY(PoisePrintf(ctx, " %11s %5s %11s %5s", "L2 error", "order", "H1 error", "order"));
  return PoisePrintf(ctx, "\n");
}

/* A body of the user's, whose size is told. */
static int IsGiven(const Settings *set)
{
  return set->own || set->mesh[0] != '\0';
}

static PoiseErr SolveLevel(PoiseContext ctx, const Settings *set, PoiseInt n, int finest, FemTimes *times,
                           Level *l, double errors[2])
{
  FemAssembly how;
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(MakeMesh(ctx, set, n, l));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));
  if (IsGiven(set)) {
    POISE_TRY(FemPrintBody(&l->mesh, "", 0));
    POISE_TRY(PrintHeader(ctx, set));
  }

  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(FemChooseAssembly(&l->mesh, 1, (FemAssembly)set->assembly, !set->own, &how));
  POISE_TRY(FemSystemCreate(&l->mesh, 1, how, &l->system));
  POISE_TRY(set->own ? AssembleOwn(l) : AssembleKnown(l));
  POISE_TRY(FemStageEnd(ctx, times, FEM_ASSEMBLY));

  POISE_TRY(FemSolverCreate(&l->system, "cg", "amg", 1e-9, times, &l->ksp));
  POISE_TRY(FemSolve(&l->system, l->ksp, times));

  POISE_TRY(FemStageBegin(ctx, times, FEM_CHECK));
  POISE_TRY(FemGather(&l->mesh, 1, l->system.x, &l->values));
  if (!set->own) POISE_TRY(Compare(l, errors));
  POISE_TRY(FemStageEnd(ctx, times, FEM_CHECK));

  if (!finest || set->output[0] == '\0') return POISE_OK;
  POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
  POISE_TRY(Output(set, &l->system, l->ksp, l->values));
  return FemStageEnd(ctx, times, FEM_OUTPUT);
}

/* ---- the sequence of meshes ------------------------------------------------------------------ */

/* What can be judged without a known solution. */
static PoiseErr JudgeOwn(PoiseContext ctx, Level *l)
{
  double range[2];
  POISE_TRY(FemScalarFlows(&l->own, l->system.x, NULL, 0));
  POISE_TRY(FemScalarPrint(&l->own));
  POISE_TRY(FemRange(l->system.x, range));
  POISE_TRY(FemPrintRange(
      ctx, range, l->own.range,
      "Cells do that if angles are obtuse, of order 2, or where transfer h > conductivity: refine "
      "there."));
  return FemScalarBalance(&l->own, &l->system, 1);
}

/* Print one line of the table. e: errors; order: by which they fell from those on the mesh before this one,
   NULL if there was none. */
static PoiseErr Report(PoiseContext ctx, Level *l, const double e[2], const double *order)
{
  POISE_TRY(PoisePrintf(ctx, "%-6s %9" PRId64 " %9" PRId64 " %10" PRId64, FemCellInfoOf(l->mesh.cell)->name,
                        l->mesh.allCells, l->mesh.allNodes, PoiseKSPIterations(l->ksp)));
  if (l->set->own) {
    POISE_TRY(PoisePrintf(ctx, "\n"));
    return JudgeOwn(ctx, l);
  }
  if (order == NULL) return PoisePrintf(ctx, " %11.3e       %11.3e\n", e[0], e[1]);
  return PoisePrintf(ctx, " %11.3e %5.2f %11.3e %5.2f\n", e[0], order[0], e[1], order[1]);
}

/* All meshes are solved on before orders are judged, so that the finest solution is written. */
static PoiseErr Converge(PoiseContext ctx, const Settings *set, FemTimes *times)
{
  static const PoiseInt coarsest[FEM_CELLS] = {
      [FEM_TRI3] = 24, [FEM_TRI6] = 16, [FEM_QUAD4] = 24, [FEM_TET4] = 10, [FEM_TET10] = 6, [FEM_HEX8] = 8};
  const PoiseInt n = set->n > 0 ? set->n : coarsest[set->cell];
  const FemMesh kind = {.cell = (FemCell)set->cell};
  double e[MOST_LEVELS + 1][2] = {{0}}, order[MOST_LEVELS + 1][2];
  for (PoiseInt level = 0; level <= set->refinements; level++) {
    Level l = {.set = set, .scale = 1};
    PoiseErr err = SolveLevel(ctx, set, n << level, level == set->refinements, times, &l, e[level]);
    for (int k = 0; k < 2 && level > 0; k++) order[level][k] = log2(e[level - 1][k] / e[level][k]);
    if (err == POISE_OK) err = Report(ctx, &l, e[level], level == 0 ? NULL : order[level]);
    free(l.values);
    PoiseKSPDestroy(&l.ksp);
    FemScalarFree(&l.own);
    FemSystemFree(&l.system);
    FemMeshFree(&l.mesh);
    POISE_TRY(err);
  }
  for (PoiseInt level = 1; level <= set->refinements; level++) {
    POISE_TRY(FemCheckOrder(&kind, "L2", order[level][0], FemOrder(kind.cell) + 1));
    POISE_TRY(FemCheckOrder(&kind, "H1", order[level][1], FemOrder(kind.cell)));
  }
  return POISE_OK;
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0, 0};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(
      FemCheckMesh(ctx, (const char *const[]){"cell", "n", "refinements", "shape", "bump", "grading", NULL}));
  POISE_TRY(FemScalarAsked(ctx, (FemAssembly)set.assembly,
                           (const char *const[]){"dirichlet", "nullspace", "refinements", NULL}, &set.own));
  if (set.mesh[0] != '\0' && !set.own && !PoiseOptionsHas(ctx, NULL, "dirichlet", NULL))
    POISE_FAIL(
        POISE_ERR_OPTION,
        "-mesh: give -boundary (\"foot: value = 100; top: flux = 10\"), or for the problem with a known "
        "solution -dirichlet, the groups where u is given");
  if (set.nullspace && strcmp(set.dirichlet, "none") != 0) {
    POISE_FAIL(POISE_ERR_OPTION,
               "-nullspace: the constant is a null space only where no u is given, -dirichlet none");
  }
  if (set.plane == FEM_REVOLVED && !set.own)
    POISE_FAIL(POISE_ERR_OPTION, "-plane is for a problem of your own: give -boundary");
  POISE_TRY(FemTryOutput(ctx, set.output));
  if (set.mesh[0] != '\0') set.cell = FEM_TET4; /* one mesh, with given cells */
  if (set.mesh[0] != '\0' || set.own) set.refinements = 0;
  const int first = set.cell == FEM_CELLS ? 0 : set.cell,
            last = set.cell == FEM_CELLS ? FEM_CELLS - 1 : set.cell;
  if (!IsGiven(&set)) POISE_TRY(PrintHeader(ctx, &set));
  for (set.cell = first; set.cell <= last; set.cell++) POISE_TRY(Converge(ctx, &set, &times));
  POISE_TRY(FemPrintTimes(ctx, &times));
  if (set.own) return PoisePrintf(ctx, "\nFlows balance to the residual of the solve.\n");
  if (set.refinements == 0) return PoisePrintf(ctx, "\nOne mesh only: orders were not checked.\n");
  return PoisePrintf(ctx, "\nAll orders are within 0.1 of theory.\n");
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv, "Poisson's equation by finite elements, checked by its orders of convergence.",
                 options, Run);
}

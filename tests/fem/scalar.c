/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Problems given by data of groups (examples/fem/scalar.h), on all kinds of cells: two layers of different
  conductivity in a row, whose u is a broken line, which elements represent. So values at nodes and flows are
  exact.
*/
#include "../../examples/fem/program.h"
#include "../../examples/fem/scalar.h"
#include <stdlib.h>

typedef struct Test {
  PoiseContext ctx;
  FemMesh mesh;
  FemScalar scalar;
  FemSystem system;
  PoiseKSP ksp;
  PoiseVec exact;
} Test;

static PoiseErr Near(const Test *t, const char *what, double is, double must)
{
  if (fabs(is - must) <= 1e-8 * (1 + fabs(must))) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "%s: %s is %.12g, must be %.12g", FemCellInfoOf(t->mesh.cell)->name, what, is,
             must);
}

/* (conductivity grad N_a, grad N_b), (source, N_a) */
static void Form(const FemPoint *p, void *arg, double *K, double *F)
{
  const FemMaterial data = FemMaterialAt(arg, p);
  const FemVector *grad = FemGrad(p);
  for (int a = 0; a < p->nodes; a++) {
    for (int b = 0; b < p->nodes; b++) {
      for (int c = 0; c < p->dim; c++)
        K[a * p->nodes + b] += p->dV * data.conductivity * grad[a][c] * grad[b][c];
    }
    F[a] += p->dV * data.source * p->N[a];
  }
}

/* u = 1 on the left, conductivity du/dn = 2 (3 - u) + 1 on the right. q flows in there. */
static const double q = 5.0 / 2 / (0.5 / 1 + 0.5 / 4 + 1.0 / 2);

static void Exact(const double x[3], void *arg, double *value)
{
  (void)arg;
  *value = 1 + q * (x[0] < 0.5 ? x[0] : 0.5 + (x[0] - 0.5) / 4);
}

/* Cells beyond x = 1/2 become group 2, "two". */
static PoiseErr Layers(FemMesh *mesh)
{
  const int nodes = FemCellInfoOf(mesh->cell)->nodes;
  FemGroup *group = realloc(mesh->group, (size_t)(mesh->groups + 1) * sizeof *group);
  if (group == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for a group");
  mesh->group = group;
  mesh->group[mesh->groups++] = (FemGroup){.dim = mesh->dim, .number = 2, .name = "two"};
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    double x = 0;
    for (int k = 0; k < nodes; k++) x += mesh->x[3 * mesh->cellNodes[e * nodes + k]] / nodes;
    if (x > 0.5) mesh->cellGroup[e] = 2;
  }
  return POISE_OK;
}

static PoiseErr Assemble(FemCell cell, const char *material, const char *boundary, Test *t)
{
  const FemBox box = {.cell = cell, .n = {4, 3, 2}, .length = {1, 1, 1}};
  POISE_TRY(FemMeshBox(t->ctx, &box, &t->mesh));
  POISE_TRY(PoiseAgree(t->ctx, Layers(&t->mesh)));
  POISE_TRY(FemScalarRead(&t->mesh, FEM_STEADY, material, boundary, &t->scalar));
  POISE_TRY(FemSystemCreate(&t->mesh, 1, FEM_ELEMENTS, &t->system));
  POISE_TRY(FemAssembleCells(&t->system, Form, &t->scalar, NULL));
  POISE_TRY(FemScalarBoundary(&t->scalar, &t->system));
  return t->scalar.fixes ? FemConstrain(&t->system) : POISE_OK;
}

static PoiseErr Solve(Test *t)
{
  FemTimes times = {{0}, 0, 0, 0};
  POISE_TRY(FemSolverCreate(&t->system, "cg", "jacobi", 1e-12, &times, &t->ksp));
  POISE_TRY(FemSolve(&t->system, t->ksp, &times));
  return FemScalarFlows(&t->scalar, t->system.x, NULL, 0);
}

static PoiseErr Exactly(FemCell cell, Test *t)
{
  double error, range[2];
  POISE_TRY(Assemble(cell, "body: conductivity = 1; two: conductivity = 4",
                     "right: transfer = 2, outside = 3, flux = 1; left: value = 1", t));
  POISE_TRY(Solve(t));
  POISE_TRY(PoiseVecDuplicate(t->system.x, &t->exact));
  POISE_TRY(FemInterpolate(&t->mesh, 1, Exact, NULL, t->exact));
  POISE_TRY(PoiseVecAXPY(t->exact, -1, t->system.x));
  POISE_TRY(PoiseVecNorm(t->exact, POISE_NORM_INF, &error));
  POISE_TRY(Near(t, "the error at nodes", error, 0));
  POISE_TRY(Near(t, "the flow of cells", t->scalar.flow[0].rate, 0));
  POISE_TRY(Near(t, "the flow on the right", t->scalar.flow[1].rate, q));
  POISE_TRY(Near(t, "the flow on the left", t->scalar.flow[2].rate, -q));
  POISE_TRY(FemRange(t->system.x, range));
  POISE_TRY(Near(t, "the least u", range[0], 1));
  POISE_TRY(Near(t, "the largest u", range[1], 1 + q * 0.625));
  POISE_TRY(Near(t, "the lower end of the range", t->scalar.range[0], 1));
  if (isfinite(t->scalar.range[1])) POISE_FAIL(POISE_ERR_NUMERIC, "flux in, but the range has an upper end");
  return FemScalarBalance(&t->scalar, &t->system, 1);
}

/* A flow that is not there must be missed. */
static PoiseErr Missed(FemCell cell, Test *t)
{
  POISE_TRY(Exactly(cell, t));
  t->scalar.flow[1].rate += 1e-6;
  if (FemScalarBalance(&t->scalar, &t->system, 1) == POISE_OK)
    POISE_FAIL(POISE_ERR_NUMERIC, "the balance passes with a flow too many");
  PoiseErrorClear();
  return POISE_OK;
}

/* Sources of groups, and no value at all. */
static PoiseErr Sources(FemCell cell, Test *t)
{
  double range[2];
  POISE_TRY(Assemble(cell, "body: conductivity = 1, source = -2; two: conductivity = 4, source = 3",
                     "left, right: transfer = 2, outside = 7", t));
  POISE_TRY(Solve(t));
  POISE_TRY(Near(t, "the source", t->scalar.flow[0].rate, 0.5));
  POISE_TRY(Near(t, "the flow to the sides", t->scalar.flow[1].rate, -0.5));
  if (isfinite(t->scalar.range[0]) || isfinite(t->scalar.range[1]))
    POISE_FAIL(POISE_ERR_NUMERIC, "sources and sinks, but the range has an end");
  POISE_TRY(FemRange(t->system.x, range));
  if (!(range[0] < 7 && range[1] > 7))
    POISE_FAIL(POISE_ERR_NUMERIC, "no source lifts u, or no sink lowers it");
  return FemScalarBalance(&t->scalar, &t->system, 1);
}

/* Values 1 on the left and 2 on the side y = 0, group 3: nodes in common have the later one. */
static PoiseErr Later(FemCell cell, Test *t)
{
  double *u;
  PoiseErr err = POISE_OK;
  POISE_TRY(Assemble(cell, "", "1: value = 1; 3: value = 2", t));
  POISE_TRY(Solve(t));
  POISE_TRY(FemGather(&t->mesh, 1, t->system.x, &u));
  for (PoiseInt i = 0; i < t->mesh.nodes && err == POISE_OK; i++) {
    const double *x = t->mesh.x + 3 * i;
    if (x[0] == 0 || x[1] == 0) err = Near(t, "u at a side", u[i], x[1] == 0 ? 2 : 1);
  }
  free(u);
  POISE_TRY(PoiseAgree(t->ctx, err));
  return FemScalarBalance(&t->scalar, &t->system, 1);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  static PoiseErr (*const tests[])(FemCell, Test *) = {Missed, Sources, Later};
  (void)arg;
  for (int cell = 0; cell < FEM_CELLS; cell++) {
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++) {
      Test t = {.ctx = ctx};
      PoiseErr err = tests[k]((FemCell)cell, &t);
      PoiseVecDestroy(&t.exact);
      PoiseKSPDestroy(&t.ksp);
      FemScalarFree(&t.scalar);
      FemSystemFree(&t.system);
      FemMeshFree(&t.mesh);
      POISE_TRY(err);
    }
  }
  return PoisePrintf(ctx, "All kinds of cells are right.\n");
}

int main(int argc, char **argv)
{
  static const PoiseOption options[] = {{0}};
  return FemMain(argc, argv, "Problems given by data of groups, on all kinds of cells.", options, Run);
}

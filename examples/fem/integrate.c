/* SPDX-License-Identifier: BSD-3-Clause */
/* From a solution to numbers: values at nodes, integrals, errors. */
#include "assemble.h"
#include "cells.h"
#include <stdlib.h>
#include <string.h>

/* ---- values at nodes ------------------------------------------------------------------------- */

/* The rows of this rank are at hand; those of other ranks' nodes are fetched. */
static PoiseErr Gather(const FemMesh *mesh, int components, PoiseVec x, PoiseInt *rows, double *values)
{
  const PoiseInt own = components * mesh->owned, others = components * mesh->nodes - own;
  const double *v;
  for (PoiseInt i = 0; i < others; i++)
    rows[i] = components * mesh->global[(own + i) / components] + i % components;
  POISE_TRY(PoiseVecGetValues(x, others, rows, values + own));
  POISE_TRY(PoiseVecGetRead(x, &v));
  for (PoiseInt i = 0; i < own; i++) values[i] = v[i]; /* v may be NULL where there are none */
  return PoiseVecRestore(x, &v);
}

PoiseErr FemGather(const FemMesh *mesh, int components, PoiseVec x, double **values)
{
  PoiseInt *rows = NULL;
  *values = NULL;
  PoiseErr err = FemAlloc(components * (mesh->nodes - mesh->owned), sizeof *rows, &rows);
  if (err == POISE_OK) err = FemAlloc(components * mesh->nodes, sizeof **values, values);
  err = PoiseAgree(mesh->ctx, err);
  if (err == POISE_OK) err = Gather(mesh, components, x, rows, *values);
  free(rows);
  if (err != POISE_OK) {
    free(*values);
    *values = NULL;
  }
  return err;
}

PoiseErr FemInterpolate(const FemMesh *mesh, int components, FemValue value, void *arg, PoiseVec x)
{
  double *v;
  POISE_TRY(PoiseVecGetWrite(x, &v));
#pragma omp parallel for
  for (PoiseInt i = 0; i < mesh->owned; i++) value(mesh->x + 3 * i, arg, v + components * i);
  return PoiseVecRestore(x, &v);
}

/* ---- integrals ------------------------------------------------------------------------------- */

enum { TOGETHER = 256 }; /* cells whose integrals are one partial sum */

/* sums += the integrals over cell e. */
typedef PoiseErr (*CellSums)(void *arg, PoiseInt e, double *sums);

/* Sum over this rank's cells, by all threads. Partial sums are added in order, so bits are the same for any
   number of threads. */
static PoiseErr AddCells(const FemMesh *mesh, CellSums add, void *arg, int n, double *sums)
{
  const PoiseInt parts = (mesh->cells + TOGETHER - 1) / TOGETHER;
  PoiseInt failed = mesh->cells;
  double *part = NULL;
  for (int k = 0; k < n; k++) sums[k] = 0;
  POISE_TRY(FemAlloc(parts * n, sizeof *part, &part));
#pragma omp parallel for reduction(min : failed)
  for (PoiseInt p = 0; p < parts; p++) {
    for (PoiseInt e = p * TOGETHER; e < mesh->cells && e < (p + 1) * TOGETHER; e++) {
      if (add(arg, e, part + p * n) == POISE_OK) continue;
      PoiseErrorClear();
      if (e < failed) failed = e;
    }
  }
  for (PoiseInt p = 0; p < parts; p++)
    for (int k = 0; k < n; k++) sums[k] += part[p * n + k];
  /* repeat it, so that this thread has the error */
  PoiseErr err = failed < mesh->cells ? add(arg, failed, part) : POISE_OK;
  free(part);
  return err;
}

static PoiseErr Sum(const FemMesh *mesh, CellSums add, void *arg, int n, double *sums)
{
  POISE_TRY(PoiseAgree(mesh->ctx, AddCells(mesh, add, arg, n, sums)));
  return n > 0 ? PoiseSum(mesh->ctx, n, sums) : POISE_OK;
}

typedef struct Integrals {
  const FemMesh *mesh;
  FemIntegrand integrand;
  void *arg;
  FemReference reference;
} Integrals;

static PoiseErr AddIntegrals(void *arg, PoiseInt e, double *sums)
{
  const Integrals *of = arg;
  FemPoint p;
  FemCellBegin(of->mesh, &of->reference, e, &p);
  for (int q = 0; q < of->reference.points; q++) {
    POISE_TRY(FemCellPoint(of->mesh, &of->reference, q, &p));
    of->integrand(&p, of->arg, sums);
  }
  return POISE_OK;
}

static PoiseErr Integrate(const FemMesh *mesh, int fine, FemIntegrand integrand, void *arg, int n,
                          double *sums)
{
  Integrals of = {.mesh = mesh, .integrand = integrand, .arg = arg};
  FemReferenceCell(mesh->cell, fine, &of.reference);
  return Sum(mesh, AddIntegrals, &of, n, sums);
}

PoiseErr FemIntegrate(const FemMesh *mesh, FemIntegrand integrand, void *arg, int n, double *sums)
{
  return Integrate(mesh, 1, integrand, arg, n, sums);
}

PoiseErr FemIntegrateAsMatrix(const FemMesh *mesh, FemIntegrand integrand, void *arg, int n, double *sums)
{
  return Integrate(mesh, 0, integrand, arg, n, sums);
}

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct Comparison {
  const FemMesh *mesh;
  const double *values;
  FemExact exact;
  void *arg;
  FemReference reference;
  double shape[FEM_MAX_POINTS][FEM_MAX_NODES][4]; /* N, and its derivatives, at the points */
} Comparison;

/* s[0] = x and u_h at a point, s[1 + d] = their derivatives along s_d. Loops over 4 become vectors. */
static void Interpolate(int nodes, const double shape[][4], double at[][4], double s[4][4])
{
  double sum[4][4] = {{0}}; /* in registers */
  for (int k = 0; k < nodes; k++)
    for (int d = 0; d < 4; d++)
      for (int c = 0; c < 4; c++) sum[d][c] += shape[k][d] * at[k][c];
  memcpy(s, sum, sizeof sum);
}

/* sums: 1, e, e^2, |grad e|^2. grad u_h is formed at each point, not those of all shape functions. */
static PoiseErr AddErrors(void *arg, PoiseInt cell, double *sums)
{
  const Comparison *of = arg;
  const FemMesh *mesh = of->mesh;
  const int nodes = of->reference.nodes;
  double at[FEM_MAX_NODES][4]; /* x and u_h at the nodes */
  for (int k = 0; k < nodes; k++) {
    const PoiseInt node = mesh->cellNodes[cell * nodes + k];
    memcpy(at[k], mesh->x + 3 * node, 3 * sizeof(double));
    at[k][3] = of->values[node];
  }
  for (int q = 0; q < of->reference.points; q++) {
    double s[4][4], J[3][3], inverse[3][3], g[3];
    Interpolate(nodes, of->shape[q], at, s);
    for (int d = 0; d < 3; d++) memcpy(J[d], s[1 + d], sizeof J[d]);
    const double det = FemCofactors(mesh->dim, J, inverse);
    if (!(det > 0)) return FemInverted(mesh, &of->reference, cell);
    const double dV = of->reference.w[q] * det, e = s[0][3] - of->exact(s[0], of->arg, g);
    sums[0] += dV;
    sums[1] += dV * e;
    sums[2] += dV * e * e;
    for (int c = 0; c < mesh->dim; c++) {
      const double of_u = (s[1][3] * inverse[0][c] + s[2][3] * inverse[1][c] + s[3][3] * inverse[2][c]) / det;
      sums[3] += dV * (of_u - g[c]) * (of_u - g[c]);
    }
  }
  return POISE_OK;
}

PoiseErr FemErrors(const FemMesh *mesh, const double *values, FemExact exact, void *arg, double *L2,
                   double *H1, double *mean)
{
  Comparison with = {.mesh = mesh, .values = values, .exact = exact, .arg = arg};
  FemReference *r = &with.reference;
  double sums[4];
  FemReferenceCell(mesh->cell, 1, r);
  for (int q = 0; q < r->points; q++) {
    for (int k = 0; k < r->nodes; k++) {
      with.shape[q][k][0] = r->N[q][k];
      for (int d = 0; d < r->dim; d++) with.shape[q][k][1 + d] = r->dN[q][k][d];
    }
  }
  POISE_TRY(Sum(mesh, AddErrors, &with, 4, sums));
  *mean = sums[1] / sums[0];
  *L2 = sqrt(sums[2]);
  *H1 = sqrt(sums[3]);
  return POISE_OK;
}

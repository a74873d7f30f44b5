/* SPDX-License-Identifier: BSD-3-Clause */
/* From a solution to numbers: values at nodes, integrals, errors. */
#include "assemble.h"
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
#pragma omp parallel for
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
  FemElement element;
  FemPoint p;
  POISE_TRY(FemCellBegin(of->mesh, &of->reference, e, &element, &p));
  for (int q = 0; q < of->reference.points; q++) {
    FemCellPoint(q, &p);
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
} Comparison;

/* grad u_h at the points of a pack, not from those of all shape functions. */
static void Gradients(const FemPack *p, double g[3][FEM_LANES])
{
  for (int l = 0; l < FEM_LANES; l++) {
    const double scale = 1 / p->det[l], a = scale * p->d[0][3][l], b = scale * p->d[1][3][l],
                 c = scale * p->d[2][3][l];
    for (int i = 0; i < 3; i++)
      g[i][l] = a * p->inverse[0][i][l] + b * p->inverse[1][i][l] + c * p->inverse[2][i][l];
  }
}

/* sums: 1, e, e^2, |grad e|^2. */
static PoiseErr AddErrors(void *arg, PoiseInt cell, double *sums)
{
  const Comparison *of = arg;
  const FemMesh *mesh = of->mesh;
  const FemReference *r = &of->reference;
  double at[FEM_MAX_NODES][4], g[3][FEM_LANES], exact[3]; /* at: x and u_h at the nodes */
  FemPack pack[FEM_MAX_PACKS];
  for (int k = 0; k < r->nodes; k++) {
    const PoiseInt node = mesh->cellNodes[cell * r->nodes + k];
    memcpy(at[k], mesh->x + 3 * node, 3 * sizeof(double));
    at[k][3] = of->values[node];
  }
  if (!FemPacks(r, 4, at, pack)) return FemInverted(mesh, r, cell);
  for (int q = 0; q < r->points; q++) {
    const FemPack *p = &pack[q / FEM_LANES];
    const int l = q % FEM_LANES;
    if (l == 0) Gradients(p, g);
    const double x[3] = {p->x[0][l], p->x[1][l], p->x[2][l]};
    const double ring = mesh->revolved ? FemRing(x[0]) : 1;
    const double dV = ring * r->w[q] * p->det[l], e = p->x[3][l] - of->exact(x, of->arg, exact);
    sums[0] += dV;
    sums[1] += dV * e;
    sums[2] += dV * e * e;
    for (int c = 0; c < mesh->dim; c++) sums[3] += dV * (g[c][l] - exact[c]) * (g[c][l] - exact[c]);
  }
  return POISE_OK;
}

PoiseErr FemErrors(const FemMesh *mesh, const double *values, FemExact exact, void *arg, double *L2,
                   double *H1, double *mean)
{
  Comparison with = {.mesh = mesh, .values = values, .exact = exact, .arg = arg};
  double sums[4];
  FemReferenceCell(mesh->cell, 1, &with.reference);
  POISE_TRY(Sum(mesh, AddErrors, &with, 4, sums));
  *mean = sums[1] / sums[0];
  *L2 = sqrt(sums[2]);
  *H1 = sqrt(sums[3]);
  return POISE_OK;
}

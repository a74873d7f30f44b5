/* SPDX-License-Identifier: BSD-3-Clause */
#include "assemble.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST = 3 * FEM_MAX_NODES, /* unknowns of an element */
  BATCH = 1024,             /* cells that the threads compute before their values are added in the order of
                               the cells */
  MANY = 65536              /* the same of integrals, which are few */
};

PoiseErr FemSystemCreate(const FemMesh *mesh, int components, FemAssembly how, FemSystem *s)
{
  const PoiseInt n = components * mesh->owned, N = components * mesh->allNodes;
  *s = (FemSystem){.mesh = mesh, .components = components, .how = how};
  POISE_TRY(PoiseMatCreate(mesh->ctx, n, n, N, N, &s->A));
  POISE_TRY(PoiseMatSetBlockSize(s->A, components));
  if (how == FEM_BLOCKS) POISE_TRY(PoiseMatSetType(s->A, "bcsr"));
  if (how == FEM_ELEMENTS) POISE_TRY(PoiseMatSetType(s->A, "auto")); /* blocks, if these take fewer bytes */
  return PoiseMatCreateVecs(s->A, &s->x, &s->b);
}

void FemSystemFree(FemSystem *s)
{
  PoiseVecDestroy(&s->x);
  PoiseVecDestroy(&s->b);
  PoiseMatDestroy(&s->A);
  free(s->fixedRows);
  *s = (FemSystem){0};
}

/* Global rows of the unknowns of nodes; returns their number. */
static int Rows(const FemMesh *mesh, int components, int nodes, const PoiseInt *node, PoiseInt *rows)
{
  for (int k = 0; k < nodes; k++) {
    for (int c = 0; c < components; c++) rows[k * components + c] = components * mesh->global[node[k]] + c;
  }
  return nodes * components;
}

/* ---- cells, by all threads ------------------------------------------------------------------- */

/* Work on cell e, which is number `place` of its batch. */
typedef PoiseErr (*CellWork)(void *arg, PoiseInt e, PoiseInt place);

static PoiseErr Batch(PoiseInt first, PoiseInt count, CellWork work, void *arg)
{
  PoiseInt failed = count;
#pragma omp parallel for reduction(min : failed)
  for (PoiseInt k = 0; k < count; k++) {
    if (work(arg, first + k, k) == POISE_OK) continue;
    PoiseErrorClear();
    if (k < failed) failed = k;
  }
  if (failed == count) return POISE_OK;
  return work(arg, first + failed, failed); /* repeat it, so that this thread has the error */
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Systems {
  const FemSystem *s;
  const FemReference *reference;
  FemForm form;
  void *arg;
  double *K, *F; /* of a batch, cell behind cell; K may be NULL */
} Systems;

static PoiseErr CellSystem(void *arg, PoiseInt e, PoiseInt place)
{
  const Systems *of = arg;
  const PoiseInt n = of->reference->nodes * of->s->components;
  double *K = of->K == NULL ? NULL : of->K + place * n * n, *F = of->F + place * n;
  FemPoint p;
  if (K != NULL) memset(K, 0, (size_t)(n * n) * sizeof *K);
  memset(F, 0, (size_t)n * sizeof *F);
  FemCellBegin(of->s->mesh, of->reference, e, &p);
  for (int q = 0; q < of->reference->points; q++) {
    POISE_TRY(FemCellPoint(of->s->mesh, of->reference, q, &p));
    of->form(&p, of->arg, K, F);
  }
  return POISE_OK;
}

/* Add to b, and to A cell by cell; or store A's values one after the other in v; or neither if both are
   NULL. K, F, rows: memory for a batch. */
static PoiseErr AddBatches(FemSystem *s, FemForm form, void *arg, PoiseMat A, double *v, double *K, double *F,
                           PoiseInt *rows)
{
  const FemMesh *mesh = s->mesh;
  FemReference reference;
  FemReferenceCell(mesh->cell, 0, &reference);
  const int n = reference.nodes * s->components;
  for (PoiseInt first = 0; first < mesh->cells; first += BATCH) {
    const PoiseInt count = mesh->cells - first < BATCH ? mesh->cells - first : BATCH;
    Systems systems = {s, &reference, form, arg, A != NULL ? K : v != NULL ? v + first * n * n : NULL, F};
    POISE_TRY(Batch(first, count, CellSystem, &systems));
    for (PoiseInt e = 0; e < count; e++) {
      PoiseInt *of = rows + e * n;
      Rows(mesh, s->components, reference.nodes, mesh->cellNodes + (first + e) * reference.nodes, of);
      if (A != NULL) POISE_TRY(PoiseMatAddBlock(A, n, of, n, of, K + e * n * n));
    }
    POISE_TRY(
        PoiseVecAddValues(s->b, count * n, rows, F)); /* a call for each cell takes as long as its sums */
  }
  return POISE_OK;
}

static PoiseErr AddCells(FemSystem *s, FemForm form, void *arg, PoiseMat A, double *v)
{
  const int n = FemCellInfoOf(s->mesh->cell)->nodes * s->components;
  double *K = NULL, *F = NULL;
  PoiseInt *rows = NULL;
  PoiseErr err = FemAlloc(BATCH * n, sizeof *F, &F);
  if (err == POISE_OK) err = FemAlloc(BATCH * n, sizeof *rows, &rows);
  if (err == POISE_OK && A != NULL) err = FemAlloc(BATCH * n * n, sizeof *K, &K);
  if (err == POISE_OK) err = AddBatches(s, form, arg, A, v, K, F, rows);
  free(rows);
  free(F);
  free(K);
  return err;
}

/* One triplet for each entry of each cell's matrix, in the order in which AddCells gives their values. */
static PoiseErr Triplets(const FemSystem *s, PoiseInt **i, PoiseInt **j)
{
  const FemMesh *mesh = s->mesh;
  const int nodes = FemCellInfoOf(mesh->cell)->nodes, n = nodes * s->components;
  PoiseInt rows[MOST], at = 0;
  POISE_TRY(FemAlloc(mesh->cells * n * n, sizeof **i, i));
  POISE_TRY(FemAlloc(mesh->cells * n * n, sizeof **j, j));
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    Rows(mesh, s->components, nodes, mesh->cellNodes + e * nodes, rows);
    for (int k = 0; k < n * n; k++, at++) {
      (*i)[at] = rows[k / n];
      (*j)[at] = rows[k % n];
    }
  }
  return POISE_OK;
}

static PoiseErr SetPattern(FemSystem *s)
{
  const int n = FemCellInfoOf(s->mesh->cell)->nodes * s->components;
  PoiseInt *i = NULL, *j = NULL;
  if (s->patterned) return POISE_OK;
  PoiseErr err = PoiseAgree(s->mesh->ctx, Triplets(s, &i, &j));
  if (err == POISE_OK) err = PoiseMatSetPatternCOO(s->A, s->mesh->cells * n * n, i, j);
  free(i);
  free(j);
  s->patterned = err == POISE_OK;
  return err;
}

static PoiseErr CellsByTriplets(FemSystem *s, FemForm form, void *arg)
{
  const int n = FemCellInfoOf(s->mesh->cell)->nodes * s->components;
  double *v = NULL;
  POISE_TRY(SetPattern(s));
  PoiseErr err = FemAlloc(s->mesh->cells * n * n, sizeof *v, &v);
  if (err == POISE_OK) err = AddCells(s, form, arg, NULL, v);
  err = PoiseAgree(s->mesh->ctx, err);
  if (err == POISE_OK) err = PoiseMatSetValuesCOO(s->A, v);
  free(v);
  return err;
}

PoiseErr FemAssembleCells(FemSystem *s, FemForm form, void *arg, const FemOperator *op)
{
  POISE_TRY(PoiseVecSet(s->b, 0));
  if (s->how == FEM_COO) {
    POISE_TRY(CellsByTriplets(s, form, arg));
  } else if (s->how != FEM_ELEMENTS) {
    POISE_TRY(FemAssembleOperator(s->mesh, s->components, op, s->how == FEM_BLOCKS, s->patterned, s->A));
    s->patterned = 1;
    if (op->source) POISE_TRY(PoiseAgree(s->mesh->ctx, AddCells(s, form, arg, NULL, NULL)));
  } else {
    POISE_TRY(PoiseMatZeroEntries(s->A));
    POISE_TRY(PoiseAgree(s->mesh->ctx, AddCells(s, form, arg, s->A, NULL)));
    POISE_TRY(PoiseMatAssemble(s->A));
  }
  return PoiseVecAssemble(s->b);
}

/* Compare by |(A - B) v| / |A| in the maximum norm, v random in [-1, 1). Matrices of all types have
   products. */
static PoiseErr CompareMatrices(const FemSystem *s, FemSystem *other, FemForm form, void *arg)
{
  double norm, difference;
  POISE_TRY(FemSystemCreate(s->mesh, s->components, s->how == FEM_COO ? FEM_ELEMENTS : FEM_COO, other));
  POISE_TRY(FemAssembleCells(other, form, arg, NULL));
  POISE_TRY(PoiseMatNorm(s->A, POISE_NORM_INF, &norm));
  POISE_TRY(PoiseVecSetRandom(other->x, 1));
  POISE_TRY(PoiseMatMult(other->A, other->x, other->b));
  POISE_TRY(PoiseMatMultAdd(s->A, -1, other->x, 1, other->b));
  POISE_TRY(PoiseVecNorm(other->b, POISE_NORM_INF, &difference));
  if (!(difference <= 1e-14 * norm)) {
    POISE_FAIL(POISE_ERR_NUMERIC, "assembled in two ways A differs by %.1e of its norm", difference / norm);
  }
  return POISE_OK;
}

PoiseErr FemCheckAssembly(const FemSystem *s, FemForm form, void *arg)
{
  FemSystem other = {0};
  PoiseErr err = CompareMatrices(s, &other, form, arg);
  FemSystemFree(&other);
  return err;
}

/* ---- the boundary ---------------------------------------------------------------------------- */

PoiseErr FemAssembleVector(const FemMesh *mesh, int components, FemForm form, void *arg, PoiseVec v)
{
  FemSystem s = {.mesh = mesh, .components = components, .b = v};
  POISE_TRY(PoiseAgree(mesh->ctx, AddCells(&s, form, arg, NULL, NULL)));
  return PoiseVecAssemble(v);
}

static int FacetInAny(const FemMesh *mesh, PoiseInt facet, int groups, const int *group)
{
  for (int g = 0; g < groups; g++)
    if (FemFacetIn(mesh, facet, group[g])) return 1;
  return 0;
}

/* Add to b, and to A if `matrices`. */
static PoiseErr AddFacets(FemSystem *s, int groups, const int *group, FemForm form, void *arg, int matrices)
{
  const FemMesh *mesh = s->mesh;
  FemReference reference;
  FemPoint p;
  PoiseInt rows[MOST];
  FemReferenceFacet(mesh->cell, &reference);
  for (PoiseInt f = 0; f < mesh->facets; f++) {
    double F[MOST] = {0}, K[MOST * MOST] = {0};
    if (!FacetInAny(mesh, f, groups, group)) continue;
    FemFacetBegin(mesh, &reference, f, &p);
    for (int q = 0; q < reference.points; q++) {
      FemFacetPoint(&reference, q, &p);
      form(&p, arg, matrices ? K : NULL, F);
    }
    const int n = Rows(mesh, s->components, p.nodes, p.node, rows);
    POISE_TRY(PoiseVecAddValues(s->b, n, rows, F));
    if (matrices) POISE_TRY(PoiseMatAddBlock(s->A, n, rows, n, rows, K));
  }
  return POISE_OK;
}

PoiseErr FemAssembleFacetsOf(FemSystem *s, int groups, const int *group, FemForm form, void *arg)
{
  POISE_TRY(PoiseAgree(s->mesh->ctx, AddFacets(s, groups, group, form, arg, 0)));
  return PoiseVecAssemble(s->b);
}

PoiseErr FemAssembleFacetMatrices(FemSystem *s, int group, FemForm form, void *arg)
{
  POISE_TRY(PoiseAgree(s->mesh->ctx, AddFacets(s, 1, &group, form, arg, 1)));
  POISE_TRY(PoiseMatAssemble(s->A));
  return PoiseVecAssemble(s->b);
}

PoiseErr FemAssembleFacets(FemSystem *s, int group, FemForm form, void *arg)
{
  return FemAssembleFacetsOf(s, 1, &group, form, arg);
}

/* Set the values of a node, and note its rows. */
static PoiseErr FixNode(FemSystem *s, PoiseInt node, FemValue value, void *arg)
{
  double v[3] = {FEM_FREE, FEM_FREE, FEM_FREE};
  value(s->mesh->x + 3 * node, arg, v);
  for (int c = 0; c < s->components; c++) {
    PoiseInt row = s->components * s->mesh->global[node] + c;
    if (isnan(v[c])) continue;
    POISE_TRY(PoiseVecSetValues(s->x, 1, &row, &v[c]));
    s->fixedRows[s->fixed++] = row;
  }
  return POISE_OK;
}

/* Do it once for each node of this rank's facets in the group (NULL: for all nodes). `seen` says which were
   set. */
static PoiseErr FixNodes(FemSystem *s, const int *group, FemValue value, void *arg, char *seen)
{
  const FemMesh *mesh = s->mesh;
  const int nodes = FemCellInfoOf(mesh->cell)->facetNodes;
  for (PoiseInt i = 0; group == NULL && i < mesh->nodes; i++) POISE_TRY(FixNode(s, i, value, arg));
  for (PoiseInt f = 0; group != NULL && f < mesh->facets; f++) {
    for (int k = 0; k < nodes && FemFacetIn(mesh, f, *group); k++) {
      PoiseInt node = mesh->facetNodes[f * nodes + k];
      if (seen[node]) continue;
      seen[node] = 1;
      POISE_TRY(FixNode(s, node, value, arg));
    }
  }
  return POISE_OK;
}

static PoiseErr Fix(FemSystem *s, const int *group, FemValue value, void *arg)
{
  const size_t room = (size_t)(s->fixed + s->components * s->mesh->nodes) + 1;
  char *seen = NULL;
  PoiseErr err = FemAlloc(s->mesh->nodes, 1, &seen);
  PoiseInt *rows = realloc(s->fixedRows, room * sizeof *rows);
  if (rows != NULL) s->fixedRows = rows;
  if (err == POISE_OK && rows == NULL) {
    err = PoiseErrorSet(POISE_ERR_MEMORY, __func__, __FILE__, __LINE__, "no memory for %zu rows", room);
  }
  if (err == POISE_OK) err = FixNodes(s, group, value, arg, seen);
  free(seen);
  POISE_TRY(PoiseAgree(s->mesh->ctx, err));
  return PoiseVecAssemble(s->x);
}

PoiseErr FemFix(FemSystem *s, int group, FemValue value, void *arg)
{
  return Fix(s, &group, value, arg);
}

PoiseErr FemFixNodes(FemSystem *s, FemValue value, void *arg)
{
  return Fix(s, NULL, value, arg);
}

PoiseErr FemConstrain(FemSystem *s)
{
  double all = (double)s->fixed;
  POISE_TRY(PoiseSum(s->mesh->ctx, 1, &all));
  if (all == 0) {
    POISE_FAIL(POISE_ERR_STATE,
               "no value is prescribed on the boundary: the matrix is singular, and the solution not unique");
  }
  return PoiseMatZeroRowsColumns(s->A, s->fixed, s->fixedRows, 1, s->x, s->b);
}

/* ---- values at nodes, integrals -------------------------------------------------------------- */

/* The rows of this rank are at hand; those of other ranks' nodes are fetched. */
static PoiseErr Gather(const FemMesh *mesh, int components, PoiseVec x, PoiseInt *rows, double *values)
{
  const PoiseInt own = components * mesh->owned, others = components * mesh->nodes - own;
  const double *v;
  for (PoiseInt i = 0; i < others; i++)
    rows[i] = components * mesh->global[(own + i) / components] + i % components;
  POISE_TRY(PoiseVecGetValues(x, others, rows, values + own));
  POISE_TRY(PoiseVecGetRead(x, &v));
  memcpy(values, v, (size_t)own * sizeof *values);
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

typedef struct Integrals {
  const FemMesh *mesh;
  const FemReference *reference;
  FemIntegrand integrand;
  void *arg;
  int n;
  double *sums; /* [MANY][n] */
} Integrals;

static PoiseErr CellIntegrals(void *arg, PoiseInt e, PoiseInt place)
{
  const Integrals *of = arg;
  double *sums = of->sums + place * of->n;
  FemPoint p;
  for (int k = 0; k < of->n; k++) sums[k] = 0;
  FemCellBegin(of->mesh, of->reference, e, &p);
  for (int q = 0; q < of->reference->points; q++) {
    POISE_TRY(FemCellPoint(of->mesh, of->reference, q, &p));
    of->integrand(&p, of->arg, sums);
  }
  return POISE_OK;
}

static PoiseErr Integrate(const FemMesh *mesh, int fine, FemIntegrand integrand, void *arg, int n,
                          double *sums)
{
  FemReference reference;
  Integrals of = {mesh, &reference, integrand, arg, n, NULL};
  PoiseErr err = FemAlloc(MANY * n, sizeof *of.sums, &of.sums);
  for (int k = 0; k < n; k++) sums[k] = 0;
  FemReferenceCell(mesh->cell, fine, &reference);
  for (PoiseInt first = 0; first < mesh->cells && err == POISE_OK; first += MANY) {
    const PoiseInt count = mesh->cells - first < MANY ? mesh->cells - first : MANY;
    err = Batch(first, count, CellIntegrals, &of);
    for (PoiseInt k = 0; k < count * n && err == POISE_OK; k++) sums[k % n] += of.sums[k];
  }
  free(of.sums);
  POISE_TRY(PoiseAgree(mesh->ctx, err));
  return n > 0 ? PoiseSum(mesh->ctx, n, sums) : POISE_OK;
}

PoiseErr FemIntegrate(const FemMesh *mesh, FemIntegrand integrand, void *arg, int n, double *sums)
{
  return Integrate(mesh, 1, integrand, arg, n, sums);
}

PoiseErr FemIntegrateAsMatrix(const FemMesh *mesh, FemIntegrand integrand, void *arg, int n, double *sums)
{
  return Integrate(mesh, 0, integrand, arg, n, sums);
}

typedef struct Comparison {
  const double *values;
  FemExact exact;
  void *arg;
} Comparison;

/* sums: 1, e, e^2, |grad e|^2 */
static void Compared(const FemPoint *p, void *arg, double *sums)
{
  const Comparison *with = arg;
  double g[3] = {0}, e = -with->exact(p->x, with->arg, g);
  for (int c = 0; c < 3; c++) g[c] = -g[c];
  for (int a = 0; a < p->nodes; a++) {
    double u = with->values[p->node[a]];
    e += u * p->N[a];
    for (int c = 0; c < p->dim; c++) g[c] += u * p->grad[a][c];
  }
  sums[0] += p->dV;
  sums[1] += p->dV * e;
  sums[2] += p->dV * e * e;
  for (int c = 0; c < p->dim; c++) sums[3] += p->dV * g[c] * g[c];
}

PoiseErr FemErrors(const FemMesh *mesh, const double *values, FemExact exact, void *arg, double *L2,
                   double *H1, double *mean)
{
  Comparison with = {values, exact, arg};
  double sums[4];
  POISE_TRY(FemIntegrate(mesh, Compared, &with, 4, sums));
  *mean = sums[1] / sums[0];
  *L2 = sqrt(sums[2]);
  *H1 = sqrt(sums[3]);
  return POISE_OK;
}

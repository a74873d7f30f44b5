/* SPDX-License-Identifier: BSD-3-Clause */
#include "assemble.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  /* The threads compute some elements before their values are added in the order of the elements: so many, or
     of vectors alone so many values, whose rows then suffice for all threads. */
  WITH_MATRICES = 1024,
  VALUES = 1 << 20
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

/* ---- what elements add ----------------------------------------------------------------------- */

/* Cells, or facets, of one system. */
typedef struct Elements {
  const FemSystem *s;
  FemForm form;
  void *arg;
  PoiseInt count;
  const PoiseInt *facet; /* [count]; NULL: all cells */
  int n;                 /* unknowns of an element */
  FemReference reference;
  double *K, *F; /* of a batch or of all, element behind element; K may be NULL */
  PoiseInt *rows;
} Elements;

static Elements Cells(const FemSystem *s, FemForm form, void *arg)
{
  Elements cells = {.s = s, .form = form, .arg = arg, .count = s->mesh->cells};
  FemReferenceCell(s->mesh->cell, 0, &cells.reference);
  cells.n = cells.reference.nodes * s->components;
  return cells;
}

/* Element e, whose K and F are at this place. */
static PoiseErr Compute(const Elements *of, PoiseInt e, PoiseInt place)
{
  const FemMesh *mesh = of->s->mesh;
  const PoiseInt n = of->n;
  double *K = of->K == NULL ? NULL : of->K + place * n * n, *F = of->F + place * n;
  FemElement element;
  FemPoint p;
  if (K != NULL) memset(K, 0, (size_t)(n * n) * sizeof *K);
  memset(F, 0, (size_t)n * sizeof *F);
  if (of->facet == NULL)
    POISE_TRY(FemCellBegin(mesh, &of->reference, e, &element, &p));
  else
    FemFacetBegin(mesh, &of->reference, of->facet[e], &p);
  for (int q = 0; q < of->reference.points; q++) {
    if (of->facet == NULL)
      FemCellPoint(q, &p);
    else
      FemFacetPoint(&of->reference, q, &p);
    of->form(&p, of->arg, K, F);
  }
  return POISE_OK;
}

/* The same, as one of several threads. Returns e if it has failed, else `failed`, the first so far. */
static PoiseInt Try(const Elements *of, PoiseInt e, PoiseInt place, PoiseInt failed)
{
  if (Compute(of, e, place) == POISE_OK) return failed;
  PoiseErrorClear();
  return e < failed ? e : failed;
}

/* Repeat the first element that failed, if any did, so that this thread has the error. */
static PoiseErr Repeat(const Elements *of, PoiseInt failed)
{
  return failed < of->count ? Compute(of, failed, 0) : POISE_OK;
}

static PoiseErr ComputeBatch(const Elements *of, PoiseInt first, PoiseInt count)
{
  PoiseInt failed = of->count;
#pragma omp parallel for reduction(min : failed)
  for (PoiseInt k = 0; k < count; k++) failed = Try(of, first + k, k, failed);
  return Repeat(of, failed);
}

static void SetRows(const Elements *of, PoiseInt first, PoiseInt count)
{
  const FemMesh *mesh = of->s->mesh;
  const int nodes = of->reference.nodes;
#pragma omp parallel for
  for (PoiseInt k = 0; k < count; k++) {
    const PoiseInt *node = of->facet == NULL ? mesh->cellNodes + (first + k) * nodes
                                             : mesh->facetNodes + of->facet[first + k] * nodes;
    Rows(mesh, of->s->components, nodes, node, of->rows + k * of->n);
  }
}

/* Add to b, and to A element by element; or store A's values one after the other in v; or neither if both
   are NULL. */
static PoiseErr AddBatches(Elements *of, PoiseMat A, double *v, PoiseInt most)
{
  const int n = of->n;
  for (PoiseInt first = 0; first < of->count; first += most) {
    const PoiseInt count = of->count - first < most ? of->count - first : most;
    if (v != NULL) of->K = v + first * n * n;
    POISE_TRY(ComputeBatch(of, first, count));
    SetRows(of, first, count);
    for (PoiseInt k = 0; k < count && A != NULL; k++)
      POISE_TRY(PoiseMatAddBlock(A, n, of->rows + k * n, n, of->rows + k * n, of->K + k * n * n));
    POISE_TRY(PoiseVecAddValues(of->s->b, count * n, of->rows, of->F)); /* by all threads, as they are many */
  }
  return POISE_OK;
}

static PoiseErr Add(Elements *of, PoiseMat A, double *v)
{
  const PoiseInt n = of->n, room = A != NULL ? WITH_MATRICES : VALUES / n,
                 most = of->count < room ? of->count : room;
  double *K = NULL;
  PoiseErr err = FemAlloc(most * n, sizeof *of->F, &of->F);
  if (err == POISE_OK) err = FemAlloc(most * n, sizeof *of->rows, &of->rows);
  if (err == POISE_OK && A != NULL) err = FemAlloc(most * n * n, sizeof *K, &K);
  of->K = K;
  if (err == POISE_OK) err = AddBatches(of, A, v, most);
  free(of->rows);
  free(of->F);
  free(K);
  return err;
}

static PoiseErr AddCells(FemSystem *s, FemForm form, void *arg, PoiseMat A, double *v)
{
  Elements cells = Cells(s, form, arg);
  return Add(&cells, A, v);
}

/* ---- beside a GPU ---------------------------------------------------------------------------- */

static PoiseErr AddOperator(FemSystem *s, const FemOperator *op)
{
  POISE_TRY(FemAssembleOperator(s->mesh, s->components, op, s->how == FEM_BLOCKS, s->patterned, s->A));
  s->patterned = 1;
  return POISE_OK;
}

/* This thread has the GPU compute the matrix. The others, which are free meanwhile, compute F of all
   cells. */
static PoiseErr ComputeBeside(const Elements *of, FemSystem *s, const FemOperator *op)
{
  PoiseErr err = POISE_OK;
  PoiseInt failed = of->count;
#pragma omp parallel reduction(min : failed)
  {
    int stopped = 0;
#pragma omp master
    stopped = (err = AddOperator(s, op)) != POISE_OK; /* no error of a cell replaces this one */
#pragma omp for schedule(dynamic, 256) nowait
    for (PoiseInt e = 0; e < of->count; e++)
      if (!stopped) failed = Try(of, e, e, failed);
  }
  return err != POISE_OK ? err : Repeat(of, failed);
}

static PoiseErr AddComputed(Elements *of, PoiseInt most)
{
  for (PoiseInt first = 0; first < of->count; first += most) {
    const PoiseInt count = of->count - first < most ? of->count - first : most;
    SetRows(of, first, count);
    POISE_TRY(PoiseVecAddValues(of->s->b, count * of->n, of->rows, of->F + first * of->n));
  }
  return POISE_OK;
}

/* A by the operator, b by the form. */
static PoiseErr AddBeside(FemSystem *s, FemForm form, void *arg, const FemOperator *op)
{
  Elements cells = Cells(s, form, arg);
  const PoiseInt most = VALUES / cells.n;
  PoiseErr err = FemAlloc(cells.count * cells.n, sizeof *cells.F, &cells.F);
  if (err == POISE_OK) err = FemAlloc(most * cells.n, sizeof *cells.rows, &cells.rows);
  err = PoiseAgree(s->mesh->ctx, err); /* as ranks wait for each other in what follows */
  if (err == POISE_OK) err = ComputeBeside(&cells, s, op);
  if (err == POISE_OK) err = AddComputed(&cells, most);
  free(cells.rows);
  free(cells.F);
  return err;
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* One triplet for each entry of each cell's matrix, in the order in which AddCells gives their values. */
static PoiseErr Triplets(const FemSystem *s, PoiseInt **i, PoiseInt **j)
{
  const FemMesh *mesh = s->mesh;
  const int nodes = FemCellInfoOf(mesh->cell)->nodes, n = nodes * s->components;
  POISE_TRY(FemAlloc(mesh->cells * n * n, sizeof **i, i));
  POISE_TRY(FemAlloc(mesh->cells * n * n, sizeof **j, j));
#pragma omp parallel for
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    PoiseInt rows[3 * FEM_MAX_NODES], at = e * n * n;
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
  } else if (s->how != FEM_ELEMENTS && op->source && FemOperatorOnGpu(s->mesh->ctx)) {
    POISE_TRY(PoiseAgree(s->mesh->ctx, AddBeside(s, form, arg, op)));
  } else if (s->how != FEM_ELEMENTS) {
    POISE_TRY(AddOperator(s, op));
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

/* Add to b, and to A unless it is NULL. */
static PoiseErr AddFacets(FemSystem *s, int groups, const int *group, FemForm form, void *arg, PoiseMat A)
{
  const FemMesh *mesh = s->mesh;
  Elements facets = {.s = s, .form = form, .arg = arg};
  PoiseInt *facet = NULL;
  FemReferenceFacet(mesh->cell, &facets.reference);
  facets.n = facets.reference.nodes * s->components;
  POISE_TRY(FemAlloc(mesh->facets, sizeof *facet, &facet));
  for (PoiseInt f = 0; f < mesh->facets; f++)
    if (FacetInAny(mesh, f, groups, group)) facet[facets.count++] = f;
  facets.facet = facet;
  PoiseErr err = Add(&facets, A, NULL);
  free(facet);
  return err;
}

PoiseErr FemAssembleFacetsOf(FemSystem *s, int groups, const int *group, FemForm form, void *arg)
{
  POISE_TRY(PoiseAgree(s->mesh->ctx, AddFacets(s, groups, group, form, arg, NULL)));
  return PoiseVecAssemble(s->b);
}

PoiseErr FemAssembleFacetMatrices(FemSystem *s, int group, FemForm form, void *arg)
{
  POISE_TRY(PoiseAgree(s->mesh->ctx, AddFacets(s, 1, &group, form, arg, s->A)));
  POISE_TRY(PoiseMatAssemble(s->A));
  return PoiseVecAssemble(s->b);
}

PoiseErr FemAssembleFacets(FemSystem *s, int group, FemForm form, void *arg)
{
  return FemAssembleFacetsOf(s, 1, &group, form, arg);
}

/* The nodes of this rank's facets in the group (NULL: all nodes), each once. */
static PoiseErr FindNodes(const FemMesh *mesh, const int *group, PoiseInt **node, PoiseInt *count)
{
  const int nodes = FemCellInfoOf(mesh->cell)->facetNodes;
  const PoiseInt most = mesh->facets * nodes < mesh->nodes ? mesh->facets * nodes : mesh->nodes;
  char *seen = NULL;
  *count = 0;
  POISE_TRY(FemAlloc(group == NULL ? mesh->nodes : most, sizeof **node, node));
  for (; group == NULL && *count < mesh->nodes; ++*count) (*node)[*count] = *count;
  if (group == NULL) return POISE_OK;
  POISE_TRY(FemAlloc(mesh->nodes, 1, &seen));
  for (PoiseInt f = 0; f < mesh->facets; f++) {
    if (!FemFacetIn(mesh, f, *group)) continue;
    for (int k = 0; k < nodes; k++) {
      const PoiseInt i = mesh->facetNodes[f * nodes + k];
      if (!seen[i]) (*node)[(*count)++] = i;
      seen[i] = 1;
    }
  }
  free(seen);
  return POISE_OK;
}

/* Set the values of these nodes, which have room in v, and note their rows. */
static PoiseErr FixNodes(FemSystem *s, const PoiseInt *node, PoiseInt count, FemValue value, void *arg,
                         double *v)
{
  const int c = s->components;
  PoiseInt *rows = s->fixedRows + s->fixed, n = 0;
#pragma omp parallel for
  for (PoiseInt k = 0; k < count; k++) {
    for (int i = 0; i < c; i++) v[k * c + i] = FEM_FREE;
    value(s->mesh->x + 3 * node[k], arg, v + k * c);
  }
  for (PoiseInt k = 0; k < count * c; k++) {
    if (isnan(v[k])) continue;
    rows[n] = c * s->mesh->global[node[k / c]] + k % c;
    v[n++] = v[k];
  }
  s->fixed += n;
  return PoiseVecSetValues(s->x, n, rows, v);
}

static PoiseErr FixGroup(FemSystem *s, const int *group, FemValue value, void *arg)
{
  PoiseInt *node = NULL, count = 0;
  double *v = NULL;
  PoiseErr err = FindNodes(s->mesh, group, &node, &count);
  if (err == POISE_OK) err = FemAlloc(s->components * count, sizeof *v, &v);
  const size_t room = (size_t)(s->fixed + s->components * count) + 1;
  PoiseInt *rows = err == POISE_OK ? realloc(s->fixedRows, room * sizeof *rows) : NULL;
  if (rows != NULL) s->fixedRows = rows;
  if (err == POISE_OK && rows == NULL)
    err = PoiseErrorSet(POISE_ERR_MEMORY, __func__, __FILE__, __LINE__, "no memory for %zu rows", room);
  if (err == POISE_OK) err = FixNodes(s, node, count, value, arg, v);
  free(node);
  free(v);
  return err;
}

static PoiseErr Fix(FemSystem *s, const int *group, FemValue value, void *arg)
{
  POISE_TRY(PoiseAgree(s->mesh->ctx, FixGroup(s, group, value, arg)));
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

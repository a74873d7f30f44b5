/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A SUNSparseMatrix as a matrix of Poise. SUNDIALS keeps the object, but functions such as SUNMatScaleAddI may
  change its pattern, or replace its arrays. So each set-up looks at both: one pass over the pattern.
*/
#include <stdlib.h>
#include <string.h>

#include <sunmatrix/sunmatrix_sparse.h>

#include "adapter.h"

const char *MatrixWords(SUNMatrix A)
{
  static const char *const names[] = {
      [SUNMATRIX_DENSE] = "dense",
      [SUNMATRIX_MAGMADENSE] = "MagmaDense",
      [SUNMATRIX_ONEMKLDENSE] = "oneMKLDense",
      [SUNMATRIX_BAND] = "band",
      [SUNMATRIX_SPARSE] = "SUNSparseMatrix",
      [SUNMATRIX_SLUNRLOC] = "SLUNRloc",
      [SUNMATRIX_CUSPARSE] = "cuSparse",
      [SUNMATRIX_GINKGO] = "Ginkgo",
      [SUNMATRIX_KOKKOSDENSE] = "KokkosDense",
      [SUNMATRIX_CUSTOM] = "custom",
  };
  const unsigned k = A->ops->getid ? (unsigned)SUNMatGetID(A) : SUNMATRIX_CUSTOM;
  return k < sizeof names / sizeof *names && names[k] ? names[k] : "unknown";
}

void DropSparse(Sparse *s)
{
  PoiseMatDestroy(&s->A);
  free(s->ptr);
  free(s->col);
  free(s->order);
  free(s->sorted);
  *s = (Sparse){0};
}

/* What must hold before the arrays are read. */
static PoiseErr CheckSparse(PoiseContext ctx, SUNMatrix M)
{
  const PoiseInt n = SM_ROWS_S(M), room = SM_NNZ_S(M);
  const sunindextype *ptr = SM_INDEXPTRS_S(M);
  if (SM_SPARSETYPE_S(M) != CSR_MAT)
    POISE_FAIL(POISE_ERR_UNSUPPORTED,
               "the SUNSparseMatrix is of type CSC_MAT: make it as CSR_MAT (SUNSparseMatrix_ToCSR)");
  if (PoiseSize(ctx) > 1)
    POISE_FAIL(POISE_ERR_UNSUPPORTED,
               "a SUNSparseMatrix is serial, and the context has %d ranks: use SUNMatrix_Poise",
               PoiseSize(ctx));
  if (n != SM_COLUMNS_S(M))
    POISE_FAIL(POISE_ERR_SIZE, "the SUNSparseMatrix is %lld x %lld, and not square", (long long)n,
               (long long)SM_COLUMNS_S(M));
  for (PoiseInt i = 0; i <= n; i++) {
    const PoiseInt before = i ? ptr[i - 1] : 0;
    if (ptr[i] < before || ptr[i] > room || (!i && ptr[i]))
      POISE_FAIL(POISE_ERR_ARG, "row offset %lld of the SUNSparseMatrix is %lld, between %lld and %lld",
                 (long long)i, (long long)ptr[i], (long long)before, (long long)room);
  }
  if (n > INT32_MAX || ptr[n] > INT32_MAX)
    POISE_FAIL(POISE_ERR_SIZE, "the SUNSparseMatrix has %lld rows and %lld nonzeros, of at most %d",
               (long long)n, (long long)ptr[n], INT32_MAX);
  return POISE_OK;
}

static int SamePattern(const Sparse *s, SUNMatrix M)
{
  const sunindextype *ptr = SM_INDEXPTRS_S(M), *col = SM_INDEXVALS_S(M);
  if (!s->A || s->n != SM_ROWS_S(M) || s->nonzeros != ptr[s->n]) return 0;
  for (PoiseInt i = 0; i <= s->n; i++)
    if (s->ptr[i] != ptr[i]) return 0;
  if (s->order) {
    for (PoiseInt k = 0; k < s->nonzeros; k++)
      if (s->col[k] != col[s->order[k]]) return 0;
  } else {
    for (PoiseInt k = 0; k < s->nonzeros; k++)
      if (s->col[k] != col[k]) return 0;
  }
  return 1;
}

typedef struct Place {
  sunindextype col;
  int32_t from;
} Place;

static int ByColumn(const void *a, const void *b)
{
  const sunindextype p = ((const Place *)a)->col, q = ((const Place *)b)->col;
  return (p > q) - (p < q);
}

/* The order in which the columns of each row ascend. */
static PoiseErr SortRows(Sparse *s, const sunindextype *col)
{
  int32_t longest = 0;
  for (PoiseInt i = 0; i < s->n; i++)
    if (s->ptr[i + 1] - s->ptr[i] > longest) longest = s->ptr[i + 1] - s->ptr[i];
  Place *row = malloc((size_t)longest * sizeof *row);
  s->order = malloc((size_t)s->nonzeros * sizeof *s->order);
  s->sorted = malloc((size_t)s->nonzeros * sizeof *s->sorted);
  if (!row || !s->order || !s->sorted) {
    free(row);
    POISE_FAIL(POISE_ERR_MEMORY, "out of memory: sorted rows of %lld nonzeros", (long long)s->nonzeros);
  }
  for (PoiseInt i = 0; i < s->n; i++) {
    const int32_t begin = s->ptr[i], n = s->ptr[i + 1] - begin;
    for (int32_t k = 0; k < n; k++) row[k] = (Place){.col = col[begin + k], .from = begin + k};
    qsort(row, (size_t)n, sizeof *row, ByColumn);
    for (int32_t k = 0; k < n; k++) {
      s->col[begin + k] = (int32_t)row[k].col;
      s->order[begin + k] = row[k].from;
    }
  }
  free(row);
  return POISE_OK;
}

static PoiseErr TakePattern(Sparse *s, SUNMatrix M)
{
  const sunindextype *ptr = SM_INDEXPTRS_S(M), *col = SM_INDEXVALS_S(M);
  int sorted = 1;
  s->n = SM_ROWS_S(M);
  s->nonzeros = ptr[s->n];
  s->ptr = malloc((size_t)(s->n + 1) * sizeof *s->ptr);
  s->col = malloc((size_t)(s->nonzeros + 1) * sizeof *s->col); /* an address for 0 nonzeros too */
  if (!s->ptr || !s->col)
    POISE_FAIL(POISE_ERR_MEMORY, "out of memory: pattern of %lld rows and %lld nonzeros", (long long)s->n,
               (long long)s->nonzeros);
  for (PoiseInt i = 0; i <= s->n; i++) s->ptr[i] = (int32_t)ptr[i];
  for (PoiseInt i = 0; i < s->n; i++)
    for (int32_t k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
      if (col[k] < 0 || col[k] >= s->n)
        POISE_FAIL(POISE_ERR_ARG, "row %lld of the SUNSparseMatrix has column %lld, of %lld", (long long)i,
                   (long long)col[k], (long long)s->n);
      s->col[k] = (int32_t)col[k];
      if (k > s->ptr[i] && col[k] < col[k - 1]) sorted = 0;
    }
  if (!sorted) POISE_TRY(SortRows(s, col));
  return POISE_OK;
}

static void TakeValues(Sparse *s)
{
  for (PoiseInt k = 0; s->order && k < s->nonzeros; k++) s->sorted[k] = s->data[s->order[k]];
}

static PoiseErr TakeMatrix(PoiseContext ctx, Sparse *s, SUNMatrix M)
{
  POISE_TRY(TakePattern(s, M));
  s->data = SM_DATA_S(M);
  TakeValues(s);
  const PoiseCSR csr = {.ptr32 = s->ptr, .col32 = s->col, .val = s->order ? s->sorted : s->data};
  POISE_TRY(PoiseMatCreateCSR(ctx, s->n, s->n, s->n, s->n, &csr, POISE_BORROW, &s->A));
  return POISE_OK;
}

PoiseErr FollowSparse(PoiseContext ctx, SUNMatrix M, Sparse *s, Sparse *old, int *fresh)
{
  Sparse taken = {0};
  POISE_TRY(PoiseAgree(ctx, CheckSparse(ctx, M)));
  *fresh = !SamePattern(s, M) || s->data != SM_DATA_S(M);
  if (!*fresh) {
    TakeValues(s);
    POISE_TRY(PoiseMatSetValuesCSR(s->A, s->order ? s->sorted : s->data));
    return POISE_OK;
  }
  const PoiseErr e = TakeMatrix(ctx, &taken, M);
  if (e) {
    DropSparse(&taken);
    return e;
  }
  *old = *s;
  *s = taken;
  return POISE_OK;
}

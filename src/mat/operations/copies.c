/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading rows, and matrices made from others: duplicates, transposes, and comparisons with these. */
#include "operations.h"
#include "vec/vec_kernels.h"
#include "mat/product/bcsr_kernels.h"
#include "mat/storage/blocks.h"
#include "mat/assembly/triplets.h"
#include "mat/csr/replace.h"
#include "mat/csr/entries.h"
#include "mat/object/mat_type.h"
#include "mat/csr/transpose.h"

static PoiseErr RoomForRow(PoiseMat A, int64_t count)
{
  if (count <= A->lent.room && (!A->csr.b || A->lent.vals)) return POISE_OK;
  poiseFree(A->ctx, &A->lent.cols);
  poiseFree(A->ctx, &A->lent.vals);
  A->lent.room = 0;
  TRY(poiseAllocArray(A->ctx, 2 * count, sizeof(PoiseInt), "columns of a row", &A->lent.cols));
  if (A->csr.b) TRY(poiseAllocArray(A->ctx, 2 * count, sizeof(double), "values of a row", &A->lent.vals));
  A->lent.room = 2 * count;
  return POISE_OK;
}

PoiseErr PoiseMatGetRow(PoiseMat A, PoiseInt row, PoiseInt *n, const PoiseInt **cols, const double **v)
{
  CALLED(OBJECT(A), GIVEN(n));
  PoiseInt i = row < 0 ? -1 : row - A->rows->begin;
  HostCsr h;
  TRY(poiseMatReadEntries(A, &h));
  if (i < 0 || i >= A->rows->n)
    FAIL(POISE_ERR_ARG, "row %lld is not one of rank %d's, which are %lld to %lld", (long long)row,
         PoiseRank(A->ctx), (long long)A->rows->begin, (long long)(A->rows->begin + A->rows->n - 1));
  int64_t b = poiseCsrSide(&A->csr), first = poiseCsrPtr(&A->csr, h.ptr, i / b);
  int64_t count = (poiseCsrPtr(&A->csr, h.ptr, i / b + 1) - first) * b;
  TRY(RoomForRow(A, count));
  for (int64_t k = 0; k < count; k++) A->lent.cols[k] = poiseCsrGlobal(A, h.col[first + k / b]) * b + k % b;
  for (int64_t k = 0; A->csr.b && k < count; k++) A->lent.vals[k] = h.val[(first * b + k) * b + i % b];
  *n = count;
  if (cols) *cols = A->lent.cols;
  if (v) *v = !count ? NULL : A->csr.b ? A->lent.vals : h.val + first;
  return POISE_OK;
}

PoiseErr PoiseMatCopyCSR(PoiseMat A, int64_t **ptr, int64_t **col, double **val)
{
  CALLED(OBJECT(A), GIVEN(ptr), GIVEN(col), GIVEN(val));
  Csr *c = &A->csr;
  HostCsr h;
  *ptr = *col = NULL, *val = NULL;
  TRY(poiseMatReadEntries(A, &h));
  int64_t b = poiseCsrSide(c), m = A->rows->n, out = 0;
  size_t nz = (size_t)poiseCsrScalars(c);
  *ptr = malloc((size_t)(m + 1) * sizeof **ptr);
  *col = malloc(nz ? nz * sizeof **col : 1);
  *val = malloc(nz ? nz * sizeof **val : 1);
  if (!*ptr || !*col || !*val) {
    free(*ptr), free(*col), free(*val);
    *ptr = *col = NULL, *val = NULL;
    FAIL(POISE_ERR_MEMORY, "a copy of %lld rows and %zu entries", (long long)m, nz);
  }
  (*ptr)[0] = 0;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t k = poiseCsrPtr(c, h.ptr, i / b); k < poiseCsrPtr(c, h.ptr, i / b + 1); k++)
      for (int64_t j = 0; j < b; j++, out++)
        (*col)[out] = poiseCsrGlobal(A, h.col[k]) * b + j, (*val)[out] = h.val[(k * b + j) * b + i % b];
    (*ptr)[i + 1] = out;
  }
  return POISE_OK;
}

/* An empty matrix of A's type and block size; what: the function that A may not offer. */
static PoiseErr CreateLike(PoiseMat A, const char *what, const Layout *rows, const Layout *cols, PoiseMat *B)
{
  *B = NULL;
  TRY(PoiseAgree(A->ctx, poiseMatCheckHolds(A, what)));
  TRY(PoiseAgree(A->ctx, poiseMatCheckUsable(A)));
  TRY(poiseMatCreateTyped(A->ctx, A->asked.type, rows->n, cols->n, rows->N, cols->N, B));
  (*B)->block_size = A->block_size;
  poiseMatInherit(A, *B);
  PoiseErr e = poiseMatInheritParts(A, *B);
  if (e) PoiseMatDestroy(B);
  return e;
}

PoiseErr PoiseMatDuplicate(PoiseMat A, int values, PoiseMat *B)
{
  CALLED(OBJECT(A), GIVEN(B));
  Csr copy = {0};
  TRY(CreateLike(A, "PoiseMatDuplicate", A->rows, A->cols, B));
  PoiseErr e = poiseMatReplaceCsr(*B, poiseCsrCopy(A, values, &copy), &copy);
  if (e) PoiseMatDestroy(B);
  return e;
}

/* Convert B to the form of `like`. A matrix of blocks becomes CSR before its block size changes. */
static PoiseErr MakeLike(PoiseMat B, PoiseMat like)
{
  TRY(PoiseMatSetType(B, "csr"));
  if (!like->type->blocked) return POISE_OK;
  TRY(PoiseMatSetBlockSize(B, like->block_size));
  return PoiseMatSetType(B, "bcsr");
}

PoiseErr poiseMatDuplicateLike(PoiseMat A, PoiseMat like, PoiseMat *B)
{
  TRY(PoiseMatDuplicate(A, 1, B));
  PoiseErr e = MakeLike(*B, like);
  if (e) PoiseMatDestroy(B);
  return e;
}

/* ---- the transpose --------------------------------------------------------------------------- */

static PoiseErr GatherValues(PoiseMat A, Transposed *t, Csr *c)
{
  GatherArgs g = {.n = c->nz};
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&g.idx64 : (void *)&g.idx));
  TRY(poiseBufferRead(&A->csr.val, DEVICE, &g.x));
  TRY(poiseBufferWrite(&c->val, DEVICE, &g.out));
  return LAUNCH(A->ctx->device, gather, &g);
}

static PoiseErr TransposeEachBlock(PoiseMat A, Transposed *t, Csr *c)
{
  BcsrTransposeBlocksArgs b = {.n = c->nz, .b = c->b};
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&b.from64 : (void *)&b.from32));
  TRY(poiseBufferRead(&A->csr.val, DEVICE, &b.x));
  TRY(poiseBufferWrite(&c->val, DEVICE, &b.out));
  return LAUNCH(A->ctx->device, bcsr_transpose_blocks, &b);
}

/* The transpose on one rank. Rows of T are A's entries by column, and the values are gathered. */
static PoiseErr TurnHere(PoiseMat A, Transposed *t, Csr *c)
{
  TRY(poiseTransposedCreate(A, t));
  *c = (Csr){.b = A->csr.b, .m = A->csr.nloc, .nloc = A->csr.m, .nz = A->csr.nz, .wide = t->wide};
  c->ptr = t->ptr, c->col = t->row;
  t->ptr = t->row = (Buffer){0};
  TRY(poiseBufferCreate(A->ctx->device, (size_t)poiseCsrScalars(c) * sizeof(double), "values", &c->val));
  return c->b ? TransposeEachBlock(A, t, c) : GatherValues(A, t, c);
}

static PoiseErr TransposeHere(PoiseMat A, PoiseMat T)
{
  Transposed t = {0};
  Csr c = {.b = A->csr.b};
  PoiseErr e = TurnHere(A, &t, &c);
  poiseTransposedDestroy(&t);
  return poiseMatReplaceCsr(T, e, &c);
}

/* The transpose on several ranks, through the host: A's rows become columns of T. */
static PoiseErr Turn(PoiseMat A, PoiseMat T)
{
  PoiseInt n;
  const PoiseInt *cols;
  const double *v;
  for (PoiseInt row = A->rows->begin; row < A->rows->begin + A->rows->n; row++) {
    TRY(PoiseMatGetRow(A, row, &n, &cols, &v));
    TRY(PoiseMatSetBlock(T, (int)n, cols, 1, &row, v)); /* n is less than 2^31, as columns are int32 */
  }
  return POISE_OK;
}

static PoiseErr TransposeSpread(PoiseMat A, PoiseMat T)
{
  TRY(PoiseAgree(A->ctx, Turn(A, T)));
  return PoiseMatAssemble(T);
}

typedef struct Turned { /* transposed blocks of A as triplets of T */
  PoiseInt *row, *col;
  double *val;
} Turned;

static PoiseErr ListTurned(PoiseMat A, Turned *t)
{
  const Csr *c = &A->csr;
  int64_t b = c->b;
  HostCsr h;
  TRY(poiseMatReadEntries(A, &h));
  TRY(poiseAllocArray(A->ctx, c->nz, sizeof *t->row, "rows of blocks", &t->row));
  TRY(poiseAllocArray(A->ctx, c->nz, sizeof *t->col, "columns of blocks", &t->col));
  TRY(poiseAllocArray(A->ctx, poiseCsrScalars(c), sizeof *t->val, "blocks", &t->val));
  for (int64_t i = 0; i < c->m; i++)
    for (int64_t k = poiseCsrPtr(c, h.ptr, i); k < poiseCsrPtr(c, h.ptr, i + 1); k++) {
      t->row[k] = poiseCsrGlobal(A, h.col[k]);
      t->col[k] = c->row + i;
      poiseTransposeBlock(b, h.val + k * b * b, t->val + k * b * b);
    }
  return POISE_OK;
}

static PoiseErr TransposeBlocks(PoiseMat A, PoiseMat T)
{
  Turned t = {0};
  PoiseErr e = PoiseAgree(A->ctx, ListTurned(A, &t));
  if (!e) e = PoiseMatSetBlockPatternCOO(T, A->csr.nz, t.row, t.col);
  if (!e) e = PoiseMatSetValuesCOO(T, t.val);
  poiseTripletsDestroy(A->ctx, &T->assembly.triplets);
  poiseFree(A->ctx, &t.row);
  poiseFree(A->ctx, &t.col);
  poiseFree(A->ctx, &t.val);
  return e;
}

PoiseErr PoiseMatTranspose(PoiseMat A, PoiseMat *T)
{
  CALLED(OBJECT(A), GIVEN(T));
  TRY(CreateLike(A, "PoiseMatTranspose", A->cols, A->rows, T));
  PoiseErr e = PoiseSize(A->ctx) == 1 ? TransposeHere(A, *T)
               : A->csr.b             ? TransposeBlocks(A, *T)
                                      : TransposeSpread(A, *T);
  if (e) PoiseMatDestroy(T);
  return e;
}

PoiseErr PoiseMatIsTranspose(PoiseMat A, PoiseMat B, double tol, int *is)
{
  CALLED(OBJECT(A), OBJECT(B), GIVEN(is));
  PoiseMat T;
  double largest = 0;
  *is = 0;
  TRY(PoiseMatTranspose(A, &T));
  PoiseErr e = PoiseMatAXPY(T, -1, B);
  if (!e) e = poiseLargest(A->ctx, &T->csr.val, poiseCsrScalars(&T->csr), &largest);
  *is = !e && largest <= tol; /* not if it is NaN */
  PoiseMatDestroy(&T);
  return e;
}

PoiseErr PoiseMatIsSymmetric(PoiseMat A, double tol, int *is)
{
  CALLED(OBJECT(A), GIVEN(is));
  TRY(PoiseAgree(A->ctx, poiseMatCheckSquare(A)));
  return PoiseMatIsTranspose(A, A, tol, is);
}

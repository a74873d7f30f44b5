/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at rows, and matrices made from others: duplicates, transposes, comparisons with them. On the host. */
#include "mat.h"

PoiseErr PoiseMatGetRow(PoiseMat A, PoiseInt row, PoiseInt *n, const PoiseInt **cols, const double **v)
{
  PoiseInt i = row - A->rows->begin;
  HostCsr h;
  TRY(poiseMatRead(A, &h));
  if (i < 0 || i >= A->rows->n)
    FAIL(POISE_ERR_ARG, "row %lld is not one of rank %d's, which are %lld to %lld", (long long)row, PoiseRank(A->ctx),
         (long long)A->rows->begin, (long long)(A->rows->begin + A->rows->n - 1));
  int64_t first = poiseCsrPtr(&A->csr, h.ptr, i), count = poiseCsrPtr(&A->csr, h.ptr, i + 1) - first;
  if (count > A->row_room) {
    poiseFree(A->ctx, &A->row_cols);
    A->row_room = 0;
    TRY(poiseAllocArray(A->ctx, 2 * count, sizeof(PoiseInt), "columns of a row", &A->row_cols));
    A->row_room = 2 * count;
  }
  for (int64_t k = 0; k < count; k++) A->row_cols[k] = poiseCsrGlobal(A, h.col[first + k]);
  *n = count;
  if (cols) *cols = A->row_cols;
  if (v) *v = count ? h.val + first : NULL;
  return POISE_OK;
}

/* An empty matrix of A's type and block size. */
static PoiseErr CreateLike(PoiseMat A, const Layout *rows, const Layout *cols, PoiseMat *B)
{
  *B = NULL;
  TRY(PoiseAgree(A->ctx, poiseMatCheckStored(A)));
  TRY(PoiseAgree(A->ctx, poiseMatCheckUsable(A)));
  TRY(poiseMatCreateTyped(A->ctx, A->type, rows->n, cols->n, rows->N, cols->N, B));
  (*B)->block_size = A->block_size;
  PoiseErr e = poiseMatSetLibrary(*B, A->library);
  if (e) PoiseMatDestroy(B);
  return e;
}

PoiseErr PoiseMatDuplicate(PoiseMat A, int values, PoiseMat *B)
{
  RowArrays r = {0};
  TRY(CreateLike(A, A->rows, A->cols, B));
  PoiseErr e = poiseRowArraysOf(A, &r);
  if (!e && !values && A->csr.nz) memset(r.val, 0, (size_t)A->csr.nz * sizeof(double));
  e = poiseMatReplace(*B, e, &r);
  if (e) PoiseMatDestroy(B);
  return e;
}

/* A's rows become columns of T. */
static PoiseErr Turn(PoiseMat A, PoiseMat T)
{
  PoiseInt n;
  const PoiseInt *cols;
  const double *v;
  for (PoiseInt row = A->rows->begin; row < A->rows->begin + A->rows->n; row++) {
    TRY(PoiseMatGetRow(A, row, &n, &cols, &v));
    TRY(PoiseMatSetBlock(T, (int)n, cols, 1, &row, v)); /* less than 2^31: columns are counted by int32 */
  }
  return POISE_OK;
}

PoiseErr PoiseMatTranspose(PoiseMat A, PoiseMat *T)
{
  TRY(CreateLike(A, A->cols, A->rows, T));
  PoiseErr e = PoiseAgree(A->ctx, Turn(A, *T));
  if (!e) e = PoiseMatAssemble(*T);
  if (e) PoiseMatDestroy(T);
  return e;
}

static PoiseErr CountLarge(PoiseMat A, double tol, int64_t *count)
{
  HostCsr h;
  *count = 0;
  TRY(poiseMatRead(A, &h));
  for (int64_t k = 0; k < A->csr.nz; k++) *count += !(fabs(h.val[k]) <= tol);
  return POISE_OK;
}

PoiseErr PoiseMatIsTranspose(PoiseMat A, PoiseMat B, double tol, int *is)
{
  PoiseMat T;
  int64_t count = 0;
  *is = 0;
  TRY(PoiseMatTranspose(A, &T));
  PoiseErr e = PoiseMatAXPY(T, -1, B);
  if (!e) e = PoiseAgree(A->ctx, CountLarge(T, tol, &count));
  if (!e) e = poiseCommMaxInt(A->ctx->comm, &count, 1);
  *is = !e && count == 0;
  PoiseMatDestroy(&T);
  return e;
}

PoiseErr PoiseMatIsSymmetric(PoiseMat A, double tol, int *is)
{
  TRY(PoiseAgree(A->ctx, poiseMatCheckSquare(A)));
  return PoiseMatIsTranspose(A, A, tol, is);
}

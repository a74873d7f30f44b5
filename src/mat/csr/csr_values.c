/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels that change or sum the values of a CSR, or compare patterns. Threads divide blocks of
   POISE_BLOCK rows. */
#include "csr_values_kernels.h"
#include "mat/object/mat.h"

/* The rows of block b of m rows. */
static inline int64_t End(int64_t b, int64_t m)
{
  return (b + 1) * POISE_BLOCK < m ? (b + 1) * POISE_BLOCK : m;
}

/* The entry of x, or of the ghosts, at a column. */
static inline double At(const CsrView *A, const double *x, const double *ghost, int64_t col)
{
  int64_t owned = poiseInScalars(A, A->nloc);
  return col < owned ? x[col] : ghost[col - owned];
}

PoiseErr poiseHost_csr_scale(Device *dev, const void *args)
{
  const CsrScaleArgs *a = args;
  const CsrView *A = &a->A;
  int64_t m = poiseInScalars(A, A->m), nblock = POISE_NBLOCKS(m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < End(b, m); i++) {
      ScalarRow row = poiseNumberRow(A, i);
      for (int64_t k = 0; k < row.n; k++) {
        double *v = a->val + poiseNumberPlace(&row, k);
        if (a->left) *v *= a->left[i];
        if (a->right || a->ghost) *v *= At(A, a->right, a->ghost, poiseNumberColumn(A, &row, k));
      }
    }
  return POISE_OK;
}

PoiseErr poiseHost_csr_set_diagonal(Device *dev, const void *args)
{
  const CsrSetDiagonalArgs *a = args;
  const CsrView *A = &a->A;
  int64_t m = poiseInScalars(A, A->m), nblock = POISE_NBLOCKS(m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t lacking = 0;
    for (int64_t i = b * POISE_BLOCK; i < End(b, m); i++) {
      double v = a->d ? a->d[i] : a->value;
      ScalarRow row = poiseNumberRow(A, i);
      int64_t k = 0;
      while (k < row.n && poiseNumberColumn(A, &row, k) != i) k++;
      if (k == row.n) {
        lacking++;
        continue;
      }
      double *to = a->val + poiseNumberPlace(&row, k);
      *to = a->add ? *to + v : v;
    }
    a->lacking[b] = (double)lacking;
  }
  return POISE_OK;
}

PoiseErr poiseHost_csr_norm(Device *dev, const void *args)
{
  const CsrNormArgs *a = args;
  const CsrView *A = &a->A;
  int64_t m = poiseInScalars(A, A->m), nblock = POISE_NBLOCKS(m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    double block = 0;
    for (int64_t i = b * POISE_BLOCK; i < End(b, m); i++) {
      double s = 0;
      ScalarRow row = poiseNumberRow(A, i);
      for (int64_t k = 0; k < row.n; k++) {
        double v = A->val[poiseNumberPlace(&row, k)] * a->scale[0] * a->scale[1];
        s += a->largest ? fabs(v) : v * v;
      }
      block = a->largest ? poiseLarger(block, s) : block + s;
    }
    a->partial[b] = block;
  }
  return POISE_OK;
}

PoiseErr poiseHost_csr_diagonals(Device *dev, const void *args)
{
  const CsrDiagonalsArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t k = b * POISE_BLOCK; k < End(b, a->n); k++) a->at[k] = poiseDiagonalPlace(a, k);
  return POISE_OK;
}

PoiseErr poiseHost_csr_zero_rows(Device *dev, const void *args)
{
  const CsrZeroRowsArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t k = b * POISE_BLOCK; k < End(b, a->n); k++) {
      int32_t i = a->row[k];
      ScalarRow row = poiseNumberRow(&a->A, i);
      for (int64_t e = 0; e < row.n; e++) a->val[poiseNumberPlace(&row, e)] = 0;
      if (a->at) a->val[a->at[k]] = a->diagonal;
      if (a->b) a->b[i] = a->diagonal * a->x[i];
      if (a->mark) a->mark[i] = 1;
    }
  return POISE_OK;
}

PoiseErr poiseHost_csr_zero_columns(Device *dev, const void *args)
{
  const CsrZeroColumnsArgs *a = args;
  const CsrView *A = &a->A;
  int64_t m = poiseInScalars(A, A->m), nblock = POISE_NBLOCKS(m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < End(b, m); i++) {
      if (a->mark[i] != 0) continue;
      ScalarRow row = poiseNumberRow(A, i);
      for (int64_t k = 0; k < row.n; k++) {
        int64_t j = poiseNumberColumn(A, &row, k);
        if (At(A, a->mark, a->ghost_mark, j) == 0) continue;
        double *v = a->val + poiseNumberPlace(&row, k);
        if (a->b) a->b[i] -= *v * At(A, a->x, a->ghost, j);
        *v = 0;
      }
    }
  return POISE_OK;
}

static bool RowsDiffer(const CsrView *A, const CsrView *B, int64_t begin, int64_t end)
{
  int64_t first = poiseCsrOffset(A, begin), count = poiseCsrOffset(A, end) - first;
  for (int64_t i = begin; i <= end; i++)
    if (poiseCsrOffset(A, i) != poiseCsrOffset(B, i)) return true;
  return count && memcmp(A->col + first, B->col + first, (size_t)count * sizeof *A->col);
}

PoiseErr poiseHost_csr_differ(Device *dev, const void *args)
{
  const CsrDifferArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->A.m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    a->partial[b] = RowsDiffer(&a->A, &a->B, b * POISE_BLOCK, End(b, a->A.m));
  return POISE_OK;
}

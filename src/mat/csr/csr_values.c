/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels that change or sum the values of a CSR, or compare patterns. Threads divide blocks of
   POISE_BLOCK rows. */
#include "csr_values_kernels.h"
#include "mat/mat.h"

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

/* 4 bytes per row, or 8. */
PoiseErr poiseHost_csr_statistics(Device *dev, const void *args)
{
  const CsrStatisticsArgs *a = args;
  const CsrView *A = &a->A;
  int64_t nblock = POISE_NBLOCKS(A->m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t first = b * POISE_BLOCK, end = End(b, A->m), cut = 0, fragments = 0, tile[POISE_TILES] = {0};
    int64_t length_changes = 0, empty = 0, longest = 0, squares = 0, rows_above = 0;
    for (int64_t i = first; i < end; i++) {
      int64_t length = poiseCsrOffset(A, i + 1) - poiseCsrOffset(A, i);
      length_changes += !i || length != poiseCsrOffset(A, i) - poiseCsrOffset(A, i - 1);
      empty += !length;
      fragments += poiseCsrFragments(a, length);
      if (a->limit && length >= a->limit) {
        cut += length;
        continue;
      }
      squares += length * length;
      if (length > longest) longest = length;
      rows_above += a->bound && length > a->bound;
    }
    for (int k = 0; k < POISE_TILES; k++)
      for (int64_t rows = 256 >> k, i = first; i < end; i += rows) {
        int64_t n = poiseCsrTile(a, i, i + rows < end ? i + rows : end);
        if (n > tile[k]) tile[k] = n;
      }
    HOST_CRITICAL
    {
      a->out->length_changes += length_changes;
      a->out->cut += cut;
      a->out->fragments += fragments;
      a->out->empty += empty;
      a->out->squares += squares;
      a->out->rows_above += rows_above;
      if (longest > a->out->longest) a->out->longest = longest;
      for (int k = 0; k < POISE_TILES; k++)
        if (tile[k] > a->out->tile[k]) a->out->tile[k] = tile[k];
    }
  }
  for (int64_t s = 0; a->share && s * a->share < A->m; s++)
    if (poiseCsrShare(a, s) > a->out->max_share_nnz) a->out->max_share_nnz = poiseCsrShare(a, s);
  return POISE_OK;
}

/* The number of lines of x in which a sample has columns. */
static int64_t LinesOf(const int32_t *col)
{
  enum { ROOM = 2 * POISE_SAMPLE };
  int32_t set[ROOM];
  int64_t n = 0;
  for (int k = 0; k < ROOM; k++) set[k] = -1;
  for (int k = 0; k < POISE_SAMPLE; k++) {
    int32_t line = col[k] / POISE_LINE;
    uint32_t at = (poiseHash32(line) >> 16) % ROOM;
    while (set[at] != line && set[at] >= 0) at = (at + 1) % ROOM;
    n += set[at] < 0;
    set[at] = line;
  }
  return n;
}

PoiseErr poiseHost_csr_x_lines(Device *dev, const void *args)
{
  const CsrSpreadArgs *a = args;
  int64_t lines = 0;
  (void)dev;
  for (int64_t s = 0; s < POISE_SAMPLES; s++) lines += LinesOf(a->A.col + poiseSampleStart(&a->A, s));
  *a->lines += lines;
  return POISE_OK;
}

/* Traffic: 4 bytes per row (or 8), and 4 per nonzero. */
PoiseErr poiseHost_csr_hash(Device *dev, const void *args)
{
  const CsrHashArgs *a = args;
  int64_t n = a->A.nz > a->A.m ? a->A.nz : a->A.m + 1, nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    uint64_t h = 0;
    for (int64_t k = b * POISE_BLOCK; k < End(b, n); k++) h += poiseCsrHashAt(&a->A, k);
    HOST_CRITICAL
    *a->hash += h;
  }
  return POISE_OK;
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

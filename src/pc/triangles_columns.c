/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sweeps with wide vectors on the host: entries of the triangles are read once for all columns. Column j has
  the bits of the sweep of that column, as its terms are subtracted in the same order (triangles.c,
  block_triangles.c).
*/
#include "mat/product/columns_rows.h"
#include "vec/columns_host.h"
#include "triangles_host.h"

/* ---- rows of numbers ------------------------------------------------------------------------- */

/* Entries of row i in the order of a sweep: those of the triangle ahead, then those that it has passed. */
typedef struct RowRanges {
  int64_t first[2], end[2], step[2];
} RowRanges;

static RowRanges Ranges(const SweepArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  int64_t diag = poiseOffset(t, t->diag, i), low = poiseOffset(t, t->begin, i),
          high = poiseOffset(t, t->end, i);
  bool lower = a->parts & SWEEP_LOWER, upper = a->parts & SWEEP_UPPER;
  if (a->backward)
    return (RowRanges){{low, high - 1}, {lower ? diag : low, upper ? diag : high - 1}, {1, -1}};
  return (RowRanges){{diag + 1, low}, {upper ? high : diag + 1, lower ? diag : low}, {1, 1}};
}

/* Row i of `pairs` pairs of columns from j on. */
POISE_INLINE void SweepPairs(const SweepArgs *a, int pairs, const RowRanges *r, int64_t i, int64_t j)
{
  int64_t n = a->columns;
  double *y = a->y + j, factor = a->d ? a->scale * a->d[i] : a->scale;
  HostTwo s[HOST_PAIRS] = {{0}};
  for (int p = 0; a->x && p < pairs; p++) memcpy(&s[p], a->x + i * n + j + 2 * p, sizeof s[p]);
  for (int q = 0; q < 2; q++)
    for (int64_t k = r->first[q]; k != r->end[q]; k += r->step[q])
      poiseHostAddPairs(pairs, -a->val[k], y + a->t.col[k] * n, s);
  for (int p = 0; p < pairs; p++) {
    double *to = y + i * n + 2 * p;
    HostTwo value = factor * s[p], old;
    memcpy(&old, to, sizeof old);
    if (a->keep != 0) value = a->keep * old + value;
    memcpy(to, &value, sizeof value);
  }
}

/* The same of one column. */
static void SweepOne(const SweepArgs *a, const RowRanges *r, int64_t i, int64_t j)
{
  int64_t n = a->columns;
  double *y = a->y + j, factor = a->d ? a->scale * a->d[i] : a->scale, s = a->x ? a->x[i * n + j] : 0;
  for (int q = 0; q < 2; q++)
    for (int64_t k = r->first[q]; k != r->end[q]; k += r->step[q]) s -= a->val[k] * y[a->t.col[k] * n];
  y[i * n] = a->keep != 0 ? a->keep * y[i * n] + factor * s : factor * s;
}

static void SweepRow(const SweepArgs *a, int64_t i)
{
  RowRanges r = Ranges(a, i);
  int64_t j = 0, n = a->columns;
  for (; j + 2 * HOST_PAIRS <= n; j += 2 * HOST_PAIRS) SweepPairs(a, HOST_PAIRS, &r, i, j);
  if (j + 8 <= n) SweepPairs(a, 4, &r, i, j), j += 8;
  if (j + 4 <= n) SweepPairs(a, 2, &r, i, j), j += 4;
  if (j + 2 <= n) SweepPairs(a, 1, &r, i, j), j += 2;
  if (j < n) SweepOne(a, &r, i, j);
}

/* ---- rows of blocks -------------------------------------------------------------------------- */

/* Sums of a row of blocks. Terms of the columns of a small block are kept apart, as in poiseAddBlock. */
typedef HostColumns BlockSums[MAX_BLOCK_SIZE];
_Static_assert(POISE_SMALL_BLOCK *POISE_SMALL_BLOCK <= MAX_BLOCK_SIZE, "sums of small blocks");

/* Sums of n columns are 0, those that a row of blocks of b has. */
static void Clear(int b, int n, HostColumns *sum)
{
  int count = b <= POISE_SMALL_BLOCK ? b * b : b;
  for (int r = 0; r < count; r++) memset(sum[r], 0, (size_t)n * sizeof(double));
}

/* += v x, v a block and x its rows of a wide vector. */
static void AddBlock(int b, int n, const double *v, const double *x, HostColumns *sum)
{
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      double factor = v[c * b + r], *to = sum[b <= POISE_SMALL_BLOCK ? c * b + r : r];
      const double *from = x + c * n;
      HOST_SIMD
      for (int j = 0; j < n; j++) to[j] += factor * from[j];
    }
}

/* Row r of the sums, in sum[r]. */
static double *BlockSum(int b, int n, HostColumns *sum, int r)
{
  for (int c = 1; b <= POISE_SMALL_BLOCK && c < b; c++)
    for (int j = 0; j < n; j++) sum[r][j] += sum[c * b + r][j];
  return sum[r];
}

static void SweepBlocks(const SweepArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  int b = t->b, n = a->columns;
  int64_t diag = poiseOffset(t, t->diag, i), k = poiseOffset(t, t->begin, i), end = poiseOffset(t, t->end, i);
  BlockSums sum, product;
  double rest[MAX_BLOCK_SIZE * POISE_MAX_COLUMNS], *y = a->y + i * b * n;
  Clear(b, n, sum);
  for (; a->parts & SWEEP_LOWER && k < diag; k++)
    AddBlock(b, n, a->val + k * b * b, a->y + (int64_t)t->col[k] * b * n, sum);
  for (k = diag + 1; a->parts & SWEEP_UPPER && k < end; k++)
    AddBlock(b, n, a->val + k * b * b, a->y + (int64_t)t->col[k] * b * n, sum);
  for (int r = 0; r < b; r++) {
    const double *s = BlockSum(b, n, sum, r);
    for (int j = 0; j < n; j++) rest[r * n + j] = (a->x ? a->x[(i * b + r) * n + j] : 0) - s[j];
  }
  if (a->d) Clear(b, n, product), AddBlock(b, n, a->d + i * b * b, rest, product);
  for (int r = 0; r < b; r++) {
    const double *s = a->d ? BlockSum(b, n, product, r) : rest + r * n;
    for (int j = 0; j < n; j++) {
      double *to = y + r * n + j;
      *to = a->keep == 0 ? a->scale * s[j] : a->keep * *to + a->scale * s[j];
    }
  }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void SweepRows(const void *args, int64_t begin, int64_t end)
{
  const SweepArgs *a = args;
  void (*row)(const SweepArgs *, int64_t) = a->t.b ? SweepBlocks : SweepRow;
  if (a->backward)
    for (int64_t i = end - 1; i >= begin; i--) row(a, i);
  else
    for (int64_t i = begin; i < end; i++) row(a, i);
}

PoiseErr poiseHost_sweep_columns(Device *dev, const void *args)
{
  poiseHostSweep(dev, args, SweepRows);
  return POISE_OK;
}

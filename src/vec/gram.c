/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels on wide vectors whose columns are mixed. */
#include "gram_kernels.h"
#include "vec_host.h"

enum { TOGETHER = 4 /* rows */, WIDTH = 8 /* columns, whose sums are in registers */ };

/* ---- dots of all pairs of columns ------------------------------------------------------------ */

/* sum[i][j] += x_ri y_rj of `rows` rows, 1 or TOGETHER. */
POISE_INLINE void AddProducts(int k, int rows, const double *x, const double *y, double *sum)
{
  for (int i = 0; i < k; i++) {
    double v[TOGETHER];
    for (int r = 0; r < rows; r++) v[r] = x[r * k + i];
    HOST_SIMD
    for (int j = 0; j < k; j++) {
      double s = v[0] * y[j];
      for (int r = 1; r < rows; r++) s += v[r] * y[r * k + j];
      sum[i * k + j] += s;
    }
  }
}

static void GramBlock(const GramArgs *a, int64_t block)
{
  double sum[POISE_MAX_COLUMNS * POISE_MAX_COLUMNS];
  int k = a->k;
  int64_t rows = poiseGramRows(a->n), begin = block * rows, end = begin + rows < a->n ? begin + rows : a->n;
  for (int p = 0; p < a->pairs; p++) {
    const double *x = a->x, *y = a->y[p];
    int64_t r = begin;
    memset(sum, 0, (size_t)(k * k) * sizeof *sum);
    for (; r + TOGETHER <= end; r += TOGETHER) AddProducts(k, TOGETHER, x + r * k, y + r * k, sum);
    for (; r < end; r++) AddProducts(k, 1, x + r * k, y + r * k, sum);
    for (int e = 0; e < k * k; e++) a->partial[(int64_t)(p * k * k + e) * GRAM_BLOCKS + block] = sum[e];
  }
}

PoiseErr poiseHost_gram_columns(Device *dev, const void *args)
{
  const GramArgs *a = args;
  int64_t nblock = poiseGramBlocks(a->n);
  double bytes = 8.0 * (double)a->n * a->k * (1 + a->pairs);
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_BLOCKS_IF(dev, HOST_WORTH(dev, nblock, bytes), nblock, 1, b, GramBlock(a, b));
  return POISE_OK;
}

/* ---- combinations of columns ----------------------------------------------------------------- */

/* v[r][j] += the sum of x_ri c_ij, of `width` columns of `rows` rows. c: at the first of the columns. */
POISE_INLINE void AddColumns(int k, int rows, int width, const double *x, const double *c, double (*v)[WIDTH])
{
  for (int i = 0; i < k; i++)
    for (int r = 0; r < rows; r++) {
      HOST_SIMD
      for (int j = 0; j < width; j++) v[r][j] += x[r * k + i] * c[i * k + j];
    }
}

/* That many rows, from x of which y may be one. */
POISE_INLINE void CombineRows(const CombineArgs *a, const bool *stays, int rows, int64_t first)
{
  double v[POISE_MAX_COLUMNS / WIDTH][TOGETHER][WIDTH];
  int k = a->k;
  double *y = a->y + first * k;
  for (int at = 0; at < k; at += WIDTH) {
    double(*part)[WIDTH] = v[at / WIDTH];
    int width = k - at < WIDTH ? k - at : WIDTH;
    for (int r = 0; r < rows; r++)
      for (int j = 0; j < width; j++) part[r][j] = a->adds ? y[r * k + at + j] : 0;
    for (int p = 0; p < 2 && a->x[p]; p++)
      if (width == WIDTH)
        AddColumns(k, rows, WIDTH, a->x[p] + first * k, a->c[p] + at, part);
      else
        AddColumns(k, rows, width, a->x[p] + first * k, a->c[p] + at, part);
  }
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < k; j++)
      if (!stays[j]) y[r * k + j] = v[j / WIDTH][r][j % WIDTH];
}

static void CombineBlock(const CombineArgs *a, const bool *stays, int64_t block)
{
  int64_t r = block * POISE_BLOCK, end = r + POISE_BLOCK < a->n ? r + POISE_BLOCK : a->n;
  for (; r + TOGETHER <= end; r += TOGETHER) CombineRows(a, stays, TOGETHER, r);
  for (; r < end; r++) CombineRows(a, stays, 1, r);
}

PoiseErr poiseHost_combine_columns(Device *dev, const void *args)
{
  const CombineArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  double bytes = 24.0 * (double)a->n * a->k;
  bool stays[POISE_MAX_COLUMNS];
  if (a->skip && *a->skip != 0) return POISE_OK;
  for (int j = 0; j < a->k; j++) stays[j] = a->stays && a->stays[poiseScalarsOf(&a->systems, j)] != 0;
  HOST_BLOCKS_IF(dev, HOST_WORTH(dev, nblock, bytes), nblock, 1, b, CombineBlock(a, stays, b));
  return POISE_OK;
}

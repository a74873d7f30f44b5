/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of a cycle in fp32 of several columns. A column has the bits of its own cycle. */
#include "vec/columns_host.h"
#include "amg_kernels.h"

enum { DENSE_ROWS = 32 }; /* of the dense product of the last level, by one thread */

/* Rows [begin, end) of blocks of b. A row's columns are a loop for vector instructions. */
POISE_INLINE void SmoothRows(const AmgSmoothArgs_f32 *a, int b, const double *in, int64_t begin, int64_t end)
{
  int k = a->columns;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i / b * b, at = i * k;
    float to[POISE_MAX_COLUMNS];
    double d[POISE_MAX_COLUMNS], x[POISE_MAX_COLUMNS];
    HOST_SIMD
    for (int c = 0; c < k; c++) d[c] = poiseAmgStepOf_f32(a, b, k, in[c], at + c, i, first);
    HOST_SIMD
    for (int c = 0; c < k; c++) x[c] = poiseAmgMove_f32(a, at + c, d[c]);
    HOST_SIMD
    for (int c = 0; c < k; c++) to[c] = poiseAmgCopy_f32(a, in[c], at + c);
    HOST_SIMD
    for (int c = 0; c < k; c++) (void)poiseAmgStore_f32(a, in[c], at + c, (float)d[c], x[c], to[c]);
  }
}

static void SmoothColumns(const AmgSmoothArgs_f32 *args, const double *in, int64_t at)
{
  const AmgSmoothArgs_f32 local = *args, *a = &local;
  int64_t begin = at * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
  if (a->b == 1)
    SmoothRows(a, 1, in, begin, end);
  else
    SmoothRows(a, a->b, in, begin, end);
  if (a->z) poiseHostFuseColumns(&a->fuse, a->z, begin, end, at);
}

/* The factors of a right-hand side in each column. */
static void Powers(const AmgSmoothArgs_f32 *a, double *in)
{
  for (int c = 0; c < a->columns; c++) in[c] = poiseAmgPower(a->range ? a->range + c : NULL);
}

PoiseErr poiseHost_amg_smooth_columns_f32(Device *dev, const void *args)
{
  const AmgSmoothArgs_f32 *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  double in[POISE_MAX_COLUMNS];
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  Powers(a, in);
  HOST_BLOCKS(dev, nblock, 1, at, SmoothColumns(a, in, at));
  return POISE_OK;
}

/* Row i times all columns, each as by itself. */
static void DenseRow(const AmgDenseArgs_f32 *a, int64_t i)
{
  int k = a->columns;
  const double *row = a->a + i * a->n;
  HostTile s = {0};
  HostColumns sum;
  for (int64_t j = 0; j < a->n; j++) {
    double *lane = s + j % HOST_LANES * k;
    const float *x = a->x + j * k;
    HOST_SIMD
    for (int c = 0; c < k; c++) lane[c] += (double)x[c] * row[j];
  }
  poiseHostAddTile(s, k, sum);
  for (int c = 0; c < k; c++) a->y[i * k + c] = (float)(a->scale * sum[c]);
}

PoiseErr poiseHost_amg_dense_columns_f32(Device *dev, const void *args)
{
  const AmgDenseArgs_f32 *a = args;
  int64_t nblock = (a->n + DENSE_ROWS - 1) / DENSE_ROWS;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++)
    for (int64_t i = k * DENSE_ROWS; i < (k + 1) * DENSE_ROWS && i < a->n; i++) DenseRow(a, i);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of a cycle in fp32 of several columns. A column has the bits of its own cycle. */
#include "vec/columns_host.h"
#include "amg_kernels.h"

enum { DENSE_ROWS = 32 }; /* of the dense product of the last level, by one thread */

static void SmoothColumns(const AmgSmoothArgs_f32 *args, const double *in, int64_t at)
{
  const AmgSmoothArgs_f32 local = *args, *a = &local;
  int k = a->columns;
  int64_t begin = at * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
  for (int64_t i = begin; i < end; i++) {
    float d[POISE_MAX_COLUMNS], to[POISE_MAX_COLUMNS];
    double x[POISE_MAX_COLUMNS];
    for (int c = 0; c < k; c++) {
      int64_t e = i * k + c;
      double step = poiseAmgStep_f32(a, a->b, k, in[c], e);
      x[c] = poiseAmgMove_f32(a, e, step), d[c] = (float)step, to[c] = poiseAmgCopy_f32(a, in[c], e);
    }
    for (int c = 0; c < k; c++) (void)poiseAmgStore_f32(a, in[c], i * k + c, d[c], x[c], to[c]);
  }
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

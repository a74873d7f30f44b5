/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of power steps, and of sums. */
#include "sys/device/host_loop.h"
#include "lambda_kernels.h"

/* What is added of rows: places apart by half the tree, then a quarter, ... */
static double Tree(double *v, int largest)
{
  for (int step = AMG_TREE / 2; step; step /= 2)
    for (int k = 0; k < step; k++) v[k] = poiseAmgJoin(v[k], v[k + step], largest);
  return v[0];
}

/* A tree of rows from the first of them on, at most AMG_TREE. */
static void PowerRows(const AmgPowerArgs *p, double scale, int64_t first)
{
  double square[AMG_TREE] = {0}, size[AMG_TREE] = {0};
  int64_t rows = p->n - first < AMG_TREE ? p->n - first : AMG_TREE;
  for (int64_t k = 0; k < rows; k++) {
    double z = p->y ? poiseAmgPowerDivide(p, first + k) : poiseAmgPowerRow(p, scale, first + k, &size[k]);
    square[k] = z * z;
  }
  p->squares[first / AMG_TREE] = Tree(square, false);
  if (p->sizes) p->sizes[first / AMG_TREE] = Tree(size, true);
}

static PoiseErr Power(const Device *dev, const AmgPowerArgs *p)
{
  int64_t nblock = POISE_NBLOCKS(p->n);
  double scale = poiseAmgPowerScale(p);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < p->n; i += AMG_TREE)
      PowerRows(p, scale, i);
  return POISE_OK;
}

PoiseErr poiseHost_amg_power_scalar(Device *dev, const void *args)
{
  return Power(dev, args);
}

PoiseErr poiseHost_amg_power_divide(Device *dev, const void *args)
{
  return Power(dev, args);
}

static double SumBlock(const AmgSumArgs *a, int64_t block)
{
  double tree[AMG_TREE] = {0}, lanes[AMG_SUM_LANES] = {0};
  int64_t first = block * AMG_SUM, n = a->count - first < AMG_SUM ? a->count - first : AMG_SUM;
  for (int64_t k = 0; k < n; k++)
    lanes[k % AMG_SUM_LANES] = poiseAmgJoin(lanes[k % AMG_SUM_LANES], a->x[first + k], a->largest);
  for (int t = 0; t < AMG_SUM_LANES / AMG_TREE; t++) tree[t] = Tree(lanes + t * AMG_TREE, a->largest);
  return Tree(tree, a->largest);
}

PoiseErr poiseHost_amg_sum(Device *dev, const void *args)
{
  const AmgSumArgs *a = args;
  (void)dev;
  HOST_PARALLEL_FOR(dev, a->n)
  for (int64_t b = 0; b < a->n; b++) a->sum[b] = SumBlock(a, b);
  if (a->norm) poiseAmgNorm(a->sum[0], a->sum + 1);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Power steps, and sums in a fixed order. */
#ifndef POISE_AMG_LAMBDA_KERNELS_H
#define POISE_AMG_LAMBDA_KERNELS_H

#include "matrix_kernels.h"

typedef struct AmgPowerArgs {
  int64_t n; /* rows */
  AmgMatrix m;
  const double *d;
  double *x, *y, *z;     /* y = A x, z = D^-1 y */
  double *row;           /* sums of rows of |D^-1 A|, where nodes have one row; NULL: not asked for */
  const double *squares; /* (z, z) */
} AmgPowerArgs;

/*
  One of the passes that add up `count` numbers, or their squares, or find the largest. Each block of
  POISE_BLOCK of them leaves `lanes` sums, 1 or 32, of the numbers lane, lane + lanes, ...; n: of all blocks.
*/
typedef struct AmgSumArgs {
  int64_t n, count;
  int lanes, square, largest;
  const double *x;
  double *sum;
} AmgSumArgs;

POISE_INLINE void amg_power_start_item(const AmgPowerArgs *p, int64_t i)
{
  p->x[i] = (double)(poiseMix(1, (uint64_t)(p->m.row + i)) >> 11) * 0x1p-53 - 0.5;
}

/* Of nodes of one row. Traffic: A, d, x, z, row. */
POISE_INLINE void amg_power_scalar_item(const AmgPowerArgs *p, int64_t i)
{
  const CsrView *A = &p->m.A;
  double s = 0, size = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++)
    s += A->val[k] * p->x[A->col[k]], size += fabs(A->val[k]);
  p->z[i] = p->d[i] * s;
  if (p->row) p->row[i] = fabs(p->d[i]) * size;
}

/* y = A x. Neighbouring rows of a block read neighbouring numbers. */
POISE_INLINE void amg_power_product_item(const AmgPowerArgs *p, int64_t i)
{
  const CsrView *A = &p->m.A;
  int64_t b = A->b ? A->b : 1, row = i / b, r = i - row * b;
  double s = 0;
  for (int64_t k = poiseCsrOffset(A, row), last = poiseCsrOffset(A, row + 1); k < last; k++) {
    const double *a = A->val + k * b * b + r, *x = p->x + A->col[k] * b;
    for (int64_t c = 0; c < b; c++) s += a[c * b] * x[c];
  }
  p->y[i] = s;
}

POISE_INLINE void amg_power_divide_item(const AmgPowerArgs *p, int64_t i)
{
  int64_t node = p->m.node, first = i / node * node;
  const double *d = p->d + first * node + (i - first);
  double s = 0;
  for (int64_t c = 0; c < node; c++) s += d[c * node] * p->y[first + c];
  p->z[i] = s;
}

/* x = z / |z|; if |z| is 0 or not finite, z. */
POISE_INLINE void amg_power_scale_item(const AmgPowerArgs *p, int64_t i)
{
  double norm = sqrt(*p->squares), scale = norm > 0 && poiseFinite(norm) ? 1 / norm : 1;
  p->x[i] = scale * p->z[i];
}

POISE_INLINE void amg_sum_item(const AmgSumArgs *a, int64_t i)
{
  int64_t block = i / a->lanes, lane = i - block * a->lanes, end = (block + 1) * POISE_BLOCK;
  double s = 0;
  if (end > a->count) end = a->count;
  for (int64_t k = block * POISE_BLOCK + lane; k < end; k += a->lanes) {
    double x = a->x[k];
    s = a->largest ? poiseLarger(s, x) : a->square ? s + x * x : s + x;
  }
  a->sum[i] = s;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Power steps, and sums in a fixed order. */
#ifndef POISE_AMG_LAMBDA_KERNELS_H
#define POISE_AMG_LAMBDA_KERNELS_H

#include "matrix_kernels.h"

/* Numbers that are added by a tree, a warp of a GPU or a loop of a CPU alike; and of a block of AMG_SUM. */
enum { AMG_TREE = 32, AMG_SUM_LANES = 256, AMG_SUM = 1024 };

/* A step: z = (D^-1 A - zero edge) (s x), and for each AMG_TREE of its rows what shall be added. */
typedef struct AmgPowerArgs {
  int64_t n; /* rows */
  AmgMatrix m;
  const double *d, *x;
  const double *scale; /* s, 1 / |x|; NULL: 1 */
  const double *edge;  /* the end of the interval; read where there is a zero */
  double zero;         /* of a polynomial on it, as a part of the interval; 0: none */
  double *y, *z;       /* y = A (s x), where nodes have several rows; else NULL */
  double *squares;     /* of z */
  double *sizes; /* the largest sum of a row of |D^-1 A|, where nodes have one row; NULL: not asked for */
} AmgPowerArgs;

typedef struct AmgStartArgs {
  int64_t n, row; /* the first of these rows */
  double *x;
} AmgStartArgs;

/*
  One of the passes that add up `count` numbers, or find the largest. Each of n blocks of AMG_SUM of them
  leaves its sum: AMG_SUM_LANES sums, each of every AMG_SUM_LANES-th number, by trees of AMG_TREE. norm:
  behind the only sum, its square root, and 1 over that, or 1 where it is 0 or not finite.
*/
typedef struct AmgSumArgs {
  int64_t n, count;
  int largest, norm;
  const double *x;
  double *sum;
} AmgSumArgs;

POISE_INLINE double poiseAmgJoin(double s, double t, int largest)
{
  return largest ? poiseLarger(s, t) : s + t;
}

/* to[0]: |x|; to[1]: what makes x a unit vector. */
POISE_INLINE void poiseAmgNorm(double squares, double *to)
{
  double norm = sqrt(squares);
  to[0] = norm, to[1] = norm > 0 && poiseFinite(norm) ? 1 / norm : 1;
}

POISE_INLINE double poiseAmgPowerScale(const AmgPowerArgs *p)
{
  return p->scale ? *p->scale : 1;
}

/* What a step takes of s x. */
POISE_INLINE double poiseAmgPowerShift(const AmgPowerArgs *p, double scale)
{
  return p->zero > 0 ? p->zero * *p->edge * scale : 0;
}

POISE_INLINE void amg_power_start_item(const AmgStartArgs *a, int64_t i)
{
  a->x[i] = (double)(poiseMix(1, (uint64_t)(a->row + i)) >> 11) * 0x1p-53 - 0.5;
}

/* Row i of z, of nodes of one row. *size: the sum of the row of |D^-1 A|. Traffic: A, d, x, z. */
POISE_INLINE double poiseAmgPowerRow(const AmgPowerArgs *p, double scale, int64_t i, double *size)
{
  const CsrView *A = &p->m.A;
  double s = 0, sum = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++)
    s += A->val[k] * (scale * p->x[A->col[k]]), sum += fabs(A->val[k]);
  *size = fabs(p->d[i]) * sum;
  return p->z[i] = p->d[i] * s - poiseAmgPowerShift(p, scale) * p->x[i];
}

/* y = A (s x). Neighbouring rows of a block read neighbouring numbers. */
POISE_INLINE void amg_power_product_item(const AmgPowerArgs *p, int64_t i)
{
  const CsrView *A = &p->m.A;
  int64_t b = A->b ? A->b : 1, row = i / b, r = i - row * b;
  double s = 0, scale = poiseAmgPowerScale(p);
  for (int64_t k = poiseCsrOffset(A, row), last = poiseCsrOffset(A, row + 1); k < last; k++) {
    const double *a = A->val + k * b * b + r, *x = p->x + A->col[k] * b;
    for (int64_t c = 0; c < b; c++) s += a[c * b] * (scale * x[c]);
  }
  p->y[i] = s;
}

/* Row i of z, from y. */
POISE_INLINE double poiseAmgPowerDivide(const AmgPowerArgs *p, int64_t i)
{
  int64_t node = p->m.node, first = i / node * node;
  const double *d = p->d + first * node + (i - first);
  double s = 0;
  for (int64_t c = 0; c < node; c++) s += d[c * node] * p->y[first + c];
  return p->z[i] = s - poiseAmgPowerShift(p, poiseAmgPowerScale(p)) * p->x[i];
}

#endif

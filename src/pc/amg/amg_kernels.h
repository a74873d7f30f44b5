/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cycle of amg is made of, beside products. */
#ifndef POISE_AMG_KERNELS_H
#define POISE_AMG_KERNELS_H

#include "sys/kernels.h"

/*
  A step of a smoother, in one pass. t = D^-1 r, D^-1 in blocks of b rows, column-major; n is a multiple of b.
    d = c2 t + c1 was    c1 = 0: `was` is not read; d NULL: not written. They may be one array
    x = x + add + beta d fresh: without x; add NULL: without it
    to = from            to NULL: neither
  Then the dots of x. x, d and to are other arrays than r.
*/
typedef struct AmgSmoothArgs {
  int64_t n;
  int b, fresh;
  double c1, c2, beta;
  const double *inverse, *r, *was, *add, *from, *skip;
  double *d, *x, *to;
  Fuse fuse;
} AmgSmoothArgs;

/* y = A x, A dense, n x n, row-major */
typedef struct AmgDenseArgs {
  int64_t n;
  const double *a, *x, *skip;
  double *y;
} AmgDenseArgs;

/* Row i of d in a step. */
POISE_INLINE double poiseAmgStep(const AmgSmoothArgs *a, int64_t i)
{
  int64_t b = a->b, block = i / b, first = block * b;
  const double *inverse = a->inverse + first * b + (i - first);
  double t = 0;
  for (int64_t j = 0; j < b; j++) t += inverse[j * b] * a->r[first + j];
  return a->c1 != 0 ? a->c2 * t + a->c1 * a->was[i] : a->c2 * t;
}

/* Row i of x, from that of d. */
POISE_INLINE double poiseAmgMove(const AmgSmoothArgs *a, int64_t i, double d)
{
  double x = a->beta * d;
  if (a->add) x += a->add[i];
  return a->fresh ? x : x + a->x[i];
}

#endif

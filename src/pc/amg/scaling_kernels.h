/* SPDX-License-Identifier: BSD-3-Clause */
/* S A S, whose diagonal is 1 or -1, where nodes have one row: S^2 = |D^-1|. */
#ifndef POISE_AMG_SCALING_KERNELS_H
#define POISE_AMG_SCALING_KERNELS_H

#include "matrix_kernels.h"

typedef struct AmgScalingArgs {
  int64_t n; /* own rows */
  CsrView A;
  const double *d;      /* D^-1 */
  double *s, *unit;     /* S, with ghosts where it is read; D^-1 of S A S */
  double *one, *scaled; /* of each row: see amg_constants_item */
  double *val;          /* entries of S A S */
  double *b;
} AmgScalingArgs;

POISE_INLINE void amg_scales_item(const AmgScalingArgs *g, int64_t i)
{
  g->s[i] = sqrt(fabs(g->d[i]));
  if (g->unit) g->unit[i] = g->d[i] != 0 ? copysign(1.0, g->d[i]) : 0;
}

/* |sum of a_ij b_j| as a part of the sum of |a_ij b_j|, of b = 1 and b = S 1: 0 where A b is, at most 1. Rows
   that have nothing but a diagonal do not count. Traffic: A, S. */
POISE_INLINE void amg_constants_item(const AmgScalingArgs *g, int64_t i)
{
  const CsrView *A = &g->A;
  double one = 0, all = 0, scaled = 0, all_scaled = 0;
  int others = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    double a = A->val[k], t = a * g->s[A->col[k]];
    others |= A->col[k] != i && a != 0;
    one += a, all += fabs(a);
    scaled += t, all_scaled += fabs(t);
  }
  g->one[i] = others ? fabs(one) / all : 0;
  g->scaled[i] = others && all_scaled > 0 ? fabs(scaled) / all_scaled : 0;
}

/* Traffic: A, its numbers twice, S. */
POISE_INLINE void amg_scale_entries_item(const AmgScalingArgs *g, int64_t i)
{
  const CsrView *A = &g->A;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++)
    g->val[k] = g->s[i] * A->val[k] * g->s[A->col[k]];
}

/* b = S b */
POISE_INLINE void amg_scale_vector_item(const AmgScalingArgs *g, int64_t i)
{
  g->b[i] *= sqrt(fabs(g->d[i]));
}

#endif

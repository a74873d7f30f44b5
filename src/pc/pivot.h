/* SPDX-License-Identifier: BSD-3-Clause */
/* The pivots of incomplete factors: host and GPU compile the same text. */
#ifndef POISE_PIVOT_H
#define POISE_PIVOT_H

#include "../sys/kernels.h"

/* The inverse of a pivot, 0 if it is refused; rest: the sum of the sizes of the entries beside it. */
POISE_INLINE double poiseInvertPivot(const FactorArgs *a, double pivot, double rest)
{
  double zero = a->relative ? a->zero * rest : a->zero;
  if (pivot - pivot != 0 || rest - rest != 0) return 0;
  if ((a->positive ? pivot : fabs(pivot)) <= zero) pivot = a->replace == 0 ? 0 : pivot + a->replace;
  return pivot == 0 ? 0 : 1 / pivot;
}

#endif

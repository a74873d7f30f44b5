/* SPDX-License-Identifier: BSD-3-Clause */
/* The pivots of incomplete factors. Host and GPU compile the same text. */
#ifndef POISE_PIVOT_H
#define POISE_PIVOT_H

#include "factor_kernels.h"

/* The inverse of a pivot, or 0 if it is refused. rest: the sum of the absolute values of the other
   entries. */
POISE_INLINE double poiseInvertPivot(const FactorArgs *a, double pivot, double rest)
{
  double zero = a->relative ? a->zero * rest : a->zero;
  if (pivot - pivot != 0 || rest - rest != 0) return 0;
  if ((a->sign ? a->sign * pivot : fabs(pivot)) <= zero) pivot = a->replace == 0 ? 0 : pivot + a->replace;
  return pivot == 0 ? 0 : 1 / pivot;
}

/* Store a replaced pivot in place of the old one, as a library divides by it. */
POISE_INLINE void poiseKeepPivot(const FactorArgs *a, int64_t diag, double inverse)
{
  if (a->replace != 0 && inverse != 0) a->lu[diag] = 1 / inverse;
}

enum { REFUSED_ROW, REFUSED_PIVOT };

/* Was a pivot of row i refused? */
POISE_INLINE int poiseRefused(const FactorArgs *a, int64_t i)
{
  int64_t b = a->t.b;
  return b ? a->d[i * b * b] != a->d[i * b * b] : a->d[i] == 0;
}

/* Record row i if it is the first refused row; n: there is none. */
POISE_INLINE void poiseNameRefused(const FactorArgs *a, int64_t i)
{
  int64_t b = a->t.b;
  a->refused[REFUSED_ROW] = -1, a->refused[REFUSED_PIVOT] = 0;
  if (i == a->t.n) return;
  a->refused[REFUSED_ROW] = b ? (double)(i * b) + a->d[i * b * b + 1] : (double)i;
  a->refused[REFUSED_PIVOT] =
      b ? a->d[i * b * b + 2] : a->lu[a->pivots ? i : poiseOffset(&a->t, a->t.diag, i)];
}

/* sum + the absolute values of the scalars of row r in the blocks [k, end), except the one in its own
   column of block diag. b = 1: blocks are scalars. */
POISE_INLINE double poiseSizesBeside(int64_t b, const double *v, int64_t k, int64_t end, int64_t diag,
                                     int64_t r, double sum)
{
  for (; k < end; k++)
    for (int64_t c = 0; c < b; c++)
      if (k != diag || c != r) sum += fabs(v[(k * b + c) * b + r]);
  return sum;
}

/* By how much the diagonal of scalar row i falls short of dominance. */
POISE_INLINE double poiseLack(const DominanceArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  int64_t b = t->b ? t->b : 1, row = i / b, r = i % b, diag = poiseOffset(t, t->diag, row);
  return poiseSizesBeside(b, a->a, poiseOffset(t, t->begin, row), poiseOffset(t, t->end, row), diag, r,
                          -a->sign * a->a[(diag * b + r) * b + r]);
}

#endif

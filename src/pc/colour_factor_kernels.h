/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors without fill, of rows in the order of their colours (colour_factor.c). */
#ifndef POISE_COLOUR_FACTOR_KERNELS_H
#define POISE_COLOUR_FACTOR_KERNELS_H

#include "block_inverse.h"
#include "colours_kernels.h"

/*
  With A = (I + N) D (I + V) on A's pattern, N of earlier colours and V of later ones. In place of A's entries
  come those of the two parts that sweeps read: D^-1 N D and V. rule: t is that of P in its own order, a its
  values; d gets the inverse blocks of D, and lu the blocks, both by rows of P. If rule.symmetric, N = V^T,
  and A's entries of earlier colours are not read.
*/
typedef struct ColourFactorArgs {
  int64_t n, begin; /* the places of one colour, [begin, begin + n); those of earlier ones are done */
  FactorArgs rule;
  const int32_t *row;
  CsrView part[2];
  double *val[2];
} ColourFactorArgs;

/* to -= v u, of b x b numbers by columns */
POISE_INLINE void poiseColourSubtractOf(int64_t b, const double *v, const double *u, double *to)
{
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) {
      double s = to[c * b + r];
      for (int64_t q = 0; q < b; q++) s -= v[q * b + r] * u[c * b + q];
      to[c * b + r] = s;
    }
}

/* Loops of small blocks are unrolled. */
POISE_INLINE void poiseColourSubtract(int64_t b, const double *v, const double *u, double *to)
{
  switch (b) {
  case 1:
    *to -= *v * *u;
    break;
  case 2:
    poiseColourSubtractOf(2, v, u, to);
    break;
  case 3:
    poiseColourSubtractOf(3, v, u, to);
    break;
  case 4:
    poiseColourSubtractOf(4, v, u, to);
    break;
  default:
    poiseColourSubtractOf(b, v, u, to);
  }
}

/* The first of the ascending columns [k, end) that is at least c: most often it is the next one. */
POISE_INLINE int64_t poiseColourNext(const int32_t *col, int64_t k, int64_t end, int32_t c)
{
  enum { NEAR = 4 };
  for (int q = 0; q < NEAR; q++, k++)
    if (k >= end || col[k] >= c) return k;
  return poiseSeek(col, k, end, c);
}

/* Entries [k, end) of a part, of one row, -= v times the entries [u, last) of V in the same columns. */
POISE_INLINE void poiseColourMeet(const ColourFactorArgs *a, const double *v, int part, int64_t k,
                                  int64_t end, int64_t u, int64_t last)
{
  const int32_t *col = a->part[part].col, *of = a->part[1].col;
  int64_t b = a->part[0].b ? a->part[0].b : 1;
  while (k < end && u < last) {
    if (col[k] == of[u]) {
      poiseColourSubtract(b, v, a->val[1] + u * b * b, a->val[part] + k * b * b);
      k++, u++;
    } else if (col[k] < of[u])
      k = poiseColourNext(col, k + 1, end, of[u]);
    else
      u = poiseColourNext(of, u + 1, last, col[k]);
  }
}

/* v = (D_c u)^T, with u of V in row c */
POISE_INLINE void poiseColourMirror(int64_t b, const double *pivot, const double *u, double *v)
{
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) {
      double s = 0;
      for (int64_t q = 0; q < b; q++) s += pivot[q * b + r] * u[c * b + q];
      v[r * b + c] = s;
    }
}

/* Eliminate entry k of N in the row at place p, whose block of D is d: the entry is what it is in N D. */
POISE_INLINE void poiseColourEliminate(const ColourFactorArgs *a, int64_t p, int64_t k, double *d)
{
  const CsrView *N = &a->part[0], *V = &a->part[1];
  int64_t b = N->b ? N->b : 1, c = N->col[k], u = poiseCsrOffset(V, c), last = poiseCsrOffset(V, c + 1);
  double *v = a->val[0] + k * b * b;
  if (!a->rule.symmetric) poiseColourMeet(a, v, 0, k + 1, poiseCsrOffset(N, p + 1), u, last);
  u = poiseSeek(V->col, u, last, (int32_t)p);
  bool back = u < last && V->col[u] == p;
  if (a->rule.symmetric) poiseColourMirror(b, a->rule.lu + (a->row[c] - 1) * b * b, a->val[1] + u * b * b, v);
  if (back) poiseColourSubtract(b, v, a->val[1] + u * b * b, d);
  poiseColourMeet(a, v, 1, poiseCsrOffset(V, p), poiseCsrOffset(V, p + 1), u, last);
}

/* The largest sum of absolute values beside the pivot in the rows of a block. */
POISE_INLINE double poiseColourBeside(const ColourFactorArgs *a, int64_t p, const double *d)
{
  int64_t b = a->part[0].b ? a->part[0].b : 1;
  double most = 0;
  for (int64_t r = 0; r < b; r++) {
    double sum = poiseSizesBeside(b, d, 0, 1, 0, r, 0);
    for (int q = 0; q < 2; q++)
      sum = poiseSizesBeside(b, a->val[q], poiseCsrOffset(&a->part[q], p), poiseCsrOffset(&a->part[q], p + 1),
                             -1, r, sum);
    most = poiseLarger(sum, most);
  }
  return most;
}

/* Invert d, of row i, and keep it. */
POISE_INLINE void poiseColourInvert(const FactorArgs *rule, int64_t i, int b, double rest, double *d)
{
  double refused = 0;
  for (int q = 0; q < b * b; q++) rule->lu[i * b * b + q] = d[q];
  if (b == 1) {
    d[0] = poiseInvertPivot(rule, d[0], rest);
    poiseKeepPivot(rule, i, d[0]);
    return;
  }
  int step = poiseInvertPivots(rule, rest, d, b, &refused);
  if (step < b) d[0] = NAN, d[1] = step, d[2] = refused;
}

/* Entries [k, end) of a part = d times themselves. */
POISE_INLINE void poiseColourDivide(int64_t b, const double *d, double *val, int64_t k, int64_t end)
{
  double column[32];
  for (int64_t c = k * b; c < end * b; c++) {
    for (int64_t r = 0; r < b; r++) {
      column[r] = 0;
      for (int64_t q = 0; q < b; q++) column[r] += d[q * b + r] * val[c * b + q];
    }
    for (int64_t r = 0; r < b; r++) val[c * b + r] = column[r];
  }
}

POISE_INLINE void colour_factor_item(const ColourFactorArgs *a, int64_t e)
{
  const FactorArgs *rule = &a->rule;
  int64_t p = a->begin + e, i = (int64_t)a->row[p] - 1, b = a->part[0].b ? a->part[0].b : 1;
  if (i < 0) return;
  double *d = rule->d + i * b * b;
  const double *diag = rule->a + poiseOffset(&rule->t, rule->t.diag, i) * b * b;
  for (int64_t q = 0; q < b * b; q++) d[q] = diag[q] + (q % (b + 1) ? 0 : rule->shift);
  for (int64_t k = poiseCsrOffset(&a->part[0], p), end = poiseCsrOffset(&a->part[0], p + 1); k < end; k++)
    poiseColourEliminate(a, p, k, d);
  poiseColourInvert(rule, i, (int)b, poiseColourBeside(a, p, d), d);
  for (int q = 0; q < 2; q++)
    poiseColourDivide(b, d, a->val[q], poiseCsrOffset(&a->part[q], p), poiseCsrOffset(&a->part[q], p + 1));
}

#endif

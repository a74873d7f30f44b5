/* SPDX-License-Identifier: BSD-3-Clause */
/* Small dense blocks: their inverse and their rows. Host and GPU compile the same text. */
#ifndef POISE_BLOCK_INVERSE_H
#define POISE_BLOCK_INVERSE_H

#include <string.h>

#include "pivot.h"

/* Gauss-Jordan in place, column-major; with row pivoting, or without if all pivots must have one sign.
   Returns the index of the refused pivot, or b. The pivot too, which is NaN if the inverse is not finite.
   rule, rest: see poiseInvertPivot. */
POISE_INLINE int poiseInvertPivots(const FactorArgs *rule, double rest, double *a, int b, double *refused)
{
  int pivot[32];
  for (int k = 0; k < b; k++) {
    int p = k;
    for (int i = k + 1; !rule->sign && i < b; i++)
      if (fabs(a[k * b + i]) > fabs(a[k * b + p])) p = i;
    pivot[k] = p;
    double d = poiseInvertPivot(rule, a[k * b + p], rest);
    *refused = a[k * b + p];
    if (d == 0) return k;
    for (int j = 0; p != k && j < b; j++) {
      double t = a[j * b + k];
      a[j * b + k] = a[j * b + p];
      a[j * b + p] = t;
    }
    a[k * b + k] = 1;
    for (int j = 0; j < b; j++) a[j * b + k] *= d;
    for (int i = 0; i < b; i++) {
      double f = a[k * b + i];
      if (i == k) continue;
      a[k * b + i] = 0;
      for (int j = 0; j < b; j++) a[j * b + i] -= f * a[j * b + k];
    }
  }
  for (int k = b - 1; k >= 0; k--) /* row exchanges of A are column exchanges of its inverse */
    for (int i = 0; pivot[k] != k && i < b; i++) {
      double t = a[k * b + i];
      a[k * b + i] = a[pivot[k] * b + i];
      a[pivot[k] * b + i] = t;
    }
  for (int i = 0; i < b * b; i++)
    if (!poiseFinite(a[i])) {
      *refused = a[i] - a[i];
      return 0;
    }
  return b;
}

/* 0 when singular or not finite. */
POISE_INLINE int poiseInvertBlock(double *a, int b)
{
  FactorArgs any;
  double refused;
  memset(&any, 0, sizeof any);
  return poiseInvertPivots(&any, 0, a, b, &refused) == b;
}

/* The block k with start[k] <= i < start[k + 1], for row i. */
POISE_INLINE int64_t poiseBlockWithRow(const int32_t *start, int64_t nblock, int64_t i)
{
  int64_t low = 0, high = nblock;
  while (high - low > 1) {
    int64_t mid = low + (high - low) / 2;
    if (start[mid] <= i)
      low = mid;
    else
      high = mid;
  }
  return low;
}

#endif

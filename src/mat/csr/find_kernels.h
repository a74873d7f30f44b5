/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in an array, or in which row of a CSR, something is first wrong. */
#ifndef POISE_FIND_KERNELS_H
#define POISE_FIND_KERNELS_H

#include "csr_view.h"

enum {
  FIND_DECREASING, /* row offset k + 1 is below offset k */
  FIND_UNSORTED,   /* the columns of row k do not ascend, or are not all in [base, base + limit) */
  FIND_BEYOND,     /* col64[k] is not below limit */
  FIND_UNORDERED,  /* triplet k, of row ptr32[k] and column col32[k], is not behind the one before it, or not
                      in `rows` rows from `begin` on, or not in [0, limit) */
  FIND_NAN_IN_ROW, /* a number of row k of numbers is not finite */
  FIND_NAN         /* val[k] is not finite */
};

/* *first = the least k < n of which `what` is true, or n. Of each array one width is given, or none. b, and
   nz where rows are looked at: as in CsrView. */
typedef struct FindArgs {
  int what, base;
  int64_t n, nz, limit, b, begin, rows;
  const int64_t *ptr64, *col64;
  const int32_t *ptr32, *col32;
  const double *val;
  int64_t *first;
} FindArgs;

POISE_INLINE int64_t poiseFindOffset(const FindArgs *a, int64_t i)
{
  return poiseFromBase(a->ptr32 ? a->ptr32[i] : a->ptr64[i], a->base);
}

POISE_INLINE int64_t poiseFindColumn(const FindArgs *a, int64_t k)
{
  return a->col32 ? a->col32[k] : a->col64[k];
}

/* The row of entry k, where offsets ascend. */
POISE_INLINE int64_t poiseFindRow(const FindArgs *a, int64_t rows, int64_t k)
{
  int64_t low = 0, high = rows; /* row `low` begins at k or before, row `high` behind */
  while (high - low > 1) {
    int64_t mid = low + (high - low) / 2;
    if (poiseFindOffset(a, mid) <= k)
      low = mid;
    else
      high = mid;
  }
  return low;
}

/* Of entries [k, end), of which the column before the first is `last`. */
POISE_INLINE int poiseFindsUnsorted(const FindArgs *a, int64_t last, int64_t k, int64_t end)
{
  for (; k < end; k++) {
    int64_t col = poiseFindColumn(a, k);
    if (col <= last || col >= a->base + a->limit) return 1;
    last = col;
  }
  return 0;
}

POISE_INLINE int poiseFindsNan(const FindArgs *a, int64_t i)
{
  CsrView A = {a->b, 0, 0, 0, a->ptr64, a->ptr32, NULL, a->val};
  ScalarRow row = poiseNumberRow(&A, i);
  for (int64_t k = 0; k < row.n; k++)
    if (!poiseFinite(a->val[poiseNumberPlace(&row, k)])) return 1;
  return 0;
}

POISE_INLINE int poiseFindsUnordered(const FindArgs *a, int64_t k)
{
  int64_t row = a->ptr32[k], col = a->col32[k];
  if (row < a->begin || row >= a->begin + a->rows || col < 0 || col >= a->limit) return 1;
  return k > 0 && (row < a->ptr32[k - 1] || (row == a->ptr32[k - 1] && col <= a->col32[k - 1]));
}

POISE_INLINE int poiseFinds(const FindArgs *a, int64_t k)
{
  if (a->what == FIND_UNORDERED) return poiseFindsUnordered(a, k);
  if (a->what == FIND_BEYOND) return a->col64[k] >= a->limit;
  if (a->what == FIND_NAN) return !poiseFinite(a->val[k]);
  if (a->what == FIND_NAN_IN_ROW) return poiseFindsNan(a, k);
  int64_t begin = poiseFindOffset(a, k), end = poiseFindOffset(a, k + 1);
  return a->what == FIND_DECREASING ? end < begin : poiseFindsUnsorted(a, a->base - 1, begin, end);
}

#endif

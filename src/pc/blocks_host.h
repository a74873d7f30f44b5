/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host's kernels on small dense blocks share. */
#ifndef POISE_BLOCKS_HOST_H
#define POISE_BLOCKS_HOST_H

#include "../vec/vec_host.h"
#include "block_inverse.h"

/* Rows [begin, end) of y = D x, D a b x b block, column-major: larger ones by columns, so that the compiler vectorises. The sums
   are the same. */
POISE_INLINE void poiseHostBlockRows(const double *restrict d, int64_t b, const double *restrict x, double *restrict y,
                                     int64_t begin, int64_t end)
{
  enum { LARGE = 8 };
  for (int64_t i = begin; i < end; i++) {
    double s = 0;
    for (int64_t j = 0; b < LARGE && j < b; j++) s += d[j * b + i] * x[j];
    y[i] = s;
  }
  for (int64_t j = 0; b >= LARGE && j < b; j++)
    for (int64_t i = begin; i < end; i++) y[i] += d[j * b + i] * x[j];
}

/* All rows of so many blocks, one after the other. */
POISE_INLINE void poiseHostBlocksOf(int64_t b, const double *restrict d, const double *restrict x, double *restrict y,
                                    int64_t count)
{
  for (int64_t k = 0; k < count; k++) poiseHostBlockRows(d + k * b * b, b, x + k * b, y + k * b, 0, b);
}

/* Rows [begin, end), in any blocks, of y = D x. D's blocks are of b rows, the last of `n` rows may have fewer. */
static inline void poiseHostBlocks(const double *d, int64_t b, int64_t n, const double *x, double *y, int64_t begin,
                                   int64_t end)
{
  int64_t first = begin - begin % b, whole = (begin + b - 1) / b * b, count = whole < end ? (end - whole) / b : 0;
  const double *D = d + whole * b, *X = x + whole;
  double *Y = y + whole;
#define OF(size)                             \
  case size:                                 \
    poiseHostBlocksOf(size, D, X, Y, count); \
    break
  switch (b) { /* so that the compiler unrolls */
  case 1:
    for (int64_t i = begin; i < end; i++) y[i] = d[i] * x[i];
    return;
    OF(2);
    OF(3);
    OF(4);
    OF(5);
    OF(6);
    OF(7);
    OF(8);
  default:
    poiseHostBlocksOf(b, D, X, Y, count);
  }
#undef OF
  if (first < begin) { /* the end of the block before, */
    int64_t side = first + b < n ? b : n - first;
    poiseHostBlockRows(d + first * b, side, x + first, y + first, begin - first,
                       (first + side < end ? first + side : end) - first);
  }
  first = whole + count * b; /* the beginning of the one behind */
  if (first < end) poiseHostBlockRows(d + first * b, first + b < n ? b : n - first, x + first, y + first, 0, end - first);
}

#endif

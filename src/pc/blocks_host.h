/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the host kernels on small dense blocks. */
#ifndef POISE_BLOCKS_HOST_H
#define POISE_BLOCKS_HOST_H

#include "vec/vec_host.h"
#include "block_inverse.h"

/* Rows [begin, end) of y = D x, with D a b x b block, column-major. Larger blocks go by columns, so that
   the compiler vectorises. The order of the sums is the same. */
POISE_INLINE void poiseHostBlockRows(const double *restrict d, int64_t b, const double *restrict x,
                                     double *restrict y, int64_t begin, int64_t end)
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

/* All rows of n consecutive blocks. */
POISE_INLINE void poiseHostBlocksOf(int64_t b, const double *restrict d, const double *restrict x,
                                    double *restrict y, int64_t count)
{
  for (int64_t k = 0; k < count; k++) poiseHostBlockRows(d + k * b * b, b, x + k * b, y + k * b, 0, b);
}

/* The same for small blocks, whose loops the compiler unrolls. Returns the number of blocks done: 0 for
   other sizes. */
static inline int64_t poiseHostSmallBlocks(int64_t b, const double *d, const double *x, double *y,
                                           int64_t count)
{
#define OF(size)                             \
  case size:                                 \
    poiseHostBlocksOf(size, d, x, y, count); \
    return count
  switch (b) {
    OF(2);
    OF(3);
    OF(4);
    OF(5);
    OF(6);
    OF(7);
    OF(8);
  default:
    return 0;
  }
#undef OF
}

/* Rows [begin, end) of y = D x, in any blocks. D's blocks have b rows; the last of the `n` rows may be in
   a smaller one. */
static inline void poiseHostBlocks(const double *d, int64_t b, int64_t n, const double *x, double *y,
                                   int64_t begin, int64_t end)
{
  for (int64_t i = begin; b == 1 && i < end; i++) y[i] = d[i] * x[i];
  for (int64_t i = begin; b > 1 && i < end;) {
    int64_t first = i - i % b, side = first + b < n ? b : n - first,
            last = first + side < end ? first + side : end;
    int64_t done = i == first ? poiseHostSmallBlocks(b, d + i * b, x + i, y + i, (end - i) / b) : 0;
    if (!done) poiseHostBlockRows(d + first * b, side, x + first, y + first, i - first, last - first);
    i = done ? i + done * b : last;
  }
}

#endif

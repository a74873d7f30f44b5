/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host's kernels on small dense blocks share. */
#ifndef POISE_BLOCKS_HOST_H
#define POISE_BLOCKS_HOST_H

#include "../vec/vec_host.h"
#include "block_inverse.h"

/* Rows [begin, end) of y = D x, D a b x b block, column-major: larger ones by columns, so that the compiler vectorises. The sums
   are the same. */
static inline void poiseHostBlockRows(const double *restrict d, int64_t b, const double *restrict x, double *restrict y,
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

/* Rows [begin, end) of y = D x, which may begin and end in a block; D's blocks of b x b, the last of `n` rows may be smaller. */
static inline void poiseHostBlocks(const double *d, int64_t b, int64_t n, const double *x, double *y, int64_t begin,
                                   int64_t end)
{
  for (int64_t i = begin; b == 1 && i < end; i++) y[i] = d[i] * x[i];
  for (int64_t i = begin, first = begin - begin % b; b > 1 && i < end; first += b) {
    int64_t side = first + b < n ? b : n - first, last = first + side < end ? first + side : end;
    poiseHostBlockRows(d + first * b, side, x + first, y + first, i - first, last - first);
    i = last;
  }
}

#endif

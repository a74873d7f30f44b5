/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host's kernels on small dense blocks share. */
#ifndef POISE_BLOCKS_HOST_H
#define POISE_BLOCKS_HOST_H

#include "../vec/vec_host.h"
#include "block_inverse.h"

/* Rows [begin, end) of y = D x, D a b x b block, column-major: by columns, so that the compiler vectorises. */
static inline void poiseHostBlockRows(const double *restrict d, int64_t b, const double *restrict x, double *restrict y,
                                      int64_t begin, int64_t end)
{
  for (int64_t i = begin; i < end; i++) y[i] = 0;
  for (int64_t j = 0; j < b; j++)
    for (int64_t i = begin; i < end; i++) y[i] += d[j * b + i] * x[j];
}

#endif

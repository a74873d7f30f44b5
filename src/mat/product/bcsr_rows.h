/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of rows of blocks on the host, in fp64, or in fp32 where csr_f32.c says so. */
#ifndef POISE_BCSR_ROWS_H
#define POISE_BCSR_ROWS_H

#include "bcsr_host.h"
#include "csr_rows.h"

POISE_INLINE const SCALAR *poiseHostBlockFactors(const RowsArgs *m, int64_t col, int64_t b)
{
  return col < m->A.nloc ? m->x + col * b : m->ghost + (col - m->A.nloc) * b;
}

enum { HOST_AHEAD = 256 }; /* distance of prefetching, in scalars */

/* sum[r] += the product of the blocks [k, last) in row r. */
POISE_INLINE void poiseHostAddBlocks(int b, const RowsArgs *m, int64_t k, int64_t last, double *sum)
{
  double term[MAX_BLOCK_SIZE] = {0}; /* holds all terms of a small block */
  for (; k < last; k++)
    poiseAddBlock(b, m->A.val + k * b * b, HOST_AHEAD, poiseHostBlockFactors(m, m->A.col[k], b), term);
  for (int r = 0; r < b; r++) sum[r] = poiseBlockSum(b, term, r);
}

POISE_INLINE void poiseHostBlockRows(int b, const RowsArgs *args, double alpha, double beta, int64_t begin,
                                     int64_t end)
{
  const RowsArgs local = *args, *m = &local; /* a local copy, so that stores to y cannot change it */
  SCALAR *restrict y = m->y;
  int64_t k = NAME(poiseCsrOffset)(&m->A, begin);
  for (int64_t i = begin; i < end; i++) {
    int64_t last = NAME(poiseCsrOffset)(&m->A, i + 1);
    double sum[MAX_BLOCK_SIZE];
    poiseHostAddBlocks(b, m, k, last, sum);
    for (int r = 0; r < b; r++) y[i * b + r] = (SCALAR)poiseHostUpdate(alpha, sum[r], beta, y[i * b + r]);
    k = last;
  }
}

#endif

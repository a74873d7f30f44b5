/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks to CSR of numbers (bcsr_build.c). Lanes of a row take its numbers in turn; on the host a row has one
   lane. */
#ifndef POISE_FROM_BLOCKS_KERNELS_H
#define POISE_FROM_BLOCKS_KERNELS_H

#include "mat/csr/csr_view.h"

/* n: rows of numbers, and one more for the last offset. One of ptr64, ptr32 is NULL. */
typedef struct FromBlocksArgs {
  CsrView A;
  int64_t n;
  int64_t *ptr64;
  int32_t *ptr32, *col;
  double *val;
} FromBlocksArgs;

POISE_INLINE void from_blocks_row(const FromBlocksArgs *a, int64_t i, int lane, int lanes)
{
  int64_t b = a->A.b, r = i % b, first = poiseCsrOffset(&a->A, i / b);
  int64_t last = i + 1 < a->n ? poiseCsrOffset(&a->A, i / b + 1) : first, n = (last - first) * b,
          out = first * b * b + r * n;
  if (lane == 0 && a->ptr32) a->ptr32[i] = (int32_t)out;
  if (lane == 0 && a->ptr64) a->ptr64[i] = out;
  for (int64_t e = lane; e < n; e += lanes) {
    int64_t k = first + e / b, c = e % b;
    a->col[out + e] = (int32_t)(a->A.col[k] * b + c);
    a->val[out + e] = a->A.val[(k * b + c) * b + r];
  }
}

#endif

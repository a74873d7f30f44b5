/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of lanes does a row of a matrix, so that it reads entries that stand together. Groups of a warp go
   in step. */
#ifndef POISE_ROW_LANES_H
#define POISE_ROW_LANES_H

#include "mat/multiply/spgemm_kernels.h"
#include "cuda.h"

enum { LANES = 8 };

struct Group {
  int64_t i, first;        /* its row, -1: none, and the row's first entry */
  int lane, entries, most; /* most: entries of a row of the warp */
};

__device__ __forceinline__ Group GroupOf(const CsrView &A, int64_t n)
{
  int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  Group g = {-1, 0, (int)threadIdx.x % LANES, 0, 0};
  if (i < n) {
    g.i = i, g.first = poiseCsrOffset(&A, i);
    g.entries = (int)(poiseCsrOffset(&A, i + 1) - g.first);
  }
  SpgemmGroup lanes = {g.lane, LANES};
  g.most = poiseGroupMost(&lanes, g.entries);
  return g;
}

#endif

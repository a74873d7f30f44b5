/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a CSR by threads, long ones by blocks of them. */
#ifndef POISE_ROWS_H
#define POISE_ROWS_H

#include "../mat/csr_view.h"
#include "cuda.h"

enum { LONG = 512 }; /* numbers of a row that are too many for a thread */

/* work(i, k, step) for the numbers k, k + step, ... of row i of numbers (-1: none): by its thread, or if they are many by all threads of
   the block, for one such row after the other. All threads call. */
template <typename Work> __device__ __forceinline__ void EachRow(const CsrView &A, int64_t i, Work work)
{
  __shared__ int64_t row[THREADS];
  bool is_long = i >= 0 && poiseNumberRow(&A, i).n >= LONG;
  row[threadIdx.x] = is_long ? i : -1;
  if (i >= 0 && !is_long) work(i, 0, 1);
  if (!__syncthreads_or(is_long)) return;
  for (int t = 0; t < THREADS; t++)
    if (row[t] >= 0) work(row[t], threadIdx.x, THREADS);
  __syncthreads();
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A row of a CSR per thread, a long row per thread block. */
#ifndef POISE_ROWS_H
#define POISE_ROWS_H

#include "mat/csr/csr_view.h"
#include "cuda.h"

enum { LONG = 512 }; /* scalars of a row that are too many for a thread */

/* Calls work(i, k, step) for scalars k, k + step, ... of row i (-1: none). A short row is its own thread's.
   The long rows of a thread block are done one after the other, by all its threads. All threads call this. */
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

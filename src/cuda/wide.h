/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Wide vectors on a GPU. A thread block has rows of all columns, which stand together. Its threads take
  numbers a multiple of k apart, so that each has numbers of one column: Columns says which, and how far they
  are apart. At most k - 1 threads have none.
*/
#ifndef POISE_WIDE_H
#define POISE_WIDE_H

#include "cuda.h"

struct Columns {
  int k, step, column; /* column: -1, this thread has none */
  __device__ __forceinline__ Columns(int n) : k(n), step(THREADS / n * n)
  {
    column = (int)threadIdx.x < step ? (int)threadIdx.x % n : -1;
  }
};

/* The sums over each column's threads, in a fixed order: to `of`(column, n, sum) for sums n < N. All threads
   call this. */
template <int N, int COMBINE, typename Of>
__device__ __forceinline__ void SumColumns(const Columns &c, const double *s, Of of)
{
  __shared__ double part[N][THREADS];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, each = c.step / c.k;
#pragma unroll
  for (int n = 0; n < N; n++) part[n][threadIdx.x] = s[n];
  __syncthreads();
  for (int column = warp; column < c.k; column += WARPS)
#pragma unroll
    for (int n = 0; n < N; n++) {
      double sum = 0;
      for (int t = lane; t < each; t += 32) sum = Join<COMBINE>(sum, part[n][t * c.k + column]);
      sum = WarpReduce<COMBINE>(sum);
      if (lane == 0) of(column, n, sum);
    }
  __syncthreads();
}

/* The dots of the numbers of rows [first, last) of y, which this thread block has finished: partial `block`
   of each column. */
__device__ __forceinline__ void FuseColumns(const Fuse &f, const Columns &c, const double *y, int64_t first,
                                            int64_t last, int64_t block)
{
  for (int k = 0; k < f.ndot; k++) {
    double s[1] = {0};
    if (c.column >= 0)
      for (int64_t e = first * c.k + threadIdx.x; e < last * c.k; e += c.step) {
        double v = y[e];
        s[0] += (f.u[k] ? f.u[k][e] : f.d[k] ? f.d[k][e / c.k] * v : v) * v;
      }
    SumColumns<1, COMBINE_SUM>(
        c, s, [&](int column, int, double sum) { f.partial[k][block + column * f.systems.partials] = sum; });
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Numbers of a sparse product where rows of B are short and rows of C not long: a warp has a row of C, and its
  lanes have the columns. The lanes read the row's products, 32 at once whatever rows of B they are from. Then
  all look at them one after the other, and the lane whose column it is adds it. So no lane looks for a place,
  and sums have the order of spgemm_kernels.h.
*/
#ifndef POISE_SPGEMM_COLUMNS_H
#define POISE_SPGEMM_COLUMNS_H

#include "spgemm_threads.h"

/* Threads of a block. Numbers of a row at most. Where rows of B have as many entries in the mean, half of the
   lanes of a group have one each (spgemm_lanes.h), so nothing is gained. */
enum { COLUMN_THREADS = 128, COLUMN_NUMBERS = 64, COLUMN_ROW = 16 };

typedef struct Product {
  double value;
  int32_t column;
} Product;

/* Would rows of up to COLUMN_NUMBERS be done faster so? */
static bool NumbersByColumns(const SpgemmArgs *a)
{
  return a->products <= THREAD_PRODUCTS && a->B.nz < COLUMN_ROW * a->B.m;
}

/* Add the first n of the products to the sums of this lane's K columns. */
template <int K>
__device__ __forceinline__ void AddProducts(const Product *product, int n, const int32_t (&column)[K],
                                            double (&sum)[K])
{
#pragma unroll 8
  for (int u = 0; u < n; u++) {
    Product p = product[u];
#pragma unroll
    for (int c = 0; c < K; c++)
      if (column[c] == p.column) sum[c] = __dadd_rn(sum[c], p.value);
  }
}

/* The products of 32 entries of A, from entry e on, which lanes have one each. */
template <int K>
__device__ __forceinline__ void AddEntries(const SpgemmArgs &a, const EntryOfA &entry, Product *product,
                                           const int32_t (&column)[K], double (&sum)[K])
{
  const int lane = (int)threadIdx.x % 32;
  int begin, all = EntriesBefore(entry.length, &begin);
  for (int first = 0; first < all; first += 32) {
    int t = first + lane, owner = LaneOf(begin, t), left = all - first < 32 ? all - first : 32;
    int64_t f = __shfl_sync(~0u, (long long)entry.begin - begin, owner) + t;
    double x = __shfl_sync(~0u, entry.x, owner);
    if (lane < left) product[lane] = {__dmul_rn(x, ValueOfB(a, f)), a.B.col[f]};
    __syncwarp();
    AddProducts<K>(product, left, column, sum);
    __syncwarp();
  }
}

/* The n numbers of row i, from C's entry `to` on. */
template <int K>
__device__ __forceinline__ void SumsByColumn(const SpgemmArgs &a, int64_t i, int64_t to, int n,
                                             Product *product)
{
  const int lane = (int)threadIdx.x % 32;
  int32_t column[K];
  double sum[K];
#pragma unroll
  for (int c = 0; c < K; c++) {
    int k = c * 32 + lane;
    column[c] = k < n ? poisePlaceOfLocal(a.below, a.C.nloc, a.C.col[to + k]) : -1;
    sum[c] = 0;
  }
  for (int64_t e = poiseCsrOffset(&a.A, i), last = poiseCsrOffset(&a.A, i + 1); e < last; e += 32)
    AddEntries<K>(a, LookUp(a, e + lane, e + lane < last), product, column, sum);
#pragma unroll
  for (int c = 0; c < K; c++)
    if (column[c] >= 0) a.val[to + c * 32 + lane] = sum[c];
}

/* Rows with at most `done` numbers are done already. */
static __global__ void __launch_bounds__(COLUMN_THREADS)
    SpgemmNumbersByColumn(const __grid_constant__ SpgemmArgs a, int done)
{
  __shared__ Product product[COLUMN_THREADS];
  int64_t i = (blockIdx.x * (int64_t)COLUMN_THREADS + threadIdx.x) / 32;
  if (i >= a.A.m) return;
  int64_t to = poiseCsrOffset(&a.C, i), n = poiseCsrOffset(&a.C, i + 1) - to;
  Product *own = product + threadIdx.x / 32 * 32;
  if (n <= done || n > COLUMN_NUMBERS) return;
  if (n <= 32)
    SumsByColumn<1>(a, i, to, (int)n, own);
  else
    SumsByColumn<2>(a, i, to, (int)n, own);
}

#endif

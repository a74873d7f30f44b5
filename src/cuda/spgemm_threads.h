/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Columns of a sparse product by a thread for each row, where rows are short and many: a warp has 32 chains of
  loads under way, and no lane waits for others of its row. A thread's table is in shared memory, in banks of
  its own.
*/
#ifndef POISE_SPGEMM_THREADS_H
#define POISE_SPGEMM_THREADS_H

#include "spgemm_warps.h"

/* So many rows occupy a multiprocessor. Products of a row at most, and columns in a table of 32 keys; columns
   that a thread reads at once. */
enum { THREAD_ROWS = 256, THREAD_PRODUCTS = 32, THREAD_MOST = 24, THREAD_KEYS = 32, AT_ONCE = 4 };
enum { ROW_THREADS = 128 }; /* of a block */

/* Are there rows enough for a thread each, and most of them so short? */
static bool ByThreads(Device *dev, const SpgemmArgs *a)
{
  return a->A.m >= THREAD_ROWS * (int64_t)dev->model.multiprocessors && 2 * a->rows_of[0] > a->A.m;
}

/* The different columns of row i, unordered in a table whose key h is key[h * ROW_THREADS]; returns how many;
   -1: more than THREAD_MOST. */
__device__ __forceinline__ int CollectByThread(const SpgemmArgs &a, int64_t i, int32_t *key)
{
  constexpr int LAST_KEY = THREAD_KEYS - 1;
  int n = 0;
  for (int h = 0; h <= LAST_KEY; h++) key[h * ROW_THREADS] = -1;
  for (int64_t e = poiseCsrOffset(&a.A, i), last = poiseCsrOffset(&a.A, i + 1); e < last; e++) {
    int64_t row = a.A.col[e], end = poiseCsrOffset(&a.B, row + 1);
    for (int64_t f = poiseCsrOffset(&a.B, row); f < end; f += AT_ONCE) {
      int32_t column[AT_ONCE];
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) column[k] = f + k < end ? a.B.col[f + k] : -1;
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) {
        if (column[k] < 0) continue;
        int h = (int)(poiseHash32(column[k]) % THREAD_KEYS), there;
        while ((there = key[h * ROW_THREADS]) >= 0 && there != column[k]) h = (h + 1) & LAST_KEY;
        if (there >= 0) continue;
        if (n == THREAD_MOST) return -1;
        key[h * ROW_THREADS] = column[k];
        n++;
      }
    }
  }
  return n;
}

/* The keys of a table to its front, ascending. */
__device__ __forceinline__ void SortByThread(int32_t *key)
{
  for (int h = 0, n = 0; h < THREAD_KEYS; h++) {
    int32_t one = key[h * ROW_THREADS];
    if (one < 0) continue;
    int k = n++;
    for (; k > 0 && key[(k - 1) * ROW_THREADS] > one; k--) key[k * ROW_THREADS] = key[(k - 1) * ROW_THREADS];
    key[k * ROW_THREADS] = one;
  }
}

/* Lengths of rows with so few products, and their columns as long as there is room. */
static __global__ void __launch_bounds__(ROW_THREADS)
    SpgemmCountByThread(const __grid_constant__ SpgemmArgs a)
{
  __shared__ int32_t key[ROW_THREADS * THREAD_KEYS];
  int32_t *own = key + threadIdx.x, *warp = own - threadIdx.x % 32;
  int64_t i = blockIdx.x * (int64_t)ROW_THREADS + threadIdx.x, base = 0;
  bool mine = i < a.A.m && a.work[i] <= THREAD_PRODUCTS;
  int n = mine ? CollectByThread(a, i, own) : -1, begin, all = EntriesBefore(n > 0 ? n : 0, &begin);
  if (n > 0) SortByThread(own);
  __syncwarp(); /* all lanes write what any has found */
  if (n >= 0) a.length[i] = n;
  if (threadIdx.x % 32 == 0 && all)
    base = (int64_t)atomicAdd((unsigned long long *)a.counts + SPGEMM_TAKEN, (unsigned long long)all);
  base = __shfl_sync(~0u, (long long)base, 0);
  if (base + all > a.room) return;
  if (n >= 0) a.at[i] = (int32_t)(base + begin);
  for (int first = 0; first < all; first += 32) {
    int t = first + (int)threadIdx.x % 32, lane = LaneOf(begin, t), before = __shfl_sync(~0u, begin, lane);
    if (t < all)
      a.kept[base + t] = poiseLocalOfPlace(a.below, a.C.nloc, warp[(t - before) * ROW_THREADS + lane]);
  }
}

#endif

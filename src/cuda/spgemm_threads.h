/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows of a sparse product by a thread each, where they are short and many: a warp has 32 chains of loads
  under way, and no lane waits for others of its row. A thread's table is in shared memory, in banks of its
  own. The sums have the order and the roundings of spgemm_kernels.h.
*/
#ifndef POISE_SPGEMM_THREADS_H
#define POISE_SPGEMM_THREADS_H

#include "mat/multiply/spgemm_kernels.h"
#include "spgemm_lanes.h"

/* A thread adds a product in some 50 cycles, so that rows take 0.1 ms at most; and so many rows occupy a
   multiprocessor. */
enum { THREAD_PRODUCTS = 4096, THREAD_ROWS = 256, AT_ONCE = 4 };

/* Threads of a block; numbers of a row at most, so that sums of many blocks fit in shared memory. */
enum { ROW_THREADS = 128, FEW_NUMBERS = 16 };

/* Are there rows enough for a thread each? */
static bool ByThreads(Device *dev, const SpgemmArgs *a)
{
  return a->A.m >= THREAD_ROWS * (int64_t)dev->model.multiprocessors;
}

/* Are most of them so short that their sums fit? Longer ones take lanes as long. */
static bool NumbersByThreads(Device *dev, const SpgemmArgs *a)
{
  return ByThreads(dev, a) && a->products <= THREAD_PRODUCTS && 4 * a->C.nz <= 3 * FEW_NUMBERS * a->A.m;
}

/* ---- what the rows of a warp have, one after the other ---------------------------------------- */

/* begin: entries of the lanes before; returns those of all. */
__device__ __forceinline__ int EntriesBefore(int n, int *begin)
{
  int sum = n;
  for (int apart = 1; apart < 32; apart *= 2) {
    int below = __shfl_up_sync(~0u, sum, apart);
    if ((int)threadIdx.x % 32 >= apart) sum += below;
  }
  *begin = sum - n;
  return __shfl_sync(~0u, sum, 31);
}

/* The lane that has entry t. */
__device__ __forceinline__ int LaneOf(int begin, int t)
{
  int lane = 0;
  for (int apart = 16; apart > 0; apart /= 2)
    if (__shfl_sync(~0u, begin, lane + apart) <= t) lane += apart;
  return lane;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The different columns of row i, unordered in a table whose key h is key[h * ROW_THREADS]; returns how many;
   -1: more than three quarters of the table. */
template <int BITS>
__device__ __forceinline__ int CollectByThread(const SpgemmArgs &a, int64_t i, int32_t *key)
{
  constexpr int LAST_KEY = (1 << BITS) - 1, MOST = (3 << BITS) / 4;
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
        int h = (int)(poiseHash32(column[k]) >> (32 - BITS)), there;
        while ((there = key[h * ROW_THREADS]) >= 0 && there != column[k]) h = (h + 1) & LAST_KEY;
        if (there >= 0) continue;
        if (n == MOST) return -1;
        key[h * ROW_THREADS] = column[k];
        n++;
      }
    }
  }
  return n;
}

/* The keys of a table to its front, ascending. */
template <int BITS> __device__ __forceinline__ void SortByThread(int32_t *key)
{
  for (int h = 0, n = 0; h < 1 << BITS; h++) {
    int32_t one = key[h * ROW_THREADS];
    if (one < 0) continue;
    int k = n++;
    for (; k > 0 && key[(k - 1) * ROW_THREADS] > one; k--) key[k * ROW_THREADS] = key[(k - 1) * ROW_THREADS];
    key[k * ROW_THREADS] = one;
  }
}

/* Lengths of rows with at most so many products, and their columns as long as there is room. */
template <int BITS>
static __global__ void __launch_bounds__(ROW_THREADS)
    SpgemmCountByThread(const __grid_constant__ SpgemmArgs a, int products)
{
  __shared__ int32_t key[ROW_THREADS << BITS];
  int32_t *own = key + threadIdx.x, *warp = own - threadIdx.x % 32;
  int64_t i = blockIdx.x * (int64_t)ROW_THREADS + threadIdx.x, base = 0;
  bool mine = i < a.A.m && a.length[i] < 0 && a.work[i] <= products;
  int n = mine ? CollectByThread<BITS>(a, i, own) : -1, begin, all = EntriesBefore(n > 0 ? n : 0, &begin);
  if (n > 0) SortByThread<BITS>(own);
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

/* Kept columns to their rows of C. A warp has 32 rows. Traffic: 8 bytes per entry, 12 per row. */
static __global__ void __launch_bounds__(THREADS) SpgemmKept(const __grid_constant__ SpgemmArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x, first = 0;
  int at = i < a.A.m ? a.at[i] : -1, n = 0, begin;
  if (at >= 0) first = poiseCsrOffset(&a.C, i), n = (int)(poiseCsrOffset(&a.C, i + 1) - first);
  int all = EntriesBefore(n, &begin);
  for (int k = 0; k < all; k += 32) {
    int t = k + (int)threadIdx.x % 32, lane = LaneOf(begin, t), from = __shfl_sync(~0u, at - begin, lane);
    int64_t to = __shfl_sync(~0u, (long long)first - begin, lane);
    if (t < all) a.col[to + t] = a.kept[from + t];
  }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The sums of row i, whose n columns are at key[k * ROW_THREADS]. A row of B usually ascends, as the columns
   do: so each is looked for behind the one before. */
__device__ __forceinline__ void SumsByThread(const SpgemmArgs &a, int64_t i, int n, const int32_t *key,
                                             double *sum)
{
  for (int k = 0; k < n; k++) sum[k * ROW_THREADS] = 0;
  for (int64_t e = poiseCsrOffset(&a.A, i), last = poiseCsrOffset(&a.A, i + 1); e < last; e++) {
    EntryOfA entry = LookUp(a, e, true);
    int k = 0;
    for (int first = 0; first < entry.length; first += AT_ONCE) {
      int32_t column[AT_ONCE];
      double y[AT_ONCE];
#pragma unroll
      for (int j = 0; j < AT_ONCE; j++) {
        bool is_one = first + j < entry.length;
        column[j] = is_one ? a.B.col[entry.begin + first + j] : -1;
        y[j] = is_one ? ValueOfB(a, entry.begin + first + j) : 0;
      }
#pragma unroll
      for (int j = 0; j < AT_ONCE; j++) {
        if (column[j] < 0) continue;
        if (key[k * ROW_THREADS] > column[j]) k = 0;
        while (key[k * ROW_THREADS] < column[j]) k++;
        sum[k * ROW_THREADS] = poiseAddProduct(sum[k * ROW_THREADS], entry.x, y[j]);
      }
    }
  }
}

/* Numbers of the rows with at most FEW_NUMBERS. */
static __global__ void __launch_bounds__(ROW_THREADS)
    SpgemmNumbersByThread(const __grid_constant__ SpgemmArgs a)
{
  __shared__ double sum[FEW_NUMBERS * ROW_THREADS];
  __shared__ int32_t key[FEW_NUMBERS * ROW_THREADS];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x - lane;
  int64_t i = blockIdx.x * (int64_t)ROW_THREADS + threadIdx.x, to = 0;
  int n = 0, begin;
  if (i < a.A.m) to = poiseCsrOffset(&a.C, i), n = (int)(poiseCsrOffset(&a.C, i + 1) - to);
  if (n > FEW_NUMBERS) n = 0;
  int all = EntriesBefore(n, &begin);
  for (int first = 0; first < all; first += 32) {
    int t = first + lane, owner = LaneOf(begin, t), k = t - __shfl_sync(~0u, begin, owner);
    int64_t from = __shfl_sync(~0u, (long long)to, owner) + k;
    if (t < all) key[k * ROW_THREADS + warp + owner] = poisePlaceOfLocal(a.below, a.C.nloc, a.C.col[from]);
  }
  __syncwarp();
  if (n) SumsByThread(a, i, n, key + threadIdx.x, sum + threadIdx.x);
  __syncwarp();
  for (int first = 0; first < all; first += 32) {
    int t = first + lane, owner = LaneOf(begin, t), k = t - __shfl_sync(~0u, begin, owner);
    int64_t at = __shfl_sync(~0u, (long long)to, owner) + k;
    if (t < all) a.val[at] = sum[k * ROW_THREADS + warp + owner];
  }
}

#endif

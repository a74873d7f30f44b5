/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse products of scalars by groups of lanes, each of a row of C. They look up an entry of A each, and then
  take one product each, whatever rows of B these are from: so no lane waits, and loads of neighbours stand
  together. Tables are in shared memory. Sums have the order and the roundings of spgemm_kernels.h.
*/
#ifndef POISE_SPGEMM_WARPS_H
#define POISE_SPGEMM_WARPS_H

#include "spgemm_lanes.h"

/* Threads of a block. Products of a row at most: a warp takes 32 of them in some 300 cycles, so that is
   0.4 ms. Columns of a row at most, with a table of 512 keys. */
enum { WARP_THREADS = 128, BLOCK_WARPS = WARP_THREADS / 32, WARP_PRODUCTS = 1 << 16 };
enum { COUNT_BITS = 9, COUNT_MOST = 384 };

/* ---- products of a group of G lanes, one each ------------------------------------------------ */

/* begin: entries of the group's lanes before; returns those of all. */
template <int G = 32> __device__ __forceinline__ int EntriesBefore(int n, int *begin)
{
  int sum = n;
#pragma unroll
  for (int apart = 1; apart < G; apart *= 2) {
    int below = __shfl_up_sync(~0u, sum, apart, G);
    if ((int)threadIdx.x % G >= apart) sum += below;
  }
  *begin = sum - n;
  return __shfl_sync(~0u, sum, G - 1, G);
}

/* The lane of the group that has entry t. */
template <int G = 32> __device__ __forceinline__ int LaneOf(int begin, int t)
{
  int lane = 0;
#pragma unroll
  for (int apart = G / 2; apart > 0; apart /= 2)
    if (__shfl_sync(~0u, begin, lane + apart, G) <= t) lane += apart;
  return lane;
}

__device__ __forceinline__ unsigned LanesBelow()
{
  return (1u << threadIdx.x % 32) - 1;
}

/* The row of B that a lane's entry of A refers to: product t of the lane is B's entry begin + t. */
struct RowOfB {
  int64_t begin;
  int before, all; /* products of the group's lanes before, and of all */
};

template <int G> __device__ __forceinline__ RowOfB LookUpRow(const SpgemmArgs &a, int64_t e, bool is_one)
{
  RowOfB r = {0, 0, 0};
  int length = 0;
  if (is_one) {
    int64_t row = a.A.col[e];
    r.begin = poiseCsrOffset(&a.B, row);
    length = (int)(poiseCsrOffset(&a.B, row + 1) - r.begin);
  }
  r.all = EntriesBefore<G>(length, &r.before);
  r.begin -= r.before;
  return r;
}

/* B's entry of product t of the group, and the lane that has its entry of A. */
template <int G> __device__ __forceinline__ int64_t EntryOfB(const RowOfB &r, int t, int *owner)
{
  *owner = LaneOf<G>(r.before, t);
  return __shfl_sync(~0u, (long long)r.begin, *owner, G) + t;
}

/* ---- columns --------------------------------------------------------------------------------- */

__device__ __forceinline__ int32_t ColumnOf(const SpgemmArgs &a, const RowOfB &r, int t)
{
  int owner;
  int64_t f = EntryOfB<32>(r, t, &owner);
  return t < r.all ? a.B.col[f] : -1;
}

/* The different columns of row i, in any order; returns how many. -1: more than COUNT_MOST. The next columns
   are under way while the present ones are looked for. */
__device__ __forceinline__ int CollectByWarp(const SpgemmArgs &a, int64_t i, int32_t *key, int32_t *list)
{
  const int lane = (int)threadIdx.x % 32, bits = poiseSpgemmBits(poiseSpgemmWork(&a, i));
  const SpgemmTable t = {bits < COUNT_BITS ? bits : COUNT_BITS, key, NULL, NULL};
  int n = 0;
  for (int k = lane; k < 1 << t.bits; k += 32) key[k] = -1;
  __syncwarp();
  for (int64_t e = poiseCsrOffset(&a.A, i), last = poiseCsrOffset(&a.A, i + 1); e < last && n <= COUNT_MOST;
       e += 32) {
    const RowOfB r = LookUpRow<32>(a, e + lane, e + lane < last);
    int32_t next = ColumnOf(a, r, lane);
    for (int first = 0; first < r.all && n <= COUNT_MOST; first += 32) {
      int32_t column = next;
      next = ColumnOf(a, r, first + 32 + lane);
      int is_new = 0;
      if (column >= 0) (void)poiseTablePlace(&t, column, &is_new);
      unsigned news = __ballot_sync(~0u, is_new);
      if (is_new) list[n + __popc(news & LanesBelow())] = column;
      n += __popc(news);
    }
  }
  __syncwarp();
  return n <= COUNT_MOST ? n : -1;
}

/* Room for the n columns of each warp of the block: the place of this warp's, or -1. */
__device__ __forceinline__ int64_t TakeRoom(const SpgemmArgs &a, int n)
{
  __shared__ int64_t place[BLOCK_WARPS];
  const int warp = (int)threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) place[warp] = n;
  __syncthreads();
  if (threadIdx.x == 0) {
    int64_t all = 0, next;
    for (int w = 0; w < BLOCK_WARPS; w++) all += place[w];
    next =
        all ? (int64_t)atomicAdd((unsigned long long *)a.counts + SPGEMM_TAKEN, (unsigned long long)all) : 0;
    bool fits = next + all <= a.room;
    for (int w = 0; w < BLOCK_WARPS; w++) {
      int64_t own = place[w];
      place[w] = fits ? next : -1;
      next += own;
    }
  }
  __syncthreads();
  return place[warp];
}

/* Lengths of rows that are not known yet, and their columns as long as there is room. A warp looks at `width`
   rows. */
static __global__ void __launch_bounds__(WARP_THREADS)
    SpgemmCountByWarp(const __grid_constant__ SpgemmArgs a, int width)
{
  __shared__ int32_t key[BLOCK_WARPS][1 << COUNT_BITS], list[BLOCK_WARPS][1 << COUNT_BITS];
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int64_t first = (blockIdx.x * (int64_t)BLOCK_WARPS + warp) * width, look = first + lane;
  const SpgemmGroup g = {lane, 32};
  bool mine = lane < width && look < a.A.m && a.length[look] < 0 && a.work[look] <= WARP_PRODUCTS;
  for (unsigned rows = __ballot_sync(~0u, mine); __syncthreads_or(rows != 0); rows &= rows - 1) {
    int64_t i = first + __ffs((int)rows) - 1;
    int n = rows ? CollectByWarp(a, i, key[warp], list[warp]) : -1;
    int64_t at = TakeRoom(a, n > 0 ? n : 0);
    if (n < 0) continue;
    if (lane == 0) a.length[i] = n, a.at[i] = (int32_t)at;
    if (at >= 0) poiseSpgemmSorted(&a, &g, list[warp], n, a.kept + at);
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

/* Is there room for all columns, and does no row have too many? Then the others need not be looked for. */
static bool KeepsAll(const SpgemmArgs *a)
{
  for (int c = 2; c < SPGEMM_CLASSES; c++)
    if (a->rows_of[c]) return false;
  return a->C.nz <= a->room && a->products <= WARP_PRODUCTS;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The column's place among 2^bits ascending keys; it is there. */
__device__ __forceinline__ int PlaceOf(const int32_t *key, int bits, int32_t column)
{
  int place = 0;
  for (int half = 1 << bits >> 1; half; half /= 2)
    if (key[place + half] <= column) place += half;
  return place;
}

/* Add the lanes' products to sums, those of one place in the order of lanes. place -1: this lane has none. */
__device__ __forceinline__ void AddProducts(double *sum, int place, double product)
{
  unsigned same = __match_any_sync(~0u, place);
  bool leads = place >= 0 && (same & LanesBelow()) == 0;
  unsigned left = leads ? same : 0;
  double s = leads ? sum[place] : 0;
  while (__any_sync(~0u, left != 0)) {
    double next = __shfl_sync(~0u, product, left ? __ffs((int)left) - 1 : 0);
    if (left) s = __dadd_rn(s, next);
    left &= left - 1;
  }
  if (leads) sum[place] = s;
  __syncwarp();
}

struct Product { /* of a lane; column -1: none */
  double x, y;
  int32_t column;
};

/* Product t of the group, whose lanes hold the entries x of A. */
template <int G>
__device__ __forceinline__ Product ProductOf(const SpgemmArgs &a, const RowOfB &r, double x, int t)
{
  int owner;
  int64_t f = EntryOfB<G>(r, t, &owner);
  Product p = {__shfl_sync(~0u, x, owner, G), 0, -1};
  if (t < r.all) p.y = ValueOfB(a, f), p.column = a.B.col[f];
  return p;
}

/* Add the products of row i of A, or of none, to the sums of 2^bits keys from place `table` on. The next
   products are under way while the present ones are added. */
template <int G>
__device__ __forceinline__ void SumByGroup(const SpgemmArgs &a, int64_t i, const int32_t *key, double *sum,
                                           int table, int bits)
{
  const SpgemmGroup g = {(int)threadIdx.x % G, G};
  const int64_t first = poiseRowBegin(&a.A, i);
  const int entries = (int)(poiseRowEnd(&a.A, i) - first), most = poiseGroupMost(&g, entries);
  for (int base = 0; base < most; base += G) {
    int k = base + g.lane;
    double x = k < entries ? ValueOfA(a, first + k) : 0;
    const RowOfB r = LookUpRow<G>(a, first + k, k < entries);
    Product next = ProductOf<G>(a, r, x, g.lane);
    for (int t = 0, all = poiseGroupMost(&g, r.all); t < all; t += G) {
      const Product p = next;
      if (t + G < all) next = ProductOf<G>(a, r, x, t + G + g.lane);
      AddProducts(sum, p.column < 0 ? -1 : table + PlaceOf(key + table, bits, p.column), __dmul_rn(p.x, p.y));
    }
  }
}

/* The numbers of row i, or of none, with keys and sums from place `table` on. */
template <int G>
__device__ __forceinline__ void NumbersByGroup(const SpgemmArgs &a, int64_t i, int32_t *key, double *sum,
                                               int table)
{
  const int lane = (int)threadIdx.x % G;
  const int64_t to = poiseRowBegin(&a.C, i);
  const int n = (int)(poiseRowEnd(&a.C, i) - to), bits = n > 1 ? 32 - __clz(n - 1) : 0;
  for (int k = lane; k < 1 << bits; k += G) {
    key[table + k] = k < n ? poisePlaceOfLocal(a.below, a.C.nloc, a.C.col[to + k]) : INT32_MAX;
    sum[table + k] = 0;
  }
  __syncwarp();
  SumByGroup<G>(a, i, key, sum, table, bits);
  for (int k = lane; k < n; k += G) a.val[to + k] = sum[table + k];
  __syncwarp(); /* the next row's stand there */
}

/* Numbers of the rows that have `least` to 2^bits of them. A warp looks at `width` rows. */
template <int G>
static __global__ void __launch_bounds__(WARP_THREADS)
    SpgemmNumbersByGroup(const __grid_constant__ SpgemmArgs a, int width, int least, int bits)
{
  extern __shared__ double sum[];
  int32_t *key = (int32_t *)(sum + (WARP_THREADS / G << bits));
  const int lane = (int)threadIdx.x % 32, table = (int)threadIdx.x / G << bits;
  const int64_t first = (blockIdx.x * (int64_t)BLOCK_WARPS + threadIdx.x / 32) * width, look = first + lane;
  int64_t n = 0;
  if (lane < width && look < a.A.m) n = poiseCsrOffset(&a.C, look + 1) - poiseCsrOffset(&a.C, look);
  for (unsigned rows = __ballot_sync(~0u, n >= least && n <= 1 << bits); rows;) {
    int64_t i = TakeRow(first, lane / G, 32 / G, &rows);
    NumbersByGroup<G>(a, i, key, sum, table);
  }
}

#endif

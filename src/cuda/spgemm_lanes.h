/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows of a sparse product by a warp, whose lanes look up an entry of A each: one chain of loads for 32
  entries. The sums have the order and the roundings of spgemm_kernels.h.
*/
#ifndef POISE_SPGEMM_LANES_H
#define POISE_SPGEMM_LANES_H

#include "mat/multiply/spgemm_kernels.h"
#include "cuda.h"

enum Task { COUNT, COLUMNS, NUMBERS };

struct EntryOfA { /* and the row of B that it refers to */
  int64_t begin, length;
  double x;
};

template <bool VALUES>
__device__ __forceinline__ EntryOfA LookUp(const SpgemmArgs &a, int64_t e, int64_t last)
{
  EntryOfA entry = {0, 0, 0};
  if (e >= last) return entry;
  int64_t row = a.A.col[e];
  entry.begin = poiseCsrOffset(&a.B, row);
  entry.length = poiseCsrOffset(&a.B, row + 1) - entry.begin;
  if (VALUES) entry.x = a.A.val[a.from32 ? a.from32[e] : a.from64 ? a.from64[e] : e];
  return entry;
}

__device__ __forceinline__ double ValueOfB(const SpgemmArgs &a, int64_t f)
{
  return f < a.ngiven ? a.B.val[f] : a.received[f - a.ngiven];
}

/* Row i, if it has a lane for each entry of A and for each product; else false. Equal columns find each other
   by a match of the warp, and the first of them adds the products in their order. */
template <int TASK> __device__ __forceinline__ bool RowByLanes(const SpgemmArgs &a, int64_t i)
{
  const unsigned all = ~0u;
  int lane = threadIdx.x % 32;
  int64_t first = poiseCsrOffset(&a.A, i), last = poiseCsrOffset(&a.A, i + 1);
  if (last - first > 32) return false;
  EntryOfA entry = LookUp<TASK == NUMBERS>(a, first + lane, last);
  int length = entry.length < 33 ? (int)entry.length : 33, end = length;
  for (int d = 1; d < 32; d *= 2) {
    int before = __shfl_up_sync(all, end, d);
    if (lane >= d) end += before;
  }
  int products = __shfl_sync(all, end, 31);
  if (products > 32) return false;

  int of = 0; /* the entry of A of this lane's product */
  for (int step = 16; step > 0; step /= 2)
    if (__shfl_sync(all, end, of + step - 1) <= lane) of += step;
  int64_t f = __shfl_sync(all, (long long)entry.begin, of) + lane - __shfl_sync(all, end - length, of);
  double x = TASK == NUMBERS ? __shfl_sync(all, entry.x, of) : 0;
  int32_t column = lane < products ? a.B.col[f] : -1 - lane;

  unsigned equal = __match_any_sync(all, column);
  bool leads = lane < products && (equal & ((1u << lane) - 1)) == 0;
  unsigned leaders = __ballot_sync(all, leads);
  if (TASK == COUNT) {
    if (lane == 0) a.length[i] = __popc(leaders);
    return true;
  }
  int rank = 0;
  for (unsigned rest = leaders; rest; rest &= rest - 1)
    rank += __shfl_sync(all, column, __ffs((int)rest) - 1) < column;
  int64_t to = poiseCsrOffset(&a.C, i) + rank;
  if (TASK == COLUMNS) {
    if (leads) a.col[to] = poiseSpgemmLocal(&a, column);
    return true;
  }
  double product = lane < products ? __dmul_rn(x, ValueOfB(a, f)) : 0, sum = 0;
  for (unsigned rest = leads ? equal : 0; __any_sync(all, rest != 0); rest &= rest - 1) {
    double next = __shfl_sync(all, product, rest ? __ffs((int)rest) - 1 : lane);
    if (rest) sum = __dadd_rn(sum, next);
  }
  if (leads) a.val[to] = sum;
  return true;
}

/* Row i's numbers, by a table of C's columns. The first entries of the next row of B are under way while the
   present ones are added. */
__device__ __forceinline__ void NumbersByWarp(const SpgemmArgs &a, int64_t i, const SpgemmGroup &g,
                                              const SpgemmTable &t)
{
  int64_t to = poiseCsrOffset(&a.C, i), n = poiseCsrOffset(&a.C, i + 1) - to,
          last = poiseCsrOffset(&a.A, i + 1);
  double *val = a.val + to;
  int is_new;
  poiseTableClear(&t, &g);
  for (int64_t k = g.lane; k < n; k += 32) {
    t.value[poiseTablePlace(&t, poiseSpgemmPlace(&a, a.C.col[to + k]), &is_new)] = (int32_t)k;
    val[k] = 0;
  }
  __syncwarp();
  for (int64_t base = poiseCsrOffset(&a.A, i); base < last; base += 32) {
    EntryOfA entry = LookUp<true>(a, base + g.lane, last);
    int count = last - base < 32 ? (int)(last - base) : 32;
    int64_t f = __shfl_sync(~0u, (long long)entry.begin, 0) + g.lane,
            left = __shfl_sync(~0u, (long long)entry.length, 0) - g.lane;
    int32_t column = left > 0 ? a.B.col[f] : 0;
    double y = left > 0 ? ValueOfB(a, f) : 0;
    for (int j = 0; j < count; j++) {
      int after = j + 1 < count ? j + 1 : j;
      int64_t next = __shfl_sync(~0u, (long long)entry.begin, after) + g.lane,
              left_then = __shfl_sync(~0u, (long long)entry.length, after) - g.lane;
      int32_t column_then = left_then > 0 ? a.B.col[next] : 0;
      double y_then = left_then > 0 ? ValueOfB(a, next) : 0, x = __shfl_sync(~0u, entry.x, j);
      for (; left > 0; left -= 32, f += 32) {
        int32_t k = t.value[poiseTablePlace(&t, column, &is_new)];
        val[k] = poiseAddProduct(val[k], x, y);
        if (left > 32) column = a.B.col[f + 32], y = ValueOfB(a, f + 32);
      }
      __syncwarp();
      f = next, left = left_then, column = column_then, y = y_then;
    }
  }
}

/* Columns of row i, if there are no more than `most`: else *t.used is more. 2^t.bits: at least most + 64. */
__device__ __forceinline__ void CollectUpTo(const SpgemmArgs &a, int64_t i, const SpgemmGroup &g, int share,
                                            const SpgemmTable &t, int most)
{
  int64_t last = poiseCsrOffset(&a.A, i + 1);
  bool fits = true;
  poiseTableClear(&t, &g);
  for (int64_t e = poiseCsrOffset(&a.A, i) + g.lane / share; e < last && fits; e += 32 / share) {
    int64_t row = a.A.col[e], end = poiseCsrOffset(&a.B, row + 1);
    for (int64_t f = poiseCsrOffset(&a.B, row) + g.lane % share; f < end && fits; f += share) {
      int is_new;
      (void)poiseTablePlace(&t, a.B.col[f], &is_new);
      if (is_new) fits = poiseTake(t.used) < most;
    }
  }
  __syncwarp();
}

#endif

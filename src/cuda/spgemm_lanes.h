/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows of a sparse product by a group of lanes of a warp, which look up an entry of A each: one chain of loads
  for so many entries. The sums have the order and the roundings of spgemm_kernels.h.
*/
#ifndef POISE_SPGEMM_LANES_H
#define POISE_SPGEMM_LANES_H

#include "mat/multiply/spgemm_kernels.h"
#include "cuda.h"

enum Task { COUNT, COLUMNS, NUMBERS };

struct EntryOfA { /* and the row of B that it refers to */
  int64_t begin;
  int length;
  double x;
};

__device__ __forceinline__ double ValueOfA(const SpgemmArgs &a, int64_t e)
{
  return a.A.val[a.from32 ? a.from32[e] : a.from64 ? a.from64[e] : e];
}

__device__ __forceinline__ EntryOfA LookUp(const SpgemmArgs &a, int64_t e, bool is_one)
{
  EntryOfA entry = {0, 0, 0};
  if (!is_one) return entry;
  int64_t row = a.A.col[e];
  entry.begin = poiseCsrOffset(&a.B, row);
  entry.length = (int)(poiseCsrOffset(&a.B, row + 1) - entry.begin);
  entry.x = ValueOfA(a, e);
  return entry;
}

__device__ __forceinline__ double ValueOfB(const SpgemmArgs &a, int64_t f)
{
  return f < a.ngiven ? a.B.val[f] : a.received[f - a.ngiven];
}

/* The row of this group, which is number `place` of `groups` in step, or -1; *rows: of them all, counted from
   first; those that are given out are taken away. */
__device__ __forceinline__ int64_t TakeRow(int64_t first, int place, int groups, unsigned *rows)
{
  unsigned own = *rows;
  for (int k = 0; k < groups; k++) {
    if (k < place) own &= own - 1;
    *rows &= *rows - 1;
  }
  return own ? first + __ffs((int)own) - 1 : -1;
}

/* Row i's numbers by LANES lanes. Behind the sums in memory is the table of C's columns. The first entries of
   the next row of B are under way while the present ones are added. */
template <int LANES>
__device__ __forceinline__ void NumbersByLanes(const SpgemmArgs &a, int64_t i, const SpgemmGroup &g,
                                               double *sum)
{
  int64_t to = poiseRowBegin(&a.C, i), first = poiseRowBegin(&a.A, i);
  int n = (int)(poiseRowEnd(&a.C, i) - to), entries = (int)(poiseRowEnd(&a.A, i) - first),
      most = poiseGroupMost(&g, entries), bits = poiseSpgemmBits(n), is_new;
  SpgemmTable t = {bits, (int32_t *)(sum + (1 << bits)), NULL, NULL};
  for (int k = g.lane; k < 1 << bits; k += LANES) sum[k] = 0, t.key[k] = -1;
  __syncwarp();
  for (int k = g.lane; k < n; k += LANES)
    (void)poiseTablePlace(&t, poisePlaceOfLocal(a.below, a.C.nloc, a.C.col[to + k]), &is_new);
  __syncwarp();
  for (int base = 0; base < most; base += LANES) {
    EntryOfA entry = LookUp(a, first + base + g.lane, base + g.lane < entries);
    int count = most - base < LANES ? most - base : LANES;
    int64_t f = __shfl_sync(~0u, (long long)entry.begin, 0, LANES) + g.lane;
    int left = __shfl_sync(~0u, entry.length, 0, LANES) - g.lane;
    int32_t column = left > 0 ? a.B.col[f] : 0;
    double y = left > 0 ? ValueOfB(a, f) : 0;
    for (int j = 0; j < count; j++) {
      int after = j + 1 < count ? j + 1 : j;
      int64_t next = __shfl_sync(~0u, (long long)entry.begin, after, LANES) + g.lane;
      int left_then = __shfl_sync(~0u, entry.length, after, LANES) - g.lane;
      int32_t column_then = left_then > 0 ? a.B.col[next] : 0;
      double y_then = left_then > 0 ? ValueOfB(a, next) : 0, x = __shfl_sync(~0u, entry.x, j, LANES);
      for (; left > 0; left -= LANES, f += LANES) {
        double *of = sum + poiseTablePlace(&t, column, &is_new);
        *of = poiseAddProduct(*of, x, y);
        if (left > LANES) column = a.B.col[f + LANES], y = ValueOfB(a, f + LANES);
      }
      __syncwarp();
      f = next, left = left_then, column = column_then, y = y_then;
    }
  }
  for (int k = g.lane; k < n; k += LANES)
    a.val[to + k] = sum[poiseTablePlace(&t, poisePlaceOfLocal(a.below, a.C.nloc, a.C.col[to + k]), &is_new)];
}

#endif

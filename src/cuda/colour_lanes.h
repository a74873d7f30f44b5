/* SPDX-License-Identifier: BSD-3-Clause */
/* Items of pc/colours_kernels.h by lanes that share a row, and moves of rows of one number. */
#ifndef POISE_COLOUR_LANES_H
#define POISE_COLOUR_LANES_H

#include "pc/colours_kernels.h"
#include "row_lanes.h"

struct Placed {
  int64_t p, i, first; /* a place, its row (-1: none), and the row's first entry */
  int entries, most;   /* most: of a row of the warp */
};

__device__ __forceinline__ Placed PlacedRow(const ColourMatrixArgs &a)
{
  Placed g = {(blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES, -1, 0, 0, 0};
  if (g.p < a.n) g.i = (int64_t)a.row[g.p] - 1;
  if (g.i >= 0) {
    g.first = poiseCsrOffset(&a.A, g.i);
    g.entries = (int)(poiseCsrOffset(&a.A, g.i + 1) - g.first);
  }
  SpgemmGroup lanes = {(int)threadIdx.x % LANES, LANES};
  g.most = poiseGroupMost(&lanes, g.entries);
  return g;
}

/* The n different numbers of c in ascending order: each goes behind those that are less. One lane sorts
   longer rows. All lanes of a warp call this. */
__device__ __forceinline__ void SortByLanes(int32_t *c, int n)
{
  enum { EACH = 8 };
  const int lane = (int)threadIdx.x % LANES, few = n <= EACH * LANES ? n : 0;
  int32_t mine[EACH];
  int rank[EACH];
#pragma unroll
  for (int q = 0; q < EACH; q++) rank[q] = 0, mine[q] = q * LANES + lane < few ? c[q * LANES + lane] : 0;
  for (int k = 0; k < few; k++) {
    int32_t other = c[k];
#pragma unroll
    for (int q = 0; q < EACH; q++) rank[q] += other < mine[q];
  }
  __syncwarp();
#pragma unroll
  for (int q = 0; q < EACH; q++)
    if (q * LANES + lane < few) c[rank[q]] = mine[q];
  if (n > few && lane == 0) poiseColourSort(c, n);
}

/* colour_pattern_item */
static __global__ void __launch_bounds__(THREADS) PatternByLanes(const __grid_constant__ ColourMatrixArgs a)
{
  const Placed g = PlacedRow(a);
  const int lane = (int)threadIdx.x % LANES, first_lane = (int)threadIdx.x % 32 / LANES * LANES;
  int32_t *to = g.i < 0 ? NULL : a.col + poiseCsrOffset(&a.to, g.p);
  int count = 0;
  for (int base = 0; base < g.most; base += LANES) {
    int32_t j = base + lane < g.entries ? a.A.col[g.first + base + lane] : -1;
    bool takes = j >= 0 && poiseColourTakes(&a, g.i, j);
    unsigned ones = __ballot_sync(~0u, takes) >> first_lane & ((1u << LANES) - 1);
    if (takes) to[count + __popc(ones & ((1u << lane) - 1))] = a.place[j];
    count += __popc(ones);
  }
  __syncwarp();
  SortByLanes(to, count);
}

/* colour_entries_item */
static __global__ void __launch_bounds__(THREADS) EntriesByLanes(const __grid_constant__ ColourMatrixArgs a)
{
  const Placed g = PlacedRow(a);
  const int64_t b = a.A.b ? a.A.b : 1;
  if (g.i < 0) return;
  for (int k = (int)threadIdx.x % LANES; k < g.entries; k += LANES)
    poiseColourEntry(&a, b, g.p, g.i, g.first + k);
}

/* colour_to_places_item of rows of one number. A thread loads all its places, then what it moves, and stores
   last: else a load would wait for the store before. */
template <typename Args>
static __global__ void __launch_bounds__(THREADS) NumbersToPlaces(const __grid_constant__ Args a)
{
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double s[ROWS];
  int32_t at[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t e = first + r * THREADS;
    at[r] = e < a.n ? a.place[e] : -1;
    s[r] = e >= a.n ? 0 : a.d ? 0 + (double)a.d[e] * (double)a.x[e] : (double)a.x[e];
    s[r] *= a.factor;
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    if (at[r] < 0) continue;
    a.y[at[r]] = a.adds ? a.y[at[r]] + s[r] : s[r];
    if (a.to) a.to[at[r]] = s[r];
  }
}

template <typename Args> static PoiseErr LaunchNumbersToPlaces(Device *dev, const Args *a)
{
  if (a->n) NumbersToPlaces<<<(unsigned)POISE_NBLOCKS(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Numbers of sparse products of tiles by a warp for each row of C, whose sums are in shared memory. S lanes do
  a product, each a column of its tile, and 32 / S products of an entry of A are done at once: rows of B have
  no column twice, so no two of them add to one tile. Sums have the order and the roundings of
  spgemm_kernels.h.

  Traffic: that of spgemm.cu. Of the L1 cache and shared memory, per product: a tile of B is read once, the
  tile of A by all lanes as one, and a tile of sums is read and written, where neighbours stand together.
*/
#ifndef POISE_SPGEMM_TILES_H
#define POISE_SPGEMM_TILES_H

#include "spgemm_warps.h"

/* The distance of tiles of sums, in numbers: odd, so that they begin in different banks. */
template <int P, int S> static constexpr int tile_room = P *S | 1;

struct TileOfA { /* and the row of B that it refers to */
  int64_t begin, from;
  int length;
};

__device__ __forceinline__ TileOfA LookUpTile(const SpgemmArgs &a, int64_t e, bool is_one)
{
  TileOfA t = {0, 0, 0};
  if (!is_one) return t;
  int64_t row = a.A.col[e];
  t.begin = poiseCsrOffset(&a.B, row);
  t.length = (int)(poiseCsrOffset(&a.B, row + 1) - t.begin);
  t.from = a.from32 ? a.from32[e] : a.from64 ? a.from64[e] : e;
  return t;
}

__device__ __forceinline__ TileOfA TileOfLane(const TileOfA &own, int lane)
{
  return {__shfl_sync(~0u, (long long)own.begin, lane), __shfl_sync(~0u, (long long)own.from, lane),
          __shfl_sync(~0u, own.length, lane)};
}

/* A tile of A by rows. */
template <int P, int Q>
__device__ __forceinline__ void ReadTile(const SpgemmArgs &a, int64_t from, double (&x)[P][Q])
{
  const double *val = a.A.val + from * P * Q;
  const bool turned = a.from32 || a.from64;
#pragma unroll
  for (int r = 0; r < P; r++)
#pragma unroll
    for (int l = 0; l < Q; l++) x[r][l] = val[turned ? r * Q + l : l * P + r];
}

/* sum += x y of a column: y has Q numbers, and sums of a column are S apart. */
template <int P, int Q, int S>
__device__ __forceinline__ void AddColumn(const double (&x)[P][Q], const double *y, double *sum)
{
  double of[Q];
#pragma unroll
  for (int l = 0; l < Q; l++) of[l] = y[l];
#pragma unroll
  for (int r = 0; r < P; r++) {
    double s = sum[r * S];
#pragma unroll
    for (int l = 0; l < Q; l++) s = poiseAddProduct(s, x[r][l], of[l]);
    sum[r * S] = s;
  }
}

/* Add the products of row i of A to the tiles of sums of 2^bits keys. */
template <int P, int Q, int S>
__device__ __forceinline__ void SumTiles(const SpgemmArgs &a, int64_t i, const int32_t *key, double *sum,
                                         int bits)
{
  constexpr int PRODUCTS = 32 / S; /* at once */
  const int lane = (int)threadIdx.x % 32, product = lane / S, column = lane % S;
  const int64_t first = poiseCsrOffset(&a.A, i);
  const int entries = (int)(poiseCsrOffset(&a.A, i + 1) - first);
  for (int base = 0; base < entries; base += 32) {
    const TileOfA own = LookUpTile(a, first + base + lane, base + lane < entries);
    for (int j = 0, count = min(32, entries - base); j < count; j++) {
      const TileOfA t = TileOfLane(own, j);
      double x[P][Q];
      ReadTile<P, Q>(a, t.from, x);
      for (int k = product; product < PRODUCTS && k < t.length; k += PRODUCTS) {
        int64_t f = t.begin + k;
        const double *y = f < a.ngiven ? a.B.val + f * Q * S : a.received + (f - a.ngiven) * Q * S;
        AddColumn<P, Q, S>(x, y + column * Q,
                           sum + PlaceOf(key, bits, a.B.col[f]) * tile_room<P, S> + column);
      }
      __syncwarp(); /* other lanes may have the same tile next */
    }
  }
}

/* The tiles of row i. */
template <int P, int Q, int S>
__device__ __forceinline__ void TilesByWarp(const SpgemmArgs &a, int64_t i, int32_t *key, double *sum)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t to = poiseCsrOffset(&a.C, i);
  const int n = (int)(poiseCsrOffset(&a.C, i + 1) - to), bits = n > 1 ? 32 - __clz(n - 1) : 0;
  for (int k = lane; k < 1 << bits; k += 32)
    key[k] = k < n ? poisePlaceOfLocal(a.below, a.C.nloc, a.C.col[to + k]) : INT32_MAX;
  for (int k = lane; k < n * tile_room<P, S>; k += 32) sum[k] = 0;
  __syncwarp();
  SumTiles<P, Q, S>(a, i, key, sum, bits);
  for (int k = lane; k < n * P * S; k += 32)
    a.val[to * P * S + k] = sum[k / (P * S) * tile_room<P, S> + k % P * S + k / P % S];
  __syncwarp(); /* the next row's stand there */
}

/* Numbers of the rows that have `least` to 2^bits tiles. A warp looks at `width` rows. */
template <int P, int Q, int S>
static __global__ void __launch_bounds__(WARP_THREADS)
    SpgemmTilesByWarp(const __grid_constant__ SpgemmArgs a, int width, int least, int bits)
{
  extern __shared__ double sum[];
  int32_t *key = (int32_t *)(sum + (BLOCK_WARPS << bits) * tile_room<P, S>);
  const int lane = (int)threadIdx.x % 32, place = (int)threadIdx.x / 32 << bits;
  const int64_t first = (blockIdx.x * (int64_t)BLOCK_WARPS + threadIdx.x / 32) * width, look = first + lane;
  int64_t n = 0;
  if (lane < width && look < a.A.m) n = poiseCsrOffset(&a.C, look + 1) - poiseCsrOffset(&a.C, look);
  for (unsigned rows = __ballot_sync(~0u, n >= least && n <= 1 << bits); rows; rows &= rows - 1)
    TilesByWarp<P, Q, S>(a, first + __ffs((int)rows) - 1, key + place, sum + place * tile_room<P, S>);
}

#endif

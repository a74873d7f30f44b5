/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of about one length through shared memory: what the kernels of csr and csri share. */
#ifndef POISE_TILE_H
#define POISE_TILE_H

#include "mat/product/csri_kernels.h"
#include "bulk.h"
#include "cuda.h"
#include "epilogue.h"

enum { UNROLL = TILE_UNROLL /* nonzeros that a thread has in flight */ };

/* Lets a kernel have so much dynamic shared memory, and up to `most`. What it may have unasked, 48 KB, counts
   its static memory too, which is less than 4 KB, or 8 KB where there are hubs, whose bytes are a power of 2
   times 12. */
static inline PoiseErr LetShare(const void *kernel, size_t bytes, int64_t most)
{
  if (bytes <= 44 * 1024) return POISE_OK;
  return poiseCudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most),
                        "shared memory of a product");
}

/* Nonzeros that are copied together, 16 bytes of columns of 4 bytes or of 2. */
enum { UNIT = 4, UNIT16 = 8 };

/* Nonzeros of a tile in shared memory. */
__host__ __device__ __forceinline__ int64_t TileRoom(int64_t tile, int unit = UNIT)
{
  return poiseTileRoom(tile, unit);
}

/* The columns of a tile with columns of 16 bits (index16.cu), and its column bands. */
struct Columns16 {
  const uint16_t *code;
  const int32_t *base;
  __device__ __forceinline__ int32_t operator[](int k) const
  {
    return poiseIndex16Column(base, code[k]);
  }
};

template <bool NARROW, typename View> __device__ __forceinline__ int64_t Offset(const View &A, int64_t i)
{
  return NARROW ? A.ptr32[i] : poiseCsrOffset(&A, i);
}

/* s plus the terms at places k, k + L, ... of a row, UNROLL of them in flight. Columns: an array, or
   Columns16. */
template <int L, bool GHOSTS, typename Place, typename Columns, typename Args>
__device__ __forceinline__ double PartOfRow(const Args &a, const Entry<Args> *val, Columns col, Place k,
                                            Place end, double s = 0)
{
  for (; k < end; k += UNROLL * L) {
    Entry<Args> x[UNROLL];
#pragma unroll
    for (int r = 0; r < UNROLL; r++) {
      int32_t c = k + r * L < end ? col[k + r * L] : -1;
      x[r] = c < 0 ? 0 : !GHOSTS || c < a.A.nloc ? a.x[c] : a.ghost[c - a.A.nloc];
    }
#pragma unroll
    for (int r = 0; r < UNROLL; r++)
      if (k + r * L < end) s += (double)val[k + r * L] * x[r];
  }
  return s;
}

/* ---- SpMV by tiles, in three stages ---------------------------------------------------------- */

/*
  1. FetchTile copies the entries of a row block to shared memory.
  2. SumRow sums a row with L threads.
  3. FinishRow and FuseRow (epilogue.h) scale, store and form the dots.
  A kernel is composed of these stages: CsrTile and CsrTileLean in csr.cu, CsrTileEarly in tile_early.h,
  CsriTile in csri.cu.

  Traffic: 12 bytes per nonzero (10 with columns of 16 bits, 8 in fp32), 4 per offset, x and y once. Bulk
  copies need no registers and no threads, so each resident block has a tile in flight. Neighbouring threads
  have neighbouring rows, so a stencil's gather of x is coalesced.
*/

/* A row block: rows [first, last), entries [start, end). start is rounded down, since bulk copies are of 16
   bytes. */
struct TileRange {
  int64_t block, first, last, start, end;
};

/* Row block `block` of R rows. NARROW: offsets are int32, which saves the test for it. */
template <int R, bool INDEX16, bool NARROW = false, typename View>
__device__ __forceinline__ TileRange RangeOfTile(const View &A, int64_t block)
{
  constexpr int U = INDEX16 ? UNIT16 : UNIT;
  int64_t first = block * R, last = first + R < A.m ? first + R : A.m;
  return {block, first, last, Offset<NARROW>(A, first) & ~(int64_t)(U - 1), Offset<NARROW>(A, last)};
}

/* A tile in shared memory. Place k holds entry start + k. */
template <typename Real> struct TileView {
  Real *val;
  int32_t *col;        /* columns of 4 bytes, or */
  uint16_t *code;      /* columns of 16 bits */
  const int32_t *base; /* and their column bases */
  bool in16;           /* the latter */
  uint64_t *barrier;   /* of the bulk copies */
  int bulk;            /* entries that bulk copies bring; threads bring the others */
};

/* Stage 1: starts the copies to shared memory. A tile that does not fit there is not wanted. */
template <int T, bool INDEX16, typename Args>
__device__ __forceinline__ TileView<Entry<Args>> FetchTile(const Args &a, const TileRange &r,
                                                           uint64_t *barrier, int32_t *base,
                                                           bool wanted = true)
{
  extern __shared__ __align__(128) unsigned char memory[];
  constexpr int U = INDEX16 ? UNIT16 : UNIT, SIZE = sizeof(Entry<Args>);
  int64_t start = r.start, stop = (r.end + U - 1) & ~(int64_t)(U - 1);
  if (stop > a.A.nz) stop = a.A.nz & ~(int64_t)(U - 1); /* a copy must not read past the arrays */
  bool aligned = ((uintptr_t)a.A.val | (uintptr_t)a.A.col) % 16 == 0; /* borrowed arrays may not be */
  const int32_t *bases = INDEX16 ? a.index16.base + r.block * POISE_BANDS : NULL;
  bool in16 = INDEX16 && (a.index16.all || *bases >= 0); /* this tile's columns */
  int bulk = aligned && stop > start && wanted ? (int)(stop - start) : 0;
  Entry<Args> *val = (Entry<Args> *)memory;
  int32_t *col = (int32_t *)(val + TileRoom(a.tile, U));
  uint16_t *code = (uint16_t *)col;
  if (threadIdx.x == 0 && bulk) {
    BulkInit(barrier);
    BulkExpect(barrier, (uint32_t)bulk * (SIZE + (in16 ? 2 : 4)));
    BulkCopy(val, a.A.val + start, (uint32_t)bulk * SIZE, barrier);
    if (in16)
      BulkCopy(code, a.index16.code + start, (uint32_t)bulk * 2, barrier);
    else
      BulkCopy(col, a.A.col + start, (uint32_t)bulk * 4, barrier);
  }
  for (int64_t k = start + bulk + threadIdx.x; k < r.end && wanted; k += T) {
    val[k - start] = a.A.val[k];
    if (in16)
      code[k - start] = a.index16.code[k];
    else
      col[k - start] = a.A.col[k];
  }
  if (INDEX16 && threadIdx.x < POISE_BANDS) base[threadIdx.x] = bases[threadIdx.x];
  return {val, col, code, base, in16, barrier, bulk};
}

/* All threads call it before they read the tile. */
template <typename Real> __device__ __forceinline__ void WaitForTile(const TileView<Real> &t)
{
  __syncthreads();
  if (t.bulk) BulkWait(t.barrier, 0);
}

/* A thread's share of row i: places k, k + L, ... below end. One of the L threads of a row stores it. */
struct RowShare {
  int64_t i, k, end;
  bool stores;
};

/* taken(i): is row i part of this tile? */
template <int L, bool NARROW = false, typename View, typename Taken>
__device__ __forceinline__ RowShare ShareOfRow(const View &A, const TileRange &r, Taken taken)
{
  RowShare row = {r.first + threadIdx.x / L, 0, 0, false};
  int lane = threadIdx.x % L;
  bool there = row.i < r.last && taken(row.i);
  if (there) {
    int64_t begin = Offset<NARROW>(A, row.i), end = Offset<NARROW>(A, row.i + 1);
    row.end = end - r.start, row.k = begin - r.start + lane;
  }
  row.stores = there && lane == 0;
  return row;
}

template <int L, bool NARROW = false, typename View>
__device__ __forceinline__ RowShare ShareOfRow(const View &A, const TileRange &r)
{
  return ShareOfRow<L, NARROW>(A, r, [](int64_t) { return true; });
}

/* The sum over the L threads of a row, valid in all of them. */
template <int L> __device__ __forceinline__ double SumOfLanes(double s)
{
  for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
  return s;
}

/* A thread's part of a row's sum. A tile with columns of 16 bits has no ghosts. */
template <int L, bool INDEX16, bool GHOSTS, typename Args>
__device__ __forceinline__ double PartOfTile(const Args &a, const TileView<Entry<Args>> &t,
                                             const RowShare &row)
{
  if (INDEX16 && t.in16)
    return PartOfRow<L, false, int>(a, t.val, Columns16{t.code, t.base}, (int)row.k, (int)row.end);
  return PartOfRow<L, GHOSTS, int>(a, t.val, t.col, (int)row.k, (int)row.end);
}

/* Stage 2: the sum of a row, valid in all its threads. */
template <int L, bool INDEX16, bool GHOSTS, typename Args>
__device__ __forceinline__ double SumRow(const Args &a, const TileView<Entry<Args>> &t, const RowShare &row)
{
  return SumOfLanes<L>(PartOfTile<L, INDEX16, GHOSTS>(a, t, row));
}

#endif

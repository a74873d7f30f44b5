/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of about one length through shared memory: what the kernels of csr and csri share. */
#ifndef POISE_TILE_H
#define POISE_TILE_H

#include "bulk.h"
#include "cuda.h"

enum { PLAIN_TILE, LEAN_TILE, EARLY_TILE, CUT_TILE };
enum { ROUND = TILE_UNROLL /* nonzeros a thread has under way */ };

/* Lets a kernel have so much dynamic shared memory, and up to `most`. What it may have unasked, 48 KB, counts its static memory too, which
   is less than 4 KB, or 8 KB where there are hubs, whose bytes are a power of 2 times 12. */
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

/* Columns of 16 bits of a tile with these windows. */
struct Columns16 {
  const uint16_t *code;
  const int32_t *window;
  __device__ __forceinline__ int32_t operator[](int k) const
  {
    return poiseIndex16Column(window, code[k]);
  }
};

template <bool LEAN> __device__ __forceinline__ int64_t Offset(const CsrView &A, int64_t i)
{
  return LEAN ? A.ptr32[i] : poiseCsrOffset(&A, i);
}

/* s and the terms at places k, k + L, ... of a row, ROUND of them under way. */
template <int L, bool GHOSTS, typename Place, typename Columns>
__device__ __forceinline__ double PartOfRow(const CsrMultArgs &a, const double *val, Columns col, Place k, Place end,
                                            double s = 0)
{
  for (; k < end; k += ROUND * L) {
    double x[ROUND];
#pragma unroll
    for (int r = 0; r < ROUND; r++) {
      int32_t c = k + r * L < end ? col[k + r * L] : -1;
      x[r] = c < 0 ? 0 : !GHOSTS || c < a.A.nloc ? a.x[c] : a.ghost[c - a.A.nloc];
    }
#pragma unroll
    for (int r = 0; r < ROUND; r++)
      if (k + r * L < end) s += val[k + r * L] * x[r];
  }
  return s;
}

/* The columns of the first round, and the same as PartOfRow from there, for when x has to be waited for between the two. */
template <int L, typename Columns>
__device__ __forceinline__ void FirstColumns(Columns col, int k, int end, int32_t (&c)[ROUND])
{
#pragma unroll
  for (int r = 0; r < ROUND; r++) c[r] = k + r * L < end ? col[k + r * L] : -1;
}

template <int L, typename Columns>
__device__ __forceinline__ double PartOfRowFrom(const CsrMultArgs &a, const double *val, Columns col, int k, int end,
                                                const int32_t (&c)[ROUND])
{
  double x[ROUND], s = 0;
#pragma unroll
  for (int r = 0; r < ROUND; r++) x[r] = c[r] < 0 ? 0 : c[r] < a.A.nloc ? a.x[c[r]] : a.ghost[c[r] - a.A.nloc];
#pragma unroll
  for (int r = 0; r < ROUND; r++)
    if (c[r] >= 0) s += val[k + r * L] * x[r];
  return PartOfRow<L, true, int>(a, val, col, k + ROUND * L, end, s);
}

/*
  The rows of a block fetched in bulk into shared memory, then L threads per row sum them: 12 bytes per nonzero, 4 per offset,
  x and y once. The copies need no registers and no threads, so a tile is under way for each resident block, and neighbouring
  threads own neighbouring rows, so a stencil's gather of x is coalesced.
  LEAN_TILE: y = A x, without ghosts, int32 offsets: what takes registers and instructions is left out, so more blocks are resident.
  CUT_TILE: rows of `limit` entries or more are left out; a tile that does not fit with them is read from where it is.
  EARLY_TILE, for systems so small that latency is all: the matrix does not change before this product, so it is fetched before the
  kernel ahead has ended; and nothing waits for what is not needed yet.
  INDEX16: 10 bytes per nonzero of tiles whose columns are there in 16 bits.
*/
template <int T, int L, int MODE, bool INDEX16 = false>
__device__ __forceinline__ void TileOfRows(const CsrMultArgs &a, int64_t number, int64_t limit)
{
  constexpr bool EARLY = MODE == EARLY_TILE, LEAN = MODE == LEAN_TILE, CUT = MODE == CUT_TILE;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint64_t barrier;
  __shared__ int32_t window[POISE_WINDOWS];
  constexpr int R = T / L, U = INDEX16 ? UNIT16 : UNIT;
  int64_t block = !LEAN && a.order ? a.order[number] : number, first = block * R,
          last = first + R < a.A.m ? first + R : a.A.m;
  int64_t start = Offset<LEAN>(a.A, first) & ~(int64_t)(U - 1), end = Offset<LEAN>(a.A, last),
          stop = (end + U - 1) & ~(int64_t)(U - 1);
  if (stop > a.A.nz) stop = a.A.nz & ~(int64_t)(U - 1);               /* a copy must not read behind the arrays */
  bool aligned = ((uintptr_t)a.A.val | (uintptr_t)a.A.col) % 16 == 0; /* a borrowed array may begin anywhere */
  const int32_t *windows = INDEX16 ? a.index16.window + block * POISE_WINDOWS : NULL;
  bool in16 = INDEX16 && (a.index16.all || *windows >= 0); /* this tile's columns */
  bool fits = !CUT || end - start <= TileRoom(a.tile);
  int bulk = aligned && stop > start && fits ? (int)(stop - start) : 0;
  double *val = (double *)memory;
  int32_t *col = (int32_t *)(val + TileRoom(a.tile, U));
  uint16_t *code = (uint16_t *)col; /* where they are in 16 bits */
  if (threadIdx.x == 0 && bulk) {
    BulkInit(&barrier);
    BulkExpect(&barrier, (uint32_t)bulk * (in16 ? 10 : 12));
    BulkCopy(val, a.A.val + start, (uint32_t)bulk * 8, &barrier);
    if (in16)
      BulkCopy(code, a.index16.code + start, (uint32_t)bulk * 2, &barrier);
    else
      BulkCopy(col, a.A.col + start, (uint32_t)bulk * 4, &barrier);
  }
  for (int64_t k = start + bulk + threadIdx.x; k < end && fits; k += T) {
    val[k - start] = a.A.val[k];
    if (in16)
      code[k - start] = a.index16.code[k];
    else
      col[k - start] = a.A.col[k];
  }
  if (INDEX16 && threadIdx.x < POISE_WINDOWS) window[threadIdx.x] = windows[threadIdx.x];
  int64_t i = first + threadIdx.x / L, k = 0, kend = 0; /* places in the tile */
  int lane = threadIdx.x % L;
  bool mine = i < last && !(CUT && poiseCsriLong(&a.A, i, limit));
  if (mine) k = Offset<LEAN>(a.A, i) - start + lane, kend = Offset<LEAN>(a.A, i + 1) - start;
  mine = mine && lane == 0;
  double s = 0, skip = 0, alpha = 0, beta = 0, known[2] = {0, 0}; /* known: factors of dots that do not wait for y */
  int32_t c[ROUND];
  Columns16 columns16 = {code, window};
  __syncthreads();
  if (bulk) BulkWait(&barrier, 0);
  if (EARLY) {
    if (in16)
      FirstColumns<L>(columns16, (int)k, (int)kend, c);
    else
      FirstColumns<L>(col, (int)k, (int)kend, c);
    Ready();
    if (a.skip) skip = *a.skip;
    alpha = poiseScalar(a.a), beta = poiseScalar(a.b);
    for (int f = 0; f < 2; f++)
      if (mine && f < a.fuse.ndot && (a.fuse.u[f] || a.fuse.d[f])) known[f] = a.fuse.u[f] ? a.fuse.u[f][i] : a.fuse.d[f][i];
  }
  if (EARLY && in16)
    s = PartOfRowFrom<L>(a, val, columns16, (int)k, (int)kend, c);
  else if (EARLY)
    s = PartOfRowFrom<L>(a, val, col, (int)k, (int)kend, c);
  else if (in16)
    s = PartOfRow<L, false, int>(a, val, columns16, (int)k, (int)kend);
  else if (fits)
    s = PartOfRow<L, !LEAN, int>(a, val, col, (int)k, (int)kend);
  else
    s = PartOfRow<L, true, int64_t>(a, a.A.val + start, a.A.col + start, k, kend);
  for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
  if (EARLY && skip != 0) return;
  if (!EARLY && !LEAN) alpha = poiseScalar(a.a), beta = poiseScalar(a.b);
  double y = 0;
  if (mine) {
    y = LEAN ? s : alpha * s + (beta == 0 ? 0 : beta * a.y[i]);
    a.y[i] = y;
  }
  if (EARLY && a.fuse.ndot == 2) {
    double d[2];
    for (int f = 0; f < 2; f++) d[f] = mine ? (a.fuse.u[f] ? known[f] : a.fuse.d[f] ? known[f] * y : y) * y : 0;
    BlockReducePair<COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) a.fuse.partial[0][block] = d[0], a.fuse.partial[1][block] = d[1];
    return;
  }
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {0};
    if (mine) d[0] = (EARLY && f == 0 && a.fuse.u[0] ? known[0] : Factor(a.fuse, f, i, y)) * y;
    BlockReduce<1, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][block] = d[0];
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of csri: a warp for each window of rows, or tiles where rows are even; a warp for each piece of a longer row. */
#include "tile.h"

enum {
  GROUPS = 8, /* of 32 entries that a warp has under way */
  SPAN = 32 * GROUPS,
  MOST = 2 * CSRI_CHUNK, /* entries of one that is not cut: fewer than `chunk` beyond the first `chunk` */
  NONE = 0xffff,
  RESIDENT_ROWS = 1536 /* threads of a multiprocessor that are to sum even rows */
};

static __global__ void CsriCut(const __grid_constant__ CsriCutArgs a)
{
  int64_t w = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (w <= a.nwindow) poiseCsriCut(&a, w);
}

static __global__ void CsriOwn(const __grid_constant__ CsriOwnArgs a)
{
  int64_t w = blockIdx.x * (int64_t)WARPS + threadIdx.x / 32;
  if (w >= a.nwindow) return;
  for (int64_t p = a.first[w] + threadIdx.x % 32; p < a.first[w + 1]; p += 32) a.owner[p] = (int32_t)w;
}

/* Of the matrix, which passes by once: it is not to push x out of the first cache. */
__device__ __forceinline__ double Passing(const double *p)
{
  double v;
  asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}

__device__ __forceinline__ int32_t Passing(const int32_t *p)
{
  int32_t v;
  asm("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

/* Entries k, k + 32, ... below end, and what they are multiplied with. */
template <typename Place>
__device__ __forceinline__ void Fetch(const CsrMultArgs &m, Place k, Place end, double (&v)[GROUPS], int32_t (&c)[GROUPS])
{
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    v[g] = k + 32 * g < end ? Passing(m.A.val + k + 32 * g) : 0;
    c[g] = k + 32 * g < end ? Passing(m.A.col + k + 32 * g) : -1;
  }
}

__device__ __forceinline__ void Gather(const CsrMultArgs &m, const int32_t (&c)[GROUPS], double (&x)[GROUPS])
{
#pragma unroll
  for (int g = 0; g < GROUPS; g++) x[g] = c[g] < 0 ? 0 : c[g] < m.A.nloc ? m.x[c[g]] : m.ghost[c[g] - m.A.nloc];
}

/* Row i is finished: y, and what it adds to the dots. */
__device__ __forceinline__ void Finish(const CsrMultArgs &m, double alpha, double beta, int64_t i, double sum,
                                       double (&dot)[POISE_MAX_DOTS])
{
  double y = alpha * sum + (beta == 0 ? 0 : beta * m.y[i]);
  m.y[i] = y;
#pragma unroll
  for (int f = 0; f < POISE_MAX_DOTS; f++)
    if (f < m.fuse.ndot) dot[f] += Factor(m.fuse, f, i, y) * y;
}

/* The rows [begin, end) of window w by one warp. Its entries stream by, 32 at a time; mark says which row ends at each. The sums of the
   rows among 32 are a segmented scan, one that goes on is carried to the next 32. */
__device__ __forceinline__ void Window(const CsriMultArgs &a, double alpha, double beta, int64_t w, uint16_t *mark)
{
  const CsrMultArgs &m = a.m;
  int lane = threadIdx.x % 32;
  int64_t begin = a.window[w], end = poiseCsriEnd(&a, w), first = poiseCsrOffset(&m.A, begin);
  int n = (int)(poiseCsrOffset(&m.A, end) - first);
  double dot[POISE_MAX_DOTS] = {0}, carry = 0;
  for (int k = lane; k < n; k += 32) mark[k] = NONE;
  __syncwarp();
  for (int64_t i = begin + lane; i < end; i += 32) {
    int64_t last = poiseCsrOffset(&m.A, i + 1);
    if (last > poiseCsrOffset(&m.A, i))
      mark[last - 1 - first] = (uint16_t)(i - begin);
    else
      Finish(m, alpha, beta, i, 0, dot);
  }
  __syncwarp();
  for (int at = 0; at < n; at += SPAN) {
    double v[GROUPS], x[GROUPS];
    int32_t c[GROUPS];
    Fetch(m, first + at + lane, first + n, v, c);
    Gather(m, c, x);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      int k = at + 32 * g + lane;
      unsigned row = k < n ? mark[k] : NONE, ends = __ballot_sync(0xffffffff, row != NONE);
      unsigned below = ends & ((1u << lane) - 1); /* rows that end at lower lanes */
      int start = below ? 32 - __clz(below) : 0;  /* lane where the row of this one begins */
      double s = v[g] * x[g];
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        double t = __shfl_up_sync(0xffffffff, s, step);
        if (lane - step >= start) s += t;
      }
      if (start == 0) s += carry;
      if (row != NONE) Finish(m, alpha, beta, begin + row, s, dot);
      carry = __shfl_sync(0xffffffff, s, 31);
      if (ends >> 31) carry = 0;
    }
  }
  for (int f = 0; f < m.fuse.ndot; f++) {
    double s = 0;
#pragma unroll
    for (int e = 0; e < POISE_MAX_DOTS; e++)
      if (e == f) s = dot[e];
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) m.fuse.partial[f][w] = s;
  }
}

/* Piece p by one warp. The last one of a row to arrive adds all of them in their order, so that nothing depends on who that is. */
__device__ __forceinline__ void Piece(const CsriMultArgs &a, int64_t p)
{
  const CsrMultArgs &m = a.m;
  int lane = threadIdx.x % 32, arrived = 0;
  int64_t w = a.owner[p], row = a.window[w + 1] - 1, from = a.first[w], count = a.first[w + 1] - from;
  int64_t k = poiseCsrOffset(&m.A, row) + (p - from) * a.piece, end = poiseCsrOffset(&m.A, row + 1);
  if (k + a.piece < end) end = k + a.piece;
  double s = 0, dot[POISE_MAX_DOTS] = {0};
  for (k += lane; k < end; k += SPAN) {
    double v[GROUPS], x[GROUPS];
    int32_t c[GROUPS];
    Fetch(m, k, end, v, c);
    Gather(m, c, x);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) s += v[g] * x[g];
  }
  s = WarpReduce<COMBINE_SUM>(s);
  if (count > 1) {
    if (lane == 0) {
      a.sum[p] = s;
      __threadfence();
      arrived = atomicAdd(&a.arrived[w], 1);
    }
    for (int f = 0; f < m.fuse.ndot && lane == 0 && p + 1 < from + count; f++) m.fuse.partial[f][a.parts + p] = 0;
    if (__shfl_sync(0xffffffff, arrived, 0) + 1 < count) return;
    __syncwarp();
    __threadfence();
    s = 0;
    for (int64_t q = lane; q < count; q += 32) s += __ldcg(a.sum + from + q);
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) a.arrived[w] = 0;
  }
  if (lane != 0) return;
  Finish(m, poiseScalar(m.a), poiseScalar(m.b), row, s, dot);
#pragma unroll
  for (int f = 0; f < POISE_MAX_DOTS; f++)
    if (f < m.fuse.ndot) m.fuse.partial[f][a.parts + from + count - 1] = dot[f];
}

/* Blocks of so many warps for the pieces. */
__host__ __device__ __forceinline__ int64_t PieceBlocks(const CsriMultArgs &a, int warps)
{
  return (a.npiece + warps - 1) / warps;
}

/* Pieces first, as they take longest: 12 bytes per nonzero, 4 per offset, x and y once; 12 per window. */
static __global__ void __launch_bounds__(THREADS, 4) CsriMult(const __grid_constant__ CsriMultArgs a)
{
  __shared__ uint16_t mark[WARPS][MOST];
  LetFollow();
  Ready();
  if (a.m.skip && *a.m.skip != 0) return;
  int warp = threadIdx.x / 32;
  int64_t pieces = PieceBlocks(a, WARPS), at = (blockIdx.x - pieces) * WARPS + warp;
  if (at < 0) {
    if (blockIdx.x * WARPS + warp < a.npiece) Piece(a, blockIdx.x * WARPS + warp);
  } else if (at < a.m.nblock)
    Window(a, poiseScalar(a.m.a), poiseScalar(a.m.b), a.m.order ? a.m.order[at] : at, mark[warp]);
}

template <int T, int L>
static __global__ void __launch_bounds__(T, RESIDENT_ROWS / T) CsriTile(const __grid_constant__ CsriMultArgs a)
{
  LetFollow();
  Ready();
  if (a.m.skip && *a.m.skip != 0) return;
  int64_t pieces = PieceBlocks(a, T / 32), piece = blockIdx.x * (int64_t)(T / 32) + threadIdx.x / 32;
  if (blockIdx.x >= pieces)
    TileOfRows<T, L, CUT_TILE>(a.m, blockIdx.x - pieces, a.chunk);
  else if (piece < a.npiece)
    Piece(a, piece);
}

template <int T, int L> static PoiseErr Tiles(Device *dev, const CsriMultArgs *a)
{
  size_t bytes = (size_t)TileRoom(a->m.tile) * 12;
  if (bytes > 48 * 1024)
    TRY(poiseCudaCheck(cudaFuncSetAttribute(CsriTile<T, L>, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST_TILE),
                       "shared memory of csri_mult"));
  return Follow(dev, CsriTile<T, L>, (unsigned)(PieceBlocks(*a, T / 32) + a->m.nblock), T, bytes, *a);
}

template <int L> static PoiseErr Tile(Device *dev, const CsriMultArgs *a)
{
  return a->m.rows * L < THREADS ? Tiles<THREADS / 2, L>(dev, a) : Tiles<THREADS, L>(dev, a);
}

extern "C" PoiseErr poiseCuda_csri_cut(Device *dev, const void *args)
{
  const CsriCutArgs *a = (const CsriCutArgs *)args;
  CsriCut<<<Grid(a->nwindow + 1), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csri_own(Device *dev, const void *args)
{
  const CsriOwnArgs *a = (const CsriOwnArgs *)args;
  unsigned grid = (unsigned)((a->nwindow + WARPS - 1) / WARPS);
  if (grid) CsriOwn<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csri_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsriMultArgs *);
  static const Run tiles[] = {Tile<1>, Tile<2>, Tile<4>, Tile<8>, Tile<16>, Tile<32>};
  const CsriMultArgs *a = (const CsriMultArgs *)args;
  int64_t grid = PieceBlocks(*a, WARPS) + (a->m.nblock + WARPS - 1) / WARPS;
  if (a->chunk > CSRI_CHUNK)
    FAIL(POISE_ERR_UNSUPPORTED, "-mat_csri_chunk %lld: on a GPU at most %d", (long long)a->chunk, CSRI_CHUNK);
  if (!grid) return POISE_OK;
  if (a->m.rows < POISE_BLOCK) return tiles[Lanes(a->m.A.m, a->uncut)](dev, a);
  return Follow(dev, CsriMult, (unsigned)grid, THREADS, 0, *a);
}

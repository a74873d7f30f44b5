/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of plain CSR. */
#include "pieces.h"
#include "tile.h"

/* L neighbouring lanes per row, POISE_BLOCK rows and threads per block; 12 bytes per nonzero, 4 per offset, x and y once. */
template <int L, bool INDEX16>
static __global__ void __launch_bounds__(POISE_BLOCK) CsrMult(const __grid_constant__ CsrMultArgs a)
{
  __shared__ double sum[POISE_BLOCK];
  __shared__ int32_t window[POISE_WINDOWS];
  LetFollow();
  Ready();
  if (a.skip && *a.skip != 0) return;
  int64_t block = a.order ? a.order[blockIdx.x] : blockIdx.x, first = block * POISE_BLOCK;
  int lane = threadIdx.x % L;
  const int32_t *windows = INDEX16 ? a.index16.window + block * POISE_WINDOWS : NULL;
  bool in16 = INDEX16 && *windows >= 0; /* this block's columns */
  if (INDEX16) {
    if (threadIdx.x < POISE_WINDOWS) window[threadIdx.x] = windows[threadIdx.x];
    __syncthreads();
  }
  for (int r = threadIdx.x / L; r < POISE_BLOCK; r += POISE_BLOCK / L) {
    int64_t i = first + r, k = 0, end = 0;
    double s = 0;
    if (i < a.A.m) k = poiseCsrOffset(&a.A, i) + lane, end = poiseCsrOffset(&a.A, i + 1);
#pragma unroll 4
    for (; k < end; k += L) {
      int32_t c = in16 ? poiseIndex16Column(window, a.index16.code[k]) : a.A.col[k];
      s += a.A.val[k] * (c < a.A.nloc ? a.x[c] : a.ghost[c - a.A.nloc]);
    }
    for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
    if (lane == 0) sum[r] = s;
  }
  __syncthreads();
  int64_t i = first + threadIdx.x;
  double y = 0, beta = poiseScalar(a.b);
  if (i < a.A.m) {
    y = poiseScalar(a.a) * sum[threadIdx.x] + (beta == 0 ? 0 : beta * a.y[i]);
    a.y[i] = y;
  }
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {i < a.A.m ? Factor(a.fuse, f, i, y) * y : 0};
    BlockReduce<1, COMBINE_SUM, POISE_BLOCK>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][block] = d[0];
  }
}

/* What a lane has of entries k, k + step, ... of a column. */
template <typename Index>
__device__ __forceinline__ double OfColumn(const CsrMultArgs &m, const Index *perm, int64_t k, int64_t end, int step)
{
  double s = 0;
#pragma unroll 4
  for (; k < end; k += step) {
    double v = m.A.val[perm[k]];
    s += m.x ? v * m.x[m.A.col[k]] : fabs(v);
  }
  return s;
}

/* Piece p of a column by one warp; the last one to arrive adds all of them in their order. */
template <typename Index>
__device__ __forceinline__ void PieceOfColumn(const CsrMultTransposeArgs &a, const Index *perm, int64_t p)
{
  if (p >= a.c.npiece) return;
  int lane = threadIdx.x % 32;
  CsriPiece z = Load(a.c.part + p);
  CutRow cut = RowOfPiece(a.c, z);
  double s = WarpReduce<COMBINE_SUM>(OfColumn(a.c.m, perm, z.first + lane, z.first + z.nz, 32));
  if (lane == 0) a.c.sum[p] = s;
  if (!ArrivesLast(a.c, z, cut)) return;
  s = SumOfPieces(a.c, cut, 1, 0);
  if (lane == 0) *poiseOfColumn(&a, cut.row) = s;
}

/* L neighbouring lanes per column: reads 4 bytes per nonzero for its place and its row each (the place 8 where it is int64), gathers
   its value and x, and writes y once. CUT: but columns that are cut, whose pieces come first, as they take longest, a warp for each. */
template <int L, bool CUT, typename Index>
static __global__ void __launch_bounds__(THREADS)
    CsrMultTranspose(const __grid_constant__ CsrMultTransposeArgs a, const Index *tptr, const Index *perm)
{
  const CsrMultArgs &m = a.c.m;
  int64_t block = blockIdx.x, pieces = CUT ? (a.c.npiece + WARPS - 1) / WARPS : 0;
  if (CUT && block < pieces) {
    PieceOfColumn(a, perm, block * WARPS + threadIdx.x / 32);
    return;
  }
  int64_t j = (block - pieces) * (THREADS / L) + threadIdx.x / L, k = 0, end = 0;
  int lane = threadIdx.x % L;
  if (j < m.A.m) k = tptr[j] + lane, end = tptr[j + 1];
  if (CUT && end - k + lane >= a.c.limit) j = m.A.m, end = 0;
  double s = OfColumn(m, perm, k, end, L);
  for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
  if (j < m.A.m && lane == 0) *poiseOfColumn(&a, j) = s;
}

/* d has been set to zero. */
static __global__ void __launch_bounds__(THREADS) CsrDiagonal(const __grid_constant__ CsrDiagonalArgs a)
{
  int64_t mine = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  EachRow(a.A, mine < poiseInNumbers(&a.A, a.A.m) ? mine : -1, [&](int64_t i, int64_t k, int step) {
    int64_t first = i - i % a.b;
    NumberRow row = poiseNumberRow(&a.A, i);
    for (; k < row.n; k += step) {
      int64_t j = poiseNumberColumn(&a.A, &row, k) - first;
      if (j >= 0 && j < a.b) a.d[first * a.b + j * a.b + i % a.b] = a.A.val[poiseNumberPlace(&row, k)];
    }
  });
}

static_assert((int)TILE_THREADS == (int)THREADS, "rows of a tile are as many as there are threads for");

template <int T, int L, int MODE, bool INDEX16>
static __global__ void __launch_bounds__(T) CsrTile(const __grid_constant__ CsrMultArgs a)
{
  LetFollow();
  if (MODE != EARLY_TILE) Ready();
  if (MODE != EARLY_TILE && a.skip && *a.skip != 0) return;
  TileOfRows<T, L, MODE, INDEX16>(a, blockIdx.x, 0);
}

template <int L> static PoiseErr Rows(Device *dev, const CsrMultArgs *a)
{
  return Follow(dev, a->index16.code ? CsrMult<L, true> : CsrMult<L, false>, (unsigned)a->nblock, POISE_BLOCK, 0, *a);
}

template <int T, int L, int MODE> static PoiseErr Tiles(Device *dev, const CsrMultArgs *a)
{
  bool in16 = a->index16.code != NULL;
  void (*kernel)(CsrMultArgs) = in16 ? CsrTile<T, L, MODE, true> : CsrTile<T, L, MODE, false>;
  size_t bytes = (size_t)TileRoom(a->tile, in16 ? UNIT16 : UNIT) * (in16 && a->index16.all ? 10 : 12);
  TRY(LetShare((const void *)kernel, bytes, poiseTileMost(&dev->model)));
  int carve = poiseTileCarveout(&dev->model, a->spread, (int64_t)bytes, T);
  return FollowCarving(dev, carve, kernel, (unsigned)a->nblock, T, bytes, *a);
}

/* More blocks than are resident hide latency, and skipped ones would fetch in vain. */
template <int L> static PoiseErr Tile(Device *dev, const CsrMultArgs *a)
{
  bool plain = !a->ghost && !a->order && a->A.ptr32 && !a->a.slot && a->a.value == 1 && !a->b.slot && a->b.value == 0;
  bool lean =
      plain && (L <= TILE_LEAN_LANES ||
                a->index16.code); /* longer rows want the first cache more, unless they take less of it */
  bool half = a->rows * L < THREADS,
       early = poiseCudaInLoop(dev) && a->nblock <= poiseBlocksAtOnce(&dev->model);
  if (half && early) return Tiles<THREADS / 2, L, EARLY_TILE>(dev, a);
  if (half && lean) return Tiles<THREADS / 2, L, LEAN_TILE>(dev, a);
  if (half) return Tiles<THREADS / 2, L, PLAIN_TILE>(dev, a);
  return early ? Tiles<THREADS, L, EARLY_TILE>(dev, a) : Tiles<THREADS, L, PLAIN_TILE>(dev, a);
}

template <int L, bool CUT> static PoiseErr Columns(Device *dev, const CsrMultTransposeArgs *a)
{
  const CsrView *A = &a->c.m.A;
  unsigned grid = (unsigned)((A->m + THREADS / L - 1) / (THREADS / L) + (a->c.npiece + WARPS - 1) / WARPS);
  if (A->ptr32)
    CsrMultTranspose<L, CUT><<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a, A->ptr32, a->perm32);
  else
    CsrMultTranspose<L, CUT><<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a, A->ptr64, a->perm64);
  return POISE_OK;
}

template <int L> static PoiseErr EvenOrCut(Device *dev, const CsrMultTransposeArgs *a)
{
  return a->c.npiece ? Columns<L, true>(dev, a) : Columns<L, false>(dev, a);
}

extern "C" PoiseErr poiseCuda_csr_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultArgs *);
  static const Run tiles[] = {Tile<1>, Tile<2>, Tile<4>, Tile<8>, Tile<16>, Tile<32>};
  static const Run rows[] = {Rows<1>, Rows<2>, Rows<4>, Rows<8>, Rows<16>, Rows<32>};
  const CsrMultArgs *a = (const CsrMultArgs *)args;
  if (!a->nblock) return POISE_OK;
  if (a->rows < POISE_BLOCK) return tiles[poiseTileLanes(a->A.m, a->A.nz)](dev, a);
  return rows[poiseRowLanes(a->A.m, a->A.nz)](dev, a);
}

extern "C" PoiseErr poiseCuda_csr_mult_transpose(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultTransposeArgs *);
  static const Run columns[] = {EvenOrCut<1>, EvenOrCut<2>, EvenOrCut<4>, EvenOrCut<8>, EvenOrCut<16>, EvenOrCut<32>};
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  const CsrView *A = &a->c.m.A;
  return A->m ? columns[poiseRowLanes(A->m, A->nz)](dev, a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_diagonal(Device *dev, const void *args)
{
  const CsrDiagonalArgs *a = (const CsrDiagonalArgs *)args;
  int64_t m = poiseInNumbers(&a->A, a->A.m);
  unsigned grid = Grid(m);
  if (!grid) return POISE_OK;
  cudaMemsetAsync(a->d, 0, (size_t)m * (size_t)a->b * sizeof(double), poiseCudaStream(dev));
  CsrDiagonal<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

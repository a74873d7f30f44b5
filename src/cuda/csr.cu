/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of plain CSR: SpMV, the transposed product, the diagonal. */
#include "mat/product/csr_statistics_kernels.h"
#include "mat/product/transposed_kernels.h"
#include "fragments.h"
#include "rows.h"
#include "tile.h"
#include "tile_early.h"

/* SpMV with L neighbouring lanes per row; a block has POISE_BLOCK rows and threads. Traffic: 12 bytes per
   nonzero, 4 per offset, x and y once. */
template <int L, bool INDEX16, typename Args>
static __global__ void __launch_bounds__(POISE_BLOCK) CsrMult(const __grid_constant__ Args a)
{
  __shared__ double sum[POISE_BLOCK];
  __shared__ int32_t base[POISE_BANDS];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t block = poiseBlockOf(&a, blockIdx.x), first = block * POISE_BLOCK;
  int lane = threadIdx.x % L;
  const int32_t *bases = INDEX16 ? a.index16.base + block * POISE_BANDS : NULL;
  bool in16 = INDEX16 && *bases >= 0; /* this block's columns */
  if (INDEX16) {
    if (threadIdx.x < POISE_BANDS) base[threadIdx.x] = bases[threadIdx.x];
    __syncthreads();
  }
  for (int r = threadIdx.x / L; r < POISE_BLOCK; r += POISE_BLOCK / L) {
    int64_t i = first + r, k = 0, end = 0;
    double s = 0;
    if (i < a.A.m) k = poiseCsrOffset(&a.A, i) + lane, end = poiseCsrOffset(&a.A, i + 1);
#pragma unroll 4
    for (; k < end; k += L) {
      int32_t c = in16 ? poiseIndex16Column(base, a.index16.code[k]) : a.A.col[k];
      s += (double)a.A.val[k] * (c < a.A.nloc ? a.x[c] : a.ghost[c - a.A.nloc]);
    }
    for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
    if (lane == 0) sum[r] = s;
  }
  __syncthreads();
  int64_t i = first + threadIdx.x;
  double y = 0, beta = poiseScalar(a.b);
  if (i < a.A.m) y = StoreRow(a, poiseScalar(a.a), beta, i, sum[threadIdx.x], RowBefore(a, true, beta, i));
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {i < a.A.m ? Factor<Entry<Args>>(a.fuse, f, i, y) * y : 0};
    BlockReduce<1, COMBINE_SUM, POISE_BLOCK>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][block] = d[0];
  }
}

/* The lanes that share a column of A. With wide vectors `width` neighbouring lanes have a column of x each,
   and the entries are shared by lanes / width such groups. */
struct ColumnLanes {
  int lanes, width;
};

template <int L, bool WIDE> __device__ __forceinline__ ColumnLanes Lanes(ColumnLanes wide)
{
  if (WIDE) return wide;
  return {L, 1};
}

/* The terms of entries k, k + step, ... of a column, summed by one lane; with wide vectors for x's column
   `wide`. */
template <bool WIDE, typename Index>
__device__ __forceinline__ double OfColumn(const CsrMultTransposeArgs &a, const Index *perm, int64_t k,
                                           int64_t end, int step, int wide)
{
  const CsrMultArgs &m = a.c.m;
  double s = 0;
#pragma unroll 4
  for (; k < end; k += step) {
    double v = m.A.val[perm[k]];
    if (WIDE)
      s += v * m.x[m.A.col[k] * a.wide + wide];
    else
      s += m.x ? v * m.x[m.A.col[k]] : fabs(v);
  }
  return s;
}

/* The sum over lanes that are a multiple of `width` apart, of `lanes` neighbouring ones. */
__device__ __forceinline__ double SumLanes(ColumnLanes l, double s)
{
  for (int step = l.lanes / 2; step >= l.width; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
  return s;
}

/* One warp sums fragment p of a split column. The warp that arrives last adds all fragments of the column, in
   their order. */
template <bool WIDE, typename Index>
__device__ __forceinline__ void FragmentOfColumn(const CsrMultTransposeArgs &a, const Index *perm,
                                                 ColumnLanes wide, int64_t p)
{
  if (p >= a.c.nfragment) return;
  int lane = threadIdx.x % 32, columns = WIDE ? (int)a.wide : 1, width = WIDE ? wide.width : 1;
  int c = WIDE ? lane % width : 0, of = c < columns ? c : 0;
  RowFragment z = Load(a.c.part + p);
  CutRow cut = RowOfFragment(a.c, z);
  double s = OfColumn<WIDE>(a, perm, z.first + lane / width, z.first + z.nz, 32 / width, of);
  s = WIDE ? SumLanes({32, width}, s) : WarpReduce<COMBINE_SUM>(s);
  if (lane < columns) a.c.sum[p * columns + lane] = s;
  if (WIDE) __syncwarp();
  if (!ArrivesLast(a.c, z, cut)) return;
  for (c = 0; c < columns; c++) {
    s = SumOfFragments(a.c, cut, columns, c);
    if (lane == 0) (WIDE ? poiseOfWideColumn(&a, cut.row) : poiseOfColumn(&a, cut.row))[c] = s;
  }
}

/* y = A^T x with L neighbouring lanes per column, or as `wide` says. Traffic: a place (4 bytes, or 8 where
   places are int64) and a row (4 bytes) per nonzero, y once. The value and x are gathered. CUT: some columns
   are split. Their fragments come first, since they take longest, with a warp each. */
template <int L, bool CUT, bool WIDE, typename Index>
static __global__ void __launch_bounds__(THREADS)
    CsrMultTranspose(const __grid_constant__ CsrMultTransposeArgs a, const Index *tptr, const Index *perm,
                     ColumnLanes wide)
{
  const CsrMultArgs &m = a.c.m;
  const ColumnLanes of = Lanes<L, WIDE>(wide);
  int64_t block = blockIdx.x, fragments = CUT ? (a.c.nfragment + WARPS - 1) / WARPS : 0;
  if (CUT && block < fragments) {
    FragmentOfColumn<WIDE>(a, perm, wide, block * WARPS + threadIdx.x / 32);
    return;
  }
  int64_t j = (block - fragments) * (THREADS / of.lanes) + threadIdx.x / of.lanes, k = 0, end = 0;
  int lane = threadIdx.x % of.lanes, c = lane % of.width, first = lane / of.width;
  if (j < m.A.m) k = tptr[j] + first, end = tptr[j + 1];
  if (CUT && end - k + first >= a.c.limit) j = m.A.m, end = 0;
  double s = OfColumn<WIDE>(a, perm, k, end, of.lanes / of.width, WIDE && c < a.wide ? c : 0);
  s = SumLanes(of, s);
  if (j >= m.A.m || first) return;
  if (!WIDE)
    *poiseOfColumn(&a, j) = s;
  else if (c < a.wide)
    poiseOfWideColumn(&a, j)[c] = s;
}

/* d is zero before the launch. */
static __global__ void __launch_bounds__(THREADS) CsrDiagonal(const __grid_constant__ CsrDiagonalArgs a)
{
  int64_t mine = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  EachRow(a.A, mine < poiseInScalars(&a.A, a.A.m) ? mine : -1, [&](int64_t i, int64_t k, int step) {
    int64_t first = i - i % a.b;
    ScalarRow row = poiseNumberRow(&a.A, i);
    for (; k < row.n; k += step) {
      int64_t j = poiseNumberColumn(&a.A, &row, k) - first;
      if (j >= 0 && j < a.b) a.d[first * a.b + j * a.b + i % a.b] = a.A.val[poiseNumberPlace(&row, k)];
    }
  });
}

/* ---- tiles: row blocks through shared memory (tile.h) ---------------------------------------- */

static_assert((int)TILE_THREADS == (int)THREADS, "rows of a tile are as many as there are threads for");

/* y = D (a A x + b y). */
template <int T, int L, bool INDEX16, typename Args>
static __global__ void __launch_bounds__(T) CsrTile(const __grid_constant__ Args a)
{
  __shared__ uint64_t barrier;
  __shared__ int32_t base[POISE_BANDS];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  TileRange r = RangeOfTile<T / L, INDEX16>(a.A, poiseBlockOf(&a, blockIdx.x));
  auto tile = FetchTile<T, INDEX16>(a, r, &barrier, base);
  RowShare row = ShareOfRow<L>(a.A, r);
  WaitForTile(tile);
  double s = SumRow<L, INDEX16, true>(a, tile, row), y = FinishRow(a, row.stores, row.i, s);
  FuseRow<T>(a, row.stores, row.i, y, r.block);
}

/* y = D A x without ghosts, with int32 offsets and consecutive row blocks. It takes fewer registers and
   instructions, so more blocks are resident. */
template <int T, int L, bool INDEX16, typename Args>
static __global__ void __launch_bounds__(T) CsrTileLean(const __grid_constant__ Args a)
{
  __shared__ uint64_t barrier;
  __shared__ int32_t base[POISE_BANDS];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  TileRange r = RangeOfTile<T / L, INDEX16, true>(a.A, a.first + blockIdx.x);
  auto tile = FetchTile<T, INDEX16>(a, r, &barrier, base);
  RowShare row = ShareOfRow<L, true>(a.A, r);
  WaitForTile(tile);
  double s = SumRow<L, INDEX16, false>(a, tile, row), y = 0;
  if (row.stores) {
    y = ScaleRow(a, row.i, s);
    a.y[row.i] = (Entry<Args>)y;
  }
  FuseRow<T>(a, row.stores, row.i, y, r.block);
}

/* y = a A x + b y + add of a range of rows, without ghosts. early: the tile is fetched before the kernel
   ahead has ended, as in CsrTileEarly. What x is not needed for is read while the tile comes. */
template <int T, int L, bool INDEX16, typename Args>
static __global__ void __launch_bounds__(T) CsrTileRange(const __grid_constant__ Args a, bool early)
{
  __shared__ uint64_t barrier;
  __shared__ int32_t base[POISE_BANDS];
  PdlLaunchDependents();
  if (!early) PdlWait();
  TileRange r = RangeOfTile<T / L, INDEX16>(a.A, a.first + blockIdx.x);
  auto tile = FetchTile<T, INDEX16>(a, r, &barrier, base);
  RowShare row = ShareOfRow<L>(a.A, r);
  if (early) PdlWait();
  double skip = a.skip ? *a.skip : 0, alpha = poiseScalar(a.a), beta = poiseScalar(a.b), y = 0;
  RowBefore before(a, row.stores, beta, row.i);
  WaitForTile(tile);
  if (skip != 0) return;
  double s = SumRow<L, INDEX16, false>(a, tile, row);
  if (row.stores) y = StoreRow(a, alpha, beta, row.i, s, before);
  FuseRow<T>(a, row.stores, row.i, y, r.block);
}

/* ---- the launches ---------------------------------------------------------------------------- */

template <int L, typename Args> static PoiseErr Rows(Device *dev, const Args *a)
{
  return LaunchPdl(dev, a->index16.code ? CsrMult<L, true, Args> : CsrMult<L, false, Args>,
                   (unsigned)a->nblock, POISE_BLOCK, 0, *a);
}

/* T: threads of a block. Of the two kernels one is for columns of 4 bytes, one for columns of 16 bits. */
template <typename Args, typename... More>
static PoiseErr Tiles(Device *dev, const Args *a, int T, void (*plain)(Args, More...),
                      void (*index16)(Args, More...), More... more)
{
  bool in16 = a->index16.code != NULL;
  void (*kernel)(Args, More...) = in16 ? index16 : plain;
  size_t bytes = (size_t)TileRoom(a->tile, in16 ? UNIT16 : UNIT) *
                 (sizeof(Entry<Args>) + (in16 && a->index16.all ? 2 : 4));
  TRY(LetShare((const void *)kernel, bytes, poiseTileMost(&dev->model)));
  int carve = poiseTileCarveout(&dev->model, a->x_lines, (int64_t)bytes, T);
  return LaunchPdl(dev, kernel, (unsigned)a->nblock, (unsigned)T, {bytes, carve}, *a, more...);
}

/* CsrTileEarly is for one wave: with more blocks others hide the latency, and what a skipped product
   fetches is wasted. CsrTileLean is for short rows, or columns of 16 bits: longer rows need L1 more than
   occupancy. */
template <int L, typename Args> static PoiseErr Tile(Device *dev, const Args *a)
{
  enum { T = THREADS, HALF = THREADS / 2 };
  bool simple =
      !a->ghost && !a->order && a->A.ptr32 && !a->a.slot && a->a.value == 1 && !a->b.slot && a->b.value == 0;
  bool lean = simple && (L <= TILE_LEAN_LANES || a->index16.code);
  bool half = a->rows * L < THREADS, loop = poiseCudaInLoop(dev),
       early = loop && a->nblock <= poiseBlocksAtOnce(&dev->model),
       range = a->ranges && !a->ghost && !a->order;
  if (half && range)
    return Tiles(dev, a, HALF, CsrTileRange<HALF, L, false, Args>, CsrTileRange<HALF, L, true, Args>, loop);
  if (range) return Tiles(dev, a, T, CsrTileRange<T, L, false, Args>, CsrTileRange<T, L, true, Args>, loop);
  if (half && early)
    return Tiles(dev, a, HALF, CsrTileEarly<HALF, L, false, Args>, CsrTileEarly<HALF, L, true, Args>);
  if (half && lean)
    return Tiles(dev, a, HALF, CsrTileLean<HALF, L, false, Args>, CsrTileLean<HALF, L, true, Args>);
  if (half) return Tiles(dev, a, HALF, CsrTile<HALF, L, false, Args>, CsrTile<HALF, L, true, Args>);
  if (early) return Tiles(dev, a, T, CsrTileEarly<T, L, false, Args>, CsrTileEarly<T, L, true, Args>);
  return Tiles(dev, a, T, CsrTile<T, L, false, Args>, CsrTile<T, L, true, Args>);
}

/* y = D (a A x + b y) in either precision. */
template <typename Args> static PoiseErr Multiply(Device *dev, const Args *a)
{
  typedef PoiseErr (*Run)(Device *, const Args *);
  static const Run tiles[] = {Tile<1, Args>, Tile<2, Args>,  Tile<4, Args>,
                              Tile<8, Args>, Tile<16, Args>, Tile<32, Args>};
  static const Run rows[] = {Rows<1, Args>, Rows<2, Args>,  Rows<4, Args>,
                             Rows<8, Args>, Rows<16, Args>, Rows<32, Args>};
  if (!a->nblock) return POISE_OK;
  if (a->rows < POISE_BLOCK) return tiles[a->lanes](dev, a);
  return rows[poiseRowLanes(a->A.m, a->A.nz)](dev, a);
}

template <int L, bool CUT, bool WIDE>
static PoiseErr Columns(Device *dev, const CsrMultTransposeArgs *a, ColumnLanes of)
{
  const CsrView *A = &a->c.m.A;
  int64_t each = THREADS / of.lanes, fragments = (a->c.nfragment + WARPS - 1) / WARPS;
  unsigned grid = (unsigned)((A->m + each - 1) / each + fragments);
  cudaStream_t stream = poiseCudaStream(dev);
  if (A->ptr32)
    CsrMultTranspose<L, CUT, WIDE><<<grid, THREADS, 0, stream>>>(*a, A->ptr32, a->perm32, of);
  else
    CsrMultTranspose<L, CUT, WIDE><<<grid, THREADS, 0, stream>>>(*a, A->ptr64, a->perm64, of);
  return POISE_OK;
}

template <int L> static PoiseErr EvenOrCut(Device *dev, const CsrMultTransposeArgs *a)
{
  ColumnLanes of = {L, 1};
  return a->c.nfragment ? Columns<L, true, false>(dev, a, of) : Columns<L, false, false>(dev, a, of);
}

/* As many lanes for the entries of a column as for one vector, as far as a warp has them beside those of x's
   columns. */
static PoiseErr WideColumns(Device *dev, const CsrMultTransposeArgs *a)
{
  ColumnLanes of = {0, 1};
  while (of.width < a->wide) of.width *= 2;
  of.lanes = of.width << poiseRowLanes(a->c.m.A.m, a->c.m.A.nz);
  if (of.lanes > 32) of.lanes = 32;
  return a->c.nfragment ? Columns<1, true, true>(dev, a, of) : Columns<1, false, true>(dev, a, of);
}

extern "C" PoiseErr poiseCuda_csr_mult(Device *dev, const void *args)
{
  return Multiply(dev, (const CsrMultArgs *)args);
}

extern "C" PoiseErr poiseCuda_csr_mult_f32(Device *dev, const void *args)
{
  return Multiply(dev, (const CsrMultArgs_f32 *)args);
}

extern "C" PoiseErr poiseCuda_csr_mult_transpose(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultTransposeArgs *);
  static const Run columns[] = {EvenOrCut<1>, EvenOrCut<2>,  EvenOrCut<4>,
                                EvenOrCut<8>, EvenOrCut<16>, EvenOrCut<32>};
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  const CsrView *A = &a->c.m.A;
  if (!A->m) return POISE_OK;
  return a->wide > 1 ? WideColumns(dev, a) : columns[poiseRowLanes(A->m, A->nz)](dev, a);
}

extern "C" PoiseErr poiseCuda_csr_diagonal(Device *dev, const void *args)
{
  const CsrDiagonalArgs *a = (const CsrDiagonalArgs *)args;
  int64_t m = poiseInScalars(&a->A, a->A.m);
  unsigned grid = Grid(m);
  if (!grid) return POISE_OK;
  cudaMemsetAsync(a->d, 0, (size_t)m * (size_t)a->b * sizeof(double), poiseCudaStream(dev));
  CsrDiagonal<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

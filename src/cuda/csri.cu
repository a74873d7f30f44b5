/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of csri. A warp has a row block: consecutive rows with about as many rows and entries as any
  other. Where rows are uniform, tiles (tile.h) have them instead. A row that is too long for a row block is
  split, and a warp has each fragment.
*/
#include <limits.h>

#include "mat/product/hubs_kernels.h"
#include "epilogue.h"
#include "fragments.h"
#include "tile.h"

enum {
  EACH = 4,           /* neighbouring entries that a lane works on, while as many are in flight */
  SPAN = 32 * EACH,   /* entries that a warp works on */
  ROW_BLOCKS = 8,     /* row blocks of a thread block: neighbours share lines of x in L1 */
  FEW_ROW_BLOCKS = 4, /* the same where all fit in one wave */
  RESIDENT_ROW_BLOCKS = CSRI_WARPS, /* row blocks (warps) resident on a multiprocessor */
  NONE = 0xffff,
  HUB = sizeof(double) + sizeof(int32_t), /* bytes of a hub: its x and its column */
  RESIDENT_ROWS = CSRI_TILE_THREADS       /* threads of tiles that are resident on a multiprocessor */
};
static_assert((int)HUB == (int)HUB_BYTES &&
                  (int)HUB_BESIDE == RESIDENT_ROW_BLOCKS * SPAN * (int)sizeof(uint16_t) + 1024,
              "room for hubs beside the marks and what the system takes");

/* PLAIN: y = D A x without ghosts, which takes fewer registers. EXACT: y = A x by row blocks of equal size
   that share rows; y is zero before the launch. */
enum { GENERAL, PLAIN, EXACT };

static __global__ void CsriCut(const __grid_constant__ CsriCutArgs a)
{
  int64_t w = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (w <= a.nrow_block) poiseCsriCut(&a, w);
}

static __global__ void CsriFragments(const __grid_constant__ CsriFragmentsArgs a)
{
  int64_t w = blockIdx.x * (int64_t)WARPS + threadIdx.x / 32;
  if (w >= a.nrow_block) return;
  for (int64_t p = a.first[w] + threadIdx.x % 32; p < a.first[w + 1]; p += 32) poiseCsriFragment(&a, w, p);
}

/* Entries [from, end) of the arrays that start at val and col. These start at a multiple of 32 entries, or at
   a multiple of 2 if that saves a span. */
struct Entries {
  const double *val;
  const int32_t *col;
  int from, end;
  bool vectors; /* loads of two entries are aligned (a user's arrays may begin anywhere) */
};

__device__ __forceinline__ Entries Stream(const CsrView &A, int64_t first, int n)
{
  int from = (int)(first % 32), least = (int)(first % 2);
  if ((least + n + SPAN - 1) / SPAN < (from + n + SPAN - 1) / SPAN) from = least;
  int64_t base = first - from;
  return {A.val + base, A.col + base, from, from + n,
          (uintptr_t)A.val % 16 == 0 && (uintptr_t)A.col % 8 == 0};
}

/* Two neighbouring entries of each half of a span for each lane, from place `at` on. One load of the warp so
   covers whole cache lines, and each line is requested once. */
__device__ __forceinline__ void Fetch(const Entries &e, int at, double (&v)[EACH], int32_t (&c)[EACH])
{
#pragma unroll
  for (int g = 0; g < EACH; g += 2) {
    int k = at + 32 * g + 2 * (threadIdx.x % 32);
    if (e.vectors && k >= e.from && k + 2 <= e.end) {
      LoadStreaming2(e.val + k, v[g], v[g + 1]);
      LoadStreaming2(e.col + k, c[g], c[g + 1]);
      continue;
    }
#pragma unroll
    for (int h = g; h < g + 2; h++, k++) {
      bool there = k >= e.from && k < e.end;
      v[h] = there ? LoadStreaming(e.val + k) : 0;
      c[h] = there ? LoadStreaming(e.col + k) : -1;
    }
  }
}

/* Exchanges entries so that each lane has four neighbours: even lanes of the first half of the span, odd ones
   of the second. */
__device__ __forceinline__ void Regroup(double (&t)[EACH])
{
  bool odd = threadIdx.x % 2;
  double u = __shfl_xor_sync(0xffffffff, odd ? t[0] : t[2], 1),
         v = __shfl_xor_sync(0xffffffff, odd ? t[1] : t[3], 1);
  if (odd)
    t[0] = u, t[1] = v;
  else
    t[2] = u, t[3] = v;
}

/* High-degree columns (hubs) and their x, in shared memory. */
struct HubTable {
  const int32_t *column;
  const double *x;
  int bits;
};

/* The x of each column: from the hubs, from owned x or from the ghosts. */
template <int MODE, bool HUBS>
__device__ __forceinline__ void Gather(const CsrMultArgs &m, const HubTable &hubs, const int32_t (&c)[EACH],
                                       double (&x)[EACH])
{
  bool known[EACH];
#pragma unroll
  for (int g = 0; g < EACH; g++) {
    uint32_t slot = HUBS ? poiseHubSlot(c[g], hubs.bits) : 0;
    known[g] = HUBS && hubs.column[slot] == c[g];
    if (known[g]) x[g] = hubs.x[slot];
  }
#pragma unroll
  for (int g = 0; g < EACH; g++)
    if (!known[g])
      x[g] = c[g] < 0 ? 0 : MODE == PLAIN || c[g] < m.A.nloc ? m.x[c[g]] : m.ghost[c[g] - m.A.nloc];
}

/* Stores y[i]; sum is 0 for an empty row. */
template <int MODE>
__device__ __forceinline__ void Finish(const CsrMultArgs &m, double alpha, double beta, int64_t i, double sum)
{
  m.y[i] = MODE == GENERAL ? alpha * sum + (beta == 0 ? 0 : beta * m.y[i]) : sum;
}

/* The place where row i of a row block ends; the row block has its first entry at place `from`. */
__device__ __forceinline__ int RowEnd(const CsrMultArgs &m, const RowBlock &z, int from, int i)
{
  if (i >= z.rows) return INT_MAX;
  int64_t row = z.begin + i + 1;
  return (int)((m.A.ptr32 ? LoadStreaming(m.A.ptr32 + row) : m.A.ptr64[row]) - z.first) + from;
}

/* now: waits for the kernel ahead, and returns whether the product is wanted. In a solver's loop the matrix
   does not change, so its first entries are fetched before that wait (`early`). */
__device__ __forceinline__ bool Begin(const CsrMultArgs &m, bool now)
{
  if (!now) return true;
  PdlWait();
  return !m.skip || *m.skip == 0;
}

/* Stores a row that ends in the row block. EXACT: the first row may have begun in the one before, so its part
   is added. */
template <int MODE>
__device__ __forceinline__ void End(const CsrMultArgs &m, double alpha, double beta, const RowBlock &z,
                                    unsigned row, double sum)
{
  if (MODE == EXACT && row == 0)
    atomicAdd(&m.y[z.begin], sum);
  else
    Finish<MODE>(m, alpha, beta, z.begin + row, sum);
}

/* Sums and stores the rows that end in a span, of which each lane has EACH terms. A lane sums its terms from
   left to right up to the ends of rows. What is left of each lane's last row goes through a segmented scan,
   in both halves of the span at once. Returns what is left of the row that goes on. */
template <int MODE>
__device__ __forceinline__ double SumRows(const CsrMultArgs &m, double alpha, double beta, const RowBlock &z,
                                          const double (&term)[EACH], const uint16_t *span, double carry)
{
  const unsigned even = 0x55555555, odd = ~even;
  int lane = threadIdx.x % 32, half = lane % 2;
  uint16_t mark[EACH];
  memcpy(mark, span + SPAN / 2 * half + EACH * (lane / 2), sizeof mark);
  double s = 0, head = 0;
  unsigned first = NONE; /* row of the lane's first end; may begin in lanes below, head is the part here */
#pragma unroll
  for (int g = 0; g < EACH; g++) {
    s += term[g];
    if (mark[g] == NONE) continue;
    if (first == NONE)
      first = mark[g], head = s;
    else
      End<MODE>(m, alpha, beta, z, mark[g], s);
    s = 0;
  }
  unsigned ends = __ballot_sync(0xffffffff, first != NONE),
           before = ends & (half ? odd : even) & ((1u << lane) - 1);
  int start = first != NONE ? lane : before ? 31 - __clz(before) : half; /* the lane of the latest end */
#pragma unroll
  for (int step = 2; step < 32; step *= 2) {
    double t = __shfl_up_sync(0xffffffff, s, step);
    if (lane - step >= start) s += t;
  }
  double part = __shfl_up_sync(0xffffffff, s, 2), middle = __shfl_sync(0xffffffff, s, 30),
         last = __shfl_sync(0xffffffff, s, 31);
  if (!(ends & even)) middle += carry;
  if (lane < 2) part = 0;
  if (!before) part += half ? middle : carry;
  if (first != NONE) End<MODE>(m, alpha, beta, z, first, part + head);
  return ends & odd ? last : last + middle;
}

/* Epilogue: the scales and dots of row block w. Its y is in cache, and visible to this warp. */
__device__ __forceinline__ void FinishRowBlock(const CsrMultArgs &m, const RowBlock &z, int64_t w)
{
  int lane = threadIdx.x % 32;
  for (int64_t i = z.begin + lane; m.scale && i < z.begin + z.rows; i += 32) m.y[i] *= m.scale[i];
  for (int f = 0; f < m.fuse.ndot; f++) {
    double s = 0;
    for (int64_t i = z.begin + lane; i < z.begin + z.rows; i += 32)
      s += Factor(m.fuse, f, i, m.y[i]) * m.y[i];
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) m.fuse.partial[f][w] = s;
  }
}

/* Rows of a row block that a warp has reached: where rows first + lane end, and where the next 32 do. */
struct RowEnds {
  int first, before, end, ahead; /* before: where row first - 1 ends */
};

/* Does this lane's row end in the span that begins at place `at`? */
__device__ __forceinline__ bool EndsIn(const RowEnds &r, int at)
{
  return r.end <= at + SPAN && (r.end > at || at == 0);
}

/* Marks the rows that end in a span; empty ones are stored. */
template <int MODE>
__device__ __forceinline__ void MarkEnds(const CsrMultArgs &m, double alpha, double beta, const RowBlock &z,
                                         int from, int at, RowEnds &r, uint16_t *mark)
{
  int lane = threadIdx.x % 32;
  ((uint2 *)mark)[lane] = make_uint2(~0u, ~0u);
  __syncwarp();
  for (;;) {
    int begin = __shfl_up_sync(0xffffffff, r.end, 1), last = __shfl_sync(0xffffffff, r.end, 31);
    if (lane == 0) begin = r.before;
    if (EndsIn(r, at)) {
      if (r.end > begin)
        mark[r.end - 1 - at] = (uint16_t)(r.first + lane);
      else if (MODE != EXACT)
        Finish<MODE>(m, alpha, beta, z.begin + r.first + lane, 0);
    }
    if (last > at + SPAN) break;
    r.first += 32, r.before = last, r.end = r.ahead, r.ahead = RowEnd(m, z, from, r.first + 32 + lane);
  }
  __syncwarp();
}

/* Row block w by one warp. Its entries stream by, SPAN at a time, while the next ones are in flight. mark
   says which row ends at each entry. Where none ends, each lane keeps what it has of the row (`kept`). */
template <int MODE, bool HUBS>
__device__ __forceinline__ void RowBlockByWarp(const CsriMultArgs &a, int64_t w, bool early, uint16_t *mark,
                                               const HubTable &hubs)
{
  const CsrMultArgs &m = a.m;
  int lane = threadIdx.x % 32;
  RowBlock z = Load(a.row_block + w);
  Entries e = Stream(m.A, z.first, z.nz);
  double carry = 0, kept = 0, v[EACH];
  bool keeps = false;
  int32_t c[EACH];
  Fetch(e, 0, v, c);
  RowEnds r = {0, e.from, RowEnd(m, z, e.from, lane), RowEnd(m, z, e.from, 32 + lane)};
  if (!Begin(m, early)) return;
  double alpha = poiseScalar(m.a), beta = poiseScalar(m.b);
  for (int i = lane; MODE != EXACT && !z.nz && i < z.rows; i += 32)
    Finish<MODE>(m, alpha, beta, z.begin + i, 0);
  for (int at = 0; z.nz && at < e.end; at += SPAN) {
    double x[EACH], next[EACH];
    Gather<MODE, HUBS>(m, hubs, c, x);
    Fetch(e, at + SPAN, next, c);
    bool ends = __any_sync(0xffffffff, EndsIn(r, at));
    if (ends) MarkEnds<MODE>(m, alpha, beta, z, e.from, at, r, mark);
#pragma unroll
    for (int g = 0; g < EACH; g++) x[g] *= v[g], v[g] = next[g];
    if (!ends) {
      kept += x[0] + x[1] + (x[2] + x[3]);
      keeps = true;
      continue;
    }
    if (keeps) carry += WarpReduce<COMBINE_SUM>(kept), kept = 0, keeps = false;
    Regroup(x);
    carry = SumRows<MODE>(m, alpha, beta, z, x, mark, carry);
    __syncwarp();
  }
  if (MODE == EXACT && keeps) carry += WarpReduce<COMBINE_SUM>(kept);
  if (MODE == EXACT && lane == 0 && carry != 0) atomicAdd(&m.y[z.begin + z.rows], carry);
  if (MODE != EXACT) FinishRowBlock(m, z, w);
}

/* Entries lane, lane + 32, ... from place `at` on: neighbouring entries of a long row often have neighbouring
   columns. */
__device__ __forceinline__ void FetchInTurn(const Entries &e, int at, double (&v)[EACH], int32_t (&c)[EACH])
{
#pragma unroll
  for (int g = 0; g < EACH; g++) {
    int k = at + 32 * g + threadIdx.x % 32;
    bool there = k >= e.from && k < e.end;
    v[g] = there ? LoadStreaming(e.val + k) : 0;
    c[g] = there ? LoadStreaming(e.col + k) : -1;
  }
}

/* Fragment p of a split row by one warp. */
template <int MODE, bool HUBS>
__device__ __forceinline__ void Fragment(const CsriMultArgs &a, int64_t p, bool early, const HubTable &hubs)
{
  const CsrMultArgs &m = a.m;
  RowFragment z = Load(a.part + p);
  Entries e = Stream(m.A, z.first, z.nz);
  double s = 0, v[EACH];
  int32_t c[EACH];
  FetchInTurn(e, 0, v, c);
  if (!Begin(m, early)) return;
  CutRow cut = RowOfFragment(a, z);
  for (int at = 0; at < e.end; at += SPAN) {
    double x[EACH], next[EACH];
    Gather<MODE, HUBS>(m, hubs, c, x);
    FetchInTurn(e, at + SPAN, next, c);
#pragma unroll
    for (int g = 0; g < EACH; g++) s += v[g] * x[g], v[g] = next[g];
  }
  JoinFragment(a, p, z, cut, WarpReduce<COMBINE_SUM>(s));
}

/* Thread blocks of so many warps that the fragments take. */
__host__ __device__ __forceinline__ int64_t FragmentBlocks(const CsriMultArgs &a, int warps)
{
  return (a.nfragment + warps - 1) / warps;
}

/* For the row blocks of the first wave. Prefetches the first touched address of ptr, val, col, x and y from
   an estimate of the row block's position. So the TLB misses overlap, instead of forming a chain from row
   block to entries to x. */
__device__ __forceinline__ void PrefetchFirstPages(const CsrMultArgs &m, int64_t w)
{
  int lane = threadIdx.x % 32;
  float share = __fdividef((float)w, (float)m.nblock);
  int64_t row = (int64_t)(share * (float)m.A.m), entry = (int64_t)(share * (float)m.A.nz),
          column = (int64_t)(share * (float)m.A.nloc);
  const void *p = NULL;
  if (lane == 0 && row < m.A.m) p = m.A.ptr32 ? (const void *)(m.A.ptr32 + row) : m.A.ptr64 + row;
  if (lane == 1 && entry < m.A.nz) p = m.A.val + entry;
  if (lane == 2 && entry < m.A.nz) p = m.A.col + entry;
  if (lane == 3 && column < m.A.nloc) p = m.x + column;
  if (lane == 4 && row < m.A.m) p = m.y + row;
  if (p) asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* SpMV. Fragments come first, since they take longest. Traffic: 12 bytes per nonzero, 4 per offset, 16 per
   row block, x and y once. */
template <int MODE, int W>
static __global__ void __launch_bounds__(32 * W, RESIDENT_ROW_BLOCKS / W)
    CsriMult(const __grid_constant__ CsriMultArgs a, bool early, unsigned first)
{
  __shared__ __align__(8) uint16_t mark[W][SPAN];
  PdlLaunchDependents();
  int warp = threadIdx.x / 32;
  int64_t fragments = FragmentBlocks(a, W), fragment = blockIdx.x * (int64_t)W + warp,
          at = fragment - fragments * W;
  if (blockIdx.x < first && at >= 0 && at < a.m.nblock) PrefetchFirstPages(a.m, at);
  if (!Begin(a.m, !early)) return;
  if (at >= 0 && at < a.m.nblock)
    RowBlockByWarp<MODE, false>(a, poiseBlockOf(&a.m, at), early, mark[warp], {});
  else if (MODE != EXACT && fragment < a.nfragment)
    Fragment<MODE, false>(a, fragment, early, {});
}

/* SpMV with hubs. One thread block on each multiprocessor fetches the x of the hubs first. A warp that is
   done takes the next fragment or row block. With scattered columns L2 tag lookups are the limit, and hubs
   need none. */
template <int MODE>
static __global__ void __launch_bounds__(32 * RESIDENT_ROW_BLOCKS, 1)
    CsriHubMult(const __grid_constant__ CsriMultArgs a)
{
  extern __shared__ __align__(16) double hub_x[];
  __shared__ __align__(8) uint16_t mark[RESIDENT_ROW_BLOCKS][SPAN];
  int32_t n = 1 << a.bits, *column = (int32_t *)(hub_x + n);
  HubTable hubs = {column, hub_x, (int)a.bits};
  PdlLaunchDependents();
  if (!Begin(a.m, true)) return;
  for (int s = threadIdx.x; s < n; s += 32 * RESIDENT_ROW_BLOCKS) {
    int32_t c = a.hub[s];
    column[s] = c;
    if (c >= a.m.A.nloc) /* row blocks without ghosts run before the ghosts arrive */
      hub_x[s] = a.m.ghost ? a.m.ghost[c - a.m.A.nloc] : 0;
    else
      hub_x[s] = c < 0 ? 0 : a.m.x[c];
  }
  __syncthreads();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int64_t fragments = MODE == EXACT ? 0 : a.nfragment, tasks = fragments + a.m.nblock,
          warps = gridDim.x * (int64_t)RESIDENT_ROW_BLOCKS;
  for (int64_t t = warp * (int64_t)gridDim.x + blockIdx.x; t < tasks;) {
    int taken = 0; /* tasks that were begun, by all warps */
    if (lane == 0) taken = atomicAdd(a.next, 1);
    int64_t at = t - fragments;
    if (at >= 0)
      RowBlockByWarp<MODE, true>(a, poiseBlockOf(&a.m, at), false, mark[warp], hubs);
    else
      Fragment<MODE, true>(a, t, false, hubs);
    if (lane == 0 && taken == tasks - 1) *a.next = 0;
    t = __shfl_sync(0xffffffff, taken, 0) + warps;
  }
}

/* A tile (tile.h) without the rows that are split. If it does not fit into shared memory with them, its rows
   are summed from global memory. */
template <int T, int L> __device__ __forceinline__ void TileOfRows(const CsriMultArgs &a, int64_t number)
{
  __shared__ uint64_t barrier;
  const CsrMultArgs &m = a.m;
  TileRange r = RangeOfTile<T / L, false>(m.A, poiseBlockOf(&m, number));
  bool fits = r.end - r.start <= TileRoom(m.tile);
  auto tile = FetchTile<T, false>(m, r, &barrier, NULL, fits);
  RowShare row = ShareOfRow<L>(m.A, r, [&](int64_t i) { return !poiseCsriLong(&m.A, i, a.limit); });
  WaitForTile(tile);
  double s = fits ? PartOfTile<L, false, true>(m, tile, row)
                  : PartOfRow<L, true, int64_t>(m, m.A.val + r.start, m.A.col + r.start, row.k, row.end);
  double y = FinishRow(m, row.stores, row.i, SumOfLanes<L>(s));
  FuseRow<T>(m, row.stores, row.i, y, r.block);
}

template <int T, int L>
static __global__ void __launch_bounds__(T, RESIDENT_ROWS / T)
    CsriTile(const __grid_constant__ CsriMultArgs a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.m.skip && *a.m.skip != 0) return;
  int64_t fragments = FragmentBlocks(a, T / 32), fragment = blockIdx.x * (int64_t)(T / 32) + threadIdx.x / 32;
  if (blockIdx.x >= fragments)
    TileOfRows<T, L>(a, blockIdx.x - fragments);
  else if (fragment < a.nfragment)
    Fragment<GENERAL, false>(a, fragment, false, {});
}

template <int T, int L> static PoiseErr Tiles(Device *dev, const CsriMultArgs *a)
{
  size_t bytes = (size_t)TileRoom(a->m.tile) * 12;
  TRY(LetShare((const void *)CsriTile<T, L>, bytes, poiseTileMost(&dev->model)));
  int carve = poiseTileCarveout(&dev->model, a->m.x_lines, (int64_t)bytes, T);
  return LaunchPdl(dev, CsriTile<T, L>, (unsigned)(FragmentBlocks(*a, T / 32) + a->m.nblock), T,
                   {bytes, carve}, *a);
}

template <int L> static PoiseErr Tile(Device *dev, const CsriMultArgs *a)
{
  return a->m.rows * L < THREADS ? Tiles<THREADS / 2, L>(dev, a) : Tiles<THREADS, L>(dev, a);
}

static PoiseErr Hubs(Device *dev, const CsriMultArgs *a, void (*kernel)(CsriMultArgs))
{
  size_t bytes = (size_t)HUB << a->bits;
  TRY(LetShare((const void *)kernel, bytes, (int64_t)HUB << poiseMostHubBits(&dev->model)));
  return LaunchPdl(dev, kernel, (unsigned)dev->model.multiprocessors, 32 * RESIDENT_ROW_BLOCKS, bytes, *a);
}

extern "C" PoiseErr poiseCuda_csri_cut(Device *dev, const void *args)
{
  const CsriCutArgs *a = (const CsriCutArgs *)args;
  CsriCut<<<Grid(a->nrow_block + 1), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csri_fragments(Device *dev, const void *args)
{
  const CsriFragmentsArgs *a = (const CsriFragmentsArgs *)args;
  unsigned grid = (unsigned)((a->nrow_block + WARPS - 1) / WARPS);
  if (grid) CsriFragments<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csri_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsriMultArgs *);
  static const Run tiles[] = {Tile<1>, Tile<2>, Tile<4>, Tile<8>, Tile<16>, Tile<32>};
  static void (*const hubs[])(CsriMultArgs) = {CsriHubMult<GENERAL>, CsriHubMult<PLAIN>, CsriHubMult<EXACT>};
  static void (*const row_blocks[][2])(CsriMultArgs, bool, unsigned) = {
      {CsriMult<GENERAL, ROW_BLOCKS>, CsriMult<GENERAL, FEW_ROW_BLOCKS>},
      {CsriMult<PLAIN, ROW_BLOCKS>, CsriMult<PLAIN, FEW_ROW_BLOCKS>},
      {CsriMult<EXACT, ROW_BLOCKS>, CsriMult<EXACT, FEW_ROW_BLOCKS>},
  };
  const CsriMultArgs *a = (const CsriMultArgs *)args;
  if (a->exact && a->fill)
    TRY(poiseCudaCheck(cudaMemsetAsync(a->m.y, 0, (size_t)a->m.A.m * sizeof(double), poiseCudaStream(dev)),
                       "y = 0"));
  if (a->nfragment + a->m.nblock == 0) return POISE_OK;
  if (a->m.rows < POISE_BLOCK) return tiles[poiseTileLanes(a->m.A.m, a->uncut)](dev, a);
  bool plain = !a->m.ghost && !a->m.a.slot && a->m.a.value == 1 && !a->m.b.slot && a->m.b.value == 0;
  int mode = a->exact ? EXACT : plain ? PLAIN : GENERAL;
  if (a->hub) return Hubs(dev, a, hubs[mode]);
  int64_t resident = poiseWarpsAtOnce(&dev->model);
  bool few = a->nfragment + a->m.nblock <= resident;
  unsigned warps = few ? FEW_ROW_BLOCKS : ROW_BLOCKS; /* of a block */
  unsigned grid = (unsigned)(FragmentBlocks(*a, (int)warps) + (a->m.nblock + warps - 1) / warps);
  bool early = poiseCudaInLoop(dev) && !a->exact;
  return LaunchPdl(dev, row_blocks[mode][few], grid, 32 * warps, 0, *a, early, (unsigned)resident / warps);
}

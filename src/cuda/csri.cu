/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of csri: a warp for each window of rows, or tiles where rows are even; a warp for each piece of a longer row. */
#include <limits.h>

#include "pieces.h"
#include "tile.h"

enum {
  EACH = 4,              /* neighbouring entries of a lane at work, while as many are under way */
  SPAN = 32 * EACH,      /* of a warp */
  WINDOWS = 8,           /* of a block: neighbours, which find lines of x in the first cache; */
  FEW_WINDOWS = 4,       /* where all have a place at once */
  RESIDENT_WINDOWS = CSRI_WARPS, /* of a multiprocessor */
  NONE = 0xffff,
  HUB = sizeof(double) + sizeof(int32_t), /* bytes of x and its column */
  RESIDENT_ROWS = CSRI_TILE_THREADS       /* threads of a multiprocessor that are to sum even rows */
};
static_assert((int)HUB == (int)HUB_BYTES &&
                  (int)HUB_BESIDE == RESIDENT_WINDOWS * SPAN * (int)sizeof(uint16_t) + 1024,
              "room for hubs beside the marks and what the system takes");

/* PLAIN: y = A x, without ghosts: what takes registers is left out. EXACT: y = A x by windows that share rows, of a y that was set to 0. */
enum { GENERAL, PLAIN, EXACT };

static __global__ void CsriCut(const __grid_constant__ CsriCutArgs a)
{
  int64_t w = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (w <= a.nwindow) poiseCsriCut(&a, w);
}

static __global__ void CsriOwn(const __grid_constant__ CsriOwnArgs a)
{
  int64_t w = blockIdx.x * (int64_t)WARPS + threadIdx.x / 32;
  if (w >= a.nwindow) return;
  for (int64_t p = a.first[w] + threadIdx.x % 32; p < a.first[w + 1]; p += 32) poiseCsriOwn(&a, w, p);
}

/* Entries [from, end) from val and col on, which are at a multiple of 32, or if that takes a span less of 2. */
struct Entries {
  const double *val;
  const int32_t *col;
  int from, end;
  bool vectors; /* two of them can be fetched at once: a user's arrays may begin anywhere */
};

__device__ __forceinline__ Entries Stream(const CsrView &A, int64_t first, int n)
{
  int from = (int)(first % 32), least = (int)(first % 2);
  if ((least + n + SPAN - 1) / SPAN < (from + n + SPAN - 1) / SPAN) from = least;
  int64_t base = first - from;
  return {A.val + base, A.col + base, from, from + n, (uintptr_t)A.val % 16 == 0 && (uintptr_t)A.col % 8 == 0};
}

/* Two neighbouring entries of each half of a span for each lane, from place `at` on: so that what the lanes fetch at once is all of some
   lines, each of which is asked for once. */
__device__ __forceinline__ void Fetch(const Entries &e, int at, double (&v)[EACH], int32_t (&c)[EACH])
{
#pragma unroll
  for (int g = 0; g < EACH; g += 2) {
    int k = at + 32 * g + 2 * (threadIdx.x % 32);
    if (e.vectors && k >= e.from && k + 2 <= e.end) {
      PassingTwo(e.val + k, v[g], v[g + 1]);
      PassingTwo(e.col + k, c[g], c[g + 1]);
      continue;
    }
#pragma unroll
    for (int h = g; h < g + 2; h++, k++) {
      bool there = k >= e.from && k < e.end;
      v[h] = there ? Passing(e.val + k) : 0;
      c[h] = there ? Passing(e.col + k) : -1;
    }
  }
}

/* Four neighbouring entries for each lane, of the first half of the span for even lanes, of the second for odd ones. */
__device__ __forceinline__ void Regroup(double (&t)[EACH])
{
  bool odd = threadIdx.x % 2;
  double u = __shfl_xor_sync(0xffffffff, odd ? t[0] : t[2], 1), v = __shfl_xor_sync(0xffffffff, odd ? t[1] : t[3], 1);
  if (odd)
    t[0] = u, t[1] = v;
  else
    t[2] = u, t[3] = v;
}

/* Columns of many entries and their x, in shared memory. */
struct HubTable {
  const int32_t *column;
  const double *x;
  int bits;
};

/* What they are multiplied with. */
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
    if (!known[g]) x[g] = c[g] < 0 ? 0 : MODE == PLAIN || c[g] < m.A.nloc ? m.x[c[g]] : m.ghost[c[g] - m.A.nloc];
}

/* Row i, or an empty one. */
template <int MODE>
__device__ __forceinline__ void Finish(const CsrMultArgs &m, double alpha, double beta, int64_t i, double sum)
{
  m.y[i] = MODE == GENERAL ? alpha * sum + (beta == 0 ? 0 : beta * m.y[i]) : sum;
}

/* The place where row i of a window ends, which has its first entry at `from`. */
__device__ __forceinline__ int RowEnd(const CsrMultArgs &m, const CsrWindow &z, int from, int i)
{
  if (i >= z.rows) return INT_MAX;
  int64_t row = z.begin + i + 1;
  return (int)((m.A.ptr32 ? Passing(m.A.ptr32 + row) : m.A.ptr64[row]) - z.first) + from;
}

/* Where it is time for that, waits for what is before; is there anything to do? (In a solver's loop the matrix stays as it is, so its
   first entries are fetched before that wait: `early`.) */
__device__ __forceinline__ bool Begin(const CsrMultArgs &m, bool now)
{
  if (!now) return true;
  Ready();
  return !m.skip || *m.skip == 0;
}

/* y[i] of a row that ends in the window. The first one may have begun before it, and is added to what others do there. */
template <int MODE>
__device__ __forceinline__ void End(const CsrMultArgs &m, double alpha, double beta, const CsrWindow &z, unsigned row,
                                    double sum)
{
  if (MODE == EXACT && row == 0)
    atomicAdd(&m.y[z.begin], sum);
  else
    Finish<MODE>(m, alpha, beta, z.begin + row, sum);
}

/* Rows that end in a span, of which each lane has EACH terms: these are summed from left to right, then what lanes have left of their last
   rows is scanned by segments, in both halves of the span at once. Returns what is left of the row that goes on. */
template <int MODE>
__device__ __forceinline__ double SumRows(const CsrMultArgs &m, double alpha, double beta, const CsrWindow &z,
                                          const double (&term)[EACH], const uint16_t *span, double carry)
{
  const unsigned even = 0x55555555, odd = ~even;
  int lane = threadIdx.x % 32, half = lane % 2;
  uint16_t mark[EACH];
  memcpy(mark, span + SPAN / 2 * half + EACH * (lane / 2), sizeof mark);
  double s = 0, head = 0;
  unsigned first = NONE; /* the row of the lane's first end, which may have begun in lanes below: head is its part here */
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
  unsigned ends = __ballot_sync(0xffffffff, first != NONE), before = ends & (half ? odd : even) & ((1u << lane) - 1);
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

/* The rows of window w by one warp. Its entries stream by, SPAN at a time, the next ones being fetched meanwhile; mark says which row ends
   at each. */
template <int MODE, bool HUBS>
__device__ __forceinline__ void Window(const CsriMultArgs &a, int64_t w, bool early, uint16_t *mark, const HubTable &hubs)
{
  const CsrMultArgs &m = a.m;
  int lane = threadIdx.x % 32;
  CsrWindow z = Load(a.window + w);
  Entries e = Stream(m.A, z.first, z.nz);
  double carry = 0, v[EACH];
  int32_t c[EACH];
  Fetch(e, 0, v, c);
  int first = 0, before = e.from, end = RowEnd(m, z, e.from, lane),
      ahead = RowEnd(m, z, e.from, 32 + lane); /* rows first + lane, ... */
  if (!Begin(m, early)) return;
  double alpha = poiseScalar(m.a), beta = poiseScalar(m.b);
  for (int i = lane; MODE != EXACT && !z.nz && i < z.rows; i += 32) Finish<MODE>(m, alpha, beta, z.begin + i, 0);
  for (int at = 0; z.nz && at < e.end; at += SPAN) {
    double x[EACH], next[EACH];
    Gather<MODE, HUBS>(m, hubs, c, x);
    Fetch(e, at + SPAN, next, c);
    ((uint2 *)mark)[lane] = make_uint2(~0u, ~0u);
    __syncwarp();
    for (;;) { /* rows that end in this span */
      int from = __shfl_up_sync(0xffffffff, end, 1), last = __shfl_sync(0xffffffff, end, 31);
      if (lane == 0) from = before;
      if (end <= at + SPAN && (end > at || at == 0)) {
        if (end > from)
          mark[end - 1 - at] = (uint16_t)(first + lane);
        else if (MODE != EXACT)
          Finish<MODE>(m, alpha, beta, z.begin + first + lane, 0);
      }
      if (last > at + SPAN) break;
      first += 32, before = last, end = ahead, ahead = RowEnd(m, z, e.from, first + 32 + lane);
    }
    __syncwarp();
#pragma unroll
    for (int g = 0; g < EACH; g++) x[g] *= v[g], v[g] = next[g];
    Regroup(x);
    carry = SumRows<MODE>(m, alpha, beta, z, x, mark, carry);
    __syncwarp();
  }
  if (MODE == EXACT && lane == 0 && carry != 0) atomicAdd(&m.y[z.begin + z.rows], carry);
  for (int f = 0; MODE != EXACT && f < m.fuse.ndot; f++) { /* y is in cache, and here in order */
    double s = 0;
    for (int64_t i = z.begin + lane; i < z.begin + z.rows; i += 32) s += Factor(m.fuse, f, i, m.y[i]) * m.y[i];
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) m.fuse.partial[f][w] = s;
  }
}

/* Entries lane, lane + 32, ... from place `at` on: in long rows neighbours are often of neighbouring columns. */
__device__ __forceinline__ void FetchInTurn(const Entries &e, int at, double (&v)[EACH], int32_t (&c)[EACH])
{
#pragma unroll
  for (int g = 0; g < EACH; g++) {
    int k = at + 32 * g + threadIdx.x % 32;
    bool there = k >= e.from && k < e.end;
    v[g] = there ? Passing(e.val + k) : 0;
    c[g] = there ? Passing(e.col + k) : -1;
  }
}

/* Piece p by one warp. */
template <int MODE, bool HUBS>
__device__ __forceinline__ void Piece(const CsriMultArgs &a, int64_t p, bool early, const HubTable &hubs)
{
  const CsrMultArgs &m = a.m;
  CsriPiece z = Load(a.part + p);
  Entries e = Stream(m.A, z.first, z.nz);
  double s = 0, v[EACH];
  int32_t c[EACH];
  FetchInTurn(e, 0, v, c);
  if (!Begin(m, early)) return;
  CutRow cut = RowOfPiece(a, z);
  for (int at = 0; at < e.end; at += SPAN) {
    double x[EACH], next[EACH];
    Gather<MODE, HUBS>(m, hubs, c, x);
    FetchInTurn(e, at + SPAN, next, c);
#pragma unroll
    for (int g = 0; g < EACH; g++) s += v[g] * x[g], v[g] = next[g];
  }
  JoinPiece(a, p, z, cut, WarpReduce<COMBINE_SUM>(s));
}

/* Blocks of so many warps for the pieces. */
__host__ __device__ __forceinline__ int64_t PieceBlocks(const CsriMultArgs &a, int warps)
{
  return (a.npiece + warps - 1) / warps;
}

/* Window w of the first ones, which warps begin with at once: where its rows, entries and x are, or near to that, is asked for before it
   is known, so that pages a multiprocessor does not know are looked up together, not one after the other as the window leads to entries
   and these to x. */
__device__ __forceinline__ void Ask(const CsrMultArgs &m, int64_t w)
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

/* Pieces first, as they take longest: 12 bytes per nonzero, 4 per offset, x and y once; 16 per window. */
template <int MODE, int W>
static __global__ void __launch_bounds__(32 * W, RESIDENT_WINDOWS / W)
    CsriMult(const __grid_constant__ CsriMultArgs a, bool early, unsigned first)
{
  __shared__ __align__(8) uint16_t mark[W][SPAN];
  LetFollow();
  int warp = threadIdx.x / 32;
  int64_t pieces = PieceBlocks(a, W), piece = blockIdx.x * (int64_t)W + warp, at = piece - pieces * W;
  if (blockIdx.x < first && at >= 0 && at < a.m.nblock) Ask(a.m, at);
  if (!Begin(a.m, !early)) return;
  if (at >= 0 && at < a.m.nblock)
    Window<MODE, false>(a, a.m.order ? a.m.order[at] : at, early, mark[warp], {});
  else if (MODE != EXACT && piece < a.npiece)
    Piece<MODE, false>(a, piece, early, {});
}

/* The same where there are hubs: one block on each multiprocessor, which fetches their x first; a warp that is done takes the next piece or
   window. Products whose columns are scattered wait for the tags of the second cache, where hubs are not asked for. */
template <int MODE>
static __global__ void __launch_bounds__(32 * RESIDENT_WINDOWS, 1) CsriHubMult(const __grid_constant__ CsriMultArgs a)
{
  extern __shared__ __align__(16) double hub_x[];
  __shared__ __align__(8) uint16_t mark[RESIDENT_WINDOWS][SPAN];
  int32_t n = 1 << a.bits, *column = (int32_t *)(hub_x + n);
  HubTable hubs = {column, hub_x, (int)a.bits};
  LetFollow();
  if (!Begin(a.m, true)) return;
  for (int s = threadIdx.x; s < n; s += 32 * RESIDENT_WINDOWS) {
    int32_t c = a.hub[s];
    column[s] = c;
    if (c >= a.m.A.nloc) /* ghosts are not there yet when windows without them are multiplied */
      hub_x[s] = a.m.ghost ? a.m.ghost[c - a.m.A.nloc] : 0;
    else
      hub_x[s] = c < 0 ? 0 : a.m.x[c];
  }
  __syncthreads();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int64_t pieces = MODE == EXACT ? 0 : a.npiece, tasks = pieces + a.m.nblock, warps = gridDim.x * (int64_t)RESIDENT_WINDOWS;
  for (int64_t t = warp * (int64_t)gridDim.x + blockIdx.x; t < tasks;) {
    int taken = 0; /* by all warps, one for each task that is begun */
    if (lane == 0) taken = atomicAdd(a.next, 1);
    int64_t at = t - pieces;
    if (at >= 0)
      Window<MODE, true>(a, a.m.order ? a.m.order[at] : at, false, mark[warp], hubs);
    else
      Piece<MODE, true>(a, t, false, hubs);
    if (lane == 0 && taken == tasks - 1) *a.next = 0;
    t = __shfl_sync(0xffffffff, taken, 0) + warps;
  }
}

template <int T, int L>
static __global__ void __launch_bounds__(T, RESIDENT_ROWS / T) CsriTile(const __grid_constant__ CsriMultArgs a)
{
  LetFollow();
  Ready();
  if (a.m.skip && *a.m.skip != 0) return;
  int64_t pieces = PieceBlocks(a, T / 32), piece = blockIdx.x * (int64_t)(T / 32) + threadIdx.x / 32;
  if (blockIdx.x >= pieces)
    TileOfRows<T, L, CUT_TILE>(a.m, blockIdx.x - pieces, a.limit);
  else if (piece < a.npiece)
    Piece<GENERAL, false>(a, piece, false, {});
}

template <int T, int L> static PoiseErr Tiles(Device *dev, const CsriMultArgs *a)
{
  size_t bytes = (size_t)TileRoom(a->m.tile) * 12;
  TRY(LetShare((const void *)CsriTile<T, L>, bytes, poiseTileMost(&dev->model)));
  return FollowCarving(dev, poiseTileCarveout(&dev->model, a->m.spread, (int64_t)bytes, T), CsriTile<T, L>,
                       (unsigned)(PieceBlocks(*a, T / 32) + a->m.nblock), T, bytes, *a);
}

template <int L> static PoiseErr Tile(Device *dev, const CsriMultArgs *a)
{
  return a->m.rows * L < THREADS ? Tiles<THREADS / 2, L>(dev, a) : Tiles<THREADS, L>(dev, a);
}

template <int W> static PoiseErr Windows(Device *dev, const CsriMultArgs *a, bool plain)
{
  unsigned grid = (unsigned)(PieceBlocks(*a, W) + (a->m.nblock + W - 1) / W),
           first = (unsigned)(dev->model.multiprocessors * (RESIDENT_WINDOWS / W));
  return Follow(dev,
                a->exact ? CsriMult<EXACT, W>
                : plain  ? CsriMult<PLAIN, W>
                         : CsriMult<GENERAL, W>,
                grid, 32 * W, 0, *a, poiseCudaInLoop(dev) && !a->exact, first);
}

static PoiseErr Hubs(Device *dev, const CsriMultArgs *a, void (*kernel)(CsriMultArgs))
{
  size_t bytes = (size_t)HUB << a->bits;
  TRY(LetShare((const void *)kernel, bytes, (int64_t)HUB << poiseMostHubBits(&dev->model)));
  return Follow(dev, kernel, (unsigned)dev->model.multiprocessors, 32 * RESIDENT_WINDOWS, bytes, *a);
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
  if (a->exact && a->fill)
    TRY(poiseCudaCheck(cudaMemsetAsync(a->m.y, 0, (size_t)a->m.A.m * sizeof(double), poiseCudaStream(dev)), "y = 0"));
  if (a->npiece + a->m.nblock == 0) return POISE_OK;
  if (a->m.rows < POISE_BLOCK) return tiles[poiseTileLanes(a->m.A.m, a->uncut)](dev, a);
  bool plain = !a->m.ghost && !a->m.a.slot && a->m.a.value == 1 && !a->m.b.slot && a->m.b.value == 0;
  if (a->hub) return Hubs(dev, a, a->exact ? CsriHubMult<EXACT> : plain ? CsriHubMult<PLAIN> : CsriHubMult<GENERAL>);
  bool few = a->npiece + a->m.nblock <= poiseWarpsAtOnce(&dev->model);
  return few ? Windows<FEW_WINDOWS>(dev, a, plain) : Windows<WINDOWS>(dev, a, plain);
}

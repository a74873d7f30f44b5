/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of seg. A segment is at most S entries of one row. A thread block has a row block: rows with about
  as many segments as any other. Rows of more than half a row block are split as in csri, and a thread block
  has each part (RowFragment).
*/
#include <cub/block/block_scan.cuh>

#include "mat/product/seg_kernels.h"
#include "epilogue.h"
#include "fragments.h"
#include "tile.h"

enum {
  RESIDENT = 1536, /* threads resident on a multiprocessor, */
  RESIDENT_BULK = 1280,
  AT_ONCE = 4 /* and entries that one has in flight */
};

/* ---- the cut --------------------------------------------------------------------------------- */

static __global__ void SegCount(const __grid_constant__ SegCutArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k * SEG_ROWS < a.A.m) poiseSegCount(&a, k);
}

static __global__ void SegCut(const __grid_constant__ SegCutArgs a)
{
  int64_t w = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (w <= a.nrow_block) poiseSegCut(&a, w);
}

static __global__ void SegOffsets(const __grid_constant__ SegPadArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k * SEG_ROWS <= a.cut.A.m) poiseSegOffsets(&a, k);
}

static __global__ void SegFill(const __grid_constant__ SegPadArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < a.nsegment) poiseSegFill(&a, k);
}

/* ---- products -------------------------------------------------------------------------------- */

/* The terms of entries at + thread, at + thread + T, ... below n, AT_ONCE of them in flight. */
template <int T>
__device__ __forceinline__ void Terms(const CsrMultArgs &m, const double *val, const int32_t *col, int n,
                                      int at, double (&term)[AT_ONCE])
{
  int32_t c[AT_ONCE];
#pragma unroll
  for (int r = 0; r < AT_ONCE; r++) {
    int k = at + r * T + (int)threadIdx.x;
    term[r] = k < n ? LoadStreaming(val + k) : 0;
    c[r] = k < n ? LoadStreaming(col + k) : -1;
  }
  double x[AT_ONCE];
#pragma unroll
  for (int r = 0; r < AT_ONCE; r++)
    x[r] = c[r] < 0 ? 0 : c[r] < m.A.nloc ? m.x[c[r]] : m.ghost[c[r] - m.A.nloc];
#pragma unroll
  for (int r = 0; r < AT_ONCE; r++) term[r] *= x[r];
}

/* Part p of a split row by a thread block. */
template <int T> __device__ __forceinline__ void FragmentByBlock(const CsriMultArgs &a, int64_t p)
{
  RowFragment z = Load(a.part + p);
  CutRow cut = RowOfFragment(a, z);
  double s[1] = {0}, term[AT_ONCE];
  for (int at = 0; at < z.nz; at += T * AT_ONCE) {
    Terms<T>(a.m, a.m.A.val + z.first, a.m.A.col + z.first, z.nz, at, term);
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) s[0] += term[r];
  }
  BlockReduce<1, COMBINE_SUM, T>(s);
  if (threadIdx.x < 32) JoinFragment(a, p, z, cut, s[0]);
}

/* Where the term of entry k of a row block is kept. One place of every 17 is left free, so that segments that
   begin 4, 8 or 16 entries apart cause no bank conflicts. */
__host__ __device__ __forceinline__ int Spread(int k)
{
  return k + k / 16;
}

/* The entries of a row block in shared memory. BULK: values and columns, by bulk copies. Else their terms
   (the paper's form). */
template <int T, bool BULK> struct Entries {
  const double *val;
  const int32_t *col;
  int bulk;

  __device__ __forceinline__ void Fetch(const SegMultArgs &a, const RowBlock &z, void *memory,
                                        uint64_t *barrier)
  {
    const CsrMultArgs &m = a.c.m;
    double *v = (double *)memory;
    int32_t *c = (int32_t *)(v + TileRoom(m.tile));
    if (BULK) {
      int64_t start = z.first & ~(int64_t)3, end = z.first + z.nz, stop = (end + 3) & ~(int64_t)3;
      if (stop > m.A.nz) stop = m.A.nz & ~(int64_t)3; /* never read past the arrays */
      /* a borrowed array may begin anywhere */
      bool aligned = ((uintptr_t)m.A.val | (uintptr_t)m.A.col) % 16 == 0;
      bulk = aligned && z.nz && stop > start ? (int)(stop - start) : 0;
      if (threadIdx.x == 0 && bulk) {
        BulkInit(barrier);
        BulkExpect(barrier, (uint32_t)bulk * 12);
        BulkCopy(v, m.A.val + start, (uint32_t)bulk * 8, barrier);
        BulkCopy(c, m.A.col + start, (uint32_t)bulk * 4, barrier);
      }
      for (int64_t k = start + bulk + threadIdx.x; k < end; k += T)
        v[k - start] = m.A.val[k], c[k - start] = m.A.col[k];
      val = v + (z.first - start), col = c + (z.first - start);
    } else {
      for (int at = 0; at < z.nz; at += T * AT_ONCE) {
        double term[AT_ONCE];
        Terms<T>(m, m.A.val + z.first, m.A.col + z.first, z.nz, at, term);
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
          int k = at + r * T + (int)threadIdx.x;
          if (k < z.nz) v[Spread(k)] = term[r];
        }
      }
      val = v;
    }
  }

  /* After a barrier of the block. */
  __device__ __forceinline__ void Wait(uint64_t *barrier)
  {
    if (BULK && bulk) BulkWait(barrier, 0);
  }

  /* The sum of entries k, k + L, ... */
  template <int L> __device__ __forceinline__ double Sum(const CsrMultArgs &m, int k, int end)
  {
    if (BULK) return PartOfRow<L, true, int>(m, val, col, k, end);
    double s = 0;
    for (; k < end; k += L) s += val[Spread(k)];
    return s;
  }
};

/* The row of segment q: the last row whose first segment is q or before. */
__device__ __forceinline__ int RowOf(const int *number, int rows, int q)
{
  int low = 0, high = rows;
  while (high - low > 1) {
    int i = (low + high) / 2;
    if (number[i] <= q)
      low = i;
    else
      high = i;
  }
  return low;
}

/*
  Row block w. Its entries go to shared memory, coalesced. Meanwhile a thread per row counts segments, and a
  scan numbers them. L threads sum a segment, then a thread per row adds its segments in order. Where every
  row has one segment nothing is scanned.
*/
template <int T, int L, bool BULK>
__device__ __forceinline__ void SegRowBlock(const SegMultArgs &a, int64_t w, bool early,
                                            unsigned char *memory)
{
  enum { GROUPS = T / L };
  typedef cub::BlockScan<int, T> Before;
  __shared__ typename Before::TempStorage scratch;
  __shared__ uint64_t barrier;
  __shared__ int place[GROUPS + 1], number[GROUPS + 1]; /* of the first entry and segment of each row */
  __shared__ double sum[2 * GROUPS];
  const CsrMultArgs &m = a.c.m;
  const int t = (int)threadIdx.x, S = (int)a.length;
  RowBlock z = Load(a.c.row_block + w);
  Entries<T, BULK> entries;
  entries.Fetch(a, z, memory, &barrier);
  int count = 0;
  if (t < z.rows) {
    int k = (int)(poiseCsrOffset(&m.A, z.begin + t) - z.first),
        end = (int)(poiseCsrOffset(&m.A, z.begin + t + 1) - z.first);
    place[t] = k;
    count = end - k <= S ? 1 : (end - k + S - 1) / S;
  }
  if (t == 0) place[z.rows] = z.nz;
  bool single = __syncthreads_and(count <= 1);
  int segments = z.rows, before = t;
  if (!single) {
    Before(scratch).ExclusiveSum(count, before, segments);
    if (t < z.rows) number[t] = before;
    __syncthreads();
  }
  entries.Wait(&barrier);
  if (early) {
    PdlWait();
    if (m.skip && *m.skip != 0) return;
  }
  double s = 0;
  for (int first = 0; first < segments; first += GROUPS) {
    int q = first + t / L, k = 0, end = 0;
    if (q < segments) {
      int row = single ? q : RowOf(number, z.rows, q);
      k = place[row] + (single ? 0 : (q - number[row]) * S);
      end = min(k + S, place[row + 1]);
    }
    s = entries.template Sum<L>(m, k + t % L, end);
#pragma unroll
    for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
    if (q < segments && t % L == 0) sum[q] = s;
  }
  if (L > 1 || !single) {
    __syncthreads();
    if (t < z.rows) {
      s = sum[before];
      for (int q = 1; q < count; q++) s += sum[before + q];
    }
  }
  int64_t i = z.begin + t;
  double y = FinishRow(m, t < z.rows, i, s);
  FuseRow<T>(m, t < z.rows, i, y, w);
}

/* SpMV. Parts of split rows come first, since they take longest. early: the matrix does not change before
   this product and latency dominates, so the entries are fetched before the kernel ahead has ended. */
template <int T, int L, bool BULK>
static __global__ void __launch_bounds__(T, (BULK ? RESIDENT_BULK : RESIDENT) / T)
    SegMult(const __grid_constant__ SegMultArgs a, bool early)
{
  extern __shared__ __align__(128) unsigned char memory[];
  const CsrMultArgs &m = a.c.m;
  int64_t at = (int64_t)blockIdx.x - a.c.nfragment;
  PdlLaunchDependents();
  if (at < 0) early = false;
  if (!early) {
    PdlWait();
    if (m.skip && *m.skip != 0) return;
  }
  if (at < 0)
    FragmentByBlock<T>(a.c, blockIdx.x);
  else
    SegRowBlock<T, L, BULK>(a, poiseBlockOf(&m, at), BULK && early, memory);
}

template <int L> static PoiseErr Segments(Device *dev, const SegMultArgs *a)
{
  unsigned grid = (unsigned)(a->c.nfragment + a->c.m.nblock);
  bool early = poiseCudaInLoop(dev) && grid <= poiseBlocksAtOnce(&dev->model);
  if (!grid) return POISE_OK;
  if (poiseSegmentsInBulk(&dev->model, a->segments, a->c.m.A.m))
    return LaunchPdl(dev, SegMult<SEG_THREADS, L, true>, grid, SEG_THREADS,
                     (size_t)TileRoom(a->c.m.tile) * 12, *a, early);
  return LaunchPdl(dev, SegMult<SEG_THREADS, L, false>, grid, SEG_THREADS,
                   (size_t)(Spread((int)a->c.m.tile) + 1) * 8, *a, false);
}

extern "C" PoiseErr poiseCuda_seg_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const SegMultArgs *);
  static const Run lanes[] = {Segments<1>, Segments<2>, Segments<4>, Segments<8>, Segments<16>, Segments<32>};
  const SegMultArgs *a = (const SegMultArgs *)args;
  return lanes[poiseSegLanes(a->length)](dev, a);
}

extern "C" PoiseErr poiseCuda_seg_count(Device *dev, const void *args)
{
  const SegCutArgs *a = (const SegCutArgs *)args;
  unsigned grid = Grid((a->A.m + SEG_ROWS - 1) / SEG_ROWS);
  if (grid) SegCount<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_seg_cut(Device *dev, const void *args)
{
  const SegCutArgs *a = (const SegCutArgs *)args;
  SegCut<<<Grid(a->nrow_block + 1), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_seg_offsets(Device *dev, const void *args)
{
  const SegPadArgs *a = (const SegPadArgs *)args;
  SegOffsets<<<Grid(a->cut.A.m / SEG_ROWS + 1), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_seg_fill(Device *dev, const void *args)
{
  const SegPadArgs *a = (const SegPadArgs *)args;
  if (a->nsegment) SegFill<<<Grid(a->nsegment), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

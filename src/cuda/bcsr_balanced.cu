/* SPDX-License-Identifier: BSD-3-Clause */
/* Block SpMV for matrices with block rows of very different lengths. Row blocks have about as many blocks as
   any other, and longer rows are split. */
#include "bcsr.h"
#include "fragments.h"

enum { ROW_BLOCK_THREADS = 128 };

/* Blocks that have room in shared memory. The few row blocks with more are fetched in steps. */
static int64_t RowBlockRoom(int64_t chunk, int b)
{
  int64_t more = chunk / 4 < 32 ? 32 : chunk / 4;
  return TileBlocks(chunk + (more < chunk ? more : chunk), b);
}

/* The sum over q of what threads (r, q) have, in a fixed tree; valid for q = 0. */
template <int B> __device__ __forceinline__ double JoinThreads(double s, double *share)
{
  constexpr int Q = ROW_BLOCK_THREADS / B, FEW = Q < 8 ? Q : 8;
  int r = threadIdx.x % B, q = threadIdx.x / B;
  __syncthreads();
  share[threadIdx.x] = s;
  __syncthreads();
  s = 0;
  if (q < FEW)
    for (int k = q; k < Q; k += FEW) s += share[k * B + r];
  __syncthreads();
  if (q < FEW) share[threadIdx.x] = s;
  __syncthreads();
  s = 0;
  if (q == 0)
    for (int k = 0; k < FEW; k++) s += share[k * B + r];
  return s;
}

/* Fragment p of a split row has the sums s (threads with q = 0). The last thread block of a row to arrive
   adds all fragments and finishes the row. The order of that sum is fixed, so the bits do not depend on which
   block it is. */
template <int B>
__device__ __forceinline__ void JoinFragments(const CsriMultArgs &a, int64_t p, const RowFragment &z,
                                              double s, double *share)
{
  constexpr int T = ROW_BLOCK_THREADS, Q = T / B;
  const CsrMultArgs &m = a.m;
  __shared__ int arrived;
  CutRow cut = RowOfFragment(a, z);
  int r = threadIdx.x % B, q = threadIdx.x / B;
  int64_t last = cut.from + cut.count - 1;
  if (cut.count > 1) {
    if (q == 0) a.sum[p * B + r] = s;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) arrived = atomicAdd(&a.arrived[z.row_block], 1);
    for (int f = 0; f < m.fuse.ndot && threadIdx.x == 0 && p < last; f++) m.fuse.partial[f][a.parts + p] = 0;
    __syncthreads();
    if (arrived + 1 < cut.count) return;
    __threadfence();
    s = 0;
    if (q < Q)
      for (int64_t k = q; k < cut.count; k += Q) s += __ldcg(a.sum + (cut.from + k) * B + r);
    s = JoinThreads<B>(s, share);
    if (threadIdx.x == 0) a.arrived[z.row_block] = 0;
  }
  int64_t i = cut.row * B + r;
  double y = FinishBlockRow(m, q == 0, i, s);
  FuseRow<T>(m, q == 0, i, y, a.parts + last);
}

/* Stores the block rows of a row block whose first block is `first`, from its terms, and sums their dots.
   begin, end: offsets of the thread's first block row. */
template <int B>
__device__ __forceinline__ void SumRowBlock(const CsrMultArgs &m, const RowBlock &row_block, int64_t first,
                                            const double *term, int64_t begin, int64_t end,
                                            double (&dots)[POISE_MAX_DOTS])
{
  constexpr int Q = ROW_BLOCK_THREADS / B;
  int r = threadIdx.x % B, q = threadIdx.x / B;
  for (int i = q; q < Q && i < row_block.rows; i += Q) {
    if (i > q) TwoOffsets(m.A, row_block.begin + i, row_block.begin + i + 1, begin, end);
    int k = (int)(begin - first), stop = (int)(end - first);
    double s = 0;
    for (; k + 4 <= stop; k += 4)
      s += (term[k * B + r] + term[(k + 1) * B + r]) + (term[(k + 2) * B + r] + term[(k + 3) * B + r]);
    for (; k < stop; k++) s += term[k * B + r];
    int64_t row = (int64_t)(row_block.begin + i) * B + r;
    double y = FinishBlockRow(m, true, row, s);
    for (int f = 0; f < m.fuse.ndot; f++) dots[f] += Factor(m.fuse, f, row, y) * y;
  }
}

/* Reduces the dots of a row block to its partial. */
__device__ __forceinline__ void FuseRowBlock(const CsrMultArgs &m, const double (&dots)[POISE_MAX_DOTS],
                                             int64_t number)
{
  for (int f = 0; f < m.fuse.ndot; f++) {
    double d[1] = {dots[f]};
    BlockReduce<1, COMBINE_SUM, ROW_BLOCK_THREADS>(d);
    if (threadIdx.x == 0) m.fuse.partial[f][number] = d[0];
  }
}

/*
  Block SpMV with a thread block for each fragment and each row block. Traffic: 8 bytes per scalar, 4 per
  block and per offset, 16 per row block, x and y once. Thread (r, q) multiplies row r of blocks q, q + Q,
  ... as these arrive in shared memory. A fragment is summed over q. The terms of a row block stay in
  shared memory, and B threads sum each block row from there.
*/
template <int B, bool BULK>
static __global__ void __launch_bounds__(ROW_BLOCK_THREADS, B <= 4    ? 10
                                                            : B <= 9  ? 8
                                                            : B <= 16 ? 6
                                                                      : 1)
    BcsrBalanced(const __grid_constant__ CsriMultArgs a, int room, int offset)
{
  constexpr int Q = ROW_BLOCK_THREADS / B, UNROLL = B <= 16 ? 2 : 1;
  extern __shared__ __align__(128) double tile[];
  __shared__ uint64_t barrier;
  const CsrMultArgs &m = a.m;
  double *term = tile + offset;
  PdlLaunchDependents();
  PdlWait();
  if (m.skip && *m.skip != 0) return;
  int64_t number = blockIdx.x, first;
  bool cut = number < a.nfragment;
  RowFragment fragment = {0};
  RowBlock row_block = {0};
  int nz;
  if (cut) {
    fragment = Load(a.part + number);
    first = fragment.first, nz = fragment.nz;
  } else {
    number = poiseBlockOf(&m, number - a.nfragment);
    row_block = Load(a.row_block + number);
    first = row_block.first, nz = row_block.nz;
  }
  int r = threadIdx.x % B, q = threadIdx.x / B, step = BULK ? room : nz + 1;
  unsigned round = 0;
  double s = 0;
  int64_t begin = 0, end = 0; /* of this thread's first row */
  for (int at = 0; at == 0 || at < nz; at += step, round++) {
    int n = at + step < nz ? step : nz - at;
    const int32_t *col = m.A.col + first + at;
    const double *val = m.A.val + (first + at) * B * B;
    if (BULK) val = FetchBlocks<B>(m.A, first + at, first + at + n, tile, &barrier, round == 0);
    if (round == 0 && q < Q && q < row_block.rows)
      TwoOffsets(m.A, row_block.begin + q, row_block.begin + q + 1, begin, end);
    if (BULK) __syncthreads();
    auto wait = [&] {
      if (BULK) BulkWait(&barrier, round % 2);
    };
    auto put = [&](int k, double t) {
      if (cut)
        s += t;
      else
        term[(at + k) * B + r] = t;
    };
    if (q < Q) RowOfBlocks<B, Q, UNROLL>(m, val, col, q, n, r, wait, put);
    wait();
    if (at + step < nz) __syncthreads();
  }
  if (cut) {
    JoinFragments<B>(a, number, fragment, JoinThreads<B>(s, term), term);
    return;
  }
  __syncthreads();
  double dots[POISE_MAX_DOTS] = {0};
  SumRowBlock<B>(m, row_block, first, term, begin, end, dots);
  FuseRowBlock(m, dots, number);
}

template <int B> static PoiseErr Balanced(Device *dev, const BcsrMultArgs *args)
{
  const CsriMultArgs *a = &args->c;
  int64_t most = 2 * a->limit, room = RowBlockRoom(a->limit, B), numbers = TileNumbers(room, B);
  int64_t terms = most * B > ROW_BLOCK_THREADS ? most * B : ROW_BLOCK_THREADS;
  unsigned grid = (unsigned)(a->nfragment + a->m.nblock);
  if (!CanBulk(dev, &a->m))
    return LaunchPdl(dev, BcsrBalanced<B, false>, grid, ROW_BLOCK_THREADS, (size_t)terms * sizeof(double), *a,
                     0, 0);
  return LaunchPdl(dev, BcsrBalanced<B, true>, grid, ROW_BLOCK_THREADS,
                   (size_t)(numbers + terms) * sizeof(double), *a, (int)room, (int)numbers);
}

PoiseErr poiseCudaBcsrBalanced(Device *dev, const BcsrMultArgs *a)
{
  typedef PoiseErr (*Run)(Device *, const BcsrMultArgs *);
  static const Run sizes[] = {FROM_2_TO_32(Balanced)};
  return a->c.nfragment + a->c.m.nblock ? sizes[a->c.m.A.b - 2](dev, a) : POISE_OK;
}

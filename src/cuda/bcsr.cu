/* SPDX-License-Identifier: BSD-3-Clause */
/* Block SpMV for matrices with block rows of about one length: groups of block rows go through shared
   memory. */
#include "mat/product/transposed_kernels.h"
#include "bcsr.h"
#include "fragments.h"

/*
  Which thread has which part of a block, for blocks of b x b (H200, 27 blocks a row, 2 GB, bench/results).
  Up to b = 12 a thread has a column of every PARTS-th block of a block row. So it loads one scalar of x for
  b of the matrix, many of them at once. For larger b the sums of a column take too many registers, and a
  thread has a row of every PARTS-th block (poiseBcsrParts).
*/
constexpr __host__ __device__ bool ByColumns(int b)
{
  return b <= 12;
}

constexpr __host__ __device__ int GroupThreads(int b)
{
  return (poiseBcsrGroup(b) * b * poiseBcsrParts(b) + 31) / 32 * 32;
}

/* Blocks that a thread has in flight. */
enum { UNROLL = 8 };
constexpr __host__ __device__ int RowRound(int b)
{
  return b <= 16 ? 2 : 1;
}

/* Groups resident on a multiprocessor: occupancy (more loads in flight) is worth more than registers for a
   thread. Where threads load values in fp32 (not fetched by bulk copies), less would spill. */
constexpr __host__ __device__ int Resident(int b, bool fetched = true)
{
  int registers = b <= 3 ? 48 : b <= 6 ? 56 : b <= 9 ? 64 : 72;
  if (!fetched) return 1;
  return b <= 12 ? 4 * (512 / registers) / (GroupThreads(b) / 32) : 1;
}

/* Adds this thread's column of blocks k, k + PARTS, ... below n of a block row, times x, to s. c: the block
   columns of UNROLL of them. FIRST: sets s instead. */
template <int B, bool GHOSTS, bool FIRST, typename Args, typename Wait>
__device__ __forceinline__ void AddColumns(const Args &a, const Entry<Args> *val, const int32_t (&c)[UNROLL],
                                           int k, int n, int j, Wait wait, double (&s)[B])
{
  Entry<Args> x[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; u++) x[u] = LoadIf(c[u] >= 0, Factors<B, GHOSTS>(a, c[u]) + j, Entry<Args>(0));
  wait();
  if (FIRST) { /* up to here s takes no registers */
#pragma unroll
    for (int r = 0; r < B; r++) s[r] = 0;
  }
#pragma unroll
  for (int u = 0; u < UNROLL; u++)
    if (k + u * poiseBcsrParts(B) < n) {
      const Entry<Args> *v = val + (k + u * poiseBcsrParts(B)) * B * B + j * B;
#pragma unroll
      for (int r = 0; r < B; r++) s[r] += (double)v[r] * x[u];
    }
}

/* Transposes sums of columns to sums of rows: thread (j, p) returns the sum of row j over its part p. */
template <int B, int T>
__device__ __forceinline__ double TurnColumns(const double (&s)[B], double *share, int j)
{
  __syncthreads();
#pragma unroll
  for (int r = 0; r < B; r++) share[r * T + threadIdx.x] = s[r];
  __syncthreads();
  double sum = 0;
  for (int q = 0; q < B; q++) sum += share[j * T + ((int)threadIdx.x - j + q) % T];
  return sum;
}

/* Epilogue of a group, from the sums of its threads, which are of columns or of rows of blocks. */
template <int B, int S, typename Args>
__device__ __forceinline__ void FinishGroup(const Args &a, const double (&s)[S], double *tile, double *part,
                                            int64_t group, bool active)
{
  constexpr int P = poiseBcsrParts(B), T = GroupThreads(B);
  int j = threadIdx.x % B;
  double sum = s[0];
  if constexpr (ByColumns(B)) sum = TurnColumns<B, T>(s, tile, j);
  part[threadIdx.x] = sum;
  __syncthreads();
  bool mine = active && threadIdx.x / B % P == 0;
  if (mine)
    for (int q = 1; q < P; q++) sum += part[threadIdx.x + q * B];
  int64_t row = (group * poiseBcsrGroup(B) + threadIdx.x / (B * P)) * B + j;
  double y = FinishBlockRow(a, mine, row, sum);
  FuseRow<T>(a, mine, row, y, group);
}

/*
  Block SpMV, a thread block per group. Traffic: 8 bytes per scalar, 4 per block and per offset, x and y
  once. BULK: the values of a group come to shared memory by bulk copies, at most `room` blocks at a time,
  while threads gather x. Else values are read from global memory.
*/
template <int B, bool BULK, typename Args>
static __global__ void __launch_bounds__(GroupThreads(B), Resident(B, BULK || sizeof(Entry<Args>) == 8))
    BcsrEven(const __grid_constant__ Args a, int room)
{
  constexpr int P = poiseBcsrParts(B), R = poiseBcsrGroup(B), T = GroupThreads(B);
  extern __shared__ __align__(128) double tile[];
  __shared__ uint64_t barrier;
  __shared__ double part[T];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t group = poiseBlockOf(&a, blockIdx.x), first = group * R,
          last = first + R < a.A.m ? first + R : a.A.m;
  int64_t begin, end;
  TwoOffsets(a.A, first, last, begin, end);
  int blocks = (int)(end - begin), step = BULK ? room : 1 << 20; /* places of scalars have 32 bits */
  int j = threadIdx.x % B, p = threadIdx.x / B % P; /* column or row within blocks, part of the block row */
  int i = (int)threadIdx.x / (B * P);               /* block row of the group: blocks [from, to) */
  bool active = threadIdx.x < R * B * P && first + i < last;
  int from = 0, to = 0;
  double s[ByColumns(B) ? B : 1] = {0};
  unsigned round = 0;
  for (int at = 0; at < blocks; at += step, round++) {
    int stop = at + step < blocks ? at + step : blocks;
    const Entry<Args> *val = a.A.val + (begin + at) * B * B;
    const int32_t *col = a.A.col + begin + at;
    if (BULK) val = FetchBlocks<B>(a.A, begin + at, begin + stop, (Entry<Args> *)tile, &barrier, round == 0);
    if (round == 0 && active) {
      int64_t mine, next;
      TwoOffsets(a.A, first + i, first + i + 1, mine, next);
      from = (int)(mine - begin), to = (int)(next - begin);
    }
    if (BULK) __syncthreads();
    auto wait = [&] {
      if (BULK) BulkWait(&barrier, round % 2);
    };
    int low = from > at ? from : at, k = low + ((p - (low - from)) & (P - 1)) - at,
        n = (to < stop ? to : stop) - at;
    if constexpr (ByColumns(B))
      for (; k < n; k += P * UNROLL) {
        int32_t c[UNROLL];
        FetchColumns<UNROLL, P>(col, k, n, c);
        AddColumns<B, true, false>(a, val, c, k, n, j, wait, s);
      }
    else
      RowOfBlocks<B, P, RowRound(B)>(a, val, col, k, n, j, wait, [&](int, double t) { s[0] += t; });
    wait();
    if (stop < blocks) __syncthreads();
  }
  FinishGroup<B>(a, s, tile, part, group, active);
}

/*
  The common case: the blocks of a group fit into shared memory at once, there are no ghosts, and offsets
  have 32 bits. This takes fewer registers and instructions. Offsets, then columns, then x are each fetched
  at once and wait for nothing else. early: all but x is fetched before the kernel ahead has ended.
*/
template <int B, typename Args>
static __global__ void __launch_bounds__(GroupThreads(B), Resident(B))
    BcsrWhole(const __grid_constant__ Args a, bool early)
{
  constexpr int P = poiseBcsrParts(B), R = poiseBcsrGroup(B), T = GroupThreads(B);
  extern __shared__ __align__(128) double tile[];
  __shared__ uint64_t barrier;
  __shared__ double part[T];
  PdlLaunchDependents();
  double skip = 0;
  auto begins = [&] {
    PdlWait();
    if (a.skip) skip = *a.skip;
  };
  if (!early) begins();
  int group = (int)a.first + blockIdx.x, first = group * R, last = first + R < a.A.m ? first + R : (int)a.A.m;
  int i = first + (int)threadIdx.x / (B * P), j = threadIdx.x % B, p = threadIdx.x / B % P;
  bool active = threadIdx.x < R * B * P && i < last;
  int begin = __ldg(a.A.ptr32 + first), end = __ldg(a.A.ptr32 + last), k = 0, n = 0;
  if (active) k = __ldg(a.A.ptr32 + i) - begin + p, n = __ldg(a.A.ptr32 + i + 1) - begin;
  if (skip != 0) return;
  const Entry<Args> *val = FetchBlocks<B>(a.A, begin, end, (Entry<Args> *)tile, &barrier, true);
  const int32_t *col = a.A.col + begin;
  auto wait = [&] { BulkWait(&barrier, 0); };
  auto late = [&] { /* a block that ends has no copy under way */
                    if (early) begins();
                    if (skip != 0) wait();
                    return skip != 0;
  };
  double s[ByColumns(B) ? B : 1];
  if constexpr (ByColumns(B)) {
    int32_t c[UNROLL];
    FetchColumns<UNROLL, P>(col, k, n, c);
    __syncthreads();
    if (late()) return;
    AddColumns<B, false, true>(a, val, c, k, n, j, wait, s);
    for (k += P * UNROLL; k < n; k += P * UNROLL) {
      FetchColumns<UNROLL, P>(col, k, n, c);
      AddColumns<B, false, false>(
          a, val, c, k, n, j, [] {}, s);
    }
  } else {
    __syncthreads();
    if (late()) return;
    s[0] = 0;
    RowOfBlocks<B, P, RowRound(B), false>(a, val, col, k, n, j, wait, [&](int, double t) { s[0] += t; });
    wait();
  }
  FinishGroup<B>(a, s, tile, part, group, active);
}

/* Fragment p of a split block column by one warp. The lanes share the scalars of one scalar column after the
   other. */
__device__ __forceinline__ void FragmentOfColumns(const CsrMultTransposeArgs &a, int64_t p)
{
  if (p >= a.c.nfragment) return;
  const CsrMultArgs &m = a.c.m;
  RowFragment z = Load(a.c.part + p);
  CutRow cut = RowOfFragment(a.c, z);
  unsigned lane = threadIdx.x % 32, b = (unsigned)m.A.b, numbers = (unsigned)z.nz * b;
  for (unsigned c = 0; c < b; c++) {
    double s = 0;
    for (unsigned n = lane; n < numbers; n += 32) {
      int64_t k = z.first + n / b;
      double v = m.A.val[(poisePermuted(&a, k) * b + c) * b + n % b];
      s += m.x ? v * m.x[m.A.col[k] * (int64_t)b + n % b] : fabs(v);
    }
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) a.c.sum[p * b + c] = s;
  }
  if (!ArrivesLast(a.c, z, cut)) return;
  for (unsigned c = 0; c < b; c++) {
    double s = SumOfFragments(a.c, cut, b, c);
    if (lane == 0) *poiseOfColumn(&a, cut.row * b + c) = s;
  }
}

/* y = A^T x with a thread per scalar of y or of the ghosts. The fragments of split columns come first, with a
   warp each. */
static __global__ void __launch_bounds__(THREADS)
    BcsrMultTranspose(const __grid_constant__ CsrMultTransposeArgs a)
{
  const CsrMultArgs &m = a.c.m;
  const CsrView &A = m.A;
  int64_t fragments = (a.c.nfragment + WARPS - 1) / WARPS, block = blockIdx.x;
  if (block < fragments) {
    FragmentOfColumns(a, block * WARPS + threadIdx.x / 32);
    return;
  }
  int64_t t = (block - fragments) * THREADS + threadIdx.x, b = A.b, j = t / b, c = t % b;
  if (j >= A.m) return;
  int64_t k = poiseCsrOffset(&A, j), end = poiseCsrOffset(&A, j + 1);
  if (a.c.nfragment && end - k >= a.c.limit) return;
  double s = 0;
  for (; k < end; k++) {
    const double *v = A.val + (poisePermuted(&a, k) * b + c) * b;
    for (int64_t r = 0; r < b; r++) s += m.x ? v[r] * m.x[A.col[k] * b + r] : fabs(v[r]);
  }
  *poiseOfColumn(&a, t) = s;
}

/* The same with wide vectors: a thread per number of y or of the ghosts, neighbours for the columns of x.
   Those of a fragment share its entries where there are fewer columns than lanes. */
__device__ __forceinline__ double WideTerms(const CsrMultTransposeArgs &a, int64_t k, int64_t end,
                                            int64_t step, int64_t c, int wide)
{
  const CsrMultArgs &m = a.c.m;
  int64_t b = m.A.b;
  double s = 0;
  for (; k < end; k += step) {
    const double *v = m.A.val + (poisePermuted(&a, k) * b + c) * b, *x = m.x + m.A.col[k] * b * a.wide + wide;
    for (int64_t r = 0; r < b; r++) s += v[r] * x[r * a.wide];
  }
  return s;
}

__device__ __forceinline__ void WideFragment(const CsrMultTransposeArgs &a, int width, int64_t p)
{
  if (p >= a.c.nfragment) return;
  RowFragment z = Load(a.c.part + p);
  CutRow cut = RowOfFragment(a.c, z);
  int lane = threadIdx.x % 32, wide = lane % width < a.wide ? lane % width : 0;
  int64_t b = a.c.m.A.b, size = b * a.wide;
  for (int64_t c = 0; c < b; c++) {
    double s = WideTerms(a, z.first + lane / width, z.first + z.nz, 32 / width, c, wide);
    for (int step = 16; step >= width; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
    if (lane < a.wide) a.c.sum[p * size + c * a.wide + lane] = s;
  }
  __syncwarp();
  if (!ArrivesLast(a.c, z, cut)) return;
  for (int64_t c = 0; c < size; c++) {
    double s = SumOfFragments(a.c, cut, size, c);
    if (lane == 0) poiseOfWideColumn(&a, cut.row * b)[c] = s;
  }
}

/* width: the power of two from the number of columns on */
static __global__ void __launch_bounds__(THREADS)
    BcsrMultTransposeWide(const __grid_constant__ CsrMultTransposeArgs a, int width)
{
  const CsrView &A = a.c.m.A;
  int64_t fragments = (a.c.nfragment + WARPS - 1) / WARPS, block = blockIdx.x;
  if (block < fragments) {
    WideFragment(a, width, block * WARPS + threadIdx.x / 32);
    return;
  }
  int64_t t = (block - fragments) * THREADS + threadIdx.x, number = t / a.wide, j = number / A.b;
  if (j >= A.m) return;
  int64_t k = poiseCsrOffset(&A, j), end = poiseCsrOffset(&A, j + 1);
  if (a.c.nfragment && end - k >= a.c.limit) return;
  int wide = (int)(t - number * a.wide);
  poiseOfWideColumn(&a, number)[wide] = WideTerms(a, k, end, 1, number - j * A.b, wide);
}

/* ---- the choice ------------------------------------------------------------------------------ */

template <int B, typename Args> static PoiseErr Even(Device *dev, const Args *a)
{
  constexpr int T = GroupThreads(B);
  int64_t room = TileBlocks<Entry<Args>>(a->tile, B);
  size_t sums = ByColumns(B) ? (size_t)T * B * sizeof(double) : 0,
         bytes = (size_t)TileNumbers<Entry<Args>>(room, B) * sizeof(Entry<Args>);
  if (!CanBulk(dev, a)) return LaunchPdl(dev, BcsrEven<B, false, Args>, (unsigned)a->nblock, T, sums, *a, 0);
  if (room == a->tile && !a->ghost && !a->order && a->A.ptr32 && a->A.m < INT32_MAX - T)
    return LaunchPdl(dev, BcsrWhole<B, Args>, (unsigned)a->nblock, T, bytes < sums ? sums : bytes, *a,
                     a->ranges && poiseCudaInLoop(dev));
  return LaunchPdl(dev, BcsrEven<B, true, Args>, (unsigned)a->nblock, T, bytes < sums ? sums : bytes, *a,
                   (int)room);
}

extern "C" PoiseErr poiseCuda_bcsr_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultArgs *);
  static const Run even[] = {FROM_2_TO_32(Even)};
  const BcsrMultArgs *a = (const BcsrMultArgs *)args;
  if (a->form == BCSR_BALANCED) return poiseCudaBcsrBalanced(dev, a);
  if (!a->c.m.nblock) return POISE_OK;
  return a->form == BCSR_EVEN ? even[a->c.m.A.b - 2](dev, &a->c.m) : poiseCudaBcsrPaper(dev, a);
}

/* By groups. */
extern "C" PoiseErr poiseCuda_bcsr_mult_f32(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultArgs_f32 *);
  static const Run even[MAX_SINGLE_BLOCK - 1] = {Even<2>, Even<3>, Even<4>, Even<5>,
                                                 Even<6>, Even<7>, Even<8>};
  const CsrMultArgs_f32 *a = (const CsrMultArgs_f32 *)args;
  return a->nblock ? even[a->A.b - 2](dev, a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_bcsr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  int64_t n = a->c.m.A.m * a->c.m.A.b;
  unsigned fragments = (unsigned)((a->c.nfragment + WARPS - 1) / WARPS);
  unsigned grid = Grid(a->wide > 1 ? n * a->wide : n) + fragments;
  if (!grid) return POISE_OK;
  if (a->wide <= 1) {
    BcsrMultTranspose<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
    return POISE_OK;
  }
  int width = 1;
  while (width < a->wide) width *= 2;
  BcsrMultTransposeWide<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a, width);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweeps with wide vectors, of k columns: entries of the triangles are read once for all columns, and a row
   waits once for the numbers of all. So k columns take little longer than one. */
#include "sweep.h"
#include "wide.h"

/* ---- rows of numbers ------------------------------------------------------------------------- */

/* A lane for each column, side by side as their numbers are. Lanes beyond the last column do what that one's
   lane does, and leave nothing. P: parts. */
template <int P> struct SomeColumns {
  static constexpr int parts = P;
  int k, apart, column, part;
  bool leaves;
  __device__ __forceinline__ SomeColumns(const SweepArgs &a) : k(a.columns)
  {
    int lane = threadIdx.x % 32;
    apart = 1 << (32 - __clz(k - 1)); /* the first power of 2 that is not less than k */
    part = lane / apart % P;
    column = lane % apart < k ? lane % apart : k - 1;
    leaves = part == 0 && column == lane % apart;
  }
};

template <int P> static void Run(Device *dev, const SweepArgs *a, int apart)
{
  Sweep<SomeColumns<P>>
      <<<SweepGrid(dev, a, P * apart, SWEEP_THREADS), SWEEP_THREADS, 0, poiseCudaStream(dev)>>>(*a);
}

static void RunNumbers(Device *dev, const SweepArgs *a)
{
  int apart = 2, parts = SweepParts(a);
  while (apart < a->columns) apart *= 2;
  if (parts > 32 / apart) parts = 32 / apart;
  (parts == 1   ? Run<1>
   : parts == 2 ? Run<2>
   : parts == 4 ? Run<4>
   : parts == 8 ? Run<8>
                : Run<16>)(dev, a, apart);
}

/* ---- rows of blocks -------------------------------------------------------------------------- */

enum {
  WARP = 32,
  IN_FLIGHT = CHUNK * WARP, /* numbers that a warp awaits at once, or those of one block of y */
  MOST_VALUES = 1024        /* of the blocks of the matrix that are there meanwhile */
};

/* Blocks of b x b of a row that a warp works on at once. */
static __host__ __device__ __forceinline__ int BlocksAtOnce(int b, int k)
{
  int awaited = IN_FLIGHT / (b * k), values = MOST_VALUES / (b * b);
  return awaited < 1 ? 1 : awaited < values ? awaited : values;
}

/* Divides by d, from 2 to 1024, what is below 2048, in few instructions: n (factor d - 2^22) is less than
   2^22. */
struct Divisor {
  unsigned factor;
  __device__ __forceinline__ Divisor(int d) : factor(((1u << 22) + (unsigned)d - 1) / (unsigned)d)
  {
  }
  __device__ __forceinline__ int Into(int n) const
  {
    return (int)((unsigned)n * factor >> 22);
  }
};

/* A row of blocks, which a warp has, in shared memory: `blocks` blocks of the matrix, and those of y that go
   with them; its inverse block d; and B k numbers each of the sum so far and of what y keeps. A lane has
   every 32nd number. */
template <int B> struct BlockRow {
  static constexpr int size = B * B;
  int k, numbers, blocks; /* numbers: B k */
  Divisor by_columns, by_numbers;
  double *y, *val, *d, *sum, *kept;
  __device__ __forceinline__ BlockRow(const SweepArgs &a, double *shared)
      : k(a.columns), numbers(B * k), blocks(BlocksAtOnce(B, k)), by_columns(k), by_numbers(numbers)
  {
    y = shared, val = y + blocks * numbers, d = val + blocks * size, sum = d + size, kept = sum + numbers;
  }
};

/* At most 40 KB, which every GPU has. */
static size_t BytesOfBlockRow(int b, int k)
{
  int blocks = BlocksAtOnce(b, k);
  return (size_t)((blocks + 2) * b * k + (blocks + 1) * b * b) * sizeof(double);
}

/* What a row needs before it waits. */
template <int B>
__device__ __forceinline__ void BeginBlockRow(const SweepArgs &a, const BlockRow<B> &r, int64_t i)
{
  for (int e = threadIdx.x; e < r.numbers; e += WARP) {
    r.sum[e] = a.x ? a.x[i * r.numbers + e] : 0;
    r.kept[e] = a.keep != 0 ? a.keep * a.y[i * r.numbers + e] : 0;
  }
  for (int e = threadIdx.x; a.d && e < r.size; e += WARP) r.d[e] = a.d[i * r.size + e];
}

/* The blocks of y, or of new values, that go with the blocks [first, first + count) of row i. Polls for those
   that are not there yet. */
template <int B>
__device__ __forceinline__ void AwaitBlocks(const SweepArgs &a, const BlockRow<B> &r, int64_t i,
                                            int64_t first, int count)
{
  int all = count * r.numbers;
  for (int e = threadIdx.x; e < all; e += IN_FLIGHT) {
    Chunk c = {};
#pragma unroll
    for (int q = 0; q < CHUNK; q++) {
      int at = e + q * WARP, block = r.by_numbers.Into(at);
      int64_t j = at < all ? a.t.col[first + block] : i, from = j * r.numbers + (at - block * r.numbers);
      c.wanted[q] = a.work + from;
      if (a.backward ? j > i : j < i)
        c.missing |= 1u << q;
      else if (j != i)
        c.v[q] = a.y[from];
    }
    while (c.missing) PollChunk(c);
#pragma unroll
    for (int q = 0; q < CHUNK; q++)
      if (e + q * WARP < all) r.y[e + q * WARP] = c.v[q];
  }
}

/* Row `row` of a block times a column of k. */
template <int B>
__device__ __forceinline__ double RowTimes(const double *block, int row, const double *y, int k)
{
  double sum = 0;
#pragma unroll
  for (int c = 0; c < B; c++) sum += block[c * B + row] * y[c * k];
  return sum;
}

/* sum -= the blocks [first, first + count) times those of y, but for the diagonal block */
template <int B>
__device__ __forceinline__ void SubtractBlocks(const BlockRow<B> &r, int64_t first, int count, int64_t diag)
{
  for (int e = threadIdx.x; e < r.numbers; e += WARP) {
    int row = r.by_columns.Into(e), column = e - row * r.k;
    double sum = 0;
    for (int q = 0; q < count; q++)
      if (first + q != diag) sum += RowTimes<B>(r.val + q * r.size, row, r.y + q * r.numbers + column, r.k);
    r.sum[e] -= sum;
  }
}

/* Leaves D sum, or sum, with its factor and what is kept. */
template <int B>
__device__ __forceinline__ void FinishBlockRow(const SweepArgs &a, const BlockRow<B> &r, int64_t i)
{
  for (int e = threadIdx.x; e < r.numbers; e += WARP) {
    int row = r.by_columns.Into(e), column = e - row * r.k;
    double value = a.scale * (a.d ? RowTimes<B>(r.d, row, r.sum + column, r.k) : r.sum[e]);
    Leave(a.work + i * r.numbers + e, a.keep == 0 ? value : r.kept[e] + value);
  }
}

/* Sweeps block row i by a warp. The farthest blocks come first, as the nearest are the last to be there.
   Traffic: 8 B^2 + 4 bytes per block, d and x once, 8 B k per block of y. */
template <int B>
__device__ __forceinline__ void SweepBlockRow(const SweepArgs &a, const BlockRow<B> &r, int64_t i)
{
  const Triangles &t = a.t;
  int64_t diag = poiseOffset(&t, t.diag, i);
  int64_t begin = a.parts & SWEEP_LOWER ? poiseOffset(&t, t.begin, i) : diag + 1;
  int64_t end = a.parts & SWEEP_UPPER ? poiseOffset(&t, t.end, i) : diag;
  BeginBlockRow(a, r, i);
  __syncwarp();
  for (int64_t done = 0; done < end - begin; done += r.blocks) {
    int count = end - begin - done < r.blocks ? (int)(end - begin - done) : r.blocks;
    int64_t first = a.backward ? end - done - count : begin + done;
    const double *val = a.val + first * r.size;
#pragma unroll 4
    for (int e = threadIdx.x; e < count * r.size; e += WARP) r.val[e] = val[e];
    AwaitBlocks(a, r, i, first, count);
    __syncwarp();
    SubtractBlocks(r, first, count, diag);
    __syncwarp();
  }
  FinishBlockRow(a, r, i);
  __syncwarp();
}

template <int B>
static __global__ void __launch_bounds__(WARP) SweepBlocks(const __grid_constant__ SweepArgs a)
{
  extern __shared__ double shared[];
  const BlockRow<B> r(a, shared);
  if (a.skip && *a.skip != 0) return;
  for (;;) {
    int64_t place = Turn(a.work + a.t.n * r.numbers);
    if (place >= a.t.n) return;
    SweepBlockRow(a, r, a.levels.first[place]);
  }
}

template <int B> static void RunBlocks(Device *dev, const SweepArgs *a)
{
  SweepBlocks<B>
      <<<SweepGrid(dev, a, WARP, WARP), WARP, BytesOfBlockRow(B, a->columns), poiseCudaStream(dev)>>>(*a);
}

static void RunSizes(Device *dev, const SweepArgs *a)
{
  typedef void (*Size)(Device *, const SweepArgs *);
  static const Size sizes[] = {FROM_2_TO_32(RunBlocks)};
  sizes[a->t.b - 2](dev, a);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* y = work, and the dots of y. A thread has numbers of one column. */
static __global__ void __launch_bounds__(THREADS) FinishColumns(const __grid_constant__ SweepArgs a)
{
  Columns c(a.columns);
  int64_t n = Numbers(a.t), first = (int64_t)blockIdx.x * POISE_BLOCK,
          last = first + POISE_BLOCK < n ? first + POISE_BLOCK : n;
  if (a.skip && *a.skip != 0) return;
  if (c.column >= 0)
    for (int64_t e = first * c.k + threadIdx.x; e < last * c.k; e += ROWS * c.step) {
      double y[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; r++) y[r] = e + r * c.step < last * c.k ? a.work[e + r * c.step] : 0;
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        if (e + r * c.step < last * c.k) a.y[e + r * c.step] = y[r];
    }
  FuseColumns(a.fuse, c, a.y, first, last, blockIdx.x);
}

extern "C" PoiseErr poiseCuda_sweep_columns(Device *dev, const void *args)
{
  const SweepArgs *a = (const SweepArgs *)args;
  int64_t n = Numbers(a->t);
  if (!n) return POISE_OK;
  TRY(ClearSweep(dev, a, n * a->columns));
  (a->t.b ? RunSizes : RunNumbers)(dev, a);
  FinishColumns<<<(unsigned)POISE_NBLOCKS(n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

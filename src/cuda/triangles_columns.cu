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

/* Blocks of a row that a warp works on at once. */
static __host__ __device__ __forceinline__ int BlocksAtOnce(int b, int k)
{
  int awaited = IN_FLIGHT / (b * k), values = MOST_VALUES / (b * b);
  return awaited < 1 ? 1 : awaited < values ? awaited : values;
}

/* A row of blocks, which a warp has, in shared memory: `blocks` blocks of the matrix, and those of y that go
   with them; its inverse block d; and b k numbers each of the sum so far and of what y keeps. A lane has
   every 32nd number. */
struct BlockRow {
  int b, k, numbers, blocks; /* numbers: b k */
  double *y, *val, *d, *sum, *kept;
  __device__ __forceinline__ BlockRow(const SweepArgs &a, double *shared)
  {
    b = a.t.b, k = a.columns, numbers = b * k, blocks = BlocksAtOnce(b, k);
    y = shared, val = y + blocks * numbers, d = val + blocks * b * b, sum = d + b * b, kept = sum + numbers;
  }
};

/* At most 40 KB, which every GPU has. */
static size_t BytesOfBlockRow(int b, int k)
{
  int blocks = BlocksAtOnce(b, k);
  return (size_t)((blocks + 2) * b * k + (blocks + 1) * b * b) * sizeof(double);
}

/* What a row needs before it waits. */
__device__ __forceinline__ void BeginBlockRow(const SweepArgs &a, const BlockRow &r, int64_t i)
{
  int size = r.b * r.b;
  for (int e = threadIdx.x; e < r.numbers; e += WARP) {
    r.sum[e] = a.x ? a.x[i * r.numbers + e] : 0;
    r.kept[e] = a.keep != 0 ? a.keep * a.y[i * r.numbers + e] : 0;
  }
  for (int e = threadIdx.x; a.d && e < size; e += WARP) r.d[e] = a.d[i * size + e];
}

/* The blocks of y, or of new values, that go with the blocks [first, first + count) of row i. Polls for those
   that are not there yet. */
__device__ __forceinline__ void AwaitBlocks(const SweepArgs &a, const BlockRow &r, int64_t i, int64_t first,
                                            int count)
{
  int all = count * r.numbers;
  for (int e = threadIdx.x; e < all; e += IN_FLIGHT) {
    Chunk c = {};
#pragma unroll
    for (int q = 0; q < CHUNK; q++) {
      int at = e + q * WARP;
      int64_t j = at < all ? a.t.col[first + at / r.numbers] : i, from = j * r.numbers + at % r.numbers;
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

/* sum -= the blocks [first, first + count) times those of y, but for the diagonal block */
__device__ __forceinline__ void SubtractBlocks(const BlockRow &r, int64_t first, int count, int64_t diag)
{
  for (int e = threadIdx.x; e < r.numbers; e += WARP) {
    int row = e / r.k, column = e % r.k;
    double sum = 0;
    for (int q = 0; q < count; q++) {
      const double *val = r.val + q * r.b * r.b + row, *y = r.y + q * r.numbers + column;
      if (first + q == diag) continue;
      for (int c = 0; c < r.b; c++) sum += val[c * r.b] * y[c * r.k];
    }
    r.sum[e] -= sum;
  }
}

/* Leaves D sum, or sum, with its factor and what is kept. */
__device__ __forceinline__ void FinishBlockRow(const SweepArgs &a, const BlockRow &r, int64_t i)
{
  for (int e = threadIdx.x; e < r.numbers; e += WARP) {
    int row = e / r.k, column = e % r.k;
    double value = a.d ? 0 : r.sum[e];
    for (int c = 0; a.d && c < r.b; c++) value += r.d[c * r.b + row] * r.sum[c * r.k + column];
    value *= a.scale;
    Leave(a.work + i * r.numbers + e, a.keep == 0 ? value : r.kept[e] + value);
  }
}

/* Sweeps block row i by a warp. The farthest blocks come first, as the nearest are the last to be there.
   Traffic: 8 b^2 + 4 bytes per block, d and x once, 8 b k per block of y. */
__device__ __forceinline__ void SweepBlockRow(const SweepArgs &a, const BlockRow &r, int64_t i)
{
  const Triangles &t = a.t;
  int size = r.b * r.b;
  int64_t diag = poiseOffset(&t, t.diag, i);
  int64_t begin = a.parts & SWEEP_LOWER ? poiseOffset(&t, t.begin, i) : diag + 1;
  int64_t end = a.parts & SWEEP_UPPER ? poiseOffset(&t, t.end, i) : diag;
  BeginBlockRow(a, r, i);
  __syncwarp();
  for (int64_t done = 0; done < end - begin; done += r.blocks) {
    int count = end - begin - done < r.blocks ? (int)(end - begin - done) : r.blocks;
    int64_t first = a.backward ? end - done - count : begin + done;
    const double *val = a.val + first * size;
#pragma unroll 4
    for (int e = threadIdx.x; e < count * size; e += WARP) r.val[e] = val[e];
    AwaitBlocks(a, r, i, first, count);
    __syncwarp();
    SubtractBlocks(r, first, count, diag);
    __syncwarp();
  }
  FinishBlockRow(a, r, i);
  __syncwarp();
}

static __global__ void __launch_bounds__(WARP) SweepBlocks(const __grid_constant__ SweepArgs a)
{
  extern __shared__ double shared[];
  const BlockRow r(a, shared);
  if (a.skip && *a.skip != 0) return;
  for (;;) {
    int64_t place = Turn(a.work + a.t.n * r.numbers);
    if (place >= a.t.n) return;
    SweepBlockRow(a, r, a.levels.first[place]);
  }
}

static void RunBlocks(Device *dev, const SweepArgs *a)
{
  SweepBlocks<<<SweepGrid(dev, a, WARP, WARP), WARP, BytesOfBlockRow(a->t.b, a->columns),
                poiseCudaStream(dev)>>>(*a);
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
  (a->t.b ? RunBlocks : RunNumbers)(dev, a);
  FinishColumns<<<(unsigned)POISE_NBLOCKS(n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

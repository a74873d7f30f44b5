/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows that wait for each other on a GPU, as those of triangles do. Warps take rows in the order of their
  levels. A row waits for a value that it depends on by polling it: a value that is not there yet is the bit
  pattern MISSING. There is no kernel per level, since a plane grid has thousands of levels. The rows of a
  warp may depend on each other, so one loop polls for all of them. The arithmetic of a row does not depend on
  who waits, so neither do the bits.
*/
#ifndef POISE_SWEEP_H
#define POISE_SWEEP_H

#include "pc/triangles_kernels.h"
#include "cuda.h"

#define MISSING 0xffffffffffffffffull /* as memset leaves it: a NaN that no arithmetic yields */

/* ---- values that other thread blocks wait for ------------------------------------------------ */

__device__ __forceinline__ bool Look(const double *p, double *v)
{
  unsigned long long bits;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");
  *v = __longlong_as_double((long long)bits);
  return bits != MISSING;
}

__device__ __forceinline__ void Leave(double *p, double v)
{
  unsigned long long bits = (unsigned long long)__double_as_longlong(v);
  if (bits == MISSING) bits = 0x7ff8000000000000ull; /* a NaN of the input */
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(bits) : "memory");
}

/* A warp draws its rows when it starts to run. So all rows that it waits for belong to warps that run or have
   run. */
__device__ __forceinline__ int64_t Turn(double *ticket)
{
  unsigned turn = 0;
  if (threadIdx.x % 32 == 0) turn = atomicAdd((unsigned *)ticket, 1u) + 1u; /* starts as MISSING: -1 */
  return __shfl_sync(0xffffffff, turn, 0);
}

__host__ __device__ __forceinline__ int64_t Numbers(const Triangles &t)
{
  return t.b ? t.n * t.b : t.n;
}

/* ---- entries in flight ----------------------------------------------------------------------- */

enum {
  CHUNK = 4, /* entries that a lane has in flight */
  AHEAD = 4, /* levels in flight: with more the polling takes bandwidth */
  SWEEP_THREADS = 128
};

/* CHUNK entries of a lane: values, and their factors v. A bit of `missing` says that a factor is awaited. */
struct Chunk {
  double val[CHUNK], v[CHUNK];
  const double *wanted[CHUNK];
  unsigned missing;
};

/* Polls the awaited values once. */
__device__ __forceinline__ void PollChunk(Chunk &c)
{
#pragma unroll
  for (int q = 0; q < CHUNK; q++)
    if ((c.missing >> q & 1) && Look(c.wanted[q], &c.v[q])) c.missing &= ~(1u << q);
}

__device__ __forceinline__ double Products(const double (&val)[CHUNK], const double (&v)[CHUNK])
{
  double sum = 0;
#pragma unroll
  for (int q = 0; q < CHUNK; q++) sum += val[q] * v[q];
  return sum;
}

/* ---- sweeps over rows of numbers ------------------------------------------------------------- */

/*
  What a lane has of a row that it shares with its neighbours, where vectors have k columns: `column`, and
  entries part, part + parts, ... of the row. Lanes of the same column are `apart`. A row has parts * apart
  lanes, a power of 2 up to 32. One lane of each column leaves the new value.
*/
template <int L> struct OneColumn {
  static constexpr int k = 1, column = 0, parts = L, apart = 1;
  int part = threadIdx.x % L;
  bool leaves = part == 0;
  __device__ __forceinline__ OneColumn(const SweepArgs &)
  {
  }
};

/* A row of a sweep: y = kept + scale (x - sum). A lane has entries k, k + parts, ... below end. i = -1:
   none. */
struct SweptRow {
  int64_t i, k, end;
  double x, scale, kept;
};

template <typename Lane>
__device__ __forceinline__ SweptRow BeginRow(const SweepArgs &a, const Lane &l, int64_t place)
{
  const Triangles &t = a.t;
  SweptRow row = {-1, 0, 0, 0, a.scale, 0};
  if (place < t.n) {
    int64_t i = row.i = a.levels.first[place], at = i * l.k + l.column;
    row.k = (a.parts & SWEEP_LOWER ? poiseOffset(&t, t.begin, i) : poiseOffset(&t, t.diag, i) + 1) + l.part;
    row.end = a.parts & SWEEP_UPPER ? poiseOffset(&t, t.end, i) : poiseOffset(&t, t.diag, i);
    if (a.x) row.x = a.x[at];
    if (a.d) row.scale *= a.d[i];
    if (a.keep != 0) row.kept = a.keep * a.y[at];
  }
  return row;
}

/* Fetches the next entries of a row. */
template <typename Lane>
__device__ __forceinline__ void FetchChunk(const SweepArgs &a, const Lane &l, SweptRow &row, Chunk &c)
{
#pragma unroll
  for (int q = 0; q < CHUNK; q++, row.k += l.parts) {
    int64_t j = row.k < row.end ? a.t.col[row.k] : row.i, at = j * l.k + l.column;
    c.val[q] = j == row.i ? 0 : a.val[row.k];
    c.v[q] = 0;
    c.wanted[q] = a.work + at;
    if (a.backward ? j > row.i : j < row.i)
      c.missing |= 1u << q;
    else if (j != row.i)
      c.v[q] = a.y[at];
  }
}

/*
  Sweeps the rows at this place of the order and the next ones. New values go to work; y keeps the old ones
  until they are copied. Latency dominates, so all but the awaited values is fetched before the wait. Traffic:
  12 bytes per nonzero, the offsets, 8 k per row for each of work and x. In the order of levels neighbouring
  lanes have rows far apart in memory.
*/
template <typename Lane>
__device__ __forceinline__ void SweepRows(const SweepArgs &a, const Lane &l, int64_t place)
{
  int lane = threadIdx.x % 32, lanes = l.parts * l.apart;
  const unsigned mine = (lanes == 32 ? 0xffffffffu : (1u << lanes) - 1) << (lane / lanes * lanes);
  double sum = 0;
  SweptRow row = BeginRow(a, l, place);
  Chunk c = {};
#pragma unroll
  for (int q = 0; q < CHUNK; q++) c.wanted[q] = a.work;
  for (bool over = row.i < 0; !__all_sync(0xffffffff, over);) {
    if (!c.missing && row.k < row.end) {
      FetchChunk(a, l, row, c);
      if (!c.missing) sum += Products(c.val, c.v);
    }
    if (c.missing) {
      PollChunk(c);
      if (!c.missing) sum += Products(c.val, c.v);
    }
    unsigned left = __ballot_sync(0xffffffff, c.missing || row.k < row.end);
    if (over || (left & mine)) continue;
    for (int step = l.parts / 2; step; step /= 2) sum += __shfl_xor_sync(mine, sum, step * l.apart);
    if (l.leaves) {
      sum = row.scale * (row.x - sum);
      Leave(a.work + row.i * l.k + l.column, a.keep == 0 ? sum : row.kept + sum);
    }
    over = true;
  }
}

template <typename Lane>
static __global__ void __launch_bounds__(THREADS) Sweep(const __grid_constant__ SweepArgs a)
{
  const Triangles &t = a.t;
  if (a.skip && *a.skip != 0) return;
  const Lane l(a);
  int lanes = l.parts * l.apart;
  for (;;) {
    int64_t first = Turn(a.work + t.n * l.k) * (32 / lanes);
    if (first >= t.n) return;
    SweepRows(a, l, first + threadIdx.x % 32 / lanes);
  }
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Thread blocks of a sweep with so many lanes for each row: enough to fetch the next levels' rows ahead. */
static inline unsigned SweepGrid(const Device *dev, const SweepArgs *a, int64_t lanes, int threads)
{
  int64_t all = a->t.n * lanes, some = AHEAD * (a->t.n / a->levels.count + 1) * lanes,
          least = (int64_t)SWEEP_WARPS * dev->model.multiprocessors * dev->model.warp;
  if (some < least) some = least;
  if (some > all) some = all;
  return (unsigned)((some + threads - 1) / threads);
}

/* Before a sweep: all of its numbers are missing, and so is the ticket. */
static inline PoiseErr ClearSweep(Device *dev, const SweepArgs *a, int64_t numbers)
{
  return poiseCudaCheck(
      cudaMemsetAsync(a->work, 0xff, ((size_t)numbers + 1) * sizeof(double), poiseCudaStream(dev)),
      "clearing a sweep");
}

/* Lanes to share the entries of a row that a sweep reads. */
static inline int SweepParts(const SweepArgs *a)
{
  double mean = (double)a->t.nz / (double)a->t.n / (a->parts == (SWEEP_LOWER | SWEEP_UPPER) ? 1 : 2);
  return mean < 6 ? 1 : mean < 12 ? 2 : mean < 24 ? 4 : mean < 96 ? 8 : 32;
}

#endif

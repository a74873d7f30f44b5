/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of block preconditioners: jacobi, pbjacobi, and supervariables. */
#include "pc/blocks_kernels.h"
#include "pc/supervariables_kernels.h"
#include "wide.h"

#include "pc/block_inverse.h"

static const double none = 1e300; /* no bad block */

static __global__ void StartBad(double *bad, double value)
{
  *bad = value;
}

static __global__ void EndBad(double *bad, double value)
{
  if (*bad == value) *bad = -1;
}

/* Doubles that are not negative have the same order as their bits. */
__device__ __forceinline__ void Invert(double *d, int b, int64_t k, double *bad)
{
  if (!poiseInvertBlock(d, b))
    atomicMin((unsigned long long *)bad, (unsigned long long)__double_as_longlong((double)k));
}

/* Launches a kernel that inverts blocks, one per thread, and leaves the first bad one. */
template <typename Args> static PoiseErr Run(Device *dev, void (*invert)(Args), const Args *a)
{
  cudaStream_t stream = poiseCudaStream(dev);
  StartBad<<<1, 1, 0, stream>>>(a->bad, none);
  if (a->nblock) invert<<<(unsigned)((a->nblock + THREADS - 1) / THREADS), THREADS, 0, stream>>>(*a);
  EndBad<<<1, 1, 0, stream>>>(a->bad, none);
  return POISE_OK;
}

static __global__ void InvertBlocks(const __grid_constant__ InvertBlocksArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k >= a.nblock) return;
  double *d = a.d + k * a.b * a.b;
  if (a.b == 1 && a.fix && *d == 0) *d = 1;
  Invert(d, a.b, k, a.bad);
}

/* y = D x with a thread per row. Traffic: 8 b bytes per row, x and y once. */
static __global__ void __launch_bounds__(THREADS) BlockApply(const __grid_constant__ BlockApplyArgs a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    y[r] = 0;
    if (i >= a.n) continue;
    if (!a.d) {
      y[r] = a.x[i];
    } else {
      int64_t block = i / a.b, row = i % a.b;
      for (int j = 0; j < a.b; j++) y[r] += a.d[block * a.b * a.b + j * a.b + row] * a.x[block * a.b + j];
    }
    a.y[i] = y[r];
  }
  FuseDots(a.fuse, y, first, a.n, blockIdx.x);
}

extern "C" PoiseErr poiseCuda_invert_blocks(Device *dev, const void *args)
{
  return Run(dev, InvertBlocks, (const InvertBlocksArgs *)args);
}

extern "C" PoiseErr poiseCuda_block_apply(Device *dev, const void *args)
{
  const BlockApplyArgs *a = (const BlockApplyArgs *)args;
  return a->n ? LaunchPdl(dev, BlockApply, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

/* The same of wide vectors, with a thread per number. */
static __global__ void __launch_bounds__(THREADS) BlockApplyColumns(const __grid_constant__ BlockApplyArgs a)
{
  Columns c(a.columns);
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK,
          last = first + POISE_BLOCK < a.n ? first + POISE_BLOCK : a.n;
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  if (c.column >= 0)
    for (int64_t e = first * c.k + threadIdx.x; e < last * c.k; e += c.step) {
      int64_t i = e / c.k, r = i % a.b;
      const double *d = a.d + (i - r) * a.b + r, *x = a.x + e - r * c.k;
      double y = 0;
      for (int j = 0; j < a.b; j++) y += d[(int64_t)j * a.b] * x[(int64_t)j * c.k];
      a.y[e] = y;
    }
  __syncthreads();
  FuseColumns(a.fuse, c, a.y, first, last, blockIdx.x);
}

extern "C" PoiseErr poiseCuda_block_apply_columns(Device *dev, const void *args)
{
  const BlockApplyArgs *a = (const BlockApplyArgs *)args;
  return a->n ? LaunchPdl(dev, BlockApplyColumns, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

/* ---- supervariables: blocks of different sizes ----------------------------------------------- */

static __global__ void InvertSupervariables(const __grid_constant__ InvertSupervariablesArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k >= a.nblock) return;
  double *d = a.d + a.at[k];
  int64_t first = a.start[k], b = a.start[k + 1] - first;
  for (int64_t e = 0; e < b * b; e++) d[e] = 0;
  for (int64_t i = first; i < first + b; i++) {
    ScalarRow row = poiseNumberRow(&a.A, i);
    for (int64_t k = 0; k < row.n; k++) {
      int64_t j = poiseNumberColumn(&a.A, &row, k) - first;
      if (j >= 0 && j < b) d[j * b + i - first] = a.A.val[poiseNumberPlace(&row, k)];
    }
  }
  Invert(d, (int)b, k, a.bad);
}

/* y = D x with a thread per row, which searches its block. Traffic: 8 b bytes per row, x and y once. */
static __global__ void __launch_bounds__(THREADS)
    ApplySupervariables(const __grid_constant__ ApplySupervariablesArgs a)
{
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    y[r] = 0;
    if (i >= a.n) continue;
    int64_t k = poiseBlockWithRow(a.start, a.nblock, i), begin = a.start[k], b = a.start[k + 1] - begin;
    const double *d = a.d + a.at[k] + (i - begin);
    for (int64_t j = 0; j < b; j++) y[r] += d[j * b] * a.x[begin + j];
    a.y[i] = y[r];
  }
  FuseDots(a.fuse, y, first, a.n, blockIdx.x);
}

extern "C" PoiseErr poiseCuda_invert_supervariables(Device *dev, const void *args)
{
  return Run(dev, InvertSupervariables, (const InvertSupervariablesArgs *)args);
}

extern "C" PoiseErr poiseCuda_apply_supervariables(Device *dev, const void *args)
{
  const ApplySupervariablesArgs *a = (const ApplySupervariablesArgs *)args;
  if (a->n) ApplySupervariables<<<(unsigned)POISE_NBLOCKS(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

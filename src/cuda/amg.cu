/* SPDX-License-Identifier: BSD-3-Clause */
/* A cycle of amg, beside products: steps of the smoother, and the dense inverse of the last level. */
#include "pc/amg/amg_kernels.h"
#include "cuda.h"

/* A thread per row, which reads its block of D^-1 by rows, and r from cache. Traffic: 8 b bytes per row, and
   each vector once. */
static __global__ void __launch_bounds__(THREADS) Smooth(const __grid_constant__ AmgSmoothArgs a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double x[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    x[r] = 0;
    if (i >= a.n) continue;
    double d = poiseAmgStep(&a, i);
    x[r] = poiseAmgMove(&a, i, d);
    if (a.d) a.d[i] = d;
    a.x[i] = x[r];
    if (a.to) a.to[i] = a.from[i];
  }
  FuseDots(a.fuse, x, first, a.n, blockIdx.x);
}

extern "C" PoiseErr poiseCuda_amg_smooth(Device *dev, const void *args)
{
  const AmgSmoothArgs *a = (const AmgSmoothArgs *)args;
  return a->n ? LaunchPdl(dev, Smooth, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

/* A warp per row of the matrix. */
static __global__ void __launch_bounds__(THREADS) Dense(const __grid_constant__ AmgDenseArgs a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int lane = threadIdx.x % 32;
  int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (i >= a.n) return;
  double s = 0;
  for (int64_t j = lane; j < a.n; j += 32) s += a.a[i * a.n + j] * a.x[j];
  s = WarpReduce<COMBINE_SUM>(s);
  if (lane == 0) a.y[i] = s;
}

extern "C" PoiseErr poiseCuda_amg_dense(Device *dev, const void *args)
{
  const AmgDenseArgs *a = (const AmgDenseArgs *)args;
  return a->n ? LaunchPdl(dev, Dense, (unsigned)((a->n + WARPS - 1) / WARPS), THREADS, 0, *a) : POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A cycle of amg in fp64 or fp32, besides products: steps of the smoother, and the dense inverse of the last
   level. */
#include "pc/amg/amg_kernels.h"
#include "wide.h"

/* A thread per row, which reads its block of D^-1 by rows, and r from cache. B: rows of a block, 0: as the
   arguments say. Traffic: b numbers of D^-1 per row, and each vector once. */
template <int B, typename Args>
static __global__ void __launch_bounds__(THREADS) Smooth(const __grid_constant__ Args a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double x[ROWS], in = poiseAmgPower(a.range);
  Entry<Args> d[ROWS], to[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    d[r] = to[r] = 0, x[r] = 0;
    if (i >= a.n) continue;
    double step = poiseAmgStep(&a, B ? B : a.b, 1, in, i);
    x[r] = poiseAmgMove(&a, i, step);
    d[r] = (Entry<Args>)step;
    to[r] = poiseAmgCopy(&a, in, i);
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) { /* once all rows are read, as the compiler keeps this order */
    int64_t i = first + r * THREADS;
    if (i < a.n) x[r] = poiseAmgStore(&a, in, i, d[r], x[r], to[r]);
  }
  FuseDots(a.fuse, x, first, a.n, blockIdx.x);
}

template <typename Args> static PoiseErr LaunchSmooth(Device *dev, const Args *a)
{
  void (*kernel)(Args) = a->b == 1   ? Smooth<1, Args>
                         : a->b == 3 ? Smooth<3, Args>
                         : a->b == 6 ? Smooth<6, Args>
                                     : Smooth<0, Args>;
  return a->n ? LaunchPdl(dev, kernel, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_amg_smooth(Device *dev, const void *args)
{
  return LaunchSmooth(dev, (const AmgSmoothArgs *)args);
}

extern "C" PoiseErr poiseCuda_amg_smooth_f32(Device *dev, const void *args)
{
  return LaunchSmooth(dev, (const AmgSmoothArgs_f32 *)args);
}

static __global__ void Clock(int64_t *now)
{
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(*now));
}

extern "C" PoiseErr poiseCuda_amg_clock(Device *dev, const void *args)
{
  Clock<<<1, 1, 0, poiseCudaStream(dev)>>>(((const AmgClockArgs *)args)->now);
  return POISE_OK;
}

/* A warp per row of the matrix. */
template <typename Args>
static __global__ void __launch_bounds__(THREADS) Dense(const __grid_constant__ Args a)
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
  if (lane == 0) a.y[i] = (Entry<Args>)(a.scale * s);
}

template <typename Args> static PoiseErr LaunchDense(Device *dev, const Args *a)
{
  return a->n ? LaunchPdl(dev, Dense<Args>, (unsigned)((a->n + WARPS - 1) / WARPS), THREADS, 0, *a)
              : POISE_OK;
}

extern "C" PoiseErr poiseCuda_amg_dense(Device *dev, const void *args)
{
  return LaunchDense(dev, (const AmgDenseArgs *)args);
}

extern "C" PoiseErr poiseCuda_amg_dense_f32(Device *dev, const void *args)
{
  return LaunchDense(dev, (const AmgDenseArgs_f32 *)args);
}

/* ---- several columns ------------------------------------------------------------------------- */

/* What a step takes dots of; NULL: of nothing, as a cycle in fp32 ends in fp64. */
__device__ __forceinline__ const double *Finished(const AmgSmoothArgs &a)
{
  return a.x;
}

__device__ __forceinline__ const double *Finished(const AmgSmoothArgs_f32 &a)
{
  return a.z;
}

/* As Smooth: POISE_BLOCK rows of all columns. A thread's numbers are of one column. */
template <int B, typename Args>
static __global__ void __launch_bounds__(THREADS) SmoothColumns(const __grid_constant__ Args a)
{
  Columns c(a.columns);
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK,
          last = first + POISE_BLOCK < a.n ? first + POISE_BLOCK : a.n;
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  double in = poiseAmgPower(a.range && c.column >= 0 ? a.range + c.column : NULL);
  if (c.column >= 0)
#pragma unroll 4
    for (int64_t e = first * c.k + threadIdx.x; e < last * c.k; e += c.step) {
      double step = poiseAmgStep(&a, B ? B : a.b, c.k, in, e), x = poiseAmgMove(&a, e, step);
      poiseAmgStore(&a, in, e, (Entry<Args>)step, x, poiseAmgCopy(&a, in, e));
    }
  __syncthreads();
  if (Finished(a)) FuseColumns(a.fuse, c, Finished(a), first, last, blockIdx.x);
}

template <typename Args> static PoiseErr LaunchSmoothColumns(Device *dev, const Args *a)
{
  void (*kernel)(Args) = a->b == 1   ? SmoothColumns<1, Args>
                         : a->b == 3 ? SmoothColumns<3, Args>
                         : a->b == 6 ? SmoothColumns<6, Args>
                                     : SmoothColumns<0, Args>;
  return a->n ? LaunchPdl(dev, kernel, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_amg_smooth_columns(Device *dev, const void *args)
{
  return LaunchSmoothColumns(dev, (const AmgSmoothArgs *)args);
}

extern "C" PoiseErr poiseCuda_amg_smooth_columns_f32(Device *dev, const void *args)
{
  return LaunchSmoothColumns(dev, (const AmgSmoothArgs_f32 *)args);
}

/* A warp per row of the matrix, whose numbers it reads once for all columns. */
template <typename Args>
static __global__ void __launch_bounds__(THREADS) DenseColumns(const __grid_constant__ Args a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int lane = threadIdx.x % 32, k = a.columns;
  int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (i >= a.n) return;
  for (int from = 0; from < k; from += 8) {
    double s[8] = {0};
    for (int64_t j = lane; j < a.n; j += 32) {
      double v = a.a[i * a.n + j];
#pragma unroll
      for (int c = 0; c < 8; c++)
        if (from + c < k) s[c] += v * a.x[j * k + from + c];
    }
#pragma unroll
    for (int c = 0; c < 8; c++) {
      s[c] = WarpReduce<COMBINE_SUM>(s[c]);
      if (lane == 0 && from + c < k) a.y[i * k + from + c] = (Entry<Args>)(a.scale * s[c]);
    }
  }
}

template <typename Args> static PoiseErr LaunchDenseColumns(Device *dev, const Args *a)
{
  return a->n ? LaunchPdl(dev, DenseColumns<Args>, (unsigned)((a->n + WARPS - 1) / WARPS), THREADS, 0, *a)
              : POISE_OK;
}

extern "C" PoiseErr poiseCuda_amg_dense_columns(Device *dev, const void *args)
{
  return LaunchDenseColumns(dev, (const AmgDenseArgs *)args);
}

extern "C" PoiseErr poiseCuda_amg_dense_columns_f32(Device *dev, const void *args)
{
  return LaunchDenseColumns(dev, (const AmgDenseArgs_f32 *)args);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on wide vectors that are not phases. A thread block has POISE_BLOCK rows. */
#include "vec/vec_kernels.h"
#include "wide.h"

struct RowRange {
  int64_t first, last;
  __device__ __forceinline__ RowRange(int64_t n)
  {
    first = (int64_t)blockIdx.x * POISE_BLOCK;
    last = first + POISE_BLOCK < n ? first + POISE_BLOCK : n;
  }
};

__device__ __forceinline__ bool Skips(const Systems &s, const double *skip, int column)
{
  return skip && skip[poiseScalarsOf(&s, column)] != 0;
}

/* A thread per number, neighbours in the columns of `to` where these stand together. */
static __global__ void __launch_bounds__(THREADS) MoveColumns(const __grid_constant__ ColumnsArgs a)
{
  int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  PdlLaunchDependents();
  PdlWait();
  if (e >= a.n * a.k) return;
  int64_t i = a.to_row > 1 || a.from_row > 1 ? e / a.k : e % a.n;
  int c = (int)(a.to_row > 1 || a.from_row > 1 ? e % a.k : e / a.n);
  a.to[i * a.to_row + c * a.to_column] = a.from[i * a.from_row + a.list[c] * a.from_column];
}

/* Traffic: each x_j once, y from cache but for the first time. */
static __global__ void __launch_bounds__(THREADS) MdotColumns(const __grid_constant__ MdotArgs a)
{
  Columns c(a.systems.n);
  RowRange r(a.n);
  PdlLaunchDependents();
  PdlWait();
  for (int j = 0; j < a.k; j++) {
    double s[1] = {0};
    const double *x = a.x[j];
    if (c.column >= 0)
#pragma unroll 4
      for (int64_t e = r.first * c.k + threadIdx.x; e < r.last * c.k; e += c.step) s[0] += x[e] * a.y[e];
    SumColumns<1, COMBINE_SUM>(c, s, [&](int column, int, double sum) {
      a.partial[j * a.stride + blockIdx.x + column * a.systems.partials] = sum;
    });
  }
}

static __global__ void __launch_bounds__(THREADS) MaxpyColumns(const __grid_constant__ MaxpyArgs a)
{
  __shared__ double factor[POISE_MAX_BATCH][POISE_MAX_COLUMNS];
  Columns c(a.systems.n);
  RowRange r(a.n);
  PdlLaunchDependents();
  PdlWait();
  for (int f = threadIdx.x; f < a.k * c.k; f += THREADS) {
    int j = f / c.k, column = f % c.k;
    factor[j][column] = a.sign * (a.a ? a.a[poiseArrayOf(&a.systems, column) + j] : a.value[j]);
  }
  __syncthreads();
  int terms = c.column < 0 || Skips(a.systems, a.skip, c.column) ? 0 : poiseTermsOf(&a, c.column);
  if (terms)
    for (int64_t e = r.first * c.k + threadIdx.x; e < r.last * c.k; e += c.step) {
      double y = a.y[e];
#pragma unroll 4
      for (int j = 0; j < terms; j++) y += factor[j][c.column] * a.x[j][e];
      a.y[e] = y;
    }
  __syncthreads();
  FuseColumns(a.fuse, c, a.y, r.first, r.last, blockIdx.x);
}

__device__ __forceinline__ double FactorOf(const Systems &s, ScalarRef f, int column)
{
  return f.slot ? f.slot[poiseScalarsOf(&s, column)] : f.value;
}

static __global__ void __launch_bounds__(THREADS) AxpbyColumns(const __grid_constant__ AxpbyArgs a)
{
  Columns c(a.systems.n);
  RowRange r(a.n);
  PdlLaunchDependents();
  PdlWait();
  if (c.column >= 0 && !Skips(a.systems, a.skip, c.column)) {
    double alpha = FactorOf(a.systems, a.a, c.column), beta = FactorOf(a.systems, a.b, c.column);
#pragma unroll 4
    for (int64_t e = r.first * c.k + threadIdx.x; e < r.last * c.k; e += c.step) {
      double y = alpha * a.x[e] + (beta == 0 ? 0 : beta * a.y[e]);
      a.y[e] = a.scale ? y * a.scale[e / c.k] : y;
    }
  }
  __syncthreads();
  FuseColumns(a.fuse, c, a.y, r.first, r.last, blockIdx.x);
}

/* A thread block for each sum of each column. */
static __global__ void __launch_bounds__(THREADS) ReduceColumns(const __grid_constant__ ReduceArgs a)
{
  int column = blockIdx.y;
  const double *p = a.partial + column * a.systems.partials + blockIdx.x * a.stride;
  double *dst = a.dst + poiseArrayOf(&a.systems, column) + blockIdx.x, s[1] = {0};
  PdlLaunchDependents();
  PdlWait();
  if (Skips(a.systems, a.skip, column)) return;
  for (int64_t b = threadIdx.x; b < a.count; b += THREADS) s[0] += p[b];
  BlockReduce<1, COMBINE_SUM>(s);
  if (threadIdx.x == 0) *dst = a.add ? *dst + s[0] : s[0];
}

extern "C" PoiseErr poiseCuda_columns(Device *dev, const void *args)
{
  const ColumnsArgs *a = (const ColumnsArgs *)args;
  return a->n ? LaunchPdl(dev, MoveColumns, Grid(a->n * a->k), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_mdot_columns(Device *dev, const void *args)
{
  const MdotArgs *a = (const MdotArgs *)args;
  if (!a->n || !a->k) return POISE_OK;
  return LaunchPdl(dev, MdotColumns, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a);
}

extern "C" PoiseErr poiseCuda_maxpy_columns(Device *dev, const void *args)
{
  MaxpyArgs a = *(const MaxpyArgs *)args;
  if (!a.n) return POISE_OK;
  TRY(LaunchPdl(dev, MaxpyColumns, (unsigned)POISE_NBLOCKS(a.n), THREADS, 0, a));
  if (!a.again) return POISE_OK;
  MdotArgs m = {};
  m.n = a.n, m.stride = a.stride, m.k = a.k, m.y = a.y, m.partial = a.again, m.systems = a.systems;
  memcpy(m.x, a.x, sizeof m.x);
  return poiseCuda_mdot_columns(dev, &m);
}

extern "C" PoiseErr poiseCuda_axpby_columns(Device *dev, const void *args)
{
  const AxpbyArgs *a = (const AxpbyArgs *)args;
  return a->n ? LaunchPdl(dev, AxpbyColumns, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_reduce_columns(Device *dev, const void *args)
{
  const ReduceArgs *a = (const ReduceArgs *)args;
  if (!a->nsum) return POISE_OK;
  return LaunchPdl(dev, ReduceColumns, dim3((unsigned)a->nsum, (unsigned)a->systems.n), THREADS, 0, *a);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on vectors that are not phases. */
#include "vec/vec_kernels.h"
#include "bulk.h"
#include "cuda.h"

/* k dots with one y. Traffic: 8 (k + 1) bytes per row. */
static __global__ void __launch_bounds__(THREADS) Mdot(const __grid_constant__ MdotArgs a)
{
  __shared__ double part[POISE_MAX_BATCH][WARPS];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) y[r] = first + r * THREADS < a.n ? a.y[first + r * THREADS] : 0;
  for (int j = 0; j < a.k; j++) {
    const double *x = a.x[j];
    double s = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
      if (first + r * THREADS < a.n) s += x[first + r * THREADS] * y[r];
    s = WarpReduce<COMBINE_SUM>(s);
    if (threadIdx.x % 32 == 0) part[j][threadIdx.x / 32] = s;
  }
  __syncthreads();
  if ((int)threadIdx.x >= a.k) return;
  double s = part[threadIdx.x][0];
  for (int w = 1; w < WARPS; w++) s += part[threadIdx.x][w];
  a.partial[threadIdx.x * a.stride + blockIdx.x] = s;
}

/* y += sum of c_j x_j. Traffic: 8 (k + 2) bytes per row. */
static __global__ void __launch_bounds__(THREADS) Maxpy(const __grid_constant__ MaxpyArgs a)
{
  __shared__ double c[POISE_MAX_BATCH];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  if ((int)threadIdx.x < a.k) c[threadIdx.x] = a.sign * (a.a ? a.a[threadIdx.x] : a.value[threadIdx.x]);
  __syncthreads();
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) y[r] = first + r * THREADS < a.n ? a.y[first + r * THREADS] : 0;
  for (int j = 0; j < a.k; j++) {
    const double *x = a.x[j];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
      if (first + r * THREADS < a.n) y[r] += c[j] * x[first + r * THREADS];
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (a.k && first + r * THREADS < a.n) a.y[first + r * THREADS] = y[r];
  FuseDots(a.fuse, y, first, a.n, blockIdx.x);
}

/* y = D (a x + b y) and its dots. Traffic: 16 bytes per row, 24 if y is read, and 8 for D. */
static __global__ void __launch_bounds__(THREADS) Axpby(const __grid_constant__ AxpbyArgs a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double alpha = poiseScalar(a.a), beta = poiseScalar(a.b), y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    y[r] = 0;
    if (i >= a.n) continue;
    y[r] = alpha * a.x[i] + (beta == 0 ? 0 : beta * a.y[i]);
    if (a.scale) y[r] *= a.scale[i];
    a.y[i] = y[r];
  }
  FuseDots(a.fuse, y, first, a.n, blockIdx.x);
}

enum {
  PART = 128,
  PART_WARPS = PART / 32,
  PART_VECTORS = POISE_MAX_BATCH / PART_WARPS
}; /* rows of a part, one per thread; vectors of a warp */

/* Starts the bulk copies of so many rows of all x_j to a tile. */
__device__ __forceinline__ void FetchRows(const MaxpyArgs &a, int64_t first, int bulk, double *tile,
                                          uint64_t *barrier)
{
  if (threadIdx.x == 0 && bulk) {
    BulkExpect(barrier, (uint32_t)a.k * bulk * 8);
    for (int j = 0; j < a.k; j++) BulkCopy(tile + j * PART, a.x[j] + first, (uint32_t)bulk * 8, barrier);
  }
}

/* y[i] of this thread, which is left in `updated` too, and its fused dots. */
__device__ __forceinline__ void UpdateRow(const MaxpyArgs &a, int64_t i, const double *tile, const double *c,
                                          double y, double *updated, double (&fused)[POISE_MAX_DOTS])
{
  int t = threadIdx.x;
  for (int j = 0; j < a.k; j++) y += c[j] * tile[j * PART + t];
  a.y[i] = updated[t] = y;
  for (int f = 0; f < a.fuse.ndot; f++) fused[f] += Factor(a.fuse, f, i, y) * y;
}

/* Epilogue: the partials of the dots with each x_j, and of the fused dots. */
__device__ __forceinline__ void LeaveDots(const MaxpyArgs &a, double (&dot)[PART_VECTORS],
                                          double (&fused)[POISE_MAX_DOTS])
{
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int v = 0; v < PART_VECTORS; v++) {
    int j = warp + v * PART_WARPS;
    dot[v] = WarpReduce<COMBINE_SUM>(dot[v]);
    if (lane == 0 && j < a.k) a.again[j * a.stride + blockIdx.x] = dot[v];
  }
  BlockReduce<POISE_MAX_DOTS, COMBINE_SUM, PART>(fused);
  for (int f = 0; f < a.fuse.ndot && threadIdx.x == 0; f++) a.fuse.partial[f][blockIdx.x] = fused[f];
}

/* Maxpy, then Mdot with the new y, but each x_j is read once. Traffic: 8 (k + 2) bytes per row. PART rows of
   all x_j come to shared memory by bulk copies. A thread per row updates y, then a warp per vector forms the
   dots. */
static __global__ void __launch_bounds__(PART) MaxpyMdot(const __grid_constant__ MaxpyArgs a)
{
  extern __shared__ __align__(128) double tile[];
  __shared__ double c[POISE_MAX_BATCH], updated[PART];
  __shared__ uint64_t barrier;
  double dot[PART_VECTORS] = {0}, fused[POISE_MAX_DOTS] = {0};
  int t = threadIdx.x, warp = t / 32, lane = t % 32, part = 0;
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  if (t == 0) BulkInit(&barrier);
  if (t < a.k) c[t] = a.sign * (a.a ? a.a[t] : a.value[t]);
  int64_t begin = (int64_t)blockIdx.x * POISE_BLOCK,
          end = begin + POISE_BLOCK < a.n ? begin + POISE_BLOCK : a.n;
  for (int64_t first = begin; first < end; first += PART, part++) {
    int rows = end - first < PART ? (int)(end - first) : PART, bulk = rows & ~1;
    __syncthreads(); /* the tile before was used */
    FetchRows(a, first, bulk, tile, &barrier);
    double y = t < rows ? a.y[first + t] : 0;
    if (t >= bulk && t < rows)
      for (int j = 0; j < a.k; j++) tile[j * PART + t] = a.x[j][first + t];
    if (bulk) BulkWait(&barrier, part % 2);
    if (t < rows) UpdateRow(a, first + t, tile, c, y, updated, fused);
    __syncthreads();
#pragma unroll
    for (int v = 0; v < PART_VECTORS; v++)
      for (int row = lane, j = warp + v * PART_WARPS; j < a.k && row < rows; row += 32)
        dot[v] += tile[j * PART + row] * updated[row];
  }
  LeaveDots(a, dot, fused);
}

static __global__ void __launch_bounds__(THREADS) Reduce(const __grid_constant__ ReduceArgs a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  const double *p = a.partial + blockIdx.x * a.stride;
  double s[1] = {0};
  for (int64_t b = threadIdx.x; b < a.count; b += THREADS)
    s[0] = a.max ? poiseLarger(s[0], p[b]) : s[0] + p[b];
  if (a.max)
    BlockReduce<1, COMBINE_MAX>(s);
  else
    BlockReduce<1, COMBINE_SUM>(s);
  if (threadIdx.x != 0) return;
  double old = a.add ? a.dst[blockIdx.x] : 0;
  a.dst[blockIdx.x] = a.max ? poiseLarger(old, s[0]) : old + s[0];
}

static __global__ void Gather(const __grid_constant__ GatherArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < (a.size > 1 ? a.n * a.size : a.n)) a.out[i] = poiseGathered(&a, i);
}

static __global__ void ScatterAdd(const __grid_constant__ ScatterAddArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < a.n) a.y[a.idx[i]] += a.in[i];
}

extern "C" PoiseErr poiseCuda_mdot(Device *dev, const void *args)
{
  const MdotArgs *a = (const MdotArgs *)args;
  return a->n && a->k ? LaunchPdl(dev, Mdot, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

static PoiseErr DotAgain(Device *dev, const MaxpyArgs *a)
{
  MdotArgs m = {};
  m.n = a->n, m.stride = a->stride, m.k = a->k, m.y = a->y, m.skip = a->skip, m.partial = a->again;
  memcpy(m.x, a->x, sizeof m.x);
  return poiseCuda_mdot(dev, &m);
}

static bool Aligned(const MaxpyArgs *a)
{
  uintptr_t bits = 0;
  for (int j = 0; j < a->k; j++) bits |= (uintptr_t)a->x[j];
  return bits % 16 == 0;
}

extern "C" PoiseErr poiseCuda_maxpy(Device *dev, const void *args)
{
  const MaxpyArgs *a = (const MaxpyArgs *)args;
  unsigned grid = (unsigned)POISE_NBLOCKS(a->n);
  if (!a->n) return POISE_OK;
  if (a->again && a->k && grid >= MAXPY_BLOCKS && dev->model.bulk && Aligned(a))
    return LaunchPdl(dev, MaxpyMdot, grid, PART, (size_t)a->k * PART * sizeof(double), *a);
  TRY(LaunchPdl(dev, Maxpy, grid, THREADS, 0, *a));
  return a->again ? DotAgain(dev, a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_axpby(Device *dev, const void *args)
{
  const AxpbyArgs *a = (const AxpbyArgs *)args;
  return a->n ? LaunchPdl(dev, Axpby, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_reduce(Device *dev, const void *args)
{
  const ReduceArgs *a = (const ReduceArgs *)args;
  return a->nsum ? LaunchPdl(dev, Reduce, (unsigned)a->nsum, THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_gather(Device *dev, const void *args)
{
  const GatherArgs *a = (const GatherArgs *)args;
  int64_t n = a->size > 1 ? a->n * a->size : a->n;
  if (n) Gather<<<Grid(n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_scatter_add(Device *dev, const void *args)
{
  const ScatterAddArgs *a = (const ScatterAddArgs *)args;
  if (a->n) ScatterAdd<<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

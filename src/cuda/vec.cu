/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on vectors that are not phases. Those with many vectors x_j are one text for both types of x_j. */
#include "vec/vec_kernels.h"
#include "bulk.h"
#include "cuda.h"

/* How many x_j are on the way together: bytes in flight are what hides latency. */
template <typename Args> constexpr int TOGETHER = sizeof(double) / sizeof(Entry<Args>);

/* This thread's rows of those from x_j on. Behind the last of all, it comes again, from cache. */
template <typename Args>
__device__ __forceinline__ void FetchTogether(const Args &a, int j, int64_t first,
                                              Entry<Args> (&x)[TOGETHER<Args>][ROWS])
{
#pragma unroll
  for (int v = 0; v < TOGETHER<Args>; v++) {
    const Entry<Args> *from = a.x[j + v < a.k ? j + v : a.k - 1];
#pragma unroll
    for (int r = 0; r < ROWS; r++) x[v][r] = first + r * THREADS < a.n ? from[first + r * THREADS] : 0;
  }
}

/* k dots with one y. Traffic per row: an entry of each x_j, and 8 bytes. */
template <typename Args>
static __global__ void __launch_bounds__(THREADS) Mdot(const __grid_constant__ Args a)
{
  constexpr int AT_ONCE = TOGETHER<Args>;
  __shared__ double part[POISE_MAX_BATCH][WARPS];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) y[r] = first + r * THREADS < a.n ? a.y[first + r * THREADS] : 0;
  for (int j = 0; j < a.k; j += AT_ONCE) {
    double s[AT_ONCE] = {0};
    if constexpr (AT_ONCE == 1) {
      const double *x = a.x[j];
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        if (first + r * THREADS < a.n) s[0] += x[first + r * THREADS] * y[r];
    } else {
      Entry<Args> x[AT_ONCE][ROWS];
      FetchTogether(a, j, first, x);
#pragma unroll
      for (int v = 0; v < AT_ONCE; v++)
#pragma unroll
        for (int r = 0; r < ROWS; r++) s[v] += x[v][r] * y[r];
    }
#pragma unroll
    for (int v = 0; v < AT_ONCE; v++) {
      s[v] = WarpReduce<COMBINE_SUM>(s[v]);
      if (threadIdx.x % 32 == 0 && (AT_ONCE == 1 || j + v < a.k)) part[j + v][threadIdx.x / 32] = s[v];
    }
  }
  __syncthreads();
  if ((int)threadIdx.x >= a.k) return;
  double s = part[threadIdx.x][0];
  for (int w = 1; w < WARPS; w++) s += part[threadIdx.x][w];
  a.partial[threadIdx.x * a.stride + blockIdx.x] = s;
}

/* y += sum of c_j x_j. Traffic per row: an entry of each x_j, and 16 bytes. */
template <typename Args>
static __global__ void __launch_bounds__(THREADS) Maxpy(const __grid_constant__ Args a)
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
  for (int j = 0; j < a.k; j += TOGETHER<Args>) {
    if constexpr (TOGETHER<Args> == 1) {
      const double *x = a.x[j];
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        if (first + r * THREADS < a.n) y[r] += c[j] * x[first + r * THREADS];
    } else {
      Entry<Args> x[TOGETHER<Args>][ROWS];
      FetchTogether(a, j, first, x);
#pragma unroll
      for (int v = 0; v < TOGETHER<Args>; v++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
          if (j + v < a.k) y[r] += c[j + v] * x[v][r];
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (a.k && first + r * THREADS < a.n) a.y[first + r * THREADS] = y[r];
  FuseDots(a.fuse, y, first, a.n, blockIdx.x);
}

/* y = D (a x + b y) and its dots. Traffic: x and y once, y twice if it is read, and 8 bytes per row for D. */
template <typename Args>
static __global__ void __launch_bounds__(THREADS) Axpby(const __grid_constant__ Args a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  typedef std::remove_reference_t<decltype(*a.y)> Real;
  double alpha = poiseScalar(a.a), beta = poiseScalar(a.b), y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    y[r] = 0;
    if (i >= a.n) continue;
    y[r] = alpha * a.x[i] + (beta == 0 ? 0 : beta * a.y[i]);
    if (a.scale) y[r] *= a.scale[i];
    a.y[i] = (Real)y[r];
  }
  FuseDots<Real>(a.fuse, y, first, a.n, blockIdx.x);
}

enum {
  PART = 128,
  PART_WARPS = PART / 32,
  PART_VECTORS = POISE_MAX_BATCH / PART_WARPS
}; /* rows of a part, one per thread; vectors of a warp */

/* Starts the bulk copies of so many rows of all x_j to a tile. */
template <typename Args>
__device__ __forceinline__ void FetchRows(const Args &a, int64_t first, int bulk, Entry<Args> *tile,
                                          uint64_t *barrier)
{
  constexpr uint32_t size = sizeof(Entry<Args>);
  if (threadIdx.x == 0 && bulk) {
    BulkExpect(barrier, (uint32_t)a.k * bulk * size);
    for (int j = 0; j < a.k; j++) BulkCopy(tile + j * PART, a.x[j] + first, (uint32_t)bulk * size, barrier);
  }
}

/* y[i] of this thread, which is left in `updated` too, and its fused dots. */
template <typename Args>
__device__ __forceinline__ void UpdateRow(const Args &a, int64_t i, const Entry<Args> *tile, const double *c,
                                          double y, double *updated, double (&fused)[POISE_MAX_DOTS])
{
  int t = threadIdx.x;
  for (int j = 0; j < a.k; j++) y += c[j] * tile[j * PART + t];
  a.y[i] = updated[t] = y;
  for (int f = 0; f < a.fuse.ndot; f++) fused[f] += Factor(a.fuse, f, i, y) * y;
}

/* Epilogue: the partials of the dots with each x_j, and of the fused dots. */
template <typename Args>
__device__ __forceinline__ void LeaveDots(const Args &a, double (&dot)[PART_VECTORS],
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

/* Maxpy, then Mdot with the new y, but each x_j is read once: the traffic is that of Maxpy. PART rows of all
   x_j come to shared memory by bulk copies. A thread per row updates y, then a warp per vector forms the
   dots. */
template <typename Args>
static __global__ void __launch_bounds__(PART) MaxpyMdot(const __grid_constant__ Args a)
{
  constexpr int WHOLE = 16 / sizeof(Entry<Args>); /* rows of a bulk copy are a multiple of this */
  extern __shared__ __align__(128) double dynamic[];
  Entry<Args> *tile = (Entry<Args> *)dynamic;
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
    int rows = end - first < PART ? (int)(end - first) : PART, bulk = rows & ~(WHOLE - 1);
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

template <typename Args> static __global__ void Gather(const __grid_constant__ Args a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < (a.size > 1 ? a.n * a.size : a.n)) a.out[i] = poiseGathered(&a, i);
}

template <typename Args> static __global__ void ScatterAdd(const __grid_constant__ Args a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < (a.size > 1 ? a.n * a.size : a.n)) poiseScatterAdd(&a, i);
}

template <typename Args> static PoiseErr LaunchMdot(Device *dev, const Args *a)
{
  return a->n && a->k ? LaunchPdl(dev, Mdot<Args>, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_mdot(Device *dev, const void *args)
{
  return LaunchMdot(dev, (const MdotArgs *)args);
}

extern "C" PoiseErr poiseCuda_mdot_f32(Device *dev, const void *args)
{
  return LaunchMdot(dev, (const MdotArgs_f32 *)args);
}

/* Dots: the arguments of mdot for these of maxpy. */
template <typename Dots, typename Args> static PoiseErr DotAgain(Device *dev, const Args *a)
{
  Dots m = {};
  m.n = a->n, m.stride = a->stride, m.k = a->k, m.y = a->y, m.skip = a->skip, m.partial = a->again;
  memcpy(m.x, a->x, sizeof m.x);
  return LaunchMdot(dev, &m);
}

template <typename Args> static bool Aligned(const Args *a)
{
  uintptr_t bits = 0;
  for (int j = 0; j < a->k; j++) bits |= (uintptr_t)a->x[j];
  return bits % 16 == 0;
}

template <typename Dots, typename Args> static PoiseErr LaunchMaxpy(Device *dev, const Args *a)
{
  unsigned grid = (unsigned)POISE_NBLOCKS(a->n);
  if (!a->n) return POISE_OK;
  if (a->again && a->k && grid >= MAXPY_BLOCKS && dev->model.bulk && Aligned(a))
    return LaunchPdl(dev, MaxpyMdot<Args>, grid, PART, (size_t)a->k * PART * sizeof(Entry<Args>), *a);
  TRY(LaunchPdl(dev, Maxpy<Args>, grid, THREADS, 0, *a));
  return a->again ? DotAgain<Dots>(dev, a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_maxpy(Device *dev, const void *args)
{
  return LaunchMaxpy<MdotArgs>(dev, (const MaxpyArgs *)args);
}

extern "C" PoiseErr poiseCuda_maxpy_f32(Device *dev, const void *args)
{
  return LaunchMaxpy<MdotArgs_f32>(dev, (const MaxpyArgs_f32 *)args);
}

template <typename Args> static PoiseErr LaunchAxpby(Device *dev, const void *args)
{
  const Args *a = (const Args *)args;
  return a->n ? LaunchPdl(dev, Axpby<Args>, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_axpby(Device *dev, const void *args)
{
  return LaunchAxpby<AxpbyArgs>(dev, args);
}

extern "C" PoiseErr poiseCuda_axpby_f32(Device *dev, const void *args)
{
  return LaunchAxpby<AxpbyArgs_f32>(dev, args);
}

extern "C" PoiseErr poiseCuda_narrow(Device *dev, const void *args)
{
  return LaunchAxpby<NarrowArgs>(dev, args);
}

extern "C" PoiseErr poiseCuda_widen(Device *dev, const void *args)
{
  return LaunchAxpby<WidenArgs>(dev, args);
}

extern "C" PoiseErr poiseCuda_reduce(Device *dev, const void *args)
{
  const ReduceArgs *a = (const ReduceArgs *)args;
  return a->nsum ? LaunchPdl(dev, Reduce, (unsigned)a->nsum, THREADS, 0, *a) : POISE_OK;
}

template <typename Args> static PoiseErr LaunchGather(Device *dev, const Args *a)
{
  int64_t n = a->size > 1 ? a->n * a->size : a->n;
  if (n) Gather<<<Grid(n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_gather(Device *dev, const void *args)
{
  return LaunchGather(dev, (const GatherArgs *)args);
}

extern "C" PoiseErr poiseCuda_gather_f32(Device *dev, const void *args)
{
  return LaunchGather(dev, (const GatherArgs_f32 *)args);
}

template <typename Args> static PoiseErr LaunchScatterAdd(Device *dev, const Args *a)
{
  int64_t n = a->size > 1 ? a->n * a->size : a->n;
  if (n) ScatterAdd<<<Grid(n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_scatter_add(Device *dev, const void *args)
{
  return LaunchScatterAdd(dev, (const ScatterAddArgs *)args);
}

extern "C" PoiseErr poiseCuda_scatter_add_f32(Device *dev, const void *args)
{
  return LaunchScatterAdd(dev, (const ScatterAddArgs_f32 *)args);
}

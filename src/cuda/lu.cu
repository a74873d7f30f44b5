/* SPDX-License-Identifier: BSD-3-Clause */
/* Small dense LU. A step of the factorisation is two kernels. A solve is one thread block for each right-hand
   side, which goes through panels of columns. */
#include "pc/lu_kernels.h"
#include "cuda.h"

enum { MANY = 1024, PANEL = 32, IN_SHARED = 6000 }; /* threads; columns (lanes); unknowns in shared memory */

/* Step k by one thread block: finds the pivot (the first of equal ones), exchanges rows k and p, computes the
   column of L. */
static __global__ void __launch_bounds__(MANY) Pivot(const __grid_constant__ LuFactorArgs a, int64_t k)
{
  __shared__ double largest[MANY];
  __shared__ int64_t row[MANY];
  int t = threadIdx.x;
  int64_t n = a.n;
  if (a.refused[0] >= 0) return;
  largest[t] = -1;
  row[t] = k;
  for (int64_t i = k + t; i < (a.definite ? k + 1 : n); i += MANY)
    if (fabs(a.a[i * n + k]) > largest[t]) largest[t] = fabs(a.a[i * n + k]), row[t] = i;
  __syncthreads();
  for (int half = MANY / 2; half; half /= 2) {
    if (t < half &&
        (largest[t + half] > largest[t] || (largest[t + half] == largest[t] && row[t + half] < row[t])))
      largest[t] = largest[t + half], row[t] = row[t + half];
    __syncthreads();
  }
  int64_t p = isnan(a.a[k * n + k]) ? k : row[0];
  double pivot = a.a[p * n + k];
  __syncthreads();
  if (!((a.definite ? pivot : fabs(pivot)) > a.zero) || isinf(pivot)) {
    if (t == 0) a.refused[1] = pivot, a.refused[0] = (double)k;
    return;
  }
  if (t == 0) a.pivot[k] = (int32_t)p;
  for (int64_t j = t; p != k && j < n; j += MANY) {
    double x = a.a[k * n + j];
    a.a[k * n + j] = a.a[p * n + j];
    a.a[p * n + j] = x;
  }
  __syncthreads();
  for (int64_t i = k + 1 + t; i < n; i += MANY) a.a[i * n + k] /= pivot;
}

/* Subtracts the column of L times row k from the rows below k. */
static __global__ void __launch_bounds__(THREADS) Update(const __grid_constant__ LuFactorArgs a, int64_t k)
{
  int64_t n = a.n, j = k + 1 + blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (a.refused[0] >= 0 || j >= n) return;
  double x = a.a[k * n + j];
  for (int64_t i = k + 1 + blockIdx.y; i < n; i += gridDim.y) a.a[i * n + j] -= a.a[i * n + k] * x;
}

static __global__ void Begin(const __grid_constant__ LuFactorArgs a)
{
  a.refused[0] = -1;
  a.refused[1] = 0;
}

extern "C" PoiseErr poiseCuda_lu_factor(Device *dev, const void *args)
{
  const LuFactorArgs *a = (const LuFactorArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  Begin<<<1, 1, 0, stream>>>(*a);
  for (int64_t k = 0; k < a->n; k++) {
    int64_t left = a->n - k - 1;
    Pivot<<<1, MANY, 0, stream>>>(*a, k);
    if (!left) continue;
    dim3 grid((unsigned)((left + THREADS - 1) / THREADS), (unsigned)(left < 256 ? left : 256));
    Update<<<grid, THREADS, 0, stream>>>(*a, k);
  }
  return POISE_OK;
}

/* ---- solve ----------------------------------------------------------------------------------- */

/* Subtracts the 32 entries from column p on, times x, from rows [begin, end) of x; a warp per row. */
static __device__ void Subtract(const LuSolveArgs &a, double *x, int64_t p, int64_t begin, int64_t end)
{
  int lane = threadIdx.x % 32;
  for (int64_t i = begin + threadIdx.x / 32; i < end; i += MANY / 32) {
    double s = p + lane < a.n ? a.lu[i * a.n + p + lane] * x[p + lane] : 0;
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) x[i] -= s;
  }
  __syncthreads();
}

/* Solves with the diagonal triangle of L (Lower) or U (Upper) of a panel, by the first warp with a row per
   lane. */
static __device__ void Lower(const LuSolveArgs &a, double *x, int64_t p)
{
  int64_t i = p + threadIdx.x;
  if (threadIdx.x >= 32) return;
  double v = i < a.n ? x[i] : 0;
  for (int k = 0; k < PANEL && p + k < a.n; k++) {
    double known = __shfl_sync(0xffffffff, v, k);
    if ((int)threadIdx.x > k && i < a.n) v -= a.lu[i * a.n + p + k] * known;
  }
  if (i < a.n) x[i] = v;
}

static __device__ void Upper(const LuSolveArgs &a, double *x, int64_t p)
{
  int64_t i = p + threadIdx.x;
  if (threadIdx.x >= 32) return;
  double v = i < a.n ? x[i] : 0;
  for (int k = PANEL - 1; k >= 0; k--) {
    if (p + k >= a.n) continue;
    if ((int)threadIdx.x == k) v /= a.lu[i * a.n + i];
    double known = __shfl_sync(0xffffffff, v, k);
    if ((int)threadIdx.x < k) v -= a.lu[i * a.n + p + k] * known;
  }
  if (i < a.n) x[i] = v;
}

static __global__ void __launch_bounds__(MANY) Solve(const __grid_constant__ LuSolveArgs a)
{
  extern __shared__ double shared[];
  int64_t columns = gridDim.x, column = blockIdx.x;
  double *x = a.n <= IN_SHARED ? shared : a.work + column * a.n;
  if (a.skip && *a.skip != 0) return;
  for (int64_t i = threadIdx.x; i < a.n; i += MANY) x[i] = a.x[i * columns + column];
  __syncthreads();
  for (int64_t k = 0; threadIdx.x == 0 && k < a.n;
       k++) { /* all exchanges come first: the rows of L took part in the later ones */
    double t = x[k];
    x[k] = x[a.pivot[k]];
    x[a.pivot[k]] = t;
  }
  __syncthreads();
  int64_t panels = (a.n + PANEL - 1) / PANEL;
  for (int64_t p = 0; p < panels; p++) {
    Lower(a, x, p * PANEL);
    __syncthreads();
    Subtract(a, x, p * PANEL, (p + 1) * PANEL, a.n);
  }
  for (int64_t p = panels - 1; p >= 0; p--) {
    Upper(a, x, p * PANEL);
    __syncthreads();
    Subtract(a, x, p * PANEL, 0, p * PANEL);
  }
  for (int64_t b = 0; b * MANY < a.m; b++) { /* MANY is POISE_BLOCK */
    int64_t i = b * MANY + threadIdx.x, e = i * columns + column;
    double y = i < a.m ? x[a.begin + i] : 0;
    if (i < a.m) a.y[e] = y;
    for (int f = 0; f < a.fuse.ndot; f++) {
      double s[1] = {0};
      if (i < a.m) s[0] = (a.fuse.u[f] ? a.fuse.u[f][e] : a.fuse.d[f] ? a.fuse.d[f][i] * y : y) * y;
      BlockReduce<1, COMBINE_SUM, MANY>(s);
      if (threadIdx.x == 0) a.fuse.partial[f][b + column * a.fuse.systems.partials] = s[0];
    }
  }
}

extern "C" PoiseErr poiseCuda_lu_solve(Device *dev, const void *args)
{
  const LuSolveArgs *a = (const LuSolveArgs *)args;
  size_t bytes = a->n <= IN_SHARED ? (size_t)a->n * sizeof(double) : 0;
  unsigned columns = a->columns > 1 ? (unsigned)a->columns : 1;
  if (a->m || a->n) Solve<<<columns, MANY, bytes, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

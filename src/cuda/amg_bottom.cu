/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The dense inverse of the coarsest matrix of amg, by sweeps over panels of AMG_PANEL columns, as on the host
  (bottom_host.c): each number is made of the same products in the same order, without contraction. Three
  launches a panel: its diagonal block, in one thread block; its other rows; the rest of the matrix.

  Per panel n^2 / 2 numbers are read and written, in L2, and 16 n^2 multiply-adds done. A refused matrix turns
  what follows into nothing.
*/
#include "pc/amg/bottom_kernels.h"
#include "cuda.h"

enum { PANEL = AMG_PANEL, TILE = 32, TILE_ROWS = THREADS / TILE, SWEEPERS = PANEL * PANEL };

__device__ __forceinline__ bool IsRefused(const AmgInvertArgs &a)
{
  return *(volatile double *)&a.result[AMG_REFUSED] != 0;
}

/* ---- before the panels ----------------------------------------------------------------------- */

/* Scales, and the sign of the first diagonal entry that has one, which all others must have. */
static __global__ void __launch_bounds__(SWEEPERS) FindScale(const __grid_constant__ AmgInvertArgs a)
{
  __shared__ unsigned long long first;
  if (threadIdx.x == 0) {
    first = (unsigned long long)a.n;
    a.result[AMG_REFUSED] = a.result[AMG_SKIPPED] = 0;
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < a.n; i += SWEEPERS) {
    a.scale[i] = poiseAmgScale(&a, i);
    if (a.scale[i] != 0) atomicMin(&first, (unsigned long long)i);
  }
  __syncthreads();
  double sign = (int64_t)first == a.n ? 0 : a.a[first * a.n + first] < 0 ? -1 : 1;
  if (threadIdx.x == 0) *a.sign = sign;
  for (int64_t i = threadIdx.x; i < a.n; i += SWEEPERS) {
    if (a.scale[i] != 0 && sign * a.a[i * a.n + i] < 0) a.result[AMG_REFUSED] = 1;
  }
}

/* A thread an entry of the lower triangle, and the one across. */
static __global__ void __launch_bounds__(THREADS) Symmetrise(const __grid_constant__ AmgInvertArgs a)
{
  int64_t j = (int64_t)blockIdx.x * TILE + threadIdx.x % TILE,
          i = (int64_t)blockIdx.y * TILE_ROWS + threadIdx.x / TILE;
  if (i >= a.n || j > i || IsRefused(a)) return;
  if (!poiseAmgSymmetric(&a, i, j, *a.sign * a.scale[i] * a.scale[j], &a.a[i * a.n + j]))
    a.result[AMG_REFUSED] = 1;
}

/* ---- a panel --------------------------------------------------------------------------------- */

/* Entry (i, j), both below `width`, of the diagonal block of columns [first, first + width); 0 beyond. */
__device__ __forceinline__ double BlockEntry(const AmgInvertArgs &a, int64_t first, int width, int i, int j)
{
  int low = i > j ? i : j, high = i > j ? j : i;
  return low < width ? a.a[(first + low) * a.n + first + high] : 0;
}

/* A thread an entry. In step k the entry reads row and column k of the former state. */
static __global__ void __launch_bounds__(SWEEPERS)
    SweepBlock(const __grid_constant__ AmgInvertArgs a, int64_t first, int width)
{
  __shared__ double s[PANEL][PANEL + 1];
  int i = threadIdx.x / PANEL, j = threadIdx.x % PANEL, skipped = 0;
  if (IsRefused(a)) return;
  s[i][j] = BlockEntry(a, first, width, i, j);
  __syncthreads();
  for (int k = 0; k < width; k++) {
    double d = s[k][k], mine = s[i][j], zero = a.zero[first + k];
    bool swept = d > zero, in_row = i == k, in_column = j == k;
    if (d < -zero || d != d) { /* all threads see the same */
      if (threadIdx.x == 0) a.result[AMG_REFUSED] = 1;
      return;
    }
    if (threadIdx.x == 0) a.swept[k] = swept;
    if (threadIdx.x == 0 && !swept) a.scale[first + k] = 0;
    skipped += !swept;
    if (swept)
      mine = in_row && in_column ? -1 / d : in_row || in_column ? mine / d : mine - s[i][k] * s[k][j] / d;
    __syncthreads();
    s[i][j] = mine;
    __syncthreads();
  }
  a.block[threadIdx.x] = s[i][j];
  if (i == 0 && j >= width) a.swept[j] = 0;
  if (threadIdx.x == 0) a.result[AMG_SKIPPED] += skipped;
}

/* A thread a row i: w is the panel as it was, v = -w S over the swept columns, plus w where a column is not
   swept. In the panel's own rows both are 0. */
static __global__ void __launch_bounds__(THREADS)
    UpdatePanel(const __grid_constant__ AmgInvertArgs a, int64_t first, int width)
{
  __shared__ double s[PANEL][PANEL];
  __shared__ double swept[PANEL];
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  double w[PANEL];
  if (IsRefused(a)) return;
  for (int k = threadIdx.x; k < PANEL * PANEL; k += THREADS) s[k / PANEL][k % PANEL] = a.block[k];
  if (threadIdx.x < PANEL) swept[threadIdx.x] = a.swept[threadIdx.x];
  __syncthreads();
  if (i >= a.n) return;
#pragma unroll
  for (int k = 0; k < PANEL; k++) {
    int64_t j = first + k;
    bool is_in = i >= first && i < first + width;
    w[k] = is_in || k >= width ? 0 : i > j ? a.a[i * a.n + j] : a.a[j * a.n + i];
  }
  for (int k = 0; k < width; k++) {
    double v = 0, was = 0;
#pragma unroll
    for (int j = 0; j < PANEL; j++)
      if (j == k) was = w[j];
    if (swept[k] == 0) v = was;
#pragma unroll
    for (int j = 0; j < PANEL; j++)
      if (swept[j] != 0) v -= w[j] * s[j][k];
    a.w[k * a.n + i] = was;
    a.v[k * a.n + i] = v;
  }
}

/* Entry (i, j), j <= i: what the panel has become there, or less v w over the swept columns. */
static __global__ void __launch_bounds__(THREADS)
    UpdateRows(const __grid_constant__ AmgInvertArgs a, int64_t first, int width)
{
  __shared__ double v[PANEL][TILE], w[PANEL][TILE], swept[PANEL];
  int64_t rows = (int64_t)blockIdx.y * TILE, columns = (int64_t)blockIdx.x * TILE;
  if (columns > rows || IsRefused(a)) return;
  if (threadIdx.x < PANEL) swept[threadIdx.x] = a.swept[threadIdx.x];
  for (int e = threadIdx.x; e < PANEL * TILE; e += THREADS) {
    int k = e / TILE, l = e % TILE;
    v[k][l] = k < width && rows + l < a.n ? a.v[k * a.n + rows + l] : 0;
    w[k][l] = k < width && columns + l < a.n ? a.w[k * a.n + columns + l] : 0;
  }
  __syncthreads();
  int column = threadIdx.x % TILE;
  int64_t j = columns + column;
#pragma unroll
  for (int r = 0; r < TILE; r += TILE_ROWS) {
    int row = r + threadIdx.x / TILE;
    int64_t i = rows + row;
    bool row_in = i >= first && i < first + width, column_in = j >= first && j < first + width;
    if (i >= a.n || j > i) continue;
    double y = a.a[i * a.n + j];
    if (column_in)
      y = row_in ? a.block[(j - first) * PANEL + i - first] : a.v[(j - first) * a.n + i];
    else if (row_in)
      y = a.v[(i - first) * a.n + j];
    else
      for (int k = 0; k < PANEL; k++)
        if (swept[k] != 0 && v[k][row] != 0) y -= v[k][row] * w[k][column];
    a.a[i * a.n + j] = y;
  }
}

/* ---- after them ------------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(THREADS) ScaleBack(const __grid_constant__ AmgInvertArgs a)
{
  int64_t j = (int64_t)blockIdx.x * TILE + threadIdx.x % TILE,
          i = (int64_t)blockIdx.y * TILE_ROWS + threadIdx.x / TILE;
  if (i >= a.n || j > i || IsRefused(a)) return;
  double y = -*a.sign * a.a[i * a.n + j] * a.scale[i] * a.scale[j];
  a.a[i * a.n + j] = y;
  a.a[j * a.n + i] = y;
}

extern "C" PoiseErr poiseCuda_amg_invert(Device *dev, const void *args)
{
  const AmgInvertArgs *a = (const AmgInvertArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  unsigned tiles = (unsigned)((a->n + TILE - 1) / TILE), halves = tiles * (TILE / TILE_ROWS);
  FindScale<<<1, SWEEPERS, 0, stream>>>(*a);
  if (!a->n) return POISE_OK;
  Symmetrise<<<dim3(tiles, halves), THREADS, 0, stream>>>(*a);
  for (int64_t first = 0; first < a->n; first += PANEL) {
    int width = a->n - first < PANEL ? (int)(a->n - first) : (int)PANEL;
    SweepBlock<<<1, SWEEPERS, 0, stream>>>(*a, first, width);
    UpdatePanel<<<Grid(a->n), THREADS, 0, stream>>>(*a, first, width);
    UpdateRows<<<dim3(tiles, tiles), THREADS, 0, stream>>>(*a, first, width);
  }
  ScaleBack<<<dim3(tiles, halves), THREADS, 0, stream>>>(*a);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on wide vectors whose columns are mixed. Rows pass through shared memory, TILE numbers of a vector
   at a time, as each number is needed k times. */
#include "vec/gram_kernels.h"
#include "wide.h"

enum { TILE = 1024, SIDE = 16, AHEAD = 4 };

/* Rows [first, first + rows) of a wide vector, all threads. */
__device__ __forceinline__ void FetchRows(double *tile, const double *x, int64_t first, int rows, int k)
{
#pragma unroll 4
  for (int e = threadIdx.x; e < rows * k; e += THREADS) tile[e] = x[first * k + e];
}

/*
  A thread block has a block of rows. Up to 16 columns a thread has one entry (i, j) of each G; threads that
  are left over take turns at the rows. Of more columns it has four, 16 apart: what it reads of a row serves
  two.
*/
template <int PAIRS>
static __global__ void __launch_bounds__(THREADS) GramColumns(const __grid_constant__ GramArgs a)
{
  __shared__ double x[TILE], y[PAIRS][TILE];
  double s[PAIRS][2][2] = {};
  int k = a.k, side = k < SIDE ? k : SIDE, cells = side * side, slices = THREADS / cells;
  int cell = threadIdx.x % cells, slice = threadIdx.x / cells, i = cell % side, j = cell / side;
  int64_t rows = poiseGramRows(a.n), first = blockIdx.x * rows,
          last = first + rows < a.n ? first + rows : a.n;
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  for (int64_t at = first; at < last; at += TILE / k) {
    int n = (int)(last - at < TILE / k ? last - at : TILE / k);
    __syncthreads();
    FetchRows(x, a.x, at, n, k);
#pragma unroll
    for (int p = 0; p < PAIRS; p++)
      if (a.y[p] != a.x) FetchRows(y[p], a.y[p], at, n, k);
    __syncthreads();
    for (int r = slice; r < n && slice < slices; r += slices) {
      double u[2] = {x[r * k + i], i + SIDE < k ? x[r * k + i + SIDE] : 0};
#pragma unroll
      for (int p = 0; p < PAIRS; p++) {
        const double *row = (a.y[p] == a.x ? x : y[p]) + r * k;
        double v[2] = {row[j], j + SIDE < k ? row[j + SIDE] : 0};
#pragma unroll
        for (int c = 0; c < 4; c++) s[p][c / 2][c % 2] += u[c / 2] * v[c % 2];
      }
    }
  }
  double *to = a.partial + blockIdx.x;
#pragma unroll
  for (int p = 0; p < PAIRS; p++) {
    __syncthreads();
    x[threadIdx.x] = s[p][0][0];
    __syncthreads();
    for (int t = 1; t < slices && slice == 0; t++) s[p][0][0] += x[t * cells + cell];
    for (int c = 0; c < 4 && slice == 0; c++)
      if (i + c / 2 * SIDE < k && j + c % 2 * SIDE < k)
        to[(int64_t)((p * k + i + c / 2 * SIDE) * k + j + c % 2 * SIDE) * GRAM_BLOCKS] = s[p][c / 2][c % 2];
  }
}

/* A thread has a column of AHEAD rows of a tile, so that a coefficient serves so many. */
static __global__ void __launch_bounds__(THREADS) CombineColumns(const __grid_constant__ CombineArgs a)
{
  __shared__ double x[2][TILE], coefficient[2][POISE_MAX_COLUMNS * POISE_MAX_COLUMNS];
  Columns c(a.k);
  int k = a.k, apart = THREADS / k, mine = threadIdx.x / k, operands = a.x[1] ? 2 : 1;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK,
          last = first + POISE_BLOCK < a.n ? first + POISE_BLOCK : a.n;
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  for (int p = 0; p < operands; p++)
    for (int e = threadIdx.x; e < k * k; e += THREADS) coefficient[p][e] = a.c[p][e];
  bool stays = c.column < 0 || (a.stays && a.stays[poiseScalarsOf(&a.systems, c.column)] != 0);
  for (int64_t at = first; at < last; at += AHEAD * apart) {
    int n = (int)(last - at < AHEAD * apart ? last - at : AHEAD * apart);
    __syncthreads();
    for (int p = 0; p < operands; p++) FetchRows(x[p], a.x[p], at, n, k);
    __syncthreads();
    if (stays) continue;
    double v[AHEAD];
#pragma unroll
    for (int r = 0; r < AHEAD; r++)
      v[r] = a.adds && mine + r * apart < n ? a.y[(at + mine + r * apart) * k + c.column] : 0;
    for (int p = 0; p < operands; p++)
#pragma unroll 4
      for (int i = 0; i < k; i++) {
        double f = coefficient[p][i * k + c.column];
#pragma unroll
        for (int r = 0; r < AHEAD; r++) v[r] += x[p][(mine + r * apart) * k + i] * f;
      }
#pragma unroll
    for (int r = 0; r < AHEAD; r++)
      if (mine + r * apart < n) a.y[(at + mine + r * apart) * k + c.column] = v[r];
  }
}

extern "C" PoiseErr poiseCuda_gram_columns(Device *dev, const void *args)
{
  const GramArgs *a = (const GramArgs *)args;
  unsigned blocks = (unsigned)poiseGramBlocks(a->n);
  if (!blocks) return POISE_OK;
  return LaunchPdl(dev, a->pairs == 2 ? GramColumns<2> : GramColumns<1>, blocks, THREADS, 0, *a);
}

extern "C" PoiseErr poiseCuda_combine_columns(Device *dev, const void *args)
{
  const CombineArgs *a = (const CombineArgs *)args;
  return a->n ? LaunchPdl(dev, CombineColumns, (unsigned)POISE_NBLOCKS(a->n), THREADS, 0, *a) : POISE_OK;
}

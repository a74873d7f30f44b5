/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with triangles by Jacobi sweeps: products with a triangle. */
#include "pc/jacobi_sweeps_kernels.h"
#include "cuda.h"

/* What lane `lane` of L adds to the sum of row i of numbers. Neighbouring rows of a block read neighbouring
   numbers. */
template <int L> __device__ __forceinline__ double Part(const JacobiSweepArgs &a, int64_t i, int lane)
{
  const Triangles &t = a.t;
  int64_t b = t.b ? t.b : 1, row = t.b ? i / b : i, r = i - row * b;
  int64_t k = (a.upper ? poiseOffset(&t, t.diag, row) + 1 : poiseOffset(&t, t.begin, row)) + lane,
          end = poiseOffset(&t, a.upper ? t.end : t.diag, row);
  double sum = 0;
  if (!t.b) {
#pragma unroll 4
    for (; k < end; k += L) sum += a.val[k] * a.from[t.col[k]];
    return sum;
  }
  for (; k < end; k += L) {
    const double *v = a.val + k * b * b + r, *x = a.from + t.col[k] * b;
    for (int64_t c = 0; c < b; c++) sum += v[c * b] * x[c];
  }
  return sum;
}

/* L lanes for each row of numbers; a thread block has POISE_BLOCK rows. Traffic: 12 bytes per entry of the
   triangle (8 + 4 / b^2 per number of blocks), two offsets per row, x, d and y once. */
template <int L>
static __global__ void __launch_bounds__(THREADS) JacobiSweep(const __grid_constant__ JacobiSweepArgs a)
{
  __shared__ double done[POISE_BLOCK];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK, n = a.t.b ? a.t.n * a.t.b : a.t.n;
  int lane = threadIdx.x % L;
  for (int p = threadIdx.x / L; p < POISE_BLOCK; p += THREADS / L) {
    int64_t i = first + p;
    double sum = i < n ? Part<L>(a, i, lane) : 0;
    for (int step = L / 2; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane || i >= n) continue;
    double y = a.x[i] - sum;
    if (a.d) y *= a.d[i];
    a.y[i] = done[p] = y;
  }
  if (!a.fuse.ndot) return;
  __syncthreads();
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int p = r * THREADS + threadIdx.x;
    y[r] = first + p < n ? done[p] : 0;
  }
  FuseDots(a.fuse, y, first + threadIdx.x, n, blockIdx.x);
}

template <int L> static PoiseErr Run(Device *dev, const JacobiSweepArgs *a)
{
  int64_t n = a->t.b ? a->t.n * a->t.b : a->t.n;
  return LaunchPdl(dev, JacobiSweep<L>, (unsigned)POISE_NBLOCKS(n), THREADS, 0, *a);
}

extern "C" PoiseErr poiseCuda_jacobi_sweep(Device *dev, const void *args)
{
  const JacobiSweepArgs *a = (const JacobiSweepArgs *)args;
  if (!a->t.n) return POISE_OK;
  double mean = (double)(a->t.nz - a->t.n) / (double)(2 * a->t.n); /* entries of a row of the triangle */
  return (mean < 6 ? Run<1> : mean < 12 ? Run<2> : mean < 24 ? Run<4> : mean < 96 ? Run<8> : Run<32>)(dev, a);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products in fp32 of several columns. A thread makes a number of Y: threads of a row read its entries at
  once, from L1, and neighbours in a row of X. Traffic: 8 bytes an entry, or 4 a number and 4 a block, 4 an
  offset, and 4 for each number of X and Y.
*/
#include "mat/product/csr_columns_kernels.h"
#include "cuda.h"

/* The number of row i of blocks, its row r and column j. B: rows of a block. */
template <int B>
__device__ __forceinline__ double NumberOf(const ColumnsMultArgs_f32 &a, int64_t i, int r, int j)
{
  const auto &A = a.m.A;
  int n = (int)a.columns;
  double s[B] = {0};
#pragma unroll 4
  for (int64_t k = poiseCsrOffset(&A, i), end = poiseCsrOffset(&A, i + 1); k < end; k++) {
    int64_t c = A.col[k];
    const float *x = (c < A.nloc ? a.m.x + c * B * n : a.m.ghost + (c - A.nloc) * B * n) + j,
                *v = A.val + k * B * B + r;
#pragma unroll
    for (int q = 0; q < B; q++) s[q] += (double)v[q * B] * (double)x[q * n];
  }
  double sum = s[0];
#pragma unroll
  for (int q = 1; q < B; q++) sum += s[q];
  return sum;
}

template <int B>
static __global__ void __launch_bounds__(THREADS) MultNumbers(const __grid_constant__ ColumnsMultArgs_f32 a)
{
  PdlLaunchDependents();
  PdlWait();
  if (a.m.skip && *a.m.skip != 0) return;
  int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x, row = e / a.columns;
  if (row >= a.m.A.m * B) return;
  double alpha = poiseScalar(a.m.a), beta = poiseScalar(a.m.b),
         s = alpha * NumberOf<B>(a, row / B, (int)(row % B), (int)(e % a.columns));
  a.m.y[e] = (float)(beta == 0 ? s : s + beta * a.m.y[e]);
}

extern "C" PoiseErr poiseCuda_mult_columns_f32(Device *dev, const void *args)
{
  static void (*const kernels[])(ColumnsMultArgs_f32) = {MultNumbers<1>, MultNumbers<1>, MultNumbers<2>,
                                                         MultNumbers<3>, MultNumbers<4>, MultNumbers<5>,
                                                         MultNumbers<6>, MultNumbers<7>, MultNumbers<8>};
  const ColumnsMultArgs_f32 *a = (const ColumnsMultArgs_f32 *)args;
  int b = a->m.A.b > 1 ? a->m.A.b : 1;
  int64_t numbers = a->m.A.m * b * a->columns;
  return numbers ? LaunchPdl(dev, kernels[b], Grid(numbers), THREADS, 0, *a) : POISE_OK;
}

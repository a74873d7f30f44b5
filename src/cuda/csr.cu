/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of plain CSR. */
#include "cuda.h"

__device__ __forceinline__ int64_t Offset(const CsrView &A, int64_t i)
{
  return A.ptr32 ? A.ptr32[i] : A.ptr64[i];
}

/* L neighbouring lanes per row, POISE_BLOCK rows per block; 12 bytes per nonzero, 4 per offset, x and y once. */
template <int L> __global__ void __launch_bounds__(THREADS) CsrMult(const __grid_constant__ CsrMultArgs a)
{
  __shared__ double sum[POISE_BLOCK];
  if (a.skip && *a.skip != 0) return;
  int64_t block = a.order ? a.order[blockIdx.x] : blockIdx.x, first = block * POISE_BLOCK;
  int lane = threadIdx.x % L;
  for (int r = threadIdx.x / L; r < POISE_BLOCK; r += THREADS / L) {
    int64_t i = first + r, k = 0, end = 0;
    double s = 0;
    if (i < a.A.m) k = Offset(a.A, i) + lane, end = Offset(a.A, i + 1);
    for (; k < end; k += L) {
      int32_t c = a.A.col[k];
      s += a.A.val[k] * (c < a.A.nloc ? a.x[c] : a.ghost[c - a.A.nloc]);
    }
    for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
    if (lane == 0) sum[r] = s;
  }
  __syncthreads();
  double alpha = poiseScalar(a.a), beta = poiseScalar(a.b), y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS + threadIdx.x;
    y[r] = 0;
    if (i >= a.A.m) continue;
    y[r] = alpha * sum[r * THREADS + threadIdx.x] + (beta == 0 ? 0 : beta * a.y[i]);
    a.y[i] = y[r];
  }
  FuseDots(a.fuse, y, first + threadIdx.x, a.A.m, block);
}

__global__ void CsrMultTranspose(const __grid_constant__ CsrMultTransposeArgs a)
{
  int64_t j = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (j >= a.ncol) return;
  double s = 0;
  for (int64_t k = a.tptr[j]; k < a.tptr[j + 1]; k++) s += a.val[a.perm[k]] * a.x[a.row[k]];
  if (j < a.nloc)
    a.y[j] = s;
  else
    a.ghost[j - a.nloc] = s;
}

/* One thread per row; d has been set to zero. */
__global__ void CsrDiagonal(const __grid_constant__ CsrDiagonalArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= a.A.m) return;
  int64_t first = i - i % a.b;
  for (int64_t k = Offset(a.A, i); k < Offset(a.A, i + 1); k++) {
    int64_t j = a.A.col[k] - first;
    if (j >= 0 && j < a.b) a.d[first * a.b + j * a.b + i % a.b] = a.A.val[k];
  }
}

template <int L> static void Launch(Device *dev, const CsrMultArgs *a)
{
  CsrMult<L><<<(unsigned)a->nblock, THREADS, 0, poiseCudaStream(dev)>>>(*a);
}

extern "C" PoiseErr poiseCuda_csr_mult(Device *dev, const void *args)
{
  static const struct {
    double most; /* mean row length */
    void (*launch)(Device *, const CsrMultArgs *);
  } table[] = {{4, Launch<1>},  {10, Launch<2>},   {20, Launch<4>},
               {48, Launch<8>}, {128, Launch<16>}, {HUGE_VAL, Launch<32>}};
  const CsrMultArgs *a = (const CsrMultArgs *)args;
  double mean = a->A.m ? (double)a->A.nz / (double)a->A.m : 0;
  int k = 0;
  while (mean > table[k].most) k++;
  if (a->nblock) table[k].launch(dev, a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  unsigned grid = (unsigned)((a->ncol + THREADS - 1) / THREADS);
  if (grid) CsrMultTranspose<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_diagonal(Device *dev, const void *args)
{
  const CsrDiagonalArgs *a = (const CsrDiagonalArgs *)args;
  unsigned grid = (unsigned)((a->A.m + THREADS - 1) / THREADS);
  if (!grid) return POISE_OK;
  cudaMemsetAsync(a->d, 0, (size_t)a->A.m * (size_t)a->b * sizeof(double), poiseCudaStream(dev));
  CsrDiagonal<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

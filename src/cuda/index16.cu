/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of 16 bits beside those of a CSR. */
#include "../mat/index16_kernels.h"
#include "cuda.h"

/* A block of threads per block of rows, whose columns are in a cache when they are looked at again. */
static __global__ void __launch_bounds__(THREADS) CsrIndex16(const __grid_constant__ CsrIndex16Args a)
{
  __shared__ int32_t window[POISE_WINDOWS], found;
  int64_t b = blockIdx.x, row = (b + 1) * a.rows, from = 0;
  int64_t begin = poiseCsrOffset(&a.A, b * a.rows), end = poiseCsrOffset(&a.A, row < a.A.m ? row : a.A.m);
  int n = 0;
  if (threadIdx.x < POISE_WINDOWS) window[threadIdx.x] = 0;
  for (;; n++) {
    int32_t least = INT32_MAX;
    for (int64_t k = begin + threadIdx.x; k < end; k += THREADS) {
      int32_t c = a.A.col[k];
      if (c >= from && c < least) least = c;
    }
    double left[1] = {(double)(INT32_MAX - least)}; /* 0: no column is left */
    BlockReduce<1, COMBINE_MAX>(left);
    if (threadIdx.x == 0) found = INT32_MAX - (int32_t)left[0];
    __syncthreads();
    least = found;
    if (least == INT32_MAX) break;
    if (n == POISE_WINDOWS || least >= a.A.nloc) {
      n = POISE_WINDOWS + 1;
      break;
    }
    if (threadIdx.x == 0) window[n] = least;
    from = poiseIndex16End(&a.A, least);
  }
  __syncthreads();
  bool fits = n <= POISE_WINDOWS;
  if (threadIdx.x < POISE_WINDOWS) a.window[b * POISE_WINDOWS + threadIdx.x] = fits ? window[threadIdx.x] : -1;
  if (!fits) return;
  for (int64_t k = begin + threadIdx.x; k < end; k += THREADS) a.code[k] = poiseIndex16Code(window, n, a.A.col[k]);
  if (threadIdx.x == 0) atomicAdd((unsigned long long *)a.fits, (unsigned long long)(end - begin));
}

extern "C" PoiseErr poiseCuda_csr_index16(Device *dev, const void *args)
{
  const CsrIndex16Args *a = (const CsrIndex16Args *)args;
  if (a->nblock) CsrIndex16<<<(unsigned)a->nblock, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

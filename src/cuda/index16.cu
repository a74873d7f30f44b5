/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of 16 bits beside those of a CSR: 4 bits name a column band of 4096 columns, 12 the place in
   it. */
#include "mat/types/index16_kernels.h"
#include "cuda.h"

/* A thread block per row block. It looks for the next column band until all columns have one; after the
   first pass the columns are in cache. */
static __global__ void __launch_bounds__(THREADS) CsrIndex16(const __grid_constant__ CsrIndex16Args a)
{
  __shared__ int32_t base[POISE_BANDS], found;
  int64_t b = blockIdx.x, row = (b + 1) * a.rows, from = 0;
  int64_t begin = poiseCsrOffset(&a.A, b * a.rows), end = poiseCsrOffset(&a.A, row < a.A.m ? row : a.A.m);
  int n = 0;
  if (threadIdx.x < POISE_BANDS) base[threadIdx.x] = 0;
  for (;; n++) {
    int32_t least = INT32_MAX;
    for (int64_t k = begin + threadIdx.x; k < end; k += THREADS) {
      int32_t c = a.A.col[k];
      if (c >= from && c < least) least = c;
    }
    double left[1] = {(double)(INT32_MAX - least)}; /* 0: every column has a band */
    BlockReduce<1, COMBINE_MAX>(left);
    if (threadIdx.x == 0) found = INT32_MAX - (int32_t)left[0];
    __syncthreads();
    least = found;
    if (least == INT32_MAX) break;
    if (n == POISE_BANDS || least >= a.A.nloc) {
      n = POISE_BANDS + 1;
      break;
    }
    if (threadIdx.x == 0) base[n] = least;
    from = poiseIndex16End(&a.A, least);
  }
  __syncthreads();
  bool fits = n <= POISE_BANDS;
  if (threadIdx.x < POISE_BANDS) a.base[b * POISE_BANDS + threadIdx.x] = fits ? base[threadIdx.x] : -1;
  if (!fits) return;
  for (int64_t k = begin + threadIdx.x; k < end; k += THREADS)
    a.code[k] = poiseIndex16Code(base, n, a.A.col[k]);
  if (threadIdx.x == 0) atomicAdd((unsigned long long *)a.fits, (unsigned long long)(end - begin));
}

extern "C" PoiseErr poiseCuda_csr_index16(Device *dev, const void *args)
{
  const CsrIndex16Args *a = (const CsrIndex16Args *)args;
  if (a->nblock) CsrIndex16<<<(unsigned)a->nblock, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of 16 bits besides those of a CSR: 4 bits name a column band of 4096 columns, 12 the place in
   it. */
#include "mat/product/index16_kernels.h"
#include "cuda.h"

/* Columns that a thread holds in registers. Others it reads again in each pass, from cache. */
enum { HELD = 8 };

/* Let `least` be the least of all threads' columns from `from` on; INT32_MAX, which it was: there is none.
   Below `from` a column less `from` is negative, which is large without a sign. */
__device__ __forceinline__ void FindLeast(const int32_t (&held)[HELD], const int32_t *col, int64_t more,
                                          int64_t end, int32_t from, int32_t *least)
{
  uint32_t mine = UINT32_MAX;
#pragma unroll
  for (int r = 0; r < HELD; r++) mine = min(mine, (uint32_t)held[r] - (uint32_t)from);
  for (int64_t k = more; k < end; k += THREADS) mine = min(mine, (uint32_t)col[k] - (uint32_t)from);
  mine = __reduce_min_sync(~0u, mine);
  if (threadIdx.x % 32 == 0 && mine <= INT32_MAX) atomicMin(least, from + (int32_t)mine);
}

/* A thread block per row block. It looks for the next column band until all columns have one. */
static __global__ void __launch_bounds__(THREADS) CsrIndex16(const __grid_constant__ CsrIndex16Args a)
{
  __shared__ int32_t base[POISE_BANDS + 1];
  int64_t b = blockIdx.x, row = (b + 1) * a.rows;
  int64_t begin = poiseCsrOffset(&a.A, b * a.rows), end = poiseCsrOffset(&a.A, row < a.A.m ? row : a.A.m),
          first = begin + threadIdx.x, more = first + HELD * THREADS;
  int32_t held[HELD], from = 0;
  int n = 0;
  if (threadIdx.x <= POISE_BANDS) base[threadIdx.x] = INT32_MAX;
#pragma unroll
  for (int r = 0; r < HELD; r++) held[r] = first + r * THREADS < end ? a.A.col[first + r * THREADS] : -1;
  __syncthreads();
  for (;; n++) {
    FindLeast(held, a.A.col, more, end, from, &base[n]);
    __syncthreads();
    if (base[n] == INT32_MAX) break;
    if (n == POISE_BANDS || base[n] >= a.A.nloc) {
      n = POISE_BANDS + 1;
      break;
    }
    from = (int32_t)poiseIndex16End(&a.A, base[n]);
  }
  bool fits = n <= POISE_BANDS;
  if (threadIdx.x < POISE_BANDS)
    a.base[b * POISE_BANDS + threadIdx.x] = !fits ? -1 : (int)threadIdx.x < n ? base[threadIdx.x] : 0;
  if (!fits) return;
#pragma unroll
  for (int r = 0; r < HELD; r++)
    if (held[r] >= 0) a.code[first + r * THREADS] = poiseIndex16Code(base, n, held[r]);
  for (int64_t k = more; k < end; k += THREADS) a.code[k] = poiseIndex16Code(base, n, a.A.col[k]);
  if (threadIdx.x == 0) atomicAdd((unsigned long long *)a.fits, (unsigned long long)(end - begin));
}

extern "C" PoiseErr poiseCuda_csr_index16(Device *dev, const void *args)
{
  const CsrIndex16Args *a = (const CsrIndex16Args *)args;
  if (a->nblock) CsrIndex16<<<(unsigned)a->nblock, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Finds the first wrong place of an array, or row of a CSR. A thread has a place, or the first LONG entries of
  a row. Warps share what follows, as a thread takes a tenth of a second for a million. Where numbers
  are asked about each has a thread, and a row is looked up only for one that is not finite.
*/
#include "mat/csr/find_kernels.h"
#include "cuda.h"

enum { LONG = 4096 }; /* entries of a row that a thread looks at; and of a warp */

static __global__ void Begin(const __grid_constant__ FindArgs a)
{
  *a.first = a.n;
}

/* The best place so far is read first, so that many wrong places do not cause as many atomics. */
__device__ __forceinline__ bool Improves(const FindArgs &a, int64_t k)
{
  return k < *(volatile int64_t *)a.first;
}

__device__ __forceinline__ void Report(const FindArgs &a, int64_t k)
{
  atomicMin((unsigned long long *)a.first, (unsigned long long)k);
}

static __global__ void Find(const __grid_constant__ FindArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < a.n && Improves(a, k) && poiseFinds(&a, k)) Report(a, k);
}

static __global__ void FindUnsorted(const __grid_constant__ FindArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= a.n || !Improves(a, i)) return;
  int64_t begin = poiseFindOffset(&a, i), end = poiseFindOffset(&a, i + 1);
  if (end > begin + LONG) end = begin + LONG;
  if (poiseFindsUnsorted(&a, a.base - 1, begin, end)) Report(a, i);
}

/* Warp w has entries [w LONG, (w + 1) LONG) of the row that entry w LONG is of. If that row begins there or
   less than LONG before, its thread has seen a part of them, too. */
static __global__ void FindUnsortedLong(const __grid_constant__ FindArgs a)
{
  int64_t at = (blockIdx.x * (int64_t)WARPS + threadIdx.x / 32) * LONG;
  int lane = threadIdx.x % 32;
  if (at >= a.nz) return;
  int64_t i = poiseFindRow(&a, a.n, at), begin = poiseFindOffset(&a, i), end = poiseFindOffset(&a, i + 1);
  if (end <= begin + LONG || !Improves(a, i)) return;
  if (end > at + LONG) end = at + LONG;
  int wrong = 0;
#pragma unroll 4
  for (int64_t k = at + lane; k < end; k += 32)
    wrong |= poiseFindsUnsorted(&a, k > begin ? poiseFindColumn(&a, k - 1) : a.base - 1, k, k + 1);
  if (wrong) Report(a, i);
}

static __global__ void FindNan(const __grid_constant__ FindArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x, b = a.b ? a.b : 1;
  if (k >= a.nz * b * b || poiseFinite(a.val[k]) || !Improves(a, 0)) return;
  int64_t row = poiseFindRow(&a, a.n / b, k / (b * b)) * b + k % b; /* column-major */
  if (Improves(a, row)) Report(a, row);
}

extern "C" PoiseErr poiseCuda_find(Device *dev, const void *args)
{
  const FindArgs *a = (const FindArgs *)args;
  int64_t b = a->b ? a->b : 1;
  cudaStream_t stream = poiseCudaStream(dev);
  Begin<<<1, 1, 0, stream>>>(*a);
  if (!a->n) return POISE_OK;
  if (a->what == FIND_NAN_IN_ROW) {
    if (a->nz) FindNan<<<Grid(a->nz * b * b), THREADS, 0, stream>>>(*a);
  } else if (a->what == FIND_UNSORTED) {
    FindUnsorted<<<Grid(a->n), THREADS, 0, stream>>>(*a);
    if (a->nz > LONG) FindUnsortedLong<<<Grid((a->nz + LONG - 1) / LONG * 32), THREADS, 0, stream>>>(*a);
  } else {
    Find<<<Grid(a->n), THREADS, 0, stream>>>(*a);
  }
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the first wrong place of an array, or row of a CSR, with a thread per place. */
#include "mat/csr/find_kernels.h"
#include "cuda.h"

static __global__ void Begin(const __grid_constant__ FindArgs a)
{
  *a.first = a.n;
}

/* The best place so far is read first, so that many wrong places do not cause as many atomics. */
static __global__ void Find(const __grid_constant__ FindArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < a.n && k < *(volatile int64_t *)a.first && poiseFinds(&a, k))
    atomicMin((unsigned long long *)a.first, (unsigned long long)k);
}

extern "C" PoiseErr poiseCuda_find(Device *dev, const void *args)
{
  const FindArgs *a = (const FindArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  Begin<<<1, 1, 0, stream>>>(*a);
  if (a->n) Find<<<(unsigned)((a->n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(*a);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of triplets. */
#include "cuda.h"

/* A thread per entry: 12 bytes per value, 12 per entry (4 more each where places are int64). */
static __global__ void CooSum(const __grid_constant__ CooSumArgs a)
{
  int64_t e = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (e < a.n) a.val[e] = poiseCooSum(&a, e);
}

extern "C" PoiseErr poiseCuda_coo_sum(Device *dev, const void *args)
{
  const CooSumArgs *a = (const CooSumArgs *)args;
  if (a->n) CooSum<<<(unsigned)((a->n + THREADS - 1) / THREADS), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

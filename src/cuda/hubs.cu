/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns that many entries have. */
#include "mat/product/hubs_kernels.h"
#include "cuda.h"

static __global__ void __launch_bounds__(THREADS) CountColumns(const __grid_constant__ CsrHubsArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < a.A.nz) atomicAdd(&a.count[a.A.col[k]], 1);
}

static __global__ void __launch_bounds__(THREADS) PickHubs(const __grid_constant__ CsrHubsArgs a)
{
  int64_t j = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (j >= a.columns || !a.count[j]) return;
  unsigned long long *most = (unsigned long long *)a.most + poiseHubSlot((int32_t)j, (int)a.bits);
  atomicMax(most, (unsigned long long)a.count[j] << 32 | (unsigned long long)j);
}

extern "C" PoiseErr poiseCuda_csr_hubs(Device *dev, const void *args)
{
  const CsrHubsArgs *a = (const CsrHubsArgs *)args;
  if (a->A.nz) CountColumns<<<Grid(a->A.nz), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  if (a->columns) PickHubs<<<Grid(a->columns), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

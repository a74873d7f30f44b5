/* SPDX-License-Identifier: BSD-3-Clause */
/* The k x k matrices of block conjugate gradients, by one thread block. */
#include "ksp/bcg_kernels.h"
#include "cuda.h"

typedef void (*Work)(const BcgArgs *a, BcgScratch *s, int lane, int lanes);

template <Work WORK>
static __global__ void __launch_bounds__(THREADS) RunMatrices(const __grid_constant__ BcgArgs a)
{
  __shared__ BcgScratch s;
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  WORK(&a, &s, (int)threadIdx.x, THREADS);
}

extern "C" PoiseErr poiseCuda_bcg_step(Device *dev, const void *args)
{
  return LaunchPdl(dev, RunMatrices<poiseBcgStep>, 1, THREADS, 0, *(const BcgArgs *)args);
}

extern "C" PoiseErr poiseCuda_bcg_factor(Device *dev, const void *args)
{
  return LaunchPdl(dev, RunMatrices<poiseBcgAfter>, 1, THREADS, 0, *(const BcgArgs *)args);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up of amg, a thread per item. The text of each kernel, and its traffic, stand in the header of its
   stage. Compiled without contraction, so that the hierarchy has the host's bits. */
#include "pc/amg/aggregate_kernels.h"
#include "pc/amg/bottom_kernels.h"
#include "pc/amg/diagonal_kernels.h"
#include "pc/amg/interpolation_kernels.h"
#include "pc/amg/lambda_kernels.h"
#include "pc/amg/strength_kernels.h"
#include "pc/amg/tentative_kernels.h"
#include "cuda.h"

template <typename Args, void (*Item)(const Args *, int64_t)>
static __global__ void __launch_bounds__(THREADS) Items(const __grid_constant__ Args a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < a.n) Item(&a, i);
}

template <typename Args, void (*Item)(const Args *, int64_t)>
static PoiseErr LaunchItems(Device *dev, const void *args)
{
  const Args *a = (const Args *)args;
  if (a->n) Items<Args, Item><<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

#define KERNEL(name, Args)
#define ITEM_KERNEL(name, Args)                                       \
  extern "C" PoiseErr poiseCuda_##name(Device *dev, const void *args) \
  {                                                                   \
    return LaunchItems<Args, name##_item>(dev, args);                 \
  }
#include "sys/kernels.def"
#undef KERNEL

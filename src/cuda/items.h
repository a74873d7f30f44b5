/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of a thread for each of the n items of their arguments. */
#ifndef POISE_ITEMS_H
#define POISE_ITEMS_H

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

#endif

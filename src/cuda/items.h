/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of a thread for each of the n items of their arguments, or a warp for each row. */
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

/* A warp for each row, so that a long one does not keep others. */
template <typename Args, void (*Row)(const Args *, int64_t, int, int)>
static __global__ void __launch_bounds__(THREADS) Rows(const __grid_constant__ Args a)
{
  int64_t i = blockIdx.x * (int64_t)WARPS + threadIdx.x / 32;
  if (i < a.n) Row(&a, i, threadIdx.x % 32, 32);
}

template <typename Args, void (*Row)(const Args *, int64_t, int, int)>
static PoiseErr LaunchRows(Device *dev, const void *args)
{
  const Args *a = (const Args *)args;
  if (a->n) Rows<Args, Row><<<Grid(a->n * 32), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

#endif

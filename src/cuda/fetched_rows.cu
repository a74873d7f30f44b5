/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that number rows of other ranks and their columns. */
#include "mat/multiply/fetched_rows_kernels.h"
#include "cuda.h"

/* A thread for each item. Traffic: fetched_lengths 16 bytes and two offsets per row; fetched_own 8 bytes per
   entry and two offsets per row. */
template <typename Args, void (*Item)(const Args *, int64_t)>
static __global__ void __launch_bounds__(THREADS) Items(const __grid_constant__ Args a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < a.n) Item(&a, i);
}

/* A warp for each row, so that a long one does not keep others. Traffic: fetched_columns 16 bytes per entry,
   fetched_entries 20, and an offset per row; lists of ghosts stay in L2. */
template <typename Args, void (*Row)(const Args *, int64_t, int, int)>
static __global__ void __launch_bounds__(THREADS) Rows(const __grid_constant__ Args a)
{
  int64_t i = blockIdx.x * (int64_t)WARPS + threadIdx.x / 32;
  if (i < a.n) Row(&a, i, threadIdx.x % 32, 32);
}

template <typename Args>
static PoiseErr LaunchAll(Device *dev, const void *args, int lanes, void (*kernel)(Args))
{
  const Args *a = (const Args *)args;
  if (a->n) kernel<<<Grid(a->n * lanes), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_fetched_lengths(Device *dev, const void *args)
{
  return LaunchAll<WantedRowsArgs>(dev, args, 1, Items<WantedRowsArgs, fetched_lengths_item>);
}

extern "C" PoiseErr poiseCuda_fetched_columns(Device *dev, const void *args)
{
  return LaunchAll<WantedRowsArgs>(dev, args, 32, Rows<WantedRowsArgs, fetched_columns_row>);
}

extern "C" PoiseErr poiseCuda_fetched_own(Device *dev, const void *args)
{
  return LaunchAll<OwnRowsArgs>(dev, args, 1, Items<OwnRowsArgs, fetched_own_item>);
}

extern "C" PoiseErr poiseCuda_fetched_entries(Device *dev, const void *args)
{
  return LaunchAll<GlobalEntriesArgs>(dev, args, 32, Rows<GlobalEntriesArgs, fetched_entries_row>);
}

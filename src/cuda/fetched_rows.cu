/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that number rows of other ranks and their columns. */
#include "mat/multiply/fetched_rows_kernels.h"
#include "cuda.h"

/* A warp for each row, so that a long one does not keep others. Traffic of fetched_entries: 20 bytes per
   entry, and an offset per row; lists of ghosts stay in L2. */
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

/* Traffic: 8 bytes per entry, two offsets per row. */
static __global__ void __launch_bounds__(THREADS) Own(const __grid_constant__ OwnRowsArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < a.n) fetched_own_item(&a, k);
}

extern "C" PoiseErr poiseCuda_fetched_own(Device *dev, const void *args)
{
  const OwnRowsArgs *a = (const OwnRowsArgs *)args;
  if (a->n) Own<<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_fetched_entries(Device *dev, const void *args)
{
  return LaunchRows<GlobalEntriesArgs, fetched_entries_row>(dev, args);
}

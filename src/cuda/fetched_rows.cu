/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that number rows of other ranks and their columns. */
#include "mat/assembly/shared_rows_kernels.h"
#include "items.h"

/* A warp for each row, so that a long one does not keep others. Traffic: fetched_columns 16 bytes per entry,
   fetched_entries 20, and an offset per row; lists of ghosts stay in L2. */
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

/* Traffic: 16 bytes and two offsets per row. */
extern "C" PoiseErr poiseCuda_fetched_lengths(Device *dev, const void *args)
{
  return LaunchItems<WantedRowsArgs, fetched_lengths_item>(dev, args);
}

extern "C" PoiseErr poiseCuda_fetched_columns(Device *dev, const void *args)
{
  return LaunchRows<WantedRowsArgs, fetched_columns_row>(dev, args);
}

/* Traffic: 8 bytes per entry, and two offsets per row. */
extern "C" PoiseErr poiseCuda_fetched_own(Device *dev, const void *args)
{
  return LaunchItems<OwnRowsArgs, fetched_own_item>(dev, args);
}

/* Traffic: 4 bytes per entry, and 12 that are written; keys received stay in L2. */
extern "C" PoiseErr poiseCuda_shared_keys(Device *dev, const void *args)
{
  return LaunchRows<SharedKeysArgs, shared_keys_row>(dev, args);
}

extern "C" PoiseErr poiseCuda_shared_received(Device *dev, const void *args)
{
  return LaunchItems<SharedKeysArgs, shared_received_item>(dev, args);
}

extern "C" PoiseErr poiseCuda_fetched_entries(Device *dev, const void *args)
{
  return LaunchRows<GlobalEntriesArgs, fetched_entries_row>(dev, args);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that find entries in columns of other ranks. */
#include "mat/csr/ghosts_kernels.h"
#include "cuda.h"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

/* Traffic: 4 bytes per entry. */
static __global__ void __launch_bounds__(THREADS) GhostCount(const __grid_constant__ GhostPickArgs a)
{
  typedef cub::BlockReduce<int, THREADS> Reduce;
  __shared__ typename Reduce::TempStorage shared;
  int count = 0;
  for (int r = 0; r < ROWS; r++) {
    int64_t k = (int64_t)blockIdx.x * POISE_BLOCK + r * THREADS + threadIdx.x;
    if (k < a.n) count += poiseIsGhost(&a, k);
  }
  count = Reduce(shared).Sum(count);
  if (threadIdx.x == 0) a.count[blockIdx.x] = count;
}

/* Traffic: 4 bytes per entry, and 12 per entry that is picked. */
static __global__ void __launch_bounds__(THREADS) GhostPick(const __grid_constant__ GhostPickArgs a)
{
  typedef cub::BlockScan<int, THREADS> Before;
  __shared__ typename Before::TempStorage shared;
  int64_t to = a.count[blockIdx.x];
  for (int r = 0; r < ROWS; r++) {
    int64_t k = (int64_t)blockIdx.x * POISE_BLOCK + r * THREADS + threadIdx.x;
    int before, all, picked = k < a.n && poiseIsGhost(&a, k);
    Before(shared).ExclusiveSum(picked, before, all);
    if (picked) {
      a.key[to + before] = (uint64_t)a.col[k];
      a.place[to + before] = (uint32_t)(to + before);
    }
    to += all;
    __syncthreads();
  }
}

/* Traffic: 8 bytes per entry; the list of ghosts stays in L2. */
static __global__ void __launch_bounds__(THREADS) GhostNumber(const __grid_constant__ GhostNumberArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < a.n) a.col[k] = poiseGhostNumber(&a, a.col[k]);
}

/* A thread block for each block of rows, up to the first ghost. Traffic: at most 4 bytes per entry. */
static __global__ void __launch_bounds__(THREADS) GhostBlocks(const __grid_constant__ GhostBlocksArgs a)
{
  int64_t k, end;
  int has = 0;
  poiseBlockEntries(&a, blockIdx.x, &k, &end);
  for (; k < end && !has; k += THREADS)
    has = __syncthreads_or(k + threadIdx.x < end && a.A.col[k + threadIdx.x] >= a.A.nloc);
  if (threadIdx.x == 0) a.has[blockIdx.x] = has != 0;
}

extern "C" PoiseErr poiseCuda_ghost_count(Device *dev, const void *args)
{
  const GhostPickArgs *a = (const GhostPickArgs *)args;
  if (a->n) GhostCount<<<(unsigned)POISE_NBLOCKS(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_ghost_pick(Device *dev, const void *args)
{
  const GhostPickArgs *a = (const GhostPickArgs *)args;
  if (a->n) GhostPick<<<(unsigned)POISE_NBLOCKS(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_ghost_number(Device *dev, const void *args)
{
  const GhostNumberArgs *a = (const GhostNumberArgs *)args;
  if (a->n) GhostNumber<<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_ghost_blocks(Device *dev, const void *args)
{
  const GhostBlocksArgs *a = (const GhostBlocksArgs *)args;
  if (a->n) GhostBlocks<<<(unsigned)a->n, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  CSR of numbers to blocks. A group of lanes has a block row, and a lane walks a row of it; the next block is
  the least that a lane of the group has reached. Lanes of a warp serve 32 / LANES block rows.
*/
#include "mat/storage/from_blocks_kernels.h"
#include "mat/storage/to_blocks_kernels.h"
#include "items.h"

template <int LANES> struct Group {
  int64_t i; /* block row */
  int r;     /* row in it */
  unsigned members;
  BlockWalk walk;

  __device__ __forceinline__ explicit Group(const ToBlocksArgs &a)
  {
    int64_t thread = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    i = thread / LANES, r = (int)(thread % LANES);
    members = (LANES == 32 ? ~0u : (1u << LANES % 32) - 1) << threadIdx.x % 32 / LANES * LANES;
    walk = BlockWalk{0, 0, 0, POISE_NO_BLOCK};
    if (i < a.m && r < a.b) poiseBlockBegin(&a, i * a.b + r, &walk);
  }

  __device__ __forceinline__ int32_t Next() const
  {
    int32_t next = walk.block;
#pragma unroll
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
      int32_t other = __shfl_xor_sync(members, next, apart);
      next = other < next ? other : next;
    }
    return next;
  }
};

/* Traffic: 4 bytes per entry and an offset per row; 4 bytes per block row are written. */
template <int LANES>
static __global__ void __launch_bounds__(THREADS) Count(const __grid_constant__ ToBlocksArgs a)
{
  Group<LANES> group(a);
  int32_t n = 0;
  for (int32_t block; (block = group.Next()) != POISE_NO_BLOCK; n++) poiseBlockPass(&a, block, &group.walk);
  if (group.i < a.m && group.r == 0) a.length[group.i] = n;
}

/* Traffic: 12 bytes per entry, 8 b^2 + 4 per block. */
template <int LANES>
static __global__ void __launch_bounds__(THREADS) Fill(const __grid_constant__ ToBlocksArgs a)
{
  Group<LANES> group(a);
  int64_t k = group.i < a.m ? poiseBlockOffset(&a, group.i) : 0;
  for (int32_t block; (block = group.Next()) != POISE_NO_BLOCK; k++) {
    if (group.r == 0) a.col[k] = poiseBlockColumn(&a, block);
    if (group.r < a.b) poiseBlockTake(&a, block, group.r, &group.walk, a.val + k * a.b * a.b);
  }
}

typedef void (*Kernel)(ToBlocksArgs);

/* The kernel whose groups have as many lanes as a block has rows, or the next power of two. */
static PoiseErr Run(Device *dev, const ToBlocksArgs *a, const Kernel (&kernel)[6])
{
  int log = 0;
  while (1 << log < a->b) log++;
  if (a->m) kernel[log]<<<Grid(a->m << log), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_to_blocks_count(Device *dev, const void *args)
{
  static const Kernel kernel[] = {Count<1>, Count<2>, Count<4>, Count<8>, Count<16>, Count<32>};
  return Run(dev, (const ToBlocksArgs *)args, kernel);
}

extern "C" PoiseErr poiseCuda_to_blocks_fill(Device *dev, const void *args)
{
  static const Kernel kernel[] = {Fill<1>, Fill<2>, Fill<4>, Fill<8>, Fill<16>, Fill<32>};
  return Run(dev, (const ToBlocksArgs *)args, kernel);
}

/* Blocks to CSR of numbers. Traffic: 20 bytes per number. */
extern "C" PoiseErr poiseCuda_from_blocks(Device *dev, const void *args)
{
  return LaunchRows<FromBlocksArgs, from_blocks_row>(dev, args);
}

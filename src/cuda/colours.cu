/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweeps by colours: the result in the order of rows. */
#include "pc/colours_kernels.h"
#include "cuda.h"

/* Traffic: 4 bytes of each row, 16 of each number, and what its dots take. */
static __global__ void __launch_bounds__(THREADS) ToRows(const __grid_constant__ ColourMoveArgs a)
{
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t e = first + r * THREADS;
    y[r] = e < a.n ? poiseColourAtPlace(&a, e) : 0;
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) /* behind all loads: these would wait for a store before them */
    if (first + r * THREADS < a.n) a.y[first + r * THREADS] = y[r];
  FuseDots(a.fuse, y, first, a.n, blockIdx.x);
}

extern "C" PoiseErr poiseCuda_colour_to_rows(Device *dev, const void *args)
{
  const ColourMoveArgs *a = (const ColourMoveArgs *)args;
  if (a->n) ToRows<<<(unsigned)POISE_NBLOCKS(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

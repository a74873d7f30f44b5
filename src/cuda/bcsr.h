/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of matrices of blocks share. */
#ifndef POISE_CUDA_BCSR_H
#define POISE_CUDA_BCSR_H

#include "bulk.h"
#include "cuda.h"

/* Forms of the product, a launcher for each size from 1 to 32; a.form says which. */
PoiseErr poiseCudaBcsrBalanced(Device *dev, const BcsrMultArgs *a); /* bcsr_balanced.cu */
PoiseErr poiseCudaBcsrPaper(Device *dev, const BcsrMultArgs *a);    /* bcsr_paper.cu */

enum {
  TILE_BYTES = 32 * 1024, /* of blocks in shared memory: six blocks of threads of a multiprocessor have one each */
  PAPER_ROWS = 4          /* rows of blocks of a group of the paper's kernels: warps */
};

constexpr __host__ __device__ int BlockBytes(int b)
{
  return 8 * b * b + 4;
}

/* Most blocks of a tile that are in shared memory at once, and the bytes of that many, widened to 16 at both ends. */
static inline int64_t TileBlocks(int64_t most, int b)
{
  int64_t room = TILE_BYTES / BlockBytes(b);
  return most < room ? most : room;
}

__host__ __device__ __forceinline__ int64_t TileNumbers(int64_t blocks, int b)
{
  return (blocks * b * b + 2) / 2 * 2;
}

/* The b numbers that block column c is multiplied by. */
template <int B> __device__ __forceinline__ const double *Factors(const CsrMultArgs &a, int32_t c)
{
  return c < a.A.nloc ? a.x + (int64_t)c * B : a.ghost + (int64_t)(c - a.A.nloc) * B;
}

/* A bulk copy may read from everywhere: a borrowed array may begin at any number. */
static inline bool CanBulk(Device *dev, const CsrMultArgs *a)
{
  return poiseCudaHasBulk(dev) && (uintptr_t)a->A.val % 16 == 0;
}

/*
  The values of blocks [first, last) on their way to shared memory: returns where those of `first` will be. All threads call it; whoever
  has seen the barrier's `round` complete may read.
*/
template <int B>
__device__ __forceinline__ const double *FetchBlocks(const CsrView &A, int64_t first, int64_t last, double *tile,
                                                     uint64_t *barrier, bool begin)
{
  int64_t start = first * B * B & ~(int64_t)1, end = last * B * B, stop = (end + 1) & ~(int64_t)1, numbers = A.nz * B * B;
  if (stop > numbers) stop = numbers & ~(int64_t)1; /* a copy must not read behind the array */
  if (threadIdx.x == 0) {
    if (begin) BulkInit(barrier);
    BulkExpect(barrier, (uint32_t)(stop - start) * 8);
    if (stop > start) BulkCopy(tile, A.val + start, (uint32_t)(stop - start) * 8, barrier);
    if (stop < end) tile[stop - start] = A.val[stop];
  }
  __syncthreads();
  return tile + (first * B * B - start);
}

/* y[i] = a s + b y[i] for the threads that have a finished row; then its dots, which the block sums to partial k. */
__device__ __forceinline__ double FinishRow(const CsrMultArgs &a, bool mine, int64_t i, double s)
{
  if (!mine) return 0;
  double beta = poiseScalar(a.b), y = poiseScalar(a.a) * s + (beta == 0 ? 0 : beta * a.y[i]);
  a.y[i] = y;
  return y;
}

template <int T> __device__ __forceinline__ void FuseRow(const CsrMultArgs &a, bool mine, int64_t i, double y, int64_t k)
{
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {mine ? Factor(a.fuse, f, i, y) * y : 0};
    BlockReduce<1, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][k] = d[0];
  }
}

#define FROM_2_TO_32(F)                                                                                                 \
  F<2>, F<3>, F<4>, F<5>, F<6>, F<7>, F<8>, F<9>, F<10>, F<11>, F<12>, F<13>, F<14>, F<15>, F<16>, F<17>, F<18>, F<19>, \
      F<20>, F<21>, F<22>, F<23>, F<24>, F<25>, F<26>, F<27>, F<28>, F<29>, F<30>, F<31>, F<32>

#endif

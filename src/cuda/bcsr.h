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
  TILE_BYTES = 44 * 1024,  /* of blocks in shared memory at once, which is what a kernel may have unasked */
  ROUND_BYTES = 32 * 1024, /* what more is fetched in equal rounds of at most so much */
  LINE = 16                /* numbers of a line of memory */
};

/* Blocks of a tile that are in shared memory at once, where the largest tile has `most`. */
static inline int64_t TileBlocks(int64_t most, int b)
{
  int64_t bytes = most * poiseBcsrBytes(b), rounds = (bytes + ROUND_BYTES - 1) / ROUND_BYTES;
  return bytes <= TILE_BYTES ? most : (most + rounds - 1) / rounds;
}

/* The numbers of so many, widened to lines at both ends. */
__host__ __device__ __forceinline__ int64_t TileNumbers(int64_t blocks, int b)
{
  return (blocks * b * b + 2 * LINE - 1) / 2 * 2;
}

/* What is at `from` if it is wanted, else `other`. Said to the assembler, as a branch for each load makes the compiler wait for one before it
   begins the next. (A plain load for factors: x may be written while a kernel that follows has begun, see Ready.) */
__device__ __forceinline__ int32_t LoadIf(bool wanted, const int32_t *from, int32_t other)
{
  asm volatile("{\n .reg .pred p;\n setp.ne.s32 p, %1, 0;\n @p ld.global.nc.s32 %0, [%2];\n}"
               : "+r"(other)
               : "r"((int)wanted), "l"(from));
  return other;
}

__device__ __forceinline__ double LoadIf(bool wanted, const double *from, double other)
{
  asm volatile("{\n .reg .pred p;\n setp.ne.s32 p, %1, 0;\n @p ld.global.f64 %0, [%2];\n}"
               : "+d"(other)
               : "r"((int)wanted), "l"(from));
  return other;
}

/* The b numbers that block column c is multiplied by. (A place is chosen and not a value, so that many loads are under way.) */
template <int B, bool GHOSTS = true> __device__ __forceinline__ const double *Factors(const CsrMultArgs &a, int32_t c)
{
  uintptr_t from = (uintptr_t)a.x, ghost = (uintptr_t)a.ghost - (uintptr_t)a.A.nloc * B * sizeof(double);
  if (GHOSTS && c >= a.A.nloc) from = ghost;
  return (const double *)from + (int64_t)c * B;
}

/* Columns of blocks k, k + PARTS, ... below n; -1 where there is none. */
template <int ROUND, int PARTS>
__device__ __forceinline__ void FetchColumns(const int32_t *col, int k, int n, int32_t (&c)[ROUND])
{
#pragma unroll
  for (int u = 0; u < ROUND; u++) c[u] = LoadIf(k + u * PARTS < n, col + k + u * PARTS, -1);
}

/* put(k, what row r of block k of a row, times x, is), for blocks k, k + PARTS, ... below n; from val and col on, ROUND of them and STRIP of
   their columns at once. wait: until val is there. */
template <int B, int PARTS, int ROUND, bool GHOSTS = true, typename Wait, typename Put>
__device__ __forceinline__ void RowOfBlocks(const CsrMultArgs &a, const double *val, const int32_t *col, int k, int n,
                                            int r, Wait wait, Put put)
{
  constexpr int STRIP = B <= 16 ? B : 8;
  for (; k < n; k += PARTS * ROUND) {
    int32_t c[ROUND];
    double s[ROUND] = {0};
    FetchColumns<ROUND, PARTS>(col, k, n, c);
#pragma unroll
    for (int first = 0; first < B; first += STRIP) {
      double x[ROUND][STRIP];
#pragma unroll
      for (int u = 0; u < ROUND; u++) {
        const double *from = Factors<B, GHOSTS>(a, c[u]) + first;
#pragma unroll
        for (int j = 0; j < STRIP; j++) x[u][j] = first + j < B ? LoadIf(c[u] >= 0, from + j, 0.0) : 0;
      }
      wait();
#pragma unroll
      for (int u = 0; u < ROUND; u++)
        if (k + u * PARTS < n) {
          const double *v = val + (k + u * PARTS) * B * B + first * B + r;
#pragma unroll
          for (int j = 0; j < STRIP; j++)
            if (first + j < B) s[u] += v[j * B] * x[u][j];
        }
    }
#pragma unroll
    for (int u = 0; u < ROUND; u++)
      if (k + u * PARTS < n) put(k + u * PARTS, s[u]);
  }
}

/* A bulk copy may read from everywhere: a borrowed array may begin at any number. */
static inline bool CanBulk(Device *dev, const CsrMultArgs *a)
{
  return dev->model.bulk && (uintptr_t)a->A.val % 16 == 0;
}

/* Offsets i and j at once: what waits for the one does not keep the other from being fetched. */
__device__ __forceinline__ void TwoOffsets(const CsrView &A, int64_t i, int64_t j, int64_t &at_i, int64_t &at_j)
{
  if (A.ptr32)
    at_i = __ldg(A.ptr32 + i), at_j = __ldg(A.ptr32 + j);
  else
    at_i = __ldg(A.ptr64 + i), at_j = __ldg(A.ptr64 + j);
}

/* The values of blocks [first, last) on their way to shared memory: returns where those of `first` will be. All threads call it, and
   __syncthreads; who has then seen the barrier's round complete may read. Whole lines are copied: 16 bytes is where a copy may begin, but
   one that begins within a sector took 9 % longer. */
template <int B>
__device__ __forceinline__ const double *FetchBlocks(const CsrView &A, int64_t first, int64_t last, double *tile,
                                                     uint64_t *barrier, bool begin)
{
  int64_t start = first * B * B & ~(int64_t)(LINE - 1), end = last * B * B, numbers = A.nz * B * B;
  int64_t stop = (end + LINE - 1) & ~(int64_t)(LINE - 1);
  if (stop > numbers) stop = numbers & ~(int64_t)1; /* a copy must not read behind the array */
  if (threadIdx.x == 0) {
    if (begin) BulkInit(barrier);
    BulkExpect(barrier, (uint32_t)(stop - start) * 8);
    if (stop > start) BulkCopy(tile, A.val + start, (uint32_t)(stop - start) * 8, barrier);
    if (stop < end) tile[stop - start] = A.val[stop];
  }
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

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of block matrices share. */
#ifndef POISE_CUDA_BCSR_H
#define POISE_CUDA_BCSR_H

#include "mat/product/bcsr_kernels.h"
#include "bulk.h"
#include "cuda.h"
#include "epilogue.h"

/* Other forms of block SpMV, for each block size from 1 to 32; a->form says which. */
PoiseErr poiseCudaBcsrBalanced(Device *dev, const BcsrMultArgs *a); /* bcsr_balanced.cu */
PoiseErr poiseCudaBcsrPaper(Device *dev, const BcsrMultArgs *a);    /* bcsr_paper.cu */

enum {
  TILE_BYTES = 44 * 1024,  /* of blocks in shared memory at once: what a kernel may have without opting in */
  ROUND_BYTES = 32 * 1024, /* larger groups are fetched in equal steps of at most so much */
  LINE_BYTES = 128
};

/* Blocks of a tile that are in shared memory at once. The largest tile has `most`. */
template <typename Real = double> static inline int64_t TileBlocks(int64_t most, int b)
{
  int64_t bytes = most * ((int64_t)sizeof(Real) * b * b + (int64_t)sizeof(int32_t)),
          rounds = (bytes + ROUND_BYTES - 1) / ROUND_BYTES;
  return bytes <= TILE_BYTES ? most : (most + rounds - 1) / rounds;
}

/* Scalars of so many blocks, widened to cache lines at both ends. */
template <typename Real = double>
__host__ __device__ __forceinline__ int64_t TileNumbers(int64_t blocks, int b)
{
  return (blocks * b * b + 2 * (LINE_BYTES / (int)sizeof(Real)) - 1) / 2 * 2;
}

/* What is at `from` if it is wanted, else `other`. This is a predicated load in assembler, since with
   branches the compiler waits for one load before it starts the next. Factors take a plain load, not .nc:
   with PDL the kernel ahead may still write x when this one starts (see PdlWait). */
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

__device__ __forceinline__ float LoadIf(bool wanted, const float *from, float other)
{
  asm volatile("{\n .reg .pred p;\n setp.ne.s32 p, %1, 0;\n @p ld.global.f32 %0, [%2];\n}"
               : "+f"(other)
               : "r"((int)wanted), "l"(from));
  return other;
}

/* The b scalars of x for block column c. An address is selected, not a value, so that many loads are in
   flight. */
template <int B, bool GHOSTS = true, typename Args>
__device__ __forceinline__ const Entry<Args> *Factors(const Args &a, int32_t c)
{
  uintptr_t from = (uintptr_t)a.x, ghost = (uintptr_t)a.ghost - (uintptr_t)a.A.nloc * B * sizeof(Entry<Args>);
  if (GHOSTS && c >= a.A.nloc) from = ghost;
  return (const Entry<Args> *)from + (int64_t)c * B;
}

/* Columns of blocks k, k + PARTS, ... below n; -1 where there is none. */
template <int UNROLL, int PARTS>
__device__ __forceinline__ void FetchColumns(const int32_t *col, int k, int n, int32_t (&c)[UNROLL])
{
#pragma unroll
  for (int u = 0; u < UNROLL; u++) c[u] = LoadIf(k + u * PARTS < n, col + k + u * PARTS, -1);
}

/* Calls put(k, term) with row r of block k times x, for blocks k, k + PARTS, ... below n of a block row.
   UNROLL blocks and STRIP of their columns are in flight. wait() returns once val is there. */
template <int B, int PARTS, int UNROLL, bool GHOSTS = true, typename Args, typename Wait, typename Put>
__device__ __forceinline__ void RowOfBlocks(const Args &a, const Entry<Args> *val, const int32_t *col, int k,
                                            int n, int r, Wait wait, Put put)
{
  constexpr int STRIP = B <= 16 ? B : 8;
  for (; k < n; k += PARTS * UNROLL) {
    int32_t c[UNROLL];
    double s[UNROLL] = {0};
    FetchColumns<UNROLL, PARTS>(col, k, n, c);
#pragma unroll
    for (int first = 0; first < B; first += STRIP) {
      Entry<Args> x[UNROLL][STRIP];
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        const Entry<Args> *from = Factors<B, GHOSTS>(a, c[u]) + first;
#pragma unroll
        for (int j = 0; j < STRIP; j++)
          x[u][j] = first + j < B ? LoadIf(c[u] >= 0, from + j, Entry<Args>(0)) : 0;
      }
      wait();
#pragma unroll
      for (int u = 0; u < UNROLL; u++)
        if (k + u * PARTS < n) {
          const Entry<Args> *v = val + (k + u * PARTS) * B * B + first * B + r;
#pragma unroll
          for (int j = 0; j < STRIP; j++)
            if (first + j < B) s[u] += (double)v[j * B] * x[u][j];
        }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      if (k + u * PARTS < n) put(k + u * PARTS, s[u]);
  }
}

/* Bulk copies need an aligned array, and a borrowed one may begin at any scalar. */
template <typename Args> static inline bool CanBulk(Device *dev, const Args *a)
{
  return dev->model.bulk && (uintptr_t)a->A.val % 16 == 0;
}

/* Offsets i and j, with both loads in flight at once. */
template <typename View>
__device__ __forceinline__ void TwoOffsets(const View &A, int64_t i, int64_t j, int64_t &at_i, int64_t &at_j)
{
  if (A.ptr32)
    at_i = __ldg(A.ptr32 + i), at_j = __ldg(A.ptr32 + j);
  else
    at_i = __ldg(A.ptr64 + i), at_j = __ldg(A.ptr64 + j);
}

/* Starts the copy of the values of blocks [first, last) to shared memory, and returns where those of `first`
   will be. All threads call this, then __syncthreads, then wait for the phase of the barrier. Whole cache
   lines are copied: a copy may begin at any 16 bytes, but one that begins within a sector took 9 % longer. */
template <int B, typename View, typename Real>
__device__ __forceinline__ const Real *FetchBlocks(const View &A, int64_t first, int64_t last, Real *tile,
                                                   uint64_t *barrier, bool begin)
{
  constexpr int SIZE = sizeof(Real), LINE = LINE_BYTES / SIZE, COPY = 16 / SIZE;
  int64_t start = first * B * B & ~(int64_t)(LINE - 1), end = last * B * B, numbers = A.nz * B * B;
  int64_t stop = (end + LINE - 1) & ~(int64_t)(LINE - 1);
  if (stop > numbers) stop = numbers & ~(int64_t)(COPY - 1); /* a copy must not read past the array */
  if (threadIdx.x == 0) {
    if (begin) BulkInit(barrier);
    BulkExpect(barrier, (uint32_t)(stop - start) * SIZE);
    if (stop > start) BulkCopy(tile, A.val + start, (uint32_t)(stop - start) * SIZE, barrier);
#pragma unroll
    for (int k = 0; k < COPY - 1; k++)
      if (stop + k < end) tile[stop + k - start] = A.val[stop + k];
  }
  return tile + (first * B * B - start);
}

/* As FinishRow, but only threads with a finished row load alpha and beta. */
template <typename Args>
__device__ __forceinline__ double FinishBlockRow(const Args &a, bool mine, int64_t i, double s)
{
  if (!mine) return 0;
  double beta = poiseScalar(a.b);
  return StoreRow(a, poiseScalar(a.a), beta, i, s, RowBefore(a, true, beta, i));
}

#endif

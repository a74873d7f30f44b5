/* SPDX-License-Identifier: BSD-3-Clause */
/* Row blocks and fragments of split rows: what the kernels of csri, seg, balanced bcsr and transposed
   products share. */
#ifndef POISE_FRAGMENTS_H
#define POISE_FRAGMENTS_H

#include "mat/product/csri_kernels.h"
#include "cuda.h"
#include "epilogue.h"

/* Loads of the matrix, which streams by once: they do not allocate in L1, so that x stays there. */
__device__ __forceinline__ double LoadStreaming(const double *p)
{
  double v;
  asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}

__device__ __forceinline__ float LoadStreaming(const float *p)
{
  float v;
  asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}

__device__ __forceinline__ int32_t LoadStreaming(const int32_t *p)
{
  int32_t v;
  asm("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

/* Two at once, aligned to their size. */
__device__ __forceinline__ void LoadStreaming2(const double *p, double &u, double &v)
{
  asm("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(u), "=d"(v) : "l"(p));
}

__device__ __forceinline__ void LoadStreaming2(const int32_t *p, int32_t &u, int32_t &v)
{
  asm("ld.global.nc.L1::no_allocate.v2.s32 {%0, %1}, [%2];" : "=r"(u), "=r"(v) : "l"(p));
}

/* A record of 16 bytes by one load. */
template <typename Record> __device__ __forceinline__ Record Load(const Record *r)
{
  static_assert(sizeof(Record) == sizeof(int4), "one load");
  union {
    int4 bits;
    Record record;
  } u;
  u.bits = __ldg((const int4 *)r);
  return u.record;
}

/* A split row and its fragments from, ..., from + count - 1. */
struct CutRow {
  int64_t row, from, count;
};

template <typename Args> __device__ __forceinline__ CutRow RowOfFragment(const Args &a, const RowFragment &z)
{
  int64_t from = a.first[z.row_block];
  return {a.row_block[z.row_block].begin + a.row_block[z.row_block].rows, from,
          a.first[z.row_block + 1] - from};
}

/* The warp's first lane has written the sum of a fragment. Is this the last fragment of its row to arrive?
   Then it sees the sums of all. Only that warp acquires, as __threadfence would invalidate L1 for every
   fragment. */
__device__ __forceinline__ bool ArrivesLast(const CsriMultArgs &a, const RowFragment &z, const CutRow &cut)
{
  int lane = threadIdx.x % 32, arrived = 0;
  int32_t *count = a.arrived + z.row_block;
  if (lane == 0)
    asm volatile("atom.add.release.gpu.global.s32 %0, [%1], 1;" : "=r"(arrived) : "l"(count) : "memory");
  if (__shfl_sync(0xffffffff, arrived, 0) + 1 < cut.count) return false;
  if (lane == 0) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    *count = 0;
  }
  __syncwarp();
  return true;
}

/* The sum of a row's fragments, in a fixed tree, by one warp. A fragment has b scalars; this is the sum of
   scalar c. */
__device__ __forceinline__ double SumOfFragments(const CsriMultArgs &a, const CutRow &cut, int64_t b,
                                                 int64_t c)
{
  double s = 0;
  for (int64_t q = threadIdx.x % 32; q < cut.count; q += 32) s += __ldcg(a.sum + (cut.from + q) * b + c);
  return WarpReduce<COMBINE_SUM>(s);
}

/* Fragment p of a split row has the sum s; called by one warp. The last warp of a row to arrive adds the
   fragments and finishes the row. The order of that sum is fixed, so the bits do not depend on which warp it
   is. */
__device__ __forceinline__ void JoinFragment(const CsriMultArgs &a, int64_t p, const RowFragment &z,
                                             const CutRow &cut, double s)
{
  const CsrMultArgs &m = a.m;
  int lane = threadIdx.x % 32;
  int64_t last = cut.from + cut.count - 1;
  if (cut.count > 1) {
    if (lane == 0) a.sum[p] = s;
    bool all = ArrivesLast(a, z, cut);
    for (int f = 0; f < m.fuse.ndot && lane == 0 && p < last; f++) m.fuse.partial[f][a.parts + p] = 0;
    if (!all) return;
    s = SumOfFragments(a, cut, 1, 0);
  }
  if (lane != 0) return;
  double beta = poiseScalar(m.b),
         y = StoreRow(m, poiseScalar(m.a), beta, cut.row, s, RowBefore(m, true, beta, cut.row));
  for (int f = 0; f < m.fuse.ndot; f++) m.fuse.partial[f][a.parts + last] = Factor(m.fuse, f, cut.row, y) * y;
}

#endif

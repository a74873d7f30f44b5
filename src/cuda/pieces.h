/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of rows and pieces of longer ones: what the kernels of csri and seg share. */
#ifndef POISE_PIECES_H
#define POISE_PIECES_H

#include "../mat/csri_kernels.h"
#include "cuda.h"

/* Of the matrix, which passes by once: it is not to push x out of the first cache. */
__device__ __forceinline__ double Passing(const double *p)
{
  double v;
  asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}

__device__ __forceinline__ int32_t Passing(const int32_t *p)
{
  int32_t v;
  asm("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

/* Two at a multiple of their size. */
__device__ __forceinline__ void PassingTwo(const double *p, double &u, double &v)
{
  asm("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(u), "=d"(v) : "l"(p));
}

__device__ __forceinline__ void PassingTwo(const int32_t *p, int32_t &u, int32_t &v)
{
  asm("ld.global.nc.L1::no_allocate.v2.s32 {%0, %1}, [%2];" : "=r"(u), "=r"(v) : "l"(p));
}

/* A record of 16 bytes in one load. */
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

/* The row of window w that is cut, and its pieces from, ..., from + count - 1. */
struct CutRow {
  int64_t row, from, count;
};

__device__ __forceinline__ CutRow RowOfPiece(const CsriMultArgs &a, const CsriPiece &z)
{
  int64_t from = a.first[z.window];
  return {poiseCsriRow(&a, &z), from, a.first[z.window + 1] - from};
}

/* The warp's first thread has written what a piece sums up to: is this the last piece of its row to arrive, which sees those of all?
   Only that one acquires: __threadfence would empty the first cache for every piece. */
__device__ __forceinline__ bool ArrivesLast(const CsriMultArgs &a, const CsriPiece &z, const CutRow &cut)
{
  int lane = threadIdx.x % 32, arrived = 0;
  int32_t *count = a.arrived + z.window;
  if (lane == 0) asm volatile("atom.add.release.gpu.global.s32 %0, [%1], 1;" : "=r"(arrived) : "l"(count) : "memory");
  if (__shfl_sync(0xffffffff, arrived, 0) + 1 < cut.count) return false;
  if (lane == 0) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    *count = 0;
  }
  __syncwarp();
  return true;
}

/* The sum of a row's pieces, in their order, of which each has b numbers: of number c. One warp. */
__device__ __forceinline__ double SumOfPieces(const CsriMultArgs &a, const CutRow &cut, int64_t b, int64_t c)
{
  double s = 0;
  for (int64_t q = threadIdx.x % 32; q < cut.count; q += 32) s += __ldcg(a.sum + (cut.from + q) * b + c);
  return WarpReduce<COMBINE_SUM>(s);
}

/* Piece p of a row has the sum s: one warp. The last one of a row to arrive adds all of them in their order, so that nothing depends on
   who that is, and finishes the row. */
__device__ __forceinline__ void JoinPiece(const CsriMultArgs &a, int64_t p, const CsriPiece &z, const CutRow &cut, double s)
{
  const CsrMultArgs &m = a.m;
  int lane = threadIdx.x % 32;
  int64_t last = cut.from + cut.count - 1;
  if (cut.count > 1) {
    if (lane == 0) a.sum[p] = s;
    bool all = ArrivesLast(a, z, cut);
    for (int f = 0; f < m.fuse.ndot && lane == 0 && p < last; f++) m.fuse.partial[f][a.parts + p] = 0;
    if (!all) return;
    s = SumOfPieces(a, cut, 1, 0);
  }
  if (lane != 0) return;
  double beta = poiseScalar(m.b), y = poiseScalar(m.a) * s + (beta == 0 ? 0 : beta * m.y[cut.row]);
  m.y[cut.row] = y;
  for (int f = 0; f < m.fuse.ndot; f++) m.fuse.partial[f][a.parts + last] = Factor(m.fuse, f, cut.row, y) * y;
}

#endif

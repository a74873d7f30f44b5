/* SPDX-License-Identifier: BSD-3-Clause */
/* The epilogue of a product, for kernels whose threads have at most one finished row each. */
#ifndef POISE_EPILOGUE_H
#define POISE_EPILOGUE_H

#include "mat/product/csr_kernels.h"
#include "cuda.h"

/* Args here and in the kernels: CsrMultArgs, or CsrMultArgs_f32 with values and vectors in fp32. */

/* Row i times its scale, if there are scales. */
template <typename Args> __device__ __forceinline__ double ScaleRow(const Args &a, int64_t i, double y)
{
  return a.scale ? y * a.scale[i] : y;
}

/* What row i's y is made of, beside A x. With beta = 0 the y before may be anything, so it is not read. */
struct RowBefore {
  double y, add;
  template <typename Args>
  __device__ __forceinline__ RowBefore(const Args &a, bool mine, double beta, int64_t i)
      : y(mine && (beta != 0 || a.also) ? a.y[i] : 0), add(mine && a.add ? a.add[i] : 0)
  {
  }
};

/* y[i] = alpha s + beta y[i], scaled, and what is added; returns what dots are of. */
template <typename Args>
__device__ __forceinline__ double StoreRow(const Args &a, double alpha, double beta, int64_t i, double s,
                                           const RowBefore &before)
{
  double y = ScaleRow(a, i, alpha * s + (beta == 0 ? 0 : beta * before.y));
  if (a.add) y += before.add;
  a.y[i] = (Entry<Args>)y;
  if (!a.also) return y;
  y += before.y;
  a.also[i] = (Entry<Args>)y;
  return y;
}

/* The same with the alpha and beta of the product. mine: this thread has a finished row. (Written out, as a
   call of StoreRow here takes a register more.) */
template <typename Args>
__device__ __forceinline__ double FinishRow(const Args &a, bool mine, int64_t i, double s)
{
  double alpha = poiseScalar(a.a), beta = poiseScalar(a.b), y = 0;
  if (mine) {
    y = ScaleRow(a, i, alpha * s + (beta == 0 ? 0 : beta * a.y[i]));
    a.y[i] = (Entry<Args>)y;
  }
  return y;
}

/* Reduces the dots of the thread block's rows to partial k. mine: this thread has a row, and y = y[i]. */
template <int T, typename Args>
__device__ __forceinline__ void FuseRow(const Args &a, bool mine, int64_t i, double y, int64_t k)
{
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {mine ? Factor<Entry<Args>>(a.fuse, f, i, y) * y : 0};
    BlockReduce<1, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][k] = d[0];
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The order of sums and maxima on a GPU (docs/design/reductions.md): the lanes of a warp, and the warps of a
  block. What a thread adds before that it takes in ascending order, a warp's or a block's width apart. No
  order depends on time, so a sum has the same bits in every run.
  Included by cuda.h, which has THREADS.
*/
#ifndef POISE_REDUCE_H
#define POISE_REDUCE_H

enum { COMBINE_SUM, COMBINE_MAX };

template <int COMBINE> __device__ __forceinline__ double Join(double s, double t)
{
  return COMBINE == COMBINE_MAX ? poiseLarger(s, t) : s + t;
}

/* A warp: lanes 16 apart, then 8, 4, 2, 1. */
template <int COMBINE> __device__ __forceinline__ double WarpReduce(double v)
{
  for (int step = 16; step; step /= 2) v = Join<COMBINE>(v, __shfl_xor_sync(0xffffffff, v, step));
  return v;
}

/* A block: N sums over T threads at once, of the warps' sums by the same tree. Valid in the first warp. 0 is
   neutral. */
template <int N, int COMBINE, int T = THREADS> __device__ __forceinline__ void BlockReduce(double (&v)[N])
{
  __shared__ double part[N][T / 32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < N; k++) {
    v[k] = WarpReduce<COMBINE>(v[k]);
    if (lane == 0) part[k][warp] = v[k];
  }
  __syncthreads();
  if (warp == 0)
    for (int k = 0; k < N; k++) v[k] = WarpReduce<COMBINE>(lane < T / 32 ? part[k][lane] : 0);
  __syncthreads();
}

/* Two of them where latency is all, in the same order: each half of a warp goes on with one, as shuffles are
   what takes time. Valid in the first thread. */
template <int COMBINE, int T> __device__ __forceinline__ void BlockReducePair(double (&v)[2])
{
  constexpr int W = T / 32; /* a power of 2 up to 16 */
  __shared__ double part[2][16];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = lane / 16;
  double mine = half ? v[1] : v[0], theirs = half ? v[0] : v[1];
  mine = Join<COMBINE>(mine, __shfl_xor_sync(0xffffffff, theirs, 16));
  for (int step = 8; step; step /= 2) mine = Join<COMBINE>(mine, __shfl_xor_sync(0xffffffff, mine, step));
  if (lane % 16 == 0) part[half][warp] = mine;
  __syncthreads();
  if (warp) return;
  mine = part[half][lane % W];
  for (int step = W / 2; step; step /= 2) mine = Join<COMBINE>(mine, __shfl_xor_sync(0xffffffff, mine, step));
  v[0] = mine, v[1] = __shfl_sync(0xffffffff, mine, 16);
}

/* ---- integers, whose order does not matter ----------------------------------------------------- */

typedef unsigned long long Number;

/* Atomic sums and maxima over all threads, of a block or of a grid: a warp adds up first. */
__device__ __forceinline__ void AddTo(void *to, Number v)
{
  for (int step = 16; step; step /= 2) v += __shfl_xor_sync(0xffffffff, v, step);
  if (threadIdx.x % 32 == 0) atomicAdd((Number *)to, v);
}

__device__ __forceinline__ void RaiseTo(int64_t *to, Number v)
{
  for (int step = 16; step; step /= 2) {
    Number other = __shfl_xor_sync(0xffffffff, v, step);
    if (other > v) v = other;
  }
  if (threadIdx.x % 32 == 0) atomicMax((Number *)to, v);
}

#endif

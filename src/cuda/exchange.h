/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What kernels of a transport (link.cu) and phases that exchange by themselves (ksp.cu) have in common. Memory
  that other GPUs store to is read by accesses of system scope, which L1 never serves.

  A poll ends when what it waits for has come. It gives up after the transport's patience, or at once if
  another one of this rank has given up.
*/
#ifndef POISE_CUDA_EXCHANGE_H
#define POISE_CUDA_EXCHANGE_H

#include "sys/link/link_kernels.h"
#include "cuda.h"

__device__ __forceinline__ uint64_t Acquire(const uint64_t *p)
{
  uint64_t v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}

/* For words that bring all that they say, and after a fence. */
__device__ __forceinline__ uint64_t Look(const uint64_t *p)
{
  uint64_t v;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}

__device__ __forceinline__ void Put(uint64_t *p, uint64_t v)
{
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

__device__ __forceinline__ uint64_t Nanoseconds()
{
  uint64_t t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

/* Is the wait for that rank, since that time, over? Also if another one of this rank has given up. */
__device__ __forceinline__ bool GivesUp(const LinkPatience &p, uint64_t since, int rank)
{
  if (*(volatile uint64_t *)p.late) return true;
  if (Nanoseconds() - since < (uint64_t)(p.seconds * 1e9)) return false;
  *(volatile uint64_t *)p.late = rank + 1;
  return true;
}

/* Wait until another rank has set the sequence number. Returns whether it has. */
__device__ __forceinline__ bool Poll(const LinkPatience &p, const uint64_t *seq, uint64_t value, int rank)
{
  if (Acquire(seq) >= value) return true;
  for (uint64_t since = Nanoseconds(); Acquire(seq) < value;)
    if (GivesUp(p, since, rank)) return false;
  return true;
}

/* Wait for a word of a message with that sequence number. Returns whether it has come. */
__device__ __forceinline__ bool PollWord(const LinkPatience &p, const uint64_t *at, uint32_t seq, int rank,
                                         uint64_t *word)
{
  if ((uint32_t)((*word = Look(at)) >> 32) == seq) return true;
  for (uint64_t since = Nanoseconds(); (uint32_t)((*word = Look(at)) >> 32) != seq;)
    if (GivesUp(p, since, rank)) return false;
  return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The sum of partials t, t + THREADS, ... in this order, some of them on the way at once. */
__device__ __forceinline__ double PartOfSum(const double *p, int64_t count, int t)
{
  enum { AHEAD = 8 };
  double s = 0;
  int64_t b = t;
  for (; b + (AHEAD - 1) * THREADS < count; b += AHEAD * THREADS) {
    double v[AHEAD];
#pragma unroll
    for (int r = 0; r < AHEAD; r++) v[r] = p[b + r * THREADS];
#pragma unroll
    for (int r = 0; r < AHEAD; r++) s += v[r];
  }
  for (; b < count; b += THREADS) s += p[b];
  return s;
}

/* v[k] = the sum k < n of this rank's partials, in the order of the kernel reduce: each group of THREADS of
   the T threads of a block has every T / THREADS-th. partials(k) is a Sum. v is in shared memory. */
template <int T, typename Partials>
__device__ __forceinline__ void OwnSums(int n, Partials partials, double *v)
{
  constexpr int GROUPS = T / THREADS;
  __shared__ double part[T / 32];
  int group = threadIdx.x / THREADS, t = threadIdx.x % THREADS, warp = t / 32, lane = t % 32;
  for (int first = 0; first < n; first += GROUPS) {
    int k = first + group;
    double s = 0;
    if (k < n) {
      Sum sum = partials(k);
      s = PartOfSum(sum.partial, sum.count, t);
    }
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (warp == 0) {
      s = WarpReduce<COMBINE_SUM>(lane < WARPS ? part[group * WARPS + lane] : 0);
      if (lane == 0 && k < n) v[k] = s;
    }
    __syncthreads();
  }
}

/* By one thread of each block, in two halves. The first counts the block in the word (poiseLinkSequence). */
__device__ __forceinline__ uint64_t CountBlock(const LinkRanks &l)
{
  return atomicAdd((unsigned long long *)l.sequence, 1ULL);
}

/* The second gives the sequence number; the last block moves the word on. */
__device__ __forceinline__ uint32_t NextSequence(const LinkRanks &l, uint64_t counted)
{
  if ((uint32_t)counted == gridDim.x - 1)
    atomicAdd((unsigned long long *)l.sequence, (unsigned long long)poiseLinkAdvance(gridDim.x));
  return poiseLinkSequence(counted);
}

/* ---- entries for neighbours ------------------------------------------------------------------ */

/* One of `blocks` thread blocks has stored what it has for other ranks, all its threads some of it. After
   the last block the sequence numbers are set. */
__device__ __forceinline__ void Finish(const LinkPushArgs &a, unsigned blocks)
{
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (atomicAdd((unsigned long long *)a.arrived, 1ULL) != blocks - 1) return;
  *a.arrived = 0;
  uint64_t seq = Look(a.sent) + 1;
  *a.sent = seq;
  __threadfence_system();
  for (int t = 0; t < a.ntarget; t++) Put(a.target[t].sequence, seq);
}

/* By all T threads of one block. */
template <int T> __device__ __forceinline__ void AwaitEntries(const LinkWaitArgs &a)
{
  uint64_t seq = Look(a.sequence) + 1;
  for (int k = threadIdx.x; k < a.nfrom; k += T)
    if (!Poll(a.patience, a.came + k, seq, a.from[k])) poiseLinkSetNan(&a, k);
  __syncthreads();
  if (threadIdx.x == 0) *a.sequence = seq;
}

#endif

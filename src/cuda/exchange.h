/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What kernels of a link (link.cu) and phases that exchange by themselves (ksp.cu) have in common. Memory that
  other GPUs store to is read by accesses of system scope, which L1 never serves.

  A poll ends when what it waits for has come, when another one of this rank has waited in vain, or when it
  has itself, after the link's patience.
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

/* For words that bring all that they say, and behind a fence. */
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

/* Is there no point in waiting on for that rank, since that time? */
__device__ __forceinline__ bool InVain(const LinkPatience &p, uint64_t since, int rank)
{
  if (*(volatile uint64_t *)p.late) return true;
  if (Nanoseconds() - since < (uint64_t)(p.seconds * 1e9)) return false;
  *(volatile uint64_t *)p.late = rank + 1;
  return true;
}

/* Wait until another rank has set the epoch. Returns whether it has. */
__device__ __forceinline__ bool Poll(const LinkPatience &p, const uint64_t *epoch, uint64_t value, int rank)
{
  if (Acquire(epoch) >= value) return true;
  for (uint64_t since = Nanoseconds(); Acquire(epoch) < value;)
    if (InVain(p, since, rank)) return false;
  return true;
}

/* Wait for a word of a mail with that epoch. Returns whether it has come. */
__device__ __forceinline__ bool PollWord(const LinkPatience &p, const uint64_t *at, uint32_t epoch, int rank,
                                         uint64_t *word)
{
  if ((uint32_t)((*word = Look(at)) >> 32) == epoch) return true;
  for (uint64_t since = Nanoseconds(); (uint32_t)((*word = Look(at)) >> 32) != epoch;)
    if (InVain(p, since, rank)) return false;
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

/* The first half of taking a ticket (poiseLinkEpoch), by one thread of each block. */
__device__ __forceinline__ uint64_t TakeTicket(const LinkRanks &l)
{
  return atomicAdd((unsigned long long *)l.ticket, 1ULL);
}

/* The second half: the epoch. */
__device__ __forceinline__ uint32_t KeepTicket(const LinkRanks &l, uint64_t ticket)
{
  if ((uint32_t)ticket == gridDim.x - 1)
    atomicAdd((unsigned long long *)l.ticket, (unsigned long long)poiseLinkTaken(gridDim.x));
  return poiseLinkEpoch(ticket);
}

/* ---- entries for neighbours ------------------------------------------------------------------ */

/* One of `blocks` thread blocks has stored what it has for other ranks, all its threads some of it. Behind
   the last block the epochs are set. */
__device__ __forceinline__ void Finish(const LinkPushArgs &a, unsigned blocks)
{
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (atomicAdd((unsigned long long *)a.arrived, 1ULL) != blocks - 1) return;
  *a.arrived = 0;
  uint64_t epoch = Look(a.sent) + 1;
  *a.sent = epoch;
  __threadfence_system();
  for (int t = 0; t < a.ntarget; t++) Put(a.target[t].epoch, epoch);
}

/* By all T threads of one block. */
template <int T> __device__ __forceinline__ void AwaitEntries(const LinkWaitArgs &a)
{
  uint64_t epoch = Look(a.epoch) + 1;
  for (int k = threadIdx.x; k < a.nfrom; k += T)
    if (!Poll(a.patience, a.came + k, epoch, a.from[k])) poiseLinkLose(&a, k);
  __syncthreads();
  if (threadIdx.x == 0) *a.epoch = epoch;
}

#endif

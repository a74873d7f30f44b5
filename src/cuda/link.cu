/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of a link. By peer memory, between GPUs or ranks that share one, numbers are stored into memory
  of the other GPU, then an epoch is released there, which it polls (acquire, both of system scope).

  What polls is one thread block, and it does not let its dependent start before it has what it waits for.
  So blocks that wait never take the place of those that they wait for, where ranks share a GPU.
*/
#include "cuda.h"

#include "sys/link_kernels.h"
enum {
  GROUPS = 4, /* of THREADS threads: sums that are made at the same time */
  SUM_THREADS = GROUPS * THREADS,
  SUM_WARPS = SUM_THREADS / 32
};

__device__ __forceinline__ uint64_t Acquire(const uint64_t *p)
{
  uint64_t v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}

__device__ __forceinline__ void Release(uint64_t *p, uint64_t v)
{
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

__device__ __forceinline__ uint64_t Nanoseconds()
{
  uint64_t t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

/* Wait until another rank has set the epoch. Returns whether it has. */
__device__ __forceinline__ bool Poll(const LinkPatience &p, const uint64_t *epoch, uint64_t value, int rank)
{
  if (Acquire(epoch) >= value) return true;
  uint64_t since = Nanoseconds(), most = (uint64_t)(p.seconds * 1e9);
  while (Acquire(epoch) < value) {
    if (*(volatile uint64_t *)p.late) return false;
    if (Nanoseconds() - since < most) continue;
    *(volatile uint64_t *)p.late = rank + 1;
    return false;
  }
  return true;
}

/* v[k] = the sum of this rank's partials, in the order of the kernel reduce: each group of THREADS threads
   has every GROUPS-th. */
__device__ __forceinline__ void OwnSums(const LinkSumArgs &a, double *v)
{
  __shared__ double part[SUM_WARPS];
  int group = threadIdx.x / THREADS, t = threadIdx.x % THREADS, warp = t / 32, lane = t % 32;
  for (int first = 0; first < a.n; first += GROUPS) {
    int k = first + group;
    double s = 0;
    if (k < a.n) {
      const double *p = a.listed ? a.sum[k].partial : a.partial + k * a.stride;
      int64_t count = a.listed ? a.sum[k].count : a.count;
      for (int64_t b = t; b < count; b += THREADS) s += p[b];
    }
    s = WarpReduce<COMBINE_SUM>(s);
    if (lane == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (warp == 0) {
      s = WarpReduce<COMBINE_SUM>(lane < WARPS ? part[group * WARPS + lane] : 0);
      if (lane == 0 && k < a.n) v[k] = s;
    }
    __syncthreads();
  }
}

static __global__ void __launch_bounds__(SUM_THREADS) LinkSum(const __grid_constant__ LinkSumArgs a)
{
  __shared__ double v[POISE_MAX_BATCH];
  __shared__ int missing;
  PdlWait();
  uint64_t epoch = *a.epoch + 1;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, failed = 0;
  if (threadIdx.x == 0) missing = 0;
  OwnSums(a, v);
  __syncthreads();
  for (int r = warp; r < a.size; r += SUM_WARPS) {
    LinkMail *mail = a.mail[r] + poiseLinkMail(epoch, a.size, a.rank);
    if (lane < a.n) mail->v[lane] = v[lane];
    __syncwarp();
    if (lane == 0) {
      __threadfence_system();
      Release(&mail->epoch, epoch);
    }
  }
  const LinkMail *mine = a.mail[a.rank];
  for (int r = warp; r < a.size; r += SUM_WARPS)
    if (lane == 0) failed |= !Poll(a.patience, &mine[poiseLinkMail(epoch, a.size, r)].epoch, epoch, r);
  if (failed) missing = 1;
  __syncthreads();
  PdlLaunchDependents();
  if ((int)threadIdx.x < a.n) {
    double s =
        missing ? NAN : ((volatile const double *)mine[poiseLinkMail(epoch, a.size, 0)].v)[threadIdx.x];
    for (int r = 1; r < a.size && !missing; r++)
      s += ((volatile const double *)mine[poiseLinkMail(epoch, a.size, r)].v)[threadIdx.x];
    a.dst[threadIdx.x] = s;
  }
  if (threadIdx.x == 0) *a.epoch = epoch;
}

static __global__ void __launch_bounds__(SUM_THREADS) LinkOwn(const __grid_constant__ LinkSumArgs a)
{
  __shared__ double v[POISE_MAX_BATCH];
  PdlWait();
  OwnSums(a, v);
  if ((int)threadIdx.x < a.n) a.dst[threadIdx.x] = v[threadIdx.x];
}

static __global__ void __launch_bounds__(THREADS) LinkAdd(const __grid_constant__ LinkAddArgs a)
{
  int k = threadIdx.x;
  PdlWait();
  if (k >= a.n) return;
  double s = a.all[k]; /* also -0 */
  for (int r = 1; r < a.size; r++) s += a.all[r * a.n + k];
  a.dst[k] = s;
}

/* Traffic: 4 bytes an entry if it has an index, 8 read (then gathered) and 8 written to the other GPU. */
static __global__ void __launch_bounds__(THREADS) LinkPush(const __grid_constant__ LinkPushArgs a)
{
  PdlWait();
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < a.n) {
    int t = 0;
    while (t + 1 < a.ntarget && i >= a.target[t + 1].start) t++;
    a.target[t].in[i - a.target[t].start] = a.x[a.index ? a.index[i] : i];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (atomicAdd((unsigned long long *)a.arrived, 1ULL) != gridDim.x - 1) return;
  *a.arrived = 0;
  __threadfence_system();
  for (int t = 0; t < a.ntarget; t++) Release(a.target[t].epoch, *a.epoch + 1);
}

static __global__ void __launch_bounds__(THREADS) LinkWait(const __grid_constant__ LinkWaitArgs a)
{
  PdlWait();
  uint64_t epoch = *a.epoch + 1;
  for (int k = threadIdx.x; k < a.nfrom; k += THREADS)
    if (!Poll(a.patience, a.came + k, epoch, a.from[k]))
      for (int64_t i = a.start[k]; i < a.start[k + 1]; i++) a.in[i] = NAN;
  __syncthreads();
  if (threadIdx.x == 0) *a.epoch = epoch;
}

extern "C" PoiseErr poiseCuda_link_sum(Device *dev, const void *args)
{
  return LaunchPdl(dev, LinkSum, 1, SUM_THREADS, 0, *(const LinkSumArgs *)args);
}

extern "C" PoiseErr poiseCuda_link_own(Device *dev, const void *args)
{
  return LaunchPdl(dev, LinkOwn, 1, SUM_THREADS, 0, *(const LinkSumArgs *)args);
}

extern "C" PoiseErr poiseCuda_link_add(Device *dev, const void *args)
{
  return LaunchPdl(dev, LinkAdd, 1, THREADS, 0, *(const LinkAddArgs *)args);
}

extern "C" PoiseErr poiseCuda_link_push(Device *dev, const void *args)
{
  const LinkPushArgs *a = (const LinkPushArgs *)args;
  return a->ntarget ? LaunchPdl(dev, LinkPush, Grid(a->n > 0 ? a->n : 1), THREADS, 0, *a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_link_wait(Device *dev, const void *args)
{
  return LaunchPdl(dev, LinkWait, 1, THREADS, 0, *(const LinkWaitArgs *)args);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of a transport. By peer access, between GPUs or ranks that share one, entries are stored into memory
  of the other GPU. After them and a fence, a sequence number is stored there, which it polls (acquire, both
  of system scope). Numbers of a sum need no fence, as each word of them has the sequence number
  (LinkMessage).

  What polls here is one thread block. Where ranks share a GPU it does not let its dependent start before it
  has what it waits for. So blocks that wait never take the place of those that they wait for.
*/
#include "exchange.h"

enum { SUM_THREADS = 4 * THREADS }; /* four sums are made at the same time */

/* The partials of sum k. */
__device__ __forceinline__ Sum PartialsOf(const LinkSumArgs &a, int k)
{
  if (a.listed) return a.sum[k];
  return {a.partial + k * a.stride, a.count, NULL};
}

/* Number k of rank r, whose message has come. */
__device__ __forceinline__ double ReadNumber(const LinkRanks &l, uint32_t seq, int r, int k)
{
  const LinkMessage *message = l.recv[l.rank] + poiseLinkBufferOf(seq, l.size, r);
  return poiseLinkValue(Look(&message->word[k][0]), Look(&message->word[k][1]));
}

static __global__ void __launch_bounds__(SUM_THREADS) LinkSum(const __grid_constant__ LinkSumArgs a)
{
  __shared__ double v[POISE_MAX_BATCH];
  __shared__ uint32_t number;
  const LinkRanks &l = a.ranks;
  const LinkMessage *mine = l.recv[l.rank];
  int words = poiseLinkMessageWords(a.n), failed = 0;
  if (threadIdx.x == 0) v[0] = 0; /* where there are no numbers */
  if (l.patience.apart) PdlLaunchDependents();
  PdlWait();
  uint64_t counted = threadIdx.x == 0 ? CountBlock(l) : 0, word;
  OwnSums<SUM_THREADS>(
      a.n, [&](int k) { return PartialsOf(a, k); }, v);
  if (threadIdx.x == 0) number = NextSequence(l, counted);
  __syncthreads();
  uint32_t seq = number;
  for (int i = threadIdx.x; i < l.size * words; i += SUM_THREADS) {
    int r = i / words, w = i % words;
    LinkMessage *message = l.recv[r] + poiseLinkBufferOf(seq, l.size, l.rank);
    Put(&message->word[w / 2][w % 2], poiseLinkWord(v[w / 2], w % 2, seq));
  }
  for (int i = threadIdx.x; i < l.size * words; i += SUM_THREADS) {
    int r = i / words, w = i % words;
    const LinkMessage *message = mine + poiseLinkBufferOf(seq, l.size, r);
    failed |= !PollWord(l.patience, &message->word[w / 2][w % 2], seq, r, &word);
  }
  failed = __syncthreads_or(failed);
  PdlLaunchDependents();
  if ((int)threadIdx.x >= a.n) return;
  double s = failed ? NAN : ReadNumber(l, seq, 0, threadIdx.x);
  for (int r = 1; r < l.size && !failed; r++) s += ReadNumber(l, seq, r, threadIdx.x);
  a.dst[threadIdx.x] = s;
}

static __global__ void __launch_bounds__(SUM_THREADS) LinkOwn(const __grid_constant__ LinkSumArgs a)
{
  __shared__ double v[POISE_MAX_BATCH];
  PdlWait();
  OwnSums<SUM_THREADS>(
      a.n, [&](int k) { return PartialsOf(a, k); }, v);
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

/* A number a thread. Traffic: 4 bytes an entry if it has an index; each number 8 read (then gathered) and 8
   written to the other GPU, or 4 each. */
template <bool WIDE>
static __global__ void __launch_bounds__(THREADS) LinkPush(const __grid_constant__ LinkPushArgs a)
{
  PdlLaunchDependents();
  PdlWait();
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x, i = WIDE ? k / a.size : k;
  if (i < a.n) {
    int64_t column = k - i * a.size;
    i += i < a.n - a.begin ? a.begin : a.begin - a.n;
    int t = 0;
    while (t + 1 < a.ntarget && i >= a.target[t + 1].start) t++;
    LinkTarget to = a.target[t];
    int64_t from = a.index ? a.index[i] : i;
    i += to.shift;
    if (WIDE) i = i * a.size + column, from = from * a.size + column;
    if (a.x_f32)
      ((float *)to.in)[i] = a.x_f32[from];
    else
      to.in[i] = a.x[from];
  }
  Finish(a, gridDim.x);
}

static __global__ void __launch_bounds__(THREADS) LinkWait(const __grid_constant__ LinkWaitArgs a)
{
  if (a.patience.apart) PdlLaunchDependents();
  PdlWait();
  AwaitEntries<THREADS>(a);
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
  if (!a->ntarget) return POISE_OK;
  if (a->size > 1) return LaunchPdl(dev, LinkPush<true>, Grid(a->n > 0 ? a->n * a->size : 1), THREADS, 0, *a);
  return LaunchPdl(dev, LinkPush<false>, Grid(a->n > 0 ? a->n : 1), THREADS, 0, *a);
}

extern "C" PoiseErr poiseCuda_link_wait(Device *dev, const void *args)
{
  return LaunchPdl(dev, LinkWait, 1, THREADS, 0, *(const LinkWaitArgs *)args);
}

/* Lazily loaded kernels: asking for an attribute loads one. */
PoiseErr poiseCudaLoadLink(Device *dev)
{
  const void *const kernels[] = {(const void *)LinkSum, (const void *)LinkPush<false>,
                                 (const void *)LinkPush<true>, (const void *)LinkWait};
  cudaFuncAttributes attributes;
  for (const void *kernel : kernels)
    TRY(poiseCudaCheck(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel"));
  return poiseCudaLoadPhases(dev);
}

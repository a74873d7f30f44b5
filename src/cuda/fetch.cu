/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A few numbers from the GPU to the host, which waits for all that was enqueued before. A copy by the driver,
  and a wait for the stream, take as long as several kernels. So a kernel stores the numbers in pinned memory,
  and after them its own number; the host reads that until it comes.
*/
#include "cuda.h"

namespace
{
enum { WORDS = POISE_FETCH / 4 };

struct FetchArgs {
  int n, words; /* items, and words of each */
  const uint32_t *from[WORDS];
  volatile uint32_t *to;
  volatile uint64_t *latest;
  uint64_t number;
};

__global__ void Fetch(const __grid_constant__ FetchArgs a)
{
  int k = threadIdx.x;
  if (k < a.n * a.words) a.to[k] = a.from[k / a.words][k % a.words];
  __threadfence_system();
  __syncthreads();
  if (k == 0) *a.latest = a.number;
}

/* It comes soon, or the stream has failed; else the driver waits. */
PoiseErr Await(Device *dev, const Mail *mail, uint64_t number)
{
  enum { READS = 500, LOOKS = 20 };
  cudaStream_t stream = poiseCudaStream(dev);
  for (int look = 0; look < LOOKS; look++) {
    for (int k = 0; k < READS; k++)
      if (__atomic_load_n(&mail->latest, __ATOMIC_ACQUIRE) == number) return POISE_OK;
    if (cudaStreamQuery(stream) != cudaErrorNotReady) break;
    (void)cudaGetLastError();
  }
  return poiseCudaCheck(cudaStreamSynchronize(stream), "waiting for the GPU");
}
} // namespace

extern "C" PoiseErr poiseCudaLoadFetch(Device *dev)
{
  cudaFuncAttributes attributes;
  (void)dev;
  return poiseCudaCheck(cudaFuncGetAttributes(&attributes, (const void *)Fetch), "loading a kernel");
}

extern "C" PoiseErr poiseCudaFetch(Device *dev, int n, size_t width, const void *const *from, void *to)
{
  Mail *mail = poiseCudaMail(dev);
  FetchArgs a = {n, (int)(width / 4), {}, mail->word, &mail->latest, ++mail->sent};
  for (int k = 0; k < n; k++) a.from[k] = (const uint32_t *)from[k];
  if (cudaPeekAtLastError() != cudaSuccess) (void)cudaGetLastError();
  Fetch<<<1, WORDS, 0, poiseCudaStream(dev)>>>(a);
  TRY(poiseCudaCheck(cudaGetLastError(), "fetching numbers"));
  TRY(poiseCudaNcclWait(dev, NULL));
  TRY(Await(dev, mail, a.number));
  memcpy(to, mail->word, (size_t)n * width);
  return POISE_OK;
}

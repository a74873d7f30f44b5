/* SPDX-License-Identifier: BSD-3-Clause */
/* What parts.h asks of a GPU. */
#include "parts.h"

#include "common/stream_gpu.cuh"

static __global__ void Shift(int64_t n, int32_t *ptr, int32_t base)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < n) ptr[i] -= base;
}

static const char *Release(void *stream, void *p)
{
  cudaError_t e = Go(stream);
  return Words(e == cudaSuccess ? cudaFree(p) : e);
}

static const char *Copy(void *stream, void *to, const void *from, size_t bytes)
{
  cudaError_t e = Go(stream);
  if (e == cudaSuccess) e = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream);
  return Words(e);
}

static const char *ShiftAll(void *stream, int64_t n, int32_t *ptr, int32_t base)
{
  cudaError_t e = Go(stream);
  if (e == cudaSuccess)
    Shift<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream>>>(n, ptr, base);
  if (e == cudaSuccess) e = cudaGetLastError();
  return Words(e);
}

static const char *Wait(void *stream)
{
  cudaError_t e = Go(stream);
  return Words(e == cudaSuccess ? cudaStreamSynchronize((cudaStream_t)stream) : e);
}

extern "C" const Gpu parts_gpu = {Alloc, Release, Copy, ShiftAll, Wait};

/* SPDX-License-Identifier: BSD-3-Clause */
#include "parts.h"

#include <cuda_runtime.h>
#include <string.h>

enum { THREADS = 256 };

static __global__ void Shift(int64_t n, int32_t *ptr, int32_t base)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < n) ptr[i] -= base;
}

static const char *Words(cudaError_t e)
{
  if (e == cudaSuccess) return NULL;
  (void)cudaGetLastError();
  return cudaGetErrorString(e);
}

static cudaError_t Go(void *stream)
{
  int device = 0;
  cudaError_t e = cudaStreamGetDevice((cudaStream_t)stream, &device);
  return e == cudaSuccess ? cudaSetDevice(device) : e;
}

static const char *Alloc(void *stream, size_t bytes, void *p)
{
  void *array = NULL;
  cudaError_t e = Go(stream);
  if (e == cudaSuccess) e = cudaMalloc(&array, bytes + 16);
  memcpy(p, &array, sizeof array);
  return Words(e);
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

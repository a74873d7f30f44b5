/* SPDX-License-Identifier: BSD-3-Clause */
/* The stencil's work on a GPU. */
#include "large_stencil.h"

#include <cuda_runtime.h>
#include <string.h>

enum { THREADS = 256 };

static __global__ void Run(const __grid_constant__ Work w, double *sum)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  double s = i < w.k * w.k * w.k ? DoWork(&w, i) : 0;
  for (int step = 16; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
  if (threadIdx.x % 32 == 0 && s != 0) atomicAdd(sum, s);
}

static const char *Words(cudaError_t e)
{
  if (e == cudaSuccess) return NULL;
  (void)cudaGetLastError();
  return cudaGetErrorString(e);
}

static const char *Alloc(size_t bytes, void *p)
{
  void *array = NULL;
  const char *words = Words(cudaMalloc(&array, bytes));
  memcpy(p, &array, sizeof array);
  return words;
}

static void Release(void *p)
{
  cudaFree(p);
}

static const char *RunAll(void *stream, const Work *w, double *sum)
{
  cudaStream_t s = (cudaStream_t)stream;
  int64_t m = w->k * w->k * w->k;
  double *there = NULL, here = 0;
  cudaError_t e = cudaMalloc((void **)&there, sizeof *there);
  if (e == cudaSuccess) e = cudaMemsetAsync(there, 0, sizeof *there, s);
  if (e == cudaSuccess) Run<<<(unsigned)((m + THREADS - 1) / THREADS), THREADS, 0, s>>>(*w, there);
  if (e == cudaSuccess) e = cudaGetLastError();
  if (e == cudaSuccess) e = cudaMemcpyAsync(&here, there, sizeof here, cudaMemcpyDeviceToHost, s);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s);
  cudaFree(there);
  if (sum) *sum = here;
  return Words(e);
}

extern "C" const Place large_gpu = {Alloc, Release, RunAll};

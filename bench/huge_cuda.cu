/* SPDX-License-Identifier: BSD-3-Clause */
/* The generator of huge.h on a GPU. */
#include "huge.h"

#include "common/stream_gpu.cuh"

static __global__ void MakeRows(const __grid_constant__ Cube c)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < c.n) MakeRow(&c, i);
}

static const char *Make(void *stream, const Cube *c)
{
  cudaError_t e = Go(stream);
  if (e == cudaSuccess && c->n)
    MakeRows<<<(unsigned)((c->n + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream>>>(*c);
  if (e == cudaSuccess) e = cudaGetLastError();
  if (e == cudaSuccess) e = cudaStreamSynchronize((cudaStream_t)stream);
  return Words(e);
}

static const char *Used(void *stream, int64_t *bytes)
{
  size_t left = 0, total = 0;
  cudaError_t e = Go(stream);
  if (e == cudaSuccess) e = cudaMemGetInfo(&left, &total);
  *bytes = (int64_t)(total - left);
  return Words(e);
}

extern "C" const Place huge_gpu = {Alloc, Make, Used};

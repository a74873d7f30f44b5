/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on the GPU of a stream, for the files of CUDA beside a program: each returns NULL, or what went
   wrong. */
#ifndef BENCH_STREAM_GPU_H
#define BENCH_STREAM_GPU_H

#include <cuda_runtime.h>
#include <string.h>

enum { THREADS = 256 };

static inline const char *Words(cudaError_t e)
{
  if (e == cudaSuccess) return NULL;
  (void)cudaGetLastError();
  return cudaGetErrorString(e);
}

/* The stream's device is this thread's until it asks for another. */
static inline cudaError_t Go(void *stream)
{
  int device = 0;
  cudaError_t e = cudaStreamGetDevice((cudaStream_t)stream, &device);
  return e == cudaSuccess ? cudaSetDevice(device) : e;
}

/* *p: an array, of 0 bytes too. */
static inline const char *Alloc(void *stream, size_t bytes, void *p)
{
  void *array = NULL;
  cudaError_t e = Go(stream);
  if (e == cudaSuccess) e = cudaMalloc(&array, bytes ? bytes : 1);
  memcpy(p, &array, sizeof array);
  return Words(e);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of cells on a GPU. A block of threads takes some cells: first a thread per point, then one per
   pair of nodes. */
#include "device.h"

#include <cuda_runtime.h>
#include <string.h>

enum { THREADS = 256 };

static const char *Words(cudaError_t e)
{
  if (e == cudaSuccess) return NULL;
  (void)cudaGetLastError(); /* reported here and not by a later call */
  return cudaGetErrorString(e);
}

static const char *Alloc(size_t bytes, void *array)
{
  void *memory = NULL;
  const char *words = Words(cudaMalloc(&memory, bytes > 0 ? bytes : 1));
  memcpy(array, &memory, sizeof memory);
  return words;
}

static void Release(void *array)
{
  cudaFree(array);
}

static const char *Copy(void *to, const void *from, size_t bytes, int back, void *stream)
{
  cudaStream_t s = (cudaStream_t)stream;
  cudaError_t e = cudaMemcpyAsync(to, from, bytes, back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, s);
  return Words(e == cudaSuccess ? cudaStreamSynchronize(s) : e);
}

/* ---- the pattern ----------------------------------------------------------------------------- */

static __global__ void MakeTriplets(const __grid_constant__ FemWork w, PoiseInt n)
{
  const PoiseInt k = blockIdx.x * (PoiseInt)THREADS + threadIdx.x;
  const int each = FemTripletsOfCell(&w);
  if (k < n) FemTriplet(&w, k / each, (int)(k % each));
}

static const char *Triplets(const FemWork *w, void *stream)
{
  const PoiseInt n = w->cells * FemTripletsOfCell(w);
  if (n == 0) return NULL;
  MakeTriplets<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream>>>(*w, n);
  return Words(cudaGetLastError());
}

/* ---- values ---------------------------------------------------------------------------------- */

static __global__ void MakeValues(const __grid_constant__ FemWork w, int most)
{
  extern __shared__ double memory[]; /* corners of the cells, then their points */
  const PoiseInt first = blockIdx.x * (PoiseInt)most;
  const int count = (int)(w.cells - first < most ? w.cells - first : most), pairs = w.nodes * w.nodes;
  const int size = FemPointSize(&w);
  double *points = memory + most * w.nodes * 3;
  for (int t = (int)threadIdx.x; t < count * w.nodes * 3; t += THREADS)
    memory[t] = w.x[3 * w.node[first * w.nodes + t / 3] + t % 3];
  __syncthreads();
  for (int t = (int)threadIdx.x; t < count * w.points; t += THREADS) {
    const int cell = t / w.points, q = t % w.points;
    double *point = points + t * size;
    const double det =
        FemGradients(w.dim, w.nodes, memory + cell * w.nodes * 3, w.reference->dN[q][0], point + 1);
    if (!(det > 0)) atomicMin((long long *)w.inverted, (long long)(first + cell));
    if (det > 0) FemFinishPoint(&w, q, det, point);
  }
  __syncthreads();
  for (int t = (int)threadIdx.x; t < count * pairs; t += THREADS) {
    const int cell = t / pairs, pair = t % pairs;
    FemPair(&w, points + cell * w.points * size, first + cell, pair / w.nodes, pair % w.nodes);
  }
}

static const char *Values(const FemWork *w, void *stream)
{
  const int pairs = w->nodes * w->nodes, most = THREADS / pairs; /* cells per block */
  const size_t shared = sizeof(double) * (size_t)(most * (w->nodes * 3 + w->points * FemPointSize(w)));
  if (w->cells == 0) return NULL;
  MakeValues<<<(unsigned)((w->cells + most - 1) / most), THREADS, shared, (cudaStream_t)stream>>>(*w, most);
  return Words(cudaGetLastError());
}

const FemPlace femCuda = {Alloc, Release, Copy, Triplets, Values};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of HPCG's matrices on a GPU, a thread each. */
#include "rows.h"

enum { THREADS = 256 };

template <typename Int>
static __global__ void MakeRows(const __grid_constant__ Box box, int64_t n, int64_t *ptr, Int *col,
                                double *val)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < n) MakeRow(box, i, ptr, col, val);
}

template <typename T> static cudaError_t Alloc(int64_t n, T **p)
{
  return cudaMalloc(p, (size_t)n * sizeof **p);
}

const char *MakeRowsOnGpu(void *stream, const Box &box, int64_t n, bool wide, Rows *rows)
{
  unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
  int64_t entries = Start(box, 0, 0, box.points[2]);
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  cudaError_t e = Alloc(n + 1, &rows->ptr);
  if (!e) e = Alloc(entries, &rows->val);
  if (!e) e = wide ? Alloc(entries, &rows->wide) : Alloc(entries, &rows->col);
  if (!e && wide) MakeRows<<<blocks, THREADS, 0, s>>>(box, n, rows->ptr, rows->wide, rows->val);
  if (!e && !wide) MakeRows<<<blocks, THREADS, 0, s>>>(box, n, rows->ptr, rows->col, rows->val);
  if (!e) e = cudaGetLastError();
  if (!e) e = cudaStreamSynchronize(s);
  return e ? cudaGetErrorString(e) : NULL;
}

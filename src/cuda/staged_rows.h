/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Items that are rows of a matrix, where rows are short. A thread that reads its own row alone reads parts of
  cache lines, again and again. So a thread block first copies the entries of its rows to shared memory, by
  whole lines, and each thread reads its row from there. The text of an item is the same for both.
*/
#ifndef POISE_STAGED_ROWS_H
#define POISE_STAGED_ROWS_H

#include "mat/csr/csr_view.h"
#include "cuda.h"

/* Of shared memory, at most: with more, too few thread blocks occupy a multiprocessor to hide latency. */
enum { STAGED_BYTES = 32 << 10 };

/* Entries that have room at the same time, of so many bytes each: a quarter more than a thread block's rows
   have on average. 0: rows are too long. */
static inline int StagedRoom(const CsrView &A, int bytes)
{
  double room = A.m ? 1.25 * THREADS * ((double)A.nz / (double)A.m) + 32 : 0;
  return !A.b && room * bytes <= STAGED_BYTES ? (int)room & ~1 : 0;
}

/* An item of n, in each thread of a block. */
template <typename Args, void (*Item)(const Args *, int64_t)>
static __device__ __forceinline__ void IfThere(const Args *a, int64_t i, int64_t n)
{
  if (i < n) Item(a, i);
}

/* Row: of the arguments and a number, which it does if it is below n; Of: the matrix among them, whose row
   that is. A block whose entries have no room reads them where they are. */
template <typename Args, void (*Row)(const Args *, int64_t, int64_t), CsrView &(*Of)(Args &), bool VALUES>
static __global__ void __launch_bounds__(THREADS)
    StagedRows(const __grid_constant__ Args args, int64_t n, int room)
{
  extern __shared__ double staged[];
  Args a = args;
  CsrView &A = Of(a);
  int64_t first = blockIdx.x * (int64_t)THREADS, i = first + threadIdx.x, end = first + THREADS;
  int64_t begin = poiseCsrOffset(&A, first), count = poiseCsrOffset(&A, end < n ? end : n) - begin;
  if (count <= room) {
    int32_t *col = (int32_t *)(staged + (VALUES ? room : 0));
    for (int k = threadIdx.x; k < (int)count; k += THREADS) {
      col[k] = A.col[begin + k];
      if (VALUES) staged[k] = A.val[begin + k];
    }
    A.col = col - begin; /* as an item counts entries from the matrix's first */
    if (VALUES) A.val = staged - begin;
    __syncthreads();
  }
  Row(&a, i, n);
}

template <typename Args, void (*Row)(const Args *, int64_t, int64_t), CsrView &(*Of)(Args &), bool VALUES>
static bool LaunchStaged(Device *dev, const Args *args, int64_t n)
{
  const int bytes = (int)sizeof(int32_t) + (VALUES ? (int)sizeof(double) : 0);
  Args a = *args;
  int room = n ? StagedRoom(Of(a), bytes) : 0;
  if (!room) return false;
  StagedRows<Args, Row, Of, VALUES>
      <<<Grid(n), THREADS, (size_t)(room * bytes), poiseCudaStream(dev)>>>(a, n, room);
  return true;
}

#endif

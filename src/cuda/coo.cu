/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of assembly from triplets (COO): keys, sorting, sums of values. */
#include "mat/assembly/coo_kernels.h"
#include "mat/csr/keys_kernels.h"
#include "items.h"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

enum { VALUES = 4, STAGE = VALUES * THREADS }; /* values that a thread, and a thread block, has in flight */

/*
  A thread block has THREADS entries, whose places stand side by side in the map. It brings their values to
  shared memory, STAGE at a time. Then a thread sums the values of its entry in their order. So no load
  waits for another, nor for the longest entry of a warp. Traffic: 12 bytes per value and per entry (4 more
  each where places are int64). Values come in sectors of 32 bytes. In element matrices the values of a row
  are neighbours and go to one row of A. So the other values of a sector are used too.
*/
template <typename Place>
static __global__ void __launch_bounds__(THREADS)
    CooSum(const __grid_constant__ CooSumArgs a, const Place *__restrict__ start,
           const Place *__restrict__ from)
{
  __shared__ double value[STAGE];
  int64_t first = blockIdx.x * (int64_t)THREADS, last = first + THREADS < a.n ? first + THREADS : a.n,
          e = first + threadIdx.x;
  int64_t begin = start[first], end = start[last], k = end, stop = end;
  double s = 0;
  if (e < last) {
    k = start[e], stop = start[e + 1];
    if (a.add) s = a.val[e];
  }
  for (; begin < end; begin += STAGE) {
    int count = end - begin < STAGE ? (int)(end - begin) : STAGE;
    int64_t place[VALUES];
    double v[VALUES];
#pragma unroll
    for (int r = 0; r < VALUES; r++) {
      int at = r * THREADS + threadIdx.x;
      place[r] = at < count ? (int64_t)from[begin + at] : -1;
    }
#pragma unroll
    for (int r = 0; r < VALUES; r++) {
      const double *p = place[r] < a.ngiven ? a.given + place[r] : a.received + (place[r] - a.ngiven);
      v[r] = place[r] < 0 ? 0 : *p;
    }
#pragma unroll
    for (int r = 0; r < VALUES; r++) value[r * THREADS + threadIdx.x] = v[r];
    __syncthreads();
    for (; k < stop && k < begin + count; k++) s += value[k - begin];
    __syncthreads();
  }
  if (e < last) a.val[e] = s;
}

/* The same for blocks. A thread sums one scalar and its neighbours the next ones, so blocks of 4 scalars or
   more are fetched in whole sectors. Traffic: 8 bytes per scalar of a value and of an entry; places and
   offsets are read once per block. */
template <typename Place>
static __global__ void __launch_bounds__(THREADS)
    CooSumBlocks(const __grid_constant__ CooSumArgs a, const Place *__restrict__ start,
                 const Place *__restrict__ from)
{
  enum { AHEAD = 4 };
  int64_t first = blockIdx.x * (int64_t)THREADS, e = first / a.numbers;
  unsigned at = (unsigned)(first - e * a.numbers) + threadIdx.x, j = at % (unsigned)a.numbers;
  e += at / (unsigned)a.numbers;
  if (e >= a.n) return;
  double s = a.add ? a.val[e * a.numbers + j] : 0;
#pragma unroll AHEAD
  for (int64_t k = start[e], stop = start[e + 1]; k < stop; k++) {
    int64_t place = from[k];
    s += *(place < a.ngiven ? a.given + place * a.numbers + j
                            : a.received + (place - a.ngiven) * a.numbers + j);
  }
  a.val[e * a.numbers + j] = s;
}

static __global__ void CooKeys(const __grid_constant__ CooKeysArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x, to = a.first + k;
  if (k >= a.n) return;
  a.key[to] = poiseCooKey(&a, k);
  if (a.place32)
    a.place32[to] = (uint32_t)to;
  else
    a.place64[to] = to;
}

/* Counts the entries that begin in each thread block. Traffic: 8 bytes per key. */
static __global__ void __launch_bounds__(THREADS) CooCount(const __grid_constant__ CooCountArgs a)
{
  typedef cub::BlockReduce<int, THREADS> Reduce;
  __shared__ typename Reduce::TempStorage shared;
  int count = 0;
  for (int r = 0; r < ROWS; r++) {
    int64_t k = (int64_t)blockIdx.x * POISE_BLOCK + r * THREADS + threadIdx.x;
    if (k < a.n) count += poiseCooBegins(a.key, k, a.end);
  }
  count = Reduce(shared).Sum(count);
  if (threadIdx.x == 0) a.count[blockIdx.x] = count;
}

/* Exclusive scan by one thread block, SCANNED integers at a time. */
enum { SCAN_THREADS = 1024, SCAN_EACH = 8, SCANNED = SCAN_THREADS * SCAN_EACH };

static __global__ void __launch_bounds__(SCAN_THREADS) Scan(const __grid_constant__ ScanArgs a)
{
  typedef cub::BlockScan<int64_t, SCAN_THREADS> Before;
  __shared__ typename Before::TempStorage shared;
  int64_t sum = 0;
  for (int64_t first = 0; first <= a.n; first += SCANNED) {
    int64_t b = first + threadIdx.x * SCAN_EACH, v[SCAN_EACH], all;
    for (int k = 0; k < SCAN_EACH; k++) v[k] = b + k < a.n ? a.count[b + k] : 0;
    Before(shared).ExclusiveSum(v, v, all);
    for (int k = 0; k < SCAN_EACH; k++)
      if (b + k <= a.n) a.count[b + k] = sum + v[k];
    sum += all;
    __syncthreads();
  }
}

/* Writes the entries. Traffic: 8 bytes per key, 8 per entry (12 where places are int64). */
static __global__ void __launch_bounds__(THREADS) CooRows(const __grid_constant__ CooRowsArgs a)
{
  typedef cub::BlockScan<int, THREADS> Before;
  __shared__ typename Before::TempStorage shared;
  int64_t e = a.count[blockIdx.x];
  for (int r = 0; r < ROWS; r++) {
    int64_t k = (int64_t)blockIdx.x * POISE_BLOCK + r * THREADS + threadIdx.x;
    int before, all, begins = k < a.n && poiseCooBegins(a.key, k, (uint64_t)a.m << a.bits);
    Before(shared).ExclusiveSum(begins, before, all);
    if (k <= a.n) poiseCooRow(&a, k, e + before);
    e += all;
    __syncthreads();
  }
}

/* The result is in Current() of both buffers, which starts as [0]. */
template <typename Place>
static cudaError_t Sort(void *scratch, size_t *bytes, const SortKeysArgs *a, cub::DoubleBuffer<uint64_t> *key,
                        cub::DoubleBuffer<Place> *place, cudaStream_t stream)
{
  return cub::DeviceRadixSort::SortPairs(scratch, *bytes, *key, *place, a->n, a->first, a->first + a->bits,
                                         stream);
}

/* The sort may leave its result in either buffer; callers want it in [1]. */
template <typename Place> static PoiseErr SortInto1(Device *dev, const SortKeysArgs *a, Place *const *places)
{
  cudaStream_t stream = poiseCudaStream(dev);
  cub::DoubleBuffer<uint64_t> key(a->key[0], a->key[1]);
  cub::DoubleBuffer<Place> place(places[0], places[1]);
  size_t bytes = a->scratch_bytes;
  TRY(poiseCudaCheck(Sort(a->scratch, &bytes, a, &key, &place, stream), "sorting keys"));
  if (key.Current() == a->key[1]) return POISE_OK;
  TRY(poiseCudaCheck(cudaMemcpyAsync(a->key[1], a->key[0], (size_t)a->n * sizeof(uint64_t),
                                     cudaMemcpyDeviceToDevice, stream),
                     "copying sorted keys"));
  return poiseCudaCheck(
      cudaMemcpyAsync(places[1], places[0], (size_t)a->n * sizeof(Place), cudaMemcpyDeviceToDevice, stream),
      "copying sorted keys");
}

extern "C" size_t poiseCudaSortScratch(Device *dev, const SortKeysArgs *a)
{
  size_t bytes = 0;
  cub::DoubleBuffer<uint64_t> key(a->key[0], a->key[1]);
  cub::DoubleBuffer<uint32_t> place32(a->place32[0], a->place32[1]);
  cub::DoubleBuffer<int64_t> place64(a->place64[0], a->place64[1]);
  cudaError_t e = a->place32[0] ? Sort(NULL, &bytes, a, &key, &place32, poiseCudaStream(dev))
                                : Sort(NULL, &bytes, a, &key, &place64, poiseCudaStream(dev));
  return e == cudaSuccess && bytes ? bytes : 1; /* 0 means a query; a failure shows in the sort */
}

template <typename Place>
static void LaunchSum(const CooSumArgs *a, const Place *start, const Place *from, cudaStream_t stream)
{
  if (a->numbers == 1)
    CooSum<<<Grid(a->n), THREADS, 0, stream>>>(*a, start, from);
  else
    CooSumBlocks<<<Grid(a->n * a->numbers), THREADS, 0, stream>>>(*a, start, from);
}

extern "C" PoiseErr poiseCuda_coo_sum(Device *dev, const void *args)
{
  const CooSumArgs *a = (const CooSumArgs *)args;
  if (a->n && a->start32) LaunchSum(a, a->start32, a->from32, poiseCudaStream(dev));
  if (a->n && !a->start32) LaunchSum(a, a->start64, a->from64, poiseCudaStream(dev));
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_coo_keys(Device *dev, const void *args)
{
  const CooKeysArgs *a = (const CooKeysArgs *)args;
  if (a->n) CooKeys<<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

/* Traffic: 16 bytes per key, and its place. */
extern "C" PoiseErr poiseCuda_coo_received(Device *dev, const void *args)
{
  return LaunchItems<CooReceivedArgs, coo_received_item>(dev, args);
}

extern "C" PoiseErr poiseCuda_sort_keys(Device *dev, const void *args)
{
  const SortKeysArgs *a = (const SortKeysArgs *)args;
  if (!a->n) return POISE_OK;
  return a->place32[0] ? SortInto1(dev, a, a->place32) : SortInto1(dev, a, a->place64);
}

extern "C" PoiseErr poiseCuda_coo_count(Device *dev, const void *args)
{
  const CooCountArgs *a = (const CooCountArgs *)args;
  CooCount<<<(unsigned)POISE_NBLOCKS(a->n + 1), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_scan(Device *dev, const void *args)
{
  Scan<<<1, SCAN_THREADS, 0, poiseCudaStream(dev)>>>(*(const ScanArgs *)args);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_coo_rows(Device *dev, const void *args)
{
  const CooRowsArgs *a = (const CooRowsArgs *)args;
  CooRows<<<(unsigned)POISE_NBLOCKS(a->n + 1), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

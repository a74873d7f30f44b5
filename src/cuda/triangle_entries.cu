/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels over the entries of triangles. Some lanes share a row, and its thread block a long one. Compiled
   without contraction, so that factors have the host's bits. */
#include "pc/triangle_entries_kernels.h"
#include "cuda.h"

enum {
  SHARE = 4,  /* lanes of a row: its entries are read together */
  LONG = 128, /* entries of a row that are too many for these */
};

template <typename Args, void (*Range)(const Args *, int64_t, int64_t *, int64_t *),
          void (*Entry)(const Args *, int64_t, int64_t)>
static __global__ void __launch_bounds__(THREADS) Entries(const __grid_constant__ Args a)
{
  __shared__ int64_t row[THREADS];
  int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / SHARE, k = 0, end = 0;
  int lane = threadIdx.x % SHARE;
  if (i < a.n) Range(&a, i, &k, &end);
  bool is_long = end - k >= LONG;
  row[threadIdx.x] = is_long && lane == 0 ? i : -1;
  for (k += lane; !is_long && k < end; k += SHARE) Entry(&a, i, k);
  if (!__syncthreads_or(is_long)) return;
  for (int t = 0; t < THREADS; t++) {
    if (row[t] < 0) continue;
    Range(&a, row[t], &k, &end);
    for (k += threadIdx.x; k < end; k += THREADS) Entry(&a, row[t], k);
  }
}

template <typename Args, void (*Range)(const Args *, int64_t, int64_t *, int64_t *),
          void (*Entry)(const Args *, int64_t, int64_t)>
static PoiseErr LaunchEntries(Device *dev, const void *args)
{
  const Args *a = (const Args *)args;
  if (a->n) Entries<Args, Range, Entry><<<Grid(a->n * SHARE), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

#define KERNEL(name, Args)
#define ENTRY_KERNEL(name, Args)                                       \
  extern "C" PoiseErr poiseCuda_##name(Device *dev, const void *args)  \
  {                                                                    \
    return LaunchEntries<Args, name##_range, name##_entry>(dev, args); \
  }
#include "sys/device/kernels.def"
#undef KERNEL

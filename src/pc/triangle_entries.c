/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels over the entries of triangles. Rows may be of any length, so threads take blocks of them
   as they come. */
#include "vec/vec_host.h"
#include "triangle_entries_kernels.h"

#define KERNEL(name, Args)
#define ENTRY_KERNEL(name, Args)                                                      \
  PoiseErr poiseHost_##name(Device *dev, const void *args)                            \
  {                                                                                   \
    const Args *a = args;                                                             \
    int64_t nblock = POISE_NBLOCKS(a->n);                                             \
    (void)dev;                                                                        \
    HOST_PARALLEL_ITEMS(dev->threads, HOST_SHARED_OUT(dev, nblock))                   \
    for (int64_t b = 0; b < nblock; b++)                                              \
      for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < a->n; i++) { \
        int64_t k, end;                                                               \
        for (name##_range(a, i, &k, &end); k < end; k++) name##_entry(a, i, k);       \
      }                                                                               \
    return POISE_OK;                                                                  \
  }
#include "sys/device/kernels.def"
#undef KERNEL

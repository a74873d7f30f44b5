/* SPDX-License-Identifier: BSD-3-Clause */
/* How the host kernels go through rows that depend on each other. */
#ifndef POISE_TRIANGLES_HOST_H
#define POISE_TRIANGLES_HOST_H

#include "vec/vec_host.h"
#include "pc.h"

/* Should the host go by levels? Not if most levels have little work for threads. Not if groups are so
   short that access is scattered: in their order, rows stream through memory several times as fast. The
   result is the same. */
static inline bool poiseHostWide(const Device *dev, const Levels *levels, int64_t n)
{
  return dev->threads > 1 && levels->groups >= 10 * levels->count && n >= 16 * levels->groups;
}

typedef void HostRows(const void *args, int64_t begin, int64_t end);
HostRows *poiseHostSweepBlocks(int b); /* rows of b x b blocks, b > 1, for the kernels sweep, jacobi_sweep
                                          and factor (block_triangles.c) */
HostRows *poiseHostJacobiBlocks(int b);
HostRows *poiseHostFactorBlocks(int b);

/* Call rows(args, first, last) for each group, level after level. */
static inline void poiseHostByLevels(Device *dev, const Levels *levels, HostRows *rows, const void *args)
{
  (void)dev;
  for (int64_t l = 0; l < levels->count; l++) {
    int64_t begin = levels->start[l], end = levels->start[l + 1];
    HOST_PARALLEL_FOR(dev, end - begin)
    for (int64_t g = begin; g < end; g++) rows(args, levels->first[g], levels->last[g]);
  }
}

#endif

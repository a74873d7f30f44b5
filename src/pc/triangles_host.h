/* SPDX-License-Identifier: BSD-3-Clause */
/* How the host kernels go through rows that depend on each other. */
#ifndef POISE_TRIANGLES_HOST_H
#define POISE_TRIANGLES_HOST_H

#include "vec/vec_host.h"
#include "triangles_kernels.h"

/* Bytes of values, columns and vectors that a sweep over both triangles moves. */
static inline double poiseHostSweepBytes(const Triangles *t)
{
  double b = t->b ? t->b : 1;
  return (8 * b * b + 4) * (double)t->nz + 32 * b * (double)t->n;
}

/* Should the host go by levels, where all of them move so many bytes? Not if most levels have little work for
   threads. Not if groups are so short that access is scattered: in their order, rows stream through memory
   several times as fast. The result is the same. */
static inline bool poiseHostWide(const Device *dev, const Levels *levels, int64_t n, double bytes)
{
  return dev->threads > 1 && levels->groups >= 10 * levels->count && n >= 16 * levels->groups &&
         bytes > (double)(levels->count * dev->few);
}

typedef void HostRows(const void *args, int64_t begin, int64_t end);
HostRows *poiseHostSweepBlocks(int b); /* rows of b x b blocks, b > 1, for the kernels sweep, jacobi_sweep
                                          and factor (block_triangles.c) */
HostRows *poiseHostJacobiBlocks(int b);
HostRows *poiseHostFactorBlocks(int b);
void poiseHostSweep(Device *dev, const SweepArgs *a, HostRows *rows); /* in an order of rows (triangles.c) */

/* Call rows(args, first, last) for each group of level l. bytes: of all levels. */
static inline void poiseHostLevel(Device *dev, const Levels *levels, int64_t l, double bytes, HostRows *rows,
                                  const void *args)
{
  int64_t begin = levels->start[l], end = levels->start[l + 1];
  double mine = bytes / (double)levels->groups * (double)(end - begin);
  (void)dev;
  HOST_PARALLEL_BYTES(dev, mine)
  for (int64_t g = begin; g < end; g++) rows(args, levels->first[g], levels->last[g]);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops of host kernels. The device's threads divide the blocks; a few blocks do not justify waking
   threads. */
#ifndef POISE_HOST_LOOP_H
#define POISE_HOST_LOOP_H

#include "device.h"

#define HOST_PRAGMA(x)               _Pragma(#x)
#define HOST_SHARED_OUT(dev, nblock) ((dev)->threads > 1 && (nblock) > HOST_FEW_BLOCKS)
#ifdef POISE_HAVE_OPENMP
#define HOST_PARALLEL_FOR(dev, nblock)                                      \
  HOST_PRAGMA(omp parallel for schedule(static) num_threads((dev)->threads) \
                  if (HOST_SHARED_OUT(dev, nblock)))
#define HOST_PARALLEL(dev) HOST_PRAGMA(omp parallel for schedule(static) num_threads((dev)->threads))
/* For loops over something else than row blocks, which move so many bytes together. */
#define HOST_PARALLEL_BYTES(dev, bytes)                                     \
  HOST_PRAGMA(omp parallel for schedule(static) num_threads((dev)->threads) \
                  if ((dev)->threads > 1 && (bytes) > (double)(dev)->few))
/* For a few items of uneven work. */
#define HOST_PARALLEL_ITEMS(threads, worth) \
  HOST_PRAGMA(omp parallel for schedule(dynamic, 1) num_threads(threads) if (worth))
#define HOST_CRITICAL HOST_PRAGMA(omp critical)
#define HOST_ATOMIC   HOST_PRAGMA(omp atomic)
#else
#define HOST_CRITICAL
#define HOST_ATOMIC
#define HOST_PARALLEL(dev)
#define HOST_PARALLEL_FOR(dev, nblock)      (void)(dev), (void)(nblock);
#define HOST_PARALLEL_BYTES(dev, bytes)     (void)(dev), (void)(bytes);
#define HOST_PARALLEL_ITEMS(threads, worth) (void)(threads), (void)(worth);
#endif

/* call, of k = 0, step, ... below nblock, for kernels that solvers call again and again; by threads, if that
   is worth it. A parallel region of one thread costs an allocation and a system call, more than a few blocks
   of work: these go without. */
#define HOST_BLOCKS_IF(dev, worth, nblock, step, k, call)  \
  do {                                                     \
    if (worth) {                                           \
      HOST_PARALLEL(dev)                                   \
      for (int64_t k = 0; k < (nblock); k += (step)) call; \
    } else {                                               \
      for (int64_t k = 0; k < (nblock); k += (step)) call; \
    }                                                      \
  } while (0)
#define HOST_BLOCKS(dev, nblock, step, k, call) \
  HOST_BLOCKS_IF(dev, HOST_SHARED_OUT(dev, nblock), nblock, step, k, call)
/* Is it, of blocks that move so many bytes together, as rows of a matrix may be long? */
#define HOST_WORTH(dev, nblock, bytes) \
  ((dev)->threads > 1 && (nblock) > 1 && ((nblock) > HOST_FEW_BLOCKS || (bytes) > (double)(dev)->few))

/* The host's kernel `name`: call, of a and i, for each of the a->n items. */
#define HOST_ITEMS(name, Args, call)                                                    \
  static void name##_block(const Args *a, int64_t b)                                    \
  {                                                                                     \
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < a->n; i++) call; \
  }                                                                                     \
  PoiseErr poiseHost_##name(Device *dev, const void *args)                              \
  {                                                                                     \
    const Args *a = args;                                                               \
    int64_t nblock = POISE_NBLOCKS(a->n);                                               \
    (void)dev;                                                                          \
    HOST_BLOCKS(dev, nblock, 1, b, name##_block(a, b));                                 \
    return POISE_OK;                                                                    \
  }

#endif

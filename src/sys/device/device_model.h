/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device is made of, as far as the choice of kernels depends on it. Plain C, so that tests can make up
   devices. */
#ifndef POISE_DEVICE_MODEL_H
#define POISE_DEVICE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
  /* Work that is not worth waking threads up for, some 2 to 3 us of one thread: row blocks of vectors, at 40
     GB/s from the caches; bytes of sweeps and dense factors, at a third of that. To wake a thread takes 1 us
     where it spins on its own core, 10 us where it sleeps, a time slice where another program has it. */
  HOST_FEW_BLOCKS = 8,
  HOST_FEW_BYTES = 32 * 1024,
  /* Threads that the rows must keep busy when a form of SpMV is chosen. This is a constant, not the number
     of threads: the last bits of results depend on the choice, and must not depend on threads. */
  HOST_SHARES = 16
};

typedef struct DeviceModel { /* 0 where a device has no such thing, or does not say */
  int host_threads;          /* that a choice counts on, where the kernels are the host's: HOST_SHARES */
  int multiprocessors;       /* of a GPU; 0: the kernels are the host's */
  int warp;                  /* threads in step */
  int threads;               /* of a multiprocessor, resident at once */
  int64_t shared;            /* bytes of shared memory of a multiprocessor, */
  int64_t block_shared;      /* and that a block of threads may have, if it asks */
  int64_t l2;                /* bytes of the L2 cache. (How large L1 is, CUDA does not say.) */
  double bandwidth;          /* of memory, bytes per second, as the manufacturer says */
  bool bulk;                 /* copies to shared memory in bulk: compute capability 9.0 */
} DeviceModel;

static inline bool poiseModelIsGpu(const DeviceModel *model)
{
  return model->multiprocessors > 0;
}

#endif

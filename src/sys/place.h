/* SPDX-License-Identifier: BSD-3-Clause */
/* Which GPU a rank takes, and how many threads of the host. */
#ifndef POISE_PLACE_H
#define POISE_PLACE_H

#include "device.h"

/* *id: the GPU that is asked for. -1 becomes the one for this rank. Collective; agrees. */
PoiseErr poiseDevicePlace(PoiseContext ctx, const DeviceOps *ops, int *id);

typedef struct GpuPlace {
  uint64_t machine, near; /* near: a bit for each GPU */
} GpuPlace;

/* the GPU of this rank, from the places of all ranks */
int poisePickGpu(int rank, const GpuPlace *all, int count);
/* a number for these words */
uint64_t poiseHashWords(const char *words);
/* a number for this machine */
uint64_t poiseMachine(void);
/* may this process run on one of these cores, "0-31,64-95"? */
bool poiseMayRunOn(const char *list);

/* Threads of this rank's loops on the host: as many as OpenMP takes, shared among ranks that are threads, or
   processes on the same cores. Beside a GPU the ranks of a machine have 16 at most. OMP_NUM_THREADS is what
   each process has. Collective; agrees. */
PoiseErr poiseHostThreads(PoiseContext ctx, const DeviceOps *ops, int *threads);

#endif

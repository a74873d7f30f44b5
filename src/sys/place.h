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

/* Threads for loops on the host, of a rank whose device is open: as many as OpenMP takes, shared among ranks
   that are threads. Beside a GPU at most 16, unless OMP_NUM_THREADS says how many. */
int poiseHostThreads(PoiseContext ctx);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which GPU a rank takes. */
#ifndef POISE_PLACE_H
#define POISE_PLACE_H

#include "device.h"

/* *id: the GPU that is asked for. -1 becomes the one for this rank. Collective; agrees. */
PoiseErr poiseDevicePlace(PoiseContext ctx, const DeviceOps *ops, int *id);

typedef struct GpuPlace {
  uint64_t machine, near; /* near: a bit for each GPU */
} GpuPlace;

/* the GPU of this rank, from the places of all `size` ranks; count: GPUs that a rank sees */
int poisePickGpu(int rank, const GpuPlace *all, int size, int count);
/* a number for these words; for n bytes after what h stands for */
uint64_t poiseHashWords(const char *words);
uint64_t poiseHashBytes(uint64_t h, const void *bytes, size_t n);
/* a number for this machine */
uint64_t poiseMachine(void);
/* The next range of a list of cores, "0-31,64-95", which moves on behind it. false: there is none. */
bool poiseNextCores(const char **list, long *first, long *last);
/* may this process run on one of these cores? */
bool poiseMayRunOn(const char *list);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* How many threads of the host a rank takes. */
#ifndef POISE_HOST_THREADS_H
#define POISE_HOST_THREADS_H

#include "device.h"

/* Threads of this rank's loops on the host: as many as OpenMP takes, shared among ranks that are threads, or
   processes on the same cores. Beside a GPU the ranks of a machine have 16 at most. OMP_NUM_THREADS is what
   each process has. Collective; agrees. */
PoiseErr poiseHostThreads(PoiseContext ctx, const DeviceOps *ops, int *threads);

#endif

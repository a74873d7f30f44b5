/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Copies of large arrays between the host and a device, through pinned buffers (staging.c). A device reads
  pageable memory at an eighth of its bus, as one thread of the driver's copies it.
*/
#ifndef POISE_STAGING_H
#define POISE_STAGING_H

#include "device.h"

enum { STAGING_BYTES = 4 << 20 }; /* of a buffer: several fit in the last cache of a server's CPU */

/* Does a copy of so many bytes of the array `host` go through the buffers of dev? They are made when it has
   been worth it; without memory for them, the answer is no. */
bool poiseStagingTakes(Device *dev, const void *host, size_t bytes);
/* To the device: the host's array is free when this returns, and the device has it in the order of its work.
   To the host: waits. The caller counts. */
PoiseErr poiseStagingCopy(Device *dev, void *to, const void *from, size_t bytes, CopyKind kind);
void poiseStagingDestroy(Device *dev);

#endif

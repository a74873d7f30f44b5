/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Memory of a rank's device that another process opens, so that arrays need no copies on their way there.
  That process is the leader of a group of ranks that share a GPU (context/group.h). Blocks have handles, and
  buffers are parts of them. A part that is freed is given away again at once, as all work of the device is in
  one stream. Blocks stay until the device ends.
*/
#ifndef POISE_ARENA_H
#define POISE_ARENA_H

#include "link_device.h"

typedef struct Arena Arena;

typedef struct ArenaPlace { /* where an array is, for another process */
  int64_t block;            /* number of its block, from 1; 0: it is in none */
  size_t bytes, at;         /* of the block; of the array in it */
  LinkHandle handle;        /* of the block */
} ArenaPlace;

/* From now on the device's memory comes from an arena: dev->arena. */
PoiseErr poiseArenaOpen(Device *dev);
void poiseArenaClose(Device *dev);
PoiseErr poiseArenaAlloc(Device *dev, size_t bytes, const char *what, void **p);
bool poiseArenaFree(Device *dev, void *p); /* false: p is none of its parts */
ArenaPlace poiseArenaFind(const Device *dev, const void *p);

#endif

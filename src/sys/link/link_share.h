/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Memory that the devices of all ranks reach. For link.c.

  To make it takes long: each device maps that of all others. So all ranks make blocks, each of the same size,
  and what is shared are pieces of the latest one. Threads hand each other pointers. A process opens a block
  of another one by a handle, and must have closed it when its owner frees it.

  Objects may end on one rank before the others. Whenever ranks meet for a piece they tell each other of which
  blocks they have none left. If that holds on all, the latest block is used again, zeroed, and an older one
  ends.
*/
#ifndef POISE_LINK_SHARE_H
#define POISE_LINK_SHARE_H

#include "link.h"
#include "sys/device/link_device.h"

typedef struct Sharing {
  PoiseContext ctx;
  const LinkDevice *ops;
  bool processes;             /* ranks are processes */
  int64_t made;               /* blocks so far, the same number on all ranks */
  struct SharedBlock *blocks; /* the latest first */
  struct SharedArena *arena;  /* of this rank's device alone, the latest first */
} Sharing;

/* As poiseLinkShare and poiseLinkUnshare. */
PoiseErr poiseShare(Sharing *s, PoiseErr mine, size_t bytes, const char *what, Shared *shared);
void poiseUnshare(Sharing *s, Shared *shared);
/* Free all blocks of which no rank has a piece. Collective; agrees. */
PoiseErr poiseShareFreeIdle(Sharing *s);
/* Free all of them: no rank uses any. Collective between processes. */
void poiseShareEnd(Sharing *s);

/* Memory of this rank's device that others do not reach. */
PoiseErr poiseShareAllocOwn(Sharing *s, size_t bytes, const char *what, void **p);
void poiseShareFreeOwn(Sharing *s, size_t bytes, void *p);

#endif

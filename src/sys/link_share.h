/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Memory that the devices of all ranks reach. For link.c.

  Threads hand each other pointers. A process opens the memory of another one by a handle, and must have
  closed it when its owner frees it. Objects may end on one rank before the others, so a block that is given
  up is kept. It is freed when all ranks meet next, here or at the end, and none has it open.
*/
#ifndef POISE_LINK_SHARE_H
#define POISE_LINK_SHARE_H

#include "link.h"
#include "link_device.h"

typedef struct Sharing {
  PoiseContext ctx;
  const LinkDevice *ops;
  bool processes;            /* ranks are processes */
  int64_t made;              /* blocks so far, the same number on all ranks */
  struct SharedBlock *given; /* up, by number */
  struct SharedArena *arena; /* of this rank's device, the latest first */
} Sharing;

/* As poiseLinkShare and poiseLinkUnshare. */
PoiseErr poiseShare(Sharing *s, PoiseErr mine, size_t bytes, const char *what, Shared *shared);
void poiseUnshare(Sharing *s, Shared *shared);
/* What is allocated for so many bytes. */
size_t poiseShareBytes(const Sharing *s, size_t bytes);
/* Free what all ranks have given up, as poiseShare does first. Collective; agrees. */
PoiseErr poiseShareFreeGiven(Sharing *s);
/* Free all that was given up. Collective between processes, if anything was shared. */
void poiseShareEnd(Sharing *s);

/* Memory of the device that others do not reach, beside it. */
PoiseErr poiseShareAllocOwn(Sharing *s, size_t bytes, const char *what, void **p);
void poiseShareFreeOwn(Sharing *s, size_t bytes, void *p);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the transport share: link.c, link_open.c, link_library.c, link_alltoall.c. */
#ifndef POISE_LINK_PARTS_H
#define POISE_LINK_PARTS_H

#include "link_share.h"

struct Link {
  PoiseContext ctx;
  bool used;
  double seconds; /* that a device waits for another one */
  /* by peer access */
  Sharing sharing;
  Shared recv;              /* receive buffers of sums: LinkMessage [2][size] */
  LinkMessage **recv_all;   /* on the device: recv.all */
  uint64_t *state;          /* on the device: sequence number of sums, late */
  bool apart;               /* what polls takes no place of what it awaits */
  bool fuses;               /* phases exchange by themselves */
  LinkSequences *sequences; /* of halos */
  int64_t sums;             /* enqueued so far */
  bool unread;              /* entries were sent since the latest sum */
  int64_t body;             /* sums before the graph body that is captured, */
  bool early;               /* in which entries were sent before its first sum */
  int64_t numbers;          /* given to halos */
  int64_t session;          /* changes when what was sent before counts no more */
  Shared window;            /* staging window: words [2][size][part] */
  int64_t part;             /* words of it for one rank; 0: there is no window yet */
  int half;                 /* of the window, which is next */
  /* by a library */
  const LinkLibrary *library; /* NULL: by peer access */
  void *handle;               /* the library's */
  double *own, *all;          /* on the device: sums of this rank, of all */
  int64_t joined;             /* how often the ranks have joined */
  bool sound;                 /* they have, and found no fault since */
  bool loops;                 /* as the device had it before */
};
enum { LINK_SEQUENCE, LINK_LATE, LINK_STATE };

enum { LINK_WORDS = 200 }; /* characters of a reason why a transport is not used */

/* Make the transport by the library of the device, or by peer access, and probe it. Collective; agrees. What
   there is after a failure, poiseLinkClose ends. */
PoiseErr poiseLinkByLibrary(PoiseContext ctx, const LinkPlace *all);
PoiseErr poiseLinkByPeers(PoiseContext ctx, const LinkPlace *all);
void poiseLinkLeaveLibrary(Link *link);
PoiseErr poiseLinkSumByLibrary(Link *link, LinkSumArgs a);
/* All ranks join anew. Collective; agrees. */
PoiseErr poiseLinkJoinAgain(Link *link);

void poiseLinkFreeWindow(Link *link);

/* Three sums with known results, which go wrong where kernels of ranks do not run side by side. device: room
   for LINK_PROBE doubles. */
enum { LINK_PROBE = 12 };
PoiseErr poiseLinkProbeSums(Link *link, double *device);
PoiseErr poiseLinkUpload(Device *dev, void *to, const void *from, size_t bytes);

#endif

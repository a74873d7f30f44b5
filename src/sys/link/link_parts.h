/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the link share: link.c, link_open.c, link_library.c, link_trade.c. */
#ifndef POISE_LINK_PARTS_H
#define POISE_LINK_PARTS_H

#include "link_share.h"

struct Link {
  PoiseContext ctx;
  bool used;
  double seconds; /* that a device waits for another one */
  /* by peer memory */
  Sharing sharing;
  Shared mail;        /* LinkMail [2][size] */
  LinkMail **boxes;   /* on the device: mail.all */
  uint64_t *state;    /* on the device: ticket of the sums, late */
  bool apart;         /* what polls takes no place of what it awaits */
  bool fuses;         /* phases exchange by themselves */
  LinkEpochs *epochs; /* of halos */
  int64_t sums;       /* enqueued so far */
  bool unread;        /* entries were sent since the latest sum */
  int64_t turn;       /* sums before the turn that is captured, */
  bool early;         /* in which entries were sent before its first sum */
  int64_t numbers;    /* given to halos */
  int64_t session;    /* changes when what was sent before counts no more */
  Shared floor;       /* for trades: words [2][size][place] */
  int64_t place;      /* 0: there is none yet */
  int half;           /* which of the two is next */
  /* by a library */
  const LinkLibrary *library; /* NULL: by peer memory */
  void *handle;               /* the library's */
  double *own, *all;          /* on the device: sums of this rank, of all */
  int64_t joined;             /* how often the ranks have joined */
  bool sound;                 /* they have, and found no fault since */
  bool loops;                 /* as the device had it before */
};
enum { LINK_TICKET, LINK_LATE, LINK_STATE };

/* Ways that the context has been found not to go, in words. */
enum { LINK_WORDS = 200 };

/* The link by the library of the device, or by peer memory, and a probe of it. Collective; agrees. What there
   is after a failure, poiseLinkClose ends. */
PoiseErr poiseLinkByLibrary(PoiseContext ctx, const LinkPlace *all);
PoiseErr poiseLinkByPeers(PoiseContext ctx, const LinkPlace *all);
void poiseLinkLeaveLibrary(Link *link);
PoiseErr poiseLinkSumByLibrary(Link *link, LinkSumArgs a);
/* All ranks join anew. Collective; agrees. */
PoiseErr poiseLinkJoinAgain(Link *link);

void poiseLinkEndTrades(Link *link);

/* Three sums with known results, which go wrong where kernels of ranks do not run side by side. device: room
   for LINK_PROBE doubles. */
enum { LINK_PROBE = 12 };
PoiseErr poiseLinkProbeSums(Link *link, double *device);
PoiseErr poiseLinkUpload(Device *dev, void *to, const void *from, size_t bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The link: how the devices of ranks exchange numbers without their hosts, inside the loop of a solver too.
  It has two verbs: sums over all ranks, and entries for neighbours (halo.c). There are two kinds: the devices
  reach each other's memory and poll there, or a library does it all (LinkLibrary: NCCL). Without a link
  exchanges go through the hosts' memory.

  A device that polls waits for kernels that other ranks enqueue later. So between poiseLinkUse(ctx, true) and
  the end of that work no rank allocates memory of a device, as that may wait for devices that poll.
*/
#ifndef POISE_LINK_H
#define POISE_LINK_H

#include "link_kernels.h"
#include "sys/device/device.h"
#include "sys/ranks/comm.h"

typedef struct Link Link;

typedef struct Shared { /* memory that the devices of all ranks reach: a piece for each */
  size_t bytes;         /* of mine */
  void *mine;
  void **all;                /* by rank; NULL: it has none */
  struct SharedBlock *block; /* of the pieces; NULL: no rank has one */
} Shared;

typedef enum LinkWish { LINK_AUTO, LINK_PEER, LINK_LIBRARY, LINK_HOST } LinkWish; /* -comm_exchange */

/* Try to link the ranks: ctx->link is NULL where they are not to be linked, or cannot be. LINK_PEER,
   LINK_LIBRARY: it is an error if they cannot be linked so. Collective; agrees. */
PoiseErr poiseLinkOpen(PoiseContext ctx, LinkWish wish);
/* Seconds that a device waits for another one, by a library the host for its device (-comm_patience). Does
   nothing without a link. */
void poiseLinkSetPatience(PoiseContext ctx, double seconds);
/* May phases exchange by themselves (-comm_fuse)? They do by peer memory, between ranks that share no device
   but a mock. All ranks alike. */
void poiseLinkSetFused(PoiseContext ctx, bool on);
/* Threads have met behind their latest trade. */
void poiseLinkClose(PoiseContext ctx);
/* How ranks exchange, in words, and why not otherwise where that was tried. Lent until the link ends. */
const char *poiseLinkWords(PoiseContext ctx);

/* Are exchanges made by the link? Returns the old setting. All ranks, at the same place. */
bool poiseLinkUse(PoiseContext ctx, bool on);
bool poiseLinkIsUsed(PoiseContext ctx);
/* Changes when what was captured with exchanges in it must be captured anew. */
int64_t poiseLinkJoined(PoiseContext ctx);
bool poiseLinkIsLibrary(const Link *link); /* else by peer memory */
bool poiseLinkFuses(PoiseContext ctx);     /* do phases exchange by themselves, where the link is used? */
/* Changes when what phases have sent so far is no longer what a product may find. */
int64_t poiseLinkSession(const Link *link);
int64_t poiseLinkNumber(Link *link); /* 1, 2, ... */
void poiseLinkEndSession(PoiseContext ctx);
/* This rank is going to wait for others, which may poll for what it has enqueued: let that run. */
void poiseLinkRun(PoiseContext ctx);
/* POISE_ERR_COMM if a rank has waited in vain since the context was made. Waits. */
PoiseErr poiseLinkCheck(PoiseContext ctx);

/* Epochs of exchanges in memory of the device, that a solve which failed may leave different on the ranks;
   zero-initialise it. */
typedef struct LinkEpochs {
  uint64_t *first;
  int64_t n;
  struct LinkEpochs *next;
} LinkEpochs;
void poiseLinkAddEpochs(Link *link, LinkEpochs *e, uint64_t *first, int64_t n);
void poiseLinkRemoveEpochs(Link *link, LinkEpochs *e);
/* All exchanges begin anew, behind a solve that has failed. Waits. Collective; agrees. */
PoiseErr poiseLinkReset(PoiseContext ctx);

/* Zeroed; bytes may differ between ranks. mine: this rank's error so far. Collective; agrees. */
PoiseErr poiseLinkShare(Link *link, PoiseErr mine, size_t bytes, const char *what, Shared *shared);
/* This rank's device uses it no more, nor what the others have of it. It is used again, or freed, when that
   holds on all ranks, and they meet. Waits for the device. */
void poiseLinkUnshare(Link *link, Shared *shared);
/* Memory of this rank's device that a link may use: zeroed, in no pool. May wait. */
PoiseErr poiseLinkAlloc(Link *link, size_t bytes, const char *what, void **p);
void poiseLinkFree(Link *link, size_t bytes, void *p);

/* dst = sums over ranks, enqueued. Of a only n, the partials and dst are given. */
PoiseErr poiseLinkSum(Link *link, LinkSumArgs a);
/* For a phase that adds a sum over ranks by itself. All ranks, at the same place as a sum. */
LinkRanks poiseLinkCountSum(Link *link);
/* Entries for neighbours, by a library: enqueued, send and recv from poiseLinkAlloc. All ranks. What is
   enqueued behind Arrive sees what came. */
PoiseErr poiseLinkExchange(Link *link, const Exchange *ex, const double *send, double *recv);
PoiseErr poiseLinkArrive(Link *link);
/* Do arrays go from device to device by poiseLinkTrade? */
bool poiseLinkTrades(PoiseContext ctx);
/* As poiseTrade. */
PoiseErr poiseLinkTrade(Link *link, PoiseErr mine, const Exchange *ex, const void *from, void *to);
/* data: an array on the device of which each rank r has items start[r] to start[r + 1], of `width` bytes. All
   get all of it. mine: this rank's error so far, which is everybody's as in a trade.
   Collective; the caller agrees. */
PoiseErr poiseLinkSpread(Link *link, PoiseErr mine, const int64_t *start, size_t width, char *data);
/* Places of the neighbours that an exchange fills; zero-initialise it. */
typedef struct LinkSent {
  int64_t sums; /* 1 + the sums that were enqueued before they were filled; 0: they never were */
} LinkSent;
/* Places may be filled behind this, and will be: all ranks have read what they held. They have when a sum was
   enqueued since, as each joins it behind its reading. If none was, this enqueues a sum of nothing. */
PoiseErr poiseLinkSettle(Link *link, LinkSent *sent);
/* A turn of a loop is captured. Its end may be followed by its beginning. There places may be filled, if the
   first calls of poiseLinkSettle behind Begin found that they may be. */
void poiseLinkBeginTurn(Link *link);
PoiseErr poiseLinkEndTurn(Link *link);
LinkPatience poiseLinkPatience(const Link *link);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The transport (Link): how the devices of ranks exchange numbers without their hosts, inside the loop of a
  solver too. It has two verbs: sums over all ranks, and entries for neighbours (halo.c). There are two kinds.
  By peer access the devices store into each other's memory and poll there; or a library does it all
  (LinkLibrary: NCCL). Without a transport exchanges go through the hosts' memory.

  A device that polls waits for kernels that other ranks enqueue later. So between poiseLinkUse(ctx, true) and
  the end of that work no rank allocates memory of a device, as that may wait for devices that poll.
*/
#ifndef POISE_LINK_H
#define POISE_LINK_H

#include "link_kernels.h"
#include "sys/device/device.h"
#include "sys/device/link_device.h"
#include "sys/ranks/comm.h"

typedef struct Link Link;

typedef struct Shared { /* memory that the devices of all ranks reach: a piece for each */
  size_t bytes;         /* of mine */
  void *mine;
  void **all;                /* by rank; NULL: it has none */
  struct SharedBlock *block; /* of the pieces; NULL: no rank has one */
} Shared;

typedef enum LinkWish { LINK_AUTO, LINK_PEER, LINK_LIBRARY, LINK_HOST } LinkWish; /* -comm_exchange */

/* Where all ranks are, on a device with a LinkDevice; the caller frees *all. Collective; agrees. */
PoiseErr poiseLinkPlaces(PoiseContext ctx, LinkPlace **all);
/* A communicator is of threads or of processes. */
bool poiseLinkAreProcesses(PoiseContext ctx, const LinkPlace *all);
/* Try to make a transport: ctx->link is NULL where there is to be none, or can be none. LINK_PEER,
   LINK_LIBRARY: it is an error if this one cannot be made. Collective; agrees. */
PoiseErr poiseLinkOpen(PoiseContext ctx, LinkWish wish);
/* Seconds that a device waits for another one, by a library the host for its device (-comm_patience). Does
   nothing without a transport. */
void poiseLinkSetPatience(PoiseContext ctx, double seconds);
/* May phases exchange by themselves (-comm_fuse)? They do by peer access, between ranks that share no device
   but a mock. All ranks alike. */
void poiseLinkSetFused(PoiseContext ctx, bool on);
/* Threads have met after their latest all-to-all. */
void poiseLinkClose(PoiseContext ctx);
/* How ranks exchange, in words, and why not otherwise where that was tried. Lent until the transport ends. */
const char *poiseLinkWords(PoiseContext ctx);

/* Are exchanges made by the transport? Returns the old setting. All ranks, at the same place. */
bool poiseLinkUse(PoiseContext ctx, bool on);
bool poiseLinkIsUsed(PoiseContext ctx);
/* Changes when what was captured with exchanges in it must be captured anew. */
int64_t poiseLinkJoined(PoiseContext ctx);
bool poiseLinkIsLibrary(const Link *link); /* else by peer access */
bool poiseLinkFuses(PoiseContext ctx); /* do phases exchange by themselves, where the transport is used? */
/* Changes when what phases have sent so far is no longer what a product may find. */
int64_t poiseLinkSession(const Link *link);
int64_t poiseLinkNumber(Link *link); /* 1, 2, ... */
void poiseLinkEndSession(PoiseContext ctx);
/* This rank is going to wait for others, which may poll for what it has enqueued: let that run. */
void poiseLinkRun(PoiseContext ctx);
/* POISE_ERR_COMM if a rank has given up waiting since the context was made. Waits. */
PoiseErr poiseLinkCheck(PoiseContext ctx);

/* Sequence numbers of exchanges, in memory of the device. A solve that failed may leave them different on the
   ranks. Zero-initialise it. */
typedef struct LinkSequences {
  uint64_t *first;
  int64_t n;
  struct LinkSequences *next;
} LinkSequences;
void poiseLinkAddSequences(Link *link, LinkSequences *e, uint64_t *first, int64_t n);
void poiseLinkRemoveSequences(Link *link, LinkSequences *e);
/* All exchanges begin anew, after a solve that has failed. Waits. Collective; agrees. */
PoiseErr poiseLinkReset(PoiseContext ctx);

/* Zeroed; bytes may differ between ranks. mine: this rank's error so far. Collective; agrees. */
PoiseErr poiseLinkShare(Link *link, PoiseErr mine, size_t bytes, const char *what, Shared *shared);
/* This rank's device uses it no more, nor what the others have of it. It is used again, or freed, when that
   holds on all ranks, and they meet. Waits for the device. */
void poiseLinkUnshare(Link *link, Shared *shared);
/* Memory of this rank's device that a transport may use: zeroed, in no pool. May wait. */
PoiseErr poiseLinkAlloc(Link *link, size_t bytes, const char *what, void **p);
void poiseLinkFree(Link *link, size_t bytes, void *p);

/* dst = sums over ranks, enqueued. Of a only n, the partials and dst are given. */
PoiseErr poiseLinkSum(Link *link, LinkSumArgs a);
/* For a phase that adds a sum over ranks by itself. All ranks, at the same place as a sum. */
LinkRanks poiseLinkCountSum(Link *link);
/* Entries for neighbours, by a library: enqueued, send and recv from poiseLinkAlloc. All ranks. What is
   enqueued after Arrive sees what came. */
PoiseErr poiseLinkExchange(Link *link, const Exchange *ex, const double *send, double *recv);
PoiseErr poiseLinkArrive(Link *link);
/* Do arrays go from device to device by poiseLinkAlltoall? */
bool poiseLinkHasAlltoall(PoiseContext ctx);
/* As poiseAlltoall, from device to device. */
PoiseErr poiseLinkAlltoall(Link *link, PoiseErr mine, const Exchange *ex, const void *from, void *to);
/* Allgather from device to device. data: an array on the device of which each rank r has items start[r] to
   start[r + 1], of `width` bytes. All get all of it. mine: this rank's error so far, which is everybody's as
   in an all-to-all. Collective; the caller agrees. */
PoiseErr poiseLinkAllgather(Link *link, PoiseErr mine, const int64_t *start, size_t width, char *data);
/* Receive buffers of the neighbours that an exchange fills; zero-initialise it. */
typedef struct LinkSent {
  int64_t sums; /* 1 + the sums that were enqueued before they were filled; 0: they never were */
} LinkSent;
/* Drain receive buffers, which are filled after this: all ranks have read what they held. They have when a
   sum was enqueued since, as each joins it after its reading. If none was, this enqueues an empty sum. */
PoiseErr poiseLinkDrain(Link *link, LinkSent *sent);
/* The body of a graph is captured, which may follow itself. If receive buffers are filled before its first
   sum and after its last one, End enqueues an empty sum. */
void poiseLinkBeginBody(Link *link);
PoiseErr poiseLinkEndBody(Link *link);
LinkPatience poiseLinkPatience(const Link *link);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo by the link: each rank's device stores entries into the ghosts of its neighbours.

  There is one set of ghosts. So an exchange must not begin before all neighbours have read those of the one
  before (poiseLinkSettle).
*/
#include "vec.h"

typedef struct HaloLink {
  Shared room; /* double ghost [nghost]; uint64_t came [size] */
  double *ghost;
  uint64_t *came;
  /* LinkTarget [size]; int32 [size]; int64 [size + 1]; epoch and arrived. Of the size, as many are used as
     there are neighbours, but bytes are known before these are */
  Buffer target, from, start, state;
} HaloLink;

enum { EPOCH, ARRIVED, STATE };

typedef struct Where {  /* what a rank has for a sender in its room, in bytes from its start */
  int64_t ghost, epoch; /* epoch = 0: nothing */
} Where;

static int64_t RoomBytes(const Device *dev, int64_t nghost)
{
  return 8 * nghost + (int64_t)sizeof(uint64_t) * PoiseSize(dev->ctx);
}

static PoiseErr Tables(Halo *h)
{
  HaloLink *l = h->link;
  const Exchange *ex = &h->ex;
  Device *dev = h->ctx->device;
  size_t size = (size_t)PoiseSize(h->ctx);
  int32_t *from;
  int64_t *start;
  TRY(poiseBufferCreate(dev, size * sizeof(LinkTarget), "halo targets", &l->target));
  TRY(poiseBufferCreate(dev, size * sizeof(int32_t), "halo senders", &l->from));
  TRY(poiseBufferCreate(dev, (size + 1) * sizeof(int64_t), "halo senders", &l->start));
  TRY(poiseBufferCreate(dev, STATE * sizeof(uint64_t), "halo epochs", &l->state));
  TRY(poiseBufferUpdate(&l->from, HOST, &from));
  TRY(poiseBufferUpdate(&l->start, HOST, &start));
  for (int k = 0; k < ex->nrecv; k++) from[k] = ex->recv_rank[k];
  for (int k = 0; k <= ex->nrecv; k++) start[k] = ex->recv_start[k];
  return POISE_OK;
}

PoiseErr poiseHaloReady(Halo *h)
{
  HaloLink *l = h->link;
  void *there;
  if (!l) return POISE_OK;
  TRY(poiseBufferRead(&h->index, DEVICE, &there));
  TRY(poiseBufferRead(&l->target, DEVICE, &there));
  TRY(poiseBufferRead(&l->from, DEVICE, &there));
  TRY(poiseBufferRead(&l->start, DEVICE, &there));
  return poiseBufferUpdate(&l->state, DEVICE, &there);
}

void poiseHaloLinkPredict(const Device *dev, int64_t nghost, PoisePrediction *p)
{
  int64_t size = PoiseSize(dev->ctx);
  if (!dev->ctx->link) return;
  poisePredict(dev, (int64_t)sizeof(LinkTarget) * size, ON_BOTH, p);
  poisePredict(dev, 4 * size, ON_BOTH, p);
  poisePredict(dev, 8 * (size + 1), ON_BOTH, p);
  poisePredict(dev, STATE * (int64_t)sizeof(uint64_t) + RoomBytes(dev, nghost), ON_DEVICE, p);
}

/* where: of all ranks, for each sender. */
static PoiseErr Targets(Halo *h, const Where *where)
{
  HaloLink *l = h->link;
  int size = PoiseSize(h->ctx), rank = PoiseRank(h->ctx);
  LinkTarget *target;
  TRY(poiseBufferUpdate(&l->target, HOST, &target));
  for (int k = 0; k < h->ex.nsend; k++) {
    int to = h->ex.send_rank[k];
    const Where *w = &where[(int64_t)to * size + rank];
    char *room = l->room.all[to];
    target[k] = (LinkTarget){h->ex.send_start[k], (double *)(void *)(room + w->ghost),
                             (uint64_t *)(void *)(room + w->epoch)};
  }
  return POISE_OK;
}

static PoiseErr Meet(Halo *h, Where **where)
{
  PoiseContext ctx = h->ctx;
  int size = PoiseSize(ctx);
  int64_t epochs = h->nghost * (int64_t)sizeof(double);
  Where *mine = NULL;
  PoiseErr e = poiseAllocArray(ctx, (int64_t)size * size, sizeof **where, "places of ghosts", where);
  if (!e) e = poiseAllocArray(ctx, size, sizeof *mine, "places of ghosts", &mine);
  e = PoiseAgree(ctx, e);
  for (int k = 0; k < h->ex.nrecv && !e; k++)
    mine[h->ex.recv_rank[k]] = (Where){h->ex.recv_start[k] * (int64_t)sizeof(double),
                                       epochs + k * (int64_t)sizeof(uint64_t)};
  if (!e) e = ctx->comm->ops->allgather(ctx->comm, mine, (size_t)size * sizeof *mine, *where);
  poiseFree(ctx, &mine);
  return e;
}

PoiseErr poiseHaloLinkCreate(Halo *h)
{
  PoiseContext ctx = h->ctx;
  Where *where = NULL;
  size_t bytes = (size_t)RoomBytes(ctx->device, h->nghost);
  PoiseErr e = poiseAlloc(ctx, sizeof *h->link, "link of a halo", &h->link);
  if (!e) e = Tables(h);
  TRY(PoiseAgree(ctx, e));
  HaloLink *l = h->link;
  TRY(poiseLinkShare(ctx->link, bytes, "ghosts of a link", &l->room));
  l->ghost = l->room.mine;
  l->came = (uint64_t *)(void *)((char *)l->room.mine + h->nghost * (int64_t)sizeof(double));
  e = Meet(h, &where);
  if (!e) e = PoiseAgree(ctx, Targets(h, where));
  poiseFree(ctx, &where);
  return e;
}

void poiseHaloLinkDestroy(Halo *h)
{
  HaloLink *l = h->link;
  if (!l) return;
  if (h->ctx->link) poiseLinkUnshare(h->ctx->link, &l->room);
  poiseBufferDestroy(&l->target);
  poiseBufferDestroy(&l->from);
  poiseBufferDestroy(&l->start);
  poiseBufferDestroy(&l->state);
  poiseFree(h->ctx, &h->link);
}

void poiseHaloLinkBytes(const Halo *h, PoiseBytes *sum)
{
  const HaloLink *l = h->link;
  if (!l) return;
  poiseBufferAdd(&l->target, sum);
  poiseBufferAdd(&l->from, sum);
  poiseBufferAdd(&l->start, sum);
  poiseBufferAdd(&l->state, sum);
  sum->device += RoomBytes(h->ctx->device, h->nghost);
}

/* A rank that has failed sends whatever there is, as its neighbours wait for it. */
PoiseErr poiseHaloPush(Halo *h, PoiseErr mine, const double *x)
{
  HaloLink *l = h->link;
  Device *dev = h->ctx->device;
  uint64_t *state;
  const int32_t *index;
  LinkPushArgs a = {.n = mine ? 0 : h->nsend, .x = x, .ntarget = h->ex.nsend};
  h->pending = mine;
  TRY(poiseBufferUpdate(&l->state, DEVICE, &state));
  TRY(poiseBufferRead(&l->target, DEVICE, &a.target));
  TRY(poiseBufferRead(&h->index, DEVICE, &index));
  TRY(poiseLinkSettle(h->ctx->link));
  poiseLinkSent(h->ctx->link);
  a.index = index, a.epoch = &state[EPOCH], a.arrived = &state[ARRIVED];
  return LAUNCH(dev, link_push, &a);
}

PoiseErr poiseHaloWait(Halo *h, const double **ghost)
{
  HaloLink *l = h->link;
  uint64_t *state;
  LinkWaitArgs a = {.nfrom = h->ex.nrecv,
                    .came = l->came,
                    .ghost = l->ghost,
                    .patience = poiseLinkPatience(h->ctx->link)};
  TRY(poiseBufferUpdate(&l->state, DEVICE, &state));
  TRY(poiseBufferRead(&l->from, DEVICE, &a.from));
  TRY(poiseBufferRead(&l->start, DEVICE, &a.start));
  a.epoch = &state[EPOCH];
  TRY(LAUNCH(h->ctx->device, link_wait, &a));
  *ghost = l->ghost;
  return h->pending;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo by the link: each rank's device stores entries into the ghosts of its neighbours.

  There is one set of ghosts. So an exchange must not begin before all neighbours have read those of the one
  before (poiseLinkSettle).

  A rank has a room in memory that the others reach: its ghosts, the epochs of those who send them, and tables
  of its own. These have a place for every rank, so that bytes are known before the neighbours are. A rank
  without neighbours has no room.
*/
#include "vec.h"

enum { EPOCH, ARRIVED, STATE };

typedef struct HaloLink {
  Shared room;
  double *ghost;      /* [nghost] */
  uint64_t *came;     /* [ex.nrecv]: set by the senders */
  uint64_t *state;    /* [STATE] */
  int64_t *start;     /* [ex.nrecv + 1]: offsets of the senders' ghosts */
  LinkTarget *target; /* [ex.nsend] */
  int32_t *from;      /* [ex.nrecv]: the senders */
  LinkEpochs epochs;  /* came and state, one behind the other */
} HaloLink;

typedef struct Where {  /* what a rank has for a sender in its room, in bytes from its start */
  int64_t ghost, epoch; /* epoch = 0: nothing */
} Where;

static int64_t RoomBytes(const Device *dev, int64_t nghost, int64_t nsend)
{
  int64_t size = PoiseSize(dev->ctx), tables = 8 * (size + STATE + size + 1);
  return nghost + nsend ? 8 * nghost + tables + size * (int64_t)(sizeof(LinkTarget) + sizeof(int64_t)) : 0;
}

/* Where things are in the room. */
static void Furnish(Halo *h)
{
  HaloLink *l = h->link;
  int size = PoiseSize(h->ctx);
  l->ghost = l->room.mine;
  l->came = (uint64_t *)(void *)(l->ghost + h->nghost);
  l->state = l->came + size;
  l->start = (int64_t *)(void *)(l->state + STATE);
  l->target = (LinkTarget *)(void *)(l->start + size + 1);
  l->from = (int32_t *)(void *)(l->target + size);
  poiseLinkAddEpochs(h->ctx->link, &l->epochs, l->came, size + STATE);
}

/* where: of all ranks, for each sender. */
static PoiseErr Upload(Halo *h, const Where *where)
{
  PoiseContext ctx = h->ctx;
  HaloLink *l = h->link;
  const Exchange *ex = &h->ex;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  LinkTarget *target = NULL;
  int32_t *from = ex->recv_rank; /* int, as it is on all machines with a device */
  _Static_assert(sizeof(int) == sizeof(int32_t), "ranks are int32 on a device");
  TRY(poiseAllocArray(ctx, ex->nsend, sizeof *target, "halo targets", &target));
  for (int k = 0; k < ex->nsend; k++) {
    int to = ex->send_rank[k];
    const Where *w = &where[(int64_t)to * size + rank];
    char *room = l->room.all[to];
    target[k] = (LinkTarget){ex->send_start[k], (double *)(void *)(room + w->ghost),
                             (uint64_t *)(void *)(room + w->epoch)};
  }
  Device *dev = ctx->device;
  size_t nrecv = (size_t)ex->nrecv;
  PoiseErr e = poiseDeviceCopy(dev, l->target, target, (size_t)ex->nsend * sizeof *target, COPY_TO_DEVICE);
  if (!e) e = poiseDeviceCopy(dev, l->from, from, nrecv * sizeof *from, COPY_TO_DEVICE);
  if (!e) e = poiseDeviceCopy(dev, l->start, ex->recv_start, (nrecv + 1) * sizeof *l->start, COPY_TO_DEVICE);
  if (!e) e = poiseDeviceSync(dev);
  poiseFree(ctx, &target);
  return e;
}

/* *where = what all ranks have for each sender. Collective; agrees. */
static PoiseErr Meet(Halo *h, Where **where)
{
  PoiseContext ctx = h->ctx;
  const HaloLink *l = h->link;
  int size = PoiseSize(ctx);
  Where *mine = NULL;
  PoiseErr e = poiseAllocArray(ctx, (int64_t)size * size, sizeof **where, "places of ghosts", where);
  if (!e) e = poiseAllocArray(ctx, size, sizeof *mine, "places of ghosts", &mine);
  e = PoiseAgree(ctx, e);
  for (int k = 0; k < h->ex.nrecv && !e; k++)
    mine[h->ex.recv_rank[k]] = (Where){(char *)(l->ghost + h->ex.recv_start[k]) - (char *)l->room.mine,
                                       (char *)(l->came + k) - (char *)l->room.mine};
  if (!e) e = ctx->comm->ops->allgather(ctx->comm, mine, (size_t)size * sizeof *mine, *where);
  poiseFree(ctx, &mine);
  return e;
}

PoiseErr poiseHaloLinkCreate(Halo *h)
{
  PoiseContext ctx = h->ctx;
  Where *where = NULL;
  size_t bytes = (size_t)RoomBytes(ctx->device, h->nghost, h->nsend);
  TRY(PoiseAgree(ctx, poiseAlloc(ctx, sizeof *h->link, "link of a halo", &h->link)));
  TRY(poiseLinkShare(ctx->link, bytes, "room of a halo", &h->link->room));
  if (h->link->room.mine) Furnish(h);
  PoiseErr e = Meet(h, &where);
  if (!e) e = PoiseAgree(ctx, h->link->room.mine ? Upload(h, where) : POISE_OK);
  poiseFree(ctx, &where);
  return e;
}

void poiseHaloLinkDestroy(Halo *h)
{
  if (!h->link) return;
  poiseLinkRemoveEpochs(h->ctx->link, &h->link->epochs);
  poiseLinkUnshare(h->ctx->link, &h->link->room);
  poiseFree(h->ctx, &h->link);
}

int64_t poiseHaloLinkBytes(const Device *dev, int64_t nghost, int64_t nsend)
{
  return dev->ctx->link ? RoomBytes(dev, nghost, nsend) : 0;
}

/* A rank that has failed sends whatever there is, as its neighbours wait for it. */
PoiseErr poiseHaloPush(Halo *h, PoiseErr mine, const double *x)
{
  HaloLink *l = h->link;
  const int32_t *index;
  LinkPushArgs a = {.n = mine ? 0 : h->nsend, .x = x, .ntarget = h->ex.nsend, .target = l->target};
  h->pending = mine;
  TRY(poiseLinkSettle(h->ctx->link));
  poiseLinkSent(h->ctx->link);
  if (!l->room.mine) return POISE_OK;
  TRY(poiseBufferRead(&h->index, DEVICE, &index));
  a.index = index, a.epoch = &l->state[EPOCH], a.arrived = &l->state[ARRIVED];
  return LAUNCH(h->ctx->device, link_push, &a);
}

PoiseErr poiseHaloWait(Halo *h, const double **ghost)
{
  HaloLink *l = h->link;
  LinkWaitArgs a = {.nfrom = h->ex.nrecv,
                    .from = l->from,
                    .start = l->start,
                    .came = l->came,
                    .ghost = l->ghost,
                    .patience = poiseLinkPatience(h->ctx->link)};
  *ghost = l->ghost;
  if (!l->room.mine) return h->pending;
  a.epoch = &l->state[EPOCH];
  TRY(LAUNCH(h->ctx->device, link_wait, &a));
  return h->pending;
}

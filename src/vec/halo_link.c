/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo by peer access: each rank's device stores entries into memory of its neighbours' devices, and
  behind them the sequence number of the exchange (here: epoch), which the neighbour polls.
  docs/design/peer.md draws it.

  There are two directions (here: ways): to the ghosts of the neighbours, and back from ghosts to their
  owners, who add them. Each has one receive buffer. So before an exchange all neighbours must have read what
  the one before brought: that one is drained (poiseLinkSettle). In fp32 the same buffer holds the
  entries, one after the other from its start.

  A rank's receive buffers stand in a room, memory that the others reach. It also has the sequence numbers of
  senders, and tables of its own. These have an item for every rank, so that bytes are known before the
  neighbours are. A rank without neighbours has no room.
*/
#include "vec.h"
#include "vec_kernels.h"

enum { EPOCH, SENT, ARRIVED, STATE };
enum { OUT, BACK, WAYS };

typedef struct Way {
  double *in;      /* entries that come, by sender */
  uint64_t *came;  /* [nrecv]: set by the senders */
  uint64_t *state; /* [STATE] */
  /* tables, one behind the other */
  int64_t *start;     /* [nrecv + 1]: offsets of the senders' entries */
  LinkTarget *target; /* [nsend] */
  int32_t *from;      /* [nrecv]: the senders */
  void *here;         /* the tables on the host */
  LinkTarget *there;  /* targets there */
  LinkEpochs epochs;  /* came and state, one behind the other */
  LinkSent sent;
} Way;

typedef struct HaloLink {
  int64_t number; /* of all halos of the link, from 1 on */
  Shared room;
  Way way[WAYS];
} HaloLink;

typedef struct Where {       /* what a rank has for a sender in its room, in bytes from its start */
  int64_t in, in_f32, epoch; /* epoch = 0: nothing */
} Where;

/* of start, target, from */
static int64_t TableBytes(int64_t nsend, int64_t nrecv)
{
  return 8 * (nrecv + 1) + nsend * (int64_t)sizeof(LinkTarget) + nrecv * (int64_t)sizeof(int32_t);
}

/* of all that a way has beside entries; of all ranks, as bytes are predicted before neighbours are known */
static int64_t WayBytes(int64_t size)
{
  return 8 * (size + STATE) + (TableBytes(size, size) + 7) / 8 * 8;
}

static int64_t RoomBytes(const Device *dev, int64_t nghost, int64_t nsend)
{
  return nghost + nsend ? 8 * (nghost + nsend) + WAYS * WayBytes(PoiseSize(dev->ctx)) : 0;
}

static const Exchange *ExchangeOf(const Halo *h, int way)
{
  return way == OUT ? &h->ex : &h->back;
}

/* Where things are in the room. */
static void Furnish(Halo *h)
{
  HaloLink *l = h->link;
  int size = PoiseSize(h->ctx);
  double *in = l->room.mine, *tables = in + h->nghost + h->nsend;
  for (int k = 0; k < WAYS; k++) {
    Way *w = &l->way[k];
    w->in = in + (k == OUT ? 0 : h->nghost);
    w->came = (uint64_t *)(void *)((char *)tables + k * WayBytes(size));
    w->state = w->came + size;
    w->start = (int64_t *)(void *)(w->state + STATE);
    w->target = (LinkTarget *)(void *)(w->start + ExchangeOf(h, k)->nrecv + 1);
    w->from = (int32_t *)(void *)(w->target + ExchangeOf(h, k)->nsend);
    poiseLinkAddEpochs(h->ctx->link, &w->epochs, w->came, size + STATE);
  }
}

/* The tables of the host stay, so that nobody waits for the copy. where: of all ranks, for each sender. */
static PoiseErr Upload(Halo *h, int way, const Where *where)
{
  PoiseContext ctx = h->ctx;
  Way *w = &h->link->way[way];
  const Exchange *ex = ExchangeOf(h, way);
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  size_t bytes = (size_t)TableBytes(ex->nsend, ex->nrecv);
  _Static_assert(sizeof(int) == sizeof(int32_t), "ranks are int32 on a device");
  TRY(poiseAlloc(ctx, bytes, "halo targets", &w->here));
  int64_t *start = w->here;
  w->there = (LinkTarget *)(void *)(start + ex->nrecv + 1);
  for (int k = 0; k < ex->nsend; k++) {
    int to = ex->send_rank[k];
    const Where *there = &where[((int64_t)to * WAYS + way) * size + rank];
    char *room = h->link->room.all[to];
    w->there[k] = (LinkTarget){.start = ex->send_start[k],
                               .in = (double *)(void *)(room + there->in),
                               .in_f32 = (float *)(void *)(room + there->in_f32),
                               .epoch = (uint64_t *)(void *)(room + there->epoch)};
  }
  memcpy(start, ex->recv_start, (size_t)(ex->nrecv + 1) * sizeof *start);
  if (ex->nrecv) memcpy(w->there + ex->nsend, ex->recv_rank, (size_t)ex->nrecv * sizeof *ex->recv_rank);
  return poiseDeviceCopy(ctx->device, w->start, start, bytes, COPY_TO_DEVICE);
}

/* Where entries in fp32 come. */
static float *Single(const Way *w)
{
  return (float *)(void *)w->in;
}

/* What this rank has for each sender, way by way. */
static void List(const Halo *h, Where *mine)
{
  const char *room = h->link->room.mine;
  int size = PoiseSize(h->ctx);
  for (int way = 0; way < WAYS; way++) {
    const Exchange *ex = ExchangeOf(h, way);
    const Way *w = &h->link->way[way];
    for (int k = 0; k < ex->nrecv; k++)
      mine[way * size + ex->recv_rank[k]] = (Where){.in = (char *)(w->in + ex->recv_start[k]) - room,
                                                    .in_f32 = (char *)(Single(w) + ex->recv_start[k]) - room,
                                                    .epoch = (char *)(w->came + k) - room};
  }
}

static PoiseErr Connect(Halo *h)
{
  PoiseContext ctx = h->ctx;
  int64_t count = (int64_t)WAYS * PoiseSize(ctx);
  Where *mine = NULL, *all = NULL;
  PoiseErr e = poiseAllocArray(ctx, count, sizeof *mine, "places of entries", &mine);
  if (!e) e = poiseAllocArray(ctx, count * PoiseSize(ctx), sizeof *all, "places of entries", &all);
  if (!e) List(h, mine);
  e = poiseAgreeGather(ctx, e, mine, (size_t)count * sizeof *mine, all);
  for (int way = 0; way < WAYS && !e && h->link->room.mine; way++) e = Upload(h, way, all);
  poiseFree(ctx, &mine);
  poiseFree(ctx, &all);
  return PoiseAgree(ctx, e);
}

PoiseErr poiseHaloLinkCreate(Halo *h)
{
  PoiseContext ctx = h->ctx;
  size_t bytes = (size_t)RoomBytes(ctx->device, h->nghost, h->nsend);
  Shared room;
  PoiseErr e = poiseAlloc(ctx, sizeof *h->link, "link of a halo", &h->link);
  TRY(poiseLinkShare(ctx->link, e, bytes, "room of a halo", &room));
  h->link->number = poiseLinkNumber(ctx->link);
  h->link->room = room;
  if (h->link->room.mine) Furnish(h);
  return Connect(h);
}

void poiseHaloLinkDestroy(Halo *h)
{
  if (!h->link) return;
  for (int k = 0; k < WAYS; k++) {
    poiseLinkRemoveEpochs(h->ctx->link, &h->link->way[k].epochs);
    poiseFree(h->ctx, &h->link->way[k].here);
  }
  poiseLinkUnshare(h->ctx->link, &h->link->room);
  poiseFree(h->ctx, &h->link);
}

int64_t poiseHaloLinkBytes(const Device *dev, int64_t nghost, int64_t nsend)
{
  const Link *link = dev->ctx->link;
  if (!link) return 0;
  if (poiseLinkIsLibrary(link)) return 8 * (nghost + nsend);
  return RoomBytes(dev, nghost, nsend);
}

/* The first entry that goes to a rank above this one. */
static int64_t Begin(const Exchange *ex, int rank)
{
  int k = 0;
  while (k < ex->nsend && ex->send_rank[k] < rank) k++;
  return k < ex->nsend ? ex->send_start[k] : 0;
}

/* Store n entries of x into the places of the neighbours. index: which, NULL: all. */
static LinkPushArgs PushArgs(const Halo *h, int way, int64_t n, const int32_t *index, HaloEntries x)
{
  const Way *w = &h->link->way[way];
  return (LinkPushArgs){.n = n,
                        .begin = Begin(ExchangeOf(h, way), PoiseRank(h->ctx)),
                        .index = index,
                        .x = x.f64,
                        .x_f32 = x.f32,
                        .ntarget = ExchangeOf(h, way)->nsend,
                        .target = w->target,
                        .sent = &w->state[SENT],
                        .arrived = &w->state[ARRIVED],
                        .late = poiseLinkPatience(h->ctx->link).late};
}

static LinkWaitArgs WaitArgs(const Halo *h, int way, bool single)
{
  const Way *w = &h->link->way[way];
  return (LinkWaitArgs){.nfrom = ExchangeOf(h, way)->nrecv,
                        .from = w->from,
                        .start = w->start,
                        .came = w->came,
                        .in = w->in,
                        .in_f32 = single ? Single(w) : NULL,
                        .epoch = &w->state[EPOCH],
                        .patience = poiseLinkPatience(h->ctx->link)};
}

static PoiseErr Push(Halo *h, int way, int64_t n, const int32_t *index, HaloEntries x)
{
  const LinkPushArgs a = PushArgs(h, way, n, index, x);
  return LAUNCH(h->ctx->device, link_push, &a);
}

static PoiseErr Wait(Halo *h, int way, bool single)
{
  const LinkWaitArgs a = WaitArgs(h, way, single);
  return LAUNCH(h->ctx->device, link_wait, &a);
}

bool poiseHaloWasSent(const Halo *h)
{
  return h && h->sent && h->ctx->link && h->session == poiseLinkSession(h->ctx->link);
}

/* A rank that has failed sends whatever there is, as its neighbours wait for it. */
PoiseErr poiseHaloPush(Halo *h, PoiseErr mine, HaloEntries x)
{
  const int32_t *index;
  h->pending = mine;
  h->there = !h->single && poiseHaloWasSent(h) && (mine || h->sent == x.f64);
  h->sent = NULL;
  if (h->there) return POISE_OK;
  TRY(poiseLinkSettle(h->ctx->link, &h->link->way[OUT].sent));
  if (!h->link->room.mine) return POISE_OK;
  TRY(poiseBufferRead(&h->index, DEVICE, &index));
  return Push(h, OUT, mine ? 0 : h->nsend, index, x);
}

PoiseErr poiseHaloWait(Halo *h, const void **ghost)
{
  *ghost = h->link->way[OUT].in;
  if (h->there || !h->link->room.mine) return h->pending;
  TRY(Wait(h, OUT, h->single));
  return h->pending;
}

PoiseErr poiseHaloPushBack(Halo *h, PoiseErr mine, HaloEntries ghosts)
{
  h->pending = mine;
  TRY(poiseLinkSettle(h->ctx->link, &h->link->way[BACK].sent));
  return h->link->room.mine ? Push(h, BACK, mine ? 0 : h->nghost, NULL, ghosts) : POISE_OK;
}

PoiseErr poiseHaloWaitBack(Halo *h, const void **in)
{
  *in = h->link->way[BACK].in;
  if (h->link->room.mine) TRY(Wait(h, BACK, h->single));
  return h->pending;
}

/* ---- by phases themselves -------------------------------------------------------------------- */

/* In the table: entries, the order of row blocks, and where the entries of those with any begin. */
int64_t poiseHaloSendsBytes(int64_t nsend, int64_t n)
{
  int64_t nblock = POISE_NBLOCKS(n);
  return nsend * (int64_t)sizeof(LinkEntry) + (2 * nblock + 1) * (int64_t)sizeof(int32_t);
}

/* Blocks with entries first. Returns their number. first[k] = the entries before, count: of each. */
static int64_t OrderBlocks(const int32_t *count, int64_t nblock, int32_t *order, int32_t *first)
{
  int64_t nsending = 0, rest;
  for (int64_t b = 0; b < nblock; b++) nsending += count[b] > 0;
  rest = nsending, nsending = 0;
  first[0] = 0;
  for (int64_t b = 0; b < nblock; b++) {
    order[count[b] ? nsending : rest] = (int32_t)b;
    if (count[b])
      first[nsending + 1] = first[nsending] + count[b], nsending++;
    else
      rest++;
  }
  return nsending;
}

/* at: places of the blocks' next entries */
static void ListEntries(const Halo *h, const int32_t *index, int32_t *at, LinkEntry *entry)
{
  const Exchange *ex = &h->ex;
  for (int t = 0; t < ex->nsend; t++)
    for (int64_t i = ex->send_start[t]; i < ex->send_start[t + 1]; i++)
      entry[at[index[i] / POISE_BLOCK]++] =
          (LinkEntry){index[i], h->link->way[OUT].there[t].in + (i - ex->send_start[t])};
}

static PoiseErr FillTable(Halo *h, int64_t n, int32_t *count, HaloSends *s)
{
  const int32_t *index;
  LinkEntry *entry;
  int64_t nblock = POISE_NBLOCKS(n);
  TRY(poiseBufferRead(&h->index, HOST, &index));
  TRY(poiseBufferWrite(&s->table, HOST, &entry));
  int32_t *order = (int32_t *)(void *)(entry + h->nsend), *first = order + nblock;
  for (int64_t i = 0; i < h->nsend; i++) count[index[i] / POISE_BLOCK]++;
  s->send.nsending = OrderBlocks(count, nblock, order, first);
  for (int64_t k = 0; k < s->send.nsending; k++) count[order[k]] = first[k];
  ListEntries(h, index, count, entry);
  TRY(poiseBufferRead(&s->table, DEVICE, &s->send.entry));
  s->send.order = (const int32_t *)(const void *)(s->send.entry + h->nsend);
  s->send.first = s->send.order + nblock;
  return POISE_OK;
}

PoiseErr poiseHaloSendsCreate(Halo *h, int64_t n, HaloSends *s)
{
  Device *dev = h->ctx->device;
  int32_t *count = NULL;
  s->number = h->link->number;
  if (!h->link->room.mine || !n) return POISE_OK;
  TRY(poiseBufferCreate(dev, (size_t)poiseHaloSendsBytes(h->nsend, n), "entries that phases send",
                        &s->table));
  TRY(poiseAllocArray(h->ctx, POISE_NBLOCKS(n), sizeof *count, "entries of row blocks", &count));
  PoiseErr e = FillTable(h, n, count, s);
  poiseFree(h->ctx, &count);
  return e;
}

void poiseHaloSendsDestroy(HaloSends *s)
{
  poiseBufferDestroy(&s->table);
  s->number = 0;
  s->send = (LinkSend){.nsending = 0};
}

PoiseErr poiseHaloSendInside(Halo *h, const HaloSends *s, const double *x, LinkSend *send)
{
  *send = (LinkSend){.nsending = 0};
  TRY(poiseLinkSettle(h->ctx->link, &h->link->way[OUT].sent));
  h->sent = x;
  h->session = poiseLinkSession(h->ctx->link);
  if (!h->link->room.mine) return POISE_OK;
  *send = s->send;
  send->push = PushArgs(h, OUT, h->nsend, NULL, (HaloEntries){.f64 = x});
  send->wait = WaitArgs(h, OUT, false);
  return POISE_OK;
}

bool poiseHaloSendsFit(const Halo *h, const HaloSends *s)
{
  return h->link && s->number == h->link->number;
}

bool poiseHaloIsThere(const Halo *h)
{
  return h->there;
}

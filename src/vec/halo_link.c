/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo by peer access: each rank's device stores entries into memory of its neighbours' devices, and
  after them the sequence number of the exchange, which the neighbour polls. docs/design/peer.md draws it.

  There are two directions: to the ghosts of the neighbours, and back from ghosts to their owners, who add
  them. Each has one receive buffer. So before an exchange all neighbours must have read what the one before
  brought: that one is drained (poiseLinkDrain). In fp32 the same buffer holds the entries, one after the
  other from its start.

  A rank's receive buffers stand in its piece of the memory that all reach. The piece also has the sequence
  numbers of senders, and tables of its own. These have an item for every rank, so that bytes are known before
  the neighbours are. A rank without neighbours has no piece.
*/
#include "vec.h"
#include "vec_kernels.h"

enum { SEQUENCE, SENT, ARRIVED, STATE }; /* received; sent; thread blocks that have stored */
enum { OUT, BACK, DIRECTIONS };

typedef struct Direction {
  double *in;      /* entries that come, by sender */
  uint64_t *came;  /* [nrecv]: set by the senders */
  uint64_t *state; /* [STATE] */
  /* tables, one after the other */
  int64_t *start;          /* [nrecv + 1]: offsets of the senders' entries */
  LinkTarget *target;      /* [nsend] */
  int32_t *from;           /* [nrecv]: the senders */
  void *host_tables;       /* the same on the host */
  LinkTarget *host_target; /* target there */
  LinkSequences sequences; /* came and state, one after the other */
  LinkSent sent;
} Direction;

typedef struct HaloLink {
  int64_t number; /* of all halos of the transport, from 1 on */
  Shared piece;
  Direction direction[DIRECTIONS];
} HaloLink;

typedef struct Offsets { /* what a rank has for a sender */
  int64_t in, sequence;  /* bytes from the start of its piece; sequence = 0: nothing */
  int64_t first;         /* of the sender's entries among all that come */
} Offsets;

/* of start, target, from */
static int64_t TableBytes(int64_t nsend, int64_t nrecv)
{
  return 8 * (nrecv + 1) + nsend * (int64_t)sizeof(LinkTarget) + nrecv * (int64_t)sizeof(int32_t);
}

/* of all that a direction has besides entries; for all ranks, as bytes are predicted before neighbours are
   known */
static int64_t DirectionBytes(int64_t size)
{
  return 8 * (size + STATE) + (TableBytes(size, size) + 7) / 8 * 8;
}

static int64_t PieceBytes(const Device *dev, int64_t nghost, int64_t nsend)
{
  return nghost + nsend ? 8 * (nghost + nsend) + DIRECTIONS * DirectionBytes(PoiseSize(dev->ctx)) : 0;
}

/* Entries are counted without columns, so that tables hold for any number of these. */
static const Exchange *ExchangeOf(const Halo *h, int direction)
{
  const Halo *one = h->of ? h->of : h;
  return direction == OUT ? &one->ex : &one->back;
}

/* Where things are in the piece. */
static void LayOut(Halo *h)
{
  HaloLink *l = h->link;
  int size = PoiseSize(h->ctx);
  double *in = l->piece.mine, *tables = in + h->nghost + h->nsend;
  for (int k = 0; k < DIRECTIONS; k++) {
    Direction *d = &l->direction[k];
    d->in = in + (k == OUT ? 0 : h->nghost);
    d->came = (uint64_t *)(void *)((char *)tables + k * DirectionBytes(size));
    d->state = d->came + size;
    d->start = (int64_t *)(void *)(d->state + STATE);
    d->target = (LinkTarget *)(void *)(d->start + ExchangeOf(h, k)->nrecv + 1);
    d->from = (int32_t *)(void *)(d->target + ExchangeOf(h, k)->nsend);
    poiseLinkAddSequences(h->ctx->link, &d->sequences, d->came, size + STATE);
  }
}

/* The tables of the host stay, so that nobody waits for the copy. offsets: of all ranks, for each sender. */
static PoiseErr Upload(Halo *h, int direction, const Offsets *offsets)
{
  PoiseContext ctx = h->ctx;
  Direction *d = &h->link->direction[direction];
  const Exchange *ex = ExchangeOf(h, direction);
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  size_t bytes = (size_t)TableBytes(ex->nsend, ex->nrecv);
  _Static_assert(sizeof(int) == sizeof(int32_t), "ranks are int32 on a device");
  TRY(poiseAlloc(ctx, bytes, "halo targets", &d->host_tables));
  int64_t *start = d->host_tables;
  d->host_target = (LinkTarget *)(void *)(start + ex->nrecv + 1);
  for (int k = 0; k < ex->nsend; k++) {
    int to = ex->send_rank[k];
    const Offsets *there = &offsets[((int64_t)to * DIRECTIONS + direction) * size + rank];
    char *piece = h->link->piece.all[to];
    d->host_target[k] = (LinkTarget){.start = ex->send_start[k],
                                     .shift = there->first - ex->send_start[k],
                                     .in = (double *)(void *)(piece + there->in),
                                     .sequence = (uint64_t *)(void *)(piece + there->sequence)};
  }
  memcpy(start, ex->recv_start, (size_t)(ex->nrecv + 1) * sizeof *start);
  if (ex->nrecv) memcpy(d->host_target + ex->nsend, ex->recv_rank, (size_t)ex->nrecv * sizeof *ex->recv_rank);
  return poiseDeviceCopy(ctx->device, d->start, start, bytes, COPY_TO_DEVICE);
}

/* What this rank has for each sender, direction by direction. */
static void ListOffsets(const Halo *h, Offsets *mine)
{
  const char *piece = h->link->piece.mine;
  int size = PoiseSize(h->ctx);
  for (int direction = 0; direction < DIRECTIONS; direction++) {
    const Exchange *ex = ExchangeOf(h, direction);
    const Direction *d = &h->link->direction[direction];
    for (int k = 0; k < ex->nrecv; k++)
      mine[direction * size + ex->recv_rank[k]] = (Offsets){
          .in = (char *)d->in - piece, .sequence = (char *)(d->came + k) - piece, .first = ex->recv_start[k]};
  }
}

static PoiseErr Connect(Halo *h)
{
  PoiseContext ctx = h->ctx;
  int64_t count = (int64_t)DIRECTIONS * PoiseSize(ctx);
  Offsets *mine = NULL, *all = NULL;
  PoiseErr e = poiseAllocArray(ctx, count, sizeof *mine, "places of entries", &mine);
  if (!e) e = poiseAllocArray(ctx, count * PoiseSize(ctx), sizeof *all, "places of entries", &all);
  if (!e) ListOffsets(h, mine);
  e = poiseAgreeGather(ctx, e, mine, (size_t)count * sizeof *mine, all);
  for (int direction = 0; direction < DIRECTIONS && !e && h->link->piece.mine; direction++)
    e = Upload(h, direction, all);
  poiseFree(ctx, &mine);
  poiseFree(ctx, &all);
  return PoiseAgree(ctx, e);
}

PoiseErr poiseHaloLinkCreate(Halo *h)
{
  PoiseContext ctx = h->ctx;
  size_t bytes = (size_t)PieceBytes(ctx->device, h->nghost, h->nsend);
  Shared piece;
  PoiseErr e = poiseAlloc(ctx, sizeof *h->link, "link of a halo", &h->link);
  TRY(poiseLinkShare(ctx->link, e, bytes, "memory of a halo", &piece));
  h->link->number = poiseLinkNumber(ctx->link);
  h->link->piece = piece;
  if (h->link->piece.mine) LayOut(h);
  return Connect(h);
}

void poiseHaloLinkDestroy(Halo *h)
{
  if (!h->link) return;
  for (int k = 0; k < DIRECTIONS; k++) {
    poiseLinkRemoveSequences(h->ctx->link, &h->link->direction[k].sequences);
    poiseFree(h->ctx, &h->link->direction[k].host_tables);
  }
  poiseLinkUnshare(h->ctx->link, &h->link->piece);
  poiseFree(h->ctx, &h->link);
}

int64_t poiseHaloLinkBytes(const Device *dev, int64_t nghost, int64_t nsend)
{
  const Link *link = dev->ctx->link;
  if (!link) return 0;
  if (poiseLinkIsLibrary(link)) return 8 * (nghost + nsend);
  return PieceBytes(dev, nghost, nsend);
}

/* The first entry that goes to a rank above this one. */
static int64_t FirstAbove(const Exchange *ex, int rank)
{
  int k = 0;
  while (k < ex->nsend && ex->send_rank[k] < rank) k++;
  return k < ex->nsend ? ex->send_start[k] : 0;
}

/* Store n entries of x into the receive buffers of the neighbours. index: which, NULL: all. */
static LinkPushArgs PushArgs(const Halo *h, int direction, int64_t n, const int32_t *index, HaloEntries x)
{
  const Direction *d = &h->link->direction[direction];
  return (LinkPushArgs){.n = n,
                        .begin = FirstAbove(ExchangeOf(h, direction), PoiseRank(h->ctx)),
                        .index = index,
                        .x = x.f64,
                        .x_f32 = x.f32,
                        .ntarget = ExchangeOf(h, direction)->nsend,
                        .size = h->columns,
                        .target = d->target,
                        .sent = &d->state[SENT],
                        .arrived = &d->state[ARRIVED],
                        .late = poiseLinkPatience(h->ctx->link).late};
}

static LinkWaitArgs WaitArgs(const Halo *h, int direction, bool single)
{
  const Direction *d = &h->link->direction[direction];
  return (LinkWaitArgs){.nfrom = ExchangeOf(h, direction)->nrecv,
                        .size = h->columns,
                        .from = d->from,
                        .start = d->start,
                        .came = d->came,
                        .in = d->in,
                        .in_f32 = single ? (float *)(void *)d->in : NULL,
                        .sequence = &d->state[SEQUENCE],
                        .patience = poiseLinkPatience(h->ctx->link)};
}

static PoiseErr Push(Halo *h, int direction, int64_t n, const int32_t *index, HaloEntries x)
{
  const LinkPushArgs a = PushArgs(h, direction, n, index, x);
  return LAUNCH(h->ctx->device, link_push, &a);
}

static PoiseErr Wait(Halo *h, int direction, bool single)
{
  const LinkWaitArgs a = WaitArgs(h, direction, single);
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
  TRY(poiseLinkDrain(h->ctx->link, &h->link->direction[OUT].sent));
  if (!h->link->piece.mine) return POISE_OK;
  TRY(poiseHaloIndex(h, &index));
  return Push(h, OUT, mine ? 0 : h->nsend / h->columns, index, x);
}

PoiseErr poiseHaloWait(Halo *h, const void **ghost)
{
  *ghost = h->link->direction[OUT].in;
  if (h->there || !h->link->piece.mine) return h->pending;
  TRY(Wait(h, OUT, h->single));
  return h->pending;
}

PoiseErr poiseHaloPushBack(Halo *h, PoiseErr mine, HaloEntries ghosts)
{
  h->pending = mine;
  TRY(poiseLinkDrain(h->ctx->link, &h->link->direction[BACK].sent));
  return h->link->piece.mine ? Push(h, BACK, mine ? 0 : h->nghost / h->columns, NULL, ghosts) : POISE_OK;
}

PoiseErr poiseHaloWaitBack(Halo *h, const void **in)
{
  *in = h->link->direction[BACK].in;
  if (h->link->piece.mine) TRY(Wait(h, BACK, h->single));
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
  const LinkTarget *target = h->link->direction[OUT].host_target;
  for (int t = 0; t < ex->nsend; t++)
    for (int64_t i = ex->send_start[t]; i < ex->send_start[t + 1]; i++)
      entry[at[index[i] / POISE_BLOCK]++] = (LinkEntry){index[i], target[t].in + i + target[t].shift};
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
  if (!h->link->piece.mine || !n) return POISE_OK;
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
  TRY(poiseLinkDrain(h->ctx->link, &h->link->direction[OUT].sent));
  h->sent = x;
  h->session = poiseLinkSession(h->ctx->link);
  if (!h->link->piece.mine) return POISE_OK;
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

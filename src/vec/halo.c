/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo: entries of a vector that other ranks own and this rank's rows read. They travel by the transport
  of the ranks where that is used, by peer access (halo_link.c) or NCCL (halo_library.c); else through the
  hosts, here. docs/design/halo.md draws it.
*/
#include "sys/link/alltoall.h"
#include "vec.h"
#include "vec_kernels.h"

void poiseHaloDestroy(Halo **halo)
{
  Halo *h = *halo;
  if (!h) return;
  PoiseContext ctx = h->ctx;
  if (!ctx->device->ops->is_host)
    (void)ctx->device->ops->sync(ctx->device); /* a copy of ghosts from the host's buffer may still be
                                                  running */
  poiseHaloDestroy(&h->wide);
  poiseHaloLinkDestroy(h);
  poiseHaloLibraryDestroy(h);
  poiseExchangeDestroy(ctx, &h->back, false);
  poiseExchangeDestroy(ctx, &h->ex, true);
  poiseBufferDestroy(&h->index);
  poiseBufferDestroy(&h->send);
  poiseBufferDestroy(&h->ghost);
  poiseFree(ctx, halo);
}

void poiseHaloBytes(const Halo *h, PoiseBytes *sum)
{
  if (!h) return;
  poiseBufferAdd(&h->index, sum);
  poiseBufferAdd(&h->send, sum);
  poiseBufferAdd(&h->ghost, sum);
  if (h->link || h->library)
    sum->device +=
        poiseHaloLinkBytes(h->ctx->device, poiseHaloRoom(h, h->nghost), poiseHaloRoom(h, h->nsend));
  sum->host += poiseAllocated(h->ex.send) + poiseAllocated(h->ex.recv);
  poiseHaloBytes(h->wide, sum);
}

void poiseHaloPredict(const Device *dev, int64_t nghost, int64_t nsend, PoisePrediction *p)
{
  poisePredict(dev, 4 * nsend, ON_BOTH, p);
  poisePredict(dev, 8 * (nsend + nghost), ON_DEVICE, p);
  poisePredictHost(8 * (nsend + nghost), p);
  poisePredict(dev, poiseHaloLinkBytes(dev, nghost, nsend), ON_DEVICE, p);
}

typedef struct Plan {                /* how many entries this rank wants from each rank, and each rank from
                                        this one; lists in rank order */
  int64_t *want, *wanted, *gathered; /* bytes per rank */
  PoiseInt *list;                    /* global rows that others want from this rank */
  int32_t *index;                    /* where their local numbers go */
} Plan;

static void FreePlan(PoiseContext ctx, Plan *p)
{
  poiseFree(ctx, &p->want);
  poiseFree(ctx, &p->wanted);
  poiseFree(ctx, &p->gathered);
  poiseFree(ctx, &p->list);
}

/* The ghosts, which ascend, below a row. */
static int64_t CountBelow(int64_t nghost, const PoiseInt *ghost, PoiseInt row)
{
  int64_t low = 0, high = nghost;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (ghost[mid] < row)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static PoiseErr CountWants(const Layout *layout, int64_t nghost, const PoiseInt *ghost, Plan *p)
{
  PoiseContext ctx = layout->ctx;
  int size = PoiseSize(ctx);
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "halo counts", &p->want));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "halo counts", &p->wanted));
  TRY(poiseAllocArray(ctx, (int64_t)size * size, sizeof(int64_t), "halo counts", &p->gathered));
  for (int64_t r = 0, below = 0, before; r < size; r++) {
    before = below;
    below = CountBelow(nghost, ghost, layout->start[r + 1]);
    p->want[r] = (below - before) * (int64_t)sizeof(PoiseInt);
  }
  return POISE_OK;
}

PoiseErr poiseHaloAllocate(Halo *h, const int64_t *want, const int64_t *wanted)
{
  PoiseContext ctx = h->ctx;
  Exchange *ex = &h->ex;
  double *device;
  TRY(poiseExchangeSide(ctx, wanted, &ex->nsend, &ex->send_rank, &ex->send_start, &ex->send));
  TRY(poiseExchangeSide(ctx, want, &ex->nrecv, &ex->recv_rank, &ex->recv_start, &ex->recv));
  h->nsend = ex->send_start[ex->nsend];
  h->nghost = ex->recv_start[ex->nrecv];
  TRY(poiseBufferCreate(ctx->device, (size_t)h->nsend * sizeof(double), "halo send", &h->send));
  TRY(poiseBufferCreate(ctx->device, (size_t)h->nghost * sizeof(double), "halo ghosts", &h->ghost));
  TRY(poiseBufferWrite(&h->send, DEVICE, &device)); /* now, so that an exchange allocates nothing */
  TRY(poiseBufferWrite(&h->ghost, DEVICE, &device));
  h->back = (Exchange){.nsend = ex->nrecv,
                       .nrecv = ex->nsend,
                       .send_rank = ex->recv_rank,
                       .recv_rank = ex->send_rank,
                       .send_start = ex->recv_start,
                       .recv_start = ex->send_start,
                       .send = ex->recv,
                       .recv = ex->send};
  return POISE_OK;
}

/* All that is allocated, so that ranks agree on it once. */
static PoiseErr AllocateAll(Halo *h, Plan *p)
{
  TRY(poiseHaloAllocate(h, p->want, p->wanted));
  TRY(poiseAllocArray(h->ctx, h->nsend, sizeof *p->list, "halo list", &p->list));
  TRY(poiseBufferCreate(h->ctx->device, (size_t)h->nsend * sizeof(int32_t), "halo index", &h->index));
  return poiseBufferWrite(&h->index, HOST, &p->index);
}

/* Do the entries that each rank wants, ascending, lie beyond those of the rank before? */
static bool AreDisjoint(const Exchange *ex, const int32_t *index)
{
  for (int k = 1; k < ex->nsend; k++)
    if (index[ex->send_start[k]] <= index[ex->send_start[k] - 1]) return false;
  return true;
}

/* An exchange of the hosts, once. Where there is a transport few halos need one, and set it up when they do.
   Collective; agrees. */
static PoiseErr SetUp(Halo *h, Exchange *ex)
{
  Comm *comm = h->ctx->comm;
  return ex->priv ? POISE_OK : comm->ops->exchange_setup(comm, ex);
}

PoiseErr poiseHaloSetUp(Halo *h)
{
  TRY(SetUp(h, &h->ex));
  return SetUp(h, &h->back);
}

PoiseErr poiseHaloConnect(Halo *h)
{
  const Link *link = h->ctx->link;
  if (!link) return poiseHaloSetUp(h);
  return poiseLinkIsLibrary(link) ? poiseHaloLibraryCreate(h) : poiseHaloLinkCreate(h);
}

static PoiseErr Create(const Layout *layout, int64_t nghost, const PoiseInt *ghost, Halo **halo, Plan *p)
{
  PoiseContext ctx = layout->ctx;
  Comm *comm = ctx->comm;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  PoiseErr e = poiseAlloc(ctx, sizeof **halo, "halo", halo);
  if (!e) {
    (*halo)->ctx = ctx;
    (*halo)->columns = (*halo)->room = 1;
    e = CountWants(layout, nghost, ghost, p);
  }
  TRY(poiseAgreeGather(ctx, e, p->want, (size_t)size * sizeof(int64_t), p->gathered));
  for (int r = 0; r < size; r++) p->wanted[r] = p->gathered[(int64_t)r * size + rank];
  TRY(PoiseAgree(ctx, AllocateAll(*halo, p)));
  TRY(comm->ops->alltoallv(comm, ghost, p->want, p->list, p->wanted));
  for (int64_t i = 0; i < (*halo)->nsend; i++) p->index[i] = (int32_t)(p->list[i] - layout->begin);
  (*halo)->apart = AreDisjoint(&(*halo)->ex, p->index);
  return poiseHaloConnect(*halo);
}

PoiseErr poiseHaloCreate(const Layout *layout, int64_t nghost, const PoiseInt *ghost, Halo **halo)
{
  Plan p = {0};
  *halo = NULL;
  PoiseErr e = Create(layout, nghost, ghost, halo, &p);
  FreePlan(layout->ctx, &p);
  if (e) poiseHaloDestroy(halo);
  return e;
}

static size_t Width(const Halo *h)
{
  return h->single ? sizeof(float) : sizeof(double);
}

PoiseErr poiseHaloPack(Halo *h, HaloEntries x, void *send)
{
  Device *dev = h->ctx->device;
  GatherArgs a = {.n = h->nsend / h->columns, .size = h->columns, .x = x.f64, .out = send};
  GatherArgs_f32 single = {.n = a.n, .size = a.size, .x = x.f32, .out = send};
  TRY(poiseHaloIndex(h, &a.idx));
  single.idx = a.idx;
  return x.f32 ? LAUNCH(dev, gather_f32, &single) : LAUNCH(dev, gather, &a);
}

/* Pack the entries that other ranks want, on the device. */
static PoiseErr PackOnDevice(Halo *h, HaloEntries x, double **send)
{
  *send = h->ex.send;
  if (!h->ctx->device->ops->is_host) TRY(poiseBufferWrite(&h->send, DEVICE, send));
  return poiseHaloPack(h, x, *send);
}

/* The same into the exchange's host buffer. The wait at the end also ensures that the ghosts of the last
   exchange have left their host buffer. */
static PoiseErr Pack(Halo *h, HaloEntries x)
{
  Device *dev = h->ctx->device;
  double *send;
  if (!h->nsend) return poiseDeviceSync(dev);
  TRY(PackOnDevice(h, x, &send));
  if (dev->ops->is_host) return POISE_OK;
  TRY(poiseDeviceCopy(dev, h->ex.send, send, (size_t)h->nsend * Width(h), COPY_TO_HOST));
  return poiseDeviceSync(dev);
}

PoiseErr poiseHaloIndex(Halo *h, const int32_t **index)
{
  return poiseBufferRead(h->of ? &h->of->index : &h->index, DEVICE, index);
}

PoiseErr poiseHaloReady(Halo *h)
{
  const int32_t *index;
  return poiseHaloIndex(h, &index);
}

/* Exchanges of hosts have a place of 8 bytes for each entry. Those of a neighbour in fp32 take the first half
   of its places; on both sides they stand one after the other. */
static void SpreadSingles(const Exchange *ex)
{
  char *send = (char *)ex->send;
  for (int k = ex->nsend - 1; k >= 0; k--)
    memmove(send + 8 * ex->send_start[k], send + 4 * ex->send_start[k],
            4 * (size_t)(ex->send_start[k + 1] - ex->send_start[k]));
}

static void CompactSingles(const Exchange *ex)
{
  char *recv = (char *)ex->recv;
  for (int k = 0; k < ex->nrecv; k++)
    memmove(recv + 4 * ex->recv_start[k], recv + 8 * ex->recv_start[k],
            4 * (size_t)(ex->recv_start[k + 1] - ex->recv_start[k]));
}

static PoiseErr Send(Halo *h, PoiseErr mine, HaloEntries x)
{
  Comm *comm = h->ctx->comm;
  TRY(SetUp(h, &h->ex));
  h->pending = mine ? mine : Pack(h, x);
  if (h->single && !h->pending) SpreadSingles(&h->ex);
  return comm->ops->exchange_begin(comm, &h->ex);
}

static PoiseErr Receive(Halo *h, const void **ghost)
{
  Comm *comm = h->ctx->comm;
  Device *dev = h->ctx->device;
  double *device;
  *ghost = h->ex.recv;
  TRY(comm->ops->exchange_end(comm, &h->ex));
  TRY(h->pending);
  if (h->single) CompactSingles(&h->ex);
  if (dev->ops->is_host) return POISE_OK;
  TRY(poiseBufferWrite(&h->ghost, DEVICE, &device));
  *ghost = device;
  return poiseDeviceCopy(dev, device, h->ex.recv, (size_t)h->nghost * Width(h), COPY_TO_DEVICE);
}

/* Ghosts into the exchange's host buffer. After it the device has read what came back before. */
static PoiseErr FetchGhosts(Halo *h, PoiseErr mine, HaloEntries ghosts)
{
  Device *dev = h->ctx->device;
  size_t bytes = (size_t)h->nghost * Width(h);
  const void *from = h->single ? (const void *)ghosts.f32 : ghosts.f64;
  if (dev->ops->is_host) {
    if (!mine && bytes && from != h->back.send) memcpy(h->back.send, from, bytes);
    return mine;
  }
  if (!mine) mine = poiseDeviceCopy(dev, h->back.send, from, bytes, COPY_TO_HOST);
  PoiseErr waited = poiseDeviceSync(dev);
  return mine ? mine : waited;
}

static PoiseErr SendBack(Halo *h, PoiseErr mine, HaloEntries ghosts)
{
  Comm *comm = h->ctx->comm;
  TRY(SetUp(h, &h->back));
  h->pending = FetchGhosts(h, mine, ghosts);
  if (h->single && !h->pending) SpreadSingles(&h->back);
  return comm->ops->exchange_begin(comm, &h->back);
}

static PoiseErr ReceiveBack(Halo *h, const void **in)
{
  Comm *comm = h->ctx->comm;
  Device *dev = h->ctx->device;
  double *device;
  *in = h->back.recv;
  TRY(comm->ops->exchange_end(comm, &h->back));
  TRY(h->pending);
  if (h->single) CompactSingles(&h->back);
  if (dev->ops->is_host || !h->nsend) return POISE_OK;
  TRY(poiseBufferWrite(&h->send, DEVICE, &device));
  *in = device;
  return poiseDeviceCopy(dev, device, h->back.recv, (size_t)h->nsend * Width(h), COPY_TO_DEVICE);
}

/* ---- which way ------------------------------------------------------------------------------- */

typedef struct Way {
  PoiseErr (*begin)(Halo *, PoiseErr mine, HaloEntries x);
  PoiseErr (*end)(Halo *, const void **ghost);
  PoiseErr (*begin_back)(Halo *, PoiseErr mine, HaloEntries ghosts);
  PoiseErr (*end_back)(Halo *, const void **in); /* what came, by rank */
} Way;

static const Way *WayOf(const Halo *h)
{
  static const Way host = {Send, Receive, SendBack, ReceiveBack},
                   peers = {poiseHaloPush, poiseHaloWait, poiseHaloPushBack, poiseHaloWaitBack},
                   library = {poiseHaloSend, poiseHaloReceive, poiseHaloSendBack, poiseHaloReceiveBack};
  if (!poiseLinkIsUsed(h->ctx)) return &host;
  return h->library ? &library : h->link ? &peers : &host;
}

static PoiseErr Begin(Halo *h, PoiseErr mine, HaloEntries x, bool single)
{
  poiseLogBegin(h->ctx, EVENT_HaloBegin);
  h->there = false, h->single = single;
  PoiseErr e = WayOf(h)->begin(h, mine, x);
  poiseLogEnd(h->ctx, EVENT_HaloBegin, 0, 2 * (double)Width(h) * (double)h->nsend);
  return e;
}

/* Returns the ghosts, in the type of x. */
static const void *End(Halo *h, PoiseErr *e)
{
  const void *ghost = NULL;
  poiseLogBegin(h->ctx, EVENT_HaloEnd);
  *e = WayOf(h)->end(h, &ghost);
  poiseLogEnd(h->ctx, EVENT_HaloEnd, 0, (double)Width(h) * (double)h->nghost);
  return ghost;
}

PoiseErr poiseHaloBegin(Halo *h, PoiseErr mine, const double *x)
{
  return Begin(h, mine, (HaloEntries){.f64 = x}, false);
}

PoiseErr poiseHaloEnd(Halo *h, const double **ghost)
{
  PoiseErr e;
  *ghost = End(h, &e);
  return e;
}

PoiseErr poiseHaloBeginSingle(Halo *h, PoiseErr mine, const float *x)
{
  return Begin(h, mine, (HaloEntries){.f32 = x}, true);
}

PoiseErr poiseHaloEndSingle(Halo *h, const float **ghost)
{
  PoiseErr e;
  *ghost = End(h, &e);
  return e;
}

PoiseErr poiseHaloAlltoall(Halo *h, PoiseErr mine, const double *x, const double **ghost)
{
  double *send = NULL, *device = NULL;
  if (!poiseLinkHasAlltoall(h->ctx)) {
    TRY(poiseHaloBegin(h, mine, x));
    return poiseHaloEnd(h, ghost);
  }
  if (!mine) mine = PackOnDevice(h, (HaloEntries){.f64 = x}, &send);
  if (!mine) mine = poiseBufferWrite(&h->ghost, DEVICE, &device);
  *ghost = device;
  return poiseAlltoall(h->ctx, mine, &h->ex, send, device);
}

/* ---- back to the owners ---------------------------------------------------------------------- */

/* y += n numbers that came, from the one at `first` on. */
static PoiseErr AddPart(Halo *h, int64_t first, int64_t n, const void *in, double *f64, float *f32)
{
  Device *dev = h->ctx->device;
  ScatterAddArgs a = {.n = n / h->columns, .size = h->columns, .in = (const double *)in + first, .y = f64};
  ScatterAddArgs_f32 single = {.n = a.n, .size = a.size, .in = (const float *)in + first, .y = f32};
  TRY(poiseHaloIndex(h, &a.idx));
  a.idx += first / h->columns;
  single.idx = a.idx;
  return h->single ? LAUNCH(dev, scatter_add_f32, &single) : LAUNCH(dev, scatter_add, &a);
}

/* In rank order: of all ranks at once, where the order does not matter. A rank names an entry once. */
static PoiseErr AddReceived(Halo *h, const void *in, double *f64, float *f32)
{
  const int64_t *start = h->ex.send_start;
  if (!h->nsend || (!f64 && !f32)) return POISE_OK;
  if (h->apart) return AddPart(h, 0, h->nsend, in, f64, f32);
  for (int k = 0; k < h->ex.nsend; k++) TRY(AddPart(h, start[k], start[k + 1] - start[k], in, f64, f32));
  return POISE_OK;
}

static PoiseErr BeginBack(Halo *h, PoiseErr mine, HaloEntries ghosts, bool single)
{
  h->single = single;
  return WayOf(h)->begin_back(h, mine, ghosts);
}

static PoiseErr EndBack(Halo *h, double *f64, float *f32)
{
  const void *in;
  TRY(WayOf(h)->end_back(h, &in));
  return AddReceived(h, in, f64, f32);
}

PoiseErr poiseHaloReverseBegin(Halo *h, PoiseErr mine, const double *ghosts)
{
  return BeginBack(h, mine, (HaloEntries){.f64 = ghosts}, false);
}

PoiseErr poiseHaloReverseEnd(Halo *h, double *y)
{
  return EndBack(h, y, NULL);
}

PoiseErr poiseHaloReverseBeginSingle(Halo *h, PoiseErr mine, const float *ghosts)
{
  return BeginBack(h, mine, (HaloEntries){.f32 = ghosts}, true);
}

PoiseErr poiseHaloReverseEndSingle(Halo *h, float *y)
{
  return EndBack(h, NULL, y);
}

PoiseErr poiseHaloGhostWrite(Halo *h, double **ghost)
{
  *ghost = h->ex.recv;
  return h->ctx->device->ops->is_host ? POISE_OK : poiseBufferWrite(&h->ghost, DEVICE, ghost);
}

PoiseErr poiseHaloReverse(Halo *h, PoiseErr mine, double *y)
{
  const double *ghosts = h->ex.recv;
  if (!mine && !h->ctx->device->ops->is_host) mine = poiseBufferRead(&h->ghost, DEVICE, &ghosts);
  TRY(poiseHaloReverseBegin(h, mine, ghosts));
  return poiseHaloReverseEnd(h, y);
}

/* ---- on the host ----------------------------------------------------------------------------- */

static PoiseErr PackHost(Halo *h, const double *x)
{
  const int32_t *index;
  TRY(poiseBufferRead(&h->index, HOST, &index));
  TRY(poiseDeviceSync(h->ctx->device)); /* copies from and to the exchange's buffers */
  for (int64_t i = 0; i < h->nsend; i++) h->ex.send[i] = x[index[i]];
  return POISE_OK;
}

PoiseErr poiseHaloHost(Halo *h, PoiseErr mine, const double *x, const double **ghost)
{
  Comm *comm = h->ctx->comm;
  TRY(SetUp(h, &h->ex));
  if (!mine) mine = PackHost(h, x);
  *ghost = h->ex.recv;
  TRY(comm->ops->exchange_begin(comm, &h->ex));
  TRY(comm->ops->exchange_end(comm, &h->ex));
  return mine;
}

double *poiseHaloHostGhosts(Halo *h)
{
  return h->back.send;
}

PoiseErr poiseHaloHostReverse(Halo *h, PoiseErr mine, double *y)
{
  Comm *comm = h->ctx->comm;
  const int32_t *index;
  TRY(SetUp(h, &h->back));
  PoiseErr waited = poiseDeviceSync(h->ctx->device); /* copies from and to the exchange's buffers */
  if (!mine) mine = waited;
  TRY(comm->ops->exchange_begin(comm, &h->back));
  TRY(comm->ops->exchange_end(comm, &h->back));
  TRY(mine);
  TRY(poiseBufferRead(&h->index, HOST, &index));
  for (int64_t i = 0; i < h->nsend; i++) y[index[i]] += h->back.recv[i];
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo by a library, which sends and receives from memory that it may share with other devices. So entries
  that go out and ghosts stand in memory of the link's, beside the buffers of the way through the host. It
  takes fp64: entries in fp32, which stand in those buffers, are widened for it and narrowed behind it.
*/
#include "vec.h"
#include "vec_kernels.h"

typedef struct HaloLibrary {
  size_t bytes;
  double *send, *ghost; /* [nsend], [nghost] */
} HaloLibrary;

/* Once in each way, so that connections to neighbours are made now and not in a loop. */
static PoiseErr Connect(Halo *h)
{
  const HaloLibrary *l = h->library;
  Link *link = h->ctx->link;
  PoiseErr e = poiseLinkExchange(link, &h->ex, l->send, l->ghost);
  if (!e) e = poiseLinkArrive(link);
  if (!e) e = poiseLinkExchange(link, &h->back, l->ghost, l->send);
  if (!e) e = poiseLinkArrive(link);
  return e ? e : poiseDeviceSync(h->ctx->device);
}

static PoiseErr Allocate(Halo *h)
{
  TRY(poiseAlloc(h->ctx, sizeof *h->library, "library of a halo", &h->library));
  HaloLibrary *l = h->library;
  l->bytes = (size_t)(h->nsend + h->nghost) * sizeof(double);
  TRY(poiseLinkAlloc(h->ctx->link, l->bytes, "entries of a halo", (void **)&l->send));
  l->ghost = l->send + h->nsend;
  return POISE_OK;
}

PoiseErr poiseHaloLibraryCreate(Halo *h)
{
  PoiseContext ctx = h->ctx;
  TRY(PoiseAgree(ctx, Allocate(h)));
  bool used = poiseLinkUse(ctx, true);
  PoiseErr e = PoiseAgree(ctx, Connect(h));
  poiseLinkUse(ctx, used);
  return e;
}

void poiseHaloLibraryDestroy(Halo *h)
{
  HaloLibrary *l = h->library;
  if (!l) return;
  poiseLinkFree(h->ctx->link, l->bytes, l->send);
  poiseFree(h->ctx, &h->library);
}

static PoiseErr Pack(Halo *h, HaloEntries x)
{
  WidenArgs w = {.n = h->nsend, .a.value = 1, .y = h->library->send};
  float *single;
  if (!h->single) return poiseHaloPack(h, x, w.y);
  TRY(poiseBufferWrite(&h->send, DEVICE, &single));
  w.x = single;
  TRY(poiseHaloPack(h, x, single));
  return LAUNCH(h->ctx->device, widen, &w);
}

/* A rank that has failed sends whatever there is, as its neighbours wait for it. */
PoiseErr poiseHaloSend(Halo *h, PoiseErr mine, HaloEntries x)
{
  const HaloLibrary *l = h->library;
  h->pending = mine ? mine : Pack(h, x);
  return poiseLinkExchange(h->ctx->link, &h->ex, l->send, l->ghost);
}

PoiseErr poiseHaloReceive(Halo *h, const void **ghost)
{
  NarrowArgs n = {.n = h->nghost, .a.value = 1, .x = h->library->ghost};
  *ghost = n.x;
  TRY(poiseLinkArrive(h->ctx->link));
  if (!h->single || h->pending) return h->pending;
  TRY(poiseBufferWrite(&h->ghost, DEVICE, &n.y));
  *ghost = n.y;
  return LAUNCH(h->ctx->device, narrow, &n);
}

PoiseErr poiseHaloSendBack(Halo *h, PoiseErr mine)
{
  const HaloLibrary *l = h->library;
  const double *ghost;
  if (!mine) mine = poiseBufferRead(&h->ghost, DEVICE, &ghost);
  if (!mine)
    mine =
        poiseDeviceCopy(h->ctx->device, l->ghost, ghost, (size_t)h->nghost * sizeof *ghost, COPY_ON_DEVICE);
  TRY(poiseLinkExchange(h->ctx->link, &h->back, l->ghost, l->send));
  TRY(poiseLinkArrive(h->ctx->link));
  return mine;
}

const double *poiseHaloSentBack(const Halo *h)
{
  return h->library->send;
}

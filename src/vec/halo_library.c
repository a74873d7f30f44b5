/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo by a library, NCCL on GPUs, which sends and receives from memory that it may share with other
  devices. So entries that go out and ghosts stand in memory of the transport's, besides the buffers of the
  way through the hosts. It takes fp64: entries in fp32, which stand in those buffers, are widened for it and
  narrowed after it. docs/design/nccl.md draws it.
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

/* n entries that came, at *in, are in fp32 in `to`, which *in becomes. */
static PoiseErr Narrow(Halo *h, int64_t n, Buffer *to, const void **in)
{
  NarrowArgs a = {.n = n, .a.value = 1, .x = *in};
  TRY(poiseBufferWrite(to, DEVICE, &a.y));
  *in = a.y;
  return LAUNCH(h->ctx->device, narrow, &a);
}

PoiseErr poiseHaloReceive(Halo *h, const void **ghost)
{
  *ghost = h->library->ghost;
  TRY(poiseLinkArrive(h->ctx->link));
  return !h->single || h->pending ? h->pending : Narrow(h, h->nghost, &h->ghost, ghost);
}

static PoiseErr PackBack(Halo *h, HaloEntries ghosts)
{
  WidenArgs w = {.n = h->nghost, .a.value = 1, .x = ghosts.f32, .y = h->library->ghost};
  if (h->single) return LAUNCH(h->ctx->device, widen, &w);
  return poiseDeviceCopy(h->ctx->device, w.y, ghosts.f64, (size_t)w.n * sizeof *w.y, COPY_ON_DEVICE);
}

PoiseErr poiseHaloSendBack(Halo *h, PoiseErr mine, HaloEntries ghosts)
{
  const HaloLibrary *l = h->library;
  h->pending = mine ? mine : PackBack(h, ghosts);
  return poiseLinkExchange(h->ctx->link, &h->back, l->ghost, l->send);
}

PoiseErr poiseHaloReceiveBack(Halo *h, const void **in)
{
  *in = h->library->send;
  TRY(poiseLinkArrive(h->ctx->link));
  return !h->single || h->pending ? h->pending : Narrow(h, h->nsend, &h->send, in);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The halo by a library, which sends and receives from memory that it may share with other devices. So entries
  that go out and ghosts stand in memory of the link's, beside the buffers of the way through the host.
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

/* A rank that has failed sends whatever there is, as its neighbours wait for it. */
PoiseErr poiseHaloSend(Halo *h, PoiseErr mine, const double *x)
{
  const HaloLibrary *l = h->library;
  const int32_t *index;
  if (!mine) mine = poiseBufferRead(&h->index, DEVICE, &index);
  if (!mine)
    mine = LAUNCH(h->ctx->device, gather, &(GatherArgs){.n = h->nsend, .idx = index, .x = x, .out = l->send});
  h->pending = mine;
  return poiseLinkExchange(h->ctx->link, &h->ex, l->send, l->ghost);
}

PoiseErr poiseHaloReceive(Halo *h, const double **ghost)
{
  *ghost = h->library->ghost;
  TRY(poiseLinkArrive(h->ctx->link));
  return h->pending;
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

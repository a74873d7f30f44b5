/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The transport by a library. A sum is a kernel that adds this rank's partials, a gather of what all ranks
  have, and a kernel that adds that in rank order: the bits of all other ways.

  What such a library enqueues stands in no graph that a device repeats by itself. So the device has no loops
  as long as there is such a transport.
*/
#include "link_parts.h"
#include "sys/sys.h"

PoiseErr poiseLinkSumByLibrary(Link *link, LinkSumArgs a)
{
  Device *dev = link->ctx->device;
  LinkAddArgs add = {a.n, PoiseSize(link->ctx), link->all, a.dst};
  if (!a.n) return POISE_OK;
  a.dst = link->own;
  PoiseErr e = LAUNCH(dev, link_own, &a);
  PoiseErr met = link->library->gather(dev, link->handle, a.n, link->own, link->all); /* whatever failed */
  TRY(e);
  TRY(met);
  return LAUNCH(dev, link_add, &add);
}

PoiseErr poiseLinkExchange(Link *link, const Exchange *ex, const double *send, double *recv)
{
  link->ctx->device->busy = true;
  return link->library->exchange(link->ctx->device, link->handle, ex, send, recv);
}

PoiseErr poiseLinkArrive(Link *link)
{
  return link->library->arrive(link->ctx->device, link->handle);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Rank 0 invites. Collective; agrees. */
static PoiseErr Join(Link *link)
{
  PoiseContext ctx = link->ctx;
  const LinkLibrary *library = link->library;
  LinkInvitation invitation;
  PoiseErr e = POISE_OK;
  memset(&invitation, 0, sizeof invitation); /* sent as bytes */
  if (PoiseRank(ctx) == 0) e = library->invite(ctx->device, link->handle, &invitation);
  TRY(PoiseAgree(ctx, e));
  TRY(ctx->comm->ops->bcast(ctx->comm, &invitation, sizeof invitation, 0));
  link->joined++;
  e = library->join(ctx->device, link->handle, &invitation, PoiseRank(ctx), PoiseSize(ctx));
  return PoiseAgree(ctx, e);
}

static size_t AllBytes(const Link *link)
{
  return (size_t)(PoiseSize(link->ctx) * POISE_MAX_BATCH) * sizeof *link->all;
}

static PoiseErr Create(PoiseContext ctx)
{
  TRY(poiseAlloc(ctx, sizeof *ctx->link, "link", &ctx->link));
  Link *link = ctx->link;
  Device *dev = ctx->device;
  *link = (Link){.ctx = ctx,
                 .sharing = {ctx, dev->ops->link},
                 .library = dev->ops->link->library,
                 .seconds = 10,
                 .loops = dev->loops};
  TRY(poiseLinkAlloc(link, POISE_MAX_BATCH * sizeof *link->own, "sums of a rank", (void **)&link->own));
  TRY(poiseLinkAlloc(link, AllBytes(link), "sums of all ranks", (void **)&link->all));
  TRY(link->library->load(dev, &link->handle));
  dev->loops = false;
  return POISE_OK;
}

void poiseLinkLeaveLibrary(Link *link)
{
  Device *dev = link->ctx->device;
  if (!link->library) return;
  if (link->handle) link->library->leave(dev, link->handle, !link->sound);
  link->library->unload(dev, &link->handle);
  poiseLinkFree(link, POISE_MAX_BATCH * sizeof *link->own, link->own);
  poiseLinkFree(link, AllBytes(link), link->all);
  dev->loops = link->loops;
}

/* ---- the probe ------------------------------------------------------------------------------- */

enum { RING = 3 }; /* numbers that go to the next rank */

static double ProbeNumber(int rank, int k)
{
  return 100 * rank + k + 1;
}

/* Numbers that go to the next rank, or the one before. `got` is what came. */
static PoiseErr PassOn(Link *link, int to, int from, double *device, double *got)
{
  Device *dev = link->ctx->device;
  int64_t start[] = {0, RING};
  double v[RING];
  Exchange ex = {
      .nsend = 1, .nrecv = 1, .send_rank = &to, .recv_rank = &from, .send_start = start, .recv_start = start};
  for (int k = 0; k < RING; k++) v[k] = ProbeNumber(PoiseRank(link->ctx), k);
  TRY(poiseLinkUpload(dev, device, v, sizeof v));
  TRY(poiseLinkExchange(link, &ex, device, device + RING));
  TRY(poiseLinkArrive(link));
  return poiseDeviceFetch(dev, device + RING, sizeof v, got);
}

/* Round the ranks in both ways. All take part in the second one, whatever came in the first. */
static PoiseErr Ring(Link *link, double *device)
{
  int size = PoiseSize(link->ctx), rank = PoiseRank(link->ctx);
  int next = (rank + 1) % size, before = (rank + size - 1) % size, from[] = {before, next};
  double got[2][RING];
  TRY(PassOn(link, next, before, device, got[0]));
  TRY(PassOn(link, before, next, device, got[1]));
  for (int way = 0; way < 2; way++)
    for (int k = 0; k < RING; k++)
      if (got[way][k] != ProbeNumber(from[way], k))
        FAIL(POISE_ERR_COMM, "number %d from rank %d is %g, not %g", k, from[way], got[way][k],
             ProbeNumber(from[way], k));
  return POISE_OK;
}

static PoiseErr Probe(Link *link)
{
  double *device = NULL;
  size_t bytes = LINK_PROBE * sizeof *device;
  PoiseErr e = PoiseAgree(link->ctx, poiseLinkAlloc(link, bytes, "probe of the transport", (void **)&device));
  bool used = poiseLinkUse(link->ctx, true);
  if (!e) e = PoiseAgree(link->ctx, poiseLinkProbeSums(link, device));
  if (!e) e = PoiseAgree(link->ctx, Ring(link, device));
  poiseLinkUse(link->ctx, used);
  poiseLinkFree(link, bytes, device);
  return e;
}

/* The probe makes the connections of neighbours too, which no capture permits. */
PoiseErr poiseLinkJoinAgain(Link *link)
{
  link->library->leave(link->ctx->device, link->handle, true);
  link->sound = false;
  TRY(Join(link));
  TRY(Probe(link));
  link->sound = true;
  return POISE_OK;
}

PoiseErr poiseLinkByLibrary(PoiseContext ctx, const LinkPlace *all)
{
  (void)all;
  TRY(PoiseAgree(ctx, Create(ctx)));
  TRY(Join(ctx->link));
  TRY(Probe(ctx->link));
  ctx->link->sound = true;
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport in use: memory, sums, and what happens after a failure. See link.h. */
#include "link_parts.h"
#include "sys/sys.h"

/* ---- memory that all reach ------------------------------------------------------------------- */

PoiseErr poiseLinkAlloc(Link *link, size_t bytes, const char *what, void **p)
{
  return poiseShareAllocOwn(&link->sharing, bytes, what, p);
}

void poiseLinkFree(Link *link, size_t bytes, void *p)
{
  poiseShareFreeOwn(&link->sharing, bytes, p);
}

PoiseErr poiseLinkShare(Link *link, PoiseErr mine, size_t bytes, const char *what, Shared *s)
{
  return poiseShare(&link->sharing, mine, bytes, what, s);
}

void poiseLinkUnshare(Link *link, Shared *s)
{
  poiseUnshare(&link->sharing, s);
}

/* ---- sums ------------------------------------------------------------------------------------ */

LinkPatience poiseLinkPatience(const Link *link)
{
  return (LinkPatience){link->seconds, link->state + LINK_LATE, link->apart};
}

/* By a library the host waits only so long for the device. */
static void Watch(Link *link, bool on)
{
  if (link->library) link->library->watch(link->ctx->device, link->handle, on ? link->seconds : 0);
}

void poiseLinkSetPatience(PoiseContext ctx, double seconds)
{
  Link *link = ctx->link;
  if (!link) return;
  link->seconds = seconds;
  Watch(link, link->used);
}

LinkRanks poiseLinkCountSum(Link *link)
{
  PoiseContext ctx = link->ctx;
  link->unread = false;
  link->sums++;
  return (LinkRanks){.rank = PoiseRank(ctx),
                     .size = PoiseSize(ctx),
                     .recv = link->recv_all,
                     .sequence = link->state + LINK_SEQUENCE,
                     .patience = poiseLinkPatience(link)};
}

PoiseErr poiseLinkSum(Link *link, LinkSumArgs a)
{
  if (link->library) return poiseLinkSumByLibrary(link, a);
  a.ranks = poiseLinkCountSum(link);
  return LAUNCH(link->ctx->device, link_sum, &a);
}

static PoiseErr EmptySum(Link *link)
{
  return poiseLinkSum(link, (LinkSumArgs){.n = 0});
}

PoiseErr poiseLinkDrain(Link *link, LinkSent *sent)
{
  PoiseErr e = sent->sums == link->sums + 1 ? EmptySum(link) : POISE_OK;
  sent->sums = link->sums + 1;
  link->unread = true;
  link->early = link->early || link->sums == link->body;
  return e;
}

void poiseLinkBeginBody(Link *link)
{
  link->body = link->sums;
  link->early = false;
}

PoiseErr poiseLinkEndBody(Link *link)
{
  return link->unread && link->early ? EmptySum(link) : POISE_OK;
}

PoiseErr poiseLinkCheck(PoiseContext ctx)
{
  Link *link = ctx->link;
  uint64_t late = 0;
  if (!link || link->library) return link ? poiseDeviceSync(ctx->device) : POISE_OK;
  TRY(poiseDeviceFetch(ctx->device, link->state + LINK_LATE, sizeof late, &late));
  if (late)
    FAIL(POISE_ERR_COMM, "the device of rank %d waited %g s for that of rank %d, which did not come",
         PoiseRank(ctx), link->seconds, (int)late - 1);
  return POISE_OK;
}

/* ---- after a failure ------------------------------------------------------------------------- */

void poiseLinkAddSequences(Link *link, LinkSequences *e, uint64_t *first, int64_t n)
{
  *e = (LinkSequences){first, n, link->sequences};
  link->sequences = e;
}

void poiseLinkRemoveSequences(Link *link, LinkSequences *e)
{
  LinkSequences **at = &link->sequences;
  while (*at && *at != e) at = &(*at)->next;
  if (*at) *at = e->next;
}

static PoiseErr Zero(PoiseContext ctx, void *p, size_t bytes)
{
  void *zeros = NULL;
  TRY(poiseAlloc(ctx, bytes, "zeros", &zeros));
  PoiseErr e = poiseDeviceCopy(ctx->device, p, zeros, bytes, COPY_TO_DEVICE);
  PoiseErr done = poiseDeviceSync(ctx->device);
  poiseFree(ctx, &zeros);
  return e ? e : done;
}

static PoiseErr ZeroAll(Link *link)
{
  PoiseContext ctx = link->ctx;
  TRY(Zero(ctx, link->recv.mine, link->recv.bytes));
  TRY(Zero(ctx, link->state, LINK_STATE * sizeof *link->state));
  for (const LinkSequences *e = link->sequences; e; e = e->next)
    TRY(Zero(ctx, e->first, (size_t)e->n * sizeof *e->first));
  link->unread = false;
  return POISE_OK;
}

static PoiseErr Reset(PoiseContext ctx)
{
  Watch(ctx->link, true);
  (void)poiseDeviceSync(ctx->device); /* what has failed was said */
  PoiseErrorClear();
  TRY(PoiseAgree(ctx, POISE_OK));
  PoiseErr e = ctx->link->library ? poiseLinkJoinAgain(ctx->link) : PoiseAgree(ctx, ZeroAll(ctx->link));
  Watch(ctx->link, ctx->link->used);
  return e;
}

/* First nothing waits for others any more, on any rank; then all is as at first, before anybody goes on. It
   is not interrupted, as the failure may have been an interrupt. */
PoiseErr poiseLinkReset(PoiseContext ctx)
{
  Interrupt kept = ctx->interrupt;
  if (!ctx->link) return POISE_OK;
  ctx->interrupt.look = NULL;
  PoiseErr e = Reset(ctx);
  ctx->interrupt = kept;
  return e;
}

bool poiseLinkUse(PoiseContext ctx, bool on)
{
  if (!ctx->link) return false;
  bool used = ctx->link->used;
  ctx->link->used = on;
  ctx->link->session++;
  Watch(ctx->link, on);
  return used;
}

bool poiseLinkIsLibrary(const Link *link)
{
  return link->library != NULL;
}

bool poiseLinkFuses(PoiseContext ctx)
{
  return ctx->link && ctx->link->fuses;
}

void poiseLinkSetFused(PoiseContext ctx, bool on)
{
  Link *link = ctx->link;
  if (!link) return;
  link->fuses = on && link->apart && PoiseSize(ctx) <= LINK_FUSED_MOST;
  link->joined++; /* loops are captured anew */
}

int64_t poiseLinkSession(const Link *link)
{
  return link->session;
}

int64_t poiseLinkNumber(Link *link)
{
  return ++link->numbers;
}

void poiseLinkEndSession(PoiseContext ctx)
{
  if (ctx->link) ctx->link->session++;
}

int64_t poiseLinkJoined(PoiseContext ctx)
{
  return ctx->link ? ctx->link->joined : 0;
}

bool poiseLinkIsUsed(PoiseContext ctx)
{
  return ctx->link && ctx->link->used;
}

void poiseLinkRun(PoiseContext ctx)
{
  Device *dev = ctx->device;
  if (dev && dev->ops->run && poiseLinkIsUsed(ctx)) dev->ops->run(dev);
}

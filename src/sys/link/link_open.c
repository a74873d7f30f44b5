/* SPDX-License-Identifier: BSD-3-Clause */
/* Which transport: those that there are, tried one after the other until a probe goes well. See link.h. */
#include <unistd.h>

#include "link_parts.h"
#include "sys/device/place.h"
#include "sys/sys.h"

static const LinkDevice *Ops(PoiseContext ctx)
{
  return ctx->device->ops->link;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* A GPU is known by its place, as processes may number those that they see. */
static uint64_t Gpu(const Device *dev)
{
  char bus[POISE_BUS] = "";
  if (!dev->ops->bus || dev->ops->bus(dev->id, bus)) return (uint64_t)dev->id;
  return poiseHashWords(bus);
}

static PoiseErr FindPlace(PoiseContext ctx, LinkPlace *place)
{
  uint64_t (*machine)(int rank) = poiseContextHome(ctx)->hooks.machine;
  memset(place, 0, sizeof *place); /* sent as bytes */
  place->machine = machine ? machine(PoiseRank(ctx)) : poiseMachine();
  place->gpu = Gpu(ctx->device);
  place->process = (int64_t)getpid();
  return Ops(ctx)->place(ctx->device, place);
}

PoiseErr poiseLinkPlaces(PoiseContext ctx, LinkPlace **all)
{
  LinkPlace mine;
  *all = NULL;
  PoiseErr e = poiseAllocArray(ctx, PoiseSize(ctx), sizeof **all, "places of ranks", all);
  if (!e) e = FindPlace(ctx, &mine);
  e = poiseAgreeGather(ctx, e, &mine, sizeof mine, *all);
  if (e) poiseFree(ctx, all);
  return e;
}

static int RanksOn(int size, const LinkPlace *all, int r)
{
  int sharing = 0;
  for (int q = 0; q < size; q++) sharing += all[q].machine == all[r].machine && all[q].gpu == all[r].gpu;
  return sharing;
}

bool poiseLinkAreProcesses(PoiseContext ctx, const LinkPlace *all)
{
  return all[PoiseSize(ctx) - 1].process != all[0].process;
}

static const char lazy[] = "kernels are loaded on first use, not at the start (CUDA_MODULE_LOADING=EAGER)";

/* May these ranks use peer access? If not, *why says it. */
static bool MayReach(PoiseContext ctx, const LinkPlace *all, LinkWish wish, char *why)
{
  const LinkDevice *ops = Ops(ctx);
  int size = PoiseSize(ctx), most = wish == LINK_PEER ? ops->most : ops->automatic;
  bool processes = poiseLinkAreProcesses(ctx, all);
  for (int r = 0; r < size; r++) {
    if (all[r].machine == all[0].machine) continue;
    snprintf(why, LINK_WORDS, "ranks 0 and %d are on different hosts", r);
    return false;
  }
  for (int r = 0; r < size; r++) {
    int sharing = RanksOn(size, all, r);
    if (processes && !ops->processes)
      snprintf(why, LINK_WORDS, "ranks are processes, which reach no memory of each other's devices");
    else if (processes && sharing > 1)
      snprintf(why, LINK_WORDS, "%d processes share a device, which serves one at a time", sharing);
    else if (sharing > most)
      snprintf(why, LINK_WORDS, "%d ranks share a device, at most %d may", sharing, most);
    else if (sharing > 1 && !all[r].eager)
      snprintf(why, LINK_WORDS, "%s", lazy);
    else
      continue;
    return false;
  }
  return true;
}

/* The same for the library. Its calls wait for other ranks too, so threads of which one loads a kernel might
   wait for each other. */
static bool MayCall(PoiseContext ctx, const LinkPlace *all, LinkWish wish, char *why)
{
  int size = PoiseSize(ctx), most = Ops(ctx)->library->most;
  for (int r = 0; r < size; r++) {
    int sharing = RanksOn(size, all, r);
    if (sharing > most)
      snprintf(why, LINK_WORDS, "%d ranks share a device, at most %d may", sharing, most);
    else if (wish == LINK_AUTO && !poiseLinkAreProcesses(ctx, all) && !all[r].eager)
      snprintf(why, LINK_WORDS, "%s", lazy);
    else
      continue;
    return false;
  }
  return true;
}

/* ---- by peer access -------------------------------------------------------------------------- */

static PoiseErr Reach(PoiseContext ctx, const LinkPlace *all)
{
  const LinkPlace *mine = &all[PoiseRank(ctx)];
  for (int r = 0; r < PoiseSize(ctx); r++)
    if (&all[r] != mine && all[r].process == mine->process) TRY(Ops(ctx)->reach(ctx->device, &all[r]));
  return POISE_OK;
}

PoiseErr poiseLinkUpload(Device *dev, void *to, const void *from, size_t bytes)
{
  TRY(poiseDeviceCopy(dev, to, from, bytes, COPY_TO_DEVICE));
  return poiseDeviceSync(dev);
}

static PoiseErr AllocateState(Link *link)
{
  Device *dev = link->ctx->device;
  size_t bytes = (size_t)PoiseSize(link->ctx) * sizeof *link->recv_all;
  TRY(poiseLinkAlloc(link, bytes, "receive buffers of sums", (void **)&link->recv_all));
  TRY(poiseLinkAlloc(link, LINK_STATE * sizeof *link->state, "state of the transport",
                     (void **)&link->state));
  return poiseLinkUpload(dev, link->recv_all, link->recv.all, bytes);
}

static bool SomeShare(PoiseContext ctx, const LinkPlace *all)
{
  int size = PoiseSize(ctx);
  for (int r = 0; r < size; r++)
    if (RanksOn(size, all, r) > 1) return true;
  return false;
}

static PoiseErr Create(PoiseContext ctx, const LinkPlace *all)
{
  Link *link;
  PoiseErr e = poiseAlloc(ctx, sizeof *link, "link", &ctx->link);
  link = ctx->link;
  if (!e)
    *link = (Link){.ctx = ctx,
                   .sharing = {ctx, Ops(ctx), .processes = poiseLinkAreProcesses(ctx, all)},
                   .apart = Ops(ctx)->concurrent || !SomeShare(ctx, all)};
  if (!e) e = Reach(ctx, all);
  TRY(PoiseAgree(ctx, e));
  size_t bytes = 2 * (size_t)PoiseSize(ctx) * sizeof(LinkMessage);
  TRY(poiseLinkShare(link, POISE_OK, bytes, "receive buffers of sums", &link->recv));
  return PoiseAgree(ctx, AllocateState(link));
}

/* The numbers that rank r brings to sum k of the probe. */
static double Sample(int r, int k)
{
  return (r + 1) * 0x1p-3 + k;
}

PoiseErr poiseLinkProbeSums(Link *link, double *device)
{
  enum { SUMS = 3, WIDTH = LINK_PROBE / (2 * SUMS) };
  Device *dev = link->ctx->device;
  int size = PoiseSize(link->ctx), rank = PoiseRank(link->ctx);
  double v[2 * SUMS * WIDTH] = {0};
  for (int k = 0; k < SUMS * WIDTH; k++) v[k] = Sample(rank, k);
  TRY(poiseLinkUpload(dev, device, v, sizeof v));
  for (int k = 0; k < SUMS; k++)
    TRY(poiseLinkSum(link, (LinkSumArgs){.n = WIDTH,
                                         .stride = 1,
                                         .count = 1,
                                         .partial = device + k * WIDTH,
                                         .dst = device + (SUMS + k) * WIDTH}));
  TRY(poiseDeviceFetch(dev, device, sizeof v, v));
  for (int k = 0; k < SUMS * WIDTH; k++) {
    double sum = 0;
    for (int r = 0; r < size; r++) sum += Sample(r, k);
    if (v[SUMS * WIDTH + k] != sum)
      FAIL(POISE_ERR_COMM, "a sum over ranks is %g, not %g: their kernels do not run side by side",
           v[SUMS * WIDTH + k], sum);
  }
  return POISE_OK;
}

/* What is loaded on first use is there before others poll: by a sum of no ranks, with a sequence
   number of nobody's, and by the device. */
static PoiseErr Load(Link *link, uint64_t *sequence)
{
  Device *dev = link->ctx->device;
  TRY(LAUNCH(dev, link_sum, &(LinkSumArgs){.ranks = {.recv = link->recv_all, .sequence = sequence}}));
  if (Ops(link->ctx)->load) TRY(Ops(link->ctx)->load(dev));
  return poiseDeviceSync(dev);
}

static PoiseErr Probe(Link *link)
{
  enum { SEQUENCE_AT = 256, PROBE = 512 }; /* bytes */
  const LinkDevice *ops = Ops(link->ctx);
  char *device = NULL;
  PoiseErr e = poiseLinkAlloc(link, PROBE, "probe of the transport", (void **)&device);
  link->seconds = link->sharing.processes ? ops->processes->patience : ops->patience;
  if (!e) e = Load(link, (uint64_t *)(void *)(device + SEQUENCE_AT));
  e = PoiseAgree(link->ctx, e);
  if (!e) e = PoiseAgree(link->ctx, poiseLinkProbeSums(link, (double *)(void *)device));
  poiseLinkFree(link, PROBE, device);
  return e;
}

PoiseErr poiseLinkByPeers(PoiseContext ctx, const LinkPlace *all)
{
  TRY(Create(ctx, all));
  poiseLinkSetFused(ctx, true);
  return Probe(ctx->link);
}

/* ---- which transport ------------------------------------------------------------------------- */

void poiseLinkClose(PoiseContext ctx)
{
  Link *link = ctx->link;
  if (!link) return;
  poiseLinkLeaveLibrary(link);
  poiseLinkFreeWindow(link);
  poiseLinkUnshare(link, &link->recv);
  poiseShareEnd(&link->sharing);
  poiseLinkFree(link, (size_t)PoiseSize(ctx) * sizeof *link->recv_all, link->recv_all);
  poiseLinkFree(link, LINK_STATE * sizeof *link->state, link->state);
  poiseFree(ctx, &ctx->link);
}

enum { WHY = 2 * (LINK_WORDS + 40) }; /* characters of the reasons of all transports */

typedef struct Transport {
  const char *name;
  LinkWish wish; /* which asks for it alone */
  bool (*may)(PoiseContext, const LinkPlace *all, LinkWish, char *why);
  PoiseErr (*open)(PoiseContext, const LinkPlace *all);
} Transport;

/* Note why this transport is not used. e: it was tried, and failed so. It is an error if it was asked for, or
   memory ran out. */
static PoiseErr GiveUp(PoiseContext ctx, const Transport *t, LinkWish wish, PoiseErr e, const char *reason,
                       char *why)
{
  int64_t fatal = wish == t->wish || e == POISE_ERR_MEMORY;
  size_t used = strlen(why);
  snprintf(why + used, WHY - used, "%sno %s: %.*s", used ? "; " : "", t->name, LINK_WORDS,
           e ? PoiseErrorMessage() : reason);
  if (wish == t->wish && !e)
    FAIL(POISE_ERR_UNSUPPORTED, "the devices of ranks cannot exchange by %s: %s", t->name, reason);
  TRY(poiseCommMaxInt(ctx->comm, &fatal, 1));
  if (fatal) return e;
  PoiseErrorClear();
  return POISE_OK;
}

static PoiseErr Try(PoiseContext ctx, const Transport *t, LinkWish wish, const LinkPlace *all, char *why)
{
  char reason[LINK_WORDS] = "";
  PoiseErr e = POISE_OK;
  if (t->may(ctx, all, wish, reason)) {
    e = t->open(ctx, all);
    if (!e) return POISE_OK;
    poiseLinkClose(ctx);
  }
  return GiveUp(ctx, t, wish, e, reason, why);
}

/* How ranks exchange, and why not by what was tried before. */
static void Describe(PoiseContext ctx, const char *why)
{
  const Link *link = ctx->link;
  size_t size = sizeof ctx->exchange, used;
  if (!link)
    snprintf(ctx->exchange, size, "through the host");
  else if (link->library)
    link->library->describe(link->handle, ctx->exchange, size);
  else
    snprintf(ctx->exchange, size, link->sharing.processes ? "peer access between processes" : "peer access");
  used = strlen(ctx->exchange);
  if (*why) snprintf(ctx->exchange + used, size - used, " (%s)", why);
}

/* The cheapest exchange first. A host needs none. */
PoiseErr poiseLinkOpen(PoiseContext ctx, LinkWish wish)
{
  const LinkDevice *ops = Ops(ctx);
  LinkPlace *all = NULL;
  char why[WHY] = "";
  Describe(ctx, why);
  if (PoiseSize(ctx) == 1 || !ops || wish == LINK_HOST) return POISE_OK;
  const Transport transports[] = {{"peer access", LINK_PEER, MayReach, poiseLinkByPeers},
                                  {ops->library->name, LINK_LIBRARY, MayCall, poiseLinkByLibrary}};
  PoiseErr e = poiseLinkPlaces(ctx, &all);
  for (int k = 0; k < 2 && !e && !ctx->link; k++)
    if (wish == LINK_AUTO || wish == transports[k].wish) e = Try(ctx, &transports[k], wish, all, why);
  poiseFree(ctx, &all);
  Describe(ctx, why);
  return e;
}

const char *poiseLinkWords(PoiseContext ctx)
{
  return PoiseSize(ctx) == 1 ? "none" : ctx->exchange;
}

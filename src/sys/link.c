/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a link: which ranks reach each other, memory that they share, and a probe. See link.h. */
#include "link.h"

#include <unistd.h>

#include "link_share.h"
#include "place.h"
#include "sys.h"

enum { WORDS = 200 };

struct Link {
  PoiseContext ctx;
  Sharing sharing;
  bool used;
  Shared mail;        /* LinkMail [2][size] */
  LinkMail **boxes;   /* on the device: mail.all */
  uint64_t *state;    /* on the device: epoch of the sums, late */
  LinkEpochs *epochs; /* of halos */
  int64_t sums;       /* enqueued so far */
  bool unread;        /* entries were sent since the latest sum */
  double seconds;     /* that a device waits for another one */
};
enum { EPOCH, LATE, STATE };

static const LinkDevice *Ops(PoiseContext ctx)
{
  return ctx->device->ops->link;
}

/* ---- memory that all reach ------------------------------------------------------------------- */

static PoiseErr Alloc(Link *link, size_t bytes, const char *what, void **p)
{
  return poiseShareAllocOwn(&link->sharing, bytes, what, p);
}

static void Free(Link *link, size_t bytes, void *p)
{
  poiseShareFreeOwn(&link->sharing, bytes, p);
}

PoiseErr poiseLinkShare(Link *link, size_t bytes, const char *what, Shared *s)
{
  return poiseShare(&link->sharing, bytes, what, s);
}

void poiseLinkUnshare(Link *link, Shared *s)
{
  poiseUnshare(&link->sharing, s);
}

int64_t poiseLinkBytes(const Link *link, int64_t bytes)
{
  return (int64_t)poiseShareBytes(&link->sharing, (size_t)bytes);
}

/* ---- sums ------------------------------------------------------------------------------------ */

LinkPatience poiseLinkPatience(const Link *link)
{
  return (LinkPatience){link->seconds, link->state + LATE};
}

void poiseLinkSetPatience(PoiseContext ctx, double seconds)
{
  if (ctx->link) ctx->link->seconds = seconds;
}

PoiseErr poiseLinkSum(Link *link, LinkSumArgs a)
{
  PoiseContext ctx = link->ctx;
  a.rank = PoiseRank(ctx), a.size = PoiseSize(ctx);
  a.mail = link->boxes;
  a.epoch = link->state + EPOCH;
  a.patience = poiseLinkPatience(link);
  link->unread = false;
  link->sums++;
  return LAUNCH(ctx->device, link_sum, &a);
}

static PoiseErr SumOfNothing(Link *link)
{
  return poiseLinkSum(link, (LinkSumArgs){.n = 0});
}

PoiseErr poiseLinkSettle(Link *link, LinkSent *sent)
{
  PoiseErr e = sent->sums == link->sums + 1 ? SumOfNothing(link) : POISE_OK;
  sent->sums = link->sums + 1;
  link->unread = true;
  return e;
}

PoiseErr poiseLinkSettleAll(Link *link)
{
  return link->unread ? SumOfNothing(link) : POISE_OK;
}

PoiseErr poiseLinkCheck(PoiseContext ctx)
{
  Link *link = ctx->link;
  uint64_t late = 0;
  if (!link) return POISE_OK;
  TRY(poiseDeviceCopy(ctx->device, &late, link->state + LATE, sizeof late, COPY_TO_HOST));
  TRY(poiseDeviceSync(ctx->device));
  if (late)
    FAIL(POISE_ERR_COMM, "the device of rank %d waited %g s for that of rank %d in vain", PoiseRank(ctx),
         link->seconds, (int)late - 1);
  return POISE_OK;
}

/* ---- behind a failure ------------------------------------------------------------------------ */

void poiseLinkAddEpochs(Link *link, LinkEpochs *e, uint64_t *first, int64_t n)
{
  *e = (LinkEpochs){first, n, link->epochs};
  link->epochs = e;
}

void poiseLinkRemoveEpochs(Link *link, LinkEpochs *e)
{
  LinkEpochs **at = &link->epochs;
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
  TRY(Zero(ctx, link->mail.mine, link->mail.bytes));
  TRY(Zero(ctx, link->state, STATE * sizeof *link->state));
  for (const LinkEpochs *e = link->epochs; e; e = e->next)
    TRY(Zero(ctx, e->first, (size_t)e->n * sizeof *e->first));
  link->unread = false;
  return POISE_OK;
}

/* First nothing polls any more, on any rank; then all is zeroed, before anybody goes on. */
PoiseErr poiseLinkReset(PoiseContext ctx)
{
  if (!ctx->link) return POISE_OK;
  (void)poiseDeviceSync(ctx->device); /* what has failed was said */
  PoiseErrorClear();
  TRY(PoiseAgree(ctx, POISE_OK));
  return PoiseAgree(ctx, ZeroAll(ctx->link));
}

bool poiseLinkUse(PoiseContext ctx, bool on)
{
  if (!ctx->link) return false;
  bool used = ctx->link->used;
  ctx->link->used = on;
  return used;
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

/* ---- opening --------------------------------------------------------------------------------- */

/* A GPU is known by its place, as processes may number those that they see. */
static uint64_t Gpu(const Device *dev)
{
  char bus[POISE_BUS] = "";
  if (!dev->ops->bus || dev->ops->bus(dev->id, bus)) return (uint64_t)dev->id;
  return poiseHashWords(bus);
}

static PoiseErr Place(PoiseContext ctx, LinkPlace *place)
{
  uint64_t (*machine)(int rank) = poiseContextHome(ctx)->hooks.machine;
  memset(place, 0, sizeof *place); /* sent as bytes */
  place->machine = machine ? machine(PoiseRank(ctx)) : poiseMachine();
  place->gpu = Gpu(ctx->device);
  place->process = (int64_t)getpid();
  return Ops(ctx)->place(ctx->device, place);
}

static int RanksOn(int size, const LinkPlace *all, int r)
{
  int sharing = 0;
  for (int q = 0; q < size; q++) sharing += all[q].machine == all[r].machine && all[q].gpu == all[r].gpu;
  return sharing;
}

/* A communicator is of threads or of processes. */
static bool AreProcesses(PoiseContext ctx, const LinkPlace *all)
{
  return all[PoiseSize(ctx) - 1].process != all[0].process;
}

/* May these ranks be linked? If not, *why says it. */
static bool MayLink(PoiseContext ctx, const LinkPlace *all, LinkWish wish, char *why)
{
  const LinkDevice *ops = Ops(ctx);
  int size = PoiseSize(ctx), most = wish == LINK_PEER ? ops->most : ops->automatic;
  bool processes = AreProcesses(ctx, all);
  for (int r = 0; r < size; r++) {
    int sharing = RanksOn(size, all, r);
    if (all[r].machine != all[0].machine)
      snprintf(why, WORDS, "ranks 0 and %d are on different hosts", r);
    else if (processes && !ops->processes)
      snprintf(why, WORDS, "ranks are processes, which reach no memory of each other's devices");
    else if (processes && wish == LINK_AUTO)
      snprintf(why, WORDS, "processes are linked by -comm_exchange peer alone");
    else if (processes && sharing > 1)
      snprintf(why, WORDS, "%d processes share a device, which serves one at a time", sharing);
    else if (sharing > most)
      snprintf(why, WORDS, "%d ranks share a device, at most %d may", sharing, most);
    else if ((sharing > 1 || wish == LINK_AUTO) && !all[r].eager)
      snprintf(why, WORDS, "kernels are loaded on first use, not at the start (CUDA_MODULE_LOADING=EAGER)");
    else
      continue;
    return false;
  }
  return true;
}

static PoiseErr Reach(PoiseContext ctx, const LinkPlace *all)
{
  const LinkPlace *mine = &all[PoiseRank(ctx)];
  for (int r = 0; r < PoiseSize(ctx); r++)
    if (&all[r] != mine && all[r].process == mine->process) TRY(Ops(ctx)->reach(ctx->device, &all[r]));
  return POISE_OK;
}

static PoiseErr Upload(Device *dev, void *to, const void *from, size_t bytes)
{
  TRY(poiseDeviceCopy(dev, to, from, bytes, COPY_TO_DEVICE));
  return poiseDeviceSync(dev);
}

static PoiseErr FillBoxes(Link *link)
{
  Device *dev = link->ctx->device;
  size_t bytes = (size_t)PoiseSize(link->ctx) * sizeof *link->boxes;
  TRY(Alloc(link, bytes, "mailboxes of the link", (void **)&link->boxes));
  TRY(Alloc(link, STATE * sizeof *link->state, "state of the link", (void **)&link->state));
  return Upload(dev, link->boxes, link->mail.all, bytes);
}

static PoiseErr Create(PoiseContext ctx, const LinkPlace *all)
{
  Link *link;
  PoiseErr e = poiseAlloc(ctx, sizeof *link, "link", &ctx->link);
  link = ctx->link;
  if (!e) *link = (Link){.ctx = ctx, .sharing = {ctx, Ops(ctx), .processes = AreProcesses(ctx, all)}};
  if (!e) e = Reach(ctx, all);
  TRY(PoiseAgree(ctx, e));
  size_t bytes = 2 * (size_t)PoiseSize(ctx) * sizeof(LinkMail);
  TRY(poiseLinkShare(link, bytes, "mailboxes of the link", &link->mail));
  return PoiseAgree(ctx, FillBoxes(link));
}

/* The numbers that rank r brings to sum k of the probe. */
static double Sample(int r, int k)
{
  return (r + 1) * 0x1p-3 + k;
}

/* Three sums with known results: they go wrong where kernels of ranks do not run side by side. */
static PoiseErr Sums(Link *link, double *device)
{
  enum { SUMS = 3, WIDTH = 2 };
  Device *dev = link->ctx->device;
  int size = PoiseSize(link->ctx), rank = PoiseRank(link->ctx);
  double v[2 * SUMS * WIDTH] = {0};
  for (int k = 0; k < SUMS * WIDTH; k++) v[k] = Sample(rank, k);
  TRY(Upload(dev, device, v, sizeof v));
  for (int k = 0; k < SUMS; k++)
    TRY(poiseLinkSum(link, (LinkSumArgs){.n = WIDTH,
                                         .stride = 1,
                                         .count = 1,
                                         .partial = device + k * WIDTH,
                                         .dst = device + (SUMS + k) * WIDTH}));
  TRY(poiseDeviceCopy(dev, v, device, sizeof v, COPY_TO_HOST));
  TRY(poiseDeviceSync(dev));
  for (int k = 0; k < SUMS * WIDTH; k++) {
    double sum = 0;
    for (int r = 0; r < size; r++) sum += Sample(r, k);
    if (v[SUMS * WIDTH + k] != sum) FAIL(POISE_ERR_COMM, "kernels of ranks do not run side by side");
  }
  return POISE_OK;
}

/* A sum of no ranks, on an epoch of nobody's: what is loaded on first use is there before others poll. */
static PoiseErr Load(Link *link, uint64_t *epoch)
{
  TRY(LAUNCH(link->ctx->device, link_sum, &(LinkSumArgs){.mail = link->boxes, .epoch = epoch}));
  return poiseDeviceSync(link->ctx->device);
}

static PoiseErr Probe(Link *link)
{
  enum { EPOCH_AT = 256, PROBE = 512 }; /* bytes */
  const LinkDevice *ops = Ops(link->ctx);
  char *device = NULL;
  PoiseErr e = Alloc(link, PROBE, "probe of the link", (void **)&device);
  link->seconds = link->sharing.processes ? ops->processes->patience : ops->patience;
  if (!e) e = Load(link, (uint64_t *)(void *)(device + EPOCH_AT));
  e = PoiseAgree(link->ctx, e);
  if (!e) e = PoiseAgree(link->ctx, Sums(link, (double *)(void *)device));
  Free(link, PROBE, device);
  return e;
}

void poiseLinkClose(PoiseContext ctx)
{
  Link *link = ctx->link;
  if (!link) return;
  poiseLinkUnshare(link, &link->mail);
  poiseShareEnd(&link->sharing);
  Free(link, (size_t)PoiseSize(ctx) * sizeof *link->boxes, link->boxes);
  Free(link, STATE * sizeof *link->state, link->state);
  poiseFree(ctx, &ctx->link);
}

static PoiseErr Gather(PoiseContext ctx, LinkPlace **all)
{
  LinkPlace mine;
  PoiseErr e = poiseAllocArray(ctx, PoiseSize(ctx), sizeof **all, "places of ranks", all);
  if (!e) e = Place(ctx, &mine);
  TRY(PoiseAgree(ctx, e));
  return ctx->comm->ops->allgather(ctx->comm, &mine, sizeof mine, *all);
}

/* Is a link tried? A host needs none. */
static bool Wants(PoiseContext ctx, LinkWish wish)
{
  const LinkDevice *ops = Ops(ctx);
  return PoiseSize(ctx) > 1 && ops && (wish == LINK_PEER || (wish == LINK_AUTO && ops->automatic));
}

/* There is no link. e: not for the reason that is given, but after this failure. */
static PoiseErr GiveUp(PoiseContext ctx, LinkWish wish, PoiseErr e, const char *why)
{
  int64_t fatal = wish == LINK_PEER || e == POISE_ERR_MEMORY;
  snprintf(ctx->exchange, sizeof ctx->exchange, "through the host: %.*s", WORDS,
           e ? PoiseErrorMessage() : why);
  if (wish == LINK_PEER && !e)
    FAIL(POISE_ERR_UNSUPPORTED, "the devices of ranks cannot exchange by peer memory: %s", why);
  TRY(poiseCommMaxInt(ctx->comm, &fatal, 1));
  if (fatal) return e;
  PoiseErrorClear();
  return POISE_OK;
}

PoiseErr poiseLinkOpen(PoiseContext ctx, LinkWish wish)
{
  LinkPlace *all = NULL;
  char why[WORDS] = "";
  *ctx->exchange = 0;
  if (!Wants(ctx, wish)) return POISE_OK;
  PoiseErr e = Gather(ctx, &all);
  bool may = !e && MayLink(ctx, all, wish, why);
  if (may) e = Create(ctx, all);
  if (may && !e) e = Probe(ctx->link);
  poiseFree(ctx, &all);
  if (may && !e) return POISE_OK;
  poiseLinkClose(ctx);
  return GiveUp(ctx, wish, e, why);
}

const char *poiseLinkWords(PoiseContext ctx)
{
  if (PoiseSize(ctx) == 1) return "none";
  if (ctx->link) return ctx->link->sharing.processes ? "peer memory of processes" : "peer memory";
  return *ctx->exchange ? ctx->exchange : "through the host";
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which link there is between the devices of ranks: what is asked for, what fails on one rank, and words. */
#include "harness.h"
#include "problem.h"
#include "sample.h"
#include "sys/device/link_device.h"

static bool AreProcesses(PoiseContext ctx)
{
  return !strcmp(ctx->comm->ops->name, "mpi");
}

static bool IsMock(PoiseContext ctx)
{
  return !strcmp(ctx->device->ops->name, "mock");
}

static bool IsLast(PoiseContext ctx)
{
  return PoiseRank(ctx) == PoiseSize(ctx) - 1;
}

/* On GPUs too, where ranks can be linked by peer access. */
static bool Reaches(PoiseContext ctx)
{
  poiseLinkClose(ctx);
  bool reaches = PoiseSize(ctx) > 1 && SampleIsAway(ctx) && poiseLinkOpen(ctx, LINK_PEER) == POISE_OK;
  PoiseErrorClear();
  poiseLinkClose(ctx);
  return reaches;
}

#define NEEDS_PEERS(ctx) \
  if (!Reaches(ctx)) TEST_SKIP("for devices that reach each other's memory")
#define NEEDS_MOCKS(ctx) \
  if (!IsMock(ctx) || PoiseSize(ctx) == 1) TEST_SKIP("for several mocks")

/* No memory of other ranks is reached. */
static PoiseErr NoReach(Device *dev, const LinkPlace *place)
{
  (void)dev, (void)place;
  FAIL(POISE_ERR_DEVICE, "there is no way");
}

static PoiseErr NoOpen(Device *dev, const LinkHandle *handle, size_t bytes, void **p)
{
  (void)dev, (void)handle, (void)bytes, (void)p;
  FAIL(POISE_ERR_DEVICE, "there is no way");
}

/* Opens the link as asked, for nothing, and finds the reason in words. Nothing is left. */
static void Refused(PoiseContext ctx, LinkWish wish, PoiseErr code, const char *words)
{
  int64_t bytes = ctx->device->bytes, live = poiseContextHome(ctx)->memory.live;
  PoiseErr e = poiseLinkOpen(ctx, wish);
  if (code)
    CHECK_ERR(e, code, words);
  else
    CHECK_OK(e);
  CHECK(!ctx->link && strstr(poiseLinkWords(ctx), words));
  CHECK(!strncmp(poiseLinkWords(ctx), "through the host (no ", 21));
  CHECK_INT(ctx->device->bytes, bytes);
  CHECK_INT(poiseContextHome(ctx)->memory.live, live);
}

/* With no wish there is this link, and the reason why it is no other one. */
static void Finds(PoiseContext ctx, const char *link, const char *reason)
{
  CHECK_OK(poiseLinkOpen(ctx, LINK_AUTO));
  CHECK(!strncmp(poiseLinkWords(ctx), link, strlen(link)));
  CHECK(strstr(poiseLinkWords(ctx), reason) != NULL);
  poiseLinkClose(ctx);
}

/* The last rank alone reaches nobody: all know it. */
static void TestUnreached(PoiseContext ctx)
{
  Device *dev = ctx->device;
  const DeviceOps *own = dev->ops;
  NEEDS_PEERS(ctx);
  LinkProcesses processes = *own->link->processes;
  LinkDevice device = *own->link;
  DeviceOps ops = *own;
  bool last = IsLast(ctx);
  processes.open = NoOpen;
  device.reach = NoReach;
  device.processes = &processes;
  ops.link = &device;
  if (last) dev->ops = &ops;
  Refused(ctx, LINK_PEER, last ? POISE_ERR_DEVICE : POISE_ERR_REMOTE, "there is no way");
  if (IsMock(ctx)) Finds(ctx, "a mock of NCCL (no peer access: ", "there is no way");
  dev->ops = own;
}

static uint64_t HalfMachine(int rank)
{
  return rank > 0;
}

/* Ranks as if they were on two hosts; and processes on the same device. */
static void TestPlaces(PoiseContext ctx)
{
  int id = ctx->device->id;
  NEEDS_PEERS(ctx);
  ctx->hooks.machine = HalfMachine;
  Refused(ctx, LINK_PEER, POISE_ERR_UNSUPPORTED, "ranks 0 and 1 are on different hosts");
  if (IsMock(ctx)) Finds(ctx, "a mock of NCCL (no peer access: ", "ranks 0 and 1 are on different hosts");
  ctx->hooks.machine = NULL;
  if (AreProcesses(ctx) && IsMock(ctx)) {
    ctx->device->id = 0;
    Refused(ctx, LINK_PEER, POISE_ERR_UNSUPPORTED, "processes share a device");
    ctx->device->id = id;
  }
}

/* What is asked for. */
static void TestWishes(PoiseContext ctx)
{
  if (PoiseSize(ctx) == 1) {
    CHECK_OK(poiseLinkOpen(ctx, LINK_PEER));
    CHECK(!ctx->link && !strcmp(poiseLinkWords(ctx), "none"));
    return;
  }
  if (!IsMock(ctx) && !ctx->device->ops->is_host) TEST_SKIP("what GPUs may do is the machine's matter");
  if (ctx->device->ops->is_host) {
    CHECK_OK(poiseLinkOpen(ctx, LINK_PEER));
    CHECK(!ctx->link && !strcmp(poiseLinkWords(ctx), "through the host"));
  }
  if (!IsMock(ctx)) return;
  poiseLinkClose(ctx);
  CHECK_OK(poiseLinkOpen(ctx, LINK_PEER));
  CHECK(!strcmp(poiseLinkWords(ctx), AreProcesses(ctx) ? "peer access between processes" : "peer access"));
  poiseLinkClose(ctx);
  CHECK_OK(poiseLinkOpen(ctx, LINK_HOST));
  CHECK(!ctx->link && !strcmp(poiseLinkWords(ctx), "through the host"));
  CHECK_OK(poiseLinkOpen(ctx, LINK_LIBRARY));
  CHECK(poiseLinkIsLibrary(ctx->link) && !strcmp(poiseLinkWords(ctx), "a mock of NCCL"));
  poiseLinkClose(ctx);
  Finds(ctx, AreProcesses(ctx) ? "peer access between processes" : "peer access", "");
}

/* ---- the library ----------------------------------------------------------------------------- */

static PoiseErr NoLoad(Device *dev, void **library)
{
  (void)dev, (void)library;
  FAIL(POISE_ERR_UNSUPPORTED, "it cannot be loaded");
}

static PoiseErr NoInvite(Device *dev, void *library, LinkInvitation *invitation)
{
  (void)dev, (void)library, (void)invitation;
  FAIL(POISE_ERR_DEVICE, "nobody is invited");
}

static PoiseErr NoJoin(Device *dev, void *library, const LinkInvitation *invitation, int rank, int size)
{
  (void)dev, (void)library, (void)invitation, (void)rank, (void)size;
  FAIL(POISE_ERR_DEVICE, "nobody joins");
}

/* What came is wrong. */
static PoiseErr FalseGather(Device *dev, void *library, int n, const double *mine, double *all)
{
  extern const LinkLibrary poiseMockLibrary;
  TRY(poiseMockLibrary.gather(dev, library, n, mine, all));
  return poiseDeviceCopy(dev, all, all + n, sizeof *all, COPY_ON_DEVICE);
}

static PoiseErr FalseExchange(Device *dev, void *library, const Exchange *ex, const double *send,
                              double *recv)
{
  extern const LinkLibrary poiseMockLibrary;
  return poiseMockLibrary.exchange(dev, library, ex, send, recv + 1);
}

/* The library fails on one rank, in each of its steps: all ranks know it, and exchange by the host. */
static void TestLibrary(PoiseContext ctx)
{
  NEEDS_MOCKS(ctx);
  Device *dev = ctx->device;
  const DeviceOps *own = dev->ops;
  LinkLibrary library = *own->link->library;
  LinkDevice device = *own->link;
  DeviceOps ops = *own;
  device.library = &library;
  ops.link = &device;
  poiseLinkClose(ctx);
  for (int k = 0; k < 5; k++) {
    static const char *const words[] = {"it cannot be loaded", "nobody is invited", "nobody joins",
                                        "a sum over ranks is", "number 0 from rank"};
    int fails = k == 1 ? 0 : PoiseSize(ctx) - 1;
    library = *own->link->library;
    if (k == 0) library.load = NoLoad;
    if (k == 1) library.invite = NoInvite;
    if (k == 2) library.join = NoJoin;
    if (k == 3) library.gather = FalseGather;
    if (k == 4) library.exchange = FalseExchange;
    if (PoiseRank(ctx) == fails) dev->ops = &ops;
    PoiseErr code = PoiseRank(ctx) != fails ? POISE_ERR_REMOTE
                    : k == 0                ? POISE_ERR_UNSUPPORTED
                    : k < 3                 ? POISE_ERR_DEVICE
                                            : POISE_ERR_COMM;
    Refused(ctx, LINK_LIBRARY, code, words[k]);
    ctx->hooks.machine = HalfMachine;
    Refused(ctx, LINK_AUTO, POISE_OK, words[k]);
    CHECK(strstr(poiseLinkWords(ctx), "no peer access: ranks 0 and 1 are on different hosts; no NCCL: ") !=
          NULL);
    ctx->hooks.machine = NULL;
    dev->ops = own;
  }
  dev->ops = &ops;
  library = *own->link->library;
  int id = dev->id;
  library.most = 1, dev->id = 0;
  Refused(ctx, LINK_LIBRARY, POISE_ERR_UNSUPPORTED, "ranks share a device, at most 1 may");
  dev->ops = own, dev->id = id;
}

/* The link that *arg asks for, made anew, and a sum by it. */
static PoiseErr OpenAnew(PoiseContext ctx, void *arg)
{
  double *v = NULL;
  poiseLinkClose(ctx);
  TRY(poiseLinkOpen(ctx, *(const LinkWish *)arg));
  PoiseErr e = PoiseAgree(ctx, poiseLinkAlloc(ctx->link, sizeof *v, "a sum", (void **)&v));
  if (!e) e = poiseLinkSum(ctx->link, (LinkSumArgs){.n = 1, .count = 1, .partial = v, .dst = v});
  if (!e) e = poiseDeviceSync(ctx->device);
  poiseLinkFree(ctx->link, sizeof *v, v);
  poiseLinkClose(ctx);
  return PoiseAgree(ctx, e);
}

/* Memory runs out on one rank. */
static void TestMemory(PoiseContext ctx)
{
  LinkWish wishes[] = {LINK_PEER, LINK_LIBRARY};
  NEEDS_MOCKS(ctx);
  for (int k = 0; k < 2; k++) TestAllocationFailures(ctx, OpenAnew, &wishes[k]);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"unreached", TestUnreached, 0}, {"places", TestPlaces, 0},
                               {"wishes", TestWishes, 0},       {"library", TestLibrary, 0},
                               {"memory", TestMemory, 0},       {NULL, NULL, 0}};
  return TestMain(argc, argv, "link_choice", tests);
}

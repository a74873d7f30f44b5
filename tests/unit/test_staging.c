/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of large arrays through pinned buffers: awkward sizes and addresses, both ways, and no memory. */
#include "harness.h"
#include "sample.h"
#include "sys/device/staging.h"
#include "sys/sys.h"

enum { BUFFER = 4096, SMALL = BUFFER / 32, MADE = 4 * BUFFER, MOST = 100003, ODD = 3 };

/* Bytes that differ from place to place and from seed to seed. */
static void Fill(unsigned char *p, size_t n, unsigned seed)
{
  for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(i * 131 + i / 251 + seed);
}

static size_t Wrong(const unsigned char *p, size_t n, unsigned seed)
{
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) wrong += p[i] != (unsigned char)(i * 131 + i / 251 + seed);
  return wrong;
}

typedef struct Arrays {
  Device *dev;
  unsigned char *host, *back;
  char *there;
  int threads;
} Arrays;

/* The device with buffers of `bytes`, yet to be made. */
static void Use(PoiseContext ctx, size_t bytes, int threads)
{
  poiseStagingDestroy(ctx->device);
  ctx->device->unstaged = 0;
  ctx->device->threads = threads;
  poiseContextHome(ctx)->hooks.staging = bytes;
}

static bool Begin(PoiseContext ctx, Arrays *a)
{
  void *there = NULL;
  *a = (Arrays){.dev = ctx->device, .threads = ctx->device->threads};
  bool ok = CHECK_OK(poiseAlloc(ctx, MOST + ODD, "host", &a->host)) &&
            CHECK_OK(poiseAlloc(ctx, MOST + ODD, "back", &a->back)) &&
            CHECK_OK(poiseDeviceAlloc(a->dev, MOST + ODD, "there", &there));
  a->there = there;
  return ok;
}

static void End(PoiseContext ctx, Arrays *a)
{
  void *there = a->there;
  Use(ctx, STAGING_BYTES, a->threads);
  poiseDeviceFree(a->dev, MOST + ODD, &there);
  poiseFree(ctx, &a->host);
  poiseFree(ctx, &a->back);
}

/* There and back. at: bytes by which all addresses are off. */
static void Round(const Arrays *a, size_t bytes, size_t at, unsigned seed)
{
  Device *dev = a->dev;
  bool staged = dev->staging && bytes >= poiseContextHome(dev->ctx)->hooks.staging / 32;
  Fill(a->host + at, bytes, seed);
  memset(a->back, 0, MOST + ODD);
  CHECK_OK(poiseDeviceCopyArray(dev, a->there + at, a->host + at, bytes, COPY_TO_DEVICE));
  if (!staged) CHECK_OK(poiseDeviceSync(dev));
  memset(a->host, 0, MOST + ODD); /* it is free: at once where it was staged */
  CHECK_OK(poiseDeviceCopyArray(dev, a->back + at, a->there + at, bytes, COPY_TO_HOST));
  if (!staged) CHECK_OK(poiseDeviceSync(dev));
  CHECK_INT(Wrong(a->back + at, bytes, seed), 0);
  CHECK(at + bytes == MOST + ODD || a->back[at + bytes] == 0);
  CHECK(at == 0 || a->back[at - 1] == 0);
}

static void TestSizes(PoiseContext ctx)
{
  static const size_t sizes[] = {
      1,          SMALL - 1,      SMALL,      SMALL + 1,      BUFFER - 1,     BUFFER,    BUFFER + 1,
      2 * BUFFER, 4 * BUFFER - 1, 4 * BUFFER, 4 * BUFFER + 1, 5 * BUFFER + 7, 65536 + 1, MOST};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  Arrays a;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host copies nothing");
  if (!Begin(ctx, &a)) return;
  for (int threads = 1; threads <= 3; threads += 2)
    for (int large = 0; large < 2; large++) { /* the second with chunks that threads share */
      size_t bytes = large ? 1 << 17 : BUFFER;
      Use(ctx, bytes, threads);
      Round(&a, MOST, 0, 1), Round(&a, MOST, 0, 1); /* the buffers are made */
      for (int k = 0; k < 2; k++) Round(&a, MOST, 0, 1);
      CHECK(a.dev->staging != NULL);
      for (size_t s = 0; s < SIZES; s++)
        for (size_t at = 0; at <= ODD; at += ODD) Round(&a, sizes[s], at, (unsigned)(7 * s + at));
    }
  CHECK_OK(poiseDeviceCopyArray(a.dev, a.there, NULL, 0, COPY_TO_DEVICE));
  End(ctx, &a);
}

/* Several uploads are under way at once, and a download. */
static void TestQueued(PoiseContext ctx)
{
  enum { PARTS = 5, PART = 2 * BUFFER + 100 };
  Arrays a;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host copies nothing");
  if (!Begin(ctx, &a)) return;
  Use(ctx, BUFFER, 1);
  Round(&a, MADE, 0, 1);
  for (unsigned k = 0; k < PARTS; k++) {
    Fill(a.host, PART, k);
    CHECK_OK(poiseDeviceCopyArray(a.dev, a.there + k * PART, a.host, PART, COPY_TO_DEVICE));
  }
  for (unsigned k = 0; k < PARTS; k++) {
    CHECK_OK(poiseDeviceCopyArray(a.dev, a.back, a.there + k * PART, PART, COPY_TO_HOST));
    CHECK_INT(Wrong(a.back, PART, k), 0);
    Fill(a.host, PART, 9 + k); /* the buffers change sides */
    CHECK_OK(poiseDeviceCopyArray(a.dev, a.there + k * PART, a.host, PART, COPY_TO_DEVICE));
  }
  for (unsigned k = 0; k < PARTS; k++) {
    CHECK_OK(poiseDeviceCopyArray(a.dev, a.back, a.there + k * PART, PART, COPY_TO_HOST));
    CHECK_INT(Wrong(a.back, PART, 9 + k), 0);
  }
  End(ctx, &a);
}

/* Buffers are made when it has been worth it. Without memory for them copies are right as well. */
static void TestMade(PoiseContext ctx)
{
  enum { ALLOCATIONS = 3 };
  Arrays a;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host copies nothing");
  if (!Begin(ctx, &a)) return;
  Use(ctx, BUFFER, 1);
  int64_t live = ctx->memory.live;
  for (int k = 0; k < 100; k++) Round(&a, SMALL - 1, 0, 5);
  CHECK(!a.dev->staging);
  CHECK_OK(poiseDeviceCopyArray(a.dev, a.there, a.host, MADE - 1, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceSync(a.dev));
  CHECK(!a.dev->staging);
  Round(&a, MADE, 0, 6);
  CHECK(a.dev->staging != NULL);
  CHECK_INT(ctx->memory.live, live + ALLOCATIONS);
  for (int64_t fail = 1; fail <= ALLOCATIONS; fail++) {
    Use(ctx, BUFFER, 1);
    CHECK_INT(ctx->memory.live, live);
    a.dev->unstaged = MADE - 1;
    poiseAllocFailAt(ctx, fail);
    Fill(a.host, MADE - 1, 3);
    CHECK_OK(poiseDeviceCopyArray(a.dev, a.there, a.host, MADE - 1, COPY_TO_DEVICE));
    CHECK_OK(poiseDeviceSync(a.dev));
    CHECK_INT(ctx->memory.fail_at, 0);
    CHECK(!a.dev->staging && PoiseErrorMessage()[0] == 0);
    CHECK_INT(ctx->memory.live, live);
    Round(&a, MADE, 0, 8); /* and the next time there is memory */
    CHECK(a.dev->staging != NULL);
  }
  End(ctx, &a);
}

/* A copy counts once, however many chunks it has; and is named where copies are forbidden. */
static void TestCounts(PoiseContext ctx)
{
  Arrays a;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host copies nothing");
  if (!Begin(ctx, &a)) return;
  Use(ctx, BUFFER, 1);
  Round(&a, MADE, 0, 1);
  int64_t copies = a.dev->copies, up = a.dev->copied[COPY_TO_DEVICE], down = a.dev->copied[COPY_TO_HOST];
  Round(&a, MOST, 0, 2);
  CHECK_INT(a.dev->copies, copies + 2);
  CHECK_INT(a.dev->copied[COPY_TO_DEVICE], up + MOST);
  CHECK_INT(a.dev->copied[COPY_TO_HOST], down + MOST);
  a.dev->forbids = true;
  CHECK_ERR(poiseDeviceCopyArray(a.dev, a.there, a.host, MOST, COPY_TO_DEVICE), POISE_ERR_UNSUPPORTED,
            "a copy of 100003 bytes to the device");
  a.dev->forbids = false;
  void *pinned = NULL; /* such memory needs no buffers: the copy is enqueued alone */
  CHECK_OK(a.dev->ops->alloc_pinned(a.dev, MADE, "pinned", &pinned));
  Use(ctx, BUFFER, 1);
  a.dev->unstaged = MADE;
  if (a.dev->ops->pinned) {
    CHECK_OK(poiseDeviceCopyArray(a.dev, a.there, pinned, MADE, COPY_TO_DEVICE));
    CHECK(!a.dev->staging);
  }
  a.dev->ops->free_pinned(a.dev, pinned);
  End(ctx, &a);
}

static const Test tests[] = {{"sizes", TestSizes, 0},
                             {"queued", TestQueued, 0},
                             {"made", TestMade, 0},
                             {"counts", TestCounts, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "staging", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Devices and buffers. The mock finds the mistakes that it is made for. Buffers keep their promise in every
  order of calls, streams run late, and graphs replay. Each rank makes its own devices, so one configuration
  of devices is enough.
*/
#include "harness.h"
#include "sys/sys.h"
#include "vec/vec_kernels.h"

enum { N = 5 }; /* entries of most arrays */

static Device *Open(PoiseContext ctx, const char *name)
{
  Device *dev = NULL;
  CHECK_OK(poiseDeviceCreate(ctx, name, &dev));
  return dev;
}

static double *DeviceArray(Device *dev, int64_t n, const char *what)
{
  void *p = NULL;
  CHECK_OK(dev->ops->alloc(dev, (size_t)n * sizeof(double), what, &p));
  return p;
}

static double *Pinned(Device *dev, int64_t n)
{
  void *p = NULL;
  CHECK_OK(dev->ops->alloc_pinned(dev, (size_t)n * sizeof(double), "test results", &p));
  return p;
}

static PoiseErr Set(Device *dev, int64_t n, double *w, double value)
{
  return LAUNCH(dev, phase, &(PhaseArgs){.id = PHASE_vec_set, .n = n, .out = {w}, .c = {{.value = value}}});
}

/* w = a x + b y */
static PoiseErr Axpby(Device *dev, int64_t n, double *w, double a, const double *x, double b, const double *y)
{
  PhaseArgs p = {.id = PHASE_vec_axpby, .n = n, .in = {x, y}, .out = {w}, .c = {{.value = a}, {.value = b}}};
  return LAUNCH(dev, phase, &p);
}

static PoiseErr Fetch(Device *dev, int64_t n, double *host, const double *device)
{
  return poiseDeviceCopy(dev, host, device, (size_t)n * sizeof(double), COPY_TO_HOST);
}

static PoiseErr Send(Device *dev, int64_t n, double *device, const double *host)
{
  return poiseDeviceCopy(dev, device, host, (size_t)n * sizeof(double), COPY_TO_DEVICE);
}

/* All n entries are v, or NaN if v is. */
static bool All(const double *p, int64_t n, double v)
{
  for (int64_t i = 0; i < n; i++)
    if (isnan(v) ? !isnan(p[i]) : p[i] != v) return false;
  return true;
}

static void Fill(double *p, int64_t n, double v)
{
  for (int64_t i = 0; i < n; i++) p[i] = v;
}

/* A buffer of N entries v, valid on the host only. */
static void NewBuffer(Device *dev, const char *what, double v, Buffer *b)
{
  double *p;
  CHECK_OK(poiseBufferCreate(dev, N * sizeof(double), what, b));
  CHECK_OK(poiseBufferWrite(b, HOST, &p));
  Fill(p, N, v);
}

/* ---- planted mistakes, each beside the same calls done right --------------------------------- */

static void TestStaleCopy(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  for (int plant = 0; plant < 2; plant++) {
    Buffer b;
    double *host, *device;
    const double *seen;
    NewBuffer(dev, "array", 1, &b);
    CHECK_OK(poiseBufferUpdate(&b, HOST, &host));
    CHECK_OK(poiseBufferUpdate(&b, DEVICE, &device));
    CHECK_OK(Axpby(dev, N, device, 3, device, 0, NULL));
    CHECK_OK(poiseDeviceSync(dev));
    seen = host;
    if (!plant) CHECK_OK(poiseBufferRead(&b, HOST, &seen));
    CHECK(All(seen, N, plant ? NAN : 3));
    CHECK_OK(poiseBufferUpdate(&b, HOST, &host)); /* and the other way round */
    Fill(host, N, 4);
    if (!plant) CHECK_OK(poiseBufferRead(&b, DEVICE, &device));
    CHECK_OK(poiseDeviceSync(dev));
    CHECK(All(device, N, plant ? NAN : 4));
    poiseBufferDestroy(&b);
  }
  poiseDeviceDestroy(&dev);
}

static void TestWriteThroughReadOnHost(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  for (int plant = 0; plant < 2; plant++) {
    Buffer b;
    double *p;
    const double *read;
    NewBuffer(dev, "planted array", 1, &b);
    CHECK_OK(poiseBufferRead(&b, DEVICE, &read));
    CHECK_OK(poiseBufferRead(&b, HOST, &p)); /* a read */
    if (plant) p[2] = 9;
    if (plant)
      CHECK_ERR(poiseBufferRead(&b, HOST, &read), POISE_ERR_INTERNAL,
                "copies of planted array (40 bytes), said to be equal");
    else
      CHECK_OK(poiseBufferRead(&b, HOST, &read));
    poiseBufferDestroy(&b);
  }
  poiseDeviceDestroy(&dev);
}

/* Wherever the byte is, of an array that is compared in blocks and a rest. */
static void TestAnyByteIsSeen(PoiseContext ctx)
{
  enum { BYTES = 1600 };
  static const int at[] = {0, 511, 512, 1023, 1024, 1536, BYTES - 1};
  Device *dev = Open(ctx, "mock");
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    Buffer b;
    unsigned char *p;
    const void *read;
    char words[80];
    CHECK_OK(poiseBufferCreate(dev, BYTES, "long array", &b));
    CHECK_OK(poiseBufferRead(&b, DEVICE, &read));
    CHECK_OK(poiseBufferRead(&b, HOST, &p));
    p[at[k]] ^= 1;
    snprintf(words, sizeof words, "copies of long array (%d bytes), said to be equal, differ at byte %d",
             BYTES, at[k]);
    CHECK_ERR(poiseBufferRead(&b, HOST, &read), POISE_ERR_INTERNAL, words);
    p[at[k]] ^= 1;
    CHECK_OK(poiseBufferRead(&b, HOST, &read));
    poiseBufferDestroy(&b);
  }
  poiseDeviceDestroy(&dev);
}

static void TestWriteThroughReadOnDevice(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  for (int plant = 0; plant < 2; plant++) {
    Buffer b;
    double *p;
    const double *read;
    NewBuffer(dev, "planted array", 1, &b);
    CHECK_OK(plant ? poiseBufferRead(&b, DEVICE, &p) : poiseBufferUpdate(&b, DEVICE, &p));
    CHECK_OK(Set(dev, 1, p + 4, 7));
    if (plant) {
      CHECK_ERR(poiseBufferRead(&b, HOST, &read), POISE_ERR_INTERNAL,
                "differ at byte 38"); /* little-endian 1 and 7 */
    } else if (CHECK_OK(poiseBufferRead(&b, HOST, &read))) {
      CHECK(All(read, 4, 1) && read[4] == 7);
    }
    poiseBufferDestroy(&b);
  }
  poiseDeviceDestroy(&dev);
}

static void TestReadWithoutWait(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *device = DeviceArray(dev, N, "array"), *host = Pinned(dev, N);
  for (int plant = 0; plant < 2; plant++) {
    Fill(host, N, 6);
    CHECK_OK(Set(dev, N, device, 5));
    CHECK_OK(Fetch(dev, N, host, device));
    if (!plant) CHECK_OK(poiseDeviceSync(dev));
    CHECK(All(host, N, plant ? NAN : 5));
    CHECK_OK(poiseDeviceSync(dev));
    CHECK(All(host, N, 5));
  }
  dev->ops->free(dev, device);
  dev->ops->free_pinned(dev, host);
  poiseDeviceDestroy(&dev);
}

static void TestWriteForUpdate(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  for (int plant = 0; plant < 2; plant++)
    for (int side = HOST; side <= DEVICE; side++) {
      Buffer b;
      double *p;
      const double *read;
      NewBuffer(dev, "array", 1, &b);
      CHECK_OK((plant ? poiseBufferWrite : poiseBufferUpdate)(&b, (Side)side, &p));
      if (side == HOST)
        Fill(p, 2, 8);
      else
        CHECK_OK(Set(dev, 2, p, 8));
      CHECK_OK(poiseBufferRead(&b, HOST, &read));
      CHECK(All(read, 2, 8) && All(read + 2, N - 2, plant ? NAN : 1));
      poiseBufferDestroy(&b);
    }
  poiseDeviceDestroy(&dev);
}

static Graph *CaptureScale(Device *dev, double *w, const double *x)
{
  Graph *graph = NULL;
  CHECK_OK(dev->ops->capture_begin(dev, NULL));
  CHECK_OK(Axpby(dev, N, w, 2, x, 0, NULL));
  CHECK_OK(dev->ops->capture_end(dev, &graph));
  CHECK(graph != NULL);
  return graph;
}

static void TestPointerThatMoved(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *y = DeviceArray(dev, N, "result");
  for (int plant = 0; plant < 2; plant++) {
    Buffer b;
    const double *x;
    NewBuffer(dev, "moved array", 4, &b);
    CHECK_OK(poiseBufferRead(&b, DEVICE, &x));
    Graph *graph = CaptureScale(dev, y, x);
    CHECK_OK(dev->ops->replay(dev, graph, 1));
    CHECK_OK(poiseDeviceSync(dev));
    CHECK(All(y, N, 8));
    if (plant) { /* it moves: a new block of the same name */
      poiseBufferDestroy(&b);
      NewBuffer(dev, "moved array", 4, &b);
      CHECK_OK(poiseBufferRead(&b, DEVICE, &x));
    }
    CHECK_OK(dev->ops->replay(dev, graph, 1));
    if (plant)
      CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL,
                "kernel phase was given a pointer into block 'moved array' of 40");
    else
      CHECK_OK(poiseDeviceSync(dev));
    dev->ops->graph_free(dev, &graph);
    CHECK(graph == NULL);
    poiseBufferDestroy(&b);
  }
  dev->ops->free(dev, y);
  poiseDeviceDestroy(&dev);
}

/* Work that was queued before its operand was freed is good, as on a device whose frees keep the order of the
   stream. */
static void TestFreedWhileQueued(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *y = DeviceArray(dev, N, "result"), host[N];
  Buffer b;
  const double *x;
  NewBuffer(dev, "array", 4, &b);
  CHECK_OK(poiseBufferRead(&b, DEVICE, &x));
  CHECK_OK(Axpby(dev, N, y, 2, x, 0, NULL));
  poiseBufferDestroy(&b);
  CHECK_OK(Fetch(dev, N, host, y));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(host, N, 8));
  CHECK_OK(Axpby(dev, N, y, 2, x, 0, NULL)); /* queued after it was freed is not */
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL,
            "kernel phase was given a pointer into block 'array' of 40 bytes");
  CHECK_OK(Fetch(dev, N, host, x));
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "copy was given a pointer into block 'array'");
  dev->ops->free(dev, y);
  poiseDeviceDestroy(&dev);
}

/* Each of the blocks freed last is known, in whatever order they were freed. */
static void TestFreedMany(PoiseContext ctx)
{
  enum { MANY = 70, REMEMBERED = 64 };
  Device *dev = Open(ctx, "mock");
  double *y = DeviceArray(dev, N, "result"), *x[MANY];
  for (int k = 0; k < MANY; k++) x[k] = DeviceArray(dev, N, "array");
  for (int k = 0; k < MANY; k++) dev->ops->free(dev, x[33 * k % MANY]);
  for (int k = MANY - REMEMBERED; k < MANY; k++) {
    CHECK_OK(Axpby(dev, 1, y, 2, x[33 * k % MANY] + N - 1, 0, NULL));
    CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "a pointer into block 'array'");
  }
  CHECK_OK(Axpby(dev, N, y, 2, y, 0, NULL));
  CHECK_OK(poiseDeviceSync(dev));
  dev->ops->free(dev, y);
  poiseDeviceDestroy(&dev);
}

/* The same for memory that host and device share. */
static void TestPinnedFreed(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *x = DeviceArray(dev, N, "x"), *pinned = Pinned(dev, N);
  CHECK(All(pinned, N, NAN));
  Fill(pinned, N, 3);
  CHECK_OK(Send(dev, N, x, pinned));
  dev->ops->free_pinned(dev, pinned);
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(x, N, 3));
  CHECK_OK(Set(dev, N, pinned, 1));
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL,
            "kernel phase was given a pointer into block 'test results'");
  dev->ops->free(dev, x);
  poiseDeviceDestroy(&dev);
}

static void TestFreedTwice(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  for (int plant = 0; plant < 2; plant++) {
    double *x = DeviceArray(dev, N, "x");
    dev->ops->free(dev, x);
    if (plant) dev->ops->free(dev, x);
    if (plant)
      CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "where no block starts");
    else
      CHECK_OK(poiseDeviceSync(dev));
  }
  poiseDeviceDestroy(&dev);
}

/* What a real device refuses while a graph is captured; the capture goes on. */
static void TestForbiddenInCapture(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *y = DeviceArray(dev, N, "result");
  Graph *graph, *inner = CaptureScale(dev, y, y);
  Buffer b;
  const double *read;
  void *p;
  NewBuffer(dev, "array", 1, &b);
  CHECK_OK(Set(dev, N, y, 1));
  CHECK_OK(poiseBufferRead(&b, DEVICE, &read)); /* a copy runs */
  CHECK_OK(dev->ops->capture_begin(dev, NULL));
  CHECK_OK(Axpby(dev, N, y, 5, y, 0, NULL));
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "a wait inside the capture");
  CHECK_ERR(dev->ops->wait(dev, 0), POISE_ERR_INTERNAL, "a wait inside the capture");
  CHECK_ERR(poiseBufferRead(&b, HOST, &read), POISE_ERR_INTERNAL, "a wait inside the capture");
  CHECK_ERR(dev->ops->capture_begin(dev, NULL), POISE_ERR_INTERNAL, "a capture inside a capture");
  CHECK_ERR(dev->ops->replay(dev, inner, 1), POISE_ERR_INTERNAL, "a replay inside the capture");
  CHECK_ERR(dev->ops->alloc(dev, 8, "late array", &p), POISE_ERR_INTERNAL,
            "an allocation (late array) inside the capture");
  CHECK_OK(dev->ops->capture_end(dev, &graph));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(y, N, 1)); /* captured, not run */
  CHECK_OK(dev->ops->replay(dev, graph, 1));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(y, N, 5));
  dev->ops->graph_free(dev, &graph);
  dev->ops->graph_free(dev, &inner);
  poiseBufferDestroy(&b);
  dev->ops->free(dev, y);
  poiseDeviceDestroy(&dev);
}

/* Phase ksp_norm0 takes its square root in place when it is told to read the slot that it writes. */
static void TestPrologueReadsWhatItWrites(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *slots = DeviceArray(dev, POISE_SLOTS, "slots"), host[POISE_SLOTS];
  for (int plant = 0; plant < 2; plant++) {
    int k = plant ? SLOT_NORM0 : SLOT_FIRST_OWN;
    CHECK_OK(Set(dev, POISE_SLOTS, slots, 0));
    CHECK_OK(Set(dev, 1, slots + k, 16));
    CHECK_OK(LAUNCH(dev, phase, &(PhaseArgs){.id = PHASE_ksp_norm0, .k = k, .slots = slots}));
    CHECK_OK(Fetch(dev, POISE_SLOTS, host, slots));
    if (plant)
      CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "ksp_norm0 reads a slot that it writes");
    else
      CHECK_OK(poiseDeviceSync(dev));
    CHECK(host[SLOT_NORM0] == 4);
  }
  dev->ops->free(dev, slots);
  poiseDeviceDestroy(&dev);
}

/* ---- buffers against a model ----------------------------------------------------------------- */

enum { READ, WRITE, UPDATE, NWHAT, LENGTH = 4 };
enum { CREATED, COPIED, ADOPTED, BORROWED, NKIND };

typedef struct Trial {
  Device *dev;
  int kind, n; /* n entries, all equal */
  Buffer b;
  double *user; /* the array that was wrapped; NULL: none */
  double truth; /* what must be seen */
  double *log;  /* on the device: what kernels saw */
  double expected[LENGTH];
  int logged;
} Trial;

static bool Begin(Trial *t)
{
  size_t bytes = (size_t)t->n * sizeof(double);
  t->truth = t->kind == CREATED ? 0 : 20;
  t->user = NULL;
  t->logged = 0;
  if (t->kind == CREATED) return CHECK_OK(poiseBufferCreate(t->dev, bytes, "model", &t->b));
  t->user = malloc(bytes + 1); /* never NULL */
  Fill(t->user, t->n, 20);
  PoiseOwn own = t->kind == COPIED ? POISE_COPY : t->kind == ADOPTED ? POISE_ADOPT : POISE_BORROW;
  return CHECK_OK(poiseBufferWrap(t->dev, bytes, "model", t->user, own, &t->b));
}

static void OnHost(Trial *t, int what)
{
  double *p = NULL;
  if (what == READ) CHECK_OK(poiseBufferRead(&t->b, HOST, &p));
  if (what == WRITE) CHECK_OK(poiseBufferWrite(&t->b, HOST, &p));
  if (what == UPDATE) CHECK_OK(poiseBufferUpdate(&t->b, HOST, &p));
  if (what != WRITE)
    CHECK(All(p, t->n, t->truth));
  else if (!t->dev->ops->is_host && t->b.own == POISE_COPY)
    CHECK(All(p, t->n, NAN));
  if (what == READ) return;
  t->truth = what == WRITE ? 30 : t->truth + 1;
  Fill(p, t->n, t->truth);
}

static void OnDevice(Trial *t, int what)
{
  double *p = NULL;
  if (what == READ) {
    CHECK_OK(poiseBufferRead(&t->b, DEVICE, &p));
    CHECK_OK(Axpby(t->dev, t->n, t->log + t->logged * t->n, 1, p, 0, NULL));
    t->expected[t->logged++] = t->truth;
  } else if (what == WRITE) {
    CHECK_OK(poiseBufferWrite(&t->b, DEVICE, &p));
    CHECK_OK(Set(t->dev, t->n, p, t->truth = 40));
  } else {
    CHECK_OK(poiseBufferUpdate(&t->b, DEVICE, &p));
    CHECK_OK(Axpby(t->dev, t->n, p, 2, p, 0, NULL));
    t->truth *= 2;
  }
}

static void End(Trial *t)
{
  double seen[LENGTH * N];
  const double *p;
  CHECK_OK(Fetch(t->dev, t->logged * t->n, seen, t->log));
  CHECK_OK(poiseDeviceSync(t->dev));
  for (int k = 0; k < t->logged; k++) CHECK(All(seen + k * t->n, t->n, t->expected[k]));
  for (int i = 0; i < t->n && t->b.own != POISE_COPY; i++) CHECK(!isnan(t->user[i])); /* never poisoned */
  CHECK_OK(poiseBufferSyncBorrowed(&t->b));
  if (t->b.own != POISE_COPY) CHECK(All(t->user, t->n, t->truth));
  CHECK_OK(poiseBufferRead(&t->b, HOST, &p));
  CHECK(All(p, t->n, t->truth));
  if (t->kind == COPIED) CHECK(All(t->user, t->n, 20));
  poiseBufferDestroy(&t->b);
  if (t->kind != ADOPTED) free(t->user);
}

/* All sequences of read, write, update on host and device; ranks share them out. */
static void TestSequences(PoiseContext ctx)
{
  static const char *const names[] = {"host", "mock"};
  int count = 1, all = 2 * NWHAT;
  for (int k = 0; k < LENGTH; k++) count *= all;
  for (int d = 0; d < 2; d++) {
    Trial t = {.dev = Open(ctx, names[d])};
    int64_t live = ctx->memory.live;
    t.log = DeviceArray(t.dev, LENGTH * N, "what kernels saw");
    for (int c = PoiseRank(ctx); c < count * NKIND; c += PoiseSize(ctx)) {
      int sequence = c / NKIND;
      t.kind = c % NKIND;
      t.n = 3;
      if (!Begin(&t)) break;
      for (int k = 0; k < LENGTH; k++, sequence /= all) {
        int op = sequence % all;
        (op / NWHAT == HOST ? OnHost : OnDevice)(&t, op % NWHAT);
      }
      End(&t);
    }
    t.dev->ops->free(t.dev, t.log);
    CHECK(ctx->memory.live <= live + 2); /* the mock's queue and table of blocks */
    poiseDeviceDestroy(&t.dev);
  }
}

static void TestEmptyBuffers(PoiseContext ctx)
{
  static const char *const names[] = {"host", "mock"};
  for (int d = 0; d < 2; d++) {
    Trial t = {.dev = Open(ctx, names[d])};
    int64_t live = ctx->memory.live;
    for (t.kind = 0; t.kind < NKIND; t.kind++) {
      Begin(&t);
      for (int op = 0; op < 2 * NWHAT; op++) (op / NWHAT == HOST ? OnHost : OnDevice)(&t, op % NWHAT);
      CHECK_INT(poiseBufferBytes(&t.b, DEVICE), 0);
      End(&t);
    }
    CHECK_OK(poiseBufferWrap(t.dev, 0, "nothing", NULL, POISE_COPY, &t.b));
    poiseBufferDestroy(&t.b);
    poiseBufferDestroy(&t.b); /* and what is empty */
    CHECK(ctx->memory.live <= live + 1);
    poiseDeviceDestroy(&t.dev);
  }
}

/* Settle copies only where somebody outside looks, and not twice. */
static void TestSyncBorrowed(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double user[N], *p;
  const double *read;
  Buffer b;
  Fill(user, N, 1);
  CHECK_OK(poiseBufferWrap(dev, sizeof user, "user's", user, POISE_BORROW, &b));
  CHECK_OK(poiseBufferRead(&b, HOST, &read));
  CHECK(read == user);
  CHECK_OK(poiseBufferUpdate(&b, DEVICE, &p));
  CHECK_OK(Axpby(dev, N, p, 3, p, 0, NULL));
  int64_t copies = dev->copies;
  CHECK_OK(poiseBufferSyncBorrowed(&b));
  CHECK(All(user, N, 3));
  int64_t waits = dev->waits;
  CHECK_OK(poiseBufferSyncBorrowed(&b));
  CHECK_INT(dev->copies, copies + 1);
  CHECK_INT(dev->waits, waits);
  CHECK(dev->copied[COPY_TO_DEVICE] == sizeof user && dev->copied[COPY_TO_HOST] == sizeof user);
  CHECK_OK(poiseBufferRead(&b, DEVICE, &read)); /* still there */
  CHECK_INT(dev->copies, copies + 1);
  poiseBufferDestroy(&b);
  NewBuffer(dev, "own", 1, &b);
  CHECK_OK(poiseBufferUpdate(&b, DEVICE, &p));
  copies = dev->copies;
  CHECK_OK(poiseBufferSyncBorrowed(&b));
  CHECK_INT(dev->copies, copies);
  poiseBufferDestroy(&b);
  poiseDeviceDestroy(&dev);
}

static PoiseErr UseBuffers(Device *dev)
{
  double user[N] = {0}, *p;
  const double *read;
  Buffer b = {0}, w = {0};
  PoiseErr e = poiseBufferCreate(dev, N * sizeof(double), "array", &b);
  if (!e) e = poiseBufferUpdate(&b, HOST, &p);
  if (!e) e = poiseBufferUpdate(&b, DEVICE, &p);
  if (!e) e = poiseBufferRead(&b, HOST, &read);
  if (!e) e = poiseBufferWrap(dev, sizeof user, "user's array", user, POISE_COPY, &w);
  if (!e) e = poiseBufferWrite(&w, DEVICE, &p);
  if (!e) e = Set(dev, N, p, 1);
  if (!e) e = poiseBufferRead(&w, HOST, &read);
  poiseBufferDestroy(&b);
  poiseBufferDestroy(&w);
  return e;
}

static PoiseErr UseGraph(Device *dev)
{
  Graph *graph = NULL;
  void *p = NULL;
  if (!dev->ops->replay) return POISE_OK;
  PoiseErr e = dev->ops->alloc(dev, N * sizeof(double), "array", &p);
  if (!e) {
    e = dev->ops->capture_begin(dev, NULL);
    PoiseErr end = POISE_OK;
    if (!e) {
      e = Set(dev, N, p, 1);
      end = dev->ops->capture_end(dev, &graph);
    }
    if (!e) e = end;
  }
  if (!e) e = dev->ops->replay(dev, graph, 1);
  if (!e) e = poiseDeviceSync(dev);
  if (graph) dev->ops->graph_free(dev, &graph);
  dev->ops->free(dev, p);
  return e;
}

static PoiseErr UseDevice(PoiseContext ctx, void *name)
{
  Device *dev;
  PoiseErr e = poiseDeviceCreate(ctx, name, &dev);
  if (!e) e = UseBuffers(dev);
  if (!e) e = UseGraph(dev);
  poiseDeviceDestroy(&dev);
  return PoiseAgree(ctx, e);
}

static void TestAllocations(PoiseContext ctx)
{
  TestAllocationFailures(ctx, UseDevice, "host");
  TestAllocationFailures(ctx, UseDevice, "mock");
}

/* A buffer that could not be brought to a side is as it was before: the next attempt succeeds and sees the
   value. */
static void TestFailedAccess(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  PoiseErr (*const calls[])(Buffer *, Side, void *) = {poiseBufferRead, poiseBufferUpdate, poiseBufferWrite};
  for (int what = 0; what < NWHAT; what++)
    for (int n = 1; n < 20; n++) {
      Buffer b;
      double *p;
      const double *read;
      NewBuffer(dev, "array", 2, &b);
      poiseAllocFailAt(ctx, n);
      PoiseErr e = calls[what](&b, DEVICE, &p);
      bool fired = !ctx->memory.fail_at;
      poiseAllocFailAt(ctx, 0);
      CHECK(fired ? e == POISE_ERR_MEMORY : e == POISE_OK);
      if (fired && CHECK_OK(poiseBufferRead(&b, HOST, &read))) CHECK(All(read, N, 2));
      poiseBufferDestroy(&b);
      if (!fired) break;
      CHECK(n < 19);
    }
  poiseDeviceDestroy(&dev);
}

/* ---- streams, events, graphs ----------------------------------------------------------------- */

static void TestLate(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *x = DeviceArray(dev, N, "x"), *y = DeviceArray(dev, N, "y");
  int64_t event[2];
  CHECK(All(x, N, NAN)); /* new memory holds nothing */
  CHECK_OK(Set(dev, N, x, 1));
  CHECK_OK(dev->ops->record(dev, &event[0]));
  CHECK_OK(Axpby(dev, N, y, 2, x, 0, NULL));
  CHECK_OK(Set(dev, N, x, 3));
  CHECK_OK(dev->ops->record(dev, &event[1]));
  CHECK_OK(Set(dev, N, y, 4));
  CHECK(All(x, N, NAN) && All(y, N, NAN));
  CHECK_OK(dev->ops->wait(dev, event[0]));
  CHECK(All(x, N, 1) && All(y, N, NAN));
  CHECK_OK(dev->ops->wait(dev, event[1]));
  CHECK(All(x, N, 3) && All(y, N, 2));
  CHECK_OK(dev->ops->wait(dev, event[0])); /* long past */
  CHECK(All(y, N, 2));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(x, N, 3) && All(y, N, 4));
  dev->ops->free(dev, x);
  dev->ops->free(dev, y);
  poiseDeviceDestroy(&dev);
}

/* A source is read when its copy runs; and a pinned array may be the source of one copy and the target of the
   next, as the stream keeps their order. */
static void TestCopyOrder(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *x = DeviceArray(dev, N, "x"), *y = DeviceArray(dev, N, "y"), *staged = Pinned(dev, N);
  Graph *graph;
  Fill(staged, N, 1);
  CHECK_OK(Send(dev, N, x, staged));
  Fill(staged, N, 2); /* too early */
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(x, N, 2));
  CHECK_OK(Set(dev, N, y, 7));
  CHECK_OK(Send(dev, N, x, staged));
  CHECK_OK(Fetch(dev, N, staged, y));
  CHECK(All(staged, N, NAN));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(x, N, 2) && All(staged, N, 7));
  CHECK_OK(dev->ops->capture_begin(dev, NULL));
  CHECK_OK(Send(dev, N, x, staged));
  CHECK_OK(Axpby(dev, N, y, 2, x, 0, NULL));
  CHECK_OK(Fetch(dev, N, staged, y));
  CHECK_OK(dev->ops->capture_end(dev, &graph));
  for (int k = 0; k < 3; k++) CHECK_OK(dev->ops->replay(dev, graph, 1));
  CHECK(All(staged, N, NAN));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(All(staged, N, 56));
  dev->ops->graph_free(dev, &graph);
  dev->ops->free(dev, x);
  dev->ops->free(dev, y);
  dev->ops->free_pinned(dev, staged);
  poiseDeviceDestroy(&dev);
}

/* x = 1.1 x + y; y = -0.7 y + x; and x to the host: one turn. */
static void Turn(Device *dev, double *x, double *y, double *host)
{
  CHECK_OK(Axpby(dev, N, x, 1.1, x, 1, y));
  CHECK_OK(Axpby(dev, N, y, -0.7, y, 1, x));
  CHECK_OK(Fetch(dev, N, host, x));
}

static void TestReplay(PoiseContext ctx)
{
  enum { TURNS = 7 };
  Device *dev = Open(ctx, "mock");
  double *x = DeviceArray(dev, N, "x"), *y = DeviceArray(dev, N, "y"), *host = Pinned(dev, N), eager[N];
  Graph *graph, *empty;
  CHECK_OK(Set(dev, N, x, 1));
  CHECK_OK(Set(dev, N, y, 0.3));
  for (int k = 0; k < TURNS; k++) Turn(dev, x, y, host);
  CHECK_OK(poiseDeviceSync(dev));
  memcpy(eager, host, sizeof eager);
  CHECK_OK(Set(dev, N, x, 1));
  CHECK_OK(Set(dev, N, y, 0.3));
  CHECK_OK(dev->ops->capture_begin(dev, NULL));
  Turn(dev, x, y, host);
  CHECK_OK(dev->ops->capture_end(dev, &graph));
  CHECK(!memcmp(host, eager, sizeof eager)); /* capturing changes nothing */
  for (int k = 0; k < TURNS; k++) {
    CHECK_OK(dev->ops->replay(dev, graph, 1));
    CHECK(All(host, N, NAN));
    if (k % 3 == 0) CHECK_OK(poiseDeviceSync(dev));
  }
  CHECK_OK(dev->ops->capture_begin(dev, NULL));
  CHECK_OK(dev->ops->capture_end(dev, &empty));
  CHECK_OK(dev->ops->replay(dev, empty, 1));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(!memcmp(host, eager, sizeof eager));
  dev->ops->graph_free(dev, &graph);
  dev->ops->graph_free(dev, &empty);
  dev->ops->free(dev, x);
  dev->ops->free(dev, y);
  dev->ops->free_pinned(dev, host);
  CHECK_OK(dev->ops->capture_begin(dev, NULL)); /* destroyed inside a capture */
  poiseDeviceDestroy(&dev);
}

/* Two arrays, each op moving the values of one into the other, one place on: any op lost, doubled or out of
   order shows. */
typedef struct Wheel {
  Device *dev;
  double *array[2];
  int32_t *next;
  int64_t turns; /* enqueued */
} Wheel;

static void Roll(Wheel *w, int64_t turns)
{
  for (; turns > 0; turns--, w->turns++) {
    GatherArgs a = {.n = N, .idx = w->next, .x = w->array[w->turns % 2], .out = w->array[(w->turns + 1) % 2]};
    CHECK_OK(LAUNCH(w->dev, gather, &a));
  }
}

static bool Rolled(const Wheel *w, int64_t turns)
{
  for (int i = 0; i < N; i++)
    if (w->array[turns % 2][i] != (double)((i + turns) % N)) return false;
  return true;
}

static void TestLongQueue(PoiseContext ctx)
{
  enum { MANY = 20000, ROUNDS = 4000 };
  int32_t next[N];
  Wheel w = {.dev = Open(ctx, "mock"), .next = next};
  int64_t event, old = 0, old_turns = 0, calls = 0;
  for (int k = 0; k < 2; k++) w.array[k] = DeviceArray(w.dev, N, "wheel");
  for (int i = 0; i < N; i++) w.array[0][i] = i, next[i] = (i + 1) % N;
  for (int k = 0; k < ROUNDS; k++) { /* the head follows the tail, a few ops behind */
    Roll(&w, 1 + k % 5);
    CHECK_OK(w.dev->ops->record(w.dev, &event));
    if (k) {
      CHECK_OK(w.dev->ops->wait(w.dev, old));
      CHECK(Rolled(&w, old_turns));
    }
    old = event, old_turns = w.turns;
    if (k == ROUNDS / 2) calls = ctx->memory.calls;
  }
  CHECK_INT(ctx->memory.calls, calls); /* the queue has found its length */
  CHECK_OK(poiseDeviceSync(w.dev));
  old_turns = w.turns;
  Roll(&w, MANY / 2 - 1);
  CHECK_OK(w.dev->ops->record(w.dev, &event));
  Roll(&w, MANY / 2);
  CHECK_OK(w.dev->ops->wait(w.dev, event));
  CHECK(Rolled(&w, old_turns + MANY / 2 - 1));
  CHECK_OK(poiseDeviceSync(w.dev));
  CHECK(Rolled(&w, w.turns));
  for (int k = 0; k < 2; k++) w.dev->ops->free(w.dev, w.array[k]);
  poiseDeviceDestroy(&w.dev);
}

static void TestQueuedFailure(PoiseContext ctx)
{
  Device *dev = Open(ctx, "mock");
  double *x = DeviceArray(dev, N, "x"), *gone = DeviceArray(dev, N, "gone"),
         *more = DeviceArray(dev, N, "gone too");
  dev->ops->free(dev, gone);
  dev->ops->free(dev, more);
  CHECK_OK(Set(dev, N, gone, 1));
  CHECK_OK(Set(dev, N, x, 2));
  CHECK_OK(Set(dev, N, more, 3));
  CHECK_OK(Axpby(dev, N, x, 2, x, 0, NULL));
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL,
            "'gone"); /* a thread keeps the words of its latest error */
  CHECK(All(x, N, 4));
  CHECK_OK(poiseDeviceSync(dev)); /* reported once */
  CHECK_OK(Set(dev, N, gone, 1));
  CHECK_OK(dev->ops->capture_begin(dev, NULL));
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "a wait inside"); /* this reports another failure */
  Graph *graph;
  CHECK_OK(dev->ops->capture_end(dev, &graph));
  dev->ops->graph_free(dev, &graph);
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "'gone'");
  dev->ops->free(dev, x);
  poiseDeviceDestroy(&dev);
}

/* ---- the registry ---------------------------------------------------------------------------- */

static void TestMissingKernel(PoiseContext ctx)
{
  static const char *const names[] = {"host", "mock"};
  char words[80];
  for (int d = 0; d < 2; d++) {
    Device *dev = Open(ctx, names[d]);
    const DeviceOps *whole = dev->ops;
    DeviceOps ops = *whole;
    KernelFn kernel[KERNEL_COUNT];
    ops.kernel = kernel;
    dev->ops = &ops;
    for (int k = 0; k < KERNEL_COUNT; k++) {
      memcpy(kernel, whole->kernel, sizeof kernel);
      kernel[k] = NULL;
      snprintf(words, sizeof words, "device %s has no kernel %s", names[d], poiseKernelName(k));
      CHECK_ERR(poiseLaunch(dev, k, NULL, 0), POISE_ERR_UNSUPPORTED, words);
    }
    CHECK_INT(dev->launches, 0);
    dev->ops = whole;
    CHECK_OK(Set(dev, 0, NULL, 1));
    CHECK_INT(dev->launches, 1);
    CHECK_OK(poiseDeviceSync(dev));
    poiseDeviceDestroy(&dev);
  }
}

static void TestUnknownDevice(PoiseContext ctx)
{
  Device *dev = (Device *)ctx;
  CHECK_ERR(poiseDeviceCreate(ctx, "abacus", &dev), POISE_ERR_OPTION, "no device 'abacus'");
  CHECK(dev == NULL);
  poiseDeviceDestroy(&dev);
}

static const Test tests[] = {
    {"stale_copy", TestStaleCopy, TEST_HOST_ONLY},
    {"write_through_read_host", TestWriteThroughReadOnHost, TEST_HOST_ONLY},
    {"any_byte_is_seen", TestAnyByteIsSeen, TEST_HOST_ONLY},
    {"write_through_read_device", TestWriteThroughReadOnDevice, TEST_HOST_ONLY},
    {"read_without_wait", TestReadWithoutWait, TEST_HOST_ONLY},
    {"write_for_update", TestWriteForUpdate, TEST_HOST_ONLY},
    {"pointer_that_moved", TestPointerThatMoved, TEST_HOST_ONLY},
    {"freed_while_queued", TestFreedWhileQueued, TEST_HOST_ONLY},
    {"pinned_freed", TestPinnedFreed, TEST_HOST_ONLY},
    {"freed_many", TestFreedMany, TEST_HOST_ONLY},
    {"freed_twice", TestFreedTwice, TEST_HOST_ONLY},
    {"forbidden_in_capture", TestForbiddenInCapture, TEST_HOST_ONLY},
    {"prologue_reads_what_it_writes", TestPrologueReadsWhatItWrites, TEST_HOST_ONLY},
    {"sequences", TestSequences, TEST_HOST_ONLY},
    {"empty_buffers", TestEmptyBuffers, TEST_HOST_ONLY},
    {"settle", TestSyncBorrowed, TEST_HOST_ONLY},
    {"allocations", TestAllocations, TEST_HOST_ONLY},
    {"failed_access", TestFailedAccess, TEST_HOST_ONLY},
    {"late", TestLate, TEST_HOST_ONLY},
    {"copy_order", TestCopyOrder, TEST_HOST_ONLY},
    {"replay", TestReplay, TEST_HOST_ONLY},
    {"long_queue", TestLongQueue, TEST_HOST_ONLY},
    {"queued_failure", TestQueuedFailure, TEST_HOST_ONLY},
    {"missing_kernel", TestMissingKernel, TEST_HOST_ONLY},
    {"unknown_device", TestUnknownDevice, TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "device", tests);
}

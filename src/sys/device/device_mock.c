/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The mock device: an emulated accelerator, to test the offload design. Its memory is separate heap blocks
  filled with NaN. Its stream runs only when the host waits. Its graphs record and replay the queue, loops as
  long as their condition holds. It detects
  - pointers into freed blocks in the arguments of a kernel or copy when it runs, so also in a replay;
  - blocks freed twice;
  - reads without a wait: the target of a copy to the host is poisoned until the copy has run;
  - waits, allocations, frees, captures and replays inside a capture, and copies from and to the host and
    events in that of a loop, which a real device would refuse.

  Kernels are the host's, so host and mock give the same bits.
*/
#include "arena.h"
#include "link_device.h"
#include "sys/sys.h"

extern const KernelFn poiseHostKernels[];
extern const LinkProcesses poiseMockProcesses;     /* device_mock_shared.c */
extern const LinkLibrary poiseMockLibrary;         /* device_mock_library.c */
extern const struct MatDevice poiseMatDevice_mock; /* pc/library_mock.c */
extern const struct PCDevice poisePCDevice_mock;

enum {
  QUARANTINE = 64, /* freed blocks that are remembered */
  GAP = 64,        /* bytes before each block, so that a pointer to the end of one block does not point
                      into the next */
  SMALL = 4096     /* more than any int among the arguments */
};
enum { OP_COPY = -1, OP_POISON = -2, OP_LOOP = -3, OP_STEP = -4 };

typedef struct Block {
  char *p, *base; /* base: for free() */
  size_t bytes;
  const char *what;
} Block;

typedef struct Op { /* followed by its arguments */
  int kernel;       /* KERNEL_... or OP_... */
  size_t bytes;     /* bytes of the arguments, rounded up to a multiple of 8 */
} Op;

typedef struct CopyArgs {
  void *dst;
  const void *src;
  size_t bytes;
  CopyKind kind;
} CopyArgs;

typedef struct LoopArgs {
  const Graph *graph;
  int64_t turns; /* at most */
} LoopArgs;

typedef struct Queue { /* ops between head and tail of a block of memory that grows */
  char *data;
  size_t head, tail, capacity;
} Queue;

struct Graph {
  Queue work;
  const double *done; /* NULL: the work runs once a replay */
  bool first;         /* what is captured runs once a replay, of a loop too */
  size_t loop;        /* where the loop begins */
};

typedef struct Mock {
  Queue queue;
  int64_t enqueued, executed; /* ops so far: an event is a value of `enqueued` */
  Graph *capturing;
  Block *block; /* live blocks, of the device and pinned ones */
  int64_t nblock, block_capacity;
  Block freed[QUARANTINE];
  int next_freed;
  const Block *ascending[QUARANTINE]; /* those of them that there are, by address */
  int nfreed;
} Mock;

static void Poison(void *p, size_t bytes)
{
  memset(p, 0xff, bytes); /* NaN as doubles, -1 as integers */
}

/* ---- the queue ------------------------------------------------------------------------------- */

static PoiseErr Reserve(Device *dev, Queue *q, size_t bytes)
{
  if (q->head && q->head == q->tail) q->head = q->tail = 0;
  if (q->tail + bytes <= q->capacity) return POISE_OK;
  if (q->head) memmove(q->data, q->data + q->head, q->tail - q->head);
  q->tail -= q->head;
  q->head = 0;
  if (q->tail + bytes <= q->capacity) return POISE_OK;
  size_t capacity = 2 * (q->tail + bytes) + 65536; /* so that similar solves seldom make it grow */
  TRY(poiseRealloc(dev->ctx, capacity, q->tail, "mock queue", &q->data));
  q->capacity = capacity;
  return POISE_OK;
}

/* How many of the freed blocks that are remembered begin at this address or below? */
static int FreedBelow(const Mock *mock, uintptr_t address)
{
  int low = 0, high = mock->nfreed;
  while (low < high) {
    int middle = (low + high) / 2;
    if ((uintptr_t)mock->ascending[middle]->p <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void Insert(Mock *mock, const Block *freed)
{
  int at = FreedBelow(mock, (uintptr_t)freed->p);
  for (int k = mock->nfreed++; k > at; k--) mock->ascending[k] = mock->ascending[k - 1];
  mock->ascending[at] = freed;
}

static void Remove(Mock *mock, const Block *freed)
{
  int at = FreedBelow(mock, (uintptr_t)freed->p);
  mock->nfreed--;
  for (int k = at - 1; k < mock->nfreed; k++) mock->ascending[k] = mock->ascending[k + 1];
}

/* Find pointers into freed blocks. Any word of the arguments that points there counts as a pointer, as
   other data seldom look like one. An int could, with padding after it that holds half of an old pointer.
   So no block begins at such an address. */
static PoiseErr CheckPointers(const Mock *mock, const Op *op, const char *args)
{
  const char *name = op->kernel >= 0           ? poiseKernelName(op->kernel)
                     : op->kernel == OP_COPY   ? "copy"
                     : op->kernel == OP_POISON ? "poison"
                                               : "loop";
  for (size_t i = 0; i + sizeof(char *) <= op->bytes; i += sizeof(char *)) {
    uintptr_t word;
    memcpy(&word, args + i, sizeof word);
    if ((uint32_t)word < SMALL) continue;
    int below = FreedBelow(mock, word);
    const Block *b = below ? mock->ascending[below - 1] : NULL;
    if (b && word < (uintptr_t)b->p + b->bytes)
      FAIL(POISE_ERR_INTERNAL,
           "kernel %s was given a pointer into block '%s' of %zu bytes, which has been freed", name, b->what,
           b->bytes);
  }
  return POISE_OK;
}

static void Keep(Device *dev, PoiseErr e)
{
  if (e && !dev->failed) dev->failed = e;
}

static void Loop(Device *dev, const LoopArgs *loop);

static PoiseErr Execute(Device *dev, const Op *op, const char *args)
{
  TRY(CheckPointers(dev->data, op, args));
  if (op->kernel >= 0) return poiseHostKernels[op->kernel](dev, args);
  if (op->kernel == OP_LOOP) {
    LoopArgs loop;
    memcpy(&loop, args, sizeof loop);
    Loop(dev, &loop);
    return POISE_OK;
  }
  CopyArgs c;
  memcpy(&c, args, sizeof c);
  if (op->kernel == OP_POISON)
    Poison(c.dst, c.bytes);
  else
    memcpy(c.dst, c.src, c.bytes);
  return POISE_OK;
}

/* That part of the work: what comes first, or one turn, or what of it stands before the step at which the
   loop has ended. */
static void RunWork(Device *dev, const Graph *graph, size_t begin, size_t end)
{
  const Queue *w = &graph->work;
  for (size_t at = begin; at < end;) {
    Op op;
    memcpy(&op, w->data + at, sizeof op);
    if (op.kernel == OP_STEP && *graph->done != 0) return;
    if (op.kernel != OP_STEP) Keep(dev, Execute(dev, &op, w->data + at + sizeof op));
    at += sizeof op + op.bytes;
  }
}

static void Loop(Device *dev, const LoopArgs *loop)
{
  const Graph *g = loop->graph;
  RunWork(dev, g, 0, g->loop);
  for (int64_t k = 0; k < loop->turns && *g->done == 0; k++) RunWork(dev, g, g->loop, g->work.tail);
}

/* Run the queue up to an event. A failure is kept for the next sync, as on a real device. Later work still
   runs. */
static void Run(Device *dev, int64_t event)
{
  Mock *mock = dev->data;
  Queue *q = &mock->queue;
  while (mock->executed < event) {
    Op op;
    memcpy(&op, q->data + q->head, sizeof op);
    Keep(dev, Execute(dev, &op, q->data + q->head + sizeof op));
    q->head += sizeof op + op.bytes;
    mock->executed++;
  }
}

static bool ReadsTarget(const CopyArgs *c, const CopyArgs *to_host)
{
  const char *dst = to_host->dst, *src = c->src;
  return src < dst + to_host->bytes && dst < src + c->bytes;
}

/* Poison the target of a copy to the host until the copy has run. Copies queued before it that read there
   run first. */
static void PoisonTarget(Device *dev, const CopyArgs *to_host)
{
  Mock *mock = dev->data;
  const Queue *q = &mock->queue;
  int64_t number = mock->executed, reader = 0;
  if (to_host->kind != COPY_TO_HOST) return;
  for (size_t at = q->head; at < q->tail;) {
    Op op;
    CopyArgs c;
    memcpy(&op, q->data + at, sizeof op);
    memcpy(&c, q->data + at + sizeof op, op.kernel == OP_COPY ? sizeof c : 0);
    at += sizeof op + op.bytes;
    number++;
    if (op.kernel == OP_COPY && ReadsTarget(&c, to_host)) reader = number;
  }
  Run(dev, reader);
  Poison(to_host->dst, to_host->bytes);
}

static PoiseErr Enqueue(Device *dev, int kernel, const void *args, size_t bytes)
{
  Mock *mock = dev->data;
  Queue *q = mock->capturing ? &mock->capturing->work : &mock->queue;
  Op op = {kernel, (bytes + 7) & ~(size_t)7};
  if (kernel == KERNEL_link_mock && mock->capturing && mock->capturing->done)
    FAIL(POISE_ERR_INTERNAL, "a call of a library inside the capture of a loop");
  TRY(Reserve(dev, q, sizeof op + op.bytes));
  memcpy(q->data + q->tail, &op, sizeof op);
  if (bytes) memcpy(q->data + q->tail + sizeof op, args, bytes);
  q->tail += sizeof op + op.bytes;
  if (mock->capturing) return POISE_OK;
  mock->enqueued++;
  if (kernel == OP_COPY) PoisonTarget(dev, args);
  return POISE_OK;
}

static PoiseErr Wait(Device *dev, int64_t event)
{
  if (((Mock *)dev->data)->capturing) FAIL(POISE_ERR_INTERNAL, "a wait inside the capture of a graph");
  Run(dev, event);
  return POISE_OK;
}

static PoiseErr Sync(Device *dev)
{
  return Wait(dev, ((Mock *)dev->data)->enqueued);
}

static bool InLoop(const Mock *mock)
{
  return mock->capturing && mock->capturing->done;
}

/* What polls for another rank must run before this rank waits for others, which may poll for it. */
static void RunAll(Device *dev)
{
  Mock *mock = dev->data;
  if (!mock->capturing) Run(dev, mock->enqueued);
}

static PoiseErr Record(Device *dev, int64_t *event)
{
  Mock *mock = dev->data;
  if (InLoop(mock)) FAIL(POISE_ERR_INTERNAL, "an event inside the capture of a loop");
  *event = mock->enqueued;
  return POISE_OK;
}

static PoiseErr EnqueueCopy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind)
{
  CopyArgs c = {dst, src, bytes, kind};
  if (kind != COPY_ON_DEVICE && InLoop(dev->data))
    FAIL(POISE_ERR_INTERNAL, "a copy from or to the host inside the capture of a loop");
  return Enqueue(dev, OP_COPY, &c, sizeof c);
}

static PoiseErr EnqueuePoison(Device *dev, void *p, size_t bytes)
{
  CopyArgs c = {p, NULL, bytes, COPY_ON_DEVICE};
  return Enqueue(dev, OP_POISON, &c, sizeof c);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void GraphFree(Device *dev, Graph **graph)
{
  Mock *mock = dev->data;
  if (!*graph) return;
  if ((*graph)->done && !mock->capturing) Run(dev, mock->enqueued); /* the queue refers to loops */
  poiseFree(dev->ctx, &(*graph)->work.data);
  poiseFree(dev->ctx, graph);
}

static PoiseErr CaptureBegin(Device *dev, const double *done)
{
  Mock *mock = dev->data;
  if (mock->capturing && mock->capturing->first) {
    if (!mock->capturing->work.tail) /* the loop follows its last node */
      FAIL(POISE_ERR_INTERNAL, "what a loop begins with has recorded nothing");
    mock->capturing->first = false;
    mock->capturing->loop = mock->capturing->work.tail;
    return POISE_OK;
  }
  if (mock->capturing) FAIL(POISE_ERR_INTERNAL, "a capture inside a capture");
  TRY(poiseAlloc(dev->ctx, sizeof *mock->capturing, "graph", &mock->capturing));
  if (dev->loops) mock->capturing->done = done;
  return POISE_OK;
}

static PoiseErr CaptureFirst(Device *dev, const double *done)
{
  Mock *mock = dev->data;
  TRY(CaptureBegin(dev, done));
  mock->capturing->first = true;
  return POISE_OK;
}

static PoiseErr CaptureStep(Device *dev)
{
  return InLoop(dev->data) ? Enqueue(dev, OP_STEP, NULL, 0) : POISE_OK;
}

/* A replay of this rank's must not fail alone, so there is room for it now. */
static PoiseErr CaptureEnd(Device *dev, Graph **graph)
{
  enum { AT_ONCE = 3 }; /* replays in the queue, or as much of other work */
  Mock *mock = dev->data;
  *graph = mock->capturing;
  mock->capturing = NULL;
  if ((*graph)->done) return POISE_OK;
  PoiseErr e = Reserve(dev, &mock->queue, AT_ONCE * (*graph)->work.tail);
  if (e) GraphFree(dev, graph);
  return e;
}

static PoiseErr Replay(Device *dev, Graph *graph, int turns)
{
  Mock *mock = dev->data;
  const Queue *w = &graph->work;
  const LoopArgs loop = {graph, turns};
  if (mock->capturing) FAIL(POISE_ERR_INTERNAL, "a replay inside the capture of a graph");
  if (graph->done) return Enqueue(dev, OP_LOOP, &loop, sizeof loop);
  TRY(Reserve(dev, &mock->queue, w->tail)); /* replay all of it or nothing */
  for (size_t at = 0; at < w->tail;) {
    Op op;
    memcpy(&op, w->data + at, sizeof op);
    TRY(Enqueue(dev, op.kernel, w->data + at + sizeof op, op.bytes));
    at += sizeof op + op.bytes;
  }
  return POISE_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Could its low half be an int argument? */
static bool IsSmall(const char *p)
{
  return (uint32_t)(uintptr_t)p < SMALL;
}

static PoiseErr Alloc(Device *dev, size_t bytes, const char *what, void **p)
{
  Mock *mock = dev->data;
  *p = NULL;
  if (!bytes) return POISE_OK;
  if (mock->capturing) FAIL(POISE_ERR_INTERNAL, "an allocation (%s) inside the capture of a graph", what);
  if (mock->nblock == mock->block_capacity) {
    int64_t capacity = 2 * mock->block_capacity + 64;
    TRY(poiseRealloc(dev->ctx, (size_t)capacity * sizeof(Block), (size_t)mock->nblock * sizeof(Block),
                     "mock blocks", &mock->block));
    mock->block_capacity = capacity;
  }
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  size_t rounded = (bytes + 63) & ~(size_t)63;
  size_t gap = GAP;
  char *base = aligned_alloc(64, gap + rounded);
  if (base && IsSmall(base + gap)) {
    free(base);
    gap += SMALL;
    base = aligned_alloc(64, gap + rounded);
  }
  if (!base) {
    poiseFreeCount(dev->ctx);
    FAIL(POISE_ERR_MEMORY, "%zu bytes of mock device memory for %s", bytes, what);
  }
  char *q = base + gap;
  Poison(q, rounded);
  mock->block[mock->nblock++] = (Block){q, base, bytes, what};
  *p = q;
  return POISE_OK;
}

/* Keep the block, poisoned and unused, so that later uses of it are found. Work queued before the free may
   still use it, as with the stream-ordered free of a real device. */
static void Free(Device *dev, void *p)
{
  Mock *mock = dev->data;
  int64_t k = 0;
  if (!p) return;
  if (mock->capturing) {
    PoiseErr e = PoiseErrorSet(POISE_ERR_INTERNAL, __func__, __FILE__, __LINE__,
                               "a free inside the capture of a graph");
    if (!dev->failed) dev->failed = e;
  }
  Run(dev, mock->enqueued);
  while (k < mock->nblock && mock->block[k].p != p) k++;
  if (k == mock->nblock) {
    PoiseErr e = PoiseErrorSet(POISE_ERR_INTERNAL, __func__, __FILE__, __LINE__,
                               "a free of %p, where no block starts", p);
    if (!dev->failed) dev->failed = e;
    return;
  }
  Block *old = &mock->freed[mock->next_freed];
  if (old->p) Remove(mock, old);
  free(old->base);
  *old = mock->block[k];
  Poison(old->p, old->bytes);
  Insert(mock, old);
  mock->next_freed = (mock->next_freed + 1) % QUARANTINE;
  mock->block[k] = mock->block[--mock->nblock];
  poiseFreeCount(dev->ctx);
}

/* The block came from Alloc; the application is assumed to own it. */
static void FreeAdopted(Device *dev, void *p)
{
  poiseContextHome(dev->ctx)->memory.live++;
  Free(dev, p);
}

/* Owns only blocks from its Alloc, so an application's array on the mock must come from there. */
static bool Owns(Device *dev, const void *p, size_t bytes)
{
  const Mock *mock = dev->data;
  const char *q = p;
  for (int64_t k = 0; k < mock->nblock; k++) {
    const Block *b = &mock->block[k];
    if (q >= b->p && q < b->p + b->bytes) return bytes <= (size_t)(b->p + b->bytes - q);
  }
  const ArenaPlace place = poiseArenaFind(dev, p);
  return place.block && bytes <= place.bytes - place.at;
}

static bool Hides(Device *dev, const void *p)
{
  return Owns(dev, p, 1);
}

/* ---- the device ------------------------------------------------------------------------------ */

/* Pretend a number of GPUs, to test how ranks divide them. */
static PoiseErr Count(int *count)
{
  *count = 4;
  return POISE_OK;
}

/* There is shared memory for 16 hubs: they are found, although the host's products do not use them. */
static PoiseErr Create(Device *dev)
{
  dev->model.block_shared = 9408;
  dev->loops = true;
  return poiseAlloc(dev->ctx, sizeof(Mock), "mock device", &dev->data);
}

static void Destroy(Device *dev)
{
  Mock *mock = dev->data;
  if (!mock) return;
  if (mock->capturing) GraphFree(dev, &mock->capturing);
  for (int k = 0; k < QUARANTINE; k++) free(mock->freed[k].base);
  poiseFree(dev->ctx, &mock->queue.data);
  poiseFree(dev->ctx, &mock->block);
  poiseFree(dev->ctx, &dev->data);
}

/* ---- what a link asks for -------------------------------------------------------------------- */

static PoiseErr Place(Device *dev, LinkPlace *place)
{
  place->device = dev->id;
  place->eager = true;
  return POISE_OK;
}

static PoiseErr AllocShared(Device *dev, size_t bytes, const char *what, void **p)
{
  TRY(Alloc(dev, bytes, what, p));
  if (*p) memset(*p, 0, bytes);
  return POISE_OK;
}

/* Blocks of all mocks are memory of one process. */
static PoiseErr Reach(Device *dev, const LinkPlace *place)
{
  (void)dev, (void)place;
  return POISE_OK;
}

static const LinkDevice link_device = {.automatic = 4096,
                                       .patience = 10,
                                       .most = 4096,
                                       .concurrent = true,
                                       .place = Place,
                                       .alloc = AllocShared,
                                       .free = Free,
                                       .reach = Reach,
                                       .processes = &poiseMockProcesses,
                                       .library = &poiseMockLibrary};

const DeviceOps poiseDevice_mock = {
    .name = "mock",
    .kernel = poiseHostKernels,
    .mat = &poiseMatDevice_mock,
    .pc = &poisePCDevice_mock,
    .link = &link_device,
    .create = Create,
    .destroy = Destroy,
    .alloc = Alloc,
    .free = Free,
    .free_adopted = FreeAdopted,
    .alloc_pinned = Alloc,
    .free_pinned = Free,
    .copy = EnqueueCopy,
    .launch = Enqueue,
    .sync = Sync,
    .run = RunAll,
    .poison = EnqueuePoison,
    .record = Record,
    .wait = Wait,
    .capture_first = CaptureFirst,
    .capture_begin = CaptureBegin,
    .capture_step = CaptureStep,
    .capture_end = CaptureEnd,
    .replay = Replay,
    .graph_free = GraphFree,
    .owns = Owns,
    .hides = Hides,
    .count = Count,
};

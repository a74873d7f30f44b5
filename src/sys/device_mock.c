/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The mock device: an accelerator without one, to test the offload design. Its memory is separate heap blocks filled with NaN;
  its stream runs late, only when somebody waits; its graphs record and replay the queue. It finds
  - pointers into freed blocks in the arguments of a kernel or copy when it runs (so also in a replay),
  - blocks freed twice,
  - reads without a wait (the target of a copy to the host is poisoned until the copy has run),
  - waits, allocations, frees, captures and replays inside a capture, where a real device would refuse them.
  Kernels are the host's, so host and mock give the same bits.
*/
#include "sys.h"

extern const KernelFn poiseHostKernels[];

enum {
  QUARANTINE = 64, /* freed blocks that are remembered */
  GAP = 64,        /* before each block, so that a pointer to the end of the one before is not taken for one into it */
  SMALL = 4096     /* more than any int among the arguments */
};
enum { OP_COPY = -1, OP_POISON = -2 };

typedef struct Block {
  char *p, *base; /* base: for free() */
  size_t bytes;
  const char *what;
} Block;

typedef struct Op { /* followed by its arguments */
  int kernel;       /* KERNEL_... or OP_... */
  size_t bytes;     /* of the arguments, rounded up to 8 */
} Op;

typedef struct CopyArgs {
  void *dst;
  const void *src;
  size_t bytes;
  CopyKind kind;
} CopyArgs;

typedef struct Queue { /* ops between head and tail of a growing piece of memory */
  char *data;
  size_t head, tail, capacity;
} Queue;

struct Graph {
  Queue work;
};

typedef struct Mock {
  Queue queue;
  int64_t enqueued, executed; /* ops so far: an event is a value of `enqueued` */
  Graph *capturing;
  Block *block; /* live blocks, of the device and pinned ones */
  int64_t nblock, block_capacity;
  Block freed[QUARANTINE];
  int next_freed;
} Mock;

static void Poison(void *p, size_t bytes)
{
  memset(p, 0xff, bytes); /* NaN as doubles, -1 as integers */
}

/* ---- the queue ------------------------------------------------------------------------------------------------------ */

static PoiseErr Reserve(Device *dev, Queue *q, size_t bytes)
{
  if (q->head && q->head == q->tail) q->head = q->tail = 0;
  if (q->tail + bytes <= q->capacity) return POISE_OK;
  if (q->head) memmove(q->data, q->data + q->head, q->tail - q->head);
  q->tail -= q->head;
  q->head = 0;
  if (q->tail + bytes <= q->capacity) return POISE_OK;
  size_t capacity = 2 * (q->tail + bytes) + 65536; /* so that a solve like the one before seldom grows it */
  TRY(poiseRealloc(dev->ctx, capacity, q->tail, "mock queue", &q->data));
  q->capacity = capacity;
  return POISE_OK;
}

/* Any word of the arguments that points into a freed block is taken for a pointer: data there would have to look like one. An
   int does, with padding behind it that holds half of an old pointer; so no block begins at such an address. */
static PoiseErr CheckPointers(const Mock *mock, const Op *op, const char *args)
{
  const char *name = op->kernel >= 0 ? poiseKernelName(op->kernel) : op->kernel == OP_COPY ? "copy" : "poison";
  for (size_t i = 0; i + sizeof(char *) <= op->bytes; i += sizeof(char *)) {
    uintptr_t word;
    memcpy(&word, args + i, sizeof word);
    if ((uint32_t)word < SMALL) continue;
    for (int k = 0; k < QUARANTINE; k++) {
      const Block *b = &mock->freed[k];
      if (word >= (uintptr_t)b->p && word < (uintptr_t)b->p + b->bytes)
        FAIL(POISE_ERR_INTERNAL, "kernel %s was given a pointer into block '%s' of %zu bytes, which has been freed", name,
             b->what, b->bytes);
    }
  }
  return POISE_OK;
}

static PoiseErr Execute(Device *dev, const Op *op, const char *args)
{
  TRY(CheckPointers(dev->data, op, args));
  if (op->kernel >= 0) return poiseHostKernels[op->kernel](dev, args);
  CopyArgs c;
  memcpy(&c, args, sizeof c);
  if (op->kernel == OP_POISON)
    Poison(c.dst, c.bytes);
  else
    memcpy(c.dst, c.src, c.bytes);
  return POISE_OK;
}

/* Run the queue up to an event. A failure is kept for the next sync, as on a real device; work behind it still runs. */
static void Run(Device *dev, int64_t event)
{
  Mock *mock = dev->data;
  Queue *q = &mock->queue;
  while (mock->executed < event) {
    Op op;
    memcpy(&op, q->data + q->head, sizeof op);
    PoiseErr e = Execute(dev, &op, q->data + q->head + sizeof op);
    if (e && !dev->failed) dev->failed = e;
    q->head += sizeof op + op.bytes;
    mock->executed++;
  }
}

static bool ReadsTarget(const CopyArgs *c, const CopyArgs *to_host)
{
  const char *dst = to_host->dst, *src = c->src;
  return src < dst + to_host->bytes && dst < src + c->bytes;
}

/* The target of a copy to the host holds nothing until the copy has run. Copies queued before it that read there go first. */
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
  TRY(Reserve(dev, q, sizeof op + op.bytes));
  memcpy(q->data + q->tail, &op, sizeof op);
  memcpy(q->data + q->tail + sizeof op, args, bytes);
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

static PoiseErr Record(Device *dev, int64_t *event)
{
  *event = ((Mock *)dev->data)->enqueued;
  return POISE_OK;
}

static PoiseErr EnqueueCopy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind)
{
  CopyArgs c = {dst, src, bytes, kind};
  return Enqueue(dev, OP_COPY, &c, sizeof c);
}

static PoiseErr EnqueuePoison(Device *dev, void *p, size_t bytes)
{
  CopyArgs c = {p, NULL, bytes, COPY_ON_DEVICE};
  return Enqueue(dev, OP_POISON, &c, sizeof c);
}

/* ---- graphs --------------------------------------------------------------------------------------------------------- */

static void GraphFree(Device *dev, Graph **graph)
{
  if (!*graph) return;
  poiseFree(dev->ctx, &(*graph)->work.data);
  poiseFree(dev->ctx, graph);
}

static PoiseErr CaptureBegin(Device *dev, bool loop)
{
  Mock *mock = dev->data;
  (void)loop;
  if (mock->capturing) FAIL(POISE_ERR_INTERNAL, "a capture inside a capture");
  return poiseAlloc(dev->ctx, sizeof *mock->capturing, "graph", &mock->capturing);
}

static PoiseErr CaptureEnd(Device *dev, Graph **graph)
{
  Mock *mock = dev->data;
  *graph = mock->capturing;
  mock->capturing = NULL;
  return POISE_OK;
}

static PoiseErr Replay(Device *dev, Graph *graph)
{
  Mock *mock = dev->data;
  const Queue *w = &graph->work;
  if (mock->capturing) FAIL(POISE_ERR_INTERNAL, "a replay inside the capture of a graph");
  TRY(Reserve(dev, &mock->queue, w->tail)); /* all of it or nothing */
  for (size_t at = 0; at < w->tail;) {
    Op op;
    memcpy(&op, w->data + at, sizeof op);
    TRY(Enqueue(dev, op.kernel, w->data + at + sizeof op, op.bytes));
    at += sizeof op + op.bytes;
  }
  return POISE_OK;
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

/* May its low half be taken for an int? */
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
    TRY(poiseRealloc(dev->ctx, (size_t)capacity * sizeof(Block), (size_t)mock->nblock * sizeof(Block), "mock blocks",
                     &mock->block));
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

/* The block is kept, poisoned and out of use, so that whoever still points to it is found. Work that was queued before the
   free may still use it: a real device's stream-ordered free allows that. */
static void Free(Device *dev, void *p)
{
  Mock *mock = dev->data;
  int64_t k = 0;
  if (!p) return;
  if (mock->capturing) {
    PoiseErr e = PoiseErrorSet(POISE_ERR_INTERNAL, __func__, __FILE__, __LINE__, "a free inside the capture of a graph");
    if (!dev->failed) dev->failed = e;
  }
  Run(dev, mock->enqueued);
  while (k < mock->nblock && mock->block[k].p != p) k++;
  if (k == mock->nblock) {
    PoiseErr e = PoiseErrorSet(POISE_ERR_INTERNAL, __func__, __FILE__, __LINE__, "a free of %p, where no block starts", p);
    if (!dev->failed) dev->failed = e;
    return;
  }
  Block *old = &mock->freed[mock->next_freed];
  free(old->base);
  *old = mock->block[k];
  Poison(old->p, old->bytes);
  mock->next_freed = (mock->next_freed + 1) % QUARANTINE;
  mock->block[k] = mock->block[--mock->nblock];
  poiseFreeCount(dev->ctx);
}

/* It came from Alloc, as if the application had it from somewhere else. */
static void FreeAdopted(Device *dev, void *p)
{
  poiseContextHome(dev->ctx)->memory.live++;
  Free(dev, p);
}

/* Only what it has given out: an application's array on the mock is made by its alloc. */
static bool Owns(Device *dev, const void *p, size_t bytes)
{
  const Mock *mock = dev->data;
  const char *q = p;
  for (int64_t k = 0; k < mock->nblock; k++) {
    const Block *b = &mock->block[k];
    if (q >= b->p && q < b->p + b->bytes) return bytes <= (size_t)(b->p + b->bytes - q);
  }
  return false;
}

static bool Hides(Device *dev, const void *p)
{
  return Owns(dev, p, 1);
}

/* ---- libraries --------------------------------------------------------------------------------------------------------- */

static const char *const libraries[] = {"mock", NULL};

/* Holds what it was made for: the kernel finds out a product of another matrix. */
static PoiseErr Plan(Device *dev, int library, const CsrView *A, int64_t columns, LibraryPlan *plan)
{
  (void)library, (void)columns;
  TRY(Sync(dev)); /* as a library may */
  TRY(poiseDeviceAlloc(dev, sizeof *A, "plan of a library", &plan->device));
  memcpy(plan->device, A, sizeof *A);
  plan->bytes = sizeof *A;
  return POISE_OK;
}

static void FreePlan(Device *dev, LibraryPlan *plan)
{
  poiseDeviceFree(dev, (size_t)plan->bytes, &plan->device);
  *plan = (LibraryPlan){0};
}

/* Keeps its own copy of the values: new ones that it is not told of are missed. */
static PoiseErr FactorPlan(Device *dev, int library, const FactorView *f, LibraryPlan *plan)
{
  size_t bytes = sizeof *f + (size_t)f->t.nz * sizeof *f->lu;
  (void)library;
  TRY(Sync(dev));
  if (!plan->device) TRY(poiseDeviceAlloc(dev, bytes, "plan of a library", &plan->device));
  plan->bytes = (int64_t)bytes;
  memcpy(plan->device, f, sizeof *f);
  if (f->t.nz) memcpy((char *)plan->device + sizeof *f, f->lu, bytes - sizeof *f);
  return POISE_OK;
}

/* ---- the device -------------------------------------------------------------------------------------------------------- */

/* As if there were so many, to see how ranks share them. */
static PoiseErr Count(int *count)
{
  *count = 4;
  return POISE_OK;
}

/* Its kernels are the host's, but it has shared memory for 16 hubs, which are found; the products have no use
 * for them. */
static PoiseErr Create(Device *dev)
{
  dev->model.block_shared = 9408;
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

const DeviceOps poiseDevice_mock = {
    .name = "mock",
    .kernel = poiseHostKernels,
    .csr_libraries = libraries,
    .csr_plan = Plan,
    .csr_plan_free = FreePlan,
    .factor_libraries = libraries,
    .factor_plan = FactorPlan,
    .factor_plan_free = FreePlan,
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
    .poison = EnqueuePoison,
    .record = Record,
    .wait = Wait,
    .capture_begin = CaptureBegin,
    .capture_end = CaptureEnd,
    .replay = Replay,
    .graph_free = GraphFree,
    .owns = Owns,
    .hides = Hides,
    .count = Count,
};

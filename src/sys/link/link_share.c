/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the devices of all ranks reach. See link_share.h. */
#include "link_share.h"

#include "sys/sys.h"

typedef struct SharedBlock { /* one on each rank, all of the same size */
  int64_t number;            /* from 1 */
  size_t bytes, used;
  int64_t pieces; /* shared in it, that this rank has not given up */
  void *mine;
  void **all;     /* by rank */
  size_t *opened; /* by rank: bytes, if it is of another process */
  struct SharedBlock *next;
} SharedBlock;

enum { PIECE = 256, PIECES = 4 }; /* bytes: of units of pieces; pieces of an allocation */

static size_t InUnits(size_t bytes, size_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

/* ---- memory of one rank ---------------------------------------------------------------------- */

/* To allocate it takes long, as it is in no pool. So small pieces are parts of one allocation. None is used
   again, as each is zero at first: it goes with the last of its pieces. */
typedef struct SharedArena {
  char *p;
  size_t bytes, used;
  int64_t pieces;
  struct SharedArena *next;
} SharedArena;

enum { ARENA_MOST = 8 << 20 }; /* bytes */

static PoiseErr OpenArena(Sharing *s, size_t piece, const char *what)
{
  SharedArena *a = NULL;
  TRY(poiseAlloc(s->ctx, sizeof *a, "shared memory", &a));
  a->bytes = PIECES * piece < ARENA_MOST ? PIECES * piece : piece;
  PoiseErr e = s->ops->alloc(s->ctx->device, a->bytes, what, (void **)&a->p);
  if (e) {
    poiseFree(s->ctx, &a);
    return e;
  }
  a->next = s->arena;
  s->arena = a;
  return POISE_OK;
}

PoiseErr poiseShareAllocOwn(Sharing *s, size_t bytes, const char *what, void **p)
{
  size_t piece = InUnits(bytes, PIECE);
  *p = NULL;
  if (!bytes) return POISE_OK;
  if (!s->arena || s->arena->bytes - s->arena->used < piece) TRY(OpenArena(s, piece, what));
  SharedArena *a = s->arena;
  *p = a->p + a->used;
  a->used += piece;
  a->pieces++;
  s->ctx->device->bytes += (int64_t)bytes;
  return POISE_OK;
}

void poiseShareFreeOwn(Sharing *s, size_t bytes, void *p)
{
  SharedArena **at = &s->arena, *a;
  if (!p) return;
  while ((char *)p < (*at)->p || (char *)p >= (*at)->p + (*at)->bytes) at = &(*at)->next;
  s->ctx->device->bytes -= (int64_t)bytes;
  a = *at;
  if (--a->pieces) return;
  *at = a->next;
  s->ops->free(s->ctx->device, a->p);
  poiseFree(s->ctx, &a);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

typedef struct Opening { /* what a rank tells the others of its block */
  void *p;               /* for threads */
  LinkHandle handle;     /* for processes */
} Opening;

enum { BLOCK_MOST = 64 << 20 }; /* bytes, but for larger pieces */

/* Blocks grow, so that an application that makes and ends the same objects again ends up in one. */
static size_t BlockBytes(const Sharing *s, size_t piece)
{
  size_t bytes = PIECES * piece, least = s->blocks ? 2 * s->blocks->bytes : 0;
  if (bytes < least) bytes = least;
  if (bytes > BLOCK_MOST) bytes = BLOCK_MOST;
  if (bytes < piece) bytes = piece;
  return InUnits(bytes, s->processes ? s->ops->processes->unit : PIECE);
}

static PoiseErr Allocate(Sharing *s, size_t bytes, const char *what, SharedBlock *b, LinkHandle *handle)
{
  Device *dev = s->ctx->device;
  TRY(poiseAllocArray(s->ctx, PoiseSize(s->ctx), sizeof *b->all, what, &b->all));
  TRY(poiseAllocArray(s->ctx, PoiseSize(s->ctx), sizeof *b->opened, what, &b->opened));
  b->bytes = bytes;
  return s->processes ? s->ops->processes->alloc(dev, bytes, what, handle, &b->mine)
                      : s->ops->alloc(dev, bytes, what, &b->mine);
}

static PoiseErr Open(Sharing *s, const Opening *all, SharedBlock *b)
{
  int rank = PoiseRank(s->ctx);
  for (int r = 0; r < PoiseSize(s->ctx); r++) {
    bool apart = s->processes && r != rank;
    if (apart)
      TRY(s->ops->processes->open(s->ctx->device, &all[r].handle, b->bytes, &b->all[r]));
    else
      b->all[r] = all[r].p;
    b->opened[r] = apart ? b->bytes : 0;
  }
  return POISE_OK;
}

static void Close(Sharing *s, SharedBlock *b)
{
  for (int r = 0; r < PoiseSize(s->ctx) && b->opened; r++) {
    if (b->opened[r]) s->ops->processes->close(s->ctx->device, b->opened[r], b->all[r]);
    b->opened[r] = 0;
  }
}

static void FreeBlock(Sharing *s, SharedBlock *b)
{
  Device *dev = s->ctx->device;
  if (b->mine && s->processes)
    s->ops->processes->free(dev, b->bytes, b->mine);
  else if (b->mine)
    s->ops->free(dev, b->mine);
  poiseFree(s->ctx, &b->all);
  poiseFree(s->ctx, &b->opened);
  poiseFree(s->ctx, &b);
}

/* All have closed what they had open of other processes. */
static void Meet(Sharing *s)
{
  if (s->processes && PoiseAgree(s->ctx, POISE_OK)) PoiseErrorClear();
}

/* A block for pieces of at most so many bytes. Collective; agrees. */
static PoiseErr AddBlock(Sharing *s, size_t piece, const char *what)
{
  PoiseContext ctx = s->ctx;
  SharedBlock *b = NULL;
  Opening own, *all = NULL;
  memset(&own, 0, sizeof own); /* sent as bytes */
  PoiseErr e = poiseAlloc(ctx, sizeof *b, what, &b);
  if (!e) e = poiseAllocArray(ctx, PoiseSize(ctx), sizeof *all, what, &all);
  if (!e) e = Allocate(s, BlockBytes(s, piece), what, b, &own.handle);
  if (!e) own.p = b->mine;
  e = poiseAgreeGather(ctx, e, &own, sizeof own, all);
  bool told = !e;
  if (told) e = PoiseAgree(ctx, Open(s, all, b));
  poiseFree(ctx, &all);
  if (e) {
    ErrorState error;
    poiseErrorSave(&error);
    if (b) Close(s, b);
    if (told) Meet(s);
    if (b) FreeBlock(s, b);
    poiseErrorRestore(&error);
    return e;
  }
  b->number = ++s->made;
  b->next = s->blocks;
  s->blocks = b;
  return POISE_OK;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

enum { TOLD = 8 }; /* blocks that are spoken of at a time */

typedef struct Offer { /* what a rank tells the others of a piece */
  int64_t bytes, at;   /* in the latest block; -1: that has no room for it */
  int64_t idle[TOLD];  /* numbers of blocks with no piece that this rank has; then 0 */
} Offer;

static Offer MakeOffer(const Sharing *s, size_t bytes)
{
  const SharedBlock *head = s->blocks;
  bool fits = head && head->bytes - head->used >= InUnits(bytes, PIECE);
  Offer own;
  memset(&own, 0, sizeof own);
  own.bytes = (int64_t)bytes, own.at = fits ? (int64_t)head->used : -1;
  int n = 0;
  for (const SharedBlock *b = head; b && n < TOLD; b = b->next)
    if (!b->pieces) own.idle[n++] = b->number;
  return own;
}

/* Has no rank a piece of it? The same on all ranks. */
static bool IsIdle(const SharedBlock *b, const Offer *all, int size)
{
  for (int r = 0; r < size; r++) {
    bool found = false;
    for (int k = 0; k < TOLD; k++) found |= all[r].idle[k] == b->number;
    if (!found) return false;
  }
  return true;
}

/* Free the idle ones of these blocks. Collective. */
static void FreeIdle(Sharing *s, SharedBlock **at, const Offer *all)
{
  int size = PoiseSize(s->ctx);
  bool some = false;
  for (SharedBlock *b = *at; b; b = b->next)
    if (IsIdle(b, all, size)) Close(s, b), some = true;
  if (some) Meet(s);
  while (*at) {
    SharedBlock *b = *at;
    if (IsIdle(b, all, size)) {
      *at = b->next;
      FreeBlock(s, b);
    } else {
      at = &b->next;
    }
  }
}

PoiseErr poiseShareFreeIdle(Sharing *s)
{
  PoiseContext ctx = s->ctx;
  Offer own = MakeOffer(s, 0), *all = NULL;
  PoiseErr e = poiseAllocArray(ctx, PoiseSize(ctx), sizeof *all, "blocks of all ranks", &all);
  e = poiseAgreeGather(ctx, e, &own, sizeof own, all);
  if (!e) FreeIdle(s, &s->blocks, all);
  poiseFree(ctx, &all);
  return e;
}

/* It is as new. */
static PoiseErr Clear(Sharing *s, SharedBlock *b)
{
  PhaseArgs a = {.id = PHASE_vec_set, .n = (int64_t)(b->used / sizeof(double)), .out = {b->mine}};
  b->used = 0;
  TRY(LAUNCH(s->ctx->device, phase, &a));
  return poiseDeviceSync(s->ctx->device);
}

/* Room for all these pieces in the latest block, which may be another one then. Collective; agrees. */
static PoiseErr FindRoom(Sharing *s, const char *what, Offer *all)
{
  int size = PoiseSize(s->ctx);
  size_t most = 0;
  bool fits = true;
  for (int r = 0; r < size; r++) {
    size_t piece = InUnits((size_t)all[r].bytes, PIECE);
    if (piece > most) most = piece;
    fits = fits && all[r].at >= 0;
  }
  if (s->blocks) FreeIdle(s, &s->blocks->next, all);
  if (most == 0) return POISE_OK;
  bool again = s->blocks && s->blocks->bytes >= most && IsIdle(s->blocks, all, size);
  if (fits && !again) return POISE_OK;
  TRY(again ? PoiseAgree(s->ctx, Clear(s, s->blocks)) : AddBlock(s, most, what));
  for (int r = 0; r < size; r++) all[r].at = 0;
  return POISE_OK;
}

/* Also a rank without bytes keeps the block, as it reaches the others' pieces. */
static void Take(Sharing *s, const Offer *all, Shared *m)
{
  SharedBlock *b = s->blocks;
  for (int r = 0; r < PoiseSize(s->ctx); r++) {
    if (!all[r].bytes) continue;
    m->all[r] = (char *)b->all[r] + all[r].at;
    m->block = b;
  }
  if (!m->block) return;
  m->mine = m->all[PoiseRank(s->ctx)];
  b->used += InUnits(m->bytes, PIECE);
  b->pieces++;
  s->ctx->device->bytes += (int64_t)m->bytes;
}

PoiseErr poiseShare(Sharing *s, PoiseErr mine, size_t bytes, const char *what, Shared *m)
{
  PoiseContext ctx = s->ctx;
  Offer own = MakeOffer(s, bytes), *all = NULL;
  *m = (Shared){.bytes = bytes};
  if (!mine) mine = poiseAllocArray(ctx, PoiseSize(ctx), sizeof *m->all, what, &m->all);
  if (!mine) mine = poiseAllocArray(ctx, PoiseSize(ctx), sizeof *all, what, &all);
  PoiseErr e = poiseAgreeGather(ctx, mine, &own, sizeof own, all);
  if (!e) e = FindRoom(s, what, all);
  if (!e) Take(s, all, m);
  poiseFree(ctx, &all);
  if (e) poiseFree(ctx, &m->all);
  return e;
}

void poiseUnshare(Sharing *s, Shared *m)
{
  Device *dev = s->ctx->device;
  if (m->all) (void)dev->ops->sync(dev); /* a failure is kept, or comes again */
  if (m->block) {
    m->block->pieces--;
    dev->bytes -= (int64_t)m->bytes;
  }
  poiseFree(s->ctx, &m->all);
  m->mine = NULL;
  m->block = NULL;
}

void poiseShareEnd(Sharing *s)
{
  const Comm *comm = s->ctx->comm;
  bool ended = comm->ops->has_ended && comm->ops->has_ended();
  if (!s->blocks) return;
  for (SharedBlock *b = s->blocks; b; b = b->next) Close(s, b);
  if (!ended) Meet(s);
  while (s->blocks) {
    SharedBlock *b = s->blocks;
    s->blocks = b->next;
    FreeBlock(s, b);
  }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the devices of all ranks reach. See link_share.h. */
#include "link_share.h"

#include "sys.h"

typedef struct SharedBlock { /* what a rank has of a Shared between processes */
  int64_t number;            /* from 1 */
  size_t bytes;
  void *p;     /* NULL: this rank brought no bytes, but has opened those of others */
  bool opened; /* others may have opened it */
  struct SharedBlock *next;
} SharedBlock;

typedef struct Offer { /* what a rank tells the others of its block */
  void *p;             /* for threads */
  int64_t bytes;
  LinkHandle handle; /* for processes */
} Offer;

/* ---- memory in no pool, in larger pieces ------------------------------------------------------ */

/* To allocate it takes long, as other devices must reach it. So small pieces are parts of one allocation.
   None is used again, as each is zero at first: it goes with the last of its pieces. */
typedef struct SharedArena {
  char *p;
  size_t bytes, used;
  int64_t pieces;
  struct SharedArena *next;
} SharedArena;

enum { PIECE = 256, ARENA_MOST = 8 << 20, PIECES = 4 }; /* bytes: of units of pieces; of an arena */

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
  size_t piece = (bytes + PIECE - 1) / PIECE * PIECE;
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

/* ---- blocks of processes --------------------------------------------------------------------- */

size_t poiseShareBytes(const Sharing *s, size_t bytes)
{
  size_t unit = s->processes ? s->ops->processes->unit : 1;
  return (bytes + unit - 1) / unit * unit;
}

static PoiseErr AllocBlock(Sharing *s, const char *what, Shared *m, LinkHandle *handle)
{
  Device *dev = s->ctx->device;
  TRY(poiseAlloc(s->ctx, sizeof *m->block, what, &m->block));
  *m->block = (SharedBlock){.number = s->made, .bytes = m->bytes};
  TRY(s->ops->processes->alloc(dev, m->bytes, what, handle, &m->block->p));
  m->mine = m->block->p;
  dev->bytes += (int64_t)m->bytes;
  return POISE_OK;
}

static void FreeBlock(Sharing *s, SharedBlock *block)
{
  Device *dev = s->ctx->device;
  if (block->p) {
    s->ops->processes->free(dev, block->bytes, block->p);
    dev->bytes -= (int64_t)block->bytes;
  }
  poiseFree(s->ctx, &block);
}

/* Kept by number, so that all ranks tell each other of the same ones. */
static void GiveUp(Sharing *s, SharedBlock *block)
{
  SharedBlock **at = &s->given;
  while (*at && (*at)->number < block->number) at = &(*at)->next;
  block->next = *at;
  *at = block;
}

enum { TOLD = 16 }; /* blocks that are spoken of at a time */

static bool AllTold(const int64_t *told, int size, int64_t number)
{
  for (int r = 0; r < size; r++) {
    bool found = false;
    for (int k = 0; k < TOLD; k++) found |= told[r * TOLD + k] == number;
    if (!found) return false;
  }
  return true;
}

PoiseErr poiseShareFreeGiven(Sharing *s)
{
  PoiseContext ctx = s->ctx;
  int64_t mine[TOLD] = {0}, *told = NULL;
  int n = 0, size = PoiseSize(ctx);
  for (const SharedBlock *b = s->given; b && n < TOLD; b = b->next) mine[n++] = b->number;
  if (!s->processes) return POISE_OK;
  PoiseErr e = PoiseAgree(ctx, poiseAllocArray(ctx, size, sizeof mine, "blocks of all ranks", &told));
  if (!e) e = ctx->comm->ops->allgather(ctx->comm, mine, sizeof mine, told);
  for (SharedBlock **at = &s->given; !e && *at;) {
    SharedBlock *b = *at;
    if (AllTold(told, size, b->number)) {
      *at = b->next;
      FreeBlock(s, b);
    } else {
      at = &b->next;
    }
  }
  poiseFree(ctx, &told);
  return e;
}

void poiseShareEnd(Sharing *s)
{
  const Comm *comm = s->ctx->comm;
  bool ended = comm->ops->has_ended && comm->ops->has_ended();
  if (!s->processes || !s->made) return;
  if (!ended && PoiseAgree(s->ctx, POISE_OK)) PoiseErrorClear(); /* all have closed theirs */
  while (s->given) {
    SharedBlock *b = s->given;
    s->given = b->next;
    FreeBlock(s, b);
  }
}

/* ---- sharing --------------------------------------------------------------------------------- */

static PoiseErr Allocate(Sharing *s, const char *what, Shared *m, Offer *mine, Offer **all)
{
  TRY(poiseAllocArray(s->ctx, PoiseSize(s->ctx), sizeof **all, what, all));
  TRY(poiseAllocArray(s->ctx, PoiseSize(s->ctx), sizeof *m->all, what, &m->all));
  if (s->processes)
    TRY(AllocBlock(s, what, m, &mine->handle));
  else
    TRY(poiseShareAllocOwn(s, m->bytes, what, &m->mine));
  mine->p = m->mine;
  mine->bytes = (int64_t)m->bytes;
  return POISE_OK;
}

static PoiseErr Open(Sharing *s, const Offer *all, Shared *m)
{
  Device *dev = s->ctx->device;
  int rank = PoiseRank(s->ctx);
  for (int r = 0; r < PoiseSize(s->ctx); r++) {
    if (!s->processes || r == rank)
      m->all[r] = all[r].p;
    else if (all[r].bytes)
      TRY(s->ops->processes->open(dev, &all[r].handle, (size_t)all[r].bytes, &m->all[r]));
    m->opened[r] = s->processes && r != rank && m->all[r] ? (size_t)all[r].bytes : 0;
  }
  return POISE_OK;
}

PoiseErr poiseShare(Sharing *s, PoiseErr mine, size_t bytes, const char *what, Shared *m)
{
  PoiseContext ctx = s->ctx;
  Offer own, *all = NULL;
  memset(&own, 0, sizeof own); /* sent as bytes */
  *m = (Shared){.bytes = poiseShareBytes(s, bytes)};
  TRY(poiseShareFreeGiven(s));
  s->made++;
  if (!mine) mine = Allocate(s, what, m, &own, &all);
  if (!mine) mine = poiseAllocArray(ctx, PoiseSize(ctx), sizeof *m->opened, what, &m->opened);
  PoiseErr e = poiseAgreeGather(ctx, mine, &own, sizeof own, all);
  if (!e && m->block) m->block->opened = true;
  if (!e) e = Open(s, all, m);
  if (s->processes) e = PoiseAgree(ctx, e); /* threads open nothing */
  poiseFree(ctx, &all);
  if (e) poiseUnshare(s, m);
  return e;
}

void poiseUnshare(Sharing *s, Shared *m)
{
  PoiseContext ctx = s->ctx;
  Device *dev = ctx->device;
  if (s->processes && m->all) {
    (void)dev->ops->sync(dev); /* a failure is kept, or comes again */
    for (int r = 0; r < PoiseSize(ctx) && m->opened; r++)
      if (m->opened[r]) s->ops->processes->close(dev, m->opened[r], m->all[r]);
  }
  if (m->block && m->block->opened)
    GiveUp(s, m->block);
  else if (m->block)
    FreeBlock(s, m->block);
  else
    poiseShareFreeOwn(s, m->bytes, m->mine);
  poiseFree(ctx, &m->all);
  poiseFree(ctx, &m->opened);
  m->mine = NULL;
  m->block = NULL;
}

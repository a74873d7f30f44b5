/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a device that another process opens. See arena.h. Parts are taken first fit. */
#include "arena.h"
#include "sys/sys.h"

typedef struct Span { /* bytes of a block, in order; neighbours are not both free */
  size_t at, bytes;
  bool used;
  struct Span *next;
} Span;

typedef struct ArenaBlock {
  char *p;
  size_t bytes;
  int64_t number;
  LinkHandle handle;
  Span *spans;
  struct ArenaBlock *next;
} ArenaBlock;

struct Arena {
  ArenaBlock *blocks;
  int64_t made;
};

enum { PART = 256, BLOCK = 64 << 20 }; /* bytes: of units of parts; of a block, but for larger parts */

static const LinkProcesses *Processes(const Device *dev)
{
  return dev->ops->link->processes;
}

static size_t InUnits(size_t bytes, size_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

PoiseErr poiseArenaOpen(Device *dev)
{
  return poiseAlloc(dev->ctx, sizeof *dev->arena, "arena of a device", &dev->arena);
}

static void FreeSpans(PoiseContext ctx, Span *s)
{
  while (s) {
    Span *next = s->next;
    poiseFree(ctx, &s);
    s = next;
  }
}

static void FreeBlock(Device *dev, ArenaBlock *b)
{
  if (b->p) Processes(dev)->free(dev, b->bytes, b->p);
  FreeSpans(dev->ctx, b->spans);
  poiseFree(dev->ctx, &b);
}

void poiseArenaClose(Device *dev)
{
  Arena *a = dev->arena;
  if (!a) return;
  while (a->blocks) {
    ArenaBlock *b = a->blocks;
    a->blocks = b->next;
    FreeBlock(dev, b);
  }
  poiseFree(dev->ctx, &dev->arena);
}

static PoiseErr AddBlock(Device *dev, size_t bytes, const char *what, ArenaBlock **block)
{
  Arena *a = dev->arena;
  ArenaBlock *b;
  TRY(poiseAlloc(dev->ctx, sizeof *b, "block of an arena", &b));
  b->bytes = InUnits(bytes > BLOCK ? bytes : BLOCK, Processes(dev)->unit);
  void *p = NULL;
  PoiseErr e = poiseAlloc(dev->ctx, sizeof *b->spans, "part of an arena", &b->spans);
  if (!e) e = Processes(dev)->alloc(dev, b->bytes, what, &b->handle, &p);
  if (e) {
    FreeBlock(dev, b);
    return e;
  }
  b->p = p;
  *b->spans = (Span){.bytes = b->bytes};
  b->number = ++a->made;
  b->next = a->blocks;
  a->blocks = b;
  *block = b;
  return POISE_OK;
}

/* The first free span of so many bytes. */
static Span *FindSpan(const Arena *a, size_t bytes, ArenaBlock **block)
{
  for (*block = a->blocks; *block; *block = (*block)->next)
    for (Span *s = (*block)->spans; s; s = s->next)
      if (!s->used && s->bytes >= bytes) return s;
  return NULL;
}

PoiseErr poiseArenaAlloc(Device *dev, size_t bytes, const char *what, void **p)
{
  size_t part = InUnits(bytes, PART);
  ArenaBlock *b;
  Span *s, *rest = NULL;
  *p = NULL;
  if (!bytes) return POISE_OK;
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  PoiseErr e = POISE_OK;
  if (!(s = FindSpan(dev->arena, part, &b))) e = AddBlock(dev, part, what, &b);
  if (!e && !s) s = b->spans;
  if (!e && s->bytes > part) e = poiseAlloc(dev->ctx, sizeof *rest, "part of an arena", &rest);
  if (e) poiseFreeCount(dev->ctx);
  TRY(e);
  if (rest) {
    *rest = (Span){s->at + part, s->bytes - part, false, s->next};
    s->next = rest;
    s->bytes = part;
  }
  s->used = true;
  *p = b->p + s->at;
  return POISE_OK;
}

static void Join(PoiseContext ctx, Span *s)
{
  Span *next = s->next;
  if (!next || s->used || next->used) return;
  s->bytes += next->bytes;
  s->next = next->next;
  poiseFree(ctx, &next);
}

static ArenaBlock *BlockOf(const Device *dev, const void *p)
{
  ArenaBlock *b = dev->arena ? dev->arena->blocks : NULL;
  while (b && ((const char *)p < b->p || (const char *)p >= b->p + b->bytes)) b = b->next;
  return b;
}

bool poiseArenaFree(Device *dev, void *p)
{
  const ArenaBlock *b = BlockOf(dev, p);
  Span *before = NULL;
  if (!b) return false;
  Span *s = b->spans;
  for (; b->p + s->at != (char *)p; s = s->next) before = s;
  s->used = false;
  Join(dev->ctx, s);
  if (before) Join(dev->ctx, before);
  poiseFreeCount(dev->ctx);
  return true;
}

ArenaPlace poiseArenaFind(const Device *dev, const void *p)
{
  const ArenaBlock *b = BlockOf(dev, p);
  if (!b) return (ArenaPlace){.block = 0};
  return (ArenaPlace){b->number, b->bytes, (size_t)((const char *)p - b->p), b->handle};
}

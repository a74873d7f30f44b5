/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, counted in the context: a test makes any allocation fail, and sees what was not released. */
#include "sys.h"

enum { ALIGNMENT = 64 };

PoiseErr poiseAllocCount(PoiseContext ctx, size_t bytes, const char *what)
{
  Memory *m = &poiseContextHome(ctx)->memory;
  if (m->fail_at > 0 && --m->fail_at == 0)
    FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes (refused on request of a test)", what, bytes);
  m->live++;
  m->calls++;
  return POISE_OK;
}

void poiseFreeCount(PoiseContext ctx)
{
  poiseContextHome(ctx)->memory.live--;
}

void poiseAllocFailAt(PoiseContext ctx, int64_t n)
{
  poiseContextHome(ctx)->memory.fail_at = n;
}

static PoiseErr Allocate(PoiseContext ctx, size_t bytes, const char *what, void **block)
{
  *block = NULL;
  if (bytes > PTRDIFF_MAX) FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
  TRY(poiseAllocCount(ctx, bytes, what));
  *block = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (*block) return POISE_OK;
  poiseFreeCount(ctx);
  FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
}

/* *p = block, where p is the address of a pointer to anything. */
static void Store(void *p, void *block)
{
  memcpy(p, &block, sizeof block);
}

PoiseErr poiseAlloc(PoiseContext ctx, size_t bytes, const char *what, void *p)
{
  void *block = NULL;
  Store(p, NULL);
  if (!bytes) return POISE_OK;
  TRY(Allocate(ctx, bytes, what, &block));
  Store(p, memset(block, 0, bytes));
  return POISE_OK;
}

PoiseErr poiseAllocArray(PoiseContext ctx, int64_t n, size_t size, const char *what, void *p)
{
  Store(p, NULL);
  if (n < 0 || (size && (uint64_t)n > SIZE_MAX / size))
    FAIL(POISE_ERR_MEMORY, "no memory for %s: %lld items of %zu bytes", what, (long long)n, size);
  return poiseAlloc(ctx, (size_t)n * size, what, p);
}

PoiseErr poiseRealloc(PoiseContext ctx, size_t bytes, size_t used, const char *what, void *p)
{
  void *old, *block = NULL;
  memcpy(&old, p, sizeof old);
  TRY(Allocate(ctx, bytes, what, &block));
  if (used) memcpy(block, old, used);
  poiseFree(ctx, p);
  Store(p, block);
  return POISE_OK;
}

PoiseErr poiseResize(PoiseContext ctx, size_t bytes, const char *what, void *p)
{
  void *old, *block;
  memcpy(&old, p, sizeof old);
  if (!old) return poiseRealloc(ctx, bytes, 0, what, p);
  if (!bytes) {
    poiseFree(ctx, p);
    return POISE_OK;
  }
  TRY(poiseAllocCount(ctx, bytes, what));
  poiseFreeCount(ctx);
  block = realloc(old, bytes);
  if (!block) FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
  Store(p, block);
  return POISE_OK;
}

PoiseErr poiseStringCopy(PoiseContext ctx, const char *s, char **copy)
{
  *copy = NULL;
  if (!s) return POISE_OK;
  size_t bytes = strlen(s) + 1;
  TRY(poiseAlloc(ctx, bytes, "text", copy));
  memcpy(*copy, s, bytes);
  return POISE_OK;
}

void poiseFree(PoiseContext ctx, void *p)
{
  void *block;
  memcpy(&block, p, sizeof block);
  if (!block) return;
  free(block);
  poiseFreeCount(ctx);
  Store(p, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, counted in the context: a test makes any allocation fail, and sees what was not released. */
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>

#include "sys.h"

enum { ALIGNMENT = 64, LARGE_PAGE = 1 << 21, LARGE = 2 * LARGE_PAGE, PIECE = POISE_BLOCK * sizeof(double) };

#ifdef MADV_HUGEPAGE
static void AskForLargePages(void *block, size_t bytes)
{
  (void)madvise(block, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE); /* the rest of the last page is not wasted */
}
#else
static void AskForLargePages(void *block, size_t bytes)
{
  (void)block, (void)bytes;
}
#endif

PoiseErr poiseAllocCount(PoiseContext ctx, size_t bytes, const char *what)
{
  Memory *m = &ctx->memory;
  if (m->fail_at > 0 && --m->fail_at == 0)
    FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes (refused on request of a test)", what, bytes);
  m->live++;
  m->calls++;
  return POISE_OK;
}

void poiseFreeCount(PoiseContext ctx)
{
  ctx->memory.live--;
}

void poiseAllocFailAt(PoiseContext ctx, int64_t n)
{
  ctx->memory.fail_at = n;
}

static PoiseErr Allocate(PoiseContext ctx, size_t bytes, const char *what, void **block)
{
  *block = NULL;
  if (bytes > PTRDIFF_MAX) FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
  TRY(poiseAllocCount(ctx, bytes, what));
  size_t alignment = bytes < LARGE ? ALIGNMENT : LARGE_PAGE;
  *block = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (*block && bytes >= LARGE) AskForLargePages(*block, bytes);
  if (*block) return POISE_OK;
  poiseFreeCount(ctx);
  FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
}

/* *p = block, where p is the address of a pointer to anything. */
static void Store(void *p, void *block)
{
  memcpy(p, &block, sizeof block);
}

/* By the threads that will work on it, as host kernels share out vectors: on most systems a page comes to lie near the core that
   first writes it. */
static void Zero(PoiseContext ctx, void *block, size_t bytes)
{
  Device *dev = ctx->device;
  int64_t pieces = (int64_t)((bytes + PIECE - 1) / PIECE);
  if (!dev || bytes < LARGE) {
    memset(block, 0, bytes);
    return;
  }
  HOST_PARALLEL_FOR(dev, pieces)
  for (int64_t k = 0; k < pieces; k++) {
    size_t begin = (size_t)k * PIECE;
    memset((char *)block + begin, 0, bytes - begin < PIECE ? bytes - begin : PIECE);
  }
}

PoiseErr poiseAlloc(PoiseContext ctx, size_t bytes, const char *what, void *p)
{
  void *block = NULL;
  Store(p, NULL);
  if (!bytes) return POISE_OK;
  TRY(Allocate(ctx, bytes, what, &block));
  Zero(ctx, block, bytes);
  Store(p, block);
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

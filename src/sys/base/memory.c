/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Memory, counted in the context, so that a test can make any allocation fail, and sees what was not released.
  Large blocks are mapped from the system, in large pages if it has them, and return to it when released. The
  system gives zeroed pages, so the threads that work on a block are the first to write it. Its pages then lie
  near these threads.
*/
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise, mremap */
#include <sys/mman.h>
#include <unistd.h>

#include "sys/sys.h"

enum { ALIGNMENT = 64, LARGE_PAGE = 1 << 21, LARGE = LARGE_PAGE / 2 };

typedef struct Header { /* in the ALIGNMENT bytes before every block */
  void *base;
  size_t bytes, mapped; /* bytes asked for; bytes mapped from base on, 0: release base with free() */
} Header;

static void AskForLargePages(void *base, size_t mapped)
{
#ifdef MADV_HUGEPAGE
  (void)madvise(base, mapped, MADV_HUGEPAGE);
#else
  (void)base, (void)mapped;
#endif
}

static size_t SmallPages(size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

static Header *HeaderOf(void *block)
{
  return (Header *)((char *)block - ALIGNMENT);
}

/* A last page of which a block takes half is a large one, too: to clear it is faster than to fault in small
   ones. */
static size_t Pages(size_t bytes)
{
  size_t rest = bytes % LARGE_PAGE;
  return rest >= LARGE ? bytes - rest + LARGE_PAGE : SmallPages(bytes);
}

/* Map a block that starts at a large page, after a small page with its header. One mapping holds both, so
   that it can be moved as a whole. NULL: out of memory. */
static void *Map(size_t bytes)
{
  size_t before = SmallPages(1), mapped = before + Pages(bytes), all = LARGE_PAGE + Pages(bytes);
  char *start = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return NULL;
  char *block = start + LARGE_PAGE - (uintptr_t)start % LARGE_PAGE, *base = block - before;
  if (base > start) (void)munmap(start, (size_t)(base - start));
  if (base + mapped < start + all) (void)munmap(base + mapped, (size_t)(start + all - base) - mapped);
  AskForLargePages(base, mapped);
  *HeaderOf(block) = (Header){base, bytes, mapped};
  return block;
}

/* Change the length of a mapped block; the system may move it. NULL: failed, and the block is unchanged. */
static void *Remap(void *old, size_t bytes)
{
#ifdef MREMAP_MAYMOVE
  Header h = *HeaderOf(old);
  size_t before = (size_t)((char *)old - (char *)h.base), mapped = before + Pages(bytes);
  char *base = mremap(h.base, h.mapped, mapped, MREMAP_MAYMOVE);
  if (base == MAP_FAILED) return NULL;
  *HeaderOf(base + before) = (Header){base, bytes, mapped};
  return base + before;
#else
  (void)old, (void)bytes;
  return NULL;
#endif
}

static void *AllocateHeap(size_t bytes)
{
  char *base = aligned_alloc(ALIGNMENT, ALIGNMENT + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!base) return NULL;
  *HeaderOf(base + ALIGNMENT) = (Header){base, bytes, 0};
  return base + ALIGNMENT;
}

static void Release(void *block)
{
  Header h = *HeaderOf(block);
  if (h.mapped)
    (void)munmap(h.base, h.mapped);
  else
    free(h.base);
}

/* Rank threads share the counts of the context that started them. It holds their options and teams. */
static int64_t Add(int64_t *count, int64_t n)
{
  return __atomic_add_fetch(count, n, __ATOMIC_RELAXED);
}

static void CountBytes(PoiseContext ctx, int64_t n)
{
  (void)Add(&poiseContextHome(ctx)->memory.bytes, n);
}

PoiseErr poiseAllocCount(PoiseContext ctx, size_t bytes, const char *what)
{
  Memory *m = &poiseContextHome(ctx)->memory;
  if (__atomic_load_n(&m->fail_at, __ATOMIC_RELAXED) > 0 && Add(&m->fail_at, -1) == 0)
    FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes (refused on request of a test)", what, bytes);
  TRY(poiseLook(ctx));
  (void)Add(&m->live, 1);
  (void)Add(&m->calls, 1);
  return POISE_OK;
}

void poiseFreeCount(PoiseContext ctx)
{
  (void)Add(&poiseContextHome(ctx)->memory.live, -1);
}

int64_t poiseAllocated(const void *block)
{
  return block ? (int64_t)((const Header *)((const char *)block - ALIGNMENT))->bytes : 0;
}

/* Pages that cache files are not free, but the system gives them up: Linux tells the sum. 0: unknown */
static int64_t Available(void)
{
  char line[128];
  long long kb = 0;
  FILE *file = fopen("/proc/meminfo", "r");
  if (!file) return 0;
  while (!kb && fgets(line, sizeof line, file)) (void)sscanf(line, "MemAvailable: %lld kB", &kb);
  fclose(file);
  return kb * 1024;
}

void poiseHostMemory(int64_t *left, int64_t *total)
{
  int64_t page = sysconf(_SC_PAGESIZE), available = Available();
  *left = available ? available : page * sysconf(_SC_AVPHYS_PAGES);
  *total = page * sysconf(_SC_PHYS_PAGES);
}

void poiseAllocFailAt(PoiseContext ctx, int64_t n)
{
  poiseContextHome(ctx)->memory.fail_at = n;
}

static PoiseErr Allocate(PoiseContext ctx, size_t bytes, const char *what, void **block)
{
  *block = NULL;
  if (bytes > PTRDIFF_MAX - 2 * (size_t)LARGE_PAGE)
    FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
  TRY(poiseAllocCount(ctx, bytes, what));
  *block = bytes < LARGE ? AllocateHeap(bytes) : Map(bytes);
  if (*block) CountBytes(ctx, (int64_t)bytes);
  if (*block) return POISE_OK;
  poiseFreeCount(ctx);
  FAIL(POISE_ERR_MEMORY, "no memory for %s: %zu bytes", what, bytes);
}

/* *p = block; p is the address of a pointer to any type. */
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
  if (bytes < LARGE) memset(block, 0, bytes); /* larger ones come as zeros */
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

PoiseErr poiseResize(PoiseContext ctx, size_t bytes, const char *what, void *p)
{
  void *old, *block = NULL;
  memcpy(&old, p, sizeof old);
  if (!bytes) {
    poiseFree(ctx, p);
    return POISE_OK;
  }
  if (!old) return poiseRealloc(ctx, bytes, 0, what, p);
  Header h = *HeaderOf(old);
  if (!h.mapped || bytes > PTRDIFF_MAX - 2 * (size_t)LARGE_PAGE)
    return poiseRealloc(ctx, bytes, h.bytes < bytes ? h.bytes : bytes, what, p);
  TRY(poiseAllocCount(ctx, bytes, what));
  poiseFreeCount(ctx);
  block = Remap(old, bytes);
  if (block) CountBytes(ctx, (int64_t)bytes - (int64_t)h.bytes);
  if (!block) return poiseRealloc(ctx, bytes, h.bytes < bytes ? h.bytes : bytes, what, p);
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
  CountBytes(ctx, -(int64_t)HeaderOf(block)->bytes);
  Release(block);
  poiseFreeCount(ctx);
  Store(p, NULL);
}

/* ---- in words -------------------------------------------------------------------------------- */

const char *poiseBytesText(double bytes, char text[24])
{
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  int k = 0;
  for (; k < 4 && fabs(bytes) >= 999.5; k++) bytes /= 1000;
  snprintf(text, 24, k ? "%.3g %s" : "%.0f %s", bytes, units[k]);
  return text;
}

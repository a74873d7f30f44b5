/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocating functions of glibc, in front of which this program puts its own, to make any allocation of
   Poise and SUNDIALS fail. Not with sanitizers, which do the same. */
#include "test.h"

static int watching, failing, failed, left;
static size_t largest_seen;

void WatchAllocations(int n)
{
  failing = n;
  failed = 0;
  largest_seen = 0;
  left = 0;
  watching = 1;
}

int AllocationFailed(void)
{
  watching = 0;
  return failed;
}

size_t LargestAllocation(void)
{
  return largest_seen;
}

int LeftAllocations(void)
{
  return left;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)

int CanWatchAllocations(void)
{
  return 0;
}

#else

int CanWatchAllocations(void)
{
  return 1;
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

/* Does this one fail? Tests arm the watch on the one thread that allocates. */
static int Fails(size_t n)
{
  if (!watching) return 0;
  if (n > largest_seen) largest_seen = n;
  if (!failing || --failing) {
    left++;
    return 0;
  }
  failed = 1;
  return 1;
}

void *malloc(size_t n)
{
  return Fails(n) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
  return Fails(n * size) ? NULL : __libc_calloc(n, size);
}

void free(void *p)
{
  if (watching && p) left--;
  __libc_free(p);
}

void *realloc(void *p, size_t n)
{
  if (Fails(n)) return NULL;
  if (watching && p) left--; /* in place of this one */
  return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
  return Fails(n) ? NULL : __libc_memalign(alignment, n);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, counted in the context, and made to fail by tests. */
#ifndef POISE_MEMORY_H
#define POISE_MEMORY_H

#include "error.h"

typedef struct Memory {
  int64_t live, calls; /* blocks now allocated; allocations ever made, on host and devices */
  int64_t bytes;       /* bytes of the live blocks on the host */
  int64_t fail_at;     /* > 0: after that many allocations one fails; 0: never */
} Memory;

/* *p = bytes of zeroed memory aligned to 64; NULL and success for 0 bytes. POISE_ERR_MEMORY names bytes and
   purpose. */
PoiseErr poiseAlloc(PoiseContext ctx, size_t bytes, const char *what, void *p);
/* n items of size, the product checked. */
PoiseErr poiseAllocArray(PoiseContext ctx, int64_t n, size_t size, const char *what, void *p);
/* *p grows to bytes. The first `used` bytes are kept, the rest is undefined. */
PoiseErr poiseRealloc(PoiseContext ctx, size_t bytes, size_t used, const char *what, void *p);
/* *p grows or shrinks to bytes, and keeps its content. Added bytes are undefined. Large blocks keep their
   pages, so there are never two copies. */
PoiseErr poiseResize(PoiseContext ctx, size_t bytes, const char *what, void *p);
PoiseErr poiseStringCopy(PoiseContext ctx, const char *s, char **copy); /* NULL gives NULL */
/* p: address of the pointer, which is nulled */
void poiseFree(PoiseContext ctx, void *p);
/* bytes that were asked for; 0 for NULL */
int64_t poiseAllocated(const void *block);
void poiseHostMemory(int64_t *left, int64_t *total);
/* "1.07 MB"; lent. */
const char *poiseBytesText(double bytes, char text[24]);
/* Count one allocation made elsewhere (a device's). The test hook may refuse it, and the application may
   interrupt (poiseLook), as whoever allocates is ready to fail. */
PoiseErr poiseAllocCount(PoiseContext ctx, size_t bytes, const char *what);
void poiseFreeCount(PoiseContext ctx);
/* The n-th allocation from now fails (once); 0: none. For tests. */
void poiseAllocFailAt(PoiseContext ctx, int64_t n);

#endif

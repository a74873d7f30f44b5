/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that can be read at any place (source.c). */
#ifndef POISE_SOURCE_H
#define POISE_SOURCE_H

#include "sys/sys.h"

typedef struct ByteSource { /* zero-initialise it */
  PoiseErr (*read)(const struct ByteSource *, int64_t at, void *p, size_t bytes, size_t *got);
  const char *name; /* for messages; borrowed */
  int64_t size;     /* number of bytes; of a compressed file an upper bound */
  bool compressed;
  int rank;    /* which reads, for messages */
  int threads; /* that may read at once; 0: one */
  int fd;
  void *gz;
  const unsigned char *memory;
} ByteSource;

/* Open a file, plain or gzip. Its content tells which; gzip is fast only if read forwards. Each rank has a
   source of its own. POISE_ERR_FILE names path, reason, and any rank but 0. Local, as are all of these
   functions. */
PoiseErr poiseSourceOpen(PoiseContext ctx, const char *path, ByteSource *s);
/* A source of bytes in memory, which are borrowed. */
void poiseSourceMemory(const void *bytes, size_t n, const char *name, ByteSource *s);
/* *got is less than `bytes` only at the end. */
PoiseErr poiseSourceTry(const ByteSource *s, int64_t at, void *p, size_t bytes, size_t *got);
/* Read all of them. POISE_ERR_FORMAT: the file ends inside `what`. */
PoiseErr poiseSourceRead(const ByteSource *s, int64_t at, void *p, size_t bytes, const char *what);
void poiseSourceClose(ByteSource *s);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What parts.c does on a GPU by itself: arrays in its memory, copies, and offsets of a part. */
#ifndef PARTS_H
#define PARTS_H

#include <stddef.h>
#include <stdint.h>

/* Each returns NULL, or what went wrong. stream: of PoiseStream, whose GPU it is. */
typedef struct Gpu {
  const char *(*alloc)(void *stream, size_t bytes, void *p);
  const char *(*release)(void *stream, void *p);
  const char *(*copy)(void *stream, void *to, const void *from, size_t bytes); /* to the GPU; enqueues */
  const char *(*shift)(void *stream, int64_t n, int32_t *ptr, int32_t base);   /* ptr_i -= base; enqueues */
  const char *(*wait)(void *stream);
} Gpu;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const Gpu parts_gpu;

#endif

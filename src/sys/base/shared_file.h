/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that processes of one host share. */
#ifndef POISE_SHARED_FILE_H
#define POISE_SHARED_FILE_H

#include "error.h"

enum { POISE_SHARED_NAME = 64 };

/* *p = zeroed bytes, at the beginning of a page; name: by which other processes open them. `what` is for
   messages. */
PoiseErr poiseSharedFileCreate(size_t bytes, const char *what, char name[POISE_SHARED_NAME], void **p);
void poiseSharedFileFree(size_t bytes, void *p); /* others keep what they have open */
PoiseErr poiseSharedFileOpen(const char *name, size_t bytes, void **p);
void poiseSharedFileClose(size_t bytes, void *p);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks' bytes to one file (sections.c). */
#ifndef POISE_SECTIONS_H
#define POISE_SECTIONS_H

#include "sys/sys.h"

enum { POISE_CHUNK = 1 << 20 }; /* bytes that travel at once */

typedef struct Section { /* this rank's bytes of one part of a file, fragment by fragment */
  /* Write at most POISE_CHUNK bytes to fragment; *more: more will come. Called at least once. */
  PoiseErr (*next)(void *from, char *fragment, int64_t *bytes, bool *more);
  void *from;
} Section;

/* Write rank 0's header, then each section's bytes of all ranks in rank order; by gzip if the name ends in
   ".gz". Only rank 0 opens the file, which appears whole or not at all. mine: this rank's error so far.
   Collective; agrees. */
PoiseErr poiseFileSections(PoiseContext ctx, PoiseErr mine, const char *path, const void *header,
                           size_t bytes, int n, const Section *section);

#endif

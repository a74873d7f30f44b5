/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress of long tasks, shown to who sits at a terminal. */
#ifndef POISE_PROGRESS_H
#define POISE_PROGRESS_H

#include <stdbool.h>

#include "poise/sys.h"

typedef struct Progress {
  const char *what; /* borrowed */
  bool on;
  double begun, shown; /* times of begin and of the latest line; shown = 0: no line yet */
} Progress;

/* Show a line "what: 120 of 1800 MB, 240 MB/s" on rank 0's standard error, if that is a terminal and the
   task takes long. Option -load_progress. Each step rewrites it, the end erases it. Not collective. */
void poiseProgressBegin(PoiseContext ctx, const char *what, Progress *p);
void poiseProgressStep(Progress *p, int64_t done, int64_t total); /* bytes; total = 0: unknown */
void poiseProgressEnd(Progress *p);

#endif

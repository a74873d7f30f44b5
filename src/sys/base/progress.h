/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress of long tasks, shown to who sits at a terminal. */
#ifndef POISE_PROGRESS_H
#define POISE_PROGRESS_H

#include <stdbool.h>

#include "poise/sys.h"

typedef struct Progress {
  const char *what; /* borrowed */
  bool on;
  double patience;     /* seconds before the first line */
  double begun, shown; /* times of begin and of the latest line; shown = 0: no line yet */
} Progress;

/* A line on standard error that each step rewrites and the end erases. wanted: as an option says. There is a
   line if that is so, on the first rank of the process' communicator, if standard error is a terminal and the
   task takes longer than `patience`. Not collective. */
void poiseProgressBegin(PoiseContext ctx, const char *what, bool wanted, double patience, Progress *p);
/* Is it time for a line? now: PoiseTime(). Not asked if it is not on. */
bool poiseProgressIsDue(const Progress *p, double now);
/* Rewrite the line: "what: ", then this. It is cut where it would not fit into 80 columns. */
void poiseProgressLine(Progress *p, double now, const char *format, ...) POISE_PRINTF(3, 4);
/* "what: 120 of 1800 MB, 240 MB/s" if that is due. Bytes; total = 0: unknown. */
void poiseProgressStep(Progress *p, int64_t done, int64_t total);
void poiseProgressEnd(Progress *p);

#endif

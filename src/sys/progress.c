/* SPDX-License-Identifier: BSD-3-Clause */
/* A line on standard error that shows the progress of a long task, if that is a terminal. Otherwise
   nothing is printed that was not asked for. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>

#include "progress.h"
#include "sys.h"

#define PATIENCE 0.5 /* seconds before the line appears */
#define INTERVAL 0.1

void poiseProgressBegin(PoiseContext ctx, const char *what, Progress *p)
{
  bool on = ctx->load_progress && PoiseRank(ctx) == 0 && isatty(STDERR_FILENO);
  *p = (Progress){.what = what, .on = on, .begun = PoiseTime()};
}

void poiseProgressStep(Progress *p, int64_t done, int64_t total)
{
  double now = p->on ? PoiseTime() : 0, seconds = now - p->begun;
  if (!p->on || seconds < PATIENCE || now - p->shown < INTERVAL) return;
  p->shown = now;
  if (done > total && total) done = total;
  fprintf(stderr, "\r\033[K%s: %.0f", p->what, 1e-6 * (double)done);
  if (total) fprintf(stderr, " of %.0f", 1e-6 * (double)total);
  fprintf(stderr, " MB, %.0f MB/s", 1e-6 * (double)done / seconds);
  fflush(stderr);
}

void poiseProgressEnd(Progress *p)
{
  if (p->shown > 0) fprintf(stderr, "\r\033[K"), fflush(stderr);
  p->on = false;
}

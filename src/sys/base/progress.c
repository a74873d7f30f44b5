/* SPDX-License-Identifier: BSD-3-Clause */
/* A line on standard error that shows the progress of a long task, if that is a terminal. Otherwise
   nothing is printed that was not asked for. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "numbers.h"
#include "progress.h"
#include "sys/sys.h"

#define INTERVAL 0.1 /* seconds between two lines */

enum { WIDTH = 80 }; /* a longer line would go on in the next one, and stay there */

void poiseProgressBegin(PoiseContext ctx, const char *what, bool wanted, double patience, Progress *p)
{
  bool on = wanted && !poiseContextHome(ctx)->comm->rank && isatty(STDERR_FILENO);
  *p = (Progress){.what = what, .on = on, .patience = patience, .begun = on ? PoiseTime() : 0};
}

bool poiseProgressIsDue(const Progress *p, double now)
{
  return p->on && now - p->begun >= p->patience && now - p->shown >= INTERVAL;
}

void poiseProgressLine(Progress *p, double now, const char *format, ...)
{
  char line[WIDTH];
  va_list args;
  NumberLocale numbers = poiseScalarsBegin();
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  poiseScalarsEnd(numbers);
  int room = WIDTH - 1 - (int)strlen(line) - 2;
  p->shown = now;
  fprintf(stderr, "\r\033[K%.*s: %s", room > 0 ? room : 0, p->what, line);
  fflush(stderr);
}

void poiseProgressStep(Progress *p, int64_t done, int64_t total)
{
  double now = p->on ? PoiseTime() : 0, seconds = now - p->begun;
  if (!poiseProgressIsDue(p, now)) return;
  char of[40] = "";
  if (done > total && total) done = total;
  if (total) snprintf(of, sizeof of, " of %.0f", 1e-6 * (double)total);
  poiseProgressLine(p, now, "%.0f%s MB, %.0f MB/s", 1e-6 * (double)done, of, 1e-6 * (double)done / seconds);
}

void poiseProgressEnd(Progress *p)
{
  if (p->shown > 0) fprintf(stderr, "\r\033[K"), fflush(stderr);
  p->on = false;
  p->shown = 0;
}

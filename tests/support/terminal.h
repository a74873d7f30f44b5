/* SPDX-License-Identifier: BSD-3-Clause */
/* What is written to standard error, as to a terminal or to a pipe. For sources with _XOPEN_SOURCE 700. */
#ifndef POISE_TEST_TERMINAL_H
#define POISE_TEST_TERMINAL_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { OUTPUT_ROOM = 4000 };

typedef struct ErrorOutput {
  int saved, from, to;
} ErrorOutput;

/* Standard error goes elsewhere from here on. */
static inline int TakeErrorOutput(ErrorOutput *t, int terminal)
{
  int ends[2] = {-1, -1}, master = posix_openpt(O_RDWR | O_NOCTTY);
  t->saved = dup(2);
  if (!CHECK(t->saved >= 0 && master >= 0 && !grantpt(master) && !unlockpt(master) && !pipe(ends))) return 0;
  int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  t->from = terminal ? master : ends[0], t->to = terminal ? slave : ends[1];
  close(terminal ? ends[0] : master), close(terminal ? ends[1] : slave);
  return CHECK(t->to >= 0 && dup2(t->to, 2) == 2);
}

/* It goes where it went before. seen: what was written since, and "!". */
static inline void GiveErrorOutput(ErrorOutput *t, char seen[OUTPUT_ROOM])
{
  memset(seen, 0, OUTPUT_ROOM);
  dup2(t->saved, 2);
  CHECK(write(t->to, "!", 1) == 1);
  for (size_t n = 0; n < OUTPUT_ROOM - 1 && !strchr(seen, '!'); n += strlen(seen + n))
    if (!CHECK(read(t->from, seen + n, OUTPUT_ROOM - 1 - n) > 0)) break;
  close(t->saved), close(t->from), close(t->to);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A process that was forked lacks all threads but one, and with them those of OpenMP and of the library: a
  loop would wait for them forever. A GPU and MPI are not of the child either. So public functions that work
  refuse there.
*/
#ifndef POISE_FORK_H
#define POISE_FORK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "poise/sys.h"

extern atomic_bool poiseForked; /* from a process that used the library */

void poiseForkWatch(void); /* this process uses it: children will know */
PoiseErr poiseForkRefuse(const char *function);

/* The same, at no cost where nothing was forked. */
static inline PoiseErr poiseForkCheck(const char *function)
{
  return atomic_load_explicit(&poiseForked, memory_order_relaxed) ? poiseForkRefuse(function) : POISE_OK;
}

#endif

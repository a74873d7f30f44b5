/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking the application, during long calls, whether to go on. */
#ifndef POISE_INTERRUPT_H
#define POISE_INTERRUPT_H

#include "error.h"

struct Device;

typedef struct Interrupt {
  PoiseInterrupt look; /* NULL: nobody interrupts */
  void *arg;
  double next; /* when it is asked again, by the context's clock */
} Interrupt;

/*
  Ask the application, if it wants to be asked and POISE_LOOK_SECONDS have passed. An error of its own says
  that this rank's work must end; without one this thread's error stays as it is.

  Allocations ask. So all set-ups do, in places where a failure of one rank alone is told to the others. Loops
  that allocate nothing ask by themselves, where that holds too. Not in parallel loops.
*/
PoiseErr poiseLook(PoiseContext ctx);
/* The same in a long kernel of the host. On other devices it does nothing, as the kernel runs later. */
PoiseErr poiseLookInKernel(const struct Device *dev);
/* Does it want to be asked? The same on all ranks. */
bool poiseLooks(PoiseContext ctx);

#define POISE_LOOK_SECONDS 0.05

#endif

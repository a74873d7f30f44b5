/* SPDX-License-Identifier: BSD-3-Clause */
/* What is printed: by rank 0, to the output of the context. */
#ifndef POISE_OUTPUT_H
#define POISE_OUTPUT_H

#include "sys/base/error.h"

/* PoisePrintf for views. It returns POISE_OK whatever happens, as rank 0 alone writes, and other ranks are
   in the view's collectives. */
PoiseErr poisePrint(PoiseContext ctx, const char *format, ...) POISE_PRINTF(2, 3);
/* The end of a view: an error on all ranks if one has the error `mine`, or a line was not written.
   Collective; agrees. */
PoiseErr poisePrinted(PoiseContext ctx, PoiseErr mine);
/* Print the line of a view: the memory of all ranks together. Collective. */
PoiseErr poiseBytesPrint(PoiseContext ctx, const PoiseBytes *held);

#endif

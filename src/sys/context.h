/* SPDX-License-Identifier: BSD-3-Clause */
/* What PoiseRun needs of the context: to make and end that of a rank. */
#ifndef POISE_CONTEXT_H
#define POISE_CONTEXT_H

#include "sys.h"

/* *ranks that PoiseRun starts as threads (-ranks). */
PoiseErr poiseContextThreads(PoiseContext ctx, int *ranks);
/* Make what each rank has of its own; it has a communicator and options already. Collective; agrees. */
PoiseErr poiseRankFill(PoiseContext ctx);
/* Release it, also if it was made in part. */
void poiseRankEmpty(PoiseContext ctx);
/* Write the log if -log_view asks for it. Collective. */
PoiseErr poiseRankViewLog(PoiseContext ctx);
/* POISE_ERR_STATE if objects of the context live "at PoiseFinalize". */
PoiseErr poiseRankNoObjects(PoiseContext ctx, const char *when);
/* POISE_ERR_INTERNAL if blocks of memory live when everything is released. */
PoiseErr poiseRankNoMemory(int64_t live);

#endif

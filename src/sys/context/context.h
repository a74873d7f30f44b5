/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks that are threads need of the context: to make and end that of a rank; and these ranks. */
#ifndef POISE_CONTEXT_H
#define POISE_CONTEXT_H

#include "sys/sys.h"

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

/* ---- ranks as threads (run.c) ---------------------------------------------------------------- */

typedef struct RankBody {
  PoiseErr (*run)(PoiseContext, void *arg); /* on each rank, in its filled context */
  void (*ended)(void *arg); /* on each rank when its thread ends, also if `run` was not reached;
                                               NULL: nothing */
  void *arg;
  Interrupt interrupt; /* of each rank, until it is given another */
} RankBody;

typedef struct RankEnd { /* how a rank ended */
  PoiseErr code;
  ErrorState error; /* of its thread */
} RankEnd;

typedef struct Rank Rank;

typedef struct RankThreads {
  PoiseContext ctx; /* of the thread that starts them */
  int n, started;
  Rank *rank;
  const RankEnd **end;
  Team *team, *after; /* after: for the log of ranks that have failed; NULL: no log is asked for */
} RankThreads;

PoiseErr poiseRanksCreate(PoiseContext ctx, int n, const RankBody *body, RankThreads *t);
/* After a failure those that were started end with an error. Join in any case. */
PoiseErr poiseRanksStart(RankThreads *t);
/* Wait until all have ended. The result of the start, or the first error. */
PoiseErr poiseRanksJoin(RankThreads *t, PoiseErr started);
/* The allocation that a test makes fail may be one of the last rank's: before the start, and after it. */
void poiseRanksLendFailure(RankThreads *t);
PoiseContext poiseRanksContext(RankThreads *t, int rank);
void poiseRanksDestroy(RankThreads *t);
/* The error of the first rank that failed by itself becomes this thread's. */
PoiseErr poiseFirstError(int n, const RankEnd *const end[]);

#endif

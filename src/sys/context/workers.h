/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Workers: ranks that are threads of a context of one rank (-gpus, -solve_ranks). They are parked until they
  are given a job. They live as long as the context, as it takes long to open GPUs and to link them. So all
  solvers of the context use the same ones, in turn.

  A job is a function that all workers call, each with the context of its rank. It is collective there: it
  fails on all ranks or on none. The calling thread waits meanwhile, and calls functions of the application's
  for the workers. Between jobs it may read what workers have made, but not change it.
*/
#ifndef POISE_WORKERS_H
#define POISE_WORKERS_H

#include "sys/base/error.h"

typedef struct WorkerThreads WorkerThreads;

/* Start the workers of ctx, if there are none yet: ctx->workers. */
PoiseErr poiseWorkersOpen(PoiseContext ctx);
/* End them. The first error of a worker. */
PoiseErr poiseWorkersClose(PoiseContext ctx);
/* Have all workers call job(context of the rank, arg). The error of the first one that failed by itself. */
PoiseErr poiseWorkersDo(WorkerThreads *w, PoiseErr (*job)(PoiseContext, void *), void *arg);
/* POISE_ERR_STATE in the middle of a job. `what` names the call. */
PoiseErr poiseWorkersCheckIdle(const WorkerThreads *w, const char *what);
/* In a job, by one worker at a time: have the calling thread call f(arg). */
PoiseErr poiseWorkersAsk(PoiseContext rank_ctx, PoiseErr (*f)(void *arg), void *arg);

typedef struct WorkersTask { /* to destroy what workers have made: a job that cannot fail */
  struct WorkersTask *next;
  PoiseErr (*job)(PoiseContext, void *arg);
  void (*end)(void *arg); /* then, by the calling thread */
  void *arg;
} WorkersTask;

/* Do the task; in the middle of a job as soon as that has ended. */
void poiseWorkersFinish(WorkerThreads *w, WorkersTask *task);

int poiseWorkersCount(const WorkerThreads *w);
PoiseContext poiseWorkersContext(WorkerThreads *w, int rank);
/* The option that asks for them, with its value, for messages and views: "-solve_ranks 4". */
const char *poiseWorkersWord(PoiseContext ctx);

#endif

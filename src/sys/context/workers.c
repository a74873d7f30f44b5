/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Threads that wait for jobs. One lock and two conditions: workers wait for a job or an answer, the calling
  thread for the end of the job or a question.

    calling thread   job --------- waits ---- answers ---- waits ---- result
    worker 0         waits   job ----- asks .......... goes on --- ends   waits
    worker 1         waits   job ----------------------------- ends       waits
*/
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "context.h"
#include "workers.h"

struct WorkerThreads {
  RankThreads threads;
  pthread_mutex_t lock;
  pthread_cond_t go, back;
  bool lock_made, go_made, back_made;
  RankEnd *result; /* of the latest job, by rank */
  const RankEnd **results;
  PoiseErr (*job)(PoiseContext, void *);
  void *arg;
  int64_t number; /* of the latest job */
  int idle;       /* workers that have done it */
  int ended;      /* threads that have ended */
  bool busy;      /* in the middle of a job; of the calling thread */
  bool quit;
  PoiseErr (*question)(void *); /* NULL: there is none */
  void *question_arg;
  bool answered;
  RankEnd answer;
  WorkersTask *tasks; /* that wait for the end of the job */
  bool looks;         /* the application may interrupt the job */
  atomic_bool stopped;
  RankEnd stop; /* what it said; there before `stopped` is */
};

/* ---- the workers' side ----------------------------------------------------------------------- */

static void WaitForJob(WorkerThreads *w, int64_t done)
{
  w->idle++;
  pthread_cond_signal(&w->back);
  while (w->number == done && !w->quit) pthread_cond_wait(&w->go, &w->lock);
}

/* An interrupt by the application, which the calling thread asks. */
static PoiseErr LookStopped(void *arg)
{
  WorkerThreads *w = arg;
  if (!atomic_load(&w->stopped)) return POISE_OK;
  poiseErrorRestore(&w->stop.error);
  return w->stop.code;
}

/* Do jobs until there will be none. */
static PoiseErr DoJobs(PoiseContext ctx, void *arg)
{
  WorkerThreads *w = arg;
  RankEnd *result = &w->result[ctx->comm->rank];
  int64_t done = 0;
  ctx->options_checked = true; /* by the calling thread */
  pthread_mutex_lock(&w->lock);
  for (WaitForJob(w, done); w->number != done; WaitForJob(w, done)) {
    done = w->number;
    pthread_mutex_unlock(&w->lock);
    ctx->out = ctx->parent->out;
    ctx->interrupt = (Interrupt){.look = w->looks ? LookStopped : NULL, .arg = w};
    result->code = w->job(ctx, w->arg);
    if (result->code) poiseErrorSave(&result->error);
    pthread_mutex_lock(&w->lock);
  }
  pthread_mutex_unlock(&w->lock);
  return POISE_OK;
}

static void CountEnded(void *arg)
{
  WorkerThreads *w = arg;
  pthread_mutex_lock(&w->lock);
  w->ended++;
  pthread_cond_signal(&w->back);
  pthread_mutex_unlock(&w->lock);
}

PoiseErr poiseWorkersAsk(PoiseContext rank_ctx, PoiseErr (*f)(void *arg), void *arg)
{
  WorkerThreads *w = rank_ctx->parent->workers;
  pthread_mutex_lock(&w->lock);
  w->question = f;
  w->question_arg = arg;
  w->answered = false;
  pthread_cond_signal(&w->back);
  while (!w->answered) pthread_cond_wait(&w->go, &w->lock);
  pthread_mutex_unlock(&w->lock);
  poiseErrorRestore(&w->answer.error);
  return w->answer.code;
}

/* ---- the calling thread's side --------------------------------------------------------------- */

/* With the lock, which is free while the application's function runs. */
static void Answer(WorkerThreads *w)
{
  pthread_mutex_unlock(&w->lock);
  PoiseErrorClear();
  w->answer.code = w->question(w->question_arg);
  poiseErrorSave(&w->answer.error);
  pthread_mutex_lock(&w->lock);
  w->question = NULL;
  w->answered = true;
  pthread_cond_broadcast(&w->go);
}

/* With the lock: wait, but not so long that the application could not interrupt. */
static void Await(WorkerThreads *w)
{
  struct timespec until;
  if (!w->looks || atomic_load(&w->stopped)) {
    pthread_cond_wait(&w->back, &w->lock);
    return;
  }
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (long)(1e9 * POISE_LOOK_SECONDS / 2);
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  if (pthread_cond_timedwait(&w->back, &w->lock, &until) != ETIMEDOUT) return;
  pthread_mutex_unlock(&w->lock);
  w->stop.code = poiseLook(w->threads.ctx);
  if (w->stop.code) {
    poiseErrorSave(&w->stop.error);
    atomic_store(&w->stopped, true);
  }
  pthread_mutex_lock(&w->lock);
}

/* looks: the application may interrupt it. */
static void RunJob(WorkerThreads *w, PoiseErr (*job)(PoiseContext, void *), void *arg, bool looks)
{
  int n = w->threads.n;
  w->busy = true;
  pthread_mutex_lock(&w->lock);
  w->looks = looks;
  atomic_store(&w->stopped, false);
  w->job = job;
  w->arg = arg;
  w->idle = 0;
  w->number++;
  pthread_cond_broadcast(&w->go);
  while (w->idle < n)
    if (w->question)
      Answer(w);
    else
      Await(w);
  pthread_mutex_unlock(&w->lock);
  w->busy = false;
}

static void FinishTasks(WorkerThreads *w)
{
  while (w->tasks) {
    WorkersTask *task = w->tasks;
    w->tasks = task->next;
    RunJob(w, task->job, task->arg, false);
    task->end(task->arg);
  }
}

PoiseErr poiseWorkersCheckIdle(const WorkerThreads *w, const char *what)
{
  if (w && w->busy)
    FAIL(POISE_ERR_STATE,
         "%s while the context's workers (%s) are in the middle of a solve: they serve one at a time", what,
         poiseWorkersWord(w->threads.ctx));
  return POISE_OK;
}

PoiseErr poiseWorkersDo(WorkerThreads *w, PoiseErr (*job)(PoiseContext, void *), void *arg)
{
  TRY(poiseWorkersCheckIdle(w, "a call"));
  RunJob(w, job, arg, poiseLooks(w->threads.ctx));
  PoiseErr e = poiseFirstError(w->threads.n, w->results);
  ErrorState error;
  if (!e) e = LookStopped(w); /* it came too late for them */
  if (w->tasks) {
    poiseErrorSave(&error);
    FinishTasks(w);
    poiseErrorRestore(&error);
  }
  return e;
}

void poiseWorkersFinish(WorkerThreads *w, WorkersTask *task)
{
  task->next = w->tasks;
  w->tasks = task;
  if (!w->busy) FinishTasks(w);
}

int poiseWorkersCount(const WorkerThreads *w)
{
  return w->threads.n;
}

PoiseContext poiseWorkersContext(WorkerThreads *w, int rank)
{
  return poiseRanksContext(&w->threads, rank);
}

const char *poiseWorkersWord(PoiseContext ctx)
{
  static _Thread_local char text[POISE_OPTION_LENGTH + 32];
  const char *key = ctx->worker_gpus ? "gpus" : "solve_ranks";
  snprintf(text, sizeof text, "%s %d", poiseOptionsName(ctx, NULL, key), ctx->most_workers);
  return text;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void Release(PoiseContext ctx, WorkerThreads *w)
{
  poiseRanksDestroy(&w->threads);
  if (w->go_made) pthread_cond_destroy(&w->go);
  if (w->back_made) pthread_cond_destroy(&w->back);
  if (w->lock_made) pthread_mutex_destroy(&w->lock);
  poiseFree(ctx, &w->result);
  poiseFree(ctx, &w->results);
  poiseFree(ctx, &ctx->workers);
}

static PoiseErr Create(PoiseContext ctx, int n)
{
  TRY(poiseAlloc(ctx, sizeof *ctx->workers, "workers", &ctx->workers));
  WorkerThreads *w = ctx->workers;
  w->lock_made = !pthread_mutex_init(&w->lock, NULL);
  w->go_made = !pthread_cond_init(&w->go, NULL);
  w->back_made = !pthread_cond_init(&w->back, NULL);
  if (!w->lock_made || !w->go_made || !w->back_made) FAIL(POISE_ERR_MEMORY, "no lock for %d workers", n);
  TRY(poiseAllocArray(ctx, n, sizeof *w->result, "results of workers", &w->result));
  TRY(poiseAllocArray(ctx, n, sizeof *w->results, "results of workers", &w->results));
  for (int r = 0; r < n; r++) w->results[r] = &w->result[r];
  return poiseRanksCreate(ctx, n, &(RankBody){.run = DoJobs, .ended = CountEnded, .arg = w}, &w->threads);
}

/* Returns whether all are parked; if not, all have ended. */
static bool AwaitParked(WorkerThreads *w)
{
  int n = w->threads.n;
  pthread_mutex_lock(&w->lock);
  while (w->idle < n && w->ended < n) pthread_cond_wait(&w->back, &w->lock);
  bool parked = w->idle == n;
  pthread_mutex_unlock(&w->lock);
  return parked;
}

/* A rank's context is filled on all workers or on none. */
static PoiseErr Start(WorkerThreads *w)
{
  poiseRanksLendFailure(&w->threads);
  PoiseErr e = poiseRanksStart(&w->threads);
  bool parked = !e && AwaitParked(w);
  if (!parked) e = poiseRanksJoin(&w->threads, e);
  poiseRanksLendFailure(&w->threads);
  return e;
}

PoiseErr poiseWorkersOpen(PoiseContext ctx)
{
  if (ctx->workers) return POISE_OK;
  PoiseErr e = Create(ctx, ctx->most_workers);
  if (!e) e = Start(ctx->workers);
  if (e && ctx->workers) Release(ctx, ctx->workers);
  return e;
}

PoiseErr poiseWorkersClose(PoiseContext ctx)
{
  WorkerThreads *w = ctx->workers;
  if (!w) return POISE_OK;
  pthread_mutex_lock(&w->lock);
  w->quit = true;
  pthread_cond_broadcast(&w->go);
  pthread_mutex_unlock(&w->lock);
  PoiseErr e = poiseRanksJoin(&w->threads, POISE_OK);
  Release(ctx, w);
  return e;
}

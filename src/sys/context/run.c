/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Ranks as threads, for PoiseRun and for workers. Each has a context of its own, which is started, filled and
  emptied by its thread. A rank that fails makes the others return, and the first one that failed by itself is
  reported.
*/
#include "context.h"
#include "sys/device/nodes.h"

struct Rank {
  _Alignas(64) struct PoiseContext_s ctx; /* aligned, so that ranks count their allocations without sharing
                                             a cache line */
  Team *team, *after;                     /* as of RankThreads */
  RankBody body;
  pthread_t thread;
  RankEnd end;
};

/* Write the log although ranks have failed, as MPI programs do that finalise after an error. The first
   team has ended, and all its ranks come here. */
static void ViewLogOfFailed(Rank *r)
{
  PoiseContext ctx = &r->ctx;
  ErrorState error;
  poiseErrorSave(&error);
  poiseTeamAbort(r->team, ctx->comm->rank);
  Comm *comm = poiseTeamComm(r->after, ctx->comm->rank, ctx);
  comm->messages = ctx->comm->messages;
  comm->message_bytes = ctx->comm->message_bytes;
  ctx->comm = comm;
  (void)poiseRankViewLog(ctx);
  poiseErrorRestore(&error);
}

static PoiseErr CallBody(Rank *r)
{
  TRY(r->body.run(&r->ctx, r->body.arg));
  TRY(poiseCommEnd(r->ctx.comm));
  return PoiseAgree(&r->ctx, poiseRankNoObjects(&r->ctx, "at the end of PoiseRun's body"));
}

static PoiseErr Work(Rank *r)
{
  PoiseContext ctx = &r->ctx;
  PoiseErr e = poiseRankFill(ctx);
  if (e && r->after) poiseTeamAbort(r->after, ctx->comm->rank);
  TRY(e);
  e = CallBody(r);
  if (e && r->after) ViewLogOfFailed(r);
  TRY(e);
  return poiseRankViewLog(ctx);
}

static void *RunRank(void *rank)
{
  Rank *r = rank;
  const Comm *comm = r->ctx.comm;
  if (r->ctx.parent->bind && !r->ctx.parent->worker_gpus)
    poiseNodesBind(r->ctx.hooks.nodes, comm->rank, comm->size);
  PoiseErr e = Work(r);
  if (e) poiseTeamAbort(r->team, r->ctx.comm->rank);
  poiseOptionsLeave(&r->ctx);
  poiseRankEmpty(&r->ctx);
  poiseOptionsLeave(&r->ctx);
  poiseObjectRemove(&r->ctx);
  r->end.code = e ? e : poiseRankNoMemory(r->ctx.memory.live);
  poiseErrorSave(&r->end.error);
  if (r->body.ended) r->body.ended(r->body.arg);
  return NULL;
}

static PoiseErr StartRank(PoiseContext ctx, int rank, Rank *r)
{
  r->ctx = (struct PoiseContext_s){.comm = poiseTeamComm(r->team, rank, &r->ctx),
                                   .options = ctx->options,
                                   .out = ctx->out,
                                   .interrupt = r->body.interrupt,
                                   .hooks = ctx->hooks,
                                   .parent = ctx,
                                   .memory.fail_at = r->ctx.memory.fail_at};
  TRY(poiseObjectAdd(&r->ctx, KIND_CONTEXT));
  int failed = pthread_create(&r->thread, NULL, RunRank, r);
  if (failed) poiseObjectRemove(&r->ctx);
  if (failed) FAIL(POISE_ERR_MEMORY, "thread rank %d cannot be started: %s", rank, strerror(failed));
  return POISE_OK;
}

PoiseErr poiseFirstError(int n, const RankEnd *const end[])
{
  char name[32];
  int first = -1;
  for (int r = n - 1; r >= 0; r--)
    if (end[r]->code && (end[r]->code != POISE_ERR_REMOTE || first < 0)) first = r;
  if (first < 0) return POISE_OK;
  poiseErrorRestore(&end[first]->error);
  snprintf(name, sizeof name, "thread rank %d", first);
  return PoiseErrorTrace(end[first]->code, name, __FILE__, __LINE__);
}

PoiseErr poiseRanksCreate(PoiseContext ctx, int n, const RankBody *body, RankThreads *t)
{
  *t = (RankThreads){.ctx = ctx, .n = n};
  TRY(poiseAllocArray(ctx, n, sizeof *t->rank, "thread ranks", &t->rank));
  TRY(poiseAllocArray(ctx, n, sizeof *t->end, "thread ranks", &t->end));
  TRY(poiseTeamCreate(ctx, n, &t->team));
  if (PoiseOptionsHas(ctx, NULL, "log_view", NULL)) TRY(poiseTeamCreate(ctx, n, &t->after));
  for (int r = 0; r < n; r++) {
    t->rank[r] = (Rank){.team = t->team, .after = t->after, .body = *body};
    t->end[r] = &t->rank[r].end;
  }
  return POISE_OK;
}

PoiseErr poiseRanksStart(RankThreads *t)
{
  PoiseErr e = POISE_OK;
  while (t->started < t->n && !e) {
    e = StartRank(t->ctx, t->started, &t->rank[t->started]);
    if (!e) t->started++;
  }
  for (int r = t->started; r < t->n; r++) {
    poiseTeamAbort(t->team, r);
    if (t->after) poiseTeamAbort(t->after, r);
  }
  return e;
}

PoiseErr poiseRanksJoin(RankThreads *t, PoiseErr started)
{
  for (int r = 0; r < t->started; r++) pthread_join(t->rank[r].thread, NULL);
  return started ? started : poiseFirstError(t->n, t->end);
}

PoiseContext poiseRanksContext(RankThreads *t, int rank)
{
  return &t->rank[rank].ctx;
}

void poiseRanksDestroy(RankThreads *t)
{
  if (!t->ctx) return;
  poiseTeamDestroy(&t->team);
  poiseTeamDestroy(&t->after);
  poiseFree(t->ctx, &t->end);
  poiseFree(t->ctx, &t->rank);
}

void poiseRanksLendFailure(RankThreads *t)
{
  int64_t *mine = &t->ctx->memory.fail_at, *last = &t->rank[t->n - 1].ctx.memory.fail_at, kept = *mine;
  *mine = *last;
  *last = kept;
}

static PoiseErr RunThreads(PoiseContext ctx, int n, const RankBody *body, RankThreads *t)
{
  TRY(poiseRanksCreate(ctx, n, body, t));
  poiseRanksLendFailure(t);
  PoiseErr e = poiseRanksJoin(t, poiseRanksStart(t));
  poiseRanksLendFailure(t);
  return e;
}

PoiseErr PoiseRun(PoiseContext ctx, PoiseErr (*body)(PoiseContext, void *), void *arg)
{
  CALLED(OBJECT(ctx));
  int ranks;
  RankThreads t = {0};
  if (!body) FAIL(POISE_ERR_ARG, "PoiseRun: body is NULL");
  if (ctx->answered) return POISE_OK;
  TRY(poiseContextThreads(ctx, &ranks));
  if (ranks == 1 || ctx->parent || ctx->home) return body(ctx, arg);
  if (ctx->comm->size > 1)
    FAIL(POISE_ERR_UNSUPPORTED, "%s %d (threads) inside %d MPI ranks", poiseOptionsName(ctx, NULL, "ranks"),
         ranks, ctx->comm->size);
  if (ctx->stream)
    FAIL(POISE_ERR_UNSUPPORTED, "%s %d (threads) with PoiseInit.stream, which serves one rank",
         poiseOptionsName(ctx, NULL, "ranks"), ranks);
  if (ctx->most_workers > 1)
    FAIL(POISE_ERR_UNSUPPORTED, "%s inside PoiseRun with %s %d: a solve is divided in a context of one rank",
         poiseWorkersWord(ctx), poiseOptionsName(ctx, NULL, "ranks"), ranks);
  PoiseErr e = RunThreads(ctx, ranks, &(RankBody){.run = body, .arg = arg, .interrupt = ctx->interrupt}, &t);
  poiseRanksDestroy(&t);
  ctx->log_viewed = true;
  TRY(e);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PoiseRun: ranks as threads. Each has a context of its own, which is started, filled and emptied by its
  thread. A rank that fails makes the others return, and the first one that failed by itself is reported.
*/
#include "context.h"

typedef struct Rank {
  _Alignas(64) struct PoiseContext_s ctx; /* aligned, so that ranks count their allocations without sharing
                                             a cache line */
  Team *team, *after;                     /* after: a team for the log of ranks that have failed; NULL: no
                                             log is asked for */
  PoiseErr (*body)(PoiseContext, void *);
  void *arg;
  pthread_t thread;
  PoiseErr code;
  ErrorState error; /* error of the thread that ended */
} Rank;

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
  TRY(r->body(&r->ctx, r->arg));
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
  PoiseErr e = Work(r);
  if (e) poiseTeamAbort(r->team, r->ctx.comm->rank);
  poiseOptionsLeave(&r->ctx);
  poiseRankEmpty(&r->ctx);
  poiseOptionsLeave(&r->ctx);
  poiseObjectRemove(&r->ctx);
  r->code = e ? e : poiseRankNoMemory(r->ctx.memory.live);
  poiseErrorSave(&r->error);
  return NULL;
}

static PoiseErr StartRank(PoiseContext ctx, int rank, Rank *r)
{
  r->ctx = (struct PoiseContext_s){.comm = poiseTeamComm(r->team, rank, &r->ctx),
                                   .options = ctx->options,
                                   .out = ctx->out,
                                   .hooks = ctx->hooks,
                                   .parent = ctx,
                                   .memory.fail_at = r->ctx.memory.fail_at};
  TRY(poiseObjectAdd(&r->ctx, KIND_CONTEXT));
  int failed = pthread_create(&r->thread, NULL, RunRank, r);
  if (failed) poiseObjectRemove(&r->ctx);
  if (failed) FAIL(POISE_ERR_MEMORY, "PoiseRun cannot start thread rank %d: %s", rank, strerror(failed));
  return POISE_OK;
}

/* The error of the first rank that failed by itself. */
static PoiseErr FirstError(const Rank *rank, int n)
{
  char name[32];
  int first = -1;
  for (int r = n - 1; r >= 0; r--)
    if (rank[r].code && (rank[r].code != POISE_ERR_REMOTE || first < 0)) first = r;
  if (first < 0) return POISE_OK;
  poiseErrorRestore(&rank[first].error);
  snprintf(name, sizeof name, "thread rank %d", first);
  return PoiseErrorTrace(rank[first].code, name, __FILE__, __LINE__);
}

static PoiseErr RunRanks(PoiseContext ctx, Rank *rank, int n, Team *team, Team *after)
{
  PoiseErr e = POISE_OK;
  int started = 0;
  while (started < n && !e) {
    e = StartRank(ctx, started, &rank[started]);
    if (!e) started++;
  }
  for (int r = started; r < n; r++) {
    poiseTeamAbort(team, r);
    if (after) poiseTeamAbort(after, r);
  }
  for (int r = 0; r < started; r++) pthread_join(rank[r].thread, NULL);
  return e ? e : FirstError(rank, n);
}

static PoiseErr RunThreads(PoiseContext ctx, int n, Rank **rank, Team *team[2],
                           PoiseErr (*body)(PoiseContext, void *), void *arg)
{
  TRY(poiseAllocArray(ctx, n, sizeof **rank, "thread ranks", rank));
  TRY(poiseTeamCreate(ctx, n, &team[0]));
  if (PoiseOptionsHas(ctx, NULL, "log_view", NULL)) TRY(poiseTeamCreate(ctx, n, &team[1]));
  for (int r = 0; r < n; r++)
    (*rank)[r] = (Rank){.team = team[0], .after = team[1], .body = body, .arg = arg};
  /* the allocation that a test makes fail may be one of the last rank's */
  Memory *last = &(*rank)[n - 1].ctx.memory;
  last->fail_at = ctx->memory.fail_at;
  ctx->memory.fail_at = 0;
  PoiseErr e = RunRanks(ctx, *rank, n, team[0], team[1]);
  ctx->memory.fail_at = last->fail_at;
  return e;
}

PoiseErr PoiseRun(PoiseContext ctx, PoiseErr (*body)(PoiseContext, void *), void *arg)
{
  CALLED(OBJECT(ctx));
  int ranks;
  Rank *rank = NULL;
  Team *team[2] = {NULL, NULL};
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
  PoiseErr e = RunThreads(ctx, ranks, &rank, team, body, arg);
  poiseTeamDestroy(&team[0]);
  poiseTeamDestroy(&team[1]);
  poiseFree(ctx, &rank);
  ctx->log_viewed = true;
  TRY(e);
  return POISE_OK;
}

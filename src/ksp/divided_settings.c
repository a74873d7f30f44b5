/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What a solver inside takes of the application's: its settings (settings.c), and its monitors and test. For
  workers the calling thread calls them; for the leader of a group all its ranks do.
*/
#include "divided.h"

typedef struct Question {
  bool test;
  PoiseInt iteration;
  double norm;
  KSPResult result;
} Question;

static PoiseErr CallMonitors(PoiseKSP outer, const Question *q)
{
  const KSPCallbacks *user = &outer->user;
  for (int k = 0; k < user->nmonitors; k++) {
    PoiseErrorClear();
    TRY(poiseErrorOfUser(user->monitor[k](outer, q->iteration, q->norm, user->monitor_arg[k]), "a monitor"));
  }
  return POISE_OK;
}

static PoiseErr Call(PoiseKSP outer, const Question *q, PoiseKSPReason *reason)
{
  outer->result = q->result;
  if (!q->test) return CallMonitors(outer, q);
  PoiseErrorClear();
  return poiseErrorOfUser(outer->user.test(outer, q->iteration, q->norm, reason, outer->user.test_arg),
                          "the convergence test");
}

PoiseErr poiseKSPAnswer(void *divided, const void *question, void *reply)
{
  PoiseKSPReason reason = POISE_ITERATING;
  _Static_assert(sizeof(Question) <= POISE_GROUP_QUESTION, "a question has room");
  PoiseErr e = Call(poiseKSPOuter(divided), question, &reason);
  if (!e) e = poiseKSPHandBack(divided);
  memcpy(reply, &reason, sizeof reason);
  return e;
}

typedef struct ForWorker {
  PoiseKSP outer;
  const Question *question;
  PoiseKSPReason *reason;
} ForWorker;

static PoiseErr CallForWorker(void *arg)
{
  const ForWorker *w = arg;
  return Call(w->outer, w->question, w->reason);
}

/* The first worker asks; what it is told reaches the others with the next sum. Leaders ask their groups. */
static PoiseErr Ask(PoiseKSP inner, PoiseKSP outer, const Question *q, PoiseKSPReason *reason)
{
  ForWorker w = {outer, q, reason};
  if (!outer->ctx->group)
    return inner->ctx->comm->rank ? POISE_OK : poiseWorkersAsk(inner->ctx, CallForWorker, &w);
  TRY(poiseGroupAsk(inner->ctx, q, sizeof *q));
  const void *reply;
  for (int r = 0; *reason == POISE_ITERATING && (reply = poiseGroupReply(inner->ctx, r)); r++)
    memcpy(reason, reply, sizeof *reason);
  return POISE_OK;
}

static PoiseErr Monitor(PoiseKSP inner, PoiseInt iteration, double norm, void *outer)
{
  PoiseKSPReason none = POISE_ITERATING;
  return Ask(inner, outer, &(Question){false, iteration, norm, inner->result}, &none);
}

static PoiseErr Test(PoiseKSP inner, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *outer)
{
  return Ask(inner, outer, &(Question){true, iteration, norm, inner->result}, reason);
}

PoiseErr poiseKSPTakeDivided(PoiseKSP ksp, PoiseKSP inner)
{
  TRY(poiseKSPTakeSettings(ksp, inner));
  KSPOptions *o = &inner->options; /* the application's solver reports */
  o->view = o->converged_reason = o->error_if_not_converged = o->error_if_inaccurate = 0;
  inner->user = (KSPCallbacks){.monitor = {Monitor},
                               .monitor_arg = {ksp},
                               .nmonitors = ksp->user.nmonitors > 0,
                               .test = ksp->user.test ? Test : NULL,
                               .test_arg = ksp};
  inner->history.keep = ksp->history.keep && !inner->ctx->comm->rank;
  return POISE_OK;
}

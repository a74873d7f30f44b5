/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What a worker's solver takes of the application's: its settings (settings.c), and its monitors and test,
  which the calling thread calls for it.
*/
#include "divided.h"

typedef struct Question {
  PoiseKSP outer, inner;
  PoiseInt iteration;
  double norm;
  PoiseKSPReason *reason;
} Question;

static PoiseErr CallMonitors(void *question)
{
  const Question *q = question;
  const KSPCallbacks *user = &q->outer->user;
  q->outer->result = q->inner->result;
  for (int k = 0; k < user->nmonitors; k++) {
    PoiseErrorClear();
    PoiseErr e = user->monitor[k](q->outer, q->iteration, q->norm, user->monitor_arg[k]);
    if (e) return e; /* the workers' solver names the monitor */
  }
  return POISE_OK;
}

static PoiseErr CallTest(void *question)
{
  const Question *q = question;
  const KSPCallbacks *user = &q->outer->user;
  q->outer->result = q->inner->result;
  return user->test(q->outer, q->iteration, q->norm, q->reason, user->test_arg);
}

/* The first worker asks; what it is told reaches the others with the next sum. */
static PoiseErr Monitor(PoiseKSP inner, PoiseInt iteration, double norm, void *outer)
{
  Question q = {outer, inner, iteration, norm, NULL};
  return inner->ctx->comm->rank ? POISE_OK : poiseWorkersAsk(inner->ctx, CallMonitors, &q);
}

static PoiseErr Test(PoiseKSP inner, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *outer)
{
  Question q = {outer, inner, iteration, norm, reason};
  return inner->ctx->comm->rank ? POISE_OK : poiseWorkersAsk(inner->ctx, CallTest, &q);
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

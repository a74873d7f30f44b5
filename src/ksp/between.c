/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A solve between the two sweeps of its preconditioner. With M = K S, the system
    K^-1 A S^-1 y = K^-1 b,    x = S^-1 y
  is solved without M by a solver inside, where products with its matrix take no more than those with A
  (pc/eisenstat.c). Its residual is K^-1 (b - A x). For symmetric A and M, that has the natural norm of the
  system that is preconditioned by M, and cg makes the same x. With a guess x the system is that of the
  correction, and the tolerance still that of b.
*/
#include "mat/object/bytes.h"
#include "between.h"
#include "divided.h"
#include "inside.h"
#include "methods.h"
#include "reordered.h"
#include "setup.h"
#include "solve.h"
#include "spectrum.h"

const char *poiseKSPWhyNotBetween(PoiseKSP ksp)
{
  const KSPType *type = ksp->type;
  PoiseMat A = ksp->given_A;
  if (!ksp->pc->type->between) return "the preconditioner has no sweeps to work between";
  if (PoiseSize(ksp->ctx) > 1) return "A is of several ranks";
  if (ksp->inside || ksp->borrows) return "the solver is inside another one";
  if (type->squares || type->transposes) return "the method takes products with the transpose";
  if (ksp->given_P != A) return "the preconditioner is of another matrix than A";
  if (poiseKSPReorders(ksp)) return "A is rearranged";
  if (A && (A->null.n || A->left.n)) return "A has a null space";
  if (ksp->options.norm == POISE_KSP_NORM_UNPRECONDITIONED) return "the unpreconditioned norm is asked for";
  if (poiseKSPKeepsSpectrum(ksp)) return "eigenvalues or singular values are asked for";
  if (ksp->options.true_residual) return "the true residual is monitored";
  if (ksp->user.test || ksp->user.nmonitors) return "a monitor or a convergence test is the application's";
  return NULL;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

void poiseKSPDropBetween(PoiseKSP ksp)
{
  Between *m = ksp->between;
  if (!m) return;
  poiseKSPDestroy(&m->inner);
  PoiseVecDestroy(&m->b);
  PoiseVecDestroy(&m->x);
  PoiseVecDestroy(&m->r);
  poiseFree(ksp->ctx, &ksp->between);
}

static PoiseErr Create(PoiseKSP ksp)
{
  TRY(poiseAlloc(ksp->ctx, sizeof *ksp->between, "a solve between sweeps", &ksp->between));
  TRY(PoiseKSPCreate(ksp->ctx, &ksp->between->inner));
  return PoisePCSetType(ksp->between->inner->pc, "none");
}

/* What is asked of the application's solver, which itself tells how it went. */
static PoiseErr TakeSettings(PoiseKSP ksp, PoiseKSP inner)
{
  KSPOptions *o = &inner->options;
  TRY(poiseKSPTakeMethod(ksp, inner));
  o->view = o->converged_reason = o->error_if_not_converged = o->error_if_inaccurate = 0;
  o->guess_nonzero = 0;
  inner->order = POISE_ORDER_NATURAL;
  inner->history.keep = ksp->history.keep;
  return POISE_OK;
}

/* Vectors at places, which change with A's pattern. */
static PoiseErr Follow(Between *m, PoiseMat A)
{
  if (m->inner->A == A) return POISE_OK;
  PoiseVecDestroy(&m->b);
  PoiseVecDestroy(&m->x);
  TRY(PoiseKSPSetOperators(m->inner, A, A));
  TRY(PoiseMatCreateVecs(A, &m->x, &m->b));
  TRY(PoiseVecSet(m->x, 0));
  return PoiseVecSet(m->b, 0);
}

static PoiseErr SetUp(PoiseKSP ksp)
{
  if (!ksp->between) TRY(Create(ksp));
  Between *m = ksp->between;
  poisePCExact(ksp->pc, true);
  poisePCRelaxes(ksp->pc, false);
  TRY(poisePCPrepare(ksp->pc));
  TRY(TakeSettings(ksp, m->inner));
  TRY(Follow(m, ksp->pc->type->between(ksp->pc)));
  if (ksp->options.guess_nonzero && !m->r) TRY(PoiseMatCreateVecs(ksp->A, NULL, &m->r));
  return PoiseKSPSetUp(m->inner);
}

PoiseErr poiseKSPSetUpBetween(PoiseKSP ksp, PoiseNormType norm)
{
  if (ksp->layout) poiseKSPRelease(ksp);
  PoiseErr e = SetUp(ksp);
  if (e) poiseKSPDropBetween(ksp);
  ksp->side = POISE_PC_LEFT;
  ksp->norm = norm == POISE_KSP_NORM_UNPRECONDITIONED ? POISE_KSP_NORM_PRECONDITIONED : norm;
  return e;
}

/* ---- the solve ------------------------------------------------------------------------------- */

/* m->b = K^-1 (b - A x), for a tolerance by K^-1 b. */
static PoiseErr Correct(PoiseKSP ksp, Between *m, PoiseVec b, PoiseVec x)
{
  KSPOptions *o = &m->inner->options;
  double norm;
  TRY(ksp->pc->type->into(ksp->pc, b, m->b));
  TRY(PoiseVecNorm(m->b, POISE_NORM_2, &norm));
  o->atol = fmax(ksp->options.atol, ksp->options.rtol * norm);
  o->rtol = 0;
  TRY(PoiseMatResidual(ksp->A, b, x, m->r));
  return ksp->pc->type->into(ksp->pc, m->r, m->b);
}

static PoiseErr Finish(PoiseKSP ksp, Between *m, PoiseVec x, bool corrects)
{
  if (!corrects) return ksp->pc->type->out_of(ksp->pc, m->x, x);
  TRY(ksp->pc->type->out_of(ksp->pc, m->x, m->r));
  return PoiseVecAXPY(x, 1, m->r);
}

/* The norms of the solver inside are those of this one. */
static void TakeHistory(KSPHistory *mine, KSPHistory *its)
{
  KSPHistory old = *mine;
  *mine = *its, *its = old;
}

PoiseErr poiseKSPRunBetween(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  Between *m = ksp->between;
  bool corrects = ksp->options.guess_nonzero != 0;
  TRY(corrects ? Correct(ksp, m, b, x) : ksp->pc->type->into(ksp->pc, b, m->b));
  PoiseErr e = poiseKSPSolve(m->inner, m->b, m->x);
  ksp->result = m->inner->result;
  TakeHistory(&ksp->history, &m->inner->history);
  TRY(e);
  return Finish(ksp, m, x, corrects);
}

/* ---- view and bytes -------------------------------------------------------------------------- */

PoiseErr poiseKSPViewBetween(PoiseKSP ksp)
{
  const Between *m = ksp->between;
  PoiseBytes held = {0};
  if (!ksp->pc->type->between) return POISE_OK;
  const char *why = poiseKSPWhyNotBetween(ksp);
  if (why) return poisePrint(ksp->ctx, "  not between the sweeps of %s: %s\n", ksp->pc->type->name, why);
  if (!m) return POISE_OK; /* not set up */
  poiseKSPAddVectors(m->inner, &held);
  TRY(poisePrint(ksp->ctx, "  between the sweeps of %s: products read A, and M takes nothing more\n",
                 ksp->pc->type->name));
  TRY(poisePrint(ksp->ctx, "  converges in the %s norm, %d work vectors of %lld\n",
                 PoiseKSPNormString(ksp->norm), m->inner->nwork, (long long)m->inner->A->rows->N));
  if (m->inner->type->view) TRY(m->inner->type->view(m->inner));
  return poiseBytesPrint(ksp->ctx, &held);
}

void poiseKSPAddBetweenBytes(PoiseKSP ksp, PoiseBytes *sum)
{
  const Between *m = ksp->between;
  if (!m) return;
  const PoiseVec all[] = {m->b, m->x, m->r};
  for (int k = 0; k < 3; k++)
    if (all[k]) poiseBufferAdd(&all[k]->data, sum);
  poiseKSPAddBytes(m->inner, NULL, sum);
}

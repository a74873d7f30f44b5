/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A solve between the two sweeps of its preconditioner. With M = K S, the system
    K^-1 A S^-1 y = K^-1 b,    x = S^-1 y
  is solved without M by a solver inside, where products with its matrix take no more than those with A
  (pc/eisenstat.c). Its residual is K^-1 (b - A x), whose norm is tested. For symmetric A and M that is the
  natural norm of the system that is preconditioned by M, and cg makes the same x.
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
  if (ksp->options.norm > POISE_KSP_NORM_NONE)
    return "a norm is asked for, and between the sweeps is another";
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
  o->norm = ksp->norm == POISE_KSP_NORM_NONE ? POISE_KSP_NORM_NONE : POISE_KSP_NORM_DEFAULT;
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

static PoiseErr SetUp(PoiseKSP ksp, PoiseMat A)
{
  if (!ksp->between) TRY(Create(ksp));
  TRY(TakeSettings(ksp, ksp->between->inner));
  TRY(Follow(ksp->between, A));
  return PoiseKSPSetUp(ksp->between->inner);
}

PoiseErr poiseKSPSetUpBetween(PoiseKSP ksp, PoiseNormType norm, bool *can)
{
  poisePCExact(ksp->pc, true);
  poisePCRelaxes(ksp->pc, false);
  TRY(poisePCPrepare(ksp->pc));
  PoiseMat A = ksp->pc->type->between(ksp->pc, ksp->type->symmetric);
  *can = A != NULL;
  if (!*can) return POISE_OK;
  if (ksp->layout) poiseKSPRelease(ksp);
  ksp->side = POISE_PC_LEFT;
  ksp->norm = norm == POISE_KSP_NORM_NONE ? norm : POISE_KSP_NORM_PRECONDITIONED;
  PoiseErr e = SetUp(ksp, A);
  if (e) poiseKSPDropBetween(ksp);
  return e;
}

/* ---- the solve ------------------------------------------------------------------------------- */

/* Of a success x may still overflow, or vanish, as scales of D come with it. */
static PoiseErr Judge(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  double size, of_b = 0;
  if (ksp->result.reason <= 0) return POISE_OK;
  TRY(PoiseVecNorm(x, POISE_NORM_INF, &size));
  if (size == 0) TRY(PoiseVecNorm(b, POISE_NORM_INF, &of_b));
  if (!poiseFinite(size)) ksp->result.reason = POISE_DIVERGED_NANORINF;
  if (of_b > 0) ksp->result.reason = POISE_DIVERGED_BREAKDOWN;
  return POISE_OK;
}

PoiseErr poiseKSPRunBetween(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  Between *m = ksp->between;
  const PCType *type = ksp->pc->type;
  TRY(type->into(ksp->pc, b, m->b));
  if (ksp->options.guess_nonzero) TRY(type->guess(ksp->pc, x, m->x));
  PoiseErr e = poiseKSPSolve(m->inner, m->b, m->x);
  poiseKSPTakeResult(ksp, m->inner);
  if (!e) e = type->out_of(ksp->pc, m->x, x);
  return e ? e : Judge(ksp, b, x);
}

/* ---- view and bytes -------------------------------------------------------------------------- */

PoiseErr poiseKSPViewBetween(PoiseKSP ksp)
{
  const Between *m = ksp->between;
  PoiseBytes held = {0};
  if (!ksp->pc->type->between) return POISE_OK;
  const char *why = poiseKSPWhyNotBetween(ksp);
  if (why) return poisePrint(ksp->ctx, "  not between the sweeps of %s: %s\n", ksp->pc->type->name, why);
  if (!m && ksp->layout)
    return poisePrint(ksp->ctx, "  not between the sweeps of %s: its diagonal is not positive definite\n",
                      ksp->pc->type->name);
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
  if (m->b) poiseBufferAdd(&m->b->data, sum);
  if (m->x) poiseBufferAdd(&m->x->data, sum);
  poiseKSPAddBytes(m->inner, NULL, sum);
}

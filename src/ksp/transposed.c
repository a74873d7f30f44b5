/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solves with A^T: by a solver of the same settings, whose matrices are the transposes of A and P. It is made
  at the first such solve, follows settings and values at each, and tells its result. A method that needs A =
  A^T does without.
*/
#include "divided.h"
#include "inside.h"
#include "methods.h"
#include "setup.h"
#include "solve.h"
#include "transposed.h"

void poiseKSPDropTransposed(PoiseKSP ksp)
{
  TransposedSolver *t = &ksp->transposed;
  poiseKSPDestroy(&t->ksp);
  PoiseMatDestroy(&t->A);
  PoiseMatDestroy(&t->P);
  t->seen_A = t->seen_P = (Version){0};
}

void poiseKSPAddTransposedBytes(PoiseKSP ksp, PoiseBytes *sum)
{
  const TransposedSolver *t = &ksp->transposed;
  PoiseBytes held = {0};
  poiseKSPAddBytes(t->ksp, t->A, sum);
  if (t->P) (void)PoiseMatBytes(t->P, &held, NULL);
  sum->host += held.host, sum->device += held.device;
}

static PoiseErr Check(PoiseKSP ksp)
{
  const PCType *pc = ksp->pc->type;
  if (!poiseKSPGiven(ksp)) FAIL(POISE_ERR_STATE, "the solver has no matrix: call PoiseKSPSetOperators");
  if (pc->outside || pc->ready) /* the application's, or with solvers inside that it may have set */
    FAIL(POISE_ERR_UNSUPPORTED,
         "PoiseKSPSolveTranspose needs M for A^T, which preconditioner %s does not offer", pc->name);
  if (ksp->type->squares && ksp->given_P && ksp->given_P != ksp->given_A)
    FAIL(POISE_ERR_UNSUPPORTED, "method %s would need a P for A A^T, and was given one for A^T A",
         ksp->type->name);
  return POISE_OK;
}

static PoiseErr TakeSpaces(PoiseMat A, PoiseMat T)
{
  TRY(PoiseMatSetNullSpace(T, 0, A->left.n, A->left.v));
  TRY(PoiseMatSetTransposeNullSpace(T, 0, A->null.n, A->null.v));
  /* That of A^T is not known. Where A is nearly symmetric it is nearly this one. */
  return poiseLayoutSame(A->rows, A->cols) ? PoiseMatSetNearNullSpace(T, 0, A->near.n, A->near.v) : POISE_OK;
}

/* *T = A^T, unless it is that already. */
static PoiseErr FollowMatrix(PoiseMat A, Version *seen, PoiseMat *T)
{
  if (*T && !poiseMatChanged(seen, A)) return POISE_OK;
  PoiseMatDestroy(T);
  TRY(PoiseMatTranspose(A, T));
  TRY(TakeSpaces(A, *T));
  *seen = A->version;
  return POISE_OK;
}

static PoiseErr Follow(PoiseKSP ksp)
{
  TransposedSolver *t = &ksp->transposed;
  bool P = ksp->given_P && ksp->given_P != ksp->given_A;
  if (!t->ksp) TRY(PoiseKSPCreate(ksp->ctx, &t->ksp));
  TRY(FollowMatrix(poiseKSPGiven(ksp), &t->seen_A, &t->A));
  if (P) TRY(FollowMatrix(ksp->given_P, &t->seen_P, &t->P));
  TRY(PoiseKSPSetOperators(t->ksp, t->A, P ? t->P : NULL));
  TRY(poiseKSPTakeSettings(ksp, t->ksp));
  t->ksp->user = ksp->user;
  t->ksp->history.keep = ksp->history.keep;
  return POISE_OK;
}

PoiseErr PoiseKSPSolveTranspose(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  CALLED(OBJECT(ksp), OBJECT(b), OBJECT(x));
  TRY(poiseKSPCheckOutside(ksp, "PoiseKSPSolveTranspose"));
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSolveTranspose"));
  if (ksp->type->symmetric) return poiseKSPSolve(ksp, b, x);
  TRY(PoiseAgree(ksp->ctx, Check(ksp)));
  PoiseErr e = Follow(ksp);
  if (e) {
    poiseKSPDropTransposed(ksp);
    return e;
  }
  ksp->solve.running = true; /* a monitor leaves it as it is */
  e = poiseKSPSolve(ksp->transposed.ksp, b, x);
  ksp->solve.running = false;
  poiseKSPTakeResult(ksp, ksp->transposed.ksp);
  ksp->norm = ksp->transposed.ksp->norm;
  return e;
}

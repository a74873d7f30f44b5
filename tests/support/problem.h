/* SPDX-License-Identifier: BSD-3-Clause */
/* A system of equations, and what solves it. */
#ifndef POISE_TEST_PROBLEM_H
#define POISE_TEST_PROBLEM_H

#include "sample.h"

/* A x = b; what a suite does not need is NULL. */
typedef struct Problem {
  PoiseMat A, P;           /* P: what the preconditioner is made of, if not A */
  PoiseVec b, x, r, exact; /* r: a residual or a difference; exact: the solution */
  PoiseKSP ksp;
  PoisePC pc, inner; /* pc: of ksp, which owns it; inner: one beside it */
} Problem;

/* Vectors, and a solver, for A, which may be NULL if it could not be made; what x, b and exact are is left to
   the caller. */
static inline bool ProblemOpen(PoiseMat A, Problem *p)
{
  *p = (Problem){.A = A};
  return A && CHECK_OK(PoiseMatCreateVecs(A, &p->x, &p->b)) && CHECK_OK(PoiseVecDuplicate(p->x, &p->exact)) &&
         CHECK_OK(PoiseKSPCreate(PoiseMatContext(A), &p->ksp)) &&
         CHECK_OK(PoiseKSPSetOperators(p->ksp, A, NULL));
}

static inline void ProblemClose(Problem *p)
{
  CHECK_OK(PoiseKSPDestroy(&p->ksp));
  CHECK_OK(PoisePCDestroy(&p->inner));
  CHECK_OK(PoiseVecDestroy(&p->b));
  CHECK_OK(PoiseVecDestroy(&p->x));
  CHECK_OK(PoiseVecDestroy(&p->r));
  CHECK_OK(PoiseVecDestroy(&p->exact));
  CHECK_OK(PoiseMatDestroy(&p->P));
  CHECK_OK(PoiseMatDestroy(&p->A));
}

static inline double NormOf(PoiseVec v)
{
  double norm = NAN;
  CHECK_OK(PoiseVecNorm(v, POISE_NORM_2, &norm));
  return norm;
}

/* |x - factor exact|_2 */
static inline double ProblemError(const Problem *p, double factor)
{
  PoiseVec d;
  if (!CHECK_OK(PoiseVecDuplicate(p->x, &d))) return NAN;
  CHECK_OK(PoiseVecWAXPY(d, -factor, p->exact, p->x));
  double error = NormOf(d);
  CHECK_OK(PoiseVecDestroy(&d));
  return error;
}

/* |b - A x|_2, as the solver computes it */
static inline double ProblemResidual(const Problem *p)
{
  double norm = NAN;
  CHECK_OK(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &norm));
  return norm;
}

/* What the log counts of a solve. */
static inline LogCounts ProblemCounts(Problem *p)
{
  LogCounts before, after;
  PoiseContext ctx = PoiseKSPContext(p->ksp);
  poiseLogCounts(ctx, &before);
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  poiseLogCounts(ctx, &after);
  double *v = (double *)&after, *old = (double *)&before;
  for (size_t i = 0; i < sizeof after / sizeof *v; i++) v[i] -= old[i];
  return after;
}

#endif

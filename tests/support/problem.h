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

/* Five points on nx x ny, scaled on both sides; whole blocks of b rows on each rank. */
static inline PoiseErr ScaledLaplacian(PoiseContext ctx, int nx, int ny, int b, PoiseMat *A)
{
  static const int dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
  PoiseInt begin, m;
  PoiseSplit(ctx, nx * ny / b, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m * b, m * b, nx * ny, nx * ny, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = begin * b; !e && i < (begin + m) * b; i++)
    for (int k = 0; !e && k < 5; k++) {
      PoiseInt x = i % nx + dx[k], y = i / nx + dy[k], j = y * nx + x;
      if (x < 0 || x >= nx || y < 0 || y >= ny) continue;
      double v =
          (k ? -1 : 4) * (1 + 0.4 * TestRandom(1, (uint64_t)i)) * (1 + 0.4 * TestRandom(1, (uint64_t)j));
      e = PoiseMatAddBlock(*A, 1, &i, 1, &j, &v);
    }
  if (!e) e = PoiseMatAssemble(*A);
  return e ? e : PoiseMatSetBlockSize(*A, b);
}

static inline bool ProblemOpenGrid(PoiseContext ctx, int nx, int ny, int b, const char *method,
                                   const char *pc, Problem *p)
{
  *p = (Problem){.A = NULL};
  return CHECK_OK(ScaledLaplacian(ctx, nx, ny, b, &p->A)) &&
         CHECK_OK(PoiseMatCreateVecs(p->A, &p->x, &p->b)) && CHECK_OK(PoiseVecSetRandom(p->b, 3)) &&
         CHECK_OK(PoiseKSPCreate(ctx, &p->ksp)) && CHECK_OK(PoiseKSPSetOperators(p->ksp, p->A, NULL)) &&
         CHECK_OK(PoiseKSPSetType(p->ksp, method)) && CHECK_OK(PoiseKSPGetPC(p->ksp, &p->pc)) &&
         CHECK_OK(PoisePCSetType(p->pc, pc));
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

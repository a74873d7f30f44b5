/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A system whose equal numbers of rows have unequal numbers of nonzeros, and solves of it that are compared to
  the bit: by workers, by groups, by ranks.
*/
#ifndef POISE_TEST_UNEQUAL_H
#define POISE_TEST_UNEQUAL_H

#include "harness.h"
#include "problem.h"
#include "sample.h"

enum { GRID = 13, ROWS = 2 * GRID * GRID, LONGEST = 18 };

/* ---- the system ------------------------------------------------------------------------------ */

/* Two unknowns a node of a grid, symmetric positive definite. Nodes have 5 neighbours in one part of the
   grid, and 9 in the other, so equal numbers of rows have unequal numbers of nonzeros. */
typedef struct System {
  PoiseInt n;
  int64_t ptr[ROWS + 1];
  int64_t col[ROWS * LONGEST];
  double val[ROWS * LONGEST], b[ROWS];
} System;

static double Scale(PoiseInt i, double change)
{
  return 1 + 0.3 * TestRandom(1, (uint64_t)i) + change * TestRandom(2, (uint64_t)i);
}

/* change: other values in the same pattern; first: of the lines of the grid with 9 neighbours. */
static void BuildFrom(System *s, double change, PoiseInt first)
{
  int64_t nz = 0;
  s->n = ROWS;
  s->ptr[0] = 0;
  for (PoiseInt i = 0; i < ROWS; i++) {
    PoiseInt node = i / 2, x = node % GRID, y = node / GRID;
    for (PoiseInt j = 0; j < ROWS; j++) {
      PoiseInt u = j / 2 % GRID - x, v = j / 2 / GRID - y;
      PoiseInt distance = u * u + v * v, most = y >= first && j / 2 / GRID >= first ? 2 : 1;
      bool same = distance == 0;
      if (distance > most) continue;
      double a = i == j ? 11 : same ? 0.5 : (i - j) % 2 ? 0.25 : -1;
      s->col[nz] = j;
      s->val[nz++] = a * Scale(i, change) * Scale(j, change);
    }
    s->ptr[i + 1] = nz;
    s->b[i] = TestRandom(3, (uint64_t)i);
  }
}

static void Build(System *s, double change)
{
  BuildFrom(s, change, 4);
}

/* |b - A x| / |b| */
static double Residual(const System *s, const double *x)
{
  double sum = 0, all = 0;
  for (PoiseInt i = 0; i < s->n; i++) {
    double r = s->b[i];
    for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++) r -= s->val[k] * x[s->col[k]];
    sum += r * r;
    all += s->b[i] * s->b[i];
  }
  return sqrt(sum / all);
}

/* The rows [begin, begin + m) of it, values borrowed. */
static PoiseErr RowsOf(PoiseContext ctx, const System *s, PoiseInt begin, PoiseInt m, PoiseMat *A)
{
  int64_t ptr[ROWS + 1];
  for (PoiseInt i = 0; i <= m; i++) ptr[i] = s->ptr[begin + i] - s->ptr[begin];
  const PoiseCSR csr = {.ptr64 = ptr, .col64 = s->col + s->ptr[begin], .val = s->val + s->ptr[begin]};
  POISE_TRY(PoiseMatCreateCSR(ctx, m, m, s->n, s->n, &csr, POISE_BORROW, A));
  return PoiseMatSetBlockSize(*A, 2);
}

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct Case {
  const char *method, *pc;
  int guess;
} Case;

static const Case cases[] = {
    {"cg", "jacobi", 0},   {"cg", "none", 1},         {"cg", "pbjacobi", 0},   {"cg", "bjacobi", 0},
    {"prcg", "jacobi", 0}, {"bicgstab", "jacobi", 0}, {"gmres", "bjacobi", 0}, {"gmres", "pbjacobi", 1},
    {"fgmres", "ksp", 0},  {"minres", "jacobi", 0},   {"chebyshev", "sor", 0}, {"richardson", "jacobi", 0},
    {"preonly", "lu", 0},  {"gmres", "icc", 0},       {"cg", "ilu", 0},        {"cgs", "jacobi", 0},
    {"tfqmr", "ilu", 1},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct Outcome {
  PoiseErr error;
  PoiseInt its;
  PoiseKSPReason reason;
  double norm, x[ROWS];
  double history[200];
  PoiseInt kept;
} Outcome;

static PoiseErr Solver(PoiseContext ctx, PoiseMat A, const Case *c, PoiseKSP *ksp)
{
  PoisePC pc;
  POISE_TRY(PoiseKSPCreate(ctx, ksp));
  POISE_TRY(PoiseKSPSetOperators(*ksp, A, NULL));
  POISE_TRY(PoiseKSPSetType(*ksp, c->method));
  POISE_TRY(PoiseKSPGetPC(*ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, c->pc));
  POISE_TRY(PoiseKSPKeepHistory(*ksp, 1));
  POISE_TRY(PoiseKSPRichardsonSetScale(*ksp, 0.7));
  POISE_TRY(PoiseKSPSetInitialGuessNonzero(*ksp, c->guess));
  return PoiseKSPSetTolerances(*ksp, 1e-8, -1, -1, 150);
}

/* From a guess that depends on the row. */
static PoiseErr SolveOnce(PoiseKSP ksp, PoiseVec b, PoiseVec x, Outcome *out)
{
  PoiseInt count;
  const double *norms;
  SampleFill(x, 9);
  out->error = PoiseKSPSolve(ksp, b, x);
  if (out->error) return out->error;
  out->its = PoiseKSPIterations(ksp);
  out->reason = PoiseKSPConvergedReason(ksp);
  out->norm = PoiseKSPResidualNorm(ksp);
  POISE_TRY(PoiseKSPHistory(ksp, &count, &norms));
  out->kept = count;
  if (CHECK(count <= 200) && count) memcpy(out->history, norms, (size_t)count * sizeof *norms);
  return POISE_OK;
}

static PoiseErr SolveCase(PoiseContext ctx, PoiseMat A, const System *s, const Case *c, Outcome *out)
{
  PoiseKSP ksp;
  PoiseVec b, x;
  double all[ROWS];
  Outcome mine = {0};
  POISE_TRY(Solver(ctx, A, c, &ksp));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &b));
  POISE_TRY(SampleToVec(s->b, b));
  POISE_TRY(SolveOnce(ksp, b, x, &mine));
  POISE_TRY(SampleFromVec(x, all));
  memcpy(mine.x, all, (size_t)s->n * sizeof *all);
  if (out) *out = mine;
  POISE_TRY(PoiseVecDestroy(&b));
  POISE_TRY(PoiseVecDestroy(&x));
  return PoiseKSPDestroy(&ksp);
}

static void CheckSame(const System *s, const Outcome *mine, const Outcome *ranks)
{
  CHECK_INT(mine->its, ranks->its);
  CHECK_INT(mine->reason, ranks->reason);
  CHECK_INT(mine->kept, ranks->kept);
  CHECK(!memcmp(&mine->norm, &ranks->norm, sizeof mine->norm));
  CHECK(!memcmp(mine->x, ranks->x, (size_t)s->n * sizeof *mine->x));
  CHECK(!memcmp(mine->history, ranks->history, (size_t)mine->kept * sizeof *mine->history));
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Whole solves that converge in a given number of iterations, from PoiseKSPSolve to its return: what a loop
  costs beside its iterations.

    solves -device cuda -problem 7 -bytes 1.6e9 -iterations "1 9 100" -ksp_type cg -pc_type jacobi

  Variable coefficients, a random b, x from 0. The tolerance of a row is the norm that a solve before it had
  after so many iterations, so the solve ends there by converging, and checks its claim. A row: iterations,
  median and least of the times in microseconds, and the median's per iteration beyond the row before.
*/
#include <inttypes.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure.h"
#include "common/problems.h"

#define TRY POISE_TRY

typedef struct Options {
  int problem;
  double bytes, seconds;
  char iterations[POISE_OPTION_LENGTH];
} Options;

static const PoiseOption table[] = {
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, PROBLEM_WORDS, "which matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e6", 1, 2.5e10, NULL, "bytes of the matrix"},
    {"iterations", POISE_OPTION_STRING, offsetof(Options, iterations), "1 9 17 100", 0, 0, NULL,
     "numbers of iterations, ascending"},
    {"seconds", POISE_OPTION_REAL, offsetof(Options, seconds), "1", 0, 1e4, NULL, "of each row, at least"},
    {0},
};

typedef struct Solver {
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  double before, at; /* time and iterations of the row before */
} Solver;

static void Destroy(Solver *s)
{
  PoiseKSPDestroy(&s->ksp);
  PoiseVecDestroy(&s->x);
  PoiseVecDestroy(&s->b);
  PoiseMatDestroy(&s->A);
}

static PoiseErr CreateMat(PoiseContext ctx, const Options *o, PoiseMat *A)
{
  Rows r;
  TRY(CreateRows(ctx, o->problem, true, o->bytes, &r));
  PoiseCSR csr = {.ptr32 = r.ptr, .col32 = r.col, .val = r.val};
  PoiseErr e = PoiseMatCreateCSR(ctx, r.n, r.n, r.N, r.N, &csr, POISE_COPY, A);
  if (!e) e = PoisePrintf(ctx, "%" PRId64 " rows\n", r.N);
  DestroyRows(&r);
  return e ? e : PoiseMatSetFromOptions(*A);
}

static PoiseErr Create(PoiseContext ctx, const Options *o, Solver *s)
{
  TRY(CreateMat(ctx, o, &s->A));
  TRY(PoiseMatCreateVecs(s->A, &s->x, &s->b));
  TRY(PoiseVecSetRandom(s->b, 1));
  TRY(PoiseVecToDevice(s->b));
  TRY(PoiseKSPCreate(ctx, &s->ksp));
  TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  return PoiseKSPSetFromOptions(s->ksp);
}

/* Set the tolerance with which the solve ends after `its` iterations. */
static PoiseErr Aim(Solver *s, PoiseInt its)
{
  PoiseInt count;
  const double *norms;
  TRY(PoiseKSPSetTolerances(s->ksp, 0, 0, 1e300, its));
  TRY(PoiseKSPKeepHistory(s->ksp, 1));
  TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
  TRY(PoiseKSPHistory(s->ksp, &count, &norms));
  if (count <= its) POISE_FAIL(POISE_ERR_STATE, "the solve ended after %" PRId64 " iterations", count - 1);
  double rtol = norms[its] / norms[0] * (1 + 1e-12);
  TRY(PoiseKSPKeepHistory(s->ksp, 0));
  return PoiseKSPSetTolerances(s->ksp, rtol, 0, 1e300, 10 * its + 100);
}

static PoiseErr Row(PoiseContext ctx, const Options *o, Solver *s, PoiseInt its)
{
  Times times = {0};
  double start, end = PoiseTime() + o->seconds;
  TRY(Aim(s, its));
  for (int k = 0; k < 3; k++) TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
  while (times.n < MAX_REPEATS && (times.n < 9 || PoiseTime() < end)) {
    TRY(Begin(ctx, &start));
    TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
    TRY(End(ctx, start, &times));
  }
  double t = 1e6 * Median(&times), done = (double)PoiseKSPIterations(s->ksp);
  TRY(PoisePrintf(ctx, "%8.0f %12.1f %12.1f %12.3f  %s\n", done, t, 1e6 * Least(&times),
                  (t - s->before) / (done - s->at), PoiseKSPReasonString(PoiseKSPConvergedReason(s->ksp))));
  s->before = t, s->at = done;
  return POISE_OK;
}

static PoiseErr Measure(PoiseContext ctx, const Options *o, Solver *s)
{
  TRY(Create(ctx, o, s));
  TRY(PoisePrintf(ctx, "iterations   median us     least us  us per iteration\n"));
  for (char *p = (char *)o->iterations, *end; strtol(p, &end, 10) > 0; p = end)
    TRY(Row(ctx, o, s, strtol(p, NULL, 10)));
  return PoiseKSPView(s->ksp);
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  Solver s = {0};
  const PoiseInit init = {.help = "Times of whole solves", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e && !PoiseAnswered(ctx)) e = Measure(ctx, &o, &s);
  Destroy(&s);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

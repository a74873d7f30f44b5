/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What -ksp_precision mixed gains: whole solves in fp64 and in mixed precision, in turns, to the same
  tolerance of the true residual; medians of their times. Options of KSP, PC and Mat choose the solver.

    mixed -device cuda -problems "7 27 elasticity" -bytes 1.5e9 -rtol 1e-12 -ksp_type cg -pc_type jacobi

  A row: rows of A, iterations, median and least time in milliseconds, |b - A x| / |b|, computed in fp64, and
  what there is to say of the solve; behind the second one the ratio of medians.
*/
#include <inttypes.h>
#include <poise.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "problems.h"

#define TRY POISE_TRY

typedef struct Options {
  double bytes, rtol;
  PoiseInt rounds;
  int vary, smooth, view;
  char problems[POISE_OPTION_LENGTH], A[POISE_OPTION_LENGTH];
} Options;

static const PoiseOption table[] = {
    {"problems", POISE_OPTION_STRING, offsetof(Options, problems), "7 27 elasticity", 0, 0, NULL,
     "which matrices: 5, 7, 27, elasticity"},
    {"A", POISE_OPTION_STRING, offsetof(Options, A), "", 0, 0, NULL, "or that of a file"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e7", 1, 2.5e10, NULL, "bytes of each matrix"},
    {"rtol", POISE_OPTION_REAL, offsetof(Options, rtol), "1e-12", 0, 1, NULL, "tolerance"},
    {"rounds", POISE_OPTION_INT, offsetof(Options, rounds), "5", 1, MAX_REPEATS, NULL, "solves of each kind"},
    {"vary", POISE_OPTION_BOOL, offsetof(Options, vary), "yes", 0, 0, NULL, "variable coefficients"},
    {"smooth", POISE_OPTION_BOOL, offsetof(Options, smooth), "no", 0, 0, NULL, "b is constant, else random"},
    {"view_each", POISE_OPTION_BOOL, offsetof(Options, view), "no", 0, 0, NULL, "show the solvers"},
    {0},
};

enum { FP64, MIXED, KINDS };
static const char *const words[KINDS] = {"fp64", "mixed"};

typedef struct Problem {
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp[KINDS];
} Problem;

static PoiseErr CreateMat(PoiseContext ctx, const Options *o, int problem, PoiseMat *A)
{
  Rows r = {0};
  if (*o->A) return PoiseMatLoad(ctx, o->A, A);
  PoiseErr e = CreateRows(ctx, problem, o->vary, o->bytes, &r);
  PoiseCSR csr = {.ptr32 = r.ptr, .col32 = r.col, .val = r.val};
  if (!e) e = PoiseMatCreateCSR(ctx, r.n, r.n, r.N, r.N, &csr, POISE_COPY, A);
  if (!e) e = PoiseMatSetBlockSize(*A, r.block);
  DestroyRows(&r);
  return e;
}

static PoiseErr CreateKSP(PoiseContext ctx, const Options *o, PoiseMat A, const char *word, PoiseKSP *ksp)
{
  char text[64];
  snprintf(text, sizeof text, "-ksp_precision %s", word);
  TRY(PoiseOptionsSetString(ctx, text));
  TRY(PoiseKSPCreate(ctx, ksp));
  TRY(PoiseKSPSetOperators(*ksp, A, NULL));
  TRY(PoiseKSPSetTolerances(*ksp, o->rtol, -1, -1, -1));
  return PoiseKSPSetFromOptions(*ksp);
}

static PoiseErr Create(PoiseContext ctx, const Options *o, int problem, Problem *p)
{
  TRY(CreateMat(ctx, o, problem, &p->A));
  TRY(PoiseMatSetFromOptions(p->A));
  TRY(PoiseMatCreateVecs(p->A, &p->x, &p->b));
  TRY(o->smooth ? PoiseVecSet(p->b, 1) : PoiseVecSetRandom(p->b, 1));
  for (int k = 0; k < KINDS; k++) TRY(CreateKSP(ctx, o, p->A, words[k], &p->ksp[k]));
  return POISE_OK;
}

static void Destroy(Problem *p)
{
  for (int k = 0; k < KINDS; k++) PoiseKSPDestroy(&p->ksp[k]);
  PoiseVecDestroy(&p->x);
  PoiseVecDestroy(&p->b);
  PoiseMatDestroy(&p->A);
}

static PoiseErr Row(PoiseContext ctx, const char *name, Problem *p, int k, double residual, Times *t)
{
  double median = Median(t);
  return PoisePrintf(ctx, "%-12s %10" PRId64 "  %-6s %6lld %11.3f %11.3f  %.2e  %s%s%s\n", name,
                     PoiseVecSize(p->x), words[k], (long long)PoiseKSPIterations(p->ksp[k]), 1e3 * median,
                     1e3 * Least(t), residual, PoiseKSPReasonString(PoiseKSPConvergedReason(p->ksp[k])),
                     *PoiseKSPReasonDetail(p->ksp[k]) ? "; " : "", PoiseKSPReasonDetail(p->ksp[k]));
}

/* Turns of both; the first of each sets up. */
static PoiseErr Race(PoiseContext ctx, const Options *o, const char *name, Problem *p)
{
  Times times[KINDS] = {{0}};
  double start, norm, residual[KINDS];
  TRY(PoiseVecNorm(p->b, POISE_NORM_2, &norm));
  for (PoiseInt round = -1; round < o->rounds; round++)
    for (int k = 0; k < KINDS; k++) {
      TRY(Begin(ctx, &start));
      TRY(PoiseKSPSolve(p->ksp[k], p->b, p->x));
      if (round >= 0) TRY(End(ctx, start, &times[k]));
      if (round == 0) TRY(PoiseKSPTrueResidual(p->ksp[k], p->b, p->x, &residual[k]));
    }
  for (int k = 0; k < KINDS; k++) TRY(Row(ctx, name, p, k, residual[k] / norm, &times[k]));
  TRY(PoisePrintf(ctx, "%-12s mixed / fp64 %.3f\n", name, Median(&times[MIXED]) / Median(&times[FP64])));
  for (int k = 0; k < KINDS && o->view; k++) TRY(PoiseKSPView(p->ksp[k]));
  return POISE_OK;
}

static PoiseErr One(PoiseContext ctx, const Options *o, const char *name, int problem)
{
  Problem p = {0};
  PoiseErr e = Create(ctx, o, problem, &p);
  if (!e) e = Race(ctx, o, name, &p);
  Destroy(&p);
  return e;
}

static PoiseErr All(PoiseContext ctx, const Options *o)
{
  char list[POISE_OPTION_LENGTH], *rest;
  TRY(PoisePrintf(ctx, "problem            rows  kind      its   median ms    least ms  residual\n"));
  if (*o->A) return One(ctx, o, "file", 0);
  snprintf(list, sizeof list, "%s", o->problems);
  for (char *w = strtok_r(list, " ,", &rest); w; w = strtok_r(NULL, " ,", &rest)) {
    int k = 0;
    while (k <= ELASTICITY && strcmp(w, problem_words[k])) k++;
    if (k > ELASTICITY) POISE_FAIL(POISE_ERR_ARG, "-problems: '%s' is none of 5, 7, 27, elasticity", w);
    TRY(One(ctx, o, w, k));
  }
  return POISE_OK;
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  const PoiseInit init = {.help = "What -ksp_precision mixed gains", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = All(ctx, &o);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Several right-hand sides: the time per system of a solve of k systems beside that of one. Matrices have
  variable coefficients, right-hand sides are random, x begins with 0.

    several -device cuda -problem 7 -bytes 1.471e9 -iterations 100 -ksp_type cg -pc_type jacobi
    several -device cuda -problem 7 -bytes 1.471e9 -ksp_type cg -pc_type amg -ksp_rtol 1e-8
    several -device cuda -problem elasticity -bytes 1.36e9 -iterations 100 -mat_type bcsr -ksp_type cg \
      -pc_type jacobi
    several -bytes 1.76e8 -columns "1 8" -ksp_type cg -pc_type jacobi

  With -iterations every solve has so many, and no tolerance; else it goes to the solver's. Set-up is over
  before anything is timed. PoiseKSPSolveBlock of all k and PoiseKSPSolve of the first of them take turns.
  -log_view has a section for each k.

  A row: k; the most iterations; medians in milliseconds of k systems and of one; the ratio of the times per
  system, and its least and most in one turn; GB/s; |b - A x| / |b| of the system where it is the most times
  that of its own solve, and that of its own. GB/s is printed for cg with jacobi: bytes of the matrix and of
  the vectors, as docs/solvers.md counts them, over the time of k systems. The exit status is 1 where a
  residual is above ten times that of its own solve, or a solve to a tolerance has not converged.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

#include "common/library.h"
#include "common/problems.h"

#define TRY POISE_TRY

enum { MOST_COLUMNS = 32, FAR = 10, MOVED = 11 /* vectors in an iteration of cg, the diagonal apart */ };

typedef struct Options {
  int problem;
  double bytes;
  PoiseInt iterations, repeats;
  char columns[POISE_OPTION_LENGTH];
} Options;

static const PoiseOption table[] = {
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, PROBLEM_WORDS, "which matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e6", 1, 2.5e10, NULL, "bytes of the matrix"},
    {"columns", POISE_OPTION_STRING, offsetof(Options, columns), "1 2 4 8 16 32", 0, 0, NULL,
     "numbers of right-hand sides, at most 32"},
    {"iterations", POISE_OPTION_INT, offsetof(Options, iterations), "0", 0, 1000000, NULL,
     "of every solve; 0: to the tolerance"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "5", 1, MAX_REPEATS, NULL, "turns"},
    {0},
};

typedef struct Solver {
  PoiseContext ctx;
  PoiseMat A;
  PoiseKSP ksp;
  PoiseVec b, x, B, X; /* one system; k of them */
  double bytes;        /* of A */
  bool counted;        /* cg with jacobi */
} Solver;

static void Destroy(Solver *s)
{
  PoiseKSPDestroy(&s->ksp);
  PoiseVecDestroy(&s->b);
  PoiseVecDestroy(&s->x);
  PoiseVecDestroy(&s->B);
  PoiseVecDestroy(&s->X);
  PoiseMatDestroy(&s->A);
}

static PoiseErr CreateMat(const Options *o, Solver *s)
{
  Rows r;
  TRY(CreateRows(s->ctx, o->problem, true, o->bytes, &r));
  PoiseCSR csr = {.ptr32 = r.ptr, .col32 = r.col, .val = r.val};
  PoiseErr e = PoiseMatCreateCSR(s->ctx, r.n, r.n, r.N, r.N, &csr, POISE_COPY, &s->A);
  if (!e) e = PoiseMatSetBlockSize(s->A, r.block);
  if (!e) e = PoiseMatSetFromOptions(s->A);
  DestroyRows(&r);
  return e;
}

/* Of values, columns, offsets. */
static PoiseErr CountBytes(Solver *s)
{
  PoiseInt nonzeros;
  double n = (double)PoiseVecSize(s->b), b = PoiseMatBlockSize(s->A);
  if (strcmp(PoiseMatType(s->A), "bcsr")) b = 1;
  TRY(PoiseMatNonzeros(s->A, &nonzeros));
  s->bytes = (8 + 4 / (b * b)) * (double)nonzeros + 4 * n / b;
  return POISE_OK;
}

/* Nobody pays for a set-up afterwards. */
static PoiseErr Create(const Options *o, Solver *s)
{
  PoisePC pc;
  TRY(CreateMat(o, s));
  TRY(PoiseMatCreateVecs(s->A, &s->x, &s->b));
  TRY(PoiseKSPCreate(s->ctx, &s->ksp));
  TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  if (o->iterations) TRY(PoiseKSPSetTolerances(s->ksp, 0, 0, 1e300, o->iterations));
  TRY(PoiseKSPSetFromOptions(s->ksp));
  TRY(PoiseKSPSetUp(s->ksp));
  TRY(PoiseKSPGetPC(s->ksp, &pc));
  TRY(CountBytes(s));
  s->counted = !strcmp(PoiseKSPType(s->ksp), "cg") && !strcmp(PoisePCType(pc), "jacobi");
  return PoisePrintf(s->ctx, "%s, %s with %s on %s: %" PRId64 " rows, A has %.3e bytes\n",
                     problem_words[o->problem], PoiseKSPType(s->ksp), PoisePCType(pc), DeviceOf(s->ctx),
                     PoiseVecSize(s->b), s->bytes);
}

/* B, of which b is column 0. */
static PoiseErr CreateColumns(Solver *s, int k)
{
  PoiseInt n = PoiseVecLocalSize(s->b), N = PoiseVecSize(s->b);
  PoiseVecDestroy(&s->B);
  PoiseVecDestroy(&s->X);
  TRY(PoiseVecCreateBlock(s->ctx, n, N, k, &s->B));
  TRY(PoiseVecDuplicate(s->B, &s->X));
  for (int j = k - 1; j >= 0; j--) {
    TRY(PoiseVecSetRandom(s->b, (uint64_t)j + 1));
    TRY(PoiseVecSetColumn(s->B, j, s->b));
  }
  return POISE_OK;
}

/* |b - A x| / |b|; of a solve that should have converged, INFINITY if it has not. */
static PoiseErr Residual(const Options *o, Solver *s, PoiseKSPReason reason, double *residual)
{
  double size;
  TRY(PoiseKSPTrueResidual(s->ksp, s->b, s->x, residual));
  TRY(PoiseVecNorm(s->b, POISE_NORM_2, &size));
  *residual = reason < 0 && !o->iterations ? INFINITY : *residual / size;
  return POISE_OK;
}

/* The first solves, which make what later ones use. worst: residuals of the system whose residual is the
   most times that of its own solve, and that of its own. */
static PoiseErr Rehearse(const Options *o, Solver *s, int k, double worst[2])
{
  worst[0] = 0, worst[1] = 1;
  for (int time = 0; time < 2; time++) TRY(PoiseKSPSolveBlock(s->ksp, s->B, s->X));
  for (int j = k - 1; j >= 0; j--) {
    double own, residual;
    TRY(PoiseVecGetColumn(s->B, j, s->b));
    TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
    TRY(Residual(o, s, PoiseKSPConvergedReason(s->ksp), &own));
    TRY(PoiseVecGetColumn(s->X, j, s->x));
    TRY(Residual(o, s, PoiseKSPColumnReason(s->ksp, j), &residual));
    if (!(residual / own <= worst[0] / worst[1])) worst[0] = residual, worst[1] = own;
  }
  return POISE_OK;
}

typedef struct Turns {
  Times all, one, ratio;
  PoiseInt its;
} Turns;

static PoiseErr Turn(Solver *s, int k, Turns *t)
{
  double start;
  TRY(Begin(s->ctx, &start));
  TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
  TRY(End(s->ctx, start, &t->one));
  TRY(Begin(s->ctx, &start));
  TRY(PoiseKSPSolveBlock(s->ksp, s->B, s->X));
  TRY(End(s->ctx, start, &t->all));
  t->its = PoiseKSPIterations(s->ksp);
  t->ratio.t[t->ratio.n] = t->all.t[t->ratio.n] / k / t->one.t[t->ratio.n];
  t->ratio.n++;
  return POISE_OK;
}

static PoiseErr Tell(Solver *s, int k, Turns *t, const double worst[2])
{
  double all = Median(&t->all), one = Median(&t->one), n = (double)PoiseVecSize(s->b);
  double bytes = (double)t->its * (s->bytes + 8 * n * (1.0 + MOVED * k));
  char rate[32] = "-";
  if (s->counted) snprintf(rate, sizeof rate, "%.1f", 1e-9 * bytes / all);
  (void)Median(&t->ratio);
  TRY(PoisePrintf(s->ctx, "%7d %10" PRId64 " %12.3f %12.3f %10.3f %7.3f %7.3f %9s %12.2e %9.2e\n", k, t->its,
                  1e3 * all, 1e3 * one, all / k / one, t->ratio.t[0], t->ratio.t[t->ratio.n - 1], rate,
                  worst[0], worst[1]));
  if (worst[0] <= FAR * worst[1] && worst[1] < 1) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "the residual of one of %d systems is %g, that of its own solve %g", k,
             worst[0], worst[1]);
}

static PoiseErr Row(const Options *o, Solver *s, int k)
{
  Turns t = {0};
  char section[32];
  double worst[2];
  if (k < 1 || k > MOST_COLUMNS) POISE_FAIL(POISE_ERR_ARG, "-columns %d: 1 to %d", k, MOST_COLUMNS);
  TRY(CreateColumns(s, k));
  TRY(Rehearse(o, s, k, worst));
  snprintf(section, sizeof section, "%d systems", k);
  TRY(PoiseLogBegin(s->ctx, section));
  while (t.all.n < o->repeats) TRY(Turn(s, k, &t));
  TRY(PoiseLogEnd(s->ctx, section));
  return Tell(s, k, &t, worst);
}

static PoiseErr Measure(const Options *o, Solver *s)
{
  TRY(Create(o, s));
  TRY(PoisePrintf(s->ctx, "columns iterations       all ms       one ms per system   least    most      GB/s"
                          "     residual   its own\n"));
  for (char *p = (char *)o->columns, *end; strtol(p, &end, 10), end != p; p = end)
    TRY(Row(o, s, (int)strtol(p, NULL, 10)));
  return PoiseKSPView(s->ksp);
}

int main(int argc, char **argv)
{
  Options o;
  Solver s = {0};
  const PoiseInit init = {.help = "Times of solves with several right-hand sides", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &s.ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(s.ctx, NULL, table, &o);
  if (!e) e = Measure(&o, &s);
  if (e) fputs(PoiseErrorText(), stderr);
  Destroy(&s);
  if (s.ctx && PoiseFinalize(&s.ctx)) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  An MPI code as they are: all ranks assemble rows on the host, and each step brings new values and solves.

    mpirun -n 16 ranks -n 160 -steps 10 -device cuda -ksp_type cg -pc_type amg -ksp_rtol 1e-8
    ranks -values device ...      one rank whose values are on the GPU before each step, to compare with

  27 points on a grid of n^3 rows with coefficients that vary by 100, symmetric positive definite; ranks
  have slabs. It prints seconds, of the slowest rank and the median of the steps: assembly, the first
  set-up and solve, then for a step new entries (the application's), the values' way to Poise, set-up,
  solve. `idle` is the CPU time of all ranks but rank 0 in solves, over their number and the wall time.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "poise.h"

typedef struct Settings {
  PoiseInt n, steps;
  char values[16];
} Settings;

static const PoiseOption table[] = {
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "64", 2, 1000, NULL, "points in each direction"},
    {"steps", POISE_OPTION_INT, offsetof(Settings, steps), "10", 1, 1000, NULL,
     "steps, each with new values"},
    {"values", POISE_OPTION_STRING, offsetof(Settings, values), "host", 0, 0, NULL,
     "host: from an array of the host; device: on the GPU before the step"},
    {0}};

typedef struct Rows {
  PoiseInt n, begin, m;
  int64_t *ptr, *col;
  double *val;
} Rows;

static double Coefficient(int64_t a, int64_t b, double time)
{
  uint64_t h =
      (uint64_t)(a < b ? a : b) * 0x9E3779B97F4A7C15u + (uint64_t)(a < b ? b : a) * 0xC2B2AE3D27D4EB4Fu;
  h ^= h >> 29, h *= 0xBF58476D1CE4E5B9u, h ^= h >> 32;
  double u = (double)(h >> 11) * 0x1p-53;
  return (1 + 99 * u * u * u * u) * (1 + 0.1 * time * (double)(h & 7) / 8);
}

static PoiseInt Fill(const Rows *r, int64_t row, double time, int64_t *col, double *val)
{
  PoiseInt n = r->n, x = row % n, y = row / n % n, z = row / n / n, k = 0, diagonal = 0;
  double sum = 1e-3;
  for (PoiseInt w = z - 1; w <= z + 1; w++)
    for (PoiseInt v = y - 1; v <= y + 1; v++)
      for (PoiseInt u = x - 1; u <= x + 1; u++) {
        if (u < 0 || v < 0 || w < 0 || u >= n || v >= n || w >= n) {
          sum += 1;
          continue;
        }
        int64_t other = (w * n + v) * n + u;
        if (other == row) diagonal = k;
        double a = other == row ? 0 : Coefficient(row, other, time);
        sum += a;
        if (col) col[k] = other;
        val[k++] = -a;
      }
  val[diagonal] = sum;
  return k;
}

static void FillAll(Rows *r, double time, int64_t *col)
{
  int64_t at = 0;
  for (PoiseInt i = 0; i < r->m; i++) {
    at += Fill(r, r->begin + i, time, col ? col + at : NULL, r->val + at);
    if (col) r->ptr[i + 1] = at;
  }
}

static double Cpu(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

enum { ENTRIES, VALUES, SETUP, SOLVE, STAGES, FEW = 1000 };

static int ByValue(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Seconds since *t, of the slowest rank; *t = now. */
static double Lap(PoiseContext ctx, double *t)
{
  double s = PoiseTime() - *t;
  PoiseMax(ctx, 1, &s);
  *t = PoiseTime();
  return s;
}

static PoiseErr Step(PoiseContext ctx, Rows *r, const Settings *s, PoiseInt step, PoiseMat A, PoiseKSP ksp,
                     PoiseVec b, PoiseVec x, double *stage, double *idle)
{
  double t = PoiseTime(), cpu;
  FillAll(r, (double)step, NULL);
  stage[ENTRIES] = Lap(ctx, &t);
  POISE_TRY(PoiseMatSetValuesCSR(A, r->val));
  if (!strcmp(s->values, "device")) POISE_TRY(PoiseMatScale(A, 1)); /* on the GPU, so they are there */
  stage[VALUES] = Lap(ctx, &t);
  POISE_TRY(PoiseKSPSetUp(ksp));
  stage[SETUP] = Lap(ctx, &t);
  cpu = Cpu();
  POISE_TRY(PoiseKSPSolve(ksp, b, x));
  cpu = Cpu() - cpu;
  stage[SOLVE] = Lap(ctx, &t);
  if (PoiseRank(ctx) == 0) cpu = 0;
  POISE_TRY(PoiseSum(ctx, 1, &cpu));
  *idle += cpu / (PoiseSize(ctx) > 1 ? PoiseSize(ctx) - 1 : 1) / stage[SOLVE];
  return POISE_OK;
}

/* The median of each stage over the steps. */
static PoiseErr Steps(PoiseContext ctx, const Settings *s, Rows *r, PoiseMat A, PoiseKSP ksp, PoiseVec b,
                      PoiseVec x)
{
  static const char *const names[STAGES] = {"entries", "values", "set-up", "solve"};
  static double times[STAGES][FEW];
  double idle = 0, stage[STAGES] = {0}, sum = 0;
  for (PoiseInt k = 0; k < s->steps; k++) {
    POISE_TRY(Step(ctx, r, s, k, A, ksp, b, x, stage, &idle));
    for (int i = 0; i < STAGES; i++) times[i][k] = stage[i];
  }
  for (int i = 0; i < STAGES; i++) {
    qsort(times[i], (size_t)s->steps, sizeof(double), ByValue);
    double median = times[i][s->steps / 2];
    sum += i == ENTRIES ? 0 : median;
    POISE_TRY(PoisePrintf(ctx, "%s%s %.4f", i ? ", " : "a step: ", names[i], median));
  }
  return PoisePrintf(ctx, "; without entries %.4f; idle %.2f %%", sum, 100 * idle / (double)s->steps);
}

static PoiseErr Measure(PoiseContext ctx, void *arg)
{
  const Settings *s = arg;
  double started = PoiseTime(), t = started;
  Rows r = {.n = s->n};
  PoiseMat A;
  PoiseKSP ksp;
  PoiseVec b, x;
  PoiseInt N = s->n * s->n * s->n;
  PoiseSplit(ctx, N, &r.begin, &r.m);
  r.ptr = calloc((size_t)r.m + 1, sizeof *r.ptr);
  r.col = malloc((size_t)r.m * 27 * sizeof *r.col);
  r.val = malloc((size_t)r.m * 27 * sizeof *r.val);
  if (!r.ptr || !r.col || !r.val) POISE_FAIL(POISE_ERR_MEMORY, "no memory for %lld rows", (long long)r.m);
  FillAll(&r, 0, r.col);
  PoiseCSR csr = {.ptr64 = r.ptr, .col64 = r.col, .val = r.val};
  POISE_TRY(PoiseMatCreateCSR(ctx, r.m, r.m, N, N, &csr, POISE_COPY, &A));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &b));
  POISE_TRY(PoiseVecSet(b, 1));
  double assembly = Lap(ctx, &t);
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseKSPSetUp(ksp));
  double setup = Lap(ctx, &t);
  POISE_TRY(PoiseKSPSolve(ksp, b, x));
  double solve = Lap(ctx, &t);
  if (s->steps) {
    POISE_TRY(PoisePrintf(
        ctx, "ranks %d, rows %lld: assembly %.4f, first set-up %.4f, first solve %.4f, %lld iterations\n",
        PoiseSize(ctx), (long long)N, assembly, setup, solve, (long long)PoiseKSPIterations(ksp)));
    POISE_TRY(Steps(ctx, s, &r, A, ksp, b, x));
    POISE_TRY(PoisePrintf(ctx, "; all %.3f s, %lld iterations\n", PoiseTime() - started,
                          (long long)PoiseKSPIterations(ksp)));
  }
  free(r.ptr), free(r.col), free(r.val);
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&b));
  POISE_TRY(PoiseVecDestroy(&x));
  return PoiseMatDestroy(&A);
}

static PoiseErr Run(PoiseContext ctx)
{
  Settings s;
  POISE_TRY(PoiseOptionsDefaults(table, &s));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, table, &s));
  Settings small = s; /* a small solve opens what solves need */
  small.n = 8, small.steps = 0;
  POISE_TRY(PoiseRun(ctx, Measure, &small));
  return PoiseRun(ctx, Measure, &s);
}

int main(int argc, char **argv)
{
  PoiseContext ctx = NULL;
  PoiseErr e = PoiseInitialize(&argc, &argv, NULL, &ctx);
  if (!e) e = Run(ctx);
  if (e) fprintf(stderr, "%s", PoiseErrorText());
  PoiseErr ended = ctx ? PoiseFinalize(&ctx) : POISE_OK;
  return e || ended ? EXIT_FAILURE : EXIT_SUCCESS;
}

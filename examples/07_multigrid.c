/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Multigrid with the program's own grids: -div(grad u) = f on the unit square, u = 0 on its boundary, by
  differences on n x n inner points, n = 2^levels - 1. Every second point along each direction is one of the
  next coarser grid. Preconditioner mg is given the interpolation between each two grids, and makes all else:
  restrictions, the transposes; operators of coarse grids, R A P; smoothers, a solver for each grid. Twice as
  many points along a side must not take more iterations, which the program checks.
    07_multigrid -levels 8 -ksp_monitor
    07_multigrid -pc_mg_type full -ksp_type fgmres -mg_levels_ksp_max_it 3 -ksp_view
    07_multigrid -mg_levels_ksp_type richardson -mg_levels_pc_type sor -mg_levels_1_pc_type jacobi
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stddef.h>

enum { MOST_LEVELS = 14 };

typedef struct Settings {
  PoiseInt levels;
} Settings;

static const PoiseOption options[] = {{"levels", POISE_OPTION_INT, offsetof(Settings, levels), "6", 2,
                                       MOST_LEVELS, NULL,
                                       "grids; the finest has 2^levels - 1 points along a side"},
                                      {0}};

static PoiseInt Points(int level) /* along a side; level 0 has one point */
{
  return ((PoiseInt)2 << level) - 1;
}

/* Point (x, y) is row y n + x. */
static PoiseErr CreateOperator(PoiseContext ctx, PoiseInt n, PoiseMat *A)
{
  PoiseInt begin, m;
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n * n, n * n, A));
  PoiseSplit(ctx, n * n, &begin, &m);
  for (PoiseInt i = begin; i < begin + m; i++) {
    PoiseInt x = i % n, y = i / n;
    const PoiseInt cols[] = {y > 0 ? i - n : -1, x > 0 ? i - 1 : -1, i, x < n - 1 ? i + 1 : -1,
                             y < n - 1 ? i + n : -1}; /* -1: left out */
    POISE_TRY(PoiseMatAddBlock(*A, 1, &i, 5, cols, (double[]){-1, -1, 4, -1, -1}));
  }
  return PoiseMatAssemble(*A);
}

/* The coarse points beside one of a line, and their weights: its own place, or those on both sides. */
static int Beside(PoiseInt at, PoiseInt coarse, PoiseInt place[2], double weight[2])
{
  int count = 0;
  for (PoiseInt j = (at - 1) / 2; j <= at / 2; j++) {
    PoiseInt distance = at - (2 * j + 1);
    if (j < 0 || j >= coarse || distance < -1 || distance > 1) continue;
    place[count] = j;
    weight[count++] = distance == 0 ? 1 : 0.5;
  }
  return count;
}

/* Bilinear interpolation from (n - 1) / 2 points along a side to n. */
static PoiseErr CreateInterpolation(PoiseContext ctx, PoiseInt n, PoiseMat *P)
{
  PoiseInt coarse = (n - 1) / 2, begin, m;
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n * n, coarse * coarse, P));
  PoiseSplit(ctx, n * n, &begin, &m);
  for (PoiseInt i = begin; i < begin + m; i++) {
    PoiseInt x[2], y[2];
    double u[2], v[2];
    int across = Beside(i % n, coarse, x, u), up = Beside(i / n, coarse, y, v);
    for (int k = 0; k < across * up; k++) {
      PoiseInt j = y[k / across] * coarse + x[k % across];
      double w = v[k / across] * u[k % across];
      POISE_TRY(PoiseMatAddBlock(*P, 1, &i, 1, &j, &w));
    }
  }
  return PoiseMatAssemble(*P);
}

static PoiseErr GiveLevels(PoiseContext ctx, int levels, PoisePC pc)
{
  POISE_TRY(PoisePCSetType(pc, "mg"));
  POISE_TRY(PoisePCMGSetLevels(pc, levels));
  for (int k = 1; k < levels; k++) {
    PoiseMat P;
    POISE_TRY(CreateInterpolation(ctx, Points(k), &P));
    POISE_TRY(PoisePCMGSetInterpolation(pc, k, P));
    POISE_TRY(PoiseMatDestroy(&P)); /* pc keeps a reference */
  }
  return POISE_OK;
}

/* u = sin(pi x) sin(pi y) at the points; h^2 f is b. */
static PoiseErr FillRhs(PoiseInt n, PoiseVec b)
{
  const double pi = 3.14159265358979323846, h = 1.0 / (double)(n + 1);
  PoiseInt begin, end;
  double *v;
  PoiseVecRange(b, &begin, &end);
  POISE_TRY(PoiseVecGetWrite(b, &v));
  for (PoiseInt i = begin; i < end; i++)
    v[i - begin] =
        2 * pi * pi * h * h * sin(pi * h * (double)(i % n + 1)) * sin(pi * h * (double)(i / n + 1));
  return PoiseVecRestore(b, &v);
}

/* The differences' own solution is u times this. */
static double Factor(PoiseInt n)
{
  const double pi = 3.14159265358979323846, h = 1.0 / (double)(n + 1), s = sin(pi * h / 2) / (pi * h / 2);
  return 1 / (s * s);
}

static PoiseErr Check(PoiseContext ctx, PoiseInt n, PoiseVec x)
{
  const double pi = 3.14159265358979323846, h = 1.0 / (double)(n + 1);
  const double *v;
  double error = 0;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  POISE_TRY(PoiseVecGetRead(x, &v));
  for (PoiseInt i = begin; i < end; i++) {
    double u = sin(pi * h * (double)(i % n + 1)) * sin(pi * h * (double)(i / n + 1));
    error = fmax(error, fabs(v[i - begin] - Factor(n) * u));
  }
  POISE_TRY(PoiseVecRestore(x, &v));
  POISE_TRY(PoiseMax(ctx, 1, &error));
  if (!(error < 1e-6)) POISE_FAIL(POISE_ERR_NUMERIC, "x is wrong by %g", error);
  return POISE_OK;
}

/* Solve on grids of so many levels. */
static PoiseErr SolveOn(PoiseContext ctx, int levels, PoiseInt *iterations)
{
  PoiseInt n = Points(levels - 1);
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  PoisePC pc;
  POISE_TRY(CreateOperator(ctx, n, &A));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &b));
  POISE_TRY(FillRhs(n, b));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-9, -1, -1, -1));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(ksp, 1));
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  POISE_TRY(GiveLevels(ctx, levels, pc));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseKSPSolve(ksp, b, x));
  POISE_TRY(Check(ctx, n, x));
  *iterations = PoiseKSPIterations(ksp);
  POISE_TRY(PoisePrintf(ctx, "%5" PRId64 " x %5" PRId64 " points, %2d levels: %" PRId64 " iterations\n", n, n,
                        levels, *iterations));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&x));
  POISE_TRY(PoiseVecDestroy(&b));
  return PoiseMatDestroy(&A);
}

static PoiseErr Solve(PoiseContext ctx, void *arg)
{
  Settings s;
  PoiseInt fewer, its;
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &s));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &s));
  POISE_TRY(SolveOn(ctx, (int)s.levels - 1, &fewer));
  POISE_TRY(SolveOn(ctx, (int)s.levels, &its));
  if (its > fewer + 3)
    POISE_FAIL(POISE_ERR_NUMERIC, "a finer grid takes %" PRId64 " iterations, and %" PRId64 " were enough",
               its, fewer);
  return POISE_OK;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Solve Poisson's equation on a square by multigrid with own grids.",
                          .options = options};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Solve, NULL);
  if (err == POISE_OK) err = PoiseFinalize(&ctx);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK;
}

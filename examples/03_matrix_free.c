/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A matrix that exists only as a function (a shell): A = L + e e^T / n, e = (1, ..., 1). L is the Laplacian of
  a path, tridiag(-1, 2, -1) with corners 1. It comes from problems with fluxes given on the whole boundary.
  It is singular: L e = 0. Adding the mean value makes it positive definite, and dense. Assembled it has n^2
  entries; as a function it takes two passes over x. The program does both, and compares.
    03_matrix_free -n 200 -ksp_monitor
    03_matrix_free -ksp_type gmres -pc_type jacobi      (jacobi works because the shell can give its diagonal)
*/
#include <math.h>
#include <poise.h>

typedef struct Mean { /* data for the functions of the shell */
  PoiseMat L;
  PoiseVec e;
} Mean;

typedef struct Objects {
  Mean mean;
  PoiseMat shell, dense;
  PoiseKSP shell_solver, dense_solver;
  PoiseVec b, x, y;
} Objects;

/* ---- the shell ------------------------------------------------------------------------------- */

/* y = L x + (e, x) / n e. Called on all ranks, so it may use collective functions. */
static PoiseErr Mult(void *arg, PoiseVec x, PoiseVec y)
{
  const Mean *mean = arg;
  double sum;
  POISE_TRY(PoiseMatMult(mean->L, x, y));
  POISE_TRY(PoiseVecSumEntries(x, &sum));
  return PoiseVecAXPY(y, sum / (double)PoiseVecSize(x), mean->e);
}

static PoiseErr Diagonal(void *arg, PoiseVec d)
{
  const Mean *mean = arg;
  POISE_TRY(PoiseMatGetDiagonal(mean->L, d));
  return PoiseVecAXPY(d, 1 / (double)PoiseVecSize(d), mean->e);
}

/* ---- the same, assembled --------------------------------------------------------------------- */

/* Add L by its edges: each adds [1 -1; -1 1]. This rank adds its share of them. */
static PoiseErr AddEdges(PoiseContext ctx, PoiseInt n, PoiseMat A)
{
  static const double edge[] = {1, -1, -1, 1};
  PoiseInt begin, count;
  PoiseSplit(ctx, n - 1, &begin, &count);
  for (PoiseInt i = begin; i < begin + count; i++) {
    const PoiseInt ends[] = {i, i + 1};
    POISE_TRY(PoiseMatAddBlock(A, 2, ends, 2, ends, edge));
  }
  return POISE_OK;
}

static PoiseErr AddMean(PoiseContext ctx, PoiseInt n, PoiseMat A)
{
  PoiseInt begin, count;
  PoiseSplit(ctx, n, &begin, &count);
  const double entry = 1 / (double)n;
  for (PoiseInt i = begin; i < begin + count; i++) {
    for (PoiseInt j = 0; j < n; j++) POISE_TRY(PoiseMatAddBlock(A, 1, &i, 1, &j, &entry));
  }
  return POISE_OK;
}

static PoiseErr Create(PoiseContext ctx, PoiseInt n, Objects *o)
{
  const PoiseShell functions = {.mult = Mult, .mult_transpose = Mult, .diagonal = Diagonal}; /* A = A^T */
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &o->mean.L));
  POISE_TRY(PoiseAgree(ctx, AddEdges(ctx, n, o->mean.L)));
  POISE_TRY(PoiseMatAssemble(o->mean.L));
  POISE_TRY(PoiseMatCreateVecs(o->mean.L, &o->x, &o->b));
  POISE_TRY(PoiseVecDuplicate(o->x, &o->y));
  POISE_TRY(PoiseVecDuplicate(o->x, &o->mean.e));
  POISE_TRY(PoiseVecSet(o->mean.e, 1));
  POISE_TRY(PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &functions, &o->mean, &o->shell));

  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &o->dense));
  POISE_TRY(PoiseAgree(ctx, AddEdges(ctx, n, o->dense)));
  POISE_TRY(PoiseAgree(ctx, AddMean(ctx, n, o->dense)));
  return PoiseMatAssemble(o->dense);
}

/* ---- solve and compare ----------------------------------------------------------------------- */

static PoiseErr SolveWith(PoiseContext ctx, const char *what, PoiseMat A, PoiseKSP *solver, PoiseVec b,
                          PoiseVec x)
{
  PoisePC pc;
  POISE_TRY(PoiseKSPCreate(ctx, solver));
  PoiseKSP ksp = *solver;
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "none"));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(ksp, 1));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, -1));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseKSPSolve(ksp, b, x));
  return PoisePrintf(ctx, "%-10s %s after %d iterations\n", what,
                     PoiseKSPReasonString(PoiseKSPConvergedReason(ksp)), (int)PoiseKSPIterations(ksp));
}

/* b_i = i - (n - 1) / 2 sums to zero. So e^T A x = e^T b says that x has mean value zero and solves L x = b
   as well. */
static PoiseErr SetRightHandSide(PoiseVec b)
{
  PoiseInt begin, end;
  double *v;
  PoiseVecRange(b, &begin, &end);
  POISE_TRY(PoiseVecGetWrite(b, &v));
  for (PoiseInt i = begin; i < end; i++) v[i - begin] = (double)i - 0.5 * (double)(PoiseVecSize(b) - 1);
  return PoiseVecRestore(b, &v);
}

static PoiseErr Compare(PoiseContext ctx, PoiseInt n, Objects *o)
{
  double b, x, sum, difference, residual;
  POISE_TRY(Create(ctx, n, o));
  POISE_TRY(SetRightHandSide(o->b));
  POISE_TRY(SolveWith(ctx, "function", o->shell, &o->shell_solver, o->b, o->x));
  POISE_TRY(SolveWith(ctx, "assembled", o->dense, &o->dense_solver, o->b, o->y));

  POISE_TRY(PoiseVecNorm(o->b, POISE_NORM_2, &b));
  POISE_TRY(PoiseVecNorm(o->x, POISE_NORM_2, &x));
  POISE_TRY(PoiseVecSumEntries(o->x, &sum));
  POISE_TRY(PoiseVecAXPY(o->y, -1, o->x));
  POISE_TRY(PoiseVecNorm(o->y, POISE_NORM_2, &difference));
  POISE_TRY(PoiseMatResidual(o->mean.L, o->b, o->x, o->y));
  POISE_TRY(PoiseVecNorm(o->y, POISE_NORM_2, &residual));
  POISE_TRY(PoisePrintf(ctx, "difference %.1e, |b - L x| / |b| %.1e, mean of x / |x| %.1e\n", difference / x,
                        residual / b, fabs(sum) / (double)n / x));
  if (!(difference < 1e-6 * x))
    POISE_FAIL(POISE_ERR_NUMERIC, "the two solutions differ by %g of x", difference / x);
  if (!(residual < 1e-8 * b))
    POISE_FAIL(POISE_ERR_NUMERIC, "x does not solve L x = b: |b - L x| / |b| is %g", residual / b);
  if (!(fabs(sum) < 1e-8 * (double)n * x))
    POISE_FAIL(POISE_ERR_NUMERIC, "the mean of x is %g, not 0", sum / (double)n);
  return POISE_OK;
}

typedef struct Settings {
  PoiseInt n;
} Settings;

static const PoiseOption options[] = {
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "100", 2, 2000, NULL, "number of unknowns"}, {0}};

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  (void)arg;
  Settings set;
  Objects o = {0};
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  PoiseErr err = Compare(ctx, set.n, &o);
  PoiseKSPDestroy(&o.dense_solver);
  PoiseKSPDestroy(&o.shell_solver);
  PoiseVecDestroy(&o.y);
  PoiseVecDestroy(&o.x);
  PoiseVecDestroy(&o.b);
  PoiseMatDestroy(&o.dense);
  PoiseMatDestroy(&o.shell); /* before what its functions use */
  PoiseVecDestroy(&o.mean.e);
  PoiseMatDestroy(&o.mean.L);
  return err;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "A matrix given as a function, compared with the same one assembled.",
                          .options = options};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Run, NULL);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  PoiseErr end = PoiseFinalize(&ctx);
  if (end != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK || end != POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Several right-hand sides at once. A string is fixed at both ends, and a weight hangs at one of N points: A =
  tridiag(-1, 2, -1) and b = e_s. The program moves the weight to COUNT places, solves for all of them in one
  call, and compares with the known answer, min(i, s) (N + 1 - max(i, s)) / (N + 1) at point i = 1 ... N.
    06_several -ksp_view -ksp_converged_reason
    06_several -ksp_type gmres          (one after the other, as gmres has no such iteration)
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>

enum { N = 200, COUNT = 8 };

static double Place(int weight) /* from 1 */
{
  return floor((weight + 1.0) * N / (COUNT + 1));
}

static double Answer(double i, double s)
{
  return fmin(i, s) * (N + 1 - fmax(i, s)) / (N + 1);
}

static PoiseErr Fill(PoiseMat A, PoiseVec B)
{
  double *v;
  PoiseInt begin, end;
  PoiseVecRange(B, &begin, &end);
  POISE_TRY(PoiseVecGetWrite(B, &v)); /* rows are interleaved: row i, column j at [COUNT i + j] */
  for (PoiseInt i = begin; i < end; i++) {
    const PoiseInt row[] = {i - 1, i, i + 1 < N ? i + 1 : -1}; /* -1: left out */
    POISE_TRY(PoiseMatAddBlock(A, 1, &i, 3, row, (double[]){-1, 2, -1}));
    for (int j = 0; j < COUNT; j++) v[COUNT * (i - begin) + j] = i + 1 == Place(j);
  }
  POISE_TRY(PoiseVecRestore(B, &v));
  return PoiseMatAssemble(A);
}

static PoiseErr Check(PoiseContext ctx, PoiseKSP ksp, PoiseVec X)
{
  const double *v;
  double error = 0;
  PoiseInt begin, end;
  PoiseVecRange(X, &begin, &end);
  POISE_TRY(PoiseVecGetRead(X, &v));
  for (PoiseInt i = begin; i < end; i++)
    for (int j = 0; j < COUNT; j++)
      error = fmax(error, fabs(v[COUNT * (i - begin) + j] - Answer((double)i + 1, Place(j))));
  POISE_TRY(PoiseVecRestore(X, &v));
  POISE_TRY(PoiseMax(ctx, 1, &error));
  for (int j = 0; j < COUNT; j++)
    POISE_TRY(PoisePrintf(ctx, "weight at %3.0f: %" PRId64 " iterations\n", Place(j),
                          PoiseKSPColumnIterations(ksp, j)));
  POISE_TRY(PoisePrintf(ctx, "largest error %.1e\n", error));
  if (!(error < 1e-6)) POISE_FAIL(POISE_ERR_NUMERIC, "X is wrong by %g", error);
  return POISE_OK;
}

static PoiseErr Solve(PoiseContext ctx, void *arg)
{
  PoiseMat A;
  PoiseVec B, X;
  PoiseKSP ksp;
  (void)arg;
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A));
  POISE_TRY(PoiseVecCreateBlock(ctx, POISE_DECIDE, N, COUNT, &B));
  POISE_TRY(PoiseVecDuplicate(B, &X));
  POISE_TRY(Fill(A, B));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, -1));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(ksp, 1));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseKSPSolveBlock(ksp, B, X));
  POISE_TRY(Check(ctx, ksp, X));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&X));
  POISE_TRY(PoiseVecDestroy(&B));
  return PoiseMatDestroy(&A);
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Solve tridiag(-1, 2, -1) X = B for several right-hand sides at once."};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Solve, NULL);
  if (err == POISE_OK) err = PoiseFinalize(&ctx);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK;
}

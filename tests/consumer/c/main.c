/* SPDX-License-Identifier: BSD-3-Clause */
/* A program outside the tree: solve [2 1; 1 3] x = [3; 5], x = [0.8; 1.4]. */
#include <poise.h>

static PoiseErr Solve(PoiseContext ctx, double x[2])
{
  const int32_t ptr[] = {0, 2, 4}, col[] = {0, 1, 0, 1};
  const double val[] = {2, 1, 1, 3};
  double rhs[] = {3, 5};
  const PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
  PoiseMat A;
  PoiseVec b, u;
  PoiseKSP ksp;
  POISE_TRY(PoiseMatCreateCSR(ctx, 2, 2, 2, 2, &csr, POISE_COPY, &A));
  POISE_TRY(PoiseVecCreateArray(ctx, 2, 2, rhs, POISE_COPY, &b));
  POISE_TRY(PoiseVecCreateArray(ctx, 2, 2, x, POISE_BORROW, &u));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-12, -1, -1, -1));
  POISE_TRY(PoiseKSPSolve(ksp, b, u));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&u));
  POISE_TRY(PoiseVecDestroy(&b));
  return PoiseMatDestroy(&A);
}

int main(void)
{
  PoiseContext ctx;
  double x[2] = {0, 0};
  PoiseErr err = PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &ctx);
  if (!err) err = Solve(ctx, x);
  if (!err) err = PoiseFinalize(&ctx);
  if (err) fputs(PoiseErrorText(), stderr);
  printf("C: x = %.15g %.15g\n", x[0], x[1]);
  double error = (x[0] - 0.8) * (x[0] - 0.8) + (x[1] - 1.4) * (x[1] - 1.4);
  return err || !(error < 1e-20);
}

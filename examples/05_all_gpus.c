/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The shortest program on all GPUs of a host. It knows nothing of ranks: one matrix, two vectors, one thread.
    05_all_gpus -gpus all                      every GPU
    05_all_gpus -gpus 2 -ksp_view              two; which worker has what
    05_all_gpus -solve_ranks 4 -device host    four ranks as threads of a laptop without a GPU

  tridiag(-1, 2.1, -1) x = b with the solution x = 1.
*/
#include <math.h>
#include <poise.h>

enum { N = 100000 };

static int32_t ptr[N + 1], col[3 * N];
static double val[3 * N], rhs[N];

static void Fill(void)
{
  int nz = 0;
  for (int i = 0; i < N; i++) {
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= N) continue;
      col[nz] = j;
      val[nz] = i == j ? 2.1 : -1;
      rhs[i] += val[nz++];
    }
    ptr[i + 1] = nz;
  }
}

static PoiseErr Solve(PoiseContext ctx)
{
  const PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
  PoiseMat A;
  PoiseVec x, b;
  PoiseKSP ksp;
  double *v, error = 0;

  Fill();
  POISE_TRY(PoiseMatCreateCSR(ctx, N, N, N, N, &csr, POISE_BORROW, &A));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &b));
  POISE_TRY(PoiseVecGetWrite(b, &v));
  for (int i = 0; i < N; i++) v[i] = rhs[i];
  POISE_TRY(PoiseVecRestore(b, &v));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(ksp, 1));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseKSPSolve(ksp, b, x));
  POISE_TRY(PoiseVecGetUpdate(x, &v));
  for (int i = 0; i < N; i++) error = fmax(error, fabs(v[i] - 1));
  POISE_TRY(PoiseVecRestore(x, &v));
  POISE_TRY(PoisePrintf(ctx, "%d iterations, largest error %.1e\n", (int)PoiseKSPIterations(ksp), error));
  if (!(error < 1e-3)) POISE_FAIL(POISE_ERR_NUMERIC, "x is wrong by %g", error);
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&b));
  POISE_TRY(PoiseVecDestroy(&x));
  return PoiseMatDestroy(&A);
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.serial = 1, .help = "Solve a tridiagonal system on all GPUs of a host."};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = Solve(ctx);
  if (err == POISE_OK) err = PoiseFinalize(&ctx);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK;
}

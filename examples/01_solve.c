/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The shortest solve: our own CSR arrays of tridiag(-1, 2, -1), the right-hand side b = 1, CG.
    01_solve                    one rank
    01_solve -ranks 3           three ranks, as threads of this process
    mpirun -n 2 01_solve        two ranks, as processes
    01_solve -help              all options, e.g. -ksp_type gmres -pc_type none -ksp_monitor

  The exact solution is x_i = (i + 1) (n - i) / 2, i = 0 .. n - 1, so the program checks itself. CG finds it
  in n / 2 iterations without any error. The reason is CONVERGED_ATOL, as the residual is 0.
*/
#include <math.h>
#include <poise.h>

enum { N = 100 }; /* rows of the whole matrix */

/* Fill an application's CSR arrays with rows [begin, begin + m): 0-based, with global columns. */
static void Fill(int begin, int m, int32_t ptr[N + 1], int32_t col[3 * N], double val[3 * N])
{
  int nz = 0;
  ptr[0] = 0;
  for (int i = begin; i < begin + m; i++) {
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= N) continue;
      col[nz] = j;
      val[nz++] = i == j ? 2 : -1;
    }
    ptr[i - begin + 1] = nz;
  }
}

static PoiseErr Check(PoiseVec x)
{
  double error = 0;
  const double *v;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  POISE_TRY(PoiseVecGetRead(x, &v));
  for (PoiseInt i = begin; i < end; i++) {
    error = fmax(error, fabs(v[i - begin] - 0.5 * (double)(i + 1) * (double)(N - i)));
  }
  POISE_TRY(PoiseVecRestore(x, &v));
  POISE_TRY(PoiseMax(PoiseVecContext(x), 1, &error));
  POISE_TRY(PoisePrintf(PoiseVecContext(x), "largest error %.1e\n", error));
  if (!(error < 1e-5)) POISE_FAIL(POISE_ERR_NUMERIC, "x is wrong by %g, more than 1e-5", error);
  return POISE_OK;
}

/* Called on every rank. An error returns at once, and leaves its objects to the end of the program. 02
   shows how to release them. */
static PoiseErr Solve(PoiseContext ctx, void *arg)
{
  (void)arg;
  PoiseMat A;
  PoiseVec x, b;
  PoiseKSP ksp;
  PoiseInt begin, m;
  int32_t ptr[N + 1], col[3 * N];
  double val[3 * N];
  PoiseSplit(ctx, N, &begin, &m); /* the rows of this rank */
  Fill((int)begin, (int)m, ptr, col, val);

  const PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
  POISE_TRY(PoiseMatCreateCSR(ctx, m, m, N, N, &csr, POISE_BORROW, &A)); /* the values are used in place */
  POISE_TRY(PoiseMatCreateVecs(A, &x, &b));
  POISE_TRY(PoiseVecSet(b, 1));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, -1));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(ksp, 1));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseKSPSolve(ksp, b, x));

  POISE_TRY(PoisePrintf(ctx, "%s after %d iterations\n", PoiseKSPReasonString(PoiseKSPConvergedReason(ksp)),
                        (int)PoiseKSPIterations(ksp)));
  POISE_TRY(Check(x));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&b));
  POISE_TRY(PoiseVecDestroy(&x));
  return PoiseMatDestroy(&A);
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Solve tridiag(-1, 2, -1) x = 1 from CSR arrays."};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Solve, NULL);
  if (err == POISE_OK) err = PoiseFinalize(&ctx);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solve A x = b from files, Matrix Market or PETSc binary, by any method.
    solve -A matrix.mtx.gz -ksp_type cg -pc_type jacobi -ksp_rtol 1e-8
    solve -A matrix.mtx -b rhs.mtx -x solution.mtx -ksp_type gmres -ksp_gmres_restart 50 -ksp_monitor
    mpirun -n 4 solve -A matrix.mtx -repeat 10 -log_view
    solve -A system.petsc -b system.petsc -x solution.petsc

  Input files are recognised by their content. The name of the file of x decides its format (see PoiseMatLoad,
  PoiseMatSave). A PETSc file may hold A and behind it b. Without -b the right-hand side is A times ones, and
  the error against ones is printed as well. Standard output has one "name  value" line each; errors go to
  standard error. Exit code: 0 converged, 3 not converged (the reason is printed, and x is written), 1 error.
*/
#include "fem/program.h"
#include <inttypes.h>
#include <math.h>
#include <poise.h>

typedef struct Settings {
  char A[POISE_OPTION_LENGTH], b[POISE_OPTION_LENGTH], x[POISE_OPTION_LENGTH];
  PoiseInt repeat;
} Settings;

static const PoiseOption options[] = {
    {"A", POISE_OPTION_STRING, offsetof(Settings, A), "", 0, 0, NULL,
     "file of A: Matrix Market or PETSc binary, plain or gzip (required)"},
    {"b", POISE_OPTION_STRING, offsetof(Settings, b), "", 0, 0, NULL,
     "file of b, may be that of A (PETSc); default: b = A times ones"},
    {"x", POISE_OPTION_STRING, offsetof(Settings, x), "", 0, 0, NULL,
     "write x to this file: PETSc binary if it ends in .petsc, else Matrix Market; .gz"},
    {"repeat", POISE_OPTION_INT, offsetof(Settings, repeat), "1", 1, 1000000, NULL,
     "solve that often with one set-up"},
    {0}};

typedef struct Problem {
  PoiseMat A;
  PoiseVec b, x, work;
  PoiseKSP ksp;
  double load, setup, first_solve, more_solves; /* seconds; more_solves: mean of all but the first */
} Problem;

/* Explain a reason, and what to try. */
static const char *ReasonWords(PoiseKSPReason reason)
{
  switch (reason) {
  case POISE_CONVERGED_RTOL:
    return "the residual fell below -ksp_rtol times the first one";
  case POISE_CONVERGED_ATOL:
    return "the residual fell below -ksp_atol";
  case POISE_CONVERGED_RTOL_NORMAL:
    return "A^T (b - A x) fell below -ksp_rtol times |A| |b - A x|: a least-squares solution";
  case POISE_CONVERGED_ATOL_NORMAL:
    return "A^T (b - A x) fell below -ksp_atol: a least-squares solution";
  case POISE_CONVERGED_ITS:
    return "the asked number of iterations was made";
  case POISE_CONVERGED_HAPPY_BREAKDOWN:
    return "the solution lies in the space built so far";
  case POISE_CONVERGED_USER:
    return "the program's own test was met";
  case POISE_DIVERGED_NULL:
    return "the method had nothing left to work with";
  case POISE_DIVERGED_ITS:
    return "-ksp_max_it iterations were not enough";
  case POISE_DIVERGED_DTOL:
    return "the residual grew beyond -ksp_divtol times the first one";
  case POISE_DIVERGED_BREAKDOWN:
    return "the method broke down; try another -ksp_type";
  case POISE_DIVERGED_INDEFINITE_PC:
    return "the preconditioner is not positive definite; try bicgstab or gmres";
  case POISE_DIVERGED_INDEFINITE_MAT:
    return "the matrix is not positive definite; try bicgstab or gmres";
  case POISE_DIVERGED_NANORINF:
    return "NaN or Inf appeared";
  case POISE_DIVERGED_USER:
    return "the program's own test gave up";
  case POISE_DIVERGED_ERROR:
    return "an error ended the solve";
  case POISE_ITERATING:
    break;
  }
  return "no solve was made";
}

static PoiseErr Load(PoiseContext ctx, const Settings *set, Problem *p)
{
  PoiseInt m;
  double start = PoiseTime();
  POISE_TRY(PoiseMatLoad(ctx, set->A, &p->A));
  POISE_TRY(FemMatTakeOptions(ctx, &p->A));
  POISE_TRY(PoiseMatCreateVecs(p->A, &p->x, &p->work));
  PoiseMatLocalSizes(p->A, &m, NULL);
  if (set->b[0] != '\0') {
    POISE_TRY(PoiseVecLoad(ctx, m, POISE_DECIDE, set->b, &p->b));
  } else {
    POISE_TRY(PoiseVecDuplicate(p->work, &p->b));
    POISE_TRY(PoiseVecSet(p->x, 1));
    POISE_TRY(PoiseMatMult(p->A, p->x, p->b));
  }
  p->load = PoiseTime() - start;
  return POISE_OK;
}

static PoiseErr Solve(PoiseContext ctx, const Settings *set, Problem *p)
{
  double start = PoiseTime();
  POISE_TRY(PoiseKSPCreate(ctx, &p->ksp));
  POISE_TRY(PoiseKSPSetOperators(p->ksp, p->A, NULL));
  POISE_TRY(PoiseKSPSetProgress(p->ksp, 1));
  POISE_TRY(PoiseKSPSetFromOptions(p->ksp));
  POISE_TRY(PoiseKSPSetUp(p->ksp));
  p->setup = PoiseTime() - start;

  for (PoiseInt k = 0; k < set->repeat; k++) {
    POISE_TRY(PoiseVecSet(p->x, 0));
    start = PoiseTime();
    POISE_TRY(PoiseKSPSolve(p->ksp, p->b, p->x));
    if (k == 0)
      p->first_solve = PoiseTime() - start;
    else
      p->more_solves += (PoiseTime() - start) / (double)(set->repeat - 1);
  }
  return POISE_OK;
}

/* |x - 1| / |1| */
static PoiseErr PrintError(PoiseContext ctx, Problem *p)
{
  double error;
  POISE_TRY(PoiseVecSet(p->work, 1));
  POISE_TRY(PoiseVecAXPY(p->work, -1, p->x));
  POISE_TRY(PoiseVecNorm(p->work, POISE_NORM_2, &error));
  return PoisePrintf(ctx, "error          %.3e  |x - 1| / |1|\n", error / sqrt((double)PoiseVecSize(p->x)));
}

static PoiseErr PrintTimes(PoiseContext ctx, const Settings *set, const Problem *p)
{
  double t[] = {p->load, p->setup, p->first_solve, p->more_solves};
  POISE_TRY(PoiseMax(ctx, 4, t));
  POISE_TRY(PoisePrintf(ctx, "time load      %.6f s\n", t[0]));
  POISE_TRY(PoisePrintf(ctx, "time set-up    %.6f s\n", t[1]));
  POISE_TRY(PoisePrintf(ctx, "time solve     %.6f s\n", t[2]));
  if (set->repeat > 1) {
    POISE_TRY(PoisePrintf(ctx, "time again     %.6f s  mean of %" PRId64 " more\n", t[3], set->repeat - 1));
  }
  return POISE_OK;
}

static PoiseErr Report(PoiseContext ctx, const Settings *set, Problem *p)
{
  PoiseInt M, nz;
  PoisePC pc;
  double residual, b;
  PoiseKSPReason reason = PoiseKSPConvergedReason(p->ksp);
  PoiseMatSizes(p->A, &M, NULL);
  POISE_TRY(PoiseMatNonzeros(p->A, &nz));
  POISE_TRY(PoiseKSPGetPC(p->ksp, &pc));
  POISE_TRY(PoiseVecNorm(p->b, POISE_NORM_2, &b));
  POISE_TRY(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &residual));

  POISE_TRY(PoisePrintf(ctx, "matrix         %s\n", set->A));
  POISE_TRY(PoisePrintf(ctx, "rows           %" PRId64 "\n", M));
  POISE_TRY(PoisePrintf(ctx, "nonzeros       %" PRId64 "\n", nz));
  POISE_TRY(PoisePrintf(ctx, "method         %s, %s\n", PoiseKSPType(p->ksp), PoisePCType(pc)));
  POISE_TRY(PoisePrintf(ctx, "iterations     %" PRId64 "\n", PoiseKSPIterations(p->ksp)));
  POISE_TRY(PoisePrintf(ctx, "reason         %s: %s\n", PoiseKSPReasonString(reason), ReasonWords(reason)));
  if (*PoiseKSPReasonDetail(p->ksp) != '\0')
    POISE_TRY(PoisePrintf(ctx, "detail         %s\n", PoiseKSPReasonDetail(p->ksp)));
  POISE_TRY(PoisePrintf(ctx, "residual       %.3e  in the %s norm\n", PoiseKSPResidualNorm(p->ksp),
                        PoiseKSPNormString(PoiseKSPNormUsed(p->ksp))));
  POISE_TRY(PoisePrintf(ctx, "true residual  %.3e  %s\n", b == 0 ? residual : residual / b,
                        b == 0 ? "|b - A x|, b is 0" : "|b - A x| / |b|"));
  if (set->b[0] == '\0') POISE_TRY(PrintError(ctx, p));
  return PrintTimes(ctx, set, p);
}

static PoiseErr Write(PoiseContext ctx, const Settings *set, Problem *p)
{
  if (set->x[0] == '\0') return POISE_OK;
  double time = PoiseTime();
  POISE_TRY(PoiseVecSave(p->x, set->x));
  time = PoiseTime() - time;
  POISE_TRY(PoiseMax(ctx, 1, &time));
  return PoisePrintf(ctx, "time write     %.6f s\n", time);
}

/* POISE_ERR_NOT_CONVERGED unless the method says that it converged and all entries of x are finite. */
static PoiseErr Judge(PoiseContext ctx, Problem *p)
{
  double norm;
  PoiseKSPReason reason = PoiseKSPConvergedReason(p->ksp);
  POISE_TRY(PoiseVecNorm(p->x, POISE_NORM_INF, &norm));
  if (!isfinite(norm)) {
    POISE_TRY(PoisePrintf(ctx, "WARNING        x contains NaN or Inf\n"));
    POISE_FAIL(POISE_ERR_NOT_CONVERGED, "x contains NaN or Inf");
  }
  if (reason <= 0)
    POISE_FAIL(POISE_ERR_NOT_CONVERGED, "%s: %s", PoiseKSPReasonString(reason), ReasonWords(reason));
  return POISE_OK;
}

static PoiseErr LoadSolveReport(PoiseContext ctx, const Settings *set, Problem *p)
{
  if (set->A[0] == '\0')
    POISE_FAIL(POISE_ERR_OPTION, "no matrix: give -A file.mtx or -A file.petsc (-help tells all options)");
  POISE_TRY(Load(ctx, set, p));
  POISE_TRY(Solve(ctx, set, p));
  POISE_TRY(Report(ctx, set, p));
  POISE_TRY(Write(ctx, set, p));
  return Judge(ctx, p);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  (void)arg;
  Settings set;
  Problem p = {0};
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  PoiseErr err = LoadSolveReport(ctx, &set, &p);
  PoiseKSPDestroy(&p.ksp);
  PoiseVecDestroy(&p.work);
  PoiseVecDestroy(&p.x);
  PoiseVecDestroy(&p.b);
  PoiseMatDestroy(&p.A);
  return err;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "Solve A x = b from Matrix Market or PETSc binary files.",
                          .options = options};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Run, NULL);
  int code = FemEnd(&ctx, err);
  return err == POISE_ERR_NOT_CONVERGED ? 3 : code;
}

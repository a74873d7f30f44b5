/* SPDX-License-Identifier: BSD-3-Clause */
/* Tolerances, norms, sides, tests, monitors and guesses. */
#include "test.h"

static PetscErrorCode Tolerances(void)
{
  Problem p;
  Mat A;
  PetscInt first, its;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(KSPGetIterationNumber(p.poise, &first));
  for (int k = 0; k < 2; k++)
    PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, 1e-3, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(KSPGetIterationNumber(p.poise, &its));
  CHECK(its < first);
  for (int k = 0; k < 2; k++)
    PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 4));
  PetscCall(Both(&p, PETSC_FALSE)); /* DIVERGED_ITS */
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode NormsAndSides(void)
{
  static const struct {
    const char *method, *pc;
    KSPNormType norm;
    PCSide side;
  } cases[] = {
      {"gmres", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_RIGHT},
      {"gmres", "sor", KSP_NORM_DEFAULT, PC_RIGHT},
      {"gmres", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_SIDE_DEFAULT},
      {"bcgs", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_RIGHT},
      {"cg", "jacobi", KSP_NORM_NATURAL, PC_LEFT},
      {"cg", "bjacobi", KSP_NORM_UNPRECONDITIONED, PC_LEFT},
      {"cg", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"gmres", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"fgmres", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"lgmres", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"lgmres", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_RIGHT},
      {"gcr", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"gcr", "sor", KSP_NORM_NONE, PC_RIGHT},
      {"cgs", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"cgs", "sor", KSP_NORM_UNPRECONDITIONED, PC_RIGHT},
      {"cgs", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"fcg", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"qmrcgs", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"bicg", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"bicg", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_LEFT},
      {"bicg", "none", KSP_NORM_PRECONDITIONED, PC_LEFT},
      {"fcg", "sor", KSP_NORM_NATURAL, PC_LEFT},
      {"fcg", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_LEFT},
      {"minres", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"richardson", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"preonly", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"richardson", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"bcgs", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"gmres", "sor", KSP_NORM_NONE, PC_RIGHT},
  };
  PetscFunctionBegin;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    Problem p;
    Mat A;
    PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
    PetscCall(Begin(A, NULL, cases[c].method, cases[c].pc, &p));
    for (int k = 0; k < 2; k++) {
      if (cases[c].norm != KSP_NORM_DEFAULT) PetscCall(KSPSetNormType(k ? p.poise : p.petsc, cases[c].norm));
      if (cases[c].side != PC_SIDE_DEFAULT) PetscCall(KSPSetPCSide(k ? p.poise : p.petsc, cases[c].side));
      if (cases[c].norm == KSP_NORM_NONE)
        PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3));
    }
    PetscCall(Both(&p, PETSC_FALSE));
    KSPNormType norm[2];
    PetscCall(KSPGetNormType(p.petsc, &norm[0]));
    PetscCall(KSPGetNormType(p.poise, &norm[1]));
    CHECK(norm[0] == norm[1]);
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode AtFive(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *arg)
{
  Vec x;
  PetscReal size;
  (void)arg;
  PetscFunctionBegin;
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscCall(VecNorm(x, NORM_2, &size));
  CHECK(size > 0 || !it);
  CHECK(norm > 0);
  *reason = it == 5 ? KSP_CONVERGED_STEP_LENGTH : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(0);
}

static PetscErrorCode Tests(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSetConvergenceTest(k ? p.poise : p.petsc, KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 9));
  }
  PetscCall(Both(&p, PETSC_FALSE));
  for (int k = 0; k < 2; k++) PetscCall(KSPSetConvergenceTest(k ? p.poise : p.petsc, AtFive, NULL, NULL));
  PetscCall(Both(&p, PETSC_FALSE));
  KSPConvergedReason reason;
  PetscCall(KSPGetConvergedReason(p.poise, &reason));
  CHECK(reason == KSP_CONVERGED_STEP_LENGTH);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Count(KSP ksp, PetscInt it, PetscReal norm, void *arg)
{
  Vec x;
  PetscInt *next = arg;
  (void)norm;
  PetscFunctionBegin;
  CHECK(it == *next);
  (*next)++;
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &x));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

static PetscErrorCode MonitorsAndGuess(void)
{
  Problem p;
  Mat A;
  PetscInt next = 0, its;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0.2, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  PetscCall(KSPMonitorSet(p.poise, Count, &next, NULL));
  for (int k = 0; k < 2; k++) PetscCall(KSPSetInitialGuessNonzero(k ? p.poise : p.petsc, PETSC_TRUE));
  PetscCall(VecSet(p.x, 0.3));
  PetscCall(VecSet(p.y, 0.3));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(KSPGetIterationNumber(p.poise, &its));
  CHECK(next == its + 1);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode FromFive(KSP ksp)
{
  return KSPSetCheckNormIteration(ksp, 5);
}

static PetscErrorCode NotAtFirst(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(BeginWith(A, "cg", "jacobi", FromFive, &p));
  PetscCall(KSPSetResidualHistory(p.petsc, NULL, 0, PETSC_TRUE)); /* PETSc's has no norms before that */
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode NormOfSolution(KSP ksp, PetscInt it, PetscReal norm, void *arg)
{
  PetscReal *norms = arg, size;
  Vec x;
  (void)norm;
  PetscFunctionBegin;
  PetscCall(KSPGetSolution(ksp, &x));
  PetscCall(VecNorm(x, NORM_2, &size));
  if (it < N) norms[it] = size;
  PetscFunctionReturn(0);
}

static PetscErrorCode SolutionInMonitor(void)
{
  static const char *const methods[] = {"cg", "bcgs", "minres", "richardson"};
  PetscReal norms[2][N] = {{0}};
  PetscFunctionBegin;
  for (int m = 0; m < 4; m++) {
    Problem p;
    Mat A;
    PetscInt its;
    PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
    PetscCall(Begin(A, NULL, methods[m], "jacobi", &p));
    for (int k = 0; k < 2; k++)
      PetscCall(KSPMonitorSet(k ? p.poise : p.petsc, NormOfSolution, norms[k], NULL));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(KSPGetIterationNumber(p.petsc, &its));
    CHECK(norms[0][1] > 0);
    for (PetscInt i = 0; i <= PetscMin(its, N - 1); i++)
      CHECK(PetscAbsReal(norms[0][i] - norms[1][i]) <= 1e-6 * norms[0][i]);
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

const Case of_settings[] = {
    {"tolerances", Tolerances},
    {"norms, sides", NormsAndSides},
    {"tests", Tests},
    {"monitors", MonitorsAndGuess},
    {"norms from five on", NotAtFirst},
    {"solution, monitors", SolutionInMonitor},
    {NULL, NULL},
};

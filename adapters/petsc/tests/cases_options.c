/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, prefixes and types. */
#include "test.h"

static PetscErrorCode Unused(PetscInt *unused)
{
  char **names, **values;
  PetscInt n;
  PetscFunctionBegin;
  *unused = 0;
  PetscCall(PetscOptionsLeftGet(NULL, &n, &names, &values));
  for (PetscInt i = 0; i < n; i++) *unused += strstr(names[i], "poise_") != NULL;
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &names, &values));
  PetscFunctionReturn(0);
}

/* Several solvers, options that change, and names that nobody knows. */
static PetscErrorCode Options(void)
{
  Problem p, q;
  Mat A;
  PetscInt unused, first, second;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_rtol 1e-2"));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_rtol"));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_divtol 1e6"));
  PetscCall(Begin(A, NULL, "pipecg", "jacobi", &q)); /* the same prefix, other options */
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(KSPSolve(q.poise, q.b, q.y));
  PetscCall(KSPGetIterationNumber(p.poise, &first));
  PetscCall(KSPGetIterationNumber(q.poise, &second));
  CHECK(first < second); /* the option is not for q, and overrides KSPSetTolerances in p */
  SAYS(q.poise, "Poise's cg, for pipecg");
  PetscCall(Unused(&unused));
  CHECK(unused == 0);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_divtol"));
  PetscCall(KSPSetTolerances(p.poise, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT,
                             PETSC_DEFAULT)); /* the later call wins */
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(KSPGetIterationNumber(p.poise, &second));
  CHECK(first < second);
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_colour red"));
  PetscCall(Unused(&unused));
  CHECK(unused == 1);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_colour"));
  PetscCall(End(&p));
  PetscCall(End(&q));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_tpye cg"));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(Unused(&unused));
  CHECK(unused == 1);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_tpye"));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* The method that the program has set stays, and its prefix need not be known. */
static PetscErrorCode ReplacesType(void)
{
  KSP ksp;
  Mat A;
  Vec x, b;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPMINRES));
  PetscCall(KSPSetType(ksp, "poise"));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  CHECK(reason == KSP_CONVERGED_RTOL);
  SAYS(ksp, "method: Poise's minres");
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  CHECK(reason == KSP_CONVERGED_RTOL);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

const Case of_options[] = {
    {"options", Options},
    {"replaces", ReplacesType},
    {NULL, NULL},
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices and vectors of PETSc's CUDA types: Poise uses them where they are. */
#include "test.h"

/* A solve that would copy a vector between host and GPU is an error. */
static PetscErrorCode SolveInPlace(MPI_Comm comm, const char *pc)
{
  Mat A;
  Vec b, x, r;
  KSP ksp;
  PetscReal size, norm;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(MakeMatOn(comm, MATAIJ, 2.1, 0, 0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPCreate(comm, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "b_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(PetscOptionsInsertString(NULL, "-b_ksp_type poise -b_poise_ksp_type cg"));
  PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_type", pc));
  PetscCall(KSPSetFromOptions(ksp));
  for (int step = 0; step < 3; step++) {
    PetscCall(VecSet(b, 1 + step));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CHECK(reason > 0);
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &size));
    CHECK(norm <= 1e-6 * size);
    PetscCall(MatShift(A, 0.5)); /* on the GPU */
  }
  SAYS(ksp, ranks > 1 ? "one merged copy on the GPU" : "PETSc's arrays in place, on the GPU");
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  static const char *const keys[] = {"-b_ksp_type", "-b_poise_ksp_type", "-b_poise_pc_type"};
  for (int k = 0; k < 3; k++) PetscCall(PetscOptionsClearValue(NULL, keys[k]));
  PetscFunctionReturn(0);
}

static PetscErrorCode InPlace(void)
{
  static const char *const pcs[] = {"jacobi", "amg"};
  PetscFunctionBegin;
  if (!gpu) PetscFunctionReturn(0);
  for (int k = 0; k < 2; k++) {
    MPI_Comm comm; /* another context, whose solves may not copy */
    PetscCallMPI(MPI_Comm_dup(PETSC_COMM_WORLD, &comm));
    PetscCall(PetscOptionsSetValue(NULL, "-poise_device_forbid_copies", "yes"));
    PetscCall(SolveInPlace(comm, pcs[k]));
    PetscCall(PetscOptionsClearValue(NULL, "-poise_device_forbid_copies"));
    PetscCallMPI(MPI_Comm_free(&comm));
  }
  PetscFunctionReturn(0);
}

/* What the program binds to the host is used there, and its later values on the GPU there again. */
static PetscErrorCode Bound(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  if (!gpu) PetscFunctionReturn(0);
  PetscCall(MakeMat(MATAIJ, 3, 0.3, 0.1, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  for (int step = 0; step < 4; step++) {
    PetscCall(MatBindToCPU(A, step % 2 ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(VecBindToCPU(p.y, step > 1 ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(MatShift(A, 1));
    PetscCall(Both(&p, PETSC_FALSE));
  }
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

const Case of_gpus[] = {{"in place", InPlace}, {"bound to the host", Bound}, {NULL, NULL}};

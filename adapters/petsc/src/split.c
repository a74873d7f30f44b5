/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Preconditioning from both sides, M = L R: Poise's method solves L^-1 A R^-1 y = L^-1 b without a
  preconditioner, and x = R^-1 y. Only PETSc's PCs have these halves.
*/
#include "solver.h"

PetscBool IsSplit(KSP ksp)
{
  return ksp->pc_side == PC_SYMMETRIC ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode Mult(Mat S, Vec x, Vec y)
{
  KSP ksp;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &ksp));
  PetscCall(PCApplyBAorAB(ksp->pc, PC_SYMMETRIC, x, y, DataOf(ksp)->w));
  PetscFunctionReturn(0);
}

PetscErrorCode SplitMat(KSP ksp, Mat *S)
{
  Data *d = DataOf(ksp);
  Mat A = ksp->pc->mat;
  PetscInt n, N;
  VecType type;
  PetscFunctionBegin;
  if (!d->split) {
    PetscCall(MatGetLocalSize(A, &n, NULL));
    PetscCall(MatGetSize(A, &N, NULL));
    PetscCall(MatGetVecType(A, &type));
    PetscCall(MatCreateShell(PetscObjectComm((PetscObject)ksp), n, n, N, N, ksp, &d->split));
    PetscCall(MatShellSetVecType(d->split, type));
    PetscCall(MatShellSetOperation(d->split, MATOP_MULT, (void (*)(void))Mult));
    PetscCall(MatCreateVecs(d->split, &d->w, NULL));
  }
  *S = d->split;
  PetscFunctionReturn(0);
}

PetscErrorCode SplitBegin(KSP ksp, Vec *b, Vec *x)
{
  const Data *d = DataOf(ksp);
  PetscFunctionBegin;
  *b = d->r;
  *x = d->z;
  PetscCall(PCApplySymmetricLeft(ksp->pc, ksp->vec_rhs, d->r));
  PetscFunctionReturn(0);
}

PetscErrorCode SplitSolution(KSP ksp, Vec y, Vec x)
{
  const Data *d = DataOf(ksp);
  PetscFunctionBegin;
  PetscCall(VecCopy(y, d->w)); /* it may be x */
  PetscCall(PCApplySymmetricRight(ksp->pc, d->w, x));
  PetscFunctionReturn(0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Many right-hand sides: KSPMatSolve gives what KSPSolve gives for each column. */
#include "test.h"

#include <petsc/private/kspimpl.h>

enum { COLUMNS = 4 };

typedef struct Many {
  Mat B, X;
} Many;

/* With matrices of CUDA types PETSc's own products take columns of CUDA types alone. */
static PetscErrorCode MakeMany(Mat A, Many *many)
{
  PetscInt n, begin, end;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &many->B));
  PetscCall(MatSetSizes(many->B, n, PETSC_DECIDE, N, COLUMNS));
  PetscCall(MatSetType(many->B, gpu ? MATDENSECUDA : MATDENSE));
  PetscCall(MatSetUp(many->B));
  PetscCall(MatGetOwnershipRange(many->B, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < COLUMNS; j++)
      PetscCall(MatSetValue(many->B, i, j, PetscSinReal(1 + j + (3 + j) * i), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(many->B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(many->B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(many->B, MAT_DO_NOT_COPY_VALUES, &many->X));
  PetscCall(MatShift(many->X, 0)); /* it is assembled */
  PetscFunctionReturn(0);
}

static PetscErrorCode DropMany(Many *many)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&many->B));
  PetscCall(MatDestroy(&many->X));
  PetscFunctionReturn(0);
}

typedef PetscErrorCode (*SolveOne)(KSP, Vec, Vec);

/* The columns of X are the solutions by this solver, from this guess, up to `part` of them. */
static PetscErrorCode CompareColumns(KSP ksp, const Many *many, SolveOne solve, PetscReal guess,
                                     PetscReal part)
{
  Vec b, x, y;
  PetscReal norm, size;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(many->B, NULL, &y));
  for (PetscInt j = 0; j < COLUMNS; j++) {
    PetscCall(VecSet(y, guess));
    PetscCall(MatDenseGetColumnVecRead(many->B, j, &b));
    PetscCall(solve(ksp, b, y));
    PetscCall(MatDenseRestoreColumnVecRead(many->B, j, &b));
    PetscCall(VecNorm(y, NORM_2, &size));
    PetscCall(MatDenseGetColumnVecRead(many->X, j, &x));
    PetscCall(VecAXPY(y, -1, x));
    PetscCall(MatDenseRestoreColumnVecRead(many->X, j, &x));
    PetscCall(VecNorm(y, NORM_2, &norm));
    CHECK(size > 0 && norm <= part * size);
  }
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(0);
}

static PetscErrorCode Fill(Mat X, PetscReal value)
{
  PetscScalar *array;
  PetscInt n, lead;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(X, &n, NULL));
  PetscCall(MatDenseGetLDA(X, &lead));
  PetscCall(MatDenseGetArray(X, &array));
  for (PetscInt j = 0; j < COLUMNS; j++)
    for (PetscInt i = 0; i < n; i++) array[i + j * lead] = value;
  PetscCall(MatDenseRestoreArray(X, &array));
  PetscFunctionReturn(0);
}

/* All methods, with Poise's preconditioners and PETSc's, again with new values, and by two at a time. On many
   columns PETSc's own gamg ends in errors in 3.25 and 3.26. */
static PetscErrorCode Columns(void)
{
  static const struct {
    const char *method, *pc;
  } cases[] = {{"cg", "jacobi"},    {"cg", "gamg"},     {"gmres", "bjacobi"},   {"bcgs", "asm"},
               {"minres", "none"},  {"fgmres", "gamg"}, {"richardson", "sor"},  {"preonly", "jacobi"},
               {"preonly", "sor"},  {"preonly", "asm"}, {"preonly", "bjacobi"}, {"preonly", "redundant"},
               {"symmlq", "jacobi"}};
  PetscFunctionBegin;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    Problem p;
    Mat A;
    Many many;
    PetscInt norms[2] = {0, 0};
    PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
    PetscCall(MakeMany(A, &many));
    PetscCall(Begin(A, NULL, cases[c].method, cases[c].pc, &p));
    for (int round = 0; round < 3; round++) {
      if (round == 1) PetscCall(MatShift(A, 1));
      if (round == 2) PetscCall(KSPSetMatSolveBatchSize(p.poise, 2));
      PetscCall(KSPMatSolve(p.poise, many.B, many.X));
      PetscCall(KSPGetResidualHistory(p.poise, NULL, &norms[0]));
      if (c == 0) CHECK(p.poise->ops->matsolve); /* all columns at once */
      PetscCall(CompareColumns(p.poise, &many, KSPSolve, 0, 1e-10));
      PetscCall(KSPGetResidualHistory(p.poise, NULL, &norms[1])); /* of the last column */
      if (c == 0) CHECK(norms[0] > 1 && norms[0] == norms[1]);
      if (!HasLargerBlocks(cases[c].pc) || strcmp(cases[c].method, "preonly"))
        PetscCall(CompareColumns(p.petsc, &many, KSPSolve, 0, 1e-6));
    }
    PetscCall(End(&p));
    PetscCall(DropMany(&many));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* From a guess in X. */
static PetscErrorCode Guess(void)
{
  static const char *const methods[] = {"cg", "gmres"};
  PetscFunctionBegin;
  for (int c = 0; c < 2; c++) {
    Problem p;
    Mat A;
    Many many;
    PetscInt its[2];
    PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
    PetscCall(MakeMany(A, &many));
    PetscCall(Begin(A, NULL, methods[c], "jacobi", &p));
    PetscCall(KSPSetInitialGuessNonzero(p.poise, PETSC_TRUE));
    PetscCall(KSPSetTolerances(p.poise, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3));
    PetscCall(Fill(many.X, 0.3));
    PetscCall(KSPMatSolve(p.poise, many.B, many.X));
    PetscCall(CompareColumns(p.poise, &many, KSPSolve, 0.3, 1e-10));
    PetscCall(KSPSetTolerances(p.poise, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
    for (int k = 0; k < 2; k++) { /* from the solution */
      PetscCall(KSPMatSolve(p.poise, many.B, many.X));
      PetscCall(KSPGetIterationNumber(p.poise, &its[k]));
    }
    CHECK(its[0] > 0 && its[1] == 0);
    PetscCall(End(&p));
    PetscCall(DropMany(&many));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

static PetscBool fails;

static PetscErrorCode SetUpShell(PC pc)
{
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PCSetFailedReason(pc, fails && !rank ? PC_FACTOR_OTHER : PC_NOERROR));
  PetscFunctionReturn(0);
}

static PetscErrorCode Double(PC pc, Vec r, Vec z)
{
  (void)pc;
  PetscFunctionBegin;
  PetscCall(VecCopy(r, z));
  PetscCall(VecScale(z, 2));
  PetscFunctionReturn(0);
}

static PetscErrorCode ShellInCode(KSP ksp)
{
  PC pc;
  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetApply(pc, Double));
  PetscCall(PCShellSetSetUp(pc, SetUpShell));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscFunctionReturn(0);
}

/* PETSc's preconditioner alone. Its set-up fails on one rank, then works again. A null space is removed. */
static PetscErrorCode Alone(void)
{
  Problem p;
  Mat A;
  Many many;
  MatNullSpace space;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 4, 0.2, 0, &A));
  PetscCall(MakeMany(A, &many));
  PetscCall(BeginWith(A, NULL, NULL, ShellInCode, &p));
  for (int round = 0; round < 3; round++) {
    KSPConvergedReason reason[2];
    fails = round == 1 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MatShift(A, 1));
    PetscCall(KSPMatSolve(p.poise, many.B, many.X));
    PetscCall(KSPGetConvergedReason(p.poise, &reason[0]));
    if (!fails) PetscCall(CompareColumns(p.poise, &many, KSPSolve, 0, 1e-10));
    PetscCall(KSPSolve(p.poise, p.b, p.y));
    PetscCall(KSPGetConvergedReason(p.poise, &reason[1]));
    for (int k = 0; k < 2; k++) CHECK(reason[k] == (fails ? KSP_DIVERGED_PC_FAILED : KSP_CONVERGED_ITS));
  }
  SAYS(p.poise, "PETSc's, through a shell");
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &space));
  PetscCall(MatSetNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(KSPMatSolve(p.poise, many.B, many.X));
  PetscCall(CompareColumns(p.poise, &many, KSPSolve, 0, 1e-10));
  PetscCall(CompareColumns(p.petsc, &many, KSPSolve, 0, 1e-10));
  PetscCall(End(&p));
  PetscCall(DropMany(&many));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

#if PETSC_VERSION_GE(3, 19, 0)
static PetscErrorCode BlocksInCode(KSP ksp)
{
  PC pc;
  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBJACOBI));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscFunctionReturn(0);
}

/* A^T and A in turns, so that neither is taken for the other. */
static PetscErrorCode Transposed(void)
{
  static const struct {
    const char *method, *pc;
  } cases[] = {{"gmres", "jacobi"}, {"preonly", "jacobi"}, {"gmres", "bjacobi"}, {"preonly", "bjacobi"}};
  PetscFunctionBegin;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    Problem p;
    Mat A;
    Many many;
    PetscCall(MakeMat(MATAIJ, 4, 0.4, 0.1, &A));
    PetscCall(MakeMany(A, &many));
    if (c == 3)
      PetscCall(BeginWith(A, NULL, NULL, BlocksInCode, &p));
    else
      PetscCall(Begin(A, NULL, cases[c].method, cases[c].pc, &p));
    for (int round = 0; round < 2; round++) {
      PetscCall(KSPMatSolve(p.poise, many.B, many.X));
      PetscCall(CompareColumns(p.petsc, &many, KSPSolve, 0, 1e-6));
      PetscCall(KSPMatSolveTranspose(p.poise, many.B, many.X));
      PetscCall(CompareColumns(p.petsc, &many, KSPSolveTranspose, 0, 1e-6));
    }
    PetscCall(End(&p));
    PetscCall(DropMany(&many));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}
#endif

const Case of_many[] = {
    {"many columns", Columns},
    {"guesses of many", Guess},
    {"many by a PC", Alone},
#if PETSC_VERSION_GE(3, 19, 0)
    {"many transposed", Transposed},
#endif
    {NULL, NULL},
};

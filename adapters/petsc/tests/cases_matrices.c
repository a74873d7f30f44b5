/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of all types, and how their changes are seen. */
#include "test.h"

static PetscErrorCode SecondMatrix(void)
{
  Problem p;
  Mat A, B;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(MakeMat(MATAIJ, 5, 0, 0, &B)); /* by the same calls, so the states are equal */
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(KSPSetOperators(p.petsc, B, B));
  PetscCall(KSPSetOperators(p.poise, B, B));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(0);
}

static PetscErrorCode NewValues(void)
{
  static const char *const types[] = {MATAIJ, MATBAIJ};
  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    Problem p;
    Mat A;
    PetscCall(MakeMat(types[t], 3, 0.3, 0.1, &A));
    PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
    for (int step = 0; step < 3; step++) {
      PetscCall(Both(&p, PETSC_FALSE));
      SAYS(p.poise, ranks > 1 ? "matrix: one merged copy" : "matrix: PETSc's arrays in place");
      SAYS(p.poise, "Poise's own jacobi");
      PetscCall(MatShift(A, 1));
    }
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* MatAXPY replaces the arrays. */
static PetscErrorCode NewPattern(void)
{
  Problem p;
  Mat A, B;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
  PetscCall(MakeMat(MATAIJ, 1, 0, 0.2, &B));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  for (int step = 0; step < 3; step++) {
    PetscCall(MatAXPY(A, 1, B, DIFFERENT_NONZERO_PATTERN));
    PetscCall(Both(&p, PETSC_FALSE));
  }
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(0);
}

static PetscErrorCode Transposed(void)
{
  static const char *const pcs[] = {"jacobi", NULL, "bjacobi"};
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    Problem p;
    Mat A;
    PetscCall(MakeMat(MATAIJ, 3, 0.4, 0.1, &A));
    PetscCall(Begin(A, NULL, "gmres", pcs[k], &p));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(Both(&p, PETSC_TRUE));
    PetscCall(MatShift(A, 1));
    PetscCall(Both(&p, PETSC_TRUE));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode OtherP(void)
{
  Problem p;
  Mat A, P;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0.2, 0.1, &A));
  PetscCall(MakeMat(MATAIJ, 9, 0, 0, &P));
  static const char *const pcs[] = {"jacobi", "sor", "bjacobi"};
  for (int k = 0; k < 3; k++) {
    PetscCall(Begin(A, P, "gmres", pcs[k], &p));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "Poise's own");
    PetscCall(MatScale(P, 0.5));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(End(&p));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(0);
}

static PetscErrorCode Types(void)
{
  static const char *const types[] = {MATSBAIJ, MATSELL, MATDENSE};
  PetscFunctionBegin;
  for (int t = 0; t < 3; t++) {
    Problem p;
    Mat A;
    PetscCall(MakeMat(types[t], 3, 0, t ? 0.1 : 0, &A));
    PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "matrix: through MatMult");
    SAYS(p.poise, "PETSc's, through a shell");
    PetscCall(MatShift(A, 1));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Nested(void)
{
  Problem p;
  Mat A, B, parts[4] = {NULL};
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(MakeMat(MATAIJ, 5, 0, 0, &B));
  parts[0] = A;
  parts[3] = B;
  Mat nest;
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, parts, &nest));
  PetscCall(Begin(nest, NULL, "cg", NULL, &p));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&nest));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(0);
}

/* Rows whose columns do not ascend. */
static PetscErrorCode Unsorted(void)
{
  Problem p;
  PetscInt ptr[] = {0, 2, 5, 7}, col[] = {1, 0, 2, 0, 1, 2, 1};
  PetscScalar val[] = {-1, 4, -1, -1, 5, 6, -1};
  Mat A;
  PetscFunctionBegin;
  if (ranks > 1) PetscFunctionReturn(0);
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 3, 3, ptr, col, val, &A));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "do not ascend");
  val[1] = 7;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* b - A y, whatever the solver claims. */
static PetscErrorCode Solves(Problem *p)
{
  PetscReal norm, size;
  PetscFunctionBegin;
  PetscCall(KSPSolve(p->poise, p->b, p->y));
  PetscCall(MatMult(p->A, p->y, p->x));
  PetscCall(VecAXPY(p->x, -1, p->b));
  PetscCall(VecNorm(p->x, NORM_2, &norm));
  PetscCall(VecNorm(p->b, NORM_2, &size));
  CHECK(norm <= 1e-7 * size);
  PetscFunctionReturn(0);
}

/* All rows on the last rank. PETSc answers from what it has cached where the object state is unchanged, and
   waits for other ranks elsewhere. */
static PetscErrorCode EmptyRanks(void)
{
  static const char *const methods[] = {"cg", "gmres", "preonly"}, *const pcs[] = {"jacobi", "bjacobi",
                                                                                   "none"};
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  const PetscInt rows = rank == ranks - 1 ? N : 0;
  for (int k = 0; k < 9; k++) {
    Problem p;
    Mat A;
    PetscReal norm[2], most[2];
    PetscScalar product[2];
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, rows, rows, N, N, 3, NULL, 0, NULL, &A));
    for (PetscInt i = 0; i < rows; i++)
      for (PetscInt j = PetscMax(i - 1, 0); j < PetscMin(i + 2, N); j++)
        PetscCall(MatSetValue(A, i, j, i == j ? 3 + 0.1 * i : -1, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(Begin(A, NULL, methods[k / 3], pcs[k % 3], &p));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(VecAXPY(p.x, 1, p.y)); /* Both has left the difference */
    for (int i = 0; i < 2; i++) {
      PetscCall(VecNorm(i ? p.y : p.x, NORM_2, &norm[i]));
      PetscCall(VecMax(i ? p.y : p.x, NULL, &most[i]));
      PetscCall(VecDot(i ? p.y : p.x, p.b, &product[i]));
    }
    CHECK(norm[1] > 0 && PetscAbsReal(norm[0] - norm[1]) <= 1e-6 * norm[0]);
    CHECK(PetscAbsReal(most[0] - most[1]) <= 1e-6 * norm[0]);
    CHECK(PetscAbsScalar(product[0] - product[1]) <= 1e-6 * norm[0] * N);
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* The program changes the diagonal block of its matrix. */
static PetscErrorCode ChangedParts(void)
{
  static const char *const types[] = {MATAIJ, MATBAIJ};
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    Problem p;
    Mat A, block;
    PetscCall(MakeMat(types[k / 2], 3, 0, 0, &A));
    PetscCall(Begin(A, NULL, "cg", k % 2 ? "jacobi" : "none", &p));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(MatGetDiagonalBlock(A, &block));
    PetscCall(MatShift(block, 2));
    PetscCall(Solves(&p));
    if (k % 2 == 0) PetscCall(Both(&p, PETSC_FALSE)); /* PETSc's jacobi keeps the old values */
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* One rank alone says that its entries have changed. */
static PetscErrorCode UnequalStates(void)
{
  Problem p;
  Mat A;
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MakeMat(MATAIJ, 3, 0.2, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  if (!rank) PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode NullSpaces(void)
{
  Problem p;
  Mat A;
  MatNullSpace space;
  PetscInt begin, end;
  PetscFunctionBegin;
  for (int late = 0; late < 2; late++) {
    PetscCall(MakeMat(MATAIJ, 2, 0, 0, &A));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    for (PetscInt i = begin; i < end; i++)
      PetscCall(MatSetValue(A, i, i, i == 0 || i == N - 1 ? 1 : 2, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &space));
    if (!late) PetscCall(MatSetNullSpace(A, space));
    PetscCall(MatSetTransposeNullSpace(A, space));
    PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
    PetscCall(MatNullSpaceRemove(space, p.b));
    if (late) PetscCall(KSPSetUp(p.poise));
    if (late) PetscCall(MatSetNullSpace(A, space));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscScalar sum;
    PetscCall(VecSum(p.y, &sum));
    CHECK(PetscAbsScalar(sum) < 1e-8);
    PetscCall(End(&p));
    PetscCall(MatNullSpaceDestroy(&space));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

const Case of_matrices[] = {
    {"second matrix", SecondMatrix},
    {"new values", NewValues},
    {"new pattern", NewPattern},
    {"transposed", Transposed},
    {"another P", OtherP},
    {"types of matrices", Types},
    {"nested", Nested},
    {"unsorted", Unsorted},
    {"null spaces", NullSpaces},
    {"empty ranks", EmptyRanks},
    {"changed parts", ChangedParts},
    {"unequal states", UnequalStates},
    {NULL, NULL},
};

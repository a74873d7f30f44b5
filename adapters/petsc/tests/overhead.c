/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What does the plug-in cost beside a native call? One system, 5-point differences on a square, is solved by
  cg with jacobi: by KSPSolve of type poise, by PoiseKSPSolve on the same arrays, and by PETSc's own cg. The
  three take turns; pairs of neighbours are compared, and the median is told.

    overhead libpoise_petsc.so [points on a side] [turns] [changes of values: 0 or 1]
*/
#include <petscksp.h>
#include <petsc/private/petscimpl.h>
#include <petsctime.h>
#include <poise.h>

enum { MOST = 1000 };

static int Ascending(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double Median(int n, const double *values)
{
  double sorted[MOST];
  memcpy(sorted, values, (size_t)n * sizeof *values);
  qsort(sorted, (size_t)n, sizeof *sorted, Ascending);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static PetscErrorCode MakeMat(PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n * n, n * n, 5, NULL, A));
  for (PetscInt i = 0; i < n * n; i++) {
    const PetscInt x = i % n, y = i / n;
    if (y) PetscCall(MatSetValue(*A, i, i - n, -1, INSERT_VALUES));
    if (x) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i, 4.01, INSERT_VALUES));
    if (x + 1 < n) PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES));
    if (y + 1 < n) PetscCall(MatSetValue(*A, i, i + n, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode MakeKSP(Mat A, const char *prefix, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

typedef struct Native {
  PoiseContext ctx;
  PoiseMat A;
  PoiseKSP ksp;
  double *b, *x, *val;
  PoiseInt n;
} Native;

static PoiseErr MakeNative(const PetscInt *ptr, const PetscInt *col, Native *s)
{
  const PoiseInit init = {.serial = 1};
  const PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = s->val};
  PoisePC pc;
  POISE_TRY(PoiseInitialize(NULL, NULL, &init, &s->ctx));
  POISE_TRY(PoiseMatCreateCSR(s->ctx, s->n, s->n, s->n, s->n, &csr, POISE_BORROW, &s->A));
  POISE_TRY(PoiseKSPCreate(s->ctx, &s->ksp));
  POISE_TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  POISE_TRY(PoiseKSPSetType(s->ksp, "cg"));
  POISE_TRY(PoiseKSPGetPC(s->ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoiseKSPSetTolerances(s->ksp, 1e-8, -1, -1, -1));
  return POISE_OK;
}

/* As a program does that has arrays: vectors are made of them for each solve. */
static PoiseErr SolveNative(const Native *s, int changes)
{
  PoiseVec b, x;
  if (changes) POISE_TRY(PoiseMatSetValuesCSR(s->A, s->val));
  POISE_TRY(PoiseVecCreateArray(s->ctx, s->n, s->n, s->b, POISE_BORROW, &b));
  POISE_TRY(PoiseVecCreateArray(s->ctx, s->n, s->n, s->x, POISE_BORROW, &x));
  POISE_TRY(PoiseKSPSolve(s->ksp, b, x));
  POISE_TRY(PoiseVecDestroy(&b));
  return PoiseVecDestroy(&x);
}

static PoiseErr DropNative(Native *s)
{
  POISE_TRY(PoiseKSPDestroy(&s->ksp));
  POISE_TRY(PoiseMatDestroy(&s->A));
  return PoiseFinalize(&s->ctx);
}

int main(int argc, char **argv)
{
  char plugin[512];
  char *words[] = {argv[0],  "-dll_append", plugin,   "-a_ksp_type", "poise", "-a_poise_ksp_type",
                   "cg",     "-a_pc_type",  "jacobi", "-b_ksp_type", "cg",    "-b_pc_type",
                   "jacobi", NULL},
       **arguments = words;
  int count = 13;
  const PetscInt n = argc > 2 ? atoi(argv[2]) : 320;
  const int turns = argc > 3 ? atoi(argv[3]) : 41, changes = argc > 4 ? atoi(argv[4]) : 0;
  double t[3][MOST], over[2][MOST];
  KSP ksp[2];
  Mat A;
  Vec b, x;
  Native s = {.n = (PoiseInt)n * n};
  if (argc < 2 || turns < 1 || turns > MOST) return 2;
  snprintf(plugin, sizeof plugin, "%s", argv[1]);
  PetscCall(PetscInitialize(&count, &arguments, NULL, NULL));
  PetscCall(MakeMat(n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (int k = 0; k < 2; k++) PetscCall(MakeKSP(A, k ? "b_" : "a_", &ksp[k]));
  const PetscInt *ptr, *col;
  PetscBool done;
  PetscInt rows;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ptr, &col, &done));
  PetscScalar *values;
  PetscCall(MatSeqAIJGetArray(A, &values));
  s.val = values;
  PetscCall(VecGetArray(b, &s.b));
  PetscCall(PetscMalloc1(n * n, &s.x));
  PetscCheck(!MakeNative(ptr, col, &s), PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", PoiseErrorText());
  PetscCall(MatSeqAIJRestoreArray(A, &values));
  for (int turn = -2; turn < turns; turn++) {
    const int k = turn < 0 ? 0 : turn;
    for (int j = 0; j < 3; j++) {
      const int who = (j + k) % 3;
      PetscLogDouble begin, end;
      if (changes) PetscCall(PetscObjectStateIncrease((PetscObject)A));
      PetscCall(PetscTime(&begin));
      if (who == 2)
        PetscCheck(!SolveNative(&s, changes), PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", PoiseErrorText());
      else
        PetscCall(KSPSolve(ksp[who], b, x));
      PetscCall(PetscTime(&end));
      t[who][k] = end - begin;
    }
    over[0][k] = 100 * (t[0][k] / t[2][k] - 1);
    over[1][k] = t[1][k] / t[0][k];
  }
  PetscInt its[2];
  for (int k = 0; k < 2; k++) PetscCall(KSPGetIterationNumber(ksp[k], &its[k]));
  printf("unknowns %d, turns %d, new values in each turn: %s\n", (int)(n * n), turns, changes ? "yes" : "no");
  printf("%-22s %10s %11s\n", "who", "iterations", "ms (median)");
  printf("%-22s %10d %11.2f\n", "KSPSolve, poise", (int)its[0], 1e3 * Median(turns, t[0]));
  printf("%-22s %10d %11.2f\n", "PoiseKSPSolve", (int)PoiseKSPIterations(s.ksp), 1e3 * Median(turns, t[2]));
  printf("%-22s %10d %11.2f\n", "KSPSolve, PETSc's cg", (int)its[1], 1e3 * Median(turns, t[1]));
  printf("plug-in over native, median of pairs: %.2f %%\n", Median(turns, over[0]));
  printf("PETSc's over plug-in, median of pairs: %.2f\n", Median(turns, over[1]));
  PetscCheck(!DropNative(&s), PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", PoiseErrorText());
  PetscCall(VecRestoreArray(b, &s.b));
  PetscCall(PetscFree(s.x));
  for (int k = 0; k < 2; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ptr, &col, &done));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

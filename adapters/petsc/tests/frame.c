/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of the cases: see test.h. */
#include <unistd.h>

#include "test.h"

PetscErrorCode MakeMatOn(MPI_Comm comm, const char *type, PetscReal diagonal, PetscReal skew, PetscReal far,
                         Mat *A)
{
  PetscInt begin, end;
  PetscFunctionBegin;
  if (gpu && !strcmp(type, MATAIJ)) type = MATAIJCUSPARSE;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetBlockSize(*A, 2));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  if (!strcmp(type, MATSBAIJ)) PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    if (i) PetscCall(MatSetValue(*A, i, i - 1, -1 - skew, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i, diagonal + 0.01 * (PetscReal)i, INSERT_VALUES));
    if (i + 1 < N) PetscCall(MatSetValue(*A, i, i + 1, -1 + skew, INSERT_VALUES));
    if (far != 0) PetscCall(MatSetValue(*A, i, (i + N / 2) % N, far, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

PetscErrorCode MakeMat(const char *type, PetscReal diagonal, PetscReal skew, PetscReal far, Mat *A)
{
  return MakeMatOn(PETSC_COMM_WORLD, type, diagonal, skew, far, A);
}

static PetscErrorCode MakeSolver(const Problem *p, const char *prefix, Prepare prepare, PetscBool none,
                                 KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, p->A, p->P));
  PetscCall(KSPSetTolerances(*ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetResidualHistory(*ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  if (none) {
    PC c;
    PetscCall(KSPGetPC(*ksp, &c));
    PetscCall(PCSetType(c, PCNONE));
  }
  if (prepare) PetscCall(prepare(*ksp));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Make(Mat A, Mat P, const char *method, const char *pc, Prepare prepare, Problem *p)
{
  char options[256];
  PetscInt begin, end;
  PetscFunctionBegin;
  *p = (Problem){.A = A, .P = P ? P : A};
  PetscCall(MatCreateVecs(A, &p->x, &p->b));
  PetscCall(VecDuplicate(p->x, &p->y));
  PetscCall(VecGetOwnershipRange(p->b, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    PetscCall(VecSetValue(p->b, i, PetscSinReal(1 + 3 * i), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(p->b));
  PetscCall(VecAssemblyEnd(p->b));
  PetscCall(PetscOptionsInsertString(NULL, "-b_ksp_type poise"));
  if (method) {
    PetscCall(PetscSNPrintf(options, sizeof options, "-a_ksp_type %s -b_poise_ksp_type %s", method, method));
    PetscCall(PetscOptionsInsertString(NULL, options));
  }
  if (pc) {
    PetscCall(PetscSNPrintf(options, sizeof options, "-a_pc_type %s -b_pc_type %s", pc, pc));
    PetscCall(PetscOptionsInsertString(NULL, options));
  }
  PetscCall(MakeSolver(p, "a_", prepare, !pc, &p->petsc));
  PetscCall(MakeSolver(p, "b_", prepare, !pc, &p->poise));
  PetscFunctionReturn(0);
}

PetscErrorCode Begin(Mat A, Mat P, const char *method, const char *pc, Problem *p)
{
  return Make(A, P, method, pc, NULL, p);
}

PetscErrorCode BeginWith(Mat A, const char *method, const char *pc, Prepare prepare, Problem *p)
{
  return Make(A, NULL, method, pc, prepare, p);
}

static PetscErrorCode Clear(void)
{
  PetscFunctionBegin;
  static const char *const keys[] = {"-a_ksp_type",
                                     "-b_ksp_type",
                                     "-b_poise_ksp_type",
                                     "-a_pc_type",
                                     "-b_pc_type",
                                     "-b_poise_pc_type",
                                     "-b_poise_pc_gamg",
                                     "-b_poise_pc_mg",
                                     "-a_sub_pc_type",
                                     "-b_sub_pc_type",
                                     "-b_poise_ksp_rtol",
                                     "-b_poise_strict",
                                     NULL};
  for (int i = 0; keys[i]; i++) PetscCall(PetscOptionsClearValue(NULL, keys[i]));
  PetscFunctionReturn(0);
}

PetscErrorCode End(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(&p->petsc));
  PetscCall(KSPDestroy(&p->poise));
  PetscCall(VecDestroy(&p->x));
  PetscCall(VecDestroy(&p->y));
  PetscCall(VecDestroy(&p->b));
  PetscCall(Clear());
  PetscFunctionReturn(0);
}

PetscBool HasLargerBlocks(const char *pc)
{
  return shared && ranks > 1 && (!strcmp(pc, "bjacobi") || !strcmp(pc, "sor")) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode Both(Problem *p, PetscBool transposed)
{
  PCType pc;
  KSPConvergedReason r[2];
  PetscInt its[2], n[2];
  const PetscReal *h[2];
  PetscReal norm, size;
  PetscFunctionBegin;
  PetscCall((transposed ? KSPSolveTranspose : KSPSolve)(p->petsc, p->b, p->x));
  PetscCall((transposed ? KSPSolveTranspose : KSPSolve)(p->poise, p->b, p->y));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPGetConvergedReason(k ? p->poise : p->petsc, &r[k]));
    PetscCall(KSPGetIterationNumber(k ? p->poise : p->petsc, &its[k]));
    PetscCall(KSPGetResidualHistory(k ? p->poise : p->petsc, &h[k], &n[k]));
  }
  PetscCall(PCGetType(PCOf(p, 1), &pc));
  CHECK(r[0] == r[1]);
  if (HasLargerBlocks(pc)) {
    CHECK(its[0] >= its[1]);
    PetscCall(VecAXPY(p->x, -1, p->y));
    PetscFunctionReturn(0);
  }
  CHECK(its[0] == its[1]);
  if (r[0] != r[1] || its[0] != its[1])
    fprintf(stderr, "  reasons %s %s, iterations %d %d\n", KSPConvergedReasons[r[0]],
            KSPConvergedReasons[r[1]], its[0], its[1]);
  for (PetscInt i = 0; i < PetscMin(n[0], n[1]) && h[0][0] > 0; i++)
    CHECK(PetscAbsReal(h[0][i] - h[1][i]) <= 1e-6 * h[0][i] + 1e-9 * h[0][0]);
  PetscCall(VecNorm(p->x, NORM_2, &size));
  PetscCall(VecAXPY(p->x, -1, p->y));
  PetscCall(VecNorm(p->x, NORM_2, &norm));
  CHECK(norm <= 1e-6 * size);
  PetscFunctionReturn(0);
}

PetscErrorCode Says(KSP ksp, const char *words, PetscBool *says)
{
  char name[] = "/tmp/poise_petsc_view_XXXXXX", text[1 << 14];
  PetscViewer viewer;
  PetscMPIInt rank;
  int fd = -1, found = 0;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) fd = mkstemp(name);
  PetscCallMPI(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name, &viewer));
  PetscCall(KSPView(ksp, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (!rank) {
    const ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    found = strstr(text, words) != NULL;
    close(fd);
    unlink(name);
  }
  PetscCallMPI(MPI_Bcast(&found, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  *says = found ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

PC PCOf(const Problem *p, int k)
{
  PC pc = NULL;
  if (KSPGetPC(k ? p->poise : p->petsc, &pc)) failures++;
  return pc;
}

PetscErrorCode SetBoth(const char *key, const char *value, PetscBool clear)
{
  char name[128];
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s_%s", k ? "b" : "a", key));
    if (clear)
      PetscCall(PetscOptionsClearValue(NULL, name));
    else
      PetscCall(PetscOptionsSetValue(NULL, name, value));
  }
  PetscFunctionReturn(0);
}

PetscBool IsOfOneRank(const char *pc)
{
  return !strcmp(pc, "ilu") || !strcmp(pc, "icc") || !strcmp(pc, "lu") ? PETSC_TRUE : PETSC_FALSE;
}

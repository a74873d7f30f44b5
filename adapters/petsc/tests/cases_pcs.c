/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners: Poise's own and PETSc's. */
#include "test.h"

static PetscErrorCode SolutionsAgree(Problem *p)
{
  PetscReal norm, size;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(KSPSolve(p->petsc, p->b, p->x));
  PetscCall(KSPSolve(p->poise, p->b, p->y));
  PetscCall(KSPGetConvergedReason(p->poise, &reason));
  CHECK(reason == KSP_CONVERGED_RTOL);
  PetscCall(VecNorm(p->x, NORM_2, &size));
  PetscCall(VecAXPY(p->x, -1, p->y));
  PetscCall(VecNorm(p->x, NORM_2, &norm));
  CHECK(size > 0 && norm <= 1e-6 * size);
  PetscFunctionReturn(0);
}

/* PETSc 3.20 to 3.25 keep the inverse blocks of a baij matrix when its values change, 3.25 of aij too. */
static PetscBool IsStale(const char *pc, int blocks)
{
  const PetscBool point = strcmp(pc, "pbjacobi") ? PETSC_FALSE : PETSC_TRUE, sor = !strcmp(pc, "sor");
  if (PETSC_VERSION_LT(3, 20, 0) || PETSC_VERSION_GE(3, 26, 0)) return PETSC_FALSE;
  return blocks ? point || sor : point && PETSC_VERSION_GE(3, 25, 0);
}

static PetscErrorCode OwnPCs(void)
{
  static const char *const pcs[] = {"none", "jacobi", "pbjacobi", "bjacobi", "sor", "ilu", "icc", "lu"};
  PetscFunctionBegin;
  for (int k = 0; k < (ranks > 1 ? 5 : 8); k++) {
    for (int blocks = 0; blocks < 2; blocks++) {
      Problem p;
      Mat A;
      char words[64];
      if (blocks && !strcmp(pcs[k], "icc")) continue; /* PETSc's of baij is of the whole matrix */
      PetscCall(MakeMat(blocks ? MATBAIJ : MATAIJ, 3, 0, 0, &A));
      PetscCall(Begin(A, NULL, "gmres", pcs[k], &p));
      PetscCall(Both(&p, PETSC_FALSE));
      PetscCall(PetscSNPrintf(words, sizeof words, "Poise's own %s", pcs[k]));
      SAYS(p.poise, words);
      if (strcmp(pcs[k], "none")) SAYS(p.poise, "not built: Poise's own works");
      PetscCall(MatShift(A, 1));
      if (IsStale(pcs[k], blocks))
        PetscCall(SolutionsAgree(&p));
      else
        PetscCall(Both(&p, PETSC_FALSE));
      PetscCall(End(&p));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Halve(PC pc, Vec r, Vec z)
{
  (void)pc;
  PetscFunctionBegin;
  PetscCall(VecCopy(r, z));
  PetscCall(VecScale(z, 0.5));
  PetscFunctionReturn(0);
}

static PetscErrorCode PetscPCs(void)
{
  static const char *const pcs[] = {"asm", "gamg", "ksp"};
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  for (int k = 0; k < 3; k++) {
    PetscCall(Begin(A, NULL, k == 2 ? "fgmres" : "gmres", pcs[k], &p));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "PETSc's, through a shell (Poise has none of this type)");
    PetscCall(End(&p));
  }
  PetscCall(Begin(A, NULL, "gmres", NULL, &p));
  for (int k = 0; k < 2; k++) {
    PC pc;
    PetscCall(KSPGetPC(k ? p.poise : p.petsc, &pc));
    PetscCall(PCSetType(pc, PCSHELL));
    PetscCall(PCShellSetApply(pc, Halve));
  }
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "PETSc's, through a shell");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetGAMG(KSP ksp)
{
  PC pc;
  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscFunctionReturn(0);
}

/* Poise's amg in place of PETSc's gamg, whether an option or code has set that. */
static PetscErrorCode NativeGAMG(void)
{
  static const char *const words[] = {"Poise's own amg, for gamg", "not built: Poise's own works",
                                      "KSP poise"};
  Problem p;
  Mat A;
  PetscErrorCode e;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  for (int in_code = 0; in_code < 2; in_code++) {
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_gamg", "native"));
    PetscCall(BeginWith(A, "gmres", in_code ? NULL : "gamg", in_code ? SetGAMG : NULL, &p));
    for (int round = 0; round < 2; round++) {
      if (round) PetscCall(MatShift(A, 1));
      PetscCall(SolutionsAgree(&p));
      for (int k = 0; k < 2; k++) SAYS(p.poise, words[k]);
    }
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_gamg", "petsc"));
    PetscCall(KSPSetFromOptions(p.poise));
    PetscCall(SolutionsAgree(&p));
    SAYS(p.poise, "PETSc's, through a shell");
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_gamg", "nonsense"));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    e = KSPSetFromOptions(p.poise);
    PetscCall(PetscPopErrorHandler());
    CHECK(e == PETSC_ERR_USER_INPUT);
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_gamg", "native"));
    PetscCall(KSPSetFromOptions(p.poise));
    PetscCall(SolutionsAgree(&p));
    SAYS(p.poise, "Poise's own amg, for gamg");
    for (int k = 0; k < 2; k++) PetscCall(PCSetType(PCOf(&p, k), PCJACOBI));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "PETSc's, through a shell (the program has set it in code)");
    PetscCall(End(&p));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Of 30 nodes in the plane: the rigid motions are Poise's too. */
static PetscErrorCode Coordinates(void)
{
  Problem p;
  Mat A;
  PetscInt begin, end;
  PetscReal x[N];
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_gamg", "native"));
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) x[i - begin] = PetscSinReal(i);
  PetscCall(Begin(A, NULL, "gmres", "gamg", &p));
  for (int k = 0; k < 2; k++) PetscCall(PCSetCoordinates(PCOf(&p, k), 2, (end - begin) / 2, x));
  PetscCall(SolutionsAgree(&p));
  SAYS(p.poise, "Poise's own amg, for gamg");
  SAYS(p.poise, "near-null space of 3 vectors");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Poise's own refuses what PETSc's does: a block on several ranks, if these do not solve as one. PETSc's CUDA
   matrices cannot do it. */
static PetscErrorCode Fallback(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  if (ranks == 1 || shared || gpu) PetscFunctionReturn(0);
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-a_pc_bjacobi_blocks 1 -b_pc_bjacobi_blocks 1"));
  PetscCall(PetscOptionsInsertString(NULL, "-a_sub_pc_type jacobi -b_sub_pc_type jacobi"));
  PetscCall(Begin(A, NULL, "gmres", "bjacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "a block does not span ranks");
  PetscCall(PetscOptionsClearValue(NULL, "-a_pc_bjacobi_blocks"));
  PetscCall(PetscOptionsClearValue(NULL, "-b_pc_bjacobi_blocks"));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A PC that was lent goes on by itself when the solver is gone. */
static PetscErrorCode PCAfterwards(void)
{
  Problem p;
  Mat A;
  PC pc;
  PetscReal norm;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(KSPGetPC(p.poise, &pc));
  PetscCall(PetscObjectReference((PetscObject)pc));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(PCApply(pc, p.b, p.x)); /* Poise's */
  PetscCall(KSPSetType(p.poise, KSPCG));
  PetscCall(PCApply(pc, p.b, p.y)); /* PETSc's */
  PetscCall(VecAXPY(p.x, -1, p.y));
  PetscCall(VecNorm(p.x, NORM_2, &norm));
  CHECK(norm < 1e-14);
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(PCDestroy(&pc));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode FailedSetUp(void)
{
  Problem p;
  Mat A;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  if (ranks > 1) PetscFunctionReturn(0); /* PETSc's lu is of one rank */
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "lu", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(MatZeroEntries(A));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(KSPGetConvergedReason(p.poise, &reason));
  CHECK(reason == KSP_DIVERGED_PC_FAILED);
  PetscCall(MatShift(A, 2));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(KSPGetConvergedReason(p.poise, &reason));
  CHECK(reason > 0);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* PETSc's takes a symmetric matrix that is not definite; Poise's, asked for by name, has no pivots for it. */
static PetscErrorCode Cholesky(void)
{
  Problem p;
  Mat A;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  if (ranks > 1) PetscFunctionReturn(0); /* PETSc's is of one rank */
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(Begin(A, NULL, "cg", "cholesky", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(Both(&p, PETSC_TRUE));
  SAYS(p.poise, "Poise's own cholesky");
  PetscCall(MatShift(A, -2.5));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "PETSc's, through a shell");
  PetscCall(End(&p));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_pc_type cholesky"));
  PetscCall(Begin(A, NULL, "gmres", "cholesky", &p));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(KSPGetConvergedReason(p.poise, &reason));
  CHECK(reason == KSP_DIVERGED_PC_FAILED);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* -pc_type poise in a method of PETSc. */
static PetscErrorCode PoisePCs(void)
{
  static const char *const types[] = {"jacobi", "ilu", "icc"};
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    Problem p;
    Mat A;
    char options[64];
    PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
    PetscCall(PetscSNPrintf(options, sizeof options, "-b_poise_pc_type %s", types[k]));
    PetscCall(PetscOptionsInsertString(NULL, options));
    if (k == 1) PetscCall(PetscOptionsInsertString(NULL, "-a_sub_pc_type ilu"));
    if (k == 2) PetscCall(PetscOptionsInsertString(NULL, "-a_sub_pc_type icc"));
    PetscCall(Begin(A, NULL, "cg", k ? "bjacobi" : "jacobi", &p));
    PetscCall(PetscOptionsInsertString(NULL, "-b_pc_type poise -b_ksp_type cg"));
    PetscCall(KSPSetFromOptions(p.poise));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "type: poise");
    PetscCall(MatShift(A, 1));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* ---- what the program sets in code ----------------------------------------------------------- */

/* Another type, and back, after the options: PETSc's own works from there on. */
static PetscErrorCode TypeInCode(void)
{
  PetscFunctionBegin;
  for (int early = 0; early < 2; early++) {
    Problem p;
    Mat A;
    PetscCall(MakeMat(MATAIJ, 3, 0.1, 0, &A));
    PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
    if (!early) PetscCall(Both(&p, PETSC_FALSE));
    for (int k = 0; k < 2; k++) PetscCall(PCSetType(PCOf(&p, k), PCSOR));
    if (!early) {
      PetscCall(Both(&p, PETSC_FALSE));
      SAYS(p.poise, "PETSc's, through a shell (the program has set it in code)");
    }
    for (int k = 0; k < 2; k++) PetscCall(PCSetType(PCOf(&p, k), PCJACOBI));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "PETSc's, through a shell (the program has set it in code)");
    for (int k = 0; k < 2; k++) PetscCall(KSPSetFromOptions(k ? p.poise : p.petsc));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "Poise's own jacobi");
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* A PC of the program's own, after the options. */
static PetscErrorCode PCInCode(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < 2; k++) {
      PC pc;
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
      PetscCall(PCSetType(pc, round ? PCJACOBI : PCSHELL));
      if (!round) PetscCall(PCShellSetApply(pc, Halve));
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(KSPSetPC(k ? p.poise : p.petsc, pc));
      PetscCall(PCDestroy(&pc));
    }
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "PETSc's, through a shell (the program has set it in code)");
  }
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- rows of zeros --------------------------------------------------------------------------- */

/* A row of zeros ends the set-up of both. When it is mended, poise goes on. */
static PetscErrorCode ZeroRow(void)
{
  static const char *const pcs[] = {"bjacobi", "pbjacobi", "ilu"};
  PetscFunctionBegin;
  for (int k = 0; k < (ranks > 1 ? 2 : 3); k++) {
    Problem p;
    Mat A;
    KSPConvergedReason reason[2];
    const PetscInt row = 5;
    PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
    PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    PetscCall(MatZeroRows(A, 1, &row, 0, NULL, NULL));
    PetscCall(Begin(A, NULL, "gmres", pcs[k], &p));
    PetscCall(KSPSolve(p.petsc, p.b, p.x));
    PetscCall(KSPSolve(p.poise, p.b, p.y));
    PetscCall(KSPGetConvergedReason(p.petsc, &reason[0]));
    PetscCall(KSPGetConvergedReason(p.poise, &reason[1]));
    CHECK(gpu || reason[0] == KSP_DIVERGED_PC_FAILED); /* factors by cuSPARSE do not tell */
    CHECK(reason[1] == KSP_DIVERGED_PC_FAILED);
    PetscCall(MatShift(A, 1));
    PetscCall(KSPSolve(p.poise, p.b, p.y));
    PetscCall(KSPGetConvergedReason(p.poise, &reason[1]));
    CHECK(reason[1] == KSP_CONVERGED_RTOL);
    SAYS(p.poise, "Poise's own");
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* PETSc's icc reads one triangle, whatever the other has. */
static PetscErrorCode Unmirrored(void)
{
  static const char *const pcs[] = {"bjacobi", "icc"};
  PetscFunctionBegin;
  for (int k = 0; k < (ranks > 1 ? 1 : 2); k++) {
    Problem p;
    Mat A;
    PetscInt begin, end;
    PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    PetscCall(MatSetValue(A, begin, begin + 7, -0.5, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    if (!k) PetscCall(SetBoth("sub_pc_type", "icc", PETSC_FALSE));
    PetscCall(Begin(A, NULL, "gmres", pcs[k], &p));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "PETSc's, through a shell");
    PetscCall(SetBoth("sub_pc_type", NULL, PETSC_TRUE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* A zero of the diagonal counts as 1 in PETSc's jacobi, so in Poise's inside PETSc. */
static PetscErrorCode ZeroDiagonal(void)
{
  static const char *const types[] = {MATAIJ, MATBAIJ};
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    Problem p;
    Mat A;
    PetscInt begin, end;
    PetscCall(MakeMat(types[k % 2], 3, 0, 0, &A));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    if (begin <= 5 && end > 5) PetscCall(MatSetValue(A, 5, 5, 0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    if (k > 1) PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_type", "jacobi"));
    PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "Poise's own jacobi");
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

const Case of_pcs[] = {
    {"own PCs", OwnPCs},          {"PETSc's PCs", PetscPCs},       {"native gamg", NativeGAMG},
    {"coordinates", Coordinates}, {"PC afterwards", PCAfterwards}, {"failed set-up", FailedSetUp},
    {"cholesky", Cholesky},       {"PC poise", PoisePCs},          {"fallback", Fallback},
    {"type in code", TypeInCode}, {"PC in code", PCInCode},        {"row of zeros", ZeroRow},
    {"unmirrored", Unmirrored},   {"zero diagonal", ZeroDiagonal}, {NULL, NULL},
};

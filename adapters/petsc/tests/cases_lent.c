/* SPDX-License-Identifier: BSD-3-Clause */
/* PCs of PETSc that Poise's stand for: their settings, and what a program does with them beside the
   solver. */
#include "test.h"

/* ---- settings -------------------------------------------------------------------------------- */

static PetscErrorCode Omega(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCSORSetOmega(pc, 1.4));
  PetscCall(PCSORSetIterations(pc, 2, 2));
  PetscFunctionReturn(0);
}

static PetscErrorCode Backward(PC pc)
{
  return PCSORSetSymmetric(pc, SOR_LOCAL_BACKWARD_SWEEP);
}

static PetscErrorCode RowSum(PC pc)
{
  return PCJacobiSetType(pc, PC_JACOBI_ROWSUM);
}

static PetscErrorCode UseAbs(PC pc)
{
  return PCJacobiSetUseAbs(pc, PETSC_TRUE);
}

static PetscErrorCode FixNone(PC pc)
{
  return PCJacobiSetFixDiagonal(pc, PETSC_FALSE);
}

static PetscErrorCode Levels(PC pc)
{
  return PCFactorSetLevels(pc, 2);
}

static PetscErrorCode DiagonalFill(PC pc)
{
  return PCFactorSetAllowDiagonalFill(pc, PETSC_TRUE);
}

static PetscErrorCode Shift(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  PetscCall(PCFactorSetShiftAmount(pc, 0.5));
  PetscCall(PCFactorSetZeroPivot(pc, 0.9));
  PetscFunctionReturn(0);
}

static PetscErrorCode Reorder(PC pc)
{
  return PCFactorSetMatOrderingType(pc, MATORDERINGRCM);
}

static PetscErrorCode Natural(PC pc)
{
  return PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL);
}

static PetscErrorCode Along(PC pc)
{
  return PCFactorReorderForNonzeroDiagonal(pc, 1e-3);
}

static PetscErrorCode NoPivots(PC pc)
{
  return PCFactorSetPivotInBlocks(pc, PETSC_FALSE);
}

static PetscErrorCode Blocks(PC pc)
{
  return PCBJacobiSetTotalBlocks(pc, 2 * ranks, NULL);
}

static PetscErrorCode LocalBlocks(PC pc)
{
  return PCBJacobiSetLocalBlocks(pc, 3, NULL);
}

static PetscErrorCode SizedBlocks(PC pc)
{
  Mat A;
  PetscInt rows;
  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  const PetscInt sizes[] = {4, rows - 4};
  PetscCall(PCBJacobiSetLocalBlocks(pc, 2, sizes));
  PetscFunctionReturn(0);
}

static const struct {
  const char *pc;
  PetscErrorCode (*set)(PC);
  int moments; /* 2: PETSc refuses it after set-up */
  const char *words;
} settings[] = {
    {"sor", Omega, 3, "Poise's own sor"},
    {"sor", Backward, 3, "Poise's own sor"},
    {"jacobi", RowSum, 3, "PETSc's, through a shell (Poise's jacobi takes the diagonal as it is)"},
    {"jacobi", UseAbs, 3, "PETSc's, through a shell"},
    {"jacobi", FixNone, 3, "Poise's own jacobi"},
    {"ilu", Levels, 3, "Poise's own ilu"},
    {"icc", Levels, 3, "Poise's own icc"},
    {"ilu", DiagonalFill, 3, "PETSc's, through a shell (Poise's factors have no such fill)"},
    {"ilu", Shift, 3, "Poise's own ilu"},
    {"ilu", Reorder, 2, "PETSc's, through a shell (Poise's factors have the matrix's own order)"},
    {"ilu", Natural, 2, "Poise's own ilu"},
    {"ilu", Along, 2, "PETSc's, through a shell"},
    {"ilu", NoPivots, 2, "PETSc's, through a shell"},
    {"lu", Reorder, 2, "Poise's own lu"},
    {"bjacobi", Blocks, 2, "Poise's own bjacobi"},
    {"bjacobi", LocalBlocks, 2, "Poise's own bjacobi"},
    {"bjacobi", SizedBlocks, 2, "PETSc's, through a shell (the sizes of the blocks are given)"},
};

/* Settings of the PC that the options name: before the options (0), after them (1), after a solve (2). */
static PetscErrorCode SettingsInCode(void)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    if (IsOfOneRank(settings[i].pc) && ranks > 1) continue;
    for (int when = 0; when < settings[i].moments; when++) {
      Problem p;
      Mat A;
      const int before = failures;
      PetscCall(MakeMat(MATAIJ, 3, 0, 0.3, &A));
      PetscCall(Begin(A, NULL, "gmres", settings[i].pc, &p));
      if (when == 2) {
        PetscCall(Both(&p, PETSC_FALSE));
        SAYS(p.poise, "Poise's own");
      }
      for (int k = 0; k < 2; k++) PetscCall(settings[i].set(PCOf(&p, k)));
      for (int k = 0; k < 2 && !when; k++) PetscCall(KSPSetFromOptions(k ? p.poise : p.petsc));
      if (when == 2) PetscCall(MatShift(A, 0.1)); /* PETSc's builds again */
      PetscCall(Both(&p, PETSC_FALSE));
      SAYS(p.poise, settings[i].words);
      if (failures > before) fprintf(stderr, "  setting %d of %s, moment %d\n", (int)i, settings[i].pc, when);
      PetscCall(End(&p));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(0);
}

/* The same by options, also for the solvers in blocks, which PETSc makes in its set-up. */
static PetscErrorCode SettingsByOption(void)
{
  static const struct {
    const char *pc, *keys[2], *values[2], *words;
  } cases[] = {
      {"sor", {"pc_sor_omega", "pc_sor_local_forward"}, {"1.3", NULL}, "Poise's own sor"},
      {"sor", {"pc_sor_diagonal_shift"}, {"0.5"}, "PETSc's, through a shell"},
      {"ilu", {"pc_factor_mat_ordering_type"}, {"natural"}, "Poise's own ilu"},
      {"ilu", {"pc_factor_levels"}, {"1"}, "Poise's own ilu"},
      {"ilu", {"pc_factor_nonzeros_along_diagonal"}, {NULL}, "PETSc's, through a shell"},
      {"bjacobi", {"sub_pc_type", "sub_pc_sor_omega"}, {"sor", "1.3"}, "Poise's own bjacobi"},
      {"bjacobi", {"sub_pc_type", "pc_bjacobi_local_blocks"}, {"icc", "2"}, "Poise's own bjacobi"},
      {"bjacobi", {"sub_pc_factor_levels"}, {"2"}, "Poise's own bjacobi"},
      {"bjacobi", {"sub_pc_factor_diagonal_fill"}, {NULL}, "through a shell (Poise's factors have no such"},
      {"bjacobi", {"sub_pc_type", "sub_pc_jacobi_type"}, {"jacobi", "rowmax"}, "through a shell"},
      {"bjacobi", {"sub_ksp_type", "sub_ksp_max_it"}, {"gmres", "2"}, "through a shell (its blocks have"},
      {"bjacobi", {"sub_pc_type"}, {"lu"}, "through a shell (Poise has no such PC in the blocks)"},
      {"bjacobi",
       {"sub_ksp_type", "sub_poise_ksp_type"},
       {"poise", "cg"},
       "through a shell (its blocks have"},
  };
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Problem p;
    Mat A;
    const int before = failures;
    if (IsOfOneRank(cases[i].pc) && ranks > 1) continue;
    PetscCall(MakeMat(MATAIJ, 3, 0, 0.3, &A));
    for (int j = 0; j < 2 && cases[i].keys[j]; j++)
      PetscCall(SetBoth(cases[i].keys[j], cases[i].values[j], PETSC_FALSE));
    PetscCall(Begin(A, NULL, "fgmres", cases[i].pc, &p));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, cases[i].words);
    if (failures > before) fprintf(stderr, "  option -%s\n", cases[i].keys[0]);
    PetscCall(End(&p));
    for (int j = 0; j < 2 && cases[i].keys[j]; j++) PetscCall(SetBoth(cases[i].keys[j], NULL, PETSC_TRUE));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* PETSc's default in a block is icc where it knows the block as symmetric, else ilu. */
static PetscErrorCode SymmetricBlocks(void)
{
  static const char *const types[] = {MATAIJ, MATBAIJ};
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    Problem p;
    Mat A;
    KSP *sub;
    PC pc;
    char words[64];
    PetscCall(MakeMat(types[k % 2], 3, 0, 0.4, &A));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    if (k > 1) PetscCall(SetBoth("pc_bjacobi_local_blocks", "2", PETSC_FALSE));
    PetscCall(Begin(A, NULL, "gmres", "bjacobi", &p));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(PCBJacobiGetSubKSP(PCOf(&p, 0), NULL, NULL, &sub));
    PetscCall(KSPGetPC(sub[0], &pc));
    PetscCall(PetscSNPrintf(words, sizeof words, "type %s", ((PetscObject)pc)->type_name));
    if (k % 2 && !strcmp(((PetscObject)pc)->type_name, PCICC)) /* of single entries */
      PetscCall(PetscSNPrintf(words, sizeof words, "PETSc's, through a shell"));
    SAYS(p.poise, words);
    PetscCall(SetBoth("pc_bjacobi_local_blocks", NULL, PETSC_TRUE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* ---- the PC beside the solver ---------------------------------------------------------------- */

/* The program asks for the solvers in the blocks, and changes them. */
static PetscErrorCode Inside(void)
{
  PetscFunctionBegin;
  for (int late = 0; late < 3; late++) {
    Problem p;
    Mat A;
    PetscCall(MakeMat(MATAIJ, 3, 0, 0.3, &A));
    PetscCall(Begin(A, NULL, "gmres", "bjacobi", &p));
    for (int k = 0; k < 2; k++) {
      KSP *sub, ksp = k ? p.poise : p.petsc;
      PC pc;
      PetscInt n;
      PetscCall(KSPSetUp(ksp));
      if (late) PetscCall(KSPSolve(ksp, p.b, k ? p.y : p.x));
      if (late == 2) PetscCall(KSPSetFromOptions(ksp));
      PetscCall(PCBJacobiGetSubKSP(PCOf(&p, k), &n, NULL, &sub));
      CHECK(n == 1);
      PetscCall(KSPGetPC(sub[0], &pc));
      PetscCall(PCSetType(pc, PCLU));
    }
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "PETSc's, through a shell (the program asks for its inside)");
    PetscCall(MatShift(A, 1));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* On one rank alone, which PETSc allows. */
static PetscErrorCode InsideOfOne(void)
{
  Problem p;
  Mat A;
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MakeMat(MATAIJ, 3, 0, 0.3, &A));
  PetscCall(Begin(A, NULL, "gmres", "bjacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  for (int k = 0; k < 2 && !rank; k++) {
    KSP *sub;
    PC pc;
    PetscCall(PCBJacobiGetSubKSP(PCOf(&p, k), NULL, NULL, &sub));
    PetscCall(KSPGetPC(sub[0], &pc));
    PetscCall(PCSetType(pc, PCLU));
  }
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "PETSc's, through a shell");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Is z the same by both? */
static PetscErrorCode Same(const char *pc, const char *what, Vec z[2])
{
  PetscReal norm, size;
  PetscFunctionBegin;
  PetscCall(VecNorm(z[0], NORM_2, &size));
  PetscCall(VecAXPY(z[1], -1, z[0]));
  PetscCall(VecNorm(z[1], NORM_2, &norm));
  if (HasLargerBlocks(pc)) PetscFunctionReturn(0);
  CHECK(size > 0 && norm <= 1e-10 * size);
  if (!(size > 0 && norm <= 1e-10 * size)) fprintf(stderr, "  %s of %s\n", what, pc);
  PetscFunctionReturn(0);
}

static PetscErrorCode ApplyMany(PC pc, Vec r, Vec z)
{
  Mat R, Z;
  Vec v;
  PetscInt n;
  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, 3, NULL, &R));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, 3, NULL, &Z));
  for (PetscInt j = 0; j < 3; j++) {
    PetscCall(MatDenseGetColumnVecWrite(R, j, &v));
    PetscCall(VecCopy(r, v));
    PetscCall(VecScale(v, j + 1));
    PetscCall(MatDenseRestoreColumnVecWrite(R, j, &v));
  }
  PetscCall(PCMatApply(pc, R, Z));
  PetscCall(MatDenseGetColumnVecRead(Z, 2, &v));
  PetscCall(VecCopy(v, z));
  PetscCall(MatDenseRestoreColumnVecRead(Z, 2, &v));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&Z));
  PetscFunctionReturn(0);
}

/* The factors, by a product with them. */
static PetscErrorCode ByFactors(PC pc, Vec r, Vec z)
{
  Mat F;
  PetscFunctionBegin;
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(MatSolve(F, r, z));
  PetscFunctionReturn(0);
}

static PetscErrorCode Sweeps(PC pc, Vec r, Vec z)
{
  Vec w;
  PetscInt its;
  PCRichardsonConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(VecDuplicate(r, &w));
  PetscCall(PCApplyRichardson(pc, r, z, w, 1e-5, 1e-50, 1e5, 3, PETSC_TRUE, &its, &reason));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(0);
}

/* The program applies the PC of a solver that is set up. */
static PetscErrorCode BesideTheSolver(void)
{
  static const struct {
    const char *pc, *what;
    PetscErrorCode (*apply)(PC, Vec, Vec);
  } cases[] = {
      {"jacobi", "PCApply", PCApply},
      {"sor", "PCApply", PCApply},
      {"bjacobi", "PCApply", PCApply},
      {"ilu", "PCApply", PCApply},
      {"none", "PCApplyTranspose", PCApplyTranspose},
      {"jacobi", "PCApplyTranspose", PCApplyTranspose},
      {"pbjacobi", "PCApplyTranspose", PCApplyTranspose},
      {"bjacobi", "PCApplyTranspose", PCApplyTranspose},
      {"ilu", "PCApplyTranspose", PCApplyTranspose},
      {"icc", "PCApplyTranspose", PCApplyTranspose},
      {"lu", "PCApplyTranspose", PCApplyTranspose},
      {"jacobi", "PCMatApply", ApplyMany},
      {"bjacobi", "PCMatApply", ApplyMany},
      {"lu", "PCMatApply", ApplyMany},
      {"jacobi", "PCApplySymmetricLeft", PCApplySymmetricLeft},
      {"jacobi", "PCApplySymmetricRight", PCApplySymmetricRight},
      {"bjacobi", "PCApplySymmetricLeft", PCApplySymmetricLeft},
      {"icc", "PCApplySymmetricRight", PCApplySymmetricRight},
      {"sor", "PCApplyRichardson", Sweeps},
      {"ilu", "PCFactorGetMatrix", ByFactors},
      {"lu", "PCFactorGetMatrix", ByFactors},
  };
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Problem p;
    Mat A;
    if (IsOfOneRank(cases[i].pc) && ranks > 1) continue;
    if (gpu && strstr(cases[i].what, "Symmetric")) continue; /* factors by cuSPARSE do not do it */
    PetscCall(MakeMat(MATAIJ, 4, strcmp(cases[i].pc, "icc") ? 0.2 : 0, 0, &A));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_FALSE));
    if (strstr(cases[i].what, "Symmetric")) PetscCall(SetBoth("sub_pc_type", "icc", PETSC_FALSE));
    PetscCall(Begin(A, NULL, "gmres", cases[i].pc, &p));
    Vec z[] = {p.x, p.y};
    for (int k = 0; k < 2; k++) PetscCall(KSPSetUp(k ? p.poise : p.petsc));
    for (int round = 0; round < 4; round++) {
      if (round == 2) PetscCall(MatShift(A, 1));
      for (int k = 0; k < 2 && round == 3; k++) PetscCall(KSPSetFromOptions(k ? p.poise : p.petsc));
      for (int k = 0; k < 2; k++) PetscCall(PCSetUp(PCOf(&p, k)));
      for (int k = 0; k < 2; k++) PetscCall(cases[i].apply(PCOf(&p, k), p.b, z[k]));
      PetscCall(Same(cases[i].pc, cases[i].what, z));
      PetscCall(Both(&p, PETSC_FALSE));
    }
    PetscCall(SetBoth("sub_pc_type", NULL, PETSC_TRUE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* The PC "poise": transposed where M is symmetric, and on many columns. */
static PetscErrorCode PoiseBeside(void)
{
  static const struct {
    const char *pc;
    PetscBool symmetric;
  } cases[] = {{"jacobi", PETSC_TRUE}, {"none", PETSC_TRUE}, {"sor", PETSC_FALSE}};
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Problem p;
    Mat A;
    PetscBool exists;
    PetscCall(MakeMat(MATAIJ, 4, 0.2, 0, &A));
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_type", cases[i].pc));
    PetscCall(Begin(A, NULL, "gmres", cases[i].pc, &p));
    PetscCall(PetscOptionsInsertString(NULL, "-b_pc_type poise -b_ksp_type gmres"));
    PetscCall(KSPSetFromOptions(p.poise));
    Vec z[] = {p.x, p.y};
    PetscCall(Both(&p, PETSC_FALSE));
    for (int k = 0; k < 2; k++) PetscCall(ApplyMany(PCOf(&p, k), p.b, z[k]));
    PetscCall(Same(cases[i].pc, "PCMatApply of Poise's", z));
    PetscCall(PCApplyTransposeExists(PCOf(&p, 1), &exists));
    CHECK(exists == cases[i].symmetric);
    if (exists) PetscCall(Both(&p, PETSC_TRUE));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* One PC in two solvers of type poise, and in one of PETSc. */
static PetscErrorCode Shared(void)
{
  static const char *const pcs[] = {"jacobi", "bjacobi", "sor"};
  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    Problem p;
    Mat A;
    KSP second, third;
    PetscInt its[2];
    PetscCall(MakeMat(MATAIJ, 3, 0, 0.1, &A));
    PetscCall(Begin(A, NULL, "gmres", pcs[i], &p));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &second));
    PetscCall(KSPSetOptionsPrefix(second, "b_"));
    PetscCall(KSPSetPC(second, PCOf(&p, 1)));
    PetscCall(KSPSetFromOptions(second));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &third));
    PetscCall(KSPSetType(third, KSPGMRES));
    PetscCall(KSPSetTolerances(third, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetPC(third, PCOf(&p, 1)));
    for (int round = 0; round < 3; round++) {
      PetscCall(KSPSolve(second, p.b, p.y));
      SAYS(second, pcs[i]);
      PetscCall(Both(&p, PETSC_FALSE));
      PetscCall(MatShift(A, 1));
      PetscCall(KSPSolve(third, p.b, p.y));
      PetscCall(KSPGetIterationNumber(third, &its[1]));
      PetscCall(Both(&p, PETSC_FALSE));
      PetscCall(KSPGetIterationNumber(p.petsc, &its[0]));
      CHECK(its[0] == its[1]);
    }
    PetscCall(KSPDestroy(&p.poise));
    PetscCall(KSPSolve(second, p.b, p.y));
    p.poise = second;
    PetscCall(KSPSetTolerances(p.poise, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetResidualHistory(p.poise, NULL, PETSC_DECIDE, PETSC_TRUE));
    PetscCall(Both(&p, PETSC_FALSE));
    PetscCall(KSPDestroy(&third));
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

#if PETSC_VERSION_GE(3, 21, 0)
/* The diagonal of a PC that PETSc has not built. */
static PetscErrorCode DiagonalOfJacobi(void)
{
  Problem p;
  Mat A;
  Vec z[2];
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 4, 0.2, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  PetscCall(MatCreateVecs(A, &z[0], &z[1]));
  for (int round = 0; round < 2; round++) {
    if (round) PetscCall(MatShift(A, 1));
    PetscCall(Both(&p, PETSC_FALSE));
    for (int k = 0; k < 2; k++) PetscCall(PCJacobiGetDiagonal(PCOf(&p, k), z[k], NULL));
    PetscCall(Same("jacobi", "PCJacobiGetDiagonal", z));
  }
  SAYS(p.poise, "PETSc's, through a shell (the program asks for its inside)");
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&z[k]));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}
#endif

const Case of_lent[] = {
    {"settings in code", SettingsInCode},
    {"settings", SettingsByOption},
    {"symmetric blocks", SymmetricBlocks},
    {"inside", Inside},
    {"inside of one", InsideOfOne},
    {"beside the solver", BesideTheSolver},
    {"PC poise beside", PoiseBeside},
    {"shared PC", Shared},
#if PETSC_VERSION_GE(3, 21, 0)
    {"diagonal of jacobi", DiagonalOfJacobi},
#endif
    {NULL, NULL},
};

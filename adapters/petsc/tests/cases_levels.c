/* SPDX-License-Identifier: BSD-3-Clause */
/* Poise's mg with the levels of PETSc's: -poise_pc_mg native. */
#include <petscdmda.h>

#include "test.h"

enum { LEVELS = 3 };

static Mat interpolation[LEVELS], restriction[LEVELS], operator[LEVELS];

/* Linear, from half of the points, those of odd number. Scaled: times this. */
static PetscErrorCode MakeLinear(Mat fine, PetscReal scale, PetscBool transposed, Mat *P)
{
  PetscInt begin, end, n, k0, m;
  Mat Q;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(fine, &begin, &end));
  PetscCall(MatGetSize(fine, &m, NULL));
  n = end / 2 - begin / 2;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, end - begin, n, m, m / 2, 2, NULL, 2, NULL, &Q));
  for (PetscInt i = begin; i < end; i++) {
    for (k0 = (i - 1) / 2; k0 <= i / 2; k0++) {
      const PetscInt distance = PetscAbsInt(i - (2 * k0 + 1));
      if (k0 < m / 2 && distance <= 1)
        PetscCall(MatSetValue(Q, i, k0, scale * (distance ? 0.5 : 1), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(Q, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(Q, MAT_FINAL_ASSEMBLY));
  *P = Q;
  if (!transposed) PetscFunctionReturn(0);
  PetscCall(MatTranspose(Q, MAT_INITIAL_MATRIX, P));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(0);
}

/* A, and beneath it P^T A P. */
static PetscErrorCode MakeLevels(Mat A, PetscBool restricts)
{
  PetscFunctionBegin;
  operator[LEVELS - 1] = A;
  PetscCall(PetscObjectReference((PetscObject)A));
  for (int l = LEVELS - 1; l > 0; l--) {
    PetscCall(MakeLinear(operator[l], 1, PETSC_FALSE, &interpolation[l]));
    restriction[l] = NULL;
    if (restricts) PetscCall(MakeLinear(operator[l], 0.5, PETSC_TRUE, &restriction[l]));
    PetscCall(MatPtAP(operator[l], interpolation[l], MAT_INITIAL_MATRIX, 2, &operator[l - 1]));
    if (restricts) PetscCall(MatScale(operator[l - 1], 0.5));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode DropAll(void)
{
  PetscFunctionBegin;
  for (int l = 0; l < LEVELS; l++) {
    PetscCall(MatDestroy(&interpolation[l]));
    PetscCall(MatDestroy(&restriction[l]));
    PetscCall(MatDestroy(&operator[l]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode SetLevels(KSP ksp, PCMGGalerkinType galerkin)
{
  PC pc;
  KSP smoother;
  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, LEVELS, NULL));
  PetscCall(PCMGSetGalerkin(pc, galerkin));
  for (int l = 1; l < LEVELS; l++) {
    PetscCall(PCMGSetInterpolation(pc, l, interpolation[l]));
    if (restriction[l]) PetscCall(PCMGSetRestriction(pc, l, restriction[l]));
  }
  for (int l = 0; l < LEVELS - 1 && galerkin == PC_MG_GALERKIN_NONE; l++) {
    PetscCall(PCMGGetSmoother(pc, l, &smoother));
    PetscCall(KSPSetOperators(smoother, operator[l], operator[l]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode WithGalerkin(KSP ksp)
{
  return SetLevels(ksp, PC_MG_GALERKIN_BOTH);
}

static PetscErrorCode WithOperators(KSP ksp)
{
  return SetLevels(ksp, PC_MG_GALERKIN_NONE);
}

/* A problem with these levels, of which Poise's own mg is asked for. */
static PetscErrorCode Open(const char *method, PetscBool restricts, Prepare prepare, Mat *A, Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2, 0, 0, A));
  PetscCall(MakeLevels(*A, restricts));
  PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_mg", "native"));
  PetscCall(BeginWith(*A, method, NULL, prepare, p));
  PetscFunctionReturn(0);
}

static PetscErrorCode Close(Mat *A, Problem *p)
{
  PetscFunctionBegin;
  PetscCall(End(p));
  PetscCall(DropAll());
  PetscCall(MatDestroy(A));
  PetscFunctionReturn(0);
}

/* PETSc's solution, in no more iterations than so many, with new values too. */
static PetscErrorCode Solves(Problem *p, PetscInt most)
{
  PetscReal norm, size;
  PetscInt its;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(KSPSolve(p->petsc, p->b, p->x));
  PetscCall(KSPSolve(p->poise, p->b, p->y));
  PetscCall(KSPGetConvergedReason(p->poise, &reason));
  PetscCall(KSPGetIterationNumber(p->poise, &its));
  CHECK(reason == KSP_CONVERGED_RTOL && its > 1 && its <= most);
  PetscCall(VecNorm(p->x, NORM_2, &size));
  PetscCall(VecAXPY(p->x, -1, p->y));
  PetscCall(VecNorm(p->x, NORM_2, &norm));
  CHECK(size > 0 && norm <= 1e-5 * size);
  PetscFunctionReturn(0);
}

static const char works[] = "Poise's own mg, with the levels of PETSc's";

static PetscErrorCode GivenLevels(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    const PetscBool restricts = k % 2 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(Open(restricts ? "gmres" : "cg", restricts, k < 2 ? WithGalerkin : WithOperators, &A, &p));
    PetscCall(Solves(&p, 12)); /* jacobi takes 30 */
    SAYS(p.poise, works);
    SAYS(p.poise, k < 2 ? "level 0, 15 rows, product R A P" : "level 0, 15 rows; its solver");
    if (k < 2) {
      PetscCall(MatShift(A, 0.01));
      PetscCall(Solves(&p, 12));
    }
    for (int l = 0; l < LEVELS - 1 && k > 1; l++)
      PetscCall(MatScale(operator[l], 2)); /* worse: seen at once */
    if (k > 1) PetscCall(Solves(&p, 40));
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_mg", "petsc"));
    PetscCall(KSPSetFromOptions(p.poise));
    PetscCall(Solves(&p, 40));
    SAYS(p.poise, "PETSc's, through a shell");
    PetscCall(Close(&A, &p));
  }
  PetscFunctionReturn(0);
}

/* What PETSc's mg is told of cycles is Poise's too, unless an option for Poise says otherwise. */
static PetscErrorCode Cycles(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(Open("gmres", PETSC_FALSE, WithGalerkin, &A, &p));
  for (int k = 0; k < 2; k++) {
    PetscCall(PCMGSetCycleType(PCOf(&p, k), PC_MG_CYCLE_W));
    PetscCall(PCMGSetType(PCOf(&p, k), PC_MG_FULL));
  }
  PetscCall(Solves(&p, 12));
  SAYS(p.poise, "full, cycle w, 3 levels");
  PetscCall(PetscOptionsSetValue(NULL, "-b_poise_mg_levels_pc_type", "sor"));
  PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_mg_type", "multiplicative"));
  PetscCall(KSPSetFromOptions(p.poise));
  PetscCall(Solves(&p, 12));
  SAYS(p.poise, "multiplicative, cycle w, 3 levels");
  SAYS(p.poise, "PC: type sor");
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_mg_levels_pc_type"));
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_pc_mg_type"));
  PetscCall(Close(&A, &p));
  PetscFunctionReturn(0);
}

/* A transposed interpolation: PETSc takes that, too. */
static PetscErrorCode SetTransposed(KSP ksp)
{
  PC pc;
  PetscFunctionBegin;
  PetscCall(WithOperators(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGSetRestriction(pc, 1, restriction[1]));
  PetscCall(PCMGSetInterpolation(pc, 1, restriction[1]));
  PetscFunctionReturn(0);
}

static PetscErrorCode NotItsLevels(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(Open("gmres", PETSC_TRUE, SetTransposed, &A, &p));
  PetscCall(Solves(&p, 40));
  SAYS(p.poise, "(an interpolation or restriction is given as its transpose)");
  PetscCall(Close(&A, &p));
  PetscFunctionReturn(0);
}

/* The levels are those of a DM. */
static PetscErrorCode OfDM(void)
{
  DM coarse, da;
  Mat A;
  Problem p;
  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 31, 1, 1, NULL, &coarse));
  PetscCall(DMSetUp(coarse));
  PetscCall(DMRefine(coarse, PETSC_COMM_WORLD, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscInt begin, end, n;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = PetscMax(0, i - 1); j <= PetscMin(n - 1, i + 1); j++)
      PetscCall(MatSetValue(A, i, j, i == j ? 2.01 : -1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SetBoth("pc_mg_levels", "2", PETSC_FALSE));
  PetscCall(SetBoth("pc_mg_galerkin", "both", PETSC_FALSE));
  PetscCall(PetscOptionsSetValue(NULL, "-b_poise_pc_mg", "native"));
  PetscCall(Begin(A, NULL, "cg", "mg", &p));
  for (int k = 0; k < 2; k++) {
    KSP ksp = k ? p.poise : p.petsc;
    PetscCall(KSPSetDM(ksp, da));
    PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
  }
  PetscCall(Solves(&p, 12));
  SAYS(p.poise, works);
  PetscCall(MatShift(A, 0.1));
  PetscCall(Solves(&p, 12));
  PetscCall(End(&p));
  PetscCall(SetBoth("pc_mg_levels", NULL, PETSC_TRUE));
  PetscCall(SetBoth("pc_mg_galerkin", NULL, PETSC_TRUE));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(0);
}

const Case of_levels[] = {{"given levels", GivenLevels},
                          {"cycles", Cycles},
                          {"other levels", NotItsLevels},
                          {"levels of a DM", OfDM},
                          {NULL, NULL}};

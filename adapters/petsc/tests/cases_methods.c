/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods: what the program sets of them in code counts, and PETSc's own work where Poise has none. */
#include "test.h"

/* The same by both, told by the view in these words. */
static PetscErrorCode Same(const char *method, const char *pc, Prepare prepare, const char *words)
{
  Problem p;
  Mat A;
  const int before = failures;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(BeginWith(A, method, pc, prepare, &p));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, words);
  PetscCall(MatShift(A, 1));
  PetscCall(Both(&p, PETSC_FALSE));
  if (failures > before) fprintf(stderr, "  in: %s\n", words);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- methods that Poise has not -------------------------------------------------------------- */

static PetscErrorCode OwnMethods(void)
{
  static const char *const methods[] = {"bcgsl", "cr", "tcqmr"};
  char words[64];
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    PetscCall(PetscSNPrintf(words, sizeof words, "PETSc's own %s (Poise has no such method)", methods[k]));
    PetscCall(Same(methods[k], "jacobi", NULL, words));
  }
  PetscFunctionReturn(0);
}

/* Methods of another name with the same iterates. */
static PetscErrorCode OtherNames(void)
{
  static const char *const methods[][3] = {{"pipecgrr", "jacobi", "Poise's cg, for pipecgrr"},
                                           {"pipecg2", "jacobi", "Poise's cg, for pipecg2"},
                                           {"pipecg2", "sor", "Poise's cg, for pipecg2"},
                                           {"fbcgs", "jacobi", "Poise's bicgstab, for fbcgs"},
                                           {"fbcgs", "sor", "Poise's bicgstab, for fbcgs"},
                                           {"fbcgsr", "jacobi", "Poise's bicgstab, for fbcgsr"},
                                           {"fbcgsr", "sor", "Poise's bicgstab, for fbcgsr"},
                                           {"pipefcg", "jacobi", "Poise's fcg, for pipefcg"},
                                           {"pipefcg", NULL, "Poise's fcg, for pipefcg"},
                                           {"pipefcg", "asm", "pipefcg is not fcg"},
                                           {"symmlq", NULL, "Poise's symmlq"},
                                           {"symmlq", "jacobi", "natural norms with a preconditioned one"}};
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
    PetscCall(Same(methods[k][0], methods[k][1], NULL, methods[k][2]));
  PetscFunctionReturn(0);
}

static PetscErrorCode CR(KSP ksp)
{
  return KSPSetType(ksp, KSPCR);
}

static PetscErrorCode Bcgsl(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPBCGSL));
  PetscCall(KSPBCGSLSetEll(ksp, 4));
  PetscFunctionReturn(0);
}

/* PETSc's has two norms an iteration, of which the second is Poise's, or a last one that is its first. It has
   none before these. */
static PetscErrorCode HalfSteps(void)
{
  Problem p;
  Mat A;
  PetscInt n[2], its[2];
  KSPConvergedReason reason[2];
  const PetscReal *h[2];
  PetscReal size, norm;
  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) {
    PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
    PetscCall(Begin(A, NULL, "tfqmr", "jacobi", &p));
    for (int k = 0; k < 2; k++) {
      KSP ksp = k ? p.poise : p.petsc;
      PetscCall(KSPSetPCSide(ksp, side ? PC_RIGHT : PC_LEFT));
      PetscCall(KSPSolve(ksp, p.b, k ? p.y : p.x));
      PetscCall(KSPGetConvergedReason(ksp, &reason[k]));
      PetscCall(KSPGetIterationNumber(ksp, &its[k]));
      PetscCall(KSPGetResidualHistory(ksp, &h[k], &n[k]));
    }
    SAYS(p.poise, "Poise's tfqmr");
    CHECK(reason[0] == reason[1] && reason[1] > 0 && its[0] == its[1] && n[1] == its[1] + 1);
    for (PetscInt i = 1; i < n[1] && n[0] > 0; i++) {
      const PetscReal of_petsc = h[0][PetscMin(2 * i - 1, n[0] - 1)];
      CHECK(PetscAbsReal(of_petsc - h[1][i]) <= 1e-6 * of_petsc + 1e-9 * h[0][0]);
    }
    PetscCall(VecNorm(p.x, NORM_2, &size));
    PetscCall(VecAXPY(p.x, -1, p.y));
    PetscCall(VecNorm(p.x, NORM_2, &norm));
    CHECK(norm <= 1e-6 * size);
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* A method that PETSc has not. */
static PetscErrorCode OfPoiseAlone(void)
{
  static const char *const methods[] = {"idr", "bicgstabl"};
  Problem p;
  Mat A;
  KSPConvergedReason reason;
  PetscReal norm, size;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
  for (int k = 0; k < 2; k++) {
    PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_ksp_type", methods[k]));
    PetscCall(KSPSetFromOptions(p.poise));
    PetscCall(KSPSetTolerances(p.poise, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSolve(p.poise, p.b, p.y));
    PetscCall(KSPGetConvergedReason(p.poise, &reason));
    CHECK(reason > 0);
    SAYS(p.poise, k ? "Poise's bicgstabl" : "Poise's idr");
    PetscCall(VecNorm(p.b, NORM_2, &size));
    PetscCall(MatMult(A, p.y, p.x));
    PetscCall(VecAXPY(p.x, -1, p.b));
    PetscCall(VecNorm(p.x, NORM_2, &norm));
    CHECK(norm <= 1e-7 * size);
    PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_type"));
    PetscCall(End(&p));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* As TAO does: the type is set in code and asked for, and the radius has a function. */
static PetscErrorCode TrustRegion(KSP ksp)
{
  PetscFunctionBegin;
  if (!((PetscObject)ksp)->type_name) PetscCall(KSPSetType(ksp, KSPSTCG));
  PetscCall(KSPCGSetRadius(ksp, 5));
  PetscFunctionReturn(0);
}

static PetscErrorCode AsTAO(void)
{
  Problem p;
  Mat A;
  PetscBool is;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(BeginWith(A, NULL, "jacobi", TrustRegion, &p));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscObjectTypeCompare((PetscObject)p.poise, KSPSTCG, &is));
    CHECK(is);
    PetscCall(TrustRegion(p.petsc));
    PetscCall(TrustRegion(p.poise));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "PETSc's own stcg");
    PetscCall(KSPSetFromOptions(p.poise)); /* keeps its state */
  }
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Its settings in code too. */
static PetscErrorCode OwnInCode(void)
{
  PetscFunctionBegin;
  PetscCall(Same(NULL, "jacobi", CR, "PETSc's own cr (Poise has no such method)"));
  PetscCall(Same(NULL, "jacobi", Bcgsl, "Ell = 4"));
  PetscFunctionReturn(0);
}

/* A matrix with more rows than columns. */
static PetscErrorCode MakeTall(Mat *A)
{
  PetscInt begin, end;
  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, N, N / 2, 3, NULL, 3, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i / 2, 2 + 0.1 * i, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i / 2 + 1) % (N / 2), -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode LeastSquaresBy(const char *method, const char *words)
{
  Mat A;
  Problem p = {.A = NULL};
  PetscFunctionBegin;
  PetscCall(MakeTall(&A));
  PetscCall(Begin(A, NULL, method, NULL, &p));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, words);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode LeastSquares(void)
{
  PetscFunctionBegin;
  PetscCall(LeastSquaresBy("lsqr", "Poise's lsqr"));
  PetscCall(LeastSquaresBy("cgls", "Poise's cgls"));
  PetscFunctionReturn(0);
}

typedef struct Norms { /* of lsqr, of each iteration */
  PetscInt n;
  PetscReal normal[N], size[N];
} Norms;

static PetscErrorCode ReadNorms(KSP ksp, PetscInt it, PetscReal norm, void *arg)
{
  Norms *w = arg;
  (void)norm;
  PetscFunctionBegin;
  if (!it) PetscFunctionReturn(0); /* PETSc has not set them yet */
  CHECK(w->n < N);
  PetscCall(KSPLSQRGetNorms(ksp, &w->normal[w->n], &w->size[w->n]));
  w->n++;
  PetscFunctionReturn(0);
}

static PetscBool IsNear(PetscReal a, PetscReal b, PetscReal to)
{
  return PetscAbsReal(a - b) <= 1e-6 * PetscAbsReal(a) + to ? PETSC_TRUE : PETSC_FALSE;
}

/* What lsqr's own functions read, after a solve and in monitors; its preconditioner is of P, and its test may
   have the norm of A. */
static PetscErrorCode NumbersOfLSQR(PetscBool watches, PetscBool of_P, PetscBool exact, const char *words)
{
  Mat A, P = NULL;
  Problem p = {.A = NULL};
  Norms w[2] = {{0}, {0}}, last[2];
  Vec errors[2];
  PetscReal size, norm;
  PetscFunctionBegin;
  PetscCall(MakeTall(&A));
  if (of_P) PetscCall(MatTransposeMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &P));
  PetscCall(Begin(A, P, "lsqr", of_P ? "jacobi" : NULL, &p));
  for (int k = 0; k < 2; k++) {
    KSP ksp = k ? p.poise : p.petsc;
    if (watches) PetscCall(KSPMonitorSet(ksp, ReadNorms, &w[k], NULL));
    PetscCall(KSPLSQRSetComputeStandardErrorVec(ksp, PETSC_TRUE));
    PetscCall(KSPLSQRSetExactMatNorm(ksp, exact));
  }
  for (int turn = 0; turn < 2; turn++) {
    w[0].n = w[1].n = 0;
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, words);
    for (int k = 0; k < 2; k++) {
      KSP ksp = k ? p.poise : p.petsc;
      last[k].n = 0;
      PetscCall(ReadNorms(ksp, 1, 0, &last[k]));
      PetscCall(KSPLSQRGetStandardErrorVec(ksp, &errors[k]));
    }
    const PetscReal least = 1e-9 * last[0].size[0];
    CHECK(IsNear(last[0].normal[0], last[1].normal[0], least) && IsNear(last[0].size[0], last[1].size[0], 0));
    CHECK(w[0].n == w[1].n && (w[0].n > 3 || !watches));
    for (PetscInt i = 0; i < PetscMin(w[0].n, w[1].n); i++)
      CHECK(IsNear(w[0].normal[i], w[1].normal[i], least) && IsNear(w[0].size[i], w[1].size[i], 0));
    PetscCall(VecNorm(errors[0], NORM_2, &size));
    PetscCall(VecAXPY(errors[0], -1, errors[1]));
    PetscCall(VecNorm(errors[0], NORM_2, &norm));
    CHECK(size > 0 && norm <= 1e-6 * size);
  }
  PetscCall(End(&p));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Few iterations, as rounding soon decides. */
static PetscErrorCode SquareByLSQR(const char *pc, const char *words)
{
  Problem p;
  Mat A;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 5, 0.2, 0, &A));
  PetscCall(Begin(A, NULL, "lsqr", pc, &p));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, words);
  /* another type of PC, for which PETSc's lsqr would need a set-up */
  PetscCall(PCSetType(PCOf(&p, 1), strcmp(pc, "none") ? PCNONE : PCJACOBI));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  SAYS(p.poise, strcmp(pc, "none") ? "preconditioner: none" : "preconditioner: PETSc's, through a shell");
  PetscCall(KSPGetConvergedReason(p.poise, &reason));
  CHECK(reason > 0);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Lsqr(void)
{
  PetscFunctionBegin;
  for (int watches = 0; watches < 2; watches++)
    for (int exact = 0; exact < 2; exact++) {
      PetscCall(NumbersOfLSQR(watches, PETSC_FALSE, exact, "Poise's lsqr"));
      PetscCall(NumbersOfLSQR(watches, PETSC_TRUE, exact, "Poise's own jacobi"));
    }
  PetscCall(SquareByLSQR("none", "Poise's lsqr"));
  PetscCall(SquareByLSQR("jacobi", "PETSc's is of A, and Poise's lsqr makes A^T A"));
  PetscFunctionReturn(0);
}

/* bicg applies the transpose of the preconditioner, which PETSc's through a shell has not here; cgls none. */
static PetscErrorCode Transposes(void)
{
  PetscFunctionBegin;
  PetscCall(Same("bicg", "jacobi", NULL, "Poise's bicg"));
  if (ranks == 1) PetscCall(Same("bicg", "ilu", NULL, "Poise's bicg")); /* PETSc's has no parallel ilu */
  PetscCall(Same("bicg", "bjacobi", NULL, "PETSc's own bicg"));
  PetscCall(Same("cgls", "jacobi", NULL, "none, as PETSc's cgls"));
  PetscFunctionReturn(0);
}

/* ---- settings in code ------------------------------------------------------------------------ */

static PetscErrorCode Restart(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 5));
  PetscFunctionReturn(0);
}

/* The first cycles of PETSc's are shorter, but for this. Of one correction the place is the same. */
static PetscErrorCode Augment(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPLGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 5));
  PetscCall(KSPLGMRESSetConstant(ksp));
  PetscCall(KSPLGMRESSetAugDim(ksp, 1));
  PetscFunctionReturn(0);
}

static PetscErrorCode Augmented(void)
{
  Problem p;
  Mat A;
  PetscInt its[2], n[2];
  const PetscReal *h[2];
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(BeginWith(A, NULL, NULL, Augment, &p));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSolve(k ? p.poise : p.petsc, p.b, p.x));
    PetscCall(KSPGetIterationNumber(k ? p.poise : p.petsc, &its[k]));
    PetscCall(KSPGetResidualHistory(k ? p.poise : p.petsc, &h[k], &n[k]));
  }
  CHECK(its[0] == its[1] && its[0] > 10);
  for (PetscInt i = 0; i <= its[1] && i + i / 5 < n[0]; i++) {
    const PetscReal norm = h[0][i ? i + (i - 1) / 5 : 0]; /* PETSc's has those at restarts twice */
    CHECK(PetscAbsReal(norm - h[1][i]) <= 1e-6 * norm);
  }
  SAYS(p.poise, "restart 5, 1 of them corrections");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode RestartGCR(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPGCR));
  PetscCall(KSPGCRSetRestart(ksp, 5));
  PetscFunctionReturn(0);
}

static PetscErrorCode Scale(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPRichardsonSetScale(ksp, 0.25));
  PetscFunctionReturn(0);
}

/* Few iterations: PETSc counts one more when its chebyshev converges. */
static PetscErrorCode Bounds(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, 5, 0.2));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 6));
  PetscFunctionReturn(0);
}

static PetscErrorCode Estimated(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(KSPChebyshevEstEigSet(ksp, 0, 0.2, 0, 1.2));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, 5, 0.2)); /* this counts */
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 6));
  PetscFunctionReturn(0);
}

static PetscErrorCode Refine(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPOrthogonalizationSetCGSRefinementType(ksp, KSP_ORTHOGONALIZATION_CGS_REFINE_ALWAYS));
  PetscFunctionReturn(0);
}

static PetscErrorCode InCode(void)
{
  PetscFunctionBegin;
  PetscCall(Same(NULL, NULL, Restart, "Poise's gmres"));
  PetscCall(Same("gmres", NULL, Restart, "restart 5"));
  PetscCall(Same(NULL, NULL, RestartGCR, "Poise's gcr"));
  PetscCall(Augmented());
  PetscCall(Same(NULL, NULL, Scale, "Poise's richardson"));
  PetscCall(Same(NULL, NULL, Bounds, "Poise's chebyshev"));
  PetscCall(Same(NULL, NULL, Estimated, "Poise's chebyshev"));
  PetscCall(Same(NULL, NULL, Refine, "refine_always"));
  PetscFunctionReturn(0);
}

#if PETSC_VERSION_GE(3, 19, 0)
static PetscErrorCode Curvature(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetConvergedNegativeCurvature(ksp, PETSC_TRUE));
  PetscFunctionReturn(0);
}

/* KSPSetType forgets it: that of another method does, that of poise must not. */
static PetscErrorCode KeptCurvature(void)
{
  PetscFunctionBegin;
  PetscCall(Same(NULL, NULL, Curvature, "Poise's cg has not: KSPSetConvergedNegativeCurvature"));
  PetscCall(Same("minres", NULL, Curvature, "Poise's minres"));
  PetscFunctionReturn(0);
}
#endif

static PetscErrorCode AfterOptions(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  for (PetscInt restart = 4; restart < 40; restart += 20) {
    PetscCall(KSPGMRESSetRestart(p.petsc, restart));
    PetscCall(KSPGMRESSetRestart(p.poise, restart));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "Poise's gmres");
  }
  for (int k = 0; k < 2; k++)
    PetscCall(KSPOrthogonalizationSet(k ? p.poise : p.petsc, KSPOrthogonalizationModifiedGramSchmidt));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "PETSc's own gmres (Poise's gmres has not: KSPGMRESSetOrthogonalization)");
  for (int k = 0; k < 2; k++)
    PetscCall(KSPOrthogonalizationSet(k ? p.poise : p.petsc, KSPOrthogonalizationClassicalGramSchmidt));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "Poise's gmres");
  PetscCall(End(&p));
  PetscCall(Begin(A, NULL, "richardson", "jacobi", &p));
  for (int k = 0; k < 2; k++) PetscCall(KSPRichardsonSetScale(k ? p.poise : p.petsc, 0.5));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(End(&p));
  PetscCall(Begin(A, NULL, "richardson", "jacobi", &p)); /* PETSc wants it before the set-up */
  for (int k = 0; k < 2; k++) PetscCall(KSPRichardsonSetSelfScale(k ? p.poise : p.petsc, PETSC_TRUE));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "has not: KSPRichardsonSetSelfScale");
  PetscCall(End(&p));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  for (int k = 0; k < 2; k++) PetscCall(KSPCGUseSingleReduction(k ? p.poise : p.petsc, PETSC_TRUE));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "Poise's cg");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Options of PETSc's methods. */
static const struct {
  const char *method, *option, *words;
} of_methods_options[] = {
    {"gmres", "ksp_gmres_restart 6", "restart 6"},
    {"gmres", "ksp_gmres_cgs_refinement_type refine_always", "refine_always"},
    {"gmres", "ksp_gmres_modifiedgramschmidt", "PETSc's own gmres"},
    {"gmres", "ksp_gmres_haptol 1e-9", "Poise's gmres has not: -ksp_gmres_haptol"},
    {"gcr", "ksp_gcr_restart 6", "restart 6"},
    {"fcg", "ksp_fcg_mmax 3", "most directions kept: 3"},
    {"fcg", "ksp_fcg_truncation_type standard", "Poise's fcg has not: KSPFCGSetTruncationType"},
    {"pipefcg", "ksp_pipefcg_mmax 3", "most directions kept: 3"},
    {"pipefcg", "ksp_pipefcg_truncation_type standard", "Poise's fcg has not: KSPPIPEFCGSetTruncationType"},
    {"pipefcg", "ksp_norm_type natural", "has the natural norm of the iteration before"},
    {"pipefcg", "ksp_norm_type unpreconditioned", "Poise's fcg, for pipefcg"},
    {"pipecg2", "ksp_norm_type natural", "Poise's cg, for pipecg2"},
    {"pipecg2", "ksp_norm_type unpreconditioned", "Poise's cg, for pipecg2"},
    {"pipecg2", "ksp_max_it 7", "Poise's cg, for pipecg2"},
    {"pipecg2", "ksp_max_it 8", "Poise's cg, for pipecg2"},
    {"pipecg2", "ksp_max_it 1", "Poise's cg, for pipecg2"},
    {"fbcgs", "ksp_max_it 3", "Poise's bicgstab, for fbcgs"},
    {"fbcgs", "ksp_pc_side right", "Poise's bicgstab, for fbcgs"},
    {"cgs", "ksp_pc_side right", "Poise's cgs"},
    {"richardson", "ksp_richardson_scale 0.3", "Poise's richardson"},
    {"richardson", "ksp_richardson_self_scale", "PETSc's own richardson"},
    {"cg", "ksp_cg_single_reduction", "Poise's cg"},
    {"cg", "ksp_lag_norm", "PETSc's own cg (the norm lags)"},
#if PETSC_VERSION_GE(3, 19, 0)
    {"cg", "ksp_converged_neg_curve", "Poise's cg has not: KSPSetConvergedNegativeCurvature"},
    {"gmres", "ksp_converged_neg_curve", "Poise's gmres"},
    {"minres", "ksp_minres_qlp", "Poise's minres has not: KSPMINRESSetUseQLP"},
    {"minres", "ksp_minres_radius 1e9", "Poise's minres has not: -ksp_minres_radius"},
    {"minres", "ksp_minres_old", "Poise's minres has not: -ksp_minres_old"},
    {"chebyshev", "ksp_chebyshev_kind fourth", "Poise's chebyshev has not: KSPChebyshevSetKind"},
#endif
#if PETSC_VERSION_GE(3, 20, 0)
    {"cg", "ksp_min_it 35", "Poise's cg"},
#endif
#if PETSC_VERSION_GE(3, 26, 0)
    {"gmres", "ksp_orthogonalization mgs", "PETSc's own gmres"},
#endif
};

static PetscErrorCode OptionsOfMethods(void)
{
  char both[256], key[2][64];
  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof of_methods_options / sizeof *of_methods_options; k++) {
    PetscCall(PetscSNPrintf(both, sizeof both, "-a_%s -b_%s", of_methods_options[k].option,
                            of_methods_options[k].option));
    PetscCall(PetscOptionsInsertString(NULL, both));
    PetscCall(Same(of_methods_options[k].method, "jacobi", NULL, of_methods_options[k].words));
    for (int i = 0; i < 2; i++) {
      PetscCall(PetscSNPrintf(key[i], sizeof key[i], "-%c_%s", "ab"[i], of_methods_options[k].option));
      key[i][strcspn(key[i], " ")] = 0;
      PetscCall(PetscOptionsClearValue(NULL, key[i]));
    }
  }
  /* the name that PETSc 3.26 gives to one of them */
  PetscCall(SetBoth("ksp_orthogonalization_cgs_refinement_type", NULL, PETSC_TRUE));
  PetscFunctionReturn(0);
}

/* ---- eigenvalues and singular values --------------------------------------------------------- */

/* gmres' in any order, and only of its latest cycle. */
static int ByReal(const void *a, const void *b)
{
  const PetscReal *u = a, *v = b;
  return (*u > *v) - (*u < *v);
}

static PetscErrorCode Spectrum(const char *method, const char *words)
{
  Problem p;
  Mat A;
  PetscReal re[2][N], im[2][N], most[2], least[2];
  PetscInt n[2];
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(Begin(A, NULL, method, "jacobi", &p));
  PetscCall(KSPSolve(p.poise, p.b, p.y)); /* PETSc wants it before its set-up */
  for (int k = 0; k < 2; k++) {
    KSP ksp = k ? p.poise : p.petsc;
    PetscCall(KSPSetComputeSingularValues(ksp, PETSC_TRUE));
    PetscCall(KSPSetUp(ksp));
  }
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, words);
  for (int k = 0; k < 2; k++) {
    KSP ksp = k ? p.poise : p.petsc;
    PetscCall(KSPComputeExtremeSingularValues(ksp, &most[k], &least[k]));
    PetscCall(KSPComputeEigenvalues(ksp, N, re[k], im[k], &n[k]));
    qsort(re[k], n[k], sizeof re[k][0], ByReal);
  }
  CHECK(n[0] == n[1] && n[0] > 5);
  CHECK(PetscAbsReal(most[0] - most[1]) < 1e-6 * most[0]);
  CHECK(PetscAbsReal(least[0] - least[1]) < 1e-6 * most[0]);
  for (PetscInt i = 0; i < PetscMin(n[0], n[1]); i++)
    CHECK(PetscAbsReal(re[0][i] - re[1][i]) < 1e-5 * most[0]);
  for (int k = 0; k < 2; k++) PetscCall(KSPSetComputeSingularValues(k ? p.poise : p.petsc, PETSC_FALSE));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, words);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

typedef struct Extremes { /* of each iteration */
  PetscInt n;
  PetscReal most[N], least[N];
} Extremes;

static PetscErrorCode Watch(KSP ksp, PetscInt it, PetscReal norm, void *arg)
{
  Extremes *e = arg;
  (void)it;
  (void)norm;
  PetscFunctionBegin;
  CHECK(e->n < N);
  PetscCall(KSPComputeExtremeSingularValues(ksp, &e->most[e->n], &e->least[e->n]));
  e->n++;
  PetscFunctionReturn(0);
}

/* A monitor asks in the middle of a solve, behind a restart too. */
static PetscErrorCode Watched(const char *method, const char *pc, const char *words)
{
  Problem p;
  Mat A;
  Extremes e[2] = {{0}, {0}};
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(SetBoth("ksp_gmres_restart", "7", PETSC_FALSE));
  PetscCall(Begin(A, NULL, method, pc, &p));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSetComputeSingularValues(k ? p.poise : p.petsc, PETSC_TRUE));
    PetscCall(KSPMonitorSet(k ? p.poise : p.petsc, Watch, &e[k], NULL));
  }
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, words);
  CHECK(e[0].n == e[1].n && e[0].n > 8);
  for (PetscInt i = 0; i < PetscMin(e[0].n, e[1].n); i++) {
    if (i && i % 7 == 0 && e[0].most[i] == 1) continue; /* PETSc has begun the next cycle of gmres */
    CHECK(PetscAbsReal(e[0].most[i] - e[1].most[i]) < 1e-6 * e[0].most[i]);
    CHECK(PetscAbsReal(e[0].least[i] - e[1].least[i]) < 1e-6 * e[0].most[i]);
  }
  PetscCall(End(&p));
  PetscCall(SetBoth("ksp_gmres_restart", NULL, PETSC_TRUE));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode WatchedValues(void)
{
  PetscFunctionBegin;
  PetscCall(Watched("cg", "jacobi", "Poise's cg"));
  PetscCall(Watched("cg", "sor", "Poise's cg"));
  PetscCall(Watched("gmres", "jacobi", "Poise's gmres"));
  PetscFunctionReturn(0);
}

/* Pairs of one cycle, with vectors of the same lengths; those of several cycles are PETSc's. */
static PetscErrorCode Ritz(const char *restart, PetscBool small, const char *words)
{
  enum { PAIRS = 6 };
  Problem p;
  Mat A;
  Vec *S[2];
  PetscReal re[2][PAIRS], im[2][PAIRS], norm;
  PetscScalar dot;
  PetscInt n[2];
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0.9, 0.3, &A));
  PetscCall(SetBoth("ksp_gmres_restart", restart, PETSC_FALSE));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  for (int k = 0; k < 2; k++) PetscCall(KSPSetComputeRitz(k ? p.poise : p.petsc, PETSC_TRUE));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, words);
  for (int k = 0; k < 2; k++) {
    n[k] = PAIRS;
    PetscCall(VecDuplicateVecs(p.x, PAIRS, &S[k]));
    PetscCall(KSPComputeRitz(k ? p.poise : p.petsc, PETSC_TRUE, small, &n[k], S[k], re[k], im[k]));
  }
  CHECK(n[0] == n[1] && n[0] >= PAIRS - 1);
  for (PetscInt i = 0; i < PetscMin(n[0], n[1]); i++) {
    CHECK(PetscAbsReal(re[0][i] - re[1][i]) < 1e-6 && PetscAbsReal(im[0][i] - im[1][i]) < 1e-6);
    PetscCall(VecDot(S[0][i], S[1][i], &dot)); /* rounding may decide the sign */
    PetscCall(VecAXPY(S[0][i], dot > 0 ? -1 : 1, S[1][i]));
    PetscCall(VecNorm(S[0][i], NORM_2, &norm));
    CHECK(norm < 1e-5);
  }
  for (int k = 0; k < 2; k++) PetscCall(VecDestroyVecs(PAIRS, &S[k]));
  PetscCall(End(&p));
  PetscCall(SetBoth("ksp_gmres_restart", NULL, PETSC_TRUE));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A s - theta s is orthogonal to A times the space. (PETSc's of an unfinished cycle are others.) */
static PetscErrorCode HarmonicPairs(void)
{
  enum { PAIRS = 8 };
  Problem p;
  Mat A;
  Vec *S;
  PetscReal re[PAIRS], im[PAIRS], size;
  PetscScalar dot;
  PetscInt n = PAIRS;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.5, 0, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", NULL, &p));
  PetscCall(KSPSetTolerances(p.poise, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, PAIRS));
  PetscCall(KSPSetComputeRitz(p.poise, PETSC_TRUE));
  PetscCall(KSPSolve(p.poise, p.b, p.x));
  PetscCall(VecDuplicateVecs(p.x, PAIRS, &S));
  PetscCall(KSPComputeRitz(p.poise, PETSC_FALSE, PETSC_TRUE, &n, S, re, im));
  CHECK(n == PAIRS);
  for (PetscInt i = 0; i < n; i++) {
    CHECK(im[i] == 0 && (!i || re[i] > re[i - 1]));
    PetscCall(MatMult(A, S[i], p.x));
    PetscCall(VecAXPY(p.x, -re[i], S[i]));
    for (PetscInt j = 0; j < n; j++) {
      PetscCall(MatMult(A, S[j], p.y));
      PetscCall(VecDot(p.x, p.y, &dot));
      PetscCall(VecNorm(p.y, NORM_2, &size));
      CHECK(PetscAbsReal(dot) <= 1e-9 * size);
    }
  }
  PetscCall(VecDestroyVecs(PAIRS, &S));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode RitzPairs(void)
{
  PetscFunctionBegin;
  PetscCall(HarmonicPairs());
  for (int small = 0; small < 2; small++) {
    PetscCall(Ritz("60", small, "Poise's gmres"));
    PetscCall(Ritz("9", small, "PETSc's own gmres (Ritz pairs are asked for"));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Eigenvalues(void)
{
  PetscFunctionBegin;
  PetscCall(Spectrum("cg", "Poise's cg"));
  PetscCall(Spectrum("gmres", "Poise's gmres"));
  PetscFunctionReturn(0);
}

/* ---- what PETSc's own must do ---------------------------------------------------------------- */

/* A monitor that builds the solution: the norm of b - A x for it, by iteration. */
typedef struct Built {
  PetscInt n;
  PetscReal norm[N];
} Built;

static PetscErrorCode Build(KSP ksp, PetscInt it, PetscReal norm, void *arg)
{
  Built *built = arg;
  Vec r;
  (void)it;
  (void)norm;
  PetscFunctionBegin;
  CHECK(built->n < N);
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  PetscCall(VecNorm(r, NORM_2, &built->norm[built->n++]));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}

/* Another side in turn; a guess, which is PETSc's. */
static PetscErrorCode BothSidesOf(const char *pc)
{
  Problem p;
  Mat A;
  Built built[2] = {{0}, {0}};
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.5, 0, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", pc, &p));
  for (int turn = 0; turn < 3; turn++) {
    for (int k = 0; k < 2; k++) {
      KSP ksp = k ? p.poise : p.petsc;
      PetscCall(KSPSetPCSide(ksp, turn == 1 ? PC_LEFT : PC_SYMMETRIC));
      if (turn == 2) PetscCall(KSPMonitorSet(ksp, Build, &built[k], NULL));
    }
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, turn == 1 ? "Poise's own" : "preconditioner: PETSc's, from both sides");
    SAYS(p.poise, "Poise's gmres");
  }
  CHECK(built[0].n == built[1].n);
  for (PetscInt i = 0; i < PetscMin(built[0].n, built[1].n); i++)
    CHECK(PetscAbsReal(built[0].norm[i] - built[1].norm[i]) < 1e-6 * built[0].norm[0]);
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPMonitorCancel(k ? p.poise : p.petsc));
    PetscCall(KSPSetInitialGuessNonzero(k ? p.poise : p.petsc, PETSC_TRUE));
    PetscCall(VecSet(k ? p.y : p.x, 0.5));
  }
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "PETSc's own gmres (a guess");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode BothSides(void)
{
  PetscFunctionBegin;
  PetscCall(BothSidesOf("jacobi"));
  if (ranks == 1) PetscCall(BothSidesOf("icc"));
  PetscFunctionReturn(0);
}

/* Poise's preconditioner in a method of PETSc. */
static PetscErrorCode OwnMethodPoisePC(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_pc_type jacobi"));
  PetscCall(Begin(A, NULL, "cr", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  SAYS(p.poise, "PETSc's own cr");
  SAYS(p.poise, "type: poise"); /* of the PC */
  SAYS(p.poise, "PC: type jacobi");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Strict(void)
{
  Problem p;
  Mat A;
  PetscErrorCode e;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_strict error"));
  PetscCall(Begin(A, NULL, "cr", "jacobi", &p));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  e = KSPSolve(p.poise, p.b, p.y);
  PetscCall(PetscPopErrorHandler());
  CHECK(e == PETSC_ERR_SUP);
  PetscCall(End(&p));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_strict error"));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE)); /* nothing is PETSc's */
  PetscCall(End(&p));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_strict error"));
  PetscCall(Begin(A, NULL, "cg", "asm", &p));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  e = KSPSolve(p.poise, p.b, p.y);
  PetscCall(PetscPopErrorHandler());
  CHECK(e == PETSC_ERR_SUP);
  PetscCall(End(&p));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_strict loud"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  e = Begin(A, NULL, "cg", "jacobi", &p);
  PetscCall(PetscPopErrorHandler());
  CHECK(e == PETSC_ERR_USER_INPUT);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_strict"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(KSPSetFromOptions(p.poise));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_type nonsense"));
  e = KSPSetFromOptions(p.poise);
  PetscCall(PetscPopErrorHandler());
  CHECK(e == PETSC_ERR_ARG_UNKNOWN_TYPE);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_type"));
  PetscCall(KSPSetFromOptions(p.poise)); /* it is as before */
  PetscCall(KSPSolve(p.petsc, p.b, p.x));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  SAYS(p.poise, "Poise's cg");
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Types one after the other: no state of one is left to the next. */
static PetscErrorCode Changes(void)
{
  static const char *const types[] = {KSPGMRES, "poise", KSPCG,  "poise",  KSPRICHARDSON, KSPFGMRES, "poise",
                                      KSPLSQR,  "poise", KSPGCR, KSPGMRES, "poise",       KSPGMRES};
  Problem p;
  Mat A;
  PetscInt restart;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    PetscCall(KSPSetType(p.poise, types[k]));
    if (k % 2) PetscCall(KSPSolve(p.poise, p.b, p.y));
    if (k % 2) PetscCall(KSPGetConvergedReason(p.poise, &reason));
    if (k % 2) CHECK(reason > 0);
  }
  PetscCall(KSPGMRESGetRestart(p.poise, &restart));
  CHECK(restart == 30);
  PetscCall(KSPGMRESSetRestart(p.poise, 7));
  PetscCall(KSPSetType(p.poise, "poise"));
  PetscCall(KSPGMRESGetRestart(p.poise, &restart));
  CHECK(restart == 7);
  PetscCall(KSPGMRESSetRestart(p.poise, 8));
  PetscCall(KSPGMRESGetRestart(p.poise, &restart));
  CHECK(restart == 8);
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  SAYS(p.poise, "restart 8");
  PetscCall(KSPSetType(p.poise, KSPGMRES)); /* the type of its method: the state stays */
  PetscCall(KSPGMRESGetRestart(p.poise, &restart));
  CHECK(restart == 8);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

const Case of_methods[] = {
    {"PETSc's methods", OwnMethods},
    {"other names", OtherNames},
    {"the same in code", OwnInCode},
    {"trust regions", AsTAO},
    {"half steps", HalfSteps},
    {"of Poise alone", OfPoiseAlone},
    {"least squares", LeastSquares},
    {"norms and errors of lsqr", Lsqr},
    {"transposes", Transposes},
    {"settings in code", InCode},
    {"after options", AfterOptions},
#if PETSC_VERSION_GE(3, 19, 0)
    {"kept curvature", KeptCurvature},
#endif
    {"options of methods", OptionsOfMethods},
    {"eigenvalues", Eigenvalues},
    {"singular values in monitors", WatchedValues},
    {"Ritz pairs", RitzPairs},
    {"both sides", BothSides},
    {"Poise's PC in cr", OwnMethodPoisePC},
    {"strict", Strict},
    {"changes of type", Changes},
    {NULL, NULL},
};

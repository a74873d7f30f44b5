/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The plug-in, as a program of PETSc uses it. Each case solves twice, by a method of PETSc and with type
  poise, from the same calls. Norms of all iterations, reasons and solutions must agree. Any number of ranks.

    test_petsc libpoise_petsc.so
*/
#include <unistd.h>

#include <petsc/private/petscimpl.h>
#include <petscksp.h>

typedef struct Problem {
  Mat A, P;
  Vec b, x, y;
  KSP petsc, poise;
} Problem;

static int failures, checks;

#define CHECK(condition)                                                            \
  do {                                                                              \
    checks++;                                                                       \
    if (!(condition)) {                                                             \
      failures++;                                                                   \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, __func__, #condition); \
    }                                                                               \
  } while (0)

enum { N = 60 };

/* tridiag(-1 - skew, diagonal, -1 + skew), and with far != 0 entries far from the diagonal */
static PetscErrorCode MakeMat(const char *type, PetscReal diagonal, PetscReal skew, PetscReal far, Mat *A)
{
  PetscInt begin, end;
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
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

/* Two solvers of one prefix each ("a_", "b_"), whose options are set by the case. */
static PetscErrorCode Begin(Mat A, Mat P, const char *method, const char *pc, Problem *p)
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
  PetscCall(PetscSNPrintf(options, sizeof options, "-a_ksp_type %s -b_ksp_type poise -b_poise_ksp_type %s",
                          method, method));
  PetscCall(PetscOptionsInsertString(NULL, options));
  if (pc) {
    PetscCall(PetscSNPrintf(options, sizeof options, "-a_pc_type %s -b_pc_type %s", pc, pc));
    PetscCall(PetscOptionsInsertString(NULL, options));
  }
  for (int k = 0; k < 2; k++) {
    KSP *ksp = k ? &p->poise : &p->petsc;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOptionsPrefix(*ksp, k ? "b_" : "a_"));
    PetscCall(KSPSetOperators(*ksp, p->A, p->P));
    PetscCall(KSPSetTolerances(*ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetResidualHistory(*ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
    if (!pc) {
      PC c;
      PetscCall(KSPGetPC(*ksp, &c));
      PetscCall(PCSetType(c, PCNONE));
    }
    PetscCall(KSPSetFromOptions(*ksp));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Clear(void)
{
  PetscFunctionBegin;
  static const char *const keys[] = {
      "-a_ksp_type",      "-b_ksp_type",    "-b_poise_ksp_type", "-a_pc_type",        "-b_pc_type",
      "-b_poise_pc_type", "-a_sub_pc_type", "-b_sub_pc_type",    "-b_poise_ksp_rtol", NULL};
  for (int i = 0; keys[i]; i++) PetscCall(PetscOptionsClearValue(NULL, keys[i]));
  PetscFunctionReturn(0);
}

static PetscErrorCode End(Problem *p)
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

/* Solve by both, and compare. */
static PetscErrorCode Both(Problem *p, PetscBool transposed)
{
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
  CHECK(r[0] == r[1]);
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

/* Is the text of the view there? */
static PetscErrorCode Says(KSP ksp, const char *words, PetscBool *says)
{
  char name[] = "/tmp/poise_petsc_view_XXXXXX", text[1 << 14];
  PetscViewer viewer;
  PetscMPIInt rank;
  int fd = -1;
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
    *says = strstr(text, words) ? PETSC_TRUE : PETSC_FALSE;
    close(fd);
    unlink(name);
  }
  PetscCallMPI(MPI_Bcast(says, 1, MPIU_BOOL, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

#define SAYS(ksp, words)                 \
  do {                                   \
    PetscBool says_;                     \
    PetscCall(Says(ksp, words, &says_)); \
    CHECK(says_);                        \
  } while (0)

static PetscMPIInt ranks;

/* ---- what is solved -------------------------------------------------------------------------- */

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

/* ---- settings -------------------------------------------------------------------------------- */

static PetscErrorCode Tolerances(void)
{
  Problem p;
  Mat A;
  PetscInt first, its;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(KSPGetIterationNumber(p.poise, &first));
  for (int k = 0; k < 2; k++)
    PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, 1e-3, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(KSPGetIterationNumber(p.poise, &its));
  CHECK(its < first);
  for (int k = 0; k < 2; k++)
    PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 4));
  PetscCall(Both(&p, PETSC_FALSE)); /* DIVERGED_ITS */
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode NormsAndSides(void)
{
  static const struct {
    const char *method, *pc;
    KSPNormType norm;
    PCSide side;
  } cases[] = {
      {"gmres", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_RIGHT},
      {"gmres", "sor", KSP_NORM_DEFAULT, PC_RIGHT},
      {"gmres", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_SIDE_DEFAULT},
      {"bcgs", "jacobi", KSP_NORM_UNPRECONDITIONED, PC_RIGHT},
      {"cg", "jacobi", KSP_NORM_NATURAL, PC_LEFT},
      {"cg", "bjacobi", KSP_NORM_UNPRECONDITIONED, PC_LEFT},
      {"cg", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"gmres", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"fgmres", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"minres", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"richardson", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"preonly", "jacobi", KSP_NORM_DEFAULT, PC_SIDE_DEFAULT},
      {"richardson", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"bcgs", "jacobi", KSP_NORM_NONE, PC_LEFT},
      {"gmres", "sor", KSP_NORM_NONE, PC_RIGHT},
  };
  PetscFunctionBegin;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    Problem p;
    Mat A;
    PetscCall(MakeMat(MATAIJ, 4, 0, 0, &A));
    PetscCall(Begin(A, NULL, cases[c].method, cases[c].pc, &p));
    for (int k = 0; k < 2; k++) {
      if (cases[c].norm != KSP_NORM_DEFAULT) PetscCall(KSPSetNormType(k ? p.poise : p.petsc, cases[c].norm));
      if (cases[c].side != PC_SIDE_DEFAULT) PetscCall(KSPSetPCSide(k ? p.poise : p.petsc, cases[c].side));
      if (cases[c].norm == KSP_NORM_NONE)
        PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3));
    }
    PetscCall(Both(&p, PETSC_FALSE));
    KSPNormType norm[2];
    PetscCall(KSPGetNormType(p.petsc, &norm[0]));
    PetscCall(KSPGetNormType(p.poise, &norm[1]));
    CHECK(norm[0] == norm[1]);
    PetscCall(End(&p));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode AtFive(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *arg)
{
  Vec x;
  PetscReal size;
  (void)arg;
  PetscFunctionBegin;
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscCall(VecNorm(x, NORM_2, &size));
  CHECK(size > 0 || !it);
  CHECK(norm > 0);
  *reason = it == 5 ? KSP_CONVERGED_STEP_LENGTH : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(0);
}

static PetscErrorCode Tests(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSetConvergenceTest(k ? p.poise : p.petsc, KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetTolerances(k ? p.poise : p.petsc, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 9));
  }
  PetscCall(Both(&p, PETSC_FALSE));
  for (int k = 0; k < 2; k++) PetscCall(KSPSetConvergenceTest(k ? p.poise : p.petsc, AtFive, NULL, NULL));
  PetscCall(Both(&p, PETSC_FALSE));
  KSPConvergedReason reason;
  PetscCall(KSPGetConvergedReason(p.poise, &reason));
  CHECK(reason == KSP_CONVERGED_STEP_LENGTH);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Count(KSP ksp, PetscInt it, PetscReal norm, void *arg)
{
  Vec x;
  PetscInt *next = arg;
  (void)norm;
  PetscFunctionBegin;
  CHECK(it == *next);
  (*next)++;
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &x));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

static PetscErrorCode MonitorsAndGuess(void)
{
  Problem p;
  Mat A;
  PetscInt next = 0, its;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0.2, 0, &A));
  PetscCall(Begin(A, NULL, "gmres", "jacobi", &p));
  PetscCall(KSPMonitorSet(p.poise, Count, &next, NULL));
  for (int k = 0; k < 2; k++) PetscCall(KSPSetInitialGuessNonzero(k ? p.poise : p.petsc, PETSC_TRUE));
  PetscCall(VecSet(p.x, 0.3));
  PetscCall(VecSet(p.y, 0.3));
  PetscCall(Both(&p, PETSC_FALSE));
  PetscCall(KSPGetIterationNumber(p.poise, &its));
  CHECK(next == its + 1);
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- preconditioners ------------------------------------------------------------------------- */

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

/* Poise's own refuses what PETSc's does: a block on several ranks. */
static PetscErrorCode Fallback(void)
{
  Problem p;
  Mat A;
  PetscFunctionBegin;
  if (ranks == 1) PetscFunctionReturn(0);
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

/* ---- options --------------------------------------------------------------------------------- */

static PetscErrorCode Unused(PetscInt *unused)
{
  char **names, **values;
  PetscInt n;
  PetscFunctionBegin;
  *unused = 0;
  PetscCall(PetscOptionsLeftGet(NULL, &n, &names, &values));
  for (PetscInt i = 0; i < n; i++) *unused += strstr(names[i], "poise_") != NULL;
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &names, &values));
  PetscFunctionReturn(0);
}

/* Several solvers, options that change, and names that nobody knows. */
static PetscErrorCode Options(void)
{
  Problem p, q;
  Mat A;
  PetscInt unused, first, second;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_rtol 1e-2"));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_rtol"));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_divtol 1e6"));
  PetscCall(Begin(A, NULL, "pipecg", "jacobi", &q)); /* the same prefix, other options */
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(KSPSolve(q.poise, q.b, q.y));
  PetscCall(KSPGetIterationNumber(p.poise, &first));
  PetscCall(KSPGetIterationNumber(q.poise, &second));
  CHECK(first < second); /* the option is not for q, and overrides KSPSetTolerances in p */
  SAYS(q.poise, "Poise's cg, for pipecg");
  PetscCall(Unused(&unused));
  CHECK(unused == 0);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_divtol"));
  PetscCall(KSPSetTolerances(p.poise, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT,
                             PETSC_DEFAULT)); /* the later call wins */
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(KSPGetIterationNumber(p.poise, &second));
  CHECK(first < second);
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_colour red"));
  PetscCall(Unused(&unused));
  CHECK(unused == 1);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_colour"));
  PetscCall(End(&p));
  PetscCall(End(&q));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_tpye cg"));
  PetscCall(Begin(A, NULL, "cg", "jacobi", &p));
  PetscCall(KSPSolve(p.poise, p.b, p.y));
  PetscCall(Unused(&unused));
  CHECK(unused == 1);
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_tpye"));
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* The method that the program has set stays, and its prefix need not be known. */
static PetscErrorCode ReplacesType(void)
{
  KSP ksp;
  Mat A;
  Vec x, b;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPMINRES));
  PetscCall(KSPSetType(ksp, "poise"));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  CHECK(reason == KSP_CONVERGED_RTOL);
  SAYS(ksp, "method: Poise's minres");
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  CHECK(reason == KSP_CONVERGED_RTOL);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscErrorCode (*run)(void);
  } cases[] = {
      {"second matrix", SecondMatrix},
      {"new values", NewValues},
      {"new pattern", NewPattern},
      {"transposed", Transposed},
      {"another P", OtherP},
      {"types of matrices", Types},
      {"nested", Nested},
      {"unsorted", Unsorted},
      {"null spaces", NullSpaces},
      {"tolerances", Tolerances},
      {"norms, sides", NormsAndSides},
      {"tests", Tests},
      {"monitors", MonitorsAndGuess},
      {"own PCs", OwnPCs},
      {"PETSc's PCs", PetscPCs},
      {"PC afterwards", PCAfterwards},
      {"failed set-up", FailedSetUp},
      {"PC poise", PoisePCs},
      {"fallback", Fallback},
      {"options", Options},
      {"replaces", ReplacesType},
  };
  char plugin[512], *words[] = {argv[0], "-dll_append", plugin, NULL}, **arguments = words;
  int n = 3;
  if (argc < 2) return 2;
  snprintf(plugin, sizeof plugin, "%s", argv[1]);
  PetscCall(PetscInitialize(&n, &arguments, NULL, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    if (argc > 2 && strcmp(argv[2], cases[k].name)) continue;
    const int before = failures;
    PetscCall(cases[k].run());
    PetscCall(
        PetscPrintf(PETSC_COMM_WORLD, "%-18s %s\n", cases[k].name, failures > before ? "FAILED" : "ok"));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d checks on rank 0, %d failures\n", checks, failures));
  PetscCall(PetscFinalize());
  return failures != 0;
}

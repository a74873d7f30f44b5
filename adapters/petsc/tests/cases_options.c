/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, prefixes and types, and what stays behind when solvers are gone. */
#include <malloc.h>
#include <unistd.h>

#include "test.h"

static int made, communicators; /* duplicated; and not freed */

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
  made++;
  communicators++;
  return PMPI_Comm_dup(comm, copy);
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *part)
{
  communicators += colour != MPI_UNDEFINED;
  return PMPI_Comm_split(comm, colour, key, part);
}

int MPI_Comm_free(MPI_Comm *comm)
{
  communicators--;
  return PMPI_Comm_free(comm);
}

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

/* Solve with a solver of this type and prefix that is made and destroyed. leave: the option of its type is in
   the database only while it is read. */
static PetscErrorCode SolveOnce(Mat A, const char *prefix, const char *type, PetscBool leave, PetscInt *its)
{
  KSP ksp;
  PC pc;
  Vec x, b;
  char key[512];
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(PetscSNPrintf(key, sizeof key, "-%sksp_type", prefix));
  PetscCall(PetscOptionsSetValue(NULL, key, type));
  PetscCall(KSPSetFromOptions(ksp));
  if (leave) PetscCall(PetscOptionsClearValue(NULL, key));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

/* Bytes that `count` solvers with a prefix and options each leave behind. */
static PetscErrorCode LeftBehind(Mat A, const char *type, int count, PetscInt *bytes)
{
  char prefix[32], key[64];
  PetscInt its, unused;
  size_t before = 0;
  PetscFunctionBegin;
  for (int i = 0; i < 10 + count; i++) {
    if (i == 10) before = mallinfo2().uordblks;
    PetscCall(PetscSNPrintf(prefix, sizeof prefix, "solver_%s_%d_", type, i));
    PetscCall(PetscSNPrintf(key, sizeof key, "-%spoise_ksp_gmres_restart", prefix));
    PetscCall(PetscOptionsSetValue(NULL, key, "20"));
    PetscCall(SolveOnce(A, prefix, type, PETSC_TRUE, &its));
    PetscCall(Unused(&unused));
    CHECK(unused == !strcmp(type, KSPGMRES));
    PetscCall(PetscOptionsClearValue(NULL, key));
  }
  *bytes = (PetscInt)(mallinfo2().uordblks - before);
  PetscFunctionReturn(0);
}

/* Solvers with a prefix each, as some packages name them: nothing stays when they are gone. */
static PetscErrorCode ManyPrefixes(void)
{
  enum { COUNT = 300 };
  Mat A;
  PetscInt petsc, poise;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(LeftBehind(A, KSPGMRES, COUNT, &petsc));
  PetscCall(LeftBehind(A, "poise", COUNT, &poise));
  CHECK(poise <= petsc + 100 * COUNT);
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* PETSc gives up at 512 options, so a value of each solver that stays is few. */
static PetscErrorCode OptionsThatStay(void)
{
  enum { COUNT = 100 };
  Mat A;
  char prefix[32], key[64], value[32];
  PetscInt its, least = 1000, most = 0, unused;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.01, 0, 0, &A));
  for (int turn = 0; turn < 2; turn++) /* in the second, PETSc calls all of them used */
    for (int i = 0; i < COUNT; i++) {
      PetscCall(PetscSNPrintf(prefix, sizeof prefix, "stays_%d_", i));
      PetscCall(PetscSNPrintf(key, sizeof key, "-%spoise_ksp_rtol", prefix));
      PetscCall(PetscSNPrintf(value, sizeof value, "%g", i % 2 ? 1e-1 : 1e-8));
      if (!turn) PetscCall(PetscOptionsSetValue(NULL, key, value));
      PetscCall(SolveOnce(A, prefix, "poise", PETSC_FALSE, &its));
      if (i % 2) most = PetscMax(most, its);
      if (i % 2 == 0) least = PetscMin(least, its);
    }
  CHECK(most < least);
  PetscCall(Unused(&unused));
  CHECK(unused == 0);
  for (int i = 0; i < COUNT; i++) {
    PetscCall(PetscSNPrintf(key, sizeof key, "-stays_%d_poise_ksp_rtol", i));
    PetscCall(PetscOptionsClearValue(NULL, key));
    PetscCall(PetscSNPrintf(key, sizeof key, "-stays_%d_ksp_type", i));
    PetscCall(PetscOptionsClearValue(NULL, key));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* An option for which the present method has no use is named at the end, until a solver uses it. */
static PetscErrorCode NobodyAsked(void)
{
  Mat A;
  PetscInt its, unused;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-idle_poise_ksp_type cg -idle_poise_ksp_gmres_restart 7"));
  for (int k = 0; k < 3; k++) {
    if (k == 1) PetscCall(PetscOptionsSetValue(NULL, "-idle_poise_ksp_type", "gmres"));
    if (k == 2) PetscCall(PetscOptionsSetValue(NULL, "-idle_poise_ksp_type", "cg"));
    PetscCall(SolveOnce(A, "idle_", "poise", PETSC_TRUE, &its));
    PetscCall(Unused(&unused));
    CHECK(unused == (k == 0));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-idle_poise_ksp_type"));
  PetscCall(PetscOptionsClearValue(NULL, "-idle_poise_ksp_gmres_restart"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Two prefixes of 200 letters that differ in the last one. */
static PetscErrorCode LongPrefix(void)
{
  Mat A;
  char prefix[256], key[512];
  PetscInt its[2], unused;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.01, 0, 0, &A));
  for (int k = 0; k < 2; k++) {
    memset(prefix, 'l', 200);
    PetscCall(PetscSNPrintf(prefix + 200, sizeof prefix - 200, "%d_", k));
    PetscCall(PetscSNPrintf(key, sizeof key, "-%spoise_ksp_rtol", prefix));
    PetscCall(PetscOptionsSetValue(NULL, key, k ? "1e-1" : "1e-8"));
    PetscCall(SolveOnce(A, prefix, "poise", PETSC_TRUE, &its[k]));
    PetscCall(Unused(&unused));
    CHECK(unused == 0);
    PetscCall(PetscOptionsClearValue(NULL, key));
  }
  CHECK(its[1] < its[0]);
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A value with blanks, and with words that look like keys: here the name of a file. */
static PetscErrorCode Blanks(void)
{
  Mat A;
  char folder[] = "/tmp/poise_petsc_XXXXXX", path[64], value[64];
  PetscMPIInt rank;
  PetscInt its;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) CHECK(mkdtemp(folder) != NULL);
  PetscCallMPI(MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCall(MakeMat(MATAIJ, 3, 0, 0, &A));
  for (int turn = 1; turn < 3; turn++) { /* in the second, PETSc calls the option used */
    PetscCall(PetscSNPrintf(path, sizeof path, "%s/a -b_poise_ksp_rtol %d.csv", folder, turn));
    PetscCall(PetscSNPrintf(value, sizeof value, ":%s", path));
    PetscCall(PetscOptionsSetValue(NULL, "-b_poise_ksp_monitor", value));
    PetscCall(SolveOnce(A, "b_", "poise", PETSC_TRUE, &its));
    CHECK(its > 1); /* and not 1 as a tolerance */
    if (!rank) CHECK(!access(path, R_OK) && !unlink(path));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_monitor"));
  if (!rank) CHECK(!rmdir(folder));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* An option of all levels, as PETSc names them, and of one. */
static PetscErrorCode Levels(void)
{
  Mat A;
  PetscInt all, one, both, unused;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.01, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-l_poise_ksp_rtol 1e-8 -l_2_poise_ksp_rtol 1e-1"));
  PetscCall(SolveOnce(A, "l_1_", "poise", PETSC_TRUE, &all));
  PetscCall(Unused(&unused));
  CHECK(unused == 1);
  PetscCall(SolveOnce(A, "l_2_", "poise", PETSC_TRUE, &one));
  PetscCall(Unused(&unused));
  CHECK(unused == 0);
  PetscCall(PetscOptionsInsertString(NULL, "-two_poise_ksp_rtol 1e-1 -two_3_poise_ksp_max_it 1"));
  PetscCall(SolveOnce(A, "two_3_4_", "poise", PETSC_TRUE, &both));
  CHECK(one < all);
  CHECK(both == 1);
  PetscCall(Unused(&unused));
  CHECK(unused == 0);
  PetscCall(PetscOptionsClearValue(NULL, "-l_poise_ksp_rtol"));
  PetscCall(PetscOptionsClearValue(NULL, "-l_2_poise_ksp_rtol"));
  PetscCall(PetscOptionsClearValue(NULL, "-two_poise_ksp_rtol"));
  PetscCall(PetscOptionsClearValue(NULL, "-two_3_poise_ksp_max_it"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveOn(MPI_Comm comm)
{
  Mat A;
  KSP ksp[2];
  Vec x, b;
  KSPConvergedReason reason;
  PetscFunctionBegin;
  PetscCall(MatCreateConstantDiagonal(comm, 3, 3, PETSC_DETERMINE, PETSC_DETERMINE, 2, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPCreate(comm, &ksp[k]));
    PetscCall(KSPSetOperators(ksp[k], A, A));
    PetscCall(KSPSetType(ksp[k], "poise"));
    PetscCall(KSPSetFromOptions(ksp[k]));
    PetscCall(KSPSolve(ksp[k], b, x));
  }
  PetscCall(KSPDestroy(&ksp[0]));
  PetscCall(VecSet(b, 4));
  PetscCall(KSPSolve(ksp[1], b, x)); /* it does not mind that the other is gone */
  PetscCall(KSPGetConvergedReason(ksp[1], &reason));
  CHECK(reason > 0);
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp[1]));
  PetscFunctionReturn(0);
}

/* What is made for a communicator goes with it; for that of all ranks, or of one, it is made once. */
static PetscErrorCode Communicators(void)
{
  MPI_Comm part;
  PetscMPIInt rank;
  int before;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(SolveOn(PETSC_COMM_WORLD));
  PetscCall(SolveOn(PETSC_COMM_SELF));
  before = communicators;
  for (int i = 0; i < 20; i++) {
    PetscCallMPI(PMPI_Comm_split(PETSC_COMM_WORLD, i % 2 ? 0 : rank % 2, rank, &part));
    PetscCall(SolveOn(part));
    PetscCallMPI(PMPI_Comm_free(&part));
    CHECK(communicators == before);
  }
  before = made;
  PetscCall(SolveOn(PETSC_COMM_SELF));
  PetscCall(SolveOn(PETSC_COMM_WORLD));
  CHECK(made == before);
  PetscFunctionReturn(0);
}

/* The program takes its options away, as Firedrake does, and then changes a setting of the PC: what the
   options said stays, and the later call wins over an option of its own. */
static PetscErrorCode SettingsLater(void)
{
  Problem p;
  Mat A;
  PC pc;
  PetscFunctionBegin;
  PetscCall(MakeMat(MATAIJ, 2.1, 0, 0, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-b_poise_ksp_gmres_restart 4 -b_poise_pc_sor_omega 0.7"));
  PetscCall(Begin(A, NULL, "gmres", "sor", &p));
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_ksp_gmres_restart"));
  PetscCall(PetscOptionsClearValue(NULL, "-b_poise_pc_sor_omega"));
  PetscCall(KSPGMRESSetRestart(p.petsc, 4));
  for (PetscReal omega = 0.7; omega < 1.6; omega += 0.4) {
    PetscCall(KSPGetPC(p.petsc, &pc));
    PetscCall(PCSORSetOmega(pc, omega));
    PetscCall(KSPGetPC(p.poise, &pc));
    if (omega > 0.7) PetscCall(PCSORSetOmega(pc, omega));
    PetscCall(Both(&p, PETSC_FALSE));
    SAYS(p.poise, "restart 4");
    SAYS(p.poise, "Poise's own sor");
  }
  PetscCall(End(&p));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

const Case of_options[] = {
    {"options", Options},
    {"replaces", ReplacesType},
    {"many_prefixes", ManyPrefixes},
    {"options_stay", OptionsThatStay},
    {"nobody_asked", NobodyAsked},
    {"long_prefix", LongPrefix},
    {"blanks", Blanks},
    {"levels", Levels},
    {"settings later", SettingsLater},
    {"communicators", Communicators},
    {NULL, NULL},
};

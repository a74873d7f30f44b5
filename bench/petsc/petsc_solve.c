/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The same systems solved by Poise and by PETSc in one process: one matrix, one b, one set of options that
  both libraries read for themselves, from the command line and from -options_file. Prints what came out side
  by side.

    petsc_solve -A matrix.mtx.gz -ksp_type cg -pc_type jacobi -ksp_rtol 1e-8
    mpirun -n 4 petsc_solve -A matrix.mtx.gz -solves a_,b_ -a_ksp_type cg -b_ksp_type bcgs -b_pc_type bjacobi

  Every word of -solves is an options prefix and makes one solve. x starts from zero. With -factors k it is
  made k times, with b times 1, 3, 5, ...: the same system, only that all is rounded otherwise. Both true
  residuals |b - A x| / |b| are computed by Poise. A solver that cannot be set up is a result ("error: ..."),
  not the end. One "name | Poise | PETSc" line each; the norms are those of iterations 0 to -norms. Exit code
  0 when all solves were made, whatever came of them.
*/
#include <inttypes.h>
#include <petscksp.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

typedef struct Settings {
  char A[POISE_OPTION_LENGTH], b[POISE_OPTION_LENGTH], solves[POISE_OPTION_LENGTH];
  PoiseInt norms, factors;
} Settings;

static const PoiseOption options[] = {
    {"A", POISE_OPTION_STRING, offsetof(Settings, A), "", 0, 0, NULL,
     "Matrix Market file of A, plain or gzip (required)"},
    {"b", POISE_OPTION_STRING, offsetof(Settings, b), "", 0, 0, NULL,
     "Matrix Market file of b; default: b = A times ones"},
    {"solves", POISE_OPTION_STRING, offsetof(Settings, solves), "", 0, 0, NULL,
     "prefixes of the solvers' options, separated by commas; default: one solver without prefix"},
    {"norms", POISE_OPTION_INT, offsetof(Settings, norms), "10", 0, 1e6, NULL,
     "print the norms up to this iteration"},
    {"factors", POISE_OPTION_INT, offsetof(Settings, factors), "1", 1, 1e6, NULL,
     "solve with b times 1, 3, 5, ..., so many times"},
    {0}};

typedef struct Problem { /* everything twice */
  PoiseContext ctx;
  MPI_Comm comm;
  PoiseMat A;
  PoiseVec given, b, x; /* b: a multiple of the given one */
  Mat petsc_A;
  Vec petsc_b, petsc_x;
  double norm_b;
} Problem;

typedef struct Result {
  char reason[POISE_OPTION_LENGTH], norm[32];
  PoiseInt its, count; /* count of norms */
  double *norms, true_residual, setup, solve;
} Result;

/* ---- PETSc's errors as Poise's --------------------------------------------------------------- */

static PoiseErr Fail(PetscErrorCode code)
{
  const char *text;
  char *specific;
  PetscErrorMessage(code, &text, &specific);
  POISE_FAIL(POISE_ERR_USER, "PETSc: %s", specific && *specific ? specific : text);
}

#define PETSC(call)                    \
  do {                                 \
    PetscErrorCode code_ = (call);     \
    if (code_) POISE_TRY(Fail(code_)); \
  } while (0)

/* ---- the system ------------------------------------------------------------------------------ */

static PoiseErr Load(const Settings *set, Problem *p)
{
  PoiseInt m;
  POISE_TRY(PoiseMatLoad(p->ctx, set->A, &p->A));
  POISE_TRY(PoiseMatSetFromOptions(p->A));
  POISE_TRY(PoiseMatCreateVecs(p->A, &p->x, &p->b));
  PoiseMatLocalSizes(p->A, &m, NULL);
  if (set->b[0]) return PoiseVecLoad(p->ctx, m, POISE_DECIDE, set->b, &p->given);
  POISE_TRY(PoiseVecDuplicate(p->b, &p->given));
  POISE_TRY(PoiseVecSet(p->x, 1));
  return PoiseMatMult(p->A, p->x, p->given);
}

typedef struct Rows { /* this rank's, for PETSc */
  PetscInt m, M, *ptr, *col;
  double *val;
} Rows;

/* The rows that PETSc would give this rank must be those that Poise did. */
static PoiseErr CheckSplit(MPI_Comm comm, const Rows *r)
{
  PetscInt m = PETSC_DECIDE, M = r->M;
  PETSC(PetscSplitOwnership(comm, &m, &M));
  if (m != r->m)
    POISE_FAIL(POISE_ERR_SIZE, "of %d rows PETSc gives this rank %d, Poise %d", (int)M, (int)m, (int)r->m);
  return POISE_OK;
}

static PoiseErr CopyRows(const Problem *p, Rows *r)
{
  PoiseInt M, m, begin, n, nz = 0;
  const PoiseInt *col;
  const double *val;
  PoiseMatSizes(p->A, &M, NULL);
  PoiseMatLocalSizes(p->A, &m, NULL);
  PoiseVecRange(p->x, &begin, &n);
  r->m = (PetscInt)m;
  r->M = (PetscInt)M;
  for (PoiseInt i = begin; i < begin + m; i++, nz += n) POISE_TRY(PoiseMatGetRow(p->A, i, &n, NULL, NULL));
  r->ptr = malloc((size_t)(m + 1 + nz) * sizeof *r->ptr);
  r->val = malloc((size_t)(nz + 1) * sizeof *r->val);
  if (!r->ptr || !r->val) POISE_FAIL(POISE_ERR_MEMORY, "%" PRId64 " entries for PETSc", nz);
  r->col = r->ptr + m + 1;
  r->ptr[0] = 0;
  for (PetscInt i = 0; i < m; i++) {
    POISE_TRY(PoiseMatGetRow(p->A, begin + i, &n, &col, &val));
    for (PoiseInt k = 0; k < n; k++) {
      r->col[r->ptr[i] + k] = (PetscInt)col[k];
      r->val[r->ptr[i] + k] = val[k];
    }
    r->ptr[i + 1] = r->ptr[i] + (PetscInt)n;
  }
  return POISE_OK;
}

static PoiseErr CreateMatrix(Problem *p, const Rows *r)
{
  POISE_TRY(PoiseAgree(p->ctx, CheckSplit(p->comm, r)));
  PETSC(MatCreate(p->comm, &p->petsc_A));
  PETSC(MatSetSizes(p->petsc_A, r->m, r->m, r->M, r->M));
  PETSC(MatSetType(p->petsc_A, MATAIJ));
  PETSC(MatSetFromOptions(p->petsc_A));
  /* each acts on matrices of its own type */
  PETSC(MatSeqAIJSetPreallocationCSR(p->petsc_A, r->ptr, r->col, r->val));
  PETSC(MatMPIAIJSetPreallocationCSR(p->petsc_A, r->ptr, r->col, r->val));
  PETSC(MatCreateVecs(p->petsc_A, &p->petsc_x, &p->petsc_b));
  return POISE_OK;
}

static PoiseErr CopyMatrix(Problem *p)
{
  Rows r = {0};
  PoiseErr e = PoiseAgree(p->ctx, CopyRows(p, &r));
  if (!e) e = CreateMatrix(p, &r);
  free(r.ptr);
  free(r.val);
  return e;
}

/* b = factor times the given one, in both libraries */
static PoiseErr SetB(Problem *p, double factor)
{
  const double *from;
  PetscScalar *to;
  POISE_TRY(PoiseVecAXPBY(p->b, factor, 0, p->given));
  POISE_TRY(PoiseVecNorm(p->b, POISE_NORM_2, &p->norm_b));
  POISE_TRY(PoiseVecGetRead(p->b, &from));
  PETSC(VecGetArray(p->petsc_b, &to));
  memcpy(to, from, (size_t)PoiseVecLocalSize(p->b) * sizeof *to);
  PETSC(VecRestoreArray(p->petsc_b, &to));
  return PoiseVecRestore(p->b, &from);
}

static PoiseErr CopySolution(Problem *p)
{
  double *to;
  const PetscScalar *from;
  POISE_TRY(PoiseVecGetWrite(p->x, &to));
  PETSC(VecGetArrayRead(p->petsc_x, &from));
  memcpy(to, from, (size_t)PoiseVecLocalSize(p->x) * sizeof *to);
  PETSC(VecRestoreArrayRead(p->petsc_x, &from));
  return PoiseVecRestore(p->x, &to);
}

/* ---- the solves ------------------------------------------------------------------------------ */

static void Seconds(PoiseContext ctx, double *start, double *seconds)
{
  *seconds = PoiseTime() - *start;
  PoiseMax(ctx, 1, seconds);
  *start = PoiseTime();
}

static PoiseErr SolvePoise(Problem *p, const char *prefix, PoiseKSP ksp, Result *r)
{
  const double *norms;
  POISE_TRY(PoiseKSPSetOptionsPrefix(ksp, *prefix ? prefix : NULL));
  POISE_TRY(PoiseKSPSetOperators(ksp, p->A, NULL));
  POISE_TRY(PoiseKSPKeepHistory(ksp, 1));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseBarrier(p->ctx));
  double start = PoiseTime();
  POISE_TRY(PoiseKSPSetUp(ksp));
  Seconds(p->ctx, &start, &r->setup);
  POISE_TRY(PoiseKSPSolve(ksp, p->b, p->x));
  Seconds(p->ctx, &start, &r->solve);
  r->its = PoiseKSPIterations(ksp);
  snprintf(r->reason, sizeof r->reason, "%s", PoiseKSPReasonString(PoiseKSPConvergedReason(ksp)));
  snprintf(r->norm, sizeof r->norm, "%s", PoiseKSPNormString(PoiseKSPNormUsed(ksp)));
  PoiseInt count;
  POISE_TRY(PoiseKSPHistory(ksp, &count, &norms));
  if (count < r->count) r->count = count;
  for (PoiseInt k = 0; k < r->count; k++) r->norms[k] = norms[k];
  return POISE_OK;
}

/* What one rank cannot set up, no rank goes on with: PETSc's ranks would wait for each other. */
static PoiseErr SetUpPETSc(Problem *p, KSP ksp)
{
  PetscErrorCode code = KSPSetUp(ksp);
  POISE_TRY(PoiseAgree(p->ctx, code ? Fail(code) : POISE_OK));
  code = KSPSetUpOnBlocks(ksp);
  return PoiseAgree(p->ctx, code ? Fail(code) : POISE_OK);
}

static PoiseErr SolvePETSc(Problem *p, const char *prefix, KSP ksp, Result *r)
{
  KSPConvergedReason reason;
  KSPNormType norm;
  PetscInt its, count;
  PETSC(KSPSetOptionsPrefix(ksp, *prefix ? prefix : NULL));
  PETSC(KSPSetOperators(ksp, p->petsc_A, p->petsc_A));
  PETSC(KSPSetFromOptions(ksp));
  PETSC(KSPSetResidualHistory(ksp, r->norms, (PetscInt)r->count, PETSC_TRUE));
  POISE_TRY(PoiseBarrier(p->ctx));
  double start = PoiseTime();
  POISE_TRY(SetUpPETSc(p, ksp));
  Seconds(p->ctx, &start, &r->setup);
  PETSC(KSPSolve(ksp, p->petsc_b, p->petsc_x));
  Seconds(p->ctx, &start, &r->solve);
  PETSC(KSPGetIterationNumber(ksp, &its));
  PETSC(KSPGetConvergedReason(ksp, &reason));
  PETSC(KSPGetNormType(ksp, &norm));
  PETSC(KSPGetResidualHistory(ksp, NULL, &count));
  r->its = its;
  r->count = count;
  snprintf(r->reason, sizeof r->reason, "%s", KSPConvergedReasons[reason]);
  snprintf(r->norm, sizeof r->norm, "%s", KSPNormTypes[norm]);
  return CopySolution(p);
}

static PoiseErr TrueResidual(Problem *p, double *residual)
{
  PoiseVec w;
  POISE_TRY(PoiseVecDuplicate(p->b, &w));
  PoiseErr e = PoiseMatResidual(p->A, p->b, p->x, w);
  if (!e) e = PoiseVecNorm(w, POISE_NORM_2, residual);
  PoiseVecDestroy(&w);
  if (p->norm_b > 0) *residual /= p->norm_b;
  return e;
}

/* Of a solve that returned err. */
static PoiseErr Conclude(Problem *p, PoiseErr err, Result *r)
{
  if (!err) return TrueResidual(p, &r->true_residual);
  snprintf(r->reason, sizeof r->reason, "error: %s", PoiseErrorMessage());
  for (char *end = r->reason; *end; end++)
    if (*end == '\n' || *end == '|') *end = ' ';
  PoiseErrorClear();
  r->count = 0;
  r->norm[0] = '\0';
  return POISE_OK;
}

static PoiseErr PrintNumber(PoiseContext ctx, const char *name, const char *format, int a, double va, int b,
                            double vb)
{
  char text[2][32] = {"", ""};
  if (a) snprintf(text[0], sizeof text[0], format, va);
  if (b) snprintf(text[1], sizeof text[1], format, vb);
  return PoisePrintf(ctx, "%-14s | %-26s | %s\n", name, text[0], text[1]);
}

static PoiseErr Print(PoiseContext ctx, const char *prefix, const Result *a, const Result *b)
{
  char name[32];
  int ok_a = a->norm[0] != 0, ok_b = b->norm[0] != 0; /* there was a solve */
  POISE_TRY(PoisePrintf(ctx, "solve %s\n%-14s | %-26s | PETSc\n", prefix, "", "Poise"));
  for (PoiseInt k = 0; k < a->count || k < b->count; k++) {
    snprintf(name, sizeof name, "norm %" PRId64, k);
    POISE_TRY(PrintNumber(ctx, name, "%.12e", k < a->count, a->norms[k], k < b->count, b->norms[k]));
  }
  POISE_TRY(PoisePrintf(ctx, "%-14s | %-26s | %s\n", "norm type", a->norm, b->norm));
  POISE_TRY(PrintNumber(ctx, "iterations", "%.0f", ok_a, (double)a->its, ok_b, (double)b->its));
  POISE_TRY(PoisePrintf(ctx, "%-14s | %-26s | %s\n", "reason", a->reason, b->reason));
  POISE_TRY(PrintNumber(ctx, "true residual", "%.3e", ok_a, a->true_residual, ok_b, b->true_residual));
  POISE_TRY(PrintNumber(ctx, "time set-up", "%.4f s", ok_a, a->setup, ok_b, b->setup));
  POISE_TRY(PrintNumber(ctx, "time solve", "%.4f s", ok_a, a->solve, ok_b, b->solve));
  return PoisePrintf(ctx, "\n");
}

static PoiseErr SolveBoth(Problem *p, const char *prefix, Result *a, Result *b)
{
  PoiseKSP ksp;
  KSP petsc_ksp;
  POISE_TRY(PoiseKSPCreate(p->ctx, &ksp));
  PoiseErr err = SolvePoise(p, prefix, ksp, a);
  POISE_TRY(Conclude(p, err, a));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  PETSC(KSPCreate(p->comm, &petsc_ksp));
  err = SolvePETSc(p, prefix, petsc_ksp, b);
  POISE_TRY(Conclude(p, err, b));
  PETSC(KSPDestroy(&petsc_ksp));
  return Print(p->ctx, prefix, a, b);
}

static PoiseErr SolveAll(Settings *set, Problem *p)
{
  char *rest = set->solves;
  for (char *prefix = rest; rest; prefix = rest) {
    rest = strchr(prefix, ',');
    if (rest) *rest++ = '\0';
    Result a = {.count = set->norms + 1}, b = a;
    a.norms = calloc(2 * (size_t)a.count, sizeof *a.norms);
    b.norms = a.norms + a.count;
    PoiseErr e = PoiseAgree(p->ctx, a.norms ? POISE_OK : POISE_ERR_MEMORY);
    for (PoiseInt k = 0; !e && k < set->factors; k++) {
      a.count = b.count = set->norms + 1;
      e = SetB(p, 2. * (double)k + 1);
      if (!e) e = SolveBoth(p, prefix, &a, &b);
    }
    free(a.norms);
    POISE_TRY(e);
  }
  return POISE_OK;
}

static PoiseErr Run(PoiseContext ctx)
{
  Settings set;
  Problem p = {.ctx = ctx, .comm = PETSC_COMM_WORLD};
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  if (set.A[0] == '\0') POISE_FAIL(POISE_ERR_OPTION, "no matrix: give -A file.mtx[.gz]");
  PoiseErr e = Load(&set, &p);
  if (!e) e = PoiseAgree(ctx, CopyMatrix(&p));
  if (!e) e = SolveAll(&set, &p);
  VecDestroy(&p.petsc_x);
  VecDestroy(&p.petsc_b);
  MatDestroy(&p.petsc_A);
  PoiseVecDestroy(&p.x);
  PoiseVecDestroy(&p.b);
  PoiseVecDestroy(&p.given);
  PoiseMatDestroy(&p.A);
  return e;
}

/* Poise starts MPI, and ends it at the exit of the process; PETSc leaves an MPI alone that it did not
   start. */
static PoiseErr RunBoth(PoiseContext ctx, int *argc, char ***argv)
{
  PETSC(PetscInitialize(argc, argv, NULL, NULL));
  PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PoiseErr e = Run(ctx);
  PetscFinalize();
  return e;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "The same systems solved by Poise and by PETSc.", .options = options};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = RunBoth(ctx, &argc, &argv);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  PoiseErr end = PoiseFinalize(&ctx);
  if (end != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK || end != POISE_OK;
}

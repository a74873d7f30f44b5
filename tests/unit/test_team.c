/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solves that workers do (-gpus, -solve_ranks) for an application of one rank. They have the bits of a solve
  by as many ranks of PoiseRun with the same rows; residuals are computed here, entry by entry.
*/
#include <pthread.h>

#include "files.h"
#include "harness.h"
#include "ksp/ksp.h"
#include "unequal.h"

/* ---- parts of ranks -------------------------------------------------------------------------- */

/* As -mat_partition nonzeros distributes the rows. */
static PoiseErr CutRows(PoiseContext ctx, const System *s, PoiseInt *begin, PoiseInt *m)
{
  PoiseMat A, B;
  PoiseSplit(ctx, s->n / 2, begin, m);
  POISE_TRY(RowsOf(ctx, s, 2 * *begin, 2 * *m, &A));
  POISE_TRY(PoiseMatSetPartition(A, POISE_PARTITION_NONZEROS));
  POISE_TRY(PoiseMatRearrange(A, &B, NULL));
  *begin = B->rows->begin, *m = B->rows->n;
  POISE_TRY(PoiseMatDestroy(&B));
  return PoiseMatDestroy(&A);
}

typedef struct Reference { /* of PoiseRun; rank 0 writes */
  const System *s;
  Outcome *out; /* of every case */
} Reference;

static PoiseErr SolveOnRanks(PoiseContext ctx, void *arg)
{
  const Reference *r = arg;
  PoiseInt begin, m;
  PoiseMat A;
  POISE_TRY(CutRows(ctx, r->s, &begin, &m));
  POISE_TRY(RowsOf(ctx, r->s, begin, m, &A));
  for (int c = 0; c < CASES; c++)
    CHECK_OK(SolveCase(ctx, A, r->s, &cases[c], PoiseRank(ctx) ? NULL : &r->out[c]));
  return PoiseMatDestroy(&A);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static bool OpenWith(PoiseContext ctx, const char *option, int n, const char *more, PoiseContext *own)
{
  char words[256];
  snprintf(words, sizeof words, "-device %s -host_threads 1 %s %d %s", ctx->device->ops->name, option, n,
           more);
  return CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, words, own));
}

/* n = 0: without the option. */
static bool Open(PoiseContext ctx, int n, PoiseContext *own)
{
  return OpenWith(ctx, n ? "-solve_ranks" : "-ranks", n ? n : 1, "", own);
}

/* A system of one rank, and its matrix and vectors. */
typedef struct Program {
  PoiseContext ctx;
  System *s;
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
} Program;

static bool Start(PoiseContext ctx, int n, const char *method, const char *pc, Program *a)
{
  *a = (Program){.s = malloc(sizeof *a->s)};
  if (!CHECK(a->s != NULL)) return false;
  Build(a->s, 0);
  return Open(ctx, n, &a->ctx) && CHECK_OK(RowsOf(a->ctx, a->s, 0, ROWS, &a->A)) &&
         CHECK_OK(PoiseMatCreateVecs(a->A, &a->x, &a->b)) && CHECK_OK(SampleToVec(a->s->b, a->b)) &&
         CHECK_OK(Solver(a->ctx, a->A, &(Case){method, pc, 0}, &a->ksp));
}

static void End(Program *a)
{
  CHECK_OK(PoiseKSPDestroy(&a->ksp));
  CHECK_OK(PoiseVecDestroy(&a->b));
  CHECK_OK(PoiseVecDestroy(&a->x));
  CHECK_OK(PoiseMatDestroy(&a->A));
  CHECK_OK(PoiseFinalize(&a->ctx));
  free(a->s);
}

static double TrueResidual(Program *a)
{
  double x[ROWS];
  if (!CHECK_OK(SampleFromVec(a->x, x))) return NAN;
  return Residual(a->s, x);
}

static void SolveWell(Program *a)
{
  if (!CHECK_OK(PoiseKSPSolve(a->ksp, a->b, a->x))) return;
  CHECK(PoiseKSPConvergedReason(a->ksp) > 0);
  CHECK_NEAR(TrueResidual(a), 0, 1e-6);
}

/* ---- as ranks of PoiseRun -------------------------------------------------------------------- */

static void TestAsRanks(PoiseContext ctx)
{
  static const int ranks[] = {1, 2, 3, 4, 7};
  System *s = malloc(sizeof *s);
  Outcome *out = calloc(CASES, sizeof *out);
  if (!CHECK(s && out)) return;
  Build(s, 0);
  for (int k = 0; k < 5; k++) {
    PoiseContext own = NULL;
    PoiseMat A = NULL;
    Reference r = {s, out};
    if (!OpenWith(ctx, "-ranks", ranks[k], "", &own)) break;
    CHECK_OK(PoiseRun(own, SolveOnRanks, &r));
    CHECK_OK(PoiseFinalize(&own));
    if (!Open(ctx, ranks[k], &own) || !CHECK_OK(RowsOf(own, s, 0, s->n, &A))) break;
    for (int c = 0; c < CASES; c++) {
      Outcome mine = {0};
      CHECK_OK(SolveCase(own, A, s, &cases[c], &mine));
      CheckSame(s, &mine, &out[c]);
      if (mine.reason > 0) CHECK_NEAR(Residual(s, mine.x), 0, 1e-6);
    }
    CHECK(ranks[k] == 1 ? !own->workers : poiseWorkersCount(own->workers) == ranks[k]);
    CHECK_OK(PoiseMatDestroy(&A));
    CHECK_OK(PoiseFinalize(&own));
  }
  free(s), free(out);
}

/* The values of A are blocks. */
static void TestBlocks(PoiseContext ctx)
{
  Program a;
  PoiseVec x;
  Outcome one = {0};
  if (!Start(ctx, 3, "cg", "pbjacobi", &a)) return;
  CHECK_OK(PoiseVecDuplicate(a.x, &x));
  CHECK_OK(SolveOnce(a.ksp, a.b, x, &one));
  CHECK_OK(PoiseMatSetType(a.A, "bcsr")); /* a new pattern */
  SolveWell(&a);
  CHECK_INT(PoiseKSPIterations(a.ksp), one.its);
  CHECK_OK(PoiseMatScale(a.A, 2));
  for (int64_t k = 0; k < a.s->ptr[ROWS]; k++) a.s->val[k] *= 2; /* the matrix has values of its own */
  SolveWell(&a);
  if (SampleIsAway(ctx)) { /* a copy on the host that only the parts need does not stay */
    CHECK(!poiseBufferIsCurrent(&a.A->csr.val, HOST));
    CHECK_OK(PoiseKSPDestroy(&a.ksp));
    CHECK_OK(Solver(a.ctx, a.A, &(Case){"cg", "jacobi", 0}, &a.ksp));
    SolveWell(&a);
    CHECK(!a.A->csr.val.host && poiseBufferIsCurrent(&a.A->csr.val, DEVICE));
  }
  CHECK_OK(PoiseVecDestroy(&x));
  End(&a);
}

/* ---- one solve after the other --------------------------------------------------------------- */

/* New values by every way in which they come, and a new b. */
static void TestValues(PoiseContext ctx)
{
  Program a;
  System *other = malloc(sizeof *other);
  PoiseVec d;
  if (!CHECK(other != NULL) || !Start(ctx, 4, "cg", "jacobi", &a)) return;
  SolveWell(&a);
  PoiseInt its = PoiseKSPIterations(a.ksp);
  const PoiseContext worker = poiseWorkersContext(a.ctx->workers, 1);
  int64_t allocations = worker->memory.calls;
  SolveWell(&a);
  CHECK_INT(PoiseKSPIterations(a.ksp), its);
  CHECK_INT(worker->memory.calls, allocations); /* only the first solve allocates */
  Build(other, 0.2);
  CHECK_OK(PoiseMatSetValuesCSR(a.A, other->val));
  memcpy(a.s->val, other->val, sizeof a.s->val);
  SolveWell(&a);
  CHECK_INT(worker->memory.calls, allocations);
  CHECK_OK(PoiseMatScale(a.A, 3)); /* on the device */
  if (SampleIsAway(ctx))
    for (int64_t k = 0; k < a.s->ptr[ROWS]; k++) a.s->val[k] = 3 * other->val[k];
  SolveWell(&a);
  CHECK_INT(worker->memory.calls, allocations);
  for (PoiseInt i = 0; i < ROWS; i++) a.s->b[i] = 1e3 * TestRandom(8, (uint64_t)i);
  CHECK_OK(SampleToVec(a.s->b, a.b));
  CHECK_OK(PoiseVecToDevice(a.b)); /* and x, where the solve before has left it */
  CHECK_OK(PoiseVecToDevice(a.x));
  SolveWell(&a);
  CHECK_OK(PoiseVecDuplicate(a.b, &d));
  CHECK_OK(PoiseMatGetDiagonal(a.A, d));
  CHECK_OK(PoiseVecDestroy(&d));
  free(other);
  End(&a);
}

/* A guess is used: from the solution there is nothing to do. */
static void TestGuess(PoiseContext ctx)
{
  Program a;
  if (!Start(ctx, 3, "cg", "jacobi", &a)) return;
  SolveWell(&a);
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(a.ksp, 1));
  CHECK_OK(PoiseKSPSetTolerances(a.ksp, 1e-6, -1, -1, -1));
  SolveWell(&a);
  CHECK_INT(PoiseKSPIterations(a.ksp), 0);
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(a.ksp, 0));
  SolveWell(&a);
  CHECK(PoiseKSPIterations(a.ksp) > 0);
  End(&a);
}

/* Several solvers use the same workers in turn; matrices are replaced, and a preconditioner is kept. */
static void TestSolvers(PoiseContext ctx)
{
  Program a;
  PoiseKSP second = NULL;
  PoiseMat A = NULL;
  System *other = malloc(sizeof *other);
  if (!CHECK(other != NULL) || !Start(ctx, 4, "cg", "jacobi", &a)) return;
  Build(other, 0.2);
  CHECK_OK(RowsOf(a.ctx, other, 0, ROWS, &A));
  CHECK_OK(Solver(a.ctx, A, &(Case){"gmres", "bjacobi", 0}, &second));
  for (int round = 0; round < 2; round++) {
    SolveWell(&a);
    CHECK_OK(PoiseKSPSolve(second, a.b, a.x));
    double x[ROWS];
    CHECK_OK(SampleFromVec(a.x, x));
    CHECK_NEAR(Residual(other, x), 0, 1e-6);
  }
  /* P is another matrix, then A's place is taken by it */
  PoiseInt before = PoiseKSPIterations(a.ksp);
  CHECK_OK(PoiseKSPSetOperators(a.ksp, a.A, A));
  SolveWell(&a);
  PoiseInt with_P = PoiseKSPIterations(a.ksp);
  CHECK(with_P > before);
  CHECK_OK(PoiseKSPSetReusePreconditioner(a.ksp, 1));
  CHECK_OK(PoiseKSPSetOperators(a.ksp, a.A, NULL));
  SolveWell(&a);
  CHECK_INT(PoiseKSPIterations(a.ksp), with_P);
  CHECK_OK(PoiseKSPSetReusePreconditioner(a.ksp, 0));
  SolveWell(&a);
  CHECK_INT(PoiseKSPIterations(a.ksp), before);
  CHECK_OK(PoiseMatDestroy(&a.A));
  a.A = A;
  memcpy(a.s, other, sizeof *other);
  CHECK_OK(RowsOf(a.ctx, a.s, 0, ROWS, &A));
  CHECK_OK(PoiseKSPSetOperators(a.ksp, A, NULL));
  CHECK_OK(PoiseKSPSetOperators(second, A, NULL));
  CHECK_OK(PoiseMatDestroy(&a.A)); /* the old arrays are gone */
  free(other);
  a.A = A;
  SolveWell(&a);
  CHECK_OK(PoiseKSPDestroy(&second));
  SolveWell(&a);
  End(&a);
}

/* What is kept is the M of the moment, also if A changes before the next set-up; with solvers inside that
   read copies of A, or A. */
static void TestKept(PoiseContext ctx)
{
  static const char *const pcs[] = {"jacobi", "bjacobi", "ksp"};
  for (int k = 0; k < 3; k++) {
    Program a;
    PoiseInt its[2];
    System *other = malloc(sizeof *other);
    if (!CHECK(other != NULL) || !Start(ctx, 3, "fgmres", pcs[k], &a)) return;
    if (k == 1) CHECK_OK(PoiseOptionsSet(a.ctx, "sub_ksp_type", "gmres"));
    if (k == 2) CHECK_OK(PoiseOptionsSet(a.ctx, "ksp_ksp_max_it", "4"));
    PoisePC pc;
    CHECK_OK(PoiseKSPGetPC(a.ksp, &pc));
    CHECK_OK(PoisePCSetFromOptions(pc));
    Build(other, 0.6);
    CHECK_OK(PoiseMatSetValuesCSR(a.A, other->val));
    memcpy(a.s->val, other->val, sizeof a.s->val);
    SolveWell(&a); /* by its own M */
    its[0] = PoiseKSPIterations(a.ksp);
    Build(other, 0);
    CHECK_OK(PoiseMatSetValuesCSR(a.A, other->val));
    CHECK_OK(PoiseKSPSetUp(a.ksp));
    CHECK_OK(PoiseKSPSetReusePreconditioner(a.ksp, 1));
    Build(other, 0.6);
    CHECK_OK(PoiseMatSetValuesCSR(a.A, other->val));
    SolveWell(&a); /* by M of another A */
    its[1] = PoiseKSPIterations(a.ksp);
    CHECK(its[1] > its[0]);
    PoiseMat A = a.A; /* the same in other arrays is a new pattern */
    CHECK_OK(RowsOf(a.ctx, a.s, 0, ROWS, &a.A));
    CHECK_OK(PoiseKSPSetOperators(a.ksp, a.A, NULL));
    CHECK_OK(PoiseMatDestroy(&A));
    SolveWell(&a);
    CHECK_INT(PoiseKSPIterations(a.ksp), its[1]);
    if (k == 0) { /* one that would be cut otherwise, where M was kept of equal rows */
      A = a.A;
      BuildFrom(a.s, 0.6, 10);
      CHECK_OK(RowsOf(a.ctx, a.s, 0, ROWS, &a.A));
      CHECK_OK(PoiseKSPSetOperators(a.ksp, a.A, NULL));
      CHECK_OK(PoiseMatDestroy(&A));
      SolveWell(&a);
      its[1] = PoiseKSPIterations(a.ksp);
      CHECK_OK(PoiseKSPSetReusePreconditioner(a.ksp, 0));
      SolveWell(&a);
      its[0] = PoiseKSPIterations(a.ksp);
      CHECK(its[1] > its[0]);
    }
    CHECK_OK(PoiseKSPSetReusePreconditioner(a.ksp, 0));
    SolveWell(&a);
    CHECK_INT(PoiseKSPIterations(a.ksp), its[0]);
    free(other);
    End(&a);
  }
}

/* Matrices that come and go between two set-ups, at addresses that were others' before; and a P that stays
   while the rows of A are cut otherwise. */
static void TestMatrices(PoiseContext ctx)
{
  Program a;
  PoiseMat P = NULL;
  System *other = malloc(sizeof *other);
  if (!CHECK(other != NULL) || !Start(ctx, 3, "cg", "jacobi", &a)) return;
  for (int k = 0; k < 4; k++) {
    SolveWell(&a);
    for (int other_one = 0; other_one < 2; other_one++) {
      PoiseMat A = a.A;
      if (other_one) BuildFrom(a.s, 0.1 * k, k % 2 ? 10 : 4);
      CHECK_OK(RowsOf(a.ctx, a.s, 0, ROWS, &a.A));
      CHECK_OK(PoiseKSPSetOperators(a.ksp, a.A, NULL));
      CHECK_OK(PoiseMatDestroy(&A));
    }
  }
  Build(other, 0.6);
  CHECK_OK(RowsOf(a.ctx, other, 0, ROWS, &P));
  for (int k = 0; k < 2; k++) {
    PoiseMat A = a.A;
    BuildFrom(a.s, 0, k ? 10 : 4);
    CHECK_OK(RowsOf(a.ctx, a.s, 0, ROWS, &a.A));
    CHECK_OK(PoiseKSPSetOperators(a.ksp, a.A, P));
    CHECK_OK(PoiseMatDestroy(&A));
    SolveWell(&a);
  }
  CHECK_OK(PoiseMatDestroy(&P));
  free(other);
  End(&a);
}

/* Settings that are changed between solves reach the workers. */
static void TestSettings(PoiseContext ctx)
{
  Program a;
  PoiseInt its;
  PoisePC pc, inner;
  PoiseKSP *sub;
  if (!Start(ctx, 3, "gmres", "jacobi", &a)) return;
  SolveWell(&a);
  its = PoiseKSPIterations(a.ksp);
  CHECK_OK(PoiseKSPGMRESSetRestart(a.ksp, 3));
  SolveWell(&a);
  CHECK(PoiseKSPIterations(a.ksp) > its);
  its = PoiseKSPIterations(a.ksp);
  CHECK_OK(PoiseKSPSetTolerances(a.ksp, 1e-3, -1, -1, -1));
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK(PoiseKSPIterations(a.ksp) < its);
  CHECK_OK(PoiseKSPSetTolerances(a.ksp, 1e-12, -1, -1, 2));
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK_INT(PoiseKSPConvergedReason(a.ksp), POISE_DIVERGED_ITS);
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(a.ksp, 1));
  CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), POISE_ERR_NOT_CONVERGED, "DIVERGED_ITS after 2 iterations");
  CHECK_OK(PoiseKSPSetTolerances(a.ksp, 1e-8, -1, -1, 500));
  CHECK_OK(PoiseKSPSetType(a.ksp, "cg"));
  CHECK_OK(PoiseKSPSetNormType(a.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  SolveWell(&a);
  CHECK_INT(PoiseKSPNormUsed(a.ksp), POISE_KSP_NORM_UNPRECONDITIONED);
  CHECK_NEAR(PoiseKSPResidualNorm(a.ksp), TrueResidual(&a) * NormOf(a.b), 1e-9 * NormOf(a.b));
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(a.ksp, 0));
  CHECK_OK(PoiseKSPSetType(a.ksp, "chebyshev"));
  CHECK_OK(PoiseKSPSetNormType(a.ksp, POISE_KSP_NORM_DEFAULT));
  SolveWell(&a);
  its = PoiseKSPIterations(a.ksp);
  CHECK_OK(PoiseKSPChebyshevSetEigenvalues(a.ksp, 100, 1e-3));
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK(PoiseKSPIterations(a.ksp) > its);
  /* options with a prefix, and setters behind them */
  CHECK_OK(PoiseKSPSetOptionsPrefix(a.ksp, "flow_"));
  CHECK_OK(PoiseOptionsSet(a.ctx, "flow_pc_type", "bjacobi"));
  CHECK_OK(PoiseOptionsSet(a.ctx, "flow_sub_pc_type", "jacobi"));
  CHECK_OK(PoiseOptionsSet(a.ctx, "flow_ksp_type", "bicgstab"));
  CHECK_OK(PoiseKSPSetFromOptions(a.ksp));
  CHECK_OK(PoiseKSPSetNormType(a.ksp, POISE_KSP_NORM_DEFAULT));
  SolveWell(&a);
  its = PoiseKSPIterations(a.ksp);
  CHECK_OK(PoiseKSPGetPC(a.ksp, &pc));
  CHECK_OK(PoisePCBJacobiGetSubKSP(pc, NULL, NULL, &sub));
  CHECK_OK(PoiseKSPGetPC(sub[0], &inner));
  CHECK_OK(PoisePCSetType(inner, "lu"));
  SolveWell(&a);
  CHECK(PoiseKSPIterations(a.ksp) < its);
  CHECK_OK(PoisePCBJacobiSetLocalBlocks(pc, 2, (const PoiseInt[]){2, ROWS - 2}));
  CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), POISE_ERR_UNSUPPORTED, "lengths of blocks");
  CHECK_OK(PoisePCBJacobiSetLocalBlocks(pc, 2, NULL));
  SolveWell(&a);
  End(&a);
}

/* M is that of the solves: with jacobi the diagonal. */
static void TestApply(PoiseContext ctx)
{
  Program a;
  PoisePC pc;
  double z[ROWS], lu[ROWS];
  if (!Start(ctx, 3, "cg", "jacobi", &a)) return;
  CHECK_OK(PoiseKSPGetPC(a.ksp, &pc));
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(PoisePCApply(pc, a.b, a.x));
  CHECK_OK(SampleFromVec(a.x, z));
  for (PoiseInt i = 0; i < ROWS; i++)
    for (int64_t k = a.s->ptr[i]; k < a.s->ptr[i + 1]; k++)
      if (a.s->col[k] == i) CHECK_NEAR(z[i], a.s->b[i] / a.s->val[k], 1e-14);
  CHECK_OK(PoiseVecToDevice(a.x));
  CHECK_OK(PoisePCSetType(pc, "lu"));
  CHECK_OK(PoisePCApply(pc, a.b, a.x));
  CHECK_NEAR(TrueResidual(&a), 0, 1e-12);
  CHECK_OK(PoisePCSetType(pc, "bjacobi")); /* of three blocks: no solution, but that of the solver */
  CHECK_OK(PoisePCApply(pc, a.b, a.x));
  CHECK_OK(SampleFromVec(a.x, z));
  CHECK_OK(PoiseKSPSetType(a.ksp, "preonly"));
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK_OK(SampleFromVec(a.x, lu));
  CHECK(!memcmp(z, lu, sizeof z) && TrueResidual(&a) > 1e-3);
  End(&a);
}

/* Rows and order as A's options ask, on the workers. */
static void TestOrder(PoiseContext ctx)
{
  Program a;
  char text[4000];
  if (!Start(ctx, 3, "cg", "ilu", &a)) return;
  SolveWell(&a);
  CHECK_OK(PoiseMatSetOrder(a.A, POISE_ORDER_RCM));
  CHECK_OK(PoiseMatSetPartition(a.A, POISE_PARTITION_BYTES));
  SolveWell(&a);
  TEST_PRINTED(a.ctx, text, sizeof text, PoiseKSPView(a.ksp));
  CHECK(strstr(text, "-mat_partition bytes -mat_order rcm") != NULL);
  CHECK_OK(PoiseMatSetType(a.A, "pcsr"));
  SolveWell(&a);
  TEST_PRINTED(a.ctx, text, sizeof text, PoiseKSPView(a.ksp));
  CHECK(strstr(text, "pcsr: ") != NULL && strstr(text, "nonzeros of parts:") != NULL);
  End(&a);
}

/* ---- null spaces ----------------------------------------------------------------------------- */

/* Row sums of A are 0, so constants are its null space. */
static void Neumann(System *s)
{
  for (PoiseInt i = 0; i < ROWS; i++) {
    double sum = 0;
    int64_t diagonal = 0;
    for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
      if (s->col[k] == i)
        diagonal = k;
      else
        sum += s->val[k] = -1;
    s->val[diagonal] = -sum;
  }
}

typedef struct Spaces {
  const System *s;
  Outcome *out;
} Spaces;

static PoiseErr SolveNeumann(PoiseContext ctx, const System *s, PoiseInt begin, PoiseInt m, Outcome *out)
{
  PoiseMat A;
  POISE_TRY(RowsOf(ctx, s, begin, m, &A));
  POISE_TRY(PoiseMatSetNullSpace(A, 1, 0, NULL));
  POISE_TRY(PoiseMatSetTransposeNullSpace(A, 1, 0, NULL));
  POISE_TRY(SolveCase(ctx, A, s, &(Case){"minres", "jacobi", 0}, out));
  return PoiseMatDestroy(&A);
}

static PoiseErr NeumannOnRanks(PoiseContext ctx, void *arg)
{
  const Spaces *r = arg;
  PoiseInt begin, m;
  POISE_TRY(CutRows(ctx, r->s, &begin, &m));
  return SolveNeumann(ctx, r->s, begin, m, PoiseRank(ctx) ? NULL : r->out);
}

static void TestNullSpace(PoiseContext ctx)
{
  System *s = malloc(sizeof *s);
  Outcome mine = {0}, ranks = {0};
  PoiseContext own;
  double mean = 0;
  if (!CHECK(s != NULL)) return;
  Build(s, 0);
  Neumann(s);
  if (OpenWith(ctx, "-ranks", 4, "", &own)) {
    CHECK_OK(PoiseRun(own, NeumannOnRanks, &(Spaces){s, &ranks}));
    CHECK_OK(PoiseFinalize(&own));
  }
  if (Open(ctx, 4, &own)) {
    CHECK_OK(SolveNeumann(own, s, 0, ROWS, &mine));
    CHECK_OK(PoiseFinalize(&own));
  }
  CheckSame(s, &mine, &ranks);
  for (PoiseInt i = 0; i < ROWS; i++) mean += mine.x[i];
  CHECK_NEAR(mean, 0, 1e-8);
  free(s);
}

/* ---- awkward sizes --------------------------------------------------------------------------- */

/* More workers than rows; all nonzeros in one row; no nonzeros and no rows. */
static void TestEmptyParts(PoiseContext ctx)
{
  static const int64_t few[] = {0, 1, 2, 3}, long_row[] = {0, 0, 3, 3}, none[4] = {0}, col[] = {0, 1, 2};
  static const double val[] = {2, 4, 8};
  const struct {
    PoiseInt n;
    const int64_t *ptr;
    const char *method, *pc;
  } cases_[] = {{3, few, "cg", "jacobi"},
                {3, few, "gmres", "bjacobi"},
                {3, long_row, "richardson", "none"},
                {3, none, "preonly", "none"},
                {0, none, "cg", "none"}};
  for (int c = 0; c < 5; c++) {
    PoiseContext own;
    PoiseMat A;
    PoiseVec x, b;
    PoiseKSP ksp;
    double v[3] = {0};
    const PoiseCSR csr = {.ptr64 = cases_[c].ptr, .col64 = col, .val = val};
    PoiseInt n = cases_[c].n;
    if (!Open(ctx, 7, &own) || !CHECK_OK(PoiseMatCreateCSR(own, n, n, n, n, &csr, POISE_COPY, &A)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseVecSet(b, 8)) ||
        !CHECK_OK(Solver(own, A, &(Case){cases_[c].method, cases_[c].pc, 0}, &ksp)))
      return;
    if (c == 2) CHECK_OK(PoiseKSPSetTolerances(ksp, -1, -1, 1e300, 1));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK_OK(SampleFromVec(x, v));
    for (PoiseInt i = 0; i < n && c < 2; i++) CHECK_NEAR(v[i] * val[i], 8, 1e-6);
    for (PoiseInt i = 0; i < n && c == 3; i++) CHECK(v[i] == 8);
    CHECK_OK(PoiseKSPDestroy(&ksp));
    CHECK_OK(PoiseVecDestroy(&b));
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseMatDestroy(&A));
    CHECK_OK(PoiseFinalize(&own));
  }
}

/* ---- functions of the application's ---------------------------------------------------------- */

typedef struct Called {
  pthread_t thread;
  PoiseKSP ksp, other;
  PoiseVec x;
  int monitors, tests;
  PoiseInt fail_at; /* iteration; negative: never */
  double norms[200];
} Called;

static PoiseErr Monitor(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  Called *c = arg;
  CHECK(ksp == c->ksp && pthread_equal(pthread_self(), c->thread));
  CHECK_INT(PoiseKSPIterations(ksp) >= it, 1);
  c->norms[c->monitors++] = norm;
  if (it == 0 && c->other) {
    CHECK_ERR(PoiseKSPSolve(ksp, c->x, c->x), POISE_ERR_STATE, "middle of its solve");
    CHECK_ERR(PoiseKSPBuildSolution(ksp, c->x), POISE_ERR_UNSUPPORTED, "PoiseKSPBuildSolution");
    CHECK_ERR(PoiseKSPSetUp(c->other), POISE_ERR_STATE, "workers");
    CHECK_OK(PoiseKSPDestroy(&c->other));
  }
  if (it == c->fail_at) POISE_FAIL(POISE_ERR_NUMERIC, "the monitor gives up at %d", (int)it);
  return POISE_OK;
}

static PoiseErr StopAtThree(PoiseKSP ksp, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  Called *c = arg;
  CHECK(ksp == c->ksp && pthread_equal(pthread_self(), c->thread) && norm > 0);
  c->tests++;
  if (it == 3) *reason = POISE_CONVERGED_USER;
  return POISE_OK;
}

static void TestCallbacks(PoiseContext ctx)
{
  Program a;
  if (!Start(ctx, 3, "cg", "jacobi", &a)) return;
  Called c = {.thread = pthread_self(), .ksp = a.ksp, .x = a.x, .fail_at = -1};
  PoiseInt count;
  const double *norms;
  CHECK_OK(PoiseKSPSetUp(a.ksp));
  const PoiseContext worker = poiseWorkersContext(a.ctx->workers, 1);
  int64_t objects = worker->objects;
  CHECK_OK(Solver(a.ctx, a.A, &(Case){"gmres", "none", 0}, &c.other));
  CHECK_OK(PoiseKSPSetUp(c.other));
  CHECK(worker->objects > objects);
  CHECK_OK(PoiseKSPAddMonitor(a.ksp, Monitor, &c));
  SolveWell(&a);
  CHECK_INT(worker->objects, objects); /* the other solver is gone */
  CHECK_OK(PoiseKSPHistory(a.ksp, &count, &norms));
  CHECK_INT(c.monitors, PoiseKSPIterations(a.ksp) + 1);
  CHECK_INT(c.monitors, count);
  CHECK(!memcmp(c.norms, norms, (size_t)count * sizeof *norms));
  c.monitors = 0, c.fail_at = 2;
  CHECK(PoiseKSPSolve(a.ksp, a.b, a.x) == POISE_ERR_NUMERIC);
  CHECK(strstr(PoiseErrorText(), "the monitor gives up at 2") && strstr(PoiseErrorText(), "a monitor"));
  CHECK_INT(PoiseKSPConvergedReason(a.ksp), POISE_DIVERGED_ERROR);
  c.monitors = 0, c.fail_at = -1;
  SolveWell(&a);
  c.monitors = 0;
  CHECK_OK(PoiseKSPSetConvergenceTest(a.ksp, StopAtThree, &c));
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK_INT(PoiseKSPConvergedReason(a.ksp), POISE_CONVERGED_USER);
  CHECK_INT(PoiseKSPIterations(a.ksp), 3);
  CHECK_INT(c.tests, 4);
  CHECK_OK(PoiseKSPSetConvergenceTest(a.ksp, NULL, NULL));
  c.monitors = 0;
  SolveWell(&a);
  End(&a);
}

/* ---- interrupts ------------------------------------------------------------------------------ */

typedef struct Interrupting {
  pthread_t thread;
  int looks, from; /* fails from this look on */
} Interrupting;

static PoiseErr LookHere(void *arg)
{
  Interrupting *i = arg;
  CHECK(pthread_equal(pthread_self(), i->thread));
  if (++i->looks >= i->from) POISE_FAIL(POISE_ERR_USER, "no more of this");
  return POISE_OK;
}

/* A solve that would not end is interrupted in the calling thread, which waits for the workers. */
static void TestInterrupt(PoiseContext ctx)
{
  Program a;
  if (!Start(ctx, 3, "richardson", "jacobi", &a)) return;
  Interrupting i = {.thread = pthread_self(), .from = 2};
  CHECK_OK(PoiseKSPSetUp(a.ksp));
  CHECK_OK(PoiseKSPRichardsonSetScale(a.ksp, 1e-9));
  CHECK_OK(PoiseKSPSetTolerances(a.ksp, 0, 0, -1, 1000000000));
  CHECK_OK(PoiseSetInterrupt(a.ctx, LookHere, &i));
  CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), POISE_ERR_USER, "no more of this");
  CHECK_INT(PoiseKSPConvergedReason(a.ksp), POISE_DIVERGED_ERROR);
  CHECK_OK(PoiseSetInterrupt(a.ctx, NULL, NULL));
  CHECK_OK(PoiseKSPSetType(a.ksp, "cg"));
  CHECK_OK(PoiseKSPSetTolerances(a.ksp, 1e-10, -1, -1, 500));
  SolveWell(&a);
  End(&a);
}

/* Ranks of PoiseRun have what their context has; each asks in its thread. */
static _Thread_local int looks_here;

static PoiseErr LookThere(void *arg)
{
  (void)arg;
  if (++looks_here > 1) POISE_FAIL(POISE_ERR_USER, "no more of this");
  return POISE_OK;
}

static PoiseErr SolveForever(PoiseContext ctx, void *arg)
{
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  PoiseInt begin, n;
  PoiseSplit(ctx, ROWS / 2, &begin, &n); /* whole nodes */
  POISE_TRY(RowsOf(ctx, arg, 2 * begin, 2 * n, &A));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &b));
  POISE_TRY(PoiseVecSet(b, 1));
  POISE_TRY(Solver(ctx, A, &(Case){"richardson", "jacobi", 0}, &ksp));
  POISE_TRY(PoiseKSPRichardsonSetScale(ksp, 1e-9));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 0, 0, -1, 1000000000));
  PoiseErr e = PoiseKSPSolve(ksp, b, x);
  POISE_TRY(PoiseSetInterrupt(ctx, NULL, NULL));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&b));
  POISE_TRY(PoiseVecDestroy(&x));
  POISE_TRY(PoiseMatDestroy(&A));
  return e;
}

static void TestInterruptRanks(PoiseContext ctx)
{
  PoiseContext own = NULL;
  System *s = malloc(sizeof *s);
  if (!CHECK(s != NULL)) return;
  Build(s, 0);
  if (OpenWith(ctx, "-ranks", 3, "", &own)) {
    CHECK_OK(PoiseSetInterrupt(own, LookThere, NULL));
    CHECK_ERR(PoiseRun(own, SolveForever, s), POISE_ERR_USER, "no more of this");
    CHECK_OK(PoiseFinalize(&own));
  }
  free(s);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Memory runs out on one worker, at each of its allocations; the next call finds all as new. */
static void TestMemory(PoiseContext ctx)
{
  for (int r = 0; r < 3; r += 2) {
    Program a;
    if (!Start(ctx, 3, "gmres", "bjacobi", &a)) return;
    CHECK_OK(poiseWorkersOpen(a.ctx));
    const PoiseContext worker = poiseWorkersContext(a.ctx->workers, r);
    PoiseErr e = POISE_ERR_MEMORY;
    for (int n = 1; e == POISE_ERR_MEMORY && CHECK(n < 500); n++) {
      poiseAllocFailAt(worker, n);
      e = PoiseKSPSolve(a.ksp, a.b, a.x);
      if (e) CHECK(strstr(PoiseErrorText(), r ? "thread rank 2" : "thread rank 0") != NULL);
    }
    CHECK_OK(e);
    poiseAllocFailAt(worker, 0);
    CHECK_NEAR(TrueResidual(&a), 0, 1e-6);
    End(&a);
  }
}

/* Memory runs out on the calling thread, or on the last worker while the workers are started. */
static void TestMemoryHere(PoiseContext ctx)
{
  PoiseErr e = POISE_ERR_MEMORY;
  for (int n = 1; e == POISE_ERR_MEMORY && CHECK(n < 500); n++) {
    Program a;
    if (!Start(ctx, 3, "cg", "jacobi", &a)) return;
    poiseAllocFailAt(a.ctx, n);
    e = PoiseKSPSolve(a.ksp, a.b, a.x);
    poiseAllocFailAt(a.ctx, 0);
    if (e == POISE_ERR_MEMORY) SolveWell(&a);
    End(&a);
  }
  CHECK_OK(e);
}

typedef struct Breaking {
  PoiseContext worker;
  bool breaks;
} Breaking;

/* Work that was queued on a worker's device fails in the middle of a solve. */
static PoiseErr Break(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  const Breaking *b = arg;
  (void)ksp, (void)norm;
  if (it == 1 && b->breaks)
    b->worker->device->failed =
        PoiseErrorSet(POISE_ERR_DEVICE, __func__, __FILE__, __LINE__, "the device of a worker is lost");
  return POISE_OK;
}

static void TestFailures(PoiseContext ctx)
{
  Program a;
  if (!Start(ctx, 4, "cg", "jacobi", &a)) return;
  SolveWell(&a);
  poiseWorkersContext(a.ctx->workers, 2)->device->failed = POISE_ERR_DEVICE; /* while it is parked */
  CHECK(PoiseKSPSolve(a.ksp, a.b, a.x) == POISE_ERR_DEVICE);
  CHECK(strstr(PoiseErrorText(), "thread rank 2") != NULL);
  CHECK_INT(PoiseKSPConvergedReason(a.ksp), POISE_DIVERGED_ERROR);
  SolveWell(&a);
  Breaking b = {poiseWorkersContext(a.ctx->workers, 0), true};
  if (SampleIsAway(ctx)) {
    CHECK_OK(PoiseKSPAddMonitor(a.ksp, Break, &b));
    CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), POISE_ERR_DEVICE, "");
    b.breaks = false;
    SolveWell(&a);
  }
  /* a NaN and a missing pivot in the rows of the last worker, by the names of the application's rows */
  int64_t last = a.s->ptr[ROWS] - 1;
  double kept = a.s->val[last];
  a.s->val[last] = NAN;
  CHECK_OK(PoiseMatSetValuesCSR(a.A, a.s->val));
  CHECK_OK(PoiseKSPSetNormType(a.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), POISE_ERR_NUMERIC, "row 337");
  PoisePC pc;
  CHECK_OK(PoiseKSPGetPC(a.ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "none"));
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK_INT(PoiseKSPConvergedReason(a.ksp), POISE_DIVERGED_NANORINF);
  CHECK(strstr(PoiseKSPReasonDetail(a.ksp), "row 337 of A") != NULL);
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  a.s->val[last] = 0;
  CHECK_OK(PoiseMatSetValuesCSR(a.A, a.s->val));
  CHECK(PoiseKSPSolve(a.ksp, a.b, a.x) == POISE_ERR_NUMERIC);
  CHECK(strstr(PoiseErrorText(), "row 337") && strstr(PoiseErrorText(), "thread rank 3"));
  a.s->val[last] = kept;
  CHECK_OK(PoiseMatSetValuesCSR(a.A, a.s->val));
  SolveWell(&a);
  End(&a);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static PoiseErr Nothing(PoiseContext ctx, void *arg)
{
  (void)ctx, (void)arg;
  return POISE_OK;
}

/* A rank of PoiseRun whose program sets the option. */
static PoiseErr SolveInside(PoiseContext ctx, void *system)
{
  const System *s = system;
  PoiseInt begin, m;
  PoiseMat A;
  PoiseVec x, b;
  PoiseKSP ksp;
  POISE_TRY(CutRows(ctx, s, &begin, &m));
  POISE_TRY(RowsOf(ctx, s, begin, m, &A));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &b));
  POISE_TRY(Solver(ctx, A, &(Case){"cg", "jacobi", 0}, &ksp));
  POISE_TRY(PoiseOptionsSet(ctx, "solve_ranks", "2"));
  CHECK_ERR(PoiseKSPSolve(ksp, b, x), POISE_ERR_UNSUPPORTED, "-solve_ranks 2 inside PoiseRun");
  POISE_TRY(PoiseOptionsSet(ctx, "solve_ranks", "1"));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&b));
  POISE_TRY(PoiseVecDestroy(&x));
  return PoiseMatDestroy(&A);
}

static PoiseErr ApplyNothing(void *arg, PoiseVec r, PoiseVec z)
{
  (void)arg, (void)r, (void)z;
  return POISE_OK;
}

static PoiseErr Refused(PoiseContext ctx, const char *words, void *stream)
{
  char all[256];
  PoiseContext own = NULL;
  snprintf(all, sizeof all, "-device %s %s", ctx->device->ops->name, words);
  PoiseErr e = TestInitialize((PoiseInit){.serial = 1, .stream = stream}, all, &own);
  if (!e) CHECK_OK(PoiseFinalize(&own));
  return e;
}

static void TestRefusals(PoiseContext ctx)
{
  Program a;
  PoiseContext own;
  PoisePC pc;
  PoiseMat shell;
  PoisePrediction p;
  int dummy;
  bool away = SampleIsAway(ctx);
  CHECK_ERR(Refused(ctx, "-solve_ranks 0", NULL), POISE_ERR_OPTION, "solve_ranks");
  CHECK_ERR(Refused(ctx, "-gpus some", NULL), POISE_ERR_OPTION, "-gpus 'some'");
  CHECK_ERR(Refused(ctx, "-gpus 0", NULL), POISE_ERR_OPTION, "-gpus '0'");
  CHECK_ERR(Refused(ctx, "-gpus 2 -solve_ranks 2", NULL), POISE_ERR_OPTION, "-gpus and -solve_ranks");
  CHECK_ERR(Refused(ctx, "-gpus 99", NULL), POISE_ERR_OPTION, away ? "-gpus 99: there " : "no GPUs");
  if (strcmp(ctx->device->ops->name, "cuda")) /* it takes only streams */
    CHECK_ERR(Refused(ctx, "-solve_ranks 2", &dummy), POISE_ERR_UNSUPPORTED, "PoiseInit.stream");
  if (OpenWith(ctx, "-solve_ranks", 2, "-ranks 3", &own)) {
    CHECK_ERR(PoiseRun(own, Nothing, NULL), POISE_ERR_UNSUPPORTED,
              "-solve_ranks 2 inside PoiseRun with -ranks 3");
    CHECK_OK(PoiseFinalize(&own));
  }
  if (!Start(ctx, 3, "cg", "jacobi", &a)) return;
  if (OpenWith(ctx, "-ranks", 3, "", &own)) {
    CHECK_OK(PoiseRun(own, SolveInside, a.s));
    CHECK_OK(PoiseFinalize(&own));
  }
  CHECK_OK(PoiseKSPGetPC(a.ksp, &pc));
  SolveWell(&a);
  CHECK_ERR(PoiseKSPPredictBytes(a.ksp, NULL, &p), POISE_ERR_UNSUPPORTED, "-solve_ranks 3");
  CHECK_OK(PoisePCSetShell(pc, &(PoiseShellPC){.apply = ApplyNothing}, NULL));
  CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), POISE_ERR_UNSUPPORTED, "preconditioner shell");
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  CHECK_OK(
      PoiseMatCreateShell(a.ctx, ROWS, ROWS, ROWS, ROWS, &(PoiseShell){.mult = ApplyNothing}, NULL, &shell));
  CHECK_OK(PoiseKSPSetOperators(a.ksp, shell, a.A));
  CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), POISE_ERR_UNSUPPORTED, "type shell");
  CHECK_OK(PoiseKSPSetOperators(a.ksp, a.A, NULL));
  CHECK_OK(PoiseMatDestroy(&shell));
  SolveWell(&a);
  End(&a);
}

/* On the ranks of mpiexec. */
static void TestMpi(PoiseContext ctx)
{
  PoiseContext own = NULL;
  if (PoiseSize(ctx) == 1 || ctx->parent) TEST_SKIP("there are no ranks of MPI");
  CHECK_ERR(TestInitialize((PoiseInit){0}, "-device host -solve_ranks 2", &own), POISE_ERR_UNSUPPORTED,
            "-solve_ranks 2 (threads) inside");
  CHECK(own == NULL);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void TestView(PoiseContext ctx)
{
  Program a;
  char text[6000], worker[64];
  PoiseBytes bytes;
  bool away = SampleIsAway(ctx);
  snprintf(worker, sizeof worker, "worker 2: device %s", ctx->device->ops->name);
  if (!Start(ctx, 3, "cg", "jacobi", &a)) return;
  CHECK_OK(PoiseKSPBytes(a.ksp, &bytes));
  CHECK_INT(bytes.host + bytes.device, 0);
  TEST_PRINTED(a.ctx, text, sizeof text, PoiseKSPView(a.ksp));
  CHECK(strstr(text, "to be divided over 3 workers (-solve_ranks 3)") != NULL);
  SolveWell(&a);
  TEST_PRINTED(a.ctx, text, sizeof text, PoiseKSPView(a.ksp));
  CHECK(strstr(text, "divided over 3 workers (-solve_ranks 3)") != NULL);
  CHECK(strstr(text, away ? "values copied" : "values used in place, 0 bytes") != NULL);
  CHECK(strstr(text, "5408 bytes of vectors") != NULL); /* b and x */
  CHECK(strstr(text, worker) != NULL);
  CHECK(strstr(text, "3 ranks") != NULL);
  CHECK_OK(PoiseKSPBytes(a.ksp, &bytes));
  CHECK(bytes.host + bytes.device > 4 * 8 * ROWS);
  TEST_PRINTED(a.ctx, text, sizeof text, PoiseView(a.ctx));
  CHECK(strstr(text, "workers of solves: 3") != NULL);
  End(&a);
}

static const char *Logged(PoiseContext ctx, const char *option, FILE *out, const char *path, char *text)
{
  PoiseContext own;
  enum { ROOM = 12000 };
  text[0] = 0;
  if (!OpenWith(ctx, "-solve_ranks", 3, option, &own)) return text;
  PoiseSetOutput(own, out);
  CHECK_OK(poiseWorkersOpen(own));
  CHECK_OK(PoiseFinalize(&own));
  return path ? TextOf(path, text, ROOM) : Content(out, text, ROOM);
}

/* -log_view: two tables; in a file that of the workers. */
static void TestLog(PoiseContext ctx)
{
  char path[PATH], option[PATH + 16], text[12000];
  FILE *out = tmpfile();
  if (!CHECK(out != NULL)) return;
  (void)Logged(ctx, "-log_view", out, NULL, text);
  CHECK(strstr(text, "ranks 3 (threads)") && strstr(text, "ranks 1 (self)"));
  fclose(out);
  TempName(path, "workers.txt");
  snprintf(option, sizeof option, "-log_view :%s", path);
  (void)Logged(ctx, option, stdout, path, text);
  CHECK(strstr(text, "ranks 3 (threads)") && !strstr(text, "ranks 1 (self)"));
  remove(path);
}

/* The program may ask for workers until the first set-up. */
static void TestOption(PoiseContext ctx)
{
  Program a;
  if (!Start(ctx, 0, "cg", "jacobi", &a)) return;
  CHECK_OK(PoiseOptionsSet(a.ctx, "solve_ranks", "3"));
  SolveWell(&a);
  CHECK(a.ctx->workers && poiseWorkersCount(a.ctx->workers) == 3);
  End(&a);
}

/* -gpus: each worker has its own, wherever the program's arrays are: on the last one. */
static void TestGpus(PoiseContext ctx)
{
  PoiseContext own;
  char words[64];
  if (!SampleIsAway(ctx)) TEST_SKIP("the host has no GPUs");
  int count = 0;
  CHECK_OK(ctx->device->ops->count(&count));
  snprintf(words, sizeof words, "-device %s -gpus all -device_id %d", ctx->device->ops->name, count - 1);
  if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, words, &own))) return;
  CHECK_INT(own->most_workers, count);
  if (count > 1 && CHECK_OK(poiseWorkersOpen(own)))
    for (int r = 0; r < count; r++) CHECK_INT(poiseWorkersContext(own->workers, r)->device->id, r);
  CHECK_OK(PoiseFinalize(&own));
}

/* A test uses contexts of its own, so one rank of the harness is enough. */
static const Test tests[] = {{"as_ranks", TestAsRanks, TEST_SERIAL},
                             {"blocks", TestBlocks, TEST_SERIAL},
                             {"values", TestValues, TEST_SERIAL},
                             {"guess", TestGuess, TEST_SERIAL},
                             {"solvers", TestSolvers, TEST_SERIAL},
                             {"matrices", TestMatrices, TEST_SERIAL},
                             {"settings", TestSettings, TEST_SERIAL},
                             {"kept", TestKept, TEST_SERIAL},
                             {"apply", TestApply, TEST_SERIAL},
                             {"order", TestOrder, TEST_SERIAL},
                             {"null_space", TestNullSpace, TEST_SERIAL},
                             {"empty_parts", TestEmptyParts, TEST_SERIAL},
                             {"callbacks", TestCallbacks, TEST_SERIAL},
                             {"interrupt", TestInterrupt, TEST_SERIAL},
                             {"interrupt_ranks", TestInterruptRanks, TEST_SERIAL},
                             {"memory", TestMemory, TEST_SERIAL},
                             {"memory_here", TestMemoryHere, TEST_SERIAL},
                             {"failures", TestFailures, TEST_SERIAL},
                             {"refusals", TestRefusals, TEST_SERIAL},
                             {"mpi", TestMpi, 0},
                             {"view", TestView, TEST_SERIAL},
                             {"log", TestLog, TEST_SERIAL},
                             {"option", TestOption, TEST_SERIAL},
                             {"gpus", TestGpus, TEST_SERIAL},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "team", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Singular systems with known null spaces: two rings of N/2 nodes with springs between neighbours, or one
   ring of N. */
#include "ksp/monitor.h"
#include "files.h"
#include "problem.h"

enum { N = 72 };

static double Spring(PoiseInt i, PoiseInt rings)
{
  return 1.5 + TestRandom(1, (uint64_t)(i + 1000 * rings));
}

/* Every spring adds [s -s; -s s]: a symmetric matrix with constants per ring as null space. */
static PoiseMat Rings(PoiseContext ctx, PoiseInt rings)
{
  PoiseMat A;
  PoiseInt each = N / rings;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A))) return NULL;
  for (PoiseInt i = PoiseRank(ctx); i < N; i += PoiseSize(ctx)) {
    PoiseInt ends[2] = {i, i / each * each + (i % each + 1) % each};
    double s = Spring(i, rings), v[4] = {s, -s, -s, s};
    CHECK_OK(PoiseMatAddBlock(A, 2, ends, 2, ends, v));
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* +1 on the first half, -1 on the second, of length 1; or on one half only. */
static PoiseVec Halves(PoiseMat A, double first, double second)
{
  PoiseVec v;
  double *p;
  PoiseInt begin, end;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &v, NULL)) || !CHECK_OK(PoiseVecGetWrite(v, &p))) return NULL;
  PoiseVecRange(v, &begin, &end);
  for (PoiseInt i = begin; i < end; i++) p[i - begin] = i < N / 2 ? first : second;
  CHECK_OK(PoiseVecRestore(v, &p));
  return v;
}

/* exact has no part in the null space of two rings, so in none of one. */
static int Open(PoiseContext ctx, PoiseInt rings, Problem *s)
{
  if (!ProblemOpen(Rings(ctx, rings), s)) return 0;
  PoiseVec plus = Halves(s->A, 1, 0), minus = Halves(s->A, 0, 1);
  double dot;
  CHECK_OK(PoiseVecDuplicate(s->x, &s->r));
  CHECK_OK(PoiseVecSetRandom(s->exact, 3));
  CHECK_OK(PoiseVecDot(s->exact, plus, &dot));
  CHECK_OK(PoiseVecAXPY(s->exact, -2 * dot / N, plus));
  CHECK_OK(PoiseVecDot(s->exact, minus, &dot));
  CHECK_OK(PoiseVecAXPY(s->exact, -2 * dot / N, minus));
  CHECK_OK(PoiseMatMult(s->A, s->exact, s->b));
  CHECK_OK(PoiseVecDestroy(&plus));
  CHECK_OK(PoiseVecDestroy(&minus));
  return CHECK_OK(PoiseKSPSetTolerances(s->ksp, 1e-10, 1e-14, -1, 400));
}

/* The null space of one ring by its flag, of two by the flag and a vector or by two vectors. */
static void Attach(PoiseMat A, PoiseInt rings, int flag)
{
  double s = 1 / sqrt(N);
  PoiseVec v[2] = {Halves(A, s, -s), Halves(A, s, s)};
  CHECK_OK(PoiseMatSetNullSpace(A, flag, (rings == 2) + !flag, rings == 2 ? v : v + 1));
  CHECK_OK(PoiseVecDestroy(&v[0]));
  CHECK_OK(PoiseVecDestroy(&v[1]));
}

static void Near(const Problem *s, double tol)
{
  CHECK_NEAR(ProblemError(s, 1), 0, tol * NormOf(s->exact));
}

/* b lies in the range: x is the solution without a part in the null space, also from a guess that has one. */
static void Solving(PoiseContext ctx, PoiseInt rings, int flag, const char *type, const char *pc,
                    PoiseNormType norm, PoisePCSide side)
{
  Problem s;
  PoisePC p;
  if (!Open(ctx, rings, &s)) return;
  Attach(s.A, rings, flag);
  CHECK_OK(PoiseKSPSetType(s.ksp, type));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &p));
  CHECK_OK(PoisePCSetType(p, pc));
  CHECK_OK(PoiseKSPSetNormType(s.ksp, norm));
  CHECK_OK(PoiseKSPSetPCSide(s.ksp, side));
  for (int guess = 0; guess < 2; guess++) {
    CHECK_OK(PoiseVecSet(s.x, guess ? 3 : NAN));
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, guess));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
    CHECK(PoiseKSPInconsistency(s.ksp) < 1e-14);
    Near(&s, 1e-7);
  }
  int64_t calls = ctx->memory.calls;
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(ctx->memory.calls, calls);
  ProblemClose(&s);
}

static void TestSolving(PoiseContext ctx)
{
  static const char *const pcs[] = {"none", "jacobi"};
  for (int k = 0; k < 2; k++) {
    Solving(ctx, 1, 1, "cg", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 2, 1, "cg", pcs[k], POISE_KSP_NORM_NATURAL, POISE_PC_LEFT);
    Solving(ctx, 2, 0, "cg", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 2, 1, "gmres", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 1, 0, "gmres", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_RIGHT);
    Solving(ctx, 2, 1, "bicgstab", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 2, 1, "minres", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 2, 1, "fgmres", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_RIGHT);
    Solving(ctx, 1, 1, "bicgstab", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_RIGHT);
    Solving(ctx, 2, 1, "cgs", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 1, 1, "tfqmr", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 1, 1, "tfqmr", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_RIGHT);
    Solving(ctx, 2, 1, "bicgstabl", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 2, 1, "fcg", pcs[k], POISE_KSP_NORM_NATURAL, POISE_PC_LEFT);
    Solving(ctx, 1, 1, "gcr", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_RIGHT);
    Solving(ctx, 2, 1, "symmlq", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 1, 1, "qmrcgs", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_RIGHT);
    Solving(ctx, 1, 1, "bicg", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 1, 1, "qmr", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 1, 1, "lgmres", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
    Solving(ctx, 1, 1, "lgmres", pcs[k], POISE_KSP_NORM_UNPRECONDITIONED, POISE_PC_RIGHT);
    Solving(ctx, 2, 1, "idr", pcs[k], POISE_KSP_NORM_PRECONDITIONED, POISE_PC_LEFT);
  }
}

/* What the context prints during a call, on rank 0. */
static void ReasonText(Problem *s, char *text, size_t size)
{
  PoiseContext ctx = PoiseMatContext(s->A);
  FILE *f = TestPrintBegin(ctx);
  CHECK_OK(poiseKSPPrintReason(s->ksp));
  CHECK_OK(PoiseKSPView(s->ksp));
  TestPrintEnd(ctx, f, text, size);
}

/* b has a part in the null space: the solve gives the solution of the rest and says so; where the norm can
   see that part, it does not converge. */
static void TestInconsistent(PoiseContext ctx)
{
  Problem s;
  char text[8192];
  double norm;
  PoiseVec ones;
  if (!Open(ctx, 1, &s)) return;
  Attach(s.A, 1, 1);
  CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-6, -1, -1,
                                 -1)); /* (r, z) sees the part that stays in r: no further, as in PETSc */
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  ReasonText(&s, text, sizeof text);
  CHECK_INT(CountWord(text, "inconsistent"), 0);
  CHECK_OK(PoiseVecNorm(s.b, POISE_NORM_2, &norm));
  CHECK_OK(PoiseVecDuplicate(s.b, &ones));
  CHECK_OK(PoiseVecSet(ones, 0.5 * norm / sqrt(N)));
  CHECK_OK(PoiseVecAXPY(s.b, 1, ones));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) == POISE_CONVERGED_RTOL);
  CHECK_NEAR(PoiseKSPInconsistency(s.ksp), 0.5 / sqrt(1.25), 1e-12);
  Near(&s, 1e-3); /* 1e-6 and the condition */
  ReasonText(&s, text, sizeof text);
  CHECK_INT(CountWord(text, "b is inconsistent: 0.447 of its norm lies in the null space"),
            PoiseRank(ctx) == 0 ? 2 : 0);
  CHECK_OK(PoiseKSPSetNormType(s.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s.ksp, 1));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_NOT_CONVERGED, "b is inconsistent: 0.447 of its norm");
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL));
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s.ksp, 0));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPInconsistency(s.ksp) == 0);
  CHECK_OK(PoiseVecDestroy(&ones));
  ProblemClose(&s);
}

/* A = L S R for the ring S and diagonal L, R. Then A (1 / r) = 0 and A^T (1 / l) = 0, with two different
   vectors of length 1. */
static void Skew(Problem *s, PoiseVec *null, PoiseVec *left)
{
  double norm, dot;
  PoiseVec *v[2] = {left, null}, d[2];
  for (int k = 0; k < 2; k++) {
    CHECK_OK(PoiseVecDuplicate(s->x, v[k]));
    CHECK_OK(PoiseVecDuplicate(s->x, &d[k]));
    CHECK_OK(PoiseVecSetRandom(d[k], 7 + (uint64_t)k));
    CHECK_OK(PoiseVecSet(*v[k], 1.5));
    CHECK_OK(PoiseVecAXPY(d[k], 1, *v[k]));
    CHECK_OK(PoiseVecCopy(d[k], *v[k]));
    CHECK_OK(PoiseVecReciprocal(*v[k]));
    CHECK_OK(PoiseVecNorm(*v[k], POISE_NORM_2, &norm));
    CHECK_OK(PoiseVecScale(*v[k], 1 / norm));
  }
  CHECK_OK(PoiseMatDiagonalScale(s->A, d[0], d[1]));
  CHECK_OK(PoiseVecDot(s->exact, *null, &dot));
  CHECK_OK(PoiseVecAXPY(s->exact, -dot, *null));
  CHECK_OK(PoiseMatMult(s->A, s->exact, s->b));
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseVecDestroy(&d[k]));
}

/* b beyond the range by `part` of its norm: what remains of b - A x, and nothing else, is that part. */
static void LeastSquares(PoiseContext ctx, const char *type, const char *pc, PoisePCSide side)
{
  Problem s;
  PoisePC p;
  PoiseVec null, left, rest;
  double norm;
  uint64_t b;
  char text[8192];
  if (!Open(ctx, 1, &s)) return;
  Skew(&s, &null, &left);
  CHECK_OK(PoiseVecNorm(s.b, POISE_NORM_2, &norm));
  CHECK_OK(PoiseVecAXPY(s.b, 0.75 * norm, left)); /* (3, 4, 5): 0.6 of the norm */
  CHECK_OK(PoiseVecDuplicate(s.b, &rest));
  CHECK_OK(PoiseKSPSetType(s.ksp, type));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &p));
  CHECK_OK(PoisePCSetType(p, pc));
  CHECK_OK(PoiseKSPSetPCSide(s.ksp, side));
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 1, &null));
  CHECK_OK(PoiseKSPGMRESSetRestart(s.ksp, N));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_OK(PoiseVecWAXPY(s.r, -1, s.exact, s.x));
  CHECK_OK(PoiseVecNorm(s.r, POISE_NORM_INF, &norm));
  CHECK(PoiseKSPConvergedReason(s.ksp) < 0 || norm > 1e-2); /* without help there is no such solution */
  CHECK_OK(PoiseMatSetTransposeNullSpace(s.A, 0, 1, &left));
  b = SampleDigest(s.b);
  for (int guess = 0; guess < 2; guess++) {
    CHECK_OK(PoiseVecSet(s.x, guess ? 3 : NAN));
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, guess));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
    CHECK_NEAR(PoiseKSPInconsistency(s.ksp), 0.6, 1e-12);
    Near(&s, 1e-6);
    CHECK(SampleDigest(s.b) == b);
    CHECK_OK(PoiseMatResidual(s.A, s.b, s.x, s.r));
    CHECK_OK(PoiseVecDot(s.r, left, &norm));
    CHECK_OK(PoiseVecWAXPY(rest, -norm, left, s.r));
    CHECK_OK(PoiseVecNorm(rest, POISE_NORM_2, &norm));
    CHECK_NEAR(norm, 0, 1e-6);
  }
  ReasonText(&s, text, sizeof text);
  CHECK_INT(CountWord(text, "0.6 of its norm lies in the null space of the transpose, and was left out"),
            PoiseRank(ctx) == 0 ? 2 : 0);
  int64_t calls = ctx->memory.calls;
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(ctx->memory.calls, calls);
  CHECK_OK(PoiseVecDestroy(&null));
  CHECK_OK(PoiseVecDestroy(&left));
  CHECK_OK(PoiseVecDestroy(&rest));
  ProblemClose(&s);
}

static void TestLeastSquares(PoiseContext ctx)
{
  LeastSquares(ctx, "gmres", "none", POISE_PC_LEFT);
  LeastSquares(ctx, "gmres", "jacobi", POISE_PC_LEFT);
  LeastSquares(ctx, "gmres", "jacobi", POISE_PC_RIGHT);
  LeastSquares(ctx, "fgmres", "none", POISE_PC_RIGHT);
  LeastSquares(ctx, "bicgstab", "jacobi", POISE_PC_LEFT);
}

/* The norm that cannot be reached with all of b can with what is left; and with all of b again. */
static void TestSymmetric(PoiseContext ctx)
{
  Problem s;
  PoiseVec ones;
  if (!Open(ctx, 1, &s)) return;
  Attach(s.A, 1, 1);
  CHECK_OK(PoiseMatSetTransposeNullSpace(s.A, 1, 0, NULL));
  CHECK_OK(PoiseVecDuplicate(s.b, &ones));
  CHECK_OK(PoiseVecSet(ones, 1));
  CHECK_OK(PoiseVecAXPY(s.b, 1, ones));
  CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
  CHECK_OK(PoiseKSPSetNormType(s.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) == POISE_CONVERGED_RTOL);
  Near(&s, 1e-7);
  CHECK_OK(PoiseMatSetTransposeNullSpace(s.A, 0, 0, NULL));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) < 0);
  CHECK_OK(PoiseVecDestroy(&ones));
  ProblemClose(&s);
}

/* Replayed or not, the same iterations and bits; a captured loop learns of another null space. */
static void TestReplayed(PoiseContext ctx)
{
  static const char *const types[] = {"cg", "gmres", "bicgstab"};
  for (int t = 0; t < 3; t++) {
    uint64_t bits[2] = {0};
    PoiseInt its[2] = {0};
    for (int eager = 0; eager < 2; eager++) {
      Problem s;
      if (!Open(ctx, 2, &s)) return;
      Attach(s.A, 1, 1);
      CHECK_OK(PoiseOptionsSet(ctx, "ksp_replay", eager ? "0" : "4"));
      CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
      CHECK_OK(PoiseKSPSetType(s.ksp, types[t]));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK(!s.ksp->loop.eager == (!eager && SampleReplays(ctx)));
      Attach(s.A, 2, 1);
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      Near(&s, 1e-7);
      bits[eager] = SampleDigest(s.x);
      its[eager] = PoiseKSPIterations(s.ksp);
      ProblemClose(&s);
    }
    CHECK(bits[0] == bits[1]);
    CHECK_INT(its[0], its[1]);
  }
}

static void TestErrors(PoiseContext ctx)
{
  Problem s;
  double v = 1 / sqrt(N);
  PoiseVec many[POISE_MAX_BATCH], other;
  if (!Open(ctx, 1, &s)) return;
  PoiseVec plus = Halves(s.A, v, v), minus = Halves(s.A, v, -v);
  for (int k = 0; k < POISE_MAX_BATCH; k++) many[k] = plus;
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, N + 1, &other));
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 1, 1, &plus), POISE_ERR_ARG,
            "not orthonormal: the product of numbers 0 and 1 is 1");
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 0, 1, &s.exact), POISE_ERR_ARG, "the product of numbers 0 and 0 is");
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 0, 1, &other), POISE_ERR_SIZE, "vector 0 of its null space 73");
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 1, POISE_MAX_BATCH, many), POISE_ERR_ARG,
            "33 vectors, there can be 32");
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 1, -1, many), POISE_ERR_ARG, "null space of");
  CHECK_INT(s.A->null.n, 0);
  for (int far = 0; far < 2; far++) { /* a length that differs by less than 1e-8, and by more */
    double factor = sqrt(1 + (far ? 2e-8 : 0.5e-8));
    PoiseVec longer = Halves(s.A, factor * v, factor * v), shorter = Halves(s.A, v / factor, -v / factor);
    PoiseErr code = far ? POISE_ERR_ARG : POISE_OK;
    CHECK_INT(PoiseMatSetNullSpace(s.A, 0, 1, &longer), code);
    CHECK_INT(PoiseMatSetNullSpace(s.A, 0, 1, &shorter), code);
    PoiseErrorClear();
    CHECK_OK(PoiseVecDestroy(&longer));
    CHECK_OK(PoiseVecDestroy(&shorter));
  }
  PoiseVec pair[2] = {Halves(s.A, 0, 0), Halves(s.A, 0, 0)}; /* e_0, e_1 + 1e-8 e_0: just orthogonal enough */
  if (PoiseRank(ctx) == 0) CHECK_OK(PoiseVecSetValues(pair[0], 1, (PoiseInt[]){0}, (double[]){1}));
  if (PoiseRank(ctx) == 0) CHECK_OK(PoiseVecSetValues(pair[1], 2, (PoiseInt[]){0, 1}, (double[]){1e-8, 1}));
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseVecAssemble(pair[k]));
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 2, pair));
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseVecDestroy(&pair[k]));
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL));
  CHECK_ERR(PoiseMatSetTransposeNullSpace(s.A, 0, 1, &other), POISE_ERR_SIZE,
            "A has 72 rows, vector 0 of its null space 73");
  CHECK_ERR(PoiseMatSetTransposeNullSpace(s.A, 0, 1, &s.exact), POISE_ERR_ARG,
            "the product of numbers 0 and 0 is");
  CHECK_INT(s.A->left.n, 0);
  CHECK_OK(PoiseMatSetNullSpace(s.A, 1, 1, &minus));
  CHECK_INT(s.A->null.n, 2);
  CHECK_OK(PoiseVecDestroy(&plus));
  CHECK_OK(PoiseVecDestroy(&minus));
  CHECK_OK(PoiseVecDestroy(&other));
  ProblemClose(&s);
}

/* As many vectors as there can be, in all three bases. Each is freed whole, and nothing behind it. */
static void TestFull(PoiseContext ctx)
{
  Problem s;
  PoiseVec v[POISE_MAX_BATCH];
  if (!Open(ctx, 1, &s)) return;
  for (int k = 0; k < POISE_MAX_BATCH; k++) {
    v[k] = Halves(s.A, 0, 0);
    if (PoiseRank(ctx) == 0) CHECK_OK(PoiseVecSetValues(v[k], 1, (PoiseInt[]){k}, (double[]){1}));
    CHECK_OK(PoiseVecAssemble(v[k]));
  }
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, POISE_MAX_BATCH, v));
  CHECK_OK(PoiseMatSetTransposeNullSpace(s.A, 0, POISE_MAX_BATCH, v));
  CHECK_OK(PoiseMatSetNearNullSpace(s.A, 0, POISE_MAX_BATCH, v));
  CHECK_INT(s.A->null.n + s.A->left.n + s.A->near.n, 3 * POISE_MAX_BATCH);
  for (int k = 0; k < POISE_MAX_BATCH; k++) CHECK_OK(PoiseVecDestroy(&v[k]));
  PoiseErrorClear();
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL));
  CHECK_INT(s.A->left.n, POISE_MAX_BATCH);
  ProblemClose(&s);
  CHECK(!PoiseErrorMessage()[0]);
}

/* Kept, found again in order, also in a rearranged copy; solves and what A v is know nothing of it. */
static void TestNear(PoiseContext ctx)
{
  Problem s;
  PoiseMat B, P;
  PoiseInt m, n_local;
  const PoiseVec *v;
  PoiseBytes before, after;
  int n;
  double v0 = 1 / sqrt(N), dot;
  if (!Open(ctx, 1, &s)) return;
  PoiseVec minus = Halves(s.A, v0, -v0), moved;
  PoiseMatLocalSizes(s.A, &m, &n_local);
  CHECK_OK(PoiseMatBytes(s.A, &before, NULL));
  CHECK_OK(PoiseMatSetNearNullSpace(s.A, 1, 1, &minus));
  CHECK_OK(PoiseMatGetNearNullSpace(s.A, &n, &v));
  CHECK_INT(n, 2);
  CHECK_OK(PoiseVecDot(v[0], minus, &dot));
  CHECK_NEAR(dot, 1, 1e-12);
  CHECK_OK(PoiseVecDot(v[1], minus, &dot));
  CHECK_NEAR(dot, 0, 1e-12);
  CHECK_OK(PoiseMatBytes(s.A, &after, NULL));
  CHECK(after.host + after.device >= before.host + before.device + 16 * n_local);
  CHECK_INT(s.A->null.n + s.A->left.n, 0);

  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_RCM));
  CHECK_OK(PoiseMatRearrange(s.A, &B, &P));
  CHECK_OK(PoiseMatCreateVecs(B, &moved, NULL));
  CHECK_OK(PoiseMatMult(P, minus, moved));
  CHECK_OK(PoiseMatGetNearNullSpace(B, &n, &v));
  CHECK_INT(n, 2);
  CHECK_OK(PoiseVecDot(v[0], moved, &dot));
  CHECK_NEAR(dot, 1, 1e-12);

  CHECK_OK(PoiseVecSet(moved, 0));
  CHECK_ERR(PoiseMatSetNearNullSpace(s.A, 0, 1, &moved), POISE_ERR_ARG,
            "vector 0 of the near null space has norm 0");
  CHECK_OK(PoiseVecSet(moved, NAN));
  CHECK_ERR(PoiseMatSetNearNullSpace(s.A, 0, 1, &moved), POISE_ERR_ARG,
            "vector 0 of the near null space has norm nan");
  CHECK_INT(s.A->near.n, 2);
  CHECK_OK(PoiseMatSetNearNullSpace(s.A, 0, 1, &s.exact)); /* of any length */
  CHECK_OK(PoiseMatSetNearNullSpace(s.A, 0, 0, NULL));
  CHECK_INT(s.A->near.n, 0);
  CHECK_OK(PoiseVecDestroy(&moved));
  CHECK_OK(PoiseVecDestroy(&minus));
  CHECK_OK(PoiseMatDestroy(&P));
  CHECK_OK(PoiseMatDestroy(&B));
  ProblemClose(&s);
}

static PoiseErr AttachAndSolve(PoiseContext ctx, void *arg)
{
  PoiseMat A = arg;
  PoiseVec x = NULL, b = NULL;
  PoiseKSP ksp = NULL;
  PoiseErr e = PoiseMatSetNullSpace(A, 0, 0, NULL);
  if (!e) e = PoiseMatSetNullSpace(A, 1, 0, NULL);
  if (!e) e = PoiseMatSetTransposeNullSpace(A, 1, 0, NULL);
  if (!e) e = PoiseMatSetNearNullSpace(A, 1, 0, NULL);
  if (!e) e = PoiseMatCreateVecs(A, &x, &b);
  if (!e) e = PoiseAgree(ctx, PoiseVecSetRandom(b, 1));
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e) e = PoiseKSPSetTolerances(ksp, -1, -1, -1, 2);
  if (!e) e = PoiseKSPSolve(ksp, b, x);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseErr last = PoiseMatSetNullSpace(A, 0, 0, NULL);
  if (!last) last = PoiseMatSetTransposeNullSpace(A, 0, 0, NULL);
  return e ? e : last;
}

static void TestMemory(PoiseContext ctx)
{
  PoiseMat A = Rings(ctx, 1);
  TestAllocationFailures(ctx, AttachAndSolve, A);
  CHECK_OK(PoiseMatDestroy(&A));
}

static const Test tests[] = {
    {"solving", TestSolving, 0},
    {"inconsistent", TestInconsistent, 0},
    {"least_squares", TestLeastSquares, 0},
    {"symmetric", TestSymmetric, 0},
    {"replayed", TestReplayed, 0},
    {"near", TestNear, 0},
    {"full", TestFull, 0},
    {"errors", TestErrors, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "nullspace", tests);
}

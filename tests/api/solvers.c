/* SPDX-License-Identifier: BSD-3-Clause */
/* Complete solves: true residuals, reasons, histories, monitors, tests, guesses, null spaces, and what is
   kept between solves. */
#include "api.h"

enum { N = 64 };

static const char *const types[] = {"cg",        "bcg",       "prcg",       "bicgstab", "gmres",  "fgmres",
                                    "minres",    "chebyshev", "richardson", "cgs",      "tfqmr",  "idr",
                                    "bicgstabl", "fcg",       "gcr",        "symmlq",   "qmrcgs", "bicg",
                                    "lsqr",      "cgls",      "lgmres",     "qmr"};
enum { TYPES = sizeof types / sizeof *types };

typedef struct Solver {
  Dense D;
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  PoisePC pc;
  double exact[N], rhs[N];
} Solver;

static Solver Begin(PoiseContext ctx, int kind, const char *type, const char *pc)
{
  Solver s = {.D = System(kind, N)};
  s.A = MatOf(ctx, &s.D, 4, 0);
  for (int i = 0; i < N; i++) s.exact[i] = Random(120, (uint64_t)i);
  DenseMult(&s.D, s.exact, s.rhs);
  CHECK_OK(PoiseMatCreateVecs(s.A, &s.x, &s.b));
  VecFill(s.b, s.rhs);
  CHECK_OK(PoiseVecSet(s.x, NAN)); /* a zero guess does not look */
  CHECK_OK(PoiseKSPCreate(ctx, &s.ksp));
  CHECK_OK(PoiseKSPSetType(s.ksp, type));
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &s.pc));
  CHECK_OK(PoisePCSetType(s.pc, pc));
  CHECK_OK(PoiseKSPKeepHistory(s.ksp, 1));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, -1, -1, 3000));
  return s;
}

static void End(Solver *s)
{
  CHECK_OK(PoiseKSPDestroy(&s->ksp));
  CHECK_OK(PoiseVecDestroy(&s->b));
  CHECK_OK(PoiseVecDestroy(&s->x));
  CHECK_OK(PoiseMatDestroy(&s->A));
  DenseFree(&s->D);
}

/* |b - A x| by dense arithmetic. */
static double TrueResidual(const Solver *s)
{
  double x[N], r[N];
  VecAll(s->x, x);
  DenseMult(&s->D, x, r);
  for (int i = 0; i < N; i++) r[i] = s->rhs[i] - r[i];
  return Norm(N, r);
}

static void Solved(const Solver *s, double tol)
{
  double told, r = TrueResidual(s);
  CHECK(PoiseKSPConvergedReason(s->ksp) > 0);
  CHECK_NEAR(r, 0, tol * Norm(N, s->rhs));
  CHECK_OK(PoiseKSPTrueResidual(s->ksp, s->b, s->x, &told));
  CHECK_NEAR(told, r, 1e-12);
}

static void TestConverges(PoiseContext ctx)
{
  static const char *const pcs[] = {"none", "jacobi", "pbjacobi", "ilu", "icc", "sor", "bjacobi", "lu"};
  for (int t = 0; t < TYPES; t++)
    for (int p = 0; p < 8; p++) {
      if (!strcmp(types[t], "prcg") && p > 1) continue;
      if ((!strcmp(types[t], "bicg") || !strcmp(types[t], "qmr")) && !strcmp(pcs[p], "bjacobi")) continue;
      if (!strcmp(types[t], "richardson") && p == 0) continue;
      PoiseInt count;
      const double *h;
      ApiCase("%s, %s", types[t], pcs[p]);
      bool general = t >= 2 && t <= 4;
      Solver s = Begin(ctx, general && strcmp(pcs[p], "icc") ? CONVECTION : SPD, types[t], pcs[p]);
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      Solved(&s, 1e-7);
      CHECK_OK(PoiseKSPHistory(s.ksp, &count, &h));
      PoiseInt its = PoiseKSPIterations(s.ksp);
      if (CHECK_INT(count, its + 1)) {
        CHECK_NEAR(h[its], PoiseKSPResidualNorm(s.ksp), 0);
        CHECK(h[its] <= 1e-10 * h[0]);
        for (PoiseInt k = 0; k < its; k++)
          if (h[k] <= 1e-10 * h[0]) CHECK(0); /* it stops at once */
      }
      char key[64];
      double x[N];
      snprintf(key, sizeof key, "%s %s", types[t], pcs[p]);
      VecAll(s.x, x);
      ApiSame(ctx, key, N, x, 1e-6);
      CHECK_OK(PoiseVecSet(s.x, 3)); /* again, to the same bits */
      double first[N];
      memcpy(first, x, sizeof x);
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      VecAll(s.x, x);
      if (strcmp(ApiDevice(ctx), "cuda")) CHECK(!memcmp(x, first, sizeof x));
      CHECK_INT(PoiseKSPIterations(s.ksp), its);
      End(&s);
    }
}

/* Tolerances, each alone; and the reasons that they give. */
static void TestReasons(PoiseContext ctx)
{
  Solver s = Begin(ctx, SPD, "cg", "jacobi");
  PoiseInt count;
  const double *h;
  CHECK_OK(PoiseKSPSetNormType(s.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-4, 0, -1, -1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
  CHECK_OK(PoiseKSPHistory(s.ksp, &count, &h));
  CHECK(h[count - 1] <= 1e-4 * h[0] && h[count - 2] > 1e-4 * h[0]);
  CHECK_NEAR(h[0], Norm(N, s.rhs), 1e-10);
  double middle = sqrt(h[2] * h[3]);
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, middle, -1, -1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_ATOL);
  CHECK_OK(PoiseKSPHistory(s.ksp, &count, &h));
  CHECK(h[count - 1] <= middle && h[count - 2] > middle);
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, 0, -1, 3));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_ITS);
  CHECK_INT(PoiseKSPIterations(s.ksp), 3);
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s.ksp, 1));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_NOT_CONVERGED, "DIVERGED_ITS");
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s.ksp, 0));
  CHECK_OK(PoiseVecSet(s.b, 0)); /* the solution is 0 at once */
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
  CHECK_INT(PoiseKSPIterations(s.ksp), 0);
  memset(s.rhs, 0, sizeof s.rhs);
  VecIs(s.x, s.rhs, 0);
  End(&s);
  s = Begin(ctx, SPD, "richardson", "none"); /* grows */
  CHECK_OK(PoiseKSPRichardsonSetScale(s.ksp, 4));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, 0, 1e3, 1000));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_DTOL);
  CHECK_OK(PoiseKSPHistory(s.ksp, &count, &h));
  CHECK(h[count - 1] >= 1e3 * h[0] && h[count - 2] < 1e3 * h[0]);
  CHECK(!strcmp(PoiseKSPReasonString(POISE_DIVERGED_DTOL), "DIVERGED_DTOL"));
  End(&s);
  s = Begin(ctx, INDEFINITE, "cg", "none");
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_INDEFINITE_MAT);
  CHECK_OK(PoiseMatScale(s.A, -1));
  for (int i = 0; i < N; i++)
    CHECK_OK(PoiseMatAddEntries(s.A, PoiseRank(ctx) ? 0 : 1, &(PoiseInt){i}, &(PoiseInt){i}, &(double){-9}));
  CHECK_OK(PoiseMatAssemble(s.A));
  CHECK_OK(PoiseKSPSetType(s.ksp, "chebyshev")); /* whose estimate finds that A is negative definite */
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_INDEFINITE_MAT);
  CHECK_INT(PoiseKSPIterations(s.ksp), 0);
  CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
  s.rhs[5] = NAN;
  VecFill(s.b, s.rhs);
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_NANORINF);
  CHECK(strstr(PoiseKSPReasonDetail(s.ksp), "entry 5 of b"));
  End(&s);
}

/* A guess: exact ones end at once; others count from |b|. */
static void TestGuess(PoiseContext ctx)
{
  for (int t = 0; t < TYPES; t++) {
    ApiCase("%s", types[t]);
    Solver s = Begin(ctx, SPD, types[t], "jacobi");
    PoiseInt none;
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    none = PoiseKSPIterations(s.ksp);
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
    VecFill(s.x, s.exact);
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPIterations(s.ksp), 0);
    Solved(&s, 1e-12);
    double near[N];
    for (int i = 0; i < N; i++) near[i] = s.exact[i] * (1 + 1e-5 * Random(121, (uint64_t)i));
    VecFill(s.x, near);
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(PoiseKSPIterations(s.ksp) < none);
    Solved(&s, 1e-7);
    End(&s);
  }
}

/* An exact guess ends cg where no norm is computed, too: r = 0 has no direction to go on in. */
static void TestExactWithoutNorm(PoiseContext ctx)
{
  double got[N];
  Solver s = Begin(ctx, SPD, "cg", "jacobi");
  Dense E = DenseNew(N, N);
  for (int i = 0; i < N; i++) DenseSet(&E, i, i, 2);
  PoiseMat A = MatOf(ctx, &E, 4, 0);
  for (int i = 0; i < N; i++) s.rhs[i] = 2 * s.exact[i];
  VecFill(s.b, s.rhs);
  VecFill(s.x, s.exact);
  CHECK_OK(PoiseKSPSetOperators(s.ksp, A, NULL));
  CHECK_OK(PoiseKSPSetNormType(s.ksp, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, -1, -1, -1, 5));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_ATOL);
  CHECK_INT(PoiseKSPIterations(s.ksp), 0);
  VecAll(s.x, got);
  CHECK(!memcmp(got, s.exact, sizeof got));
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&E);
  End(&s);
}

/* Restarts that grow and shrink between solves; bounds that are estimated anew. */
static void TestSettings(PoiseContext ctx)
{
  static const int restarts[] = {3, 40, 1, 12, 100};
  static const char *const of[] = {"gmres", "fgmres"};
  for (int t = 0; t < 2; t++) {
    Solver s = Begin(ctx, CONVECTION, of[t], "jacobi");
    for (int k = 0; k < 5; k++) {
      ApiCase("%s, restart %d", of[t], restarts[k]);
      CHECK_OK(PoiseKSPGMRESSetRestart(s.ksp, restarts[k]));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      Solved(&s, 1e-8);
    }
    End(&s);
  }
  Solver s = Begin(ctx, SPD, "chebyshev", "jacobi");
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  Solved(&s, 1e-8);
  PoiseInt its = PoiseKSPIterations(s.ksp);
  CHECK_OK(PoisePCSetType(s.pc, "none"));
  CHECK_OK(PoiseMatScale(s.A, 40)); /* old bounds would diverge */
  for (int k = 0; k < N * N; k++) s.D.a[k] *= 40;
  for (int i = 0; i < N; i++) s.rhs[i] *= 40;
  VecFill(s.b, s.rhs);
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  Solved(&s, 1e-8);
  CHECK(PoiseKSPIterations(s.ksp) < 6 * its + 60);
  CHECK_OK(PoiseMatScale(s.A, -1.0 / 40)); /* one sign, whichever */
  CHECK_OK(PoiseKSPChebyshevSetEigenvalues(s.ksp, -0.2, -11));
  for (int k = 0; k < N * N; k++) s.D.a[k] /= -40;
  for (int i = 0; i < N; i++) s.rhs[i] /= -40;
  VecFill(s.b, s.rhs);
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  Solved(&s, 1e-7);
  CHECK_ERR(PoiseKSPChebyshevSetEigenvalues(s.ksp, 1, 2), POISE_ERR_ARG, "");
  CHECK_ERR(PoiseKSPChebyshevSetEigenvalues(s.ksp, 1, -2), POISE_ERR_ARG, "zero");
  End(&s);
}

/* Of an ill-conditioned A gmres ends in as many steps as A has rows where it orthogonalises twice. */
static void TestRefinement(PoiseContext ctx)
{
  static const char *const of[] = {"refine_ifneeded", "refine_always"};
  Dense D = DenseNew(N, N);
  for (int i = 0; i < N; i++) {
    double v = pow(10, -4.0 * i / N);
    DenseSet(&D, i, i, v);
    if (i + 1 < N) DenseSet(&D, i, i + 1, v / 2);
  }
  for (int k = 0; k < 4; k++) {
    ApiCase("%s, %s", of[k % 2], k / 2 ? "fgmres" : "gmres");
    Solver s = Begin(ctx, SPD, k / 2 ? "fgmres" : "gmres", "none");
    PoiseMat A = MatOf(ctx, &D, 4, 0);
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_gmres_cgs_refinement_type", of[k % 2]));
    CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
    CHECK_OK(PoiseKSPSetOperators(s.ksp, A, NULL));
    CHECK_OK(PoiseVecSet(s.b, 1));
    CHECK_OK(PoiseKSPGMRESSetRestart(s.ksp, 100));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-13, 0, -1, N));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
    CHECK_OK(PoiseMatDestroy(&A));
    End(&s);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "ksp_gmres_cgs_refinement_type", "refine_never"));
  DenseFree(&D);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

typedef struct Seen {
  PoiseInt calls, next, stop;
  double norms[3001];
  PoiseVec x;
  PoiseErr fail;
} Seen;

static PoiseErr Watch(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  Seen *s = arg;
  (void)ksp;
  CHECK_INT(iteration, s->next++);
  s->norms[iteration] = norm;
  s->calls++;
  return POISE_OK;
}

static PoiseErr Stop(PoiseKSP ksp, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *arg)
{
  Seen *s = arg;
  s->norms[iteration] = norm;
  s->calls++;
  if (s->fail) POISE_FAIL(s->fail, "the test gives up");
  if (s->x && iteration == s->stop) {
    double found;
    POISE_TRY(PoiseKSPBuildSolution(ksp, s->x));
    POISE_TRY(PoiseVecNorm(s->x, POISE_NORM_2, &found));
    CHECK(found > 0);
  }
  if (iteration == s->stop) *reason = s->stop % 2 ? POISE_CONVERGED_USER : POISE_DIVERGED_USER;
  return POISE_OK;
}

static void TestMonitor(PoiseContext ctx)
{
  for (int t = 0; t < TYPES; t++) {
    Seen *seen = calloc(2, sizeof *seen);
    PoiseInt count;
    const double *h;
    ApiCase("%s", types[t]);
    Solver s = Begin(ctx, SPD, types[t], "jacobi");
    for (int k = 0; k < 2; k++) CHECK_OK(PoiseKSPAddMonitor(s.ksp, Watch, &seen[k]));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_OK(PoiseKSPHistory(s.ksp, &count, &h));
    CHECK_INT(seen[0].calls, count);
    CHECK_INT(seen[1].calls, count);
    CHECK(!memcmp(seen[0].norms, h, (size_t)count * sizeof *h));
    End(&s);
    free(seen);
  }
}

/* The iterate that a test sees is the one that a solve of as many iterations leaves. */
static void TestUserTest(PoiseContext ctx)
{
  for (int t = 0; t < TYPES; t++) {
    Seen *seen = calloc(1, sizeof *seen);
    double x[N];
    ApiCase("%s", types[t]);
    Solver s = Begin(ctx, SPD, types[t], "jacobi");
    CHECK_OK(PoiseVecDuplicate(s.x, &seen->x));
    for (seen->stop = 3; seen->stop <= 4; seen->stop++) {
      seen->calls = 0;
      CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, Stop, seen));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_INT(PoiseKSPConvergedReason(s.ksp), seen->stop % 2 ? POISE_CONVERGED_USER : POISE_DIVERGED_USER);
      CHECK_INT(PoiseKSPIterations(s.ksp), seen->stop);
      CHECK_INT(seen->calls, seen->stop + 1);
      VecAll(s.x, x);
      VecIs(seen->x, x, 1e-12);
      CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, NULL, NULL));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, 0, -1, seen->stop));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_ITS);
      VecIs(s.x, x, 1e-12);
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, 0, -1, 3000));
    }
    seen->fail = POISE_ERR_USER;
    CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, Stop, seen));
    CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_USER, "gives up");
    CHECK_ERR(PoiseKSPBuildSolution(s.ksp, s.x), POISE_ERR_STATE, "");
    CHECK_OK(PoiseVecDestroy(&seen->x));
    End(&s);
    free(seen);
  }
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* New values of the matrix, of which the preconditioner is told or not. */
static void TestReuse(PoiseContext ctx)
{
  static const char *const pcs[] = {"jacobi", "pbjacobi", "ilu", "icc", "bjacobi", "lu"};
  double e[N], before[N], after[N];
  for (int p = 0; p < 6; p++) {
    ApiCase("%s", pcs[p]);
    Solver s = Begin(ctx, SPD, "cg", pcs[p]);
    for (int i = 0; i < N; i++) e[i] = Random(122, (uint64_t)i);
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    VecFill(s.b, e);
    CHECK_OK(PoisePCApply(s.pc, s.b, s.x));
    VecAll(s.x, before);
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 1));
    CHECK_OK(PoiseMatScale(s.A, 2));
    for (int k = 0; k < N * N; k++) s.D.a[k] *= 2;
    VecFill(s.b, s.rhs);
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    Solved(&s, 1e-8);
    VecFill(s.b, e);
    CHECK_OK(PoisePCApply(s.pc, s.b, s.x));
    VecIs(s.x, before, 0);
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 0));
    CHECK_OK(PoiseKSPSetUp(s.ksp));
    CHECK_OK(PoisePCApply(s.pc, s.b, s.x));
    for (int i = 0; i < N; i++) after[i] = before[i] / 2;
    VecIs(s.x, after, 1e-12);
    PoiseMat B = MatOf(ctx, &s.D, 4, 0); /* another matrix: A from P */
    CHECK_OK(PoiseMatScale(B, 4));
    CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, B));
    VecFill(s.b, s.rhs);
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    Solved(&s, 1e-8);
    VecFill(s.b, e);
    CHECK_OK(PoisePCApply(s.pc, s.b, s.x));
    for (int i = 0; i < N; i++) after[i] = before[i] / 8;
    VecIs(s.x, after, 1e-12);
    CHECK_OK(PoiseMatDestroy(&B));
    End(&s);
  }
}

/* Right-hand sides of any size have solutions of any size. */
static void TestUnits(PoiseContext ctx)
{
  static const double units[] = {1e-250, 1e-160, 1e-40, 1e160, 1e250};
  for (int t = 0; t < TYPES; t++)
    for (int u = 0; u < 5; u++) {
      double x[N];
      ApiCase("%s, %g", types[t], units[u]);
      Solver s = Begin(ctx, SPD, types[t], "jacobi");
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-9, 0, -1, -1));
      CHECK_OK(PoiseVecScale(s.b, units[u]));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
      CHECK_OK(PoiseVecScale(s.x, 1 / units[u]));
      VecAll(s.x, x);
      VecIs(s.x, s.exact, 1e-6);
      End(&s);
    }
}

/* ---- singular systems ------------------------------------------------------------------------ */

/* Constants are the null space; b has a part in it, which is told, and left out when the space of A^T
   is given. */
static void TestNullSpace(PoiseContext ctx)
{
  static const char *const of[] = {"cg", "minres", "gmres", "fgmres", "bicgstab"};
  for (int t = 0; t < 5; t++)
    for (int way = 0; way < 3; way++) { /* the constant; it as a vector; with a part of b outside */
      Solver s = Begin(ctx, SPD, of[t], "jacobi");
      PoiseVec v;
      double x[N], r[N], sum = 0, most = 0;
      ApiCase("%s, way %d", of[t], way);
      for (int i = 0; i < N; i++) {
        double row = 0;
        for (int j = 0; j < N; j++) row += i == j ? 0 : s.D.a[i * N + j];
        s.D.a[i * N + i] = -row;
      }
      PoiseMat A = MatOf(ctx, &s.D, 4, 0);
      CHECK_OK(PoiseVecDuplicate(s.x, &v));
      CHECK_OK(PoiseVecSet(v, 1.0 / 8)); /* |v| = 1 */
      CHECK_OK(PoiseMatSetNullSpace(A, way != 1, way == 1, &v));
      if (way == 2) CHECK_OK(PoiseMatSetTransposeNullSpace(A, 1, 0, NULL));
      CHECK_OK(PoiseKSPSetOperators(s.ksp, A, NULL));
      DenseMult(&s.D, s.exact, s.rhs);
      for (int i = 0; i < N && way == 2; i++) s.rhs[i] += 0.5;
      VecFill(s.b, s.rhs);
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
      CHECK_NEAR(PoiseKSPInconsistency(s.ksp), way == 2 ? 4 / Norm(N, s.rhs) : 0, 1e-12);
      VecIs(s.b, s.rhs, 0);
      VecAll(s.x, x);
      DenseMult(&s.D, x, r);
      for (int i = 0; i < N; i++)
        sum += x[i], most = fmax(most, fabs(s.rhs[i] - (way == 2 ? 0.5 : 0) - r[i]));
      CHECK_NEAR(sum, 0, 1e-9);
      CHECK_NEAR(most, 0, 1e-7);
      CHECK_OK(PoiseVecDestroy(&v));
      CHECK_OK(PoiseMatDestroy(&A));
      End(&s);
    }
}

/* A claim in a norm that means nothing is an error where that is wanted. */
static void TestInaccurate(PoiseContext ctx)
{
  Solver s = Begin(ctx, SPD, "richardson", "none");
  double d[N];
  PoiseVec v = NULL;
  for (int i = 0; i < N; i++) d[i] = i % 8 ? 1 : 1e-9;
  CHECK_OK(PoiseVecDuplicate(s.x, &v));
  VecFill(v, d);
  Dense E = DenseNew(N, N);
  for (int i = 0; i < N; i++) DenseSet(&E, i, i, 1 / d[i]);
  PoiseMat P = MatOf(ctx, &E, 4, 0), A = NULL;
  memset(E.a, 0, sizeof(double) * N * N);
  for (int i = 0; i < N; i++) DenseSet(&E, i, i, 2);
  A = MatOf(ctx, &E, 4, 0);
  CHECK_OK(PoiseKSPSetType(s.ksp, "gmres"));
  CHECK_OK(PoisePCSetType(s.pc, "jacobi"));
  CHECK_OK(PoiseKSPSetOperators(s.ksp, A, P));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-6, 0, -1, -1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
  CHECK(PoiseKSPReasonDetail(s.ksp)[0]);
  CHECK_OK(PoiseKSPSetErrorIfInaccurate(s.ksp, 1));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_NOT_CONVERGED, "");
  CHECK_OK(PoiseVecDestroy(&v));
  CHECK_OK(PoiseMatDestroy(&P));
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&E);
  End(&s);
}

const Test solver_tests[] = {{"converges", TestConverges},
                             {"reasons", TestReasons},
                             {"guess", TestGuess},
                             {"settings", TestSettings},
                             {"monitor", TestMonitor},
                             {"user_test", TestUserTest},
                             {"reuse", TestReuse},
                             {"units", TestUnits},
                             {"null_space", TestNullSpace},
                             {"inaccurate", TestInaccurate},
                             {"refinement", TestRefinement},
                             {"exact_without_norm", TestExactWithoutNorm},
                             {NULL, NULL}};

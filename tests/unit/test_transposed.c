/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with A^T, judged by b - A^T x as PoiseMatMultTranspose has it. */
#include "problem.h"

enum { NX = 9, NY = 8 };

/* Five points with wind, on NX x NY, and rows of different scales: far from symmetric. sums: of all rows but
   scale 0. */
static PoiseErr Wind(PoiseContext ctx, bool sums, PoiseMat *A)
{
  static const int dx[] = {-1, 1, 0, 0}, dy[] = {0, 0, -1, 1};
  static const double wind[] = {-1.6, -0.4, -1.3, -0.7};
  PoiseErr e = POISE_OK;
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, NX * NY, NX * NY, A));
  for (PoiseInt i = 0; !e && PoiseRank(ctx) == 0 && i < NX * NY; i++) {
    double scale = 1 + 0.5 * TestRandom(3, (uint64_t)i), sum = sums ? 0 : 4.1;
    for (int k = 0; !e && k < 4; k++) {
      PoiseInt x = i % NX + dx[k], y = i / NX + dy[k], j = y * NX + x;
      double v = wind[k] * scale;
      if (x < 0 || x >= NX || y < 0 || y >= NY) continue;
      if (sums) sum -= wind[k];
      e = PoiseMatSetBlock(*A, 1, &i, 1, &j, &v);
    }
    if (!e) e = PoiseMatSetBlock(*A, 1, &i, 1, &i, &(double){sum * scale});
  }
  TRY(PoiseAgree(ctx, e));
  return PoiseMatAssemble(*A);
}

static PoiseErr Settings(Problem *p, const char *method, const char *pc)
{
  TRY(PoiseKSPSetType(p->ksp, method));
  TRY(PoiseKSPGetPC(p->ksp, &p->pc));
  TRY(PoisePCSetType(p->pc, pc));
  TRY(PoiseKSPSetTolerances(p->ksp, 1e-9, 0, -1, 1000));
  return PoiseKSPKeepHistory(p->ksp, 1);
}

static bool Open(PoiseContext ctx, const char *method, const char *pc, Problem *p)
{
  PoiseMat A = NULL;
  return CHECK_OK(Wind(ctx, false, &A)) && ProblemOpen(A, p) && CHECK_OK(Settings(p, method, pc)) &&
         CHECK_OK(PoiseVecSetRandom(p->b, 3)) && CHECK_OK(PoiseVecDuplicate(p->x, &p->r));
}

/* |b - A^T x| / |b| */
static double Residual(Problem *p)
{
  CHECK_OK(PoiseMatMultTranspose(p->A, p->x, p->r));
  CHECK_OK(PoiseVecAXPY(p->r, -1, p->b));
  return NormOf(p->r) / NormOf(p->b);
}

/* v += a; r is lost. */
static void Shift(Problem *p, PoiseVec v, double a)
{
  CHECK_OK(PoiseVecSet(p->r, a));
  CHECK_OK(PoiseVecAXPY(v, 1, p->r));
}

static void Solve(Problem *p)
{
  const double *norms;
  PoiseInt count = 0, its;
  CHECK_OK(PoiseKSPSolveTranspose(p->ksp, p->b, p->x));
  CHECK(PoiseKSPConvergedReason(p->ksp) > 0);
  its = PoiseKSPIterations(p->ksp);
  CHECK(its > 0 && Residual(p) <= 1e-7);
  CHECK_OK(PoiseKSPHistory(p->ksp, &count, &norms));
  if (strcmp(PoiseKSPType(p->ksp), "preonly") &&
      strcmp(PoiseKSPType(p->ksp), "auto")) /* of one norm, or several */
    CHECK(count == its + 1 && norms[its] == PoiseKSPResidualNorm(p->ksp));
}

static void TestMethods(PoiseContext ctx)
{
  static const char *const ways[][2] = {
      {"gmres", "ilu"},  {"gmres", "none"},    {"bicgstab", "jacobi"}, {"fgmres", "amg"},    {"bicg", "ilu"},
      {"preonly", "lu"}, {"richardson", "lu"}, {"qmr", "jacobi"},      {"idr", "sor"},       {"gcr", "amg"},
      {"tfqmr", "ilut"}, {"lgmres", "auto"},   {"auto", "none"},       {"chebyshev", "ilu"},
  };
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    Problem p;
    if (!Open(ctx, ways[k][0], ways[k][1], &p)) return;
    for (int again = 0; again < 2; again++) {
      Solve(&p);
      CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x)); /* the two do not disturb each other */
      CHECK(ProblemResidual(&p) <= 1e-7 * NormOf(p.b));
      CHECK(Residual(&p) > 1e-3);
    }
    ProblemClose(&p);
  }
}

/* New values, another matrix, other settings, and a P. */
static void TestChanges(PoiseContext ctx)
{
  Problem p;
  PoiseMat B;
  PoiseBytes before, after;
  if (!Open(ctx, "gmres", "ilu", &p)) return;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseKSPBytes(p.ksp, &before));
  Solve(&p);
  CHECK_OK(PoiseKSPBytes(p.ksp, &after));
  CHECK(after.host + after.device > before.host + before.device);
  PoiseInt its = PoiseKSPIterations(p.ksp);
  CHECK_OK(PoiseMatScale(p.A, 3));
  Solve(&p);
  CHECK_INT(PoiseKSPIterations(p.ksp), its);
  CHECK_OK(PoiseVecSetRandom(p.x, 8));
  Shift(&p, p.x, 2);
  CHECK_OK(PoiseMatDiagonalScale(p.A, p.x, NULL));
  Solve(&p);
  CHECK_OK(PoiseMatDuplicate(p.A, 1, &B));
  CHECK_OK(PoiseMatScale(B, -0.25));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, B, p.A)); /* M is that of -4 B, which changes signs alone */
  CHECK_OK(PoiseKSPSolveTranspose(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
  CHECK_OK(PoiseVecScale(p.x, -0.25));
  CHECK(Residual(&p) <= 1e-7);
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, -1, -1, -1, 1));
  CHECK_OK(PoiseKSPSolveTranspose(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(p.ksp, 1));
  CHECK_ERR(PoiseKSPSolveTranspose(p.ksp, p.b, p.x), POISE_ERR_NOT_CONVERGED, "DIVERGED_ITS after 1");
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, -1, -1, -1, 1000));
  CHECK_OK(PoiseKSPSetType(p.ksp, "bicgstab"));
  CHECK_OK(PoisePCSetType(p.pc, "none"));
  Solve(&p);
  PoiseMatDestroy(&B);
  ProblemClose(&p);
}

/* A method for symmetric matrices solves as ever, to the last bit. */
static void TestSymmetric(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "fcg", "minres", "symmlq", "prcg", "bcg"};
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    Problem p;
    PoiseBytes before, after;
    if (!ProblemOpenGrid(ctx, NX, NY, 1, methods[k], "jacobi", &p)) return;
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_OK(PoiseKSPBytes(p.ksp, &before));
    CHECK_OK(PoiseVecDuplicate(p.x, &p.r));
    CHECK_OK(PoiseKSPSolveTranspose(p.ksp, p.b, p.r));
    CHECK_OK(PoiseKSPBytes(p.ksp, &after));
    CHECK_OK(PoiseVecAXPY(p.r, -1, p.x));
    CHECK(NormOf(p.r) == 0 && before.host == after.host && before.device == after.device);
    ProblemClose(&p);
  }
}

/* Rows of A add to 0, so that A^T x has no part along the constants. x stays out of the null space of A^T. */
static void TestSingular(PoiseContext ctx)
{
  Problem p;
  PoiseMat A = NULL;
  PoiseVec y;
  double part = NAN;
  if (!CHECK_OK(Wind(ctx, true, &A)) || !ProblemOpen(A, &p) || !CHECK_OK(Settings(&p, "gmres", "jacobi")))
    return;
  CHECK_OK(PoiseVecDuplicate(p.x, &p.r));
  CHECK_OK(PoiseVecDuplicate(p.x, &y));
  CHECK_OK(PoiseMatSetNullSpace(A, 1, 0, NULL));
  /* y of A^T y = 0 by inverse iteration, with a matrix that is nearly singular */
  CHECK_OK(PoiseMatDuplicate(A, 1, &p.P));
  CHECK_OK(PoiseMatShift(p.P, 1e-9));
  CHECK_OK(PoiseVecSet(p.b, 1));
  PoiseKSP direct;
  PoisePC lu;
  if (CHECK_OK(PoiseKSPCreate(ctx, &direct))) {
    CHECK_OK(PoiseKSPSetOperators(direct, p.P, NULL));
    CHECK_OK(PoiseKSPSetType(direct, "preonly"));
    CHECK_OK(PoiseKSPGetPC(direct, &lu));
    CHECK_OK(PoisePCSetType(lu, "lu"));
    for (int k = 0; k < 3; k++) {
      CHECK_OK(PoiseKSPSolveTranspose(direct, p.b, y));
      CHECK_OK(PoiseVecScale(y, 1 / NormOf(y)));
      CHECK_OK(PoiseVecCopy(y, p.b));
    }
    PoiseKSPDestroy(&direct);
  }
  CHECK_OK(PoiseMatMultTranspose(A, y, p.r));
  CHECK(NormOf(p.r) < 1e-12);
  CHECK_OK(PoiseMatSetTransposeNullSpace(A, 0, 1, &y));
  CHECK_OK(PoiseVecSetRandom(p.b, 3));
  Shift(&p, p.b, 0.5);
  CHECK_OK(PoiseKSPSolveTranspose(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && PoiseKSPInconsistency(p.ksp) > 0.1);
  CHECK_OK(PoiseVecDot(p.x, y, &part));
  CHECK(fabs(part) <= 1e-10 * NormOf(p.x));
  CHECK_OK(PoiseVecSet(p.r, 1));
  CHECK_OK(PoiseVecDot(p.b, p.r, &part));
  Shift(&p, p.b, -part / (NX * NY));
  CHECK(Residual(&p) <= 1e-7);
  PoiseVecDestroy(&y);
  ProblemClose(&p);
}

/* The least squares of A^T x = b: A (b - A^T x) = 0. */
static void TestRectangular(PoiseContext ctx)
{
  enum { M = 30, N = 50 };
  static const char *const methods[] = {"lsqr", "cgls"};
  for (int k = 0; k < 4; k++) {
    Problem p = {.A = NULL};
    PoiseVec b, x, r, g;
    PoiseErr e = POISE_OK;
    if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, M, N, &p.A))) return;
    for (PoiseInt i = 0; !e && PoiseRank(ctx) == 0 && i < M; i++)
      for (PoiseInt j = i; !e && j < i + 9 && j < N; j++)
        e = PoiseMatSetBlock(p.A, 1, &i, 1, &j,
                             &(double){TestRandom(9, (uint64_t)(i * N + j)) + (i == j ? 3 : 0)});
    CHECK_OK(PoiseAgree(ctx, e));
    CHECK_OK(PoiseMatAssemble(p.A));
    CHECK_OK(PoiseMatCreateVecs(p.A, &b, &x));
    CHECK_OK(PoiseVecDuplicate(b, &r));
    CHECK_OK(PoiseVecDuplicate(x, &g));
    CHECK_OK(PoiseVecSetRandom(b, 4));
    CHECK_OK(PoiseKSPCreate(ctx, &p.ksp));
    CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
    CHECK_OK(Settings(&p, methods[k / 2], k % 2 ? "jacobi" : "none"));
    CHECK_OK(PoiseKSPSolveTranspose(p.ksp, b, x));
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
    CHECK_OK(PoiseMatMultTranspose(p.A, x, r));
    CHECK_OK(PoiseVecAXPY(r, -1, b));
    CHECK_OK(PoiseMatMult(p.A, r, g));
    CHECK(NormOf(r) > 0.01 * NormOf(b) && NormOf(g) <= 1e-6 * NormOf(b));
    CHECK_ERR(PoiseKSPSolveTranspose(p.ksp, x, b), POISE_ERR_SIZE, "");
    PoiseVec *all[] = {&b, &x, &r, &g};
    for (int v = 0; v < 4; v++) PoiseVecDestroy(all[v]);
    ProblemClose(&p);
  }
}

typedef struct Seen {
  PoiseKSP outer;
  PoiseVec b, x;
  int calls, refused;
} Seen;

static PoiseErr Monitor(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  Seen *s = arg;
  (void)ksp, (void)iteration, (void)norm;
  s->refused += PoiseKSPSolve(s->outer, s->b, s->x) == POISE_ERR_STATE;
  s->calls++;
  PoiseErrorClear();
  return POISE_OK;
}

static PoiseErr Identity(void *arg, PoiseVec r, PoiseVec z)
{
  (void)arg;
  return PoiseVecCopy(r, z);
}

static void TestCalls(PoiseContext ctx)
{
  Problem p;
  PoiseKSP empty;
  if (!Open(ctx, "gmres", "none", &p)) return;
  Seen s = {p.ksp, p.b, p.x, 0, 0};
  CHECK_OK(PoiseKSPAddMonitor(p.ksp, Monitor, &s));
  Solve(&p);
  CHECK(s.calls == PoiseKSPIterations(p.ksp) + 1 && s.refused == s.calls);
  CHECK_ERR(PoiseKSPSolveTranspose(p.ksp, p.b, p.b), POISE_ERR_ARG, "same vector");
  CHECK_OK(PoisePCSetShell(p.pc, &(PoiseShellPC){.apply = Identity}, NULL));
  CHECK_ERR(PoiseKSPSolveTranspose(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "preconditioner shell");
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  static const char *const inside[] = {"mg", "ksp", "bjacobi"};
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoisePCSetType(p.pc, inside[k]));
    CHECK_ERR(PoiseKSPSolveTranspose(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, inside[k]);
  }
  CHECK_OK(PoisePCSetType(p.pc, "none"));
  CHECK_OK(PoiseKSPSetType(p.ksp, "lsqr"));
  CHECK_OK(PoiseMatDuplicate(p.A, 1, &p.P));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, p.P));
  CHECK_ERR(PoiseKSPSolveTranspose(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "a P for A A^T");
  ProblemClose(&p);
  if (!CHECK_OK(PoiseKSPCreate(ctx, &empty))) return;
  if (Open(ctx, "gmres", "none", &p))
    CHECK_ERR(PoiseKSPSolveTranspose(empty, p.b, p.x), POISE_ERR_STATE, "has no matrix");
  PoiseKSPDestroy(&empty);
  ProblemClose(&p);
}

static PoiseErr Once(PoiseContext ctx, void *arg)
{
  PoiseKSP ksp = NULL;
  PoiseMat A = NULL;
  PoiseVec x = NULL, b = NULL;
  (void)arg;
  PoiseErr e = Wind(ctx, false, &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &b);
  if (!e) e = PoiseAgree(ctx, PoiseVecSet(b, 1));
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e) e = PoiseKSPSolveTranspose(ksp, b, x);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
  return e;
}

static void TestFailures(PoiseContext ctx)
{
  TestAllocationFailures(ctx, Once, NULL);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"methods", TestMethods, 0},         {"changes", TestChanges, 0},
                               {"symmetric", TestSymmetric, 0},     {"singular", TestSingular, 0},
                               {"rectangular", TestRectangular, 0}, {"calls", TestCalls, 0},
                               {"failures", TestFailures, 0},       {NULL, NULL, 0}};
  return TestMain(argc, argv, "transposed", tests);
}

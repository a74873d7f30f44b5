/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that multiply with A^T: lsqr and cgls, whose A has any shape, bicg and qmr. */
#include <math.h>

#include "ksp/ksp.h"
#include "problem.h"

enum { MOST = 40, STEPS = 5 };

typedef enum Form { FULL, DEFICIENT, ZERO_COLUMN, ZERO } Form;

typedef struct Shape {
  int m, n;
  Form form;
} Shape;

static const Shape shapes[] = {
    {34, 15, FULL}, {13, 29, FULL}, {20, 20, FULL}, {31, 12, DEFICIENT}, {30, 14, ZERO_COLUMN},
    {9, 1, FULL},   {1, 8, FULL},   {1, 1, FULL},   {25, 33, DEFICIENT},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Entry (i, j): a band, and a few others; in DEFICIENT each third column is the sum of the two before. */
static double Element(Shape s, int i, int j)
{
  if (s.form == ZERO || (s.form == ZERO_COLUMN && j % 5 == 3)) return 0;
  if (s.form == DEFICIENT && j % 3 == 2) return Element(s, i, j - 1) + Element(s, i, j - 2);
  double at = (double)i * s.n / s.m;
  return fabs(at - j) > 4 && (i * 7 + j * 3) % 11
             ? 0
             : TestRandom(17, (uint64_t)(i * MOST + j)) + (i == j ? 2 : 0);
}

static PoiseErr Matrix(PoiseContext ctx, Shape s, PoiseMat *A)
{
  PoiseErr e = POISE_OK;
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, s.m, s.n, A));
  for (PoiseInt i = 0; PoiseRank(ctx) == 0 && i < s.m; i++)
    for (PoiseInt j = 0; !e && j < s.n; j++) {
      double v = Element(s, (int)i, (int)j);
      if (v != 0 || (i + j) % 17 == 0) e = PoiseMatSetBlock(*A, 1, &i, 1, &j, &v);
    }
  TRY(PoiseAgree(ctx, e));
  return PoiseMatAssemble(*A);
}

static PoiseErr Build(PoiseContext ctx, Shape s, const char *type, const char *pc, Problem *p)
{
  TRY(Matrix(ctx, s, &p->A));
  TRY(PoiseMatCreateVecs(p->A, &p->x, &p->b));
  TRY(PoiseAgree(ctx, PoiseVecSetRandom(p->b, 5)));
  TRY(PoiseKSPCreate(ctx, &p->ksp));
  TRY(PoiseKSPSetOperators(p->ksp, p->A, NULL));
  TRY(PoiseKSPSetType(p->ksp, type));
  TRY(PoiseKSPGetPC(p->ksp, &p->pc));
  TRY(PoisePCSetType(p->pc, pc));
  return PoiseKSPKeepHistory(p->ksp, 1);
}

static bool Open(PoiseContext ctx, Shape s, const char *type, const char *pc, Problem *p)
{
  *p = (Problem){.A = NULL};
  PoiseErr e = Build(ctx, s, type, pc, p);
  if (e) ProblemClose(p);
  return CHECK_OK(e);
}

/* ---- dense arithmetic ------------------------------------------------------------------------ */

static double Dot(int n, const double *u, const double *v)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += u[i] * v[i];
  return s;
}

static double Norm(int n, const double *v)
{
  return sqrt(Dot(n, v, v));
}

static void Mult(Shape s, const double *x, double *y)
{
  for (int i = 0; i < s.m; i++) {
    y[i] = 0;
    for (int j = 0; j < s.n; j++) y[i] += Element(s, i, j) * x[j];
  }
}

static void MultTransposed(Shape s, const double *x, double *y)
{
  for (int j = 0; j < s.n; j++) {
    y[j] = 0;
    for (int i = 0; i < s.m; i++) y[j] += Element(s, i, j) * x[i];
  }
}

/* z = M^-1 y with M = diag(A^T A), or A^T A by elimination (lu), or the identity */
static void Precondition(Shape s, const char *pc, const double *y, double *z)
{
  double G[MOST][MOST], rhs[MOST];
  for (int i = 0; i < s.n; i++) {
    rhs[i] = y[i];
    for (int j = 0; j < s.n; j++) {
      G[i][j] = 0;
      for (int k = 0; k < s.m; k++) G[i][j] += Element(s, k, i) * Element(s, k, j);
    }
  }
  for (int i = 0; i < s.n; i++) z[i] = strcmp(pc, "jacobi") || G[i][i] == 0 ? y[i] : y[i] / G[i][i];
  if (strcmp(pc, "lu")) return;
  for (int k = 0; k < s.n; k++)
    for (int i = k + 1; i < s.n; i++) {
      double f = G[i][k] / G[k][k];
      for (int j = k; j < s.n; j++) G[i][j] -= f * G[k][j];
      rhs[i] -= f * rhs[k];
    }
  for (int i = s.n - 1; i >= 0; i--) {
    z[i] = rhs[i];
    for (int j = i + 1; j < s.n; j++) z[i] -= G[i][j] * z[j];
    z[i] /= G[i][i];
  }
}

/* v -= its parts in q_0 ... q_k-1, twice; returns what is left of its length, and divides by it. */
static double Orthonormalise(int n, int k, double q[][MOST], double *v)
{
  double before = Norm(n, v);
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < k; j++) {
      double c = Dot(n, q[j], v);
      for (int i = 0; i < n; i++) v[i] -= c * q[j][i];
    }
  double left = Norm(n, v);
  if (left > 1e-12 * before)
    for (int i = 0; i < n; i++) v[i] /= left;
  return left > 1e-12 * before ? left : 0;
}

/* The least |b - A x| for x in x0 + the space of M^-1 A^T A that M^-1 A^T (b - A x0) begins, of k dimensions:
   r becomes that residual. Returns the dimensions there are. */
static int LeastResidual(Shape s, const char *pc, int k, double *r)
{
  double v[STEPS + 1][MOST], q[STEPS + 1][MOST], t[MOST], y[MOST];
  int found = 0;
  MultTransposed(s, r, t);
  Precondition(s, pc, t, v[0]);
  for (int j = 0; j < k; j++, found++) {
    if (Orthonormalise(s.n, j, v, v[j]) == 0) break;
    Mult(s, v[j], y);
    memcpy(q[j], y, sizeof y);
    if (Orthonormalise(s.m, j, q, q[j]) == 0) break;
    MultTransposed(s, y, t);
    Precondition(s, pc, t, v[j + 1]);
  }
  for (int j = 0; j < found; j++) {
    double c = Dot(s.m, q[j], r);
    for (int i = 0; i < s.m; i++) r[i] -= c * q[j][i];
  }
  return found;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char *const methods[] = {"lsqr", "cgls"};

/* The residual of each iterate is the least one of its space, and the norm that is told is its norm, or
   that of A^T r. */
static void Iterates(PoiseContext ctx, Shape s, const char *type, const char *pc, bool guess)
{
  Problem p;
  double b[MOST], x0[MOST] = {0}, r0[MOST], first = 0;
  if (!Open(ctx, s, type, pc, &p)) return;
  CHECK_OK(SampleFromVec(p.b, b));
  for (int j = 0; guess && j < s.n; j++) x0[j] = TestRandom(9, (uint64_t)j);
  Mult(s, x0, r0);
  for (int i = 0; i < s.m; i++) r0[i] = b[i] - r0[i];
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(p.ksp, guess));
  for (int k = 0; k <= STEPS; k++) {
    double x[MOST], r[MOST], t[MOST], told;
    PoiseInt count;
    const double *history;
    memcpy(r, r0, sizeof r);
    if (LeastResidual(s, pc, k, r) < k) break;
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, 1e30, k));
    CHECK_OK(guess ? SampleToVec(x0, p.x) : PoiseVecSet(p.x, NAN));
    if (!CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x)) || !CHECK_OK(SampleFromVec(p.x, x))) break;
    if (PoiseKSPIterations(p.ksp) < k) break; /* an exact 0 ends it */
    MultTransposed(s, r, t);
    told = strcmp(type, "cgls") ? Norm(s.m, r) : Norm(s.n, t);
    Mult(s, x, t);
    for (int i = 0; i < s.m; i++) CHECK_NEAR(b[i] - t[i], r[i], 1e-8 * (1 + Norm(s.m, r0)));
    if (!k) first = told;
    if (CHECK_OK(PoiseKSPHistory(p.ksp, &count, &history)) && CHECK_INT(count, k + 1))
      CHECK_NEAR(history[k], told, 1e-8 * (first + 1));
    if (PoiseKSPConvergedReason(p.ksp) > 0) break;
  }
  ProblemClose(&p);
}

static void TestIterates(PoiseContext ctx)
{
  for (int k = 0; k < SHAPES; k++)
    for (int m = 0; m < 2; m++)
      for (int guess = 0; guess < 2; guess++) {
        Iterates(ctx, shapes[k], methods[m], "none", guess);
        Iterates(ctx, shapes[k], methods[m], "jacobi", guess);
        if (shapes[k].m > shapes[k].n && shapes[k].form == FULL)
          Iterates(ctx, shapes[k], methods[m], "lu", guess);
      }
}

/* Solved to the end: A^T (b - A x) = 0 but for rounding. From 0 without M, x is in the range of A^T, so
   orthogonal to the null space of A. A consistent b gives RTOL, another RTOL_NORMAL (lsqr) or RTOL of |A^T r|
   (cgls). */
static void Solved(PoiseContext ctx, Shape s, const char *type, const char *pc, bool consistent)
{
  Problem p;
  double x[MOST], r[MOST], b[MOST], t[MOST], size = 0;
  if (!Open(ctx, s, type, pc, &p)) return;
  if (consistent) {
    CHECK_OK(PoiseVecSetRandom(p.x, 3));
    CHECK_OK(PoiseMatMult(p.A, p.x, p.b));
  }
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 500));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(SampleFromVec(p.x, x));
  CHECK_OK(SampleFromVec(p.b, b));
  Mult(s, x, r);
  for (int i = 0; i < s.m; i++) r[i] = b[i] - r[i];
  MultTransposed(s, r, t);
  for (int i = 0; i < s.m; i++)
    for (int j = 0; j < s.n; j++) size += Element(s, i, j) * Element(s, i, j);
  int reason = PoiseKSPConvergedReason(p.ksp);
  bool square = !strcmp(type, "cgls"), solves = consistent || Norm(s.m, r) < 1e-8 * Norm(s.m, b);
  CHECK(reason > 0);
  if (square || solves)
    CHECK(reason == POISE_CONVERGED_RTOL || reason == POISE_CONVERGED_ATOL ||
          reason == POISE_CONVERGED_ATOL_NORMAL || reason == POISE_CONVERGED_RTOL_NORMAL);
  else
    CHECK(reason == POISE_CONVERGED_RTOL_NORMAL || reason == POISE_CONVERGED_ATOL_NORMAL);
  CHECK(Norm(s.n, t) <= 1e-6 * sqrt(size) * Norm(s.m, b));
  if (reason == POISE_CONVERGED_RTOL_NORMAL &&
      !strcmp(pc, "none")) /* what is claimed, ten times that at most */
    CHECK(Norm(s.n, t) <= 1e-8 * sqrt(size) * Norm(s.m, r) + 1e-13 * size * Norm(s.n, x));
  if (solves) CHECK(Norm(s.m, r) <= 1e-6 * Norm(s.m, b));
  if (s.form == DEFICIENT && !strcmp(pc, "none")) /* e_j + e_j+1 - e_j+2 is in the null space */
    for (int j = 0; j + 2 < s.n; j += 3) CHECK_NEAR(x[j] + x[j + 1] - x[j + 2], 0, 1e-6);
  if (s.form == ZERO_COLUMN)
    for (int j = 3; j < s.n; j += 5) CHECK(x[j] == 0);
  ProblemClose(&p);
}

static void TestSolved(PoiseContext ctx)
{
  for (int k = 0; k < SHAPES; k++)
    for (int m = 0; m < 2; m++)
      for (int consistent = 0; consistent < 2; consistent++) {
        Solved(ctx, shapes[k], methods[m], "none", consistent);
        Solved(ctx, shapes[k], methods[m], "jacobi", consistent);
      }
}

/* |A^T r| in the norm of M^-1, and |A| as far as the space has it, which is all of A in the end. The
   variances are then the diagonal of (A^T A)^-1. */
static void Numbers(PoiseContext ctx, const char *pc, int replay)
{
  const Shape s = shapes[0];
  Problem p;
  PoiseVec v;
  double x[MOST], b[MOST], r[MOST], t[MOST], z[MOST], variances[MOST], normal, size, before = 0, whole = 0;
  if (!Open(ctx, s, "lsqr", pc, &p)) return;
  p.ksp->options.replay = replay;
  CHECK_OK(PoiseVecDuplicate(p.x, &v));
  CHECK_ERR(PoiseKSPLSQRNorms(p.ksp, &normal, &size), POISE_ERR_STATE, "no solve");
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_ERR(PoiseKSPLSQRVariances(p.ksp, v), POISE_ERR_STATE, "PoiseKSPLSQRSetComputeVariances");
  CHECK_OK(PoiseKSPLSQRSetComputeVariances(p.ksp, 1));
  CHECK_ERR(PoiseKSPLSQRVariances(p.ksp, v), POISE_ERR_STATE, "no solve");
  CHECK_OK(SampleFromVec(p.b, b));
  for (int i = 0; i < s.m; i++)
    for (int j = 0; j < s.n; j++) whole += Element(s, i, j) * Element(s, i, j);
  for (int k = 0; k <= s.n; k++) {
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, 1e30, k));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_OK(PoiseKSPLSQRNorms(p.ksp, &normal, &size));
    CHECK_OK(SampleFromVec(p.x, x));
    Mult(s, x, r);
    for (int i = 0; i < s.m; i++) r[i] = b[i] - r[i];
    MultTransposed(s, r, t);
    Precondition(s, pc, t, z);
    CHECK_NEAR(normal, sqrt(Dot(s.n, t, z)), 1e-8 * whole);
    CHECK(k ? size > before : size == 0);
    before = size;
  }
  if (!strcmp(pc, "none")) CHECK_NEAR(size, sqrt(whole), 1e-8 * whole);
  CHECK_OK(PoiseKSPLSQRVariances(p.ksp, v));
  CHECK_OK(SampleFromVec(v, variances));
  for (int j = 0; j < s.n; j++) {
    memset(t, 0, sizeof t);
    t[j] = 1;
    Precondition(s, "lu", t, z);
    CHECK_NEAR(variances[j], z[j], 1e-6 * z[j]);
  }
  CHECK_ERR(PoiseKSPLSQRVariances(p.ksp, p.b), POISE_ERR_SIZE, "");
  CHECK_OK(PoiseKSPSetType(p.ksp, "cgls"));
  CHECK_OK(PoiseKSPLSQRSetComputeVariances(p.ksp, 1)); /* no effect */
  CHECK_ERR(PoiseKSPLSQRNorms(p.ksp, &normal, &size), POISE_ERR_UNSUPPORTED, "cgls");
  PoiseVecDestroy(&v);
  ProblemClose(&p);
}

static void TestNumbers(PoiseContext ctx)
{
  for (int replay = 0; replay < 6; replay += 5) {
    Numbers(ctx, "none", replay);
    Numbers(ctx, "jacobi", replay);
  }
}

static void Ends(Problem *p, PoiseKSPReason reason, double x)
{
  double largest = NAN;
  CHECK_OK(PoiseVecSet(p->x, NAN));
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_INT(PoiseKSPConvergedReason(p->ksp), reason);
  if (isnan(x)) return;
  CHECK_OK(PoiseVecNorm(p->x, POISE_NORM_INF, &largest));
  CHECK(largest == x);
}

/* What ends at once: b = 0, A^T b = 0, A = 0, no rows, no columns, NaN. */
static void TestEdges(PoiseContext ctx)
{
  static const Shape zero = {12, 7, ZERO}, empty[] = {{0, 5, FULL}, {5, 0, FULL}, {0, 0, FULL}};
  for (int m = 0; m < 2; m++) {
    Problem p;
    bool lsqr = !m;
    if (!Open(ctx, shapes[0], methods[m], "none", &p)) return;
    CHECK_OK(PoiseVecSet(p.b, 0));
    Ends(&p, POISE_CONVERGED_ATOL, 0);
    CHECK_OK(PoiseVecSet(p.b, NAN));
    Ends(&p, POISE_DIVERGED_NANORINF, NAN);
    ProblemClose(&p);
    if (!Open(ctx, zero, methods[m], "jacobi", &p)) return;
    Ends(&p, lsqr ? POISE_CONVERGED_ATOL_NORMAL : POISE_CONVERGED_ATOL, 0);
    ProblemClose(&p);
    for (int k = 0; k < 3; k++) {
      if (!Open(ctx, empty[k], methods[m], "none", &p)) return;
      Ends(&p, lsqr && empty[k].m ? POISE_CONVERGED_ATOL_NORMAL : POISE_CONVERGED_ATOL, 0);
      ProblemClose(&p);
    }
  }
}

/* Magnitudes whose squares are no numbers are scaled, with the same x but for the scale. */
static void TestScales(PoiseContext ctx)
{
  static const int powers[] = {-600, 600};
  for (int k = 0; k < 8; k++) {
    Problem p;
    PoiseVec x;
    double s = ldexp(1, powers[k % 2]), difference = NAN;
    if (!Open(ctx, shapes[k / 4], methods[k / 2 % 2], "jacobi", &p)) return;
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, 0, -1, 7));
    CHECK_OK(PoiseVecDuplicate(p.x, &x));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, x));
    PoiseInt its = PoiseKSPIterations(p.ksp);
    CHECK_OK(PoiseVecScale(p.b, s));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPIterations(p.ksp), its);
    CHECK_OK(PoiseVecScale(p.x, 1 / s));
    CHECK_OK(PoiseVecAXPY(p.x, -1, x));
    CHECK_OK(PoiseVecNorm(p.x, POISE_NORM_INF, &difference));
    CHECK(difference == 0);
    PoiseVecDestroy(&x);
    ProblemClose(&p);
  }
}

/* M of a P that is given, which must have A's columns; the M of the next method is A's again. */
static void TestOperators(PoiseContext ctx)
{
  Problem p;
  PoiseMat T, N = NULL;
  PoiseInt with, without;
  if (!Open(ctx, shapes[0], "lsqr", "lu", &p)) return;
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-10, -1, -1, 100));
  CHECK_OK(PoiseMatTranspose(p.A, &T));
  CHECK_OK(PoiseMatMatMult(T, p.A, &N));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  without = PoiseKSPIterations(p.ksp);
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, N));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  with = PoiseKSPIterations(p.ksp);
  CHECK(with <= 2 && with == without); /* M^-1 A^T A = I */
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, T));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_SIZE, "approximates A^T A");
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
  CHECK_OK(PoiseKSPSetType(p.ksp, "gmres"));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_SIZE, "lsqr and cgls take any shape");
  PoiseMatDestroy(&T);
  PoiseMatDestroy(&N);
  ProblemClose(&p);
  if (!Open(ctx, shapes[2], "lsqr", "lu", &p)) return;
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, -1, -1, 100));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseKSPSetType(p.ksp, "gmres"));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPIterations(p.ksp), 1); /* M is A, not A^T A */
  CHECK_OK(PoiseMatScale(p.A, 3));
  CHECK_OK(PoiseKSPSetType(p.ksp, "cgls"));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && PoiseKSPIterations(p.ksp) <= 3);
  ProblemClose(&p);
}

/* New values of A reach M^T, and the M of A^T A. */
static void NewValues(PoiseContext ctx, const char *type)
{
  static const char *const pcs[] = {"ilu", "pbjacobi", "lu", "icc", "jacobi"};
  for (int k = 0; k < 5; k++) {
    Problem p, q;
    double difference = NAN;
    if (!Open(ctx, shapes[2], type, pcs[k], &p)) return;
    if (!strcmp(pcs[k], "icc")) CHECK_OK(PoiseMatDestroy(&p.A));
    if (!strcmp(pcs[k], "icc") && CHECK_OK(ScaledLaplacian(ctx, 5, 4, 1, &p.A)))
      CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 6));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_OK(PoiseMatShift(p.A, 1.5));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    q = p;
    q.x = NULL;
    CHECK_OK(PoiseKSPCreate(ctx, &q.ksp));
    CHECK_OK(PoiseVecDuplicate(p.x, &q.x));
    CHECK_OK(PoiseKSPSetType(q.ksp, type));
    CHECK_OK(PoiseKSPGetPC(q.ksp, &q.pc));
    CHECK_OK(PoisePCSetType(q.pc, pcs[k]));
    CHECK_OK(PoiseKSPSetTolerances(q.ksp, 1e-9, -1, -1, 6));
    CHECK_OK(PoiseKSPSetOperators(q.ksp, p.A, NULL));
    CHECK_OK(PoiseKSPSolve(q.ksp, p.b, q.x));
    CHECK_OK(PoiseVecAXPY(q.x, -1, p.x));
    CHECK_OK(PoiseVecNorm(q.x, POISE_NORM_INF, &difference));
    CHECK(difference == 0);
    CHECK_INT(PoiseKSPIterations(q.ksp), PoiseKSPIterations(p.ksp));
    PoiseVecDestroy(&q.x);
    PoiseKSPDestroy(&q.ksp);
    ProblemClose(&p);
  }
}

static void TestNewValues(PoiseContext ctx)
{
  NewValues(ctx, "bicg");
  NewValues(ctx, "qmr");
  NewValues(ctx, "lsqr");
  NewValues(ctx, "cgls");
}

/* Of |r_i| of bicg: tau_k^2 = 1 / sum_i<=k 1 / |r_i|^2 is the least square of qmr's coefficients, and its
   norm is at most sqrt(k + 1) tau_k. After as many iterations as there are rows it has ended. */
static void QMR(PoiseContext ctx, const char *pc, bool right)
{
  static const Shape shape = {20, 20, FULL};
  double bicg[MOST + 1], sum = 0, r = NAN, b = NAN;
  Problem p;
  PoiseInt count, leaps = 0;
  const double *h;
  if (!Open(ctx, shape, "bicg", pc, &p)) return;
  if (right) CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, 0, 1e30, MOST));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseKSPHistory(p.ksp, &count, &h));
  memcpy(bicg, h, (size_t)count * sizeof *h);
  PoiseInt both = count;
  CHECK_OK(PoiseKSPSetType(p.ksp, "qmr"));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
  CHECK(PoiseKSPIterations(p.ksp) <= shape.n + 3);
  CHECK(p.ksp->side == (right ? POISE_PC_RIGHT : POISE_PC_LEFT));
  CHECK_OK(PoiseKSPHistory(p.ksp, &count, &h));
  if (count < both) both = count;
  for (PoiseInt k = 0; k < both; k++) {
    sum += 1 / (bicg[k] * bicg[k]);
    CHECK(h[k] <= sqrt((double)(k + 1) / sum) * (1 + 1e-6) + 1e-9 * h[0]);
    leaps += bicg[k] > 1.5 * h[k];
  }
  if (strcmp(pc, "lu")) CHECK(leaps > 0); /* bicg does leap here */
  CHECK_OK(PoiseKSPTrueResidual(p.ksp, p.b, p.x, &r));
  CHECK_OK(PoiseVecNorm(p.b, POISE_NORM_2, &b));
  if (right) CHECK(r <= 1.01e-8 * b);
  ProblemClose(&p);
}

static void TestQMR(PoiseContext ctx)
{
  static const char *const pcs[] = {"none", "jacobi", "pbjacobi", "lu"};
  for (int k = 0; k < 8; k++) QMR(ctx, pcs[k / 2], k % 2);
}

/* A skew A: (p~, A p) = 0 in the first iteration, and neither method goes on. */
static void TestPivot(PoiseContext ctx)
{
  static const char *const types[] = {"bicg", "qmr"};
  for (int t = 0; t < 2; t++) {
    Problem p = {.A = NULL};
    double norm = NAN;
    CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 8, 8, &p.A));
    for (PoiseInt i = 0; i < 8; i++)
      CHECK_OK(
          PoiseMatAddBlock(p.A, PoiseRank(ctx) == 0, &i, 1, (PoiseInt[]){i ^ 1}, (double[]){i % 2 ? 1 : -1}));
    CHECK_OK(PoiseMatAssemble(p.A));
    CHECK_OK(PoiseMatCreateVecs(p.A, &p.x, &p.b));
    CHECK_OK(PoiseVecSet(p.b, 1));
    CHECK_OK(PoiseKSPCreate(ctx, &p.ksp));
    CHECK_OK(PoiseKSPSetType(p.ksp, types[t]));
    CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_BREAKDOWN);
    CHECK_INT(PoiseKSPIterations(p.ksp), 0);
    CHECK_OK(PoiseVecNorm(p.x, POISE_NORM_INF, &norm));
    CHECK(norm == 0);
    ProblemClose(&p);
  }
}

static PoiseErr ShellMult(void *A, PoiseVec x, PoiseVec y)
{
  return PoiseMatMult(A, x, y);
}

static PoiseErr ShellTransposed(void *A, PoiseVec x, PoiseVec y)
{
  return PoiseMatMultTranspose(A, x, y);
}

/* What cannot be transposed, or squared, is an error that says so before there is an iteration. */
static void TestRefused(PoiseContext ctx)
{
  static const char *const pcs[] = {"amg", "bjacobi", "ilut"};
  Problem p;
  PoiseMat S;
  PoiseInt m, n;
  PoiseShell functions = {.mult = ShellMult};
  for (int k = 0; k < 6; k++) {
    if (!Open(ctx, shapes[2], k < 3 ? "bicg" : "qmr", pcs[k % 3], &p)) return;
    CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "transpose of the preconditioner");
    ProblemClose(&p);
  }
  if (!Open(ctx, shapes[0], "lsqr", "none", &p)) return;
  PoiseMatLocalSizes(p.A, &m, &n);
  for (int transposed = 0; transposed < 2; transposed++) {
    if (transposed) functions.mult_transpose = ShellTransposed;
    CHECK_OK(PoiseMatCreateShell(ctx, m, n, POISE_DECIDE, POISE_DECIDE, &functions, p.A, &S));
    CHECK_OK(PoiseKSPSetOperators(p.ksp, S, NULL));
    CHECK_OK(PoisePCSetType(p.pc, "none"));
    if (transposed) CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    if (transposed) CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
    if (!transposed) CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "mult_transpose");
    CHECK_OK(PoisePCSetType(p.pc, "jacobi"));
    CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "A^T A");
    CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
    PoiseMatDestroy(&S);
  }
  ProblemClose(&p);
}

/* Bits of norms and x: enqueued in every iteration and replayed, of all types of matrices. */
static PoiseErr KeepBits(PoiseContext ctx, void *arg)
{
  static const char *const types[] = {"csr", "csri", "pcsr"}, *const all[] = {"lsqr", "cgls", "bicg", "qmr"};
  for (int k = 0; k < 4 * 3 * 3; k++) {
    int method = k % 4, shape = method >= 2 ? 2 : k / 12;
    uint64_t before = 0;
    for (int replay = 0; replay < 2; replay++) {
      Problem p = {.A = NULL};
      PoiseInt count;
      const double *h;
      TRY(Build(ctx, shapes[shape], all[method], k / 4 % 2 ? "jacobi" : "none", &p));
      if (strcmp(types[k / 4 % 3], "pcsr") || shape == 2) TRY(PoiseMatSetType(p.A, types[k / 4 % 3]));
      p.ksp->options.replay = replay ? 5 : 0;
      TRY(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 13));
      for (int solve = 0; solve < 2; solve++) TRY(PoiseKSPSolve(p.ksp, p.b, p.x));
      TRY(PoiseKSPHistory(p.ksp, &count, &h));
      uint64_t bits = SampleDigest(p.x) + (uint64_t)PoiseKSPIterations(p.ksp);
      for (PoiseInt i = 0; i < count; i++) bits = bits * 31 + SampleBits(h[i]);
      if (replay) CHECK(bits == before);
      if (replay && ctx->device->ops->replay && PoiseSize(ctx) == 1) CHECK(!p.ksp->loop.eager);
      before = bits;
      ProblemClose(&p);
    }
    SampleKeep(ctx, arg, before);
  }
  return POISE_OK;
}

static void TestBits(PoiseContext ctx)
{
  (void)ctx;
  for (int ranks = 1; ranks <= 3; ranks += 2) {
    SampleRun host, threads, mock;
    SampleRunOn("host", ranks, 1, KeepBits, &host);
    SampleRunOn("host", ranks, 2, KeepBits, &threads);
    SampleRunOn("mock", ranks, 1, KeepBits, &mock);
    CHECK(SampleSame(&host, &threads));
    CHECK(SampleSame(&host, &mock));
  }
}

static const Test tests[] = {
    {"iterates", TestIterates, 0},
    {"solved", TestSolved, 0},
    {"numbers", TestNumbers, 0},
    {"edges", TestEdges, 0},
    {"scales", TestScales, 0},
    {"operators", TestOperators, 0},
    {"new values", TestNewValues, 0},
    {"qmr", TestQMR, 0},
    {"pivot", TestPivot, 0},
    {"refused", TestRefused, 0},
    {"bits", TestBits, TEST_SERIAL | TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "least_squares", tests);
}

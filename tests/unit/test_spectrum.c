/* SPDX-License-Identifier: BSD-3-Clause */
/* Eigenvalues and singular values of small matrices, and those that cg, gmres and fgmres make of K. */
#include <complex.h>
#include <math.h>

#include "ksp/methods.h"
#include "problem.h"

enum { N = 12 };

/* ---- small matrices -------------------------------------------------------------------------- */

/* Companion matrices: their eigenvalues are the roots of their polynomials. */
static void TestRoots(PoiseContext ctx)
{
  static const double complex roots[][4] = {
      {1, 2, 3, 4}, {-1, 1, 2 + 1 * I, 2 - 1 * I}, {I, -I, 3 * I, -3 * I}, {0.5, 0.5, -7, 100}};
  (void)ctx;
  for (int k = 0; k < 4; k++) {
    double complex c[5] = {1}, h[16] = {0}, w[4];
    for (int r = 0; r < 4; r++)
      for (int i = r + 1; i > 0; i--) c[i] -= roots[k][r] * c[i - 1]; /* of x^4, x^3, ... */
    for (int j = 0; j < 4; j++) h[4 * j] = -c[j + 1];
    for (int j = 0; j < 3; j++) h[j + 1 + 4 * j] = 1;
    poiseHessenbergEigenvalues(h, 4, w);
    for (int r = 0; r < 4; r++) {
      double nearest = INFINITY;
      for (int i = 0; i < 4; i++) nearest = fmin(nearest, cabs(w[i] - roots[k][r]));
      CHECK_NEAR(nearest, 0, 1e-6 * (1 + cabs(roots[k][r])));
    }
  }
}

/* tridiag(-1, 2, -1) has 2 - 2 cos(k pi / (n + 1)); a diagonal has its entries, ascending. */
static void TestTridiagonal(PoiseContext ctx)
{
  double d[40], e[40], w[40];
  (void)ctx;
  for (int n = 1; n <= 40; n++) {
    for (int i = 0; i < n; i++) d[i] = 2, e[i] = i % 2 ? 1 : -1;
    poiseTridiagonalEigenvalues(d, e, n, w);
    for (int k = 0; k < n; k++) CHECK_NEAR(w[k], 2 - 2 * cos((k + 1) * acos(-1) / (n + 1)), 1e-13);
  }
  for (int i = 0; i < 40; i++) d[i] = i % 3 - 1, e[i] = 0;
  poiseTridiagonalEigenvalues(d, e, 40, w);
  for (int k = 0; k < 40; k++)
    CHECK_NEAR(w[k], k < 13 ? -1 : k < 26 ? (k == 13 ? -1 : 0) : k == 26 ? 0 : 1, 1e-14);
}

/* Singular values of U S V' with reflections U and V. */
static void TestSingular(PoiseContext ctx)
{
  enum { ROWS = 9, COLUMNS = 6 };
  static const double size[COLUMNS] = {7, 1e-9, 3, 3, 0, 0.25}, sorted[COLUMNS] = {0, 1e-9, 0.25, 3, 3, 7};
  double a[ROWS * COLUMNS] = {0}, s[COLUMNS], u[ROWS], v[COLUMNS], uu = 0, vv = 0;
  (void)ctx;
  for (int i = 0; i < ROWS; i++) u[i] = TestRandom(4, (uint64_t)i), uu += u[i] * u[i];
  for (int j = 0; j < COLUMNS; j++) v[j] = TestRandom(5, (uint64_t)j), vv += v[j] * v[j];
  for (int j = 0; j < COLUMNS; j++)
    for (int i = 0; i < ROWS; i++)
      for (int k = 0; k < COLUMNS; k++)
        a[i + j * ROWS] += ((i == k) - 2 * u[i] * u[k] / uu) * size[k] * ((k == j) - 2 * v[k] * v[j] / vv);
  poiseSingularValues(a, ROWS, COLUMNS, s);
  for (int k = 0; k < COLUMNS; k++) {
    double nearest = INFINITY;
    for (int i = 0; i < COLUMNS; i++) nearest = fmin(nearest, fabs(s[i] - sorted[k]));
    CHECK_NEAR(nearest, 0, 1e-14);
  }
}

/* ---- of a solver ----------------------------------------------------------------------------- */

/* diag(1, 2, ..., N), or with 2 x 2 blocks (k 1; -1 k), k = 1, 1, 2, 2, ... */
static bool Open(PoiseContext ctx, const char *type, const char *pc, bool blocks, Problem *p)
{
  *p = (Problem){.A = NULL};
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &p->A))) return false;
  for (PoiseInt i = 0; !PoiseRank(ctx) && i < N; i++) {
    PoiseInt other = i ^ 1;
    double v = blocks ? (double)(i / 2 + 1) : (double)(i + 1), beside = i % 2 ? -1 : 1;
    CHECK_OK(PoiseMatAddBlock(p->A, 1, &i, 1, &i, &v));
    if (blocks) CHECK_OK(PoiseMatAddBlock(p->A, 1, &i, 1, &other, &beside));
  }
  if (!CHECK_OK(PoiseMatAssemble(p->A)) || !ProblemOpen(p->A, p)) return false;
  CHECK_OK(PoiseKSPSetType(p->ksp, type));
  CHECK_OK(PoiseKSPGetPC(p->ksp, &p->pc));
  CHECK_OK(PoisePCSetType(p->pc, pc));
  CHECK_OK(PoiseVecSetRandom(p->b, 3));
  CHECK_OK(PoiseKSPSetComputeEigenvalues(p->ksp, 1));
  return true;
}

static int Ritz(Problem *p, int its, double *real, double *imaginary)
{
  PoiseInt count = -1;
  CHECK_OK(PoiseKSPSetTolerances(p->ksp, 0, 0, 1e30, its));
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_OK(PoiseKSPComputeEigenvalues(p->ksp, N, real, imaginary, &count));
  return (int)count;
}

/* For a diagonal A the polynomial with the Ritz values as roots, times b, is orthogonal to the Krylov space;
   that defines them. With as many as A has eigenvalues they are these. */
static void TestRitz(PoiseContext ctx)
{
  static const char *const types[] = {"cg", "gmres", "fgmres"};
  for (int t = 0; t < 3; t++)
    for (int replay = 0; replay < 6; replay += 5) {
      Problem p;
      double b[N], real[N], imaginary[N], largest, least, before[] = {INFINITY, 0};
      if (!Open(ctx, types[t], "none", false, &p)) return;
      p.ksp->options.replay = replay;
      CHECK_OK(SampleFromVec(p.b, b));
      for (int k = 1; k <= 8; k++) {
        if (!CHECK_INT(Ritz(&p, k, real, imaginary), k)) break;
        for (int m = 0; m < k; m++) {
          double sum = 0, sizes = 0;
          for (int j = 0; j < N; j++) {
            double term = b[j] * b[j] * pow((j + 1.0) / N, m);
            for (int i = 0; i < k; i++) term *= (j + 1 - real[i]) / N;
            sum += term;
            sizes += fabs(term);
          }
          CHECK_NEAR(sum / sizes, 0, 1e-7);
        }
        for (int i = 0; i < k; i++) CHECK(imaginary[i] == 0 && (!i || real[i] > real[i - 1]));
        CHECK_OK(PoiseKSPComputeExtremeSingularValues(p.ksp, &largest, &least));
        CHECK(least >= 1 - 1e-12 && least <= before[0] + 1e-12 && largest <= N + 1e-12);
        CHECK(largest >= before[1] - 1e-12);
        before[0] = least, before[1] = largest;
        if (!t) CHECK(least == real[0] && largest == real[k - 1]);
      }
      if (CHECK_INT(Ritz(&p, N, real, imaginary), N))
        for (int i = 0; i < N; i++) CHECK_NEAR(real[i], i + 1, 1e-6);
      ProblemClose(&p);
    }
}

/* K is M^-1 A: with M = diag(A) all are 1. Complex ones come in pairs. */
static void TestPreconditioned(PoiseContext ctx)
{
  static const char *const types[] = {"cg", "gmres"};
  Problem p;
  double real[N], imaginary[N], largest, least;
  for (int t = 0; t < 2; t++) {
    if (!Open(ctx, types[t], "jacobi", false, &p)) return;
    if (CHECK_INT(Ritz(&p, 1, real, imaginary), 1)) CHECK_NEAR(real[0], 1, 1e-14);
    ProblemClose(&p);
  }
  if (!Open(ctx, "gmres", "none", true, &p)) return;
  if (CHECK_INT(Ritz(&p, N, real, imaginary), N))
    for (int i = 0; i < N; i++) {
      CHECK_NEAR(real[i], i / 2 + 1, 1e-6);
      CHECK_NEAR(fabs(imaginary[i]), 1, 1e-6);
      CHECK_NEAR(imaginary[i], -imaginary[i ^ 1], 1e-6);
    }
  CHECK_OK(PoiseKSPComputeExtremeSingularValues(p.ksp, &largest, &least));
  CHECK_NEAR(least, sqrt(2), 1e-8); /* of (k 1; -1 k): sqrt(k^2 + 1) */
  CHECK_NEAR(largest, sqrt(37), 1e-8);
  ProblemClose(&p);
}

/* Of the latest cycle: 7 iterations with a restart of 5 leave 2, 10 leave 5. */
static void TestCycles(PoiseContext ctx)
{
  Problem p;
  double real[N], imaginary[N];
  if (!Open(ctx, "gmres", "none", false, &p)) return;
  CHECK_OK(PoiseKSPGMRESSetRestart(p.ksp, 5));
  CHECK_INT(Ritz(&p, 7, real, imaginary), 2);
  CHECK_INT(Ritz(&p, 10, real, imaginary), 5);
  CHECK_INT(Ritz(&p, 0, real, imaginary), 0);
  ProblemClose(&p);
}

/* Nothing is kept that was not asked for; a solve is the same with and without. */
static void TestCost(PoiseContext ctx)
{
  Problem p;
  double real[N], imaginary[N], largest, least;
  PoiseInt count;
  PoiseBytes with, without;
  if (!Open(ctx, "cg", "jacobi", true, &p)) return;
  CHECK_OK(PoiseKSPSetType(p.ksp, "bicgstab"));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_ERR(PoiseKSPComputeEigenvalues(p.ksp, N, real, imaginary, &count), POISE_ERR_UNSUPPORTED, "bicgstab");
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
  CHECK_ERR(PoiseKSPComputeExtremeSingularValues(p.ksp, &largest, &least), POISE_ERR_STATE, "no solve");
  CHECK_OK(PoiseMatShift(p.A, 5));
  CHECK_OK(PoiseKSPSetComputeEigenvalues(p.ksp, 0));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, 1e30, 4));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  uint64_t bits = SampleDigest(p.x);
  CHECK_ERR(PoiseKSPComputeEigenvalues(p.ksp, N, real, imaginary, &count), POISE_ERR_STATE,
            "PoiseKSPSetComputeEigenvalues");
  CHECK_OK(PoiseKSPBytes(p.ksp, &without));
  CHECK_OK(PoiseKSPSetComputeSingularValues(p.ksp, 1));
  CHECK_OK(PoiseKSPComputeEigenvalues(p.ksp, N, real, imaginary, &count));
  CHECK_INT(count, 0); /* of a solve that kept nothing */
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(SampleDigest(p.x) == bits);
  CHECK_OK(PoiseKSPBytes(p.ksp, &with));
  CHECK(with.host + with.device > without.host + without.device);
  ProblemClose(&p);
}

typedef struct Seen { /* by a monitor, in each iteration */
  double largest[N + 1], least[N + 1];
  int refused;
} Seen;

static PoiseErr Watch(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  Seen *s = arg;
  (void)norm;
  PoiseErr e = PoiseKSPComputeExtremeSingularValues(ksp, &s->largest[it], &s->least[it]);
  s->refused += e == POISE_ERR_STATE;
  PoiseErrorClear();
  return e == POISE_ERR_STATE ? POISE_OK : e;
}

/* A monitor sees those of a solve that ends there, unless the loop is ahead of it; and changes nothing. */
static void TestWatched(PoiseContext ctx)
{
  static const char *const types[] = {"cg", "gmres"};
  enum { ITS = 6 };
  for (int k = 0; k < 4; k++) {
    Problem p;
    Seen seen = {{0}, {0}, 0};
    double real[N], imaginary[N], largest, least;
    if (!Open(ctx, types[k % 2], "jacobi", true, &p)) return;
    CHECK_OK(PoiseMatShift(p.A, 3));
    p.ksp->options.replay = k / 2 ? 5 : 0;
    Ritz(&p, ITS, real, imaginary);
    uint64_t bits = SampleDigest(p.x);
    CHECK_OK(PoiseKSPAddMonitor(p.ksp, Watch, &seen));
    for (int turn = 0; turn < 2; turn++) {
      Ritz(&p, ITS, real, imaginary);
      CHECK(SampleDigest(p.x) == bits);
    }
    CHECK(p.ksp->loop.eager ? !seen.refused : seen.refused == 2 * (ITS + 1));
    for (int its = 0; p.ksp->loop.eager && its <= ITS; its++) {
      Seen then = seen; /* which the next solve overwrites */
      Ritz(&p, its, real, imaginary);
      CHECK_OK(PoiseKSPComputeExtremeSingularValues(p.ksp, &largest, &least));
      CHECK(then.largest[its] == largest && then.least[its] == least);
    }
    ProblemClose(&p);
  }
}

/* K V = (V, v) H, column by column, and V is orthonormal. */
static void TestBasis(PoiseContext ctx)
{
  static const char *const types[] = {"gmres", "fgmres"};
  enum { ITS = 5 };
  for (int k = 0; k < 4; k++) {
    Problem p;
    PoiseVec v[ITS], w;
    double h[ITS * (ITS + 1)], y[ITS], real[N], imaginary[N], dot, norm;
    PoiseInt n;
    if (!Open(ctx, types[k % 2], "none", true, &p)) return;
    p.ksp->options.replay = k / 2 ? 5 : 0;
    CHECK_ERR(PoiseKSPGMRESHessenberg(p.ksp, 0, h, &n), POISE_ERR_STATE, "no solve");
    CHECK_ERR(PoiseKSPGMRESCombine(p.ksp, 1, y, p.x), POISE_ERR_STATE, "no solve");
    Ritz(&p, ITS, real, imaginary);
    CHECK_OK(PoiseKSPGMRESHessenberg(p.ksp, ITS * (ITS + 1), h, &n));
    CHECK_INT(n, ITS);
    for (int j = 0; j < ITS; j++) {
      for (int i = 0; i < ITS; i++) y[i] = i == j;
      CHECK_OK(PoiseVecDuplicate(p.x, &v[j]));
      CHECK_OK(PoiseKSPGMRESCombine(p.ksp, ITS, y, v[j]));
      for (int i = 0; i <= j; i++) {
        CHECK_OK(PoiseVecDot(v[i], v[j], &dot));
        CHECK_NEAR(dot, i == j, 1e-10);
      }
    }
    CHECK_OK(PoiseVecDuplicate(p.x, &w));
    for (int j = 0; j < ITS; j++) { /* of the last, v times its number is left */
      CHECK_OK(PoiseMatMult(p.A, v[j], w));
      CHECK_OK(PoiseKSPGMRESCombine(p.ksp, ITS, h + j * (ITS + 1), p.x));
      CHECK_OK(PoiseVecAXPY(w, -1, p.x));
      CHECK_OK(PoiseVecNorm(w, POISE_NORM_2, &norm));
      CHECK_NEAR(norm, j < ITS - 1 ? 0 : h[ITS * (ITS + 1) - 1], 1e-10);
    }
    CHECK_ERR(PoiseKSPGMRESCombine(p.ksp, ITS + 1, y, p.x), POISE_ERR_ARG, "basis of 5 vectors");
    Ritz(&p, 0, real, imaginary);
    CHECK_ERR(PoiseKSPGMRESCombine(p.ksp, 0, y, p.x), POISE_ERR_STATE, "left no basis");
    CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
    CHECK_ERR(PoiseKSPGMRESHessenberg(p.ksp, 0, h, &n), POISE_ERR_UNSUPPORTED, "cg");
    for (int j = 0; j < ITS; j++) PoiseVecDestroy(&v[j]);
    PoiseVecDestroy(&w);
    ProblemClose(&p);
  }
}

static void TestPrinted(PoiseContext ctx)
{
  Problem p;
  char text[400];
  double real[N], imaginary[N];
  if (!Open(ctx, "gmres", "none", false, &p)) return;
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_view_eigenvalues -ksp_view_singularvalues"));
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  FILE *f = TestPrintBegin(ctx);
  Ritz(&p, 1, real, imaginary);
  TestPrintEnd(ctx, f, text, sizeof text);
  CHECK(PoiseRank(ctx) || (strstr(text, "Iteratively computed eigenvalues\n") &&
                           strstr(text, "extreme singular values: max") && strstr(text, " + 0i\n")));
  ProblemClose(&p);
}

static const Test tests[] = {
    {"roots", TestRoots, TEST_SERIAL | TEST_HOST_ONLY},
    {"tridiagonal", TestTridiagonal, TEST_SERIAL | TEST_HOST_ONLY},
    {"singular", TestSingular, TEST_SERIAL | TEST_HOST_ONLY},
    {"ritz", TestRitz, 0},
    {"preconditioned", TestPreconditioned, 0},
    {"cycles", TestCycles, 0},
    {"cost", TestCost, 0},
    {"watched", TestWatched, 0},
    {"basis", TestBasis, 0},
    {"printed", TestPrinted, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "spectrum", tests);
}

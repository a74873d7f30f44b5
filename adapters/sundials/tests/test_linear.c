/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-ups and solves with a SUNSparseMatrix. Residuals are judged by loops over a dense copy. */
#include <nvector/nvector_manyvector.h>
#include <sunmatrix/sunmatrix_band.h>

#include "test.h"

enum { N = 40 };

/* A system, and what solves it. */
typedef struct System {
  SUNMatrix A;
  N_Vector x, b;
  SUNLinearSolver S;
} System;

SUNMatrix SparseOf(const Case *c, int n, const double *dense)
{
  SUNMatrix A = SUNSparseMatrix(n, n, n * n + 1, CSR_MAT, c->sun);
  sunindextype *ptr = SM_INDEXPTRS_S(A), *col = SM_INDEXVALS_S(A), k = 0;
  for (int i = 0; i < n; i++) {
    ptr[i] = k;
    for (int j = 0; j < n; j++)
      if (dense[i * n + j] != 0) {
        col[k] = j;
        SM_DATA_S(A)[k++] = dense[i * n + j];
      }
  }
  ptr[n] = k;
  return A;
}

/* tridiag(-1 - skew, 2 + shift + 0.01 i, -1 + skew) */
static SUNMatrix Tridiagonal(const Case *c, double shift, double skew)
{
  double dense[N * N] = {0};
  for (int i = 0; i < N; i++) {
    if (i) dense[i * N + i - 1] = -1 - skew;
    dense[i * N + i] = 2 + shift + 0.01 * i;
    if (i < N - 1) dense[i * N + i + 1] = -1 + skew;
  }
  return SparseOf(c, N, dense);
}

static int Begin(const Case *c, SUNMatrix A, const char *method, const char *pc, System *s)
{
  PoisePC p = NULL;
  s->A = A;
  s->x = N_VNew_Serial(SM_ROWS_S(A), c->sun);
  s->b = N_VNew_Serial(SM_ROWS_S(A), c->sun);
  for (sunindextype i = 0; i < SM_ROWS_S(A); i++) NV_Ith_S(s->b, i) = sin(1 + 3. * (double)i);
  N_VConst(0, s->x);
  s->S = SUNLinearSolver_Poise(c->ctx, s->x, A, c->sun);
  if (!CHECK(s->S)) return 0;
  CHECK(!PoiseKSPSetType(SUNLinearSolver_Poise_KSP(s->S), method));
  CHECK(!PoiseKSPGetPC(SUNLinearSolver_Poise_KSP(s->S), &p));
  CHECK(!PoisePCSetType(p, pc));
  return CHECK_INT(SUNLinSolInitialize(s->S), SUNLS_SUCCESS);
}

static void End(System *s)
{
  SUNLinSolFree(s->S);
  SUNMatDestroy(s->A);
  N_VDestroy(s->x);
  N_VDestroy(s->b);
}

/* |W (b - A x)|, without the library */
static double Residual(const System *s, N_Vector w)
{
  const sunindextype *ptr = SM_INDEXPTRS_S(s->A), *col = SM_INDEXVALS_S(s->A);
  double sum = 0;
  for (sunindextype i = 0; i < SM_ROWS_S(s->A); i++) {
    double r = NV_Ith_S(s->b, i);
    for (sunindextype k = ptr[i]; k < ptr[i + 1]; k++) r -= SM_DATA_S(s->A)[k] * NV_Ith_S(s->x, col[k]);
    if (w) r *= NV_Ith_S(w, i);
    sum += r * r;
  }
  return sqrt(sum);
}

/* Set up and solve; the tolerance holds, and the solver says so. */
static void Solved(System *s, double tol)
{
  N_VConst(0, s->x);
  CHECK_INT(SUNLinSolSetup(s->S, s->A), SUNLS_SUCCESS);
  CHECK_INT(SUNLinSolSolve(s->S, s->A, s->x, s->b, tol), SUNLS_SUCCESS);
  CHECK_INT(SUNLinSolLastFlag(s->S), SUNLS_SUCCESS);
  CHECK(SUNLinSolNumIters(s->S) > 0);
  CHECK(Residual(s, NULL) <= tol * (1 + 1e-6));
  CHECK(fabs(Residual(s, NULL) - SUNLinSolResNorm(s->S)) <= 1e-3 * tol);
  const N_Vector r = SUNLinSolResid(s->S);
  if (CHECK(r)) CHECK(fabs(sqrt(N_VDotProd(r, r)) - SUNLinSolResNorm(s->S)) <= 1e-12);
}

static void InPlace(const Case *c)
{
  enum { LARGE = 200 };
  const size_t bytes = LARGE * LARGE * sizeof(double);
  double *dense = malloc(bytes);
  const char *device = "";
  System s;
  for (int k = 0; k < LARGE * LARGE; k++) dense[k] = k % (LARGE + 1) ? sin(k) : 100;
  if (!Begin(c, SparseOf(c, LARGE, dense), "bicgstab", "none", &s)) return;
  WatchAllocations(0);
  Solved(&s, 1e-10);
  AllocationFailed();
  PoiseOptionsHas(c->ctx, NULL, "device", &device);
  if (CanWatchAllocations() && !strcmp(device, "host")) CHECK(LargestAllocation() < bytes);
  CHECK(!memcmp(dense, SM_DATA_S(s.A), bytes));
  for (int step = 1; step < 4; step++) {
    for (int k = 0; k < LARGE * LARGE; k += 1 + LARGE) SM_DATA_S(s.A)[k] += step; /* the solution follows */
    WatchAllocations(0);
    Solved(&s, 1e-10);
    AllocationFailed();
    if (CanWatchAllocations()) CHECK(LargestAllocation() < bytes / 20); /* nothing is made for the pattern */
  }
  free(dense);
  End(&s);
}

static void NewPatterns(const Case *c)
{
  System s;
  if (!Begin(c, Tridiagonal(c, 1, 0.2), "gmres", "ilu", &s)) return;
  Solved(&s, 1e-9);
  /* as many entries, in other columns: the first row's second one moves to the end */
  SM_INDEXVALS_S(s.A)[1] = N - 1;
  Solved(&s, 1e-9);
  /* entries in other rows too */
  SM_INDEXPTRS_S(s.A)[1] = 1;
  SM_INDEXVALS_S(s.A)[1] = 0;
  SM_INDEXVALS_S(s.A)[2] = 1;
  SM_INDEXVALS_S(s.A)[3] = 2;
  SM_INDEXVALS_S(s.A)[4] = 3;
  SM_DATA_S(s.A)[2] = 9;
  Solved(&s, 1e-9);
  /* the same pattern, but other arrays: SUNDIALS frees the old ones */
  SUNMatrix other = SUNMatClone(s.A);
  SUNMatCopy(s.A, other);
  SUNMatDestroy(s.A);
  s.A = other;
  for (int k = 0; k < SM_INDEXPTRS_S(s.A)[N]; k++) SM_DATA_S(s.A)[k] *= 2;
  Solved(&s, 1e-9);
  /* other sizes */
  const double small[9] = {4, 1, 0, 1, 5, 1, 0, 1, 6};
  SUNMatDestroy(s.A);
  s.A = SparseOf(c, 3, small);
  N_VDestroy(s.x);
  N_VDestroy(s.b);
  s.x = N_VNew_Serial(3, c->sun);
  s.b = N_VNew_Serial(3, c->sun);
  N_VConst(1, s.b);
  Solved(&s, 1e-9);
  /* the same columns, in order, with other offsets alone */
  const double upper[9] = {4, 1, 2, 0, 3, 0, 0, 0, -1};
  SUNMatDestroy(s.A);
  s.A = SparseOf(c, 3, upper);
  Solved(&s, 1e-9);
  SM_INDEXPTRS_S(s.A)[1] = 1;
  SM_INDEXPTRS_S(s.A)[2] = 3;
  Solved(&s, 1e-9);
  End(&s);
}

/* SUNMatScaleAddI adds the missing diagonal entries, in new arrays. */
static void AddedDiagonal(const Case *c)
{
  double dense[N * N] = {0};
  System s;
  for (int i = 0; i < N; i++) dense[i * N + (i + 1) % N] = i % 3 ? 0.5 : 0.2;
  if (!Begin(c, SparseOf(c, N, dense), "preonly", "lu", &s)) return;
  SUNSparseMatrix_Realloc(s.A); /* no room */
  Solved(&s, 1e-9);
  const double *before = SM_DATA_S(s.A);
  CHECK_INT(SUNMatScaleAddI(-0.5, s.A), 0);
  CHECK(before != SM_DATA_S(s.A));
  Solved(&s, 1e-9);
  End(&s);
}

static void UnsortedRows(const Case *c)
{
  System s, t;
  if (!Begin(c, Tridiagonal(c, 0.5, 0.3), "gmres", "ilu", &s)) return;
  if (!Begin(c, Tridiagonal(c, 0.5, 0.3), "gmres", "ilu", &t)) return;
  const sunindextype *ptr = SM_INDEXPTRS_S(t.A);
  sunindextype *col = SM_INDEXVALS_S(t.A);
  for (int step = 0; step < 3; step++) {
    for (int i = 0; i < N && !step; i++) { /* turn each row round */
      const sunindextype last = ptr[i + 1] - 1, keep = col[ptr[i]];
      const double value = SM_DATA_S(t.A)[ptr[i]];
      col[ptr[i]] = col[last];
      col[last] = keep;
      SM_DATA_S(t.A)[ptr[i]] = SM_DATA_S(t.A)[last];
      SM_DATA_S(t.A)[last] = value;
    }
    Solved(&s, 1e-9);
    Solved(&t, 1e-9);
    for (int i = 0; i < N; i++) CHECK(fabs(NV_Ith_S(s.x, i) - NV_Ith_S(t.x, i)) < 1e-12);
    for (int k = 0; k < 3 * N - 2; k++) SM_DATA_S(s.A)[k] *= 1.5, SM_DATA_S(t.A)[k] *= 1.5;
  }
  col[5] = N - 1; /* another pattern, unsorted too */
  Solved(&t, 1e-9);
  End(&s);
  End(&t);
}

/* The tolerance is met in the scaled norm, whatever the method's own norm is. */
static void Scaling(const Case *c)
{
  static const char *const methods[][2] = {{"gmres", "none"},   {"gmres", "ilu"},  {"cg", "jacobi"},
                                           {"bicgstab", "ilu"}, {"fgmres", "sor"}, {"preonly", "lu"}};
  for (unsigned k = 0; k < sizeof methods / sizeof *methods; k++)
    for (int shape = 0; shape < 3; shape++) {
      System s;
      if (!Begin(c, Tridiagonal(c, 0.1, 0), methods[k][0], methods[k][1], &s)) return;
      N_Vector w = N_VClone(s.b);
      for (int i = 0; i < N; i++) NV_Ith_S(w, i) = pow(10, shape == 0 ? i % 7 : shape == 1 ? i * 0.2 : -3);
      CHECK_INT(SUNLinSolSetScalingVectors(s.S, w, w), 0);
      CHECK_INT(SUNLinSolSetup(s.S, s.A), 0);
      const double tol = 1e-6 * sqrt(N_VDotProd(s.b, s.b));
      CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, tol), SUNLS_SUCCESS);
      CHECK(Residual(&s, w) <= tol * (1 + 1e-6));
      CHECK(fabs(Residual(&s, w) - SUNLinSolResNorm(s.S)) <= 1e-2 * tol);
      /* without them, the plain norm counts again, and small weights have not asked for more */
      const int scaled = SUNLinSolNumIters(s.S);
      CHECK_INT(SUNLinSolSetScalingVectors(s.S, NULL, NULL), 0);
      N_VConst(0, s.x);
      CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, tol), SUNLS_SUCCESS);
      CHECK(Residual(&s, NULL) <= tol * (1 + 1e-6));
      if (shape == 2) CHECK(scaled + !strcmp(methods[k][0], "cg") <= SUNLinSolNumIters(s.S));
      N_VDestroy(w);
      End(&s);
    }
}

static void Guesses(const Case *c)
{
  System s;
  if (!Begin(c, Tridiagonal(c, 0.1, 0.1), "gmres", "ilu", &s)) return;
  Solved(&s, 1e-12);
  /* x of the last solve is the solution */
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-11), SUNLS_SUCCESS);
  CHECK_INT(SUNLinSolNumIters(s.S), 0);
  CHECK(Residual(&s, NULL) <= 1e-11);
  /* what x holds does not matter if the guess is zero; that is said for one solve */
  N_VConst(NAN, s.x);
  CHECK_INT(SUNLinSolSetZeroGuess(s.S, SUNTRUE), 0);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_SUCCESS);
  CHECK(Residual(&s, NULL) <= 1e-9);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-8), SUNLS_SUCCESS);
  CHECK_INT(SUNLinSolNumIters(s.S), 0);
  /* b = 0, and b below the tolerance */
  N_VConst(0, s.b);
  CHECK_INT(SUNLinSolSetZeroGuess(s.S, SUNTRUE), 0);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 0), SUNLS_SUCCESS);
  CHECK(N_VMaxNorm(s.x) == 0);
  N_VConst(1e-3, s.b);
  CHECK_INT(SUNLinSolSetZeroGuess(s.S, SUNTRUE), 0);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1), SUNLS_SUCCESS);
  CHECK_INT(SUNLinSolNumIters(s.S), 0);
  CHECK(N_VMaxNorm(s.x) == 0);
  const N_Vector r = SUNLinSolResid(s.S);
  CHECK(r && NV_Ith_S(r, 7) == 1e-3);
  End(&s);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void Recoverable(const Case *c)
{
  System s;
  if (!Begin(c, Tridiagonal(c, 0, 0), "gmres", "none", &s)) return;
  PoiseKSP ksp = SUNLinearSolver_Poise_KSP(s.S);
  CHECK_INT(SUNLinSolSetup(s.S, s.A), 0);
  CHECK(!PoiseKSPSetTolerances(ksp, -1, -1, -1, 2));
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_RES_REDUCED);
  CHECK_INT(SUNLinSolLastFlag(s.S), SUNLS_RES_REDUCED);
  CHECK_INT(SUNLinSolNumIters(s.S), 2);
  CHECK(Residual(&s, NULL) < sqrt(N_VDotProd(s.b, s.b)));
  CHECK(fabs(Residual(&s, NULL) - SUNLinSolResNorm(s.S)) < 1e-9);
  CHECK(!PoiseKSPSetType(ksp, "richardson"));
  CHECK(!PoiseKSPRichardsonSetScale(ksp, 10));
  N_VConst(0, s.x);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_CONV_FAIL);
  /* a tolerance below rounding ends */
  CHECK(!PoiseKSPSetType(ksp, "gmres"));
  CHECK(!PoiseKSPSetTolerances(ksp, -1, -1, -1, 1000));
  N_VConst(0, s.x);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-30), SUNLS_RES_REDUCED);
  CHECK(Residual(&s, NULL) < 1e-12);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_SUCCESS);
  /* a method that says it has converged, and has done nothing, is asked a few times */
  CHECK(!PoiseKSPSetType(ksp, "richardson"));
  CHECK(!PoiseKSPSetNormType(ksp, POISE_KSP_NORM_NONE));
  CHECK(!PoiseKSPRichardsonSetScale(ksp, 1e-30));
  CHECK(!PoiseKSPSetTolerances(ksp, -1, -1, -1, 1));
  N_VConst(0, s.x);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_CONV_FAIL);
  CHECK(SUNLinSolNumIters(s.S) > 1 && SUNLinSolNumIters(s.S) < 20);
  End(&s);
}

static void NotFinite(const Case *c)
{
  System s;
  if (!Begin(c, Tridiagonal(c, 0, 0.1), "gmres", "none", &s)) return;
  N_Vector w = N_VClone(s.b);
  N_VConst(1, w);
  CHECK_INT(SUNLinSolSetup(s.S, s.A), 0);
  NV_Ith_S(s.b, 3) = NAN;
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_PACKAGE_FAIL_REC);
  CHECK_INT(SUNLinSolLastFlag(s.S), SUNLS_PACKAGE_FAIL_REC);
  NV_Ith_S(s.b, 3) = 1;
  NV_Ith_S(s.x, 3) = INFINITY;
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_PACKAGE_FAIL_REC);
  N_VConst(0, s.x);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, NAN), SUNLS_PACKAGE_FAIL_REC);
  NV_Ith_S(w, 0) = NAN;
  CHECK_INT(SUNLinSolSetScalingVectors(s.S, w, w), 0);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_PACKAGE_FAIL_REC);
  CHECK_INT(SUNLinSolSetScalingVectors(s.S, NULL, NULL), 0);
  SM_DATA_S(s.A)[4] = NAN;
  CHECK_INT(SUNLinSolSetup(s.S, s.A), 0);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_PACKAGE_FAIL_REC);
  SM_DATA_S(s.A)[4] = 2;
  Solved(&s, 1e-9); /* nothing remains */
  N_VDestroy(w);
  End(&s);
}

static void ZeroPivot(const Case *c)
{
  System s;
  if (!Begin(c, Tridiagonal(c, 0, 0), "gmres", "ilu", &s)) return;
  const double keep = SM_DATA_S(s.A)[0];
  Solved(&s, 1e-9);
  SM_DATA_S(s.A)[0] = 0;
  CHECK_INT(SUNLinSolSetup(s.S, s.A), SUNLS_LUFACT_FAIL);
  CHECK_INT(SUNLinSolLastFlag(s.S), SUNLS_LUFACT_FAIL);
  CHECK_WORDS("row 0");
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_ILL_INPUT); /* no more set up */
  SM_DATA_S(s.A)[0] = NAN;
  CHECK_INT(SUNLinSolSetup(s.S, s.A), SUNLS_LUFACT_FAIL);
  SM_DATA_S(s.A)[0] = keep;
  Solved(&s, 1e-9);
  End(&s);
}

static void BadMatrices(const Case *c)
{
  System s;
  if (!Begin(c, Tridiagonal(c, 1, 0), "gmres", "ilu", &s)) return;
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_ILL_INPUT);
  CHECK_WORDS("set up");
  SUNMatrix csc = NULL, band = SUNBandMatrix(N, 1, 1, c->sun),
            wide = SUNSparseMatrix(2, 3, 4, CSR_MAT, c->sun);
  SUNSparseMatrix_ToCSC(s.A, &csc);
  CHECK_INT(SUNLinSolSetup(s.S, csc), SUNLS_ILL_INPUT);
  CHECK_WORDS("CSC_MAT");
  CHECK_INT(SUNLinSolLastFlag(s.S), SUNLS_ILL_INPUT);
  CHECK_INT(SUNLinSolSetup(s.S, band), SUNLS_ILL_INPUT);
  CHECK_WORDS("kind band");
  CHECK_INT(SUNLinSolSetup(s.S, wide), SUNLS_ILL_INPUT);
  CHECK_WORDS("2 x 3");
  CHECK_INT(SUNLinSolSetup(s.S, NULL), SUNLS_ILL_INPUT);
  Solved(&s, 1e-9);
  CHECK_INT(SUNLinSolSolve(s.S, csc, s.x, s.b, 1e-9), SUNLS_ILL_INPUT);
  SM_INDEXVALS_S(s.A)[5] = N; /* out of range, twice in a row, offsets that descend or go beyond the arrays */
  WatchAllocations(0);
  CHECK_INT(SUNLinSolSetup(s.S, s.A), SUNLS_ILL_INPUT);
  AllocationFailed();
  CHECK_INT(LeftAllocations(), 0);
  CHECK_WORDS("row 2 of the SUNSparseMatrix has column 40, of 40");
  SM_INDEXVALS_S(s.A)[5] = 2;
  CHECK_INT(SUNLinSolSetup(s.S, s.A), SUNLS_ILL_INPUT);
  SM_INDEXVALS_S(s.A)[5] = 1;
  SM_INDEXPTRS_S(s.A)[3] = 1;
  CHECK_INT(SUNLinSolSetup(s.S, s.A), SUNLS_ILL_INPUT);
  CHECK_WORDS("row offset 3");
  SM_INDEXPTRS_S(s.A)[3] = N * N + 2;
  CHECK_INT(SUNLinSolSetup(s.S, s.A), SUNLS_ILL_INPUT);
  CHECK_WORDS("between 5 and 1601");
  SM_INDEXPTRS_S(s.A)[3] = 8;
  if (sizeof(sunindextype) == 8) { /* more nonzeros than indices of 32 bits can count */
    SM_NNZ_S(s.A) = SM_INDEXPTRS_S(s.A)[N] = (sunindextype)INT32_MAX + 1;
    CHECK_INT(SUNLinSolSetup(s.S, s.A), SUNLS_ILL_INPUT);
    CHECK_WORDS("2147483648 nonzeros");
    SM_NNZ_S(s.A) = N * N + 1;
    SM_INDEXPTRS_S(s.A)[N] = 3 * N - 2;
  }
  Solved(&s, 1e-9);
  SUNMatDestroy(csc);
  SUNMatDestroy(band);
  SUNMatDestroy(wide);
  End(&s);
}

static void BadVectors(const Case *c)
{
  System s;
  if (!Begin(c, Tridiagonal(c, 1, 0), "gmres", "ilu", &s)) return;
  N_Vector shorter = N_VNew_Serial(N - 1, c->sun), parts[2] = {s.x, s.b};
  N_Vector many = N_VNew_ManyVector(2, parts, c->sun);
  CHECK(!SUNLinearSolver_Poise(c->ctx, many, s.A, c->sun));
  CHECK_WORDS("kind ManyVector");
  CHECK(!SUNLinearSolver_Poise(c->ctx, NULL, s.A, c->sun));
  CHECK(!SUNLinearSolver_Poise(c->ctx, s.x, NULL, c->sun));
  CHECK(!SUNLinearSolver_Poise(c->ctx, s.x, s.A, NULL));
  CHECK(!SUNLinearSolver_Poise(NULL, s.x, s.A, c->sun));
  CHECK(!SUNLinearSolver_Poise_KSP(NULL));
  CHECK(!SUNMatrix_Poise_Mat(s.A));
  CHECK_INT(SUNLinSolSetup(s.S, s.A), 0);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, shorter, s.b, 1e-9), SUNLS_ILL_INPUT);
  CHECK_WORDS("39");
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, many, 1e-9), SUNLS_ILL_INPUT);
  CHECK_INT(SUNLinSolSetScalingVectors(s.S, shorter, NULL), 0);
  CHECK_INT(SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-9), SUNLS_ILL_INPUT);
  CHECK_INT(SUNLinSolSetScalingVectors(s.S, NULL, NULL), 0);
  Solved(&s, 1e-9);
  N_VDestroy(many);
  N_VDestroy(shorter);
  End(&s);
}

static void Options(const Case *c)
{
  System s = {.A = Tridiagonal(c, 1, 0), .x = N_VNew_Serial(N, c->sun)};
  s.b = N_VClone(s.x);
  N_VConst(1, s.b);
  s.S = SUNLinearSolver_Poise(c->ctx, s.x, s.A, c->sun);
  PoiseKSP ksp = SUNLinearSolver_Poise_KSP(s.S);
  CHECK_INT(SUNLinSolGetType(s.S), SUNLINEARSOLVER_MATRIX_ITERATIVE);
  CHECK(!PoiseKSPSetOptionsPrefix(ksp, "inner_"));
  CHECK(!PoiseOptionsSet(c->ctx, "inner_ksp_type", "nonsense"));
  CHECK_INT(SUNLinSolInitialize(s.S), SUNLS_ILL_INPUT);
  CHECK_WORDS("nonsense");
  CHECK(!PoiseOptionsSet(c->ctx, "inner_ksp_type", "bicgstab"));
  CHECK(!PoiseOptionsSet(c->ctx, "inner_pc_type", "jacobi"));
  CHECK_INT(SUNLinSolInitialize(s.S), SUNLS_SUCCESS);
  CHECK(!strcmp(PoiseKSPType(ksp), "bicgstab"));
  CHECK(!PoiseKSPSetType(ksp, "gmres")); /* a later call in code wins, also over another initialisation */
  CHECK_INT(SUNLinSolInitialize(s.S), SUNLS_SUCCESS);
  Solved(&s, 1e-9);
  CHECK(!strcmp(PoiseKSPType(ksp), "gmres"));
  long reals = 0, integers = 1;
  CHECK_INT(SUNLinSolSpace(s.S, &reals, &integers), 0);
  CHECK(reals > 3 * N && reals < 1000 * N && integers == 0);
  End(&s);
}

/* Whichever allocation fails, the flag says so, nothing leaks (PoiseFinalize would say), and the next try
   works. */
static void AllocationFailures(const Case *c)
{
  System s;
  if (!CanWatchAllocations() || !Begin(c, Tridiagonal(c, 0.3, 0.1), "gmres", "ilu", &s)) return;
  int n = 0, failed;
  Solved(&s, 1e-8); /* OpenMP has its threads, which it cannot do without */
  do {
    WatchAllocations(++n);
    SUNLinearSolver S = SUNLinearSolver_Poise(c->ctx, s.x, s.A, c->sun);
    failed = AllocationFailed();
    CHECK_INT(S == NULL, failed);
    if (failed) CHECK_INT(LeftAllocations(), 0);
    SUNLinSolFree(S);
  } while (failed);
  CHECK(n > 3);
  for (int unsorted = 0; unsorted < 2; unsorted++) {
    SM_INDEXVALS_S(s.A)[unsorted ? 0 : 1] = N - 1; /* a new pattern, then the same in another order */
    if (unsorted) SM_INDEXVALS_S(s.A)[1] = 0;
    n = 0;
    do {
      WatchAllocations(++n);
      const int flag = SUNLinSolSetup(s.S, s.A);
      failed = AllocationFailed();
      CHECK_INT(flag, failed ? SUNLS_MEM_FAIL : SUNLS_SUCCESS);
    } while (failed);
    CHECK(n > 5);
    n = 0;
    do {
      N_VConst(0, s.x);
      WatchAllocations(++n);
      const int flag = SUNLinSolSolve(s.S, s.A, s.x, s.b, 1e-8);
      failed = AllocationFailed();
      CHECK_INT(flag, failed ? SUNLS_MEM_FAIL : SUNLS_SUCCESS);
    } while (failed);
    CHECK(n > 2);
    CHECK(Residual(&s, NULL) <= 1e-8);
  }
  End(&s);
}

const Test linear_tests[] = {{"in_place", InPlace, 1},
                             {"new_patterns", NewPatterns, 1},
                             {"added_diagonal", AddedDiagonal, 1},
                             {"unsorted_rows", UnsortedRows, 1},
                             {"scaling", Scaling, 1},
                             {"guesses", Guesses, 1},
                             {"recoverable", Recoverable, 1},
                             {"not_finite", NotFinite, 1},
                             {"zero_pivot", ZeroPivot, 1},
                             {"bad_matrices", BadMatrices, 1},
                             {"bad_vectors", BadVectors, 1},
                             {"options", Options, 1},
                             {"allocation_failures", AllocationFailures, 1},
                             {NULL, NULL, 0}};

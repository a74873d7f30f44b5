/* SPDX-License-Identifier: BSD-3-Clause */
/* SUNMatrix_Poise: its operations, judged by formulas of the entries, on any number of ranks. */
#include "test.h"

static double Far(PoiseInt i, PoiseInt n)
{
  return n > 4 && i + n / 2 < n ? 0.1 * (double)(i + 1) : 0;
}

/* tridiag(-1, 4 + i, -2), with or without the diagonal; far: also an entry in column i + n / 2 */
static SUNMatrix Matrix(const Case *c, PoiseInt n, int diagonal, int far)
{
  PoiseInt first, rows;
  PoiseMat A = NULL;
  PoiseSplit(c->ctx, n, &first, &rows);
  CHECK(!PoiseMatCreate(c->ctx, rows, rows, n, n, &A));
  for (PoiseInt i = first; i < first + rows; i++) {
    const PoiseInt row[4] = {i, i, i, i};
    const PoiseInt col[4] = {i ? i - 1 : -1, diagonal ? i : -1, i < n - 1 ? i + 1 : -1,
                             far && Far(i, n) != 0 ? i + n / 2 : -1};
    const double v[4] = {-1, 4 + (double)i, -2, Far(i, n)};
    CHECK(!PoiseMatSetEntries(A, 4, row, col, v));
  }
  CHECK(!PoiseMatAssemble(A));
  SUNMatrix S = SUNMatrix_Poise(A, c->sun);
  CHECK(S);
  return S;
}

static N_Vector Vector(const Case *c, PoiseInt n, int which)
{
  PoiseInt first, rows;
  PoiseSplit(c->ctx, n, &first, &rows);
  N_Vector v = N_VNew_Parallel(c->comm, rows, n, c->sun);
  for (PoiseInt i = 0; i < rows; i++) NV_Ith_P(v, i) = sin(which + 2. * (double)(first + i));
  return v;
}

/* Is A = t T + s S + g G + d I? T: the entries beside the diagonal, S: the diagonal 4 + i, G: the far ones */
static void CheckIs(const Case *c, SUNMatrix A, PoiseInt n, double t, double s, double g, double d)
{
  PoiseInt first, rows;
  PoiseSplit(c->ctx, n, &first, &rows);
  N_Vector x = Vector(c, n, 1), y = Vector(c, n, 2);
  N_VConst(NAN, y);
  CHECK_INT(SUNMatMatvec(A, x, y), SUNMAT_SUCCESS);
  for (PoiseInt k = 0; k < rows; k++) {
    const PoiseInt i = first + k;
    double sum = (s * (4 + (double)i) + d) * sin(1 + 2. * (double)i);
    if (i) sum -= t * sin(1 + 2. * (double)(i - 1));
    if (i < n - 1) sum -= 2 * t * sin(1 + 2. * (double)(i + 1));
    if (i + n / 2 < n) sum += g * Far(i, n) * sin(1 + 2. * (double)(i + n / 2));
    CHECK(fabs(NV_Ith_P(y, k) - sum) <= 1e-13 * (double)n);
  }
  N_VDestroy(x);
  N_VDestroy(y);
}

static void Operations(const Case *c)
{
  static const PoiseInt sizes[] = {1, 2, 7, 60};
  for (int k = 0; k < 4; k++) {
    const PoiseInt n = sizes[k];
    SUNMatrix A = Matrix(c, n, 1, 0), B = Matrix(c, n, 1, 1), C = SUNMatClone(A);
    if (!CHECK(A && B && C)) return;
    CHECK_INT(SUNMatGetID(A), SUNMATRIX_CUSTOM);
    CheckIs(c, A, n, 1, 1, 0, 0);
    CheckIs(c, C, n, 0, 0, 0, 0);
    CHECK_INT(SUNMatCopy(A, C), 0);
    CheckIs(c, C, n, 1, 1, 0, 0);
    CHECK_INT(SUNMatCopy(B, C), 0); /* with entries that C lacks */
    CheckIs(c, C, n, 1, 1, 1, 0);
    CHECK_INT(SUNMatCopy(A, C), 0); /* and that only C has */
    CheckIs(c, C, n, 1, 1, 0, 0);
    CHECK_INT(SUNMatCopy(C, C), 0);
    CheckIs(c, C, n, 1, 1, 0, 0);
    CHECK_INT(SUNMatScaleAddI(-3, C), 0);
    CheckIs(c, C, n, -3, -3, 0, 1);
    CHECK_INT(SUNMatScaleAdd(2, C, B), 0);
    CheckIs(c, C, n, -5, -5, 1, 2);
    CHECK_INT(SUNMatScaleAdd(2, B, B), 0);
    CheckIs(c, B, n, 3, 3, 3, 0);
    CHECK_INT(SUNMatZero(C), 0);
    CheckIs(c, C, n, 0, 0, 0, 0);
    CheckIs(c, A, n, 1, 1, 0, 0); /* which nobody changed */
    long reals = -1, integers = -1;
    CHECK_INT(SUNMatSpace(A, &reals, &integers), 0);
    CHECK(reals >= (n == 60 ? 60 : 0) && integers == 0);
    SUNMatDestroy(A);
    SUNMatDestroy(B);
    SUNMatDestroy(C);
  }
}

/* The identity joins a pattern without diagonal; old NaN do not survive. */
static void NoDiagonal(const Case *c)
{
  SUNMatrix A = Matrix(c, 20, 0, 1), B = SUNMatClone(A);
  CHECK_INT(SUNMatScaleAddI(2, A), 0);
  CheckIs(c, A, 20, 2, 0, 2, 1);
  CHECK(!PoiseMatScale(SUNMatrix_Poise_Mat(A), NAN));
  CHECK_INT(SUNMatCopy(B, A), 0);
  CheckIs(c, A, 20, 0, 0, 0, 0);
  CHECK(!PoiseMatScale(SUNMatrix_Poise_Mat(A), NAN));
  CHECK_INT(SUNMatZero(A), 0);
  CheckIs(c, A, 20, 0, 0, 0, 0);
  SUNMatDestroy(A);
  SUNMatDestroy(B);
}

static void Refusals(const Case *c)
{
  PoiseMat open = NULL, wide = NULL;
  const double dense[4] = {1, 2, 3, 4};
  SUNMatrix A = Matrix(c, 20, 1, 0), sparse = SparseOf(c, 2, dense);
  CHECK(!PoiseMatCreate(c->ctx, POISE_DECIDE, POISE_DECIDE, 5, 5, &open));
  CHECK(!SUNMatrix_Poise(open, c->sun)); /* not assembled */
  CHECK(!PoiseMatCreate(c->ctx, POISE_DECIDE, POISE_DECIDE, 5, 9, &wide));
  CHECK(!PoiseMatAssemble(wide));
  CHECK(!SUNMatrix_Poise(wide, c->sun));
  CHECK_WORDS("5 x 9");
  CHECK(!SUNMatrix_Poise(NULL, c->sun));
  CHECK(!PoiseMatAssemble(open));
  CHECK(!SUNMatrix_Poise(open, NULL));
  CHECK_INT(SUNMatCopy(A, sparse), SUNMAT_ILL_INPUT);
  CHECK_WORDS("kind SUNSparseMatrix");
  CHECK_INT(SUNMatScaleAdd(1, A, sparse), SUNMAT_ILL_INPUT);
  N_Vector x = Vector(c, 20, 1), y = Vector(c, 21, 1), serial = N_VNew_Serial(20, c->sun);
  CHECK(SUNMatMatvec(A, x, y) < 0);
  CHECK(SUNMatMatvec(A, y, x) < 0);
  /* the mistake of one rank is an error of all */
  const int size = PoiseSize(c->ctx), rank = PoiseRank(c->ctx);
  N_Vector odd = N_VNew_Parallel(c->comm, NV_LOCLENGTH_P(x) + (rank == 0) - (size > 1 && rank == size - 1),
                                 size > 1 ? 20 : 21, c->sun);
  CHECK(SUNMatMatvec(A, x, odd) < 0);
  SUNLinearSolver S = SUNLinearSolver_Poise(c->ctx, x, A, c->sun);
  if (!CHECK(S)) return;
  CHECK_INT(SUNLinSolSetup(S, A), 0);
  CHECK_INT(SUNLinSolSolve(S, A, odd, x, 1), SUNLS_ILL_INPUT);
  if (PoiseSize(c->ctx) > 1) {
    CHECK(!SUNLinearSolver_Poise(c->ctx, serial, A, c->sun));
    CHECK_WORDS("kind serial");
    CHECK_INT(SUNLinSolSetup(S, sparse), SUNLS_ILL_INPUT);
    CHECK_WORDS("use SUNMatrix_Poise");
    N_Vector alone = N_VNew_Parallel(MPI_COMM_SELF, 20, 20, c->sun);
    CHECK(!SUNLinearSolver_Poise(c->ctx, alone, A, c->sun));
    CHECK_WORDS("rank 0 of 1 of the vector");
    N_VDestroy(alone);
  }
  SUNLinSolFree(S);
  PoiseMatDestroy(&open);
  PoiseMatDestroy(&wide);
  SUNMatDestroy(A);
  SUNMatDestroy(sparse);
  N_VDestroy(x);
  N_VDestroy(y);
  N_VDestroy(odd);
  N_VDestroy(serial);
}

/* A solver of another context. */
static void OtherContext(const Case *c)
{
  PoiseContext own = NULL;
  const PoiseInit init = {.mpi_comm = &c->comm};
  if (!CHECK(!PoiseInitialize(NULL, NULL, &init, &own))) return;
  const Case other = {.ctx = own, .sun = c->sun, .comm = c->comm};
  SUNMatrix A = Matrix(&other, 9, 1, 0);
  N_Vector x = Vector(c, 9, 1);
  SUNLinearSolver S = SUNLinearSolver_Poise(c->ctx, x, A, c->sun);
  CHECK_INT(SUNLinSolSetup(S, A), SUNLS_ILL_INPUT);
  CHECK_WORDS("another context");
  SUNLinSolFree(S);
  SUNMatDestroy(A);
  N_VDestroy(x);
  CHECK(!PoiseFinalize(&own));
}

/* Recoverable on all ranks, although one alone has the zero pivot or the NaN. */
static void SameFlags(const Case *c)
{
  SUNMatrix A = Matrix(c, 30, 1, 0);
  N_Vector b = Vector(c, 30, 1), x = N_VClone(b);
  SUNLinearSolver S = SUNLinearSolver_Poise(c->ctx, x, A, c->sun);
  const PoiseInt last = 29;
  const double zero = 0, four = 4;
  CHECK(!PoiseMatSetEntries(SUNMatrix_Poise_Mat(A), PoiseRank(c->ctx) == 0, &last, &last, &zero));
  CHECK(!PoiseMatSetEntries(SUNMatrix_Poise_Mat(A), PoiseRank(c->ctx) == 0, &last, &(PoiseInt){28}, &zero));
  CHECK(!PoiseMatAssemble(SUNMatrix_Poise_Mat(A)));
  CHECK_INT(SUNLinSolSetup(S, A), SUNLS_LUFACT_FAIL);
  CHECK_INT(SUNLinSolLastFlag(S), SUNLS_LUFACT_FAIL);
  CHECK(!PoiseMatSetEntries(SUNMatrix_Poise_Mat(A), PoiseRank(c->ctx) == 0, &last, &last, &four));
  CHECK(!PoiseMatAssemble(SUNMatrix_Poise_Mat(A)));
  CHECK_INT(SUNLinSolSetup(S, A), SUNLS_SUCCESS);
  CHECK_INT(SUNLinSolSetZeroGuess(S, SUNTRUE), 0);
  CHECK_INT(SUNLinSolSolve(S, A, x, b, 1e-9), SUNLS_SUCCESS);
  if (PoiseRank(c->ctx) == PoiseSize(c->ctx) - 1) NV_Ith_P(b, 0) = INFINITY;
  CHECK_INT(SUNLinSolSetZeroGuess(S, SUNTRUE), 0);
  CHECK_INT(SUNLinSolSolve(S, A, x, b, 1e-9), SUNLS_PACKAGE_FAIL_REC);
  SUNLinSolFree(S);
  SUNMatDestroy(A);
  N_VDestroy(b);
  N_VDestroy(x);
}

static void AllocationFailures(const Case *c)
{
  if (!CanWatchAllocations() || PoiseSize(c->ctx) > 1) return;
  SUNMatrix A = Matrix(c, 12, 1, 0), B = Matrix(c, 12, 1, 1);
  N_Vector x = Vector(c, 12, 1), y = N_VClone(x);
  int n = 0, failed, seen = 0;
  do {
    int flag = 0;
    SUNMatrix C = SUNMatClone(A); /* of a pattern that must grow */
    WatchAllocations(++n);
    SUNMatrix D = A->ops->clone(A); /* SUNMatClone follows NULL */
    failed = AllocationFailed();
    CHECK_INT(D == NULL, failed);
    if (failed) CHECK_INT(LeftAllocations(), 0);
    if (D) SUNMatDestroy(D);
    WatchAllocations(n);
    flag = SUNMatScaleAdd(1, C, B);
    if (!flag) flag = SUNMatMatvec(C, x, y);
    seen = AllocationFailed();
    CHECK_INT(flag, seen ? SUNMAT_MEM_FAIL : SUNMAT_SUCCESS);
    SUNMatDestroy(C);
  } while (failed || seen);
  CHECK(n > 5);
  SUNMatDestroy(A);
  SUNMatDestroy(B);
  N_VDestroy(x);
  N_VDestroy(y);
}

const Test matrix_tests[] = {{"operations", Operations, 0},
                             {"no_diagonal", NoDiagonal, 0},
                             {"refusals", Refusals, 0},
                             {"other_context", OtherContext, 0},
                             {"same_flags", SameFlags, 0},
                             {"matrix_allocation_failures", AllocationFailures, 0},
                             {NULL, NULL, 0}};

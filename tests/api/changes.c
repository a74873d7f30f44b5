/* SPDX-License-Identifier: BSD-3-Clause */
/* Changed, copied, transposed and added matrices; prescribed unknowns; vectors of null spaces. */
#include "api.h"

static const char *const types[] = {"csr", "csri", "seg", "bcsr"};
static const int shapes[] = {0, 6, 8, 10, 11};
enum { SHAPED = 5 };

typedef void (*Change)(PoiseContext ctx, PoiseMat A, Dense *D, const double *u, const double *w);

/* Of square shapes and all types. */
static void ForAll(PoiseContext ctx, Change change)
{
  double u[70], w[70];
  for (int i = 0; i < 70; i++) u[i] = 1.5 + Random(100, (uint64_t)i), w[i] = 1.5 + Random(101, (uint64_t)i);
  for (int s = 0; s < SHAPED; s++)
    for (int t = 0; t < 4; t++) {
      int b;
      Dense D = Shape(shapes[s], &b);
      PoiseMat A = MatOf(ctx, &D, b, (s + t) % LAYOUTS);
      ApiCase("shape %d, %s", shapes[s], types[t]);
      CHECK_OK(PoiseMatSetType(A, types[t]));
      change(ctx, A, &D, u, w);
      CHECK_OK(PoiseMatDestroy(&A));
      DenseFree(&D);
    }
}

static void Scales(PoiseContext ctx, PoiseMat A, Dense *D, const double *u, const double *w)
{
  PoiseInt m, n;
  (void)ctx;
  PoiseMatLocalSizes(A, &m, &n);
  PoiseVec l = VecOf(PoiseMatContext(A), m, D->m, u), r = VecOf(PoiseMatContext(A), n, D->n, w);
  CHECK_OK(PoiseMatScale(A, -0.5));
  for (int k = 0; k < D->m * D->n; k++) D->a[k] *= -0.5;
  MatWorks(A, D);
  CHECK_OK(PoiseMatDiagonalScale(A, l, r));
  for (int k = 0; k < D->m * D->n; k++) D->a[k] *= u[k / D->n] * w[k % D->n];
  MatWorks(A, D);
  CHECK_OK(PoiseMatDiagonalScale(A, NULL, r));
  for (int k = 0; k < D->m * D->n; k++) D->a[k] *= w[k % D->n];
  MatWorks(A, D);
  CHECK_OK(PoiseMatDiagonalScale(A, l, NULL));
  for (int k = 0; k < D->m * D->n; k++) D->a[k] *= u[k / D->n];
  MatWorks(A, D);
  CHECK_OK(PoiseMatScale(A, 0));
  for (int k = 0; k < D->m * D->n; k++) D->a[k] = 0;
  MatWorks(A, D);
  CHECK_OK(PoiseVecDestroy(&l));
  CHECK_OK(PoiseVecDestroy(&r));
}

static void Diagonals(PoiseContext ctx, PoiseMat A, Dense *D, const double *u, const double *w)
{
  PoiseInt m;
  PoiseMatLocalSizes(A, &m, NULL);
  PoiseVec d = VecOf(ctx, m, D->m, u);
  (void)w;
  CHECK_OK(PoiseMatShift(A, 2.5));
  for (int i = 0; i < D->m; i++) DenseSet(D, i, i, D->a[i * D->n + i] + 2.5);
  MatWorks(A, D);
  CHECK_OK(PoiseMatAddDiagonal(A, d));
  for (int i = 0; i < D->m; i++) D->a[i * D->n + i] += u[i];
  MatWorks(A, D);
  CHECK_OK(PoiseMatSetDiagonal(A, d));
  for (int i = 0; i < D->m; i++) D->a[i * D->n + i] = u[i];
  MatWorks(A, D);
  CHECK_OK(PoiseVecDestroy(&d));
}

static void Copies(PoiseContext ctx, PoiseMat A, Dense *D, const double *u, const double *w)
{
  PoiseMat B = NULL, T = NULL;
  int is;
  (void)ctx, (void)u, (void)w;
  CHECK_OK(PoiseMatDuplicate(A, 1, &B));
  CHECK(!strcmp(PoiseMatType(A), PoiseMatType(B)));
  CHECK_INT(PoiseMatBlockSize(A), PoiseMatBlockSize(B));
  MatWorks(B, D);
  CHECK_OK(PoiseMatScale(B, 2));
  MatWorks(A, D); /* which is another matrix */
  CHECK_OK(PoiseMatDestroy(&B));
  Dense E = DenseTranspose(D);
  CHECK_OK(PoiseMatTranspose(A, &T));
  CHECK(!strcmp(PoiseMatType(A), PoiseMatType(T)));
  MatWorks(T, &E);
  CHECK_OK(PoiseMatIsTranspose(A, T, 0, &is));
  CHECK_INT(is, 1);
  CHECK_OK(PoiseMatIsSymmetric(A, 1e-3, &is));
  CHECK_INT(is, D->m == 1);
  CHECK_OK(PoiseMatAXPY(T, 1, A)); /* A + A^T */
  for (int k = 0; k < D->m * D->n; k++) E.a[k] += D->a[k], E.has[k] |= D->has[k];
  MatWorks(T, &E);
  CHECK_OK(PoiseMatIsSymmetric(T, 1e-14, &is));
  CHECK_INT(is, 1);
  CHECK_OK(PoiseMatDestroy(&T));
  CHECK_OK(PoiseMatDuplicate(A, 0, &B));
  memset(E.a, 0, (size_t)(E.m * E.n) * sizeof *E.a);
  memcpy(E.has, D->has, (size_t)(E.m * E.n));
  MatWorks(B, &E);
  CHECK_OK(PoiseMatAXPY(B, -2, A)); /* of the same pattern */
  CHECK_OK(PoiseMatAXPY(B, 1, B));
  for (int k = 0; k < D->m * D->n; k++) E.a[k] = -4 * D->a[k];
  MatWorks(B, &E);
  CHECK_OK(PoiseMatDestroy(&B));
  DenseFree(&E);
}

/* Rows 0, 3 mod 5 and the last; of any rank, given by the last one and, some, by all. */
static void Zeros(PoiseContext ctx, PoiseMat A, Dense *D, const double *u, const double *w)
{
  int N = D->m, last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  PoiseInt rows[64], n = 0, m;
  char fixed[64] = {0};
  double rhs[64];
  if (N > 64) return;
  for (int i = 0; i < N; i++) fixed[i] = i % 5 == 3 || i == 0 || i == N - 1;
  for (int i = 0; i < N; i++)
    if (fixed[i] && (last || i % 2)) rows[n++] = i;
  rows[n++] = -1;
  PoiseMatLocalSizes(A, &m, NULL);
  PoiseVec x = VecOf(ctx, m, N, u), b = VecOf(ctx, m, N, w);
  memcpy(rhs, w, (size_t)N * sizeof *rhs);
  for (int columns = 0; columns < 2; columns++) {
    PoiseMat B = NULL;
    Dense E = DenseCopy(D);
    VecFill(b, w);
    memcpy(rhs, w, (size_t)N * sizeof *rhs);
    CHECK_OK(PoiseMatDuplicate(A, 1, &B));
    CHECK_OK((columns ? PoiseMatZeroRowsColumns : PoiseMatZeroRows)(B, n, rows, 3, x, b));
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        if (columns && fixed[j] && !fixed[i]) rhs[i] -= E.a[i * N + j] * u[j];
        if (fixed[i] || (columns && fixed[j])) E.a[i * N + j] = i == j && fixed[i] ? 3 : 0;
      }
    for (int i = 0; i < N; i++)
      if (fixed[i]) rhs[i] = 3 * u[i];
    MatWorks(B, &E);
    VecIs(b, rhs, 1e-13);
    CHECK_OK(PoiseMatZeroRows(B, n, rows, 0, NULL, NULL));
    for (int i = 0; i < N; i++)
      if (fixed[i]) E.a[i * N + i] = 0;
    MatWorks(B, &E);
    CHECK_OK(PoiseMatDestroy(&B));
    DenseFree(&E);
  }
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&b));
}

static void TestScales(PoiseContext ctx)
{
  ForAll(ctx, Scales);
}

static void TestDiagonals(PoiseContext ctx)
{
  ForAll(ctx, Diagonals);
}

static void TestCopies(PoiseContext ctx)
{
  ForAll(ctx, Copies);
}

static void TestZeros(PoiseContext ctx)
{
  ForAll(ctx, Zeros);
}

/* Rectangular ones too; and entries that join a pattern on the diagonal alone. */
static void TestRectangular(PoiseContext ctx)
{
  static const int of[] = {1, 2, 3, 4, 5, 7};
  for (int s = 0; s < 6; s++)
    for (int t = 0; t < 4; t++) {
      int b;
      Dense D = Shape(of[s], &b), E = DenseTranspose(&D);
      PoiseMat A = MatOf(ctx, &D, b, t % LAYOUTS), T = NULL, U = NULL;
      ApiCase("shape %d, %s", of[s], types[t]);
      CHECK_OK(PoiseMatSetType(A, types[t]));
      CHECK_OK(PoiseMatTranspose(A, &T));
      MatWorks(T, &E);
      CHECK_OK(PoiseMatTranspose(T, &U));
      MatWorks(U, &D);
      CHECK_ERR(PoiseMatShift(A, 1), POISE_ERR_SIZE, "");
      CHECK_OK(PoiseMatDestroy(&A));
      CHECK_OK(PoiseMatDestroy(&T));
      CHECK_OK(PoiseMatDestroy(&U));
      DenseFree(&D);
      DenseFree(&E);
    }
  Dense D = DenseNew(9, 9);
  DenseSet(&D, 0, 8, 1);
  DenseSet(&D, 8, 0, 2);
  PoiseMat A = MatOf(ctx, &D, 1, 0);
  CHECK_ERR(PoiseMatZeroRows(A, 1, &(PoiseInt){4}, 1, NULL, NULL), POISE_ERR_ARG, "4");
  CHECK_OK(PoiseMatShift(A, -1));
  for (int i = 0; i < 9; i++) DenseSet(&D, i, i, -1);
  MatWorks(A, &D);
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

/* How full blocks of 1 to 8 would be. */
static void TestFill(PoiseContext ctx)
{
  static const int of[] = {6, 8};
  for (int s = 0; s < 2; s++) {
    PoiseBlockFill table[POISE_BLOCK_FILLS];
    int b, found;
    Dense D = Shape(of[s], &b);
    PoiseMat A = MatOf(ctx, &D, b, 2); /* one rank has all */
    CHECK_OK(PoiseMatFindBlockSize(A, table, &found));
    for (int c = 1; c <= POISE_BLOCK_FILLS; c++) {
      long blocks = 0;
      ApiCase("blocks of %d", c);
      CHECK_INT(table[c - 1].b, c);
      if (D.m % c) {
        CHECK_INT(table[c - 1].blocks, -1);
        continue;
      }
      for (int i = 0; i < D.m / c; i++)
        for (int j = 0; j < D.n / c; j++) {
          int any = 0;
          for (int k = 0; k < c * c; k++) any |= D.has[(i * c + k / c) * D.n + j * c + k % c];
          blocks += any;
        }
      CHECK_INT(table[c - 1].blocks, blocks);
      CHECK_NEAR(table[c - 1].fill, (double)(blocks * c * c) / (double)DenseCount(&D), 1e-12);
    }
    CHECK_INT(found, b);
    CHECK_OK(PoiseMatSetBlockSize(A, 0));
    CHECK_OK(PoiseMatSetType(A, "bcsr"));
    CHECK_INT(PoiseMatBlockSize(A), b);
    MatWorks(A, &D);
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

const Test change_tests[] = {{"scales", TestScales},
                             {"diagonals", TestDiagonals},
                             {"copies", TestCopies},
                             {"zeros", TestZeros},
                             {"rectangular", TestRectangular},
                             {"fill", TestFill},
                             {NULL, NULL}};

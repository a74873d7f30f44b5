/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation on vectors, compared with a plain loop, for sizes around those of blocks, and for values
   of any magnitude. */
#include "api.h"

enum { MOST = 9001, TERMS = 70 };

static const int sizes[] = {0, 1, 2, 3, 7, 64, 65, 513, 2048, 2049, 4097, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void Numbers(int n, uint64_t seed, double *v)
{
  for (int i = 0; i < n; i++) v[i] = Random(seed, (uint64_t)i) + (i % 5 ? 0 : 0.25);
}

typedef struct Three {
  int n;
  double *u, *v, *w; /* of all ranks */
  PoiseVec x, y, z;
} Three;

static Three ThreeOf(PoiseContext ctx, int n, int layout)
{
  Three t = {.n = n};
  t.u = malloc(3 * ((size_t)n + 1) * sizeof(double));
  t.v = t.u + n;
  t.w = t.v + n;
  Numbers(n, 1, t.u);
  Numbers(n, 2, t.v);
  Numbers(n, 3, t.w);
  PoiseInt m = Share(ctx, n, 1, layout);
  t.x = VecOf(ctx, m, n, t.u);
  t.y = VecOf(ctx, m, n, t.v);
  t.z = VecOf(ctx, m, n, t.w);
  return t;
}

static void ThreeFree(Three *t)
{
  CHECK_OK(PoiseVecDestroy(&t->x));
  CHECK_OK(PoiseVecDestroy(&t->y));
  CHECK_OK(PoiseVecDestroy(&t->z));
  CHECK(t->x == NULL);
  free(t->u);
}

static void Updates(Three *t)
{
  int n = t->n;
  double *u = t->u, *v = t->v, *w = t->w;
  CHECK_OK(PoiseVecAXPY(t->y, 0.5, t->x));
  for (int i = 0; i < n; i++) v[i] += 0.5 * u[i];
  VecIs(t->y, v, 1e-15);
  CHECK_OK(PoiseVecAYPX(t->y, -1.5, t->x));
  for (int i = 0; i < n; i++) v[i] = u[i] - 1.5 * v[i];
  VecIs(t->y, v, 1e-15);
  CHECK_OK(PoiseVecAXPBY(t->y, 2, 3, t->x));
  for (int i = 0; i < n; i++) v[i] = 2 * u[i] + 3 * v[i];
  VecIs(t->y, v, 1e-15);
  CHECK_OK(PoiseVecWAXPY(t->z, -0.25, t->x, t->y));
  for (int i = 0; i < n; i++) w[i] = -0.25 * u[i] + v[i];
  VecIs(t->z, w, 1e-15);
  CHECK_OK(PoiseVecPointwiseMult(t->z, t->x, t->y));
  for (int i = 0; i < n; i++) w[i] = u[i] * v[i];
  VecIs(t->z, w, 1e-15);
  CHECK_OK(PoiseVecPointwiseDivide(t->z, t->y, t->x));
  for (int i = 0; i < n; i++) w[i] = v[i] / u[i];
  VecIs(t->z, w, 1e-15);
  CHECK_OK(PoiseVecReciprocal(t->z));
  for (int i = 0; i < n; i++) w[i] = 1 / w[i];
  VecIs(t->z, w, 1e-15);
  CHECK_OK(PoiseVecScale(t->z, -3));
  for (int i = 0; i < n; i++) w[i] *= -3;
  VecIs(t->z, w, 1e-15);
  CHECK_OK(PoiseVecCopy(t->x, t->z));
  VecIs(t->z, u, 0);
  VecIs(t->x, u, 0); /* none of these wrote to x */
  CHECK_OK(PoiseVecSet(t->z, 7));
  for (int i = 0; i < n; i++) w[i] = 7;
  VecIs(t->z, w, 0);
}

/* What is multiplied by 0 is not looked at. */
static void Zeros(Three *t)
{
  CHECK_OK(PoiseVecSet(t->z, NAN));
  CHECK_OK(PoiseVecAXPBY(t->z, 2, 0, t->x));
  for (int i = 0; i < t->n; i++) t->w[i] = 2 * t->u[i];
  VecIs(t->z, t->w, 0);
  CHECK_OK(PoiseVecSet(t->z, NAN));
  CHECK_OK(PoiseVecScale(t->z, 0));
  for (int i = 0; i < t->n; i++) t->w[i] = 0;
  VecIs(t->z, t->w, 0);
}

static void Reductions(PoiseContext ctx, Three *t)
{
  int n = t->n;
  const double *u = t->u, *v = t->v;
  double a, b, sum = 0, one = 0, most = 0, tol = 1e-14 * (n + 1), found[5];
  for (int i = 0; i < n; i++) sum += u[i], one += fabs(u[i]), most = fmax(most, fabs(u[i]));
  CHECK_OK(PoiseVecDot(t->x, t->y, &found[0]));
  CHECK_NEAR(found[0], Dot(n, u, v), tol);
  CHECK_OK(PoiseVecSumEntries(t->x, &found[1]));
  CHECK_NEAR(found[1], sum, tol);
  CHECK_OK(PoiseVecNorm(t->x, POISE_NORM_1, &found[2]));
  CHECK_NEAR(found[2], one, tol);
  CHECK_OK(PoiseVecNorm(t->x, POISE_NORM_2, &found[3]));
  CHECK_NEAR(found[3], Norm(n, u), tol);
  CHECK_OK(PoiseVecNorm(t->x, POISE_NORM_INF, &found[4]));
  CHECK_NEAR(found[4], most, 0);
  CHECK_OK(PoiseVecDotNorm2(t->x, t->y, &a, &b));
  CHECK_NEAR(a, Dot(n, u, v), tol);
  CHECK_NEAR(b, Dot(n, v, v), tol);
  CHECK_OK(PoiseVecAXPYDot(t->y, -2, t->x, &a));
  for (int i = 0; i < n; i++) t->v[i] -= 2 * u[i];
  VecIs(t->y, v, 1e-15);
  CHECK_NEAR(a, Dot(n, v, v), 4 * tol);
  char key[40];
  snprintf(key, sizeof key, "reductions of %d", n);
  ApiSame(ctx, key, 5, found, tol);
}

static void TestOperations(PoiseContext ctx)
{
  for (int s = 0; s < SIZES; s++)
    for (int layout = 0; layout < LAYOUTS; layout++) {
      ApiCase("n %d, layout %d", sizes[s], layout);
      Three t = ThreeOf(ctx, sizes[s], layout);
      CHECK_INT(PoiseVecSize(t.x), sizes[s]);
      CHECK_INT(PoiseVecLocalSize(t.x), Share(ctx, sizes[s], 1, layout));
      CHECK(PoiseVecContext(t.x) == ctx);
      Reductions(ctx, &t);
      Updates(&t);
      Zeros(&t);
      ThreeFree(&t);
    }
}

/* More vectors than one pass takes. */
static void TestMany(PoiseContext ctx)
{
  static const int counts[] = {0, 1, 2, 3, 4, 5, 8, 31, 32, 33, 64, TERMS};
  int n = 2100;
  double a[TERMS], dots[TERMS], *u = malloc((size_t)n * (TERMS + 1) * sizeof *u), *v = u + (size_t)n * TERMS;
  PoiseVec x[TERMS], y;
  for (int j = 0; j < TERMS; j++) {
    Numbers(n, 10 + (uint64_t)j, u + j * n);
    a[j] = Random(9, (uint64_t)j);
    x[j] = VecOf(ctx, POISE_DECIDE, n, u + j * n);
  }
  Numbers(n, 4, v);
  y = VecOf(ctx, POISE_DECIDE, n, v);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    int k = counts[c];
    ApiCase("%d vectors", k);
    CHECK_OK(PoiseVecMDot(y, k, x, dots));
    for (int j = 0; j < k; j++) CHECK_NEAR(dots[j], Dot(n, u + j * n, v), 1e-11);
    CHECK_OK(PoiseVecMAXPY(y, k, a, x));
    for (int j = 0; j < k; j++)
      for (int i = 0; i < n; i++) v[i] += a[j] * u[j * n + i];
    VecIs(y, v, 1e-14);
  }
  for (int j = 0; j < TERMS; j++) CHECK_OK(PoiseVecDestroy(&x[j]));
  CHECK_OK(PoiseVecDestroy(&y));
  free(u);
}

/* Squares under- and overflow; NaN and infinity are told. */
static void TestExtremes(PoiseContext ctx)
{
  static const double units[] = {1e-310, 1e-200, 1e-160, 1e-154, 1, 1e154, 1e160, 1e300};
  double u[70], norm;
  PoiseVec x;
  for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
    ApiCase("entries of %g", units[k]);
    for (int i = 0; i < 70; i++) u[i] = units[k] * (i % 7 - 3.5);
    x = VecOf(ctx, POISE_DECIDE, 70, u);
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
    CHECK_NEAR(norm / units[k], sqrt(70 * 4.25), 1e-9);
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm / units[k], 3.5, 1e-9);
    CHECK_OK(PoiseVecDestroy(&x));
  }
  u[69] = NAN;
  x = VecOf(ctx, POISE_DECIDE, 70, u);
  static const PoiseNorm norms[] = {POISE_NORM_1, POISE_NORM_2, POISE_NORM_INF};
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseVecNorm(x, norms[k], &norm));
    CHECK(isnan(norm));
  }
  u[69] = -INFINITY;
  VecFill(x, u);
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseVecNorm(x, norms[k], &norm));
    CHECK(isinf(norm) && norm > 0);
  }
  CHECK_OK(PoiseVecSet(x, 0));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
  CHECK_NEAR(norm, 0, 0);
  CHECK_OK(PoiseVecDestroy(&x));
}

/* By global row, whatever the layout. */
static void TestRandom(PoiseContext ctx)
{
  int n = 3001;
  double u[3001], v[3001], mean = 0;
  for (int layout = 0; layout < LAYOUTS; layout++) {
    PoiseVec x = NULL;
    CHECK_OK(PoiseVecCreate(ctx, Share(ctx, n, 1, layout), n, &x));
    CHECK_OK(PoiseVecSetRandom(x, 17));
    VecAll(x, layout ? v : u);
    if (layout) CHECK(!memcmp(u, v, sizeof u));
    if (layout) CHECK_OK(PoiseVecSetRandom(x, 18));
    VecAll(x, v);
    if (layout) CHECK(v[0] != u[0] && v[3000] != u[3000]);
    CHECK_OK(PoiseVecDestroy(&x));
  }
  for (int i = 0; i < n; i++) {
    mean += u[i] / n;
    if (u[i] < -1 || u[i] >= 1 || (i && u[i] == u[i - 1])) CHECK(0);
  }
  CHECK_NEAR(mean, 0, 0.05);
  ApiSame(ctx, "random entries", 100, u, 0);
}

/* Every rank adds to, and asks for, rows of every rank. */
static void TestValues(PoiseContext ctx)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx), n = 23;
  for (int layout = 0; layout < LAYOUTS; layout++) {
    PoiseInt rows[46], map[4] = {22, 0, -1, 7};
    double v[46], want[23] = {0}, got[46];
    PoiseVec x = NULL;
    ApiCase("layout %d", layout);
    CHECK_OK(PoiseVecCreate(ctx, Share(ctx, n, 1, layout), n, &x));
    VecIs(x, want, 0);
    for (int k = 0; k < 46; k++) {
      rows[k] = k == 5 ? -1 : (k * 7 + rank) % n;
      v[k] = k + 1;
    }
    for (int r = 0; r < size; r++)
      for (int k = 0; k < 46; k++)
        if (k != 5) want[(k * 7 + r) % n] += k + 1;
    for (int round = 1; round <= 2; round++) {
      CHECK_OK(PoiseVecAddValues(x, 46, rows, v));
      CHECK_OK(PoiseVecAssemble(x));
      for (int i = 0; i < n && round == 2; i++) want[i] *= 2;
      VecIs(x, want, 1e-14);
    }
    got[5] = 99;
    CHECK_OK(PoiseVecGetValues(x, 46, rows, got));
    for (int k = 0; k < 46; k++) CHECK_NEAR(got[k], k == 5 ? 99 : want[rows[k]], 1e-12);
    CHECK_OK(PoiseVecGetValues(x, rank ? 0 : 1, &(PoiseInt){22}, got)); /* others ask for nothing */
    if (!rank) CHECK_NEAR(got[0], want[22], 1e-12);
    CHECK_OK(PoiseVecSetLocalToGlobal(x, 4, map));
    if (rank == size - 1)
      CHECK_OK(PoiseVecSetValuesLocal(x, 4, (PoiseInt[]){0, 1, 2, 3}, (double[]){5, 6, 7, 8}));
    CHECK_OK(PoiseVecAssemble(x));
    want[22] = 5, want[0] = 6, want[7] = 8;
    VecIs(x, want, 1e-14);
    CHECK_OK(PoiseVecAddValuesLocal(x, 1, (PoiseInt[]){3}, (double[]){1}));
    CHECK_OK(PoiseVecAssemble(x));
    want[7] += size;
    VecIs(x, want, 1e-14);
    CHECK_OK(PoiseVecSetValues(x, 1, &(PoiseInt){3}, &(double){rank + 1})); /* one of them */
    CHECK_OK(PoiseVecAssemble(x));
    VecAll(x, got);
    CHECK(got[3] >= 1 && got[3] <= size && got[3] == floor(got[3]));
    CHECK_OK(PoiseVecDestroy(&x));
  }
}

/* Arrays of the user's: copied, lent, given. */
static void TestArrays(PoiseContext ctx)
{
  PoiseInt m = Share(ctx, 11, 1, 0);
  for (int own = 0; own < 3; own++) {
    double *a = malloc(((size_t)m + 1) * sizeof *a), sum;
    PoiseVec x = NULL, y = NULL;
    ApiCase("ownership %d", own);
    for (PoiseInt i = 0; i < m; i++) a[i] = 2;
    CHECK_OK(PoiseVecCreateArray(ctx, m, 11, a, (PoiseOwn)own, &x));
    if (own == POISE_COPY)
      for (PoiseInt i = 0; i < m; i++) a[i] = -1;
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK_NEAR(sum, 22, 0);
    CHECK_OK(PoiseVecScale(x, 2));
    if (own == POISE_BORROW)
      for (PoiseInt i = 0; i < m; i++) CHECK_NEAR(a[i], 4, 0);
    CHECK_OK(PoiseVecDuplicate(x, &y));
    CHECK_INT(PoiseVecLocalSize(y), m);
    CHECK_OK(PoiseVecSumEntries(y, &sum));
    CHECK_NEAR(sum, 0, 0);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    if (own != POISE_ADOPT) free(a);
  }
}

/* Read, Write, Update between operations on the device; sizes that the library chooses. */
static void TestAccess(PoiseContext ctx)
{
  PoiseInt begin, end, first, mine;
  PoiseVec x = NULL;
  double *p, sum;
  const double *q;
  CHECK_OK(PoiseVecCreate(ctx, PoiseRank(ctx) + 2, POISE_DECIDE, &x));
  int size = PoiseSize(ctx), n = size * (size + 3) / 2;
  CHECK_INT(PoiseVecSize(x), n);
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseVecGetUpdate(x, &p));
  p[0] += 1;
  CHECK_OK(PoiseVecRestore(x, &p));
  CHECK(p == NULL);
  CHECK_OK(PoiseVecToDevice(x));
  CHECK_OK(PoiseVecSumEntries(x, &sum));
  CHECK_NEAR(sum, n + size, 0);
  CHECK_OK(PoiseVecScale(x, 2));
  CHECK_OK(PoiseVecGetRead(x, &q));
  CHECK_NEAR(q[0], 4, 0);
  CHECK_NEAR(q[1], 2, 0);
  CHECK_OK(PoiseVecRestore(x, (void *)&q));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x));
  PoiseVecRange(x, &begin, &end);
  PoiseSplit(ctx, 10, &first, &mine);
  CHECK_INT(begin, first);
  CHECK_INT(end - begin, mine);
  CHECK_INT(mine, 10 / size + (PoiseRank(ctx) < 10 % size));
  CHECK_OK(PoiseVecDestroy(&x));
}

const Test vector_tests[] = {{"operations", TestOperations}, {"many", TestMany},
                             {"extremes", TestExtremes},     {"random", TestRandom},
                             {"values", TestValues},         {"arrays", TestArrays},
                             {"access", TestAccess},         {NULL, NULL}};

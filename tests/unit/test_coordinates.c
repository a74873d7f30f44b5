/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of nodes, and the near null space that they make: the rigid motions, judged by their definition. */
#include "mat/object/mat.h"
#include "sample.h"

enum { NODES = 41 };

/* CLOUD: skew, thin, far from the origin. LINE: skew. POINT: all nodes at one. HUGE_CLOUD: near DBL_MAX. */
typedef enum Shape { CLOUD, LINE, POINT, HUGE_CLOUD, SHAPES } Shape;

static double Coordinate(Shape shape, PoiseInt node, int c)
{
  const double t = TestRandom(3, (uint64_t)node), along = t * (1 + c), at = c == 0 ? 100 : -7;
  const double off = 0.03 * TestRandom(5 + (uint64_t)c, (uint64_t)node);
  if (shape == POINT) return at;
  if (shape == LINE) return along;
  return shape == CLOUD ? at + along + off : 1e308 * TestRandom(8 + (uint64_t)c, (uint64_t)node);
}

/* This rank's nodes, in memory that the caller frees; one more, so that none is allocated as something. */
static double *Places(PoiseMat A, Shape shape, int dim, int unknowns, PoiseInt *n)
{
  PoiseInt begin = A->rows->begin / unknowns;
  *n = A->rows->n / unknowns;
  double *x = malloc((size_t)(*n + 1) * (size_t)dim * sizeof *x);
  if (!CHECK(x)) exit(1);
  for (PoiseInt i = 0; i < *n * dim; i++) x[i] = Coordinate(shape, begin + i / dim, (int)(i % dim));
  return x;
}

static PoiseMat Open(PoiseContext ctx, int layout, int unknowns)
{
  PoiseMat A = NULL;
  PoiseInt local = SampleLocal(ctx, layout, NODES), m;
  if (local == POISE_DECIDE) local = NODES / PoiseSize(ctx) + (PoiseRank(ctx) < NODES % PoiseSize(ctx));
  m = local * unknowns;
  CHECK_OK(PoiseMatCreate(ctx, m, m, NODES * unknowns, NODES * unknowns, &A));
  return A;
}

static double Dot(PoiseVec x, PoiseVec y)
{
  double dot = NAN;
  CHECK_OK(PoiseVecDot(x, y, &dot));
  return dot;
}

/* Motion m by its definition: a shift, or a turn in the plane of two axes about a node. */
static void Exact(Shape shape, int dim, int m, PoiseVec v)
{
  static const int plane[3][2] = {{0, 1}, {1, 2}, {0, 2}};
  double *p;
  PoiseInt begin, end;
  PoiseVecRange(v, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(v, &p))) return;
  for (PoiseInt r = begin; r < end; r++) {
    const int c = (int)(r % dim), *two = plane[m < dim ? 0 : m - dim], other = c == two[0] ? two[1] : two[0];
    const double x = Coordinate(shape, r / dim, other) / 2 - Coordinate(shape, 0, other) / 2;
    p[r - begin] = m < dim ? c == m : c == two[0] ? -x : c == two[1] ? x : 0;
  }
  CHECK_OK(PoiseVecRestore(v, &p));
}

/* The near null space is orthonormal, and the part of each motion outside of it is 0. */
static void CheckMotions(PoiseMat A, Shape shape, int dim, int count)
{
  PoiseVec exact = NULL;
  const PoiseVec *v;
  int n;
  CHECK_OK(PoiseMatGetNearNullSpace(A, &n, &v));
  if (!CHECK_INT(n, count) || !CHECK_OK(PoiseMatCreateVecs(A, &exact, NULL))) return;
  for (int k = 0; k < n; k++)
    for (int j = 0; j <= k; j++) CHECK_NEAR(Dot(v[j], v[k]), j == k, 1e-11);
  for (int m = 0; m < dim * (dim + 1) / 2; m++) {
    double norm;
    Exact(shape, dim, m, exact);
    CHECK_OK(PoiseVecNorm(exact, POISE_NORM_INF, &norm));
    if (norm > 0) CHECK_OK(PoiseVecScale(exact, 1 / norm));
    for (int k = 0; k < n; k++) CHECK_OK(PoiseVecAXPY(exact, -Dot(v[k], exact), v[k]));
    CHECK_OK(PoiseVecNorm(exact, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 1e-10);
  }
  CHECK_OK(PoiseVecDestroy(&exact));
}

static void TestMotions(PoiseContext ctx)
{
  /* of each shape, in dimension 2 and 3 */
  static const int counts[SHAPES][2] = {{3, 6}, {3, 5}, {2, 3}, {3, 6}};
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    for (int dim = 2; dim <= 3; dim++) {
      for (int shape = 0; shape < SHAPES; shape++) {
        PoiseInt n;
        PoiseMat A = Open(ctx, layout, dim);
        double *x = Places(A, (Shape)shape, dim, dim, &n);
        CHECK_OK(PoiseMatSetCoordinates(A, dim, n, x));
        for (PoiseInt i = 0; i < n * dim; i++) x[i] = NAN; /* they were copied */
        CheckMotions(A, (Shape)shape, dim, counts[shape][dim - 2]);
        CHECK_INT(PoiseMatBlockSize(A), dim);
        free(x);
        CHECK_OK(PoiseMatDestroy(&A));
      }
    }
  }
}

/* Before or after assembly, from the host or the device: the same bits. Other calls replace them. */
static void TestWhenAndWhere(PoiseContext ctx)
{
  PoiseInt n;
  PoiseMat A = Open(ctx, UNEVEN, 3), B = Open(ctx, UNEVEN, 3);
  double *x = Places(A, CLOUD, 3, 3, &n), norm;
  void *there = SampleLend(ctx, (size_t)(n * 3) * sizeof *x, x);
  CHECK_OK(PoiseMatSetBlockSize(B, 1));
  CHECK_OK(PoiseMatSetCoordinates(A, 3, n, x));
  for (PoiseInt r = A->rows->begin; r < A->rows->begin + A->rows->n; r++) {
    CHECK_OK(PoiseMatAddBlock(A, 1, &r, 1, &r, (double[]){2}));
    CHECK_OK(PoiseMatAddBlock(B, 1, &r, 1, &r, (double[]){2}));
  }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatAssemble(B));
  CHECK_OK(PoiseMatSetNearNullSpace(B, 1, 0, NULL));
  CHECK_OK(PoiseMatSetDeviceCoordinates(B, 3, n, there));
  CheckMotions(A, CLOUD, 3, 6);
  CheckMotions(B, CLOUD, 3, 6);
  for (int k = 0; k < 6; k++) {
    CHECK_OK(PoiseVecAXPY(B->near.v[k], -1, A->near.v[k]));
    CHECK_OK(PoiseVecNorm(B->near.v[k], POISE_NORM_INF, &norm));
    CHECK(norm == 0);
  }
  CHECK_OK(PoiseMatSetNearNullSpace(A, 0, 0, NULL));
  CHECK_INT(A->near.n, 0);
  free(x);
  SampleTakeBack(ctx, there);
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&B));
}

/* One unknown a node: none, also if there was a near null space. The block size stays. */
static void TestScalar(PoiseContext ctx)
{
  for (int dim = 1; dim <= 3; dim++) {
    PoiseInt n;
    PoiseMat A = Open(ctx, LAST, 1);
    double *x = Places(A, CLOUD, dim, 1, &n);
    CHECK_OK(PoiseMatSetNearNullSpace(A, 1, 0, NULL));
    CHECK_OK(PoiseMatSetCoordinates(A, dim, n, x));
    CHECK_INT(A->near.n, 0);
    CHECK_INT(PoiseMatBlockSize(A), 1);
    free(x);
    CHECK_OK(PoiseMatDestroy(&A));
  }
}

/* Each is found on the last rank alone, and ends the call on all. */
static void TestErrors(PoiseContext ctx)
{
  const int mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  PoiseInt n;
  PoiseMat A = Open(ctx, UNEVEN, 3), R = NULL, none = NULL;
  double *x = Places(A, CLOUD, 3, 3, &n);
  char words[80];
  CHECK_OK(PoiseMatSetNearNullSpace(A, 1, 0, NULL));
  CHECK_ERR_OF(PoiseMatSetCoordinates(A, mine ? 4 : 3, n, x), mine, POISE_ERR_ARG, "dim = 4");
  CHECK_ERR_OF(PoiseMatSetCoordinates(A, 3, mine ? n - 1 : n, x), mine, POISE_ERR_SIZE,
               "a node of 3 coordinates has 1 unknown or 3");
  CHECK_ERR_OF(PoiseMatSetCoordinates(A, 3, mine ? -1 : n, x), mine, POISE_ERR_ARG, "n = -1 nodes");
  CHECK_ERR_OF(PoiseMatSetCoordinates(A, 3, n, mine ? NULL : x), mine, POISE_ERR_ARG, "is NULL");
  for (int k = 0; k < 2; k++) {
    if (mine) x[3 * n - 2] = k ? INFINITY : NAN;
    snprintf(words, sizeof words, "coordinate 1 of node %lld of rank", (long long)n - 1);
    CHECK_ERR_OF(PoiseMatSetCoordinates(A, 3, n, x), mine, POISE_ERR_ARG,
                 mine ? words : "coordinate 1 of node");
  }
  if (PoiseSize(ctx) > 1)
    CHECK_ERR(PoiseMatSetCoordinates(A, mine ? 1 : 3, mine ? 3 * n : n, x), POISE_ERR_ARG,
              "dim differs from rank to rank, from 1 to 3");
  if (PoiseSize(ctx) > 2)
    CHECK_ERR(PoiseMatSetCoordinates(A, 3, mine ? 3 * n : n, (double[9 * NODES]){0}), POISE_ERR_SIZE,
              "nodes have 1 unknowns on one rank, 3 on another");
  CHECK_INT(A->near.n, 1);
  CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 6, 9, &R));
  CHECK_ERR(PoiseMatSetCoordinates(R, 3, 1, x), POISE_ERR_SIZE, "A is 6 x 9");
  CHECK_OK(PoiseMatCreate(ctx, 0, 0, 0, 0, &none));
  CHECK_OK(PoiseMatSetCoordinates(none, 3, 0, NULL));
  CHECK_INT(none->near.n, 0);
  free(x);
  CHECK_OK(PoiseMatDestroy(&R));
  CHECK_OK(PoiseMatDestroy(&none));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* A pointer to the other side's memory. */
static void TestPointers(PoiseContext ctx)
{
  PoiseInt n;
  PoiseMat A = Open(ctx, EVEN, 2);
  double *x = Places(A, CLOUD, 2, 2, &n);
  void *there = SampleLend(ctx, (size_t)(n * 2) * sizeof *x, x);
  if (SampleIsAway(ctx)) {
    CHECK_ERR(PoiseMatSetDeviceCoordinates(A, 2, n, x), POISE_ERR_ARG, "a host pointer?");
    CHECK_ERR(PoiseMatSetCoordinates(A, 2, n, there), POISE_ERR_ARG, "see the calls for the device");
  }
  CHECK_OK(PoiseMatSetDeviceCoordinates(A, 2, n, there));
  CHECK_INT(A->near.n, 3);
  free(x);
  SampleTakeBack(ctx, there);
  CHECK_OK(PoiseMatDestroy(&A));
}

static PoiseErr Create(PoiseContext ctx, void *arg)
{
  PoiseMat A = NULL;
  (void)ctx;
  PoiseErr e = PoiseMatCreate(ctx, 9, 9, POISE_DECIDE, POISE_DECIDE, &A);
  if (!e) e = PoiseMatSetDeviceCoordinates(A, 3, 3, arg);
  PoiseMatDestroy(&A);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  double x[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  void *there = SampleLend(ctx, sizeof x, x);
  TestAllocationFailures(ctx, Create, there);
  SampleTakeBack(ctx, there);
}

static const Test tests[] = {
    {"motions", TestMotions, 0},
    {"when_and_where", TestWhenAndWhere, 0},
    {"scalar", TestScalar, 0},
    {"errors", TestErrors, 0},
    {"pointers", TestPointers, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "coordinates", tests);
}

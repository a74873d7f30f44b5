/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse factors: how large they will be, what is known before they are made, and their orders. The reference
  of the counts is elimination on dense arrays of what is stored.
*/
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "ksp/ksp.h"
#include "mat/order/graph.h"
#include "direct.h"
#include "problem.h"
#include "shapes.h"

/* ---- counts ---------------------------------------------------------------------------------- */

typedef struct Places { /* n x n, row by row: what is stored; columns in their order */
  int n;
  bool *stored;
} Places;

static bool *At(const Places *p, int i, int j)
{
  return &p->stored[i * p->n + j];
}

static Places NewPlaces(int n)
{
  return (Places){n, calloc((size_t)(n * n) + 1, sizeof(bool))};
}

/* Entries above and below the diagonal of the nodes become entries and flops. */
static void AddNode(int below, int right, Foreseen *f)
{
  f->entries += below + right + 1;
  f->flops += below + 2.0 * below * right;
}

/* Elimination of A + A^T with pivots from the diagonal. */
static Foreseen ByDiagonal(const Places *A)
{
  Foreseen f = {0};
  Places s = NewPlaces(A->n);
  for (int i = 0; i < A->n; i++)
    for (int j = 0; j < A->n; j++) *At(&s, i, j) = *At(A, i, j) || *At(A, j, i);
  for (int k = 0; k < A->n; k++) {
    int later = 0;
    for (int i = k + 1; i < A->n; i++) {
      later += *At(&s, i, k);
      for (int j = k + 1; j < A->n; j++) *At(&s, i, j) |= *At(&s, i, k) && *At(&s, k, j);
    }
    AddNode(later, later, &f);
  }
  free(s.stored);
  return f;
}

/* Elimination where any row with an entry in the column may be the pivot: each gets the entries of all. */
static Foreseen ByExchanges(const Places *A)
{
  Foreseen f = {0};
  Places s = NewPlaces(A->n);
  bool *done = calloc((size_t)A->n + 1, sizeof *done);
  memcpy(s.stored, A->stored, (size_t)(A->n * A->n) * sizeof *s.stored);
  for (int k = 0; k < A->n; k++) {
    int first = -1, rows = 0, columns = 0;
    for (int i = 0; i < A->n; i++) rows += !done[i] && *At(&s, i, k);
    for (int j = k; j < A->n; j++) {
      bool any = false;
      for (int i = 0; i < A->n; i++) any |= !done[i] && *At(&s, i, k) && *At(&s, i, j);
      for (int i = 0; i < A->n; i++)
        if (!done[i] && *At(&s, i, k) && j > k) *At(&s, i, j) = any;
      columns += any;
    }
    for (int i = A->n - 1; i >= 0; i--)
      if (!done[i] && *At(&s, i, k)) first = i;
    if (first >= 0) done[first] = true, AddNode(rows - 1, columns - 1, &f);
  }
  free(done);
  free(s.stored);
  return f;
}

/* Rows of a matrix in any order, with an entry in each column; band: entries are near the diagonal. */
static Places RandomPlaces(int n, uint64_t seed, double density, int band)
{
  Places p = NewPlaces(n);
  int shift = n > 0 ? (int)(seed % (uint64_t)n) : 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      bool near = abs(i - j) <= band;
      bool stored = i == j || (near && TestRandom(seed, (uint64_t)(i * n + j)) < 2 * density - 1);
      *At(&p, (i + shift) % n, j) = stored;
    }
  return p;
}

/* Its columns, of which column order[k] comes in place k of p. */
static void Columns(const Places *p, const int *order, int *ptr, int *row)
{
  ptr[0] = 0;
  for (int j = 0; j < p->n; j++) ptr[j + 1] = 0;
  for (int k = 0; k < p->n; k++)
    for (int i = 0; i < p->n; i++) ptr[order[k] + 1] += *At(p, i, k);
  for (int j = 0; j < p->n; j++) ptr[j + 1] += ptr[j];
  for (int k = 0; k < p->n; k++)
    for (int i = 0, at = ptr[order[k]]; i < p->n; i++)
      if (*At(p, i, k)) row[at++] = i;
}

/* Both counts of p, whose columns are stored in another order: for pivots from the diagonal its rows too. */
static void CheckCounts(PoiseContext ctx, const Places *p)
{
  enum { MOST = 40 };
  int ptr[MOST + 1], row[MOST * MOST], order[MOST], to[MOST], n = p->n;
  Foreseen f, expected = ByDiagonal(p), least = ByExchanges(p);
  Pattern A = {n, ptr, row};
  for (int k = 0; k < n; k++) order[k] = (int)((k * 7 + 3) % n), to[order[k]] = k;
  if (n % 7 == 0)
    for (int k = 0; k < n; k++) order[k] = to[k] = k;
  Columns(p, order, ptr, row);
  if (CHECK_OK(poiseForesee(ctx, &A, to, true, &f)))
    CHECK(f.entries >= least.entries && f.flops >= least.flops);
  for (int k = 0; k < ptr[n]; k++) row[k] = order[row[k]];
  if (!CHECK_OK(poiseForesee(ctx, &A, to, false, &f))) return;
  CHECK_NEAR(f.entries, expected.entries, 0);
  CHECK_NEAR(f.flops, expected.flops, 0);
}

static void TestCounts(PoiseContext ctx)
{
  static const double density[] = {0, 0.04, 0.1, 0.2, 0.6};
  for (int k = 0; k < 5; k++)
    for (int n = 0; n < 40; n += 1 + n / 4)
      for (uint64_t seed = 1; seed < 6; seed++) {
        Places p = RandomPlaces(n, seed, density[k], seed % 2 ? n : 4);
        CheckCounts(ctx, &p);
        free(p.stored);
      }
}

/* The bound for exchanges is the entries themselves where rows that can be pivots have the same entries. */
static void TestBoundIsMet(PoiseContext ctx)
{
  enum { N = 30, BAND = 2 };
  int ptr[N + 1], row[N * N], to[N];
  Places p = NewPlaces(N);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) *At(&p, i, j) = abs(i - j) <= BAND;
  for (int j = 0; j < N; j++) to[j] = j;
  Columns(&p, to, ptr, row);
  Foreseen f, expected = ByExchanges(&p);
  Pattern A = {N, ptr, row};
  if (CHECK_OK(poiseForesee(ctx, &A, to, true, &f))) {
    CHECK_NEAR(f.entries, expected.entries, 0);
    CHECK_NEAR(f.flops, expected.flops, 0);
  }
  free(p.stored);
}

/* ---- what is known before -------------------------------------------------------------------- */

/* Minus the Laplacian: pivots come from the diagonal, so factors have the entries that were foreseen. The
   order is kept for the set-up. */
static void TestForesee(PoiseContext ctx)
{
  static const int sides[] = {1, 2, 7, 12};
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  for (int k = 0; k < 4; k++) {
    PoiseMat A = Grid(ctx, sides[k], sides[k], sides[k], 0.2);
    PoisePC pc = Make(ctx, "lu", A, "-x_pc_factor_solver superlu");
    double entries = -1, flops = -1;
    CHECK_OK(poisePCForesee(pc, &entries, &flops));
    const SparseLU *lu = &((const LU *)pc->data)->sparse;
    CHECK_NEAR(lu->facts.foreseen.entries, entries, 0);
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_NEAR(lu->facts.foreseen.entries, entries, 0);
    CHECK(lu->facts.order != LU_BY_COLUMNS || sides[k] < 7);
    if (sides[k] >= 7) CHECK_NEAR(lu->facts.entries, entries, 0.05 * entries); /* small ones are padded */
    double again = -1;
    CHECK_OK(poisePCForesee(pc, &again, &flops)); /* M stays, until values change */
    CHECK_NEAR(again, entries, 0);
    CHECK_NEAR(Residual(pc, A), 0, 1e-12);
    CHECK_OK(PoiseMatShift(A, 1));
    CHECK_OK(poisePCForesee(pc, &again, &flops));
    CHECK_NEAR(again, entries, 0);
    CHECK_NEAR(Residual(pc, A), 0, 1e-12);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static void TestForeseeOthers(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 3, 4, 5, 0.2);
  double entries = -1, flops = -1;
  PoisePC pc = Make(ctx, "lu", A, "-x_pc_factor_solver dense");
  CHECK_OK(poisePCForesee(pc, &entries, &flops));
  CHECK_NEAR(entries, 3600, 0);
  CHECK_NEAR(flops, 144000, 1e-8);
  PoisePCDestroy(&pc);
  pc = Make(ctx, "jacobi", A, NULL);
  CHECK_ERR(poisePCForesee(pc, &entries, &flops), POISE_ERR_UNSUPPORTED, "jacobi makes no factors");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* Of a solver, before its set-up. */
static void TestForeseeInside(PoiseContext ctx)
{
  double entries = 0, flops = 0, norm = INFINITY;
  PoiseKSP ksp;
  PoiseVec x, b;
  PoisePC pc;
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  PoiseMat A = Grid(ctx, 9, 8, 7, 0.2);
  SetOptions(ctx, "-x_ksp_type preonly\n-x_pc_type lu\n-x_pc_factor_solver superlu");
  if (CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) && CHECK_OK(PoiseKSPCreate(ctx, &ksp))) {
    SampleFill(b, 3);
    CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "x_"));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(poisePCForesee(pc, &entries, &flops));
    CHECK(entries > 0 && flops > entries);
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &norm));
    CHECK_NEAR(norm, 0, 1e-10);
    PoiseKSPDestroy(&ksp);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* A grid, with so many zeros on its diagonal. */
static PoiseMat Hollow(PoiseContext ctx, PoiseInt zeros)
{
  PoiseMat A = Grid(ctx, 8, 7, 6, 0.2);
  PoiseInt begin = A->rows->begin, end = begin + A->rows->n;
  double zero = 0;
  for (PoiseInt i = begin; i < end && i < zeros; i++) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &i, &zero));
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static LUOrder OrderOf(PoisePC pc)
{
  const LU *lu = pc->data;
  return lu->sparse.facts.order;
}

/* Many zeros on the diagonal: rows are exchanged, and the order is for that. New values have an order that
   suits them, and so has the pattern of another matrix. */
static void TestOrders(PoiseContext ctx)
{
  static const PoiseInt zeros[] = {0, 100, 3, 100, 0};
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  PoisePC pc = NULL;
  for (int k = 0; k < 5; k++) {
    PoiseMat A = Hollow(ctx, zeros[k]), B = Grid(ctx, 5, 4, 3, 0.1);
    if (!pc) pc = Make(ctx, "lu", A, "-x_pc_factor_solver superlu");
    CHECK_OK(PoisePCSetOperator(pc, A));
    CHECK_NEAR(Residual(pc, A), 0, 1e-10);
    CHECK_INT(OrderOf(pc) == LU_BY_COLUMNS, zeros[k] == 100);
    if (k == 2) CHECK_OK(PoisePCSetOperator(pc, B));
    if (k == 2) CHECK_NEAR(Residual(pc, B), 0, 1e-12);
    CHECK_OK(PoisePCSetOperator(pc, A));
    CHECK_OK(PoisePCSetUp(pc));
    PoiseMatDestroy(&B);
    if (k == 4) PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* No order has half the entries of that of a line's points. */
static void TestOrderOfLine(PoiseContext ctx)
{
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  PoiseMat A = Grid(ctx, 40, 1, 1, 0.2);
  PoisePC pc = Make(ctx, "lu", A, "-x_pc_factor_solver superlu");
  CHECK_NEAR(Residual(pc, A), 0, 1e-12);
  CHECK_INT(OrderOf(pc), LU_AS_IT_IS);
  CHECK_NEAR(((const LU *)pc->data)->sparse.facts.foreseen.entries, 118, 0);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* Springs between the points of a square, of strengths that differ by many orders, some to the ground. */
static PoiseMat Springs(PoiseContext ctx, PoiseInt side)
{
  PoiseMat A;
  PoiseInt n = side * side, begin, m;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + m; i++) {
    const PoiseInt x = i % side, y = i / side;
    const PoiseInt to[] = {x > 0 ? i - 1 : -1, x + 1 < side ? i + 1 : -1, y > 0 ? i - side : -1,
                           y + 1 < side ? i + side : -1};
    double sum = i % 7 == 0;
    for (int k = 0; k < 4; k++) {
      if (to[k] < 0) continue;
      PoiseInt low = to[k] < i ? to[k] : i, high = to[k] < i ? i : to[k];
      double spring = pow(10, 6 * TestRandom(3, (uint64_t)(low * n + high))), v = -spring;
      sum += spring;
      if (!CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &to[k], &v))) return NULL;
    }
    if (!CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &sum))) return NULL;
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* A definite matrix has no row exchanges, however it is scaled: the entries are those that were foreseen. */
static void TestDefinite(PoiseContext ctx)
{
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  PoiseMat A = Springs(ctx, 40);
  PoisePC pc = Make(ctx, "lu", A, "-x_pc_factor_solver superlu");
  CHECK_OK(PoisePCSetUp(pc));
  const SparseFacts *facts = &((const LU *)pc->data)->sparse.facts;
  CHECK_NEAR(facts->entries, facts->foreseen.entries, 0.1 * facts->foreseen.entries); /* padded */
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* A cube, whose factors take much longer than its dissection. */
static void TestDissection(PoiseContext ctx)
{
  enum { SIDE = 16 };
  if (!poiseSuperLUIsThere() || !poiseMetisIsThere()) TEST_SKIP("no SuperLU, or no METIS");
  PoiseMat A = Grid(ctx, SIDE, SIDE, SIDE, 0.2);
  PoisePC pc = Make(ctx, "lu", A, "-x_pc_factor_solver superlu");
  CHECK_NEAR(Residual(pc, A), 0, 1e-12);
  CHECK_INT(OrderOf(pc), LU_BY_DISSECTION);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* The nodes of a path and of one without edges get places from 0 to n - 1. */
static void TestDissectionOfPaths(PoiseContext ctx)
{
  enum { N = 500 };
  if (!poiseMetisIsThere()) TEST_SKIP("no METIS");
  for (int edges = 0; edges < 2; edges++) {
    int64_t start[N + 1] = {0};
    int32_t adj[2 * N], to[N];
    bool seen[N] = {false};
    for (int i = 0, at = 0; i < N; i++, start[i] = at)
      for (int j = i - 1; edges && j <= i + 1; j += 2)
        if (j >= 0 && j < N) adj[at++] = j;
    Adjacency g = {.n = N, .start = start, .adj = adj};
    CHECK_OK(poiseMetisOrder(ctx, &g, to));
    int found = 0;
    for (int i = 0; i < N; i++)
      if (to[i] >= 0 && to[i] < N && !seen[to[i]]) seen[to[i]] = true, found++;
    CHECK_INT(found, N);
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Factors that do not fit are not begun; those of the same matrix, with more memory, are made. */
static void TestTooLarge(PoiseContext ctx)
{
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  if (!ctx->device->ops->is_host) TEST_SKIP("a limit of the host's memory");
  Device *dev = ctx->device;
  int64_t limit = dev->limit;
  PoiseMat A = Grid(ctx, 14, 14, 14, 0.2);
  PoisePC pc = Make(ctx, "lu", A, "-x_pc_factor_solver superlu");
  PoiseBarrier(ctx);
  dev->limit = dev->bytes + 1000000;
  CHECK_ERR_OF(PoisePCSetUp(pc), PoiseRank(ctx) == 0, POISE_ERR_MEMORY,
               "the factors of 2744 rows have about");
  dev->limit = limit;
  PoiseBarrier(ctx);
  CHECK_NEAR(Residual(pc, A), 0, 1e-12);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- cholesky -------------------------------------------------------------------------------- */

/* It solves; diagonals are dominant, so that the matrix is definite. */
static void TestCholesky(PoiseContext ctx)
{
  const Solvers of = SolversOf(ctx);
  static const PoiseInt sizes[] = {0, 1, 2, 31, 100};
  for (int k = 0; k < 5; k++)
    for (int layout = 0; layout < NLAYOUTS; layout++)
      for (int solver = 0; solver < of.n; solver++) {
        Shape s = ShapeOf(ctx, SYMMETRIC, layout, sizes[k]);
        s.diagonal = 40;
        PoiseMat A = Matrix(ctx, &s);
        PoisePC pc = Make(ctx, "cholesky", A, of.solver[solver]);
        CHECK_NEAR(Residual(pc, A), 0, 1e-12);
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
}

/* Row 7 has a zero on its diagonal, a negative number, or one that is too small beside the others. Then comes
   a definite matrix. */
static void TestIndefinite(PoiseContext ctx)
{
  const Solvers of = SolversOf(ctx);
  static const double values[] = {0, -3, 1e-3};
  enum { N = 30 };
  for (int solver = 0; solver < of.n; solver++)
    for (int k = 0; k < 3; k++) {
      Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, N), good = s;
      s.diagonal = good.diagonal = 40;
      s.weak = 7, s.value = values[k];
      PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &good);
      PoisePC pc = Make(ctx, "cholesky", A, of.solver[solver]);
      CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC,
                k < 2 && solver ? "the pivot of row 7 is" : "the matrix is not positive definite");
      CHECK_OK(PoisePCSetOperator(pc, B));
      CHECK_NEAR(Residual(pc, B), 0, 1e-12);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
      PoiseMatDestroy(&B);
    }
}

static void TestUnsymmetric(PoiseContext ctx)
{
  const Solvers of = SolversOf(ctx);
  for (int solver = 0; solver < of.n; solver++) {
    PoiseMat A = Grid(ctx, 3, 4, 5, 0.2);
    PoisePC pc = Make(ctx, "cholesky", A, of.solver[solver]);
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "the matrix is not symmetric: use lu");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Fill is what was foreseen; the condition is told. */
static void TestCholeskyFill(PoiseContext ctx)
{
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  PoiseMat A = Springs(ctx, 40);
  PoisePC pc = Make(ctx, "cholesky", A, "-x_pc_factor_solver superlu");
  double entries = 0, flops = 0;
  CHECK_OK(poisePCForesee(pc, &entries, &flops));
  CHECK_OK(PoisePCSetUp(pc));
  const SparseLU *lu = &((const LU *)pc->data)->sparse;
  double condition = PoiseRank(ctx) == 0 ? poiseSuperLUCondition(lu->factors) : 1e4;
  CHECK_NEAR(lu->facts.entries, entries, 0.05 * entries);
  CHECK(condition > 1e3 && condition < 1e20);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* In the blocks of bjacobi, on every rank: the block's own solve. */
static void TestInBlocks(PoiseContext ctx)
{
  const Solvers of = SolversOf(ctx);
  static const char *const types[] = {"lu", "cholesky"};
  for (int k = 0; k < 2; k++)
    for (int solver = 0; solver < of.n; solver++)
      for (PoiseInt n = 0; n < 90; n += 29) {
        Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, n);
        s.diagonal = 40;
        PoiseMat A = Matrix(ctx, &s);
        char options[100];
        snprintf(options, sizeof options, "-x_sub_pc_type %s\n-x_sub_%s", types[k], of.solver[solver] + 3);
        PoisePC pc = Make(ctx, "bjacobi", A, options);
        Dense d = DenseOf(&s, 0);
        for (int i = 0; i < d.m * d.m; i++) d.stored[i] = true;
        Eliminate(&d, 0);
        CHECK_NEAR(Difference(pc, SolveFactors, &d), 0, 1e-12);
        DenseFree(&d);
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
}

/* ---- the device's library -------------------------------------------------------------------- */

static const char library[] = "-x_pc_factor_solver cudss";

static void TestLibraryIsAbsent(PoiseContext ctx)
{
  if (HasLibrary(ctx)) TEST_SKIP("the device has a library that factors");
  bool cuda = !strcmp(ctx->device->ops->name, "cuda");
  PoiseMat A = Grid(ctx, 3, 4, 5, 0.2);
  PoisePC pc = Make(ctx, "lu", A, library);
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED,
            cuda ? "cuDSS was not found" : "cuDSS factors on device cuda, not on host: use superlu");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static const LibraryPlan *PlanOf(PoisePC pc)
{
  return &((const LU *)pc->data)->device.plan;
}

/* Row exchanges, all layouts, and stored blocks. */
static void TestLibrary(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 31, 100};
  if (!HasLibrary(ctx)) TEST_SKIP("no library that factors");
  for (int k = 0; k < 5; k++)
    for (int layout = 0; layout < NLAYOUTS; layout++)
      for (int kind = ANY; kind <= FULL; kind += FULL - ANY) {
        Shape s = ShapeOf(ctx, kind, layout, sizes[k]);
        PoiseMat A = Matrix(ctx, &s);
        PoisePC pc = Make(ctx, "lu", A, library);
        CHECK_NEAR(Residual(pc, A), 0, 1e-11);
        CHECK(PoiseRank(ctx) || (PlanOf(pc)->device != NULL) == (sizes[k] > 0));
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
  Problem p;
  if (!ProblemOpenGrid(ctx, 12, 9, 3, "preonly", "lu", &p)) return;
  CHECK_OK(PoiseMatSetType(p.A, "bcsr"));
  PoisePC pc = Make(ctx, "lu", p.A, library);
  CHECK_NEAR(Residual(pc, p.A), 0, 1e-12);
  PoisePCDestroy(&pc);
  ProblemClose(&p);
}

/* What was found out of a pattern is kept for new values, also for such as are far from 1, and not for
   another pattern or size. */
static void TestLibraryAgain(PoiseContext ctx)
{
  if (!HasLibrary(ctx)) TEST_SKIP("no library that factors");
  static const char *const types[] = {"lu", "cholesky"};
  for (int k = 0; k < 2; k++) {
    PoiseMat A = Grid(ctx, 5, 6, 7, 0), B = Grid(ctx, 7, 6, 5, 0), C = Grid(ctx, 3, 3, 4, 0);
    PoisePC pc = Make(ctx, types[k], A, library);
    double entries = 0, flops = 0, scale = 1;
    CHECK_OK(poisePCForesee(pc, &entries, &flops));
    CHECK(entries >= 5 * 210 && flops > 0);
    CHECK_NEAR(Residual(pc, A), 0, 1e-12);
    const void *plan = PlanOf(pc)->device;
    for (int power = -600; power <= 600; power += 400) {
      CHECK_OK(PoiseMatScale(A, ldexp(1, power) / scale));
      scale = ldexp(1, power);
      CHECK_NEAR(Residual(pc, A), 0, 1e-12);
      CHECK(PlanOf(pc)->device == plan);
    }
    const PoiseMat others[] = {B, C, B};
    for (int j = 0; j < 3; j++) {
      CHECK_OK(PoisePCSetOperator(pc, others[j]));
      CHECK_NEAR(Residual(pc, others[j]), 0, 1e-12);
    }
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
    PoiseMatDestroy(&C);
  }
}

/* In a solver: dots of z; replays, where a loop can be replayed. */
static void TestLibraryInSolver(PoiseContext ctx)
{
  if (!HasLibrary(ctx)) TEST_SKIP("no library that factors");
  PoiseMat A = Grid(ctx, 9, 8, 7, 0.2);
  PoisePC pc = Make(ctx, "lu", A, library);
  CHECK_OK(PoisePCSetUp(pc));
  CheckFusedApply(pc, !poisePCEager(pc));
  PoisePCDestroy(&pc);
  for (int k = 0; k < 2; k++) {
    Problem p;
    if (!ProblemOpen(A, &p)) return;
    double norm = INFINITY;
    SetOptions(ctx, "-x_pc_type lu\n-x_pc_factor_solver cudss\n-x_ksp_rtol 1e-10");
    SampleFill(p.b, 3);
    CHECK_OK(PoiseKSPSetOptionsPrefix(p.ksp, "x_"));
    CHECK_OK(PoiseKSPSetType(p.ksp, k ? "gmres" : "preonly"));
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_OK(PoiseKSPTrueResidual(p.ksp, p.b, p.x, &norm));
    CHECK_NEAR(norm, 0, 1e-10);
    CHECK(PoiseKSPIterations(p.ksp) <= 2);
    p.A = NULL;
    ProblemClose(&p);
  }
  PoiseMatDestroy(&A);
}

/* Pivots are 0 to rounding in a matrix of 1s; then comes another one. */
static void TestLibraryIsSingular(PoiseContext ctx)
{
  enum { N = 40 };
  if (!HasLibrary(ctx)) TEST_SKIP("no library that factors");
  Shape s = ShapeOf(ctx, FULL, EVEN, N);
  PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &s);
  double one = 1;
  for (PoiseInt i = s.begin; i < s.end; i++)
    for (PoiseInt j = 0; j < N; j++) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &one));
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = Make(ctx, "lu", A, library);
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC, "the matrix is singular, or wants row exchanges");
  CHECK_OK(PoisePCSetOperator(pc, B));
  CHECK_NEAR(Residual(pc, B), 0, 1e-11);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static PoiseErr MakeLibraryFactors(PoiseContext ctx, void *arg)
{
  PoisePC pc = NULL;
  PoiseMat A = arg;
  PoiseErr e = PoisePCCreate(ctx, &pc);
  if (!e) e = PoisePCSetType(pc, "lu");
  if (!e) e = PoisePCSetOptionsPrefix(pc, "x_");
  if (!e) e = PoisePCSetFromOptions(pc);
  if (!e) e = PoisePCSetOperator(pc, A);
  if (!e) e = PoisePCSetUp(pc);
  PoiseErr end = PoisePCDestroy(&pc);
  return e ? e : end;
}

static void TestLibraryWithoutMemory(PoiseContext ctx)
{
  if (strcmp(ctx->device->ops->name, "mock")) TEST_SKIP("the mock device's library");
  PoiseMat A = Grid(ctx, 3, 3, 3, 0.2);
  SetOptions(ctx, library);
  TestAllocationFailures(ctx, MakeLibraryFactors, A);
  PoiseMatDestroy(&A);
}

/* What is kept of a pattern serves no other values, and is made anew. */
static PoiseErr KeepsBadly(Device *dev, const DirectView *A, bool only, LibraryPlan *plan, DirectFacts *facts)
{
  extern const PCDevice poisePCDevice_mock;
  static const double zeros[4000];
  DirectView other = *A;
  if (plan->device) other.val = zeros;
  return poisePCDevice_mock.direct_plan(dev, A->nz > 4000 ? A : &other, only, plan, facts);
}

static void TestLibraryIsAskedAnew(PoiseContext ctx)
{
  if (strcmp(ctx->device->ops->name, "mock")) TEST_SKIP("the mock device's library");
  const DeviceOps *const is = ctx->device->ops;
  PCDevice pc_ops = *is->pc;
  DeviceOps ops = *is;
  PoiseMat A = Grid(ctx, 5, 6, 7, 0.2);
  pc_ops.direct_plan = KeepsBadly;
  ops.pc = &pc_ops;
  ctx->device->ops = &ops;
  PoisePC pc = Make(ctx, "lu", A, library);
  for (int k = 0; k < 3; k++) {
    CHECK_NEAR(Residual(pc, A), 0, 1e-12);
    CHECK_OK(PoiseMatShift(A, 1));
  }
  PoisePCDestroy(&pc);
  ctx->device->ops = is;
  PoiseMatDestroy(&A);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static PoiseErr NoLibrary(Device *dev)
{
  (void)dev;
  POISE_FAIL(POISE_ERR_UNSUPPORTED, "it is not on this rank");
}

static PoiseErr NoFactors(Device *dev, const DirectView *A, bool only, LibraryPlan *plan, DirectFacts *facts)
{
  (void)dev, (void)A, (void)only, (void)plan, (void)facts;
  POISE_FAIL(POISE_ERR_NUMERIC, "the library fails");
}

/* The library is taken unasked where all ranks have it; SuperLU where it fails, but not where it is named. */
static void TestGivesWay(PoiseContext ctx)
{
  if (!HasLibrary(ctx) || !poiseSuperLUIsThere()) TEST_SKIP("no library that factors, or no SuperLU");
  const DeviceOps *const is = ctx->device->ops;
  PCDevice pc_ops = *is->pc;
  DeviceOps ops = *is;
  PoiseMat A = Grid(ctx, 6, 7, 5, 0.2);
  pc_ops.direct_unasked = true;
  ops.pc = &pc_ops;
  ctx->device->ops = &ops;
  for (int k = 0; k < 3; k++) {
    if (k == 1 && PoiseRank(ctx) == PoiseSize(ctx) - 1) pc_ops.direct_find = NoLibrary;
    if (k == 2) pc_ops.direct_find = is->pc->direct_find, pc_ops.direct_plan = NoFactors;
    PoisePC pc = Make(ctx, "lu", A, "-x_pc_lu_max_size 100\n-x_pc_factor_solver auto");
    double entries = 0, flops = 0;
    CHECK_OK(poisePCForesee(pc, &entries, &flops));
    CHECK(entries > 0);
    CHECK_NEAR(Residual(pc, A), 0, 1e-12);
    CHECK(((const LU *)pc->data)->how == (k ? &poiseLU_sparse : &poiseLU_device));
    PoisePCDestroy(&pc);
  }
  PoisePC pc = Make(ctx, "lu", A, library);
  CHECK_ERR_OF(PoisePCSetUp(pc), PoiseRank(ctx) == 0, POISE_ERR_NUMERIC, "the library fails");
  PoisePCDestroy(&pc);
  ctx->device->ops = is;
  PoiseMatDestroy(&A);
}

/* ---- singular matrices ----------------------------------------------------------------------- */

enum { ORDER = 24, SINGULAR_KINDS = 5 };

/* An arrow without its diagonal; rows that share few columns; a numerically singular matrix: of rank 1, the
   Laplacian of a ring, two equal rows. All but the first two have a full diagonal. */
static double SingularEntry(int kind, PoiseInt i, PoiseInt j)
{
  PoiseInt apart = (i - j + ORDER) % ORDER;
  if (kind == 0) return i != j && (i == 0 || j == 0);
  if (kind == 1) return j < 5 ? 1 + TestRandom(1, (uint64_t)(i * ORDER + j)) : i < 5 && i != j;
  if (kind == 2) return (double)(i + 1) * (double)(j + 1);
  if (kind == 3) return apart == 0 ? 2 : apart == 1 || apart == ORDER - 1 ? -1 : 0;
  return 3 * (i == j) + TestRandom(2, (uint64_t)((i == 7 ? 8 : i) * ORDER + j)) + 3 * (i == 7 && j == 8) +
         3 * (i == 8 && j == 7);
}

static PoiseMat SingularMatrix(PoiseContext ctx, int kind, int block)
{
  PoiseMat A;
  PoiseInt begin, m;
  PoiseSplit(ctx, ORDER / block, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m * block, m * block, ORDER, ORDER, &A))) return NULL;
  for (PoiseInt i = begin * block; i < (begin + m) * block; i++)
    for (PoiseInt j = 0; j < ORDER; j++) {
      double v = SingularEntry(kind, i, j);
      if (v != 0) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  if (block > 1) CHECK_OK(PoiseMatSetBlockSize(A, block));
  if (block > 1) CHECK_OK(PoiseMatSetType(A, "bcsr"));
  return A;
}

/* An error, and not a word of BLAS or SuperLU. */
static void TestSingularIsSilent(PoiseContext ctx)
{
  const Solvers of = SolversOf(ctx);
  FILE *f = tmpfile();
  fflush(stdout);
  fflush(stderr);
  int saved[] = {dup(1), dup(2)};
  dup2(fileno(f), 1);
  dup2(fileno(f), 2);
  for (int kind = 0; kind < SINGULAR_KINDS; kind++)
    for (int block = 1; block < 4; block += 2)
      for (int solver = 1; solver < of.n; solver++) {
        PoiseMat A = SingularMatrix(ctx, kind, block);
        PoisePC pc = Make(ctx, "lu", A, of.solver[solver]);
        PoiseErr e = PoisePCSetUp(pc);
        if (kind < 2)
          CHECK_ERR(e, POISE_ERR_NUMERIC, "structurally singular: rows ");
        else if (e) /* rounding may hide it */
          CHECK_ERR(e, POISE_ERR_NUMERIC, "singular");
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
  fflush(stdout);
  fflush(stderr);
  for (int k = 0; k < 2; k++) dup2(saved[k], k + 1), close(saved[k]);
  CHECK_INT(lseek(fileno(f), 0, SEEK_END), 0);
  fclose(f);
}

static const Test tests[] = {{"counts", TestCounts, TEST_SERIAL},
                             {"bound_is_met", TestBoundIsMet, TEST_SERIAL},
                             {"foresee", TestForesee, 0},
                             {"foresee_others", TestForeseeOthers, 0},
                             {"foresee_inside", TestForeseeInside, 0},
                             {"orders", TestOrders, 0},
                             {"order_of_line", TestOrderOfLine, 0},
                             {"definite", TestDefinite, 0},
                             {"dissection", TestDissection, 0},
                             {"dissection_of_paths", TestDissectionOfPaths, TEST_SERIAL},
                             {"too_large", TestTooLarge, 0},
                             {"cholesky", TestCholesky, 0},
                             {"indefinite", TestIndefinite, 0},
                             {"unsymmetric", TestUnsymmetric, 0},
                             {"cholesky_fill", TestCholeskyFill, 0},
                             {"in_blocks", TestInBlocks, 0},
                             {"library_is_absent", TestLibraryIsAbsent, 0},
                             {"library", TestLibrary, 0},
                             {"library_again", TestLibraryAgain, 0},
                             {"library_in_solver", TestLibraryInSolver, 0},
                             {"library_is_singular", TestLibraryIsSingular, 0},
                             {"library_without_memory", TestLibraryWithoutMemory, 0},
                             {"library_is_asked_anew", TestLibraryIsAskedAnew, 0},
                             {"gives_way", TestGivesWay, 0},
                             {"singular_is_silent", TestSingularIsSilent, TEST_SERIAL},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_direct", tests);
}

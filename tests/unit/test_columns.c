/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Several columns at once: wide vectors, products and solves, each against the same work on one column after
  the other. Bits are equal where kernels are the host's; on GPUs dots of wide vectors are added in another
  order, and answers are judged by what they should be.
*/
#include "ksp/ksp.h"
#include "pc/amg/amg.h"
#include "pc/lu.h"
#include "pc/pc_device.h"
#include "problem.h"
#include "shapes.h"

static const int counts[] = {1, 2, 3, 7, 8, 17, 32};
enum { COUNTS = sizeof counts / sizeof *counts, MOST = 32 };

static bool SameBits(PoiseContext ctx)
{
  return !poiseModelIsGpu(&ctx->device->model) || !ctx->device->ops->owns;
}

/* Entry i of column j. */
static double ValueOf(PoiseInt i, int j)
{
  return TestRandom(17 + (uint64_t)j, (uint64_t)i);
}

static void FillColumns(PoiseVec X)
{
  double *p;
  PoiseInt begin, end;
  int k = PoiseVecColumns(X);
  PoiseVecRange(X, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(X, &p))) return;
  for (PoiseInt i = begin; i < end; i++)
    for (int j = 0; j < k; j++) p[(i - begin) * k + j] = ValueOf(i, j);
  CHECK_OK(PoiseVecRestore(X, &p));
}

/* The largest |difference| of column j of X and x, over all ranks; NaN counts as equal to NaN. */
static double DifferenceOf(PoiseVec X, int j, PoiseVec x)
{
  const double *p, *q;
  double most = 0;
  int k = PoiseVecColumns(X);
  if (!CHECK_OK(PoiseVecGetRead(X, &p)) || !CHECK_OK(PoiseVecGetRead(x, &q))) return NAN;
  for (PoiseInt i = 0; i < PoiseVecLocalSize(x); i++) {
    double a = p[i * k + j], b = q[i];
    if (isnan(a) && isnan(b)) continue;
    most = fmax(most, isnan(a) || isnan(b) ? INFINITY : fabs(a - b));
  }
  CHECK_OK(PoiseVecRestore(X, &p));
  CHECK_OK(PoiseVecRestore(x, &q));
  CHECK_OK(PoiseMax(PoiseVecContext(x), 1, &most));
  return most;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void TestVectors(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 7, 1024, 3000};
  for (int s = 0; s < 5; s++)
    for (int c = 0; c < COUNTS; c++) {
      PoiseVec X, Y, x;
      int k = counts[c];
      double dots[MOST], norms[MOST], dot, norm;
      PoiseInt n;
      if (!CHECK_OK(PoiseVecCreateBlock(ctx, POISE_DECIDE, sizes[s], k, &X))) return;
      CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, sizes[s], &x));
      CHECK_OK(PoiseVecDuplicate(X, &Y));
      CHECK_INT(PoiseVecColumns(X), k);
      CHECK_INT(PoiseVecColumns(Y), k);
      CHECK_INT(PoiseVecColumns(x), 1);
      CHECK_INT(PoiseVecSize(X), sizes[s]);
      n = PoiseVecLocalSize(X);
      FillColumns(X);
      CHECK_OK(PoiseVecAXPY(Y, 2, X));
      CHECK_OK(PoiseVecColumnDots(X, Y, dots));
      CHECK_OK(PoiseVecColumnNorms(X, norms));
      for (int j = 0; j < k; j++) {
        CHECK_OK(PoiseVecGetColumn(X, j, x));
        CHECK_NEAR(DifferenceOf(X, j, x), 0, 0);
        CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
        CHECK_OK(PoiseVecDot(x, x, &dot));
        CHECK_NEAR(norms[j], norm, SameBits(ctx) ? 0 : 1e-14 * norm);
        CHECK_NEAR(dots[j], 2 * dot, SameBits(ctx) ? 0 : 4e-14 * dot);
        CHECK_OK(PoiseVecScale(x, -3));
        CHECK_OK(PoiseVecSetColumn(Y, j, x));
      }
      CHECK_OK(PoiseVecAXPY(Y, 3, X));
      CHECK_OK(PoiseVecColumnNorms(Y, norms));
      for (int j = 0; j < k; j++) CHECK_NEAR(norms[j], 0, 0);
      /* by columns, with room between them */
      double *array = calloc((size_t)((n + 3) * k + 1), sizeof *array);
      if (!CHECK(array)) return;
      CHECK_OK(PoiseVecGetColumns(X, n + 3, array));
      CHECK_OK(PoiseVecSetColumns(Y, n + 3, array));
      CHECK_OK(PoiseVecAXPY(Y, -1, X));
      CHECK_OK(PoiseVecColumnNorms(Y, norms));
      for (int j = 0; j < k; j++) CHECK_NEAR(norms[j], 0, 0);
      free(array);
      CHECK_OK(PoiseVecDestroy(&X));
      CHECK_OK(PoiseVecDestroy(&Y));
      CHECK_OK(PoiseVecDestroy(&x));
    }
}

/* Squares that under- and overflow, in one column beside others. */
static void TestNorms(PoiseContext ctx)
{
  PoiseVec X, x;
  double norms[3];
  if (!CHECK_OK(PoiseVecCreateBlock(ctx, POISE_DECIDE, 50, 3, &X))) return;
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 50, &x));
  static const double values[] = {1e-200, 1, 1e200};
  for (int j = 0; j < 3; j++) {
    SampleConstant(x, values[j]);
    CHECK_OK(PoiseVecSetColumn(X, j, x));
  }
  CHECK_OK(PoiseVecColumnNorms(X, norms));
  for (int j = 0; j < 3; j++) CHECK_NEAR(norms[j], sqrt(50) * values[j], 1e-13 * norms[j]);
  CHECK_OK(PoiseVecDestroy(&X));
  CHECK_OK(PoiseVecDestroy(&x));
}

static void TestErrors(PoiseContext ctx)
{
  PoiseVec X = NULL, Y = NULL, x = NULL, y = NULL;
  PoiseMat A = NULL;
  PoiseInt row = 0;
  double v = 1, dot, *none = NULL;
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  CHECK_ERR(PoiseVecCreateBlock(ctx, POISE_DECIDE, 9, 0, &X), POISE_ERR_ARG, "0 columns");
  CHECK_ERR(PoiseVecCreateBlock(ctx, POISE_DECIDE, 9, -2, &X), POISE_ERR_ARG, "-2 columns");
  CHECK_ERR(PoiseVecCreateBlock(ctx, POISE_DECIDE, 9, 33, &X), POISE_ERR_ARG, "33 columns");
  if (PoiseSize(ctx) > 1)
    CHECK_ERR(PoiseVecCreateBlock(ctx, POISE_DECIDE, 9, last ? 2 : 3, &X), POISE_ERR_ARG, "asks for");
  CHECK(!X);
  CHECK_ERR_OF(
      PoiseVecCreateBlockArray(ctx, 3, POISE_DECIDE, 2, last ? none : (double[6]){0}, POISE_COPY, &X), last,
      POISE_ERR_ARG, "array of 6 entries is NULL");
  CHECK_OK(PoiseVecCreateBlock(ctx, POISE_DECIDE, 40, 3, &X));
  CHECK_OK(PoiseVecCreateBlock(ctx, POISE_DECIDE, 40, 2, &Y));
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 40, &x));
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 41, &y));
  CHECK_OK(ScaledLaplacian(ctx, 8, 5, 1, &A));
  CHECK_ERR(PoiseVecAXPY(X, 1, Y), POISE_ERR_SIZE, "3 columns, x has 2");
  CHECK_ERR(PoiseVecDot(X, X, &dot), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecNorm(X, POISE_NORM_INF, &dot), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecSumEntries(X, &dot), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecMDot(X, 1, &X, &dot), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecAddValues(X, 1, &row, &v), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecAssemble(X), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecGetValues(X, 1, &row, &v), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecSave(X, "never.mtx"), POISE_ERR_ARG, "3 columns");
  CHECK_ERR(PoiseVecGetColumn(X, 3, x), POISE_ERR_ARG, "no column 3");
  CHECK_ERR(PoiseVecSetColumn(X, -1, x), POISE_ERR_ARG, "no column -1");
  SampleMismatch(PoiseVecGetColumn(X, 0, y), true, POISE_ERR_SIZE, "40 rows");
  CHECK_ERR(PoiseVecGetColumn(X, 0, Y), POISE_ERR_ARG, "2 columns");
  CHECK_ERR(PoiseMatMult(A, X, Y), POISE_ERR_SIZE, "columns");
  CHECK_ERR(PoiseMatMultBlock(A, X, Y), POISE_ERR_SIZE, "X has 3 columns, Y has 2");
  CHECK_ERR(PoiseMatMultBlock(A, X, X), POISE_ERR_ARG, "same vector");
  CHECK_OK(PoiseVecDestroy(&X));
  CHECK_OK(PoiseVecDestroy(&Y));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- products -------------------------------------------------------------------------------- */

#define MAT_TYPE(name) #name,
static const char *const types[] = {
#include "mat/types.def"
};
#undef MAT_TYPE
enum { TYPES = sizeof types / sizeof *types };

static void Products(PoiseMat A, const char *type, int k, bool nan)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseVec X, Y, x, y;
  PoiseInt n, N;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  n = PoiseVecLocalSize(x), N = PoiseVecSize(x);
  if (!CHECK_OK(PoiseVecCreateBlock(ctx, n, N, k, &X))) return;
  CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(y), PoiseVecSize(y), k, &Y));
  FillColumns(X);
  if (nan) {
    SampleConstant(x, NAN);
    CHECK_OK(PoiseVecSetColumn(X, k / 2, x));
  }
  CHECK_OK(PoiseVecSet(Y, NAN)); /* which a product overwrites */
  if (CHECK_OK(PoiseMatMultBlock(A, X, Y)))
    for (int j = 0; j < k; j++) {
      CHECK_OK(PoiseVecGetColumn(X, j, x));
      CHECK_OK(PoiseMatMult(A, x, y));
      double most = DifferenceOf(Y, j, y);
      if (!(most <= (SameBits(ctx) ? 0 : 1e-13)))
        printf("%s, %d columns: %g in column %d\n", type, k, most, j);
      CHECK(most <= (SameBits(ctx) ? 0 : 1e-13));
    }
  CHECK_OK(PoiseVecDestroy(&X));
  CHECK_OK(PoiseVecDestroy(&Y));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
}

static void TestProducts(PoiseContext ctx)
{
  for (int t = 0; t < TYPES; t++)
    for (int c = 0; c < COUNTS; c++) {
      PoiseMat A;
      if (!CHECK_OK(ScaledLaplacian(ctx, 36, 30, 3, &A))) return;
      if (PoiseMatSetType(A, types[t])) { /* no conversion to it */
        PoiseErrorClear();
      } else {
        Products(A, types[t], counts[c], false);
        if (counts[c] > 1) Products(A, types[t], counts[c], true);
      }
      CHECK_OK(PoiseMatDestroy(&A));
    }
}

static void TestTransposed(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec X, Y, x, y;
  if (!CHECK_OK(ScaledLaplacian(ctx, 36, 30, 1, &A))) return;
  CHECK_OK(PoiseMatCreateVecs(A, &y, &x));
  CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(x), PoiseVecSize(x), 5, &X));
  CHECK_OK(PoiseVecDuplicate(X, &Y));
  FillColumns(X);
  CHECK_OK(PoiseMatMultTransposeBlock(A, X, Y));
  for (int j = 0; j < 5; j++) {
    CHECK_OK(PoiseVecGetColumn(X, j, x));
    CHECK_OK(PoiseMatMultTranspose(A, x, y));
    CHECK(DifferenceOf(Y, j, y) <= (SameBits(ctx) ? 0 : 1e-13));
  }
  CHECK_OK(PoiseVecDestroy(&X));
  CHECK_OK(PoiseVecDestroy(&Y));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- solves ---------------------------------------------------------------------------------- */

typedef struct Several {
  Problem p;
  PoiseVec B, X, guess; /* guess: NULL: none */
  int k, zero, nan;     /* columns that are 0, and NaN; -1: none */
  double rtol;
} Several;

/* Columns that take different numbers of iterations: smooth and rough ones, a solution of few vectors. */
static void FillRightSides(Several *s)
{
  PoiseInt begin, end;
  double *p;
  PoiseVecRange(s->p.b, &begin, &end);
  for (int j = 0; j < s->k; j++) {
    if (!CHECK_OK(PoiseVecGetWrite(s->p.b, &p))) return;
    for (PoiseInt i = begin; i < end; i++) {
      p[i - begin] = j % 3 == 0 ? ValueOf(i, j) : j % 3 == 1 ? 1 + 1e-3 * ValueOf(i, j) : i == 7 * j;
      if (j == s->zero) p[i - begin] = 0;
      if (j == s->nan && i == 3) p[i - begin] = NAN;
    }
    CHECK_OK(PoiseVecRestore(s->p.b, &p));
    CHECK_OK(PoiseVecSetColumn(s->B, j, s->p.b));
  }
}

static bool OpenSeveral(PoiseContext ctx, int k, const char *method, const char *pc, Several *s)
{
  *s = (Several){.k = k, .zero = k > 2 ? 2 : -1, .nan = k > 3 ? 3 : -1, .rtol = 1e-8};
  if (!ProblemOpenGrid(ctx, 36, 30, 3, method, pc, &s->p)) return false;
  PoiseInt n = PoiseVecLocalSize(s->p.b), N = PoiseVecSize(s->p.b);
  if (!CHECK_OK(PoiseVecCreateBlock(ctx, n, N, k, &s->B)) || !CHECK_OK(PoiseVecDuplicate(s->B, &s->X)))
    return false;
  FillRightSides(s);
  CHECK_OK(PoiseKSPSetTolerances(s->p.ksp, s->rtol, -1, -1, 200));
  CHECK_OK(PoiseKSPKeepHistory(s->p.ksp, 1));
  return true;
}

static void CloseSeveral(Several *s)
{
  CHECK_OK(PoiseVecDestroy(&s->B));
  CHECK_OK(PoiseVecDestroy(&s->X));
  CHECK_OK(PoiseVecDestroy(&s->guess));
  ProblemClose(&s->p);
}

/* System j, as it was solved with the others, against its own solve. */
static void CompareSystem(Several *s, int j, const char *what)
{
  PoiseKSP ksp = s->p.ksp;
  PoiseContext ctx = PoiseKSPContext(ksp);
  PoiseInt its = PoiseKSPColumnIterations(ksp, j), count, alone;
  PoiseKSPReason reason = PoiseKSPColumnReason(ksp, j);
  const double *norms, *own;
  CHECK_OK(PoiseKSPColumnHistory(ksp, j, &count, &norms));
  CHECK_OK(PoiseVecGetColumn(s->B, j, s->p.b));
  double start = NormOf(s->p.b); /* what tolerances may refer to */
  if (s->guess) {
    CHECK_OK(PoiseVecGetColumn(s->guess, j, s->p.x));
    start = fmax(start, ProblemResidual(&s->p));
  }
  if (!CHECK_OK(PoiseKSPSolve(ksp, s->p.b, s->p.x))) return;
  CHECK_OK(PoiseKSPHistory(ksp, &alone, &own));
  bool same = reason == PoiseKSPConvergedReason(ksp),
       rounds = strstr(what, "pbjacobi") || strstr(what, "with lu");
  if (SameBits(ctx) && !rounds) { /* dots of pbjacobi are of whole nodes; BLAS of SuperLU */
    same = same && its == PoiseKSPIterations(ksp) && count == alone &&
           (j == s->nan || DifferenceOf(s->X, j, s->p.x) == 0);
    for (PoiseInt i = 0; i < count && i < alone && j != s->nan; i++) same = same && norms[i] == own[i];
  } else if (!strncmp(what, "preonly", 7)) { /* x is no solution, but M^-1 b */
    same = same && (j == s->nan || DifferenceOf(s->X, j, s->p.x) <= 1e-12 * NormOf(s->p.x));
  } else if (reason > 0) {
    CHECK_OK(PoiseVecGetColumn(s->X, j, s->p.x));
    same = same && ProblemResidual(&s->p) <= 100 * (s->rtol * start + 1e-50) &&
           llabs(its - PoiseKSPIterations(ksp)) <= 2 + its / 10;
  }
  if (!same)
    printf("%s, system %d of %d: %s after %lld iterations, alone %s after %lld\n", what, j, s->k,
           PoiseKSPReasonString(reason), (long long)its, PoiseKSPReasonString(PoiseKSPConvergedReason(ksp)),
           (long long)PoiseKSPIterations(ksp));
  CHECK(same);
}

static void Solves(PoiseContext ctx, int k, const char *method, const char *pc)
{
  Several s;
  char what[80];
  snprintf(what, sizeof what, "%s with %s", method, pc);
  if (!OpenSeveral(ctx, k, method, pc, &s)) return;
  if (CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X)))
    for (int j = 0, step = k > 8 ? 5 : 1; j < k; j += step) CompareSystem(&s, j, what);
  /* once more, with what there is */
  CHECK_OK(PoiseVecSet(s.X, 0));
  if (CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X))) CompareSystem(&s, 0, what);
  CloseSeveral(&s);
}

static void TestMethods(PoiseContext ctx)
{
  static const char *const methods[] = {"cg",         "prcg",  "minres", "bicgstab", "chebyshev",
                                        "richardson", "tfqmr", "cgs",    "gmres",    "fgmres"};
  for (int m = 0; m < 10; m++)
    for (int c = 0; c < COUNTS; c++)
      if (m == 0 || counts[c] == (m % 2 ? 3 : 8)) Solves(ctx, counts[c], methods[m], "jacobi");
}

static void TestPreconditioners(PoiseContext ctx)
{
  static const char *const pcs[] = {"none", "pbjacobi", "ilu", "icc", "sor", "bjacobi", "lu", "amg", "ksp"};
  for (int m = 0; m < 9; m++) {
    const char *method = m == 8 ? "fgmres" : "cg";
    Solves(ctx, m % 2 ? 3 : 8, method, pcs[m]);
  }
  Solves(ctx, 8, "preonly", "ilu");
  Solves(ctx, 3, "preonly", "lu");
}

/* On several ranks a third of all cases: 2, 3 and 7 have another one each. */
static bool InTurn(PoiseContext ctx, size_t k)
{
  size_t size = (size_t)PoiseSize(ctx);
  return size == 1 || (k + size) % 3 == 0;
}

/* The cycle of amg with levels of ranks, with one that every rank holds, and with all of them so; new values,
   with aggregates anew. */
static void TestMultigrid(PoiseContext ctx)
{
  static const char *const options[] = {
      "-pc_amg_redundant_size 0 -pc_amg_coarse_size 20",
      "-pc_amg_redundant_size 200 -pc_amg_coarse_size 20",
      "-pc_amg_redundant_size 100000 -pc_amg_coarse_size 20",
      "-pc_amg_redundant_size 200 -pc_amg_degree 2",
      "-pc_amg_redundant_size 0 -pc_amg_smoother isai",
      "-pc_amg_precision double",
      "-pc_amg_precision double -pc_amg_redundant_size 0 -pc_amg_coarse_size 20",
      "-pc_amg_precision double -pc_amg_redundant_size 200 -pc_amg_coarse_size 20 -pc_amg_degree 2",
      "-pc_amg_precision double -pc_amg_redundant_size 100000 -pc_amg_coarse_size 20",
      "-pc_amg_precision double -pc_amg_redundant_size 200 -pc_amg_smoother isai",
      "-pc_amg_cycle w -pc_amg_redundant_size 0 -pc_amg_coarse_size 20",
      "-pc_amg_cycle w -pc_amg_redundant_size 200 -pc_amg_coarse_size 20",
      "-pc_amg_cycle v -pc_amg_redundant_size 200 -pc_amg_coarse_size 20 -pc_amg_smoother sor",
  };
  for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
    Several s;
    if (!InTurn(ctx, o)) continue;
    SetOptions(ctx, options[o]);
    if (!OpenSeveral(ctx, o % 2 ? 8 : 3, "cg", "amg", &s)) return;
    CHECK_OK(PoiseKSPSetFromOptions(s.p.ksp));
    CHECK_OK(PoisePCSetType(s.p.pc, "amg"));
    for (int turn = 0; turn < 3; turn++) {
      CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
      CHECK(!s.p.pc->column[0] == !strstr(options[o], " sor"));
      /* one by one */ /* which goes column by column */
      for (int j = 0; j < (turn ? 1 : s.k); j++) CompareSystem(&s, j, options[o]);
      if (turn == 0) CHECK_OK(PoiseMatScale(s.p.A, 2));
      if (turn == 1) CHECK_OK(PoisePCSetType(s.p.pc, "none"));
      if (turn == 1) CHECK_OK(PoisePCSetType(s.p.pc, "amg"));
      if (turn == 1) CHECK_OK(PoisePCSetFromOptions(s.p.pc));
    }
    CloseSeveral(&s);
  }
}

/* z = M r of all columns at once, against M of each. Where a column has NaN, z has NaN at the same places. */
static void CompareApplications(Problem *p, PoiseVec R, double rtol, const char *what)
{
  PoiseContext ctx = PoiseVecContext(R);
  PoiseVec Z;
  int k = PoiseVecColumns(R);
  if (!CHECK_OK(PoiseVecDuplicate(R, &Z))) return;
  CHECK_OK(PoiseAgree(ctx, poisePCReadyColumns(p->pc, k)));
  CHECK_OK(PoiseAgree(ctx, poisePCApplyFuse(p->pc, R, Z, NULL, NULL)));
  for (int j = 0; j < k; j++) {
    CHECK_OK(PoiseVecGetColumn(R, j, p->b));
    CHECK_OK(PoisePCApply(p->pc, p->b, p->x));
    double norm = NormOf(p->x), difference = DifferenceOf(Z, j, p->x);
    bool same = isfinite(norm) && rtol > 0 ? difference <= rtol * norm
                : rtol > 0                 ? isfinite(difference)
                                           : difference == 0;
    if (!CHECK(same)) printf("%s, column %d of %d: %g of %g\n", what, j, k, difference, norm);
  }
  CHECK_OK(PoiseVecDestroy(&Z));
}

/* Of k columns. */
static void ApplyColumns(Problem *p, int k, double rtol, const char *what)
{
  PoiseVec R;
  if (!CHECK_OK(
          PoiseVecCreateBlock(PoiseKSPContext(p->ksp), PoiseVecLocalSize(p->b), PoiseVecSize(p->b), k, &R)))
    return;
  FillColumns(R);
  CompareApplications(p, R, rtol, what);
  CHECK_OK(PoiseVecDestroy(&R));
}

/* A NaN in one column, of the bits that a GPU takes for a value that is not there yet. */
static void SpoilColumn(PoiseVec X, int column)
{
  const uint64_t ones = UINT64_MAX;
  PoiseInt n = PoiseVecLocalSize(X);
  double *p;
  if (!CHECK_OK(PoiseVecGetUpdate(X, &p))) return;
  if (n) memcpy(p + n / 2 * PoiseVecColumns(X) + column, &ones, sizeof ones);
  CHECK_OK(PoiseVecRestore(X, &p));
}

/* b: of the blocks of the matrix, where they are not numbers. spoils: with a NaN too */
static void Applies(PoiseContext ctx, const char *options, int b, int k, bool spoils)
{
  Problem p;
  PoiseVec R;
  char what[120];
  snprintf(what, sizeof what, "%s, b = %d", options, b);
  SetOptions(ctx, options);
  if (!ProblemOpenGrid(ctx, 13, 4 * b, b, "bicgstab", "none", &p)) return;
  if (b > 1) CHECK_OK(PoiseMatSetType(p.A, "bcsr"));
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  if (!CHECK_OK(PoiseKSPSetUp(p.ksp))) return;
  double rtol = strstr(options, "superlu") ? 1e-11 : SameBits(ctx) ? 0 : 1e-13; /* its BLAS rounds */
  CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(p.b), PoiseVecSize(p.b), k, &R));
  FillColumns(R);
  CompareApplications(&p, R, rtol, what);
  if (spoils) {
    SpoilColumn(R, k / 2);
    CompareApplications(&p, R, rtol, what);
  }
  CHECK_OK(PoiseVecDestroy(&R));
  ProblemClose(&p);
}

static void TestApplications(PoiseContext ctx)
{
  static const char *const options[] = {
      "-pc_type jacobi",
      "-pc_type pbjacobi",
      "-pc_type ilu",
      "-pc_type ilu -pc_factor_levels 2",
      "-pc_type ilu -pc_factor_levels 0 -pc_factor_sweeps 3",
      "-pc_type icc -pc_factor_sweeps 0",
      "-pc_type ilut",
      "-pc_type ilut -pc_factor_pivoting 0.5",
      "-pc_type ict -pc_factor_pivoting 0",
      "-pc_type sor",
      "-pc_type sor -pc_sor_forward -pc_sor_omega 1.3",
      "-pc_type sor -pc_sor_forward no -pc_sor_backward -pc_sor_lits 2",
      "-pc_type sor -pc_sor_backward no -pc_sor_its 2 -pc_sor_omega 0.8",
      "-pc_type bjacobi",
      "-pc_type bjacobi -pc_bjacobi_local_blocks 2 -sub_pc_type sor",
      "-pc_type bjacobi -sub_pc_type lu",
      "-pc_type lu",
      "-pc_type cholesky",
      "-pc_type bjacobi -pc_bjacobi_local_blocks 0 -pc_bjacobi_supervariables 3",
  };
  static const int sizes[] = {1, 2, 3, 5};
  for (size_t o = 0; o < sizeof options / sizeof *options; o++)
    for (int b = 0; b < 4; b++)
      for (int c = 0; c < COUNTS; c++)
        if (counts[c] > 1) Applies(ctx, options[o], sizes[b], counts[c], true);
}

enum { BAND_ROWS = 300 };

/* Row i has the columns from i - width to i + width. */
static PoiseErr Band(PoiseContext ctx, PoiseInt width, PoiseMat *A)
{
  PoiseInt begin, n, column[BAND_ROWS];
  double value[BAND_ROWS];
  PoiseSplit(ctx, BAND_ROWS, &begin, &n);
  POISE_TRY(PoiseMatCreate(ctx, n, n, BAND_ROWS, BAND_ROWS, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = begin; !e && i < begin + n; i++) {
    int count = 0;
    for (PoiseInt j = i > width ? i - width : 0; j <= i + width && j < BAND_ROWS; j++) {
      value[count] = j == i ? (double)(2 * width) : TestRandom((uint64_t)i, (uint64_t)j);
      column[count++] = j;
    }
    e = PoiseMatAddBlock(*A, 1, &i, count, column, value);
  }
  return e ? e : PoiseMatAssemble(*A);
}

/* Rows of all lengths. On a GPU the longer ones are shared by several lanes of each column. */
static void TestLongRows(PoiseContext ctx)
{
  static const char *const pcs[] = {"ilu", "sor"};
  static const PoiseInt widths[] = {4, 8, 20, 60, 200};
  for (int w = 0; w < 10; w++) {
    Problem p;
    PoiseMat A;
    char what[80];
    snprintf(what, sizeof what, "%s, band of %lld", pcs[w % 2], (long long)widths[w / 2]);
    if (!CHECK_OK(Band(ctx, widths[w / 2], &A)) || !ProblemOpen(A, &p)) return;
    CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
    CHECK_OK(PoisePCSetType(p.pc, pcs[w % 2]));
    if (!CHECK_OK(PoiseKSPSetUp(p.ksp))) return;
    for (int c = 1; c < COUNTS; c++) {
      PoiseVec R;
      if (!CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(p.b), BAND_ROWS, counts[c], &R))) return;
      FillColumns(R);
      CompareApplications(&p, R, SameBits(ctx) ? 0 : 1e-13, what);
      CHECK_OK(PoiseVecDestroy(&R));
    }
    ProblemClose(&p);
  }
}

/* Sparse factors, and those that amg has at the bottom. */
static void TestSparseFactors(PoiseContext ctx)
{
  static const char *const options[] = {"-pc_type lu -pc_factor_solver superlu",
                                        "-pc_type cholesky -pc_factor_solver superlu",
                                        "-pc_type bjacobi -sub_pc_type lu -sub_pc_factor_solver superlu"};
  Problem p;
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  for (int o = 0; o < 3; o++)
    for (int b = 1; b < 4; b += 2)
      for (int c = 0; c < COUNTS; c++)
        if (counts[c] > 1) Applies(ctx, options[o], b, counts[c], false);
  if (PoiseSize(ctx) > 2) return; /* the rest takes long */
  SetOptions(ctx, "-pc_type amg -pc_amg_coarse_size 9000 -pc_amg_redundant_size 0");
  if (!ProblemOpenGrid(ctx, 220, 200, 1, "cg", "none", &p)) return;
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  if (!CHECK_OK(PoiseKSPSetUp(p.ksp))) return;
  CHECK(((const Amg *)p.pc->data)->bottom.sparse != NULL);
  for (int k = 2; k < 9; k += 6) ApplyColumns(&p, k, 1e-5, "sparse bottom");
  ProblemClose(&p);
}

/* Of an A that is not symmetric amg has a W cycle and factors at the bottom. More columns than before, and
   fewer; then new values. */
static void TestUnsymmetric(PoiseContext ctx)
{
  static const char *const options[] = {
      "-pc_amg_coarse_size 30 -pc_amg_redundant_size 0",
      "-pc_amg_coarse_size 30 -pc_amg_redundant_size 200",
      "-pc_amg_coarse_size 30 -pc_amg_redundant_size 100000",
      "-pc_amg_coarse_size 30 -pc_amg_cycle v -pc_amg_redundant_size 0",
      "-pc_amg_coarse_size 30 -pc_amg_cycle v -pc_amg_degree 1",
      "-pc_amg_coarse_size 2000 -pc_amg_cycle v",
      "-pc_amg_coarse_size 30 -pc_amg_smoother isai -pc_amg_cycle w",
  };
  static const int columns[] = {3, 8, 2, 32};
  for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
    Problem p;
    if (!InTurn(ctx, o)) continue;
    SetOptions(ctx, options[o]);
    if (!ProblemOpen(Grid(ctx, 12, 11, 7, 0.5), &p)) return;
    CHECK_OK(PoiseKSPSetType(p.ksp, "bicgstab"));
    CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
    CHECK_OK(PoisePCSetType(p.pc, "amg"));
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    for (int turn = 0; turn < 4; turn++) {
      if (!CHECK_OK(PoiseKSPSetUp(p.ksp))) return;
      bool single = ((const Amg *)p.pc->data)->single;
      ApplyColumns(&p, columns[turn], SameBits(ctx) ? 0 : single ? 1e-5 : 1e-12, options[o]);
      CHECK(!p.pc->column[0]);
      if (turn == 1) CHECK_OK(PoiseMatScale(p.A, 3));
    }
    ProblemClose(&p);
  }
}

/* All claims hold, also of columns that were packed: none is solved again by itself. */
static void TestTogether(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "minres", "bicgstab", "gmres", "cg", "preonly", "cg"};
  static const char *const pcs[] = {"jacobi", "jacobi", "jacobi", "jacobi", "lu", "lu", "bjacobi"};
  SetOptions(ctx, "-sub_pc_type lu");
  for (int m = 0; m < 7; m++) {
    Several s;
    LogCounts before, after;
    if (!OpenSeveral(ctx, 8, methods[m], pcs[m], &s)) return;
    s.zero = s.nan = -1;
    FillRightSides(&s);
    CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 1e-8, -1, -1, 2000));
    poiseLogCounts(ctx, &before);
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    poiseLogCounts(ctx, &after);
    CHECK_NEAR(after.event[EVENT_KSPSolve].calls - before.event[EVENT_KSPSolve].calls, 1, 0);
    for (int j = 0; j < s.k; j++) CHECK(PoiseKSPColumnReason(s.p.ksp, j) > 0);
    CloseSeveral(&s);
  }
}

/* Vectors of solves of several systems count: of 8 at once, then of 4 and fewer, and of one. */
static void TestBytes(PoiseContext ctx)
{
  Several s;
  PoiseBytes before, after;
  if (!OpenSeveral(ctx, 8, "cg", "jacobi", &s)) return;
  CHECK_OK(PoiseKSPSetUp(s.p.ksp));
  CHECK_OK(PoiseKSPBytes(s.p.ksp, &before));
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  CHECK_OK(PoiseKSPBytes(s.p.ksp, &after));
  double one = 8 * (double)PoiseVecLocalSize(s.p.b), work = (double)s.p.ksp->nwork,
         more = (double)(after.host + after.device - before.host - before.device);
  CHECK(more >= (8 * work + 2) * one && more <= (15 * work + 6) * one + 3e6);
  CloseSeveral(&s);
}

/* Rows that wait for each other leave new values of all columns, where the device asks for that. */
static void TestSweepBytes(PoiseContext ctx)
{
  static const char *const pcs[] = {"ilu", "sor"};
  for (int k = 0; k < 2; k++) {
    Several s;
    PoiseBytes before, after;
    if (!OpenSeveral(ctx, 8, "cg", pcs[k], &s)) return;
    CHECK_OK(PoiseKSPSetUp(s.p.ksp));
    CHECK_OK(PoisePCBytes(s.p.pc, &before));
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    CHECK_OK(PoisePCBytes(s.p.pc, &after));
    int64_t more = poiseSingleRows(ctx->device) ? 7 * 8 * PoiseVecLocalSize(s.p.b) : 0;
    CHECK_INT(after.device - before.device, more);
    CHECK_INT(after.host - before.host, 0);
    CloseSeveral(&s);
  }
}

/* What a cycle of several columns holds beside that of one counts: all that the mock device has more. */
static void TestBytesInside(PoiseContext ctx)
{
  static const char *const options[] = {"-pc_amg_precision double -pc_amg_redundant_size 0",
                                        "-pc_amg_cycle w -pc_amg_redundant_size 200", "-pc_amg_degree 2"};
  for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
    Several s;
    PoiseBytes before, after, matrix[2];
    SetOptions(ctx, options[o]);
    if (!OpenSeveral(ctx, 8, "cg", "amg", &s)) return;
    CHECK_OK(PoiseKSPSetFromOptions(s.p.ksp));
    CHECK_OK(PoiseKSPSetUp(s.p.ksp));
    CHECK_OK(PoiseMatBytes(s.p.A, &matrix[0], NULL));
    CHECK_OK(PoisePCBytes(s.p.pc, &before));
    int64_t held = ctx->device->bytes;
    CHECK_OK(PoiseAgree(ctx, poisePCReadyColumns(s.p.pc, 8)));
    CHECK_OK(PoisePCBytes(s.p.pc, &after));
    CHECK_OK(PoiseMatBytes(s.p.A, &matrix[1], NULL));
    int64_t counted = after.device - before.device + matrix[1].device - matrix[0].device,
            rows = PoiseVecLocalSize(s.p.b);
    if (!ctx->device->ops->is_host && SameBits(ctx)) CHECK_INT(counted, ctx->device->bytes - held);
    CHECK(after.host + after.device >= before.host + before.device + 2 * 8 * 4 * rows);
    CloseSeveral(&s);
  }
}

/* The log's bytes of an application: M counts once, and of more columns the vectors alone. */
static void TestTraffic(PoiseContext ctx)
{
  static const char *const pcs[] = {"pbjacobi", "ilu", "sor"};
  static const int vectors[] = {2, 4, 4};
  for (int k = 0; k < 3; k++) {
    double bytes[3];
    for (int c = 1; c <= 3; c++) {
      Several s;
      LogCounts before, after;
      if (!OpenSeveral(ctx, c, "cg", pcs[k], &s)) return;
      CHECK_OK(PoiseKSPSetUp(s.p.ksp));
      CHECK_OK(PoiseAgree(ctx, poisePCReadyColumns(s.p.pc, c)));
      poiseLogCounts(ctx, &before);
      CHECK_OK(PoiseAgree(ctx, poisePCApplyFuse(s.p.pc, s.B, s.X, NULL, NULL)));
      poiseLogCounts(ctx, &after);
      bytes[c - 1] = after.event[EVENT_PCApply].bytes - before.event[EVENT_PCApply].bytes;
      double column = 8 * vectors[k] * (double)PoiseVecLocalSize(s.p.b);
      if (c > 1) CHECK_NEAR(bytes[c - 1] - bytes[c - 2], column, 1e-9 * bytes[0]);
      if (c == 1) CHECK(bytes[0] > column);
      CloseSeveral(&s);
    }
  }
}

/* ---- methods with cycles --------------------------------------------------------------------- */

/* All systems by one call, which makes so many solves: one of all, and one of each that is solved alone. */
static void SolveAll(Several *s, const char *what, int solves)
{
  PoiseContext ctx = PoiseKSPContext(s->p.ksp);
  LogCounts before, after;
  if (s->guess) CHECK_OK(PoiseVecCopy(s->guess, s->X));
  poiseLogCounts(ctx, &before);
  if (!CHECK_OK(PoiseKSPSolveBlock(s->p.ksp, s->B, s->X))) return;
  poiseLogCounts(ctx, &after);
  double calls = after.event[EVENT_KSPSolve].calls - before.event[EVENT_KSPSolve].calls;
  if (calls != solves) printf("%s: %g solves, not %d\n", what, calls, solves);
  CHECK_NEAR(calls, solves, 0);
  for (int j = 0; j < s->k; j++) CompareSystem(s, j, what);
}

/* In how many cycles do systems of this solve end? */
static int CyclesOfEnds(const Several *s, int restart)
{
  bool seen[1000] = {false};
  int count = 0;
  for (int j = 0; j < s->k; j++) {
    PoiseInt cycle = PoiseKSPColumnIterations(s->p.ksp, j) / restart;
    count += cycle < 1000 && !seen[cycle];
    if (cycle < 1000) seen[cycle] = true;
  }
  return count;
}

typedef struct Cycles {
  const char *method, *pc, *refine;
  PoisePCSide side;
  bool guess, none; /* none: without a norm */
} Cycles;

static bool OpenCycles(PoiseContext ctx, int k, int restart, const Cycles *c, Several *s)
{
  char options[80];
  snprintf(options, sizeof options, "-ksp_gmres_cgs_refinement_type refine_%s", c->refine);
  SetOptions(ctx, options);
  if (!OpenSeveral(ctx, k, c->method, c->pc, s)) return false;
  if (restart < 5) s->rtol = 1e-2;
  CHECK_OK(PoiseKSPSetTolerances(s->p.ksp, s->rtol, -1, -1, 103));
  CHECK_OK(PoiseKSPSetFromOptions(s->p.ksp));
  CHECK_OK(PoiseKSPSetPCSide(s->p.ksp, c->side));
  if (c->none) CHECK_OK(PoiseKSPSetNormType(s->p.ksp, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPGMRESSetRestart(s->p.ksp, restart));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s->p.ksp, c->guess));
  if (c->guess && CHECK_OK(PoiseVecDuplicate(s->X, &s->guess))) FillColumns(s->guess);
  return true;
}

static void Cycle(PoiseContext ctx, int k, int restart, const Cycles *c)
{
  Several s;
  char what[80];
  snprintf(what, sizeof what, "%s with %s, %s, %d", c->method, c->pc, c->refine, restart);
  if (!OpenCycles(ctx, k, restart, c, &s)) return;
  bool scales = s.zero >= 0 && (c->guess || c->none); /* a b that might have to be scaled, as that of NaN */
  SolveAll(&s, what, 1 + scales + (s.nan >= 0));
  if (k == 8 && restart < 30 && !c->none) CHECK(CyclesOfEnds(&s, restart) > 1);
  CloseSeveral(&s);
}

/* Systems end at the start, in different cycles, at restarts and between them, and by the limit. */
static void TestCycles(PoiseContext ctx)
{
  static const Cycles ways[] = {{"gmres", "jacobi", "never", POISE_PC_LEFT, false, false},
                                {"gmres", "none", "ifneeded", POISE_PC_RIGHT, true, false},
                                {"gmres", "jacobi", "always", POISE_PC_RIGHT, false, false},
                                {"gmres", "bjacobi", "ifneeded", POISE_PC_LEFT, true, false},
                                {"gmres", "ilu", "never", POISE_PC_RIGHT, false, false},
                                {"gmres", "sor", "never", POISE_PC_LEFT, false, true},
                                {"fgmres", "jacobi", "ifneeded", POISE_PC_RIGHT, false, false},
                                {"fgmres", "none", "always", POISE_PC_RIGHT, true, false}};
  static const int restarts[] = {1, 2, 5, 40}; /* the last with more vectors than one kernel takes */
  for (int w = 0; w < 8; w++)
    for (int r = w % 2; r < 4; r += 2) {
      Cycle(ctx, 8, restarts[r], &ways[w]);
      if (w < 2) Cycle(ctx, 3, restarts[r], &ways[w]);
    }
}

enum { CLASSES = 12 };

/* A diagonal matrix with so many different entries, all large; one is zero if singular. */
static PoiseErr FewEigenvalues(PoiseContext ctx, bool singular, PoiseMat *A)
{
  PoiseInt begin, n;
  PoiseSplit(ctx, 40 * CLASSES, &begin, &n);
  POISE_TRY(PoiseMatCreate(ctx, n, n, 40 * CLASSES, 40 * CLASSES, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = begin; !e && i < begin + n; i++) {
    double v = singular && i % CLASSES == CLASSES - 1 ? 0 : 1e100 * (double)(1 + i % CLASSES);
    e = PoiseMatAddBlock(*A, 1, &i, 1, &i, &v);
  }
  return e ? e : PoiseMatAssemble(*A);
}

/* System j has j + 1 eigenvectors and ends in iteration j + 1 of a cycle. Its basis behind that overflows, as
   products go on. Of a singular matrix the last one breaks down. */
static void Exhaust(PoiseContext ctx, const char *method, PoisePCSide side, int restart, bool singular)
{
  Several s = {.k = CLASSES, .zero = -1, .nan = -1, .rtol = 1e-10};
  PoiseMat A;
  PoiseInt begin, end;
  double *p;
  char what[80];
  snprintf(what, sizeof what, "few eigenvalues, %s, %d, %d", method, restart, singular);
  if (!CHECK_OK(FewEigenvalues(ctx, singular, &A)) || !ProblemOpen(A, &s.p)) return;
  CHECK_OK(PoiseKSPSetType(s.p.ksp, method));
  CHECK_OK(PoiseKSPSetPCSide(s.p.ksp, side));
  CHECK_OK(PoiseKSPGMRESSetRestart(s.p.ksp, restart));
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, s.rtol, 0, -1, 200));
  CHECK_OK(PoiseKSPKeepHistory(s.p.ksp, 1));
  if (!CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(s.p.b), PoiseVecSize(s.p.b), s.k, &s.B)) ||
      !CHECK_OK(PoiseVecDuplicate(s.B, &s.X)))
    return;
  PoiseVecRange(s.B, &begin, &end);
  if (CHECK_OK(PoiseVecGetWrite(s.B, &p)))
    for (PoiseInt i = begin; i < end; i++)
      for (int j = 0; j < s.k; j++) p[(i - begin) * s.k + j] = i % CLASSES <= j ? 1 : 0;
  CHECK_OK(PoiseVecRestore(s.B, &p));
  SolveAll(&s, what, 1 + singular);
  if (CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X)))
    for (int j = 0; j < s.k; j++) {
      bool fails = singular && j == CLASSES - 1;
      if (j < restart && !fails) CHECK_INT(PoiseKSPColumnIterations(s.p.ksp, j), j + 1);
      CHECK_INT(PoiseKSPColumnReason(s.p.ksp, j) > 0, !fails);
    }
  CloseSeveral(&s);
}

static void TestOwnColumns(PoiseContext ctx)
{
  for (int singular = 0; singular <= SameBits(ctx); singular++) /* rounding says whether it is seen */
    for (int restart = singular ? 30 : 5; restart <= 30; restart += 25) {
      Exhaust(ctx, "gmres", POISE_PC_LEFT, restart, singular);
      Exhaust(ctx, "gmres", POISE_PC_RIGHT, restart, singular);
      Exhaust(ctx, "fgmres", POISE_PC_RIGHT, restart, singular);
    }
}

/* Settings of a method change between solves by one solver: what was captured must not stay. */
static void TestSettings(PoiseContext ctx)
{
  static const char *const options[] = {"-ksp_gmres_restart 5",
                                        "-ksp_gmres_cgs_refinement_type refine_always",
                                        "-ksp_gmres_restart 4 -ksp_gmres_cgs_refinement_type refine_never",
                                        "-ksp_gmres_basis fp32",
                                        "-ksp_gmres_basis fp64",
                                        "-ksp_precision mixed"};
  Several s;
  if (!OpenSeveral(ctx, 5, "gmres", "none", &s)) return; /* whose set-up is never new */
  for (int k = 0; k < 6; k++) {
    SetOptions(ctx, options[k]);
    CHECK_OK(PoiseKSPSetFromOptions(s.p.ksp));
    /* those in fp32 one after the other; else all, and that of NaN */
    SolveAll(&s, options[k], k % 2 && k > 1 ? s.k : 2);
  }
  CloseSeveral(&s);
}

/* ---- one solver, other systems --------------------------------------------------------------- */

/* Other numbers of columns, one system, other values and another method, one after the other by one
   solver. */
static void Changes(PoiseContext ctx, const char *pc)
{
  Several a, b;
  if (!OpenSeveral(ctx, 8, "cg", pc, &a) || !OpenSeveral(ctx, 3, "cg", pc, &b)) return;
  for (int turn = 0; turn < 2; turn++) {
    CHECK_OK(PoiseKSPSetType(a.p.ksp, turn ? "minres" : "cg"));
    CHECK_OK(PoiseKSPSolve(a.p.ksp, a.p.b, a.p.x));
    CHECK_OK(PoiseKSPSolveBlock(a.p.ksp, b.B, b.X));
    CHECK_OK(PoiseKSPSolve(a.p.ksp, a.p.b, a.p.x));
    CHECK_OK(PoiseKSPSolveBlock(a.p.ksp, a.B, a.X));
    CompareSystem(&a, 0, pc);
    CHECK_OK(PoiseKSPSolveBlock(a.p.ksp, b.B, b.X));
    CHECK_OK(PoiseKSPSolveBlock(a.p.ksp, a.B, a.X));
    CHECK_OK(PoiseMatScale(a.p.A, 2));
    CHECK_OK(PoiseKSPSolveBlock(a.p.ksp, a.B, a.X));
    for (int j = 0; j < a.k; j++) CompareSystem(&a, j, pc);
  }
  CloseSeveral(&a);
  CloseSeveral(&b);
}

static void TestChanges(PoiseContext ctx)
{
  Changes(ctx, "jacobi");
  Changes(ctx, "icc");
  Changes(ctx, "bjacobi");
}

/* With a guess: one that is the solution, others that are not. */
static void TestGuess(PoiseContext ctx)
{
  Several s;
  if (!OpenSeveral(ctx, 3, "cg", "jacobi", &s)) return;
  s.zero = -1;
  FillRightSides(&s);
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  CHECK_OK(PoiseVecSet(s.p.x, 0.5));
  CHECK_OK(PoiseVecSetColumn(s.X, 1, s.p.x));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.p.ksp, 1));
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 1e-6, -1, -1, -1));
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  CHECK_INT(PoiseKSPColumnIterations(s.p.ksp, 0), 0);
  CHECK(PoiseKSPColumnIterations(s.p.ksp, 1) > 0);
  for (int j = 0; j < 3; j++) {
    CHECK_OK(PoiseVecGetColumn(s.B, j, s.p.b));
    CHECK_OK(PoiseVecGetColumn(s.X, j, s.p.x));
    CHECK(ProblemResidual(&s.p) <= 1e-5 * NormOf(s.p.b));
  }
  CloseSeveral(&s);
}

/* Sizes of b whose squares are no numbers, beside an ordinary one. */
static void TestScales(PoiseContext ctx)
{
  Several s;
  static const double sizes[] = {1e-200, 1, 1e200};
  if (!OpenSeveral(ctx, 3, "cg", "jacobi", &s)) return;
  for (int j = 0; j < 3; j++) {
    CHECK_OK(PoiseVecSetRandom(s.p.b, 3));
    CHECK_OK(PoiseVecScale(s.p.b, sizes[j]));
    CHECK_OK(PoiseVecSetColumn(s.B, j, s.p.b));
  }
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 1e-8, 0, -1, -1));
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  for (int j = 0; j < 3; j++) {
    CHECK_INT(PoiseKSPColumnReason(s.p.ksp, j), POISE_CONVERGED_RTOL);
    CHECK_OK(PoiseVecGetColumn(s.B, j, s.p.b));
    CHECK_OK(PoiseVecGetColumn(s.X, j, s.p.x));
    CHECK_OK(PoiseVecScale(s.p.b, 1 / sizes[j]));
    CHECK_OK(PoiseVecScale(s.p.x, 1 / sizes[j]));
    CHECK(ProblemResidual(&s.p) <= 1e-6 * NormOf(s.p.b));
  }
  CloseSeveral(&s);
}

static void TestWrong(PoiseContext ctx)
{
  Several s;
  PoiseInt count;
  const double *norms;
  if (!OpenSeveral(ctx, 3, "cg", "jacobi", &s)) return;
  CHECK_ERR(PoiseKSPColumnHistory(s.p.ksp, 0, &count, &norms), POISE_ERR_ARG, "no system 0");
  CHECK_ERR(PoiseKSPSolveBlock(s.p.ksp, s.B, s.B), POISE_ERR_ARG, "same vector");
  CHECK_ERR(PoiseKSPSolveBlock(s.p.ksp, s.B, s.p.x), POISE_ERR_SIZE, "B has 3 columns, X has 1");
  CHECK_ERR(PoiseKSPSolve(s.p.ksp, s.B, s.X), POISE_ERR_ARG, "3 columns");
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, -1, -1, -1, 2));
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s.p.ksp, 1));
  CHECK_ERR(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X), POISE_ERR_NOT_CONVERGED, "system 0: DIVERGED_ITS");
  CHECK_INT(PoiseKSPConvergedReason(s.p.ksp), POISE_DIVERGED_ITS);
  CHECK_INT(PoiseKSPIterations(s.p.ksp), 2);
  CHECK_INT(PoiseKSPColumnReason(s.p.ksp, 3), 0);
  CloseSeveral(&s);
}

typedef struct Once {
  PoiseMat A;
  const char *method, *pc;
} Once;

/* A first solve, of which one allocation fails on some rank. */
static PoiseErr SolveOnce(PoiseContext ctx, void *arg)
{
  const Once *once = arg;
  PoiseVec B = NULL, X = NULL;
  PoiseKSP ksp = NULL;
  PoisePC pc;
  PoiseInt m, n;
  PoiseMatLocalSizes(once->A, &m, &n);
  PoiseErr e = PoiseVecCreateBlock(ctx, m, POISE_DECIDE, 5, &B);
  if (!e) e = PoiseVecDuplicate(B, &X);
  if (!e) e = PoiseAgree(ctx, PoiseVecSet(B, 1));
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetOperators(ksp, once->A, NULL);
  if (!e) e = PoiseKSPSetType(ksp, once->method);
  if (!e) e = PoiseKSPGetPC(ksp, &pc);
  if (!e) e = PoisePCSetType(pc, once->pc);
  if (!e) e = PoiseKSPSetFromOptions(ksp);
  if (!e) e = PoiseKSPSolveBlock(ksp, B, X);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&B);
  PoiseVecDestroy(&X);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  const struct {
    const char *method, *pc, *options;
  } ways[] = {
      {"cg", "jacobi", ""},
      {"cg", "ilu", ""},
      {"gmres", "jacobi", ""},
      {"cg", "amg",
       "-pc_amg_precision double -pc_amg_levels 2 -pc_amg_redundant_size 0 -pc_amg_smoother isai"},
      {"cg", "amg", "-pc_amg_cycle w -pc_amg_redundant_size 100 -pc_amg_coarse_size 20"},
      {"cg", "amg", "-pc_amg_redundant_size 100 -pc_amg_coarse_size 20"},
      {"cg", "lu", "-pc_factor_solver dense"},
      {"cg", "lu", poiseSuperLUIsThere() ? "-pc_factor_solver superlu" : "-pc_factor_solver dense"},
  };
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    Once once = {.method = ways[k].method, .pc = ways[k].pc};
    if (!InTurn(ctx, k)) continue;
    SetOptions(ctx, ways[k].options);
    if (!CHECK_OK(ScaledLaplacian(ctx, 12, 9, 3, &once.A))) return;
    TestAllocationFailures(ctx, SolveOnce, &once);
    CHECK_OK(PoiseMatDestroy(&once.A));
  }
}

static const Test tests[] = {
    {"vectors", TestVectors, 0},
    {"norms", TestNorms, 0},
    {"errors", TestErrors, 0},
    {"products", TestProducts, 0},
    {"transposed", TestTransposed, 0},
    {"methods", TestMethods, 0},
    {"preconditioners", TestPreconditioners, TEST_LONG},
    {"multigrid", TestMultigrid, TEST_LONG},
    {"applications", TestApplications, TEST_LONG},
    {"long rows", TestLongRows, 0},
    {"sparse factors", TestSparseFactors, 0},
    {"unsymmetric", TestUnsymmetric, 0},
    {"together", TestTogether, 0},
    {"bytes", TestBytes, 0},
    {"sweep bytes", TestSweepBytes, 0},
    {"bytes inside", TestBytesInside, 0},
    {"traffic", TestTraffic, 0},
    {"cycles", TestCycles, TEST_LONG},
    {"own columns", TestOwnColumns, 0},
    {"settings", TestSettings, 0},
    {"changes", TestChanges, 0},
    {"guess", TestGuess, 0},
    {"scales", TestScales, 0},
    {"wrong", TestWrong, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "columns", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Incomplete sparse approximate inverses of the triangles of incomplete factors. The reference is their
  definition on dense arrays: each row of an inverse solves a system of the entries of its pattern.
*/
#include "pc/factor.h"
#include "shapes.h"

#define EXACT                                                                    \
  "-x_pc_factor_shift_type none\n-x_pc_factor_levels 0\n-x_pc_factor_sweeps 0\n" \
  "-x_pc_factor_setup_sweeps 0\n-x_pc_factor_triangles solved\n"

static PoisePC MakeBy(const char *type, PoiseMat A, const char *more)
{
  char text[400];
  snprintf(text, sizeof text, EXACT "%s", more);
  return Make(PoiseMatContext(A), type, A, text);
}

static PoisePC MakeIsai(const char *type, PoiseMat A, const char *more)
{
  char text[200];
  snprintf(text, sizeof text, "-x_pc_factor_triangles isai\n%s", more);
  return MakeBy(type, A, text);
}

/* ---- the definition -------------------------------------------------------------------------- */

typedef struct Inverses { /* of L and of D^-1 U, whose diagonals are 1; inverse pivots */
  int m;
  long double *lower, *upper, *d;
} Inverses;

/* x^T S = e^T for a matrix S of k rows, by Gaussian elimination with row exchanges of its transpose. */
static void SolveTransposed(int k, long double *s, long double *x)
{
  for (int c = 0; c < k; c++) { /* equation c is column c of S */
    int p = c;
    for (int e = c; e < k; e++)
      if (fabsl(s[c * k + e]) > fabsl(s[c * k + p])) p = e;
    for (int r = 0; r < k; r++) {
      long double t = s[r * k + c];
      s[r * k + c] = s[r * k + p], s[r * k + p] = t;
    }
    long double t = x[c];
    x[c] = x[p], x[p] = t;
    for (int e = c + 1; e < k; e++) {
      long double f = s[c * k + e] / s[c * k + c];
      for (int r = 0; r < k; r++) s[r * k + e] -= f * s[r * k + c];
      x[e] -= f * x[c];
    }
  }
  for (int c = k - 1; c >= 0; c--) {
    for (int r = c + 1; r < k; r++) x[c] -= s[r * k + c] * x[r];
    x[c] /= s[c * k + c];
  }
}

/* Row i of M, for which M T = I at the places of row i of T, which are those of the triangle. */
static void InvertRow(const Dense *d, const long double *T, bool upper, int i, long double *M)
{
  int m = d->m, k = 0, *place = malloc((size_t)(m + 1) * sizeof *place);
  for (int j = 0; j < m; j++)
    if (j == i || ((upper ? j > i : j < i) && d->stored[i * m + j])) place[k++] = j;
  long double *s = malloc((size_t)(k * k + 1) * sizeof *s), *x = malloc((size_t)(k + 1) * sizeof *x);
  for (int p = 0; p < k; p++) {
    x[p] = place[p] == i;
    for (int q = 0; q < k; q++) s[p * k + q] = T[place[p] * m + place[q]];
  }
  SolveTransposed(k, s, x);
  for (int p = 0; p < k; p++) M[i * m + place[p]] = x[p];
  free(place);
  free(s);
  free(x);
}

static long double *Square(int m)
{
  return calloc((size_t)(m * m) + 1, sizeof(long double));
}

/* Of factors on the pattern of d. */
static Inverses Invert(const Dense *d, bool symmetric)
{
  int m = d->m;
  Inverses v = {m, Square(m), Square(m), Square(m)};
  long double *lower = Square(m), *upper = Square(m);
  for (int i = 0; i < m; i++) {
    v.d[i] = 1 / (long double)d->a[i * m + i];
    for (int j = 0; j < m; j++) {
      bool stored = d->stored[i * m + j];
      lower[i * m + j] = j == i ? 1 : j < i && stored ? d->a[i * m + j] : 0;
      upper[i * m + j] = j == i ? 1 : j > i && stored ? d->a[i * m + j] * v.d[i] : 0;
    }
  }
  for (int i = 0; i < m; i++) InvertRow(d, lower, false, i, v.lower);
  for (int i = 0; i < m && !symmetric; i++) InvertRow(d, upper, true, i, v.upper);
  for (int i = 0; i < m && symmetric; i++)
    for (int j = 0; j < m; j++) v.upper[i * m + j] = v.lower[j * m + i];
  free(lower);
  free(upper);
  return v;
}

static void ApplyInverses(const void *inverses, long double *x)
{
  const Inverses *v = inverses;
  long double *y = malloc((size_t)(v->m + 1) * sizeof *y);
  for (int upper = 0; upper < 2; upper++) {
    const long double *M = upper ? v->upper : v->lower;
    for (int i = 0; i < v->m; i++) {
      y[i] = 0;
      for (int j = 0; j < v->m; j++) y[i] += M[i * v->m + j] * x[j];
    }
    for (int i = 0; i < v->m; i++) x[i] = upper ? y[i] : y[i] * v->d[i];
  }
  free(y);
}

static double Defect(PoisePC pc, const Shape *s)
{
  Dense d = DenseOf(s, 0);
  Eliminate(&d, 0);
  Inverses v = Invert(&d, !strcmp(PoisePCType(pc), "icc"));
  double worst = Difference(pc, ApplyInverses, &v);
  free(v.lower);
  free(v.upper);
  free(v.d);
  DenseFree(&d);
  return worst;
}

static void Check(PoiseContext ctx, const char *type, int kind, PoiseInt n)
{
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    Shape s = ShapeOf(ctx, kind, layout, n);
    if (kind == FULL) s.diagonal = (double)n + 1;
    if (kind == ARROW) s.diagonal = 6;
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = MakeIsai(type, A, "");
    CHECK_NEAR(Defect(pc, &s), 0, 1e-12);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static const PoiseInt sizes[] = {0, 1, 2, 29, 60};

static void TestILU(PoiseContext ctx)
{
  for (int q = 0; q < 5; q++)
    for (int kind = 0; kind < NKINDS; kind++) Check(ctx, "ilu", kind, sizes[q]);
}

static void TestICC(PoiseContext ctx)
{
  for (int q = 0; q < 5; q++) {
    Check(ctx, "icc", SYMMETRIC, sizes[q]);
    Check(ctx, "icc", TRIDIAGONAL, sizes[q]);
  }
}

/* Triangles that have all entries have these inverses: M is that of the exact solves, whatever factors. */
static void TestExact(PoiseContext ctx)
{
  static const char *const cases[][2] = {
      {"ilu", "-x_pc_factor_levels 100"},
      {"icc", "-x_pc_factor_levels 100"},
      {"ilu", "-x_pc_factor_setup_sweeps 60"},
      {"ilut", "-x_pc_factor_drop_tol 0\n-x_pc_factor_fill 100\n-x_pc_factor_pivoting 0"},
      {"ilut", "-x_pc_factor_drop_tol 0\n-x_pc_factor_fill 100\n-x_pc_factor_pivoting 1"},
      {"ict", "-x_pc_factor_drop_tol 0\n-x_pc_factor_fill 100"}};
  for (int k = 0; k < 6; k++) {
    Shape s = ShapeOf(ctx, FULL, UNEVEN, 30);
    s.diagonal = 40;
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = MakeIsai(cases[k][0], A, cases[k][1]);
    PoisePC exact = MakeBy(cases[k][0], A, cases[k][1]);
    PoiseVec r, z, y;
    double norm = 1, size = 0;
    if (CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) && CHECK_OK(PoiseVecDuplicate(r, &y))) {
      SampleFill(r, 4);
      CHECK_OK(PoisePCApply(pc, r, z));
      CHECK_OK(PoisePCApply(exact, r, y));
      CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &size));
      CHECK_OK(PoiseVecAXPY(z, -1, y));
      CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
      CHECK(norm <= 1e-12 * size);
    }
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoiseVecDestroy(&y);
    PoisePCDestroy(&pc);
    PoisePCDestroy(&exact);
    PoiseMatDestroy(&A);
  }
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* Iterations to 1e-10 of the residual. */
static PoiseInt Solve(PoiseMat A, const char *method, const char *type, const char *triangles)
{
  char text[300];
  snprintf(text, sizeof text,
           "-s_ksp_type %s\n-s_pc_type %s\n-s_pc_factor_triangles %s\n-s_ksp_rtol 1e-10\n"
           "-s_ksp_norm_type unpreconditioned%s",
           method, type, triangles,
           strcmp(method, "cg") ? "\n-s_ksp_pc_side right" : "\n-s_ksp_pc_side left");
  return IterationsBy(A, text);
}

/* M of icc is symmetric. Iterations are between those of exact solves and of jacobi. */
static void TestSolve(PoiseContext ctx)
{
  static const char *const cases[][2] = {
      {"cg", "icc"}, {"cg", "ict"}, {"bicgstab", "ilu"}, {"gmres", "ilut"}};
  PoiseMat A = Grid(ctx, 12, 12, 12, 0), B = Grid(ctx, 12, 12, 12, 0.5);
  for (int k = 0; k < 4; k++) {
    PoiseMat of = k < 2 ? A : B;
    PoiseInt its = Solve(of, cases[k][0], cases[k][1], "isai"),
             most = Solve(of, cases[k][0], "jacobi", "solved"),
             least = Solve(of, cases[k][0], cases[k][1], "solved");
    CHECK(its <= most && its >= least);
    PoisePC pc = MakeIsai(cases[k][1], of, "");
    if (k < 2) CheckSymmetric(pc);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestFuseAndSkip(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 11, 8, 0);
  for (int k = 0; k < 2; k++) {
    PoisePC pc = MakeIsai(k ? "icc" : "ilu", A, "");
    CheckFusedApply(pc, true);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  static const char *const types[] = {"ilu", "icc", "ilut", "ict", "ilu"};
  PoiseMat A = Grid(ctx, 30, 40, 33, 0);
  for (int k = 0; k < 5; k++) {
    PoisePC pc = MakeIsai(types[k], A, k < 4 ? "" : "-x_pc_factor_levels 1");
    SampleKeep(ctx, arg, Apply(pc));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* New values need no memory; options change between set-ups. */
static void TestRefresh(PoiseContext ctx)
{
  for (int k = 0; k < 2; k++) {
    Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 50), t = s;
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = MakeIsai(k ? "icc" : "ilu", A, "");
    CHECK_NEAR(Defect(pc, &s), 0, 1e-12);
    t.diagonal = 7;
    CHECK_OK(PoiseMatZeroEntries(A));
    AddRows(A, &t);
    int64_t calls = ctx->memory.calls, generation = pc->generation;
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_INT(ctx->memory.calls, calls);
    CHECK_INT(pc->generation, generation);
    CHECK_NEAR(Defect(pc, &t), 0, 1e-12);
    SetOptions(ctx, "-x_pc_factor_triangles solved");
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_NEAR(FactorDefect(pc, &t, 0, 0), 0, 1e-13);
    SetOptions(ctx, "-x_pc_factor_triangles isai");
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_NEAR(Defect(pc, &t), 0, 1e-12);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static void TestRefused(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 6, 5, 4, 0);
  PoisePC pc = MakeIsai("ilu", A, "-x_pc_factor_sweeps 2");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "-x_pc_factor_sweeps does: choose one");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  Shape s = ShapeOf(ctx, ANY, EVEN, 24);
  if (PoiseSize(ctx) > 1) return; /* rows of ranks that are no blocks */
  A = Matrix(ctx, &s);
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  pc = MakeIsai("ilu", A, "");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "blocks of 2 x 2");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestView(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 6, 5, 4, 0);
  PoisePC pc = MakeIsai("icc", A, "");
  char text[500];
  PoiseBytes held;
  PoisePrediction foreseen;
  CHECK_OK(PoisePCPredictBytes(pc, NULL, &foreseen));
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK((strstr(text, "approximate inverses of the triangles (ISAI)\n") != NULL) == (PoiseRank(ctx) == 0));
  CHECK_OK(PoisePCBytes(pc, &held));
  CHECK(held.device >= foreseen.least.device && held.device <= foreseen.most.device);
  CHECK(held.host >= foreseen.least.host && held.host <= foreseen.most.host);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static PoiseErr UseBoth(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "memory_"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  for (int k = 0; k < 2; k++) {
    POISE_TRY(PoisePCSetType(pc, k ? "icc" : "ilu"));
    POISE_TRY(PoisePCSetFromOptions(pc));
    POISE_TRY(PoisePCApply(pc, g->r, g->z));
  }
  return POISE_OK;
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *shape)
{
  (void)g, (void)failed;
  if (!strcmp(PoisePCType(pc), "none")) return;
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_NEAR(Defect(pc, shape), 0, 1e-12);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  CHECK_OK(PoiseOptionsSetString(ctx, "-memory_pc_factor_triangles isai"));
  CHECK_OK(PoiseBarrier(ctx));
  CheckWithoutMemory(A, UseBoth, 12, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {{"ilu", TestILU, 0},
                             {"icc", TestICC, 0},
                             {"exact", TestExact, 0},
                             {"solve", TestSolve, 0},
                             {"fuse_and_skip", TestFuseAndSkip, 0},
                             {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
                             {"refresh", TestRefresh, 0},
                             {"refused", TestRefused, 0},
                             {"view", TestView, 0},
                             {"memory", TestMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_isai", tests);
}

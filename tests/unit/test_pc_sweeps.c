/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sweeps of ilu and icc that are not exact: -pc_factor_sweeps, -pc_factor_setup_sweeps. The references are the
  polynomial of the triangles, and the fixed point's steps, on dense arrays.
*/
#include "pc/factor.h"
#include "shapes.h"

#define EXACT "-x_pc_factor_sweeps 0\n-x_pc_factor_setup_sweeps 0\n-x_pc_factor_shift_type none\n"

static PoisePC MakeBy(const char *type, PoiseMat A, int setup, int sweeps)
{
  char text[200];
  snprintf(text, sizeof text, EXACT "-x_pc_factor_sweeps %d\n-x_pc_factor_setup_sweeps %d", sweeps, setup);
  return Make(PoiseMatContext(A), type, A, text);
}

static bool Exact(PoiseContext ctx) /* do the device's exact factors have the host's bits? */
{
  return strcmp(ctx->device->ops->name, "cuda") != 0;
}

/* ---- references ------------------------------------------------------------------------------ */

typedef struct Truncated {
  Dense d; /* factors; L, whose diagonal is 1, and U */
  int sweeps;
} Truncated;

/* x = p(D^-1 N_U) D^-1 p(N_L) x, p(N) = 1 - N + N^2 - ... of degree `sweeps` */
static void SolvePolynomial(const void *truncated, long double *x)
{
  const Truncated *f = truncated;
  int m = f->d.m;
  const double *a = f->d.a;
  long double *term = malloc((size_t)(m + 1) * sizeof *term), *next = malloc((size_t)(m + 1) * sizeof *next);
  for (int upper = 0; upper < 2; upper++) {
    for (int i = 0; i < m; i++) term[i] = x[i];
    for (int k = 0; k < f->sweeps; k++) {
      for (int i = 0; i < m; i++) {
        next[i] = 0;
        for (int j = upper ? i + 1 : 0; j < (upper ? m : i); j++)
          next[i] -= a[i * m + j] * term[j] / (upper ? (long double)a[i * m + i] : 1);
      }
      for (int i = 0; i < m; i++) x[i] += term[i] = next[i];
    }
    for (int i = 0; i < m && !upper; i++) x[i] /= a[i * m + i];
  }
  free(term);
  free(next);
}

/* `sweeps` steps of the fixed point of Chow and Patel, from A. */
static void Iterate(Dense *d, int sweeps)
{
  int m = d->m;
  size_t bytes = (size_t)(m * m) * sizeof(double);
  double *a = malloc(bytes + 1), *s = malloc(bytes + 1);
  memcpy(a, d->a, bytes);
  for (int q = 0; q <= sweeps; q++) {
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++) {
        double v = a[i * m + j];
        for (int k = 0; q && k < i && k < j; k++)
          if (d->stored[i * m + k] && d->stored[k * m + j] && d->stored[i * m + j])
            v -= d->a[i * m + k] * d->a[k * m + j];
        s[i * m + j] = v;
      }
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++) d->a[i * m + j] = j < i ? s[i * m + j] / s[j * m + j] : s[i * m + j];
  }
  free(a);
  free(s);
}

/* Difference of M from that of so many sweeps; most: of all that there could be. */
static double SweepsDefect(PoisePC pc, const Shape *s, int setup, int sweeps)
{
  Truncated f = {.d = DenseOf(s, 0), .sweeps = sweeps};
  if (setup)
    Iterate(&f.d, setup);
  else
    Eliminate(&f.d, 0);
  double worst = sweeps ? Difference(pc, SolvePolynomial, &f) : Difference(pc, SolveFactors, &f.d);
  DenseFree(&f.d);
  return worst;
}

/* ---- against the references ------------------------------------------------------------------ */

/* {sweeps of the factorisation, of solves} */
static const int numbers[][2] = {{2, 2}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {2, 0}, {3, 0}, {3, 1}};

static void CheckFirst(PoiseContext ctx, const char *type, int kind, PoiseInt n, int layout, int count)
{
  Shape s = ShapeOf(ctx, kind, layout, n);
  if (kind == FULL) s.diagonal = (double)n;
  if (kind == ARROW) s.diagonal = 6;
  PoiseMat A = Matrix(ctx, &s);
  for (int k = 0; k < count; k++) {
    PoisePC pc = MakeBy(type, A, numbers[k][0], numbers[k][1]);
    CHECK_NEAR(SweepsDefect(pc, &s, numbers[k][0], numbers[k][1]), 0, 1e-13);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static void CheckAll(PoiseContext ctx, const char *type, int kind, PoiseInt n)
{
  for (int layout = 0; layout < NLAYOUTS; layout++) CheckFirst(ctx, type, kind, n, layout, 8);
}

static void TestILU(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29};
  for (int q = 0; q < 4; q++)
    for (int kind = 0; kind < NKINDS; kind++) CheckAll(ctx, "ilu", kind, sizes[q]);
  CheckFirst(ctx, "ilu", FULL, 150, EVEN, 1); /* rows that a thread block shares */
  CheckFirst(ctx, "ilu", ANY, 260, EVEN, 1);
}

static void TestICC(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29};
  for (int q = 0; q < 4; q++) {
    CheckAll(ctx, "icc", SYMMETRIC, sizes[q]);
    CheckAll(ctx, "icc", TRIDIAGONAL, sizes[q]);
  }
}

/* icc reads the upper triangle only: the lower one is spoilt. */
static void TestUpper(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 40);
  PoiseMat A = Matrix(ctx, &s);
  for (PoiseInt i = s.begin; i < s.end; i++)
    for (PoiseInt j = s.begin; j < i; j++) {
      double more = 3;
      if (Stored(&s, i, j)) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &more));
    }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = MakeBy("icc", A, 2, 2);
  CHECK_NEAR(SweepsDefect(pc, &s, 2, 2), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* A sweep for each row is exact: factors to the bit on the host, solves but for rounding. */
static void TestEnough(PoiseContext ctx)
{
  static const int kinds[] = {SYMMETRIC, ANY, TRIDIAGONAL, FULL};
  for (int k = 0; k < 5; k++) {
    const char *type = k == 4 ? "icc" : "ilu";
    Shape s = ShapeOf(ctx, kinds[k % 4], UNEVEN, 40);
    if (kinds[k % 4] == FULL) s.diagonal = 40;
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = MakeBy(type, A, 0, 0), swept = MakeBy(type, A, 40, 0), both = MakeBy(type, A, 41, 40);
    if (Exact(ctx)) CHECK(Apply(pc) == Apply(swept));
    CHECK_NEAR(FactorDefect(swept, &s, 0, 0), 0, 1e-13);
    CHECK_NEAR(FactorDefect(both, &s, 0, 0), 0, 1e-12);
    PoisePCDestroy(&pc);
    PoisePCDestroy(&swept);
    PoisePCDestroy(&both);
    PoiseMatDestroy(&A);
  }
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* Iterations to 1e-10; *digest of the solution. */
static PoiseInt Solve(PoiseMat A, const char *method, const char *type, int setup, int sweeps, int replay,
                      uint64_t *digest)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseKSP ksp;
  PoiseVec x, b;
  char text[300];
  double norm, norm0;
  snprintf(text, sizeof text,
           "-s_ksp_type %s\n-s_pc_type %s\n-s_pc_factor_setup_sweeps %d\n-s_pc_factor_sweeps %d\n"
           "-s_ksp_rtol 1e-10\n-s_ksp_replay %d",
           method, type, setup, sweeps, replay);
  SetOptions(ctx, text);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return INT32_MAX;
  SampleFill(b, 9);
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "s_"));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK(PoiseKSPConvergedReason(ksp) > 0);
  CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &norm));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm0));
  CHECK(norm <= 1e-8 * norm0);
  if (digest) *digest = SampleDigest(x);
  PoiseInt its = PoiseKSPIterations(ksp);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  return its;
}

/* M of icc stays symmetric and positive; the more sweeps, the fewer iterations, down to the exact count. */
static void TestSolve(PoiseContext ctx)
{
  static const int cases[][2] = {{0, 1}, {0, 2}, {3, 3}};
  PoiseMat A = Grid(ctx, 12, 12, 12, 0), B = Grid(ctx, 12, 12, 12, 0.5);
  PoiseInt exact = Solve(A, "cg", "icc", 0, 0, 1, NULL), jacobi = Solve(A, "cg", "jacobi", 0, 0, 1, NULL),
           before = jacobi;
  for (int k = 0; k < 3; k++) {
    PoisePC pc = MakeBy("icc", A, cases[k][0], cases[k][1]);
    CheckSymmetric(pc);
    PoisePCDestroy(&pc);
    PoiseInt its = Solve(A, "cg", "icc", cases[k][0], cases[k][1], 1, NULL);
    CHECK(its <= before && its >= exact - 1);
    before = its;
  }
  CHECK(before < jacobi);
  CHECK_INT(Solve(A, "cg", "icc", 40, 40, 1, NULL), exact);
  CHECK(Solve(B, "gmres", "ilu", 3, 2, 1, NULL) < Solve(B, "gmres", "jacobi", 0, 0, 1, NULL));
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* Every iteration enqueued, or replayed: the same. */
static void TestReplay(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 11, 10, 9, 0);
  for (int k = 0; k < 4; k++) {
    const char *method = k % 2 ? "gmres" : "cg", *type = k / 2 ? "ilu" : "icc";
    uint64_t eager, replayed;
    PoiseInt its = Solve(A, method, type, 2, 1 + k / 2, 0, &eager);
    CHECK_INT(Solve(A, method, type, 2, 1 + k / 2, 1, &replayed), its);
    CHECK(eager == replayed);
  }
  PoiseMatDestroy(&A);
}

/* ---- pivots, patterns, options --------------------------------------------------------------- */

static PoiseErr Mine(const Shape *s, PoiseInt row, PoiseErr code)
{
  return row >= s->begin && row < s->end ? code : POISE_ERR_REMOTE;
}

static void TestBadPivots(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  for (int k = 0; k < 2; k++) {
    Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 24);
    s.weak = 13, s.value = 0;
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = MakeBy(types[k], A, 0, 2);
    PoiseInt i = 13, j = 14;
    const double zero = 0, nan = NAN;
    for (int q = 0; q < 2 && PoiseRank(ctx) == 0; q++) /* row 13 on its own, so that its pivot is 0 */
      for (PoiseInt c = 12; c < 15; c += 2) {
        CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, &c, &zero));
        CHECK_OK(PoiseMatSetBlock(A, 1, &c, 1, &i, &zero));
      }
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseOptionsSetString(ctx, "-x_pc_factor_setup_sweeps 3"));
    CHECK_OK(PoiseBarrier(ctx));
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 13, POISE_ERR_NUMERIC), "the pivot of row 13 is 0, a zero pivot");
    CHECK_OK(PoiseOptionsSetString(ctx, "-x_pc_factor_shift_type inblocks\n-x_pc_factor_shift_amount 0.5"));
    CHECK_OK(PoiseBarrier(ctx));
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_OK(PoisePCSetUp(pc));
    const double *d;
    CHECK_OK(poiseBufferRead(&((Incomplete *)pc->data)->d, HOST, &d));
    if (s.begin <= 13 && 13 < s.end) CHECK(d[13 - s.begin] == 2);
    if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, &j, &nan));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 13, POISE_ERR_NUMERIC), "row 13 has an entry that is not finite");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* An indefinite matrix: the shift makes the pivots of the sweeps positive, and M. */
static void TestShift(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 40);
  s.diagonal = 0.7;
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy("icc", A, 3, 2);
  CHECK_OK(PoiseOptionsSetString(ctx, "-x_pc_factor_shift_type positive_definite"));
  CHECK_OK(PoiseBarrier(ctx));
  CHECK_OK(PoisePCSetFromOptions(pc));
  CheckSymmetric(pc);
  const double *d;
  CHECK_OK(poiseBufferRead(&((Incomplete *)pc->data)->d, HOST, &d));
  for (PoiseInt i = 0; i < s.end - s.begin; i++) CHECK(d[i] > 0);
  if (s.end - s.begin > 9) CHECK(((Incomplete *)pc->data)->tries > 0);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestRefused(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 24);
  PoiseMat A = Unmirrored(ctx, &s);
  PoisePC pc;
  if (!strcmp(ctx->device->ops->name, "mock")) {
    pc = Make(ctx, "ilu", A, EXACT "-x_pc_factor_kernel mock\n-x_pc_factor_sweeps 2");
    PoiseErr e = PoisePCSetUp(pc);
    CHECK(e == POISE_ERR_UNSUPPORTED || e == POISE_ERR_REMOTE);
    CHECK(strstr(PoiseErrorMessage(), "-x_pc_factor_sweeps asks for 2 sweeps") != NULL);
    CHECK_OK(PoiseOptionsSetString(ctx, "-x_pc_factor_kernel own"));
    CHECK_OK(PoiseBarrier(ctx));
    PoisePCDestroy(&pc);
  }
  pc = MakeBy("icc", A, 2, 1);
  if (PoiseSize(ctx) < 8)
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 0, POISE_ERR_UNSUPPORTED),
              "entry (0, 2) is stored and (2, 0) is not");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- changes, dots, bits, memory ------------------------------------------------------------- */

/* New values of the same pattern: as by a new preconditioner, without memory. Other numbers of sweeps, and
   none, through one of them. */
static void TestRefresh(PoiseContext ctx)
{
  static const int cases[][2] = {{2, 2}, {0, 3}, {3, 0}, {0, 0}, {1, 1}};
  Shape s = ShapeOf(ctx, SYMMETRIC, UNEVEN, 33), t = s;
  for (int k = 0; k < 2; k++) {
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = MakeBy(k ? "icc" : "ilu", A, 2, 2);
    CHECK_NEAR(SweepsDefect(pc, &s, 2, 2), 0, 1e-13);
    t.diagonal = 7;
    CHECK_OK(PoiseMatZeroEntries(A));
    AddRows(A, &t);
    int64_t calls = ctx->memory.calls, generation = pc->generation;
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_INT(ctx->memory.calls, calls);
    CHECK_INT(pc->generation, generation);
    for (int q = 0; q < 5; q++) {
      char text[100];
      snprintf(text, sizeof text, "-x_pc_factor_setup_sweeps %d\n-x_pc_factor_sweeps %d", cases[q][0],
               cases[q][1]);
      SetOptions(ctx, text);
      CHECK_OK(PoisePCSetFromOptions(pc));
      CHECK_NEAR(SweepsDefect(pc, &t, cases[q][0], cases[q][1]), 0, 1e-13);
    }
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static void TestFuseAndSkip(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 30, 40, 33, 0);
  ctx->device->threads = 2;
  for (int sweeps = 1; sweeps <= 3; sweeps++) {
    PoisePC pc = MakeBy(sweeps % 2 ? "icc" : "ilu", A, 2, sweeps);
    CheckFusedApply(pc, true);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  PoiseMat A = Grid(ctx, 30, 40, 33, 0), B = Grid(ctx, 30, 40, 33, 1);
  for (int k = 0; k < 4; k++) {
    if (k == 3) continue; /* icc, and a pattern that is not symmetric */
    PoisePC pc = MakeBy(k % 2 ? "icc" : "ilu", k < 2 ? A : B, 3, 2);
    SampleKeep(ctx, arg, Apply(pc));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

/* A dense row and column at the end: no entry costs its square. */
static void TestLongRow(PoiseContext ctx)
{
  PoiseInt n = 100000;
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n, n, &A))) return;
  for (PoiseInt i = 0; i < n; i++) {
    PoiseInt j = n - 1;
    double two = 2, minus = -1 / (double)n;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &two));
    if (i == j) continue;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &minus));
    CHECK_OK(PoiseMatAddBlock(A, 1, &j, 1, &i, &minus));
  }
  CHECK_OK(PoiseMatAssemble(A));
  for (int k = 0; k < 2; k++) { /* without fill, and of two levels: two sweeps are exact */
    PoisePC exact = MakeBy(k ? "icc" : "ilu", A, 0, 0), pc = MakeBy(k ? "icc" : "ilu", A, 2, 0);
    CHECK(Apply(exact) == Apply(pc));
    PoisePCDestroy(&exact);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static void TestView(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy("icc", A, 4, 3);
  char text[400];
  FILE *out = TestPrintBegin(ctx);
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(PoisePCView(pc));
  TestPrintEnd(ctx, out, text, sizeof text);
  CHECK((strstr(text, "factors by 4 sweeps over all entries at once\n") != NULL) == (PoiseRank(ctx) == 0));
  CHECK((strstr(text, "solves by 3 Jacobi sweeps with each triangle\n") != NULL) == (PoiseRank(ctx) == 0));
  CHECK(!strstr(text, "levels forward"));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* On a device that is said to be fast, or slow: 100 products are shorter than any set-up, or longer. A set-up
   that nobody notices is no reason to warn. */
static void TestWarning(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 9, 8, 7, 0);
  double bandwidth = ctx->device->model.bandwidth;
  PoisePC pc = MakeBy("ilu", A, 0, 0);
  CHECK_OK(PoisePCSetUp(pc));
  Incomplete *f = pc->data;
  for (int k = 0; k < 4; k++) {
    char text[500];
    bool first = PoiseRank(ctx) == 0, fast = k % 2 == 1, noticed = k / 2 == 1;
    ctx->device->model.bandwidth = fast ? 1e30 : 1;
    f->seconds = noticed ? 0.2 : 0.01;
    TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
    CHECK((strstr(text, "  set-up: ") != NULL) == first);
    CHECK((strstr(text, "products: try -x_pc_factor_setup_sweeps, or amg") != NULL) ==
          (first && fast && noticed));
  }
  ctx->device->model.bandwidth = bandwidth;
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
  CHECK_NEAR(SweepsDefect(pc, shape, 2, 2), 0, 1e-13);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  CHECK_OK(PoiseOptionsSetString(ctx, "-memory_pc_factor_sweeps 2\n-memory_pc_factor_setup_sweeps 2"));
  CHECK_OK(PoiseBarrier(ctx));
  CheckWithoutMemory(A, UseBoth, 16, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {
    {"ilu", TestILU, 0},
    {"icc", TestICC, 0},
    {"upper", TestUpper, 0},
    {"enough", TestEnough, 0},
    {"solve", TestSolve, 0},
    {"replay", TestReplay, 0},
    {"bad_pivots", TestBadPivots, 0},
    {"shift", TestShift, 0},
    {"refused", TestRefused, 0},
    {"refresh", TestRefresh, 0},
    {"fuse_and_skip", TestFuseAndSkip, 0},
    {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
    {"long_row", TestLongRow, TEST_SERIAL | TEST_HOST_ONLY},
    {"view", TestView, 0},
    {"warning", TestWarning, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_sweeps", tests);
}

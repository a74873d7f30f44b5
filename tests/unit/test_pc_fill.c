/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Factors with fill of levels. The reference is the definition on dense arrays: levels by the rule of sums,
  and then elimination that drops what has a higher level.
*/
#include "pc/factor.h"
#include "shapes.h"

/* Widen the pattern to that of so many levels, by blocks of b. */
static void Widen(Dense *d, int b, int levels)
{
  int m = d->m / b, *level = malloc((size_t)(m * m + 1) * sizeof *level), far = 1 << 20;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) level[i * m + j] = d->stored[i * b * d->m + j * b] ? 0 : far;
  for (int k = 0; k < m; k++)
    for (int i = k + 1; i < m; i++)
      for (int j = k + 1; j < m; j++) {
        int sum = level[i * m + k] + level[k * m + j] + 1;
        if (sum < level[i * m + j]) level[i * m + j] = sum;
      }
  for (int i = 0; i < d->m; i++)
    for (int j = 0; j < d->m; j++) d->stored[i * d->m + j] = level[i / b * m + j / b] <= levels;
  free(level);
}

/* Do the factors have the reference's pattern and numbers? In exact arithmetic both are the same. */
static void CheckEntries(PoisePC pc, const Dense *d)
{
  Incomplete *f = pc->data;
  Triangles t;
  const double *lu, *inverse;
  int64_t entries = 0, stored = 0;
  if (!CHECK_OK(poiseTriangularView(pc, &f->triangular, HOST, &t))) return;
  CHECK_OK(poiseBufferRead(&f->lu, HOST, &lu));
  CHECK_OK(poiseBufferRead(&f->d, HOST, &inverse));
  CHECK_INT(t.n, d->m);
  for (int64_t i = 0; i < t.n; i++) {
    int64_t begin = poiseOffset(&t, t.begin, i), end = poiseOffset(&t, t.end, i);
    CHECK_INT(t.col[poiseOffset(&t, t.diag, i)], i);
    CHECK_NEAR(inverse[i] * d->a[i * t.n + i], 1, 1e-12);
    for (int64_t k = begin; k < end; k++, entries++) {
      CHECK(k == begin || t.col[k - 1] < t.col[k]);
      CHECK(d->stored[i * t.n + t.col[k]]);
      CHECK_NEAR(lu[k], d->a[i * t.n + t.col[k]], 1e-12);
    }
  }
  for (int k = 0; k < d->m * d->m; k++) stored += d->stored[k];
  CHECK_INT(entries, stored);
}

static void CheckLevels(PoisePC pc, const Shape *s, int levels, double shift)
{
  Dense d = DenseOf(s, shift);
  Widen(&d, 1, levels);
  Eliminate(&d, 0);
  CHECK_NEAR(Difference(pc, SolveFactors, &d), 0, 1e-12);
  CheckEntries(pc, &d);
  DenseFree(&d);
}

static void SetLevels(PoisePC pc, int levels)
{
  char text[60];
  snprintf(text, sizeof text, "-x_pc_factor_levels %d", levels);
  SetOptions(pc->ctx, text);
  CHECK_OK(PoisePCSetFromOptions(pc));
}

/* One preconditioner through all levels, up and down. */
static void TestLevels(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  static const PoiseInt sizes[] = {0, 1, 2, 29, 64};
  static const int levels[] = {1, 2, 0, 3, 40, 1};
  for (int q = 0; q < 2; q++)
    for (int k = 0; k < 5; k++)
      for (int kind = q ? SYMMETRIC : 0; kind < NKINDS; kind++)
        for (int layout = 0; layout < NLAYOUTS; layout += kind ? 2 : 1) {
          Shape s = ShapeOf(ctx, kind, layout, sizes[k]);
          if (q && kind != SYMMETRIC && kind != TRIDIAGONAL) continue;
          s.diagonal = kind == FULL ? 40 : 8;
          PoiseMat A = Matrix(ctx, &s);
          PoisePC pc = Make(ctx, types[q], A, "-x_pc_factor_levels 0");
          for (int l = 0; l < 6; l++) {
            SetLevels(pc, levels[l]);
            CHECK_OK(PoisePCSetUp(pc));
            CheckLevels(pc, &s, levels[l], ((Incomplete *)pc->data)->shift);
          }
          PoisePCDestroy(&pc);
          PoiseMatDestroy(&A);
        }
}

/* With all levels the factors are exact: one application solves with the rank's own block. */
static void TestExact(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, EVEN, 40);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "ilu", A, "-x_pc_factor_levels 1000");
  Dense d = DenseOf(&s, 0);
  for (int k = 0; k < d.m * d.m; k++) d.stored[k] = true;
  Eliminate(&d, 0);
  CHECK_NEAR(Difference(pc, SolveFactors, &d), 0, 1e-12);
  DenseFree(&d);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Blocks of b where the shape of rows has entries, with numbers of the shape of scalars. */
static Dense Blocky(const Shape *rows, const Shape *s, int b)
{
  Dense d = DenseOf(s, 0);
  for (int i = 0; i < d.m; i++)
    for (int j = 0; j < d.m; j++) {
      d.stored[i * d.m + j] = Stored(rows, rows->begin + i / b, rows->begin + j / b);
      d.a[i * d.m + j] = d.stored[i * d.m + j] ? Value(s, s->begin + i, s->begin + j) : 0;
    }
  return d;
}

static PoiseMat BlockMatrix(PoiseContext ctx, const Shape *rows, const Shape *s, int b, const char *type)
{
  PoiseMat A;
  PoiseInt m = s->end - s->begin;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, s->n, s->n, &A))) return NULL;
  CHECK_OK(PoiseMatSetType(A, type));
  CHECK_OK(PoiseMatSetBlockSize(A, b));
  for (PoiseInt i = s->begin; i < s->end; i++)
    for (PoiseInt j = 0; j < s->n; j++) {
      double v = Value(s, i, j);
      if (Stored(rows, i / b, j / b)) CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Levels are those of blocks. Elimination of dominant blocks exchanges no rows, so numbers tell. */
static void TestBlocks(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  for (int b = 2; b <= 5; b++)
    for (int k = 0; k < 8; k++) {
      Shape rows = ShapeOf(ctx, SYMMETRIC, EVEN, 24), s = rows;
      if (k % 2 == 0) rows.kind = ANY;
      s.n *= b, s.begin *= b, s.end *= b;
      s.diagonal = 30, s.kind = k % 2 ? SYMMETRIC : FULL;
      PoiseMat A = BlockMatrix(ctx, &rows, &s, b, "bcsr");
      char text[60];
      snprintf(text, sizeof text, "-x_pc_factor_levels %d", k / 2);
      PoisePC pc = Make(ctx, types[k % 2], A, text);
      Dense d = Blocky(&rows, &s, b);
      Widen(&d, b, k / 2);
      Eliminate(&d, 0);
      CHECK_NEAR(Difference(pc, SolveFactors, &d), 0, 1e-12);
      CHECK_INT(((Incomplete *)pc->data)->triangular.b, b);
      DenseFree(&d);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

/* New values allocate nothing and keep captured loops; a new pattern has new levels. */
static void TestRefresh(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  for (int q = 0; q < 2; q++) {
    Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33), t = s, u = ShapeOf(ctx, TRIDIAGONAL, EVEN, 33);
    s.diagonal = 8, t.diagonal = 9;
    PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &u);
    PoisePC pc = Make(ctx, types[q], A, "-x_pc_factor_levels 1");
    CHECK_OK(PoisePCSetUp(pc));
    CheckLevels(pc, &s, 1, 0);
    CHECK_OK(PoiseMatZeroEntries(A));
    AddRows(A, &t);
    int64_t calls = ctx->memory.calls, generation = pc->generation;
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_INT(ctx->memory.calls, calls);
    CHECK_INT(pc->generation, generation);
    CheckLevels(pc, &t, 1, 0);
    CHECK_OK(PoisePCSetOperator(pc, B));
    CHECK_OK(PoisePCSetUp(pc));
    CHECK(pc->generation > generation);
    CheckLevels(pc, &u, 1, 0);
    PoiseMatDestroy(&A);
    CHECK_OK(PoisePCSetUp(pc));
    CheckLevels(pc, &u, 1, 0);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&B);
  }
}

/* A matrix is refused for what it is, not for its fill. */
static void TestRefused(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 24);
  PoiseMat A = Unmirrored(ctx, &s);
  PoisePC pc = Make(ctx, "icc", A, "-x_pc_factor_levels 3");
  bool mine = s.begin == 0 && s.end > 0;
  if (PoiseSize(ctx) < 8)
    CHECK_ERR(PoisePCSetUp(pc), mine ? POISE_ERR_UNSUPPORTED : POISE_ERR_REMOTE,
              "entry (0, 2) is stored and (2, 0) is not");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  s = ShapeOf(ctx, SYMMETRIC, EVEN, 24);
  s.weak = 0, s.value = 0;
  A = Matrix(ctx, &s);
  pc = Make(ctx, "ilu", A, "-x_pc_factor_levels 2");
  CHECK_ERR(PoisePCSetUp(pc), mine ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, "the pivot of row 0 is 0");
  SetOptions(ctx, "-x_pc_factor_shift_type nonzero\n-x_pc_factor_shift_amount 4");
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  CheckLevels(pc, &s, 2, ((Incomplete *)pc->data)->shift);
  CHECK(!mine || ((Incomplete *)pc->data)->shift > 0);
  PoiseInt row = 7;
  double v = NAN;
  if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(A, 1, &row, 1, &row, &v));
  CHECK_OK(PoiseMatAssemble(A));
  mine = 7 >= s.begin && 7 < s.end;
  CHECK_ERR(PoisePCSetUp(pc), mine ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, "not finite");
  SetOptions(ctx, "-x_pc_factor_shift_type none");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- bits, memory, iterations ---------------------------------------------------------------- */

static const char *const wide[] = {
    "-x_pc_factor_levels 1", "-x_pc_factor_levels 3", "-x_pc_factor_levels 1\n-x_pc_factor_sweeps 2",
    "-x_pc_factor_levels 1\n-x_pc_factor_sweeps 0\n-x_pc_factor_setup_sweeps 3"};

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  PoiseMat A = Grid(ctx, 20, 21, 22, 0), B = Grid(ctx, 20, 21, 22, 1);
  for (int k = 0; k < 8; k++) SampleKeep(ctx, arg, Applied(A, k % 2 ? "icc" : "ilu", wide[k / 2]));
  SetOptions(ctx, "-x_pc_factor_sweeps 0\n-x_pc_factor_setup_sweeps 0");
  for (int k = 0; k < 2; k++) SampleKeep(ctx, arg, Applied(B, "ilu", wide[k]));
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

/* Threads that share the rows in another way find the same fill. */
static void TestThreads(PoiseContext ctx)
{
  static const int threads[] = {1, 2, 7};
  int before = ctx->device->threads;
  uint64_t digest[3];
  PoiseMat A = Grid(ctx, 25, 26, 27, 1);
  for (int k = 0; k < 3; k++) {
    ctx->device->threads = threads[k];
    digest[k] = Applied(A, "ilu", "-x_pc_factor_levels 2");
  }
  CHECK(digest[0] == digest[1] && digest[0] == digest[2]);
  ctx->device->threads = before;
  PoiseMatDestroy(&A);
}

static PoiseErr UseLevels(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "x_"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  POISE_TRY(PoisePCSetType(pc, "ilu"));
  POISE_TRY(PoisePCSetFromOptions(pc));
  return PoisePCApply(pc, g->r, g->z);
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *shape)
{
  (void)g, (void)failed;
  if (strcmp(PoisePCType(pc), "ilu")) return;
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  CheckLevels(pc, shape, 2, 0);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, EVEN, 33);
  s.diagonal = 8;
  PoiseMat A = Matrix(ctx, &s);
  SetOptions(ctx, "-x_pc_factor_levels 2");
  CheckWithoutMemory(A, UseLevels, 40, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

static void CheckFused(PoiseContext ctx, PoiseMat A, const char *type, const char *options)
{
  PoisePC pc = Make(ctx, type, A, options);
  CheckFusedApply(pc, true);
  PoisePCDestroy(&pc);
}

static void TestFuseAndSkip(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 15, 16, 17, 0);
  CheckFused(ctx, A, "ilu", "-x_pc_factor_levels 2");
  CheckFused(ctx, A, "icc", "-x_pc_factor_levels 1");
  PoiseMatDestroy(&A);
}

/* Iterations to 1e-10. */
static PoiseInt Iterations(PoiseMat A, const char *method, const char *type, const char *options)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseKSP ksp;
  PoiseVec x, b;
  double norm[2];
  SetOptions(ctx, options);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return INT32_MAX;
  SampleFill(b, 9);
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "x_"));
  CHECK_OK(PoiseOptionsSet(ctx, "x_ksp_type", method));
  CHECK_OK(PoiseOptionsSet(ctx, "x_pc_type", type));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, -1));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK(PoiseKSPConvergedReason(ksp) > 0);
  CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &norm[0]));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm[1]));
  CHECK(norm[0] <= 1e-8 * norm[1]);
  PoiseInt its = PoiseKSPIterations(ksp);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  return its;
}

/* Each level takes fewer iterations than the one before. */
static void TestIterations(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 24, 24, 42, 0), B = Grid(ctx, 24, 24, 42, 0.3);
  PoiseInt before[2] = {INT32_MAX, INT32_MAX};
  for (int k = 0; k < 4; k += k ? 2 : 1) {
    char text[60];
    snprintf(text, sizeof text, "-x_pc_factor_levels %d", k);
    PoiseInt cg = Iterations(A, "cg", "icc", text), gmres = Iterations(B, "gmres", "ilu", text);
    CHECK(cg < before[0] && gmres < before[1]);
    before[0] = cg, before[1] = gmres;
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestView(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "ilu", A, "-x_pc_factor_levels 2");
  char text[900];
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK((strstr(text, "fill of level 2, shift none") != NULL) == (PoiseRank(ctx) == 0));
  CHECK((strstr(text, ", 1 times those of the matrix") != NULL) == (PoiseRank(ctx) == 0));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* What it will hold is counted, or said not to be known. */
static void TestPredict(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  for (int k = 0; k < 16; k++) {
    Shape rows = ShapeOf(ctx, k % 2 ? SYMMETRIC : ANY, EVEN, 40), s = rows;
    PoisePrediction p;
    PoiseBytes held;
    int b = k / 8 ? 3 : 1;
    s.n *= b, s.begin *= b, s.end *= b, s.diagonal = 30;
    if (k % 2) s.kind = SYMMETRIC;
    PoiseMat A = BlockMatrix(ctx, &rows, &s, b, b > 1 ? "bcsr" : "csr");
    PoisePC pc = Make(ctx, types[k % 2], A, NULL);
    CHECK_OK(PoisePCSetOptionsPrefix(pc, "x_"));
    SetOptions(ctx, k / 4 % 2 ? "-x_pc_factor_sweeps 2" : "-x_pc_factor_sweeps 0");
    SetLevels(pc, 1 + k / 2 % 2);
    CHECK_OK(PoisePCPredictBytes(pc, &(PoiseMatCounts){.nonzeros = 9 * b * b * (s.end - s.begin)}, &p));
    CHECK(p.beyond != NULL);
    CHECK_OK(PoisePCPredictBytes(pc, NULL, &p));
    CHECK(!p.beyond);
    CHECK_OK(PoisePCSetUp(pc));
    int64_t generation = pc->generation;
    CHECK_OK(PoisePCBytes(pc, &held));
    CHECK(p.least.host <= held.host && held.host <= p.most.host);
    CHECK(p.least.device <= held.device && held.device <= p.most.device);
    CHECK(p.most.device <= 2 * p.least.device + 100);
    CHECK_OK(PoisePCPredictBytes(pc, NULL, &p));
    CHECK_INT(pc->generation, generation);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, "-x_pc_factor_sweeps 0");
}

static const Test tests[] = {{"levels", TestLevels, 0},
                             {"exact", TestExact, 0},
                             {"blocks", TestBlocks, 0},
                             {"refresh", TestRefresh, 0},
                             {"refused", TestRefused, 0},
                             {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
                             {"threads", TestThreads, 0},
                             {"memory", TestMemory, 0},
                             {"fuse_and_skip", TestFuseAndSkip, 0},
                             {"iterations", TestIterations, 0},
                             {"view", TestView, 0},
                             {"predict", TestPredict, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_fill", tests);
}

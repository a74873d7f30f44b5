/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Colourings, and sweeps by colours. A colouring is judged by its definition, on dense patterns; sweeps by
  textbook loops over the rows, or blocks of rows, in the order of their colours.
*/
#include "colour_order.h"
#include "shapes.h"

/* ---- colourings ------------------------------------------------------------------------------ */

/* Places are in whole groups of a colour, whose rows ascend; each row has one. */
static void CheckPlaces(const Order *o)
{
  const Colours *c = &o->of;
  int64_t rows = 0;
  CHECK(c->count > 0 || c->n == 0);
  for (int k = 0; k < c->count; k++) {
    int64_t last = -1, begin = c->start[k], end = c->start[k + 1], members = 0;
    CHECK(begin % c->unit == 0 && end > begin);
    for (int64_t p = begin; p < end; p++) {
      int64_t i = o->row[p] - 1;
      if (i < 0) continue;
      CHECK(i > last && i < c->n && o->colour[i] == k && o->place[i] == p);
      last = i, members++;
    }
    CHECK(members > 0 && end - begin < members + c->unit);
    rows += members;
  }
  CHECK_INT(rows, c->n);
}

static void CheckColours(const Order *o, const Shape *s)
{
  bool right = true;
  int neighbours = 0;
  for (PoiseInt i = s->begin; i < s->end; i++) {
    int count = 0;
    for (PoiseInt j = s->begin; j < s->end; j++) {
      if (i == j || !(Stored(s, i, j) || Stored(s, j, i))) continue;
      right = right && o->colour[i - s->begin] != o->colour[j - s->begin];
      count++;
    }
    if (count > neighbours) neighbours = count;
  }
  CHECK(right);
  CHECK(o->of.count <= neighbours + 1);
}

static void TestShapes(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29, 60};
  for (int q = 0; q < 5; q++)
    for (int kind = 0; kind < NKINDS; kind++)
      for (int layout = 0; layout < NLAYOUTS; layout++) {
        Shape s = ShapeOf(ctx, kind, layout, sizes[q]);
        PoiseMat A = Matrix(ctx, &s);
        PoisePC pc = Make(ctx, "sor", A, NULL);
        Order o;
        for (int unit = 1; unit < 9; unit += 7) {
          if (OpenOrder(pc, unit, &o)) {
            CheckPlaces(&o);
            CheckColours(&o, &s);
          }
          poiseColoursDestroy(ctx, &o.of);
        }
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
}

/* A grid of nx x ny x nz points, whose stencil has all neighbours, or those along axes. */
static PoiseMat Stencil(PoiseContext ctx, int nx, int ny, int nz, bool corners)
{
  PoiseInt begin, m, N = (PoiseInt)nx * ny * nz;
  PoiseMat A;
  PoiseSplit(ctx, N, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + m; i++)
    for (int dz = -1; dz <= 1; dz++)
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
          PoiseInt x = i % nx + dx, y = i / nx % ny + dy, z = i / nx / ny + dz, j = (z * ny + y) * nx + x;
          double v = dx || dy || dz ? -1 : 27;
          if (x < 0 || x >= nx || y < 0 || y >= ny || z < 0 || z >= nz) continue;
          if (!corners && abs(dx) + abs(dy) + abs(dz) > 1) continue;
          if (!CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v))) return NULL;
        }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* As few as there can be, on one rank. */
static void TestGrids(PoiseContext ctx)
{
  static const int size[][3] = {{40, 1, 1}, {12, 11, 1}, {13, 12, 1}, {8, 9, 7}, {7, 8, 9}, {12, 10, 11}};
  for (int k = 0; k < 6; k++)
    for (int corners = 0; corners < 2; corners++) {
      const int *n = size[k];
      int axes = 1 + (n[1] > 1) + (n[2] > 1), least = corners ? 1 << axes : 2;
      PoiseMat A = Stencil(ctx, n[0], n[1], n[2], corners);
      PoisePC pc = Make(ctx, "sor", A, NULL);
      Order o;
      if (OpenOrder(pc, 1, &o)) {
        CheckPlaces(&o);
        if (PoiseSize(ctx) == 1)
          CHECK_INT(o.of.count, least);
        else
          CHECK(o.of.count <= 3 * least);
      }
      poiseColoursDestroy(ctx, &o.of);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* x = D^-1 x, of block I. */
static void SolveDiagonal(const Dense *d, int b, int I, long double *x)
{
  long double a[8 * 8];
  for (int r = 0; r < b; r++)
    for (int c = 0; c < b; c++) a[r * b + c] = d->a[(I * b + r) * d->m + I * b + c];
  for (int k = 0; k < b; k++) /* which is dominant */
    for (int r = 0; r < b; r++) {
      long double f = a[r * b + k] / a[k * b + k];
      if (r == k) continue;
      for (int c = 0; c < b; c++) a[r * b + c] -= f * a[k * b + c];
      x[r] -= f * x[k];
    }
  for (int k = 0; k < b; k++) x[k] /= a[k * b + k];
}

typedef struct Textbook {
  const Dense *d;
  const Relaxation *w;
  const int *rows;
  int b;
} Textbook;

static void Relax(const Textbook *t, int I, const long double *r, long double *x)
{
  const Dense *d = t->d;
  int b = t->b;
  long double sum[8];
  for (int q = 0; q < b; q++) {
    sum[q] = r[I * b + q];
    for (int j = 0; j < d->m; j++)
      if (j / b != I) sum[q] -= d->a[(I * b + q) * d->m + j] * x[j];
  }
  SolveDiagonal(d, b, I, sum);
  for (int q = 0; q < b; q++)
    x[I * b + q] = (1 - t->w->omega) * x[I * b + q] + (long double)t->w->omega * sum[q];
}

static void SweepTextbook(const void *textbook, long double *x)
{
  const Textbook *t = textbook;
  int m = t->d->m, n = m / t->b;
  long double *r = malloc((size_t)(m + 1) * sizeof *r);
  for (int i = 0; i < m; i++) r[i] = x[i], x[i] = 0;
  for (PoiseInt k = 0; k < t->w->its * t->w->lits; k++) {
    for (int q = 0; q < n && t->w->directions & FORWARD; q++) Relax(t, t->rows[q], r, x);
    for (int q = n - 1; q >= 0 && t->w->directions & BACKWARD; q--) Relax(t, t->rows[q], r, x);
  }
  free(r);
}

/* Of one outer sweep, or on one rank. */
static double Defect(PoisePC pc, const Shape *s, int b, const Relaxation *w)
{
  Dense d = DenseOf(s, 0);
  Order o;
  double worst = INFINITY;
  if (OpenOrder(pc, 1, &o)) {
    int *rows = Sequence(&o);
    worst = Difference(pc, SweepTextbook, &(Textbook){&d, w, rows, b});
    free(rows);
  }
  poiseColoursDestroy(pc->ctx, &o.of);
  DenseFree(&d);
  return worst;
}

static void SetWays(PoisePC pc, const Relaxation *w)
{
  char text[300];
  snprintf(text, sizeof text,
           "-x_pc_sor_order colours\n-x_pc_sor_omega %g\n-x_pc_sor_its %d\n-x_pc_sor_lits %d\n"
           "-x_pc_sor_forward %d\n-x_pc_sor_backward %d",
           w->omega, (int)w->its, (int)w->lits, w->directions == FORWARD, w->directions == BACKWARD);
  SetOptions(pc->ctx, text);
  CHECK_OK(PoisePCSetOptionsPrefix(pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(pc));
}

static const Relaxation cases[] = {{1, 3, 1, 1},   {1.5, 3, 1, 1}, {0.7, 1, 1, 1}, {1.2, 2, 1, 1},
                                   {1.2, 3, 1, 3}, {0.9, 1, 1, 2}, {1.1, 2, 1, 2}};
enum { CASES = sizeof cases / sizeof *cases };

static void TestNumbers(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 33};
  for (int q = 0; q < 3; q++)
    for (int kind = 0; kind < NKINDS; kind++)
      for (int layout = 0; layout < NLAYOUTS; layout++) {
        Shape s = ShapeOf(ctx, kind, layout, sizes[q]);
        if (kind == FULL || kind == ARROW) s.diagonal = 40;
        PoiseMat A = Matrix(ctx, &s);
        PoisePC pc = Make(ctx, "sor", A, NULL);
        for (int k = 0; k < CASES; k++) { /* one preconditioner through all of them */
          SetWays(pc, &cases[k]);
          CHECK_NEAR(Defect(pc, &s, 1, &cases[k]), 0, 1e-13);
        }
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
}

static void TestBlocks(PoiseContext ctx)
{
  for (int b = 2; b <= 8; b++)
    for (int kind = ANY; kind <= TRIDIAGONAL; kind++) {
      Shape s;
      PoiseMat A = BlockyShape(ctx, kind, b, 7, 60, &s);
      PoisePC pc = Make(ctx, "sor", A, NULL);
      for (int k = 0; k < CASES; k++) {
        SetWays(pc, &cases[k]);
        CHECK_NEAR(Defect(pc, &s, b, &cases[k]), 0, 1e-13);
      }
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Several outer sweeps: each adds that of the residual of the whole matrix. */
static void TestOuter(PoiseContext ctx)
{
  const Relaxation once = {1.1, 3, 1, 2}, thrice = {1.1, 3, 3, 2};
  Shape s = ShapeOf(ctx, SYMMETRIC, UNEVEN, 50);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC one = Make(ctx, "sor", A, NULL), all = Make(ctx, "sor", A, NULL);
  PoiseVec b, r, x, z;
  double norm = 1;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseVecDuplicate(b, &r)) ||
      !CHECK_OK(PoiseVecDuplicate(b, &z)))
    return;
  SampleFill(b, 6);
  CHECK_OK(PoiseVecSet(x, 0));
  SetWays(one, &once);
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseMatResidual(A, b, x, r));
    CHECK_OK(PoisePCApply(one, r, z));
    CHECK_OK(PoiseVecAXPY(x, 1, z));
  }
  SetWays(all, &thrice);
  CHECK_OK(PoisePCApply(all, b, z));
  CHECK_OK(PoiseVecAXPY(z, -1, x));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, 0, 1e-13);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&one);
  PoisePCDestroy(&all);
  PoiseMatDestroy(&A);
}

/* ---- in a solver ----------------------------------------------------------------------------- */

static PoiseInt Solve(PoiseMat A, const char *method, const char *order)
{
  char text[300];
  snprintf(text, sizeof text,
           "-s_ksp_type %s\n-s_pc_type sor\n-s_pc_sor_order %s\n-s_ksp_rtol 1e-10\n"
           "-s_ksp_norm_type unpreconditioned%s",
           method, order, strcmp(method, "cg") ? "\n-s_ksp_pc_side right" : "\n-s_ksp_pc_side left");
  return IterationsBy(A, text);
}

static void TestSolve(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 12, 12, 0), B = Grid(ctx, 12, 12, 12, 0.5);
  PoisePC pc = Make(ctx, "sor", A, NULL);
  SetWays(pc, &cases[0]);
  CheckSymmetric(pc);
  CHECK(Solve(A, "cg", "colours") <= 2 * Solve(A, "cg", "natural"));
  CHECK(Solve(B, "bicgstab", "colours") <= 2 * Solve(B, "bicgstab", "natural"));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* Systems at once go through it one by one. */
static void TestSeveral(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 11, 8, 0);
  PoiseVec R, Z, r, z, d;
  double norm = 1;
  PoisePC pc = Make(ctx, "sor", A, NULL);
  SetWays(pc, &cases[1]);
  CHECK_OK(PoisePCSetUp(pc));
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(z, &d)) ||
      !CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(r), PoiseVecSize(r), 3, &R)) ||
      !CHECK_OK(PoiseVecDuplicate(R, &Z)))
    return;
  for (int j = 0; j < 3; j++) {
    SampleFill(r, (uint64_t)j);
    CHECK_OK(PoiseVecSetColumn(R, j, r));
  }
  CHECK_OK(PoiseAgree(ctx, poisePCReadyColumns(pc, 3)));
  CHECK_OK(PoiseAgree(ctx, poisePCApplyFuse(pc, R, Z, NULL, NULL)));
  for (int j = 0; j < 3; j++) {
    CHECK_OK(PoiseVecGetColumn(R, j, r));
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK_OK(PoiseVecGetColumn(Z, j, d));
    CHECK_OK(PoiseVecAXPY(d, -1, z));
    CHECK_OK(PoiseVecNorm(d, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 0);
  }
  PoiseVecDestroy(&R);
  PoiseVecDestroy(&Z);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&d);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestFuseAndSkip(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 11, 8, 0);
  for (int k = 0; k < CASES; k++) {
    PoisePC pc = Make(ctx, "sor", A, NULL);
    SetWays(pc, &cases[k]);
    CheckFusedApply(pc, true);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  PoiseMat A = Grid(ctx, 30, 40, 33, 0), B = Grid(ctx, 30, 40, 33, 1);
  for (int k = 0; k < CASES; k++) {
    PoisePC pc = Make(ctx, "sor", k % 2 ? B : A, NULL);
    SetWays(pc, &cases[k]);
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

/* ---- from a guess ---------------------------------------------------------------------------- */

/* |relaxed z - (z + M^-1 (r - A z))| */
static double RelaxationDefect(PoisePC pc, PoiseMat A)
{
  PoiseVec r, z, rest, step;
  double norm = INFINITY;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &z, &r)) || !CHECK_OK(PoiseVecDuplicate(r, &rest)) ||
      !CHECK_OK(PoiseVecDuplicate(z, &step)))
    return INFINITY;
  SampleFill(r, 3);
  SampleFill(z, 4);
  CHECK_OK(PoiseMatResidual(A, r, z, rest));
  CHECK_OK(PoisePCApply(pc, rest, step));
  CHECK_OK(PoiseVecAXPY(step, 1, z));
  CHECK_OK(poisePCRelax(pc, r, z, NULL));
  CHECK_OK(PoiseVecAXPY(z, -1, step));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&rest);
  PoiseVecDestroy(&step);
  return norm;
}

/* In both orders. Ranks among others have no such way. */
static void TestRelax(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, EVEN, 41), t;
  PoiseMat of[] = {Matrix(ctx, &s), BlockyShape(ctx, ANY, 3, 7, 60, &t), Grid(ctx, 12, 11, 8, 0.5)};
  for (int m = 0; m < 3; m++) {
    for (int k = 0; k < 2 * CASES; k++) {
      PoisePC pc = Make(ctx, "sor", of[m], NULL);
      SetWays(pc, &cases[k / 2]);
      SetOptions(ctx, k % 2 ? "-x_pc_sor_order natural" : "-x_pc_sor_order colours");
      CHECK_OK(PoisePCSetFromOptions(pc));
      poisePCRelaxes(pc, true);
      CHECK_OK(PoisePCSetUp(pc));
      CHECK_INT(pc->relaxes, PoiseSize(ctx) == 1);
      if (pc->relaxes) CHECK_NEAR(RelaxationDefect(pc, of[m]), 0, 1e-12);
      PoisePCDestroy(&pc);
    }
    PoiseMatDestroy(&of[m]);
  }
}

/* x after five iterations of richardson with this M and norm, from a guess if `from`. */
static PoiseVec Iterated(PoiseMat A, const char *words, const char *norm, bool from, bool *relaxed)
{
  PoiseContext ctx = A->ctx;
  PoiseKSP ksp;
  PoisePC pc;
  PoiseVec x, b;
  char text[400];
  snprintf(text, sizeof text,
           "-q_ksp_type richardson\n-q_ksp_max_it 5\n-q_ksp_rtol 1e-30\n-q_ksp_norm_type %s\n"
           "-q_ksp_initial_guess_nonzero %d\n-q_pc_type sor\n%s",
           norm, from, words);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return NULL;
  SetOptions(ctx, text);
  SampleFill(b, 3);
  SampleFill(x, 4);
  CHECK_OK(PoiseKSPSetOperators(ksp, A, A));
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "q_"));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  *relaxed = pc->relaxes;
  PoiseVecDestroy(&b);
  PoiseKSPDestroy(&ksp);
  return x;
}

/* Where no norm is asked for, the same to rounding as with one. */
static void TestRichardson(PoiseContext ctx)
{
  static const char *const words[] = {
      "-q_pc_sor_order colours", "-q_pc_sor_order colours\n-q_pc_sor_forward\n-q_pc_sor_omega 1.2",
      "-q_pc_sor_order natural\n-q_pc_sor_lits 2", "-q_pc_sor_order colours\n-q_ksp_richardson_scale 0.7"};
  PoiseMat A = Grid(ctx, 12, 11, 8, 0);
  for (int k = 0; k < 8; k++) {
    bool relaxed, other, may = PoiseSize(ctx) == 1 && k / 2 < 3;
    double norm = INFINITY;
    PoiseVec x = Iterated(A, words[k / 2], "none", k % 2, &relaxed),
             y = Iterated(A, words[k / 2], "preconditioned", k % 2, &other);
    CHECK(relaxed == may && !other);
    CHECK_OK(PoiseVecAXPY(x, -1, y));
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 1e-13);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
  }
  PoiseMatDestroy(&A);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* New values need no memory; another order, and more sweeps, do. */
static void TestRefresh(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 50), t = s, other = ShapeOf(ctx, TRIDIAGONAL, EVEN, 50);
  PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &other);
  PoisePC pc = Make(ctx, "sor", A, NULL);
  SetWays(pc, &cases[0]);
  CHECK_NEAR(Defect(pc, &s, 1, &cases[0]), 0, 1e-13);
  t.diagonal = 7;
  CHECK_OK(PoiseMatZeroEntries(A));
  AddRows(A, &t);
  int64_t calls = ctx->memory.calls, generation = pc->generation;
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_INT(ctx->memory.calls, calls);
  CHECK_INT(pc->generation, generation);
  CHECK_NEAR(Defect(pc, &t, 1, &cases[0]), 0, 1e-13);
  CHECK_OK(PoisePCSetOperator(pc, B));
  CHECK_NEAR(Defect(pc, &other, 1, &cases[0]), 0, 1e-13);
  SetWays(pc, &cases[4]);
  CHECK_NEAR(Defect(pc, &other, 1, &cases[4]), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestRefused(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, FULL, EVEN, 300 * PoiseSize(ctx)),
        t = ShapeOf(ctx, TRIDIAGONAL, EVEN, 20 * PoiseSize(ctx));
  s.diagonal = 1000;
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "sor", A, NULL);
  SetWays(pc, &cases[0]);
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "more than 255 colours: sweep in the natural order");
  SetOptions(ctx, "-x_pc_sor_order natural");
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  t.weak = t.begin + 3, t.value = INFINITY;
  A = Matrix(ctx, &t);
  pc = Make(ctx, "sor", A, NULL);
  SetWays(pc, &cases[0]);
  CHECK(PoisePCSetUp(pc) == POISE_ERR_NUMERIC);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestView(PoiseContext ctx)
{
  char text[2000];
  PoiseMat A = Grid(ctx, 6, 6, 6 * PoiseSize(ctx), 0);
  PoisePC pc = Make(ctx, "sor", A, NULL);
  SetWays(pc, &cases[0]);
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  if (PoiseRank(ctx) == 0) CHECK(strstr(text, "rows by colours: 2\n") != NULL);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestChoice(PoiseContext ctx)
{
  CheckChoice(ctx, "sor", "-x_pc_sor_order natural");
}

/* ---- without memory -------------------------------------------------------------------------- */

static PoiseErr UseColours(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetType(pc, "sor"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "memory_"));
  POISE_TRY(PoisePCSetFromOptions(pc));
  return PoisePCApply(pc, g->r, g->z);
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *shape)
{
  const Relaxation w = {1, 3, 1, 2};
  (void)g, (void)failed;
  if (!strcmp(PoisePCType(pc), "none")) return;
  CHECK_OK(PoisePCSetOptionsPrefix(pc, "memory_"));
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_NEAR(Defect(pc, shape, 1, &w), 0, 1e-12);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  CHECK_OK(PoiseOptionsSetString(ctx, "-memory_pc_sor_order colours\n-memory_pc_sor_lits 2"));
  CHECK_OK(PoiseBarrier(ctx));
  CheckWithoutMemory(A, UseColours, 60, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {{"shapes", TestShapes, 0},
                             {"grids", TestGrids, 0},
                             {"numbers", TestNumbers, 0},
                             {"blocks", TestBlocks, 0},
                             {"outer", TestOuter, 0},
                             {"solve", TestSolve, 0},
                             {"several", TestSeveral, 0},
                             {"fuse_and_skip", TestFuseAndSkip, 0},
                             {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
                             {"relax", TestRelax, 0},
                             {"richardson", TestRichardson, 0},
                             {"refresh", TestRefresh, 0},
                             {"refused", TestRefused, 0},
                             {"view", TestView, 0},
                             {"choice", TestChoice, 0},
                             {"memory", TestMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "colours", tests);
}

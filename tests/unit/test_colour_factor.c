/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Preconditioners ilu and icc by colours. The reference is block elimination on dense arrays, on the pattern
  of the block that a rank owns, in the order of the colours.
*/
#include "colour_order.h"
#include "pc/factor.h"
#include "shapes.h"

/* ---- the reference --------------------------------------------------------------------------- */

enum { MOST = 8 };

typedef struct Reference { /* of block rows in their new order */
  int n, b;
  long double *a, *inverse; /* [n][n][b][b], rows of blocks; [n][b][b] */
  bool *stored;             /* [n][n] */
  int *rows;
} Reference;

static long double *BlockAt(const Reference *f, int I, int J)
{
  return f->a + ((int64_t)I * f->n + J) * f->b * f->b;
}

/* to = x y, or to -= x y */
static void Multiply(int b, const long double *x, const long double *y, bool subtract, long double *to)
{
  long double product[MOST * MOST];
  for (int r = 0; r < b; r++)
    for (int c = 0; c < b; c++) {
      product[r * b + c] = subtract ? to[r * b + c] : 0;
      for (int q = 0; q < b; q++) product[r * b + c] += (subtract ? -1 : 1) * x[r * b + q] * y[q * b + c];
    }
  memcpy(to, product, (size_t)(b * b) * sizeof *to);
}

/* Gauss-Jordan, with rows exchanged. */
static void Invert(int b, const long double *from, long double *to)
{
  long double a[MOST * 2 * MOST];
  for (int r = 0; r < b; r++)
    for (int c = 0; c < 2 * b; c++) a[r * 2 * b + c] = c < b ? from[r * b + c] : c - b == r;
  for (int k = 0; k < b; k++) {
    int p = k;
    for (int r = k; r < b; r++)
      if (fabsl(a[r * 2 * b + k]) > fabsl(a[p * 2 * b + k])) p = r;
    for (int c = 0; c < 2 * b; c++) {
      long double t = a[k * 2 * b + c];
      a[k * 2 * b + c] = a[p * 2 * b + c], a[p * 2 * b + c] = t;
    }
    for (int c = 2 * b - 1; c >= k; c--) a[k * 2 * b + c] /= a[k * 2 * b + k];
    for (int r = 0; r < b; r++)
      for (int c = 2 * b - 1; c >= k && r != k; c--) a[r * 2 * b + c] -= a[r * 2 * b + k] * a[k * 2 * b + c];
  }
  for (int r = 0; r < b; r++)
    for (int c = 0; c < b; c++) to[r * b + c] = a[r * 2 * b + b + c];
}

/* P's block, shifted, with rows in the order of their colours. */
static bool Open(PoisePC pc, const Shape *s, int b, double shift, Reference *f)
{
  Dense d = DenseOf(s, shift);
  Order o;
  int n = d.m / b;
  *f = (Reference){.n = n, .b = b};
  f->a = calloc((size_t)(n * b) * (size_t)(n * b) + 1, sizeof *f->a);
  f->inverse = calloc((size_t)(n * b * b) + 1, sizeof *f->inverse);
  f->stored = calloc((size_t)(n * n) + 1, sizeof *f->stored);
  bool good = OpenOrder(pc, 1, &o);
  f->rows = good ? Sequence(&o) : calloc((size_t)n + 1, sizeof *f->rows);
  for (int I = 0; I < n; I++)
    for (int J = 0; J < n; J++)
      for (int q = 0; q < b * b; q++) {
        int at = (f->rows[I] * b + q / b) * d.m + f->rows[J] * b + q % b;
        BlockAt(f, I, J)[q] = d.a[at];
        f->stored[I * n + J] = f->stored[I * n + J] || d.stored[at];
      }
  poiseColoursDestroy(pc->ctx, &o.of);
  DenseFree(&d);
  return good;
}

static void Close(Reference *f)
{
  free(f->a);
  free(f->inverse);
  free(f->stored);
  free(f->rows);
}

/* Zero pivots of numbers become `replace`. */
static void EliminateBlocks(Reference *f, double replace)
{
  int n = f->n, b = f->b;
  for (int K = 0; K < n; K++) {
    if (b == 1 && BlockAt(f, K, K)[0] == 0) BlockAt(f, K, K)[0] = replace;
    Invert(b, BlockAt(f, K, K), f->inverse + K * b * b);
    for (int I = K + 1; I < n; I++) {
      if (!f->stored[I * n + K]) continue;
      Multiply(b, BlockAt(f, I, K), f->inverse + K * b * b, false, BlockAt(f, I, K));
      for (int J = K + 1; J < n; J++)
        if (f->stored[I * n + J]) Multiply(b, BlockAt(f, I, K), BlockAt(f, K, J), true, BlockAt(f, I, J));
    }
  }
}

/* x_I -= block x_J */
static void Take(const Reference *f, int I, int J, long double *x)
{
  int b = f->b;
  for (int r = 0; r < b; r++)
    for (int q = 0; q < b; q++) x[f->rows[I] * b + r] -= BlockAt(f, I, J)[r * b + q] * x[f->rows[J] * b + q];
}

static void SolveReference(const void *reference, long double *x)
{
  const Reference *f = reference;
  int n = f->n, b = f->b;
  for (int I = 0; I < n; I++)
    for (int J = 0; J < I; J++) Take(f, I, J, x);
  for (int I = n - 1; I >= 0; I--) {
    long double y[MOST], *mine = x + f->rows[I] * b;
    for (int J = I + 1; J < n; J++) Take(f, I, J, x);
    for (int r = 0; r < b; r++) {
      y[r] = 0;
      for (int q = 0; q < b; q++) y[r] += f->inverse[(I * b + r) * b + q] * mine[q];
    }
    memcpy(mine, y, (size_t)b * sizeof *y);
  }
}

static double Defect(PoisePC pc, const Shape *s, int b, double shift, double replace)
{
  Reference f;
  double worst = INFINITY;
  if (Open(pc, s, b, shift, &f)) {
    EliminateBlocks(&f, replace);
    worst = Difference(pc, SolveReference, &f);
  }
  Close(&f);
  return worst;
}

static PoisePC MakeColours(PoiseContext ctx, const char *type, PoiseMat A, const char *more)
{
  char text[300];
  snprintf(text, sizeof text, "-x_pc_factor_order colours\n%s", more);
  return Make(ctx, type, A, text);
}

/* ---- factors --------------------------------------------------------------------------------- */

static void TestNumbers(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29, 64};
  for (int k = 0; k < 5; k++)
    for (int kind = 0; kind < NKINDS; kind++)
      for (int layout = 0; layout < NLAYOUTS; layout++)
        for (int symmetric = 0; symmetric < (kind == SYMMETRIC || kind == TRIDIAGONAL ? 2 : 1); symmetric++) {
          Shape s = ShapeOf(ctx, kind, layout, sizes[k]);
          if (kind == FULL) s.diagonal = 40;
          PoiseMat A = Matrix(ctx, &s);
          PoisePC pc = MakeColours(ctx, symmetric ? "icc" : "ilu", A, "");
          CHECK_NEAR(Defect(pc, &s, 1, 0, 0), 0, 1e-14);
          CHECK_INT(((Incomplete *)pc->data)->tries, 0);
          PoisePCDestroy(&pc);
          PoiseMatDestroy(&A);
        }
}

static void TestBlocks(PoiseContext ctx)
{
  for (int b = 2; b <= MOST; b++)
    for (int kind = ANY; kind <= TRIDIAGONAL; kind++) {
      Shape s;
      PoiseMat A = BlockyShape(ctx, kind, b, 9, 20, &s);
      PoisePC pc = MakeColours(ctx, kind == ANY ? "ilu" : "icc", A, "");
      CHECK_NEAR(Defect(pc, &s, b, 0, 0), 0, 1e-13);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* icc reads one triangle: M is symmetric even if A is not. */
static void TestOneTriangle(PoiseContext ctx)
{
  for (int b = 1; b <= 3; b += 2) {
    Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 48 * PoiseSize(ctx));
    PoiseMat A = b == 1 ? Matrix(ctx, &s) : BlockyShape(ctx, SYMMETRIC, b, 9, 20, &s);
    for (PoiseInt i = s.begin; i < s.end; i++)
      for (PoiseInt j = s.begin; j < i; j++) {
        double more = 0.1 * TestRandom(9, (uint64_t)(i * s.n + j));
        if (Stored(&s, i, j) && i / b != j / b) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &more));
      }
    CHECK_OK(PoiseMatAssemble(A));
    PoisePC pc = MakeColours(ctx, "icc", A, "");
    CheckSymmetric(pc);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Between two orders, with the one preconditioner. */
static void TestOrders(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, UNEVEN, 50);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeColours(ctx, "ilu", A, "");
  for (int k = 0; k < 3; k++) {
    CHECK_NEAR(Defect(pc, &s, 1, 0, 0), 0, 1e-14);
    SetOptions(ctx, "-x_pc_factor_order natural");
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-14);
    SetOptions(ctx, "-x_pc_factor_order colours");
    CHECK_OK(PoisePCSetFromOptions(pc));
  }
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* A hub, which has about as many entries as there are rows, must not cost the square of them. Fill beside it
   is as small as 1 / m, and is none if it is the last one. */
static void TestLongRows(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {200000, 50};
  for (int k = 0; k < 4; k++) {
    PoiseInt begin, m, n = sizes[k / 2];
    PoiseVec x, b, z;
    PoiseMat A;
    double error = 1;
    PoiseSplit(ctx, n, &begin, &m);
    if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return;
    for (PoiseInt i = begin; i < begin + m; i++) {
      PoiseInt j = k % 2 ? begin : begin + m - 1;
      double two = 2, minus = -1 / (double)m;
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &two));
      if (j == i) continue;
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &minus));
      CHECK_OK(PoiseMatAddBlock(A, 1, &j, 1, &i, &minus));
    }
    CHECK_OK(PoiseMatAssemble(A));
    PoisePC pc = MakeColours(ctx, k % 2 ? "icc" : "ilu", A, "");
    if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseVecDuplicate(x, &z))) return;
    SampleFill(x, 3);
    CHECK_OK(PoiseMatMult(A, x, b));
    CHECK_OK(PoisePCApply(pc, b, z));
    CHECK_OK(PoiseVecAXPY(z, -1, x));
    CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &error));
    CHECK(error <= 10 * (double)PoiseSize(ctx) / (double)n);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&b);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* A nonsymmetric matrix and its transpose have the same colours, and so M of one is the transpose of the
   other's. */
static void TestTransposed(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 9, 8, 7, 1), T = NULL;
  PoiseVec u, v, w, t;
  double uMv = 0, vTu = 1, nu, nw;
  if (!CHECK_OK(PoiseMatTranspose(A, &T)) || !CHECK_OK(PoiseMatCreateVecs(A, &u, &v)) ||
      !CHECK_OK(PoiseVecDuplicate(u, &w)) || !CHECK_OK(PoiseVecDuplicate(u, &t)))
    return;
  PoisePC M = MakeColours(ctx, "ilu", A, ""), N = MakeColours(ctx, "ilu", T, "");
  SampleFill(u, 1);
  SampleFill(v, 2);
  CHECK_OK(PoisePCApply(M, v, w));
  CHECK_OK(PoisePCApply(N, u, t));
  CHECK_OK(PoiseVecDot(u, w, &uMv));
  CHECK_OK(PoiseVecDot(t, v, &vTu));
  CHECK_OK(PoiseVecNorm(u, POISE_NORM_2, &nu));
  CHECK_OK(PoiseVecNorm(w, POISE_NORM_2, &nw));
  CHECK_NEAR(uMv, vTu, 1e-14 * nu * nw);
  PoiseVecDestroy(&u);
  PoiseVecDestroy(&v);
  PoiseVecDestroy(&w);
  PoiseVecDestroy(&t);
  PoisePCDestroy(&M);
  PoisePCDestroy(&N);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&T);
}

/* ---- pivots and shifts ----------------------------------------------------------------------- */

/* The first row of each rank's has diagonal entry 0, and is eliminated with it unless others come before. */
static void TestShifts(PoiseContext ctx)
{
  static const char *const shifts[] = {"nonzero", "inblocks", "positive_definite"};
  for (int k = 0; k < 3; k++)
    for (int symmetric = 0; symmetric < 2; symmetric++) {
      char text[200];
      Shape s = ShapeOf(ctx, SYMMETRIC, UNEVEN, 40);
      s.diagonal = k == 1 ? 4 : 0.7;
      snprintf(text, sizeof text, "-x_pc_factor_shift_type %s\n-x_pc_factor_shift_amount 0.25", shifts[k]);
      PoiseMat A = Matrix(ctx, &s);
      PoisePC pc = MakeColours(ctx, symmetric ? "icc" : "ilu", A, text);
      if (CHECK_OK(PoisePCSetUp(pc))) {
        const Incomplete *f = pc->data;
        CHECK_NEAR(Defect(pc, &s, 1, f->shift, 0.25), 0, 1e-11);
        if (k == 2) CheckSymmetric(pc);
      }
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Rows without neighbours on their rank: of which one has the pivot 0, or one that is not a number. */
static void TestBadPivot(PoiseContext ctx)
{
  static const double values[] = {0, NAN, INFINITY};
  for (int k = 0; k < 3; k++) {
    PoiseInt begin, m, n = 20 * PoiseSize(ctx), bad = n / 2;
    PoiseMat A;
    PoiseSplit(ctx, n, &begin, &m);
    if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return;
    for (PoiseInt i = begin; i < begin + m; i++) {
      double v = i == bad ? values[k] : 3;
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &v));
    }
    CHECK_OK(PoiseMatAssemble(A));
    PoisePC pc = MakeColours(ctx, "ilu", A, "");
    char text[100];
    snprintf(text, sizeof text, "the pivot of row %lld is %g", (long long)bad, values[k]);
    bool mine = bad >= begin && bad < begin + m;
    CHECK_ERR(PoisePCSetUp(pc), mine ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, mine ? text : "");
    SetOptions(ctx, "-x_pc_factor_shift_type inblocks");
    CHECK_OK(PoisePCSetFromOptions(pc));
    PoiseErr e = PoisePCSetUp(pc);
    CHECK(k ? e != POISE_OK : e == POISE_OK);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* A block that is singular: named by its row. */
static void TestBadBlock(PoiseContext ctx)
{
  PoiseInt begin, m, n = 12 * PoiseSize(ctx);
  PoiseMat A;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return;
  for (PoiseInt i = begin; i < begin + m; i += 3) {
    const PoiseInt at[] = {i, i + 1, i + 2};
    const double v[] = {2, 0, 0, 0, 1, 1, 0, 1, i == 6 ? 1 : 4};
    CHECK_OK(PoiseMatAddBlock(A, 3, at, 3, at, v));
  }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetBlockSize(A, 3));
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  PoisePC pc = MakeColours(ctx, "ilu", A, "");
  bool mine = begin <= 6 && 6 < begin + m;
  CHECK_ERR(PoisePCSetUp(pc), mine ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE,
            mine ? "the pivot of row 8 (block row 2: rows 6 to 8) is 0" : "");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestRefused(PoiseContext ctx)
{
  static const char *const others[] = {"pc_factor_levels 1", "pc_factor_sweeps 2", "pc_factor_setup_sweeps 2",
                                       "pc_factor_triangles isai"};
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 20 * PoiseSize(ctx));
  PoiseMat A = Unmirrored(ctx, &s);
  PoisePC pc = MakeColours(ctx, "icc", A, "");
  CHECK_ERR(PoisePCSetUp(pc), PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_UNSUPPORTED,
            PoiseRank(ctx) ? "" : "entry (0, 2) is stored and (2, 0) is not");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  for (int k = 0; k < 4; k++) { /* all those of before stay set */
    char text[100];
    A = Matrix(ctx, &s);
    snprintf(text, sizeof text, "-x_%s", others[k]);
    pc = MakeColours(ctx, "ilu", A, text);
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "-x_pc_factor_order is colours: choose one");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- in a solver ----------------------------------------------------------------------------- */

static PoiseInt Solve(PoiseMat A, const char *method, const char *type, const char *order)
{
  char text[300];
  snprintf(text, sizeof text,
           "-s_ksp_type %s\n-s_pc_type %s\n-s_pc_factor_order %s\n-s_ksp_rtol 1e-10\n"
           "-s_ksp_norm_type unpreconditioned\n-s_ksp_pc_side %s",
           method, type, order, strcmp(method, "cg") ? "right" : "left");
  return IterationsBy(A, text);
}

static void TestSolve(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 12, 12, 0), B = Grid(ctx, 12, 12, 12, 0.5);
  PoisePC pc = MakeColours(ctx, "icc", A, "");
  CheckSymmetric(pc);
  CHECK(Solve(A, "cg", "icc", "colours") <= 2 * Solve(A, "cg", "icc", "natural"));
  CHECK(Solve(B, "gmres", "ilu", "colours") <= 2 * Solve(B, "gmres", "ilu", "natural"));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* icc of -A is that of A, turned back. */
static void TestNegative(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 9, 8, 7, 0);
  PoisePC pc = MakeColours(ctx, "icc", A, "");
  PoiseVec r, z, minus;
  double norm = 1;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(z, &minus))) return;
  SampleFill(r, 1);
  CHECK_OK(PoisePCApply(pc, r, z));
  CHECK_OK(PoiseMatScale(A, -1));
  CHECK_OK(PoisePCApply(pc, r, minus));
  CHECK(((Incomplete *)pc->data)->negative);
  CHECK_OK(PoiseVecAXPY(z, 1, minus));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, 0, 0);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&minus);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestFuseAndSkip(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 11, 8, 0);
  PoisePC pc = MakeColours(ctx, "icc", A, "");
  CheckFusedApply(pc, true);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  static const char *const types[] = {"icc", "ilu"};
  for (int k = 0; k < 2; k++) {
    PoiseMat A = Grid(ctx, 30, 40, 33, k ? 1 : 0);
    PoisePC pc = MakeColours(ctx, types[k], A, "");
    SampleKeep(ctx, arg, Apply(pc));
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* New values need no memory. */
static void TestRefresh(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 50), t = s, other = ShapeOf(ctx, TRIDIAGONAL, EVEN, 50);
  PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &other);
  PoisePC pc = MakeColours(ctx, "icc", A, "");
  CHECK_NEAR(Defect(pc, &s, 1, 0, 0), 0, 1e-13);
  t.diagonal = 7;
  CHECK_OK(PoiseMatZeroEntries(A));
  AddRows(A, &t);
  int64_t calls = ctx->memory.calls, generation = pc->generation;
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_INT(ctx->memory.calls, calls);
  CHECK_INT(pc->generation, generation);
  CHECK_NEAR(Defect(pc, &t, 1, 0, 0), 0, 1e-13);
  CHECK_OK(PoisePCSetOperator(pc, B));
  CHECK_NEAR(Defect(pc, &other, 1, 0, 0), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestView(PoiseContext ctx)
{
  char text[2000];
  PoiseMat A = Grid(ctx, 6, 6, 6 * PoiseSize(ctx), 0);
  PoisePC pc = MakeColours(ctx, "icc", A, "");
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  if (PoiseRank(ctx) == 0) CHECK(strstr(text, "rows by colours: 2\n") != NULL);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestChoice(PoiseContext ctx)
{
  CheckChoice(ctx, "ilu", "-x_pc_factor_order natural");
  CheckChoice(ctx, "icc", "-x_pc_factor_order natural");
  DeviceModel was;
  (void)PretendGpu(ctx, &was);
  PoiseMat A = WithClique(ctx, COLOUR_ROWS, false);
  PoisePC pc = Make(ctx, "ilu", A, "-x_pc_factor_order auto\n-x_pc_factor_levels 1"); /* not by colours */
  CHECK_OK(PoisePCSetUp(pc));
  CHECK(!IsByColours(pc));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  ctx->device->model = was;
}

/* ---- without memory -------------------------------------------------------------------------- */

static PoiseErr UseColours(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetType(pc, "icc"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "memory_"));
  POISE_TRY(PoisePCSetFromOptions(pc));
  return PoisePCApply(pc, g->r, g->z);
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *shape)
{
  (void)g, (void)failed;
  if (!strcmp(PoisePCType(pc), "none")) return;
  CHECK_OK(PoisePCSetOptionsPrefix(pc, "memory_"));
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_NEAR(Defect(pc, shape, 1, 0, 0), 0, 1e-12);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  CHECK_OK(PoiseOptionsSetString(ctx, "-memory_pc_factor_order colours"));
  CHECK_OK(PoiseBarrier(ctx));
  CheckWithoutMemory(A, UseColours, 60, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {{"numbers", TestNumbers, 0},
                             {"blocks", TestBlocks, 0},
                             {"one_triangle", TestOneTriangle, 0},
                             {"orders", TestOrders, 0},
                             {"long_rows", TestLongRows, 0},
                             {"transposed", TestTransposed, 0},
                             {"shifts", TestShifts, 0},
                             {"bad_pivot", TestBadPivot, 0},
                             {"bad_block", TestBadBlock, 0},
                             {"refused", TestRefused, 0},
                             {"solve", TestSolve, 0},
                             {"negative", TestNegative, 0},
                             {"fuse_and_skip", TestFuseAndSkip, 0},
                             {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
                             {"refresh", TestRefresh, 0},
                             {"view", TestView, 0},
                             {"choice", TestChoice, 0},
                             {"memory", TestMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "colour_factor", tests);
}

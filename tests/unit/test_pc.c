/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners: M z = r is checked against the entries that the matrix was made of. */
#include "preconditioners.h"

enum { NODES = 11, MAX_BLOCK = 32 };

typedef struct Shape { /* NODES nodes of b unknowns, whole nodes on each rank */
  int b;
  PoiseInt n, begin, end;
} Shape;

static Shape ShapeOf(PoiseContext ctx, int b)
{
  PoiseInt begin, n;
  PoiseSplit(ctx, NODES, &begin, &n);
  return (Shape){b, (PoiseInt)NODES * b, begin * b, (begin + n) * b};
}

/* Diagonal blocks without a pattern, some with zeros where elimination would look first; couplings to the
   next nodes. */
static double Value(const Shape *s, PoiseInt i, PoiseInt j)
{
  PoiseInt node = i / s->b, other = j / s->b;
  double r = TestRandom((uint64_t)s->b, (uint64_t)(i * s->n + j));
  if (other == node && s->b > 2 && node % 3 == 1)
    r += i % s->b == (j + 1) % s->b ? 2.0 * s->b : -r * (i == j);
  if (other == node && (s->b <= 2 || node % 3 != 1)) r += i == j ? 2.0 * s->b : 0;
  return other == node || other == node + 1 || other == node - 1 ? r : 0;
}

static int AddRow(PoiseMat A, const Shape *s, PoiseInt i)
{
  PoiseInt first = i / s->b - 1, last = first + 2;
  for (PoiseInt node = first < 0 ? 0 : first; node <= last && node < NODES; node++) {
    PoiseInt cols[MAX_BLOCK];
    double v[MAX_BLOCK];
    for (int k = 0; k < s->b; k++) cols[k] = node * s->b + k, v[k] = Value(s, i, cols[k]);
    if (!CHECK_OK(PoiseMatAddBlock(A, 1, &i, s->b, cols, v))) return 0;
  }
  return 1;
}

static PoiseMat Matrix(PoiseContext ctx, const Shape *s)
{
  PoiseMat A;
  PoiseInt m = s->end - s->begin;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, s->n, s->n, &A))) return NULL;
  for (PoiseInt i = s->begin; i < s->end; i++)
    if (!AddRow(A, s, i)) return NULL;
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetBlockSize(A, s->b));
  return A;
}

/* Apply to random r, where z held NaN; then largest |(D z - r)_i| with the b x b diagonal blocks D, scale
   times Value. */
static double Defect(PoisePC pc, const Shape *s, int b, double scale)
{
  PoiseVec r = NULL, z = NULL;
  const double *x, *y;
  double worst = 0;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z)) || !CHECK_OK(PoiseVecSetRandom(r, 7)) ||
      !CHECK_OK(PoiseVecSet(z, NAN)) || !CHECK_OK(PoisePCApply(pc, r, z)))
    worst = INFINITY;
  CHECK_OK(PoiseVecGetRead(r, &x));
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt i = s->begin; i < s->end; i++) {
    double sum = -x[i - s->begin];
    for (PoiseInt j = i - i % b; j < i - i % b + b; j++) sum += scale * Value(s, i, j) * y[j - s->begin];
    worst = poiseLarger(fabs(sum), worst);
  }
  PoiseVecRestore(r, &x);
  PoiseVecRestore(z, &y);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  return worst;
}

static void TestNone(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 2);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "none", A, NULL);
  PoiseVec r, z;
  double difference;
  CHECK(!strcmp(PoisePCType(pc), "none"));
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecSetRandom(r, 3))) return;
  CHECK_OK(PoisePCApply(pc, r, z));
  CHECK_OK(PoiseVecAXPY(z, -1, r));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &difference));
  CHECK(difference == 0);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestBlocks(PoiseContext ctx)
{
  static const int sizes[] = {1, 2, 3, 5, 8, 32};
  for (int k = 0; k < 6; k++) {
    Shape s = ShapeOf(ctx, sizes[k]);
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = Make(ctx, "pbjacobi", A, NULL);
    CHECK_NEAR(Defect(pc, &s, s.b, 1), 0, 1e-12);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static void TestJacobi(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 1);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "jacobi", A, NULL);
  CHECK_NEAR(Defect(pc, &s, 1, 1), 0, 1e-15);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- what cannot be inverted ----------------------------------------------------------------- */

/* A diagonal matrix but for row `bad`, which holds v, or nothing when v is infinite. */
static PoiseMat Diagonal(PoiseContext ctx, const Shape *s, PoiseInt bad, double v)
{
  PoiseMat A;
  PoiseInt m = s->end - s->begin;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, s->n, s->n, &A))) return NULL;
  for (PoiseInt i = s->begin; i < s->end; i++) {
    PoiseInt j = (i + 1) % s->n;
    double one = 1, d = i == bad ? v : 2.0 + (double)i;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &one));
    if (!isinf(d)) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &d));
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static PoiseErr AddDiagonal(PoiseMat A, PoiseInt row, double v)
{
  if (PoiseRank(PoiseMatContext(A)) == 0) POISE_TRY(PoiseMatAddBlock(A, 1, &row, 1, &row, &v));
  return PoiseMatAssemble(A);
}

static void TestBadDiagonal(PoiseContext ctx)
{
  static const double values[] = {0, INFINITY, NAN};
  Shape s = ShapeOf(ctx, 1);
  for (int k = 0; k < 3; k++) {
    PoiseInt bad = k == 1 ? 0 : NODES - 2;
    PoiseMat A = Diagonal(ctx, &s, bad, values[k]);
    PoisePC pc = Make(ctx, "jacobi", A, NULL);
    char words[64];
    snprintf(words, sizeof words, "the diagonal entry of row %d is zero, missing or not finite", (int)bad);
    PoiseErr expected = bad >= s.begin && bad < s.end ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE;
    CHECK_ERR(PoisePCSetUp(pc), expected, words);
    CHECK_ERR(PoisePCSetUp(pc), expected, words); /* it is not taken for done */
    if (values[k] == 0) {                         /* a matrix that was put right is accepted */
      CHECK_OK(AddDiagonal(A, bad, 4));
      CHECK_OK(PoisePCSetUp(pc));
    }
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static void TestFixDiagonal(PoiseContext ctx)
{
  static const double values[] = {0, INFINITY, NAN};
  Shape s = ShapeOf(ctx, 1);
  PoiseInt bad = NODES - 2;
  CHECK_OK(PoiseOptionsSet(ctx, "fix_pc_type", "jacobi"));
  CHECK_OK(PoiseOptionsSet(ctx, "fix_pc_jacobi_fixdiagonal", "yes"));
  CHECK_OK(PoiseBarrier(ctx));
  for (int k = 0; k < 3; k++) {
    PoiseMat A = Diagonal(ctx, &s, bad, values[k]);
    PoisePC pc = Make(ctx, "none", A, NULL);
    PoiseVec r, z;
    const double *y;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecSet(r, 3))) return;
    CHECK_OK(PoisePCSetOptionsPrefix(pc, "fix_"));
    CHECK_OK(PoisePCSetFromOptions(pc));
    if (isnan(values[k])) {
      CHECK_ERR(PoisePCApply(pc, r, z), bad >= s.begin && bad < s.end ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE,
                "row 9");
    } else if (CHECK_OK(PoisePCApply(pc, r, z)) && CHECK_OK(PoiseVecGetRead(z, &y))) {
      for (PoiseInt i = s.begin; i < s.end; i++)
        CHECK_NEAR(y[i - s.begin], i == bad ? 3 : 3 / (2.0 + (double)i), 1e-15);
      PoiseVecRestore(z, &y);
    }
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Node 7's block: rank one, missing, and with a NaN beside the diagonal. */
static void TestBadBlock(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 3);
  PoiseInt first = 7 * 3;
  PoiseErr expected = first >= s.begin && first < s.end ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE;
  for (int kind = 0; kind < 3; kind++) {
    PoiseMat A;
    PoiseInt m = s.end - s.begin;
    if (!CHECK_OK(PoiseMatCreate(ctx, m, m, s.n, s.n, &A))) return;
    for (PoiseInt node = s.begin / 3; node < s.end / 3; node++) {
      PoiseInt rows[] = {3 * node, 3 * node + 1, 3 * node + 2};
      double good[] = {2, 1, 0, 1, 3, 1, 0, 1, 4}, one[] = {1, 2, 4, 2, 4, 8, 4, 8, 16},
             nan[] = {2, NAN, 0, 0, 3, 1, 0, 1, 4};
      if (node != 7 || kind != 1)
        CHECK_OK(PoiseMatAddBlock(A, 3, rows, 3, rows, node != 7 ? good : kind == 0 ? one : nan));
    }
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseMatSetBlockSize(A, 3));
    PoisePC pc = Make(ctx, "pbjacobi", A, NULL);
    CHECK_ERR(PoisePCSetUp(pc), expected, "the diagonal block of rows 21 to 23 is singular or not finite");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- changes --------------------------------------------------------------------------------- */

static void TestRefresh(PoiseContext ctx)
{
  static const char *const types[] = {"jacobi", "pbjacobi"};
  for (int k = 0; k < 2; k++) {
    Shape s = ShapeOf(ctx, k ? 3 : 1);
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = Make(ctx, types[k], A, NULL);
    CHECK_NEAR(Defect(pc, &s, s.b, 1), 0, 1e-12);
    int64_t calls = ctx->memory.calls, launches = ctx->device->launches;
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_INT(ctx->device->launches, launches); /* nothing has changed */

    for (PoiseInt i = s.begin; i < s.end; i++) /* A becomes 2 A */
      if (!AddRow(A, &s, i)) return;
    CHECK_OK(PoiseMatAssemble(A));
    calls = ctx->memory.calls;
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_INT(ctx->memory.calls, calls);
    CHECK_NEAR(Defect(pc, &s, s.b, 2), 0, 1e-12);

    CHECK_OK(PoiseMatZeroEntries(A));
    CHECK_ERR(PoisePCSetUp(pc), s.end > s.begin ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, "the diagonal");
    for (PoiseInt i = s.begin; i < s.end; i++)
      if (!AddRow(A, &s, i)) return;
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_NEAR(Defect(pc, &s, s.b, 1), 0, 1e-12);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* One preconditioner through all types, block sizes and another matrix. */
static void TestChange(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 4), t = ShapeOf(ctx, 1);
  PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &t);
  PoisePC pc = Make(ctx, "pbjacobi", A, NULL);
  CHECK_NEAR(Defect(pc, &s, 4, 1), 0, 1e-12);
  CHECK_OK(PoiseMatSetBlockSize(A, 4));
  CHECK_NEAR(Defect(pc, &s, 4, 1), 0, 1e-12);
  CHECK_OK(PoisePCSetOperator(pc, B));
  CHECK_NEAR(Defect(pc, &t, 1, 1), 0, 1e-12);
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  CHECK_NEAR(Defect(pc, &t, 1, 1), 0, 1e-12);
  PoiseMatDestroy(&B); /* the preconditioner has its own reference */
  CHECK_NEAR(Defect(pc, &t, 1, 1), 0, 1e-12);
  CHECK_OK(PoisePCSetType(pc, "pbjacobi"));
  CHECK_OK(PoisePCSetOperator(pc, A));
  CHECK_NEAR(Defect(pc, &s, 4, 1), 0, 1e-12);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* Blocks of another size must be built anew although no value has changed. */
static void TestBlockSize(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 6);
  PoiseMat A;
  PoiseInt m = s.end - s.begin;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, s.n, s.n, &A))) return;
  for (PoiseInt i = s.begin; i < s.end; i++)
    for (PoiseInt j = i - i % 6; j < i - i % 6 + 6; j++) {
      double v = (i == j ? 3 : 0) + 1.0 / (double)(1 + i % 6 + j % 6);
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = Make(ctx, "pbjacobi", A, NULL);
  for (int b = 1; b <= 6; b++) {
    PoiseVec r, z, y;
    const double *d;
    if (6 % b) continue;
    CHECK_OK(PoiseMatSetBlockSize(A, b));
    if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(r, &y))) return;
    CHECK_OK(PoiseVecSetRandom(r, 11));
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK_OK(PoiseMatResidual(A, r, z, y));
    double left = 0;
    CHECK_OK(PoiseVecGetRead(y, &d));
    for (PoiseInt i = 0; i < m; i++) left = poiseLarger(fabs(d[i]), left);
    PoiseVecRestore(y, &d);
    if (b == 6 || m == 0)
      CHECK_NEAR(left, 0, 1e-13); /* A is block diagonal */
    else
      CHECK(left > 1e-3);
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoiseVecDestroy(&y);
  }
  CHECK_ERR(PoiseMatSetBlockSize(A, 4), s.end > s.begin && m % 4 ? POISE_ERR_SIZE : POISE_ERR_REMOTE,
            "block size 4");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- shells ---------------------------------------------------------------------------------- */

static PoiseErr ItsDiagonal(void *arg, PoiseVec d)
{
  PoiseContext ctx = PoiseVecContext(d);
  if (arg && PoiseRank(ctx) == PoiseSize(ctx) - 1) return POISE_ERR_USER;
  return PoiseVecSet(d, 2);
}

static void TestShell(PoiseContext ctx)
{
  PoiseShell whole = {.mult = SampleTwice, .diagonal = ItsDiagonal}, poor = {.mult = SampleTwice};
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  int fails = 1;
  for (int k = 0; k < 3; k++) {
    PoiseMat A;
    PoiseVec r, z;
    double sum;
    if (!CHECK_OK(PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, 20, 20, k == 1 ? &poor : &whole,
                                      k == 2 ? &fails : NULL, &A)))
      return;
    PoisePC pc = Make(ctx, "jacobi", A, NULL);
    if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecSet(r, 3))) return;
    if (k == 0) {
      CHECK_OK(PoisePCApply(pc, r, z));
      CHECK_OK(PoiseVecSumEntries(z, &sum));
      CHECK_NEAR(sum, 30, 1e-13);
    } else if (k == 1) {
      CHECK_ERR(PoisePCApply(pc, r, z), POISE_ERR_UNSUPPORTED, "diagonal");
    } else {
      CHECK_ERR(PoisePCApply(pc, r, z), last ? POISE_ERR_USER : POISE_ERR_REMOTE,
                "the shell's diagonal returned");
    }
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- misuse, views, memory ------------------------------------------------------------------- */

static void TestMisuse(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 2);
  PoiseMat A = Matrix(ctx, &s), R, empty;
  PoisePC pc = Make(ctx, "jacobi", A, NULL), none;
  PoiseVec r, z, other;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) ||
      !CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, s.n + 9, &other)))
    return;
  CHECK_ERR(PoisePCSetType(pc, "jacobbi"), POISE_ERR_OPTION,
            "no preconditioner 'jacobbi'; did you mean 'jacobi'?");
  CHECK_ERR(PoisePCSetType(pc, "xyzzyx"), POISE_ERR_OPTION, "no preconditioner 'xyzzyx'");
  CHECK(!strcmp(PoisePCType(pc), "jacobi"));
  CHECK_ERR(PoisePCApply(pc, r, r), POISE_ERR_ARG, "r and z are the same vector");
  CHECK_ERR(PoisePCApply(pc, r, other), POISE_ERR_SIZE, "r has 22 entries");
  CHECK_ERR(PoisePCApply(pc, other, r), POISE_ERR_SIZE, "z has 22");
  CHECK_OK(PoisePCApply(pc, r, z));
  if (CHECK_OK(PoisePCCreate(ctx, &none))) {
    CHECK_ERR(PoisePCSetUp(none), POISE_ERR_STATE, "has no matrix");
    CHECK_ERR(PoisePCApply(none, r, z), POISE_ERR_STATE, "has no matrix");
  }
  if (CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 5, 6, &R)) && CHECK_OK(PoiseMatAssemble(R))) {
    CHECK_OK(PoisePCSetOperator(pc, R));
    PoiseErr e = PoisePCSetUp(pc);
    CHECK(e == POISE_ERR_SIZE || e == POISE_ERR_REMOTE);
    CHECK(strstr(PoiseErrorMessage(), "the matrix is 5 x 6") != NULL);
  }
  if (CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 5, 5, &empty))) {
    CHECK_OK(PoisePCSetOperator(pc, empty));
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_STATE, "not been assembled");
  }
  PoisePCDestroy(&none);
  PoisePCDestroy(&none); /* NULL is legal */
  PoisePCDestroy(&pc);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&other);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&R);
  PoiseMatDestroy(&empty);
}

static void TestView(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 3);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "pbjacobi", A, NULL);
  char text[200], expected[200];
  PoiseBytes held;
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK_OK(PoisePCBytes(pc, &held));
  double sum[] = {(double)held.host, (double)held.device};
  char host[24], device[24];
  CHECK_OK(PoiseSum(ctx, 2, sum));
  poiseBytesText(sum[0], host), poiseBytesText(sum[1], device);
  if (SampleIsAway(ctx))
    snprintf(expected, sizeof expected,
             "PC: type pbjacobi\n  memory: %s on the host, %s on the device\n  blocks of 3 x 3\n", host,
             device);
  else
    snprintf(expected, sizeof expected, "PC: type pbjacobi\n  memory: %s\n  blocks of 3 x 3\n", host);
  CHECK(!strcmp(text, PoiseRank(ctx) ? "" : expected));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static PoiseErr UseBoth(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "memory_"));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  POISE_TRY(PoisePCApply(pc, g->r, g->z));
  POISE_TRY(PoisePCSetType(pc, "pbjacobi"));
  return PoisePCApply(pc, g->r, g->z);
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *shape)
{
  const char *type = PoisePCType(pc);
  (void)g;
  CHECK_NEAR(Defect(pc, shape, !failed || !strcmp(type, "pbjacobi") ? 2 : 1, 1), 0,
             failed && !strcmp(type, "none") ? INFINITY : 1e-12);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, 2);
  PoiseMat A = Matrix(ctx, &s);
  CheckWithoutMemory(A, UseBoth, 8, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

/* Blocks (1e-10, 1; -1, 1): the largest pivot is negative, and the other one costs 6 digits. */
static void TestPivots(PoiseContext ctx)
{
  static const char *const types[] = {"pbjacobi", "lu"};
  const double v[4] = {1e-10, 1, -1, 1};
  PoiseInt begin, m;
  PoiseMat A;
  PoiseSplit(ctx, NODES, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, 2 * m, 2 * m, 2 * NODES, 2 * NODES, &A))) return;
  for (PoiseInt i = begin; i < begin + m; i++)
    CHECK_OK(PoiseMatAddBlock(A, 2, (PoiseInt[]){2 * i, 2 * i + 1}, 2, (PoiseInt[]){2 * i, 2 * i + 1}, v));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  for (int k = 0; k < 2; k++) {
    PoisePC pc = Make(ctx, types[k], A, NULL);
    PoiseVec r, z;
    double *p;
    const double *q;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecGetWrite(r, &p))) return;
    for (PoiseInt i = 0; i < 2 * m; i++) p[i] = i % 2 == 0;
    CHECK_OK(PoiseVecRestore(r, &p));
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK_OK(PoiseVecGetRead(z, &q));
    for (PoiseInt i = 0; i < 2 * m; i++) CHECK_NEAR(q[i], 1 / (1 + 1e-10), 1e-15);
    CHECK_OK(PoiseVecRestore(z, &q));
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static const Test tests[] = {
    {"none", TestNone, 0},
    {"blocks", TestBlocks, 0},
    {"jacobi", TestJacobi, 0},
    {"bad_diagonal", TestBadDiagonal, 0},
    {"fix_diagonal", TestFixDiagonal, 0},
    {"bad_block", TestBadBlock, 0},
    {"refresh", TestRefresh, 0},
    {"change", TestChange, 0},
    {"pivots", TestPivots, 0},
    {"block_size", TestBlockSize, 0},
    {"shell", TestShell, 0},
    {"misuse", TestMisuse, 0},
    {"view", TestView, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors, compared with plain loops over the global data in long double. */
#include "sample.h"
#include "vec/vec.h"

static const PoiseInt sizes[] = {0, 1, 2, 7, 1023, 1024, 1025, 5000};
enum { NSIZES = sizeof sizes / sizeof *sizes };

static const double a = 1.7, b = -0.3;

/* body for every size in every layout */
static void ForAll(PoiseContext ctx, void (*body)(PoiseContext ctx, int layout, PoiseInt N))
{
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (int k = 0; k < NSIZES; k++) body(ctx, layout, sizes[k]);
}

/* ---- sizes and access ------------------------------------------------------------------------ */

static void Sizes(PoiseContext ctx, int layout, PoiseInt N)
{
  PoiseVec x, y;
  PoiseInt begin, end, n = SampleLocal(ctx, layout, N), first;
  const double *p;
  if (n == POISE_DECIDE) PoiseSplit(ctx, N, &first, &n);
  if (!CHECK_OK(SampleVec(ctx, layout, N, &x))) return;
  CHECK_INT(PoiseVecSize(x), N);
  CHECK_INT(PoiseVecLocalSize(x), n);
  PoiseVecRange(x, &begin, &end);
  CHECK_INT(end - begin, n);
  double sum = (double)n, edge = (double)end;
  CHECK_OK(PoiseSum(ctx, 1, &sum));
  CHECK_OK(PoiseMax(ctx, 1, &edge));
  CHECK(sum == (double)N && edge == (double)N);
  CHECK(PoiseVecContext(x) == ctx);
  SampleFill(x, 1);
  CHECK_OK(PoiseVecDuplicate(x, &y));
  CHECK_INT(PoiseVecSize(y), N);
  CHECK_INT(PoiseVecLocalSize(y), n);
  if (CHECK_OK(PoiseVecGetRead(y, &p))) {
    PoiseInt zeros = 0;
    for (PoiseInt i = 0; i < n; i++) zeros += p[i] == 0;
    CHECK_INT(zeros, n);
    CHECK_OK(PoiseVecRestore(y, &p));
    CHECK(!p);
  }
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK(!y);
  CHECK_OK(PoiseVecDestroy(&y)); /* NULL is legal */
  CHECK_OK(PoiseVecCreate(ctx, n, POISE_DECIDE, &y));
  CHECK_INT(PoiseVecSize(y), N);
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseVecDestroy(&x));
}

static void TestSizes(PoiseContext ctx)
{
  ForAll(ctx, Sizes);
}

static void TestCreateErrors(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = PoiseRank(ctx) == size - 1;
  char words[64];
  PoiseVec x = (PoiseVec)ctx;
  CHECK_ERR(PoiseVecCreate(ctx, POISE_DECIDE, POISE_DECIDE, &x), POISE_ERR_ARG, "both are POISE_DECIDE");
  CHECK(!x);
  CHECK_ERR(PoiseVecCreate(ctx, POISE_DECIDE, -7, &x), POISE_ERR_ARG, "-7");
  CHECK_ERR(PoiseVecCreate(ctx, INT32_MAX, POISE_DECIDE, &x), POISE_ERR_ARG, "2147483647");
  CHECK_ERR(PoiseVecCreate(ctx, POISE_DECIDE, INT64_MAX, &x), POISE_ERR_ARG, "9223372036854775807");
  CHECK_ERR_OF(PoiseVecCreate(ctx, last ? -5 : 3, POISE_DECIDE, &x), last, POISE_ERR_ARG, "local size -5");
  CHECK(!x);
  snprintf(words, sizeof words, "add up to %d, the global size is %d", 3 * size, 3 * size + 1);
  CHECK_ERR(PoiseVecCreate(ctx, 3, 3 * size + 1, &x), POISE_ERR_SIZE, words);
  snprintf(words, sizeof words, "add up to %d, the global size is 99", 3 * size);
  CHECK_ERR_OF(PoiseVecCreate(ctx, 3, last ? 99 : 3 * size, &x), last, POISE_ERR_SIZE, words);
  CHECK(!x);
  double v[3] = {1, 2, 3};
  CHECK_ERR_OF(PoiseVecCreateArray(ctx, 3, POISE_DECIDE, last ? NULL : v, POISE_BORROW, &x), last,
               POISE_ERR_ARG, "array of 3 entries is NULL");
  CHECK(!x);
  double *mine = malloc(3 * sizeof *mine); /* stays mine */
  CHECK_ERR(PoiseVecCreateArray(ctx, 3, 3 * size + 1, mine, POISE_ADOPT, &x), POISE_ERR_SIZE, "");
  free(mine);
}

static void TestAccess(PoiseContext ctx)
{
  PoiseVec x;
  double *p;
  const double *q;
  if (!CHECK_OK(PoiseVecCreate(ctx, 5, POISE_DECIDE, &x))) return;
  CHECK_OK(PoiseVecSet(x, 3));
  if (CHECK_OK(PoiseVecGetUpdate(x, &p))) {
    CHECK(p[0] == 3 && p[4] == 3);
    p[4] = 7;
    CHECK_OK(PoiseVecRestore(x, &p));
  }
  CHECK_OK(PoiseVecScale(x, 2));
  if (CHECK_OK(PoiseVecGetRead(x, &q))) CHECK(q[3] == 6 && q[4] == 14);
  CHECK_OK(PoiseVecRestore(x, &q));
  SampleConstant(x, -1);
  double sum;
  CHECK_OK(PoiseVecSumEntries(x, &sum));
  CHECK(sum == -5 * PoiseSize(ctx));
  CHECK_OK(PoiseVecDestroy(&x));
}

static void TestView(PoiseContext ctx)
{
  PoiseVec x;
  char text[512];
  if (!CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 12345, &x))) return;
  TEST_PRINTED(ctx, text, sizeof text, PoiseVecView(x));
  if (!PoiseRank(ctx)) CHECK(strstr(text, "12345 entries") && strstr(text, ctx->device->ops->name));
  CHECK_OK(PoiseVecDestroy(&x));
}

/* ---- element-wise operations ----------------------------------------------------------------- */

typedef long double Wide;

/* What is done to w, of which x and y may be aliases; then sums. */
enum {
  SET,
  COPY,
  COPY_SELF,
  SCALE,
  SCALE_ZERO,
  AXPY,
  AXPY_SELF,
  AXPY_ZERO,
  AYPX,
  AYPX_ZERO,
  AXPBY,
  AXPBY_ZERO,
  AXPBY_SELF,
  WAXPY,
  WAXPY_X,
  WAXPY_Y,
  MULT,
  MULT_SELF,
  DIVIDE,
  DIVIDE_SELF,
  RECIPROCAL,
  MAXPY_0,
  MAXPY_1,
  MAXPY_4,
  MAXPY_7,
  MAXPY_32,
  MAXPY_65,
  NOPS,
  DOT = NOPS,
  DOT_W,
  SQUARE_X,
  SQUARE_Y,
  ENTRY,
  SIZE,
  SQUARE_AXPY,
  SQUARE_SELF
};

static PoiseErr Combine(PoiseVec w, PoiseVec x, PoiseVec y, int k)
{
  double c[70];
  PoiseVec v[70];
  for (int j = 0; j < k; j++) c[j] = j % 3 - 1.25, v[j] = j % 2 ? x : y;
  return PoiseVecMAXPY(w, k, c, v);
}

static Wide Combined(Wide w, Wide x, Wide y, int k)
{
  for (int j = 0; j < k; j++) w += (j % 3 - 1.25L) * (j % 2 ? x : y);
  return w;
}

static PoiseErr Do(int op, PoiseVec w, PoiseVec x, PoiseVec y)
{
  switch (op) {
  case SET:
    return PoiseVecSet(w, a);
  case COPY:
    return PoiseVecCopy(x, w);
  case COPY_SELF:
    return PoiseVecCopy(w, w);
  case SCALE:
    return PoiseVecScale(w, a);
  case SCALE_ZERO:
    return PoiseVecScale(w, 0);
  case AXPY:
    return PoiseVecAXPY(w, a, x);
  case AXPY_SELF:
    return PoiseVecAXPY(w, a, w);
  case AXPY_ZERO:
    return PoiseVecAXPY(w, 0, x);
  case AYPX:
    return PoiseVecAYPX(w, a, x);
  case AYPX_ZERO:
    return PoiseVecAYPX(w, 0, x);
  case AXPBY:
    return PoiseVecAXPBY(w, a, b, x);
  case AXPBY_ZERO:
    return PoiseVecAXPBY(w, a, 0, x);
  case AXPBY_SELF:
    return PoiseVecAXPBY(w, a, b, w);
  case WAXPY:
    return PoiseVecWAXPY(w, a, x, y);
  case WAXPY_X:
    return PoiseVecWAXPY(w, a, w, y);
  case WAXPY_Y:
    return PoiseVecWAXPY(w, a, x, w);
  case MULT:
    return PoiseVecPointwiseMult(w, x, y);
  case MULT_SELF:
    return PoiseVecPointwiseMult(w, w, w);
  case DIVIDE:
    return PoiseVecPointwiseDivide(w, x, y);
  case DIVIDE_SELF:
    return PoiseVecPointwiseDivide(w, x, w);
  case RECIPROCAL:
    return PoiseVecReciprocal(w);
  case MAXPY_0:
    return Combine(w, x, y, 0);
  case MAXPY_1:
    return Combine(w, x, y, 1);
  case MAXPY_4:
    return Combine(w, x, y, 4);
  case MAXPY_7:
    return Combine(w, x, y, 7);
  case MAXPY_32:
    return Combine(w, x, y, 32);
  default:
    return Combine(w, x, y, 65);
  }
}

static Wide Exact(int op, Wide w, Wide x, Wide y)
{
  switch (op) {
  case SET:
    return a;
  case COPY:
  case AYPX_ZERO:
  case ENTRY:
    return x;
  case COPY_SELF:
  case AXPY_ZERO:
  case MAXPY_0:
    return w;
  case SCALE:
    return a * w;
  case SCALE_ZERO:
    return 0;
  case AXPY:
    return a * x + w;
  case AXPY_SELF:
    return a * w + w;
  case AYPX:
    return x + a * w;
  case AXPBY:
    return a * x + b * w;
  case AXPBY_ZERO:
    return a * x;
  case AXPBY_SELF:
    return a * w + b * w;
  case WAXPY:
    return a * x + y;
  case WAXPY_X:
    return a * w + y;
  case WAXPY_Y:
    return a * x + w;
  case MULT:
  case DOT:
    return x * y;
  case MULT_SELF:
    return w * w;
  case DIVIDE:
    return x / y;
  case DIVIDE_SELF:
    return x / w;
  case RECIPROCAL:
    return 1 / w;
  case MAXPY_1:
    return Combined(w, x, y, 1);
  case MAXPY_4:
    return Combined(w, x, y, 4);
  case MAXPY_7:
    return Combined(w, x, y, 7);
  case MAXPY_32:
    return Combined(w, x, y, 32);
  case MAXPY_65:
    return Combined(w, x, y, 65);
  case DOT_W:
    return w * y;
  case SQUARE_X:
    return x * x;
  case SQUARE_Y:
    return y * y;
  case SIZE:
    return fabsl(x);
  case SQUARE_AXPY:
    return (a * x + w) * (a * x + w);
  default:
    return (a * w + w) * (a * w + w);
  }
}

/* Entries of w that differ from the reference by more than a few roundings of the numbers met on the way. */
static PoiseInt Wrong(PoiseVec w, int op)
{
  const double *p;
  Wide terms = op == MAXPY_32 || op == MAXPY_65 ? 65 : 8;
  PoiseInt begin, end, wrong = 0;
  PoiseVecRange(w, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(w, &p))) return -1;
  for (PoiseInt i = begin; i < end; i++) {
    Wide exact =
        Exact(op, TestRandom(1, (uint64_t)i), TestRandom(2, (uint64_t)i), TestRandom(3, (uint64_t)i));
    Wide most = op >= DIVIDE && op <= RECIPROCAL ? fabsl(exact) : terms * 2;
    wrong += !(fabsl((Wide)p[i - begin] - exact) <= terms * DBL_EPSILON * most);
  }
  CHECK_OK(PoiseVecRestore(w, &p));
  return wrong;
}

static void Elements(PoiseContext ctx, int layout, PoiseInt N)
{
  PoiseVec w, x, y;
  if (!CHECK_OK(SampleVec(ctx, layout, N, &w))) return;
  CHECK_OK(PoiseVecDuplicate(w, &x));
  CHECK_OK(PoiseVecDuplicate(w, &y));
  SampleFill(x, 2);
  SampleFill(y, 3);
  uint64_t bits[2] = {SampleDigest(x), SampleDigest(y)};
  for (int op = 0; op < NOPS; op++) {
    SampleFill(w, 1);
    CHECK_OK(Do(op, w, x, y));
    PoiseInt wrong = Wrong(w, op);
    if (wrong) CHECK_INT(op, -wrong); /* says which */
  }
  CHECK(bits[0] == SampleDigest(x) && bits[1] == SampleDigest(y)); /* operands are only read */
  CHECK_OK(PoiseVecDestroy(&w));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
}

static void TestElements(PoiseContext ctx)
{
  ForAll(ctx, Elements);
}

/* A vector that is overwritten or multiplied by 0 leaves no trace, even if it holds NaN; a copy has all
   bits. */
static void TestOverwriteNaN(PoiseContext ctx)
{
  PoiseVec w, x, y, bad;
  if (!CHECK_OK(SampleVec(ctx, UNEVEN, 2051, &w))) return;
  CHECK_OK(PoiseVecDuplicate(w, &x));
  CHECK_OK(PoiseVecDuplicate(w, &y));
  CHECK_OK(PoiseVecDuplicate(w, &bad));
  SampleFill(x, 2);
  SampleFill(y, 3);
  SampleConstant(bad, NAN);
  static const int overwrite[] = {SET, COPY, SCALE_ZERO, AYPX_ZERO, AXPBY_ZERO, WAXPY, MULT, DIVIDE};
  for (size_t k = 0; k < sizeof overwrite / sizeof *overwrite; k++) {
    SampleConstant(w, NAN);
    CHECK_OK(Do(overwrite[k], w, x, y));
    CHECK_INT(Wrong(w, overwrite[k]), 0);
  }
  SampleFill(w, 1);
  uint64_t bits = SampleDigest(w);
  CHECK_OK(PoiseVecAXPY(w, 0, bad));
  CHECK(SampleDigest(w) == bits);
  CHECK_OK(PoiseVecWAXPY(w, 0, bad, x));
  CHECK(SampleDigest(w) == SampleDigest(x));
  CHECK_OK(PoiseVecAXPBY(w, 0, 0, bad));
  CHECK_OK(PoiseVecNorm(w, POISE_NORM_INF, &(double){1}));
  CHECK_OK(PoiseVecSet(x, 0));
  CHECK(SampleDigest(w) == SampleDigest(x));
  SampleConstant(x, -0.0);
  CHECK_OK(PoiseVecCopy(x, w));
  CHECK(SampleDigest(w) == SampleDigest(x));
  CHECK_OK(PoiseVecCopy(bad, w));
  CHECK(SampleDigest(w) == SampleDigest(bad));
  CHECK_OK(PoiseVecDestroy(&w));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseVecDestroy(&bad));
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct Sums { /* of the exact entries, and of their sizes */
  Wide sum, size;
} Sums;

static Sums ExactSum(PoiseInt N, int op)
{
  Sums s = {0, 0};
  for (PoiseInt i = 0; i < N; i++) {
    Wide t = Exact(op, TestRandom(1, (uint64_t)i), TestRandom(2, (uint64_t)i), TestRandom(3, (uint64_t)i));
    s.sum += t;
    s.size += fabsl(t);
  }
  return s;
}

/* Sums in blocks: at most 128 terms follow each other in a lane, then lanes, blocks and ranks. */
static int CloseTo(double got, Sums exact)
{
  return CHECK_NEAR(got, (double)exact.sum, (double)(200 * DBL_EPSILON * exact.size));
}

static void Norms(PoiseVec x, PoiseInt N)
{
  double v, largest = 0;
  for (PoiseInt i = 0; i < N; i++) largest = fmax(largest, fabs(TestRandom(2, (uint64_t)i)));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &v));
  CHECK(v == largest);
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_1, &v));
  CloseTo(v, ExactSum(N, SIZE));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &v));
  Sums s = ExactSum(N, SQUARE_X);
  CHECK_NEAR(v, (double)sqrtl(s.sum), (double)(200 * DBL_EPSILON * sqrtl(s.sum)));
  CHECK_OK(PoiseVecSumEntries(x, &v));
  CloseTo(v, ExactSum(N, ENTRY));
}

static void ManyDots(PoiseVec w, PoiseVec x, PoiseVec y, PoiseInt N)
{
  static const int counts[] = {0, 1, 5, 32, 33, 70};
  Sums exact[3] = {ExactSum(N, DOT), ExactSum(N, DOT_W), ExactSum(N, SQUARE_Y)};
  PoiseVec v[70], all[3] = {x, w, y};
  double dots[71];
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    int k = counts[c], wrong = 0;
    for (int j = 0; j < k; j++) v[j] = all[j % 3];
    for (int j = 0; j < 71; j++) dots[j] = 77;
    CHECK_OK(PoiseVecMDot(y, k, v, dots));
    for (int j = 0; j < k; j++)
      wrong += !(fabsl(dots[j] - exact[j % 3].sum) <= 200 * DBL_EPSILON * exact[j % 3].size);
    CHECK_INT(wrong, 0);
    CHECK(dots[k] == 77);
  }
}

static void Reductions(PoiseContext ctx, int layout, PoiseInt N)
{
  PoiseVec w, x, y;
  double xy, yy;
  if (!CHECK_OK(SampleVec(ctx, layout, N, &w))) return;
  CHECK_OK(PoiseVecDuplicate(w, &x));
  CHECK_OK(PoiseVecDuplicate(w, &y));
  SampleFill(w, 1);
  SampleFill(x, 2);
  SampleFill(y, 3);
  CHECK_OK(PoiseVecDot(x, y, &xy));
  CloseTo(xy, ExactSum(N, DOT));
  CHECK_OK(PoiseVecDot(x, x, &xy));
  CloseTo(xy, ExactSum(N, SQUARE_X));
  CHECK_OK(PoiseVecDotNorm2(x, y, &xy, &yy));
  CloseTo(xy, ExactSum(N, DOT));
  CloseTo(yy, ExactSum(N, SQUARE_Y));
  Norms(x, N);
  ManyDots(w, x, y, N);
  CHECK_OK(PoiseVecAXPYDot(w, a, x, &yy));
  CloseTo(yy, ExactSum(N, SQUARE_AXPY));
  CHECK_INT(Wrong(w, AXPY), 0);
  SampleFill(w, 1);
  CHECK_OK(PoiseVecAXPYDot(w, a, w, &yy));
  CloseTo(yy, ExactSum(N, SQUARE_SELF));
  CHECK_INT(Wrong(w, AXPY_SELF), 0);
  CHECK_OK(PoiseVecDestroy(&w));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
}

static void TestReductions(PoiseContext ctx)
{
  ForAll(ctx, Reductions);
}

/* One NaN, wherever it stands, is in every norm of every rank; an infinite entry in the largest one. */
static void TestNormsOfNaN(PoiseContext ctx)
{
  static const PoiseInt places[] = {0, 7, 8, 1023, 1024, 2047, 2050, 2055};
  static const PoiseNorm norms[] = {POISE_NORM_1, POISE_NORM_2, POISE_NORM_INF};
  PoiseVec x;
  double v;
  if (!CHECK_OK(SampleVec(ctx, EVEN, 2056, &x))) return;
  for (size_t k = 0; k < sizeof places / sizeof *places; k++)
    for (int mine = 0; mine < 2; mine++) {
      double odd = mine ? NAN : -INFINITY;
      SampleFill(x, 5);
      CHECK_OK(PoiseVecSetValues(x, 1, &places[k], &odd));
      CHECK_OK(PoiseVecAssemble(x));
      for (int t = 0; t < 3; t++) {
        CHECK_OK(PoiseVecNorm(x, norms[t], &v));
        CHECK(mine ? isnan(v) : v == INFINITY);
      }
    }
  CHECK_ERR(PoiseVecNorm(x, (PoiseNorm)7, &v), POISE_ERR_ARG, "norm 7");
  CHECK_OK(PoiseVecDestroy(&x));
}

/* The norm of entries v 2^e in row `from` and behind, and v 2^less before. */
static double NormOf(PoiseVec x, double v, int e, PoiseInt from, int less)
{
  PoiseInt begin, end;
  double *p, norm = -1;
  PoiseVecRange(x, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(x, &p))) return -1;
  for (PoiseInt i = begin; i < end; i++) p[i - begin] = ldexp(v, i < from ? less : e);
  CHECK_OK(PoiseVecRestore(x, &p));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
  return norm;
}

static void TestNormsOfAnySize(PoiseContext ctx)
{
  enum { N = 2500 };
  static const int exponents[] = {-1074, -1073, -1060, -1022, -1021, -700, -566, -540, -467, -465,
                                  -400,  0,     400,   480,   490,   500,  511,  512,  700,  1017};
  PoiseVec x;
  if (!CHECK_OK(SampleVec(ctx, UNEVEN, N, &x))) return;
  for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
    int e = exponents[k];
    double one = ldexp(1, e), most = fmax(4 * DBL_EPSILON * 50 * one, 0x1p-1074);
    CHECK_NEAR(NormOf(x, 1, e, 0, 0), 50 * one, most); /* sqrt(2500) */
    CHECK_NEAR(NormOf(x, 1, e, N - 1, -1074), one,
               fmax(60 * 0x1p-1074, 4 * DBL_EPSILON * one)); /* far larger than the others */
  }
  CHECK(NormOf(x, 0, 0, 0, 0) == 0);
  CHECK(NormOf(x, 1.5, 1023, 0, 0) == INFINITY); /* which it is */
  CHECK_NEAR(NormOf(x, 1.5, 1023, N - 1, 0) * 0x1p-1023, 1.5, 4 * DBL_EPSILON);
  CHECK(NormOf(x, INFINITY, 0, N - 1, 0) == INFINITY && isnan(NormOf(x, NAN, 0, N - 1, 0)));
  CHECK_OK(PoiseVecDestroy(&x));
}

/* Others keep their bits, and take one pass. */
static void TestNormsOfUsualSize(PoiseContext ctx)
{
  PoiseVec x;
  double norm, square;
  if (!CHECK_OK(SampleVec(ctx, UNEVEN, 2500, &x))) return;
  SampleFill(x, 4);
  CHECK_OK(PoiseVecDot(x, x, &square));
  int64_t launches = ctx->device->launches;
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
  CHECK_INT(ctx->device->launches - launches, 2); /* with the sum of the partial ones */
  CHECK(norm == sqrt(square));
  CHECK_OK(PoiseVecSet(x, 0));
  launches = ctx->device->launches;
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
  CHECK(norm == 0 && ctx->device->launches - launches <= 4);
  CHECK_OK(PoiseVecDestroy(&x));
}

/* ---- random numbers -------------------------------------------------------------------------- */

static void TestRandomNumbers(PoiseContext ctx)
{
  enum { N = 5003 };
  uint64_t bits[NLAYOUTS], other;
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    PoiseVec x;
    double mean, most, square;
    const double *p;
    if (!CHECK_OK(SampleVec(ctx, layout, N, &x))) return;
    CHECK_OK(PoiseVecSetRandom(x, 42));
    bits[layout] = SampleDigest(x);
    CHECK(bits[layout] == bits[0]); /* a function of the global row */
    CHECK_OK(PoiseVecSumEntries(x, &mean));
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &most));
    CHECK_OK(PoiseVecDot(x, x, &square));
    CHECK_NEAR(mean / N, 0, 0.05);
    CHECK_NEAR(square / N, 1.0 / 3, 0.03);
    CHECK(most > 0.99 && most <= 1);
    if (CHECK_OK(PoiseVecGetRead(x, &p)))
      for (PoiseInt i = 0; i < PoiseVecLocalSize(x); i++) most = fmax(most, p[i] < 1 ? 0 : 2);
    CHECK_OK(PoiseVecRestore(x, &p));
    CHECK(most <= 1);
    CHECK_OK(PoiseVecSetRandom(x, 42));
    CHECK(SampleDigest(x) == bits[0]);
    CHECK_OK(PoiseVecSetRandom(x, 43));
    other = SampleDigest(x);
    CHECK(other != bits[0]);
    CHECK_OK(PoiseVecDestroy(&x));
  }
}

/* ---- assembly -------------------------------------------------------------------------------- */

enum { PER_RANK = 300 };

/* What rank r adds at its k-th place: any row, now and then a negative one. */
static PoiseInt Row(int r, int k, PoiseInt N)
{
  if (k % 7 == 3) return -1 - k;
  return (PoiseInt)(fabs(TestRandom(10 + (uint64_t)r, (uint64_t)k)) * (double)N);
}

static double Value(int r, int k)
{
  return TestRandom(100 + (uint64_t)r, (uint64_t)k);
}

static void AddAll(PoiseVec x, int r)
{
  PoiseInt rows[PER_RANK], N = PoiseVecSize(x);
  double v[PER_RANK];
  for (int k = 0; k < PER_RANK; k++) rows[k] = Row(r, k, N), v[k] = Value(r, k);
  CHECK_OK(PoiseVecAddValues(x, 100, rows, v)); /* in several calls */
  CHECK_OK(PoiseVecAddValues(x, 0, NULL, NULL));
  CHECK_OK(PoiseVecAddValues(x, PER_RANK - 100, rows + 100, v + 100));
}

static void Adding(PoiseContext ctx, int layout, PoiseInt N)
{
  PoiseVec x;
  Wide sum[5000], size[5000];
  const double *p;
  PoiseInt begin, end, wrong = 0;
  if (!N) return;
  if (!CHECK_OK(SampleVec(ctx, layout, N, &x))) return;
  SampleFill(x, 1);
  AddAll(x, PoiseRank(ctx));
  CHECK_OK(PoiseVecAssemble(x));
  uint64_t bits = SampleDigest(x);
  for (PoiseInt i = 0; i < N; i++) sum[i] = TestRandom(1, (uint64_t)i), size[i] = fabsl(sum[i]);
  for (int r = 0; r < PoiseSize(ctx); r++)
    for (int k = 0; k < PER_RANK; k++)
      if (Row(r, k, N) >= 0) sum[Row(r, k, N)] += Value(r, k), size[Row(r, k, N)] += fabs(Value(r, k));
  PoiseVecRange(x, &begin, &end);
  if (CHECK_OK(PoiseVecGetRead(x, &p)))
    for (PoiseInt i = begin; i < end; i++)
      wrong += !(fabsl(p[i - begin] - sum[i]) <= PER_RANK * PoiseSize(ctx) * DBL_EPSILON * size[i]);
  CHECK_INT(wrong, 0);
  CHECK_OK(PoiseVecRestore(x, &p));
  SampleFill(x, 1); /* once more: the same bits */
  AddAll(x, PoiseRank(ctx));
  CHECK_OK(PoiseVecAssemble(x));
  CHECK(SampleDigest(x) == bits);
  CHECK_OK(PoiseVecAssemble(x)); /* nothing pending, nothing changes */
  CHECK(SampleDigest(x) == bits);
  CHECK_OK(PoiseVecDestroy(&x));
}

static void TestAdd(PoiseContext ctx)
{
  ForAll(ctx, Adding);
}

/* Every rank sets the rows that are its number modulo the number of ranks, whoever owns them. */
static void Setting(PoiseContext ctx, int layout, PoiseInt N)
{
  PoiseVec x, y;
  if (!CHECK_OK(SampleVec(ctx, layout, N, &x))) return;
  CHECK_OK(PoiseVecDuplicate(x, &y));
  SampleFill(x, 4);
  SampleConstant(y, NAN);
  for (PoiseInt i = N - 1; i >= 0; i--) {
    double v = TestRandom(4, (uint64_t)i);
    if (i % PoiseSize(ctx) == PoiseRank(ctx))
      CHECK_OK(PoiseVecSetValues(y, 2, (PoiseInt[]){-1, i}, (double[]){99, v}));
  }
  CHECK_OK(PoiseVecAssemble(y));
  CHECK(SampleDigest(x) == SampleDigest(y));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
}

static void TestSet(PoiseContext ctx)
{
  ForAll(ctx, Setting);
}

static void TestAssemblyErrors(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = PoiseRank(ctx) == size - 1;
  PoiseVec x;
  double v[3] = {1, 2, 3}, sum;
  if (!CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_ERR(PoiseVecAddValues(x, 3, (PoiseInt[]){0, 10, 1}, v), POISE_ERR_ARG,
            "row 10 of a vector of 10 rows");
  CHECK_ERR(PoiseVecAssemble(x), POISE_ERR_ARG, "row 10 of a vector of 10 rows");
  CHECK_OK(PoiseVecSumEntries(x, &sum)); /* nothing was added, so nothing is pending */
  CHECK(sum == 10);
  CHECK_OK(PoiseVecAddValues(x, 1, (PoiseInt[]){3}, v));
  CHECK_ERR(PoiseVecSetValues(x, 1, (PoiseInt[]){3}, v), POISE_ERR_STATE, "without PoiseVecAssemble between");
  CHECK_ERR(PoiseVecSumEntries(x, &sum), POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_ERR(PoiseVecScale(x, 2), POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_ERR(PoiseVecGetRead(x, &(const double *){NULL}), POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_ERR(PoiseVecGetWrite(x, &(double *){NULL}), POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_ERR(PoiseVecGetUpdate(x, &(double *){NULL}), POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_ERR(PoiseVecAssemble(x), POISE_ERR_STATE, "without PoiseVecAssemble between");
  CHECK_ERR(PoiseVecSumEntries(x, &sum), POISE_ERR_STATE,
            "PoiseVecAssemble"); /* what was added rightly is pending still */
  CHECK_OK(PoiseVecAssemble(x));
  CHECK_OK(PoiseVecSumEntries(x, &sum));
  CHECK(sum == 10 + size);
  if (last) CHECK_OK(PoiseVecSetValues(x, 1, (PoiseInt[]){0}, v));
  CHECK_ERR_OF(PoiseVecSumEntries(x, &sum), last, POISE_ERR_STATE, "PoiseVecAssemble");
  if (!last) CHECK_OK(PoiseVecAddValues(x, 1, (PoiseInt[]){9}, v));
  if (size > 1) CHECK_ERR(PoiseVecAssemble(x), POISE_ERR_STATE, "added on one rank and set on another");
  CHECK_OK(PoiseVecAssemble(x)); /* what was pending is dropped */
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x));
  CHECK_OK(PoiseVecAddValues(x, 1, (PoiseInt[]){9}, v));
  CHECK_OK(PoiseVecDestroy(&x)); /* with entries pending */
}

/* ---- users' arrays --------------------------------------------------------------------------- */

static double *Array(PoiseInt n)
{
  double *p = malloc((size_t)n * sizeof *p + 1);
  for (PoiseInt i = 0; i < n; i++) p[i] = (double)i + 0.5;
  return p;
}

static int Is(const double *p, PoiseInt n, double scale, double shift)
{
  PoiseInt wrong = 0;
  for (PoiseInt i = 0; i < n; i++) wrong += p[i] != scale * ((double)i + 0.5) + shift;
  return !wrong;
}

static void TestCopied(PoiseContext ctx)
{
  PoiseInt n = 100 * PoiseRank(ctx); /* the first rank has none */
  double *p = Array(n);
  const double *q;
  PoiseVec x;
  if (!CHECK_OK(PoiseVecCreateArray(ctx, n, POISE_DECIDE, p, POISE_COPY, &x))) return;
  for (PoiseInt i = 0; i < n; i++) p[i] = NAN;
  free(p);
  CHECK_OK(PoiseVecScale(x, 2));
  if (CHECK_OK(PoiseVecGetRead(x, &q))) CHECK(Is(q, n, 2, 0));
  CHECK_OK(PoiseVecRestore(x, &q));
  CHECK_OK(PoiseVecDestroy(&x));
}

static void TestAdopted(PoiseContext ctx)
{
  PoiseInt n = 100 * PoiseRank(ctx) + 1;
  double *p = Array(n);
  const double *q;
  PoiseVec x;
  if (!CHECK_OK(PoiseVecCreateArray(ctx, n, POISE_DECIDE, p, POISE_ADOPT, &x))) return;
  CHECK_OK(PoiseVecScale(x, 2));
  if (CHECK_OK(PoiseVecGetRead(x, &q))) CHECK(q == p && Is(q, n, 2, 0));
  CHECK_OK(PoiseVecRestore(x, &q));
  CHECK_OK(PoiseVecDestroy(&x)); /* frees p: the sanitizer knows */
  CHECK_OK(PoiseVecCreateArray(ctx, 0, POISE_DECIDE, NULL, POISE_ADOPT, &x));
  CHECK_OK(PoiseVecDestroy(&x));
}

/* The user's array is current after every call, whatever the device. */
static void TestBorrowed(PoiseContext ctx)
{
  PoiseInt n = 100 * PoiseRank(ctx), rows[1] = {0};
  double *p = Array(n), v;
  const double *q;
  PoiseVec x, y;
  if (!CHECK_OK(PoiseVecCreateArray(ctx, n, POISE_DECIDE, p, POISE_BORROW, &x))) return;
  CHECK_OK(PoiseVecDuplicate(x, &y));
  CHECK_OK(PoiseVecCopy(x, y));
  CHECK_OK(PoiseVecScale(x, 2));
  CHECK(Is(p, n, 2, 0));
  CHECK_OK(PoiseVecAXPY(x, 1, y));
  CHECK(Is(p, n, 3, 0));
  CHECK_OK(PoiseVecAXPYDot(x, 1, y, &v));
  CHECK(Is(p, n, 4, 0));
  CHECK_OK(PoiseVecMAXPY(x, 1, (double[]){4}, &y));
  CHECK(Is(p, n, 8, 0));
  CHECK_OK(PoiseVecDot(x, y, &v));
  CHECK(Is(p, n, 8, 0));
  if (CHECK_OK(PoiseVecGetRead(x, &q))) CHECK(q == p || !n);
  CHECK_OK(PoiseVecRestore(x, &q));
  CHECK_OK(PoiseVecPointwiseDivide(x, x, y));
  CHECK(Is(p, n, 0, 8));
  CHECK_OK(PoiseVecSet(x, 3));
  CHECK(Is(p, n, 0, 3));
  if (PoiseVecSize(x)) { /* every rank adds 1 to the first entry, which rank 1 owns */
    CHECK_OK(PoiseVecAddValues(x, 1, rows, (double[]){1}));
    CHECK_OK(PoiseVecAssemble(x));
    if (PoiseRank(ctx) == 1) CHECK(p[0] == 3 + PoiseSize(ctx) && Is(p + 1, n - 1, 0, 3));
  }
  CHECK_OK(PoiseVecCopy(y, x));
  CHECK(Is(p, n, 1, 0));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK(Is(p, n, 1, 0));
  free(p);
  CHECK_OK(PoiseVecDestroy(&y));
}

/* ---- what does not fit ----------------------------------------------------------------------- */

static void TestSizeErrors(PoiseContext ctx)
{
  PoiseVec x, y;
  double v[2];
  if (!CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 1025, &x))) return;
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 1031, &y));
  CHECK_ERR(PoiseVecCopy(x, y), POISE_ERR_SIZE, "1025");
  for (int k = 0; k < 2; k++) {
    const char *words = k ? "1025" : "1031";
    CHECK_ERR(PoiseVecAXPY(x, 1, y), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecAYPX(x, 1, y), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecAXPBY(x, 1, 2, y), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecAXPBY(x, 1, 0, y), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecWAXPY(x, 1, x, y), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecWAXPY(x, 1, y, x), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecPointwiseMult(x, x, y), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecPointwiseDivide(y, x, y), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecMAXPY(x, 2, v, (PoiseVec[]){y, y}), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecDot(x, y, v), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecMDot(x, 2, (PoiseVec[]){x, y}, v), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecAXPYDot(x, 1, y, v), POISE_ERR_SIZE, words);
    CHECK_ERR(PoiseVecDotNorm2(x, y, v, v + 1), POISE_ERR_SIZE, words);
  }
  CHECK_ERR(PoiseVecMAXPY(x, 1, v, &x), POISE_ERR_ARG, "x[0] and y are the same");
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
}

/* As many entries in all, but the first two ranks share them differently: these can see it, and all must
   learn of it. */
static void TestLayoutErrors(PoiseContext ctx)
{
  int rank = PoiseRank(ctx), size = PoiseSize(ctx), sees = rank < 2;
  PoiseVec x, y;
  double v;
  if (size == 1) TEST_SKIP("one rank has one layout");
  if (!CHECK_OK(PoiseVecCreate(ctx, 10, POISE_DECIDE, &x))) return;
  CHECK_OK(PoiseVecCreate(ctx, rank == 0 ? 11 : rank == 1 ? 9 : 10, POISE_DECIDE, &y));
  SampleMismatch(PoiseVecDot(x, y, &v), sees, POISE_ERR_SIZE, "on rank");
  SampleMismatch(PoiseVecMDot(x, 1, &y, &v), sees, POISE_ERR_SIZE, "on rank");
  SampleMismatch(PoiseVecAXPYDot(x, 1, y, &v), sees, POISE_ERR_SIZE, "on rank");
  SampleMismatch(PoiseAgree(ctx, PoiseVecAXPY(x, 1, y)), sees, POISE_ERR_SIZE, "on rank");
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
}

static void TestContextErrors(PoiseContext ctx)
{
  PoiseContext own;
  PoiseVec x, y;
  double v;
  if (!CHECK_OK(PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &own))) return;
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x));
  CHECK_OK(PoiseVecCreate(own, POISE_DECIDE, 10, &y));
  CHECK_ERR(PoiseVecAXPY(x, 1, y), POISE_ERR_ARG, "different contexts");
  CHECK_ERR(PoiseVecDot(x, y, &v), POISE_ERR_ARG, "different contexts");
  CHECK_ERR(PoiseVecMDot(x, 1, &y, &v), POISE_ERR_ARG, "different contexts");
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseFinalize(&own));
}

/* ---- bits ------------------------------------------------------------------------------------ */

enum { LONG = 41003 }; /* enough blocks for several threads on each of four ranks */

/* Add several values to each row, as many cells with nodes in rows far apart do. A rank gives those of its
   own rows. */
static void AddMany(PoiseVec x)
{
  enum { EACH = 4, APART = 9001 };
  PoiseInt *rows = malloc(EACH * LONG * sizeof *rows), begin, end;
  double *v = malloc(EACH * LONG * sizeof *v);
  PoiseVecRange(x, &begin, &end);
  for (PoiseInt k = 0; k < EACH * LONG; k++) {
    const PoiseInt row = (k / EACH + k % EACH * APART) % LONG;
    rows[k] = row >= begin && row < end ? row : -1;
    v[k] = TestRandom(5, (uint64_t)k);
  }
  CHECK_OK(PoiseVecAddValues(x, EACH * LONG, rows, v));
  CHECK_OK(PoiseVecAssemble(x));
  free(rows);
  free(v);
}

/* Element-wise results have bits that depend on nothing; those of sums on the layout only. */
static PoiseErr AllBits(PoiseContext ctx, void *arg)
{
  SampleRun *run = arg;
  PoiseVec v[3];
  double r[8];
  for (int k = 0; k < 3; k++) {
    if (!CHECK_OK(SampleVec(ctx, EVEN, LONG, &v[k]))) return POISE_OK;
    CHECK_OK(PoiseVecSetRandom(v[k], (uint64_t)k));
    SampleKeep(ctx, run, SampleDigest(v[k]));
  }
  CHECK_OK(PoiseVecPointwiseDivide(v[0], v[1], v[2]));
  CHECK_OK(PoiseVecMAXPY(v[0], 2, (double[]){a, b}, v + 1));
  CHECK_OK(PoiseVecAXPBY(v[0], a, b, v[1]));
  SampleKeep(ctx, run, SampleDigest(v[0]));
  AddMany(v[0]);
  SampleKeep(ctx, run, SampleDigest(v[0]));
  int independent = PoiseRank(ctx) == 0 ? run->n : 0;
  CHECK_OK(PoiseVecDot(v[1], v[2], &r[0]));
  CHECK_OK(PoiseVecMDot(v[1], 3, v, r + 1));
  CHECK_OK(PoiseVecAXPYDot(v[0], a, v[1], &r[4]));
  CHECK_OK(PoiseVecNorm(v[0], POISE_NORM_1, &r[5]));
  CHECK_OK(PoiseVecNorm(v[0], POISE_NORM_2, &r[6]));
  CHECK_OK(PoiseVecSumEntries(v[0], &r[7]));
  CHECK(SampleBits(r[0]) == SampleBits(r[3])); /* however it was computed */
  for (int k = 0; k < 8; k++) SampleKeep(ctx, run, SampleBits(r[k]));
  if (PoiseRank(ctx) == 0) CHECK_INT(independent, 5);
  for (int k = 0; k < 3; k++) CHECK_OK(PoiseVecDestroy(&v[k]));
  return POISE_OK;
}

static void TestBits(PoiseContext ctx)
{
  static const int ranks[] = {1, 2, 4};
  SampleRun first, run, one;
  (void)ctx;
  SampleRunOn("host", 1, 1, AllBits, &one);
  for (int k = 0; k < 3; k++) {
    SampleRunOn("host", ranks[k], 1, AllBits, &first);
    CHECK(!memcmp(first.result, one.result, 5 * sizeof *one.result));
    for (int threads = 1; threads <= 3; threads++) {
      SampleRunOn("host", ranks[k], threads, AllBits, &run);
      CHECK(SampleSame(&run, &first));
      SampleRunOn("mock", ranks[k], threads, AllBits, &run);
      CHECK(SampleSame(&run, &first));
    }
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr CreateAll(PoiseContext ctx, void *arg)
{
  PoiseVec x = NULL, y = NULL, z = NULL;
  double v[5] = {1, 2, 3, 4, 5}, *mine = malloc(5 * sizeof *mine);
  (void)arg;
  memcpy(mine, v, sizeof v);
  PoiseErr e = PoiseVecCreate(ctx, POISE_DECIDE, 3000, &x);
  if (!e) e = PoiseVecDuplicate(x, &y);
  PoiseVecDestroy(&x);
  if (!e) e = PoiseVecCreateArray(ctx, 5, POISE_DECIDE, v, POISE_COPY, &x);
  if (!e) e = PoiseVecCreateArray(ctx, 5, POISE_DECIDE, mine, POISE_ADOPT, &z);
  if (!z) free(mine);
  PoiseVecDestroy(&z);
  if (!e) e = PoiseVecCreateArray(ctx, 5, POISE_DECIDE, v, POISE_BORROW, &z);
  CHECK(e || (x && y && z));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  return e;
}

static PoiseErr AssembleOne(PoiseContext ctx, void *arg)
{
  PoiseVec x = NULL;
  PoiseInt rows[50];
  double v[50];
  (void)arg;
  for (int k = 0; k < 50; k++) rows[k] = 7 * k, v[k] = k;
  PoiseErr e = PoiseVecCreate(ctx, POISE_DECIDE, 400, &x);
  if (!e) e = PoiseAgree(ctx, PoiseVecAddValues(x, 50, rows, v));
  if (!e) e = PoiseVecAssemble(x);
  PoiseVecDestroy(&x);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  TestAllocationFailures(ctx, CreateAll, NULL);
  TestAllocationFailures(ctx, AssembleOne, NULL);
}

/* A vector that could not be made larger than all before leaves these as they were, their sums too. */
static void TestGrowth(PoiseContext ctx)
{
  int size = PoiseSize(ctx), fails = PoiseRank(ctx) == size - 1;
  PoiseVec x, y;
  double sum;
  if (!CHECK_OK(PoiseVecCreate(ctx, 3, POISE_DECIDE, &x))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  for (int n = 1; n < 100; n++) {
    if (fails) poiseAllocFailAt(ctx, n);
    PoiseErr e = PoiseVecCreate(ctx, 5000, POISE_DECIDE, &y);
    poiseAllocFailAt(ctx, 0);
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK(sum == 3 * size);
    if (!e) break;
    CHECK_ERR_OF(e, fails, POISE_ERR_MEMORY, "");
    CHECK(n < 99 && !y);
  }
  CHECK_OK(PoiseVecSet(y, 1));
  CHECK_OK(PoiseVecSumEntries(y, &sum));
  CHECK(sum == 5000 * size);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
}

/* ---- halo: when its buffers are filled again ------------------------------------------------- */

enum { ON_RANK = 5 };

/* Each rank but the first reads the last entry of the rank before; the last one sends nothing. */
static Halo *LineOfRanks(PoiseVec x)
{
  Halo *halo = NULL;
  PoiseInt ghost = x->layout->begin - 1;
  CHECK_OK(poiseHaloCreate(x->layout, ghost >= 0, &ghost, &halo));
  return halo;
}

/* Two exchanges, and no wait of the caller between: what was fetched first is what its reader gets. */
static void TestHaloAgain(PoiseContext ctx)
{
  PoiseVec x[2], y[2];
  double *to;
  const double *from, *ghost;
  for (int k = 0; k < 2; k++) {
    if (!CHECK_OK(PoiseVecCreate(ctx, ON_RANK, POISE_DECIDE, &x[k]))) return;
    if (!CHECK_OK(PoiseVecCreate(ctx, 1, POISE_DECIDE, &y[k]))) return;
    SampleConstant(x[k], 10 * k + PoiseRank(ctx));
    SampleConstant(y[k], -1);
  }
  Halo *halo = LineOfRanks(x[0]);
  for (int k = 0; k < 2 && halo; k++) {
    CHECK_OK(poiseVecRead(x[k], &from));
    CHECK_OK(poiseVecUpdate(y[k], &to));
    CHECK_OK(poiseHaloBegin(halo, POISE_OK, from));
    CHECK_OK(poiseHaloEnd(halo, &ghost));
    PhaseArgs p = {.id = PHASE_vec_axpby, .n = 1, .in = {ghost, to}, .out = {to}, .c = {{.value = 1}}};
    if (PoiseRank(ctx)) CHECK_OK(LAUNCH(ctx->device, phase, &p));
  }
  for (int k = 0; k < 2; k++) {
    if (CHECK_OK(PoiseVecGetRead(y[k], &from)))
      CHECK(from[0] == (PoiseRank(ctx) ? 10 * k + PoiseRank(ctx) - 1 : -1));
    CHECK_OK(PoiseVecRestore(y[k], &from));
    PoiseVecDestroy(&x[k]);
    PoiseVecDestroy(&y[k]);
  }
  poiseHaloDestroy(&halo);
}

/* Sums that go back, and at once an exchange by ranks that have failed, or of the hosts: what came before is
   added. */
static void TestHaloBack(PoiseContext ctx)
{
  PoiseVec y;
  double *to, *ghost, here[ON_RANK] = {0};
  const double *from;
  PoiseInt last = ON_RANK - 1;
  if (!CHECK_OK(PoiseVecCreate(ctx, ON_RANK, POISE_DECIDE, &y))) return;
  SampleConstant(y, 1);
  Halo *halo = LineOfRanks(y);
  if (halo && CHECK_OK(poiseVecUpdate(y, &to)) && CHECK_OK(poiseHaloGhostWrite(halo, &ghost))) {
    PhaseArgs p = {.id = PHASE_vec_set, .n = 1, .out = {ghost}, .c = {{.value = 4}}};
    if (PoiseRank(ctx)) CHECK_OK(LAUNCH(ctx->device, phase, &p));
    CHECK_OK(poiseHaloReverse(halo, POISE_OK, to));
    for (int64_t i = 0; i < halo->nghost; i++) halo->back.send[i] = 100;
    CHECK_INT(poiseHaloReverse(halo, POISE_ERR_USER, to), POISE_ERR_USER);
    if (PoiseRank(ctx)) CHECK_OK(LAUNCH(ctx->device, phase, &p));
    CHECK_OK(poiseHaloReverse(halo, POISE_OK, to));
    for (int64_t i = 0; i < halo->nghost; i++) poiseHaloHostGhosts(halo)[i] = 100;
    CHECK_OK(poiseHaloHostReverse(halo, POISE_OK, here));
    CHECK(here[last] == (PoiseRank(ctx) < PoiseSize(ctx) - 1 ? 100 : 0));
    if (CHECK_OK(PoiseVecGetRead(y, &from)))
      CHECK(from[last] == (PoiseRank(ctx) < PoiseSize(ctx) - 1 ? 9 : 1));
    CHECK_OK(PoiseVecRestore(y, &from));
  }
  poiseHaloDestroy(&halo);
  PoiseVecDestroy(&y);
}

static const Test tests[] = {
    {"sizes", TestSizes, 0},
    {"create_errors", TestCreateErrors, 0},
    {"access", TestAccess, 0},
    {"view", TestView, 0},
    {"elements", TestElements, 0},
    {"overwrite_nan", TestOverwriteNaN, 0},
    {"reductions", TestReductions, 0},
    {"norms_of_nan", TestNormsOfNaN, 0},
    {"norms_of_any_size", TestNormsOfAnySize, 0},
    {"norms_of_usual_size", TestNormsOfUsualSize, 0},
    {"random", TestRandomNumbers, 0},
    {"add", TestAdd, 0},
    {"set", TestSet, 0},
    {"assembly_errors", TestAssemblyErrors, 0},
    {"copied", TestCopied, 0},
    {"adopted", TestAdopted, 0},
    {"borrowed", TestBorrowed, 0},
    {"size_errors", TestSizeErrors, 0},
    {"layout_errors", TestLayoutErrors, 0},
    {"context_errors", TestContextErrors, 0},
    {"bits", TestBits, TEST_SERIAL | TEST_HOST_ONLY},
    {"memory", TestMemory, 0},
    {"growth", TestGrowth, 0},
    {"halo_again", TestHaloAgain, 0},
    {"halo_back", TestHaloBack, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "vec", tests);
}

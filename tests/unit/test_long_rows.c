/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Long rows and columns. Transposed products, and norms of columns, on columns of awkward lengths are compared
  with sums in long double. The error must be within a small multiple of the length times unit roundoff. The
  bits must be the same in every run and on any number of threads. Operations that change or sum long rows are
  compared with the same on the transpose, whose rows are short. Products A x with long rows are in
  test_products.c.
*/
#include <float.h>

#include "harness.h"
#include "mat/object/mat.h"

/* ---- matrices, column by column -------------------------------------------------------------- */

typedef struct Shape {
  const char *name;
  PoiseInt M, N;
  PoiseInt (*length)(PoiseInt j);
  bool x_lines; /* over all rows; else in the first ones */
} Shape;

static PoiseInt None(PoiseInt j)
{
  return 0 * j;
}
static PoiseInt One(PoiseInt j)
{
  return 1 + 0 * j;
}
static PoiseInt All(PoiseInt j)
{
  return 1000000 + 0 * j;
}
static PoiseInt FullColumn(PoiseInt j)
{
  return j == 14000 ? 1000000 : 4;
}
static PoiseInt MostlyEmpty(PoiseInt j)
{
  return j == 7 ? 1000000 : j % 7 == 0 ? 10 : 0;
}
/* one less, as many, and one more than row blocks and fragments hold */
static PoiseInt AroundFragments(PoiseInt j)
{
  static const PoiseInt lengths[] = {8191, 8192, 8193, 0, 16383, 16384, 16385, 1, 32767, 32768, 32769, 3};
  return j < 12 ? lengths[j] : 2;
}
static PoiseInt AroundSmallFragments(PoiseInt j) /* the same of a GPU */
{
  static const PoiseInt lengths[] = {127, 128, 129, 0, 255, 256, 257, 1, 511, 512, 513, 2, 2049};
  return j % 2000 < 13 ? lengths[j % 2000] : 2;
}
/* of 2 x 2 and of 3 x 3, on hosts, where row blocks are of 2048 and 910 */
static PoiseInt AroundFragmentsOfBlocks(PoiseInt j)
{
  static const PoiseInt lengths[] = {4094, 4096, 4098, 8190, 8192, 8194, 2727, 2730, 2733, 5457, 5460, 5463};
  return j < 72 ? lengths[j / 6] : 2;
}
static PoiseInt Uneven(PoiseInt j)
{
  double u = TestRandom(11, (uint64_t)j);
  return (PoiseInt)(4 / (u * u + 1e-4)) % 15000;
}
static PoiseInt InFront(PoiseInt j) /* most of the entries in an eighth of the columns, none of them long */
{
  return j < 2500 ? 60 : 1;
}

static const Shape shapes[] = {{"a full column", 30000, 30000, FullColumn, true},
                               {"one column", 100002, 1, All, true},
                               {"one row", 1, 100002, One, true},
                               {"mostly empty", 42000, 60000, MostlyEmpty, true},
                               {"around fragments", 33000, 6000, AroundFragments, false},
                               {"around small fragments", 3000, 20000, AroundSmallFragments, true},
                               {"around fragments of blocks", 9000, 6000, AroundFragmentsOfBlocks, false},
                               {"uneven", 15000, 600, Uneven, true},
                               {"in front", 20000, 20000, InFront, true},
                               {"full", 600, 600, All, true},
                               {"no entries", 600, 300, None, true},
                               {"nothing", 0, 0, None, true}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static PoiseInt Length(const Shape *s, PoiseInt j)
{
  PoiseInt n = s->length(j);
  return n < s->M ? n : s->M;
}

/* Ascending, all different; the spread ones from a place that differs from column to column. */
static PoiseInt Row(const Shape *s, PoiseInt j, PoiseInt n, PoiseInt k)
{
  return s->x_lines ? k * s->M / n + j % (s->M / n) * (k + 1 < n) : k;
}

static double Value(PoiseInt i, PoiseInt j)
{
  return TestRandom(4, (uint64_t)(i * 1000003 + j)) - 0.5;
}

static double X(PoiseInt i)
{
  return TestRandom(2, (uint64_t)i) - 0.5;
}

static PoiseErr Make(PoiseContext ctx, const Shape *s, PoiseMat *A)
{
  PoiseInt begin, m, first, n;
  PoiseSplit(ctx, s->M, &begin, &m);
  PoiseSplit(ctx, s->N, &first, &n);
  int64_t *ptr = calloc((size_t)m + 2, sizeof *ptr), *col = NULL;
  double *val = NULL;
  for (int pass = 0; pass < 2; pass++) {
    for (PoiseInt j = 0; j < s->N; j++)
      for (PoiseInt k = 0, length = Length(s, j); k < length; k++) {
        PoiseInt i = Row(s, j, length, k) - begin;
        if (i < 0 || i >= m) continue;
        if (pass) col[ptr[i + 1]] = j, val[ptr[i + 1]] = Value(begin + i, j);
        ptr[i + (pass ? 1 : 2)]++; /* counts, then where the row goes on */
      }
    for (PoiseInt i = 0; i <= m && !pass; i++) ptr[i + 1] += ptr[i];
    if (!pass)
      col = calloc((size_t)ptr[m + 1] + 1, sizeof *col), val = calloc((size_t)ptr[m + 1] + 1, sizeof *val);
  }
  PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  PoiseErr e = PoiseMatCreateCSR(ctx, m, n, s->M, s->N, &csr, POISE_COPY, A);
  free(ptr), free(col), free(val);
  return e;
}

/* ---- what they must be ----------------------------------------------------------------------- */

typedef struct Sums { /* of this rank's columns */
  PoiseInt begin, n;
  double *sum, *size, most; /* A^T x; |A|^T |x|; the largest of |A|^T 1, of all ranks' */
} Sums;

static Sums Expect(PoiseContext ctx, const Shape *s)
{
  Sums r = {0};
  PoiseSplit(ctx, s->N, &r.begin, &r.n);
  r.sum = calloc((size_t)r.n + 1, sizeof *r.sum), r.size = calloc((size_t)r.n + 1, sizeof *r.size);
  for (PoiseInt j = 0; j < r.n; j++) {
    long double sum = 0, size = 0, norm = 0;
    PoiseInt length = Length(s, r.begin + j);
    for (PoiseInt k = 0; k < length; k++) {
      PoiseInt i = Row(s, r.begin + j, length, k);
      long double v = Value(i, r.begin + j);
      sum += v * X(i), size += fabsl(v * X(i)), norm += fabsl(v);
    }
    r.sum[j] = (double)sum, r.size[j] = (double)size;
    if (norm > r.most) r.most = (double)norm;
  }
  CHECK_OK(PoiseMax(ctx, 1, &r.most));
  return r;
}

static bool IsRight(const Shape *s, const Sums *r, const double *y)
{
  for (PoiseInt j = 0; j < r->n; j++) {
    double most = ((double)Length(s, r->begin + j) + 3) * DBL_EPSILON / 2 * r->size[j];
    if (!(fabs(y[j] - r->sum[j]) <= most)) return false;
  }
  return true;
}

/* ---- tests ----------------------------------------------------------------------------------- */

enum { THREADS = 3, RUNS = 7 }; /* for each number of threads */

static void CheckTransposed(const Shape *s, const Sums *r, PoiseMat A, int runs)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseVec x, y;
  double *v, *bits = calloc((size_t)r->n + 1, sizeof *bits), norm = NAN;
  const double *is;
  PoiseInt begin, end;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &y, &x)) || !CHECK_OK(PoiseVecGetWrite(x, &v))) return;
  PoiseVecRange(x, &begin, &end);
  for (PoiseInt i = begin; i < end; i++) v[i - begin] = X(i);
  CHECK_OK(PoiseVecRestore(x, &v));
  for (int run = 0; run < THREADS * runs; run++) {
    ctx->device->threads = 1 + run % THREADS;
    CHECK_OK(PoiseVecSet(y, NAN));
    CHECK_OK(PoiseMatMultTranspose(A, x, y));
    if (!CHECK_OK(PoiseVecGetRead(y, &is))) break;
    if (!run && r->n) memcpy(bits, is, (size_t)r->n * sizeof *bits);
    if (!run && !CHECK(IsRight(s, r, is))) printf("%s, type %s\n", s->name, PoiseMatType(A));
    if (run) CHECK(!r->n || !memcmp(bits, is, (size_t)r->n * sizeof *bits));
    CHECK_OK(PoiseVecRestore(y, &is));
  }
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &norm));
  CHECK_NEAR(norm, r->most, ((double)s->M + 3) * DBL_EPSILON / 2 * r->most);
  free(bits);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

/* Whether this rank's columns were cut: on a host, those of several row blocks. */
static bool IsCut(PoiseMat A)
{
  return A->transposed.w.nfragment > 0;
}

/* Whatever A x is made of: by a product of its own. */
static void TestColumns(PoiseContext ctx)
{
  for (int k = 0; k < SHAPES; k++) {
    const Shape *s = &shapes[k];
    PoiseMat A;
    Sums r = Expect(ctx, s);
    if (!CHECK_OK(Make(ctx, s, &A))) return;
    CheckTransposed(s, &r, A, RUNS);
    /* else there is nothing to see here */
    if (PoiseSize(ctx) == 1 && (k < 2 || (k > 2 && k < 5))) CHECK(IsCut(A));
    PoiseMatDestroy(&A);
    free(r.sum), free(r.size);
  }
}

/* Of blocks, which are filled up with zeros. */
static void TestBlocks(PoiseContext ctx)
{
  for (int k = 0; k < SHAPES; k++)
    for (int b = 2; b <= 3; b++) {
      const Shape *s = &shapes[k];
      int divided =
          s->M % b == 0 && s->N % b == 0 && s->M / b % PoiseSize(ctx) == 0 && s->N / b % PoiseSize(ctx) == 0;
      PoiseMat A;
      if (!divided) continue;
      Sums r = Expect(ctx, s);
      if (!CHECK_OK(Make(ctx, s, &A))) return;
      CHECK_OK(PoiseMatSetBlockSize(A, b));
      CHECK_OK(PoiseMatSetType(A, "bcsr"));
      CheckTransposed(s, &r, A, b == 2 ? RUNS : 1);
      if (PoiseSize(ctx) == 1 && k == 6) CHECK(IsCut(A));
      PoiseMatDestroy(&A);
      free(r.sum), free(r.size);
    }
}

/* What a matrix says of its bytes is what the context counts. */
static void TestBytes(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y;
  PoiseBytes without, with;
  bool away = !ctx->device->ops->is_host;
  if (!CHECK_OK(Make(ctx, &shapes[4], &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &y, &x))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseVecSet(y, 1));
  CHECK_OK(PoiseMatBytes(A, &without, NULL));
  int64_t before = away ? ctx->device->bytes : ctx->memory.bytes;
  CHECK_OK(PoiseMatMultTranspose(A, x, y));
  int64_t after = away ? ctx->device->bytes : ctx->memory.bytes;
  CHECK_OK(PoiseMatBytes(A, &with, NULL));
  CHECK_INT(away ? with.device - without.device : with.host - without.host, after - before);
  PoiseMatDestroy(&A);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

static PoiseErr Compare(PoiseMat A)
{
  PoiseMat T = NULL;
  PoiseVec x = NULL, y = NULL, z = NULL;
  double error = NAN, size = NAN;
  PoiseErr e = PoiseMatCreateVecs(A, &y, &x);
  if (!e) e = PoiseVecDuplicate(y, &z);
  if (!e) e = PoiseVecSetRandom(x, 5);
  if (!e) e = PoiseMatMultTranspose(A, x, y);
  if (!e) e = PoiseMatTranspose(A, &T);
  if (!e) e = PoiseMatMult(T, x, z);
  if (!e) e = PoiseVecNorm(z, POISE_NORM_INF, &size);
  if (!e) e = PoiseVecAXPY(z, -1, y);
  if (!e) e = PoiseVecNorm(z, POISE_NORM_INF, &error);
  if (!e) CHECK(error <= 1e-12 * size);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  PoiseMatDestroy(&T);
  return e;
}

/* New values are seen, and a new pattern is cut anew: a column that was short becomes long. */
static void TestChanges(PoiseContext ctx)
{
  const Shape *s = &shapes[0];
  PoiseMat A;
  PoiseInt begin, m, col = s->N - 1;
  if (!CHECK_OK(Make(ctx, s, &A))) return;
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(Compare(A));
  CHECK_OK(PoiseMatScale(A, -2));
  CHECK_OK(Compare(A));
  PoiseSplit(ctx, s->M, &begin, &m);
  for (PoiseInt i = begin; i < begin + m; i++) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &col, &(double){1}));
  CHECK_OK(PoiseMatAssemble(A));
  int64_t before = A->transposed.w.nfragment;
  CHECK_OK(Compare(A));
  if (PoiseSize(ctx) == 1) CHECK(A->transposed.w.nfragment == 2 * before);
  PoiseMatDestroy(&A);
}

/* Its columns are found and cut each time. */
static PoiseErr Use(PoiseContext ctx, void *arg)
{
  PoiseMat A = arg;
  PoiseVec x, y;
  (void)ctx;
  POISE_TRY(PoiseMatCreateVecs(A, &y, &x));
  PoiseErr e = PoiseMatMultTranspose(A, x, y);
  if (!e && PoiseSize(ctx) == 1) CHECK(IsCut(A));
  poiseProductRelease(&A->transposed);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  PoiseMat A;
  if (!CHECK_OK(Make(ctx, &shapes[4], &A))) return;
  TestAllocationFailures(ctx, Use, A);
  CHECK_OK(Compare(A));
  PoiseMatDestroy(&A);
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { N = 3000, LONG_ROWS = 6 };

/* Around what a GPU leaves to one thread, one after the other and far apart; the lengths count what is not on
   the diagonal. */
static const PoiseInt long_row[LONG_ROWS] = {4, 5, 700, 1501, 1502, 2998},
                      long_length[LONG_ROWS] = {N, 510, 511, 512, N, 1025};

/* A diagonal and these rows, or these columns. */
static PoiseErr MakeRows(PoiseContext ctx, bool transpose, PoiseMat *A)
{
  PoiseInt begin, m;
  PoiseSplit(ctx, N, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m, m, N, N, A));
  for (PoiseInt i = begin; i < begin + m; i++)
    (void)PoiseMatAddEntries(*A, 1, &i, &i, &(double){4 + (double)(i % 3)});
  for (int r = 0; r < LONG_ROWS; r++)
    for (PoiseInt k = 0; k < long_length[r]; k++) {
      PoiseInt i = long_row[r], j = (i + 1 + k) % N;
      const PoiseInt *row = transpose ? &j : &i, *col = transpose ? &i : &j;
      if (*row >= begin && *row < begin + m)
        (void)PoiseMatAddEntries(*A, 1, row, col, &(double){Value(i, j)});
    }
  return PoiseMatAssemble(*A); /* which speaks of a failure */
}

typedef PoiseErr Change(PoiseMat A, bool transpose, PoiseVec d, PoiseVec e);

static PoiseErr Scale(PoiseMat A, bool transpose, PoiseVec d, PoiseVec e)
{
  return PoiseMatDiagonalScale(A, transpose ? e : d, transpose ? d : e);
}
static PoiseErr ScaleRows(PoiseMat A, bool transpose, PoiseVec d, PoiseVec e)
{
  (void)e;
  return PoiseMatDiagonalScale(A, transpose ? NULL : d, transpose ? d : NULL);
}
static PoiseErr Shift(PoiseMat A, bool transpose, PoiseVec d, PoiseVec e)
{
  (void)transpose, (void)d, (void)e;
  return PoiseMatShift(A, 0.75);
}
static PoiseErr SetDiagonal(PoiseMat A, bool transpose, PoiseVec d, PoiseVec e)
{
  (void)transpose, (void)e;
  return PoiseMatSetDiagonal(A, d);
}
static PoiseErr ZeroBoth(PoiseMat A, bool transpose, PoiseVec d, PoiseVec e)
{
  static const PoiseInt rows[] = {3, 5, 700, 2000};
  (void)transpose, (void)d, (void)e;
  return PoiseMatZeroRowsColumns(A, PoiseRank(PoiseMatContext(A)) ? 0 : 4, rows, 2, NULL, NULL);
}

static void CheckNorms(PoiseMat R, PoiseMat C)
{
  static const PoiseNorm of_r[] = {POISE_NORM_1, POISE_NORM_INF, POISE_NORM_FROBENIUS},
                         of_c[] = {POISE_NORM_INF, POISE_NORM_1, POISE_NORM_FROBENIUS};
  for (int k = 0; k < 3; k++) {
    double r = NAN, c = NAN;
    CHECK_OK(PoiseMatNorm(R, of_r[k], &r));
    CHECK_OK(PoiseMatNorm(C, of_c[k], &c));
    CHECK_NEAR(r, c, 1e-13 * c);
  }
}

/* Zeroed rows give the diagonal's product; others what they gave. */
static void CheckZeroRows(PoiseMat A, PoiseVec x)
{
  static const PoiseInt rows[] = {5, 4, 700, 2, 2998};
  PoiseVec y, z;
  const double *p, *q, *r;
  PoiseInt begin, end;
  if (!CHECK_OK(PoiseVecDuplicate(x, &y)) || !CHECK_OK(PoiseVecDuplicate(x, &z))) return;
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseMatZeroRows(A, PoiseRank(PoiseMatContext(A)) ? 0 : 5, rows, 3, NULL, NULL));
  CHECK_OK(PoiseMatMult(A, x, z));
  PoiseVecRange(x, &begin, &end);
  if (CHECK_OK(PoiseVecGetRead(x, &p)) && CHECK_OK(PoiseVecGetRead(y, &q)) &&
      CHECK_OK(PoiseVecGetRead(z, &r)))
    for (PoiseInt i = begin; i < end; i++) {
      bool zeroed = false;
      for (int k = 0; k < 5; k++) zeroed = zeroed || rows[k] == i;
      CHECK(r[i - begin] == (zeroed ? 3 * p[i - begin] : q[i - begin]));
    }
  CHECK_OK(PoiseVecRestore(x, &p));
  CHECK_OK(PoiseVecRestore(y, &q));
  CHECK_OK(PoiseVecRestore(z, &r));
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
}

/* d = 2^(i % 5), e = 2^(-i % 3): products with them are exact. */
static void Powers(PoiseVec d, PoiseVec e)
{
  double *p, *q;
  PoiseInt begin, end;
  PoiseVecRange(d, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(d, &p)) || !CHECK_OK(PoiseVecGetWrite(e, &q))) return;
  for (PoiseInt i = begin; i < end; i++)
    p[i - begin] = ldexp(1, (int)(i % 5)), q[i - begin] = ldexp(1, -(int)(i % 3));
  CHECK_OK(PoiseVecRestore(d, &p));
  CHECK_OK(PoiseVecRestore(e, &q));
}

static void TestRows(PoiseContext ctx)
{
  static Change *const length_changes[] = {Scale, ScaleRows, Shift, SetDiagonal, ZeroBoth};
  for (int b = 1; b <= 2; b++) {
    PoiseMat R, C;
    PoiseVec d, e, f;
    double norm = NAN;
    if (b > 1 && PoiseSize(ctx) > 2) continue; /* blocks must not be cut */
    if (!CHECK_OK(MakeRows(ctx, false, &R)) || !CHECK_OK(MakeRows(ctx, true, &C)) ||
        !CHECK_OK(PoiseMatCreateVecs(R, &d, &e)) || !CHECK_OK(PoiseVecDuplicate(d, &f)))
      return;
    if (b > 1) CHECK_OK(PoiseMatSetBlockSize(R, b));
    if (b > 1) CHECK_OK(PoiseMatSetType(R, "bcsr"));
    Powers(d, e);
    for (int k = 0; k < (int)(sizeof length_changes / sizeof *length_changes); k++) {
      int is = 0;
      CHECK_OK(length_changes[k](R, false, d, e));
      CHECK_OK(length_changes[k](C, true, d, e));
      CHECK_OK(PoiseMatIsTranspose(R, C, 0, &is));
      CHECK(is);
      CheckNorms(R, C);
    }
    CHECK_OK(PoiseMatGetDiagonal(R, e));
    CHECK_OK(PoiseMatGetDiagonal(C, f));
    CHECK_OK(PoiseVecAXPY(e, -1, f));
    CHECK_OK(PoiseVecNorm(e, POISE_NORM_INF, &norm));
    CHECK(norm == 0);
    CheckZeroRows(R, d);
    PoiseMatDestroy(&R);
    PoiseMatDestroy(&C);
    PoiseVecDestroy(&d);
    PoiseVecDestroy(&e);
    PoiseVecDestroy(&f);
  }
}

/* A long row that has no diagonal entry gets one, beside one that has. */
static void TestLacking(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec d, x;
  const double *p;
  PoiseInt begin, m;
  PoiseSplit(ctx, N, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A))) return;
  for (PoiseInt i = begin; i < begin + m; i++) {
    bool is_long = i % 1000 < 2;
    for (PoiseInt j = is_long ? 0 : i; j < (is_long ? N : i + 1); j++)
      if (i != 1001 || j != i) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &(double){1}));
  }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatShift(A, 0.5));
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &d))) return;
  CHECK_OK(PoiseMatGetDiagonal(A, d));
  if (CHECK_OK(PoiseVecGetRead(d, &p)))
    for (PoiseInt i = 0; i < m; i++) CHECK(p[i] == (begin + i == 1001 ? 0.5 : 1.5));
  CHECK_OK(PoiseVecRestore(d, &p));
  PoiseMatDestroy(&A);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&d);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"columns", TestColumns, 0}, {"blocks", TestBlocks, 0},
                               {"bytes", TestBytes, 0},     {"changes", TestChanges, 0},
                               {"memory", TestMemory, 0},   {"rows", TestRows, 0},
                               {"lacking", TestLacking, 0}, {NULL, NULL, 0}};
  return TestMain(argc, argv, "long_rows", tests);
}

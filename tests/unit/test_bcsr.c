/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices of blocks of every size, on patterns with empty, single and long block rows. Products, transposed
  products and diagonals are compared with sums in long double. Matrices come from arrays of every form and
  from CSR. Solves and errors are tested too.
*/
#include <float.h>
#include <math.h>

#include "scaled.h"

/* ---- a matrix that is a function of its indices ---------------------------------------------- */

typedef struct Shape { /* in blocks */
  int b;
  PoiseInt M, N;
  bool spd;  /* symmetric and dominant, else anything */
  bool full; /* all blocks */
} Shape;

static bool Has(const Shape *s, PoiseInt I, PoiseInt J)
{
  if (s->full) return true;
  if (s->spd) return llabs((long long)(I - J)) <= 1 || (I == 0) != (J == 0);
  if (I % 7 == 3) return false; /* an empty row */
  if (I % 11 == 5) return true; /* a full one */
  return (I * 5 + J * 3) % 8 == 0 || (J == I % (s->N ? s->N : 1) && I % 2 == 0);
}

/* Of numbers. */
static double Value(const Shape *s, PoiseInt i, PoiseInt j)
{
  if (!s->spd) return TestRandom(1, (uint64_t)(i * 100003 + j)) - 0.5;
  if (i == j) return 3.0 * s->b * (i < s->b ? (double)s->M : 4);
  return TestRandom(1, (uint64_t)((i < j ? i : j) * 100003 + (i < j ? j : i))) - 0.5;
}

static double X(PoiseInt j)
{
  return TestRandom(2, (uint64_t)j) - 0.5;
}

typedef struct Arrays { /* this rank's rows; every form of indices */
  PoiseInt first, m, n; /* in blocks */
  int64_t *ptr64, *col64;
  int32_t *ptr32, *col32;
  double *val;
} Arrays;

enum { ROW_MAJOR = 1, DESCENDING = 2, WIDE = 4, ONE = 8, FORMS = 16 };

static Arrays Make(PoiseContext ctx, const Shape *s, int form)
{
  Arrays a = {0};
  PoiseInt unused;
  int64_t nz = 0, k = 0, b = s->b, base = form & ONE ? 1 : 0;
  PoiseSplit(ctx, s->M, &a.first, &a.m);
  PoiseSplit(ctx, s->N, &unused, &a.n);
  for (PoiseInt i = 0; i < a.m; i++)
    for (PoiseInt j = 0; j < s->N; j++) nz += Has(s, a.first + i, j);
  a.ptr64 = malloc((size_t)(a.m + 1) * sizeof *a.ptr64),
  a.ptr32 = malloc((size_t)(a.m + 1) * sizeof *a.ptr32);
  a.col64 = malloc((size_t)nz * sizeof *a.col64 + 8), a.col32 = malloc((size_t)nz * sizeof *a.col32 + 8);
  a.val = malloc((size_t)(nz * b * b) * sizeof *a.val + 8);
  a.ptr64[0] = base;
  for (PoiseInt i = 0; i < a.m; i++) {
    for (PoiseInt place = 0; place < s->N; place++) {
      PoiseInt j = form & DESCENDING ? s->N - 1 - place : place;
      if (!Has(s, a.first + i, j)) continue;
      a.col64[k] = j + base;
      for (int64_t r = 0; r < b; r++)
        for (int64_t c = 0; c < b; c++)
          a.val[k * b * b + (form & ROW_MAJOR ? r * b + c : c * b + r)] =
              Value(s, (a.first + i) * b + r, j * b + c);
      k++;
    }
    a.ptr64[i + 1] = k + base;
  }
  for (PoiseInt i = 0; i <= a.m; i++) a.ptr32[i] = (int32_t)a.ptr64[i];
  for (k = 0; k < nz; k++) a.col32[k] = (int32_t)a.col64[k];
  return a;
}

static PoiseBCSR Given(const Arrays *a, int form)
{
  PoiseBCSR in = {.val = a->val, .base = form & ONE ? 1 : 0, .row_major = form & ROW_MAJOR ? 1 : 0};
  if (form & WIDE)
    in.ptr64 = a->ptr64, in.col64 = a->col64;
  else
    in.ptr32 = a->ptr32, in.col32 = a->col32;
  return in;
}

static void Release(Arrays *a)
{
  free(a->ptr64), free(a->col64), free(a->ptr32), free(a->col32), free(a->val);
}

static PoiseErr Create(PoiseContext ctx, const Shape *s, const Arrays *a, int form, PoiseOwn own, PoiseMat *A)
{
  PoiseBCSR in = Given(a, form);
  PoiseInt b = s->b;
  return PoiseMatCreateBCSR(ctx, s->b, a->m * b, POISE_DECIDE, POISE_DECIDE, s->N * b, &in, own, A);
}

/* ---- references ------------------------------------------------------------------------------ */

/* y = A x, or A^T x, of a matrix with the entries of s, within (terms + 3) roundoffs of the magnitudes. */
static void CheckVec(const Shape *s, PoiseVec y, bool transpose)
{
  PoiseInt begin, end, b = s->b;
  const double *v;
  PoiseVecRange(y, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(y, &v))) return;
  for (PoiseInt i = begin; i < end; i++) {
    long double sum = 0, size = 0;
    int terms = 3;
    for (PoiseInt J = 0; J < (transpose ? s->M : s->N); J++) {
      if (!(transpose ? Has(s, J, i / b) : Has(s, i / b, J))) continue;
      for (PoiseInt j = J * b; j < (J + 1) * b; j++, terms++) {
        long double t = (long double)(transpose ? Value(s, j, i) : Value(s, i, j)) * X(j);
        sum += t, size += fabsl(t);
      }
    }
    if (!CHECK_NEAR(v[i - begin], (double)sum, terms * DBL_EPSILON / 2 * (double)size)) break;
  }
  CHECK_OK(PoiseVecRestore(y, &v));
}

static void CheckDots(PoiseMat A, PoiseVec x, PoiseVec y)
{
  double dot = NAN, dots = NAN, norm = NAN;
  CHECK_OK(PoiseVecSet(y, NAN));
  CHECK_OK(PoiseMatMultDot(A, x, y, y, &dot));
  CHECK_OK(PoiseVecDot(y, y, &dots));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_2, &norm));
  CHECK_NEAR(dot, dots, 1e-13 * norm * norm);
}

static void CheckDiagonal(const Shape *s, PoiseMat A, PoiseVec d)
{
  PoiseInt begin, end;
  const double *v;
  CHECK_OK(PoiseMatGetDiagonal(A, d));
  PoiseVecRange(d, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(d, &v))) return;
  for (PoiseInt i = begin; i < end; i++)
    CHECK(v[i - begin] == (Has(s, i / s->b, i / s->b) ? Value(s, i, i) : 0));
  CHECK_OK(PoiseVecRestore(d, &v));
}

/* All that products do with A, twice with the same bits. */
static void CheckProducts(const Shape *s, PoiseMat A)
{
  PoiseVec x, y, z, t;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseVecDuplicate(y, &z)) ||
      !CHECK_OK(PoiseVecDuplicate(x, &t)))
    return;
  SampleSet(x, X);
  CHECK_OK(PoiseVecSet(y, NAN));
  CHECK_OK(PoiseMatMult(A, x, y));
  CheckVec(s, y, false);
  CHECK_OK(PoiseMatMult(A, x, z));
  CHECK(SampleDigest(y) == SampleDigest(z));
  CHECK_OK(PoiseMatMultAdd(A, -2, x, 3, z)); /* z = y */
  CHECK_OK(PoiseVecAXPY(z, -1, y));
  double norm = NAN, size = NAN;
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &size));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, 0, 1e-14 * size);
  CheckDots(A, x, y);
  ScaledCheck(A, x, y, true);
  SampleSet(y, X);
  CHECK_OK(PoiseMatMultTranspose(A, y, t));
  CheckVec(s, t, true);
  if (s->M == s->N) CheckDiagonal(s, A, y);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&t);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void TestSizes(PoiseContext ctx)
{
  for (int b = 1; b <= MAX_BLOCK_SIZE; b++) {
    const Shape shapes[] = {{b, 40, 40, false, false},
                            {b, 23, 9, false, false},
                            {b, 9, 23, false, false},
                            {b, 1, 1, false, false},
                            {b, 0, 0, false, false}};
    for (int k = 0; k < (b <= 8 || b == 32 ? 5 : 1); k++) {
      PoiseMat A;
      PoiseInt nz;
      Arrays a = Make(ctx, &shapes[k], 0);
      if (CHECK_OK(Create(ctx, &shapes[k], &a, 0, POISE_COPY, &A))) {
        CheckProducts(&shapes[k], A);
        CHECK(PoiseMatBlockSize(A) == b && !strcmp(PoiseMatType(A), "bcsr"));
        double blocks = a.ptr32[a.m];
        CHECK_OK(PoiseSum(ctx, 1, &blocks));
        CHECK_OK(PoiseMatNonzeros(A, &nz));
        CHECK_INT(nz, blocks * b * b);
      }
      PoiseMatDestroy(&A);
      Release(&a);
    }
  }
}

/* Groups of rows that take about as much of a GPU's shared memory as they get without asking, and more than
   they can get. */
static void TestTiles(PoiseContext ctx)
{
  const Shape shapes[] = {{1, 256, 62, false, true}, {2, 96, 41, false, true}, {3, 32, 41, false, true},
                          {3, 32, 42, false, true},  {8, 12, 23, false, true}, {8, 12, 40, false, true},
                          {16, 5, 23, false, true},  {32, 3, 9, false, true}};
  for (int k = 0; k < 8; k++) {
    PoiseMat A;
    Arrays a = Make(ctx, &shapes[k], 0);
    if (CHECK_OK(Create(ctx, &shapes[k], &a, 0, POISE_COPY, &A))) CheckProducts(&shapes[k], A);
    PoiseMatDestroy(&A);
    Release(&a);
  }
}

/* More rows than one group has, on every device. */
static void TestManyRows(PoiseContext ctx)
{
  const Shape s = {3, 1500, 1500, true, false};
  PoiseMat A;
  Arrays a = Make(ctx, &s, 0);
  if (CHECK_OK(Create(ctx, &s, &a, 0, POISE_COPY, &A))) CheckProducts(&s, A);
  PoiseMatDestroy(&A);
  Release(&a);
}

/* Every kernel, on rows that row blocks hold many of and rows that are cut into fragments, one after the
   other in one matrix. */
static void TestKernels(PoiseContext ctx)
{
  const char *const words[] = {"balanced", "block", "column", "row", "even", "auto"};
  const Shape shapes[] = {{1, 40, 900, false, false},  {2, 40, 700, false, false}, {3, 30, 500, false, false},
                          {5, 35, 150, false, false},  {8, 30, 150, false, false}, {12, 25, 70, false, false},
                          {13, 25, 70, false, false},  {17, 25, 35, false, false}, {32, 13, 19, false, false},
                          {4, 300, 300, false, false}, {3, 1, 400, false, true}};
  bool gpu = poiseModelIsGpu(&ctx->device->model);
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
    PoiseMat A;
    Arrays a = Make(ctx, &shapes[k], 0);
    bool made = CHECK_OK(Create(ctx, &shapes[k], &a, 0, POISE_COPY, &A));
    Release(&a);
    for (int w = 0; made && w < 6; w++) {
      char option[64], text[128];
      bool paper = w >= 1 && w <= 3, has = !paper || (gpu && (w != 1 || shapes[k].b <= 5));
      snprintf(option, sizeof option, "-mat_bcsr_kernel %s", words[w]);
      CHECK_OK(PoiseOptionsSetString(ctx, option));
      snprintf(text, sizeof text, "has no kernel '%s' for products of bcsr with blocks of %d x %d", words[w],
               shapes[k].b, shapes[k].b);
      if (has && CHECK_OK(PoiseMatSetFromOptions(A))) CheckProducts(&shapes[k], A);
      if (!has) CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_UNSUPPORTED, text);
    }
    PoiseMatDestroy(&A);
  }
}

/* Rows of blocks that are even go by groups, one that holds most of the blocks by row blocks. */
static void TestChoice(PoiseContext ctx)
{
  const Shape shapes[] = {{4, 3000, 4, false, true}, {8, 1500, 1500, true, false}};
  const char *const words[] = {"A x by groups of ", "A x by row blocks of "};
  for (int k = 0; k < 2; k++) {
    PoiseMat A;
    char text[4096];
    Arrays a = Make(ctx, &shapes[k], 0);
    if (CHECK_OK(Create(ctx, &shapes[k], &a, 0, POISE_COPY, &A))) {
      CHECK_OK(PoiseMatSetFromOptions(A));
      TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
      CHECK(PoiseSize(ctx) > 1 || strstr(text, words[k]));
    }
    PoiseMatDestroy(&A);
    Release(&a);
  }
}

static void TestForms(PoiseContext ctx)
{
  const Shape shapes[] = {{2, 31, 31, false, false}, {3, 30, 17, false, false}};
  for (int k = 0; k < 2; k++)
    for (int form = 0; form < FORMS; form++) {
      PoiseMat A;
      Arrays a = Make(ctx, &shapes[k], form);
      if (CHECK_OK(Create(ctx, &shapes[k], &a, form, POISE_COPY, &A))) {
        Release(&a); /* nothing is needed any more */
        CheckProducts(&shapes[k], A);
        PoiseMatDestroy(&A);
      } else {
        Release(&a);
      }
    }
}

/* Arrays that are lent or given away; the values are not copied. */
static void TestOwn(PoiseContext ctx)
{
  const Shape s = {3, 30, 30, false, false};
  for (int form = 0; form < FORMS; form++) {
    PoiseMat A;
    Arrays a = Make(ctx, &s, form);
    bool lent_ok = !(form & (ROW_MAJOR | DESCENDING));
    PoiseErr e = Create(ctx, &s, &a, form, POISE_BORROW, &A);
    if (lent_ok && CHECK_OK(e)) {
      CHECK(A->csr.val.host == a.val || !a.m);
      CheckProducts(&s, A);
      PoiseMatDestroy(&A);
    } else if (!lent_ok &&
               a.ptr32[a.m] >
                   (form & ONE)) { /* a rank without blocks sees nothing wrong with the order of columns */
      CHECK(e == POISE_ERR_ARG || e == POISE_ERR_REMOTE);
      CHECK(A == NULL);
    }
    PoiseBCSR in = Given(&a, form);
    if (!(form & ROW_MAJOR) && CHECK_OK(PoiseMatCreateBCSR(ctx, 3, a.m * 3, a.n * 3, POISE_DECIDE,
                                                           POISE_DECIDE, &in, POISE_ADOPT, &A))) {
      free(form & WIDE ? (void *)a.ptr32 : (void *)a.ptr64),
          free(form & WIDE ? (void *)a.col32 : (void *)a.col64);
      CheckProducts(&s, A);
      PoiseMatDestroy(&A);
    } else {
      Release(&a);
    }
  }
}

/* Without one row of each block, another one in the next block: a row of blocks is more than each of its
   rows. */
static bool Hole(const Shape *s, PoiseInt i, PoiseInt j)
{
  return s->b > 1 && i % s->b == j / s->b % s->b;
}

/* As CSR by numbers; holes become zeros. */
static PoiseErr Numbers(PoiseContext ctx, const Shape *s, bool holes, PoiseMat *A)
{
  PoiseInt first, m, n, b = s->b;
  PoiseSplit(ctx, s->N, &first, &n);
  PoiseSplit(ctx, s->M, &first, &m);
  POISE_TRY(PoiseMatCreate(ctx, m * b, n * b, s->M * b, s->N * b, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = first * b; !e && i < (first + m) * b; i++)
    for (PoiseInt j = 0; !e && j < s->N * b; j++)
      if (Has(s, i / b, j / b) && !(holes && Hole(s, i, j)))
        e = PoiseMatAddEntries(*A, 1, &i, &j, &(double){Value(s, i, j)});
  POISE_TRY(PoiseMatAssemble(*A));
  return PoiseMatSetBlockSize(*A, s->b);
}

/* There and back, by every type; the numbers of the blocks are those of the CSR, and zeros. */
static void TestConversion(PoiseContext ctx)
{
  static const int sizes[] = {1, 2, 3, 5, 8, 32};
  static const char *const back[] = {"csr", "csri", "seg", "auto"};
  for (int k = 0; k < 6; k++) {
    const Shape s = {sizes[k], 18, 18, false, false};
    PoiseMat A, B;
    PoiseInt before, after;
    if (!CHECK_OK(Numbers(ctx, &s, true, &A)) || !CHECK_OK(Numbers(ctx, &s, true, &B))) return;
    CHECK_OK(PoiseMatSetType(B, back[k % 4]));
    CHECK_OK(PoiseMatSetType(B, "bcsr"));
    SampleSameProducts(A, B, false, 1e-14);
    CHECK_OK(PoiseMatScale(B, 2));
    CHECK_OK(PoiseMatScale(A, 2));
    SampleSameProducts(A, B, false, 1e-14);
    const char *type = back[(k + 1) % 4];
    CHECK_OK(PoiseMatSetType(B, type));
    CHECK(!strcmp(PoiseMatType(B),
                  strcmp(type, "auto") ? type : "bcsr")); /* which has no reason to take blocks apart */
    SampleSameProducts(A, B, false, 1e-14);
    CHECK_OK(PoiseMatNonzeros(A, &before));
    CHECK_OK(PoiseMatNonzeros(B, &after));
    int64_t blocks = 0;
    for (PoiseInt i = 0; i < s.M; i++)
      for (PoiseInt j = 0; j < s.N; j++) blocks += Has(&s, i, j);
    CHECK_INT(after, blocks * s.b * s.b);
    CHECK_INT(before, s.b > 1 ? after - blocks * s.b : after);
    CHECK_OK(PoiseMatAXPY(B, -1, A)); /* the same entries: nothing but zeros is left */
    double norm = NAN;
    CHECK_OK(PoiseMatNorm(B, POISE_NORM_FROBENIUS, &norm));
    CHECK(norm == 0);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
}

/* Entries of the block rows of all ranks, those of block row I by rank I % size, by dense blocks or one by
   one; in part a: only those with an even column of blocks, 1: only the others. */
static PoiseErr Enter(PoiseMat A, const Shape *s, int part, bool dense)
{
  PoiseContext ctx = PoiseMatContext(A);
  double v[MAX_BLOCK_SIZE * MAX_BLOCK_SIZE];
  PoiseInt rows[MAX_BLOCK_SIZE], cols[MAX_BLOCK_SIZE];
  int b = s->b;
  PoiseErr e = POISE_OK;
  for (PoiseInt I = PoiseRank(ctx); !e && I < s->M; I += PoiseSize(ctx))
    for (PoiseInt J = part; !e && J < s->N; J += 2) {
      if (!Has(s, I, J)) continue;
      for (int r = 0; r < b; r++)
        for (int c = 0; c < b; c++)
          rows[r] = I * b + r, cols[c] = J * b + c, v[r * b + c] = Value(s, rows[r], cols[c]);
      if (dense) e = PoiseMatAddBlock(A, b, rows, b, cols, v);
      for (int r = 0; r < b && !dense; r++)
        for (int c = 0; !e && c < b; c++) e = PoiseMatAddEntries(A, 1, &rows[r], &cols[c], &v[r * b + c]);
    }
  return e;
}

static PoiseErr Add(PoiseMat A, const Shape *s, int part, bool dense)
{
  (void)Enter(A, s, part, dense); /* Assemble speaks of a failure, to all ranks */
  return PoiseMatAssemble(A);
}

/* Asked for before there are entries; by blocks, which come in two parts; then other values in place, and the
   same again. */
static void TestAssembly(PoiseContext ctx)
{
  static const int sizes[] = {1, 2, 3, 7};
  for (int k = 0; k < 4; k++) {
    const Shape s = {sizes[k], 17, 17, false, false};
    PoiseInt first, m, b = s.b;
    PoiseMat A;
    PoiseSplit(ctx, s.M, &first, &m);
    if (!CHECK_OK(PoiseMatCreate(ctx, m * b, m * b, POISE_DECIDE, POISE_DECIDE, &A))) return;
    CHECK_OK(PoiseMatSetType(A, "bcsr"));
    CHECK_OK(PoiseMatSetBlockSize(A, s.b));
    CHECK(!strcmp(PoiseMatType(A), "bcsr"));
    CHECK_OK(Add(A, &s, 0, true));
    CHECK(A->type->blocked);
    CHECK_OK(Add(A, &s, 1, k % 2 == 0));
    CHECK(A->type->blocked && !strcmp(PoiseMatType(A), "bcsr"));
    CheckProducts(&s, A);
    int64_t pattern = A->version.pattern;
    CHECK_OK(PoiseMatZeroEntries(A));
    for (int part = 0; part < 2; part++) CHECK_OK(Add(A, &s, part, k % 2 == 1));
    CHECK_INT(A->version.pattern, pattern); /* nothing was converted */
    CheckProducts(&s, A);
    PoiseInt i = s.M * b - 1; /* set by all, of one rank */
    if (Has(&s, s.M - 1, s.M - 1)) {
      CHECK_OK(PoiseMatSetEntries(A, 1, &i, &i, &(double){Value(&s, i, i)}));
      CHECK_OK(PoiseMatAssemble(A));
      CheckProducts(&s, A);
    }
    CHECK_OK(PoiseMatSetType(A, "csr"));
    CheckProducts(&s, A);
    PoiseMatDestroy(&A);
  }
}

/* An Assemble that runs out of memory, anywhere in it, is repeated and loses nothing; meanwhile A is not
   used. */
static void TestRepeated(PoiseContext ctx)
{
  const Shape s = {2, 13, 13, false, false};
  PoiseInt first, m;
  PoiseErr e = POISE_ERR_MEMORY;
  int failed = 0;
  PoiseSplit(ctx, s.M, &first, &m);
  for (int n = 1; e && n < 500; n++) {
    PoiseMat A;
    PoiseVec x, y;
    if (!CHECK_OK(PoiseMatCreate(ctx, 2 * m, 2 * m, POISE_DECIDE, POISE_DECIDE, &A)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
      return;
    CHECK_OK(PoiseMatSetBlockSize(A, 2));
    CHECK_OK(PoiseMatSetType(A, "bcsr"));
    CHECK_OK(Add(A, &s, 0, true));
    CHECK_OK(Enter(A, &s, 1, true));
    if (PoiseRank(ctx) == 0) poiseAllocFailAt(ctx, n);
    e = PoiseMatAssemble(A);
    poiseAllocFailAt(ctx, 0);
    if (e) {
      failed++;
      PoiseErr used = PoiseMatMult(A, x, y);
      CHECK(used == POISE_ERR_STATE || used == POISE_ERR_REMOTE); /* of ranks that have nothing pending */
      CHECK(strstr(PoiseErrorMessage(), "call PoiseMatAssemble") != NULL);
      CHECK(!strcmp(PoiseMatType(A), "bcsr"));
      CHECK_OK(PoiseMatAssemble(A));
    }
    CHECK(A->type->blocked);
    CheckProducts(&s, A);
    PoiseMatDestroy(&A);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
  }
  CHECK(!e && failed > 10);
}

static void TestOptions(PoiseContext ctx)
{
  const Shape s = {4, 12, 12, true, false};
  PoiseMat A;
  char text[4096];
  if (!CHECK_OK(Numbers(ctx, &s, false, &A))) return;
  CHECK_OK(PoiseMatSetBlockSize(A, 1));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "b_"));
  CHECK_OK(PoiseOptionsSetString(ctx, "-b_mat_type bcsr -b_mat_block_size 4"));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK(!strcmp(PoiseMatType(A), "bcsr"));
  CheckProducts(&s, A);
  CHECK_OK(PoiseMatSetFromOptions(A)); /* nothing more to do */
  TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
  if (PoiseRank(ctx) == 0)
    CHECK(
        strstr(text, "type bcsr, 48 x 48") &&
        strstr(text,
               "\n  54 blocks of 4 x 4, row length mean 4.50,")); /* 12 + 2 * 11, and 2 * 10 with the first */
  CHECK_ERR(PoiseMatSetBlockSize(A, 2), POISE_ERR_STATE, "blocks of 4 x 4");
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  PoiseMatDestroy(&A);
}

/* 8 bytes a number, 4 a block and an offset, where the blocks were made; nothing of the CSR stays. Groups of
   rows need nothing besides. */
static void TestBytes(PoiseContext ctx)
{
  const Shape s = {3, 30, 30, true, false};
  PoiseMat A;
  PoiseBytes held;
  int64_t plain;
  if (!CHECK_OK(Numbers(ctx, &s, false, &A))) return;
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "n_"));
  CHECK_OK(PoiseOptionsSetString(ctx, "-n_mat_type bcsr -n_mat_bcsr_kernel even"));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK_OK(PoiseMatBytes(A, &held, &plain));
  int64_t n = A->csr.nz, offsets = (A->csr.m + 1) * (A->csr.wide ? 8 : 4);
  CHECK_INT(plain, 72 * n + 4 * n + offsets);
  if (PoiseSize(ctx) == 1) CHECK_INT(SampleIsAway(ctx) ? held.device : held.host, plain);
  PoiseMatDestroy(&A);
}

/* The same solution and, but for rounding, iterations as with CSR; those of bicgstab scatter. */
static void TestSolve(PoiseContext ctx)
{
  static const char *const options[] = {
      "-s_ksp_type cg -s_pc_type pbjacobi",    "-s_ksp_type cg -s_pc_type jacobi",
      "-s_ksp_type gmres -s_pc_type pbjacobi", "-s_ksp_type bicgstab -s_pc_type none",
      "-s_ksp_type prcg -s_pc_type jacobi",    "-s_ksp_type chebyshev -s_pc_type jacobi"};
  const Shape s = {3, 400, 400, true, false}; /* several partial sums */
  PoiseMat A[2];
  if (!CHECK_OK(Numbers(ctx, &s, false, &A[0])) || !CHECK_OK(Numbers(ctx, &s, false, &A[1]))) return;
  CHECK_OK(PoiseMatSetType(A[0], "csr"));
  CHECK_OK(PoiseMatSetType(A[1], "bcsr"));
  for (int k = 0; k < 6; k++) {
    PoiseInt its[2] = {0};
    for (int t = 0; t < 2; t++) {
      PoiseKSP ksp;
      PoiseVec x, b, r;
      double norm = NAN, size = NAN;
      if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp)) || !CHECK_OK(PoiseMatCreateVecs(A[t], &x, &b)) ||
          !CHECK_OK(PoiseVecDuplicate(b, &r)))
        return;
      SampleSet(b, X);
      CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "s_"));
      CHECK_OK(PoiseOptionsSetString(ctx, options[k]));
      CHECK_OK(PoiseOptionsSetString(ctx, "-s_ksp_rtol 1e-9"));
      CHECK_OK(PoiseKSPSetOperators(ksp, A[t], A[t]));
      CHECK_OK(PoiseKSPSetFromOptions(ksp));
      CHECK_OK(PoiseKSPSolve(ksp, b, x));
      CHECK(PoiseKSPConvergedReason(ksp) > 0);
      its[t] = PoiseKSPIterations(ksp);
      CHECK_OK(PoiseMatResidual(A[0], b, x, r));
      CHECK_OK(PoiseVecNorm(r, POISE_NORM_2, &norm));
      CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &size));
      CHECK_NEAR(norm, 0, 1e-8 * size);
      PoiseKSPDestroy(&ksp);
      PoiseVecDestroy(&x);
      PoiseVecDestroy(&b);
      PoiseVecDestroy(&r);
    }
    long long scatter = strstr(options[k], "bicgstab") ? 1 + its[0] / 10 : 1;
    if (!CHECK(llabs((long long)(its[0] - its[1])) <= scatter))
      printf("%s: %lld and %lld iterations\n", options[k], (long long)its[0], (long long)its[1]);
  }
  PoiseMatDestroy(&A[0]);
  PoiseMatDestroy(&A[1]);
}

static void TestBadArrays(PoiseContext ctx)
{
  const PoiseInt n = POISE_DECIDE;
  const double v[16] = {1};
  PoiseMat A;
  PoiseBCSR in = {.ptr32 = (int32_t[]){0, 1, 1}, .col32 = (int32_t[]){0, 0}, .val = v};
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 0, n, n, 4, 4, &in, POISE_COPY, &A), POISE_ERR_ARG, "block size 0");
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 33, n, n, 4, 4, &in, POISE_COPY, &A), POISE_ERR_ARG, "block size 33");
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 3, n, n, 4, 3, &in, POISE_COPY, &A), POISE_ERR_SIZE,
            "does not divide the 4 rows");
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 3, n, n, 3, 4, &in, POISE_COPY, &A), POISE_ERR_SIZE,
            "does not divide the 4 columns");
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 3, 4, n, n, 3, &in, POISE_COPY, &A), POISE_ERR_SIZE, "4 local rows");
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 2, n, n, 4, 4, NULL, POISE_COPY, &A), POISE_ERR_ARG, "NULL");
  in.row_major = 1;
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 2, n, n, 4, 4, &in, POISE_ADOPT, &A), POISE_ERR_ARG, "cannot be adopted");
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 2, n, n, 4, 4, &in, POISE_BORROW, &A), POISE_ERR_ARG,
            "cannot be borrowed");
  in.row_major = 0;
  if (PoiseSize(ctx) > 1) {
    int b = 1 + 2 * (PoiseRank(ctx) == 0);
    CHECK_ERR(PoiseMatCreateBCSR(ctx, b, 3, 3, n, n, &in, POISE_COPY, &A), POISE_ERR_ARG,
              "differ from rank to rank, from 1 to 3");
    CHECK_OK(PoiseMatCreate(ctx, 3, 3, n, n, &A));
    CHECK_ERR(PoiseMatSetBlockSize(A, b), POISE_ERR_ARG, "differ from rank to rank, from 1 to 3");
    CHECK_INT(PoiseMatBlockSize(A), 1);
    PoiseMatDestroy(&A);
    return;
  }
  in.ptr32 = (int32_t[]){0, 2, 2};
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 2, n, n, 4, 4, &in, POISE_COPY, &A), POISE_ERR_ARG,
            "block row 0 has column 0 twice");
  in.col32 = (int32_t[]){0, 2};
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 2, n, n, 4, 4, &in, POISE_COPY, &A), POISE_ERR_ARG,
            "block row 0 has column 2, legal are 0 to 1");
  in.ptr32 = (int32_t[]){0, 2, 1};
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 2, n, n, 4, 4, &in, POISE_COPY, &A), POISE_ERR_ARG,
            "decrease at block row 1");
  in.val = NULL;
  in.ptr32 = (int32_t[]){0, 1, 1};
  CHECK_ERR(PoiseMatCreateBCSR(ctx, 2, n, n, 4, 4, &in, POISE_COPY, &A), POISE_ERR_ARG, "val is NULL");
  CHECK(A == NULL);
}

/* What is not there yet says so; and conversions that cannot be leave everything as it was. */
static void TestRefusals(PoiseContext ctx)
{
  const Shape s = {3, 14, 14, true, false};
  PoiseMat A;
  PoiseVec x;
  if (!CHECK_OK(Numbers(ctx, &s, false, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, NULL))) return;
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  CHECK_OK(PoiseMatAssemble(A)); /* nothing was added */
  CheckProducts(&s, A);
  PoiseMatDestroy(&A);
  PoiseVecDestroy(&x);
}

/* A NaN in a block, and a diagonal block that is singular, are named by the row. */
static void TestNamed(PoiseContext ctx)
{
  const Shape s = {3, 14, 14, true, false};
  for (int zero = 0; zero < 2; zero++) {
    Arrays a = Make(ctx, &s, 0);
    PoiseMat A;
    PoiseVec x, b;
    PoiseKSP ksp;
    PoisePC pc;
    for (PoiseInt i = 0; i < a.m; i++)
      for (int32_t k = a.ptr32[i]; k < a.ptr32[i + 1]; k++)
        if (a.first + i == 7 && a.col32[k] == 7) {
          if (zero) memset(a.val + 9 * k, 0, 9 * sizeof *a.val);
          if (!zero) a.val[9 * k + 2] = a.val[9 * k + 3 + 1] = NAN; /* of row 23, and behind it of row 22 */
        }
    if (!CHECK_OK(Create(ctx, &s, &a, 0, POISE_COPY, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) ||
        !CHECK_OK(PoiseKSPCreate(ctx, &ksp)))
      return;
    SampleSet(b, X);
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, zero ? "pbjacobi" : "none"));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, A));
    if (zero) {
      PoiseErr e = PoiseKSPSolve(ksp, b, x);
      CHECK(e == POISE_ERR_NUMERIC || e == POISE_ERR_REMOTE);
      CHECK(strstr(PoiseErrorMessage(), "rows 21 to 23") != NULL);
    } else {
      CHECK_OK(PoiseKSPSolve(ksp, b, x));
      CHECK(PoiseKSPConvergedReason(ksp) == POISE_DIVERGED_NANORINF);
      CHECK(strstr(PoiseKSPReasonDetail(ksp), "row 22 of A") != NULL);
    }
    PoiseKSPDestroy(&ksp);
    PoiseMatDestroy(&A);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&b);
    Release(&a);
  }
}

static double Distance(PoiseVec x, PoiseVec y) /* x becomes the difference */
{
  double norm = NAN;
  CHECK_OK(PoiseVecAXPY(x, -1, y));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &norm));
  return norm;
}

static PoiseErr Change(int what, PoiseMat A, PoiseVec d, PoiseVec x, PoiseVec b)
{
  PoiseInt N;
  PoiseMatSizes(A, &N, NULL);
  const PoiseInt rows[] = {3 % N, N - 1, -1, N / 2};
  switch (what) {
  case 0:
    return PoiseMatDiagonalScale(A, d, NULL);
  case 1:
    return PoiseMatDiagonalScale(A, d, d);
  case 2:
    return PoiseMatShift(A, 0.5); /* rows without a diagonal get one */
  case 3:
    return PoiseMatSetDiagonal(A, d);
  case 4:
    return PoiseMatAddDiagonal(A, d);
  case 5:
    return PoiseMatZeroRows(A, 4, rows, 2, x, b);
  case 6:
    return PoiseMatZeroRowsColumns(A, 4, rows, 3, x, b);
  case 7:
    return PoiseMatZeroRowsColumns(A, 1, rows, 0, NULL, NULL);
  default:
    return PoiseMatZeroEntries(A);
  }
}
enum { CHANGES = 9 };

/* Whatever changes values does the same as with CSR. */
static void TestValues(PoiseContext ctx)
{
  static const int sizes[] = {1, 2, 3, 6};
  for (int k = 0; k < 4; k++) {
    const Shape s = {sizes[k], 19, 19, false, false};
    PoiseMat A[2];
    PoiseVec d, x, b[2];
    if (!CHECK_OK(Numbers(ctx, &s, false, &A[0])) || !CHECK_OK(Numbers(ctx, &s, false, &A[1])) ||
        !CHECK_OK(PoiseMatCreateVecs(A[0], &x, &b[0])) || !CHECK_OK(PoiseVecDuplicate(x, &d)) ||
        !CHECK_OK(PoiseVecDuplicate(x, &b[1])))
      return;
    CHECK_OK(PoiseMatSetType(A[1], "bcsr"));
    SampleSet(x, X);
    CHECK_OK(PoiseVecSetRandom(d, 5));
    for (int what = 0; what < CHANGES; what++) {
      for (int t = 0; t < 2; t++) {
        CHECK_OK(PoiseVecSet(b[t], 1));
        CHECK_OK(Change(what, A[t], d, x, b[t]));
      }
      CHECK(A[1]->type->blocked && A[0]->type->stored);
      CHECK_NEAR(Distance(b[1], b[0]), 0, 1e-14);
      SampleSameProducts(A[0], A[1], false, 1e-14);
      static const PoiseNorm types[] = {POISE_NORM_1, POISE_NORM_INF, POISE_NORM_FROBENIUS};
      for (int n = 0; n < 3; n++) {
        double norm[2] = {NAN, NAN};
        for (int t = 0; t < 2; t++) CHECK_OK(PoiseMatNorm(A[t], types[n], &norm[t]));
        CHECK_NEAR(norm[0], norm[1], 1e-14 * norm[0]);
      }
    }
    for (int t = 0; t < 2; t++) {
      PoiseMatDestroy(&A[t]);
      PoiseVecDestroy(&b[t]);
    }
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&d);
  }
}

/* Asked for before there are entries, and not so in the end; what cannot be done meanwhile. */
static void TestWaiting(PoiseContext ctx)
{
  static const char *const others[] = {"auto", "csri", "csr"};
  PoiseMat A, B;
  PoiseVec x, y;
  PoiseInt row = 0;
  double one = 1;
  for (int k = 0; k < 3; k++) {
    if (!CHECK_OK(PoiseMatCreate(ctx, 2, 2, POISE_DECIDE, POISE_DECIDE, &A)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
      return;
    CHECK_OK(PoiseMatSetType(A, others[k]));
    CHECK_OK(PoiseMatSetType(A, "bcsr"));
    CHECK_OK(PoiseMatSetBlockSize(A, 2));
    CHECK_ERR(PoiseMatDuplicate(A, 1, &B), POISE_ERR_STATE, "PoiseMatAssemble");
    CHECK_ERR(PoiseMatMult(A, x, y), POISE_ERR_STATE, "PoiseMatAssemble");
    CHECK_OK(PoiseMatSetType(A, others[k]));
    CHECK_OK(PoiseMatSetPatternCOO(A, 1, &row, &row));
    CHECK_OK(PoiseMatSetValuesCOO(A, &one));
    CHECK_OK(PoiseMatSetType(A, "bcsr"));
    CHECK_OK(PoiseMatMult(A, x, y));
    PoiseMatDestroy(&A);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
  }
}

static PoiseErr Use(PoiseContext ctx, void *arg)
{
  const Shape *s = arg;
  PoiseMat A = NULL;
  PoiseVec x = NULL, y = NULL;
  PoiseErr e = Numbers(ctx, s, false, &A);
  if (!e) e = PoiseMatSetType(A, "bcsr");
  if (!e) e = Add(A, &(Shape){s->b, s->M, s->N, false, false}, 0, true);
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e) e = PoiseMatMultTranspose(A, y, x);
  if (!e) e = PoiseMatSetType(A, "csri");
  if (!e) e = PoiseMatMult(A, x, y);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  return e;
}

static PoiseErr UseArrays(PoiseContext ctx, void *arg)
{
  const Shape *s = arg;
  PoiseMat A;
  Arrays a = Make(ctx, s, ROW_MAJOR | DESCENDING);
  PoiseErr e = Create(ctx, s, &a, ROW_MAJOR | DESCENDING, POISE_COPY, &A);
  PoiseMatDestroy(&A);
  Release(&a);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  const Shape s = {3, 15, 15, true, false};
  TestAllocationFailures(ctx, Use, (void *)(uintptr_t)&s);
  TestAllocationFailures(ctx, UseArrays, (void *)(uintptr_t)&s);
}

static const Test tests[] = {{"sizes", TestSizes, 0},       {"many_rows", TestManyRows, 0},
                             {"tiles", TestTiles, 0},       {"forms", TestForms, 0},
                             {"kernels", TestKernels, 0},   {"choice", TestChoice, 0},
                             {"own", TestOwn, 0},           {"conversion", TestConversion, 0},
                             {"assembly", TestAssembly, 0}, {"options", TestOptions, 0},
                             {"bytes", TestBytes, 0},       {"values", TestValues, 0},
                             {"solve", TestSolve, 0},       {"bad_arrays", TestBadArrays, 0},
                             {"refusals", TestRefusals, 0}, {"named", TestNamed, 0},
                             {"waiting", TestWaiting, 0},   {"repeated", TestRepeated, 0},
                             {"memory", TestMemory, 0},     {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "bcsr", tests);
}

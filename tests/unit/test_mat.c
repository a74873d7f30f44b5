/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices from arrays of every form, in every layout, entry by entry, and shells. They are compared with a
  plain product of the whole matrix in long double, of which every rank holds all. test_products.c says which
  suite tests which products, test_assembly.c has assembly with exact sums and all else that changes entries.
*/
#include "mat/object/mat.h"
#include "sample.h"

typedef long double Wide;

/* ---- whole matrices -------------------------------------------------------------------------- */

typedef struct Whole { /* 0-based, columns ascending */
  PoiseInt M, N;
  int64_t *ptr, *col;
  double *val;
} Whole;

enum { SCATTERED, BAND, FULL, NOTHING, GAPS, DENSE_ROW, DENSE_COLUMN, NPATTERNS };

static int Ascending(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* About ten columns anywhere, each once. */
static int64_t ScatteredRow(PoiseInt i, PoiseInt N, int64_t *col)
{
  int64_t n = (int64_t)(6 + 5 * TestRandom(20, (uint64_t)i)), k = 0;
  for (int64_t j = 0; j < n; j++)
    col[j] = (int64_t)((TestRandom(21, (uint64_t)(12 * i + j)) + 1) / 2 * (double)N);
  qsort(col, (size_t)n, sizeof *col, Ascending);
  for (int64_t j = 0; j < n; j++)
    if (!j || col[j] != col[k - 1]) col[k++] = col[j];
  return k;
}

static int64_t Range(int64_t from, int64_t to, int64_t N, int64_t *col)
{
  int64_t k = 0;
  for (int64_t j = from < 0 ? 0 : from; j < to && j < N; j++) col[k++] = j;
  return k;
}

static int64_t FillRow(int pattern, PoiseInt M, PoiseInt N, PoiseInt i, int64_t *col)
{
  if (!N || pattern == NOTHING) return 0;
  switch (pattern) {
  case SCATTERED:
    return ScatteredRow(i, N, col);
  case BAND:
    return Range(i - 1, i + 2, N, col);
  case GAPS: /* rows without entries, the first and the last too */
    return i % 3 == 1 && i < M - 1 ? ScatteredRow(i, N, col) : 0;
  case DENSE_ROW:
    return i == M / 2 ? Range(0, N, N, col) : Range(i, i + 1, N, col);
  case DENSE_COLUMN:
    col[0] = N / 3;
    return 1;
  default:
    return Range(0, N, N, col);
  }
}

static void MakeWhole(int pattern, PoiseInt M, PoiseInt N, Whole *w)
{
  int64_t *row = malloc((size_t)(N + 16) * sizeof *row), room = 16 * M + 2 * N + 16;
  if (pattern == FULL) room = M * N + 16;
  *w = (Whole){M, N, calloc((size_t)M + 1, 8), malloc((size_t)room * 8), malloc((size_t)room * 8)};
  for (PoiseInt i = 0; i < M; i++) {
    int64_t n = FillRow(pattern, M, N, i, row), at = w->ptr[i];
    for (int64_t k = 0; k < n; k++)
      w->col[at + k] = row[k], w->val[at + k] = TestRandom(22, (uint64_t)(at + k));
    w->ptr[i + 1] = at + n;
  }
  free(row);
}

static void FreeWhole(Whole *w)
{
  free(w->ptr), free(w->col), free(w->val);
}

/* ---- users' arrays of this rank's rows ------------------------------------------------------- */

typedef struct Arrays {
  PoiseCSR csr;
  void *ptr, *col;
  double *val;
} Arrays;

enum { WIDE_PTR = 1, WIDE_COL = 2, BASE_1 = 4, NKINDS = 8 };

static void *Ints(int64_t n, int64_t add, const int64_t *from, int wide)
{
  void *p = malloc((size_t)n * (wide ? 8 : 4) + 1);
  for (int64_t k = 0; k < n; k++) {
    if (wide)
      ((int64_t *)p)[k] = from[k] + add;
    else
      ((int32_t *)p)[k] = (int32_t)(from[k] + add);
  }
  return p;
}

/* Rows [begin, begin + m) in one of the kinds of index. */
static void MakeArrays(const Whole *w, PoiseInt begin, PoiseInt m, int kind, Arrays *a)
{
  int base = kind & BASE_1 ? 1 : 0;
  int64_t first = w->ptr[begin], nz = w->ptr[begin + m] - first;
  a->ptr = Ints(m + 1, base - first, w->ptr + begin, kind & WIDE_PTR);
  a->col = Ints(nz, base, w->col + first, kind & WIDE_COL);
  a->val = malloc((size_t)nz * sizeof(double) + 1);
  memcpy(a->val, w->val + first, (size_t)nz * sizeof(double));
  a->csr = (PoiseCSR){.ptr32 = kind & WIDE_PTR ? NULL : a->ptr,
                      .ptr64 = kind & WIDE_PTR ? a->ptr : NULL,
                      .col32 = kind & WIDE_COL ? NULL : a->col,
                      .col64 = kind & WIDE_COL ? a->col : NULL,
                      .val = a->val,
                      .base = base};
}

static void FreeArrays(Arrays *a)
{
  free(a->ptr), free(a->col), free(a->val);
}

typedef struct Part { /* the rows and columns of this rank */
  PoiseInt begin, m, n;
} Part;

static Part MakePart(PoiseContext ctx, int rows, int cols, PoiseInt M, PoiseInt N)
{
  Part p;
  PoiseInt begin, mine[2] = {SampleLocal(ctx, rows, M), SampleLocal(ctx, cols, N)};
  if (mine[0] == POISE_DECIDE) PoiseSplit(ctx, M, &begin, &mine[0]);
  if (mine[1] == POISE_DECIDE) PoiseSplit(ctx, N, &begin, &mine[1]);
  p.m = mine[0], p.n = mine[1];
  CHECK_OK(poiseCommScan(ctx->comm, p.m, &p.begin, &begin));
  return p;
}

static PoiseErr MakeMat(PoiseContext ctx, const Whole *w, int rows, int cols, PoiseMat *A)
{
  Arrays a;
  Part part = MakePart(ctx, rows, cols, w->M, w->N);
  MakeArrays(w, part.begin, part.m, 0, &a);
  PoiseErr e = PoiseMatCreateCSR(ctx, part.m, part.n, w->M, w->N, &a.csr, POISE_COPY, A);
  FreeArrays(&a);
  return e;
}

/* Are A's rows exactly those of w? */
static int Equals(PoiseMat A, const Whole *w)
{
  int64_t *ptr, *col, m;
  double *val;
  PoiseInt begin, total;
  PoiseMatLocalSizes(A, &m, NULL);
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return 0;
  int same = !poiseCommScan(PoiseMatContext(A)->comm, m, &begin, &total) && total == w->M;
  int64_t first = w->ptr[begin], nz = w->ptr[begin + m] - first;
  for (PoiseInt i = 0; i <= m; i++) same = same && ptr[i] == w->ptr[begin + i] - first;
  same = same && !memcmp(col, w->col + first, (size_t)nz * 8) && !memcmp(val, w->val + first, (size_t)nz * 8);
  free(ptr), free(col), free(val);
  return same;
}

/* ---- products -------------------------------------------------------------------------------- */

enum { X = 2, Y = 3, U = 4 }; /* seeds of vectors */

typedef struct Reference { /* exact sums, and what their rounding errors are measured by */
  Wide *sum, *size;
  int64_t *terms;
  PoiseInt n;
} Reference;

static Reference Exact(const Whole *w, int transpose, uint64_t seed)
{
  PoiseInt n = transpose ? w->N : w->M;
  Reference r = {calloc((size_t)n + 1, sizeof(Wide)), calloc((size_t)n + 1, sizeof(Wide)),
                 calloc((size_t)n + 1, 8), n};
  for (PoiseInt i = 0; i < w->M; i++)
    for (int64_t k = w->ptr[i]; k < w->ptr[i + 1]; k++) {
      PoiseInt row = transpose ? w->col[k] : i, col = transpose ? i : w->col[k];
      Wide t = (Wide)w->val[k] * TestRandom(seed, (uint64_t)col);
      r.sum[row] += t, r.size[row] += fabsl(t), r.terms[row]++;
    }
  return r;
}

static void FreeReference(Reference *r)
{
  free(r->sum), free(r->size), free(r->terms);
}

/* y = a r + b y0 up to rounding: `more` operations beside the sum. */
static int Close(PoiseVec y, const Reference *r, double a, double b, int more)
{
  const double *p;
  PoiseInt begin, end, wrong = 0;
  const Wide unit = DBL_EPSILON / 2 * 1.0001L;
  PoiseVecRange(y, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(y, &p))) return 0;
  for (PoiseInt i = begin; i < end; i++) {
    Wide y0 = b * (Wide)TestRandom(Y, (uint64_t)i);
    Wide most = unit * ((Wide)(r->terms[i] + more) * fabsl((Wide)a) * r->size[i] + (Wide)more * fabsl(y0));
    wrong += !(fabsl((Wide)p[i - begin] - (a * r->sum[i] + y0)) <= most);
  }
  CHECK_OK(PoiseVecRestore(y, &p));
  return CHECK_INT(wrong, 0);
}

static int CloseDot(double got, PoiseVec y, uint64_t seed)
{
  const double *p;
  PoiseInt begin, end;
  Wide sum = 0, size = 0;
  PoiseVecRange(y, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(y, &p))) return 0;
  for (PoiseInt i = begin; i < end; i++) {
    Wide t = p[i - begin] * (seed ? (Wide)TestRandom(seed, (uint64_t)i) : (Wide)p[i - begin]);
    sum += t, size += fabsl(t);
  }
  CHECK_OK(PoiseVecRestore(y, &p));
  double v[2] = {(double)sum, (double)size};
  if (!CHECK_OK(PoiseSum(PoiseVecContext(y), 2, v))) return 0;
  return CHECK_NEAR(got, v[0], 200 * DBL_EPSILON * v[1]);
}

/* All products of A, which is w, by whatever way A was made. */
static void Forward(PoiseMat A, const Whole *w, PoiseVec x, PoiseVec y, PoiseVec u)
{
  double dot;
  Reference r = Exact(w, 0, X);
  SampleConstant(y, NAN);
  CHECK_OK(PoiseMatMult(A, x, y));
  Close(y, &r, 1, 0, 0);
  SampleConstant(y, NAN);
  CHECK_OK(PoiseMatMultAdd(A, -2.5, x, 0, y));
  Close(y, &r, -2.5, 0, 1);
  SampleFill(y, Y);
  CHECK_OK(PoiseMatMultAdd(A, 1.5, x, -0.7, y));
  Close(y, &r, 1.5, -0.7, 3);
  SampleFill(y, Y);
  CHECK_OK(PoiseMatMultAdd(A, 0, x, 1, y));
  Close(y, &r, 0, 1, 0);
  SampleConstant(y, NAN);
  CHECK_OK(PoiseMatMultDot(A, x, y, u, &dot));
  Close(y, &r, 1, 0, 0);
  CloseDot(dot, y, U);
  CHECK_OK(PoiseMatMultDot(A, x, y, y, &dot));
  CloseDot(dot, y, 0);
  PoiseVec b;
  CHECK_OK(PoiseVecDuplicate(y, &b));
  SampleFill(b, Y);
  SampleConstant(y, NAN);
  CHECK_OK(PoiseMatResidual(A, b, x, y)); /* b - A x */
  Close(y, &r, -1, 1, 1);
  SampleFill(y, Y);
  CHECK_OK(PoiseMatResidual(A, y, x, y));
  Close(y, &r, -1, 1, 1);
  CHECK_OK(PoiseVecDestroy(&b));
  FreeReference(&r);
}

static void Backward(PoiseMat A, const Whole *w, PoiseVec x, PoiseVec u)
{
  Reference r = Exact(w, 1, U);
  for (int again = 0; again < 2; again++) {
    SampleConstant(x, NAN);
    CHECK_OK(PoiseMatMultTranspose(A, u, x));
    Close(x, &r, 1, 0, PoiseSize(PoiseMatContext(A))); /* a sum of sums */
  }
  FreeReference(&r);
}

static void Diagonal(PoiseMat A, const Whole *w, PoiseVec d)
{
  const double *p;
  PoiseInt begin, end, wrong = 0;
  SampleConstant(d, NAN);
  CHECK_OK(PoiseMatGetDiagonal(A, d));
  PoiseVecRange(d, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(d, &p))) return;
  for (PoiseInt i = begin; i < end; i++) {
    double exact = 0;
    for (int64_t k = w->ptr[i]; k < w->ptr[i + 1]; k++)
      if (w->col[k] == i) exact = w->val[k];
    wrong += p[i - begin] != exact;
  }
  CHECK_INT(wrong, 0);
  CHECK_OK(PoiseVecRestore(d, &p));
}

static void Products(PoiseMat A, const Whole *w)
{
  PoiseVec x, y, u;
  PoiseInt M, N, nz, m, n;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_OK(PoiseMatCreateVecs(A, NULL, &u));
  PoiseMatSizes(A, &M, &N);
  CHECK(M == w->M && N == w->N && PoiseVecSize(x) == N && PoiseVecSize(y) == M);
  PoiseMatLocalSizes(A, &m, &n);
  CHECK(PoiseVecLocalSize(x) == n && PoiseVecLocalSize(y) == m);
  CHECK_OK(PoiseMatNonzeros(A, &nz));
  CHECK_INT(nz, w->ptr[w->M]);
  CHECK(Equals(A, w));
  SampleFill(x, X);
  SampleFill(u, U);
  Forward(A, w, x, y, u);
  Backward(A, w, x, u);
  double differ = !poiseLayoutSame(A->rows, A->cols); /* perhaps on some ranks only */
  CHECK_OK(PoiseMax(PoiseMatContext(A), 1, &differ));
  if (differ == 0) Diagonal(A, w, u);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseVecDestroy(&u));
}

static void OneShape(PoiseContext ctx, int pattern, PoiseInt M, PoiseInt N, int rows, int cols)
{
  Whole w;
  PoiseMat A;
  MakeWhole(pattern, M, N, &w);
  if (CHECK_OK(MakeMat(ctx, &w, rows, cols, &A))) Products(A, &w);
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK(!A);
  FreeWhole(&w);
}

static void TestSmall(PoiseContext ctx)
{
  static const PoiseInt sizes[][2] = {{0, 0}, {5, 0}, {0, 5},   {1, 1},  {1, 9},
                                      {9, 1}, {7, 7}, {40, 30}, {30, 40}};
  for (int pattern = 0; pattern < NPATTERNS; pattern++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      for (int layout = 0; layout < NLAYOUTS; layout++)
        if (pattern == SCATTERED ||
            (k > 2 && layout == (pattern + (int)k) % NLAYOUTS)) /* k <= 2: no entries, no patterns */
          OneShape(ctx, pattern, sizes[k][0], sizes[k][1], layout, (layout + (int)k) % NLAYOUTS);
}

static void TestBlocks(PoiseContext ctx)
{
  static const PoiseInt sizes[][2] = {{1023, 1023}, {1024, 1024}, {1025, 1025},
                                      {2500, 2500}, {3000, 700},  {700, 3000}};
  for (int pattern = 0; pattern < NPATTERNS; pattern++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      if (pattern != FULL)
        OneShape(ctx, pattern, sizes[k][0], sizes[k][1], (pattern + (int)k) % NLAYOUTS, (int)k % NLAYOUTS);
}

/* ---- users' arrays: what is accepted --------------------------------------------------------- */

static void Accept(PoiseContext ctx, const Whole *w, int layout, int kind, PoiseOwn own)
{
  PoiseMat A;
  Arrays a;
  Part p = MakePart(ctx, layout, layout, w->M, w->N);
  int in_place =
      (own == POISE_ADOPT || (own == POISE_BORROW && PoiseSize(ctx) == 1)) && !(kind & (WIDE_COL | BASE_1));
  MakeArrays(w, p.begin, p.m, kind, &a);
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, p.m, p.n, w->M, w->N, &a.csr, own, &A))) {
    FreeArrays(&a);
    return;
  }
  if (A->csr.nz) {
    CHECK((A->csr.val.host == a.val) == (own != POISE_COPY));
    CHECK((A->csr.ptr.host == a.ptr) == in_place && (A->csr.col.host == a.col) == in_place);
  }
  if (own == POISE_COPY) {
    memset(a.val, 0xff, (size_t)A->csr.nz * 8);
    FreeArrays(&a);
  }
  Products(A, w);
  CHECK_OK(PoiseMatDestroy(&A));
  if (own == POISE_BORROW) FreeArrays(&a);
}

static void TestAccepted(PoiseContext ctx)
{
  static const PoiseOwn owns[] = {POISE_COPY, POISE_ADOPT, POISE_BORROW};
  Whole w, none;
  MakeWhole(SCATTERED, 60, 60, &w);
  MakeWhole(NOTHING, 12, 12, &none);
  for (int kind = 0; kind < NKINDS; kind++)
    for (int o = 0; o < 3; o++) {
      Accept(ctx, &w, kind % NLAYOUTS, kind, owns[o]);
      Accept(ctx, &none, EVEN, kind, owns[o]);
    }
  FreeWhole(&w);
  FreeWhole(&none);
}

/* Turn the entries of one local row round. */
static void Reverse(Arrays *a, int64_t from, int64_t to, int wide)
{
  for (to--; from < to; from++, to--) {
    int32_t *c32 = a->col;
    int64_t *c64 = a->col, t = wide ? c64[from] : c32[from];
    double v = a->val[from];
    if (wide)
      c64[from] = c64[to], c64[to] = t;
    else
      c32[from] = c32[to], c32[to] = (int32_t)t;
    a->val[from] = a->val[to], a->val[to] = v;
  }
}

static void TestUnsorted(PoiseContext ctx)
{
  static const PoiseOwn owns[] = {POISE_COPY, POISE_ADOPT, POISE_BORROW};
  enum { ROW = 41 };
  char words[64];
  Whole w;
  PoiseMat A;
  MakeWhole(FULL, 60, 60, &w);
  for (int kind = 0; kind < NKINDS; kind++)
    for (int o = 0; o < 3; o++) {
      Arrays a;
      Part p = MakePart(ctx, EVEN, EVEN, 60, 60);
      MakeArrays(&w, p.begin, p.m, kind, &a);
      int mine = p.begin <= ROW && ROW < p.begin + p.m;
      for (PoiseInt i = ROW; mine && i < p.begin + p.m; i++)
        Reverse(&a, w.ptr[i] - w.ptr[p.begin], w.ptr[i + 1] - w.ptr[p.begin], kind & WIDE_COL);
      PoiseErr e = PoiseMatCreateCSR(ctx, p.m, p.n, 60, 60, &a.csr, owns[o], &A);
      if (owns[o] == POISE_BORROW) {
        snprintf(words, sizeof words, "row %d are not sorted", ROW + a.csr.base);
        CHECK_ERR_OF(e, mine, POISE_ERR_ARG, words);
        CHECK(!A);
      } else if (CHECK_OK(e)) {
        Products(A, &w);
        CHECK_OK(PoiseMatDestroy(&A));
      }
      if (owns[o] != POISE_ADOPT || e) FreeArrays(&a);
    }
  FreeWhole(&w);
}

/* Values in use are the user's: what is added in place is seen, and what was borrowed is current when a call
   returns. */
static void TestBorrowed(PoiseContext ctx)
{
  Whole w;
  PoiseMat A;
  Arrays a;
  PoiseVec x, y;
  MakeWhole(BAND, 30, 30, &w);
  Part p = MakePart(ctx, EVEN, EVEN, 30, 30);
  MakeArrays(&w, p.begin, p.m, 0, &a);
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, p.m, p.n, 30, 30, &a.csr, POISE_BORROW, &A))) return;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  SampleFill(x, X);
  CHECK_OK(PoiseMatMult(A, x, y));                                               /* the device has its copy */
  for (int64_t k = w.ptr[p.begin]; k < w.ptr[p.begin + p.m]; k++) w.val[k] += 0; /* of this rank's rows */
  if (p.m) {
    PoiseInt i = p.begin;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, (double[]){10}));
  }
  CHECK_OK(PoiseMatAssemble(A));
  for (int r = 0; r < PoiseSize(ctx); r++) {
    PoiseInt first = r * 30 / PoiseSize(ctx), n = 30 % PoiseSize(ctx);
    first = 30 / PoiseSize(ctx) * r + (r < n ? r : n);
    if (first < 30)
      for (int64_t k = w.ptr[first]; k < w.ptr[first + 1]; k++)
        if (w.col[k] == first) w.val[k] += 10;
  }
  CHECK(!memcmp(a.val, w.val + w.ptr[p.begin], (size_t)(w.ptr[p.begin + p.m] - w.ptr[p.begin]) * 8));
  Products(A, &w);
  double *now;
  CHECK_OK(PoiseMatZeroEntries(A));
  if (p.m) CHECK(a.val[0] == 0 && a.val[w.ptr[p.begin + p.m] - w.ptr[p.begin] - 1] == 0);
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &(double){1}));
  if (CHECK_OK(PoiseVecGetUpdate(y, &now)))
    for (PoiseInt i = 0; i < p.m; i++) CHECK(now[i] == 0);
  CHECK_OK(PoiseVecRestore(y, &now));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
  FreeArrays(&a);
  FreeWhole(&w);
}

/* New values for the arrays that A was made of: in another array, or written to the borrowed one. */
static void TestNewValues(PoiseContext ctx)
{
  static const PoiseOwn owns[] = {POISE_COPY, POISE_ADOPT, POISE_BORROW};
  for (int o = 0; o < 3; o++) {
    Whole w;
    PoiseMat A;
    Arrays a, b;
    MakeWhole(BAND, 30, 30, &w);
    Part p = MakePart(ctx, EVEN, EVEN, 30, 30);
    MakeArrays(&w, p.begin, p.m, 0, &a);
    for (int64_t k = 0; k < w.ptr[30]; k++) w.val[k] = 3 - w.val[k];
    MakeArrays(&w, p.begin, p.m, 0, &b);
    if (!CHECK_OK(PoiseMatCreateCSR(ctx, p.m, p.n, 30, 30, &a.csr, owns[o], &A))) return;
    PoiseVec x, y;
    CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
    CHECK_OK(PoiseMatMult(A, x, y)); /* the device has its copy of the old values */
    int64_t state = A->version.values, pattern = A->version.pattern;
    if (owns[o] == POISE_BORROW)
      memcpy(a.val, b.val, (size_t)(w.ptr[p.begin + p.m] - w.ptr[p.begin]) * sizeof(double));
    CHECK_OK(PoiseMatSetValuesCSR(A, owns[o] == POISE_BORROW ? a.val : b.val));
    Products(A, &w);
    CHECK(A->version.values > state); /* preconditioners are built anew */
    CHECK_INT(A->version.pattern, pattern);
    if (PoiseRank(ctx) == 0)
      CHECK_ERR(PoiseMatSetValuesCSR(A, NULL), POISE_ERR_ARG, "no values");
    else
      CHECK_ERR(PoiseMatSetValuesCSR(A, a.val), POISE_ERR_REMOTE, "no values");
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    CHECK_OK(PoiseMatDestroy(&A));
    if (owns[o] != POISE_ADOPT) FreeArrays(&a);
    FreeArrays(&b);
    FreeWhole(&w);
  }
}

/* ---- users' arrays: what is refused ---------------------------------------------------------- */

enum { ROWS = 3, COLS = 8, NZ = 6 }; /* three rows on each rank; the last rank's arrays are wrong */

typedef struct Bad {
  int base;
  int64_t ptr[ROWS + 1], col[NZ];
  const char *words; /* %1 stands for the number of the last rank's first row */
} Bad;

static const Bad bads[] = {
    {0, {0, 2, 4, 6}, {0, 1, 2, 2, 4, 5}, "row %1+1 has column 2 twice"},
    {1, {1, 3, 5, 7}, {1, 2, 3, 4, 6, 6}, "row %1+2 has column 6 twice"},
    {0, {0, 3, 4, 6}, {2, 1, 2, 0, 4, 5}, "row %1+0 has column 2 twice"},
    {1, {1, 3, 3, 7}, {1, 2, 8, 5, 4, 8}, "row %1+2 has column 8 twice"},
    {0, {0, 2, 4, 6}, {0, 1, 2, 8, 4, 5}, "row %1+1 has column 8, legal are 0 to 7"},
    {0, {0, 2, 4, 6}, {0, 1, 2, 3, -1, 5}, "row %1+2 has column -1, legal are 0 to 7"},
    {1, {1, 3, 5, 7}, {0, 1, 2, 3, 4, 5}, "row %1+0 has column 0, legal are 1 to 8"},
    {1, {1, 3, 5, 7}, {1, 2, 3, 4, 5, 9}, "row %1+2 has column 9, legal are 1 to 8"},
    {0, {0, 4, 2, 6}, {0, 1, 2, 3, 4, 5}, "row offsets decrease at row %1+1: 4, then 2"},
    {1, {1, 4, 3, 7}, {1, 2, 3, 4, 5, 6}, "row offsets decrease at row %1+1: 4, then 3"},
    {0, {1, 2, 4, 6}, {0, 1, 2, 3, 4, 5}, "first row offset is 1, not the base 0"},
    {1, {0, 2, 4, 6}, {1, 2, 3, 4, 5, 6}, "first row offset is 0, not the base 1"},
    {2, {2, 4, 6, 8}, {2, 3, 4, 5, 6, 7}, "base 2"},
};

/* "row %1+2 ..." with the number put in */
static void Spell(const char *words, long long first, char text[128])
{
  const char *mark = strstr(words, "%1+");
  if (!mark)
    snprintf(text, 128, "%s", words);
  else
    snprintf(text, 128, "%.*s%lld%s", (int)(mark - words), words, first + mark[3] - '0', mark + 4);
}

static void TestRefused(PoiseContext ctx)
{
  static const int64_t good[] = {0, 2, 4, 6};
  static const PoiseOwn owns[] = {POISE_COPY, POISE_ADOPT, POISE_BORROW};
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  char words[128];
  PoiseMat A;
  for (size_t k = 0; k < sizeof bads / sizeof *bads; k++)
    for (int kind = 0; kind < NKINDS; kind++) {
      const Bad *b = &bads[k];
      int base = last ? b->base : 0, wide = kind & WIDE_COL, o = kind % 3;
      Arrays a = {.ptr = Ints(ROWS + 1, 0, last ? b->ptr : good, kind & WIDE_PTR),
                  .col = Ints(NZ, 0, last ? b->col : (const int64_t[]){0, 1, 2, 3, 4, 5}, wide),
                  .val = calloc(NZ, 8)};
      PoiseCSR csr = {.val = a.val, .base = base};
      if (kind & WIDE_PTR)
        csr.ptr64 = a.ptr;
      else
        csr.ptr32 = a.ptr;
      if (wide)
        csr.col64 = a.col;
      else
        csr.col32 = a.col;
      Spell(b->words, ROWS * (PoiseSize(ctx) - 1) + b->base, words);
      if (owns[o] == POISE_BORROW && (k == 2 || k == 3)) snprintf(words, sizeof words, "not sorted");
      A = (PoiseMat)ctx;
      CHECK_ERR_OF(PoiseMatCreateCSR(ctx, ROWS, POISE_DECIDE, POISE_DECIDE, COLS, &csr, owns[o], &A), last,
                   POISE_ERR_ARG, words);
      CHECK(!A);
      FreeArrays(&a); /* a failed call has adopted nothing */
    }
}

static void TestNullArrays(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  int32_t ptr32[] = {0, 1}, col32[] = {0};
  int64_t ptr64[] = {0, 1}, col64[] = {0};
  double val[] = {1};
  const PoiseCSR good = {.ptr32 = ptr32, .col32 = col32, .val = val};
  const struct {
    PoiseCSR csr;
    const char *words;
  } bad[] = {
      {{.col32 = col32, .val = val}, "exactly one of ptr32 and ptr64"},
      {{.ptr32 = ptr32, .ptr64 = ptr64, .col32 = col32, .val = val}, "exactly one of ptr32 and ptr64"},
      {{.ptr32 = ptr32, .val = val}, "exactly one of col32 and col64"},
      {{.ptr64 = ptr64, .col32 = col32, .col64 = col64, .val = val}, "exactly one of col32 and col64"},
      {{.ptr32 = ptr32, .col32 = col32}, "val is NULL and there are 1 entries"},
  };
  PoiseMat A;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    CHECK_ERR_OF(PoiseMatCreateCSR(ctx, 1, 1, POISE_DECIDE, POISE_DECIDE, last ? &bad[k].csr : &good,
                                   POISE_BORROW, &A),
                 last, POISE_ERR_ARG, bad[k].words);
  CHECK_ERR_OF(PoiseMatCreateCSR(ctx, 1, 1, POISE_DECIDE, POISE_DECIDE, last ? NULL : &good, POISE_COPY, &A),
               last, POISE_ERR_ARG, "NULL");
  CHECK(!A);
  const PoiseCSR empty = {.ptr32 = (int32_t[]){0, 0}}; /* no entries: neither columns nor values are needed */
  if (CHECK_OK(PoiseMatCreateCSR(ctx, 1, 1, POISE_DECIDE, POISE_DECIDE, &empty, POISE_BORROW, &A)))
    CHECK_INT(A->csr.nz, 0);
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_ERR(PoiseMatCreateCSR(ctx, 1, 1, PoiseSize(ctx) + 1, POISE_DECIDE, &good, POISE_COPY, &A),
            POISE_ERR_SIZE, "rows of the matrix");
  CHECK_ERR(PoiseMatCreate(ctx, 1, POISE_DECIDE, POISE_DECIDE, POISE_DECIDE, &A), POISE_ERR_ARG,
            "columns of the matrix");
  CHECK(!A);
}

/* ---- use ------------------------------------------------------------------------------------- */

static void TestProductErrors(PoiseContext ctx)
{
  int rank = PoiseRank(ctx), last = rank == PoiseSize(ctx) - 1, sees = rank < 2;
  PoiseContext own;
  PoiseMat A;
  PoiseVec x, y, odd, foreign;
  double dot;
  Whole w;
  MakeWhole(BAND, 10 * PoiseSize(ctx), 10 * PoiseSize(ctx) + 1, &w);
  if (!CHECK_OK(MakeMat(ctx, &w, EVEN, EVEN, &A))) return;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseVecSet(y, 1));
  char words[64];
  snprintf(words, sizeof words, "x has %d entries", (int)w.M);
  CHECK_ERR(PoiseMatMult(A, y, x), POISE_ERR_SIZE, words);
  snprintf(words, sizeof words, "A is %d x %d", (int)w.M, (int)w.N);
  CHECK_ERR(PoiseMatMult(A, y, x), POISE_ERR_SIZE, words);
  snprintf(words, sizeof words, "y has %d entries", (int)w.N);
  CHECK_OK(PoiseVecDuplicate(x, &odd));
  CHECK_ERR(PoiseMatMult(A, x, odd), POISE_ERR_SIZE, words);
  CHECK_ERR(PoiseMatMultTranspose(A, x, y), POISE_ERR_SIZE, "entries");
  snprintf(words, sizeof words, "A is %d x %d", (int)w.M, (int)w.N); /* the matrix, not its transpose */
  CHECK_ERR(PoiseMatMultTranspose(A, x, y), POISE_ERR_SIZE, words);
  CHECK_ERR(PoiseMatResidual(A, x, x, y), POISE_ERR_SIZE, "b has");
  CHECK_ERR(PoiseMatMultDot(A, x, y, x, &dot), POISE_ERR_SIZE, "u has");
  CHECK_ERR(PoiseMatMult(A, x, x), POISE_ERR_ARG, "same vector");
  CHECK_ERR(PoiseMatGetDiagonal(A, y), POISE_ERR_SIZE, "not square");
  CHECK_OK(PoiseVecDestroy(&odd));
  if (PoiseSize(ctx) > 1) { /* seen by two ranks only */
    CHECK_OK(PoiseVecCreate(ctx, rank == 0 ? 11 : rank == 1 ? 9 : 10, POISE_DECIDE, &odd));
    SampleMismatch(PoiseMatMult(A, x, odd), sees, POISE_ERR_SIZE, "y has");
    SampleMismatch(PoiseMatMultDot(A, x, y, odd, &dot), sees, POISE_ERR_SIZE, "u has");
    SampleMismatch(PoiseMatResidual(A, odd, x, y), sees, POISE_ERR_SIZE, "b has");
    SampleMismatch(PoiseMatMultTranspose(A, odd, x), sees, POISE_ERR_SIZE, "x has");
    CHECK_OK(PoiseVecDestroy(&odd));
  }
  if (last) CHECK_OK(PoiseVecAddValues(x, 1, (PoiseInt[]){0}, (double[]){1})); /* not assembled on one rank */
  CHECK_ERR_OF(PoiseMatMult(A, x, y), last, POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_OK(PoiseVecAssemble(x));
  CHECK_OK(PoiseMatMult(A, x, y));
  if (CHECK_OK(PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &own))) {
    CHECK_OK(PoiseVecCreate(own, POISE_DECIDE, w.N, &foreign));
    CHECK_ERR(PoiseMatMult(A, foreign, y), POISE_ERR_ARG, "different contexts");
    CHECK_OK(PoiseVecDestroy(&foreign));
    CHECK_OK(PoiseFinalize(&own));
  }
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
  FreeWhole(&w);
}

static _Thread_local struct {
  int n; /* launches */
  ProductPart part[4];
  bool ghosts[4];
  bool fails;
} launched;

static PoiseErr Launch_Noted(Product *p, ProductPart part, const ProductArgs *a)
{
  if (launched.n == 4) FAIL(POISE_ERR_INTERNAL, "five launches");
  launched.part[launched.n] = part;
  launched.ghosts[launched.n++] = a->ghost != NULL;
  if (launched.fails) FAIL(POISE_ERR_DEVICE, "this launch was to fail");
  return poiseForm_csr.launch(p, part, a);
}

/* A product is one launch, or on several ranks two around the end of the exchange. A rank that fails takes
   part in the exchange. */
static void TestParts(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1, several = PoiseSize(ctx) > 1;
  ProductForm noted = poiseForm_csr;
  PoiseMat A;
  PoiseVec x, y, expected;
  Whole w;
  MakeWhole(BAND, 10 * PoiseSize(ctx), 10 * PoiseSize(ctx), &w);
  if (!CHECK_OK(MakeMat(ctx, &w, EVEN, EVEN, &A))) return;
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  CHECK_OK(PoiseVecDuplicate(y, &expected));
  CHECK_OK(PoiseVecSetRandom(x, 3));
  CHECK_OK(PoiseMatMult(A, x, expected));
  noted.launch = Launch_Noted;
  A->product.form = &noted;
  for (int k = 0; k < 3; k++) {
    memset(&launched, 0, sizeof launched);
    launched.fails = k == 1 && last;
    PoiseErr e = PoiseMatMult(A, x, y);
    if (k == 1)
      CHECK_ERR_OF(e, last, POISE_ERR_DEVICE, "was to fail");
    else
      CHECK_OK(e);
    CHECK_INT(launched.n, several && !launched.fails ? 2 : 1);
    CHECK_INT(launched.part[0], several ? INTERIOR : WHOLE);
    CHECK(!launched.ghosts[0]);
    if (launched.n < 2) continue;
    CHECK_INT(launched.part[1], REST);
    CHECK(launched.ghosts[1]);
  }
  CHECK(SampleDigest(y) == SampleDigest(expected));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseVecDestroy(&expected));
  CHECK_OK(PoiseMatDestroy(&A));
  FreeWhole(&w);
}

static void TestTypes(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = PoiseRank(ctx) == size - 1;
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, last ? 9 : 6, last ? 9 : 6, POISE_DECIDE, POISE_DECIDE, &A))) return;
  CHECK(!strcmp(PoiseMatType(A), "auto") && PoiseMatContext(A) == ctx);
  CHECK_OK(PoiseMatSetType(A, "csr"));
  static const char *const theirs[][2] = {{"aij", "auto"},     {"mpiaijcusparse", "auto"},
                                          {"baij", "bcsr"},    {"seqaijkokkos", "auto"},
                                          {"seqbaij", "bcsr"}, {"mpiaij", "auto"}};
  CHECK_OK(PoiseMatSetBlockSize(A, 3));
  for (int i = 0; i < 6; i++) {
    CHECK_OK(PoiseMatSetType(A, theirs[i][0]));
    CHECK(!strcmp(PoiseMatType(A), theirs[i][1]));
  }
  CHECK_OK(PoiseMatSetBlockSize(A, 1));
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_ERR(PoiseMatSetType(A, "csrr"), POISE_ERR_OPTION,
            "did you mean 'csr'? there are csr, csri, seg, bcsr,");
  CHECK_ERR(PoiseMatSetType(A, "seqseg"), POISE_ERR_OPTION, "no matrix type 'seqseg'");
  CHECK_ERR(PoiseMatSetType(A, "hyperbolic"), POISE_ERR_OPTION, "no matrix type 'hyperbolic'");
  CHECK_ERR(PoiseMatSetType(A, "shell"), POISE_ERR_UNSUPPORTED, "csr cannot become shell");
  CHECK_INT(PoiseMatBlockSize(A), 1);
  CHECK_OK(PoiseMatSetBlockSize(A, 3));
  CHECK_INT(PoiseMatBlockSize(A), 3);
  CHECK_ERR_OF(PoiseMatSetBlockSize(A, 2), last, POISE_ERR_SIZE, "block size 2 does not divide the 9 x 9");
  CHECK_ERR(PoiseMatSetBlockSize(A, -1), POISE_ERR_ARG, "block size -1");
  CHECK_ERR(PoiseMatSetBlockSize(A, 33), POISE_ERR_ARG, "block size 33");
  CHECK_INT(PoiseMatBlockSize(A), 3);
  CHECK_OK(PoiseOptionsSetString(ctx, "-flow_mat_block_size 1 -flow_mat_type csr -heat_mat_type crs"));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK_INT(PoiseMatBlockSize(A), 3); /* nobody asked for another */
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "flow_"));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK_INT(PoiseMatBlockSize(A), 1);
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "heat_"));
  CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION,
            "-heat_mat_type crs (code): there is no matrix type 'crs'");
  CHECK_OK(PoiseOptionsSetString(ctx, "-flow_mat_csr_kernel ours"));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "flow_"));
  CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_UNSUPPORTED, "-flow_mat_csr_kernel ours (code): device");
  CHECK_OK(PoiseOptionsSetString(ctx, "-flow_mat_csr_kernel own"));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&A)); /* NULL is legal */
}

static const char *ViewOf(PoiseContext ctx, PoiseMat A, char text[2048])
{
  TEST_PRINTED(ctx, text, 2048, PoiseMatView(A));
  return text;
}

static void TestView(PoiseContext ctx)
{
  char text[2048];
  Whole w;
  PoiseMat A;
  MakeWhole(DENSE_ROW, 200, 200, &w);
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 200, 200, &A))) return;
  ViewOf(ctx, A, text); /* not assembled yet */
  if (!PoiseRank(ctx)) CHECK(strstr(text, "type auto, 200 x 200"));
  CHECK_OK(PoiseMatDestroy(&A));
  if (!CHECK_OK(MakeMat(ctx, &w, LAST, LAST, &A))) return;
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "flow_"));
  ViewOf(ctx, A, text);
  if (!PoiseRank(ctx))
    CHECK(strstr(text, "flow_") && strstr(text, "399 nonzeros") && strstr(text, "longest 200"));
  CHECK_OK(PoiseMatDestroy(&A));
  FreeWhole(&w);
}

/* The matrix on one rank is plain CSR and next to nothing else; and an adopted one is not even that. */
static void TestBytes(PoiseContext ctx)
{
  Whole w;
  PoiseMat A;
  MakeWhole(BAND, 20000, 20000, &w);
  int64_t blocks = ctx->memory.live, held = 0, plain = 12 * w.ptr[w.M] + 4 * (w.M + 1);
  if (!CHECK_OK(MakeMat(ctx, &w, EVEN, EVEN, &A))) return;
  const Buffer *all[] = {&A->csr.ptr, &A->csr.col, &A->csr.val, &A->blocks.order};
  for (int k = 0; k < 4; k++) held += poiseBufferBytes(all[k], HOST);
  CHECK((double)held <= 1.15 * (double)plain && held >= plain);
  CHECK(!A->csr.ghost && !A->csr.halo && !A->assembly.stash.entry && !A->product.work);
  CHECK(ctx->memory.live - blocks <=
        3 + 6 + 4); /* three arrays; the matrix, its type's data, two layouts of two; the choice of type */
  CHECK_OK(PoiseMatDestroy(&A));
  FreeWhole(&w);
}

/* ---- assembly -------------------------------------------------------------------------------- */

enum { NODES = 61, ELEMENTS = 200, CORNERS = 3 };

/* Element e couples three nodes, now and then fewer, and has no symmetry. */
static void Element(int e, PoiseInt rows[CORNERS], PoiseInt cols[CORNERS], double v[CORNERS * CORNERS])
{
  for (int k = 0; k < CORNERS; k++) {
    rows[k] = (PoiseInt)((TestRandom(30, (uint64_t)(CORNERS * e + k)) + 1) / 2 * NODES);
    cols[k] = (PoiseInt)((TestRandom(31, (uint64_t)(CORNERS * e + k)) + 1) / 2 * NODES);
  }
  if (e % 5 == 2) rows[1] = -1;
  if (e % 7 == 3) cols[2] = -9;
  for (int k = 0; k < CORNERS * CORNERS; k++) v[k] = TestRandom(32, (uint64_t)(CORNERS * CORNERS * e + k));
}

/* Elements [first, last) are shared out in turn, so that most rows are added to from everywhere. */
static void AddElements(PoiseContext ctx, PoiseMat A, int first, int last)
{
  PoiseInt rows[CORNERS], cols[CORNERS];
  double v[CORNERS * CORNERS];
  for (int e = first; e < last; e++) {
    if (e % PoiseSize(ctx) != PoiseRank(ctx)) continue;
    Element(e, rows, cols, v);
    CHECK_OK(PoiseMatAddBlock(A, CORNERS, rows, CORNERS, cols, v));
  }
}

typedef struct Dense {
  Wide sum[NODES][NODES], size[NODES][NODES];
  int terms[NODES][NODES];
} Dense;

static void AddDense(Dense *d, int first, int last)
{
  PoiseInt rows[CORNERS], cols[CORNERS];
  double v[CORNERS * CORNERS];
  for (int e = first; e < last; e++) {
    Element(e, rows, cols, v);
    for (int i = 0; i < CORNERS; i++)
      for (int j = 0; j < CORNERS; j++) {
        if (rows[i] < 0 || cols[j] < 0) continue;
        d->sum[rows[i]][cols[j]] += v[CORNERS * i + j];
        d->size[rows[i]][cols[j]] += fabs(v[CORNERS * i + j]);
        d->terms[rows[i]][cols[j]]++;
      }
  }
}

/* A has exactly the entries that were added to, with their sums. */
static void EqualsDense(PoiseMat A, const Dense *d)
{
  int64_t *ptr, *col, wrong = 0, stored = 0;
  double *val;
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  for (PoiseInt i = 0; i < A->rows->n; i++) {
    PoiseInt g = A->rows->begin + i;
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
      wrong += k > ptr[i] && col[k] <= col[k - 1];
      wrong += !d->terms[g][col[k]];
      wrong += !(fabsl(val[k] - d->sum[g][col[k]]) <= d->terms[g][col[k]] * DBL_EPSILON * d->size[g][col[k]]);
    }
    for (PoiseInt j = 0; j < NODES; j++) stored += d->terms[g][j] > 0;
  }
  CHECK_INT(wrong, 0);
  CHECK_INT(ptr[A->rows->n], stored);
  free(ptr), free(col), free(val);
}

/* The matrix as a digest of its product with a random vector that has no equal entries. */
static uint64_t DigestOf(PoiseMat A)
{
  PoiseVec x, y;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return 0;
  SampleFill(x, X);
  CHECK_OK(PoiseMatMult(A, x, y));
  uint64_t bits = SampleDigest(y);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  return bits;
}

/* (A x, u) = (x, A^T u), also when A^T has been used with another pattern */
static void Adjoint(PoiseMat A)
{
  PoiseVec x, u, y;
  double forward, backward;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &u))) return;
  CHECK_OK(PoiseVecDuplicate(u, &y));
  SampleFill(x, X);
  SampleFill(u, U);
  CHECK_OK(PoiseMatMultDot(A, x, y, u, &forward));
  CHECK_OK(PoiseMatMultTranspose(A, u, y));
  CHECK_OK(PoiseVecDot(x, y, &backward));
  CHECK_NEAR(forward, backward, 1e-12 * ELEMENTS);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&u));
  CHECK_OK(PoiseVecDestroy(&y));
}

static PoiseErr CreateEmpty(PoiseContext ctx, int layout, PoiseMat *A)
{
  return PoiseMatCreate(ctx, SampleLocal(ctx, layout, NODES), SampleLocal(ctx, layout, NODES), NODES, NODES,
                        A);
}

static void Assembling(PoiseContext ctx, int layout)
{
  Dense *d = calloc(1, sizeof *d);
  PoiseMat A, B;
  if (!CHECK_OK(CreateEmpty(ctx, layout, &A))) return;
  AddElements(ctx, A, 0, ELEMENTS);
  CHECK_OK(PoiseMatAssemble(A));
  AddDense(d, 0, ELEMENTS);
  EqualsDense(A, d);
  Adjoint(A);
  uint64_t bits = DigestOf(A);
  CHECK_OK(CreateEmpty(ctx, layout, &B)); /* repeated, it has the same bits */
  AddElements(ctx, B, 0, ELEMENTS);
  CHECK_OK(PoiseMatAssemble(B));
  CHECK(DigestOf(B) == bits);
  CHECK_OK(PoiseMatDestroy(&B));
  int64_t pattern = A->version.pattern, state = A->version.values;
  CHECK_OK(PoiseMatZeroEntries(A));
  AddElements(ctx, A, 0, ELEMENTS); /* in place, too */
  CHECK_OK(PoiseMatAssemble(A));
  CHECK(A->version.pattern == pattern && A->version.values > state);
  CHECK(DigestOf(A) == bits);
  CHECK_OK(PoiseMatAssemble(A)); /* nothing was added */
  CHECK(DigestOf(A) == bits && A->version.pattern == pattern);
  AddElements(ctx, A, ELEMENTS, ELEMENTS + 50); /* new entries among them */
  CHECK_OK(PoiseMatAssemble(A));
  AddDense(d, ELEMENTS, ELEMENTS + 50);
  EqualsDense(A, d);
  Adjoint(A);
  CHECK(A->version.pattern > pattern);
  CHECK_OK(PoiseMatZeroEntries(A));
  memset(d->sum, 0, sizeof d->sum);
  memset(d->size, 0, sizeof d->size);
  EqualsDense(A, d); /* the pattern stays */
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static void TestAssembly(PoiseContext ctx)
{
  for (int layout = 0; layout < NLAYOUTS; layout++) Assembling(ctx, layout);
}

/* The last rank adds everything, whoever owns it. */
static void TestOneAdds(PoiseContext ctx)
{
  PoiseInt rows[CORNERS], cols[CORNERS];
  double v[CORNERS * CORNERS];
  Dense *d = calloc(1, sizeof *d);
  PoiseMat A;
  if (!CHECK_OK(CreateEmpty(ctx, EVEN, &A))) return;
  for (int e = 0; e < ELEMENTS && PoiseRank(ctx) == PoiseSize(ctx) - 1; e++) {
    Element(e, rows, cols, v);
    CHECK_OK(PoiseMatAddBlock(A, CORNERS, rows, CORNERS, cols, v));
  }
  CHECK_OK(PoiseMatAssemble(A));
  AddDense(d, 0, ELEMENTS);
  EqualsDense(A, d);
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

/* Into a matrix that came as arrays: the stored values come first, then what was added. */
static void TestAddToArrays(PoiseContext ctx)
{
  Whole w;
  PoiseMat A;
  Dense *d = calloc(1, sizeof *d);
  MakeWhole(BAND, NODES, NODES, &w);
  if (!CHECK_OK(MakeMat(ctx, &w, UNEVEN, UNEVEN, &A))) return;
  for (PoiseInt i = 0; i < NODES; i++)
    for (int64_t k = w.ptr[i]; k < w.ptr[i + 1]; k++) {
      d->sum[i][w.col[k]] = w.val[k];
      d->size[i][w.col[k]] = fabs(w.val[k]);
      d->terms[i][w.col[k]] = 1;
    }
  AddElements(ctx, A, 0, ELEMENTS);
  CHECK_OK(PoiseMatAssemble(A));
  AddDense(d, 0, ELEMENTS);
  EqualsDense(A, d);
  CHECK_OK(PoiseMatDestroy(&A));
  FreeWhole(&w);
  free(d);
}

static void TestAssemblyErrors(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  const double v[4] = {1, 2, 3, 4};
  int64_t *ptr, *col;
  double *val, norm;
  PoiseMat A;
  PoiseVec x, y;
  if (!CHECK_OK(CreateEmpty(ctx, EVEN, &A))) return;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  CHECK_ERR(PoiseMatMult(A, x, y), POISE_ERR_STATE, "not been assembled: call PoiseMatAssemble");
  CHECK_ERR(PoiseMatMultTranspose(A, x, y), POISE_ERR_STATE, "not been assembled");
  CHECK_ERR(PoiseMatGetDiagonal(A, x), POISE_ERR_STATE, "not been assembled");
  CHECK_ERR(PoiseMatCopyCSR(A, &ptr, &col, &val), POISE_ERR_STATE, "not been assembled");
  CHECK_ERR(PoiseMatAddBlock(A, 2, (PoiseInt[]){0, NODES}, 2, (PoiseInt[]){0, 1}, v), POISE_ERR_ARG,
            "row 61 of a matrix of 61 rows");
  CHECK_ERR(PoiseMatAddBlock(A, 2, (PoiseInt[]){0, 1}, 2, (PoiseInt[]){1000, 1}, v), POISE_ERR_ARG,
            "column 1000 of a matrix of 61 columns");
  CHECK_OK(PoiseMatAddBlock(A, 0, NULL, 0, NULL, NULL));
  CHECK_ERR(PoiseMatAssemble(A), POISE_ERR_ARG, "row 61 of a matrix of 61 rows"); /* the first of the two */
  CHECK_OK(PoiseMatAssemble(A));                                                  /* nothing at all */
  CHECK_OK(PoiseVecSet(x, 1));
  SampleConstant(y, NAN);
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &norm));
  CHECK(norm == 0);
  if (last) CHECK_OK(PoiseMatAddBlock(A, 1, (PoiseInt[]){0}, 1, (PoiseInt[]){NODES - 1}, v));
  CHECK_ERR_OF(PoiseMatMult(A, x, y), last, POISE_ERR_STATE, "added since it was assembled");
  CHECK_ERR_OF(PoiseMatMultTranspose(A, x, y), last, POISE_ERR_STATE, "added since it was assembled");
  CHECK_ERR_OF(PoiseMatMultDot(A, x, y, x, &norm), last, POISE_ERR_STATE, "added since it was assembled");
  CHECK_ERR_OF(PoiseMatGetDiagonal(A, y), last, POISE_ERR_STATE, "added since it was assembled");
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &norm));
  CHECK(norm == 1);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  if (last) CHECK_OK(PoiseMatAddBlock(A, 1, (PoiseInt[]){0}, 1, (PoiseInt[]){1}, v));
  CHECK_OK(PoiseMatDestroy(&A)); /* with entries pending */
}

/* ---- shell ----------------------------------------------------------------------------------- */

typedef struct Inner { /* a shell around another matrix; functions may be told to fail */
  PoiseMat A;
  int fail, calls, collective;
  PoiseVec larger; /* made inside a call: moves the library's scratch */
} Inner;

static PoiseErr InnerMult(void *arg, PoiseVec x, PoiseVec y)
{
  Inner *in = arg;
  if (++in->calls == 1) POISE_TRY(PoiseVecCreate(PoiseVecContext(x), 200000, POISE_DECIDE, &in->larger));
  return PoiseMatMult(in->A, x, y);
}

static PoiseErr InnerTranspose(void *arg, PoiseVec x, PoiseVec y)
{
  return PoiseMatMultTranspose(((Inner *)arg)->A, x, y);
}

static PoiseErr InnerDiagonal(void *arg, PoiseVec d)
{
  return PoiseMatGetDiagonal(((Inner *)arg)->A, d);
}

static const PoiseShell inner = {InnerMult, InnerTranspose, InnerDiagonal};

static void TestShell(PoiseContext ctx)
{
  Whole w;
  Inner in = {.calls = 0};
  PoiseMat S;
  PoiseVec x, y, u;
  char text[2048];
  MakeWhole(SCATTERED, 70, 70, &w);
  if (!CHECK_OK(MakeMat(ctx, &w, UNEVEN, UNEVEN, &in.A))) return;
  PoiseInt m, n;
  PoiseMatLocalSizes(in.A, &m, &n);
  if (!CHECK_OK(PoiseMatCreateShell(ctx, m, n, 70, 70, &inner, &in, &S))) return;
  CHECK(!strcmp(PoiseMatType(S), "shell"));
  CHECK_OK(PoiseMatCreateVecs(S, &x, &y));
  CHECK_OK(PoiseVecDuplicate(y, &u));
  SampleFill(x, X);
  SampleFill(u, U);
  double dot;
  CHECK_OK(PoiseMatMultDot(S, x, y, u, &dot));
  CloseDot(dot, y, U);
  Forward(S, &w, x, y, u);
  Backward(S, &w, x, u);
  Diagonal(S, &w, x);
  CHECK_OK(PoiseMatAssemble(S)); /* nothing to do */
  CHECK_ERR(PoiseMatAddBlock(S, 1, (PoiseInt[]){0}, 1, (PoiseInt[]){0}, &dot), POISE_ERR_UNSUPPORTED,
            "shell");
  CHECK_ERR(PoiseMatZeroEntries(S), POISE_ERR_UNSUPPORTED, "shell");
  CHECK_ERR(PoiseMatSetType(S, "csr"), POISE_ERR_UNSUPPORTED, "shell cannot become csr");
  CHECK_ERR(PoiseMatCopyCSR(S, &(int64_t *){NULL}, &(int64_t *){NULL}, &(double *){NULL}),
            POISE_ERR_UNSUPPORTED, "shell");
  ViewOf(ctx, S, text);
  if (!PoiseRank(ctx)) CHECK(strstr(text, "type shell, 70 x 70"));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseVecDestroy(&u));
  CHECK_OK(PoiseVecDestroy(&in.larger));
  CHECK_OK(PoiseMatDestroy(&S));
  CHECK_OK(PoiseMatDestroy(&in.A));
  FreeWhole(&w);
}

enum { GOOD, CODE, WORDS };

/* y = 2 x, unless it is to fail: with a number or with an error of its own. */
static PoiseErr TwiceOrFail(void *arg, PoiseVec x, PoiseVec y)
{
  Inner *in = arg;
  if (in->collective) POISE_TRY(PoiseBarrier(PoiseVecContext(x)));
  if (in->fail == CODE) return (PoiseErr)77;
  if (in->fail == WORDS) POISE_FAIL(POISE_ERR_NUMERIC, "the sky is falling");
  return PoiseVecAXPBY(y, 2, 0, x);
}

static PoiseErr TwoOrFail(void *arg, PoiseVec d)
{
  return TwiceOrFail(arg, d, d);
}

static void TestShellErrors(PoiseContext ctx)
{
  int rank = PoiseRank(ctx), size = PoiseSize(ctx), last = rank == size - 1, sees = rank < 2;
  Inner in = {.calls = 0};
  PoiseShell some = {.mult = TwiceOrFail}, all = {TwiceOrFail, TwiceOrFail, TwoOrFail};
  PoiseMat S;
  PoiseVec x, y, odd;
  double dot;
  CHECK_ERR(
      PoiseMatCreateShell(ctx, 10, 10, POISE_DECIDE, POISE_DECIDE, &(PoiseShell){.mult = NULL}, NULL, &S),
      POISE_ERR_ARG, "needs a mult");
  CHECK_ERR(PoiseMatCreateShell(ctx, 10, 10, POISE_DECIDE, POISE_DECIDE, NULL, NULL, &S), POISE_ERR_ARG,
            "needs a mult");
  CHECK(!S);
  if (!CHECK_OK(PoiseMatCreateShell(ctx, 10, 10, POISE_DECIDE, POISE_DECIDE, &some, &in, &S))) return;
  CHECK_OK(PoiseMatCreateVecs(S, &x, &y));
  CHECK_ERR(PoiseMatMultTranspose(S, x, y), POISE_ERR_UNSUPPORTED, "no mult_transpose");
  CHECK_ERR(PoiseMatGetDiagonal(S, y), POISE_ERR_UNSUPPORTED, "no diagonal");
  CHECK_OK(PoiseVecSet(y, 1));
  CHECK_OK(PoiseMatDestroy(&S));
  if (!CHECK_OK(PoiseMatCreateShell(ctx, 10, 10, POISE_DECIDE, POISE_DECIDE, &all, &in, &S))) return;
  if (size > 1) { /* seen by two ranks only; nobody may be left waiting in a user's function */
    in.collective = 1;
    CHECK_OK(PoiseVecCreate(ctx, rank == 0 ? 11 : rank == 1 ? 9 : 10, POISE_DECIDE, &odd));
    SampleMismatch(PoiseMatMultTranspose(S, odd, y), sees, POISE_ERR_SIZE, "x has");
    SampleMismatch(PoiseMatMult(S, x, odd), sees, POISE_ERR_SIZE, "y has");
    SampleMismatch(PoiseMatMultAdd(S, 2, odd, 1, y), sees, POISE_ERR_SIZE, "x has");
    SampleMismatch(PoiseMatMultDot(S, x, y, odd, &dot), sees, POISE_ERR_SIZE, "has");
    SampleMismatch(PoiseMatGetDiagonal(S, odd), sees, POISE_ERR_SIZE, "diagonal");
    CHECK_OK(PoiseVecDestroy(&odd));
    in.collective = 0;
  }
  for (int how = CODE; how <= WORDS; how++) {
    PoiseErr code = how == CODE ? POISE_ERR_USER : POISE_ERR_NUMERIC;
    in.fail = last ? how : GOOD;
    CHECK_ERR_OF(PoiseMatMult(S, x, y), last, code, how == CODE ? "the shell's mult returned 77" : "sky");
    CHECK_ERR_OF(PoiseMatMultAdd(S, 2, x, 3, y), last, code,
                 how == CODE ? "the shell's mult returned 77" : "sky");
    CHECK_ERR_OF(PoiseMatResidual(S, x, x, y), last, code, how == CODE ? "the shell's mult" : "sky");
    CHECK_ERR_OF(PoiseMatMultDot(S, x, y, x, &dot), last, code, how == CODE ? "the shell's mult" : "sky");
    CHECK_ERR_OF(PoiseMatMultTranspose(S, x, y), last, code,
                 how == CODE ? "mult_transpose returned 77" : "sky");
    CHECK_ERR_OF(PoiseMatGetDiagonal(S, y), last, code, how == CODE ? "diagonal returned 77" : "sky");
  }
  in.fail = GOOD;
  CHECK_OK(PoiseMatMult(S, x, y));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&S));
}

/* ---- bits ------------------------------------------------------------------------------------ */

static PoiseErr ProductBits(PoiseContext ctx, void *arg)
{
  Whole w;
  PoiseMat A;
  PoiseVec x, y;
  MakeWhole(SCATTERED, 41003, 41003, &w);
  if (!CHECK_OK(MakeMat(ctx, &w, EVEN, EVEN, &A))) return POISE_OK;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  SampleFill(x, X);
  CHECK_OK(PoiseMatMult(A, x, y));
  SampleKeep(ctx, arg, SampleDigest(y)); /* the same for all numbers of ranks */
  CHECK_OK(PoiseMatMultAdd(A, 1.3, x, -0.7, y));
  SampleKeep(ctx, arg, SampleDigest(y));
  double dot;
  CHECK_OK(PoiseMatMultDot(A, x, y, x, &dot));
  SampleKeep(ctx, arg, SampleBits(dot));
  CHECK_OK(PoiseMatMultTranspose(A, x, y));
  SampleKeep(ctx, arg, SampleDigest(y));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
  FreeWhole(&w);
  return POISE_OK;
}

static void TestBits(PoiseContext ctx)
{
  static const int ranks[] = {1, 2, 3};
  SampleRun one, first, run;
  (void)ctx;
  SampleRunOn("host", 1, 1, ProductBits, &one);
  for (int k = 0; k < 3; k++) {
    SampleRunOn("host", ranks[k], 1, ProductBits, &first);
    CHECK(!memcmp(first.result, one.result, 2 * sizeof *one.result));
    SampleRunOn("mock", ranks[k], 2, ProductBits, &run);
    CHECK(SampleSame(&run, &first));
    SampleRunOn("host", ranks[k], 3, ProductBits, &run);
    CHECK(SampleSame(&run, &first));
  }
}

/* Rows of about the lengths from which csri cuts them, and fragments end. */
static PoiseErr MakeCut(PoiseContext ctx, PoiseMat *A)
{
  static const PoiseInt lengths[] = {8191, 8192, 8193, 16384, 16385, 32768, 32769, 40001};
  enum { N = 40001, EVERY = 5000 };
  PoiseInt begin, m, *col = malloc(N * sizeof *col);
  double *val = malloc(N * sizeof *val);
  PoiseErr e = PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, A);
  PoiseSplit(ctx, N, &begin, &m);
  for (PoiseInt i = begin; !e && i < begin + m; i++) {
    PoiseInt n = i % EVERY == 4321 && i / EVERY < 8 ? lengths[i / EVERY] : i % 5;
    for (PoiseInt k = 0; k < n; k++) col[k] = (i + k) % N, val[k] = TestRandom(3, i * N + k);
    e = PoiseMatAddBlock(*A, 1, &i, (int)n, col, val);
  }
  free(col), free(val);
  return e ? e : PoiseMatAssemble(*A);
}

static PoiseErr CutBits(PoiseContext ctx, void *arg)
{
  static const char *const types[] = {"auto", "csr", "csri"};
  PoiseMat A;
  PoiseVec x, y;
  double dot;
  uint64_t first = 0;
  if (!CHECK_OK(MakeCut(ctx, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return POISE_OK;
  SampleFill(x, X);
  CHECK_OK(PoiseMatMultDot(A, x, y, x, &dot)); /* by the type that was chosen */
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseMatSetType(A, types[k]));
    CHECK_OK(PoiseMatMult(A, x, y));
    if (!k) first = SampleDigest(y);
    CHECK(SampleDigest(y) == first);
  }
  SampleKeep(ctx, arg, first);
  SampleKeep(ctx, arg, SampleBits(dot));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
  return POISE_OK;
}

/* A product's bits are the same for all numbers of ranks and threads, and for csr and csri; a dot's for all
   of threads. */
static void TestBitsOfTypes(PoiseContext ctx)
{
  SampleRun one, first, run;
  (void)ctx;
  SampleRunOn("host", 1, 1, CutBits, &one);
  for (int ranks = 1; ranks <= 3; ranks++) {
    SampleRunOn("host", ranks, 1, CutBits, &first);
    CHECK(first.n > 0 && first.result[0] == one.result[0]);
    for (int threads = 2; threads <= 3; threads++) {
      SampleRunOn("host", ranks, threads, CutBits, &run);
      CHECK(SampleSame(&run, &first));
    }
    SampleRunOn("mock", ranks, 2, CutBits, &run);
    CHECK(SampleSame(&run, &first));
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct How {
  PoiseOwn own;
  int kind, unsorted;
} How;

/* What could not be taken is as it was. */
static void CheckReturned(const Whole *w, Part p, const How *how, const Arrays *a)
{
  Arrays fresh;
  int64_t nz = w->ptr[p.begin + p.m] - w->ptr[p.begin];
  if (how->unsorted) return; /* by the test */
  MakeArrays(w, p.begin, p.m, how->kind, &fresh);
  CHECK(!memcmp(a->ptr, fresh.ptr, (size_t)(p.m + 1) * (how->kind & WIDE_PTR ? 8 : 4)));
  CHECK(!memcmp(a->col, fresh.col, (size_t)nz * (how->kind & WIDE_COL ? 8 : 4)));
  CHECK(!memcmp(a->val, fresh.val, (size_t)nz * sizeof(double)));
  FreeArrays(&fresh);
}

static PoiseErr CreateAndMultiply(PoiseContext ctx, void *arg)
{
  const How *how = arg;
  Whole w;
  Arrays a;
  PoiseMat A = NULL;
  PoiseVec x = NULL, y = NULL;
  double dot;
  MakeWhole(SCATTERED, 50, 50, &w);
  Part p = MakePart(ctx, EVEN, EVEN, 50, 50);
  MakeArrays(&w, p.begin, p.m, how->kind, &a);
  if (how->unsorted)
    for (PoiseInt i = p.begin; i < p.begin + p.m; i++)
      Reverse(&a, w.ptr[i] - w.ptr[p.begin], w.ptr[i + 1] - w.ptr[p.begin], how->kind & WIDE_COL);
  PoiseErr e = PoiseMatCreateCSR(ctx, p.m, p.n, 50, 50, &a.csr, how->own, &A);
  int mine = how->own != POISE_ADOPT || e;
  if (e) CheckReturned(&w, p, how, &a);
  if (!e) e = PoiseMatSetOptionsPrefix(A, "flow_");
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e) e = PoiseMatMultDot(A, x, y, x, &dot);
  if (!e) e = PoiseMatMultTranspose(A, x, y);
  if (!e) e = PoiseMatGetDiagonal(A, y);
  CHECK(!x == !y);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  if (mine) FreeArrays(&a);
  FreeWhole(&w);
  return e;
}

static PoiseErr AddAndAssemble(PoiseMat A, int first, int last)
{
  PoiseInt rows[CORNERS], cols[CORNERS];
  double v[CORNERS * CORNERS];
  PoiseContext ctx = PoiseMatContext(A);
  PoiseErr e = POISE_OK;
  for (int k = first; !e && k < last; k++) {
    Element(k, rows, cols, v);
    if (k % PoiseSize(ctx) == PoiseRank(ctx)) e = PoiseMatAddBlock(A, CORNERS, rows, CORNERS, cols, v);
  }
  POISE_TRY(PoiseAgree(ctx, e));
  return PoiseMatAssemble(A);
}

static PoiseErr AssembleTwice(PoiseContext ctx, void *arg)
{
  PoiseMat A;
  (void)arg;
  PoiseErr e = CreateEmpty(ctx, EVEN, &A);
  if (!e) e = AddAndAssemble(A, 0, 60);
  if (!e) e = AddAndAssemble(A, 0, 60);
  if (!e) e = AddAndAssemble(A, 60, 90);
  if (!e) e = PoiseMatZeroEntries(A);
  PoiseMatDestroy(&A);
  return e;
}

static PoiseErr UseShell(PoiseContext ctx, void *arg)
{
  Inner in = {.calls = 0};
  PoiseShell all = {TwiceOrFail, TwiceOrFail, TwoOrFail};
  PoiseMat S;
  PoiseVec x = NULL, y = NULL;
  (void)arg;
  PoiseErr e = PoiseMatCreateShell(ctx, 10, 10, POISE_DECIDE, POISE_DECIDE, &all, &in, &S);
  if (!e) e = PoiseMatCreateVecs(S, &x, &y);
  if (!e) e = PoiseMatMultAdd(S, 2, x, 3, y);
  if (!e) e = PoiseMatMultTranspose(S, x, y);
  if (!e) e = PoiseMatGetDiagonal(S, y);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&S);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  static How hows[] = {
      {POISE_COPY, 0, 0}, {POISE_ADOPT, 0, 0}, {POISE_ADOPT, BASE_1 | WIDE_COL, 1}, {POISE_BORROW, 0, 0}};
  for (size_t k = 0; k < sizeof hows / sizeof *hows; k++)
    TestAllocationFailures(ctx, CreateAndMultiply, &hows[k]);
  TestAllocationFailures(ctx, AssembleTwice, NULL);
  TestAllocationFailures(ctx, UseShell, NULL);
}

/* An assembly that ran out of memory may be repeated, and loses nothing. */
static void TestRetry(PoiseContext ctx)
{
  int fails = PoiseRank(ctx) == PoiseSize(ctx) - 1, failed = 1;
  Dense *d = calloc(1, sizeof *d);
  AddDense(d, 0, ELEMENTS);
  for (int n = 1; failed && n < 200; n++) {
    PoiseMat A;
    failed = 0;
    if (!CHECK_OK(CreateEmpty(ctx, EVEN, &A))) break;
    for (int half = 0; half < 2; half++) { /* a new pattern, then a larger one */
      AddElements(ctx, A, half * ELEMENTS / 2, (half + 1) * ELEMENTS / 2);
      if (fails) poiseAllocFailAt(ctx, n);
      PoiseErr e = PoiseMatAssemble(A);
      poiseAllocFailAt(ctx, 0);
      if (e) {
        CHECK_ERR_OF(e, fails, POISE_ERR_MEMORY, "");
        CHECK_OK(PoiseMatAssemble(A));
        failed = 1;
      }
    }
    EqualsDense(A, d);
    CHECK_OK(PoiseMatDestroy(&A));
  }
  CHECK(!failed);
  free(d);
}

static const Test tests[] = {
    {"small", TestSmall, 0},
    {"blocks", TestBlocks, 0},
    {"accepted", TestAccepted, 0},
    {"unsorted", TestUnsorted, 0},
    {"borrowed", TestBorrowed, 0},
    {"new_values", TestNewValues, 0},
    {"refused", TestRefused, 0},
    {"null_arrays", TestNullArrays, 0},
    {"product_errors", TestProductErrors, 0},
    {"parts", TestParts, 0},
    {"types", TestTypes, 0},
    {"view", TestView, 0},
    {"bytes", TestBytes, TEST_SERIAL | TEST_HOST_ONLY},
    {"assembly", TestAssembly, 0},
    {"one_adds", TestOneAdds, 0},
    {"add_to_arrays", TestAddToArrays, 0},
    {"assembly_errors", TestAssemblyErrors, 0},
    {"shell", TestShell, 0},
    {"shell_errors", TestShellErrors, 0},
    {"bits", TestBits, TEST_SERIAL | TEST_HOST_ONLY},
    {"bits_of_types", TestBitsOfTypes, TEST_SERIAL | TEST_HOST_ONLY},
    {"memory", TestMemory, 0},
    {"retry", TestRetry, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "mat", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products with wide vectors by the form that reads the matrix once for all columns, for every type with a
  CSR. Each column is compared with the ordinary product of that column: on devices with the host's
  kernels, bit by bit. So are factors, the diagonal and dots, which are also compared with sums of the
  result. Rows are empty, or have more entries than row blocks and fragments hold.
*/
#include <float.h>

#include "harness.h"
#include "mat/object/mat.h"

enum { MOST = POISE_MAX_COLUMNS };

static const int columns[] = {2, 3, 7, 8, 17, 32};
enum { COUNTS = sizeof columns / sizeof *columns };

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Shape { /* in blocks, where there are any */
  const char *name;
  PoiseInt M, N;
  PoiseInt (*length)(PoiseInt i);
} Shape;

static PoiseInt Few(PoiseInt i)
{
  return i % 9;
}
static PoiseInt MostlyEmpty(PoiseInt i) /* and some with as many entries as row blocks of GPUs, and more */
{
  static const PoiseInt lengths[] = {1023, 1024, 1025, 2047, 2048, 2049, 5000, 511, 512, 513};
  return i % 40 == 11 ? lengths[i / 40 % 10] : i % 7 ? 0 : 3;
}
static PoiseInt AroundFragments(PoiseInt i) /* of hosts */
{
  static const PoiseInt lengths[] = {8191, 8192, 8193, 16384, 16385, 33000};
  return i % 500 < 6 ? lengths[i % 500] : 1;
}
static PoiseInt None(PoiseInt i)
{
  return 0 * i;
}

static const Shape shapes[] = {{"few", 3001, 3001, Few},
                               {"mostly empty", 1000, 7000, MostlyEmpty},
                               {"around fragments", 506, 40000, AroundFragments},
                               {"few rows", 5, 9, Few},
                               {"no entries", 50, 20, None},
                               {"nothing", 0, 0, None}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const struct {
  const char *type;
  int b;
} types[] = {{"csr", 1},  {"csri", 1}, {"seg", 1},  {"auto", 1}, {"bcsr", 1}, {"bcsr", 2},
             {"bcsr", 3}, {"bcsr", 4}, {"bcsr", 5}, {"bcsr", 8}, {"bcsr", 9}};
enum { TYPES = sizeof types / sizeof *types };

static PoiseInt Length(const Shape *s, PoiseInt i)
{
  PoiseInt n = s->length(i);
  return n < s->N ? n : s->N;
}

/* Ascending, all different. */
static PoiseInt Column(const Shape *s, PoiseInt i, PoiseInt n, PoiseInt k)
{
  return k * s->N / n + i * 7 % (s->N / n) * (k + 1 < n);
}

/* Rows of numbers, of full blocks of b x b. */
static PoiseErr Make(PoiseContext ctx, const Shape *s, const char *type, int b, PoiseMat *A)
{
  PoiseInt begin, m, first, n;
  PoiseSplit(ctx, s->M, &begin, &m);
  PoiseSplit(ctx, s->N, &first, &n);
  int64_t *ptr = calloc((size_t)(m * b) + 1, sizeof *ptr);
  for (PoiseInt i = 0; i < m * b; i++) ptr[i + 1] = ptr[i] + b * Length(s, begin + i / b);
  int64_t *col = calloc((size_t)ptr[m * b] + 1, sizeof *col);
  double *val = calloc((size_t)ptr[m * b] + 1, sizeof *val);
  for (PoiseInt i = 0; i < m * b; i++)
    for (int64_t k = 0; k < ptr[i + 1] - ptr[i]; k++) {
      PoiseInt row = begin + i / b;
      col[ptr[i] + k] = Column(s, row, Length(s, row), k / b) * b + k % b;
      val[ptr[i] + k] = TestRandom(3, (uint64_t)((begin * b + i) * 100003 + k));
    }
  PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  PoiseErr e = PoiseMatCreateCSR(ctx, m * b, n * b, s->M * b, s->N * b, &csr, POISE_COPY, A);
  free(ptr), free(col), free(val);
  if (!e && b > 1) e = PoiseMatSetBlockSize(*A, b);
  return e ? e : PoiseMatSetType(*A, type);
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Entries of k columns, by columns: the same numbers for each column whatever k is. */
static PoiseErr Fill(PoiseVec v, int k, uint64_t seed)
{
  PoiseInt begin = v->layout->begin, n = v->layout->n;
  double *a = calloc((size_t)(n * k) + 1, sizeof *a);
  for (int j = 0; j < k; j++)
    for (PoiseInt i = 0; i < n; i++) a[j * n + i] = TestRandom(seed, (uint64_t)((begin + i) * MOST + j));
  PoiseErr e = PoiseVecSetColumns(v, n, a);
  free(a);
  return e;
}

static PoiseErr MakeVector(PoiseContext ctx, const Layout *like, int k, uint64_t seed, PoiseVec *v)
{
  PoiseErr e = PoiseVecCreateBlock(ctx, like->n, like->N, k, v);
  return e ? e : PoiseAgree(ctx, Fill(*v, k, seed));
}

static bool HasHostKernels(PoiseContext ctx)
{
  return !poiseModelIsGpu(&ctx->device->model);
}

/* Column j of Y is y, to the last bit or, on a GPU, to rounding: of sums of up to `terms` terms below 2. */
static void CheckColumn(PoiseVec Y, int j, PoiseVec y, double terms)
{
  PoiseContext ctx = y->ctx;
  PoiseVec mine;
  const double *a, *b;
  int64_t wrong = 0;
  if (!CHECK_OK(PoiseVecDuplicate(y, &mine))) return;
  if (CHECK_OK(PoiseVecGetColumn(Y, j, mine)) && CHECK_OK(poiseBufferRead(&mine->data, HOST, &a)) &&
      CHECK_OK(poiseBufferRead(&y->data, HOST, &b)))
    for (int64_t i = 0; i < y->layout->n; i++)
      wrong += HasHostKernels(ctx) ? memcmp(&a[i], &b[i], sizeof *a) != 0
                                   : !(fabs(a[i] - b[i]) <= 4 * DBL_EPSILON * terms);
  CHECK_INT(wrong, 0);
  PoiseVecDestroy(&mine);
}

/* ---- Y = A X --------------------------------------------------------------------------------- */

static void CheckProduct(PoiseMat A, int k, PoiseVec x, PoiseVec y, double terms)
{
  PoiseContext ctx = A->ctx;
  PoiseVec X = NULL, Y = NULL;
  if (CHECK_OK(MakeVector(ctx, A->cols, k, 5, &X)) && CHECK_OK(MakeVector(ctx, A->rows, k, 6, &Y)) &&
      CHECK_OK(PoiseMatMultBlock(A, X, Y)))
    for (int j = 0; j<k; j += k> 8 ? 5 : 1) {
      CHECK_OK(PoiseVecGetColumn(X, j, x));
      CHECK_OK(PoiseMatMult(A, x, y));
      CheckColumn(Y, j, y, terms);
    }
  PoiseVecDestroy(&X);
  PoiseVecDestroy(&Y);
}

static PoiseInt Longest(const Shape *s)
{
  PoiseInt most = 0;
  for (PoiseInt i = 0; i < s->M; i++)
    if (most < Length(s, i)) most = Length(s, i);
  return most;
}

static void TestProduct(PoiseContext ctx)
{
  for (int t = 0; t < TYPES; t++)
    for (int s = 0; s < SHAPES; s++) {
      int b = types[t].b;
      PoiseMat A = NULL;
      PoiseVec x = NULL, y = NULL;
      if (b > 3 && shapes[s].N > 7000) continue; /* large */
      if (CHECK_OK(Make(ctx, &shapes[s], types[t].type, b, &A)) && CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
        for (int c = 0; c < COUNTS; c++)
          if (!s || (c + t + s) % 3 == 0)
            CheckProduct(A, columns[c], x, y, (double)(b * Longest(&shapes[s])));
      PoiseVecDestroy(&x);
      PoiseVecDestroy(&y);
      PoiseMatDestroy(&A);
    }
}

/* Bytes are counted, and known: of a matrix that has made such a product. */
static void TestBytes(PoiseContext ctx)
{
  for (int t = 0; t < TYPES; t++) {
    PoiseMat A;
    PoiseVec x, y;
    PoiseBytes before, after;
    PoisePrediction p;
    if (!CHECK_OK(Make(ctx, &shapes[1], types[t].type, types[t].b, &A)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseMatMult(A, x, y)))
      return;
    CHECK_OK(PoiseMatBytes(A, &before, NULL));
    CheckProduct(A, 3, x, y, 5000.0 * types[t].b);
    CHECK_OK(PoiseMatBytes(A, &after, NULL));
    CHECK_OK(PoiseMatPredictBytes(A, NULL, &p));
    CHECK(after.device >= before.device && (HasHostKernels(ctx) || after.device > before.device));
    CHECK(p.least.device <= after.device && after.device <= p.most.device);
    CHECK(p.least.host <= after.host && after.host <= p.most.host);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
  }
}

/* NaN in one column leaves the others as they are; old content is overwritten, NaN too. */
static void TestNan(PoiseContext ctx)
{
  enum { K = 7, BAD = 3 };
  for (int t = 0; t < TYPES; t++) {
    PoiseMat A;
    PoiseVec X, Y, x, y;
    if (!CHECK_OK(Make(ctx, &shapes[1], types[t].type, types[t].b, &A)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(MakeVector(ctx, A->cols, K, 5, &X)) ||
        !CHECK_OK(MakeVector(ctx, A->rows, K, 6, &Y)))
      return;
    CHECK_OK(PoiseVecSet(y, NAN));
    for (int j = 0; j < K; j++) CHECK_OK(PoiseVecSetColumn(Y, j, y));
    CHECK_OK(PoiseVecSet(x, NAN));
    CHECK_OK(PoiseVecSetColumn(X, BAD, x));
    CHECK_OK(PoiseMatMultBlock(A, X, Y));
    for (int j = 0; j < K; j++) {
      if (j == BAD) continue;
      CHECK_OK(PoiseVecGetColumn(X, j, x));
      CHECK_OK(PoiseMatMult(A, x, y));
      CheckColumn(Y, j, y, 5000.0 * types[t].b);
    }
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseVecDestroy(&X);
    PoiseVecDestroy(&Y);
    PoiseMatDestroy(&A);
  }
}

/* ---- Y = D (a A X + b Y) with dots ----------------------------------------------------------- */

enum { DOTS = 3 };

typedef struct Fused { /* of k columns, 1: an ordinary product */
  int k;
  int64_t parts;
  PoiseVec X, Y, U, D;
  Buffer partial;
  double *sums; /* by dots */
} Fused;

static void DestroyFused(Fused *f)
{
  PoiseVecDestroy(&f->X);
  PoiseVecDestroy(&f->Y);
  PoiseVecDestroy(&f->U);
  PoiseVecDestroy(&f->D);
  poiseBufferDestroy(&f->partial);
  free(f->sums);
  *f = (Fused){0};
}

/* The sums of partials, from left to right. */
static PoiseErr SumPartials(Fused *f)
{
  const double *p;
  PoiseErr e = poiseBufferRead(&f->partial, HOST, &p);
  f->sums = calloc((size_t)(DOTS * f->k), sizeof *f->sums);
  for (int64_t s = 0; s < DOTS * f->k && !e; s++)
    for (int64_t q = 0; q < f->parts; q++) f->sums[s] += p[s * f->parts + q];
  return e;
}

static PoiseErr Multiply(PoiseMat A, double a, double b, const double *skip, Fused *f)
{
  PoiseContext ctx = A->ctx;
  Fuse fuse = {.ndot = DOTS};
  double *partial;
  const double *d;
  PoiseErr e = f->k > 1 ? poiseMatReadyColumns(A, f->k) : PoiseAgree(ctx, poiseProductReady(&A->product));
  if (e) return e;
  f->parts = poiseMatPartialsColumns(A, f->k);
  fuse.systems.n = f->k > 1 ? f->k : 0, fuse.systems.partials = f->parts;
  e = poiseBufferCreate(ctx->device, (size_t)(DOTS * f->k * f->parts) * sizeof(double), "partials",
                        &f->partial);
  if (!e) e = poiseBufferWrite(&f->partial, DEVICE, &partial);
  if (!e) e = poiseVecRead(f->U, &fuse.u[0]);
  if (!e) e = poiseVecRead(f->D, &d);
  fuse.d[1] = d;
  for (int q = 0; q < DOTS && !e; q++) fuse.partial[q] = partial + q * f->k * f->parts;
  if (!e) e = poiseMatMultFuse(A, (ScalarRef){NULL, a}, f->X, (ScalarRef){NULL, b}, f->Y, skip, d, &fuse);
  return PoiseAgree(ctx, e ? e : SumPartials(f));
}

/* A product with k columns from the j-th on of the same numbers. */
static PoiseErr MakeFused(PoiseMat A, int k, const Fused *from, int j, Fused *f)
{
  PoiseContext ctx = A->ctx;
  *f = (Fused){.k = k};
  PoiseErr e = MakeVector(ctx, A->cols, k, 5, &f->X);
  if (!e) e = MakeVector(ctx, A->rows, k, 6, &f->Y);
  if (!e) e = MakeVector(ctx, A->rows, k, 7, &f->U);
  if (!e) e = MakeVector(ctx, A->rows, 1, 8, &f->D);
  if (!from) return e;
  if (!e) e = PoiseVecGetColumn(from->X, j, f->X);
  if (!e) e = PoiseVecGetColumn(from->Y, j, f->Y);
  return e ? e : PoiseVecGetColumn(from->U, j, f->U);
}

/* The dots of what f->Y has now, summed over this rank. */
static void CheckDots(const Fused *f, int j, const Fused *wide, double size)
{
  const double *y, *u, *d;
  double sum[DOTS] = {0};
  if (!CHECK_OK(poiseBufferRead(&f->Y->data, HOST, &y)) ||
      !CHECK_OK(poiseBufferRead(&f->U->data, HOST, &u)) || !CHECK_OK(poiseBufferRead(&f->D->data, HOST, &d)))
    return;
  for (int64_t i = 0; i < f->Y->layout->n; i++)
    sum[0] += u[i] * y[i], sum[1] += d[i] * y[i] * y[i], sum[2] += y[i] * y[i];
  for (int q = 0; q < DOTS; q++) CHECK_NEAR(wide->sums[q * wide->k + j], sum[q], 1e-12 * size);
}

static void CheckFused(PoiseMat A, int k, double a, double b)
{
  Fused wide, one, before;
  bool same;
  if (!CHECK_OK(MakeFused(A, k, NULL, 0, &before)) || !CHECK_OK(MakeFused(A, k, NULL, 0, &wide)) ||
      !CHECK_OK(Multiply(A, a, b, NULL, &wide)))
    return;
  for (int j = 0; j<k; j += k> 8 ? 5 : 1) {
    if (!CHECK_OK(MakeFused(A, 1, &before, j, &one)) || !CHECK_OK(Multiply(A, a, b, NULL, &one))) return;
    CheckColumn(wide.Y, j, one.Y, 10000);
    CheckDots(&one, j, &wide, 1e6 * (double)(1 + A->rows->n));
    same = HasHostKernels(A->ctx) && A->several.form; /* with the same row blocks */
    for (int q = 0; q < DOTS && same; q++) CHECK(wide.sums[q * k + j] == one.sums[q]);
    DestroyFused(&one);
  }
  DestroyFused(&wide);
  DestroyFused(&before);
}

static void TestFused(PoiseContext ctx)
{
  for (int t = 0; t < TYPES; t++)
    for (int s = 0; s < SHAPES; s++) {
      PoiseMat A;
      if (types[t].b > 3 && shapes[s].N > 7000) continue;
      if (!CHECK_OK(Make(ctx, &shapes[s], types[t].type, types[t].b, &A))) return;
      CheckFused(A, columns[(t + s) % COUNTS], -0.5, s % 2 ? 0 : 1.5);
      PoiseMatDestroy(&A);
    }
}

/* A product that is skipped leaves Y as it is. */
static void TestSkipped(PoiseContext ctx)
{
  enum { K = 8 };
  for (int t = 0; t < TYPES; t++) {
    PoiseMat A;
    Fused f, before;
    Buffer skip = {0};
    double *is;
    const double *there;
    if (!CHECK_OK(Make(ctx, &shapes[0], types[t].type, types[t].b, &A)) ||
        !CHECK_OK(MakeFused(A, K, NULL, 0, &f)) || !CHECK_OK(MakeFused(A, K, NULL, 0, &before)) ||
        !CHECK_OK(poiseBufferCreate(ctx->device, sizeof *is, "skip", &skip)) ||
        !CHECK_OK(poiseBufferWrite(&skip, HOST, &is)))
      return;
    *is = 1;
    CHECK_OK(poiseBufferRead(&skip, DEVICE, &there));
    CHECK_OK(Multiply(A, 1, 0, there, &f));
    for (int j = 0; j < K; j++) {
      Fused one;
      if (!CHECK_OK(MakeFused(A, 1, &before, j, &one))) return;
      CheckColumn(f.Y, j, one.Y, 0);
      DestroyFused(&one);
    }
    DestroyFused(&f);
    DestroyFused(&before);
    poiseBufferDestroy(&skip);
    PoiseMatDestroy(&A);
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct Whole {
  PoiseMat A;
  PoiseVec X, Y;
} Whole;

/* A product that leaves nothing of what it has made. */
static PoiseErr MultiplyOnce(PoiseContext ctx, void *arg)
{
  Whole *w = arg;
  PoiseErr e = PoiseMatMultBlock(w->A, w->X, w->Y), done = poiseDeviceSync(ctx->device);
  poiseProductRelease(&w->A->several);
  poiseProductRelease(&w->A->product);
  return e ? e : done;
}

static void TestMemory(PoiseContext ctx)
{
  for (int t = 0; t < 7; t += 2) {
    Whole w;
    if (!CHECK_OK(Make(ctx, &shapes[1], types[t].type, types[t].b, &w.A)) ||
        !CHECK_OK(MakeVector(ctx, w.A->cols, 3, 5, &w.X)) ||
        !CHECK_OK(MakeVector(ctx, w.A->rows, 3, 6, &w.Y)))
      return;
    TestAllocationFailures(ctx, MultiplyOnce, &w);
    PoiseVecDestroy(&w.X);
    PoiseVecDestroy(&w.Y);
    PoiseMatDestroy(&w.A);
  }
}

static const Test tests[] = {{"product", TestProduct, TEST_LONG},
                             {"bytes", TestBytes, TEST_SERIAL},
                             {"nan", TestNan, 0},
                             {"fused", TestFused, TEST_LONG},
                             {"skip", TestSkipped, 0},
                             {"memory", TestMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "several", tests);
}

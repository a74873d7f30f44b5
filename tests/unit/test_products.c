/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of every type with entries, on matrices that are awkward for some type. Each row is compared with a
  sum in long double, within a small multiple of its length times unit roundoff. The bits must be the same in
  every run, with dots, in place of y, and in a solve.

  Other suites of products:
    test_mat.c        csr with each form of arrays and layout: A x, A^T x, the diagonal, errors, shells
    test_long_rows.c  A^T x, norms and sums where rows or columns are long
    test_bcsr.c       all of these with blocks
    test_auto.c       which type is chosen, and when
    test_types.c      what every type owes, without looking at hard cases
*/
#include <float.h>

#include "mat/mat_device.h"
#include "scaled.h"

#define MAT_TYPE(name) #name,
static const char *const types[] = {
#include "mat/types.def"
};
#undef MAT_TYPE
#define MAT_TYPE(name) &poiseMatType_##name,
static const MatType *const tables[] = {
#include "mat/types.def"
};
#undef MAT_TYPE
enum { TYPES = sizeof types / sizeof *types };

/* What types can be told, beside nothing. Of types that do not know an option it changes nothing. */
static const struct {
  const char *key, *value; /* kept by those that follow */
  bool few;                /* left to single ranks */
} settings[] = {
    {"mat_csri_chunk", "0", false}, {"mat_csri_chunk", "1", true},      {"mat_csri_chunk", "64", false},
    {"mat_csri_hubs", "64", false}, {"mat_csri_chunk", "300", true},    {"mat_csri_chunk", "2000", false},
    {"mat_csri_hubs", "-1", true},  {"mat_seg_length", "1", true},      {"mat_seg_length", "8", false},
    {"mat_seg_length", "64", true}, {"mat_seg_padded", "true", false},  {"mat_seg_length", "256", true},
    {"mat_seg_length", "0", true},  {"mat_seg_padded", "false", false}, {"mat_seg_length", "0", false}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* The first says nothing. */
static bool Concerns(int setting, const char *type)
{
  size_t n = strlen(type);
  return !setting || (!strncmp(settings[setting].key + 4, type, n) && settings[setting].key[4 + n] == '_');
}

/* Some of them, and shapes that are large for the sake of one rank's blocks, are left to single ranks. */
static bool LeftOut(PoiseContext ctx, int setting, PoiseInt M)
{
  return PoiseSize(ctx) > 1 && (settings[setting].few || (M > 100000 && M < 1000000));
}

/* On several ranks a shape takes every second setting, another half on the next device. */
static bool TakesTurns(PoiseContext ctx, int shape, int setting)
{
  return PoiseSize(ctx) > 1 && setting && (shape + setting + ctx->device->ops->is_host) % 2;
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Shape {
  const char *name;
  PoiseInt M, N, each;                        /* entries of a row, */
  PoiseInt (*length)(PoiseInt i);             /* unless they differ */
  PoiseInt (*column)(PoiseInt i, PoiseInt k); /* NULL: as far apart as they can be */
} Shape;

static PoiseInt AllOnce(PoiseInt i) /* one full row, others short or empty */
{
  return i == 1000 ? 20000 : i % 3;
}
static PoiseInt AroundCuts(PoiseInt i) /* one less, as many, and one more than what row blocks hold */
{
  static const PoiseInt lengths[] = {63,  64,  65,  0,   127, 128,  129,  1,    299,  300,
                                     301, 511, 512, 513, 2,   8191, 8192, 8193, 4096, 5};
  return lengths[i % 20];
}
static PoiseInt AroundSegments(PoiseInt i) /* the same of segments of 8 entries, which are the mean */
{
  static const PoiseInt lengths[] = {8, 9, 15, 0, 7, 1, 16, 17, 4, 3};
  return lengths[i % 10];
}
/* as many as the largest block of a GPU sums, and one more, of rows around it */
static PoiseInt ManySegments(PoiseInt i)
{
  static const PoiseInt lengths[] = {64, 65, 63, 0, 2, 1024, 1023, 1025, 1, 0};
  return i % 100 < 10 ? lengths[i % 10] : 1;
}
static PoiseInt Uneven(PoiseInt i)
{
  double u = TestRandom(11, (uint64_t)i);
  return (PoiseInt)(3 / (u * u + 1e-3)) % 700;
}
static PoiseInt MostlyEmpty(PoiseInt i)
{
  return i % 100003 == 17 ? 9 : 0;
}
static PoiseInt FirstHalf(PoiseInt i) /* more row blocks of 64 than a GPU has warps */
{
  return i < 2800 ? 90 : 10;
}

static PoiseInt FiveButOne(PoiseInt i) /* even rows with a long one among them */
{
  return i == 777 ? 2000 : 5;
}

static PoiseInt Band(PoiseInt i, PoiseInt k)
{
  return i + k;
}
static PoiseInt Within16Bits(PoiseInt i, PoiseInt k) /* and in some row blocks one more than that */
{
  return k < 16 ? 4096 * k : i / 1024 % 3 == 1 ? 65536 : 65535;
}
static PoiseInt FewWithin16Bits(PoiseInt i, PoiseInt k)
{
  return k < 16 ? 4096 * k : i / 1024 % 3 == 1 ? 65535 : 65536;
}
static PoiseInt Beyond16Bits(PoiseInt i, PoiseInt k)
{
  return 4096 * k + 0 * i;
}
static PoiseInt All16Bits(PoiseInt i, PoiseInt k) /* the last column too */
{
  return (k < 16 ? 4096 * k : 65535) + 0 * i;
}
static PoiseInt FifteenBands(PoiseInt i, PoiseInt k)
{
  return (k < 15 ? 4096 * k : 15 * 4096 - 1) + 0 * i;
}
static PoiseInt BandsAndScattered(PoiseInt i, PoiseInt k)
{
  if (i < 15000) return (k < 3 ? k : 30000 + k) + 4 * i;
  return 20000 * k + (PoiseInt)(19999 * fabs(TestRandom(9, (uint64_t)(5 * i + k))));
}

static const Shape shapes[] = {
    {"no entries", 500, 300, 0, NULL, NULL},
    {"one column", 3000, 1, 1, NULL, NULL},
    {"one row", 1, 20000, 20000, NULL, NULL},
    {"a full row", 2500, 20000, 0, AllOnce, NULL},
    {"full rows", 3, 20000, 20000, NULL, NULL},
    {"dense", 511, 511, 20000, NULL, NULL}, /* a GPU's largest tile without asking */
    {"even", 3000, 3000, 7, NULL, NULL},
    {"around cuts", 60, 9000, 0, AroundCuts, NULL},
    {"around segments", 3000, 900, 0, AroundSegments, NULL},
    {"many segments", 3000, 9000, 0, ManySegments, NULL},
    {"uneven", 1500, 1000, 0, Uneven, NULL},
    {"mostly empty", 1000000, 40, 0, MostlyEmpty, NULL},
    {"first half", 5600, 800, 0, FirstHalf, NULL},
    {"many even", 280000, 2000, 7, NULL, NULL},
    {"many longer", 140000, 2000, 12, NULL, NULL},
    {"even but one", 4000, 2000, 0, FiveButOne, NULL},
    {"band", 9000, 9002, 3, NULL, Band},
    {"within 16 bits", 3100, 70000, 17, NULL, Within16Bits},
    {"few within 16 bits", 3100, 70000, 17, NULL, FewWithin16Bits},
    {"beyond 16 bits", 1100, 70000, 17, NULL, Beyond16Bits},
    {"all of 16 bits", 1100, 65536, 17, NULL, All16Bits},
    {"fifteen bands", 1100, 15 * 4096, 16, NULL, FifteenBands},
    {"bands and scattered", 20000, 100000, 5, NULL, BandsAndScattered},
    {"nothing", 0, 0, 0, NULL, NULL}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static double X(PoiseInt j)
{
  return TestRandom(2, (uint64_t)j) - 0.5;
}

static double Y(PoiseInt i)
{
  return TestRandom(3, (uint64_t)i) - 0.5;
}

typedef struct Problem { /* this rank's rows, and what their sums must be */
  PoiseInt begin, m, n;
  int64_t *ptr, *col;
  double *val;
  double *sum, *size; /* sum of a_ij x_j; of their magnitudes */
} Problem;

/* Columns: as many, as far apart as they can be, from a place that differs from row to row. */
static Problem Make(PoiseContext ctx, const Shape *s)
{
  Problem p = {0};
  int64_t nz = 0;
  PoiseInt first;
  PoiseSplit(ctx, s->M, &p.begin, &p.m);
  PoiseSplit(ctx, s->N, &first, &p.n);
  p.ptr = calloc((size_t)p.m + 1, sizeof *p.ptr);
  p.sum = calloc((size_t)p.m + 1, sizeof *p.sum);
  p.size = calloc((size_t)p.m + 1, sizeof *p.size);
  for (PoiseInt i = 0; i < p.m; i++) {
    PoiseInt length = s->length ? s->length(p.begin + i) : s->each;
    p.ptr[i + 1] = p.ptr[i] + (length < s->N ? length : s->N);
  }
  p.col = calloc((size_t)p.ptr[p.m] + 1, sizeof *p.col);
  p.val = calloc((size_t)p.ptr[p.m] + 1, sizeof *p.val);
  for (PoiseInt i = 0; i < p.m; i++) {
    PoiseInt length = p.ptr[i + 1] - p.ptr[i], shift = length ? (p.begin + i) % (s->N / length) : 0;
    long double sum = 0, size = 0;
    for (PoiseInt k = 0; k < length; k++, nz++) {
      p.col[nz] =
          k * s->N / length + (k + 1 < length ? shift % ((k + 1) * s->N / length - k * s->N / length) : 0);
      if (s->column) p.col[nz] = s->column(p.begin + i, k);
      p.val[nz] = TestRandom(4, (uint64_t)nz + 1000003 * (uint64_t)(p.begin + i)) - 0.5;
      sum += (long double)p.val[nz] * X(p.col[nz]);
      size += fabsl((long double)p.val[nz] * X(p.col[nz]));
    }
    p.sum[i] = (double)sum;
    p.size[i] = (double)size;
  }
  return p;
}

static void Release(Problem *p)
{
  free(p->ptr), free(p->col), free(p->val), free(p->sum), free(p->size);
}

static bool Create(PoiseContext ctx, const Shape *s, Problem *p, const char *type, PoiseMat *A, PoiseVec *x,
                   PoiseVec *y)
{
  PoiseCSR csr = {.ptr64 = p->ptr, .col64 = p->col, .val = p->val};
  double *v;
  PoiseInt begin, end;
  *A = NULL, *x = *y = NULL;
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, p->m, p->n, s->M, s->N, &csr, POISE_COPY, A)) ||
      !CHECK_OK(PoiseMatSetType(*A, type)) || !CHECK_OK(PoiseMatSetOptionsPrefix(*A, "p_")) ||
      !CHECK_OK(PoiseOptionsSet(ctx, "p_mat_type", type)) || !CHECK_OK(PoiseMatSetFromOptions(*A)) ||
      !CHECK_OK(PoiseMatCreateVecs(*A, x, y)) || !CHECK_OK(PoiseVecGetWrite(*x, &v)))
    return false;
  PoiseVecRange(*x, &begin, &end);
  for (PoiseInt j = begin; j < end; j++) v[j - begin] = X(j);
  return CHECK_OK(PoiseVecRestore(*x, &v));
}

static void Close(PoiseMat *A, PoiseVec *x, PoiseVec *y)
{
  PoiseVecDestroy(x);
  PoiseVecDestroy(y);
  PoiseMatDestroy(A);
}

static void Start(PoiseVec y, const Problem *p)
{
  double *v;
  if (!CHECK_OK(PoiseVecGetWrite(y, &v))) return;
  for (PoiseInt i = 0; i < p->m; i++) v[i] = Y(p->begin + i);
  CHECK_OK(PoiseVecRestore(y, &v));
}

/* y = a A x + b y0: the largest error in units of (length + 3) roundoffs of the magnitudes. */
static double Error(PoiseVec y, const Problem *p, double a, double b)
{
  const double *v;
  double worst = 0;
  if (!CHECK_OK(PoiseVecGetRead(y, &v))) return INFINITY;
  for (PoiseInt i = 0; i < p->m; i++) {
    double y0 = b == 0 ? 0 : b * Y(p->begin + i), size = fabs(a) * p->size[i] + fabs(y0);
    double error = fabs(v[i] - (a * p->sum[i] + y0)),
           unit = (double)(p->ptr[i + 1] - p->ptr[i] + 3) * DBL_EPSILON / 2 * size;
    if (!(error <= worst * unit))
      worst = unit > 0 ? error / unit : error > 0 || isnan(error) ? INFINITY : worst;
  }
  CHECK_OK(PoiseVecRestore(y, &v));
  return worst;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* repeats: with the same bits. */
static void CheckProducts(PoiseMat A, PoiseVec x, PoiseVec y, const Problem *p, bool repeats)
{
  size_t bytes = (size_t)p->m * sizeof(double);
  double *bits = malloc(bytes + 1), dot, dots[2] = {0, 0};
  const double *v;
  CHECK_OK(PoiseVecSet(y, NAN)); /* is not looked at */
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK(Error(y, p, 1, 0) <= 1);
  if (CHECK_OK(PoiseVecGetRead(y, &v)) && p->m) memcpy(bits, v, bytes);
  CHECK_OK(PoiseVecRestore(y, &v));
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseVecSet(y, k));
    CHECK_OK(PoiseMatMult(A, x, y));
    if (CHECK_OK(PoiseVecGetRead(y, &v))) CHECK(!p->m || !repeats || !memcmp(bits, v, bytes));
    CHECK_OK(PoiseVecRestore(y, &v));
  }
  Start(y, p);
  CHECK_OK(PoiseMatMultAdd(A, -2, x, 0.25, y));
  CHECK(Error(y, p, -2, 0.25) <= 1);
  CHECK_OK(PoiseMatMultDot(A, x, y, y, &dot));
  CHECK(Error(y, p, 1, 0) <= 1);
  for (PoiseInt i = 0; i < p->m; i++) dots[0] += p->sum[i] * p->sum[i], dots[1] += p->size[i] * p->size[i];
  CHECK_OK(PoiseSum(PoiseMatContext(A), 2, dots));
  CHECK_NEAR(dot, dots[0], 1e-12 * dots[1]);
  ScaledCheck(A, x, y, repeats);
  free(bits);
}

/* Of A of that type and the options at hand. */
static void CheckShape(PoiseContext ctx, const Shape *s, Problem *p, const char *type, bool atomic)
{
  PoiseMat A;
  PoiseVec x, y;
  if (Create(ctx, s, p, type, &A, &x, &y)) {
    CheckProducts(A, x, y, p, !atomic);
    if (atomic) {
      CHECK_OK(PoiseOptionsSet(ctx, "p_mat_combine", "ordered")); /* and back */
      CHECK_OK(PoiseMatSetFromOptions(A));
      CheckProducts(A, x, y, p, true);
      CHECK_OK(PoiseOptionsSet(ctx, "p_mat_combine", "atomic"));
    }
  }
  Close(&A, &x, &y);
}

static bool TakesSettings(const Shape *s)
{
  return s->M <= 100000 && s->N <= 65536;
}

static void TestAwkward(PoiseContext ctx)
{
  for (int s = 0; s < SHAPES; s++) {
    Problem p = Make(ctx, &shapes[s]);
    for (int t = 0; t < TYPES; t++)
      for (int set = 0; set < SETTINGS; set++) {
        char key[64];
        if (!poiseTypeHolds(tables[t]) || !Concerns(set, types[t])) continue;
        if ((set && !TakesSettings(&shapes[s])) || LeftOut(ctx, set, shapes[s].M)) continue;
        snprintf(key, sizeof key, "p_%s", settings[set].key);
        CHECK_OK(PoiseOptionsSet(ctx, key, settings[set].value));
        if (!TakesTurns(ctx, s, set)) CheckShape(ctx, &shapes[s], &p, types[t], false);
      }
    Release(&p);
  }
}

/* Row blocks and fragments of the sizes that a small GPU would have them: row blocks longer than the rows
   that are cut, fragments of whole lines. Without hubs and with. */
static void TestWaves(PoiseContext ctx)
{
  DeviceModel *model = &ctx->device->model, own = *model;
  model->multiprocessors = 2;
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_chunk", "0"));
  for (int s = 0; s < SHAPES; s++) {
    Problem p = Make(ctx, &shapes[s]);
    for (int hubs = 0; hubs < 2 && !LeftOut(ctx, 0, shapes[s].M); hubs++) {
      CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_hubs", hubs ? "64" : "-1"));
      CheckShape(ctx, &shapes[s], &p, "csri", false);
    }
    Release(&p);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_hubs", "-1"));
  *model = own;
}

/* Row blocks that share rows, which they add to atomically. */
static void TestAtomic(PoiseContext ctx)
{
  static const char *const chunks[] = {"0", "1", "64", "300", "2000"};
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_combine", "atomic"));
  for (int s = 0; s < SHAPES; s++) {
    Problem p = Make(ctx, &shapes[s]);
    for (int c = 0; c < 5; c++) {
      if ((c && !TakesSettings(&shapes[s])) || LeftOut(ctx, c, shapes[s].M)) continue;
      if (TakesTurns(ctx, s, c / 2)) continue;
      CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_chunk", chunks[c]));
      CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_hubs", c % 2 ? "64" : "-1"));
      CheckShape(ctx, &shapes[s], &p, "csri", true);
    }
    Release(&p);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_combine", "ordered"));
}

/* An array on the device that begins one item behind what was allocated; NULL on failure. */
static const void *Lend(PoiseContext ctx, int64_t n, size_t size, const void *from, Buffer *b)
{
  char *to;
  const char *there = NULL;
  if (!CHECK_OK(poiseBufferCreate(ctx->device, (size_t)(n + 1) * size, "array of the test", b))) return NULL;
  if (!CHECK_OK(poiseBufferWrite(b, HOST, &to))) return NULL;
  memcpy(to + size, from, (size_t)n * size);
  return CHECK_OK(poiseBufferRead(b, DEVICE, &there)) ? there + size : NULL;
}

/* y has the bits of before, which it then keeps. */
static void CheckBits(PoiseVec y, double *before, bool compare)
{
  size_t bytes = (size_t)PoiseVecLocalSize(y) * sizeof(double);
  const double *v;
  if (!CHECK_OK(PoiseVecGetRead(y, &v))) return;
  if (compare) CHECK(!bytes || !memcmp(before, v, bytes));
  if (bytes) memcpy(before, v, bytes);
  CHECK_OK(PoiseVecRestore(y, &v));
}

/* A user's arrays may begin anywhere. */
static void TestLentArrays(PoiseContext ctx)
{
  const Shape *shape = NULL;
  for (int s = 0; s < SHAPES; s++)
    if (!strcmp(shapes[s].name, "even")) shape = &shapes[s];
  if (!shape) return;
  Problem p = Make(ctx, shape);
  int64_t nz = p.ptr[p.m];
  int32_t *ptr = malloc((size_t)(p.m + 1) * sizeof *ptr), *col = malloc((size_t)nz * sizeof *col);
  for (PoiseInt i = 0; i <= p.m; i++) ptr[i] = (int32_t)p.ptr[i];
  for (int64_t k = 0; k < nz; k++) col[k] = (int32_t)p.col[k];
  for (int t = 0; t < TYPES; t++) {
    Buffer arrays[3] = {0};
    PoiseMat A;
    PoiseVec x = NULL, y = NULL;
    double *v;
    if (!poiseTypeHolds(tables[t])) continue;
    PoiseCSR csr = {.ptr32 = Lend(ctx, p.m + 1, sizeof *ptr, ptr, &arrays[0]),
                    .col32 = Lend(ctx, nz, sizeof *col, col, &arrays[1]),
                    .val = Lend(ctx, nz, sizeof *p.val, p.val, &arrays[2])};
    if (CHECK_OK(PoiseMatCreateDeviceCSR(ctx, p.m, p.n, shape->M, shape->N, &csr, POISE_BORROW, &A)) &&
        CHECK_OK(PoiseMatSetType(A, types[t])) && CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) &&
        CHECK_OK(PoiseVecGetWrite(x, &v))) {
      for (PoiseInt j = 0; j < p.n; j++) v[j] = X(j);
      CHECK_OK(PoiseVecRestore(x, &v));
      CHECK_OK(PoiseMatMult(A, x, y));
      CHECK(Error(y, &p, 1, 0) <= 1);
      double *bits = calloc((size_t)p.m, sizeof *bits);
      CheckBits(y, bits, false);
      CHECK_OK(PoiseMatSetOptionsPrefix(A, "lent_"));
      CHECK_OK(PoiseOptionsSet(ctx, "lent_mat_index16", "yes"));
      CHECK_OK(PoiseMatSetFromOptions(A));
      CHECK_OK(PoiseMatMult(A, x, y));
      CheckBits(y, bits, true);
      free(bits);
    }
    Close(&A, &x, &y);
    for (int k = 0; k < 3; k++) poiseBufferDestroy(&arrays[k]);
  }
  free(ptr), free(col);
  Release(&p);
}

static int64_t Held(PoiseMat A)
{
  PoiseBytes b = {0};
  CHECK_OK(PoiseMatBytes(A, &b, NULL));
  return PoiseMatContext(A)->device->ops->is_host ? b.host : b.device;
}

/* A product with the options at hand. */
static PoiseErr Multiply(PoiseContext ctx, void *arg)
{
  const Shape *s = arg;
  Problem p = Make(ctx, s);
  PoiseCSR csr = {.ptr64 = p.ptr, .col64 = p.col, .val = p.val};
  PoiseMat A;
  PoiseVec x = NULL, y = NULL;
  PoiseErr e = PoiseMatCreateCSR(ctx, p.m, p.n, s->M, s->N, &csr, POISE_COPY, &A);
  if (!e) e = PoiseMatSetOptionsPrefix(A, "p_");
  if (!e) e = PoiseMatSetFromOptions(A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseMatMult(A, x, y);
  Close(&A, &x, &y);
  Release(&p);
  return e;
}

/* Segments that are filled up are copies: they are counted, and follow the values. Their lengths are powers
   of two. */
static void TestSegments(PoiseContext ctx)
{
  Shape shape = {"around segments", 1200, 300, 0, AroundSegments, NULL};
  Problem p = Make(ctx, &shape);
  PoiseMat A;
  PoiseVec x, y;
  int64_t filled = 0, plain;
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_type", "seg"));
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_length", "8"));
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_padded", "false"));
  if (Create(ctx, &shape, &p, "seg", &A, &x, &y)) {
    for (PoiseInt i = 0; i < p.m; i++) filled += (p.ptr[i + 1] - p.ptr[i] + 7) / 8 * 8;
    CHECK_OK(PoiseMatMult(A, x, y));
    plain = Held(A);
    CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_padded", "true"));
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK_OK(PoiseMatMult(A, x, y));
    int64_t order = PoiseSize(ctx) > 1 ? 4 * poiseMatPartials(A) : 0; /* which these do without */
    CHECK_INT(Held(A) - plain, 12 * filled + (p.m + 1) * (filled > ctx->hooks.most_narrow ? 8 : 4) - order);
    for (int k = 0; k < 2; k++) {
      CHECK_OK(PoiseMatScale(A, -3));
      CHECK_OK(PoiseMatMult(A, x, y));
      CHECK(Error(y, &p, k ? 9 : -3, 0) <= 1);
    }
    CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_length", "12"));
    CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION, "-p_mat_seg_length 12 ");
    CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_length", "512"));
    CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION, "512");
    CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_padded", "false"));
    CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_length", "8"));
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK_OK(PoiseMatMult(A, x, y));
    CHECK(Error(y, &p, 9, 0) <= 1);
    CHECK_INT(Held(A), plain);
  }
  Close(&A, &x, &y);
  Release(&p);
  shape.M = shape.N = 60;
  for (int k = 0; k < 2; k++) {
    CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_padded", k ? "true" : "false"));
    TestAllocationFailures(ctx, Multiply, &shape);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_padded", "false"));
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_seg_length", "0"));
}

/* An arrow: dense first row and column, dominant. */
static PoiseErr MakeArrow(PoiseContext ctx, PoiseInt n, PoiseMat *A)
{
  PoiseInt begin, m;
  PoiseSplit(ctx, n, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m, m, n, n, A));
  for (PoiseInt i = begin; i < begin + m; i++) { /* Assemble speaks of a failure */
    const PoiseInt cols[] = {i, i ? 0 : -1, i > 1 ? i - 1 : -1, i && i + 1 < n ? i + 1 : -1};
    const double even = -0.5 - 0.25 * (double)(i % 2);
    (void)PoiseMatAddBlock(*A, 1, &i, 4, cols, (double[]){i ? 4 : (double)n, even, -0.75, -0.75});
    if (i) (void)PoiseMatAddBlock(*A, 1, &(PoiseInt){0}, 1, &i, &even);
  }
  return PoiseMatAssemble(*A);
}

static void CheckSolve(PoiseKSP ksp, PoiseMat A, PoiseVec b, PoiseVec x, double norm)
{
  double residual;
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK_OK(PoiseVecSet(x, 0));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK(PoiseKSPConvergedReason(ksp) > 0);
  CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &residual));
  CHECK(residual <= 1e-7 * norm);
}

/* Solvers fuse dots into products and replay them; another product in between is seen. */
static void TestSolves(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "prcg", "bicgstab", "gmres"};
  PoiseMat A;
  PoiseVec x, b;
  double norm;
  CHECK_OK(PoiseOptionsSet(ctx, "s_mat_type", "csr"));
  if (!CHECK_OK(MakeArrow(ctx, 3000, &A)) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "s_")) ||
      !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)))
    return;
  CHECK_OK(PoiseVecSetRandom(b, 7));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm));
  for (int k = 0; k < 4; k++) {
    PoiseKSP ksp;
    if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
    CHECK_OK(PoiseKSPSetType(ksp, methods[k]));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-9, 1e-50, 1e5, 500));
    for (int t = 0; t < TYPES; t++) {
      if (!poiseTypeHolds(tables[t])) continue;
      CHECK_OK(PoiseMatSetType(A, "csr")); /* bcsr does not become auto */
      CHECK_OK(PoiseOptionsSet(ctx, "s_mat_type", types[t]));
      for (int set = 0; set < SETTINGS; set++) {
        char key[64];
        if (LeftOut(ctx, set, 0) || !Concerns(set, types[t])) continue;
        snprintf(key, sizeof key, "s_%s", settings[set].key);
        CHECK_OK(PoiseOptionsSet(ctx, key, settings[set].value));
        CheckSolve(ksp, A, b, x, norm);
        CHECK(!strcmp(PoiseMatType(A), types[t]));
      }
    }
    SetOptions(ctx, "-s_mat_type csri -s_mat_combine atomic"); /* composes products */
    CheckSolve(ksp, A, b, x, norm);
    SetOptions(ctx, "-s_mat_combine ordered");
    PoiseKSPDestroy(&ksp);
  }
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&A);
}

/* ---- columns of 16 bits ---------------------------------------------------------------------- */

static PoiseErr UseIndex16(PoiseMat A, bool on)
{
  POISE_TRY(PoiseMatSetOptionsPrefix(A, "i_"));
  POISE_TRY(PoiseOptionsSet(PoiseMatContext(A), "i_mat_index16", on ? "yes" : "no"));
  return PoiseMatSetFromOptions(A);
}

static int Ascending(const void *a, const void *b)
{
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  return (i > j) - (i < j);
}

/* On one rank: nonzeros in blocks of so many rows whose columns 16 row blocks of 4096 cover. */
static int64_t Fitting(const Problem *p, int rows)
{
  int64_t fits = 0, *col = malloc((size_t)(p->ptr[p->m] + 1) * sizeof *col);
  for (PoiseInt i = 0; i < p->m; i += rows) {
    int64_t begin = p->ptr[i], n = p->ptr[i + rows < p->m ? i + rows : p->m] - begin, bases = 0, from = 0;
    if (n) memcpy(col, p->col + begin, (size_t)n * sizeof *col);
    qsort(col, (size_t)n, sizeof *col, Ascending);
    for (int64_t k = 0; k < n; k++)
      if (col[k] >= from) bases++, from = col[k] + 4096;
    if (bases <= 16) fits += n;
  }
  free(col);
  return fits;
}

/* The number behind these words in the view of A; -1: none. On rank 0. */
static double Viewed(PoiseMat A, const char *words, char *text, size_t size)
{
  PoiseContext ctx = PoiseMatContext(A);
  TEST_PRINTED(ctx, text, size, PoiseMatView(A));
  const char *at = strstr(text, words);
  return at ? strtod(at + strlen(words), NULL) : -1;
}

static const char columns_of_16[] = "columns of 16 bits beside the CSR: "; /* in per cent */

/* What A holds beyond plain CSR is viewed, before values have been to the device too. */
static void TestBeyond(PoiseContext ctx)
{
  Problem p = Make(ctx, &shapes[3]);
  PoiseMat A;
  PoiseVec x, y;
  int64_t plain;
  PoiseBytes held;
  char text[4096], line[80], amount[24];
  static const char words[] = "what the type adds: ";
  if (Create(ctx, &shapes[3], &p, "csri", &A, &x, &y)) {
    CHECK(Viewed(A, words, text, sizeof text) > 0);
    CHECK_OK(PoiseMatMult(A, x, y));
    CHECK_OK(PoiseMatBytes(A, &held, &plain));
    CHECK(Viewed(A, words, text, sizeof text) > 0);
    snprintf(line, sizeof line, "%s%s\n", words, poiseBytesText((double)(Held(A) - plain), amount));
    CHECK(strstr(text, line) != NULL);
  }
  Close(&A, &x, &y);
  Release(&p);
}

/* What they take on the device, and what is said of them. */
static void CheckKept(PoiseMat A, const Shape *shape, const Problem *p, const PoiseBytes *before)
{
  char text[4096];
  PoiseBytes held;
  double said = Viewed(A, columns_of_16, text, sizeof text);
  int64_t nz = p->ptr[p->m], fits = Fitting(p, A->blocks.rows),
          blocks = (p->m + A->blocks.rows - 1) / A->blocks.rows;
  bool is_host = PoiseMatContext(A)->device->ops->is_host, kept = fits > 0 && 2 * fits >= nz && !is_host;
  if (!strcmp(shape->name, "band") && !is_host && PoiseSize(PoiseMatContext(A)) == 2 &&
      !PoiseRank(PoiseMatContext(A)))
    CHECK(said > 50 && said < 100 &&
          strstr(text, "none of them another rank's")); /* but for blocks with ghosts */
  CHECK(!is_host || PoiseRank(PoiseMatContext(A)) || strstr(text, "columns of 16 bits: not on the host"));
  if (PoiseSize(PoiseMatContext(A)) > 1) return;
  CHECK_NEAR(said, is_host ? -1 : kept ? 100.0 * (double)fits / (double)nz : 0, 0.01);
  CHECK_OK(PoiseMatBytes(A, &held, NULL));
  CHECK_INT(held.device - before->device, kept ? 2 * nz + 64 * blocks : 0);
}

/* Whatever fits and whatever does not: y is the same, bit for bit. */
static void TestIndex16(PoiseContext ctx)
{
  for (int s = 0; s < SHAPES; s++) {
    PoiseMat A;
    PoiseVec x, y;
    PoiseBytes before, held;
    if (LeftOut(ctx, 0, shapes[s].M)) continue;
    Problem p = Make(ctx, &shapes[s]);
    double *bits[3], dot[2];
    for (int k = 0; k < 3; k++) bits[k] = calloc((size_t)p.m + 1, sizeof **bits);
    if (Create(ctx, &shapes[s], &p, "csr", &A, &x, &y)) {
      for (int on = 0; on < 2; on++) {
        CHECK_OK(PoiseMatBytes(A, &before, NULL));
        CHECK_OK(UseIndex16(A, on));
        CHECK_OK(PoiseVecSet(y, NAN));
        CHECK_OK(PoiseMatMult(A, x, y));
        CheckBits(y, bits[0], on);
        Start(y, &p);
        CHECK_OK(PoiseMatMultAdd(A, -2, x, 0.25, y));
        CheckBits(y, bits[1], on);
        CHECK_OK(PoiseMatMultDot(A, x, y, y, &dot[on]));
        CheckBits(y, bits[2], on);
      }
      CHECK(dot[0] == dot[1]);
      CheckProducts(A, x, y, &p, true);
      CheckKept(A, &shapes[s], &p, &before);
      CHECK_OK(PoiseOptionsSet(ctx, "i_mat_index16", "auto")); /* these are too few: they go */
      CHECK_OK(PoiseMatSetFromOptions(A));
      CHECK_OK(PoiseMatBytes(A, &held, NULL));
      CHECK_INT(held.device, before.device);
    }
    for (int k = 0; k < 3; k++) free(bits[k]);
    Close(&A, &x, &y);
    Release(&p);
  }
}

/* New values, a new pattern, a copy, the option changed between solves. */
static void TestIndex16Changes(PoiseContext ctx)
{
  enum { N = 3000 };
  PoiseMat A[2], C;
  PoiseVec x, y, b;
  PoiseKSP ksp;
  double *bits = calloc(N + 1, sizeof *bits);
  char text[4096];
  PoiseInt far[] = {5, N - 3}, begin, end;
  for (int on = 0; on < 2; on++)
    if (!CHECK_OK(MakeArrow(ctx, N, &A[on])) || !CHECK_OK(PoiseMatSetType(A[on], "csr")) ||
        !CHECK_OK(UseIndex16(A[on], on)))
      return;
  if (!CHECK_OK(PoiseMatCreateVecs(A[0], &x, &y)) || !CHECK_OK(PoiseVecDuplicate(y, &b)) ||
      !CHECK_OK(PoiseKSPCreate(ctx, &ksp)))
    return;
  CHECK_OK(PoiseVecSetRandom(b, 7));
  for (int change = 0; change < 3; change++) {
    for (int on = 0; on < 2; on++) {
      int64_t launches = ctx->device->launches;
      if (change == 1) CHECK_OK(PoiseMatScale(A[on], 1.25));
      launches = ctx->device->launches - launches;
      if (change == 2) {
        PoiseVecRange(y, &begin, &end);
        for (int k = 0; k < 2; k++) /* one rank adds to its rows, by chance to its own columns */
          if (far[k] >= begin && far[k] < end)
            CHECK_OK(PoiseMatAddBlock(A[on], 1, &far[k], 2, far, (double[]){0.5, 0.25}));
        CHECK_OK(PoiseMatAssemble(A[on]));
      }
      int64_t more = ctx->device->launches;
      CHECK_OK(PoiseMatMult(A[on], b, y));
      /* the columns are as they were */
      if (change == 1 && PoiseSize(ctx) == 1) CHECK_INT(ctx->device->launches - more, 1);
      CheckBits(y, bits, on);
    }
    double said = Viewed(A[1], columns_of_16, text, sizeof text);
    if (PoiseRank(ctx) || ctx->device->ops->is_host)
      CHECK(said == -1);
    else
      CHECK(PoiseSize(ctx) > 1 ? said >= 0 : said > 99);
  }
  if (CHECK_OK(PoiseMatDuplicate(A[1], 1, &C))) {
    CHECK_OK(PoiseMatMult(C, b, y));
    CheckBits(y, bits, true);
    double original = Viewed(A[1], columns_of_16, text, sizeof text);
    CHECK(Viewed(C, columns_of_16, text, sizeof text) == original);
    PoiseMatDestroy(&C);
  }
  CHECK_OK(PoiseKSPSetType(ksp, "cg"));
  CHECK_OK(PoiseKSPSetOperators(ksp, A[0], NULL));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-9, 1e-50, 1e5, 500));
  for (int k = 0; k < 4; k++) { /* on, off, on, off: a captured loop must not look at what is gone */
    CHECK_OK(UseIndex16(A[0], k % 2 == 0));
    CHECK_OK(PoiseVecSet(x, 0));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK(PoiseKSPConvergedReason(ksp) > 0);
    CheckBits(x, bits, k > 0);
  }
  free(bits);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A[0]);
  PoiseMatDestroy(&A[1]);
}

static void TestIndex16Memory(PoiseContext ctx)
{
  const char *const *libraries = poiseCsrLibraries(ctx->device);
  char text[4096];
  PoiseMat A;
  Shape even = {"even", 300, 300, 7, NULL, NULL};
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_type", "csr"));
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_index16", "yes"));
  TestAllocationFailures(ctx, Multiply, &even);
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_index16", "auto"));
  if (!libraries || !libraries[0] || !CHECK_OK(MakeArrow(ctx, 300, &A))) return;
  PoiseBytes with, without;
  CHECK_OK(PoiseMatSetCSRKernel(A, libraries[0])); /* which has no use for them */
  CHECK_OK(UseIndex16(A, true));
  CHECK_INT(Viewed(A, columns_of_16, text, sizeof text), -1);
  CHECK(PoiseRank(ctx) || strstr(text, "columns of 16 bits: not for a library"));
  CHECK_OK(PoiseMatBytes(A, &with, NULL));
  CHECK_OK(UseIndex16(A, false));
  CHECK_OK(PoiseMatBytes(A, &without, NULL));
  CHECK_INT(with.device, without.device);
  PoiseMatDestroy(&A);
}

/* ---- hubs: columns whose x is kept at hand --------------------------------------------------- */

/* Rows of one entry, 1: the first `often` in column 0, the others each in its own. */
static PoiseErr MakeOften(PoiseContext ctx, PoiseInt M, PoiseInt N, PoiseInt often, PoiseMat *A)
{
  int64_t *ptr = malloc((size_t)(M + 1) * sizeof *ptr), *col = malloc((size_t)M * sizeof *col);
  double *val = malloc((size_t)M * sizeof *val);
  PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  for (PoiseInt i = 0; i <= M; i++) ptr[i] = i;
  for (PoiseInt i = 0; i < M; i++) col[i] = i < often ? 0 : i, val[i] = 1;
  PoiseErr e = PoiseMatCreateCSR(ctx, M, N, M, N, &csr, POISE_COPY, A);
  free(ptr), free(col), free(val);
  return e;
}

/* With so many hubs asked for there are `slots` hubs, if not 0. They have all entries of column 0, and one
   of each other slot. */
static void CheckHubs(PoiseMat A, const char *asked, int64_t often, int64_t slots, int64_t plain)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseVec x, y;
  PoiseMat B;
  const double *u = NULL, *v = NULL;
  int64_t wrong = 0;
  char text[4096];
  PoiseBytes held;
  PoisePrediction p;
  int64_t M = A->csr.m, there = strcmp(ctx->device->ops->name, "mock") ? 0 : slots;
  double share = there ? 100 * (double)(often + there - 1) / (double)M : -1;
  static const char words[] = "x of columns with ";
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_hubs", asked));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK_NEAR(Viewed(A, words, text, sizeof text), share, 0.051);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseVecSetRandom(x, 3))) return;
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseMatBytes(A, &held, NULL));
  CHECK_INT(Held(A) - plain, there * 4);
  CHECK_OK(PoiseMatPredictBytes(A, NULL, &p));
  CHECK(p.least.device <= held.device && held.device <= p.most.device && held.host <= p.most.host);
  if (CHECK_OK(PoiseMatDuplicate(A, 1, &B))) {
    CHECK_NEAR(Viewed(B, words, text, sizeof text), share, 0.051);
    PoiseMatDestroy(&B);
  }
  if (CHECK_OK(PoiseVecGetRead(x, &u)) && CHECK_OK(PoiseVecGetRead(y, &v)))
    for (PoiseInt i = 0; i < M; i++) wrong += v[i] != u[i < often ? 0 : i];
  CHECK_INT(wrong, 0);
  CHECK_OK(PoiseVecRestore(x, &u));
  CHECK_OK(PoiseVecRestore(y, &v));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

static PoiseInt Often(PoiseInt i, PoiseInt k)
{
  return i < 9 ? 0 : i + k;
}

/* By itself the mock device has 16 of them, if they have an eighth of the entries or more and x is large. */
static void TestHubs(PoiseContext ctx)
{
  enum { M = 8000, LARGE = 32768, EIGHTH = M / 8 - 15 };
  static const struct {
    PoiseInt N, often;
    int finds;
  } cases[] = {{LARGE + 1, EIGHTH, 16}, {LARGE + 1, EIGHTH - 1, 0}, {LARGE, M / 2, 0}};
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_type", "csri"));
  for (int k = 0; k < 3; k++) {
    PoiseMat A;
    CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_hubs", "0"));
    if (!CHECK_OK(MakeOften(ctx, M, cases[k].N, cases[k].often, &A)) ||
        !CHECK_OK(PoiseMatSetOptionsPrefix(A, "p_")) || !CHECK_OK(PoiseMatSetFromOptions(A)))
      return;
    PoiseVec x, y;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
    CHECK_OK(PoiseMatMult(A, x, y));
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    int64_t plain = Held(A);
    CheckHubs(A, "-1", cases[k].often, cases[k].finds, plain);
    CheckHubs(A, "17", cases[k].often, 16, plain); /* not a power of 2 */
    CheckHubs(A, "0", cases[k].often, 0, plain);
    CheckHubs(A, "2", cases[k].often, 2, plain);
    CheckHubs(A, "1", cases[k].often, 0, plain);
    PoiseMatDestroy(&A);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_hubs", "16"));
  Shape often = {"often", 90, 100, 1, NULL, Often};
  TestAllocationFailures(ctx, Multiply, &often);
}

static const Test tests[] = {{"index16", TestIndex16, 0},
                             {"index16_changes", TestIndex16Changes, 0},
                             {"index16_memory", TestIndex16Memory, 0},
                             {"solves", TestSolves, 0},
                             {"lent_arrays", TestLentArrays, TEST_SERIAL},
                             {"segments", TestSegments, 0},
                             {"beyond", TestBeyond, TEST_SERIAL},
                             {"hubs", TestHubs, TEST_SERIAL},
                             {"awkward", TestAwkward, 0},
                             {"waves", TestWaves, 0},
                             {"atomic", TestAtomic, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "products", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of every type with entries, on matrices that are awkward for one or the other: each row against a sum in long double, within a
  small multiple of its length times unit roundoff; the same bits in every run; with the dots, in place of y, and in a solve.
*/
#include <float.h>

#include "harness.h"
#include "mat/mat.h"

#define MAT_TYPE(name) #name,
static const char *const types[] = {
#include "mat/types.def"
};
#undef MAT_TYPE
enum { TYPES = sizeof types / sizeof *types };

/* What types can be told, beside nothing. Of types that do not know an option it changes nothing. */
static const struct {
  const char *key, *value;
} settings[] = {{"mat_csri_chunk", "0"},   {"mat_csri_chunk", "1"},    {"mat_csri_chunk", "64"},
                {"mat_csri_chunk", "300"}, {"mat_auto_measure", "no"}, {"mat_auto_measure", "yes"}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Every other one of them, and shapes that are large for the sake of one rank's blocks, are left to single ranks. */
static bool LeftOut(PoiseContext ctx, int setting, PoiseInt M)
{
  return PoiseSize(ctx) > 1 && (setting % 2 || (M > 100000 && M < 1000000));
}

/* ---- matrices -------------------------------------------------------------------------------------------------------- */

typedef struct Shape {
  const char *name;
  PoiseInt M, N;
  PoiseInt (*length)(PoiseInt i);
} Shape;

static PoiseInt None(PoiseInt i)
{
  return 0 * i;
}
static PoiseInt One(PoiseInt i)
{
  return 1 + 0 * i;
}
static PoiseInt Seven(PoiseInt i)
{
  return 7 + 0 * i;
}
static PoiseInt AllOnce(PoiseInt i) /* one full row, others short or empty */
{
  return i == 1000 ? 20000 : i % 3;
}
static PoiseInt All(PoiseInt i)
{
  return 20000 + 0 * i;
}
static PoiseInt AroundCuts(PoiseInt i) /* one less, as many, and one more than what windows hold */
{
  static const PoiseInt lengths[] = {63,  64,  65,  0,   127, 128,  129,  1,    299,  300,
                                     301, 511, 512, 513, 2,   8191, 8192, 8193, 4096, 5};
  return lengths[i % 20];
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
static PoiseInt FirstHalf(PoiseInt i)
{
  return i < 400 ? 90 : 10;
}

static PoiseInt Twelve(PoiseInt i)
{
  return 12 + 0 * i;
}
static PoiseInt FiveButOne(PoiseInt i) /* even rows with a long one among them */
{
  return i == 777 ? 2000 : 5;
}

static const Shape shapes[] = {{"no entries", 500, 300, None},
                               {"one column", 3000, 1, One},
                               {"one row", 1, 20000, All},
                               {"a full row", 2500, 20000, AllOnce},
                               {"full rows", 3, 20000, All},
                               {"even", 3000, 3000, Seven},
                               {"around cuts", 60, 9000, AroundCuts},
                               {"uneven", 1500, 1000, Uneven},
                               {"mostly empty", 1000000, 40, MostlyEmpty},
                               {"first half", 800, 800, FirstHalf},
                               {"many even", 280000, 2000, Seven},
                               {"many longer", 140000, 2000, Twelve},
                               {"even but one", 4000, 2000, FiveButOne},
                               {"nothing", 0, 0, None}};
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
    PoiseInt length = s->length(p.begin + i);
    p.ptr[i + 1] = p.ptr[i] + (length < s->N ? length : s->N);
  }
  p.col = calloc((size_t)p.ptr[p.m] + 1, sizeof *p.col);
  p.val = calloc((size_t)p.ptr[p.m] + 1, sizeof *p.val);
  for (PoiseInt i = 0; i < p.m; i++) {
    PoiseInt length = p.ptr[i + 1] - p.ptr[i], shift = length ? (p.begin + i) % (s->N / length) : 0;
    long double sum = 0, size = 0;
    for (PoiseInt k = 0; k < length; k++, nz++) {
      p.col[nz] = k * s->N / length + (k + 1 < length ? shift % ((k + 1) * s->N / length - k * s->N / length) : 0);
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

static bool Create(PoiseContext ctx, const Shape *s, Problem *p, const char *type, PoiseMat *A, PoiseVec *x, PoiseVec *y)
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
    if (!(error <= worst * unit)) worst = unit > 0 ? error / unit : error > 0 || isnan(error) ? INFINITY : worst;
  }
  CHECK_OK(PoiseVecRestore(y, &v));
  return worst;
}

/* ---- tests ----------------------------------------------------------------------------------------------------------- */

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
  free(bits);
}

static void TestAwkward(PoiseContext ctx)
{
  for (int s = 0; s < SHAPES; s++) {
    Problem p = Make(ctx, &shapes[s]);
    for (int t = 0; t < TYPES; t++)
      for (int set = 0; set < SETTINGS; set++) {
        PoiseMat A;
        PoiseVec x, y;
        char key[64];
        if (!strcmp(types[t], "shell") || (set && strncmp(settings[set].key + 4, types[t], strlen(types[t])))) continue;
        if ((set && shapes[s].M > 100000) || LeftOut(ctx, set, shapes[s].M)) continue;
        snprintf(key, sizeof key, "p_%s", settings[set].key);
        CHECK_OK(PoiseOptionsSet(ctx, key, settings[set].value));
        if (Create(ctx, &shapes[s], &p, types[t], &A, &x, &y)) CheckProducts(A, x, y, &p, true);
        PoiseVecDestroy(&x);
        PoiseVecDestroy(&y);
        PoiseMatDestroy(&A);
      }
    Release(&p);
  }
}

/* Windows that share rows, which they add to atomically. */
static void TestAtomic(PoiseContext ctx)
{
  static const char *const chunks[] = {"0", "1", "64", "300"};
  CHECK_OK(PoiseOptionsSet(ctx, "p_mat_combine", "atomic"));
  for (int s = 0; s < SHAPES; s++) {
    Problem p = Make(ctx, &shapes[s]);
    for (int c = 0; c < 4; c++) {
      PoiseMat A;
      PoiseVec x, y;
      if ((c && shapes[s].M > 100000) || LeftOut(ctx, c, shapes[s].M)) continue;
      CHECK_OK(PoiseOptionsSet(ctx, "p_mat_csri_chunk", chunks[c]));
      if (Create(ctx, &shapes[s], &p, "csri", &A, &x, &y)) {
        CheckProducts(A, x, y, &p, false);
        CHECK_OK(PoiseOptionsSet(ctx, "p_mat_combine", "ordered")); /* and back */
        CHECK_OK(PoiseMatSetFromOptions(A));
        CheckProducts(A, x, y, &p, true);
        CHECK_OK(PoiseOptionsSet(ctx, "p_mat_combine", "atomic"));
      }
      PoiseVecDestroy(&x);
      PoiseVecDestroy(&y);
      PoiseMatDestroy(&A);
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
    if (!strcmp(types[t], "shell")) continue;
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
    }
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
    for (int k = 0; k < 3; k++) poiseBufferDestroy(&arrays[k]);
  }
  free(ptr), free(col);
  Release(&p);
}

/* Copies take over what the type was told. */
static void TestCopies(PoiseContext ctx)
{
  for (int set = 0; set < SETTINGS; set++) {
    Problem p = Make(ctx, &shapes[3]);
    PoiseMat A, B;
    PoiseVec x, y;
    char key[64];
    snprintf(key, sizeof key, "p_%s", settings[set].key);
    CHECK_OK(PoiseOptionsSet(ctx, key, settings[set].value));
    if (Create(ctx, &shapes[3], &p, "csri", &A, &x, &y) && CHECK_OK(PoiseMatDuplicate(A, 1, &B))) {
      CHECK_INT(poiseMatPartials(B), poiseMatPartials(A));
      CHECK_OK(PoiseMatMult(B, x, y));
      CHECK(Error(y, &p, 1, 0) <= 1);
      PoiseMatDestroy(&B);
    }
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
    Release(&p);
  }
}

/* An arrow: dense first row and column, dominant. Entry (i, j) of its row i at place k; the number of entries. */
static PoiseInt Arrow(PoiseInt n, PoiseInt i, PoiseInt k, PoiseInt *j, double *v)
{
  PoiseInt first[] = {0, i - 1, i, i + 1}, from = i == 1 ? 1 : 0, count = (i + 1 < n ? 4 : 3) - from;
  *j = i ? first[from + (k < count ? k : 0)] : k;
  *v = *j == i ? (i ? 4 : (double)n) : -0.5 - 0.25 * (double)((i + *j) % 2);
  return i ? count : n;
}

static PoiseErr MakeArrow(PoiseContext ctx, PoiseInt n, PoiseMat *A)
{
  PoiseInt begin, m, j;
  double v;
  PoiseSplit(ctx, n, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m, m, n, n, A));
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt k = 0, count = 1; k < count; k++) {
      count = Arrow(n, i, k, &j, &v);
      (void)PoiseMatAddValues(*A, 1, &i, &j, &v); /* Assemble speaks of a failure */
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

/* Solvers fuse dots into products and replay them; another cut in between is seen. */
static void TestSolves(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "prcg", "bicgstab", "gmres"};
  for (int t = 0; t < TYPES; t++)
    for (int k = 0; k < 4; k++) {
      PoiseMat A;
      PoiseVec x, b;
      PoiseKSP ksp;
      double norm;
      if (!strcmp(types[t], "shell")) continue;
      if (!CHECK_OK(MakeArrow(ctx, 3000, &A)) || !CHECK_OK(PoiseMatSetType(A, types[t])) ||
          !CHECK_OK(PoiseMatSetOptionsPrefix(A, "s_")) || !CHECK_OK(PoiseOptionsSet(ctx, "s_mat_type", types[t])) ||
          !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp)))
        return;
      CHECK_OK(PoiseVecSetRandom(b, 7));
      CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm));
      CHECK_OK(PoiseKSPSetType(ksp, methods[k]));
      CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
      CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-9, 1e-50, 1e5, 500));
      for (int set = 0; set < SETTINGS; set++) {
        char key[64];
        if (LeftOut(ctx, set, 0)) continue;
        snprintf(key, sizeof key, "s_%s", settings[set].key);
        CHECK_OK(PoiseOptionsSet(ctx, key, settings[set].value));
        CheckSolve(ksp, A, b, x, norm);
      }
      CHECK_OK(PoiseOptionsSet(ctx, "s_mat_combine", "atomic")); /* composes products */
      CheckSolve(ksp, A, b, x, norm);
      CHECK_OK(PoiseOptionsSet(ctx, "s_mat_combine", "ordered"));
      PoiseKSPDestroy(&ksp);
      PoiseVecDestroy(&x);
      PoiseVecDestroy(&b);
      PoiseMatDestroy(&A);
    }
}

static const Test tests[] = {{"solves", TestSolves, 0}, {"lent_arrays", TestLentArrays, TEST_SERIAL},
                             {"copies", TestCopies, 0}, {"awkward", TestAwkward, 0},
                             {"atomic", TestAtomic, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "products", tests);
}

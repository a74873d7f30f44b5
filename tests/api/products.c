/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of every type and shape, of matrices made in every way, compared with dense ones. */
#include "api.h"

/* Types with what their options give besides; of some several kinds of work. */
static const char *const types[][2] = {
    {"csr", ""},
    {"csri", ""},
    {"csri", "-mat_csri_chunk 3"},
    {"csri", "-mat_csri_chunk 17 -mat_combine atomic"},
    {"csri", "-mat_csri_hubs 2"},
    {"seg", ""},
    {"seg", "-mat_seg_length 1"},
    {"seg", "-mat_seg_length 4 -mat_seg_padded"},
    {"seg", "-mat_seg_length 32"},
    {"auto", ""},
    {"auto", "-mat_index16"},
    {"bcsr", ""},
    {"bcsr", "-mat_bcsr_kernel even"},
    {"bcsr", "-mat_bcsr_kernel balanced"},
};
enum { TYPES = sizeof types / sizeof *types };

static void SetType(PoiseContext ctx, PoiseMat A, int t)
{
  static const char *const keys[] = {"mat_csri_chunk", "mat_csri_hubs",   "mat_seg_length", "mat_seg_padded",
                                     "mat_combine",    "mat_bcsr_kernel", "mat_index16"};
  static const char *const usual[] = {"0", "-1", "0", "no", "ordered", "auto", "no"};
  for (int k = 0; k < 7; k++) CHECK_OK(PoiseOptionsSet(ctx, keys[k], usual[k]));
  if (types[t][1][0]) CHECK_OK(PoiseOptionsSetString(ctx, types[t][1]));
  CHECK_OK(PoiseOptionsSet(ctx, "mat_type", types[t][0]));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK(!strcmp(PoiseMatType(A), types[t][0]) || !strcmp(types[t][0], "auto"));
}

typedef struct Operands {
  double *u, *v, *w; /* of columns, of rows, work */
  PoiseVec x, y, z, t;
} Operands;

static Operands Make(PoiseMat A, const Dense *D)
{
  int most = D->m > D->n ? D->m : D->n;
  Operands o = {.u = malloc((size_t)(3 * most + 1) * sizeof(double))};
  o.v = o.u + most;
  o.w = o.v + most;
  for (int i = 0; i < most; i++) o.u[i] = Random(30, (uint64_t)i), o.v[i] = Random(31, (uint64_t)i);
  CHECK_OK(PoiseMatCreateVecs(A, &o.x, &o.y));
  CHECK_OK(PoiseVecDuplicate(o.y, &o.z));
  CHECK_OK(PoiseVecDuplicate(o.x, &o.t));
  VecFill(o.x, o.u);
  VecFill(o.z, o.v);
  return o;
}

static void Release(Operands *o)
{
  CHECK_OK(PoiseVecDestroy(&o->x));
  CHECK_OK(PoiseVecDestroy(&o->y));
  CHECK_OK(PoiseVecDestroy(&o->z));
  CHECK_OK(PoiseVecDestroy(&o->t));
  free(o->u);
}

static void Products(PoiseMat A, const Dense *D, Operands *o)
{
  double dot, *w = o->w;
  const double factors[][2] = {{1, 1}, {-2, 0.5}, {0.5, -1}, {3, 0}, {0, 2}};
  DenseMult(D, o->u, w);
  CHECK_OK(PoiseVecSet(o->y, NAN)); /* y is written, not added to */
  CHECK_OK(PoiseMatMult(A, o->x, o->y));
  VecIs(o->y, w, 1e-13);
  CHECK_OK(PoiseVecSet(o->y, NAN));
  CHECK_OK(PoiseMatMultDot(A, o->x, o->y, o->z, &dot));
  VecIs(o->y, w, 1e-13);
  CHECK_NEAR(dot, Dot(D->m, o->v, w), 1e-11);
  CHECK_OK(PoiseVecSet(o->y, NAN));
  CHECK_OK(PoiseMatResidual(A, o->z, o->x, o->y));
  for (int i = 0; i < D->m; i++) w[i] = o->v[i] - w[i];
  VecIs(o->y, w, 1e-13);
  VecIs(o->z, o->v, 0);
  for (int k = 0; k < 5; k++) {
    double a = factors[k][0], b = factors[k][1];
    DenseMult(D, o->u, w);
    for (int i = 0; i < D->m; i++) w[i] = a * w[i] + b * o->v[i];
    CHECK_OK(PoiseVecCopy(o->z, o->y));
    CHECK_OK(PoiseMatMultAdd(A, a, o->x, b, o->y));
    VecIs(o->y, w, 1e-13);
  }
  VecIs(o->x, o->u, 0);
}

static void Transpose(PoiseMat A, const Dense *D, Operands *o)
{
  DenseMultTranspose(D, o->v, o->w);
  for (int again = 0; again < 2; again++) {
    CHECK_OK(PoiseVecSet(o->t, NAN));
    CHECK_OK(PoiseMatMultTranspose(A, o->z, o->t));
    VecIs(o->t, o->w, 1e-13);
  }
}

static void Questions(PoiseMat A, const Dense *D, Operands *o)
{
  double *rows = calloc((size_t)(D->m + D->n + 1), sizeof *rows), *cols = rows + D->m, norm, most[2] = {0},
         square = 0;
  for (int i = 0; i < D->m; i++)
    for (int j = 0; j < D->n; j++) {
      double v = fabs(D->a[i * D->n + j]);
      rows[i] += v, cols[j] += v, square += v * v;
    }
  for (int i = 0; i < D->m; i++) most[0] = fmax(most[0], rows[i]);
  for (int j = 0; j < D->n; j++) most[1] = fmax(most[1], cols[j]);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, most[0], 1e-12);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &norm));
  CHECK_NEAR(norm, most[1], 1e-12);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm));
  CHECK_NEAR(norm, sqrt(square), 1e-12);
  for (int i = 0; i < D->m && i < D->n; i++) o->w[i] = D->a[i * D->n + i];
  if (D->m == D->n) {
    CHECK_OK(PoiseVecSet(o->y, NAN));
    CHECK_OK(PoiseMatGetDiagonal(A, o->y));
    VecIs(o->y, o->w, 0);
  } else {
    CHECK_ERR(PoiseMatGetDiagonal(A, o->y), POISE_ERR_SIZE, "");
  }
  free(rows);
}

/* One row at a time, as it is stored. */
static void Rows(PoiseMat A, const Dense *D)
{
  PoiseInt m, nz, begin, end, n;
  PoiseVec y;
  const PoiseInt *cols;
  const double *v;
  bool blocks = !strcmp(PoiseMatType(A), "bcsr") && PoiseMatBlockSize(A) > 1;
  CHECK_OK(PoiseMatNonzeros(A, &nz));
  if (blocks)
    CHECK(nz >= DenseCount(D));
  else
    CHECK_INT(nz, DenseCount(D));
  CHECK_OK(PoiseMatCreateVecs(A, NULL, &y));
  PoiseVecRange(y, &begin, &end);
  PoiseMatLocalSizes(A, &m, NULL);
  CHECK_INT(end - begin, m);
  for (PoiseInt i = begin; i < end; i++) {
    PoiseInt k = 0;
    if (!CHECK_OK(PoiseMatGetRow(A, i, &n, &cols, &v))) break;
    for (int j = 0; j < D->n; j++) {
      int in = k < n && cols[k] == j;
      if (in) CHECK_NEAR(v[k], D->a[i * D->n + j], 0);
      if (!in) CHECK(!D->has[i * D->n + j]);
      k += in;
    }
    CHECK_INT(k, n);
  }
  CHECK_OK(PoiseVecDestroy(&y));
}

static void CheckAll(PoiseMat A, const Dense *D)
{
  Operands o = Make(A, D);
  Products(A, D, &o);
  Transpose(A, D, &o);
  Questions(A, D, &o);
  Products(A, D, &o); /* after others have worked */
  Release(&o);
  Rows(A, D);
  MatIs(A, D, 0);
}

static void TestTypes(PoiseContext ctx)
{
  for (int s = 0; s < SHAPES; s++) {
    int b;
    Dense D = Shape(s, &b);
    for (int t = 0; t < TYPES; t++) {
      int layout = (s + t) % LAYOUTS;
      ApiCase("shape %d, %s %s, layout %d", s, types[t][0], types[t][1], layout);
      PoiseMat A = MatOf(ctx, &D, b, layout);
      SetType(ctx, A, t);
      CheckAll(A, &D);
      CHECK_OK(PoiseMatDestroy(&A));
    }
    DenseFree(&D);
  }
}

/* A row of more blocks than a fragment of work has is cut, and put together again. */
static void TestCut(PoiseContext ctx)
{
  enum { B = 4, ROWS = 3, COLUMNS = 1100 };
  static const char *const kernels[] = {"auto", "even", "balanced"};
  Dense D = DenseNew(ROWS * B, COLUMNS * B);
  for (int i = 0; i < B; i++) {
    for (int j = 0; j < D.n; j++) DenseSet(&D, B + i, j, Random(40, (uint64_t)(i * D.n + j)));
    DenseSet(&D, i, i, 2);
    DenseSet(&D, 2 * B + i, 5 * B, -1);
  }
  for (int k = 0; k < 3; k++) {
    ApiCase("kernel %s", kernels[k]);
    PoiseMat A = MatOf(ctx, &D, B, 0);
    CHECK_OK(PoiseOptionsSet(ctx, "mat_type", "bcsr"));
    CHECK_OK(PoiseOptionsSet(ctx, "mat_bcsr_kernel", kernels[k]));
    CHECK_OK(PoiseMatSetFromOptions(A));
    Operands o = Make(A, &D);
    Products(A, &D, &o);
    Transpose(A, &D, &o);
    Release(&o);
    CHECK_OK(PoiseMatDestroy(&A));
  }
  CHECK_OK(PoiseOptionsSet(ctx, "mat_bcsr_kernel", "auto"));
  DenseFree(&D);
}

/* Blocks smaller than a strip of 8 rows, of whole strips, and of strips with a remainder. */
static void TestBlockSizes(PoiseContext ctx)
{
  enum { ROWS = 6 };
  static const int sizes[] = {5, 7, 8, 11, 16};
  for (int k = 0; k < 5; k++) {
    int b = sizes[k];
    Dense D = DenseNew(ROWS * b, ROWS * b);
    for (int i = 0; i < D.m; i++)
      for (int j = 0; j < D.n; j++)
        if ((i / b + 2 * (j / b)) % 3 == 0) DenseSet(&D, i, j, Random(41, (uint64_t)(i * D.n + j)));
    for (int t = 0; t < TYPES; t++) {
      if (strcmp(types[t][0], "bcsr")) continue;
      ApiCase("b %d, %s", b, types[t][1]);
      PoiseMat A = MatOf(ctx, &D, b, 0);
      SetType(ctx, A, t);
      CheckAll(A, &D);
      CHECK_OK(PoiseMatDestroy(&A));
    }
    DenseFree(&D);
  }
}

/* The same matrix goes from type to type. */
static void TestChanges(PoiseContext ctx)
{
  int b;
  Dense D = Shape(8, &b);
  PoiseMat A = MatOf(ctx, &D, b, 0);
  Operands o = Make(A, &D);
  for (int t = 0; t < 3 * TYPES; t++) {
    ApiCase("to %s %s", types[t * 5 % TYPES][0], types[t * 5 % TYPES][1]);
    SetType(ctx, A, t * 5 % TYPES);
    Products(A, &D, &o);
    if (t % 3 == 0) Transpose(A, &D, &o);
    MatIs(A, &D, 0);
  }
  Release(&o);
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

/* Widths, bases, orders and owners of the arrays; 64-bit offsets that are kept make wide products. */
static void TestArrays(PoiseContext ctx)
{
  static const int shapes[] = {1, 3, 6, 10, 12};
  static const char *const of[] = {"csr", "csri", "seg", "bcsr"};
  for (int s = 0; s < 5; s++) {
    int b;
    Dense D = Shape(shapes[s], &b);
    for (int way = 0; way < 16; way++) {
      int base = way & 1, order = way >> 1 & 1, wide = way >> 2 & 1,
          own = way >> 3 ? POISE_ADOPT : POISE_COPY;
      PoiseInt begin, m;
      PoiseSplit(ctx, D.m / b, &begin, &m);
      CSR c = CSROf(&D, begin * b, m * b, base, order);
      PoiseCSR csr = {
          .ptr32 = wide ? NULL : c.ptr32, .ptr64 = wide ? c.ptr : NULL, .val = c.val, .base = base};
      if (wide == (s & 1))
        csr.col32 = c.col32;
      else
        csr.col64 = c.col;
      PoiseMat A = NULL;
      ApiCase("shape %d, base %d, order %d, wide %d, own %d", shapes[s], base, order, wide, own);
      CHECK_OK(PoiseMatCreateCSR(ctx, m * b, Share(ctx, D.n, b, 0), D.m, D.n, &csr, (PoiseOwn)own, &A));
      if (own == POISE_ADOPT) {
        if (wide)
          c.ptr = NULL;
        else
          c.ptr32 = NULL;
        if (wide == (s & 1))
          c.col32 = NULL;
        else
          c.col = NULL;
        c.val = NULL;
      }
      CSRFree(&c);
      CHECK_OK(PoiseMatSetBlockSize(A, b));
      CHECK_OK(PoiseMatSetType(A, of[way % 4 == 3 && b == 1 ? 2 : (way + s) % 4]));
      CheckAll(A, &D);
      CHECK_OK(PoiseMatDestroy(&A));
    }
    DenseFree(&D);
  }
}

/* Borrowed arrays are worked with in place, and may be written to. */
static void TestBorrowed(PoiseContext ctx)
{
  int b;
  Dense D = Shape(11, &b);
  PoiseInt begin, m;
  PoiseSplit(ctx, D.m, &begin, &m);
  for (int wide = 0; wide < 2; wide++) {
    CSR c = CSROf(&D, begin, m, 0, 0), old = CSROf(&D, begin, m, 0, 0);
    PoiseCSR csr = {
        .ptr32 = wide ? NULL : c.ptr32, .ptr64 = wide ? c.ptr : NULL, .col32 = c.col32, .val = c.val};
    PoiseMat A = NULL;
    ApiCase("wide %d", wide);
    CHECK_OK(PoiseMatCreateCSR(ctx, m, m, POISE_DECIDE, D.n, &csr, POISE_BORROW, &A));
    CheckAll(A, &D);
    Dense E = DenseCopy(&D);
    for (int k = 0; k < E.m * E.n; k++) E.a[k] *= -2;
    int64_t nz = c.ptr[m];
    for (int64_t k = 0; k < nz; k++) c.val[k] *= -2;
    CHECK_OK(PoiseMatSetValuesCSR(A, c.val));
    CheckAll(A, &E);
    CHECK_OK(PoiseMatScale(A, 0.5));
    /* and is current when a call has returned */
    for (int64_t k = 0; k < nz; k++) CHECK_NEAR(c.val[k], -old.val[k], 0);
    for (int k = 0; k < E.m * E.n; k++) E.a[k] *= 0.5;
    CheckAll(A, &E);
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&E);
    CSRFree(&c);
    CSRFree(&old);
  }
  DenseFree(&D);
}

/* Blocks as arrays: both orders, widths, bases, owners. */
static void TestBlocks(PoiseContext ctx)
{
  static const int shapes[] = {6, 7, 8, 9, 11, 3};
  for (int s = 0; s < 6; s++) {
    int b;
    Dense D = Shape(shapes[s], &b);
    for (int way = 0; way < 8; way++) {
      int base = way & 1, wide = way >> 1 & 1, own = way >> 2 ? POISE_ADOPT : POISE_COPY,
          row_major = own ? 0 : s & 1;
      PoiseInt begin, m, k = 0, nb = D.n / b;
      PoiseMat A = NULL;
      PoiseSplit(ctx, D.m / b, &begin, &m);
      int64_t *ptr = malloc(((size_t)m + 1) * 8), *col = malloc((size_t)(m * nb + 1) * 8);
      int32_t *ptr32 = malloc(((size_t)m + 1) * 4), *col32 = malloc((size_t)(m * nb + 1) * 4);
      double *val = malloc((size_t)(m * nb * b * b + 1) * 8);
      for (PoiseInt i = 0; i <= m; i++) {
        ptr[i] = k + base, ptr32[i] = (int32_t)(k + base);
        for (PoiseInt l = 0; l < nb && i < m; l++) {
          PoiseInt j = way == 3 ? nb - 1 - l : l; /* unsorted where they are copied */
          const PoiseInt at = (begin + i) * b * D.n + j * b;
          if (!D.has[at]) continue;
          for (int p = 0; p < b; p++)
            for (int q = 0; q < b; q++)
              val[k * b * b + (row_major ? p * b + q : q * b + p)] = D.a[at + p * D.n + q];
          col[k] = j + base, col32[k] = (int32_t)(j + base);
          k++;
        }
      }
      PoiseBCSR bcsr = {.val = val, .base = base, .row_major = row_major};
      if (wide)
        bcsr.ptr64 = ptr;
      else
        bcsr.ptr32 = ptr32;
      if (way & 4)
        bcsr.col32 = col32;
      else
        bcsr.col64 = col;
      ApiCase("shape %d, way %d", shapes[s], way);
      CHECK_OK(PoiseMatCreateBCSR(ctx, b, m * b, Share(ctx, D.n, b, 0), D.m, D.n, &bcsr, (PoiseOwn)own, &A));
      CHECK(!strcmp(PoiseMatType(A), "bcsr"));
      CHECK_INT(PoiseMatBlockSize(A), b);
      CheckAll(A, &D);
      if (!own) {
        for (PoiseInt i = 0; i < k * b * b; i++) val[i] *= 3;
        for (int i = 0; i < D.m * D.n; i++) D.a[i] *= 3;
        if (way != 3) CHECK_OK(PoiseMatSetValuesBCSR(A, row_major, val));
        if (way == 3) CHECK_OK(PoiseMatScale(A, 3));
        CheckAll(A, &D);
      }
      CHECK_OK(PoiseMatSetType(A, "csr"));
      CheckAll(A, &D);
      CHECK_OK(PoiseMatDestroy(&A));
      if (own && wide) ptr = NULL;
      if (own && !wide) ptr32 = NULL;
      if (own && (way & 4)) col32 = NULL;
      if (own && !(way & 4)) col = NULL;
      if (!own) free(val);
      free(ptr), free(col), free(ptr32), free(col32);
    }
    DenseFree(&D);
  }
}

/* ---- shells ---------------------------------------------------------------------------------- */

static PoiseErr ShellMult(void *arg, PoiseVec x, PoiseVec y)
{
  return PoiseMatMult(*(PoiseMat *)arg, x, y);
}

static PoiseErr ShellMultTranspose(void *arg, PoiseVec x, PoiseVec y)
{
  return PoiseMatMultTranspose(*(PoiseMat *)arg, x, y);
}

static PoiseErr ShellDiagonal(void *arg, PoiseVec d)
{
  return PoiseMatGetDiagonal(*(PoiseMat *)arg, d);
}

static PoiseErr ShellFails(void *arg, PoiseVec x, PoiseVec y)
{
  (void)arg, (void)x, (void)y;
  POISE_FAIL(POISE_ERR_USER, "no product today");
}

static void TestShell(PoiseContext ctx)
{
  static const int shapes[] = {3, 11};
  for (int s = 0; s < 2; s++) {
    int b;
    Dense D = Shape(shapes[s], &b);
    PoiseMat A = MatOf(ctx, &D, 1, s), S = NULL;
    PoiseInt m, n;
    PoiseMatLocalSizes(A, &m, &n);
    PoiseShell functions = {ShellMult, ShellMultTranspose, ShellDiagonal};
    ApiCase("shape %d", shapes[s]);
    CHECK_OK(PoiseMatCreateShell(ctx, m, n, D.m, D.n, &functions, &A, &S));
    CHECK(!strcmp(PoiseMatType(S), "shell"));
    Operands o = Make(S, &D);
    Products(S, &D, &o);
    Transpose(S, &D, &o);
    if (D.m == D.n) {
      for (int i = 0; i < D.m; i++) o.w[i] = D.a[i * D.n + i];
      CHECK_OK(PoiseMatGetDiagonal(S, o.y));
      VecIs(o.y, o.w, 0);
    }
    CHECK_OK(PoiseMatDestroy(&S));
    functions = (PoiseShell){ShellFails, NULL, NULL};
    CHECK_OK(PoiseMatCreateShell(ctx, m, n, D.m, D.n, &functions, NULL, &S));
    CHECK_ERR(PoiseMatMult(S, o.x, o.y), POISE_ERR_USER, "no product today");
    CHECK_ERR(PoiseMatMultTranspose(S, o.z, o.t), POISE_ERR_UNSUPPORTED, "");
    Release(&o);
    CHECK_OK(PoiseMatDestroy(&S));
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

/* Larger than a row block, a row block or a thread's share: a band with a few long rows. */
static void TestLarge(PoiseContext ctx)
{
  enum { N = 5000, LONG = 3 };
  static const char *const of[] = {"csr", "csri", "seg", "auto"};
  PoiseInt begin, m;
  PoiseMat A = NULL;
  double *u = malloc(3 * N * sizeof *u), *v = u + N, *w = v + N;
  PoiseSplit(ctx, N, &begin, &m);
  for (int i = 0; i < N; i++) u[i] = Random(40, (uint64_t)i), v[i] = w[i] = 0;
  CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A));
  for (PoiseInt i = begin; i < begin + m; i++) {
    int step = i % 1600 == 7 ? 1 : i % 50 ? 1201 : 97; /* 5000, 5, or 52 entries */
    for (PoiseInt j = i % step; j < N; j += step) {
      double a = Random(41, (uint64_t)(i * N + j));
      CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &a));
      v[i] += a * u[j];
      w[j] += a * u[i];
    }
  }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseSum(ctx, N, v));
  CHECK_OK(PoiseSum(ctx, N, w));
  PoiseVec x = VecOf(ctx, m, N, u), y = NULL;
  CHECK_OK(PoiseVecDuplicate(x, &y));
  for (int t = 0; t < 4; t++) {
    double dot;
    ApiCase("%s", of[t]);
    CHECK_OK(PoiseMatSetType(A, of[t]));
    CHECK_OK(PoiseMatMultDot(A, x, y, x, &dot));
    VecIs(y, v, 1e-12);
    CHECK_NEAR(dot, Dot(N, u, v), 1e-9);
    CHECK_OK(PoiseMatMultTranspose(A, x, y));
    VecIs(y, w, 1e-12);
    ApiSame(ctx, of[t], 1, &dot, 1e-9);
  }
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
  free(u);
}

const Test product_tests[] = {{"types", TestTypes},
                              {"cut", TestCut},
                              {"block_sizes", TestBlockSizes},
                              {"changes", TestChanges},
                              {"arrays", TestArrays},
                              {"borrowed", TestBorrowed},
                              {"blocks", TestBlocks},
                              {"shell", TestShell},
                              {"large", TestLarge},
                              {NULL, NULL}};

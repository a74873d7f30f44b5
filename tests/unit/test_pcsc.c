/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices that stay as the application holds them, types pcsc and pcoo: by columns, and as triplets.
  Products, diagonals and norms are compared with sums over a function of (i, j), in long double, within a
  small multiple of unit roundoff. Arrays are of all kinds and owners, and are unchanged where the application
  keeps them.
*/
#include "formula.h"
#include "ksp/ksp.h"
#include "wide.h"

/* ---- matrices -------------------------------------------------------------------------------- */

enum { SEED = 5 };

typedef struct Shape {
  const char *name;
  PoiseInt M, N;
  bool (*stored)(const struct Shape *, PoiseInt i, PoiseInt j);
} Shape;

static bool All(const Shape *s, PoiseInt i, PoiseInt j)
{
  return s->M + i + j >= 0;
}
static bool None(const Shape *s, PoiseInt i, PoiseInt j)
{
  return s->M + i + j < 0;
}
static bool Scattered(const Shape *s, PoiseInt i, PoiseInt j) /* with empty rows and columns */
{
  return i % 5 != 2 && j % 7 != 3 && TestRandom(9, (uint64_t)(i * s->N + j)) > 0.6;
}
static bool FullRow(const Shape *s, PoiseInt i, PoiseInt j)
{
  return i == s->M / 2 || (i + 2 * j) % 13 == 0;
}
static bool FullColumn(const Shape *s, PoiseInt i, PoiseInt j)
{
  return j == s->N / 2 || (i + 2 * j) % 13 == 0;
}
static bool OneColumn(const Shape *s, PoiseInt i, PoiseInt j)
{
  return j == s->N - 1 && i >= 0;
}

static const Shape shapes[] = {{"1 x 1", 1, 1, All},
                               {"nothing", 0, 0, All},
                               {"no columns", 5, 0, All},
                               {"no entries", 6, 4, None},
                               {"empty rows and columns", 40, 33, Scattered},
                               {"square", 37, 37, Scattered},
                               {"full row", 30, 30, FullRow},
                               {"full column", 30, 30, FullColumn},
                               {"all in one column", 25, 25, OneColumn},
                               {"few columns", 12, 2, All},
                               {"few rows", 2, 12, All},
                               {"long row", 1, 100002, All},
                               {"long column", 100002, 1, All}};
enum { SHAPES = sizeof shapes / sizeof *shapes, SQUARE = 5 };

static bool Tridiagonal(const Shape *s, PoiseInt i, PoiseInt j)
{
  return s->M && i - j <= 1 && j - i <= 1;
}
static const Shape tridiagonal = {"tridiagonal", 60, 60, Tridiagonal};

static double Value(const Shape *s, PoiseInt i, PoiseInt j)
{
  return s->stored(s, i, j) ? 0.1 + TestRandom(SEED, (uint64_t)(i * s->N + j)) : 0;
}

/* ---- forms of arrays ------------------------------------------------------------------------- */

typedef enum { CSC, COO } Kind;
typedef enum { ASCENDING, DESCENDING, SHUFFLED } Order;
typedef enum { OWN_ROWS, OWN_COLUMNS, ANYWHERE, TWICE } Spread; /* of triplets over ranks */

typedef struct Form {
  const char *name;
  Kind kind;
  bool there; /* on the device */
  PoiseOwn own;
  int bits, base;
  Order order;
  Spread spread;
} Form;

static const Form forms[] = {
    {"columns, copied", CSC, false, POISE_COPY, 64, 1, ASCENDING, OWN_COLUMNS},
    {"columns, adopted", CSC, false, POISE_ADOPT, 32, 0, ASCENDING, OWN_COLUMNS},
    {"columns, borrowed", CSC, false, POISE_BORROW, 32, 0, ASCENDING, OWN_COLUMNS},
    {"columns, not sorted", CSC, false, POISE_COPY, 32, 1, DESCENDING, OWN_COLUMNS},
    {"columns there, borrowed", CSC, true, POISE_BORROW, 32, 0, ASCENDING, OWN_COLUMNS},
    {"columns there, adopted", CSC, true, POISE_ADOPT, 64, 1, ASCENDING, OWN_COLUMNS},
    {"sorted triplets, borrowed", COO, false, POISE_BORROW, 32, 0, ASCENDING, OWN_ROWS},
    {"sorted triplets, copied", COO, false, POISE_COPY, 64, 1, ASCENDING, OWN_ROWS},
    {"sorted triplets there", COO, true, POISE_ADOPT, 32, 1, ASCENDING, OWN_ROWS},
    {"triplets, copied", COO, false, POISE_COPY, 32, 0, SHUFFLED, OWN_ROWS},
    {"triplets of columns, adopted", COO, false, POISE_ADOPT, 64, 0, SHUFFLED, OWN_COLUMNS},
    {"triplets anywhere, borrowed", COO, false, POISE_BORROW, 32, 1, SHUFFLED, ANYWHERE},
    {"triplets anywhere, there", COO, true, POISE_BORROW, 64, 1, SHUFFLED, ANYWHERE},
    {"triplets twice", COO, false, POISE_COPY, 64, 0, SHUFFLED, TWICE},
    {"triplets twice, there", COO, true, POISE_COPY, 32, 0, ASCENDING, TWICE}};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct Triplet {
  PoiseInt i, j;
  double v, key;
} Triplet;

typedef struct Arrays { /* of this rank */
  const Form *form;
  PoiseInt n, columns;     /* entries; columns of a CSC */
  double *val, *kept;      /* what is given, and its content */
  void *ptr, *row, *col;   /* as wide as the form says */
  size_t bytes[3];         /* of these */
  PoiseInt local[2], M, N; /* layout */
} Arrays;

static int ByKey(const void *a, const void *b)
{
  double x = ((const Triplet *)a)->key, y = ((const Triplet *)b)->key;
  return (x > y) - (x < y);
}

/* Is triplet `copy` (0 or 1) of entry (i, j) this rank's? */
static bool IsMine(PoiseContext ctx, const Form *f, const PoiseInt range[4], PoiseInt i, PoiseInt j, int copy)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  if (copy && f->spread != TWICE) return false;
  if (f->spread == OWN_ROWS) return i >= range[0] && i < range[1];
  if (f->spread == OWN_COLUMNS) return j >= range[2] && j < range[3];
  return (int)((7 * i + 3 * j + copy) % size) == rank;
}

static Triplet *List(PoiseContext ctx, const Shape *s, const Form *f, const PoiseInt range[4],
                     PoiseInt *count)
{
  PoiseInt n = 0, room = 16;
  Triplet *list = malloc((size_t)room * sizeof *list);
  for (PoiseInt i = 0; i < s->M; i++)
    for (PoiseInt j = 0; j < s->N; j++)
      for (int copy = 0; copy < 2 && s->stored(s, i, j); copy++) {
        if (!IsMine(ctx, f, range, i, j, copy)) continue;
        double at = f->kind == CSC ? (double)(j * s->M + i) : (double)(i * s->N + j);
        double key = f->order == ASCENDING  ? at
                     : f->order == SHUFFLED ? TestRandom(8, (uint64_t)(2 * (i * s->N + j) + copy))
                                            : (double)(j * s->M + s->M - i);
        if (n == room) list = realloc(list, (size_t)(room *= 2) * sizeof *list);
        double v = Value(s, i, j);
        list[n++] = (Triplet){i, j, f->spread == TWICE ? (copy ? 3 : -2) * v : v, key};
      }
  if (n) qsort(list, (size_t)n, sizeof *list, ByKey);
  *count = n;
  return list;
}

static void Put(const Form *f, void *array, PoiseInt k, PoiseInt v)
{
  if (f->bits == 32)
    ((int32_t *)array)[k] = (int32_t)(v + f->base);
  else
    ((int64_t *)array)[k] = v + f->base;
}

static void *Room(size_t bytes)
{
  return calloc(bytes + 1, 1);
}

/* To the device, if the form says so. */
static void *Lend(PoiseContext ctx, const Form *f, void *host, size_t bytes)
{
  if (!f->there || !SampleIsAway(ctx)) return host;
  void *p = SampleLend(ctx, bytes, host);
  free(host);
  return p;
}

static void MakeArrays(PoiseContext ctx, const Shape *s, const Form *f, int layout, Arrays *a)
{
  PoiseInt range[4], local[] = {SampleLocal(ctx, layout, s->M), SampleLocal(ctx, layout, s->N)};
  SampleRange(ctx, layout, s->M, &range[0]);
  SampleRange(ctx, layout, s->N, &range[2]);
  *a = (Arrays){.form = f, .M = s->M, .N = s->N, .columns = range[3] - range[2]};
  a->local[0] = local[0], a->local[1] = local[1];
  Triplet *list = List(ctx, s, f, range, &a->n);
  size_t width = (size_t)f->bits / 8, n = (size_t)a->n;
  a->bytes[0] = (size_t)(a->columns + 1) * width, a->bytes[1] = a->bytes[2] = n * width;
  a->val = Room(n * sizeof *a->val), a->kept = Room(n * sizeof *a->kept);
  a->ptr = Room(a->bytes[0]), a->row = Room(a->bytes[1]), a->col = Room(a->bytes[2]);
  for (PoiseInt k = 0; k < a->n; k++) {
    a->val[k] = a->kept[k] = list[k].v;
    Put(f, a->row, k, list[k].i);
    Put(f, a->col, k, list[k].j);
  }
  for (PoiseInt j = 0, k = 0; j <= a->columns; j++) {
    while (f->kind == CSC && k < a->n && list[k].j < range[2] + j) k++;
    Put(f, a->ptr, j, k);
  }
  free(list);
  a->val = Lend(ctx, f, a->val, n * sizeof *a->val);
  a->ptr = Lend(ctx, f, a->ptr, a->bytes[0]);
  a->row = Lend(ctx, f, a->row, a->bytes[1]);
  a->col = Lend(ctx, f, a->col, a->bytes[2]);
}

static PoiseErr CreateOf(PoiseContext ctx, const Arrays *a, PoiseMat *A)
{
  const Form *f = a->form;
  bool narrow = f->bits == 32;
  PoiseCSC csc = {.val = a->val, .base = f->base};
  PoiseTriplets t = {.n = a->n, .val = a->val, .base = f->base};
  if (narrow)
    csc.ptr32 = a->ptr, csc.row32 = t.row32 = a->row, t.col32 = a->col;
  else
    csc.ptr64 = a->ptr, csc.row64 = t.row64 = a->row, t.col64 = a->col;
  if (f->kind == CSC)
    return (f->there ? PoiseMatCreateDeviceCSC : PoiseMatCreateCSC)(ctx, a->local[0], a->local[1], a->M, a->N,
                                                                    &csc, f->own, A);
  return (f->there ? PoiseMatCreateDeviceTriplets : PoiseMatCreateTriplets)(ctx, a->local[0], a->local[1],
                                                                            a->M, a->N, &t, f->own, A);
}

static void Return(PoiseContext ctx, const Form *f, void *p)
{
  if (f->there && SampleIsAway(ctx))
    SampleTakeBack(ctx, p);
  else
    free(p);
}

/* adopted: the matrix was made, and has what was given. */
static void FreeArrays(PoiseContext ctx, Arrays *a, bool adopted)
{
  bool csc = a->form->kind == CSC;
  if (!adopted) Return(ctx, a->form, a->val);
  if (!adopted) Return(ctx, a->form, a->row);
  if (!adopted || !csc) Return(ctx, a->form, a->ptr); /* what the other kind has not given */
  if (!adopted || csc) Return(ctx, a->form, a->col);
  free(a->kept);
}

/* The values in the application's array, as the host sees them. */
static bool ValuesAre(PoiseContext ctx, const Arrays *a, const double *expected)
{
  size_t bytes = (size_t)a->n * sizeof *expected;
  double *now = Room(bytes);
  if (a->form->there && SampleIsAway(ctx)) {
    CHECK_OK(poiseDeviceCopy(ctx->device, now, a->val, bytes, COPY_TO_HOST));
    CHECK_OK(poiseDeviceSync(ctx->device));
  } else {
    memcpy(now, a->val, bytes);
  }
  bool same = !memcmp(now, expected, bytes);
  free(now);
  return same;
}

/* ---- judgement ------------------------------------------------------------------------------- */

static double ValueOf(const void *shape, PoiseInt i, PoiseInt j)
{
  return Value(shape, i, j);
}

static bool IsProduct(const Shape *s, bool transposed, double scale, PoiseVec x, PoiseVec y, double shift)
{
  const Formula f = {ValueOf, s, -1, 5}; /* 5: triplets that are given twice */
  return FormulaIsProduct(&f, transposed, scale, x, y, shift);
}

static bool NormsAre(PoiseMat A, const Shape *s, double scale)
{
  double norm[3] = {0, 0, 0}, one = 0, inf = 0, squares = 0;
  double *column = Room((size_t)(s->N + 1) * sizeof *column);
  for (PoiseInt i = 0; i < s->M; i++) {
    double sum = 0;
    for (PoiseInt j = 0; j < s->N; j++) {
      double v = fabs(Value(s, i, j)) * scale;
      sum += v, column[j] += v, squares += v * v;
    }
    inf = fmax(inf, sum);
  }
  for (PoiseInt j = 0; j < s->N; j++) one = fmax(one, column[j]);
  free(column);
  return CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &norm[0])) &&
         CHECK_OK(PoiseMatNorm(A, POISE_NORM_INF, &norm[1])) &&
         CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm[2])) && CHECK_NEAR(norm[0], one, 1e-12 * one) &&
         CHECK_NEAR(norm[1], inf, 1e-12 * inf) && CHECK_NEAR(norm[2], sqrt(squares), 1e-12 * sqrt(squares));
}

static bool DiagonalIs(PoiseMat A, const Shape *s, double scale)
{
  PoiseVec d;
  const double *p;
  PoiseInt begin, end;
  if (!CHECK_OK(PoiseMatCreateVecs(A, NULL, &d))) return false;
  SampleConstant(d, NAN);
  bool good = CHECK_OK(PoiseMatGetDiagonal(A, d)) && CHECK_OK(PoiseVecGetRead(d, &p));
  PoiseVecRange(d, &begin, &end);
  for (PoiseInt i = begin; good && i < end; i++)
    good = CHECK_NEAR(p[i - begin], scale * Value(s, i, i), 1e-14 * scale);
  if (good) PoiseVecRestore(d, &p);
  PoiseVecDestroy(&d);
  return good;
}

static bool IsMatrix(PoiseMat A, const Shape *s, double scale)
{
  PoiseVec x, y;
  double dot, other;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return false;
  SampleFill(x, 3);
  SampleConstant(y, NAN);
  bool good = CHECK_OK(PoiseMatMult(A, x, y)) && CHECK(IsProduct(s, false, scale, x, y, 0));
  SampleConstant(y, 0.25);
  good = good && CHECK_OK(PoiseMatMultAdd(A, 0.5, x, 2, y)) &&
         CHECK(IsProduct(s, false, 0.5 * scale, x, y, 0.5));
  SampleFill(y, 4);
  SampleConstant(x, NAN);
  good = good && CHECK_OK(PoiseMatMultTranspose(A, y, x)) && CHECK(IsProduct(s, true, scale, y, x, 0));
  if (good && s->M == s->N) {
    good = CHECK_OK(PoiseMatMultDot(A, x, y, y, &dot)) && CHECK_OK(PoiseVecDot(y, y, &other)) &&
           CHECK_NEAR(dot, other, 1e-13 * other) && DiagonalIs(A, s, scale);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return good && NormsAre(A, s, scale);
}

/* ---- products, diagonals, norms, new values -------------------------------------------------- */

/* New values from an array of the host, and from the array that A borrowed. */
static bool NewValues(PoiseContext ctx, PoiseMat A, const Shape *s, Arrays *a)
{
  const Form *f = a->form;
  Device *dev = ctx->device;
  bool away = f->there && SampleIsAway(ctx), good = true;
  size_t bytes = (size_t)a->n * sizeof(double);
  double *fresh = Room(bytes);
  for (PoiseInt k = 0; k < a->n; k++) fresh[k] = 2 * a->kept[k];
  good = good && CHECK_OK(PoiseMatSetValuesCSR(A, fresh)) && IsMatrix(A, s, 2);
  if (f->own == POISE_BORROW) {
    good = good && CHECK(ValuesAre(ctx, a, fresh));
    for (PoiseInt k = 0; k < a->n; k++) fresh[k] = 0.5 * a->kept[k];
    if (away)
      CHECK_OK(poiseDeviceCopy(dev, a->val, fresh, bytes, COPY_TO_DEVICE));
    else
      memcpy(a->val, fresh, bytes);
    CHECK_OK(poiseDeviceSync(dev));
    good = good && CHECK_OK(PoiseMatSetValuesCSR(A, a->val)) && IsMatrix(A, s, 0.5);
  }
  free(fresh);
  return good;
}

static void CheckForm(PoiseContext ctx, const Shape *s, const Form *f, int layout)
{
  PoiseMat A;
  PoiseInt nz = -1, expected = 0;
  Arrays a;
  MakeArrays(ctx, s, f, layout, &a);
  bool made = CHECK_OK(CreateOf(ctx, &a, &A)), good = made;
  for (PoiseInt i = 0; i < s->M; i++)
    for (PoiseInt j = 0; j < s->N; j++) expected += s->stored(s, i, j) * (f->spread == TWICE ? 2 : 1);
  if (good) {
    CHECK(!strcmp(PoiseMatType(A), f->kind == CSC ? "pcsc" : "pcoo"));
    good = CHECK_OK(PoiseMatNonzeros(A, &nz)) && CHECK_INT(nz, expected) && IsMatrix(A, s, 1);
    WideProducts(A, 1e-12);
    if (f->own != POISE_ADOPT) CHECK(ValuesAre(ctx, &a, a.kept)); /* untouched */
    if (f->order != DESCENDING && s->M + s->N < 1000) good = good && NewValues(ctx, A, s, &a);
  }
  PoiseMatDestroy(&A);
  FreeArrays(ctx, &a, f->own == POISE_ADOPT && made);
  if (!good) printf("    in %s, %s, layout %d\n", s->name, f->name, layout);
}

/* Of the long shapes few forms, on few ranks; on several ranks every other form of each shape. */
static bool Takes(PoiseContext ctx, int shape, int form)
{
  int size = PoiseSize(ctx);
  if (shapes[shape].M + shapes[shape].N > 1000) return size < 4 && (form == 2 || form == 11);
  return size == 1 || (shape + form + size) % 2 == 0;
}

static void TestForms(PoiseContext ctx)
{
  for (int k = 0; k < SHAPES; k++)
    for (int l = 0; l < FORMS; l++)
      if (Takes(ctx, k, l)) CheckForm(ctx, &shapes[k], &forms[l], (k + l) % 3);
}

/* ---- what a matrix holds --------------------------------------------------------------------- */

static const Form *FormOf(const char *name)
{
  for (int k = 0; k < FORMS; k++)
    if (!strcmp(forms[k].name, name)) return &forms[k];
  return &forms[0];
}

/* Arrays are used in place; bytes are as counted, and within their prediction; a refresh moves values
   alone. */
static void CheckHeld(PoiseContext ctx, const char *name)
{
  const Form *f = FormOf(name);
  PoiseMat A;
  PoiseVec x, y;
  PoiseBytes held;
  PoisePrediction p;
  Arrays a;
  MakeArrays(ctx, &tridiagonal, f, EVEN, &a);
  if (!CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, tridiagonal.N, &x)) || !CHECK_OK(PoiseVecDuplicate(x, &y)))
    return;
  CHECK_OK(PoiseVecSet(x, 1)); /* on the device, too */
  CHECK_OK(PoiseVecSet(y, 1));
  TestFreeIdle(ctx);
  int64_t device = ctx->device->bytes, count = a.n;
  if (!CHECK_OK(CreateOf(ctx, &a, &A))) return;
  CHECK_OK(PoiseAgree(ctx, poiseMatReady(A)));
  for (int k = PoiseSize(ctx) > 1; k < 3; k++) { /* several ranks bring indices of the exchange at first */
    int64_t calls = ctx->memory.calls;
    CHECK_OK(PoiseMatMult(A, x, y));
    if (k != 1) CHECK_INT(ctx->memory.calls, calls);
  }
  CHECK_OK(PoiseMatMultTranspose(A, y, x));
  CHECK_OK(PoiseMatBytes(A, &held, NULL));
  /* what is borrowed there counts for the application */
  if (SampleIsAway(ctx) && !f->there) CHECK_INT(held.device, ctx->device->bytes - device);
  CHECK_OK(PoiseMatPredictBytes(A, NULL, &p));
  /* a prediction is of arrays of the library's own */
  bool own = f->own == POISE_COPY;
  bool least = !own || CHECK(p.least.host <= held.host && p.least.device <= held.device);
  bool most = CHECK(held.host <= p.most.host && held.device <= p.most.device);
  if (!least || !most)
    printf("%s: host %lld in %lld .. %lld, device %lld in %lld .. %lld\n", name, (long long)held.host,
           (long long)p.least.host, (long long)p.most.host, (long long)held.device, (long long)p.least.device,
           (long long)p.most.device);
  if (f->own == POISE_BORROW) { /* values and indices are not counted twice */
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE];
    CHECK_OK(PoiseMatSetValuesCSR(A, a.val));
    CHECK_OK(PoiseMatMult(A, x, y));
    if (SampleIsAway(ctx) && PoiseSize(ctx) == 1)
      CHECK_INT(ctx->device->copied[COPY_TO_DEVICE] - moved, f->there ? 0 : 8 * count);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  FreeArrays(ctx, &a, f->own == POISE_ADOPT);
}

static void TestHeld(PoiseContext ctx)
{
  CheckHeld(ctx, "columns, borrowed");
  CheckHeld(ctx, "columns, copied");
  CheckHeld(ctx, "columns there, borrowed");
  CheckHeld(ctx, "sorted triplets, borrowed");
  CheckHeld(ctx, "triplets, copied");
  CheckHeld(ctx, "triplets anywhere, borrowed");
  CheckHeld(ctx, "triplets anywhere, there");
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* Make the values symmetric and dominant: of the diagonal 4, else -1. */
static void MakeDominant(Arrays *a)
{
  for (PoiseInt k = 0; k < a->n; k++) a->val[k] = ((int32_t *)a->row)[k] == ((int32_t *)a->col)[k] ? 4 : -1;
}

static void CheckSolve(PoiseContext ctx, PoiseMat A, const char *method, const char *type, double scale,
                       PoiseKSP ksp)
{
  PoiseVec x, b, r;
  PoisePC pc;
  double norm, size;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseVecDuplicate(b, &r))) return;
  SampleFill(b, 6);
  CHECK_OK(PoiseKSPSetType(ksp, method));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, type));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK_INT(PoiseKSPConvergedReason(ksp), POISE_CONVERGED_RTOL);
  ctx->device->forbid_copies = !ksp->loop.eager; /* once all is there */
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  ctx->device->forbid_copies = false;
  CHECK_OK(PoiseMatResidual(A, b, x, r));
  CHECK_OK(PoiseVecNorm(r, POISE_NORM_2, &norm));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &size));
  CHECK(norm <= 1e-7 * size);
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &norm)); /* that A has the new values */
  CHECK(norm > 0.1 / scale && norm < 2 / scale);
  if (!strcmp(method, "cg")) CHECK(!ksp->loop.eager == SampleReplays(ctx));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&r);
}

static void CheckSolves(PoiseContext ctx, const char *name)
{
  static const char *const methods[] = {"cg", "bicgstab", "gmres"};
  const Form *f = FormOf(name);
  PoiseMat A;
  PoiseKSP ksp;
  Arrays a;
  MakeArrays(ctx, &tridiagonal, f, EVEN, &a);
  double *val = Room((size_t)a.n * sizeof *val);
  MakeDominant(&a);
  if (!CHECK_OK(CreateOf(ctx, &a, &A)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp)) ||
      !CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL)) ||
      !CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-8, -1, -1, 200)))
    return;
  memcpy(val, a.val, (size_t)a.n * sizeof *val);
  for (int k = 0; k < 6; k++) {
    double scale = k % 2 ? 1 : 8;
    for (PoiseInt e = 0; e < a.n; e++) a.val[e] = scale * val[e];
    CHECK_OK(PoiseMatSetValuesCSR(A, a.val));
    CheckSolve(ctx, A, methods[k / 2], "none", scale, ksp);
    CheckSolve(ctx, A, methods[k / 2], "jacobi", scale, ksp);
    CheckSolve(ctx, A, "richardson", "jacobi", scale, ksp); /* diverges with an old diagonal */
  }
  PoiseKSPDestroy(&ksp);
  PoiseMatDestroy(&A);
  FreeArrays(ctx, &a, false);
  free(val);
}

static void TestSolves(PoiseContext ctx)
{
  CheckSolves(ctx, "columns, borrowed");
  CheckSolves(ctx, "sorted triplets, borrowed");
  CheckSolves(ctx, "triplets anywhere, borrowed");
}

/* ---- NaN ------------------------------------------------------------------------------------- */

/* A NaN in entry (30, 31) is in that row and column, in norms, and ends a solve. */
static void CheckNan(PoiseContext ctx, const char *name)
{
  const Form *f = FormOf(name);
  PoiseMat A;
  PoiseVec x, y;
  PoiseKSP ksp;
  PoisePC pc;
  Arrays a;
  const double *p;
  double norm;
  PoiseInt begin, end;
  MakeArrays(ctx, &tridiagonal, f, EVEN, &a);
  MakeDominant(&a);
  for (PoiseInt k = 0; k < a.n; k++)
    if (((int32_t *)a.row)[k] - f->base == 30 && ((int32_t *)a.col)[k] - f->base == 31) a.val[k] = NAN;
  if (!CHECK_OK(CreateOf(ctx, &a, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  for (int transposed = 0; transposed < 2; transposed++) {
    CHECK_OK(PoiseVecSet(x, 1));
    CHECK_OK(transposed ? PoiseMatMultTranspose(A, x, y) : PoiseMatMult(A, x, y));
    PoiseVecRange(y, &begin, &end);
    if (!CHECK_OK(PoiseVecGetRead(y, &p))) return;
    for (PoiseInt i = begin; i < end; i++) CHECK(isnan(p[i - begin]) == (i == 30 + transposed));
    PoiseVecRestore(y, &p);
  }
  static const PoiseNorm norms[] = {POISE_NORM_1, POISE_NORM_INF, POISE_NORM_FROBENIUS};
  for (int k = 0; k < 3; k++) CHECK(PoiseMatNorm(A, norms[k], &norm) == POISE_OK && isnan(norm));
  CHECK_OK(PoiseMatGetDiagonal(A, y));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, 4, 0);
  CHECK_OK(PoiseVecSet(y, 1));
  if (CHECK_OK(PoiseKSPCreate(ctx, &ksp)) && CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL)) &&
      CHECK_OK(PoiseKSPSetType(ksp, "bicgstab")) && CHECK_OK(PoiseKSPGetPC(ksp, &pc)) &&
      CHECK_OK(PoisePCSetType(pc, "jacobi")) && CHECK_OK(PoiseKSPSolve(ksp, y, x)))
    CHECK_INT(PoiseKSPConvergedReason(ksp), POISE_DIVERGED_NANORINF);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  FreeArrays(ctx, &a, false);
}

static void TestNan(PoiseContext ctx)
{
  CheckNan(ctx, "columns, borrowed");
  CheckNan(ctx, "sorted triplets, borrowed");
  CheckNan(ctx, "triplets anywhere, borrowed");
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* A matrix of that form with ones; NULL: it could not be made. */
static PoiseMat Ones(PoiseContext ctx, const char *name, Arrays *a)
{
  PoiseMat A = NULL;
  MakeArrays(ctx, &tridiagonal, FormOf(name), EVEN, a);
  for (PoiseInt k = 0; k < a->n; k++) a->val[k] = 1;
  CHECK_OK(CreateOf(ctx, a, &A));
  return A;
}

static void CheckRefusals(PoiseContext ctx, const char *name)
{
  static const char *const pcs[] = {"ilu", "icc", "sor", "lu", "bjacobi", "pbjacobi"};
  Arrays a;
  PoiseMat B = NULL, A = Ones(ctx, name, &a);
  PoiseVec x, y;
  PoiseKSP ksp;
  PoisePC pc;
  PoiseInt n;
  PoiseBlockFill fill[POISE_BLOCK_FILLS];
  int64_t *ptr, *col;
  double *val;
  const double one = 1;
  const PoiseInt zero = 0;
  int is, b;
  const PoiseErr no = POISE_ERR_UNSUPPORTED;
  char of[40], words[120];
  if (!A || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
  snprintf(of, sizeof of, "type %s stays as", PoiseMatType(A));
#define REFUSED(call, what)                                                                      \
  snprintf(words, sizeof words, "%s the application holds it, and does not offer %s", of, what); \
  CHECK_ERR(call, no, words)
  REFUSED(PoiseMatScale(A, 2), "PoiseMatScale");
  REFUSED(PoiseMatDiagonalScale(A, y, x), "PoiseMatDiagonalScale");
  REFUSED(PoiseMatShift(A, 2), "changes of its diagonal");
  REFUSED(PoiseMatSetDiagonal(A, y), "changes of its diagonal");
  REFUSED(PoiseMatZeroEntries(A), "PoiseMatZeroEntries");
  REFUSED(PoiseMatZeroRows(A, 0, NULL, 1, NULL, NULL), "PoiseMatZeroRows");
  REFUSED(PoiseMatAXPY(A, 1, A), "PoiseMatAXPY");
  REFUSED(PoiseMatAddBlock(A, 1, &zero, 1, &zero, &one), "new entries");
  REFUSED(PoiseMatSetEntries(A, 1, &zero, &zero, &one), "new entries");
  REFUSED(PoiseMatSetPatternCOO(A, 1, &zero, &zero), "PoiseMatSetPatternCOO");
  REFUSED(PoiseMatSetValuesCOO(A, &one), "PoiseMatSetPatternCOO");
  REFUSED(PoiseMatSetValuesBCSR(A, 0, &one), "PoiseMatSetValuesBCSR");
  REFUSED(PoiseMatGetRow(A, 0, &n, NULL, NULL), "its rows");
  REFUSED(PoiseMatCopyCSR(A, &ptr, &col, &val), "its rows");
  REFUSED(PoiseMatDuplicate(A, 1, &B), "PoiseMatDuplicate");
  REFUSED(PoiseMatTranspose(A, &B), "PoiseMatTranspose");
  REFUSED(PoiseMatIsSymmetric(A, 0, &is), "PoiseMatTranspose");
  REFUSED(PoiseMatFindBlockSize(A, fill, &b), "its rows");
  REFUSED(PoiseMatSave(A, "nothing.mtx"), "its rows");
#undef REFUSED
  CHECK(!B);
  CHECK_OK(PoiseMatAssemble(A)); /* nothing waits */
  static const char *const types[] = {"csr", "csri", "seg", "bcsr", "auto", "shell", "pcsc", "pcoo"};
  for (int k = 0; k < 8; k++) {
    bool same = !strcmp(types[k], PoiseMatType(A));
    snprintf(words, sizeof words, "a matrix of type %s cannot become %s", PoiseMatType(A), types[k]);
    if (same)
      CHECK_OK(PoiseMatSetType(A, types[k]));
    else
      CHECK_ERR(PoiseMatSetType(A, types[k]), no, words);
  }
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  for (int k = 0; k < 6; k++) {
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, pcs[k]));
    CHECK_OK(PoiseMatSetBlockSize(A, PoiseSize(ctx) == 1 ? 2 : 1));
    snprintf(words, sizeof words, "type %s %s", PoiseMatType(A),
             k < 5 ? "does not offer its rows" : "gives its diagonal, not diagonal blocks of 2");
    if (k < 5 || PoiseSize(ctx) == 1) CHECK_ERR(PoiseKSPSolve(ksp, y, x), no, words);
  }
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_RCM));
  CHECK_ERR(PoiseKSPSolve(ksp, y, x), no, "cannot be rearranged");
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  FreeArrays(ctx, &a, false);
}

static void TestRefusals(PoiseContext ctx)
{
  PoiseMat A;
  CheckRefusals(ctx, "columns, borrowed");
  CheckRefusals(ctx, "sorted triplets, borrowed");
  CheckRefusals(ctx, "triplets anywhere, borrowed");
  if (!CHECK_OK(PoiseMatCreate(ctx, 2, 2, POISE_DECIDE, POISE_DECIDE, &A))) return;
  CHECK_ERR(PoiseMatSetType(A, "pcsc"), POISE_ERR_UNSUPPORTED,
            "auto cannot become pcsc: create another one by PoiseMatCreateCSC");
  CHECK_ERR(PoiseMatSetType(A, "pcoo"), POISE_ERR_UNSUPPORTED,
            "auto cannot become pcoo: create another one by PoiseMatCreateTriplets");
  SetOptions(ctx, "-q_mat_type pcsc");
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "q_"));
  CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_UNSUPPORTED,
            "auto cannot become pcsc: create another one by PoiseMatCreateCSC");
  PoiseMatDestroy(&A);
}

/* ---- wrong arrays ---------------------------------------------------------------------------- */

enum { ROWS = 3, COLS = 2, NZ = 4 };

/* Every rank gives wrong columns; messages are of rank 0's. */
#define WRONG_CSC(change, words)                                                                           \
  do {                                                                                                     \
    int32_t ptr[] = {0, 2, 4}, row[] = {0, 2, 1, 2};                                                       \
    double val[] = {1, 2, 3, 4};                                                                           \
    PoiseCSC csc = {.ptr32 = ptr, .row32 = row, .val = val};                                               \
    change;                                                                                                \
    CHECK_ERR(PoiseMatCreateCSC(ctx, ROWS, COLS, ROWS, COLS, &csc, POISE_COPY, &A), POISE_ERR_ARG, words); \
    CHECK(!A);                                                                                             \
  } while (0)

#define WRONG_COO(change, words)                                                                      \
  do {                                                                                                \
    int32_t row[] = {0, 2, 1, 2}, col[] = {0, 0, 1, 1};                                               \
    double val[] = {1, 2, 3, 4};                                                                      \
    PoiseTriplets t = {.n = NZ, .row32 = row, .col32 = col, .val = val};                              \
    change;                                                                                           \
    CHECK_ERR(PoiseMatCreateTriplets(ctx, ROWS, COLS, ROWS, COLS, &t, POISE_COPY, &A), POISE_ERR_ARG, \
              words);                                                                                 \
    CHECK(!A);                                                                                        \
  } while (0)

static void TestWrongArrays(PoiseContext ctx)
{
  PoiseMat A = NULL;
  WRONG_CSC(csc.base = 2, "base 2 of the indices");
  WRONG_CSC(csc.ptr64 = &(int64_t){0}, "give exactly one of ptr32 and ptr64");
  WRONG_CSC(csc.row32 = NULL, "give exactly one of row32 and row64");
  WRONG_CSC(csc.val = NULL, "val is NULL and there are 4 entries");
  WRONG_CSC(ptr[0] = 1, "the first column offset is 1, not the base 0");
  WRONG_CSC(ptr[1] = 5, "column offsets decrease at column 1: 5, then 4");
  WRONG_CSC(row[3] = 3, "column 1 has row 3, legal are 0 to 2");
  WRONG_CSC(row[0] = -1, "column 0 has row -1, legal are 0 to 2");
  WRONG_CSC(row[3] = 1, "column 1 has row 1 twice");
  WRONG_CSC((row[2] = 2, row[3] = 1, row[0] = 2), "column 0 has row 2 twice");
  CHECK_ERR(PoiseMatCreateCSC(ctx, ROWS, COLS, ROWS, COLS, NULL, POISE_COPY, &A), POISE_ERR_ARG,
            "the CSC arrays are NULL");
  const PoiseCSC down = {.ptr32 = (int32_t[]){0, 2, 2}, .row32 = (int32_t[]){2, 1}, .val = (double[]){1, 2}};
  CHECK_ERR(PoiseMatCreateCSC(ctx, ROWS, COLS, ROWS, COLS, &down, POISE_BORROW, &A), POISE_ERR_ARG,
            "the rows of column 0 are not sorted, so the arrays cannot be borrowed");
  WRONG_COO(t.base = -1, "base -1 of the indices");
  WRONG_COO(t.n = -3, "-3 triplets");
  WRONG_COO(t.row64 = &(int64_t){0}, "give exactly one of row32 and row64");
  WRONG_COO(t.col32 = NULL, "give exactly one of col32 and col64");
  WRONG_COO(t.val = NULL, "val is NULL and there are 4 triplets");
  WRONG_COO(row[2] = 3, "triplet 2 has row 3, legal are 0 to 2");
  WRONG_COO(row[1] = -1, "triplet 1 has row -1, legal are 0 to 2");
  WRONG_COO((t.base = 1, row[0] = 1, row[2] = 1, col[0] = 3), "triplet 0 has column 3, legal are 1 to 2");
  CHECK_ERR(PoiseMatCreateTriplets(ctx, ROWS, COLS, ROWS, COLS, NULL, POISE_COPY, &A), POISE_ERR_ARG,
            "the triplets are NULL");
  if (!SampleIsAway(ctx)) return;
  int32_t index[] = {0, 1};
  double val[] = {1, 2};
  const PoiseCSC here = {.ptr32 = index, .row32 = index, .val = val};
  CHECK_ERR(PoiseMatCreateDeviceCSC(ctx, ROWS, 1, ROWS, 1, &here, POISE_COPY, &A), POISE_ERR_ARG,
            "csc->ptr32: ");
  const PoiseTriplets now = {.n = 2, .row32 = index, .col32 = index, .val = val};
  CHECK_ERR(PoiseMatCreateDeviceTriplets(ctx, ROWS, COLS, ROWS, COLS, &now, POISE_COPY, &A), POISE_ERR_ARG,
            "triplets->row32: ");
}

/* ---- view, and failing allocations ----------------------------------------------------------- */

static void CheckView(PoiseContext ctx, const char *name, const char *const words[3])
{
  Arrays a;
  char text[2048];
  PoiseMat A = Ones(ctx, name, &a);
  if (!A) return;
  TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
  for (int k = 0; k < 3; k++)
    if (PoiseRank(ctx) == 0 && !CHECK(strstr(text, words[k]) != NULL)) printf("%s in\n%s", words[k], text);
  PoiseMatDestroy(&A);
  FreeArrays(ctx, &a, false);
}

static void TestView(PoiseContext ctx)
{
  const char *ghosts = PoiseSize(ctx) > 1 ? "ghost rows" : "memory";
  CheckView(ctx, "columns, borrowed", (const char *const[]){"type pcsc", "178 nonzeros, on a rank", ghosts});
  CheckView(ctx, "sorted triplets, borrowed",
            (const char *const[]){"type pcoo", "178 nonzeros, on a rank", "in the order of rows"});
  CheckView(ctx, "triplets anywhere, borrowed",
            (const char *const[]){"type pcoo", "beyond the application's arrays", "in any order"});
}

typedef struct Case {
  const Form *form;
  Arrays *there; /* arrays on the device, which body cannot make */
} Case;

static PoiseErr Use(PoiseContext ctx, void *arg)
{
  const Case *c = arg;
  Arrays here, *a = c->there ? c->there : &here;
  PoiseMat A = NULL;
  PoiseVec x = NULL, y = NULL;
  double norm;
  if (!c->there) MakeArrays(ctx, &shapes[SQUARE], c->form, EVEN, &here);
  PoiseErr e = CreateOf(ctx, a, &A);
  bool adopted = !e && c->form->own == POISE_ADOPT;
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e) e = PoiseMatMultTranspose(A, x, y);
  if (!e) e = PoiseMatGetDiagonal(A, y);
  if (!e) e = PoiseMatNorm(A, POISE_NORM_1, &norm);
  if (!e) CHECK(norm > 0);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  if (!c->there) FreeArrays(ctx, &here, adopted);
  return e;
}

static void TestAllocations(PoiseContext ctx)
{
  static const char *const names[] = {"columns, adopted", "sorted triplets, copied",
                                      "triplets of columns, adopted"};
  for (int k = 0; k < 3; k++) TestAllocationFailures(ctx, Use, &(Case){FormOf(names[k]), NULL});
  Arrays a;
  const Form *f = FormOf("triplets anywhere, there");
  MakeArrays(ctx, &shapes[SQUARE], f, EVEN, &a);
  TestAllocationFailures(ctx, Use, &(Case){f, &a});
  FreeArrays(ctx, &a, false);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"forms", TestForms, 0},
                               {"held", TestHeld, 0},
                               {"solves", TestSolves, 0},
                               {"nan", TestNan, 0},
                               {"refusals", TestRefusals, 0},
                               {"wrong_arrays", TestWrongArrays, TEST_SERIAL},
                               {"view", TestView, 0},
                               {"allocations", TestAllocations, 0},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "pcsc", tests);
}

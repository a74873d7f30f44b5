/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products and vector kernels in fp32. Entries and vectors that are fp32 numbers have products that are exact
  in fp64, and sums are fp64. So the result is that of the fp64 kernel, rounded: bit for bit.
*/
#include "mat/product/csr_kernels.h"
#include "mat/product/index16.h"
#include "mat/csr/entries.h"
#include "pc/amg/amg_kernels.h"
#include "sample.h"
#include "vec/vec_kernels.h"

/* Round what the buffer holds to fp32. */
static void RoundAll(Buffer *b, int64_t n)
{
  double *v;
  if (!CHECK_OK(poiseBufferUpdate(b, HOST, &v))) return;
  for (int64_t i = 0; i < n; i++) v[i] = (double)(float)v[i];
}

static PoiseVec Rounded(Layout *layout, uint64_t seed)
{
  PoiseVec v = NULL;
  if (!CHECK_OK(poiseVecCreateLayout(layout, &v))) return NULL;
  SampleFill(v, seed);
  RoundAll(&v->data, layout->n);
  return v;
}

/* The same numbers in fp32. */
static Buffer Single(PoiseVec v)
{
  Buffer b = {0};
  CHECK_OK(poiseMakeSingle(v->ctx, &v->data, v->layout->n, 1, "a vector", &b));
  return b;
}

/* Is `single` the rounded content of v? */
static void CheckRounded(PoiseVec v, Buffer *single)
{
  const double *p;
  const float *q;
  if (!CHECK_OK(poiseBufferRead(&v->data, HOST, &p)) || !CHECK_OK(poiseBufferRead(single, HOST, &q))) return;
  int64_t wrong = 0;
  for (int64_t i = 0; i < v->layout->n; i++) wrong += q[i] != (float)p[i];
  CHECK_INT(wrong, 0);
}

/* Why A has no products in fp32. */
static const char *Lacks(PoiseMat A)
{
  const char *why = "";
  CHECK_OK(poiseMatLacksSingle(A, &why));
  return why;
}

/* A product of A in fp32, with A's values. */
static void MakeProduct(PoiseMat A, Product *p)
{
  *p = (Product){0};
  poiseProductInitSingle(A, p);
  CHECK_OK(poiseMakeSingle(A->ctx, &A->csr.val, poiseCsrScalars(&A->csr), 1, "values", &p->val));
}

static void CheckProduct(PoiseMat A, double a, double b)
{
  Product p;
  PoiseVec x = Rounded(A->cols, 3), y = Rounded(A->rows, 4);
  Buffer x32 = Single(x), y32 = Single(y);
  const double *skip;
  double one = 1;
  Buffer flag = {0};
  MakeProduct(A, &p);
  CHECK_OK(poiseBufferCreate(A->ctx->device, sizeof one, "a flag", &flag));
  CHECK_OK(poiseBufferWrite(&flag, HOST, &skip));
  *(double *)(uintptr_t)skip = one;
  CHECK_OK(poiseBufferRead(&flag, DEVICE, &skip));
  CHECK_OK(PoiseAgree(A->ctx, poiseMatReady(A)));
  CHECK_OK(poiseProductReady(&p));
  for (int linked = 0; linked <= (A->ctx->link != NULL); linked++) { /* ghosts by hosts, and by devices */
    bool used = poiseLinkUse(A->ctx, linked);
    CHECK_OK(poiseMatMultSingle(&p, 0, a, &x32, b, &y32, skip));
    if (!linked) CheckRounded(y, &y32); /* nothing done */
    CHECK_OK(poiseMatMultSingle(&p, 0, a, &x32, b, &y32, NULL));
    CHECK_OK(poiseMatMultFuse(A, (ScalarRef){NULL, a}, x, (ScalarRef){NULL, b}, y, NULL, NULL, NULL));
    CHECK_OK(poiseMatMultSingle(&p, 0, 0, &x32, 1, &y32, NULL));
    CHECK_OK(PoiseAgree(A->ctx, poiseDeviceSync(A->ctx->device)));
    poiseLinkUse(A->ctx, used);
    CheckRounded(y, &y32);
    RoundAll(&y->data, y->layout->n);
  }
  Buffer *all[] = {&x32, &y32, &flag};
  for (int k = 0; k < 3; k++) poiseBufferDestroy(all[k]);
  poiseProductDestroy(&p);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

/* The same where columns have 16 bits: on devices other than the host. */
static void CheckProduct16(PoiseMat A)
{
  Index16View v = {0};
  CHECK_OK(PoiseOptionsSet(A->ctx, "in16_mat_index16", "yes"));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "in16_"));
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK_OK(poiseMatReady(A));
  CHECK_OK(poiseIndex16View(A, &v));
  if (PoiseSize(A->ctx) == 1) CHECK(!v.code == (A->ctx->device->ops->is_host || A->csr.nz == 0));
  CheckProduct(A, 1, 0);
  CheckProduct(A, -1, 1);
}

/* Rows of this rank, of n block rows. */
static PoiseInt Rows(PoiseContext ctx, int layout, PoiseInt n, int b)
{
  PoiseInt m = SampleLocal(ctx, layout, n), size = PoiseSize(ctx);
  return b * (m == POISE_DECIDE ? n / size + (PoiseRank(ctx) < n % size) : m);
}

/* Rows of `most` entries at most, or about all of that many. layout: as in sample.h */
static PoiseErr Matrix(PoiseContext ctx, int layout, PoiseInt n, PoiseInt columns, int b, bool even, int most,
                       PoiseMat *A)
{
  double *v = NULL;
  POISE_TRY(
      PoiseMatCreate(ctx, Rows(ctx, layout, n, b), Rows(ctx, layout, columns, b), n * b, columns * b, A));
  PoiseInt begin = (*A)->rows->begin / b, end = begin + (*A)->rows->n / b;
  POISE_TRY(PoiseMatSetType(*A, b > 1 ? "bcsr" : "csr"));
  POISE_TRY(PoiseMatSetBlockSize(*A, b));
  POISE_TRY(poiseAllocArray(ctx, b * b, sizeof *v, "a block", &v));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = begin; i < end && !e; i++)
    for (int k = 0; k < (even ? most : (int)(i * 7 % (most + 1))) && !e; k++) {
      PoiseInt j = (i + k * (1 + i % 3)) % columns, rows[32], cols[32];
      for (int r = 0; r < b; r++) rows[r] = i * b + r, cols[r] = j * b + r;
      for (int r = 0; r < b * b; r++) v[r] = (float)TestRandom(9, (uint64_t)(i * 1000 + k * 64 + r));
      e = PoiseMatAddBlock(*A, b, rows, b, cols, v);
    }
  poiseFree(ctx, &v);
  PoiseErr kept = PoiseMatAssemble(*A); /* reports what failed on any rank */
  if (!e) e = kept;
  if (!e) RoundAll(&(*A)->csr.val, poiseCsrScalars(&(*A)->csr)); /* sums of entries that fell together */
  return e;
}

static void TestProducts(PoiseContext ctx)
{
  const PoiseInt sizes[] = {0, 1, 37, 1024, 2500};
  int layouts = PoiseSize(ctx) > 1 ? NLAYOUTS : 1;
  for (int b = 1; b <= MAX_SINGLE_BLOCK; b++)
    for (int s = 0; s < 5 * layouts; s++)
      for (int even = b > 1; even <= 1; even++) { /* bcsr of uneven rows is summed otherwise in fp64 */
        PoiseMat A = NULL;
        PoiseInt n = sizes[s % 5] / b, columns = s % 2 ? n + 3 : n / 2 + 1;
        if (!CHECK_OK(Matrix(ctx, s / 5, n, columns, b, even, s % 5 == 2 ? 30 : 5, &A))) return;
        CHECK(!Lacks(A));
        CheckProduct(A, 1, 0);
        CheckProduct(A, -1, 1);
        CheckProduct(A, 0.75, -2);
        if (b == 1) CheckProduct16(A);
        PoiseMatDestroy(&A);
      }
}

/* Values are written over what y held, NaN too. */
static void TestOverwrites(PoiseContext ctx)
{
  for (int b = 1; b <= 3; b += 2) {
    PoiseMat A = NULL;
    if (!CHECK_OK(Matrix(ctx, EVEN, 100, 100, b, true, 5, &A))) return;
    PoiseVec x = Rounded(A->cols, 3), y = Rounded(A->rows, 4);
    CHECK_OK(PoiseVecSet(y, NAN));
    Buffer x32 = Single(x), y32 = Single(y);
    Product p;
    MakeProduct(A, &p);
    CHECK_OK(poiseMatMultSingle(&p, 0, 2, &x32, 0, &y32, NULL));
    CHECK_OK(poiseMatMultFuse(A, (ScalarRef){NULL, 2}, x, (ScalarRef){NULL, 0}, y, NULL, NULL, NULL));
    CheckRounded(y, &y32);
    poiseBufferDestroy(&x32);
    poiseBufferDestroy(&y32);
    poiseProductDestroy(&p);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
  }
}

/* Two products of a matrix at once, in turns, while that in fp64 takes other forms: that in fp32 stays as it
   was, whether or not the columns of 16 bits are there that both read. */
static void TestAtOnce(PoiseContext ctx)
{
  static const struct {
    const char *type, *index16;
  } steps[] = {{"csr", "no"},   {"csri", "no"},  {"csr", "yes"}, {"seg", "yes"},
               {"auto", "yes"}, {"csri", "yes"}, {"csr", "no"}};
  PoiseMat A = NULL;
  if (!CHECK_OK(Matrix(ctx, EVEN, 2500, 2503, 1, false, 30, &A)) ||
      !CHECK_OK(PoiseMatSetOptionsPrefix(A, "once_")))
    return;
  PoiseVec x = Rounded(A->cols, 3), y = Rounded(A->rows, 4), z = NULL;
  Buffer x32 = Single(x), y32 = Single(y);
  Product p;
  double norm = NAN, size = NAN;
  CHECK_OK(PoiseVecDuplicate(y, &z));
  CHECK_OK(PoiseMatMult(A, x, z)); /* what both must be */
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &size));
  MakeProduct(A, &p);
  for (int k = 0; k < 7; k++) {
    CHECK_OK(PoiseOptionsSet(ctx, "once_mat_type", steps[k].type));
    CHECK_OK(PoiseOptionsSet(ctx, "once_mat_index16", steps[k].index16));
    CHECK_OK(PoiseBarrier(ctx));
    CHECK_OK(PoiseMatSetFromOptions(A));
    for (int again = 0; again < 2; again++) {
      CHECK_OK(poiseMatMultSingle(&p, 0, 1, &x32, 0, &y32, NULL));
      CHECK_OK(PoiseMatMult(A, x, y));
      CHECK_OK(PoiseAgree(ctx, poiseDeviceSync(ctx->device)));
      CheckRounded(z, &y32);
      CHECK_OK(PoiseVecAXPY(y, -1, z));
      CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &norm));
      CHECK_NEAR(norm, 0, 1e-14 * size);
    }
    CHECK(p.form == &poiseForm_csr && !strcmp(A->type->name, steps[k].type));
  }
  poiseBufferDestroy(&x32);
  poiseBufferDestroy(&y32);
  poiseProductDestroy(&p);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  PoiseMatDestroy(&A);
}

static void TestLacking(PoiseContext ctx)
{
  PoiseMat A = NULL;
  if (!CHECK_OK(Matrix(ctx, EVEN, 20, 20, MAX_SINGLE_BLOCK + 1, true, 2, &A))) return;
  const char *why = Lacks(A);
  CHECK(why && strstr(why, "blocks are too large"));
  PoiseMatDestroy(&A);
}

/* A row of all columns, and others of one entry. */
static PoiseErr OneLong(PoiseContext ctx, PoiseInt n, int b, const char *type, PoiseMat *A)
{
  PoiseErr e = POISE_OK;
  POISE_TRY(PoiseMatCreate(ctx, n, n, n, n, A));
  POISE_TRY(PoiseMatSetType(*A, type));
  POISE_TRY(PoiseMatSetBlockSize(*A, b));
  for (PoiseInt i = 0; i < n && !e; i++)
    for (int k = 0; k < 2 && !e; k++)
      e = PoiseMatAddBlock(*A, 1, k ? &(PoiseInt){0} : &i, 1, &i, &(double){1});
  return e ? e : PoiseMatAssemble(*A);
}

/* Kernels for rows that are alike are not taken in the place of others. */
static void TestUneven(PoiseContext ctx)
{
  static const char *const types[] = {"csri", "seg", "bcsr", "auto", "csr"};
  DeviceModel *model = &ctx->device->model;
  int threads = model->host_threads;
  model->host_threads = 16;
  for (int t = 0; t < 5; t++) {
    PoiseMat A = NULL;
    if (!CHECK_OK(OneLong(ctx, 60000, 2, types[t], &A))) return;
    CHECK_OK(poiseMatReady(A));
    const char *why = Lacks(A);
    CHECK(t < 4 ? why && strstr(why, "too uneven") : !why);
    PoiseMatDestroy(&A);
    if (t < 2 && CHECK_OK(Matrix(ctx, EVEN, 50, 50, 1, true, 5, &A))) {
      CHECK_OK(PoiseMatSetType(A, types[t]));
      CHECK(!Lacks(A));
      PoiseMatDestroy(&A);
    }
  }
  model->host_threads = threads;
}

/* y = a x + b y from each type to each. */
static void TestAxpby(PoiseContext ctx)
{
  Device *dev = ctx->device;
  PoiseVec x = NULL, y = NULL;
  if (!CHECK_OK(PoiseVecCreate(ctx, 1500, 1500, &x))) return;
  SampleFill(x, 1);
  RoundAll(&x->data, 1500);
  y = Rounded(x->layout, 2);
  Buffer x32 = Single(x), y32 = Single(y), other = Single(y);
  NarrowArgs n = {.n = 1500, .a.value = 3, .b.value = 0.5};
  AxpbyArgs_f32 f = {.n = 1500, .a.value = 3, .b.value = 0.5};
  AxpbyArgs d = {.n = 1500, .a.value = 3, .b.value = 0.5};
  WidenArgs w = {.n = 1500, .a.value = 1};
  CHECK_OK(poiseBufferRead(&x->data, DEVICE, &n.x));
  CHECK_OK(poiseBufferUpdate(&y32, DEVICE, &n.y));
  CHECK_OK(LAUNCH(dev, narrow, &n));
  CHECK_OK(poiseBufferRead(&x32, DEVICE, &f.x));
  CHECK_OK(poiseBufferUpdate(&other, DEVICE, &f.y));
  CHECK_OK(LAUNCH(dev, axpby_f32, &f));
  d.x = n.x;
  CHECK_OK(poiseVecUpdate(y, &d.y));
  CHECK_OK(LAUNCH(dev, axpby, &d));
  CheckRounded(y, &y32);
  CheckRounded(y, &other);
  CHECK_OK(poiseBufferRead(&y32, DEVICE, &w.x));
  CHECK_OK(poiseVecWrite(y, &w.y));
  CHECK_OK(LAUNCH(dev, widen, &w));
  CheckRounded(y, &y32);
  poiseBufferDestroy(&x32);
  poiseBufferDestroy(&y32);
  poiseBufferDestroy(&other);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

/* The power by which a number becomes 1 to 2, exactly; 1 where there is none. */
static void TestPower(PoiseContext ctx)
{
  const double none[] = {0, NAN, INFINITY};
  (void)ctx;
  for (int k = 0; k < 3; k++) CHECK(poiseAmgPower(&none[k]) == 1);
  CHECK(poiseAmgPower(NULL) == 1);
  for (int e = -1020; e <= 1020; e += 17) {
    double x = ldexp(1.75, e), power = poiseAmgPower(&x);
    CHECK(power * x == 1.75 && 1 / power == ldexp(1, e));
  }
  CHECK(poiseFinite(poiseAmgPower(&(double){5e-324})) && poiseAmgPower(&(double){1.7e308}) > 0);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"products", TestProducts, 0},       {"overwrites", TestOverwrites, 0},
                               {"at_once", TestAtOnce, 0},          {"lacking", TestLacking, TEST_SERIAL},
                               {"uneven", TestUneven, TEST_SERIAL}, {"axpby", TestAxpby, TEST_SERIAL},
                               {"power", TestPower, TEST_SERIAL},   {NULL, NULL, 0}};
  return TestMain(argc, argv, "single", tests);
}

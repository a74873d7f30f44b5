/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Arrays of an application in the memory of the device: vectors, CSR and triplets made of them. They are
  adopted, borrowed or copied there, and stay there.
*/
#include "mat/assembly/coo.h"
#include "mat/csr/entries.h"
#include "problem.h"

enum { NX = 24, NY = 16, N = NX * NY, B = 4 };

/* ---- arrays on the device -------------------------------------------------------------------- */

/* Are these n numbers in the device's memory f(i) for the global rows i? */
static bool Holds(PoiseContext ctx, const double *p, PoiseInt n, PoiseInt begin, double scale, double shift)
{
  double *host = malloc(((size_t)n + 1) * sizeof *host);
  bool holds = true;
  CHECK_OK(poiseDeviceCopy(ctx->device, host, p, (size_t)n * sizeof *host, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(ctx->device));
  for (PoiseInt i = 0; i < n; i++) holds = holds && host[i] == scale * (double)(begin + i) + shift;
  free(host);
  return holds;
}

static double *LendRows(PoiseContext ctx, PoiseInt *n, PoiseInt *begin)
{
  PoiseSplit(ctx, 50, begin, n);
  double content[50] = {0};
  for (PoiseInt i = 0; i < *n; i++) content[i] = (double)(*begin + i);
  return SampleLend(ctx, (size_t)*n * sizeof *content, content);
}

static void TestDeviceArray(PoiseContext ctx)
{
  for (int own = POISE_COPY; own <= POISE_BORROW; own++) {
    PoiseVec x, y;
    PoiseInt n, begin;
    double *p = LendRows(ctx, &n, &begin), sum;
    bool mine = own == POISE_BORROW;
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE] + ctx->device->copied[COPY_TO_HOST];
    if (!CHECK_OK(PoiseVecCreateDeviceArray(ctx, n, 50, p, (PoiseOwn)own, &x))) return;
    CHECK_OK(PoiseVecDuplicate(x, &y));
    CHECK_OK(PoiseVecSet(y, 1));
    CHECK_OK(PoiseVecAXPBY(x, 1, 2, y)); /* 2 i + 1 */
    CHECK_INT(ctx->device->copied[COPY_TO_DEVICE] + ctx->device->copied[COPY_TO_HOST], moved);
    if (own != POISE_ADOPT) CHECK(Holds(ctx, p, n, begin, mine ? 2 : 1, mine ? 1 : 0));
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK_NEAR(sum, 2 * 49 * 50 / 2 + 50, 0);
    double *host;
    CHECK_OK(PoiseVecGetWrite(x, &host));
    for (PoiseInt i = 0; i < n; i++) host[i] = 3 * (double)(begin + i);
    CHECK_OK(PoiseVecRestore(x, &host));
    if (mine) CHECK(Holds(ctx, p, n, begin, 3, 0));
    for (PoiseInt i = 0; i < 50; i++) /* from any rank */
      if (i % PoiseSize(ctx) == PoiseRank(ctx)) CHECK_OK(PoiseVecAddValues(x, 1, &i, &(double){5}));
    CHECK_OK(PoiseVecAssemble(x));
    if (mine) CHECK(Holds(ctx, p, n, begin, 3, 5));
    CHECK_OK(PoiseVecPointwiseMult(x, x, y));
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK_NEAR(sum, 3 * 49 * 50 / 2 + 250, 0);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    if (own != POISE_ADOPT) SampleTakeBack(ctx, p);
  }
}

/* An application's kernels work on the entries of a vector of the library, here by copies in its stream. */
static void TestEntriesOnDevice(PoiseContext ctx)
{
  PoiseInt n, begin;
  PoiseVec x;
  double *p = LendRows(ctx, &n, &begin), *to, sum, mine[50];
  const double *from;
  size_t bytes;
  for (int lent = 0; lent < 2; lent++) {
    if (!CHECK_OK(lent ? PoiseVecCreateArray(ctx, n, 50, mine, POISE_BORROW, &x)
                       : PoiseVecCreate(ctx, n, 50, &x)))
      return;
    bytes = (size_t)n * sizeof *p;
    CHECK_OK(PoiseVecGetDeviceWrite(x, &to));
    CHECK_OK(poiseDeviceCheckPointer(ctx->device, to, bytes, "entries"));
    CHECK_OK(poiseDeviceCopy(ctx->device, to, p, bytes, COPY_ON_DEVICE));
    CHECK_OK(PoiseVecRestore(x, &to));
    CHECK(to == NULL);
    CHECK_OK(PoiseWait(ctx));
    for (PoiseInt i = 0; lent && i < n; i++) CHECK_NEAR(mine[i], (double)(begin + i), 0);
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK_NEAR(sum, 49 * 50 / 2, 0);
    CHECK_OK(PoiseVecScale(x, 2));
    CHECK_OK(PoiseVecGetDeviceRead(x, &from));
    CHECK_OK(poiseDeviceCheckPointer(ctx->device, from, bytes, "entries"));
    CHECK(Holds(ctx, from, n, begin, 2, 0));
    CHECK_OK(PoiseVecRestore(x, &from));
    CHECK_OK(PoiseVecGetDeviceUpdate(x, &to));
    CHECK(Holds(ctx, to, n, begin, 2, 0));
    if (n) CHECK_OK(poiseDeviceCopy(ctx->device, to, p, sizeof *p, COPY_ON_DEVICE)); /* the first alone */
    CHECK_OK(PoiseVecRestore(x, &to));
    CHECK_OK(PoiseVecGetRead(x, &from));
    for (PoiseInt i = 0; i < n; i++) CHECK_NEAR(from[i], (double)((begin + i) * (i ? 2 : 1)), 0);
    CHECK_OK(PoiseVecRestore(x, &from));
    CHECK_OK(PoiseVecDestroy(&x));
  }
  SampleTakeBack(ctx, p);
}

static PoiseErr CopyOnDevice(void *arg, PoiseVec x, PoiseVec y)
{
  PoiseContext ctx = PoiseVecContext(x);
  const double *from;
  double *to;
  ++*(int *)arg;
  POISE_TRY(PoiseVecGetDeviceRead(x, &from));
  POISE_TRY(PoiseVecGetDeviceWrite(y, &to));
  POISE_TRY(
      poiseDeviceCopy(ctx->device, to, from, (size_t)PoiseVecLocalSize(x) * sizeof *to, COPY_ON_DEVICE));
  POISE_TRY(PoiseVecRestore(y, &to));
  return PoiseVecRestore(x, &from);
}

/* A shell whose function works on the device: nothing travels. */
static void TestShellOnDevice(PoiseContext ctx)
{
  const PoiseShell f = {.mult = CopyOnDevice};
  PoiseInt n, begin;
  PoiseVec x, y;
  PoiseMat A;
  double *p = LendRows(ctx, &n, &begin);
  int calls = 0;
  if (!CHECK_OK(PoiseVecCreateDeviceArray(ctx, n, 50, p, POISE_BORROW, &x)) ||
      !CHECK_OK(PoiseMatCreateShell(ctx, n, n, 50, 50, &f, &calls, &A)))
    return;
  CHECK_OK(PoiseVecDuplicate(x, &y));
  const int64_t *copied = ctx->device->copied, moved = copied[COPY_TO_DEVICE] + copied[COPY_TO_HOST];
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseMatMult(A, y, x));
  CHECK_INT(copied[COPY_TO_DEVICE] + copied[COPY_TO_HOST], moved);
  CHECK_INT(calls, 2);
  CHECK(Holds(ctx, p, n, begin, 1, 0));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseVecDestroy(&x));
  SampleTakeBack(ctx, p);
}

/* A pointer to something else is named; one rank's mistake is an error on all. */
static void TestHostPointer(PoiseContext ctx)
{
  PoiseVec x;
  PoiseInt n, begin;
  double *p = LendRows(ctx, &n, &begin), host[50];
  bool mine = PoiseRank(ctx) == 0; /* which has rows */
  CHECK_ERR_OF(PoiseVecCreateDeviceArray(ctx, n, 50, mine ? NULL : p, POISE_BORROW, &x), mine, POISE_ERR_ARG,
               "NULL");
  if (SampleIsAway(ctx))
    for (int own = POISE_COPY; own <= POISE_BORROW; own++) {
      CHECK_ERR_OF(PoiseVecCreateDeviceArray(ctx, n, 50, mine ? host : p, (PoiseOwn)own, &x), mine,
                   POISE_ERR_ARG, "a host pointer?");
      CHECK(x == NULL);
      if (!strcmp(ctx->device->ops->name, "cuda")) continue; /* it does not know lengths */
      CHECK_ERR_OF(PoiseVecCreateDeviceArray(ctx, n, 50, mine ? p + 1 : p, (PoiseOwn)own, &x), mine,
                   POISE_ERR_ARG, "array: ");
    }
  SampleTakeBack(ctx, p);
}

/* And the other way round: where whole arrays are taken. */
static void TestDevicePointer(PoiseContext ctx)
{
  enum { ROWS = 4 };
  static const int32_t ptr[ROWS + 1] = {0, 1, 2, 3, 4}, col[ROWS] = {0, 1, 2, 3};
  static const PoiseInt rows[ROWS] = {0, 1, 2, 3};
  static const double val[ROWS] = {1, 2, 3, 4};
  void *p = NULL;
  PoiseVec x;
  PoiseMat A, sparse;
  if (!SampleIsAway(ctx)) TEST_SKIP("host and device are one");
  if (!CHECK_OK(ctx->device->ops->alloc(ctx->device, 8 * ROWS + 8, "an application's array", &p))) return;
  poiseFreeCount(ctx);
  CHECK_ERR(PoiseVecCreateArray(ctx, ROWS, ROWS, p, POISE_COPY, &x), POISE_ERR_ARG, "array: ");
  PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = p};
  CHECK_ERR(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A), POISE_ERR_ARG, "val: ");
  csr.val = (double *)(uintptr_t)val, csr.ptr32 = p;
  CHECK_ERR(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A), POISE_ERR_ARG, "ptr: ");
  csr.ptr32 = ptr, csr.col32 = p;
  CHECK_ERR(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A), POISE_ERR_ARG, "col: ");
  csr.col32 = col;
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A))) return;
  CHECK_ERR(PoiseMatSetValuesCSR(A, p), POISE_ERR_ARG, "val: ");
  CHECK_OK(PoiseMatCreate(ctx, ROWS, ROWS, ROWS, ROWS, &sparse));
  CHECK_ERR(PoiseMatSetPatternCOO(sparse, ROWS, p, rows), POISE_ERR_ARG, "rows: ");
  CHECK_ERR(PoiseMatSetPatternCOO(sparse, ROWS, rows, p), POISE_ERR_ARG, "cols: ");
  CHECK_OK(PoiseMatSetPatternCOO(sparse, ROWS, rows, rows));
  CHECK_ERR(PoiseMatSetValuesCOO(sparse, p), POISE_ERR_ARG, "values of triplets");
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&sparse));
  SampleTakeBack(ctx, p);
}

static PoiseErr AdoptOne(PoiseContext ctx, void *arg)
{
  PoiseVec x;
  PoiseInt n, begin;
  (void)arg;
  PoiseSplit(ctx, 50, &begin, &n);
  void *p = NULL;
  PoiseErr e = SampleIsAway(ctx)
                   ? ctx->device->ops->alloc(ctx->device, (size_t)n * 8, "an application's array", &p)
                   : POISE_OK;
  if (!e && SampleIsAway(ctx) && p) poiseFreeCount(ctx);
  if (!e && !SampleIsAway(ctx)) p = malloc((size_t)n * 8 + 1);
  e = PoiseAgree(ctx, e);
  if (!e) e = PoiseVecCreateDeviceArray(ctx, n, 50, p, POISE_ADOPT, &x);
  if (e)
    SampleTakeBack(ctx, p);
  else
    e = PoiseVecDestroy(&x);
  return e;
}

static void TestAdoptFailures(PoiseContext ctx)
{
  TestAllocationFailures(ctx, AdoptOne, NULL);
}

/* This rank's CSR in the device's memory, in all widths and bases. */
static PoiseCSR LendCSR(PoiseContext ctx, int64_t m, const int64_t *ptr, const int64_t *col,
                        const double *val, int wide, int base)
{
  PoiseCSR csr = {.base = base, .val = SampleLend(ctx, (size_t)ptr[m] * 8, val)};
  SampleLendIndices(ctx, m + 1, ptr, base, wide & 1, &csr.ptr64, &csr.ptr32);
  SampleLendIndices(ctx, ptr[m], col, base, wide & 2, &csr.col64, &csr.col32);
  return csr;
}

static void TakeBackCSR(PoiseContext ctx, PoiseCSR *csr)
{
  const void *all[] = {csr->ptr32, csr->ptr64, csr->col32, csr->col64, csr->val};
  for (int k = 0; k < 5; k++) SampleTakeBack(ctx, (void *)(uintptr_t)all[k]);
}

/* An entry that was set on the host is in the borrowed array. */
static void CheckAssembled(PoiseMat A, const double *borrowed)
{
  PoiseInt row = A->rows->begin;
  HostCsr h;
  double v = 0;
  if (A->rows->n) CHECK_OK(PoiseMatSetEntries(A, 1, &row, &row, &(double){7}));
  CHECK_OK(PoiseMatAssemble(A));
  if (!A->rows->n || !CHECK_OK(poiseMatPattern(A, &h))) return;
  int64_t k = poiseCsrFind(A, h.ptr, h.col, 0, row);
  CHECK_OK(poiseDeviceCopy(A->ctx->device, &v, borrowed + k, sizeof v, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(A->ctx->device));
  CHECK(v == 7);
}

static void TestDeviceCSR(PoiseContext ctx)
{
  Problem s;
  PoiseVec y;
  int64_t *ptr, *col;
  double *val;
  if (!ProblemOpenGrid(ctx, NX, NY, B, "cg", "jacobi", &s) ||
      !CHECK_OK(PoiseMatCopyCSR(s.A, &ptr, &col, &val)))
    return;
  PoiseInt m = s.A->rows->n;
  CHECK_OK(PoiseVecDuplicate(s.x, &y));
  CHECK_OK(PoiseMatMult(s.A, s.b, s.x));
  uint64_t expected = SampleDigest(s.x), twice;
  CHECK_OK(PoiseMatMultAdd(s.A, 2, s.b, 0, s.x));
  twice = SampleDigest(s.x);
  for (int k = 0; k < 24; k++) {
    PoiseOwn own = (PoiseOwn)(k % 3);
    PoiseCSR csr = LendCSR(ctx, m, ptr, col, val, k / 3 % 4, k / 12);
    PoiseMat A;
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE];
    bool in_place = SampleIsAway(ctx) && PoiseSize(ctx) == 1 && own != POISE_COPY && !csr.base && csr.col32;
    if (!CHECK_OK(PoiseMatCreateDeviceCSR(ctx, m, m, N, N, &csr, own, &A))) return;
    CHECK_OK(PoiseMatMult(A, s.b, y));
    CHECK(SampleDigest(y) == expected);
    if (in_place) {
      CHECK(A->csr.col.device == csr.col32 && A->csr.val.device == csr.val);
      CHECK_INT(ctx->device->copied[COPY_TO_DEVICE], moved);
    }
    CHECK_OK(PoiseMatScale(A, 2));
    CHECK_OK(PoiseMatMult(A, s.b, y));
    CHECK(SampleDigest(y) == twice);
    if (own == POISE_BORROW) { /* written to by the application */
      CHECK_OK(
          poiseDeviceCopy(ctx->device, (void *)(uintptr_t)csr.val, val, (size_t)ptr[m] * 8, COPY_TO_DEVICE));
      CHECK_OK(PoiseMatSetValuesCSR(A, csr.val));
      CHECK_OK(PoiseMatMult(A, s.b, y));
      CHECK(SampleDigest(y) == expected);
      CHECK_OK(PoiseKSPSetOperators(s.ksp, A, NULL));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, -1, -1, -1));
      CHECK_OK(PoiseKSPSolve(s.ksp, y, s.x)); /* A b */
      CHECK_OK(PoiseVecAXPY(s.x, -1, s.b));
      double norm;
      CHECK_OK(PoiseVecNorm(s.x, POISE_NORM_INF, &norm));
      CHECK(norm < 1e-6);
      CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
      CheckAssembled(A, csr.val);
    }
    CHECK_OK(PoiseMatDestroy(&A));
    if (own != POISE_ADOPT) TakeBackCSR(ctx, &csr);
  }
  free(ptr), free(col), free(val);
  CHECK_OK(PoiseVecDestroy(&y));
  ProblemClose(&s);
}

/* Each array that is not on the device is named, and what is wrong with the matrix as for arrays on the
   host. */
static void TestDeviceCSRErrors(PoiseContext ctx)
{
  static const char *const names[] = {"csr->ptr32: ", "csr->col32: ", "csr->val: "};
  const int64_t ptr[] = {0, 2, 3}, col[] = {0, 1, 1}, unsorted[] = {1, 0, 1};
  const int32_t ptr32[] = {0, 2, 3}, col32[] = {0, 1, 1};
  const double val[] = {1, 2, 3};
  PoiseMat A;
  CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, NULL, POISE_COPY, &A), POISE_ERR_ARG, "NULL");
  for (int k = 0; SampleIsAway(ctx) && k < 9; k++) {
    PoiseCSR csr = LendCSR(ctx, 2, ptr, col, val, 0, 0), bad = csr;
    if (k % 3 == 0) bad.ptr32 = ptr32;
    if (k % 3 == 1) bad.col32 = col32;
    if (k % 3 == 2) bad.val = val;
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &bad, (PoiseOwn)(k / 3), &A), POISE_ERR_ARG,
              names[k % 3]);
    CHECK(A == NULL);
    TakeBackCSR(ctx, &csr);
  }
  for (int k = 0; k < 3; k++) { /* offsets that are wrong are found before columns are fetched */
    const int64_t down[] = {0, 5, 3};
    PoiseCSR wrong = LendCSR(ctx, 2, k ? ptr : down, col, val, 0, 0), bad = wrong;
    if (k == 1) bad.base = 7;
    if (k == 2) bad.ptr32 = NULL;
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &bad, POISE_BORROW, &A), POISE_ERR_ARG,
              k == 0   ? "row offsets decrease at row 1: 5, then 3"
              : k == 1 ? "base 7"
                       : "exactly one of ptr32");
    TakeBackCSR(ctx, &wrong);
  }
  for (int k = 0; k < 8; k++) { /* as arrays on the host, whether they are looked at on the device or not */
    static const char *const words[] = {"row 1 has column 2, legal are 0 to 1",
                                        "row 1 has column -1, legal are 0 to 1", "row 0 has column 1 twice",
                                        "the first row offset is 1, not the base 0"};
    const int64_t cols[][3] = {{0, 1, 2}, {0, 1, -1}, {1, 1, 0}, {0, 1, 1}}, late[] = {1, 2, 3};
    PoiseCSR wrong = LendCSR(ctx, 2, k % 4 == 3 ? late : ptr, cols[k % 4], val, k < 4 ? 1 : 2, 0);
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &wrong, POISE_BORROW, &A), POISE_ERR_ARG,
              words[k % 4]);
    TakeBackCSR(ctx, &wrong);
  }
  PoiseCSR csr = LendCSR(ctx, 2, ptr, unsorted, val, 0, 0);
  if (SampleIsAway(ctx))
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &csr, POISE_ADOPT, &A), POISE_ERR_ARG,
              "row 0 are not sorted, so the arrays cannot be on the device");
  CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 1, &csr, POISE_ADOPT, &A), POISE_ERR_SIZE, "");
  TakeBackCSR(ctx, &csr);
}

static PoiseErr AdoptCSR(PoiseContext ctx, void *arg)
{
  static const int64_t ptr[] = {0, 2, 3}, col[] = {0, 1, 1};
  static const double val[] = {1, 2, 3};
  PoiseMat A;
  poiseAllocFailAt(ctx, -ctx->memory.fail_at); /* the application's own memory does not fail */
  PoiseCSR csr = LendCSR(ctx, 2, ptr, col, val, 0, *(int *)arg);
  poiseAllocFailAt(ctx, -ctx->memory.fail_at);
  PoiseErr e = PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &csr, POISE_ADOPT, &A);
  if (e)
    TakeBackCSR(ctx, &csr);
  else
    e = PoiseMatDestroy(&A);
  return e;
}

static void TestAdoptCSRFailures(PoiseContext ctx)
{
  for (int base = 0; base < 2; base++) TestAllocationFailures(ctx, AdoptCSR, &base);
}

/* A matrix whose arrays are on the device, of more rows than a block: of its indices nothing comes to the
   host but single numbers, and ghosts. */
static void TestDeviceCSRStays(PoiseContext ctx)
{
  enum { ROWS = 5000 };
  int64_t *ptr = malloc((ROWS + 1) * sizeof *ptr), *col = malloc(2 * ROWS * sizeof *col);
  double *val = malloc(2 * ROWS * sizeof *val), expected = 0;
  bool alone = PoiseSize(ctx) == 1;
  const int64_t numbers = alone ? 256 : 1024, ghosts = alone ? 0 : 1024;
  PoiseInt n, begin;
  PoiseMat A;
  PoiseVec x, y;
  PoiseSplit(ctx, ROWS, &begin, &n);
  for (int64_t i = 0; i < n; i++) {
    int64_t row = begin + i;
    ptr[i] = 2 * i;
    for (int k = 0; k < 2; k++)
      col[2 * i + k] = row ? row - 1 + k : k, val[2 * i + k] = (double)(row % 7 + k);
  }
  ptr[n] = 2 * n;
  for (int64_t row = 0; row < ROWS; row++) expected += (double)(2 * (row % 7) + 1);
  for (int wide = 0; wide < 2; wide++) {
    PoiseCSR csr = LendCSR(ctx, n, ptr, col, val, wide, 0);
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE], fetched = ctx->device->copied[COPY_TO_HOST];
    if (!CHECK_OK(PoiseMatCreateDeviceCSR(ctx, n, n, ROWS, ROWS, &csr, POISE_BORROW, &A))) return;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
    CHECK_OK(PoiseVecSet(x, 1));
    CHECK_OK(PoiseMatMult(A, x, y));
    if (SampleIsAway(ctx)) CHECK(ctx->device->copied[COPY_TO_HOST] - fetched <= numbers);
    CHECK(ctx->device->copied[COPY_TO_DEVICE] - moved <= ghosts);
    double sum = 0;
    CHECK_OK(PoiseVecSumEntries(y, &sum));
    CHECK(sum == expected);
    CHECK_OK(PoiseMatDestroy(&A));
    if (wide && alone && SampleIsAway(ctx)) { /* the first of two wrong rows, both in later blocks */
      int32_t far = ROWS;
      CHECK_OK(poiseDeviceCopy(ctx->device, (int32_t *)(uintptr_t)csr.col32 + 2 * 4321, &far, sizeof far,
                               COPY_TO_DEVICE));
      CHECK_OK(poiseDeviceCopy(ctx->device, (int32_t *)(uintptr_t)csr.col32 + 2 * 2345, &far, sizeof far,
                               COPY_TO_DEVICE));
      CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_BORROW, &A), POISE_ERR_ARG,
                "row 2345 has column 5000, legal are 0 to 4999");
    }
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    TakeBackCSR(ctx, &csr);
  }
  free(ptr), free(col), free(val);
}

/* ---- triplets in the device's memory --------------------------------------------------------- */

enum { TRIPLETS = 40000 };

/* In no order, of all ranks' rows, many of an entry, 3000 of one, some ignored. */
static void MakeTriplets(PoiseContext ctx, PoiseInt *rows, PoiseInt *cols, double *v)
{
  for (int k = 0; k < TRIPLETS; k++) {
    uint64_t at = (uint64_t)k + TRIPLETS * (uint64_t)PoiseRank(ctx);
    rows[k] = k % 13 == 5 ? 7 : (PoiseInt)((TestRandom(21, at) + 1) / 2 * N);
    cols[k] = k % 13 == 5 ? 9 : k % 101 == 3 ? -1 : (rows[k] + k % 5) % N;
    v[k] = TestRandom(22, at);
  }
}

static bool SameEntries(PoiseMat A, PoiseMat H)
{
  int64_t *ptr[2], *col[2];
  double *val[2];
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr[0], &col[0], &val[0])) ||
      !CHECK_OK(PoiseMatCopyCSR(H, &ptr[1], &col[1], &val[1])))
    return false;
  size_t m = (size_t)A->rows->n, nz = (size_t)ptr[0][m];
  bool same = !memcmp(ptr[0], ptr[1], (m + 1) * 8) && !memcmp(col[0], col[1], nz * 8) &&
              !memcmp(val[0], val[1], nz * 8);
  for (int k = 0; k < 2; k++) free(ptr[k]), free(col[k]), free(val[k]);
  return same;
}

/* Pattern and sums are those of triplets on the host, to the bit, and on one rank nothing travels. */
static void TestDeviceTriplets(PoiseContext ctx)
{
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);
  PoiseMat A, H;
  MakeTriplets(ctx, rows, cols, v);
  void *r = SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
       *c = SampleLend(ctx, TRIPLETS * sizeof *cols, cols), *there = SampleLend(ctx, TRIPLETS * sizeof *v, v);
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A)) ||
      !CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &H)))
    return;
  for (int again = 0; again < 2; again++) {
    CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
    CHECK_OK(PoiseMatSetPatternCOO(H, TRIPLETS, rows, cols));
    CHECK(SameEntries(A, H)); /* zeros */
    CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE], fetched = ctx->device->copied[COPY_TO_HOST];
    CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
    CHECK_OK(PoiseMatSetValuesDeviceCOO(A, there));
    CHECK_OK(PoiseMatAddValuesDeviceCOO(A, there));
    if (SampleIsAway(ctx) && PoiseSize(ctx) == 1) {
      CHECK_INT(ctx->device->copied[COPY_TO_DEVICE], moved);
      CHECK(ctx->device->copied[COPY_TO_HOST] - fetched <= 256);
    }
    CHECK_OK(PoiseMatSetValuesCOO(H, v));
    CHECK_OK(PoiseMatAddValuesCOO(H, v));
    CHECK(SameEntries(A, H));
  }
  CHECK_OK(PoiseMatSetPatternDeviceCOO(A, 0, NULL, NULL));
  CHECK_OK(PoiseMatSetValuesDeviceCOO(A, NULL));
  CHECK_INT(A->csr.nz, 0);
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&H));
  SampleTakeBack(ctx, r), SampleTakeBack(ctx, c), SampleTakeBack(ctx, there);
  free(rows), free(cols), free(v);
}

/* The first two of triplets, which are of one row. */
static void SwapFirst(PoiseInt n, int32_t *cols, double *v)
{
  if (n < 2) return;
  int32_t col = cols[0];
  double value = v[0];
  cols[0] = cols[1], v[0] = v[1], cols[1] = col, v[1] = value;
}

/* Triplets in the order of rows become a matrix of type pcoo on the device, from host or device; what comes
   to the host is counts and ghosts. With a pair exchanged they come there themselves. */
static void TestSortedTriplets(PoiseContext ctx)
{
  PoiseInt begin, m, n = 0;
  PoiseSplit(ctx, N, &begin, &m);
  int32_t *rows = malloc(3 * (size_t)(m + 1) * sizeof *rows),
          *cols = malloc(3 * (size_t)(m + 1) * sizeof *cols);
  double *v = malloc(3 * (size_t)(m + 1) * sizeof *v);
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < N) rows[n] = (int32_t)i, cols[n] = (int32_t)j, v[n] = j == i ? 2.5 : -1, n++;
  for (int there = 0; there < 2; there++)
    for (int exchanged = 0; exchanged < 2; exchanged++) {
      if (exchanged) SwapFirst(n, cols, v);
      void *r = SampleLend(ctx, (size_t)n * sizeof *rows, rows),
           *c = SampleLend(ctx, (size_t)n * sizeof *cols, cols),
           *w = SampleLend(ctx, (size_t)n * sizeof *v, v);
      PoiseTriplets t = {.n = n, .row32 = there ? r : rows, .col32 = there ? c : cols, .val = there ? w : v};
      int64_t fetched = ctx->device->copied[COPY_TO_HOST];
      PoiseMat A;
      PoiseVec x, y;
      if (!CHECK_OK((there ? PoiseMatCreateDeviceTriplets : PoiseMatCreateTriplets)(ctx, m, m, N, N, &t,
                                                                                    POISE_BORROW, &A)))
        return;
      bool much = ctx->device->copied[COPY_TO_HOST] - fetched > 256;
      if (SampleIsAway(ctx)) CHECK_INT(much, there && exchanged && n > 32);
      CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
      CHECK_OK(PoiseVecSet(x, 1));
      CHECK_OK(PoiseMatMult(A, x, y));
      const double *p;
      CHECK_OK(PoiseVecGetRead(y, &p));
      for (PoiseInt i = 0; i < m; i++) CHECK(p[i] == (begin + i == 0 || begin + i == N - 1 ? 1.5 : 0.5));
      CHECK_OK(PoiseVecRestore(y, &p));
      CHECK_OK(PoiseVecDestroy(&x));
      CHECK_OK(PoiseVecDestroy(&y));
      CHECK_OK(PoiseMatDestroy(&A));
      if (exchanged) SwapFirst(n, cols, v);
      SampleTakeBack(ctx, r), SampleTakeBack(ctx, c), SampleTakeBack(ctx, w);
    }
  free(rows), free(cols), free(v);
}

/* What is wrong is named, with its place; the matrix stays as it was. */
static void TestDeviceTripletErrors(PoiseContext ctx)
{
  bool mine = PoiseRank(ctx) == 0;
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);
  PoiseMat A;
  char words[128];
  MakeTriplets(ctx, rows, cols, v);
  void *r = SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
       *c = SampleLend(ctx, TRIPLETS * sizeof *cols, cols), *there = SampleLend(ctx, TRIPLETS * sizeof *v, v);
  rows[30001] = N, rows[39999] = N + 5, cols[20002] = N + 7;
  void *bad_rows = SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
       *bad_cols = SampleLend(ctx, TRIPLETS * sizeof *cols, cols);
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A))) return;
  CHECK_ERR(PoiseMatSetValuesDeviceCOO(A, there), POISE_ERR_STATE, "call PoiseMatSetPatternCOO");
  CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
  int64_t nz = A->csr.nz;
  snprintf(words, sizeof words, "row %d of a matrix of %d rows (at place 30001", N, N);
  CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, mine ? bad_rows : r, c), mine, POISE_ERR_ARG, words);
  snprintf(words, sizeof words, "column %d of a matrix of %d columns (at place 20002", N + 7, N);
  CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, mine ? bad_cols : c), mine, POISE_ERR_ARG, words);
  CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, mine ? -2 : 0, r, c), mine, POISE_ERR_ARG, "-2 rows");
  if (SampleIsAway(ctx)) {
    CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, mine ? rows : r, c), mine, POISE_ERR_ARG, "rows: ");
    CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, mine ? cols : c), mine, POISE_ERR_ARG,
                 "a host pointer?");
    CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, mine ? NULL : c), mine, POISE_ERR_ARG,
                 "cols is NULL");
    CHECK_ERR_OF(PoiseMatSetValuesDeviceCOO(A, mine ? v : there), mine, POISE_ERR_ARG,
                 "values of triplets: ");
  }
  CHECK_INT(A->csr.nz, nz);
  CHECK_OK(PoiseMatSetValuesDeviceCOO(A, there));
  CHECK_OK(PoiseMatDestroy(&A));
  SampleTakeBack(ctx, r), SampleTakeBack(ctx, c), SampleTakeBack(ctx, there), SampleTakeBack(ctx, bad_rows),
      SampleTakeBack(ctx, bad_cols);
  free(rows), free(cols), free(v);
}

/* Systems of no unknown and of one, from arrays and from triplets on the device. */
static void TestSmallest(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "bicgstab", "gmres"};
  const int64_t ptr[] = {0, 1}, col[] = {0};
  const PoiseInt zero[] = {0, 0};
  const double val[] = {4}, halves[] = {2, 2};
  void *rows = SampleLend(ctx, sizeof zero, zero), *v = SampleLend(ctx, sizeof halves, halves);
  for (PoiseInt n = 0; n < 2; n++)
    for (int t = 0; t < 2 * 3; t++) {
      PoiseCSR csr = LendCSR(ctx, n, ptr, col, val, 0, 0);
      PoiseKSP ksp;
      PoiseMat A;
      PoiseVec x, b;
      double sum;
      if (t % 2) {
        if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n, n, &A))) return;
        CHECK_OK(PoiseMatSetPatternDeviceCOO(A, 2 * n, rows, rows));
        CHECK_OK(PoiseMatSetValuesDeviceCOO(A, v));
      } else if (!CHECK_OK(PoiseMatCreateDeviceCSR(ctx, n, n, n, n, &csr, POISE_BORROW, &A))) {
        return;
      }
      CHECK_INT(A->csr.nz, n);
      CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
      CHECK_OK(PoiseVecSet(b, 12));
      CHECK_OK(PoiseKSPCreate(ctx, &ksp));
      CHECK_OK(PoiseKSPSetType(ksp, methods[t / 2]));
      CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
      for (int again = 0; again < 2; again++) CHECK_OK(PoiseKSPSolve(ksp, b, x));
      CHECK(PoiseKSPConvergedReason(ksp) > 0);
      CHECK_OK(PoiseVecSumEntries(x, &sum));
      CHECK_NEAR(sum, 3.0 * (double)n, 1e-14);
      CHECK_OK(PoiseKSPDestroy(&ksp));
      CHECK_OK(PoiseVecDestroy(&x));
      CHECK_OK(PoiseVecDestroy(&b));
      CHECK_OK(PoiseMatDestroy(&A));
      TakeBackCSR(ctx, &csr);
    }
  SampleTakeBack(ctx, rows), SampleTakeBack(ctx, v);
}

typedef struct DeviceTriplets {
  PoiseInt n;
  void *rows, *cols, *v;
} DeviceTriplets;

static PoiseErr AssembleThere(PoiseContext ctx, void *arg)
{
  const DeviceTriplets *t = arg;
  PoiseMat A;
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A));
  PoiseErr e = PoiseMatSetPatternDeviceCOO(A, t->n, t->rows, t->cols);
  if (!e) e = PoiseMatSetValuesDeviceCOO(A, t->v);
  PoiseMatDestroy(&A);
  return e;
}

static void TestDeviceTripletFailures(PoiseContext ctx)
{
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);
  MakeTriplets(ctx, rows, cols, v);
  DeviceTriplets t = {300, SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
                      SampleLend(ctx, TRIPLETS * sizeof *cols, cols),
                      SampleLend(ctx, TRIPLETS * sizeof *v, v)};
  TestAllocationFailures(ctx, AssembleThere, &t);
  SampleTakeBack(ctx, t.rows), SampleTakeBack(ctx, t.cols), SampleTakeBack(ctx, t.v);
  free(rows), free(cols), free(v);
}

/* The peak is what is promised: 24 bytes per triplet and some MB (here KB) beside what is given. */
static void TestDeviceTripletMemory(PoiseContext ctx)
{
  if (!SampleIsAway(ctx)) TEST_SKIP("on the host there is no such sort");
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);

  MakeTriplets(ctx, rows, cols, v);
  DeviceTriplets t = {TRIPLETS, SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
                      SampleLend(ctx, TRIPLETS * sizeof *cols, cols),
                      SampleLend(ctx, TRIPLETS * sizeof *v, v)};
  int place = poisePlacesAreWide(ctx, TRIPLETS) ? 8 : 4,
      scratch = strcmp(ctx->device->ops->name, "cuda") ? 64 : 64 << 20;
  ctx->device->limit = ctx->device->bytes + 2 * (8 + place) * TRIPLETS - 1;
  CHECK_ERR(AssembleThere(ctx, &t), POISE_ERR_MEMORY, "no memory on device");
  ctx->device->limit += 1 + scratch;
  CHECK_OK(AssembleThere(ctx, &t));
  ctx->device->limit = 0;
  SampleTakeBack(ctx, t.rows), SampleTakeBack(ctx, t.cols), SampleTakeBack(ctx, t.v);
  free(rows), free(cols), free(v);
}

static const Test tests[] = {
    {"device_array", TestDeviceArray, 0},
    {"entries_on_device", TestEntriesOnDevice, 0},
    {"shell_on_device", TestShellOnDevice, 0},
    {"host_pointer", TestHostPointer, 0},
    {"device_pointer", TestDevicePointer, TEST_SERIAL},
    {"adopt_failures", TestAdoptFailures, 0},
    {"sorted_triplets", TestSortedTriplets, 0},
    {"device_csr", TestDeviceCSR, 0},
    {"device_csr_errors", TestDeviceCSRErrors, TEST_SERIAL},
    {"adopt_csr_failures", TestAdoptCSRFailures, TEST_SERIAL},
    {"device_csr_stays", TestDeviceCSRStays, 0},
    {"device_triplets", TestDeviceTriplets, 0},
    {"device_triplet_errors", TestDeviceTripletErrors, 0},
    {"smallest", TestSmallest, TEST_SERIAL},
    {"device_triplet_failures", TestDeviceTripletFailures, 0},
    {"device_triplet_memory", TestDeviceTripletMemory, TEST_SERIAL},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "device_arrays", tests);
}

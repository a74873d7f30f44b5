/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Large arrays of an application. Those of the host that are copied are on the device alone, and come back
  when they are read. Rows too long for one thread are checked as short ones are.
*/
#include "mat/csr/entries.h"
#include "mat/csr/find.h"
#include "sample.h"
#include "sys/device/staging.h"

/* ---- copies of the host's arrays ------------------------------------------------------------- */

enum { ROWS = 1500, EACH = 5, BUFFER = 4096 };

typedef struct Given { /* this rank's rows of a matrix: columns i - 7, i - 1, i, i + 1, i + 20, cyclically */
  PoiseInt begin, n;
  int64_t *ptr, *col;
  int32_t *ptr32, *col32;
  double *val;
} Given;

static double Value(PoiseInt i, PoiseInt j)
{
  return TestRandom(5, (uint64_t)(i * ROWS + j));
}

static int CompareColumns(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool Give(PoiseContext ctx, bool sorted, int base, Given *g)
{
  static const PoiseInt steps[EACH] = {ROWS - 7, ROWS - 1, 0, 1, 20};
  PoiseSplit(ctx, ROWS, &g->begin, &g->n);
  int64_t nz = g->n * EACH;
  g->ptr = malloc((size_t)(g->n + 1) * 8), g->ptr32 = malloc((size_t)(g->n + 1) * 4);
  g->col = malloc((size_t)nz * 8 + 1), g->col32 = malloc((size_t)nz * 4 + 1);
  g->val = malloc((size_t)nz * 8 + 1);
  if (!CHECK(g->ptr && g->ptr32 && g->col && g->col32 && g->val)) return false;
  for (PoiseInt i = 0; i < g->n; i++) {
    int64_t *row = g->col + i * EACH;
    for (int k = 0; k < EACH; k++) row[k] = (g->begin + i + steps[k]) % ROWS;
    if (sorted) qsort(row, EACH, sizeof *row, CompareColumns);
    for (int k = 0; k < EACH; k++) g->val[i * EACH + k] = Value(g->begin + i, row[k]);
  }
  for (int64_t k = 0; k < nz; k++) g->col[k] += base, g->col32[k] = (int32_t)g->col[k];
  for (PoiseInt i = 0; i <= g->n; i++) g->ptr[i] = i * EACH + base, g->ptr32[i] = (int32_t)g->ptr[i];
  return true;
}

static void Release(Given *g)
{
  free(g->ptr), free(g->ptr32), free(g->col), free(g->col32), free(g->val);
}

/* Every row, read on the host, is what was given. */
static void CheckRows(PoiseMat A, PoiseInt begin, PoiseInt m)
{
  PoiseInt wrong = 0, n;
  const PoiseInt *cols;
  const double *v;
  for (PoiseInt i = begin; i < begin + m; i++) {
    if (!CHECK_OK(PoiseMatGetRow(A, i, &n, &cols, &v))) return;
    wrong += n != EACH;
    for (PoiseInt k = 0; k < n; k++) wrong += v[k] != Value(i, cols[k]) || (k && cols[k] <= cols[k - 1]);
  }
  CHECK_INT(wrong, 0);
}

static void CheckProduct(PoiseMat A, PoiseInt begin)
{
  PoiseVec x, y;
  const double *p;
  double wrong = 0;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseVecGetRead(y, &p));
  for (PoiseInt k = 0; k < A->rows->n; k++) {
    PoiseInt i = begin + k;
    double sum = Value(i, (i + ROWS - 7) % ROWS) + Value(i, (i + ROWS - 1) % ROWS) + Value(i, i) +
                 Value(i, (i + 1) % ROWS) + Value(i, (i + 20) % ROWS);
    wrong = fmax(wrong, fabs(p[k] - sum));
  }
  CHECK_NEAR(wrong, 0, 1e-14);
  CHECK_OK(PoiseVecRestore(y, &p));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

/* Offsets and columns of either width, base 0 or 1, rows sorted or not. */
static void CopyGiven(PoiseContext ctx, int form)
{
  bool wide_ptr = form & 1, wide_col = form & 2, sorted = !(form & 8);
  int base = form & 4 ? 1 : 0;
  bool away = SampleIsAway(ctx);
  Device *dev = ctx->device;
  Given g;
  PoiseMat A;
  PoiseBytes held;
  int64_t plain, sent = dev->copied[COPY_TO_DEVICE];
  if (!Give(ctx, sorted, base, &g)) return;
  PoiseCSR csr = {.base = base, .val = g.val};
  if (wide_ptr) csr.ptr64 = g.ptr;
  if (!wide_ptr) csr.ptr32 = g.ptr32;
  if (wide_col) csr.col64 = g.col;
  if (!wide_col) csr.col32 = g.col32;
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, g.n, g.n, ROWS, ROWS, &csr, POISE_COPY, &A))) return;
  sent = dev->copied[COPY_TO_DEVICE] - sent;
  memset(g.val, 255, (size_t)(g.n * EACH) * 8); /* the application's again */
  memset(g.col, 255, (size_t)(g.n * EACH) * 8), memset(g.col32, 255, (size_t)(g.n * EACH) * 4);
  memset(g.ptr, 255, (size_t)g.n * 8), memset(g.ptr32, 255, (size_t)g.n * 4);
  CHECK_OK(PoiseMatBytes(A, &held, &plain));
  Csr *c = &A->csr;
  if (away) {
    CHECK(!c->ptr.host && !c->col.host && !c->val.host);
    CHECK(poiseBufferIsCurrent(&c->val, DEVICE) || !g.n);
    if (PoiseSize(ctx) == 1) CHECK_INT(sent, plain); /* each byte once */
  }
  if (PoiseSize(ctx) == 1) CHECK_INT(away ? held.device : held.host, plain);
  if (PoiseSize(ctx) == 1) CHECK_INT(away ? held.host : held.device, 0);
  CheckProduct(A, g.begin);
  CheckRows(A, g.begin, g.n);
  CheckProduct(A, g.begin);
  PoiseMatDestroy(&A);
  Release(&g);
}

/* The application may write to its array as soon as the call has returned. */
static void CopyVector(PoiseContext ctx)
{
  double values[ROWS], sum;
  PoiseInt begin, n;
  PoiseVec x;
  PoiseSplit(ctx, ROWS, &begin, &n);
  CHECK_OK(poiseReduceReserve(ctx, POISE_MAX_BATCH * POISE_NBLOCKS(n))); /* nothing else waits */
  for (PoiseInt i = 0; i < n; i++) values[i] = 1;
  if (!CHECK_OK(PoiseVecCreateArray(ctx, n, ROWS, values, POISE_COPY, &x))) return;
  for (PoiseInt i = 0; i < n; i++) values[i] = NAN;
  CHECK(!SampleIsAway(ctx) || !x->data.host);
  CHECK_OK(PoiseVecSumEntries(x, &sum));
  CHECK_NEAR(sum, ROWS, 0);
  PoiseVecDestroy(&x);
}

static void TestCopies(PoiseContext ctx)
{
  size_t bytes = ctx->hooks.staging;
  ctx->hooks.staging = BUFFER;
  poiseStagingDestroy(ctx->device);
  CopyVector(ctx); /* too small for the buffers */
  for (int form = 0; form < 16; form++) CopyGiven(ctx, form);
  CHECK(!SampleIsAway(ctx) || ctx->device->staging != NULL || PoiseSize(ctx) > 4);
  ctx->hooks.staging = bytes;
  poiseStagingDestroy(ctx->device);
}

/* However little memory the device has, what failed leaves nothing. */
static void TestNoRoom(PoiseContext ctx)
{
  Given g;
  PoiseMat A;
  PoiseErr e = POISE_ERR_MEMORY;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host's memory has no limit that a test may reach");
  if (!Give(ctx, true, 0, &g)) return;
  const PoiseCSR csr = {.ptr32 = g.ptr32, .col32 = g.col32, .val = g.val};
  int64_t live = ctx->memory.live, held = ctx->device->bytes, tries = 0;
  for (int64_t more = 8; e && more < 1 << 20; more *= 2, tries++) {
    ctx->device->limit = held + more;
    e = PoiseMatCreateCSR(ctx, g.n, g.n, ROWS, ROWS, &csr, POISE_COPY, &A);
    if (!e) break;
    CHECK_ERR(e, POISE_ERR_MEMORY, "no memory on device");
    CHECK(!A);
    CHECK_INT(ctx->memory.live, live);
    CHECK_INT(ctx->device->bytes, held);
  }
  ctx->device->limit = 0;
  if (CHECK_OK(e)) CheckRows(A, g.begin, g.n);
  CHECK(tries > 5);
  if (!e) PoiseMatDestroy(&A);
  Release(&g);
}

/* ---- long rows on the device ----------------------------------------------------------------- */

enum { M = 6, N = 40000, FIRST = 3, LONG = 20000, SECOND = 9000, PART = 4096 };

static const int64_t offsets[M + 1] = {0,
                                       FIRST,
                                       FIRST + LONG,
                                       FIRST + LONG,
                                       FIRST + LONG + SECOND,
                                       FIRST + LONG + SECOND,
                                       FIRST + LONG + SECOND + 2};
enum { NZ = FIRST + LONG + SECOND + 2 };

static void RightColumns(int64_t *col)
{
  for (int i = 0; i < M; i++)
    for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) col[k] = 2 * (k - offsets[i]);
}

/* The result for these columns is POISE_OK, or an error with these words. */
static void CheckColumns(PoiseContext ctx, const int64_t *col, bool wide, const char *words)
{
  double *val = calloc(NZ, sizeof *val);
  PoiseMat A = NULL;
  PoiseCSR csr = {.val = SampleLend(ctx, NZ * sizeof *val, val)};
  SampleLendIndices(ctx, M + 1, offsets, 0, wide, &csr.ptr64, &csr.ptr32);
  SampleLendIndices(ctx, NZ, col, 0, false, &csr.col64, &csr.col32);
  PoiseErr e = PoiseMatCreateDeviceCSR(ctx, M, N, M, N, &csr, POISE_BORROW, &A);
  if (words)
    CHECK_ERR(e, POISE_ERR_ARG, words);
  else
    CHECK_OK(e);
  if (!e) PoiseMatDestroy(&A);
  const void *all[] = {csr.ptr32, csr.ptr64, csr.col32, csr.val};
  for (int k = 0; k < 4; k++) SampleTakeBack(ctx, (void *)(uintptr_t)all[k]);
  free(val);
}

static void TestLongRows(PoiseContext ctx)
{
  static const int64_t places[] = {1,        2,       PART - FIRST - 1, PART - FIRST,     PART - FIRST + 1,
                                   PART - 1, PART,    PART + 1,         2 * PART - FIRST, 2 * PART,
                                   LONG / 2, LONG - 1};
  int64_t *col = malloc(NZ * sizeof *col);
  char words[100];
  if (!CHECK(col != NULL)) return;
  RightColumns(col);
  for (int wide = 0; wide < 2; wide++) CheckColumns(ctx, col, wide, NULL);
  for (size_t p = 0; p < sizeof places / sizeof *places; p++)
    for (int kind = 0; kind < 4; kind++) {
      int64_t at = offsets[1] + places[p];
      RightColumns(col);
      if (kind == 0) col[at] = col[at - 1];
      if (kind == 1) col[at] = N + 7;
      if (kind == 2) col[at] = -1;
      if (kind == 3) col[at] = at - offsets[1] > 1 ? col[at - 1] - 1 : -1;
      if (kind == 0) snprintf(words, sizeof words, "row 1 has column %lld twice", (long long)col[at]);
      if (kind == 1 || kind == 2 || col[at] < 0)
        snprintf(words, sizeof words, "row 1 has column %lld, legal are 0 to 39999", (long long)col[at]);
      if (kind == 3 && col[at] >= 0) snprintf(words, sizeof words, "the columns of row 1 are not sorted");
      CheckColumns(ctx, col, kind % 2, words);
    }
  RightColumns(col);
  col[offsets[3] + SECOND - 1] = 5; /* the other long row, and then a row in front of it, too */
  CheckColumns(ctx, col, false, "the columns of row 3 are not sorted");
  col[offsets[1] + LONG - 1] = 1;
  CheckColumns(ctx, col, false, "the columns of row 1 are not sorted");
  col[0] = N;
  CheckColumns(ctx, col, false, "row 0 has column 40000");
  free(col);
}

/* The row of the number of blocks of b x b that is not finite, or the first of two. */
static void FindNan(PoiseContext ctx, int b)
{
  static const int64_t places[] = {0,     1, FIRST - 1, FIRST, FIRST + PART, FIRST + LONG - 1, FIRST + LONG,
                                   NZ - 1};
  int64_t *col = malloc(NZ * sizeof *col), found;
  double *val = calloc((size_t)NZ * (size_t)(b * b), sizeof *val);
  PoiseMat A;
  if (!CHECK(col && val)) return;
  RightColumns(col);
  PoiseBCSR csr = {.ptr64 = offsets, .col64 = col, .val = val};
  if (!CHECK_OK(PoiseMatCreateBCSR(ctx, b, M * b, N * b, M * b, N * b, &csr, POISE_COPY, &A))) return;
  CHECK_OK(poiseMatFindNan(A, &found));
  CHECK_INT(found, M * b);
  for (size_t p = 0; p < sizeof places / sizeof *places; p++)
    for (int k = 0; k < b * b; k++) { /* column-major: in row k % b */
      double *v = val + places[p] * b * b + k;
      int64_t row = 0;
      while (offsets[row + 1] <= places[p]) row++;
      *v = k % 2 ? NAN : INFINITY;
      CHECK_OK(PoiseMatSetValuesBCSR(A, 0, val));
      CHECK_OK(poiseMatFindNan(A, &found));
      CHECK_INT(found, row * b + k % b);
      if (p) val[0] = NAN;
      CHECK_OK(PoiseMatSetValuesBCSR(A, 0, val));
      CHECK_OK(poiseMatFindNan(A, &found));
      CHECK_INT(found, p ? 0 : k % b);
      *v = val[0] = 0;
    }
  PoiseMatDestroy(&A);
  free(col), free(val);
}

static void TestNan(PoiseContext ctx)
{
  for (int b = 1; b <= 3; b++) FindNan(ctx, b);
}

/* ---- addresses that are no multiples of 16 --------------------------------------------------- */

static bool Says(PoiseMat A, const char *words)
{
  char text[4000];
  DeviceModel *model = &PoiseMatContext(A)->device->model;
  bool was = model->bulk;
  model->bulk = true;
  TEST_PRINTED(PoiseMatContext(A), text, sizeof text, PoiseMatView(A));
  model->bulk = was;
  return strstr(text, words) != NULL;
}

/* Values and columns behind so many bytes of their blocks: the view says so, where bulk copies are used. */
static void OddAddresses(PoiseContext ctx, size_t values, size_t columns)
{
  static const int32_t ptr[] = {0, 1, 2, 3, 4}, col[] = {-1, -1, -1, -1, 0, 1, 2, 3};
  static const double val[] = {NAN, NAN, 1, 2, 3, 4};
  const char *v = SampleLend(ctx, sizeof val, val), *c = SampleLend(ctx, sizeof col, col);
  const int32_t *p = SampleLend(ctx, sizeof ptr, ptr);
  bool odd = values || columns;
  PoiseMat A;
  double *there = (double *)(uintptr_t)(v + 16 - values);
  int32_t *columns_there = (int32_t *)(uintptr_t)(c + 16 - columns);
  CHECK_OK(poiseDeviceCopy(ctx->device, there, val + 2, 4 * sizeof *val, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceCopy(ctx->device, columns_there, col + 4, 4 * sizeof *col, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceSync(ctx->device));
  const PoiseCSR csr = {.ptr32 = p, .col32 = columns_there, .val = there};
  for (PoiseOwn own = POISE_COPY; own <= POISE_BORROW; own += POISE_BORROW - POISE_COPY) {
    bool slow = odd && own == POISE_BORROW; /* POISE_COPY is the cure that the view names */
    if (!CHECK_OK(PoiseMatCreateDeviceCSR(ctx, 4, 4, 4, 4, &csr, own, &A))) break;
    CHECK(Says(A, "multiple of 16 bytes") == slow);
    CHECK(Says(A, "or create the matrix with POISE_COPY") == slow);
    CHECK(!slow || Says(A, values && columns ? "  values and columns do not begin"
                           : values          ? "  values do not begin"
                                             : "  columns do not begin"));
    PoiseMatDestroy(&A);
  }
  SampleTakeBack(ctx, (void *)(uintptr_t)v), SampleTakeBack(ctx, (void *)(uintptr_t)c);
  SampleTakeBack(ctx, (void *)(uintptr_t)p);
}

static void TestAddresses(PoiseContext ctx)
{
  if (!SampleIsAway(ctx)) TEST_SKIP("the host copies nothing in bulk");
  OddAddresses(ctx, 0, 0);
  OddAddresses(ctx, 8, 0);
  OddAddresses(ctx, 0, 4);
  OddAddresses(ctx, 8, 12);
}

static const Test tests[] = {{"copies", TestCopies, 0},
                             {"no_room", TestNoRoom, TEST_SERIAL},
                             {"long_rows", TestLongRows, TEST_SERIAL},
                             {"nan", TestNan, TEST_SERIAL},
                             {"addresses", TestAddresses, TEST_SERIAL},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "arrays", tests);
}

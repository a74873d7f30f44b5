/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products with wide vectors: of all types, in few rows; a shell's, column by column; failures of one rank,
  and memory that one has not. More of them are in the suites of the types, by wide.h.
*/
#include "wide.h"

enum { ROWS = 9 };

typedef struct Twice { /* y = 2 x, or 3 x transposed; a collective function */
  PoiseContext ctx;
  int calls, fails; /* the call that fails on the last rank; 0: none */
} Twice;

static PoiseErr Times(Twice *t, double factor, PoiseVec x, PoiseVec y)
{
  double one[] = {1};
  POISE_TRY(PoiseSum(t->ctx, 1, one));
  POISE_TRY(PoiseVecCopy(x, y));
  POISE_TRY(PoiseVecScale(y, factor));
  if (++t->calls == t->fails && PoiseRank(t->ctx) == PoiseSize(t->ctx) - 1)
    return PoiseErrorSet(POISE_ERR_USER, __func__, __FILE__, __LINE__, "column %d is not to be had",
                         t->calls);
  return POISE_OK;
}

static PoiseErr Mult(void *arg, PoiseVec x, PoiseVec y)
{
  return Times(arg, 2, x, y);
}

static PoiseErr MultTranspose(void *arg, PoiseVec x, PoiseVec y)
{
  return Times(arg, 3, x, y);
}

static void TestShell(PoiseContext ctx)
{
  const PoiseShell functions = {.mult = Mult, .mult_transpose = MultTranspose}, one_way = {.mult = Mult};
  Twice t = {ctx, 0, 0};
  PoiseMat A;
  Wide w;
  PoiseErr seen = PoiseRank(ctx) == PoiseSize(ctx) - 1 ? POISE_ERR_USER : POISE_ERR_REMOTE;
  if (!CHECK_OK(PoiseMatCreateShell(ctx, ROWS, ROWS, POISE_DECIDE, POISE_DECIDE, &functions, &t, &A))) return;
  WideProducts(A, 0);
  if (!WideOpen(A->cols, A->rows, 5, &w)) return;
  CHECK_OK(PoiseVecSet(w.X, 1));
  for (int transposed = 0; transposed < 2; transposed++) {
    t.calls = 0, t.fails = 3;
    PoiseErr e = transposed ? PoiseMatMultTransposeBlock(A, w.X, w.Y) : PoiseMatMultBlock(A, w.X, w.Y);
    CHECK_ERR(e, seen, seen == POISE_ERR_USER ? "column 3" : "");
    CHECK_INT(t.calls, 5);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  if (!CHECK_OK(PoiseMatCreateShell(ctx, ROWS, ROWS, POISE_DECIDE, POISE_DECIDE, &one_way, &t, &A))) return;
  CHECK_ERR(PoiseMatMultTransposeBlock(A, w.X, w.Y), POISE_ERR_UNSUPPORTED, "mult_transpose");
  CHECK_OK(PoiseMatDestroy(&A));
  WideClose(&w);
}

/* ---- types ----------------------------------------------------------------------------------- */

static const char *const types[] = {"csr", "csri", "seg", "pcsr", "bcsr", "auto"};
enum { TYPES = sizeof types / sizeof *types };

/* Few rows, so that of many ranks some have none; and blocks of 2 x 2. */
static PoiseMat Make(PoiseContext ctx, int type, PoiseInt N)
{
  PoiseMat A = NULL;
  PoiseInt begin, n = N / 2;
  PoiseSplit(ctx, N / 2, &begin, &n);
  if (!CHECK_OK(PoiseMatCreate(ctx, 2 * n, 2 * n, N, N, &A))) return NULL;
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  CHECK_OK(PoiseMatSetType(A, types[type]));
  for (PoiseInt i = 2 * begin; i < 2 * (begin + n); i++)
    for (PoiseInt j = 0; j < N; j++)
      if (i / 2 == 1 || (i / 2 + 2 * (j / 2)) % 3 == 0)
        CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, (double[]){1 + TestRandom(3, (uint64_t)(i * N + j))}));
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static void TestTypes(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 4, 10, 60};
  for (int type = 0; type < TYPES; type++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      PoiseMat A = Make(ctx, type, sizes[s]);
      if (A) WideProducts(A, 1e-13);
      CHECK_OK(PoiseMatDestroy(&A));
    }
}

/* A product that is skipped leaves Y, also where it is composed. */
static void TestSkipped(PoiseContext ctx)
{
  const PoiseShell functions = {.mult = Mult};
  Twice t = {ctx, 0, 0};
  Buffer one = {0};
  double *p, sum = NAN;
  const double *skip = NULL;
  CHECK_OK(poiseBufferCreate(ctx->device, sizeof *p, "a scalar", &one));
  if (CHECK_OK(poiseBufferWrite(&one, HOST, &p))) *p = 1;
  CHECK_OK(poiseBufferRead(&one, DEVICE, &skip));
  for (int type = 0; type <= TYPES; type++) {
    Wide w;
    PoiseMat A = type < TYPES ? Make(ctx, type, 10) : NULL;
    if (!A) CHECK_OK(PoiseMatCreateShell(ctx, ROWS, ROWS, POISE_DECIDE, POISE_DECIDE, &functions, &t, &A));
    if (!WideOpen(A->cols, A->rows, 3, &w)) return;
    CHECK_OK(PoiseVecSet(w.X, 1));
    CHECK_OK(PoiseMatMultBlock(A, w.X, w.Y)); /* parts are made, and all is ready */
    CHECK_OK(PoiseVecSet(w.Y, 7));
    CHECK_OK(poiseMatMultFuse(A, (ScalarRef){NULL, 1}, w.X, (ScalarRef){NULL, 0}, w.Y, skip, NULL, NULL));
    CHECK_OK(PoiseVecGetColumn(w.Y, 2, w.y));
    CHECK_OK(PoiseVecSumEntries(w.y, &sum));
    CHECK(sum == 7.0 * (double)A->rows->N);
    WideClose(&w);
    CHECK_OK(PoiseMatDestroy(&A));
  }
  poiseBufferDestroy(&one);
}

static void TestErrors(PoiseContext ctx)
{
  PoiseMat A = Make(ctx, 0, 10), B = Make(ctx, 0, 12);
  Wide two, three;
  if (!A || !B || !WideOpen(A->cols, A->rows, 2, &two) || !WideOpen(A->cols, A->rows, 3, &three)) return;
  CHECK_ERR(PoiseMatMultBlock(A, two.X, three.Y), POISE_ERR_SIZE, "2 columns");
  CHECK_ERR(PoiseMatMultBlock(A, two.x, three.Y), POISE_ERR_SIZE, "columns");
  CHECK_ERR(PoiseMatMultBlock(A, two.X, two.X), POISE_ERR_ARG, "same");
  CHECK_ERR(PoiseMatMultBlock(B, two.X, two.Y), POISE_ERR_SIZE, "12");
  CHECK_ERR(PoiseMatMultTransposeBlock(B, two.X, two.Y), POISE_ERR_SIZE, "12");
  CHECK_ERR(PoiseMatMult(A, two.X, two.Y), POISE_ERR_SIZE, "");
  CHECK_OK(PoiseMatMultBlock(A, two.x, two.y));
  WideClose(&two);
  WideClose(&three);
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&B));
}

static PoiseErr MakeAndMultiply(PoiseContext ctx, void *arg)
{
  const int type = *(const int *)arg;
  PoiseMat A = NULL;
  PoiseVec X = NULL, Y = NULL;
  PoiseInt N = 24, begin, n = N / 2;
  PoiseSplit(ctx, N / 2, &begin, &n);
  PoiseErr e = PoiseMatCreate(ctx, 2 * n, 2 * n, N, N, &A);
  if (!e) e = PoiseMatSetType(A, types[type]);
  for (PoiseInt i = 2 * begin; i < 2 * (begin + n) && !e; i++) {
    PoiseInt j = (i * 5 + 1) % N;
    e = PoiseMatAddEntries(A, 1, &i, &j, (double[]){1});
    if (!e) e = PoiseMatAddEntries(A, 1, &i, &i, (double[]){2});
  }
  PoiseErr assembled = A ? PoiseAgree(ctx, e) : e;
  if (!assembled) assembled = PoiseMatAssemble(A);
  e = assembled;
  if (!e) e = PoiseVecCreateBlock(ctx, 2 * n, N, 3, &X);
  if (!e) e = PoiseVecCreateBlock(ctx, 2 * n, N, 3, &Y);
  if (!e) e = PoiseMatMultBlock(A, X, Y);
  if (!e) e = PoiseMatMultTransposeBlock(A, Y, X);
  PoiseVecDestroy(&X);
  PoiseVecDestroy(&Y);
  PoiseMatDestroy(&A);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  for (int type = 0; type < TYPES; type++) TestAllocationFailures(ctx, MakeAndMultiply, &type);
}

static const Test tests[] = {
    {"shell", TestShell, 0},     {"types", TestTypes, 0},   {"errors", TestErrors, 0},
    {"skipped", TestSkipped, 0}, {"memory", TestMemory, 0}, {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "wide", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type auto: which type it chooses where that is obvious, when it chooses again, what options and copies do,
  and what measurements leave behind. test_products.c and test_types.c check its products, as those of every
  type. test_plan.c has the rule itself, without matrices.
*/
#include <pthread.h>
#include <unistd.h>

#include "files.h"
#include "ksp/ksp.h"
#include "mat/types/csr_product.h"
#include "mat/mat_device.h"
#include "mat/plan/winners.h"
#include "sample.h"

typedef PoiseInt Lengths(PoiseInt i, PoiseInt m); /* of local row i of m */

static PoiseInt Even(PoiseInt i, PoiseInt m)
{
  (void)i, (void)m;
  return 7;
}
static PoiseInt Pairs(PoiseInt i, PoiseInt m)
{
  (void)i, (void)m;
  return 2;
}
static PoiseInt InFront(PoiseInt i, PoiseInt m) /* nine tenths of the entries in an eighth of the rows */
{
  return i < m / 8 ? 126 : 2;
}
static PoiseInt OneLong(PoiseInt i, PoiseInt m)
{
  return i == m / 2 ? 20 * m : 7;
}
static PoiseInt Few(PoiseInt i, PoiseInt m) /* long rows, alike, but too few to be worth threads by rows */
{
  (void)i, (void)m;
  return 100;
}

static PoiseInt Varied(PoiseInt i, PoiseInt m)
{
  (void)m;
  return 3 + i % 5;
}

/* On every rank m rows of these lengths, of columns near the diagonal, `apart` and a bit from each other;
   sizes such that threads are used. */
static PoiseErr MakeApart(PoiseContext ctx, PoiseInt m, Lengths *length, PoiseInt apart, PoiseMat *A)
{
  int64_t *ptr = calloc((size_t)m + 1, sizeof *ptr);
  /* columns: as many for all lengths but OneLong, and in blocks of 3 where the rows are */
  PoiseInt n = m + 129 * apart;
  for (PoiseInt i = 0; i < m; i++) {
    ptr[i + 1] = ptr[i] + length(i, m);
    if (i + (length(i, m) + 1) * apart > n) n = i + (length(i, m) + 1) * apart;
  }
  int64_t *col = calloc((size_t)ptr[m] + 1, sizeof *col);
  double *val = calloc((size_t)ptr[m] + 1, sizeof *val);
  for (PoiseInt i = 0; i < m; i++)
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      col[k] = i + (k - ptr[i]) * apart + 7919 * i % apart, val[k] = 1 + (double)(k % 3);
  const PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  PoiseErr e = PoiseMatCreateCSR(ctx, m, n, POISE_DECIDE, n * PoiseSize(ctx), &csr, POISE_COPY, A);
  free(ptr), free(col), free(val);
  return e;
}

static PoiseErr Make(PoiseContext ctx, PoiseInt m, Lengths *length, PoiseMat *A)
{
  return MakeApart(ctx, m, length, 1, A);
}

/* Of as many columns, so that there is a preconditioner: a diagonal, and in an eighth of the rows a hundred
   others. */
static PoiseErr MakeSquare(PoiseContext ctx, PoiseInt m, PoiseMat *A)
{
  PoiseInt begin = m * PoiseRank(ctx), N = m * PoiseSize(ctx);
  PoiseErr e = PoiseMatCreate(ctx, m, m, N, N, A);
  for (PoiseInt i = begin; !e && i < begin + m; i++)
    for (PoiseInt k = 0; !e && k <= (i < begin + m / 8 ? 100 : 0); k++) {
      PoiseInt j = begin + (i - begin + 7 * k) % m;
      e = PoiseMatAddBlock(*A, 1, &i, 1, &j, &(double){k ? 1 : 300});
    }
  return e ? e : PoiseMatAssemble(*A);
}

static PoiseErr MakeAuto(PoiseContext ctx, PoiseInt m, Lengths *length, const char *prefix, PoiseMat *A)
{
  POISE_TRY(Make(ctx, m, length, A));
  PoiseErr e = PoiseMatSetOptionsPrefix(*A, prefix);
  if (!e) e = PoiseMatSetType(*A, "auto");
  if (!e) e = PoiseMatSetFromOptions(*A);
  if (e) PoiseMatDestroy(A);
  return e;
}

/* What rank 0 prints has these words. */
static void CheckView(PoiseMat A, const char *words)
{
  PoiseContext ctx = PoiseMatContext(A);
  char text[4096];
  TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
  if (PoiseRank(ctx) == 0 && !CHECK(strstr(text, words) != NULL)) printf("no '%s' in\n%s", words, text);
}

/* Its type works, on all ranks, and products are those of csr. */
static void CheckWorks(PoiseMat A, const char *type)
{
  PoiseMat C;
  char words[80];
  CheckView(A, "type auto"); /* uses it: now it is chosen */
  CHECK(!strcmp(PoiseMatType(A), "auto"));
  CHECK(!type || !strcmp(A->type->name, type));
  snprintf(words, sizeof words, "auto chose %s: ", A->type->name);
  CheckView(A, words);
  if (!CHECK_OK(PoiseMatDuplicate(A, 1, &C)) || !CHECK_OK(PoiseMatSetType(C, "csr"))) return;
  CHECK(!strcmp(PoiseMatType(C), "csr") && !strcmp(C->type->name, "csr"));
  SampleSameProducts(A, C, false, 1e-13);
  PoiseMatDestroy(&C);
}

/* All ranks have one type and count patterns alike. */
static void CheckAlike(PoiseMat A, const char *type)
{
  double same = !strcmp(PoiseMatType(A), type), pattern = (double)(A->version.pattern + A->version.product),
         all[] = {same, -same, pattern, -pattern};
  CHECK_OK(PoiseMax(PoiseMatContext(A), 4, all));
  CHECK(all[0] == -all[1] && all[2] == -all[3]);
}

static void FailAt(PoiseContext ctx, int64_t n)
{
  if (PoiseRank(ctx) == PoiseSize(ctx) - 1) poiseAllocFailAt(ctx, n);
}

/* ---- the rule -------------------------------------------------------------------------------- */

static void TestChoice(PoiseContext ctx)
{
  static const struct {
    PoiseInt m;
    Lengths *length;
    const char *type;
  } cases[] = {{12000, Even, "csr"},
               {12000, InFront, "csri"},
               {12000, OneLong, "csri"},
               {0, Even, "csr"},
               {1, Even, "csr"}};
  bool gpu = poiseModelIsGpu(&ctx->device->model);
  for (int threads = 1; threads < 4; threads++) { /* bits depend on the choice, and not on them */
    PoiseMat A;
    ctx->device->threads = threads;
    for (int k = 0; k < 5; k++) {
      if (!CHECK_OK(MakeAuto(ctx, cases[k].m, cases[k].length, "c_", &A))) return;
      CheckWorks(A, cases[k].type);
      CheckView(A, gpu ? "predicted to be the fastest, " : "predicted to be the fastest with 16 threads, ");
      CheckView(A, " times as long, ");
      CheckView(A, "    A x by ");
      PoiseMatDestroy(&A);
    }
    if (CHECK_OK(MakeAuto(ctx, 8000, Few, "c_", &A))) CheckWorks(A, gpu ? "csr" : "csri");
    PoiseMatDestroy(&A);
  }
}

/* On a GPU rows whose blocks do not all have a place at once are multiplied in row blocks where their columns
   are apart. Elsewhere in rows. */
static void TestColumns(PoiseContext ctx)
{
  bool gpu = poiseModelIsGpu(&ctx->device->model);
  PoiseMat A;
  for (int apart = 0; apart < 3; apart++) { /* 2: but 16-bit columns are asked for, which only csr has */
    CHECK_OK(PoiseOptionsSet(ctx, "w_mat_index16", apart == 2 ? "yes" : "no"));
    if (!CHECK_OK(MakeApart(ctx, gpu ? 300000 : 3000, Varied, apart ? 2000 : 1, &A))) return;
    CHECK_OK(PoiseMatSetOptionsPrefix(A, "w_"));
    CHECK_OK(PoiseMatSetType(A, "auto"));
    CHECK_OK(PoiseMatSetFromOptions(A));
    CheckWorks(A, gpu && apart == 1 ? "csri" : "csr");
    PoiseMatDestroy(&A);
  }
}

/* The slowest rank decides for all. */
static void TestOneRankDecides(PoiseContext ctx)
{
  PoiseMat A;
  ctx->device->threads = 3;
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  if (!CHECK_OK(MakeAuto(ctx, 12000, last ? InFront : Even, "c_", &A))) return;
  CheckWorks(A, "csri");
  PoiseMatDestroy(&A);
}

/* ---- when it is chosen again ----------------------------------------------------------------- */

static void TestPatterns(PoiseContext ctx)
{
  PoiseMat A;
  PoiseInt m = 12000, begin = m * PoiseRank(ctx), N = 40 * m * PoiseSize(ctx);
  ctx->device->threads = 3;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, 40 * m, m * PoiseSize(ctx), N, &A)) ||
      !CHECK_OK(PoiseMatSetType(A, "auto")))
    return;
  CHECK(!strcmp(PoiseMatType(A), "auto")); /* and nothing is chosen yet */
  for (PoiseInt i = begin; i < begin + m; i++) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &i, &(double){2}));
  CHECK_OK(PoiseMatAssemble(A));
  CheckWorks(A, "csr");
  int64_t pattern = A->version.pattern, product = A->version.product;
  CHECK_OK(PoiseMatScale(A, 3)); /* values only */
  CHECK_OK(PoiseMatAddEntries(A, 1, &begin, &begin, &(double){2}));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetFromOptions(A)); /* which say nothing new */
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CHECK(A->version.pattern == pattern && A->version.product == product);
  PoiseInt *col = malloc(30 * (size_t)m * sizeof *col);
  double *val = calloc(30 * (size_t)m, sizeof *val);
  for (PoiseInt k = 0; k < 30 * m; k++) col[k] = k;
  CHECK_OK(PoiseMatAddBlock(A, 1, &begin, (int)(30 * m), col, val));
  free(col), free(val);
  CHECK_OK(PoiseMatAssemble(A));
  CheckWorks(A, "csri");
  CHECK_OK(PoiseMatSetType(A, "csri"));
  CHECK(!strcmp(PoiseMatType(A), "csri") && A->asked.type == A->type);
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CheckWorks(A, "csri");
  PoiseMatDestroy(&A);
}

/* ---- options and copies ---------------------------------------------------------------------- */

static void Option(PoiseContext ctx, const char *key, const char *value)
{
  CHECK_OK(PoiseOptionsSet(ctx, key, value));
  CHECK_OK(PoiseBarrier(ctx));
}

static int64_t Chunk(PoiseMat A)
{
  ProductRequest request = {.type = PRODUCT_CSRI};
  poiseCsriRequest(A->data, &request);
  return poiseSplitLimit(&A->ctx->device->model, &request, A->csr.m + A->csr.nz);
}

static void TestOptions(PoiseContext ctx)
{
  PoiseMat A, B;
  PoiseInt m = 12000;
  ctx->device->threads = 3;
  SetOptions(ctx, "-o_mat_type auto -o_mat_csri_chunk 64");
  if (!CHECK_OK(MakeAuto(ctx, m, InFront, "o_", &A))) return;
  CheckWorks(A, "csri");
  CHECK_INT(Chunk(A), 64);
  int64_t partials = poiseMatPartials(A), product = A->version.product;
  if (CHECK_OK(PoiseMatDuplicate(A, 1, &B))) {
    CheckWorks(B, "csri");
    CHECK_INT(Chunk(B), 64);
    CHECK_INT(poiseMatPartials(B), partials);
  }
  PoiseMatDestroy(&B);
  SetOptions(ctx, "-o_mat_csri_chunk 300");
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK_INT(Chunk(A), 300);
  CHECK(A->version.product > product); /* what was captured is void */
  CheckWorks(A, "csri");
  SetOptions(ctx, "-o_mat_csri_chunk 9000");
  CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION, "o_mat_csri_chunk");
  PoiseMatDestroy(&A);
  SetOptions(ctx, "-o_mat_csri_chunk 0");
}

/* A type and its options that come together are set up once; with wrong options it still multiplies, until
   they are replaced. */
static void TestTypeAndOptions(PoiseContext ctx)
{
  static const char *const types[] = {"csri", "seg", "auto"};
  for (int k = 0; k < 3; k++) {
    PoiseMat A, C;
    LogCounts before, after;
    if (!CHECK_OK(Make(ctx, 500, OneLong, &A)) || !CHECK_OK(Make(ctx, 500, OneLong, &C))) return;
    CHECK_OK(PoiseMatSetOptionsPrefix(A, "t_"));
    Option(ctx, "t_mat_type", types[k]);
    Option(ctx, "t_mat_csri_chunk", "64");
    Option(ctx, "t_mat_seg_length", "4");
    poiseLogCounts(ctx, &before);
    CHECK_OK(PoiseMatSetFromOptions(A));
    poiseLogCounts(ctx, &after);
    if (k == 2) CHECK_NEAR(after.event[EVENT_MatChoose].calls - before.event[EVENT_MatChoose].calls, 1, 0);
    double once = after.launches - before.launches;
    CHECK_OK(PoiseMatSetType(C, types[k]));
    poiseLogCounts(ctx, &before);
    /* auto may choose another type for another chunk */
    if (k < 2) CHECK_NEAR(before.launches - after.launches, once, 0);
    CHECK_OK(PoiseMatSetType(A, "csr"));
    CHECK_OK(PoiseMatSetType(C, "csr"));
    Option(ctx, "t_mat_csri_chunk", "9000");
    Option(ctx, "t_mat_seg_length", "1000");
    CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION, k == 1 ? "t_mat_seg_length" : "t_mat_csri_chunk");
    CHECK(!strcmp(PoiseMatType(A), types[k]));
    SampleSameProducts(A, C, false, 1e-13);
    Option(ctx, "t_mat_csri_chunk", "0");
    Option(ctx, "t_mat_seg_length", "12"); /* whether or not seg is chosen */
    if (k) CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION, "t_mat_seg_length 12 ");
    Option(ctx, "t_mat_seg_length", "0");
    CHECK_OK(PoiseMatSetFromOptions(A));
    SampleSameProducts(A, C, false, 1e-13);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&C);
  }
}

/* An arrow beside a diagonal: symmetric, dominant, its dense row on rank 0. */
static PoiseErr MakeArrow(PoiseContext ctx, PoiseInt n, PoiseMat *A)
{
  PoiseInt begin, m;
  PoiseSplit(ctx, n, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m, m, n, n, A));
  for (PoiseInt i = begin; i < begin + m; i++) { /* Assemble speaks of a failure */
    (void)PoiseMatAddEntries(*A, 1, &i, &i, &(double){i ? 4 : (double)n});
    if (i) (void)PoiseMatAddBlock(*A, 1, &i, 1, &(PoiseInt){0}, &(double){-0.5});
    if (i) (void)PoiseMatAddBlock(*A, 1, &(PoiseInt){0}, 1, &i, &(double){-0.5});
  }
  return PoiseMatAssemble(*A);
}

#define KSP_TYPE(name) #name,
static const char *const methods[] = {
#include "ksp/types.def"
};
#undef KSP_TYPE
enum { METHODS = sizeof methods / sizeof *methods };

/* By every method, in another order too, and with blocks inside: copies are of type auto and choose for
   themselves. */
static void TestSolves(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, b;
  double norm, residual;
  ctx->device->threads = 3;
  SetOptions(ctx, "-s_mat_csri_chunk 64");
  if (!CHECK_OK(MakeArrow(ctx, 3000, &A)) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "s_")) ||
      !CHECK_OK(PoiseMatSetType(A, "auto")) || !CHECK_OK(PoiseMatSetFromOptions(A)) ||
      !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)))
    return;
  CHECK_OK(PoiseVecSetRandom(b, 3));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm));
  for (int k = 0; k < 3 * METHODS; k++) {
    PoiseKSP ksp;
    PoisePC pc;
    bool orders = k / METHODS == 1, blocks = k / METHODS == 2;
    if (!strcmp(methods[k % METHODS], "preonly") || (blocks && !strcmp(methods[k % METHODS], "prcg")))
      continue;
    if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) continue;
    CHECK_OK(PoiseMatSetOrder(A, orders ? POISE_ORDER_RCM : POISE_ORDER_NATURAL));
    CHECK_OK(PoiseKSPSetType(ksp, methods[k % METHODS]));
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, blocks ? "bjacobi" : "jacobi"));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-11, 1e-50, 1e5, 500));
    CHECK_OK(PoiseVecSet(x, 0));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK(PoiseKSPConvergedReason(ksp) > 0);
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &residual));
    CHECK(residual <= 1e-7 * norm);
    CHECK(!strcmp(PoiseMatType(ksp->A), "auto") && ksp->A->asked.type == &poiseMatType_auto);
    PoiseKSPDestroy(&ksp);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
}

/* ---- measurements ---------------------------------------------------------------------------- */

static void TestMeasure(PoiseContext ctx)
{
  PoiseMat A, B;
  ctx->device->threads = 2;
  Option(ctx, "m_mat_auto_measure", "yes");
  if (!CHECK_OK(MakeAuto(ctx, 500, OneLong, "m_", &A))) return;
  CheckWorks(A, NULL);
  CheckView(A, "measured, in ms a product: csr ");
  CHECK_INT(ctx->winners->count, 1);
  char type[16];
  snprintf(type, sizeof type, "%s", A->type->name);
  if (CHECK_OK(MakeAuto(ctx, 500, OneLong, "m_", &B))) { /* the same pattern */
    CheckWorks(B, type);
    CheckView(B, "measured before\n");
  }
  PoiseMatDestroy(&B);
  if (CHECK_OK(PoiseMatDuplicate(A, 0, &B))) {
    CheckWorks(B, type);
    CheckView(B, "measured before\n");
  }
  PoiseMatDestroy(&B);
  CHECK_INT(ctx->winners->count, 1);
  /* another pattern with as many rows; on rank 0 only the column is new */
  PoiseInt row = 500 * PoiseRank(ctx), col = 499;
  CHECK_OK(PoiseMatAddEntries(A, 1, &row, &col, &(double){1}));
  CHECK_OK(PoiseMatAssemble(A));
  CheckWorks(A, NULL);
  CheckView(A, "measured, in ms a product: csr ");
  CHECK_INT(ctx->winners->count, 2);
  Option(ctx, "m_mat_csri_chunk", "100"); /* another contender */
  CHECK_OK(PoiseMatSetFromOptions(A));
  CheckWorks(A, NULL);
  CheckView(A, "measured, in ms a product: csr ");
  CHECK_INT(ctx->winners->count, 3);
  Option(ctx, "m_mat_auto_measure", "no");
  CHECK_OK(PoiseMatSetFromOptions(A));
  CheckView(A, "predicted");
  PoiseMatDestroy(&A);
  for (PoiseInt m = 0; m < 2; m++) { /* and of next to nothing */
    Option(ctx, "m_mat_auto_measure", "yes");
    if (CHECK_OK(MakeAuto(ctx, m, Even, "m_", &A))) CheckWorks(A, NULL);
    PoiseMatDestroy(&A);
  }
}

static const char *const candidates[] = {"csr", "csri", "seg"}; /* by the number that is remembered */

/* A clock by which a product of the type at work takes as long as is said here; in the second round of csr 1
   s passes besides. */
static _Thread_local struct {
  PoiseMat A;
  double seconds[3], now; /* of the candidates */
  int calls;
} pretended;

static double Pretended(void)
{
  int k = 0;
  while (strcmp(candidates[k], pretended.A->type->name)) k++;
  if (++pretended.calls == 20) pretended.now += 1;
  return pretended.now += pretended.seconds[k];
}

/* From a millisecond on, single products are timed. */
static void Pretend(PoiseContext ctx, PoiseMat A, const double *ms)
{
  pretended.A = A, pretended.calls = 0;
  for (int k = 0; k < 3; k++) pretended.seconds[k] = 1e-3 * ms[k];
  ctx->hooks.clock = Pretended;
}

/* What is fastest on its slowest rank works and is remembered; what was predicted, unless that is 2 %
   slower. */
static void TestMeasured(PoiseContext ctx)
{
  static const struct {
    double ms[3], last[3]; /* of the predicted type and of those after it; on the last rank */
    int winner;            /* in this order */
  } cases[] = {{{2, 1, 3}, {2, 1, 3}, 1},       {{2, 3, 1}, {2, 3, 1}, 2},
               {{1, 1.5, 2}, {1, 1.5, 2}, 0},   {{1.01, 1, 1}, {1.01, 1, 1}, 0},
               {{1.03, 1, 2}, {1.03, 1, 2}, 1}, {{20, 5, 1}, {20, 5, 1}, 2},
               {{2, 1, 3}, {2, 9, 3}, 0},       {{1, 3, 2}, {8, 3, 2}, 2}};
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  ctx->device->threads = 3;
  for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
    PoiseMat A, B;
    double ms[3], slowest[3];
    char words[160];
    int predicted = 0;
    Option(ctx, "m_mat_auto_measure", "no");
    if (!CHECK_OK(MakeAuto(ctx, 200, InFront, "m_", &A))) return;
    while (strcmp(candidates[predicted], A->type->name)) predicted++;
    int winner = (predicted + cases[c].winner) % 3;
    for (int k = 0; k < 3; k++)
      slowest[(predicted + k) % 3] = ms[(predicted + k) % 3] = (last ? cases[c].last : cases[c].ms)[k];
    Pretend(ctx, A, ms);
    ctx->winners->count = 0;
    Option(ctx, "m_mat_auto_measure", "yes");
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK_OK(PoiseMax(ctx, 3, slowest));
    snprintf(words, sizeof words, "measured, in ms a product: csr %.4f, csri %.4f, seg %.4f%s", slowest[0],
             slowest[1], slowest[2], c == 3 ? "; as predicted, since it is not 2 % slower" : "\n");
    CheckView(A, words);
    CheckWorks(A, candidates[winner]);
    CHECK_INT(ctx->winners->count, 1);
    CHECK_INT(ctx->winners->of[0].winner, winner);
    int calls = pretended.calls;
    if (CHECK_OK(MakeAuto(ctx, 200, InFront, "m_", &B))) CheckWorks(B, candidates[winner]);
    CHECK_INT(pretended.calls, calls); /* not timed again */
    PoiseMatDestroy(&B);
    PoiseMatDestroy(&A);
  }
}

/* Of fast types so many products are timed as take a millisecond, from a graph where the device replays some;
   all are counted. */
static void TestMeasuredFast(PoiseContext ctx)
{
  static const double ms[] = {0.095, 0.019, 0.001}; /* of all types */
  static const int products[] = {10, 52, 64};       /* in each of 5 rounds */
  int64_t launches[3];
  for (int c = 0; c < 3; c++) {
    PoiseMat A;
    Option(ctx, "m_mat_auto_measure", "no");
    if (!CHECK_OK(MakeAuto(ctx, 200, InFront, "m_", &A))) return;
    Pretend(ctx, A, (double[]){ms[c], ms[c], ms[c]});
    ctx->winners->count = 0;
    Option(ctx, "m_mat_auto_measure", "yes");
    launches[c] = ctx->device->launches;
    CHECK_OK(PoiseMatSetFromOptions(A));
    CheckWorks(A, NULL);
    launches[c] = ctx->device->launches - launches[c];
    PoiseMatDestroy(&A);
  }
  for (int c = 1; c < 3; c++) CHECK_INT(launches[c] - launches[0], 5 * 3 * (products[c] - products[0]));
}

/* All take what rank 0 remembers, if all remember; else they measure, and remember it in the same place. */
static void TestRemembered(PoiseContext ctx)
{
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Option(ctx, "m_mat_auto_measure", "yes");
  for (int k = 0; k < 3; k++) {
    PoiseMat A;
    if (k == 1 && PoiseRank(ctx)) ctx->winners->of[0].winner = (ctx->winners->of[0].winner + 1) % 3;
    if (k == 2 && last) ctx->winners->count = 0;
    double first = PoiseRank(ctx) ? -1 : ctx->winners->of[0].winner; /* rank 0's */
    CHECK_OK(PoiseMax(ctx, 1, &first));
    if (!CHECK_OK(MakeAuto(ctx, 200, OneLong, "m_", &A))) return;
    CheckView(A, k == 1 ? "measured before\n" : "measured, in ms a product: csr ");
    CheckWorks(A, k == 1 ? candidates[(int)first] : NULL);
    CHECK_INT(ctx->winners->count, 1);
    PoiseMatDestroy(&A);
  }
}

/* The oldest ones are forgotten. */
static void TestRing(PoiseContext ctx)
{
  static const struct {
    PoiseInt m;
    bool known;
  } steps[] = {{20, false}, {30, false}, {20, true}, {30, true},
               {40, false}, {30, true},  {40, true}, {20, false}};
  Option(ctx, "m_mat_auto_measure", "yes");
  for (int k = 0; k < 8; k++) {
    PoiseMat A;
    if (k == 1) ctx->winners->count = POISE_WINNERS - 1; /* as if others had come */
    if (!CHECK_OK(MakeAuto(ctx, steps[k].m, Even, "m_", &A))) return;
    CheckView(A, steps[k].known ? "measured before\n" : "measured, in ms a product: csr ");
    PoiseMatDestroy(&A);
  }
  CHECK_INT(ctx->winners->count, POISE_WINNERS + 2);
}

/* The hash is of places: columns, or lengths, that change places are another pattern. */
static void TestHash(PoiseContext ctx)
{
  enum { M = 3000, N = 40 };
  uint64_t seen[6];
  int32_t ptr[M + 1], col[2 * M];
  for (int c = 0; c < 6; c++) {
    Buffer offsets = {0}, columns = {0}, hash = {0};
    CsrHashArgs a = {.A = {.m = c == 5 ? 0 : M, .nz = c == 5 ? 0 : 2 * M}};
    void *to;
    const uint64_t *found;
    for (int i = 0; i <= M; i++) ptr[i] = 2 * i;
    for (int k = 0; k < 2 * M; k++) col[k] = 7 * k % N;
    if (c == 1) ptr[M]++;
    if (c == 2) col[2 * M - 1]++;
    if (c == 3) ptr[10] += 1, ptr[11] -= 1;
    if (c == 4) col[0] = 7, col[1] = 0;
    CHECK_OK(poiseBufferCreate(ctx->device, sizeof ptr, "offsets of the test", &offsets));
    CHECK_OK(poiseBufferCreate(ctx->device, sizeof col, "columns of the test", &columns));
    CHECK_OK(poiseBufferCreate(ctx->device, sizeof *found, "hash of the test", &hash));
    if (CHECK_OK(poiseBufferWrite(&offsets, HOST, &to))) memcpy(to, ptr, sizeof ptr);
    if (CHECK_OK(poiseBufferWrite(&columns, HOST, &to))) memcpy(to, col, sizeof col);
    CHECK_OK(poiseBufferRead(&offsets, DEVICE, &a.A.ptr32));
    CHECK_OK(poiseBufferRead(&columns, DEVICE, &a.A.col));
    CHECK_OK(poiseBufferUpdate(&hash, DEVICE, &a.hash));
    CHECK_OK(LAUNCH(ctx->device, csr_hash, &a));
    if (!CHECK_OK(poiseBufferRead(&hash, HOST, &found))) return;
    seen[c] = *found;
    uint64_t plain = 0; /* the same on every device */
    CsrView host = {.m = a.A.m, .nz = a.A.nz, .ptr32 = ptr, .col = col};
    for (int64_t k = 0; k <= a.A.m || k < a.A.nz; k++) plain += poiseCsrHashAt(&host, k);
    CHECK(seen[c] == plain);
    for (int d = 0; d < c; d++) CHECK(seen[c] != seen[d]);
    poiseBufferDestroy(&offsets);
    poiseBufferDestroy(&columns);
    poiseBufferDestroy(&hash);
  }
}

/* Rank 0's; the others have none. */
static void GetFile(PoiseContext ctx, const char *path, char *text, size_t size)
{
  text[0] = 0;
  CHECK_OK(PoiseBarrier(ctx));
  if (PoiseRank(ctx) == 0) TextOf(path, text, size);
  CHECK_OK(PoiseBarrier(ctx));
}

static void TestFile(PoiseContext ctx)
{
  static const struct {
    const char *text, *words;
  } bad[] = {{"%%MatrixMarket matrix\n", "line 1: not a file of winners of type auto"},
             {"poise auto 1", "line 1: not a file"},
             {"poise auto 1\n0123456789abcdef csri\n0123456789abcde csri\n",
              "line 3: '0123456789abcde csri' is not 16"},
             {"poise auto 1\n0123456789abcdeg csr\n", "line 2: '0123456789abcdeg csr' is not"},
             {"poise auto 1\n0123456789abcdef shell\n", "line 2: '0123456789abcdef shell' is not"},
             {"poise auto 1\n0123456789abcdef csr", "line 2: '0123456789abcdef csr' is not"},
             {"poise auto 1\n\n", "line 2: '' is not"},
             {"poise auto 1\n0123456789abcdef csr and many more words, more than a line has room for\n",
              "line 2: "}};
  char path[PATH], text[512], again[512], other[40];
  bool root = PoiseRank(ctx) == 0;
  PoiseMat A;
  SharedName(ctx, path, "winners");
  if (root) remove(path);
  Option(ctx, "f_mat_auto_measure", "yes");
  Option(ctx, "f_mat_auto_file", path);
  WriteText(ctx, path, ""); /* as a new file is */
  for (int k = 0; k < 2; k++) {
    if (!CHECK_OK(MakeAuto(ctx, 300 + k, Even, "f_", &A))) return;
    CheckView(A, "measured, in ms a product: csr ");
    PoiseMatDestroy(&A);
  }
  GetFile(ctx, path, text, sizeof text);
  if (root) CHECK(!strncmp(text, "poise auto 1\n", 13));
  ctx->winners->count = 0; /* another process, */
  char *first = strchr(text, '\n'), *end = first ? strchr(first + 1, '\n') : NULL;
  if (root && CHECK(end != NULL)) { /* and the other type for the first matrix */
    snprintf(other, sizeof other, "%.17s%s\n", first + 1, strncmp(first + 18, "csri\n", 5) ? "csri" : "csr");
    snprintf(again, sizeof again, "poise auto 1\n%s%s", other, end + 1);
    WriteText(ctx, path, again);
  } else {
    WriteText(ctx, path, "");
  }
  if (!CHECK_OK(MakeAuto(ctx, 300, Even, "f_", &A))) return;
  CheckView(A, "measured before, in file ");
  CHECK_INT(ctx->winners->count, 1);
  if (root)
    CHECK(!strncmp(other + 17, A->type->name, strlen(A->type->name)) &&
          other[17 + strlen(A->type->name)] == '\n');
  PoiseMatDestroy(&A);
  if (!CHECK_OK(MakeAuto(ctx, 302, Even, "f_", &A))) return; /* what the file had stays */
  CheckView(A, "measured, in ms a product: csr ");
  PoiseMatDestroy(&A);
  GetFile(ctx, path, text, sizeof text);
  if (root) CHECK(!strncmp(text, again, strlen(again)) && strlen(text) >= strlen(again) + 21);
  Option(ctx, "f_mat_auto_measure", "no"); /* a winner in the file is one nevertheless */
  ctx->winners->count = 0;
  for (int k = 0; k < 2; k++) {
    if (!CHECK_OK(MakeAuto(ctx, k ? 303 : 300, Even, "f_", &A))) return;
    CheckView(A, k ? "auto chose csr: " : "measured before, in file ");
    PoiseMatDestroy(&A);
  }
  GetFile(ctx, path, again, sizeof again);
  if (root) CHECK(!strcmp(text, again));
  Option(ctx, "f_mat_auto_measure", "yes");
  for (int k = 0; k < (int)(sizeof bad / sizeof *bad); k++) {
    ctx->winners->count = 0;
    WriteText(ctx, path, bad[k].text);
    PoiseErr e = MakeAuto(ctx, 300, Even, "f_", &A);
    CHECK_ERR(e, root ? POISE_ERR_FORMAT : POISE_ERR_REMOTE, bad[k].words);
    GetFile(ctx, path, text, sizeof text);
    if (root) CHECK(!strcmp(text, bad[k].text));
  }
  if (root) remove(path);
  SharedName(ctx, path, "nowhere/winners");
  Option(ctx, "f_mat_auto_file", path);
  CHECK_ERR(MakeAuto(ctx, 300, Even, "f_", &A), root ? POISE_ERR_FILE : POISE_ERR_REMOTE, "nowhere");
  Option(ctx, "f_mat_auto_file", "");
}

typedef struct Program {
  char path[PATH];
  int m;
  PoiseErr e;
} Program;

enum { PROGRAMS = 4, WINNERS = 6 };

/* Matrices of sizes m, m + 1, ..., in a context of its own. */
static void *Measures(void *arg)
{
  Program *p = arg;
  PoiseContext own;
  char *argv[] = {"test", "-device", "host", "-f_mat_auto_measure", "-f_mat_auto_file", p->path},
       **list = argv;
  int argc = 6;
  p->e = PoiseInitialize(&argc, &list, &(PoiseInit){.serial = 1}, &own);
  for (int k = 0; !p->e && k < WINNERS; k++) {
    PoiseMat A = NULL;
    p->e = MakeAuto(own, p->m + k, Even, "f_", &A);
    PoiseMatDestroy(&A);
  }
  if (!p->e) p->e = PoiseFinalize(&own);
  return NULL;
}

static int Lines(const char *text)
{
  int n = 0;
  for (const char *c = text; *c; c++) n += *c == '\n';
  return n;
}

/* Programs that add to one file at once lose nothing of each other's. */
static void TestFileOfMany(PoiseContext ctx)
{
  Program program[PROGRAMS];
  pthread_t thread[PROGRAMS];
  char text[1024];
  for (int k = 0; k < PROGRAMS; k++) {
    program[k] = (Program){.m = 100 + 10 * k};
    SharedName(ctx, program[k].path, "many");
    CHECK(!pthread_create(&thread[k], NULL, Measures, &program[k]));
  }
  for (int k = 0; k < PROGRAMS; k++) {
    CHECK(!pthread_join(thread[k], NULL));
    CHECK_OK(program[k].e);
  }
  GetFile(ctx, program[0].path, text, sizeof text);
  CHECK_INT(Lines(text), 1 + PROGRAMS * WINNERS);
  remove(program[0].path);
}

/* Matrices inside ranks, each of a context in which it is rank 0: winners are remembered with those of all
   ranks, and one rank writes. */
static void TestInside(PoiseContext ctx)
{
  PoiseContext self = poiseContextSelf(ctx);
  char path[PATH], text[512];
  SharedName(ctx, path, "inside");
  if (!PoiseRank(ctx)) remove(path);
  Option(ctx, "f_mat_auto_measure", "yes");
  Option(ctx, "f_mat_auto_file", path);
  for (int r = 0; r < PoiseSize(ctx); r++) { /* in turns */
    PoiseMat A;
    if (r == PoiseRank(ctx) && CHECK_OK(MakeAuto(self, 50 + r, Even, "f_", &A))) PoiseMatDestroy(&A);
    if (r == PoiseRank(ctx)) {
      int other = (ctx->winners->of[0].winner + 1) % 3;
      CHECK_INT(ctx->winners->count, 1);
      ctx->winners->of[0].winner = other;
      if (CHECK_OK(MakeAuto(self, 50 + r, Even, "f_", &A))) CHECK(!strcmp(A->type->name, candidates[other]));
      PoiseMatDestroy(&A);
    }
    CHECK_OK(PoiseBarrier(ctx));
  }
  GetFile(ctx, path, text, sizeof text);
  CHECK_INT(Lines(text), PoiseRank(ctx) ? 0 : 2);
  if (!PoiseRank(ctx)) remove(path);
  Option(ctx, "f_mat_auto_file", "");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A chain of 40 nodes of 3 unknowns on every rank, each coupled to all of its neighbours' or to the same one
   of theirs. */
static PoiseErr EnterChain(PoiseContext ctx, bool all, int b, bool named, PoiseMat *A)
{
  PoiseInt m = 120, N = m * PoiseSize(ctx), first = m * PoiseRank(ctx);
  POISE_TRY(PoiseMatCreate(ctx, m, m, POISE_DECIDE, POISE_DECIDE, A));
  PoiseErr e = PoiseMatSetBlockSize(*A, b);
  if (!e && named) e = PoiseMatSetType(*A, "auto");
  if (!e) e = PoiseMatSetOptionsPrefix(*A, "b_");
  if (!e) e = PoiseMatSetFromOptions(*A);
  for (PoiseInt i = first; !e && i < first + m; i++)
    for (PoiseInt j = (i / 3 - 1) * 3; !e && j < (i / 3 + 2) * 3; j++) {
      double v = 1 + (double)((i + 2 * j) % 5);
      if (j >= 0 && j < N && (all || i % 3 == j % 3)) e = PoiseMatAddBlock(*A, 1, &i, 1, &j, &v);
    }
  e = PoiseAgree(ctx, e);
  if (e) PoiseMatDestroy(A);
  return e;
}

static PoiseErr MakeChain(PoiseContext ctx, bool all, int b, PoiseMat *A)
{
  POISE_TRY(EnterChain(ctx, all, b, true, A));
  PoiseErr e = PoiseMatAssemble(*A);
  if (e) PoiseMatDestroy(A);
  return e;
}

/* The matrix is of blocks, stays so under type auto, and multiplies as its csr. */
static void CheckBlocks(PoiseMat A)
{
  PoiseMat C;
  int64_t pattern = A->version.pattern;
  CHECK(!strcmp(PoiseMatType(A), "bcsr") && !strcmp(A->type->name, "bcsr"));
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CHECK(!strcmp(PoiseMatType(A), "bcsr") && A->version.pattern == pattern); /* nothing was taken apart */
  if (!CHECK_OK(PoiseMatDuplicate(A, 1, &C)) || !CHECK_OK(PoiseMatSetType(C, "csr"))) return;
  SampleSameProducts(A, C, false, 1e-13);
  PoiseMatDestroy(&C);
}

static void TestBlocks(PoiseContext ctx)
{
  PoiseMat A, C;
  PoiseInt at = 40 * PoiseRank(ctx), more[2] = {0, 119};
  double ones[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, one = 1;
  Option(ctx, "b_mat_bcsr_kernel", "balanced");
  if (!CHECK_OK(MakeChain(ctx, true, 3, &A))) return;
  CheckView(A, "auto chose bcsr: blocks take 0.6");
  CheckView(A, "bcsr: row blocks of");
  CheckBlocks(A);
  more[0] += 3 * at, more[1] += 3 * at; /* an entry far away, in a new block */
  CHECK_OK(PoiseMatAddBlock(A, 1, more, 1, more + 1, &one));
  CHECK_OK(PoiseMatAssemble(A));
  CheckBlocks(A);
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CheckBlocks(A);
  PoiseMatDestroy(&A);
  if (!CHECK_OK(MakeAuto(ctx, 120, Few, "b_", &A))) return; /* its arrays are those of a CSR */
  CHECK_OK(PoiseMatSetBlockSize(A, 3));
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CheckWorks(A, NULL);
  PoiseMatDestroy(&A);
  Option(ctx, "b_mat_bcsr_kernel", "auto");
  if (!CHECK_OK(MakeChain(ctx, false, 3, &A))) return; /* two thirds of each block would be zeros */
  CheckWorks(A, NULL);
  PoiseMatDestroy(&A);
  if (!CHECK_OK(MakeChain(ctx, true, 1, &A))) return;
  CheckWorks(A, NULL);
  PoiseMatDestroy(&A);

  if (!CHECK_OK(PoiseMatCreate(ctx, 120, 120, POISE_DECIDE, POISE_DECIDE, &C))) return;
  CHECK_OK(PoiseMatSetBlockSize(C, 3));
  CHECK_OK(PoiseMatSetType(C, "auto"));
  CHECK_OK(PoiseMatSetBlockPatternCOO(C, 1, &at, &at));
  CHECK_OK(PoiseMatSetValuesCOO(C, ones));
  CheckBlocks(C);
  PoiseMatDestroy(&C);
}

/* Nobody said auto: a matrix, its copies and transposes stay CSR, until somebody does; one of blocks of
   triplets, too. */
static void TestBlocksByName(PoiseContext ctx)
{
  PoiseMat B;
  PoiseInt at = 40 * PoiseRank(ctx);
  if (!CHECK_OK(PoiseMatCreate(ctx, 120, 120, POISE_DECIDE, POISE_DECIDE, &B))) return;
  CHECK_OK(PoiseMatSetBlockSize(B, 3));
  CHECK_OK(PoiseMatSetBlockPatternCOO(B, 1, &at, &at));
  CHECK_OK(PoiseMatSetValuesCOO(B, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9}));
  CheckWorks(B, NULL);
  PoiseMatDestroy(&B);
  for (int k = 0; k < 4; k++) {
    PoiseMat A, C, T;
    if (!CHECK_OK(EnterChain(ctx, true, 3, false, &A))) return;
    CHECK_OK(PoiseMatAssemble(A));
    if (CHECK_OK(PoiseMatDuplicate(A, 1, &C)) && CHECK_OK(PoiseMatTranspose(A, &T))) {
      CheckWorks(A, NULL);
      CheckWorks(C, NULL);
      CheckWorks(T, NULL);
      PoiseMatDestroy(&T);
      PoiseMatDestroy(&C);
    }
    if (k == 0) CHECK_OK(PoiseMatSetType(A, "auto"));
    if (k == 1) Option(ctx, "named_mat_type", "auto");
    if (k == 1) CHECK_OK(PoiseMatSetOptionsPrefix(A, "named_"));
    CHECK_OK(PoiseMatSetFromOptions(A));
    if (k < 2)
      CheckBlocks(A);
    else
      CheckWorks(A, NULL);
    if (k == 3) FailAt(ctx, 1);
    if (k == 3)
      CHECK_ERR_OF(PoiseMatSetType(A, "auto"), PoiseRank(ctx) == PoiseSize(ctx) - 1, POISE_ERR_MEMORY, "");
    FailAt(ctx, 0);
    if (k == 3) CHECK_OK(PoiseMatSetType(A, "auto")); /* which tries again */
    if (k == 3) CheckBlocks(A);
    PoiseMatDestroy(&A);
  }
}

/* While one rank has entries that are not assembled, no rank makes blocks. */
static void TestOneRankWaits(PoiseContext ctx)
{
  PoiseMat A;
  PoiseInt at = 120 * PoiseRank(ctx), end = at + 119;
  double one = 1;
  if (!CHECK_OK(EnterChain(ctx, true, 3, false, &A))) return;
  CHECK_OK(PoiseMatAssemble(A));
  if (PoiseRank(ctx) == PoiseSize(ctx) - 1) CHECK_OK(PoiseMatAddBlock(A, 1, &at, 1, &end, &one));
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CHECK_OK(PoiseMatAssemble(A));
  CheckBlocks(A);
  PoiseMatDestroy(&A);
}

static PoiseErr UseBlocks(PoiseContext ctx, void *arg)
{
  PoiseMat A;
  (void)arg;
  POISE_TRY(MakeChain(ctx, true, 3, &A));
  CHECK(!strcmp(PoiseMatType(A), "bcsr"));
  return PoiseMatDestroy(&A);
}

static void TestBlockMemory(PoiseContext ctx)
{
  TestAllocationFailures(ctx, UseBlocks, NULL);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Statistics are those of all ranks' rows, and nothing is fetched for them. */
static void TestView(PoiseContext ctx)
{
  PoiseMat A;
  PoiseInt m = 12000;
  char words[200];
  Device *dev = ctx->device;
  dev->threads = 1;
  if (!CHECK_OK(MakeAuto(ctx, m, InFront, "v_", &A))) return;
  double few = 7.0 / 8, mean = 2 * few + 126 * (1 - few), square = 4 * few + 126 * 126 * (1 - few);
  snprintf(words, sizeof words, "row length mean %.2f, deviation %.2f, longest 126\n", mean,
           sqrt(square - mean * mean));
  CheckView(A, words);
  snprintf(words, sizeof words, "lengths of rows deviate by %.2f of their mean; 0 rows are empty",
           sqrt(square - mean * mean) / mean);
  CheckView(A, words);
  PoiseMatDestroy(&A);
  if (!CHECK_OK(MakeAuto(ctx, m, OneLong, "v_", &A))) return;
  snprintf(words, sizeof words, "; 0 rows are empty; csri would split rows with %.1f %% of the nonzeros",
           2000.0 * (double)m / (20.0 * (double)m + 7.0 * (double)(m - 1)));
  CheckView(A, words);
  PoiseMatDestroy(&A);
}

/* One rank has longer segments than the others: they are what is told. */
static void TestViewOfRanks(PoiseContext ctx)
{
  PoiseMat A;
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  if (!CHECK_OK(Make(ctx, 500, last ? Few : Even, &A))) return;
  CHECK_OK(PoiseMatSetType(A, "seg"));
  CheckView(A, "segments of up to 128 entries");
  PoiseMatDestroy(&A);
}

/* Of arrays that live on the device nothing of the rows' size comes to the host, neither for the choice nor
   for the view. */
static void TestThere(PoiseContext ctx)
{
  enum { M = 20000 };
  Buffer b[3] = {0};
  PoiseMat A;
  int32_t *ptr, *col;
  double *val;
  PoiseCSR csr = {0};
  for (int k = 0; k < 3; k++)
    if (!CHECK_OK(poiseBufferCreate(ctx->device, (M + 1) * (k < 2 ? sizeof *ptr : sizeof *val),
                                    "array of the test", &b[k])))
      return;
  CHECK_OK(poiseBufferWrite(&b[0], HOST, &ptr));
  CHECK_OK(poiseBufferWrite(&b[1], HOST, &col));
  CHECK_OK(poiseBufferWrite(&b[2], HOST, &val));
  for (int i = 0; i <= M; i++) ptr[i] = i, col[i] = i % M, val[i] = 1;
  CHECK_OK(poiseBufferRead(&b[0], DEVICE, &csr.ptr32));
  CHECK_OK(poiseBufferRead(&b[1], DEVICE, &csr.col32));
  CHECK_OK(poiseBufferRead(&b[2], DEVICE, &csr.val));
  int64_t before = ctx->device->copied[COPY_TO_HOST];
  if (CHECK_OK(PoiseMatCreateDeviceCSR(ctx, M, M, M, M, &csr, POISE_BORROW, &A))) {
    CHECK_OK(PoiseMatSetType(A, "auto"));
    CheckView(A, "auto chose csr: ");
    CHECK(ctx->device->copied[COPY_TO_HOST] - before < 1000);
    PoiseMatDestroy(&A);
  }
  for (int k = 0; k < 3; k++) poiseBufferDestroy(&b[k]);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr Use(PoiseContext ctx, void *arg)
{
  PoiseMat A = NULL, B = NULL;
  PoiseVec x = NULL, y = NULL;
  ctx->winners->count = 0;
  PoiseErr e = MakeAuto(ctx, 40, arg ? OneLong : Even, "a_", &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e) e = PoiseMatDuplicate(A, 1, &B);
  if (!e) e = PoiseMatSetType(B, "csri");
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  char path[PATH];
  SharedName(ctx, path, "memory");
  Option(ctx, "a_mat_csri_chunk", "16");
  Option(ctx, "a_mat_auto_file", path);
  TestAllocationFailures(ctx, Use, ctx);
  Option(ctx, "a_mat_auto_measure", "yes");
  /* more ranks than cores take long to measure */
  if (PoiseSize(ctx) <= 2) TestAllocationFailures(ctx, Use, NULL);
  if (PoiseRank(ctx) == 0) remove(path);
}

/* ---- the default ----------------------------------------------------------------------------- */

typedef PoiseErr Action(PoiseMat A, PoiseVec x, PoiseVec y);

static PoiseErr Residual(PoiseMat A, PoiseVec x, PoiseVec y)
{
  return PoiseMatResidual(A, y, x, y);
}
static PoiseErr Dot(PoiseMat A, PoiseVec x, PoiseVec y)
{
  double dot;
  return PoiseMatMultDot(A, x, y, y, &dot);
}
static PoiseErr Look(PoiseMat A, PoiseVec x, PoiseVec y)
{
  (void)x, (void)y;
  CheckView(A, "auto chose csri: ");
  return POISE_OK;
}

/* Without a choice by the user, the first use of a matrix chooses the type: on all ranks, or on none if
   one cannot. */
static void TestDefault(PoiseContext ctx)
{
  static Action *const actions[] = {PoiseMatMult, Residual, Dot, Look};
  for (int k = 0; k < 7; k++) {
    PoiseMat A;
    PoiseVec x, y;
    if (!CHECK_OK(Make(ctx, 12000, InFront, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
    Action *action = actions[k % 4];
    CHECK(!strcmp(PoiseMatType(A), "auto") && !strcmp(A->type->name, "csr"));
    CHECK_OK(PoiseMatMultTranspose(A, y, x)); /* the same of all types */
    CHECK(!strcmp(A->type->name, "csr"));
    if (k >= 4) {
      FailAt(ctx, k == 4 ? 1 : 2);
      CHECK_ERR_OF(action(A, x, y), PoiseRank(ctx) == PoiseSize(ctx) - 1, POISE_ERR_MEMORY, "");
      FailAt(ctx, 0);
      CheckAlike(A, "auto");
    }
    CHECK_OK(action(A, x, y));
    CHECK(!strcmp(A->type->name, "csri"));
    CheckWorks(A, "csri");
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
  }
}

/* The choice is made before a preconditioner is built from the pattern, which then counts as the same. */
static void TestBuiltOnce(PoiseContext ctx)
{
  PoiseMat A, P;
  PoisePC pc;
  PoiseVec x, y;
  if (!CHECK_OK(MakeSquare(ctx, 12000, &A)) || !CHECK_OK(PoiseMatDuplicate(A, 1, &P)) ||
      !CHECK_OK(PoiseMatCreateVecs(P, &x, &y)) || !CHECK_OK(PoisePCCreate(ctx, &pc)))
    return;
  CHECK(!strcmp(P->type->name, "csr")); /* nothing is chosen yet */
  CHECK_OK(PoiseVecSetRandom(x, 3));
  CHECK_OK(PoisePCSetType(pc, "bjacobi"));
  CHECK_OK(PoisePCSetOperator(pc, P));
  CHECK_OK(PoisePCSetUp(pc));
  int64_t builds = pc->builds;
  CHECK_OK(PoiseMatMult(P, x, y));
  CHECK_OK(PoiseMatView(P));
  CHECK_OK(PoisePCApply(pc, x, y));
  CHECK_INT(pc->builds, builds);
  CheckWorks(P, "csri");
  PoisePCDestroy(&pc);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&P);
}

/* What A^T x has made is kept when another type comes to work. */
static void TestKeepsColumns(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y, again;
  PoiseBytes before, after;
  double norm;
  if (!CHECK_OK(Make(ctx, 12000, InFront, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) ||
      !CHECK_OK(PoiseVecDuplicate(x, &again)))
    return;
  CHECK_OK(PoiseVecSetRandom(y, 3));
  CHECK_OK(PoiseMatMultTranspose(A, y, x));
  CHECK(!strcmp(A->type->name, "csr"));
  CHECK_OK(PoiseMatBytes(A, &before, NULL));
  CHECK_OK(PoiseMatMult(A, again, y));
  CHECK(!strcmp(A->type->name, "csri"));
  CHECK_INT(poiseCsrData(A)->pattern, A->version.pattern);
  CHECK_OK(PoiseMatBytes(A, &after, NULL));
  CHECK(after.host >= before.host && after.device >= before.device);
  CHECK_OK(PoiseVecSetRandom(y, 3));
  CHECK_OK(PoiseMatMultTranspose(A, y, again));
  CHECK_OK(PoiseVecAXPY(again, -1, x));
  CHECK_OK(PoiseVecNorm(again, POISE_NORM_INF, &norm));
  CHECK(norm == 0);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&again);
  PoiseMatDestroy(&A);
}

/* An operation that makes a new pattern is done whole or not at all: to repeat it adds nothing twice. */
static void TestWholeOrNot(PoiseContext ctx)
{
  PoiseErr e = POISE_ERR_MEMORY;
  PoiseMat from, X, C;
  PoiseInt m = poiseModelIsGpu(&ctx->device->model) ? 12000 : 4000; /* csri has work from there on */
  if (!CHECK_OK(Make(ctx, m, Pairs, &from)) || !CHECK_OK(Make(ctx, m, InFront, &X)) ||
      !CHECK_OK(PoiseMatDuplicate(from, 1, &C)))
    return;
  CHECK_OK(PoiseMatAXPY(C, 2, X));
  CheckWorks(C, "csri");
  for (int64_t n = 1; e && n < 400; n++) {
    PoiseMat A;
    if (!CHECK_OK(PoiseMatDuplicate(from, 1, &A))) break;
    FailAt(ctx, n);
    e = PoiseMatAXPY(A, 2, X);
    FailAt(ctx, 0);
    if (e) CHECK_OK(PoiseMatAXPY(A, 2, X));
    SampleSameProducts(A, C, false, 1e-13);
    PoiseMatDestroy(&A);
  }
  CHECK(!e);
  PoiseMatDestroy(&from);
  PoiseMatDestroy(&X);
  PoiseMatDestroy(&C);
}

/* A library that was asked for multiplies, whatever the rows are. */
static void TestLibrary(PoiseContext ctx)
{
  const char *const *library = poiseCsrLibraries(ctx->device);
  PoiseMat A;
  if (!CHECK_OK(Make(ctx, 12000, InFront, &A))) return;
  bool refuses = A->csr.wide && !strcmp(ctx->device->ops->name, "cuda"); /* cuSPARSE: see test_types */
  for (int k = 0; k < 4; k++) {
    bool own = k % 2 || !library;
    CHECK_OK(PoiseMatSetCSRKernel(A, own ? "own" : library[0]));
    CheckView(A, own ? "auto chose csri: " : "auto chose csr: as -mat_csr_kernel");
    if (own || !refuses) CheckWorks(A, own ? "csri" : "csr");
  }
  PoiseMatDestroy(&A);
}

/* One rank has no memory for another type, or for its set-up. The type is then one of the two, and the
   next attempts continue on all ranks. */
static void TestOneRankFails(PoiseContext ctx)
{
  static const char *const to[] = {"auto", "csri", "auto", "seg", "csr", "auto"};
  const char *from = "csr";
  PoiseMat A;
  ctx->device->threads = 3;
  Option(ctx, "f_mat_auto_measure", "no");
  if (!CHECK_OK(Make(ctx, 12000, OneLong, &A)) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "f_"))) return;
  for (int k = 0; k < 6; from = to[k++]) {
    PoiseErr e = POISE_ERR_MEMORY;
    for (int64_t n = 1; e && n < 100; n++) {
      CHECK_OK(PoiseMatSetType(A, from));
      FailAt(ctx, n);
      e = PoiseMatSetType(A, to[k]);
      FailAt(ctx, 0);
      CheckAlike(A, to[k]);
      CHECK(!strcmp(PoiseMatType(A), to[k]) || (e && !strcmp(PoiseMatType(A), from)));
      CHECK_OK(PoiseMatSetFromOptions(A)); /* sets up what failed */
      CHECK(A->asked.type != &poiseMatType_auto || !strcmp(A->type->name, "csri"));
    }
    CHECK(!e);
  }
  CheckWorks(A, "csri");
  PoiseMatDestroy(&A);
}

/* One rank has no memory for blocks: all stay with CSR or all have blocks, and assembling again leaves what
   works. */
static void TestOneRankFailsBlocks(PoiseContext ctx)
{
  PoiseErr e = POISE_ERR_MEMORY;
  for (int64_t n = 1; e && n < 200; n++) {
    PoiseMat A, C;
    if (!CHECK_OK(EnterChain(ctx, true, 3, true, &A))) return;
    FailAt(ctx, n);
    e = PoiseMatAssemble(A);
    FailAt(ctx, 0);
    if (!CHECK_OK(MakeChain(ctx, true, 3, &C))) return;
    if (e && A->assembled && !A->assembly.changed)
      SampleSameProducts(A, C, false, 1e-13); /* it was too late to fail */
    CHECK_OK(PoiseMatAssemble(A));
    CheckAlike(A, A->asked.type->blocked ? "bcsr" : "auto");
    SampleSameProducts(A, C, false, 1e-13);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&C);
  }
  CHECK(!e);
}

/* The same of other options. */
static void TestOneRankFailsOptions(PoiseContext ctx)
{
  static const char *const types[][2] = {{"csri", "f_mat_csri_chunk"}, {"seg", "f_mat_seg_length"}};
  PoiseMat A;
  if (!CHECK_OK(Make(ctx, 500, OneLong, &A)) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "f_"))) return;
  for (int k = 0; k < 2; k++) {
    PoiseErr e = POISE_ERR_MEMORY;
    CHECK_OK(PoiseMatSetType(A, types[k][0]));
    for (int64_t n = 1; e && n < 100; n++) {
      Option(ctx, types[k][1], n % 2 ? "8" : "16");
      FailAt(ctx, n);
      e = PoiseMatSetFromOptions(A);
      FailAt(ctx, 0);
      CheckAlike(A, types[k][0]);
    }
    CHECK(!e);
  }
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CheckWorks(A, NULL);
  PoiseMatDestroy(&A);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"choice", TestChoice, 0},
                               {"columns", TestColumns, 0},
                               {"one_rank_decides", TestOneRankDecides, 0},
                               {"patterns", TestPatterns, 0},
                               {"options", TestOptions, 0},
                               {"type_and_options", TestTypeAndOptions, 0},
                               {"solves", TestSolves, 0},
                               {"measure", TestMeasure, 0},
                               {"measured", TestMeasured, 0},
                               {"measured_fast", TestMeasuredFast, TEST_SERIAL},
                               {"remembered", TestRemembered, 0},
                               {"ring", TestRing, 0},
                               {"hash", TestHash, TEST_SERIAL},
                               {"file", TestFile, 0},
                               {"file_of_many", TestFileOfMany, TEST_SERIAL | TEST_HOST_ONLY},
                               {"inside", TestInside, 0},
                               {"blocks", TestBlocks, 0},
                               {"blocks_by_name", TestBlocksByName, 0},
                               {"one_rank_waits", TestOneRankWaits, 0},
                               {"block_memory", TestBlockMemory, 0},
                               {"view", TestView, 0},
                               {"view_of_ranks", TestViewOfRanks, 0},
                               {"there", TestThere, TEST_SERIAL},
                               {"default", TestDefault, 0},
                               {"library", TestLibrary, 0},
                               {"built_once", TestBuiltOnce, 0},
                               {"keeps_columns", TestKeepsColumns, 0},
                               {"whole_or_not", TestWholeOrNot, 0},
                               {"memory", TestMemory, 0},
                               {"one_rank_fails", TestOneRankFails, 0},
                               {"one_rank_fails_blocks", TestOneRankFailsBlocks, 0},
                               {"one_rank_fails_options", TestOneRankFailsOptions, 0},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "auto", tests);
}

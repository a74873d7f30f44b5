/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type auto: which form of product a plan chooses where that is obvious, on each rank for its own rows; when
  it chooses anew; what options and copies do; and when blocks are chosen. test_products.c and test_types.c
  check its products, as those of every type. test_plan.c has the rule itself, without matrices.
*/
#include "ksp/ksp.h"
#include "mat/object/mat.h"
#include "mat/mat_device.h"
#include "scaled.h"

/* m rows on every rank: the first `front` ones of `lead` entries, others of `rest` and, by turns, up to
   `vary` more. Columns near the diagonal, this far apart (0: neighbours). */
typedef struct Rows {
  PoiseInt m, front, lead, rest, vary, apart;
} Rows;

static const Rows even = {12000, 0, 0, 7, 0, 0},
                  in_front = {12000, 1500, 126, 2, 0, 0}, /* 9 tenths in an 8th */
    one_long = {12000, 1, 240000, 7, 0, 0},
                  few = {8000, 0, 0, 100, 0, 0}; /* alike, but too few to be worth threads by rows */

static PoiseErr Make(PoiseContext ctx, const Rows *r, PoiseMat *A)
{
  PoiseInt m = r->m, apart = r->apart ? r->apart : 1, n = m;
  int64_t *ptr = calloc((size_t)m + 1, sizeof *ptr);
  for (PoiseInt i = 0; i < m; i++) {
    PoiseInt length = i < r->front ? r->lead : r->rest + (r->vary ? i % r->vary : 0);
    ptr[i + 1] = ptr[i] + length;
    if (i + (length + 1) * apart > n) n = i + (length + 1) * apart;
  }
  int64_t *col = calloc((size_t)ptr[m] + 1, sizeof *col);
  double *val = calloc((size_t)ptr[m] + 1, sizeof *val);
  for (PoiseInt i = 0; i < m; i++)
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      col[k] = i + (k - ptr[i]) * apart + 7919 * i % apart, val[k] = 1 + (double)(k % 3);
  const PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  PoiseErr e = PoiseMatCreateCSR(ctx, m, n, POISE_DECIDE, POISE_DECIDE, &csr, POISE_COPY, A);
  free(ptr), free(col), free(val);
  return e;
}

static PoiseErr MakeAuto(PoiseContext ctx, const Rows *r, PoiseMat *A)
{
  POISE_TRY(Make(ctx, r, A));
  PoiseErr e = PoiseMatSetOptionsPrefix(*A, "a_");
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

/* A has this form on this rank, and products are those of csr. form NULL: any. */
static void CheckWorks(PoiseMat A, const char *form)
{
  PoiseMat C;
  CHECK(!strcmp(PoiseMatType(A), "auto") && A->type == &poiseMatType_auto);
  if (!CHECK_OK(PoiseMatDuplicate(A, 1, &C)) || !CHECK_OK(PoiseMatSetType(C, "csr"))) return;
  SampleSameProducts(A, C, false, 1e-13);
  if (CHECK(A->product.form != NULL) && form) CHECK(!strcmp(A->product.form->name, form));
  PoiseMatDestroy(&C);
}

/* All ranks have one type and count changes alike. */
static void CheckAlike(PoiseMat A, const char *type)
{
  double same = !strcmp(PoiseMatType(A), type), pattern = (double)(A->version.pattern + A->version.product),
         all[] = {same, -same, pattern, -pattern};
  CHECK_OK(PoiseMax(PoiseMatContext(A), 4, all));
  CHECK(all[0] == -all[1] && all[2] == -all[3]);
}

static bool IsLast(PoiseContext ctx)
{
  return PoiseRank(ctx) == PoiseSize(ctx) - 1;
}

static void FailAt(PoiseContext ctx, int64_t n)
{
  if (IsLast(ctx)) poiseAllocFailAt(ctx, n);
}

static void Option(PoiseContext ctx, const char *key, const char *value)
{
  CHECK_OK(PoiseOptionsSet(ctx, key, value));
  CHECK_OK(PoiseBarrier(ctx));
}

/* How often this rank has made a product. */
static int64_t Choices(PoiseContext ctx)
{
  LogCounts log;
  poiseLogCounts(ctx, &log);
  return (int64_t)log.event[EVENT_MatChoose].calls;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static void TestChoice(PoiseContext ctx)
{
  bool gpu = poiseModelIsGpu(&ctx->device->model);
  const struct {
    Rows rows;
    const char *form;
  } cases[] = {{even, "csr"},
               {in_front, "csri"},
               {one_long, "csri"},
               {{0, 0, 0, 7, 0, 0}, "csr"},
               {{1, 0, 0, 7, 0, 0}, "csr"},
               {few, gpu ? "csr" : "csri"}};
  for (int threads = 1; threads < 4; threads += 2) /* bits depend on the choice, and not on them */
    for (int k = 0; k < 6; k++) {
      char words[80];
      PoiseMat A;
      ctx->device->threads = threads;
      if (!CHECK_OK(MakeAuto(ctx, &cases[k].rows, &A))) return;
      CheckWorks(A, cases[k].form);
      CHECK_INT(A->product.plan.type, strcmp(cases[k].form, "csr") ? PRODUCT_CSRI : PRODUCT_CSR);
      snprintf(words, sizeof words, "auto chose %s: predicted to be the fastest%s, ", cases[k].form,
               gpu ? "" : " with 16 threads");
      CheckView(A, words);
      CheckView(A, " times as long, ");
      CheckView(A, "    A x by ");
      PoiseMatDestroy(&A);
    }
}

/* On a GPU rows whose blocks do not all have a place at once are multiplied in row blocks where their columns
   are apart, whether they fit into 16 bits or not. Elsewhere in rows. On other ranks than 0 columns are
   ghosts, whose numbers are near each other. */
static void TestColumns(PoiseContext ctx)
{
  bool gpu = poiseModelIsGpu(&ctx->device->model);
  PoiseMat A;
  for (int apart = 0; apart < 3; apart++) {
    CHECK_OK(PoiseOptionsSet(ctx, "a_mat_index16", apart == 2 ? "yes" : "no"));
    if (!CHECK_OK(MakeAuto(ctx, &(Rows){gpu ? 300000 : 3000, 0, 0, 3, 5, apart ? 2000 : 0}, &A))) return;
    CheckWorks(A, PoiseRank(ctx) ? NULL : gpu && apart ? "csri" : "csr");
    PoiseMatDestroy(&A);
  }
  Option(ctx, "a_mat_index16", "auto");
}

/* Each rank chooses for its own rows: here the last one differs. It has partial sums of other sizes, or no
   dots in its product. */
static void TestRanks(PoiseContext ctx)
{
  int others = PoiseSize(ctx) - 1;
  for (int atomic = 0; atomic < 2; atomic++) {
    PoiseMat A;
    PoiseVec x, y;
    char words[80], text[4096];
    Option(ctx, "a_mat_combine", atomic ? "atomic" : "ordered");
    if (!CHECK_OK(MakeAuto(ctx, IsLast(ctx) ? &in_front : &even, &A)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
      return;
    CheckWorks(A, IsLast(ctx) ? "csri" : "csr");
    CHECK(poiseProductFuses(&A->product) == !(atomic && IsLast(ctx)));
    CheckAlike(A, "auto");
    snprintf(words, sizeof words, "on rank 0; of all ranks %d have csr, 1 csri, 0 seg\n", others);
    CheckView(A, others ? words : "auto chose csri: ");
    double limit = (double)A->product.w.limit; /* the last rank has one */
    CHECK_OK(PoiseMax(ctx, 1, &limit));
    snprintf(words, sizeof words, " fragments of rows of %.0f entries or more\n", limit);
    CheckView(A, atomic ? "row blocks, shared rows by atomic" : words);
    TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
    CHECK(others || !strstr(text, "of all ranks"));
    SampleFill(x, 3);
    ScaledCheck(A, x, y, !atomic);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
  }
  Option(ctx, "a_mat_combine", "ordered");
}

/* ---- when it is chosen ----------------------------------------------------------------------- */

/* What uses A for the first time. */
static PoiseErr Use(int how, PoiseMat A, PoiseVec x, PoiseVec y)
{
  double dot;
  if (how == 0) return PoiseMatMult(A, x, y);
  if (how == 1) return PoiseMatResidual(A, y, x, y);
  if (how == 2) return PoiseMatMultDot(A, x, y, y, &dot);
  CheckView(A, "auto chose csri: ");
  return POISE_OK;
}

/* Without a choice by the user, the first use of a matrix chooses. A rank that cannot is tried again. */
static void TestDefault(PoiseContext ctx)
{
  for (int k = 0; k < 7; k++) {
    PoiseMat A;
    PoiseVec x, y;
    if (!CHECK_OK(Make(ctx, &in_front, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
    CHECK_OK(PoiseMatMultTranspose(A, y, x)); /* by another product */
    CHECK(!strcmp(PoiseMatType(A), "auto") && !A->product.form);
    if (k >= 4) {
      FailAt(ctx, k == 4 ? 1 : 2);
      CHECK_ERR_OF(Use(k % 4, A, x, y), IsLast(ctx), POISE_ERR_MEMORY, "");
      FailAt(ctx, 0);
      CheckAlike(A, "auto");
    }
    CHECK_OK(Use(k % 4, A, x, y));
    CHECK(A->product.form == &poiseForm_csri);
    CheckWorks(A, "csri");
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
  }
}

static void CheckChoices(PoiseMat A, PoiseVec x, PoiseVec y, int64_t *before, int64_t more)
{
  CHECK_OK(PoiseMatMult(A, x, y));
  int64_t now = Choices(A->ctx);
  CHECK_INT(now - *before, more);
  *before = now;
}

/* Anew for a new pattern, other options and another type, once each, and for nothing else. */
static void TestAgain(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y;
  PoiseInt m = 12000, begin = m * PoiseRank(ctx), N = 40 * m * PoiseSize(ctx);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, 40 * m, m * PoiseSize(ctx), N, &A)) ||
      !CHECK_OK(PoiseMatSetType(A, "auto")) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "a_")) ||
      !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
    return;
  int64_t choices = Choices(ctx);
  for (PoiseInt i = begin; i < begin + m; i++) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &i, &(double){2}));
  CHECK_OK(PoiseMatAssemble(A));
  CheckChoices(A, x, y, &choices, 1);
  CHECK(A->product.form == &poiseForm_csr);
  CHECK_OK(PoiseMatScale(A, 3)); /* values only */
  CHECK_OK(PoiseMatAddEntries(A, 1, &begin, &begin, &(double){2}));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetFromOptions(A)); /* which say nothing new */
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CheckChoices(A, x, y, &choices, 0);
  PoiseInt *col = malloc(30 * (size_t)m * sizeof *col);
  double *val = calloc(30 * (size_t)m, sizeof *val);
  for (PoiseInt k = 0; k < 30 * m; k++) col[k] = k;
  CHECK_OK(PoiseMatAddBlock(A, 1, &begin, (int)(30 * m), col, val));
  free(col), free(val);
  CHECK_OK(PoiseMatAssemble(A));
  CheckChoices(A, x, y, &choices, 1);
  CHECK(A->product.form == &poiseForm_csri);
  Option(ctx, "a_mat_csri_chunk", "64");
  CHECK_OK(PoiseMatSetFromOptions(A));
  CheckChoices(A, x, y, &choices, 1);
  CHECK_INT(A->product.plan.row_block, 64);
  CHECK_OK(PoiseMatSetType(A, "csri"));
  CheckChoices(A, x, y, &choices, 1);
  CHECK(A->asked.type == &poiseMatType_csri && A->product.plan.row_block == 64);
  CHECK_OK(PoiseMatSetType(A, "auto"));
  CheckChoices(A, x, y, &choices, 1);
  CheckWorks(A, "csri");
  Option(ctx, "a_mat_csri_chunk", "0");
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

/* ---- options and copies ---------------------------------------------------------------------- */

/* Those of any form that may be chosen. A wrong one leaves what there is, which multiplies. */
static void TestOptions(PoiseContext ctx)
{
  static const struct {
    const char *key, *wrong, *right;
  } options[] = {{"a_mat_csri_chunk", "9000", "300"},
                 {"a_mat_seg_length", "12", "0"},
                 {"a_mat_index16", "perhaps", "no"},
                 {"a_mat_bcsr_kernel", "none", "auto"}};
  PoiseMat A, B;
  SetOptions(ctx, "-a_mat_type auto -a_mat_csri_chunk 64");
  if (!CHECK_OK(MakeAuto(ctx, &in_front, &A))) return;
  CheckWorks(A, "csri");
  CHECK_INT(A->product.plan.row_block, 64);
  if (CHECK_OK(PoiseMatDuplicate(A, 1, &B))) {
    CheckWorks(B, "csri");
    CHECK_INT(B->product.plan.row_block, 64);
    CHECK_INT(poiseMatPartials(B), poiseMatPartials(A));
  }
  PoiseMatDestroy(&B);
  int64_t product = A->version.product;
  SetOptions(ctx, "-a_mat_csri_chunk 300");
  CHECK_OK(PoiseMatSetFromOptions(A));
  CHECK(A->version.product > product); /* what was captured is void */
  CheckWorks(A, "csri");
  CHECK_INT(A->product.plan.row_block, 300);
  product = A->version.product;
  for (int k = 0; k < 4; k++) {
    Option(ctx, options[k].key, options[k].wrong);
    CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_OPTION, options[k].key);
    Option(ctx, options[k].key, options[k].right);
    CHECK_INT(A->version.product, product);
  }
  CheckWorks(A, "csri");
  PoiseMatDestroy(&A);
  SetOptions(ctx, "-a_mat_csri_chunk 0");
}

/* Symmetric and dominant: a dense row and column, the row on rank 0; m rows on every rank. */
static PoiseErr MakeArrow(PoiseContext ctx, PoiseInt m, PoiseMat *A)
{
  PoiseInt n = m * PoiseSize(ctx), begin = m * PoiseRank(ctx);
  POISE_TRY(PoiseMatCreate(ctx, m, m, n, n, A));
  for (PoiseInt i = begin; i < begin + m; i++) { /* Assemble speaks of a failure */
    (void)PoiseMatAddEntries(*A, 1, &i, &i, &(double){i ? 4 : 0.02 * (double)n});
    if (i) (void)PoiseMatAddBlock(*A, 1, &i, 1, &(PoiseInt){0}, &(double){-0.01});
    if (i) (void)PoiseMatAddBlock(*A, 1, &(PoiseInt){0}, 1, &i, &(double){-0.01});
  }
  return PoiseMatAssemble(*A);
}

/* Solvers fuse dots into products of ranks whose forms differ. Copies in another order, and blocks inside,
   are of type auto too. */
static void TestSolves(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "prcg", "bicgstab", "gmres"};
  PoiseMat A;
  PoiseVec x, b;
  double norm, residual;
  SetOptions(ctx, "-a_mat_csri_chunk 512"); /* so csri has enough row blocks */
  if (!CHECK_OK(MakeArrow(ctx, 12000, &A)) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "a_")) ||
      !CHECK_OK(PoiseMatSetFromOptions(A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)))
    return;
  CHECK_OK(PoiseVecSetRandom(b, 3));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm));
  for (int k = 0; k < 12; k++) {
    PoiseKSP ksp;
    PoisePC pc;
    if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) continue;
    Option(ctx, "a_mat_combine", k < 6 ? "ordered" : "atomic");
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK_OK(PoiseMatSetOrder(A, k % 6 == 4 ? POISE_ORDER_RCM : POISE_ORDER_NATURAL));
    CHECK_OK(PoiseKSPSetType(ksp, methods[k % 6 % 4]));
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, k % 6 == 5 ? "bjacobi" : "jacobi"));
    if (k % 6 == 5) CHECK_OK(PoiseKSPSetType(ksp, "gmres"));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-11, 1e-50, 1e5, 500));
    CHECK_OK(PoiseVecSet(x, 0));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK(PoiseKSPConvergedReason(ksp) > 0);
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &residual));
    CHECK(residual <= 1e-7 * norm);
    CHECK(ksp->A->asked.type == &poiseMatType_auto && ksp->A->product.options.chunk == 512);
    if (k % 6 != 4) CHECK(ksp->A->product.form == (PoiseRank(ctx) ? &poiseForm_csr : &poiseForm_csri));
    PoiseKSPDestroy(&ksp);
  }
  SetOptions(ctx, "-a_mat_csri_chunk 0 -a_mat_combine ordered");
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
}

/* A library that was asked for multiplies, whatever the rows are. */
static void TestLibrary(PoiseContext ctx)
{
  const char *const *library = poiseCsrLibraries(ctx->device);
  PoiseMat A;
  if (!CHECK_OK(Make(ctx, &in_front, &A))) return;
  bool refuses = A->csr.wide && !strcmp(ctx->device->ops->name, "cuda"); /* cuSPARSE: see test_types */
  for (int k = 0; k < 4; k++) {
    bool own = k % 2 || !library;
    CHECK_OK(PoiseMatSetCSRKernel(A, own ? "own" : library[0]));
    if (!own && refuses) continue;
    CheckWorks(A, own ? "csri" : "library");
    CheckView(A, own ? "auto chose csri: " : "auto chose csr: as -mat_csr_kernel");
  }
  PoiseMatDestroy(&A);
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
  if (!e) e = PoiseMatSetOptionsPrefix(*A, "a_");
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

/* Where all of a matrix comes entry by entry, or by blocks of triplets, and auto was said. */
static void TestBlocks(PoiseContext ctx)
{
  PoiseMat A;
  PoiseInt at = 40 * PoiseRank(ctx), from = 3 * at, to = 3 * at + 119;
  char text[4096];
  Option(ctx, "a_mat_bcsr_kernel", "balanced");
  if (!CHECK_OK(MakeChain(ctx, true, 3, &A))) return;
  CheckView(A, "auto chose bcsr: blocks take 0.6");
  CheckView(A, "bcsr: row blocks of");
  CheckBlocks(A);
  CHECK_OK(PoiseMatAddBlock(A, 1, &from, 1, &to, &(double){1})); /* far away, in a new block */
  CHECK_OK(PoiseMatAssemble(A));
  CheckBlocks(A);
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
  CHECK(!strstr(text, "auto chose")); /* the user did */
  Option(ctx, "a_mat_bcsr_kernel", "auto");
  for (int k = 0; k < 3; k++) { /* also after the type csr; but not of arrays that are those of a CSR */
    if (k) CHECK_OK(PoiseMatDestroy(&A));
    if (k == 1 && !CHECK_OK(MakeAuto(ctx, &(Rows){120, 0, 0, 99, 0, 0}, &A))) return;
    if (k == 2 && !CHECK_OK(MakeChain(ctx, false, 3, &A))) return; /* two thirds of blocks were zeros */
    CHECK_OK(PoiseMatSetBlockSize(A, 3));
    CHECK_OK(PoiseMatSetType(A, "csr"));
    CHECK_OK(PoiseMatSetType(A, "auto"));
    if (k)
      CheckWorks(A, NULL);
    else
      CheckBlocks(A);
  }
  PoiseMatDestroy(&A);
  for (int named = 0; named < 2; named++) {
    if (!CHECK_OK(PoiseMatCreate(ctx, 120, 120, POISE_DECIDE, POISE_DECIDE, &A))) return;
    CHECK_OK(PoiseMatSetBlockSize(A, 3));
    if (named) CHECK_OK(PoiseMatSetType(A, "auto"));
    CHECK_OK(PoiseMatSetBlockPatternCOO(A, 1, &at, &at));
    CHECK_OK(PoiseMatSetValuesCOO(A, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9}));
    if (named)
      CheckBlocks(A);
    else
      CheckWorks(A, NULL);
    PoiseMatDestroy(&A);
  }
}

/* Nobody said auto: a matrix, its copies and transposes stay CSR, until somebody does. While one rank has
   entries that are not assembled, no rank makes blocks. */
static void TestBlocksByName(PoiseContext ctx)
{
  for (int k = 0; k < 4; k++) {
    PoiseMat A, C, T;
    PoiseInt at = 120 * PoiseRank(ctx), end = at + 119;
    if (!CHECK_OK(EnterChain(ctx, true, k == 3 ? 1 : 3, k == 3, &A)) || !CHECK_OK(PoiseMatAssemble(A)) ||
        !CHECK_OK(PoiseMatDuplicate(A, 1, &C)) || !CHECK_OK(PoiseMatTranspose(A, &T)))
      return;
    CheckWorks(A, NULL);
    CheckWorks(C, NULL);
    CheckWorks(T, NULL);
    if (k == 0) Option(ctx, "named_mat_type", "auto");
    if (k == 0) CHECK_OK(PoiseMatSetOptionsPrefix(A, "named_"));
    CHECK_OK(PoiseMatSetFromOptions(A));
    if (k == 1) FailAt(ctx, 1);
    if (k == 1) CHECK_ERR_OF(PoiseMatSetType(A, "auto"), IsLast(ctx), POISE_ERR_MEMORY, "");
    FailAt(ctx, 0);
    if (k == 2 && IsLast(ctx)) CHECK_OK(PoiseMatAddBlock(A, 1, &at, 1, &end, &(double){1}));
    if (k) CHECK_OK(PoiseMatSetType(A, "auto"));
    if (k == 2) CHECK_OK(PoiseMatAssemble(A));
    if (k < 3)
      CheckBlocks(A);
    else
      CheckWorks(A, NULL); /* blocks of one */
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&C);
    PoiseMatDestroy(&T);
  }
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Statistics are those of all ranks' rows. */
static void TestView(PoiseContext ctx)
{
  PoiseMat A;
  char words[200];
  double mean = 17.5, square = 4 * 7.0 / 8 + 126 * 126 / 8.0, deviation = sqrt(square - mean * mean);
  double m = 12000, lengthy = 240000, split = 100 * lengthy / (lengthy + 7 * (m - 1));
  if (!CHECK_OK(MakeAuto(ctx, &in_front, &A))) return;
  snprintf(words, sizeof words, "row length mean 17.50, deviation %.2f, longest 126\n", deviation);
  CheckView(A, words);
  snprintf(words, sizeof words, "lengths of rows deviate by %.2f of their mean; 0 rows are empty",
           deviation / mean);
  CheckView(A, words);
  PoiseMatDestroy(&A);
  if (!CHECK_OK(MakeAuto(ctx, &one_long, &A))) return;
  snprintf(words, sizeof words, "; 0 rows are empty; csri would split rows with %.1f %% of the nonzeros",
           split);
  CheckView(A, words);
  PoiseMatDestroy(&A);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr Choose(PoiseContext ctx, void *arg)
{
  PoiseMat A = NULL, B = NULL, C = NULL;
  PoiseVec x = NULL, y = NULL;
  Rows rows = IsLast(ctx) ? in_front : even;
  (void)arg;
  rows.m = 40, rows.front = IsLast(ctx) ? 5 : 0;
  PoiseErr e = MakeAuto(ctx, &rows, &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e) e = PoiseMatDuplicate(A, 1, &B);
  if (!e) e = PoiseMatSetType(B, "csri");
  if (!e) e = MakeChain(ctx, true, 3, &C);
  if (!e) CHECK(!strcmp(PoiseMatType(C), "bcsr"));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  Option(ctx, "a_mat_csri_chunk", "16");
  TestAllocationFailures(ctx, Choose, NULL);
  Option(ctx, "a_mat_csri_chunk", "0");
}

/* One rank has no memory for another product. All ranks have the same type then, and the next attempts
   continue. */
static void TestOneRankFails(PoiseContext ctx)
{
  static const char *const to[] = {"csri", "auto", "seg", "csr", "auto"};
  const char *from = "csr";
  PoiseMat A;
  if (!CHECK_OK(Make(ctx, &one_long, &A)) || !CHECK_OK(PoiseMatSetOptionsPrefix(A, "a_"))) return;
  for (int k = 0; k < 5; from = to[k++]) {
    PoiseErr e = POISE_ERR_MEMORY;
    for (int64_t n = 1; e && n < 100; n++) {
      CHECK_OK(PoiseMatSetType(A, from));
      FailAt(ctx, n);
      e = PoiseMatSetType(A, to[k]);
      FailAt(ctx, 0);
      CheckAlike(A, to[k]);
      CHECK(!strcmp(PoiseMatType(A), to[k]) || (e && !strcmp(PoiseMatType(A), from)));
      Option(ctx, "a_mat_csri_chunk", n % 2 ? "0" : "512"); /* options that one rank cannot follow */
      FailAt(ctx, n);
      PoiseErr options = PoiseMatSetFromOptions(A);
      FailAt(ctx, 0);
      CheckAlike(A, to[k]);
      CHECK_OK(PoiseMatSetFromOptions(A)); /* sets up what failed */
      CHECK(A->asked.type != &poiseMatType_auto || A->product.form == &poiseForm_csri);
      if (!e) e = options;
    }
    CHECK(!e);
  }
  CheckWorks(A, "csri");
  Option(ctx, "a_mat_csri_chunk", "0");
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

int main(int argc, char **argv)
{
  static const Test tests[] = {{"choice", TestChoice, 0},
                               {"columns", TestColumns, 0},
                               {"ranks", TestRanks, 0},
                               {"default", TestDefault, 0},
                               {"again", TestAgain, 0},
                               {"options", TestOptions, 0},
                               {"solves", TestSolves, 0},
                               {"library", TestLibrary, 0},
                               {"blocks", TestBlocks, 0},
                               {"blocks_by_name", TestBlocksByName, 0},
                               {"view", TestView, 0},
                               {"memory", TestMemory, 0},
                               {"one_rank_fails", TestOneRankFails, 0},
                               {"one_rank_fails_blocks", TestOneRankFailsBlocks, 0},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "auto", tests);
}

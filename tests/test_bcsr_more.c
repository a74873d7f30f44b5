/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices of blocks made in other ways, copied, turned, added, saved and moved: each gives the blocks, to the bit, that the same steps
  with CSR give, when their result is made blocks.
*/
#include "mat/mat.h"
#include "sample.h"

static const int sizes[] = {1, 2, 3, 8, 17, 32};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- what is compared --------------------------------------------------------------------------------------------------- */

/* Blocks of A and of B, where they are and what is in them. B may be of another type, and is bcsr afterwards. */
static bool SameBlocks(PoiseMat A, PoiseMat B)
{
  HostCsr a, b;
  const double *va, *vb;
  if (!CHECK(A->type->blocked) || !CHECK_OK(PoiseMatSetBlockSize(B, A->block_size)) ||
      !CHECK_OK(PoiseMatSetType(B, "bcsr")) || !CHECK_INT(A->csr.nz, B->csr.nz) || !CHECK_INT(A->csr.b, B->csr.b) ||
      !CHECK_INT(A->csr.nghost, B->csr.nghost) || !CHECK_OK(poiseMatPattern(A, &a)) || !CHECK_OK(poiseMatPattern(B, &b)) ||
      !CHECK_OK(poiseBufferRead(&A->csr.val, HOST, &va)) || !CHECK_OK(poiseBufferRead(&B->csr.val, HOST, &vb)))
    return false;
  bool same = A->csr.m == B->csr.m;
  for (int64_t i = 0; same && i <= A->csr.m; i++) same = poiseCsrPtr(&A->csr, a.ptr, i) == poiseCsrPtr(&B->csr, b.ptr, i);
  for (int64_t k = 0; same && k < A->csr.nz; k++) same = poiseCsrGlobal(A, a.col[k]) == poiseCsrGlobal(B, b.col[k]);
  for (int64_t k = 0; same && k < poiseCsrNumbers(&A->csr); k++) same = va[k] == vb[k];
  return CHECK(same);
}

/* A product gives what CSR's does, so that metadata beside the arrays are those of these arrays too. */
static void SameProduct(PoiseMat A, PoiseMat B)
{
  PoiseVec x, y, z;
  double norm = NAN, size = NAN;
  for (int transpose = 0; transpose < 2; transpose++) {
    if (!CHECK_OK(PoiseMatCreateVecs(A, transpose ? &y : &x, transpose ? &x : &y)) || !CHECK_OK(PoiseVecDuplicate(y, &z)))
      return;
    SampleFill(x, 3);
    CHECK_OK(transpose ? PoiseMatMultTranspose(A, x, y) : PoiseMatMult(A, x, y));
    CHECK_OK(transpose ? PoiseMatMultTranspose(B, x, z) : PoiseMatMult(B, x, z));
    CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &size));
    CHECK_OK(PoiseVecAXPY(z, -1, y));
    CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 1e-13 * size);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseVecDestroy(&z);
  }
}

/* ---- triplets ----------------------------------------------------------------------------------------------------------- */

typedef struct List { /* blocks of all ranks' rows, many twice, some to be ignored; and their numbers one by one */
  int b;
  PoiseInt M, N, n; /* in blocks */
  PoiseInt *rows, *cols, *number_rows, *number_cols;
  double *v;
} List;

static PoiseInt Pick(uint64_t seed, uint64_t k, PoiseInt n)
{
  return (PoiseInt)((TestRandom(seed, k) + 1) / 2 * (double)n);
}

static List MakeList(PoiseContext ctx, int b, PoiseInt M, PoiseInt N, PoiseInt n)
{
  int64_t bb = (int64_t)b * b;
  List l = {.b = b, .M = M, .N = N, .n = n};
  l.rows = malloc((size_t)n * sizeof *l.rows + 1), l.cols = malloc((size_t)n * sizeof *l.cols + 1);
  l.number_rows = malloc((size_t)(n * bb) * sizeof *l.rows + 1),
  l.number_cols = malloc((size_t)(n * bb) * sizeof *l.rows + 1);
  l.v = malloc((size_t)(n * bb) * sizeof *l.v + 1);
  for (PoiseInt k = 0; k < n; k++) {
    uint64_t at = (uint64_t)(k + n * PoiseRank(ctx));
    l.rows[k] = k % 9 == 4 ? -1 : k % 5 == 2 ? M - 1 : Pick(31, at, M);
    l.cols[k] = k % 13 == 7 ? -2 : k % 5 == 2 ? 0 : (l.rows[k] + Pick(32, at, 4)) % N;
    for (int64_t j = 0; j < bb; j++) {
      bool ignored = l.rows[k] < 0 || l.cols[k] < 0;
      l.number_rows[k * bb + j] = ignored ? -1 : l.rows[k] * b + j % b;
      l.number_cols[k * bb + j] = ignored ? -1 : l.cols[k] * b + j / b;
      l.v[k * bb + j] = TestRandom(33, at * (uint64_t)bb + (uint64_t)j);
    }
  }
  return l;
}

static void FreeList(List *l)
{
  free(l->rows), free(l->cols), free(l->number_rows), free(l->number_cols), free(l->v);
}

static PoiseErr CreateEmpty(PoiseContext ctx, const List *l, const char *type, PoiseMat *A)
{
  PoiseInt begin, m, n;
  PoiseSplit(ctx, l->M, &begin, &m);
  PoiseSplit(ctx, l->N, &begin, &n);
  POISE_TRY(PoiseMatCreate(ctx, m * l->b, n * l->b, l->M * l->b, l->N * l->b, A));
  PoiseErr e = PoiseMatSetBlockSize(*A, l->b);
  return e ? e : PoiseMatSetType(*A, type);
}

enum { BLOCKS = 1, THERE = 2, TWICE = 4 };

/* A's pattern and values, by blocks or numbers, from the host or the device; TWICE: another list before, and the values added again. */
static void Give(PoiseMat A, const List *l, int how)
{
  PoiseContext ctx = PoiseMatContext(A);
  int64_t bb = (int64_t)l->b * l->b, n = how & BLOCKS ? l->n : l->n * bb;
  const PoiseInt *rows = how & BLOCKS ? l->rows : l->number_rows, *cols = how & BLOCKS ? l->cols : l->number_cols;
  if (how & TWICE) CHECK_OK(PoiseMatSetPatternCOO(A, 1, (PoiseInt[]){0}, (PoiseInt[]){0}));
  if (how & THERE) {
    void *r = SampleLend(ctx, (size_t)n * sizeof *rows, rows), *c = SampleLend(ctx, (size_t)n * sizeof *cols, cols);
    void *v = SampleLend(ctx, (size_t)(l->n * bb) * sizeof *l->v, l->v);
    CHECK_OK(how & BLOCKS ? PoiseMatSetBlockPatternDeviceCOO(A, n, r, c) : PoiseMatSetPatternDeviceCOO(A, n, r, c));
    SampleTakeBack(ctx, r), SampleTakeBack(ctx, c);
    CHECK_OK(PoiseMatSetValuesDeviceCOO(A, v));
    if (how & TWICE) CHECK_OK(PoiseMatAddValuesDeviceCOO(A, v));
    CHECK_OK(poiseDeviceSync(ctx->device));
    SampleTakeBack(ctx, v);
  } else {
    CHECK_OK(how & BLOCKS ? PoiseMatSetBlockPatternCOO(A, n, rows, cols) : PoiseMatSetPatternCOO(A, n, rows, cols));
    CHECK_OK(PoiseMatSetValuesCOO(A, l->v));
    if (how & TWICE) CHECK_OK(PoiseMatAddValuesCOO(A, l->v));
  }
}

static void TestTriplets(PoiseContext ctx)
{
  static const PoiseInt shape[][3] = {{19, 23, 60}, {5, 2, 40}, {1, 1, 5}, {7, 7, 0}};
  for (int k = 0; k < SIZES; k++)
    for (int s = 0; s < 4; s++)
      for (int how = 0; how < 8; how++) {
        List l = MakeList(ctx, sizes[k], shape[s][0], shape[s][1], shape[s][2]);
        PoiseMat A, B, C;
        if (!CHECK_OK(CreateEmpty(ctx, &l, "bcsr", &A)) || !CHECK_OK(CreateEmpty(ctx, &l, "csr", &B)) ||
            !CHECK_OK(CreateEmpty(ctx, &l, "csri", &C)))
          return;
        Give(A, &l, how);
        Give(B, &l, how & TWICE);            /* numbers to CSR from the host */
        Give(C, &l, BLOCKS | (how & THERE)); /* blocks to another type */
        if (how & TWICE) CHECK_OK(PoiseMatAddValuesCOO(C, l.v));
        CHECK(A->type->blocked && B->type->stored && !strcmp(PoiseMatType(C), "csri"));
        SameProduct(A, B);
        SameBlocks(A, B);
        SameBlocks(A, C);
        PoiseMatDestroy(&A);
        PoiseMatDestroy(&B);
        PoiseMatDestroy(&C);
        FreeList(&l);
      }
}

/* Triplets of single numbers need not fill their blocks. */
static void TestHoles(PoiseContext ctx)
{
  for (int k = 0; k < SIZES; k++) {
    List l = MakeList(ctx, sizes[k], 11, 11, 30);
    int64_t bb = (int64_t)l.b * l.b;
    PoiseMat A, B;
    for (int64_t e = 0; e < l.n * bb; e++)
      if (TestRandom(34, (uint64_t)e) < 0.3) l.number_rows[e] = -1;
    if (!CHECK_OK(CreateEmpty(ctx, &l, "bcsr", &A)) || !CHECK_OK(CreateEmpty(ctx, &l, "csr", &B))) return;
    Give(A, &l, TWICE);
    Give(B, &l, TWICE);
    SameProduct(A, B);
    SameBlocks(A, B);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
    FreeList(&l);
  }
}

/* As elements give them: enough for several blocks of the plan, and threads; values once more allocate nothing and keep the pattern. */
static void TestElements(PoiseContext ctx)
{
  enum { NODES = 4000, EACH = 4 };
  const int b = 3, rank = PoiseRank(ctx), size = PoiseSize(ctx);
  List l = {.b = b, .M = NODES + 1, .N = NODES + 1, .n = NODES * EACH};
  l.rows = malloc((size_t)l.n * sizeof *l.rows), l.cols = malloc((size_t)l.n * sizeof *l.cols);
  l.v = malloc((size_t)l.n * 9 * sizeof *l.v);
  PoiseInt n = 0;
  for (PoiseInt e = rank; e < NODES; e += size) /* of all ranks' rows */
    for (int k = 0; k < EACH; k++, n++) {
      l.rows[n] = e + k / 2, l.cols[n] = e + k % 2;
      for (int j = 0; j < 9; j++) l.v[n * 9 + j] = TestRandom(35, (uint64_t)(e * 36 + k * 9 + j));
    }
  l.n = n;
  PoiseMat A, B;
  if (!CHECK_OK(CreateEmpty(ctx, &l, "bcsr", &A)) || !CHECK_OK(CreateEmpty(ctx, &l, "csr", &B))) return;
  CHECK_OK(PoiseMatSetBlockPatternCOO(A, l.n, l.rows, l.cols));
  CHECK_OK(PoiseMatSetBlockPatternCOO(B, l.n, l.rows, l.cols));
  CHECK_OK(PoiseMatSetValuesCOO(A, l.v));
  int64_t calls = ctx->memory.calls, pattern = A->pattern;
  for (PoiseInt k = 0; k < 9 * l.n; k++) l.v[k] *= 2;
  CHECK_OK(PoiseMatSetValuesCOO(A, l.v));
  CHECK(ctx->memory.calls == calls && A->pattern == pattern);
  CHECK_OK(PoiseMatSetValuesCOO(B, l.v));
  for (PoiseInt k = 0; k < 9 * l.n; k++) l.v[k] = NAN; /* taken before the call returned */
  SameProduct(A, B);
  SameBlocks(A, B);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  FreeList(&l);
}

/* Entries that come after triplets; their plan is then void. */
static void TestMixed(PoiseContext ctx)
{
  List l = MakeList(ctx, 3, 12, 12, 30);
  PoiseMat A, B;
  PoiseInt row = 4, col = 31;
  bool first = PoiseRank(ctx) == 0;
  if (!CHECK_OK(CreateEmpty(ctx, &l, "bcsr", &A)) || !CHECK_OK(CreateEmpty(ctx, &l, "csr", &B))) return;
  Give(A, &l, BLOCKS);
  Give(B, &l, BLOCKS);
  for (int k = 0; k < 2; k++) {
    CHECK_OK(first ? PoiseMatAddValues(k ? B : A, 1, &row, &col, &(double){5}) : POISE_OK);
    CHECK_OK(PoiseMatAssemble(k ? B : A));
  }
  SameBlocks(A, B);
  CHECK_ERR(PoiseMatSetValuesCOO(A, l.v), POISE_ERR_STATE, "");
  Give(A, &l, BLOCKS); /* and back */
  Give(B, &l, BLOCKS);
  SameBlocks(A, B);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  FreeList(&l);
}

static void TestTripletErrors(PoiseContext ctx)
{
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  static const char *const types[] = {"bcsr", "csr"};
  const double v[9] = {1};
  for (int k = 0; k < 2; k++) {
    List l = MakeList(ctx, 3, 5, 4, 20);
    PoiseMat A, B;
    if (!CHECK_OK(CreateEmpty(ctx, &l, types[k], &A)) || !CHECK_OK(CreateEmpty(ctx, &l, types[k], &B))) return;
    CHECK_ERR(PoiseMatSetValuesCOO(A, v), POISE_ERR_STATE, "call PoiseMatSetPatternCOO");
    Give(A, &l, BLOCKS);
    Give(B, &l, BLOCKS);
    PoiseInt old = l.rows[0], column = l.cols[0];
    l.rows[0] = 5, l.cols[0] = 0;
    CHECK_ERR_OF(PoiseMatSetBlockPatternCOO(A, mine ? 20 : 0, l.rows, l.cols), mine, POISE_ERR_ARG,
                 "block row 5 of a matrix of 5 block rows (at place 0");
    l.rows[0] = old, l.cols[0] = 4;
    CHECK_ERR_OF(PoiseMatSetBlockPatternCOO(A, mine ? 20 : 0, l.rows, l.cols), mine, POISE_ERR_ARG,
                 "block column 4 of a matrix of 4 block columns");
    CHECK_ERR_OF(PoiseMatSetBlockPatternCOO(A, mine ? -3 : 0, l.rows, l.cols), mine, POISE_ERR_ARG, "-3 block rows");
    CHECK_ERR_OF(PoiseMatSetValuesCOO(A, mine ? NULL : l.v), mine, POISE_ERR_ARG, "triplets are NULL");
    if (!ctx->device->ops->is_host) {
      l.cols[0] = column;
      CHECK_ERR(PoiseMatSetBlockPatternDeviceCOO(A, 20, l.rows, l.cols), POISE_ERR_ARG, "rows: ");
      CHECK_ERR(PoiseMatSetValuesDeviceCOO(A, l.v), POISE_ERR_ARG, "values of triplets: ");
      l.rows[0] = 5;
      void *r = SampleLend(ctx, 20 * sizeof *l.rows, l.rows), *c = SampleLend(ctx, 20 * sizeof *l.cols, l.cols);
      CHECK_ERR(PoiseMatSetBlockPatternDeviceCOO(A, 20, r, c), POISE_ERR_ARG, "block row 5 of a matrix");
      SampleTakeBack(ctx, r), SampleTakeBack(ctx, c);
    }
    CHECK_OK(PoiseMatSetType(A, "bcsr"));
    SameBlocks(A, B); /* A is as it was */
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
    FreeList(&l);
  }
}

static PoiseErr UseTriplets(PoiseContext ctx, void *arg)
{
  const List *l = arg;
  PoiseMat A = NULL;
  PoiseErr e = CreateEmpty(ctx, l, "bcsr", &A);
  if (!e) e = PoiseMatSetBlockPatternCOO(A, l->n, l->rows, l->cols);
  if (!e) e = PoiseMatSetValuesCOO(A, l->v);
  if (!e) e = PoiseMatSetPatternCOO(A, l->n * l->b * l->b, l->number_rows, l->number_cols);
  if (!e) e = PoiseMatAddValuesCOO(A, l->v);
  if (!e) e = PoiseMatSetType(A, "csr");
  if (!e) e = PoiseMatSetBlockPatternCOO(A, l->n, l->rows, l->cols);
  PoiseMatDestroy(&A);
  return e;
}

static void TestTripletMemory(PoiseContext ctx)
{
  List l = MakeList(ctx, 2, 6, 6, 12);
  TestAllocationFailures(ctx, UseTriplets, &l);
  FreeList(&l);
}

/* ---- finding a block size ------------------------------------------------------------------------------------------------ */

/* Numbers in blocks of 3 x 3 near the diagonal, a few of them missing where there are holes; or a matrix of no blocks. */
static PoiseErr MakeNodes(PoiseContext ctx, const char *type, int nodes, int holes, PoiseInt M, PoiseMat *A)
{
  PoiseInt begin, m;
  PoiseSplit(ctx, nodes ? M / 3 : M, &begin, &m);
  if (nodes) begin *= 3, m *= 3;
  POISE_TRY(PoiseMatCreate(ctx, m, m, M, M, A));
  PoiseErr e = PoiseMatSetBlockSize(*A, 0);
  if (!e) e = PoiseMatSetType(*A, type);
  for (PoiseInt i = begin; !e && i < begin + m; i++)
    for (PoiseInt j = 0; !e && j < M; j++) {
      bool there = nodes ? (i / 3 + j / 3) % 4 == 0 || i / 3 == j / 3 : i == j || (i * 7 + j) % 31 == 0;
      if (there && !(holes && (i + 2 * j) % 17 == 0))
        e = PoiseMatAddValues(*A, 1, &i, &j, &(double){TestRandom(41, (uint64_t)(i * M + j))});
    }
  return e ? e : PoiseMatAssemble(*A);
}

/* Blocks counted one by one; *divides: on all ranks. */
static double CountBlocks(PoiseMat A, int b, bool *divides)
{
  PoiseInt m, n, row;
  double count[2] = {0};
  PoiseMatLocalSizes(A, &m, &n);
  count[1] = m % b != 0;
  for (PoiseInt first = 0; first < m; first += b)
    for (PoiseInt J = 0; J <= A->cols->N / b; J++) {
      bool has = false;
      for (PoiseInt i = first; i < first + b && i < m; i++) {
        const PoiseInt *cols;
        PoiseInt length;
        row = A->rows->begin + i;
        CHECK_OK(PoiseMatGetRow(A, row, &length, &cols, NULL));
        for (PoiseInt k = 0; k < length; k++) has = has || cols[k] / b == J;
      }
      count[0] += has;
    }
  CHECK_OK(PoiseSum(A->ctx, 2, count));
  *divides = count[1] == 0;
  return count[0];
}

static void TestFills(PoiseContext ctx)
{
  for (int kind = 0; kind < 3; kind++) {
    PoiseMat A;
    PoiseBlockFill table[POISE_BLOCK_FILLS];
    PoiseInt nz;
    int b = 0, least = 0;
    if (!CHECK_OK(MakeNodes(ctx, "csr", kind < 2, kind == 1, 120, &A))) return;
    CHECK_OK(PoiseMatFindBlockSize(A, table, &b));
    CHECK_OK(PoiseMatNonzeros(A, &nz));
    for (int k = 0; k < POISE_BLOCK_FILLS; k++) {
      bool divides;
      double blocks = CountBlocks(A, k + 1, &divides), offset = ctx->most_narrow < 0 ? 8 : 4;
      CHECK_INT(table[k].b, k + 1);
      CHECK_INT(table[k].blocks, divides ? blocks : -1);
      if (!divides) continue;
      CHECK_NEAR(table[k].fill, blocks * (k + 1) * (k + 1) / (double)nz, 1e-14);
      double rows = 120.0 / (k + 1) + PoiseSize(ctx);
      CHECK_NEAR(table[k].bytes, (8.0 * (k + 1) * (k + 1) + 4) * blocks + offset * rows, 0);
      if (table[k].bytes < table[least].bytes) least = k;
    }
    CHECK_INT(b, least + 1);
    CHECK_INT(b, kind == 2 ? 1 : 3);
    CHECK_INT(PoiseMatBlockSize(A), 1);
    CHECK(A->type->stored && !A->fills);
    PoiseMatDestroy(&A);
  }
}

/* By the option, before there are entries and afterwards; what was found is seen, and a second time nothing changes. */
static void TestFound(PoiseContext ctx)
{
  char text[4096];
  CHECK_OK(PoiseOptionsSetString(ctx, "-f_mat_type bcsr -f_mat_block_size 0"));
  for (int kind = 0; kind < 4; kind++) {
    bool nodes = kind % 2 == 0;
    PoiseMat A, B;
    if (!CHECK_OK(MakeNodes(ctx, kind < 2 ? "bcsr" : "csri", nodes, 1, 60, &A)) ||
        !CHECK_OK(MakeNodes(ctx, "csr", nodes, 1, 60, &B)))
      return;
    CHECK_OK(PoiseMatSetOptionsPrefix(A, "f_"));
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK(!strcmp(PoiseMatType(A), nodes ? "bcsr" : kind == 1 ? "csr" : "csri"));
    CHECK_INT(PoiseMatBlockSize(A), nodes ? 3 : 1);
    int64_t built = A->csr.built;
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK_INT(A->csr.built, built);
    FILE *f = TestPrintBegin(ctx);
    CHECK_OK(PoiseMatView(A));
    TestPrintEnd(ctx, f, text, sizeof text);
    if (PoiseRank(ctx) == 0) {
      CHECK(strstr(text, nodes ? "  block size 3 was found; CSR has " : "  no blocks were found that take fewer") != NULL);
      CHECK(strstr(text, "    3 x 3: ") != NULL);
      CHECK(strstr(text, "    7 x 7: 7 does not divide the rows and columns of every rank\n") != NULL);
    }
    SameProduct(A, B);
    if (nodes) {
      SameBlocks(A, B);
      CHECK_OK(PoiseMatSetBlockSize(A, 0)); /* blocks that are there keep their size */
      CHECK_INT(PoiseMatBlockSize(A), 3);
      CHECK_OK(PoiseMatSetFromOptions(A));
      CHECK_OK(PoiseMatSetType(A, "csr"));
      CHECK_ERR(PoiseMatSetBlockSize(A, -1), POISE_ERR_ARG, "block size -1");
      CHECK_OK(PoiseMatSetBlockSize(A, 1));
      CHECK(!A->fills);
    }
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, 3, 3, POISE_DECIDE, POISE_DECIDE, &A))) return;
  CHECK_OK(PoiseOptionsSetString(ctx, "-g_mat_block_size 0 -g_mat_type seg"));
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "g_"));
  CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_ARG, "the matrix is of type seg");
  PoiseMatDestroy(&A);
}

/* By triplets of numbers. */
static void TestFoundTriplets(PoiseContext ctx)
{
  for (int b = 1; b <= 4; b++) {
    List l = MakeList(ctx, b, 13, 13, 40);
    PoiseMat A, B;
    if (!CHECK_OK(CreateEmpty(ctx, &l, "bcsr", &A)) || !CHECK_OK(CreateEmpty(ctx, &l, "csr", &B))) return;
    CHECK_OK(PoiseMatSetBlockSize(A, 0));
    Give(A, &l, 0);
    Give(B, &l, 0);
    CHECK_INT(PoiseMatBlockSize(A), b);
    CHECK(!strcmp(PoiseMatType(A), b > 1 ? "bcsr" : "csr"));
    SameProduct(A, B);
    if (b > 1) SameBlocks(A, B);
    CHECK_OK(PoiseMatSetValuesCOO(A, l.v)); /* the plan is that of the blocks */
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
    FreeList(&l);
  }
}

static PoiseErr UseFound(PoiseContext ctx, void *arg)
{
  PoiseMat A = NULL;
  const List *l = arg;
  PoiseErr e = CreateEmpty(ctx, l, "bcsr", &A);
  if (!e) e = PoiseMatSetBlockSize(A, 0);
  if (!e) e = PoiseMatSetPatternCOO(A, l->n * l->b * l->b, l->number_rows, l->number_cols);
  PoiseMatDestroy(&A);
  if (!e) e = CreateEmpty(ctx, l, "csr", &A);
  if (!e) e = PoiseMatSetPatternCOO(A, l->n * l->b * l->b, l->number_rows, l->number_cols);
  if (!e) e = PoiseMatSetBlockSize(A, 0);
  if (!e) e = PoiseMatSetType(A, "bcsr");
  PoiseMatDestroy(&A);
  return e;
}

static void TestFoundMemory(PoiseContext ctx)
{
  List l = MakeList(ctx, 2, 6, 6, 12);
  TestAllocationFailures(ctx, UseFound, &l);
  FreeList(&l);
}

static const Test tests[] = {{"triplets", TestTriplets, 0},
                             {"holes", TestHoles, 0},
                             {"elements", TestElements, 0},
                             {"mixed", TestMixed, 0},
                             {"triplet_errors", TestTripletErrors, 0},
                             {"triplet_memory", TestTripletMemory, 0},
                             {"fills", TestFills, 0},
                             {"found", TestFound, 0},
                             {"found_triplets", TestFoundTriplets, 0},
                             {"found_memory", TestFoundMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "bcsr_more", tests);
}

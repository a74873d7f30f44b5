/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices of blocks made in other ways, copied, transposed, added, saved and moved. Each must give the same
  blocks, to the bit, as the same steps with CSR whose result is converted to blocks.
  test_bcsr.c has products.
*/
#define _XOPEN_SOURCE 700
#include <unistd.h>

#include "files.h"
#include "mat/csr/entries.h"
#include "mat/object/mat.h"
#include "sample.h"

static const int sizes[] = {1, 2, 3, 8, 17, 32};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- what is compared ------------------------------------------------------------------------ */

/* Blocks of A and of B, where they are and what is in them. B may be of another type, and is bcsr
   afterwards. */
static bool SameBlocks(PoiseMat A, PoiseMat B)
{
  HostCsr a, b;
  const double *va, *vb;
  if (!CHECK(A->type->blocked) || !CHECK_OK(PoiseMatSetBlockSize(B, A->block_size)) ||
      !CHECK_OK(PoiseMatSetType(B, "bcsr")) || !CHECK_INT(A->csr.nz, B->csr.nz) ||
      !CHECK_INT(A->csr.b, B->csr.b) || !CHECK_INT(A->csr.nghost, B->csr.nghost) ||
      !CHECK_OK(poiseMatPattern(A, &a)) || !CHECK_OK(poiseMatPattern(B, &b)) ||
      !CHECK_OK(poiseBufferRead(&A->csr.val, HOST, &va)) ||
      !CHECK_OK(poiseBufferRead(&B->csr.val, HOST, &vb)))
    return false;
  bool same = A->csr.m == B->csr.m;
  for (int64_t i = 0; same && i <= A->csr.m; i++)
    same = poiseCsrPtr(&A->csr, a.ptr, i) == poiseCsrPtr(&B->csr, b.ptr, i);
  for (int64_t k = 0; same && k < A->csr.nz; k++)
    same = poiseCsrGlobal(A, a.col[k]) == poiseCsrGlobal(B, b.col[k]);
  for (int64_t k = 0; same && k < poiseCsrScalars(&A->csr); k++) same = va[k] == vb[k];
  return CHECK(same);
}

/* ---- triplets -------------------------------------------------------------------------------- */

/* blocks of all ranks' rows, many twice, some to be ignored; and their numbers one by one */
typedef struct List {
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

/* A's pattern and values, by blocks or numbers, from the host or the device; TWICE: another list before, and
   the values added again. */
static void Give(PoiseMat A, const List *l, int how)
{
  PoiseContext ctx = PoiseMatContext(A);
  int64_t bb = (int64_t)l->b * l->b, n = how & BLOCKS ? l->n : l->n * bb;
  const PoiseInt *rows = how & BLOCKS ? l->rows : l->number_rows,
                 *cols = how & BLOCKS ? l->cols : l->number_cols;
  if (how & TWICE) CHECK_OK(PoiseMatSetPatternCOO(A, 1, (PoiseInt[]){0}, (PoiseInt[]){0}));
  if (how & THERE) {
    void *r = SampleLend(ctx, (size_t)n * sizeof *rows, rows),
         *c = SampleLend(ctx, (size_t)n * sizeof *cols, cols);
    void *v = SampleLend(ctx, (size_t)(l->n * bb) * sizeof *l->v, l->v);
    CHECK_OK(how & BLOCKS ? PoiseMatSetBlockPatternDeviceCOO(A, n, r, c)
                          : PoiseMatSetPatternDeviceCOO(A, n, r, c));
    SampleTakeBack(ctx, r), SampleTakeBack(ctx, c);
    CHECK_OK(PoiseMatSetValuesDeviceCOO(A, v));
    if (how & TWICE) CHECK_OK(PoiseMatAddValuesDeviceCOO(A, v));
    CHECK_OK(poiseDeviceSync(ctx->device));
    SampleTakeBack(ctx, v);
  } else {
    CHECK_OK(how & BLOCKS ? PoiseMatSetBlockPatternCOO(A, n, rows, cols)
                          : PoiseMatSetPatternCOO(A, n, rows, cols));
    CHECK_OK(PoiseMatSetValuesCOO(A, l->v));
    if (how & TWICE) CHECK_OK(PoiseMatAddValuesCOO(A, l->v));
  }
}

static void TestTriplets(PoiseContext ctx)
{
  static const PoiseInt shape[][3] = {{19, 23, 60}, {5, 2, 40}, {1, 1, 5}, {7, 7, 0}};
  for (int k = 0; k < SIZES; k++)
    for (int s = 0; s < (sizes[k] < 8 ? 4 : 1); s++)
      for (int how = 0; how < 8; how += sizes[k] < 8 ? 1 : 3) {
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
        SampleSameProducts(A, B, true, 1e-13);
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
    SampleSameProducts(A, B, true, 1e-13);
    SameBlocks(A, B);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
    FreeList(&l);
  }
}

/* Most of the numbers get none of the triplets, and become zeros whatever they were. */
static void TestFew(PoiseContext ctx)
{
  static const int some[] = {3, 17, 27};
  for (int k = 0; k < 3; k++) {
    enum { NODES = 150 };
    const int b = some[k];
    PoiseInt rows[NODES], n = 0;
    double v[NODES], all;
    List l = {.b = b, .M = NODES, .N = NODES};
    PoiseMat A;
    if (!CHECK_OK(CreateEmpty(ctx, &l, "bcsr", &A))) return;
    for (PoiseInt i = PoiseRank(ctx); i < NODES; i += PoiseSize(ctx), n++) rows[n] = i * b, v[n] = 1;
    CHECK_OK(PoiseMatSetPatternCOO(A, n, rows, rows));
    for (int again = 0; again < 2; again++) {
      CHECK_OK(PoiseMatSetValuesCOO(A, v));
      CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &all));
      CHECK_NEAR(all, sqrt(NODES), 1e-12);
      int64_t numbers = poiseCsrScalars(&A->csr);
      double *w = malloc((size_t)numbers * sizeof *w + 1);
      for (int64_t j = 0; j < numbers; j++) w[j] = NAN;
      CHECK_OK(PoiseMatSetValuesBCSR(A, 0, w));
      free(w);
    }
    PoiseMatDestroy(&A);
  }
}

/* As elements give them: enough for several blocks of the plan, and threads; values once more allocate
   nothing and keep the pattern. */
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
  int64_t calls = ctx->memory.calls, pattern = A->version.product;
  for (PoiseInt k = 0; k < 9 * l.n; k++) l.v[k] *= 2;
  CHECK_OK(PoiseMatSetValuesCOO(A, l.v));
  CHECK(ctx->memory.calls == calls && A->version.product == pattern);
  CHECK_OK(PoiseMatSetValuesCOO(B, l.v));
  for (PoiseInt k = 0; k < 9 * l.n; k++) l.v[k] = NAN; /* taken before the call returned */
  SampleSameProducts(A, B, true, 1e-13);
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
    CHECK_OK(first ? PoiseMatAddEntries(k ? B : A, 1, &row, &col, &(double){5}) : POISE_OK);
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
    if (!CHECK_OK(CreateEmpty(ctx, &l, types[k], &A)) || !CHECK_OK(CreateEmpty(ctx, &l, types[k], &B)))
      return;
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
    CHECK_ERR_OF(PoiseMatSetBlockPatternCOO(A, mine ? -3 : 0, l.rows, l.cols), mine, POISE_ERR_ARG,
                 "-3 block rows");
    CHECK_ERR_OF(PoiseMatSetBlockPatternCOO(A, mine ? 20 : 0, NULL, l.cols), mine, POISE_ERR_ARG,
                 "the indices of 20 block rows are NULL");
    CHECK_ERR_OF(PoiseMatSetBlockPatternCOO(A, mine ? 20 : 0, l.rows, NULL), mine, POISE_ERR_ARG,
                 "20 block columns are NULL");
    CHECK_ERR_OF(PoiseMatSetValuesCOO(A, mine ? NULL : l.v), mine, POISE_ERR_ARG, "triplets are NULL");
    if (!ctx->device->ops->is_host) {
      l.cols[0] = column;
      CHECK_ERR(PoiseMatSetBlockPatternDeviceCOO(A, 20, l.rows, l.cols), POISE_ERR_ARG, "rows: ");
      CHECK_ERR(PoiseMatSetValuesDeviceCOO(A, l.v), POISE_ERR_ARG, "values of triplets: ");
      l.rows[0] = 5;
      void *r = SampleLend(ctx, 20 * sizeof *l.rows, l.rows),
           *c = SampleLend(ctx, 20 * sizeof *l.cols, l.cols);
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

/* ---- finding a block size -------------------------------------------------------------------- */

/* Numbers in blocks of 3 x 3 near the diagonal, a few of them missing where there are holes; or a matrix of
   no blocks. */
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
        e = PoiseMatAddEntries(*A, 1, &i, &j, &(double){TestRandom(41, (uint64_t)(i * M + j))});
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
      double blocks = CountBlocks(A, k + 1, &divides), offset = ctx->hooks.most_narrow < 0 ? 8 : 4;
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

/* What a view says of blocks of b x b is what was found. */
static void CheckFillLine(const char *text, const PoiseBlockFill *fill)
{
  char start[32];
  long long blocks;
  double numbers, bytes;
  snprintf(start, sizeof start, "    %d x %d: ", fill->b, fill->b);
  const char *line = strstr(text, start);
  if (!CHECK(line != NULL)) return;
  const char *form = " %lld blocks, %lf numbers per nonzero, %lf bytes";
  if (!CHECK_INT(sscanf(line + strlen(start) - 1, form, &blocks, &numbers, &bytes), 3)) return;
  CHECK_INT(blocks, fill->blocks);
  CHECK_NEAR(numbers, fill->fill, 6e-4);
  CHECK_NEAR(bytes, fill->bytes, 0.5);
}

/* By the option, before there are entries and afterwards; what was found is seen, and a second time nothing
   changes. */
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
    int64_t built = A->version.pattern;
    CHECK_OK(PoiseMatSetFromOptions(A));
    CHECK_INT(A->version.pattern, built);
    TEST_PRINTED(ctx, text, sizeof text, PoiseMatView(A));
    if (PoiseRank(ctx) == 0) {
      CHECK(strstr(text, nodes ? "  block size 3 was found; CSR has "
                               : "  no blocks were found that take fewer") != NULL);
      if (CHECK(A->fills != NULL) && A->fills[2].blocks >= 0) CheckFillLine(text, A->fills + 2);
      CHECK(strstr(text, "    3 x 3: ") != NULL);
      CHECK(strstr(text, "    7 x 7: 7 does not divide the rows and columns of every rank\n") != NULL);
    }
    SampleSameProducts(A, B, true, 1e-13);
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
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "h_"));
  CHECK_OK(PoiseMatSetFromOptions(A)); /* nothing stays of what was refused */
  CHECK_OK(PoiseMatSetBlockSize(A, 0));
  CHECK_OK(PoiseMatSetFromOptions(A)); /* for when it becomes bcsr */
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
    SampleSameProducts(A, B, true, 1e-13);
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

/* ---- copies, transposes, sums ---------------------------------------------------------------- */

/* The same entries, as blocks and as CSR, of several shapes. */
static bool MakePair(PoiseContext ctx, int b, PoiseInt M, PoiseInt N, PoiseInt n, PoiseMat *A, PoiseMat *B)
{
  List l = MakeList(ctx, b, M, N, n);
  bool made = CHECK_OK(CreateEmpty(ctx, &l, "bcsr", A)) && CHECK_OK(CreateEmpty(ctx, &l, "csr", B));
  if (made) Give(*A, &l, BLOCKS);
  if (made) Give(*B, &l, BLOCKS);
  FreeList(&l);
  return made;
}

static void SameAndDestroy(PoiseMat *A, PoiseMat *B)
{
  SampleSameProducts(*A, *B, true, 1e-13);
  SameBlocks(*A, *B);
  PoiseMatDestroy(A);
  PoiseMatDestroy(B);
}

static void TestCopies(PoiseContext ctx)
{
  static const PoiseInt shape[][3] = {{19, 23, 60}, {9, 9, 40}, {23, 2, 30}, {1, 1, 5}, {7, 7, 0}};
  for (int k = 0; k < SIZES; k++)
    for (int s = 0; s < (sizes[k] < 8 ? 5 : 2); s++) {
      PoiseMat A, B, C, D;
      if (!MakePair(ctx, sizes[k], shape[s][0], shape[s][1], shape[s][2], &A, &B)) return;
      for (int values = 0; values < 2; values++) {
        if (!CHECK_OK(PoiseMatDuplicate(A, values, &C)) || !CHECK_OK(PoiseMatDuplicate(B, values, &D)))
          return;
        CHECK(C->type->blocked && PoiseMatBlockSize(C) == sizes[k]);
        SameAndDestroy(&C, &D);
      }
      if (!CHECK_OK(PoiseMatTranspose(A, &C)) || !CHECK_OK(PoiseMatTranspose(B, &D))) return;
      CHECK(C->type->blocked && PoiseMatBlockSize(C) == sizes[k]);
      int is[4] = {0};
      CHECK_OK(PoiseMatIsTranspose(A, C, 0, &is[0]));
      CHECK_OK(PoiseMatIsTranspose(A, D, 0, &is[1])); /* of numbers */
      CHECK_OK(PoiseMatIsTranspose(D, A, 0, &is[2]));
      CHECK_OK(PoiseMatScale(D, 2));
      CHECK_OK(PoiseMatIsTranspose(A, D, 0, &is[3]));
      CHECK(is[0] && is[1] && is[2] && is[3] == (shape[s][2] == 0));
      CHECK_OK(PoiseMatScale(D, 0.5));
      SameAndDestroy(&C, &D);
      PoiseMatDestroy(&A);
      PoiseMatDestroy(&B);
    }
}

static void TestSymmetric(PoiseContext ctx)
{
  for (int k = 0; k < SIZES; k++) {
    PoiseMat A, B, T;
    int is = 0;
    if (!MakePair(ctx, sizes[k], 9, 9, 40, &A, &B) || !CHECK_OK(PoiseMatTranspose(A, &T))) return;
    CHECK_OK(PoiseMatIsSymmetric(A, 1e-3, &is));
    CHECK(!is);
    CHECK_OK(PoiseMatAXPY(A, 1, T));
    CHECK_OK(PoiseMatIsSymmetric(A, 0, &is));
    CHECK(is);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
    PoiseMatDestroy(&T);
  }
}

/* Do its products work as the option says? */
static void CheckBalanced(PoiseMat A)
{
  PoiseVec x, y;
  char text[4096];
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  SampleFill(x, 4);
  CHECK_OK(PoiseMatMult(A, x, y));
  TEST_PRINTED(A->ctx, text, sizeof text, PoiseMatView(A));
  if (PoiseRank(A->ctx) == 0) CHECK(strstr(text, "bcsr: row blocks of ") != NULL);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

/* Options of the type that are given before there are blocks hold, also when new entries come, and for
   copies. */
static void TestOptionsStay(PoiseContext ctx)
{
  List l = MakeList(ctx, 3, 12, 12, 30);
  PoiseMat A, B, C[4] = {NULL};
  CHECK_OK(PoiseOptionsSetString(ctx, "-o_mat_type bcsr -o_mat_bcsr_kernel balanced"));
  if (!CHECK_OK(CreateEmpty(ctx, &l, "csr", &A)) || !CHECK_OK(CreateEmpty(ctx, &l, "csr", &B))) return;
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "o_"));
  CHECK_OK(PoiseMatSetFromOptions(A));
  Give(A, &l, BLOCKS);
  Give(B, &l, BLOCKS);
  CheckBalanced(A);
  for (PoiseInt row = 0; row < 36; row += 7)
    for (int t = 0; t < 2; t++)
      CHECK_OK(PoiseMatAddEntries(t ? B : A, 1, &row, &(PoiseInt){35 - row}, &(double){3}));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatAssemble(B));
  CheckBalanced(A);
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_RCM));
  if (!CHECK_OK(PoiseMatDuplicate(A, 1, &C[0])) || !CHECK_OK(PoiseMatTranspose(A, &C[1])) ||
      !CHECK_OK(PoiseMatRearrange(A, &C[2], NULL)) || !CHECK_OK(PoiseMatDuplicate(C[1], 0, &C[3])))
    return;
  CHECK_OK(PoiseMatAXPY(C[3], 1, A));
  for (int k = 0; k < 4; k++) {
    CheckBalanced(C[k]);
    PoiseMatDestroy(&C[k]);
  }
  SameAndDestroy(&A, &B);
  FreeList(&l);
}

enum { ITSELF, ALIKE, OTHERS, NUMBERS, OTHER_SIZE, SUMS };

/* Y += a X of blocks does what it does of CSR. */
static void TestSums(PoiseContext ctx)
{
  for (int k = 0; k < SIZES; k++)
    for (int what = 0; what < SUMS; what++)
      for (int zero = 0; zero < (sizes[k] < 8 ? 2 : 1); zero++) {
        PoiseMat Y, Z, X = NULL, W = NULL;
        const int b = sizes[k];
        if (!MakePair(ctx, b, 9, 9, 40, &Y, &Z)) return;
        if (what == ALIKE &&
            (!CHECK_OK(PoiseMatDuplicate(Y, 1, &X)) || !CHECK_OK(PoiseMatDuplicate(Z, 1, &W))))
          return;
        if (what > ALIKE && !MakePair(ctx, b, 9, 9, 70, &X, &W)) return;
        if (what == OTHER_SIZE) {
          CHECK_OK(PoiseMatSetType(X, "csr"));
          CHECK_OK(PoiseMatSetBlockSize(X, 1));
          CHECK_OK(PoiseMatSetType(X, "bcsr"));
        }
        int64_t state = Y->version.values;
        CHECK_OK(PoiseMatAXPY(Y, zero ? 0 : -0.7, what == NUMBERS ? W : what == ITSELF ? Y : X));
        CHECK_OK(PoiseMatAXPY(Z, zero ? 0 : -0.7, what == ITSELF ? Z : W));
        CHECK(Y->type->blocked && Y->version.values > state);
        if (what == NUMBERS) { /* and the other way round: zeros of the blocks come too */
          CHECK_OK(PoiseMatAXPY(W, 2, Y));
          CHECK(W->type->stored);
          CHECK_OK(PoiseMatAXPY(X, 2, Y));
          SameAndDestroy(&X, &W);
        }
        SameAndDestroy(&Y, &Z);
        PoiseMatDestroy(&X);
        PoiseMatDestroy(&W);
      }
}

static void TestSumErrors(PoiseContext ctx)
{
  PoiseMat A, B, C, D;
  if (!MakePair(ctx, 2, 8, 8, 40, &A, &B) || !MakePair(ctx, 2, 9, 8, 40, &C, &D)) return;
  CHECK_ERR(PoiseMatAXPY(A, 1, C), POISE_ERR_SIZE, "X is 18 x 16, Y is 16 x 16");
  CHECK_ERR(PoiseMatAXPY(A, 1, D), POISE_ERR_SIZE, "");
  PoiseMatDestroy(&C);
  PoiseMatDestroy(&D);
  if (!CHECK_OK(PoiseMatCreate(ctx, A->rows->n, A->cols->n, POISE_DECIDE, POISE_DECIDE, &C))) return;
  CHECK_OK(PoiseMatSetBlockSize(C, 2));
  CHECK_OK(PoiseMatSetType(C, "bcsr"));
  CHECK_ERR(PoiseMatAXPY(A, 1, C), POISE_ERR_STATE, "PoiseMatAssemble");
  CHECK_ERR(PoiseMatTranspose(C, &D), POISE_ERR_STATE, "PoiseMatAssemble");
  PoiseMatDestroy(&C);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* Rows have all numbers of their blocks, as a CSR that was blocks has. */
static void TestRows(PoiseContext ctx)
{
  for (int k = 0; k < SIZES; k++) {
    PoiseMat A, B;
    if (!MakePair(ctx, sizes[k], 12, 11, 40, &A, &B)) return;
    CHECK_OK(PoiseMatSetType(B, "bcsr"));
    CHECK_OK(PoiseMatSetType(B, "csr"));
    int64_t *ptr[2], *col[2];
    double *val[2];
    if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr[0], &col[0], &val[0])) ||
        !CHECK_OK(PoiseMatCopyCSR(B, &ptr[1], &col[1], &val[1])))
      return;
    PoiseInt m, n;
    PoiseMatLocalSizes(A, &m, NULL);
    CHECK(!memcmp(ptr[0], ptr[1], (size_t)(m + 1) * sizeof *ptr[0]));
    CHECK(!memcmp(col[0], col[1], (size_t)ptr[0][m] * sizeof *col[0]));
    CHECK(!memcmp(val[0], val[1], (size_t)ptr[0][m] * sizeof *val[0]));
    for (PoiseInt i = m; i-- > 0;) {
      const PoiseInt *cols;
      const double *v;
      CHECK_OK(PoiseMatGetRow(A, A->rows->begin + i, &n, &cols, &v));
      CHECK_INT(n, ptr[0][i + 1] - ptr[0][i]);
      CHECK(!n || (!memcmp(cols, col[0] + ptr[0][i], (size_t)n * sizeof *cols) &&
                   !memcmp(v, val[0] + ptr[0][i], (size_t)n * sizeof *v)));
    }
    CHECK_ERR(PoiseMatGetRow(A, A->rows->begin + m, &n, NULL, NULL), POISE_ERR_ARG, "is not one of rank");
    for (int t = 0; t < 2; t++) free(ptr[t]), free(col[t]), free(val[t]);
    for (int t = 0; t < 3; t++) { /* room for a row of numbers, then of blocks, then again of numbers */
      const double *v;
      if (m) CHECK_OK(PoiseMatGetRow(B, B->rows->begin, &n, NULL, &v));
      CHECK_OK(PoiseMatSetType(B, t % 2 ? "csr" : "bcsr"));
    }
    SameAndDestroy(&A, &B);
  }
}

static PoiseErr UseCopies(PoiseContext ctx, void *arg)
{
  const List *l = arg;
  PoiseMat A = NULL, B = NULL, T = NULL;
  PoiseErr e = CreateEmpty(ctx, l, "bcsr", &A);
  if (!e) e = PoiseMatSetBlockPatternCOO(A, l->n, l->rows, l->cols);
  if (!e) e = PoiseMatDuplicate(A, 1, &B);
  if (!e) e = PoiseMatTranspose(A, &T);
  if (!e) e = PoiseMatAXPY(B, 1, T);
  if (!e) e = PoiseMatSetType(T, "csr");
  if (!e) e = PoiseMatAXPY(B, 1, T);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&T);
  return e;
}

static void TestCopyMemory(PoiseContext ctx)
{
  List l = MakeList(ctx, 2, 6, 6, 12);
  TestAllocationFailures(ctx, UseCopies, &l);
  FreeList(&l);
}

/* ---- all values anew, and arrays on the device ----------------------------------------------- */

typedef struct Arrays { /* of a matrix of blocks, as a caller might have them */
  int64_t m, nz, *ptr;
  int64_t *col;
  double *val[2]; /* column-major, row-major */
} Arrays;

static Arrays Extract(PoiseMat A)
{
  HostCsr h;
  int64_t b = A->csr.b, bb = b * b;
  Arrays a = {.m = A->csr.m, .nz = A->csr.nz};
  a.ptr = malloc((size_t)(a.m + 1) * 8), a.col = malloc((size_t)a.nz * 8 + 1);
  for (int t = 0; t < 2; t++) a.val[t] = malloc((size_t)(a.nz * bb) * 8 + 1);
  if (!CHECK_OK(poiseMatReadEntries(A, &h))) return a;
  for (int64_t i = 0; i <= a.m; i++) a.ptr[i] = poiseCsrPtr(&A->csr, h.ptr, i);
  for (int64_t k = 0; k < a.nz; k++) a.col[k] = poiseCsrGlobal(A, h.col[k]);
  for (int64_t k = 0; k < a.nz * bb; k++)
    a.val[0][k] = h.val[k], a.val[1][k / bb * bb + k % b * b + k % bb / b] = h.val[k];
  return a;
}

static void FreeArrays(Arrays *a)
{
  free(a->ptr), free(a->col), free(a->val[0]), free(a->val[1]);
}

static void TestNewValues(PoiseContext ctx)
{
  for (int k = 0; k < SIZES; k++) {
    PoiseMat A, B, C;
    if (!MakePair(ctx, sizes[k], 9, 9, 40, &A, &B) || !CHECK_OK(PoiseMatDuplicate(A, 0, &C))) return;
    Arrays a = Extract(A);
    for (int row_major = 0; row_major < 2; row_major++) {
      int64_t state = C->version.values;
      CHECK_OK(PoiseMatSetValuesBCSR(C, row_major, a.val[row_major]));
      CHECK(C->version.values > state);
      SameBlocks(C, A);
      CHECK_OK(PoiseMatZeroEntries(C));
    }
    bool mine = a.nz > 0;
    PoiseErr e = PoiseMatSetValuesBCSR(C, 0, NULL);
    if (mine) CHECK_ERR(e, POISE_ERR_ARG, "no values");
    CHECK_ERR(PoiseMatSetValuesCSR(C, a.val[0]), POISE_ERR_ARG, "PoiseMatSetValuesBCSR");
    CHECK_ERR(PoiseMatSetValuesBCSR(B, 0, a.val[0]), POISE_ERR_ARG,
              "type csr, whose values PoiseMatSetValuesCSR");
    PoiseMatDestroy(&C);
    SameAndDestroy(&A, &B);
    FreeArrays(&a);
  }
}

enum { WIDE_PTR = 1, WIDE_COL = 2, ONE = 4, ROW_MAJOR = 8, FORMS = 16 };

static PoiseBCSR LendBCSR(PoiseContext ctx, const Arrays *a, int64_t bb, int form)
{
  PoiseBCSR in = {.base = form & ONE ? 1 : 0, .row_major = form & ROW_MAJOR ? 1 : 0};
  in.val = SampleLend(ctx, (size_t)(a->nz * bb) * 8, a->val[in.row_major]);
  SampleLendIndices(ctx, a->m + 1, a->ptr, in.base, form & WIDE_PTR, &in.ptr64, &in.ptr32);
  SampleLendIndices(ctx, a->nz, a->col, in.base, form & WIDE_COL, &in.col64, &in.col32);
  return in;
}

static void TakeBackBCSR(PoiseContext ctx, const PoiseBCSR *in)
{
  const void *all[] = {in->ptr32, in->ptr64, in->col32, in->col64, in->val};
  for (int k = 0; k < 5; k++) SampleTakeBack(ctx, (void *)(uintptr_t)all[k]);
}

/* An array may begin at any number, where a GPU would like to copy 16 bytes at once. */
static void CheckOddArray(PoiseContext ctx, const Arrays *a, int b, PoiseInt n, PoiseBCSR in, PoiseMat same)
{
  size_t bytes = (size_t)(a->nz * b * b) * sizeof(double);
  double *odd = malloc(bytes + sizeof *odd), *lent;
  PoiseMat A;
  odd[0] = NAN;
  memcpy(odd + 1, a->val[0], bytes);
  lent = SampleLend(ctx, bytes + sizeof *odd, odd);
  free(odd);
  in.val = lent + 1;
  if (CHECK_OK(PoiseMatCreateDeviceBCSR(ctx, b, a->m * b, n, 9 * b, 12 * b, &in, POISE_BORROW, &A))) {
    SampleSameProducts(A, same, true, 1e-13);
    CHECK_OK(PoiseOptionsSetString(ctx, "-odd_mat_type bcsr -odd_mat_bcsr_kernel balanced"));
    CHECK_OK(PoiseMatSetOptionsPrefix(A, "odd_"));
    CHECK_OK(PoiseMatSetFromOptions(A));
    SampleSameProducts(A, same, true, 1e-13);
    PoiseMatDestroy(&A);
  }
  SampleTakeBack(ctx, lent);
}

static void TestDeviceArrays(PoiseContext ctx)
{
  for (int k = 0; k < SIZES; k++)
    for (int form = 0; form < FORMS; form += sizes[k] == 3 ? 1 : ROW_MAJOR)
      for (int own = POISE_COPY; own <= POISE_BORROW; own++) {
        const int b = sizes[k];
        PoiseMat A, B, C;
        PoiseInt n;
        if (!MakePair(ctx, b, 9, 12, 40, &A, &B)) return;
        Arrays a = Extract(A);
        PoiseBCSR in = LendBCSR(ctx, &a, (int64_t)b * b, form);
        PoiseMatLocalSizes(A, NULL, &n);
        bool in_place =
            !ctx->device->ops->is_host && PoiseSize(ctx) == 1 && own != POISE_COPY && !in.base && in.col32;
        PoiseErr e = PoiseMatCreateDeviceBCSR(ctx, b, a.m * b, n, 9 * b, 12 * b, &in, (PoiseOwn)own, &C);
        if (in.row_major && b > 1 && own != POISE_COPY) {
          CHECK_ERR(e, POISE_ERR_ARG, "row-major");
          TakeBackBCSR(ctx, &in);
          PoiseMatDestroy(&A);
          PoiseMatDestroy(&B);
          FreeArrays(&a);
          continue;
        }
        if (!CHECK_OK(e)) return;
        if (in_place) CHECK(C->csr.col.device == in.col32 && C->csr.val.device == in.val);
        SampleSameProducts(C, B, true, 1e-13);
        SameBlocks(C, A);
        if (own == POISE_BORROW && !form) CheckOddArray(ctx, &a, b, n, in, B);
        if (own == POISE_BORROW) { /* the application writes to its array */
          for (int64_t j = 0; j < a.nz * b * b; j++) a.val[0][j] *= 2;
          CHECK_OK(poiseDeviceCopy(ctx->device, (void *)(uintptr_t)in.val, a.val[0],
                                   (size_t)(a.nz * b * b) * 8, COPY_TO_DEVICE));
          CHECK_OK(PoiseMatSetValuesBCSR(C, 0, in.val));
          CHECK_OK(PoiseMatScale(B, 2));
          if (b > 1 && a.nz)
            CHECK_ERR(PoiseMatSetValuesBCSR(C, 1, in.val), POISE_ERR_ARG, "in the borrowed array");
          else if (b > 1)
            (void)PoiseMatSetValuesBCSR(C, 1, in.val);
          SameAndDestroy(&C, &B);
        }
        PoiseMatDestroy(&A);
        PoiseMatDestroy(&B);
        PoiseMatDestroy(&C);
        FreeArrays(&a);
        if (own != POISE_ADOPT) TakeBackBCSR(ctx, &in);
      }
}

static void TestDeviceArrayErrors(PoiseContext ctx)
{
  const int64_t ptr[] = {0, 2, 3}, down[] = {0, 5, 3}, col[] = {0, 1, 1}, far[] = {0, 1, 2};
  double val[12] = {1};
  const int32_t ptr32[] = {0, 2, 3}, col32[] = {0, 1, 1};
  const Arrays a = {2, 3, (int64_t *)(uintptr_t)ptr, (int64_t *)(uintptr_t)col, {val, val}};
  Arrays bad = a;
  PoiseMat A;
  static const char *const names[] = {"bcsr->ptr32: ", "bcsr->col32: ", "bcsr->val: "};
  CHECK_ERR(PoiseMatCreateDeviceBCSR(ctx, 2, 4, 4, 4, 4, NULL, POISE_COPY, &A), POISE_ERR_ARG, "NULL");
  for (int k = 0; !ctx->device->ops->is_host && k < 3; k++) {
    PoiseBCSR in = LendBCSR(ctx, &a, 4, 0), wrong = in;
    if (k == 0) wrong.ptr32 = ptr32;
    if (k == 1) wrong.col32 = col32;
    if (k == 2) wrong.val = val;
    CHECK_ERR(PoiseMatCreateDeviceBCSR(ctx, 2, 4, 4, 4, 4, &wrong, POISE_BORROW, &A), POISE_ERR_ARG,
              names[k]);
    CHECK_ERR(PoiseMatCreateDeviceBCSR(ctx, 3, 4, 4, 4, 4, &in, POISE_BORROW, &A), POISE_ERR_SIZE,
              "does not divide");
    CHECK(A == NULL);
    TakeBackBCSR(ctx, &in);
  }
  for (int k = 0; k < 2; k++) {
    bad.ptr = (int64_t *)(uintptr_t)(k ? ptr : down), bad.col = (int64_t *)(uintptr_t)(k ? far : col);
    PoiseBCSR in = LendBCSR(ctx, &bad, 4, 0);
    CHECK_ERR(PoiseMatCreateDeviceBCSR(ctx, 2, 4, 4, 4, 4, &in, POISE_BORROW, &A), POISE_ERR_ARG,
              k ? "block row 1 has column 2, legal are 0 to 1"
                : "row offsets decrease at block row 1: 5, then 3");
    TakeBackBCSR(ctx, &in);
  }
}

typedef struct Adopted {
  int form;
  PoiseOwn own;
} Adopted;

static PoiseErr Adopt(PoiseContext ctx, void *arg)
{
  const Adopted *how = arg;
  const int64_t ptr[] = {0, 2, 3}, col[] = {0, 1, 1};
  double val[12] = {1, 2, 3};
  const Arrays a = {2, 3, (int64_t *)(uintptr_t)ptr, (int64_t *)(uintptr_t)col, {val, val}};
  PoiseMat A;
  poiseAllocFailAt(ctx, -ctx->memory.fail_at); /* the application's own memory does not fail */
  PoiseBCSR in = LendBCSR(ctx, &a, 4, how->form);
  poiseAllocFailAt(ctx, -ctx->memory.fail_at);
  PoiseErr e = PoiseMatCreateDeviceBCSR(ctx, 2, 4, 4, 4, 4, &in, how->own, &A);
  bool keep = e || how->own != POISE_ADOPT;
  if (!e) e = PoiseMatDestroy(&A);
  if (keep) TakeBackBCSR(ctx, &in);
  return e;
}

static void TestAdoptFailures(PoiseContext ctx)
{
  for (int form = 0; form < FORMS; form += 4)
    TestAllocationFailures(ctx, Adopt, &(Adopted){form, form & ROW_MAJOR ? POISE_COPY : POISE_ADOPT});
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool SameFiles(const char *one, const char *other)
{
  FILE *f[2] = {fopen(one, "rb"), fopen(other, "rb")};
  int c = 0, d = 0;
  while (f[0] && f[1] && c == d && c != EOF) c = getc(f[0]), d = getc(f[1]);
  for (int k = 0; k < 2; k++)
    if (f[k]) fclose(f[k]);
  return f[0] && f[1] && c == d;
}

/* What the line beside the file says; 0: there is none. */
static int Beside(const char *info)
{
  int b = 0;
  FILE *f = fopen(info, "r");
  if (!f) return 0;
  CHECK(fscanf(f, "-matload_block_size %d", &b) == 1);
  fclose(f);
  return b;
}

/* The same bytes as from a CSR of the same numbers; what is read becomes the same blocks, by the option or,
   from PETSc's files, by what stands beside them. */
static void SaveAndRead(PoiseContext ctx, bool beside)
{
  static const char *const names[] = {"a.petsc", "a.mtx"}, *const others[] = {"b.petsc", "b.mtx"};
  for (int k = 0; k < SIZES; k++)
    for (int kind = 0; kind < 2; kind++) {
      const int b = sizes[k];
      char path[PATH], other[PATH], info[PATH], size[16];
      PoiseMat A, B, L;
      if (beside && (kind == 1 || b == 1)) continue;
      snprintf(size, sizeof size, "%d", b);
      CHECK_OK(PoiseOptionsSet(ctx, "mat_type", "bcsr"));
      if (!beside) CHECK_OK(PoiseOptionsSet(ctx, "mat_block_size", size));
      if (!MakePair(ctx, b, 9, 7, 30, &A, &B)) return;
      SharedName(ctx, path, names[kind]);
      SharedName(ctx, other, others[kind]);
      CHECK_OK(PoiseMatSetType(B, "bcsr"));
      CHECK_OK(PoiseMatSetType(B, "csr"));
      CHECK_OK(PoiseMatSave(A, path));
      CHECK_OK(PoiseMatSave(B, other));
      CHECK(SameFiles(path, other));
      snprintf(info, PATH, "%.*s.info", PATH - 6, path);
      CHECK_INT(Beside(info), kind == 0 && b > 1 ? b : 0);
      if (!CHECK_OK(PoiseMatLoad(ctx, path, &L))) return;
      CHECK_INT(PoiseMatBlockSize(L), b);
      CHECK_OK(PoiseMatSetFromOptions(L));
      SampleSameProducts(L, A, true, 1e-13);
      SameBlocks(L, A);
      PoiseMatDestroy(&L);
      if (kind == 0 && b > 1) { /* one without blocks does not keep another's block size */
        CHECK_OK(PoiseMatSetBlockSize(B, 1));
        CHECK_OK(PoiseMatSave(B, path));
        CHECK_INT(Beside(info), 1);
        RemoveFile(ctx, info);
        snprintf(info, PATH, "%.*s.info", PATH - 6, other);
        RemoveFile(ctx, info);
      }
      RemoveFile(ctx, path);
      RemoveFile(ctx, other);
      PoiseMatDestroy(&A);
      PoiseMatDestroy(&B);
    }
}

static void TestFiles(PoiseContext ctx)
{
  SaveAndRead(ctx, false);
}

static void TestFilesBeside(PoiseContext ctx)
{
  SaveAndRead(ctx, true);
}

/* Rows are laid out so that the block size can be found on any number of ranks. */
static void TestFilesFound(PoiseContext ctx)
{
  static const char *const names[] = {"found.petsc", "found.mtx"};
  CHECK_OK(PoiseOptionsSetString(ctx, "-mat_type bcsr -mat_block_size 0"));
  for (int kind = 0; kind < 2; kind++) {
    char path[PATH];
    PoiseInt m;
    PoiseMat A, L;
    if (!CHECK_OK(MakeNodes(ctx, "csr", 1, 1, 750, &A))) return;
    SharedName(ctx, path, names[kind]);
    CHECK_OK(PoiseMatSave(A, path));
    if (!CHECK_OK(PoiseMatLoad(ctx, path, &L))) return;
    PoiseMatLocalSizes(L, &m, NULL);
    CHECK_INT(m % 6, 0);
    CHECK_INT(PoiseMatBlockSize(L), 1);
    CHECK_OK(PoiseMatSetFromOptions(L));
    CHECK(!strcmp(PoiseMatType(L), "bcsr"));
    CHECK_INT(PoiseMatBlockSize(L), 3);
    RemoveFile(ctx, path);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&L);
  }
}

static void TestFileErrors(PoiseContext ctx)
{
  char path[PATH];
  PoiseMat A, B, L;
  if (!MakePair(ctx, 2, 8, 8, 30, &A, &B)) return;
  CHECK_OK(PoiseOptionsSetString(ctx, "-mat_type bcsr -mat_block_size 3")); /* does not divide 16 */
  SharedName(ctx, path, "c.mtx.gz");
  CHECK_OK(PoiseMatSave(A, path));
  if (!CHECK_OK(PoiseMatLoad(ctx, path, &L))) return;
  CHECK_INT(PoiseMatBlockSize(L), 1);
  PoiseErr e = PoiseMatSetFromOptions(L); /* of some rank's rows it may be a divisor */
  CHECK((e == POISE_ERR_SIZE || e == POISE_ERR_REMOTE) &&
        strstr(PoiseErrorMessage(), "block size 3 does not divide the "));
  PoiseMatDestroy(&L);
  RemoveFile(ctx, path);
  SharedName(ctx, path, "no/such/folder.petsc");
  CHECK_ERR_OF(PoiseMatSave(A, path), PoiseRank(ctx) == 0, POISE_ERR_FILE, "no/such/folder");
  PoiseInt row = A->rows->begin;
  CHECK_OK(A->rows->n ? PoiseMatSetEntries(A, 1, &row, &row, &(double){NAN}) : POISE_OK);
  CHECK_OK(PoiseMatAssemble(A));
  SharedName(ctx, path, "c.mtx");
  e = PoiseMatSave(A, path);
  CHECK((e == POISE_ERR_NUMERIC || e == POISE_ERR_REMOTE) && strstr(PoiseErrorMessage(), "is nan"));
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

typedef struct Saved {
  PoiseMat A;
  const char *path;
} Saved;

static PoiseErr SaveAndLoad(PoiseContext ctx, void *arg)
{
  const Saved *s = arg;
  PoiseMat L = NULL;
  PoiseErr e = PoiseMatSave(s->A, s->path);
  if (!e) e = PoiseMatLoad(ctx, s->path, &L);
  if (!e) e = PoiseMatSetFromOptions(L);
  PoiseMatDestroy(&L);
  return e;
}

static void TestFileMemory(PoiseContext ctx)
{
  char path[PATH], info[PATH];
  PoiseMat A, B;
  if (!MakePair(ctx, 2, 8, 8, 30, &A, &B)) return;
  CHECK_OK(PoiseOptionsSetString(ctx, "-mat_type bcsr -mat_block_size 2"));
  SharedName(ctx, path, "d.petsc");
  SharedName(ctx, info, "d.petsc.info");
  TestAllocationFailures(ctx, SaveAndLoad, &(Saved){A, path});
  RemoveFile(ctx, path);
  RemoveFile(ctx, info);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* ---- other layouts and orders ---------------------------------------------------------------- */

/* A chain of nodes whose numbers are far apart, with heavy rows at the one end: symmetric and dominant. */
static bool MakeChain(PoiseContext ctx, int b, PoiseInt nodes, const char *type, double factor, PoiseMat *A)
{
  List l = {.b = b, .M = nodes, .N = nodes};
  double v[32 * 32];
  PoiseInt begin, m, rows[32], cols[32];
  PoiseSplit(ctx, nodes, &begin, &m);
  if (!CHECK_OK(CreateEmpty(ctx, &l, type, A))) return false;
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = 0; j < nodes; j++) {
      PoiseInt step = llabs((long long)(i * 7 % nodes - j * 7 % nodes));
      if (step > 1 && !(i < 5 && j < 5)) continue;
      for (int r = 0; r < b; r++)
        for (int c = 0; c < b; c++) {
          PoiseInt low = i * b + r, high = j * b + c;
          if (low > high) low = j * b + c, high = i * b + r;
          rows[r] = i * b + r, cols[c] = j * b + c;
          v[r * b + c] = factor * (low == high ? 16.0 * b : TestRandom(51, (uint64_t)(low * 5003 + high)));
        }
      CHECK_OK(PoiseMatAddBlock(*A, b, rows, b, cols, v));
    }
  return CHECK_OK(PoiseMatAssemble(*A));
}

/* B = P A P^T by products. */
static void CheckMoved(PoiseMat A, PoiseMat B, PoiseMat P)
{
  PoiseVec x, y, u, v, back;
  double norm = NAN;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseMatCreateVecs(B, &u, &v)) ||
      !CHECK_OK(PoiseVecDuplicate(y, &back)))
    return;
  SampleFill(x, 8);
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseMatMult(P, x, u));
  CHECK_OK(PoiseMatMult(B, u, v));
  CHECK_OK(PoiseMatMultTranspose(P, v, back));
  CHECK_OK(PoiseVecAXPY(back, -1, y));
  CHECK_OK(PoiseVecNorm(back, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, 0, 1e-11);
  PoiseVec *all[] = {&x, &y, &u, &v, &back};
  for (int k = 0; k < 5; k++) PoiseVecDestroy(all[k]);
}

static PoisePartition LastPartition(PoiseMat A) /* without METIS there is one less */
{
  return PoiseMatSetPartition(A, POISE_PARTITION_GRAPH) ? POISE_PARTITION_BYTES : POISE_PARTITION_GRAPH;
}

static void TestRearranged(PoiseContext ctx)
{
  for (int k = 0; k < SIZES; k++) {
    PoiseMat A, B, C, D, P, Q;
    if (!MakeChain(ctx, sizes[k], 33, "bcsr", 1, &A) || !MakeChain(ctx, sizes[k], 33, "csr", 1, &B)) return;
    for (PoisePartition p = POISE_PARTITION_ROWS; p <= LastPartition(A); p++)
      for (PoiseOrder o = POISE_ORDER_NATURAL; o <= POISE_ORDER_RCM; o++) {
        for (int t = 0; t < 2; t++) {
          CHECK_OK(PoiseMatSetPartition(t ? B : A, p));
          CHECK_OK(PoiseMatSetOrder(t ? B : A, o));
        }
        if (!CHECK_OK(PoiseMatRearrange(A, &C, &P)) || !CHECK_OK(PoiseMatRearrange(B, &D, &Q))) return;
        CHECK(C->type->blocked && PoiseMatBlockSize(C) == sizes[k]);
        CheckMoved(A, C, P);
        if (p < POISE_PARTITION_BYTES) SameBlocks(C, D); /* which blocks weigh less in */
        PoiseMatDestroy(&C);
        PoiseMatDestroy(&D);
        PoiseMatDestroy(&P);
        PoiseMatDestroy(&Q);
      }
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
}

/* A solver that works on a rearranged copy, which follows new values, finds what CSR's finds. */
static void TestArrangedSolve(PoiseContext ctx)
{
  static const int some[] = {2, 3, 8};
  for (int k = 0; k < 3; k++) {
    PoiseMat A[2];
    PoiseVec x[2], b;
    double norm = NAN, size = NAN;
    if (!MakeChain(ctx, some[k], 60, "bcsr", 1, &A[0]) || !MakeChain(ctx, some[k], 60, "csr", 1, &A[1]) ||
        !CHECK_OK(PoiseMatCreateVecs(A[0], &x[0], &b)) || !CHECK_OK(PoiseVecDuplicate(b, &x[1])))
      return;
    SampleFill(b, 9);
    for (int t = 0; t < 2; t++) {
      PoiseKSP ksp;
      PoisePC pc;
      CHECK_OK(PoiseMatSetPartition(A[t], LastPartition(A[t])));
      CHECK_OK(PoiseMatSetOrder(A[t], POISE_ORDER_RCM));
      if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
      CHECK_OK(PoiseKSPSetType(ksp, "cg"));
      CHECK_OK(PoiseKSPGetPC(ksp, &pc));
      CHECK_OK(PoisePCSetType(pc, "pbjacobi"));
      CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-12, -1, -1, -1));
      CHECK_OK(PoiseKSPSetOperators(ksp, A[t], NULL));
      for (int again = 0; again < 2; again++) {
        CHECK_OK(PoiseKSPSolve(ksp, b, x[t]));
        CHECK(PoiseKSPConvergedReason(ksp) > 0);
        if (!again) CHECK_OK(PoiseMatScale(A[t], 2));
      }
      PoiseKSPDestroy(&ksp);
    }
    CHECK_OK(PoiseVecNorm(x[1], POISE_NORM_INF, &size));
    CHECK_OK(PoiseVecAXPY(x[0], -1, x[1]));
    CHECK_OK(PoiseVecNorm(x[0], POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, 1e-10 * size);
    for (int t = 0; t < 2; t++) {
      PoiseMatDestroy(&A[t]);
      PoiseVecDestroy(&x[t]);
    }
    PoiseVecDestroy(&b);
  }
}

/* Blocks are not taken apart for a matrix of other nodes. */
static void TestArrangeErrors(PoiseContext ctx)
{
  PoiseMat A, P;
  PoiseVec x, b;
  PoiseKSP ksp;
  if (!MakeChain(ctx, 3, 20, "csr", 1, &A) || !MakeChain(ctx, 3, 20, "bcsr", 1, &P) ||
      !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp)))
    return;
  SampleFill(b, 9);
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_RCM));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, P));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK_OK(PoiseMatSetBlockSize(A, 1));
  CHECK_ERR(PoiseKSPSolve(ksp, b, x), POISE_ERR_UNSUPPORTED, "blocks of 3 x 3 cannot be rearranged");
  PoiseKSPDestroy(&ksp);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&P);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
}

static PoiseErr Rearrange(PoiseContext ctx, void *arg)
{
  PoiseMat B = NULL, P = NULL;
  (void)ctx;
  PoiseErr e = PoiseMatRearrange(*(PoiseMat *)arg, &B, &P);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&P);
  return e;
}

static void TestArrangeMemory(PoiseContext ctx)
{
  PoiseMat A;
  if (!MakeChain(ctx, 2, 20, "bcsr", 1, &A)) return;
  CHECK_OK(PoiseMatSetPartition(A, POISE_PARTITION_NONZEROS));
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_RCM));
  TestAllocationFailures(ctx, Rearrange, &A);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {{"triplets", TestTriplets, 0},
                             {"holes", TestHoles, 0},
                             {"few", TestFew, 0},
                             {"elements", TestElements, 0},
                             {"mixed", TestMixed, 0},
                             {"triplet_errors", TestTripletErrors, 0},
                             {"triplet_memory", TestTripletMemory, 0},
                             {"fills", TestFills, 0},
                             {"found", TestFound, 0},
                             {"found_triplets", TestFoundTriplets, 0},
                             {"found_memory", TestFoundMemory, 0},
                             {"copies", TestCopies, 0},
                             {"symmetric", TestSymmetric, 0},
                             {"options_stay", TestOptionsStay, 0},
                             {"sums", TestSums, 0},
                             {"sum_errors", TestSumErrors, 0},
                             {"rows", TestRows, 0},
                             {"copy_memory", TestCopyMemory, 0},
                             {"new_values", TestNewValues, 0},
                             {"device_arrays", TestDeviceArrays, 0},
                             {"device_array_errors", TestDeviceArrayErrors, TEST_SERIAL},
                             {"adopt_failures", TestAdoptFailures, TEST_SERIAL},
                             {"files", TestFiles, 0},
                             {"files_beside", TestFilesBeside, 0},
                             {"files_found", TestFilesFound, 0},
                             {"file_errors", TestFileErrors, 0},
                             {"file_memory", TestFileMemory, 0},
                             {"rearranged", TestRearranged, 0},
                             {"arranged_solve", TestArrangedSolve, 0},
                             {"arrange_errors", TestArrangeErrors, 0},
                             {"arrange_memory", TestArrangeMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "bcsr_conversions", tests);
}

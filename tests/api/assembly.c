/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries given by any rank, in every way, become the dense matrix that the same loop makes. */
#include "api.h"

static const char *const types[] = {"csr", "csri", "seg", "bcsr"};

/* What rank r adds in round k: entries of any rows, some several times, some twice by different ranks. */
enum { GIVEN = 90 };
static void Given(int r, int round, int N, PoiseInt *rows, PoiseInt *cols, double *v)
{
  for (int k = 0; k < GIVEN; k++) {
    uint64_t at = (uint64_t)(r * 1000 + k);
    rows[k] = (PoiseInt)((Random(50, at) + 1) / 2 * N);
    cols[k] = (PoiseInt)((Random(51, at) + 1) / 2 * N);
    if (k % 11 == 3) rows[k] = rows[k - 1], cols[k] = cols[k - 1];
    if (k % 17 == 5) rows[k] = -1;
    if (k % 19 == 6) cols[k] = -2;
    v[k] = Random(52 + (uint64_t)round, at);
  }
}

static void AddGiven(Dense *D, int r, int round)
{
  PoiseInt rows[GIVEN], cols[GIVEN];
  double v[GIVEN];
  Given(r, round, D->m, rows, cols, v);
  for (int k = 0; k < GIVEN; k++)
    if (rows[k] >= 0 && cols[k] >= 0)
      DenseSet(D, (int)rows[k], (int)cols[k], D->a[rows[k] * D->n + cols[k]] + v[k]);
}

static PoiseMat Empty(PoiseContext ctx, int N, int b, int layout)
{
  PoiseMat A = NULL;
  PoiseInt m = Share(ctx, N, b, layout);
  CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A));
  if (b > 1) CHECK_OK(PoiseMatSetBlockSize(A, b));
  return A;
}

static void Equal(PoiseMat A, const Dense *D)
{
  MatIs(A, D, 1e-14);
  MatWorks(A, D);
}

/* Values by any rank, again with others, on zeros, beyond the pattern. */
static void TestValues(PoiseContext ctx)
{
  int N = 24, size = PoiseSize(ctx), rank = PoiseRank(ctx);
  for (int way = 0; way < 12; way++) {
    int b = way % 4 == 3 ? 2 : 1;
    Dense D = DenseNew(N, N);
    PoiseInt rows[GIVEN], cols[GIVEN];
    double v[GIVEN];
    PoiseMat A = Empty(ctx, N, b, way / 4);
    ApiCase("%s, layout %d", types[way % 4], way / 4);
    CHECK_OK(PoiseMatSetType(A, types[way % 4]));
    for (int round = 0; round < 3; round++) {
      int last = round < 2 ? size : 1; /* at last rank 0 alone */
      Given(rank, round, N, rows, cols, v);
      if (rank < last) CHECK_OK(PoiseMatAddEntries(A, GIVEN, rows, cols, v));
      CHECK_OK(PoiseMatAssemble(A));
      for (int r = 0; r < last; r++) AddGiven(&D, r, round);
      Equal(A, &D);
    }
    CHECK_OK(PoiseMatZeroEntries(A));
    memset(D.a, 0, (size_t)(N * N) * sizeof *D.a);
    Equal(A, &D);
    /* new entries */
    CHECK_OK(PoiseMatAddEntries(A, 1, &(PoiseInt){N - 1}, &(PoiseInt){rank}, &(double){rank + 1}));
    CHECK_OK(PoiseMatAssemble(A));
    for (int r = 0; r < size; r++) DenseSet(&D, N - 1, r, r + 1);
    Equal(A, &D);
    CHECK_OK(PoiseMatSetEntries(A, 1, &(PoiseInt){rank}, &(PoiseInt){N - 1}, &(double){rank - 7}));
    CHECK_OK(PoiseMatSetEntries(A, 1, &(PoiseInt){N - 1}, &(PoiseInt){rank}, &(double){5}));
    CHECK_OK(PoiseMatAssemble(A));
    for (int r = 0; r < size; r++) DenseSet(&D, r, N - 1, r - 7), DenseSet(&D, N - 1, r, 5);
    Equal(A, &D);
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

/* Dense blocks of elements, also by numbers of the rank's own. */
static void TestBlocks(PoiseContext ctx)
{
  int N = 21, size = PoiseSize(ctx), rank = PoiseRank(ctx);
  for (int local = 0; local < 2; local++)
    for (int set = 0; set < 2; set++) {
      Dense D = DenseNew(N, N);
      PoiseMat A = Empty(ctx, N, 1, local);
      PoiseInt map[21], turned[21];
      ApiCase("local %d, set %d", local, set);
      for (int i = 0; i < N; i++) map[i] = (i + 5 * rank) % N, turned[i] = N - 1 - map[i];
      CHECK_OK(PoiseMatSetLocalToGlobal(A, N, map, N, turned));
      for (int e = 0; e < 12; e++)
        for (int r = 0; r < size; r++) {
          PoiseInt rows[3], cols[4], to[3], toc[4];
          double v[12];
          for (int i = 0; i < 3; i++) {
            rows[i] = e == 4 && i == 1 ? -1 : (e * 3 + i * 2) % N;
            to[i] = rows[i] < 0 || !local ? rows[i] : (rows[i] + 5 * r) % N;
          }
          for (int j = 0; j < 4; j++) {
            cols[j] = e == 7 && j == 2 ? -1 : (e + j * 5) % N;
            toc[j] = cols[j] < 0 || !local ? cols[j] : N - 1 - (cols[j] + 5 * r) % N;
          }
          for (int k = 0; k < 12; k++) {
            PoiseInt i = to[k / 4], j = toc[k % 4];
            /* all set the same */
            v[k] = set ? (double)(i * N + j) : Random(70, (uint64_t)(e * 100 + r * 20 + k));
            if (i >= 0 && j >= 0) DenseSet(&D, (int)i, (int)j, set ? v[k] : D.a[i * N + j] + v[k]);
          }
          if (r != rank) continue;
          if (local)
            CHECK_OK((set ? PoiseMatSetBlockLocal : PoiseMatAddBlockLocal)(A, 3, rows, 4, cols, v));
          else
            CHECK_OK((set ? PoiseMatSetBlock : PoiseMatAddBlock)(A, 3, rows, 4, cols, v));
        }
      CHECK_OK(PoiseMatAssemble(A));
      Equal(A, &D);
      CHECK_OK(PoiseMatDestroy(&A));
      DenseFree(&D);
    }
}

/* Entries of full blocks become blocks where type auto is asked for, and else stay CSR. */
static void TestNoBlocksUnasked(PoiseContext ctx)
{
  enum { N = 24 };
  double full[9] = {4, 1, 1, 1, 4, 1, 1, 1, 4};
  for (int asked = 0; asked < 2; asked++) {
    Dense D = DenseNew(N, N);
    PoiseMat A = Empty(ctx, N, 3, 0);
    ApiCase("asked %d", asked);
    if (asked) CHECK_OK(PoiseMatSetType(A, "auto"));
    for (int at = 0; at < N; at += 3) {
      PoiseInt rows[3] = {at, at + 1, at + 2};
      if (!PoiseRank(ctx)) CHECK_OK(PoiseMatAddBlock(A, 3, rows, 3, rows, full));
      for (int k = 0; k < 9; k++) DenseSet(&D, at + k / 3, at + k % 3, full[k]);
    }
    CHECK_OK(PoiseMatAssemble(A));
    CHECK((strcmp(PoiseMatType(A), "bcsr") == 0) == asked);
    Equal(A, &D);
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

/* Triplets: a plan, and values as often as wanted. */
static void TestTriplets(PoiseContext ctx)
{
  int N = 20, size = PoiseSize(ctx), rank = PoiseRank(ctx);
  for (int way = 0; way < 12; way++) {
    int b = way % 4 == 3 ? 2 : 1;
    PoiseInt rows[GIVEN], cols[GIVEN];
    double v[GIVEN];
    Dense D = DenseNew(N, N);
    PoiseMat A = Empty(ctx, N, b, way / 4);
    ApiCase("%s, layout %d", types[way % 4], way / 4);
    CHECK_OK(PoiseMatSetType(A, types[way % 4]));
    Given(rank, 0, N, rows, cols, v);
    CHECK_OK(PoiseMatSetPatternCOO(A, GIVEN, rows, cols));
    for (int r = 0; r < size; r++) AddGiven(&D, r, 0);
    memset(D.a, 0, (size_t)(N * N) * sizeof *D.a);
    MatIs(A, &D, 0);
    for (int round = 0; round < 3; round++) {
      Given(rank, round, N, rows, cols, v);
      for (int r = 0; r < size; r++) AddGiven(&D, r, round);
      CHECK_OK((round ? PoiseMatAddValuesCOO : PoiseMatSetValuesCOO)(A, v));
      Equal(A, &D);
    }
    CHECK_OK(PoiseMatSetValuesCOO(A, v)); /* forgets what was there */
    memset(D.a, 0, (size_t)(N * N) * sizeof *D.a);
    for (int r = 0; r < size; r++) AddGiven(&D, r, 2);
    Equal(A, &D);
    CHECK_OK(PoiseMatAddEntries(A, 1, &(PoiseInt){N - 1}, &(PoiseInt){N - 1}, &(double){1}));
    CHECK_OK(PoiseMatAddEntries(A, 1, &(PoiseInt){N - 2}, &(PoiseInt){0}, &(double){1}));
    CHECK_OK(PoiseMatAssemble(A));
    D.a[N * N - 1] += size, D.a[(N - 2) * N] += size;
    bool grew = !D.has[N * N - 1] || !D.has[(N - 2) * N];
    D.has[N * N - 1] = D.has[(N - 2) * N] = 1;
    Equal(A, &D);
    if (grew && b == 1) CHECK_ERR(PoiseMatSetValuesCOO(A, v), POISE_ERR_STATE, "pattern");
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

/* Triplets of dense blocks, column-major. */
static void TestBlockTriplets(PoiseContext ctx)
{
  static const int sizes[] = {1, 2, 3, 4};
  int size = PoiseSize(ctx), rank = PoiseRank(ctx), nodes = 7;
  for (int way = 0; way < 8; way++) {
    int b = sizes[way % 4], N = nodes * b;
    Dense D = DenseNew(N, N);
    PoiseInt rows[20], cols[20];
    double v[20 * 16];
    PoiseMat A = Empty(ctx, N, b, 0);
    ApiCase("b %d, type %s", b, way / 4 ? "bcsr" : "csr");
    CHECK_OK(PoiseMatSetType(A, way / 4 ? "bcsr" : "csr"));
    for (int r = 0; r < size; r++) {
      int mine = r == 1 ? 0 : 20;
      for (int k = 0; k < mine; k++) {
        rows[k] = k == 9 ? -1 : (k * 5 + r) % nodes;
        cols[k] = (k * 3 + 2 * r) % nodes;
        for (int p = 0; p < b; p++)
          for (int q = 0; q < b; q++) {
            double a = Random(80, (uint64_t)(r * 400 + k * 16 + q * b + p));
            v[k * b * b + q * b + p] = a;
            int at = (int)(rows[k] * b + p) * N + (int)cols[k] * b + q;
            if (rows[k] >= 0) D.a[at] += a, D.has[at] = 1;
          }
      }
      if (r == rank) CHECK_OK(PoiseMatSetBlockPatternCOO(A, mine, rows, cols));
      if (r == rank) CHECK_OK(PoiseMatSetValuesCOO(A, v));
    }
    Equal(A, &D);
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

/* Many rows for others, and rows with more entries than come by one. */
static void TestMany(PoiseContext ctx)
{
  int N = 60, rank = PoiseRank(ctx), size = PoiseSize(ctx);
  Dense D = DenseNew(N, N);
  PoiseMat A = Empty(ctx, N, 1, 2);
  for (int r = 0; r < size; r++)
    for (PoiseInt i = N - 1; i >= 0; i--)
      for (PoiseInt j = r; j < N; j += 1 + i % 7) {
        double v = Random(90, (uint64_t)(i * N + j + r * 7777));
        DenseSet(&D, (int)i, (int)j, D.a[i * N + j] + v);
        if (r == rank) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &v));
      }
  CHECK_OK(PoiseMatAssemble(A));
  Equal(A, &D);
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

/* The same calls give the same bits. */
static void TestRepeats(PoiseContext ctx)
{
  int N = 24;
  double *first = NULL;
  for (int run = 0; run < 3; run++) {
    PoiseInt rows[GIVEN], cols[GIVEN], m;
    double v[GIVEN], *val;
    int64_t *ptr, *col;
    PoiseMat A = Empty(ctx, N, 1, 0);
    for (int round = 0; round < 4; round++) {
      Given(PoiseRank(ctx), round, N, rows, cols, v);
      CHECK_OK(PoiseMatAddEntries(A, GIVEN, rows, cols, v));
    }
    CHECK_OK(PoiseMatAssemble(A));
    PoiseMatLocalSizes(A, &m, NULL);
    CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val));
    if (first) CHECK(!memcmp(first, val, (size_t)ptr[m] * sizeof *val));
    if (first)
      free(val);
    else
      first = val;
    free(ptr);
    free(col);
    CHECK_OK(PoiseMatDestroy(&A));
  }
  free(first);
}

const Test assembly_tests[] = {{"values", TestValues},
                               {"blocks", TestBlocks},
                               {"no_blocks_unasked", TestNoBlocksUnasked},
                               {"triplets", TestTriplets},
                               {"block_triplets", TestBlockTriplets},
                               {"many", TestMany},
                               {"repeats", TestRepeats},
                               {NULL, NULL}};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Assembly and changes of matrices against dense arrays that every rank holds. Values are multiples of 1/8, so that sums are
   exact in any order and results can be compared as they are. */
#include "mat/mat.h"
#include "sample.h"

enum { MOST = 41 };

typedef struct Dense {
  PoiseInt M, N;
  double v[MOST][MOST];
  int has[MOST][MOST]; /* is the entry stored? */
} Dense;

static double Eighths(uint64_t seed, uint64_t i)
{
  return (double)(int)(64 * TestRandom(seed, i)) / 8;
}

static PoiseInt Below(PoiseInt n, uint64_t seed, uint64_t i)
{
  return (PoiseInt)((TestRandom(seed, i) + 1) / 2 * (double)n);
}

static Dense *MakeDense(PoiseInt M, PoiseInt N)
{
  Dense *d = calloc(1, sizeof *d);
  d->M = M, d->N = N;
  return d;
}

/* A holds exactly the entries of d. */
static int Same(PoiseMat A, const Dense *d)
{
  int64_t *ptr, *col, wrong = 0;
  double *val;
  PoiseInt m;
  PoiseMatLocalSizes(A, &m, NULL);
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return 0;
  for (PoiseInt i = 0; i < m; i++) {
    PoiseInt row = A->rows->begin + i, stored = 0;
    for (PoiseInt j = 0; j < d->N; j++) stored += d->has[row][j];
    wrong += stored != ptr[i + 1] - ptr[i];
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      wrong += !d->has[row][col[k]] || val[k] != d->v[row][col[k]] || (k > ptr[i] && col[k] <= col[k - 1]);
  }
  free(ptr), free(col), free(val);
  return CHECK_INT(wrong, 0);
}

static PoiseErr Empty(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N, PoiseMat *A)
{
  return PoiseMatCreate(ctx, SampleLocal(ctx, layout, M), SampleLocal(ctx, (layout + 1) % NLAYOUTS, N), M, N, A);
}

static PoiseErr EmptySquare(PoiseContext ctx, int layout, PoiseInt N, PoiseMat *A)
{
  return PoiseMatCreate(ctx, SampleLocal(ctx, layout, N), SampleLocal(ctx, layout, N), N, N, A);
}

typedef void (*Check)(PoiseContext, int layout, PoiseInt M, PoiseInt N);

static void ForAll(PoiseContext ctx, Check check)
{
  static const PoiseInt sizes[][2] = {{0, 0}, {1, 1}, {0, 5}, {7, 0}, {3, MOST}, {MOST, 2}, {MOST, MOST - 8}, {MOST, MOST}};
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) check(ctx, layout, sizes[k][0], sizes[k][1]);
}

/* ---- entries and blocks --------------------------------------------------------------------------------------------- */

enum { ADDS, SETS };
enum { NR = 3, NC = 4, BLOCKS = 60 };

typedef struct Block {
  PoiseInt rows[NR], cols[NC];
  double v[NR * NC];
} Block;

/* Block e of a round: some indices negative. What is set depends on the entry alone, so it is the same from every rank. */
static Block MakeBlock(const Dense *d, int how, int round, int e)
{
  Block b;
  uint64_t seed = 40 + (uint64_t)round, at = (uint64_t)e * 32;
  for (int i = 0; i < NR; i++) b.rows[i] = e % 7 == i ? -1 - i : Below(d->M, seed, at + (uint64_t)i);
  for (int j = 0; j < NC; j++) b.cols[j] = e % 11 == j ? -5 : Below(d->N, seed, at + 8 + (uint64_t)j);
  for (int i = 0; i < NR; i++)
    for (int j = 0; j < NC; j++)
      b.v[NC * i + j] = how == ADDS ? Eighths(seed, at + 16 + (uint64_t)(NC * i + j))
                                    : Eighths(seed, (uint64_t)(b.rows[i] * MOST + b.cols[j] + 100000));
  return b;
}

static void ApplyBlock(Dense *d, int how, const Block *b)
{
  for (int i = 0; i < NR; i++)
    for (int j = 0; j < NC; j++) {
      if (b->rows[i] < 0 || b->cols[j] < 0) continue;
      double *v = &d->v[b->rows[i]][b->cols[j]];
      *v = how == ADDS ? *v + b->v[NC * i + j] : b->v[NC * i + j];
      d->has[b->rows[i]][b->cols[j]] = 1;
    }
}

/* Give a block as a block, row by row, or entry by entry. */
static PoiseErr GiveBlock(PoiseMat A, int how, int kind, const Block *b)
{
  if (kind == 0)
    return how == ADDS ? PoiseMatAddBlock(A, NR, b->rows, NC, b->cols, b->v)
                       : PoiseMatSetBlock(A, NR, b->rows, NC, b->cols, b->v);
  for (int i = 0; i < NR; i++) {
    PoiseInt row[NC] = {b->rows[i], b->rows[i], b->rows[i], b->rows[i]};
    const double *v = b->v + (size_t)NC * (size_t)i;
    if (kind == 1)
      POISE_TRY(how == ADDS ? PoiseMatAddBlock(A, 1, row, NC, b->cols, v) : PoiseMatSetBlock(A, 1, row, NC, b->cols, v));
    else
      POISE_TRY(how == ADDS ? PoiseMatAddValues(A, NC, row, b->cols, v) : PoiseMatSetValues(A, NC, row, b->cols, v));
  }
  return POISE_OK;
}

/* The ranks share the blocks of a round; d gets them all. */
static void Round(PoiseMat A, Dense *d, int how, int round)
{
  PoiseContext ctx = PoiseMatContext(A);
  for (int e = 0; e < BLOCKS && d->M && d->N; e++) {
    Block b = MakeBlock(d, how, round, e);
    ApplyBlock(d, how, &b);
    if (e % PoiseSize(ctx) == PoiseRank(ctx)) CHECK_OK(GiveBlock(A, how, e % 3, &b));
  }
}

static void Rounds(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  static const int how[] = {SETS, ADDS, SETS, SETS, ADDS, ADDS};
  Dense *d = MakeDense(M, N);
  PoiseMat A;
  if (!CHECK_OK(Empty(ctx, layout, M, N, &A))) return;
  for (int round = 0; round < 6; round++) {
    int64_t state = A->state;
    Round(A, d, how[round], round);
    CHECK_OK(PoiseMatAssemble(A));
    CHECK(A->state > state);
    Same(A, d);
  }
  int64_t pattern = A->pattern;
  Round(A, d, SETS, 2); /* nothing new */
  CHECK_OK(PoiseMatAssemble(A));
  CHECK(A->pattern == pattern && Same(A, d));
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static void TestRounds(PoiseContext ctx)
{
  ForAll(ctx, Rounds);
}

/* Of one rank's values for an entry the last one stays, whether the pattern has it or not, and whoever owns it. */
static void TestLastStays(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Dense *d = MakeDense(MOST, MOST);
  PoiseMat A;
  if (!CHECK_OK(EmptySquare(ctx, EVEN, MOST, &A))) return;
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < 3000; k++) {
      PoiseInt i = Below(MOST, 50, (uint64_t)k), j = Below(MOST, 51, (uint64_t)k);
      double v = k + 10000 * round;
      d->v[i][j] = v, d->has[i][j] = 1;
      if (last) CHECK_OK(PoiseMatSetValues(A, 1, &i, &j, &v));
    }
    CHECK_OK(PoiseMatAssemble(A));
    Same(A, d);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

/* A row that is long, added to backwards and over and over. */
static void TestLongRow(PoiseContext ctx)
{
  enum { N = 3000, TIMES = 5 };
  int64_t *ptr, *col, wrong = 0;
  double *val;
  PoiseInt row = 3, m;
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 9, N, &A))) return;
  for (int t = 0; t < TIMES; t++)
    for (PoiseInt k = N - 1; k >= 0; k--) {
      PoiseInt j = t % 2 ? k : (k * 1999) % N; /* 1999 and N have no common divisor */
      double v = (double)j / 8;
      CHECK_OK(PoiseMatAddValues(A, 1, &row, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  PoiseMatLocalSizes(A, &m, NULL);
  if (CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) {
    for (int64_t k = 0; k < ptr[m]; k++) wrong += col[k] != k || val[k] != (double)k / 8 * TIMES * PoiseSize(ctx);
    CHECK_INT(wrong, 0);
    CHECK_INT(ptr[m], row >= A->rows->begin && row < A->rows->begin + m ? N : 0);
    free(ptr), free(col), free(val);
  }
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- numbers of the rank's own -------------------------------------------------------------------------------------- */

typedef struct Numbers {
  PoiseInt nr, nc, rows[MOST], cols[MOST];
} Numbers;

/* Rank r numbers every second row, backwards, and some columns more than once; a few are to be ignored. */
static Numbers MakeNumbers(int r, PoiseInt M, PoiseInt N)
{
  Numbers n = {.nr = M / 2, .nc = N / 2};
  for (PoiseInt k = 0; k < n.nr; k++) n.rows[k] = k % 5 == 4 ? -2 : M - 1 - (2 * k + r) % M;
  for (PoiseInt k = 0; k < n.nc; k++) n.cols[k] = k % 5 == 3 ? -1 : (3 * k + r) % N;
  return n;
}

static double LocalValue(int how, const Numbers *n, PoiseInt i, PoiseInt j)
{
  return how == ADDS ? 1 + (double)j / 8 : Eighths(60, (uint64_t)(n->rows[i] * MOST + n->cols[j] + 1000));
}

static void ApplyLocal(Dense *d, double *sum, int how, const Numbers *n)
{
  for (PoiseInt i = 0; i < n->nr; i++)
    for (PoiseInt j = 0; j < n->nc; j++) {
      if (n->rows[i] < 0 || n->cols[j] < 0) continue;
      double *to = &d->v[n->rows[i]][n->cols[j]], v = LocalValue(how, n, i, j);
      *to = how == ADDS ? *to + v : v;
      d->has[n->rows[i]][n->cols[j]] = 1;
    }
  for (PoiseInt i = 0; i < n->nr; i++)
    if (n->rows[i] >= 0) sum[n->rows[i]] = how == ADDS ? sum[n->rows[i]] + 0.5 : 7 + (double)n->rows[i];
}

static void GiveLocal(PoiseMat A, PoiseVec x, int how, const Numbers *n)
{
  for (PoiseInt i = 0; i < n->nr; i++) {
    PoiseInt index[MOST + 1];
    double v[MOST + 1], xi = how == ADDS ? 0.5 : 7 + (double)n->rows[i];
    for (PoiseInt j = 0; j < n->nc; j++) index[j] = j, v[j] = LocalValue(how, n, i, j);
    index[n->nc] = -4, v[n->nc] = NAN;
    CHECK_OK(how == ADDS ? PoiseMatAddBlockLocal(A, 1, &i, (int)n->nc + 1, index, v)
                         : PoiseMatSetBlockLocal(A, 1, &i, (int)n->nc + 1, index, v));
    CHECK_OK(how == ADDS ? PoiseVecAddValuesLocal(x, 1, &i, &xi) : PoiseVecSetValuesLocal(x, 1, &i, &xi));
  }
}

static int SameVec(PoiseVec x, const double *v)
{
  const double *p;
  PoiseInt begin, end, wrong = 0;
  PoiseVecRange(x, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(x, &p))) return 0;
  for (PoiseInt i = begin; i < end; i++) wrong += !(p[i - begin] == v[i]);
  CHECK_OK(PoiseVecRestore(x, &p));
  return CHECK_INT(wrong, 0);
}

static void Local(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  Dense *d = MakeDense(M, N);
  PoiseMat A;
  PoiseVec x;
  double sum[MOST] = {0};
  Numbers mine = MakeNumbers(PoiseRank(ctx), M, N);
  if (!CHECK_OK(Empty(ctx, layout, M, N, &A)) || !CHECK_OK(SampleVec(ctx, layout, M, &x))) return;
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseMatSetLocalToGlobal(A, mine.nr, mine.rows, mine.nc, mine.cols));
  CHECK_OK(PoiseVecSetLocalToGlobal(x, mine.nr, mine.rows));
  for (int how = 0; how < 2; how++) {
    for (int r = 0; r < PoiseSize(ctx); r++) {
      Numbers n = MakeNumbers(r, M, N);
      ApplyLocal(d, sum, how, &n);
    }
    GiveLocal(A, x, how, &mine);
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseVecAssemble(x));
    Same(A, d);
    SameVec(x, sum);
  }
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static void TestLocal(PoiseContext ctx)
{
  ForAll(ctx, Local);
}

static void TestLocalErrors(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  PoiseInt map[3] = {2, 0, last ? 10 : 9}, i = 3, zero = 0;
  double v = 1;
  PoiseMat A;
  PoiseVec x;
  if (!CHECK_OK(EmptySquare(ctx, EVEN, 10, &A)) || !CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x))) return;
  CHECK_ERR(PoiseMatAddBlockLocal(A, 1, &i, 1, &i, &v), POISE_ERR_STATE, "no local-to-global map of rows");
  CHECK_ERR(PoiseVecSetValuesLocal(x, 1, &i, &v), POISE_ERR_STATE, "no local-to-global map of rows");
  CHECK_ERR_OF(PoiseMatSetLocalToGlobal(A, 3, map, 3, map), last, POISE_ERR_ARG, "map's row 2 is 10, there are 10");
  CHECK_ERR_OF(PoiseVecSetLocalToGlobal(x, 3, map), last, POISE_ERR_ARG, "map's row 2 is 10, there are 10");
  CHECK_ERR(PoiseVecSetLocalToGlobal(x, -1, map), POISE_ERR_ARG, "map of -1 rows");
  map[2] = 9;
  CHECK_OK(PoiseMatSetLocalToGlobal(A, 3, map, 2, map));
  CHECK_OK(PoiseVecSetLocalToGlobal(x, 3, map));
  CHECK_ERR(PoiseMatSetBlockLocal(A, 1, &i, 1, &zero, &v), POISE_ERR_ARG, "local row 3, the local-to-global map has 3");
  i = 2;
  CHECK_ERR(PoiseMatSetBlockLocal(A, 1, &i, 1, &i, &v), POISE_ERR_ARG, "local column 2, the local-to-global map has 2");
  i = 3;
  CHECK_ERR(PoiseVecAddValuesLocal(x, 1, &i, &v), POISE_ERR_ARG, "local row 3, the local-to-global map has 3");
  CHECK_ERR(PoiseMatAssemble(A), POISE_ERR_STATE, "no local-to-global map of rows"); /* the first that failed */
  CHECK_ERR(PoiseVecAssemble(x), POISE_ERR_STATE, "no local-to-global map of rows");
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseVecAssemble(x));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseVecDestroy(&x));
}

/* ---- calls that fail ------------------------------------------------------------------------------------------------ */

/* One rank fails while adding and goes on; all hear of it where they meet, and nothing else is lost. */
static void TestKept(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = PoiseRank(ctx) == size - 1;
  PoiseInt good[2] = {0, 9}, bad[2] = {1, 10};
  double v[4] = {1, 2, 3, 4};
  Dense *d = MakeDense(10, 10);
  PoiseMat A;
  PoiseVec x;
  if (!CHECK_OK(EmptySquare(ctx, EVEN, 10, &A)) || !CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x))) return;
  for (int round = 1; round <= 2; round++) { /* into a new pattern, then into the old one */
    CHECK_OK(PoiseMatAddBlock(A, 2, good, 2, good, v));
    CHECK_OK(PoiseVecAddValues(x, 2, good, v));
    if (last) {
      CHECK_ERR(PoiseMatAddBlock(A, 2, good, 2, bad, v), POISE_ERR_ARG, "column 10 of a matrix of 10 columns");
      CHECK_ERR(PoiseMatSetValues(A, 1, good, good, v), POISE_ERR_STATE, "without PoiseMatAssemble between");
      CHECK_ERR(PoiseMatAddBlock(A, -2, good, 2, bad, v), POISE_ERR_ARG, "-2 rows");
      CHECK_ERR(PoiseVecAddValues(x, 2, bad, v), POISE_ERR_ARG, "row 10");
    }
    CHECK_ERR_OF(PoiseMatAssemble(A), last, POISE_ERR_ARG, "column 10 of a matrix of 10 columns");
    CHECK_ERR_OF(PoiseVecAssemble(x), last, POISE_ERR_ARG, "row 10 of a vector of 10 rows");
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseVecAssemble(x));
    for (int k = 0; k < 4; k++) {
      d->v[good[k / 2]][good[k % 2]] = round * size * v[k];
      d->has[good[k / 2]][good[k % 2]] = 1;
    }
    Same(A, d);
    SameVec(x, (double[10]){[0] = round * size, [9] = 2 * round * size});
  }
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseVecDestroy(&x));
  free(d);
}

static void TestMixed(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = PoiseRank(ctx) == size - 1;
  PoiseInt i = 4;
  double v = 1;
  Dense *d = MakeDense(10, 10);
  PoiseMat A;
  if (!CHECK_OK(EmptySquare(ctx, EVEN, 10, &A))) return;
  CHECK_OK(PoiseMatAddValues(A, 1, &i, &i, &v));
  CHECK_ERR(PoiseMatSetBlock(A, 1, &i, 1, &i, &v), POISE_ERR_STATE, "added and set without PoiseMatAssemble");
  CHECK_OK(PoiseMatZeroEntries(A)); /* forgets what is pending */
  CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, &i, &v));
  CHECK_ERR(PoiseMatAssemble(A), POISE_ERR_STATE, "added and set without PoiseMatAssemble"); /* kept */
  CHECK_OK(PoiseMatAssemble(A));
  d->v[4][4] = d->has[4][4] = 1;
  Same(A, d);
  if (size > 1) {
    i = 5;
    CHECK_OK(last ? PoiseMatAddValues(A, 1, &i, &i, &v) : PoiseMatSetValues(A, 1, &i, &i, &v));
    CHECK_ERR(PoiseMatAssemble(A), POISE_ERR_STATE, "added on one rank and set on another");
    CHECK_OK(PoiseMatAssemble(A)); /* what was pending is dropped */
    Same(A, d);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

/* ---- triplets ------------------------------------------------------------------------------------------------------- */

typedef struct List { /* the triplets that rank r gives */
  PoiseInt n, *rows, *cols;
  double *v;
} List;

enum { BACKWARDS = 1, SORTED_ONCE = 2 };

static List MakeList(int r, PoiseInt M, PoiseInt N, int kind, int round)
{
  PoiseInt n = r % 3 == 1 ? 0 : kind == SORTED_ONCE ? (r ? 0 : M * N) : M && N ? 700 : 3;
  List l = {n, malloc((size_t)n * 8 + 1), malloc((size_t)n * 8 + 1), malloc((size_t)n * 8 + 1)};
  for (PoiseInt k = 0; k < n; k++) {
    PoiseInt at = kind == BACKWARDS ? n - 1 - k : k;
    l.rows[k] = kind == SORTED_ONCE ? k / N : k % 17 == 3 || !M ? -3 : Below(M, 80, (uint64_t)(at + 10000 * r));
    l.cols[k] = kind == SORTED_ONCE ? k % N : k % 19 == 4 || !N ? -1 : Below(N, 81, (uint64_t)(at + 10000 * r));
    l.v[k] = Eighths(82 + (uint64_t)round, (uint64_t)(at + 10000 * r));
  }
  return l;
}

static void FreeList(List *l)
{
  free(l->rows), free(l->cols), free(l->v);
}

static void ApplyList(Dense *d, const List *l)
{
  for (PoiseInt k = 0; k < l->n; k++) {
    if (l->rows[k] < 0 || l->cols[k] < 0) continue;
    d->v[l->rows[k]][l->cols[k]] += l->v[k];
    d->has[l->rows[k]][l->cols[k]] = 1;
  }
}

static void ApplyLists(PoiseContext ctx, Dense *d, int kind, int round)
{
  for (int r = 0; r < PoiseSize(ctx); r++) {
    List l = MakeList(r, d->M, d->N, kind, round);
    ApplyList(d, &l);
    FreeList(&l);
  }
}

static void Listed(PoiseContext ctx, PoiseMat A, PoiseInt M, PoiseInt N, int kind)
{
  Dense *d = MakeDense(M, N), *zero;
  List l = MakeList(PoiseRank(ctx), M, N, kind, 0);
  int64_t pattern = A->pattern;
  CHECK_OK(PoiseMatSetPatternCOO(A, l.n, l.rows, l.cols));
  CHECK(A->pattern > pattern);
  pattern = A->pattern;
  ApplyLists(ctx, d, kind, 0);
  zero = MakeDense(M, N);
  memcpy(zero->has, d->has, sizeof d->has);
  Same(A, zero);
  CHECK_OK(PoiseMatSetValuesCOO(A, l.v));
  Same(A, d);
  int64_t state = A->state, calls = ctx->memory.calls;
  CHECK_OK(PoiseMatSetValuesCOO(A, l.v)); /* replaces, and allocates nothing */
  CHECK(A->state > state && ctx->memory.calls == calls);
  Same(A, d);
  FreeList(&l);
  l = MakeList(PoiseRank(ctx), M, N, kind, 1);
  CHECK_OK(PoiseMatAddValuesCOO(A, l.v));
  ApplyLists(ctx, d, kind, 1);
  Same(A, d);
  CHECK(A->pattern == pattern);
  FreeList(&l);
  free(d), free(zero);
}

static void Triplets(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  PoiseMat A;
  PoiseInt i = 0;
  if (!CHECK_OK(Empty(ctx, layout, M, N, &A))) return;
  for (int kind = 0; kind < 3; kind++) { /* each replaces the one before */
    Listed(ctx, A, M, N, kind);
    if (M && N) CHECK_OK(PoiseMatAddValues(A, 1, &i, &i, (double[]){5})); /* pending: dropped by the next one */
  }
  CHECK_OK(PoiseMatDestroy(&A));
}

static void TestTriplets(PoiseContext ctx)
{
  ForAll(ctx, Triplets);
}

/* Triplets that together are longer than blocks of the refresh, on several threads and one, have the same sums. */
static void TestManyTriplets(PoiseContext ctx)
{
  enum { N = 6000, EACH = 9 };
  PoiseInt *rows = malloc(N * EACH * sizeof *rows), *cols = malloc(N * EACH * sizeof *cols), m;
  double *v = malloc(N * EACH * sizeof *v), *val;
  int64_t *ptr, *col, wrong = 0;
  PoiseMat A;
  for (int k = 0; k < N * EACH; k++) { /* the three of a row come from far apart, each three times */
    rows[k] = k % N, cols[k] = (k % N + k / N % 3) % N, v[k] = k % 3;
  }
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A))) return;
  ctx->device->threads = 3;
  CHECK_OK(PoiseMatSetPatternCOO(A, N * EACH, rows, cols));
  CHECK_OK(PoiseMatSetValuesCOO(A, v));
  PoiseMatLocalSizes(A, &m, NULL);
  if (CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) {
    for (PoiseInt i = 0; i < m; i++)
      for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
        PoiseInt g = A->rows->begin + i, which = (col[k] - g + N) % N;
        double s = 0;
        for (int e = (int)which; e < EACH; e += 3) s += v[e * N + g];
        wrong += val[k] != s * PoiseSize(ctx);
      }
    CHECK_INT(ptr[m], 3 * m);
    CHECK_INT(wrong, 0);
    free(ptr), free(col), free(val);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  free(rows), free(cols), free(v);
}

static void TestTripletErrors(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  PoiseInt rows[3] = {0, 9, last ? 10 : 1}, cols[3] = {3, 4, 5};
  double v[3] = {1, 2, 3};
  PoiseMat A;
  if (!CHECK_OK(EmptySquare(ctx, EVEN, 10, &A))) return;
  CHECK_ERR(PoiseMatSetValuesCOO(A, v), POISE_ERR_STATE, "call PoiseMatSetPatternCOO");
  CHECK_ERR_OF(PoiseMatSetPatternCOO(A, 3, rows, cols), last, POISE_ERR_ARG, "row 10 of a matrix of 10 rows");
  CHECK_ERR_OF(PoiseMatSetPatternCOO(A, last ? -1 : 2, rows, cols), last, POISE_ERR_ARG, "-1 rows");
  rows[2] = 2, cols[2] = 11;
  CHECK_ERR(PoiseMatSetPatternCOO(A, 3, rows, cols), POISE_ERR_ARG, "column 11 of a matrix of 10 columns");
  CHECK_ERR(PoiseMatSetValuesCOO(A, v), POISE_ERR_STATE, "call PoiseMatSetPatternCOO");
  CHECK_OK(PoiseMatSetPatternCOO(A, 2, rows, cols));
  CHECK_ERR_OF(PoiseMatSetValuesCOO(A, last ? NULL : v), last, POISE_ERR_ARG, "values of 2 triplets are NULL");
  CHECK_OK(PoiseMatSetValuesCOO(A, v));
  if (last) CHECK_OK(PoiseMatAddValues(A, 1, rows, cols, v));
  CHECK_ERR_OF(PoiseMatSetValuesCOO(A, v), last, POISE_ERR_STATE, "call PoiseMatAssemble");
  CHECK_OK(PoiseMatAssemble(A)); /* within the pattern */
  CHECK_OK(PoiseMatSetValuesCOO(A, v));
  CHECK_OK(PoiseMatAddValues(A, 1, rows, rows, v));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_ERR(PoiseMatAddValuesCOO(A, v), POISE_ERR_STATE, "pattern has changed since PoiseMatSetPatternCOO");
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- entries of vectors --------------------------------------------------------------------------------------------- */

static void Reading(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  PoiseVec x;
  PoiseInt rows[3 * MOST], wrong = 0;
  double v[3 * MOST];
  (void)N;
  if (!CHECK_OK(SampleVec(ctx, layout, M, &x))) return;
  SampleFill(x, 70);
  int n = M ? PoiseRank(ctx) % 2 ? 3 * MOST : MOST / 2 : 0;
  for (int k = 0; k < n; k++) {
    rows[k] = k % 9 == 8 ? -1 : Below(M, 71, (uint64_t)(k + 1000 * PoiseRank(ctx)));
    v[k] = NAN;
  }
  CHECK_OK(PoiseVecGetValues(x, n, rows, v));
  for (int k = 0; k < n; k++) wrong += rows[k] < 0 ? !isnan(v[k]) : v[k] != TestRandom(70, (uint64_t)rows[k]);
  CHECK_INT(wrong, 0);
  CHECK_OK(PoiseVecScale(x, 2)); /* on the device */
  CHECK_OK(PoiseVecGetValues(x, n, rows, v));
  for (int k = 0; k < n; k++) wrong += rows[k] >= 0 && v[k] != 2 * TestRandom(70, (uint64_t)rows[k]);
  CHECK_INT(wrong, 0);
  CHECK_OK(PoiseVecDestroy(&x));
}

static void TestReading(PoiseContext ctx)
{
  PoiseVec x;
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  double v[2] = {0};
  ForAll(ctx, Reading);
  if (!CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x))) return;
  CHECK_ERR_OF(PoiseVecGetValues(x, 2, (PoiseInt[]){0, last ? 10 : 9}, v), last, POISE_ERR_ARG, "row 10 of a vector");
  if (last) CHECK_OK(PoiseVecAddValues(x, 1, (PoiseInt[]){0}, v));
  CHECK_ERR_OF(PoiseVecGetValues(x, 1, (PoiseInt[]){0}, v), last, POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_OK(PoiseVecDestroy(&x));
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

static PoiseErr AssembleAll(PoiseContext ctx, void *arg)
{
  Dense d = {.M = MOST, .N = MOST};
  PoiseInt rows[2] = {0, MOST - 1};
  double v[4] = {1, 2, 3, 4};
  PoiseMat A = NULL;
  PoiseVec x = NULL;
  (void)arg;
  PoiseErr e = EmptySquare(ctx, EVEN, MOST, &A);
  for (int round = 0; !e && round < 2; round++) {
    for (int k = 0; !e && k < BLOCKS; k++) {
      Block b = MakeBlock(&d, SETS, round, k);
      e = GiveBlock(A, SETS, k % 3, &b);
    }
    e = PoiseMatAssemble(A); /* tells what a call before it met with */
  }
  if (!e) e = PoiseMatSetLocalToGlobal(A, 2, rows, 2, rows);
  if (!e) e = PoiseMatCreateVecs(A, &x, NULL);
  if (!e) e = PoiseVecSetLocalToGlobal(x, 2, rows);
  if (!e) (void)PoiseVecAddValuesLocal(x, 2, (PoiseInt[]){0, 1}, v);
  if (!e) e = PoiseVecAssemble(x);
  if (!e) e = PoiseVecGetValues(x, 2, rows, v);
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&A);
  return e;
}

static PoiseErr ListAll(PoiseContext ctx, void *arg)
{
  List l = MakeList(PoiseRank(ctx), MOST, MOST, 0, 0);
  PoiseMat A = NULL;
  (void)arg;
  PoiseErr e = EmptySquare(ctx, EVEN, MOST, &A);
  if (!e) e = PoiseMatSetPatternCOO(A, l.n, l.rows, l.cols);
  if (!e) e = PoiseMatSetValuesCOO(A, l.v);
  if (!e) e = PoiseMatSetPatternCOO(A, l.n / 2, l.rows, l.cols);
  if (!e) e = PoiseMatSetValuesCOO(A, l.v);
  PoiseMatDestroy(&A);
  FreeList(&l);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  TestAllocationFailures(ctx, ListAll, NULL);
  TestAllocationFailures(ctx, AssembleAll, NULL);
}

static const Test tests[] = {
    {"rounds", TestRounds, 0},
    {"last_stays", TestLastStays, 0},
    {"long_row", TestLongRow, 0},
    {"local", TestLocal, 0},
    {"local_errors", TestLocalErrors, 0},
    {"kept", TestKept, 0},
    {"mixed", TestMixed, 0},
    {"reading", TestReading, 0},
    {"triplets", TestTriplets, 0},
    {"many_triplets", TestManyTriplets, 0},
    {"triplet_errors", TestTripletErrors, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "assembly", tests);
}

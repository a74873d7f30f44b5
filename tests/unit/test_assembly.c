/* SPDX-License-Identifier: BSD-3-Clause */
/* Assembly and changes of matrices, compared with dense arrays that every rank holds. Values are multiples
   of 1/8, so sums are exact in any order, and results can be compared for equality. */
#include "mat/assembly/triplet_plan.h"
#include "mat/object/mat.h"
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
  return PoiseMatCreate(ctx, SampleLocal(ctx, layout, M), SampleLocal(ctx, (layout + 1) % NLAYOUTS, N), M, N,
                        A);
}

static PoiseErr EmptySquare(PoiseContext ctx, int layout, PoiseInt N, PoiseMat *A)
{
  return PoiseMatCreate(ctx, SampleLocal(ctx, layout, N), SampleLocal(ctx, layout, N), N, N, A);
}

typedef void (*Check)(PoiseContext, int layout, PoiseInt M, PoiseInt N);

static void ForAll(PoiseContext ctx, Check check)
{
  static const PoiseInt sizes[][2] = {{0, 0},    {1, 1},    {0, 5},           {7, 0},
                                      {3, MOST}, {MOST, 2}, {MOST, MOST - 8}, {MOST, MOST}};
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) check(ctx, layout, sizes[k][0], sizes[k][1]);
}

/* ---- entries and blocks ---------------------------------------------------------------------- */

enum { ADDS, SETS };
enum { NR = 3, NC = 4, BLOCKS = 60 };

typedef struct Block {
  PoiseInt rows[NR], cols[NC];
  double v[NR * NC];
} Block;

/* Block e of a round: some indices negative. What is set depends on the entry alone, so it is the same from
   every rank. */
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
      POISE_TRY(how == ADDS ? PoiseMatAddBlock(A, 1, row, NC, b->cols, v)
                            : PoiseMatSetBlock(A, 1, row, NC, b->cols, v));
    else
      POISE_TRY(how == ADDS ? PoiseMatAddEntries(A, NC, row, b->cols, v)
                            : PoiseMatSetEntries(A, NC, row, b->cols, v));
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
    int64_t state = A->version.values;
    Round(A, d, how[round], round);
    CHECK_OK(PoiseMatAssemble(A));
    CHECK(A->version.values > state);
    Same(A, d);
  }
  int64_t pattern = A->version.pattern;
  Round(A, d, SETS, 2); /* nothing new */
  CHECK_OK(PoiseMatAssemble(A));
  CHECK(A->version.pattern == pattern && Same(A, d));
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static void TestRounds(PoiseContext ctx)
{
  ForAll(ctx, Rounds);
}

/* Of one rank's values for an entry the last one stays, whether the pattern has it or not, and whoever owns
   it. */
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
      if (last) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
    }
    CHECK_OK(PoiseMatAssemble(A));
    Same(A, d);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

/* A row that is long, added to backwards and over and over. */
/* Blocks with more columns than are taken at once: in any order, some twice, some to be ignored. */
static void WideBlock(PoiseContext ctx, int how)
{
  enum { M = 3, N = 300, WIDE = 200, TIMES = 12 };
  int last = PoiseSize(ctx) - 1; /* whose rows are mostly others' */
  double *dense = calloc(M * N, sizeof *dense), *v = calloc(M * WIDE, sizeof *v), *val;
  int *has = calloc(M * N, sizeof *has);
  PoiseInt rows[M] = {2, 0, 1}, cols[WIDE];
  int64_t *ptr, *col, wrong = 0;
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, M, N, &A))) return;
  for (int t = 0; t < TIMES; t++) {
    for (int j = 0; j < WIDE; j++)
      cols[j] = j % 17 == 3 ? -1 : Below(t % 2 ? N : 25, 300 + (uint64_t)t, (uint64_t)j);
    for (int k = 0; k < M * WIDE; k++) {
      int64_t at = rows[k / WIDE] * N + cols[k % WIDE];
      v[k] = Eighths(400 + (uint64_t)t, (uint64_t)k);
      if (cols[k % WIDE] < 0) continue;
      dense[at] = how == ADDS ? dense[at] + v[k] : v[k];
      has[at] = 1;
    }
    if (PoiseRank(ctx) == last)
      CHECK_OK(how == ADDS ? PoiseMatAddBlock(A, M, rows, WIDE, cols, v)
                           : PoiseMatSetBlock(A, M, rows, WIDE, cols, v));
    if (t % 5 == 4) CHECK_OK(PoiseMatAssemble(A));
  }
  CHECK_OK(PoiseMatAssemble(A));
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  for (int64_t i = 0; i < A->rows->n; i++) {
    int64_t stored = 0, first = (A->rows->begin + i) * N;
    for (int j = 0; j < N; j++) stored += has[first + j];
    wrong += stored != ptr[i + 1] - ptr[i];
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
      wrong += !has[first + col[k]] || val[k] != dense[first + col[k]];
  }
  CHECK_INT(wrong, 0);
  free(ptr), free(col), free(val), free(dense), free(v), free(has);
  PoiseMatDestroy(&A);
}

static void TestWideBlock(PoiseContext ctx)
{
  WideBlock(ctx, ADDS);
  WideBlock(ctx, SETS);
}

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
      CHECK_OK(PoiseMatAddEntries(A, 1, &row, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  PoiseMatLocalSizes(A, &m, NULL);
  if (CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) {
    for (int64_t k = 0; k < ptr[m]; k++)
      wrong += col[k] != k || val[k] != (double)k / 8 * TIMES * PoiseSize(ctx);
    CHECK_INT(wrong, 0);
    CHECK_INT(ptr[m], row >= A->rows->begin && row < A->rows->begin + m ? N : 0);
    free(ptr), free(col), free(val);
  }
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- numbers of the rank's own --------------------------------------------------------------- */

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
  if (!CHECK_OK(EmptySquare(ctx, EVEN, 10, &A)) || !CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x)))
    return;
  CHECK_ERR(PoiseMatAddBlockLocal(A, 1, &i, 1, &i, &v), POISE_ERR_STATE, "no local-to-global map of rows");
  CHECK_ERR(PoiseVecSetValuesLocal(x, 1, &i, &v), POISE_ERR_STATE, "no local-to-global map of rows");
  CHECK_ERR_OF(PoiseMatSetLocalToGlobal(A, 3, map, 3, map), last, POISE_ERR_ARG,
               "map's row 2 is 10, there are 10");
  CHECK_ERR_OF(PoiseVecSetLocalToGlobal(x, 3, map), last, POISE_ERR_ARG, "map's row 2 is 10, there are 10");
  CHECK_ERR(PoiseVecSetLocalToGlobal(x, -1, map), POISE_ERR_ARG, "map of -1 rows");
  map[2] = 9;
  CHECK_OK(PoiseMatSetLocalToGlobal(A, 3, map, 2, map));
  CHECK_OK(PoiseVecSetLocalToGlobal(x, 3, map));
  CHECK_ERR(PoiseMatSetBlockLocal(A, 1, &i, 1, &zero, &v), POISE_ERR_ARG,
            "local row 3, the local-to-global map has 3");
  i = 2;
  CHECK_ERR(PoiseMatSetBlockLocal(A, 1, &i, 1, &i, &v), POISE_ERR_ARG,
            "local column 2, the local-to-global map has 2");
  i = 3;
  CHECK_ERR(PoiseVecAddValuesLocal(x, 1, &i, &v), POISE_ERR_ARG,
            "local row 3, the local-to-global map has 3");
  CHECK_ERR(PoiseMatAssemble(A), POISE_ERR_STATE,
            "no local-to-global map of rows"); /* the first that failed */
  CHECK_ERR(PoiseVecAssemble(x), POISE_ERR_STATE, "no local-to-global map of rows");
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseVecAssemble(x));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseVecDestroy(&x));
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* One rank fails while adding and goes on; all hear of it where they meet, and nothing else is lost. */
static void TestKept(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = PoiseRank(ctx) == size - 1;
  PoiseInt good[2] = {0, 9}, bad[2] = {1, 10};
  double v[4] = {1, 2, 3, 4};
  Dense *d = MakeDense(10, 10);
  PoiseMat A;
  PoiseVec x;
  if (!CHECK_OK(EmptySquare(ctx, EVEN, 10, &A)) || !CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 10, &x)))
    return;
  for (int round = 1; round <= 2; round++) { /* into a new pattern, then into the old one */
    CHECK_OK(PoiseMatAddBlock(A, 2, good, 2, good, v));
    CHECK_OK(PoiseVecAddValues(x, 2, good, v));
    if (last) {
      CHECK_ERR(PoiseMatAddBlock(A, 2, good, 2, bad, v), POISE_ERR_ARG,
                "column 10 of a matrix of 10 columns");
      CHECK_ERR(PoiseMatSetEntries(A, 1, good, good, v), POISE_ERR_STATE, "without PoiseMatAssemble between");
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
  CHECK_OK(PoiseMatAddEntries(A, 1, &i, &i, &v));
  CHECK_ERR(PoiseMatSetBlock(A, 1, &i, 1, &i, &v), POISE_ERR_STATE, "added and set without PoiseMatAssemble");
  CHECK_OK(PoiseMatZeroEntries(A)); /* forgets what is pending */
  CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, &i, &v));
  CHECK_ERR(PoiseMatAssemble(A), POISE_ERR_STATE, "added and set without PoiseMatAssemble"); /* kept */
  CHECK_OK(PoiseMatAssemble(A));
  d->v[4][4] = d->has[4][4] = 1;
  Same(A, d);
  if (size > 1) {
    i = 5;
    CHECK_OK(last ? PoiseMatAddEntries(A, 1, &i, &i, &v) : PoiseMatSetEntries(A, 1, &i, &i, &v));
    CHECK_ERR(PoiseMatAssemble(A), POISE_ERR_STATE, "added on one rank and set on another");
    CHECK_OK(PoiseMatAssemble(A)); /* what was pending is dropped */
    Same(A, d);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

/* ---- triplets -------------------------------------------------------------------------------- */

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
    l.rows[k] = kind == SORTED_ONCE ? k / N
                : k % 17 == 3 || !M ? -3
                                    : Below(M, 80, (uint64_t)(at + 10000 * r));
    l.cols[k] = kind == SORTED_ONCE ? k % N
                : k % 19 == 4 || !N ? -1
                                    : Below(N, 81, (uint64_t)(at + 10000 * r));
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
  int64_t pattern = A->version.pattern;
  CHECK_OK(PoiseMatSetPatternCOO(A, l.n, l.rows, l.cols));
  CHECK(A->version.pattern > pattern);
  if (SampleIsAway(ctx)) {
    const TripletMap *map = &A->assembly.triplets->map;
    CHECK(!A->csr.nz || !poiseBufferIsCurrent(&A->csr.col, HOST)); /* made there */
    CHECK(map->wide == poisePlacesAreWide(ctx, map->ngiven + map->nreceived));
  }
  pattern = A->version.pattern;
  ApplyLists(ctx, d, kind, 0);
  zero = MakeDense(M, N);
  memcpy(zero->has, d->has, sizeof d->has);
  Same(A, zero);
  CHECK_OK(PoiseMatSetValuesCOO(A, l.v));
  Same(A, d);
  int64_t state = A->version.values, calls = ctx->memory.calls;
  CHECK_OK(PoiseMatSetValuesCOO(A, l.v)); /* replaces, and allocates nothing */
  CHECK(A->version.values > state && ctx->memory.calls == calls);
  Same(A, d);
  FreeList(&l);
  l = MakeList(PoiseRank(ctx), M, N, kind, 1);
  CHECK_OK(PoiseMatAddValuesCOO(A, l.v));
  ApplyLists(ctx, d, kind, 1);
  Same(A, d);
  CHECK(A->version.pattern == pattern);
  FreeList(&l);
  free(d), free(zero);
}

static void FromTriplets(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  PoiseMat A;
  PoiseInt i = 0;
  if (!CHECK_OK(Empty(ctx, layout, M, N, &A))) return;
  for (int kind = 0; kind < 3; kind++) { /* each replaces the one before */
    Listed(ctx, A, M, N, kind);
    /* pending: dropped by the next one */
    if (M && N) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &i, (double[]){5}));
  }
  CHECK_OK(PoiseMatDestroy(&A));
}

static void TestTriplets(PoiseContext ctx)
{
  ForAll(ctx, FromTriplets);
}

/* Places need 8 bytes only with the values that are received. */
static void TestWidened(PoiseContext ctx)
{
  const int64_t saved = ctx->hooks.most_narrow;
  for (int most = 345; most < 352; most += 5) { /* of 700 values given: before that, and not */
    ctx->hooks.most_narrow = most;
    FromTriplets(ctx, 0, 40, 33);
  }
  ctx->hooks.most_narrow = saved;
}

/* Triplets that together are longer than blocks of the refresh, on several threads and one, have the same
   sums. */
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

/* Values in groups that go to entries far apart, beyond what a run's places reach; and each on its own. Old
   values do not stay. */
static void TestScatteredTriplets(PoiseContext ctx)
{
  enum { N = 200000, EACH = 2, COUNT = N * EACH, JUMP = 7919 };
  PoiseInt *rows = malloc(COUNT * sizeof *rows);
  double *v = malloc(COUNT * sizeof *v), *sum = malloc(N * sizeof *sum);
  const double *val;
  ctx->device->threads = 2;
  for (int group = 1; group <= 8; group *= 8) {
    PoiseMat A;
    int64_t wrong = 0;
    if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A))) return;
    memset(sum, 0, N * sizeof *sum);
    for (int64_t k = 0; k < COUNT; k++) {
      rows[k] = k % N / group * JUMP % (N / group) * group + k % group;
      if (k >= N) rows[k] = N - 1 - rows[k]; /* backwards */
      v[k] = (double)(k % 1001);
      sum[rows[k]] += v[k] * PoiseSize(ctx);
    }
    CHECK_OK(PoiseMatSetPatternCOO(A, COUNT, rows, rows));
    CHECK_OK(PoiseMatSetValuesCOO(A, v));
    CHECK_OK(PoiseMatAddValuesCOO(A, v));
    for (int add = 1; add >= 0; add--) {
      if (!add) CHECK_OK(PoiseMatSetValuesCOO(A, v));
      if (!CHECK_OK(poiseBufferRead(&A->csr.val, HOST, &val))) return;
      for (int64_t i = 0; i < A->rows->n; i++) wrong += val[i] != (add + 1) * sum[A->rows->begin + i];
    }
    CHECK_INT(A->csr.nz, A->rows->n);
    CHECK_INT(wrong, 0);
    CHECK_OK(PoiseMatDestroy(&A));
  }
  free(rows), free(v), free(sum);
}

/* Values of one entry that lie side by side, more of them than a run of the plan holds, then some of the
   next; and back to front. */
static void TestLongRuns(PoiseContext ctx)
{
  enum { ENTRIES = 3, EACH = 70000, COUNT = ENTRIES * EACH };
  PoiseInt *rows = calloc(COUNT, sizeof *rows), *cols = calloc(COUNT, sizeof *cols);
  double *v = calloc(COUNT, sizeof *v);
  const double *val;
  PoiseMat A;
  for (int reversed = 0; reversed < 2; reversed++) {
    double sum[ENTRIES] = {0};
    for (int k = 0; k < COUNT; k++) {
      cols[k] = reversed ? ENTRIES - 1 - k / EACH : k / EACH;
      v[k] = k % 1000;
      sum[cols[k]] += v[k] * PoiseSize(ctx);
    }
    if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 1, ENTRIES, &A))) return;
    CHECK_OK(PoiseMatSetPatternCOO(A, COUNT, rows, cols));
    CHECK_OK(PoiseMatSetValuesCOO(A, v));
    CHECK_INT(A->csr.nz, A->rows->n ? ENTRIES : 0);
    if (CHECK_OK(poiseBufferRead(&A->csr.val, HOST, &val)))
      for (int64_t k = 0; k < A->csr.nz; k++) CHECK(val[k] == sum[k]);
    PoiseMatDestroy(&A);
  }
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
  CHECK_ERR_OF(PoiseMatSetValuesCOO(A, last ? NULL : v), last, POISE_ERR_ARG,
               "values of 2 triplets are NULL");
  CHECK_OK(PoiseMatSetValuesCOO(A, v));
  if (last) CHECK_OK(PoiseMatAddEntries(A, 1, rows, cols, v));
  CHECK_ERR_OF(PoiseMatSetValuesCOO(A, v), last, POISE_ERR_STATE, "call PoiseMatAssemble");
  CHECK_OK(PoiseMatAssemble(A)); /* within the pattern */
  CHECK_OK(PoiseMatSetValuesCOO(A, v));
  CHECK_OK(PoiseMatAddEntries(A, 1, rows, rows, v));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_ERR(PoiseMatAddValuesCOO(A, v), POISE_ERR_STATE, "pattern has changed since PoiseMatSetPatternCOO");
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- changes of an assembled matrix ---------------------------------------------------------- */

/* A third of the entries, and the diagonal if so asked. */
static Dense *Fill(PoiseInt M, PoiseInt N, int diagonal, uint64_t seed)
{
  Dense *d = MakeDense(M, N);
  for (PoiseInt i = 0; i < M; i++)
    for (PoiseInt j = 0; j < N; j++) {
      uint64_t at = (uint64_t)(i * MOST + j);
      if (TestRandom(seed, at) > -0.33 && !(diagonal && i == j)) continue;
      d->v[i][j] = Eighths(seed + 1, at), d->has[i][j] = 1;
    }
  return d;
}

static PoiseErr ToMat(PoiseContext ctx, const Dense *d, int rows, int cols, PoiseMat *A)
{
  PoiseErr e = PoiseMatCreate(ctx, SampleLocal(ctx, rows, d->M), SampleLocal(ctx, cols, d->N), d->M, d->N, A);
  for (PoiseInt i = 0; !e && i < d->M; i++)
    for (PoiseInt j = 0; !e && j < d->N; j++)
      if (d->has[i][j] && i % PoiseSize(ctx) == PoiseRank(ctx))
        e = PoiseMatSetEntries(*A, 1, &i, &j, &d->v[i][j]);
  if (!e || e == POISE_ERR_MEMORY) e = *A ? PoiseMatAssemble(*A) : e;
  return e;
}

static int Rows(PoiseContext ctx, PoiseInt N, PoiseInt *rows, int *zero)
{
  int n = 0;
  for (PoiseInt k = 0; k < N; k++) {
    zero[k] = k % 5 == 2 || k == N - 1;
    /* some are given by all ranks */
    if (zero[k] && (k % PoiseSize(ctx) == PoiseRank(ctx) || k % 3 == 0)) rows[n++] = k;
  }
  rows[n++] = -7;
  return n;
}

static void Zeroing(PoiseContext ctx, int layout, int cols, PoiseInt N, int columns, int with_b,
                    double diagonal)
{
  Dense *d = Fill(N, N, 1, 90);
  PoiseInt rows[MOST + 1];
  int zero[MOST], n = Rows(ctx, N, rows, zero);
  double x[MOST] = {0}, b[MOST] = {0};
  PoiseMat A;
  PoiseVec vx, vb;
  if (!CHECK_OK(ToMat(ctx, d, layout, cols, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &vx, &vb))) return;
  for (PoiseInt i = 0; i < N; i++) x[i] = Eighths(92, (uint64_t)i), b[i] = Eighths(93, (uint64_t)i);
  CHECK_OK(SampleToVec(x, vx)), CHECK_OK(SampleToVec(b, vb));
  int64_t pattern = A->version.pattern, state = A->version.values;
  PoiseVec gx = with_b ? vx : NULL, gb = with_b ? vb : NULL;
  CHECK_OK(columns ? PoiseMatZeroRowsColumns(A, n, rows, diagonal, gx, gb)
                   : PoiseMatZeroRows(A, n, rows, diagonal, gx, gb));
  for (PoiseInt i = 0; i < N; i++) {
    if (zero[i] && with_b) b[i] = diagonal * x[i];
    for (PoiseInt j = 0; j < N; j++) {
      if (!zero[i] && !(columns && zero[j])) continue;
      if (!zero[i] && with_b) b[i] -= d->v[i][j] * x[j];
      d->v[i][j] = i == j ? diagonal : 0;
    }
  }
  CHECK(A->version.pattern == pattern && A->version.values > state);
  Same(A, d);
  SameVec(vb, b);
  SameVec(vx, x);
  CHECK_OK(PoiseVecDestroy(&vx));
  CHECK_OK(PoiseVecDestroy(&vb));
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static void TestZeroRows(PoiseContext ctx)
{
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (int columns = 0; columns < 2; columns++) {
      Zeroing(ctx, layout, layout, MOST, columns, 1, 2);
      Zeroing(ctx, layout, layout, MOST, columns, 0, 1);
      Zeroing(ctx, layout, layout, 1, columns, 1, 0);
      if (!columns) Zeroing(ctx, layout, (layout + 1) % NLAYOUTS, MOST, 0, 0, 3); /* diagonals of ghosts */
    }
}

static void TestZeroRowsErrors(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Dense *d = Fill(10, 10, 1, 90), *wide = Fill(10, 12, 1, 95);
  PoiseInt row = 3, bad = 10;
  PoiseMat A, W;
  PoiseVec x, b, s;
  d->has[3][3] = 0, d->v[3][3] = 0;
  if (!CHECK_OK(ToMat(ctx, d, EVEN, EVEN, &A)) || !CHECK_OK(ToMat(ctx, wide, EVEN, EVEN, &W))) return;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 11, &s));
  if (PoiseSize(ctx) == 1)
    CHECK_ERR(PoiseMatZeroRows(A, 1, &row, 1, x, b), POISE_ERR_ARG,
              "row 3 has no diagonal entry in the pattern");
  else /* its owner says so, whichever rank that is */
    CHECK(PoiseMatZeroRows(A, 1, &row, 1, x, b) != POISE_OK &&
          strstr(PoiseErrorMessage(), "row 3 has no diagonal entry"));
  Same(A, d);
  CHECK_ERR_OF(PoiseMatZeroRows(A, last, &bad, 1, x, b), last, POISE_ERR_ARG,
               "row 10 of a matrix of 10 rows");
  CHECK_ERR(PoiseMatZeroRows(A, 1, &row, 0, x, NULL), POISE_ERR_ARG, "give both or neither");
  CHECK_ERR(PoiseMatZeroRows(A, 1, &row, 0, x, x), POISE_ERR_ARG, "same vector");
  CHECK_ERR(PoiseMatZeroRows(A, 1, &row, 0, s, b), POISE_ERR_SIZE, "11");
  CHECK_ERR(PoiseMatZeroRowsColumns(W, 1, &row, 1, NULL, NULL), POISE_ERR_SIZE, "not square");
  CHECK_OK(PoiseMatZeroRows(W, 1, &row, 3, NULL, NULL));
  memset(wide->v[3], 0, sizeof wide->v[3]);
  wide->v[3][3] = 3;
  Same(W, wide);
  CHECK_OK(PoiseMatZeroRows(A, 1, &row, 0, NULL, NULL));
  memset(d->v[3], 0, sizeof d->v[3]);
  Same(A, d);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&b));
  CHECK_OK(PoiseVecDestroy(&s));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&W));
  free(d), free(wide);
}

static void CheckNorms(PoiseMat A, const Dense *d)
{
  double rows = 0, cols = 0, squares = 0, got;
  for (PoiseInt i = 0; i < d->M; i++) {
    double s = 0;
    for (PoiseInt j = 0; j < d->N; j++) s += fabs(d->v[i][j]), squares += d->v[i][j] * d->v[i][j];
    rows = fmax(rows, s);
  }
  for (PoiseInt j = 0; j < d->N; j++) {
    double s = 0;
    for (PoiseInt i = 0; i < d->M; i++) s += fabs(d->v[i][j]);
    cols = fmax(cols, s);
  }
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &got));
  CHECK(got == cols);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_INF, &got));
  CHECK(got == rows);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &got));
  CHECK_NEAR(got, sqrt(squares), 1e-14 * got);
}

/* 400 entries v in rows of 4, whose squares under- or overflow, or sums of rows. */
static void TestNormsOfAnySize(PoiseContext ctx)
{
  enum { N = 100 };
  static const double sizes[] = {0,     0x1p-1074, 1e-200,     1e-140,   1,  1e150,
                                 1e200, 0x1p1019,  0x1.8p1023, INFINITY, NAN};
  for (int blocks = 0; blocks < 2; blocks++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      PoiseMat A;
      PoiseInt begin, m;
      double v = sizes[k], norm = -1;
      PoiseSplit(ctx, N / 4, &begin, &m);
      if (!CHECK_OK(PoiseMatCreate(ctx, 4 * m, 4 * m, N, N, &A))) return;
      for (PoiseInt i = 4 * begin; i < 4 * (begin + m); i++)
        for (PoiseInt j = 0; j < 4; j++)
          CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, (PoiseInt[]){i / 4 * 4 + j}, &v));
      CHECK_OK(PoiseMatAssemble(A));
      if (blocks) CHECK_OK(PoiseMatSetBlockSize(A, 4));
      if (blocks) CHECK_OK(PoiseMatSetType(A, "bcsr"));
      CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm));
      if (v - v == 0 && v < 0x1p1020)
        CHECK_NEAR(norm, 20 * v, 1e-14 * norm);
      else
        CHECK(v == v ? norm == INFINITY : isnan(norm));
      CHECK_OK(PoiseMatDestroy(&A));
    }
}

static void CheckRows(PoiseMat A, const Dense *d)
{
  PoiseInt wrong = 0, n;
  const PoiseInt *cols;
  const double *v;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++) {
    PoiseInt k = 0;
    if (!CHECK_OK(PoiseMatGetRow(A, i, &n, &cols, &v))) return;
    for (PoiseInt j = 0; j < d->N; j++) {
      if (!d->has[i][j]) continue;
      wrong += k >= n || cols[k] != j || v[k] != d->v[i][j];
      k++;
    }
    wrong += k != n;
  }
  CHECK_INT(wrong, 0);
}

static void Arithmetic(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  Dense *d = Fill(M, N, 0, 100);
  PoiseMat A;
  PoiseVec l, r;
  double left[MOST] = {0}, right[MOST] = {0};
  if (!CHECK_OK(ToMat(ctx, d, layout, (layout + 1) % NLAYOUTS, &A)) ||
      !CHECK_OK(PoiseMatCreateVecs(A, &r, &l)))
    return;
  int64_t pattern = A->version.pattern, state = A->version.values;
  CHECK_OK(PoiseMatScale(A, -2));
  CHECK(A->version.values > state);
  state = A->version.values;
  for (PoiseInt i = 0; i < M; i++) left[i] = 1 << i % 4;
  for (PoiseInt j = 0; j < N; j++) right[j] = 3 - (double)(j % 7);
  CHECK_OK(SampleToVec(left, l)), CHECK_OK(SampleToVec(right, r));
  for (PoiseInt i = 0; i < M; i++)
    for (PoiseInt j = 0; j < N; j++) d->v[i][j] *= -2 * left[i] * right[j];
  CHECK_OK(PoiseMatDiagonalScale(A, l, NULL));
  CHECK_OK(PoiseMatDiagonalScale(A, NULL, r));
  CHECK(A->version.values > state && A->version.pattern == pattern);
  Same(A, d);
  CheckNorms(A, d);
  CheckRows(A, d);
  CHECK_OK(PoiseMatDiagonalScale(A, l, r));
  CHECK_OK(PoiseMatScale(A, 0.5));
  for (PoiseInt i = 0; i < M; i++)
    for (PoiseInt j = 0; j < N; j++) d->v[i][j] *= 0.5 * left[i] * right[j];
  Same(A, d);
  CHECK_OK(PoiseVecDestroy(&l));
  CHECK_OK(PoiseVecDestroy(&r));
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static void TestArithmetic(PoiseContext ctx)
{
  ForAll(ctx, Arithmetic);
}

/* Pointers of the user's stay current, also where the device works on the values. */
static void TestBorrowed(PoiseContext ctx)
{
  PoiseInt n = 3, begin = 3 * PoiseRank(ctx);
  int64_t ptr[4] = {0, 1, 2, 3}, col[3] = {begin, begin + 1, begin + 2};
  double val[3] = {1, 2, 3}, *p;
  PoiseMat A;
  PoiseVec d;
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, n, n, POISE_DECIDE, POISE_DECIDE,
                                  &(PoiseCSR){.ptr64 = ptr, .col64 = col, .val = val}, POISE_BORROW, &A)))
    return;
  CHECK_OK(PoiseMatScale(A, 3));
  CHECK(val[0] == 3 && val[2] == 9);
  CHECK_OK(PoiseMatShift(A, 1));
  CHECK(val[0] == 4 && val[2] == 10);
  CHECK_OK(PoiseMatCreateVecs(A, NULL, &d));
  CHECK_OK(PoiseMatGetDiagonal(A, d));
  CHECK_OK(PoiseVecGetUpdate(d, &p));
  CHECK(p[0] == 4 && p[1] == 7 && p[2] == 10);
  CHECK_OK(PoiseVecRestore(d, &p));
  CHECK_OK(PoiseVecDestroy(&d));
  CHECK_OK(PoiseMatDestroy(&A));
}

static void Diagonals(PoiseContext ctx, int layout, int whole)
{
  Dense *d = Fill(MOST, MOST, whole, 110);
  PoiseMat A;
  PoiseVec v;
  double diagonal[MOST] = {0};
  if (!CHECK_OK(ToMat(ctx, d, layout, layout, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, NULL, &v))) return;
  int64_t pattern = A->version.pattern;
  for (int i = 0; i < MOST; i++) diagonal[i] = 100 + i;
  CHECK_OK(SampleToVec(diagonal, v));
  CHECK_OK(PoiseMatShift(A, 0.5));
  for (int i = 0; i < MOST; i++) d->v[i][i] += 0.5, d->has[i][i] = 1;
  CHECK((A->version.pattern == pattern) == whole);
  Same(A, d);
  CHECK_OK(PoiseMatAddDiagonal(A, v));
  for (int i = 0; i < MOST; i++) d->v[i][i] += diagonal[i];
  Same(A, d);
  CHECK_OK(PoiseMatSetDiagonal(A, v));
  for (int i = 0; i < MOST; i++) d->v[i][i] = diagonal[i];
  Same(A, d);
  CHECK_OK(PoiseVecDestroy(&v));
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static void TestDiagonals(PoiseContext ctx)
{
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (int whole = 0; whole < 2; whole++) Diagonals(ctx, layout, whole);
}

/* Y += a X where X has more, fewer, the same and other entries. */
static void Adding(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  enum { OTHER, SUBSET, EQUAL, SUPERSET, KINDS };
  for (int kind = 0; kind < KINDS; kind++) {
    Dense *y = Fill(M, N, 0, 120), *x = Fill(M, N, 0, kind == OTHER ? 125 : 120);
    int cols = (layout + 2) % NLAYOUTS, grows = 0;
    PoiseMat Y, X;
    for (PoiseInt i = 0; i < M; i++)
      for (PoiseInt j = 0; j < N; j++) {
        if (kind == SUBSET && (i + j) % 2) x->v[i][j] = 0, x->has[i][j] = 0;
        if (kind == SUPERSET && (i + j) % 5 == 0) x->v[i][j] = 4, x->has[i][j] = 1;
        if (kind == EQUAL) x->v[i][j] *= 8;
        grows += x->has[i][j] && !y->has[i][j];
      }
    if (!CHECK_OK(ToMat(ctx, y, layout, cols, &Y)) || !CHECK_OK(ToMat(ctx, x, layout, cols, &X))) return;
    int64_t pattern = Y->version.pattern, state = Y->version.values;
    CHECK_OK(PoiseMatAXPY(Y, -3, X));
    for (PoiseInt i = 0; i < M; i++)
      for (PoiseInt j = 0; j < N; j++) y->v[i][j] -= 3 * x->v[i][j], y->has[i][j] |= x->has[i][j];
    CHECK((Y->version.pattern == pattern) == !grows && Y->version.values > state);
    Same(Y, y);
    Same(X, x);
    CHECK_OK(PoiseMatAXPY(Y, 1, Y));
    for (PoiseInt i = 0; i < M; i++)
      for (PoiseInt j = 0; j < N; j++) y->v[i][j] *= 2;
    Same(Y, y);
    CHECK_OK(PoiseMatDestroy(&Y));
    CHECK_OK(PoiseMatDestroy(&X));
    free(y), free(x);
  }
}

static void TestAdding(PoiseContext ctx)
{
  ForAll(ctx, Adding);
}

static void Copies(PoiseContext ctx, int layout, PoiseInt M, PoiseInt N)
{
  Dense *d = Fill(M, N, 0, 130), *t = MakeDense(N, M);
  PoiseMat A, B, T;
  PoiseInt row = M / 2, col = N / 3, i;
  int is;
  for (i = 0; i < M; i++)
    for (PoiseInt j = 0; j < N; j++) t->v[j][i] = d->v[i][j], t->has[j][i] = d->has[i][j];
  if (!CHECK_OK(ToMat(ctx, d, layout, (layout + 1) % NLAYOUTS, &A))) return;
  CHECK_OK(PoiseMatTranspose(A, &T));
  Same(T, t);
  CHECK_OK(PoiseMatIsTranspose(A, T, 0, &is));
  CHECK(is);
  CHECK_OK(PoiseMatDuplicate(A, 1, &B));
  Same(B, d);
  CHECK_OK(PoiseMatScale(B, 2)); /* of its own */
  Same(A, d);
  CHECK_OK(PoiseMatDestroy(&B));
  CHECK_OK(PoiseMatDuplicate(A, 0, &B));
  memset(d->v, 0, sizeof d->v);
  Same(B, d);
  CHECK_OK(PoiseMatDestroy(&B));
  if (M && N) { /* one entry differs a little, stored or not */
    double little = 1e-3;
    CHECK_OK(PoiseMatAddEntries(T, PoiseRank(ctx) == 0, &col, &row, &little));
    CHECK_OK(PoiseMatAssemble(T));
    CHECK_OK(PoiseMatIsTranspose(A, T, 2e-3, &is));
    CHECK(is);
    CHECK_OK(PoiseMatIsTranspose(A, T, 5e-4, &is));
    CHECK(!is);
    CHECK_OK(PoiseMatIsTranspose(T, A, 5e-4, &is));
    CHECK(!is);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&T));
  free(d), free(t);
}

static void TestCopies(PoiseContext ctx)
{
  ForAll(ctx, Copies);
}

static void TestSymmetric(PoiseContext ctx)
{
  Dense *d = Fill(MOST, MOST, 0, 140);
  PoiseMat A;
  PoiseInt i = 1, j = 30;
  double v = 1e-6;
  int is = 1;
  for (int k = 0; k < MOST; k++)
    for (int l = 0; l < k; l++)
      d->v[k][l] = d->v[l][k], d->has[k][l] = d->has[l][k] || l == 3; /* zeros count for nothing */
  if (!CHECK_OK(ToMat(ctx, d, UNEVEN, UNEVEN, &A))) return;
  CHECK_OK(PoiseMatIsSymmetric(A, 0, &is));
  CHECK(is);
  if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &v));
  CHECK_ERR_OF(PoiseMatIsSymmetric(A, 0, &is), PoiseRank(ctx) == 0, POISE_ERR_STATE, "call PoiseMatAssemble");
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatIsSymmetric(A, 0, &is));
  CHECK(!is);
  CHECK_OK(PoiseMatIsSymmetric(A, 2e-6, &is));
  CHECK(is);
  v = NAN;
  CHECK_OK(PoiseMatSetEntries(A, PoiseRank(ctx) == 0, &i, &i, &v));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatIsSymmetric(A, 1e300, &is));
  CHECK(!is);
  CHECK_OK(PoiseMatDestroy(&A));
  free(d);
}

static PoiseErr Nothing(void *arg, PoiseVec x, PoiseVec y)
{
  (void)arg, (void)x, (void)y;
  return POISE_OK;
}

static void TestChangeErrors(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1, is;
  Dense *d = Fill(10, 10, 1, 150), *wide = Fill(10, 12, 0, 150);
  PoiseMat A, W, S, B;
  PoiseVec s, r;
  double norm;
  PoiseInt n, zero = 0;
  if (!CHECK_OK(ToMat(ctx, d, EVEN, EVEN, &A)) || !CHECK_OK(ToMat(ctx, wide, EVEN, EVEN, &W))) return;
  CHECK_OK(
      PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, 10, 10, &(PoiseShell){.mult = Nothing}, NULL, &S));
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 11, &s));
  CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 12, &r));
  CHECK_ERR(PoiseMatAXPY(A, 1, W), POISE_ERR_SIZE, "X is 10 x 12, Y is 10 x 10");
  CHECK_ERR(PoiseMatShift(W, 1), POISE_ERR_SIZE, "not square");
  CHECK_ERR(PoiseMatIsSymmetric(W, 1, &is), POISE_ERR_SIZE, "not square");
  CHECK_ERR(PoiseMatIsTranspose(W, A, 1, &is), POISE_ERR_SIZE, "X is 10 x 10, Y is 12 x 10");
  CHECK_ERR(PoiseMatSetDiagonal(A, s), POISE_ERR_SIZE, "diagonal 11");
  CHECK_ERR(PoiseMatDiagonalScale(W, s, NULL), POISE_ERR_SIZE, "l has 11");
  CHECK_ERR(PoiseMatDiagonalScale(W, NULL, s), POISE_ERR_SIZE, "12 columns, r has 11");
  CHECK_OK(PoiseMatDiagonalScale(W, NULL, r));
  CHECK_ERR(PoiseMatNorm(A, POISE_NORM_2, &norm), POISE_ERR_UNSUPPORTED, "1, infinity and Frobenius");
  CHECK_ERR(PoiseVecNorm(s, POISE_NORM_FROBENIUS, &norm), POISE_ERR_ARG, "no norm 3");
  CHECK_ERR(PoiseMatGetRow(A, 10, &n, NULL, NULL), POISE_ERR_ARG, "row 10 is not one of rank");
  CHECK_ERR(PoiseMatScale(S, 2), POISE_ERR_UNSUPPORTED, "type shell has no entries");
  CHECK_ERR(PoiseMatNorm(S, POISE_NORM_1, &norm), POISE_ERR_UNSUPPORTED, "shell");
  CHECK_ERR(PoiseMatDuplicate(S, 1, &B), POISE_ERR_UNSUPPORTED, "shell");
  CHECK_ERR(PoiseMatZeroRows(S, 1, &zero, 1, NULL, NULL), POISE_ERR_UNSUPPORTED, "shell");
  CHECK_ERR(PoiseMatSetPatternCOO(S, 1, &zero, &zero), POISE_ERR_UNSUPPORTED, "shell");
  CHECK_ERR(PoiseMatAXPY(A, 1, S), POISE_ERR_UNSUPPORTED, "shell");
  if (last) CHECK_OK(PoiseMatAddEntries(A, 1, &zero, &zero, &(double){0}));
  CHECK_ERR_OF(PoiseMatScale(A, 2), last, POISE_ERR_STATE, "call PoiseMatAssemble");
  CHECK_ERR_OF(PoiseMatNorm(A, POISE_NORM_1, &norm), last, POISE_ERR_STATE, "call PoiseMatAssemble");
  CHECK_ERR_OF(PoiseMatTranspose(A, &B), last, POISE_ERR_STATE, "call PoiseMatAssemble");
  CHECK_ERR_OF(PoiseMatDiagonalScale(A, NULL, NULL), last, POISE_ERR_STATE, "call PoiseMatAssemble");
  CHECK_OK(PoiseMatAssemble(A));
  Same(A, d);
  CHECK_OK(PoiseVecDestroy(&s));
  CHECK_OK(PoiseVecDestroy(&r));
  CHECK_OK(PoiseMatDestroy(&S));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&W));
  free(d), free(wide);
}

/* ---- entries of vectors ---------------------------------------------------------------------- */

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
  CHECK_ERR_OF(PoiseVecGetValues(x, 2, (PoiseInt[]){0, last ? 10 : 9}, v), last, POISE_ERR_ARG,
               "row 10 of a vector");
  if (last) CHECK_OK(PoiseVecAddValues(x, 1, (PoiseInt[]){0}, v));
  CHECK_ERR_OF(PoiseVecGetValues(x, 1, (PoiseInt[]){0}, v), last, POISE_ERR_STATE, "PoiseVecAssemble");
  CHECK_OK(PoiseVecDestroy(&x));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr AssembleAll(PoiseContext ctx, void *arg)
{
  static const Dense d = {.M = MOST, .N = MOST};
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

static PoiseErr ChangeAll(PoiseContext ctx, void *arg)
{
  enum { N = 15 };
  Dense *d = Fill(N, N, 0, 160), *other = Fill(N, N, 0, 165);
  PoiseMat A = NULL, B = NULL, C = NULL;
  PoiseVec x = NULL, b = NULL;
  double norm;
  int is;
  PoiseInt n, rows[2] = {1, N - 1};
  (void)arg;
  PoiseErr e = ToMat(ctx, d, EVEN, EVEN, &A);
  if (!e) e = ToMat(ctx, other, EVEN, EVEN, &B);
  if (!e) e = PoiseMatCreateVecs(A, &x, &b);
  if (!e) e = PoiseMatAXPY(A, 2, B);
  if (!e) e = PoiseMatScale(A, 2);
  if (!e) e = PoiseMatShift(A, 1);
  if (!e) e = PoiseMatDiagonalScale(A, b, x);
  if (!e) e = PoiseMatNorm(A, POISE_NORM_1, &norm);
  if (!e) e = PoiseMatZeroRowsColumns(A, 2, rows, 1, x, b);
  if (!e) e = PoiseMatDuplicate(A, 1, &C);
  if (!e) e = PoiseMatAXPY(C, 2, A); /* of one pattern */
  if (!e) e = PoiseMatIsSymmetric(A, 0, &is);
  PoiseErr mine = POISE_OK;
  for (PoiseInt i = 0; !e && !mine && i < A->rows->n; i++)
    mine = PoiseMatGetRow(A, A->rows->begin + i, &n, NULL, NULL);
  if (!e) e = PoiseAgree(ctx, mine);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
  free(d), free(other);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  TestAllocationFailures(ctx, ChangeAll, NULL);
  TestAllocationFailures(ctx, ListAll, NULL);
  TestAllocationFailures(ctx, AssembleAll, NULL);
}

/* The smallest index is ignored as all negative ones are, and no difference overflows, which sanitizers would
   see. */
static void TestSmallestIndex(PoiseContext ctx)
{
  enum { N = 12 };
  const PoiseInt least[] = {INT64_MIN, INT64_MIN + 1, -1, 0}, own[] = {0, 0, 0, 0};
  const double v[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  double sum = -1;
  PoiseInt n;
  for (int blocks = 0; blocks < 2; blocks++) {
    PoiseMat A;
    PoiseVec x, y;
    PoiseInt begin, m;
    PoiseSplit(ctx, N / 2, &begin, &m);
    if (!CHECK_OK(PoiseMatCreate(ctx, 2 * m, 2 * m, N, N, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
      return;
    CHECK_OK(PoiseMatSetBlockSize(A, 2));
    if (blocks) CHECK_OK(PoiseMatSetType(A, "bcsr"));
    CHECK_OK(PoiseMatAddBlock(A, 3, least, 3, least, v));
    CHECK_OK(PoiseMatAddEntries(A, 3, least, own, v));
    CHECK_OK(PoiseMatAddEntries(A, 3, own, least, v));
    CHECK_OK(PoiseMatSetLocalToGlobal(A, 4, least, 4, least));
    CHECK_OK(PoiseMatAddBlockLocal(A, 3, (PoiseInt[]){0, 1, INT64_MIN}, 1, (PoiseInt[]){3}, v));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseMatAddBlock(A, 3, least, 3, least, v)); /* to what is assembled */
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &sum));
    CHECK(sum == 0);
    CHECK_OK(PoiseMatSetPatternCOO(A, 4, least, least)); /* one of them is none to be ignored */
    CHECK_OK(PoiseMatSetValuesCOO(A, v));
    CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &sum));
    CHECK(sum == 7.0 * PoiseSize(ctx));
    CHECK_OK(PoiseMatSetBlockPatternCOO(A, 4, least, least));
    CHECK_OK(PoiseMatSetValuesCOO(A, v));
    CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &sum));
    CHECK(sum == 14.0 * PoiseSize(ctx));
    CHECK_OK(PoiseMatZeroRows(A, 3, least, 1, NULL, NULL));
    CHECK_OK(PoiseMatZeroRowsColumns(A, 3, least, 1, NULL, NULL));
    CHECK_ERR(PoiseMatGetRow(A, INT64_MIN, &n, NULL, NULL), POISE_ERR_ARG,
              "row -9223372036854775808 is not one of");
    CHECK_OK(PoiseVecSet(x, 1));
    CHECK_OK(PoiseVecAddValues(x, 3, least, v));
    CHECK_OK(PoiseVecAssemble(x));
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK(sum == N);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    CHECK_OK(PoiseMatDestroy(&A));
  }
}

/* ---- waits ----------------------------------------------------------------------------------- */

enum { CALLS = 250000, WIDTH = 4, CHAIN = 40 };

/* An element loop over a vector and over a matrix that was assembled before, both used on the device: each
   add is a call. Waits are for the first of them alone. */
static void TestAddingDoesNotWait(PoiseContext ctx)
{
  PoiseVec x, y;
  PoiseMat A;
  PoiseInt begin, end, at[WIDTH];
  double ones[WIDTH * WIDTH], sum;
  int64_t waits, calls = PoiseSize(ctx) == 1 ? CALLS : CALLS / 50;
  for (int k = 0; k < WIDTH * WIDTH; k++) ones[k] = 0.125;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, CHAIN, CHAIN, &A)) ||
      !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
    return;
  PoiseVecRange(x, &begin, &end);
  for (int round = 0; round < 2; round++) {
    waits = ctx->device->waits;
    for (int64_t k = 0; k < calls; k++) {
      for (int j = 0; j < WIDTH; j++) at[j] = (begin + k + j) % CHAIN;
      if (k % (CALLS / 4) == 0) at[0] = -1; /* is left out */
      if (!CHECK_OK(PoiseVecAddValues(x, WIDTH, at, ones)) ||
          !CHECK_OK(PoiseMatAddBlock(A, WIDTH, at, WIDTH, at, ones)))
        break;
    }
    CHECK(ctx->device->waits - waits <= 10);
    CHECK_OK(PoiseVecAssemble(x));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseMatMult(A, x, y)); /* both go to the device */
    CHECK_OK(PoiseVecSet(x, 1));
    CHECK_OK(PoiseMatMult(A, x, y));
    CHECK_OK(PoiseVecDot(x, y, &sum));
    double blocks = (double)calls * WIDTH * WIDTH * PoiseSize(ctx), out = (2 * WIDTH - 1.0) * PoiseSize(ctx);
    double left = ceil((double)calls / (CALLS / 4)); /* rows and columns that were left out */
    CHECK_NEAR(sum, 0.125 * (round + 1) * (blocks - left * out), 0);
    CHECK_OK(PoiseVecSet(x, 0));
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
}

/* Values that threads share, for rows near each other and for any, some of them twice, of other ranks or to
   be ignored: added to a vector, set in it, and as triplets. The last ones are of one row, so long that
   threads share its entries. */
static PoiseErr TakeMany(PoiseContext ctx, void *arg)
{
  enum { N = 30000, MANY = 60000, COUNT = MANY + N };
  PoiseInt *rows = malloc(COUNT * sizeof *rows), *cols = malloc(COUNT * sizeof *cols);
  double *v = malloc(COUNT * sizeof *v);
  PoiseVec x, y;
  PoiseMat A;
  for (PoiseInt k = 0; k < COUNT; k++) {
    rows[k] = k % 7 ? (k / 2 + Below(300, 1, (uint64_t)k)) % N : Below(N, 2, (uint64_t)k) - 1;
    cols[k] = (rows[k] + N + Below(2, 3, (uint64_t)k)) % N;
    if (k >= MANY) rows[k] = N / 2, cols[k] = k - MANY;
    v[k] = TestRandom(4, (uint64_t)k);
  }
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &y));
  POISE_TRY(PoiseVecAddValues(x, COUNT, rows, v));
  POISE_TRY(PoiseVecAssemble(x));
  SampleKeep(ctx, arg, SampleDigest(x));
  POISE_TRY(PoiseMatSetPatternCOO(A, COUNT, rows, cols));
  POISE_TRY(PoiseMatSetValuesCOO(A, v));
  POISE_TRY(PoiseMatMult(A, x, y));
  SampleKeep(ctx, arg, SampleDigest(y));
  POISE_TRY(PoiseVecSetValues(x, COUNT, rows, v));
  POISE_TRY(PoiseVecAssemble(x));
  SampleKeep(ctx, arg, SampleDigest(x));
  free(rows), free(cols), free(v);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return PoiseMatDestroy(&A);
}

static void TestSharedBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(TakeMany);
}

static const Test tests[] = {
    {"shared_bits", TestSharedBits, TEST_SERIAL | TEST_HOST_ONLY},
    {"adding_does_not_wait", TestAddingDoesNotWait, 0},
    {"smallest_index", TestSmallestIndex, 0},
    {"norms_of_any_size", TestNormsOfAnySize, 0},
    {"rounds", TestRounds, 0},
    {"last_stays", TestLastStays, 0},
    {"wide_block", TestWideBlock, 0},
    {"long_row", TestLongRow, 0},
    {"local", TestLocal, 0},
    {"local_errors", TestLocalErrors, 0},
    {"kept", TestKept, 0},
    {"mixed", TestMixed, 0},
    {"reading", TestReading, 0},
    {"zero_rows", TestZeroRows, 0},
    {"zero_rows_errors", TestZeroRowsErrors, 0},
    {"arithmetic", TestArithmetic, 0},
    {"borrowed", TestBorrowed, 0},
    {"diagonals", TestDiagonals, 0},
    {"adding", TestAdding, 0},
    {"copies", TestCopies, 0},
    {"symmetric", TestSymmetric, 0},
    {"change_errors", TestChangeErrors, 0},
    {"triplets", TestTriplets, 0},
    {"widened", TestWidened, 0},
    {"many_triplets", TestManyTriplets, 0},
    {"scattered_triplets", TestScatteredTriplets, 0},
    {"long_runs", TestLongRuns, 0},
    {"triplet_errors", TestTripletErrors, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "assembly", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Maximum product matchings, by what defines them: no other choice of entries has a larger product. Solves
   that exchange and scale columns, in the residual of the application's equations. Minimum degree, by its
   fill. */
#include "ksp/reordered.h"
#include "mat/order/graph.h"
#include "mat/order/match.h"
#include "problem.h"

/* ---- matchings ------------------------------------------------------------------------------- */

enum { MOST = 6, ENTRIES = 3 * MOST * MOST }; /* rows of a small matrix; entries, of which some stand twice */

typedef struct Dense {
  int64_t n, nz;
  int32_t row[ENTRIES], col[ENTRIES];
  double log[ENTRIES];     /* log2 of sizes */
  double most[MOST][MOST]; /* the largest of each place; -INFINITY: none */
  double best;             /* the largest sum of one entry of each row, in as many columns as can be, */
  int64_t matched;         /* which are so many */
} Dense;

/* Try all choices of columns for row i and those behind it; row i may also go without. */
static void TryAll(Dense *d, int64_t i, unsigned used, int64_t matched, double sum)
{
  if (i == d->n && (matched > d->matched || (matched == d->matched && sum > d->best)))
    d->matched = matched, d->best = sum;
  if (i == d->n) return;
  for (int64_t j = 0; j < d->n; j++)
    if (!(used >> j & 1) && d->most[i][j] > -INFINITY)
      TryAll(d, i + 1, used | 1u << j, matched + 1, sum + d->most[i][j]);
  TryAll(d, i + 1, used, matched, sum);
}

static void Put(Dense *d, int64_t i, int64_t j, double log)
{
  d->row[d->nz] = (int32_t)i, d->col[d->nz] = (int32_t)j;
  d->log[d->nz++] = log;
  d->most[i][j] = fmax(d->most[i][j], log);
}

static void Begin(Dense *d, int64_t n)
{
  *d = (Dense){.n = n, .best = -INFINITY, .matched = -1};
  for (int i = 0; i < MOST; i++)
    for (int j = 0; j < MOST; j++) d->most[i][j] = -INFINITY;
}

/* The same as Sizes. Columns of a row stand in the order in which they were put. */
static bool MakeSizes(PoiseContext ctx, int64_t n, int64_t nz, Sizes *s)
{
  *s = (Sizes){.n = n};
  return CHECK_OK(poiseAllocArray(ctx, n + 1, sizeof(int64_t), "test", &s->start)) &&
         CHECK_OK(poiseAllocArray(ctx, nz, sizeof(int32_t), "test", &s->col)) &&
         CHECK_OK(poiseAllocArray(ctx, nz, sizeof(double), "test", &s->size));
}

static bool SizesOf(PoiseContext ctx, const Dense *d, Sizes *s)
{
  int64_t at = 0;
  if (!MakeSizes(ctx, d->n, d->nz, s)) return false;
  for (int64_t i = 0; i < d->n; i++) {
    for (int64_t k = 0; k < d->nz; k++)
      if (d->row[k] == i) s->col[at] = d->col[k], s->size[at++] = d->log[k];
    s->start[i + 1] = at;
  }
  return true;
}

/* Each row has another column. */
static void CheckColumns(const Matching *m)
{
  int64_t without = 0;
  char *used = calloc((size_t)m->n + 1, 1);
  for (int64_t i = 0; i < m->n; i++) {
    without += m->column[i] < 0;
    if (m->column[i] < 0) continue;
    CHECK(m->column[i] < m->n && !used[m->column[i]]);
    used[m->column[i]] = 1;
  }
  CHECK_INT(without, m->unmatched);
  free(used);
}

static void CheckAgainstAll(PoiseContext ctx, Dense *d)
{
  Sizes s;
  Matching m;
  double sum = 0;
  if (!SizesOf(ctx, d, &s) || !CHECK_OK(poiseMatch(ctx, &s, &m))) return;
  TryAll(d, 0, 0, 0, 0);
  CheckColumns(&m);
  CHECK_INT(m.n - m.unmatched, d->matched);
  for (int64_t i = 0; i < d->n; i++) {
    if (m.column[i] < 0) continue;
    CHECK(d->most[i][m.column[i]] > -INFINITY);
    sum += d->most[i][m.column[i]];
  }
  if (m.unmatched == 0) CHECK_NEAR(sum, d->best, 1e-9 * (1 + fabs(d->best)));
  for (int64_t k = 0; k < d->nz && m.unmatched == 0; k++) {
    double scaled = d->log[k] + m.row[d->row[k]] + m.col[d->col[k]];
    bool matched = m.column[d->row[k]] == d->col[k] && d->log[k] == d->most[d->row[k]][d->col[k]];
    CHECK(scaled <= 1e-9);
    if (matched) CHECK(scaled >= -1e-9);
  }
  poiseSizesDestroy(ctx, &s);
  poiseMatchingDestroy(ctx, &m);
}

/* Entries by chance, of sizes that range over 2^range. */
static void TestAgainstAll(PoiseContext ctx)
{
  static const double ranges[] = {0, 4, 40, 2000};
  int64_t singular = 0, draws = 0;
  for (uint64_t draw = 0; draw < 1600; draw++) {
    Dense d;
    double range = ranges[draw % 4], share = 0.2 + 0.2 * (double)(draw / 4 % 5);
    Begin(&d, (int64_t)(draw / 20 % (MOST + 1)));
    for (uint64_t k = 0; k < (uint64_t)(d.n * d.n); k++) {
      double chance = 0.5 + 0.5 * TestRandom(draw, k), size = rint(range * TestRandom(draw + 5000, k));
      if (range == 40) size = range * TestRandom(draw + 5000, k); /* others have many equal sums */
      int64_t i = (int64_t)k / d.n, j = (int64_t)k % d.n;
      if (chance < share) Put(&d, i, j, size);
      if (chance < share / 4) Put(&d, i, j, size + 1); /* twice */
    }
    CheckAgainstAll(ctx, &d);
    draws++, singular += d.matched < d.n;
  }
  CHECK(singular > draws / 10 && singular < 9 * draws / 10);
}

/* Rows that know two columns, the second of which is smaller, and a last row that knows the first column
   alone: all must give way. Backwards: the rows stand in reverse. */
static void Chain(PoiseContext ctx, int32_t n, bool backwards)
{
  Sizes s;
  Matching m;
  if (!MakeSizes(ctx, n, 2 * n, &s)) return;
  for (int32_t i = 0; i < n; i++) {
    int32_t k = backwards ? n - 1 - i : i, last = k == n - 1;
    s.start[i + 1] = s.start[i] + 2 - last;
    s.col[s.start[i]] = last ? 0 : k;
    if (!last) s.col[s.start[i] + 1] = k + 1, s.size[s.start[i] + 1] = -0.25 * (1 + k % 3);
  }
  if (CHECK_OK(poiseMatch(ctx, &s, &m))) CheckColumns(&m);
  CHECK_INT(m.unmatched, 0);
  for (int32_t i = 0; i < n; i++) {
    int32_t k = backwards ? n - 1 - i : i;
    if (!CHECK_INT(m.column[i], k == n - 1 ? 0 : k + 1)) break;
  }
  poiseSizesDestroy(ctx, &s);
  poiseMatchingDestroy(ctx, &m);
}

/* Entry k of row i: the first is the largest when rows and columns are brought to one unit. */
static int32_t HiddenColumn(int32_t n, int32_t i, int k)
{
  double chance = TestRandom(3, (uint64_t)i * 5 + (uint64_t)k);
  return k ? (int32_t)((0.5 + 0.49 * chance) * n) : (int32_t)((int64_t)i * 7919 % n);
}

static double HiddenSize(int32_t i, int32_t col, int k)
{
  return 300 * TestRandom(1, (uint64_t)i) + 300 * TestRandom(2, (uint64_t)col) - (k ? 1 + k : 0);
}

/* Entries of a permutation, among smaller ones, are found, whatever rows and columns are multiplied by. Their
   scales are found too. */
static void Hidden(PoiseContext ctx, int32_t n)
{
  enum { EACH = 6 };
  Sizes s;
  Matching m;
  if (!MakeSizes(ctx, n, (int64_t)n * EACH, &s)) return;
  for (int32_t i = 0; i < n; i++) {
    s.start[i + 1] = (int64_t)(i + 1) * EACH;
    for (int k = 0; k < EACH; k++) {
      int64_t at = s.start[i] + (k + i) % EACH;
      s.col[at] = HiddenColumn(n, i, k);
      s.size[at] = HiddenSize(i, s.col[at], k);
    }
  }
  if (CHECK_OK(poiseMatch(ctx, &s, &m))) CheckColumns(&m);
  CHECK(m.walked < 10 * (int64_t)n * EACH); /* whatever the units of rows and columns are */
  for (int32_t i = 0; i < n; i++) {
    if (!CHECK_INT(m.column[i], HiddenColumn(n, i, 0))) break;
    for (int k = 0; k < EACH; k++) {
      int32_t col = HiddenColumn(n, i, k);
      double scaled = HiddenSize(i, col, k) + m.row[i] + m.col[col];
      if (!CHECK(scaled <= 1e-8 && (k || scaled >= -1e-8))) return;
    }
  }
  poiseSizesDestroy(ctx, &s);
  poiseMatchingDestroy(ctx, &m);
}

/* More rows than columns: so many are left over. Those that look for a column in vain are not many times as
   much work as there are entries. */
static void LeftOver(PoiseContext ctx, int32_t n, int32_t columns)
{
  enum { EACH = 8 };
  Sizes s;
  Matching m;
  if (!MakeSizes(ctx, n, (int64_t)n * EACH, &s)) return;
  for (int32_t i = 0; i < n; i++) {
    s.start[i + 1] = (int64_t)(i + 1) * EACH;
    for (int32_t k = 0; k < EACH; k++) s.col[s.start[i] + k] = (i + k * k) % columns;
  }
  if (CHECK_OK(poiseMatch(ctx, &s, &m))) CheckColumns(&m);
  CHECK_INT(m.unmatched, n - columns);
  CHECK(m.walked < 4 * (int64_t)n * EACH);
  poiseSizesDestroy(ctx, &s);
  poiseMatchingDestroy(ctx, &m);
}

static void TestShapes(PoiseContext ctx)
{
  Chain(ctx, 3000, false);
  Chain(ctx, 3000, true);
  Chain(ctx, 1, false);
  Hidden(ctx, 20000);
  LeftOver(ctx, 20000, 2500);
}

/* ---- matrices -------------------------------------------------------------------------------- */

enum { N = 97 }; /* prime */

/* Row i's large entry is in column Partner(i): within a rank, if its rows may not leave it. */
typedef struct Kin {
  PoiseInt begin, n; /* of this rank */
  bool here;
} Kin;

static PoiseInt Partner(const Kin *k, PoiseInt i)
{
  return k->here ? k->begin + (k->n - 1 - (i - k->begin)) : (i + 31) % N;
}

/* Row i and column j are multiplied by these. */
static double RowScale(PoiseInt i)
{
  return ldexp(1, (int)(10 * TestRandom(21, (uint64_t)i)));
}

static double ColumnScale(PoiseInt j)
{
  return ldexp(1, (int)(12 * TestRandom(22, (uint64_t)j)));
}

/* Large entries, four smaller ones in each row, and zeros that are stored on the diagonal. turn: which
   matrix; of two turns the large entries are not in the same columns. */
static void Fill(PoiseMat A, bool here, int turn)
{
  Kin k = {A->rows->begin, A->rows->n, here};
  for (PoiseInt i = k.begin; i < k.begin + k.n; i++) {
    PoiseInt large = turn ? i : Partner(&k, i), other = turn ? Partner(&k, i) : i;
    double zero = 0, v = RowScale(i) * ColumnScale(large) * (2 + TestRandom(23, (uint64_t)i));
    for (PoiseInt q = 1; q < 5; q++) {
      PoiseInt j = (i + 13 * q * q) % N;
      double small = RowScale(i) * ColumnScale(j) * 0.3 * TestRandom(24, (uint64_t)(N * i + j));
      CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &small));
    }
    CHECK_OK(PoiseMatSetEntries(A, 1, &i, &other, &zero));
    CHECK_OK(PoiseMatSetEntries(A, 1, &i, &large, &v));
  }
  CHECK_OK(PoiseMatAssemble(A));
}

static PoiseMat Matrix(PoiseContext ctx, int layout, bool here)
{
  PoiseMat A;
  PoiseInt m = SampleLocal(ctx, layout, N);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A))) return NULL;
  Fill(A, here, 0);
  return A;
}

static bool Open(PoiseContext ctx, int layout, bool here, const char *method, const char *pc, Problem *s)
{
  if (!ProblemOpen(Matrix(ctx, layout, here), s)) return false;
  SampleFill(s->exact, 2);
  CHECK_OK(PoiseMatMult(s->A, s->exact, s->b));
  CHECK_OK(PoiseKSPSetType(s->ksp, method));
  CHECK_OK(PoiseKSPGetPC(s->ksp, &s->pc));
  CHECK_OK(PoisePCSetType(s->pc, pc));
  CHECK_OK(PoiseKSPSetPCSide(s->ksp, POISE_PC_RIGHT));
  return CHECK_OK(PoiseKSPSetTolerances(s->ksp, 1e-10, -1, -1, 500));
}

/* |b - A x| / |b| by the application's matrix */
static double TrueResidual(const Problem *s)
{
  PoiseVec r;
  if (!CHECK_OK(PoiseVecDuplicate(s->b, &r))) return NAN;
  CHECK_OK(PoiseMatResidual(s->A, s->b, s->x, r));
  double ratio = NormOf(r) / NormOf(s->b);
  CHECK_OK(PoiseVecDestroy(&r));
  return ratio;
}

static void Solve(Problem *s)
{
  if (!CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x))) return;
  double ratio = TrueResidual(s);
  CHECK(PoiseKSPConvergedReason(s->ksp) > 0);
  CHECK(ratio <= 1e-10);
  /* the norm that was monitored is that of b - A x */
  CHECK_NEAR(s->ksp->result.rnorm, ratio * NormOf(s->b), 1e-12 * NormOf(s->b));
}

static bool HasAmd(void)
{
#ifdef POISE_HAVE_AMD
  return true;
#else
  return false;
#endif
}

static bool IsThere(int order)
{
  return HasAmd() || (order != POISE_ORDER_AMD && order != POISE_ORDER_MATCH_AMD);
}

/* Without a matching there is nothing to divide by. */
static void Solving(PoiseContext ctx, int layout, bool here, const char *method, const char *pc)
{
  Problem s;
  if (!Open(ctx, layout, here, method, pc, &s)) return;
  CHECK(PoiseKSPSetUp(s.ksp) != POISE_OK);
  PoiseErrorClear();
  for (int order = POISE_ORDER_MATCH; order <= POISE_ORDER_MATCH_AMD; order++) {
    if (!IsThere(order)) continue;
    CHECK_OK(PoiseMatSetOrder(s.A, (PoiseOrder)order));
    SampleConstant(s.x, NAN);
    Solve(&s);
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
    CHECK_OK(PoiseVecCopy(s.exact, s.x));
    Solve(&s);
    CHECK_INT(PoiseKSPIterations(s.ksp), 0); /* the guess was moved */
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 0));
    int64_t calls = ctx->memory.calls;
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(ctx->memory.calls, calls);
  }
  ProblemClose(&s);
}

static void TestSolves(PoiseContext ctx)
{
  for (int layout = 0; layout < NLAYOUTS; layout++) {
    Solving(ctx, layout, true, "gmres", "ilu");
    Solving(ctx, layout, true, "bicgstab", "jacobi");
    Solving(ctx, layout, false, "bicgstab", "ilu");
    Solving(ctx, layout, false, "gmres", "ilut");
  }
}

/* Rows go to other ranks first. */
static void TestPartitions(PoiseContext ctx)
{
  for (int order = POISE_ORDER_MATCH; order <= POISE_ORDER_MATCH_RCM; order++) {
    Problem s;
    if (!Open(ctx, LAST, true, "gmres", "ilu", &s)) return;
    CHECK_OK(PoiseMatSetPartition(s.A, POISE_PARTITION_NONZEROS));
    CHECK_OK(PoiseMatSetOrder(s.A, (PoiseOrder)order));
    Solve(&s);
    CHECK(s.ksp->A->rows->n <= N / PoiseSize(ctx) + 2);
    ProblemClose(&s);
  }
}

static void CheckDiagonal(PoiseMat B, bool here)
{
  for (PoiseInt i = B->rows->begin; i < B->rows->begin + B->rows->n; i++) {
    const PoiseInt *cols;
    const double *v;
    PoiseInt count;
    double diagonal = 0, most = 0;
    if (!CHECK_OK(PoiseMatGetRow(B, i, &count, &cols, &v))) break;
    for (PoiseInt k = 0; k < count; k++) {
      bool own = cols[k] >= B->rows->begin && cols[k] < B->rows->begin + B->rows->n;
      if (own || !here) most = fmax(most, fabs(v[k]));
      if (cols[k] == i) diagonal = fabs(v[k]);
    }
    CHECK(diagonal > 0 && most <= 2 * diagonal);
  }
}

/* Of the copy, each diagonal entry is the largest of its row, to the factor of 2 that powers of 2 leave.
   Where ranks match their own columns it is the largest in these. */
static void TestCopy(PoiseContext ctx)
{
  for (int k = 0; k < 3; k++) {
    bool here = k == 1, moves = k == 2;
    Problem s;
    if (!Open(ctx, UNEVEN, here, "gmres", "none", &s)) return;
    CHECK_OK(PoiseMatSetPartition(s.A, moves ? POISE_PARTITION_NONZEROS : POISE_PARTITION_ROWS));
    CHECK_OK(PoiseMatSetOrder(s.A, moves ? POISE_ORDER_MATCH_RCM : POISE_ORDER_MATCH));
    CHECK_OK(PoiseKSPSetUp(s.ksp));
    CHECK(s.ksp->A != s.A);
    CheckDiagonal(s.ksp->A, here);
    ProblemClose(&s);
  }
}

/* Its diagonal is stored. */
static void SetDiagonal(PoiseMat A, double diagonal)
{
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++)
    CHECK_OK(PoiseMatSetEntries(A, 1, &i, &i, &diagonal));
  CHECK_OK(PoiseMatAssemble(A));
}

/* A rank's own columns do for a matching, but other ranks' have entries a million times as large. */
static void TestElsewhere(PoiseContext ctx)
{
  Problem s;
  if (!Open(ctx, UNEVEN, false, "gmres", "none", &s)) return;
  SetDiagonal(s.A, 1e-6);
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  CHECK_OK(PoiseKSPSetUp(s.ksp));
  CheckDiagonal(s.ksp->A, false);
  ProblemClose(&s);
}

/* ---- nothing but a permutation --------------------------------------------------------------- */

static double Power(PoiseInt i)
{
  return ldexp(1, (int)(i * 37 % 11) - 5);
}

/* One entry in each row: A is a permutation times powers of 2. */
static PoiseMat OnlyPartners(PoiseContext ctx, PoiseInt n)
{
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return NULL;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++) {
    PoiseInt j = (i + 2) % n;
    CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &(double){Power(i)}));
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* z = A^-1 r, of the application's r and z; arg: A */
static PoiseErr Invert(void *arg, PoiseVec r, PoiseVec z)
{
  PoiseMat A = arg, T;
  PoiseVec d;
  POISE_TRY(PoiseMatTranspose(A, &T));
  POISE_TRY(PoiseVecDuplicate(r, &d));
  PoiseErr e = PoiseVecCopy(r, d);
  double *p;
  if (!e) e = PoiseVecGetUpdate(d, &p);
  for (PoiseInt i = 0; !e && i < A->rows->n; i++)
    p[i] /= Power(i + A->rows->begin) * Power(i + A->rows->begin);
  if (!e) e = PoiseVecRestore(d, &p);
  if (!e) e = PoiseMatMult(T, d, z);
  PoiseVecDestroy(&d);
  PoiseMatDestroy(&T);
  return e;
}

/* M = diag(B) is then A itself, so that M^-1 is applied to the application's vectors, and a shell that
   inverts A to the solver's, without rounding. */
static void TestApply(PoiseContext ctx)
{
  for (int n = 1; n < 18; n += 8) {
    Problem s;
    PoiseVec z;
    if (!ProblemOpen(OnlyPartners(ctx, n), &s)) return;
    SampleFill(s.exact, 5);
    CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
    CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH_RCM));
    CHECK_OK(PoiseKSPSetType(s.ksp, "richardson"));
    CHECK_OK(PoiseKSPGetPC(s.ksp, &s.pc));
    CHECK_OK(PoisePCSetType(s.pc, "jacobi"));
    CHECK_OK(PoiseVecDuplicate(s.x, &z));
    CHECK_OK(PoisePCApply(s.pc, s.b, z));
    CHECK(SampleDigest(z) == SampleDigest(s.exact));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(SampleDigest(s.x) == SampleDigest(s.exact));
    CHECK_INT(PoiseKSPIterations(s.ksp), 1);
    CHECK(n == 1 || (s.ksp->arranged->matched.exchanged == n && s.ksp->arranged->matched.least == 0));
    CHECK_OK(PoisePCSetShell(s.pc, &(PoiseShellPC){.apply = Invert}, s.A));
    CHECK_OK(PoiseVecSet(s.x, 0));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(SampleDigest(s.x) == SampleDigest(s.exact));
    CHECK_INT(PoiseKSPIterations(s.ksp), 1);
    CHECK_OK(PoiseVecDestroy(&z));
    ProblemClose(&s);
  }
}

static PoiseErr Build(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  Problem *s = arg;
  PoiseVec r;
  double mine = NAN;
  (void)iteration;
  POISE_TRY(PoiseKSPBuildSolution(ksp, s->x));
  POISE_TRY(PoiseVecDuplicate(s->b, &r));
  PoiseErr e = PoiseMatResidual(s->A, s->b, s->x, r);
  if (!e) e = PoiseVecNorm(r, POISE_NORM_2, &mine);
  CHECK_NEAR(mine, norm, 1e-11 * NormOf(s->b));
  PoiseVecDestroy(&r);
  return e;
}

/* Norms that monitors see are those of b - A x, with the x that they can have. */
static void TestIterates(PoiseContext ctx)
{
  Problem s;
  PoiseVec x;
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_replay 0"));
  if (!Open(ctx, EVEN, false, "gmres", "ilu", &s)) return;
  CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
  CHECK_OK(PoiseVecDuplicate(s.x, &x));
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  CHECK_OK(PoiseKSPAddMonitor(s.ksp, Build, &s));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, x));
  CHECK(PoiseKSPIterations(s.ksp) > 1);
  CHECK_OK(PoiseVecDestroy(&x));
  ProblemClose(&s);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The large entries go elsewhere: a new matching. A preconditioner that is kept keeps the old one, and x is
   right all the same. */
static void TestValues(PoiseContext ctx)
{
  for (int keeps = 0; keeps < 2; keeps++) {
    Problem s;
    if (!Open(ctx, EVEN, false, "gmres", "ilu", &s)) return;
    CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
    Solve(&s);
    PoiseInt builds = s.pc->builds;
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, keeps));
    CHECK_OK(PoiseMatScale(s.A, 3));
    CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
    Solve(&s);
    CHECK_INT(s.pc->builds, builds + !keeps);
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 0));
    Fill(s.A, false, 1);
    CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
    Solve(&s);
    CHECK_INT(s.pc->builds, builds + 2 - keeps);
    CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_NATURAL)); /* its diagonal is the large one now */
    Solve(&s);
    CHECK(s.ksp->A == s.A);
    ProblemClose(&s);
  }
}

/* M is made of another matrix, whose columns are exchanged and scaled as A's. */
static void TestOther(PoiseContext ctx)
{
  Problem s;
  if (!Open(ctx, UNEVEN, false, "gmres", "ilu", &s)) return;
  CHECK_OK(PoiseMatDuplicate(s.A, 1, &s.P));
  CHECK_OK(PoiseMatScale(s.P, 1.25));
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  Solve(&s);
  PoiseInt its = PoiseKSPIterations(s.ksp);
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, s.P));
  Solve(&s);
  CHECK_INT(PoiseKSPIterations(s.ksp), its);
  CHECK_OK(PoiseMatScale(s.P, 0.5));
  Solve(&s);
  CHECK_INT(PoiseKSPIterations(s.ksp), its);
  ProblemClose(&s);
}

/* Where the diagonal is the largest of its row nothing is done. */
static void TestAlready(PoiseContext ctx)
{
  Problem s;
  if (!ProblemOpenGrid(ctx, 9, 8, 1, "gmres", "ilu", &s)) return;
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(s.ksp->A == s.A);
  ProblemClose(&s);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Rows 5, 6 and 7 have entries in columns 2 and 3 alone, and zeros elsewhere. */
static PoiseMat Singular(PoiseContext ctx, double elsewhere)
{
  enum { ROWS = 12 };
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, ROWS, ROWS, &A))) return NULL;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++)
    for (PoiseInt j = 0; j < ROWS; j++) {
      bool few = i >= 5 && i <= 7;
      double v = few && j != 2 && j != 3 ? elsewhere : 1 + TestRandom(9, (uint64_t)(i * ROWS + j)) / 2;
      CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static bool NamesOneOf(const char *text, const char *a, const char *b, const char *c)
{
  return strstr(text, a) || strstr(text, b) || strstr(text, c);
}

static void TestStructure(PoiseContext ctx)
{
  Problem s;
  PoiseErr e;
  if (!ProblemOpen(Singular(ctx, 0), &s)) return;
  e = poiseMatCheckStructure(s.A);
  CHECK(e == POISE_ERR_NUMERIC || e == POISE_ERR_REMOTE);
  CHECK(NamesOneOf(PoiseErrorMessage(), "singular: rows 5 (1 of 12)", "singular: rows 6 (1 of 12)",
                   "singular: rows 7 (1 of 12)"));
  PoiseErrorClear();
  CHECK_OK(PoiseVecSet(s.b, 1));
  CHECK_OK(PoiseKSPSetType(s.ksp, "gmres"));
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  e = PoiseKSPSolve(s.ksp, s.b, s.x);
  CHECK(e == POISE_ERR_NUMERIC || e == POISE_ERR_REMOTE);
  CHECK(strstr(PoiseErrorMessage(), "structurally singular") != NULL);
  PoiseErrorClear();
  CHECK_OK(PoiseMatDestroy(&s.A)); /* another matrix, and all is well */
  s.A = Singular(ctx, 1e-3);
  CHECK_OK(poiseMatCheckStructure(s.A));
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
  ProblemClose(&s);
}

static void TestRefused(PoiseContext ctx)
{
  Problem s;
  PoiseMat B;
  if (!Open(ctx, EVEN, false, "gmres", "none", &s)) return;
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  CHECK_ERR(PoiseMatRearrange(s.A, &B, NULL), POISE_ERR_UNSUPPORTED, "only solvers work with it");
  CHECK_OK(PoiseMatSetNullSpace(s.A, 1, 0, NULL));
  CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_UNSUPPORTED, "null space");
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL));
  CHECK_OK(PoiseKSPSetUp(s.ksp));
  if (!HasAmd()) CHECK_ERR(PoiseMatSetOrder(s.A, POISE_ORDER_AMD), POISE_ERR_UNSUPPORTED, "POISE_AMD");
  ProblemClose(&s);
  if (!ProblemOpenGrid(ctx, 6, 6, 2, "gmres", "none", &s)) return;
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_UNSUPPORTED, "block size 2");
  ProblemClose(&s);
}

static void TestNotFinite(PoiseContext ctx)
{
  Problem s;
  PoiseInt i = 3, j = 4;
  if (!ProblemOpen(Singular(ctx, 1), &s)) return;
  CHECK_OK(PoiseMatAddEntries(s.A, 1, &i, &j, PoiseRank(ctx) ? &(double){0} : &(double){INFINITY}));
  CHECK_OK(PoiseMatAssemble(s.A));
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH));
  PoiseErr e = PoiseKSPSetUp(s.ksp);
  /* an entry of a column of another rank's is left to who reads it */
  if (PoiseSize(ctx) == 1) CHECK(e == POISE_ERR_NUMERIC && strstr(PoiseErrorMessage(), "row 3") != NULL);
  PoiseErrorClear();
  ProblemClose(&s);
}

/* ---- the range of numbers -------------------------------------------------------------------- */

/* Units of unknowns are 2^1200 apart, and none of x. */
static void TestRange(PoiseContext ctx)
{
  Problem s;
  PoiseMat A;
  enum { ROWS = 8 };
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, ROWS, ROWS, &A))) return;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++)
    for (PoiseInt j = 0; j < ROWS; j++) {
      double v = j == (i + 3) % ROWS ? 1 : 0.1 * TestRandom(4, (uint64_t)(i * ROWS + j));
      v = ldexp(v, j % 2 ? -600 : 600);
      CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  if (!ProblemOpen(A, &s)) return;
  CHECK_OK(PoiseVecSet(s.b, 1));
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_MATCH));
  CHECK_OK(PoiseKSPSetType(s.ksp, "gmres"));
  CHECK_OK(PoiseKSPSetPCSide(s.ksp, POISE_PC_RIGHT));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &s.pc));
  CHECK_OK(PoisePCSetType(s.pc, "jacobi"));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, -1, -1, -1));
  Solve(&s);
  ProblemClose(&s);
}

/* ---- no rows, no memory ---------------------------------------------------------------------- */

static void TestEmpty(PoiseContext ctx)
{
  for (int order = POISE_ORDER_AMD; order <= POISE_ORDER_MATCH_AMD; order++) {
    PoiseMat A;
    Problem s;
    if (!IsThere(order)) continue;
    if (!CHECK_OK(PoiseMatCreate(ctx, 0, 0, 0, 0, &A))) return;
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseMatSetOrder(A, (PoiseOrder)order));
    if (!ProblemOpen(A, &s)) return;
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_OK(poiseMatCheckStructure(A));
    ProblemClose(&s);
  }
}

static PoiseErr SetUpAnew(PoiseContext ctx, void *arg)
{
  PoiseKSP ksp = NULL;
  Problem *s = arg;
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  PoiseErr e = PoiseKSPSetOperators(ksp, s->A, NULL);
  if (!e) e = PoiseKSPSetUp(ksp);
  PoiseKSPDestroy(&ksp);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  for (int here = 0; here < 2; here++) {
    Problem s;
    if (!Open(ctx, EVEN, here, "gmres", "none", &s)) return;
    CHECK_OK(PoiseMatSetOrder(s.A, here ? POISE_ORDER_MATCH : POISE_ORDER_MATCH_RCM));
    TestAllocationFailures(ctx, SetUpAnew, &s);
    ProblemClose(&s);
  }
}

/* ---- minimum degree -------------------------------------------------------------------------- */

enum { SIDE = 12, CELLS = SIDE * SIDE };

/* Entries of the Cholesky factor of a graph whose nodes are eliminated in this order. */
static int64_t Factor(bool graph[CELLS][CELLS], int n, const int32_t *order)
{
  static bool g[CELLS][CELLS];
  int64_t fill = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) g[i][j] = graph[order[i]][order[j]];
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) {
      if (!g[i][k]) continue;
      fill++;
      for (int j = k + 1; j < n; j++) g[i][j] |= g[k][j] || g[j][k];
    }
  return fill;
}

/* Of a star whose hub is first, eliminated as it is, all is filled; by minimum degree nothing. Of a grid
   there is less fill than along its rows. */
static void TestMinimumDegree(PoiseContext ctx)
{
  static bool graph[CELLS][CELLS];
  if (!HasAmd()) TEST_SKIP("this library has no AMD");
  for (int star = 0; star < 2; star++) {
    Adjacency g = {.n = CELLS};
    int32_t order[CELLS], natural[CELLS];
    int64_t at = 0;
    char seen[CELLS] = {0};
    if (!CHECK_OK(poiseAllocArray(ctx, CELLS + 1, sizeof *g.start, "test", &g.start)) ||
        !CHECK_OK(poiseAllocArray(ctx, (int64_t)CELLS * CELLS, sizeof *g.adj, "test", &g.adj)))
      return;
    for (int i = 0; i < CELLS; i++) {
      for (int j = 0; j < CELLS; j++) {
        bool beside = abs(i - j) == SIDE || (abs(i - j) == 1 && i / SIDE == j / SIDE);
        graph[i][j] = i == j || (star ? i == 0 || j == 0 : beside);
        if (graph[i][j] && (i <= j || i % 3)) g.adj[at++] = j; /* some one-sided: A + A^T counts */
      }
      g.start[i + 1] = at;
      natural[i] = i;
    }
    if (!CHECK_OK(poiseAmd(ctx, &g, order))) return;
    for (int i = 0; i < CELLS; i++) CHECK(order[i] >= 0 && order[i] < CELLS && !seen[order[i]]++);
    if (star) CHECK_INT(Factor(graph, CELLS, order), CELLS - 1);
    if (!star) CHECK(Factor(graph, CELLS, order) < 0.7 * (double)Factor(graph, CELLS, natural));
  }
}

/* Bytes of factors with all fill, of a grid that is solved in this order. */
static int64_t Factors(PoiseContext ctx, PoiseOrder order)
{
  Problem s;
  PoiseBytes bytes = {0};
  if (!ProblemOpenGrid(ctx, 20, 20, 1, "gmres", "ilu", &s)) return 0;
  CHECK_OK(PoiseMatSetOrder(s.A, order));
  CHECK_OK(PoiseOptionsSetString(ctx, "-pc_factor_levels 1000"));
  CHECK_OK(PoisePCSetFromOptions(s.pc));
  CHECK_OK(PoiseOptionsClear(ctx, "pc_factor_levels"));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, -1, -1, -1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0 && TrueResidual(&s) < 1e-8);
  if (PoiseSize(ctx) == 1) CHECK(PoiseKSPIterations(s.ksp) <= 2); /* they are all of A */
  CHECK_OK(PoisePCBytes(s.pc, &bytes));
  ProblemClose(&s);
  return bytes.host + bytes.device;
}

static void TestAmdSolve(PoiseContext ctx)
{
  if (!HasAmd()) TEST_SKIP("this library has no AMD");
  double amd = (double)Factors(ctx, POISE_ORDER_AMD), rcm = (double)Factors(ctx, POISE_ORDER_RCM);
  CHECK(amd < (PoiseSize(ctx) == 1 ? 0.8 : 1) * rcm || PoiseSize(ctx) > 2);
}

/* ---- the same in every run ------------------------------------------------------------------- */

static PoiseErr RunIt(PoiseContext ctx, void *arg)
{
  Problem s;
  if (!Open(ctx, EVEN, false, "bicgstab", "ilu", &s)) return POISE_OK;
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_MATCH_RCM));
  Solve(&s);
  SampleKeep(ctx, arg, SampleDigest(s.x));
  ProblemClose(&s);
  return POISE_OK;
}

static void TestRepeats(PoiseContext ctx)
{
  SampleRun first, threads, mock;
  (void)ctx;
  SampleRunOn("host", 3, 1, RunIt, &first);
  SampleRunOn("host", 3, 2, RunIt, &threads);
  SampleRunOn("mock", 3, 1, RunIt, &mock);
  CHECK(SampleSame(&first, &threads));
  CHECK(SampleSame(&first, &mock));
}

static const Test tests[] = {
    {"against_all", TestAgainstAll, TEST_SERIAL | TEST_HOST_ONLY},
    {"shapes", TestShapes, TEST_SERIAL | TEST_HOST_ONLY},
    {"solves", TestSolves, 0},
    {"partitions", TestPartitions, 0},
    {"copy", TestCopy, 0},
    {"elsewhere", TestElsewhere, 0},
    {"apply", TestApply, 0},
    {"iterates", TestIterates, 0},
    {"values", TestValues, 0},
    {"other", TestOther, 0},
    {"already", TestAlready, 0},
    {"structure", TestStructure, 0},
    {"refused", TestRefused, 0},
    {"not_finite", TestNotFinite, 0},
    {"range", TestRange, 0},
    {"empty", TestEmpty, 0},
    {"memory", TestMemory, 0},
    {"minimum_degree", TestMinimumDegree, TEST_SERIAL | TEST_HOST_ONLY},
    {"amd_solve", TestAmdSolve, 0},
    {"repeats", TestRepeats, TEST_SERIAL | TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "match", tests);
}

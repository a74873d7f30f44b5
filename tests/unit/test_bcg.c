/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Block conjugate gradients. The error of each system after j iterations is the least in the block Krylov
  space, by a dense reference; residuals are what they are said to be. And blocks that are none: columns that
  depend on each other, are 0 or NaN, are of any size, or more than there are rows.
*/
#include "problem.h"

enum { MOST = 32 };

typedef struct Several {
  Problem p;
  PoiseVec B, X;
  int k;
} Several;

typedef double Entry(PoiseInt i, int j, int k); /* entry i of right-hand side j of k */

static double Random(PoiseInt i, int j, int k)
{
  (void)k;
  return TestRandom(17 + (uint64_t)j, (uint64_t)i);
}

static void Fill(PoiseVec X, Entry *entry)
{
  double *p;
  PoiseInt begin, end;
  int k = PoiseVecColumns(X);
  PoiseVecRange(X, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(X, &p))) return;
  for (PoiseInt i = begin; i < end; i++)
    for (int j = 0; j < k; j++) p[(i - begin) * k + j] = entry(i, j, k);
  CHECK_OK(PoiseVecRestore(X, &p));
}

static bool Open(PoiseContext ctx, int nx, int ny, int k, const char *method, const char *pc, Entry *entry,
                 Several *s)
{
  *s = (Several){.k = k};
  if (!ProblemOpenGrid(ctx, nx, ny, 1, method, pc, &s->p)) return false;
  if (!CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(s->p.b), nx * ny, k, &s->B))) return false;
  if (!CHECK_OK(PoiseVecDuplicate(s->B, &s->X))) return false;
  Fill(s->B, entry);
  CHECK_OK(PoiseKSPSetTolerances(s->p.ksp, 1e-9, -1, -1, 300));
  CHECK_OK(PoiseKSPKeepHistory(s->p.ksp, 1));
  return true;
}

static void Close(Several *s)
{
  CHECK_OK(PoiseVecDestroy(&s->B));
  CHECK_OK(PoiseVecDestroy(&s->X));
  ProblemClose(&s->p);
}

/* |b - A x| / |b| of system j, or of |b| = 0 |b - A x|. */
static double ResidualOf(Several *s, int j)
{
  CHECK_OK(PoiseVecGetColumn(s->B, j, s->p.b));
  CHECK_OK(PoiseVecGetColumn(s->X, j, s->p.x));
  double norm = NormOf(s->p.b);
  return ProblemResidual(&s->p) / (norm > 0 ? norm : 1);
}

/* All systems but `but` have converged, and their residuals are small. */
static void CheckSolved(Several *s, int but, double most, const char *what)
{
  for (int j = 0; j < s->k; j++) {
    if (j == but) continue;
    double residual = ResidualOf(s, j);
    PoiseKSPReason reason = PoiseKSPColumnReason(s->p.ksp, j);
    if (!(reason > 0 && residual <= most))
      printf("%s, system %d of %d: %s after %lld, residual %g\n", what, j, s->k, PoiseKSPReasonString(reason),
             (long long)PoiseKSPColumnIterations(s->p.ksp, j), residual);
    CHECK(reason > 0 && residual <= most);
  }
}

/* ---- optimality ------------------------------------------------------------------------------ */

enum { NX = 8, NY = 7, N = NX * NY };

/* The matrix of ScaledLaplacian. */
static double EntryOfA(int i, int j)
{
  int dx = abs(i % NX - j % NX), dy = abs(i / NX - j / NX);
  if (dx + dy > 1) return 0;
  return (i == j ? 4 : -1) * (1 + 0.4 * TestRandom(1, (uint64_t)i)) * (1 + 0.4 * TestRandom(1, (uint64_t)j));
}

static void Multiply(const double *x, double *y)
{
  for (int i = 0; i < N; i++) {
    y[i] = 0;
    for (int j = 0; j < N; j++) y[i] += EntryOfA(i, j) * x[j];
  }
}

static double Dot(const double *x, const double *y)
{
  double s = 0;
  for (int i = 0; i < N; i++) s += x[i] * y[i];
  return s;
}

/* Right-hand side j is A times this. */
static void Solution(int j, double *x)
{
  for (int i = 0; i < N; i++) x[i] = TestRandom(5 + (uint64_t)j, (uint64_t)i);
}

static double OfSolution(PoiseInt i, int j, int k)
{
  double x[N], s = 0;
  (void)k;
  Solution(j, x);
  for (int c = 0; c < N; c++) s += EntryOfA((int)i, c) * x[c];
  return s;
}

typedef struct Space { /* the block Krylov space, on each rank by itself */
  int size;
  double basis[N][N], image[N][N]; /* orthonormal with A; A times them */
  double direction[MOST][N];       /* what it grew by latest, of each system */
} Space;

/* Add v to the space, unless it is in it. */
static void Extend(Space *s, const double *v)
{
  double w[N], Aw[N], before, after;
  memcpy(w, v, sizeof w);
  Multiply(w, Aw);
  before = Dot(w, Aw);
  for (int again = 0; again < 3; again++)
    for (int b = 0; b < s->size; b++) {
      double c = Dot(s->image[b], w);
      for (int i = 0; i < N; i++) w[i] -= c * s->basis[b][i];
    }
  Multiply(w, Aw);
  after = Dot(w, Aw);
  if (s->size == N || after <= 1e-20 * before) return;
  for (int i = 0; i < N; i++) s->basis[s->size][i] = w[i] / sqrt(after);
  for (int i = 0; i < N; i++) s->image[s->size][i] = Aw[i] / sqrt(after);
  s->size++;
}

/* By M^-1 A of what it grew by latest, at first of the solutions; M is the diagonal of A, or 1. */
static void Grow(Space *s, bool jacobi, int k)
{
  for (int j = 0; j < k; j++) {
    double v[N], *d = s->direction[j];
    Multiply(d, v);
    double norm = sqrt(Dot(v, v));
    for (int i = 0; i < N; i++) d[i] = v[i] / norm / (jacobi ? EntryOfA(i, i) : 1);
  }
  for (int j = 0; j < k; j++) Extend(s, s->direction[j]);
}

/* The least error of system j in the space, in the A-norm; *whole: of x = 0. */
static double LeastError(const Space *s, int j, double *whole)
{
  double x[N], Ax[N], square;
  Solution(j, x);
  Multiply(x, Ax);
  square = Dot(x, Ax);
  *whole = sqrt(square);
  for (int b = 0; b < s->size; b++) square -= pow(Dot(s->basis[b], Ax), 2);
  return sqrt(fmax(square, 0));
}

/* That of the solver's x. */
static double ErrorOf(Several *s, int j)
{
  double *p, x[N], square = 0;
  PoiseInt begin, end;
  Solution(j, x);
  PoiseVecRange(s->p.b, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(s->p.b, &p))) return NAN;
  for (PoiseInt i = begin; i < end; i++) p[i - begin] = x[i];
  CHECK_OK(PoiseVecRestore(s->p.b, &p));
  CHECK_OK(PoiseVecGetColumn(s->X, j, s->p.x));
  CHECK_OK(PoiseVecAXPY(s->p.x, -1, s->p.b));
  CHECK_OK(PoiseMatMult(s->p.A, s->p.x, s->p.b));
  CHECK_OK(PoiseVecDot(s->p.x, s->p.b, &square));
  return sqrt(square);
}

static void Optimal(PoiseContext ctx, int k, const char *pc)
{
  Several s;
  Space *space = calloc(1, sizeof *space);
  if (!CHECK(space) || !Open(ctx, NX, NY, k, "bcg", pc, OfSolution, &s)) return;
  for (int j = 0; j < k; j++) Solution(j, space->direction[j]);
  for (int its = 1; its * k < N + k && its < 12; its++) {
    CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 0, 0, -1, its));
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    Grow(space, !strcmp(pc, "jacobi"), k);
    for (int j = 0; j < k; j++) {
      double whole, least = LeastError(space, j, &whole), error = ErrorOf(&s, j);
      bool same = fabs(error - least) <= 1e-6 * least + 1e-7 * whole;
      if (!same)
        printf("%s, %d iterations, system %d of %d: error %g, the least %g\n", pc, its, j, k, error, least);
      CHECK(same);
    }
  }
  free(space);
  Close(&s);
}

static void TestOptimal(PoiseContext ctx)
{
  Optimal(ctx, 2, "none");
  Optimal(ctx, 3, "jacobi");
  Optimal(ctx, 8, "none");
  Optimal(ctx, 17, "jacobi");
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* It takes fewer iterations than cg, the fewer the more systems, and x is right. */
static void TestFewer(PoiseContext ctx)
{
  static const int counts[] = {2, 8, 32};
  static const char *const pcs[] = {"none", "jacobi", "icc", "sor", "amg"};
  for (int m = 0; m < 5; m++) {
    PoiseInt before = 1000;
    for (int c = 0; c < 3; c++) {
      Several s;
      if (!Open(ctx, 30, 24, counts[c], "bcg", pcs[m], Random, &s)) return;
      CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
      CheckSolved(&s, -1, 1e-7, pcs[m]);
      PoiseInt its = PoiseKSPIterations(s.p.ksp), alone = 0;
      CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X)); /* once more, with what there is */
      CHECK_INT(PoiseKSPColumnIterations(s.p.ksp, 0) <= its, 1);
      for (int j = 0; j < 2; j++) {
        CHECK_OK(PoiseVecGetColumn(s.B, j, s.p.b));
        CHECK_OK(PoiseKSPSolve(s.p.ksp, s.p.b, s.p.x));
        if (PoiseKSPIterations(s.p.ksp) > alone) alone = PoiseKSPIterations(s.p.ksp);
      }
      if (!(its <= alone && its <= before))
        printf("%s, %d systems: %lld iterations, before %lld, alone %lld\n", pcs[m], counts[c],
               (long long)its, (long long)before, (long long)alone);
      CHECK(its <= alone && its <= before);
      if (m == 0 && c) CHECK(4 * its < 3 * alone);
      before = its;
      Close(&s);
    }
  }
}

/* One system is cg, whichever call it is. */
static void TestOne(PoiseContext ctx)
{
  Several s, t;
  double difference;
  if (!Open(ctx, 30, 20, 1, "bcg", "jacobi", Random, &s) || !Open(ctx, 30, 20, 1, "cg", "jacobi", Random, &t))
    return;
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  SetOptions(ctx, "-ksp_cg_variant phases");
  CHECK_OK(PoiseKSPSetFromOptions(t.p.ksp));
  CHECK_OK(PoiseVecGetColumn(t.B, 0, t.p.b));
  CHECK_OK(PoiseKSPSolve(t.p.ksp, t.p.b, t.p.x));
  CHECK_OK(PoiseVecGetColumn(s.X, 0, s.p.x));
  CHECK_OK(PoiseVecAXPY(s.p.x, -1, t.p.x));
  CHECK_OK(PoiseVecNorm(s.p.x, POISE_NORM_INF, &difference));
  CHECK_NEAR(difference, 0, 0);
  CHECK_INT(PoiseKSPColumnIterations(s.p.ksp, 0), PoiseKSPIterations(t.p.ksp));
  Close(&s);
  Close(&t);
}

/* The norm of b - A x as the solver measures it. */
static double NormOfResidual(Several *s, int j, PoiseNormType norm)
{
  Problem *p = &s->p;
  double value;
  CHECK_OK(PoiseVecGetColumn(s->B, j, p->b));
  CHECK_OK(PoiseVecGetColumn(s->X, j, p->x));
  if (!p->r) CHECK_OK(PoiseVecDuplicate(p->b, &p->r));
  CHECK_OK(PoiseMatMult(p->A, p->x, p->r));
  CHECK_OK(PoiseVecAXPY(p->r, -1, p->b));
  if (norm == POISE_KSP_NORM_UNPRECONDITIONED) return NormOf(p->r);
  CHECK_OK(PoisePCApply(p->pc, p->r, p->x));
  if (norm == POISE_KSP_NORM_PRECONDITIONED) return NormOf(p->x);
  CHECK_OK(PoiseVecDot(p->x, p->r, &value));
  return sqrt(fabs(value));
}

/* Norms and histories are those of b - A x, in each norm; the histories of all systems. */
static void TestNorms(PoiseContext ctx)
{
  static const PoiseNormType norms[] = {POISE_KSP_NORM_PRECONDITIONED, POISE_KSP_NORM_UNPRECONDITIONED,
                                        POISE_KSP_NORM_NATURAL};
  for (int m = 0; m < 3; m++) {
    Several s;
    if (!Open(ctx, 40, 30, 7, "bcg", "jacobi", Random, &s)) return;
    CHECK_OK(PoiseKSPSetNormType(s.p.ksp, norms[m]));
    CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 1e-6, -1, -1, -1));
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    for (int j = 0; j < s.k; j++) {
      PoiseInt count;
      const double *history;
      double norm = PoiseKSPColumnResidualNorm(s.p.ksp, j), own = NormOfResidual(&s, j, norms[m]);
      CHECK_NEAR(norm, own, 1e-6 * own);
      CHECK_OK(PoiseKSPColumnHistory(s.p.ksp, j, &count, &history));
      CHECK_INT(count, PoiseKSPColumnIterations(s.p.ksp, j) + 1);
      CHECK(count > 5 && history[count - 1] == norm && norm <= 1e-6 * history[0]);
      CHECK(count > 5 && history[count - 2] > 1e-6 * history[0]);
    }
    Close(&s);
  }
}

/* Without a norm as many iterations as are asked for. */
static void TestNoNorm(PoiseContext ctx)
{
  Several s;
  if (!Open(ctx, 40, 30, 3, "bcg", "jacobi", Random, &s)) return;
  CHECK_OK(PoiseKSPSetNormType(s.p.ksp, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, -1, -1, -1, 11));
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  for (int j = 0; j < 3; j++) {
    CHECK_INT(PoiseKSPColumnIterations(s.p.ksp, j), 11);
    CHECK_INT(PoiseKSPColumnReason(s.p.ksp, j), POISE_CONVERGED_ITS);
  }
  Close(&s);
}

static void CopyOf(PoiseVec X, double *to)
{
  const double *p;
  int k = PoiseVecColumns(X);
  CHECK_OK(PoiseVecGetRead(X, &p));
  for (PoiseInt i = 0; i < k * PoiseVecLocalSize(X); i++) to[i] = p[i];
  CHECK_OK(PoiseVecRestore(X, &p));
}

/* The same bits in each run, and where the loop is replayed as where it is eager. */
static void TestBits(PoiseContext ctx)
{
  Several s;
  if (!Open(ctx, 45, 40, 8, "bcg", "jacobi", Random, &s)) return;
  size_t bytes = (size_t)(8 * PoiseVecLocalSize(s.X)) * sizeof(double) + 8;
  double *first = calloc(1, bytes), *second = calloc(1, bytes);
  if (!CHECK(first && second)) return;
  for (int run = 0; run < 4; run++) {
    if (run == 2) SetOptions(ctx, "-ksp_replay 0");
    if (run == 2) CHECK_OK(PoiseKSPSetFromOptions(s.p.ksp));
    CHECK_OK(PoiseVecSet(s.X, 0));
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    CopyOf(s.X, run ? second : first);
    if (run) CHECK(!memcmp(first, second, bytes));
  }
  free(first);
  free(second);
  Close(&s);
}

/* ---- blocks that are none -------------------------------------------------------------------- */

/* Equal ones, their sums, one that is 0. */
static double Dependent(PoiseInt i, int j, int k)
{
  if (j == 3) return 0;
  if (j == 4) return 2 * Random(i, 0, k) - Random(i, 1, k);
  return Random(i, j % 3, k);
}

static double RankOne(PoiseInt i, int j, int k)
{
  return (1 + j) * Random(i, 0, k);
}

static double Nearly(PoiseInt i, int j, int k)
{
  return Random(i, 0, k) + (j ? pow(10, -2 * j) : 0) * Random(i, j, k);
}

static double WithNan(PoiseInt i, int j, int k)
{
  return i == 3 && j == 2 ? NAN : Random(i, j, k);
}

static double Unit(PoiseInt i, int j, int k)
{
  (void)k;
  return i == j;
}

static void TestDependent(PoiseContext ctx)
{
  static const struct {
    const char *name;
    Entry *entry;
    int but;
  } cases[] = {{"dependent", Dependent, -1},
               {"rank one", RankOne, -1},
               {"nearly", Nearly, -1},
               {"NaN", WithNan, 2},
               {"unit", Unit, -1}};
  static const char *const pcs[] = {"none", "jacobi", "lu"};
  for (int c = 0; c < 5; c++)
    for (int m = 0; m < 3; m++) {
      Several s;
      if (!Open(ctx, 31, 30, 8, "bcg", pcs[m], cases[c].entry, &s)) return;
      CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
      CheckSolved(&s, cases[c].but, 3e-8, cases[c].name);
      PoiseInt its = PoiseKSPColumnIterations(s.p.ksp, 0);
      if (cases[c].but >= 0) CHECK_INT(PoiseKSPColumnReason(s.p.ksp, cases[c].but), POISE_DIVERGED_NANORINF);
      CHECK_OK(PoiseVecGetColumn(s.B, 0, s.p.b));
      CHECK_OK(PoiseKSPSolve(s.p.ksp, s.p.b, s.p.x));
      CHECK(its <= PoiseKSPIterations(s.p.ksp) + 1);
      if (m < 2 && c != 1) CHECK(its < PoiseKSPIterations(s.p.ksp)); /* the others help */
      Close(&s);
    }
}

/* Columns that differ by little have the whole space from the start: as many iterations as if they were
   unlike. */
static void TestNearly(PoiseContext ctx)
{
  PoiseInt its[2];
  for (int m = 0; m < 2; m++) {
    Several s;
    if (!Open(ctx, 45, 40, 5, "bcg", "none", m ? Nearly : Random, &s)) return;
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    its[m] = PoiseKSPIterations(s.p.ksp);
    Close(&s);
  }
  if (its[1] > its[0] + 3)
    printf("%lld iterations, %lld where columns are alike\n", (long long)its[0], (long long)its[1]);
  CHECK(its[1] <= its[0] + 3);
}

/* More systems than rows, and no rows. */
static void TestFewRows(PoiseContext ctx)
{
  for (int n = 0; n < 8; n++) {
    Several s;
    if (!Open(ctx, n, 1, 5, "bcg", n % 2 ? "none" : "jacobi", Random, &s)) return;
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    if (n) CheckSolved(&s, -1, 1e-8, "few rows");
    CHECK(PoiseKSPIterations(s.p.ksp) <= n);
    Close(&s);
  }
}

static double Sizes(PoiseInt i, int j, int k)
{
  static const double sizes[] = {1e-200, 1e-150, 1e-130, 1, 1e130, 1e149, 1e200};
  return sizes[j] * Random(i, j, k);
}

static void TestSizes(PoiseContext ctx)
{
  Several s;
  if (!Open(ctx, 31, 30, 7, "bcg", "jacobi", Sizes, &s)) return;
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 1e-9, 0, -1, -1));
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  for (int j = 0; j < 7; j++) { /* residuals whose squares are numbers */
    PoiseVec b = s.p.b, x = s.p.x;
    double norm;
    CHECK_INT(PoiseKSPColumnReason(s.p.ksp, j), POISE_CONVERGED_RTOL);
    CHECK_OK(PoiseVecGetColumn(s.B, j, b));
    CHECK_OK(PoiseVecGetColumn(s.X, j, x));
    CHECK_OK(PoiseVecNorm(b, POISE_NORM_INF, &norm));
    CHECK_OK(PoiseVecScale(b, 1 / norm));
    CHECK_OK(PoiseVecScale(x, 1 / norm));
    CHECK(ProblemResidual(&s.p) <= 1e-7 * NormOf(b));
  }
  Close(&s);
}

/* A guess that solves one system, and is far from another. */
static void TestGuess(PoiseContext ctx)
{
  Several s;
  if (!Open(ctx, 31, 30, 3, "bcg", "jacobi", Random, &s)) return;
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 1e-12, -1, -1, -1));
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  CHECK_OK(PoiseVecSet(s.p.x, 0.5));
  CHECK_OK(PoiseVecSetColumn(s.X, 1, s.p.x));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.p.ksp, 1));
  CHECK_OK(PoiseKSPSetTolerances(s.p.ksp, 1e-6, -1, -1, -1));
  CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
  CHECK_INT(PoiseKSPColumnIterations(s.p.ksp, 0), 0);
  CHECK(PoiseKSPColumnIterations(s.p.ksp, 1) > 0);
  CheckSolved(&s, -1, 1e-5, "guess");
  Close(&s);
}

/* Systems that end at different times: a later one goes on with the directions of all. */
static double Early(PoiseInt i, int j, int k)
{
  return j ? Random(i, j, k) : i % 2 ? 1 : 0;
}

static void TestChanges(PoiseContext ctx)
{
  Several s, t;
  if (!Open(ctx, 31, 30, 8, "bcg", "jacobi", Early, &s) || !Open(ctx, 31, 30, 3, "bcg", "jacobi", Random, &t))
    return;
  for (int turn = 0; turn < 2; turn++) {
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    CheckSolved(&s, -1, 1e-7, "first");
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, t.B, t.X));
    CHECK_OK(PoiseMatScale(s.p.A, 2));
    CHECK_OK(PoiseKSPSetType(s.p.ksp, turn ? "bcg" : "cg"));
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    CheckSolved(&s, -1, 1e-7, "new values");
    CHECK_OK(PoiseKSPSetType(s.p.ksp, "bcg"));
  }
  Close(&s);
  Close(&t);
}

/* ---- matrices that are not positive definite --------------------------------------------------- */

typedef struct Kind {
  PoiseInt n;
  double first, others, beside; /* the first diagonal entry, about the others, and those beside them */
  const char *pc;
  Entry *entry;
} Kind;

static bool OpenIndefinite(PoiseContext ctx, const Kind *kind, int k, Several *s)
{
  *s = (Several){.k = k};
  PoiseInt begin, m, n = kind->n;
  PoiseMat A;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return false;
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = i ? i - 1 : 0; j <= i + 1 && j < n; j++) {
      double v = i == j ? (i ? kind->others : kind->first) * (1 + (double)i / 9) : kind->beside;
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  if (!ProblemOpen(A, &s->p) || !CHECK_OK(PoiseKSPSetType(s->p.ksp, "bcg"))) return false;
  CHECK_OK(PoiseKSPGetPC(s->p.ksp, &s->p.pc));
  CHECK_OK(PoisePCSetType(s->p.pc, kind->pc));
  CHECK_OK(PoiseVecCreateBlock(ctx, m, n, k, &s->B));
  CHECK_OK(PoiseVecDuplicate(s->B, &s->X));
  Fill(s->B, kind->entry);
  return true;
}

/* The reasons are those of cg. In the last case each of the first directions has a positive (s, A s), but not
   their difference. */
static void TestIndefinite(PoiseContext ctx)
{
  static const Kind kinds[] = {{40, -1, 1, 0.3, "none", Random},  {40, -1, 1, 0.3, "jacobi", Random},
                               {40, -1, -1, 0.3, "none", Random}, {40, -1, -1, 0.3, "jacobi", Random},
                               {40, 0, 1, 0.3, "none", Random},   {2, 1, 1, 2, "none", Unit}};
  for (int c = 0; c < 6; c++) {
    Several s;
    if (!OpenIndefinite(ctx, &kinds[c], c == 5 ? 2 : 3, &s)) return;
    CHECK_OK(PoiseKSPSolveBlock(s.p.ksp, s.B, s.X));
    for (int j = 0; j < s.k; j++) {
      CHECK_OK(PoiseVecGetColumn(s.B, j, s.p.b));
      CHECK_OK(PoiseKSPSolve(s.p.ksp, s.p.b, s.p.x));
      CHECK_INT(PoiseKSPColumnReason(s.p.ksp, j), PoiseKSPConvergedReason(s.p.ksp));
    }
    if (c == 0 || c == 5) CHECK_INT(PoiseKSPColumnReason(s.p.ksp, 0), POISE_DIVERGED_INDEFINITE_MAT);
    if (c == 1) CHECK(PoiseKSPColumnReason(s.p.ksp, 0) < 0);
    if (c == 2 || c == 3) CheckSolved(&s, -1, 1e-4, "negative definite");
    Close(&s);
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr SolveOnce(PoiseContext ctx, void *arg)
{
  PoiseMat A = arg;
  PoiseVec B = NULL, X = NULL;
  PoiseKSP ksp = NULL;
  PoiseInt m, n;
  PoiseMatLocalSizes(A, &m, &n);
  PoiseErr e = PoiseVecCreateBlock(ctx, m, POISE_DECIDE, 5, &B);
  if (!e) e = PoiseVecDuplicate(B, &X);
  if (!e) e = PoiseAgree(ctx, PoiseVecSetRandom(B, 3));
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e) e = PoiseKSPSetType(ksp, "bcg");
  if (!e) e = PoiseKSPSolveBlock(ksp, B, X);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&B);
  PoiseVecDestroy(&X);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  PoiseMat A;
  if (!CHECK_OK(ScaledLaplacian(ctx, 12, 9, 3, &A))) return;
  TestAllocationFailures(ctx, SolveOnce, A);
  CHECK_OK(PoiseMatDestroy(&A));
}

static const Test tests[] = {
    {"optimal", TestOptimal, 0},       {"fewer", TestFewer, 0},    {"one", TestOne, 0},
    {"norms", TestNorms, 0},           {"no_norm", TestNoNorm, 0}, {"bits", TestBits, 0},
    {"dependent", TestDependent, 0},   {"nearly", TestNearly, 0},  {"few_rows", TestFewRows, 0},
    {"sizes", TestSizes, 0},           {"guess", TestGuess, 0},    {"changes", TestChanges, 0},
    {"indefinite", TestIndefinite, 0}, {"memory", TestMemory, 0},  {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "bcg", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers, compared with textbook versions on dense matrices and with themselves on another device, and at
   their limits. */
#define _XOPEN_SOURCE 700
#include <unistd.h>

#include "harness.h"
#include "ksp/ksp.h"
#include "problem.h"
#include "terminal.h"

enum { B = 4, COMPARED = 10 }; /* block size of the grids; iterations that are compared with the textbook */

/* ---- systems --------------------------------------------------------------------------------- */

typedef enum { SPD, CONVECTION, OTHER } Kind; /* OTHER: symmetric positive definite too */

typedef struct Grid {
  Kind kind;
  int nx, ny;
} Grid;

static const Grid small_spd = {SPD, 12, 8}, small_convection = {CONVECTION, 12, 8},
                  small_other = {OTHER, 12, 8};

/* Five-point Laplacian, scaled so that the diagonal varies, on both sides, or with a wind on the left
   only. */
static int GridRow(const Grid *g, PoiseInt i, PoiseInt *cols, double *v)
{
  static const int dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
  static const double wind[] = {0, 0.4, -0.4, 0.2, -0.2};
  PoiseInt x = i % g->nx, y = i / g->nx;
  int n = 0;
  for (int k = 0; k < 5; k++) {
    PoiseInt j = (y + dy[k]) * g->nx + x + dx[k];
    if (x + dx[k] < 0 || x + dx[k] >= g->nx || y + dy[k] < 0 || y + dy[k] >= g->ny) continue;
    cols[n] = j;
    v[n] = (k ? -1 : 4) * (1 + 0.4 * TestRandom(g->kind, (uint64_t)i));
    v[n] *= g->kind == CONVECTION ? 1 + wind[k] : 1 + 0.4 * TestRandom(g->kind, (uint64_t)j);
    n++;
  }
  return n;
}

/* Whole blocks of B rows on each rank. */
static PoiseMat GridMatrix(PoiseContext ctx, const Grid *g)
{
  PoiseMat A;
  PoiseInt begin, m, N = (PoiseInt)g->nx * g->ny;
  PoiseSplit(ctx, N / B, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m * B, m * B, N, N, &A))) return NULL;
  for (PoiseInt i = begin * B; i < (begin + m) * B; i++) {
    PoiseInt cols[5];
    double v[5];
    int n = GridRow(g, i, cols, v);
    if (!CHECK_OK(PoiseMatAddBlock(A, 1, &i, n, cols, v))) return NULL;
  }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetBlockSize(A, B));
  return A;
}

/* Entries a[i * n + j]; a NULL has no entries. */
static PoiseMat DenseMatrix(PoiseContext ctx, int n, const double *a)
{
  PoiseMat A;
  PoiseInt begin, m, N = n;
  PoiseSplit(ctx, N, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A))) return NULL;
  for (PoiseInt i = begin; a && i < begin + m; i++)
    for (PoiseInt j = 0; j < N; j++)
      if (a[i * N + j] != 0 && !CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &a[i * N + j]))) return NULL;
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* x is NaN, which a zero guess must not see; b = A exact. */
static bool OpenSystem(PoiseMat A, Problem *s)
{
  return ProblemOpen(A, s) && CHECK_OK(PoiseVecSetRandom(s->exact, 5)) &&
         CHECK_OK(PoiseMatMult(A, s->exact, s->b)) && CHECK_OK(PoiseVecSet(s->x, NAN)) &&
         CHECK_OK(PoiseKSPKeepHistory(s->ksp, 1));
}

/* |x - exact| / |exact|, without an allocation */
static double ErrorOf(Problem *s)
{
  CHECK_OK(PoiseVecAXPY(s->x, -1, s->exact));
  double error = NormOf(s->x);
  CHECK_OK(PoiseVecAXPY(s->x, 1, s->exact));
  return error / NormOf(s->exact);
}

typedef struct Case {
  const char *type;
  PoisePCSide side;
  PoiseNormType norm;
  int restart;
} Case;

static const Case cases[] = {
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_NATURAL, 0},
    {"prcg", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"prcg", POISE_PC_LEFT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"prcg", POISE_PC_LEFT, POISE_KSP_NORM_NATURAL, 0},
    {"bicgstab", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"bcgs", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"gmres", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 30},
    {"gmres", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 30},
    {"gmres", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 7},
    {"gmres", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 4},
    {"cgs", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"cgs", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"tfqmr", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"tfqmr", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"bicgstabl", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"bicgstabl", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"fcg", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"fcg", POISE_PC_LEFT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"fcg", POISE_PC_LEFT, POISE_KSP_NORM_NATURAL, 0},
    {"gcr", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"symmlq", POISE_PC_LEFT, POISE_KSP_NORM_NATURAL, 0},
    {"lgmres", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 12},
    {"lgmres", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 10},
    {"idr", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"idr", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_NONE, 0},
    {"bicgstab", POISE_PC_RIGHT, POISE_KSP_NORM_NONE, 0},
    {"gmres", POISE_PC_RIGHT, POISE_KSP_NORM_NONE, 5},
};
enum { CASES = sizeof cases / sizeof *cases, CASES_WITH_NORM = CASES - 3 };
static const char *const pcs[] = {"none", "jacobi", "pbjacobi"};

static bool IsCG(const char *type)
{
  return !strcmp(type, "cg") || !strcmp(type, "prcg") || !strcmp(type, "fcg") || !strcmp(type, "symmlq");
}

/* Is it in the book below? Definitions of the other methods: tests/api/methods.c. */
static bool IsInBook(const char *type)
{
  return IsCG(type) || !strcmp(type, "gmres") || !strcmp(type, "bicgstab") || !strcmp(type, "bcgs");
}

/* prcg takes diagonal preconditioners only. */
static const char *Fitting(const char *type, const char *pc)
{
  return !strcmp(type, "prcg") && !strcmp(pc, "pbjacobi") ? "jacobi" : pc;
}

static PoiseErr Configure(PoiseKSP ksp, const Case *c, const char *pc_type)
{
  PoisePC pc;
  POISE_TRY(PoiseKSPSetType(ksp, c->type));
  POISE_TRY(PoiseKSPSetPCSide(ksp, c->side));
  POISE_TRY(PoiseKSPSetNormType(ksp, c->norm));
  if (c->restart) POISE_TRY(PoiseKSPGMRESSetRestart(ksp, c->restart));
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  return PoisePCSetType(pc, Fitting(c->type, pc_type));
}

/* Many ranks on few cores are slow: on several each case, and on many every other one, goes with one
   preconditioner. */
static bool Chosen(PoiseContext ctx, int i, int j)
{
  if (Fitting(cases[i].type, pcs[j]) != pcs[j]) return false;
  return PoiseSize(ctx) == 1 || (j == i % 3 && (PoiseSize(ctx) <= 4 || i % 2 == 0));
}

static const Grid *GridFor(const Case *c)
{
  return IsCG(c->type) ? &small_spd : &small_convection;
}

/* ---- the textbook ---------------------------------------------------------------------------- */

enum { N = 96, MAX_RESTART = 40 };

typedef struct Book { /* dense, row-major: A and M^-1; what they are applied to */
  double A[N * N], M[N * N];
  bool left;
} Book;

static void Multiply(const double *a, const double *x, double *y)
{
  for (int i = 0; i < N; i++) {
    y[i] = 0;
    for (int j = 0; j < N; j++) y[i] += a[i * N + j] * x[j];
  }
}

static double Inner(const double *x, const double *y)
{
  double s = 0;
  for (int i = 0; i < N; i++) s += x[i] * y[i];
  return s;
}

static void Axpy(double a, const double *x, double *y)
{
  for (int i = 0; i < N; i++) y[i] += a * x[i];
}

/* x = inverse of the b x b matrix a (leading dimension N), by elimination without pivoting: the blocks are
   dominant. */
static void InvertBlock(int b, const double *a, double *x)
{
  double w[B][2 * B] = {{0}};
  for (int i = 0; i < b; i++) {
    for (int j = 0; j < b; j++) w[i][j] = a[i * N + j];
    w[i][b + i] = 1;
  }
  for (int k = 0; k < b; k++)
    for (int i = 0; i < b; i++) {
      double f = i == k ? 1 - 1 / w[k][k] : w[i][k] / w[k][k];
      for (int j = 2 * b - 1; j >= k; j--) w[i][j] -= f * w[k][j];
    }
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) x[i * N + j] = w[i][b + j];
}

/* P: what the preconditioner is made from. */
static Book *MakeBook(const Grid *A, const Grid *P, const char *pc, PoisePCSide side)
{
  Book *k = calloc(1, sizeof *k);
  double *p = calloc(N * N, sizeof *p);
  int b = !strcmp(pc, "pbjacobi") ? B : 1;
  for (PoiseInt i = 0; i < N; i++) {
    PoiseInt cols[5];
    double v[5];
    for (int n = GridRow(A, i, cols, v); n > 0; n--) k->A[i * N + cols[n - 1]] = v[n - 1];
    for (int n = GridRow(P, i, cols, v); n > 0; n--) p[i * N + cols[n - 1]] = v[n - 1];
  }
  for (int i = 0; i < N; i += b) {
    if (strcmp(pc, "none"))
      InvertBlock(b, &p[i * N + i], &k->M[i * N + i]);
    else
      k->M[i * N + i] = 1;
  }
  k->left = side == POISE_PC_LEFT;
  free(p);
  return k;
}

static void Operate(const Book *k, const double *x, double *y)
{
  double t[N];
  Multiply(k->left ? k->A : k->M, x, t);
  Multiply(k->left ? k->M : k->A, t, y);
}

static void BookCG(const Book *k, const double *residual, PoiseNormType type, double *norm, int its)
{
  double r[N], z[N], p[N], q[N];
  memcpy(r, residual, sizeof r);
  Multiply(k->M, r, z);
  memcpy(p, z, sizeof p);
  for (int i = 0;; i++) {
    double rz = Inner(r, z);
    norm[i] = sqrt(type == POISE_KSP_NORM_NATURAL          ? rz
                   : type == POISE_KSP_NORM_PRECONDITIONED ? Inner(z, z)
                                                           : Inner(r, r));
    if (i == its) return;
    Multiply(k->A, p, q);
    Axpy(-rz / Inner(p, q), q, r);
    Multiply(k->M, r, z);
    double beta = Inner(r, z) / rz;
    for (int j = 0; j < N; j++) p[j] = z[j] + beta * p[j];
  }
}

/* K u = f from u = 0. */
static void BookBiCGSTAB(const Book *k, const double *f, double *norm, int its)
{
  double r[N], s[N], p[N], v[N], t[N];
  memcpy(r, f, sizeof r);
  memcpy(p, f, sizeof p);
  for (int i = 0;; i++) {
    double rho = Inner(f, r);
    norm[i] = sqrt(Inner(r, r));
    if (i == its) return;
    Operate(k, p, v);
    double alpha = rho / Inner(f, v);
    memcpy(s, r, sizeof s);
    Axpy(-alpha, v, s);
    Operate(k, s, t);
    double omega = Inner(t, s) / Inner(t, t);
    memcpy(r, s, sizeof r);
    Axpy(-omega, t, r);
    double beta = Inner(f, r) / rho * alpha / omega;
    for (int j = 0; j < N; j++) p[j] = r[j] + beta * (p[j] - omega * v[j]);
  }
}

/* One cycle of at most m iterations by modified Gram-Schmidt; norms of its iterations; r becomes the new
   residual. */
static void BookCycle(const Book *k, int m, double *r, double *norm)
{
  static _Thread_local double v[MAX_RESTART + 1][N], h[MAX_RESTART + 1][MAX_RESTART];
  double g[MAX_RESTART + 1] = {sqrt(Inner(r, r))}, y[MAX_RESTART], Ku[N], u[N] = {0};
  for (int i = 0; i < N; i++) v[0][i] = r[i] / g[0];
  for (int j = 0; j < m; j++) {
    Operate(k, v[j], v[j + 1]);
    for (int i = 0; i <= j; i++) {
      h[i][j] = Inner(v[i], v[j + 1]);
      Axpy(-h[i][j], v[i], v[j + 1]);
    }
    h[j + 1][j] = sqrt(Inner(v[j + 1], v[j + 1]));
    for (int i = 0; i < N; i++) v[j + 1][i] /= h[j + 1][j];
  }
  for (int j = 0; j < m; j++) { /* the least-squares problem, one rotation of rows j, j + 1 at a time */
    double length = hypot(h[j][j], h[j + 1][j]), c = h[j][j] / length, s = h[j + 1][j] / length;
    for (int l = j; l < m; l++) {
      double top = h[j][l], below = h[j + 1][l];
      h[j][l] = c * top + s * below;
      h[j + 1][l] = c * below - s * top;
    }
    g[j + 1] = -s * g[j];
    g[j] *= c;
    norm[j] = fabs(g[j + 1]);
  }
  for (int i = m - 1; i >= 0; i--) {
    y[i] = g[i];
    for (int j = i + 1; j < m; j++) y[i] -= h[i][j] * y[j];
    y[i] /= h[i][i];
    Axpy(y[i], v[i], u);
  }
  Operate(k, u, Ku);
  Axpy(-1, Ku, r);
}

static void BookGMRES(const Book *k, const double *f, int restart, double *norm, int its)
{
  double r[N];
  memcpy(r, f, sizeof r);
  norm[0] = sqrt(Inner(r, r));
  for (int i = 0; i < its; i += restart) BookCycle(k, its - i < restart ? its - i : restart, r, norm + i + 1);
}

/* Norms of iterations 0 .. its, and of b, for r0 = b - A x0. */
static double BookHistory(const Book *k, const Case *c, const double *b, const double *r0, double *norm,
                          int its)
{
  double f[N], fb[N];
  Multiply(k->M, b, fb);
  double natural = sqrt(Inner(b, fb));
  Multiply(k->M, r0, f);
  if (c->norm == POISE_KSP_NORM_UNPRECONDITIONED) memcpy(fb, b, sizeof fb);
  if (!k->left) memcpy(f, r0, sizeof f);
  if (IsCG(c->type))
    BookCG(k, r0, c->norm, norm, its);
  else if (!strcmp(c->type, "gmres"))
    BookGMRES(k, f, c->restart, norm, its);
  else
    BookBiCGSTAB(k, f, norm, its);
  return c->norm == POISE_KSP_NORM_NATURAL ? natural : sqrt(Inner(fb, fb));
}

/* The solve just made against the textbook: the history, and the place where it ended. */
static void CompareWithBook(Problem *s, const Book *k, const Case *c, const double *x0, double rtol)
{
  double b[N], r0[N], Ax[N], book[COMPARED + 1];
  const double *norm;
  PoiseInt count, its = PoiseKSPIterations(s->ksp);
  CHECK_OK(SampleFromVec(s->b, b));
  Multiply(k->A, x0, Ax);
  for (int i = 0; i < N; i++) r0[i] = b[i] - Ax[i];
  if (!CHECK_OK(PoiseKSPHistory(s->ksp, &count, &norm)) || !CHECK_INT(count, its + 1) ||
      !CHECK(its >= COMPARED))
    return;
  double size_of_b = BookHistory(k, c, b, r0, book, COMPARED);
  for (int i = 0; i <= COMPARED; i++)
    if (!CHECK_NEAR(norm[i], book[i], 1e-6 * book[i])) return;
  CHECK_INT(PoiseKSPConvergedReason(s->ksp), POISE_CONVERGED_RTOL);
  CHECK_INT(PoiseKSPNormUsed(s->ksp), c->norm);
  CHECK(norm[its] == PoiseKSPResidualNorm(s->ksp));
  CHECK(norm[its] <= rtol * size_of_b * (1 + 1e-12) && norm[its - 1] > rtol * size_of_b * (1 - 1e-12));
  double scale = c->norm == POISE_KSP_NORM_UNPRECONDITIONED ? 1.001 : 20; /* of the diagonal blocks */
  CHECK(ProblemResidual(s) <= scale * rtol * NormOf(s->b));
  CHECK(ErrorOf(s) < 100 * rtol);
}

static void CompareCase(PoiseContext ctx, const Grid *g, const Grid *p, const Case *c, const char *pc)
{
  const double rtol = 1e-9;
  double x0[N] = {0};
  Problem s;
  Book *k = MakeBook(g, p ? p : g, pc, c->side);
  if (!OpenSystem(GridMatrix(ctx, g), &s)) return;
  if (p) {
    PoiseMat P = GridMatrix(ctx, p);
    CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, P));
    PoiseMatDestroy(&P);
  }
  CHECK_OK(Configure(s.ksp, c, pc));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, rtol, -1, -1, 500));
  if (CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x))) CompareWithBook(&s, k, c, x0, rtol);

  for (int i = 0; i < N; i++) x0[i] = 3 * TestRandom(9, (uint64_t)i);
  CHECK_OK(SampleToVec(x0, s.x));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
  if (CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x))) CompareWithBook(&s, k, c, x0, rtol);
  ProblemClose(&s);
  free(k);
}

static void TestTextbook(PoiseContext ctx)
{
  for (int i = 0; i < CASES_WITH_NORM; i++)
    for (int j = 0; j < 3; j++) {
      if (!Chosen(ctx, i, j) || !IsInBook(cases[i].type)) continue;
      CompareCase(ctx, GridFor(&cases[i]), NULL, &cases[i], pcs[j]);
      if (!IsCG(cases[i].type)) CompareCase(ctx, &small_spd, NULL, &cases[i], pcs[j]);
    }
}

/* The preconditioner is built from another matrix than the operator. */
static void TestTwoMatrices(PoiseContext ctx)
{
  for (int i = 0; i < CASES_WITH_NORM; i++)
    for (int j = 1; j < 3; j++)
      if (Chosen(ctx, i, j) && IsInBook(cases[i].type))
        CompareCase(ctx, GridFor(&cases[i]), &small_other, &cases[i], pcs[j]);
}

/* ---- the same bits on host and mock, enqueued and replayed ----------------------------------- */

enum { NX = 36, NY = 32, MAX_NORMS = 400, MAX_MAXITS = 5 };
static const int maxits[MAX_MAXITS] = {300, 0, 1, 17, 30};

typedef struct Result {
  bool made;
  int reason, its, count;
  double norm[MAX_NORMS], x[NX * NY]; /* what the monitor saw, and the history when the two agree */
} Result;

enum { RESULTS = CASES * 3 * MAX_MAXITS };

typedef struct Watch { /* a rank's */
  Result *result;
  int seen;
  bool write; /* one rank does */
} Watch;

/* Each iteration once and in order. */
static PoiseErr See(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  Watch *w = arg;
  (void)ksp;
  if (!CHECK_INT(it, w->seen) || !CHECK(it < MAX_NORMS)) return POISE_ERR_USER;
  if (w->write) w->result->norm[it] = norm;
  w->seen++;
  return POISE_OK;
}

static void RecordSolve(Problem *s, Watch *w)
{
  Result *r = w->result;
  const double *norm, *p;
  PoiseInt count, begin, end;
  if (!CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x)) || !CHECK_OK(PoiseKSPHistory(s->ksp, &count, &norm)))
    return;
  PoiseVecRange(s->x, &begin, &end);
  if (CHECK_OK(PoiseVecGetRead(s->x, &p)) && end > begin)
    memcpy(r->x + begin, p, (size_t)(end - begin) * sizeof *p);
  PoiseVecRestore(s->x, &p);
  CHECK_INT(count, w->seen);
  if (!w->write) return;
  r->made = true;
  r->reason = (int)PoiseKSPConvergedReason(s->ksp);
  r->its = (int)PoiseKSPIterations(s->ksp);
  r->count = (int)count;
  for (int i = 0; i < r->count && i < MAX_NORMS; i++) CHECK(r->norm[i] == norm[i]);
  CHECK_INT(r->count, PoiseKSPNormUsed(s->ksp) == POISE_KSP_NORM_NONE ? 0 : r->its + 1);
}

/* All cases with all limits of iterations, each case with one solver. arg: Result[RESULTS]. */
static PoiseErr Sweep(PoiseContext ctx, void *arg)
{
  static const Grid grids[] = {{SPD, NX, NY}, {CONVECTION, NX, NY}};
  Result *result = arg;
  for (int i = 0; i < CASES; i++)
    for (int j = 0; j < 3; j++) {
      Problem s;
      if (!Chosen(ctx, i, j)) continue;
      Watch w = {.write = PoiseRank(ctx) == 0};
      if (!OpenSystem(GridMatrix(ctx, &grids[!IsCG(cases[i].type)]), &s)) return POISE_ERR_USER;
      POISE_TRY(PoiseKSPSetFromOptions(s.ksp));
      POISE_TRY(Configure(s.ksp, &cases[i], pcs[j]));
      for (int k = 0; k < MAX_MAXITS; k++) {
        w.result = &result[(i * 3 + j) * MAX_MAXITS + k];
        if (i >= CASES_WITH_NORM && k == 0) continue;
        if (k == (i >= CASES_WITH_NORM)) POISE_TRY(PoiseKSPAddMonitor(s.ksp, See, &w));
        w.seen = 0;
        POISE_TRY(PoiseKSPSetTolerances(s.ksp, 1e-5, -1, -1, maxits[k]));
        RecordSolve(&s, &w);
      }
      ProblemClose(&s);
    }
  return POISE_OK;
}

/* In a context of its own. */
static Result *RunSweep(const char *device, int ranks, int replay)
{
  PoiseContext ctx;
  char text[2][16];
  const char *words[] = {"test", "-device", device, "-ranks", text[0], "-ksp_replay", text[1]};
  char **argv = (char **)words;
  int argc = 7;
  Result *result = calloc(RESULTS, sizeof *result);
  snprintf(text[0], sizeof *text, "%d", ranks);
  snprintf(text[1], sizeof *text, "%d", replay);
  if (!result || !CHECK_OK(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1}, &ctx))) return result;
  CHECK_OK(PoiseRun(ctx, Sweep, result));
  CHECK_OK(PoiseFinalize(&ctx));
  return result;
}

static void CheckCounts(const Result *result)
{
  for (int n = 0; n < RESULTS; n++) {
    const Result *r = &result[n];
    int most = maxits[n % MAX_MAXITS];
    if (!r->made) continue;
    if (n / MAX_MAXITS / 3 >= CASES_WITH_NORM)
      CHECK(r->reason == POISE_CONVERGED_ITS && r->its == most);
    else
      CHECK((r->reason == POISE_CONVERGED_RTOL && r->its <= most && r->its > 17) ||
            (r->reason == POISE_DIVERGED_ITS && r->its == most && most < 300));
  }
}

static void CompareSweeps(const Result *a, const Result *b, const char *what)
{
  for (int n = 0; n < RESULTS; n++)
    if (!CHECK(!memcmp(&a[n], &b[n], sizeof *a))) {
      const Case *c = &cases[n / MAX_MAXITS / 3];
      printf("\n%s: %s side %d norm %d restart %d pc %s maxits %d: reason %d and %d, its %d and %d\n", what,
             c->type, (int)c->side, (int)c->norm, c->restart, pcs[n / MAX_MAXITS % 3], maxits[n % MAX_MAXITS],
             a[n].reason, b[n].reason, a[n].its, b[n].its);
      return;
    }
}

static void TestBits(PoiseContext ctx)
{
  static const int ranks[] = {1, 2, 7}, replays[] = {0, 2, 8, 30, 100};
  (void)ctx;
  for (int r = 0; r < 3; r++) {
    Result *host = RunSweep("host", ranks[r], 8);
    CheckCounts(host);
    for (int k = 0; k < 5; k++) {
      if (ranks[r] > 1 && replays[k] != 8) continue; /* several ranks do not replay */
      Result *mock = RunSweep("mock", ranks[r], replays[k]);
      char what[64];
      snprintf(what, sizeof what, "host and mock, %d ranks, replay %d", ranks[r], replays[k]);
      CompareSweeps(host, mock, what);
      free(mock);
    }
    free(host);
  }
}

/* ---- reasons --------------------------------------------------------------------------------- */

enum { MAX_SMALL = 8 };

/* Solve the n x n system with method `type` unpreconditioned; *x (may be NULL) gets the solution. */
static PoiseKSPReason Solve(PoiseContext ctx, int n, const double *a, const double *b, const char *type,
                            const char *pc, PoiseNormType norm, PoiseInt *its, double *x)
{
  Problem s;
  double all[MAX_SMALL];
  PoiseKSPReason reason = POISE_ITERATING;
  PoisePC used;
  if (!OpenSystem(DenseMatrix(ctx, n, a), &s)) return reason;
  CHECK_OK(SampleToVec(b, s.b));
  CHECK_OK(PoiseKSPSetType(s.ksp, type));
  CHECK_OK(PoiseKSPSetNormType(s.ksp, norm));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, -1, -1, 50));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &used));
  CHECK_OK(PoisePCSetType(used, pc));
  if (CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x))) reason = PoiseKSPConvergedReason(s.ksp);
  *its = PoiseKSPIterations(s.ksp);
  CHECK_OK(SampleFromVec(s.x, x ? x : all));
  ProblemClose(&s);
  return reason;
}

static const char *const types[] = {"cg",  "bicgstab", "gmres",  "cgs",  "tfqmr", "idr",  "bicgstabl", "fcg",
                                    "gcr", "symmlq",   "qmrcgs", "bicg", "lsqr",  "cgls", "lgmres",    "qmr"};

static void TestZeroRightHandSide(PoiseContext ctx)
{
  double a[] = {2, 1, 0, 1, 3, 1, 0, 1, 4}, b[3] = {0}, x[3];
  PoiseInt its;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int p = 0; p < 2; p++) {
      CHECK_INT(Solve(ctx, 3, a, b, types[t], pcs[p], POISE_KSP_NORM_DEFAULT, &its, x), POISE_CONVERGED_ATOL);
      CHECK_INT(its, 0);
      CHECK(x[0] == 0 && x[1] == 0 && x[2] == 0);
    }
}

static void TestNaN(PoiseContext ctx)
{
  double a[] = {2, 1, 0, 1, 3, 1, 0, NAN, 4}, good[] = {2, 1, 0, 1, 3, 1, 0, 1, 4}, b[] = {1, 2, 3},
         bad[] = {1, NAN, 3}, x[3];
  double large[] = {1e200, 1e200, 1e200};
  PoiseInt its;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int norm = POISE_KSP_NORM_DEFAULT; norm <= POISE_KSP_NORM_NONE; norm++) {
      CHECK_INT(Solve(ctx, 3, a, b, types[t], "none", (PoiseNormType)norm, &its, x), POISE_DIVERGED_NANORINF);
      CHECK(its <= 1);
      CHECK_INT(Solve(ctx, 3, good, bad, types[t], "jacobi", (PoiseNormType)norm, &its, x),
                POISE_DIVERGED_NANORINF);
      CHECK_INT(its, 0);
    }
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) { /* whose squares are no numbers */
    CHECK(Solve(ctx, 3, good, large, types[t], "jacobi", POISE_KSP_NORM_DEFAULT, &its, x) > 0);
    CHECK_NEAR(2 * x[0] + x[1], 1e200, 1e187);
    CHECK_NEAR(x[1] + 4 * x[2], 1e200, 1e187);
  }
}

/* One entry more of value v, on the rank that owns the row. */
static void Put(PoiseMat A, PoiseInt i, PoiseInt j, double v)
{
  if (i >= A->rows->begin && i < A->rows->begin + A->rows->n) CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, &j, &v));
  CHECK_OK(PoiseMatAssemble(A));
}

static void CheckDetail(Problem *s, const char *detail)
{
  char words[200];
  snprintf(words, sizeof words, "; %s", detail);
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
  CHECK_INT(PoiseKSPConvergedReason(s->ksp), POISE_DIVERGED_NANORINF);
  CHECK(!strcmp(PoiseKSPReasonDetail(s->ksp), detail));
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s->ksp, 1));
  CHECK_ERR(PoiseKSPSolve(s->ksp, s->b, s->x), POISE_ERR_NOT_CONVERGED, words);
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s->ksp, 0));
}

/* The first row that is not finite is named, of A, P or b, by the number that the application gave it. */
static void TestFirstNaN(PoiseContext ctx)
{
  static const char *const all[] = {
      "cg",        "prcg", "bicgstab", "gmres",  "fgmres", "minres", "richardson", "cgs",  "tfqmr",  "idr",
      "bicgstabl", "fcg",  "gcr",      "symmlq", "qmrcgs", "bicg",   "lsqr",       "cgls", "lgmres", "qmr"};
  enum { TYPES = sizeof all / sizeof *all };
  for (int k = 0; k < 2 * TYPES; k++) {
    Problem s;
    PoisePC pc;
    PoiseMat P;
    double right = NAN;
    PoiseInt at = 90;
    if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
    if (k >= TYPES) CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_RCM));
    CHECK_OK(PoiseKSPSetType(s.ksp, all[k % TYPES]));
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, "jacobi"));
    Put(s.A, 60, 61, INFINITY);
    Put(s.A, 17, 16, NAN);
    CheckDetail(&s, "row 17 of A has an entry that is not finite");
    Put(s.A, 17, 16, -1);
    CheckDetail(&s, "row 60 of A has an entry that is not finite");
    Put(s.A, 60, 61, -1);
    if (at >= s.A->rows->begin && at < s.A->rows->begin + s.A->rows->n)
      CHECK_OK(PoiseVecSetValues(s.b, 1, &at, &right));
    CHECK_OK(PoiseVecAssemble(s.b));
    CheckDetail(&s, "entry 90 of b is not finite");
    CHECK_OK(PoiseVecSet(s.b, 1));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(PoiseKSPConvergedReason(s.ksp) != POISE_DIVERGED_NANORINF && !*PoiseKSPReasonDetail(s.ksp));
    CHECK_OK(PoiseMatDuplicate(s.A, 1, &P)); /* sor reads all of it */
    Put(P, 5, 4, NAN);
    CHECK_OK(PoisePCSetType(pc, "sor"));
    CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, P));
    if (k % TYPES != 1)
      CheckDetail(&s, "row 5 of P has an entry that is not finite"); /* prcg wants a diagonal */
    CHECK_OK(PoiseMatDestroy(&P));
    CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
    CHECK_OK(PoisePCSetType(pc, "none"));
    CHECK_OK(PoiseVecSet(s.x, 1e308));
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    if (CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_NANORINF))
      CHECK(!strcmp(PoiseKSPReasonDetail(s.ksp), "the entries of A and b are finite"));
    ProblemClose(&s);
  }
}

/* Solves that are repeated give the same bits, replayed or not. */
static void TestRepeats(PoiseContext ctx)
{
  static const Grid grid = {SPD, 40, 32};
  static const char *const all[] = {"cg",        "prcg",       "bicgstab", "gmres",  "fgmres", "minres",
                                    "chebyshev", "richardson", "preonly",  "cgs",    "tfqmr",  "idr",
                                    "bicgstabl", "fcg",        "gcr",      "symmlq", "qmrcgs", "bicg",
                                    "lsqr",      "cgls",       "lgmres",   "qmr"};
  for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
    Problem s;
    PoisePC pc;
    uint64_t first = 0, norm = 0, wrong = 0;
    PoiseInt its = 0;
    if (!OpenSystem(GridMatrix(ctx, &grid), &s)) return;
    CHECK_OK(PoiseKSPSetType(s.ksp, all[t]));
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, "jacobi"));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-9, -1, -1, 12));
    for (int k = 0; k < 40; k++) { /* half of them eager */
      if (k == 20 && strcmp(all[t], "preonly") && !ctx->device->ops->is_host && PoiseSize(ctx) == 1)
        CHECK(!s.ksp->loop.eager && s.ksp->loop.graph);
      if (k == 20) s.ksp->options.replay = 0;
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      uint64_t bits = SampleDigest(s.x);
      if (!k) first = bits, norm = SampleBits(s.ksp->result.rnorm), its = PoiseKSPIterations(s.ksp);
      wrong += bits != first || SampleBits(s.ksp->result.rnorm) != norm || PoiseKSPIterations(s.ksp) != its;
    }
    CHECK_INT(wrong, 0);
    CHECK(its > 0 && (ctx->device->ops->is_host || s.ksp->loop.eager));
    ProblemClose(&s);
  }
}

/* x = b / a has no number, though residuals and norms may have one: no method may call that converged. Most
   break down, as squares vanish; but to cg and preonly all seems well until x is looked at. */
static void TestOverflow(PoiseContext ctx)
{
  static const char *const all[] = {"cg",     "preonly", "richardson", "bicgstab", "gmres",     "fgmres",
                                    "minres", "cgs",     "tfqmr",      "idr",      "bicgstabl", "fcg",
                                    "gcr",    "symmlq",  "qmrcgs",     "bicg",     "lgmres",    "qmr"};
  double a[] = {1e-200, 0, 0, 0, 1e-200, 0, 0, 0, 1e-200}, b[] = {1e150, 1e150, 1e150},
         small[] = {1e80, 1e80, 1e80}, x[3];
  PoiseInt its;
  for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
    const char *pc = t && t < 3 ? "jacobi" : "none";
    PoiseKSPReason reason = Solve(ctx, 3, a, b, all[t], pc, POISE_KSP_NORM_DEFAULT, &its, x);
    CHECK(reason < 0);
    if (t > 1) continue;
    CHECK_INT(reason, POISE_DIVERGED_NANORINF);
    CHECK_INT(its, 1);
    CHECK(Solve(ctx, 3, a, small, all[t], pc, POISE_KSP_NORM_DEFAULT, &its, x) > 0);
    CHECK_NEAR(x[2], 1e280, 1e268);
  }
}

/* What is not definite is said. */
static void TestIndefiniteWords(PoiseContext ctx)
{
  static const char *const words[] = {"A is not definite", "preconditioner jacobi is not definite"};
  double mixed[] = {2, 0.5, 0.5, -1}, first[] = {1, 1}, second[] = {0.1, 1};
  for (int k = 0; k < 2; k++) {
    Problem s;
    PoisePC pc;
    if (!OpenSystem(DenseMatrix(ctx, 2, mixed), &s)) return;
    CHECK_OK(SampleToVec(k ? second : first, s.b));
    CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, k ? "jacobi" : "none"));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(!strcmp(PoiseKSPReasonDetail(s.ksp), words[k]));
    ProblemClose(&s);
  }
}

static void TestIndefinite(PoiseContext ctx)
{
  double plus_minus[] = {1, 0, 0, -1}, minus[] = {-2, 1, 1, -3}, mixed[] = {2, 0.5, 0.5, -1};
  double one[] = {1, 1}, two[] = {1, 2}, second[] = {0.1, 1}, x[2];
  PoiseInt its;
  CHECK_INT(Solve(ctx, 2, plus_minus, one, "cg", "none", POISE_KSP_NORM_DEFAULT, &its, x),
            POISE_DIVERGED_INDEFINITE_MAT);
  CHECK_INT(its, 0); /* (p, A p) = 0 */
  CHECK_INT(Solve(ctx, 2, plus_minus, two, "cg", "none", POISE_KSP_NORM_DEFAULT, &its, x),
            POISE_DIVERGED_INDEFINITE_MAT);
  CHECK_INT(its, 1); /* its sign changes */
  CHECK_INT(Solve(ctx, 2, mixed, second, "cg", "jacobi", POISE_KSP_NORM_DEFAULT, &its, x),
            POISE_DIVERGED_INDEFINITE_PC);
  CHECK_INT(its, 1); /* the sign of (r, M r) changes */
  CHECK(Solve(ctx, 2, minus, two, "cg", "none", POISE_KSP_NORM_DEFAULT, &its, x) > 0);
  CHECK_NEAR(-2 * x[0] + x[1], 1, 1e-9); /* negative definite is as good */
  CHECK(Solve(ctx, 2, minus, two, "cg", "jacobi", POISE_KSP_NORM_DEFAULT, &its, x) > 0);
  CHECK_NEAR(-2 * x[0] + x[1], 1, 1e-9); /* with a preconditioner of the same sign, too */
  CHECK_INT(POISE_DIVERGED_INDEFINITE_MAT, -10);
  CHECK(!strcmp(PoiseKSPReasonString(POISE_DIVERGED_INDEFINITE_MAT), "DIVERGED_INDEFINITE_MAT"));
  CHECK(!strcmp(PoiseKSPReasonString(POISE_DIVERGED_INDEFINITE_PC), "DIVERGED_INDEFINITE_PC"));
}

/* Scaling by powers of two scales the solution and changes nothing else, as long as squares of norms are
   representable. */
static void TestScale(PoiseContext ctx)
{
  double a[] = {2, 1, 0, 1, 3, 1, 0, 1, 4}, b[] = {1, 2, 3}, x[3], sa[9], sb[3], sx[3];
  PoiseInt its, as;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    for (int i = 0; i < 9; i++) sa[i] = ldexp(a[i], 20);
    for (int i = 0; i < 3; i++) sb[i] = ldexp(b[i], 300);
    CHECK(Solve(ctx, 3, a, b, types[t], "none", POISE_KSP_NORM_DEFAULT, &its, x) > 0);
    CHECK(Solve(ctx, 3, sa, sb, types[t], "none", POISE_KSP_NORM_DEFAULT, &as, sx) > 0);
    CHECK_INT(as, its);
    for (int i = 0; i < 3; i++) CHECK(ldexp(sx[i], -280) == x[i]);
    for (int i = 0; i < 3; i++) sb[i] = ldexp(b[i], -300);
    CHECK_INT(Solve(ctx, 3, sa, sb, types[t], "none", POISE_KSP_NORM_DEFAULT, &as, sx), POISE_CONVERGED_ATOL);
    CHECK_INT(as, 0);
  }
}

/* Below the default atol, with an atol of 0: the same iterations as unscaled. */
static void TestTiny(PoiseContext ctx)
{
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    Problem s;
    PoiseInt its;
    if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
    CHECK_OK(PoiseKSPSetType(s.ksp, types[t]));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-6, 0, -1, 200));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    its = PoiseKSPIterations(s.ksp);
    CHECK_OK(PoiseVecScale(s.b, 0x1p-300));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
    CHECK_INT(PoiseKSPIterations(s.ksp), its);
    ProblemClose(&s);
  }
}

static void TestBreakdown(PoiseContext ctx)
{
  double turn[] = {0, 1, -1, 0}, e1[] = {1, 0, 0, 0}, x[4];
  double shift[] = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}; /* A e_i = e_i+1, A e_4 = 0 */
  double zero[4] = {0};
  PoiseInt its;
  for (int norm = POISE_KSP_NORM_DEFAULT; norm <= POISE_KSP_NORM_NONE; norm++) {
    CHECK_INT(Solve(ctx, 2, turn, e1, "bicgstab", "none", (PoiseNormType)norm, &its, x),
              POISE_DIVERGED_BREAKDOWN);
    CHECK_INT(its, 0); /* (r^, A r) = 0 */
    CHECK(Solve(ctx, 2, turn, e1, "gmres", "none", POISE_KSP_NORM_DEFAULT, &its, x) > 0);
    CHECK(its == 2 && x[0] == 0 && x[1] == 1);
    CHECK_INT(Solve(ctx, 4, shift, e1, "gmres", "none", (PoiseNormType)norm, &its, x),
              POISE_DIVERGED_BREAKDOWN);
    CHECK_INT(its, 4);
    CHECK_INT(Solve(ctx, 2, zero, e1, "gmres", "none", (PoiseNormType)norm, &its, x),
              POISE_DIVERGED_BREAKDOWN);
    CHECK(its == 1 && x[0] == 0 && x[1] == 0);
    CHECK_INT(Solve(ctx, 2, zero, e1, "bicgstab", "none", (PoiseNormType)norm, &its, x),
              POISE_DIVERGED_BREAKDOWN);
    CHECK_INT(Solve(ctx, 2, zero, e1, "cg", "none", (PoiseNormType)norm, &its, x),
              POISE_DIVERGED_INDEFINITE_MAT);
  }
}

/* b is in a row that depends on no other one: once that is solved, (r^, r) and (r^, v) are nothing but
   rounding, of which no step may be made. */
static void TestSource(PoiseContext ctx)
{
  enum { n = 12 };
  static const char *const methods[] = {"bicgstab", "bicgstabl", "qmrcgs"};
  double a[n * n], b[n] = {0}, x[n];
  PoiseInt its;
  for (int k = 0; k < 36; k++) {
    for (int i = 0; i < n * n; i++)
      a[i] = TestRandom((uint64_t)k, (uint64_t)i) / 2 + (i % (n + 1) == 0 ? 4 : 0);
    for (int j = 1; j < n; j++) a[j] = 0;
    b[0] = 2 + TestRandom(99, (uint64_t)k);
    CHECK_INT(Solve(ctx, n, a, b, methods[k % 3], "none", POISE_KSP_NORM_DEFAULT, &its, x),
              POISE_CONVERGED_RTOL);
    CHECK(its <= n);
    for (int i = 0; i < n; i++) {
      double r = b[i];
      for (int j = 0; j < n; j++) r -= a[i * n + j] * x[j];
      CHECK_NEAR(r, 0, 1e-9);
    }
  }
}

/* The solution lies in a space of few dimensions: found there, whatever the norm. */
static void TestExactlySolved(PoiseContext ctx)
{
  enum { n = 8 };
  double identity[n * n] = {0}, rank_one[n * n], b[n] = {4}, ones[n], x[n];
  PoiseInt its;
  for (int i = 0; i < n; i++) identity[i * n + i] = 1, ones[i] = 1 + i % 3;
  for (int i = 0; i < n * n; i++) rank_one[i] = identity[i] + (double)(1 + i / n) * (double)(1 + i % n) / 100;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    PoiseKSPReason reason = Solve(ctx, n, identity, b, types[t], "none", POISE_KSP_NORM_NONE, &its, x);
    bool happy = strstr(types[t], "gmres") || !strcmp(types[t], "symmlq");
    CHECK_INT(reason, happy ? POISE_CONVERGED_HAPPY_BREAKDOWN : POISE_CONVERGED_ATOL);
    CHECK(its == 1 && x[0] == 4 && x[1] == 0);
    reason = Solve(ctx, n, identity, b, types[t], "none", POISE_KSP_NORM_DEFAULT, &its, x);
    CHECK_INT(reason, POISE_CONVERGED_ATOL);
    CHECK(its == 1 && x[0] == 4 && x[1] == 0);
    reason = Solve(ctx, n, rank_one, ones, types[t], "none", POISE_KSP_NORM_DEFAULT, &its, x);
    CHECK(reason == POISE_CONVERGED_RTOL && its <= 2);
    for (int i = 0; i < n; i++) {
      double r = ones[i];
      for (int j = 0; j < n; j++) r -= rank_one[i * n + j] * x[j];
      CHECK_NEAR(r, 0, 1e-9);
    }
  }
}

/* The first iteration from `from` on whose norm is less than those before; else the last. */
static int FirstLeast(const double *norm, int from, int last)
{
  double least = norm[0];
  for (int k = 1; k < last; least = fmin(least, norm[k++]))
    if (k >= from && norm[k] < 0.99 * least) return k;
  return last;
}

static void TestLimits(PoiseContext ctx)
{
  for (int i = 0; i < CASES_WITH_NORM; i++) {
    Problem s;
    const Case *c = &cases[i];
    PoiseInt count;
    const double *norm;
    if (!OpenSystem(GridMatrix(ctx, GridFor(c)), &s)) return;
    CHECK_OK(Configure(s.ksp, c, "jacobi"));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, 0, -1, 15));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_ITS);
    CHECK_INT(PoiseKSPIterations(s.ksp), 15);
    CHECK_OK(PoiseKSPHistory(s.ksp, &count, &norm));
    if (!CHECK_INT(count, 16)) return;
    int at = FirstLeast(norm, 3, 15);
    double first = norm[0], least = norm[at];

    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, least, -1, 50)); /* <= atol, but not below it */
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
    CHECK_INT(PoiseKSPIterations(s.ksp), at);
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, least * 1.0001, -1, 50));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_ATOL);
    CHECK_INT(PoiseKSPIterations(s.ksp), at);
    /* at the last iteration allowed */
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, least / first * 1.0001, 0, -1, at));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
    CHECK_INT(PoiseKSPIterations(s.ksp), at);

    CHECK_OK(PoiseVecSet(s.x, 1e9)); /* a guess that is far off */
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-5, 0, 1e4, 50));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_DTOL);
    CHECK_INT(PoiseKSPIterations(s.ksp), 0);
    ProblemClose(&s);
  }
}

/* The residual of CG grows when b lies in the direction of a small eigenvalue: the first one is 4.9 times |b|
   here. */
static void TestGrowth(PoiseContext ctx)
{
  double a[] = {1, 0, 0, 100}, b[] = {1, 0.1};
  Problem s;
  if (!OpenSystem(DenseMatrix(ctx, 2, a), &s)) return;
  CHECK_OK(SampleToVec(b, s.b));
  CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, -1, -1, 5, -1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, -1, -1, 4.8, -1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_DTOL);
  CHECK_INT(PoiseKSPIterations(s.ksp), 1);
  ProblemClose(&s);
}

static void TestErrorIfNotConverged(PoiseContext ctx)
{
  Problem s;
  if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(s.ksp, 1));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-12, -1, -1, 3));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_NOT_CONVERGED,
            "DIVERGED_ITS after 3 iterations, preconditioned residual norm");
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_ITS);
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, -1, -1, -1, 300));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  ProblemClose(&s);
}

/* ---- guesses --------------------------------------------------------------------------------- */

/* rtol is relative to the norm of b, just above or below which the guess lies. */
static void TestGuess(PoiseContext ctx)
{
  for (int i = 0; i < CASES_WITH_NORM; i++)
    for (int j = 0; j < 3; j++) {
      const Case *c = &cases[i];
      double b[N], x0[N], r0[N], ratio, unused[1];
      Problem s;
      if (!Chosen(ctx, i, j)) continue;
      Book *k = MakeBook(GridFor(c), GridFor(c), pcs[j], c->side);
      if (!OpenSystem(GridMatrix(ctx, GridFor(c)), &s)) return;
      CHECK_OK(Configure(s.ksp, c, pcs[j]));
      CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
      CHECK_OK(SampleFromVec(s.exact, x0));
      CHECK_OK(SampleFromVec(s.b, b));
      for (int n = 0; n < N; n++) x0[n] *= 1 + 1e-3 * TestRandom(2, (uint64_t)n);
      Multiply(k->A, x0, r0);
      for (int n = 0; n < N; n++) r0[n] = b[n] - r0[n];
      ratio = 1 / BookHistory(k, c, b, r0, unused, 0);
      ratio *= unused[0];
      CHECK(ratio < 0.01);
      for (int above = 0; above < 2; above++) {
        CHECK_OK(SampleToVec(x0, s.x));
        CHECK_OK(PoiseKSPSetTolerances(s.ksp, ratio * (above ? 1 + 1e-9 : 1 - 1e-9), -1, -1, 50));
        CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
        CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
        CHECK(above ? PoiseKSPIterations(s.ksp) == 0 : PoiseKSPIterations(s.ksp) > 0);
        CHECK_NEAR(ErrorOf(&s), 0, 1e-2);
      }
      /* the solution itself, and then b = 0, relative to the first norm */
      CHECK_OK(PoiseVecCopy(s.exact, s.x));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_INT(PoiseKSPIterations(s.ksp), 0);
      CHECK_OK(PoiseVecSet(s.b, 0));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-8, -1, -1, 500));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
      CHECK_NEAR(NormOf(s.x), 0, 1e-5);
      ProblemClose(&s);
      free(k);
    }
}

/* ---- user's functions ------------------------------------------------------------------------ */

typedef struct Judge {
  PoiseInt at, seen;
  PoiseKSPReason reason;
  PoiseErr error;
  bool silent; /* no words with the error */
} Judge;

static PoiseErr Test_User(PoiseKSP ksp, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  Judge *j = arg;
  CHECK_INT(it, j->seen);
  CHECK(norm > 0 && norm == PoiseKSPResidualNorm(ksp));
  j->seen = it + 1;
  if (it < j->at) return POISE_OK;
  *reason = j->reason;
  if (j->error && !j->silent) POISE_FAIL(j->error, "no more after %d", (int)it);
  return j->error;
}

static PoiseErr Monitor_User(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  PoiseKSPReason unused;
  return Test_User(ksp, it, norm, &unused, arg);
}

static void TestUserTest(PoiseContext ctx)
{
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  for (int i = 0; i < CASES_WITH_NORM; i++) {
    Problem s;
    Judge j = {.at = 9, .reason = POISE_CONVERGED_USER};
    if (!OpenSystem(GridMatrix(ctx, GridFor(&cases[i])), &s)) return;
    CHECK_OK(Configure(s.ksp, &cases[i], "jacobi"));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0.99, 1e30, 1e-30, 9)); /* none of these stops it before */
    CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, Test_User, &j));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_USER);
    CHECK_INT(PoiseKSPIterations(s.ksp), 9);
    CHECK_INT(j.seen, 10);
    double residual = ProblemResidual(&s);
    CHECK(residual < NormOf(s.b) || !strcmp(cases[i].type, "cgs")); /* whose residuals jump */
    if (!strcmp(cases[i].type, "tfqmr") && cases[i].norm == POISE_KSP_NORM_UNPRECONDITIONED)
      CHECK(PoiseKSPResidualNorm(s.ksp) >= residual); /* a bound of it */
    else if (cases[i].norm == POISE_KSP_NORM_UNPRECONDITIONED)
      CHECK_NEAR(PoiseKSPResidualNorm(s.ksp), residual, 1e-9 * residual);

    j = (Judge){.at = last ? 4 : 1000, .reason = POISE_DIVERGED_USER}; /* one rank decides */
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_USER);
    CHECK_INT(PoiseKSPIterations(s.ksp), 4);

    j = (Judge){.at = last ? 2 : 1000, .error = POISE_ERR_USER};
    CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), last ? POISE_ERR_USER : POISE_ERR_REMOTE, "no more after 2");
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_ERROR);

    j = (Judge){.at = 1000};
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_ITS);
    CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, NULL, NULL));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-8, 0, 1e10, 500));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
    ProblemClose(&s);
  }
}

/* A breakdown in the middle of an iteration: the test is not asked about the last one again. */
static void TestUserTestBreakdown(PoiseContext ctx)
{
  double turn[] = {0, 1, -1, 0}, e1[] = {1, 0};
  Judge j = {.at = 1000};
  Problem s;
  if (!OpenSystem(DenseMatrix(ctx, 2, turn), &s)) return;
  CHECK_OK(SampleToVec(e1, s.b));
  CHECK_OK(PoiseKSPSetType(s.ksp, "bicgstab"));
  CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, Test_User, &j));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_BREAKDOWN);
  CHECK_INT(j.seen, 1);
  ProblemClose(&s);
}

static void TestMonitors(PoiseContext ctx)
{
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  for (int i = 0; i < CASES_WITH_NORM; i++) {
    Problem s;
    Judge two[2] = {{.at = 1000}, {.at = 1000}};
    if (!OpenSystem(GridMatrix(ctx, GridFor(&cases[i])), &s)) return;
    CHECK_OK(Configure(s.ksp, &cases[i], "pbjacobi"));
    for (int k = 0; k < 2; k++) CHECK_OK(PoiseKSPAddMonitor(s.ksp, Monitor_User, &two[k]));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(two[0].seen, PoiseKSPIterations(s.ksp) + 1);
    CHECK_INT(two[1].seen, PoiseKSPIterations(s.ksp) + 1);
    for (int silent = 0; silent < 2; silent++) {
      two[0] = (Judge){.at = 1000};
      two[1] = (Judge){.at = last ? 5 : 1000, .error = (PoiseErr)77, .silent = silent};
      CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x),
                last ? (silent ? POISE_ERR_USER : (PoiseErr)77) : POISE_ERR_REMOTE,
                silent ? "a monitor returned 77" : "no more after 5");
      CHECK_INT(two[1].seen, last ? 6 : two[1].seen);
      CHECK(two[0].seen >= 6);
    }
    two[0] = two[1] = (Judge){.at = 1000};
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(ErrorOf(&s) < 1e-3);
    ProblemClose(&s);
  }
}

static PoiseErr Monitor_Collective(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  double ranks = 1;
  (void)it, (void)norm, (void)arg;
  POISE_TRY(PoiseSum(PoiseKSPContext(ksp), 1, &ranks));
  if (ranks != PoiseSize(PoiseKSPContext(ksp))) POISE_FAIL(POISE_ERR_USER, "%g ranks were asked", ranks);
  return POISE_OK;
}

static PoiseErr Test_Collective(PoiseKSP ksp, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  if (norm < 1e-6) *reason = POISE_CONVERGED_USER;
  return Monitor_Collective(ksp, it, norm, arg);
}

/* Monitors and tests that need all ranks get them, whatever fails on one of these. */
static void TestCollectiveCallbacks(PoiseContext ctx)
{
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Problem s;
  if (!OpenSystem(GridMatrix(ctx, GridFor(&cases[0])), &s)) return;
  for (int n = 1; n < 30; n++) {
    PoiseKSP ksp;
    if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
    CHECK_OK(PoiseKSPSetType(ksp, "cg"));
    CHECK_OK(PoiseKSPSetOperators(ksp, s.A, NULL));
    CHECK_OK(PoiseKSPKeepHistory(ksp, 1));
    CHECK_OK(PoiseKSPAddMonitor(ksp, Monitor_Collective, NULL));
    if (n % 2) CHECK_OK(PoiseKSPSetConvergenceTest(ksp, Test_Collective, NULL));
    if (last) poiseAllocFailAt(ctx, n);
    PoiseErr e = PoiseKSPSolve(ksp, s.b, s.x);
    poiseAllocFailAt(ctx, 0);
    if (e) CHECK_ERR(e, last ? POISE_ERR_MEMORY : POISE_ERR_REMOTE, "no memory for");
    PoiseKSPDestroy(&ksp);
  }
  ProblemClose(&s);
}

/* ---- shells ---------------------------------------------------------------------------------- */

typedef struct Half { /* (A + I / 2), half of it on the host */
  PoiseMat A;
  int calls, fail_at; /* 0: never */
} Half;

static PoiseErr Mult_Half(void *arg, PoiseVec x, PoiseVec y)
{
  Half *h = arg;
  const double *p;
  double *q;
  POISE_TRY(PoiseMatMult(h->A, x, y));
  POISE_TRY(PoiseVecGetRead(x, &p));
  POISE_TRY(PoiseVecGetUpdate(y, &q));
  for (PoiseInt i = 0; i < PoiseVecLocalSize(x); i++) q[i] += p[i] / 2;
  POISE_TRY(PoiseVecRestore(x, &p));
  POISE_TRY(PoiseVecRestore(y, &q));
  if (++h->calls == h->fail_at) POISE_FAIL(POISE_ERR_USER, "call %d goes wrong", h->calls);
  return POISE_OK;
}

/* The shell against the same matrix stored: the same bits, as the numbers are added in the same order. */
static void TestShell(PoiseContext ctx)
{
  for (int i = 0; i < CASES; i++) {
    const Case *c = &cases[i];
    Problem s, t;
    Half h = {0};
    PoiseMat shell;
    PoiseInt m, n, its;
    double x[N], y[N];
    if (!Chosen(ctx, i, i % 3)) continue;
    if (!OpenSystem(GridMatrix(ctx, GridFor(c)), &s)) return;
    h.A = s.A;
    PoiseMatLocalSizes(s.A, &m, &n);
    if (!CHECK_OK(PoiseMatCreateShell(ctx, m, n, N, N, &(PoiseShell){.mult = Mult_Half}, &h, &shell))) return;
    if (!OpenSystem(shell, &t)) return;
    CHECK_OK(PoiseKSPSetOperators(t.ksp, shell, s.A));
    CHECK_OK(Configure(t.ksp, c, "pbjacobi"));
    CHECK_OK(PoiseKSPSetTolerances(t.ksp, 1e-9, -1, -1, 60));
    CHECK_OK(PoiseKSPSolve(t.ksp, t.b, t.x));
    CHECK(PoiseKSPConvergedReason(t.ksp) > 0);
    CHECK(ErrorOf(&t) < 1e-7);
    its = PoiseKSPIterations(t.ksp);
    CHECK_OK(SampleFromVec(t.x, x));
    int64_t calls = ctx->memory.calls;
    CHECK_OK(PoiseKSPSolve(t.ksp, t.b, t.x));
    CHECK_INT(ctx->memory.calls, calls);
    CHECK_INT(PoiseKSPIterations(t.ksp), its);
    CHECK_OK(SampleFromVec(t.x, y));
    CHECK(!memcmp(x, y, sizeof x));
    ProblemClose(&t);
    ProblemClose(&s);
  }
}

static void TestShellFails(PoiseContext ctx)
{
  int failing = PoiseSize(ctx) > 1 ? 1 : 0;
  bool mine = PoiseRank(ctx) == failing;
  for (int i = 0; i < CASES; i++)
    for (int call = 1; call <= 5; call += PoiseSize(ctx) > 2 ? 2 : 1) {
      Problem s, t;
      Half h = {0};
      PoiseMat shell;
      PoiseInt m, n;
      char words[64];
      if (!Chosen(ctx, i, i % 3)) continue;
      if (!OpenSystem(GridMatrix(ctx, GridFor(&cases[i])), &s)) return;
      h.A = s.A;
      PoiseMatLocalSizes(s.A, &m, &n);
      if (!CHECK_OK(PoiseMatCreateShell(ctx, m, n, N, N, &(PoiseShell){.mult = Mult_Half}, &h, &shell)))
        return;
      if (!OpenSystem(shell, &t)) return;
      CHECK_OK(PoiseKSPSetOperators(t.ksp, shell, s.A));
      CHECK_OK(Configure(t.ksp, &cases[i], "jacobi"));
      CHECK_OK(PoiseKSPSetTolerances(t.ksp, 1e-9, -1, -1, 60));
      h.calls = 0;
      h.fail_at = mine ? call : 0;
      snprintf(words, sizeof words, "call %d goes wrong", call);
      CHECK_ERR(PoiseKSPSolve(t.ksp, t.b, t.x), mine ? POISE_ERR_USER : POISE_ERR_REMOTE, words);
      CHECK(h.calls <= call + 3); /* it ends soon */
      h.fail_at = 0;
      CHECK_OK(PoiseKSPSolve(t.ksp, t.b, t.x));
      CHECK(ErrorOf(&t) < 1e-7);
      ProblemClose(&t);
      ProblemClose(&s);
    }
}

/* ---- one solver, many solves ----------------------------------------------------------------- */

static void SolveFresh(PoiseContext ctx, const Problem *given, const Case *c, const char *pc, double *x,
                       PoiseInt *its)
{
  Problem s = {.b = given->b};
  if (!CHECK_OK(PoiseVecDuplicate(s.b, &s.x)) || !CHECK_OK(PoiseKSPCreate(ctx, &s.ksp))) return;
  CHECK_OK(PoiseKSPSetOperators(s.ksp, given->A, NULL));
  CHECK_OK(Configure(s.ksp, c, pc));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-6, -1, -1, 40));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  *its = PoiseKSPIterations(s.ksp);
  CHECK_OK(SampleFromVec(s.x, x));
  PoiseVecDestroy(&s.x);
  PoiseKSPDestroy(&s.ksp);
}

/* Types, sides, norms, restarts and preconditioners change between solves: each is as if it were the
   first. */
static void TestChanges(PoiseContext ctx)
{
  Problem s;
  if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
  for (int round = PoiseSize(ctx) > 1; round < 2; round++)
    for (int k = 0; k < CASES * 3; k++) {
      int pick = round ? CASES * 3 - 1 - k : k;
      const Case *c = &cases[pick % CASES];
      const char *pc = pcs[pick / CASES];
      if (!Chosen(ctx, pick % CASES, pick / CASES)) continue;
      double x[N], y[N];
      PoiseInt its = -1;
      CHECK_OK(Configure(s.ksp, c, pc));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-6, -1, -1, 40));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_OK(SampleFromVec(s.x, x));
      SolveFresh(ctx, &s, c, pc, y, &its);
      CHECK_INT(PoiseKSPIterations(s.ksp), its);
      if (!CHECK(!memcmp(x, y, sizeof x))) return;
    }
  ProblemClose(&s);
}

/* Only the preconditioner's type changes. */
static void TestOtherPreconditioners(PoiseContext ctx)
{
  static const int order[] = {0, 1, 0, 2, 1, 2, 0};
  int step = PoiseSize(ctx) > 2 ? 5 : 1;
  for (int i = 0; i < CASES; i += step) {
    Problem s;
    if (!OpenSystem(GridMatrix(ctx, GridFor(&cases[i])), &s)) return;
    for (int k = 0; k < 7; k++) {
      double x[N], y[N];
      PoiseInt its = -1;
      CHECK_OK(Configure(s.ksp, &cases[i], pcs[order[k]]));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-6, -1, -1, 40));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_OK(SampleFromVec(s.x, x));
      SolveFresh(ctx, &s, &cases[i], pcs[order[k]], y, &its);
      CHECK_INT(PoiseKSPIterations(s.ksp), its);
      CHECK(!memcmp(x, y, sizeof x));
    }
    ProblemClose(&s);
  }
}

/* A second solve allocates nothing: also not with another b and x, new values, a tighter tolerance or a
   guess. */
static void TestSecondSolve(PoiseContext ctx)
{
  for (int i = 0; i < CASES; i++)
    for (int j = 0; j < 3; j++) {
      Problem s;
      PoiseVec b, x;
      const Case *c = &cases[i];
      if (!Chosen(ctx, i, j)) continue;
      if (!OpenSystem(GridMatrix(ctx, GridFor(c)), &s)) return;
      if (!CHECK_OK(PoiseVecDuplicate(s.b, &b)) || !CHECK_OK(PoiseVecDuplicate(s.x, &x))) return;
      CHECK_OK(Configure(s.ksp, c, pcs[j]));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-4, -1, -1, 40));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_OK(PoiseVecCopy(s.b, b));
      CHECK_OK(PoiseVecSet(x, NAN));
      int64_t calls = ctx->memory.calls;
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_INT(ctx->memory.calls, calls);
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-9, -1, -1, 60));
      CHECK_OK(PoiseKSPSolve(s.ksp, b, x));
      CHECK_INT(ctx->memory.calls, calls);
      CHECK_OK(PoiseVecAXPY(x, -1, s.exact));
      CHECK_NEAR(NormOf(x), 0, 1e-6);

      CHECK_OK(PoiseMatZeroEntries(s.A)); /* A becomes 2 I + A */
      PoiseInt begin, end;
      PoiseVecRange(b, &begin, &end);
      for (PoiseInt row = begin; row < end; row++) {
        PoiseInt cols[5];
        double v[5], two = 2;
        int n = GridRow(GridFor(c), row, cols, v);
        CHECK_OK(PoiseMatAddBlock(s.A, 1, &row, n, cols, v));
        CHECK_OK(PoiseMatAddBlock(s.A, 1, &row, 1, &row, &two));
      }
      CHECK_OK(PoiseMatAssemble(s.A));
      CHECK_OK(PoiseMatMult(s.A, s.exact, b));
      calls = ctx->memory.calls;
      CHECK_OK(PoiseKSPSolve(s.ksp, b, s.x));
      CHECK_INT(ctx->memory.calls, calls);
      CHECK_NEAR(ErrorOf(&s), 0, 1e-6);
      CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
      CHECK_OK(PoiseKSPSolve(s.ksp, b, s.x));
      CHECK_INT(ctx->memory.calls, calls);
      CHECK_NEAR(ErrorOf(&s), 0, 1e-6);
      PoiseVecDestroy(&b);
      PoiseVecDestroy(&x);
      ProblemClose(&s);
    }
}

/* Other matrices, of the same and of other sizes, some of which lie in memory where an older one lay. */
static void TestOtherMatrices(PoiseContext ctx)
{
  static const Grid grids[] = {{SPD, 12, 8},  {SPD, 8, 12},       {CONVECTION, 12, 8},
                               {SPD, 12, 16}, {CONVECTION, 4, 4}, {SPD, 4, 4}};
  PoiseKSP ksp;
  if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
  for (int k = 0; k < (PoiseSize(ctx) > 2 ? 8 : 24); k++) {
    PoiseMat A = GridMatrix(ctx, &grids[k / 2 % 6]), between;
    Problem s;
    if (!OpenSystem(A, &s)) return;
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    /* twice: only the matrix is another */
    CHECK_OK(Configure(ksp, &cases[k / 2 % 2 ? 8 : 4], pcs[k / 2 % 3]));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-9, -1, -1, 400));
    CHECK_OK(PoiseKSPSolve(ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(ksp), POISE_CONVERGED_RTOL);
    CHECK_NEAR(ErrorOf(&s), 0, 1e-6);
    ProblemClose(&s);
    between = GridMatrix(ctx, &grids[k / 2 % 6]); /* replaces A, which is freed, and is never solved with */
    CHECK_OK(PoiseKSPSetOperators(ksp, between, NULL));
    PoiseMatDestroy(&between);
  }
  PoiseKSPDestroy(&ksp);
}

/* Layouts of one size that agree on rank 0 and differ on the last two (of three or more). */
static void TestOtherLayouts(PoiseContext ctx)
{
  enum { EACH = 3 };
  int rank = PoiseRank(ctx), size = PoiseSize(ctx);
  PoiseKSP ksp;
  if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
  for (int k = 0; k < 4; k++) {
    int moved = size > 2 && k % 2 ? (rank == size - 2) - (rank == size - 1) : 0;
    PoiseInt begin = EACH * rank + (moved < 0), n = EACH + moved;
    PoiseMat A;
    Problem s;
    if (!CHECK_OK(PoiseMatCreate(ctx, n, n, POISE_DECIDE, POISE_DECIDE, &A))) return;
    for (PoiseInt i = begin; i < begin + n; i++)
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &(double){2 + (double)i}));
    CHECK_OK(PoiseMatAssemble(A));
    if (!OpenSystem(A, &s)) return;
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSolve(ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(ksp), POISE_CONVERGED_RTOL);
    ProblemClose(&s);
  }
  PoiseKSPDestroy(&ksp);
}

/* ---- GMRES ----------------------------------------------------------------------------------- */

enum { FIRST_BASIS = 4, SPREAD = 60 }; /* where the basis starts among the work vectors */

/* Largest |(v_i, v_j) - delta_ij| of the first k basis vectors. */
static double Orthogonality(PoiseKSP ksp, int k)
{
  double worst = 0, dot;
  for (int i = 0; i < k; i++)
    for (int j = 0; j <= i; j++)
      if (CHECK_OK(PoiseVecDot(ksp->work[FIRST_BASIS + i], ksp->work[FIRST_BASIS + j], &dot)))
        worst = poiseLarger(fabs(dot - (i == j)), worst);
  return worst;
}

static PoiseMat SpreadDiagonal(PoiseContext ctx)
{
  static _Thread_local double a[SPREAD * SPREAD];
  for (int i = 0; i < SPREAD; i++) a[i * SPREAD + i] = pow(10, -8.0 * i / SPREAD);
  return DenseMatrix(ctx, SPREAD, a);
}

static void TestRefinement(PoiseContext ctx)
{
  static const char *const words[] = {"never", "ifneeded", "always"};
  double orthogonality[3] = {0};
  PoiseInt its[3] = {0};
  for (int k = 0; k < 3; k++) {
    char key[64], value[32];
    snprintf(key, sizeof key, "%s_ksp_gmres_cgs_refinement_type", words[k]);
    snprintf(value, sizeof value, "refine_%s", words[k]);
    CHECK_OK(PoiseOptionsSet(ctx, key, value));
  }
  CHECK_OK(PoiseBarrier(ctx));
  for (int k = 0; k < 3; k++) {
    Problem s;
    char prefix[16];
    if (!OpenSystem(SpreadDiagonal(ctx), &s)) return;
    snprintf(prefix, sizeof prefix, "%s_", words[k]);
    CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, prefix));
    CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
    CHECK_OK(PoiseKSPGMRESSetRestart(s.ksp, SPREAD));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-9, -1, -1, SPREAD));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    its[k] = PoiseKSPIterations(s.ksp);
    orthogonality[k] = Orthogonality(s.ksp, (int)its[k]);
    if (k) CHECK(ProblemResidual(&s) <= 1.01e-9 * NormOf(s.b));
    ProblemClose(&s);
  }
  CHECK(orthogonality[0] > 1e-8);
  CHECK(orthogonality[1] < 1e-13);
  CHECK(orthogonality[2] < 1e-13);
  CHECK(llabs(its[1] - its[2]) <= 1 && its[0] >= its[2] - 1);
}

static void TestRestarts(PoiseContext ctx)
{
  static const int restarts[] = {1, 2, 3, 5, 30, 33, 40, 300};
  static const char *const words[] = {"never", "ifneeded", "always"};
  for (int k = 0; k < 3; k++) {
    char key[64], value[32];
    snprintf(key, sizeof key, "%s_ksp_gmres_cgs_refinement_type", words[k]);
    snprintf(value, sizeof value, "refine_%s", words[k]);
    CHECK_OK(PoiseOptionsSet(ctx, key, value));
  }
  CHECK_OK(PoiseBarrier(ctx));
  for (int i = PoiseSize(ctx) > 2 ? 5 : 0; i < 8; i++) {
    double reference[COMPARED + 1] = {0};
    for (int k = 0; k < 3; k++)
      for (int side = 0; side < 2; side++) {
        Case c = {"gmres", side ? POISE_PC_RIGHT : POISE_PC_LEFT,
                  side ? POISE_KSP_NORM_UNPRECONDITIONED : POISE_KSP_NORM_PRECONDITIONED, restarts[i]};
        Problem s;
        char prefix[16];
        const double *norm;
        PoiseInt count;
        if (!OpenSystem(GridMatrix(ctx, &small_convection), &s)) return;
        snprintf(prefix, sizeof prefix, "%s_", words[k]);
        CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, prefix));
        CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
        CHECK_OK(Configure(s.ksp, &c, "none"));
        CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-9, -1, -1, 2000));
        CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
        CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
        CHECK_NEAR(ErrorOf(&s), 0, 1e-7);
        CHECK(ProblemResidual(&s) <= 1.001e-9 * NormOf(s.b));
        CHECK_OK(PoiseKSPHistory(s.ksp, &count, &norm));
        for (int n = 0; n <= COMPARED && n < count; n++) {
          if (k == 0 && side == 0) reference[n] = norm[n];
          /* without a preconditioner the sides agree */
          CHECK_NEAR(norm[n], reference[n], 1e-10 * reference[0]);
          CHECK(n == 0 || norm[n] <= norm[n - 1] * (1 + 1e-12));
        }
        ProblemClose(&s);
      }
  }
}

/* ---- sizes at the edge ----------------------------------------------------------------------- */

/* Fewer rows than ranks. */
static void TestSmall(PoiseContext ctx)
{
  double a[] = {4, 1, 0, 1, 5, 1, 0, 1, 6}, one[] = {4}, two[] = {4, 1, 1, 5};
  const double *matrices[] = {NULL, one, two, a};
  for (int n = 0; n <= 3; n++)
    for (int i = 0; i < CASES; i++)
      for (int j = 0; j < 3; j++) {
        Problem s;
        if (!Chosen(ctx, i, j)) continue;
        if (!OpenSystem(DenseMatrix(ctx, n, matrices[n]), &s)) return;
        CHECK_OK(Configure(s.ksp, &cases[i], pcs[j]));
        CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-12, -1, -1, n + 2));
        CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
        CHECK(PoiseKSPConvergedReason(s.ksp) > 0 || cases[i].norm == POISE_KSP_NORM_NONE);
        if (cases[i].norm != POISE_KSP_NORM_NONE)
          CHECK(PoiseKSPIterations(s.ksp) <= n + 1 && ProblemResidual(&s) < 1e-9);
        if (n == 0) CHECK_INT(PoiseKSPIterations(s.ksp), 0);
        ProblemClose(&s);
      }
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static PoiseErr Quiet(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  (void)ksp, (void)it, (void)norm, (void)arg;
  return POISE_OK;
}

static void TestSettings(PoiseContext ctx)
{
  Problem s;
  if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
  CHECK(!strcmp(PoiseKSPType(s.ksp), "gmres"));
  CHECK_ERR(PoiseKSPSetType(s.ksp, "gmress"), POISE_ERR_OPTION, "no method 'gmress'; did you mean 'gmres'?");
  CHECK_ERR(PoiseKSPSetType(s.ksp, "bcgss"), POISE_ERR_OPTION, "did you mean 'bcgs'?");
  CHECK_ERR(PoiseKSPSetType(s.ksp, "cg2"), POISE_ERR_OPTION,
            "did you mean 'cg'? there are cg, prcg, bcg, bicgstab, bcgs,");
  CHECK_OK(PoiseKSPSetType(s.ksp, "none"));
  CHECK(!strcmp(PoiseKSPType(s.ksp), "preonly"));
  CHECK_OK(PoiseKSPSetType(s.ksp, "gmres"));
  CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, "wrong_"));
  CHECK_OK(PoiseOptionsSetString(ctx, "-wrong_ksp_type gmress -wrong_pc_type jacoby"));
  CHECK_ERR(PoiseKSPSetFromOptions(s.ksp), POISE_ERR_OPTION,
            "-wrong_ksp_type gmress (code): there is no method");
  CHECK_OK(PoiseOptionsSetString(ctx, "-wrong_ksp_type gmres"));
  CHECK_ERR(PoiseKSPSetFromOptions(s.ksp), POISE_ERR_OPTION,
            "-wrong_pc_type jacoby (code): there is no preconditioner");
  CHECK_OK(PoiseOptionsSetString(ctx, "-wrong_pc_type none"));
  CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, NULL));
  CHECK(!strcmp(PoiseKSPType(s.ksp), "gmres"));
  CHECK_OK(PoiseKSPSetType(s.ksp, "bcgs"));
  CHECK(!strcmp(PoiseKSPType(s.ksp), "bicgstab"));
  CHECK_ERR(PoiseKSPSetTolerances(s.ksp, 1, -1, -1, -1), POISE_ERR_ARG, "is not below 1");
  CHECK_ERR(PoiseKSPSetTolerances(s.ksp, -1, NAN, -1, -1), POISE_ERR_ARG, "NaN");
  CHECK_ERR(PoiseKSPSetTolerances(s.ksp, NAN, -1, -1, -1), POISE_ERR_ARG, "NaN");
  CHECK_ERR(PoiseKSPSetNormType(s.ksp, (PoiseNormType)9), POISE_ERR_ARG, "no norm 9");
  CHECK_ERR(PoiseKSPSetPCSide(s.ksp, (PoisePCSide)7), POISE_ERR_ARG, "no side 7");
  CHECK_OK(PoiseKSPSetNormType(s.ksp, POISE_KSP_NORM_NATURAL));
  CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_UNSUPPORTED, "does not offer the natural norm");
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "method bicgstab");
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_ERROR);
  CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
  CHECK_OK(PoiseKSPSetUp(s.ksp));
  CHECK_OK(PoiseKSPSetPCSide(s.ksp, POISE_PC_RIGHT));
  CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_UNSUPPORTED, "method cg with preconditioning from the right");
  CHECK_OK(PoiseKSPSetType(s.ksp, "gmres"));
  CHECK_OK(PoiseKSPSetNormType(s.ksp, POISE_KSP_NORM_DEFAULT));
  CHECK_OK(PoiseKSPSetUp(s.ksp));
  CHECK_INT(PoiseKSPNormUsed(s.ksp), POISE_KSP_NORM_UNPRECONDITIONED);
  CHECK_ERR(PoiseKSPGMRESSetRestart(s.ksp, 0), POISE_ERR_ARG, "restart of 0");
  CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
  CHECK_OK(PoiseKSPGMRESSetRestart(s.ksp, 3)); /* no effect */
  for (int k = 0; k < 8; k++) CHECK_OK(PoiseKSPAddMonitor(s.ksp, Quiet, NULL));
  CHECK_ERR(PoiseKSPAddMonitor(s.ksp, Quiet, NULL), POISE_ERR_ARG, "8 monitors");
  ProblemClose(&s);
}

/* A norm asked for without a side takes the side that offers it. */
static void TestChoice(PoiseContext ctx)
{
  Problem s;
  for (int t = 1; t < 3; t++) {
    if (!OpenSystem(GridMatrix(ctx, &small_convection), &s)) return;
    CHECK_OK(PoiseKSPSetType(s.ksp, types[t]));
    CHECK_OK(PoiseKSPSetUp(s.ksp));
    CHECK_INT(PoiseKSPNormUsed(s.ksp), POISE_KSP_NORM_PRECONDITIONED);
    CHECK_OK(PoiseKSPSetNormType(s.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-8, -1, -1, 300));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPNormUsed(s.ksp), POISE_KSP_NORM_UNPRECONDITIONED);
    CHECK_NEAR(ErrorOf(&s), 0, 1e-6);
    ProblemClose(&s);
  }
}

static void TestMisuse(PoiseContext ctx)
{
  Problem s;
  PoiseKSP empty;
  PoiseMat R, open;
  PoiseVec other;
  if (!OpenSystem(GridMatrix(ctx, &small_spd), &s) || !CHECK_OK(PoiseKSPCreate(ctx, &empty))) return;
  CHECK_ERR(PoiseKSPSolve(empty, s.b, s.x), POISE_ERR_STATE, "has no matrix");
  CHECK_ERR(PoiseKSPSetUp(empty), POISE_ERR_STATE, "has no matrix");
  double unused;
  CHECK_ERR(PoiseKSPTrueResidual(empty, s.b, s.x, &unused), POISE_ERR_STATE, "has no matrix");
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.b), POISE_ERR_ARG, "b and x are the same vector");
  if (CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, N + 9, &other))) {
    CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, other), POISE_ERR_SIZE, "b has 96 entries");
    CHECK_ERR(PoiseKSPSolve(s.ksp, other, s.x), POISE_ERR_SIZE, "x has 96");
    PoiseVecDestroy(&other);
  }
  if (CHECK_OK(PoiseVecCreate(ctx, POISE_DECIDE, 2 * N, &other))) {
    PoiseVec another;
    CHECK_OK(PoiseVecDuplicate(other, &another));
    CHECK_ERR(PoiseKSPSolve(s.ksp, other, another), POISE_ERR_SIZE, "A has 96 rows, b has 192 entries");
    PoiseVecDestroy(&other);
    PoiseVecDestroy(&another);
  }
  if (CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 20, 40, &R)) &&
      CHECK_OK(PoiseMatAssemble(R))) {
    CHECK_OK(PoiseKSPSetOperators(empty, R, NULL));
    CHECK_ERR(PoiseKSPSetUp(empty), POISE_ERR_SIZE, "the matrix is 20 x 40");
    CHECK_OK(PoiseKSPSetOperators(empty, s.A, R));
    CHECK_ERR(PoiseKSPSetUp(empty), POISE_ERR_SIZE, "A has 96 rows, the matrix of the preconditioner 20");
    PoiseMatDestroy(&R);
  }
  if (CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 20, 20, &open))) {
    CHECK_OK(PoiseKSPSetOperators(empty, open, NULL));
    CHECK_ERR(PoiseKSPSetUp(empty), POISE_ERR_STATE, "not been assembled");
    PoiseMatDestroy(&open);
  }
  PoiseInt row = 0;
  if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(s.A, 1, &row, 1, &row, &unused));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_STATE,
            "PoiseMatAssemble");
  PoiseKSPDestroy(&empty);
  PoiseKSPDestroy(&empty); /* NULL is legal */
  ProblemClose(&s);
}

/* A preconditioner that cannot be built: the error names the row, and the solver can be used once the matrix
   is right. */
static void TestBadPreconditioner(PoiseContext ctx)
{
  double a[] = {2, 1, 0, 1, 0, 1, 0, 1, 4}, one = 1;
  PoiseInt begin, m, row = 1;
  Problem s;
  PoisePC pc;
  PoiseSplit(ctx, 3, &begin, &m);
  if (!OpenSystem(DenseMatrix(ctx, 3, a), &s)) return;
  CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x),
            begin <= 1 && begin + m > 1 ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE,
            "the diagonal entry of row 1 is zero");
  if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(s.A, 1, &row, 1, &row, &one));
  CHECK_OK(PoiseMatAssemble(s.A));
  CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_NEAR(ErrorOf(&s), 0, 1e-4);
  ProblemClose(&s);
}

/* ---- what is printed ------------------------------------------------------------------------- */

static char *Printed(PoiseContext ctx, Problem *s)
{
  char *text = calloc(1, 20000);
  TEST_PRINTED(ctx, text, 20000, PoiseKSPSolve(s->ksp, s->b, s->x));
  CHECK(strlen(text) < 19999);
  return text;
}

static char *NextLine(char **text)
{
  char *line = *text, *end = strchr(line, '\n');
  if (!CHECK(end != NULL)) return "";
  *end = 0;
  *text = end + 1;
  return line;
}

static void CheckLines(Problem *s, char *text, const char *prefix)
{
  const double *norm;
  PoiseInt count;
  char expected[128], *line;
  CHECK_OK(PoiseKSPHistory(s->ksp, &count, &norm));
  if (*prefix) {
    snprintf(expected, sizeof expected, "  Residual norms for %s solve.", prefix);
    CHECK(!strcmp(NextLine(&text), expected));
  }
  for (int i = 0; i < count; i++) {
    int it = -1, used = 0;
    double value = 0;
    line = NextLine(&text);
    CHECK(sscanf(line, "%3d KSP Residual norm %lf%n", &it, &value, &used) == 2 && !line[used]);
    CHECK_INT(it, i);
    CHECK_NEAR(value, norm[i], 1e-12 * norm[i]);
    snprintf(expected, sizeof expected, "%3d KSP Residual norm %14.12e", i, norm[i]);
    CHECK(!strcmp(line, expected));
  }
  bool good = PoiseKSPConvergedReason(s->ksp) > 0;
  snprintf(expected, sizeof expected, "Linear %s%ssolve %s due to %s iterations %d", prefix,
           *prefix ? " " : "", good ? "converged" : "did not converge",
           good ? "CONVERGED_RTOL" : "DIVERGED_ITS", (int)PoiseKSPIterations(s->ksp));
  CHECK(!strcmp(NextLine(&text), expected));
  CHECK(!*text);
}

static void TestLines(PoiseContext ctx)
{
  static const char *const prefixes[] = {"", "fluid_"};
  for (int k = 0; k < 2; k++) {
    char key[64];
    snprintf(key, sizeof key, "%sksp_monitor", prefixes[k]);
    CHECK_OK(PoiseOptionsSet(ctx, key, NULL));
    snprintf(key, sizeof key, "%sksp_converged_reason", prefixes[k]);
    CHECK_OK(PoiseOptionsSet(ctx, key, NULL));
  }
  CHECK_OK(PoiseBarrier(ctx));
  for (int k = 0; k < 2; k++)
    for (int most = 5; most <= 500; most *= 100) {
      Problem s;
      if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
      if (k) CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, prefixes[k]));
      CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-8, -1, -1, most));
      char *text = Printed(ctx, &s);
      if (PoiseRank(ctx))
        CHECK(!*text);
      else
        CheckLines(&s, text, prefixes[k]);
      free(text);
      ProblemClose(&s);
    }
}

/* Norms that a file has after this solve: those of all solves so far, which are the history's. */
static void CheckFile(const char *path, const char *first, const char *format, PoiseKSP ksp, int solves)
{
  char line[128];
  const double *norms;
  PoiseInt count;
  FILE *f = fopen(path, "r");
  CHECK_OK(PoiseKSPHistory(ksp, &count, &norms));
  CHECK(count > 3);
  if (!CHECK(f)) return;
  if (!strncmp(format, "%d,", 3)) CHECK(fgets(line, sizeof line, f) && !strcmp(line, first));
  for (int s = 0; s < solves; s++) {
    if (strncmp(format, "%d,", 3)) CHECK(fgets(line, sizeof line, f) && !strcmp(line, first));
    for (int i = 0; i < count; i++) {
      int it = -1;
      double norm = NAN;
      CHECK(fgets(line, sizeof line, f) && sscanf(line, format, &it, &norm) == 2);
      CHECK(it == i);
      CHECK_NEAR(norm, norms[i], 1e-11 * norms[i]);
    }
  }
  CHECK(!fgets(line, sizeof line, f));
  fclose(f);
}

/* -ksp_monitor :file has the norms of all solves, and nothing is printed. */
static void TestMonitorFile(PoiseContext ctx)
{
  static const char *const forms[][3] = {
      {"csv", "iteration,norm\n", "%d,%lf"},
      {"txt", "  Residual norms for m_ solve.\n", "%d KSP Residual norm %lf"}};
  PoiseErr bad = PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_FILE;
  for (int k = 0; k < 2; k++) {
    char path[64], option[80];
    Problem s;
    snprintf(path, sizeof path, "test_ksp_%ld_%d.%s", (long)getpid(), PoiseSize(ctx), forms[k][0]);
    snprintf(option, sizeof option, ":%s", path);
    CHECK_OK(PoiseOptionsSet(ctx, "m_ksp_monitor", option));
    if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
    CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, "m_"));
    CHECK_OK(PoiseKSPKeepHistory(s.ksp, 1));
    for (int solves = 1; solves <= 2; solves++) {
      CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
      char *text = Printed(ctx, &s);
      CHECK(!*text);
      free(text);
      if (!PoiseRank(ctx)) CheckFile(path, forms[k][1], forms[k][2], s.ksp, solves);
    }
    if (!PoiseRank(ctx)) remove(path);
    CHECK_OK(PoiseOptionsSet(ctx, "m_ksp_monitor", "maybe"));
    CHECK_ERR(PoiseKSPSetFromOptions(s.ksp), POISE_ERR_OPTION,
              "-m_ksp_monitor maybe (code): neither yes nor no");
    CHECK_OK(PoiseOptionsSet(ctx, "m_ksp_monitor", ":no/such/folder/lines.csv"));
    CHECK_ERR(PoiseKSPSetFromOptions(s.ksp), bad, "no/such/folder/lines.csv");
    CHECK_OK(PoiseOptionsSet(ctx, "m_ksp_monitor", "no"));
    CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
    char *text = Printed(ctx, &s);
    CHECK(!*text);
    free(text);
    ProblemClose(&s);
  }
}

static void TestView(PoiseContext ctx)
{
  bool mock = !ctx->device->ops->is_host, serial = SampleReplays(ctx);
  CHECK_OK(PoiseOptionsSet(ctx, "ksp_view", NULL));
  CHECK_OK(PoiseBarrier(ctx));
  for (int k = 0; k < 4; k++) { /* a stored matrix, a shell, a user's test */
    Problem s, t;
    Half h = {0};
    Judge j = {.at = 3, .reason = POISE_CONVERGED_USER};
    PoiseMat shell;
    PoiseInt m, n;
    if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
    h.A = s.A;
    PoiseMatLocalSizes(s.A, &m, &n);
    if (!CHECK_OK(PoiseMatCreateShell(ctx, m, n, N, N, &(PoiseShell){.mult = Mult_Half}, &h, &shell))) return;
    if (!OpenSystem(shell, &t)) return;
    CHECK_OK(PoiseKSPSetOperators(t.ksp, k == 1 ? shell : s.A, s.A));
    CHECK_OK(PoiseKSPSetFromOptions(t.ksp));
    if (k == 2) CHECK_OK(PoiseKSPSetConvergenceTest(t.ksp, Test_User, &j));
    if (k == 3) CHECK_OK(PoiseKSPGMRESSetRestart(t.ksp, 300));
    char *text = Printed(ctx, &t);
    const char *const why[] = {ctx->device->loops ? "the device repeats iterations by itself\n"
                                                  : "the host starts several iterations at once\n",
                               "starts each iteration: the matrix calls back to the host",
                               "starts each iteration: the convergence test is a user's",
                               "starts each iteration: the method's cycle is too long to capture"};
    const char *expected = !mock     ? "  iterations run on the host\n"
                           : !serial ? "ranks exchange through the host"
                                     : why[k];
    CHECK(PoiseRank(ctx) ? !*text : strstr(text, expected) != NULL);
    CHECK(PoiseRank(ctx) ||
          (strstr(text, "KSP: type gmres") && strstr(text, k == 3 ? "restart 300," : "restart 30,") &&
           strstr(text, "PC: type none") && strstr(text, "left, converges in the preconditioned norm") &&
           strstr(text, k == 1 ? "type shell" : "type auto")));
    free(text);
    ProblemClose(&t);
    ProblemClose(&s);
  }
}

/* -ksp_monitor_every: lines of each third iteration and of the last, with the norms of the history. Nothing
   else is left out. */
static void TestMonitorEvery(PoiseContext ctx)
{
  for (int most = 5; most <= 7; most++) { /* the last is printed once, whatever its number */
    Problem s;
    PoiseInt count;
    const double *norm;
    int lines = 0, it, next = 0;
    double value;
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_monitor", "yes"));
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_monitor_every", "3"));
    if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
    CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
    CHECK_OK(PoiseKSPKeepHistory(s.ksp, 1));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-14, -1, -1, most));
    char *text = Printed(ctx, &s), *line = text;
    CHECK_OK(PoiseKSPHistory(s.ksp, &count, &norm));
    CHECK_INT(count, most + 1);
    for (; sscanf(line, "%d KSP Residual norm %lf", &it, &value) == 2; lines++) {
      CHECK_INT(it, next);
      CHECK_NEAR(value, norm[it], 1e-12 * norm[it]);
      next = it + 3 < most ? it + 3 : most;
      line = strchr(line, '\n') + 1;
    }
    if (!PoiseRank(ctx)) CHECK_INT(lines, 1 + (most + 2) / 3);
    free(text);
    ProblemClose(&s);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "ksp_monitor", "no"));
}

/* ---- progress -------------------------------------------------------------------------------- */

/* As if the solve had begun ten seconds ago. */
static PoiseErr Monitor_Late(PoiseKSP ksp, PoiseInt it, double norm, void *its)
{
  Pace *pace = &ksp->solve.pace;
  (void)norm;
  if (it == 1 && pace->line.on) pace->line.begun -= 10, pace->since.time -= 10, pace->next.time -= 10;
  *(PoiseInt *)its = it;
  return POISE_OK;
}

/* The line has the numbers of an iteration, and is gone in the end. It costs no copy and no wait. Without a
   terminal, inside preconditioners, and beside the lines of -ksp_monitor there is none. */
static void TestProgress(PoiseContext ctx)
{
  static const char *const ways[] = {"no", "yes", "yes with lines"};
  int64_t copies[3], waits[3];
  for (int k = 0; k < 3; k++) {
    Problem s;
    ErrorOutput t;
    char seen[OUTPUT_ROOM];
    const double *norm;
    PoiseInt count, its;
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_progress", k ? "yes" : "no"));
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_monitor", k == 2 ? "yes" : "no"));
    if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
    CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-12, -1, -1, 400));
    CHECK_OK(PoiseKSPKeepHistory(s.ksp, 1));
    CHECK_OK(PoiseKSPAddMonitor(s.ksp, Monitor_Late, &its));
    CHECK_OK(PoiseKSPSetUp(s.ksp));
    copies[k] = ctx->device->copies, waits[k] = ctx->device->waits;
    if (!TakeErrorOutput(&t, true)) return;
    char *text = Printed(ctx, &s);
    GiveErrorOutput(&t, seen);
    free(text);
    copies[k] = ctx->device->copies - copies[k], waits[k] = ctx->device->waits - waits[k];
    CHECK_OK(PoiseKSPHistory(s.ksp, &count, &norm));
    int it = -1;
    double value = NAN, digits = -1;
    if (k != 1) CHECK(!strcmp(seen, "!"));
    if (k == 1 && CHECK(sscanf(seen, "\r\033[Kgmres: iteration %d, residual %lf, %lf digits/s", &it, &value,
                               &digits) == 3)) {
      CHECK(it > 0 && it < count && digits >= 0);
      CHECK_NEAR(value, norm[it], 0.06 * norm[it]);
      CHECK(strstr(seen, " to the tolerance") || strstr(seen, " to -ksp_max_it") || digits == 0);
      CHECK(!strcmp(seen + strlen(seen) - 5, "\r\033[K!"));
    }
    if (it < 0 && k == 1) printf("%s: '%s'\n", ways[k], seen);
    ProblemClose(&s);
  }
  CHECK_INT(copies[1], copies[0]);
  CHECK_INT(waits[1], waits[0]);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct Given {
  Problem *s;
  const Case *c;
} Given;

static PoiseErr UseSolver(PoiseKSP ksp, const Given *g)
{
  POISE_TRY(PoiseKSPSetOptionsPrefix(ksp, "memory_"));
  POISE_TRY(PoiseKSPSetOperators(ksp, g->s->A, NULL));
  POISE_TRY(Configure(ksp, g->c, "pbjacobi"));
  POISE_TRY(PoiseKSPKeepHistory(ksp, 1));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-6, -1, -1, 60));
  return PoiseKSPSolve(ksp, g->s->b, g->s->x);
}

static PoiseErr CreateAndUse(PoiseContext ctx, void *arg)
{
  PoiseKSP ksp;
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  PoiseErr e = UseSolver(ksp, arg);
  PoiseKSPDestroy(&ksp);
  return e;
}

static const Case lean[] = {
    {"cg", POISE_PC_LEFT, POISE_KSP_NORM_PRECONDITIONED, 0},
    {"bicgstab", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 0},
    {"gmres", POISE_PC_RIGHT, POISE_KSP_NORM_UNPRECONDITIONED, 3},
};

static void TestMemory(PoiseContext ctx)
{
  Problem s;
  if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
  for (int k = 0; k < 3; k++) TestAllocationFailures(ctx, CreateAndUse, &(Given){&s, &lean[k]});
  ProblemClose(&s);
}

/* A solver whose set-up or solve failed for want of memory on one rank solves when asked again. */
static void TestMemoryAgain(PoiseContext ctx)
{
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Problem s;
  if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
  for (int k = 0; k < 3; k++) {
    double failed = 1;
    for (int n = 1; failed > 0; n += PoiseSize(ctx) > 2 ? 3 : 1) {
      PoiseKSP ksp;
      if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return;
      if (mine) poiseAllocFailAt(ctx, n);
      PoiseErr e = UseSolver(ksp, &(Given){&s, &lean[k]});
      poiseAllocFailAt(ctx, 0);
      if (e) CHECK_ERR(e, mine ? POISE_ERR_MEMORY : POISE_ERR_REMOTE, "no memory for");
      failed = e != POISE_OK;
      CHECK_OK(PoiseMax(ctx, 1, &failed));
      CHECK_OK(PoiseVecSet(s.x, NAN));
      CHECK_OK(UseSolver(ksp, &(Given){&s, &lean[k]}));
      CHECK_INT(PoiseKSPConvergedReason(ksp), POISE_CONVERGED_RTOL);
      CHECK_NEAR(ErrorOf(&s), 0, 1e-4);
      PoiseKSPDestroy(&ksp);
    }
  }
  ProblemClose(&s);
}

/* prcg says what it does not take. */
static void TestRefused(PoiseContext ctx)
{
  Problem s;
  PoisePC pc;
  if (!OpenSystem(GridMatrix(ctx, &small_spd), &s)) return;
  CHECK_OK(PoiseKSPSetType(s.ksp, "prcg"));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "pbjacobi"));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "not pbjacobi");
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  CHECK_OK(PoiseMatSetNullSpace(s.A, 1, 0, NULL));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "null space");
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  ProblemClose(&s);
}

/* A view that rank 0 cannot write is an error on all ranks. */
static void TestOutputFails(PoiseContext ctx)
{
  FILE *full = fopen("/dev/full", "w"), *old = ctx->out;
  Problem p;
  PoisePC pc;
  PoiseErr e[4];
  char text[8192];
  if (!full) TEST_SKIP("there is no /dev/full");
  setvbuf(full, NULL, _IONBF, 0);
  if (!ProblemOpenGrid(ctx, 9, 8, 1, "cg", "jacobi", &p)) return;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
  PoiseSetOutput(ctx, full);
  e[0] = PoiseMatView(p.A), e[1] = PoiseVecView(p.x), e[2] = PoisePCView(pc), e[3] = PoiseKSPView(p.ksp);
  for (int k = 0; k < 4; k++) CHECK(e[k] == (PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_FILE));
  PoiseSetOutput(ctx, old);
  TEST_PRINTED(ctx, text, sizeof text, PoiseKSPView(p.ksp)); /* nothing is left of it */
  CHECK(!strncmp(text, "KSP", 3) == (PoiseRank(ctx) == 0));
  ProblemClose(&p);
  fclose(full);
}

static const Test tests[] = {
    {"refused", TestRefused, 0},
    {"textbook", TestTextbook, 0},
    {"two_matrices", TestTwoMatrices, 0},
    {"bits", TestBits, TEST_SERIAL | TEST_HOST_ONLY}, /* starts the ranks and devices that it compares */
    {"zero_right_hand_side", TestZeroRightHandSide, 0},
    {"nan", TestNaN, 0},
    {"first_nan", TestFirstNaN, 0},
    {"repeats", TestRepeats, 0},
    {"overflow", TestOverflow, 0},
    {"indefinite", TestIndefinite, 0},
    {"indefinite_words", TestIndefiniteWords, 0},
    {"scale", TestScale, 0},
    {"tiny", TestTiny, 0},
    {"breakdown", TestBreakdown, 0},
    {"source", TestSource, 0},
    {"exactly_solved", TestExactlySolved, 0},
    {"limits", TestLimits, 0},
    {"growth", TestGrowth, 0},
    {"error_if_not_converged", TestErrorIfNotConverged, 0},
    {"guess", TestGuess, 0},
    {"user_test", TestUserTest, 0},
    {"user_test_breakdown", TestUserTestBreakdown, 0},
    {"monitors", TestMonitors, 0},
    {"collective_callbacks", TestCollectiveCallbacks, 0},
    {"shell", TestShell, 0},
    {"shell_fails", TestShellFails, 0},
    {"changes", TestChanges, 0},
    {"other_preconditioners", TestOtherPreconditioners, 0},
    {"second_solve", TestSecondSolve, 0},
    {"other_matrices", TestOtherMatrices, 0},
    {"other_layouts", TestOtherLayouts, 0},
    {"refinement", TestRefinement, 0},
    {"restarts", TestRestarts, 0},
    {"small", TestSmall, 0},
    {"settings", TestSettings, 0},
    {"choice", TestChoice, 0},
    {"misuse", TestMisuse, 0},
    {"bad_preconditioner", TestBadPreconditioner, 0},
    {"lines", TestLines, 0},
    {"monitor_file", TestMonitorFile, 0},
    {"monitor_every", TestMonitorEvery, 0},
    {"progress", TestProgress, TEST_SERIAL},
    {"output_fails", TestOutputFails, 0},
    {"view", TestView, 0},
    {"memory", TestMemory, 0},
    {"memory_again", TestMemoryAgain, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "ksp", tests);
}

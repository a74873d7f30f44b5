/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The preconditioner mg, with grids of 2^k - 1 points along each of two directions. M is compared with what
  formulas make of dense matrices, of all forms, smoothers and ways between levels. Solves are judged by
  iterations that do not depend on the size.
*/
#include "multigrid.h"
#include "pc/nested/mg.h"

enum { MOST = 4, ROWS = 225 };

/* ---- a hierarchy ----------------------------------------------------------------------------- */

/* Options of prefix x_ of the reference's smoother: sweeps of richardson or chebyshev. */
typedef struct Smoother {
  const char *options;
  int steps;
  double scale;     /* of richardson; 0: chebyshev, */
  double low, high; /* for this spectrum */
  bool plain;       /* without jacobi */
} Smoother;

static const Smoother smoothers[] = {
    {"-x_mg_levels_ksp_type richardson -x_mg_levels_ksp_max_it 1 -x_mg_levels_ksp_richardson_scale 0.7", 1,
     0.7, 0, 0, false},
    {"-x_mg_levels_ksp_type richardson -x_mg_levels_ksp_max_it 3 -x_mg_levels_ksp_richardson_scale 0.15 "
     "-x_mg_levels_pc_type none",
     3, 0.15, 0, 0, true},
    {"-x_mg_levels_ksp_type chebyshev -x_mg_levels_ksp_max_it 1 -x_mg_levels_ksp_chebyshev_eigenvalues "
     "0.3,1.9",
     1, 0, 0.3, 1.9, false},
    {"-x_mg_levels_ksp_type chebyshev -x_mg_levels_ksp_max_it 4 -x_mg_levels_ksp_chebyshev_eigenvalues "
     "0.3,1.9",
     4, 0, 0.3, 1.9, false},
    /* blocks of one row: jacobi by another preconditioner, which is no diagonal for the solver */
    {"-x_mg_levels_ksp_type chebyshev -x_mg_levels_ksp_max_it 2 -x_mg_levels_ksp_chebyshev_eigenvalues "
     "0.3,1.9 -x_mg_levels_pc_type ksp -x_mg_levels_ksp_ksp_type preonly -x_mg_levels_ksp_pc_type jacobi",
     2, 0, 0.3, 1.9, false},
    /* solvers that are no sweeps */
    {"-x_mg_levels_ksp_type preonly", 1, 1, 0, 0, false},
    {"-x_mg_levels_ksp_type richardson -x_mg_levels_ksp_max_it 2 -x_mg_levels_ksp_rtol 0 "
     "-x_mg_levels_ksp_richardson_scale 0.7 -x_mg_levels_ksp_norm_type preconditioned",
     2, 0.7, 0, 0, false},
};
enum { SMOOTHERS = sizeof smoothers / sizeof *smoothers, REAL_SWEEPS = 5 };

static const char usual[] =
    "-x_mg_levels_ksp_type chebyshev -x_mg_levels_ksp_max_it 2 -x_mg_levels_ksp_chebyshev_eigenvalues "
    "0.3,1.9 "
    "-x_mg_levels_ksp_norm_type none -x_mg_levels_pc_type jacobi -x_mg_levels_ksp_rtol 1e-5";

typedef enum Way { BY_P, BY_P_AND_R, BY_ROWS } Way;

typedef struct Tower {
  int side, count; /* points along a direction of the finest level; levels */
  int b;           /* unknowns of a point */
  Way way;
  bool given; /* operators of coarse levels */
  int layout;
  const char *type; /* of all matrices */
  double vary;
  bool neumann;                       /* no boundary values */
  PoiseMat A[MOST], P[MOST], R[MOST]; /* A[k] below the finest: NULL unless given */
} Tower;

static int SideOf(const Tower *t, int k)
{
  int side = t->side;
  for (int j = t->count - 1; j > k; j--) side = (side - 1) / 2;
  return side;
}

static PoiseInt RowsOf(const Tower *t, int k)
{
  return (PoiseInt)SideOf(t, k) * SideOf(t, k) * t->b;
}

/* Point i of level k is point j of the level beneath, or between such points. */
static double Weight(int side, PoiseInt i, PoiseInt j)
{
  int coarse = (side - 1) / 2;
  double w = 1;
  for (int d = 0; d < 2; d++) {
    PoiseInt at = d ? i / side : i % side, of = 2 * (d ? j / coarse : j % coarse) + 1;
    w *= at == of ? 1 : llabs((long long)(at - of)) == 1 ? 0.5 : 0;
  }
  return w;
}

static bool IsCoarse(int side, PoiseInt i)
{
  return i % side % 2 == 1 && i / side % 2 == 1;
}

/* Local rows of level k: of those that rows lead to, the points that this rank has of the level above. */
static PoiseInt LocalRows(PoiseContext ctx, const Tower *t, int k)
{
  PoiseInt above, begin, n = RowsOf(t, k) / t->b, m = SampleLocal(ctx, t->layout, n);
  if (m == POISE_DECIDE) PoiseSplit(ctx, n, &begin, &m);
  if (t->way != BY_ROWS || k + 1 == t->count) return m * t->b;
  above = LocalRows(ctx, t, k + 1);
  int64_t last = above, all;
  CHECK_OK(poiseCommScan(ctx->comm, above, &begin, &all));
  m = 0;
  for (PoiseInt i = begin; i < begin + last; i++) m += IsCoarse(SideOf(t, k + 1), i / t->b);
  return m;
}

/* Entry (p, q) of the unknowns of a point, of a matrix that is symmetric and positive. */
static double Unknowns(int p, int q)
{
  return p == q ? 2 : 0.5;
}

static PoiseMat Empty(PoiseContext ctx, const Tower *t, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N)
{
  PoiseMat A = NULL;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, n, M, N, &A))) return NULL;
  CHECK_OK(PoiseMatSetType(A, t->type));
  CHECK_OK(PoiseMatSetBlockSize(A, t->b));
  return A;
}

/* Of five points, with coefficients of Grid: the one between a point and that in direction at, 1 or -1 along
   the grid, 2 or -2 across it; 0: there is none. */
static double Towards(const Grid *g, PoiseInt point, int at)
{
  PoiseInt place = at % 2 ? point % g->k : point / g->k, step = at % 2 ? at : at / 2 * g->k;
  bool inside = place + (at > 0 ? 1 : -1) >= 0 && place + (at > 0 ? 1 : -1) < g->k;
  return inside ? Edge(g, point, point + step) : 0;
}

static PoiseErr AddPoints(PoiseMat A, const Tower *t, PoiseInt i, PoiseInt next, double v)
{
  PoiseErr e = POISE_OK;
  for (int q = 0; q < t->b && !e; q++) {
    PoiseInt j = next * t->b + q;
    double w = v * (t->b > 1 ? Unknowns((int)(i % t->b), q) : 1);
    e = PoiseMatAddBlock(A, 1, &i, 1, &j, &w);
  }
  return e;
}

static PoiseMat Operator(PoiseContext ctx, const Tower *t, int k)
{
  Grid g = {.dim = 2, .k = SideOf(t, k), .vary = t->vary};
  PoiseInt n = RowsOf(t, k), m = LocalRows(ctx, t, k);
  PoiseMat A = Empty(ctx, t, m, m, n, n);
  if (!A) return NULL;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++) {
    PoiseInt point = i / t->b;
    double sum = 0;
    for (int at = -2; at <= 2; at++) {
      double v = at ? Towards(&g, point, at) : 0;
      sum += v;
      if (v > 0) CHECK_OK(AddPoints(A, t, i, point + (at % 2 ? at : at / 2 * g.k), -v));
    }
    CHECK_OK(AddPoints(A, t, i, point, t->neumann ? sum : 4 * (1 + t->vary)));
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Without boundary values, constants stay constants. */
static double Share(const Tower *t, int side, PoiseInt i, PoiseInt j)
{
  double w = Weight(side, i, j);
  for (int d = 0; d < 2 && t->neumann; d++) {
    PoiseInt at = d ? i / side : i % side;
    if (at == 0 || at == side - 1) w *= 2;
  }
  return w;
}

/* P of level k, or R, which is not P^T, but a quarter of it with other numbers. Blocks are whole. */
static PoiseMat Transfer(PoiseContext ctx, const Tower *t, int k, bool restricts)
{
  PoiseInt fine = RowsOf(t, k), coarse = RowsOf(t, k - 1), m = LocalRows(ctx, t, k),
           n = LocalRows(ctx, t, k - 1);
  PoiseMat M = restricts ? Empty(ctx, t, n, m, coarse, fine) : Empty(ctx, t, m, n, fine, coarse);
  if (!M) return NULL;
  for (PoiseInt row = M->rows->begin; row < M->rows->begin + M->rows->n; row++)
    for (PoiseInt col = 0; col < M->cols->N; col++) {
      PoiseInt i = restricts ? col : row, j = restricts ? row : col;
      double w = Share(t, SideOf(t, k), i / t->b, j / t->b);
      if (w == 0) continue;
      if (i % t->b != j % t->b) w = 0;
      if (restricts) w *= 0.25 * (1 + 0.1 * TestRandom(8, (uint64_t)(row * 7919 + col)));
      CHECK_OK(PoiseMatAddBlock(M, 1, &row, 1, &col, &w));
    }
  CHECK_OK(PoiseMatAssemble(M));
  return M;
}

static void Build(PoiseContext ctx, Tower *t)
{
  if (!t->type) t->type = "auto";
  if (!t->b) t->b = 1;
  for (int k = 0; k < t->count; k++) {
    bool finest = k + 1 == t->count;
    t->A[k] = finest || t->given ? Operator(ctx, t, k) : NULL;
    t->P[k] = k && t->way != BY_ROWS ? Transfer(ctx, t, k, false) : NULL;
    t->R[k] = k && t->way == BY_P_AND_R ? Transfer(ctx, t, k, true) : NULL;
  }
}

static void Destroy(Tower *t)
{
  for (int k = 0; k < t->count; k++) {
    PoiseMatDestroy(&t->A[k]);
    PoiseMatDestroy(&t->P[k]);
    PoiseMatDestroy(&t->R[k]);
  }
}

static PoiseErr Inject(PoisePC pc, const Tower *t, int k)
{
  PoiseContext ctx = t->A[t->count - 1]->ctx;
  PoiseInt begin, n = 0, m = LocalRows(ctx, t, k), all;
  PoiseInt *rows = malloc((size_t)(m + 1) * sizeof *rows);
  CHECK_OK(poiseCommScan(ctx->comm, m, &begin, &all));
  for (PoiseInt i = 0; i < m; i++)
    if (IsCoarse(SideOf(t, k), (begin + i) / t->b)) rows[n++] = i;
  PoiseErr e = PoisePCMGSetInjection(pc, k, n, rows);
  free(rows);
  return e;
}

/* Give it to pc, which is of type mg. */
static PoiseErr Give(PoisePC pc, const Tower *t)
{
  POISE_TRY(PoisePCMGSetLevels(pc, t->count));
  for (int k = 1; k < t->count; k++) {
    if (t->P[k]) POISE_TRY(PoisePCMGSetInterpolation(pc, k, t->P[k]));
    if (t->R[k]) POISE_TRY(PoisePCMGSetRestriction(pc, k, t->R[k]));
    if (t->way == BY_ROWS) POISE_TRY(Inject(pc, t, k));
  }
  for (int k = 0; k + 1 < t->count; k++)
    if (t->A[k]) POISE_TRY(PoisePCMGSetOperator(pc, k, t->A[k]));
  return POISE_OK;
}

static PoiseMat Finest(const Tower *t)
{
  return t->A[t->count - 1];
}

static PoisePC MgOf(const Tower *t, const char *options)
{
  PoisePC pc = Make(Finest(t)->ctx, "mg", Finest(t), options);
  CHECK_OK(Give(pc, t));
  return pc;
}

/* ---- the reference --------------------------------------------------------------------------- */

typedef struct Full { /* a level as dense matrices, by rows */
  int n, coarse;
  double *A, *P, *R;
} Full;

typedef struct Reference {
  int count;
  Full level[MOST];
  Smoother smoother;
  int type, cycle, cycles;
} Reference;

static double *Room(int n)
{
  return calloc((size_t)n + 1, sizeof(double));
}

/* All of a matrix, on every rank. */
static double *DenseOfMat(PoiseMat M)
{
  int m = (int)M->rows->N, n = (int)M->cols->N;
  double *a = Room(m * n);
  for (PoiseInt i = M->rows->begin; i < M->rows->begin + M->rows->n; i++) {
    const PoiseInt *cols;
    const double *v;
    PoiseInt count = 0;
    CHECK_OK(PoiseMatGetRow(M, i, &count, &cols, &v));
    for (PoiseInt k = 0; k < count; k++) a[i * n + cols[k]] = v[k];
  }
  for (int i = 0; i < m && PoiseSize(M->ctx) > 1; i++) CHECK_OK(PoiseSum(M->ctx, n, a + i * n));
  return a;
}

/* m x k times k x n */
static double *Times(const double *a, const double *b, int m, int k, int n)
{
  double *c = Room(m * n);
  for (int i = 0; i < m; i++)
    for (int l = 0; l < k; l++)
      for (int j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
  return c;
}

static double *Turned_(const double *a, int m, int n)
{
  double *t = Room(m * n);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) t[j * m + i] = a[i * n + j];
  return t;
}

static double *PickOf(const Tower *t, int k, int fine, int coarse)
{
  double *a = Room(fine * coarse);
  for (int i = 0, j = 0; i < fine; i++)
    if (IsCoarse(SideOf(t, k), i / t->b)) a[i * coarse + j++] = 1;
  return a;
}

static void Describe(const Tower *t, Reference *r)
{
  r->count = t->count;
  for (int k = t->count - 1; k >= 0; k--) {
    Full *l = &r->level[k];
    l->n = (int)RowsOf(t, k), l->coarse = k ? (int)RowsOf(t, k - 1) : 0;
    if (t->A[k])
      l->A = DenseOfMat(t->A[k]);
    else {
      double *product = Times(l[1].A, l[1].P, l[1].n, l[1].n, l->n);
      l->A = Times(l[1].R, product, l->n, l[1].n, l->n);
      free(product);
    }
    if (!k) continue;
    l->P = t->P[k] ? DenseOfMat(t->P[k]) : PickOf(t, k, l->n, l->coarse);
    l->R = t->R[k] ? DenseOfMat(t->R[k]) : Turned_(l->P, l->n, l->coarse);
  }
}

static void Forget(Reference *r)
{
  for (int k = 0; k < r->count; k++) {
    free(r->level[k].A);
    free(r->level[k].P);
    free(r->level[k].R);
    r->level[k] = (Full){0};
  }
}

/* y += sign a x */
static void AddTimes(const double *a, int m, int n, double sign, const double *x, double *y)
{
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) y[i] += sign * a[i * n + j] * x[j];
}

static double *LeftOver(const Full *l, const double *b, const double *x)
{
  double *r = Room(l->n);
  memcpy(r, b, (size_t)l->n * sizeof *r);
  AddTimes(l->A, l->n, l->n, -1, x, r);
  return r;
}

/* x = A^-1 b by elimination; A is positive definite. */
static void SolveDense(const Full *l, const double *b, double *x)
{
  int n = l->n;
  double *a = Room(n * n);
  memcpy(a, l->A, (size_t)(n * n) * sizeof *a);
  memcpy(x, b, (size_t)n * sizeof *x);
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) {
      double f = a[i * n + k] / a[k * n + k];
      for (int j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
      x[i] -= f * x[k];
    }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) x[i] -= a[i * n + j] * x[j];
    x[i] /= a[i * n + i];
  }
  free(a);
}

/* Saad, Iterative methods for sparse linear systems, algorithm 12.1. */
static void SmoothDense(const Smoother *s, const Full *l, const double *b, double *x)
{
  double theta = (s->high + s->low) / 2, delta = (s->high - s->low) / 2, rho = delta / theta;
  double *d = Room(l->n);
  for (int k = 0; k < s->steps; k++) {
    double *r = LeftOver(l, b, x), next = 1 / (2 * theta / delta - rho);
    for (int i = 0; i < l->n; i++) {
      double z = s->plain ? r[i] : r[i] / l->A[i * l->n + i];
      if (s->scale > 0)
        d[i] = s->scale * z;
      else
        d[i] = k == 0 ? z / theta : next * rho * d[i] + 2 * next / delta * z;
      x[i] += d[i];
    }
    if (k) rho = next;
    free(r);
  }
  free(d);
}

static void OnLevel(const Reference *r, int k, const double *b, double *x)
{
  const Full *l = &r->level[k];
  double *t = LeftOver(l, b, x), *e = Room(l->n);
  if (k > 0) SmoothDense(&r->smoother, l, b, x);
  if (k == 0) SolveDense(l, t, e);
  for (int i = 0; k == 0 && i < l->n; i++) x[i] += e[i];
  free(t);
  free(e);
}

static void CycleDense(const Reference *r, int k, const double *b, double *x)
{
  const Full *l = &r->level[k];
  OnLevel(r, k, b, x);
  if (k == 0) return;
  double *t = LeftOver(l, b, x), *c = Room(l->coarse), *e = Room(l->coarse);
  AddTimes(l->R, l->coarse, l->n, 1, t, c);
  for (int v = 0; v < (r->cycle && k > 1 ? 2 : 1); v++) CycleDense(r, k - 1, c, e);
  AddTimes(l->P, l->n, l->coarse, 1, e, x);
  OnLevel(r, k, b, x);
  free(t);
  free(c);
  free(e);
}

/* x = M r */
static void ApplyDense(const Reference *r, const double *rhs, double *result)
{
  double *b[MOST] = {NULL}, *x[MOST] = {NULL};
  int top = r->count - 1;
  for (int k = top; k >= 0; k--) {
    b[k] = Room(r->level[k].n), x[k] = Room(r->level[k].n);
    if (k == top) memcpy(b[k], rhs, (size_t)r->level[k].n * sizeof(double));
    if (k < top) AddTimes(r->level[k + 1].R, r->level[k].n, r->level[k + 1].n, 1, b[k + 1], b[k]);
  }
  for (int c = 0; r->type == MG_MULTIPLICATIVE && c < r->cycles; c++) CycleDense(r, top, b[top], x[top]);
  for (int k = 0; r->type != MG_MULTIPLICATIVE && k <= top; k++) {
    const Full *l = &r->level[k];
    if (r->type == MG_ADDITIVE) OnLevel(r, k, b[k], x[k]);
    if (k) AddTimes(l->P, l->n, l->coarse, 1, x[k - 1], x[k]);
    if (r->type == MG_FULL) CycleDense(r, k, b[k], x[k]);
    if (r->type == MG_KASKADE) OnLevel(r, k, b[k], x[k]);
  }
  memcpy(result, x[top], (size_t)r->level[top].n * sizeof(double));
  for (int k = 0; k <= top; k++) {
    free(b[k]);
    free(x[k]);
  }
}

/* Largest difference of M r, relative to the largest entry. z held NaN. */
static double Defect(PoisePC pc, const Reference *ref)
{
  PoiseVec r, z;
  int n = ref->level[ref->count - 1].n;
  double *b = Room(n), *y = Room(n), *x = Room(n), worst = 0, scale = 0;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return INFINITY;
  SampleFill(r, 5);
  SampleConstant(z, NAN);
  if (!CHECK_OK(PoisePCApply(pc, r, z))) worst = INFINITY;
  CHECK_OK(SampleFromVec(r, b));
  CHECK_OK(SampleFromVec(z, y));
  ApplyDense(ref, b, x);
  for (int i = 0; i < n; i++) {
    worst = poiseLarger(worst, fabs(x[i] - y[i]));
    scale = poiseLarger(scale, fabs(x[i]));
  }
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  free(b);
  free(y);
  free(x);
  return worst / scale;
}

/* ---- M is what the formulas say -------------------------------------------------------------- */

static void SetForm(PoisePC pc, Reference *r, int type, int cycle, int cycles)
{
  r->type = type, r->cycle = cycle, r->cycles = cycles;
  CHECK_OK(PoisePCMGSetType(pc, (PoisePCMGType)type));
  CHECK_OK(PoisePCMGSetCycleType(pc, (PoisePCMGCycleType)cycle));
  CHECK_OK(PoisePCMGMultiplicativeSetCycles(pc, cycles));
}

/* All forms, with one preconditioner. */
static void CheckForms(const Tower *t, const Smoother *s)
{
  Reference r = {.smoother = *s};
  SetOptions(Finest(t)->ctx, usual);
  PoisePC pc = MgOf(t, s->options);
  Describe(t, &r);
  for (int k = 0; k < 6; k++) {
    static const int types[] = {MG_MULTIPLICATIVE, MG_MULTIPLICATIVE, MG_MULTIPLICATIVE,
                                MG_ADDITIVE,       MG_FULL,           MG_KASKADE};
    SetForm(pc, &r, types[k], k == 1 || k == 4, k == 2 ? 3 : 1);
    CHECK_NEAR(Defect(pc, &r), 0, 1e-12);
  }
  Forget(&r);
  PoisePCDestroy(&pc);
}

static void TestSmoothers(PoiseContext ctx)
{
  for (int k = 0; k < SMOOTHERS; k++) {
    Tower t = {.side = 15, .count = 3, .way = k % 3 == 2 ? BY_ROWS : BY_P, .vary = 0.5};
    t.given = t.way == BY_ROWS;
    Build(ctx, &t);
    CheckForms(&t, &smoothers[k]);
    Destroy(&t);
  }
}

static void TestWays(PoiseContext ctx)
{
  static const char *const types[] = {"csr", "csri", "seg", "auto"};
  for (int k = 0; k < 2 * 3 * NLAYOUTS; k++) {
    Tower t = {.side = 15,
               .count = 2 + k % 3,
               .way = (Way)(k / 2 % 3),
               .given = k % 2,
               .layout = k / 6,
               .type = types[k % 4],
               .vary = 0.5};
    Build(ctx, &t);
    CheckForms(&t, &smoothers[k % REAL_SWEEPS]);
    Destroy(&t);
  }
}

/* Two unknowns a point, as blocks and as numbers; or an operator in blocks alone. */
static void TestBlocks(PoiseContext ctx)
{
  for (int k = 0; k < 9; k++) {
    Tower t = {.side = 7, .count = 3, .b = 2, .way = (Way)(k % 3), .vary = 0.5}, plain;
    t.type = k / 3 ? "bcsr" : "csr";
    plain = t;
    plain.type = "csr";
    Build(ctx, &t);
    if (k / 3 == 2) {
      Build(ctx, &plain);
      for (int j = 1; j < 3; j++) {
        PoiseMat P = t.P[j], R = t.R[j];
        t.P[j] = plain.P[j], plain.P[j] = P;
        t.R[j] = plain.R[j], plain.R[j] = R;
      }
      Destroy(&plain);
    }
    CheckForms(&t, &smoothers[k % 2 ? 3 : 0]);
    Destroy(&t);
  }
}

/* One level is the coarse solver; two cycles improve what it found. */
static void TestOneLevel(PoiseContext ctx)
{
  static const char *const coarse[] = {"-x_mg_coarse_pc_type lu -x_mg_coarse_ksp_type preonly",
                                       "-x_mg_coarse_pc_type jacobi -x_mg_coarse_ksp_type preonly"};
  Tower t = {.side = 7, .count = 1, .vary = 0.5};
  Build(ctx, &t);
  for (int k = 0; k < 2; k++) {
    SetOptions(ctx, k ? "-x_pc_mg_multiplicative_cycles 2" : "-x_pc_mg_multiplicative_cycles 1");
    PoisePC pc = Make(ctx, "mg", t.A[0], coarse[k]);
    if (k == 0) CHECK_NEAR(Residual(pc, t.A[0]), 0, 1e-13);
    Smoother twice = {.steps = 2, .scale = 1};
    PoiseVec r, z;
    Full l = {(int)RowsOf(&t, 0), 0, DenseOfMat(t.A[0]), NULL, NULL};
    double b[ROWS], x[ROWS] = {0}, y[ROWS];
    CHECK_OK(PoiseMatCreateVecs(t.A[0], &r, &z));
    SampleFill(r, 3);
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK_OK(SampleFromVec(r, b));
    CHECK_OK(SampleFromVec(z, y));
    if (k) SmoothDense(&twice, &l, b, x);
    for (int i = 0; k && i < l.n; i++) CHECK_NEAR(x[i], y[i], 1e-13);
    free(l.A);
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
  }
  SetOptions(ctx, coarse[0]);
  Destroy(&t);
}

/* (u, M v) = (M u, v), with P^T and smoothers that are symmetric. */
static void TestSymmetric(PoiseContext ctx)
{
  for (int k = 0; k < 6; k++) {
    Tower t = {.side = 15, .count = 3, .way = k % 2 ? BY_ROWS : BY_P, .vary = 0.5};
    Reference r;
    PoiseVec u, v, Mu, Mv;
    Build(ctx, &t);
    SetOptions(ctx, usual);
    PoisePC pc = MgOf(&t, "-x_pc_mg_levels 3");
    SetForm(pc, &r, k / 2 == 2 ? MG_ADDITIVE : MG_MULTIPLICATIVE, k / 2 == 1, 1);
    CHECK_OK(PoiseMatCreateVecs(Finest(&t), &u, &v));
    CHECK_OK(PoiseMatCreateVecs(Finest(&t), &Mu, &Mv));
    SampleFill(u, 11);
    SampleFill(v, 12);
    CHECK_OK(PoisePCApply(pc, u, Mu));
    CHECK_OK(PoisePCApply(pc, v, Mv));
    double uu = Dot(u, Mu), vv = Dot(v, Mv);
    CHECK(uu > 0 && vv > 0);
    CHECK_NEAR(Dot(u, Mv), Dot(Mu, v), 1e-13 * sqrt(uu * vv));
    PoiseVecDestroy(&u);
    PoiseVecDestroy(&v);
    PoiseVecDestroy(&Mu);
    PoiseVecDestroy(&Mv);
    PoisePCDestroy(&pc);
    Destroy(&t);
  }
}

/* Factors of several ranks are made by the first one's host. amg is a coarse solver that every rank has, and
   exact as long as it has one level. */
static void TestCoarse(PoiseContext ctx)
{
  for (int k = 0; k < 2; k++) {
    Tower t = {.side = 15, .count = 3, .vary = 0.5};
    Reference r = {.smoother = smoothers[3], .cycles = 1};
    Build(ctx, &t);
    SetOptions(ctx, usual);
    SetOptions(ctx,
               k ? "-x_mg_coarse_pc_type amg -x_mg_coarse_pc_amg_precision double" : "-x_pc_mg_levels 3");
    PoisePC pc = MgOf(&t, smoothers[3].options);
    Describe(&t, &r);
    CHECK_NEAR(Defect(pc, &r), 0, 1e-12);
    CHECK(!poisePCEager(pc) || (k == 0 && PoiseSize(ctx) > 1));
    Forget(&r);
    PoisePCDestroy(&pc);
    Destroy(&t);
  }
  SetOptions(ctx, "-x_mg_coarse_pc_type lu");
}

static void TestFused(PoiseContext ctx)
{
  for (int k = 0; k < 8; k++) {
    Tower t = {.side = 31, .count = 4, .way = k % 2 ? BY_ROWS : BY_P};
    Build(ctx, &t);
    SetOptions(ctx, usual);
    PoisePC pc = MgOf(&t, k / 2 == 3 ? smoothers[4].options : "-x_pc_mg_levels 4");
    CHECK_OK(PoisePCMGSetType(pc, (PoisePCMGType)(k / 2)));
    CheckFusedApply(pc, true);
    PoisePCDestroy(&pc);
    Destroy(&t);
  }
}

/* ---- solves ---------------------------------------------------------------------------------- */

typedef struct Solver {
  PoiseKSP ksp;
  PoisePC pc;
  PoiseVec b, x, r;
} Solver;

static int Open(const Tower *t, const char *method, const char *options, Solver *s)
{
  PoiseContext ctx = Finest(t)->ctx;
  SetOptions(ctx, "-x_ksp_rtol 1e-9");
  SetOptions(ctx, options);
  CHECK_OK(PoiseMatCreateVecs(Finest(t), &s->x, &s->b));
  CHECK_OK(PoiseVecDuplicate(s->b, &s->r));
  SampleFill(s->b, 7);
  if (!CHECK_OK(PoiseKSPCreate(ctx, &s->ksp))) return 0;
  CHECK_OK(PoiseKSPSetOptionsPrefix(s->ksp, "x_"));
  CHECK_OK(PoiseKSPSetOperators(s->ksp, Finest(t), NULL));
  CHECK_OK(PoiseKSPSetType(s->ksp, method));
  CHECK_OK(PoiseKSPGetPC(s->ksp, &s->pc));
  CHECK_OK(PoisePCSetType(s->pc, "mg"));
  CHECK_OK(Give(s->pc, t));
  return CHECK_OK(PoiseKSPSetFromOptions(s->ksp));
}

static void Close(Solver *s)
{
  PoiseKSPDestroy(&s->ksp);
  PoiseVecDestroy(&s->b);
  PoiseVecDestroy(&s->x);
  PoiseVecDestroy(&s->r);
}

/* Iterations of a solve that ends with a small residual. */
static PoiseInt Solve(Solver *s)
{
  double size = NormOf(s->b);
  if (!CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x))) return -1;
  CHECK(PoiseKSPConvergedReason(s->ksp) > 0);
  CHECK_OK(PoiseMatResidual(s->ksp->given_A, s->b, s->x, s->r));
  CHECK(NormOf(s->r) <= 1e-7 * size);
  return PoiseKSPIterations(s->ksp);
}

/* Each level more doubles the grid; iterations stay. With the estimate of the spectrum, as by default. */
static void TestSizes(PoiseContext ctx)
{
  static const int forms[][2] = {{MG_MULTIPLICATIVE, 0}, {MG_MULTIPLICATIVE, 1}, {MG_FULL, 0}};
  for (int f = 0; f < 3; f++) {
    PoiseInt first = 0;
    for (int count = 3; count <= MOST; count++) {
      Tower t = {.side = (4 << count) / 2 - 1, .count = count, .given = count % 2};
      Reference r;
      Solver s;
      Build(ctx, &t);
      if (!Open(&t, forms[f][0] == MG_FULL ? "fgmres" : "cg", "-x_mg_levels_ksp_max_it 2", &s)) return;
      SetForm(s.pc, &r, forms[f][0], forms[f][1], 1);
      PoiseInt its = Solve(&s);
      if (count == 3) first = its;
      CHECK(its <= 10 && its <= first + 1);
      Close(&s);
      Destroy(&t);
    }
  }
}

/* A solver's loop is replayed, and gives what iterations one by one do. */
static void TestReplay(PoiseContext ctx)
{
  for (int k = 0; k < 2 * REAL_SWEEPS; k++) {
    Tower t = {.side = 31, .count = 4, .way = k % 2 ? BY_ROWS : BY_P};
    uint64_t digest[2];
    Build(ctx, &t);
    for (int eager = 0; eager < 2; eager++) {
      Solver s;
      PoiseKSP inner;
      if (!Open(&t, "cg", usual, &s)) return;
      SetOptions(ctx, smoothers[k / 2].options);
      CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
      s.ksp->options.replay = eager ? 0 : 4;
      Solve(&s);
      CHECK(!poisePCEager(s.pc));
      Graph *graph = s.ksp->loop.graph;
      CHECK((graph != NULL) == (!eager && ctx->device->ops->replay));
      int64_t calls = ctx->memory.calls;
      ctx->device->forbid_copies = !eager && SampleIsAway(ctx);
      PoiseInt its = Solve(&s);
      ctx->device->forbid_copies = false;
      CHECK(s.ksp->loop.graph == graph); /* nothing has changed */
      if (eager) CHECK_INT(ctx->memory.calls, calls);
      CHECK_OK(PoisePCMGGetSmoother(s.pc, 2, &inner)); /* another number of steps is another loop */
      CHECK_OK(PoiseKSPSetTolerances(inner, -1, -1, -1, 7));
      CHECK(Solve(&s) <= its + 2);
      digest[eager] = SampleDigest(s.x);
      if (!smoothers[k / 2].plain) { /* and none; without jacobi that is no smoother */
        CHECK_OK(PoiseKSPSetType(inner, "preonly"));
        Solve(&s);
      }
      digest[eager] += SampleDigest(s.x);
      Close(&s);
    }
    CHECK(digest[0] == digest[1]);
    Destroy(&t);
  }
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The bits of M as it is, and of one that is made afresh. */
static void CheckFresh(PoisePC pc, const Tower *t)
{
  PoisePC other = MgOf(t, "-x_pc_mg_levels 3");
  CHECK(Apply(pc) == Apply(other));
  PoisePCDestroy(&other);
}

/* New values keep all memory. Then a new pattern, another interpolation, and other rows. */
static void TestChanges(PoiseContext ctx)
{
  for (int k = 0; k < 6; k++) {
    Tower t = {.side = 15, .count = 3, .way = (Way)(k % 3), .given = k / 3};
    Build(ctx, &t);
    SetOptions(ctx, usual);
    PoisePC pc = MgOf(&t, "-x_pc_mg_levels 3");
    CheckFresh(pc, &t);
    CHECK_OK(PoiseMatScale(Finest(&t), 2));
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_OK(PoiseMatShift(Finest(&t), 1));
    int64_t calls = ctx->memory.calls, live = ctx->memory.live, generation = pc->generation;
    CHECK_OK(PoisePCSetUp(pc));
    if (t.way == BY_P && t.given) CHECK_INT(ctx->memory.calls, calls);
    CHECK_INT(ctx->memory.live, live); /* products of matrices take some meanwhile */
    CHECK_INT(pc->generation, generation);
    CheckFresh(pc, &t);
    if (t.given) { /* the operator of a level alone */
      CHECK_OK(PoiseMatShift(t.A[1], 0.5));
      CheckFresh(pc, &t);
    }
    if (t.P[2]) CHECK_OK(PoiseMatScale(t.P[2], 0.5));
    CheckFresh(pc, &t);
    PoiseInt i = 200, j = 3;
    double v = 0.125;
    if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(Finest(&t), 1, &i, 1, &j, &v));
    CHECK_OK(PoiseMatAssemble(Finest(&t)));
    CheckFresh(pc, &t);
    if (t.given) CHECK_OK(PoisePCMGSetOperator(pc, 1, NULL));
    if (t.given) PoiseMatDestroy(&t.A[1]);
    CheckFresh(pc, &t);
    if (t.R[1]) CHECK_OK(PoisePCMGSetRestriction(pc, 1, NULL));
    PoiseMatDestroy(&t.R[1]);
    CheckFresh(pc, &t);
    PoisePCDestroy(&pc);
    Destroy(&t);
  }
}

/* From interpolation to injection and back. */
static void TestOtherWay(PoiseContext ctx)
{
  Tower rows = {.side = 15, .count = 3, .way = BY_ROWS}, p = rows, larger = rows;
  larger.side = 31;
  Build(ctx, &rows);
  Build(ctx, &larger);
  SetOptions(ctx, usual);
  PoisePC pc = MgOf(&rows, "-x_pc_mg_levels 3");
  CheckFresh(pc, &rows);
  for (int k = 1; k < 3; k++) p.P[k] = Transfer(ctx, &rows, k, false); /* of the same layouts */
  p.A[2] = rows.A[2];
  p.way = BY_P;
  CHECK_OK(Give(pc, &p));
  CheckFresh(pc, &p);
  CHECK_OK(Give(pc, &rows));
  CheckFresh(pc, &rows);
  CHECK_OK(PoisePCMGSetLevels(pc, 1));
  CHECK_NEAR(Residual(pc, Finest(&rows)), 0, 1e-12);
  CHECK_OK(Give(pc, &rows));
  CheckFresh(pc, &rows);
  CHECK_OK(PoisePCSetOperator(pc, Finest(&larger)));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE, "of level 2 is of 225 rows");
  CHECK_OK(Give(pc, &larger));
  CheckFresh(pc, &larger);
  PoisePCDestroy(&pc);
  Destroy(&larger);
  p.A[2] = NULL;
  Destroy(&p);
  Destroy(&rows);
}

/* A preconditioner that is kept has the old values, and follows when it is kept no more. */
static void TestKeep(PoiseContext ctx)
{
  for (int k = 0; k < 3; k++) {
    Tower t = {.side = 15, .count = 3, .way = (Way)k};
    Solver s;
    Build(ctx, &t);
    if (!Open(&t, k == 1 ? "gmres" : "cg", usual, &s)) return;
    Solve(&s);
    uint64_t before = Apply(s.pc);
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 1));
    CHECK_OK(PoiseMatShift(Finest(&t), 3));
    Solve(&s);
    CHECK(Apply(s.pc) == before);
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 0));
    Solve(&s);
    CHECK(Apply(s.pc) != before);
    PoisePC fresh = MgOf(&t, "-x_pc_mg_levels 3");
    CHECK(Apply(s.pc) == Apply(fresh));
    PoisePCDestroy(&fresh);
    Close(&s);
    Destroy(&t);
  }
}

/* ---- options --------------------------------------------------------------------------------- */

static PoiseInt StepsOf(PoisePC pc, int level)
{
  PoiseKSP ksp;
  return CHECK_OK(PoisePCMGGetSmoother(pc, level, &ksp)) ? ksp->options.maxits : -1;
}

/* An option of all levels, of one, and of solvers further inside. */
static void TestOptions(PoiseContext ctx)
{
  Tower t = {.side = 15, .count = 3};
  PoiseKSP ksp, coarse;
  PoisePC inner;
  int levels;
  Build(ctx, &t);
  SetOptions(ctx, "-y_mg_levels_ksp_max_it 5 -y_mg_levels_1_ksp_max_it 4 -y_mg_levels_pc_type bjacobi "
                  "-y_mg_levels_sub_pc_type sor -y_mg_levels_2_sub_pc_type icc -y_mg_coarse_ksp_max_it 9 "
                  "-y_pc_mg_levels 3 -y_pc_mg_cycle_type w -y_pc_mg_type full");
  PoisePC pc = Make(ctx, "mg", Finest(&t), NULL);
  CHECK_OK(PoisePCSetOptionsPrefix(pc, "y_"));
  CHECK_OK(Give(pc, &t));
  CHECK_INT(StepsOf(pc, 2), 2); /* no options were read */
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_INT(StepsOf(pc, 2), 5);
  CHECK_INT(StepsOf(pc, 1), 4);
  CHECK_INT(StepsOf(pc, 0), 9);
  CHECK(((Mg *)pc->data)->type == MG_FULL && ((Mg *)pc->data)->cycle == 1);
  CHECK_OK(PoisePCSetUp(pc));
  for (int k = 1; k < 3; k++) {
    PoiseKSP *sub;
    CHECK_OK(PoisePCMGGetSmoother(pc, k, &ksp));
    CHECK_OK(PoiseKSPGetPC(ksp, &inner));
    CHECK_OK(PoisePCBJacobiGetSubKSP(inner, NULL, NULL, &sub));
    CHECK(!strcmp(PoisePCType(sub[0]->pc), k == 2 ? "icc" : "sor"));
  }
  CHECK_OK(PoisePCMGGetSmoother(pc, 2, &ksp)); /* the latest call wins, whenever the solver was lent */
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoiseKSPSetTolerances(ksp, -1, -1, -1, 6));
  CHECK_INT(StepsOf(pc, 2), 6);
  CHECK_OK(PoisePCMGSetNumberSmooth(pc, 7));
  CHECK_INT(StepsOf(pc, 1), 7);
  CHECK_INT(StepsOf(pc, 0), 9);
  CHECK_OK(PoisePCMGGetCoarseSolve(pc, &coarse));
  CHECK_OK(PoisePCMGGetSmoother(pc, 0, &ksp));
  CHECK(coarse == ksp && !strcmp(ksp->prefix, "y_mg_coarse_"));
  CHECK_OK(PoisePCMGGetLevels(pc, &levels));
  CHECK_INT(levels, 3);
  SetOptions(ctx, "-y_pc_mg_levels 2"); /* drops what was given */
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_STATE, "level 1 of levels 0 to 1 has no interpolation");
  PoisePCDestroy(&pc);
  Destroy(&t);
}

static void TestView(PoiseContext ctx)
{
  Tower t = {.side = 15, .count = 3};
  char text[8192];
  Build(ctx, &t);
  SetOptions(ctx, usual);
  PoisePC pc = MgOf(&t, "-x_pc_mg_levels 3");
  CHECK_OK(PoisePCSetUp(pc));
  FILE *file = TestPrintBegin(ctx);
  CHECK_OK(PoisePCView(pc));
  TestPrintEnd(ctx, file, text, sizeof text);
  if (PoiseRank(ctx) == 0) {
    CHECK(strstr(text, "multiplicative, cycle v, 3 levels") != NULL);
    CHECK(strstr(text, "level 0, 9 rows, product R A P; its solver:") != NULL);
    CHECK(strstr(text, "level 2, 225 rows; its solver:") != NULL);
    CHECK(strstr(text, "chebyshev") != NULL);
  }
  PoisePCDestroy(&pc);
  Destroy(&t);
}

/* ---- with others ----------------------------------------------------------------------------- */

static PoiseErr MultShell(void *arg, PoiseVec x, PoiseVec y)
{
  return PoiseMatMult(arg, x, y);
}

static PoiseErr DiagonalShell(void *arg, PoiseVec d)
{
  return PoiseMatGetDiagonal(arg, d);
}

static PoiseMat ShellOf(PoiseMat A)
{
  const PoiseShell f = {.mult = MultShell, .diagonal = DiagonalShell};
  PoiseMat S = NULL;
  CHECK_OK(PoiseMatCreateShell(A->ctx, A->rows->n, A->cols->n, A->rows->N, A->cols->N, &f, A, &S));
  return S;
}

/* Without R the transpose of P is asked for. */
static void CheckNoTranspose(PoisePC pc)
{
  PoiseVec r, z;
  CHECK_OK(PoisePCMGSetRestriction(pc, 2, NULL));
  CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z));
  CHECK_ERR(PoisePCApply(pc, r, z), POISE_ERR_UNSUPPORTED, "was given no mult_transpose");
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
}

/* Operators, interpolations and restrictions by the application's functions. */
static void TestShells(PoiseContext ctx)
{
  for (int k = 0; k < 3; k++) {
    Tower t = {.side = 15, .count = 3, .way = k == 2 ? BY_ROWS : BY_P_AND_R, .given = true}, shells;
    Reference r = {.smoother = smoothers[3]};
    Build(ctx, &t);
    SetOptions(ctx, usual);
    shells = t;
    for (int j = 1; j < 3; j++) {
      if (k != 1) shells.A[j] = ShellOf(t.A[j]);
      if (k == 1) shells.P[j] = ShellOf(t.P[j]), shells.R[j] = ShellOf(t.R[j]);
    }
    PoisePC pc = MgOf(&shells, smoothers[3].options);
    Describe(&t, &r);
    SetForm(pc, &r, MG_MULTIPLICATIVE, 1, 1);
    CHECK_NEAR(Defect(pc, &r), 0, 1e-12);
    CHECK(poisePCEager(pc) != NULL);
    CHECK_OK(PoisePCMGSetOperator(pc, 1, NULL));
    if (k != 1) CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "that of level 2 is of type shell");
    CHECK_OK(PoisePCMGSetOperator(pc, 1, t.A[1]));
    if (k == 1) CheckNoTranspose(pc);
    PoisePCDestroy(&pc);
    for (int j = 1; j < 3; j++) {
      if (k != 1) PoiseMatDestroy(&shells.A[j]);
      if (k == 1) PoiseMatDestroy(&shells.P[j]);
      if (k == 1) PoiseMatDestroy(&shells.R[j]);
    }
    Forget(&r);
    Destroy(&t);
  }
}

/* In a solver that is a preconditioner; and with smoothers that make M vary. */
static void TestInside(PoiseContext ctx)
{
  Tower t = {.side = 15, .count = 3};
  Solver s;
  PoiseKSP inner;
  PoisePC pc;
  Build(ctx, &t);
  if (!Open(&t, "cg", usual, &s)) return;
  PoiseInt alone = Solve(&s);
  CHECK_OK(PoisePCSetType(s.pc, "ksp"));
  CHECK_OK(PoisePCKSPGetKSP(s.pc, &inner));
  CHECK_OK(PoiseKSPSetType(inner, "richardson"));
  CHECK_OK(PoiseKSPSetNormType(inner, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPSetTolerances(inner, -1, -1, -1, 2));
  CHECK_OK(PoiseKSPGetPC(inner, &pc));
  CHECK_OK(PoisePCSetType(pc, "mg"));
  CHECK_OK(Give(pc, &t));
  CHECK(Solve(&s) < alone);
  CHECK(!poisePCEager(s.pc) == !poisePCEager(pc));
  CHECK_OK(PoisePCSetType(s.pc, "mg"));
  CHECK_OK(Give(s.pc, &t));
  CHECK_OK(PoisePCMGGetSmoother(s.pc, 2, &inner));
  CHECK_OK(PoiseKSPSetType(inner, "gmres"));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "preconditioner mg varies");
  CHECK_OK(PoiseKSPSetType(s.ksp, "fgmres"));
  CHECK(Solve(&s) <= alone + 2);
  Close(&s);
  Destroy(&t);
}

/* Several right-hand sides, one column after the other. */
static void TestColumns(PoiseContext ctx)
{
  Tower t = {.side = 15, .count = 3};
  Solver s;
  PoiseVec B, X;
  Build(ctx, &t);
  if (!Open(&t, "cg", usual, &s)) return;
  Solve(&s);
  CHECK_OK(PoiseVecCreateBlock(ctx, PoiseVecLocalSize(s.b), PoiseVecSize(s.b), 3, &B));
  CHECK_OK(PoiseVecDuplicate(B, &X));
  for (int j = 0; j < 3; j++) CHECK_OK(poiseVecPutColumn(s.b, j, B));
  CHECK_OK(PoiseKSPSolveBlock(s.ksp, B, X));
  for (int j = 0; j < 3; j++) {
    CHECK_OK(poiseVecTakeColumn(X, j, s.x));
    CHECK_OK(PoiseMatResidual(Finest(&t), s.b, s.x, s.r));
    CHECK(NormOf(s.r) <= 1e-7 * NormOf(s.b));
  }
  PoiseVecDestroy(&B);
  PoiseVecDestroy(&X);
  Close(&s);
  Destroy(&t);
}

/* Without boundary values constants are a null space, on all levels as P keeps them. */
static void TestSingular(PoiseContext ctx)
{
  Tower t = {.side = 31, .count = 4, .neumann = true};
  Solver s;
  Build(ctx, &t);
  CHECK_OK(PoiseMatSetNullSpace(Finest(&t), 1, 0, NULL));
  SetOptions(ctx, "-x_mg_coarse_pc_type amg");
  if (!Open(&t, "cg", usual, &s)) return;
  SampleFill(s.x, 7);
  CHECK_OK(PoiseMatMult(Finest(&t), s.x, s.b)); /* consistent */
  CHECK(Solve(&s) <= 14);
  CHECK(!poisePCEager(s.pc));
  Close(&s);
  Destroy(&t);
}

static void TestNaN(PoiseContext ctx)
{
  for (int k = 0; k < 2; k++) {
    Tower t = {.side = 15, .count = 3, .given = true};
    Solver s;
    PoiseInt i = 100, j = 101;
    double none = NAN;
    Build(ctx, &t);
    if (!Open(&t, "cg", usual, &s)) return;
    if (k) SampleConstant(s.b, NAN);
    PoiseInt begin = Finest(&t)->rows->begin, end = begin + Finest(&t)->rows->n;
    if (!k && i >= begin && i < end) CHECK_OK(PoiseMatSetEntries(Finest(&t), 1, &i, &j, &none));
    if (!k) CHECK_OK(PoiseMatAssemble(Finest(&t)));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_NANORINF);
    Close(&s);
    Destroy(&t);
  }
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void TestBadCalls(PoiseContext ctx)
{
  Tower t = {.side = 15, .count = 3};
  PoiseKSP ksp;
  PoiseInt row = 0;
  Build(ctx, &t);
  SetOptions(ctx, usual);
  PoisePC pc = Make(ctx, "jacobi", Finest(&t), NULL);
  CHECK_ERR(PoisePCMGSetLevels(pc, 3), POISE_ERR_STATE, "of type jacobi, not mg");
  CHECK_ERR(PoisePCMGSetInterpolation(pc, 1, t.P[1]), POISE_ERR_STATE, "of type jacobi, not mg");
  CHECK_OK(PoisePCSetType(pc, "mg"));
  CHECK_ERR(PoisePCMGSetLevels(pc, 0), POISE_ERR_ARG, "0 levels; there may be 1 to 64");
  CHECK_ERR(PoisePCMGSetLevels(pc, 65), POISE_ERR_ARG, "65 levels");
  CHECK_ERR(PoisePCMGSetInterpolation(pc, 1, t.P[1]), POISE_ERR_ARG, "with 1 level");
  CHECK_OK(PoisePCMGSetLevels(pc, 3));
  CHECK_ERR(PoisePCMGSetInterpolation(pc, 0, t.P[1]), POISE_ERR_ARG, "it must be one of 1 to 2");
  CHECK_ERR(PoisePCMGSetRestriction(pc, 3, t.P[1]), POISE_ERR_ARG, "level 3: of 3 levels");
  CHECK_ERR(PoisePCMGSetInjection(pc, -1, 1, &row), POISE_ERR_ARG, "level -1");
  CHECK_ERR(PoisePCMGSetOperator(pc, 2, t.A[2]), POISE_ERR_ARG, "one of 0 to 1");
  CHECK_ERR(PoisePCMGGetSmoother(pc, 3, &ksp), POISE_ERR_ARG, "one of 0 to 2");
  CHECK_ERR(PoisePCMGSetNumberSmooth(pc, 0), POISE_ERR_ARG, "0 steps");
  CHECK_ERR(PoisePCMGMultiplicativeSetCycles(pc, 0), POISE_ERR_ARG, "0 cycles");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_STATE, "level 2 of levels 0 to 2 has no interpolation");
  PoisePCDestroy(&pc);
  Destroy(&t);
}

static void TestBadMatrices(PoiseContext ctx)
{
  Tower t = {.side = 15, .count = 3, .way = BY_P_AND_R, .given = true}, other = {.side = 31, .count = 3};
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Build(ctx, &t);
  Build(ctx, &other);
  SetOptions(ctx, usual);
  PoisePC pc = MgOf(&t, "-x_pc_mg_levels 3");
  CHECK_OK(PoisePCMGSetInterpolation(pc, 2, other.P[2]));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE, "interpolation of level 2 is 961 x 225");
  CHECK_OK(PoisePCMGSetInterpolation(pc, 2, t.P[2]));
  CHECK_OK(PoisePCMGSetRestriction(pc, 1, t.R[2]));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE, "restriction of level 1 is 49 x 225");
  CHECK_OK(PoisePCMGSetRestriction(pc, 1, t.R[1]));
  CHECK_OK(PoisePCMGSetRestriction(pc, 2, t.A[2]));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE,
            "restriction of level 2 is 225 x 225, its interpolation 225 x 49");
  CHECK_OK(PoisePCMGSetRestriction(pc, 2, t.R[2]));
  CHECK_OK(PoisePCMGSetOperator(pc, 1, t.A[0]));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE, "operator of level 1 is 9 x 9");
  CHECK_OK(PoisePCMGSetOperator(pc, 1, NULL));
  CHECK_OK(PoisePCMGSetGalerkin(pc, 0));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_STATE, "level 1 of levels 0 to 2 has no operator");
  CHECK_OK(PoisePCMGSetGalerkin(pc, 1));
  CHECK_OK(PoisePCSetUp(pc));
  PoiseInt n = Finest(&t)->rows->n, bad[2][2] = {{0, n}, {1, 1}};
  if (n > 1) {
    CHECK_OK(PoisePCMGSetInjection(pc, 2, 2, last ? bad[0] : (PoiseInt[]){0, 1}));
    CHECK_ERR_OF(PoisePCSetUp(pc), last, POISE_ERR_ARG, "injection of level 2: entry 1 is row");
    CHECK_OK(PoisePCMGSetInjection(pc, 2, 2, last ? bad[1] : (PoiseInt[]){0, 1}));
    CHECK_ERR_OF(PoisePCSetUp(pc), last, POISE_ERR_ARG, "entries 0 and 1 are both row 1");
  }
  PoisePCDestroy(&pc);
  Destroy(&t);
  Destroy(&other);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct Uses {
  const Tower *t;
  uint64_t digest; /* of M, as it is with memory */
} Uses;

static _Thread_local const Uses *uses; /* of this rank */

static PoiseErr Use(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetType(pc, "mg"));
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "x_"));
  POISE_TRY(Give(pc, uses->t));
  POISE_TRY(PoisePCSetFromOptions(pc));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  return PoisePCApply(pc, g->r, g->z);
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *arg)
{
  const Uses *u = arg;
  (void)g;
  if (!failed) CHECK(Apply(pc) == u->digest);
}

static void TestMemory(PoiseContext ctx)
{
  for (int k = 0; k < 3; k++) {
    Tower t = {.side = 7, .count = 3, .way = (Way)k};
    Build(ctx, &t);
    SetOptions(ctx, usual);
    SetOptions(ctx, "-x_pc_mg_levels 3");
    PoisePC pc = MgOf(&t, "-x_pc_mg_levels 3");
    Uses u = {&t, Apply(pc)};
    PoisePCDestroy(&pc);
    uses = &u;
    CheckWithoutMemory(Finest(&t), Use, 120, 7, Judge, &u);
    Destroy(&t);
  }
}

/* What it says it holds is what is given back. */
static void TestBytes(PoiseContext ctx)
{
  for (int k = 0; k < 3; k++) {
    Tower t = {.side = 31, .count = 3, .way = (Way)k};
    PoiseBytes held, one = {0};
    Build(ctx, &t);
    SetOptions(ctx, usual);
    PoisePC pc = MgOf(&t, "-x_pc_mg_levels 3");
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_OK(PoisePCBytes(pc, &held));
    CHECK_OK(PoiseMatBytes(Finest(&t), &one, NULL));
    int64_t vectors = 8 * 3 * Finest(&t)->rows->n; /* of the smoother of the finest level, at least */
    CHECK(held.host + held.device >= vectors);
    CHECK(held.host + held.device < 8 * (one.host + one.device) + 400000);
    PoisePCDestroy(&pc);
    Destroy(&t);
  }
}

static const Test tests[] = {
    {"smoothers", TestSmoothers, 0},
    {"ways", TestWays, 0},
    {"blocks", TestBlocks, 0},
    {"one_level", TestOneLevel, 0},
    {"symmetric", TestSymmetric, 0},
    {"coarse", TestCoarse, 0},
    {"fused", TestFused, 0},
    {"sizes", TestSizes, 0},
    {"replay", TestReplay, TEST_SERIAL},
    {"changes", TestChanges, 0},
    {"other_way", TestOtherWay, 0},
    {"keep", TestKeep, 0},
    {"options", TestOptions, 0},
    {"view", TestView, 0},
    {"shells", TestShells, 0},
    {"inside", TestInside, 0},
    {"columns", TestColumns, 0},
    {"singular", TestSingular, 0},
    {"nan", TestNaN, 0},
    {"bad_calls", TestBadCalls, 0},
    {"bad_matrices", TestBadMatrices, 0},
    {"memory", TestMemory, 0},
    {"bytes", TestBytes, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_mg", tests);
}

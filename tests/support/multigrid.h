/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices for multigrid, on any number of ranks, and judges of a cycle. */
#ifndef POISE_TEST_MULTIGRID_H
#define POISE_TEST_MULTIGRID_H

#include "ksp/ksp.h"
#include "pc/amg/amg.h"
#include "preconditioners.h"
#include "problem.h"

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Grid { /* differences of 2 dim neighbours on k points along each of dim directions */
  int dim, k;
  double vary;    /* coefficients of edges are 1 + vary times a random number */
  bool neumann;   /* no boundary values, so that constants are a null space */
  bool identity;  /* rows of the first 2 k points are those of the identity, and their columns too */
  double wind;    /* an upwind derivative along the first direction */
  double jump;    /* coefficients of cells of 3 points of an edge are 1 and this in turn; 0: all are 1 */
  double stretch; /* of edges along the last direction; 0: 1 */
  int cut;        /* no edge between points i < cut and i >= cut; 0: all are there */
} Grid;

static inline double Edge(const Grid *g, PoiseInt i, PoiseInt j)
{
  PoiseInt low = i < j ? i : j, high = i < j ? j : i;
  double strong = 1;
  for (PoiseInt d = 0, step = 1, cell = 0; d < g->dim; d++, step *= g->k) {
    cell += i / step % g->k / 3 + j / step % g->k / 3;
    if (d + 1 == g->dim && g->stretch > 0 && high - low == step) strong = g->stretch;
    if (d + 1 == g->dim && g->jump > 0 && cell % 4 > 1) strong *= g->jump;
  }
  if (g->cut && low < g->cut && high >= g->cut) return 0;
  if (g->jump > 0 || g->stretch > 0) return strong;
  return 1 + g->vary * TestRandom(7, (uint64_t)(low * 100003 + high));
}

static inline PoiseErr AddPoint(const Grid *g, PoiseMat A, PoiseInt i)
{
  double diagonal = 0;
  PoiseErr e = POISE_OK;
  for (PoiseInt d = 0, step = 1; d < g->dim && !e; d++, step *= g->k)
    for (int sign = -1; sign <= 1 && !e; sign += 2) {
      PoiseInt at = i / step % g->k + sign, j = i + sign * step;
      bool inside = at >= 0 && at < g->k;
      double a = inside ? Edge(g, i, j) : g->neumann ? 0 : 1;
      if (d == 0 && sign < 0) a += g->wind;
      diagonal += a;
      if (!inside || a == 0 || (g->identity && (i < 2 * g->k || j < 2 * g->k))) continue;
      a = -a;
      e = PoiseMatAddBlock(A, 1, &i, 1, &j, &a);
    }
  if (g->identity && i < 2 * g->k) diagonal = 1;
  return e ? e : PoiseMatAddBlock(A, 1, &i, 1, &i, &diagonal);
}

/* layout: as in sample.h */
static inline PoiseErr GridMatrix(PoiseContext ctx, int layout, Grid g, PoiseMat *A)
{
  PoiseInt n = 1, begin, end;
  for (int d = 0; d < g.dim; d++) n *= g.k;
  PoiseInt m = SampleLocal(ctx, layout, n);
  POISE_TRY(PoiseMatCreate(ctx, m, m, n, n, A));
  PoiseErr e = POISE_OK;
  begin = (*A)->rows->begin, end = begin + (*A)->rows->n;
  for (PoiseInt i = begin; i < end && !e; i++) e = AddPoint(&g, *A, i);
  PoiseErr kept = PoiseMatAssemble(*A); /* reports what failed on any rank */
  return kept ? kept : e;
}

static inline PoiseMat GridOf(PoiseContext ctx, Grid g)
{
  PoiseMat A = NULL;
  CHECK_OK(GridMatrix(ctx, EVEN, g, &A));
  return A;
}

typedef struct Beam { /* length x width (x width) points, dim unknowns each */
  int dim, length, width, layout;
  bool free; /* else the first points are held */
  bool thin; /* zeros are not stored, so that rows of a node have different columns */
  const char *type;
  double aspect; /* not 0: no springs, but plane elements in cells so many times as long as wide */
} Beam;

static inline PoiseErr AddTile(const Beam *g, PoiseMat A, const PoiseInt *rows, const PoiseInt *cols,
                               const double *v)
{
  int dim = g->dim;
  PoiseErr e = POISE_OK;
  if (!g->thin) return PoiseMatAddBlock(A, dim, rows, dim, cols, v);
  for (int c = 0; c < dim * dim && !e; c++)
    if (v[c] != 0) e = PoiseMatAddBlock(A, 1, &rows[c / dim], 1, &cols[c % dim], &v[c]);
  return e;
}

/* Springs between all points of a cell, so that rigid motions alone cost nothing. */
static inline PoiseErr AddSprings(const Beam *g, PoiseMat A, PoiseInt i)
{
  int dim = g->dim, w = g->width;
  PoiseInt x = i % g->length, y = i / g->length % w, z = i / g->length / w;
  PoiseErr e = POISE_OK;
  for (int at = 0; at < (dim > 2 ? 27 : 9) && !e; at++) {
    double d[] = {at % 3 - 1, at / 3 % 3 - 1, dim > 2 ? at / 9 - 1 : 0}, k[9], minus[9];
    double size = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    PoiseInt p = x + (PoiseInt)d[0], q = y + (PoiseInt)d[1], r = z + (PoiseInt)d[2],
             j = (r * w + q) * g->length + p;
    bool inside = p >= 0 && p < g->length && q >= 0 && q < w && r >= 0 && (dim < 3 || r < w);
    bool held = !g->free && size == 0 && x == 0;
    PoiseInt rows[] = {i * dim, i * dim + 1, i * dim + 2}, cols[] = {j * dim, j * dim + 1, j * dim + 2};
    if (!inside || (size == 0 && !held)) continue;
    for (int c = 0; c < dim * dim; c++) {
      k[c] = held ? c % dim == c / dim : d[c / dim] * d[c % dim] / size;
      minus[c] = -k[c];
    }
    e = AddTile(g, A, rows, rows, k);
    if (!e && !held) e = AddTile(g, A, rows, cols, minus);
  }
  return e;
}

/* Of linear elements between n points at a distance h: the integrals of i' j', i j, and i' j. */
typedef struct Line {
  double stiff, mass, slope;
} Line;

static inline Line LineOf(PoiseInt n, PoiseInt i, PoiseInt j, double h)
{
  double left = i > 0, right = i < n - 1; /* cells beside i */
  if (i == j) return (Line){(left + right) / h, (left + right) * h / 3, (left - right) / 2};
  return (Line){-1 / h, h / 6, i < j ? -0.5 : 0.5};
}

/* Plane elasticity, of Lame's constants 1 and 1: bilinear elements. */
static inline PoiseErr AddElements(const Beam *g, PoiseMat A, PoiseInt i)
{
  PoiseInt x = i % g->length, y = i / g->length, rows[] = {2 * i, 2 * i + 1};
  PoiseErr e = POISE_OK;
  for (int at = 0; at < 9 && !e; at++) {
    PoiseInt p = x + at % 3 - 1, q = y + at / 3 - 1, j = q * g->length + p, cols[] = {2 * j, 2 * j + 1};
    if (p < 0 || p >= g->length || q < 0 || q >= g->width) continue;
    Line a = LineOf(g->length, x, p, 1), b = LineOf(g->width, y, q, g->aspect);
    double u = LineOf(g->length, p, x, 1).slope, v = LineOf(g->width, q, y, g->aspect).slope;
    double held = !g->free && i == j && x == 0, xx = a.stiff * b.mass, yy = a.mass * b.stiff,
           tile[] = {3 * xx + yy + held, a.slope * v + u * b.slope, b.slope * u + v * a.slope,
                     xx + 3 * yy + held};
    e = AddTile(g, A, rows, cols, tile);
  }
  return e;
}

static inline PoiseErr Springs(PoiseContext ctx, Beam g, PoiseMat *A)
{
  PoiseInt nodes = (PoiseInt)g.length * g.width * (g.dim > 2 ? g.width : 1), n = nodes * g.dim;
  PoiseInt m = SampleLocal(ctx, g.layout, nodes), begin, end;
  if (m == POISE_DECIDE) PoiseSplit(ctx, nodes, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m * g.dim, m * g.dim, n, n, A));
  POISE_TRY(PoiseMatSetType(*A, g.type));
  POISE_TRY(PoiseMatSetBlockSize(*A, g.dim));
  begin = (*A)->rows->begin / g.dim, end = begin + m;
  PoiseErr e = POISE_OK;
  for (PoiseInt i = begin; i < end && !e; i++)
    e = g.aspect != 0 ? AddElements(&g, *A, i) : AddSprings(&g, *A, i);
  PoiseErr kept = PoiseMatAssemble(*A); /* reports what failed on any rank */
  return kept ? kept : e;
}

/* Bilinear elements on k x k points of a square, for diffusion of 1 along a direction of so many degrees, and
   of `across` across it. neumann: without boundary values. */
typedef struct Turned {
  PoiseInt k;
  double degrees, across;
  bool neumann;
} Turned;

static inline double TurnedEntry(Turned g, PoiseInt i, PoiseInt j)
{
  double c = cos(g.degrees * acos(-1) / 180), s = sin(g.degrees * acos(-1) / 180),
         mixed = (1 - g.across) * c * s;
  PoiseInt first = g.neumann ? 0 : 1, n = g.k + 2 * first;
  PoiseInt x = i % g.k + first, y = i / g.k + first, p = j % g.k + first, q = j / g.k + first;
  Line a = LineOf(n, x, p, 1), b = LineOf(n, y, q, 1);
  return (c * c + g.across * s * s) * a.stiff * b.mass + (s * s + g.across * c * c) * a.mass * b.stiff +
         mixed * (a.slope * LineOf(n, q, y, 1).slope + LineOf(n, p, x, 1).slope * b.slope);
}

static inline PoiseMat TurnedOf(PoiseContext ctx, Turned g)
{
  PoiseMat A = NULL;
  PoiseInt n = g.k * g.k;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return NULL;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++)
    for (PoiseInt at = 0; at < 9; at++) {
      PoiseInt p = i % g.k + at % 3 - 1, q = i / g.k + at / 3 - 1, j = q * g.k + p;
      if (p < 0 || p >= g.k || q < 0 || q >= g.k) continue;
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &(double){TurnedEntry(g, i, j)}));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Component c of rigid motion m at a point: translations, then rotations in the planes of two axes. */
static inline double Motion(int dim, int m, int c, const double *x)
{
  static const int plane[3][2] = {{0, 1}, {1, 2}, {0, 2}};
  if (m < dim) return c == m;
  const int *p = plane[m - dim];
  return c == p[0] ? -x[p[1]] : c == p[1] ? x[p[0]] : 0;
}

static inline void AttachMotions(PoiseMat A, Beam g)
{
  int dim = g.dim, count = dim * (dim + 1) / 2;
  PoiseVec v[6] = {NULL};
  double *p;
  for (int m = 0; m < count; m++) {
    if (!CHECK_OK(PoiseMatCreateVecs(A, &v[m], NULL)) || !CHECK_OK(PoiseVecGetWrite(v[m], &p))) return;
    for (PoiseInt i = 0; i < PoiseVecLocalSize(v[m]); i++) {
      PoiseInt node = (A->rows->begin + i) / dim;
      double tall = g.aspect != 0 ? g.aspect : 1;
      double x[] = {(double)(node % g.length), tall * (double)(node / g.length % g.width),
                    (double)(node / g.length / g.width)};
      p[i] = Motion(dim, m, (int)(i % dim), x);
    }
    CHECK_OK(PoiseVecRestore(v[m], &p));
  }
  CHECK_OK(PoiseMatSetNearNullSpace(A, 0, count, v));
  for (int m = 0; m < count; m++) PoiseVecDestroy(&v[m]);
}

/* amg of A, unless e made no A, and again with new values. A is destroyed. */
static inline PoiseErr SetUpTwice(PoiseContext ctx, PoiseErr e, PoiseMat A)
{
  PoisePC pc = NULL;
  if (!e) e = PoisePCCreate(ctx, &pc);
  if (!e) e = PoisePCSetType(pc, "amg");
  if (!e) e = PoisePCSetOptionsPrefix(pc, "x_");
  if (!e) e = PoisePCSetFromOptions(pc);
  if (!e) e = PoisePCSetOperator(pc, A);
  if (!e) e = PoisePCSetUp(pc);
  if (!e) e = PoiseMatScale(A, 3);
  if (!e) e = PoisePCSetUp(pc);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  return e;
}

/* ---- judges ---------------------------------------------------------------------------------- */

static inline double Dot(PoiseVec x, PoiseVec y)
{
  double dot = NAN;
  CHECK_OK(PoiseVecDot(x, y, &dot));
  return dot;
}

/* (u, M v) = (M u, v) to rounding of the cycle, and (u, M u), (v, M v) > 0. */
static inline void CheckSpd(PoisePC pc)
{
  PoiseVec u, v, Mu, Mv;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &u, &v)) || !CHECK_OK(PoiseVecDuplicate(u, &Mu)) ||
      !CHECK_OK(PoiseVecDuplicate(u, &Mv)))
    return;
  for (int pass = 0; pass < 3; pass++) {
    SampleFill(u, (uint64_t)(20 + pass));
    SampleFill(v, (uint64_t)(30 + pass));
    CHECK_OK(PoisePCApply(pc, u, Mu));
    CHECK_OK(PoisePCApply(pc, v, Mv));
    double uu = Dot(u, Mu), vv = Dot(v, Mv);
    CHECK(uu > 0 && vv > 0);
    CHECK_NEAR(Dot(u, Mv), Dot(Mu, v), (((const Amg *)pc->data)->single ? 1e-6 : 1e-12) * sqrt(uu * vv));
  }
  PoiseVecDestroy(&u);
  PoiseVecDestroy(&v);
  PoiseVecDestroy(&Mu);
  PoiseVecDestroy(&Mv);
}

/* The energy norm of (I - M A)^steps per step, for a random vector: how much a cycle leaves of an error. */
static inline double Contraction(PoisePC pc, int steps)
{
  PoiseVec e, Ae, z;
  double before = 0, after = 0;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &e, &Ae)) || !CHECK_OK(PoiseVecDuplicate(e, &z))) return NAN;
  SampleFill(e, 40);
  for (int k = 0; k <= steps; k++) {
    CHECK_OK(PoiseMatMult(pc->P, e, Ae));
    after = Dot(e, Ae);
    if (k == steps / 2) before = after;
    CHECK_OK(PoisePCApply(pc, Ae, z));
    CHECK_OK(PoiseVecAXPY(e, -1, z));
  }
  PoiseVecDestroy(&e);
  PoiseVecDestroy(&Ae);
  PoiseVecDestroy(&z);
  return pow(after / before, 0.5 / (steps - steps / 2));
}

static inline PoisePC AmgOf(PoiseMat A, const char *options)
{
  return Make(PoiseMatContext(A), "amg", A, options);
}

static const Amg *Made(PoisePC pc)
{
  CHECK_OK(PoisePCSetUp(pc));
  return pc->data;
}

/* Iterations of a method to this residual, which is checked. */
static inline int IterationsTo(PoiseMat A, const char *method, const char *pc, double rtol)
{
  Problem p;
  int its = -1;
  double size;
  if (!ProblemOpen(A, &p)) return -1;
  CHECK_OK(PoiseKSPSetType(p.ksp, method));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoisePCSetType(p.pc, pc));
  CHECK_OK(PoisePCSetOptionsPrefix(p.pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(p.pc));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, rtol, -1, -1, 2000));
  SampleFill(p.x, 50);
  CHECK_OK(PoiseMatMult(A, p.x, p.b)); /* consistent where A is singular */
  size = NormOf(p.b);
  if (CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x))) {
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
    CHECK(ProblemResidual(&p) <= 100 * rtol * size);
    its = (int)PoiseKSPIterations(p.ksp);
  }
  p.A = NULL; /* the caller's */
  ProblemClose(&p);
  return its;
}

static inline int Iterations(PoiseMat A, const char *method, const char *pc)
{
  return IterationsTo(A, method, pc, 1e-9);
}

/* ---- new values ------------------------------------------------------------------------------ */

/* Nothing of numbers that are released, as there are others in fp32. */
static inline uint64_t AddBits(uint64_t sum, const Buffer *b)
{
  Buffer copy; /* what is read stays the preconditioner's */
  const uint32_t *v;
  if (!b->dev || b->forgotten || !CHECK_OK(poiseBufferDuplicate(b, &copy))) return sum;
  if (CHECK_OK(poiseBufferRead(&copy, HOST, &v)))
    for (size_t i = 0; i < b->bytes / sizeof *v; i++) sum = sum * 1000003 + v[i];
  poiseBufferDestroy(&copy);
  return sum;
}

/* Digests of all numbers of the levels. */
static inline uint64_t Digest(PoisePC pc)
{
  const Amg *amg = Made(pc);
  uint64_t sum = AddBits(0, &amg->bottom.dense);
  for (int k = 0; k < amg->count; k++) {
    const AmgLevel *l = &amg->level[k];
    const Buffer *const single[] = {&l->single.inverse, &l->single.A.val, &l->single.P.val, &l->single.R.val,
                                    &l->single.away.val};
    PoiseMat of[] = {l->A, l->P, l->R, l->away};
    for (int m = 0; m < 5; m++) sum = AddBits(sum, single[m]);
    for (int m = 0; m < 2 && l->sweeps.made; m++)
      sum = AddBits(AddBits(sum, &l->sweeps.single[m].val), &l->sweeps.copy.part[m]->csr.val);
    sum = AddBits(AddBits(sum, &l->sweeps.d), &l->sweeps.blocks);
    sum = AddBits(AddBits(sum * 31 + SampleBits(l->lambda), &l->aggregate), &l->inverse);
    for (int m = 0; m < 4; m++)
      if (of[m]) sum = AddBits(AddBits(sum, &of[m]->csr.col), &of[m]->csr.val);
  }
  return sum;
}

static inline double Power(PoiseInt i) /* of 2, so that what is multiplied can be divided again */
{
  return TestRandom(60, (uint64_t)i) > 0.5 ? 2 : 1;
}

static inline double Inverse(PoiseInt i)
{
  return 1 / Power(i);
}

/* A = l A l */
static inline void ScaleBy(PoiseMat A, double (*l)(PoiseInt i))
{
  PoiseVec v;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &v, NULL))) return;
  SampleSet(v, l);
  CHECK_OK(PoiseMatDiagonalScale(A, v, v));
  PoiseVecDestroy(&v);
}

static inline uint64_t Afresh(PoiseMat A, const char *options)
{
  PoisePC pc = AmgOf(A, options);
  uint64_t digest = Digest(pc);
  PoisePCDestroy(&pc);
  return digest;
}

static inline const void *Place(const Buffer *b)
{
  return b->dev->ops->is_host ? b->host : b->device;
}

/* Other values, and the first ones again: the bits are the first ones. Then three times these, for which a
   fresh hierarchy has the same aggregates. */
static inline void CheckRefresh(PoiseMat A, const char *options, int way)
{
  PoisePC pc = AmgOf(A, options);
  uint64_t first = Digest(pc);
  const Amg *amg = pc->data;
  const void *aggregate = Place(&amg->level[0].aggregate), *entries = Place(&amg->level[1].A->csr.col);
  ScaleBy(A, Power);
  uint64_t other = Digest(pc);
  CHECK(other != first);
  if (way == AMG_REFRESH_ALL) CHECK(other == Afresh(A, options));
  CheckSpd(pc);
  ScaleBy(A, Inverse);
  CHECK(Digest(pc) == first);
  if (way != AMG_REFRESH_ALL)
    CHECK(Place(&amg->level[0].aggregate) == aggregate && Place(&amg->level[1].A->csr.col) == entries);
  CHECK_INT(amg->refreshed, way != AMG_REFRESH_ALL);
  CHECK_OK(PoiseMatScale(A, 3));
  CHECK((Digest(pc) == Afresh(A, options)) == (way != AMG_INTERPOLATION));
  CHECK(!amg->level[0].smoothed || Contraction(pc, 20) < 0.97); /* not smoothed, it is M alone that counts */
  PoisePCDestroy(&pc);
}

/* ---- fp32 ------------------------------------------------------------------------------------ */

static inline bool IsSingle(PoiseMat A, const char *options, const char *words)
{
  char text[4096] = "";
  PoisePC pc = AmgOf(A, options);
  bool single = Made(pc)->single;
  TEST_PRINTED(PoiseMatContext(A), text, sizeof text, PoisePCView(pc));
  CHECK(PoiseRank(PoiseMatContext(A)) || strstr(text, words) != NULL);
  PoisePCDestroy(&pc);
  return single;
}

/* Of a cycle in fp32, relative to that in fp64. */
static inline double Differs(PoiseMat A)
{
  PoiseVec r, z[2];
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z[0])) || !CHECK_OK(PoiseVecDuplicate(r, &z[1]))) return NAN;
  SampleFill(r, 3);
  for (int p = 0; p < 2; p++) {
    PoisePC pc = AmgOf(A, p ? "-x_pc_amg_precision double" : "-x_pc_amg_precision single");
    CHECK_OK(PoisePCApply(pc, r, z[p]));
    PoisePCDestroy(&pc);
  }
  CHECK_OK(PoiseVecAXPY(z[0], -1, z[1]));
  double differs = NormOf(z[0]) / NormOf(z[1]);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z[0]);
  PoiseVecDestroy(&z[1]);
  return differs;
}

/* At most one iteration, and this share, more than with a cycle in fp64, to any residual. */
static inline void CheckAsGood(PoiseMat A, const char *method, double last, double more)
{
  CHECK(Differs(A) < 1e-5);
  const double to[] = {1e-8, last};
  PoiseContext ctx = PoiseMatContext(A);
  for (int k = 0; k < 2; k++) {
    int its[2];
    for (int p = 0; p < 2; p++) {
      SetOptions(ctx, p ? "-x_pc_amg_precision double" : "-x_pc_amg_precision single");
      its[p] = IterationsTo(A, method, "amg", to[k]);
    }
    CHECK(its[0] > 0 && its[0] <= (int)((1 + more) * its[1]) + 1);
  }
  CHECK(!IsSingle(A, "-x_pc_amg_precision double", "the cycle works in fp64\n"));
  CHECK(IsSingle(A, "-x_pc_amg_precision single", "the cycle works in fp32\n"));
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices that are a function of (i, j), and dense references of their preconditioners. */
#ifndef POISE_TEST_SHAPES_H
#define POISE_TEST_SHAPES_H

#include "preconditioners.h"

/* ---- matrices that are a function of (i, j) -------------------------------------------------- */

enum { ANY, SYMMETRIC, TRIDIAGONAL, ARROW, FULL, NKINDS };

typedef struct Shape {
  int kind, layout;
  PoiseInt n, begin, end;
  uint64_t seed;
  double diagonal; /* of most rows */
  PoiseInt weak;   /* the row whose diagonal entry is `value`; INFINITY: not stored */
  double value;
} Shape;

static inline Shape ShapeOf(PoiseContext ctx, int kind, int layout, PoiseInt n)
{
  Shape s = {.kind = kind, .layout = layout, .n = n, .seed = 1, .diagonal = 4, .weak = -1};
  PoiseVec x;
  if (CHECK_OK(SampleVec(ctx, layout, n, &x))) PoiseVecRange(x, &s.begin, &s.end);
  PoiseVecDestroy(&x);
  return s;
}

static inline bool Stored(const Shape *s, PoiseInt i, PoiseInt j)
{
  PoiseInt a = s->kind == SYMMETRIC && i > j ? j : i, b = s->kind == SYMMETRIC && i > j ? i : j;
  if (i == j) return i != s->weak || !isinf(s->value);
  if (s->kind == TRIDIAGONAL) return i - j == 1 || j - i == 1;
  if (s->kind == ARROW) return i == s->n - 1 || j == s->n - 1;
  return s->kind == FULL || TestRandom(s->seed, (uint64_t)(a * s->n + b)) > 0.4;
}

static inline double Value(const Shape *s, PoiseInt i, PoiseInt j)
{
  bool mirrored = (s->kind == SYMMETRIC || s->kind == TRIDIAGONAL) && i > j;
  if (i == j) return i == s->weak ? s->value : s->diagonal + TestRandom(s->seed + 1, (uint64_t)i);
  return (s->kind == FULL ? 1 : 0.5) *
         TestRandom(s->seed + 2, (uint64_t)(mirrored ? j * s->n + i : i * s->n + j));
}

static inline int AddRows(PoiseMat A, const Shape *s)
{
  for (PoiseInt i = s->begin; i < s->end; i++)
    for (PoiseInt j = 0; j < s->n; j++) {
      double v = Value(s, i, j);
      if (Stored(s, i, j) && !CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v))) return 0;
    }
  return CHECK_OK(PoiseMatAssemble(A));
}

static inline PoiseMat Matrix(PoiseContext ctx, const Shape *s)
{
  PoiseMat A;
  PoiseInt m = s->end - s->begin;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, s->n, s->n, &A)) || !AddRows(A, s)) return NULL;
  return A;
}

/* The same, with an entry (0, 2) that has no mirror: for TRIDIAGONAL. */
static inline PoiseMat Unmirrored(PoiseContext ctx, const Shape *s)
{
  PoiseMat A = Matrix(ctx, s);
  PoiseInt row = 0, col = 2;
  double v = 1;
  if (!A) return NULL;
  if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(A, 1, &row, 1, &col, &v));
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Minus the Laplacian on nx x ny x nz points, 7-point; slope: convection, which makes it unsymmetric; with
   slope 1 even its pattern is, as zeros are not stored. */
static inline PoiseMat Grid(PoiseContext ctx, PoiseInt nx, PoiseInt ny, PoiseInt nz, double slope)
{
  const PoiseInt step[] = {1, nx, nx * ny}, N = nx * ny * nz;
  PoiseInt begin, m;
  PoiseMat A;
  PoiseSplit(ctx, N, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + m; i++) {
    const PoiseInt at[] = {i % nx, i / nx % ny, i / nx / ny}, size[] = {nx, ny, nz};
    PoiseInt col[7] = {i};
    double v[7] = {6};
    int n = 1;
    for (int k = 0; k < 3; k++) {
      if (at[k] > 0) col[n] = i - step[k], v[n++] = -1 - slope;
      if (at[k] + 1 < size[k] && slope != 1) col[n] = i + step[k], v[n++] = -1 + slope;
    }
    if (!CHECK_OK(PoiseMatAddBlock(A, 1, &i, n, col, v))) return NULL;
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* ---- dense references ------------------------------------------------------------------------ */

typedef struct Dense { /* the block that this rank owns */
  int m;
  double *a;
  bool *stored;
} Dense;

static inline Dense DenseOf(const Shape *s, double shift)
{
  Dense d = {.m = (int)(s->end - s->begin)};
  d.a = calloc((size_t)(d.m * d.m) + 1, sizeof *d.a);
  d.stored = calloc((size_t)(d.m * d.m) + 1, sizeof *d.stored);
  for (int i = 0; i < d.m; i++)
    for (int j = 0; j < d.m; j++) {
      d.stored[i * d.m + j] = Stored(s, s->begin + i, s->begin + j);
      if (d.stored[i * d.m + j])
        d.a[i * d.m + j] = Value(s, s->begin + i, s->begin + j) + (i == j ? shift : 0);
    }
  return d;
}

static inline void DenseFree(Dense *d)
{
  free(d->a);
  free(d->stored);
}

/* Gaussian elimination that drops what falls outside the pattern; zero pivots become `replace`. */
static inline void Eliminate(Dense *d, double replace)
{
  int m = d->m;
  for (int k = 0; k < m; k++) {
    if (d->a[k * m + k] == 0) d->a[k * m + k] = replace;
    for (int i = k + 1; i < m; i++) {
      if (!d->stored[i * m + k]) continue;
      d->a[i * m + k] /= d->a[k * m + k];
      for (int j = k + 1; j < m; j++)
        if (d->stored[i * m + j]) d->a[i * m + j] -= d->a[i * m + k] * d->a[k * m + j];
    }
  }
}

/* x = U^-1 L^-1 x of factors that are Dense */
static inline void SolveFactors(const void *factors, long double *x)
{
  const Dense *d = factors;
  int m = d->m;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < i; j++) x[i] -= d->a[i * m + j] * x[j];
  for (int i = m - 1; i >= 0; i--) {
    for (int j = i + 1; j < m; j++) x[i] -= d->a[i * m + j] * x[j];
    x[i] /= d->a[i * m + i];
  }
}

/* Difference from ILU(0) of the matrix with a shifted diagonal. */
static inline double FactorDefect(PoisePC pc, const Shape *s, double shift, double replace)
{
  Dense d = DenseOf(s, shift);
  Eliminate(&d, replace);
  double worst = Difference(pc, SolveFactors, &d);
  DenseFree(&d);
  return worst;
}

/* Sweeps of sor. */
enum { FORWARD = 1, BACKWARD = 2 };

typedef struct Relaxation {
  double omega;
  int directions;
  PoiseInt its, lits;
} Relaxation;

#endif

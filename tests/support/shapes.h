/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the suites of preconditioners: matrices that are a function of (i, j), dense references, and
   the dots of a result. */
#ifndef POISE_TEST_SHAPES_H
#define POISE_TEST_SHAPES_H

#include "pc/pc.h"
#include "sample.h"

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

/* options: "-x_pc_factor_..." for prefix x_, or NULL */
static inline PoisePC Make(PoiseContext ctx, const char *type, PoiseMat P, const char *options)
{
  PoisePC pc;
  if (!CHECK_OK(PoisePCCreate(ctx, &pc))) return NULL;
  CHECK_OK(PoisePCSetType(pc, type));
  CHECK_OK(PoisePCSetOperator(pc, P));
  if (!options) return pc;
  CHECK_OK(PoiseOptionsSetString(ctx, options));
  CHECK_OK(PoiseBarrier(ctx));
  CHECK_OK(PoisePCSetOptionsPrefix(pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(pc));
  return pc;
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

/* Largest |z - x| relative to the largest |x|: z = M^-1 r where z held NaN; x is what `solve` makes of r. */
static inline double Difference(PoisePC pc, void (*solve)(const void *factors, long double *x),
                                const void *factors)
{
  PoiseVec r = NULL, z = NULL;
  const double *b, *y;
  double worst = 0, scale = 1;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return INFINITY;
  PoiseInt n = PoiseVecLocalSize(z);
  long double *x = malloc((size_t)(n + 1) * sizeof *x);
  SampleFill(r, 5);
  SampleConstant(z, NAN);
  if (!CHECK_OK(PoisePCApply(pc, r, z))) worst = INFINITY;
  CHECK_OK(PoiseVecGetRead(r, &b));
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt i = 0; i < n; i++) x[i] = b[i];
  solve(factors, x);
  for (PoiseInt i = 0; i < n; i++) scale = poiseLarger(scale, fabs((double)x[i]));
  for (PoiseInt i = 0; i < n; i++) worst = poiseLarger(worst, fabs((double)(x[i] - y[i])) / scale);
  PoiseVecRestore(r, &b);
  PoiseVecRestore(z, &y);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  free(x);
  return worst;
}

/* The same of ILU(0) of the matrix with a shifted diagonal. */
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

/* ---- results --------------------------------------------------------------------------------- */

/* The bits of z, which held NaN, from apply(pc, r, z). */
static inline uint64_t ApplyBy(PoisePC pc, PoiseErr (*apply)(PoisePC, PoiseVec, PoiseVec))
{
  PoiseVec r, z;
  uint64_t digest = 0;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return 0;
  SampleFill(r, 4);
  SampleConstant(z, NAN);
  if (CHECK_OK(apply(pc, r, z))) digest = SampleDigest(z);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  return digest;
}

static inline uint64_t Apply(PoisePC pc)
{
  return ApplyBy(pc, PoisePCApply);
}

/* By a preconditioner that is made for it. */
static inline uint64_t Applied(PoiseMat A, const char *type, const char *options)
{
  PoisePC pc = Make(PoiseMatContext(A), type, A, options);
  uint64_t digest = Apply(pc);
  PoisePCDestroy(&pc);
  return digest;
}

/* Do the partials hold the dots of z with u and with itself? */
static inline void CheckDots(const Fuse *f, PoiseVec u, PoiseVec z, const double *partial)
{
  const double *x, *y;
  CHECK_OK(PoiseVecGetRead(u, &x));
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt b = 0; b < POISE_NBLOCKS(PoiseVecLocalSize(z)); b++)
    for (int k = 0; k < f->ndot; k++) {
      double sum = 0, scale = 0;
      for (PoiseInt i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < PoiseVecLocalSize(z); i++) {
        sum += (k ? y[i] : x[i]) * y[i];
        scale += fabs((k ? y[i] : x[i]) * y[i]);
      }
      CHECK_NEAR(partial[k * POISE_NBLOCKS(PoiseVecLocalSize(z)) + b], sum, 1e-13 * scale);
    }
  PoiseVecRestore(u, &x);
  PoiseVecRestore(z, &y);
}

/* z = M^-1 r with the dots of z; then, if that works on a device, skipped: z and the dots stay. */
static inline void CheckFusedApply(PoisePC pc, bool skips)
{
  PoiseContext ctx = pc->ctx;
  PoiseVec r, z, u;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(r, &u))) return;
  int64_t nblock = POISE_NBLOCKS(PoiseVecLocalSize(z));
  Buffer partial, skip;
  Fuse f = {.ndot = 2};
  double *p;
  const double *word;
  SampleFill(r, 1);
  SampleFill(u, 2);
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)(2 * nblock) * sizeof(double), "dots", &partial));
  CHECK_OK(poiseBufferCreate(ctx->device, sizeof(double), "skip", &skip));
  for (int skipped = 0; skipped < 1 + skips; skipped++) {
    CHECK_OK(poiseBufferWrite(&skip, HOST, &p));
    *p = skipped;
    CHECK_OK(poiseBufferRead(&skip, DEVICE, &word));
    CHECK_OK(poiseBufferUpdate(&partial, DEVICE, &p));
    f.partial[0] = p, f.partial[1] = p + nblock;
    CHECK_OK(poiseVecRead(u, &f.u[0]));
    if (skipped) SampleFill(r, 77);
    uint64_t before = skipped ? SampleDigest(z) : 0;
    CHECK_OK(poisePCApplyFuse(pc, r, z, word, &f));
    if (skipped) CHECK(SampleDigest(z) == before);
    CHECK_OK(poiseBufferRead(&partial, HOST, &word));
    CheckDots(&f, u, z, word);
  }
  poiseBufferDestroy(&partial);
  poiseBufferDestroy(&skip);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&u);
}

#endif

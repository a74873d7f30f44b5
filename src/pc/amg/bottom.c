/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The coarsest level: a dense inverse, applied as a product, which all devices do well. It costs n^3 / 2
  multiply-adds of a symmetric matrix, by sweeps (A. Dempster, Elements of continuous multivariate analysis,
  1969; J. Goodnight, A tutorial on the SWEEP operator, The American Statistician 33, 1979). A sweep over a
  pivot that is 0 to rounding is left out. The result is then an inverse on the rows that the others depend
  on, and 0 elsewhere: positive semidefinite, and A X A = A.

  What is not symmetric, or not definite, is factored with partial pivoting, as lu does.
*/
#include "pc/lu_kernels.h"
#include "vec/vec_host.h"
#include "amg.h"
#include "amg_kernels.h"

enum { PANEL = 32, STRIP = 32, REFUSED_PIVOT_ROW = 0 };

void poiseAmgBottomDestroy(AmgBottom *b)
{
  poiseBufferDestroy(&b->dense);
  poiseBufferDestroy(&b->pivot);
  poiseBufferDestroy(&b->work);
  poiseBufferDestroy(&b->result);
  *b = (AmgBottom){0};
}

void poiseAmgBottomBytes(const AmgBottom *b, PoiseBytes *sum)
{
  poiseBufferAdd(&b->dense, sum);
  poiseBufferAdd(&b->pivot, sum);
  poiseBufferAdd(&b->work, sum);
  poiseBufferAdd(&b->result, sum);
}

static void Fill(const AmgMatrix *m, double *a)
{
  int64_t n = m->nodes * m->node;
  if (n) memset(a, 0, (size_t)(n * n) * sizeof *a);
  for (int64_t i = 0; i < n; i++) {
    ScalarRow row = poiseNumberRow(&m->A, i);
    for (int64_t k = 0; k < row.n; k++)
      a[i * n + poiseNumberColumn(&m->A, &row, k)] = m->A.val[poiseNumberPlace(&row, k)];
  }
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

typedef struct Sweeping {
  int64_t n, first, width; /* the panel's columns */
  double *a;               /* the lower triangle */
  double *w, *v;           /* [width][n]: the panel as it was and will be, by columns */
  double s[PANEL * PANEL]; /* its diagonal block */
  bool swept[PANEL];
  double zero;
} Sweeping;

/* Make the diagonal 1 or -1, and take the lower triangle only. scale: by which rows and columns were
   multiplied, 0 for rows of zeros. False: not symmetric, or no diagonal of one sign. */
static bool ScaleSymmetric(double *a, int64_t n, double *scale, double *sign)
{
  const double most = 1e-10;
  *sign = 0;
  for (int64_t i = 0; i < n && *sign == 0; i++) *sign = a[i * n + i] < 0 ? -1 : a[i * n + i] > 0;
  for (int64_t i = 0; i < n; i++) {
    if (*sign * a[i * n + i] < 0) return false;
    scale[i] = a[i * n + i] != 0 ? 1 / sqrt(fabs(a[i * n + i])) : 0;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      double low = a[i * n + j], high = a[j * n + i], size = *sign * scale[i] * scale[j];
      if (size == 0 ? low != 0 || high != 0 : !(fabs(low - high) * fabs(size) <= most)) return false;
      a[i * n + j] = 0.5 * (low + high) * size;
    }
  return true;
}

/* Sweep the panel's diagonal block. False: a pivot is negative. */
static bool SweepBlock(Sweeping *z)
{
  int64_t q = z->width;
  double *s = z->s;
  for (int64_t k = 0; k < q; k++) {
    double d = s[k * q + k];
    z->swept[k] = d > z->zero;
    if (d < -z->zero || d != d) return false;
    if (!z->swept[k]) continue;
    for (int64_t i = 0; i < q; i++)
      for (int64_t j = 0; j < q; j++)
        if (i != k && j != k) s[i * q + j] -= s[i * q + k] * s[k * q + j] / d;
    for (int64_t i = 0; i < q; i++)
      if (i != k) s[i * q + k] /= d, s[k * q + i] /= d;
    s[k * q + k] = -1 / d;
  }
  return true;
}

/* The panel's column k in row i, of the lower triangle. */
POISE_INLINE double *Place(const Sweeping *z, int64_t i, int64_t k)
{
  int64_t j = z->first + k;
  return z->a + (i > j ? i * z->n + j : j * z->n + i);
}

static bool InPanel(const Sweeping *z, int64_t i)
{
  return i >= z->first && i < z->first + z->width;
}

static void FetchPanel(Sweeping *z)
{
  for (int64_t k = 0; k < z->width; k++) {
    for (int64_t l = 0; l < z->width; l++) z->s[k * z->width + l] = *Place(z, z->first + l, k);
    for (int64_t i = 0; i < z->n; i++) z->w[k * z->n + i] = InPanel(z, i) ? 0 : *Place(z, i, k);
  }
}

/* v_k = -sum of w_j s_jk over swept j, plus w_k where k is not swept. */
static void UpdatePanel(Sweeping *z)
{
  for (int64_t k = 0; k < z->width; k++) {
    double *restrict v = z->v + k * z->n;
    for (int64_t i = 0; i < z->n; i++) v[i] = z->swept[k] ? 0 : z->w[k * z->n + i];
    for (int64_t j = 0; j < z->width; j++) {
      const double *restrict w = z->w + j * z->n;
      double s = z->s[j * z->width + k];
      for (int64_t i = 0; z->swept[j] && i < z->n; i++) v[i] -= w[i] * s;
    }
  }
}

/* The lower triangle -= v w^T over swept columns; then the panel is stored. */
static void UpdateRows(const void *args, int64_t begin, int64_t end)
{
  const Sweeping *z = args;
  for (int64_t i = begin; i < end; i++) {
    double *restrict y = z->a + i * z->n;
    for (int64_t k = 0; k < z->width; k++) {
      const double *restrict w = z->w + k * z->n;
      double v = z->v[k * z->n + i];
      for (int64_t j = 0; z->swept[k] && v != 0 && j <= i; j++) y[j] -= v * w[j];
    }
  }
}

static void StorePanel(const Sweeping *z)
{
  for (int64_t k = 0; k < z->width; k++)
    for (int64_t i = 0; i < z->n; i++)
      *Place(z, i, k) = InPanel(z, i) ? z->s[k * z->width + i - z->first] : z->v[k * z->n + i];
}

static void ForStrips(Device *dev, const Sweeping *z)
{
  int64_t nblock = (z->n + STRIP - 1) / STRIP;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++)
    UpdateRows(z, k * STRIP, (k + 1) * STRIP < z->n ? (k + 1) * STRIP : z->n);
}

/* a becomes sign times its inverse, scaled back. Rows without a sweep become 0. */
static bool Sweep(Device *dev, Sweeping *z, double *scale, double sign, int64_t *skipped)
{
  int64_t n = z->n;
  *skipped = 0;
  for (z->first = 0; z->first < n; z->first += PANEL) {
    z->width = n - z->first < PANEL ? n - z->first : PANEL;
    FetchPanel(z);
    if (!SweepBlock(z)) return false;
    UpdatePanel(z);
    ForStrips(dev, z);
    StorePanel(z);
    for (int64_t k = 0; k < z->width; k++)
      if (!z->swept[k]) ++*skipped, scale[z->first + k] = 0;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      z->a[i * n + j] = z->a[j * n + i] = -sign * z->a[i * n + j] * scale[i] * scale[j];
  return true;
}

static PoiseErr Invert(PoiseContext ctx, AmgBottom *b, const AmgMatrix *m, double *a, bool *done)
{
  Sweeping z = {.n = b->n, .a = a};
  double *scale = NULL, sign;
  *done = false;
  PoiseErr e = poiseAllocArray(ctx, b->n, sizeof *scale, "scale of the coarsest matrix", &scale);
  if (!e) e = poiseAllocArray(ctx, PANEL * b->n, sizeof *z.w, "panel of the coarsest matrix", &z.w);
  if (!e) e = poiseAllocArray(ctx, PANEL * b->n, sizeof *z.v, "new panel of the coarsest matrix", &z.v);
  if (!e) {
    Fill(m, a);
    z.zero = 8 * (double)b->n * 2.2e-16 > 1e-11 ? 8 * (double)b->n * 2.2e-16 : 1e-11;
    *done = ScaleSymmetric(a, b->n, scale, &sign) && Sweep(ctx->device, &z, scale, sign, &b->skipped);
  }
  poiseFree(ctx, &scale);
  poiseFree(ctx, &z.w);
  poiseFree(ctx, &z.v);
  return e;
}

/* ---- factors with pivoting ------------------------------------------------------------------- */

static PoiseErr Factor(Device *dev, AmgBottom *b, const AmgMatrix *m, bool *singular)
{
  size_t n = (size_t)b->n;
  double *a, *work;
  const double *result;
  LuFactorArgs f = {.n = b->n, .zero = 2.220446049250313e-14};
  if (!b->pivot.dev) TRY(poiseBufferCreate(dev, n * sizeof(int32_t), "row exchanges", &b->pivot));
  if (!b->work.dev) TRY(poiseBufferCreate(dev, n * sizeof(double), "solution of dense factors", &b->work));
  if (!b->result.dev) TRY(poiseBufferCreate(dev, 2 * sizeof(double), "refused pivot", &b->result));
  TRY(poiseBufferWrite(&b->dense, HOST, &a));
  Fill(m, a);
  TRY(poiseBufferWrite(&b->work, DEVICE, &work)); /* a captured loop allocates nothing */
  TRY(poiseBufferUpdate(&b->dense, DEVICE, &f.a));
  TRY(poiseBufferWrite(&b->pivot, DEVICE, &f.pivot));
  TRY(poiseBufferWrite(&b->result, DEVICE, &f.refused));
  TRY(LAUNCH(dev, lu_factor, &f));
  TRY(poiseBufferRead(&b->result, HOST, &result));
  *singular = result[REFUSED_PIVOT_ROW] >= 0;
  return POISE_OK;
}

PoiseErr poiseAmgBottomSetUp(PoiseContext ctx, const AmgMatrix *m, AmgBottom *b, const char **why)
{
  int64_t n = m->nodes * m->node;
  double *a;
  bool done, singular = false;
  *why = NULL;
  if (!b->dense.dev || b->n != n) {
    poiseAmgBottomDestroy(b);
    b->n = n;
    TRY(poiseBufferCreate(ctx->device, (size_t)(n * n) * sizeof(double), "coarsest level", &b->dense));
  }
  TRY(poiseBufferWrite(&b->dense, HOST, &a));
  TRY(Invert(ctx, b, m, a, &done));
  b->lu = !done;
  if (b->lu) TRY(Factor(ctx->device, b, m, &singular));
  if (singular) *why = "its matrix is singular, and not symmetric or not definite";
  const double *there;
  return poiseBufferRead(&b->dense, DEVICE, &there);
}

PoiseErr poiseAmgBottomApply(Device *dev, AmgBottom *b, PoiseVec r, PoiseVec z, const double *skip)
{
  LuSolveArgs f = {.n = b->n, .m = b->n, .skip = skip};
  AmgDenseArgs a = {.n = b->n, .skip = skip};
  TRY(poiseVecRead(r, &a.x));
  TRY(skip ? poiseVecUpdate(z, &a.y) : poiseVecWrite(z, &a.y));
  TRY(poiseBufferRead(&b->dense, DEVICE, &a.a));
  if (!b->lu) return LAUNCH(dev, amg_dense, &a);
  f.x = a.x, f.y = a.y, f.lu = a.a;
  TRY(poiseBufferRead(&b->pivot, DEVICE, &f.pivot));
  TRY(poiseBufferWrite(&b->work, DEVICE, &f.work));
  return LAUNCH(dev, lu_solve, &f);
}

/* ---- host kernel ----------------------------------------------------------------------------- */

PoiseErr poiseHost_amg_dense(Device *dev, const void *args)
{
  const AmgDenseArgs *a = args;
  int64_t nblock = (a->n + STRIP - 1) / STRIP;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++)
    for (int64_t i = k * STRIP; i < (k + 1) * STRIP && i < a->n; i++)
      a->y[i] = poiseHostDot(a->a + i * a->n, a->x, 0, a->n);
  return POISE_OK;
}

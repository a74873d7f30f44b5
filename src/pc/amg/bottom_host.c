/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of the coarsest level: sweeps over panels of columns. */
#include "sys/device/host_loop.h"
#include "amg_kernels.h"
#include "bottom_kernels.h"

enum { STRIP = 32 };

typedef struct Sweeping {
  int64_t n, first, width;         /* the panel's columns */
  double *a;                       /* the lower triangle */
  double *w, *v;                   /* [width][n]: the panel as it was and will be, by columns */
  double s[AMG_PANEL * AMG_PANEL]; /* its diagonal block */
  bool swept[AMG_PANEL];
  const double *zero; /* [n] */
} Sweeping;

/* Make the diagonal 1 or -1, and take the lower triangle only. False: not symmetric, or no diagonal of one
   sign. */
static bool ScaleSymmetric(const AmgInvertArgs *m)
{
  int64_t n = m->n;
  double *scale = m->scale, *sign = m->sign;
  *sign = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = m->a[i * n + i];
    scale[i] = poiseAmgScale(m, i);
    if (scale[i] == 0) continue;
    if (*sign == 0) *sign = d < 0 ? -1 : 1;
    if (*sign * d < 0) return false;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      if (!poiseAmgSymmetric(m, i, j, *sign * scale[i] * scale[j], &m->a[i * n + j])) return false;
  return true;
}

/* Sweep the panel's diagonal block. False: a pivot is negative. */
static bool SweepBlock(Sweeping *z)
{
  int64_t q = z->width;
  double *s = z->s;
  for (int64_t k = 0; k < q; k++) {
    double d = s[k * q + k], zero = z->zero[z->first + k];
    z->swept[k] = d > zero;
    if (d < -zero || d != d) return false;
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
  for (z->first = 0; z->first < n; z->first += AMG_PANEL) {
    z->width = n - z->first < AMG_PANEL ? n - z->first : AMG_PANEL;
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

PoiseErr poiseHost_amg_invert(Device *dev, const void *args)
{
  const AmgInvertArgs *a = args;
  Sweeping z = {.n = a->n, .a = a->a, .w = a->w, .v = a->v, .zero = a->zero};
  int64_t skipped = 0;
  bool fine = ScaleSymmetric(a) && Sweep(dev, &z, a->scale, *a->sign, &skipped);
  a->result[AMG_REFUSED] = !fine;
  a->result[AMG_SKIPPED] = (double)skipped;
  return POISE_OK;
}

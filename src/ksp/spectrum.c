/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Approximate eigenvalues and singular values of K, from the small matrix that a method has made of it: cg's
  tridiagonal matrix of Lanczos (Paige & Saunders 1975, section 2), gmres' Hessenberg matrix (Saad 1980). They
  are dense and on the host, once for a question. Nothing is kept unless it was asked for.
*/
#include <complex.h>
#include <float.h>

#include "divided.h"
#include "methods.h"
#include "monitor.h"
#include "setup.h"
#include "spectrum.h"

/* ---- small matrices -------------------------------------------------------------------------- */

/* The eigenvalue of the 2 x 2 matrix (a b; c d) that is nearer to d. */
static double complex Shift(double complex a, double complex b, double complex c, double complex d)
{
  double complex half = (a - d) / 2, root = csqrt(half * half + b * c);
  double complex far = cabs(half + root) > cabs(half - root) ? half + root : half - root;
  return far == 0 ? d : d - b * c / far;
}

/* One step of QR with a shift, on rows and columns [low, high] of the Hessenberg matrix h, stored by
   columns of length ld. */
static void Rotate(double complex *h, int ld, int low, int high, double complex shift)
{
  for (int i = low; i <= high; i++) h[i + i * ld] -= shift;
  double complex c = 1, s = 0;
  for (int k = low; k < high; k++) { /* rotate rows k, k + 1; columns k - 1, k by the rotation before */
    double complex a = h[k + k * ld], b = h[k + 1 + k * ld], cold = c, sold = s;
    double length = hypot(cabs(a), cabs(b));
    c = length == 0 ? 1 : a / length, s = length == 0 ? 0 : b / length;
    for (int j = k; j <= high; j++) {
      double complex t = h[k + j * ld], u = h[k + 1 + j * ld];
      h[k + j * ld] = conj(c) * t + conj(s) * u;
      h[k + 1 + j * ld] = c * u - s * t;
    }
    if (k > low)
      for (int i = low; i <= k; i++) {
        double complex t = h[i + (k - 1) * ld], u = h[i + k * ld];
        h[i + (k - 1) * ld] = cold * t + sold * u;
        h[i + k * ld] = conj(cold) * u - conj(sold) * t;
      }
  }
  for (int i = low; i <= high; i++) {
    double complex t = h[i + (high - 1) * ld], u = h[i + high * ld];
    h[i + (high - 1) * ld] = c * t + s * u;
    h[i + high * ld] = conj(c) * u - conj(s) * t;
  }
  for (int i = low; i <= high; i++) h[i + i * ld] += shift;
}

/* By QR with shifts (Francis 1961), in complex numbers. */
void poiseHessenbergEigenvalues(double complex *h, int n, double complex *w)
{
  enum { MOST = 60 }; /* most iterations for one eigenvalue; two or three are usual */
  for (int high = n - 1, its = 0; high >= 0; its++) {
    int low = high;
    while (low > 0 && cabs(h[low + (low - 1) * n]) >
                          DBL_EPSILON * (cabs(h[low + low * n]) + cabs(h[low - 1 + (low - 1) * n])))
      low--;
    if (low < high && its < MOST) {
      double complex *e = h + high - 1 + (high - 1) * n;
      Rotate(h, n, low, high, its % 10 == 9 ? e[n + 1] + cabs(e[1]) : Shift(e[0], e[n], e[1], e[n + 1]));
      continue;
    }
    w[high] = h[high + high * n];
    high--;
    its = -1;
  }
}

/* How many eigenvalues are less than x: the negative pivots of T - x I (Givens 1954). */
static int Below(const double *d, const double *e, int n, double x)
{
  int below = 0;
  double pivot = 1;
  for (int i = 0; i < n; i++) {
    pivot = d[i] - x - (i ? e[i - 1] * (e[i - 1] / pivot) : 0);
    if (pivot == 0) pivot = -DBL_MIN;
    below += pivot < 0;
  }
  return below;
}

/* By bisection, each to the last bit but one. */
void poiseTridiagonalEigenvalues(const double *d, const double *e, int n, double *w)
{
  double size = 0;
  for (int i = 0; i < n; i++)
    size = poiseLarger(size, fabs(d[i]) + (i ? fabs(e[i - 1]) : 0) + (i + 1 < n ? fabs(e[i]) : 0));
  for (int k = 0; k < n; k++) {
    double low = k ? w[k - 1] : -size, high = size;
    if (k && Below(d, e, n, nextafter(low, high)) > k) {
      w[k] = low; /* a multiple one */
      continue;
    }
    for (;;) {
      double middle = low + (high - low) / 2;
      if (!(middle > low && middle < high)) break;
      if (Below(d, e, n, middle) > k)
        high = middle;
      else
        low = middle;
    }
    w[k] = poiseFinite(size) ? high : NAN;
  }
}

/* Make columns u and v of m rows orthogonal. Returns whether they were not. */
static bool Orthogonalise(double *u, double *v, int m)
{
  double uu = 0, vv = 0, uv = 0;
  for (int i = 0; i < m; i++) uu += u[i] * u[i], vv += v[i] * v[i], uv += u[i] * v[i];
  if (!(fabs(uv) > DBL_EPSILON * sqrt(uu) * sqrt(vv))) return false;
  double zeta = (vv - uu) / (2 * uv), t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta)),
         c = 1 / sqrt(1 + t * t), s = c * t;
  for (int i = 0; i < m; i++) {
    double x = u[i], y = v[i];
    u[i] = c * x - s * y;
    v[i] = s * x + c * y;
  }
  return true;
}

/* By rotations of its columns (Hestenes 1958). */
void poiseSingularValues(double *a, int m, int n, double *s)
{
  enum { SWEEPS = 40 };
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < SWEEPS; sweep++) {
    rotated = false;
    for (int j = 0; j < n; j++)
      for (int k = j + 1; k < n; k++) rotated |= Orthogonalise(a + j * m, a + k * m, m);
  }
  for (int j = 0; j < n; j++) {
    s[j] = 0;
    for (int i = 0; i < m; i++) s[j] = hypot(s[j], a[i + j * m]);
  }
}

/* ---- what is asked of a solver --------------------------------------------------------------- */

bool poiseKSPKeepsSpectrum(PoiseKSP ksp)
{
  const KSPOptions *o = &ksp->options;
  return o->eigenvalues || o->singular_values || o->view_eigenvalues || o->view_singular_values;
}

PoiseErr PoiseKSPSetComputeEigenvalues(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSetComputeEigenvalues"));
  ksp->options.eigenvalues = on != 0;
  return POISE_OK;
}

PoiseErr PoiseKSPSetComputeSingularValues(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSetComputeSingularValues"));
  ksp->options.singular_values = on != 0;
  return POISE_OK;
}

/* Of the iterations so far. The loop goes on in the array on its device, and the next question copies it
   anew. */
static PoiseErr AskMeanwhile(PoiseKSP ksp, const char *what, Projected *p)
{
  double *array;
  if (!ksp->loop.eager)
    FAIL(POISE_ERR_STATE,
         "%s: the loop is replayed and ahead of its monitors: set a convergence test, or %s 0", what,
         poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_replay"));
  TRY(ksp->type->projected(ksp, p));
  return poiseBufferUpdate(&ksp->scalars.array_buffer, DEVICE, &array);
}

PoiseErr poiseKSPAskProjected(PoiseKSP ksp, const char *what, Projected *p)
{
  *p = (Projected){0};
  TRY(poiseKSPCheckWhole(ksp, what));
  if (!ksp->type->projected)
    FAIL(POISE_ERR_UNSUPPORTED, "%s: method %s makes no small matrix of K; cg, gmres and fgmres do", what,
         ksp->type->name);
  if (!poiseKSPKeepsSpectrum(ksp))
    FAIL(POISE_ERR_STATE,
         "%s: call PoiseKSPSetComputeEigenvalues or PoiseKSPSetComputeSingularValues before the solve", what);
  if (!ksp->layout || (ksp->result.reason == POISE_ITERATING && !ksp->solve.running))
    FAIL(POISE_ERR_STATE, "%s: there was no solve", what);
  return ksp->solve.running ? AskMeanwhile(ksp, what, p) : ksp->type->projected(ksp, p);
}

void poiseKSPDropProjected(PoiseKSP ksp, Projected *p)
{
  poiseFree(ksp->ctx, &p->diagonal);
  poiseFree(ksp->ctx, &p->beside);
  poiseFree(ksp->ctx, &p->hessenberg);
}

/* Eigenvalues, ascending by their real parts; conjugate ones beside each other. */
static PoiseErr Eigenvalues(PoiseKSP ksp, const Projected *p, double complex *w)
{
  double complex *h;
  int n = p->n;
  if (p->diagonal) {
    double *real;
    TRY(poiseAllocArray(ksp->ctx, n, sizeof *real, "eigenvalues", &real));
    poiseTridiagonalEigenvalues(p->diagonal, p->beside, n, real);
    for (int k = 0; k < n; k++) w[k] = real[k];
    poiseFree(ksp->ctx, &real);
    return POISE_OK;
  }
  TRY(poiseAllocArray(ksp->ctx, n * n, sizeof *h, "eigenvalues", &h));
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) h[i + j * n] = p->hessenberg[i + j * (n + 1)];
  poiseHessenbergEigenvalues(h, n, w);
  poiseFree(ksp->ctx, &h);
  for (int k = 1; k < n; k++)
    for (int i = k; i > 0 && creal(w[i]) < creal(w[i - 1]); i--) {
      double complex t = w[i];
      w[i] = w[i - 1], w[i - 1] = t;
    }
  return POISE_OK;
}

PoiseErr PoiseKSPComputeEigenvalues(PoiseKSP ksp, PoiseInt n, double *real, double *imaginary,
                                    PoiseInt *count)
{
  CALLED(OBJECT(ksp), GIVEN(real), GIVEN(imaginary), GIVEN(count));
  Projected p;
  double complex *w = NULL;
  *count = 0;
  PoiseErr e = poiseKSPAskProjected(ksp, "PoiseKSPComputeEigenvalues", &p);
  if (!e && p.n) e = poiseAllocArray(ksp->ctx, p.n, sizeof *w, "eigenvalues", &w);
  if (!e && p.n) e = Eigenvalues(ksp, &p, w);
  for (int k = 0; !e && k < p.n && k < n; k++) real[k] = creal(w[k]), imaginary[k] = cimag(w[k]);
  if (!e) *count = p.n;
  poiseFree(ksp->ctx, &w);
  poiseKSPDropProjected(ksp, &p);
  return e;
}

/* Of the symmetric matrix these are its extreme eigenvalues, as in PETSc. */
static PoiseErr ExtremesOf(PoiseKSP ksp, Projected *p, double *largest, double *least)
{
  double *s;
  int n = p->n;
  TRY(poiseAllocArray(ksp->ctx, n, sizeof *s, "singular values", &s));
  if (p->diagonal)
    poiseTridiagonalEigenvalues(p->diagonal, p->beside, n, s);
  else
    poiseSingularValues(p->hessenberg, n + 1, n, s);
  *largest = *least = s[0];
  for (int k = 1; k < n; k++) {
    *largest = s[k] > *largest || isnan(s[k]) ? s[k] : *largest;
    *least = s[k] < *least || isnan(s[k]) ? s[k] : *least;
  }
  poiseFree(ksp->ctx, &s);
  return POISE_OK;
}

PoiseErr PoiseKSPComputeExtremeSingularValues(PoiseKSP ksp, double *largest, double *least)
{
  CALLED(OBJECT(ksp), GIVEN(largest), GIVEN(least));
  Projected p;
  *largest = *least = -1; /* as PETSc: there was no iteration */
  PoiseErr e = poiseKSPAskProjected(ksp, "PoiseKSPComputeExtremeSingularValues", &p);
  if (!e && p.n) e = ExtremesOf(ksp, &p, largest, least);
  poiseKSPDropProjected(ksp, &p);
  return e;
}

static PoiseErr PrintEigenvalues(PoiseKSP ksp)
{
  Projected p;
  double complex *w = NULL;
  PoiseErr e = poiseKSPAskProjected(ksp, "-ksp_view_eigenvalues", &p);
  if (!e && p.n) e = poiseAllocArray(ksp->ctx, p.n, sizeof *w, "eigenvalues", &w);
  if (!e && p.n) e = Eigenvalues(ksp, &p, w);
  e = PoiseAgree(ksp->ctx, e);
  if (!e) e = poisePrint(ksp->ctx, "Iteratively computed eigenvalues\n");
  for (int k = 0; !e && k < p.n; k++)
    e = poisePrint(ksp->ctx, "%g %s %gi\n", creal(w[k]), cimag(w[k]) < 0 ? "-" : "+", fabs(cimag(w[k])));
  poiseFree(ksp->ctx, &w);
  poiseKSPDropProjected(ksp, &p);
  return e;
}

static PoiseErr PrintSingularValues(PoiseKSP ksp)
{
  double most, least;
  TRY(PoiseAgree(ksp->ctx, PoiseKSPComputeExtremeSingularValues(ksp, &most, &least)));
  return poisePrint(ksp->ctx, "Iteratively computed extreme singular values: max %g min %g max/min %g\n",
                    most, least, most / least);
}

PoiseErr poiseKSPPrintSpectrum(PoiseKSP ksp)
{
  if (ksp->options.view_singular_values) TRY(PrintSingularValues(ksp));
  return ksp->options.view_eigenvalues ? PrintEigenvalues(ksp) : POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How much the iteration count of a method depends on rounding: textbook CG, BiCGSTAB and GMRES(30) with Jacobi, serial and
  independent of the library's solvers, run with several orders of summation in every dot product and row sum. Prints one line:

    spread -A matrix.mtx -method cg|bicgstab|gmres [-rtol 1e-8] [-maxits 2000] [-orders 5]   ->   counts, "no": not converged

  b = A * ones, x0 = 0, norm of b - A x (BiCGSTAB and GMRES preconditioned from the right), as scripts/solve_table.py asks of
  the library; zero or missing diagonal entries count as 1.
*/
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD, BACKWARD, STRIDED, BLOCKED, PAIRWISE }; /* further orders: blocks of lanes, of many sizes */

typedef struct Options {
  char A[POISE_OPTION_LENGTH];
  int method;
  double rtol;
  PoiseInt maxits, orders;
} Options;

static const PoiseOption table[] = {
    {"A", POISE_OPTION_STRING, offsetof(Options, A), "", 0, 0, NULL, "Matrix Market file"},
    {"method", POISE_OPTION_CHOICE, offsetof(Options, method), "cg", 0, 0, "cg|bicgstab|gmres", "method"},
    {"rtol", POISE_OPTION_REAL, offsetof(Options, rtol), "1e-8", 0, 1, NULL, "relative tolerance"},
    {"maxits", POISE_OPTION_INT, offsetof(Options, maxits), "2000", 1, 1e9, NULL, "most iterations"},
    {"orders", POISE_OPTION_INT, offsetof(Options, orders), "5", 1, 1000, NULL, "orders of summation"},
    {0},
};

typedef struct System {
  int64_t n, *ptr, *col;
  double *val, *inverse, *scaled, *term; /* scaled: M^-1 x; term: products to be summed */
  int order;
} System;

static double Pairwise(const double *t, int64_t n)
{
  if (n <= 4) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += t[i];
    return s;
  }
  return Pairwise(t, n / 2) + Pairwise(t + n / 2, n - n / 2);
}

static double Sum(int order, const double *t, int64_t n)
{
  double s = 0;
  switch (order) {
  case FORWARD:
    for (int64_t i = 0; i < n; i++) s += t[i];
    return s;
  case BACKWARD:
    for (int64_t i = n; i-- > 0;) s += t[i];
    return s;
  case STRIDED:
    for (int64_t lane = 0; lane < 7; lane++) {
      double part = 0;
      for (int64_t i = lane; i < n; i += 7) part += t[i];
      s += part;
    }
    return s;
  case BLOCKED:
    for (int64_t first = 0; first < n; first += 100) {
      double part = 0;
      for (int64_t i = first; i < n && i < first + 100; i++) part += t[i];
      s += part;
    }
    return s;
  case PAIRWISE:
    return Pairwise(t, n);
  default:
    for (int64_t first = 0, size = 40 + 37 * order; first < n; first += size)
      for (int64_t lane = 0; lane < order; lane++) {
        double part = 0;
        for (int64_t i = first + lane; i < n && i < first + size; i += order) part += t[i];
        s += part;
      }
    return s;
  }
}

static double Dot(System *a, const double *x, const double *y)
{
  for (int64_t i = 0; i < a->n; i++) a->term[i] = x[i] * y[i];
  return Sum(a->order, a->term, a->n);
}

static void Mult(System *a, const double *x, double *y)
{
  for (int64_t i = 0; i < a->n; i++) {
    int64_t first = a->ptr[i], length = a->ptr[i + 1] - first;
    for (int64_t k = 0; k < length; k++) a->term[k] = a->val[first + k] * x[a->col[first + k]];
    y[i] = Sum(a->order, a->term, length);
  }
}

/* y = A M^-1 x */
static void Operator(System *a, const double *x, double *y)
{
  for (int64_t i = 0; i < a->n; i++) a->scaled[i] = a->inverse[i] * x[i];
  Mult(a, a->scaled, y);
}

static double *Vectors(const System *a, int k)
{
  return calloc((size_t)(a->n ? a->n : 1) * (size_t)k, sizeof(double));
}

/* Each returns the iterations needed, or -1. b is consumed. */
static int64_t CG(System *a, double *r, const Options *o)
{
  int64_t n = a->n, its = -1;
  double *w = Vectors(a, 3), *z = w, *p = w + n, *q = w + 2 * n, norm0 = 0, rz = 0;
  for (int64_t k = 0; k <= o->maxits; k++) {
    for (int64_t i = 0; i < n; i++) z[i] = a->inverse[i] * r[i];
    double next = Dot(a, r, z), norm = sqrt(Dot(a, r, r));
    if (!k) norm0 = norm;
    if (!(norm - norm == 0) || next < 0) break;
    if (norm <= o->rtol * norm0) {
      its = k;
      break;
    }
    for (int64_t i = 0; i < n; i++) p[i] = z[i] + (k ? next / rz : 0) * p[i];
    rz = next;
    Mult(a, p, q);
    double pq = Dot(a, p, q);
    if (pq == 0) break;
    for (int64_t i = 0; i < n; i++) r[i] -= rz / pq * q[i];
  }
  free(w);
  return its;
}

static int64_t BiCGSTAB(System *a, double *r, const Options *o)
{
  int64_t n = a->n, its = -1;
  double *w = Vectors(a, 4), *hat = w, *p = w + n, *v = w + 2 * n, *t = w + 3 * n;
  for (int64_t i = 0; i < n; i++) hat[i] = p[i] = r[i];
  double rho = Dot(a, r, r), norm0 = sqrt(rho);
  for (int64_t k = 0; k <= o->maxits; k++) {
    double norm = sqrt(Dot(a, r, r));
    if (!(norm - norm == 0) || norm >= 1e4 * norm0) break;
    if (norm <= o->rtol * norm0) {
      its = k;
      break;
    }
    Operator(a, p, v);
    double vr = Dot(a, v, hat);
    if (vr == 0) break;
    double alpha = rho / vr;
    for (int64_t i = 0; i < n; i++) r[i] -= alpha * v[i];
    Operator(a, r, t);
    double tt = Dot(a, t, t), omega = tt == 0 ? 0 : Dot(a, r, t) / tt;
    for (int64_t i = 0; i < n; i++) r[i] -= omega * t[i];
    double next = Dot(a, r, hat), beta = next / rho * (alpha / omega);
    for (int64_t i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    rho = next;
  }
  free(w);
  return its;
}

enum { RESTART = 30 };

/* One cycle from the residual r at iteration *k; x += M^-1 V y. Returns whether it converged. */
static int Cycle(System *a, double *x, const double *r, double *V, double target, int64_t *k, int64_t maxits)
{
  int64_t n = a->n;
  double H[RESTART + 1][RESTART], c[RESTART], s[RESTART], g[RESTART + 1], y[RESTART];
  int m = 0, converged = 0;
  g[0] = sqrt(Dot(a, r, r));
  for (int64_t i = 0; i < n; i++) V[i] = r[i] / g[0];
  while (m < RESTART && *k < maxits && !converged) {
    double *w = V + (m + 1) * n, top, below;
    Operator(a, V + m * n, w);
    for (int j = 0; j <= m; j++) H[j][m] = Dot(a, w, V + j * n);
    for (int j = 0; j <= m; j++)
      for (int64_t i = 0; i < n; i++) w[i] -= H[j][m] * V[j * n + i];
    below = sqrt(Dot(a, w, w));
    for (int64_t i = 0; i < n; i++) w[i] /= below;
    for (int j = 0; j < m; j++) {
      double u = H[j][m], l = H[j + 1][m];
      H[j][m] = c[j] * u + s[j] * l;
      H[j + 1][m] = -s[j] * u + c[j] * l;
    }
    top = H[m][m];
    H[m][m] = hypot(top, below);
    c[m] = top / H[m][m], s[m] = below / H[m][m];
    g[m + 1] = -s[m] * g[m];
    g[m] *= c[m];
    m++, ++*k;
    converged = fabs(g[m]) <= target;
    if (!(g[m] - g[m] == 0)) return 0;
  }
  for (int j = m - 1; j >= 0; j--) {
    y[j] = g[j];
    for (int l = j + 1; l < m; l++) y[j] -= H[j][l] * y[l];
    y[j] /= H[j][j];
  }
  for (int j = 0; j < m; j++)
    for (int64_t i = 0; i < n; i++) x[i] += a->inverse[i] * y[j] * V[j * n + i];
  return converged;
}

static int64_t GMRES(System *a, const double *b, const Options *o)
{
  int64_t n = a->n, k = 0;
  double *V = Vectors(a, RESTART + 3), *x = V + (RESTART + 1) * n, *r = V + (RESTART + 2) * n, target = 0;
  int converged = 0;
  while (!converged && k < o->maxits) {
    Mult(a, x, r);
    for (int64_t i = 0; i < n; i++) r[i] = b[i] - r[i];
    double norm = sqrt(Dot(a, r, r));
    if (!k) target = o->rtol * norm;
    if (!(norm - norm == 0)) break;
    converged = norm <= target || Cycle(a, x, r, V, target, &k, o->maxits);
  }
  free(V);
  return converged ? k : -1;
}

static void Jacobi(System *a)
{
  for (int64_t i = 0; i < a->n; i++) {
    double d = 0;
    for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++)
      if (a->col[k] == i) d = a->val[k];
    a->inverse[i] = d == 0 ? 1 : 1 / d;
  }
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Options o;
  PoiseMat A;
  System a = {0};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(table, &o));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, table, &o));
  POISE_TRY(PoiseMatLoad(ctx, o.A, &A));
  PoiseMatSizes(A, &a.n, NULL);
  PoiseErr e = PoiseMatCopyCSR(A, &a.ptr, &a.col, &a.val);
  PoiseMatDestroy(&A);
  POISE_TRY(e);
  a.term = Vectors(&a, 5);
  if (!a.term) POISE_FAIL(POISE_ERR_MEMORY, "vectors of %lld rows", (long long)a.n);
  double *ones = a.term + a.n, *b = a.term + 2 * a.n;
  a.inverse = a.term + 3 * a.n;
  a.scaled = a.term + 4 * a.n;
  Jacobi(&a);
  for (int64_t i = 0; i < a.n; i++) ones[i] = 1;
  for (a.order = 0; a.order < o.orders; a.order++) {
    Mult(&a, ones, b);
    int64_t its = o.method == 0 ? CG(&a, b, &o) : o.method == 1 ? BiCGSTAB(&a, b, &o) : GMRES(&a, b, &o);
    if (its < 0)
      e = PoisePrintf(ctx, "no ");
    else
      e = PoisePrintf(ctx, "%lld ", (long long)its);
  }
  free(a.ptr), free(a.col), free(a.val), free(a.term);
  return e ? e : PoisePrintf(ctx, "\n");
}

int main(int argc, char **argv)
{
  PoiseContext ctx;
  PoiseInit init = {NULL, NULL, 1, "Iteration counts of textbook solvers over five orders of summation", table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = Run(ctx, NULL);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

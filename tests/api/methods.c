/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The iterates of every method, with every preconditioner, side and norm that it offers, are those of its
  definition in dense arithmetic. The norms that it reports are those of their residuals.
*/
#include "api.h"

enum {
  N = 24,
  STEPS = 6,
  LONG = 13, /* of lgmres */
  MOST_S = 4,
  NONE = 1 << POISE_KSP_NORM_NONE,
  PRE = 1 << POISE_KSP_NORM_PRECONDITIONED
};
enum { TRUE = 1 << POISE_KSP_NORM_UNPRECONDITIONED, NATURAL = 1 << POISE_KSP_NORM_NATURAL };

typedef struct Method {
  const char *type;
  int kind;          /* of system */
  int left, right;   /* norms that are offered */
  const char *pc[6]; /* that fit */
} Method;

static const Method methods[] = {
    {"cg", SPD, NONE | PRE | TRUE | NATURAL, 0, {"none", "jacobi", "pbjacobi", "icc", "sor", "bjacobi"}},
    {"bcg", SPD, NONE | PRE | TRUE | NATURAL, 0, {"none", "jacobi", "pbjacobi", "icc", "sor", "bjacobi"}},
    {"prcg", SPD, NONE | PRE | TRUE | NATURAL, 0, {"none", "jacobi"}},
    {"bicgstab",
     CONVECTION,
     NONE | PRE,
     NONE | TRUE,
     {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"bicg", CONVECTION, NONE | PRE | TRUE, 0, {"none", "jacobi", "pbjacobi", "ilu", "lu"}},
    {"qmr", CONVECTION, NONE | PRE, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "icc"}},
    {"cgs", CONVECTION, NONE | PRE, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"tfqmr", CONVECTION, NONE | PRE, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"idr", CONVECTION, NONE | PRE, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"bicgstabl",
     CONVECTION,
     NONE | PRE,
     NONE | TRUE,
     {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"qmrcgs", CONVECTION, 0, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"gmres", CONVECTION, NONE | PRE, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"lgmres", CONVECTION, NONE | PRE, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"fgmres", CONVECTION, 0, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"fcg", SPD, NONE | PRE | TRUE | NATURAL, 0, {"none", "jacobi", "pbjacobi", "icc", "sor", "bjacobi"}},
    {"gcr", CONVECTION, 0, NONE | TRUE, {"none", "jacobi", "pbjacobi", "ilu", "sor", "bjacobi"}},
    {"minres", INDEFINITE, NONE | PRE | NATURAL, 0, {"none", "jacobi"}},
    {"minres", SPD, NONE | PRE | NATURAL, 0, {"pbjacobi", "icc", "sor"}},
    {"symmlq", INDEFINITE, NONE | PRE | NATURAL, 0, {"none", "jacobi"}},
    {"symmlq", SPD, NONE | PRE | NATURAL, 0, {"pbjacobi", "icc", "sor"}},
    {"chebyshev", SPD, NONE | PRE | TRUE, 0, {"none", "jacobi", "icc", "sor"}},
    {"richardson", CONVECTION, NONE | PRE | TRUE, 0, {"jacobi", "pbjacobi", "ilu", "sor"}},
    {"preonly", CONVECTION, NONE, NONE, {"none", "jacobi", "ilu", "lu"}},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* A x = b, the inverse of M as a matrix, and the first iterate. */
typedef struct Problem {
  Dense A, M;
  double b[N], x0[N], exact[N];
  double scale, emin, emax;
  int restart;
  int ell;     /* of bicgstabl */
  int augment; /* of lgmres */
  int s;       /* of idr, and its shadow space */
  bool smooths;
  double shadow[MOST_S][N];
  double bound; /* what a method reports that is not the norm of its residual: set by its definition */
} Problem;

static void Residual(const Problem *p, const double *x, double *r)
{
  DenseMult(&p->A, x, r);
  for (int i = 0; i < N; i++) r[i] = p->b[i] - r[i];
}

static double NormOf(const Problem *p, int norm, const double *x)
{
  double r[N], z[N];
  Residual(p, x, r);
  DenseMult(&p->M, r, z);
  return norm == POISE_KSP_NORM_PRECONDITIONED ? Norm(N, z)
         : norm == POISE_KSP_NORM_NATURAL      ? sqrt(Dot(N, r, z))
                                               : Norm(N, r);
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* Orthonormal vectors of the space of M A that M r begins. */
static void Krylov(const Problem *p, const double *r, int k, double v[][N])
{
  double t[N];
  for (int j = 0; j < k; j++) {
    if (j) DenseMult(&p->A, v[j - 1], t);
    DenseMult(&p->M, j ? t : r, v[j]);
    for (int again = 0; again < 2; again++)
      for (int i = 0; i < j; i++) {
        double h = Dot(N, v[i], v[j]);
        for (int l = 0; l < N; l++) v[j][l] -= h * v[i][l];
      }
    double length = Norm(N, v[j]);
    for (int l = 0; l < N; l++) v[j][l] /= length;
  }
}

/* The same of A' and M'. */
static void DualKrylov(const Problem *p, const double *r, int k, double v[][N])
{
  Problem dual = *p;
  dual.A = DenseTranspose(&p->A);
  dual.M = DenseTranspose(&p->M);
  Krylov(&dual, r, k, v);
  DenseFree(&dual.A);
  DenseFree(&dual.M);
}

/* x += of that space, so that (w_i, r) = 0: w = V (cg, symmlq), of the dual space (bicg), W A V with W = M
   (minres), M'M (left gmres), 1 (right). */
static void Project(const Problem *p, const char *type, bool right, int k, double *x)
{
  double v[STEPS + 1][N], av[STEPS + 1][N], w[STEPS + 1][N], r[N], t[N], y[STEPS + 1], rhs[STEPS + 1];
  Dense G = DenseNew(k, k);
  Residual(p, x, r);
  Krylov(p, r, k, v);
  DualKrylov(p, r, k, w);
  for (int j = 0; j < k; j++) {
    DenseMult(&p->A, v[j], av[j]);
    if (!strcmp(type, "bicg")) continue;
    memcpy(w[j], strstr(type, "cg") || !strcmp(type, "symmlq") ? v[j] : av[j], sizeof w[j]);
    if (!strcmp(type, "minres")) DenseMult(&p->M, av[j], w[j]);
    if (!strcmp(type, "gmres") && !right) {
      DenseMult(&p->M, av[j], t);
      DenseMultTranspose(&p->M, t, w[j]);
    }
  }
  for (int i = 0; i < k; i++) {
    rhs[i] = Dot(N, w[i], r);
    for (int j = 0; j < k; j++) G.a[i * k + j] = Dot(N, w[i], av[j]);
  }
  if (k) CHECK(DenseSolve(&G, rhs, y));
  for (int j = 0; j < k; j++)
    for (int l = 0; l < N; l++) x[l] += y[j] * v[j][l];
  DenseFree(&G);
}

static void BiCGSTAB(const Problem *p, bool right, int k, double *x)
{
  double r[N], hat[N], d[N], v[N], t[N], w[N], rho = 1, alpha = 1, omega = 1;
  const Dense *first = right ? &p->M : &p->A, *second = right ? &p->A : &p->M;
  Residual(p, x, w);
  if (right)
    memcpy(r, w, sizeof r);
  else
    DenseMult(&p->M, w, r);
  memcpy(hat, r, sizeof r);
  memset(d, 0, sizeof d);
  memset(v, 0, sizeof v);
  for (; k > 0; k--) {
    double now = Dot(N, hat, r), beta = now / rho * alpha / omega, u[N];
    for (int i = 0; i < N; i++) d[i] = r[i] + beta * (d[i] - omega * v[i]);
    DenseMult(first, d, w);
    DenseMult(second, w, v);
    alpha = now / Dot(N, hat, v);
    for (int i = 0; i < N; i++) r[i] -= alpha * v[i];
    DenseMult(first, r, w);
    DenseMult(second, w, t);
    omega = Dot(N, t, r) / Dot(N, t, t);
    for (int i = 0; i < N; i++) u[i] = alpha * d[i] + omega * r[i];
    if (right) DenseMult(&p->M, u, w);
    for (int i = 0; i < N; i++) x[i] += right ? w[i] : u[i], r[i] -= omega * t[i];
    rho = now;
  }
}

/* y = K x */
static void ApplyK(const Problem *p, bool right, const double *x, double *y)
{
  double t[N];
  DenseMult(right ? &p->M : &p->A, x, t);
  DenseMult(right ? &p->A : &p->M, t, y);
}

/* The residual of K u = r, and x += u or M u. */
static void FirstResidual(const Problem *p, bool right, const double *x, double *r)
{
  double t[N];
  Residual(p, x, t);
  if (right)
    memcpy(r, t, sizeof t);
  else
    DenseMult(&p->M, t, r);
}

static void Correct(const Problem *p, bool right, const double *u, double *x)
{
  double t[N];
  if (right) DenseMult(&p->M, u, t);
  for (int i = 0; i < N; i++) x[i] += right ? t[i] : u[i];
}

/* CGS as Sonneveld has it; smooth: TFQMR as Freund has it, of the same q and u. */
static void CGS(Problem *p, bool right, bool smooth, int k, double *x)
{
  double r[N], hat[N], u[N], d[N], q[N], v[N], t[N], w[N], f[N] = {0}, y[N] = {0};
  FirstResidual(p, right, x, r);
  memcpy(hat, r, sizeof r);
  memcpy(u, r, sizeof r);
  memcpy(d, r, sizeof r);
  double rho = Dot(N, r, hat), tau = Norm(N, r), theta = 0, eta = 0, alpha = 1, last = tau;
  p->bound = tau;
  for (int m = 0; m < 2 * k; m++) {
    if (m % 2 == 0) {
      ApplyK(p, right, d, v);
      alpha = rho / Dot(N, v, hat);
      for (int i = 0; i < N; i++) q[i] = u[i] - alpha * v[i], t[i] = u[i] + q[i];
      ApplyK(p, right, t, w);
      for (int i = 0; i < N; i++) r[i] -= alpha * w[i], y[i] += smooth ? 0 : alpha * t[i];
    }
    double now = Norm(N, r), c;
    for (int i = 0; i < N; i++) f[i] = (m % 2 ? q : u)[i] + theta * theta * eta / alpha * f[i];
    theta = (m % 2 ? now : sqrt(now * last)) / tau;
    c = 1 / sqrt(1 + theta * theta);
    tau *= theta * c;
    eta = c * c * alpha;
    for (int i = 0; i < N; i++) y[i] += smooth ? eta * f[i] : 0;
    p->bound = sqrt(m + 2.0) * tau;
    if (m % 2 == 0) continue;
    double rho1 = Dot(N, r, hat), beta = rho1 / rho;
    for (int i = 0; i < N; i++) u[i] = r[i] + beta * q[i], d[i] = u[i] + beta * (q[i] + beta * d[i]);
    rho = rho1, last = now;
  }
  Correct(p, right, y, x);
}

/* QMRCGSTAB as Chan et al. have it; bound: |r|. */
static void QMRCGSTAB(Problem *p, int its, double *x)
{
  double r[N], hat[N], d[N] = {0}, v[N] = {0}, q[N] = {0}, s[N], t[N], ph[N], sh[N];
  double rho = 1, alpha = 1, omega = 1, theta = 0, eta = 0;
  FirstResidual(p, true, x, r);
  memcpy(hat, r, sizeof r);
  double tau = p->bound = Norm(N, r);
  for (; its > 0; its--) {
    double now = Dot(N, hat, r), beta = now / rho * alpha / omega, c, half;
    rho = now;
    for (int i = 0; i < N; i++) q[i] = r[i] + beta * (q[i] - omega * v[i]);
    DenseMult(&p->M, q, ph);
    DenseMult(&p->A, ph, v);
    alpha = rho / Dot(N, hat, v);
    for (int i = 0; i < N; i++) s[i] = r[i] - alpha * v[i];
    half = Norm(N, s) / tau;
    c = 1 / sqrt(1 + half * half);
    tau *= half * c;
    for (int i = 0; i < N; i++)
      d[i] = ph[i] + theta * theta * eta / alpha * d[i], x[i] += c * c * alpha * d[i];
    eta = c * c * alpha;
    DenseMult(&p->M, s, sh);
    DenseMult(&p->A, sh, t);
    omega = Dot(N, s, t) / Dot(N, t, t);
    for (int i = 0; i < N; i++) r[i] = s[i] - omega * t[i];
    theta = (p->bound = Norm(N, r)) / tau;
    c = 1 / sqrt(1 + theta * theta);
    tau *= theta * c;
    for (int i = 0; i < N; i++) d[i] = sh[i] + half * half * eta / omega * d[i], x[i] += c * c * omega * d[i];
    eta = c * c * omega;
  }
}

/* QMR as Freund and Nachtigal define it: in a basis of K that is biorthogonal to one of K', of vectors of
   length 1, the coefficients make those of the residual least. */
static void QMR(const Problem *p, bool right, int k, double *x)
{
  double v[STEPS + 1][N], w[STEPS + 1][N], t[STEPS + 1][STEPS] = {{0}}, y[STEPS], rhs[STEPS], u[N] = {0},
                                                     r[N];
  Problem dual = *p;
  Dense G = DenseNew(k, k);
  dual.A = DenseTranspose(&p->A);
  dual.M = DenseTranspose(&p->M);
  Residual(p, x, r);
  FirstResidual(p, right, x, v[0]);
  memcpy(w[0], r, sizeof r);
  if (right) DenseMult(&dual.M, r, w[0]);
  double beta = Norm(N, v[0]);
  for (int l = 0; l < N; l++) v[0][l] /= beta;
  for (int j = 0; j < k; j++) {
    ApplyK(p, right, v[j], v[j + 1]);
    ApplyK(&dual, !right, w[j], w[j + 1]);
    for (int again = 0; again < 2; again++)
      for (int i = 0; i <= j; i++) {
        double size = Dot(N, v[i], w[i]), h = Dot(N, w[i], v[j + 1]) / size,
               g = Dot(N, v[i], w[j + 1]) / size;
        t[i][j] += h;
        for (int l = 0; l < N; l++) v[j + 1][l] -= h * v[i][l], w[j + 1][l] -= g * w[i][l];
      }
    double length = t[j + 1][j] = Norm(N, v[j + 1]), other = Norm(N, w[j + 1]);
    for (int l = 0; l < N; l++) v[j + 1][l] /= length, w[j + 1][l] /= other;
  }
  for (int i = 0; i < k; i++) {
    rhs[i] = beta * t[0][i];
    for (int j = 0; j < k; j++) {
      G.a[i * k + j] = 0;
      for (int l = 0; l <= k; l++) G.a[i * k + j] += t[l][i] * t[l][j];
    }
  }
  if (k) CHECK(DenseSolve(&G, rhs, y));
  for (int j = 0; j < k; j++)
    for (int l = 0; l < N; l++) u[l] += y[j] * v[j][l];
  Correct(p, right, u, x);
  DenseFree(&G);
  DenseFree(&dual.A);
  DenseFree(&dual.M);
}

/* LGMRES: in a cycle |r| is least for corrections in the space of Krylov's vectors and of the kept ones,
   oldest first. It is so for one column after the other, as the K w are made orthonormal. */
static void LGMRES(const Problem *p, bool right, int its, double *x)
{
  double kept[MOST_S][N], w[MOST_S][N], c[MOST_S][N], r[N], u[N] = {0};
  int count = 0, m = p->restart;
  for (int it = 0; it < its; it++) {
    int j = it % m, i = j - (m - count);
    if (j == 0) {
      FirstResidual(p, right, x, r);
      memset(u, 0, sizeof u);
    }
    memcpy(w[j], i >= 0 ? kept[i] : j ? c[j - 1] : r, sizeof w[j]);
    ApplyK(p, right, w[j], c[j]);
    for (int again = 0; again < 2; again++)
      for (int k = 0; k < j; k++) {
        double h = Dot(N, c[k], c[j]);
        for (int l = 0; l < N; l++) c[j][l] -= h * c[k][l], w[j][l] -= h * w[k][l];
      }
    double length = Norm(N, c[j]), step = Dot(N, c[j], r) / length;
    for (int l = 0; l < N; l++) {
      c[j][l] /= length, w[j][l] /= length;
      r[l] -= step * c[j][l], u[l] += step * w[j][l];
    }
    if (j < m - 1 && it < its - 1) continue;
    Correct(p, right, u, x);
    if (count == p->augment) memmove(kept, kept + 1, sizeof kept - sizeof *kept);
    if (count < p->augment) count++;
    if (count) memcpy(kept[count - 1], u, sizeof u);
  }
}

/* IDR(s) in its biorthogonal form, with one dot after the other, as van Gijzen and Sonneveld have it. */
static void IDR(const Problem *p, bool right, int its, double *x)
{
  double r[N], y[N] = {0}, g[MOST_S][N] = {{0}}, u[MOST_S][N] = {{0}}, m[MOST_S][MOST_S] = {{0}}, f[MOST_S];
  double v[N], t[N], rs[N], ys[N] = {0}, omega = 1;
  int s = p->s;
  FirstResidual(p, right, x, r);
  memcpy(rs, r, sizeof r);
  for (int k = 0; k < s; k++) m[k][k] = 1;
  for (int it = 0; it < its; it++) {
    int k = it % (s + 1);
    for (int i = 0; k == 0 && i < s; i++) f[i] = Dot(N, p->shadow[i], r);
    if (k < s) {
      double c[MOST_S];
      memcpy(v, r, sizeof v);
      for (int i = k; i < s; i++) {
        c[i] = f[i];
        for (int j = k; j < i; j++) c[i] -= m[i][j] * c[j];
        c[i] /= m[i][i];
        for (int l = 0; l < N; l++) v[l] -= c[i] * g[i][l];
      }
      for (int l = 0; l < N; l++) {
        double sum = omega * v[l];
        for (int i = k; i < s; i++) sum += c[i] * u[i][l];
        u[k][l] = sum;
      }
      ApplyK(p, right, u[k], g[k]);
      for (int i = 0; i < k; i++) {
        double alpha = Dot(N, p->shadow[i], g[k]) / m[i][i];
        for (int l = 0; l < N; l++) g[k][l] -= alpha * g[i][l], u[k][l] -= alpha * u[i][l];
      }
      for (int i = k; i < s; i++) m[i][k] = Dot(N, p->shadow[i], g[k]);
      double beta = f[k] / m[k][k];
      for (int l = 0; l < N; l++) r[l] -= beta * g[k][l], y[l] += beta * u[k][l];
      for (int i = k + 1; i < s; i++) f[i] -= beta * m[i][k];
    } else {
      ApplyK(p, right, r, t);
      double tr = Dot(N, t, r), angle = tr / (Norm(N, t) * Norm(N, r));
      omega = tr / Dot(N, t, t);
      if (fabs(angle) < 0.7) omega *= 0.7 / fabs(angle);
      for (int l = 0; l < N; l++) y[l] += omega * r[l], r[l] -= omega * t[l];
    }
    double d[N];
    for (int l = 0; l < N; l++) d[l] = rs[l] - r[l];
    double gamma = p->smooths ? Dot(N, rs, d) / Dot(N, d, d) : 1;
    for (int l = 0; l < N; l++) rs[l] -= gamma * d[l], ys[l] -= gamma * (ys[l] - y[l]);
  }
  Correct(p, right, ys, x);
}

/* BiCGstab(l) as Sleijpen and Fokkema have it, with modified Gram-Schmidt for its polynomials. */
static void BiCGstabL(const Problem *p, bool right, int its, double *x)
{
  double r[MOST_S + 1][N] = {{0}}, u[MOST_S + 1][N] = {{0}}, hat[N], y[N] = {0}, rho = 1, alpha = 0,
                    omega = 1;
  int l = p->ell;
  FirstResidual(p, right, x, r[0]);
  memcpy(hat, r[0], sizeof hat);
  for (int it = 0; it < its; it++) {
    int j = it % l;
    if (j == 0) rho *= -omega;
    double now = Dot(N, r[j], hat), beta = alpha * now / rho;
    rho = now;
    for (int i = 0; i <= j; i++)
      for (int k = 0; k < N; k++) u[i][k] = r[i][k] - beta * u[i][k];
    ApplyK(p, right, u[j], u[j + 1]);
    alpha = rho / Dot(N, u[j + 1], hat);
    for (int i = 0; i <= j; i++)
      for (int k = 0; k < N; k++) r[i][k] -= alpha * u[i + 1][k];
    ApplyK(p, right, r[j], r[j + 1]);
    for (int k = 0; k < N; k++) y[k] += alpha * u[0][k];
    if (j < l - 1) continue;
    double q[MOST_S + 1][N], tau[MOST_S + 1][MOST_S + 1] = {{0}}, g[MOST_S + 1], gamma[MOST_S + 1];
    for (int b = 1; b <= l; b++) {
      memcpy(q[b], r[b], sizeof q[b]);
      for (int i = 1; i < b; i++) {
        tau[i][b] = Dot(N, q[i], q[b]) / Dot(N, q[i], q[i]);
        for (int k = 0; k < N; k++) q[b][k] -= tau[i][b] * q[i][k];
      }
      g[b] = Dot(N, r[0], q[b]) / Dot(N, q[b], q[b]);
    }
    for (int b = l; b > 0; b--) {
      gamma[b] = g[b];
      for (int i = b + 1; i <= l; i++) gamma[b] -= tau[b][i] * gamma[i];
    }
    for (int b = 1; b <= l; b++)
      for (int k = 0; k < N; k++) y[k] += gamma[b] * r[b - 1][k];
    for (int b = 1; b <= l; b++)
      for (int k = 0; k < N; k++) r[0][k] -= gamma[b] * r[b][k], u[0][k] -= gamma[b] * u[b][k];
    omega = gamma[l];
  }
  Correct(p, right, y, x);
}

/* The error is T_k((theta - M A) / delta) / T_k(theta / delta) times the first one. */
static void Chebyshev(const Problem *p, int k, double *x)
{
  double theta = (p->emax + p->emin) / 2, delta = (p->emax - p->emin) / 2, e[2][N], t[N], z[N], c[2] = {0, 1};
  for (int i = 0; i < N; i++) e[0][i] = 0, e[1][i] = x[i] - p->exact[i];

  for (int j = 1; j <= k; j++) {
    double f = j == 1 ? 1 : 2, next = f * theta / delta * c[1] - (j == 1 ? 0 : c[0]);
    DenseMult(&p->A, e[1], t);
    DenseMult(&p->M, t, z);
    for (int i = 0; i < N; i++) {
      double v = f * (theta * e[1][i] - z[i]) / delta - (j == 1 ? 0 : e[0][i]);
      e[0][i] = e[1][i];
      e[1][i] = v;
    }
    c[0] = c[1];
    c[1] = next;
  }
  for (int i = 0; i < N; i++) x[i] = p->exact[i] + e[1][i] / c[1];
}

static void Iterate(Problem *p, const char *type, bool right, int k, double *x)
{
  double r[N], z[N];
  memcpy(x, p->x0, sizeof p->x0);
  if (!strcmp(type, "bicgstab")) {
    BiCGSTAB(p, right, k, x);
  } else if (!strcmp(type, "cgs") || !strcmp(type, "tfqmr")) {
    CGS(p, right, *type == 't', k, x);
  } else if (!strcmp(type, "qmrcgs")) {
    QMRCGSTAB(p, k, x);
  } else if (!strcmp(type, "qmr")) {
    QMR(p, right, k, x);
  } else if (!strcmp(type, "lgmres")) {
    LGMRES(p, right, k, x);
  } else if (!strcmp(type, "bicgstabl")) {
    BiCGstabL(p, right, k, x);
  } else if (!strcmp(type, "idr")) {
    IDR(p, right, k, x);
  } else if (!strcmp(type, "chebyshev")) {
    Chebyshev(p, k, x);
  } else if (!strcmp(type, "richardson") || !strcmp(type, "preonly")) {
    for (; k > 0; k--) {
      Residual(p, x, r);
      DenseMult(&p->M, r, z);
      for (int i = 0; i < N; i++) x[i] += (*type == 'r' ? p->scale : 1) * z[i];
    }
  } else if (strstr(type, "gmres") || !strcmp(type, "gcr")) {
    for (; k > p->restart; k -= p->restart) Project(p, type, right, p->restart, x);
    Project(p, type, right, k, x);
  } else {
    Project(p, type, right, k, x);
  }
}

/* ---- the library's --------------------------------------------------------------------------- */

/* M^-1, by its columns. */
static void Columns(PoiseKSP ksp, PoiseVec b, PoiseVec x, Dense *M)
{
  PoisePC pc;
  double e[N] = {0}, z[N];
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  for (int j = 0; j < N; j++) {
    e[j] = 1;
    VecFill(b, e);
    e[j] = 0;
    CHECK_OK(PoisePCApply(pc, b, x));
    VecAll(x, z);
    for (int i = 0; i < N; i++) DenseSet(M, i, j, z[i]);
  }
}

static void Steps(PoiseContext ctx, PoiseKSP ksp, Problem *p, const char *type, bool right, int norm,
                  PoiseVec b, PoiseVec x)
{
  double want[N], found, ref = 0;
  bool guess = Norm(N, p->x0) > 0;
  int last = !strcmp(type, "preonly") ? 1 : !strcmp(type, "lgmres") ? LONG : STEPS;
  VecFill(b, p->b);
  for (int k = 0; k <= last; k++) {
    PoiseInt count;
    const double *history;
    Iterate(p, type, right, k, want);
    CHECK_OK(PoiseKSPSetTolerances(ksp, 0, 0, 1e30, k));
    if (guess)
      VecFill(x, p->x0);
    else
      CHECK_OK(PoiseVecSet(x, NAN));
    if (!CHECK_OK(PoiseKSPSolve(ksp, b, x))) return;
    if (k == 0 && !strcmp(type, "preonly")) continue;
    CHECK_INT(PoiseKSPIterations(ksp), k);
    CHECK_INT(PoiseKSPConvergedReason(ksp),
              norm == POISE_KSP_NORM_NONE ? POISE_CONVERGED_ITS : POISE_DIVERGED_ITS);
    VecIs(x, want, 1e-8);
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &found));
    CHECK_NEAR(found, NormOf(p, POISE_KSP_NORM_UNPRECONDITIONED, want), 1e-7);
    if (norm == POISE_KSP_NORM_NONE) continue;
    CHECK_INT(PoiseKSPNormUsed(ksp), norm);
    CHECK_OK(PoiseKSPHistory(ksp, &count, &history));
    if (!CHECK_INT(count, k + 1)) continue;
    double told = NormOf(p, norm, want);
    if ((!strcmp(type, "minres") || !strcmp(type, "symmlq")) &&
        norm == POISE_KSP_NORM_PRECONDITIONED) /* as PETSc's was: decreases as the natural one */
      told = NormOf(p, norm, p->x0) * NormOf(p, POISE_KSP_NORM_NATURAL, want) /
             NormOf(p, POISE_KSP_NORM_NATURAL, p->x0);
    if (!strcmp(type, "tfqmr") || !strcmp(type, "qmrcgs")) told = p->bound;
    if (!k) ref = told;
    CHECK_NEAR(history[k], told, 1e-7 * ref);
    CHECK_NEAR(PoiseKSPResidualNorm(ksp), history[k], 0);
  }
  (void)ctx;
}

static void Problems(PoiseContext ctx, const Method *m, const char *type_of_pc, int seed)
{
  static const char *const blocks[] = {"csr", "bcsr", "csri"};
  Problem p = {.A = System(m->kind, N), .M = DenseNew(N, N), .scale = 0.6, .emin = 0.3, .emax = 1.9};
  PoiseMat A = MatOf(ctx, &p.A, 2, seed % 2);
  PoiseVec b, x;
  PoisePC pc;
  CHECK_OK(PoiseMatSetType(A, blocks[seed % 3]));
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  for (int i = 0; i < N; i++) p.exact[i] = Random(110, (uint64_t)i);
  DenseMult(&p.A, p.exact, p.b);
  for (int side = 0; side < 2; side++)
    for (int norm = POISE_KSP_NORM_NONE; norm <= POISE_KSP_NORM_NATURAL; norm++) {
      bool guess = (side + norm + seed) % 2 && strcmp(m->type, "preonly");
      PoiseKSP ksp = NULL;
      int replay = (norm + seed) % 3;
      ApiCase("%s, %s, side %d, norm %d, guess %d, replay %d", m->type, type_of_pc, side, norm, guess,
              replay);
      for (int i = 0; i < N; i++) p.x0[i] = guess ? Random(111, (uint64_t)i) : 0;
      p.restart = norm % 2 || !strcmp(m->type, "lgmres") ? 4 : 30;
      p.augment = (seed + norm) % 3 + 1;
      if (strcmp(type_of_pc, "jacobi")) p.emin = 0.2, p.emax = 3;
      CHECK_OK(PoiseOptionsSet(ctx, "ksp_replay", replay == 0 ? "0" : replay == 1 ? "1" : "8"));
      p.s = seed % 2 ? 2 : 4;
      p.smooths = norm % 2;
      for (int i = 0; i < p.s; i++) {
        CHECK_OK(PoiseVecSetRandom(b, (uint64_t)i));
        VecAll(b, p.shadow[i]);
      }
      CHECK_OK(PoiseOptionsSet(ctx, "ksp_idr_s", p.s == 2 ? "2" : "4"));
      p.ell = 1 + (seed + norm) % 4;
      CHECK_OK(PoiseOptionsSet(ctx, "ksp_bcgsl_ell", (const char *[]){"1", "2", "3", "4"}[p.ell - 1]));
      CHECK_OK(PoiseOptionsSet(ctx, "ksp_gcr_restart", "4"));
      CHECK_OK(PoiseOptionsSet(ctx, "ksp_fcg_mmax", p.ell % 2 ? "2" : "30"));
      CHECK_OK(PoiseOptionsSet(ctx, "ksp_idr_smoothing", p.smooths ? "yes" : "no"));
      CHECK_OK(PoiseKSPCreate(ctx, &ksp));
      CHECK_OK(PoiseKSPSetType(ksp, m->type));
      CHECK_OK(PoiseKSPSetFromOptions(ksp));
      CHECK_OK(PoiseKSPGetPC(ksp, &pc));
      CHECK_OK(PoisePCSetType(pc, type_of_pc));
      CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
      CHECK_OK(PoiseKSPSetNormType(ksp, (PoiseNormType)norm));
      CHECK_OK(PoiseKSPSetPCSide(ksp, side ? POISE_PC_RIGHT : POISE_PC_LEFT));
      CHECK_OK(PoiseKSPSetInitialGuessNonzero(ksp, guess));
      CHECK_OK(PoiseKSPKeepHistory(ksp, 1));
      CHECK_OK(PoiseKSPGMRESSetRestart(ksp, p.restart));
      CHECK_OK(PoiseKSPLGMRESSetAugDim(ksp, p.augment));
      CHECK_OK(PoiseKSPRichardsonSetScale(ksp, p.scale));
      CHECK_OK(PoiseKSPChebyshevSetEigenvalues(ksp, p.emax, p.emin));
      if ((side ? m->right : m->left) >> norm & 1) {
        CHECK_OK(PoiseKSPSetUp(ksp));
        Columns(ksp, b, x, &p.M);
        Steps(ctx, ksp, &p, m->type, side, norm, b, x);
      } else {
        CHECK_ERR(PoiseKSPSetUp(ksp), POISE_ERR_UNSUPPORTED, m->type);
      }
      CHECK_OK(PoiseKSPDestroy(&ksp));
    }
  CHECK_OK(PoiseVecDestroy(&b));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&p.A);
  DenseFree(&p.M);
}

static void TestIterates(PoiseContext ctx)
{
  for (int k = 0; k < METHODS; k++)
    for (int c = 0; c < 6 && methods[k].pc[c]; c++) Problems(ctx, &methods[k], methods[k].pc[c], k + c);
}

/* Without a word, each method takes its own side and norm. */
static void TestDefaults(PoiseContext ctx)
{
  Dense D = System(SPD, N);
  PoiseMat A = MatOf(ctx, &D, 1, 0);
  for (int k = 0; k < METHODS; k++) {
    PoiseKSP ksp = NULL;
    ApiCase("%s", methods[k].type);
    CHECK_OK(PoiseKSPCreate(ctx, &ksp));
    CHECK(!strcmp(PoiseKSPType(ksp), "gmres"));
    CHECK_OK(PoiseKSPSetType(ksp, methods[k].type));
    CHECK(!strcmp(PoiseKSPType(ksp), methods[k].type));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSetUp(ksp));
    CHECK_INT(PoiseKSPNormUsed(ksp), methods[k].left & PRE     ? POISE_KSP_NORM_PRECONDITIONED
                                     : methods[k].right & TRUE ? POISE_KSP_NORM_UNPRECONDITIONED
                                                               : POISE_KSP_NORM_NONE);
    CHECK_OK(PoiseKSPSetNormType(ksp, POISE_KSP_NORM_UNPRECONDITIONED));
    if ((methods[k].left | methods[k].right) & TRUE) /* the side follows the norm */
      CHECK_OK(PoiseKSPSetUp(ksp));
    else
      CHECK_ERR(PoiseKSPSetUp(ksp), POISE_ERR_UNSUPPORTED, methods[k].type);
    CHECK_OK(PoiseKSPDestroy(&ksp));
  }
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

const Test method_tests[] = {{"iterates", TestIterates}, {"defaults", TestDefaults}, {NULL, NULL}};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How much the iteration count of a method depends on rounding: textbook CG, BiCGSTAB and GMRES(30), serial
  and independent of the library's solvers, run with several orders of summation in every dot product and row
  sum. Prints one line:

    spread -A matrix.mtx -method cg|bicgstab|gmres [-rtol 1e-8] [-maxits 2000] [-orders 5]   ->   counts,
    "no": not converged

  With -factors k every order solves with b times 1, 3, 5, ...: k counts of the first order, then those of the
  second. With -norms k there is another line: for iterations 0 to k, how much the norms of the orders differ,
  (largest - smallest) / largest.

  b = A * ones unless -b names a file, x0 = 0. -norm unpreconditioned, the default: of b - A x, with BiCGSTAB
  and GMRES preconditioned from the right, as solve_table.py asks of the library; preconditioned: of M^-1 (b -
  A x), these two preconditioned from the left, as petsc_table.py does. M is the library's, by its options
  (-pc_type ...).
*/
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

/* TURNS: four sums in turn, as the library's products on the host sum rows. Further orders: blocks of lanes,
   of many sizes. */
enum { FORWARD, BACKWARD, STRIDED, BLOCKED, PAIRWISE, TURNS };
enum { MOST_NORMS = 1000 };

typedef struct Options {
  char A[POISE_OPTION_LENGTH], b[POISE_OPTION_LENGTH];
  int method, left;
  double rtol;
  PoiseInt maxits, orders, factors, norms;
} Options;

static const PoiseOption table[] = {
    {"A", POISE_OPTION_STRING, offsetof(Options, A), "", 0, 0, NULL, "Matrix Market file"},
    {"b", POISE_OPTION_STRING, offsetof(Options, b), "", 0, 0, NULL,
     "Matrix Market file of b; default: b = A times ones"},
    {"norm", POISE_OPTION_CHOICE, offsetof(Options, left), "unpreconditioned", 0, 0,
     "unpreconditioned|preconditioned", "norm of the residual, and side of the preconditioner"},
    {"method", POISE_OPTION_CHOICE, offsetof(Options, method), "cg", 0, 0, "cg|bicgstab|gmres", "method"},
    {"rtol", POISE_OPTION_REAL, offsetof(Options, rtol), "1e-8", 0, 1, NULL, "relative tolerance"},
    {"maxits", POISE_OPTION_INT, offsetof(Options, maxits), "2000", 1, 1e9, NULL, "most iterations"},
    {"orders", POISE_OPTION_INT, offsetof(Options, orders), "5", 1, 1000, NULL, "orders of summation"},
    {"factors", POISE_OPTION_INT, offsetof(Options, factors), "1", 1, 1e6, NULL,
     "solve with b times 1, 3, 5, ..., so many times"},
    {"norms", POISE_OPTION_INT, offsetof(Options, norms), "-1", -1, MOST_NORMS - 1, NULL,
     "tell how much norms differ, up to this iteration"},
    {0},
};

typedef struct System {
  int64_t n, *ptr, *col;
  double *val, *work, *term; /* term: products to be summed */
  PoisePC pc;
  PoiseVec in, out; /* of the preconditioner */
  PoiseErr failed;  /* its first error */
  int order, left;
  double factor;                              /* of b */
  double least[MOST_NORMS], most[MOST_NORMS]; /* norm of each iteration over the orders so far */
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
  case TURNS: {
    double part[4] = {0};
    for (int64_t i = 0; i < n; i++) part[i % 4] += t[i];
    return (part[0] + part[2]) + (part[1] + part[3]);
  }
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

static PoiseErr Apply(System *a, const double *x, double *z)
{
  double *in;
  const double *out;
  POISE_TRY(PoiseVecGetWrite(a->in, &in));
  memcpy(in, x, (size_t)a->n * sizeof *in);
  POISE_TRY(PoiseVecRestore(a->in, &in));
  POISE_TRY(PoisePCApply(a->pc, a->in, a->out));
  POISE_TRY(PoiseVecGetRead(a->out, &out));
  memcpy(z, out, (size_t)a->n * sizeof *z);
  return PoiseVecRestore(a->out, &out);
}

/* z = M^-1 x; z may be x. */
static void Precondition(System *a, const double *x, double *z)
{
  if (!a->failed) a->failed = Apply(a, x, z);
}

/* y = M^-1 A x (left) or A M^-1 x */
static void Operator(System *a, const double *x, double *y)
{
  if (a->left) {
    Mult(a, x, y);
    Precondition(a, y, y);
  } else {
    Precondition(a, x, a->work);
    Mult(a, a->work, y);
  }
}

static double Note(System *a, int64_t k, double norm)
{
  if (k < MOST_NORMS) {
    a->least[k] = fmin(a->least[k], norm / a->factor);
    a->most[k] = fmax(a->most[k], norm / a->factor);
  }
  return norm;
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
    Precondition(a, r, z);
    double next = Dot(a, r, z), norm = Note(a, k, sqrt(a->left ? Dot(a, z, z) : Dot(a, r, r)));
    if (!k) norm0 = norm;
    if (!(norm - norm == 0) || (k && (next < 0) != (rz < 0))) break;
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
  if (a->left) Precondition(a, r, r);
  for (int64_t i = 0; i < n; i++) hat[i] = p[i] = r[i];
  double rho = Dot(a, r, r), norm0 = sqrt(rho);
  for (int64_t k = 0; k <= o->maxits; k++) {
    double norm = Note(a, k, sqrt(Dot(a, r, r)));
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

/* One cycle from the residual r at iteration *k; x += V y (left) or M^-1 V y. Returns whether it
   converged. */
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
    converged = Note(a, *k, fabs(g[m])) <= target;
    if (!(g[m] - g[m] == 0)) return 0;
  }
  for (int j = m - 1; j >= 0; j--) {
    y[j] = g[j];
    for (int l = j + 1; l < m; l++) y[j] -= H[j][l] * y[l];
    y[j] /= H[j][j];
  }
  double *z = V + m * n;
  for (int64_t i = 0; i < n; i++) {
    z[i] = 0;
    for (int j = 0; j < m; j++) z[i] += y[j] * V[j * n + i];
  }
  if (!a->left) Precondition(a, z, z);
  for (int64_t i = 0; i < n; i++) x[i] += z[i];
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
    if (a->left) Precondition(a, r, r);
    double norm = Note(a, k, sqrt(Dot(a, r, r)));
    if (!k) target = o->rtol * norm;
    if (!(norm - norm == 0)) break;
    converged = norm <= target || Cycle(a, x, r, V, target, &k, o->maxits);
  }
  free(V);
  return converged ? k : -1;
}

static PoiseErr LoadB(PoiseContext ctx, const char *path, System *a, double *b)
{
  PoiseVec v;
  const double *from;
  POISE_TRY(PoiseVecLoad(ctx, a->n, a->n, path, &v));
  PoiseErr e = PoiseVecGetRead(v, &from);
  if (!e) memcpy(b, from, (size_t)a->n * sizeof *b);
  if (!e) e = PoiseVecRestore(v, &from);
  PoiseVecDestroy(&v);
  return e;
}

static PoiseErr Count(PoiseContext ctx, const Options *o, System *a, double *b)
{
  int64_t its = o->method == 0 ? CG(a, b, o) : o->method == 1 ? BiCGSTAB(a, b, o) : GMRES(a, b, o);
  POISE_TRY(a->failed);
  return its < 0 ? PoisePrintf(ctx, "no ") : PoisePrintf(ctx, "%lld ", (long long)its);
}

static PoiseErr Counts(PoiseContext ctx, const Options *o, System *a, double *ones, double *b, double *work_b)
{
  for (int64_t i = 0; i < a->n; i++) ones[i] = 1;
  for (int k = 0; k < MOST_NORMS; k++) a->least[k] = INFINITY;
  if (o->b[0]) POISE_TRY(LoadB(ctx, o->b, a, b));
  for (a->order = 0; a->order < o->orders; a->order++) {
    if (!o->b[0]) Mult(a, ones, b);
    for (PoiseInt k = 0; k < o->factors; k++) {
      a->factor = 2. * (double)k + 1;
      for (int64_t i = 0; i < a->n; i++) work_b[i] = a->factor * b[i];
      POISE_TRY(Count(ctx, o, a, work_b));
    }
  }
  for (PoiseInt k = 0; k <= o->norms && a->least[k] < INFINITY; k++)
    POISE_TRY(PoisePrintf(ctx, "%s%.3e", k ? " " : "\n", a->most[k] > 0 ? 1 - a->least[k] / a->most[k] : 0));
  return PoisePrintf(ctx, "\n");
}

static PoiseErr Prepare(PoiseContext ctx, PoiseMat A, System *a)
{
  PoiseMatSizes(A, &a->n, NULL);
  POISE_TRY(PoiseMatCreateVecs(A, &a->in, &a->out));
  POISE_TRY(PoisePCCreate(ctx, &a->pc));
  POISE_TRY(PoisePCSetOperator(a->pc, A));
  POISE_TRY(PoisePCSetFromOptions(a->pc));
  POISE_TRY(PoisePCSetUp(a->pc));
  return PoiseMatCopyCSR(A, &a->ptr, &a->col, &a->val);
}

static PoiseErr Run(PoiseContext ctx, const Options *o, System *a)
{
  PoiseMat A;
  POISE_TRY(PoiseMatLoad(ctx, o->A, &A));
  a->left = o->left;
  PoiseErr e = Prepare(ctx, A, a);
  double *w = e ? NULL : Vectors(a, 5);
  a->term = w;
  if (w) {
    a->work = w + a->n;
    e = Counts(ctx, o, a, w + 2 * a->n, w + 3 * a->n, w + 4 * a->n);
  }
  free(a->ptr), free(a->col), free(a->val), free(w);
  PoisePCDestroy(&a->pc);
  PoiseVecDestroy(&a->in);
  PoiseVecDestroy(&a->out);
  PoiseMatDestroy(&A);
  if (!e && !w) POISE_FAIL(POISE_ERR_MEMORY, "vectors of %lld rows", (long long)a->n);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  System a = {0};
  PoiseContext ctx;
  const PoiseInit init = {
      .serial = 1, .help = "Iteration counts of textbook solvers over orders of summation", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = Run(ctx, &o, &a);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods richardson, preonly, chebyshev, minres, fgmres; the monitor of the true residual; kept
   preconditioners. */
#include <math.h>

#include "ksp/ksp.h"
#include "ksp/prcg_phases.h"
#include "problem.h"

enum { SIDE = 6, N = SIDE * SIDE, STEPS = 10 };

typedef enum { SPD, INDEFINITE, CONVECTION, NEGATIVE, COMPLEX, NKINDS } Kind;

/* Entry (i, j) of a sample matrix: a 5-point grid with a diagonal that varies, shifted, or with a first
   derivative. */
static double SampleEntry(Kind kind, int i, int j)
{
  int di = abs(i / SIDE - j / SIDE), dj = abs(i % SIDE - j % SIDE);
  double skew = kind == CONVECTION ? 0.4 * (j > i ? 1 : -1) : 0,
         diagonal = 4.5 + 1.5 * TestRandom(7, (uint64_t)i);
  if (kind == COMPLEX) /* 2 x 2 blocks with eigenvalues 2, 2.5, 3 and 3.5, +- i */
    return i == j ? 2 + 0.5 * (i / 2 % 4) : i / 2 == j / 2 ? (j > i ? 1 : -1) : 0;
  if (i == j) return kind == INDEFINITE ? diagonal - 4 : kind == NEGATIVE ? -diagonal : diagonal;
  if (di + dj != 1) return 0;
  return kind == NEGATIVE ? 0.5 : -1 + skew;
}

static double RightHandSide(int i)
{
  return TestRandom(3, (uint64_t)i);
}

/* A (+)= scale times a sample matrix; rank 0 gives all entries, most of them other ranks'. */
static PoiseErr Fill(PoiseMat A, Kind kind, double scale)
{
  PoiseErr e = POISE_OK;
  for (PoiseInt i = 0; !e && PoiseRank(PoiseMatContext(A)) == 0 && i < N; i++)
    for (PoiseInt j = 0; !e && j < N; j++) {
      double v = scale * SampleEntry(kind, (int)i, (int)j);
      if (v != 0) e = PoiseMatAddBlock(A, 1, &i, 1, &j, &v);
    }
  TRY(PoiseAgree(PoiseMatContext(A), e));
  return PoiseMatAssemble(A);
}

static PoiseErr Build(PoiseContext ctx, Kind kind, Kind pc, const char *options, Problem *p)
{
  double b[N];
  for (int i = 0; i < N; i++) b[i] = RightHandSide(i);
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &p->A));
  TRY(Fill(p->A, kind, 1));
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &p->P));
  TRY(Fill(p->P, pc, 1));
  TRY(PoiseMatCreateVecs(p->A, &p->x, &p->b));
  TRY(PoiseAgree(ctx, SampleToVec(b, p->b)));
  TRY(PoiseAgree(ctx, PoiseOptionsSetString(ctx, options)));
  TRY(PoiseKSPCreate(ctx, &p->ksp));
  TRY(PoiseKSPSetOperators(p->ksp, p->A, p->P));
  TRY(PoiseKSPKeepHistory(p->ksp, 1));
  return PoiseKSPSetFromOptions(p->ksp);
}

/* A solver of A x = b, preconditioned by P of another kind, with options as on a command line; all is undone
   by Close. */
static PoiseErr Open(PoiseContext ctx, Kind kind, Kind pc, const char *options, Problem *p)
{
  *p = (Problem){0};
  PoiseErr e = Build(ctx, kind, pc, options, p);
  if (e) ProblemClose(p);
  return e;
}

/* ---- references: dense, from the text book --------------------------------------------------- */

typedef struct Dense {
  double a[N][N], m[N], b[N]; /* M^-1 = diag(m) */
} Dense;

static void DenseFill(Dense *d, Kind kind, Kind pc, bool jacobi)
{
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) d->a[i][j] = SampleEntry(kind, i, j);
    d->m[i] = jacobi ? 1 / SampleEntry(pc, i, i) : 1;
    d->b[i] = RightHandSide(i);
  }
}

static double Norm(const double *v)
{
  double s = 0;
  for (int i = 0; i < N; i++) s += v[i] * v[i];
  return sqrt(s);
}

static double Dot(const double *u, const double *v)
{
  double s = 0;
  for (int i = 0; i < N; i++) s += u[i] * v[i];
  return s;
}

/* z = M^-1 (b - A x), and the norm of that or of b - A x. */
static double DenseResidual(const Dense *d, const double *x, bool preconditioned, double *z)
{
  double r[N];
  for (int i = 0; i < N; i++) {
    r[i] = d->b[i] - Dot(d->a[i], x);
    z[i] = d->m[i] * r[i];
  }
  return Norm(preconditioned ? z : r);
}

/* x_k+1 = omega (x_k - x_k-1 + scale z_k) + x_k-1, omega = 2 mu T_k(mu) / T_k+1(mu); richardson: omega = 1,
   scale given. */
static void PolynomialMethod(const Dense *d, bool chebyshev, double scale, double emin, double emax,
                             bool preconditioned, double *norms)
{
  double x[N] = {0}, old[N] = {0}, z[N], mu = (emax + emin) / (emax - emin), t0 = 1, t1 = mu;
  for (int k = 0; k <= STEPS; k++) {
    double omega = 1;
    norms[k] = DenseResidual(d, x, preconditioned, z);
    if (chebyshev && k > 0) {
      double t2 = 2 * mu * t1 - t0;
      omega = 2 * mu * t1 / t2;
      t0 = t1, t1 = t2;
    }
    for (int i = 0; i < N; i++) {
      double next = omega * (x[i] - old[i] + scale * z[i]) + old[i];
      old[i] = x[i];
      x[i] = next;
    }
  }
}

/* w -= Q Q' w, twice; then w / |w|. */
static void Orthonormalise(double q[][N], int k, double *w)
{
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < k; j++) {
      double s = Dot(q[j], w);
      for (int i = 0; i < N; i++) w[i] -= s * q[j][i];
    }
  double norm = Norm(w);
  for (int i = 0; i < N; i++) w[i] /= norm;
}

/* What the changing preconditioner of the tests multiplies M^-1 by in its k-th application. */
static double DenseFactor(int k)
{
  return 1 + 0.5 * (k % 3);
}

/* |r_k| minimal over c - span(w_0, ..., w_k-1), w_j = K_j v_j, v the orthonormal basis that w continues; anew
   every `restart` steps. symmetric: K = M^-1/2 A M^-1/2, c = M^-1/2 b (MINRES); else K_j = A M_j^-1 with a
   changing M (FGMRES), c = b. */
static void MinimalResidual(const Dense *d, bool symmetric, bool changing, int restart, double *norms)
{
  static _Thread_local double v[STEPS + 1][N], q[STEPS][N];
  double r[N], u[N];
  for (int i = 0; i < N; i++) r[i] = symmetric ? sqrt(d->m[i]) * d->b[i] : d->b[i];
  for (int k = 0, j = 0; k <= STEPS; k++, j++) {
    norms[k] = Norm(r);
    if (j % restart == 0) j = 0;
    if (j == 0) memcpy(v[0], r, sizeof r), Orthonormalise(v, 0, v[0]);
    for (int i = 0; i < N; i++)
      u[i] = v[j][i] * (symmetric ? sqrt(d->m[i]) : d->m[i] * (changing ? DenseFactor(k) : 1));
    for (int i = 0; i < N; i++) q[j % STEPS][i] = (symmetric ? sqrt(d->m[i]) : 1) * Dot(d->a[i], u);
    if (k == STEPS) return;
    memcpy(v[j + 1], q[j], sizeof r);
    Orthonormalise(v, j + 1, v[j + 1]);
    Orthonormalise(q, j, q[j]);
    double s = Dot(q[j], r);
    for (int i = 0; i < N; i++) r[i] -= s * q[j][i];
  }
}

/* Extreme eigenvalues of M^-1/2 A M^-1/2 by Jacobi's rotations. */
static void DenseExtremes(const Dense *d, double *least, double *largest)
{
  static _Thread_local double s[N][N];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) s[i][j] = sqrt(d->m[i] * d->m[j]) * d->a[i][j];
  for (int sweep = 0; sweep < 12; sweep++)
    for (int p = 0; p < N; p++)
      for (int q = p + 1; q < N; q++) {
        double angle = 0.5 * atan2(2 * s[p][q], s[q][q] - s[p][p]), c = cos(angle), t = sin(angle);
        for (int k = 0; k < N; k++) {
          double a = s[k][p], b = s[k][q];
          s[k][p] = c * a - t * b, s[k][q] = t * a + c * b;
        }
        for (int k = 0; k < N; k++) {
          double a = s[p][k], b = s[q][k];
          s[p][k] = c * a - t * b, s[q][k] = t * a + c * b;
        }
      }
  *least = INFINITY, *largest = -INFINITY;
  for (int i = 0; i < N; i++) *least = fmin(*least, s[i][i]), *largest = fmax(*largest, s[i][i]);
}

/* ---- histories ------------------------------------------------------------------------------- */

/* STEPS iterations have these norms, to 6 digits; x has the last one where it is |b - A x|. */
static void CheckHistory(Problem *p, const double *norms, const char *options)
{
  PoiseInt count;
  const double *h;
  int bad = 0;
  if (!CHECK_OK(PoiseKSPSetTolerances(p->ksp, 1e-300, 0, 1e300, STEPS))) return;
  if (!CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x)) || !CHECK_OK(PoiseKSPHistory(p->ksp, &count, &h))) return;
  CHECK_INT(PoiseKSPConvergedReason(p->ksp), POISE_DIVERGED_ITS);
  CHECK_INT(PoiseKSPIterations(p->ksp), STEPS);
  if (!CHECK_INT(count, STEPS + 1)) return;
  for (int k = 0; k <= STEPS; k++) bad += !CHECK_NEAR(h[k], norms[k], 1e-6 * norms[k]);
  if (bad) fprintf(stderr, "with %s\n", options);
  if (PoiseKSPNormUsed(p->ksp) != POISE_KSP_NORM_UNPRECONDITIONED) return;
  double norm;
  if (CHECK_OK(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &norm)))
    CHECK_NEAR(norm, norms[STEPS], 1e-6 * norms[STEPS]);
}

/* Iterations of a solve begun at the solution of another: the history goes on. */
static void CheckGuess(Problem *p)
{
  PoiseInt count;
  const double *h;
  double norm;
  CHECK_OK(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &norm));
  CHECK_OK(PoiseKSPSetNormType(p->ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(p->ksp, 1));
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_OK(PoiseKSPHistory(p->ksp, &count, &h));
  if (CHECK(count > 0)) CHECK_NEAR(h[0], norm, 1e-10 * norm);
}

static void TestRichardson(PoiseContext ctx)
{
  static const struct {
    const char *options;
    bool jacobi, preconditioned;
    double scale;
  } cases[] = {
      {"-ksp_type richardson -pc_type jacobi", true, true, 1},
      {"-ksp_type richardson -pc_type jacobi -ksp_norm_type unpreconditioned -ksp_richardson_scale 0.7", true,
       false, 0.7},
      {"-ksp_type richardson -pc_type pbjacobi -ksp_norm_type preconditioned -ksp_richardson_scale 0.9", true,
       true, 0.9},
      {"-ksp_type richardson -pc_type pbjacobi -ksp_norm_type unpreconditioned -ksp_richardson_scale 0.9",
       true, false, 0.9},
      {"-ksp_type richardson -pc_type none -ksp_norm_type preconditioned -ksp_richardson_scale 0.2", false,
       true, 0.2},
  };
  Dense d;
  double norms[STEPS + 1];
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Problem p;
    DenseFill(&d, CONVECTION, SPD, cases[k].jacobi);
    PolynomialMethod(&d, false, cases[k].scale, 1, 2, cases[k].preconditioned, norms);
    if (!CHECK_OK(Open(ctx, CONVECTION, SPD, cases[k].options, &p))) return;
    CheckHistory(&p, norms, cases[k].options);
    CheckGuess(&p);
    ProblemClose(&p);
    CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_norm_type default -ksp_richardson_scale 1"));
  }
}

static void TestChebyshev(PoiseContext ctx)
{
  static const struct {
    const char *options;
    bool jacobi, preconditioned;
  } cases[] = {
      {"-ksp_type chebyshev -ksp_chebyshev_eigenvalues 0.3,1.9 -pc_type jacobi", true, true},
      {"-ksp_type chebyshev -ksp_chebyshev_eigenvalues 0.3,1.9 -pc_type pbjacobi -ksp_norm_type "
       "unpreconditioned",
       true, false},
      {"-ksp_type chebyshev -ksp_chebyshev_eigenvalues 0.3,1.9 -pc_type pbjacobi -ksp_norm_type "
       "preconditioned",
       true, true},
      {"-ksp_type chebyshev -ksp_chebyshev_eigenvalues .3,1.9 -pc_type none -ksp_norm_type preconditioned",
       false, true},
  };
  Dense d;
  double norms[STEPS + 1];
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Problem p;
    DenseFill(&d, SPD, SPD, cases[k].jacobi);
    PolynomialMethod(&d, true, 2 / (0.3 + 1.9), 0.3, 1.9, cases[k].preconditioned, norms);
    if (!CHECK_OK(Open(ctx, SPD, SPD, cases[k].options, &p))) return;
    CheckHistory(&p, norms, cases[k].options);
    CheckGuess(&p);
    ProblemClose(&p);
    CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_norm_type default"));
  }
}

static void TestMinres(PoiseContext ctx)
{
  static const char *const options[] = {
      "-ksp_type minres -pc_type none",
      "-ksp_type minres -pc_type jacobi",
      "-ksp_type minres -pc_type pbjacobi",
      "-ksp_type minres -pc_type jacobi -ksp_norm_type natural",
      "-ksp_type minres -pc_type pbjacobi -ksp_norm_type natural",
  };
  Dense d;
  double norms[STEPS + 1], z[N], x[N] = {0};
  for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
    Problem p;
    DenseFill(&d, INDEFINITE, SPD, k > 0);
    MinimalResidual(&d, true, false, STEPS + 1, norms);
    double factor = k < 3 ? DenseResidual(&d, x, true, z) / norms[0] : 1;
    for (int j = 0; j <= STEPS; j++) norms[j] *= factor;
    if (!CHECK_OK(Open(ctx, INDEFINITE, SPD, options[k], &p))) return;
    CheckHistory(&p, norms, options[k]);
    ProblemClose(&p);
  }
}

/* A preconditioner that differs from step to step. */
typedef struct Changing {
  int applied;
  PoiseVec m;
} Changing;

static PoiseErr ApplyChanging(void *arg, PoiseVec r, PoiseVec z)
{
  Changing *c = arg;
  TRY(PoiseVecPointwiseMult(z, c->m, r));
  return PoiseVecScale(z, DenseFactor(c->applied++));
}

static void TestFgmresChanging(PoiseContext ctx)
{
  Problem p;
  Changing c = {0};
  Dense d;
  PoisePC pc;
  double norms[STEPS + 1];
  for (int restart = 4; restart <= STEPS + 1; restart += 7) {
    DenseFill(&d, CONVECTION, SPD, true);
    MinimalResidual(&d, false, true, restart, norms);
    if (!CHECK_OK(Open(ctx, CONVECTION, SPD, "-ksp_type fgmres -pc_type none", &p))) return;
    CHECK_OK(PoiseKSPGMRESSetRestart(p.ksp, restart));
    CHECK_OK(PoiseVecDuplicate(p.b, &c.m));
    CHECK_OK(PoiseMatGetDiagonal(p.P, c.m));
    CHECK_OK(PoiseVecReciprocal(c.m));
    CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
    c.applied = 0;
    CHECK_OK(PoisePCSetShell(pc, &(PoiseShellPC){.apply = ApplyChanging}, &c));
    CheckHistory(&p, norms, "fgmres and a changing preconditioner");
    PoiseVecDestroy(&c.m);
    ProblemClose(&p);
  }
}

/* What the entry i of a preconditioner is multiplied by in its k-th application: no number for all i. */
static double EntryFactor(int k, int64_t i)
{
  return 1 + 0.5 * (double)((k + i) % 3);
}

/* Norms |r| of fcg: each direction is A-orthogonal to the `most` before it, by Notay's truncation. */
static void FlexibleCG(const Dense *d, int most, double *norms)
{
  static _Thread_local double p[STEPS][N], q[STEPS][N];
  double r[N], z[N];
  memcpy(r, d->b, sizeof r);
  for (int k = 0; k <= STEPS; k++) {
    int kept = k % (most + 1) ? k % (most + 1) : 1;
    norms[k] = Norm(r);
    if (k == STEPS) return;
    for (int i = 0; i < N; i++) z[i] = EntryFactor(k, i) * d->m[i] * r[i];
    memcpy(p[k], z, sizeof z);
    for (int j = k > kept ? k - kept : 0; j < k; j++) {
      double s = Dot(z, q[j]) / Dot(p[j], q[j]);
      for (int i = 0; i < N; i++) p[k][i] -= s * p[j][i];
    }
    for (int i = 0; i < N; i++) q[k][i] = Dot(d->a[i], p[k]);
    double alpha = Dot(p[k], r) / Dot(p[k], q[k]);
    for (int i = 0; i < N; i++) r[i] -= alpha * q[k][i];
  }
}

/* Norms |r| of gcr: A times each direction is orthogonal to the others of its cycle, by modified
   Gram-Schmidt.
   */
static void ConjugateResiduals(const Dense *d, int restart, double *norms)
{
  static _Thread_local double q[STEPS][N];
  double r[N], z[N];
  memcpy(r, d->b, sizeof r);
  for (int k = 0; k <= STEPS; k++) {
    norms[k] = Norm(r);
    if (k == STEPS) return;
    for (int i = 0; i < N; i++) z[i] = EntryFactor(k, i) * d->m[i] * r[i];
    for (int i = 0; i < N; i++) q[k][i] = Dot(d->a[i], z);
    Orthonormalise(q + k - k % restart, k % restart, q[k]);
    double s = Dot(q[k], r);
    for (int i = 0; i < N; i++) r[i] -= s * q[k][i];
  }
}

static PoiseErr ApplyEntries(void *arg, PoiseVec r, PoiseVec z)
{
  Changing *c = arg;
  double *v;
  PoiseInt begin, end;
  TRY(PoiseVecPointwiseMult(z, c->m, r));
  TRY(PoiseVecGetUpdate(z, &v));
  PoiseVecRange(z, &begin, &end);
  for (PoiseInt i = begin; i < end; i++) v[i - begin] *= EntryFactor(c->applied, i);
  c->applied++;
  return PoiseVecRestore(z, &v);
}

/* fcg and gcr with a preconditioner that changes otherwise in each entry, and with truncation or restarts. */
static void TestFlexible(PoiseContext ctx)
{
  static const char *const options[] = {
      "-ksp_type fcg -pc_type none -ksp_norm_type unpreconditioned -ksp_fcg_mmax 3",
      "-ksp_type fcg -ksp_fcg_mmax 30",
      "-ksp_type gcr -ksp_norm_type default -ksp_gcr_restart 4",
      "-ksp_type gcr -ksp_gcr_restart 30",
  };
  Dense d;
  double norms[STEPS + 1];
  for (int k = 0; k < 4; k++) {
    Problem p;
    Changing c = {0};
    PoisePC pc;
    DenseFill(&d, k < 2 ? SPD : CONVECTION, SPD, true);
    if (k < 2)
      FlexibleCG(&d, k ? 30 : 3, norms);
    else
      ConjugateResiduals(&d, k < 3 ? 4 : 30, norms);
    if (!CHECK_OK(Open(ctx, k < 2 ? SPD : CONVECTION, SPD, options[k], &p))) return;
    CHECK_OK(PoiseVecDuplicate(p.b, &c.m));
    CHECK_OK(PoiseMatGetDiagonal(p.P, c.m));
    CHECK_OK(PoiseVecReciprocal(c.m));
    CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
    CHECK_OK(PoisePCSetShell(pc, &(PoiseShellPC){.apply = ApplyEntries}, &c));
    CheckHistory(&p, norms, options[k]);
    PoiseVecDestroy(&c.m);
    ProblemClose(&p);
  }
}

static void TestFgmres(PoiseContext ctx)
{
  static const char *const options[] = {
      "-ksp_type fgmres -pc_type none", "-ksp_type fgmres -pc_type jacobi",
      "-ksp_type fgmres -pc_type pbjacobi -ksp_gmres_cgs_refinement_type refine_always"};
  Dense d;
  double norms[STEPS + 1];
  for (int k = 0; k < 3; k++)
    for (int restart = 3; restart <= STEPS + 1; restart += 8) {
      Problem p;
      DenseFill(&d, CONVECTION, SPD, k > 0);
      MinimalResidual(&d, false, false, restart, norms);
      if (!CHECK_OK(Open(ctx, CONVECTION, SPD, options[k], &p))) return;
      CHECK_OK(PoiseKSPGMRESSetRestart(p.ksp, restart));
      CheckHistory(&p, norms, options[k]);
      CheckGuess(&p);
      ProblemClose(&p);
    }
}

/* The next (r, z) that prcg predicts is a square: a ratio that rounding makes negative is 0. */
static void TestPrediction(PoiseContext ctx)
{
  double in[POISE_SLOTS] = {0}, out[POISE_SLOTS], c[4];
  const PhaseArgs a = {.conv = {.none = 1}};
  in[CG_RZ] = 1;
  in[CG_PQ] = 2;
  for (int large = 0; large < 2; large++) {
    in[PRCG_QDQ] = large ? 8 : 1; /* alpha^2 (q, D q) = 2, and 1/4 */
    CHECK_INT(prcg_update_begin(in, out, &a, c), 1);
    CHECK(c[0] == 0.5 && c[1] == large);
  }
  CHECK_OK(PoiseBarrier(ctx));
}

/* Cycles that become longer, and shorter, between solves by one solver. */
static void TestOtherRestart(PoiseContext ctx)
{
  static const char *const options[] = {"-ksp_type gmres -pc_type none", "-ksp_type fgmres -pc_type none"};
  Dense d;
  double norms[STEPS + 1];
  DenseFill(&d, CONVECTION, SPD, false);
  for (int k = 0; k < 2; k++) {
    Problem p;
    if (!CHECK_OK(Open(ctx, CONVECTION, SPD, options[k], &p))) return;
    for (int turn = 0; turn < 3; turn++) {
      int restart = turn == 1 ? STEPS + 1 : 3;
      MinimalResidual(&d, false, false, restart, norms);
      CHECK_OK(PoiseKSPGMRESSetRestart(p.ksp, restart));
      CheckHistory(&p, norms, options[k]);
    }
    ProblemClose(&p);
  }
}

/* ---- chebyshev's bounds ---------------------------------------------------------------------- */

static void TestEstimate(PoiseContext ctx)
{
  Problem p;
  Dense d;
  double norms[STEPS + 1], least, largest;
  DenseFill(&d, SPD, SPD, true);
  DenseExtremes(&d, &least, &largest);
  const char *all =
      "-ksp_type chebyshev -pc_type jacobi -ksp_chebyshev_esteig_steps 36 -ksp_chebyshev_esteig 1,0,0,1";
  PolynomialMethod(&d, true, 2 / (least + largest), least, largest, true, norms);
  if (!CHECK_OK(Open(ctx, SPD, SPD, all, &p))) return;
  CheckHistory(&p, norms, all);
  ProblemClose(&p);
  double low = 0.1 * largest, high = 1.1 * largest;
  PolynomialMethod(&d, true, 2 / (low + high), low, high, true, norms);
  for (int k = 0; k < 2; k++) {
    const char *usual = k ? "-ksp_chebyshev_esteig 0.1,1.1" : "-ksp_chebyshev_esteig 0,0.1,0,1.1";
    if (!CHECK_OK(Open(ctx, SPD, SPD, usual, &p))) return;
    CheckHistory(&p, norms, usual);
    ProblemClose(&p);
  }
  /* few steps: the bound is safe, and near */
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_chebyshev_esteig 0,1,0,2 -ksp_chebyshev_esteig_steps 10"));
  PolynomialMethod(&d, true, 2 / (3 * largest), largest, 2 * largest, true, norms);
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_max_it 1", &p))) return;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_NEAR(PoiseKSPResidualNorm(p.ksp), norms[1], 0.05 * norms[1]);
  ProblemClose(&p);
  /* complex eigenvalues: their real parts */
  DenseFill(&d, COMPLEX, COMPLEX, false);
  PolynomialMethod(&d, true, 2 / (2 + 3.5), 2, 3.5, true, norms);
  all = "-pc_type none -ksp_chebyshev_esteig_steps 36 -ksp_chebyshev_esteig 1,0,0,1";
  if (!CHECK_OK(Open(ctx, COMPLEX, COMPLEX, all, &p))) return;
  CheckHistory(&p, norms, all);
  ProblemClose(&p);
  CHECK_OK(PoiseOptionsSetString(
      ctx, "-ksp_chebyshev_esteig 0,0.1,0,1.1 -ksp_chebyshev_esteig_steps 10 -ksp_max_it 10000"));
}

typedef struct Operator { /* A as a function of the user's, which counts and fails on demand */
  PoiseMat A;
  int products, fail_at;
} Operator;

static PoiseErr Multiply(void *arg, PoiseVec x, PoiseVec y)
{
  Operator *o = arg;
  TRY(PoiseMatMult(o->A, x, y));
  if (++o->products == o->fail_at) FAIL(POISE_ERR_USER, "the product has had enough");
  return POISE_OK;
}

static PoiseErr MakeShell(PoiseContext ctx, Operator *o, PoiseMat *shell)
{
  PoiseShell functions = {.mult = Multiply};
  PoiseInt m, n;
  PoiseMatLocalSizes(o->A, &m, &n);
  return PoiseMatCreateShell(ctx, m, n, N, N, &functions, o, shell);
}

static int ProductsOfSolve(Problem *p, Operator *o)
{
  o->products = 0;
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK(PoiseKSPConvergedReason(p->ksp) > 0);
  return o->products - (int)PoiseKSPIterations(p->ksp);
}

/* The estimate costs 10 iterations of GMRES and, where its cycle ends, the product of a restart; it is made
   when A or M is new. */
static void TestEstimateKept(PoiseContext ctx)
{
  Problem p;
  Operator o = {0};
  PoiseMat shell = NULL, other = NULL;
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_type chebyshev -pc_type jacobi", &p))) return;
  o.A = p.A;
  if (!CHECK_OK(MakeShell(ctx, &o, &shell)) || !CHECK_OK(MakeShell(ctx, &o, &other))) return;
  CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, p.P));
  CHECK_INT(ProductsOfSolve(&p, &o), 11);
  CHECK_INT(ProductsOfSolve(&p, &o), 0);
  CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, p.P)); /* the preconditioner is built again */
  CHECK_INT(ProductsOfSolve(&p, &o), 11);
  CHECK_OK(Fill(p.P, SPD, 1)); /* M is half of what it was */
  CHECK_INT(ProductsOfSolve(&p, &o), 11);
  CHECK_INT(ProductsOfSolve(&p, &o), 0);
  CHECK_OK(PoiseKSPSetReusePreconditioner(p.ksp, 1));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, other, p.P));
  CHECK_INT(ProductsOfSolve(&p, &o), 11);
  CHECK_INT(ProductsOfSolve(&p, &o), 0);
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_chebyshev_esteig_steps 7"));
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_OK(PoiseKSPSetReusePreconditioner(p.ksp, 1));
  CHECK_INT(ProductsOfSolve(&p, &o), 8); /* other steps, another estimate */
  CHECK_INT(ProductsOfSolve(&p, &o), 0);
  CHECK_OK(PoiseKSPChebyshevSetEigenvalues(p.ksp, 1, 0.05));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, p.P));
  CHECK_INT(ProductsOfSolve(&p, &o), 0);
  PoiseMatDestroy(&other);
  PoiseMatDestroy(&shell);
  ProblemClose(&p);
}

/* Norms of some steps: of the solver, or of one that is made for these operators alone. */
static void StepsOf(Problem *p, PoiseKSP ksp, double *norms)
{
  PoiseInt count = 0;
  const double *h = NULL;
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-300, 0, 1e300, STEPS));
  CHECK_OK(PoiseKSPSolve(ksp, p->b, p->x));
  CHECK_OK(PoiseKSPHistory(ksp, &count, &h));
  for (int k = 0; k <= STEPS; k++) norms[k] = k < count ? h[k] : NAN;
}

/* A kept preconditioner does not identify A. Other values, another A with as many changes, or another null
   space need a new estimate. */
static void TestEstimateAnew(PoiseContext ctx)
{
  Problem p;
  PoiseMat other = NULL;
  double was[STEPS + 1] = {0}, used[STEPS + 1], fresh[STEPS + 1];
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_type chebyshev -pc_type none", &p))) return;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &other))) return;
  CHECK_OK(Fill(other, SPD, 3));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
  CHECK_OK(PoiseKSPSetReusePreconditioner(p.ksp, 1));
  for (int change = 0; change < 4; change++) {
    PoiseKSP one = NULL;
    PoiseMat A = change < 3 ? p.A : other;
    for (int k = 0; k < 2; k++) {
      if (change == 1) CHECK_OK(PoiseMatScale(k ? other : A, 5));
      if (change == 2) CHECK_OK(PoiseMatSetNullSpace(k ? other : A, 1, 0, NULL));
    }
    if (change == 3)
      CHECK(A->version.values == p.A->version.values && A->version.pattern == p.A->version.pattern);
    if (change == 3) CHECK_OK(PoiseKSPSetOperators(p.ksp, A, NULL));
    StepsOf(&p, p.ksp, used);
    CHECK_OK(PoiseKSPCreate(ctx, &one));
    CHECK_OK(PoiseKSPSetOperators(one, A, NULL));
    CHECK_OK(PoiseKSPKeepHistory(one, 1));
    CHECK_OK(PoiseKSPSetFromOptions(one));
    StepsOf(&p, one, fresh);
    CHECK(memcmp(used, fresh, sizeof fresh) == 0);
    CHECK(memcmp(was, fresh, sizeof fresh) != 0);
    memcpy(was, fresh, sizeof fresh);
    PoiseKSPDestroy(&one);
  }
  PoiseMatDestroy(&other);
  ProblemClose(&p);
}

/* ---- reasons and errors ---------------------------------------------------------------------- */

static const char *const methods[] = {"richardson", "chebyshev", "minres", "fgmres", "preonly"};
enum { NMETHODS = sizeof methods / sizeof *methods };

static void ExpectEnd(Problem *p, PoiseKSPReason reason, PoiseInt its)
{
  if (!CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x))) return;
  CHECK_INT(PoiseKSPConvergedReason(p->ksp), reason);
  if (its >= 0) CHECK_INT(PoiseKSPIterations(p->ksp), its);
}

static void TestReasons(PoiseContext ctx)
{
  Problem p;
  double norm;
  for (int k = 0; k < NMETHODS - 1; k++) {
    if (!CHECK_OK(Open(ctx, SPD, SPD, "-pc_type jacobi", &p))) return;
    CHECK_OK(PoiseKSPSetType(p.ksp, methods[k]));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-10, -1, -1, -1));
    ExpectEnd(&p, POISE_CONVERGED_RTOL, -1);
    CHECK_OK(PoiseKSPTrueResidual(p.ksp, p.b, p.x, &norm));
    CHECK(norm < 1e-8);
    PoiseInt its = PoiseKSPIterations(p.ksp);
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-10, -1, -1, its));
    ExpectEnd(&p, POISE_CONVERGED_RTOL, its); /* the last one allowed counts */
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-10, -1, -1, its - 1));
    ExpectEnd(&p, POISE_DIVERGED_ITS, its - 1);
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 1e-3, -1, 100));
    ExpectEnd(&p, POISE_CONVERGED_ATOL, -1);
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, -1, 0));
    ExpectEnd(&p, POISE_DIVERGED_ITS, 0);
    CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_NONE));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-5, 1e-50, -1, 7));
    ExpectEnd(&p, POISE_CONVERGED_ITS, 7);
    CHECK_OK(PoiseKSPTrueResidual(p.ksp, p.b, p.x, &norm));
    CHECK(norm < 1);
    CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_DEFAULT));
    SampleConstant(p.b, 0);
    ExpectEnd(&p, POISE_CONVERGED_ATOL, 0);
    SampleConstant(p.b, NAN);
    ExpectEnd(&p, POISE_DIVERGED_NANORINF, 0);
    ProblemClose(&p);
  }
}

static void TestDivergence(PoiseContext ctx)
{
  Problem p;
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_type richardson -ksp_richardson_scale 3 -pc_type jacobi", &p)))
    return;
  ExpectEnd(&p, POISE_DIVERGED_DTOL, -1);
  CHECK_OK(PoiseKSPRichardsonSetScale(p.ksp, 0.9));
  ExpectEnd(&p, POISE_CONVERGED_RTOL, -1);
  CHECK_ERR(PoiseKSPRichardsonSetScale(p.ksp, INFINITY), POISE_ERR_ARG, "not finite");
  ProblemClose(&p);
  if (!CHECK_OK(Open(ctx, NEGATIVE, SPD, "-ksp_type chebyshev -pc_type none", &p))) return;
  ExpectEnd(&p, POISE_DIVERGED_INDEFINITE_MAT, 0);
  CHECK_OK(PoiseKSPChebyshevSetEigenvalues(p.ksp, -1, -9));
  ExpectEnd(&p, POISE_CONVERGED_RTOL, -1);
  CHECK_ERR(PoiseKSPChebyshevSetEigenvalues(p.ksp, 1, 1), POISE_ERR_ARG, "ascending");
  CHECK_ERR(PoiseKSPChebyshevSetEigenvalues(p.ksp, 1, NAN), POISE_ERR_ARG, "ascending");
  CHECK_ERR(PoiseKSPChebyshevSetEigenvalues(p.ksp, 1, -1), POISE_ERR_ARG, "zero between");
  ProblemClose(&p);
  if (!CHECK_OK(Open(ctx, SPD, NEGATIVE, "-ksp_type minres -pc_type jacobi", &p))) return;
  ExpectEnd(&p, POISE_DIVERGED_INDEFINITE_PC, 0);
  ProblemClose(&p);
  if (!CHECK_OK(Open(ctx, SPD, INDEFINITE, "-ksp_type minres -pc_type jacobi", &p))) return;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_INDEFINITE_PC);
  ProblemClose(&p);
}

/* Norms that are what they are compared with, to the bit: |r_k| = |b| 2^k with A = I and scale 3, |b| 2^-k
   with 1/2. */
static void TestEdges(PoiseContext ctx)
{
  PoiseMat A = NULL;
  PoiseVec x = NULL, b = NULL;
  PoiseKSP ksp = NULL;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 4, 4, &A))) return;
  for (PoiseInt i = 0; i < 4; i++)
    CHECK_OK(PoiseMatAddBlock(A, PoiseRank(ctx) == 0, &i, 1, &i, &(double){1}));
  if (CHECK_OK(PoiseMatAssemble(A)) && CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) &&
      CHECK_OK(PoiseKSPCreate(ctx, &ksp))) {
    Problem p = {.b = b, .x = x, .ksp = ksp};
    SampleConstant(b, 1); /* |b| = 2 */
    CHECK_OK(PoiseKSPSetType(ksp, "richardson"));
    CHECK_OK(PoiseOptionsSetString(ctx, "-pc_type none"));
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPRichardsonSetScale(ksp, 3));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-9, 0, 8, 20));
    ExpectEnd(&p, POISE_DIVERGED_DTOL, 3); /* not below divtol */
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-9, 0, nextafter(8, 9), 20));
    ExpectEnd(&p, POISE_DIVERGED_DTOL, 4);
    CHECK_OK(PoiseKSPRichardsonSetScale(ksp, 0.5));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 0.125, 0, 8, 20));
    ExpectEnd(&p, POISE_CONVERGED_RTOL, 3); /* not above rtol */
    CHECK_OK(PoiseKSPSetTolerances(ksp, nextafter(0.125, 0), 0, 8, 20));
    ExpectEnd(&p, POISE_CONVERGED_RTOL, 4);
    CHECK_OK(PoiseKSPSetTolerances(ksp, 0, 0.25, 8, 20));
    /* nor above atol: as PETSc, which tells of atol what is below it */
    ExpectEnd(&p, POISE_CONVERGED_RTOL, 3);
    CHECK_OK(PoiseKSPSetTolerances(ksp, 0, nextafter(0.25, 1), 8, 20));
    ExpectEnd(&p, POISE_CONVERGED_ATOL, 3);
  }
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&A);
}

/* A = I + E / 2, E below the diagonal, and b = e_1: (r^, r) is exactly 0 after an iteration, but started
   again the methods gain. */
static void TestAfresh(PoiseContext ctx)
{
  static const char *const types[] = {"cgs", "bicgstabl", "bicgstab"};
  enum { ROWS = 30 };
  for (size_t t = 0; t < 2 * sizeof types / sizeof *types; t++) {
    Problem p = {0};
    double norm;
    if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, ROWS, ROWS, &p.A))) return;
    for (PoiseInt i = 0; i < ROWS; i++)
      CHECK_OK(PoiseMatAddBlock(p.A, PoiseRank(ctx) == 0, &i, i ? 2 : 1, (PoiseInt[]){i, i - 1},
                                (double[]){1, 0.5}));
    if (CHECK_OK(PoiseMatAssemble(p.A)) && CHECK_OK(PoiseMatCreateVecs(p.A, &p.x, &p.b)) &&
        CHECK_OK(PoiseKSPCreate(ctx, &p.ksp))) {
      double b[ROWS] = {1};
      CHECK_OK(SampleToVec(b, p.b));
      CHECK_OK(PoiseKSPSetType(p.ksp, types[t / 2]));
      CHECK_OK(PoiseKSPSetPCSide(p.ksp, t % 2 ? POISE_PC_RIGHT : POISE_PC_LEFT));
      CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
      CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-6, 0, -1, 100));
      ExpectEnd(&p, POISE_CONVERGED_RTOL, -1);
      CHECK_OK(PoiseKSPTrueResidual(p.ksp, p.b, p.x, &norm));
      CHECK(norm <= 1e-6);
    }
    ProblemClose(&p);
  }
}

/* diag(1, 1, 0, 0) and b of ones: every number of the iteration is exact, and the second column is zero. */
static void TestSingular(PoiseContext ctx)
{
  PoiseMat A = NULL;
  PoiseVec x = NULL, b = NULL;
  PoiseKSP ksp = NULL;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 4, 4, &A))) return;
  for (PoiseInt i = 0; i < 4; i++)
    CHECK_OK(PoiseMatAddBlock(A, PoiseRank(ctx) == 0, &i, 1, &i, &(double){i < 2}));
  if (CHECK_OK(PoiseMatAssemble(A)) && CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) &&
      CHECK_OK(PoiseKSPCreate(ctx, &ksp))) {
    Problem p = {.b = b, .x = x, .ksp = ksp};
    double r;
    CHECK_OK(PoiseKSPSetType(ksp, "minres"));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    SampleConstant(b, 1);
    ExpectEnd(&p, POISE_DIVERGED_BREAKDOWN, 1);
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &r));
    CHECK_NEAR(r, sqrt(2), 1e-14); /* the least there is */
    PoiseMatMult(A, b, x);         /* now a right-hand side in the range */
    PoiseVecCopy(x, b);
    ExpectEnd(&p, POISE_CONVERGED_ATOL, 1);
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &r));
    CHECK_NEAR(r, 0, 1e-14);
    CHECK_OK(PoiseKSPSetNormType(ksp, POISE_KSP_NORM_NONE));
    ExpectEnd(&p, POISE_CONVERGED_HAPPY_BREAKDOWN, 1);
  }
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&A);
}

static void TestPreOnly(PoiseContext ctx)
{
  Problem p;
  PoiseVec want = NULL;
  double norm;
  if (!CHECK_OK(Open(ctx, CONVECTION, SPD, "-ksp_type preonly -pc_type jacobi", &p))) return;
  for (int side = POISE_PC_LEFT; side <= POISE_PC_RIGHT; side++) {
    CHECK_OK(PoiseKSPSetPCSide(p.ksp, (PoisePCSide)side));
    SampleConstant(p.x, NAN);
    ExpectEnd(&p, POISE_CONVERGED_ITS, 1);
    CHECK_INT(PoiseKSPNormUsed(p.ksp), POISE_KSP_NORM_NONE);
    if (CHECK_OK(PoiseVecDuplicate(p.b, &want)) && CHECK_OK(PoiseMatGetDiagonal(p.P, want))) {
      CHECK_OK(PoiseVecPointwiseMult(want, want, p.x));
      CHECK_OK(PoiseVecAXPY(want, -1, p.b));
      CHECK_OK(PoiseVecNorm(want, POISE_NORM_INF, &norm));
      CHECK_NEAR(norm, 0, 1e-15);
    }
    PoiseVecDestroy(&want);
  }
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(p.ksp, 1));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_ARG, "richardson");
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ERROR);
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(p.ksp, 0));
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_PRECONDITIONED));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "preonly");
  ProblemClose(&p);
}

static void TestWrongOptions(PoiseContext ctx)
{
  static const char *const bad[] = {"-ksp_chebyshev_eigenvalues 1", "-ksp_chebyshev_eigenvalues 1,2,3",
                                    "-ksp_chebyshev_eigenvalues 1,", "-ksp_chebyshev_eigenvalues one,2",
                                    "-ksp_chebyshev_eigenvalues 1;2"};
  Problem p;
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_type chebyshev"));
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    CHECK_ERR(Open(ctx, SPD, SPD, bad[k], &p), POISE_ERR_OPTION, "two numbers");
    CHECK_ERR(Open(ctx, SPD, SPD, bad[k], &p), POISE_ERR_OPTION, "-ksp_chebyshev_eigenvalues");
  }
  CHECK_ERR(Open(ctx, SPD, SPD, "-ksp_chebyshev_eigenvalues 2,1", &p), POISE_ERR_ARG, "2 and 1");
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_chebyshev_eigenvalues 1,2 -ksp_chebyshev_esteig 1,2,3", &p)))
    return;
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_OPTION, "nor two");
  ProblemClose(&p);
  CHECK_ERR(Open(ctx, SPD, SPD, "-ksp_chebyshev_esteig 0.1,1.1 -ksp_chebyshev_esteig_steps 0", &p),
            POISE_ERR_OPTION, "ksp_chebyshev_esteig_steps");
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_chebyshev_esteig_steps 10"));
  CHECK_ERR(Open(ctx, SPD, SPD, "-ksp_type richardson -ksp_richardson_scale fast", &p), POISE_ERR_OPTION,
            "fast");
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_richardson_scale 1"));
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_type fgmres -ksp_pc_side left", &p))) return;
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED,
            "fgmres with preconditioning from the left is not offered");
  CHECK_OK(PoiseKSPSetType(p.ksp, "minres"));
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "minres");
  CHECK_OK(PoiseKSPSetPCSide(p.ksp, POISE_PC_RIGHT));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_UNSUPPORTED, "right");
  ProblemClose(&p);
}

/* ---- the true residual ----------------------------------------------------------------------- */

/* Line k of the monitor tells the true residual of the x that k iterations give. */
static void CheckLines(Problem *p, FILE *out)
{
  char line[256];
  double norm, truth, ratio, norm_b, now;
  int k, rank0 = PoiseRank(PoiseKSPContext(p->ksp)) == 0;
  PoiseInt count = PoiseKSPIterations(p->ksp) + 1, lines = 0;
  PoiseSetOutput(PoiseKSPContext(p->ksp), NULL);
  p->ksp->options.true_residual = 0;
  CHECK_OK(PoiseVecNorm(p->b, POISE_NORM_2, &norm_b));
  rewind(out);
  for (PoiseInt i = 0; i < count; i++) {
    const char *kind = PoiseKSPNormString(PoiseKSPNormUsed(p->ksp));
    CHECK_OK(PoiseKSPSetTolerances(p->ksp, 0, 0, 1e300, i));
    if (!CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x)) ||
        !CHECK_OK(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &now)))
      return;
    if (!rank0) continue;
    char word[64] = "";
    if (!CHECK(fgets(line, sizeof line, out) != NULL)) return;
    int got = sscanf(line, "%d KSP %63s resid norm %le true resid norm %le ||r(i)||/||b|| %le", &k, word,
                     &norm, &truth, &ratio);
    if (!CHECK_INT(got, 5)) return;
    lines++;
    CHECK_INT(k, i);
    CHECK(!strcmp(word, kind));
    CHECK(line[0] == ' ' && line[1] == (i < 10 ? ' ' : '1'));
    CHECK_NEAR(norm, PoiseKSPResidualNorm(p->ksp), 1e-9 * norm);
    CHECK_NEAR(truth, now, 1e-9 * norm_b);
    CHECK_NEAR(ratio, now / norm_b, 1e-9);
  }
  if (rank0) CHECK_INT(lines, count);
}

static void TestTrueResidual(PoiseContext ctx)
{
  static const char *const options[] = {
      "-ksp_type cg",
      "-ksp_type bicgstab -ksp_pc_side left",
      "-ksp_type bicgstab -ksp_pc_side right",
      "-ksp_type gmres -ksp_gmres_restart 4 -ksp_pc_side left",
      "-ksp_type gmres -ksp_gmres_restart 4 -ksp_pc_side right",
      "-ksp_type gmres -ksp_gmres_restart 4 -ksp_pc_side right -pc_type none",
      "-ksp_type fgmres -ksp_gmres_restart 4",
      "-ksp_type lgmres -ksp_gmres_restart 3 -ksp_pc_side left",
      "-ksp_type lgmres -ksp_gmres_restart 3 -ksp_pc_side right",
      "-ksp_type qmr -ksp_pc_side left",
      "-ksp_type qmr -ksp_pc_side right",
      "-ksp_type minres -ksp_pc_side default -pc_type pbjacobi",
      "-ksp_type richardson",
      "-ksp_type chebyshev",
  };
  for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
    Problem p;
    FILE *out = tmpfile();
    if (!CHECK(out != NULL)) return;
    CHECK_OK(
        PoiseOptionsSetString(ctx, "-pc_type jacobi -ksp_max_it 12 -ksp_rtol 0 -ksp_monitor_true_residual"));
    if (!CHECK_OK(Open(ctx, SPD, SPD, options[k], &p))) return;
    PoiseSetOutput(ctx, out);
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPIterations(p.ksp), 12);
    CHECK(p.ksp->loop.eager != NULL);
    CheckLines(&p, out);
    fclose(out);
    ProblemClose(&p);
  }
}

/* ---- preconditioners that are kept, matrix-free operators ------------------------------------ */

static PoiseInt Iterations(Problem *p)
{
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_INT(PoiseKSPConvergedReason(p->ksp), POISE_CONVERGED_RTOL);
  return PoiseKSPIterations(p->ksp);
}

static void TestReuse(PoiseContext ctx)
{
  Problem p, q;
  PoisePC pc;
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_type richardson -pc_type jacobi -ksp_reuse_preconditioner", &p)))
    return;
  if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_reuse_preconditioner no", &q))) return;
  CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
  SampleFill(p.x, 5);
  PoiseInt its = Iterations(&p);
  int64_t builds = pc->builds;
  CHECK_INT(builds, 1);
  CHECK_OK(Fill(p.P, SPD, 1)); /* P is twice as large; M stays */
  CHECK_INT(Iterations(&p), its);
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, q.P)); /* another matrix */
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_OK(PoiseKSPSetReusePreconditioner(p.ksp, 1));
  CHECK_INT(Iterations(&p), its);
  CHECK_INT(pc->builds, builds);
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, p.P));
  CHECK_OK(PoiseKSPSetReusePreconditioner(p.ksp, 0));
  CHECK(Iterations(&p) > its); /* with half the correction */
  CHECK_INT(pc->builds, builds + 1);
  CHECK_OK(PoiseKSPSetReusePreconditioner(p.ksp, 1));
  CHECK_OK(PoisePCSetType(pc, "pbjacobi")); /* a new type has nothing to keep */
  CHECK(Iterations(&p) > its);
  CHECK_INT(pc->builds, builds + 2);
  ProblemClose(&q);
  ProblemClose(&p);
}

static void TestMatrixFree(PoiseContext ctx)
{
  static const char *const all[] = {"cg", "gmres", "bicgstab", "fgmres", "minres", "chebyshev", "richardson"};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    Problem p;
    Operator o = {0};
    PoiseMat shell;
    PoiseInt count;
    const double *h;
    double want[STEPS + 1];
    if (!CHECK_OK(Open(ctx, SPD, SPD, "-pc_type jacobi -ksp_max_it 10 -ksp_rtol 0", &p))) return;
    CHECK_OK(PoiseKSPSetType(p.ksp, all[k]));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_OK(PoiseKSPHistory(p.ksp, &count, &h));
    if (!CHECK_INT(count, STEPS + 1)) return;
    memcpy(want, h, sizeof want);
    o.A = p.A;
    if (!CHECK_OK(MakeShell(ctx, &o, &shell))) return;
    CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, p.P));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_OK(PoiseKSPHistory(p.ksp, &count, &h));
    CHECK(o.products >= STEPS);
    for (int i = 0; i <= STEPS && i < count; i++) CHECK_NEAR(h[i], want[i], 1e-12 * want[0]);
    PoiseMatDestroy(&shell);
    ProblemClose(&p);
  }
}

/* One rank's product fails: all ranks leave the solve, with and without a norm, and with the true residual
   monitored. */
static void TestFailure(PoiseContext ctx)
{
  FILE *out = tmpfile();
  if (!CHECK(out != NULL)) return;
  PoiseSetOutput(ctx, out);
  for (int k = 0; k < NMETHODS - 1; k++)
    for (int mode = 0; mode < 3; mode++)
      for (int at = 2; at < 6; at++) {
        Problem p;
        PoiseMat shell;
        int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
        Operator o = {.fail_at = last ? at : 0};
        if (!CHECK_OK(Open(ctx, SPD, SPD, "-pc_type jacobi -ksp_max_it 9 -ksp_chebyshev_esteig_steps 3", &p)))
          return;
        o.A = p.A;
        CHECK_OK(PoiseKSPSetType(p.ksp, methods[k]));
        if (mode == 1) CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_NONE));
        p.ksp->options.true_residual = mode == 2;
        if (!CHECK_OK(MakeShell(ctx, &o, &shell))) return;
        CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, p.P));
        CHECK_ERR_OF(PoiseKSPSolve(p.ksp, p.b, p.x), last, POISE_ERR_USER, "had enough");
        CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ERROR);
        o.fail_at = 0;
        CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
        CHECK(PoiseKSPConvergedReason(p.ksp) != POISE_DIVERGED_ERROR);
        PoiseMatDestroy(&shell);
        ProblemClose(&p);
      }
  PoiseSetOutput(ctx, NULL);
  fclose(out);
}

/* ---- memory, empty systems, bits ------------------------------------------------------------- */

static PoiseErr SolveOnce(PoiseContext ctx, void *arg)
{
  Problem p;
  TRY(Open(ctx, SPD, SPD, arg, &p));
  PoiseErr e = PoiseKSPSolve(p.ksp, p.b, p.x);
  ProblemClose(&p);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  static const char *const options[] = {
      "-ksp_type chebyshev -ksp_chebyshev_esteig_steps 3 -pc_type jacobi -ksp_max_it 3",
      "-ksp_type fgmres -ksp_gmres_restart 2 -ksp_monitor_true_residual",
      "-ksp_type gmres -ksp_gmres_restart 2 -ksp_gmres_basis fp32"};
  FILE *out = tmpfile();
  if (!CHECK(out != NULL)) return;
  PoiseSetOutput(ctx, out);
  for (int k = 0; k < 3; k++) TestAllocationFailures(ctx, SolveOnce, (void *)options[k]);
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_monitor_true_residual no -ksp_gmres_basis fp64"));
  PoiseSetOutput(ctx, NULL);
  fclose(out);
  for (int k = 0; k < NMETHODS; k++) {
    Problem p;
    if (!CHECK_OK(Open(ctx, SPD, SPD, "-ksp_max_it 20", &p))) return;
    CHECK_OK(PoiseKSPSetType(p.ksp, methods[k]));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    int64_t calls = ctx->memory.calls;
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(ctx->memory.calls, calls);
    ProblemClose(&p);
  }
}

static void TestEmpty(PoiseContext ctx)
{
  for (int k = 0; k < NMETHODS; k++) {
    Problem p = {0};
    if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 0, 0, &p.A))) return;
    CHECK_OK(PoiseMatAssemble(p.A));
    CHECK_OK(PoiseMatCreateVecs(p.A, &p.x, &p.b));
    CHECK_OK(PoiseKSPCreate(ctx, &p.ksp));
    CHECK_OK(PoiseKSPSetType(p.ksp, methods[k]));
    CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, NULL));
    bool only = !strcmp(methods[k], "preonly");
    ExpectEnd(&p, only ? POISE_CONVERGED_ITS : POISE_CONVERGED_ATOL, only);
    ProblemClose(&p);
  }
}

/* Bits of the history and of x for every method, enqueued in every iteration and replayed. */
static PoiseErr KeepBits(PoiseContext ctx, void *arg)
{
  for (int k = 0; k < NMETHODS; k++)
    for (int jacobi = 0; jacobi < 2; jacobi++) {
      SampleRun one[2] = {{.n = 0}, {.n = 0}};
      for (int replay = 0; replay < 2; replay++) {
        Problem p;
        PoiseInt count;
        const double *h;
        TRY(Open(ctx, strcmp(methods[k], "minres") ? SPD : INDEFINITE, SPD,
                 replay ? "-ksp_replay 5" : "-ksp_replay 0", &p));
        TRY(PoisePCSetType(p.ksp->pc, jacobi ? "jacobi" : "pbjacobi"));
        TRY(PoiseKSPSetType(p.ksp, methods[k]));
        TRY(PoiseKSPGMRESSetRestart(p.ksp, 3));
        TRY(PoiseKSPSetTolerances(p.ksp, -1, -1, -1, 43));
        for (int solve = 0; solve < 2; solve++) { /* the second one finds the graph */
          TRY(PoiseKSPSolve(p.ksp, p.b, p.x));
          TRY(PoiseKSPHistory(p.ksp, &count, &h));
          uint64_t bits = SampleDigest(p.x) + (uint64_t)PoiseKSPIterations(p.ksp);
          for (PoiseInt i = 0; i < count; i++) bits = bits * 31 + SampleBits(h[i]);
          SampleKeep(ctx, &one[replay], bits);
        }
        if (replay && ctx->device->ops->replay && PoiseSize(ctx) == 1) CHECK(!p.ksp->loop.eager);
        ProblemClose(&p);
      }
      CHECK(PoiseRank(ctx) || SampleSame(&one[0], &one[1]));
      if (PoiseRank(ctx) == 0) CHECK(one[0].result[0] == one[0].result[1]);
      SampleKeep(ctx, arg, one[0].result[0]);
    }
  return POISE_OK;
}

static void TestBits(PoiseContext ctx)
{
  (void)ctx;
  for (int ranks = 1; ranks <= 3; ranks += 2) {
    SampleRun host, threads, mock;
    SampleRunOn("host", ranks, 1, KeepBits, &host);
    SampleRunOn("host", ranks, 2, KeepBits, &threads);
    SampleRunOn("mock", ranks, 1, KeepBits, &mock);
    CHECK(SampleSame(&host, &threads));
    CHECK(SampleSame(&host, &mock));
  }
}

static const Test tests[] = {
    {"richardson", TestRichardson, 0},
    {"chebyshev", TestChebyshev, 0},
    {"minres", TestMinres, 0},
    {"fgmres", TestFgmres, 0},
    {"fgmres changing", TestFgmresChanging, 0},
    {"flexible", TestFlexible, 0},
    {"afresh", TestAfresh, 0},
    {"prediction", TestPrediction, TEST_SERIAL | TEST_HOST_ONLY},
    {"other restart", TestOtherRestart, 0},
    {"estimate", TestEstimate, 0},
    {"estimate kept", TestEstimateKept, 0},
    {"estimate anew", TestEstimateAnew, 0},
    {"reasons", TestReasons, 0},
    {"divergence", TestDivergence, 0},
    {"edges", TestEdges, 0},
    {"singular", TestSingular, 0},
    {"preonly", TestPreOnly, 0},
    {"wrong options", TestWrongOptions, 0},
    {"true residual", TestTrueResidual, 0},
    {"reuse", TestReuse, 0},
    {"matrix-free", TestMatrixFree, 0},
    {"failure", TestFailure, 0},
    {"memory", TestMemory, 0},
    {"empty", TestEmpty, 0},
    {"bits", TestBits, TEST_SERIAL | TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "ksp_methods", tests);
}

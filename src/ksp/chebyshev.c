/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Chebyshev's semi-iteration (Golub & Varga 1961), as PETSc's KSPCHEBYSHEV, for a spectrum of M^-1 A in [emin,
  emax]. It has no dots but those of the norm. The correction p is (omega - 1) p + omega scale z, where omega
  = 1 / (1 - alpha^2 omega / 4). Here scale = 2 / (emin + emax) and alpha = (emax - emin) / (emax + emin). See
  stationary.c for its traffic.

  Bounds that are not given are estimated like PETSc's, by steps of GMRES on a random right-hand side. min and
  max are the extreme eigenvalues of its Hessenberg matrix. Then emin = a min + b max, and emax = c min + d
  max. The default is the upper part of the spectrum, 0.1 max to 1.1 max, as for a smoother. An estimate is
  kept until the operator or the preconditioner changes.
*/
#include <complex.h>
#include <float.h>

#include "gmres.h"
#include "stationary.h"
#include "sys/base/numbers.h"

typedef struct Chebyshev {
  char bounds[POISE_OPTION_LENGTH], transform[POISE_OPTION_LENGTH]; /* texts of the options */
  PoiseInt steps;
  double emin, emax; /* in use */
  bool given;
  double least, largest; /* eigenvalues as estimated */
  Version seen;          /* A at the estimate */
  int64_t builds;        /* of M, then */
  PoiseInt taken;        /* steps */
} Chebyshev;

static const char bounds_key[] = "ksp_chebyshev_eigenvalues", transform_key[] = "ksp_chebyshev_esteig";

static const char usual[] = "0,0.1,0,1.1";

static const PoiseOption options[] = {
    {bounds_key, POISE_OPTION_STRING, offsetof(Chebyshev, bounds), "", 0, 0, NULL,
     "emin,emax: bounds of the eigenvalues, which are then not estimated"},
    {transform_key, POISE_OPTION_STRING, offsetof(Chebyshev, transform), usual, 0, 0, usual,
     "a,b,c,d: bounds a min + b max and c min + d max from the estimate; also b,d"},
    {"ksp_chebyshev_esteig_steps", POISE_OPTION_INT, offsetof(Chebyshev, steps), "10", 1, 1000, NULL,
     "iterations of GMRES that the estimate takes"},
    {0},
};

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Parse numbers separated by commas into v[0..most). Returns the count, or -1. */
static int ReadList(const char *text, int most, double *v)
{
  NumberLocale numbers = poiseScalarsBegin();
  int n = 0;
  for (bool more = true; more && n >= 0;) {
    char *end;
    double x = n < most ? strtod(text, &end) : NAN;
    if (!isfinite(x) || end == text || (*end && *end != ',')) {
      n = -1;
    } else {
      v[n++] = x;
      more = *end == ',';
      text = end + 1;
    }
  }
  poiseScalarsEnd(numbers);
  return n;
}

PoiseErr PoiseKSPChebyshevSetEigenvalues(PoiseKSP ksp, double emax, double emin)
{
  CALLED(OBJECT(ksp));
  Chebyshev *c = ksp->data;
  if (ksp->type != &poiseKSPType_chebyshev) return POISE_OK; /* as PETSc: no effect on other methods */
  if (!isfinite(emin) || !isfinite(emax) || emin >= emax)
    FAIL(POISE_ERR_ARG, "the bounds of the eigenvalues, %g and %g, are not two ascending numbers", emin,
         emax);
  if (emin <= 0 && emax >= 0)
    FAIL(POISE_ERR_ARG, "there is a zero between the bounds of the eigenvalues, %g and %g", emin, emax);
  c->emin = emin;
  c->emax = emax;
  c->given = true;
  return POISE_OK;
}

static PoiseErr Read_Chebyshev(PoiseKSP ksp)
{
  Chebyshev *c = ksp->data;
  double v[2];
  TRY(PoiseOptionsRead(ksp->ctx, ksp->prefix, options, c));
  if (!PoiseOptionsHas(ksp->ctx, ksp->prefix, bounds_key, NULL)) return POISE_OK;
  if (ReadList(c->bounds, 2, v) != 2)
    FAIL(POISE_ERR_OPTION, "-%s%s%s '%s' are not two numbers emin,emax", poiseOptionsPrefix(ksp->ctx),
         ksp->prefix ? ksp->prefix : "", bounds_key, c->bounds);
  return PoiseKSPChebyshevSetEigenvalues(ksp, v[1], v[0]);
}

static void Inherit_Chebyshev(const void *from, void *to)
{
  const Chebyshev *f = from;
  Chebyshev *t = to;
  t->given = f->given;
  if (f->given) t->emin = f->emin, t->emax = f->emax;
}

static PoiseErr ReadTransform(PoiseKSP ksp, double transform[4])
{
  const Chebyshev *c = ksp->data;
  int n = ReadList(c->transform, 4, transform);
  if (n == 2) transform[3] = transform[1], transform[1] = transform[0], transform[0] = transform[2] = 0;
  if (n != 2 && n != 4)
    FAIL(POISE_ERR_OPTION, "-%s%s%s '%s' are not four numbers a,b,c,d, nor two b,d",
         poiseOptionsPrefix(ksp->ctx), ksp->prefix ? ksp->prefix : "", transform_key, c->transform);
  return POISE_OK;
}

/* Least and largest real part; NaN, if one is. */
static void Extremes(const double complex *w, int n, double *least, double *largest)
{
  *least = INFINITY, *largest = -INFINITY;
  for (int k = n - 1; k >= 0; k--) {
    double value = creal(w[k]);
    *least = value < *least || isnan(value) ? value : *least;
    *largest = value > *largest || isnan(value) ? value : *largest;
  }
}

static PoiseErr ReadEigenvalues(PoiseKSP ksp, PoiseKSP g)
{
  Chebyshev *c = ksp->data;
  Projected p = {0};
  double complex *h = NULL, *w;
  int n = poiseGMRESColumns(g);
  c->least = c->largest =
      n || g->result.reason == POISE_DIVERGED_NANORINF ? NAN : 1; /* 1: the matrix has no rows */
  if (!n || g->result.reason == POISE_DIVERGED_NANORINF) return POISE_OK;
  TRY(poiseGMRESProjected(g, &p));
  PoiseErr e = poiseAllocArray(ksp->ctx, n * (n + 1), sizeof *h, "estimate of eigenvalues", &h);
  for (int j = 0; !e && j < n; j++)
    for (int i = 0; i < n; i++) h[i + j * n] = p.hessenberg[i + j * (n + 1)];
  poiseFree(ksp->ctx, &p.hessenberg);
  if (e) return e;
  w = h + n * n;
  poiseHessenbergEigenvalues(h, n, w);
  Extremes(w, n, &c->least, &c->largest);
  poiseFree(ksp->ctx, &h);
  return POISE_OK;
}

/* Run g, which borrows the preconditioner, and the work vectors, which are free between solves. */
static PoiseErr RunEstimate(PoiseKSP ksp, PoiseKSP g)
{
  Chebyshev *c = ksp->data;
  TRY(poiseMatShare(ksp->A, &g->A));
  g->options.verify = 0;
  g->options.side = 1;
  g->options.replay = ksp->options.replay;
  TRY(PoiseKSPSetTolerances(g, 1e-12, -1, -1, c->steps));
  TRY(PoiseKSPGMRESSetRestart(g, (int)c->steps));
  TRY(PoiseVecSetRandom(ksp->work[ST_R], 1));
  TRY(PoiseKSPSolve(g, ksp->work[ST_R], ksp->work[ST_Z]));
  return PoiseAgree(ksp->ctx, ReadEigenvalues(ksp, g));
}

static PoiseErr Estimate(PoiseKSP ksp)
{
  PoiseKSP g;
  TRY(PoiseKSPCreate(ksp->ctx, &g));
  poisePCDestroy(&g->pc);
  g->pc = ksp->pc;
  g->borrows = true;
  PoiseErr e = RunEstimate(ksp, g);
  g->pc = NULL;
  PoiseKSPDestroy(&g);
  return e;
}

static PoiseErr SetUp_Chebyshev(PoiseKSP ksp)
{
  Chebyshev *c = ksp->data;
  double t[4];
  TRY(ReadTransform(ksp, t));
  if (c->given) return POISE_OK;
  /* another product may round otherwise: so a solve depends on nothing that was before */
  const unsigned depends = CHANGED_PATTERN | CHANGED_VALUES | CHANGED_SPACES | CHANGED_PRODUCT;
  if (poiseMatChanged(&c->seen, ksp->A) & depends || c->builds != ksp->pc->builds || c->taken != c->steps) {
    c->seen = (Version){0}; /* of no A, so a failure leaves no estimate */
    TRY(Estimate(ksp));
    c->taken = c->steps;
    c->seen = ksp->A->version;
    c->builds = ksp->pc->builds;
  }
  c->emin = t[0] * c->least + t[1] * c->largest;
  c->emax = t[2] * c->least + t[3] * c->largest;
  return POISE_OK;
}

/* ---- the method ------------------------------------------------------------------------------ */

static int Vectors_Chebyshev(PoiseKSP ksp)
{
  (void)ksp;
  return ST_P + 1;
}

static void Start_Chebyshev(PoiseKSP ksp, PoiseVec b)
{
  const Chebyshev *c = ksp->data;
  double scale = 2 / (c->emax + c->emin), alpha = 1 - scale * c->emin;
  bool indefinite = !c->given && c->emax <= 0; /* false for NaN, which the iteration finds */
  poiseStationaryStart(ksp, b, scale, alpha, indefinite ? REASON_INDEFINITE_MAT : 0);
}

static void Iterate_Chebyshev(PoiseKSP ksp, int j)
{
  (void)j;
  poiseKSPPhase(ksp, PHASE_chebyshev_step, /* p = (omega - 1) p + omega scale z; x += p */
                poiseStationaryStep(ksp, ksp->v[ST_P]), NO_SLOT, NO_SLOT);
  poiseStationaryEnd(ksp); /* r = b - A x; z = M r; converged? */
}

static bool Step_Chebyshev(PoiseKSP ksp, int k, double c[2])
{
  const Chebyshev *s = ksp->data;
  double scale = 2 / (s->emax + s->emin), alpha = 1 - scale * s->emin, omega = 2;
  for (int j = 0; j < k; j++) omega = 1 / (1 - 0.25 * alpha * alpha * omega);
  c[0] = k ? omega - 1 : 0;
  c[1] = (k ? omega : 1) * scale;
  return s->given || !(s->emax <= 0);
}

static PoiseErr View_Chebyshev(PoiseKSP ksp)
{
  const Chebyshev *c = ksp->data;
  if (!c->given && !c->seen.matrix)
    return poisePrint(ksp->ctx, "  bounds of the eigenvalues to be estimated by %lld steps of gmres\n",
                      (long long)c->steps);
  TRY(poisePrint(ksp->ctx, "  bounds of the eigenvalues %g and %g", c->emin, c->emax));
  if (!c->given)
    TRY(poisePrint(ksp->ctx, ", by %s from %g to %g estimated by %lld steps of gmres", c->transform, c->least,
                   c->largest, (long long)c->steps));
  return poisePrint(ksp->ctx, "\n");
}

const KSPType poiseKSPType_chebyshev = {
    .name = "chebyshev",
    .columns = true,
    .size = sizeof(Chebyshev),
    .options = options,
    .read = Read_Chebyshev,
    .inherit = Inherit_Chebyshev,
    .left = STATIONARY_NORMS,
    .vectors = Vectors_Chebyshev,
    .setup = SetUp_Chebyshev,
    .start = Start_Chebyshev,
    .iterate = Iterate_Chebyshev,
    .step = Step_Chebyshev,
    .residual = poiseStationaryResidual,
    .view = View_Chebyshev,
};

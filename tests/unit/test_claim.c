/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What a solver reports of a solve must be true. This tests refuted claims, the cost of checking, and methods
  that start afresh. It also tests counts after a breakdown, and right-hand sides whose squares under- or
  overflow. test_claim_all.c has all combinations.
*/
#include <math.h>

#include "ksp/ksp.h"
#include "problem.h"

enum { MOST = 64 };

typedef double EntryOf(int i, int j);

/* What the tests change, as it is without options: these stay in a context. */
static const char defaults[] = "-ksp_norm_type default -ksp_pc_side default -ksp_rtol 1e-5 -ksp_atol 1e-50 "
                               "-ksp_divtol 1e4 -ksp_max_it 10000 "
                               "-ksp_replay 8 -ksp_initial_guess_nonzero no "
                               "-ksp_verify yes -pc_type none";

static PoiseErr Build(PoiseContext ctx, int n, EntryOf *a, const double *b, const char *options, Problem *p)
{
  *p = (Problem){0};
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &p->A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = 0; PoiseRank(ctx) == 0 && i < n; i++)
    for (PoiseInt j = 0; !e && j < n; j++) {
      double v = a((int)i, (int)j);
      if (v != 0) e = PoiseMatAddBlock(p->A, 1, &i, 1, &j, &v);
    }
  TRY(PoiseAgree(ctx, e));
  TRY(PoiseMatAssemble(p->A));
  TRY(PoiseMatCreateVecs(p->A, &p->x, &p->b));
  TRY(b ? PoiseAgree(ctx, SampleToVec(b, p->b)) : PoiseVecSet(p->b, 1));
  TRY(PoiseAgree(ctx, PoiseOptionsSetString(ctx, defaults)));
  TRY(PoiseAgree(ctx, PoiseOptionsSetString(ctx, options)));
  TRY(PoiseKSPCreate(ctx, &p->ksp));
  TRY(PoiseKSPSetOperators(p->ksp, p->A, NULL));
  return PoiseKSPSetFromOptions(p->ksp);
}

static bool Open(PoiseContext ctx, int n, EntryOf *a, const double *b, const char *options, Problem *p)
{
  if (CHECK_OK(Build(ctx, n, a, b, options, p))) return true;
  ProblemClose(p);
  return false;
}

/* |b - A x| / |b| */
static double TrueResidual(Problem *p)
{
  return ProblemResidual(p) / NormOf(p->b);
}

typedef struct Outcome {
  PoiseKSPReason reason;
  PoiseInt its;
  double norm, x[MOST], calls[EVENT_COUNT], waits; /* calls: of events, in the solve */
} Outcome;

static Outcome SolveOnly(Problem *p)
{
  PoiseContext ctx = PoiseKSPContext(p->ksp);
  Outcome o = {.reason = POISE_ITERATING};
  int64_t waits = ctx->device->waits;
  LogCounts counts = ProblemCounts(p);
  o.waits = (double)(ctx->device->waits - waits);
  for (int k = 0; k < EVENT_COUNT; k++) o.calls[k] = counts.event[k].calls;
  o.reason = PoiseKSPConvergedReason(p->ksp);
  o.its = PoiseKSPIterations(p->ksp);
  o.norm = PoiseKSPResidualNorm(p->ksp);
  CHECK_OK(SampleFromVec(p->x, o.x));
  return o;
}

/* ---- matrices -------------------------------------------------------------------------------- */

static double SignedDiagonal(int i, int j)
{
  return i == j ? (i % 2 ? -1 : 1) : 0;
}

static double Saddle(int i, int j) /* diagonal +2, -2 */
{
  return i == j ? (i < 2 ? 2 : -2) : abs(i - j) == 2 ? 0.5 : 0;
}

static double TwoSigns(int i, int j)
{
  return i == j ? (i ? -1 : 2) : 0;
}

static double Negative(int i, int j)
{
  return i == j ? -3 - 0.1 * i : abs(i - j) == 1 ? 1 : 0;
}

static double Hilbert(int i, int j)
{
  return 1.0 / (i + j + 1);
}

static double Grid(int i, int j) /* a line, shifted so that it is well conditioned */
{
  return i == j ? 2.5 + 0.01 * i : abs(i - j) == 1 ? -1 : 0;
}

static _Thread_local unsigned drawn; /* which matrix Integers is */

static double Draw(unsigned seed, int i, int j)
{
  unsigned h = seed * 2654435761u + (unsigned)i * 40503u + (unsigned)j * 9176u;
  h ^= h >> 13, h *= 0x5bd1e995u, h ^= h >> 15;
  int v = (int)(h % 7) - 3;
  return abs(v) == 3 ? 0 : v;
}

static double Integers(int i, int j) /* dots of which are exact, so that (r, r^) vanishes */
{
  return Draw(drawn, i, j);
}

static double Graded(int i, int j)
{
  return pow(10, -0.6 * i) * (i == j ? 2 : abs(i - j) == 1 ? -1 : 0);
}

static double Scaled(int i, int j) /* rows of odd number by 1e9 */
{
  return (i % 2 ? 1e9 : 1) * Grid(i, j);
}

static double TwoSizes(int i, int j) /* rows of which M^-1 enlarges the residual */
{
  return i < 30 && j < 30 ? Grid(i, j) : i == j ? 1e-6 : 0;
}

static double Singular(int i, int j) /* a space of four vectors, one of which it maps to 0 */
{
  return i == j ? i % 4 : 0;
}

/* ---- (r, z) = 0 ------------------------------------------------------------------------------ */

static void TestIndefinitePreconditioner(PoiseContext ctx)
{
  static const char *const types[] = {"cg", "prcg", "minres"};
  static const char *const norms[] = {"default", "preconditioned", "unpreconditioned", "natural", "none"};
  for (int k = 0; k < 30; k++) {
    const char *type = types[k % 3], *norm = norms[k / 3 % 5];
    char words[200];
    Problem p;
    if (k % 3 == 2 && k / 3 % 5 == 2) continue; /* not offered */
    snprintf(words, sizeof words, "-ksp_type %s -ksp_norm_type %s -pc_type jacobi -ksp_max_it 30", type,
             norm);
    if (!Open(ctx, k < 15 ? 2 : 4, k < 15 ? SignedDiagonal : Saddle, NULL, words, &p)) return;
    Outcome o = SolveOnly(&p);
    CHECK_INT(o.reason, POISE_DIVERGED_INDEFINITE_PC);
    CHECK_INT(o.its, 0);
    ProblemClose(&p);
  }
}

/* prcg says what cg says, after as many iterations, replayed and not. */
/* Nor is a (r, z) that is rounding, before the first iteration either. */
static void TestNearlyNoNorm(PoiseContext ctx)
{
  static const char *const types[] = {"cg", "prcg", "minres"};
  for (int k = 0; k < 3; k++) {
    const double b[] = {1, 1 + 0x1p-52};
    char words[200];
    Problem p;
    snprintf(words, sizeof words, "-ksp_type %s -ksp_norm_type natural -pc_type jacobi -ksp_atol 1e-6",
             types[k]);
    if (!Open(ctx, 2, SignedDiagonal, b, words, &p)) return;
    CHECK_INT(SolveOnly(&p).reason, POISE_DIVERGED_INDEFINITE_PC);
    ProblemClose(&p);
  }
}

static double Huge(int i, int j)
{
  return 1e200 * Grid(i, j);
}

static double Small(int i, int j)
{
  return 1e-200 * Grid(i, j);
}

/* Where the squares of r or z overflow, and (r, z) does not, claims are true all the same. */
static void TestHugeSquares(PoiseContext ctx)
{
  static const char *const types[] = {"cg", "prcg", "minres"};
  for (int k = 0; k < 6; k++) {
    char words[200];
    Problem p;
    double b[MOST];
    for (int i = 0; i < 40; i++) b[i] = k < 3 ? 1e200 : 1;
    snprintf(words, sizeof words, "-ksp_type %s -ksp_norm_type natural -pc_type jacobi", types[k % 3]);
    if (!Open(ctx, 40, k < 3 ? Huge : Small, b, words, &p)) return;
    CHECK_INT(SolveOnly(&p).reason, POISE_CONVERGED_RTOL);
    CHECK(!*PoiseKSPReasonDetail(p.ksp));
    CHECK(TrueResidual(&p) < 1e-4);
    ProblemClose(&p);
  }
}

static void TestSameCounts(PoiseContext ctx)
{
  static const int replays[] = {0, 2, 8, 16};
  for (int k = 0; k < 8; k++) {
    Outcome o[2];
    for (int t = 0; t < 2; t++) {
      char words[200];
      Problem p;
      snprintf(words, sizeof words, "-ksp_type %s -pc_type %s -ksp_rtol 1e-10 -ksp_replay %d",
               t ? "prcg" : "cg", k < 4 ? "none" : "jacobi", replays[k % 4]);
      if (!Open(ctx, k < 4 ? 2 : 40, k < 4 ? TwoSigns : Negative, NULL, words, &p)) return;
      o[t] = SolveOnly(&p);
      ProblemClose(&p);
    }
    CHECK_INT(o[0].reason, k < 4 ? POISE_DIVERGED_INDEFINITE_MAT : POISE_CONVERGED_RTOL);
    CHECK_INT(o[1].reason, o[0].reason);
    CHECK_INT(o[1].its, o[0].its);
    if (k < 4) CHECK_INT(o[0].its, 1);
  }
}

/* ---- the check ------------------------------------------------------------------------------- */

/* One product, one application of M at most, no wait; as bits and counts are without it. */
static void TestPrice(PoiseContext ctx)
{
  static const struct {
    const char *words;
    int products, applications;
  } all[] = {
      {"-ksp_type cg -pc_type sor", 1, 0},
      {"-ksp_type cg -pc_type sor -ksp_norm_type natural", 1, 1},
      {"-ksp_type cg -pc_type sor -ksp_norm_type unpreconditioned", 1, 0},
      {"-ksp_type cg -pc_type jacobi", 1, 0},
      {"-ksp_type minres -pc_type sor", 1, 1},
      {"-ksp_type gmres -pc_type sor -ksp_pc_side right", 1, 0},
      {"-ksp_type fgmres -pc_type sor", 1, 0},
      {"-ksp_type bicgstab -pc_type sor", 1, 1},
      {"-ksp_type richardson -pc_type sor", 0, 0},
      {"-ksp_type cg -ksp_norm_type none -ksp_max_it 5", 0, 0},
  };
  for (int k = 0; k < (int)(sizeof all / sizeof *all); k++) {
    Outcome o[2];
    int applications = all[k].applications;
    for (int on = 0; on < 2; on++) {
      char words[200];
      Problem p;
      snprintf(words, sizeof words, "%s -ksp_rtol 1e-8 -ksp_verify %s", all[k].words, on ? "yes" : "no");
      if (!Open(ctx, 40, Grid, NULL, words, &p)) return;
      (void)SolveOnly(&p); /* sets up */
      o[on] = SolveOnly(&p);
      if (k == 0 && !p.ksp->loop.eager) applications = 1; /* it is ahead of the host */
      ProblemClose(&p);
    }
    CHECK(o[0].reason > 0);
    CHECK_INT(o[1].reason, o[0].reason);
    CHECK_INT(o[1].its, o[0].its);
    CHECK(!memcmp(o[0].x, o[1].x, sizeof o[0].x));
    CHECK_INT(o[1].calls[EVENT_MatMult] - o[0].calls[EVENT_MatMult], all[k].products);
    CHECK_INT(o[1].calls[EVENT_PCApply] - o[0].calls[EVENT_PCApply], applications);
    if (PoiseSize(ctx) == 1) CHECK_INT(o[1].waits, o[0].waits); /* else its sums wait, as all do */
    CHECK_INT(o[0].calls[EVENT_KSPVerify], 0);
    CHECK_INT(o[1].calls[EVENT_KSPVerify], all[k].products || k == 8);
  }
}

typedef struct Liar { /* products with A, after so many with another matrix */
  PoiseMat A, other;
  int lies, products;
} Liar;

static PoiseErr Mult_Liar(void *arg, PoiseVec x, PoiseVec y)
{
  Liar *l = arg;
  return PoiseMatMult(l->products++ < l->lies ? l->other : l->A, x, y);
}

static PoiseErr MultTransposed_Liar(void *arg, PoiseVec x, PoiseVec y)
{
  Liar *l = arg;
  return PoiseMatMultTranspose(l->products++ < l->lies ? l->other : l->A, x, y);
}

/* The product changes while a method iterates. Its claim is refuted, and it continues from x like a solve
   with that guess; */
static void GoesOn(PoiseContext ctx, const char *words)
{
  Problem p, fresh;
  Liar liar = {0};
  PoiseMat shell = NULL;
  PoiseInt m, count;
  const double *norms;
  PoiseShell functions = {.mult = Mult_Liar, .mult_transpose = MultTransposed_Liar};
  if (!Open(ctx, 40, Grid, NULL, words, &fresh)) return;
  if (!Open(ctx, 40, Grid, NULL, words, &p)) return;
  PoiseMatLocalSizes(p.A, &m, NULL);
  liar.A = p.A;
  CHECK_OK(PoiseMatDuplicate(p.A, 1, &liar.other));
  CHECK_OK(PoiseMatShift(liar.other, 1));
  CHECK_OK(PoiseMatCreateShell(ctx, m, m, 40, 40, &functions, &liar, &shell));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, p.A));
  CHECK_OK(PoiseKSPKeepHistory(p.ksp, 1));
  CHECK_OK(PoiseKSPSetVerify(p.ksp, 0));
  liar.lies = INT32_MAX;
  Outcome first = SolveOnly(&p); /* what is claimed */
  CHECK(first.reason > 0);
  liar.lies = liar.products, liar.products = 0;
  CHECK_OK(PoiseKSPSetVerify(p.ksp, 1));
  Outcome o = SolveOnly(&p);
  CHECK_OK(SampleToVec(first.x, fresh.x));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(fresh.ksp, 1));
  Outcome second = SolveOnly(&fresh);
  CHECK_INT(o.reason, second.reason);
  CHECK(o.reason > 0);
  CHECK_INT(o.its, first.its + second.its);
  CHECK_NEAR(o.norm, second.norm, 1e-12 * second.norm);
  for (int i = 0; i < 40; i++)
    if (!CHECK_NEAR(o.x[i], second.x[i], 1e-14 * fabs(second.x[i]))) break;
  CHECK_OK(PoiseKSPHistory(p.ksp, &count, &norms));
  CHECK_INT(count, o.its + 1);
  CHECK(norms[o.its] == o.norm);
  CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "1 claim before was not true") != NULL);
  PoiseMatDestroy(&shell);
  PoiseMatDestroy(&liar.other);
  ProblemClose(&p);
  ProblemClose(&fresh);
}

/* The product of the check differs from the others by a shift of the matrix. Does the claim go on? */
static void CheckShifted(PoiseContext ctx, EntryOf *a, const char *pc, double by, bool applies, bool refuted)
{
  Problem p;
  Liar liar = {0};
  PoiseMat shell = NULL;
  PoiseInt m;
  PoiseShell functions = {.mult = Mult_Liar};
  char words[200];
  double b[MOST];
  for (int i = 0; i < 40; i++) b[i] = a == TwoSizes && i >= 30 ? 1e-6 : 1;
  snprintf(words, sizeof words, "-ksp_type cg -ksp_rtol 1e-7 -pc_type %s", pc);
  if (!Open(ctx, 40, a, b, words, &p)) return;
  PoiseMatLocalSizes(p.A, &m, NULL);
  liar.other = p.A;
  CHECK_OK(PoiseMatDuplicate(p.A, 1, &liar.A));
  CHECK_OK(PoiseMatShift(liar.A, by));
  CHECK_OK(PoiseMatCreateShell(ctx, m, m, 40, 40, &functions, &liar, &shell));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, p.A));
  CHECK_OK(PoiseKSPSetVerify(p.ksp, 0));
  liar.lies = INT32_MAX;
  Outcome first = SolveOnly(&p); /* what is claimed */
  CHECK(first.reason > 0);
  liar.lies = liar.products, liar.products = 0;
  CHECK_OK(PoiseKSPSetVerify(p.ksp, 1));
  Outcome o = SolveOnly(&p);
  CHECK(o.reason > 0);
  CHECK_INT(o.its > first.its, refuted);
  CHECK_INT(strstr(PoiseKSPReasonDetail(p.ksp), "was not true") != NULL, refuted);
  if (!refuted) CHECK_INT(o.calls[EVENT_PCApply] - first.calls[EVENT_PCApply], applies);
  PoiseMatDestroy(&shell);
  PoiseMatDestroy(&liar.A);
  ProblemClose(&p);
}

/* If b - A x and the r of cg differ by little beside r, M is not applied, else it is. Then it decides, as
   M^-1 may make much of little: of the last, |b - A x| is |r| to 4 digits. */
static void TestCompared(PoiseContext ctx)
{
  CheckShifted(ctx, Grid, "sor", 0, false, false);
  CheckShifted(ctx, Grid, "sor", 1e-14, false, false);
  CheckShifted(ctx, Grid, "sor", 1e-10, true, false);
  CheckShifted(ctx, Grid, "sor", 1e-4, true, true);
  CheckShifted(ctx, Grid, "jacobi", 1e-10, false, false);
  CheckShifted(ctx, Grid, "jacobi", 1e-4, false, true);
  CheckShifted(ctx, TwoSizes, "sor", 1e-14, false, false);
  CheckShifted(ctx, TwoSizes, "sor", 2e-11, true, true);
}

static void TestGoesOn(PoiseContext ctx)
{
  static const char *const all[] = {
      "-ksp_type cg",
      "-ksp_type cg -ksp_norm_type unpreconditioned",
      "-ksp_type cg -ksp_norm_type natural",
      "-ksp_type prcg",
      "-ksp_type minres",
      "-ksp_type minres -ksp_norm_type natural",
      "-ksp_type gmres",
      "-ksp_type gmres -ksp_pc_side right",
      "-ksp_type fgmres -ksp_gmres_restart 30",
      "-ksp_type bicgstab",
      "-ksp_type bicgstab -ksp_pc_side right",
      "-ksp_type cgs",
      "-ksp_type cgs -ksp_pc_side right",
      "-ksp_type tfqmr",
      "-ksp_type tfqmr -ksp_pc_side right",
      "-ksp_type idr",
      "-ksp_type fcg -ksp_norm_type natural",
      "-ksp_type fcg -ksp_norm_type default -ksp_fcg_mmax 2",
      "-ksp_type gcr -ksp_gcr_restart 7",
      "-ksp_type symmlq",
      "-ksp_type qmrcgs",
      "-ksp_type bicg",
      "-ksp_type qmr",
      "-ksp_type qmr -ksp_pc_side right",
      "-ksp_type lgmres -ksp_gmres_restart 7",
      "-ksp_type lgmres -ksp_gmres_restart 5 -ksp_pc_side right",
      "-ksp_type bicg -ksp_norm_type unpreconditioned",
      "-ksp_type symmlq -ksp_norm_type natural",
      "-ksp_type bicgstabl",
      "-ksp_type bicgstabl -ksp_bcgsl_ell 5 -ksp_pc_side right",
      "-ksp_type idr -ksp_idr_smoothing -ksp_idr_s 1 -ksp_pc_side right",
  };
  for (size_t k = 0; k < 2 * sizeof all / sizeof *all; k++) {
    const char *words = all[k / 2];
    bool jacobi = k % 2 == 0;
    char full[200];
    if (!jacobi && k / 2 == 3) continue; /* prcg wants a diagonal */
    snprintf(full, sizeof full, "%s -pc_type %s -ksp_rtol 1e-7", words, jacobi ? "jacobi" : "sor");
    GoesOn(ctx, full);
  }
}

/* A recurrence that leaves the residual: without the check a convergence that is none. */
static void TestRefuted(PoiseContext ctx)
{
  static const char *const types[] = {"minres", "cg", "gmres -ksp_gmres_restart 200", "bicgstab"};
  int refuted = 0;
  for (int k = 0; k < 4; k++) {
    char words[200];
    Problem p;
    snprintf(words, sizeof words, "-ksp_type %s -ksp_rtol 1e-8 -ksp_verify no", types[k]);
    if (!Open(ctx, 12, Hilbert, NULL, words, &p)) return;
    Outcome o = SolveOnly(&p);
    bool lie = o.reason > 0 && TrueResidual(&p) > 1e-7;
    refuted += lie;
    CHECK_OK(PoiseKSPSetVerify(p.ksp, 1));
    o = SolveOnly(&p);
    if (o.reason > 0) CHECK(TrueResidual(&p) <= 1.001e-7);
    if (lie) CHECK(o.reason > 0 || o.reason == POISE_DIVERGED_BREAKDOWN);
    if (lie && o.reason == POISE_DIVERGED_BREAKDOWN) {
      CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "claimed a residual norm of") != NULL);
      CHECK_NEAR(o.norm / sqrt(12) / TrueResidual(&p), 1, 1e-6); /* that of the x that is delivered */
    }
    if (lie && o.reason > 0) CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "before") != NULL);
    ProblemClose(&p);
  }
  CHECK(refuted > 0);
}

static _Thread_local double shift; /* of Nearly: the condition is 8 / shift */

static double Nearly(int i, int j) /* Neumann's Laplacian on 8 x 8 points, nearly singular */
{
  int dx = abs(i % 8 - j % 8), dy = abs(i / 8 - j / 8), x = i % 8, y = i / 8;
  return i == j ? shift + (x > 0) + (x < 7) + (y > 0) + (y < 7) : dx + dy == 1 ? -1 : 0;
}

/* Is |b - A x| rounding? |A| is 8. */
static bool IsRounding(const Problem *p)
{
  return ProblemResidual(p) <= 100 * DBL_EPSILON * (NormOf(p->b) + 8 * NormOf(p->x));
}

static bool Stands(const Problem *p)
{
  return strstr(PoiseKSPReasonDetail(p->ksp), "true to rounding") != NULL;
}

/* A solution that is exact to rounding has converged, though M^-1 enlarges rounding beyond the tolerance. */
static void TestRounding(PoiseContext ctx)
{
  static const char *const pcs[] = {"lu", "icc", "amg -pc_amg_precision double",
                                    "amg -pc_amg_precision single"};
  static const char *const types[] = {"cg", "gmres"};
  int stand = 0;
  for (int k = 0; k < 8 * 4 * 2; k++) {
    char words[200];
    Problem p;
    bool single = strstr(pcs[k / 8 % 4], "single");
    shift = pow(10, -6 - k % 8);
    snprintf(words, sizeof words,
             "-ksp_type %s -ksp_rtol 1e-8 -ksp_max_it 500 -pc_amg_coarse_size 10 -pc_type %s", types[k / 32],
             pcs[k / 8 % 4]);
    if (!Open(ctx, 64, Nearly, NULL, words, &p)) return;
    CHECK_OK(PoiseVecSetRandom(p.x, 3));
    CHECK_OK(PoiseMatMult(p.A, p.x, p.b)); /* x is of size 1 */
    Outcome o = SolveOnly(&p);
    CHECK(single || o.reason > 0);
    CHECK(o.reason < 0 || TrueResidual(&p) <= (single ? 1e-6 : 1e-7)); /* tested is the norm of M (b - A x) */
    stand += Stands(&p);
    CHECK_OK(PoiseVecSetRandom(p.b, 3)); /* and of size 1 / shift */
    o = SolveOnly(&p);
    if (Stands(&p)) CHECK(IsRounding(&p) || TrueResidual(&p) <= 1e-7);
    if (k / 8 % 4 == 0) CHECK(o.reason > 0);
    ProblemClose(&p);
  }
  CHECK(stand > 0);
}

/* Solvers inside are not checked unless asked for. */
static void TestInside(PoiseContext ctx)
{
  for (int on = 0; on < 2; on++) {
    Problem p;
    char words[200];
    snprintf(words, sizeof words,
             "-ksp_type fgmres -pc_type ksp -ksp_ksp_type cg -ksp_ksp_rtol 1e-2 -ksp_rtol 1e-9%s",
             on ? " -ksp_ksp_verify" : "");
    if (!Open(ctx, 40, Grid, NULL, words, &p)) return;
    Outcome o = SolveOnly(&p);
    CHECK(o.reason > 0);
    CHECK_INT(o.calls[EVENT_KSPVerify], on ? 1 + o.its : 1);
    ProblemClose(&p);
  }
}

static void TestInaccurate(PoiseContext ctx)
{
  double b[MOST];
  Problem p;
  for (int i = 0; i < MOST; i++) b[i] = i % 2 ? 0 : 1;
  if (!Open(ctx, 40, Scaled, b, "-ksp_type gmres -pc_type jacobi", &p)) return;
  CHECK_INT(SolveOnly(&p).reason, POISE_CONVERGED_RTOL);
  CHECK(TrueResidual(&p) > 0.01);
  CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "WARNING: |b - A x| is") != NULL);
  CHECK_OK(PoiseKSPSetErrorIfInaccurate(p.ksp, 1));
  CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), POISE_ERR_NOT_CONVERGED, "|b - A x| is");
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-14, -1, -1, -1));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(!*PoiseKSPReasonDetail(p.ksp));
  ProblemClose(&p);
}

/* The norm of iteration 20 by the recurrence, or as computed at a restart. */
static double NormAt20(Problem *p, int restart)
{
  PoiseInt n = 0;
  const double *norms;
  CHECK_OK(PoiseKSPGMRESSetRestart(p->ksp, restart));
  SolveOnly(p);
  CHECK_OK(PoiseKSPHistory(p->ksp, &n, &norms));
  return n > 20 ? norms[20] / norms[0] : NAN;
}

static PoiseErr BuildEach(PoiseKSP ksp, PoiseInt iteration, double norm, void *x)
{
  (void)iteration, (void)norm;
  return PoiseKSPBuildSolution(ksp, x);
}

/* A claim at a restart brings no warning, although its residual has been overwritten since. A replayed loop
   or a requested iterate does that. */
static void TestAtRestart(PoiseContext ctx)
{
  int claims = 0;
  for (int k = 0; k < 40; k++) {
    double b[MOST];
    const char *options =
        k % 2 ? "-ksp_type gmres -ksp_rtol 1e-15 -ksp_replay 0" : "-ksp_type gmres -ksp_rtol 1e-15";
    Problem p;
    for (int i = 0; i < 40; i++) b[i] = TestRandom(90 + (uint64_t)k / 2, (uint64_t)i);
    if (!Open(ctx, 40, Grid, b, options, &p)) return;
    CHECK_OK(PoiseKSPKeepHistory(p.ksp, 1));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, -1, 0, -1, 21));
    double recurrence = NormAt20(&p, 40), computed = NormAt20(&p, 20);
    if (computed < recurrence * (1 - 1e-12)) {
      CHECK_OK(PoiseKSPSetTolerances(p.ksp, (computed + recurrence) / 2, 0, -1, 100));
      if (k % 2) CHECK_OK(PoiseKSPAddMonitor(p.ksp, BuildEach, p.x));
      Outcome o = SolveOnly(&p);
      claims += o.reason == POISE_CONVERGED_RTOL && o.its == 20;
      CHECK(!*PoiseKSPReasonDetail(p.ksp));
    }
    ProblemClose(&p);
  }
  CHECK(claims > 0);
}

/* ---- starting afresh, restarts --------------------------------------------------------------- */

/* What BiCGSTAB returns when it gives up is the x that it had when it first started afresh: because it starts
   afresh again, or diverges. */
static void TestAfresh(PoiseContext ctx)
{
  static const struct {
    unsigned seed;
    int n, its;
    double residual;
  } all[] = {{2366, 4, 2, 0.612372}, {2195, 4, 2, 1.41421}, {244, 3, 3, 0.907452}};
  for (int k = 0; k < 6; k++) {
    double b[MOST] = {0};
    char words[200];
    Problem p;
    drawn = all[k % 3].seed;
    for (int i = 0; i < all[k % 3].n; i++) b[i] = Draw(drawn + 77777, i, 0);
    snprintf(words, sizeof words, "-ksp_type bicgstab -ksp_pc_side %s -ksp_max_it 500",
             k < 3 ? "left" : "right");
    if (!Open(ctx, all[k % 3].n, Integers, b, words, &p)) return;
    Outcome o = SolveOnly(&p);
    CHECK_INT(o.reason, POISE_DIVERGED_BREAKDOWN);
    CHECK(o.its <= all[k % 3].its + 1); /* devices sum in different orders */
    CHECK_NEAR(TrueResidual(&p), all[k % 3].residual, 1e-5);
    CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "started afresh") != NULL);
    ProblemClose(&p);
  }
}

static void TestDeparture(PoiseContext ctx)
{
  Problem p;
  if (!Open(ctx, 40, Graded, NULL, "-ksp_type gmres -ksp_rtol 1e-13 -ksp_gmres_restart 40 -ksp_max_it 400",
            &p))
    return;
  Outcome o = SolveOnly(&p);
  CHECK_INT(o.reason, POISE_DIVERGED_BREAKDOWN);
  CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "by the recurrence it would be") != NULL);
  CHECK(strstr(PoiseKSPReasonDetail(p.ksp), "refine_ifneeded") != NULL);
  CHECK_NEAR(o.norm / sqrt(40) / TrueResidual(&p), 1, 1e-6);
  ProblemClose(&p);
}

/* A space that is exhausted: what is left of a column is rounding, and dividing by it would make x large. On
   several ranks, or a GPU, the rounding may be just too large to be seen as such; the claim is refuted
   then. */
static void TestDropped(PoiseContext ctx)
{
  Problem p;
  double most = 0;
  if (!Open(ctx, 40, Singular, NULL,
            "-ksp_type gmres -ksp_rtol 1e-9 -ksp_gmres_restart 60 -ksp_gmres_cgs_refinement_type "
            "refine_ifneeded",
            &p))
    return;
  Outcome o = SolveOnly(&p);
  CHECK_INT(o.reason, POISE_DIVERGED_BREAKDOWN);
  bool dropped =
      !strcmp(PoiseKSPReasonDetail(p.ksp), "the Krylov space is exhausted: K is singular, or nearly so");
  if (PoiseSize(ctx) == 1 && strcmp(ctx->device->ops->name, "cuda")) CHECK(dropped);
  for (int i = 0; i < 40; i++) most = fmax(most, fabs(o.x[i]));
  if (dropped) CHECK(most < 10 && o.its <= 8); /* the space twice */
  if (dropped) CHECK(TrueResidual(&p) <= 1);
  ProblemClose(&p);
}

/* ---- squares that are no numbers ------------------------------------------------------------- */

/* Scaling by a power of 2 changes nothing else: the same iterations, and every bit of x. */
static void TestScaling(PoiseContext ctx)
{
  static const char *const types[] = {"cg",         "prcg",      "minres", "gmres",  "fgmres", "bicgstab",
                                      "richardson", "chebyshev", "cgs",    "tfqmr",  "idr",    "bicgstabl",
                                      "fcg",        "gcr",       "symmlq", "qmrcgs", "bicg",   "lsqr",
                                      "cgls",       "lgmres",    "qmr"};
  enum { TYPES = sizeof types / sizeof *types };
  static const int powers[] = {-600, -500, 520, 700};
  for (int k = 0; k < 8 * TYPES; k++) {
    const char *type = types[k % TYPES];
    int power = powers[k / TYPES % 4], guess = k / (4 * TYPES);
    double b[MOST], x0[MOST];
    char words[200];
    Problem p;
    for (int i = 0; i < MOST; i++) b[i] = TestRandom(1, (uint64_t)i), x0[i] = TestRandom(2, (uint64_t)i);
    snprintf(words, sizeof words,
             "-ksp_type %s -pc_type jacobi -ksp_atol 0 -ksp_max_it 60 -ksp_initial_guess_nonzero %s", type,
             guess ? "yes" : "no");
    if (!Open(ctx, 40, Grid, b, words, &p)) return;
    CHECK_OK(SampleToVec(x0, p.x));
    Outcome plain = SolveOnly(&p);
    CHECK_OK(SampleToVec(b, p.b));
    CHECK_OK(PoiseVecScale(p.b, ldexp(1, power)));
    CHECK_OK(SampleToVec(x0, p.x));
    CHECK_OK(PoiseVecScale(p.x, ldexp(1, power)));
    Outcome o = SolveOnly(&p);
    CHECK_INT(o.reason, plain.reason);
    CHECK_INT(o.its, plain.its);
    CHECK(o.norm == ldexp(plain.norm, power));
    for (int i = 0; i < 40; i++)
      if (!CHECK(o.x[i] == ldexp(plain.x[i], power))) break;
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, -1, ldexp(10, power), -1, -1)); /* in units of b */
    o = SolveOnly(&p);
    CHECK_INT(o.reason, POISE_CONVERGED_ATOL);
    ProblemClose(&p);
  }
}

/* M^-1 b is 0 by underflow until b is scaled, and its square is until it is scaled again. */
static void TestTwice(PoiseContext ctx)
{
  PoiseMat P;
  Problem p;
  if (!Open(ctx, 40, Grid, NULL, "-ksp_type cg -pc_type jacobi -ksp_atol 0 -ksp_rtol 1e-9", &p)) return;
  CHECK_OK(PoiseMatDuplicate(p.A, 1, &P));
  CHECK_OK(PoiseMatScale(P, 1e200));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, p.A, P));
  CHECK_OK(PoiseVecSet(p.b, 1e-200));
  CHECK(SolveOnly(&p).reason > 0);
  CHECK(TrueResidual(&p) < 1e-7);
  PoiseMatDestroy(&P);
  ProblemClose(&p);
}

/* Tiny b, with the default absolute tolerance: solved, as in PETSc; and b = 0. */
static void TestTiny(PoiseContext ctx)
{
  double b[MOST] = {0};
  Problem p;
  if (!Open(ctx, 40, Grid, b, "-ksp_type cg -ksp_atol 0", &p)) return;
  Outcome o = SolveOnly(&p);
  CHECK(o.reason > 0);
  CHECK_INT(o.its, 0);
  for (int i = 0; i < 40; i++) b[i] = 1e-170;
  CHECK_OK(SampleToVec(b, p.b));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, -1, 1e-50, -1, -1));
  o = SolveOnly(&p);
  CHECK_INT(o.reason, POISE_CONVERGED_ATOL);
  CHECK_INT(o.its, 0);
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, 0, -1, -1));
  o = SolveOnly(&p);
  CHECK_INT(o.reason, POISE_CONVERGED_RTOL);
  CHECK_NEAR((Grid(0, 0) * o.x[0] - o.x[1]) / 1e-170, 1, 1e-8);
  ProblemClose(&p);
}

/* If the square of a tiny b is 0, rtol is not relative to the residual of the guess. The same holds for b
   of 1e-100, whose square is not 0. */
static void TestTinyBesideGuess(PoiseContext ctx)
{
  static const char *const types[] = {
      "cg",        "prcg", "minres", "gmres",  "fgmres", "bicgstab", "richardson", "cgs",  "tfqmr",  "idr",
      "bicgstabl", "fcg",  "gcr",    "symmlq", "qmrcgs", "bicg",     "lsqr",       "cgls", "lgmres", "qmr"};
  enum { TYPES = sizeof types / sizeof *types };
  static const double sizes[] = {1e-100, 1e-155, 1e-170};
  double b[MOST], x0[MOST];
  for (int k = 0; k < TYPES * 3; k++) {
    char words[200];
    Problem p;
    for (int i = 0; i < 40; i++)
      b[i] = sizes[k / TYPES] * TestRandom(1, (uint64_t)i), x0[i] = TestRandom(2, (uint64_t)i);
    snprintf(words, sizeof words,
             "-ksp_type %s -pc_type jacobi -ksp_atol 0 -ksp_divtol 1e300 -ksp_rtol 1e-6 "
             "-ksp_initial_guess_nonzero yes "
             "-ksp_max_it 5000",
             types[k % TYPES]);
    if (!Open(ctx, 40, Grid, b, words, &p)) return;
    CHECK_OK(SampleToVec(x0, p.x));
    Outcome o = SolveOnly(&p);
    CHECK(o.reason < 0 || TrueResidual(&p) < 1e-4);
    if (k % TYPES == 0) CHECK(o.reason > 0);
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, -1, -1, 1e4, -1));
    CHECK_OK(SampleToVec(x0, p.x));
    CHECK_INT(SolveOnly(&p).reason, POISE_DIVERGED_DTOL);
    CHECK_OK(PoiseVecSet(p.b, 0)); /* relative to the guess's residual */
    CHECK_OK(SampleToVec(x0, p.x));
    CHECK_INT(SolveOnly(&p).reason, POISE_CONVERGED_RTOL);
    ProblemClose(&p);
  }
}

/* The largest entry of b - A x over that of b, whose squares are no numbers. */
static double LargestResidual(const Problem *p)
{
  PoiseVec r;
  double most = NAN, of_b = NAN;
  if (!CHECK_OK(PoiseVecDuplicate(p->b, &r))) return NAN;
  CHECK_OK(PoiseMatMult(p->A, p->x, r));
  CHECK_OK(PoiseVecAYPX(r, -1, p->b));
  CHECK_OK(PoiseVecNorm(r, POISE_NORM_INF, &most));
  CHECK_OK(PoiseVecNorm(p->b, POISE_NORM_INF, &of_b));
  CHECK_OK(PoiseVecDestroy(&r));
  return most / of_b;
}

/* A residual of the guess that is 1e280 times b and more: no scaling brings both squares into range. A is
   scaled too, so that M^-1 b is 0 by underflow. */
static void TestAbsurdGuess(PoiseContext ctx)
{
  static const char *const types[] = {
      "cg",        "prcg", "minres", "gmres",  "fgmres", "bicgstab", "richardson", "cgs",  "tfqmr",  "idr",
      "bicgstabl", "fcg",  "gcr",    "symmlq", "qmrcgs", "bicg",     "lsqr",       "cgls", "lgmres", "qmr"};
  enum { TYPES = sizeof types / sizeof *types };
  static const double sizes[][3] = {
      {1e-200, 1e200, 1}, {1e-160, 1e150, 1}, {1e-300, 1, 1}, {1e-300, 1, 1e100}};
  double b[MOST], x0[MOST];
  for (int k = 0; k < TYPES * 4; k++) {
    const double *size = sizes[k / TYPES];
    char words[200];
    Problem p;
    for (int i = 0; i < 40; i++)
      b[i] = size[0] * TestRandom(1, (uint64_t)i), x0[i] = size[1] * TestRandom(2, (uint64_t)i);
    snprintf(words, sizeof words,
             "-ksp_type %s -pc_type jacobi -ksp_atol 0 -ksp_rtol 1e-6 -ksp_initial_guess_nonzero yes "
             "-ksp_max_it 100",
             types[k % TYPES]);
    if (!Open(ctx, 40, Grid, b, words, &p)) return;
    CHECK_OK(PoiseMatScale(p.A, size[2]));
    CHECK_OK(SampleToVec(x0, p.x));
    PoiseKSPReason reason = SolveOnly(&p).reason; /* r may overflow where M^-1 r does not */
    CHECK(reason == POISE_DIVERGED_DTOL || (size[2] > 1 && reason == POISE_DIVERGED_NANORINF));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, -1, -1, 1e300, -1));
    CHECK_OK(SampleToVec(x0, p.x));
    CHECK(SolveOnly(&p).reason < 0 || LargestResidual(&p) < 1e-4);
    ProblemClose(&p);
  }
}

/* Without a norm, too. */
static void TestHugeWithoutNorm(PoiseContext ctx)
{
  static const char *const types[] = {"cg",     "prcg",   "minres", "gmres",     "fgmres", "bicgstab",
                                      "cgs",    "tfqmr",  "idr",    "bicgstabl", "fcg",    "gcr",
                                      "symmlq", "qmrcgs", "bicg",   "lgmres",    "qmr"};
  double b[MOST];
  for (int i = 0; i < 40; i++) b[i] = 1e170;
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    char words[200];
    Problem p;
    snprintf(words, sizeof words, "-ksp_type %s -ksp_norm_type none -ksp_max_it 15", types[k]);
    if (!Open(ctx, 40, Grid, b, words, &p)) return;
    CHECK_INT(SolveOnly(&p).reason, POISE_CONVERGED_ITS);
    CHECK(TrueResidual(&p) < 1e-3);
    ProblemClose(&p);
  }
}

int main(int argc, char **argv)
{
  static const Test tests[] = {
      {"indefinite_pc", TestIndefinitePreconditioner, 0},
      {"nearly_no_norm", TestNearlyNoNorm, 0},
      {"huge_squares", TestHugeSquares, 0},
      {"same_counts", TestSameCounts, 0},
      {"price", TestPrice, 0},
      {"compared", TestCompared, 0},
      {"goes_on", TestGoesOn, 0},
      {"refuted", TestRefuted, 0},
      {"rounding", TestRounding, 0},
      {"inside", TestInside, 0},
      {"inaccurate", TestInaccurate, 0},
      {"at_restart", TestAtRestart, 0},
      {"afresh", TestAfresh, 0},
      {"departure", TestDeparture, 0},
      {"dropped", TestDropped, 0},
      {"scaling", TestScaling, 0},
      {"twice", TestTwice, 0},
      {"tiny", TestTiny, 0},
      {"tiny_beside_guess", TestTinyBesideGuess, 0},
      {"absurd_guess", TestAbsurdGuess, 0},
      {"huge_without_norm", TestHugeWithoutNorm, 0},
      {NULL, NULL, 0},
  };
  return TestMain(argc, argv, "claim", tests);
}

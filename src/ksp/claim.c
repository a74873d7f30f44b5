/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Check a method's claim of convergence before it is reported, as its recurrence may have drifted from the
  residual. b - A x is computed once, in the norm that was tested. A norm above ten times the tolerance
  refutes the claim, and the method continues from x. If the next refuted claim has not halved the norm, the
  solve has broken down, and the better x is the result.

  Where M is no diagonal, the preconditioned norm of b - A x costs one more application of M, which may be a
  tenth of a solve. If a recurrence has r and M^-1 r, then b - A x is first compared with r. Let e be what
  they differ by, and k the condition of M. Then |M^-1 e| <= |M^-1| |e| <= k |M^-1 r| |e| / |r|, as |r| is at
  most |M| |M^-1 r|. The claim is that |M^-1 r| is within the tolerance. So |M^-1 (b - A x)| is within MARGIN
  times the tolerance if k |e| <= (MARGIN - 1) |r|. For k up to CONDITION that proves the claim, and M is not
  applied. With a larger k it may miss what an application would show: an e little beside r, of which M^-1
  makes much.
*/
#include <float.h>

#include "claim.h"
#include "dots.h"
#include "methods.h"
#include "solve.h"

enum {
  MARGIN = 10,  /* factor of the tolerance by which rounding may make a sound recurrence differ */
  ROUNDING = 64 /* times eps: rounding of x and of b - A x */
};

#define CONDITION 1e6  /* of M, up to which a comparison proves what an application of M would show */
#define WORTHLESS 0.01 /* |b - A x| / |b| of a success that is */

static bool IsLeft(PoiseKSP ksp)
{
  return ksp->norm != POISE_KSP_NORM_UNPRECONDITIONED;
}

/* The work vector that holds b - A x, from which the norm of the claim was computed; 0 if it was
   overwritten; or -1. */
static int Known(PoiseKSP ksp)
{
  bool kept = ksp->type->residual && !ksp->solve.claim.refuted && !ksp->systems.n; /* of a system that has
                                                                                       ended it may not be */
  return kept ? ksp->type->residual(ksp) : -1;
}

/* Is the norm sqrt(r, z), or a multiple of it? */
static bool IsNatural(PoiseKSP ksp)
{
  return ksp->norm == POISE_KSP_NORM_NATURAL || ksp->type->factor;
}

/* Is a success checked? From the left |b - A x| itself is wanted too, see poiseKSPInaccuracy. */
static bool Verifies(PoiseKSP ksp)
{
  bool has_norm = !ksp->user.test && ksp->norm != POISE_KSP_NORM_NONE;
  return ksp->options.verify && has_norm && (IsLeft(ksp) || Known(ksp) < 0);
}

/* Products with A^T are not skipped, so those of a claim are made when there is one. */
bool poiseKSPForesees(PoiseKSP ksp, bool *checks)
{
  bool foresees = (!ksp->type->finish || ksp->type->foreseen) && !ksp->type->squares && !ksp->systems.n;
  *checks = foresees && Verifies(ksp);
  return foresees;
}

/* Must the claim be checked? At the first norm b - A x has just been computed, but (r, z) may be no norm, and
   A^T (b - A x) may have vanished by underflow. */
bool poiseKSPChecks(PoiseKSP ksp)
{
  bool fails = ksp->result.reason < 0,
       first = ksp->result.its == ksp->solve.base && !IsNatural(ksp) && !ksp->type->squares;
  return Verifies(ksp) && (ksp->solve.claim.refuted || (!fails && !first));
}

/* Is b - A x compared with r before M is applied? Where the loop is replayed, the application is enqueued
   before the host has seen the comparison. A diagonal costs no pass. (r, z) may be no norm, and a null space
   may hold r. The same on all ranks, of which some may have dense blocks. */
static bool Compares(PoiseKSP ksp)
{
  return ksp->type->recurrence && ksp->loop.eager && !ksp->systems.n && !ksp->pc->type->pointwise &&
         ksp->norm == POISE_KSP_NORM_PRECONDITIONED && !ksp->A->null.n && !ksp->solve.claim.refuted;
}

enum { RHO = 2 }; /* the work vector for b - A x that is compared */

/* (rho, r) and (r, r) take the place of (rho, z) and (z, z). */
static void Compare(PoiseKSP ksp, const double *b, bool delivers, double *to)
{
  const double *r = ksp->v[ksp->type->recurrence], *rho = ksp->v[RHO];
  poiseKSPMult(ksp, ksp->work[0], ksp->work[RHO], NULL);
  poiseKSPCheckPhase(ksp, b, RHO, NO_SLOT, delivers, to);
  poiseKSPPhase(ksp, PHASE_vec_dot2, (PhaseArgs){READS(VEC_X, rho), READS(VEC_Y, r)}, SLOT_CHECK_RZ,
                SLOT_CHECK_ZZ);
}

bool poiseKSPDoubts(PoiseKSP ksp, const double *slots)
{
  const double allowed = (MARGIN - 1) / CONDITION, rr = slots[SLOT_CHECK_ZZ];
  double ee = slots[SLOT_TRUE_RESIDUAL] - 2 * slots[SLOT_CHECK_RZ] + rr; /* true to eps rr, which is less */
  if (!Compares(ksp)) return false;
  ksp->solve.claim.proven = ee <= allowed * allowed * rr;
  return !ksp->solve.claim.proven;
}

void poiseKSPPreconditionClaim(PoiseKSP ksp)
{
  PoiseVec z = ksp->work[ksp->type->recurrence]; /* r is no longer needed */
  Fuse f = {0};
  poiseLogBegin(ksp->ctx, EVENT_KSPVerify);
  poiseKSPAddDot(ksp, &f, ksp->v[RHO], SLOT_CHECK_RZ);
  poiseKSPAddDot(ksp, &f, NULL, SLOT_CHECK_ZZ);
  poiseKSPPrecondition(ksp, ksp->work[RHO], z, &f);
  poiseKSPPublish(ksp);
  poiseLogEnd(ksp->ctx, EVENT_KSPVerify, 0, 0);
}

/* Of least squares: r = b - A x, s = A^T r, z = M^-1 s; dots (r, r), (s, s), (s, z). */
static void MeasureSquares(PoiseKSP ksp, const double *b)
{
  enum { X, S, Z };
  int r = poiseKSPRowsVector(ksp);
  Fuse f = {0};
  poiseKSPMult(ksp, ksp->work[X], ksp->work[r], NULL);
  poiseKSPCheckPhase(ksp, b, r, NO_SLOT, false, NULL);
  poiseKSPMultTransposed(ksp, ksp->work[r], ksp->work[S]);
  poiseKSPPhase(ksp, PHASE_vec_dot, (PhaseArgs){READS(VEC_X, ksp->v[S]), READS(VEC_Y, ksp->v[S])},
                SLOT_CHECK_ZZ, NO_SLOT);
  poiseKSPAddDot(ksp, &f, ksp->v[S], SLOT_CHECK_RZ);
  poiseKSPPrecondition(ksp, ksp->work[S], ksp->work[Z], &f);
}

static bool Measure(PoiseKSP ksp, const double *b, bool delivers, double *to)
{
  enum { X, R, Z };
  int known = Known(ksp);
  if (known > 0) {
    const double *r = ksp->v[known];
    poiseKSPPhase(ksp, PHASE_vec_dot, (PhaseArgs){READS(VEC_X, r), READS(VEC_Y, r)}, SLOT_TRUE_RESIDUAL,
                  NO_SLOT);
    poiseKSPPhase(ksp, PHASE_vec_dot, (PhaseArgs){READS(VEC_X, b), READS(VEC_Y, b)}, SLOT_CHECK_BB, NO_SLOT);
    return false;
  }
  if (ksp->type->squares) {
    MeasureSquares(ksp, b);
    return false;
  }
  if (Compares(ksp)) {
    Compare(ksp, b, delivers, to);
    return delivers;
  }
  poiseKSPMult(ksp, ksp->work[X], ksp->work[R], NULL);
  poiseKSPCheckPhase(ksp, b, R, IsLeft(ksp) ? Z : NO_SLOT, delivers, to);
  return delivers;
}

bool poiseKSPMeasure(PoiseKSP ksp, bool delivers, double *to)
{
  const double *b = NULL;
  PoiseErr e = poiseVecRead(ksp->solve.b, &b);
  poiseKSPFailed(ksp, e);
  poiseLogBegin(ksp->ctx, EVENT_KSPVerify);
  bool delivered =
      Measure(ksp, e ? ksp->v[0] : b, delivers, to); /* also after a failure, as other ranks do so */
  poiseLogEnd(ksp->ctx, EVENT_KSPVerify, 0, 0);      /* nested events count */
  return delivered;
}

/* Of two x for least squares that one is better whose A^T (b - A x) is shorter. */
static int SlotOfNorm(PoiseKSP ksp)
{
  if (ksp->type->squares) return SLOT_CHECK_ZZ;
  if (!IsLeft(ksp)) return SLOT_TRUE_RESIDUAL;
  return IsNatural(ksp) ? SLOT_CHECK_RZ : SLOT_CHECK_ZZ;
}

/* The norm that was tested, from its square. */
static double Norm(PoiseKSP ksp, double square)
{
  double factor = ksp->type->factor ? ksp->result.slots[ksp->type->factor] : 1;
  return factor * sqrt(fabs(square));
}

/* Is (r, z) only rounding, and so no norm? M is then indefinite, and r may be anything. The part of r in
   the null space does not count in (r, z), and is no sign of this. Squares that overflow say nothing. */
static bool IsNoNorm(PoiseKSP ksp, const double *slots)
{
  double rz = slots[SLOT_CHECK_RZ], zz = slots[SLOT_CHECK_ZZ], rr = slots[SLOT_TRUE_RESIDUAL];
  if (!IsLeft(ksp) || !IsNatural(ksp) || ksp->A->null.n || !poiseFinite(rr) || !poiseFinite(zz)) return false;
  return rr > 0 && fabs(rz) <= DBL_EPSILON * sqrt(rr) * sqrt(zz);
}

/* The norm that was tested. */
static double Computed(PoiseKSP ksp, const double *slots)
{
  return IsNoNorm(ksp, slots) ? INFINITY : Norm(ksp, slots[SlotOfNorm(ksp)]);
}

static double Tolerance(PoiseKSP ksp)
{
  const double *s = ksp->result.slots;
  return fmax(s[SLOT_RTOL] * s[SLOT_NORM0], s[SLOT_ATOL]);
}

/* The claim of a method for least squares is about |b - A x|, or about A^T (b - A x), in the norm that was
   tested. The latter's tolerance is relative to |A| |b - A x| if |b - A x| is tested beside it. */
static PoiseErr ToleranceOfSquares(PoiseKSP ksp, const double *slots, double *norm, double *tolerance)
{
  const double *s = ksp->result.slots;
  bool normal =
      ksp->result.reason == POISE_CONVERGED_RTOL_NORMAL || ksp->result.reason == POISE_CONVERGED_ATOL_NORMAL;
  double r = sqrt(slots[SLOT_TRUE_RESIDUAL]);
  bool only = ksp->type->squares == TESTS_NORMAL;
  *norm = only ? sqrt(slots[SLOT_CHECK_ZZ]) : normal ? sqrt(fabs(slots[SLOT_CHECK_RZ])) : r;
  *tolerance = Tolerance(ksp);
  if (normal) *tolerance = fmax(s[SLOT_RTOL] * ksp->type->size_of_a(ksp) * r, s[SLOT_ATOL]);
  if (*norm > 0 || !(only || normal)) return POISE_OK;
  bool forbids = poiseDeviceForbid(ksp->ctx->device, false);
  PoiseErr e = PoiseVecNorm(ksp->work[1], POISE_NORM_2, norm); /* its square may be too small for a number */
  poiseDeviceForbid(ksp->ctx->device, forbids);
  return e;
}

/* What rounding leaves of |b - A x| and of |A^T (b - A x)|, as IsRounding has it for others. */
static PoiseErr RoundingOfSquares(PoiseKSP ksp, double *residual, double *normal)
{
  const double eps = ROUNDING * DBL_EPSILON;
  PoiseVec r = ksp->work[poiseKSPRowsVector(ksp)], t = ksp->work[1], z = ksp->work[2];
  double rr, ss;
  TRY(PoiseVecSetRandom(t, 1));
  TRY(PoiseVecPointwiseMult(t, t, ksp->work[0]));
  poiseKSPMult(ksp, t, r, NULL);
  poiseKSPMultTransposed(ksp, r, t);
  poiseKSPPrecondition(ksp, t, z, NULL);
  TRY(PoiseVecAXPY(r, 1, ksp->solve.b));
  TRY(PoiseVecNorm(r, POISE_NORM_2, &rr));
  if (ksp->type->squares == TESTS_NORMAL) z = t;
  TRY(PoiseVecDot(t, z, &ss));
  *residual = eps * rr;
  *normal = eps * (sqrt(fabs(ss)) + ksp->type->size_of_a(ksp) * ksp->solve.claim.residual);
  return ksp->solve.failed;
}

double poiseKSPMost(PoiseKSP ksp, int *slot)
{
  *slot = SlotOfNorm(ksp);
  return ksp->solve.claim.best_square;
}

/* e = 64 eps v (b + A (w x)), with random v and w in [-1, 1) for each entry: what rounding may leave of
   b - A x. Entries of one size do not cancel in it, and it is in no range of A. */
static PoiseErr Rounding(PoiseKSP ksp, uint64_t seed, PoiseVec e, PoiseVec t)
{
  TRY(PoiseVecSetRandom(t, seed));
  TRY(PoiseVecPointwiseMult(t, t, ksp->work[0]));
  poiseKSPMult(ksp, t, e, NULL);
  TRY(PoiseVecAXPY(e, 1, ksp->solve.b));
  TRY(PoiseVecSetRandom(t, seed + 1));
  TRY(PoiseVecPointwiseMult(e, e, t));
  return PoiseVecScale(e, ROUNDING * DBL_EPSILON);
}

/* Its norms, plain and as the method has it of b - A x. M may enlarge some errors alone, so that one vector
   of them may say too little. */
static PoiseErr NormsOfRounding(PoiseKSP ksp, double *plain, double *tested)
{
  enum { PROBES = 3 };
  PoiseVec e = ksp->work[1], z = ksp->work[2];
  double ee, square;
  for (uint64_t k = 0; k < PROBES; k++) {
    TRY(Rounding(ksp, 1 + 2 * k, e, z));
    TRY(PoiseVecDot(e, e, &ee));
    if (IsLeft(ksp)) poiseKSPPrecondition(ksp, e, z, NULL);
    if (IsLeft(ksp)) TRY(PoiseVecDot(IsNatural(ksp) ? e : z, z, &square));
    *plain = fmax(*plain, sqrt(ee));
    *tested = fmax(*tested, Norm(ksp, IsLeft(ksp) ? square : ee));
  }
  return ksp->solve.failed;
}

/* Is the norm no more than what rounding leaves of a solution? M enlarges that too, the more the nearer A is
   to singular. What M makes small does not count: |b - A x| itself is within the tolerance of |b|, or
   rounding. Of an x that has grown without bound anything is rounding, so that is little beside |b| too.
   A claim that fails is rare, so this may wait. */
static PoiseErr IsRounding(PoiseKSP ksp, double norm, bool *is)
{
  const Claim *c = &ksp->solve.claim;
  bool squares = ksp->type->squares, by_residual = norm == c->residual;
  double plain = 0, tested = 0;
  bool finishing = ksp->solve.finishing, forbids = poiseDeviceForbid(ksp->ctx->device, false);
  ksp->solve.finishing = true; /* so that nothing is skipped */
  PoiseErr e = PoiseAgree(ksp->ctx, squares ? RoundingOfSquares(ksp, &plain, &tested)
                                            : NormsOfRounding(ksp, &plain, &tested));
  ksp->solve.finishing = finishing;
  poiseDeviceForbid(ksp->ctx->device, forbids);
  if (squares) *is = norm <= (by_residual ? plain : tested);
  if (squares) return e;
  plain = fmax(fmin(plain, WORTHLESS * c->rhs), MARGIN * ksp->options.rtol * c->rhs);
  *is = norm <= tested && c->residual <= plain;
  return e;
}

bool poiseKSPHolds(PoiseKSP ksp, const double *slots)
{
  Claim *c = &ksp->solve.claim;
  c->residual = sqrt(slots[SLOT_TRUE_RESIDUAL]);
  c->rhs = sqrt(slots[SLOT_CHECK_BB]);
  return Computed(ksp, slots) <= MARGIN * Tolerance(ksp);
}

PoiseErr poiseKSPJudge(PoiseKSP ksp, const double *slots, bool *again)
{
  Claim *c = &ksp->solve.claim;
  double square = fabs(slots[SlotOfNorm(ksp)]), norm = Computed(ksp, slots), before = c->best;
  double tolerance = Tolerance(ksp);
  bool claims = ksp->result.reason > 0;
  c->residual = sqrt(slots[SLOT_TRUE_RESIDUAL]);
  c->rhs = sqrt(slots[SLOT_CHECK_BB]);
  *again = false;
  if (ksp->type->squares) TRY(ToleranceOfSquares(ksp, slots, &norm, &tolerance));
  c->norm = norm;
  if (Known(ksp) >= 0 || c->proven || (claims && norm <= MARGIN * tolerance)) return POISE_OK;
  if (claims && poiseFinite(norm)) TRY(IsRounding(ksp, norm, &c->rounding));
  if (c->rounding) c->best = norm;
  if (c->rounding) return POISE_OK;
  /* otherwise no iteration since the last claim */
  if (claims && poiseFinite(ksp->result.rnorm)) c->claimed = ksp->result.rnorm;
  c->refuted += claims;
  c->best = fmin(c->best, norm);
  if (poiseFinite(norm)) c->best_square = fmin(c->best_square, square);
  ksp->result.rnorm = (ksp->type->squares == TESTS_RESIDUAL ? c->residual : c->best) / ksp->solve.scale;
  if (!claims) return POISE_OK;
  *again = c->refuted == 1 || (poiseFinite(norm) && norm <= before / 2);
  if (!*again)
    ksp->result.reason = IsNoNorm(ksp, slots) ? POISE_DIVERGED_INDEFINITE_PC : POISE_DIVERGED_BREAKDOWN;
  return POISE_OK;
}

/* |b - A x| / |b| of a success that is worthless, else 0. The part of b in the null space that was not
   left out stays in |b - A x|, and is reported elsewhere. */
double poiseKSPInaccuracy(PoiseKSP ksp)
{
  const Claim *c = &ksp->solve.claim;
  const KSPResult *r = &ksp->result;
  double ratio = c->rhs > 0 ? c->residual / c->rhs : 0, known = ksp->A->left.n ? 0 : r->inconsistency;
  double rest = sqrt(fmax(0, ratio * ratio - known * known));
  return r->reason == POISE_CONVERGED_RTOL && IsLeft(ksp) &&
                 rest > fmax(WORTHLESS, MARGIN * ksp->options.rtol)
             ? ratio
             : 0;
}

void poiseKSPSayClaim(PoiseKSP ksp)
{
  const Claim *c = &ksp->solve.claim;
  double inaccuracy = poiseKSPInaccuracy(ksp);
  if (inaccuracy > 0)
    poiseKSPSay(ksp, "WARNING: |b - A x| is %.3g of |b|, the tolerance was reached in the %s norm alone",
                inaccuracy, PoiseKSPNormString(ksp->norm));
  if (c->rounding && ksp->type->squares)
    poiseKSPSay(ksp, "true to rounding: the norm that was tested, %.3g, is that of rounding alone",
                c->best / ksp->solve.scale);
  else if (c->rounding)
    poiseKSPSay(ksp, "true to rounding: the norm of b - A x, %.3g, is that of rounding alone",
                c->best / ksp->solve.scale);
  if (!c->refuted) return;
  if (ksp->result.reason > 0)
    poiseKSPSay(ksp, "%d claim%s before %s not true and went on", c->refuted, c->refuted > 1 ? "s" : "",
                c->refuted > 1 ? "were" : "was");
  else if (ksp->type->squares)
    poiseKSPSay(ksp,
                "the method claimed convergence, but |b - A x| is %.3g and the norm that was tested %.3g",
                c->residual / ksp->solve.scale, c->best / ksp->solve.scale);
  else
    poiseKSPSay(ksp, "the method claimed a residual norm of %.3g, that of b - A x is %.3g", c->claimed,
                c->best / ksp->solve.scale);
}

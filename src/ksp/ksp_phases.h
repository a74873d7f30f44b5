/* SPDX-License-Identifier: BSD-3-Clause */
/* What the phases of all methods share: stopping, the convergence decision, the pointwise preconditioner.
   sys/device/phase.h says how a phase is written. */
#ifndef POISE_KSP_PHASES_H
#define POISE_KSP_PHASES_H

#include "vec/vec_phases.h"

/* Reasons as in include/poise/ksp.h (which is no CUDA header); ksp.c asserts that they agree. */
enum {
  REASON_RTOL_NORMAL = 1,
  REASON_ATOL_NORMAL = 9,
  REASON_RTOL = 2,
  REASON_ATOL = 3,
  REASON_ITS = 4,
  REASON_HAPPY = 5,
  REASON_MAXITS = -3,
  REASON_DTOL = -4,
  REASON_BREAKDOWN = -5,
  REASON_INDEFINITE_PC = -8,
  REASON_NANORINF = -9,
  REASON_INDEFINITE_MAT = -10,
  /* for the solver alone: the first norm asks for a scaled b; the norm is below SLOT_FALL */
  REASON_RANGE = -99,
  REASON_FALLEN = -98
};

/* Until a claim is checked: the part of SLOT_NORM0 below which a recurrence in fp32 ends (mixed.c); 0:
   none. */
enum { SLOT_FALL = SLOT_CHECK_RZ };

enum { NORM_NONE = 1, NORM_PRECONDITIONED, NORM_UNPRECONDITIONED, NORM_NATURAL }; /* PoiseNormType */

/* z_i = d_i r_i: the preconditioner where it is a diagonal, operand d; absent: none. */
POISE_INLINE double poisePoint(const PhaseArgs *a, int d, double r, int64_t i)
{
  return a->in[d] ? READ(d) * r : r;
}

/* Is this the first iteration since the method was started? */
POISE_INLINE int poiseIsFirst(const double *in, const PhaseArgs *a)
{
  return in[SLOT_ITS + a->parity] == in[SLOT_BASE];
}

/* End the solve from a plain phase (before its elements), after `its` iterations: also a deciding phase
   behind it is skipped. Returns 0 = skip. */
POISE_INLINE int poiseStopAt(double *out, int reason, double its)
{
  out[SLOT_DONE] = out[SLOT_SEEN] = 1;
  out[SLOT_REASON] = reason;
  out[SLOT_ITS_FINAL] = its;
  return 0;
}

POISE_INLINE int poiseStop(const double *in, double *out, const PhaseArgs *a, int reason)
{
  return poiseStopAt(out, reason, in[SLOT_ITS + a->parity]);
}

/* End it from a deciding phase, whose elements still run, at iteration its. */
POISE_INLINE void poiseFinish(double *out, int reason, double its)
{
  out[SLOT_DONE] = 1;
  out[SLOT_REASON] = reason;
  out[SLOT_ITS_FINAL] = its;
}

/* PETSc's default test of iteration its; 0 = go on. */
POISE_INLINE int poiseTest(const double *in, const Convergence *v, double norm, double norm0, double its)
{
  double atol = in[SLOT_ATOL];
  if (!poiseFinite(norm)) return REASON_NANORINF;
  if (v->none) return its >= in[SLOT_MAXITS] ? REASON_ITS : 0;
  if (v->test && norm <= poiseLarger(in[SLOT_RTOL] * norm0, atol))
    return norm < atol ? REASON_ATOL : REASON_RTOL;
  if (v->test && norm >= in[SLOT_DTOL] * norm0) return REASON_DTOL;
  return its >= in[SLOT_MAXITS] ? REASON_MAXITS : 0;
}

/* What the first norm is compared with: |b| when that was asked for, or what a method that goes on was
   compared with (in SLOT_NORM0 already), else this norm. */
POISE_INLINE double poiseNorm0(const double *in, double norm, int kept)
{
  return kept && in[SLOT_NORM0] > 0 ? in[SLOT_NORM0] : norm;
}

/* What poiseTest says of the norm before the first iteration; kept: as poiseNorm0 has it. */
POISE_INLINE int poiseTestFirst(const double *in, const PhaseArgs *a, double norm, int kept)
{
  return poiseTest(in, &a->conv, norm, poiseNorm0(in, norm, kept), in[SLOT_BASE]);
}

/* Limits of the first norm, by Convergence.range: none; of the norm; of that, and b is not 0; without a norm,
   dots that are 0 or not finite; of the norm, so that vectors of that size are in the range of fp32. */
enum { RANGE_ANY, RANGE_NORM, RANGE_NORM_AND_B, RANGE_DOTS, RANGE_SINGLE };

/* Is (r^, v) no more than rounding of v? A method that divides by it then makes a step of any length. That
   happens where b is a source or an inflow: once its equations are solved, if no other ones act on them. */
POISE_INLINE int poiseIsLost(const PhaseArgs *a, double dot, double hat_norm, double vv)
{
  double eps = a->conv.range == RANGE_SINGLE ? 1.2e-7 : 2.2e-16; /* of the vectors' type */
  return fabs(dot) <= eps * hat_norm * sqrt(vv);
}

/* Norms whose squares are numbers, with some room. */
POISE_INLINE double poiseLeastNorm(void)
{
  return 1e-140;
}

POISE_INLINE int poiseInRange(double norm)
{
  return norm >= poiseLeastNorm() && norm <= 1e150;
}

/* Must b be scaled before there is an iteration? A norm that is too small converges anyway by a larger atol.
   reason: what is known of the solve; BB: as ksp_norm0 has left it. */
POISE_INLINE int poiseMustScale(const double *in, const Convergence *v, double norm0, int reason)
{
  double least = poiseLeastNorm();
  if (v->range == RANGE_ANY) return 0;
  if (v->range == RANGE_DOTS) return reason == REASON_ATOL || reason == REASON_NANORINF;
  if (v->range == RANGE_NORM_AND_B && in[SLOT_CHECK_BB] == 0) return 1;
  if (v->range == RANGE_SINGLE && norm0 > 0 && !(norm0 > 1e-10 && norm0 < 1e10)) return 1;
  return !poiseInRange(norm0) && !(norm0 < least && in[SLOT_ATOL] >= least);
}

/* Record the norm before the first iteration, and end the solve if there is a reason, which is returned. */
POISE_INLINE int poiseConcludeFirst(const double *in, double *out, const PhaseArgs *a, double norm, int kept,
                                    int reason)
{
  if (poiseMustScale(in, &a->conv, poiseNorm0(in, norm, kept), reason)) reason = REASON_RANGE;
  out[SLOT_NORM] = norm;
  if (!kept || !(in[SLOT_NORM0] > 0)) out[SLOT_NORM0] = norm;
  a->conv.history[(int64_t)in[SLOT_BASE] & a->conv.mask] = norm;
  if (reason) poiseFinish(out, reason, in[SLOT_BASE]);
  return reason;
}

POISE_INLINE int poiseDecideFirst(const double *in, double *out, const PhaseArgs *a, double norm, int kept)
{
  return poiseConcludeFirst(in, out, a, norm, kept, poiseTestFirst(in, a, norm, kept));
}

/* The same three for the iteration just finished, which is counted. */
POISE_INLINE int poiseTestNext(const double *in, const PhaseArgs *a, double norm)
{
  int reason = poiseTest(in, &a->conv, norm, in[SLOT_NORM0], in[SLOT_ITS + a->parity] + 1);
  return !reason && norm < in[SLOT_FALL] * in[SLOT_NORM0] ? REASON_FALLEN : reason;
}

POISE_INLINE int poiseConclude(const double *in, double *out, const PhaseArgs *a, double norm, int reason)
{
  double its = in[SLOT_ITS + a->parity] + 1;
  out[SLOT_ITS + !a->parity] = its;
  out[SLOT_NORM] = norm;
  a->conv.history[(int64_t)its & a->conv.mask] = norm;
  if (reason) poiseFinish(out, reason, its);
  if (reason > 0) *a->conv.unclaimed = 0;
  return reason;
}

POISE_INLINE int poiseDecide(const double *in, double *out, const PhaseArgs *a, double norm)
{
  return poiseConclude(in, out, a, norm, poiseTestNext(in, a, norm));
}

/* ksp_norm0: SLOT_NORM0 = the norm of b, whose square, or (b, z) for the natural norm, was summed into slot
   k. The square is kept: where it is 0, b is 0 or too small for it. The norm is then c_0. */
PROLOGUE(ksp_norm0)
{
  double square = in[a->k];
  out[SLOT_NORM0] = square == 0 ? poiseScalar(a->c[0]) : sqrt(fabs(square));
  out[SLOT_CHECK_BB] = in[a->k];
  return 0;
}

/* ksp_publish: the sums alone. */
PROLOGUE(ksp_publish)
{
  return 0;
}

enum { KSP_B, KSP_D, KSP_R, KSP_X, KSP_USERS_X }; /* operands of the three phases below */

/* ksp_first: r = b (absent: it is b); x = 0 (absent: it stays); z = d r; dots (r, z), (z, z), (r, r). */
PROLOGUE(ksp_first)
{
  return 1;
}

ELEMENTWISE(ksp_first)
{
  double r = READ(KSP_B), z = poisePoint(a, KSP_D, r, i);
  if (a->out[KSP_R]) OUT(KSP_R) = r;
  if (a->out[KSP_X]) OUT(KSP_X) = 0;
  return poiseDots(r * z, z * z, r * r);
}

/* ksp_check: r = b - r, where r holds A x; z = d r; dots (r, z), (z, z), (r, r), (b, b). And x is delivered,
   as by ksp_deliver, if there is an operand for it. */
PROLOGUE(ksp_check)
{
  c[0] = poiseScalar(a->c[2]);
  return 1;
}

ELEMENTWISE(ksp_check)
{
  double b = READ(KSP_B), r = b - OUT(KSP_R);
  OUT(KSP_R) = r;
  double z = poisePoint(a, KSP_D, r, i);
  Dots t = poiseDots(r * z, z * z, r * r);
  t.d[3] = b * b;
  if (a->out[KSP_USERS_X]) {
    double x = c[0] * READ(KSP_X);
    OUT(KSP_USERS_X) = x;
    t.d[4] = x - x;
  }
  return t;
}

/* ksp_deliver: the user's x = c_2 x, unless |c_0| is more than a finite c_1, or no number; the dot is 0,
   or NaN when an entry is not finite. */
PROLOGUE(ksp_deliver)
{
  c[0] = poiseScalar(a->c[2]);
  return !poiseFinite(poiseScalar(a->c[1])) || fabs(poiseScalar(a->c[0])) <= poiseScalar(a->c[1]);
}

ELEMENTWISE(ksp_deliver)
{
  double x = c[0] * READ(KSP_X);
  OUT(KSP_USERS_X) = x;
  return poiseDots(x - x, 0, 0);
}

#endif

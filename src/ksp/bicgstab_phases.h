/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of BiCGSTAB (van der Vorst 1992; see bicgstab.c for the whole iteration). */
#ifndef POISE_BICGSTAB_PHASES_H
#define POISE_BICGSTAB_PHASES_H

#include "ksp_phases.h"

enum {
  BI_V,
  BI_P,
  BI_T,
  BI_RHAT,
  BI_X,
  BI_R,
  BI_P_HAT,
  BI_S_HAT,
  BI_KEPT_X = BI_S_HAT /* is written, the other one read */
}; /* operands: r^; what x is made of, where that is not p and s; and the x that is kept, among them */

/* Slots. */
enum {
  BI_RHO = SLOT_FIRST_OWN, /* (r, r^) of the iteration that begins, unless the method starts afresh */
  BI_VR,
  BI_SS,
  BI_ST,
  BI_TT,
  BI_RT, /* (r^, t) */
  BI_RR,
  BI_ALPHA,
  BI_OMEGA,
  BI_NEXT, /* what the latest update led to, see below */
  BI_KEPT, /* |r|^2 of the x that is kept since the method started afresh, 0: it never has; two, by parity */
  BI_KEPT_ODD,
  BI_VV,
  BI_HAT, /* (r^, r^) */
  BI_END
};

/* Of BI_NEXT: the method goes on; it starts afresh; and x is kept. The other two: so, as (r^, v) was lost. */
enum { BI_GOES_ON, BI_AFRESH, BI_KEEPS, BI_LOST, BI_LOST_KEEPS };

/* bicgstab_start: the first norm; p = r^ = r. RHO = (r, r) is summed by the caller. k: rtol relative to
   |b|. */
PROLOGUE(bicgstab_start)
{
  double rr = in[BI_RHO], norm = sqrt(rr);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[BI_HAT] = rr;
  poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && rr == 0 ? REASON_ATOL : reason);
  return 1;
}

ELEMENTWISE(bicgstab_start)
{
  OUT(BI_P) = OUT(BI_RHAT) = READ(BI_R);
  return poiseDots(0, 0, 0);
}

/* Judge the update before. The second start afresh must find half of the norm kept, unless (r^, v) was lost.
   Divergence after a start is a breakdown, for the x that is kept is the result. Returns nonzero when the
   solve is over. */
POISE_INLINE int poiseBiCGSTABJudge(const double *in, double *out, const PhaseArgs *a)
{
  double rr = in[BI_RR], kept = in[BI_KEPT + a->parity];
  int reason = poiseTestNext(in, a, sqrt(rr)), next = (int)in[BI_NEXT];
  int again = kept > 0 && (next == BI_AFRESH || next == BI_KEEPS);
  if (!reason && rr == 0) reason = REASON_ATOL; /* solved, without a norm */
  if (!reason && (in[BI_OMEGA] == 0 || (again && rr > 0.25 * kept))) reason = REASON_BREAKDOWN;
  if (reason == REASON_DTOL && kept > 0) reason = REASON_BREAKDOWN;
  out[BI_KEPT + !a->parity] = next == BI_KEEPS || next == BI_LOST_KEEPS ? rr : kept;
  reason = poiseConclude(in, out, a, sqrt(rr), reason);
  if (reason) out[SLOT_SEEN] = 1;
  return reason;
}

/* bicgstab_s: alpha = rho / (r^, v); s = r - alpha v, in place of r; dot (s, s). k: there is an update before
   that has not been judged.

   Where (r^, v) is no more than rounding, alpha could be any number: it is 0, and the update starts afresh.
   Where r^ = r that would be in vain. */
PROLOGUE(bicgstab_s)
{
  int afresh = in[BI_NEXT] >= BI_AFRESH;
  double vr = in[BI_VR], rho = afresh ? in[BI_RR] : in[BI_RHO], hat = afresh ? rho : in[BI_HAT];
  double its = a->k ? in[SLOT_ITS + a->parity] + 1 : in[SLOT_ITS + !a->parity];
  int lost = poiseIsLost(a, vr, sqrt(hat), in[BI_VV]);
  c[0] = lost ? 0 : rho / vr; /* alpha */
  if (a->k && poiseBiCGSTABJudge(in, out, a)) return 0;
  if (!poiseFinite(vr)) return poiseStopAt(out, REASON_NANORINF, its);
  if (lost && rho == hat) return poiseStopAt(out, REASON_BREAKDOWN, its);
  out[BI_ALPHA] = c[0];
  if (afresh) out[BI_HAT] = rho;
  return 1;
}

ELEMENTWISE(bicgstab_s)
{
  double alpha = c[0], s = READ(BI_R) - alpha * READ(BI_V);
  OUT(BI_R) = s;
  return poiseDots(s * s, 0, 0);
}

/* bicgstab_update: omega = (s, t) / (t, t); x += alpha p + omega s; r = s - omega t; beta = (rho' / rho)
   (alpha / omega); p = r + beta (p - omega v); dots (r, r^), (r, r). r holds s. As (r^, s) = 0, the next rho'
   is -omega (r^, t), and beta = -(r^, t) / (r^, v). When t = 0 and s = 0, alpha p was the solution: omega =
   0.

   When rho' = 0, or alpha was, the method starts afresh from r: r^ = p = r, and rho' is (r, r). It keeps x if
   no r was smaller when it did so before, by the (r, r) that follows from the dots of s and t. */
PROLOGUE(bicgstab_update)
{
  double tt = in[BI_TT], st = in[BI_ST], kept = in[BI_KEPT + !a->parity], omega = tt == 0 ? 0 : st / tt;
  double its = in[SLOT_ITS + !a->parity];
  if (!poiseFinite(tt)) return poiseStopAt(out, REASON_NANORINF, its);
  if (tt == 0 && in[BI_SS] != 0) return poiseStopAt(out, REASON_BREAKDOWN, its);
  int afresh = omega * in[BI_RT] == 0 || in[BI_ALPHA] == 0;
  c[0] = in[BI_ALPHA];
  c[1] = omega;
  c[2] = afresh ? 0 : -in[BI_RT] / in[BI_VR];                               /* beta */
  c[3] = afresh + (afresh && (kept == 0 || in[BI_SS] - omega * st < kept)); /* 2: x is kept, too */
  out[BI_OMEGA] = omega;
  out[BI_NEXT] = c[3] + (in[BI_ALPHA] == 0 ? BI_LOST - BI_AFRESH : 0);
  return 1;
}

POISE_INLINE Dots poiseBiCGSTABUpdate(const double *c, const PhaseArgs *a, int64_t i, double p_hat,
                                      double s_hat)
{
  double alpha = c[0], omega = c[1], beta = c[2], starts = c[3], p = READ(BI_P), s = READ(BI_R);
  double r = s - omega * READ(BI_T), x = READ(BI_X) + (alpha * p_hat + omega * s_hat);
  OUT(BI_X) = x;
  OUT(BI_R) = r;
  OUT(BI_P) = r + beta * (p - omega * READ(BI_V));
  double rhat = READ(BI_RHAT);
  if (starts > 0) OUT(BI_RHAT) = r;
  if (starts > 1) OUT(BI_KEPT_X) = x;
  return poiseDots(r * rhat, r * r, 0);
}

ELEMENTWISE(bicgstab_update)
{
  return poiseBiCGSTABUpdate(c, a, i, READ(BI_P), READ(BI_R));
}

/* bicgstab_update_hats: the same, with p^ and s^ beside p and s. */
PROLOGUE(bicgstab_update_hats)
{
  return bicgstab_update_begin(in, out, a, c);
}

ELEMENTWISE(bicgstab_update_hats)
{
  return poiseBiCGSTABUpdate(c, a, i, READ(BI_P_HAT), READ(BI_S_HAT));
}

/* bicgstab_judge: the update before. */
PROLOGUE(bicgstab_judge)
{
  (void)poiseBiCGSTABJudge(in, out, a);
  return 0;
}

#endif

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
  BI_KEPT_X
}; /* operands, r^ and the x that is kept among them */

/* Slots. */
enum {
  BI_RHO = SLOT_FIRST_OWN, /* (r, r^) as summed */
  BI_USED,                 /* the rho that an iteration works with; two, by parity */
  BI_USED_ODD,
  BI_VR,
  BI_SS,
  BI_ST,
  BI_TT,
  BI_RR,
  BI_ALPHA,
  BI_OMEGA,
  BI_KEPT, /* |r|^2 of the x that is kept since the method started afresh, 0: it never has; two, by parity */
  BI_KEPT_ODD,
  BI_END
};

/* bicgstab_start: the first norm; p = r^ = r. RHO = (r, r) is summed by the caller. k: rtol relative to
   |b|. */
PROLOGUE(bicgstab_start)
{
  double rr = in[BI_RHO], norm = sqrt(rr);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[BI_USED] = rr;
  poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && rr == 0 ? REASON_ATOL : reason);
  return 1;
}

ELEMENTWISE(bicgstab_start)
{
  OUT(BI_P) = OUT(BI_RHAT) = READ(BI_R);
  return poiseDots(0, 0, 0);
}

/* bicgstab_s: alpha = rho / (r^, v); s = r - alpha v, in place of r; dot (s, s). */
PROLOGUE(bicgstab_s)
{
  double vr = in[BI_VR];
  if (!poiseFinite(vr)) return poiseStop(in, out, a, REASON_NANORINF);
  if (vr == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  c[0] = in[BI_USED + a->parity] / vr; /* alpha */
  out[BI_ALPHA] = c[0];
  return 1;
}

ELEMENTWISE(bicgstab_s)
{
  double alpha = c[0], s = READ(BI_R) - alpha * READ(BI_V);
  OUT(BI_R) = s;
  return poiseDots(s * s, 0, 0);
}

/* bicgstab_update: omega = (s, t) / (t, t); x += alpha p + omega s; r = s - omega t; dots (r, r^), (r, r).
   r holds s. When t = 0 and s = 0, alpha p was the solution: omega = 0. */
PROLOGUE(bicgstab_update)
{
  double tt = in[BI_TT];
  if (!poiseFinite(tt)) return poiseStop(in, out, a, REASON_NANORINF);
  if (tt == 0 && in[BI_SS] != 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  c[0] = in[BI_ALPHA];                 /* alpha */
  c[1] = tt == 0 ? 0 : in[BI_ST] / tt; /* omega */
  out[BI_OMEGA] = c[1];
  return 1;
}

ELEMENTWISE(bicgstab_update)
{
  double alpha = c[0], omega = c[1], s = READ(BI_R), r = s - omega * READ(BI_T);
  OUT(BI_X) = READ(BI_X) + (alpha * READ(BI_P) + omega * s);
  OUT(BI_R) = r;
  return poiseDots(r * READ(BI_RHAT), r * r, 0);
}

/* bicgstab_direction: decides; beta = (rho' / rho)(alpha / omega); p = r + beta (p - omega v). When rho' = 0
   the method starts afresh from r: r^ = p = r, rho' = (r, r), and keeps x if no r was smaller when it did so
   before. The second start must find half of the norm kept. Divergence after a start is a breakdown, for the
   x that is kept is the result. */
PROLOGUE(bicgstab_direction)
{
  double rho = in[BI_RHO], rr = in[BI_RR], omega = in[BI_OMEGA], kept = in[BI_KEPT + a->parity];
  int afresh = rho == 0, keep = afresh && (kept == 0 || rr < kept);
  int reason = poiseTestNext(in, a, sqrt(rr));
  if (!reason && rr == 0) reason = REASON_ATOL; /* solved, without a norm */
  if (!reason && (omega == 0 || (kept > 0 && afresh && rr > 0.25 * kept))) reason = REASON_BREAKDOWN;
  if (reason == REASON_DTOL && kept > 0) reason = REASON_BREAKDOWN;
  c[0] = afresh ? 0 : (rho / in[BI_USED + a->parity]) * (in[BI_ALPHA] / omega); /* beta */
  c[1] = omega;
  c[2] = afresh;
  c[3] = keep;
  out[BI_USED + !a->parity] = afresh ? rr : rho;
  out[BI_KEPT + !a->parity] = keep ? rr : kept;
  return !poiseConclude(in, out, a, sqrt(rr), reason);
}

ELEMENTWISE(bicgstab_direction)
{
  double beta = c[0], omega = c[1], afresh = c[2], keep = c[3], r = READ(BI_R);
  OUT(BI_P) = r + beta * (READ(BI_P) - omega * READ(BI_V));
  if (afresh != 0) OUT(BI_RHAT) = r;
  if (keep != 0) OUT(BI_KEPT_X) = OUT(BI_X);
  return poiseDots(0, 0, 0);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of BiCGSTAB (van der Vorst 1992; see bicgstab.c for the whole iteration). */
#ifndef POISE_BICGSTAB_PHASES_H
#define POISE_BICGSTAB_PHASES_H

#include "ksp_phases.h"

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

/* bicgstab_start: the first norm; p = r. RHO = (r, r) is summed by the caller. in: r; out: p, r^. k: rtol
   relative to |b|. */
POISE_INLINE int bicgstab_start_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rr = in[BI_RHO];
  (void)c;
  out[BI_USED] = rr;
  if (!poiseDecideFirst(in, out, a, sqrt(rr), (int)a->k) && rr == 0)
    poiseFinish(out, REASON_ATOL, in[SLOT_BASE]);
  return 1;
}

POISE_INLINE Dots bicgstab_start_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  a->out[0][i] = a->out[1][i] = poiseRead(a, 0, i);
  return poiseDots(0, 0, 0);
}

/* bicgstab_s: alpha = rho / (r^, v); s = r - alpha v, in place of r; dot (s, s). in: v, r; out: r. */
POISE_INLINE int bicgstab_s_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double vr = in[BI_VR];
  if (!poiseFinite(vr)) return poiseStop(in, out, a, REASON_NANORINF);
  if (vr == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  c[0] = in[BI_USED + a->parity] / vr;
  out[BI_ALPHA] = c[0];
  return 1;
}

POISE_INLINE Dots bicgstab_s_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double s = poiseRead(a, 1, i) - c[0] * poiseRead(a, 0, i);
  a->out[0][i] = s;
  return poiseDots(s * s, 0, 0);
}

/* bicgstab_update: omega = (s, t) / (t, t); x += alpha p + omega s; r = s - omega t; dots (r, r^), (r, r).
   in: p, t, r^, x, r; out: x, r (holding s). When t = 0 and s = 0, alpha p was the solution: omega = 0. */
POISE_INLINE int bicgstab_update_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double tt = in[BI_TT];
  if (!poiseFinite(tt)) return poiseStop(in, out, a, REASON_NANORINF);
  if (tt == 0 && in[BI_SS] != 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  c[0] = in[BI_ALPHA];
  c[1] = tt == 0 ? 0 : in[BI_ST] / tt;
  out[BI_OMEGA] = c[1];
  return 1;
}

POISE_INLINE Dots bicgstab_update_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double s = poiseRead(a, 4, i), ri = s - c[1] * poiseRead(a, 1, i);
  a->out[0][i] = poiseRead(a, 3, i) + (c[0] * poiseRead(a, 0, i) + c[1] * s);
  a->out[1][i] = ri;
  return poiseDots(ri * poiseRead(a, 2, i), ri * ri, 0);
}

/* bicgstab_direction: decides; beta = (rho' / rho)(alpha / omega); p = r + beta (p - omega v). When rho' = 0
   the method starts afresh from r: r^ = p = r, rho' = (r, r), and keeps x if no r was smaller when it did so
   before. The second start must find half of the norm kept. Divergence after a start is a breakdown, for the
   x that is kept is the result. in: r, v, p; out: p, r^, x, the x that is kept. */
POISE_INLINE int bicgstab_direction_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rho = in[BI_RHO], rr = in[BI_RR], omega = in[BI_OMEGA], kept = in[BI_KEPT + a->parity];
  int afresh = rho == 0, keep = afresh && (kept == 0 || rr < kept);
  int reason = poiseTestNext(in, a, sqrt(rr));
  if (!reason && rr == 0) reason = REASON_ATOL; /* solved, without a norm */
  if (!reason && (omega == 0 || (kept > 0 && afresh && rr > 0.25 * kept))) reason = REASON_BREAKDOWN;
  if (reason == REASON_DTOL && kept > 0) reason = REASON_BREAKDOWN;
  c[0] = afresh ? 0 : (rho / in[BI_USED + a->parity]) * (in[BI_ALPHA] / omega);
  c[1] = omega;
  c[2] = afresh;
  c[3] = keep;
  out[BI_USED + !a->parity] = afresh ? rr : rho;
  out[BI_KEPT + !a->parity] = keep ? rr : kept;
  return !poiseConclude(in, out, a, sqrt(rr), reason);
}

POISE_INLINE Dots bicgstab_direction_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double ri = poiseRead(a, 0, i);
  a->out[0][i] = ri + c[0] * (poiseRead(a, 2, i) - c[1] * poiseRead(a, 1, i));
  if (c[2] != 0) a->out[1][i] = ri;
  if (c[3] != 0) a->out[3][i] = a->out[2][i];
  return poiseDots(0, 0, 0);
}

#endif

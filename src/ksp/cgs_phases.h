/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of CGS (Sonneveld 1989; see cgs.c for the whole iteration), of which tfqmr has most. */
#ifndef POISE_CGS_PHASES_H
#define POISE_CGS_PHASES_H

#include "ksp_phases.h"

enum { CGS_V, CGS_U, CGS_Q, CGS_T, CGS_P, CGS_R, CGS_RHAT, CGS_X }; /* operands */

/* Slots. */
enum {
  CGS_RR = SLOT_FIRST_OWN, /* (r, r), (r, r^), and tau of tfqmr: two of each, by parity */
  CGS_RR_ODD,
  CGS_RHO,
  CGS_RHO_ODD,
  TFQMR_TAU,
  TFQMR_TAU_ODD,
  CGS_VR, /* (r^, v) */
  CGS_ALPHA,
  CGS_FIRST, /* norm at the start */
  CGS_END
};

/* cgs_start: the first norm; u = p = r^ = r. RR = (r, r) is summed by the caller. k: rtol relative to |b|. */
PROLOGUE(cgs_start)
{
  double rr = in[CGS_RR + a->parity], norm = sqrt(rr);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[CGS_RHO + a->parity] = rr;
  out[TFQMR_TAU + a->parity] = out[CGS_FIRST] = norm;
  return !poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && rr == 0 ? REASON_ATOL : reason);
}

ELEMENTWISE(cgs_start)
{
  OUT(CGS_U) = OUT(CGS_P) = OUT(CGS_RHAT) = READ(CGS_R);
  return poiseDots(0, 0, 0);
}

/* cgs_q: alpha = rho / (r^, v); q = u - alpha v; t = u + q. */
PROLOGUE(cgs_q)
{
  double vr = in[CGS_VR];
  if (!poiseFinite(vr)) return poiseStop(in, out, a, REASON_NANORINF);
  if (vr == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  out[CGS_ALPHA] = c[0] = in[CGS_RHO + a->parity] / vr;
  return 1;
}

ELEMENTWISE(cgs_q)
{
  double alpha = c[0], u = READ(CGS_U), q = u - alpha * READ(CGS_V);
  OUT(CGS_Q) = q;
  OUT(CGS_T) = u + q;
  return poiseDots(0, 0, 0);
}

/* cgs_update: r -= alpha v; x += alpha t (absent: x stays); dots (r, r), (r, r^). */
PROLOGUE(cgs_update)
{
  c[0] = in[CGS_ALPHA];
  return 1;
}

ELEMENTWISE(cgs_update)
{
  double alpha = c[0], r = READ(CGS_R) - alpha * READ(CGS_V);
  OUT(CGS_R) = r;
  if (a->out[CGS_X]) OUT(CGS_X) = READ(CGS_X) + alpha * READ(CGS_T);
  return poiseDots(r * r, r * READ(CGS_RHAT), 0);
}

/* What else ends an iteration: r is zero, though no norm is asked for; or beta would be. */
POISE_INLINE int poiseCGSReason(const double *in, const PhaseArgs *a, int reason)
{
  if (!reason && in[CGS_RR + !a->parity] == 0) return REASON_ATOL;
  return !reason && in[CGS_RHO + !a->parity] == 0 ? REASON_BREAKDOWN : reason;
}

/* The new u = r + beta q and p = u + beta (q + beta p). */
POISE_INLINE void poiseCGSDirection(double beta, const PhaseArgs *a, int64_t i)
{
  double q = READ(CGS_Q), u = READ(CGS_R) + beta * q;
  OUT(CGS_P) = u + beta * (q + beta * READ(CGS_P));
  OUT(CGS_U) = u;
}

/* cgs_direction: decides; beta = rho' / rho; u = r + beta q; p = u + beta (q + beta p). */
PROLOGUE(cgs_direction)
{
  double norm = sqrt(in[CGS_RR + !a->parity]);
  c[0] = in[CGS_RHO + !a->parity] / in[CGS_RHO + a->parity];
  return !poiseConclude(in, out, a, norm, poiseCGSReason(in, a, poiseTestNext(in, a, norm)));
}

ELEMENTWISE(cgs_direction)
{
  poiseCGSDirection(c[0], a, i);
  return poiseDots(0, 0, 0);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of QMRCGSTAB (Chan et al. 1994; see qmrcgs.c for the whole iteration). As in tfqmr, a
   half step has c^2 of its rotation: x += c^2 step d, and the next d gets (1 - c^2) step / (next step) of
   this one. */
#ifndef POISE_QMRCGS_PHASES_H
#define POISE_QMRCGS_PHASES_H

#include "tfqmr_phases.h"

/* Operands. hat: M^-1 p, and M^-1 s in the second half step. */
enum { QC_V, QC_T, QC_P, QC_R, QC_RHAT, QC_HAT, QC_D, QC_X };

/* Slots. */
enum {
  QC_RHO = SLOT_FIRST_OWN, /* (r, r^) of the iteration that begins */
  QC_VR,
  QC_SS,
  QC_ST,
  QC_TT,
  QC_RT, /* (r^, t) */
  QC_RR,
  QC_ALPHA,
  QC_VV,
  QC_TAU, /* and (1 - c^2) omega of the latest second half step: two of each, by parity */
  QC_TAU_ODD,
  QC_REST,
  QC_REST_ODD,
  QC_FIRST, /* norm at the start, of r and r^ */
  QC_END
};

/* qmrcgs_start: the first norm; p = r^ = r. k: rtol relative to |b|. */
PROLOGUE(qmrcgs_start)
{
  double rr = in[QC_RHO], norm = sqrt(rr);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[QC_TAU + a->parity] = out[QC_FIRST] = norm;
  return !poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && rr == 0 ? REASON_ATOL : reason);
}

ELEMENTWISE(qmrcgs_start)
{
  OUT(QC_P) = OUT(QC_RHAT) = READ(QC_R);
  return poiseDots(0, 0, 0);
}

/* qmrcgs_s: alpha = rho / (r^, v); s = r - alpha v, in place of r; dot (s, s). */
PROLOGUE(qmrcgs_s)
{
  double vr = in[QC_VR], rho = in[QC_RHO];
  if (!poiseFinite(vr)) return poiseStop(in, out, a, REASON_NANORINF);
  if (poiseIsLost(a, vr, in[QC_FIRST], in[QC_VV]) || rho == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  out[QC_ALPHA] = c[0] = rho / vr;
  return 1;
}

ELEMENTWISE(qmrcgs_s)
{
  double s = READ(QC_R) - c[0] * READ(QC_V);
  OUT(QC_R) = s;
  return poiseDots(s * s, 0, 0);
}

POISE_INLINE double poiseQMRCGSOmega(const double *in)
{
  return in[QC_TT] == 0 ? 0 : in[QC_ST] / in[QC_TT];
}

/* qmrcgs_update: the first half step, d = hat + rest / alpha d, x += c^2 alpha d; omega = (s, t) / (t, t); r
   = s - omega t; beta = -(r^, t) / (r^, v); p = r + beta (p - omega v); dots (r, r), (r, r^). r holds s. */
PROLOGUE(qmrcgs_update)
{
  double tt = in[QC_TT], tau = in[QC_TAU + a->parity];
  if (!poiseFinite(tt)) return poiseStop(in, out, a, REASON_NANORINF);
  if (tt == 0 && in[QC_SS] != 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  c[0] = poiseQMRCGSOmega(in);
  c[1] = -in[QC_RT] / in[QC_VR];
  c[2] = in[QC_REST + a->parity] / in[QC_ALPHA];
  c[3] = poiseTFQMRRotate(sqrt(in[QC_SS]), &tau) * in[QC_ALPHA];
  return 1;
}

ELEMENTWISE(qmrcgs_update)
{
  double omega = c[0], r = READ(QC_R) - omega * READ(QC_T), d = READ(QC_HAT) + c[2] * READ(QC_D);
  OUT(QC_D) = d;
  OUT(QC_X) = READ(QC_X) + c[3] * d;
  OUT(QC_P) = r + c[1] * (READ(QC_P) - omega * READ(QC_V));
  OUT(QC_R) = r;
  return poiseDots(r * r, r * READ(QC_RHAT), 0);
}

/* qmrcgs_second: the second half step, likewise with omega; decides by |r|, as PETSc does. */
PROLOGUE(qmrcgs_second)
{
  double tau = in[QC_TAU + a->parity], omega = poiseQMRCGSOmega(in), norm = sqrt(in[QC_RR]);
  double rest = (1 - poiseTFQMRRotate(sqrt(in[QC_SS]), &tau)) * in[QC_ALPHA];
  double square = poiseTFQMRRotate(norm, &tau);
  int reason = poiseTestNext(in, a, norm);
  c[0] = omega == 0 ? 0 : rest / omega;
  c[1] = square * omega;
  out[QC_TAU + !a->parity] = tau;
  out[QC_REST + !a->parity] = (1 - square) * omega;
  if (!reason && norm == 0) reason = REASON_ATOL;
  poiseConclude(in, out, a, norm, !reason && omega == 0 ? REASON_BREAKDOWN : reason);
  return poiseFinite(norm);
}

ELEMENTWISE(qmrcgs_second)
{
  double d = READ(QC_HAT) + c[0] * READ(QC_D);
  OUT(QC_D) = d;
  OUT(QC_X) = READ(QC_X) + c[1] * d;
  return poiseDots(0, 0, 0);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The scalar and vector phases of BiCGstab(l) (Sleijpen & Fokkema 1993; see bicgstabl.c for the whole
  iteration).

  The small array holds the dots Z of r_0 ... r_l, of which column b has (r_a, r_b) for a <= b; a copy of them
  that is factored; and the coefficients gamma_1 ... gamma_l.
*/
#ifndef POISE_BICGSTABL_PHASES_H
#define POISE_BICGSTABL_PHASES_H

#include "ksp_phases.h"

/* Operands: pairs of an r_i and of the u that goes with it, from BL_R and BL_U on; absent: fewer pairs. In
   bicgstabl_residual x and u_0 take the places of a fourth pair. */
enum { BL_R, BL_U = 4, BL_PAIRS = 4, BL_X = 3, BL_U_0 = 7, BL_PAIRS_BESIDE_X = 3 };

/* Slots. */
enum {
  BL_RR = SLOT_FIRST_OWN,
  BL_RHO, /* (r_j, r^); two, by parity: of this iteration, and of the one before */
  BL_RHO_ODD,
  BL_UR, /* (u_j+1, r^), (u_j+1, u_j+1) */
  BL_UU,
  BL_ALPHA,
  BL_OMEGA,
  BL_FIRST, /* norm at the start, of r and r^ */
  BL_END
};

POISE_INLINE double *poiseBLDots(double *array, int64_t l, int64_t b)
{
  return array + b * (l + 1);
}
POISE_INLINE double *poiseBLFactor(double *array, int64_t l, int64_t b)
{
  return array + (l + 1 + b) * (l + 1);
}
POISE_INLINE double *poiseBLGamma(double *array, int64_t l)
{
  return array + 2 * (l + 1) * (l + 1);
}

/* bicgstabl_start: the first norm; r^ = r, in the place of the first u. k: rtol relative to |b|. */
PROLOGUE(bicgstabl_start)
{
  double rr = in[BL_RR], norm = sqrt(rr);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[BL_RHO + a->parity] = rr;
  out[BL_FIRST] = norm;
  return !poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && rr == 0 ? REASON_ATOL : reason);
}

ELEMENTWISE(bicgstabl_start)
{
  OUT(BL_U) = READ(BL_R);
  return poiseDots(0, 0, 0);
}

/* bicgstabl_direction: beta = alpha rho / rho_old, where a polynomial part lies between them alpha rho /
   (-omega rho_old); u_i = r_i - beta u_i. k: iteration j of the cycle. */
PROLOGUE(bicgstabl_direction)
{
  double rho = in[BL_RHO + a->parity], old = in[BL_RHO + !a->parity] * (a->k ? 1 : -in[BL_OMEGA]);
  if (!poiseFinite(rho)) return poiseStop(in, out, a, REASON_NANORINF);
  if (rho == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  c[0] = poiseIsFirst(in, a) ? 0 : in[BL_ALPHA] * rho / old;
  return 1;
}

ELEMENTWISE(bicgstabl_direction)
{
  for (int k = 0; k < BL_PAIRS; k++)
    if (a->out[BL_U + k]) OUT(BL_U + k) = READ(BL_R + k) - c[0] * READ(BL_U + k);
  return poiseDots(0, 0, 0);
}

/* bicgstabl_residual: alpha = rho / (u_j+1, r^); r_i -= alpha u_i+1; x += alpha u_0 (absent: x stays); dot
   (r, r) of the first r. */
PROLOGUE(bicgstabl_residual)
{
  double ur = in[BL_UR];
  if (!poiseFinite(ur)) return poiseStop(in, out, a, REASON_NANORINF);
  if (poiseIsLost(a, ur, in[BL_FIRST], in[BL_UU])) return poiseStop(in, out, a, REASON_BREAKDOWN);
  out[BL_ALPHA] = c[0] = in[BL_RHO + a->parity] / ur;
  return 1;
}

ELEMENTWISE(bicgstabl_residual)
{
  double alpha = c[0], first = READ(BL_R) - alpha * READ(BL_U);
  OUT(BL_R) = first;
  for (int k = 1; k < BL_PAIRS_BESIDE_X; k++)
    if (a->out[BL_R + k]) OUT(BL_R + k) = READ(BL_R + k) - alpha * READ(BL_U + k);
  if (a->out[BL_X]) OUT(BL_X) = READ(BL_X) + alpha * READ(BL_U_0);
  return poiseDots(first * first, 0, 0);
}

/* bicgstabl_minimize: the gamma that make r_0 - sum gamma_b r_b least, by Cholesky factors of their dots. An
   r_b that rounding cannot tell from a combination of those before has no part in it. flags: l. */
PROLOGUE(bicgstabl_minimize)
{
  int64_t l = a->flags;
  double *gamma = poiseBLGamma(a->array, l);
  for (int64_t b = 1; b <= l; b++) {
    double *z = poiseBLDots(a->array, l, b), *f = poiseBLFactor(a->array, l, b), pivot = z[b];
    for (int64_t i = 1; i < b; i++) {
      const double *g = poiseBLFactor(a->array, l, i);
      double sum = z[i];
      for (int64_t k = 1; k < i; k++) sum -= g[k] * f[k];
      f[i] = g[i] == 0 ? 0 : sum / g[i];
      pivot -= f[i] * f[i];
    }
    f[b] = pivot > 0x1p-50 * z[b] ? sqrt(pivot) : 0;
    double sum = z[0];
    for (int64_t i = 1; i < b; i++) sum -= f[i] * poiseBLFactor(a->array, l, i)[0];
    f[0] = f[b] == 0 ? 0 : sum / f[b];
  }
  for (int64_t b = l; b > 0; b--) {
    double sum = poiseBLFactor(a->array, l, b)[0], diagonal = poiseBLFactor(a->array, l, b)[b];
    for (int64_t i = b + 1; i <= l; i++) sum -= poiseBLFactor(a->array, l, i)[b] * gamma[i];
    gamma[b] = diagonal == 0 ? 0 : sum / diagonal;
  }
  out[BL_OMEGA] = gamma[l];
  return 0;
}

/* bicgstabl_decide: k: behind the polynomial part. */
PROLOGUE(bicgstabl_decide)
{
  double norm = sqrt(in[BL_RR]);
  int reason = poiseTestNext(in, a, norm);
  if (!reason && norm == 0) reason = REASON_ATOL;
  poiseConclude(in, out, a, norm, !reason && a->k && in[BL_OMEGA] == 0 ? REASON_BREAKDOWN : reason);
  return 0;
}

#endif

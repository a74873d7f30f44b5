/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The vector phase of TFQMR (Freund 1993; see tfqmr.c for the whole iteration). Where Freund has the direction
  d and the step eta = c^2 alpha, this has e = alpha d and c^2: x += c^2 e. The factor that d is carried on
  with is 1 - c^2, so d holds (1 - c^2) e between iterations.
*/
#ifndef POISE_TFQMR_PHASES_H
#define POISE_TFQMR_PHASES_H

#include "cgs_phases.h"

enum { TFQMR_D = CGS_T }; /* operand */

/* c^2 and tau of a half step with quasi-residual w. */
POISE_INLINE double poiseTFQMRRotate(double w, double *tau)
{
  double psi = w == 0 ? 0 : w / *tau, square = 1 / (1 + psi * psi);
  *tau *= psi * sqrt(square);
  return square;
}

/* tfqmr_direction: two half steps, x += c_0^2 e_0 with e_0 = alpha u + d, and x += c_1^2 e_1 with
   e_1 = alpha q + (1 - c_0^2) e_0; u and p as cgs has them; decides by the bound sqrt(m + 1) tau of the norm.
   A first half step that has converged is the last. */
PROLOGUE(tfqmr_direction)
{
  int now = a->parity, next = !now;
  double old = sqrt(in[CGS_RR + now]), dp = sqrt(in[CGS_RR + next]), tau = in[TFQMR_TAU + now];
  double m = 2 * (in[SLOT_ITS + now] - in[SLOT_BASE]) + 1, its = in[SLOT_ITS + now] + 1;
  c[0] = in[CGS_ALPHA];
  c[1] = poiseTFQMRRotate(sqrt(dp * old), &tau);
  double bound = sqrt(m + 1) * tau;
  int reason = poiseTest(in, &a->conv, bound, in[SLOT_NORM0], its);
  if (reason <= 0 || reason == REASON_ITS) {
    c[2] = poiseTFQMRRotate(dp, &tau);
    bound = sqrt(m + 2) * tau;
    reason = poiseCGSReason(in, a, poiseTest(in, &a->conv, bound, in[SLOT_NORM0], its));
  }
  c[3] = in[CGS_RHO + next] / in[CGS_RHO + now]; /* beta */
  out[TFQMR_TAU + next] = tau;
  poiseConclude(in, out, a, bound, reason);
  return poiseFinite(bound);
}

ELEMENTWISE(tfqmr_direction)
{
  double alpha = c[0], u = READ(CGS_U), e = alpha * u + READ(TFQMR_D), x = READ(CGS_X) + c[1] * e;
  e = alpha * READ(CGS_Q) + (1 - c[1]) * e;
  OUT(CGS_X) = x + c[2] * e;
  OUT(TFQMR_D) = (1 - c[2]) * e;
  poiseCGSDirection(c[3], a, i);
  return poiseDots(0, 0, 0);
}

#endif

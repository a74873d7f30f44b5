/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The scalar and vector phases of SYMMLQ (Paige & Saunders 1975; see symmlq.c for the whole iteration). The
  Lanczos vectors are those of minres. Reflection k is [c s; s -c]. It makes w = c wbar + s u and the next
  wbar = s wbar - c u of the latest wbar and u = z / beta.

  The small array holds two of each of SYMMLQ_..., by parity. A prologue never reads an entry that it writes.
*/
#ifndef POISE_SYMMLQ_PHASES_H
#define POISE_SYMMLQ_PHASES_H

#include "minres_phases.h"

enum { SYMMLQ_X, SYMMLQ_Z, SYMMLQ_WBAR }; /* operands */

/* Slots: those of minres up to MR_FACTOR; c and s of the reflection; zeta, the step along w; zeta_bar, from x
   to the point of conjugate gradients along wbar. */
enum { SYMMLQ_C = MR_COS, SYMMLQ_S = MR_SIN, SYMMLQ_STEP = MR_DBAR, SYMMLQ_STEP_BAR = MR_EPSILON };

/* Of the array: c, s, what they make of the next column (dbar), the product of its third entry and a zeta,
   zeta, and the product of all s times |r_0|. */
enum { SYMMLQ_COS, SYMMLQ_SIN, SYMMLQ_DBAR, SYMMLQ_THIRD, SYMMLQ_ZETA, SYMMLQ_PHI, SYMMLQ_STATE };

/* symmlq_update: w = c wbar + s u; wbar = s wbar - c u; x += zeta w, by the reflection of the iteration
   before. Of the first, c = -1 makes wbar = u. */
PROLOGUE(symmlq_update)
{
  c[0] = in[SYMMLQ_C];
  c[1] = in[SYMMLQ_S];
  c[2] = 1 / sqrt(in[MR_RZ + a->parity]);
  c[3] = in[SYMMLQ_STEP];
  out[SYMMLQ_STEP_BAR] = 0;
  return 1;
}

ELEMENTWISE(symmlq_update)
{
  double u = c[2] * READ(SYMMLQ_Z), wbar = READ(SYMMLQ_WBAR), w = c[0] * wbar + c[1] * u;
  OUT(SYMMLQ_WBAR) = c[1] * wbar - c[0] * u;
  OUT(SYMMLQ_X) = READ(SYMMLQ_X) + c[3] * w;
  return poiseDots(0, 0, 0);
}

/* symmlq_rotate: reflect the new column, zeta and zeta_bar, and decide by the norm at the point of conjugate
   gradients. That jumps, and lies at infinity where c = 0, so it is no sign of divergence. */
PROLOGUE(symmlq_rotate)
{
  const double far = 1e16; /* as PETSc has it for c = 0 */
  int now = a->parity, next = !now, first = poiseIsFirst(in, a);
  const double *was = a->array + now * SYMMLQ_STATE;
  double *is = a->array + next * SYMMLQ_STATE;
  double rz = in[MR_RZ + next], beta = sqrt(in[MR_RZ + now]), below = sqrt(fabs(rz)),
         alpha = in[MR_ZQ] / in[MR_RZ + now], its = in[SLOT_ITS + now];
  double cosine = first ? -1 : was[SYMMLQ_COS], sine = first ? 0 : was[SYMMLQ_SIN],
         dbar = first ? 0 : was[SYMMLQ_DBAR], third = first ? -beta : was[SYMMLQ_THIRD],
         old = first ? 0 : was[SYMMLQ_ZETA], phi = first ? beta : was[SYMMLQ_PHI];
  double delta = cosine * dbar + sine * alpha, gbar = sine * dbar - cosine * alpha;
  double gamma = sqrt(gbar * gbar + below * below), c_now = gbar / gamma, s_now = below / gamma;
  if (rz < 0 || gamma == 0) return poiseStop(in, out, a, rz < 0 ? REASON_INDEFINITE_PC : REASON_BREAKDOWN);
  double zeta = -(delta * old + third) / gamma, norm = in[MR_FACTOR] * phi * s_now;
  norm *= c_now == 0 ? far : 1 / fabs(c_now);
  is[SYMMLQ_COS] = out[SYMMLQ_C] = c_now;
  is[SYMMLQ_SIN] = out[SYMMLQ_S] = s_now;
  is[SYMMLQ_DBAR] = -cosine * below;
  is[SYMMLQ_THIRD] = sine * below * old;
  is[SYMMLQ_ZETA] = out[SYMMLQ_STEP] = zeta;
  is[SYMMLQ_PHI] = phi * s_now;
  out[SYMMLQ_STEP_BAR] = c_now == 0 ? 0 : zeta / c_now;
  int reason = poiseTestNext(in, a, norm);
  if (reason == REASON_DTOL) reason = its + 1 >= in[SLOT_MAXITS] ? REASON_MAXITS : 0;
  poiseConclude(in, out, a, norm, !reason && rz == 0 ? REASON_HAPPY : reason);
  return 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The vector phases of MINRES (Paige & Saunders 1975; see minres.c for the whole iteration).

  r_k = beta_k v_k are the Lanczos vectors, z_k = M r_k. The rotation of iteration k leaves values for the
  next one: its cosine and sine, what it makes of the next column (dbar, epsilon), and the rest of the
  right-hand side (phi). |phi| is the norm of the residual in M. Each is kept twice, by parity.
*/
#ifndef POISE_MINRES_PHASES_H
#define POISE_MINRES_PHASES_H

#include "ksp_phases.h"

/* Operands. r_old is r of the iteration before, w_1 and w_2 are w of the two before. New ones take the place
   of the oldest. */
enum { MR_X, MR_Q, MR_R, MR_R_OLD, MR_Z, MR_W1, MR_W2, MR_D };

/* Slots. */
enum {
  MR_RZ = SLOT_FIRST_OWN, /* beta^2 = (r, z) */
  MR_RZ_ODD,
  MR_ZQ,
  MR_NN = MR_ZQ, /* before the first product: (z, z) for the preconditioned norm, else (r, r) */
  MR_FACTOR,     /* from |phi| to the norm asked for */
  MR_COS,
  MR_COS_ODD,
  MR_SIN,
  MR_SIN_ODD,
  MR_DBAR,
  MR_DBAR_ODD,
  MR_EPSILON,
  MR_EPSILON_ODD,
  MR_PHI,
  MR_PHI_ODD,
  MR_END
};

/* minres_start: the first norm; flags: the norm asked for. k: rtol is relative to |b|; c[0] != 0: a null
   space is removed from z. (r, z) = 0 shows an indefinite M where r, or z for the norm of that, is not
   0. r may be a part of the null space; z is not. */
PROLOGUE(minres_start)
{
  double rz = in[MR_RZ], nn = in[MR_NN], beta = sqrt(fabs(rz));
  double factor = a->flags == NORM_PRECONDITIONED && beta > 0 ? sqrt(nn) / beta : 1;
  double norm = beta == 0 && a->flags == NORM_PRECONDITIONED ? sqrt(nn) : factor * beta;
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  int projected = a->c[0].value != 0;
  if (rz == 0 && nn > 0 && (!projected || a->flags == NORM_PRECONDITIONED))
    reason = projected ? REASON_BREAKDOWN : REASON_INDEFINITE_PC;
  else if (!reason && rz <= 0)
    reason = rz < 0 ? REASON_INDEFINITE_PC : REASON_ATOL;
  out[MR_FACTOR] = factor;
  out[MR_COS] = -1;
  out[MR_PHI] = beta;
  poiseConcludeFirst(in, out, a, norm, (int)a->k, reason);
  return 0;
}

/* minres_lanczos: r' = q / beta - (alpha / beta) r - (beta / beta_old) r_old with alpha = (z, q) / beta^2, in
   place of r_old; z' = d r' (absent: not stored); dot (r', z'). */
PROLOGUE(minres_lanczos)
{
  double rz = in[MR_RZ + a->parity], beta = sqrt(rz);
  if (!poiseFinite(in[MR_ZQ])) return poiseStop(in, out, a, REASON_NANORINF);
  c[0] = 1 / beta;
  c[1] = in[MR_ZQ] / rz / beta; /* alpha / beta */
  c[2] = poiseIsFirst(in, a) ? 0 : beta / sqrt(in[MR_RZ + !a->parity]);
  return 1;
}

ELEMENTWISE(minres_lanczos)
{
  double r = c[0] * READ(MR_Q) - c[1] * READ(MR_R) - c[2] * OUT(MR_R_OLD);
  OUT(MR_R_OLD) = r;
  double z = poisePoint(a, MR_D, r, i);
  if (a->out[MR_Z]) OUT(MR_Z) = z;
  return poiseDots(r * z, 0, 0);
}

/* minres_update: rotate the new column; w = (z / beta - delta w_1 - epsilon w_2) / gamma in place of w_2; x
   += tau w; decides. A column of zeros (gamma = 0) shows a singular matrix: x stays, the least squares
   solution. */
PROLOGUE(minres_update)
{
  int now = a->parity, next = !now;
  double rz = in[MR_RZ + next], beta = sqrt(in[MR_RZ + now]), alpha = in[MR_ZQ] / in[MR_RZ + now],
         below = sqrt(fabs(rz));
  double cosine = in[MR_COS + now], sine = in[MR_SIN + now], dbar = in[MR_DBAR + now], phi = in[MR_PHI + now];
  double delta = cosine * dbar + sine * alpha, gbar = sine * dbar - cosine * alpha;
  double gamma = sqrt(gbar * gbar + below * below), its = in[SLOT_ITS + now];
  if (rz < 0 || gamma == 0) {
    poiseFinish(out, rz < 0 ? REASON_INDEFINITE_PC : REASON_BREAKDOWN, its);
    return 0;
  }
  out[MR_COS + next] = gbar / gamma;
  out[MR_SIN + next] = below / gamma;
  out[MR_DBAR + next] = -cosine * below;
  out[MR_EPSILON + next] = sine * below;
  out[MR_PHI + next] = phi * (below / gamma);
  c[0] = 1 / (beta * gamma);
  c[1] = delta / gamma;
  c[2] = in[MR_EPSILON + now] / gamma;
  c[3] = phi * (gbar / gamma); /* tau */
  if (!poiseDecide(in, out, a, in[MR_FACTOR] * fabs(phi * (below / gamma))) && rz == 0)
    poiseFinish(out, REASON_HAPPY, its + 1);
  return poiseFinite(gamma);
}

ELEMENTWISE(minres_update)
{
  double w = c[0] * READ(MR_Z) - c[1] * READ(MR_W1) - c[2] * OUT(MR_W2), tau = c[3];
  OUT(MR_W2) = w;
  OUT(MR_X) += tau * w;
  return poiseDots(0, 0, 0);
}

#endif

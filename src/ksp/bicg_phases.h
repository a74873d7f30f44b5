/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of BiCG (Fletcher 1976; see bicg.c for the whole iteration). */
#ifndef POISE_BICG_PHASES_H
#define POISE_BICG_PHASES_H

#include "ksp_phases.h"

/* Operands: ...T are those of A^T. M, where it is a diagonal, is both M and M^T. */
enum {
  BICG_Q,
  BICG_QT,
  BICG_D,
  BICG_R,
  BICG_RT,
  BICG_X,
  BICG_P,
  BICG_PT,
  BICG_Z = BICG_Q, /* behind the update */
  BICG_ZT = BICG_QT
};

/* Slots. */
enum {
  BICG_RHO = SLOT_FIRST_OWN, /* (r~, z); two, by parity */
  BICG_RHO_ODD,
  BICG_NN, /* what the norm is the root of: (z, z) or (r, r) */
  BICG_PQ, /* (p~, q) */
  BICG_ALPHA,
  BICG_FIRST, /* norm at the start */
  BICG_END
};

/* `reason`, or what the scalars say: r is 0, though no norm is asked for; or beta would be 0, or infinite. */
POISE_INLINE int poiseBiCGReason(int reason, double rho, double nn)
{
  if (!reason && nn == 0) return REASON_ATOL;
  return !reason && rho == 0 ? REASON_BREAKDOWN : reason;
}

/* bicg_start: the first norm; r~ = r; p = z; p~ = z~. k: rtol relative to |b|. */
PROLOGUE(bicg_start)
{
  double rho = in[BICG_RHO + a->parity], nn = in[BICG_NN], norm = sqrt(nn);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[BICG_FIRST] = norm;
  return !poiseConcludeFirst(in, out, a, norm, (int)a->k, poiseBiCGReason(reason, rho, nn));
}

ELEMENTWISE(bicg_start)
{
  double r = READ(BICG_R);
  OUT(BICG_RT) = r;
  OUT(BICG_P) = a->in[BICG_Z] ? READ(BICG_Z) : poisePoint(a, BICG_D, r, i);
  OUT(BICG_PT) = a->in[BICG_ZT] ? READ(BICG_ZT) : poisePoint(a, BICG_D, r, i);
  return poiseDots(0, 0, 0);
}

/* bicg_update: alpha = rho / (p~, q); r -= alpha q; r~ -= alpha q~; z = d r; dots (r~, z), and (z, z), or (r,
   r) if flags. */
PROLOGUE(bicg_update)
{
  double pq = in[BICG_PQ];
  if (!poiseFinite(pq)) return poiseStop(in, out, a, REASON_NANORINF);
  if (pq == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  out[BICG_ALPHA] = c[0] = in[BICG_RHO + a->parity] / pq;
  return 1;
}

ELEMENTWISE(bicg_update)
{
  double alpha = c[0], r = READ(BICG_R) - alpha * READ(BICG_Q), rt = READ(BICG_RT) - alpha * READ(BICG_QT);
  double z = poisePoint(a, BICG_D, r, i);
  OUT(BICG_R) = r;
  OUT(BICG_RT) = rt;
  return poiseDots(rt * z, a->flags ? r * r : z * z, 0);
}

/* bicg_direction: x += alpha p; beta = rho' / rho; p = z + beta p; p~ = z~ + beta p~; decides. */
PROLOGUE(bicg_direction)
{
  double rho = in[BICG_RHO + !a->parity], nn = in[BICG_NN], norm = sqrt(nn);
  c[0] = in[BICG_ALPHA];
  c[1] = rho / in[BICG_RHO + a->parity]; /* beta */
  poiseConclude(in, out, a, norm, poiseBiCGReason(poiseTestNext(in, a, norm), rho, nn));
  return 1;
}

ELEMENTWISE(bicg_direction)
{
  double alpha = c[0], beta = c[1], p = READ(BICG_P);
  OUT(BICG_X) = READ(BICG_X) + alpha * p;
  OUT(BICG_P) = poisePoint(a, BICG_D, READ(BICG_Z), i) + beta * p;
  OUT(BICG_PT) = poisePoint(a, BICG_D, READ(BICG_ZT), i) + beta * READ(BICG_PT);
  return poiseDots(0, 0, 0);
}

#endif

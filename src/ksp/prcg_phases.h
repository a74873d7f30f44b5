/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of predict-and-recompute conjugate gradients (see prcg.c). They start as cg does. */
#ifndef POISE_PRCG_PHASES_H
#define POISE_PRCG_PHASES_H

#include "cg_phases.h"

enum { PRCG_QDQ = CG_ALPHA + 1 };

/* Judge the update before. Returns nonzero when the solve is over. */
POISE_INLINE int poisePRCGJudge(const double *in, double *out, const PhaseArgs *a)
{
  double rz = in[CG_RZ + a->parity];
  int reason = poiseDecide(in, out, a, poiseCGNorm(a, rz, in[CG_NN]));
  if (!reason && rz == 0) reason = REASON_ATOL;
  if (!reason && rz < 0) reason = REASON_INDEFINITE_PC;
  if (!reason) return 0;
  poiseFinish(out, reason, in[SLOT_ITS + a->parity] + 1);
  out[SLOT_SEEN] = 1;
  return reason;
}

/* prcg_update: x += alpha p; r -= alpha q; p = D r + beta p; dots (r, D r) and |D r|^2 or |r|^2. in: q, d, x, r, p; out: x, r, p.
   The next (r, D r) is predicted: (r - alpha q, D (r - alpha q)) = alpha^2 (q, D q) - rz, as (r, D q) = (p, q).
   k: there is an update before that has not been judged. */
POISE_INLINE int prcg_update_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rz = in[CG_RZ + a->parity], pq = in[CG_PQ + a->parity], old = in[CG_PQ + !a->parity];
  c[0] = rz / pq;
  c[1] = poiseLarger(0, (c[0] * c[0] * in[PRCG_QDQ] - rz) / rz);
  if (a->k && poisePRCGJudge(in, out, a)) return 0;
  if (!poiseFinite(pq)) return poiseStop(in, out, a, REASON_NANORINF);
  if (pq == 0 || (in[SLOT_ITS + a->parity] > 0 && (pq < 0) != (old < 0)))
    return poiseStop(in, out, a, REASON_INDEFINITE_MAT);
  return 1;
}

POISE_INLINE Dots prcg_update_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double pi = poiseRead(a, 4, i), ri = poiseRead(a, 3, i) - c[0] * poiseRead(a, 0, i), z = poisePoint(a, 1, ri, i);
  a->out[0][i] = poiseRead(a, 2, i) + c[0] * pi;
  a->out[1][i] = ri;
  a->out[2][i] = z + c[1] * pi;
  return poiseDots(ri * z, a->flags == NORM_PRECONDITIONED ? z * z : ri * ri, 0);
}

/* prcg_judge: the update before. */
POISE_INLINE int prcg_judge_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)c;
  (void)poisePRCGJudge(in, out, a);
  return 0;
}

POISE_INLINE Dots prcg_judge_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c, (void)a, (void)i;
  return poiseDots(0, 0, 0);
}

#endif

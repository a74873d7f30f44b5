/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of predict-and-recompute conjugate gradients (see prcg.c). They start as cg does. */
#ifndef POISE_PRCG_PHASES_H
#define POISE_PRCG_PHASES_H

#include "cg_phases.h"

enum { PRCG_QDQ = CG_ALPHA + 1 };

/* Judge the update before. Returns nonzero when the solve is over. */
POISE_INLINE int poisePRCGJudge(const double *in, double *out, const PhaseArgs *a)
{
  double rz = in[CG_RZ + a->parity], old = in[CG_RZ + !a->parity], nn = in[CG_NN],
         norm = poiseCGNorm(a, rz, nn);
  int reason = poiseConclude(in, out, a, norm, poiseCGReason(a, poiseTestNext(in, a, norm), rz, old, nn));
  if (reason) out[SLOT_SEEN] = 1;
  return reason;
}

/* Updates made since the solve began, before this one. The latest is counted when it is judged: in this
   prologue (k), or at the end of a cycle, which has the other parity. */
POISE_INLINE double poisePRCGUpdates(const double *in, const PhaseArgs *a)
{
  return a->k ? in[SLOT_ITS + a->parity] + 1 : poiseLarger(in[SLOT_ITS], in[SLOT_ITS_ODD]);
}

/* prcg_update: x += alpha p; r -= alpha q; p = D r + beta p; dots (r, D r) and |D r|^2 or |r|^2. in: q, d, x,
   r, p; out: x, r, p. The next (r, D r) is predicted: (r - alpha q, D (r - alpha q)) = alpha^2 (q, D q) - rz,
   as (r, D q) = (p, q). k: there is an update before that has not been judged. */
POISE_INLINE int prcg_update_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rz = in[CG_RZ + a->parity], pq = in[CG_PQ + a->parity], old = in[CG_PQ + !a->parity];
  double its = poisePRCGUpdates(in, a);
  c[0] = rz / pq;
  c[1] = poiseLarger(0, (c[0] * c[0] * in[PRCG_QDQ] - rz) / rz);
  if (a->k && poisePRCGJudge(in, out, a)) return 0;
  if (!poiseFinite(pq)) return poiseStopAt(out, REASON_NANORINF, its);
  if (pq == 0 || (its > in[SLOT_BASE] && (pq < 0) != (old < 0)))
    return poiseStopAt(out, REASON_INDEFINITE_MAT, its);
  return 1;
}

POISE_INLINE Dots prcg_update_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double pi = poiseRead(a, 4, i), ri = poiseRead(a, 3, i) - c[0] * poiseRead(a, 0, i),
         z = poisePoint(a, 1, ri, i);
  a->out[0][i] = poiseRead(a, 2, i) + c[0] * pi;
  a->out[1][i] = ri;
  a->out[2][i] = z + c[1] * pi;
  return poiseDots(ri * z, (a->flags & CG_NORM) == NORM_PRECONDITIONED ? z * z : ri * ri, 0);
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

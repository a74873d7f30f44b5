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

/* prcg_update: x += alpha p; r -= alpha q; p = D r + beta p; dots (r, D r) and |D r|^2 or |r|^2. The next (r,
   D r) is predicted: (r - alpha q, D (r - alpha q)) = alpha^2 (q, D q) - rz, as (r, D q) = (p, q). k: there
   is an update before that has not been judged. */
PROLOGUE(prcg_update)
{
  double rz = in[CG_RZ + a->parity], pq = in[CG_PQ + a->parity], old = in[CG_PQ + !a->parity];
  double its = poisePRCGUpdates(in, a);
  c[0] = rz / pq;                                                /* alpha */
  c[1] = poiseLarger(0, (c[0] * c[0] * in[PRCG_QDQ] - rz) / rz); /* beta */
  if (a->k && poisePRCGJudge(in, out, a)) return 0;
  if (!poiseFinite(pq)) return poiseStopAt(out, REASON_NANORINF, its);
  if (pq == 0 || (its > in[SLOT_BASE] && (pq < 0) != (old < 0)))
    return poiseStopAt(out, REASON_INDEFINITE_MAT, its);
  return 1;
}

ELEMENTWISE(prcg_update)
{
  double alpha = c[0], beta = c[1], p = READ(CG_P);
  double r = READ(CG_R) - alpha * READ(CG_Q), z = poisePoint(a, CG_D, r, i);
  OUT(CG_X) = READ(CG_X) + alpha * p;
  OUT(CG_R) = r;
  OUT(CG_P) = z + beta * p;
  return poiseDots(r * z, (a->flags & CG_NORM) == NORM_PRECONDITIONED ? z * z : r * r, 0);
}

/* prcg_judge: the update before. */
PROLOGUE(prcg_judge)
{
  (void)poisePRCGJudge(in, out, a);
  return 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of preconditioned conjugate gradients (Hestenes & Stiefel; see cg.c for the whole
   iteration). */
#ifndef POISE_CG_PHASES_H
#define POISE_CG_PHASES_H

#include "ksp_phases.h"

enum { CG_RZ = SLOT_FIRST_OWN, CG_RZ_ODD, CG_PQ, CG_PQ_ODD, CG_NN, CG_ALPHA };

/* Of flags, beside the norm: the null space of A is removed from z. */
enum { CG_NORM = 7, CG_PROJECTED = 8 };

/* The norm asked for, from (r, z) and the other dot: |z|^2 or |r|^2. */
POISE_INLINE double poiseCGNorm(const PhaseArgs *a, double rz, double nn)
{
  return sqrt((a->flags & CG_NORM) == NORM_NATURAL ? fabs(rz) : nn);
}

/* `reason` as the norm has it, or what (r, z) says. That it is 0 and r is not, or that its sign changes,
   shows an indefinite preconditioner: as in PETSc, A and M may both be negative definite. Where a null
   space is removed, r may lie in it. nn: as for the norm. */
POISE_INLINE int poiseCGReason(const PhaseArgs *a, int reason, double rz, double old, double nn)
{
  int natural = (a->flags & CG_NORM) == NORM_NATURAL, projected = a->flags & CG_PROJECTED;
  if (rz == 0 && nn > 0 && natural && !projected) return REASON_INDEFINITE_PC; /* whatever that norm says */
  if (reason) return reason;
  if (rz == 0 && nn > 0) return projected ? REASON_BREAKDOWN : REASON_INDEFINITE_PC;
  if (rz == 0) return REASON_ATOL;
  return (rz < 0) != (old < 0) ? REASON_INDEFINITE_PC : 0;
}

/* cg_start: the first norm; p = z = M r. in: r, d, z (NULL: z = d r); out: p. k: rtol is relative to |b|. */
POISE_INLINE int cg_start_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rz = in[CG_RZ], nn = in[CG_NN], norm = poiseCGNorm(a, rz, nn);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  (void)c;
  poiseConcludeFirst(in, out, a, norm, (int)a->k, poiseCGReason(a, reason, rz, rz, nn));
  return 1;
}

POISE_INLINE Dots cg_start_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  a->out[0][i] = a->in[2] ? poiseRead(a, 2, i) : poisePoint(a, 1, poiseRead(a, 0, i), i);
  return poiseDots(0, 0, 0);
}

/* cg_update: alpha = rz / pq; r -= alpha q; dots (r, z) and |z|^2 or |r|^2 with z = d r. in: q, d, r; out:
   r. */
POISE_INLINE int cg_update_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double pq = in[CG_PQ + a->parity], old = in[CG_PQ + !a->parity];
  if (!poiseFinite(pq)) return poiseStop(in, out, a, REASON_NANORINF);
  if (pq == 0 || (!poiseIsFirst(in, a) && (pq < 0) != (old < 0)))
    return poiseStop(in, out, a, REASON_INDEFINITE_MAT);
  c[0] = in[CG_RZ + a->parity] / pq;
  out[CG_ALPHA] = c[0];
  return 1;
}

POISE_INLINE Dots cg_update_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double ri = poiseRead(a, 2, i) - c[0] * poiseRead(a, 0, i), z = poisePoint(a, 1, ri, i);
  a->out[0][i] = ri;
  return poiseDots(ri * z, (a->flags & CG_NORM) == NORM_PRECONDITIONED ? z * z : ri * ri, 0);
}

/* cg_direction: x += alpha p; beta = rz' / rz; p = z + beta p; decides. in: r, d, z (NULL: z = d r), x, p;
   out: x, p. */
POISE_INLINE int cg_direction_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rz = in[CG_RZ + !a->parity], old = in[CG_RZ + a->parity], nn = in[CG_NN],
         norm = poiseCGNorm(a, rz, nn);
  c[0] = in[CG_ALPHA];
  c[1] = rz / old;
  poiseConclude(in, out, a, norm, poiseCGReason(a, poiseTestNext(in, a, norm), rz, old, nn));
  return 1;
}

POISE_INLINE Dots cg_direction_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double zi = a->in[2] ? poiseRead(a, 2, i) : poisePoint(a, 1, poiseRead(a, 0, i), i),
         pi = poiseRead(a, 4, i);
  a->out[0][i] = poiseRead(a, 3, i) + c[0] * pi;
  a->out[1][i] = zi + c[1] * pi;
  return poiseDots(0, 0, 0);
}

#endif

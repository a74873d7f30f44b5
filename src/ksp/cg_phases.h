/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of preconditioned conjugate gradients (Hestenes & Stiefel; see cg.c for the whole
   iteration). */
#ifndef POISE_CG_PHASES_H
#define POISE_CG_PHASES_H

#include "ksp_phases.h"

/* Operands: the work vectors, and M where it is a diagonal. */
enum { CG_Q, CG_D, CG_R, CG_Z, CG_X, CG_P };

/* Slots: (r, z), (p, q), the other dot that a norm is made of, alpha. */
enum { CG_RZ = SLOT_FIRST_OWN, CG_RZ_ODD, CG_PQ, CG_PQ_ODD, CG_NN, CG_ALPHA };

/* Of flags, beside the norm: the null space of A is removed from z. */
enum { CG_NORM = 7, CG_PROJECTED = 8, CG_KEEPS = 16 };

enum { CG_KEPT = 10000 }; /* iterations whose alpha and beta are kept in the array, if flags has CG_KEEPS */

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

/* z = M r, which is an operand where M is no diagonal. */
POISE_INLINE double poiseCGZ(const PhaseArgs *a, int64_t i)
{
  return a->in[CG_Z] ? READ(CG_Z) : poisePoint(a, CG_D, READ(CG_R), i);
}

/* cg_start: the first norm; p = z = M r. k: rtol is relative to |b|. */
PROLOGUE(cg_start)
{
  double rz = in[CG_RZ], nn = in[CG_NN], norm = poiseCGNorm(a, rz, nn);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  poiseConcludeFirst(in, out, a, norm, (int)a->k, poiseCGReason(a, reason, rz, rz, nn));
  return 1;
}

ELEMENTWISE(cg_start)
{
  OUT(CG_P) = poiseCGZ(a, i);
  return poiseDots(0, 0, 0);
}

/* cg_update: alpha = rz / pq; r -= alpha q; z = d r; dots (r, z) and |z|^2 or |r|^2. */
PROLOGUE(cg_update)
{
  double pq = in[CG_PQ + a->parity], old = in[CG_PQ + !a->parity];
  if (!poiseFinite(pq)) return poiseStop(in, out, a, REASON_NANORINF);
  if (pq == 0 || (!poiseIsFirst(in, a) && (pq < 0) != (old < 0)))
    return poiseStop(in, out, a, REASON_INDEFINITE_MAT);
  c[0] = in[CG_RZ + a->parity] / pq; /* alpha */
  out[CG_ALPHA] = c[0];
  return 1;
}

ELEMENTWISE(cg_update)
{
  double alpha = c[0], r = READ(CG_R) - alpha * READ(CG_Q), z = poisePoint(a, CG_D, r, i);
  OUT(CG_R) = r;
  return poiseDots(r * z, (a->flags & CG_NORM) == NORM_PRECONDITIONED ? z * z : r * r, 0);
}

/* cg_direction: x += alpha p; beta = rz' / rz; p = z + beta p; decides. */
PROLOGUE(cg_direction)
{
  double rz = in[CG_RZ + !a->parity], old = in[CG_RZ + a->parity], nn = in[CG_NN],
         norm = poiseCGNorm(a, rz, nn);
  c[0] = in[CG_ALPHA]; /* alpha */
  c[1] = rz / old;     /* beta */
  double k = in[SLOT_ITS + a->parity] - in[SLOT_BASE];
  if (a->flags & CG_KEEPS && a->array && k < CG_KEPT) {
    a->array[2 * (int64_t)k] = c[0];
    a->array[2 * (int64_t)k + 1] = c[1];
  }
  poiseConclude(in, out, a, norm, poiseCGReason(a, poiseTestNext(in, a, norm), rz, old, nn));
  return 1;
}

ELEMENTWISE(cg_direction)
{
  double alpha = c[0], beta = c[1], p = READ(CG_P), z = poiseCGZ(a, i);
  OUT(CG_X) = READ(CG_X) + alpha * p;
  OUT(CG_P) = z + beta * p;
  return poiseDots(0, 0, 0);
}

#endif

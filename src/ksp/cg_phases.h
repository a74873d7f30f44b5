/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of preconditioned conjugate gradients (Hestenes & Stiefel; see cg.c for the whole iteration). */
#ifndef POISE_CG_PHASES_H
#define POISE_CG_PHASES_H

#include "ksp_phases.h"

enum { CG_RZ = SLOT_FIRST_OWN, CG_RZ_ODD, CG_PQ, CG_PQ_ODD, CG_NN, CG_ALPHA };

/* The norm asked for, from (r, z) and the other dot: |z|^2 or |r|^2. */
POISE_INLINE double poiseCGNorm(const PhaseArgs *a, double rz, double nn)
{
  return sqrt(a->flags == NORM_NATURAL ? fabs(rz) : nn);
}

/* (r, z) = 0 solves the problem, a change of its sign shows an indefinite preconditioner: as in PETSc, A and M may both be
   negative definite. */
POISE_INLINE void poiseCGCheckRZ(double *out, double rz, double old, double its)
{
  if (rz == 0) poiseFinish(out, REASON_ATOL, its);
  if ((rz < 0) != (old < 0) && rz != 0) poiseFinish(out, REASON_INDEFINITE_PC, its);
}

/* cg_start: the first norm; p = z = M r. in: r, d, z (NULL: z = d r); out: p. k: rtol is relative to |b|. */
POISE_INLINE int cg_start_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rz = in[CG_RZ];
  (void)c;
  if (!poiseDecideFirst(in, out, a, poiseCGNorm(a, rz, in[CG_NN]), (int)a->k)) poiseCGCheckRZ(out, rz, rz, 0);
  return 1;
}

POISE_INLINE Dots cg_start_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  a->out[0][i] = a->in[2] ? poiseRead(a, 2, i) : poisePoint(a, 1, poiseRead(a, 0, i), i);
  return poiseDots(0, 0, 0);
}

/* cg_update: alpha = rz / pq; r -= alpha q; dots (r, z) and |z|^2 or |r|^2 with z = d r. in: q, d, r; out: r. */
POISE_INLINE int cg_update_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double pq = in[CG_PQ + a->parity], old = in[CG_PQ + !a->parity];
  if (!poiseFinite(pq)) return poiseStop(in, out, a, REASON_NANORINF);
  if (pq == 0 || (in[SLOT_ITS + a->parity] > 0 && (pq < 0) != (old < 0)))
    return poiseStop(in, out, a, REASON_INDEFINITE_MAT);
  c[0] = in[CG_RZ + a->parity] / pq;
  out[CG_ALPHA] = c[0];
  return 1;
}

POISE_INLINE Dots cg_update_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double ri = poiseRead(a, 2, i) - c[0] * poiseRead(a, 0, i), z = poisePoint(a, 1, ri, i);
  a->out[0][i] = ri;
  return poiseDots(ri * z, a->flags == NORM_PRECONDITIONED ? z * z : ri * ri, 0);
}

/* cg_direction: x += alpha p; beta = rz' / rz; p = z + beta p; decides. in: r, d, z (NULL: z = d r), x, p; out: x, p. */
POISE_INLINE int cg_direction_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double rz = in[CG_RZ + !a->parity], old = in[CG_RZ + a->parity];
  c[0] = in[CG_ALPHA];
  c[1] = rz / old;
  if (!poiseDecide(in, out, a, poiseCGNorm(a, rz, in[CG_NN]))) poiseCGCheckRZ(out, rz, old, in[SLOT_ITS + a->parity] + 1);
  return 1;
}

POISE_INLINE Dots cg_direction_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double zi = a->in[2] ? poiseRead(a, 2, i) : poisePoint(a, 1, poiseRead(a, 0, i), i), pi = poiseRead(a, 4, i);
  a->out[0][i] = poiseRead(a, 3, i) + c[0] * pi;
  a->out[1][i] = zi + c[1] * pi;
  return poiseDots(0, 0, 0);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases of methods that move x along z = M^-1 r (richardson.c, chebyshev.c; see stationary.c). */
#ifndef POISE_STATIONARY_PHASES_H
#define POISE_STATIONARY_PHASES_H

#include "ksp_phases.h"

/* Work vectors, of which a method's own start at ST_OWN. The operands are these, p and d. */
enum { ST_X, ST_B, ST_R, ST_Z, ST_OWN, ST_P = ST_OWN, ST_D };

enum { ST_NN = SLOT_FIRST_OWN, ST_SCALE, ST_ALPHA, ST_OMEGA, ST_OMEGA_ODD };

/* stationary_residual: r = b - r, where r holds A x; dot |z|^2 with z = d r, or |r|^2. flags: the norm. */
PROLOGUE(stationary_residual)
{
  return 1;
}

ELEMENTWISE(stationary_residual)
{
  double r = READ(ST_B) - OUT(ST_R);
  OUT(ST_R) = r;
  double z = poisePoint(a, ST_D, r, i);
  return poiseDots(a->flags == NORM_PRECONDITIONED ? z * z : r * r, 0, 0);
}

/* stationary_start: the first norm. c: scale, alpha, a reason to stop or 0. k: rtol is relative to |b|. */
PROLOGUE(stationary_start)
{
  out[ST_SCALE] = a->c[0].value;
  out[ST_ALPHA] = a->c[1].value;
  if (!poiseDecideFirst(in, out, a, sqrt(in[ST_NN]), (int)a->k) && a->c[2].value != 0)
    poiseFinish(out, (int)a->c[2].value, in[SLOT_BASE]);
  return 0;
}

/* stationary_decide: the norm of the iteration. */
PROLOGUE(stationary_decide)
{
  poiseDecide(in, out, a, sqrt(in[ST_NN]));
  return 0;
}

/* z = M r of a step, which is an operand where M is no diagonal. */
POISE_INLINE double poiseStationaryZ(const PhaseArgs *a, int64_t i)
{
  return a->in[ST_Z] ? READ(ST_Z) : poisePoint(a, ST_D, READ(ST_R), i);
}

/* richardson_step: x += scale z. */
PROLOGUE(richardson_step)
{
  c[0] = in[ST_SCALE];
  return 1;
}

ELEMENTWISE(richardson_step)
{
  double scale = c[0];
  OUT(ST_X) += scale * poiseStationaryZ(a, i);
  return poiseDots(0, 0, 0);
}

/* chebyshev_step: p = (omega - 1) p + omega scale z; x += p. omega is 1 / (1 - alpha^2 omega / 4) of the one
   before, which counts as 2 in the first iteration, where p = scale z. */
PROLOGUE(chebyshev_step)
{
  double alpha = in[ST_ALPHA], omega = 1 / (1 - 0.25 * alpha * alpha * in[ST_OMEGA + a->parity]);
  int first = poiseIsFirst(in, a);
  out[ST_OMEGA + !a->parity] = first ? 2 : omega;
  c[0] = first ? 0 : omega - 1;
  c[1] = (first ? 1 : omega) * in[ST_SCALE];
  return 1;
}

ELEMENTWISE(chebyshev_step)
{
  double p = c[1] * poiseStationaryZ(a, i);
  if (c[0] != 0) p += c[0] * OUT(ST_P); /* which holds nothing before the first iteration */
  OUT(ST_P) = p;
  OUT(ST_X) += p;
  return poiseDots(0, 0, 0);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases of methods that move x along z = M^-1 r (richardson.c, chebyshev.c; see stationary.c). */
#ifndef POISE_STATIONARY_PHASES_H
#define POISE_STATIONARY_PHASES_H

#include "ksp_phases.h"

enum { ST_NN = SLOT_FIRST_OWN, ST_SCALE, ST_ALPHA, ST_OMEGA, ST_OMEGA_ODD };

/* stationary_residual: r = b - r, where r holds A x; dot |z|^2 with z = d r, or |r|^2. in: b, d; out: r;
   flags: the norm. */
POISE_INLINE int stationary_residual_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out, (void)a, (void)c;
  return 1;
}

POISE_INLINE Dots stationary_residual_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double *r = a->out[0];
  (void)c;
  double ri = r[i] = poiseRead(a, 0, i) - r[i], z = poisePoint(a, 1, ri, i);
  return poiseDots(a->flags == NORM_PRECONDITIONED ? z * z : ri * ri, 0, 0);
}

/* stationary_start: the first norm. c: scale, alpha, a reason to stop or 0. k: rtol is relative to |b|. */
POISE_INLINE int stationary_start_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)c;
  out[ST_SCALE] = a->c[0].value;
  out[ST_ALPHA] = a->c[1].value;
  if (!poiseDecideFirst(in, out, a, sqrt(in[ST_NN]), (int)a->k) && a->c[2].value != 0)
    poiseFinish(out, (int)a->c[2].value, in[SLOT_BASE]);
  return 0;
}

POISE_INLINE Dots stationary_start_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c, (void)a, (void)i;
  return poiseDots(0, 0, 0);
}

/* stationary_decide: the norm of the iteration. */
POISE_INLINE int stationary_decide_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)c;
  poiseDecide(in, out, a, sqrt(in[ST_NN]));
  return 0;
}

POISE_INLINE Dots stationary_decide_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c, (void)a, (void)i;
  return poiseDots(0, 0, 0);
}

/* z_i of a step. */
POISE_INLINE double poiseStationaryZ(const PhaseArgs *a, int64_t i)
{
  return a->in[2] ? poiseRead(a, 2, i) : poisePoint(a, 1, poiseRead(a, 0, i), i);
}

/* richardson_step: x += scale z. */
POISE_INLINE int richardson_step_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)out, (void)a;
  c[0] = in[ST_SCALE];
  return 1;
}

POISE_INLINE Dots richardson_step_element(const double *c, const PhaseArgs *a, int64_t i)
{
  a->out[0][i] += c[0] * poiseStationaryZ(a, i);
  return poiseDots(0, 0, 0);
}

/* chebyshev_step: p = (omega - 1) p + omega scale z; x += p. omega is 1 / (1 - alpha^2 omega / 4) of the one
   before, which counts as 2 in the first iteration, where p = scale z. */
POISE_INLINE int chebyshev_step_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  double alpha = in[ST_ALPHA], omega = 1 / (1 - 0.25 * alpha * alpha * in[ST_OMEGA + a->parity]);
  int first = poiseIsFirst(in, a);
  out[ST_OMEGA + !a->parity] = first ? 2 : omega;
  c[0] = first ? 0 : omega - 1;
  c[1] = (first ? 1 : omega) * in[ST_SCALE];
  return 1;
}

POISE_INLINE Dots chebyshev_step_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double *p = a->out[1];
  double pi = c[1] * poiseStationaryZ(a, i);
  if (c[0] != 0) pi += c[0] * p[i]; /* which holds nothing before the first iteration */
  p[i] = pi;
  a->out[0][i] += pi;
  return poiseDots(0, 0, 0);
}

#endif

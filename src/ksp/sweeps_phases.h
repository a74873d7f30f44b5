/* SPDX-License-Identifier: BSD-3-Clause */
/* The phase of sweeps (sweeps.c). */
#ifndef POISE_SWEEPS_PHASES_H
#define POISE_SWEEPS_PHASES_H

#include "ksp_phases.h"

/* Operands: those that are read, Q = A x and the diagonal D if they are there, and those that are written. */
enum { SWEEP_R, SWEEP_Q, SWEEP_D };
enum { SWEEP_X, SWEEP_P };

/* sweep_step: p = c0 p + c1 z; x += p, where z = d (r - q); with c2 = 0 x = p. P need not be there if c0 = 0.
 */
PROLOGUE(sweep_step)
{
  return poiseTakeScalars(a, c);
}

ELEMENTWISE(sweep_step)
{
  double r = READ(SWEEP_R), rest = a->in[SWEEP_Q] ? r - READ(SWEEP_Q) : r;
  double p = c[1] * poisePoint(a, SWEEP_D, rest, i);
  if (c[0] != 0) p += c[0] * OUT(SWEEP_P);
  if (a->out[SWEEP_P]) OUT(SWEEP_P) = p;
  OUT(SWEEP_X) = c[2] != 0 ? OUT(SWEEP_X) + p : p;
  return poiseDots(0, 0, 0);
}

#endif

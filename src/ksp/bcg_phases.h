/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases of block conjugate gradients, of each system (see bcg.c). */
#ifndef POISE_BCG_PHASES_H
#define POISE_BCG_PHASES_H

#include "cg_phases.h"

/* Operands of bcg_start. */
enum { BCG_R, BCG_Z };

/* Slots beside those of cg's start: the square of the norm; has the block broken down; does x stay as it is,
   for that or as the system has ended? */
enum { BCG_SQUARE = CG_ALPHA + 1, BCG_BROKEN, BCG_STAYS };

/* bcg_start: the first norm. A system that ends here has a column of 0, and so no part in the block. k: rtol
   is relative to |b|. */
PROLOGUE(bcg_start)
{
  double rz = in[CG_RZ], nn = in[CG_NN], norm = poiseCGNorm(a, rz, nn);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  c[0] = !poiseConcludeFirst(in, out, a, norm, (int)a->k, poiseCGReason(a, reason, rz, rz, nn));
  return 1;
}

ELEMENTWISE(bcg_start)
{
  double r = READ(BCG_R), z = READ(BCG_Z);
  OUT(BCG_R) = c[0] != 0 ? r : 0;
  OUT(BCG_Z) = c[0] != 0 ? z : 0;
  return poiseDots(0, 0, 0);
}

/* bcg_decide: the norm of the iteration. What broke the block may be another system: who still runs is solved
   alone. */
PROLOGUE(bcg_decide)
{
  double square = in[BCG_SQUARE], norm = sqrt(fabs(square));
  int broken = in[BCG_BROKEN] != 0 || !poiseFinite(square) || square < 0;
  poiseConclude(in, out, a, norm, broken ? REASON_BREAKDOWN : poiseTestNext(in, a, norm));
  return 0;
}

#endif

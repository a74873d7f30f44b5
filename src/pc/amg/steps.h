/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: a prolongation that more than one step smooths. */
#ifndef POISE_AMG_STEPS_H
#define POISE_AMG_STEPS_H

#include "amg.h"
#include "interpolation_kernels.h"

/* P after one step, whose values poiseAmgFillP makes. */
static inline PoiseMat poiseAmgFirst(const AmgLevel *l)
{
  return l->fewer[0] ? l->fewer[0] : l->P;
}

/* l->P = S^(degree - 1) P, where P is l->P; or with fewer steps, where more would fill the next level.
   Collective; agrees. */
PoiseErr poiseAmgSteps(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, int degree);
/* The same steps with new values. Collective; agrees. */
PoiseErr poiseAmgStepsAgain(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p);
/* What the steps were made of: their numbers, or with new values that need none of it all. */
void poiseAmgStepsRelease(PoiseContext ctx, AmgLevel *l, bool all);

#endif

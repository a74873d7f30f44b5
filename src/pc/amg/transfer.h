/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: P, R and what they make, as matrices. */
#ifndef POISE_AMG_TRANSFER_H
#define POISE_AMG_TRANSFER_H

#include "amg.h"
#include "interpolation_kernels.h"

/* l->P's pattern (*fills: there is none, as with it the next level would be full). Collective; agrees. */
PoiseErr poiseAmgCreateP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, bool *fills);
/* Its values; l->R and l->away, or their values alone, behind C = P^T A P. keeps: P has not changed.
   Local. */
PoiseErr poiseAmgFillP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p);
PoiseErr poiseAmgMakeR(PoisePC pc, AmgLevel *l, PoiseMat C, bool keeps);

#endif

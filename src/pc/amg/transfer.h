/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: P, R and what they make, as matrices. */
#ifndef POISE_AMG_TRANSFER_H
#define POISE_AMG_TRANSFER_H

#include "amg.h"
#include "interpolation_kernels.h"

/* l->P's pattern (*fills: there is none, as with it the next level would be full). Collective; agrees. */
PoiseErr poiseAmgCreateP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, bool *fills);
/* Values of P, or of Q, which has l->P's pattern. Local. */
PoiseErr poiseAmgFillP(PoiseContext ctx, AmgLevel *l, PoiseMat P, const AmgInterpolation *p);
/* l->R = Q^T and l->away, or their values alone, behind C = Q^T A P. Q may be P. keeps: it has not changed.
   Local. */
PoiseErr poiseAmgMakeR(PoisePC pc, AmgLevel *l, PoiseMat Q, PoiseMat C, bool keeps);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: P, R and what they make, as matrices. */
#ifndef POISE_AMG_TRANSFER_H
#define POISE_AMG_TRANSFER_H

#include "amg.h"
#include "interpolation_kernels.h"

/* Would a prolongation fill the next level, as more than `most` pairs of aggregates meet in it for each of so
   many connections? mine: this rank's error so far. Collective; agrees. */
PoiseErr poiseAmgFills(PoiseContext ctx, PoiseErr mine, int most, int64_t connections, int64_t pairs,
                       bool *fills);
/* l->P's pattern (*fills: there is none, as with it the next level would be full). Collective; agrees. */
PoiseErr poiseAmgCreateP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, bool *fills);
/* Values of P, or of Q, which has l->P's pattern. Local. */
PoiseErr poiseAmgFillP(PoiseContext ctx, AmgLevel *l, PoiseMat P, const AmgInterpolation *p);
/* *part: a matrix of this rank alone, of the type and block size of `of`, from c, which it takes, also on
   failure. mine: this rank's error so far. Local. */
PoiseErr poiseAmgCreatePart(PoiseMat of, PoiseErr mine, const char *what, Csr *c, PoiseMat *part);
/* l->R = Q^T and l->away, or their values alone, behind C = Q^T A P. Q may be P. keeps: it has not changed.
   Local. */
PoiseErr poiseAmgMakeR(PoisePC pc, AmgLevel *l, PoiseMat Q, PoiseMat C, bool keeps);

#endif

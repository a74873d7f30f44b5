/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: the smoothed prolongation P. */
#ifndef POISE_AMG_INTERPOLATION_H
#define POISE_AMG_INTERPOLATION_H

#include "interpolation_kernels.h"
#include "tentative.h"

/* *x: by what T goes on beyond each own aggregate; inverse holds it. */
PoiseErr poiseAmgExtend(PoiseContext ctx, int64_t aggregates, AmgModes *coarse, Buffer *inverse,
                        const double **x);
/* P's offsets and columns, and room for its values, in c, which is zero. pairs: of aggregates that meet at a
   node, of all nodes; 0 where p is not smoothed. */
PoiseErr poiseAmgPattern(PoiseContext ctx, const AmgInterpolation *p, Csr *c, int64_t *pairs);
/* P's values, in that pattern. place: P's columns as places; NULL: they are. */
PoiseErr poiseAmgInterpolate(PoiseContext ctx, const AmgInterpolation *p, Csr *c, Buffer *place);

#endif

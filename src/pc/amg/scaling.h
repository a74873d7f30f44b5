/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: a badly scaled A, where nodes have one row. S A S has a diagonal of 1 or -1, S^2 = |D^-1|. */
#ifndef POISE_AMG_SCALING_H
#define POISE_AMG_SCALING_H

#include "mat/object/mat.h"
#include "matrix_kernels.h"

typedef struct AmgScaled { /* what S A S has, with A's pattern */
  Buffer val, inverse;     /* entries; D^-1 */
} AmgScaled;

typedef struct AmgConstants { /* how far 1 and S 1 are from the null space of A, from 0 to 1 */
  double one, scaled;
} AmgConstants;

/* Means over rows. d: D^-1. The same on all ranks. Collective; agrees. */
PoiseErr poiseAmgConstants(PoiseContext ctx, const AmgMatrix *m, const double *d, AmgConstants *far);
/* mine: this rank's error so far. Collective; the caller agrees. */
PoiseErr poiseAmgScale(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, const double *d, AmgScaled *to);
void poiseAmgScaledDestroy(AmgScaled *s);
/* b, of own rows, becomes S b. */
PoiseErr poiseAmgScaleVector(Device *dev, const AmgMatrix *m, const double *d, Buffer *b);

#endif

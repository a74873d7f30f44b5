/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: D^-1. */
#ifndef POISE_AMG_DIAGONAL_H
#define POISE_AMG_DIAGONAL_H

#include "amg.h"

/* d: the inverses of the nodes' diagonal blocks, column-major, node x node each. size: of the diagonal
   entries, see diagonal_kernels.h; strict: made here, if it is not NULL. Not strict: rows that are 0, or
   rounding, in a block are 0, and of a singular block the diagonal is inverted. flag, made here, is for what
   waits: *bad: the first node whose block is singular or not finite, else -1. */
PoiseErr poiseAmgDiagonal(PoiseContext ctx, const AmgMatrix *m, bool strict, double *d, double *size,
                          Buffer *flag);
PoiseErr poiseAmgDiagonalBad(PoiseContext ctx, const AmgMatrix *m, const double *d, Buffer *flag,
                             int64_t *bad);
/* d: 1 over the sums of the rows' magnitudes, with the sign of the diagonal (l1-jacobi). */
PoiseErr poiseAmgRowSums(PoiseContext ctx, const AmgMatrix *m, double *d, double *size);
/* size, of the diagonal entries of l, becomes that of the next level's; none: it is 1 over l->inverse. Of
   rows of R alone: what other ranks add to them is of the same size. Local. */
PoiseErr poiseAmgCoarseSizes(AmgLevel *l, AmgModes *size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products in fp32 of a matrix whose values are kept in that type too, beside its own. */
#ifndef POISE_SINGLE_H
#define POISE_SINGLE_H

#include "mat/mat.h"

/* Why there are none of A; NULL: there are. Of this rank's rows. */
const char *poiseMatLacksSingle(PoiseMat A);
/* The largest |value| of an array of n numbers in fp64, NaN if one is. Collective; agrees. */
PoiseErr poiseLargest(PoiseContext ctx, Buffer *x, int64_t n, double *largest);
/* y = scale x, n numbers; y is made unless it is there. Local */
PoiseErr poiseMakeSingle(PoiseContext ctx, Buffer *x, int64_t n, double scale, const char *what, Buffer *y);
/* Bring what products need beside values to the device, so that they allocate nothing. Local. */
PoiseErr poiseMatReadySingle(PoiseMat A);
/* y = a A x + b y in fp32, val A's values. *skip != 0: nothing. Logged as a product. On several ranks all
   exchange ghosts, whatever fails on one. */
PoiseErr poiseMatMultSingle(PoiseMat A, Buffer *val, double a, Buffer *x, double b, Buffer *y,
                            const double *skip);
double poiseMatTrafficSingle(PoiseMat A); /* bytes of such a product, but reading y */

#endif

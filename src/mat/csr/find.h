/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong in arrays on the device, and where (find.c). */
#ifndef POISE_MAT_FIND_H
#define POISE_MAT_FIND_H

#include "find_kernels.h"
#include "mat/object/mat.h"

/* *first = the least k of which a.what is true, or a.n; a's arrays are on the device. Waits for it.
   Local. */
PoiseErr poiseFind(PoiseContext ctx, FindArgs a, int64_t *first);
PoiseErr poiseMatFindNan(PoiseMat A, int64_t *row); /* *row: the first local row with an entry that is not
                                                       finite, or the number of rows. Local */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which blocks of rows need no ghosts (interior.c). */
#ifndef POISE_MAT_INTERIOR_H
#define POISE_MAT_INTERIOR_H

#include "mat/csr/csr_view.h"
#include "mat/object/mat.h"

/* Several ranks: find which of n blocks have no ghosts, and may run before the exchange has ended. A block
   has `rows` rows, or is row_block[b] if there are such. Order, int32, has the interior ones first. Local. */
PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, Buffer *row_block, Buffer *order, Interior *interior);

#endif

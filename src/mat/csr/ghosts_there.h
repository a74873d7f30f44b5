/* SPDX-License-Identifier: BSD-3-Clause */
/* Local numbers for global columns that are on a device (ghosts_there.c). */
#ifndef POISE_MAT_GHOSTS_THERE_H
#define POISE_MAT_GHOSTS_THERE_H

#include "keys.h"
#include "mat/object/mat.h"

/* c, for A, has its entries on the device, in global columns, and its numbers of rows and own columns. The
   columns become local, and c has its ghosts. Local. */
PoiseErr poiseGhostsNumberThere(PoiseMat A, Csr *c);
/* The ghosts among keys that are to be sorted, whose rows are all 0; a key with the bit behind those of a
   column is none. *there: the *n different ones, ascending, on the device, where `list` holds them; *ghost:
   the same on the host. More than limit: POISE_ERR_UNSUPPORTED. It waits for the device. Local. */
PoiseErr poiseGhostsOfKeys(PoiseContext ctx, Keys *k, int64_t limit, Buffer *list, const int64_t **there,
                           int64_t *n, PoiseInt **ghost);

#endif

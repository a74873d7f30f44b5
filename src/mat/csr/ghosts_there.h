/* SPDX-License-Identifier: BSD-3-Clause */
/* Local numbers for global columns that are on a device (ghosts_there.c). */
#ifndef POISE_MAT_GHOSTS_THERE_H
#define POISE_MAT_GHOSTS_THERE_H

#include "mat/mat.h"

/* c, for A, has its entries on the device, in global columns, and its numbers of rows and own columns. The
   columns become local, and c has its ghosts. Local. */
PoiseErr poiseGhostsNumberThere(PoiseMat A, Csr *c);

#endif

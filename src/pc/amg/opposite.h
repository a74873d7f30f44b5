/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: is A symmetric, and A^T where A has entries. */
#ifndef POISE_AMG_OPPOSITE_H
#define POISE_AMG_OPPOSITE_H

#include "ranks.h"

/* *odd: more than a tenth of the rows of all ranks are far from symmetric, as a sample of them says. mine:
   this rank's error so far. Collective; agrees. */
PoiseErr poiseAmgIsOdd(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, bool *odd);
/* A^T in A's pattern, and (A + A^T) / 2. Entries of A^T elsewhere are left out. Local. */
PoiseErr poiseAmgOpposite(PoiseContext ctx, const AmgMatrix *m, Buffer *of, Buffer *mean);

#endif

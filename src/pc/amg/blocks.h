/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of level 0: the given one, or a copy of it in blocks (blocks.c). */
#ifndef POISE_AMG_BLOCKS_H
#define POISE_AMG_BLOCKS_H

#include "mat/object/mat.h"

/* *A: P with one more reference, or a copy, unless numbers are asked for. modes: vectors of the near null
   space. Collective; agrees. */
PoiseErr poiseAmgBlocksCreate(PoiseMat P, int modes, bool numbers, PoiseMat *A);
/* The numbers of P, if A is a copy. Local. */
PoiseErr poiseAmgBlocksNumbers(PoiseMat P, PoiseMat A);

#endif

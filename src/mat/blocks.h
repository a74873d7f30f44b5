/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices whose entries are blocks: made (bcsr_build.c), and of what size (block_size.c). */
#ifndef POISE_MAT_BLOCKS_H
#define POISE_MAT_BLOCKS_H

#include "mat.h"

/* out = the transpose of a block. */
static inline void poiseTurnBlock(int64_t b, const double *block, double *out)
{
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) out[c * b + r] = block[r * b + c];
}

/* bcsr_build.c: A's entries become blocks of its block size, and its type bcsr, at once or, if it is not assembled yet, then; or numbers,
   and csr. Collective; agree. */
PoiseErr poiseMatToBlocks(PoiseMat A);
PoiseErr poiseMatAgreeBlockSize(PoiseContext ctx, PoiseErr mine, int b); /* that it is the same everywhere (mat.c) */
PoiseErr poiseMatFromBlocks(PoiseMat A);
PoiseErr poiseMatKeepWaiting(PoiseMat A); /* A->waiting is there, with A's options if it is of blocks now. Local (mat.c) */
/* B = A, its entries as those of `like`: numbers, or blocks of that size. Collective; agrees. */
PoiseErr poiseMatDuplicateLike(PoiseMat A, PoiseMat like, PoiseMat *B);
/* ptr[i + 1] = the blocks of b x b in A's rows before (i + 1) b, of entries that are numbers; ptr[0] is 0. Local. */
PoiseErr poiseMatCountBlocks(PoiseMat A, int b, int64_t *ptr);

/* block_size.c: A's block size becomes that of the fewest bytes. Collective; agrees. */
PoiseErr poiseMatTakeBlockSize(PoiseMat A);
/* Bytes that blocks of A's block size, which divides every rank's rows and columns, would take, over those of CSR. Collective; agrees. */
PoiseErr poiseMatBlockShare(PoiseMat A, double *share);
PoiseErr poiseMatViewFills(PoiseMat A); /* what it was taken from */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices whose entries are blocks: made (bcsr_build.c), and of what size (block_size.c). */
#ifndef POISE_MAT_BLOCKS_H
#define POISE_MAT_BLOCKS_H

#include "mat/mat.h"

/* out = the transpose of a block. */
static inline void poiseTransposeBlock(int64_t b, const double *block, double *out)
{
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) out[c * b + r] = block[r * b + c];
}

/* bcsr_build.c: convert A's entries to blocks of its block size, and its type to bcsr; or to scalars, and
   csr. A matrix that is not assembled yet is converted when it is. Collective; agree. */
PoiseErr poiseMatToBlocks(PoiseMat A);
/* that it is the same everywhere (mat.c) */
PoiseErr poiseMatAgreeBlockSize(PoiseContext ctx, PoiseErr mine, int b);
PoiseErr poiseMatFromBlocks(PoiseMat A);
/* Make A->waiting, with A's options if A is of blocks at present. Local (mat.c) */
PoiseErr poiseMatKeepWaiting(PoiseMat A);
/* B = A, with entries in the form of those of `like`: scalars, or blocks of that size. Collective; agrees. */
PoiseErr poiseMatDuplicateLike(PoiseMat A, PoiseMat like, PoiseMat *B);
/* ptr[i + 1] = the number of b x b blocks in A's rows before (i + 1) b, whose entries are scalars. ptr[0] =
   0. Local. */
PoiseErr poiseMatCountBlocks(PoiseMat A, int b, int64_t *ptr);

/* block_size.c: set A's block size to the one with the fewest bytes. Collective; agrees. */
PoiseErr poiseMatTakeBlockSize(PoiseMat A);
/* *share = bytes in blocks of A's block size over bytes in CSR. The size must divide every rank's rows and
   columns. Collective; agrees. */
PoiseErr poiseMatBlockShare(PoiseMat A, double *share);
PoiseErr poiseMatViewFills(PoiseMat A); /* print the sizes that were compared */

#endif

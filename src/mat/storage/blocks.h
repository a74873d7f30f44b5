/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices whose entries are blocks: made (bcsr_build.c), and of what size (block_size.c). */
#ifndef POISE_MAT_BLOCKS_H
#define POISE_MAT_BLOCKS_H

#include "mat/object/mat.h"

/* bcsr_build.c: convert the entries of an assembled matrix to blocks of its block size, and its type to bcsr.
   If the size is to be found and none is better than scalars, they stay. Collective; agrees. */
PoiseErr poiseMatToBlocks(PoiseMat A);
/* Convert them to scalars; csr works until they are blocks again. Collective; agrees. */
PoiseErr poiseMatFromBlocks(PoiseMat A);
/* to_blocks.c: *blocks = the number of b x b blocks that A's entries, which are scalars, lie in; and a CSR of
   these. b divides A's rows and columns here. Local. */
PoiseErr poiseMatCountBlocks(PoiseMat A, int b, int64_t *blocks);
PoiseErr poiseMatMakeBlocks(PoiseMat A, int b, Csr *made);

/* block_size.c: that b is the same everywhere. mine: this rank's error so far. Collective; agrees. */
PoiseErr poiseMatAgreeBlockSize(PoiseContext ctx, PoiseErr mine, int b);
/* The block size of a matrix from a file: that of -mat_block_size if it divides M and N, else 1. *unit: ranks
   get multiples of so many rows. This is b; or if the size is to be determined, a multiple of the sizes to be
   tried. Local. */
PoiseErr poiseMatLoadBlockSize(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t *b, int64_t *unit);
/* Set A's block size to the one with the fewest bytes. Collective; agrees. */
PoiseErr poiseMatTakeBlockSize(PoiseMat A);
/* *share = bytes in blocks of A's block size over bytes in CSR. The size must divide every rank's rows and
   columns. Collective; agrees. */
PoiseErr poiseMatBlockShare(PoiseMat A, double *share);
PoiseErr poiseMatViewFills(PoiseMat A); /* print the sizes that were compared */

#endif

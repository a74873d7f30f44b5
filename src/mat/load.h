/* SPDX-License-Identifier: BSD-3-Clause */
/* PoiseMatLoad and PoiseMatSave of a format (load.c, mm_mat.c, petsc_mat.c). */
#ifndef POISE_MAT_LOAD_H
#define POISE_MAT_LOAD_H

#include "mat.h"

/* The block size of a matrix from a file: that of -mat_block_size if it divides M and N, else 1. *unit: ranks
   get multiples of so many rows. This is b; or if the size is to be determined, a multiple of the sizes to be
   tried. Local. */
PoiseErr poiseMatLoadBlockSize(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t *b, int64_t *unit);
PoiseInt poiseMatLoadShare(PoiseContext ctx, int64_t unit,
                           PoiseInt N);         /* this rank's part of N rows or columns, in whole units */
extern const PoiseOption poiseMatLoadOptions[]; /* without a prefix */

PoiseErr poiseMatLoadMM(PoiseContext ctx, const char *path, PoiseMat *A);
PoiseErr poiseMatSaveMM(PoiseMat A, const char *path);
/* Load from a source of this rank; all ranks' sources have the same bytes. mine: this rank's error in opening
   it. Collective; agrees. */
PoiseErr poisePetscLoadMat(PoiseContext ctx, PoiseErr mine, const ByteSource *s, PoiseMat *A);
PoiseErr poisePetscSaveMat(PoiseMat A, const char *path);

struct MMSource;
/* For tests: with so many bytes of text per rank and round (0: automatic), and from rank 0's source. */
PoiseErr poiseMatLoadMMBlocks(PoiseContext ctx, const char *path, int64_t block, PoiseMat *A);
PoiseErr poiseMatLoadMMSource(PoiseContext ctx, const struct MMSource *source, int64_t block, PoiseMat *A);

#endif

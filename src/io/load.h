/* SPDX-License-Identifier: BSD-3-Clause */
/* PoiseMatLoad and PoiseMatSave of a format (load.c, mm_mat.c, petsc_mat.c). */
#ifndef POISE_MAT_LOAD_H
#define POISE_MAT_LOAD_H

#include "mat/mat.h"
#include "source.h"

/* this rank's part of N rows or columns, in whole units */
PoiseInt poiseMatLoadShare(PoiseContext ctx, int64_t unit, PoiseInt N);

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

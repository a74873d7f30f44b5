/* SPDX-License-Identifier: BSD-3-Clause */
/* Which format a file has (load_vec.c); PoiseMatLoad and PoiseMatSave of a format (load_mat.c, mm_mat.c,
   petsc_mat.c). */
#ifndef POISE_MAT_LOAD_H
#define POISE_MAT_LOAD_H

#include "mat/object/mat.h"
#include "source.h"

typedef enum FileKind { FILE_MATRIX_MARKET, FILE_PETSC } FileKind;

/* Recognise a file's format by its first bytes, which rank 0 reads. POISE_ERR_FORMAT shows them if the
   format is unknown. Collective; agrees. */
PoiseErr poiseFileKind(PoiseContext ctx, const char *path, FileKind *kind);

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

/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's entries by column (transpose.c). */
#ifndef POISE_MAT_TRANSPOSE_H
#define POISE_MAT_TRANSPOSE_H

#include "mat.h"

typedef struct Transposed { /* column j of [owned | ghosts] has the rows, ascending, row[ptr[j] .. ptr[j + 1]) */
  bool wide;                /* ptr and from are int64, else int32 */
  Buffer ptr, row, from;    /* row: int32; from: which entry of A it is */
} Transposed;

/* Made on A's device; t is empty, and the caller's to destroy, after a failure too. Local. */
PoiseErr poiseTransposedCreate(PoiseMat A, Transposed *t);
void poiseTransposedDestroy(Transposed *t);

#endif

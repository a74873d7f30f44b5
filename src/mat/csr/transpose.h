/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's entries by column (transpose.c). */
#ifndef POISE_MAT_TRANSPOSE_H
#define POISE_MAT_TRANSPOSE_H

#include "poise/mat.h"
#include "sys/sys.h"

/* column j of [owned | ghosts] has the rows, ascending, row[ptr[j] .. ptr[j + 1]) */
typedef struct Transposed {
  bool wide;             /* ptr and from are int64, else int32 */
  Buffer ptr, row, from; /* row: int32; from: the entry of A */
} Transposed;

/* Make the transpose on A's device. t is empty on entry. The caller destroys it, also after a failure.
   Local. */
PoiseErr poiseTransposedCreate(PoiseMat A, Transposed *t);
typedef struct LocalTriplets { /* entries in any order */
  int64_t n, columns;
  const int32_t *row, *col; /* row NULL: all are 0 */
  bool wide;                /* integers of `from` and of the transpose have 64 bits */
  const void *from;         /* where their values stand; NULL: entry k at k */
} LocalTriplets;

/* The same of triplets, made on the host; those of a column stay in their order. */
PoiseErr poiseTransposedOfTriplets(Device *dev, const LocalTriplets *in, Transposed *t);
void poiseTransposedDestroy(Transposed *t);

#endif

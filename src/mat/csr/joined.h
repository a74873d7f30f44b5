/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix on a device of rows that others have (joined.c). */
#ifndef POISE_JOINED_H
#define POISE_JOINED_H

#include "global_entries_kernels.h"
#include "mat/object/mat.h"

typedef struct
    CsrPiece {         /* rows of a CSR, whose arrays are on the host or on a device that this one reaches */
  int64_t first, rows; /* of it, or rows of blocks */
  bool wide;           /* ptr holds int64 */
  const void *ptr;
  const int32_t *col; /* local columns */
  Side ptr_side, col_side;
  GlobalColumns columns; /* of its owner; the ghosts are on the host */
  int64_t nghost;
  int64_t begin, nz; /* set: its first entry, and the number of its entries */
} CsrPiece;

/* *A = a matrix of this type with the rows of all pieces, n of them on this rank and N in all. b: entries are
   blocks; 0: numbers. Its values are not yet written. mine: this rank's
   error so far. Collective; agrees. */
PoiseErr poiseMatJoined(PoiseContext ctx, PoiseErr mine, const MatType *type, int b, PoiseInt n, PoiseInt N,
                        int count, CsrPiece *piece, PoiseMat *A);

#endif

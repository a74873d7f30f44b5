/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A block on the diagonal of this rank's part of P, as a matrix of its own: a copy in the context of the rank
  alone, whose values are gathered from P's in one pass, and windows on vectors of P's rows.
*/
#ifndef POISE_DIAGONAL_BLOCK_H
#define POISE_DIAGONAL_BLOCK_H

#include "pc/pc.h"

typedef struct DiagonalBlock {
  PoiseInt first, n; /* local rows */
  PoiseMat A;        /* NULL where it is P */
  /* int32: places in P of the entries of a piece, counted from the first entry of its first row */
  Buffer from;
  PoiseVec r, z;
  PoiseVec wide_r, wide_z; /* the same of several columns; NULL: not yet */
} DiagonalBlock;

/* The entries of pc->P that are in it. */
PoiseErr poiseDiagonalBlockCount(PoisePC pc, const DiagonalBlock *b, int64_t *entries);
/* A matrix of its rows, without entries. */
PoiseErr poiseDiagonalBlockCreateEmpty(PoisePC pc, const DiagonalBlock *b, PoiseMat *A);
/* b->A with the pattern of b's rows; what was there is released. Local. */
PoiseErr poiseDiagonalBlockCreate(PoisePC pc, DiagonalBlock *b);
PoiseErr poiseDiagonalBlockCopyValues(PoisePC pc, DiagonalBlock *b);
/* Windows on wide vectors. Local. */
PoiseErr poiseDiagonalBlockReadyColumns(DiagonalBlock *b, int columns);
void poiseDiagonalBlockRelease(DiagonalBlock *b);

#endif

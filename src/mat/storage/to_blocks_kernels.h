/* SPDX-License-Identifier: BSD-3-Clause */
/*
  CSR of numbers to blocks (to_blocks.c). b rows are merged: each is walked from its first entry on, and the
  next block has the least column that a walk has reached.
*/
#ifndef POISE_TO_BLOCKS_KERNELS_H
#define POISE_TO_BLOCKS_KERNELS_H

#include "mat/csr/csr_view.h"

enum { POISE_NO_BLOCK = INT32_MAX };

/*
  Rows of A, of numbers, b at a time: m block rows. Columns have places in the order of their global numbers:
  those of the rank's own begin at place below b, ghost g has place[g]. The place over b is that of the block.
  to_blocks_count: length[i] = blocks of block row i. to_blocks_fill: with offsets by these, columns of blocks
  and their numbers. Columns are numbered [nloc owned | ghosts], of which `below` are below the owned.
*/
typedef struct ToBlocksArgs {
  CsrView A;
  int64_t m, b, nloc, below;
  const int64_t *place;
  int32_t *length;
  const int64_t *ptr64;
  const int32_t *ptr32;
  int32_t *col;
  double *val;
} ToBlocksArgs;

typedef struct BlockWalk { /* through a row of A */
  int64_t at, end;
  int64_t place; /* of entry `at`, */
  int32_t block; /* and of its block; POISE_NO_BLOCK at the end */
} BlockWalk;

POISE_INLINE void poiseBlockReach(const ToBlocksArgs *a, int64_t at, BlockWalk *w)
{
  w->at = at;
  w->block = POISE_NO_BLOCK;
  if (at == w->end) return;
  int32_t col = a->A.col[at];
  w->place = col < a->A.nloc ? a->below * a->b + col : a->place[col - a->A.nloc];
  w->block = (int32_t)((uint64_t)w->place / (uint32_t)a->b);
}

POISE_INLINE void poiseBlockBegin(const ToBlocksArgs *a, int64_t row, BlockWalk *w)
{
  w->end = poiseCsrOffset(&a->A, row + 1);
  poiseBlockReach(a, poiseCsrOffset(&a->A, row), w);
}

/* Walk past a block. */
POISE_INLINE void poiseBlockPass(const ToBlocksArgs *a, int32_t block, BlockWalk *w)
{
  while (w->block == block) poiseBlockReach(a, w->at + 1, w);
}

/* The same, and its row r of numbers goes to v: zeros where there is no entry. */
POISE_INLINE void poiseBlockTake(const ToBlocksArgs *a, int32_t block, int64_t r, BlockWalk *w, double *v)
{
  for (int64_t c = 0; c < a->b; c++) {
    int has = w->block == block && w->place == block * a->b + c;
    v[c * a->b + r] = has ? a->A.val[w->at] : 0;
    if (has) poiseBlockReach(a, w->at + 1, w);
  }
}

/* The local number of the block column at that place. */
POISE_INLINE int32_t poiseBlockColumn(const ToBlocksArgs *a, int32_t block)
{
  int64_t number = block < a->below ? block + a->nloc : block < a->below + a->nloc ? block - a->below : block;
  return (int32_t)number;
}

POISE_INLINE int64_t poiseBlockOffset(const ToBlocksArgs *a, int64_t i)
{
  return a->ptr32 ? a->ptr32[i] : a->ptr64[i];
}

#endif

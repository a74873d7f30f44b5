/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries in columns of other ranks, found on a device (ghosts_there.c, interior.c). */
#ifndef POISE_GHOSTS_KERNELS_H
#define POISE_GHOSTS_KERNELS_H

#include "csr_view.h"

/* Of n entries in global columns, those outside [begin, end), which this rank owns. ghost_count: count[b] =
   their number in block b of POISE_BLOCK entries. ghost_pick: the columns as keys, in the order of the
   entries, from count[b] on (scanned), and their places among these keys. */
typedef struct GhostPickArgs {
  int64_t n, begin, end;
  const int32_t *col;
  int64_t *count;
  uint64_t *key;
  uint32_t *place;
} GhostPickArgs;

/* Global columns become local ones, in place: [owned | ghosts]. ghost: their global columns, ascending. */
typedef struct GhostNumberArgs {
  int64_t n, begin, nloc, nghost;
  const int64_t *ghost;
  int32_t *col;
} GhostNumberArgs;

/* has[b] = does block b of n have an entry in a ghost column? A block has `rows` rows, or is row_block[b]. */
typedef struct GhostBlocksArgs {
  CsrView A;
  int64_t n;
  int rows;
  const RowBlock *row_block;
  int32_t *has;
} GhostBlocksArgs;

POISE_INLINE int poiseIsGhost(const GhostPickArgs *a, int64_t k)
{
  return a->col[k] < a->begin || a->col[k] >= a->end;
}

POISE_INLINE int32_t poiseGhostNumber(const GhostNumberArgs *a, int32_t col)
{
  if (col >= a->begin && col < a->begin + a->nloc) return (int32_t)(col - a->begin);
  return (int32_t)(a->nloc + poiseFirstFrom(a->ghost, a->nghost, col));
}

/* The entries [*k, *end) of block b. */
POISE_INLINE void poiseBlockEntries(const GhostBlocksArgs *a, int64_t b, int64_t *k, int64_t *end)
{
  int64_t first = b * a->rows, last = first + a->rows;
  if (a->row_block) {
    *k = a->row_block[b].first;
    *end = *k + a->row_block[b].nz;
  } else {
    *k = poiseCsrOffset(&a->A, first);
    *end = poiseCsrOffset(&a->A, last < a->A.m ? last : a->A.m);
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows in row blocks and longer rows in fragments: what the types that cut rows share. */
#ifndef POISE_ROW_BLOCKS_H
#define POISE_ROW_BLOCKS_H

#include "mat.h"

/* Row blocks that m rows of nz entries are cut into. */
static inline int64_t poiseRowBlocksOf(int64_t m, int64_t nz, int64_t chunk)
{
  return (m + nz + chunk - 1) / chunk;
}

typedef struct RowBlocksCut {
  int64_t chunk;    /* rows and entries of a row block, about */
  int64_t limit;    /* entries of rows that are cut, no less than chunk */
  int64_t fragment; /* entries of a fragment, at most (and a line) */
  bool exact;       /* row blocks to the entry, and no fragments */
} RowBlocksCut;
/* A, on the device, is cut. */
PoiseErr poiseRowBlocksCutRows(Device *dev, const CsrView *A, RowBlocks *w, RowBlocksCut cut);
PoiseErr poiseRowBlocksCut(PoiseMat A, RowBlocks *w, RowBlocksCut cut);
/* For types that cut otherwise: device memory for n row blocks of m rows and how many fragments each leaves,
   and one more, to be written. */
PoiseErr poiseRowBlocksBegin(Device *dev, int64_t m, RowBlocks *w, RowBlock **row_block, int64_t **fragments);
/* They have been cut out of A: the fragments. */
PoiseErr poiseRowBlocksEnd(Device *dev, RowBlocks *w, const CsrView *A);
/* Several ranks: row blocks, or blocks of `rows` rows (not POISE_BLOCK), without ghosts go ahead of the
   exchange. If it was not called, all wait for it. */
PoiseErr poiseRowBlocksOrder(PoiseMat A, RowBlocks *w, int rows);
PoiseErr poiseRowBlocksArguments(RowBlocks *w, CsriMultArgs *a); /* all of it on the device */
/* A part of poiseCsrProduct, by a kernel whose arguments, of so many bytes, begin with *a. */
PoiseErr poiseRowBlocksMult(PoiseMat A, RowBlocks *w, ProductPart part, int kernel, CsriMultArgs *a,
                            size_t bytes);
int64_t poiseRowBlocksPartials(const RowBlocks *w);
void poiseRowBlocksBytes(const RowBlocks *w, PoiseBytes *sum);
typedef struct RowBlocksPlan { /* at least and at most */
  int64_t n[2], fragments;     /* fragments: at most */
  int64_t blocks[2];           /* of rows, which may stand for row blocks; 0: they may not */
  bool ordered;
} RowBlocksPlan;
/* p += what they hold; sets the plan's partials. */
void poiseRowBlocksPredict(PoiseMat A, const RowBlocksPlan *w, MatPlan *plan, PoisePrediction *p);
/* As poiseRowBlocksCut will cut, into row blocks of chunk[0] or chunk[1], which is not less, and rows of
   `limit` entries at least. */
void poiseRowBlocksPredictCut(PoiseMat A, const int64_t chunk[2], int64_t limit, bool exact, MatPlan *plan,
                              PoisePrediction *p);
void poiseRowBlocksDestroy(RowBlocks *w);

#endif

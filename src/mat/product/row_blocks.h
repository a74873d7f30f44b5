/* SPDX-License-Identifier: BSD-3-Clause */
/* Row blocks, and fragments of split rows: shared by the forms that split rows. */
#ifndef POISE_ROW_BLOCKS_H
#define POISE_ROW_BLOCKS_H

#include "csr.h"
#include "csri_kernels.h"
#include "mat/object/mat.h"

/* The number of row blocks for m rows with nz entries. */
static inline int64_t poiseRowBlocksOf(int64_t m, int64_t nz, int64_t chunk)
{
  return (m + nz + chunk - 1) / chunk;
}

typedef struct RowBlocksCut {
  int64_t chunk;    /* rows and entries of a row block, about */
  int64_t limit;    /* rows with at least this many entries are split; not below chunk */
  int64_t fragment; /* most entries of a fragment (and a line) */
  bool exact;       /* row blocks end at any entry, and there are no fragments */
} RowBlocksCut;
/* Divide A, which is on the device. */
PoiseErr poiseRowBlocksCutRows(Device *dev, const CsrView *A, RowBlocks *w, RowBlocksCut cut);
PoiseErr poiseRowBlocksCut(PoiseMat A, RowBlocks *w, RowBlocksCut cut);
/* For forms that divide in other ways: allocate on the device n row blocks of m rows, and n + 1 counts. A
   count is the number of fragments that a row block leaves. The caller writes both. */
PoiseErr poiseRowBlocksBegin(Device *dev, int64_t m, RowBlocks *w, RowBlock **row_block, int64_t **fragments);
/* Make the fragments, once row blocks have been made of A. */
PoiseErr poiseRowBlocksEnd(Device *dev, RowBlocks *w, const CsrView *A);
/* Several ranks: row blocks, or tiles of `rows` rows (not POISE_BLOCK), without ghosts run before the
   exchange has ended. If this was not called, all wait for it. */
PoiseErr poiseRowBlocksOrder(PoiseMat A, RowBlocks *w, int rows);
PoiseErr poiseRowBlocksArguments(RowBlocks *w, CsriMultArgs *a); /* all arrays on the device */
/* For products with wide vectors, whose fragments have sums for each column: make room, once, for those of
   rows of b numbers. Then `sum` of the arguments is *sum. Local. */
PoiseErr poiseRowBlocksReadyColumns(Device *dev, RowBlocks *w, int b);
PoiseErr poiseRowBlocksWideSums(RowBlocks *w, double **sum);
/* The blocks, of n in that order, that this part of a product has, for its launch. */
PoiseErr poiseBlocksPart(Buffer *order, const Interior *interior, int64_t n, ProductPart part,
                         CsrMultArgs *a);
/* The row blocks, or blocks, and the fragments in that part. */
PoiseErr poiseRowBlocksPart(RowBlocks *w, ProductPart part, CsriMultArgs *a);
void poiseRowBlocksBytes(const RowBlocks *w, PoiseBytes *sum);
typedef struct RowBlocksPlan { /* bounds for a prediction */
  int64_t n[2], fragments;     /* least and most row blocks; most fragments */
  int64_t blocks[2];           /* tiles, which may replace row blocks; 0: they may not */
  bool ordered;
} RowBlocksPlan;
/* p += bytes that they hold. Sets the plan's partials. */
void poiseRowBlocksPredict(PoiseMat A, const RowBlocksPlan *w, MatPlan *plan, PoisePrediction *p);
/* Predict poiseRowBlocksCut with row blocks of chunk[0] to chunk[1] entries, and rows of at least `limit`
   entries split. */
void poiseRowBlocksPredictCut(PoiseMat A, const int64_t chunk[2], int64_t limit, bool exact, MatPlan *plan,
                              PoisePrediction *p);
void poiseRowBlocksDestroy(RowBlocks *w);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products through an index of the entries (transposed.c). */
#ifndef POISE_MAT_TRANSPOSED_H
#define POISE_MAT_TRANSPOSED_H

#include "row_blocks.h"
#include "transposed_kernels.h"

typedef struct IndexedProduct {
  int b;                   /* as in Csr */
  int64_t n, owned, m, nz; /* columns, of which `owned` come first; rows; entries */
  Transposed *index;
  RowBlocks *blocks; /* none (n = 0) if no balancing is needed */
} IndexedProduct;

PoiseErr poiseIndexedCut(Device *dev, const IndexedProduct *p); /* make blocks for a new index */
/* The arguments of csr_mult_transpose (bcsr_mult_transpose) but x, y and ghost. */
PoiseErr poiseIndexedArguments(const IndexedProduct *p, Buffer *val, CsrMultTransposeArgs *a);
/* Those of a product with vectors of k columns, after poiseRowBlocksReadyColumns. */
PoiseErr poiseIndexedWide(const IndexedProduct *p, int k, CsrMultTransposeArgs *a);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What types with entries share (csr.c). */
#ifndef POISE_MAT_CSR_PRODUCT_H
#define POISE_MAT_CSR_PRODUCT_H

#include "csr_kernels.h"
#include "mat/mat.h"
#include "mat/plan/product_plan.h"
#include "mat/csr/transpose.h"
#include "transpose_kernels.h"

/* Row blocks, and fragments of split rows (row_blocks.h). Types that divide in other ways set n and limit
   first. They also set parts if tiles replace row blocks. */
typedef struct RowBlocks {
  /* number of row blocks; of fragments; rows with at least `limit` entries are split */
  int64_t n, nfragment, limit;
  int64_t parts; /* row blocks, or tiles, of a product */
  Interior interior;
  bool there; /* all arrays are on the device */
  Buffer row_block, first, part, sum, arrived, order;
} RowBlocks;

typedef struct CsrData { /* of the products with A^T and by libraries */
  int64_t pattern;       /* pattern of the matrix that by_column was made for; 0: not made */
  Transposed by_column;  /* made for the first transpose product */
  RowBlocks columns;     /* row blocks of it; none (n = 0) if no balancing is needed */
  LibraryPlan plan;      /* of a library */
  int64_t planned;       /* the pattern it was made for; 0: there is none */
  Buffer whole;          /* x for a library on several ranks: [owned | ghosts] */
} CsrData;

/* Data of types that multiply by poiseCsrMultTranspose begin with a CsrData `csr`; each says so by this. */
#define POISE_BEGINS_WITH_CSR(Data) _Static_assert(offsetof(Data, csr) == 0, "where poiseCsrData finds it")
static inline CsrData *poiseCsrData(PoiseMat A)
{
  return A->data;
}

PoiseErr poiseCsrArguments(PoiseMat A, const ProductArgs *p, CsrMultArgs *m); /* matrix, vectors, scalars */
PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m);        /* blocks of A->csr */
PoiseErr poiseCsrIndex16(PoiseMat A, Index16View *v); /* csr.c: *v, which was zeroed, if products have it */
PoiseErr poiseCsrMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y);
PoiseErr poiseCsrReadyTranspose(PoiseMat A); /* all that it needs but vectors, on the device; local */
PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d);
void poiseCsrDataBytes(PoiseMat A, PoiseBytes *sum);
void poiseCsrDataPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p);
void poiseCsrDataDestroy(PoiseMat A);

/* A product through an index of the entries: their values stand in one order, and it reads them in another.
   For A^T x the index has them by column (csr.c); matrices of triplets have one by row (pcoo.c). */
typedef struct IndexedProduct {
  int b;                   /* as in Csr */
  int64_t n, owned, m, nz; /* columns, of which `owned` come first; rows; entries */
  Transposed *index;
  RowBlocks *blocks; /* none (n = 0) if no balancing is needed */
} IndexedProduct;

PoiseErr poiseIndexedCut(Device *dev, const IndexedProduct *p); /* make blocks for a new index */
/* The arguments of csr_mult_transpose (bcsr_mult_transpose) but x, y and ghost. */
PoiseErr poiseIndexedArguments(const IndexedProduct *p, Buffer *val, CsrMultTransposeArgs *a);

/* csr.c, csri.c, seg.c: what data's options ask for; *r was zeroed. A type adds its own to what is there. */
void poiseCsrRequest(const void *data, ProductRequest *r);
void poiseCsriRequest(const void *data, ProductRequest *r);
void poiseSegRequest(const void *data, ProductRequest *r);
PoiseErr poisePlanView(PoiseMat A, const ProductPlan *plan); /* mat.c: a line, of rank 0's */

PoiseErr poiseMatSetLibrary(PoiseMat A, int library); /* csr.c. Collective; agrees */

#endif

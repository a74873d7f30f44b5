/* SPDX-License-Identifier: BSD-3-Clause */
/* From users' arrays and added entries to the local CSR (csr_build.c, assemble.c). */
#ifndef POISE_MAT_CSR_BUILD_H
#define POISE_MAT_CSR_BUILD_H

#include "mat/types/csri_kernels.h"
#include "mat/mat.h"
#include "mat/plan/product_plan.h"

PoiseErr poiseCsrBuild(PoiseMat A, const PoiseCSR *in, PoiseOwn own);       /* collective; agrees */
PoiseErr poiseCsrBuildDevice(PoiseMat A, const PoiseCSR *in, PoiseOwn own); /* of arrays on the device */

/* Several ranks: find which of n blocks have no ghosts, and may run before the exchange has ended. A block
   has `rows` rows, or is row_block[b] (row block not NULL, on the host). These *ninterior come first in the
   order, int32. Local. */
PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, const RowBlock *row_block, Buffer *order,
                       int64_t *ninterior);
/* Statistics of this rank's rows. Rows of `limit` entries or more (0: none) do not count in tiles. Local. */
PoiseErr poiseCsrStatistics(PoiseMat A, int64_t limit, CsrStatistics *s);
/* The same with the limit of a request; those without a limit if no row is that long. Local. */
PoiseErr poiseCsrCutStatistics(PoiseMat A, const ProductRequest *request, CsrStatistics *s);

typedef struct RowArrays { /* this rank's rows with global columns, sorted; memory of the library */
  int b;                   /* rows, columns and entries are blocks, as in Csr; 0: numbers */
  int64_t *ptr;
  PoiseInt *col;  /* in one width, the other is NULL: */
  int32_t *col32; /* 4-byte columns, unless poiseMatWideColumns */
  double *val;
} RowArrays;

static inline void poiseRowArraysPutColumn(RowArrays *r, int64_t k, PoiseInt col)
{
  if (r->col32)
    r->col32[k] = (int32_t)col;
  else
    r->col[k] = col;
}

static inline void poiseRowArraysPut(RowArrays *r, int64_t k, PoiseInt col, double val)
{
  poiseRowArraysPutColumn(r, k, col);
  r->val[k] = val;
}

/* A copy of A's CSR, except the halo, on the sides where A has it. values = false: its values are zeros.
   Local. */
PoiseErr poiseCsrCopy(PoiseMat A, bool values, Csr *copy);
/* Accept a CSR with offsets, columns, values, m, nloc, nz and wide, on either side, of rows without ghosts;
   or all that poiseCsrCopy gives. It becomes A's, or is released on failure. Collective; agrees. */
PoiseErr poiseCsrAccept(PoiseMat A, const Csr *made);
/* no copy: pointers that were taken become NULL. Collective; agrees */
PoiseErr poiseCsrTake(PoiseMat A, RowArrays *r);
bool poiseMatWideColumns(PoiseMat A); /* a global column needs 8 bytes */
PoiseErr poiseRowArraysCreate(PoiseMat A, int64_t nz, RowArrays *r);
PoiseErr poiseRowArraysCreateBlocks(PoiseMat A, int b, int64_t nz, RowArrays *r); /* b = 0: scalars */
PoiseErr poiseRowArraysReserve(PoiseMat A, int64_t nz, int64_t numbers,
                               RowArrays *r); /* columns, and so many scalars for each */
void poiseRowArraysDestroy(PoiseContext ctx, RowArrays *r);
/* Replace A's content and pattern by the arrays, without a copy. The arrays are released in any case; on
   failure A is unchanged. mine: this rank's error so far. If the arrays are blocks, A
   becomes type bcsr. Collective; agrees. */
PoiseErr poiseMatReplace(PoiseMat A, PoiseErr mine, RowArrays *r);
/* the same with what poiseCsrAccept takes */
PoiseErr poiseMatReplaceCsr(PoiseMat A, PoiseErr mine, Csr *made);
/* Replace by one of the two, and have the type work that fits. Nothing is set up. */
PoiseErr poiseMatReplaceAs(PoiseMat A, PoiseErr mine, RowArrays *r, Csr *made);

#endif

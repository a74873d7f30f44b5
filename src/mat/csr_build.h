/* SPDX-License-Identifier: BSD-3-Clause */
/* From users' arrays and added entries to the local CSR (csr_build.c, assemble.c). */
#ifndef POISE_MAT_CSR_BUILD_H
#define POISE_MAT_CSR_BUILD_H

#include "csri_kernels.h"
#include "mat.h"

PoiseErr poiseCsrBuild(PoiseMat A, const PoiseCSR *in, PoiseOwn own);       /* collective; agrees */
PoiseErr poiseCsrBuildDevice(PoiseMat A, const PoiseCSR *in, PoiseOwn own); /* of arrays on the device */

int poiseCsrRows(PoiseContext ctx, const CsrStatistics *s, bool even); /* rows of a block, as csr_rows of the device says */
int poiseBcsrRows(PoiseContext ctx, int b, const CsrStatistics *s);    /* the same in block rows: bcsr.c */

/* Several ranks: which of n blocks, of so many rows or (not NULL, on the host) window[b], have no ghosts, and may go ahead of the exchange: these *ninterior first, int32. Local. */
PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, const CsrWindow *window, Buffer *order, int64_t *ninterior);
/* Of this rank's rows; those of `limit` entries or more (0: none) do not count in tiles. Local. */
PoiseErr poiseCsrStatistics(PoiseMat A, int64_t limit, CsrStatistics *s);

typedef struct RowArrays { /* this rank's rows with global columns, sorted; allocated by the library */
  int b;                   /* rows, columns and entries are blocks, as in Csr; 0: numbers */
  int64_t *ptr;
  PoiseInt *col;  /* in one width, the other is NULL: */
  int32_t *col32; /* of 4 bytes unless poiseMatWideColumns */
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

/* A copy of A's, all but the halo, on the sides where A has it; with values = false these are zeros. Local. */
PoiseErr poiseCsrCopy(PoiseMat A, bool values, Csr *copy);
/* Offsets, columns, values, m, nloc, nz and wide are given, on either side, of rows without ghosts; or all that poiseCsrCopy gives.
   They are A's, or on failure released. Collective; agrees. */
PoiseErr poiseCsrAccept(PoiseMat A, const Csr *made);
PoiseErr poiseCsrTake(PoiseMat A, RowArrays *r); /* without a copy: pointers that were taken are NULL. Collective; agrees */
bool poiseMatWideColumns(PoiseMat A);            /* a global column needs 8 bytes */
PoiseErr poiseRowArraysCreate(PoiseMat A, int64_t nz, RowArrays *r);
PoiseErr poiseRowArraysCreateBlocks(PoiseMat A, int b, int64_t nz, RowArrays *r); /* b = 0: of numbers */
PoiseErr poiseRowArraysReserve(PoiseMat A, int64_t nz, int64_t numbers,
                               RowArrays *r); /* columns, and as many numbers for each */
void poiseRowArraysDestroy(PoiseContext ctx, RowArrays *r);
/* The arrays become A's content and pattern without a copy; they are released whatever happens, and A stays as it was on
   failure. mine: this rank's error so far. Where they are of blocks, which A waits for or has, its type is bcsr from then on.
   Collective; agrees. */
PoiseErr poiseMatReplace(PoiseMat A, PoiseErr mine, RowArrays *r);
PoiseErr poiseMatReplaceCsr(PoiseMat A, PoiseErr mine, Csr *made); /* the same with what poiseCsrAccept takes */
/* One of the two, and A is of that type from then on (NULL: as it was); nothing is set up. */
PoiseErr poiseMatReplaceAs(PoiseMat A, PoiseErr mine, RowArrays *r, Csr *made, const MatType *type);

#endif

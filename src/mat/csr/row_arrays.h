/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's new rows in arrays of the library's own (row_arrays.c). */
#ifndef POISE_MAT_ROW_ARRAYS_H
#define POISE_MAT_ROW_ARRAYS_H

#include "mat/object/mat.h"

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

bool poiseMatWideColumns(PoiseMat A); /* a global column needs 8 bytes */
PoiseErr poiseRowArraysCreate(PoiseMat A, int64_t nz, RowArrays *r);
PoiseErr poiseRowArraysCreateBlocks(PoiseMat A, int b, int64_t nz, RowArrays *r); /* b = 0: scalars */
PoiseErr poiseRowArraysReserve(PoiseMat A, int64_t nz, int64_t numbers,
                               RowArrays *r); /* columns, and so many scalars for each */
void poiseRowArraysDestroy(PoiseContext ctx, RowArrays *r);
/* They become A's CSR without a copy: pointers that were taken become NULL. Collective; agrees. */
PoiseErr poiseCsrTake(PoiseMat A, RowArrays *r);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank's rows, as every matrix has them (local_csr.c). */
#ifndef POISE_MAT_LOCAL_CSR_H
#define POISE_MAT_LOCAL_CSR_H

#include "vec/vec.h"
#include "csr_view.h"
#include "poise/mat.h"

/* One rank's rows as plain CSR. Columns are numbered [owned | ghosts]. Within a row, entries are in the order
   of their global columns. So values are never permuted, and the sum of a row does not depend on the number
   of ranks. In a matrix of blocks, rows, columns and entries are blocks of b x b scalars each,
   column-major. */
typedef struct Csr {
  int b;      /* 0: entries are numbers */
  int across; /* columns of numbers in a block, if they are not b (multiply/tiles.h); else 0 */
  int64_t m, nloc, nghost, nz;
  PoiseInt row, column, columns; /* first row and first column of this rank; columns of all ranks */
  bool wide;                     /* ptr holds int64, else int32 */
  Buffer ptr, col, val;          /* col: int32 */
  PoiseInt *ghost;               /* global columns of the ghosts, ascending */
  Halo *halo;                    /* NULL on one rank */
  const char *converted;         /* what was converted, for the view; NULL: nothing */
  bool by_columns;               /* rows are what the application calls columns, for messages */
} Csr;

static inline int64_t poiseCsrSide(const Csr *c) /* scalar rows (and, but of tiles, columns) of an entry */
{
  return c->b ? c->b : 1;
}

static inline int64_t poiseCsrAcross(const Csr *c) /* scalar columns of an entry */
{
  return c->across ? c->across : poiseCsrSide(c);
}

static inline int64_t poiseCsrEntry(const Csr *c) /* scalars in an entry */
{
  return poiseCsrSide(c) * poiseCsrAcross(c);
}

static inline int64_t poiseCsrScalars(const Csr *c) /* in all entries */
{
  return c->nz * poiseCsrEntry(c);
}

/* out = the transpose of a block. */
static inline void poiseTransposeBlock(int64_t b, const double *block, double *out)
{
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) out[c * b + r] = block[r * b + c];
}

void poiseCsrDestroy(PoiseContext ctx, Csr *c);
PoiseErr poiseCsrPattern(Csr *c, CsrView *view); /* device pointers of offsets and columns, */
PoiseErr poiseCsrView(Csr *c, CsrView *view);    /* and of the values too */
/* The same, and the values, to be changed there; then call poiseBufferSyncBorrowed. The caller counts
   A->version.values. */
PoiseErr poiseCsrUpdate(Csr *c, CsrView *view, double **val);
/* A copy of A's CSR, except the halo, on the sides where A has it. values = false: its values are zeros.
   Local. */
PoiseErr poiseCsrCopy(PoiseMat A, bool values, Csr *copy);

static inline int64_t poiseCsrPtr(const Csr *c, const void *ptr, int64_t i)
{
  return c->wide ? ((const int64_t *)ptr)[i] : ((const int32_t *)ptr)[i];
}

/* Add to integer k, of either width. Returns the old value. */
POISE_INLINE int64_t poiseAdvance(bool wide, void *array, int64_t k, int64_t by)
{
  int64_t *a64 = array;
  uint32_t *a32 = array;
  int64_t old = wide ? a64[k] : a32[k];
  if (wide)
    a64[k] = old + by;
  else
    a32[k] = (uint32_t)(old + by);
  return old;
}

#endif

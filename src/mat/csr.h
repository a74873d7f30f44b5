/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank's rows, as every matrix has them (csr_build.c). */
#ifndef POISE_MAT_CSR_H
#define POISE_MAT_CSR_H

#include "../vec/vec.h"
#include "csr_statistics_kernels.h"
#include "poise/mat.h"

/* One rank's rows as plain CSR. Columns are numbered [owned | ghosts]; within a row entries stay in the order of their global
   columns, so that values are never permuted and a row's sum does not depend on the number of ranks.
   Or of blocks: rows, columns and entries are then blocks, of b x b numbers each, column-major. */
typedef struct Csr {
  int b; /* 0: entries are numbers */
  int64_t m, nloc, nghost, nz;
  PoiseInt row, column, columns; /* the first of this rank's rows and columns; columns of all ranks */
  int64_t built;                 /* A->pattern when this was built */
  bool wide;                     /* ptr holds int64, else int32 */
  Buffer ptr, col, val;          /* col: int32 */
  PoiseInt *ghost;               /* global columns of the ghosts, ascending */
  Halo *halo;                    /* NULL on one rank */
  int rows;                      /* of a block, as the device chose */
  int64_t nblock, tile;          /* number of blocks, nonzeros of the largest (0: not asked for) */
  bool vary;                     /* lengths of neighbouring rows often differ */
  CsrStatistics statistics;      /* without a limit */
  Buffer order;                  /* int32: the blocks, those without ghosts first; unused on one rank */
  int64_t ninterior;
  const char *converted; /* what had to be converted, for the view; NULL: nothing */
} Csr;

static inline int64_t poiseCsrSide(const Csr *c) /* rows and columns of numbers in an entry */
{
  return c->b ? c->b : 1;
}

static inline int64_t poiseCsrNumbers(const Csr *c) /* in all entries */
{
  return c->nz * poiseCsrSide(c) * poiseCsrSide(c);
}

void poiseCsrDestroy(PoiseContext ctx, Csr *c);
PoiseErr poiseCsrPattern(Csr *c, CsrView *view); /* device pointers of offsets and columns, */
PoiseErr poiseCsrView(Csr *c, CsrView *view);    /* and of the values too */
/* The same, and the values to be changed there; then poiseBufferSettle. The caller counts A->state. */
PoiseErr poiseCsrUpdate(Csr *c, CsrView *view, double **val);

/* The most nonzeros of a block of so many rows; 0 for POISE_BLOCK of them. */
static inline int64_t poiseCsrTileOf(const CsrStatistics *s, int rows)
{
  for (int k = 0; k < POISE_TILES; k++)
    if (rows == 256 >> k) return s->tile[k];
  return 0;
}

/* Rows that each of HOST_SHARES threads of the host would have in a product by rows: whole blocks; all where they are not worth threads. */
int64_t poiseCsrShareOfRows(const Csr *c);

static inline int64_t poiseCsrPtr(const Csr *c, const void *ptr, int64_t i)
{
  return c->wide ? ((const int64_t *)ptr)[i] : ((const int32_t *)ptr)[i];
}

#endif

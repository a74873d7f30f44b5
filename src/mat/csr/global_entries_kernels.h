/* SPDX-License-Identifier: BSD-3-Clause */
/* Global numbers of local columns, and of a CSR's entries (global_entries.c). Lanes of a row take its entries
   in turn; on the host a row has one lane. */
#ifndef POISE_GLOBAL_ENTRIES_KERNELS_H
#define POISE_GLOBAL_ENTRIES_KERNELS_H

#include "csr_view.h"

/* Local columns are [`below` ghosts | nloc owned ones | more ghosts], global ones are owned from `column` on;
   ghost: global columns of the ghosts, ascending. */
typedef struct GlobalColumns {
  int64_t below, nloc, column;
  const int64_t *ghost;
} GlobalColumns;

/* Global rows and columns of the entries of C's first n rows, whose local numbers are columns too. */
typedef struct GlobalEntriesArgs {
  CsrView C;
  GlobalColumns rows, columns;
  int64_t n;
  int64_t *row, *col;
} GlobalEntriesArgs;

POISE_INLINE int64_t poiseGlobalColumn(const GlobalColumns *c, int64_t local)
{
  if (local < c->below) return c->ghost[local];
  return local < c->below + c->nloc ? c->column + local - c->below : c->ghost[local - c->nloc];
}

POISE_INLINE void global_entries_row(const GlobalEntriesArgs *a, int64_t i, int lane, int lanes)
{
  int64_t end = poiseCsrOffset(&a->C, i + 1), row = poiseGlobalColumn(&a->rows, i);
  for (int64_t k = poiseCsrOffset(&a->C, i) + lane; k < end; k += lanes) {
    a->row[k] = row;
    a->col[k] = poiseGlobalColumn(&a->columns, a->C.col[k]);
  }
}

#endif

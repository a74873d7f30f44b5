/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of other ranks for a product on several ranks (fetched_rows.c). */
#ifndef POISE_FETCHED_ROWS_H
#define POISE_FETCHED_ROWS_H

#include "local_product.h"
#include "mat/csr/global_entries.h"
#include "sys/link/alltoall.h"

typedef struct FetchedRows {     /* of B, at A's ghost columns, behind its own rows; zero on one rank */
  PoiseContext ctx;              /* NULL: nothing is fetched */
  int64_t nloc, nghost, below;   /* columns of all these rows: owned, of other ranks, those of lower ranks */
  PoiseInt *ghost;               /* global numbers of the latter, ascending */
  int64_t tile;                  /* scalars of an entry */
  bool wide, wide_send;          /* integers of ptr and of send have 64 bits */
  Buffer ptr, col;               /* rows; columns in the order of their global numbers */
  Buffer send, packed, received; /* places of the entries that others need; their values; those of others */
  Exchange ex;                   /* of these values */
} FetchedRows;

/* Ask for the rows of B's pattern. f is zero. Collective; the caller agrees. */
PoiseErr poiseFetchPattern(PoiseMat A, PoiseMat B, FetchedRows *f);
/* Bring the values of these rows. Collective; the caller agrees. */
PoiseErr poiseFetchNumbers(FetchedRows *f, Csr *B);
/* B with these rows as a factor. */
LocalFactor poiseFetchedFactor(FetchedRows *f, Csr *B);
/* Global numbers of B's local columns, and of the columns of all these rows; ghosts on the host. */
void poiseFetchedColumns(const FetchedRows *f, const Csr *B, GlobalColumns *rows, GlobalColumns *columns);
/* Of C's entries, whose rows are B's local columns, and whose columns those of all these rows. As of
   poiseGlobalEntries. */
PoiseErr poiseFetchedEntries(FetchedRows *f, const Csr *B, Csr *C, GlobalEntries *g);
void poiseFetchedBytes(const FetchedRows *f, PoiseBytes *sum);
void poiseFetchedDestroy(FetchedRows *f);

#endif

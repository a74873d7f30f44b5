/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of columns in a product over several ranks (fetched_rows.c). Lanes of a row take its entries in
   turn; on the host a row has one lane. */
#ifndef POISE_FETCHED_ROWS_KERNELS_H
#define POISE_FETCHED_ROWS_KERNELS_H

#include "mat/csr/global_entries_kernels.h"

/* n rows of B, of `side` scalar rows each, that other ranks want: of row k, scalar[k * side] is the first.
   fetched_lengths: length[k] of row k. fetched_columns: the global columns of its entries, and their places
   in B, from first[k] on. One of place64, place32 is NULL. */
typedef struct WantedRowsArgs {
  CsrView B;
  GlobalColumns columns;
  int64_t n, side;
  const int32_t *scalar;
  const int64_t *first;
  int64_t *length, *col, *place64;
  int32_t *place32;
} WantedRowsArgs;

/* n global columns. fetched_keys: keys that sort those of other ranks in front of the own ones, which have
   bit `bits`, and places of the keys. fetched_places: their numbers among the columns, of which nghost are
   other ranks'. */
typedef struct ColumnPlacesArgs {
  GlobalColumns columns;
  int64_t n, nghost;
  int bits;
  const int64_t *global;
  uint64_t *key;
  uint32_t *at;
  int32_t *place;
} ColumnPlacesArgs;

/* B's own rows among those of a product, and `more` fetched ones behind, which begin at `first` of their
   entries: the offsets of all, and the columns of the own ones in the order of the global ones, of which
   `below` ghosts come first. ghost: numbers of B's ghosts. One of ptr64, ptr32 is NULL. n: the larger of
   B.m + 1 + more and B.nz. */
typedef struct OwnRowsArgs {
  CsrView B;
  int64_t n, below, more;
  const int64_t *first; /* [more + 1] */
  const int32_t *ghost;
  int64_t *ptr64;
  int32_t *ptr32, *col;
} OwnRowsArgs;

POISE_INLINE void fetched_lengths_item(const WantedRowsArgs *a, int64_t k)
{
  int64_t i = a->scalar[k * a->side] / a->side;
  a->length[k] = poiseCsrOffset(&a->B, i + 1) - poiseCsrOffset(&a->B, i);
}

POISE_INLINE void fetched_columns_row(const WantedRowsArgs *a, int64_t k, int lane, int lanes)
{
  int64_t i = a->scalar[k * a->side] / a->side, from = poiseCsrOffset(&a->B, i),
          n = poiseCsrOffset(&a->B, i + 1) - from;
  for (int64_t e = lane; e < n; e += lanes) {
    int64_t to = a->first[k] + e;
    a->col[to] = poiseGlobalColumn(&a->columns, a->B.col[from + e]);
    if (a->place32)
      a->place32[to] = (int32_t)(from + e);
    else
      a->place64[to] = from + e;
  }
}

POISE_INLINE int poiseOwnsColumn(const GlobalColumns *c, int64_t global)
{
  return global >= c->column && global < c->column + c->nloc;
}

POISE_INLINE void fetched_keys_item(const ColumnPlacesArgs *a, int64_t k)
{
  int64_t global = a->global[k];
  a->key[k] = poiseOwnsColumn(&a->columns, global) ? UINT64_C(1) << a->bits : (uint64_t)global;
  a->at[k] = (uint32_t)k;
}

POISE_INLINE void fetched_places_item(const ColumnPlacesArgs *a, int64_t k)
{
  const GlobalColumns *c = &a->columns;
  int64_t global = a->global[k], local = poiseOwnsColumn(c, global)
                                             ? global - c->column
                                             : c->nloc + poiseFirstFrom(c->ghost, a->nghost, global);
  a->place[k] = poisePlaceOfLocal(c->below, c->nloc, (int32_t)local);
}

POISE_INLINE void fetched_own_item(const OwnRowsArgs *a, int64_t k)
{
  int64_t m = a->B.m;
  if (k <= m + a->more) {
    int64_t offset = k <= m ? poiseCsrOffset(&a->B, k) : a->B.nz + a->first[k - m];
    if (a->ptr32)
      a->ptr32[k] = (int32_t)offset;
    else
      a->ptr64[k] = offset;
  }
  if (k >= a->B.nz) return;
  int64_t col = a->B.col[k];
  a->col[k] = col < a->B.nloc ? (int32_t)(col + a->below) : a->ghost[col - a->B.nloc];
}

#endif

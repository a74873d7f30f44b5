/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of rows of which some are other ranks' (shared_rows.c), as CooKeysArgs has them. Lanes of a row take
   its entries in turn; on the host a row has one lane. */
#ifndef POISE_SHARED_ROWS_KERNELS_H
#define POISE_SHARED_ROWS_KERNELS_H

#include "mat/csr/global_entries_kernels.h"

/* shared_keys: keys and places of the entries of n rows, from `first` on, before which C has `skip` entries.
   They stand in order, and leave room for received keys, which are sorted: an equal one comes behind.
   shared_received: the n received ones, in that room. shared_before: before[i], for n rows and the end: how
   many are received of rows before i; NULL: none is received at all. So an item searches for its row, and not
   each warp. Of key, and of places, those that are not NULL are written. */
typedef struct SharedKeysArgs {
  CsrView C;
  GlobalColumns rows, columns;
  int64_t n, first, skip;
  int bits, foreign;
  int64_t nreceived, *before;
  const uint64_t *received;
  const int64_t *received64;
  const uint32_t *received32;
  uint64_t *key;
  int64_t *place64;
  uint32_t *place32;
} SharedKeysArgs;

/* The first of sorted keys [low, high) that is not below v. */
POISE_INLINE int64_t poiseKeysFrom(const uint64_t *key, int64_t low, int64_t high, uint64_t v)
{
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (key[mid] < v)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

POISE_INLINE void poiseSharedPut(const SharedKeysArgs *a, int64_t to, uint64_t key, int64_t place)
{
  if (a->key) a->key[to] = key;
  if (a->place32) a->place32[to] = (uint32_t)place;
  if (a->place64) a->place64[to] = place;
}

POISE_INLINE void shared_before_item(const SharedKeysArgs *a, int64_t i)
{
  a->before[i] = poiseKeysFrom(a->received, 0, a->nreceived, (uint64_t)i << a->bits);
}

POISE_INLINE void shared_keys_row(const SharedKeysArgs *a, int64_t k, int lane, int lanes)
{
  int64_t i = a->first + k, end = poiseCsrOffset(&a->C, i + 1), low = 0, high = 0;
  uint64_t row = (uint64_t)(i < a->rows.nloc ? i : poiseGlobalColumn(&a->rows, i)) << a->bits;
  if (i >= a->rows.nloc) row |= UINT64_C(1) << a->foreign;
  if (a->before) low = a->before[i], high = a->before[i + 1];
  for (int64_t e = poiseCsrOffset(&a->C, i) + lane; e < end; e += lanes) {
    uint64_t key = row | (uint64_t)poiseGlobalColumn(&a->columns, a->C.col[e]);
    int64_t before = low < high ? poiseKeysFrom(a->received, low, high, key) : low;
    poiseSharedPut(a, e - a->skip + before, key, e);
  }
}

POISE_INLINE void shared_received_item(const SharedKeysArgs *a, int64_t k)
{
  uint64_t key = a->received[k], column = key & ((UINT64_C(1) << a->bits) - 1);
  int64_t i = (int64_t)(key >> a->bits), low = poiseCsrOffset(&a->C, i), high = poiseCsrOffset(&a->C, i + 1);
  while (low < high) { /* own entries up to that one */
    int64_t mid = low + (high - low) / 2;
    if ((uint64_t)poiseGlobalColumn(&a->columns, a->C.col[mid]) <= column)
      low = mid + 1;
    else
      high = mid;
  }
  poiseSharedPut(a, low + k, key, a->received32 ? a->received32[k] : a->received64[k]);
}

#endif

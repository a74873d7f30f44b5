/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys, of a row and a column each, that are sorted and become rows (keys.c). */
#ifndef POISE_KEYS_KERNELS_H
#define POISE_KEYS_KERNELS_H

#include "csr_view.h"

/* Keys and places by the keys without their lowest `first` bits, equal ones in their order, from [0] to [1];
   what was in [0] is lost. bits: that keys have beyond those at most, one or more; scratch: as many bytes as
   sort_scratch of the device says. */
typedef struct SortKeysArgs {
  int64_t n;
  int first, bits;
  uint64_t *key[2];
  int64_t *place64[2];
  uint32_t *place32[2];
  void *scratch;
  size_t scratch_bytes;
} SortKeysArgs;

/* count[b]: keys in block b of POISE_BLOCK that are below `end` and differ from the one before; n + 1 keys'
   blocks */
typedef struct CooCountArgs {
  int64_t n;
  uint64_t end;
  const uint64_t *key;
  int64_t *count;
} CooCountArgs;

typedef struct ScanArgs { /* count[b] = the sum of those before, for b <= n */
  int64_t n;
  int64_t *count;
} ScanArgs;

/* Row offsets from lengths: sums of blocks of POISE_BLOCK rows and, with these scanned, the offsets. */
typedef struct RowOffsetsArgs {
  int64_t m;
  const int32_t *length;
  int64_t *count;
  int64_t *ptr64;
  int32_t *ptr32;
} RowOffsetsArgs;

/* A matrix's entries by column: key_k = col_k << bits | row and place_k = k for every entry k of A. */
typedef struct CsrKeysArgs {
  CsrView A;
  int bits;
  uint64_t *key;
  int64_t *place64;
  uint32_t *place32;
} CsrKeysArgs;

/* Sorted keys become rows: entry e, of column col[e], is the sum of the values at places start[e] to start[e
   + 1] of the sorted ones (both NULL: not asked for), ptr: m + 1 row offsets. count: as scanned. One of col,
   col64 is NULL. */
typedef struct CooRowsArgs {
  int64_t n, m;
  int bits;
  const uint64_t *key;
  const int64_t *count;
  int64_t *ptr64, *start64, *col64;
  int32_t *ptr32, *col;
  uint32_t *start32;
} CooRowsArgs;

/* Does key k begin an entry? */
POISE_INLINE int poiseCooBegins(const uint64_t *key, int64_t k, uint64_t end)
{
  return key[k] < end && (k == 0 || key[k] != key[k - 1]);
}

/* What key k, 0 <= k <= n, says of the rows; e: entries before it. The first of those to be ignored ends the
   last row. */
POISE_INLINE void poiseCooRow(const CooRowsArgs *a, int64_t k, int64_t e)
{
  uint64_t end = (uint64_t)a->m << a->bits;
  int valid = k < a->n && a->key[k] < end;
  if (k > 0 && (valid ? a->key[k] == a->key[k - 1] : a->key[k - 1] >= end)) return;
  int64_t row = valid ? (int64_t)(a->key[k] >> a->bits) : a->m,
          before = k > 0 ? (int64_t)(a->key[k - 1] >> a->bits) : -1;
  int64_t col = valid ? (int64_t)(a->key[k] & ((UINT64_C(1) << a->bits) - 1)) : 0;
  if (valid && a->col)
    a->col[e] = (int32_t)col;
  else if (valid)
    a->col64[e] = col;
  if (a->start32)
    a->start32[e] = (uint32_t)k;
  else if (a->start64)
    a->start64[e] = k;
  for (int64_t i = before + 1; i <= row; i++) {
    if (a->ptr32)
      a->ptr32[i] = (int32_t)e;
    else
      a->ptr64[i] = e;
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's part of a pattern that every rank holds (redundant.c). */
#ifndef POISE_AMG_REDUNDANT_KERNELS_H
#define POISE_AMG_REDUNDANT_KERNELS_H

#include "mat/csr/global_entries_kernels.h"

/* Offsets and columns of A's rows among all rows: from the places of the rank's first row and first entry on,
   before which there are `before` entries. `end`: the last offset, behind all rows, and what it is. n: the
   larger of A.nz and A.m + 1. One of ptr64, ptr32 is NULL. */
typedef struct AmgPartArgs {
  CsrView A;
  GlobalColumns columns;
  int64_t n, before, end, total;
  int64_t *ptr64;
  int32_t *ptr32, *col;
} AmgPartArgs;

/* Traffic: 8 bytes for each entry, 8 (or 16) for each row; the list of ghosts stays in a cache. */
POISE_INLINE void amg_part_pattern_item(const AmgPartArgs *a, int64_t k)
{
  int64_t to = k < a->A.m ? k : a->end, offset = k < a->A.m ? a->before + poiseCsrOffset(&a->A, k) : a->total;
  if (k <= a->A.m && a->ptr32) a->ptr32[to] = (int32_t)offset;
  if (k <= a->A.m && a->ptr64) a->ptr64[to] = offset;
  if (k < a->A.nz) a->col[k] = (int32_t)poiseGlobalColumn(&a->columns, a->A.col[k]);
}

#endif

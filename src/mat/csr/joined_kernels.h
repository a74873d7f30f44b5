/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of other matrices, joined on a device (joined.c). */
#ifndef POISE_JOINED_KERNELS_H
#define POISE_JOINED_KERNELS_H

#include "global_entries_kernels.h"

/* out[i] = in[i] + add for n offsets, of either width. */
typedef struct JoinedOffsetsArgs {
  int64_t n, add;
  int wide_in, wide_out;
  const void *in;
  void *out;
} JoinedOffsetsArgs;

/* n local columns become global ones, in place. */
typedef struct JoinedColumnsArgs {
  int64_t n;
  GlobalColumns columns;
  int32_t *col;
} JoinedColumnsArgs;

POISE_INLINE void joined_offsets_item(const JoinedOffsetsArgs *a, int64_t i)
{
  int64_t v = a->add + (a->wide_in ? ((const int64_t *)a->in)[i] : ((const int32_t *)a->in)[i]);
  if (a->wide_out)
    ((int64_t *)a->out)[i] = v;
  else
    ((int32_t *)a->out)[i] = (int32_t)v;
}

/* Offsets of the rows from `begin` on, n with the end of the last, in either width: of nz entries whose rows
   ascend. */
typedef struct RowsOffsetsArgs {
  int64_t n, nz, begin;
  int wide;
  const int32_t *row;
  void *ptr;
} RowsOffsetsArgs;

POISE_INLINE void rows_offsets_item(const RowsOffsetsArgs *a, int64_t i)
{
  int64_t low = 0, high = a->nz; /* the first entry of row i or a later one */
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (a->row[mid] < a->begin + i)
      low = mid + 1;
    else
      high = mid;
  }
  if (a->wide)
    ((int64_t *)a->ptr)[i] = low;
  else
    ((int32_t *)a->ptr)[i] = (int32_t)low;
}

POISE_INLINE void joined_columns_item(const JoinedColumnsArgs *a, int64_t k)
{
  a->col[k] = (int32_t)poiseGlobalColumn(&a->columns, a->col[k]);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of 16 bits (index16.c). */
#ifndef POISE_INDEX16_KERNELS_H
#define POISE_INDEX16_KERNELS_H

#include "csr_view.h"

/* Columns of 16 bits beside those of A: a block of rows has up to POISE_WINDOWS windows of POISE_WINDOW columns, and a code says in which
   of them a column is, and where. A window without ghosts is enough for a band, and one for each plane of a grid. */
enum { POISE_WINDOWS = 16, POISE_WINDOW = 65536 / POISE_WINDOWS };

/* NULL: there are none. code: of each entry; all: the columns of all blocks fit */
typedef struct Index16View {
  const uint16_t *code;
  const int32_t *window; /* those of block b begin, ascending, at window[b * POISE_WINDOWS]; -1: its columns do not fit */
  int64_t all;
} Index16View;

POISE_INLINE int32_t poiseIndex16Column(const int32_t *window, uint16_t code)
{
  return window[code / POISE_WINDOW] + code % POISE_WINDOW;
}

/* Of a column in one of these n windows. */
POISE_INLINE uint16_t poiseIndex16Code(const int32_t *window, int n, int32_t col)
{
  while (n > 1 && window[n - 1] > col) n--;
  return (uint16_t)((n - 1) * POISE_WINDOW + (col - window[n - 1]));
}

/* Where the columns end that a window covers which begins at `least`; ghosts are covered by none. */
POISE_INLINE int64_t poiseIndex16End(const CsrView *A, int32_t least)
{
  int64_t end = (int64_t)least + POISE_WINDOW;
  return end < A->nloc ? end : A->nloc;
}

/* Codes and windows of nblock blocks of `rows` rows; *fits, which was 0: nonzeros of the blocks whose columns fit. */
typedef struct CsrIndex16Args {
  CsrView A;
  int rows;
  int64_t nblock;
  uint16_t *code;
  int32_t *window;
  int64_t *fits;
} CsrIndex16Args;

#endif

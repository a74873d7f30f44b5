/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of 16 bits (index16.c). */
#ifndef POISE_INDEX16_KERNELS_H
#define POISE_INDEX16_KERNELS_H

#include "mat/csr/csr_view.h"

/* Columns of 16 bits beside those of A: a row block has up to POISE_BANDS bands of POISE_BAND columns, and a
   code says in which of them a column is, and where. One band without ghosts is enough for a banded matrix,
   and one for each plane of a grid. */
enum { POISE_BANDS = 16, POISE_BAND = 65536 / POISE_BANDS };

/* NULL: there are none. code: of each entry; all: the columns of all blocks fit */
typedef struct Index16View {
  const uint16_t *code;
  /* those of block b begin, ascending, at base[b * POISE_BANDS]; -1: its columns do not fit */
  const int32_t *base;
  int64_t all;
} Index16View;

POISE_INLINE int32_t poiseIndex16Column(const int32_t *base, uint16_t code)
{
  return base[code / POISE_BAND] + code % POISE_BAND;
}

/* Of a column in one of these n bands. */
POISE_INLINE uint16_t poiseIndex16Code(const int32_t *base, int n, int32_t col)
{
  while (n > 1 && base[n - 1] > col) n--;
  return (uint16_t)((n - 1) * POISE_BAND + (col - base[n - 1]));
}

/* Where the columns end that a band covers which begins at `least`; ghosts are covered by none. */
POISE_INLINE int64_t poiseIndex16End(const CsrView *A, int32_t least)
{
  int64_t end = (int64_t)least + POISE_BAND;
  return end < A->nloc ? end : A->nloc;
}

/* Codes and bands of nblock blocks of `rows` rows; *fits, which was 0: nonzeros of the blocks whose columns
   fit. */
typedef struct CsrIndex16Args {
  CsrView A;
  int rows;
  int64_t nblock;
  uint16_t *code;
  int32_t *base;
  int64_t *fits;
} CsrIndex16Args;

#endif

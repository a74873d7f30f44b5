/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on wide vectors whose columns are mixed: dots of all pairs of columns, and combinations of columns.
   A matrix of coefficients has k x k numbers, row by row, on the device. *skip != 0: do nothing. */
#ifndef POISE_GRAM_KERNELS_H
#define POISE_GRAM_KERNELS_H

#include "sys/device/kernels.h"

enum { GRAM_BLOCKS = 256, GRAM_PAIRS = 2 };

/* gram_columns: partial sums of G_p = X^T Y_p, p < pairs <= GRAM_PAIRS. Those of entry (i, j), number
   (p k + i) k + j, begin at GRAM_BLOCKS times that. A block has poiseGramRows(n) rows. */
typedef struct GramArgs {
  int64_t n;
  int k, pairs;
  const double *x, *y[GRAM_PAIRS], *skip;
  double *partial;
} GramArgs;

/* Rows of a block, so that there are at most GRAM_BLOCKS of them. */
POISE_INLINE int64_t poiseGramRows(int64_t n)
{
  int64_t rows = (n + GRAM_BLOCKS - 1) / GRAM_BLOCKS;
  return rows < 256 ? 256 : rows;
}

POISE_INLINE int64_t poiseGramBlocks(int64_t n)
{
  return (n + poiseGramRows(n) - 1) / poiseGramRows(n);
}

/* combine_columns: Y = X_0 C_0 + X_1 C_1, or Y plus that if `adds`. x[1] may be NULL. Y may be one of the X,
   unless it is added to. Column j stays as it is where stays[poiseScalarsOf(&systems, j)] != 0 (stays may be
   NULL). */
typedef struct CombineArgs {
  int64_t n;
  int k, adds;
  const double *x[2], *c[2], *skip, *stays;
  double *y;
  Systems systems;
} CombineArgs;

#endif

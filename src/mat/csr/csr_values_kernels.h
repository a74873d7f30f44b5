/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that are compared, summed and changed row by row (csr_values.c). */
#ifndef POISE_CSR_VALUES_KERNELS_H
#define POISE_CSR_VALUES_KERNELS_H

#include "csr_view.h"

/* partial[b] = 1 if the offsets or columns of A and B differ in block b of POISE_BLOCK rows, else 0. They
   have as many rows. */
typedef struct CsrDifferArgs {
  CsrView A, B;
  double *partial;
} CsrDifferArgs;

/* The kernels that change values: `val` is A.val, to be written. */

/* val = diag(left) A diag([right | ghost]); left NULL, right and ghost NULL: ones */
typedef struct CsrScaleArgs {
  CsrView A;
  const double *left, *right, *ghost;
  double *val;
} CsrScaleArgs;

/* A_ii = v, or += v with add, v = d_i, or value where d is NULL, of a block of owned columns that begins at
   the diagonal. lacking[b]: rows of block b (of POISE_BLOCK) without such an entry, which stay as they
   are. */
typedef struct CsrSetDiagonalArgs {
  CsrView A;
  int add;
  double value;
  const double *d;
  double *val, *lacking;
} CsrSetDiagonalArgs;

/* partial[b]: the largest sum of |entries| of a row of block b (largest != 0), or the sum of their squares */
typedef struct CsrNormArgs {
  CsrView A;
  int largest;
  double scale[2]; /* by which entries are multiplied, one after the other, before they are squared */
  double *partial;
} CsrNormArgs;

/* at[k] = where row row[k] of numbers has its diagonal entry, or -1. col[k]: in which local column, of blocks
   if A has blocks; -1: in none. Of the ghosts the first `below` are columns before the owned ones. */
typedef struct CsrDiagonalsArgs {
  CsrView A;
  int64_t n, below;
  const int32_t *row, *col;
  int64_t *at;
} CsrDiagonalsArgs;

/* Columns in their global order, in which rows have them. */
POISE_INLINE int64_t poiseColumnOrder(const CsrDiagonalsArgs *a, int64_t col)
{
  if (col < a->A.nloc) return a->below + col;
  return col - a->A.nloc < a->below ? col - a->A.nloc : col;
}

POISE_INLINE int64_t poiseDiagonalPlace(const CsrDiagonalsArgs *a, int64_t k)
{
  int64_t b = a->A.b ? a->A.b : 1, i = a->row[k], r = i % b, col = a->col[k];
  int64_t low = poiseCsrOffset(&a->A, i / b), high = poiseCsrOffset(&a->A, i / b + 1);
  while (low < high && col >= 0) {
    int64_t mid = low + (high - low) / 2, c = a->A.col[mid];
    if (c == col) return (mid * b + r) * b + r;
    if (poiseColumnOrder(a, c) < poiseColumnOrder(a, col))
      low = mid + 1;
    else
      high = mid;
  }
  return -1;
}

/* Rows row[0 .. n), each once: their entries become 0, but entry at[k] of row[k] `diagonal` (at NULL: none
   does), b = diagonal x there and mark = 1 (x and b, mark: may be NULL). */
typedef struct CsrZeroRowsArgs {
  CsrView A;
  int64_t n;
  const int32_t *row;
  const int64_t *at;
  double diagonal;
  const double *x;
  double *val, *b, *mark;
} CsrZeroRowsArgs;

/* In rows i with mark_i = 0: b_i -= A_ij x_j (x and b may be NULL), then A_ij = 0, for all j with mark_j !=
   0, in the order of the entries. Marks and x of ghost columns: ghost_mark, ghost. */
typedef struct CsrZeroColumnsArgs {
  CsrView A;
  const double *mark, *ghost_mark, *x, *ghost;
  double *val, *b;
} CsrZeroColumnsArgs;

#endif

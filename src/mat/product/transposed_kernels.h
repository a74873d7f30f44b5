/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with the transpose, through the entries sorted by column (transposed.c). */
#ifndef POISE_TRANSPOSED_KERNELS_H
#define POISE_TRANSPOSED_KERNELS_H

#include "csri_kernels.h"

/* y = A^T x for the `owned` columns, ghost = the same for those behind, through the entries sorted by column:
   the rows of c.m.A are A's columns, its columns A's rows, ascending, and its entry k is c.m.A.val[perm[k]],
   A's. perm is as wide as the offsets, the other NULL. c.m.x NULL: y = |A|^T 1, the columns' norms. As in
   csri_mult there are c.m.nblock row blocks and c.nfragment fragments, by c.row_block and what follows; or
   c.row_block is NULL, and no column is cut. Then there are c.m.nblock blocks of c.m.rows columns, for a
   host's threads. wide: x, y, ghost and c.sum have so many columns, entry (i, j) at i * wide + j; 0: one. */
typedef struct CsrMultTransposeArgs {
  CsriMultArgs c;
  int64_t owned, wide;
  const int64_t *perm64;
  const int32_t *perm32;
  double *ghost;
} CsrMultTransposeArgs;

POISE_INLINE int64_t poisePermuted(const CsrMultTransposeArgs *a, int64_t k)
{
  return a->perm32 ? a->perm32[k] : a->perm64[k];
}

/* Where the result of column j of numbers goes. */
POISE_INLINE double *poiseOfColumn(const CsrMultTransposeArgs *a, int64_t j)
{
  int64_t owned = poiseInScalars(&a->c.m.A, a->owned);
  return j < owned ? a->c.m.y + j : a->ghost + (j - owned);
}

/* The same of a wide product, whose results stand side by side. */
POISE_INLINE double *poiseOfWideColumn(const CsrMultTransposeArgs *a, int64_t j)
{
  int64_t owned = poiseInScalars(&a->c.m.A, a->owned);
  return j < owned ? a->c.m.y + j * a->wide : a->ghost + (j - owned) * a->wide;
}

#endif

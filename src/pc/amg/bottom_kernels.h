/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense inverse of the coarsest matrix. */
#ifndef POISE_AMG_BOTTOM_KERNELS_H
#define POISE_AMG_BOTTOM_KERNELS_H

#include "matrix_kernels.h"

enum { AMG_PANEL = 32 };                        /* columns that are swept at once */
enum { AMG_REFUSED, AMG_SKIPPED, AMG_RESULTS }; /* counts: is it refused; rows that depend on others */

typedef struct AmgFillArgs { /* A's numbers in a, n x n, row-major, which is 0 */
  int64_t n;
  CsrView A;
  double *a;
} AmgFillArgs;

/* a, n x n, row-major, becomes its inverse, see bottom.c; refused where it is not symmetric, or has no
   diagonal of one sign, or is not definite: a is then lost. */
typedef struct AmgInvertArgs {
  int64_t n;
  double zero; /* pivots up to this are 0, in a matrix whose diagonal is 1 */
  double *a;
  double *scale;  /* [n] by which rows and columns were multiplied, 0 for rows of zeros */
  double *w, *v;  /* [AMG_PANEL][n] the panel as it was and will be, by columns */
  double *block;  /* [AMG_PANEL][AMG_PANEL] its diagonal block, swept */
  double *swept;  /* [AMG_PANEL] 1: a column was swept; 0: its pivot was zero */
  double *sign;   /* of the diagonal */
  double *result; /* [AMG_RESULTS] */
} AmgInvertArgs;

POISE_INLINE void amg_fill_item(const AmgFillArgs *f, int64_t i)
{
  ScalarRow row = poiseNumberRow(&f->A, i);
  for (int64_t k = 0; k < row.n; k++)
    f->a[i * f->n + poiseNumberColumn(&f->A, &row, k)] = f->A.val[poiseNumberPlace(&row, k)];
}

/* By what row i is multiplied, so that its diagonal is 1 or -1. */
POISE_INLINE double poiseAmgScale(double diagonal)
{
  return diagonal != 0 ? 1 / sqrt(fabs(diagonal)) : 0;
}

/* Entries (i, j) and (j, i), scaled. 0: they differ. */
POISE_INLINE int poiseAmgSymmetric(double low, double high, double size, double *a)
{
  const double most = 1e-10;
  *a = 0.5 * (low + high) * size;
  return size == 0 ? low == 0 && high == 0 : fabs(low - high) * fabs(size) <= most;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense inverse of the coarsest matrix. */
#ifndef POISE_AMG_BOTTOM_KERNELS_H
#define POISE_AMG_BOTTOM_KERNELS_H

#include "diagonal_kernels.h"

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
  const double *size; /* [n] of the diagonal entries, see diagonal_kernels.h; NULL: |a_ii| */
  double *a;
  double *scale;  /* [n] by which rows and columns were multiplied, 0 for rows of zeros, or of rounding */
  double *zero;   /* [n] pivots up to this are 0, in a matrix whose diagonal is 1 */
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

/* By what row i is multiplied, so that its diagonal is 1 or -1; and what is 0 there. Where a body floats, its
   last pivots are rounding. It grows with the body's length, counted in aggregates: 1e-10 was seen with 69
   rows. And it is of the size that cancelled. */
POISE_INLINE double poiseAmgScale(const AmgInvertArgs *m, int64_t i)
{
  const double left = 1e-12, least = 1e-9;
  double d = m->a[i * m->n + i], size = m->size ? m->size[i] : fabs(d);
  int none = d == 0 || poiseAmgIsRounding(d, size);
  double more = none ? 0 : left * size / fabs(d);
  m->zero[i] = more > least ? more : least;
  return none ? 0 : 1 / sqrt(fabs(d));
}

/* Entries (i, j) and (j, i), times s: scales of both rows and the sign of the diagonal. 0: they differ. */
POISE_INLINE int poiseAmgSymmetric(const AmgInvertArgs *m, int64_t i, int64_t j, double s, double *a)
{
  double low = m->a[i * m->n + j], high = m->a[j * m->n + i];
  double zero = m->zero[i] > m->zero[j] ? m->zero[i] : m->zero[j];
  *a = 0.5 * (low + high) * s;
  if (s != 0) return fabs(low - high) * fabs(s) <= 0.1 * zero;
  double most = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
  return most == 0 || (m->size && poiseAmgIsRounding(most, sqrt(m->size[i]) * sqrt(m->size[j])));
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks of nodes, and of rows by their sums. */
#ifndef POISE_AMG_DIAGONAL_KERNELS_H
#define POISE_AMG_DIAGONAL_KERNELS_H

#include "pc/block_inverse.h"
#include "matrix_kernels.h"

typedef struct AmgDiagonalArgs {
  int64_t n; /* nodes; of amg_row_sums rows */
  AmgMatrix m;
  int strict;
  double *d;
  int32_t *bad; /* flag: a block is singular or not finite; its first number is then NaN */
} AmgDiagonalArgs;

/* The diagonal block of node i, of n = m->node rows, column-major. n is given, so that where it is known to
   be 1 the compiler keeps one number. */
POISE_INLINE void poiseAmgNodeBlock(const AmgMatrix *m, int64_t i, int n, double *d)
{
  int64_t side = n > 1 && m->A.b ? m->A.b : 1, per = n > 1 ? poiseAmgBlocks(m) : 1;
  for (int64_t k = 0; k < (int64_t)n * n; k++) d[k] = 0;
  for (int64_t q = 0; q < per; q++)
    for (int64_t k = poiseCsrOffset(&m->A, i * per + q), last = poiseCsrOffset(&m->A, i * per + q + 1);
         k < last; k++) {
      int64_t p = m->A.col[k] - i * per;
      for (int64_t e = 0; p >= 0 && p < per && e < side * side; e++)
        d[(p * side + e / side) * n + q * side + e % side] = m->A.val[k * side * side + e];
    }
}

/* Rows of d that are not 0, a bit for each. */
POISE_INLINE uint32_t poiseAmgRows(const double *d, int n)
{
  uint32_t rows = 0;
  for (int i = 0; i < n; i++) {
    int any = 0;
    for (int j = 0; j < n; j++) any |= d[j * n + i] != 0; /* a NaN too */
    rows |= (uint32_t)any << i;
  }
  return rows;
}

/* Invert these rows and columns in place; the others, of a coarse vector that is 0 in its aggregate, are 0.
   0: they are singular, and d is lost. */
POISE_INLINE int poiseAmgInvert(double *d, int n, uint32_t rows)
{
  int count = 0, at = 0;
  for (int i = 0; i < n; i++) count += rows >> i & 1;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      if (rows >> i & rows >> j & 1) d[at++] = d[j * n + i];
  if (!poiseInvertBlock(d, count)) return 0;
  for (int j = n - 1; j >= 0; j--)
    for (int i = n - 1; i >= 0; i--) d[j * n + i] = rows >> i & rows >> j & 1 ? d[--at] : 0;
  return 1;
}

/* The inverse of its diagonal alone, where that is not 0. 0: it is not finite. */
POISE_INLINE int poiseAmgInvertDiagonal(double *d, int n)
{
  int finite = 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double *v = &d[j * n + i];
      *v = i == j && *v != 0 ? 1 / *v : 0;
      finite = finite && poiseFinite(*v);
    }
  return finite;
}

/* d becomes the inverse of node i's block, of n rows. 0: it is not finite. */
POISE_INLINE int poiseAmgInvertNode(const AmgDiagonalArgs *g, int64_t i, int n, double *d)
{
  poiseAmgNodeBlock(&g->m, i, n, d);
  uint32_t rows = poiseAmgRows(d, n), all = ~UINT32_C(0) >> (32 - n);
  if (g->strict) return rows == all && poiseAmgInvert(d, n, rows);
  if (n > 1 && poiseAmgInvert(d, n, rows)) return 1;
  if (n > 1) poiseAmgNodeBlock(&g->m, i, n, d);
  return poiseAmgInvertDiagonal(d, n);
}

/* Traffic: A's rows, of which the diagonal block alone is read, and the block. The number of one row is in a
   register until it is known. */
POISE_INLINE void amg_diagonal_item(const AmgDiagonalArgs *g, int64_t i)
{
  int n = g->m.node;
  double own, *d = g->d + i * n * n;
  int fine = n == 1 ? poiseAmgInvertNode(g, i, 1, &own) : poiseAmgInvertNode(g, i, n, d);
  if (n == 1) *d = own;
  if (fine) return;
  *d = (double)NAN;
  poiseRaise(g->bad);
}

/* 1 over the sum of a row's magnitudes, with the sign of its diagonal. */
POISE_INLINE void amg_row_sums_item(const AmgDiagonalArgs *g, int64_t i)
{
  ScalarRow row = poiseNumberRow(&g->m.A, i);
  double sum = 0, diagonal = 0;
  for (int64_t k = 0; k < row.n; k++) {
    double a = g->m.A.val[poiseNumberPlace(&row, k)];
    sum += fabs(a);
    if (poiseNumberColumn(&g->m.A, &row, k) == i) diagonal = a;
  }
  g->d[i] = sum > 0 ? copysign(1 / sum, diagonal) : sum;
}

#endif

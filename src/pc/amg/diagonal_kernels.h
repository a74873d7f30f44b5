/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Inverse diagonal blocks of nodes, and of rows by their sums.

  A part of A that floats, and has become one row, is a diagonal entry that rounding left, of either sign. To
  know it, the sizes of what cancelled go down the levels: s_i = |a_ii| of A itself, then s_c = the sum of
  p_ic^2 s_i. Of a definite A |p_i a_ij p_j| is at most the mean of p_i^2 a_ii and p_j^2 a_jj, so P^T A P adds
  up numbers of that size. What does not cancel is far above rounding: about s_c / L^2 where an aggregate has
  L nodes in a row.
*/
#ifndef POISE_AMG_DIAGONAL_KERNELS_H
#define POISE_AMG_DIAGONAL_KERNELS_H

#include "pc/block_inverse.h"
#include "matrix_kernels.h"

typedef struct AmgDiagonalArgs {
  int64_t n; /* nodes; of amg_row_sums rows */
  AmgMatrix m;
  int strict; /* of A itself */
  double *d;
  double *size; /* of each row, see above; strict: written here, if it is not NULL */
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

/* Is a diagonal entry what rounding left of sums of that size? Levels leave up to 3e-16 of it; entries of A
   that an application has added up have errors of their own. */
POISE_INLINE int poiseAmgIsRounding(double a, double size)
{
  const double left = 1e-13;
  return size > 0 && fabs(a) <= left * size;
}

/* Rows of d that are neither 0 nor rounding, a bit for each. */
POISE_INLINE uint32_t poiseAmgRows(const double *d, int n, const double *size)
{
  uint32_t rows = 0;
  for (int i = 0; i < n; i++) {
    int any = 0;
    for (int j = 0; j < n; j++) any |= d[j * n + i] != 0; /* a NaN too */
    if (size && poiseAmgIsRounding(d[i * n + i], size[i])) any = 0;
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

/* Is no pivot of the inverse of a block rounding? Entry (j, j) is 1 over the last pivot, if row j is last. */
POISE_INLINE int poiseAmgIsRegular(const double *inverse, int n, const double *size)
{
  int regular = 1;
  for (int j = 0; j < n; j++) regular = regular && !poiseAmgIsRounding(1, size[j] * fabs(inverse[j * n + j]));
  return regular;
}

/* The inverse of its diagonal alone, where that is neither 0 nor rounding. 0: it is not finite. */
POISE_INLINE int poiseAmgInvertDiagonal(double *d, int n, const double *size)
{
  int finite = 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double *v = &d[j * n + i];
      *v = i == j && *v != 0 && !poiseAmgIsRounding(*v, size[i]) ? 1 / *v : 0;
      finite = finite && poiseFinite(*v);
    }
  return finite;
}

/* d becomes the inverse of node i's block, of n rows. 0: it is not finite. */
POISE_INLINE int poiseAmgInvertNode(const AmgDiagonalArgs *g, int64_t i, int n, double *d)
{
  double *size = g->size ? g->size + i * n : NULL;
  poiseAmgNodeBlock(&g->m, i, n, d);
  for (int j = 0; g->strict && size && j < n; j++) size[j] = fabs(d[j * n + j]);
  uint32_t rows = poiseAmgRows(d, n, g->strict ? NULL : size), all = ~UINT32_C(0) >> (32 - n);
  if (g->strict) return rows == all && poiseAmgInvert(d, n, rows);
  if (n > 1 && poiseAmgInvert(d, n, rows) && poiseAmgIsRegular(d, n, size)) return 1;
  if (n > 1) poiseAmgNodeBlock(&g->m, i, n, d);
  return poiseAmgInvertDiagonal(d, n, size);
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

/* 1 over the sum of a row's magnitudes, with the sign of its diagonal; 0 where that is rounding. */
POISE_INLINE void amg_row_sums_item(const AmgDiagonalArgs *g, int64_t i)
{
  ScalarRow row = poiseNumberRow(&g->m.A, i);
  double sum = 0, diagonal = 0;
  for (int64_t k = 0; k < row.n; k++) {
    double a = g->m.A.val[poiseNumberPlace(&row, k)];
    sum += fabs(a);
    if (poiseNumberColumn(&g->m.A, &row, k) == i) diagonal = a;
  }
  if (g->size && poiseAmgIsRounding(sum, g->size[i])) sum = 0;
  g->d[i] = sum > 0 ? copysign(1 / sum, diagonal) : sum;
}

typedef struct AmgSizesArgs { /* coarse = sizes of P^T A P's diagonal, from those of A's */
  int64_t n;                  /* rows of R */
  CsrView R;
  const double *size, *inverse; /* inverse: 1 over them, where there is no `size` */
  double *coarse;
} AmgSizesArgs;

enum { AMG_SIZE_LANES = 8 }; /* sums of a row that are added as a tree, so that lanes may have one each */

/* Of p in column j of R. */
POISE_INLINE double poiseAmgPartOfSize(const AmgSizesArgs *a, double p, int64_t j)
{
  return p * p * (a->size ? a->size[j] : 1 / fabs(a->inverse[j]));
}

/* Traffic: R's numbers and columns; the sizes stay in a cache. */
POISE_INLINE void amg_coarse_sizes_item(const AmgSizesArgs *a, int64_t i)
{
  ScalarRow row = poiseNumberRow(&a->R, i);
  double s[AMG_SIZE_LANES] = {0};
  for (int64_t k = 0; k < row.n; k++)
    s[k % AMG_SIZE_LANES] +=
        poiseAmgPartOfSize(a, a->R.val[poiseNumberPlace(&row, k)], poiseNumberColumn(&a->R, &row, k));
  a->coarse[i] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

#endif

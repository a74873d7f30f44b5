/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sums of a row times several columns on the host, in fp64, or in fp32 where columns_f32.c says so. Rows of X
  are interleaved: entry (i, j) is at i * n + j. Column j has the bits of the ordinary product of that column:
  sums are added in the same order.
*/
#ifndef POISE_COLUMNS_ROWS_H
#define POISE_COLUMNS_ROWS_H

#include "bcsr_rows.h"

/* Pairs of columns whose sums are in registers at once: of numbers; of small blocks. */
enum { HOST_PAIRS = 8, HOST_BLOCK_PAIRS = 2 };

/* s[p] += v times the numbers of pair p of columns, from `from` on. */
POISE_INLINE void poiseHostAddPairs(int pairs, double v, const SCALAR *from, HostTwo *s)
{
  const HostTwo both = {v, v};
  for (int p = 0; p < pairs; p++) {
    HostTwoValues x;
    memcpy(&x, from + 2 * p, sizeof x);
    s[p] += both * __builtin_convertvector(x, HostTwo);
  }
}

/* ---- rows of numbers ------------------------------------------------------------------------- */

/* The row of X of entry k, from column j on. */
POISE_INLINE const SCALAR *poiseHostXOf(const RowsArgs *m, int64_t n, bool ghosts, int64_t j, int64_t k)
{
  return (ghosts ? poiseHostBlockFactors(m, m->A.col[k], n) : m->x + m->A.col[k] * n) + j;
}

/* s[q][p] = the terms of entries k + q step, k + q step + 4, ... for pair p of columns from j on, for
   4 / step places q. */
POISE_INLINE void poiseHostPlaces(const RowsArgs *m, int64_t n, int step, int pairs, bool ghosts, int64_t j,
                                  int64_t k, int64_t last, HostTwo (*s)[HOST_PAIRS])
{
  const SCALAR *val = m->A.val;
  const int places = 4 / step;
  HostTwo t[4][HOST_PAIRS];
  for (int q = 0; q < places; q++)
    for (int p = 0; p < pairs; p++) t[q][p] = (HostTwo){0};
  for (; k + (places - 1) * step < last; k += 4)
    for (int q = 0; q < places; q++)
      poiseHostAddPairs(pairs, (double)val[k + q * step], poiseHostXOf(m, n, ghosts, j, k + q * step), t[q]);
  for (int q = 0; q < places - 1; q++)
    if (k + q * step < last)
      poiseHostAddPairs(pairs, (double)val[k + q * step], poiseHostXOf(m, n, ghosts, j, k + q * step), t[q]);
  for (int q = 0; q < places; q++)
    for (int p = 0; p < pairs; p++) s[q][p] = t[q][p];
}

/* s[p] = the sum of a row for pair p of columns from j on. It is that of four by place in the row, as in
   poiseHostRowSum: all are added at once for few columns, or two, or one, as the registers hold them. */
POISE_INLINE void poiseHostRowPairs(const RowsArgs *m, int64_t n, int pairs, bool ghosts, int64_t j,
                                    int64_t k, int64_t last, HostTwo *s)
{
  HostTwo t[4][HOST_PAIRS], of[4][HOST_PAIRS];
  const int step = pairs <= 2 ? 1 : pairs <= 4 ? 2 : 4; /* places q, q + step, ... are added at once */
  for (int64_t e = k; e < last; e += 8) poiseHostAhead(m, e, false);
  for (int q = 0; q < step; q++) {
    poiseHostPlaces(m, n, step, pairs, ghosts, j, k + q, last, t);
    for (int r = 0; r < 4 / step; r++)
      for (int p = 0; p < pairs; p++) of[q + r * step][p] = t[r][p];
  }
  for (int p = 0; p < pairs; p++) s[p] = (of[0][p] + of[2][p]) + (of[1][p] + of[3][p]);
}

/* The same, to sum[j] and on. */
POISE_INLINE void poiseHostSumPairs(const RowsArgs *m, int64_t n, int pairs, int64_t j, int64_t k,
                                    int64_t last, double *sum)
{
  HostTwo s[HOST_PAIRS];
  if (m->ghost)
    poiseHostRowPairs(m, n, pairs, true, j, k, last, s);
  else
    poiseHostRowPairs(m, n, pairs, false, j, k, last, s);
  memcpy(sum + j, s, (size_t)pairs * sizeof *s);
}

/* The same of one column. */
POISE_INLINE void poiseHostRowOne(const RowsArgs *m, int64_t n, int64_t j, int64_t k, int64_t last,
                                  double *sum)
{
  double s[4] = {0};
  for (int64_t q = 0; k + q < last; q++)
    s[q % 4] += (double)m->A.val[k + q] * (double)poiseHostBlockFactors(m, m->A.col[k + q], n)[j];
  sum[j] = (s[0] + s[2]) + (s[1] + s[3]);
}

/* The sums of n columns. */
static inline void poiseHostWideRow(const RowsArgs *m, int64_t n, int64_t k, int64_t last, double *sum)
{
  int64_t j = 0;
  for (; j + 2 * HOST_PAIRS <= n; j += 2 * HOST_PAIRS) poiseHostSumPairs(m, n, HOST_PAIRS, j, k, last, sum);
  if (j + 8 <= n) poiseHostSumPairs(m, n, 4, j, k, last, sum), j += 8;
  if (j + 4 <= n) poiseHostSumPairs(m, n, 2, j, k, last, sum), j += 4;
  if (j + 2 <= n) poiseHostSumPairs(m, n, 1, j, k, last, sum), j += 2;
  if (j < n) poiseHostRowOne(m, n, j, k, last, sum);
}

/* The same, of a long row in fragments, as in poiseHostLongRow. */
static inline void poiseHostWideAnyRow(const RowsArgs *m, int64_t n, int64_t k, int64_t last, double *sum)
{
  int64_t fragments = (last - k + HOST_FRAGMENT - 1) / HOST_FRAGMENT;
  double part[POISE_MAX_COLUMNS];
  if (last - k < HOST_LONG) {
    poiseHostWideRow(m, n, k, last, sum);
    return;
  }
  for (int64_t j = 0; j < n; j++) sum[j] = 0;
  for (int64_t q = 0; q < fragments; q++) {
    poiseHostWideRow(m, n, poiseRowFragmentBegin(1, k, last, q, fragments),
                     poiseRowFragmentBegin(1, k, last, q + 1, fragments), part);
    for (int64_t j = 0; j < n; j++) sum[j] += part[j];
  }
}

/* ---- rows of blocks: the sums of row r of b begin at sum + r * POISE_MAX_COLUMNS --------------- */

/* Row r of small blocks for `pairs` pairs of columns from j on. The terms of the columns of a block are kept
   apart, as in poiseAddBlock. */
POISE_INLINE void poiseHostSmallPairs(const RowsArgs *m, int64_t n, int b, int pairs, int r, int64_t j,
                                      int64_t k, int64_t last, double *sum)
{
  HostTwo s[POISE_SMALL_BLOCK][HOST_BLOCK_PAIRS] = {{{0}}};
  for (; k < last; k++) {
    const SCALAR *v = m->A.val + k * b * b + r, *x = poiseHostBlockFactors(m, m->A.col[k], b * n) + j;
    for (int c = 0; c < b; c++) poiseHostAddPairs(pairs, (double)v[c * b], x + c * n, s[c]);
  }
  for (int p = 0; p < pairs; p++) {
    HostTwo t = s[0][p];
    for (int c = 1; c < b; c++) t += s[c][p];
    memcpy(sum + r * POISE_MAX_COLUMNS + j + 2 * p, &t, sizeof t);
  }
}

/* The same of all rows of a block, for the pair of columns from j on: their sums are in registers at once,
   and X is read once. */
POISE_INLINE void poiseHostSmallBlocks(const RowsArgs *m, int64_t n, int b, int64_t j, int64_t k,
                                       int64_t last, double *sum)
{
  HostTwo s[POISE_SMALL_BLOCK][POISE_SMALL_BLOCK] = {{{0}}};
  for (; k < last; k++) {
    const SCALAR *v = m->A.val + k * b * b, *from = poiseHostBlockFactors(m, m->A.col[k], b * n) + j;
    for (int c = 0; c < b; c++) {
      HostTwoValues values;
      memcpy(&values, from + c * n, sizeof values);
      const HostTwo x = __builtin_convertvector(values, HostTwo);
      for (int r = 0; r < b; r++) {
        const double w = (double)v[c * b + r];
        s[r][c] += (HostTwo){w, w} * x;
      }
    }
  }
  for (int r = 0; r < b; r++) {
    HostTwo t = s[r][0];
    for (int c = 1; c < b; c++) t += s[r][c];
    memcpy(sum + r * POISE_MAX_COLUMNS + j, &t, sizeof t);
  }
}

/* Rows [r, r + rows) of larger blocks, whose terms are added one after the other. */
POISE_INLINE void poiseHostStripPairs(const RowsArgs *m, int64_t n, int rows, int pairs, int64_t r, int64_t j,
                                      int64_t k, int64_t last, double *sum)
{
  HostTwo s[POISE_FEW][HOST_BLOCK_PAIRS] = {{{0}}};
  int64_t b = m->A.b;
  for (; k < last; k++) {
    const SCALAR *v = m->A.val + k * b * b + r, *x = poiseHostBlockFactors(m, m->A.col[k], b * n) + j;
    for (int64_t c = 0; c < b; c++)
      for (int q = 0; q < rows; q++) poiseHostAddPairs(pairs, (double)v[c * b + q], x + c * n, s[q]);
  }
  for (int q = 0; q < rows; q++)
    for (int p = 0; p < pairs; p++)
      memcpy(sum + (r + q) * POISE_MAX_COLUMNS + j + 2 * p, &s[q][p], sizeof s[q][p]);
}

/* The rows of blocks for `pairs` pairs of columns. */
POISE_INLINE void poiseHostBlockPairs(const RowsArgs *m, int64_t n, int pairs, int64_t j, int64_t k,
                                      int64_t last, double *sum)
{
  int64_t r = 0, b = m->A.b;
  for (int p = 0; p < pairs && b == 2; p++, r = 2) poiseHostSmallBlocks(m, n, 2, j + 2 * p, k, last, sum);
  for (int p = 0; p < pairs && b == 3; p++, r = 3) poiseHostSmallBlocks(m, n, 3, j + 2 * p, k, last, sum);
  if (b == 4)
    for (; r < 4; r++) poiseHostSmallPairs(m, n, 4, pairs, (int)r, j, k, last, sum);
  for (; r + POISE_FEW <= b; r += POISE_FEW) poiseHostStripPairs(m, n, POISE_FEW, pairs, r, j, k, last, sum);
  for (; r < b; r++) poiseHostStripPairs(m, n, 1, pairs, r, j, k, last, sum);
}

/* The last of an odd number of columns. */
POISE_INLINE void poiseHostBlockOne(const RowsArgs *m, int64_t n, int64_t j, int64_t k, int64_t last,
                                    double *sum)
{
  int64_t b = m->A.b, apart = b <= POISE_SMALL_BLOCK ? b : 1; /* sums that a row is added of */
  double s[MAX_BLOCK_SIZE][POISE_SMALL_BLOCK] = {{0}};
  for (; k < last; k++) {
    const SCALAR *v = m->A.val + k * b * b, *x = poiseHostBlockFactors(m, m->A.col[k], b * n) + j;
    for (int64_t c = 0; c < b; c++)
      for (int64_t r = 0; r < b; r++) s[r][c % apart] += (double)v[c * b + r] * (double)x[c * n];
  }
  for (int64_t r = 0; r < b; r++) {
    double t = s[r][0];
    for (int64_t c = 1; c < apart; c++) t += s[r][c];
    sum[r * POISE_MAX_COLUMNS + j] = t;
  }
}

/* The sums of n columns. */
static inline void poiseHostWideBlocks(const RowsArgs *m, int64_t n, int64_t k, int64_t last, double *sum)
{
  int64_t j = 0;
  for (; j + 2 * HOST_BLOCK_PAIRS <= n; j += 2 * HOST_BLOCK_PAIRS)
    poiseHostBlockPairs(m, n, HOST_BLOCK_PAIRS, j, k, last, sum);
  if (j + 2 <= n) poiseHostBlockPairs(m, n, 1, j, k, last, sum), j += 2;
  if (j < n) poiseHostBlockOne(m, n, j, k, last, sum);
}

/* ---- what is stored --------------------------------------------------------------------------- */

/* A row of numbers of Y, of which these are the sums. */
POISE_INLINE void poiseHostStoreColumns(int64_t n, double alpha, const double *sum, double beta, SCALAR *y)
{
  if (beta == 0) {
    HOST_SIMD
    for (int64_t j = 0; j < n; j++) y[j] = (SCALAR)(alpha * sum[j]);
  } else {
    HOST_SIMD
    for (int64_t j = 0; j < n; j++) y[j] = (SCALAR)(alpha * sum[j] + beta * (double)y[j]);
  }
}

/* ---- Y = alpha A X + beta Y, rows [begin, end) of numbers or of blocks --------------------------- */

/* Of `pairs` pairs of columns, a constant where this is inlined. */
POISE_INLINE void poiseHostRowsOfPairs(int pairs, bool ghosts, const RowsArgs *args, double alpha,
                                       double beta, int64_t begin, int64_t end)
{
  const RowsArgs local = *args, *m = &local; /* a local copy, so that stores to y cannot change it */
  const int n = 2 * pairs;
  SCALAR *restrict y = m->y;
  int64_t k = NAME(poiseCsrOffset)(&m->A, begin);
  for (int64_t i = begin; i < end; i++) {
    int64_t last = NAME(poiseCsrOffset)(&m->A, i + 1);
    HostTwo s[HOST_PAIRS];
    if (last - k < HOST_LONG)
      poiseHostRowPairs(m, n, pairs, ghosts, 0, k, last, s);
    else
      poiseHostWideAnyRow(m, n, k, last, (double *)s);
    for (int p = 0; p < pairs; p++) {
      SCALAR *to = y + i * n + 2 * p;
      HostTwoValues old;
      HostTwo v = alpha * s[p];
      memcpy(&old, to, sizeof old);
      if (beta != 0) v += beta * __builtin_convertvector(old, HostTwo);
      old = __builtin_convertvector(v, HostTwoValues);
      memcpy(to, &old, sizeof old);
    }
    k = last;
  }
}

static inline void poiseHostWideRows(const RowsArgs *m, int64_t n, double alpha, double beta, int64_t begin,
                                     int64_t end)
{
#define OF(pairs)                                                     \
  case 2 * pairs:                                                     \
    if (m->ghost)                                                     \
      poiseHostRowsOfPairs(pairs, true, m, alpha, beta, begin, end);  \
    else                                                              \
      poiseHostRowsOfPairs(pairs, false, m, alpha, beta, begin, end); \
    return
  switch (n) {
    OF(1);
    OF(2);
    OF(4);
    OF(8);
  default:;
  }
#undef OF
  for (int64_t i = begin; i < end; i++) {
    double sum[POISE_MAX_COLUMNS];
    poiseHostWideAnyRow(m, n, NAME(poiseCsrOffset)(&m->A, i), NAME(poiseCsrOffset)(&m->A, i + 1), sum);
    poiseHostStoreColumns(n, alpha, sum, beta, m->y + i * n);
  }
}

static inline void poiseHostWideBlockRows(const RowsArgs *m, int64_t n, double alpha, double beta,
                                          int64_t begin, int64_t end)
{
  for (int64_t i = begin; i < end; i++) {
    double sum[MAX_BLOCK_SIZE * POISE_MAX_COLUMNS];
    poiseHostWideBlocks(m, n, NAME(poiseCsrOffset)(&m->A, i), NAME(poiseCsrOffset)(&m->A, i + 1), sum);
    for (int64_t r = 0; r < m->A.b; r++)
      poiseHostStoreColumns(n, alpha, sum + r * POISE_MAX_COLUMNS, beta, m->y + (i * m->A.b + r) * n);
  }
}

#endif

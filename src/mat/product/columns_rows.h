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

/* s[q][p] = the terms of entries k + 2 q, k + 2 q + 4, ... for pair p of columns from j on, `places` of q. */
POISE_INLINE void poiseHostPlaces(const RowsArgs *m, int64_t n, int places, int pairs, bool ghosts, int64_t j,
                                  int64_t k, int64_t last, HostTwo (*s)[HOST_PAIRS])
{
  const SCALAR *val = m->A.val, *x = m->x + j;
  const int32_t *col = m->A.col;
  HostTwo t[2][HOST_PAIRS] = {{{0}}};
  for (; k < last; k += 4)
    for (int q = 0; q < places; q++)
      if (k + 2 * q < last)
        poiseHostAddPairs(pairs, (double)val[k + 2 * q],
                          ghosts ? poiseHostBlockFactors(m, col[k + 2 * q], n) + j : x + col[k + 2 * q] * n,
                          t[q]);
  for (int q = 0; q < places; q++)
    for (int p = 0; p < pairs; p++) s[q][p] = t[q][p];
}

/* The sums of a row for `pairs` pairs of columns from j on. There are four by place in the row, as in
   poiseHostRowSum. As many as fill the registers go at once. */
POISE_INLINE void poiseHostRowPairs(const RowsArgs *m, int64_t n, int pairs, int64_t j, int64_t k,
                                    int64_t last, double *sum)
{
  HostTwo s[2][2][HOST_PAIRS]; /* of places 0 and 2; 1 and 3 */
  const int places = pairs < HOST_PAIRS ? 2 : 1;
  for (int64_t e = k; e < last; e += 8) poiseHostAhead(m, e, false);
  for (int q = 0; q < 2; q++)
    for (int r = 0; r < 2; r += places)
      if (m->ghost)
        poiseHostPlaces(m, n, places, pairs, true, j, k + q + 2 * r, last, s[q] + r);
      else
        poiseHostPlaces(m, n, places, pairs, false, j, k + q + 2 * r, last, s[q] + r);
  for (int p = 0; p < pairs; p++) {
    HostTwo t = (s[0][0][p] + s[0][1][p]) + (s[1][0][p] + s[1][1][p]);
    memcpy(sum + j + 2 * p, &t, sizeof t);
  }
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
  for (; j + 2 * HOST_PAIRS <= n; j += 2 * HOST_PAIRS) poiseHostRowPairs(m, n, HOST_PAIRS, j, k, last, sum);
  if (j + 8 <= n) poiseHostRowPairs(m, n, 4, j, k, last, sum), j += 8;
  if (j + 4 <= n) poiseHostRowPairs(m, n, 2, j, k, last, sum), j += 4;
  if (j + 2 <= n) poiseHostRowPairs(m, n, 1, j, k, last, sum), j += 2;
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
  if (b == 2)
    for (; r < 2; r++) poiseHostSmallPairs(m, n, 2, pairs, (int)r, j, k, last, sum);
  if (b == 3)
    for (; r < 3; r++) poiseHostSmallPairs(m, n, 3, pairs, (int)r, j, k, last, sum);
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

#endif

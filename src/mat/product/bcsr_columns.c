/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR of blocks with wide vectors on the host. */
#include "bcsr_host.h"
#include "csr_columns_host.h"

enum { HOST_PAIRS = 2 }; /* pairs of columns whose sums are in registers at once */

/* Row r of small blocks for `pairs` pairs of columns from j on. The terms of the columns of a block are kept
   apart, as in poiseAddBlock. */
POISE_INLINE void SumSmall(const HostWide *h, int b, int pairs, int r, int64_t j, int64_t k, int64_t last,
                           double *sum)
{
  HostTwo s[POISE_SMALL_BLOCK][HOST_PAIRS] = {{{0}}};
  for (; k < last; k++) {
    const double *v = h->m->A.val + k * b * b + r, *x = poiseHostRowOfX(h, k) + j;
    for (int c = 0; c < b; c++) poiseHostAddPairs(pairs, v[c * b], x + c * h->columns, s[c]);
  }
  for (int p = 0; p < pairs; p++) {
    HostTwo t = s[0][p];
    for (int c = 1; c < b; c++) t += s[c][p];
    memcpy(sum + r * POISE_MAX_COLUMNS + j + 2 * p, &t, sizeof t);
  }
}

/* Rows [r, r + rows) of larger blocks, whose terms are added one after the other. */
POISE_INLINE void SumStrip(const HostWide *h, int rows, int pairs, int64_t r, int64_t j, int64_t k,
                           int64_t last, double *sum)
{
  HostTwo s[POISE_FEW][HOST_PAIRS] = {{{0}}};
  int64_t b = h->b;
  for (; k < last; k++) {
    const double *v = h->m->A.val + k * b * b + r, *x = poiseHostRowOfX(h, k) + j;
    for (int64_t c = 0; c < b; c++)
      for (int q = 0; q < rows; q++) poiseHostAddPairs(pairs, v[c * b + q], x + c * h->columns, s[q]);
  }
  for (int q = 0; q < rows; q++)
    for (int p = 0; p < pairs; p++)
      memcpy(sum + (r + q) * POISE_MAX_COLUMNS + j + 2 * p, &s[q][p], sizeof s[q][p]);
}

/* The rows of blocks for `pairs` pairs of columns. */
POISE_INLINE void SumPairs(const HostWide *h, int pairs, int64_t j, int64_t k, int64_t last, double *sum)
{
  int64_t r = 0;
  if (h->b == 2)
    for (; r < 2; r++) SumSmall(h, 2, pairs, (int)r, j, k, last, sum);
  if (h->b == 3)
    for (; r < 3; r++) SumSmall(h, 3, pairs, (int)r, j, k, last, sum);
  if (h->b == 4)
    for (; r < 4; r++) SumSmall(h, 4, pairs, (int)r, j, k, last, sum);
  for (; r + POISE_FEW <= h->b; r += POISE_FEW) SumStrip(h, POISE_FEW, pairs, r, j, k, last, sum);
  for (; r < h->b; r++) SumStrip(h, 1, pairs, r, j, k, last, sum);
}

/* The last of an odd number of columns. */
static void SumOne(const HostWide *h, int64_t j, int64_t k, int64_t last, double *sum)
{
  int64_t b = h->b, apart = b <= POISE_SMALL_BLOCK ? b : 1; /* sums that a row is added of */
  double s[MAX_BLOCK_SIZE][POISE_SMALL_BLOCK] = {{0}};
  for (; k < last; k++) {
    const double *v = h->m->A.val + k * b * b, *x = poiseHostRowOfX(h, k) + j;
    for (int64_t c = 0; c < b; c++)
      for (int64_t r = 0; r < b; r++) s[r][c % apart] += v[c * b + r] * x[c * h->columns];
  }
  for (int64_t r = 0; r < b; r++) {
    double t = s[r][0];
    for (int64_t c = 1; c < apart; c++) t += s[r][c];
    sum[r * POISE_MAX_COLUMNS + j] = t;
  }
}

static void SumRow(const HostWide *h, int64_t k, int64_t last, double *sum)
{
  int64_t j = 0;
  for (; j + 2 * HOST_PAIRS <= h->columns; j += 2 * HOST_PAIRS) SumPairs(h, HOST_PAIRS, j, k, last, sum);
  if (j + 2 <= h->columns) SumPairs(h, 1, j, k, last, sum), j += 2;
  if (j < h->columns) SumOne(h, j, k, last, sum);
}

PoiseErr poiseHost_bcsr_mult_columns(Device *dev, const void *args)
{
  poiseHostMultColumns(dev, args, (HostWideSums){SumRow, SumRow});
  return POISE_OK;
}

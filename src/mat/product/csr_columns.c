/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR with wide vectors on the host. */
#include "csr_columns_host.h"

enum { HOST_PAIRS = 8 }; /* pairs of columns whose sums are in registers at once */

/* s[p] = the terms of every fourth entry from k on for pair p of columns from j on. */
POISE_INLINE void SumPlaces(const HostWide *h, int pairs, bool ghosts, int64_t j, int64_t k, int64_t last,
                            HostTwo *s)
{
  const double *val = h->m->A.val, *x = h->m->x + j;
  const int32_t *col = h->m->A.col;
  int64_t width = h->columns;
  HostTwo t[HOST_PAIRS] = {{0}};
  for (; k < last; k += 4)
    poiseHostAddPairs(pairs, val[k], ghosts ? poiseHostRowOfX(h, k) + j : x + col[k] * width, t);
  for (int p = 0; p < pairs; p++) s[p] = t[p];
}

/* The sums of a row for `pairs` pairs of columns from j on. There are four by place in the row, as in
   poiseHostRowSum; here one after the other, as those of several columns fill the registers. */
POISE_INLINE void SumPairs(const HostWide *h, int pairs, int64_t j, int64_t k, int64_t last, double *sum)
{
  HostTwo s[4][HOST_PAIRS];
  for (int64_t e = k; e < last; e += 8) poiseHostAhead(h->m, e, false);
  for (int q = 0; q < 4; q++)
    if (h->m->ghost)
      SumPlaces(h, pairs, true, j, k + q, last, s[q]);
    else
      SumPlaces(h, pairs, false, j, k + q, last, s[q]);
  for (int p = 0; p < pairs; p++) {
    HostTwo t = (s[0][p] + s[2][p]) + (s[1][p] + s[3][p]);
    memcpy(sum + j + 2 * p, &t, sizeof t);
  }
}

/* The same of one column. */
static void SumOne(const HostWide *h, int64_t j, int64_t k, int64_t last, double *sum)
{
  double s[4] = {0};
  for (int64_t q = 0; k + q < last; q++) s[q % 4] += h->m->A.val[k + q] * poiseHostRowOfX(h, k + q)[j];
  sum[j] = (s[0] + s[2]) + (s[1] + s[3]);
}

static void SumRow(const HostWide *h, int64_t k, int64_t last, double *sum)
{
  int64_t j = 0, n = h->columns;
  for (; j + 2 * HOST_PAIRS <= n; j += 2 * HOST_PAIRS) SumPairs(h, HOST_PAIRS, j, k, last, sum);
  if (j + 8 <= n) SumPairs(h, 4, j, k, last, sum), j += 8;
  if (j + 4 <= n) SumPairs(h, 2, j, k, last, sum), j += 4;
  if (j + 2 <= n) SumPairs(h, 1, j, k, last, sum), j += 2;
  if (j < n) SumOne(h, j, k, last, sum);
}

/* A long row in fragments, as in poiseHostLongRow. */
static void SumLongRow(const HostWide *h, int64_t k, int64_t last, double *sum)
{
  int64_t n = (last - k + HOST_FRAGMENT - 1) / HOST_FRAGMENT;
  double part[POISE_MAX_COLUMNS];
  for (int64_t j = 0; j < h->columns; j++) sum[j] = 0;
  for (int64_t q = 0; q < n; q++) {
    SumRow(h, poiseRowFragmentBegin(1, k, last, q, n), poiseRowFragmentBegin(1, k, last, q + 1, n), part);
    for (int64_t j = 0; j < h->columns; j++) sum[j] += part[j];
  }
}

static void SumAnyRow(const HostWide *h, int64_t k, int64_t last, double *sum)
{
  if (last - k < HOST_LONG)
    SumRow(h, k, last, sum);
  else
    SumLongRow(h, k, last, sum);
}

PoiseErr poiseHost_csr_mult_columns(Device *dev, const void *args)
{
  poiseHostMultColumns(dev, args, (HostWideSums){SumAnyRow, SumRow});
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR with wide vectors on the host. */
#include "csr_columns_host.h"

enum { HOST_PAIRS = 8 }; /* pairs of columns whose sums are in registers at once */

/* s[q][p] = the terms of entries k + 2 q, k + 2 q + 4, ... for pair p of columns from j on, `places` of q. */
POISE_INLINE void SumPlaces(const HostWide *h, int places, int pairs, bool ghosts, int64_t j, int64_t k,
                            int64_t last, HostTwo (*s)[HOST_PAIRS])
{
  const double *val = h->m->A.val, *x = h->m->x + j;
  const int32_t *col = h->m->A.col;
  int64_t width = h->columns;
  HostTwo t[2][HOST_PAIRS] = {{{0}}};
  for (; k < last; k += 4)
    for (int q = 0; q < places; q++)
      if (k + 2 * q < last)
        poiseHostAddPairs(pairs, val[k + 2 * q],
                          ghosts ? poiseHostRowOfX(h, k + 2 * q) + j : x + col[k + 2 * q] * width, t[q]);
  for (int q = 0; q < places; q++)
    for (int p = 0; p < pairs; p++) s[q][p] = t[q][p];
}

/* The sums of a row for `pairs` pairs of columns from j on. There are four by place in the row, as in
   poiseHostRowSum. As many as fill the registers go at once. */
POISE_INLINE void SumPairs(const HostWide *h, int pairs, int64_t j, int64_t k, int64_t last, double *sum)
{
  HostTwo s[2][2][HOST_PAIRS]; /* of places 0 and 2; 1 and 3 */
  const int places = pairs < HOST_PAIRS ? 2 : 1;
  for (int64_t e = k; e < last; e += 8) poiseHostAhead(h->m, e, false);
  for (int q = 0; q < 2; q++)
    for (int r = 0; r < 2; r += places)
      if (h->m->ghost)
        SumPlaces(h, places, pairs, true, j, k + q + 2 * r, last, s[q] + r);
      else
        SumPlaces(h, places, pairs, false, j, k + q + 2 * r, last, s[q] + r);
  for (int p = 0; p < pairs; p++) {
    HostTwo t = (s[0][0][p] + s[0][1][p]) + (s[1][0][p] + s[1][1][p]);
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

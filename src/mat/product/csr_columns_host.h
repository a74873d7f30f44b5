/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products with wide vectors on the host, by row blocks and fragments: what those of numbers (csr_columns.c)
  and of blocks (bcsr_columns.c) share.
*/
#ifndef POISE_CSR_COLUMNS_HOST_H
#define POISE_CSR_COLUMNS_HOST_H

#include "vec/columns_host.h"
#include "columns_rows.h"
#include "csr_columns_kernels.h"

typedef struct HostWide { /* a product as its threads have it */
  const ColumnsMultArgs *args;
  const CsrMultArgs *m;
  int64_t columns, b; /* b: rows of a block, 1 for numbers */
  double alpha, beta;
} HostWide;

POISE_INLINE void poiseHostStoreRow(const HostWide *h, int64_t row, const double *sum)
{
  poiseHostStoreColumns(h->columns, h->alpha, sum, h->beta, h->m->y + row * h->columns);
}

/* Ends rows [begin, end) of numbers, as poiseHostFinishRows. */
static inline void poiseHostFinishColumns(const HostWide *h, int64_t begin, int64_t end, int64_t at)
{
  const CsrMultArgs *m = h->m;
  for (int64_t i = begin; m->scale && i < end; i++) {
    double *restrict y = m->y + i * h->columns;
    HOST_SIMD
    for (int64_t j = 0; j < h->columns; j++) y[j] *= m->scale[i];
  }
  poiseHostFuseColumns(&m->fuse, m->y, begin, end, at);
}

/* Of numbers, or of blocks: rows of Y; and sums of entries [k, last) of a row, of n columns, where those of
   row r of b begin at sum + r * POISE_MAX_COLUMNS. */
typedef struct HostWideSums {
  void (*rows)(const CsrMultArgs *m, int64_t n, double alpha, double beta, int64_t begin, int64_t end);
  void (*fragment)(const CsrMultArgs *m, int64_t n, int64_t k, int64_t last, double *sum);
} HostWideSums;

/* The rows of block `number` of the launch. */
static inline void poiseHostWideBlock(const HostWide *h, HostWideSums sums, int64_t number)
{
  const CsrMultArgs *m = h->m;
  const CsriMultArgs *c = &h->args->c;
  int64_t begin = number * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
  if (c->row_block) begin = c->row_block[number].begin, end = begin + c->row_block[number].rows;
  sums.rows(m, h->columns, h->alpha, h->beta, begin, end);
  poiseHostFinishColumns(h, begin * h->b, end * h->b, number);
}

static inline void poiseHostWideFragment(const HostWide *h, HostWideSums sums, int64_t p)
{
  const CsriMultArgs *c = &h->args->c;
  double sum[MAX_BLOCK_SIZE * POISE_MAX_COLUMNS];
  sums.fragment(h->m, h->columns, c->part[p].first, c->part[p].first + c->part[p].nz, sum);
  for (int64_t r = 0; r < h->b; r++)
    memcpy(c->sum + (p * h->b + r) * h->columns, sum + r * POISE_MAX_COLUMNS,
           (size_t)h->columns * sizeof *sum);
}

/* Finishes split rows: adds the sums of their fragments in order. */
static inline void poiseHostJoinColumns(const HostWide *h)
{
  const CsriMultArgs *c = &h->args->c;
  int64_t n = h->columns;
  for (int64_t p = 0; p < c->nfragment;) {
    int64_t row = poiseCsriRow(c, &c->part[p]) * h->b, end = c->first[c->part[p].row_block + 1], first = p;
    for (int64_t r = 0; r < h->b; r++) {
      double sum[POISE_MAX_COLUMNS] = {0};
      for (p = first; p < end; p++)
        for (int64_t j = 0; j < n; j++) sum[j] += c->sum[(p * h->b + r) * n + j];
      poiseHostStoreRow(h, row + r, sum);
    }
    for (int f = 0; f < h->m->fuse.ndot; f++)
      for (p = first; p < end - 1; p++) /* 0 for all but the last fragment */
        for (int64_t j = 0; j < n; j++)
          h->m->fuse.partial[f][c->parts + p + j * h->m->fuse.systems.partials] = 0;
    p = end;
    poiseHostFinishColumns(h, row, row + h->b, c->parts + end - 1);
  }
}

static inline void poiseHostWidePiece(const HostWide *h, HostWideSums sums, int64_t k)
{
  int64_t fragments = h->args->c.nfragment;
  if (k < fragments)
    poiseHostWideFragment(h, sums, k);
  else
    poiseHostWideBlock(h, sums, poiseBlockOf(h->m, k - fragments));
}

static inline void poiseHostMultColumns(Device *dev, const ColumnsMultArgs *a, HostWideSums sums)
{
  const CsrMultArgs *m = &a->c.m;
  const HostWide all = {a, m, a->columns, m->A.b ? m->A.b : 1, poiseScalar(m->a), poiseScalar(m->b)},
                 *h = &all;
  int64_t n = a->c.nfragment + m->nblock;
  double bytes = 8 * (double)(h->b * h->b * m->A.nz + 2 * a->columns * h->b * m->A.m);
  (void)dev;
  if (m->skip && *m->skip != 0) return;
  HOST_BLOCKS_IF(dev, HOST_WORTH(dev, n, bytes), n, 1, k, poiseHostWidePiece(h, sums, k));
  poiseHostJoinColumns(h);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Row blocks and fragments of longer ones, as form csri cuts them. Forms seg and bcsr use them too, and so
  do products with the transpose, whose rows are A's columns.
*/
#ifndef POISE_CSRI_KERNELS_H
#define POISE_CSRI_KERNELS_H

#include "csr_kernels.h"

typedef struct RowFragment { /* entries [first, first + nz) of the row behind those of a row block */
  int64_t first;
  int32_t nz, row_block;
} RowFragment;

/* Cut rows into row blocks of about `chunk` rows and entries (csri: Flegar & Quintana-Orti 2017; merge-based
   cuts). Row block w begins with the first row i that has i + ptr[i] >= w chunk. row_block[nrow_block].begin
   is m. A row of `limit` entries or more (limit >= chunk) is the last of its row block. The row block leaves
   it out: the row is split into fragments of about as many entries, at most `fragment` and a unit.
   fragments[w] counts them; fragments[nrow_block] = 0.
   exact: row blocks of exactly `chunk` row ends and entries, which may end inside a row. No row is split. */
typedef struct CsriCutArgs {
  CsrView A;
  int64_t exact;
  int64_t chunk, limit, fragment, nrow_block;
  RowBlock *row_block;
  int64_t *fragments;
} CsriCutArgs;

/* The fragments of row block w are part[first[w]], ..., part[first[w + 1] - 1], and begin where their row
   does or at multiples of `unit`. */
typedef struct CsriFragmentsArgs {
  CsrView A;
  int64_t unit, nrow_block;
  const RowBlock *row_block;
  const int64_t *first;
  RowFragment *part;
} CsriFragmentsArgs;

/* y = a A [x | ghost] + b y for the rows of row blocks m.order[0 .. m.nblock) (NULL: from m.first on), or
   where m.rows is less than POISE_BLOCK of blocks of so many rows that are not cut, and of fragments [0,
   nfragment); and their dots: partial w of each row block or block, and parts + p of each fragment, 0 but of
   a row's last. limit: entries from which rows are cut; uncut: nonzeros of the others. sum: of each fragment;
   arrived: 0 for each row block, before and after, and so next. hub: columns of 2^bits slots, -1: none; NULL:
   no hubs. exact: y = A [x | ghost] alone, for row blocks so cut. Each adds to its first row, and to the one
   that follows those that end in it, atomically; fill: y is set to 0 before. */
#define CSRI_MULT(suffix)                                                              \
  typedef struct CsriMultArgs##suffix {                                                \
    CsrMultArgs##suffix m;                                                             \
    int exact, fill; /* without padding, which would look like pointers to the mock */ \
    int64_t limit, parts, nfragment, uncut;                                            \
    const RowBlock *row_block;                                                         \
    const RowFragment *part;                                                           \
    const int64_t *first;                                                              \
    double *sum;                                                                       \
    int32_t *arrived, *next;                                                           \
    const int32_t *hub;                                                                \
    int64_t bits;                                                                      \
  } CsriMultArgs##suffix;
CSRI_MULT()
CSRI_MULT(_f32)
#undef CSRI_MULT

POISE_INLINE bool poiseCsriLong(const CsrView *A, int64_t row, int64_t limit)
{
  return poiseCsrOffset(A, row + 1) - poiseCsrOffset(A, row) >= limit;
}

POISE_INLINE int64_t poiseCsriRow(const CsriMultArgs *a, const RowFragment *p)
{
  return a->row_block[p->row_block].begin + a->row_block[p->row_block].rows;
}

/* The first row of row block w. */
POISE_INLINE int64_t poiseCsriBegin(const CsriCutArgs *a, int64_t w)
{
  int64_t low = 0, high = a->A.m;
  if (w >= a->nrow_block) return a->A.m;
  while (low < high) {
    int64_t i = low + (high - low) / 2;
    if (i + poiseCsrOffset(&a->A, i) >= w * a->chunk)
      high = i;
    else
      low = i + 1;
  }
  return low;
}

/* The row that is in progress after w chunk rows and entries; *k: the next entry. */
POISE_INLINE int64_t poiseCsriPlace(const CsriCutArgs *a, int64_t w, int64_t *k)
{
  int64_t d = w < a->nrow_block ? w * a->chunk : a->A.m + a->A.nz, i = poiseCsriBegin(a, w);
  if (i + poiseCsrOffset(&a->A, i) > d) i--;
  *k = d - i;
  return i;
}

POISE_INLINE void poiseCsriCutExactly(const CsriCutArgs *a, int64_t w)
{
  int64_t first, last, begin = poiseCsriPlace(a, w, &first),
                       end = poiseCsriPlace(a, w < a->nrow_block ? w + 1 : w, &last);
  a->row_block[w].first = first, a->row_block[w].begin = (int32_t)begin;
  a->row_block[w].rows = (uint16_t)(end - begin), a->row_block[w].nz = (uint16_t)(last - first);
  a->fragments[w] = 0;
}

/* Rows [begin, end) as a row block, but for the last if it has `limit` entries or more: how many fragments
   that is left to. */
POISE_INLINE int64_t poiseRowBlockCut(const CsrView *A, int64_t begin, int64_t end, int64_t limit,
                                      int64_t fragment, RowBlock *w)
{
  int64_t first = poiseCsrOffset(A, begin), last = poiseCsrOffset(A, end), fragments = 0;
  if (end > begin && poiseCsriLong(A, end - 1, limit)) {
    int64_t from = poiseCsrOffset(A, --end);
    fragments = (last - from + fragment - 1) / fragment, last = from;
  }
  w->first = first, w->begin = (int32_t)begin;
  w->rows = (uint16_t)(end - begin), w->nz = (uint16_t)(last - first);
  return fragments;
}

POISE_INLINE void poiseCsriCut(const CsriCutArgs *a, int64_t w)
{
  if (a->exact) {
    poiseCsriCutExactly(a, w);
    return;
  }
  int64_t begin = poiseCsriBegin(a, w), end = w < a->nrow_block ? poiseCsriBegin(a, w + 1) : begin;
  a->fragments[w] = poiseRowBlockCut(&a->A, begin, end, a->limit, a->fragment, &a->row_block[w]);
}

/* Where fragment q of n begins, of a row with the entries [from, end): they have equal shares of its
   units. */
POISE_INLINE int64_t poiseRowFragmentBegin(int64_t unit, int64_t from, int64_t end, int64_t q, int64_t n)
{
  int64_t first = from / unit, units = (end + unit - 1) / unit - first,
          k = unit * (first + units / n * q + units % n * q / n);
  return k < from ? from : k > end ? end : k;
}

/* Fragment p, which is one of row block w. */
POISE_INLINE void poiseCsriFragment(const CsriFragmentsArgs *a, int64_t w, int64_t p)
{
  const RowBlock *z = &a->row_block[w];
  int64_t from = z->first + z->nz, end = poiseCsrOffset(&a->A, z->begin + z->rows + 1), q = p - a->first[w],
          n = a->first[w + 1] - a->first[w], k = poiseRowFragmentBegin(a->unit, from, end, q, n);
  a->part[p].first = k, a->part[p].row_block = (int32_t)w;
  a->part[p].nz = (int32_t)(poiseRowFragmentBegin(a->unit, from, end, q + 1, n) - k);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Windows of rows and pieces of longer ones, as type csri cuts them. Types seg and bcsr use them too, and so
  do products with the transpose, whose rows are A's columns.
*/
#ifndef POISE_CSRI_KERNELS_H
#define POISE_CSRI_KERNELS_H

#include "csr_kernels.h"

typedef struct CsrWindow { /* rows [begin, begin + rows), which have the entries [first, first + nz) */
  int64_t first;
  int32_t begin;
  uint16_t rows, nz;
} CsrWindow;

typedef struct CsriPiece { /* entries [first, first + nz) of the row behind those of a window */
  int64_t first;
  int32_t nz, window;
} CsriPiece;

/* Windows of rows with about `chunk` rows and entries, after csri (Flegar & Quintana-Orti 2017) and merge-based cuts: window w begins with
   the first row i that has i + ptr[i] >= w chunk; window[nwindow].begin = m. So a row of `limit` entries or more, which is no less than
   chunk, would be the last of its window, which leaves it out, to pieces of about as many entries, `piece` at most (and a unit);
   pieces[w]: how many (pieces[nwindow] = 0).
   exact: windows of exactly `chunk` rows that end and entries, wherever in a row that is; there are no pieces. */
typedef struct CsriCutArgs {
  CsrView A;
  int64_t exact;
  int64_t chunk, limit, piece, nwindow;
  CsrWindow *window;
  int64_t *pieces;
} CsriCutArgs;

/* The pieces of window w are part[first[w]], ..., part[first[w + 1] - 1], and begin where their row does or at multiples of `unit`. */
typedef struct CsriOwnArgs {
  CsrView A;
  int64_t unit, nwindow;
  const CsrWindow *window;
  const int64_t *first;
  CsriPiece *part;
} CsriOwnArgs;

/* y = a A [x | ghost] + b y for the rows of windows m.order[0 .. m.nblock) (NULL: 0, 1, ...), or where m.rows is less than POISE_BLOCK of
   blocks of so many rows that are not cut, and of pieces [0, npiece); and their dots: partial w of each window or block, and parts + p of
   each piece, 0 but of a row's last. limit: entries from which rows are cut; uncut: nonzeros of the others. sum: of each piece; arrived:
   0 for each window, before and after, and so next. hub: columns of 2^bits slots, -1: none; NULL: no hubs.
   exact: y = A [x | ghost] alone, for windows so cut. Each adds to its first row, and to the one that follows those that end in it,
   atomically; fill: y is set to 0 before. */
typedef struct CsriMultArgs {
  CsrMultArgs m;
  int exact, fill; /* without padding, which would look like pointers to the mock */
  int64_t limit, parts, npiece, uncut;
  const CsrWindow *window;
  const CsriPiece *part;
  const int64_t *first;
  double *sum;
  int32_t *arrived, *next;
  const int32_t *hub;
  int64_t bits;
} CsriMultArgs;

POISE_INLINE bool poiseCsriLong(const CsrView *A, int64_t row, int64_t limit)
{
  return poiseCsrOffset(A, row + 1) - poiseCsrOffset(A, row) >= limit;
}

POISE_INLINE int64_t poiseCsriRow(const CsriMultArgs *a, const CsriPiece *p)
{
  return a->window[p->window].begin + a->window[p->window].rows;
}

/* The first row of window w. */
POISE_INLINE int64_t poiseCsriBegin(const CsriCutArgs *a, int64_t w)
{
  int64_t low = 0, high = a->A.m;
  if (w >= a->nwindow) return a->A.m;
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
  int64_t d = w < a->nwindow ? w * a->chunk : a->A.m + a->A.nz, i = poiseCsriBegin(a, w);
  if (i + poiseCsrOffset(&a->A, i) > d) i--;
  *k = d - i;
  return i;
}

POISE_INLINE void poiseCsriCutExactly(const CsriCutArgs *a, int64_t w)
{
  int64_t first, last, begin = poiseCsriPlace(a, w, &first), end = poiseCsriPlace(a, w < a->nwindow ? w + 1 : w, &last);
  a->window[w].first = first, a->window[w].begin = (int32_t)begin;
  a->window[w].rows = (uint16_t)(end - begin), a->window[w].nz = (uint16_t)(last - first);
  a->pieces[w] = 0;
}

/* Rows [begin, end) as a window, but for the last if it has `limit` entries or more: how many pieces that is left to. */
POISE_INLINE int64_t poiseWindowCut(const CsrView *A, int64_t begin, int64_t end, int64_t limit, int64_t piece,
                                    CsrWindow *w)
{
  int64_t first = poiseCsrOffset(A, begin), last = poiseCsrOffset(A, end), pieces = 0;
  if (end > begin && poiseCsriLong(A, end - 1, limit)) {
    int64_t from = poiseCsrOffset(A, --end);
    pieces = (last - from + piece - 1) / piece, last = from;
  }
  w->first = first, w->begin = (int32_t)begin;
  w->rows = (uint16_t)(end - begin), w->nz = (uint16_t)(last - first);
  return pieces;
}

POISE_INLINE void poiseCsriCut(const CsriCutArgs *a, int64_t w)
{
  if (a->exact) {
    poiseCsriCutExactly(a, w);
    return;
  }
  int64_t begin = poiseCsriBegin(a, w), end = w < a->nwindow ? poiseCsriBegin(a, w + 1) : begin;
  a->pieces[w] = poiseWindowCut(&a->A, begin, end, a->limit, a->piece, &a->window[w]);
}

/* Where piece q of n begins, of a row with the entries [from, end): they have equal shares of its units. */
POISE_INLINE int64_t poiseCsriPieceBegin(int64_t unit, int64_t from, int64_t end, int64_t q, int64_t n)
{
  int64_t first = from / unit, units = (end + unit - 1) / unit - first,
          k = unit * (first + units / n * q + units % n * q / n);
  return k < from ? from : k > end ? end : k;
}

/* Piece p, which is one of window w. */
POISE_INLINE void poiseCsriOwn(const CsriOwnArgs *a, int64_t w, int64_t p)
{
  const CsrWindow *z = &a->window[w];
  int64_t from = z->first + z->nz, end = poiseCsrOffset(&a->A, z->begin + z->rows + 1), q = p - a->first[w],
          n = a->first[w + 1] - a->first[w], k = poiseCsriPieceBegin(a->unit, from, end, q, n);
  a->part[p].first = k, a->part[p].window = (int32_t)w;
  a->part[p].nz = (int32_t)(poiseCsriPieceBegin(a->unit, from, end, q + 1, n) - k);
}

#endif

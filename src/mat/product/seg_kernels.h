/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Segments, after segSpMV (He, Tan, Tlelo-Cuautle, Wang, Tang 2015): a row has one for each `length` of its
  entries (seg.c).
*/
#ifndef POISE_SEG_KERNELS_H
#define POISE_SEG_KERNELS_H

#include "csri_kernels.h"

enum {
  SEG_MOST = 256, /* entries of a segment, a power of two */
  SEG_ROWS = 64   /* rows that are counted together */
};

/* log2 of the threads that sum a segment: one where it has 8 entries or fewer (the paper's first form), else
   more (its reduction). */
POISE_INLINE int poiseSegLanes(int64_t length)
{
  int k = 0;
  while (length > 8 << k) k++;
  return k;
}

/* count[k]: segments of rows SEG_ROWS k, ..., to be scanned. With block = 0 they are the segments that a
   row's entries fill. Else they are counted for row blocks. An empty row then has one, as its y is set too. A
   row of `limit` entries or more is split, and counts as `block` segments; so the next row begins another row
   block. Row block w begins with the first row that has w block segments or more before it. */
typedef struct SegCutArgs {
  CsrView A;
  int64_t length, block, limit, fragment, nrow_block;
  int64_t *count, *fragments;
  RowBlock *row_block;
} SegCutArgs;

POISE_INLINE int64_t poiseSegments(const SegCutArgs *a, int64_t row)
{
  int64_t n = poiseCsrOffset(&a->A, row + 1) - poiseCsrOffset(&a->A, row),
          segments = (n + a->length - 1) / a->length;
  if (!a->block) return segments;
  return n >= a->limit ? a->block : segments ? segments : 1;
}

POISE_INLINE void poiseSegCount(const SegCutArgs *a, int64_t k)
{
  a->count[k] = 0;
  for (int64_t i = k * SEG_ROWS; i < (k + 1) * SEG_ROWS && i < a->A.m; i++)
    a->count[k] += poiseSegments(a, i);
}

/* The first row of row block w. */
POISE_INLINE int64_t poiseSegBegin(const SegCutArgs *a, int64_t w)
{
  int64_t low = 0, high = (a->A.m + SEG_ROWS - 1) / SEG_ROWS, before;
  if (w >= a->nrow_block) return a->A.m;
  while (high - low > 1) { /* count[low] <= w block < count[high] */
    int64_t k = low + (high - low) / 2;
    if (a->count[k] <= w * a->block)
      low = k;
    else
      high = k;
  }
  before = a->count[low], low *= SEG_ROWS;
  for (; before < w * a->block && low < a->A.m; low++) before += poiseSegments(a, low);
  return low;
}

POISE_INLINE void poiseSegCut(const SegCutArgs *a, int64_t w)
{
  int64_t begin = poiseSegBegin(a, w), end = w < a->nrow_block ? poiseSegBegin(a, w + 1) : begin;
  a->fragments[w] = poiseRowBlockCut(&a->A, begin, end, a->limit, a->fragment, &a->row_block[w]);
}

/* The paper's own form, in which every segment is filled up: offsets P.ptr of rows cut.A.ptr, from counts of
   segments with block = 0; and their columns and values, those that fill up being 0 times the row's last
   column. */
typedef struct SegPadArgs {
  SegCutArgs cut;
  CsrView P;
  void *ptr; /* P's arrays, to be written; nsegment of them */
  int32_t *col;
  double *val;
  int64_t nsegment;
} SegPadArgs;

/* The offsets of rows SEG_ROWS k, ..., and behind the last. */
POISE_INLINE void poiseSegOffsets(const SegPadArgs *a, int64_t k)
{
  int64_t before = a->cut.count[k];
  for (int64_t i = k * SEG_ROWS; i < (k + 1) * SEG_ROWS && i <= a->cut.A.m; i++) {
    if (a->P.ptr32)
      ((int32_t *)a->ptr)[i] = (int32_t)(before * a->cut.length);
    else
      ((int64_t *)a->ptr)[i] = before * a->cut.length;
    if (i < a->cut.A.m) before += poiseSegments(&a->cut, i);
  }
}

POISE_INLINE void poiseSegFill(const SegPadArgs *a, int64_t segment)
{
  int64_t to = segment * a->cut.length, low = 0, high = a->cut.A.m;
  while (high - low > 1) { /* the row of entry `to` is in [low, high) */
    int64_t i = low + (high - low) / 2;
    if (poiseCsrOffset(&a->P, i) <= to)
      low = i;
    else
      high = i;
  }
  int64_t from = poiseCsrOffset(&a->cut.A, low) + to - poiseCsrOffset(&a->P, low),
          end = poiseCsrOffset(&a->cut.A, low + 1);
  for (int64_t k = 0; k < a->cut.length; k++, from++) {
    a->col[to + k] = a->cut.A.col[from < end ? from : end - 1];
    a->val[to + k] = from < end ? a->cut.A.val[from] : 0;
  }
}

/* As csri's, of row blocks that were cut so; segments: as row blocks count them. */
typedef struct SegMultArgs {
  CsriMultArgs c;
  int64_t length, segments;
} SegMultArgs;

#endif

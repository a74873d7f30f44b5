/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that grow entry by entry (rows.c). */
#ifndef POISE_MAT_ROWS_H
#define POISE_MAT_ROWS_H

#include "vec/vec.h"
#include "poise/mat.h"

typedef struct Term { /* an entry of a row */
  PoiseInt col;
  union {
    double value;
    int64_t from; /* where its value is to come from */
  };
} Term;

enum { TERM_LEVELS = 96 };

typedef struct TermRows {
  struct TermRow *row; /* every local row; NULL: nothing was added */
  struct TermChunk *chunks;
  double *fresh, *spare[TERM_LEVELS]; /* the unused part of the latest chunk; unused blocks by length */
  int64_t left, held;                 /* doubles left in the latest chunk; doubles held by all */
  bool wide;                          /* columns are PoiseInt, else int32_t */
} TermRows;

/* Column k of an array of 4- or 8-byte columns. */
POISE_INLINE PoiseInt poiseNarrow(const void *col, int64_t k)
{
  return ((const int32_t *)col)[k];
}

POISE_INLINE PoiseInt poiseWide(const void *col, int64_t k)
{
  return ((const PoiseInt *)col)[k];
}

POISE_INLINE PoiseInt poiseColumn(bool wide, const void *col, int64_t k)
{
  return wide ? poiseWide(col, k) : poiseNarrow(col, k);
}

typedef struct AddedRow {
  int64_t n;
  const void *col;
  const double *val;
} AddedRow;

/* The first place in [k, n) of a row whose column is not below col; columns ascend. The search starts at k
   and is fastest near it, as the columns of an element's block come in runs. `column` is a constant where
   this is inlined. */
POISE_INLINE int64_t poiseSeekColumn(PoiseInt (*column)(const void *row, int64_t k), const void *row,
                                     int64_t k, int64_t n, PoiseInt col)
{
  enum { NEAR = 16 };
  int64_t near = n - k < NEAR ? n : k + NEAR, step = NEAR;
  for (; k < near; k++)
    if (column(row, k) >= col) return k;
  if (k == n) return n;
  for (; n - k >= step && column(row, k + step - 1) < col; step *= 2) k += step;
  for (; step > 0; step /= 2)
    if (n - k >= step && column(row, k + step - 1) < col) k += step;
  return k;
}

enum { COLUMN_BATCH = 64 };

/* Of a block's columns: ascending, equal ones in their order, and their places in the block's rows. */
typedef struct ColumnBatch {
  int n;
  PoiseInt col[COLUMN_BATCH];
  PoiseInt place[COLUMN_BATCH];
} ColumnBatch;

/* Entries (i, p->col[j]) = v[p->place[j]] of local row i. Entries of equal columns are added; with mode
   SETTING the latest stays. */
PoiseErr poiseRowsAdd(PoiseMat A, int mode, int64_t i, const ColumnBatch *p, const double *v);
PoiseErr poiseRowsSort(PoiseMat A, int mode);
void poiseRowsFetch(PoiseMat A, int64_t i);          /* prefetch row i; entries have been added before */
AddedRow poiseRowsGet(const TermRows *r, int64_t i); /* when sorted: columns ascend */
void poiseRowsDestroy(PoiseContext ctx, TermRows *r);
/* Sort by columns; equal ones keep their order. scratch: room for n terms. */
void poiseTermsSort(Term *term, int64_t n, Term *scratch);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that grow entry by entry (rows.c). */
#ifndef POISE_MAT_ROWS_H
#define POISE_MAT_ROWS_H

#include "../vec/vec.h"
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
  struct TermRow *row; /* of every local row; NULL: nothing was added */
  struct TermChunk *chunks;
  double *fresh, *spare[TERM_LEVELS]; /* the rest of the latest chunk; unused blocks by length */
  int64_t left, held;                 /* of the latest chunk, and of all; in doubles */
  bool wide;                          /* columns are PoiseInt, else int32_t */
} TermRows;

/* Column k of an array of either width. */
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

/* The first place in [k, n) of a row, whose columns ascend, with a column that is not below col. It is found soonest near k: those
   of a block of an element come in runs. `column` is a constant where this is inlined. */
POISE_INLINE int64_t poiseSeekColumn(PoiseInt (*column)(const void *row, int64_t k), const void *row, int64_t k, int64_t n,
                                     PoiseInt col)
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

enum { PIECE = 64 };

typedef struct
    Piece { /* of a block's columns: ascending, equal ones in their order, and their places in the block's rows */
  int n;
  PoiseInt col[PIECE];
  PoiseInt place[PIECE];
} Piece;

/* Entries (i, p->col[j]) = v[p->place[j]] of local row i; those of equal columns are added, or the latest stays (mode:
   SETTING). */
PoiseErr poiseRowsAdd(PoiseMat A, int mode, int64_t i, const Piece *p, const double *v);
PoiseErr poiseRowsSort(PoiseMat A, int mode);
void poiseRowsFetch(PoiseMat A, int64_t i);          /* row i will be needed soon; something was added before */
AddedRow poiseRowsGet(const TermRows *r, int64_t i); /* when sorted: columns ascend */
void poiseRowsDestroy(PoiseContext ctx, TermRows *r);
/* By columns, equal ones in their order. */
PoiseErr poiseTermsSort(PoiseContext ctx, Term *term, int64_t n);

#endif

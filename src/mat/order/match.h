/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching of rows and columns, so that the product of the matched entries is as large as can be, and
   scalings that go with it. */
#ifndef POISE_MATCH_H
#define POISE_MATCH_H

#include "mat/object/mat.h"

typedef struct
    Sizes { /* of the entries of a square matrix that are not 0, row by row; columns in any order */
  int64_t n, *start;
  int32_t *col;
  double *size; /* log2 |a_ij|, finite */
} Sizes;

typedef struct Matching {
  int64_t n, unmatched; /* rows; those without a column */
  int64_t walked;       /* entries that were looked at to find columns */
  int32_t *column;      /* of each row; -1: none */
  /* log2 of scalings: |a_ij| 2^(row_i + col_j) is 1 where i has column j, and else at most 1, to rounding.
     Without meaning if a row is unmatched. */
  double *row, *col;
} Matching;

void poiseSizesDestroy(PoiseContext ctx, Sizes *s);
void poiseMatchingDestroy(PoiseContext ctx, Matching *m);

/* match.c: s loses its sizes' meaning. It is the same for any number of threads. Local; m must be destroyed,
   after errors too. */
PoiseErr poiseMatch(PoiseContext ctx, Sizes *s, Matching *m);

/* match_rows.c: number[j] = the new number of own column j: the row that it is matched with; power[j] = log2
   of what it is multiplied by. Rows are a rank's own where that does for all. POISE_ERR_NUMERIC if A
   is structurally singular, or has an entry that is not finite: the message names rows. A is square.
   Collective; agrees. */
PoiseErr poiseMatMatch(PoiseMat A, PoiseInt *number, double *power);
/* POISE_ERR_NUMERIC if A is structurally singular: no choice of one entry that is not 0 in each row has them
   in different columns. The message names rows. Collective; agrees. */
PoiseErr poiseMatCheckStructure(PoiseMat A);

#endif

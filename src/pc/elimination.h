/* SPDX-License-Identifier: BSD-3-Clause */
/* What elimination fills: the size of sparse factors, before they are made. */
#ifndef POISE_ELIMINATION_H
#define POISE_ELIMINATION_H

#include "sys/sys.h"

typedef struct Pattern { /* of a matrix, n x n, by columns, each row at most once in a column */
  int64_t n;
  const int *ptr, *row;
} Pattern;

typedef struct Foreseen { /* of L and U, with one diagonal */
  double entries, flops;
} Foreseen;

/* Factors of a matrix whose column j is the to[j]-th to be eliminated. exchanged: rows may be exchanged, in
   any way; these are then bounds. Otherwise all pivots are from the diagonal, where it is not stored too;
   the factors have so many entries, unless numbers cancel or the pattern is not symmetric. Local. It takes
   4 bytes an entry, and 60 a row. */
PoiseErr poiseForesee(PoiseContext ctx, const Pattern *A, const int *to, bool exchanged, Foreseen *f);

#endif

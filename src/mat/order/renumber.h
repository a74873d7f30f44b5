/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers that a matrix' rows and columns get when it is rearranged (renumber.c). */
#ifndef POISE_RENUMBER_H
#define POISE_RENUMBER_H

#include "mat/object/mat.h"

typedef struct NewNumbers {
  PoiseInt m;          /* of the new rows are this rank's */
  bool apart;          /* columns are matched: they have other numbers than rows, and scales */
  PoiseInt *row, *col; /* new numbers of this rank's rows, and of its columns */
  double *scale;       /* powers of 2, by which its columns are multiplied */
} NewNumbers;

/* On the ranks that A asks for, in this order. Collective; agrees. n must be destroyed, after errors too. */
PoiseErr poiseNumber(PoiseMat A, PoiseOrder order, NewNumbers *n);
void poiseNumbersDestroy(PoiseContext ctx, NewNumbers *n);

#endif

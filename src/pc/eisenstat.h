/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator between the two sweeps of symmetric relaxation, for less than A takes (eisenstat.c). */
#ifndef POISE_EISENSTAT_H
#define POISE_EISENSTAT_H

#include "blocks.h"
#include "colour_copy.h"

typedef struct Eisenstat {
  double omega, made; /* made: that of `between` */
  ColourCopy copy;    /* L and U, with `left` on one side and `right` on the other */
  Blocks inverse;     /* of D in set-up, then of `right` */
  Buffer left, right; /* left D right = I */
  Buffer others;
  bool definite;    /* D is symmetric and positive definite */
  Buffer t, w;      /* at places; w for residuals between the sweeps */
  PoiseMat between; /* (I + L)^-1 A (I + U)^-1 of vectors at places; NULL: of several ranks */
} Eisenstat;

/* Make, or keep, the matrix `between` of e, for so many numbers at places. Local. */
PoiseErr poiseEisenstatOperator(PoisePC pc, Eisenstat *e);

#endif

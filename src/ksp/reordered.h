/* SPDX-License-Identifier: BSD-3-Clause */
/* A solve in another layout or numbering than the application's (reordered.c). */
#ifndef POISE_KSP_REORDERED_H
#define POISE_KSP_REORDERED_H

#include "mat/order/arrange.h"
#include "ksp.h"

typedef struct Moved { /* a rearranged copy, and the version of the original that it was made from */
  PoiseMat of, mat;    /* of: the original, not referenced; NULL: the copy must be made anew */
  Version seen;
  int block_size;
} Moved;

enum { MOVED_CURRENT, MOVED_VALUES, MOVED_PATTERN }; /* what of a copy is out of date; the last: all */

struct Arranged { /* a solve in another layout or numbering than the application's */
  PoisePartition partition;
  PoiseOrder order;
  int64_t bounds_set; /* of A->asked, then */
  Layout *rows;       /* rows of the application; NULL: nothing is arranged yet */
  Permutation moves;
  bool outlived; /* `moves` belong to an earlier A, which a kept preconditioner uses */
  Moved A, P;    /* the solver's operator, and the matrix of the preconditioner; P is empty if they are one */
  PoiseVec b, x;
  MatShape before, after; /* of A */
  MatchShape matched;     /* by an order that does */
  double seconds;         /* that the latest numbering and copy of a pattern took */
};

bool poiseKSPReorders(PoiseKSP ksp); /* its matrices are rearranged, or were and must no longer be */
/* Update the rearranged matrices from the application's. poiseKSPRun then takes vectors of ksp->A's
   layout. Collective; agrees. */
PoiseErr poiseKSPReorder(PoiseKSP ksp);
/* poiseKSPRun with the application's vectors */
PoiseErr poiseKSPRunReordered(PoiseKSP ksp, PoiseVec b, PoiseVec x);
PoiseErr poiseKSPViewReordered(PoiseKSP ksp);
/* Called before and after the application replaces these of its matrices. The latter is collective, and
   agrees. */
void poiseKSPLetGo(PoiseKSP ksp, bool other_A, bool other_P);
PoiseErr poiseKSPReplaced(PoiseKSP ksp, bool other_A, bool other_P);
/* The preconditioner must then be built anew, if it had other numbers. */
void poiseKSPDropReordered(PoiseKSP ksp);
int64_t poiseMovedStale(const Moved *m, PoiseMat A); /* MOVED_...: of a copy of A on this rank */
extern const PCOwner poiseKSPOwner;                  /* of its preconditioner */

#endif

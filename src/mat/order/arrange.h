/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices in another layout and numbering (arrange.c). */
#ifndef POISE_MAT_ARRANGE_H
#define POISE_MAT_ARRANGE_H

#include "mat/object/mat.h"
#include "renumber.h"

typedef struct MatShape { /* over all ranks */
  /* most: nonzeros of the rank with the most; bandwidth: the largest of the ranks' blocks of owned columns */
  double nonzeros, most, ghosts, bandwidth;
} MatShape;

typedef struct MatchShape { /* over all ranks */
  double exchanged, least,
      most; /* unknowns that have left their rows; exponents of the columns' scales, 0 among them */
} MatchShape;

/* A solver's order is that which A asks for, unless it has its own (ksp/reordered.c). */
bool poiseMatReorders(PoiseMat A, PoiseOrder order); /* not as it is */
PoisePartition poiseMatPartitionOf(PoiseMat A);      /* the one that was asked for, or that of pcsr */
bool poiseMatMovesRows(PoiseMat A);                  /* to other ranks */
bool poiseOrderMatches(PoiseOrder order);            /* exchanges and scales columns, by their values */
/* the options that say so (mat_options.c) */
const char *poiseMatReorderWords(PoiseMat A, PoiseOrder order, char *text, size_t size);
/* -mat_order with this prefix, if it is given (mat_options.c). Local. */
PoiseErr poiseMatReadOrder(PoiseContext ctx, const char *prefix, PoiseOrder *order);
/* Can A be arranged as that matrix asks, in this order? */
PoiseErr poiseMatCheckReorder(PoiseMat A, PoiseMat asked, PoiseOrder order);
/* p stays empty if A is arranged so already. Collective; agrees. */
PoiseErr poisePermutationCreate(PoiseMat A, PoiseOrder order, Permutation *p);
/* Of A with these numbers. Collective; agrees. */
PoiseErr poisePermutationOf(PoiseMat A, const NewNumbers *n, Permutation *p);
void poisePermutationDestroy(Permutation *p);
PoiseErr poisePermutationShare(const Permutation *p, Permutation *q); /* q = p, which may lack parts */
/* B = A rearranged; later calls bring changes of A's values, type and null space. Collective; agrees. */
PoiseErr poiseMatReordered(PoiseMat A, const Permutation *p, PoiseMat *B);
PoiseErr poiseMatMove(PoiseMat A, const Permutation *p,
                      PoiseMat *B); /* the same, without an event of the log */
PoiseErr poiseMatMoveValues(PoiseMat A, const Permutation *p, PoiseMat B);
/* changed: bits CHANGED_..., of which those of spaces and products are brought. */
PoiseErr poiseMatMoveRest(PoiseMat A, const Permutation *p, unsigned changed, PoiseMat B);
/* y = P x for a part of a permutation. Collective; agrees. */
PoiseErr poiseVecMove(PoiseMat P, PoiseVec x, PoiseVec y);

/* For a solver's matrix, a copy or not: what the application has in its place. */
Layout *poiseMatRowsOutside(PoiseMat A);                  /* the layout of its vectors */
PoiseErr poiseMatOutside(PoiseMat A, PoiseMat *original); /* its matrix */
/* Check that the application has rows for A's. what: the object that is passed, for the message. */
PoiseErr poiseMatCheckOutside(PoiseMat A, const char *what);
/* do both have the application's rows, or are both moved alike? */
bool poiseMatSameRows(PoiseMat A, PoiseMat P);

PoiseErr poiseMatShape(PoiseMat A, MatShape *shape);                     /* collective; agrees */
PoiseErr poisePermutationShape(const Permutation *p, MatchShape *shape); /* the same */
/* The number of local row i in the application, for messages. */
long long poiseMatRowName(PoiseMat A, int64_t i);

#endif

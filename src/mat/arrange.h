/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices in another layout and numbering (arrange.c). */
#ifndef POISE_MAT_ARRANGE_H
#define POISE_MAT_ARRANGE_H

#include "mat.h"

typedef struct MatShape {                   /* over all ranks */
  double nonzeros, most, ghosts, bandwidth; /* most: of a rank; bandwidth: the largest of the blocks of owned columns */
} MatShape;

bool poiseMatArranges(PoiseMat A);                                         /* not as it is */
const char *poiseMatArrangementWords(PoiseMat A, char *text, size_t size); /* the options that say so (mat.c) */
PoiseErr poiseMatCheckArrange(PoiseMat A, PoiseMat asked);                 /* can A be arranged as that matrix asks? */
/* p stays empty when A is so already. Collective; agrees. */
PoiseErr poisePermutationCreate(PoiseMat A, Permutation *p);
void poisePermutationDestroy(Permutation *p);
/* B = A rearranged, then what has changed since in A's values, or in its type and null space. Collective; agrees. */
PoiseErr poiseMatMoved(PoiseMat A, const Permutation *p, PoiseMat *B);
PoiseErr poiseMatMoveValues(PoiseMat A, PoiseMat B);
PoiseErr poiseMatMoveRest(PoiseMat A, const Permutation *p, PoiseMat B);
/* y = P x for one of the two. Collective; agrees. */
PoiseErr poiseVecMove(PoiseMat P, PoiseVec x, PoiseVec y);

/* Of a solver's matrix, a copy or not: what the application has for it. */
Layout *poiseMatRowsOutside(PoiseMat A);                  /* the layout of its vectors */
PoiseErr poiseMatOutside(PoiseMat A, PoiseMat *original); /* its matrix */
/* Has it rows for A's? what: that crosses, for the message. */
PoiseErr poiseMatCheckOutside(PoiseMat A, const char *what);
bool poiseMatSameRows(PoiseMat A, PoiseMat P); /* both as the application has them, or both moved alike? */

PoiseErr poiseMatShape(PoiseMat A, MatShape *shape); /* collective; agrees */
/* The number that local row i has in the application, for messages. */
long long poiseMatRowName(PoiseMat A, int64_t i);

#endif

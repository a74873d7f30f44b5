/* SPDX-License-Identifier: BSD-3-Clause */
/*
  P's block in the order of its colours: two matrices whose rows and columns are places, one with the entries
  of earlier colours and one with those of later ones. Each colour is whole groups of rows of a product.
*/
#ifndef POISE_COLOUR_COPY_H
#define POISE_COLOUR_COPY_H

#include "colours.h"

enum { COLOUR_LOWER, COLOUR_UPPER };

typedef struct ColourCopy {
  Version seen; /* P, when it was made */
  Colours colours;
  PoiseMat part[2]; /* of earlier and later colours */
} ColourCopy;

typedef struct ColourScales { /* diagonal blocks, by columns; NULL: the identity */
  const double *left, *right;
} ColourScales;

/* Of P as it is now: L and U, multiplied by these from both sides. New values allocate nothing. *anew: the
   pattern was new. Local. */
PoiseErr poiseColourCopySetup(PoisePC pc, const ColourScales *by, ColourCopy *c, bool *anew);
int64_t poiseColourCopyNumbers(const ColourCopy *c); /* of a vector at places */
/* Bytes of the two parts, read once. */
double poiseColourCopyTraffic(const ColourCopy *c);
void poiseColourCopyBytes(const ColourCopy *c, PoiseBytes *sum);
/* With so many vectors at places. */
void poiseColourCopyPredict(PoisePC pc, int64_t vectors, const MatPlan *plan, PoisePrediction *p);
/* How many colours; the most of all ranks. Collective. */
PoiseErr poiseColourCopyPrint(PoisePC pc, const ColourCopy *c);
void poiseColourCopyDestroy(PoiseContext ctx, ColourCopy *c);

#endif

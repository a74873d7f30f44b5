/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sweeps of relaxation by colours: rows stand in the order of their colours in a copy of P's block, and a
  colour is one product.
*/
#ifndef POISE_BY_COLOUR_H
#define POISE_BY_COLOUR_H

#include "colour_copy.h"

typedef struct ByColour {
  ColourCopy copy;
  Buffer y, rhs, g; /* vectors at places; the last two for more than one sweep from 0 */
} ByColour;

typedef struct ColourSweeps {
  double omega;
  int64_t count; /* of sweeps */
  bool forward, backward;
  bool guess; /* z holds a guess; they are not from 0 */
} ColourSweeps;

/* Of P as it is now, with the inverse diagonal blocks d. more: for more than one sweep from 0. New values
   allocate nothing. Local. */
PoiseErr poiseByColourSetup(PoisePC pc, const double *d, bool more, ByColour *c);
/* z = the result of sweeps for the right-hand side r, then the dots of z. Local. */
PoiseErr poiseByColourApply(PoisePC pc, ByColour *c, const double *d, const ColourSweeps *sweeps, PoiseVec r,
                            PoiseVec z, const double *skip, const Fuse *fuse);
/* y = keep y - omega T y at places, in place, one colour after the other. T: the part of earlier colours, or
   backward that of later ones, as a product in the type of y. Local. */
PoiseErr poiseColourHalf(const Colours *of, Product *part, bool backward, double omega, double keep, void *y,
                         const double *skip);
void poiseByColourBytes(const ByColour *c, PoiseBytes *sum);
void poiseByColourPredict(PoisePC pc, bool more, const MatPlan *plan, PoisePrediction *p);
void poiseByColourDestroy(PoiseContext ctx, ByColour *c);

#endif

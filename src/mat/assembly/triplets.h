/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix's plan from triplets to values (triplets.c). */
#ifndef POISE_MAT_TRIPLETS_H
#define POISE_MAT_TRIPLETS_H

#include "mat/object/mat.h"

void poiseTripletsDestroy(PoiseContext ctx, struct Triplets **triplets);
/* sum += what it holds; NULL: nothing */
void poiseTripletsBytes(const struct Triplets *t, PoiseBytes *sum);
/* PoiseMatSetValuesCOO, AddValuesCOO with v on one side of A's device. mine: this rank's error so far.
   Collective; agrees. */
PoiseErr poiseMatTakeCOO(PoiseMat A, PoiseErr mine, Side where, const double *v, bool add);

/* triplet_permuted.c: B's pattern becomes A's, with rows and columns renumbered, and its triplets A's
   entries. No row leaves its rank. row, column: new numbers of the scalars of A's rows and local columns.
   mine: this rank's error so far (they are then not read). Collective; agrees. */
bool poiseTripletsPermutable(PoiseMat A, PoiseMat B);
PoiseErr poiseTripletsPermute(PoiseMat A, PoiseErr mine, const double *row, const double *column, PoiseMat B);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix's plan from triplets to values (triplets.c). */
#ifndef POISE_MAT_TRIPLETS_H
#define POISE_MAT_TRIPLETS_H

#include "mat/mat.h"

void poiseTripletsDestroy(PoiseContext ctx, struct Triplets **triplets);
/* sum += what it holds; NULL: nothing */
void poiseTripletsBytes(const struct Triplets *t, PoiseBytes *sum);
/* PoiseMatSetValuesCOO, AddValuesCOO with v on one side of A's device. Collective; agrees. */
PoiseErr poiseMatTakeCOO(PoiseMat A, Side where, const double *v, bool add);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a product of matrices keeps for new numbers (multiply.c). */
#ifndef POISE_MULTIPLY_H
#define POISE_MULTIPLY_H

#include "mat/mat.h"

void poiseMultipliedDestroy(PoiseContext ctx, struct Multiplied **kept); /* *kept may be NULL */
/* sum += what it holds; NULL: nothing */
void poiseMultipliedBytes(const struct Multiplied *kept, PoiseBytes *sum);

#endif

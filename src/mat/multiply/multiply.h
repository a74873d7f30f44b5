/* SPDX-License-Identifier: BSD-3-Clause */
/* What a product of matrices keeps for new numbers (multiply.c). */
#ifndef POISE_MULTIPLY_H
#define POISE_MULTIPLY_H

#include "mat/csr/transpose.h"
#include "poise/mat_multiply.h"

/* C = Q^T (A P), where Q has P's pattern; NULL: it is P. Else as PoiseMatPtAP. */
PoiseErr poiseMatQtAP(PoiseMat A, PoiseMat P, PoiseMat Q, PoiseMat *C);
void poiseMultipliedDestroy(PoiseContext ctx, struct Multiplied **kept); /* *kept may be NULL */
/* sum += what it holds; NULL: nothing */
void poiseMultipliedBytes(const struct Multiplied *kept, PoiseBytes *sum);
/* P by columns, of C = P^T A P on one rank, as long as C keeps it. */
Transposed *poiseMultipliedByColumns(struct Multiplied *kept);

#endif

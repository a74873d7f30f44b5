/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library asks for beside PoiseMat's operations: copies.c and arith.c. */
#ifndef POISE_MAT_OPERATIONS_H
#define POISE_MAT_OPERATIONS_H

#include "mat/object/mat.h"

/* B = A, with entries in the form of those of `like`: scalars, or blocks of that size. Collective; agrees. */
PoiseErr poiseMatDuplicateLike(PoiseMat A, PoiseMat like, PoiseMat *B);
/* Store missing diagonal entries as 0. A is square. Collective; agrees. */
PoiseErr poiseMatStoreDiagonal(PoiseMat A);

#endif

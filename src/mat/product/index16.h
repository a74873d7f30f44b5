/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of 16 bits beside the CSR (index16.c). */
#ifndef POISE_MAT_INDEX16_H
#define POISE_MAT_INDEX16_H

#include "index16_kernels.h"
#include "mat/object/mat.h"

/* Make 16-bit columns for A->blocks, unless they were looked for. They are kept if at least half of the
   nonzeros are in blocks that fit. Local. */
PoiseErr poiseIndex16Make(PoiseMat A);
void poiseIndex16Release(PoiseMat A);
/* Where these are kept: device pointers; *v was zeroed. */
PoiseErr poiseIndex16View(PoiseMat A, Index16View *v);
PoiseErr poiseIndex16Print(PoiseMat A); /* Collective */
/* p += what those hold that may be made. */
void poiseIndex16Predict(const Device *dev, const MatPlan *plan, PoisePrediction *p);

#endif

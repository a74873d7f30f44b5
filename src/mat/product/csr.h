/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of launches, which forms of rows share (csr.c). */
#ifndef POISE_MAT_CSR_H
#define POISE_MAT_CSR_H

#include "csr_kernels.h"
#include "product.h"

/* Matrix, vectors and scalars of a launch; and the blocks of A->blocks in that part. */
PoiseErr poiseCsrArguments(Product *p, const ProductArgs *a, CsrMultArgs *m);
PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m);
void poiseMatOrderPredict(PoiseMat A, const MatPlan *plan,
                          PoisePrediction *p); /* p += the order of A->blocks */
/* All arguments of that part in fp32. */
PoiseErr poiseCsrArgumentsSingle(Product *p, ProductPart part, const ProductArgs *a, CsrMultArgs_f32 *m);

#endif

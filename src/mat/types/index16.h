/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of 16 bits beside the CSR (index16.c). */
#ifndef POISE_MAT_INDEX16_H
#define POISE_MAT_INDEX16_H

#include "index16_kernels.h"
#include "mat/mat.h"

typedef struct Index16 {
  bool on;
  int64_t built; /* A->version.pattern of what was decided; 0: nothing was */
  int64_t tried; /* A->version.pattern at the latest attempt */
  int64_t fits;  /* nonzeros of thread blocks whose columns fit */
  Buffer code, base;
} Index16;

/* Make 16-bit columns for the thread blocks of A->csr, or release them. They are kept if at least half of the
   nonzeros are in blocks that fit. changed: something else was asked for since the latest attempt, on all
   ranks. Local. */
PoiseErr poiseIndex16SetUp(PoiseMat A, bool on, bool changed, Index16 *d);
/* device pointers, or NULL where none are kept */
PoiseErr poiseIndex16View(PoiseMat A, Index16 *d, Index16View *v);
PoiseErr poiseIndex16Print(PoiseMat A, const Index16 *d); /* print it, if it is on. Collective */
void poiseIndex16Bytes(const Index16 *d, PoiseBytes *sum);
/* of one that is on, or that may be */
void poiseIndex16Predict(const Device *dev, const MatPlan *plan, PoisePrediction *p);
void poiseIndex16Destroy(Index16 *d);

#endif

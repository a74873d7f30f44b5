/* SPDX-License-Identifier: BSD-3-Clause */
/* What a matrix will hold (bytes.c). */
#ifndef POISE_MAT_BYTES_H
#define POISE_MAT_BYTES_H

#include "mat.h"

/* p += it */
PoiseErr poiseMatPredict(PoiseMat A, const PoiseMatCounts *counts, MatPlan *plan, PoisePrediction *p);
/* of what depends on A: what is not sure if it is open */
void poisePredictOpen(const MatPlan *plan, PoisePrediction *p);

/* range = that or what it is */
static inline void poisePlanEither(const int64_t one[2], int64_t range[2])
{
  if (one[0] < range[0]) range[0] = one[0];
  if (one[1] > range[1]) range[1] = one[1];
}

static inline int64_t poisePlanSide(const MatPlan *plan) /* as poiseCsrSide */
{
  return plan->b ? plan->b : 1;
}

static inline int64_t poisePlanScalars(const MatPlan *plan)
{
  return plan->nz * poisePlanSide(plan) * poisePlanSide(plan);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* New values for a matrix whose pattern stays (values.c). */
#ifndef POISE_MAT_VALUES_H
#define POISE_MAT_VALUES_H

#include "mat/mat.h"

/* PoiseMatSetValuesCSR, or BCSR with column-major blocks, with val on one side of A's device. Local. */
PoiseErr poiseMatSetEntries(PoiseMat A, Side where, const double *val);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors by thresholds, on the host. */
#ifndef POISE_THRESHOLDS_H
#define POISE_THRESHOLDS_H

#include "factor.h"
#include "factor_kernels.h"

/* Factor P's own block, in numbers, as f's thresholds say, and as kernel factor says of rule's symmetric,
   sign, relative, shift, zero and replace. Sets f's triangles, factors and permutation, unless a pivot is
   refused: f->refused says which. Local. */
PoiseErr poiseThresholds(PoisePC pc, Incomplete *f, const FactorArgs *rule);
/* *lack: as of kernel dominance. */
PoiseErr poiseThresholdsLack(PoisePC pc, double floor, double sign, double *lack);
/* A bound of the factors' entries. */
int64_t poiseThresholdsMost(const Incomplete *f, int64_t n, int64_t numbers);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with A^T (transposed.c). */
#ifndef POISE_KSP_TRANSPOSED_H
#define POISE_KSP_TRANSPOSED_H

#include "ksp.h"

void poiseKSPDropTransposed(PoiseKSP ksp);
void poiseKSPAddTransposedBytes(PoiseKSP ksp, PoiseBytes *sum);

#endif

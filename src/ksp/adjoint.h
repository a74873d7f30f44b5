/* SPDX-License-Identifier: BSD-3-Clause */
/* The transposes of A and M, for methods that apply them (adjoint.c). */
#ifndef POISE_KSP_ADJOINT_H
#define POISE_KSP_ADJOINT_H

#include "ksp.h"

/* What the method needs of them, behind the set-up of M. Collective; agrees. */
PoiseErr poiseKSPPrepareTransposes(PoiseKSP ksp);
void poiseKSPDropTransposes(PoiseKSP ksp);
void poiseKSPAddTransposesBytes(PoiseKSP ksp, PoiseBytes *sum);

#endif

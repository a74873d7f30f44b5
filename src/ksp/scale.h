/* SPDX-License-Identifier: BSD-3-Clause */
/* Norms that squares cannot hold (scale.c). */
#ifndef POISE_KSP_SCALE_H
#define POISE_KSP_SCALE_H

#include "ksp.h"

int poiseKSPRange(PoiseKSP ksp); /* the test of the first norm: RANGE_... */
/* What stands for the norm of b where its square is 0 by underflow: beside a residual of 2^900 times b no
   scaling helps. 0: there is no such b. */
double poiseKSPTinyB(PoiseKSP ksp);
/* Has it found a norm that requires scaling? ksp->solve.scaling says so. */
bool poiseKSPOutOfRange(PoiseKSP ksp, const double *slots);
/* Scale ksp->solve.b, which becomes another vector, and the guess in x, if that helps. Collective; agrees. */
PoiseErr poiseKSPRescale(PoiseKSP ksp, PoiseVec x);
/* Check that the x of a scaled solve is a solution after it is scaled back. Collective; agrees. */
PoiseErr poiseKSPScaled(PoiseKSP ksp, PoiseVec x);

#endif

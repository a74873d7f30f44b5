/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of the preconditioner of a least squares problem for which none was given (normal.c). */
#ifndef POISE_KSP_NORMAL_H
#define POISE_KSP_NORMAL_H

#include "ksp.h"

/* Before the set-up of M: where the method is for least squares, pc->P is A^T A, or its diagonal. If P was
   given, or M is the identity, nothing is made. Collective; agrees. */
PoiseErr poiseKSPFollowNormal(PoiseKSP ksp);
bool poiseKSPMakesNormal(PoiseKSP ksp); /* is it made? */
void poiseKSPDropNormal(PoiseKSP ksp);
void poiseKSPAddNormalBytes(PoiseKSP ksp, PoiseBytes *sum);

#endif

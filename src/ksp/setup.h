/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices and set-up (ksp.c, setup.c). */
#ifndef POISE_KSP_SETUP_H
#define POISE_KSP_SETUP_H

#include "ksp.h"

/* The application's matrix; a solver inside another has only what that one works with. */
PoiseMat poiseKSPGiven(PoiseKSP ksp);
/* Set the matrices to work with, of the same layout. Collective; agrees. */
PoiseErr poiseKSPUse(PoiseKSP ksp, PoiseMat A, PoiseMat P);
/* POISE_ERR_STATE in the middle of a solve. `what` names the call, which a user's function has then made.
   Not collective. */
PoiseErr poiseKSPCheckIdle(PoiseKSP ksp, const char *what);
PoiseErr poiseKSPCheckMatrices(PoiseKSP ksp); /* check that it may work with them. Local */
/* The side and the norm that the method will work with, and what can be found wrong without work. Agrees. */
PoiseErr poiseKSPChoose(PoiseKSP ksp, PoisePCSide *side, PoiseNormType *norm);
/* p += what set-up will allocate for A with that plan. */
PoiseErr poiseKSPPredict(PoiseKSP ksp, PoiseMat A, const MatPlan *plan, PoisePrediction *p);
/* Allocate for the rows of A, and for the columns of ksp->layout, if that is set. Collective; agrees. */
PoiseErr poiseKSPAllocate(PoiseKSP ksp);
const char *poiseKSPWhyEager(PoiseKSP ksp);             /* KSPLoop.eager */
void poiseKSPRelease(PoiseKSP ksp);                     /* everything that set-up allocated */
void poiseKSPAddVectors(PoiseKSP ksp, PoiseBytes *sum); /* what that takes */

#endif

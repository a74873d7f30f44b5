/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases and dots of the solver itself (dots.c). Those that methods enqueue are in methods.h. */
#ifndef POISE_KSP_DOTS_H
#define POISE_KSP_DOTS_H

#include "ksp.h"

/* The pass of poiseKSPFirstResidual over the rows: r = b and x = 0, or r is b (NULL); the dots of z with a
   diagonal M. */
void poiseKSPFirstPhase(PoiseKSP ksp, const double *b, double *r, int rz, int zz, int rr);
/* Work vector r, which holds A x, becomes b - A x. Its dots and b's go to their slots. So do those of work
   vector z = M^-1 r, if z is not NO_SLOT. If asked for, the solution goes to x. */
void poiseKSPCheckPhase(PoiseKSP ksp, const double *b, int r, int z, bool delivers, double *x);
void poiseKSPPublish(PoiseKSP ksp); /* move pending dots to their slots, without a phase that takes them */

#endif

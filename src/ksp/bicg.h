/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by bicg and qmr: all but what is made of the steps. */
#ifndef POISE_BICG_H
#define POISE_BICG_H

#include "bicg_phases.h"
#include "ksp.h"

/* Work vectors. A method's own begin at BI_VECTORS. z and z~ of a pointwise M are not stored. */
enum { BI_X, BI_R, BI_Q, BI_RT, BI_QT, BI_P, BI_PT, BI_Z, BI_ZT, BI_VECTORS };

/* Is BICG_NN of r? Else of z. */
bool poiseBiCGByResidual(PoiseKSP ksp);
void poiseBiCGStart(PoiseKSP ksp, PoiseVec b); /* as KSPType's */
/* q = A p; q~ = A^T p~; alpha = rho / (p~, q); r -= alpha q; r~ -= alpha q~; rho' = (r~, z), and BICG_NN. */
void poiseBiCGStep(PoiseKSP ksp);
bool poiseBiCGStalls(PoiseKSP ksp, double *norm); /* as KSPType's */

#endif

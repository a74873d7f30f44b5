/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by cgs and tfqmr, whose residuals are the same. */
#ifndef POISE_CGS_H
#define POISE_CGS_H

#include "cgs_phases.h"
#include "methods.h"

enum { X, R, RHAT, U, P, V, T, W, Q, D, Y }; /* work vectors; from Q on of tfqmr alone */

/* r^ = p = u = r of the first x, and its norm. */
void poiseCGSStart(PoiseKSP ksp, PoiseVec b);
/* as KSPType.stalls */
bool poiseCGSStalls(PoiseKSP ksp, double *norm);
/* v = K p; q = u - alpha v in vector q, which may be u; t = u + q; v = K t, from the right by w = M^-1 t. */
void poiseCGSProducts(PoiseKSP ksp, int q);

#endif

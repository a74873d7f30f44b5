/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by minres and symmlq: the Lanczos process. */
#ifndef POISE_MINRES_H
#define POISE_MINRES_H

#include "methods.h"
#include "minres_phases.h"

enum { X, Q, R, R_ODD, Z, Z_ODD, W, W_ODD }; /* work vectors; the last of minres alone */

/* r = b - A x, z = M^-1 r, (r, z), and the first norm. W is 0. */
void poiseLanczosStart(PoiseKSP ksp, PoiseVec b);
/* The work vector with z of this iteration. */
int poiseLanczosZ(PoiseKSP ksp);
/* q = A z, alpha = (z, q) / beta^2; the next r, z and beta^2 = (r, z). */
void poiseLanczosStep(PoiseKSP ksp);

#endif

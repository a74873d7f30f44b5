/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by richardson and chebyshev: x moves along z = M^-1 r, and every iteration computes r = b - A x
   anew. */
#ifndef POISE_STATIONARY_H
#define POISE_STATIONARY_H

#include "methods.h"
#include "stationary_phases.h"

/* Keep b. Compute the first residual and norm, and set SLOTs ST_SCALE and ST_ALPHA. A nonzero reason: the
   solve cannot continue. */
void poiseStationaryStart(PoiseKSP ksp, PoiseVec b, double scale, double alpha, int reason);
/* Keep b. Nothing else, where M relaxes. */
void poiseStationaryRelaxed(PoiseKSP ksp, PoiseVec b);
int poiseStationaryResidual(PoiseKSP ksp); /* as KSPType's */
/* Compute the residual and norm of the new x, and test convergence. */
void poiseStationaryEnd(PoiseKSP ksp);
/* The arguments of a step: r, d and x, or z and x; and p, which may be NULL. */
PhaseArgs poiseStationaryStep(PoiseKSP ksp, double *p);

/* Norms that both offer. */
#define STATIONARY_NORMS (NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NONE))

#endif

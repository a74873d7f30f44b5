/* SPDX-License-Identifier: BSD-3-Clause */
/* What richardson and chebyshev share: x moves along z = M^-1 r, and r = b - A x is computed anew in every iteration. */
#ifndef POISE_STATIONARY_H
#define POISE_STATIONARY_H

#include "ksp.h"
#include "stationary_phases.h"

/* Keep b, the first residual and norm, SLOTs ST_SCALE and ST_ALPHA; reason: nonzero when the solve cannot go on. */
void poiseStationaryStart(PoiseKSP ksp, PoiseVec b, double scale, double alpha, int reason);
int poiseStationaryResidual(PoiseKSP ksp); /* as KSPType's */
/* The residual and norm of the new x; decides. */
void poiseStationaryEnd(PoiseKSP ksp);
/* The arguments of a step: r, d and x, or z and x; and p, which may be NULL. */
PhaseArgs poiseStationaryStep(PoiseKSP ksp, double *p);

/* Norms that both offer. */
#define STATIONARY_NORMS (NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NONE))

#endif

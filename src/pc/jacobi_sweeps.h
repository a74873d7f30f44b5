/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with incomplete factors by Jacobi sweeps. */
#ifndef POISE_JACOBI_SWEEPS_H
#define POISE_JACOBI_SWEEPS_H

#include "pc.h"

PoiseErr poiseJacobiSweepsCheck(PoisePC pc);
PoiseErr poiseJacobiSweepsScale(PoisePC pc); /* makes new factors those of poiseJacobiSweepsApply */
PoiseErr poiseJacobiSweepsApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers inside preconditioners that are a fixed number of steps (sweeps.c). */
#ifndef POISE_SWEEPS_H
#define POISE_SWEEPS_H

#include "ksp.h"

/* Is a solve of it steps that are known before, of which nobody wants to hear? So it is for a method with
   KSPType.step, no norm and few iterations. After its set-up. On all ranks alike. Local. */
bool poiseKSPSweeps(PoiseKSP ksp);
/* See what a captured loop around it depends on, after a set-up. Local. */
void poiseKSPFollowSweeps(PoiseKSP ksp);
/* Improve x, or with `fresh` begin from 0: that solve, enqueued. Nothing is done if *skip != 0. All ranks
   must call, whatever failed on some. */
PoiseErr poiseKSPSweep(PoiseKSP ksp, PoiseVec b, PoiseVec x, bool fresh, const double *skip);
/* Steps that it enqueues. */
int poiseKSPSteps(PoiseKSP ksp);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves by workers (divided.c), and the settings that these take (settings.c, divided_settings.c). */
#ifndef POISE_KSP_DIVIDED_H
#define POISE_KSP_DIVIDED_H

#include "ksp.h"

bool poiseKSPDivides(PoiseKSP ksp); /* do workers solve? */
/* Set up, with that side and norm: the workers' parts follow the application's matrices and settings. */
PoiseErr poiseKSPDivide(PoiseKSP ksp, PoisePCSide side, PoiseNormType norm);
PoiseErr poiseKSPRunDivided(PoiseKSP ksp, PoiseVec b, PoiseVec x); /* poiseKSPRun by the workers */
/* Whether a preconditioner is kept is told at once, as A may change before the next set-up. */
PoiseErr poiseKSPKeepParts(PoiseKSP ksp);
/* z = M^-1 r by the workers, who are set up. */
PoiseErr poiseKSPApplyDivided(PoiseKSP ksp, PoiseVec r, PoiseVec z);
/* The application replaces these of its matrices. */
void poiseKSPLetGoParts(PoiseKSP ksp, bool other_A, bool other_P);
void poiseKSPUndivide(PoiseKSP ksp);
PoiseErr poiseKSPViewDivided(PoiseKSP ksp);
void poiseKSPAddParts(PoiseKSP ksp, PoiseBytes *sum); /* sum += bytes of the workers' solvers */
/* POISE_ERR_UNSUPPORTED if workers solve: the calling thread has no whole vectors of the solve, and no
   preconditioner. `what` names the call. */
PoiseErr poiseKSPCheckWhole(PoiseKSP ksp, const char *what);
/* `to` takes the settings of `from`, which may be a solver of another context, and is only read. Functions of
   the application's stay behind. Collective over the ranks of `to`; agrees. */
PoiseErr poiseKSPTakeSettings(PoiseKSP from, PoiseKSP to);
/* The same for a worker's solver, whose monitor and test ask the calling thread (divided_settings.c). */
PoiseErr poiseKSPTakeDivided(PoiseKSP ksp, PoiseKSP inner);

#endif

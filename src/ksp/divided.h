/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves by workers or by leaders of groups (divided.c), and the settings that these take (settings.c,
   divided_settings.c). */
#ifndef POISE_KSP_DIVIDED_H
#define POISE_KSP_DIVIDED_H

#include "ksp.h"

bool poiseKSPDivides(PoiseKSP ksp); /* do others solve? */
/* Set up, with that side and norm: the solvers' parts follow the application's matrices and settings. */
PoiseErr poiseKSPDivide(PoiseKSP ksp, PoisePCSide side, PoiseNormType norm);
PoiseErr poiseKSPRunDivided(PoiseKSP ksp, PoiseVec b, PoiseVec x); /* poiseKSPRun by the solvers */
/* Whether a preconditioner is kept is told at once, as A may change before the next set-up. */
PoiseErr poiseKSPKeepParts(PoiseKSP ksp);
/* z = M^-1 r by the solvers, who are set up. */
PoiseErr poiseKSPApplyDivided(PoiseKSP ksp, PoiseVec r, PoiseVec z);
/* The application replaces these of its matrices. */
void poiseKSPLetGoParts(PoiseKSP ksp, bool other_A, bool other_P);
void poiseKSPUndivide(PoiseKSP ksp);
PoiseErr poiseKSPViewDivided(PoiseKSP ksp);
void poiseKSPAddParts(PoiseKSP ksp, PoiseBytes *sum); /* sum += bytes of the solvers that this process has */
/* POISE_ERR_UNSUPPORTED if others solve: the application's ranks have no vectors of the solve, and no
   preconditioner. `what` names the call. */
PoiseErr poiseKSPCheckWhole(PoiseKSP ksp, const char *what);
/* `to` takes the settings of `from`, which may be a solver of another context, and is only read. Functions of
   the application's stay behind. Collective over the ranks of `to`; agrees. */
PoiseErr poiseKSPTakeSettings(PoiseKSP from, PoiseKSP to);
PoiseErr poiseKSPTakeMethod(PoiseKSP from, PoiseKSP to); /* the same without the preconditioner */
PoiseErr poiseKSPTakePC(PoisePC from, PoisePC to);       /* the same for preconditioners */
/* What is told of the latest solve of `inner`, which is of the same context. */
void poiseKSPTakeResult(PoiseKSP ksp, PoiseKSP inner);
/* The same for a solver inside, whose monitor and test ask the application's ranks (divided_settings.c). */
PoiseErr poiseKSPTakeDivided(PoiseKSP ksp, PoiseKSP inner);
PoiseErr poiseKSPAnswer(void *divided, const void *question, void *reply); /* a GroupAnswer of these */
bool poiseKSPIsGathered(PoiseKSP ksp); /* in a callback: is this its solve? */
/* PoiseKSPBuildSolution in the callbacks of a gathered solve. Collective; agrees. */
PoiseErr poiseKSPBuildGathered(PoiseKSP ksp, PoiseVec x);
PoiseKSP poiseKSPOuter(const Divided *divided);
PoiseErr poiseKSPHandBack(const Divided *divided); /* x of the solve is where the solvers write it */

#endif

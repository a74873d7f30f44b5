/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers inside preconditioners, as the preconditioner asks them (inside.c, and what it names). */
#ifndef POISE_KSP_INSIDE_H
#define POISE_KSP_INSIDE_H

#include "ksp.h"

void poiseKSPDestroy(PoiseKSP *ksp); /* PoiseKSPDestroy, by the preconditioner around it too */
/* Mark the solver as inside a preconditioner: nothing is rearranged, and claims are checked only if
   options ask for it. */
void poiseKSPSetInside(PoiseKSP ksp);
/* poiseKSPTakeSettings (divided.h); functions of the application's are POISE_ERR_UNSUPPORTED. */
PoiseErr poiseKSPTakeInside(PoiseKSP from, PoiseKSP to);
/* Set up what poiseKSPApply needs, for A = P = source. With preonly that is only the preconditioner. keep:
   the preconditioner around the solver is kept, and so is the solver's own. exact: as poisePCExact. */
PoiseErr poiseKSPReady(PoiseKSP ksp, PoiseMat source, bool keep, bool exact);
/* What applications read of the values of its matrix: READS_P or READS_NOTHING, or what solvers further
   inside read. Local. */
PoiseErr poiseKSPReads(PoiseKSP ksp, Reads *reads);
/* What changes when a loop that was captured around it is void: a count. */
int64_t poiseKSPGeneration(PoiseKSP ksp);
/* z = the solver's result for A z = r from a zero guess, then the dots of z. With preonly this applies the
   preconditioner, with a fixed number of steps it enqueues them (sweeps.h), else it solves. No convergence is
   no error (but see PoiseKSPSetErrorIfNotConverged): z is the result so far. All ranks must call, whatever
   failed on some. */
PoiseErr poiseKSPApply(PoiseKSP ksp, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
bool poiseKSPOnlyApplies(PoiseKSP ksp); /* is that only z = M^-1 r? Then vectors may be wide */
/* sum += bytes that it holds, with its preconditioner and A (may be NULL), if A is its own. ksp may be
   NULL. */
void poiseKSPAddBytes(PoiseKSP ksp, PoiseMat A, PoiseBytes *sum);
/* Is z not a fixed linear function of r? So it is if the method stops when it has converged, or if M
   varies. *why then says so, for a solver in a preconditioner of type `pc`. Local. */
bool poiseKSPVaries(PoiseKSP ksp, const char *pc, Varying *why);
const char *poiseKSPAppliesEagerly(PoiseKSP ksp); /* why a loop around it cannot be replayed; NULL: it can */
/* p += bytes that it will hold, with its preconditioner, for the matrix that it has. Collective; agrees. */
PoiseErr poiseKSPPredictInside(PoiseKSP ksp, const PoiseMatCounts *counts, PoisePrediction *p);

/* Does it have P's numbering, i.e. that of the matrix of the preconditioner around it? Local. */
PoiseErr poiseKSPCheckInside(PoiseKSP ksp, PoiseMat P);
/* Are the rows that it works with the application's? `what` names the call. Local. */
PoiseErr poiseKSPCheckOutside(PoiseKSP ksp, const char *what);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A solve: start and end (solve.c). */
#ifndef POISE_KSP_SOLVE_H
#define POISE_KSP_SOLVE_H

#include "ksp.h"

/* PoiseKSPSolve for vectors of the rows that the solver works with, or of the application's. */
PoiseErr poiseKSPSolve(PoiseKSP ksp, PoiseVec b, PoiseVec x);
/* Iterate on vectors of A's rows, and deliver x. */
PoiseErr poiseKSPRun(PoiseKSP ksp, PoiseVec b, PoiseVec x);
/* Parts of a solve, which also solves of several systems have (block.c). Scalars and work vectors on the
   device and in their state before a solve; local. Nothing is known of it. */
PoiseErr poiseKSPPrepare(PoiseKSP ksp);
void poiseKSPReset(PoiseKSP ksp);
/* Before a loop is captured: making a graph may wait for work of all ranks that share a GPU, so what that
   waits for is enqueued. */
void poiseKSPAllHaveBegun(PoiseKSP ksp);
/* Devices of other ranks may poll for this one from the first replay on. captured: is there any? */
bool poiseKSPAllAreThere(PoiseKSP ksp, bool captured);
/* Keep a failure of this rank. */
void poiseKSPFailed(PoiseKSP ksp, PoiseErr e);
/* Agree on the failures that were kept. */
PoiseErr poiseKSPAgree(PoiseKSP ksp);
/* Make x, and enqueue the check of the claim, if `checks`, and the delivery of x. */
void poiseKSPEnqueueEnd(PoiseKSP ksp, PoiseVec x, bool checks);

#endif

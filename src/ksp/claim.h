/* SPDX-License-Identifier: BSD-3-Clause */
/* Is what a method claims true? (claim.c) */
#ifndef POISE_KSP_CLAIM_H
#define POISE_KSP_CLAIM_H

#include "ksp.h"

/* Must the claim in the result be checked, or a result after a refuted claim be compared with it? */
bool poiseKSPChecks(PoiseKSP ksp);
/* Is it known before how x will be made after a success, and whether the claim will be checked? */
bool poiseKSPForesees(PoiseKSP ksp, bool *checks);
/* Enqueue the dots of b - A x for the x in work[0]. They take two more work vectors. b - A x may be
   available already; if not, and if asked for, x is delivered to `to` in the same pass. Returns whether it
   was. */
bool poiseKSPMeasure(PoiseKSP ksp, bool delivers, double *to);
/* Must M be applied to b - A x too, as the comparison with the r of the method, in `slots`, does not prove
   the claim? The same on all ranks. */
bool poiseKSPDoubts(PoiseKSP ksp, const double *slots);
void poiseKSPPreconditionClaim(PoiseKSP ksp); /* enqueue that, and its dots */
/* Is the norm that was computed within what the tolerance allows? Else the claim is to be judged. */
bool poiseKSPHolds(PoiseKSP ksp, const double *slots);
/* Judge the claim from these dots, which are in `slots`. *again: the method must continue from x. Collective;
   agrees. */
PoiseErr poiseKSPJudge(PoiseKSP ksp, const double *slots, bool *again);
/* The square of the norm computed before, which x must not exceed to be delivered; infinite: no limit.
   *slot: the slot of the present one. */
double poiseKSPMost(PoiseKSP ksp, int *slot);
/* |b - A x| / |b| of a success that is worthless, else 0. */
double poiseKSPInaccuracy(PoiseKSP ksp);
void poiseKSPSayClaim(PoiseKSP ksp); /* describe the outcome of claims, by poiseKSPSay */

#endif

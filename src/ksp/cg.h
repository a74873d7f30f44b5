/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the forms of conjugate gradients: the work vectors, and the start. */
#ifndef POISE_CG_H
#define POISE_CG_H

#include "cg_phases.h"
#include "methods.h"

enum { X, R, P, Q, Z };

enum { CG_BEGINS = 1 << R | 1 << P }; /* as KSPType.begins */

int poiseCGVectors(PoiseKSP ksp);
unsigned poiseCGWide(PoiseKSP ksp);
int64_t poiseCGArray(PoiseKSP ksp);
PoiseErr poiseCGProjected(PoiseKSP ksp, Projected *p);
const char *poiseCGCannotPredict(PoiseKSP ksp); /* why not in the form of prcg.c; NULL: it can */
/* r = b - A x, p = z = M r, (r, z), and the first norm. */
void poiseCGStart(PoiseKSP ksp, PoiseVec b);
int poiseCGFlags(PoiseKSP ksp); /* flags of phases that test convergence: the norm, and CG_PROJECTED */

#endif

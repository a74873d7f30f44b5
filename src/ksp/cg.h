/* SPDX-License-Identifier: BSD-3-Clause */
/* What the forms of conjugate gradients share: the work vectors, and the start. */
#ifndef POISE_CG_H
#define POISE_CG_H

#include "cg_phases.h"
#include "ksp.h"

enum { X, R, P, Q, Z };

int poiseCGVectors(PoiseKSP ksp);
/* r = b - A x, p = z = M r, (r, z), and the first norm. */
void poiseCGStart(PoiseKSP ksp, PoiseVec b);
int poiseCGFlags(PoiseKSP ksp); /* of phases that judge: the norm, and CG_PROJECTED */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A and M as the solver itself prepares them (operator.c). Those that methods apply are in methods.h. */
#ifndef POISE_KSP_OPERATOR_H
#define POISE_KSP_OPERATOR_H

#include "ksp.h"

/* What phases apply of M, and the null space. Local. */
PoiseErr poiseKSPPreparePC(PoiseKSP ksp);
/* z -= N N' z for the null space N of A, then the dots of z. */
void poiseKSPRemoveNullSpace(PoiseKSP ksp, PoiseVec z, const Fuse *f);

#endif

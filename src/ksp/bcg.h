/* SPDX-License-Identifier: BSD-3-Clause */
/* The k x k matrices of block conjugate gradients (bcg_matrices.c), for the method. */
#ifndef POISE_BCG_H
#define POISE_BCG_H

#include "bcg_kernels.h"
#include "ksp.h"

/* xi and D from G = S^T A S. */
void poiseKSPBcgStep(PoiseKSP ksp, const double *G);
/* T, zeta and C from G = Q^T M^-1 Q. flags: BCG_KEEP; or a norm, whose squares are made of K behind G
   (natural, none: of G); or 0. */
void poiseKSPBcgFactor(PoiseKSP ksp, const double *G, int flags);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves of several systems with one matrix (block.c). */
#ifndef POISE_KSP_BLOCK_H
#define POISE_KSP_BLOCK_H

#include "ksp.h"

void poiseKSPDropBlock(PoiseKSP ksp);                      /* all that such solves have made */
void poiseKSPDropLevels(PoiseKSP ksp);                     /* of it the solvers of several systems */
void poiseKSPAddBlockBytes(PoiseKSP ksp, PoiseBytes *sum); /* its vectors, scalars and sums */
/* Of a solver of several systems: keep the norms of each, as the slots and rings have them that were
   copied. */
void poiseKSPKeepColumns(PoiseKSP ksp, const double *status);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A solve between the two sweeps of its preconditioner (between.c). */
#ifndef POISE_KSP_BETWEEN_H
#define POISE_KSP_BETWEEN_H

#include "ksp.h"

struct Between {
  PoiseKSP inner; /* of the matrix between the sweeps, without M */
  PoiseVec b, x;  /* its */
};

/* Why M is applied; NULL: the solver works between its sweeps, if set-up finds that it can. The same on all
   ranks. */
const char *poiseKSPWhyNotBetween(PoiseKSP ksp);
/* *can: it does so. Collective; agrees. */
PoiseErr poiseKSPSetUpBetween(PoiseKSP ksp, PoiseNormType norm, bool *can);
PoiseErr poiseKSPRunBetween(PoiseKSP ksp, PoiseVec b, PoiseVec x); /* Collective; agrees */
PoiseErr poiseKSPViewBetween(PoiseKSP ksp);                        /* Collective */
void poiseKSPAddBetweenBytes(PoiseKSP ksp, PoiseBytes *sum);
void poiseKSPDropBetween(PoiseKSP ksp);

#endif

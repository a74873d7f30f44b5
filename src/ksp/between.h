/* SPDX-License-Identifier: BSD-3-Clause */
/* A solve between the two sweeps of its preconditioner (between.c). */
#ifndef POISE_KSP_BETWEEN_H
#define POISE_KSP_BETWEEN_H

#include "ksp.h"

struct Between {
  PoiseKSP inner; /* of the matrix between the sweeps, without M */
  PoiseVec b, x;  /* its, */
  PoiseVec r;     /* and, where there is a guess, b - A x of the application's */
};

/* Why M is applied; NULL: the solver works between its sweeps. The same on all ranks. */
const char *poiseKSPWhyNotBetween(PoiseKSP ksp);
PoiseErr poiseKSPSetUpBetween(PoiseKSP ksp, PoiseNormType norm);   /* Collective; agrees */
PoiseErr poiseKSPRunBetween(PoiseKSP ksp, PoiseVec b, PoiseVec x); /* Collective; agrees */
PoiseErr poiseKSPViewBetween(PoiseKSP ksp);                        /* Collective */
void poiseKSPAddBetweenBytes(PoiseKSP ksp, PoiseBytes *sum);
void poiseKSPDropBetween(PoiseKSP ksp);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The cycle: z = M r. */
#ifndef POISE_AMG_CYCLE_H
#define POISE_AMG_CYCLE_H

#include "amg.h"

/* y = a P^T x, in a cycle. What fails on this rank keeps no other from its part. */
PoiseErr poiseAmgRestrict(const Amg *amg, AmgLevel *l, double a, AmgVec *x, AmgVec *y, const double *skip);
/* For wide vectors, of as many columns as poiseAmgReadyColumns was told. */
PoiseErr poiseAmgCycleColumns(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
PoiseErr poiseAmgCycle(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

#endif

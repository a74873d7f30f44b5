/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with incomplete factors by a library of the device's. */
#ifndef POISE_FACTOR_LIBRARY_H
#define POISE_FACTOR_LIBRARY_H

#include "pc.h"

PoiseErr poiseFactorLibraryFind(PoisePC pc);  /* find the library that options name; local. Without one,
                                                 this and the functions below do nothing */
PoiseErr poiseFactorLibraryCheck(PoisePC pc); /* does the library accept P's present pattern? */
PoiseErr poiseFactorLibraryPlan(PoisePC pc);  /* makes a plan for new factors */
PoiseErr poiseFactorLibraryApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
const char *poiseFactorLibraryName(PoisePC pc); /* "own": none */
void poiseFactorLibraryDrop(PoisePC pc);

#endif

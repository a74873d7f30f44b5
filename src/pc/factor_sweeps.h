/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors by sweeps over all entries at once. */
#ifndef POISE_FACTOR_SWEEPS_H
#define POISE_FACTOR_SWEEPS_H

#include "pc.h"

struct FactorArgs;
PoiseErr poiseFactorSweepsCheck(PoisePC pc);                        /* are they for P's present pattern? */
PoiseErr poiseFactorSweeps(PoisePC pc, const struct FactorArgs *a); /* what kernel factor does, nearly */

#endif

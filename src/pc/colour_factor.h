/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors without fill, of rows in the order of their colours. */
#ifndef POISE_COLOUR_FACTOR_H
#define POISE_COLOUR_FACTOR_H

#include "by_colour.h"
#include "factor_kernels.h"

/* c: sweeps from 0 with omega = 1 and rule->d solve with the factors. rule: as of kernel factor, but for its
   levels and work; its d gets the inverse pivots, and its lu the pivots. New values allocate nothing.
   Local. */
PoiseErr poiseColourFactor(PoisePC pc, const FactorArgs *rule, ByColour *c);

#endif

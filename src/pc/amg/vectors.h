/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cycle works on. */
#ifndef POISE_AMG_VECTORS_H
#define POISE_AMG_VECTORS_H

#include "amg.h"

PoiseErr poiseAmgVectors(PoisePC pc); /* all that the cycle needs is on the device after this */
/* The same of a cycle of so many columns. Collective; agrees. */
PoiseErr poiseAmgReadyColumns(PoisePC pc, int columns);
void poiseAmgVectorsDestroy(AmgLevel *l);
/* Of vectors, and of numbers in fp32. */
void poiseAmgLevelBytes(const AmgLevel *l, PoiseBytes *sum);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The cycle in fp32. */
#ifndef POISE_AMG_NARROW_H
#define POISE_AMG_NARROW_H

#include "amg.h"

/* The numbers of all levels in fp32, if they are asked for and in range; sets single and doubled.
   Collective; the caller agrees. */
PoiseErr poiseAmgNarrow(PoisePC pc);
void poiseAmgSingleDestroy(AmgLevel *l);

#endif

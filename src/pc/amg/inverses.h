/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: approximate inverses that smooth in place of D^-1. */
#ifndef POISE_AMG_INVERSES_H
#define POISE_AMG_INVERSES_H

#include "amg.h"

/* l->lower and l->upper of l->A, or their values, and l->largest, which is not finite if A is not. odd: A is
   not symmetric. Collective; agrees. */
PoiseErr poiseAmgInverses(PoiseContext ctx, AmgLevel *l, bool odd);

#endif

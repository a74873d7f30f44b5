/* SPDX-License-Identifier: BSD-3-Clause */
/* The levels: made, or given new values. */
#ifndef POISE_AMG_HIERARCHY_H
#define POISE_AMG_HIERARCHY_H

#include "pc/pc.h"

PoiseErr poiseAmgBuild(PoisePC pc);
void poiseAmgDestroy(PoisePC pc);

#endif

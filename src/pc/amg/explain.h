/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a solve with amg may have failed. */
#ifndef POISE_AMG_EXPLAIN_H
#define POISE_AMG_EXPLAIN_H

#include "amg.h"

const char *poiseAmgWhyEnded(AmgEnd ended);
PoiseErr poiseAmgExplain(PoisePC pc, char *text, size_t size); /* as PCType's */

/* Did the latest solve take so many iterations that an interpolation of a higher degree might help? */
bool poiseAmgIsSlow(PoisePC pc);

#endif

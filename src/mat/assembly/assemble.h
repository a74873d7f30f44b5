/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries that were added or set, and not assembled (assemble.c). */
#ifndef POISE_MAT_ASSEMBLE_H
#define POISE_MAT_ASSEMBLE_H

#include "mat/object/mat.h"

void poiseMatDropPending(PoiseMat A);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of preonly (see preonly.c). */
#ifndef POISE_PREONLY_PHASES_H
#define POISE_PREONLY_PHASES_H

#include "ksp_phases.h"

PROLOGUE(preonly_end)
{
  poiseFinish(out, REASON_ITS, 1);
  return 0;
}

#endif

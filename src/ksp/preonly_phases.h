/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of preonly (see preonly.c). */
#ifndef POISE_PREONLY_PHASES_H
#define POISE_PREONLY_PHASES_H

#include "ksp_phases.h"

POISE_INLINE int preonly_end_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)a, (void)c;
  poiseFinish(out, REASON_ITS, 1);
  return 0;
}

POISE_INLINE Dots preonly_end_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c, (void)a, (void)i;
  return poiseDots(0, 0, 0);
}

#endif

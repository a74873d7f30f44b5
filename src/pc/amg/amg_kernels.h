/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of a cycle of amg in fp64 and fp32 (amg_step_kernels.h). */
#ifndef POISE_AMG_KERNELS_H
#define POISE_AMG_KERNELS_H

#include "sys/device/kernels.h"

/* The power of 2 that brings *range to 1 to 2, as far as powers are normal; 1 for no range, 0, and what is
   not finite. */
POISE_INLINE double poiseAmgPower(const double *range)
{
  union {
    double value;
    uint64_t bits;
  } u;
  if (!range || !(*range > 0) || !poiseFinite(*range)) return 1;
  u.value = *range;
  uint64_t exponent = u.bits >> 52;
  exponent = exponent < 2 ? 2044 : exponent > 2044 ? 2 : 2046 - exponent;
  u.bits = exponent << 52;
  return u.value;
}

typedef struct AmgClockArgs {
  int64_t *now; /* nanoseconds since some time */
} AmgClockArgs;

#ifdef __cplusplus
#define OVER(n) n
#else
#define OVER(n) NAME(n)
#endif

#define REAL    double
#define NAME(n) n
#include "amg_step_kernels.h"
#undef REAL
#undef NAME

#define REAL    float
#define NAME(n) n##_f32
#include "amg_step_kernels.h"
#undef REAL
#undef NAME
#undef OVER

#endif

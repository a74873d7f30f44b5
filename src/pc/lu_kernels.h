/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense factors with row exchanges (lu.c). */
#ifndef POISE_LU_KERNELS_H
#define POISE_LU_KERNELS_H

#include "sys/device/kernels.h"

/* P A = L U in place, A n x n, dense, row-major: rows k and pivot[k] >= k were exchanged in step k, L's
   diagonal is 1. refused: the first step whose largest pivot was at most zero or not finite, or -1; and that
   pivot. */
typedef struct LuFactorArgs {
  int64_t n;
  int definite; /* no rows are exchanged, and the pivot that is refused is the first that is not > zero */
  double zero, *a;
  int32_t *pivot;
  double *refused;
} LuFactorArgs;

/* y = rows [begin, begin + m) of A^-1 x by these factors, then dots of y; work: n numbers; x: not work */
typedef struct LuSolveArgs {
  int64_t n, begin, m;
  const double *lu, *x, *skip;
  const int32_t *pivot;
  double *work, *y;
  Fuse fuse;
} LuSolveArgs;

#endif

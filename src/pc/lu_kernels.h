/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense factors with row exchanges (lu_dense.c), and sparse ones by a library of the device (lu_device.c). */
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

/* y = rows [begin, begin + m) of A^-1 x by these factors, then dots of y; work: n numbers for each column; x:
   not work; columns > 1: of wide vectors */
typedef struct LuSolveArgs {
  int64_t n, begin, m;
  int columns;
  const double *lu, *x, *skip;
  const int32_t *pivot;
  double *work, *y;
  Fuse fuse;
} LuSolveArgs;

/* A for sparse factors by a library, in the device's memory: n x n, by rows, columns ascending, entries of
   about 1. definite: the upper triangle of one that is symmetric positive definite. */
typedef struct DirectView {
  int64_t n, nz;
  const int32_t *ptr, *col;
  const double *val;
  int definite;
} DirectView;

typedef struct DirectFacts { /* of factors by a library */
  char library[32];          /* its name and version */
  double entries, flops;     /* as Foreseen has them */
  int64_t replaced;          /* pivots that were too small, in place of which others stand */
  int refused;               /* of definite factors: a pivot was not positive */
  int repeats;               /* are their bits the same in every run? */
} DirectFacts;

/* y = scale A^-1 x, as `plan` (LibraryPlan.device) has A's factors; y: not x */
typedef struct DirectSolveArgs {
  int64_t n;
  double scale;
  const void *plan;
  const double *x;
  double *y;
} DirectSolveArgs;

#endif

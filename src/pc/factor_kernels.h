/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors without fill (factor.c), and solves with them by a library (factor_library.c). */
#ifndef POISE_FACTOR_KERNELS_H
#define POISE_FACTOR_KERNELS_H

#include "triangles_kernels.h"

/*
  A + shift I = L U on the pattern of A, that is without fill: L, whose diagonal is 1, and U go where A's
  entries are, the inverse of U's diagonal to d. symmetric: of A only the upper triangle is read, and L =
  (D^-1 U)^T. A pivot is refused, and its d is 0, when it is not finite or |pivot| (sign pivot, if sign is
  not 0) is at most zero, or zero times the sum of the |entries| beside it if relative; replace != 0 is
  added to such pivots instead. Of blocks: L's diagonal are identities, U is without its diagonal, d the
  inverse blocks U_ii, and pivots those of their elimination, with rows exchanged for the largest pivot in a
  block if sign is 0. The rest of a pivot is then the largest of a row of the block. d of a block whose
  pivot was refused is NaN, the number of the pivot in the block, and the pivot.
*/
typedef struct FactorArgs {
  Triangles t;
  Levels levels;                 /* of the lower triangle */
  int symmetric, sign, relative; /* sign: of all pivots; 0: each may have its own */
  double shift, zero, replace;
  const double *a;
  double *lu, *d, *work; /* work: as for a sweep */
  double *refused;       /* the first row, of numbers, whose pivot was refused, or -1; and that pivot */
} FactorArgs;

/* What `factor` makes, not of blocks and of rows that end where the next begins: t.begin has n + 1
   offsets. */
typedef struct FactorView {
  Triangles t;
  const double *lu;
} FactorView;

/* y = U^-1 L^-1 x by a library of the device, as `plan` (LibraryPlan.device) was made for these factors;
   work: n numbers. y: not x */
typedef struct FactorLibraryArgs {
  FactorView f;
  const void *plan;
  const double *x;
  double *work, *y;
} FactorLibraryArgs;

/* *lack = the largest of floor and sum of |a_ij|, j != i, - sign a_ii over the rows */
typedef struct DominanceArgs {
  Triangles t;
  double floor, sign;
  const double *a;
  double *lack;
} DominanceArgs;

#endif

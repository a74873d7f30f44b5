/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors without fill (factor.c), and solves with them by a library (factor_library.c). */
#ifndef POISE_FACTOR_KERNELS_H
#define POISE_FACTOR_KERNELS_H

#include "triangles_kernels.h"

/*
  Kernel factor: A + shift I = L U on the pattern of A, that is without fill. L, whose diagonal is 1, and U go
  where A's entries are; the inverse of U's diagonal goes to d. symmetric: only the upper triangle of A is
  read, and L = (D^-1 U)^T.

  A pivot is refused, and its d is 0, if it is not finite or too small. It is too small if |pivot| <= zero
  (sign pivot <= zero, if sign is not 0). If relative, zero is first multiplied by the sum of the |entries|
  beside the pivot. With replace != 0, that is added to such pivots instead.

  Blocks: the diagonal blocks of L are identities, U is without its diagonal, and d has the inverse blocks
  U_ii. Pivots are those of their elimination; if sign is 0, rows of a block are exchanged for the largest
  pivot. The sum beside a pivot is then the largest of a row of the block. If a pivot was refused, d of its
  block begins with NaN, the number of the pivot in the block, and the pivot.
*/
typedef struct FactorArgs {
  Triangles t;
  Levels levels;                 /* of the lower triangle */
  int symmetric, sign, relative; /* sign: of all pivots; 0: each may have its own */
  int pivots;                    /* lu has the pivots, those of row i at i, and no entries */
  double shift, zero, replace;
  const double *a;
  double *lu, *d, *work; /* work: as for a sweep of a vector; on the host it may be NULL */
  /* by kernel factor_refused, after factor: the first row, of numbers, whose pivot was refused, or -1; and
     that pivot */
  double *refused;
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

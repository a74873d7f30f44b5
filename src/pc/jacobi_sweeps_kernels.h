/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with triangles by a few Jacobi sweeps (jacobi_sweeps.c). */
#ifndef POISE_JACOBI_SWEEPS_KERNELS_H
#define POISE_JACOBI_SWEEPS_KERNELS_H

#include "triangles_kernels.h"

/* y_i = d_i (x_i - sum of val_ij from_j over one strict triangle), then dots of y, in blocks of POISE_BLOCK
   numbers. Rows depend on no others. d: of numbers, not of blocks; NULL: ones. y: not x or from. */
typedef struct JacobiSweepArgs {
  Triangles t;
  int upper;
  const double *val, *d, *x, *from, *skip;
  double *y;
  Fuse fuse;
} JacobiSweepArgs;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks of many sizes (supervariables.c). */
#ifndef POISE_SUPERVARIABLES_KERNELS_H
#define POISE_SUPERVARIABLES_KERNELS_H

#include "mat/csr/csr_view.h"

/* The diagonal blocks of rows start[k] .. start[k + 1), at most 32, inverted: block k < nblock, column-major,
   at d + at[k]. *bad = the first block that is singular or not finite, or -1. */
typedef struct InvertSupervariablesArgs {
  CsrView A;
  int64_t nblock;
  const int32_t *start;
  const int64_t *at;
  double *d, *bad;
} InvertSupervariablesArgs;

/* y_block = D_block x_block for these n = start[nblock] rows, then dots of y */
typedef struct ApplySupervariablesArgs {
  int64_t n, nblock;
  const int32_t *start;
  const int64_t *at;
  const double *d, *x, *skip;
  double *y;
  Fuse fuse;
} ApplySupervariablesArgs;

#endif

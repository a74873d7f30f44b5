/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks of one size (blocks.c). */
#ifndef POISE_BLOCKS_KERNELS_H
#define POISE_BLOCKS_KERNELS_H

#include "sys/device/kernels.h"

/* Invert nblock b x b blocks in place; *bad = the first block that is singular or not finite, or -1. fix: a
   zero 1 x 1 block counts as 1. */
typedef struct InvertBlocksArgs {
  int64_t nblock;
  int b, fix;
  double *d;
  double *bad;
} InvertBlocksArgs;

/* y_block = D_block x_block for n = rows, b x b column-major blocks (d = NULL: y = x), then dots of y. Of
   block_apply_columns: x and y are wide, with so many columns, and d is not NULL. */
typedef struct BlockApplyArgs {
  int64_t n;
  int b, columns;
  const double *d, *x, *skip;
  double *y;
  Fuse fuse;
} BlockApplyArgs;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweeps over rows that depend on each other (triangles.c). */
#ifndef POISE_TRIANGLES_KERNELS_H
#define POISE_TRIANGLES_KERNELS_H

#include "sys/device/kernels.h"

/* The strict triangles of the square block of owned columns inside a rank's CSR: entries [begin_i, diag_i)
   and (diag_i, end_i) of row i, columns ascending. Offsets are int64 if wide, else int32. b != 0: rows,
   columns and entries are blocks, as in CsrView; then what a kernel below does with numbers it does with
   blocks of b x b, b > 1, and vectors have b numbers for each row. */
typedef struct Triangles {
  int64_t n, nz; /* nz: entries of the block */
  int wide, b;
  const void *begin, *diag, *end;
  const int32_t *col;
} Triangles;

POISE_INLINE int64_t poiseOffset(const Triangles *t, const void *offsets, int64_t i)
{
  return t->wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
}

POISE_INLINE void poiseSetOffset(int wide, void *offsets, int64_t i, int64_t k)
{
  if (wide)
    ((int64_t *)offsets)[i] = k;
  else
    ((int32_t *)offsets)[i] = (int32_t)k;
}

/* The first of the ascending columns [k, end) that is at least c. Takes few steps if it is near k. */
POISE_INLINE int64_t poiseSeek(const int32_t *col, int64_t k, int64_t end, int32_t c)
{
  int64_t step = 1, low = k;
  while (low + step < end && col[low + step] < c) low += step, step *= 2;
  int64_t high = low + step < end ? low + step : end;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (col[mid] < c)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* An order of rows that depend on each other: groups g of consecutive rows [first[g], last[g]), to be done
   one by one; the groups of one level, start[l] <= g < start[l + 1], do not depend on each other. */
typedef struct Levels {
  int64_t count, groups; /* count: levels */
  const int32_t *start, *first, *last;
} Levels;

enum { SWEEP_LOWER = 1, SWEEP_UPPER = 2 };

/* y_i = keep y_i + scale d_i (x_i - sum of val_ij y_j over the triangles in parts), row after row, backward
   or forward, so that y_j is new for the rows passed; then dots of y. d NULL: ones; x NULL: zeros; x may be
   y. keep = 0 overwrites whatever y_i held. The dots' blocks are of POISE_BLOCK numbers. columns > 1, of
   sweep_columns: x and y are wide, and the blocks are of POISE_BLOCK rows of them. */
typedef struct SweepArgs {
  Triangles t;
  Levels levels; /* an order with the same result */
  int parts, backward, columns;
  double keep, scale;
  const double *val, *d, *x, *skip;
  double *y, *work; /* work: like y, and one more double, where the device asks for single_rows */
  Fuse fuse;
} SweepArgs;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with wide vectors (several.c). */
#ifndef POISE_CSR_COLUMNS_KERNELS_H
#define POISE_CSR_COLUMNS_KERNELS_H

#include "csri_kernels.h"

/* Y = D (a A [X | ghost] + b Y) with wide vectors: entry (i, j) is at i * columns + j. c says the rest as
   for one vector, of row blocks and fragments, or where c.row_block is NULL of blocks of c.m.rows rows
   that are not cut. c.sum has `columns` numbers for each row of numbers of a fragment. A D has a number
   for each row. */
typedef struct ColumnsMultArgs {
  CsriMultArgs c;
  int64_t columns, even; /* even: rows have about one length (said to GPUs) */
} ColumnsMultArgs;

/* The same in fp32, of all rows of numbers or of blocks, without D and dots (columns_f32.c). */
typedef struct ColumnsMultArgs_f32 {
  CsrMultArgs_f32 m;
  int64_t columns;
} ColumnsMultArgs_f32;

#endif

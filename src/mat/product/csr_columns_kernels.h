/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with wide vectors (several.c). */
#ifndef POISE_CSR_COLUMNS_KERNELS_H
#define POISE_CSR_COLUMNS_KERNELS_H

#include "csri_kernels.h"

/* Y = D (a A [X | ghost] + b Y) with wide vectors: entry (i, j) is at i * columns + j. c says the rest as
   for one vector, of row blocks and fragments, or where c.row_block is NULL of blocks of c.m.rows rows
   that are not cut. c.sum has `columns` numbers for each row of numbers of a fragment. A D has a number
   for each row. even: rows have about one length (said to GPUs). In fp32 without D and dots, and on a host
   by blocks that are not cut (columns_f32.c). */
#define COLUMNS_MULT(suffix)               \
  typedef struct ColumnsMultArgs##suffix { \
    CsriMultArgs##suffix c;                \
    int64_t columns, even;                 \
  } ColumnsMultArgs##suffix;
COLUMNS_MULT()
COLUMNS_MULT(_f32)
#undef COLUMNS_MULT

#endif

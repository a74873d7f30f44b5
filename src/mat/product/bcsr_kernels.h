/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR whose entries are blocks (bcsr.c), and blocks that are transposed. */
#ifndef POISE_BCSR_KERNELS_H
#define POISE_BCSR_KERNELS_H

#include "csri_kernels.h"

/* y = a A [x | ghost] + b y of blocks. EVEN: groups of c.m.rows rows of blocks, as csr_mult's blocks;
   BALANCED: row blocks and fragments, as csri_mult's of which all entries are blocks, and c.sum has b numbers
   for each fragment. The others are a device's own, by groups: the three algorithms of Eberhardt & Hoemmen
   2016. */
enum { BCSR_AUTO, BCSR_EVEN, BCSR_BALANCED, BCSR_BLOCK, BCSR_COLUMN, BCSR_ROW };
typedef struct BcsrMultArgs {
  CsriMultArgs c;
  int64_t form;
} BcsrMultArgs;

/* Block k < n of out is the transpose of block from[k] of x, or, with both widths NULL, of block k. b x b
   numbers each. */
typedef struct BcsrTransposeBlocksArgs {
  int64_t n, b;
  const int64_t *from64;
  const int32_t *from32;
  const double *x;
  double *out;
} BcsrTransposeBlocksArgs;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of what one rank has: C = A B or A^T B (local_product.c). All of it is local. */
#ifndef POISE_LOCAL_PRODUCT_H
#define POISE_LOCAL_PRODUCT_H

#include "mat/csr/local_csr.h"
#include "mat/csr/transpose.h"
#include "spgemm_kernels.h"

typedef struct LocalFactor { /* rows of a factor; lent */
  Csr *csr;                  /* its values; its offsets and columns too, unless there are others: */
  Transposed *turned;        /* the factor is the transpose of csr; NULL: it is not */
  Buffer *ptr, *col; /* rows with more behind them, columns in the order of global numbers; else NULL */
  bool wide;         /* of that ptr */
  Buffer *received;  /* values of those behind; NULL: there are none */
} LocalFactor;

typedef struct LocalProduct {
  LocalFactor A, B;
  int p, q, s;                     /* tiles are p x q and q x s */
  int64_t m, columns, below, nloc; /* rows; as in SpgemmArgs */
  bool any_order;                  /* of C's columns; as in SpgemmArgs */
  bool numbers;                    /* the factors have theirs when C's pattern is made */
  bool made;                       /* so had C, and poiseLocalNumbers need not make them */
  int64_t counts[SPGEMM_COUNTS];   /* of C's rows */
  int64_t products;                /* the most of a row */
} LocalProduct;

/* Make C's offsets, columns and room for its numbers; sets m, nz, wide and nloc of C, which is zero. */
PoiseErr poiseLocalPattern(Device *dev, LocalProduct *p, Csr *C);
/* C's numbers, of that pattern. */
PoiseErr poiseLocalNumbers(Device *dev, LocalProduct *p, Csr *C);
/* Offsets from the lengths of m rows, on the device: sets ptr, m, nz and wide of C. Waits for nz. */
PoiseErr poiseRowOffsets(Device *dev, int64_t m, const int32_t *length, Csr *C);
/* Their sum alone. Waits for it. */
PoiseErr poiseRowSum(Device *dev, int64_t m, const int32_t *length, int64_t *sum);

#endif

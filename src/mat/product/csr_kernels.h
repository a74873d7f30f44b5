/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of CSR by row blocks, and its diagonal blocks (csr.c). */
#ifndef POISE_CSR_KERNELS_H
#define POISE_CSR_KERNELS_H

#include "index16_kernels.h"

enum { MAX_SINGLE_BLOCK = 8 };

/* y = D (a A [x | ghost] + b y) + add on blocks order[0 .. nblock) of `rows` rows (order NULL: first,
   first + 1, ...), dots of those rows. D = diag(scale), NULL: the identity. rows is what the device chose for
   this pattern; lanes: log2 of the threads of a tile that share a row; ranges: a launch has a range of the
   blocks that there are; tile: most nonzeros of a block (0 when rows is POISE_BLOCK); vary: lengths of rows
   often differ from those before (said to the host); spread: lines of x for 100 neighbouring entries (said to
   GPUs). index16: of these blocks. In BcsrMultArgs of blocks: rows counts rows of blocks; y, scale and the
   dots are of numbers. In fp32 blocks have MAX_SINGLE_BLOCK rows at most.
   Of ranges alone: add, NULL: 0; also = the y before + the y behind, whose dots are then formed, NULL: it is
   not made.
   poiseBlockOf: the row block with this number in a launch. */
#define CSR_MULT(Real, suffix)                                                                         \
  typedef struct CsrMultArgs##suffix {                                                                 \
    CsrView##suffix A;                                                                                 \
    int rows, lanes, ranges, vary;                                                                     \
    int64_t first, nblock, tile, x_lines;                                                              \
    const int32_t *order;                                                                              \
    ScalarRef a, b;                                                                                    \
    const Real *x, *ghost, *add;                                                                       \
    const double *skip, *scale;                                                                        \
    Real *y, *also;                                                                                    \
    Fuse fuse;                                                                                         \
    Index16View index16;                                                                               \
  } CsrMultArgs##suffix;                                                                               \
                                                                                                       \
  POISE_INLINE int64_t POISE_TYPED(poiseBlockOf, suffix)(const CsrMultArgs##suffix *a, int64_t number) \
  {                                                                                                    \
    return a->order ? a->order[number] : a->first + number;                                            \
  }
CSR_MULT(double, )
CSR_MULT(float, _f32)
#undef CSR_MULT

/* y = A x, x with all columns in one array, by a library of the device, as `plan` (LibraryPlan.device) was
   made for this A. */
typedef struct CsrLibraryArgs {
  CsrView A;
  const void *plan;
  const double *x;
  double *y;
} CsrLibraryArgs;

/* The b x b diagonal blocks of local rows, column-major, absent entries 0: block k at d + k b b. */
typedef struct CsrDiagonalArgs {
  CsrView A;
  int b;
  double *d;
} CsrDiagonalArgs;

#endif

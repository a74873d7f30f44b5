/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of sparse matrices by others than the library: what multiply.c asks of cuSPARSE. */
#ifndef MULTIPLY_H
#define MULTIPLY_H

#include <stdint.h>

typedef struct Factor { /* CSR in host memory, m x n */
  int64_t m, n, nz;
  const int32_t *ptr, *col;
  const double *val;
} Factor;

/* Each returns NULL, or what went wrong, and has waited. */
typedef struct Multiplier {
  const char *(*open)(const Factor *A, const Factor *B, void **product); /* copies of both to the GPU */
  const char *(*whole)(void *product);                                   /* C = A B, made anew */
  const char *(*plan)(void *product);                                    /* what `numbers` needs */
  const char *(*numbers)(void *product);                                 /* of a C that keeps its pattern */
  /* C's entries, the largest sum of magnitudes of its rows, and bytes of buffers that the GPU holds */
  const char *(*result)(void *product, int64_t *nz, double *norm, double *bytes);
  void (*close)(void *product);
} Multiplier;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const Multiplier multiply_cusparse;

#endif

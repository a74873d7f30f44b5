/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with several vectors at once by others than the library: what spmm.c asks of cuSPARSE. */
#ifndef SPMM_H
#define SPMM_H

#include <stdint.h>

typedef struct SpmmMatrix { /* CSR in host memory, n x n */
  int64_t n, nz;
  const int32_t *ptr, *col;
  const double *val;
} SpmmMatrix;

/* Each returns NULL, or what went wrong, and has waited. */
typedef struct SpmmPeer {
  /* bytes per second that cudaMemcpyAsync reads and writes */
  const char *(*copy)(double *rate);
  /* copies to the GPU; x: n numbers of each of `most` columns */
  const char *(*open)(const SpmmMatrix *A, int most, const double *x, void **peer);
  /* Y = A X with the first n k numbers of x, rows interleaved: the seconds of its fastest algorithm, by the
     median of so many repeats, what that is called, and Y */
  const char *(*best)(void *peer, int k, int repeats, double *seconds, const char **algorithm, double *y);
  void (*close)(void *peer);
} SpmmPeer;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const SpmmPeer spmm_cusparse;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The same work done by PETSc, in the same process on the same ranks (cpu_petsc.c, built with
   POISE_PETSC). */
#ifndef CPU_PEERS_H
#define CPU_PEERS_H

#include <stdint.h>

#include "common/problems.h"

typedef struct Theirs { /* every function ends the process when PETSc reports an error */
  const char *version;
  void (*start)(void);
  void (*stop)(void);
  void (*create)(const Rows *rows); /* a matrix from CSR arrays, with vectors and a CG + Jacobi solver */
  void (*mult)(void);
  void (*cg)(int iterations); /* exactly so many, from x = 0 with b = A 1 */
  /* a matrix of n of N rows, preallocated with so many entries in each row in and outside the diagonal
     block */
  void (*reserve)(int64_t n, int64_t N, const int32_t *inside, const int32_t *outside);
  void (*add)(int k, const int64_t *rows, const double *v); /* a dense k x k block */
  void (*assemble)(void);
  void (*zero)(void);
  void (*coo_pattern)(int64_t n, int64_t N, int64_t count, const int64_t *rows, const int64_t *cols);
  void (*coo_values)(const double *v);
  void (*destroy)(void); /* whatever was created since the last time */
} Theirs;

extern const Theirs theirs_petsc;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of this adapter share. Each runs on devices host and mock. */
#ifndef POISE_SUNDIALS_TEST_H
#define POISE_SUNDIALS_TEST_H

#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include <nvector/nvector_parallel.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "poise_sundials.h"

/* What a test works with: all ranks of MPI_COMM_WORLD, or this one alone. */
typedef struct Case {
  PoiseContext ctx;
  SUNContext sun;
  MPI_Comm comm;
} Case;

typedef struct Test {
  const char *name;
  void (*run)(const Case *c);
  int serial; /* in a context of one rank, and only if MPI has one */
} Test;

/* One table per file; ends with a NULL name. */
extern const Test linear_tests[], matrix_tests[], integrator_tests[];

int Check(int holds, const char *file, int line, const char *text);
/* The value of an expression is 1 if it holds; else the failure is recorded. */
#define CHECK(holds) Check(!!(holds), __FILE__, __LINE__, #holds)
/* a is b; else both are printed */
int CheckInt(long long a, long long b, const char *file, int line, const char *text);
#define CHECK_INT(a, b) CheckInt(a, b, __FILE__, __LINE__, #a " == " #b)
/* The latest error of Poise has these words. */
int CheckWords(const char *words, const char *file, int line);
#define CHECK_WORDS(words) CheckWords(words, __FILE__, __LINE__)

/* ---- allocations.c --------------------------------------------------------------------------- */

/* From here on the n-th allocation of this process fails (0: none). Sizes are noted, and blocks counted. */
void WatchAllocations(int n);
/* Until here. Nonzero if one has failed. */
int AllocationFailed(void);
/* Of the latest watch: bytes of the largest block, and how many more blocks there were at its end. */
size_t LargestAllocation(void);
int LeftAllocations(void);
/* Nonzero: this build can do that. */
int CanWatchAllocations(void);

/* ---- test_linear.c --------------------------------------------------------------------------- */

/* A new SUNSparseMatrix of a dense one, n x n by rows, without its zeros. */
SUNMatrix SparseOf(const Case *c, int n, const double *dense);

#endif

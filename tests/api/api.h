/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the library promises, tested on an installed copy through <poise.h> alone, with dense arithmetic as the
  reference. A test is written once, and is called on every rank of every configuration. Configurations are
  each available device with 1 to 4 thread ranks, or with the ranks of mpiexec. A test makes the same dense
  matrix on every rank from a seed, and a PoiseMat of it, and compares. There is one file for each part of the
  interface. They share only this header.
*/
#ifndef POISE_API_H
#define POISE_API_H

#include <math.h>
#include <poise.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- tests and checks ------------------------------------------------------------------------ */

typedef struct Test {
  const char *name;
  void (*run)(PoiseContext ctx);
} Test;

/* One table per file; ends with a NULL name. */
extern const Test vector_tests[], product_tests[], assembly_tests[], change_tests[], method_tests[],
    solver_tests[], pc_tests[], nested_tests[], file_tests[], option_tests[], error_tests[], rank_tests[],
    arrange_tests[], report_tests[];

/*
  Checks are expressions: 1 when they hold, else the failure is recorded, with the case that was set last.
  CHECK_ERR: the call fails with this code, here or on another rank, and its message has these words ("" for
  any).
  CHECK_NEAR: |a - b| <= tol; fails on NaN.
*/
#define CHECK(holds)                 ApiCheck(!!(holds), __FILE__, __LINE__, #holds)
#define CHECK_OK(call)               ApiCheckOk((call), __FILE__, __LINE__, #call)
#define CHECK_ERR(call, code, words) ApiCheckErr((call), code, words, __FILE__, __LINE__, #call)
#define CHECK_NEAR(a, b, tol)        ApiCheckNear(a, b, tol, __FILE__, __LINE__, #a " ~ " #b)

#define CHECK_INT(a, b) ApiCheckInt((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)

int ApiCheck(int holds, const char *file, int line, const char *text);
int ApiCheckOk(PoiseErr e, const char *file, int line, const char *text);
int ApiCheckErr(PoiseErr e, PoiseErr code, const char *words, const char *file, int line, const char *text);
int ApiCheckNear(double a, double b, double tol, const char *file, int line, const char *text);
int ApiCheckInt(long long a, long long b, const char *file, int line, const char *text);

/* What this rank works on, for the words of a failure. */
void ApiCase(const char *format, ...) POISE_PRINTF(1, 2);
/* Values that other devices and numbers of ranks must find too, within tol: the first to come keep them. */
void ApiSame(PoiseContext ctx, const char *key, int n, const double *v, double tol);
const char *ApiDevice(PoiseContext ctx);
/* A name of a file in the working folder that no other configuration uses. */
const char *ApiPath(PoiseContext ctx, const char *name, char path[256]);
/* Rank 0 writes n bytes; all ranks wait. */
void ApiWrite(PoiseContext ctx, const char *path, const void *bytes, size_t n);
/* What the library printed between the two, on rank 0. */
FILE *ApiPrintBegin(PoiseContext ctx);
void ApiPrintEnd(PoiseContext ctx, FILE *out, char *text, size_t size);

/* ---- dense reference ------------------------------------------------------------------------- */

/* The i-th number of a stream, in [-1, 1): the same on every rank. */
double Random(uint64_t seed, uint64_t i);

/* a[i * n + j] of m x n; has: entries that are stored. */
typedef struct Dense {
  int m, n;
  double *a;
  char *has;
} Dense;

Dense DenseNew(int m, int n);
Dense DenseCopy(const Dense *D);
void DenseFree(Dense *D);
void DenseSet(Dense *D, int i, int j, double v);
void DenseMult(const Dense *D, const double *x, double *y);
void DenseMultTranspose(const Dense *D, const double *x, double *y);
Dense DenseTranspose(const Dense *D);
Dense DenseProduct(const Dense *A, const Dense *B);
/* x = D^-1 b by elimination with pivots; false: singular. */
bool DenseSolve(const Dense *D, const double *b, double *x);
long DenseCount(const Dense *D);
double Dot(int n, const double *x, const double *y);
double Norm(int n, const double *x);

/* Awkward shapes, by number; their block size, and whether they are square. */
enum { SHAPES = 14 };
Dense Shape(int k, int *b);
/* Grids for solvers: 0 SPD, 1 symmetric indefinite, 2 not symmetric; n rows, a multiple of 4. */
enum { SPD, INDEFINITE, CONVECTION, KINDS };
Dense System(int kind, int n);

/* ---- objects of the library ------------------------------------------------------------------ */

/* Local size on this rank: 0 the library's, 1 nothing on rank 0, 2 nothing but on the last rank; whole
   blocks of b. */
enum { LAYOUTS = 3 };
PoiseInt Share(PoiseContext ctx, int N, int b, int layout);
PoiseVec VecOf(PoiseContext ctx, PoiseInt n, int N, const double *v);
void VecFill(PoiseVec x, const double *v);
/* All entries on every rank. */
void VecAll(PoiseVec x, double *v);
/* x has these entries, within tol of the largest. */
int VecIs(PoiseVec x, const double *v, double tol);

/* The local part of D as CSR; free with CSRFree. order: 0 ascending, 1 descending columns. */
typedef struct CSR {
  int64_t *ptr, *col;
  int32_t *ptr32, *col32;
  double *val;
} CSR;
CSR CSROf(const Dense *D, PoiseInt begin, PoiseInt m, int base, int order);
void CSRFree(CSR *c);
PoiseMat MatOf(PoiseContext ctx, const Dense *D, int b, int layout);
/* Every entry, and what is stored, by PoiseMatCopyCSR; type bcsr stores whole blocks. */
int MatIs(PoiseMat A, const Dense *D, double tol);
/* A x, A^T x of a square A, and every entry; A is at most 150 x 150. */
void MatWorks(PoiseMat A, const Dense *D);

#endif

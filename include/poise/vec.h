/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Vectors of doubles, distributed by contiguous ranges of rows over the ranks. They live on the context's
  device. x, y and w are vectors of the same sizes on every rank; else POISE_ERR_SIZE with both sizes. Norms
  and dots are global sums, whose bits do not depend on threads.

  All functions are collective unless said otherwise. Functions without a global result (PoiseVecSet to
  PoiseVecReciprocal) do not communicate, so only the ranks that have an error return it.
*/
#ifndef POISE_VEC_H
#define POISE_VEC_H

#include "sys.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PoiseVec_s *PoiseVec;

typedef enum PoiseNorm {
  POISE_NORM_1,
  POISE_NORM_2,
  POISE_NORM_INF,
  POISE_NORM_FROBENIUS
} PoiseNorm; /* POISE_NORM_FROBENIUS: only of matrices */

#define POISE_DECIDE ((PoiseInt)(-1)) /* a local size that the library chooses */

/* A vector of n local entries of N global ones, all 0. One of the two sizes may be POISE_DECIDE. */
POISE_API PoiseErr PoiseVecCreate(PoiseContext ctx, PoiseInt n, PoiseInt N, PoiseVec *x);
/* The same over the user's array of n doubles in host memory, copied, adopted or borrowed. */
POISE_API PoiseErr PoiseVecCreateArray(PoiseContext ctx, PoiseInt n, PoiseInt N, double *array, PoiseOwn own,
                                       PoiseVec *x);
/* The same over an array in the device's memory (cudaMalloc; on the host device host memory). It is used
   in place, unless `own` is POISE_COPY. An adopted array is freed with cudaFree. A borrowed array holds
   the vector's entries whenever a library call has returned, in the order of the stream
   (PoiseInit.stream); the host need not have waited. A pointer to anything but device memory is
   POISE_ERR_ARG. */
POISE_API PoiseErr PoiseVecCreateDeviceArray(PoiseContext ctx, PoiseInt n, PoiseInt N, double *array,
                                             PoiseOwn own, PoiseVec *x);
/* A vector of x's sizes and columns; its entries are 0. */
POISE_API PoiseErr PoiseVecDuplicate(PoiseVec x, PoiseVec *y);
/*
  Several columns in one vector, such as right-hand sides: k of them, 1 to 32. Entry i of column j of this
  rank is at [i k + j] of its arrays, on each device. Set, SetRandom, Copy, Scale, AXPY to MAXPY, Pointwise...
  and Reciprocal treat all columns alike, and want vectors of as many. Values, sums and files are of vectors
  of one column; for others they are POISE_ERR_ARG. n and N are as for PoiseVecCreate; k is the same on all
  ranks.
*/
POISE_API PoiseErr PoiseVecCreateBlock(PoiseContext ctx, PoiseInt n, PoiseInt N, int k, PoiseVec *x);
/* The same over the user's array of n k doubles, by rows as above: as PoiseVecCreateArray and
   PoiseVecCreateDeviceArray. An array by columns is copied: PoiseVecSetColumns. */
POISE_API PoiseErr PoiseVecCreateBlockArray(PoiseContext ctx, PoiseInt n, PoiseInt N, int k, double *array,
                                            PoiseOwn own, PoiseVec *x);
POISE_API PoiseErr PoiseVecCreateBlockDeviceArray(PoiseContext ctx, PoiseInt n, PoiseInt N, int k,
                                                  double *array, PoiseOwn own, PoiseVec *x);
POISE_API int PoiseVecColumns(PoiseVec x); /* k; 1 of a vector that was not made as a block; not collective */
/* Copy all columns from or to an array by columns, column j at array + j ld, ld >= n; in the memory of the
   host or of the device. On a device the copy is in the order of PoiseStream. Not collective. */
POISE_API PoiseErr PoiseVecSetColumns(PoiseVec x, PoiseInt ld, const double *array);
POISE_API PoiseErr PoiseVecGetColumns(PoiseVec x, PoiseInt ld, double *array);
/* Copy column j of `wide`, counted from 0, to or from x, a vector of one column and as many rows. Not
   collective. */
POISE_API PoiseErr PoiseVecGetColumn(PoiseVec wide, int j, PoiseVec x);
POISE_API PoiseErr PoiseVecSetColumn(PoiseVec wide, int j, PoiseVec x);
/* dots[j] = (x_j, y_j), norms[j] = |x_j|, of each of the k columns. */
POISE_API PoiseErr PoiseVecColumnDots(PoiseVec x, PoiseVec y, double *dots);
POISE_API PoiseErr PoiseVecColumnNorms(PoiseVec x, double *norms);
/* Drop a reference, and null the pointer. */
POISE_API PoiseErr PoiseVecDestroy(PoiseVec *x);

POISE_API PoiseInt PoiseVecSize(PoiseVec x); /* global entries; not collective */
/* this rank's entries; not collective */
POISE_API PoiseInt PoiseVecLocalSize(PoiseVec x);
/* this rank's rows, [*begin, *end); not collective */
POISE_API void PoiseVecRange(PoiseVec x, PoiseInt *begin, PoiseInt *end);
/* the context that x was made in; not collective */
POISE_API PoiseContext PoiseVecContext(PoiseVec x);

/* The n = PoiseVecLocalSize local entries on the host. Read gives the old content. Write: the caller
   writes every entry, and the old content is undefined. Update: the caller reads and writes. Give each
   array back with PoiseVecRestore before the next library call on x. Not collective. */
POISE_API PoiseErr PoiseVecGetRead(PoiseVec x, const double **array);
POISE_API PoiseErr PoiseVecGetWrite(PoiseVec x, double **array);
POISE_API PoiseErr PoiseVecGetUpdate(PoiseVec x, double **array);
/* The same in the memory of the device, for an application's own kernels; on the host device the functions
   above. Entries are there in the order of PoiseStream, so kernels in this stream need no wait. Those in
   another wait for this one (PoiseWait, or an event), and are done when the array is given back. */
POISE_API PoiseErr PoiseVecGetDeviceRead(PoiseVec x, const double **array);
POISE_API PoiseErr PoiseVecGetDeviceWrite(PoiseVec x, double **array);
POISE_API PoiseErr PoiseVecGetDeviceUpdate(PoiseVec x, double **array);
/* Give an array back. array: the address of the pointer that Get gave, which is nulled. */
POISE_API PoiseErr PoiseVecRestore(PoiseVec x, void *array);

/* Copy the entries to the device, so that their next use there copies nothing. Needed only with
   -device_forbid_copies, which refuses a b on the host. Not collective. */
POISE_API PoiseErr PoiseVecToDevice(PoiseVec x);

/*
  x_i += v_k (or = v_k) for i = rows[k], global rows of any rank. Negative rows are ignored. Values of other
  ranks' rows travel at PoiseVecAssemble. If several ranks set an entry, one of the values remains, the same
  in every run. Not collective.

  Mixing Set and Add without an Assemble between them is POISE_ERR_STATE. A row out of range is POISE_ERR_ARG,
  and nothing of that call is taken. The failure of such a call is kept: the next Assemble fails with it on
  all ranks. So ranks need not agree on it first. The Assemble after that one continues, without the values of
  the failed call.
*/
POISE_API PoiseErr PoiseVecAddValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
POISE_API PoiseErr PoiseVecSetValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
POISE_API PoiseErr PoiseVecAssemble(PoiseVec x);
/* Number rows of any rank for the functions below: local number i of 0 .. n - 1 stands for global row
   rows[i]. Negative ones are ignored. Copied. */
POISE_API PoiseErr PoiseVecSetLocalToGlobal(PoiseVec x, PoiseInt n, const PoiseInt *rows);
/* As above, with rows numbered by the map. Not collective. */
POISE_API PoiseErr PoiseVecAddValuesLocal(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
POISE_API PoiseErr PoiseVecSetValuesLocal(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
/* v[k] = x_i for i = rows[k], global rows of any rank, which may repeat. v[k] is unchanged if rows[k] < 0.
   Each rank asks for rows of its own choice, e.g. those of the nodes of its elements. */
POISE_API PoiseErr PoiseVecGetValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, double *v);

POISE_API PoiseErr PoiseVecSet(PoiseVec x, double a); /* x = a */
/* x_i in [-1, 1), the same on any number of ranks: of the seed and the global row */
POISE_API PoiseErr PoiseVecSetRandom(PoiseVec x, uint64_t seed);
POISE_API PoiseErr PoiseVecCopy(PoiseVec x, PoiseVec y); /* y = x */
/* x = a x (a = 0: 0) */
POISE_API PoiseErr PoiseVecScale(PoiseVec x, double a);
POISE_API PoiseErr PoiseVecAXPY(PoiseVec y, double a, PoiseVec x); /* y = a x + y */
POISE_API PoiseErr PoiseVecAYPX(PoiseVec y, double a, PoiseVec x); /* y = x + a y */
/* y = a x + b y (b = 0: a x) */
POISE_API PoiseErr PoiseVecAXPBY(PoiseVec y, double a, double b, PoiseVec x);
POISE_API PoiseErr PoiseVecWAXPY(PoiseVec w, double a, PoiseVec x, PoiseVec y); /* w = a x + y */
/* y += sum_j a_j x_j */
POISE_API PoiseErr PoiseVecMAXPY(PoiseVec y, int k, const double *a, const PoiseVec *x);
POISE_API PoiseErr PoiseVecPointwiseMult(PoiseVec w, PoiseVec x, PoiseVec y);   /* w_i = x_i y_i */
POISE_API PoiseErr PoiseVecPointwiseDivide(PoiseVec w, PoiseVec x, PoiseVec y); /* w_i = x_i / y_i */
POISE_API PoiseErr PoiseVecReciprocal(PoiseVec x);                              /* x_i = 1 / x_i */

POISE_API PoiseErr PoiseVecDot(PoiseVec x, PoiseVec y, double *dot); /* (x, y) */
/* (x_j, y), one pass over y */
POISE_API PoiseErr PoiseVecMDot(PoiseVec y, int k, const PoiseVec *x, double *dots);
/* The norm 1, 2 or infinity of x. Correct also for entries whose squares under- or overflow: the 2-norm then
   takes two more passes. */
POISE_API PoiseErr PoiseVecNorm(PoiseVec x, PoiseNorm type, double *norm);
/* the sum of all entries */
POISE_API PoiseErr PoiseVecSumEntries(PoiseVec x, double *sum);
/* y += a x and (y, y) in one pass. */
POISE_API PoiseErr PoiseVecAXPYDot(PoiseVec y, double a, PoiseVec x, double *yy);
/* (x, y) and (y, y) in one pass. */
POISE_API PoiseErr PoiseVecDotNorm2(PoiseVec x, PoiseVec y, double *xy, double *yy);

/* 8 bytes per entry on each side (host, device) on which the vector has been used. Not collective. */
POISE_API PoiseErr PoiseVecBytes(PoiseVec x, PoiseBytes *bytes);
/* The same of a vector with n entries on this rank that a solver or an SpMV uses. It is on the device, and
   also on the host if that reads it. Not collective. */
POISE_API PoiseErr PoiseVecPredictBytes(PoiseContext ctx, PoiseInt n, PoisePrediction *p);
/* Print size, layout, device, bytes. */
POISE_API PoiseErr PoiseVecView(PoiseVec x);
/* Write PETSc binary if the name ends in ".petsc" or ".bin", else a Matrix Market array (n x 1). ".gz"
   behind it compresses by gzip. The file appears whole or not at all. See PoiseMatSave. */
POISE_API PoiseErr PoiseVecSave(PoiseVec x, const char *path);
/* The one column of a Matrix Market file, where entries that it does not give are 0; or the first vector
   of a PETSc binary file, which may follow a matrix. See PoiseMatLoad. n and N are as for PoiseVecCreate;
   both may be POISE_DECIDE. POISE_ERR_SIZE if the file has other sizes. */
POISE_API PoiseErr PoiseVecLoad(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x);

#ifdef __cplusplus
}
#endif

#endif

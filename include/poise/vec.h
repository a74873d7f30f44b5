/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Vectors of doubles, distributed by contiguous ranges of rows over the ranks, living on the context's device.
  x, y, w: vectors of the same sizes on every rank (else POISE_ERR_SIZE with both sizes). Norms and dots are
  global sums whose bits do not depend on threads. All functions are collective unless said otherwise; those
  without a global result (PoiseVecSet to PoiseVecReciprocal) do not communicate, so that an error in them is
  returned by the ranks that have it.
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
} PoiseNorm; /* the last: matrices */

#define POISE_DECIDE ((PoiseInt)(-1)) /* a local size that the library chooses */

/* n local entries of N global ones; one of them may be POISE_DECIDE. Entries are 0. */
POISE_API PoiseErr PoiseVecCreate(PoiseContext ctx, PoiseInt n, PoiseInt N, PoiseVec *x);
/* The same over the user's array of n doubles (host memory), copied, adopted or borrowed. */
POISE_API PoiseErr PoiseVecCreateArray(PoiseContext ctx, PoiseInt n, PoiseInt N, double *array, PoiseOwn own,
                                       PoiseVec *x);
/* The same over an array in the device's memory (cudaMalloc; on the host device host memory), which is used
   in place: nothing is copied but with POISE_COPY. Adopted, it is freed with cudaFree. Borrowed, it holds the
   vector's entries whenever a library call has returned, in the order of the stream (PoiseInit.stream), which
   the host need not have waited for. A pointer to something else is POISE_ERR_ARG. */
POISE_API PoiseErr PoiseVecCreateDeviceArray(PoiseContext ctx, PoiseInt n, PoiseInt N, double *array,
                                             PoiseOwn own, PoiseVec *x);
/* A vector of x's sizes; its entries are 0. */
POISE_API PoiseErr PoiseVecDuplicate(PoiseVec x, PoiseVec *y);
POISE_API PoiseErr PoiseVecDestroy(PoiseVec *x);

POISE_API PoiseInt PoiseVecSize(PoiseVec x); /* global entries; not collective */
/* this rank's entries; not collective */
POISE_API PoiseInt PoiseVecLocalSize(PoiseVec x);
/* this rank's rows; not collective */
POISE_API void PoiseVecRange(PoiseVec x, PoiseInt *begin, PoiseInt *end);
POISE_API PoiseContext PoiseVecContext(PoiseVec x);

/* Local entries on the host, n = PoiseVecLocalSize; not collective. Give each back with the matching Restore
   before the next library call on x. Read: old content. Write: every entry will be written (old content
   undefined). Update: both. */
POISE_API PoiseErr PoiseVecGetRead(PoiseVec x, const double **array);
POISE_API PoiseErr PoiseVecGetWrite(PoiseVec x, double **array);
POISE_API PoiseErr PoiseVecGetUpdate(PoiseVec x, double **array);
POISE_API PoiseErr PoiseVecRestore(PoiseVec x, void *array); /* address of the pointer, which is nulled */

/* Bring the entries to the device now, so that what uses them next copies nothing. Only
   -device_forbid_copies, to which b on the host is a mistake, makes this necessary. Not collective. */
POISE_API PoiseErr PoiseVecToDevice(PoiseVec x);

/*
  x_i += v_k (or = v_k) for i = rows[k], global rows of any rank; negative rows are ignored. Values of other
  ranks' rows travel at PoiseVecAssemble; of values that several ranks set, one remains, the same in every
  run. Not collective. Mixing Set and Add before an Assemble is POISE_ERR_STATE; a row out of range is
  POISE_ERR_ARG and nothing is taken. What such a call returns is kept: the next Assemble fails with it on all
  ranks, so that ranks need not agree before they meet there; the one after it goes on without what that call
  was to give.
*/
POISE_API PoiseErr PoiseVecAddValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
POISE_API PoiseErr PoiseVecSetValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
POISE_API PoiseErr PoiseVecAssemble(PoiseVec x);
/* This rank's own numbers 0 .. n - 1 stand for these global rows (of any rank; negative: ignored). Copied. */
POISE_API PoiseErr PoiseVecSetLocalToGlobal(PoiseVec x, PoiseInt n, const PoiseInt *rows);
/* As above, with rows numbered by the map. Not collective. */
POISE_API PoiseErr PoiseVecAddValuesLocal(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
POISE_API PoiseErr PoiseVecSetValuesLocal(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v);
/* v[k] = x_i for i = rows[k], global rows of any rank, each as often as wanted; v[k] is left alone where
   rows[k] < 0. Each rank asks for rows of its own choice, e.g. those of the nodes of its elements. */
POISE_API PoiseErr PoiseVecGetValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, double *v);

POISE_API PoiseErr PoiseVecSet(PoiseVec x, double a); /* x = a */
/* [-1, 1), by global row */
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
/* Also of entries whose squares under- or overflow: the 2-norm then takes two more passes. */
POISE_API PoiseErr PoiseVecNorm(PoiseVec x, PoiseNorm type, double *norm);
POISE_API PoiseErr PoiseVecSumEntries(PoiseVec x, double *sum);
/* y += a x and (y, y) in one pass. */
POISE_API PoiseErr PoiseVecAXPYDot(PoiseVec y, double a, PoiseVec x, double *yy);
/* (x, y) and (y, y) in one pass. */
POISE_API PoiseErr PoiseVecDotNorm2(PoiseVec x, PoiseVec y, double *xy, double *yy);

/* 8 per entry on each side on which the vector has been used. Not collective. */
POISE_API PoiseErr PoiseVecBytes(PoiseVec x, PoiseBytes *bytes);
/* The same of a vector with n entries on this rank which a solver or a product uses: on the device, and
   perhaps on the host too, if that looks at it. Not collective. */
POISE_API PoiseErr PoiseVecPredictBytes(PoiseContext ctx, PoiseInt n, PoisePrediction *p);
/* Print size, layout, device, bytes. */
POISE_API PoiseErr PoiseVecView(PoiseVec x);
/* PETSc binary when the name ends in ".petsc" or ".bin", else a Matrix Market array (n x 1); by gzip with
   ".gz" behind it. The file appears whole or not at all. See PoiseMatSave. */
POISE_API PoiseErr PoiseVecSave(PoiseVec x, const char *path);
/* The one column of a Matrix Market file (entries that it does not give are 0), or the first vector of a
   PETSc binary file, also behind a matrix; see PoiseMatLoad. n, N: as for PoiseVecCreate; both may be
   POISE_DECIDE. POISE_ERR_SIZE when the file has other sizes. */
POISE_API PoiseErr PoiseVecLoad(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x);

#ifdef __cplusplus
}
#endif

#endif

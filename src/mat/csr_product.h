/* SPDX-License-Identifier: BSD-3-Clause */
/* What types with entries share: data that theirs begin with, and products (csr.c). */
#ifndef POISE_MAT_CSR_PRODUCT_H
#define POISE_MAT_CSR_PRODUCT_H

#include "csr_kernels.h"
#include "mat.h"
#include "transpose.h"

/* Rows in windows and longer rows in pieces (windows.h). Who cuts otherwise sets n and limit before, and parts and ninterior where blocks
   of rows stand for windows. */
typedef struct Windows {
  int64_t n, npiece, limit; /* windows; pieces; entries from which a row is cut */
  int64_t parts, ninterior; /* windows, or blocks, of a product; those without ghosts */
  Buffer window, first, part, sum, arrived, order;
} Windows;

typedef struct CsrData {
  int64_t pattern;      /* of the matrix that by_column was made for; 0: it was not */
  Transposed by_column; /* made for the first transpose product */
  Windows columns;      /* of it; none (n = 0) where nothing is to be balanced */
  LibraryPlan plan;     /* of a library */
  int64_t planned;      /* the pattern it was made for; 0: there is none */
  Buffer whole;         /* x for a library on several ranks: [owned | ghosts] */
} CsrData;

typedef enum { WHOLE, INTERIOR, REST } ProductPart;
typedef PoiseErr PartOfProduct(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part);
/* The product by one call for all of it, or on several ranks by two, so that what needs no ghosts runs while they travel. Unless it is
   the REST, the call fills in the arguments, of which m is the beginning. */
PoiseErr poiseCsrProduct(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, PartOfProduct *call);
PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m);          /* the blocks of A->csr in that part */
PoiseErr poiseCsrArguments(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m); /* matrix and vectors */
PoiseErr poiseCsrMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y);
PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d);
void poiseCsrDataBytes(PoiseMat A, PoiseBytes *sum);
void poiseCsrDataPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p);
void poiseCsrDataDestroy(PoiseMat A);

/* csri.c: entries of a row that data's options (NULL: the defaults) have it cut, of so many rows and entries in all. */
int64_t poiseCsriLimit(const Device *dev, int64_t size, const void *data);

/* csr.c: do data's options ask for columns of 16 bits? */
bool poiseCsrAsksIndex16(const void *data);

PoiseErr poiseMatSetLibrary(PoiseMat A, int library); /* csr.c. Collective; agrees */

#endif

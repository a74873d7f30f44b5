/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix's entries on the host (entries.c). */
#ifndef POISE_MAT_ENTRIES_H
#define POISE_MAT_ENTRIES_H

#include "mat/object/mat.h"

typedef struct HostCsr { /* host pointers to A's arrays */
  const void *ptr;
  const int32_t *col;
  double *val;
} HostCsr;

PoiseErr poiseMatRead(PoiseMat A, HostCsr *h);        /* of a usable stored matrix; val must not be written */
PoiseErr poiseMatReadEntries(PoiseMat A, HostCsr *h); /* the same, and they may be blocks */
/* for an assembled matrix, without the values, which are not moved */
PoiseErr poiseMatPattern(PoiseMat A, HostCsr *h);
PoiseErr poiseMatUpdate(
    PoiseMat A,
    HostCsr *h); /* as poiseMatReadEntries; val may be changed; the caller counts A->version.values */
/* The place of entry (local row, global column), or -1. ptr and col are host pointers of the CSR. */
int64_t poiseCsrFind(const PoiseMat A, const void *ptr, const int32_t *col, int64_t row, PoiseInt column);
/* The same for a scalar, in blocks or not: its place in the values. */
int64_t poiseMatPlace(const PoiseMat A, const HostCsr *h, int64_t row, PoiseInt column);

static inline PoiseInt poiseCsrGlobal(const PoiseMat A, int32_t col)
{
  return col < A->csr.nloc ? A->csr.column + col : A->csr.ghost[col - A->csr.nloc];
}

typedef struct ScalarWalk { /* a walk through this rank's scalars, row by row, in blocks or not */
  PoiseMat A;
  HostCsr h;
  /* next scalar: of local row i, in column c of entry k; end: of the row's entries */
  int64_t b, i, k, end, c;
} ScalarWalk;

/* Go to the first scalar of local row i, which may have none. */
static inline void poiseWalkTo(ScalarWalk *w, int64_t i)
{
  w->i = i;
  w->k = poiseCsrPtr(&w->A->csr, w->h.ptr, i / w->b);
  w->end = poiseCsrPtr(&w->A->csr, w->h.ptr, i / w->b + 1);
  w->c = 0;
}

/* Global column and value of the next scalar, which must exist; w->i is then its row. */
static inline double poiseWalkOn(ScalarWalk *w, PoiseInt *col)
{
  while (w->k == w->end) poiseWalkTo(w, w->i + 1);
  int64_t b = w->b, place = b == 1 ? w->k : (w->k * b + w->c) * b + w->i % b;
  *col = poiseCsrGlobal(w->A, w->h.col[w->k]) * b + w->c;
  if (++w->c == b) w->c = 0, w->k++;
  return w->h.val[place];
}
PoiseErr poiseWalkBegin(PoiseMat A, ScalarWalk *w); /* A must be usable */

#endif

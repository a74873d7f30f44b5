/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices that stay as the application holds them (held.c). The arrays are those of a CSR all the same: of
  A^T if they go by columns, of A if they are triplets in the order of rows. So such a matrix multiplies
  through that CSR.
*/
#ifndef POISE_MAT_HELD_H
#define POISE_MAT_HELD_H

#include "mat/object/mat.h"

typedef struct Held {
  PoiseMat csr; /* a matrix of its own, with the application's arrays; NULL: there is none */
  bool turned;  /* it is A^T, else A */
} Held;

/* Make h->csr, of type csri, whose sums do not depend on how long rows are; it is the last that may fail in
   the creation of A, as the arrays may be adopted. Collective; agrees. */
PoiseErr poiseHeldCreate(PoiseMat A, const PoiseCSR *csr, PoiseOwn own, bool device, Held *h);
void poiseHeldSizes(PoiseMat A, const Held *h); /* of h->csr become A's */
/* y = A x, or A^T x, of wide vectors too */
PoiseErr poiseHeldMult(const Held *h, bool transposed, PoiseVec x, PoiseVec y);
PoiseErr poiseHeldReady(const Held *h);
PoiseErr poiseHeldReadyColumns(const Held *h, bool transposed, int k); /* MatType.ready_columns */
PoiseErr poiseHeldNorm(const Held *h, PoiseNorm type, double *norm);
PoiseErr poiseHeldSetValues(const Held *h, Side where, const double *val);
void poiseHeldBytes(const Held *h, PoiseBytes *sum);
PoiseErr poiseHeldPredict(const Held *h, const PoiseMatCounts *counts, PoisePrediction *p);
PoiseErr poiseHeldView(PoiseMat A, const Held *h);
/* Print entries and their balance, bytes, those beyond the arrays of this rank's part, and ghosts. */
PoiseErr poiseHeldViewSizes(PoiseMat A, int64_t arrays, int64_t nghost, const char *ghosts);
PoiseErr poiseHeldDiagonal(PoiseMat A, const Held *h, int b, double *d);
/* pbjacobi and its kin ask for blocks of the diagonal, which these matrices do not offer. */
PoiseErr poiseHeldCheckDiagonal(PoiseMat A, int b);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows in windows and longer rows in pieces: what the types that cut rows share. */
#ifndef POISE_WINDOWS_H
#define POISE_WINDOWS_H

#include "csr_product.h"
#include "csri_kernels.h"
#include "mat.h"

/* Windows that m rows of nz entries are cut into. */
static inline int64_t poiseWindowsOf(int64_t m, int64_t nz, int64_t chunk)
{
  return (m + nz + chunk - 1) / chunk;
}

typedef struct WindowsCut {
  int64_t chunk; /* rows and entries of a window, about */
  int64_t limit; /* entries of rows that are cut, no less than chunk */
  int64_t piece; /* entries of a piece, at most (and a line) */
  bool exact;    /* windows to the entry, and no pieces */
} WindowsCut;
/* A, on the device, is cut. */
PoiseErr poiseWindowsCutRows(Device *dev, const CsrView *A, Windows *w, WindowsCut cut);
PoiseErr poiseWindowsCut(PoiseMat A, Windows *w, WindowsCut cut);
/* For types that cut otherwise: device memory for n windows of m rows and how many pieces each leaves, and one more, to be written. */
PoiseErr poiseWindowsBegin(Device *dev, int64_t m, Windows *w, CsrWindow **window, int64_t **pieces);
/* They have been cut out of A: the pieces. */
PoiseErr poiseWindowsEnd(Device *dev, Windows *w, const CsrView *A);
/* Several ranks: windows, or blocks of `rows` rows (not POISE_BLOCK), without ghosts go ahead of the exchange. If it was not called, all wait
   for it. */
PoiseErr poiseWindowsOrder(PoiseMat A, Windows *w, int rows);
PoiseErr poiseWindowsArguments(Windows *w, CsriMultArgs *a); /* all of it on the device */
/* A part of poiseCsrProduct, by a kernel whose arguments, of so many bytes, begin with *a. */
PoiseErr poiseWindowsMult(PoiseMat A, Windows *w, ProductPart part, int kernel, CsriMultArgs *a, size_t bytes);
int64_t poiseWindowsPartials(const Windows *w);
void poiseWindowsBytes(const Windows *w, PoiseBytes *sum);
typedef struct WindowsPlan { /* at least and at most */
  int64_t n[2], pieces;      /* pieces: at most */
  int64_t blocks[2];         /* of rows, which may stand for windows; 0: they may not */
  bool ordered;
} WindowsPlan;
/* p += what they hold; sets the plan's partials. */
void poiseWindowsPredict(PoiseMat A, const WindowsPlan *w, MatPlan *plan, PoisePrediction *p);
/* As poiseWindowsCut will cut, into windows of chunk[0] or chunk[1], which is not less, and rows of `limit` entries at least. */
void poiseWindowsPredictCut(PoiseMat A, const int64_t chunk[2], int64_t limit, bool exact, MatPlan *plan,
                            PoisePrediction *p);
void poiseWindowsDestroy(Windows *w);

#endif

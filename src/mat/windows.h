/* SPDX-License-Identifier: BSD-3-Clause */
/* Row blocks, and row segments of split rows: shared by the types that split rows. */
#ifndef POISE_WINDOWS_H
#define POISE_WINDOWS_H

#include "mat.h"

/* The number of row blocks for m rows with nz entries. */
static inline int64_t poiseWindowsOf(int64_t m, int64_t nz, int64_t chunk)
{
  return (m + nz + chunk - 1) / chunk;
}

typedef struct WindowsCut {
  int64_t chunk; /* rows and entries of a row block, about */
  int64_t limit; /* rows with at least this many entries are split; not below chunk */
  int64_t piece; /* most entries of a row segment (and a line) */
  bool exact;    /* row blocks end at any entry, and there are no row segments */
} WindowsCut;
/* Divide A, which is on the device. */
PoiseErr poiseWindowsCutRows(Device *dev, const CsrView *A, Windows *w, WindowsCut cut);
PoiseErr poiseWindowsCut(PoiseMat A, Windows *w, WindowsCut cut);
/* For types that divide in other ways: allocate on the device n row blocks of m rows, and n + 1 counts. A
   count is the number of row segments that a row block leaves. The caller writes both. */
PoiseErr poiseWindowsBegin(Device *dev, int64_t m, Windows *w, CsrWindow **window, int64_t **pieces);
/* Make the row segments, once row blocks have been made of A. */
PoiseErr poiseWindowsEnd(Device *dev, Windows *w, const CsrView *A);
/* Several ranks: row blocks, or tiles of `rows` rows (not POISE_BLOCK), without ghosts run before the
   exchange has ended. If this was not called, all wait for it. */
PoiseErr poiseWindowsOrder(PoiseMat A, Windows *w, int rows);
PoiseErr poiseWindowsArguments(Windows *w, CsriMultArgs *a); /* all arrays on the device */
/* A part of poiseCsrProduct, by a kernel whose arguments have `bytes` bytes and begin with *a. */
PoiseErr poiseWindowsMult(PoiseMat A, Windows *w, ProductPart part, int kernel, CsriMultArgs *a, size_t bytes);
int64_t poiseWindowsPartials(const Windows *w);
void poiseWindowsBytes(const Windows *w, PoiseBytes *sum);
typedef struct WindowsPlan { /* bounds for a prediction */
  int64_t n[2], pieces;      /* least and most row blocks; most row segments */
  int64_t blocks[2];         /* tiles, which may replace row blocks; 0: they may not */
  bool ordered;
} WindowsPlan;
/* p += bytes that they hold. Sets the plan's partials. */
void poiseWindowsPredict(PoiseMat A, const WindowsPlan *w, MatPlan *plan, PoisePrediction *p);
/* Predict poiseWindowsCut with row blocks of chunk[0] to chunk[1] entries, and rows of at least `limit`
   entries split. */
void poiseWindowsPredictCut(PoiseMat A, const int64_t chunk[2], int64_t limit, bool exact, MatPlan *plan,
                            PoisePrediction *p);
void poiseWindowsDestroy(Windows *w);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of rows and pieces of longer ones, on the device: made, ordered, and multiplied by. */
#include "windows.h"

enum { BUFFERS = 6, PIECE_WINDOWS = 2 /* a piece has the entries of so many windows */ };

PoiseErr poiseWindowsBegin(Device *dev, int64_t m, Windows *w, CsrWindow **window, int64_t **pieces)
{
  if (m > INT32_MAX) FAIL(POISE_ERR_UNSUPPORTED, "%lld rows of a rank, more than 2^31: use type csr", (long long)m);
  if (w->n > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "%lld windows of rows, more than 2^31: make them larger", (long long)w->n);
  TRY(poiseBufferCreate(dev, (size_t)(w->n + 1) * sizeof(CsrWindow), "windows", &w->window));
  TRY(poiseBufferCreate(dev, (size_t)(w->n + 1) * sizeof(int64_t), "pieces of windows", &w->first));
  TRY(poiseBufferWrite(&w->window, DEVICE, window));
  return poiseBufferWrite(&w->first, DEVICE, pieces);
}

PoiseErr poiseWindowsEnd(Device *dev, Windows *w, const CsrView *A)
{
  CsriOwnArgs own = {.A = *A, .piece = w->piece, .nwindow = w->n};
  int64_t *first;
  TRY(poiseBufferUpdate(&w->first, DEVICE, &first));
  TRY(LAUNCH(dev, scan, ScanArgs, .n = w->n, .count = first));
  TRY(poiseDeviceCopy(dev, &w->npiece, first + w->n, sizeof w->npiece, COPY_TO_HOST));
  TRY(poiseDeviceSync(dev));
  TRY(poiseBufferCreate(dev, (size_t)w->npiece * sizeof(CsriPiece), "pieces", &w->part));
  TRY(poiseBufferCreate(dev, (size_t)(w->npiece * (A->b ? A->b : 1)) * sizeof(double), "sums of pieces", &w->sum));
  TRY(poiseBufferCreate(dev, (size_t)w->n * sizeof(int32_t), "pieces that arrived", &w->arrived));
  TRY(poiseBufferRead(&w->window, DEVICE, &own.window));
  TRY(poiseBufferRead(&w->first, DEVICE, &own.first));
  TRY(poiseBufferWrite(&w->part, DEVICE, &own.part));
  w->parts = w->n;
  return poiseLaunch(dev, KERNEL_csri_own, &own, sizeof own);
}

PoiseErr poiseWindowsCutRows(Device *dev, const CsrView *A, Windows *w, int64_t chunk, int64_t piece, bool exact)
{
  CsriCutArgs cut = {.A = *A, .exact = exact, .chunk = chunk, .piece = piece};
  w->chunk = chunk, w->piece = piece;
  cut.nwindow = w->n = (A->m + A->nz + chunk - 1) / chunk;
  TRY(poiseWindowsBegin(dev, A->m, w, &cut.window, &cut.pieces));
  TRY(poiseLaunch(dev, KERNEL_csri_cut, &cut, sizeof cut));
  return poiseWindowsEnd(dev, w, A);
}

PoiseErr poiseWindowsCut(PoiseMat A, Windows *w, int64_t chunk, bool exact)
{
  CsrView view;
  TRY(poiseCsrPattern(&A->csr, &view));
  return poiseWindowsCutRows(A->ctx->device, &view, w, chunk, PIECE_WINDOWS * chunk, exact);
}

/* Pieces always wait for the ghosts. */
PoiseErr poiseWindowsOrder(PoiseMat A, Windows *w, int rows)
{
  const CsrWindow *window = NULL;
  if (rows == POISE_BLOCK) TRY(poiseBufferRead(&w->window, HOST, &window));
  return poiseCsrOrder(A, w->parts, rows, window, &w->order, &w->ninterior);
}

PoiseErr poiseWindowsArguments(Windows *w, CsriMultArgs *a)
{
  const int32_t *order;
  a->chunk = w->chunk, a->parts = w->parts;
  if (w->order.dev) TRY(poiseBufferRead(&w->order, DEVICE, &order));
  TRY(poiseBufferRead(&w->window, DEVICE, &a->window));
  TRY(poiseBufferRead(&w->first, DEVICE, &a->first));
  TRY(poiseBufferRead(&w->part, DEVICE, &a->part));
  TRY(poiseBufferUpdate(&w->sum, DEVICE, &a->sum));
  return poiseBufferUpdate(&w->arrived, DEVICE, &a->arrived);
}

PoiseErr poiseWindowsMult(PoiseMat A, Windows *w, ProductPart part, int kernel, CsriMultArgs *a, size_t bytes)
{
  int64_t first = part == REST ? w->ninterior : 0, last = part == INTERIOR ? w->ninterior : w->parts;
  const int32_t *order;
  if (part != WHOLE && w->order.dev) {
    TRY(poiseBufferRead(&w->order, DEVICE, &order));
    a->m.order = order ? order + first : NULL;
  }
  a->m.nblock = last - first;
  a->npiece = part == INTERIOR ? 0 : w->npiece;
  return poiseLaunch(A->ctx->device, kernel, a, bytes);
}

int64_t poiseWindowsPartials(const Windows *w)
{
  return w->parts + w->npiece;
}

void poiseWindowsBytes(const Windows *w, PoiseBytes *sum)
{
  const Buffer *const all[BUFFERS] = {&w->window, &w->first, &w->part, &w->sum, &w->arrived, &w->order};
  for (int k = 0; k < BUFFERS; k++) poiseBufferAdd(all[k], sum);
}

void poiseWindowsDestroy(Windows *w)
{
  Buffer *const all[BUFFERS] = {&w->window, &w->first, &w->part, &w->sum, &w->arrived, &w->order};
  for (int k = 0; k < BUFFERS; k++) poiseBufferDestroy(all[k]);
  *w = (Windows){0};
}

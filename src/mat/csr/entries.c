/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix's entries on the host: reading them, where one of them is, a walk through all. */
#include "entries.h"

PoiseErr poiseMatPattern(PoiseMat A, HostCsr *h)
{
  *h = (HostCsr){0};
  TRY(poiseBufferRead(&A->csr.ptr, HOST, &h->ptr));
  return poiseBufferRead(&A->csr.col, HOST, &h->col);
}

PoiseErr poiseMatReadEntries(PoiseMat A, HostCsr *h)
{
  TRY(poiseMatCheckHolds(A, "its rows"));
  TRY(poiseMatCheckUsable(A));
  TRY(poiseMatPattern(A, h));
  return poiseBufferRead(&A->csr.val, HOST, &h->val);
}

PoiseErr poiseMatRead(PoiseMat A, HostCsr *h)
{
  TRY(poiseMatCheckStored(A));
  return poiseMatReadEntries(A, h);
}

PoiseErr poiseMatUpdate(PoiseMat A, HostCsr *h)
{
  TRY(poiseMatReadEntries(A, h));
  return poiseBufferUpdate(&A->csr.val, HOST, &h->val);
}

int64_t poiseCsrFind(const PoiseMat A, const void *ptr, const int32_t *col, int64_t row, PoiseInt column)
{
  int64_t low = poiseCsrPtr(&A->csr, ptr, row), high = poiseCsrPtr(&A->csr, ptr, row + 1);
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    PoiseInt g = poiseCsrGlobal(A, col[mid]);
    if (g == column) return mid;
    if (g < column)
      low = mid + 1;
    else
      high = mid;
  }
  return -1;
}

int64_t poiseMatPlace(const PoiseMat A, const HostCsr *h, int64_t row, PoiseInt column)
{
  int64_t b = A->csr.b;
  if (!b) return poiseCsrFind(A, h->ptr, h->col, row, column);
  int64_t k = poiseCsrFind(A, h->ptr, h->col, row / b, column / b);
  return k < 0 ? k : (k * b + column % b) * b + row % b;
}

PoiseErr poiseWalkBegin(PoiseMat A, ScalarWalk *w)
{
  *w = (ScalarWalk){.A = A, .b = poiseCsrSide(&A->csr)};
  TRY(poiseMatReadEntries(A, &w->h));
  if (A->rows->n) poiseWalkTo(w, 0);
  return POISE_OK;
}

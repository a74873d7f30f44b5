/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an entry of a matrix is, on the host. */
#include "entries.h"

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

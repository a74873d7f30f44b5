/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's CSR, of numbers or of blocks, as kernels see it. */
#ifndef POISE_CSR_VIEW_H
#define POISE_CSR_VIEW_H

#include "sys/device/kernels.h"

/* Local CSR: m rows, nloc owned columns, then ghosts; one of ptr32, ptr64 is NULL. b != 0: its rows, columns
   and entries are blocks, of b x b numbers, column-major. */
#define CSR_VIEW(Real, suffix)                                                                  \
  typedef struct CsrView##suffix {                                                              \
    int64_t b, m, nloc, nz;                                                                     \
    const int64_t *ptr64;                                                                       \
    const int32_t *ptr32, *col;                                                                 \
    const Real *val;                                                                            \
  } CsrView##suffix;                                                                            \
                                                                                                \
  POISE_INLINE int64_t POISE_TYPED(poiseCsrOffset, suffix)(const CsrView##suffix *A, int64_t i) \
  {                                                                                             \
    return A->ptr32 ? A->ptr32[i] : A->ptr64[i];                                                \
  }
CSR_VIEW(double, )
CSR_VIEW(float, _f32)
#undef CSR_VIEW

/* Local columns are [owned | ghosts]. Places are in the order of their global numbers: `below` ghosts, the
   nloc owned ones, the other ghosts. */
POISE_INLINE int32_t poiseLocalOfPlace(int64_t below, int64_t nloc, int32_t place)
{
  if (place >= below + nloc) return place;
  return (int32_t)(place < below ? place + nloc : place - below);
}

POISE_INLINE int32_t poisePlaceOfLocal(int64_t below, int64_t nloc, int32_t local)
{
  if (local >= below + nloc) return local;
  return (int32_t)(local < nloc ? local + below : local - nloc);
}

/* The user's index i, which counts from base (0 or 1), counted from 0. A negative one stays so. */
POISE_INLINE int64_t poiseFromBase(int64_t i, int base)
{
  return i > INT64_MIN ? i - base : i;
}

typedef struct RowBlock { /* rows [begin, begin + rows), which have the entries [first, first + nz) */
  int64_t first;
  int32_t begin;
  uint16_t rows, nz;
} RowBlock;

/* Row i of numbers: n of them, of entries from the first on; row r of b in their blocks. */
typedef struct ScalarRow {
  int64_t first, n, b, r;
} ScalarRow;

POISE_INLINE ScalarRow poiseNumberRow(const CsrView *A, int64_t i)
{
  int64_t b = A->b ? A->b : 1, row = b == 1 ? i : i / b, first = poiseCsrOffset(A, row);
  ScalarRow of = {first, (poiseCsrOffset(A, row + 1) - first) * b, b, i - row * b};
  return of;
}

/* Where its number k is, and in which column of numbers. */
POISE_INLINE int64_t poiseNumberPlace(const ScalarRow *row, int64_t k)
{
  int64_t b = row->b;
  return b == 1 ? row->first + k : ((row->first + k / b) * b + k % b) * b + row->r;
}

POISE_INLINE int64_t poiseNumberColumn(const CsrView *A, const ScalarRow *row, int64_t k)
{
  int64_t b = row->b;
  return b == 1 ? A->col[row->first + k] : A->col[row->first + k / b] * b + k % b;
}

/* n rows, or columns, in numbers. */
POISE_INLINE int64_t poiseInScalars(const CsrView *A, int64_t n)
{
  return A->b ? n * A->b : n;
}

/* The upper bits are good (Fibonacci hashing: 2^32 over the golden ratio). */
POISE_INLINE uint32_t poiseHash32(int32_t v)
{
  return (uint32_t)v * 2654435769u;
}

/* The first i < n with list[i] >= k, or n. The list ascends. */
POISE_INLINE int64_t poiseFirstFrom(const int64_t *list, int64_t n, int64_t k)
{
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (list[mid] < k)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* SpMV of CSR rows on the host, shared by its forms: in fp64, or in fp32 where csr_f32.c says so. */
#ifndef POISE_CSR_ROWS_H
#define POISE_CSR_ROWS_H

#include "vec/vec_host.h"
#include "csri_kernels.h"
#include "mat/object/mat.h"
#include "product_model.h"

#ifndef SCALAR /* of values and vectors */
#define SCALAR double
#endif
#ifndef NAME
#define NAME(n) n
#endif
typedef NAME(CsrMultArgs) RowsArgs;

/* The kind of columns in a row block, a constant where these functions are inlined: owned, some of them
   ghosts, or owned in 16 bits. */
enum { HOST_OWNED = false, HOST_GHOSTS = true, HOST_INDEX16 };

/* Prefetch values and columns well before their use: hardware prefetching ends at each page. */
POISE_INLINE void poiseHostAhead(const RowsArgs *a, int64_t k, int columns)
{
  enum { ENTRIES = 256 };
  const NAME(CsrView) *A = &a->A;
  const uint16_t *code = a->index16.code;
  __builtin_prefetch((const void *)((uintptr_t)(A->val + k) + ENTRIES * sizeof *A->val));
  if (columns == HOST_INDEX16)
    __builtin_prefetch((const void *)((uintptr_t)(code + k) + ENTRIES * sizeof *code));
  else
    __builtin_prefetch((const void *)((uintptr_t)(A->col + k) + ENTRIES * sizeof *A->col));
}

typedef double HostTwo __attribute__((vector_size(16)));
typedef SCALAR HostTwoValues __attribute__((vector_size(2 * sizeof(SCALAR))));
typedef int64_t HostTwoBits __attribute__((vector_size(16)));

/* The factor of entry k. The address is selected, not the value, as that would be a branch that is often
   mispredicted. */
POISE_INLINE double poiseHostFactor(const RowsArgs *a, int64_t k, int columns)
{
  int32_t c = columns == HOST_INDEX16 ? poiseIndex16Column(a->index16.base, a->index16.code[k]) : a->A.col[k];
  uintptr_t from = (uintptr_t)a->x;
  if (columns == HOST_GHOSTS && c >= a->A.nloc)
    from = (uintptr_t)a->ghost - (uintptr_t)a->A.nloc * sizeof *a->ghost;
  return *(const SCALAR *)(from + (uintptr_t)c * sizeof(SCALAR));
}

POISE_INLINE double poiseHostOneTerm(const RowsArgs *a, int64_t k, int columns)
{
  return (double)a->A.val[k] * poiseHostFactor(a, k, columns);
}

/* The terms of entries k and k + 1. */
POISE_INLINE HostTwo poiseHostTwoTerms(const RowsArgs *a, int64_t k, int columns)
{
  HostTwoValues v;
  memcpy(&v, a->A.val + k, sizeof v);
  return __builtin_convertvector(v, HostTwo) *
         (HostTwo){poiseHostFactor(a, k, columns), poiseHostFactor(a, k + 1, columns)};
}

/* The same two terms, with 0 for those whose place in the row is not below n. */
POISE_INLINE HostTwo poiseHostTwoTermsBelow(const RowsArgs *a, int64_t k, HostTwo place, HostTwo n,
                                            int columns)
{
  return (HostTwo)((HostTwoBits)poiseHostTwoTerms(a, k, columns) & (HostTwoBits)(place < n));
}

/* (A x)_i of the entries [k, last). Four sums alternate by place in the row, so that long rows do not wait
   for one addition after the other. The last entries, fewer than four, are handled by branches or masked.
   Masking reads up to 3 entries of the rows behind. The bits are the same either way, and for all kinds of
   columns. */
POISE_INLINE double poiseHostRowSum(const RowsArgs *a, int64_t k, int64_t last, int columns, bool mask)
{
  HostTwo s = {0}, u = {0};
  poiseHostAhead(a, k, columns);
  for (; k + 8 <= last; k += 8) {
    poiseHostAhead(a, k + 8, columns);
    s += poiseHostTwoTerms(a, k, columns), u += poiseHostTwoTerms(a, k + 2, columns);
    s += poiseHostTwoTerms(a, k + 4, columns), u += poiseHostTwoTerms(a, k + 6, columns);
  }
  if (k + 4 <= last) {
    s += poiseHostTwoTerms(a, k, columns), u += poiseHostTwoTerms(a, k + 2, columns);
    k += 4;
  }
  if (mask) {
    HostTwo n = {(double)(last - k), (double)(last - k)};
    s += poiseHostTwoTermsBelow(a, k, (HostTwo){0, 1}, n, columns),
        u += poiseHostTwoTermsBelow(a, k + 2, (HostTwo){2, 3}, n, columns);
  } else {
    if (k < last) s[0] += poiseHostOneTerm(a, k, columns);
    if (k + 1 < last) s[1] += poiseHostOneTerm(a, k + 1, columns);
    if (k + 2 < last) u[0] += poiseHostOneTerm(a, k + 2, columns);
  }
  s += u;
  return s[0] + s[1];
}

/* The same of three entries or fewer. */
POISE_INLINE double poiseHostShortRow(const RowsArgs *a, int64_t k, int64_t last, int columns)
{
  double even = 0, odd = 0;
  if (k < last) even += poiseHostOneTerm(a, k, columns);
  if (k + 1 < last) odd += poiseHostOneTerm(a, k + 1, columns);
  if (k + 2 < last) even += poiseHostOneTerm(a, k + 2, columns);
  return even + odd;
}

/* Form csri splits rows of at least HOST_LONG entries into segments of at most HOST_FRAGMENT. csr sums them
   in the same way, so the bits are the same. */
enum { HOST_FRAGMENT = 2 * HOST_LONG };
POISE_INLINE double poiseHostLongRow(const RowsArgs *a, int64_t k, int64_t last, int columns)
{
  int64_t n = (last - k + HOST_FRAGMENT - 1) / HOST_FRAGMENT;
  double s = 0;
  for (int64_t q = 0; q < n; q++)
    s += poiseHostRowSum(a, poiseRowFragmentBegin(1, k, last, q, n),
                         poiseRowFragmentBegin(1, k, last, q + 1, n), columns, false);
  return s;
}

POISE_INLINE double poiseHostUpdate(double alpha, double sum, double beta, double old)
{
  return beta == 0 ? alpha * sum : alpha * sum + beta * old;
}

/* Before rows [begin, end) are stored: the y that `also` has. */
POISE_INLINE void poiseHostKeepRows(const RowsArgs *a, int64_t begin, int64_t end)
{
  if (a->also) memcpy(a->also + begin, a->y + begin, (size_t)(end - begin) * sizeof(SCALAR));
}

/* Ends rows [begin, end), which have been stored and are in cache: their scale, what is added, then their
   dots, as the partials of block `at`. */
POISE_INLINE void poiseHostFinishRows(const RowsArgs *a, int64_t begin, int64_t end, int64_t at)
{
  if (a->scale) NAME(poiseHostScale)(a->scale, a->y, begin, end);
  for (int64_t i = begin; a->add && i < end; i++) a->y[i] += a->add[i];
  for (int64_t i = begin; a->also && i < end; i++) a->also[i] += a->y[i];
  NAME(poiseHostFuse)(&a->fuse, a->also ? a->also : a->y, begin, end, at);
}

/* y[i] = alpha (A x)_i + beta y_i for rows [i, end), one after the other. */
POISE_INLINE void poiseHostEachRow(const RowsArgs *a, double alpha, double beta, int64_t i, int64_t end,
                                   int columns, bool mask)
{
  SCALAR *restrict y = a->y;
  int64_t k = NAME(poiseCsrOffset)(&a->A, i);
  for (; i < end; i++) {
    int64_t last = NAME(poiseCsrOffset)(&a->A, i + 1);
    double sum = last - k < 4           ? poiseHostShortRow(a, k, last, columns)
                 : last - k < HOST_LONG ? poiseHostRowSum(a, k, last, columns, mask)
                                        : poiseHostLongRow(a, k, last, columns);
    y[i] = (SCALAR)poiseHostUpdate(alpha, sum, beta, y[i]);
    k = last;
  }
}

enum {
  HOST_STRIP = 16, /* rows that are examined together */
  HOST_FEW = 128,  /* most entries of four rows that are summed at once */
  HOST_IDLE = 32   /* most masked entries among these, beyond the number of real ones; with more,
                      predicting four trip counts costs less */
};

/* The same for rows i to i + 3 at once, each masked to the length of the longest. That row must not be much
   longer than the others. So one trip count must be predicted, not four. Reads up to HOST_FEW entries of the
   rows behind. */
POISE_INLINE void poiseHostFourRows(const RowsArgs *a, double alpha, double beta, int64_t i, int columns)
{
  HostTwo s[4] = {{0}}, u[4] = {{0}}, n[4], place = {0, 1};
  int64_t p[5] = {NAME(poiseCsrOffset)(&a->A, i)}, most = 0;
  SCALAR *restrict y = a->y;
  for (int r = 0; r < 4; r++) {
    p[r + 1] = NAME(poiseCsrOffset)(&a->A, i + r + 1);
    n[r] = (HostTwo){(double)(p[r + 1] - p[r]), (double)(p[r + 1] - p[r])};
    if (most < p[r + 1] - p[r]) most = p[r + 1] - p[r];
  }
  if (4 * most > 2 * (p[4] - p[0]) + HOST_IDLE) {
    poiseHostEachRow(a, alpha, beta, i, i + 4, columns, true);
    return;
  }
  if (!most) {
    for (int r = 0; r < 4; r++) y[i + r] = (SCALAR)poiseHostUpdate(alpha, 0, beta, y[i + r]);
    return;
  }
  for (int64_t j = 0; j < most; j += 4, place += 4) {
    poiseHostAhead(a, p[0] + 4 * j, columns);
    poiseHostAhead(a, p[0] + 4 * j + 8, columns);
    for (int r = 0; r < 4; r++) {
      s[r] += poiseHostTwoTermsBelow(a, p[r] + j, place, n[r], columns);
      u[r] += poiseHostTwoTermsBelow(a, p[r] + j + 2, place + 2, n[r], columns);
    }
  }
  for (int r = 0; r < 4; r++) {
    s[r] += u[r];
    y[i + r] = (SCALAR)poiseHostUpdate(alpha, s[r][0] + s[r][1], beta, y[i + r]);
  }
}

/* y for rows [begin, end). If rows are mostly of one length, the branches at the end of a row are predicted
   well. In other matrices they would cost more than the terms of a row, and are avoided. The exception is a
   strip that seems to have rows of one length: it has 16 times the entries of its first row. Entries read
   behind a row must be of this block of rows, as others may have ghosts that have not arrived. */
POISE_INLINE void poiseHostRows(const RowsArgs *args, double alpha, double beta, int64_t begin, int64_t end,
                                int columns)
{
  RowsArgs local = *args; /* a local copy, so that stores to y cannot change it */
  const RowsArgs *a = &local;
  if (columns == HOST_INDEX16) local.index16.base += begin / POISE_BLOCK * POISE_BANDS; /* of this block */
  if (!a->vary) {
    poiseHostEachRow(a, alpha, beta, begin, end, columns, false);
    return;
  }
  int64_t far = NAME(poiseCsrOffset)(&a->A, end) - HOST_FEW;
  for (int64_t i = begin, stop; i < end; i = stop) {
    stop = i + HOST_STRIP < end ? i + HOST_STRIP : end;
    int64_t k = NAME(poiseCsrOffset)(&a->A, i), first = NAME(poiseCsrOffset)(&a->A, i + 1) - k,
            last = NAME(poiseCsrOffset)(&a->A, stop);
    if (last - k == HOST_STRIP * first || last > far || stop < i + HOST_STRIP)
      poiseHostEachRow(a, alpha, beta, i, stop, columns, false);
    else
      for (; i < stop; i += 4)
        if (NAME(poiseCsrOffset)(&a->A, i + 4) - NAME(poiseCsrOffset)(&a->A, i) <= HOST_FEW)
          poiseHostFourRows(a, alpha, beta, i, columns);
        else
          poiseHostEachRow(a, alpha, beta, i, i + 4, columns, true);
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of users' arrays in the library's types: narrow offsets, local columns, sorted rows. */
#include "convert.h"
#include "check_arrays.h"
#include "numbering.h"

PoiseErr poiseCsrConvertOffsets(PoiseMat A, const PoiseCSR *in)
{
  Csr *c = &A->csr;
  void *p;
  Device *dev = A->ctx->device;
  int64_t nblock = POISE_NBLOCKS(c->m + 1);
  (void)dev;
  c->wide = c->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  TRY(poiseBufferCreate(A->ctx->device, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", &c->ptr));
  TRY(poiseBufferWrite(&c->ptr, HOST, &p));
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i <= c->m; i++) {
      if (c->wide)
        ((int64_t *)p)[i] = poiseGivenOffset(in, i);
      else
        ((int32_t *)p)[i] = (int32_t)poiseGivenOffset(in, i);
    }
  return POISE_OK;
}

typedef struct Pair {
  PoiseInt col;
  int64_t from; /* the entry's place */
} Pair;

static int ComparePairs(const void *a, const void *b)
{
  PoiseInt x = ((const Pair *)a)->col, y = ((const Pair *)b)->col;
  return (x > y) - (x < y);
}

/* Copy global columns and values of the rows, each row sorted. */
static PoiseErr CopySorted(const PoiseMat A, const PoiseCSR *in, PoiseInt *col, double *val)
{
  PoiseContext ctx = A->ctx;
  int64_t longest = 0, numbers = poiseCsrSide(&A->csr) * poiseCsrSide(&A->csr);
  Pair *row;
  for (int64_t i = 0; i < A->csr.m; i++)
    if (poiseGivenOffset(in, i + 1) - poiseGivenOffset(in, i) > longest)
      longest = poiseGivenOffset(in, i + 1) - poiseGivenOffset(in, i);
  TRY(poiseAllocArray(ctx, longest, sizeof(Pair), "a row to sort", &row));
  PoiseErr e = POISE_OK;
  for (int64_t i = 0; !e && i < A->csr.m; i++) {
    int64_t begin = poiseGivenOffset(in, i), n = poiseGivenOffset(in, i + 1) - begin;
    for (int64_t k = 0; k < n; k++) row[k] = (Pair){poiseGivenColumn(in, begin + k), begin + k};
    if (n) qsort(row, (size_t)n, sizeof *row, ComparePairs);
    for (int64_t k = 0; k < n; k++) {
      if (!e && k && row[k].col == row[k - 1].col) e = poiseArraysTwice(A, in, i, row[k].col);
      col[begin + k] = row[k].col;
      memcpy(val + (begin + k) * numbers, in->val + row[k].from * numbers, (size_t)numbers * sizeof *val);
    }
  }
  poiseFree(ctx, &row);
  return e;
}

/* Sort unsorted rows into arrays of our own, then continue as with arrays to copy. */
PoiseErr poiseCsrConvertSorted(PoiseMat A, const PoiseCSR *in)
{
  PoiseContext ctx = A->ctx;
  Csr *c = &A->csr;
  PoiseInt *col;
  double *val;
  PoiseCSR sorted = *in;
  TRY(poiseBufferCreate(ctx->device, (size_t)poiseCsrScalars(c) * sizeof(double), "values", &c->val));
  TRY(poiseBufferWrite(&c->val, HOST, &val));
  TRY(poiseAllocArray(ctx, c->nz, sizeof(PoiseInt), "sorted columns", &col));
  PoiseErr e = CopySorted(A, in, col, val);
  for (int64_t k = 0; k < c->nz; k++) col[k] += in->base;
  sorted.col32 = NULL;
  sorted.col64 = col;
  if (!e) e = poiseCsrNumberColumns(A, &sorted);
  poiseFree(ctx, &col);
  return e;
}

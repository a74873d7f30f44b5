/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A rank's entries by column, and by row within a column. Products with the transpose use them: they copy no
  values, and add in a fixed order. Explicit transposes use them as arrays. The host counts. A device sorts by
  column alone (keys.c): entries are row by row, and equal keys keep their order.
*/
#include "entries.h"
#include "keys.h"
#include "keys_kernels.h"
#include "mat/object/mat.h"
#include "transpose.h"

/* The counts of n columns become their ends. Placing entries moves these down to their starts. */
POISE_INLINE void AddCounts(bool wide, void *tptr, int64_t n)
{
  for (int64_t j = 0, sum = 0; j <= n; j++) sum += poiseAdvance(wide, tptr, j, sum);
}

POISE_INLINE void Place(bool wide, void *tptr, int64_t column, int64_t entry, int32_t of, void *from,
                        int32_t *row)
{
  int64_t at = poiseAdvance(wide, tptr, column, -1) - 1;
  if (wide)
    ((int64_t *)from)[at] = entry;
  else
    ((int32_t *)from)[at] = (int32_t)entry;
  row[at] = of;
}

/* tptr is zeroed on entry. */
POISE_INLINE void CountColumns(const Csr *c, const HostCsr *h, bool wide, void *tptr, void *from,
                               int32_t *row)
{
  for (int64_t k = 0; k < c->nz; k++) (void)poiseAdvance(wide, tptr, h->col[k], 1);
  AddCounts(wide, tptr, c->nloc + c->nghost);
  for (int64_t i = c->m - 1; i >= 0; i--)
    for (int64_t k = poiseCsrPtr(c, h->ptr, i + 1) - 1, first = poiseCsrPtr(c, h->ptr, i); k >= first; k--)
      Place(wide, tptr, h->col[k], k, (int32_t)i, from, row);
}

/* Arrays of zeros for n columns and nz entries. */
static PoiseErr Open(Device *dev, int64_t n, int64_t nz, Transposed *t, void **tptr, void **from,
                     int32_t **row)
{
  size_t width = t->wide ? sizeof(int64_t) : sizeof(int32_t);
  TRY(poiseBufferCreate(dev, (size_t)(n + 1) * width, "column offsets", &t->ptr));
  TRY(poiseBufferCreate(dev, (size_t)nz * width, "entries by column", &t->from));
  TRY(poiseBufferCreate(dev, (size_t)nz * sizeof **row, "rows of columns", &t->row));
  TRY(poiseBufferUpdate(&t->ptr, HOST, tptr));
  TRY(poiseBufferWrite(&t->from, HOST, from));
  return poiseBufferWrite(&t->row, HOST, row);
}

static PoiseErr Count(PoiseMat A, Transposed *t)
{
  const Csr *c = &A->csr;
  HostCsr h;
  void *tptr, *from;
  int32_t *row;
  TRY(poiseMatPattern(A, &h));
  TRY(Open(A->ctx->device, c->nloc + c->nghost, c->nz, t, &tptr, &from, &row));
  if (t->wide)
    CountColumns(c, &h, true, tptr, from, row);
  else
    CountColumns(c, &h, false, tptr, from, row);
  return POISE_OK;
}

/* Sort keys (column, row). Their columns are then the rows of the transpose, and their rows its columns. */
static PoiseErr Sort(PoiseMat A, Keys *k, Transposed *t)
{
  Device *dev = A->ctx->device;
  CsrKeysArgs a = {.bits = k->bits};
  int bits = poiseBitsOf(k->m - 1);
  TRY(poiseCsrPattern(&A->csr, &a.A));
  TRY(poiseKeysCreate(dev, k, &a.key, &a.place64, &a.place32));
  TRY(LAUNCH(dev, csr_keys, &a));
  TRY(poiseKeysSort(dev, k, k->bits, bits ? bits : 1));
  TRY(poiseKeysCount(dev, k, NULL)); /* each is an entry */
  TRY(poiseKeysRows(dev, k, k->n, t->wide, &t->ptr, &t->row, NULL));
  t->from = poiseKeysTakePlaces(k);
  return POISE_OK;
}

PoiseErr poiseTransposedCreate(PoiseMat A, Transposed *t)
{
  const Csr *c = &A->csr;
  if (c->m > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "the transpose of %lld rows, more than 2^31, on rank %d", (long long)c->m,
         PoiseRank(A->ctx));
  t->wide = c->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  if (A->ctx->device->ops->is_host) return Count(A, t);
  Keys k = {.n = c->nz, .m = c->nloc + c->nghost, .bits = poiseBitsOf(c->m - 1), .wide = t->wide};
  PoiseErr e = Sort(A, &k, t);
  poiseKeysDestroy(&k);
  return e;
}

PoiseErr poiseTransposedOfTriplets(Device *dev, const LocalTriplets *in, Transposed *t)
{
  void *tptr, *from;
  int32_t *row;
  t->wide = in->wide;
  TRY(Open(dev, in->columns, in->n, t, &tptr, &from, &row));
  for (int64_t k = 0; k < in->n; k++) (void)poiseAdvance(t->wide, tptr, in->col[k], 1);
  AddCounts(t->wide, tptr, in->columns);
  for (int64_t k = in->n - 1; k >= 0; k--) {
    int64_t entry = !in->from  ? k
                    : in->wide ? ((const int64_t *)in->from)[k]
                               : ((const int32_t *)in->from)[k];
    Place(t->wide, tptr, in->col[k], entry, in->row ? in->row[k] : 0, from, row);
  }
  return POISE_OK;
}

void poiseTransposedDestroy(Transposed *t)
{
  poiseBufferDestroy(&t->ptr);
  poiseBufferDestroy(&t->row);
  poiseBufferDestroy(&t->from);
}

/* ---- host kernel: for devices that run it ---------------------------------------------------- */

PoiseErr poiseHost_csr_keys(Device *dev, const void *args)
{
  const CsrKeysArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->A.m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < a->A.m; i++)
      for (int64_t k = poiseCsrOffset(&a->A, i); k < poiseCsrOffset(&a->A, i + 1); k++) {
        a->key[k] = (uint64_t)a->A.col[k] << a->bits | (uint64_t)i;
        if (a->place32)
          a->place32[k] = (uint32_t)k;
        else
          a->place64[k] = k;
      }
  return POISE_OK;
}

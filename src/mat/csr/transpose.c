/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A rank's entries by column, and by row within a column. Products with the transpose use them: they copy no
  values, and add in a fixed order. Explicit transposes use them as arrays. The host counts. A device sorts by
  column alone (keys.c): entries are row by row, and equal keys keep their order.
*/
#include "entries.h"
#include "keys.h"
#include "keys_kernels.h"
#include "mat/mat.h"
#include "transpose.h"

/* tptr, zeroed on entry: counts become the ends of the columns, which then move down to their starts. */
POISE_INLINE void CountColumns(const Csr *c, const HostCsr *h, bool wide, void *tptr, void *from,
                               int32_t *row)
{
  for (int64_t k = 0; k < c->nz; k++) (void)poiseAdvance(wide, tptr, h->col[k], 1);
  for (int64_t j = 0, sum = 0; j <= c->nloc + c->nghost; j++) sum += poiseAdvance(wide, tptr, j, sum);
  for (int64_t i = c->m - 1; i >= 0; i--)
    for (int64_t k = poiseCsrPtr(c, h->ptr, i + 1) - 1, first = poiseCsrPtr(c, h->ptr, i); k >= first; k--) {
      int64_t at = poiseAdvance(wide, tptr, h->col[k], -1) - 1;
      if (wide)
        ((int64_t *)from)[at] = k;
      else
        ((int32_t *)from)[at] = (int32_t)k;
      row[at] = (int32_t)i;
    }
}

static PoiseErr Count(PoiseMat A, Transposed *t)
{
  const Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  size_t width = t->wide ? sizeof(int64_t) : sizeof(int32_t);
  HostCsr h;
  void *tptr, *from;
  int32_t *row;
  TRY(poiseMatPattern(A, &h));
  TRY(poiseBufferCreate(dev, (size_t)(c->nloc + c->nghost + 1) * width, "column offsets", &t->ptr));
  TRY(poiseBufferCreate(dev, (size_t)c->nz * width, "entries by column", &t->from));
  TRY(poiseBufferCreate(dev, (size_t)c->nz * sizeof *row, "rows of columns", &t->row));
  TRY(poiseBufferUpdate(&t->ptr, HOST, &tptr));
  TRY(poiseBufferWrite(&t->from, HOST, &from));
  TRY(poiseBufferWrite(&t->row, HOST, &row));
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

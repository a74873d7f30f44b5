/* SPDX-License-Identifier: BSD-3-Clause */
#include "csri_kernels.h"
#include "hubs.h"
#include "hubs_kernels.h"
#include "product_plan.h"

/* Find the hub of each slot, and its number of entries, as described at CsrHubsArgs. */
static PoiseErr Count(PoiseMat A, int bits, Buffer *count, Buffer *most, const int64_t **found)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  CsrHubsArgs a = {.columns = c->nloc + c->nghost, .bits = bits};
  TRY(poiseBufferCreate(dev, (size_t)(a.columns + a.columns % 2) * sizeof *a.count, "entries of columns",
                        count));
  TRY(poiseBufferCreate(dev, sizeof *a.most << bits, "columns with most entries", most));
  TRY(poiseCsrPattern(c, &a.A));
  TRY(poiseBufferUpdate(count, DEVICE, &a.count));
  TRY(poiseBufferUpdate(most, DEVICE, &a.most));
  TRY(LAUNCH(dev, csr_hubs, &a));
  return poiseBufferRead(most, HOST, found);
}

static PoiseErr Take(PoiseMat A, int bits, bool if_pays, const int64_t *most, Hubs *h)
{
  int64_t n = (int64_t)1 << bits;
  double entries = 0;
  int32_t *column;
  for (int64_t s = 0; s < n; s++) entries += (double)(most[s] >> 32);
  if (if_pays && !poiseHubsPay(A->csr.nloc + A->csr.nghost, A->csr.nz, bits, entries)) return POISE_OK;
  TRY(poiseBufferCreate(A->ctx->device, (size_t)n * sizeof *column, "hubs", &h->column));
  TRY(poiseBufferWrite(&h->column, HOST, &column));
  for (int64_t s = 0; s < n; s++) column[s] = most[s] ? (int32_t)(most[s] & INT32_MAX) : -1;
  h->bits = bits;
  h->entries = entries;
  return POISE_OK;
}

PoiseErr poiseHubsFind(PoiseMat A, int bits, bool if_pays, Hubs *h)
{
  Buffer count = {0}, most = {0};
  const int64_t *found;
  if (!bits) return POISE_OK;
  PoiseErr e = Count(A, bits, &count, &most, &found);
  if (!e) e = Take(A, bits, if_pays, found, h);
  poiseBufferDestroy(&count);
  poiseBufferDestroy(&most);
  return e;
}

PoiseErr poiseHubsArguments(Hubs *h, CsriMultArgs *a)
{
  if (!h->bits) return POISE_OK;
  a->bits = h->bits;
  return poiseBufferRead(&h->column, DEVICE, &a->hub);
}

void poiseHubsPredict(const Device *dev, int bits, PoisePrediction *p)
{
  if (bits) poisePredictBetween(dev, 0, (int64_t)sizeof(int32_t) << bits, ON_BOTH, p);
}

void poiseHubsDestroy(Hubs *h)
{
  poiseBufferDestroy(&h->column);
  *h = (Hubs){0};
}

/* ---- host kernel ----------------------------------------------------------------------------- */

PoiseErr poiseHost_csr_hubs(Device *dev, const void *args)
{
  const CsrHubsArgs *a = args;
  (void)dev;
  for (int64_t k = 0; k < a->A.nz; k++) a->count[a->A.col[k]]++;
  for (int64_t j = 0; j < a->columns; j++) {
    int64_t *most = &a->most[poiseHubSlot((int32_t)j, (int)a->bits)], mine = (int64_t)a->count[j] << 32 | j;
    if (a->count[j] && mine > *most) *most = mine;
  }
  return POISE_OK;
}

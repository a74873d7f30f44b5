/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices that stay as the application holds them, through a CSR of them or of their transpose. */
#include "held.h"
#include "mat/csr/replace_values.h"
#include "mat/object/bytes.h"

PoiseErr poiseHeldCreate(PoiseMat A, const PoiseCSR *csr, PoiseOwn own, bool device, Held *h)
{
  const Layout *rows = h->turned ? A->cols : A->rows, *cols = h->turned ? A->rows : A->cols;
  TRY(poiseMatCreateArrays(A->ctx, &poiseMatType_csri, h->turned, rows->n, cols->n, rows->N, cols->N, csr,
                           own, device, &h->csr));
  poiseHeldSizes(A, h);
  return POISE_OK;
}

void poiseHeldSizes(PoiseMat A, const Held *h)
{
  const Csr *c = &h->csr->csr;
  A->csr.m = c->m, A->csr.nloc = c->nloc, A->csr.nghost = c->nghost, A->csr.nz = c->nz;
  A->csr.wide = c->wide;
  A->assembled = true;
  h->csr->product.silent = true; /* A's product is logged */
}

PoiseErr poiseHeldMult(const Held *h, bool transposed, PoiseVec x, PoiseVec y)
{
  return transposed == h->turned ? poiseMatMultPlain(h->csr, x, y) : poiseTransposedMult(h->csr, x, y);
}

PoiseErr poiseHeldReady(const Held *h)
{
  TRY(poiseMatReady(h->csr));
  return h->turned ? poiseTransposedReady(h->csr) : POISE_OK;
}

PoiseErr poiseHeldReadyColumns(const Held *h, bool transposed, int k)
{
  return transposed == h->turned ? poiseMatReadyColumns(h->csr, k) : poiseTransposedReadyColumns(h->csr, k);
}

PoiseErr poiseHeldCheckDiagonal(PoiseMat A, int b)
{
  if (b == 1) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s gives its diagonal, not diagonal blocks of %d",
       A->type->name, b);
}

PoiseErr poiseHeldDiagonal(PoiseMat A, const Held *h, int b, double *d)
{
  TRY(poiseHeldCheckDiagonal(A, b));
  return poiseCsrDiagonal(h->csr, b, d);
}

PoiseErr poiseHeldNorm(const Held *h, PoiseNorm type, double *norm)
{
  PoiseNorm turned = type == POISE_NORM_1 ? POISE_NORM_INF : type == POISE_NORM_INF ? POISE_NORM_1 : type;
  return PoiseMatNorm(h->csr, h->turned ? turned : type, norm);
}

PoiseErr poiseHeldSetValues(const Held *h, Side where, const double *val)
{
  h->csr->version.values++;
  return poiseMatSetEntries(h->csr, where, val);
}

void poiseHeldBytes(const Held *h, PoiseBytes *sum)
{
  PoiseBytes held;
  if (PoiseMatBytes(h->csr, &held, NULL)) return;
  sum->host += held.host;
  sum->device += held.device;
}

/* The index by row is predicted as made, as a solver makes it. */
PoiseErr poiseHeldPredict(const Held *h, const PoiseMatCounts *counts, PoisePrediction *p)
{
  const Csr *c = &h->csr->csr;
  MatPlan plan;
  PoiseMatCounts all = {.nonzeros = c->nz, .ghosts = c->nghost, .sends = c->halo ? c->halo->nsend : 0};
  if (counts) all = *counts;
  if (!h->turned) return poiseMatPredict(h->csr, counts, &plan, p);
  all.transpose = 1;
  return poiseMatPredict(h->csr, &all, &plan, p);
}

/* ---- view ------------------------------------------------------------------------------------ */

PoiseErr poiseHeldViewSizes(PoiseMat A, int64_t arrays, int64_t nghost, const char *ghosts)
{
  bool is_host = A->ctx->device->ops->is_host;
  PoiseBytes held;
  TRY(PoiseMatBytes(A, &held, NULL));
  double sum[] = {(double)A->csr.nz, (double)((is_host ? held.host : held.device) - arrays), (double)nghost};
  double most = sum[0];
  char beyond[24];
  TRY(PoiseSum(A->ctx, 3, sum));
  TRY(PoiseMax(A->ctx, 1, &most));
  double mean = sum[0] / PoiseSize(A->ctx);
  TRY(poisePrint(A->ctx, "  %.0f nonzeros, on a rank at most %.2f times the mean\n", sum[0],
                 mean > 0 ? most / mean : 1));
  TRY(poiseBytesPrint(A->ctx, &held));
  TRY(poisePrint(A->ctx, "    beyond the application's arrays: %s\n", poiseBytesText(sum[1], beyond)));
  if (PoiseSize(A->ctx) == 1) return POISE_OK;
  return poisePrint(A->ctx, "  %.0f ghost %s over all ranks: entries that other ranks have\n", sum[2],
                    ghosts);
}

PoiseErr poiseHeldView(PoiseMat A, const Held *h)
{
  Csr *c = &h->csr->csr;
  Side side = A->ctx->device->ops->is_host ? HOST : DEVICE;
  int64_t arrays =
      poiseBufferBytes(&c->ptr, side) + poiseBufferBytes(&c->col, side) + poiseBufferBytes(&c->val, side);
  TRY(poiseHeldViewSizes(A, arrays, c->nghost, h->turned ? "rows" : "columns"));
  if (!c->converted) return POISE_OK;
  return poisePrint(A->ctx, "  converted into arrays of the library's own: %s\n", c->converted);
}

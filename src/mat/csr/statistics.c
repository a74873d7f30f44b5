/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a rank's rows, and the thread blocks that a device chooses by them. */
#include "mat/mat.h"
#include "statistics.h"

/* Row statistics, computed on the side that has the offsets. From a device only the statistics are copied. */
static PoiseErr Statistics(PoiseMat A, int64_t limit, CsrStatistics *s)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  Side side = poiseBufferIsCurrent(&c->ptr, HOST) ? HOST : DEVICE;
  Buffer there = {0};
  const void *ptr, *result;
  int64_t x_lines = c->statistics.x_lines;
  *s = (CsrStatistics){.m = c->m, .nz = c->nz, .x_lines = x_lines};
  TRY(poiseBufferRead(&c->ptr, side, &ptr));
  CsrStatisticsArgs a = {.A = {.m = c->m, .nz = c->nz}, .limit = limit, .out = s};
  a.share = poiseRowsShare(&dev->model, c->b, c->m), a.bound = poiseRowsBound(&dev->model, c->m, c->nz);
  *(c->wide ? (const void **)&a.A.ptr64 : (const void **)&a.A.ptr32) = ptr;
  s->bound = a.bound;
  if (side == HOST) return poiseHost_csr_statistics(dev, &a);
  PoiseErr e = poiseBufferCreate(dev, sizeof *s, "statistics of rows", &there);
  if (!e) e = poiseBufferUpdate(&there, DEVICE, &a.out);
  if (!e) e = LAUNCH(dev, csr_statistics, &a);
  if (!e) e = poiseBufferRead(&there, HOST, &result);
  if (!e) memcpy(s, result, sizeof *s);
  s->m = c->m, s->nz = c->nz, s->bound = a.bound, s->x_lines = x_lines;
  poiseBufferDestroy(&there);
  return e;
}

PoiseErr poiseCsrCutStatistics(PoiseMat A, const ProductRequest *request, CsrStatistics *s)
{
  const Csr *c = &A->csr;
  int64_t limit = poiseSplitLimit(&A->ctx->device->model, request, c->m + c->nz);
  *s = c->statistics;
  return s->longest >= limit ? Statistics(A, limit, s) : POISE_OK;
}

/* Measure how scattered the columns are, on the side that has them. */
static PoiseErr FindSpread(PoiseMat A)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  Side side = poiseBufferIsCurrent(&c->col, HOST) ? HOST : DEVICE;
  CsrSpreadArgs a = {.A = {.m = c->m, .nz = c->nz}};
  Buffer there = {0};
  const int64_t *lines;
  PoiseErr e = POISE_OK;
  c->statistics.x_lines = 0;
  if (!poiseWantsXLines(&dev->model, c->b, c->nloc + c->nghost, c->nz)) return POISE_OK;
  TRY(poiseBufferRead(&c->col, side, &a.A.col));
  TRY(poiseBufferCreate(dev, sizeof *lines, "lines of columns", &there));
  e = poiseBufferUpdate(&there, side, &a.lines);
  if (!e) e = side == HOST ? poiseHost_csr_x_lines(dev, &a) : LAUNCH(dev, csr_x_lines, &a);
  if (!e) e = poiseBufferRead(&there, HOST, &lines);
  if (!e) c->statistics.x_lines = 100 * *lines / (POISE_SAMPLE * POISE_SAMPLES);
  poiseBufferDestroy(&there);
  return e;
}

PoiseErr poiseCsrChooseRows(PoiseMat A)
{
  Csr *c = &A->csr;
  CsrStatistics *s = &c->statistics;
  const ProductRequest request = poiseStoredRequest(c->b);
  ProductPlan plan;
  TRY(FindSpread(A));
  TRY(Statistics(A, 0, s));
  poiseProductPlan(&A->ctx->device->model, &request, s, s, &plan);
  c->vary = poiseRowsVary(s, c->nloc + c->nghost);
  c->rows = plan.rows, c->tile = plan.tile;
  c->nblock = (c->m + c->rows - 1) / c->rows;
  return POISE_OK;
}

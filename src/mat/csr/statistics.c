/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a rank's rows, and the thread blocks that a device chooses by them. */
#include "mat/mat.h"
#include "statistics.h"

/* How scattered the columns are, by a sample of their cache lines. */
static PoiseErr LaunchSpread(PoiseMat A, Side side, int64_t *lines)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  CsrSpreadArgs a = {.A = {.m = c->m, .nz = c->nz}, .lines = lines};
  TRY(poiseBufferRead(&c->col, side, &a.A.col));
  return side == HOST ? poiseHost_csr_x_lines(dev, &a) : LAUNCH(dev, csr_x_lines, &a);
}

/* On the side that has the offsets, and, for the spread, the columns. From a device only *s is copied. */
static PoiseErr LaunchStatistics(PoiseMat A, CsrStatisticsArgs *a, bool spread, Side side, CsrStatistics *s)
{
  Device *dev = A->ctx->device;
  Buffer there = {0};
  PoiseErr e = POISE_OK;
  a->out = s;
  if (side == HOST && spread) e = LaunchSpread(A, HOST, &s->x_lines);
  if (side == HOST) return e ? e : poiseHost_csr_statistics(dev, a);
  e = poiseBufferCreate(dev, sizeof *s, "statistics of rows", &there);
  if (!e) e = poiseBufferUpdate(&there, DEVICE, &a->out);
  if (!e && spread) e = LaunchSpread(A, DEVICE, &a->out->x_lines);
  if (!e) e = LAUNCH(dev, csr_statistics, a);
  if (!e) e = poiseDeviceFetch(dev, a->out, sizeof *s, s);
  poiseBufferDestroy(&there);
  return e;
}

/* Of rows, and of columns where `spread` says so; else x_lines stays. */
static PoiseErr Statistics(PoiseMat A, int64_t limit, bool spread, CsrStatistics *s)
{
  Csr *c = &A->csr;
  const DeviceModel *model = &A->ctx->device->model;
  Side side =
      poiseBufferIsCurrent(&c->ptr, HOST) && (!spread || poiseBufferIsCurrent(&c->col, HOST)) ? HOST : DEVICE;
  int64_t x_lines = spread ? 0 : c->statistics.x_lines;
  CsrStatisticsArgs a = {.A = {.m = c->m, .nz = c->nz}, .limit = limit};
  const void *ptr;
  *s = (CsrStatistics){0};
  TRY(poiseBufferRead(&c->ptr, side, &ptr));
  a.share = poiseRowsShare(model, c->b, c->m), a.bound = poiseRowsBound(model, c->m, c->nz);
  *(c->wide ? (const void **)&a.A.ptr64 : (const void **)&a.A.ptr32) = ptr;
  PoiseErr e = LaunchStatistics(A, &a, spread, side, s);
  s->m = c->m, s->nz = c->nz, s->bound = a.bound;
  s->x_lines = spread ? 100 * s->x_lines / (POISE_SAMPLE * POISE_SAMPLES) : x_lines;
  return e;
}

PoiseErr poiseCsrCutStatistics(PoiseMat A, const ProductRequest *request, CsrStatistics *s)
{
  const Csr *c = &A->csr;
  int64_t limit = poiseSplitLimit(&A->ctx->device->model, request, c->m + c->nz);
  *s = c->statistics;
  return s->longest >= limit ? Statistics(A, limit, false, s) : POISE_OK;
}

PoiseErr poiseCsrChooseRows(PoiseMat A)
{
  Csr *c = &A->csr;
  CsrStatistics *s = &c->statistics;
  const DeviceModel *model = &A->ctx->device->model;
  const ProductRequest request = poiseStoredRequest(c->b);
  ProductPlan plan;
  s->x_lines = 0;
  TRY(Statistics(A, 0, poiseWantsXLines(model, c->b, c->nloc + c->nghost, c->nz), s));
  poiseProductPlan(model, &request, s, s, &plan);
  c->vary = poiseRowsVary(s, c->nloc + c->nghost);
  c->rows = plan.rows, c->tile = plan.tile;
  c->nblock = (c->m + c->rows - 1) / c->rows;
  return POISE_OK;
}

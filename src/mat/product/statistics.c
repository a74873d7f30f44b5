/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a rank's rows, and the blocks of rows that a plan chooses by them. */
#include "interior.h"
#include "mat/object/mat.h"
#include "statistics.h"

/* How scattered the columns are, by a sample of their cache lines. */
static PoiseErr LaunchSpread(PoiseMat A, Side side, CsrStatistics *s)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  CsrSpreadArgs a = {.A = {.m = c->m, .nz = c->nz}, .lines = &s->x_lines, .gathers = &s->gather_lines};
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
  if (side == HOST && spread) e = LaunchSpread(A, HOST, s);
  if (side == HOST) return e ? e : poiseHost_csr_statistics(dev, a);
  e = poiseBufferCreate(dev, sizeof *s, "statistics of rows", &there);
  if (!e) e = poiseBufferUpdate(&there, DEVICE, &a->out);
  if (!e && spread) e = LaunchSpread(A, DEVICE, a->out);
  if (!e) e = LAUNCH(dev, csr_statistics, a);
  if (!e) e = poiseDeviceFetch(dev, a->out, sizeof *s, s);
  poiseBufferDestroy(&there);
  return e;
}

/* Of rows, and of columns where `spread` says so; else what is known of these stays. */
static PoiseErr Statistics(PoiseMat A, int64_t limit, bool spread, CsrStatistics *s)
{
  Csr *c = &A->csr;
  const DeviceModel *model = &A->ctx->device->model;
  Side side =
      poiseBufferIsCurrent(&c->ptr, HOST) && (!spread || poiseBufferIsCurrent(&c->col, HOST)) ? HOST : DEVICE;
  const CsrStatistics *known = &A->blocks.statistics;
  const int64_t lines = known->x_lines, gathers = known->gather_lines;
  CsrStatisticsArgs a = {.A = {.m = c->m, .nz = c->nz}, .limit = limit};
  const void *ptr;
  *s = (CsrStatistics){0};
  TRY(poiseBufferRead(&c->ptr, side, &ptr));
  a.share = poiseRowsShare(model, c->b, c->m), a.bound = poiseRowsBound(model, c->m, c->nz);
  *(c->wide ? (const void **)&a.A.ptr64 : (const void **)&a.A.ptr32) = ptr;
  PoiseErr e = LaunchStatistics(A, &a, spread, side, s);
  s->m = c->m, s->nz = c->nz, s->bound = a.bound;
  s->x_lines = spread ? 100 * s->x_lines / (POISE_SAMPLE * POISE_SAMPLES) : lines;
  s->gather_lines = spread ? 100 * s->gather_lines / (POISE_SAMPLE * POISE_SAMPLES) : gathers;
  return e;
}

PoiseErr poiseCsrCutStatistics(PoiseMat A, const ProductRequest *request, CsrStatistics *s)
{
  const Csr *c = &A->csr;
  int64_t limit = poiseSplitLimit(&A->ctx->device->model, request, c->m + c->nz);
  *s = A->blocks.statistics;
  return s->longest >= limit ? Statistics(A, limit, false, s) : POISE_OK;
}

void poiseMatBlocksDestroy(MatBlocks *b)
{
  poiseBufferDestroy(&b->order);
  poiseBufferDestroy(&b->index16.code);
  poiseBufferDestroy(&b->index16.base);
  *b = (MatBlocks){.ranges = b->ranges};
}

static PoiseErr Measure(PoiseMat A)
{
  const Csr *c = &A->csr;
  MatBlocks *b = &A->blocks;
  const DeviceModel *model = &A->ctx->device->model;
  ProductRequest request = poiseStoredRequest(c->b);
  int64_t columns = c->nloc + c->nghost;
  ProductPlan plan;
  request.ranges = b->ranges;
  TRY(Statistics(A, 0, poiseWantsXLines(model, c->b, columns, c->nz), &b->statistics));
  poiseProductPlan(model, &request, &b->statistics, &b->statistics, &plan);
  b->vary = poiseRowsVary(&b->statistics, columns);
  b->rows = plan.rows, b->tile = plan.tile, b->lanes = 0;
  while (1 << b->lanes < plan.lanes) b->lanes++;
  b->n = (c->m + b->rows - 1) / b->rows;
  return POISE_OK;
}

PoiseErr poiseMatOrderBlocks(PoiseMat A)
{
  MatBlocks *b = &A->blocks;
  const int32_t *order;
  if (!A->csr.halo) return POISE_OK;
  PoiseErr e = b->order.dev ? POISE_OK : poiseCsrOrder(A, b->n, b->rows, NULL, &b->order, &b->interior);
  if (!e) e = poiseBufferRead(&b->order, DEVICE, &order);
  if (e) poiseBufferDestroy(&b->order);
  return e;
}

PoiseErr poiseMatMeasure(PoiseMat A)
{
  MatBlocks *b = &A->blocks;
  if (b->measured == A->version.pattern) return POISE_OK;
  poiseMatBlocksDestroy(b);
  PoiseErr e = Measure(A);
  if (e) poiseMatBlocksDestroy(b);
  TRY(e);
  b->measured = A->version.pattern;
  return POISE_OK;
}

/* ---- host kernels ---------------------------------------------------------------------------- */

/* 4 bytes per row, or 8. */
PoiseErr poiseHost_csr_statistics(Device *dev, const void *args)
{
  const CsrStatisticsArgs *a = args;
  const CsrView *A = &a->A;
  int64_t nblock = POISE_NBLOCKS(A->m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t first = b * POISE_BLOCK, end = first + POISE_BLOCK < A->m ? first + POISE_BLOCK : A->m, cut = 0,
            fragments = 0, tile[POISE_TILES] = {0};
    int64_t length_changes = 0, empty = 0, longest = 0, squares = 0, rows_above = 0;
    for (int64_t i = first; i < end; i++) {
      int64_t length = poiseCsrOffset(A, i + 1) - poiseCsrOffset(A, i);
      length_changes += !i || length != poiseCsrOffset(A, i) - poiseCsrOffset(A, i - 1);
      empty += !length;
      fragments += poiseCsrFragments(a, length);
      if (a->limit && length >= a->limit) {
        cut += length;
        continue;
      }
      squares += length * length;
      if (length > longest) longest = length;
      rows_above += a->bound && length > a->bound;
    }
    for (int k = 0; k < POISE_TILES; k++)
      for (int64_t rows = 256 >> k, i = first; i < end; i += rows) {
        int64_t n = poiseCsrTile(a, i, i + rows < end ? i + rows : end);
        if (n > tile[k]) tile[k] = n;
      }
    HOST_CRITICAL
    {
      a->out->length_changes += length_changes;
      a->out->cut += cut;
      a->out->fragments += fragments;
      a->out->empty += empty;
      a->out->squares += squares;
      a->out->rows_above += rows_above;
      if (longest > a->out->longest) a->out->longest = longest;
      for (int k = 0; k < POISE_TILES; k++)
        if (tile[k] > a->out->tile[k]) a->out->tile[k] = tile[k];
    }
  }
  for (int64_t s = 0; a->share && s * a->share < A->m; s++)
    if (poiseCsrShare(a, s) > a->out->max_share_nnz) a->out->max_share_nnz = poiseCsrShare(a, s);
  return POISE_OK;
}

/* The number of lines of x in which so many neighbours of a sample have columns. */
static int64_t LinesOf(const int32_t *col, uint32_t entries)
{
  const uint32_t room = 2 * entries;
  int32_t set[2 * POISE_SAMPLE];
  int64_t n = 0;
  for (uint32_t k = 0; k < room; k++) set[k] = -1;
  for (uint32_t k = 0; k < entries; k++) {
    int32_t line = col[k] / POISE_LINE;
    uint32_t at = (poiseHash32(line) >> 16) % room;
    while (set[at] != line && set[at] >= 0) at = (at + 1) % room;
    n += set[at] < 0;
    set[at] = line;
  }
  return n;
}

PoiseErr poiseHost_csr_x_lines(Device *dev, const void *args)
{
  const CsrSpreadArgs *a = args;
  int64_t lines = 0, gathers = 0;
  (void)dev;
  for (int64_t s = 0; s < POISE_SAMPLES; s++) {
    const int32_t *col = a->A.col + poiseSampleStart(&a->A, s);
    lines += LinesOf(col, POISE_SAMPLE);
    for (int k = 0; k < POISE_SAMPLE; k += POISE_GATHER) gathers += LinesOf(col + k, POISE_GATHER);
  }
  *a->lines += lines;
  *a->gathers += gathers;
  return POISE_OK;
}

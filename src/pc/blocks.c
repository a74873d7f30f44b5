/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks: set-up, application, and the host kernels of both. */
#include "mat/order/arrange.h"
#include "vec/columns_host.h"
#include "blocks_host.h"
#include "blocks_kernels.h"
#include "blocks.h"

void poiseBlocksDestroy(Blocks *k)
{
  poiseBufferDestroy(&k->inverse);
  poiseBufferDestroy(&k->bad);
}

void poiseBlocksBytes(const Blocks *k, PoiseBytes *sum)
{
  poiseBufferAdd(&k->inverse, sum);
  poiseBufferAdd(&k->bad, sum);
}

void poiseBlocksPredict(PoisePC pc, int b, PoisePrediction *p)
{
  poisePredict(pc->ctx->device, 8 * b * pc->P->rows->n, ON_DEVICE, p);
  poisePredict(pc->ctx->device, sizeof(double), ON_BOTH, p);
}

static PoiseErr Allocate(PoisePC pc, Blocks *k, int b)
{
  Device *dev = pc->ctx->device;
  int64_t n = pc->P->rows->n;
  if (k->bad.dev && k->b == b && k->n == n) return POISE_OK;
  poiseBlocksDestroy(k);
  pc->generation++;
  k->b = b;
  k->n = n;
  TRY(poiseBufferCreate(dev, (size_t)n * (size_t)b * sizeof(double), "inverse diagonal blocks", &k->inverse));
  return poiseBufferCreate(dev, sizeof(double), "first singular block", &k->bad);
}

static PoiseErr Open(PoisePC pc, Blocks *k, int b, double **d)
{
  TRY(poiseMatCheckSquare(pc->P));
  TRY(Allocate(pc, k, b));
  return poiseBufferWrite(&k->inverse, DEVICE, d);
}

PoiseErr poiseBlocksSetup(PoisePC pc, Blocks *k, int b, bool fix)
{
  double *d = NULL, *out;
  const double *bad;
  PoiseErr e = Open(pc, k, b, &d);
  TRY(poiseMatDiagonalBlocks(pc->P, e, b, d));
  TRY(poiseBufferWrite(&k->bad, DEVICE, &out));
  TRY(LAUNCH(pc->ctx->device, invert_blocks,
             &(InvertBlocksArgs){.nblock = k->n / b, .b = b, .fix = fix, .d = d, .bad = out}));
  TRY(poiseBufferRead(&k->bad, HOST, &bad));
  if (*bad < 0) return POISE_OK;
  long long row = poiseMatRowName(pc->P, (int64_t)*bad * b);
  if (b == 1) FAIL(POISE_ERR_NUMERIC, "the diagonal entry of row %lld is zero, missing or not finite", row);
  FAIL(POISE_ERR_NUMERIC, "the diagonal block of rows %lld to %lld is singular or not finite", row,
       row + b - 1);
}

PoiseErr poiseBlocksApply(PoisePC pc, Blocks *k, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  BlockApplyArgs a = {.n = r->layout->n, .b = k ? k->b : 1, .columns = poiseVecColumns(r), .skip = skip};
  if (fuse) a.fuse = *fuse;
  if (k) TRY(poiseBufferRead(&k->inverse, DEVICE, &a.d));
  TRY(poiseVecRead(r, &a.x));
  TRY(skip ? poiseVecUpdate(z, &a.y) : poiseVecWrite(z, &a.y)); /* skipped, z keeps its content */
  if (a.columns > 1) return LAUNCH(pc->ctx->device, block_apply_columns, &a);
  return LAUNCH(pc->ctx->device, block_apply, &a);
}

PoiseErr poiseBlocksShow(Blocks *k, const double **d, int64_t *b)
{
  *b = k->b;
  return poiseBufferRead(&k->inverse, DEVICE, d);
}

/* ---- host kernels ---------------------------------------------------------------------------- */

PoiseErr poiseHost_invert_blocks(Device *dev, const void *args)
{
  const InvertBlocksArgs *a = args;
  int b = a->b;
  (void)dev;
  *a->bad = -1;
  for (int64_t k = 0; k < a->nblock; k++) {
    double *d = a->d + k * b * b;
    if (b == 1 && a->fix && *d == 0) *d = 1;
    if (!poiseInvertBlock(d, b) && *a->bad < 0) *a->bad = (double)k;
  }
  return POISE_OK;
}

static void ApplyRows(const BlockApplyArgs *a, int64_t k)
{
  int64_t begin = k * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
  if (a->d)
    poiseHostBlocks(a->d, a->b, a->n, a->x, a->y, begin, end);
  else
    memcpy(a->y + begin, a->x + begin, (size_t)(end - begin) * sizeof(double));
  poiseHostFuse(&a->fuse, a->y, begin, end, k);
}

PoiseErr poiseHost_block_apply(Device *dev, const void *args)
{
  const BlockApplyArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_BLOCKS(dev, nblock, 1, k, ApplyRows(a, k));
  return POISE_OK;
}

/* Row i of all columns. Terms are added in the order of a row of one. */
static void ApplyWideRow(const BlockApplyArgs *a, int64_t i)
{
  int64_t n = a->columns, b = a->b, first = i / b * b;
  const double *d = a->d + first * b + (i - first);
  double *restrict y = a->y + i * n;
  for (int64_t j = 0; j < n; j++) y[j] = 0;
  for (int64_t c = 0; c < b; c++) {
    const double factor = d[c * b], *x = a->x + (first + c) * n;
    HOST_SIMD
    for (int64_t j = 0; j < n; j++) y[j] += factor * x[j];
  }
}

static void ApplyWideRows(const BlockApplyArgs *a, int64_t k)
{
  int64_t begin = k * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
  for (int64_t i = begin; i < end; i++) ApplyWideRow(a, i);
  poiseHostFuseColumns(&a->fuse, a->y, begin, end, k);
}

PoiseErr poiseHost_block_apply_columns(Device *dev, const void *args)
{
  const BlockApplyArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_BLOCKS(dev, nblock, 1, k, ApplyWideRows(a, k));
  return POISE_OK;
}

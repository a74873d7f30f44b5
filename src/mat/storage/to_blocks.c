/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A matrix of numbers becomes one of blocks where its values are: blocks are counted for each block row, which
  makes the offsets, and then filled. Ghosts are blocks that have a ghost. The entries are read twice. Beside
  both matrices this holds 4 bytes per block row, and 8 per ghost.
*/
#include "mat/product/bcsr_kernels.h"
#include "blocks.h"
#include "mat/csr/keys_kernels.h"
#include "to_blocks_kernels.h"

typedef struct Scratch {
  Buffer place, length, count;
  PoiseInt *ghost; /* global columns of the blocks that are ghosts */
  int64_t nghost;
} Scratch;

static void Release(PoiseContext ctx, Scratch *s)
{
  poiseBufferDestroy(&s->place);
  poiseBufferDestroy(&s->length);
  poiseBufferDestroy(&s->count);
  poiseFree(ctx, &s->ghost);
}

static PoiseErr Make(Device *dev, int64_t n, size_t size, const char *what, Buffer *b, void *p)
{
  TRY(poiseBufferCreate(dev, (size_t)n * size, what, b));
  return poiseBufferWrite(b, DEVICE, p);
}

/* Blocks of the ghosts, which ascend; and the places of these. */
static PoiseErr PlaceGhosts(PoiseMat A, ToBlocksArgs *a, Scratch *s)
{
  const Csr *c = &A->csr;
  int64_t *place, b = a->b;
  PoiseInt last = -1;
  if (!c->nghost) return POISE_OK;
  TRY(poiseAllocArray(A->ctx, c->nghost, sizeof *s->ghost, "ghosts", &s->ghost));
  TRY(poiseBufferCreate(A->ctx->device, (size_t)c->nghost * sizeof *place, "places of ghosts", &s->place));
  TRY(poiseBufferWrite(&s->place, HOST, &place));
  for (int64_t g = 0; g < c->nghost; g++) {
    PoiseInt block = c->ghost[g] / b;
    if (block != last) s->ghost[s->nghost++] = last = block;
    bool above = c->ghost[g] >= c->column;
    if (!above) a->below = s->nghost;
    place[g] = (s->nghost - 1 + (above ? a->nloc : 0)) * b + c->ghost[g] % b;
  }
  TRY(poiseResize(A->ctx, (size_t)s->nghost * sizeof *s->ghost, "ghosts", &s->ghost));
  return poiseBufferRead(&s->place, DEVICE, &a->place);
}

/* Lengths and their sums by blocks of rows; the total is fetched. */
static PoiseErr Count(PoiseMat A, int b, ToBlocksArgs *a, Scratch *s, int64_t *blocks)
{
  Device *dev = A->ctx->device;
  *a = (ToBlocksArgs){.m = A->csr.m / b, .b = b, .nloc = A->csr.nloc / b};
  RowOffsetsArgs o = {.m = a->m};
  int64_t nblock = POISE_NBLOCKS(a->m);
  TRY(poiseCsrPattern(&A->csr, &a->A));
  TRY(PlaceGhosts(A, a, s));
  TRY(Make(dev, a->m, sizeof *a->length, "blocks of rows", &s->length, &a->length));
  TRY(Make(dev, nblock + 1, sizeof *o.count, "blocks of blocks of rows", &s->count, &o.count));
  o.length = a->length;
  TRY(LAUNCH(dev, to_blocks_count, a));
  TRY(LAUNCH(dev, row_sums, &o));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = nblock, .count = o.count}));
  return poiseDeviceFetch(dev, o.count + nblock, sizeof *blocks, blocks);
}

PoiseErr poiseMatCountBlocks(PoiseMat A, int b, int64_t *blocks)
{
  ToBlocksArgs a;
  Scratch s = {0};
  PoiseErr e = Count(A, b, &a, &s, blocks);
  Release(A->ctx, &s);
  return e;
}

static PoiseErr Fill(PoiseMat A, int b, Scratch *s, Csr *made)
{
  Device *dev = A->ctx->device;
  ToBlocksArgs a;
  TRY(Count(A, b, &a, s, &made->nz));
  made->m = a.m, made->nloc = a.nloc, made->nghost = s->nghost;
  made->wide = made->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  made->ghost = s->ghost, s->ghost = NULL;
  if (made->nz > PTRDIFF_MAX / (int64_t)sizeof(double) / b / b)
    FAIL(POISE_ERR_MEMORY, "values of %lld blocks of %d x %d", (long long)made->nz, b, b);
  RowOffsetsArgs o = {.m = a.m, .length = a.length};
  TRY(poiseBufferRead(&s->count, DEVICE, &o.count));
  TRY(Make(dev, a.m + 1, made->wide ? 8 : 4, "row offsets", &made->ptr,
           made->wide ? (void *)&o.ptr64 : (void *)&o.ptr32));
  TRY(LAUNCH(dev, row_offsets, &o));
  a.ptr64 = o.ptr64, a.ptr32 = o.ptr32;
  TRY(poiseCsrView(&A->csr, &a.A));
  TRY(Make(dev, made->nz, sizeof *a.col, "columns", &made->col, &a.col));
  TRY(Make(dev, made->nz * b * b, sizeof *a.val, "values", &made->val, &a.val));
  return LAUNCH(dev, to_blocks_fill, &a);
}

PoiseErr poiseMatMakeBlocks(PoiseMat A, int b, Csr *made)
{
  Scratch s = {0};
  *made = (Csr){.b = b};
  PoiseErr e = Fill(A, b, &s, made);
  Release(A->ctx, &s);
  return e;
}

/* ---- host kernels ---------------------------------------------------------------------------- */

/* Begin to walk through rows [i b, (i + 1) b). */
static void Begin(const ToBlocksArgs *a, int64_t i, BlockWalk *walk)
{
  for (int64_t r = 0; r < a->b; r++) poiseBlockBegin(a, i * a->b + r, &walk[r]);
}

static int32_t Next(const ToBlocksArgs *a, const BlockWalk *walk)
{
  int32_t next = POISE_NO_BLOCK;
  for (int64_t r = 0; r < a->b; r++)
    if (walk[r].block < next) next = walk[r].block;
  return next;
}

static void CountRow(const ToBlocksArgs *a, int64_t i)
{
  BlockWalk walk[MAX_BLOCK_SIZE];
  int32_t n = 0;
  Begin(a, i, walk);
  for (int32_t block; (block = Next(a, walk)) != POISE_NO_BLOCK; n++)
    for (int64_t r = 0; r < a->b; r++) poiseBlockPass(a, block, &walk[r]);
  a->length[i] = n;
}

static void FillRow(const ToBlocksArgs *a, int64_t i)
{
  BlockWalk walk[MAX_BLOCK_SIZE];
  int64_t k = poiseBlockOffset(a, i);
  Begin(a, i, walk);
  for (int32_t block; (block = Next(a, walk)) != POISE_NO_BLOCK; k++) {
    a->col[k] = poiseBlockColumn(a, block);
    for (int64_t r = 0; r < a->b; r++) poiseBlockTake(a, block, r, &walk[r], a->val + k * a->b * a->b);
  }
}

static PoiseErr Rows(Device *dev, const ToBlocksArgs *a, void (*row)(const ToBlocksArgs *, int64_t))
{
  int64_t nblock = POISE_NBLOCKS(a->m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t c = 0; c < nblock; c++)
    for (int64_t i = c * POISE_BLOCK; i < (c + 1) * POISE_BLOCK && i < a->m; i++) row(a, i);
  return POISE_OK;
}

PoiseErr poiseHost_to_blocks_count(Device *dev, const void *args)
{
  return Rows(dev, args, CountRow);
}

PoiseErr poiseHost_to_blocks_fill(Device *dev, const void *args)
{
  return Rows(dev, args, FillRow);
}

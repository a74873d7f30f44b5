/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Local numbers for global columns that are on a device. Entries in columns of other ranks are picked, and
  their columns sorted (keys.c): the different ones are the ghosts. The host gets these alone, as it makes the
  halo of them. Each such entry then looks its column up.

  Bytes held beside the entries, of which g are in columns of other ranks: 24 g in the sort.
*/
#include "ghosts.h"
#include "ghosts_kernels.h"
#include "ghosts_there.h"
#include "keys_kernels.h"
#include "mat/object/mat.h"

/* The keys of the entries in columns of other ranks. */
static PoiseErr Pick(PoiseMat A, int64_t side, const Csr *c, const int32_t *col, Buffer *count, Keys *g)
{
  Device *dev = A->ctx->device;
  int64_t nblock = POISE_NBLOCKS(c->nz), begin = A->cols->begin / side, *place64;
  GhostPickArgs a = {.n = c->nz, .begin = begin, .end = begin + A->cols->n / side, .col = col};
  TRY(poiseBufferCreate(dev, (size_t)(nblock + 1) * sizeof *a.count, "ghosts of blocks", count));
  TRY(poiseBufferWrite(count, DEVICE, &a.count));
  TRY(LAUNCH(dev, ghost_count, &a));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = nblock, .count = a.count}));
  TRY(poiseDeviceFetch(dev, a.count + nblock, sizeof g->n, &g->n));
  TRY(poiseKeysCreate(dev, g, &a.key, &place64, &a.place));
  return LAUNCH(dev, ghost_pick, &a);
}

PoiseErr poiseGhostsOfKeys(PoiseContext ctx, Keys *k, int64_t limit, Buffer *list, const int64_t **there,
                           int64_t *n, PoiseInt **ghost)
{
  Device *dev = ctx->device;
  Buffer ptr = {0};
  int64_t *columns;
  TRY(poiseKeysSort(dev, k, 0, k->bits + 1));
  TRY(poiseKeysCount(dev, k, n));
  if (*n > limit) return poiseTooManyGhosts(ctx, *n);
  PoiseErr e = poiseKeysList(dev, k, *n, &ptr, list, &columns);
  poiseBufferDestroy(&ptr);
  TRY(e);
  *there = columns;
  TRY(poiseAllocArray(ctx, *n, sizeof **ghost, "ghost columns", ghost));
  return poiseDeviceFetch(dev, columns, (size_t)*n * sizeof *columns, *ghost);
}

static PoiseErr Number(PoiseMat A, int64_t side, Csr *c, Buffer *list, Buffer *count, Keys *g)
{
  GhostNumberArgs a = {.n = c->nz, .begin = A->cols->begin / side, .nloc = c->nloc};
  TRY(poiseBufferUpdate(&c->col, DEVICE, &a.col));
  TRY(Pick(A, side, c, a.col, count, g));
  if (g->n) TRY(poiseGhostsOfKeys(A->ctx, g, INT32_MAX - c->nloc, list, &a.ghost, &c->nghost, &c->ghost));
  a.nghost = c->nghost;
  return LAUNCH(A->ctx->device, ghost_number, &a);
}

PoiseErr poiseGhostsNumberThere(PoiseMat A, Csr *c)
{
  int64_t side = poiseCsrSide(c);
  Keys g = {.m = 1, .bits = poiseBitsOf(A->cols->N / side)};
  Buffer list = {0}, count = {0};
  c->nghost = 0;
  PoiseErr e = Number(A, side, c, &list, &count, &g);
  poiseBufferDestroy(&list);
  poiseBufferDestroy(&count);
  poiseKeysDestroy(&g);
  return e;
}

/* ---- host kernels ---------------------------------------------------------------------------- */

PoiseErr poiseHost_ghost_count(Device *dev, const void *args)
{
  const GhostPickArgs *a = args;
  (void)dev;
  for (int64_t b = 0; b < POISE_NBLOCKS(a->n); b++) {
    a->count[b] = 0;
    for (int64_t k = b * POISE_BLOCK; k < (b + 1) * POISE_BLOCK && k < a->n; k++)
      a->count[b] += poiseIsGhost(a, k);
  }
  return POISE_OK;
}

PoiseErr poiseHost_ghost_pick(Device *dev, const void *args)
{
  const GhostPickArgs *a = args;
  (void)dev;
  for (int64_t b = 0; b < POISE_NBLOCKS(a->n); b++) {
    int64_t to = a->count[b];
    for (int64_t k = b * POISE_BLOCK; k < (b + 1) * POISE_BLOCK && k < a->n; k++) {
      if (!poiseIsGhost(a, k)) continue;
      a->key[to] = (uint64_t)a->col[k];
      a->place[to] = (uint32_t)to;
      to++;
    }
  }
  return POISE_OK;
}

PoiseErr poiseHost_ghost_number(Device *dev, const void *args)
{
  const GhostNumberArgs *a = args;
  (void)dev;
  for (int64_t k = 0; k < a->n; k++) a->col[k] = poiseGhostNumber(a, a->col[k]);
  return POISE_OK;
}

PoiseErr poiseHost_ghost_blocks(Device *dev, const void *args)
{
  const GhostBlocksArgs *a = args;
  (void)dev;
  for (int64_t b = 0; b < a->n; b++) {
    int64_t k, end;
    poiseBlockEntries(a, b, &k, &end);
    while (k < end && a->A.col[k] < a->A.nloc) k++;
    a->has[b] = k < end;
  }
  return POISE_OK;
}

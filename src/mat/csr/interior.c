/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ranks: blocks of rows without ghosts come first, and run while the halo travels. They are found on
   the side that has the columns. */
#include "interior.h"
#include "ghosts_kernels.h"

static PoiseErr FindGhosts(PoiseMat A, Side side, GhostBlocksArgs *a, Buffer *row_block, Buffer *has)
{
  Csr *c = &A->csr;
  const void *ptr;
  TRY(poiseBufferRead(&c->ptr, side, &ptr));
  *(c->wide ? (const void **)&a->A.ptr64 : (const void **)&a->A.ptr32) = ptr;
  TRY(poiseBufferRead(&c->col, side, &a->A.col));
  if (row_block) TRY(poiseBufferRead(row_block, side, &a->row_block));
  TRY(poiseBufferCreate(A->ctx->device, (size_t)a->n * sizeof *a->has, "blocks with ghosts", has));
  TRY(poiseBufferWrite(has, side, &a->has));
  return side == HOST ? poiseHost_ghost_blocks(A->ctx->device, a) : LAUNCH(A->ctx->device, ghost_blocks, a);
}

PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, Buffer *row_block, Buffer *order, int64_t *ninterior)
{
  Csr *c = &A->csr;
  Side side = poiseBufferIsCurrent(&c->col, HOST) ? HOST : DEVICE;
  GhostBlocksArgs a = {.A = {.m = c->m, .nloc = c->nloc}, .n = n, .rows = rows};
  Buffer has = {0};
  const int32_t *ghosts;
  int32_t *to;
  int64_t boundary = 0;
  TRY(poiseBufferCreate(A->ctx->device, (size_t)n * sizeof *to, "block order", order));
  TRY(poiseBufferWrite(order, HOST, &to));
  PoiseErr e = FindGhosts(A, side, &a, row_block, &has);
  if (!e) e = poiseBufferRead(&has, HOST, &ghosts);
  *ninterior = 0;
  for (int64_t b = 0; b < n && !e; b++) to[ghosts[b] ? n - ++boundary : (*ninterior)++] = (int32_t)b;
  poiseBufferDestroy(&has);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ranks: blocks of rows without ghosts come first, and run while the halo travels. They are found on
   the side that has the columns. */
#include "interior.h"
#include "mat/csr/ghosts_kernels.h"

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

/* Kernels are faster on consecutive blocks than on listed ones. So the longest run without ghosts is the
   interior, and other blocks without ghosts wait for them, if those are at most 1/8. */
static Interior FindInterior(const int32_t *ghosts, int64_t n)
{
  Interior run = {0, 0}, all = {0, -1};
  int64_t since = 0;
  for (int64_t b = 0; b < n; b++) {
    if (ghosts[b])
      since = b + 1;
    else
      all.n++;
    if (b + 1 - since > run.n) run = (Interior){b + 1 - since, since};
  }
  return run.n >= all.n - all.n / 8 ? run : all;
}

PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, Buffer *row_block, Buffer *order, Interior *interior)
{
  Csr *c = &A->csr;
  Side side = poiseBufferIsCurrent(&c->col, HOST) ? HOST : DEVICE;
  GhostBlocksArgs a = {.A = {.m = c->m, .nloc = c->nloc}, .n = n, .rows = rows};
  Buffer has = {0};
  const int32_t *ghosts;
  int32_t *to;
  int64_t before = 0, rest = n;
  *interior = (Interior){0, 0};
  TRY(poiseBufferCreate(A->ctx->device, (size_t)n * sizeof *to, "block order", order));
  TRY(poiseBufferWrite(order, HOST, &to));
  PoiseErr e = FindGhosts(A, side, &a, row_block, &has);
  if (!e) e = poiseBufferRead(&has, HOST, &ghosts);
  if (!e) *interior = FindInterior(ghosts, n);
  int64_t first = interior->first, last = first + interior->n;
  for (int64_t b = 0; b < n && !e; b++) {
    bool inside = first < 0 ? !ghosts[b] : first <= b && b < last;
    to[inside ? before++ : --rest] = (int32_t)b;
  }
  poiseBufferDestroy(&has);
  return e;
}

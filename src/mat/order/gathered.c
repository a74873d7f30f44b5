/* SPDX-License-Identifier: BSD-3-Clause */
/* Items of all ranks on rank 0, and back. */
#include "gathered.h"

/* bytes: of every rank: what this rank has for rank 0; and what rank 0 has of it. */
static PoiseErr Count(PoiseContext ctx, const int64_t *count, size_t item, int64_t **bytes)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  *bytes = NULL;
  PoiseErr e = PoiseAgree(ctx, poiseAllocArray(ctx, 2 * (int64_t)size, sizeof(int64_t), "counts", bytes));
  if (e) poiseFree(ctx, bytes);
  TRY(e);
  (*bytes)[0] = count[rank] * (int64_t)item;
  for (int r = 0; r < size && rank == 0; r++) (*bytes)[size + r] = count[r] * (int64_t)item;
  return POISE_OK;
}

PoiseErr poiseGatherItems(PoiseContext ctx, const void *mine, const int64_t *count, size_t item, void *all)
{
  int64_t *bytes;
  TRY(Count(ctx, count, item, &bytes));
  PoiseErr e = ctx->comm->ops->alltoallv(ctx->comm, mine, bytes, all, bytes + PoiseSize(ctx));
  poiseFree(ctx, &bytes);
  return e;
}

PoiseErr poiseScatterItems(PoiseContext ctx, const void *all, const int64_t *count, size_t item, void *mine)
{
  int64_t *bytes;
  TRY(Count(ctx, count, item, &bytes));
  PoiseErr e = ctx->comm->ops->alltoallv(ctx->comm, all, bytes + PoiseSize(ctx), mine, bytes);
  poiseFree(ctx, &bytes);
  return e;
}

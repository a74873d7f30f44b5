/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Halos of vectors with columns: an entry is k numbers, which stand one after the other in the vector, among
  the entries that are sent and among the ghosts. Such a halo has buffers of its own, beside the ordinary one,
  whose index it reads. It has room for the most columns there were. Fewer take the front of its buffers.
*/
#include "sys/link/alltoall.h"
#include "vec.h"

/* Bytes per rank, of entries that have k numbers. */
static void Bytes(int n, const int *rank, const int64_t *start, int k, int64_t *bytes)
{
  for (int i = 0; i < n; i++) bytes[rank[i]] = k * (start[i + 1] - start[i]) * (int64_t)sizeof(double);
}

static PoiseErr Allocate(Halo *h, int k)
{
  PoiseContext ctx = h->ctx;
  const Exchange *ex = &h->ex;
  int size = PoiseSize(ctx);
  int64_t *bytes = NULL;
  TRY(poiseHaloReady(h));
  TRY(poiseAlloc(ctx, sizeof *h->wide, "halo", &h->wide));
  *h->wide = (Halo){.ctx = ctx, .of = h, .columns = k, .room = k, .apart = h->apart};
  TRY(poiseAllocArray(ctx, 2 * size, sizeof *bytes, "halo counts", &bytes));
  Bytes(ex->nrecv, ex->recv_rank, ex->recv_start, k, bytes);
  Bytes(ex->nsend, ex->send_rank, ex->send_start, k, bytes + size);
  PoiseErr e = poiseHaloAllocate(h->wide, bytes, bytes + size);
  poiseFree(ctx, &bytes);
  return e;
}

static PoiseErr Make(Halo *h, int k)
{
  poiseHaloDestroy(&h->wide);
  TRY(PoiseAgree(h->ctx, Allocate(h, k)));
  return poiseHaloConnect(h->wide);
}

static void Scale(int n, const int64_t *start, int k, int64_t *scaled)
{
  for (int i = 0; i <= n; i++) scaled[i] = k * start[i];
}

/* Another number of columns, for which there is room. Exchanges of hosts are set up for sizes. */
static PoiseErr Resize(Halo *wide, int k)
{
  PoiseContext ctx = wide->ctx;
  const Exchange *one = &wide->of->ex;
  poiseExchangeDestroy(ctx, &wide->back, false);
  poiseExchangeDestroy(ctx, &wide->ex, false);
  Scale(one->nsend, one->send_start, k, wide->ex.send_start);
  Scale(one->nrecv, one->recv_start, k, wide->ex.recv_start);
  wide->nsend = k * wide->of->nsend;
  wide->nghost = k * wide->of->nghost;
  wide->columns = k;
  return ctx->link ? POISE_OK : poiseHaloSetUp(wide);
}

PoiseErr poiseHaloReadyColumns(Halo *h, int k)
{
  if (!h || k <= 1) return POISE_OK;
  PoiseErr e = POISE_OK;
  if (!h->wide || h->wide->room < k)
    e = Make(h, k);
  else if (h->wide->columns != k)
    e = Resize(h->wide, k);
  if (e) poiseHaloDestroy(&h->wide);
  return e;
}

Halo *poiseHaloOf(Halo *h, int k)
{
  return h && k > 1 ? h->wide : h;
}

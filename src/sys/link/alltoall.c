/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The all-to-all outside of loops. Where devices reach each other's memory, arrays go from one to the other
  (link_alltoall.c). Otherwise they go through buffers of the hosts.
*/
#include "alltoall.h"
#include "sys/sys.h"

void poiseExchangeDestroy(PoiseContext ctx, Exchange *ex, bool buffers)
{
  if (ex->priv) ctx->comm->ops->exchange_free(ctx->comm, ex);
  if (buffers) {
    poiseFree(ctx, &ex->send_rank);
    poiseFree(ctx, &ex->recv_rank);
    poiseFree(ctx, &ex->send_start);
    poiseFree(ctx, &ex->recv_start);
    poiseFree(ctx, &ex->send);
    poiseFree(ctx, &ex->recv);
  }
}

PoiseErr poiseExchangeSide(PoiseContext ctx, const int64_t *bytes, int *count, int **rank, int64_t **start,
                           double **buffer)
{
  int size = PoiseSize(ctx);
  for (int r = 0; r < size; r++) *count += bytes[r] > 0;
  TRY(poiseAllocArray(ctx, *count, sizeof(int), "ranks of an exchange", rank));
  TRY(poiseAllocArray(ctx, *count + 1, sizeof(int64_t), "offsets of an exchange", start));
  for (int r = 0, k = 0; r < size; r++) {
    if (!bytes[r]) continue;
    (*rank)[k] = r;
    (*start)[k + 1] = (*start)[k] + bytes[r] / (int64_t)sizeof(double);
    k++;
  }
  return buffer ? poiseAllocArray(ctx, (*start)[*count], sizeof(double), "buffer of an exchange", buffer)
                : POISE_OK;
}

PoiseErr poiseAlltoallOpen(PoiseContext ctx, PoiseErr mine, const int64_t *sent, const int64_t *got,
                           Exchange *ex)
{
  bool hosts = !poiseLinkHasAlltoall(ctx);
  PoiseErr e = mine;
  if (!e)
    e = poiseExchangeSide(ctx, sent, &ex->nsend, &ex->send_rank, &ex->send_start, hosts ? &ex->send : NULL);
  if (!e)
    e = poiseExchangeSide(ctx, got, &ex->nrecv, &ex->recv_rank, &ex->recv_start, hosts ? &ex->recv : NULL);
  if (!hosts) return e;
  TRY(PoiseAgree(ctx, e));
  return ctx->comm->ops->exchange_setup(ctx->comm, ex);
}

/* The exchange takes place whatever has failed, if it could be opened. */
static PoiseErr AlltoallByHosts(PoiseContext ctx, PoiseErr mine, Exchange *ex, const void *from, void *to)
{
  Comm *comm = ctx->comm;
  Device *dev = ctx->device;
  if (mine && !ex->priv) return mine; /* so it is on all ranks */
  size_t sent = (size_t)ex->send_start[ex->nsend] * sizeof *ex->send,
         got = (size_t)ex->recv_start[ex->nrecv] * sizeof *ex->recv;
  if (mine)
    (void)dev->ops->sync(dev); /* as in the other way; a failure is kept, or comes again */
  else
    mine = poiseDeviceFetch(dev, from, sent, ex->send);
  TRY(comm->ops->exchange_begin(comm, ex));
  TRY(comm->ops->exchange_end(comm, ex));
  TRY(mine);
  TRY(poiseDeviceCopyArray(dev, to, ex->recv, got, COPY_TO_DEVICE));
  return poiseDeviceSync(dev);
}

PoiseErr poiseAlltoall(PoiseContext ctx, PoiseErr mine, Exchange *ex, const void *from, void *to)
{
  return poiseLinkHasAlltoall(ctx) ? poiseLinkAlltoall(ctx->link, mine, ex, from, to)
                                   : AlltoallByHosts(ctx, mine, ex, from, to);
}

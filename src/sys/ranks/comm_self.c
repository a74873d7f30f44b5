/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of one rank: nothing is sent. */
#include "sys/sys.h"

static PoiseErr Allgather(Comm *comm, const void *in, size_t bytes, void *out)
{
  (void)comm;
  if (bytes) memmove(out, in, bytes);
  return POISE_OK;
}

static PoiseErr Bcast(Comm *comm, void *data, size_t bytes, int root)
{
  (void)comm, (void)data, (void)bytes, (void)root;
  return POISE_OK;
}

static PoiseErr Alltoallv(Comm *comm, const void *send, const int64_t *send_bytes, void *recv,
                          const int64_t *recv_bytes)
{
  if (*send_bytes != *recv_bytes)
    FAIL(POISE_ERR_COMM, "rank 0 sends itself %lld bytes and expects %lld", (long long)*send_bytes,
         (long long)*recv_bytes);
  return Allgather(comm, send, (size_t)*send_bytes, recv);
}

static PoiseErr Exchange_None(Comm *comm, Exchange *ex)
{
  (void)comm, (void)ex; /* one rank has no neighbours */
  return POISE_OK;
}

static void ExchangeFree(Comm *comm, Exchange *ex)
{
  (void)comm, (void)ex;
}

static PoiseErr Split(Comm *comm, int color, PoiseContext part_ctx, Comm **part)
{
  (void)comm;
  return color < 0 ? POISE_OK : poiseCommCreateSelf(part_ctx, part);
}

static const CommOps ops = {
    .name = "self",
    .allgather = Allgather,
    .bcast = Bcast,
    .alltoallv = Alltoallv,
    .exchange_setup = Exchange_None,
    .exchange_free = ExchangeFree,
    .exchange_begin = Exchange_None,
    .exchange_end = Exchange_None,
    .split = Split,
};

PoiseErr poiseCommCreateSelf(PoiseContext ctx, Comm **comm)
{
  return poiseCommAlloc(ctx, &ops, 0, 1, comm);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets are checked, and travel to the owners of their rows. */
#include "mat/csr/find.h"
#include "triplet_plan.h"

bool poiseTripletsStay(PoiseMat A, const TripletPattern *p)
{
  return !A->ctx->device->ops->is_host && PoiseSize(A->ctx) == 1 && p->side == 1 && p->given == 1;
}

static PoiseErr CheckThere(PoiseContext ctx, const Indices *x, PoiseInt N, const char *what)
{
  int64_t k;
  PoiseInt i;
  TRY(poiseFind(ctx, (FindArgs){.what = FIND_BEYOND, .n = x->n, .limit = N, .col64 = x->index}, &k));
  if (k == x->n) return POISE_OK;
  TRY(poiseDeviceCopy(ctx->device, &i, x->index + k, sizeof i, COPY_TO_HOST));
  TRY(poiseDeviceSync(ctx->device));
  return poiseIndexBeyond(i, k, N, what, "matrix");
}

/* Fetch indices to the host, through which triplets of several ranks travel. */
static PoiseErr Fetch(PoiseContext ctx, Indices *x, PoiseInt **copy)
{
  TRY(poiseAllocArray(ctx, x->n, sizeof **copy, "indices of triplets", copy));
  TRY(poiseDeviceCopy(ctx->device, *copy, x->index, (size_t)x->n * sizeof **copy, COPY_TO_HOST));
  TRY(poiseDeviceSync(ctx->device));
  x->index = *copy;
  return POISE_OK;
}

static PoiseErr TakeIndices(PoiseMat A, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  Device *dev = ctx->device;
  PoiseInt b = p->given * p->unit, M = A->rows->N / b, N = A->cols->N / b;
  const char *row = b > 1 ? "block row" : "row", *column = b > 1 ? "block column" : "column";
  if (p->where == HOST) TRY(poiseDeviceCheckHost(dev, p->rows.index, "rows"));
  if (p->where == HOST) TRY(poiseDeviceCheckHost(dev, p->cols.index, "cols"));
  if (dev->ops->is_host || p->rows.n <= 0) p->where = HOST;
  if (p->where == DEVICE) {
    TRY(poiseDeviceCheckPointer(dev, p->rows.index, (size_t)p->rows.n * sizeof(PoiseInt), "rows"));
    TRY(poiseDeviceCheckPointer(dev, p->cols.index, (size_t)p->cols.n * sizeof(PoiseInt), "cols"));
    if (poiseTripletsStay(A, p)) {
      TRY(CheckThere(ctx, &p->rows, M, row));
      return CheckThere(ctx, &p->cols, N, column);
    }
    TRY(Fetch(ctx, &p->rows, &p->fetched[0]));
    TRY(Fetch(ctx, &p->cols, &p->fetched[1]));
    p->where = HOST;
  }
  TRY(poiseIndicesCheck(&p->rows, M, row, "matrix"));
  return poiseIndicesCheck(&p->cols, N, column, "matrix");
}

PoiseErr poiseTripletsFindOwners(PoiseMat A, Triplets *t, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  int64_t total = 0, numbers = t->numbers;
  TRY(poiseMatCheckHolds(A, "PoiseMatSetPatternCOO"));
  TRY(TakeIndices(A, p));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->bytes));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->received));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->next));
  TRY(poiseAllocArray(ctx, (int64_t)size * size, sizeof(int64_t), "counts", &p->gathered));
  if (size == 1) return POISE_OK;
  for (int64_t k = 0; k < p->n; k++) {
    int r = poiseTripletOwner(A, p, k);
    if (r < 0 || r == rank) continue;
    p->bytes[r] += numbers * (int64_t)sizeof(double);
    TRY(poiseStashAdd(ctx, &p->stash, poiseTripletRow(p, k) * p->unit, poiseTripletColumn(p, k), 0));
  }
  for (int r = 0; r < size; r++) p->next[r] = total, total += p->bytes[r] / (int64_t)sizeof(double);
  TRY(poiseAllocArray(ctx, total, sizeof(int64_t), "values to send", &t->send));
  for (int64_t k = 0; k < p->n; k++) {
    int r = poiseTripletOwner(A, p, k);
    for (int64_t j = 0; r >= 0 && r != rank && j < numbers; j++) t->send[p->next[r]++] = k * numbers + j;
  }
  return POISE_OK;
}

static PoiseErr Sides(PoiseContext ctx, Triplets *t, const TripletPattern *p)
{
  Exchange *ex = &t->ex;
  TRY(poiseExchangeSide(ctx, p->bytes, &ex->nsend, &ex->send_rank, &ex->send_start, &ex->send));
  return poiseExchangeSide(ctx, p->received, &ex->nrecv, &ex->recv_rank, &ex->recv_start, &ex->recv);
}

PoiseErr poiseTripletsRoute(PoiseMat A, Triplets *t, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  Comm *comm = ctx->comm;
  int size = PoiseSize(ctx);
  if (size == 1) return POISE_OK;
  TRY(poiseStashExchange(ctx, &p->stash, A->rows));
  for (int64_t k = 0; k < p->stash.n; k++) p->stash.entry[k].row /= p->unit;
  TRY(comm->ops->allgather(comm, p->bytes, (size_t)size * sizeof(int64_t), p->gathered));
  for (int r = 0; r < size; r++) p->received[r] = p->gathered[(int64_t)r * size + comm->rank];
  TRY(PoiseAgree(ctx, Sides(ctx, t, p)));
  return comm->ops->exchange_setup(comm, &t->ex);
}

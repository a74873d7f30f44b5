/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices and vectors whole on the first rank (first_rank.h). Others wait for it. */
#include <limits.h>

#include "mat/csr/entries.h"
#include "mat/order/arrange.h"
#include "first_rank.h"

PoiseErr poiseFirstCreate(PoisePC pc, FirstRank *f)
{
  poiseFirstDestroy(pc, f);
  f->layout = poiseLayoutShare(pc->P->rows);
  TRY(poiseAllocArray(pc->ctx, PoiseSize(pc->ctx), sizeof *f->sent, "bytes for ranks", &f->sent));
  return poiseAllocArray(pc->ctx, PoiseSize(pc->ctx), sizeof *f->received, "bytes of ranks", &f->received);
}

void poiseFirstDestroy(PoisePC pc, FirstRank *f)
{
  poiseFree(pc->ctx, &f->sent);
  poiseFree(pc->ctx, &f->received);
  poiseLayoutDestroy(&f->layout);
}

PoiseErr poiseFirstPrepare(PoisePC pc, const FirstRank *f, PoiseErr (*allocate)(PoisePC),
                           void (*release)(PoisePC))
{
  int64_t other = !f->layout || !poiseLayoutSame(f->layout, pc->P->rows);
  TRY(poiseCommMaxInt(pc->ctx->comm, &other, 1));
  if (!other) return POISE_OK;
  release(pc);
  PoiseErr e = PoiseAgree(pc->ctx, allocate(pc));
  if (e) release(pc);
  return e;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* all, on the first rank, becomes what the ranks have, of 8 bytes a number; n of them are here. */
static PoiseErr Collect(PoisePC pc, FirstRank *f, const void *own, int64_t n, void *all)
{
  Comm *comm = pc->ctx->comm;
  int64_t bytes = 8 * n;
  TRY(comm->ops->allgather(comm, &bytes, sizeof bytes, f->received));
  memset(f->sent, 0, (size_t)comm->size * sizeof *f->sent);
  f->sent[0] = bytes;
  if (!poiseOnFirst(pc)) memset(f->received, 0, (size_t)comm->size * sizeof *f->received);
  return comm->ops->alltoallv(comm, own, f->sent, all, f->received);
}

PoiseErr poiseFirstTake(PoisePC pc, FirstRank *f, int columns, const double *own, double *x)
{
  return Collect(pc, f, own, columns * f->layout->n, x);
}

PoiseErr poiseFirstGive(PoisePC pc, FirstRank *f, int columns, const double *x, double *own)
{
  Comm *comm = pc->ctx->comm;
  const PoiseInt *start = f->layout->start;
  for (int r = 0; r < comm->size; r++) {
    f->sent[r] = poiseOnFirst(pc) ? 8 * columns * (start[r + 1] - start[r]) : 0;
    f->received[r] = r ? 0 : 8 * columns * f->layout->n;
  }
  return comm->ops->alltoallv(comm, x, f->sent, own, f->received);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

void poiseWholeRowsDestroy(PoiseContext ctx, WholeRows *r)
{
  poiseFree(ctx, &r->length);
  poiseFree(ctx, &r->column);
  poiseFree(ctx, &r->value);
}

static PoiseErr AllocateRows(PoiseContext ctx, int64_t n, int64_t nz, WholeRows *r)
{
  r->n = n, r->nz = nz;
  TRY(poiseAllocArray(ctx, n, sizeof *r->length, "lengths of rows", &r->length));
  TRY(poiseAllocArray(ctx, nz, sizeof *r->column, "columns of rows", &r->column));
  return poiseAllocArray(ctx, nz, sizeof *r->value, "values of rows", &r->value);
}

static PoiseErr ListRows(PoisePC pc, WholeRows *own)
{
  PoiseMat P = pc->P;
  ScalarWalk w;
  TRY(poiseWalkBegin(P, &w));
  TRY(AllocateRows(pc->ctx, P->rows->n, poiseCsrScalars(&P->csr), own));
  for (int64_t k = 0; k < own->nz; k++) {
    own->value[k] = poiseWalkOn(&w, &own->column[k]);
    own->length[w.i]++;
    if (!poiseFinite(own->value[k]))
      FAIL(POISE_ERR_NUMERIC, "%s: entry (%lld, %lld) is %g", pc->type->name, poiseMatRowName(P, w.i),
           (long long)own->column[k], own->value[k]);
  }
  return POISE_OK;
}

PoiseErr poiseFirstRows(PoisePC pc, FirstRank *f, WholeRows *all)
{
  PoiseContext ctx = pc->ctx;
  WholeRows own = {0};
  PoiseErr e = ListRows(pc, &own);
  double sums[] = {(double)own.n, (double)own.nz};
  e = poiseAgreeSum(ctx, e, sums, 2);
  if (!e && sums[0] + sums[1] > INT_MAX)
    e = PoiseErrorSet(POISE_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "sparse factors are of fewer than 2^31 numbers, not %.0f in %.0f rows", sums[1],
                      sums[0]);
  if (!e)
    e = PoiseAgree(ctx,
                   poiseOnFirst(pc) ? AllocateRows(ctx, (int64_t)sums[0], (int64_t)sums[1], all) : POISE_OK);
  if (!e) e = Collect(pc, f, own.length, own.n, all->length);
  if (!e) e = Collect(pc, f, own.column, own.nz, all->column);
  if (!e) e = Collect(pc, f, own.value, own.nz, all->value);
  poiseWholeRowsDestroy(ctx, &own);
  return e;
}

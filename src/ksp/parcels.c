/* SPDX-License-Identifier: BSD-3-Clause */
/* Between owners of the application's objects and those that solve for them. See parcels.h. */
#include "parcels.h"

PoiseErr poiseCrewOpen(PoiseContext ctx, Crew *c)
{
  *c = (Crew){.ctx = ctx};
  if (ctx->group) {
    c->solvers = poiseGroupCount(ctx->group);
    return POISE_OK;
  }
  TRY(poiseWorkersOpen(ctx));
  c->solvers = poiseWorkersCount(ctx->workers);
  return poiseAllocArray(ctx, MOST_PARCELS, sizeof *c->parcel, "parcels for workers", &c->parcel);
}

void poiseCrewClose(Crew *c)
{
  poiseFree(c->ctx, &c->parcel);
}

const char *poiseCrewWord(PoiseContext ctx)
{
  return ctx->group ? poiseOptionsName(ctx, NULL, "comm_gather") : poiseWorkersWord(ctx);
}

void poiseCrewClear(Crew *c)
{
  c->n = 0;
  if (c->ctx->group) poiseGroupClear(c->ctx->group);
}

PoiseErr poiseCrewSend(Crew *c, Parcel parcel, int *k)
{
  *k = c->n;
  if (c->ctx->group)
    TRY(poiseGroupSend(c->ctx->group, parcel));
  else if (c->n == MOST_PARCELS)
    FAIL(POISE_ERR_INTERNAL, "more than %d parcels for workers", MOST_PARCELS);
  else
    c->parcel[c->n] = parcel;
  c->n++;
  return POISE_OK;
}

PoiseErr poiseCrewSendBuffer(Crew *c, Buffer *b, int *k)
{
  Parcel parcel = {.bytes = b->bytes, .side = poiseBufferIsCurrent(b, DEVICE) ? DEVICE : HOST};
  TRY(poiseBufferRead(b, parcel.side, &parcel.p));
  if (parcel.side == DEVICE) TRY(poiseDeviceSync(b->dev));
  return poiseCrewSend(c, parcel, k);
}

PoiseErr poiseCrewDo(Crew *c, PoiseErr mine, PoiseErr (*job)(PoiseContext, void *), GroupAnswer answer,
                     void *arg)
{
  if (c->ctx->group) return poiseGroupDo(c->ctx->group, mine, job, answer, arg);
  return mine ? mine : poiseWorkersDo(c->ctx->workers, job, arg);
}

/* ---- in a job -------------------------------------------------------------------------------- */

int poiseCrewOwners(const Crew *c)
{
  const RankGroup *g = c->ctx->group;
  return g ? poiseGroupFirst(g, poiseGroupNumber(g) + 1) - poiseGroupFirst(g, poiseGroupNumber(g)) : 1;
}

const Parcel *poiseCrewParcel(const Crew *c, int owner, int k)
{
  return c->ctx->group ? poiseGroupParcel(c->ctx->group, owner, k) : &c->parcel[k];
}

PoiseInt poiseCrewFirst(const Crew *c, const Layout *layout, int owner)
{
  const RankGroup *g = c->ctx->group;
  return layout->start[g ? poiseGroupFirst(g, poiseGroupNumber(g)) + owner : owner];
}

/* Rows that an owner and a solver share, from `row` of the numbering on. */
static PoiseInt Common(const Crew *c, const Layout *layout, int owner, PoiseInt begin, PoiseInt n,
                       PoiseInt *row)
{
  PoiseInt first = poiseCrewFirst(c, layout, owner), end = poiseCrewFirst(c, layout, owner + 1);
  *row = first > begin ? first : begin;
  if (end > begin + n) end = begin + n;
  return end > *row ? end - *row : 0;
}

static PoiseErr Move(const Crew *c, Device *dev, const Layout *layout, int k, PoiseInt begin, PoiseInt n,
                     double *mine, bool back)
{
  for (int i = 0; i < poiseCrewOwners(c); i++) {
    const Parcel *parcel = poiseCrewParcel(c, i, k);
    PoiseInt row, m = Common(c, layout, i, begin, n, &row);
    if (!m) continue;
    double *there = (double *)parcel->p + (row - poiseCrewFirst(c, layout, i)), *here = mine + (row - begin);
    CopyKind kind = parcel->side == DEVICE ? COPY_ON_DEVICE : back ? COPY_TO_HOST : COPY_TO_DEVICE;
    TRY(poiseDeviceCopyArray(dev, back ? there : here, back ? here : there, (size_t)m * sizeof(double),
                             kind));
  }
  return POISE_OK;
}

PoiseErr poiseCrewFetch(const Crew *c, PoiseContext solver, const Layout *layout, int k, PoiseInt begin,
                        PoiseInt n, double *to)
{
  return Move(c, solver->device, layout, k, begin, n, to, false);
}

PoiseErr poiseCrewDeliver(const Crew *c, PoiseContext solver, const Layout *layout, int k, PoiseInt begin,
                          PoiseInt n, const double *from)
{
  return Move(c, solver->device, layout, k, begin, n, (double *)(uintptr_t)from, true);
}

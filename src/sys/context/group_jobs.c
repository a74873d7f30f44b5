/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs of leaders, for all ranks of their groups. See group_parts.h. */
#include "group_parts.h"

/* On the leader. */
static void RunJob(RankGroup *g, PoiseErr (*job)(PoiseContext, void *), void *arg)
{
  PoiseErr found = poiseGroupFindParcels(g);
  g->board->culprit = -1;
  g->inner->out = g->ctx->out;
  g->inner->interrupt = g->ctx->interrupt;
  PoiseErr e = PoiseAgree(g->inner, found ? found : poiseGroupFirstError(g));
  if (!e) e = job(g->inner, arg);
  g->board->code = e;
  if (e) poiseErrorSave(&g->board->error);
  /* errors of one rank; the others are alike on all */
  if (g->board->culprit < 0 && (e == POISE_ERR_MEMORY || e == POISE_ERR_DEVICE)) g->board->culprit = 0;
}

/* The error of a job on this rank. */
static PoiseErr Failed(RankGroup *g, PoiseErr mine)
{
  const Board *b = g->board;
  const Card *card = &b->card[g->rank];
  if (mine && mine != POISE_ERR_REMOTE) return mine;
  if (card->code && card->code != POISE_ERR_REMOTE && g->rank) {
    poiseErrorRestore(&card->error);
    return card->code;
  }
  poiseErrorRestore(&b->error);
  if (b->culprit < 0 || b->culprit == g->rank) return b->code;
  FAIL(POISE_ERR_REMOTE, "rank %d: %s: %s", g->start[g->number] + b->culprit, PoiseErrorString(b->code),
       b->error.message);
}

static PoiseErr Do(RankGroup *g, PoiseErr mine, PoiseErr (*job)(PoiseContext, void *), void *arg)
{
  const Card *card = &g->board->card[g->rank];
  TRY(poiseGroupShowParcels(g, mine));
  if (!card->code) poiseGroupShow(g, poiseGroupCopyParcels(g, false));
  TRY(poiseGroupMeet(g));
  if (!g->rank) RunJob(g, job, arg);
  TRY(poiseGroupMeet(g));
  return g->board->code ? Failed(g, mine) : poiseGroupCopyParcels(g, true);
}

PoiseErr poiseGroupDoWith(RankGroup *g, PoiseErr mine, PoiseErr (*job)(PoiseContext, void *),
                          GroupAnswer answer, void *arg)
{
  g->answer = answer;
  g->arg = arg;
  g->busy = true;
  PoiseErr e = Do(g, mine, job, arg);
  g->busy = false;
  g->answer = NULL;
  return PoiseAgree(g->ctx, e);
}

PoiseErr poiseGroupDo(RankGroup *g, PoiseErr mine, PoiseErr (*job)(PoiseContext, void *), GroupAnswer answer,
                      void *arg)
{
  g->jobs++;
  return poiseGroupDoWith(g, mine, job, answer, arg);
}

bool poiseGroupBusy(const RankGroup *g)
{
  return g->busy;
}

PoiseErr poiseGroupWithin(RankGroup *g, PoiseErr (*job)(PoiseContext, void *), void *arg)
{
  Board *b = g->board;
  TRY(poiseGroupMeet(g));
  if (!g->rank) {
    b->code = job(g->inner, arg);
    if (b->code) poiseErrorSave(&b->error);
  }
  TRY(poiseGroupMeet(g));
  if (!b->code) return poiseGroupCopyParcels(g, true);
  poiseErrorRestore(&b->error);
  return b->code;
}

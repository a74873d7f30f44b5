/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a group wait for each other, and answer what their leader asks. See group_parts.h. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "group_parts.h"

void poiseGroupShow(RankGroup *g, PoiseErr e)
{
  Card *card = &g->board->card[g->rank];
  if (!e || card->code) return;
  card->code = e;
  poiseErrorSave(&card->error);
}

/* Does the process of every rank live? */
static bool AllLive(const RankGroup *g)
{
  for (int r = 0; g->processes && r < g->size; r++)
    if (g->board->card[r].process && kill((pid_t)g->board->card[r].process, 0) && errno == ESRCH)
      return false;
  return true;
}

/* With the lock: sleep until something changes, or a while. */
static void Sleep(RankGroup *g)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  if (pthread_cond_timedwait(&g->board->changed, &g->board->lock, &until) == ETIMEDOUT && !AllLive(g))
    g->broken = true;
}

static void Reply(RankGroup *g, const void *question)
{
  Card *card = &g->board->card[g->rank];
  PoiseErrorClear();
  g->answers = true;
  card->code = g->answer(g->arg, question, card->reply);
  g->answers = false;
  if (card->code) poiseErrorSave(&card->error);
}

/* With the lock, which is free while the question is answered. */
static void Answer(RankGroup *g)
{
  Board *b = g->board;
  g->asked = b->asked;
  pthread_mutex_unlock(&b->lock);
  Reply(g, b->question);
  pthread_mutex_lock(&b->lock);
  b->replies++;
  pthread_cond_broadcast(&b->changed);
}

static PoiseErr Gone(const RankGroup *g)
{
  FAIL(POISE_ERR_COMM, "a rank of the group of rank %d, which share a GPU, has ended", PoiseRank(g->ctx));
}

/* Wait until all ranks of the group are here, and answer questions meanwhile. */
PoiseErr poiseGroupMeet(RankGroup *g)
{
  Board *b = g->board;
  if (g->broken) return Gone(g);
  pthread_mutex_lock(&b->lock);
  int64_t *arrived = &b->arrived[g->answers], target = (*arrived / g->size + 1) * g->size;
  if (++*arrived == target) pthread_cond_broadcast(&b->changed);
  while (*arrived < target && !g->broken)
    if (g->answer && !g->answers && b->asked > g->asked && g->rank)
      Answer(g);
    else
      Sleep(g);
  pthread_mutex_unlock(&b->lock);
  return g->broken ? Gone(g) : POISE_OK;
}

/* The first error that a rank of the group has by itself, with its words. */
PoiseErr poiseGroupFirstError(RankGroup *g)
{
  const Card *first = NULL;
  for (int r = g->size - 1; r >= 0; r--) {
    const Card *card = &g->board->card[r];
    if (card->code && (card->code != POISE_ERR_REMOTE || !first)) first = card;
  }
  if (!first) return POISE_OK;
  g->board->culprit = first->code == POISE_ERR_REMOTE ? -1 : (int)(first - g->board->card);
  poiseErrorRestore(&first->error);
  return first->code;
}

const void *poiseGroupReply(PoiseContext leader, int member)
{
  const RankGroup *g = leader->parent->group;
  return member < g->size ? g->board->card[member].reply : NULL;
}

PoiseErr poiseGroupAsk(PoiseContext leader, const void *question, size_t bytes)
{
  RankGroup *g = leader->parent->group;
  Board *b = g->board;
  for (int r = 0; r < g->size; r++) b->card[r].code = POISE_OK;
  pthread_mutex_lock(&b->lock);
  memcpy(b->question, question, bytes);
  b->replies = 0;
  g->asked = ++b->asked;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->lock);
  Reply(g, question);
  pthread_mutex_lock(&b->lock);
  while (b->replies < g->size - 1 && !g->broken) Sleep(g);
  pthread_mutex_unlock(&b->lock);
  return g->broken ? Gone(g) : poiseGroupFirstError(g);
}

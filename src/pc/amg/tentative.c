/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The near null space by aggregates. Nodes are sorted by their aggregates, and stay in order in each. The
  peak is 24 bytes per node beside q.
*/
#include "mat/csr/keys.h"
#include "amg.h"
#include "tentative_kernels.h"

typedef struct Lists {
  Keys keys;
  Buffer start, member;
} Lists;

/* Nodes of no aggregate have the last key, which makes no row. */
static PoiseErr ListMembers(Device *dev, AmgTentativeArgs *t, Lists *l)
{
  int64_t *place;
  l->keys = (Keys){.n = t->n, .m = t->aggregates, .bits = poiseBitsOf(t->n - 1)};
  t->bits = l->keys.bits;
  TRY(poiseKeysCreate(dev, &l->keys, &t->key, &place, &t->place));
  TRY(LAUNCH(dev, amg_member_keys, t));
  TRY(poiseKeysSort(dev, &l->keys, t->bits, poiseBitsOf(t->aggregates)));
  TRY(poiseKeysCount(dev, &l->keys, NULL));
  TRY(poiseKeysRows(dev, &l->keys, t->n, false, &l->start, &l->member, NULL));
  TRY(poiseBufferRead(&l->start, DEVICE, &t->start));
  t->key = NULL, t->place = NULL; /* sorted, and released */
  return poiseBufferRead(&l->member, DEVICE, &t->member);
}

/* more: nodes that q has room for behind. */
static PoiseErr Run(Device *dev, AmgTentativeArgs *t, int64_t more, Lists *l, Buffer *q, AmgModes *coarse)
{
  int64_t width = t->width;
  coarse->count = t->width;
  coarse->n = t->aggregates * width;
  TRY(poiseAmgMake(dev, coarse->n * width, sizeof *t->r, "coarse near null space", &coarse->b, &t->r));
  TRY(ListMembers(dev, t, l));
  TRY(poiseAmgMake(dev, (t->n + more) * t->node * width, sizeof *t->q, "tentative interpolation", q, &t->q));
  TRY(LAUNCH(dev, amg_restrict, t));
  t->n = t->aggregates;
  return LAUNCH(dev, amg_orthonormal, t);
}

PoiseErr poiseAmgTentative(PoiseContext ctx, AmgModes *fine, const AmgMatrix *m, int64_t aggregates,
                           Buffer *aggregate, Buffer *q, AmgModes *coarse)
{
  Lists l = {0};
  AmgTentativeArgs t = {.n = m->nodes, .aggregates = aggregates, .node = m->node, .width = fine->count};
  int64_t more = poiseAmgAllNodes(m) - m->nodes;
  PoiseErr e = poiseBufferRead(aggregate, DEVICE, &t.aggregate);
  if (!e) e = poiseBufferRead(&fine->b, DEVICE, &t.b);
  if (!e) e = Run(ctx->device, &t, more, &l, q, coarse);
  poiseKeysDestroy(&l.keys);
  poiseBufferDestroy(&l.start);
  poiseBufferDestroy(&l.member);
  return e;
}

PoiseErr poiseAmgModes(PoiseMat A, int node, AmgModes *m)
{
  Device *dev = A->ctx->device;
  AmgModeArgs a = {.n = A->rows->n, .count = A->near.n ? A->near.n : node, .node = node};
  m->count = a.count;
  m->n = a.n;
  TRY(poiseAmgMake(dev, m->n * m->count, sizeof *a.b, "near null space", &m->b, &a.b));
  for (; a.j < a.count; a.j++) {
    if (A->near.n) TRY(poiseBufferRead(&A->near.v[a.j]->data, DEVICE, &a.v));
    TRY(LAUNCH(dev, amg_mode, &a));
  }
  return POISE_OK;
}

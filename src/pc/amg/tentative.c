/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The tentative prolongation T: the near null space by aggregates. Nodes are sorted by their aggregates, and
  stay in order in each. The peak is 24 bytes per node beside q. The lists, about 4 bytes per node, also
  serve new values.
*/
#include "mat/csr/keys.h"
#include "ranks.h"
#include "rows.h"
#include "tentative.h"
#include "tentative_kernels.h"

/* Nodes of no aggregate have the last key, which makes no row. */
static PoiseErr Sort(Device *dev, AmgTentativeArgs *t, Keys *keys, AmgMembers *members)
{
  int64_t *place;
  t->bits = keys->bits;
  TRY(poiseKeysCreate(dev, keys, &t->key, &place, &t->place));
  TRY(LAUNCH(dev, amg_member_keys, t));
  TRY(poiseKeysSort(dev, keys, t->bits, poiseBitsOf(t->aggregates)));
  TRY(poiseKeysCount(dev, keys, NULL));
  t->key = NULL, t->place = NULL; /* sorted, and released */
  return poiseKeysRows(dev, keys, t->n, false, &members->start, &members->node, NULL);
}

static PoiseErr ListMembers(Device *dev, AmgTentativeArgs *t, AmgMembers *members)
{
  Keys keys = {.n = t->n, .m = t->aggregates, .bits = poiseBitsOf(t->n - 1)};
  PoiseErr e = members->node.dev ? POISE_OK : Sort(dev, t, &keys, members);
  poiseKeysDestroy(&keys);
  if (!e) e = poiseBufferRead(&members->start, DEVICE, &t->start);
  return e ? e : poiseBufferRead(&members->node, DEVICE, &t->member);
}

/* more: nodes that q has room for behind. */
static PoiseErr Run(Device *dev, AmgTentativeArgs *t, int64_t more, AmgMembers *members, Buffer *q,
                    AmgModes *coarse)
{
  int64_t width = t->width;
  coarse->count = t->width;
  coarse->n = t->aggregates * width;
  TRY(poiseAmgMake(dev, coarse->n * width, sizeof *t->r, "coarse near null space", &coarse->b, &t->r));
  TRY(ListMembers(dev, t, members));
  TRY(poiseAmgMake(dev, (t->n + more) * t->node * width, sizeof *t->q, "tentative interpolation", q, &t->q));
  TRY(LAUNCH(dev, amg_restrict, t));
  t->n = t->aggregates;
  return LAUNCH(dev, amg_orthonormal, t);
}

PoiseErr poiseAmgTentative(PoiseContext ctx, AmgModes *fine, const AmgMatrix *m, int64_t aggregates,
                           Buffer *aggregate, AmgMembers *members, Buffer *q, AmgModes *coarse)
{
  AmgTentativeArgs t = {.n = m->nodes, .aggregates = aggregates, .node = m->node, .width = fine->count};
  int64_t more = poiseAmgAllNodes(m) - m->nodes;
  TRY(poiseBufferRead(aggregate, DEVICE, &t.aggregate));
  TRY(poiseBufferRead(&fine->b, DEVICE, &t.b));
  return Run(ctx->device, &t, more, members, q, coarse);
}

void poiseAmgMembersDestroy(AmgMembers *members)
{
  poiseBufferDestroy(&members->start);
  poiseBufferDestroy(&members->node);
}

/* The sizes of diagonal entries, with those of ghosts in `all`. */
static PoiseErr FindSizes(PoiseContext ctx, const AmgMatrix *m, Buffer *size, Buffer *all, const double **p)
{
  double *there;
  PoiseErr e = poiseBufferRead(size, DEVICE, p);
  if (!m->ghosts) return e;
  if (!e)
    e = poiseAmgMake(ctx->device, poiseAmgAllNodes(m) * m->node, sizeof **p, "sizes of diagonal entries", all,
                     &there);
  if (!e)
    e = poiseDeviceCopy(ctx->device, there, *p, (size_t)(m->nodes * m->node) * sizeof **p, COPY_ON_DEVICE);
  e = poiseAmgFillGhosts(ctx, m, e, m->node, all);
  return e ? e : poiseBufferRead(all, DEVICE, p);
}

PoiseErr poiseAmgHold(PoiseContext ctx, const AmgMatrix *m, Buffer *size, bool inverse, AmgModes *modes)
{
  AmgHoldArgs a = {.n = modes->n, .count = modes->count, .A = m->A};
  Buffer all = {0};
  PoiseErr e = FindSizes(ctx, m, size, &all, inverse ? &a.inverse : &a.size);
  if (!e) e = poiseBufferUpdate(&modes->b, DEVICE, &a.b);
  if (!e) e = LAUNCH(ctx->device, amg_hold, &a);
  poiseBufferDestroy(&all);
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

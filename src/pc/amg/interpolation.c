/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The prolongation P = (I - omega D^-1 A_F) T, by the formulas of interpolation_kernels.h. In the filtered
  A_F weak connections make no entries: a weak neighbour counts as if it were in the node's own aggregate.
  There T goes on as b r^-1, where b is the near null space, and b = T r inside the aggregate. So it is
  P r = (I - omega D^-1 A) b, by which the null space of A is kept on the next level. With one vector of
  ones this adds weak entries to the diagonal.

  T has one block of a node in each row of blocks, so no general product is needed: the columns of a row are
  the aggregates of its neighbours. While they are found, it holds 4 bytes for each connection, and 8 for
  each node.
*/
#include "mat/multiply/local_product.h"
#include "interpolation.h"
#include "rows.h"

PoiseErr poiseAmgExtend(PoiseContext ctx, int64_t aggregates, AmgModes *coarse, Buffer *inverse,
                        const double **x)
{
  AmgExtendArgs e = {.n = aggregates * coarse->count, .modes = coarse->count};
  TRY(poiseBufferRead(&coarse->b, DEVICE, &e.r));
  TRY(poiseAmgMake(ctx->device, e.n * e.modes, sizeof *e.x, "extended aggregates", inverse, &e.x));
  *x = e.x;
  return LAUNCH(ctx->device, amg_extend, &e);
}

typedef struct Scratch {
  Buffer found, count, length;
} Scratch;

/* Of all nodes; a->n is their number. */
static PoiseErr CountPairs(Device *dev, AmgInterpolateArgs *a, int64_t *pairs)
{
  TRY(LAUNCH(dev, amg_pairs, a));
  return poiseRowSum(dev, a->n, a->length, pairs);
}

static PoiseErr MakePattern(PoiseContext ctx, AmgInterpolateArgs *a, Scratch *s, Csr *c, int64_t *pairs)
{
  Device *dev = ctx->device;
  int64_t nodes = a->p.nodes, rows = a->p.node / a->p.side,
          entries = a->p.strong.col ? a->p.strong.nz : a->p.A.A.nz;
  a->n = nodes;
  TRY(poiseAmgMake(dev, entries + nodes, sizeof *a->found, "aggregates of neighbours", &s->found, &a->found));
  TRY(poiseAmgMake(dev, nodes, sizeof *a->count, "numbers of aggregates", &s->count, &a->count));
  TRY(poiseAmgMake(dev, nodes * rows, sizeof *a->length, "rows of interpolation", &s->length, &a->length));
  TRY(LAUNCH(dev, amg_find, a));
  *pairs = 0;
  if (a->p.smooth) TRY(CountPairs(dev, a, pairs));
  a->n = nodes * rows;
  TRY(LAUNCH(dev, amg_row_lengths, a));
  TRY(poiseRowOffsets(dev, a->n, a->length, c));
  TRY(poiseAmgMake(dev, c->nz, sizeof *a->col, "columns of interpolation", &c->col, &a->col));
  TRY(poiseCsrPattern(c, &a->P));
  return LAUNCH(dev, amg_columns, a);
}

PoiseErr poiseAmgPattern(PoiseContext ctx, const AmgInterpolation *p, Csr *c, int64_t *pairs)
{
  Scratch s = {0};
  AmgInterpolateArgs a = {.p = *p};
  c->b = p->side > 1 ? p->side : 0;
  PoiseErr e = MakePattern(ctx, &a, &s, c, pairs);
  c->nloc = p->aggregates * p->modes / p->side;
  if (!e)
    e = poiseBufferCreate(ctx->device, (size_t)poiseCsrScalars(c) * sizeof(double), "interpolation", &c->val);
  poiseBufferDestroy(&s.found);
  poiseBufferDestroy(&s.count);
  poiseBufferDestroy(&s.length);
  return e;
}

PoiseErr poiseAmgInterpolate(PoiseContext ctx, const AmgInterpolation *p, Csr *c, Buffer *place)
{
  AmgInterpolateArgs a = {.p = *p};
  TRY(poiseCsrPattern(c, &a.P));
  a.groups = ctx->device->ops->is_host ? 1 : p->modes;
  a.n = p->nodes * a.groups;
  if (place) TRY(poiseBufferRead(place, DEVICE, &a.P.col));
  TRY(poiseBufferWrite(&c->val, DEVICE, &a.val));
  return LAUNCH(ctx->device, amg_interpolate, &a);
}

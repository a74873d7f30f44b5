/* SPDX-License-Identifier: BSD-3-Clause */
/*
  P = (I - omega D_F^-1 F) T. T has one block of a node in each row of blocks, so F T needs no general
  product: the columns of a row are the aggregates of its neighbours. While they are found, it holds 4 bytes
  for each entry of F, and 8 for each node.

  Where nodes have one row and there is one vector b, weak connections are left out of F, and their sum,
  weighted so that F b = A b, is added to the diagonal. Otherwise F = A.
*/
#include "mat/multiply/local_product.h"
#include "amg.h"

PoiseErr poiseAmgFilter(PoiseContext ctx, const AmgMatrix *m, AmgGraph *g, AmgModes *modes, AmgFilter *f)
{
  AmgFilterArgs a = {.n = m->nodes, .A = m->A};
  *f = (AmgFilter){.m = *m};
  if (m->node > 1 || modes->count > 1 || !g->csr.col.dev) return POISE_OK;
  TRY(poiseCsrPattern(&g->csr, &a.g));
  TRY(poiseBufferRead(&modes->b, DEVICE, &a.b));
  TRY(poiseAmgMake(ctx->device, g->csr.nz, sizeof *a.val, "strong entries", &f->val, &a.val));
  f->m.A = a.g;
  f->m.A.val = a.val;
  return LAUNCH(ctx->device, amg_filter, &a);
}

typedef struct Scratch {
  Buffer found, count, length;
} Scratch;

/* Of all nodes; a->n is their number. */
static PoiseErr CountPairs(PoiseContext ctx, AmgInterpolateArgs *a, int64_t *pairs)
{
  Csr sums = {0};
  TRY(LAUNCH(ctx->device, amg_pairs, a));
  PoiseErr e = poiseRowOffsets(ctx->device, a->n, a->length, &sums);
  *pairs = sums.nz;
  poiseCsrDestroy(ctx, &sums);
  return e;
}

static PoiseErr MakePattern(PoiseContext ctx, AmgInterpolateArgs *a, Scratch *s, Csr *c, int64_t *pairs)
{
  Device *dev = ctx->device;
  int64_t nodes = a->p.nodes, rows = a->p.node / a->p.side, entries = a->smooth ? a->F.A.nz : 0;
  a->n = nodes;
  TRY(poiseAmgMake(dev, entries + nodes, sizeof *a->found, "aggregates of neighbours", &s->found, &a->found));
  TRY(poiseAmgMake(dev, nodes, sizeof *a->count, "numbers of aggregates", &s->count, &a->count));
  TRY(poiseAmgMake(dev, nodes * rows, sizeof *a->length, "rows of interpolation", &s->length, &a->length));
  TRY(LAUNCH(dev, amg_find, a));
  *pairs = 0;
  if (a->smooth && a->F.node == 1) TRY(CountPairs(ctx, a, pairs));
  a->n = nodes * rows;
  TRY(LAUNCH(dev, amg_row_lengths, a));
  TRY(poiseRowOffsets(dev, a->n, a->length, c));
  TRY(poiseAmgMake(dev, c->nz, sizeof *a->col, "columns of interpolation", &c->col, &a->col));
  TRY(poiseCsrPattern(c, &a->P));
  return LAUNCH(dev, amg_columns, a);
}

static void Begin(const AmgInterpolation *p, const AmgMatrix *F, AmgInterpolateArgs *a)
{
  *a = (AmgInterpolateArgs){.p = *p, .smooth = F != NULL};
  if (F) a->F = *F;
}

PoiseErr poiseAmgPattern(PoiseContext ctx, const AmgInterpolation *p, const AmgMatrix *F, Csr *c,
                         int64_t *pairs)
{
  Scratch s = {0};
  AmgInterpolateArgs a;
  Begin(p, F, &a);
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

PoiseErr poiseAmgInterpolate(PoiseContext ctx, const AmgInterpolation *p, const AmgMatrix *F, const double *d,
                             double omega, Csr *c, Buffer *place)
{
  AmgInterpolateArgs a;
  Begin(p, F, &a);
  TRY(poiseCsrPattern(c, &a.P));
  if (place) TRY(poiseBufferRead(place, DEVICE, &a.P.col));
  TRY(poiseBufferWrite(&c->val, DEVICE, &a.val));
  a.d = d, a.omega = omega;
  a.groups = ctx->device->ops->is_host ? 1 : p->modes;
  a.n = p->nodes * a.groups;
  return LAUNCH(ctx->device, amg_interpolate, &a);
}

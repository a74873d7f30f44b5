/* SPDX-License-Identifier: BSD-3-Clause */
/* Strong connections. Beside the graph it holds 20 bytes per node. */
#include "mat/multiply/local_product.h"
#include "amg.h"
#include "strength_kernels.h"

void poiseAmgGraphDestroy(PoiseContext ctx, AmgGraph *g)
{
  poiseCsrDestroy(ctx, &g->csr);
  poiseBufferDestroy(&g->weight);
}

static PoiseErr Sizes(Device *dev, AmgStrengthArgs *s, Buffer *size)
{
  TRY(poiseAmgMake(dev, poiseAmgAllNodes(&s->m), sizeof *s->size, "sizes of connections", size, &s->size));
  return LAUNCH(dev, amg_sizes, s);
}

static PoiseErr Reach(Device *dev, AmgStrengthArgs *s, Buffer *reach)
{
  TRY(poiseAmgMake(dev, poiseAmgAllNodes(&s->m), sizeof *s->reach, "reach of connections", reach, &s->reach));
  return LAUNCH(dev, amg_reach, s);
}

static PoiseErr Find(Device *dev, AmgStrengthArgs *s, Buffer *strong, AmgGraph *g)
{
  TRY(poiseAmgMake(dev, s->n, sizeof *s->strong, "strong connections", strong, &s->strong));
  TRY(LAUNCH(dev, amg_strong_count, s));
  TRY(poiseRowOffsets(dev, s->n, s->strong, &g->csr));
  g->csr.nloc = s->n;
  g->dropped = s->m.node == 1 ? s->m.A.nz - g->csr.nz : 0;
  TRY(poiseAmgMake(dev, g->csr.nz, sizeof *s->col, "strong neighbours", &g->csr.col, &s->col));
  TRY(poiseAmgMake(dev, g->csr.nz, sizeof *s->weight, "strengths", &g->weight, &s->weight));
  TRY(poiseCsrPattern(&g->csr, &s->g));
  return LAUNCH(dev, amg_strong_write, s);
}

PoiseErr poiseAmgStrength(PoiseContext ctx, const AmgMatrix *m, double theta, AmgGraph *g)
{
  AmgStrengthArgs s = {.n = m->nodes, .m = *m, .theta2 = theta * theta};
  Buffer size = {0}, reach = {0}, strong = {0};
  PoiseErr e = Sizes(ctx->device, &s, &size);
  e = poiseAmgFillGhosts(ctx, m, e, 1, &size);
  s.reach = s.size;
  if (m->node == 1) {
    if (!e) e = Reach(ctx->device, &s, &reach);
    e = poiseAmgFillGhosts(ctx, m, e, 1, &reach);
  }
  if (!e) e = Find(ctx->device, &s, &strong, g);
  poiseBufferDestroy(&size);
  poiseBufferDestroy(&reach);
  poiseBufferDestroy(&strong);
  if (e) poiseAmgGraphDestroy(ctx, g);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Strong connections. Beside the graph it holds 12 bytes per node. */
#include "mat/multiply/local_product.h"
#include "amg.h"
#include "strength_kernels.h"

void poiseAmgGraphDestroy(PoiseContext ctx, AmgGraph *g)
{
  poiseCsrDestroy(ctx, &g->csr);
  poiseBufferDestroy(&g->weight);
}

static PoiseErr Begin(Device *dev, AmgStrengthArgs *s, Buffer *diagonal, Buffer *strong)
{
  TRY(poiseAmgMake(dev, poiseAmgAllNodes(&s->m), sizeof *s->diagonal, "diagonal", diagonal, &s->diagonal));
  TRY(poiseAmgMake(dev, s->n, sizeof *s->strong, "strong connections", strong, &s->strong));
  return LAUNCH(dev, amg_diagonals, s);
}

static PoiseErr Find(Device *dev, AmgStrengthArgs *s, AmgGraph *g)
{
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
  Buffer diagonal = {0}, strong = {0};
  PoiseErr e = Begin(ctx->device, &s, &diagonal, &strong);
  e = poiseAmgFillGhosts(ctx, m, e, 1, &diagonal);
  if (!e) e = Find(ctx->device, &s, g);
  poiseBufferDestroy(&diagonal);
  poiseBufferDestroy(&strong);
  if (e) poiseAmgGraphDestroy(ctx, g);
  return e;
}

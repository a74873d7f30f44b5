/* SPDX-License-Identifier: BSD-3-Clause */
/* Strong connections. Beside the graph it holds 16 bytes per node; where nodes have several rows, also 8
   bytes for each connection, and 12 where a node is several blocks. */
#include "mat/multiply/local_product.h"
#include "ranks.h"
#include "rows.h"
#include "strength.h"
#include "strength_kernels.h"

void poiseAmgGraphDestroy(PoiseContext ctx, AmgGraph *g)
{
  poiseCsrDestroy(ctx, &g->csr);
  poiseBufferDestroy(&g->weight);
  poiseBufferDestroy(&g->leaf);
  poiseBufferDestroy(&g->kept);
}

/* Numbers for the connections of nodes that are several blocks, by rows of nodes. */
static PoiseErr Gather(Device *dev, AmgTracesArgs *t, Buffer *length, Csr *traces)
{
  t->n = t->m.nodes;
  TRY(poiseAmgMake(dev, t->n, sizeof *t->length, "connections of nodes", length, &t->length));
  TRY(LAUNCH(dev, amg_node_count, t));
  TRY(poiseRowOffsets(dev, t->n, t->length, traces));
  traces->nloc = t->n;
  TRY(poiseAmgMake(dev, traces->nz, sizeof *t->col, "neighbours", &traces->col, &t->col));
  TRY(poiseAmgMake(dev, traces->nz, sizeof *t->val, "traces", &traces->val, &t->val));
  TRY(poiseCsrPattern(traces, &t->T));
  return LAUNCH(dev, amg_node_write, t);
}

/* *A: the matrix of nodes, whose numbers are traces of blocks. */
static PoiseErr Traces(Device *dev, const AmgMatrix *m, int rows, Csr *traces, CsrView *A)
{
  AmgTracesArgs t = {.n = m->A.nz, .m = *m, .rows = rows};
  Buffer length = {0};
  *A = m->A;
  if (m->node == 1) return POISE_OK;
  A->b = 0;
  if (poiseAmgBlocks(m) == 1) {
    TRY(poiseAmgMake(dev, t.n, sizeof *t.val, "traces", &traces->val, &t.val));
    TRY(LAUNCH(dev, amg_traces, &t));
  } else {
    PoiseErr e = Gather(dev, &t, &length, traces);
    poiseBufferDestroy(&length);
    TRY(e);
    *A = t.T;
  }
  A->val = t.val;
  return POISE_OK;
}

typedef struct Scratch {
  Csr traces;
  Buffer size, strong;
} Scratch;

static PoiseErr Sizes(Device *dev, const AmgMatrix *m, int rows, AmgStrengthArgs *s, Scratch *w)
{
  TRY(Traces(dev, m, rows, &w->traces, &s->A));
  TRY(poiseAmgMake(dev, poiseAmgAllNodes(m), sizeof *s->size, "sizes of connections", &w->size, &s->size));
  return LAUNCH(dev, amg_sizes, s);
}

static PoiseErr Find(Device *dev, bool marks, AmgStrengthArgs *s, Buffer *strong, AmgGraph *g)
{
  TRY(poiseAmgMake(dev, s->n, sizeof *s->leaf, "leaves", &g->leaf, &s->leaf));
  TRY(LAUNCH(dev, amg_leaves, s));
  TRY(poiseAmgMake(dev, s->n, sizeof *s->strong, "strong connections", strong, &s->strong));
  TRY(LAUNCH(dev, amg_strong_count, s));
  TRY(poiseRowOffsets(dev, s->n, s->strong, &g->csr));
  g->csr.nloc = s->n;
  g->dropped = s->A.nz - g->csr.nz;
  TRY(poiseAmgMake(dev, g->csr.nz, sizeof *s->col, "strong neighbours", &g->csr.col, &s->col));
  TRY(poiseAmgMake(dev, g->csr.nz, sizeof *s->weight, "strengths", &g->weight, &s->weight));
  if (marks && g->dropped) TRY(poiseAmgMake(dev, s->A.nz, sizeof *s->kept, "marks", &g->kept, &s->kept));
  TRY(poiseCsrPattern(&g->csr, &s->g));
  return LAUNCH(dev, amg_strong_write, s);
}

PoiseErr poiseAmgStrength(PoiseContext ctx, const AmgMatrix *m, int rows, double theta, AmgGraph *g)
{
  AmgStrengthArgs s = {.n = m->nodes, .theta2 = theta * theta};
  Scratch w = {0};
  PoiseErr e = Sizes(ctx->device, m, rows, &s, &w);
  e = poiseAmgFillGhosts(ctx, m, e, 1, &w.size);
  if (!e) e = Find(ctx->device, poiseAmgMarks(m), &s, &w.strong, g);
  poiseCsrDestroy(ctx, &w.traces);
  poiseBufferDestroy(&w.size);
  poiseBufferDestroy(&w.strong);
  if (e) poiseAmgGraphDestroy(ctx, g);
  return e;
}

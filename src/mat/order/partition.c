/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Decide which rank each row goes to.

  Contiguous cuts: every node (the rows of a block) weighs its rows, nonzeros or bytes. Its rank is the one in
  whose share of the total the middle of its weight lies. So a rank differs from its share by less than the
  heaviest node. The idea is that of MSREP (J. Chen et al., 2020), whose cuts may run through a row.

  Graphs: METIS, on rank 0.
*/
#include "mat/csr/boundaries.h"
#include "mat/csr/entries.h"
#include "gathered.h"
#include "graph.h"

static void Cut(int64_t n, const int64_t *weight, int64_t before, int64_t total, Shares shares, int32_t *to)
{
  for (int64_t i = 0; i < n; i++) {
    to[i] = poiseShareAt(&shares, before, weight[i], total);
    before += weight[i];
  }
}

/* The weight of each node: its rows; its nonzeros; or the bytes that a product moves for its entries,
   offsets, x and y. */
static PoiseErr Weigh(PoiseMat A, PoisePartition measure, int64_t **weight)
{
  const Csr *c = &A->csr;
  int64_t side = poiseCsrSide(c), b = A->csr.b ? 1 : A->block_size;
  bool bytes = measure == POISE_PARTITION_BYTES || measure == POISE_PARTITION_GRAPH;
  int64_t entry = bytes ? 8 * side * side + 4 : side * side, row = bytes ? 16 * side + 4 : 0;
  if (measure == POISE_PARTITION_ROWS) entry = 0, row = 1;
  HostCsr h;
  TRY(poiseMatReadEntries(A, &h));
  TRY(poiseAllocArray(A->ctx, c->m / b, sizeof(int64_t), "weights of rows", weight));
  for (int64_t i = 0; i < c->m; i++)
    (*weight)[i / b] += entry * (poiseCsrPtr(c, h.ptr, i + 1) - poiseCsrPtr(c, h.ptr, i)) + row;
  return POISE_OK;
}

static PoiseErr CutRows(PoiseMat A, Shares shares, int64_t *weight, int32_t *to)
{
  int64_t n = A->rows->n / A->block_size, sum = 0, before, total;
  for (int64_t i = 0; i < n; i++) sum += weight[i];
  TRY(poiseCommScan(A->ctx->comm, sum, &before, &total));
  if (!total) { /* all weights are 0: equal numbers of rows */
    for (int64_t i = 0; i < n; i++) weight[i] = 1;
    TRY(poiseCommScan(A->ctx->comm, n, &before, &total));
  }
  Cut(n, weight, before, total, shares, to);
  return POISE_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct Gathered { /* on rank 0: the whole graph */
  Adjacency mine, all;
  int64_t *weight, *degree; /* of this rank's nodes */
  int64_t *all_weight;      /* then of all */
  int32_t *part;            /* of all */
  int64_t *nodes, *edges;   /* of every rank */
  int64_t *gathered;        /* memory for nodes and then edges */
} Gathered;

static void Release(PoiseContext ctx, Gathered *g)
{
  poiseGraphDestroy(ctx, &g->mine);
  poiseGraphDestroy(ctx, &g->all);
  poiseFree(ctx, &g->weight);
  poiseFree(ctx, &g->degree);
  poiseFree(ctx, &g->all_weight);
  poiseFree(ctx, &g->part);
  poiseFree(ctx, &g->nodes);
  poiseFree(ctx, &g->edges);
  poiseFree(ctx, &g->gathered);
}

static PoiseErr Prepare(PoiseMat A, Gathered *g)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx);
  TRY(Weigh(A, POISE_PARTITION_GRAPH, &g->weight));
  TRY(poiseGraphOfRows(A, false, &g->mine));
  TRY(poiseAllocArray(ctx, g->mine.n, sizeof(int64_t), "degrees", &g->degree));
  for (int64_t i = 0; i < g->mine.n; i++) g->degree[i] = g->mine.start[i + 1] - g->mine.start[i];
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &g->nodes));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &g->edges));
  return poiseAllocArray(ctx, 2 * (int64_t)size, sizeof(int64_t), "counts", &g->gathered);
}

static PoiseErr Reserve(PoiseContext ctx, Gathered *g)
{
  int64_t n = 0, edges = 0;
  if (PoiseRank(ctx)) return POISE_OK;
  for (int r = 0; r < PoiseSize(ctx); r++) n += g->nodes[r], edges += g->edges[r];
  g->all.n = n;
  TRY(poiseAllocArray(ctx, n + 1, sizeof(int64_t), "graph", &g->all.start));
  TRY(poiseAllocArray(ctx, edges, sizeof(int32_t), "graph", &g->all.adj));
  TRY(poiseAllocArray(ctx, n, sizeof(int64_t), "weights of rows", &g->all_weight));
  return poiseAllocArray(ctx, n, sizeof(int32_t), "parts of the graph", &g->part);
}

/* METIS cannot divide a graph without edges, or with hardly a node for each part. */
static PoiseErr PartitionAll(PoiseMat A, Gathered *g)
{
  PoiseContext ctx = A->ctx;
  const Shares shares = poiseSharesOf(A);
  Adjacency symmetric;
  int64_t total = 0, *start = g->all.start;
  if (PoiseRank(ctx)) return POISE_OK;
  for (int64_t i = 0; i < g->all.n; i++) start[i + 1] += start[i], total += g->all_weight[i];
  TRY(poiseGraphSymmetric(ctx, &g->all, &symmetric));
  PoiseErr e = POISE_OK;
  if (symmetric.n <= PoiseSize(ctx) || !symmetric.start[symmetric.n])
    Cut(symmetric.n, g->all_weight, 0, total, shares, g->part);
  else
    e = poiseMetisPartition(ctx, &symmetric, g->all_weight, &shares, g->part);
  poiseGraphDestroy(ctx, &symmetric);
  return e;
}

static PoiseErr Gather(PoiseMat A, Gathered *g)
{
  PoiseContext ctx = A->ctx;
  int64_t counts[2];
  TRY(PoiseAgree(ctx, Prepare(A, g)));
  counts[0] = g->mine.n, counts[1] = g->mine.start[g->mine.n];
  TRY(ctx->comm->ops->allgather(ctx->comm, counts, sizeof counts, g->gathered));
  for (int r = 0; r < PoiseSize(ctx); r++)
    g->nodes[r] = g->gathered[2 * r], g->edges[r] = g->gathered[2 * r + 1];
  TRY(PoiseAgree(ctx, Reserve(ctx, g)));
  int64_t *first = g->all.start ? g->all.start + 1 : NULL;
  TRY(poiseGatherItems(ctx, g->degree, g->nodes, sizeof(int64_t), first));
  TRY(poiseGatherItems(ctx, g->weight, g->nodes, sizeof(int64_t), g->all_weight));
  TRY(poiseGatherItems(ctx, g->mine.adj, g->edges, sizeof(int32_t), g->all.adj));
  poiseGraphDestroy(ctx, &g->mine);
  return POISE_OK;
}

static PoiseErr PartitionGraph(PoiseMat A, int32_t *to)
{
  PoiseContext ctx = A->ctx;
  Gathered g = {0};
  PoiseErr e = Gather(A, &g);
  if (!e) e = PoiseAgree(ctx, PartitionAll(A, &g));
  if (!e) e = poiseScatterItems(ctx, g.part, g.nodes, sizeof(int32_t), to);
  Release(ctx, &g);
  return e;
}

PoiseErr poiseMatPartition(PoiseMat A, PoisePartition partition, int32_t *to)
{
  PoiseContext ctx = A->ctx;
  int64_t *weight = NULL;
  if (PoiseSize(ctx) == 1) return POISE_OK; /* to is 0 */
  if (partition == POISE_PARTITION_GRAPH) return PartitionGraph(A, to);
  bool parts = A->asked.parted && partition == POISE_PARTITION_NONZEROS; /* which are cut alike */
  Shares shares = poiseSharesOf(A);
  double *bound = NULL;
  int machines;
  PoiseErr e = parts ? poiseSharesByMachine(A, &shares, &bound, &machines) : POISE_OK;
  if (!e) e = PoiseAgree(ctx, Weigh(A, partition, &weight));
  if (!e) e = CutRows(A, shares, weight, to);
  poiseFree(ctx, &weight);
  poiseFree(ctx, &bound);
  return e;
}

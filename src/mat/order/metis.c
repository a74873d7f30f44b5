/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a graph by METIS: G. Karypis and V. Kumar, Multilevel k-way partitioning scheme for irregular
   graphs, 1998. */
#include <metis.h>

#include "graph.h"

/* METIS uses the random number generator of the process, so ranks that are threads take turns. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

typedef struct Arrays { /* the graph in METIS' integers */
  idx_t *start, *adj, *weight, *part;
  real_t *share; /* of the total weight, for each part; NULL: equal */
} Arrays;

bool poiseMetisIsThere(void)
{
  return true;
}

PoiseErr poiseMetisCheck(void)
{
  return POISE_OK;
}

static PoiseErr ConvertGraph(PoiseContext ctx, const Adjacency *g, Arrays *a)
{
  int64_t edges = g->start[g->n];
  if (g->n >= IDX_MAX || edges >= IDX_MAX)
    FAIL(POISE_ERR_UNSUPPORTED,
         "a graph of %lld nodes and %lld neighbours is too large for this METIS, which counts in %d bits",
         (long long)g->n, (long long)edges, IDXTYPEWIDTH);
  TRY(poiseAllocArray(ctx, g->n + 1, sizeof(idx_t), "graph for METIS", &a->start));
  TRY(poiseAllocArray(ctx, edges, sizeof(idx_t), "graph for METIS", &a->adj));
  for (int64_t i = 0; i <= g->n; i++) a->start[i] = (idx_t)g->start[i];
  for (int64_t e = 0; e < edges; e++) a->adj[e] = g->adj[e];
  return POISE_OK;
}

static PoiseErr Convert(PoiseContext ctx, const Adjacency *g, const int64_t *weight, const Shares *shares,
                        Arrays *a)
{
  int64_t total = 0;
  TRY(ConvertGraph(ctx, g, a));
  TRY(poiseAllocArray(ctx, g->n, sizeof(idx_t), "weights for METIS", &a->weight));
  TRY(poiseAllocArray(ctx, g->n, sizeof(idx_t), "parts by METIS", &a->part));
  for (int64_t i = 0; i < g->n; i++) total += weight[i];
  int64_t unit = total / (IDX_MAX / 2) + 1; /* their sum has to fit, too */
  for (int64_t i = 0; i < g->n; i++) a->weight[i] = (idx_t)(weight[i] / unit + 1);
  if (!shares->bound) return POISE_OK;
  TRY(poiseAllocArray(ctx, shares->parts, sizeof(real_t), "shares for METIS", &a->share));
  for (int q = 0; q < shares->parts; q++) a->share[q] = (real_t)poiseShareSize(shares, q, 1);
  return POISE_OK;
}

static PoiseErr Judge(int status, int64_t n)
{
  if (status == METIS_ERROR_MEMORY) FAIL(POISE_ERR_MEMORY, "METIS, for a graph of %lld nodes", (long long)n);
  if (status != METIS_OK) FAIL(POISE_ERR_INTERNAL, "METIS failed with status %d", status);
  return POISE_OK;
}

static PoiseErr Partition(int64_t n, int parts, Arrays *a)
{
  idx_t nodes = (idx_t)n, constraints = 1, count = parts, cut, options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1; /* the same parts in every run */
  pthread_mutex_lock(&turn);
  int status = METIS_PartGraphKway(&nodes, &constraints, a->start, a->adj, a->weight, NULL, NULL, &count,
                                   a->share, NULL, options, &cut, a->part);
  pthread_mutex_unlock(&turn);
  return Judge(status, n);
}

static PoiseErr Dissect(int64_t n, Arrays *a)
{
  idx_t nodes = (idx_t)n, options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  pthread_mutex_lock(&turn);
  int status = METIS_NodeND(&nodes, a->start, a->adj, NULL, options, a->weight, a->part);
  pthread_mutex_unlock(&turn);
  return Judge(status, n);
}

PoiseErr poiseMetisOrder(PoiseContext ctx, const Adjacency *g, int32_t *to)
{
  Arrays a = {0}; /* weight: the nodes in their order, part: their places */
  PoiseErr e = ConvertGraph(ctx, g, &a);
  if (!e) e = poiseAllocArray(ctx, g->n, sizeof(idx_t), "order by METIS", &a.weight);
  if (!e) e = poiseAllocArray(ctx, g->n, sizeof(idx_t), "order by METIS", &a.part);
  if (!e && g->start[g->n]) e = Dissect(g->n, &a);
  for (int64_t i = 0; !e && i < g->n; i++) to[i] = g->start[g->n] ? (int32_t)a.part[i] : (int32_t)i;
  poiseFree(ctx, &a.start);
  poiseFree(ctx, &a.adj);
  poiseFree(ctx, &a.weight);
  poiseFree(ctx, &a.part);
  return e;
}

PoiseErr poiseMetisPartition(PoiseContext ctx, const Adjacency *g, const int64_t *weight,
                             const Shares *shares, int32_t *part)
{
  Arrays a = {0};
  PoiseErr e = Convert(ctx, g, weight, shares, &a);
  if (!e) e = Partition(g->n, shares->parts, &a);
  for (int64_t i = 0; !e && i < g->n; i++) part[i] = (int32_t)a.part[i];
  poiseFree(ctx, &a.start);
  poiseFree(ctx, &a.adj);
  poiseFree(ctx, &a.weight);
  poiseFree(ctx, &a.part);
  poiseFree(ctx, &a.share);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Aggregates: around the nodes of a maximal set of which no two are within distance 2 (MIS-2). In a round of
  that, each node sees the priorities of a former state alone, so threads change nothing. Priorities are
  hashes of node and round (N. Bell, S. Dalton, L. Olson, Exposing fine-grained parallelism in algebraic
  multigrid methods, SIAM J. Sci. Comput. 34, 2012).

  1. A root and its strong neighbours. 2. Among nodes that are left, a second such set, of those with enough
  free neighbours. 3. What is left joins the aggregate of its strongest neighbour.
*/
#include "amg.h"

enum { FREE, ROOT, COVERED, LONELY };

typedef struct Aggregation {
  const AmgGraph *g;
  int64_t least;
  int round;
  uint8_t *state;            /* in the present pass */
  uint64_t *rank, *near;     /* priorities; the largest among neighbours */
  int32_t *aggregate, *next; /* the root of a node's aggregate; -1: none */
} Aggregation;

static const uint64_t most = UINT64_MAX;

/* In the second pass the graph is that of nodes without an aggregate. */
POISE_INLINE bool Sees(const Aggregation *a, int64_t j)
{
  return a->state[j] != LONELY && a->aggregate[j] < 0;
}

static void Rank(const void *args, int64_t begin, int64_t end)
{
  const Aggregation *a = args;
  for (int64_t i = begin; i < end; i++) {
    uint64_t hash = poiseAmgHash((uint64_t)i * 131 + (uint64_t)a->round * 7919);
    a->rank[i] = a->state[i] == FREE   ? (hash >> 33) << 31 | (uint64_t)(i + 1)
                 : a->state[i] == ROOT ? most
                                       : 0;
  }
}

/* A root stays where it is, so what has one beside it need not look again. */
static void Near(const void *args, int64_t begin, int64_t end)
{
  const Aggregation *a = args;
  for (int64_t i = begin; i < end; i++) {
    uint64_t r = a->rank[i];
    if (!Sees(a, i) || (a->round > 1 && a->near[i] == most)) continue;
    for (int64_t k = a->g->ptr[i]; r < most && k < a->g->ptr[i + 1]; k++) {
      int32_t j = a->g->col[k];
      if (Sees(a, j) && a->rank[j] > r) r = a->rank[j];
    }
    a->near[i] = r;
  }
}

/* The largest within distance 2 is a root; what has a root there is covered. */
static void Decide(const void *args, int64_t begin, int64_t end)
{
  const Aggregation *a = args;
  for (int64_t i = begin; i < end; i++) {
    if (a->state[i] != FREE) continue;
    uint64_t r = a->near[i];
    for (int64_t k = a->g->ptr[i]; r < most && k < a->g->ptr[i + 1]; k++) {
      int32_t j = a->g->col[k];
      if (Sees(a, j) && a->near[j] > r) r = a->near[j];
    }
    if (r == most)
      a->state[i] = COVERED;
    else if (r == a->rank[i])
      a->state[i] = ROOT;
  }
}

/* In each round the free node of the largest priority is decided, so this ends. */
static void FindRoots(Device *dev, Aggregation *a)
{
  for (a->round = 1;; a->round++) {
    bool any = false;
    for (int64_t i = 0; i < a->g->n && !any; i++) any = a->state[i] == FREE;
    if (!any) return;
    poiseAmgForRows(dev, a->g->n, Rank, a);
    poiseAmgForRows(dev, a->g->n, Near, a);
    poiseAmgForRows(dev, a->g->n, Decide, a);
  }
}

/* A node joins the root that it is most strongly connected to. */
static void JoinRoots(const void *args, int64_t begin, int64_t end)
{
  const Aggregation *a = args;
  for (int64_t i = begin; i < end; i++) {
    float best = -1;
    a->next[i] = a->state[i] == ROOT ? (int32_t)i : a->aggregate[i];
    if (a->next[i] >= 0 || a->state[i] == LONELY) continue;
    for (int64_t k = a->g->ptr[i]; k < a->g->ptr[i + 1]; k++)
      if (a->state[a->g->col[k]] == ROOT && a->g->weight[k] > best)
        best = a->g->weight[k], a->next[i] = a->g->col[k];
  }
}

static void JoinNeighbours(const void *args, int64_t begin, int64_t end)
{
  const Aggregation *a = args;
  for (int64_t i = begin; i < end; i++) {
    float best = -1;
    a->next[i] = a->aggregate[i];
    if (a->next[i] >= 0 || a->state[i] == LONELY) continue;
    for (int64_t k = a->g->ptr[i]; k < a->g->ptr[i + 1]; k++)
      if (a->aggregate[a->g->col[k]] >= 0 && a->g->weight[k] > best)
        best = a->g->weight[k], a->next[i] = a->aggregate[a->g->col[k]];
  }
}

static void StartFirst(const void *args, int64_t begin, int64_t end)
{
  const Aggregation *a = args;
  for (int64_t i = begin; i < end; i++) {
    a->state[i] = a->g->ptr[i + 1] - a->g->ptr[i] > 1 ? FREE : LONELY;
    a->aggregate[i] = -1;
  }
}

/* `next` has what the state becomes, as the state says who is lonely. */
static void StartSecond(const void *args, int64_t begin, int64_t end)
{
  const Aggregation *a = args;
  for (int64_t i = begin; i < end; i++) {
    int64_t count = 0;
    for (int64_t k = a->g->ptr[i]; k < a->g->ptr[i + 1]; k++) count += Sees(a, a->g->col[k]);
    a->next[i] = a->state[i] == LONELY ? LONELY : a->aggregate[i] < 0 && count >= a->least ? FREE : COVERED;
  }
}

/* Returns whether this has changed an aggregate. */
static bool Take(Device *dev, Aggregation *a, AmgRows *rows)
{
  int64_t changes = 0;
  poiseAmgForRows(dev, a->g->n, rows, a);
  for (int64_t i = 0; i < a->g->n; i++)
    changes += a->next[i] != a->aggregate[i], a->aggregate[i] = a->next[i];
  return changes > 0;
}

/* Number the roots in their order, so that neighbours stay neighbours. */
static int64_t Number(Aggregation *a)
{
  int64_t count = 0;
  for (int64_t i = 0; i < a->g->n; i++) a->next[i] = a->aggregate[i] == i ? (int32_t)count++ : -1;
  for (int64_t i = 0; i < a->g->n; i++)
    if (a->aggregate[i] >= 0) a->aggregate[i] = a->next[a->aggregate[i]];
  return count;
}

static PoiseErr Run(PoiseContext ctx, Aggregation *a, int64_t *count)
{
  Device *dev = ctx->device;
  int64_t n = a->g->n;
  TRY(poiseAllocArray(ctx, n, sizeof *a->state, "states of nodes", &a->state));
  TRY(poiseAllocArray(ctx, n, sizeof *a->rank, "priorities", &a->rank));
  TRY(poiseAllocArray(ctx, n, sizeof *a->near, "priorities of neighbours", &a->near));
  TRY(poiseAllocArray(ctx, n, sizeof *a->next, "new aggregates", &a->next));
  poiseAmgForRows(dev, n, StartFirst, a);
  FindRoots(dev, a);
  Take(dev, a, JoinRoots);
  if (a->least > 0) {
    poiseAmgForRows(dev, n, StartSecond, a);
    for (int64_t i = 0; i < n; i++) a->state[i] = (uint8_t)a->next[i];
    FindRoots(dev, a);
    Take(dev, a, JoinRoots);
  }
  while (Take(dev, a, JoinNeighbours)) {
  } /* once where connections are mutual */
  *count = Number(a);
  return POISE_OK;
}

PoiseErr poiseAmgAggregate(PoiseContext ctx, const AmgGraph *g, int64_t least, int32_t *aggregate,
                           int64_t *count)
{
  Aggregation a = {.g = g, .least = least, .aggregate = aggregate};
  PoiseErr e = Run(ctx, &a, count);
  poiseFree(ctx, &a.state);
  poiseFree(ctx, &a.rank);
  poiseFree(ctx, &a.near);
  poiseFree(ctx, &a.next);
  return e;
}

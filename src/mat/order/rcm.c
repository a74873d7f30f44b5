/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Reverse Cuthill-McKee. Nodes are ordered by their distance from a node at the rim of the graph, and
  neighbours of a node by degree. The order is then reversed. So neighbours get close numbers. Each walk reads
  the graph once.

  E. Cuthill and J. McKee, 1969. Start nodes: A. George and J. W. H. Liu, An implementation of a
  pseudoperipheral node finder, ACM TOMS 5, 1979.
*/
#include "graph.h"

typedef struct Walk {
  const Adjacency *g; /* neighbours by degree */
  bool *seen;
  int32_t *queue; /* nodes in the order of the walk */
  int64_t n, rim; /* number of nodes; start of the last level in the queue */
  int64_t depth;  /* levels behind the first */
} Walk;

static int64_t Degree(const Adjacency *g, int64_t i)
{
  return g->start[i + 1] - g->start[i];
}

/* Walk breadth first from root, level by level. */
static void WalkFrom(Walk *w, int32_t root)
{
  const Adjacency *g = w->g;
  w->queue[0] = root;
  w->seen[root] = true;
  w->n = 1;
  w->depth = -1;
  for (int64_t first = 0, end = 0; end < w->n; first = end) {
    w->rim = first;
    w->depth++;
    end = w->n;
    for (int64_t k = first; k < end; k++)
      for (int64_t e = g->start[w->queue[k]]; e < g->start[w->queue[k] + 1]; e++) {
        int32_t next = g->adj[e];
        if (w->seen[next]) continue;
        w->seen[next] = true;
        w->queue[w->n++] = next;
      }
  }
}

/* A node near the rim, found cheaply: repeat from a node of least degree in the last level, until the walk
   has no more levels. */
static int32_t PseudoPeripheral(Walk *w, int32_t root)
{
  for (int64_t depth = -1;;) {
    WalkFrom(w, root);
    for (int64_t k = 0; k < w->n; k++) w->seen[w->queue[k]] = false;
    if (w->depth <= depth) return root;
    depth = w->depth;
    root = w->queue[w->rim];
    for (int64_t k = w->rim; k < w->n; k++)
      if (Degree(w->g, w->queue[k]) < Degree(w->g, root)) root = w->queue[k];
  }
}

/* Sort nodes by degree, and nodes of one degree by number. */
static PoiseErr ByDegree(PoiseContext ctx, const Adjacency *g, int32_t *nodes)
{
  int64_t *at;
  TRY(poiseAllocArray(ctx, g->n + 1, sizeof(int64_t), "degrees", &at));
  /* no node is its own neighbour, so the degree is below n */
  for (int64_t i = 0; i < g->n; i++) at[Degree(g, i) + 1]++;
  for (int64_t d = 1; d <= g->n; d++) at[d] += at[d - 1];
  for (int64_t i = 0; i < g->n; i++) nodes[at[Degree(g, i)]++] = (int32_t)i;
  poiseFree(ctx, &at);
  return POISE_OK;
}

static void CuthillMcKee(Walk *w, int32_t *order)
{
  int64_t n = w->g->n;
  w->queue = order;
  for (int32_t i = 0; i < n; i++) { /* every connected part */
    if (w->seen[i]) continue;
    WalkFrom(w, PseudoPeripheral(w, i));
    w->queue += w->n;
  }
  for (int64_t k = 0; k < n / 2; k++) {
    int32_t swap = order[k];
    order[k] = order[n - 1 - k];
    order[n - 1 - k] = swap;
  }
}

PoiseErr poiseReverseCuthillMcKee(PoiseContext ctx, Adjacency *pattern, int32_t *order)
{
  Adjacency symmetric, g = {0};
  Walk w = {.g = &g};
  TRY(poiseGraphSymmetric(ctx, pattern, &symmetric));
  PoiseErr e = ByDegree(ctx, &symmetric, order);
  if (!e) e = poiseGraphSort(ctx, &symmetric, order, &g);
  poiseGraphDestroy(ctx, &symmetric);
  if (!e) e = poiseAllocArray(ctx, g.n, sizeof(bool), "nodes seen", &w.seen);
  if (!e) CuthillMcKee(&w, order);
  poiseFree(ctx, &w.seen);
  poiseGraphDestroy(ctx, &g);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Reverse Cuthill-McKee. Nodes are ordered by their distance from a node at the rim of the graph, and
  neighbours of a node by degree. The order is then reversed. So neighbours get close numbers.

  A wide level is walked by all threads, and has the same order as if one did it: a node belongs to the first
  of its neighbours in the queue, whoever comes there first. The search for the start walks as the order does,
  so that the last walk of the search is the order.

  A walk reads the columns once, at random: 4 bytes per entry, and for each node an offset, a degree and a
  mark. One thread fetches these ahead. Several threads read the columns of a level twice, the second time
  mostly from cache.

  E. Cuthill and J. McKee, 1969. Start nodes: A. George and J. W. H. Liu, An implementation of a
  pseudoperipheral node finder, ACM TOMS 5, 1979. Levels in parallel: K. I. Karantasis et al., Parallelization
  of reordering algorithms for bandwidth and wavefront reduction, SC 2014.
*/
#include "graph.h"
#include "sys/device/host_loop.h"

enum {
  UNSEEN = INT32_MAX,
  CHUNK = 64,   /* nodes of a level that a thread takes at once */
  WIDE = 1024,  /* nodes of a level that justify waking threads */
  AHEAD = 12,   /* nodes in the queue whose neighbours' marks are fetched ahead; */
  FETCHED = 16, /* so many of each */
  RUN = 16      /* nodes that are sorted by insertion */
};

typedef struct Walk {
  const Adjacency *g;
  const Device *dev;
  int32_t *degree;
  int32_t *mark; /* of a node that was reached: from which place in the queue; of the root: any before */
  int32_t *queue, *scratch; /* nodes in the order of the walk; as much memory */
  int32_t *found;           /* of every chunk of a level: nodes that it reaches */
  int64_t first, n, rim; /* in the queue: start and end of the part of the graph; start of the last level */
  int64_t depth;         /* levels behind the first */
} Walk;

/* ---- by degree ------------------------------------------------------------------------------- */

/* Merge a[0 .. mid) and a[mid .. n) to `to`, with the former first where degrees are equal. */
static void Merge(const int32_t *degree, const int32_t *a, int64_t mid, int64_t n, int32_t *to)
{
  for (int64_t i = 0, j = mid, k = 0; k < n; k++)
    to[k] = j == n || (i < mid && degree[a[i]] <= degree[a[j]]) ? a[i++] : a[j++];
}

/* Sort nodes by degree; those of one degree keep their order. */
static void ByDegree(const int32_t *degree, int32_t *a, int64_t n, int32_t *scratch)
{
  for (int64_t run = 0; run < n; run += RUN)
    for (int64_t k = run + 1; k < n && k < run + RUN; k++) {
      int32_t node = a[k], d = degree[node];
      int64_t to = k;
      for (; to > run && degree[a[to - 1]] > d; to--) a[to] = a[to - 1];
      a[to] = node;
    }
  for (int64_t length = RUN; length < n; length *= 2) {
    for (int64_t k = 0; k < n; k += 2 * length) {
      int64_t both = n - k < 2 * length ? n - k : 2 * length;
      Merge(degree, a + k, length < both ? length : both, both, scratch + k);
    }
    memcpy(a, scratch, (size_t)n * sizeof *a);
  }
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* Fetch what the node at place k of the queue needs, in two steps: first where its neighbours are. */
static inline void Fetch(const Walk *w, int64_t k)
{
  const Adjacency *g = w->g;
  if (k + 2 * AHEAD < w->n) __builtin_prefetch(&g->start[w->queue[k + 2 * AHEAD]]);
  if (k + 3 * AHEAD / 2 < w->n) __builtin_prefetch(&g->adj[g->start[w->queue[k + 3 * AHEAD / 2]]]);
  if (k + AHEAD >= w->n) return;
  int64_t e = g->start[w->queue[k + AHEAD]], last = g->start[w->queue[k + AHEAD] + 1];
  if (last > e + FETCHED) last = e + FETCHED;
  for (; e < last; e++) __builtin_prefetch(&w->mark[g->adj[e]]);
}

/* The level at places first .. last - 1 of the queue leads to the next one. */
static void Level(Walk *w, int64_t first, int64_t last)
{
  const Adjacency *g = w->g;
  for (int64_t k = first; k < last; k++) {
    int64_t n = w->n;
    Fetch(w, k);
    for (int64_t e = g->start[w->queue[k]]; e < g->start[w->queue[k] + 1]; e++) {
      int32_t next = g->adj[e];
      if (w->mark[next] != UNSEEN) continue;
      w->mark[next] = (int32_t)k;
      w->queue[n++] = next;
    }
    ByDegree(w->degree, w->queue + w->n, n - w->n, w->scratch);
    w->n = n;
  }
}

/* Reach a node from place k, unless it was reached from an earlier one. first: place of the level. */
static inline void Reach(Walk *w, int64_t first, int64_t k, int32_t node)
{
  int32_t old = __atomic_load_n(&w->mark[node], __ATOMIC_RELAXED);
  while (old > k)
    if (__atomic_compare_exchange_n(&w->mark[node], &old, (int32_t)k, true, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      __atomic_fetch_add(&w->found[(k - first) / CHUNK], 1, __ATOMIC_RELAXED);
      if (old != UNSEEN) __atomic_fetch_sub(&w->found[(old - first) / CHUNK], 1, __ATOMIC_RELAXED);
      return;
    }
}

/* List the nodes that were reached from places k .. last - 1. */
static void List(Walk *w, int64_t k, int64_t last, int64_t to)
{
  const Adjacency *g = w->g;
  for (; k < last; k++) {
    int64_t n = to;
    for (int64_t e = g->start[w->queue[k]]; e < g->start[w->queue[k] + 1]; e++)
      if (w->mark[g->adj[e]] == k) w->queue[n++] = g->adj[e];
    ByDegree(w->degree, w->queue + to, n - to, w->scratch + to);
    to = n;
  }
}

/* The same, by all threads. */
static void LevelTogether(Walk *w, int64_t first, int64_t last)
{
  const Adjacency *g = w->g;
  int64_t chunks = (last - first + CHUNK - 1) / CHUNK;
  memset(w->found, 0, (size_t)chunks * sizeof *w->found);
  HOST_PARALLEL_ITEMS(w->dev->threads, true)
  for (int64_t c = 0; c < chunks; c++)
    for (int64_t k = first + c * CHUNK; k < first + (c + 1) * CHUNK && k < last; k++)
      for (int64_t e = g->start[w->queue[k]]; e < g->start[w->queue[k] + 1]; e++)
        Reach(w, first, k, g->adj[e]);
  for (int64_t c = 0; c < chunks; c++) {
    int32_t count = w->found[c];
    w->found[c] = (int32_t)w->n; /* from here on the place of the first */
    w->n += count;
  }
  HOST_PARALLEL_ITEMS(w->dev->threads, true)
  for (int64_t c = 0; c < chunks; c++) {
    int64_t k = first + c * CHUNK;
    List(w, k, last - k < CHUNK ? last : k + CHUNK, w->found[c]);
  }
}

/* Walk breadth first from root, level by level. */
static void WalkFrom(Walk *w, int32_t root)
{
  w->queue[w->first] = root;
  w->mark[root] = (int32_t)w->first - 1;
  w->n = w->first + 1;
  w->depth = -1;
  for (int64_t first = w->first, last; first < w->n; first = last) {
    last = w->n;
    w->rim = first;
    w->depth++;
    if (w->dev->threads > 1 && last - first >= WIDE)
      LevelTogether(w, first, last);
    else
      Level(w, first, last);
  }
}

/* Forget the last walk. Most of the graph is forgotten in the order of memory. */
static void Forget(Walk *w)
{
  int64_t n = w->g->n, nblock = POISE_NBLOCKS(n);
  w->mark[w->queue[w->first]] = UNSEEN;
  if (w->n - w->first < n / CHUNK) {
    for (int64_t k = w->first; k < w->n; k++) w->mark[w->queue[k]] = UNSEEN;
    return;
  }
  HOST_PARALLEL_FOR(w->dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      w->mark[i] = w->mark[i] >= w->first ? UNSEEN : w->mark[i];
}

/* Order the part of the graph that has this node. Walk again and again, from a node of least degree in the
   last level, until the walk has no more levels than the one before. */
static void OrderPart(Walk *w, int32_t root)
{
  for (int64_t depth = -1; WalkFrom(w, root), w->depth > depth;) {
    depth = w->depth;
    root = w->queue[w->rim];
    for (int64_t k = w->rim; k < w->n; k++)
      if (w->degree[w->queue[k]] < w->degree[root]) root = w->queue[k];
    Forget(w);
  }
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Every node's number of neighbours but itself, and no mark. */
static void Begin(Walk *w)
{
  const Adjacency *g = w->g;
  int64_t nblock = POISE_NBLOCKS(g->n);
  HOST_PARALLEL_FOR(w->dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < g->n; i++) {
      int64_t degree = g->start[i + 1] - g->start[i];
      for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) degree -= g->adj[e] == i;
      w->degree[i] = (int32_t)degree;
      w->mark[i] = UNSEEN;
    }
}

static void CuthillMcKee(Walk *w)
{
  int64_t n = w->g->n;
  int32_t *order = w->queue;
  for (int32_t i = 0; i < n; i++) { /* every connected part */
    if (w->mark[i] != UNSEEN) continue;
    OrderPart(w, i);
    w->first = w->n;
  }
  for (int64_t k = 0; k < n / 2; k++) {
    int32_t swap = order[k];
    order[k] = order[n - 1 - k];
    order[n - 1 - k] = swap;
  }
}

PoiseErr poiseReverseCuthillMcKee(PoiseContext ctx, Adjacency *pattern, int32_t *order)
{
  Adjacency g;
  TRY(poiseGraphForOrder(ctx, pattern, &g));
  Walk w = {.g = &g, .dev = ctx->device, .queue = order};
  PoiseErr e = poiseAllocArray(ctx, g.n, sizeof *w.degree, "degrees", &w.degree);
  if (!e) e = poiseAllocArray(ctx, g.n, sizeof *w.mark, "marks of nodes", &w.mark);
  if (!e) e = poiseAllocArray(ctx, g.n, sizeof *w.scratch, "nodes to sort", &w.scratch);
  if (!e) e = poiseAllocArray(ctx, g.n / CHUNK + 1, sizeof *w.found, "nodes of a level", &w.found);
  if (!e) Begin(&w);
  if (!e) CuthillMcKee(&w);
  poiseFree(ctx, &w.degree);
  poiseFree(ctx, &w.mark);
  poiseFree(ctx, &w.scratch);
  poiseFree(ctx, &w.found);
  poiseGraphDestroy(ctx, &g);
  return e;
}

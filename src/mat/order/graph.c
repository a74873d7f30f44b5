/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Graphs of a matrix' pattern, made by all threads of the host, with the same bits for any number of them.

  Most patterns are symmetric, and then the columns of the matrix are its graph as they are. That is seen in
  one pass, without looking for (j, i) of any (i, j). Others get a transpose, which costs a random access per
  entry.
*/
#include "mat/csr/entries.h"
#include "sys/device/host_loop.h"
#include "graph.h"

void poiseGraphDestroy(PoiseContext ctx, Adjacency *g)
{
  poiseFree(ctx, &g->start);
  if (!g->lent) poiseFree(ctx, &g->adj);
  *g = (Adjacency){0};
}

static PoiseErr Create(PoiseContext ctx, int64_t n, Adjacency *g)
{
  *g = (Adjacency){.n = n};
  return poiseAllocArray(ctx, n + 1, sizeof(int64_t), "graph", &g->start);
}

/* Counts at start[i + 1] become offsets, for which there is memory then. */
static PoiseErr Offsets(PoiseContext ctx, Adjacency *g)
{
  for (int64_t i = 0; i < g->n; i++) g->start[i + 1] += g->start[i];
  return poiseAllocArray(ctx, g->start[g->n], sizeof(int32_t), "graph", &g->adj);
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct Columns { /* of a rank's rows, and which of them are asked for */
  PoiseMat A;
  HostCsr h;
  int b; /* rows and columns of entries that are a node */
  bool owned;
} Columns;

/* The node of the column of entry k; -1: the column is not asked for. */
static inline PoiseInt NodeOf(const Columns *c, int64_t k)
{
  int32_t col = c->h.col[k];
  if (c->owned) return col < c->A->csr.nloc ? col / c->b : -1;
  return poiseCsrGlobal(c->A, col) / c->b;
}

/* Do rows i and j have entries in the same nodes, one by one? */
static bool SameNodes(const Columns *c, int64_t i, int64_t j)
{
  const Csr *csr = &c->A->csr;
  int64_t k = poiseCsrPtr(csr, c->h.ptr, i), l = poiseCsrPtr(csr, c->h.ptr, j),
          n = poiseCsrPtr(csr, c->h.ptr, i + 1) - k;
  if (poiseCsrPtr(csr, c->h.ptr, j + 1) - l != n) return false;
  for (int64_t e = 0; e < n; e++)
    if (NodeOf(c, k + e) != NodeOf(c, l + e)) return false;
  return true;
}

/* The nodes that a node's rows refer to; to: NULL: they are only counted. Rows of a node are mostly alike. */
static int64_t NodesOf(const Columns *c, int64_t node, int32_t *to)
{
  const Csr *csr = &c->A->csr;
  int64_t n = 0, first = node * c->b;
  for (int64_t i = first; i < first + c->b; i++) {
    PoiseInt last = -1;
    if (i > first && SameNodes(c, first, i)) continue;
    for (int64_t k = poiseCsrPtr(csr, c->h.ptr, i); k < poiseCsrPtr(csr, c->h.ptr, i + 1); k++) {
      PoiseInt next = NodeOf(c, k);
      if (next < 0 || next == last) continue;
      last = next;
      if (to) to[n] = (int32_t)next;
      n++;
    }
  }
  return n;
}

/* The columns of the matrix as they are. */
static PoiseErr Lend(const Columns *c, Adjacency *g)
{
  int64_t *start = g->start, n = g->n, nblock = POISE_NBLOCKS(n);
  const Device *dev = c->A->ctx->device;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      start[i + 1] = poiseCsrPtr(&c->A->csr, c->h.ptr, i + 1);
  g->lent = true;
  g->adj = (int32_t *)(uintptr_t)c->h.col;
  return POISE_OK;
}

PoiseErr poiseGraphOfRows(PoiseMat A, bool owned, Adjacency *g)
{
  Columns c = {.A = A, .b = A->csr.b ? 1 : A->block_size, .owned = owned}; /* a block is a node */
  const Device *dev = A->ctx->device;
  *g = (Adjacency){0};
  TRY(poiseMatReadEntries(A, &c.h));
  if (!owned && A->csr.columns / c.b >= INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "the graph of the matrix has %lld nodes, more than fit in 32 bits",
         (long long)A->csr.columns / c.b);
  TRY(Create(A->ctx, A->csr.m / c.b, g));
  if (owned && c.b == 1 && !A->csr.nghost) return Lend(&c, g);
  int64_t n = g->n, nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      g->start[i + 1] = NodesOf(&c, i, NULL);
  TRY(Offsets(A->ctx, g));
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      NodesOf(&c, i, g->adj + g->start[i]);
  return POISE_OK;
}

/* ---- symmetric graphs ------------------------------------------------------------------------ */

static inline uint64_t PairNumber(int64_t low, int64_t high)
{
  return poiseMix(1, (uint64_t)low << 32 | (uint64_t)high);
}

/* What a node's entries right of the diagonal add to a sum, less what those left of it do; *mess counts
   neighbours that do not ascend. */
static uint64_t Balance(const Adjacency *g, int64_t i, int64_t *mess)
{
  uint64_t sum = 0;
  int64_t last = -1;
  for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) {
    int64_t j = g->adj[e];
    *mess += j <= last;
    last = j;
    if (j > i) sum += PairNumber(i, j);
    if (j < i) sum -= PairNumber(j, i);
  }
  return sum;
}

/* Is this pattern a symmetric graph, each of whose neighbours stands there once, ascending? Numbers of pairs
   that have both directions cancel. So do others by chance, once in 2^64, and an order by that graph would
   still be one of all nodes. */
static bool IsSymmetric(PoiseContext ctx, const Adjacency *g)
{
  const Device *dev = ctx->device;
  int64_t nblock = POISE_NBLOCKS(g->n), messes = 0;
  uint64_t total = 0;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    uint64_t sum = 0;
    int64_t mess = 0;
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < g->n; i++) sum += Balance(g, i, &mess);
    __atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
    __atomic_fetch_add(&messes, mess, __ATOMIC_RELAXED);
  }
  return !messes && !total;
}

/* The number of threads that share n entries out. */
static int Sharers(PoiseContext ctx, int64_t n)
{
  int64_t worth = POISE_NBLOCKS(n) / HOST_FEW_BLOCKS;
  if (worth > ctx->device->threads) worth = ctx->device->threads;
  return worth > 1 ? (int)worth : 1;
}

/* Walk through all entries off the diagonal whose columns are in the p-th of so many parts. NULL: count them
   at at[j + 1]; else list their rows. */
static void TransposePart(const Adjacency *g, int p, int parts, int64_t *at, int32_t *list)
{
  int64_t first = g->n * p / parts;
  uint32_t count = (uint32_t)(g->n * (p + 1) / parts - first);
  for (int64_t i = 0; i < g->n; i++)
    for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) {
      int32_t j = g->adj[e];
      if ((uint32_t)(j - (int32_t)first) >= count || j == i) continue;
      if (list)
        list[at[j]++] = (int32_t)i;
      else
        at[j + 1]++;
    }
}

/* The transpose without its diagonal, with neighbours ascending. Each thread reads all entries, and places
   those of its own columns. So rows need no sorting, and no two threads write to one. */
static PoiseErr Transpose(PoiseContext ctx, const Adjacency *g, Adjacency *t)
{
  int parts = Sharers(ctx, g->start[g->n]);
  int64_t *at;
  TRY(Create(ctx, g->n, t));
  HOST_PARALLEL_ITEMS(parts, parts > 1)
  for (int p = 0; p < parts; p++) TransposePart(g, p, parts, t->start, NULL);
  TRY(Offsets(ctx, t));
  TRY(poiseAllocArray(ctx, g->n, sizeof *at, "graph", &at));
  if (g->n) memcpy(at, t->start, (size_t)g->n * sizeof *at);
  HOST_PARALLEL_ITEMS(parts, parts > 1)
  for (int p = 0; p < parts; p++) TransposePart(g, p, parts, at, t->adj);
  poiseFree(ctx, &at);
  return POISE_OK;
}

/* The neighbours of node i in a or in t; to: NULL: they are only counted. */
static int64_t Unite(const Adjacency *a, const Adjacency *t, int64_t i, int32_t *to)
{
  int64_t n = 0, k = a->start[i], last = a->start[i + 1], l = t->start[i], end = t->start[i + 1];
  for (int32_t before = -1; k < last || l < end;) {
    int32_t next = l == end || (k < last && a->adj[k] <= t->adj[l]) ? a->adj[k++] : t->adj[l++];
    if (next == before) continue;
    before = next;
    if (to) to[n] = next;
    n++;
  }
  return n;
}

static PoiseErr UniteAll(PoiseContext ctx, const Adjacency *a, const Adjacency *t, Adjacency *g)
{
  const Device *dev = ctx->device;
  int64_t n = a->n, nblock = POISE_NBLOCKS(n);
  TRY(Create(ctx, n, g));
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      g->start[i + 1] = Unite(a, t, i, NULL);
  TRY(Offsets(ctx, g));
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      Unite(a, t, i, g->adj + g->start[i]);
  return POISE_OK;
}

PoiseErr poiseGraphSymmetric(PoiseContext ctx, Adjacency *pattern, Adjacency *g)
{
  Adjacency t = {0}, a = {0}; /* transposed once, and twice: then rows ascend */
  *g = (Adjacency){0};
  PoiseErr e = Transpose(ctx, pattern, &t);
  poiseGraphDestroy(ctx, pattern);
  if (!e) e = Transpose(ctx, &t, &a);
  if (!e) e = UniteAll(ctx, &a, &t, g);
  poiseGraphDestroy(ctx, &t);
  poiseGraphDestroy(ctx, &a);
  if (e) poiseGraphDestroy(ctx, g);
  return e;
}

PoiseErr poiseGraphForOrder(PoiseContext ctx, Adjacency *pattern, Adjacency *g)
{
  if (!IsSymmetric(ctx, pattern)) return poiseGraphSymmetric(ctx, pattern, g);
  *g = *pattern;
  *pattern = (Adjacency){0};
  return POISE_OK;
}

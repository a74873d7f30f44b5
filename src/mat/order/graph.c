/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of a matrix' pattern. A symmetric graph is its own transpose, so writing the transpose sorts it
   without comparisons. */
#include "mat/csr/entries.h"
#include "graph.h"

void poiseGraphDestroy(PoiseContext ctx, Adjacency *g)
{
  poiseFree(ctx, &g->start);
  poiseFree(ctx, &g->adj);
  *g = (Adjacency){0};
}

static PoiseErr Create(PoiseContext ctx, int64_t n, Adjacency *g)
{
  *g = (Adjacency){.n = n};
  return poiseAllocArray(ctx, n + 1, sizeof(int64_t), "graph", &g->start);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The node of the column of entry k, where b columns of entries are a node; -1: the column is not asked
   for. */
static inline PoiseInt NodeOf(const PoiseMat A, const HostCsr *h, int b, bool owned, int64_t k)
{
  int32_t col = h->col[k];
  if (owned) return col < A->csr.nloc ? col / b : -1;
  return poiseCsrGlobal(A, col) / b;
}

PoiseErr poiseGraphOfRows(PoiseMat A, bool owned, Adjacency *g)
{
  int b = A->csr.b ? 1 : A->block_size; /* a block is a node */
  HostCsr h;
  *g = (Adjacency){0};
  TRY(poiseMatReadEntries(A, &h));
  if (!owned && A->csr.columns / b >= INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "the graph of the matrix has %lld nodes, more than fit in 32 bits",
         (long long)A->csr.columns / b);
  TRY(Create(A->ctx, A->csr.m / b, g));
  for (int fill = 0; fill < 2; fill++) { /* count, then write */
    int64_t out = 0;
    for (int64_t i = 0; i < A->csr.m; i++) {
      PoiseInt last = -1;
      for (int64_t k = poiseCsrPtr(&A->csr, h.ptr, i); k < poiseCsrPtr(&A->csr, h.ptr, i + 1); k++) {
        PoiseInt node = NodeOf(A, &h, b, owned, k);
        if (node < 0 || node == last) continue;
        last = node;
        if (fill) g->adj[out] = (int32_t)node;
        out++;
      }
      g->start[i / b + 1] = out;
    }
    if (!fill) TRY(poiseAllocArray(A->ctx, out, sizeof(int32_t), "graph", &g->adj));
  }
  return POISE_OK;
}

/* ---- symmetric graphs ------------------------------------------------------------------------ */

PoiseErr poiseGraphSort(PoiseContext ctx, const Adjacency *g, const int32_t *order, Adjacency *sorted)
{
  TRY(Create(ctx, g->n, sorted));
  TRY(poiseAllocArray(ctx, g->start[g->n], sizeof(int32_t), "graph", &sorted->adj));
  int64_t *at = sorted->start + 1; /* node i's cursor; in the end the start of node i + 1 */
  memcpy(at, g->start, (size_t)g->n * sizeof *at);
  for (int64_t k = 0; k < g->n; k++) {
    int32_t i = order ? order[k] : (int32_t)k;
    for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) sorted->adj[at[g->adj[e]]++] = i;
  }
  return POISE_OK;
}

/* Add every entry (i, j) off the diagonal in both directions; twice if A has (j, i) too. */
static PoiseErr BothWays(PoiseContext ctx, const Adjacency *a, Adjacency *both)
{
  TRY(Create(ctx, a->n, both));
  int64_t *at = both->start; /* counts, then the ends of the lists; these are written backwards, so finally
                                their starts */
  for (int64_t i = 0; i < a->n; i++)
    for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
      if (a->adj[e] != i) at[i]++, at[a->adj[e]]++;
  for (int64_t i = 1; i <= a->n; i++) at[i] += at[i - 1];
  TRY(poiseAllocArray(ctx, at[a->n], sizeof(int32_t), "graph", &both->adj));
  for (int64_t i = 0; i < a->n; i++)
    for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) {
      int32_t j = a->adj[e];
      if (j == i) continue;
      both->adj[--at[i]] = j;
      both->adj[--at[j]] = (int32_t)i;
    }
  return POISE_OK;
}

/* Drop neighbours that are repeated. */
static void DropRepeated(Adjacency *g)
{
  int64_t out = 0, first = 0;
  for (int64_t i = 0; i < g->n; i++) {
    int64_t last = g->start[i + 1];
    for (int64_t e = first; e < last; e++)
      if (e == first || g->adj[e] != g->adj[e - 1]) g->adj[out++] = g->adj[e];
    g->start[i + 1] = out;
    first = last;
  }
}

PoiseErr poiseGraphSymmetric(PoiseContext ctx, Adjacency *pattern, Adjacency *g)
{
  Adjacency both = {0};
  *g = (Adjacency){0};
  PoiseErr e = BothWays(ctx, pattern, &both);
  poiseGraphDestroy(ctx, pattern);
  if (!e) e = poiseGraphSort(ctx, &both, NULL, g);
  poiseGraphDestroy(ctx, &both);
  if (e)
    poiseGraphDestroy(ctx, g);
  else
    DropRepeated(g);
  return e;
}

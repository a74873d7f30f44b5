/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Patterns of incomplete factors by levels of fill (Saad 2003, "Iterative Methods for Sparse Linear Systems",
  10.3.3): an entry of A has level 0, and elimination of k gives (i, j) level(i, k) + level(k, j) + 1.

  (i, j) has at most level k if, and only if, the graph of A has a path from i to j of at most k + 1 edges
  whose inner nodes come before both (Hysom and Pothen 2001, "A scalable parallel algorithm for incomplete
  factor preconditioning"). So a search from i through nodes before i finds what row i has right of its
  diagonal, and the same search in the transposed graph what column i has below it. Rows need no others, so
  threads share them, and the pattern does not depend on how.

  A search reads the rows that it meets. Each is made twice: to count, and to write.
*/
#include "mat/object/mat.h"
#include "sys/device/host_loop.h"
#include "fill.h"

typedef struct Lists { /* those of row i: col[ptr[i]], ..., col[ptr[i + 1] - 1] */
  int64_t *ptr;
  int32_t *col;
} Lists;

typedef struct Search {
  Device *dev;
  const Triangles *graph;
  PoiseInt levels;
  int32_t *room; /* 2 n numbers for each thread */
} Search;

static void FreeLists(PoisePC pc, Lists *l)
{
  poiseFree(pc->ctx, &l->ptr);
  poiseFree(pc->ctx, &l->col);
}

static void SumUp(int64_t *ptr, int64_t n)
{
  for (int64_t i = 0; i < n; i++) ptr[i + 1] += ptr[i];
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Nodes behind i at the end of paths from i, by breadth. mark[v] = i: v has been met. Writes them to out, in
   any order, unless it is NULL. Returns their number. */
static int64_t Reach(const Search *s, int64_t i, int32_t *mark, int32_t *queue, int32_t *out)
{
  const Triangles *g = s->graph;
  int64_t found = 0, at = 0, filled = 1;
  queue[0] = mark[i] = (int32_t)i;
  for (PoiseInt length = 0; length <= s->levels && at < filled; length++)
    for (int64_t stop = filled; at < stop; at++) {
      int64_t v = queue[at];
      for (int64_t k = poiseOffset(g, g->begin, v); k < poiseOffset(g, g->end, v); k++) {
        int32_t u = g->col[k];
        if (mark[u] == i) continue;
        mark[u] = (int32_t)i;
        if (u < i)
          queue[filled++] = u;
        else if (out)
          out[found++] = u;
        else
          found++;
      }
    }
  return found;
}

static int Compare(const void *a, const void *b)
{
  int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
  return (p > q) - (p < q);
}

static void Sort(int32_t *list, int64_t n)
{
  enum { SHORT = 32 };
  if (n > SHORT) qsort(list, (size_t)n, sizeof *list, Compare);
  for (int64_t k = 1; n <= SHORT && k < n; k++) {
    int32_t v = list[k];
    int64_t to = k;
    for (; to > 0 && list[to - 1] > v; to--) list[to] = list[to - 1];
    list[to] = v;
  }
}

/* Count, where l->col is NULL, or write the lists of all rows. Threads take blocks of rows in turn. */
static void SearchRows(const Search *s, Lists *l)
{
  int64_t n = s->graph->n, nblock = POISE_NBLOCKS(n);
  int parts = s->dev->threads > 1 ? s->dev->threads : 1;
  HOST_PARALLEL_ITEMS(s->dev->threads, HOST_SHARED_OUT(s->dev, nblock))
  for (int p = 0; p < parts; p++) {
    int32_t *mark = s->room + 2 * n * p, *queue = mark + n;
    for (int64_t i = 0; i < n; i++) mark[i] = -1;
    for (int64_t b = p; b < nblock; b += parts)
      for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++) {
        if (l->col)
          Sort(l->col + l->ptr[i], Reach(s, i, mark, queue, l->col + l->ptr[i]));
        else
          l->ptr[i + 1] = Reach(s, i, mark, queue, NULL);
      }
  }
}

/* Make the lists, or their offsets alone. */
static PoiseErr FindLists(PoisePC pc, const Triangles *graph, PoiseInt levels, bool alone, Lists *l)
{
  Search s = {.dev = pc->ctx->device, .graph = graph, .levels = levels};
  int64_t n = graph->n, threads = s.dev->threads > 1 ? s.dev->threads : 1;
  PoiseErr e = POISE_OK;
  TRY(poiseAllocArray(pc->ctx, n + 1, sizeof(int64_t), "offsets of fill", &l->ptr));
  TRY(poiseAllocArray(pc->ctx, 2 * n * threads, sizeof(int32_t), "searches for fill", &s.room));
  SearchRows(&s, l);
  SumUp(l->ptr, n);
  if (!alone) e = poiseAllocArray(pc->ctx, l->ptr[n], sizeof(int32_t), "columns of fill", &l->col);
  if (l->col) SearchRows(&s, l);
  poiseFree(pc->ctx, &s.room);
  return e;
}

/* ---- assembly -------------------------------------------------------------------------------- */

/* The graph with its edges turned round; its lists hold the memory. */
static PoiseErr TurnRound(PoisePC pc, const Triangles *g, Lists *l, Triangles *turned)
{
  TRY(poiseAllocArray(pc->ctx, g->n + 2, sizeof(int64_t), "offsets of a transposed pattern", &l->ptr));
  TRY(poiseAllocArray(pc->ctx, g->nz, sizeof(int32_t), "a transposed pattern", &l->col));
  memset(l->ptr, 0, (size_t)(g->n + 2) * sizeof *l->ptr);
  for (int64_t i = 0; i < g->n; i++)
    for (int64_t k = poiseOffset(g, g->begin, i); k < poiseOffset(g, g->end, i); k++) l->ptr[g->col[k] + 2]++;
  SumUp(l->ptr, g->n + 1);
  for (int64_t i = 0; i < g->n; i++)
    for (int64_t k = poiseOffset(g, g->begin, i); k < poiseOffset(g, g->end, i); k++)
      l->col[l->ptr[g->col[k] + 1]++] = (int32_t)i;
  *turned = (Triangles){.n = g->n, .nz = g->nz, .wide = 1, .begin = l->ptr, .end = l->ptr + 1, .col = l->col};
  return POISE_OK;
}

/* Offsets of the rows of [columns of `below` turned round | diagonal | rows of `above`]. */
static void Offsets(int64_t n, const Lists *above, const Lists *below, int64_t *ptr)
{
  memset(ptr, 0, (size_t)(n + 1) * sizeof *ptr);
  for (int64_t i = 0; i < n; i++) {
    ptr[i + 1] += above->ptr[i + 1] - above->ptr[i] + 1;
    for (int64_t k = below->ptr[i]; k < below->ptr[i + 1]; k++) ptr[below->col[k] + 1]++;
  }
  SumUp(ptr, n);
}

/* at: cursors, the offsets of the rows. Columns of a row come in their order. */
static void Columns(int64_t n, const Lists *above, const Lists *below, int64_t *at, int32_t *col)
{
  for (int64_t i = 0; i < n; i++) {
    col[at[i]++] = (int32_t)i; /* all that is left of it has come from the lists before */
    for (int64_t k = above->ptr[i]; k < above->ptr[i + 1]; k++) col[at[i]++] = above->col[k];
    for (int64_t k = below->ptr[i]; k < below->ptr[i + 1]; k++) col[at[below->col[k]]++] = (int32_t)i;
  }
}

static PoiseErr Join(PoisePC pc, Triangular *t, const Lists *above, const Lists *below, int64_t *ptr,
                     int directions)
{
  Buffer columns = {0};
  int32_t *col;
  int64_t n = t->n;
  Offsets(n, above, below, ptr);
  TRY(poiseBufferCreate(pc->ctx->device, (size_t)ptr[n] * sizeof *col, "columns of factors", &columns));
  PoiseErr e = poiseBufferWrite(&columns, HOST, &col);
  if (e) {
    poiseBufferDestroy(&columns);
    return e;
  }
  Columns(n, above, below, ptr, col);
  for (int64_t i = n; i > 0; i--) ptr[i] = ptr[i - 1]; /* each cursor is at the end of its row */
  ptr[0] = 0;
  e = poiseTriangularReplace(pc, t, t->b, n, ptr, &columns, directions);
  poiseBufferDestroy(&columns);
  return e;
}

/* What rows have right of their diagonals, and columns below them: nothing of these if it is the same. */
static PoiseErr FindBoth(PoisePC pc, Triangular *t, PoiseInt levels, bool mirrored, bool alone, Lists *above,
                         Lists *below)
{
  Triangles graph, turned;
  Lists edges = {0};
  TRY(poiseTriangularView(pc, t, HOST, &graph));
  PoiseErr e = FindLists(pc, &graph, levels, alone, above);
  if (!e && !mirrored) e = TurnRound(pc, &graph, &edges, &turned);
  if (!e && !mirrored) e = FindLists(pc, &turned, levels, alone, below);
  FreeLists(pc, &edges);
  return e;
}

PoiseErr poiseFillCount(PoisePC pc, Triangular *t, PoiseInt levels, bool mirrored, int64_t *entries)
{
  Lists above = {0}, below = {0};
  int64_t n = t->n;
  PoiseErr e = FindBoth(pc, t, levels, mirrored, true, &above, &below);
  if (!e) *entries = n + above.ptr[n] + (mirrored ? above.ptr[n] : below.ptr[n]);
  FreeLists(pc, &above);
  FreeLists(pc, &below);
  return e;
}

PoiseErr poiseFill(PoisePC pc, Triangular *t, PoiseInt levels, bool mirrored, int directions)
{
  Lists above = {0}, below = {0};
  int64_t *ptr = NULL;
  PoiseErr e = FindBoth(pc, t, levels, mirrored, false, &above, &below);
  if (!e) e = poiseAllocArray(pc->ctx, t->n + 1, sizeof *ptr, "offsets of factors", &ptr);
  if (!e) e = Join(pc, t, &above, mirrored ? &above : &below, ptr, directions);
  poiseFree(pc->ctx, &ptr);
  FreeLists(pc, &above);
  FreeLists(pc, &below);
  return e;
}

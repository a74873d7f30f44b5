/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A matching of rows and columns whose entries have the largest product: the least sum of costs

    c_ij = log2 max_k |a_ik| - log2 |a_ij|.

  Potentials u of rows and v of columns keep u_i + v_j <= c_ij, with equality where i and j are matched. So
  2^(u_i - log2 max_k |a_ik|) and 2^v_j scale every matched entry to 1, and no other above 1.

  At first v_j is the least cost of column j, u_i the least c_ij - v_j of row i. Rows take free columns where
  there is equality, their diagonal first; or one that another row can leave for a free one. Each row that
  remains looks for a free column by Dijkstra's algorithm, with c_ij - u_i - v_j as lengths: rows and columns
  along the shortest path are matched anew. If there is none, the columns that were reached belong to too many
  rows, and no later search goes there.

  It takes 12 bytes an entry and 72 a row. Searches are short where most diagonal entries are large. At worst
  each of n rows walks through all entries.

  I. S. Duff and J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM
  J. Matrix Anal. Appl. 22, 2001.
*/
#include "match.h"

enum { FREE = -1 };                             /* no row has this column */
enum { OUTSIDE = -1, FINAL = -2, CLOSED = -3 }; /* not in the heap: or its distance is known; or for good */

typedef struct Search {
  const Sizes *s; /* whose sizes are costs */
  Matching *m;    /* row: u, col: v */
  int32_t *owner; /* of each column: its row, or FREE */
  double *distance;
  int32_t *from; /* of each column: the row before it on its path */
  int32_t *heap, *place,
      *reached; /* columns by distance; of each column: where it is there; those with one */
  int64_t waiting, nreached;
} Search;

void poiseSizesDestroy(PoiseContext ctx, Sizes *s)
{
  poiseFree(ctx, &s->start);
  poiseFree(ctx, &s->col);
  poiseFree(ctx, &s->size);
}

void poiseMatchingDestroy(PoiseContext ctx, Matching *m)
{
  poiseFree(ctx, &m->column);
  poiseFree(ctx, &m->row);
  poiseFree(ctx, &m->col);
}

/* ---- columns by distance --------------------------------------------------------------------- */

static inline void PutAt(Search *s, int64_t at, int32_t col)
{
  s->heap[at] = col;
  s->place[col] = (int32_t)at;
}

/* Move a column, which stands at place `at` or at the end, towards the first as far as its distance says. */
static void Rise(Search *s, int64_t at, int32_t col)
{
  double d = s->distance[col];
  for (int64_t up = (at - 1) / 2; at > 0 && s->distance[s->heap[up]] > d; at = up, up = (at - 1) / 2)
    PutAt(s, at, s->heap[up]);
  PutAt(s, at, col);
}

/* Take the nearest column. The last one takes its place, and sinks. */
static int32_t Nearest(Search *s)
{
  int32_t first = s->heap[0], last = s->heap[--s->waiting];
  int64_t at = 0;
  for (int64_t next = 1; next < s->waiting; next = 2 * at + 1) {
    if (next + 1 < s->waiting && s->distance[s->heap[next + 1]] < s->distance[s->heap[next]]) next++;
    if (s->distance[s->heap[next]] >= s->distance[last]) break;
    PutAt(s, at, s->heap[next]);
    at = next;
  }
  if (s->waiting) PutAt(s, at, last);
  s->place[first] = FINAL;
  return first;
}

/* ---- searches -------------------------------------------------------------------------------- */

static inline double Slack(const Search *s, int32_t row, int64_t k)
{
  double slack = s->s->size[k] - s->m->col[s->s->col[k]] - s->m->row[row];
  return slack > 0 ? slack : 0; /* less is rounding */
}

typedef struct End { /* of the shortest path to a free column */
  int32_t col;       /* FREE: none is known */
  double distance;
} End;

/* Walk from a row at this distance. */
static void Walk(Search *s, int32_t row, double distance, End *end)
{
  s->m->walked += s->s->start[row + 1] - s->s->start[row];
  for (int64_t k = s->s->start[row]; k < s->s->start[row + 1]; k++) {
    int32_t col = s->s->col[k];
    double d = distance + Slack(s, row, k);
    if (s->place[col] <= FINAL || !(d < end->distance) || !(d < s->distance[col])) continue;
    if (s->distance[col] == INFINITY) s->reached[s->nreached++] = col;
    s->distance[col] = d;
    s->from[col] = row;
    if (s->owner[col] == FREE)
      *end = (End){col, d};
    else
      Rise(s, s->place[col] == OUTSIDE ? s->waiting++ : s->place[col], col);
  }
}

static void Match(Search *s, int32_t row, int32_t col)
{
  s->m->column[row] = col;
  s->owner[col] = row;
}

/* What is nearer than the end gets potentials with which the path has no slack. */
static void Adjust(Search *s, int32_t root, double distance)
{
  for (int64_t k = 0; k < s->nreached; k++) {
    int32_t col = s->reached[k];
    if (s->place[col] != FINAL) continue;
    s->m->col[col] -= distance - s->distance[col];
    s->m->row[s->owner[col]] += distance - s->distance[col];
  }
  s->m->row[root] += distance;
}

/* The rows of a path take the columns behind them. */
static void Rematch(Search *s, int32_t root, int32_t col)
{
  for (int32_t row = FREE; row != root;) {
    row = s->from[col];
    int32_t before = s->m->column[row];
    Match(s, row, col);
    col = before;
  }
}

/* Forget a search. If it has found no end, it has left nothing in the heap. */
static void Forget(Search *s, bool found)
{
  for (int64_t k = 0; k < s->nreached; k++) {
    s->distance[s->reached[k]] = INFINITY;
    s->place[s->reached[k]] = found ? OUTSIDE : CLOSED;
  }
  s->nreached = s->waiting = 0;
}

/* Find a column for a row. */
static void FindColumn(Search *s, int32_t root)
{
  End end = {FREE, INFINITY};
  Walk(s, root, 0, &end);
  while (s->waiting && s->distance[s->heap[0]] < end.distance) {
    int32_t col = Nearest(s);
    Walk(s, s->owner[col], s->distance[col], &end);
  }
  bool found = end.col != FREE;
  if (found) Adjust(s, root, end.distance);
  if (found) Rematch(s, root, end.col);
  s->m->unmatched += !found;
  Forget(s, found);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Sizes become costs. top: the largest size of each row. */
static void Costs(Sizes *s, double *top)
{
  for (int64_t i = 0; i < s->n; i++) {
    top[i] = s->start[i] < s->start[i + 1] ? s->size[s->start[i]] : 0;
    for (int64_t k = s->start[i]; k < s->start[i + 1]; k++) top[i] = fmax(top[i], s->size[k]);
    for (int64_t k = s->start[i]; k < s->start[i + 1]; k++) s->size[k] = top[i] - s->size[k];
  }
}

static void Potentials(const Sizes *s, Matching *m)
{
  for (int64_t j = 0; j < s->n; j++) m->col[j] = INFINITY;
  for (int64_t k = 0; k < s->start[s->n]; k++) m->col[s->col[k]] = fmin(m->col[s->col[k]], s->size[k]);
  for (int64_t j = 0; j < s->n; j++) m->col[j] = poiseFinite(m->col[j]) ? m->col[j] : 0;
  for (int64_t i = 0; i < s->n; i++) {
    double least = INFINITY;
    for (int64_t k = s->start[i]; k < s->start[i + 1]; k++)
      least = fmin(least, s->size[k] - m->col[s->col[k]]);
    m->row[i] = poiseFinite(least) ? least : 0;
  }
}

/* The free column without slack of a row, its diagonal if that is one; FREE: none. at: where the row is
   looked at from; NULL: from the start. */
static int32_t FreeColumn(const Search *s, int32_t row, int64_t *at)
{
  int32_t col = FREE;
  int64_t k = at ? *at : s->s->start[row];
  for (; k < s->s->start[row + 1] && (at == NULL || col == FREE); k++) {
    int32_t next = s->s->col[k];
    if (s->owner[next] != FREE || Slack(s, row, k) > 0) continue;
    if (col == FREE || next == row) col = next;
  }
  if (at) *at = k;
  return col;
}

/* Rows without a column take one whose row can take another. at: the entries that were looked at. */
static void TakeOver(Search *s, int32_t row, int64_t *at)
{
  for (int64_t k = s->s->start[row]; k < s->s->start[row + 1]; k++) {
    int32_t col = s->s->col[k], owner = s->owner[col];
    if (owner == FREE || Slack(s, row, k) > 0) continue;
    int32_t other = FreeColumn(s, owner, &at[owner]);
    if (other == FREE) continue;
    Match(s, owner, other);
    Match(s, row, col);
    return;
  }
}

static void MatchCheaply(Search *s, int64_t *at)
{
  int32_t n = (int32_t)s->s->n;
  for (int32_t i = 0; i < n; i++) {
    int32_t col = FreeColumn(s, i, NULL);
    if (col != FREE) Match(s, i, col);
  }
  for (int32_t i = 0; i < n; i++) at[i] = s->s->start[i];
  for (int32_t i = 0; i < n; i++)
    if (s->m->column[i] < 0) TakeOver(s, i, at);
}

/* ---- all rows -------------------------------------------------------------------------------- */

static PoiseErr Open(PoiseContext ctx, int64_t n, Search *s, double **top, int64_t **at)
{
  if (n >= INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "a matching of %lld rows, more than fit in 32 bits", (long long)n);
  TRY(poiseAllocArray(ctx, n, sizeof(int32_t), "matching", &s->m->column));
  TRY(poiseAllocArray(ctx, n, sizeof(double), "potentials", &s->m->row));
  TRY(poiseAllocArray(ctx, n, sizeof(double), "potentials", &s->m->col));
  TRY(poiseAllocArray(ctx, n, sizeof(int32_t), "matching", &s->owner));
  TRY(poiseAllocArray(ctx, n, sizeof(double), "distances", &s->distance));
  TRY(poiseAllocArray(ctx, n, sizeof(int32_t), "paths", &s->from));
  TRY(poiseAllocArray(ctx, n, sizeof(int32_t), "heap", &s->heap));
  TRY(poiseAllocArray(ctx, n, sizeof(int32_t), "heap", &s->place));
  TRY(poiseAllocArray(ctx, n, sizeof(int32_t), "columns", &s->reached));
  TRY(poiseAllocArray(ctx, n, sizeof(double), "sizes of rows", top));
  TRY(poiseAllocArray(ctx, n, sizeof(int64_t), "entries", at));
  for (int64_t i = 0; i < n; i++) {
    s->m->column[i] = s->owner[i] = FREE;
    s->distance[i] = INFINITY;
    s->place[i] = OUTSIDE;
  }
  return POISE_OK;
}

static void MatchAll(Search *s, double *top, int64_t *at)
{
  Matching *m = s->m;
  Potentials(s->s, m);
  MatchCheaply(s, at);
  for (int32_t i = 0; i < m->n; i++)
    if (m->column[i] < 0) FindColumn(s, i);
  for (int64_t i = 0; i < m->n; i++) m->row[i] -= top[i];
}

PoiseErr poiseMatch(PoiseContext ctx, Sizes *sizes, Matching *m)
{
  Search s = {.s = sizes, .m = m};
  double *top = NULL;
  int64_t *at = NULL;
  *m = (Matching){.n = sizes->n};
  PoiseErr e = Open(ctx, sizes->n, &s, &top, &at);
  if (!e) Costs(sizes, top);
  if (!e) MatchAll(&s, top, at);
  poiseFree(ctx, &s.owner);
  poiseFree(ctx, &s.distance);
  poiseFree(ctx, &s.from);
  poiseFree(ctx, &s.heap);
  poiseFree(ctx, &s.place);
  poiseFree(ctx, &s.reached);
  poiseFree(ctx, &top);
  poiseFree(ctx, &at);
  return e;
}

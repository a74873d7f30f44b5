/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A matching of rows and columns whose entries have the largest product: the least sum of costs

    c_ij = log2 max_k |a_ik| - log2 |a_ij|.

  Potentials u of rows and v of columns keep u_i + v_j <= c_ij, with equality where i and j are matched. So
  2^(u_i - log2 max_k |a_ik|) and 2^v_j scale every matched entry to 1, and no other above 1.

  At first v_j is the least cost of column j, u_i the least c_ij - v_j of row i. Rows take free columns where
  there is equality, first of all their diagonal. Each row that remains looks for a free column by Dijkstra's
  algorithm, with c_ij - u_i - v_j as lengths: rows and columns along the shortest path are matched anew. If
  there is none, the columns that were reached belong to too many rows, and no later search goes there.

  The first potentials know little of the units in which rows and columns are. Where these differ widely,
  searches are long. Then all begins anew with balanced sizes: rows and columns are scaled until their
  geometric means are about 1 (Curtis and Reid). Else sizes stay as they are, so that nothing is scaled more
  than it must be.

  It takes 12 bytes an entry and 72 a row. Most searches are short; at worst each of n rows walks through all
  entries.

  I. S. Duff and J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM
  J. Matrix Anal. Appl. 22, 2001. A. R. Curtis and J. K. Reid, On the automatic scaling of matrices for
  Gaussian elimination, J. Inst. Maths Applics 10, 1972.
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

/* Every row's largest size becomes a cost of 0. scaled: by what rows have been multiplied. */
static void Costs(Sizes *s, double *scaled)
{
  for (int64_t i = 0; i < s->n; i++) {
    double top = s->start[i] < s->start[i + 1] ? s->size[s->start[i]] : 0;
    for (int64_t k = s->start[i]; k < s->start[i + 1]; k++) top = fmax(top, s->size[k]);
    for (int64_t k = s->start[i]; k < s->start[i + 1]; k++) s->size[k] = top - s->size[k];
    scaled[i] -= top;
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

/* Rows take a free column without slack: those that can their diagonal, then others the first one. */
static void TakeFree(Search *s)
{
  for (int diagonal = 1; diagonal >= 0; diagonal--)
    for (int32_t i = 0; i < s->m->n; i++)
      for (int64_t k = s->s->start[i]; k < s->s->start[i + 1] && s->m->column[i] == FREE; k++) {
        int32_t col = s->s->col[k];
        if ((!diagonal || col == i) && s->owner[col] == FREE && !(Slack(s, i, k) > 0)) Match(s, i, col);
      }
}

/* Costs become sizes again, of rows and columns whose means are about 0. sum, count: of columns. */
static void Balance(Sizes *s, double *rows, double *columns, double *sum, int32_t *count)
{
  enum { SWEEPS = 8 };
  int64_t n = s->n, nz = s->start[n];
  for (int64_t k = 0; k < nz; k++) s->size[k] = -s->size[k];
  for (int64_t j = 0; j < n; j++) count[j] = 0;
  for (int64_t k = 0; k < nz; k++) count[s->col[k]]++;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    for (int64_t j = 0; j < n; j++) sum[j] = 0;
    for (int64_t i = 0; i < n; i++) {
      double mean = 0, entries = (double)(s->start[i + 1] - s->start[i]);
      for (int64_t k = s->start[i]; k < s->start[i + 1]; k++) mean += s->size[k] / entries;
      for (int64_t k = s->start[i]; k < s->start[i + 1]; k++) sum[s->col[k]] += s->size[k] -= mean;
      rows[i] -= mean;
    }
    for (int64_t j = 0; j < n; j++) sum[j] = count[j] ? sum[j] / count[j] : 0;
    for (int64_t k = 0; k < nz; k++) s->size[k] -= sum[s->col[k]];
    for (int64_t j = 0; j < n; j++) columns[j] -= sum[j];
  }
}

/* ---- all rows -------------------------------------------------------------------------------- */

static void Free(Search *s)
{
  for (int64_t i = 0; i < s->m->n; i++) {
    s->m->column[i] = s->owner[i] = FREE;
    s->distance[i] = INFINITY;
    s->place[i] = OUTSIDE;
  }
}

static PoiseErr Open(PoiseContext ctx, int64_t n, Search *s, double **rows, double **columns)
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
  TRY(poiseAllocArray(ctx, n, sizeof(double), "scales of rows", rows));
  return poiseAllocArray(ctx, n, sizeof(double), "scales of columns", columns);
}

static void Begin(Search *s, Sizes *sizes, double *rows)
{
  Costs(sizes, rows);
  Potentials(sizes, s->m);
  Free(s);
  TakeFree(s);
}

/* Find a column for each row without one. Returns whether that took no longer than a walk through so many
   entries. */
static bool FindColumns(Search *s, int64_t most)
{
  for (int32_t i = 0; i < s->m->n && s->m->walked <= most; i++)
    if (s->m->column[i] < 0) FindColumn(s, i);
  return s->m->walked <= most;
}

static void MatchAll(Search *s, Sizes *sizes, double *rows, double *columns)
{
  enum { WALKS = 8 };
  Matching *m = s->m;
  Begin(s, sizes, rows);
  if (!FindColumns(s, WALKS * sizes->start[m->n])) {
    Balance(sizes, rows, columns, s->distance, s->heap);
    m->unmatched = 0;
    Begin(s, sizes, rows);
    FindColumns(s, INT64_MAX);
  }
  for (int64_t i = 0; i < m->n; i++) m->row[i] += rows[i], m->col[i] += columns[i];
}

PoiseErr poiseMatch(PoiseContext ctx, Sizes *sizes, Matching *m)
{
  Search s = {.s = sizes, .m = m};
  double *rows = NULL, *columns = NULL;
  *m = (Matching){.n = sizes->n};
  PoiseErr e = Open(ctx, sizes->n, &s, &rows, &columns);
  if (!e) MatchAll(&s, sizes, rows, columns);
  poiseFree(ctx, &s.owner);
  poiseFree(ctx, &s.distance);
  poiseFree(ctx, &s.from);
  poiseFree(ctx, &s.heap);
  poiseFree(ctx, &s.place);
  poiseFree(ctx, &s.reached);
  poiseFree(ctx, &rows);
  poiseFree(ctx, &columns);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matchings of a matrix' rows and columns. Each rank matches its rows with the columns that it owns. Where
  that leaves a row without a column on any rank, or with an entry far below one in another rank's column,
  rank 0 matches all of A.
*/
#include "arrange.h"
#include "gathered.h"
#include "mat/csr/entries.h"
#include "match.h"

/* Does an entry count: is it not 0, and in a column that the rank owns, if these are meant? */
static inline bool Counts(PoiseMat A, bool owned, double v, PoiseInt column)
{
  return v != 0 && (!owned || (column >= A->rows->begin && column < A->rows->begin + A->rows->n));
}

static PoiseErr Reserve(PoiseContext ctx, int64_t nz, Sizes *s)
{
  TRY(poiseAllocArray(ctx, s->n + 1, sizeof(int64_t), "sizes of entries", &s->start));
  TRY(poiseAllocArray(ctx, nz, sizeof(int32_t), "sizes of entries", &s->col));
  return poiseAllocArray(ctx, nz, sizeof(double), "sizes of entries", &s->size);
}

/* Sizes of this rank's rows. owned: in columns that it owns, by local number; else in all, by global number.
   pattern: all are 1. */
static PoiseErr SizesOfRows(PoiseMat A, bool owned, bool pattern, Sizes *s)
{
  ScalarWalk w;
  PoiseInt column;
  int64_t all = poiseCsrScalars(&A->csr), nz = 0, first = owned ? A->rows->begin : 0;
  TRY(poiseWalkBegin(A, &w));
  for (int64_t k = 0; k < all; k++) {
    double v = poiseWalkOn(&w, &column);
    nz += Counts(A, owned, v, column);
  }
  s->n = A->rows->n;
  TRY(Reserve(A->ctx, nz, s));
  nz = 0;
  TRY(poiseWalkBegin(A, &w));
  for (int64_t k = 0; k < all; k++) {
    double v = poiseWalkOn(&w, &column);
    if (!Counts(A, owned, v, column)) continue;
    if (!poiseFinite(v))
      FAIL(POISE_ERR_NUMERIC, "row %lld has an entry that is not finite: %g", poiseMatRowName(A, w.i), v);
    s->col[nz] = (int32_t)(column - first);
    s->size[nz++] = pattern ? 0 : log2(fabs(v));
    s->start[w.i + 1]++;
  }
  for (int64_t i = 0; i < s->n; i++) s->start[i + 1] += s->start[i];
  return POISE_OK;
}

/* ---- by each rank ---------------------------------------------------------------------------- */

/* Columns that no row has keep an own number, which they share with a row without a column. */
static void Owners(const Matching *m, int64_t begin, PoiseInt *number)
{
  for (int64_t i = 0; i < m->n; i++)
    if (m->column[i] >= 0) number[m->column[i]] = begin + i;
}

static PoiseErr MatchHere(PoiseMat A, bool pattern, Matching *m, PoiseInt *number, double *power)
{
  Sizes s = {0};
  PoiseErr e = SizesOfRows(A, true, pattern, &s);
  if (!e) e = poiseMatch(A->ctx, &s, m);
  poiseSizesDestroy(A->ctx, &s);
  TRY(e);
  Owners(m, A->rows->begin, number);
  for (int64_t j = 0; j < m->n; j++) power[j] = m->col[j];
  return POISE_OK;
}

/* ---- by rank 0 ------------------------------------------------------------------------------- */

typedef struct Gathered {
  Sizes mine, all;
  Matching m;              /* of all, on rank 0 */
  PoiseInt *number;        /* the same: rows of columns */
  int64_t *degree;         /* of this rank's rows */
  int64_t *counts;         /* of every rank: rows and entries, in turn; */
  int64_t *rows, *entries; /* of all ranks */
} Gathered;

static void Release(PoiseContext ctx, Gathered *g)
{
  poiseSizesDestroy(ctx, &g->mine);
  poiseSizesDestroy(ctx, &g->all);
  poiseMatchingDestroy(ctx, &g->m);
  poiseFree(ctx, &g->number);
  poiseFree(ctx, &g->degree);
  poiseFree(ctx, &g->counts);
  poiseFree(ctx, &g->rows);
  poiseFree(ctx, &g->entries);
}

static PoiseErr Prepare(PoiseMat A, bool pattern, Gathered *g)
{
  PoiseContext ctx = A->ctx;
  int64_t size = PoiseSize(ctx);
  if (A->rows->N >= INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "a matching of %lld rows, more than fit in 32 bits", (long long)A->rows->N);
  TRY(SizesOfRows(A, false, pattern, &g->mine));
  TRY(poiseAllocArray(ctx, g->mine.n, sizeof(int64_t), "degrees", &g->degree));
  for (int64_t i = 0; i < g->mine.n; i++) g->degree[i] = g->mine.start[i + 1] - g->mine.start[i];
  TRY(poiseAllocArray(ctx, 2 * size, sizeof(int64_t), "counts", &g->counts));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &g->rows));
  return poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &g->entries);
}

static PoiseErr ReserveAll(PoiseContext ctx, Gathered *g)
{
  int64_t nz = 0;
  if (PoiseRank(ctx)) return POISE_OK;
  for (int r = 0; r < PoiseSize(ctx); r++) g->all.n += g->rows[r], nz += g->entries[r];
  TRY(poiseAllocArray(ctx, g->all.n, sizeof(PoiseInt), "rows of columns", &g->number));
  return Reserve(ctx, nz, &g->all);
}

static PoiseErr Gather(PoiseMat A, bool pattern, Gathered *g)
{
  PoiseContext ctx = A->ctx;
  TRY(PoiseAgree(ctx, Prepare(A, pattern, g)));
  int64_t mine[2] = {g->mine.n, g->mine.start[g->mine.n]};
  TRY(ctx->comm->ops->allgather(ctx->comm, mine, sizeof mine, g->counts));
  for (int r = 0; r < PoiseSize(ctx); r++)
    g->rows[r] = g->counts[2 * r], g->entries[r] = g->counts[2 * r + 1];
  TRY(PoiseAgree(ctx, ReserveAll(ctx, g)));
  int64_t *first = g->all.start ? g->all.start + 1 : NULL;
  TRY(poiseGatherItems(ctx, g->degree, g->rows, sizeof(int64_t), first));
  TRY(poiseGatherItems(ctx, g->mine.col, g->entries, sizeof(int32_t), g->all.col));
  TRY(poiseGatherItems(ctx, g->mine.size, g->entries, sizeof(double), g->all.size));
  poiseSizesDestroy(ctx, &g->mine);
  return POISE_OK;
}

static PoiseErr MatchAll(PoiseContext ctx, Gathered *g)
{
  if (PoiseRank(ctx)) return POISE_OK;
  for (int64_t i = 0; i < g->all.n; i++) g->all.start[i + 1] += g->all.start[i];
  TRY(poiseMatch(ctx, &g->all, &g->m));
  Owners(&g->m, 0, g->number);
  return POISE_OK;
}

/* What a rank is told: m has columns of its own rows, then. */
static PoiseErr HandOut(PoiseMat A, Gathered *g, Matching *m, PoiseInt *number, double *power)
{
  PoiseContext ctx = A->ctx;
  TRY(poiseScatterItems(ctx, g->m.column, g->rows, sizeof(int32_t), m->column));
  TRY(poiseScatterItems(ctx, g->number, g->rows, sizeof(PoiseInt), number));
  TRY(poiseScatterItems(ctx, g->m.col, g->rows, sizeof(double), power));
  m->unmatched = 0;
  for (int64_t i = 0; i < m->n; i++) m->unmatched += m->column[i] < 0;
  return POISE_OK;
}

static PoiseErr MatchTogether(PoiseMat A, bool pattern, Matching *m, PoiseInt *number, double *power)
{
  Gathered g = {0};
  PoiseErr e = Gather(A, pattern, &g);
  if (!e) e = PoiseAgree(A->ctx, MatchAll(A->ctx, &g));
  if (!e) e = HandOut(A, &g, m, number, power);
  Release(A->ctx, &g);
  return e;
}

/* ---- rows without columns -------------------------------------------------------------------- */

/* Name the first of this rank, and say if there are more. */
static const char *Names(PoiseMat A, const Matching *m, char *text, size_t size)
{
  enum { NAMED = 8 };
  size_t at = 0;
  int64_t named = 0;
  for (int64_t i = 0; i < m->n && named < NAMED && at < size; i++)
    if (m->column[i] < 0)
      at += (size_t)snprintf(text + at, size - at, "%s%lld", named++ ? ", " : "", poiseMatRowName(A, i));
  if (m->unmatched > named && at < size) snprintf(text + at, size - at, " ...");
  return text;
}

static PoiseErr Say(PoiseMat A, const Matching *m, int64_t all)
{
  char names[320];
  if (!m->unmatched) return POISE_OK;
  FAIL(POISE_ERR_NUMERIC,
       "structurally singular: rows %s (%lld of %lld): the columns of their entries belong to other rows; "
       "entries that are 0 do not count",
       Names(A, m, names, sizeof names), (long long)all, (long long)A->rows->N);
}

/* Count rows of this rank that have no column, or a matched entry far below one in another rank's column. */
static PoiseErr CountPoor(PoiseMat A, bool pattern, const Matching *m, int64_t *poor)
{
  const double far = 10; /* as a power of 2 */
  ScalarWalk w;
  PoiseInt column;
  int64_t last = -1;
  *poor = m->unmatched;
  TRY(poiseWalkBegin(A, &w));
  for (int64_t k = poiseCsrScalars(&A->csr); k > 0; k--) {
    double v = poiseWalkOn(&w, &column);
    int32_t own = m->column[w.i];
    if (pattern || own < 0 || w.i == last || v == 0 || Counts(A, true, v, column)) continue;
    if (log2(fabs(v)) + m->row[w.i] + m->col[own] > far) ++*poor, last = w.i;
  }
  return POISE_OK;
}

static PoiseErr CountUnmatched(PoiseContext ctx, const Matching *m, int64_t *all)
{
  double sum = (double)m->unmatched;
  PoiseErr e = PoiseSum(ctx, 1, &sum);
  *all = (int64_t)sum;
  return e;
}

static PoiseErr MatchRows(PoiseMat A, bool pattern, PoiseInt *number, double *power, Matching *m)
{
  int64_t poor = 0, all;
  PoiseErr e = MatchHere(A, pattern, m, number, power);
  if (!e && PoiseSize(A->ctx) > 1) e = CountPoor(A, pattern, m, &poor);
  TRY(PoiseAgree(A->ctx, e));
  TRY(poiseCommMaxInt(A->ctx->comm, &poor, 1));
  if (poor) TRY(MatchTogether(A, pattern, m, number, power));
  TRY(CountUnmatched(A->ctx, m, &all));
  return PoiseAgree(A->ctx, Say(A, m, all));
}

static PoiseErr MatchAndForget(PoiseMat A, bool pattern, PoiseInt *number, double *power)
{
  Matching m = {0};
  PoiseErr e = MatchRows(A, pattern, number, power, &m);
  poiseMatchingDestroy(A->ctx, &m);
  return e;
}

PoiseErr poiseMatMatch(PoiseMat A, PoiseInt *number, double *power)
{
  return MatchAndForget(A, false, number, power);
}

PoiseErr poiseMatCheckStructure(PoiseMat A)
{
  PoiseContext ctx = A->ctx;
  PoiseInt *number = NULL;
  double *power = NULL;
  PoiseErr e = poiseMatCheckHolds(A, "its rows");
  if (!e) e = poiseMatCheckSquare(A);
  if (!e) e = poiseAllocArray(ctx, A->rows->n, sizeof *number, "rows of columns", &number);
  if (!e) e = poiseAllocArray(ctx, A->rows->n, sizeof *power, "scales of columns", &power);
  e = PoiseAgree(ctx, e);
  if (!e) e = MatchAndForget(A, true, number, power);
  poiseFree(ctx, &number);
  poiseFree(ctx, &power);
  return e;
}

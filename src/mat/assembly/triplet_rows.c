/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets of this rank's rows, sorted, become rows of entries. Each value learns its place in its row. All
   threads work, each on rows of its own, and the result is the same for any number of them. */
#include "mat/object/mat_type.h"
#include "sys/device/host_loop.h"
#include "triplet_plan.h"

typedef struct Share { /* of a thread: */
  int64_t begin, end, longest,
      entries; /* rows begin .. end - 1; terms of the longest one; different columns */
  Term *scratch;
} Share;

typedef struct Rows {
  PoiseMat A;
  TripletPattern *p;
  int64_t m, *start; /* [m + 1] where each row's terms begin */
  int threads;
  Share *share; /* [threads] */
} Rows;

static void FindSpan(const Rows *r, int64_t block)
{
  const TripletPattern *p = r->p;
  Span span = {r->m, 0};
  for (int64_t k = block * POISE_BLOCK; k < poiseTripletBlockEnd(p, block); k++) {
    int64_t row = poiseTripletHere(r->A, p, k);
    if (row >= 0) poiseSpanAdd(&span, row);
  }
  p->span[block] = span;
}

/* Count the terms of a thread's rows, or, once it is known where they begin, put them there: the given ones,
   then the received ones. at: the rows' cursors. */
static void Visit(const Rows *r, const Share *s, int64_t *at, bool put)
{
  const TripletPattern *p = r->p;
  for (int64_t block = 0; block < poiseTripletBlocks(p); block++) {
    if (!poiseSpanHas(p->span[block], s->begin, s->end)) continue;
    for (int64_t k = block * POISE_BLOCK; k < poiseTripletBlockEnd(p, block); k++) {
      int64_t row = poiseTripletHere(r->A, p, k);
      if (row < s->begin || row >= s->end) continue;
      if (put) p->term[at[row]] = (Term){.col = poiseTripletColumnOf(p, k) / p->side, .from = k};
      at[row]++;
    }
  }
}

/* Terms by row. Threads have as many rows when terms are counted, then about as many terms. */
static PoiseErr Gather(Rows *r)
{
  PoiseContext ctx = r->A->ctx;
  Device *dev = ctx->device;
  TripletPattern *p = r->p;
  const int64_t nblock = poiseTripletBlocks(p), m = r->m;
  const int threads = r->threads;
  int64_t *at;
  (void)dev;
  TRY(poiseAllocArray(ctx, nblock, sizeof *p->span, "rows of triplets", &p->span));
  TRY(poiseAllocArray(ctx, m + 2, sizeof *at, "row offsets", &r->start));
  at = r->start + 1; /* counts, shifted by one place: then at[i] is row i's cursor, and in the end the start
                        of row i + 1 */
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t block = 0; block < nblock; block++) FindSpan(r, block);
  HOST_PARALLEL_ITEMS(threads, threads > 1)
  for (int t = 0; t < threads; t++)
    Visit(r, &(Share){.begin = m * t / threads, .end = m * (t + 1) / threads}, at + 1, false);
  for (int64_t i = 1; i <= m; i++) at[i] += at[i - 1];
  TRY(poiseAllocArray(ctx, at[m], sizeof(Term), "triplets", &p->term));
  for (int t = 0; t < threads; t++) {
    r->share[t].begin = t ? r->share[t - 1].end : 0;
    r->share[t].end = t + 1 < threads ? poiseFirstFrom(at, m, at[m] / threads * (t + 1)) : m;
  }
  HOST_PARALLEL_ITEMS(threads, threads > 1)
  for (int t = 0; t < threads; t++) Visit(r, &r->share[t], at, true);
  return POISE_OK;
}

/* Sort the terms of a thread's rows, and count the different columns. */
static void Sort(const Rows *r, Share *s)
{
  for (int64_t i = s->begin; i < s->end; i++) {
    Term *term = r->p->term + r->start[i];
    const int64_t n = r->start[i + 1] - r->start[i];
    poiseTermsSort(term, n, s->scratch);
    for (int64_t k = 0; k < n; k++) s->entries += k == 0 || term[k].col != term[k - 1].col;
  }
}

/* Give a thread's rows their columns. out: where its entries begin. */
static void Fill(const Rows *r, const Share *s, int64_t out)
{
  TripletPattern *p = r->p;
  for (int64_t i = s->begin; i < s->end; i++) {
    const int64_t first = out;
    for (int64_t k = r->start[i]; k < r->start[i + 1]; k++) {
      if (k == r->start[i] || p->term[k].col != p->term[k - 1].col)
        poiseRowArraysPutColumn(&p->arrays, out++, p->term[k].col);
      p->inrow[p->term[k].from] = (uint32_t)(out - 1 - first);
    }
    p->arrays.ptr[i + 1] = out;
  }
}

/* Make rows from the terms, sorted by row and column. */
static PoiseErr Number(Rows *r)
{
  PoiseMat A = r->A;
  TripletPattern *p = r->p;
  const int threads = r->threads;
  int64_t nz = 0;
  for (int t = 0; t < threads; t++) {
    Share *s = &r->share[t];
    for (int64_t i = s->begin; i < s->end; i++)
      if (r->start[i + 1] - r->start[i] > s->longest) s->longest = r->start[i + 1] - r->start[i];
    TRY(poiseAllocArray(A->ctx, s->longest, sizeof(Term), "a row to sort", &s->scratch));
  }
  HOST_PARALLEL_ITEMS(threads, threads > 1)
  for (int t = 0; t < threads; t++) Sort(r, &r->share[t]);
  for (int t = 0; t < threads; t++) nz += r->share[t].entries;
  TRY(poiseAllocArray(A->ctx, p->n + p->stash.n, sizeof *p->inrow, "places in rows", &p->inrow));
  TRY(poiseRowArraysCreateBlocks(A, poiseMatAskedBlocks(A), nz, &p->arrays));
  for (int t = 0; t < threads; t++) { /* counts become places */
    nz -= r->share[threads - 1 - t].entries;
    r->share[threads - 1 - t].entries = nz;
  }
  HOST_PARALLEL_ITEMS(threads, threads > 1)
  for (int t = 0; t < threads; t++) Fill(r, &r->share[t], r->share[t].entries);
  return POISE_OK;
}

PoiseErr poiseTripletsMakeRows(PoiseMat A, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  Rows r = {.A = A, .p = p, .m = A->rows->n / (p->unit * p->side), .threads = ctx->device->threads};
  PoiseErr e = poiseAllocArray(ctx, r.threads, sizeof *r.share, "shares of threads", &r.share);
  if (!e) e = Gather(&r);
  if (!e) e = Number(&r);
  for (int t = 0; t < r.threads && r.share; t++) poiseFree(ctx, &r.share[t].scratch);
  poiseFree(ctx, &r.share);
  poiseFree(ctx, &r.start);
  poiseFree(ctx, &p->term);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices from triplets (row, column, value). Sorting them once gives the pattern and a plan: for each block of entries in turn,
  the values that go there as runs that lie side by side in their array, in its order, and for each of them the entry's place in
  the block. Taking new values is one pass over that plan: a block's entries stay in cache while values are streamed and added. It reads 8 bytes per value, 2 for its place and 8 per run (elements give runs of one or
  several of their rows), and writes 8 per entry. On a device a thread gathers the values of an entry instead, in the same
  order (coo.c).
*/
#include "../vec/vec_host.h"
#include "mat.h"

enum { LONGEST_RUN = 65535, RUNS_AHEAD = 16 };

typedef struct Run { /* values given, then those received */
  int64_t start : 48;
  uint64_t count : 16;
} Run;

typedef struct Triplets {
  int64_t ngiven; /* how many values the user gives */
  int64_t built;  /* of the CSR that this was made for */
  uint16_t *to;   /* of each value: the entry's place in its block of POISE_BLOCK entries */
  Run *run;
  int64_t *first_to, *first_run; /* of every block */
  TripletMap map;                /* on a device, instead of these four */
  int64_t *send;                 /* places of the values for other ranks, in the order of the ranks */
  Exchange ex;
} Triplets;

void poiseTripletsDestroy(PoiseContext ctx, Triplets **triplets)
{
  Triplets *t = *triplets;
  if (!t) return;
  poiseExchangeDestroy(ctx, &t->ex, true);
  poiseTripletMapDestroy(&t->map);
  poiseFree(ctx, &t->to);
  poiseFree(ctx, &t->run);
  poiseFree(ctx, &t->first_to);
  poiseFree(ctx, &t->first_run);
  poiseFree(ctx, &t->send);
  poiseFree(ctx, triplets);
}

void poiseTripletsBytes(const Triplets *t, PoiseBytes *sum)
{
  if (!t) return;
  sum->host += poiseAllocated(t->to) + poiseAllocated(t->run) + poiseAllocated(t->first_to) + poiseAllocated(t->first_run);
  sum->host += poiseAllocated(t->send) + poiseAllocated(t->ex.send) + poiseAllocated(t->ex.recv);
  const Buffer *map[] = {&t->map.start, &t->map.from, &t->map.given, &t->map.received, &t->map.send, &t->map.packed};
  for (size_t k = 0; k < sizeof map / sizeof *map; k++) poiseBufferAdd(map[k], sum);
}

/* ---- the pattern ---------------------------------------------------------------------------------------------------- */

typedef struct Plan {
  Indices rows, cols;
  Stash stash;                                 /* triplets of other ranks' rows; then those received */
  int64_t *bytes, *received, *gathered, *next; /* values per rank, in bytes; of all ranks; cursors */
  Term *term;                                  /* by row: column and place of the value */
  RowArrays arrays;
} Plan;

static void FreePlan(PoiseContext ctx, Plan *p)
{
  poiseStashDestroy(ctx, &p->stash);
  poiseFree(ctx, &p->bytes);
  poiseFree(ctx, &p->received);
  poiseFree(ctx, &p->gathered);
  poiseFree(ctx, &p->next);
  poiseFree(ctx, &p->term);
}

/* The owner of triplet k, or -1 if it is to be ignored. */
static int Owner(PoiseMat A, const Plan *p, int64_t k)
{
  const Layout *l = A->rows;
  PoiseInt row = p->rows.index[k];
  if (row < 0 || p->cols.index[k] < 0) return -1;
  if (row >= l->begin && row < l->begin + l->n) return PoiseRank(A->ctx);
  return poiseLayoutOwner(l, row);
}

/* What goes to other ranks. */
static PoiseErr Sort(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  int64_t total = 0;
  TRY(poiseMatCheckStored(A));
  TRY(poiseIndicesCheck(&p->rows, A->rows->N, "row", "matrix"));
  TRY(poiseIndicesCheck(&p->cols, A->cols->N, "column", "matrix"));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->bytes));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->received));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->next));
  TRY(poiseAllocArray(ctx, (int64_t)size * size, sizeof(int64_t), "counts", &p->gathered));
  if (size == 1) return POISE_OK;
  for (int64_t k = 0; k < p->rows.n; k++) {
    int r = Owner(A, p, k);
    if (r < 0 || r == rank) continue;
    p->bytes[r] += (int64_t)sizeof(double);
    TRY(poiseStashAdd(ctx, &p->stash, p->rows.index[k], p->cols.index[k], 0));
  }
  for (int r = 0; r < size; r++) p->next[r] = total, total += p->bytes[r] / (int64_t)sizeof(double);
  TRY(poiseAllocArray(ctx, total, sizeof(int64_t), "values to send", &t->send));
  for (int64_t k = 0; k < p->rows.n; k++) {
    int r = Owner(A, p, k);
    if (r >= 0 && r != rank) t->send[p->next[r]++] = k;
  }
  return POISE_OK;
}

static PoiseErr Sides(PoiseContext ctx, Triplets *t, const Plan *p)
{
  Exchange *ex = &t->ex;
  TRY(poiseExchangeSide(ctx, p->bytes, &ex->nsend, &ex->send_rank, &ex->send_start, &ex->send));
  return poiseExchangeSide(ctx, p->received, &ex->nrecv, &ex->recv_rank, &ex->recv_start, &ex->recv);
}

/* Triplets travel once, as values will travel: by rank, those of one rank in their order. */
static PoiseErr Route(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  Comm *comm = ctx->comm;
  int size = PoiseSize(ctx);
  if (size == 1) return POISE_OK;
  TRY(poiseStashExchange(ctx, &p->stash, A->rows));
  TRY(comm->ops->allgather(comm, p->bytes, (size_t)size * sizeof(int64_t), p->gathered));
  for (int r = 0; r < size; r++) p->received[r] = p->gathered[(int64_t)r * size + comm->rank];
  TRY(PoiseAgree(ctx, Sides(ctx, t, p)));
  return comm->ops->exchange_setup(comm, &t->ex);
}

/* Terms by row: the given ones, then the received ones. */
static PoiseErr Gather(PoiseMat A, Plan *p, int64_t **start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n, first = A->rows->begin, *at;
  int rank = PoiseRank(ctx);
  TRY(poiseAllocArray(ctx, m + 2, sizeof(int64_t), "row offsets", start));
  at = *start + 1; /* counts, one place on: then at[i] is row i's cursor, and in the end where row i + 1 begins */
  for (int64_t k = 0; k < p->rows.n; k++)
    if (Owner(A, p, k) == rank) at[p->rows.index[k] - first + 1]++;
  for (int64_t k = 0; k < p->stash.n; k++) at[p->stash.entry[k].row - first + 1]++;
  for (int64_t i = 1; i <= m; i++) at[i] += at[i - 1];
  TRY(poiseAllocArray(ctx, at[m], sizeof(Term), "triplets", &p->term));
  for (int64_t k = 0; k < p->rows.n; k++)
    if (Owner(A, p, k) == rank) p->term[at[p->rows.index[k] - first]++] = (Term){.col = p->cols.index[k], .from = k};
  for (int64_t k = 0; k < p->stash.n; k++)
    p->term[at[p->stash.entry[k].row - first]++] = (Term){.col = p->stash.entry[k].col, .from = p->rows.n + k};
  return POISE_OK;
}

/* Does the value behind term k of a block begin a run? Given and received values are different arrays. */
static bool BeginsRun(const Plan *p, const Term *term, int64_t k, int64_t length)
{
  return !k || length == LONGEST_RUN || term[k].col != term[k - 1].col + 1 || term[k].col == p->rows.n;
}

/* The terms of a block, whose col is now the place of the value, and from that of the entry: in the order of the values. */
static PoiseErr SortBlock(PoiseContext ctx, Triplets *t, const Plan *p, int64_t block)
{
  Term *term = p->term + t->first_to[block];
  int64_t n = t->first_to[block + 1] - t->first_to[block], length = 0, runs = 0;
  TRY(poiseTermsSort(ctx, term, n));
  for (int64_t k = 0; k < n; k++) {
    bool begins = BeginsRun(p, term, k, length);
    length = begins ? 1 : length + 1;
    runs += begins;
    t->to[t->first_to[block] + k] = (uint16_t)term[k].from;
  }
  t->first_run[block + 1] = t->first_run[block] + runs;
  return POISE_OK;
}

static void MakeRuns(Triplets *t, const Plan *p, int64_t block)
{
  const Term *term = p->term + t->first_to[block];
  int64_t n = t->first_to[block + 1] - t->first_to[block];
  Run *run = t->run + t->first_run[block] - 1;
  for (int64_t k = 0; k < n; k++) {
    if (BeginsRun(p, term, k, k ? run->count : 0)) *++run = (Run){term[k].col, 0};
    run->count++;
  }
}

/* The terms, sorted by row and column, become rows, and terms by entry. */
static void NumberEntries(int64_t m, Triplets *t, Plan *p, const int64_t *start)
{
  int64_t out = 0;
  for (int64_t i = 0; i < m; i++) {
    PoiseInt last = -1;
    for (int64_t k = start[i]; k < start[i + 1]; k++) {
      Term *term = &p->term[k];
      if (term->col != last) {
        if (out % POISE_BLOCK == 0) t->first_to[out / POISE_BLOCK] = k;
        last = term->col;
        poiseRowArraysPut(&p->arrays, out++, last, 0);
      }
      term->col = term->from;
      term->from = (out - 1) % POISE_BLOCK;
    }
    p->arrays.ptr[i + 1] = out;
  }
}

static PoiseErr Number(PoiseMat A, Triplets *t, Plan *p, const int64_t *start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n, nz = 0, total = start[m];
  for (int64_t i = 0; i < m; i++) {
    TRY(poiseTermsSort(ctx, p->term + start[i], start[i + 1] - start[i]));
    for (int64_t k = start[i]; k < start[i + 1]; k++) nz += k == start[i] || p->term[k].col != p->term[k - 1].col;
  }
  int64_t nblock = POISE_NBLOCKS(nz);
  TRY(poiseAllocArray(ctx, nblock + 1, sizeof(int64_t), "places of values", &t->first_to));
  TRY(poiseRowArraysCreate(A, nz, &p->arrays));
  NumberEntries(m, t, p, start);
  t->first_to[nblock] = total;
  if (!ctx->device->ops->is_host) {
    t->map = (TripletMap){.n = nz, .ngiven = p->rows.n, .nreceived = p->stash.n};
    return poiseTripletMapCreate(ctx, p->term, total, t->first_to, &t->map);
  }
  TRY(poiseAllocArray(ctx, total, sizeof *t->to, "places of values", &t->to));
  TRY(poiseAllocArray(ctx, nblock + 1, sizeof(int64_t), "runs of values", &t->first_run));
  for (int64_t b = 0; b < nblock; b++) TRY(SortBlock(ctx, t, p, b));
  TRY(poiseAllocArray(ctx, t->first_run[nblock], sizeof *t->run, "runs of values", &t->run));
  for (int64_t b = 0; b < nblock; b++) MakeRuns(t, p, b);
  return POISE_OK;
}

static PoiseErr Build(PoiseMat A, Triplets *t, Plan *p)
{
  int64_t *start = NULL;
  TRY(PoiseAgree(A->ctx, Sort(A, t, p)));
  if (!A->ctx->device->ops->is_host && PoiseSize(A->ctx) == 1) {
    t->map.ngiven = p->rows.n;
    return poiseTripletMapPattern(A, p->rows.index, p->cols.index, &t->map);
  }
  TRY(Route(A, t, p));
  PoiseErr e = Gather(A, p, &start);
  if (!e) e = Number(A, t, p, start);
  poiseFree(A->ctx, &start);
  poiseFree(A->ctx, &p->term);
  return poiseMatReplace(A, e, &p->arrays);
}

PoiseErr PoiseMatSetPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols)
{
  PoiseContext ctx = A->ctx;
  Triplets *t = NULL;
  Plan p = {.rows = {n, rows, NULL}, .cols = {n, cols, NULL}};
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = PoiseAgree(ctx, poiseAlloc(ctx, sizeof *t, "triplets", &t));
  if (!e) e = Build(A, t, &p);
  FreePlan(ctx, &p);
  if (!e) {
    poiseMatDropPending(A);
    poiseTripletsDestroy(ctx, &A->triplets);
    t->ngiven = n;
    t->built = A->csr.built;
    A->triplets = t;
    t = NULL;
  }
  poiseTripletsDestroy(ctx, &t);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  return e;
}

/* ---- values --------------------------------------------------------------------------------------------------------- */

static PoiseErr Check(PoiseMat A, const double *v)
{
  const Triplets *t = A->triplets;
  TRY(poiseMatCheckStored(A));
  if (!t) FAIL(POISE_ERR_STATE, "the matrix has no triplets: call PoiseMatSetPatternCOO");
  TRY(poiseMatCheckUsable(A));
  if (t->built != A->csr.built) FAIL(POISE_ERR_STATE, "the pattern has changed since PoiseMatSetPatternCOO");
  if (!v && t->ngiven) FAIL(POISE_ERR_ARG, "the values of %lld triplets are NULL", (long long)t->ngiven);
  return POISE_OK;
}

static PoiseErr Travel(PoiseContext ctx, Triplets *t, Side where, const double *v)
{
  Comm *comm = ctx->comm;
  Exchange *ex = &t->ex;
  PoiseErr e = POISE_OK;
  if (comm->size == 1) return POISE_OK;
  int64_t n = ex->send_start[ex->nsend];
  if (where == DEVICE) e = poiseTripletMapPack(ctx, &t->map, v, n, t->send, ex->send);
  for (int64_t k = 0; where == HOST && k < n; k++) ex->send[k] = v[t->send[k]];
  TRY(comm->ops->exchange_begin(comm, ex));
  TRY(comm->ops->exchange_end(comm, ex));
  return e;
}

/* Ask for the values of a run that comes later, as runs lie apart, which hardware does not foresee; it does the rest of long ones. */
static inline void Ahead(const Run *run, const double *v)
{
  enum { LINE = 8, LONG = 16 * LINE };
  int64_t last = run->start + (run->count < LONG ? run->count : LONG) + LINE - 1; /* the array may begin inside a line */
  for (int64_t k = run->start; k < last; k += LINE)
    __builtin_prefetch((const void *)((uintptr_t)v + (uintptr_t)k * sizeof *v));
}

static void SumBlock(const Triplets *t, int64_t block, int64_t last_run, const double *v, double *restrict out)
{
  const uint16_t *restrict to = t->to + t->first_to[block];
  const double *received = t->ex.recv;
  for (int64_t r = t->first_run[block]; r < t->first_run[block + 1]; r++) {
    const int64_t start = t->run[r].start, count = t->run[r].count;
    const double *restrict from = start < t->ngiven ? v + start : received + (start - t->ngiven);
    Ahead(&t->run[r + RUNS_AHEAD < last_run ? r + RUNS_AHEAD : r], v);
    for (int64_t k = 0; k < count; k++) out[to[k]] += from[k];
    to += count;
  }
}

static void SumValues(PoiseContext ctx, const Triplets *t, int64_t nz, const double *v, bool add, double *val)
{
  Device *dev = ctx->device;
  int64_t nblock = POISE_NBLOCKS(nz);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t begin = b * POISE_BLOCK, n = nz - begin < POISE_BLOCK ? nz - begin : POISE_BLOCK;
    if (!add) memset(val + begin, 0, (size_t)n * sizeof *val);
    SumBlock(t, b, t->first_run[nblock], v, val + begin);
  }
}

static PoiseErr SumHere(PoiseMat A, const double *v, bool add)
{
  double *val;
  TRY(add ? poiseBufferUpdate(&A->csr.val, HOST, &val) : poiseBufferWrite(&A->csr.val, HOST, &val));
  SumValues(A->ctx, A->triplets, A->csr.nz, v, add, val);
  return POISE_OK;
}

static PoiseErr Take(PoiseMat A, Side where, const double *v, bool add)
{
  Triplets *t = A->triplets;
  bool is_host = A->ctx->device->ops->is_host;
  TRY(PoiseAgree(A->ctx, Check(A, v)));
  TRY(PoiseAgree(A->ctx, Travel(A->ctx, t, is_host ? HOST : where, v)));
  TRY(PoiseAgree(A->ctx, is_host ? SumHere(A, v, add) : poiseTripletMapSum(A, &t->map, where, v, t->ex.recv, add)));
  A->state++;
  return POISE_OK;
}

PoiseErr poiseMatTakeCOO(PoiseMat A, Side where, const double *v, bool add)
{
  poiseLogBegin(A->ctx, EVENT_MatAssemble);
  PoiseErr e = Take(A, where, v, add);
  poiseLogEnd(A->ctx, EVENT_MatAssemble, 0, A->triplets ? 12.0 * (double)A->triplets->ngiven + 8.0 * (double)A->csr.nz : 0);
  return e;
}

PoiseErr PoiseMatSetValuesCOO(PoiseMat A, const double *v)
{
  return poiseMatTakeCOO(A, HOST, v, false);
}

PoiseErr PoiseMatAddValuesCOO(PoiseMat A, const double *v)
{
  return poiseMatTakeCOO(A, HOST, v, true);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices from triplets (row, column, value). Sorting them once gives the pattern and a plan for values. An
  entry is the sum of its values in their order.

  The plan treats one block of entries after the other. A block has its values as runs, which are contiguous
  in the array of values, in its order. It also has the place of the entry of each value. Taking new values is
  one pass over the plan. It reads 8 bytes per value, 2 for its place and 8 per run, and writes 8 per entry.

  A block is a thread's share of the entries. Values stream from memory. Neighbouring values, as those of an
  element, go to entries that are still in cache. Triplets in no order have no such neighbours. Blocks are
  then small, so that all their entries stay in cache, and the values are gathered.

  On a device a thread gathers the values of an entry instead, in the same order (coo.c).

  In a matrix of blocks a triplet is a block or a scalar. If it is a block, values and entries above are b x b
  scalars at once. If it is a scalar, the entries of the plan are the scalars of all blocks. Blocks for a
  matrix of scalars are taken as triplets of scalars.
*/
#include "vec/vec_host.h"
#include "mat/types/auto.h"
#include "mat/csr/blocks.h"
#include "coo.h"
#include "mat/csr/csr_build.h"
#include "mat/csr/find.h"
#include "mat/mat_type.h"

enum {
  STEP = 1024, /* entries; windows of entries end at multiples of it */
  WINDOW = 65536,
  LARGEST_BLOCK = 32767 * STEP,
  LONGEST_RUN = 511,
  SHORT_RUN = 4, /* values count as in no order if runs have fewer values than this, */
  RECENT = 2048, /* or if runs are those of one element, and none of so many values before was a neighbour, */
  OFTEN = 8,     /* for at least one run of so many */
  RUNS_AHEAD = 16
};

/* A run of values (of those given, then those received), and the end of the window of their entries, in
   steps. */
typedef struct Run {
  uint64_t start : 40, count : 9, end : 15;
} Run;
#define START_MASK (((uint64_t)1 << 40) - 1)
#define END_MASK   (((uint64_t)1 << 15) - 1)

typedef struct Triplets {
  int64_t ngiven;        /* how many values the user gives, */
  int numbers;           /* scalars of each value */
  int64_t built;         /* of the CSR that this was made for */
  int64_t block, nblock; /* entries of each block but the last, which may have fewer */
  uint16_t *to;          /* for each value the place of its entry in the window of the run */
  Run *run;
  int64_t *first_to, *first_run; /* of every block */
  TripletMap map;                /* on a device, instead of these four */
  int64_t *send;                 /* places of the scalars for other ranks, in rank order */
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
  sum->host += poiseAllocated(t->to) + poiseAllocated(t->run) + poiseAllocated(t->first_to) +
               poiseAllocated(t->first_run);
  sum->host += poiseAllocated(t->send) + poiseAllocated(t->ex.send) + poiseAllocated(t->ex.recv);
  const Buffer *map[] = {&t->map.start,    &t->map.from, &t->map.given,
                         &t->map.received, &t->map.send, &t->map.packed};
  for (size_t k = 0; k < sizeof map / sizeof *map; k++) poiseBufferAdd(map[k], sum);
}

/* ---- the pattern ----------------------------------------------------------------------------- */

typedef struct Plan {
  Indices rows, cols;                          /* as given */
  int given;                                   /* b: each triplet stands for b x b scalar triplets, column
                                                  by column; else 1 */
  int unit;                                    /* b: triplets and entries are blocks of b x b scalars; else
                                                  1 */
  int side;                                    /* b: triplets are scalars, and entries are blocks; else 1 */
  int64_t n;                                   /* triplets */
  Side where;                                  /* the indices are */
  PoiseInt *fetched[2];                        /* copies of them on the host */
  Stash stash;                                 /* triplets of other ranks' rows; then those received */
  int64_t *bytes, *received, *gathered, *next; /* bytes of values per rank to send and receive; those of
                                                  all ranks; cursors */
  Term *term;                                  /* by row: column and place of the value */
  uint32_t *inrow;                             /* for each value the place of its entry in the row */
  struct Open *open;                           /* of every block */
  int64_t *seen;                               /* for every STEP entries: see WasRecent */
  RowArrays arrays;
} Plan;

static void FreePlan(PoiseContext ctx, Plan *p)
{
  poiseStashDestroy(ctx, &p->stash);
  for (int k = 0; k < 2; k++) poiseFree(ctx, &p->fetched[k]);
  poiseFree(ctx, &p->bytes);
  poiseFree(ctx, &p->received);
  poiseFree(ctx, &p->gathered);
  poiseFree(ctx, &p->next);
  poiseFree(ctx, &p->term);
  poiseFree(ctx, &p->inrow);
  poiseFree(ctx, &p->open);
  poiseFree(ctx, &p->seen);
}

/* Row and column of triplet k, which may be negative. */
static PoiseInt RowOf(const Plan *p, int64_t k)
{
  int64_t b = p->given;
  if (b == 1) return p->rows.index[k];
  PoiseInt row = p->rows.index[k / (b * b)];
  return row < 0 ? row : row * b + k % b;
}

static PoiseInt ColumnOf(const Plan *p, int64_t k)
{
  int64_t b = p->given;
  if (b == 1) return p->cols.index[k];
  PoiseInt col = p->cols.index[k / (b * b)];
  return col < 0 ? col : col * b + k % (b * b) / b;
}

/* The owner of triplet k, or -1 if it is to be ignored. */
static int Owner(PoiseMat A, const Plan *p, int64_t k)
{
  const Layout *l = A->rows;
  PoiseInt row = RowOf(p, k);
  if (row < 0 || ColumnOf(p, k) < 0) return -1;
  row *= p->unit;
  if (row >= l->begin && row < l->begin + l->n) return PoiseRank(A->ctx);
  return poiseLayoutOwner(l, row);
}

/* This rank's row of entries for a row of triplets. */
static int64_t EntryRow(PoiseMat A, const Plan *p, PoiseInt row)
{
  return p->side == 1 ? row - A->rows->begin / p->unit : (row - A->rows->begin) / p->side;
}

/* Can the device use the indices as they are? */
static bool SortsThere(PoiseMat A, const Plan *p)
{
  return !A->ctx->device->ops->is_host && PoiseSize(A->ctx) == 1 && p->side == 1 && p->given == 1;
}

static PoiseErr CheckThere(PoiseContext ctx, const Indices *x, PoiseInt N, const char *what)
{
  int64_t k;
  PoiseInt i;
  TRY(poiseFind(ctx, (FindArgs){.what = FIND_BEYOND, .n = x->n, .limit = N, .col64 = x->index}, &k));
  if (k == x->n) return POISE_OK;
  TRY(poiseDeviceCopy(ctx->device, &i, x->index + k, sizeof i, COPY_TO_HOST));
  TRY(poiseDeviceSync(ctx->device));
  return poiseIndexBeyond(i, k, N, what, "matrix");
}

/* Fetch indices to the host, through which triplets of several ranks travel. */
static PoiseErr Fetch(PoiseContext ctx, Indices *x, PoiseInt **copy)
{
  TRY(poiseAllocArray(ctx, x->n, sizeof **copy, "indices of triplets", copy));
  TRY(poiseDeviceCopy(ctx->device, *copy, x->index, (size_t)x->n * sizeof **copy, COPY_TO_HOST));
  TRY(poiseDeviceSync(ctx->device));
  x->index = *copy;
  return POISE_OK;
}

static PoiseErr TakeIndices(PoiseMat A, Plan *p)
{
  PoiseContext ctx = A->ctx;
  Device *dev = ctx->device;
  PoiseInt b = p->given * p->unit, M = A->rows->N / b, N = A->cols->N / b;
  const char *row = b > 1 ? "block row" : "row", *column = b > 1 ? "block column" : "column";
  if (p->where == HOST) TRY(poiseDeviceCheckHost(dev, p->rows.index, "rows"));
  if (p->where == HOST) TRY(poiseDeviceCheckHost(dev, p->cols.index, "cols"));
  if (dev->ops->is_host || p->rows.n <= 0) p->where = HOST;
  if (p->where == DEVICE) {
    TRY(poiseDeviceCheckPointer(dev, p->rows.index, (size_t)p->rows.n * sizeof(PoiseInt), "rows"));
    TRY(poiseDeviceCheckPointer(dev, p->cols.index, (size_t)p->cols.n * sizeof(PoiseInt), "cols"));
    if (SortsThere(A, p)) {
      TRY(CheckThere(ctx, &p->rows, M, row));
      return CheckThere(ctx, &p->cols, N, column);
    }
    TRY(Fetch(ctx, &p->rows, &p->fetched[0]));
    TRY(Fetch(ctx, &p->cols, &p->fetched[1]));
    p->where = HOST;
  }
  TRY(poiseIndicesCheck(&p->rows, M, row, "matrix"));
  return poiseIndicesCheck(&p->cols, N, column, "matrix");
}

/* Note what goes to other ranks. */
static PoiseErr Sort(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  int64_t total = 0, numbers = t->numbers;
  TRY(poiseMatCheckHolds(A));
  TRY(TakeIndices(A, p));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->bytes));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->received));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->next));
  TRY(poiseAllocArray(ctx, (int64_t)size * size, sizeof(int64_t), "counts", &p->gathered));
  if (size == 1) return POISE_OK;
  for (int64_t k = 0; k < p->n; k++) {
    int r = Owner(A, p, k);
    if (r < 0 || r == rank) continue;
    p->bytes[r] += numbers * (int64_t)sizeof(double);
    TRY(poiseStashAdd(ctx, &p->stash, RowOf(p, k) * p->unit, ColumnOf(p, k), 0));
  }
  for (int r = 0; r < size; r++) p->next[r] = total, total += p->bytes[r] / (int64_t)sizeof(double);
  TRY(poiseAllocArray(ctx, total, sizeof(int64_t), "values to send", &t->send));
  for (int64_t k = 0; k < p->n; k++) {
    int r = Owner(A, p, k);
    for (int64_t j = 0; r >= 0 && r != rank && j < numbers; j++) t->send[p->next[r]++] = k * numbers + j;
  }
  return POISE_OK;
}

static PoiseErr Sides(PoiseContext ctx, Triplets *t, const Plan *p)
{
  Exchange *ex = &t->ex;
  TRY(poiseExchangeSide(ctx, p->bytes, &ex->nsend, &ex->send_rank, &ex->send_start, &ex->send));
  return poiseExchangeSide(ctx, p->received, &ex->nrecv, &ex->recv_rank, &ex->recv_start, &ex->recv);
}

/* Send triplets to their owners, in the order in which values will travel: by rank, and those of one rank
   in their order. */
static PoiseErr Route(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  Comm *comm = ctx->comm;
  int size = PoiseSize(ctx);
  if (size == 1) return POISE_OK;
  TRY(poiseStashExchange(ctx, &p->stash, A->rows));
  for (int64_t k = 0; k < p->stash.n; k++) p->stash.entry[k].row /= p->unit;
  TRY(comm->ops->allgather(comm, p->bytes, (size_t)size * sizeof(int64_t), p->gathered));
  for (int r = 0; r < size; r++) p->received[r] = p->gathered[(int64_t)r * size + comm->rank];
  TRY(PoiseAgree(ctx, Sides(ctx, t, p)));
  return comm->ops->exchange_setup(comm, &t->ex);
}

/* Terms by row: the given ones, then the received ones. */
static PoiseErr Gather(PoiseMat A, Plan *p, int64_t **start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n / (p->unit * p->side), *at;
  int rank = PoiseRank(ctx);
  TRY(poiseAllocArray(ctx, m + 2, sizeof(int64_t), "row offsets", start));
  at = *start + 1; /* counts, shifted by one place: then at[i] is row i's cursor, and in the end the start
                      of row i + 1 */
  for (int64_t k = 0; k < p->n; k++)
    if (Owner(A, p, k) == rank) at[EntryRow(A, p, RowOf(p, k)) + 1]++;
  for (int64_t k = 0; k < p->stash.n; k++) at[EntryRow(A, p, p->stash.entry[k].row) + 1]++;
  for (int64_t i = 1; i <= m; i++) at[i] += at[i - 1];
  TRY(poiseAllocArray(ctx, at[m], sizeof(Term), "triplets", &p->term));
  for (int64_t k = 0; k < p->n; k++)
    if (Owner(A, p, k) == rank)
      p->term[at[EntryRow(A, p, RowOf(p, k))]++] = (Term){.col = ColumnOf(p, k) / p->side, .from = k};
  for (int64_t k = 0; k < p->stash.n; k++)
    p->term[at[EntryRow(A, p, p->stash.entry[k].row)]++] =
        (Term){.col = p->stash.entry[k].col / p->side, .from = p->n + k};
  return POISE_OK;
}

/* Make rows from the terms, sorted by row and column. */
static PoiseErr Number(PoiseMat A, Plan *p, const int64_t *start)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n / (p->unit * p->side), nz = 0, out = 0;
  for (int64_t i = 0; i < m; i++) {
    TRY(poiseTermsSort(ctx, p->term + start[i], start[i + 1] - start[i]));
    for (int64_t k = start[i]; k < start[i + 1]; k++)
      nz += k == start[i] || p->term[k].col != p->term[k - 1].col;
  }
  TRY(poiseAllocArray(ctx, p->n + p->stash.n, sizeof *p->inrow, "places in rows", &p->inrow));
  TRY(poiseRowArraysCreateBlocks(A, poiseMatAskedBlocks(A), nz, &p->arrays));
  for (int64_t i = 0; i < m; i++) {
    for (int64_t k = start[i]; k < start[i + 1]; k++) {
      if (k == start[i] || p->term[k].col != p->term[k - 1].col)
        poiseRowArraysPutColumn(&p->arrays, out++, p->term[k].col);
      p->inrow[p->term[k].from] = (uint32_t)(out - 1 - p->arrays.ptr[i]);
    }
    p->arrays.ptr[i + 1] = out;
  }
  poiseFree(ctx, &p->term);
  return POISE_OK;
}

/* The entry of value k, of those given and received; -1: none on this rank. */
static int64_t EntryOf(PoiseMat A, const Plan *p, int64_t k)
{
  int64_t n = p->n, b = p->side;
  if (k < n && Owner(A, p, k) != PoiseRank(A->ctx)) return -1;
  PoiseInt row = k < n ? RowOf(p, k) : p->stash.entry[k - n].row;
  int64_t entry = p->arrays.ptr[EntryRow(A, p, row)] + p->inrow[k];
  if (b == 1) return entry;
  PoiseInt col = k < n ? ColumnOf(p, k) : p->stash.entry[k - n].col;
  return (entry * b + col % b) * b + row % b;
}

/* The number of entries of the plan. If triplets are scalars, these are the scalars of the blocks. */
static int64_t Entries(PoiseMat A, const Plan *p)
{
  return p->arrays.ptr[A->rows->n / (p->unit * p->side)] * p->side * p->side;
}

/* ---- the plan of values ---------------------------------------------------------------------- */

typedef struct Open {               /* the last run of a block */
  int64_t values, runs;             /* counts of the block so far */
  int64_t next, count, least, most; /* value behind the run; its number of values; their least and largest
                                       entries in the block */
} Open;

/* Does value k, which goes to this entry of the block, begin a run? Given and received values are in
   different arrays. */
static bool BeginsRun(const Open *o, int64_t k, int64_t ngiven, int64_t entry)
{
  return !o->runs || k != o->next || k == ngiven || o->count == LONGEST_RUN ||
         entry - o->least >= WINDOW - STEP || o->most - entry >= WINDOW - STEP;
}

static void Put(Open *o, bool begins, int64_t k, int64_t entry)
{
  if (begins) *o = (Open){.values = o->values, .runs = o->runs + 1, .least = entry, .most = entry};
  o->next = k + 1;
  o->count++;
  o->values++;
  if (entry < o->least) o->least = entry;
  if (entry > o->most) o->most = entry;
}

/* seen: the number of values of the block when this step of entries last got one. */
static bool WasRecent(const int64_t *seen, int64_t values)
{
  return *seen && values - *seen < RECENT;
}

/* Count values and runs of blocks with this many entries each. *ordered: neighbouring values go to
   neighbouring entries. */
static PoiseErr CountRuns(PoiseMat A, Triplets *t, Plan *p, int64_t nz, int64_t block, bool *ordered)
{
  PoiseContext ctx = A->ctx;
  int64_t far = 0;
  t->block = block;
  t->nblock = (nz + block - 1) / block;
  poiseFree(ctx, &p->open);
  poiseFree(ctx, &t->first_to);
  poiseFree(ctx, &t->first_run);
  poiseFree(ctx, &p->seen);
  TRY(poiseAllocArray(ctx, t->nblock, sizeof *p->open, "runs of values", &p->open));
  TRY(poiseAllocArray(ctx, nz / STEP + 3, sizeof *p->seen, "runs of values", &p->seen));
  TRY(poiseAllocArray(ctx, t->nblock + 1, sizeof(int64_t), "places of values", &t->first_to));
  TRY(poiseAllocArray(ctx, t->nblock + 1, sizeof(int64_t), "runs of values", &t->first_run));
  for (int64_t k = 0; k < p->n + p->stash.n; k++) {
    int64_t entry = EntryOf(A, p, k);
    if (entry < 0) continue;
    Open *o = &p->open[entry / block];
    bool begins = BeginsRun(o, k, p->n, entry % block);
    int64_t *seen = p->seen + 1 + entry / STEP;
    far += begins && !WasRecent(seen - 1, o->values) && !WasRecent(seen, o->values) &&
           !WasRecent(seen + 1, o->values);
    Put(o, begins, k, entry % block);
    *seen = o->values;
  }
  for (int64_t b = 0; b < t->nblock; b++) {
    t->first_to[b + 1] = t->first_to[b] + p->open[b].values;
    t->first_run[b + 1] = t->first_run[b] + p->open[b].runs;
    p->open[b] = (Open){0};
  }
  int64_t runs = t->first_run[t->nblock];
  *ordered = runs <= t->first_to[t->nblock] / SHORT_RUN && far <= runs / OFTEN;
  return POISE_OK;
}

/* Close a run, as only then the end of its window is known. Until then a place is that in the block,
   modulo 2^16, and so is the start of the window. */
static void CloseRun(Triplets *t, const Open *o, int64_t block)
{
  if (!o->runs) return;
  uint16_t *to = t->to + t->first_to[block] + o->values - o->count;
  int64_t end = o->most / STEP + 1;
  Run *run = &t->run[t->first_run[block] + o->runs - 1];
  run->start = (uint64_t)(o->next - o->count) & START_MASK;
  run->count = (uint64_t)o->count & LONGEST_RUN;
  run->end = (uint64_t)end & END_MASK;
  for (int64_t k = 0; k < o->count; k++) to[k] = (uint16_t)(to[k] - end * STEP);
}

static void MakeRuns(PoiseMat A, Triplets *t, Plan *p)
{
  for (int64_t k = 0; k < p->n + p->stash.n; k++) {
    int64_t entry = EntryOf(A, p, k), block = entry / t->block;
    if (entry < 0) continue;
    Open *o = &p->open[block];
    bool begins = BeginsRun(o, k, p->n, entry % t->block);
    if (begins) CloseRun(t, o, block);
    Put(o, begins, k, entry % t->block);
    t->to[t->first_to[block] + o->values - 1] = (uint16_t)(entry % t->block);
  }
  for (int64_t b = 0; b < t->nblock; b++) CloseRun(t, &p->open[b], b);
}

/* Make the plan. Blocks are shares of threads, unless values are in no order. */
static PoiseErr MakePlan(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  int64_t nz = Entries(A, p), share = POISE_NBLOCKS(nz / ctx->device->threads + 1) * POISE_BLOCK;
  bool ordered;
  TRY(CountRuns(A, t, p, nz, share < LARGEST_BLOCK ? share : LARGEST_BLOCK, &ordered));
  if (!ordered) TRY(CountRuns(A, t, p, nz, POISE_BLOCK, &ordered));
  TRY(poiseAllocArray(ctx, t->first_to[t->nblock], sizeof *t->to, "places of values", &t->to));
  TRY(poiseAllocArray(ctx, t->first_run[t->nblock], sizeof *t->run, "runs of values", &t->run));
  MakeRuns(A, t, p);
  return POISE_OK;
}

static PoiseErr MakeMap(PoiseMat A, Triplets *t, Plan *p)
{
  PoiseContext ctx = A->ctx;
  int64_t n = p->n + p->stash.n, *entry;
  t->map = (TripletMap){.numbers = t->numbers, .n = Entries(A, p), .ngiven = p->n, .nreceived = p->stash.n};
  TRY(poiseAllocArray(ctx, n, sizeof *entry, "entries of values", &entry));
  for (int64_t k = 0; k < n; k++) entry[k] = EntryOf(A, p, k);
  PoiseErr e = poiseTripletMapCreate(ctx, n, entry, &t->map);
  poiseFree(ctx, &entry);
  return e;
}

static PoiseErr Build(PoiseMat A, Triplets *t, Plan *p)
{
  int64_t *start = NULL;
  TRY(PoiseAgree(A->ctx, Sort(A, t, p)));
  if (SortsThere(A, p)) {
    t->map.ngiven = p->n;
    t->map.numbers = t->numbers;
    return poiseTripletMapPattern(A, p->where, p->rows.index, p->cols.index, &t->map);
  }
  TRY(Route(A, t, p));
  PoiseErr e = Gather(A, p, &start);
  if (!e) e = Number(A, p, start);
  poiseFree(A->ctx, &start);
  poiseFree(A->ctx, &p->term);
  if (!e) e = A->ctx->device->ops->is_host ? MakePlan(A, t, p) : MakeMap(A, t, p);
  poiseFree(A->ctx, &p->inrow);
  return poiseMatReplace(A, e, &p->arrays);
}

/* b: 1, or A's block size. */
static PoiseErr MakePattern(PoiseMat A, Side where, int b, PoiseInt n, const PoiseInt *rows,
                            const PoiseInt *cols)
{
  PoiseContext ctx = A->ctx;
  Triplets *t = NULL;
  Plan p = {.rows = {n, rows, NULL}, .cols = {n, cols, NULL}, .where = where};
  bool blocks = poiseMatAskedBlocks(A);
  p.given = blocks ? 1 : b;
  p.unit = blocks ? b : 1;
  p.side = blocks ? A->block_size / b : 1;
  p.n = n * p.given * p.given;
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = PoiseAgree(ctx, poiseAlloc(ctx, sizeof *t, "triplets", &t));
  if (!e) t->numbers = p.unit * p.unit;
  if (!e) e = Build(A, t, &p);
  FreePlan(ctx, &p);
  if (!e) {
    poiseMatDropPending(A);
    poiseTripletsDestroy(ctx, &A->assembly.triplets);
    t->ngiven = p.n;
    t->built = A->csr.built;
    A->assembly.triplets = t;
    t = NULL;
  }
  poiseTripletsDestroy(ctx, &t);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  return e;
}

/* Set the pattern. If the block size is yet to be determined, from scalars, the pattern is made as CSR
   first, and examined. */
static PoiseErr SetPattern(PoiseMat A, Side where, int b, PoiseInt n, const PoiseInt *rows,
                           const PoiseInt *cols)
{
  if (b > 1) A->asked.find = false; /* blocks are given */
  /* blocks have no reason to be taken apart */
  if (b > 1 && poiseChoiceIsNamed(A) && !A->assembled) TRY(poiseMatChangeType(A, &poiseMatType_bcsr));
  TRY(MakePattern(A, where, b, n, rows, cols));
  if (!A->asked.type->blocked || !A->asked.find) return POISE_OK;
  TRY(poiseMatTakeBlockSize(A));
  if (A->block_size > 1) return MakePattern(A, where, 1, n, rows, cols);
  poiseMatDropBlocks(A);
  return POISE_OK;
}

PoiseErr PoiseMatSetPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols)
{
  CALLED(OBJECT(A));
  return SetPattern(A, HOST, 1, n, rows, cols);
}

PoiseErr PoiseMatSetPatternDeviceCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols)
{
  CALLED(OBJECT(A));
  return SetPattern(A, DEVICE, 1, n, rows, cols);
}

PoiseErr PoiseMatSetBlockPatternCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols)
{
  CALLED(OBJECT(A));
  return SetPattern(A, HOST, A->block_size, n, rows, cols);
}

PoiseErr PoiseMatSetBlockPatternDeviceCOO(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols)
{
  CALLED(OBJECT(A));
  return SetPattern(A, DEVICE, A->block_size, n, rows, cols);
}

/* ---- values ---------------------------------------------------------------------------------- */

static PoiseErr Check(PoiseMat A, Side where, const double *v)
{
  const Triplets *t = A->assembly.triplets;
  TRY(poiseMatCheckHolds(A));
  if (!t) FAIL(POISE_ERR_STATE, "the matrix has no triplets: call PoiseMatSetPatternCOO");
  TRY(poiseMatCheckUsable(A));
  if (t->built != A->csr.built) FAIL(POISE_ERR_STATE, "the pattern has changed since PoiseMatSetPatternCOO");
  if (!v && t->ngiven) FAIL(POISE_ERR_ARG, "the values of %lld triplets are NULL", (long long)t->ngiven);
  return where == HOST
             ? poiseDeviceCheckHost(A->ctx->device, v, "values of triplets")
             : poiseDeviceCheckPointer(A->ctx->device, v, (size_t)(t->ngiven * t->numbers) * sizeof *v,
                                       "values of triplets");
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

/* Prefetch the values of a later run. Runs may be far apart, which hardware does not predict. It does
   prefetch the rest of long ones. */
static inline void Ahead(const Run *run, const double *v, int64_t numbers)
{
  enum { LINE = 8, LONG = 16 * LINE };
  const int64_t start = (int64_t)run->start * numbers, count = run->count * numbers;
  const int64_t last = start + (count < LONG ? count + LINE - 1 : 1); /* the array may begin inside a line */
  for (int64_t k = start; k < last; k += LINE)
    __builtin_prefetch((const void *)((uintptr_t)v + (uintptr_t)k * sizeof *v));
}

/* Sum the values of a block. Entries are zeroed, or kept, only as windows reach them, so that they are in
   cache when values are added. numbers: scalars of an entry, a constant where this is inlined. */
POISE_INLINE void SumBlock(const Triplets *t, int64_t numbers, int64_t block, int64_t n, const double *v,
                           bool keep, double *restrict out)
{
  const uint16_t *restrict to = t->to + t->first_to[block];
  const double *received = t->ex.recv;
  int64_t reached = keep ? n : 0, last = t->first_run[block + 1] - 1;
  for (int64_t r = t->first_run[block]; r <= last; r++) {
    const Run *run = &t->run[r], *ahead = &t->run[r + RUNS_AHEAD < last ? r + RUNS_AHEAD : last];
    const int64_t start = (int64_t)run->start, count = run->count, end = (int64_t)run->end * STEP;
    const double *restrict from =
        start < t->ngiven ? v + start * numbers : received + (start - t->ngiven) * numbers;
    Ahead(ahead, v, numbers);
    if (reached < end && reached < n) {
      int64_t until = end < n ? end : n;
      memset(out + reached * numbers, 0, (size_t)((until - reached) * numbers) * sizeof *out);
      reached = until;
    }
    for (int64_t k = 0; k < count; k++)
      for (int64_t j = 0; j < numbers; j++)
        out[(end - WINDOW + to[k]) * numbers + j] += from[k * numbers + j];
    to += count;
  }
  /* without values */
  if (reached < n) memset(out + reached * numbers, 0, (size_t)((n - reached) * numbers) * sizeof *out);
}

static void SumValues(PoiseContext ctx, const Triplets *t, int64_t n, const double *v, bool add, double *val)
{
  Device *dev = ctx->device;
  int64_t nz = n / t->numbers; /* entries */
  (void)dev;
  HOST_PARALLEL_FOR(dev, POISE_NBLOCKS(n))
  for (int64_t b = 0; b < t->nblock; b++) {
    int64_t begin = b * t->block, count = nz - begin < t->block ? nz - begin : t->block;
    if (t->numbers == 1)
      SumBlock(t, 1, b, count, v, add, val + begin);
    else
      SumBlock(t, t->numbers, b, count, v, add, val + begin * t->numbers);
  }
}

static PoiseErr SumHere(PoiseMat A, const double *v, bool add)
{
  double *val;
  TRY(add ? poiseBufferUpdate(&A->csr.val, HOST, &val) : poiseBufferWrite(&A->csr.val, HOST, &val));
  SumValues(A->ctx, A->assembly.triplets, poiseCsrScalars(&A->csr), v, add, val);
  return POISE_OK;
}

static PoiseErr Take(PoiseMat A, Side where, const double *v, bool add)
{
  Triplets *t = A->assembly.triplets;
  bool is_host = A->ctx->device->ops->is_host;
  TRY(PoiseAgree(A->ctx, Check(A, where, v)));
  TRY(PoiseAgree(A->ctx, Travel(A->ctx, t, is_host ? HOST : where, v)));
  TRY(PoiseAgree(A->ctx,
                 is_host ? SumHere(A, v, add) : poiseTripletMapSum(A, &t->map, where, v, t->ex.recv, add)));
  A->state++;
  return POISE_OK;
}

PoiseErr poiseMatTakeCOO(PoiseMat A, Side where, const double *v, bool add)
{
  poiseLogBegin(A->ctx, EVENT_MatAssemble);
  PoiseErr e = Take(A, where, v, add);
  const Triplets *t = A->assembly.triplets;
  double numbers = t ? (double)t->ngiven * t->numbers : 0;
  poiseLogEnd(A->ctx, EVENT_MatAssemble, 0,
              t ? 8 * numbers + 4 * (double)t->ngiven + 8 * (double)poiseCsrScalars(&A->csr) : 0);
  return e;
}

PoiseErr PoiseMatSetValuesCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, HOST, v, false);
}

PoiseErr PoiseMatAddValuesCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, HOST, v, true);
}

PoiseErr PoiseMatSetValuesDeviceCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, DEVICE, v, false);
}

PoiseErr PoiseMatAddValuesDeviceCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, DEVICE, v, true);
}

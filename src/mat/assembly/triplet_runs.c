/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The plan from values of triplets to entries, on the host.

  The plan treats one block of entries after the other. A block has its values as runs, which are contiguous
  in the array of values, in its order. It also has the place of the entry of each value. Taking new values is
  one pass over the plan. It reads 8 bytes per value, 2 for its place and 8 per run, and writes 8 per entry.

  A block is a thread's share of the entries. Values stream from memory. Neighbouring values, as those of an
  element, go to entries that are still in cache. Triplets in no order have no such neighbours. Blocks are
  then small, so that all their entries stay in cache, and the values are gathered.
*/
#include "sys/device/host_loop.h"
#include "triplet_plan.h"

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

/* ---- the plan -------------------------------------------------------------------------------- */

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

/* Is an entry near one that was among the last of its block to get values? seen: of its step; at: its place
   in the block. */
static bool IsNear(const int64_t *seen, int64_t values, int64_t at, int64_t block)
{
  return WasRecent(seen, values) || (at >= STEP && WasRecent(seen - 1, values)) ||
         (at / STEP + 1 < block / STEP && WasRecent(seen + 1, values));
}

typedef struct Part { /* of a thread: blocks begin .. end - 1, and what it has found: runs far from others */
  int64_t begin, end, far;
} Part;

static Part PartOf(const Triplets *t, int threads, int k)
{
  return (Part){.begin = t->nblock * k / threads, .end = t->nblock * (k + 1) / threads};
}

/* Count a value of the block, or put it into the plan. */
typedef void (*Take)(Triplets *t, TripletPattern *p, Part *part, int64_t k, int64_t entry);

/* Take the values of a thread's blocks, in their order. */
static void Visit(PoiseMat A, Triplets *t, TripletPattern *p, Part *part, Take take)
{
  const int64_t m = A->rows->n / (p->unit * p->side), numbers = (int64_t)p->side * p->side;
  const int64_t first = part->begin * t->block, last = part->end * t->block;
  /* rows that have some of these entries */
  const int64_t low = poiseFirstFrom(p->arrays.ptr, m, first / numbers + 1) - 1,
                high = poiseFirstFrom(p->arrays.ptr, m, (last + numbers - 1) / numbers);
  if (part->begin == part->end) return;
  for (int64_t b = 0; b < poiseTripletBlocks(p); b++) {
    if (!poiseSpanHas(p->span[b], low, high)) continue;
    for (int64_t k = b * POISE_BLOCK; k < poiseTripletBlockEnd(p, b); k++) {
      int64_t entry = poiseTripletEntry(A, p, k);
      if (entry >= first && entry < last) take(t, p, part, k, entry);
    }
  }
}

static void Count(Triplets *t, TripletPattern *p, Part *part, int64_t k, int64_t entry)
{
  Open *o = &p->open[entry / t->block];
  int64_t at = entry % t->block, *seen = p->seen + entry / STEP;
  bool begins = BeginsRun(o, k, p->n, at);
  part->far += begins && !IsNear(seen, o->values, at, t->block);
  Put(o, begins, k, at);
  *seen = o->values;
}

/* Count values and runs of blocks with this many entries each. *ordered: neighbouring values go to
   neighbouring entries. */
static PoiseErr CountRuns(PoiseMat A, Triplets *t, TripletPattern *p, int64_t nz, int64_t block,
                          bool *ordered)
{
  PoiseContext ctx = A->ctx;
  const int threads = ctx->device->threads;
  int64_t far = 0;
  t->block = block;
  t->nblock = (nz + block - 1) / block;
  poiseFree(ctx, &p->open);
  poiseFree(ctx, &t->first_to);
  poiseFree(ctx, &t->first_run);
  poiseFree(ctx, &p->seen);
  TRY(poiseAllocArray(ctx, t->nblock, sizeof *p->open, "runs of values", &p->open));
  TRY(poiseAllocArray(ctx, nz / STEP + 1, sizeof *p->seen, "runs of values", &p->seen));
  TRY(poiseAllocArray(ctx, t->nblock + 1, sizeof(int64_t), "places of values", &t->first_to));
  TRY(poiseAllocArray(ctx, t->nblock + 1, sizeof(int64_t), "runs of values", &t->first_run));
  HOST_PARALLEL_ITEMS(threads, threads > 1)
  for (int k = 0; k < threads; k++) {
    Part part = PartOf(t, threads, k);
    Visit(A, t, p, &part, Count);
    HOST_ATOMIC
    far += part.far;
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

static void Enter(Triplets *t, TripletPattern *p, Part *part, int64_t k, int64_t entry)
{
  int64_t block = entry / t->block, at = entry % t->block;
  Open *o = &p->open[block];
  (void)part;
  bool begins = BeginsRun(o, k, p->n, at);
  if (begins) CloseRun(t, o, block);
  Put(o, begins, k, at);
  t->to[t->first_to[block] + o->values - 1] = (uint16_t)at;
}

static void FillRuns(PoiseMat A, Triplets *t, TripletPattern *p)
{
  const int threads = A->ctx->device->threads;
  HOST_PARALLEL_ITEMS(threads, threads > 1)
  for (int k = 0; k < threads; k++) {
    Part part = PartOf(t, threads, k);
    Visit(A, t, p, &part, Enter);
    for (int64_t b = part.begin; b < part.end; b++) CloseRun(t, &p->open[b], b);
  }
}

/* Make the plan. Blocks are shares of threads, unless values are in no order. */
PoiseErr poiseTripletsMakeRuns(PoiseMat A, Triplets *t, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  int64_t nz = poiseTripletEntries(A, p), share = POISE_NBLOCKS(nz / ctx->device->threads + 1) * POISE_BLOCK;
  bool ordered;
  TRY(CountRuns(A, t, p, nz, share < LARGEST_BLOCK ? share : LARGEST_BLOCK, &ordered));
  if (!ordered) TRY(CountRuns(A, t, p, nz, POISE_BLOCK, &ordered));
  TRY(poiseAllocArray(ctx, t->first_to[t->nblock], sizeof *t->to, "places of values", &t->to));
  TRY(poiseAllocArray(ctx, t->first_run[t->nblock], sizeof *t->run, "runs of values", &t->run));
  FillRuns(A, t, p);
  return POISE_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

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

void poiseTripletsSumRuns(PoiseContext ctx, const Triplets *t, int64_t n, const double *v, bool add,
                          double *val)
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

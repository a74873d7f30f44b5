/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices from triplets (row, column, value). Sorting them once gives the pattern and a plan for values. An
  entry is the sum of its values in their order.

  Triplets travel to the owners of their rows (triplet_owners.c), and become rows (triplet_rows.c). Taking new
  values is one pass over the plan (triplet_runs.c). On a device a thread gathers the values of an entry
  instead, in the same order (coo.c).

  In a matrix of blocks a triplet is a block or a scalar. If it is a block, values and entries are b x b
  scalars at once. If it is a scalar, the entries of the plan are the scalars of all blocks. Blocks for a
  matrix of scalars are taken as triplets of scalars.
*/
#include "assemble.h"
#include "mat/object/mat_type.h"
#include "mat/storage/blocks.h"
#include "mat/csr/replace.h"
#include "shared_rows.h"
#include "sys/device/host_loop.h"
#include "triplets.h"

void poiseTripletsDestroy(PoiseContext ctx, Triplets **triplets)
{
  Triplets *t = *triplets;
  if (!t) return;
  poiseExchangeDestroy(ctx, &t->ex, true);
  poiseTripletMapDestroy(ctx, &t->map);
  poiseFree(ctx, &t->to);
  poiseFree(ctx, &t->run);
  poiseFree(ctx, &t->first_to);
  poiseFree(ctx, &t->first_run);
  poiseFree(ctx, &t->from);
  poiseFree(ctx, &t->send);
  poiseFree(ctx, triplets);
}

void poiseTripletsBytes(const Triplets *t, PoiseBytes *sum)
{
  if (!t) return;
  sum->host += poiseAllocated(t->to) + poiseAllocated(t->run) + poiseAllocated(t->first_to) +
               poiseAllocated(t->first_run) + poiseAllocated(t->from);
  sum->host += poiseAllocated(t->send) + poiseAllocated(t->ex.send) + poiseAllocated(t->ex.recv) +
               poiseAllocated(t->map.picked);
  const Buffer *map[] = {&t->map.start,    &t->map.from, &t->map.given,
                         &t->map.received, &t->map.send, &t->map.packed};
  for (size_t k = 0; k < sizeof map / sizeof *map; k++) poiseBufferAdd(map[k], sum);
}

/* ---- the pattern ----------------------------------------------------------------------------- */

static void FreePattern(PoiseContext ctx, TripletPattern *p)
{
  poiseStashDestroy(ctx, &p->stash);
  for (int k = 0; k < 2; k++) poiseFree(ctx, &p->fetched[k]);
  poiseFree(ctx, &p->bytes);
  poiseFree(ctx, &p->received);
  poiseFree(ctx, &p->gathered);
  poiseFree(ctx, &p->next);
  poiseFree(ctx, &p->term);
  poiseFree(ctx, &p->inrow);
  poiseFree(ctx, &p->span);
  poiseFree(ctx, &p->open);
  poiseFree(ctx, &p->seen);
  poiseKeysDestroy(&p->keys);
  poiseBufferDestroy(&p->foreign);
  poiseBufferDestroy(&p->came);
}

static PoiseErr MakeMap(PoiseMat A, Triplets *t, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  int64_t n = p->n + p->stash.n, *entry;
  t->map = (TripletMap){
      .numbers = t->numbers, .n = poiseTripletEntries(A, p), .ngiven = p->n, .nreceived = p->stash.n};
  TRY(poiseAllocArray(ctx, n, sizeof *entry, "entries of values", &entry));
  HOST_PARALLEL_FOR(ctx->device, POISE_NBLOCKS(n))
  for (int64_t k = 0; k < n; k++) entry[k] = poiseTripletEntry(A, p, k);
  PoiseErr e = poiseTripletMapCreate(ctx, n, entry, &t->map);
  poiseFree(ctx, &entry);
  return e;
}

/* The pattern where the triplets are, which the device sorts. */
static PoiseErr BuildThere(PoiseMat A, PoiseErr mine, Triplets *t, TripletPattern *p)
{
  PoiseErr e = !mine && PoiseSize(A->ctx) > 1 ? poiseTripletsJoin(A, t, p) : mine;
  t->map.numbers = t->numbers, t->map.ngiven = p->n, t->map.nreceived = p->ncame;
  return poiseTripletMapPattern(A, e, &p->keys, &t->map);
}

/* mine: this rank's error so far. */
static PoiseErr Build(PoiseMat A, PoiseErr mine, Triplets *t, TripletPattern *p)
{
  size_t bytes = (size_t)PoiseSize(A->ctx) * sizeof *p->bytes;
  PoiseErr e = mine ? mine : poiseTripletsFindOwners(A, t, p);
  TRY(poiseAgreeGather(A->ctx, e, p->bytes, bytes, p->gathered));
  e = poiseTripletsRoute(A, t, p);
  if (poiseTripletsStay(A, p)) return BuildThere(A, e, t, p);
  TRY(e);
  e = poiseTripletsMakeRows(A, p);
  if (!e) e = A->ctx->device->ops->is_host ? poiseTripletsMakeRuns(A, t, p) : MakeMap(A, t, p);
  poiseFree(A->ctx, &p->inrow);
  return poiseMatReplace(A, e, &p->arrays);
}

/* n triplets of p, whose b is 1, or A's block size. mine: this rank's error so far. p is freed. */
static PoiseErr Make(PoiseMat A, PoiseErr mine, int b, PoiseInt n, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  Triplets *t = NULL;
  bool blocks = poiseMatAskedBlocks(A);
  p->given = blocks ? 1 : b;
  p->unit = blocks ? b : 1;
  p->side = blocks ? A->block_size / b : 1;
  p->n = n * p->given * p->given;
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = mine ? mine : poiseAlloc(ctx, sizeof *t, "triplets", &t);
  if (!e) t->numbers = p->unit * p->unit;
  e = Build(A, e, t, p);
  FreePattern(ctx, p);
  if (!e) {
    poiseMatDropPending(A);
    poiseTripletsDestroy(ctx, &A->assembly.triplets);
    t->ngiven = p->n;
    t->built = A->version.pattern;
    A->assembly.triplets = t;
    t = NULL;
  }
  poiseTripletsDestroy(ctx, &t);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  return e;
}

static PoiseErr MakePattern(PoiseMat A, Side where, int b, PoiseInt n, const PoiseInt *rows,
                            const PoiseInt *cols)
{
  TripletPattern p = {.rows = {n, rows, NULL}, .cols = {n, cols, NULL}, .where = where};
  return Make(A, POISE_OK, b, n, &p);
}

PoiseErr poiseMatSetSharedRows(PoiseMat A, PoiseErr mine, SharedRows *s)
{
  int b = poiseMatAskedBlocks(A);
  TripletPattern p = {.shared = s, .where = DEVICE};
  PoiseErr e = Make(A, mine, b ? b : 1, s->C.nz, &p);
  for (int k = 0; k < 2; k++) poiseBufferDestroy(&s->list[k]);
  return e;
}

/* Set the pattern. If the block size is yet to be determined, from scalars, the pattern is made as CSR
   first, and examined. */
static PoiseErr SetPattern(PoiseMat A, Side where, int b, PoiseInt n, const PoiseInt *rows,
                           const PoiseInt *cols)
{
  if (b > 1) A->asked.find = false; /* blocks are given */
  /* blocks have no reason to be taken apart */
  if (b > 1 && poiseMatIsAutoByName(A) && !A->assembled) TRY(poiseMatChangeType(A, &poiseMatType_bcsr));
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
  TRY(poiseMatCheckHolds(A, "PoiseMatSetPatternCOO"));
  if (!t) FAIL(POISE_ERR_STATE, "the matrix has no triplets: call PoiseMatSetPatternCOO");
  TRY(poiseMatCheckUsable(A));
  if (t->built != A->version.pattern)
    FAIL(POISE_ERR_STATE, "the pattern has changed since PoiseMatSetPatternCOO");
  if (!v && t->ngiven) FAIL(POISE_ERR_ARG, "the values of %lld triplets are NULL", (long long)t->ngiven);
  return where == HOST
             ? poiseDeviceCheckHost(A->ctx->device, v, "values of triplets")
             : poiseDeviceCheckPointer(A->ctx->device, v, (size_t)(t->ngiven * t->numbers) * sizeof *v,
                                       "values of triplets");
}

/* Values for other ranks, and theirs for this one, on the host. */
static PoiseErr TravelHere(Comm *comm, Triplets *t, const double *v)
{
  Exchange *ex = &t->ex;
  for (int64_t k = 0; k < ex->send_start[ex->nsend]; k++) ex->send[k] = v[t->send[k]];
  TRY(comm->ops->exchange_begin(comm, ex));
  return comm->ops->exchange_end(comm, ex);
}

/* The same on the device. mine: this rank's error so far. */
static PoiseErr Travel(PoiseContext ctx, PoiseErr mine, Triplets *t, Side where, const double *v)
{
  Exchange *ex = &t->ex;
  double *packed = NULL, *received = NULL;
  if (PoiseSize(ctx) == 1) return mine;
  PoiseErr e = mine;
  if (!e) e = poiseTripletMapPack(ctx, &t->map, where, v, ex->send_start[ex->nsend], t->send, &packed);
  if (!e) e = poiseTripletMapReceive(ctx, &t->map, &received);
  return poiseAlltoall(ctx, e, ex, packed, received);
}

static PoiseErr SumHere(PoiseMat A, const double *v, bool add)
{
  Triplets *t = A->assembly.triplets;
  double *val;
  if (PoiseSize(A->ctx) > 1 && !t->permutes) TRY(TravelHere(A->ctx->comm, t, v));
  TRY(add ? poiseBufferUpdate(&A->csr.val, HOST, &val) : poiseBufferWrite(&A->csr.val, HOST, &val));
  if (t->permutes)
    poiseTripletsGather(A->ctx, t, v, add, val);
  else
    poiseTripletsSumRuns(A->ctx, t, poiseCsrScalars(&A->csr), v, add, val);
  return POISE_OK;
}

static PoiseErr Take(PoiseMat A, PoiseErr mine, Side where, const double *v, bool add)
{
  Triplets *t = A->assembly.triplets;
  bool is_host = A->ctx->device->ops->is_host;
  PoiseErr e = mine ? mine : Check(A, where, v);
  if (is_host || !t || !poiseLinkHasAlltoall(A->ctx)) TRY(PoiseAgree(A->ctx, e)); /* else the trade does */
  e = is_host ? SumHere(A, v, add) : Travel(A->ctx, e, t, where, v);
  if (!e && !is_host) e = poiseTripletMapSum(A, &t->map, where, v, add);
  TRY(PoiseAgree(A->ctx, e));
  A->version.values++;
  return POISE_OK;
}

PoiseErr poiseMatTakeCOO(PoiseMat A, PoiseErr mine, Side where, const double *v, bool add)
{
  poiseLogBegin(A->ctx, EVENT_MatAssemble);
  PoiseErr e = Take(A, mine, where, v, add);
  const Triplets *t = A->assembly.triplets;
  double numbers = t ? (double)t->ngiven * t->numbers : 0;
  poiseLogEnd(A->ctx, EVENT_MatAssemble, 0,
              t ? 8 * numbers + 4 * (double)t->ngiven + 8 * (double)poiseCsrScalars(&A->csr) : 0);
  return e;
}

PoiseErr PoiseMatSetValuesCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, POISE_OK, HOST, v, false);
}

PoiseErr PoiseMatAddValuesCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, POISE_OK, HOST, v, true);
}

PoiseErr PoiseMatSetValuesDeviceCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, POISE_OK, DEVICE, v, false);
}

PoiseErr PoiseMatAddValuesDeviceCOO(PoiseMat A, const double *v)
{
  CALLED(OBJECT(A));
  return poiseMatTakeCOO(A, POISE_OK, DEVICE, v, true);
}

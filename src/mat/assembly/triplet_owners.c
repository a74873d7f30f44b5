/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets are checked, and travel to the owners of their rows. */
#include "mat/csr/find.h"
#include "shared_rows.h"

bool poiseTripletsStay(PoiseMat A, const TripletPattern *p)
{
  int64_t M = A->rows->N / p->unit, N = A->cols->N / p->unit;
  bool fits = PoiseSize(A->ctx) == 1 || (M <= INT32_MAX && N <= INT32_MAX); /* in a key */
  return !A->ctx->device->ops->is_host && fits && p->side == 1 && p->given == 1;
}

typedef struct Foreign { /* a triplet of another rank's row */
  int64_t place;         /* among those given */
  PoiseInt row, col;
} Foreign;

typedef struct Foreigners { /* all of them, in their order */
  int64_t n, capacity;
  Foreign *list;
} Foreigners;

static PoiseErr CheckThere(PoiseContext ctx, const Indices *x, PoiseInt N, const char *what)
{
  int64_t k;
  PoiseInt i;
  TRY(poiseFind(ctx, (FindArgs){.what = FIND_BEYOND, .n = x->n, .limit = N, .col64 = x->index}, &k));
  if (k == x->n) return POISE_OK;
  TRY(poiseDeviceFetch(ctx->device, x->index + k, sizeof i, &i));
  return poiseIndexBeyond(i, k, N, what, "matrix");
}

/* Fetch indices to the host, through which triplets of several ranks travel. */
static PoiseErr Fetch(PoiseContext ctx, Indices *x, PoiseInt **copy)
{
  TRY(poiseAllocArray(ctx, x->n, sizeof **copy, "indices of triplets", copy));
  TRY(poiseDeviceFetch(ctx->device, x->index, (size_t)x->n * sizeof **copy, *copy));
  x->index = *copy;
  return POISE_OK;
}

static PoiseErr TakeIndices(PoiseMat A, TripletPattern *p)
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
    if (poiseTripletsStay(A, p)) {
      TRY(CheckThere(ctx, &p->rows, M, row));
      return CheckThere(ctx, &p->cols, N, column);
    }
    TRY(Fetch(ctx, &p->rows, &p->fetched[0]));
    TRY(Fetch(ctx, &p->cols, &p->fetched[1]));
    p->where = HOST;
  }
  TRY(poiseIndicesCheck(dev, &p->rows, M, row, "matrix"));
  return poiseIndicesCheck(dev, &p->cols, N, column, "matrix");
}

static PoiseErr Append(PoiseContext ctx, Foreigners *f, Foreign foreign)
{
  if (f->n == f->capacity) {
    int64_t more = f->capacity + f->capacity / 2 + 1024;
    TRY(poiseRealloc(ctx, (size_t)more * sizeof foreign, (size_t)f->n * sizeof foreign,
                     "triplets of other ranks", &f->list));
    f->capacity = more;
  }
  f->list[f->n++] = foreign;
  return POISE_OK;
}

/* The triplets of other ranks' rows. */
static PoiseErr FindForeign(PoiseMat A, const TripletPattern *p, Foreigners *f)
{
  const Layout *l = A->rows;
  for (int64_t k = 0; k < p->n; k++) {
    Foreign t = {k, poiseTripletRow(p, k), poiseTripletColumn(p, k)};
    PoiseInt row = t.row * p->unit;
    if (t.row >= 0 && t.col >= 0 && (row < l->begin || row >= l->begin + l->n)) TRY(Append(A->ctx, f, t));
  }
  return POISE_OK;
}

/* Which values go to which rank, and what is said of them first. */
static PoiseErr Address(PoiseMat A, Triplets *t, TripletPattern *p, const Foreigners *f)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx);
  int64_t numbers = t->numbers, total = 0;
  for (int64_t i = 0; i < f->n; i++) {
    PoiseInt row = f->list[i].row * p->unit;
    p->bytes[poiseLayoutOwner(A->rows, row)] += numbers * (int64_t)sizeof(double);
    TRY(poiseStashAdd(ctx, &p->stash, row, f->list[i].col, 0));
  }
  for (int r = 0; r < size; r++) p->next[r] = total, total += p->bytes[r] / (int64_t)sizeof(double);
  TRY(poiseAllocArray(ctx, total, sizeof(int64_t), "values to send", &t->send));
  for (int64_t i = 0; i < f->n; i++) {
    int r = poiseLayoutOwner(A->rows, f->list[i].row * p->unit);
    for (int64_t j = 0; j < numbers; j++) t->send[p->next[r]++] = f->list[i].place * numbers + j;
  }
  return POISE_OK;
}

static PoiseErr ListForeign(PoiseMat A, Triplets *t, TripletPattern *p)
{
  Foreigners f = {0};
  PoiseErr e = FindForeign(A, p, &f);
  if (!e) e = Address(A, t, p, &f);
  poiseFree(A->ctx, &f.list);
  return e;
}

/* ---- those that stay on the device ----------------------------------------------------------- */

static PoiseErr PartKeys(PoiseMat A, Triplets *t, TripletPattern *p, bool wide)
{
  TRY(poiseTripletKeys(A, p->where, p->n, p->rows.index, p->cols.index, wide, &p->keys));
  if (PoiseSize(A->ctx) == 1) return POISE_OK;
  return poiseTripletKeysPart(A, &p->keys, &t->map.send, &p->nforeign, &p->foreign);
}

/* The rows of a rank stand together. */
static PoiseErr AddressKeys(PoiseMat A, const Triplets *t, TripletPattern *p)
{
  FindArgs find = {.what = FIND_BEYOND, .n = p->nforeign};
  int64_t first = 0, last = 0;
  if (p->nforeign) TRY(poiseBufferRead(&p->foreign, DEVICE, &find.col64));
  for (int r = 0; r < PoiseSize(A->ctx) && first < p->nforeign; r++, first = last) {
    int64_t end = A->rows->start[r + 1] / p->unit;
    find.limit = INT64_C(1) << p->keys.foreign | end << p->keys.bits;
    TRY(poiseFind(A->ctx, find, &last));
    p->bytes[r] = (last - first) * t->numbers * (int64_t)sizeof(double);
  }
  return POISE_OK;
}

PoiseErr poiseTripletsJoin(PoiseMat A, Triplets *t, TripletPattern *p)
{
  bool wide = poisePlacesAreWide(A->ctx, p->n + p->ncame);
  if (p->shared) return poiseSharedRowsJoin(A, t, p);
  if (wide && !p->keys.wide) { /* only now that is known */
    poiseKeysDestroy(&p->keys);
    poiseBufferDestroy(&p->foreign);
    TRY(PartKeys(A, t, p, wide));
  }
  return poiseTripletKeysJoin(A, &p->keys, p->ncame, &p->came, p->n);
}

/* Keys travel as they are, by numbers of bytes that are those of values for each number of a value. */
static PoiseErr SendKeys(PoiseContext ctx, PoiseErr mine, const Triplets *t, TripletPattern *p)
{
  int64_t *send = p->next, *receive = p->gathered, total = 0;
  Exchange ex = {0};
  const uint64_t *foreign = NULL;
  uint64_t *came = NULL;
  _Static_assert(sizeof *came == sizeof(double), "a key is as long as a number");
  for (int r = 0; r < PoiseSize(ctx); r++) {
    send[r] = p->bytes[r] / t->numbers, receive[r] = p->received[r] / t->numbers;
    total += receive[r];
  }
  p->ncame = total / (int64_t)sizeof *came;
  PoiseErr e = mine;
  if (!e && p->nforeign) e = poiseBufferRead(&p->foreign, DEVICE, &foreign);
  if (!e) e = poiseBufferCreate(ctx->device, (size_t)total, "keys of triplets received", &p->came);
  if (!e) e = poiseBufferWrite(&p->came, DEVICE, &came);
  e = poiseAlltoallOpen(ctx, e, send, receive, &ex);
  e = poiseAlltoall(ctx, e, &ex, foreign, came);
  poiseExchangeDestroy(ctx, &ex, true);
  return e;
}

/* ---- both ------------------------------------------------------------------------------------ */

PoiseErr poiseTripletsFindOwners(PoiseMat A, Triplets *t, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx);
  TRY(poiseMatCheckHolds(A, "PoiseMatSetPatternCOO"));
  if (!p->shared) TRY(TakeIndices(A, p));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->bytes));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->received));
  TRY(poiseAllocArray(ctx, size, sizeof(int64_t), "counts", &p->next));
  TRY(poiseAllocArray(ctx, (int64_t)size * size, sizeof(int64_t), "counts", &p->gathered));
  if (!poiseTripletsStay(A, p)) return size > 1 ? ListForeign(A, t, p) : POISE_OK;
  if (p->shared) return poiseSharedRowsPart(A, t, p);
  TRY(PartKeys(A, t, p, poisePlacesAreWide(ctx, p->n)));
  return AddressKeys(A, t, p);
}

PoiseErr poiseTripletsRoute(PoiseMat A, Triplets *t, TripletPattern *p)
{
  PoiseContext ctx = A->ctx;
  int size = PoiseSize(ctx);
  if (size == 1) return POISE_OK;
  for (int r = 0; r < size; r++) p->received[r] = p->gathered[(int64_t)r * size + PoiseRank(ctx)];
  PoiseErr e = poiseAlltoallOpen(ctx, POISE_OK, p->bytes, p->received, &t->ex);
  if (poiseTripletsStay(A, p)) return SendKeys(ctx, e, t, p);
  TRY(PoiseAgree(ctx, e));
  TRY(poiseStashExchange(ctx, &p->stash, A->rows));
  for (int64_t k = 0; k < p->stash.n; k++) p->stash.entry[k].row /= p->unit;
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors: creation, access, assembly. */
#include "vec.h"
#include "sys/device/host_loop.h"

/* ---- creation -------------------------------------------------------------------------------- */

typedef struct Given { /* the user's array; NULL: none */
  double *array;
  bool device; /* the array is on the device */
  PoiseOwn own;
} Given;

static PoiseErr Create(Layout *layout, Given g, PoiseVec *x)
{
  PoiseContext ctx = layout->ctx;
  size_t bytes = (size_t)(layout->n * layout->columns) * sizeof(double);
  TRY(poiseObjectCreate(ctx, sizeof **x, KIND_VEC, "vector", x));
  (*x)->layout = poiseLayoutShare(layout);
  if (!g.array)
    TRY(poiseBufferCreate(ctx->device, bytes, "vector", &(*x)->data));
  else if (g.device)
    TRY(poiseBufferWrapDevice(ctx->device, bytes, "vector", g.array, g.own, &(*x)->data));
  else
    TRY(poiseBufferWrap(ctx->device, bytes, "vector", g.array, g.own, &(*x)->data));
  return poiseReduceReserve(ctx, POISE_MAX_BATCH * POISE_NBLOCKS(layout->n));
}

/* The layout is consumed. */
static PoiseErr CreateOn(Layout *layout, Given g, PoiseVec *x)
{
  PoiseContext ctx = layout->ctx;
  *x = NULL;
  PoiseErr e = PoiseAgree(ctx, Create(layout, g, x));
  if (e && *x) {
    poiseBufferDisown(&(*x)->data); /* a failed call adopts nothing */
    PoiseVecDestroy(x);
  }
  poiseLayoutDestroy(&layout);
  return e;
}

PoiseErr poiseVecCreateLocal(Layout *layout, PoiseVec *x)
{
  *x = NULL;
  return Create(layout, (Given){0}, x);
}

PoiseErr poiseVecCreateLayout(Layout *layout, PoiseVec *x)
{
  return CreateOn(poiseLayoutShare(layout), (Given){0}, x);
}

PoiseErr poiseVecCreateSlice(Layout *layout, PoiseVec *x)
{
  PoiseContext ctx = layout->ctx;
  TRY(poiseObjectCreate(ctx, sizeof **x, KIND_VEC, "vector", x));
  (*x)->layout = poiseLayoutShare(layout);
  poiseBufferSlice(ctx->device, (size_t)(layout->n * layout->columns) * sizeof(double), "part of a vector",
                   &(*x)->data);
  return poiseReduceReserve(ctx, POISE_MAX_BATCH * POISE_NBLOCKS(layout->n));
}

void poiseVecPoint(PoiseVec x, const double *part)
{
  poiseBufferPoint(&x->data, (void *)(uintptr_t)part);
}

void poiseVecReshape(PoiseVec x, Layout *layout)
{
  Layout *was = x->layout;
  x->layout = poiseLayoutShare(layout);
  poiseLayoutDestroy(&was);
}

PoiseErr PoiseVecCreate(PoiseContext ctx, PoiseInt n, PoiseInt N, PoiseVec *x)
{
  CALLED(OBJECT(ctx), GIVEN(x));
  Layout *layout;
  *x = NULL;
  TRY(poiseLayoutCreate(ctx, n, N, "vector", &layout));
  return CreateOn(layout, (Given){0}, x);
}

/* Of k columns, which the ranks agree on; ORDINARY: of one. */
enum { ORDINARY = -1 };
static PoiseErr LayoutOf(PoiseContext ctx, PoiseInt n, PoiseInt N, int k, Layout **layout)
{
  int64_t most[] = {k, -(int64_t)k};
  PoiseErr e = POISE_OK;
  if (k == ORDINARY) return poiseLayoutCreate(ctx, n, N, "vector", layout);
  if (k < 1 || k > POISE_MAX_COLUMNS)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "%d columns are not between 1 and %d", k,
                      POISE_MAX_COLUMNS);
  TRY(PoiseAgree(ctx, e));
  TRY(poiseCommMaxInt(ctx->comm, most, 2));
  if (most[0] != -most[1])
    FAIL(POISE_ERR_ARG, "this rank asks for %d columns, others for %lld to %lld", k, (long long)-most[1],
         (long long)most[0]);
  TRY(poiseLayoutCreate(ctx, n, N, "vector", layout));
  (*layout)->columns = k; /* nobody shares it yet */
  return POISE_OK;
}

PoiseErr PoiseVecCreateBlock(PoiseContext ctx, PoiseInt n, PoiseInt N, int k, PoiseVec *x)
{
  CALLED(OBJECT(ctx), GIVEN(x));
  Layout *layout;
  *x = NULL;
  TRY(LayoutOf(ctx, n, N, k == ORDINARY ? 0 : k, &layout));
  return CreateOn(layout, (Given){0}, x);
}

static PoiseErr CreateArray(PoiseContext ctx, PoiseInt n, PoiseInt N, int k, Given g, PoiseVec *x)
{
  Layout *layout;
  *x = NULL;
  TRY(LayoutOf(ctx, n, N, k, &layout));
  PoiseErr e = POISE_OK;
  if (!g.array && layout->n > 0)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "the array of %lld entries is NULL",
                      (long long)(layout->n * layout->columns));
  if (!e && !g.device) e = poiseDeviceCheckHost(ctx->device, g.array, "array");
  if (!e && g.device)
    e = poiseDeviceCheckPointer(ctx->device, g.array, (size_t)(layout->n * layout->columns) * sizeof(double),
                                "array");
  e = PoiseAgree(ctx, e);
  if (e) {
    poiseLayoutDestroy(&layout);
    return e;
  }
  return CreateOn(layout, g, x);
}

PoiseErr PoiseVecCreateArray(PoiseContext ctx, PoiseInt n, PoiseInt N, double *array, PoiseOwn own,
                             PoiseVec *x)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(x));
  return CreateArray(ctx, n, N, ORDINARY, (Given){array, false, own}, x);
}

PoiseErr PoiseVecCreateBlockArray(PoiseContext ctx, PoiseInt n, PoiseInt N, int k, double *array,
                                  PoiseOwn own, PoiseVec *x)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(x));
  return CreateArray(ctx, n, N, k == ORDINARY ? 0 : k, (Given){array, false, own}, x);
}

PoiseErr PoiseVecCreateBlockDeviceArray(PoiseContext ctx, PoiseInt n, PoiseInt N, int k, double *array,
                                        PoiseOwn own, PoiseVec *x)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(x));
  return CreateArray(ctx, n, N, k == ORDINARY ? 0 : k, (Given){array, true, own}, x);
}

PoiseErr PoiseVecCreateDeviceArray(PoiseContext ctx, PoiseInt n, PoiseInt N, double *array, PoiseOwn own,
                                   PoiseVec *x)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(x));
  return CreateArray(ctx, n, N, ORDINARY, (Given){array, true, own}, x);
}

PoiseErr PoiseVecDuplicate(PoiseVec x, PoiseVec *y)
{
  CALLED(OBJECT(x), GIVEN(y));
  return poiseVecCreateLayout(x->layout, y);
}

PoiseErr PoiseVecDestroy(PoiseVec *x)
{
  DESTROYS(x);
  if (!*x) return POISE_OK;
  PoiseContext ctx = (*x)->ctx;
  poiseBufferDestroy(&(*x)->data);
  poiseStashDestroy(ctx, &(*x)->stash);
  poiseMapDestroy(ctx, &(*x)->map);
  poiseLayoutDestroy(&(*x)->layout);
  poiseObjectFree(ctx, x);
  return POISE_OK;
}

PoiseInt PoiseVecSize(PoiseVec x)
{
  CALLED_OR(0, OBJECT(x));
  return x->layout->N;
}

PoiseInt PoiseVecLocalSize(PoiseVec x)
{
  CALLED_OR(0, OBJECT(x));
  return x->layout->n;
}

void PoiseVecRange(PoiseVec x, PoiseInt *begin, PoiseInt *end)
{
  CALLED_OR(, OBJECT(x), GIVEN(begin), GIVEN(end));
  *begin = x->layout->begin;
  *end = x->layout->begin + x->layout->n;
}

PoiseContext PoiseVecContext(PoiseVec x)
{
  CALLED_OR(NULL, OBJECT(x));
  return x->ctx;
}

PoiseErr PoiseVecBytes(PoiseVec x, PoiseBytes *bytes)
{
  CALLED(OBJECT(x), GIVEN(bytes));
  *bytes = (PoiseBytes){0};
  poiseBufferAdd(&x->data, bytes);
  return POISE_OK;
}

PoiseErr PoiseVecPredictBytes(PoiseContext ctx, PoiseInt n, PoisePrediction *p)
{
  CALLED(OBJECT(ctx), GIVEN(p));
  *p = (PoisePrediction){.beyond = NULL};
  if (n < 0 || n > INT64_MAX / 8) FAIL(POISE_ERR_ARG, "a vector of %lld entries", (long long)n);
  poisePredict(ctx->device, 8 * n, ON_DEVICE, p);
  if (!ctx->device->ops->is_host) p->most.host = 8 * n;
  return POISE_OK;
}

static PoiseErr View(PoiseVec x)
{
  return poisePrint(
      x->ctx,
      "Vec: %lld entries on %d ranks, device %s, %lld bytes on the host and %lld on the device of rank 0\n",
      (long long)x->layout->N, PoiseSize(x->ctx), x->ctx->device->ops->name,
      (long long)poiseBufferBytes(&x->data, HOST), (long long)poiseBufferBytes(&x->data, DEVICE));
}

PoiseErr PoiseVecView(PoiseVec x)
{
  CALLED(OBJECT(x));
  return poisePrinted(x->ctx, View(x));
}

/* ---- access ---------------------------------------------------------------------------------- */

static PoiseErr CheckAssembled(PoiseVec x)
{
  if (x->pending.mode)
    FAIL(POISE_ERR_STATE, "the vector has values added or set but not assembled: call PoiseVecAssemble");
  return POISE_OK;
}

PoiseErr PoiseVecGetRead(PoiseVec x, const double **array)
{
  CALLED(OBJECT(x), GIVEN(array));
  TRY(CheckAssembled(x));
  TRY(poiseBufferRead(&x->data, HOST, array));
  return POISE_OK;
}

PoiseErr PoiseVecGetWrite(PoiseVec x, double **array)
{
  CALLED(OBJECT(x), GIVEN(array));
  TRY(CheckAssembled(x));
  TRY(poiseBufferWrite(&x->data, HOST, array));
  return POISE_OK;
}

PoiseErr PoiseVecGetUpdate(PoiseVec x, double **array)
{
  CALLED(OBJECT(x), GIVEN(array));
  TRY(CheckAssembled(x));
  TRY(poiseBufferUpdate(&x->data, HOST, array));
  return POISE_OK;
}

PoiseErr PoiseVecGetDeviceRead(PoiseVec x, const double **array)
{
  CALLED(OBJECT(x), GIVEN(array));
  TRY(poiseVecRead(x, array));
  return POISE_OK;
}

PoiseErr PoiseVecGetDeviceWrite(PoiseVec x, double **array)
{
  CALLED(OBJECT(x), GIVEN(array));
  TRY(poiseVecWrite(x, array));
  return POISE_OK;
}

PoiseErr PoiseVecGetDeviceUpdate(PoiseVec x, double **array)
{
  CALLED(OBJECT(x), GIVEN(array));
  TRY(poiseVecUpdate(x, array));
  return POISE_OK;
}

PoiseErr PoiseVecRestore(PoiseVec x, void *array)
{
  CALLED(OBJECT(x), GIVEN(array));
  const double *none = NULL;
  memcpy(array, &none, sizeof none);
  /* brings what was written on the host to an array lent on the device */
  return poiseBufferSyncBorrowed(&x->data);
}

PoiseErr PoiseVecToDevice(PoiseVec x)
{
  CALLED(OBJECT(x));
  const double *p;
  TRY(poiseVecRead(x, &p));
  return POISE_OK;
}

PoiseErr poiseVecRead(PoiseVec x, const double **p)
{
  TRY(CheckAssembled(x));
  return poiseBufferRead(&x->data, DEVICE, p);
}

PoiseErr poiseVecWrite(PoiseVec x, double **p)
{
  TRY(CheckAssembled(x));
  return poiseBufferWrite(&x->data, DEVICE, p);
}

PoiseErr poiseVecUpdate(PoiseVec x, double **p)
{
  TRY(CheckAssembled(x));
  return poiseBufferUpdate(&x->data, DEVICE, p);
}

PoiseErr poiseVecCheckSame(PoiseVec x, const char *xname, PoiseVec y, const char *yname)
{
  if (poiseVecColumns(x) != poiseVecColumns(y))
    FAIL(POISE_ERR_SIZE, "%s has %d columns, %s has %d", xname, poiseVecColumns(x), yname,
         poiseVecColumns(y));
  if (!poiseLayoutSame(x->layout, y->layout))
    FAIL(POISE_ERR_SIZE, "%s has %lld entries (%lld on rank %d), %s has %lld (%lld)", xname,
         (long long)x->layout->N, (long long)x->layout->n, PoiseRank(x->ctx), yname, (long long)y->layout->N,
         (long long)y->layout->n);
  return POISE_OK;
}

/* ---- assembly -------------------------------------------------------------------------------- */

typedef struct Inserted { /* values, in the order in which they are added or set */
  int mode;
  Indices rows;
  const double *v;
  double *array;
  PoiseInt begin; /* of the rank's rows */
} Inserted;

/* Take those among values k .. end - 1 whose local rows are in [low, high). */
static void TakeRange(const Inserted *s, PoiseInt k, PoiseInt end, PoiseInt low, PoiseInt high)
{
  for (; k < end; k++) {
    PoiseInt row = poiseIndex(&s->rows, k), i = row - s->begin;
    if (row < 0 || i < low || i >= high) continue;
    s->array[i] = s->mode == ADDING ? s->array[i] + s->v[k] : s->v[k];
  }
}

/* The rows of a block of values. Nodes of a cell may lie far apart, and the span be wide. So there is
   also a bit for each part of 2^shift rows, which is also that of the parts 64, 128 ... further on. */
typedef struct Touched {
  Span span;
  uint64_t parts;
} Touched;

static uint64_t PartOf(int64_t i, int shift)
{
  return (uint64_t)1 << ((i >> shift) & 63);
}

static Touched TouchedBy(const Inserted *s, PoiseInt n, int shift, PoiseInt k, PoiseInt end)
{
  Touched rows = {.span = {n, 0}};
  for (; k < end; k++) {
    PoiseInt row = poiseIndex(&s->rows, k), i = row - s->begin;
    if (row < 0 || i < 0 || i >= n) continue;
    poiseSpanAdd(&rows.span, i);
    rows.parts |= PartOf(i, shift);
  }
  return rows;
}

static uint64_t PartsOf(int64_t low, int64_t high, int shift)
{
  uint64_t parts = 0;
  for (int64_t k = low >> shift; k << shift < high && ~parts; k++) parts |= PartOf(k << shift, shift);
  return parts;
}

/* Take all by all threads. Each has a share of the rows, and looks at the blocks of values that have some of
   them. So an entry's values are taken in their order, whatever the number of threads. */
static PoiseErr TakeShared(PoiseVec x, const Inserted *s)
{
  Device *dev = x->ctx->device;
  const int64_t n = s->rows.n, nblock = POISE_NBLOCKS(n);
  const int threads = dev->threads;
  Span all = {x->layout->n, 0};
  Touched *rows;
  int shift = 0;
  while (n >> shift > 512) shift++; /* so that 64 parts have n / 8 rows or more, as those of n values do */
  TRY(poiseAllocArray(x->ctx, nblock, sizeof *rows, "rows of values", &rows));
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    rows[b] = TouchedBy(s, x->layout->n, shift, b * POISE_BLOCK, b + 1 < nblock ? (b + 1) * POISE_BLOCK : n);
  for (int64_t b = 0; b < nblock; b++) poiseSpanJoin(&all, rows[b].span);
  const int64_t share = all.high > all.low ? (all.high - all.low + threads - 1) / threads : 0;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int t = 0; t < threads; t++) {
    const int64_t low = all.low + t * share, high = low + share < all.high ? low + share : all.high;
    const uint64_t parts = PartsOf(low, high, shift);
    for (int64_t b = 0; b < nblock; b++)
      if (rows[b].parts & parts && poiseSpanHas(rows[b].span, low, high))
        TakeRange(s, b * POISE_BLOCK, b + 1 < nblock ? (b + 1) * POISE_BLOCK : n, low, high);
  }
  poiseFree(x->ctx, &rows);
  return POISE_OK;
}

static PoiseErr StashOthers(PoiseVec x, const Inserted *s)
{
  for (PoiseInt k = 0; k < s->rows.n; k++) {
    PoiseInt row = poiseIndex(&s->rows, k), i = row - s->begin;
    if (row >= 0 && (i < 0 || i >= x->layout->n)) TRY(poiseStashAdd(x->ctx, &x->stash, row, 0, s->v[k]));
  }
  return POISE_OK;
}

static PoiseErr Insert(PoiseVec x, int mode, Indices rows, const double *v)
{
  Inserted s = {.mode = mode, .rows = rows, .v = v, .begin = x->layout->begin};
  TRY(poiseVecCheckOrdinary(x, "values"));
  TRY(poisePendingMode(&x->pending, mode, "PoiseVecAssemble"));
  TRY(poiseIndicesCheck(x->ctx->device, &rows, x->layout->N, "row", "vector"));
  TRY(poiseValuesCheck(rows.n, v));
  TRY(poiseBufferUpdate(&x->data, HOST, &s.array));
  x->pending.mode = mode;
  if (x->ctx->comm->size > 1) TRY(StashOthers(x, &s));
  if (HOST_SHARED_OUT(x->ctx->device, POISE_NBLOCKS(rows.n))) return TakeShared(x, &s);
  TakeRange(&s, 0, rows.n, 0, x->layout->n);
  return POISE_OK;
}

PoiseErr PoiseVecAddValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v)
{
  CALLED(OBJECT(x));
  return poisePendingKeep(&x->pending, Insert(x, ADDING, (Indices){n, rows, NULL}, v));
}

PoiseErr PoiseVecSetValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v)
{
  CALLED(OBJECT(x));
  return poisePendingKeep(&x->pending, Insert(x, SETTING, (Indices){n, rows, NULL}, v));
}

PoiseErr PoiseVecSetLocalToGlobal(PoiseVec x, PoiseInt n, const PoiseInt *rows)
{
  CALLED(OBJECT(x));
  return PoiseAgree(x->ctx, poiseMapSet(x->ctx, n, rows, x->layout->N, "row", &x->map));
}

PoiseErr PoiseVecAddValuesLocal(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v)
{
  CALLED(OBJECT(x));
  return poisePendingKeep(&x->pending, Insert(x, ADDING, (Indices){n, rows, &x->map}, v));
}

PoiseErr PoiseVecSetValuesLocal(PoiseVec x, PoiseInt n, const PoiseInt *rows, const double *v)
{
  CALLED(OBJECT(x));
  return poisePendingKeep(&x->pending, Insert(x, SETTING, (Indices){n, rows, &x->map}, v));
}

static PoiseErr TakeReceived(PoiseVec x, int mode)
{
  double *array;
  TRY(poiseStashExchange(x->ctx, &x->stash, x->layout));
  if (!x->stash.n) return poiseBufferSyncBorrowed(&x->data);
  TRY(poiseBufferUpdate(&x->data, HOST, &array));
  for (int64_t k = 0; k < x->stash.n; k++) {
    const Entry *t = &x->stash.entry[k];
    PoiseInt i = t->row - x->layout->begin;
    array[i] = mode == ADDING ? array[i] + t->value : t->value;
  }
  return poiseBufferSyncBorrowed(&x->data);
}

PoiseErr PoiseVecAssemble(PoiseVec x)
{
  CALLED(OBJECT(x));
  PoiseContext ctx = x->ctx;
  int mode = ADDING;
  poiseLogBegin(ctx, EVENT_VecAssemble);
  PoiseErr e = poisePendingAgree(ctx, &x->pending, "PoiseVecAssemble", &mode);
  if (!e || !mode) {
    x->pending.mode = 0;
    if (!e) e = PoiseAgree(ctx, TakeReceived(x, mode));
    poiseStashDestroy(ctx, &x->stash);
  }
  poiseLogEnd(ctx, EVENT_VecAssemble, 0, 0);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors: creation, access, assembly, BLAS-1. Every element-wise operation is a phase (vec_phases.h). */
#include "vec.h"
#include "vec_kernels.h"
#include "vec_phases.h"

#include <float.h>

/* ---- creation -------------------------------------------------------------------------------- */

typedef struct Given { /* the user's array; NULL: none */
  double *array;
  bool device; /* the array is on the device */
  PoiseOwn own;
} Given;

static PoiseErr Create(Layout *layout, Given g, PoiseVec *x)
{
  PoiseContext ctx = layout->ctx;
  size_t bytes = (size_t)layout->n * sizeof(double);
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
  poiseBufferSlice(ctx->device, (size_t)layout->n * sizeof(double), "part of a vector", &(*x)->data);
  return poiseReduceReserve(ctx, POISE_MAX_BATCH * POISE_NBLOCKS(layout->n));
}

void poiseVecPoint(PoiseVec x, const double *part)
{
  poiseBufferPoint(&x->data, (void *)(uintptr_t)part);
}

PoiseErr PoiseVecCreate(PoiseContext ctx, PoiseInt n, PoiseInt N, PoiseVec *x)
{
  CALLED(OBJECT(ctx), GIVEN(x));
  Layout *layout;
  *x = NULL;
  TRY(poiseLayoutCreate(ctx, n, N, "vector", &layout));
  return CreateOn(layout, (Given){0}, x);
}

static PoiseErr CreateArray(PoiseContext ctx, PoiseInt n, PoiseInt N, Given g, PoiseVec *x)
{
  Layout *layout;
  *x = NULL;
  TRY(poiseLayoutCreate(ctx, n, N, "vector", &layout));
  PoiseErr e = POISE_OK;
  if (!g.array && layout->n > 0)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "the array of %lld entries is NULL",
                      (long long)layout->n);
  if (!e && !g.device) e = poiseDeviceCheckHost(ctx->device, g.array, "array");
  if (!e && g.device)
    e = poiseDeviceCheckPointer(ctx->device, g.array, (size_t)layout->n * sizeof(double), "array");
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
  return CreateArray(ctx, n, N, (Given){array, false, own}, x);
}

PoiseErr PoiseVecCreateDeviceArray(PoiseContext ctx, PoiseInt n, PoiseInt N, double *array, PoiseOwn own,
                                   PoiseVec *x)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(x));
  return CreateArray(ctx, n, N, (Given){array, true, own}, x);
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

PoiseErr PoiseVecView(PoiseVec x)
{
  CALLED(OBJECT(x));
  return PoisePrintf(
      x->ctx,
      "Vec: %lld entries on %d ranks, device %s, %lld bytes on the host and %lld on the device of rank 0\n",
      (long long)x->layout->N, PoiseSize(x->ctx), x->ctx->device->ops->name,
      (long long)poiseBufferBytes(&x->data, HOST), (long long)poiseBufferBytes(&x->data, DEVICE));
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
  if (!poiseLayoutSame(x->layout, y->layout))
    FAIL(POISE_ERR_SIZE, "%s has %lld entries (%lld on rank %d), %s has %lld (%lld)", xname,
         (long long)x->layout->N, (long long)x->layout->n, PoiseRank(x->ctx), yname, (long long)y->layout->N,
         (long long)y->layout->n);
  return POISE_OK;
}

/* ---- assembly -------------------------------------------------------------------------------- */

static PoiseErr Insert(PoiseVec x, int mode, Indices rows, const double *v)
{
  double *array;
  TRY(poisePendingMode(&x->pending, mode, "PoiseVecAssemble"));
  TRY(poiseIndicesCheck(&rows, x->layout->N, "row", "vector"));
  TRY(poiseValuesCheck(rows.n, v));
  TRY(poiseBufferUpdate(&x->data, HOST, &array));
  x->pending.mode = mode;
  for (PoiseInt k = 0; k < rows.n; k++) {
    PoiseInt row = poiseIndex(&rows, k);
    if (row < 0) continue;
    PoiseInt i = row - x->layout->begin;
    if (i < 0 || i >= x->layout->n)
      TRY(poiseStashAdd(x->ctx, &x->stash, row, 0, v[k]));
    else
      array[i] = mode == ADDING ? array[i] + v[k] : v[k];
  }
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

/* ---- element-wise operations ----------------------------------------------------------------- */

/* An operand that is w itself makes the phase read w, so w is updated. Otherwise w's old content is not
   needed, and it is written. */
static PoiseErr LaunchPhase(PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs *a)
{
  if (x) TRY(poiseVecCheckSame(w, "w", x, "x"));
  if (y) TRY(poiseVecCheckSame(w, "w", y, "y"));
  if (x) TRY(poiseVecRead(x, &a->in[VEC_X]));
  if (y) TRY(poiseVecRead(y, &a->in[VEC_Y]));
  TRY(x == w || y == w ? poiseVecUpdate(w, &a->out[VEC_W]) : poiseVecWrite(w, &a->out[VEC_W]));
  TRY(LAUNCH(w->ctx->device, phase, a));
  return poiseBufferSyncBorrowed(&w->data);
}

static PoiseErr Phase(int id, PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs a, double flops)
{
  double streams = 1 + (x != NULL) + (y != NULL);
  a.id = id;
  a.n = w->layout->n;
  poiseLogBegin(w->ctx, EVENT_VecUpdate);
  PoiseErr e = LaunchPhase(w, x, y, &a);
  poiseLogEnd(w->ctx, EVENT_VecUpdate, flops * (double)a.n, 8 * streams * (double)a.n);
  return e;
}

PoiseErr PoiseVecSet(PoiseVec x, double a)
{
  CALLED(OBJECT(x));
  return Phase(PHASE_vec_set, x, NULL, NULL, (PhaseArgs){.c[0].value = a}, 0);
}

PoiseErr PoiseVecSetRandom(PoiseVec x, uint64_t seed)
{
  CALLED(OBJECT(x));
  uint64_t k = (uint64_t)x->layout->begin + seed * 0xd1342543de82ef95u;
  return Phase(PHASE_vec_random, x, NULL, NULL, (PhaseArgs){.k = (int64_t)k}, 0);
}

static PoiseErr Axpby(PoiseVec w, double a, PoiseVec x, double b, PoiseVec y)
{
  return Phase(PHASE_vec_axpby, w, x, y, (PhaseArgs){.c = {{.value = a}, {.value = b}}}, 3);
}

PoiseErr PoiseVecCopy(PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(x), OBJECT(y));
  return x == y ? POISE_OK : Axpby(y, 1, x, 0, NULL);
}

PoiseErr PoiseVecScale(PoiseVec x, double a)
{
  CALLED(OBJECT(x));
  return Axpby(x, a, x, 0, NULL);
}

PoiseErr PoiseVecAXPY(PoiseVec y, double a, PoiseVec x)
{
  CALLED(OBJECT(y), OBJECT(x));
  return Axpby(y, a, x, 1, y);
}

PoiseErr PoiseVecAYPX(PoiseVec y, double a, PoiseVec x)
{
  CALLED(OBJECT(y), OBJECT(x));
  return Axpby(y, 1, x, a, y);
}

PoiseErr PoiseVecAXPBY(PoiseVec y, double a, double b, PoiseVec x)
{
  CALLED(OBJECT(y), OBJECT(x));
  return b == 0 ? Axpby(y, a, x, 0, NULL) : Axpby(y, a, x, b, y);
}

PoiseErr PoiseVecWAXPY(PoiseVec w, double a, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(w), OBJECT(x), OBJECT(y));
  return Axpby(w, a, x, 1, y);
}

PoiseErr PoiseVecPointwiseMult(PoiseVec w, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(w), OBJECT(x), OBJECT(y));
  return Phase(PHASE_vec_mult, w, x, y, (PhaseArgs){0}, 1);
}

PoiseErr PoiseVecPointwiseDivide(PoiseVec w, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(w), OBJECT(x), OBJECT(y));
  return Phase(PHASE_vec_divide, w, x, y, (PhaseArgs){0}, 1);
}

PoiseErr PoiseVecReciprocal(PoiseVec x)
{
  CALLED(OBJECT(x));
  return Phase(PHASE_vec_reciprocal, x, x, NULL, (PhaseArgs){0}, 1);
}

PoiseErr poiseVecFuse(PoiseVec y, const double *skip, const Fuse *fuse)
{
  MaxpyArgs m = {.n = y->layout->n, .skip = skip};
  if (!fuse || !fuse->ndot) return POISE_OK;
  m.fuse = *fuse;
  TRY(poiseVecUpdate(y, &m.y));
  return LAUNCH(y->ctx->device, maxpy, &m);
}

static PoiseErr CheckMaxpy(PoiseVec y, int k, const PoiseVec *x)
{
  for (int j = 0; j < k; j++) {
    TRY(poiseCheckCall("PoiseVecMAXPY", PARAMETERS(OBJECT(y), OBJECT(x[j]))));
    if (x[j] == y) FAIL(POISE_ERR_ARG, "x[%d] and y are the same vector", j);
    TRY(poiseVecCheckSame(x[j], "x", y, "y"));
  }
  return POISE_OK;
}

static PoiseErr MaxpyBatch(PoiseVec y, int k, const double *a, const PoiseVec *x)
{
  MaxpyArgs m = {.n = y->layout->n, .k = k, .sign = 1};
  for (int j = 0; j < k; j++) {
    TRY(poiseVecRead(x[j], &m.x[j]));
    m.value[j] = a[j];
  }
  TRY(poiseVecUpdate(y, &m.y));
  return LAUNCH(y->ctx->device, maxpy, &m);
}

static int Batch(int k)
{
  return k < POISE_MAX_BATCH ? k : POISE_MAX_BATCH;
}

PoiseErr PoiseVecMAXPY(PoiseVec y, int k, const double *a, const PoiseVec *x)
{
  CALLED(OBJECT(y), ARRAY_OF(k, a), ARRAY_OF(k, x));
  double n = (double)y->layout->n;
  poiseLogBegin(y->ctx, EVENT_VecUpdate);
  PoiseErr e = CheckMaxpy(y, k, x);
  for (int done = 0; !e && done < k; done += POISE_MAX_BATCH)
    e = MaxpyBatch(y, Batch(k - done), a + done, x + done);
  if (!e) e = poiseBufferSyncBorrowed(&y->data);
  poiseLogEnd(y->ctx, EVENT_VecUpdate, 2.0 * k * n, 8.0 * (k + 2) * n);
  return e;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Fetch the sums of this rank to the host. */
static PoiseErr FetchSums(PoiseContext ctx, int k, int64_t nblock, bool max, double *result)
{
  const double *partial;
  double *slots;
  TRY(poiseBufferRead(&ctx->reduce_partial, DEVICE, &partial));
  TRY(poiseBufferWrite(&ctx->reduce_slots, DEVICE, &slots));
  ReduceArgs r = {.nsum = k, .max = max, .stride = nblock, .count = nblock, .partial = partial, .dst = slots};
  TRY(LAUNCH(ctx->device, reduce, &r));
  TRY(poiseDeviceCopy(ctx->device, ctx->reduce_pinned, slots, (size_t)k * sizeof(double), COPY_TO_HOST));
  TRY(poiseDeviceSync(ctx->device));
  memcpy(result, ctx->reduce_pinned, (size_t)k * sizeof(double));
  return POISE_OK;
}

PoiseErr poiseReduceFinish(PoiseContext ctx, PoiseErr mine, int k, int64_t nblock, bool max, double *result)
{
  double v[POISE_MAX_BATCH + 1] = {0}; /* the last one counts the ranks' errors */
  if (!mine) mine = FetchSums(ctx, k, nblock, max, v);
  v[k] = mine != POISE_OK;
  TRY(max ? poiseCommMax(ctx->comm, v, k + 1) : poiseCommSum(ctx->comm, v, k + 1));
  if (v[k] != 0) return PoiseAgree(ctx, mine);
  memcpy(result, v, (size_t)k * sizeof(double));
  return POISE_OK;
}

/* Launch a phase whose k dots go to the scratch. w (may be NULL) is updated. */
static PoiseErr DotPhase(int id, int k, PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs a)
{
  PoiseContext ctx = x->ctx;
  double *partial;
  a.id = id;
  a.n = x->layout->n;
  if (y) TRY(poiseVecCheckSame(x, "x", y, "y"));
  TRY(poiseVecRead(x, &a.in[VEC_X]));
  if (y) TRY(poiseVecRead(y, &a.in[VEC_Y]));
  if (w) TRY(poiseVecUpdate(w, &a.out[VEC_W]));
  TRY(poiseBufferWrite(&ctx->reduce_partial, DEVICE, &partial));
  for (int j = 0; j < k; j++) a.partial[j] = partial + j * POISE_NBLOCKS(a.n);
  return LAUNCH(ctx->device, phase, &a);
}

static PoiseErr Reduce(int id, int k, PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs a, double *result)
{
  PoiseContext ctx = x->ctx;
  int event = y && y != x ? EVENT_VecDot : EVENT_VecNorm;
  double n = (double)x->layout->n;
  poiseLogBegin(ctx, event);
  PoiseErr e = DotPhase(id, k, w, x, y, a);
  e = poiseReduceFinish(ctx, e, k, POISE_NBLOCKS(x->layout->n), id == PHASE_vec_norm_inf, result);
  if (!e && w) e = poiseBufferSyncBorrowed(&w->data);
  poiseLogEnd(ctx, event, 2 * k * n, 8 * (1 + (y && y != x) + (w != NULL)) * n);
  return e;
}

PoiseErr PoiseVecDot(PoiseVec x, PoiseVec y, double *dot)
{
  CALLED(OBJECT(x), OBJECT(y), GIVEN(dot));
  return Reduce(PHASE_vec_dot, 1, NULL, x, y, (PhaseArgs){0}, dot);
}

PoiseErr PoiseVecDotNorm2(PoiseVec x, PoiseVec y, double *xy, double *yy)
{
  CALLED(OBJECT(x), OBJECT(y), GIVEN(xy), GIVEN(yy));
  double r[2];
  TRY(Reduce(PHASE_vec_dot2, 2, NULL, x, y, (PhaseArgs){0}, r));
  *xy = r[0], *yy = r[1];
  return POISE_OK;
}

PoiseErr PoiseVecAXPYDot(PoiseVec y, double a, PoiseVec x, double *yy)
{
  CALLED(OBJECT(y), OBJECT(x), GIVEN(yy));
  return Reduce(PHASE_vec_axpby_dot, 1, y, x, y, (PhaseArgs){.c = {{.value = a}, {.value = 1}}}, yy);
}

PoiseErr PoiseVecSumEntries(PoiseVec x, double *sum)
{
  CALLED(OBJECT(x), GIVEN(sum));
  return Reduce(PHASE_vec_sum, 1, NULL, x, NULL, (PhaseArgs){0}, sum);
}

bool poiseSquaresHold(double sum)
{
  return !(sum < 1e-280) && !(sum > 1e300);
}

int poiseScaleSquares(double largest, double scale[2])
{
  int e = DBL_MAX_EXP;
  if (poiseFinite(largest)) (void)frexp(largest, &e);
  scale[0] = ldexp(1, -e / 2);
  scale[1] = ldexp(1, -e - -e / 2);
  return e;
}

/* Where squares under- or overflow. */
static PoiseErr ScaledNorm(PoiseVec x, double *norm)
{
  double largest, scale[2];
  TRY(Reduce(PHASE_vec_norm_inf, 1, NULL, x, NULL, (PhaseArgs){0}, &largest));
  *norm = largest;
  if (largest == 0) return POISE_OK;
  int e = poiseScaleSquares(largest, scale);
  PhaseArgs a = {.c = {{.value = scale[0]}, {.value = scale[1]}}};
  TRY(Reduce(PHASE_vec_norm2_scaled, 1, NULL, x, NULL, a, norm));
  *norm = ldexp(sqrt(*norm), e);
  return POISE_OK;
}

PoiseErr PoiseVecNorm(PoiseVec x, PoiseNorm type, double *norm)
{
  CALLED(OBJECT(x), GIVEN(norm));
  static const int phase[] = {[POISE_NORM_1] = PHASE_vec_norm1,
                              [POISE_NORM_2] = PHASE_vec_dot,
                              [POISE_NORM_INF] = PHASE_vec_norm_inf};
  if ((unsigned)type > POISE_NORM_INF) FAIL(POISE_ERR_ARG, "there is no norm %d", (int)type);
  TRY(Reduce(phase[type], 1, NULL, x, type == POISE_NORM_2 ? x : NULL, (PhaseArgs){0}, norm));
  if (type == POISE_NORM_2 && !poiseSquaresHold(*norm)) return ScaledNorm(x, norm);
  if (type == POISE_NORM_2) *norm = sqrt(*norm);
  return POISE_OK;
}

static PoiseErr MdotBatch(PoiseVec y, int k, const PoiseVec *x)
{
  PoiseContext ctx = y->ctx;
  MdotArgs m = {.n = y->layout->n, .k = k, .stride = POISE_NBLOCKS(y->layout->n)};
  for (int j = 0; j < k; j++) {
    TRY(poiseCheckCall("PoiseVecMDot", PARAMETERS(OBJECT(y), OBJECT(x[j]))));
    TRY(poiseVecCheckSame(x[j], "x", y, "y"));
    TRY(poiseVecRead(x[j], &m.x[j]));
  }
  TRY(poiseVecRead(y, &m.y));
  TRY(poiseBufferWrite(&ctx->reduce_partial, DEVICE, &m.partial));
  return LAUNCH(ctx->device, mdot, &m);
}

PoiseErr PoiseVecMDot(PoiseVec y, int k, const PoiseVec *x, double *dots)
{
  CALLED(OBJECT(y), ARRAY_OF(k, x), ARRAY_OF(k, dots));
  PoiseContext ctx = y->ctx;
  PoiseErr e = POISE_OK;
  double n = (double)y->layout->n;
  poiseLogBegin(ctx, EVENT_VecDot);
  for (int done = 0; !e && done < k; done += POISE_MAX_BATCH) {
    e = MdotBatch(y, Batch(k - done), x + done);
    e = poiseReduceFinish(ctx, e, Batch(k - done), POISE_NBLOCKS(y->layout->n), false, dots + done);
  }
  poiseLogEnd(ctx, EVENT_VecDot, 2.0 * k * n, 8.0 * (k + 1) * n);
  return e;
}

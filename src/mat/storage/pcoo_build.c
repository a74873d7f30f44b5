/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A matrix of type pcoo from the application's triplets: they are checked, and looked at. If they ascend, and
  are of own rows on all ranks, they become a CSR of the application's values. Else rows and columns are
  numbered, with ghosts, and become an index by row.

  Where the device is not the host, triplets with 32-bit indices are looked at there, and become a CSR there.
  Others, and those with which something is wrong, come to the host.
*/
#include "mat/csr/check_arrays.h"
#include "mat/csr/complete.h"
#include "mat/csr/convert.h"
#include "mat/csr/find.h"
#include "mat/csr/ghosts_there.h"
#include "mat/csr/joined_kernels.h"
#include "mat/csr/numbering.h"
#include "pcoo.h"

/* ---- the application's arrays ---------------------------------------------------------------- */

typedef struct Given {
  const PoiseTriplets *in; /* the application's */
  PoiseTriplets host;      /* with rows and columns on the host */
  PoiseOwn own;
  bool there; /* the arrays are on the device */
  /* rows and columns on the device, in buffers that hold copies of the host's */
  const int32_t *row, *col;
  Buffer rows, columns;
} Given;

static PoiseInt RowOf(const Given *g, int64_t k)
{
  return poiseFromBase(g->host.row32 ? g->host.row32[k] : g->host.row64[k], g->host.base);
}

static PoiseInt ColumnOf(const Given *g, int64_t k)
{
  return poiseFromBase(g->host.col32 ? g->host.col32[k] : g->host.col64[k], g->host.base);
}

static PoiseErr CheckGiven(const PoiseTriplets *in)
{
  if (!in) FAIL(POISE_ERR_ARG, "the triplets are NULL");
  if (in->base != 0 && in->base != 1)
    FAIL(POISE_ERR_ARG, "base %d of the indices is neither 0 nor 1", in->base);
  if (in->n < 0) FAIL(POISE_ERR_ARG, "%lld triplets", (long long)in->n);
  if (!in->n) return POISE_OK;
  if (!in->row32 == !in->row64) FAIL(POISE_ERR_ARG, "give exactly one of row32 and row64");
  if (!in->col32 == !in->col64) FAIL(POISE_ERR_ARG, "give exactly one of col32 and col64");
  if (!in->val) FAIL(POISE_ERR_ARG, "val is NULL and there are %lld triplets", (long long)in->n);
  return POISE_OK;
}

/* Copy an array of the device to memory that the caller frees. NULL stays NULL. */
static PoiseErr Fetch(PoiseContext ctx, int64_t n, size_t size, const void *array, const void *host)
{
  void *p = NULL;
  if (!array) return POISE_OK;
  TRY(poiseAllocArray(ctx, n, size, "indices of triplets", &p));
  memcpy((void *)(uintptr_t)host, &p, sizeof p);
  return poiseDeviceFetch(ctx->device, array, (size_t)n * size, p);
}

/* Arrays that may be read where they are said to be. */
static PoiseErr CheckPlaces(PoiseContext ctx, const Given *g)
{
  const PoiseTriplets *in = g->in;
  Device *dev = ctx->device;
  size_t n = (size_t)in->n;
  if (!g->there) {
    TRY(poiseDeviceCheckHost(dev, in->row32 ? (const void *)in->row32 : in->row64, "row"));
    TRY(poiseDeviceCheckHost(dev, in->col32 ? (const void *)in->col32 : in->col64, "col"));
    return poiseDeviceCheckHost(dev, in->val, "val");
  }
  if (in->row32) TRY(poiseDeviceCheckPointer(dev, in->row32, n * sizeof(int32_t), "triplets->row32"));
  if (in->row64) TRY(poiseDeviceCheckPointer(dev, in->row64, n * sizeof(int64_t), "triplets->row64"));
  if (in->col32) TRY(poiseDeviceCheckPointer(dev, in->col32, n * sizeof(int32_t), "triplets->col32"));
  if (in->col64) TRY(poiseDeviceCheckPointer(dev, in->col64, n * sizeof(int64_t), "triplets->col64"));
  return in->val ? poiseDeviceCheckPointer(dev, in->val, n * sizeof(double), "triplets->val") : POISE_OK;
}

static PoiseErr OpenGiven(PoiseContext ctx, Given *g)
{
  const PoiseTriplets *in = g->in;
  g->host = (PoiseTriplets){.n = in->n, .base = in->base};
  if (g->there) {
    TRY(Fetch(ctx, in->n, sizeof(int32_t), in->row32, &g->host.row32));
    TRY(Fetch(ctx, in->n, sizeof(int64_t), in->row64, &g->host.row64));
    TRY(Fetch(ctx, in->n, sizeof(int32_t), in->col32, &g->host.col32));
    return Fetch(ctx, in->n, sizeof(int64_t), in->col64, &g->host.col64);
  }
  g->host = *in;
  return POISE_OK;
}

static void CloseGiven(PoiseContext ctx, Given *g)
{
  poiseBufferDestroy(&g->rows);
  poiseBufferDestroy(&g->columns);
  if (!g->there) return;
  poiseFree(ctx, &g->host.row32);
  poiseFree(ctx, &g->host.row64);
  poiseFree(ctx, &g->host.col32);
  poiseFree(ctx, &g->host.col64);
}

/* The application's rows and columns are not needed any more; its values are A's. */
static void ReleaseAdopted(PoiseContext ctx, const Given *g)
{
  const PoiseTriplets *in = g->in;
  const void *const arrays[] = {in->row32, in->row64, in->col32, in->col64};
  for (int k = 0; k < 4; k++) {
    void *p = (void *)(uintptr_t)arrays[k];
    if (p && g->there) poiseDeviceFreeAdopted(ctx->device, p);
    if (p && !g->there) free(p);
  }
}

static PoiseErr CheckRange(const Given *g, int64_t k, const char *what, PoiseInt index, PoiseInt most)
{
  int base = g->host.base;
  if (index >= 0 && index < most) return POISE_OK;
  FAIL(POISE_ERR_ARG, "triplet %lld has %s %lld, legal are %d to %lld", (long long)k, what,
       (long long)index + base, base, (long long)most - 1 + base);
}

/* *at = n indices on the device, which `copy` holds if they were the host's. */
static PoiseErr Place(Device *dev, bool there, int64_t n, const int32_t *given, const char *what,
                      Buffer *copy, const int32_t **at)
{
  int32_t *to;
  *at = given;
  if (there) return POISE_OK;
  TRY(poiseBufferCreate(dev, (size_t)n * sizeof *to, what, copy));
  TRY(poiseBufferWrite(copy, DEVICE, &to));
  *at = to;
  return poiseDeviceCopyArray(dev, to, given, (size_t)n * sizeof *to, COPY_TO_DEVICE);
}

/* *other: they are not looked at on the device, or there is something that Examine below looks for. */
static PoiseErr ExamineThere(const PoiseMat A, Given *g, int64_t *other)
{
  const PoiseTriplets *in = g->in;
  Device *dev = A->ctx->device;
  int64_t first;
  *other = 1;
  if (dev->ops->is_host || in->base || (in->n && !(in->row32 && in->col32))) return POISE_OK;
  TRY(Place(dev, g->there, in->n, in->row32, "rows of triplets", &g->rows, &g->row));
  TRY(Place(dev, g->there, in->n, in->col32, "columns", &g->columns, &g->col));
  const FindArgs f = {.what = FIND_UNORDERED,
                      .n = in->n,
                      .limit = A->cols->N,
                      .begin = A->rows->begin,
                      .rows = A->rows->n,
                      .ptr32 = g->row,
                      .col32 = g->col};
  TRY(poiseFind(A->ctx, f, &first));
  *other = first < in->n;
  return POISE_OK;
}

/* *other: they do not ascend by row and column, or rows are of other ranks. */
static PoiseErr Examine(const PoiseMat A, const Given *g, int64_t *other)
{
  PoiseInt row = -1, col = -1;
  for (int64_t k = 0; k < g->host.n; k++) {
    PoiseInt i = RowOf(g, k), j = ColumnOf(g, k);
    TRY(CheckRange(g, k, "row", i, A->rows->N));
    TRY(CheckRange(g, k, "column", j, A->cols->N));
    if (i < row || (i == row && j <= col)) *other = 1;
    if (i < A->rows->begin || i >= A->rows->begin + A->rows->n) *other = 1;
    row = i, col = j;
  }
  return POISE_OK;
}

static PoiseErr WrapValues(PoiseMat A, const Given *g)
{
  size_t bytes = (size_t)g->in->n * sizeof(double);
  void *val = (void *)(uintptr_t)g->in->val;
  A->csr.nz = g->in->n;
  return g->there ? poiseBufferWrapDevice(A->ctx->device, bytes, "values", val, g->own, &A->csr.val)
                  : poiseBufferWrap(A->ctx->device, bytes, "values", val, g->own, &A->csr.val);
}

/* ---- triplets in the order of rows ----------------------------------------------------------- */

static PoiseErr TakeColumns(Device *dev, Given *g, Buffer *col)
{
  size_t bytes = (size_t)g->in->n * sizeof(int32_t);
  int32_t *to;
  if (g->columns.dev) {
    *col = g->columns;
    g->columns = (Buffer){0};
    return POISE_OK;
  }
  TRY(poiseBufferCreate(dev, bytes, "columns", col));
  TRY(poiseBufferWrite(col, DEVICE, &to));
  return poiseDeviceCopy(dev, to, g->col, bytes, COPY_ON_DEVICE);
}

static PoiseErr FillRowsThere(PoiseMat C, Given *g)
{
  Csr *c = &C->csr;
  Device *dev = C->ctx->device;
  poiseCsrMeasure(C);
  RowsOffsetsArgs a = {.n = c->m + 1, .nz = g->in->n, .begin = c->row, .row = g->row};
  c->wide = a.nz > poiseContextHome(C->ctx)->hooks.most_narrow;
  a.wide = c->wide;
  TRY(WrapValues(C, g));
  TRY(poiseBufferCreate(dev, (size_t)a.n * (c->wide ? sizeof(int64_t) : sizeof(int32_t)), "row offsets",
                        &c->ptr));
  TRY(poiseBufferWrite(&c->ptr, DEVICE, &a.ptr));
  TRY(LAUNCH(dev, rows_offsets, &a));
  TRY(TakeColumns(dev, g, &c->col));
  TRY(PoiseSize(C->ctx) > 1 ? poiseGhostsNumberThere(C, c) : POISE_OK);
  return poiseDeviceSync(dev); /* the application's arrays have served */
}

static PoiseErr FillRows(PoiseMat C, const Given *g, int64_t **ptr)
{
  PoiseCSR in = {.col32 = g->host.col32, .col64 = g->host.col64, .base = g->host.base};
  poiseCsrMeasure(C);
  TRY(poiseAllocArray(C->ctx, C->csr.m + 1, sizeof **ptr, "row offsets", ptr));
  for (int64_t k = 0; k < g->host.n; k++) (*ptr)[RowOf(g, k) - C->csr.row + 1]++;
  (*ptr)[0] = in.base;
  for (int64_t i = 0; i < C->csr.m; i++) (*ptr)[i + 1] += (*ptr)[i];
  in.ptr64 = *ptr;
  TRY(WrapValues(C, g));
  TRY(poiseCsrConvertOffsets(C, &in));
  return poiseCsrNumberColumns(C, &in);
}

/* Row offsets, and columns as the library numbers them, make a CSR of the application's values. */
static PoiseErr BuildSorted(PoiseMat A, Given *g, bool there)
{
  Held *h = &poisePcooOf(A)->held;
  int64_t *ptr = NULL;
  TRY(poiseMatCreateTyped(A->ctx, &poiseMatType_csri, A->rows->n, A->cols->n, A->rows->N, A->cols->N,
                          &h->csr));
  PoiseErr e = there ? FillRowsThere(h->csr, g) : FillRows(h->csr, g, &ptr);
  e = poiseCsrComplete(h->csr, e);
  poiseFree(A->ctx, &ptr);
  if (e) return e;
  h->csr->assembled = true;
  poiseHeldSizes(A, h);
  return POISE_OK;
}

/* ---- triplets in any order ------------------------------------------------------------------- */

static bool IsOwned(const Axis *a, PoiseInt global)
{
  return global >= a->layout->begin && global < a->layout->begin + a->n;
}

/* local[k] = the number of the row, or column, of triplet k on its axis. */
static PoiseErr NumberAxis(PoiseContext ctx, const Given *g, PoiseInt (*of)(const Given *, int64_t),
                           Ghosts *ghosts, Axis *a, int32_t *local)
{
  if (a->n > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "triplets of %lld rows or columns of rank %d, more than 2^31",
         (long long)a->n, PoiseRank(ctx));
  if (PoiseSize(ctx) > 1) {
    TRY(poiseGhostsCreate(ctx, a->layout->N, ghosts));
    for (int64_t k = 0; k < g->host.n; k++)
      if (!IsOwned(a, of(g, k))) TRY(poiseGhostsAdd(ghosts, of(g, k)));
    TRY(poiseGhostsNumber(ghosts, INT32_MAX - a->n, &a->nghost, &a->ghost));
  }
  for (int64_t k = 0; k < g->host.n; k++) {
    PoiseInt global = of(g, k);
    local[k] = IsOwned(a, global) ? (int32_t)(global - a->layout->begin)
                                  : (int32_t)a->n + poiseGhostsFind(ghosts, global);
  }
  return POISE_OK;
}

static PoiseErr Number(PoiseContext ctx, const Given *g, PoiseInt (*of)(const Given *, int64_t),
                       const Layout *layout, Axis *a, int32_t **local)
{
  Ghosts ghosts = {0};
  *a = (Axis){.layout = layout, .n = layout->n};
  TRY(poiseAllocArray(ctx, g->host.n, sizeof **local, "local rows and columns", local));
  PoiseErr e = NumberAxis(ctx, g, of, &ghosts, a, *local);
  poiseGhostsDestroy(&ghosts);
  return e;
}

static PoiseErr MakeByRow(PoiseMat A, const Given *g)
{
  Pcoo *t = poisePcooOf(A);
  int32_t *row = NULL, *col = NULL;
  bool wide = g->host.n > poiseContextHome(A->ctx)->hooks.most_narrow;
  PoiseErr e = Number(A->ctx, g, RowOf, A->rows, &t->rows, &row);
  if (!e) e = Number(A->ctx, g, ColumnOf, A->cols, &t->columns, &col);
  const LocalTriplets in = {
      .n = g->host.n, .columns = t->rows.n + t->rows.nghost, .row = col, .col = row, .wide = wide};
  if (!e) e = poisePcooIndex(A->ctx->device, &in, &t->rows, &t->columns, &t->by_row);
  poiseFree(A->ctx, &row);
  poiseFree(A->ctx, &col);
  return e;
}

static PoiseErr BuildIndexed(PoiseMat A, const Given *g)
{
  Pcoo *t = poisePcooOf(A);
  Csr *c = &A->csr;
  PoiseErr e = MakeByRow(A, g);
  if (!e) e = WrapValues(A, g);
  e = PoiseAgree(A->ctx, e);
  if (!e && PoiseSize(A->ctx) > 1) e = poiseHaloCreate(A->rows, t->rows.nghost, t->rows.ghost, &t->rows.halo);
  if (!e && PoiseSize(A->ctx) > 1)
    e = poiseHaloCreate(A->cols, t->columns.nghost, t->columns.ghost, &t->columns.halo);
  if (e && c->val.dev) poiseBufferDisown(&c->val); /* the arrays stay the application's */
  TRY(e);
  c->m = t->rows.n + t->rows.nghost, c->nloc = t->columns.n, c->nghost = t->columns.nghost;
  c->wide = t->by_row.by.wide;
  A->assembled = true;
  return POISE_OK;
}

/* ---- creation -------------------------------------------------------------------------------- */

static PoiseErr Build(PoiseMat A, Given *g)
{
  int64_t other = 0;
  PoiseErr e = CheckGiven(g->in);
  if (!e) e = CheckPlaces(A->ctx, g);
  if (!e) e = ExamineThere(A, g, &other);
  TRY(PoiseAgree(A->ctx, e));
  TRY(poiseCommMaxInt(A->ctx->comm, &other, 1));
  if (!other) return BuildSorted(A, g, true);
  poiseBufferDestroy(&g->rows);
  poiseBufferDestroy(&g->columns);
  e = OpenGiven(A->ctx, g);
  other = 0;
  if (!e) e = Examine(A, g, &other);
  TRY(PoiseAgree(A->ctx, e));
  TRY(poiseCommMaxInt(A->ctx->comm, &other, 1));
  return other ? BuildIndexed(A, g) : BuildSorted(A, g, false);
}

static PoiseErr Create(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                       const PoiseTriplets *triplets, PoiseOwn own, bool device, PoiseMat *A)
{
  Given g = {.in = triplets, .own = own, .there = device && !ctx->device->ops->is_host};
  TRY(poiseMatCreateTyped(ctx, &poiseMatType_pcoo, m, n, M, N, A));
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = Build(*A, &g);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  CloseGiven(ctx, &g);
  if (e)
    PoiseMatDestroy(A);
  else if (own == POISE_ADOPT)
    ReleaseAdopted(ctx, &g);
  return e;
}

PoiseErr PoiseMatCreateTriplets(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                const PoiseTriplets *triplets, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return Create(ctx, m, n, M, N, triplets, own, false, A);
}

PoiseErr PoiseMatCreateDeviceTriplets(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                                      const PoiseTriplets *triplets, PoiseOwn own, PoiseMat *A)
{
  CALLED(OBJECT(ctx), WORD(own, POISE_BORROW + 1), GIVEN(A));
  return Create(ctx, m, n, M, N, triplets, own, true, A);
}

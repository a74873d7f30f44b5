/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type pcoo: a matrix that the application holds as triplets, after pCOO (Chen and others 2020). The triplets
  of a rank are its part. Values stay where they are; rows and columns become an index of them.

  Triplets that ascend by row and column, of the rank's own rows, are a CSR that lacks its row offsets. Other
  triplets get an index by row: where the value of each entry stands, and its column. Rows and columns of
  other ranks are ghosts. The halo of the columns brings entries of x. What a rank adds to ghost rows travels
  back by the halo of the rows, and is added in the order of ranks.
*/
#include "held.h"
#include "mat/csr/check_arrays.h"
#include "mat/csr/complete.h"
#include "mat/csr/convert.h"
#include "mat/csr/numbering.h"
#include "row_blocks.h"

typedef struct Axis { /* the rows, or the columns, of this rank's triplets: [owned | ghosts] */
  const Layout *layout;
  int64_t n, nghost; /* n: owned */
  PoiseInt *ghost;   /* ascending */
  Halo *halo;        /* NULL on one rank */
  Buffer whole;      /* a vector with its ghosts */
} Axis;

typedef struct Index {
  Transposed by;
  RowBlocks blocks;
  int64_t nz;
  bool made;
} Index;

typedef struct Pcoo {
  Held held; /* used if there is a CSR; else the others: */
  Axis rows, columns;
  Index by_row, by_column, diagonal; /* the latter two are made on first need */
  Buffer one;                        /* the x by which the diagonal is a product */
} Pcoo;

static Pcoo *PcooOf(PoiseMat A)
{
  return A->data;
}

/* ---- indices --------------------------------------------------------------------------------- */

static IndexedProduct ProductOf(Index *x, const Axis *to, const Axis *from)
{
  return (IndexedProduct){.n = to->n + to->nghost,
                          .owned = to->n,
                          .m = from->n + from->nghost,
                          .nz = x->nz,
                          .index = &x->by,
                          .blocks = &x->blocks};
}

static void DestroyIndex(Index *x)
{
  poiseTransposedDestroy(&x->by);
  poiseRowBlocksDestroy(&x->blocks);
  *x = (Index){0};
}

/* Make an index of triplets whose columns are those of axis `to`, for the device alone. */
static PoiseErr MakeIndex(Device *dev, const LocalTriplets *in, const Axis *to, const Axis *from, Index *x)
{
  x->nz = in->n;
  const IndexedProduct p = ProductOf(x, to, from);
  TRY(poiseTransposedOfTriplets(dev, in, &x->by));
  TRY(poiseBufferToDevice(&x->by.ptr));
  TRY(poiseBufferToDevice(&x->by.from));
  TRY(poiseBufferToDevice(&x->by.row));
  TRY(poiseIndexedCut(dev, &p));
  x->made = true;
  return POISE_OK;
}

typedef struct ByRow { /* the index by row on the host */
  const void *ptr, *from;
  const int32_t *col;
  bool wide;
} ByRow;

static PoiseErr ReadByRow(Pcoo *t, ByRow *h)
{
  Transposed *by = &t->by_row.by;
  h->wide = by->wide;
  TRY(poiseBufferRead(&by->ptr, HOST, &h->ptr));
  TRY(poiseBufferRead(&by->from, HOST, &h->from));
  return poiseBufferRead(&by->row, HOST, &h->col);
}

static int64_t Wide(bool wide, const void *array, int64_t k)
{
  return wide ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

static PoiseInt Global(const Axis *a, int64_t k)
{
  return k < a->n ? a->layout->begin + k : a->ghost[k - a->n];
}

/* The entries of the index by row, by column; or those of the diagonal, in column 0, by row. */
static PoiseErr Reindex(PoiseMat A, bool diagonal, int32_t *row, void *from)
{
  Pcoo *t = PcooOf(A);
  ByRow h;
  int64_t n = 0, rows = t->rows.n + t->rows.nghost;
  TRY(ReadByRow(t, &h));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = Wide(h.wide, h.ptr, i); k < Wide(h.wide, h.ptr, i + 1); k++) {
      if (diagonal && Global(&t->rows, i) != Global(&t->columns, h.col[k])) continue;
      row[n] = (int32_t)i;
      if (diagonal && h.wide) ((int64_t *)from)[n] = ((const int64_t *)h.from)[k];
      if (diagonal && !h.wide) ((int32_t *)from)[n] = ((const int32_t *)h.from)[k];
      n++;
    }
  const Axis single = {.n = 1};
  LocalTriplets in = {.n = n, .wide = h.wide, .from = diagonal ? from : h.from};
  in.columns = diagonal ? rows : t->columns.n + t->columns.nghost;
  in.col = diagonal ? row : h.col;
  in.row = diagonal ? NULL : row;
  PoiseErr e = diagonal ? MakeIndex(A->ctx->device, &in, &t->rows, &single, &t->diagonal)
                        : MakeIndex(A->ctx->device, &in, &t->columns, &t->rows, &t->by_column);
  if (e) DestroyIndex(diagonal ? &t->diagonal : &t->by_column);
  TRY(e);
  TRY(poiseBufferToDevice(&t->by_row.by.ptr)); /* without the copies that were read */
  TRY(poiseBufferToDevice(&t->by_row.by.from));
  return poiseBufferToDevice(&t->by_row.by.row);
}

static PoiseErr MakeFromRows(PoiseMat A, bool diagonal, const Index *x)
{
  const Pcoo *t = PcooOf(A);
  int32_t *row = NULL;
  void *from = NULL;
  if (x->made) return POISE_OK;
  PoiseErr e = poiseAllocArray(A->ctx, A->csr.nz, sizeof *row, "rows of triplets", &row);
  if (!e && diagonal)
    e = poiseAllocArray(A->ctx, A->csr.nz, t->by_row.by.wide ? 8 : 4, "places of triplets", &from);
  if (!e) e = Reindex(A, diagonal, row, from);
  poiseFree(A->ctx, &row);
  poiseFree(A->ctx, &from);
  return e;
}

/* ---- products -------------------------------------------------------------------------------- */

static PoiseErr MakeWhole(Device *dev, Axis *a, double **whole)
{
  size_t bytes = (size_t)(a->n + a->nghost) * sizeof(double);
  *whole = NULL;
  if (!a->nghost) return POISE_OK;
  if (!a->whole.dev) TRY(poiseBufferCreate(dev, bytes, "a vector with its ghosts", &a->whole));
  return poiseBufferWrite(&a->whole, DEVICE, whole);
}

/* *whole = [x | ghosts]. mine: this rank's error so far; the exchange takes place all the same. */
static PoiseErr Collect(Device *dev, Axis *a, PoiseErr mine, const double *x, const double **whole)
{
  const double *ghost;
  double *to;
  *whole = x;
  if (!a->halo) return mine;
  TRY(poiseHaloBegin(a->halo, mine, x));
  TRY(poiseHaloEnd(a->halo, &ghost));
  if (!a->nghost) return POISE_OK;
  TRY(MakeWhole(dev, a, &to));
  *whole = to;
  TRY(poiseDeviceCopy(dev, to, x, (size_t)a->n * sizeof *to, COPY_ON_DEVICE));
  return poiseDeviceCopy(dev, to + a->n, ghost, (size_t)a->nghost * sizeof *to, COPY_ON_DEVICE);
}

/* y = the product of index x with a vector over axis `from`, and ghosts of y to their owners. */
static PoiseErr Launch(PoiseMat A, Index *x, Axis *to, const Axis *from, const double *in, double *y)
{
  const IndexedProduct p = ProductOf(x, to, from);
  CsrMultTransposeArgs a = {.c.m.x = in, .c.m.y = y};
  if (to->halo) TRY(poiseHaloGhostWrite(to->halo, &a.ghost));
  TRY(poiseIndexedArguments(&p, &A->csr.val, &a));
  return LAUNCH(A->ctx->device, csr_mult_transpose, &a);
}

static PoiseErr Deliver(Axis *to, PoiseErr mine, double *y)
{
  return to->halo ? poiseHaloReverse(to->halo, mine, y) : mine;
}

/* Reads 16 bytes per nonzero: value, its place, and column; values in the order of rows. */
static PoiseErr Mult_PCOO(PoiseMat A, PoiseVec x, PoiseVec y)
{
  Pcoo *t = PcooOf(A);
  const double *in = NULL, *whole = NULL;
  double *out = NULL;
  if (t->held.csr) return poiseHeldMult(&t->held, false, x, y);
  PoiseErr e = poiseVecRead(x, &in);
  if (!e) e = poiseVecWrite(y, &out);
  e = Collect(A->ctx->device, &t->columns, e, in, &whole);
  if (!e) e = Launch(A, &t->by_row, &t->rows, &t->columns, whole, out);
  return Deliver(&t->rows, e, out);
}

static PoiseErr MultTranspose_PCOO(PoiseMat A, PoiseVec x, PoiseVec y)
{
  Pcoo *t = PcooOf(A);
  const double *in = NULL, *whole = NULL;
  double *out = NULL;
  if (t->held.csr) return poiseHeldMult(&t->held, true, x, y);
  PoiseErr e = poiseVecRead(x, &in);
  if (!e) e = poiseVecWrite(y, &out);
  if (!e) e = MakeFromRows(A, false, &t->by_column);
  e = Collect(A->ctx->device, &t->rows, e, in, &whole);
  if (!e) e = Launch(A, &t->by_column, &t->columns, &t->rows, whole, out);
  return Deliver(&t->columns, e, out);
}

static PoiseErr Ready_PCOO(PoiseMat A)
{
  Pcoo *t = PcooOf(A);
  double *whole;
  if (t->held.csr) return poiseHeldReady(&t->held);
  const IndexedProduct p = ProductOf(&t->by_row, &t->rows, &t->columns);
  TRY(MakeWhole(A->ctx->device, &t->columns, &whole));
  return poiseIndexedArguments(&p, &A->csr.val, &(CsrMultTransposeArgs){0});
}

/* The diagonal is the product of the entries on it with ones. */
static PoiseErr StartDiagonal(PoiseMat A, int b, const double **one)
{
  Pcoo *t = PcooOf(A);
  double *p;
  TRY(poiseHeldCheckDiagonal(A, b));
  TRY(MakeFromRows(A, true, &t->diagonal));
  if (!t->one.dev) {
    TRY(poiseBufferCreate(A->ctx->device, sizeof *p, "a factor of the diagonal", &t->one));
    TRY(poiseBufferWrite(&t->one, HOST, &p));
    *p = 1;
  }
  return poiseBufferRead(&t->one, DEVICE, one);
}

static PoiseErr Diagonal_PCOO(PoiseMat A, int b, double *d)
{
  Pcoo *t = PcooOf(A);
  const double *one = NULL;
  if (t->held.csr) return poiseHeldDiagonal(A, &t->held, b, d);
  PoiseErr e = StartDiagonal(A, b, &one);
  if (!e) e = Launch(A, &t->diagonal, &t->rows, &(Axis){.n = 1}, one, d);
  return Deliver(&t->rows, e, d);
}

static PoiseErr SetValues_PCOO(PoiseMat A, Side where, const double *val)
{
  const Pcoo *t = PcooOf(A);
  return t->held.csr ? poiseHeldSetValues(&t->held, where, val) : poiseMatReplaceValues(A, where, val);
}

/* ---- norms ----------------------------------------------------------------------------------- */

typedef struct Sorted { /* triplets in the order of rows */
  PoiseInt *row, *col;
  double *val;
} Sorted;

static PoiseErr Sort(PoiseMat A, Sorted *s)
{
  Pcoo *t = PcooOf(A);
  const double *val;
  ByRow h;
  TRY(ReadByRow(t, &h));
  TRY(poiseBufferRead(&A->csr.val, HOST, &val));
  TRY(poiseAllocArray(A->ctx, A->csr.nz, sizeof *s->row, "rows of triplets", &s->row));
  TRY(poiseAllocArray(A->ctx, A->csr.nz, sizeof *s->col, "columns of triplets", &s->col));
  TRY(poiseAllocArray(A->ctx, A->csr.nz, sizeof *s->val, "values of triplets", &s->val));
  for (int64_t i = 0; i < t->rows.n + t->rows.nghost; i++)
    for (int64_t k = Wide(h.wide, h.ptr, i); k < Wide(h.wide, h.ptr, i + 1); k++) {
      s->row[k] = Global(&t->rows, i);
      s->col[k] = Global(&t->columns, h.col[k]);
      s->val[k] = val[Wide(h.wide, h.from, k)];
    }
  TRY(poiseBufferToDevice(&t->by_row.by.ptr));
  TRY(poiseBufferToDevice(&t->by_row.by.from));
  return poiseBufferToDevice(&t->by_row.by.row);
}

/* Triplets of one entry, which may be on several ranks, have to be summed before absolute values are taken.
   So A is assembled for the call. */
static PoiseErr Norm_PCOO(PoiseMat A, PoiseNorm type, double *norm)
{
  const Pcoo *t = PcooOf(A);
  Sorted s = {0};
  PoiseMat B = NULL;
  if (t->held.csr) return poiseHeldNorm(&t->held, type, norm);
  PoiseErr e = PoiseAgree(A->ctx, Sort(A, &s));
  if (!e)
    e = poiseMatCreateTyped(A->ctx, &poiseMatType_csr, A->rows->n, A->cols->n, A->rows->N, A->cols->N, &B);
  if (!e) e = PoiseMatSetPatternCOO(B, A->csr.nz, s.row, s.col);
  if (!e) e = PoiseMatSetValuesCOO(B, s.val);
  if (!e) e = PoiseMatNorm(B, type, norm);
  PoiseMatDestroy(&B);
  poiseFree(A->ctx, &s.row);
  poiseFree(A->ctx, &s.col);
  poiseFree(A->ctx, &s.val);
  return e;
}

/* ---- view and bytes -------------------------------------------------------------------------- */

static PoiseErr View_PCOO(PoiseMat A)
{
  const Pcoo *t = PcooOf(A);
  Side side = A->ctx->device->ops->is_host ? HOST : DEVICE;
  if (t->held.csr) {
    TRY(poiseHeldView(A, &t->held));
    return PoisePrintf(A->ctx, "  triplets in the order of rows: products as of CSR\n");
  }
  TRY(poiseHeldViewSizes(A, poiseBufferBytes(&A->csr.val, side), t->rows.nghost + t->columns.nghost,
                         "rows and columns"));
  return PoisePrintf(A->ctx, "  triplets in any order: products through an index by row\n");
}

static void IndexBytes(const Index *x, PoiseBytes *sum)
{
  poiseBufferAdd(&x->by.ptr, sum);
  poiseBufferAdd(&x->by.from, sum);
  poiseBufferAdd(&x->by.row, sum);
  poiseRowBlocksBytes(&x->blocks, sum);
}

static void AxisBytes(const Axis *a, PoiseBytes *sum)
{
  sum->host += poiseAllocated(a->ghost);
  poiseHaloBytes(a->halo, sum);
  poiseBufferAdd(&a->whole, sum);
}

static void Bytes_PCOO(PoiseMat A, PoiseBytes *sum) /* the values are A->csr's */
{
  const Pcoo *t = PcooOf(A);
  if (t->held.csr) {
    poiseHeldBytes(&t->held, sum);
    return;
  }
  IndexBytes(&t->by_row, sum);
  IndexBytes(&t->by_column, sum);
  IndexBytes(&t->diagonal, sum);
  AxisBytes(&t->rows, sum);
  AxisBytes(&t->columns, sum);
  poiseBufferAdd(&t->one, sum);
}

static void PredictAxis(const Device *dev, const Axis *a, bool gathers, PoisePrediction *p)
{
  if (!a->halo) return;
  poisePredictHost(a->nghost * (int64_t)sizeof *a->ghost, p);
  poiseHaloPredict(dev, a->nghost, a->halo->nsend, p);
  if (gathers && a->nghost) poisePredict(dev, 8 * (a->n + a->nghost), ON_DEVICE, p);
}

/* An index by row is what a CSR of the transpose has for products with its transpose. Ghosts are those of A's
   triplets, whatever counts say. */
static PoiseErr Predict_PCOO(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p)
{
  const Pcoo *t = data;
  const Device *dev = A->ctx->device;
  const PoiseMatCounts *counts = plan->counts;
  if (t->held.csr) return poiseHeldPredict(&t->held, counts, p);
  bool transpose = counts ? counts->transpose != 0 : t->by_column.made;
  int64_t nz = counts ? counts->nonzeros : A->csr.nz;
  MatPlan index = {.transpose = true, .nz = nz, .m = nz, .nloc = t->rows.n, .nghost = t->rows.nghost};
  poisePredict(dev, 8 * nz, ON_BOTH, p);
  poiseCsrDataPredict(A, &index, p);
  index.nloc = t->columns.n, index.nghost = t->columns.nghost;
  if (transpose) poiseCsrDataPredict(A, &index, p);
  PredictAxis(dev, &t->rows, transpose, p);
  PredictAxis(dev, &t->columns, true, p);
  p->beyond = "the index of the diagonal, if it is asked for";
  return POISE_OK;
}

static void DestroyAxis(PoiseContext ctx, Axis *a)
{
  poiseHaloDestroy(&a->halo);
  poiseFree(ctx, &a->ghost);
  poiseBufferDestroy(&a->whole);
}

static void Destroy_PCOO(PoiseMat A)
{
  Pcoo *t = PcooOf(A);
  PoiseMatDestroy(&t->held.csr);
  DestroyIndex(&t->by_row);
  DestroyIndex(&t->by_column);
  DestroyIndex(&t->diagonal);
  DestroyAxis(A->ctx, &t->rows);
  DestroyAxis(A->ctx, &t->columns);
  poiseBufferDestroy(&t->one);
}

const MatType poiseMatType_pcoo = {
    .name = "pcoo",
    .size = sizeof(Pcoo),
    .ready = Ready_PCOO,
    .mult = Mult_PCOO,
    .mult_transpose = MultTranspose_PCOO,
    .diagonal = Diagonal_PCOO,
    .norm = Norm_PCOO,
    .set_values = SetValues_PCOO,
    .view = View_PCOO,
    .bytes = Bytes_PCOO,
    .predict = Predict_PCOO,
    .destroy = Destroy_PCOO,
};

/* ---- the application's arrays ---------------------------------------------------------------- */

typedef struct Given {
  const PoiseTriplets *in; /* the application's */
  PoiseTriplets host;      /* with rows and columns on the host */
  PoiseOwn own;
  bool there; /* the arrays are on the device */
} Given;

static PoiseInt RowOf(const Given *g, int64_t k)
{
  return (g->host.row32 ? g->host.row32[k] : g->host.row64[k]) - g->host.base;
}

static PoiseInt ColumnOf(const Given *g, int64_t k)
{
  return (g->host.col32 ? g->host.col32[k] : g->host.col64[k]) - g->host.base;
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
static PoiseErr Fetch(PoiseContext ctx, int64_t n, size_t size, const void *array, const char *argument,
                      const void *host)
{
  void *p = NULL;
  if (!array) return POISE_OK;
  TRY(poiseDeviceCheckPointer(ctx->device, array, (size_t)n * size, argument));
  TRY(poiseAllocArray(ctx, n, size, "indices of triplets", &p));
  memcpy((void *)(uintptr_t)host, &p, sizeof p);
  return poiseArraysFetch(ctx->device, array, (size_t)n * size, p);
}

static PoiseErr OpenGiven(PoiseContext ctx, Given *g)
{
  const PoiseTriplets *in = g->in;
  Device *dev = ctx->device;
  TRY(CheckGiven(in));
  g->host = (PoiseTriplets){.n = in->n, .base = in->base};
  if (g->there) {
    TRY(Fetch(ctx, in->n, sizeof(int32_t), in->row32, "triplets->row32", &g->host.row32));
    TRY(Fetch(ctx, in->n, sizeof(int64_t), in->row64, "triplets->row64", &g->host.row64));
    TRY(Fetch(ctx, in->n, sizeof(int32_t), in->col32, "triplets->col32", &g->host.col32));
    TRY(Fetch(ctx, in->n, sizeof(int64_t), in->col64, "triplets->col64", &g->host.col64));
    return poiseDeviceCheckPointer(dev, in->val, (size_t)in->n * sizeof(double), "triplets->val");
  }
  g->host = *in;
  TRY(poiseDeviceCheckHost(dev, in->row32 ? (const void *)in->row32 : in->row64, "row"));
  TRY(poiseDeviceCheckHost(dev, in->col32 ? (const void *)in->col32 : in->col64, "col"));
  return poiseDeviceCheckHost(dev, in->val, "val");
}

static void CloseGiven(PoiseContext ctx, Given *g)
{
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
  size_t bytes = (size_t)g->host.n * sizeof(double);
  void *val = (void *)(uintptr_t)g->in->val;
  A->csr.nz = g->host.n;
  return g->there ? poiseBufferWrapDevice(A->ctx->device, bytes, "values", val, g->own, &A->csr.val)
                  : poiseBufferWrap(A->ctx->device, bytes, "values", val, g->own, &A->csr.val);
}

/* ---- triplets in the order of rows ----------------------------------------------------------- */

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
static PoiseErr BuildSorted(PoiseMat A, const Given *g)
{
  Held *h = &PcooOf(A)->held;
  int64_t *ptr = NULL;
  TRY(poiseMatCreateTyped(A->ctx, &poiseMatType_csri, A->rows->n, A->cols->n, A->rows->N, A->cols->N,
                          &h->csr));
  PoiseErr e = poiseCsrComplete(h->csr, FillRows(h->csr, g, &ptr));
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
  Pcoo *t = PcooOf(A);
  int32_t *row = NULL, *col = NULL;
  bool wide = g->host.n > poiseContextHome(A->ctx)->hooks.most_narrow;
  PoiseErr e = Number(A->ctx, g, RowOf, A->rows, &t->rows, &row);
  if (!e) e = Number(A->ctx, g, ColumnOf, A->cols, &t->columns, &col);
  const LocalTriplets in = {
      .n = g->host.n, .columns = t->rows.n + t->rows.nghost, .row = col, .col = row, .wide = wide};
  if (!e) e = MakeIndex(A->ctx->device, &in, &t->rows, &t->columns, &t->by_row);
  poiseFree(A->ctx, &row);
  poiseFree(A->ctx, &col);
  return e;
}

static PoiseErr BuildIndexed(PoiseMat A, const Given *g)
{
  Pcoo *t = PcooOf(A);
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
  PoiseErr e = OpenGiven(A->ctx, g);
  if (!e) e = Examine(A, g, &other);
  TRY(PoiseAgree(A->ctx, e));
  TRY(poiseCommMaxInt(A->ctx->comm, &other, 1));
  return other ? BuildIndexed(A, g) : BuildSorted(A, g);
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

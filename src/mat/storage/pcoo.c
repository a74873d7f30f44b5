/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type pcoo: a matrix that the application holds as triplets, after pCOO (Chen and others 2020). The triplets
  of a rank are its part. Values stay where they are; rows and columns become an index of them.

  Triplets that ascend by row and column, of the rank's own rows, are a CSR that lacks its row offsets. Other
  triplets get an index by row: where the value of each entry stands, and its column. Rows and columns of
  other ranks are ghosts. The halo of the columns brings entries of x. What a rank adds to ghost rows travels
  back by the halo of the rows, and is added in the order of ranks.
*/
#include "mat/csr/replace_values.h"
#include "pcoo.h"

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

PoiseErr poisePcooIndex(Device *dev, const LocalTriplets *in, const Axis *to, const Axis *from, Index *x)
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
  Pcoo *t = poisePcooOf(A);
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
  PoiseErr e = diagonal ? poisePcooIndex(A->ctx->device, &in, &t->rows, &single, &t->diagonal)
                        : poisePcooIndex(A->ctx->device, &in, &t->columns, &t->rows, &t->by_column);
  if (e) DestroyIndex(diagonal ? &t->diagonal : &t->by_column);
  TRY(e);
  TRY(poiseBufferToDevice(&t->by_row.by.ptr)); /* without the copies that were read */
  TRY(poiseBufferToDevice(&t->by_row.by.from));
  return poiseBufferToDevice(&t->by_row.by.row);
}

static PoiseErr MakeFromRows(PoiseMat A, bool diagonal, const Index *x)
{
  const Pcoo *t = poisePcooOf(A);
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

/* Room for k columns. */
static PoiseErr MakeWhole(Device *dev, Axis *a, int k, double **whole)
{
  Buffer *b = k > 1 ? &a->wide : &a->whole;
  size_t bytes = (size_t)((a->n + a->nghost) * k) * sizeof(double);
  *whole = NULL;
  if (!a->nghost) return POISE_OK;
  if (b->bytes < bytes) poiseBufferDestroy(b);
  if (!b->dev) TRY(poiseBufferCreate(dev, bytes, "a vector with its ghosts", b));
  return poiseBufferWrite(b, DEVICE, whole);
}

/* *whole = [x | ghosts], of k columns. mine: this rank's error so far; the exchange takes place all the
   same. */
static PoiseErr Collect(Device *dev, Axis *a, int k, PoiseErr mine, const double *x, const double **whole)
{
  Halo *halo = poiseHaloOf(a->halo, k);
  const double *ghost;
  double *to;
  *whole = x;
  if (!halo) return mine;
  TRY(poiseHaloBegin(halo, mine, x));
  TRY(poiseHaloEnd(halo, &ghost));
  if (!a->nghost) return POISE_OK;
  TRY(MakeWhole(dev, a, k, &to));
  *whole = to;
  TRY(poiseDeviceCopy(dev, to, x, (size_t)(a->n * k) * sizeof *to, COPY_ON_DEVICE));
  return poiseDeviceCopy(dev, to + a->n * k, ghost, (size_t)(a->nghost * k) * sizeof *to, COPY_ON_DEVICE);
}

/* y = the product of index x with a vector of k columns over axis `from`, and ghosts of y to their owners. */
static PoiseErr Launch(PoiseMat A, Index *x, Axis *to, const Axis *from, int k, const double *in, double *y)
{
  const IndexedProduct p = ProductOf(x, to, from);
  CsrMultTransposeArgs a = {.c.m.x = in, .c.m.y = y};
  if (to->halo) TRY(poiseHaloGhostWrite(poiseHaloOf(to->halo, k), &a.ghost));
  TRY(poiseIndexedArguments(&p, &A->csr.val, &a));
  TRY(poiseIndexedWide(&p, k, &a));
  return LAUNCH(A->ctx->device, csr_mult_transpose, &a);
}

static PoiseErr Deliver(Axis *to, int k, PoiseErr mine, double *y)
{
  return to->halo ? poiseHaloReverse(poiseHaloOf(to->halo, k), mine, y) : mine;
}

/* y, over axis `to`, = the entries of the index times x, over axis `from`. Reads 16 bytes per nonzero: value,
   its place, and the other axis' number. mine: an earlier failure of this rank, which takes part all the
   same. */
static PoiseErr Multiply(PoiseMat A, PoiseErr mine, Index *index, Axis *to, Axis *from, PoiseVec x,
                         PoiseVec y)
{
  const double *in = NULL, *whole = NULL;
  double *out = NULL;
  int k = poiseVecColumns(x);
  PoiseErr e = poiseVecRead(x, &in);
  if (!e) e = poiseVecWrite(y, &out);
  if (!e) e = mine;
  e = Collect(A->ctx->device, from, k, e, in, &whole);
  if (!e) e = Launch(A, index, to, from, k, whole, out);
  return Deliver(to, k, e, out);
}

static PoiseErr Mult_PCOO(PoiseMat A, PoiseVec x, PoiseVec y)
{
  Pcoo *t = poisePcooOf(A);
  if (t->held.csr) return poiseHeldMult(&t->held, false, x, y);
  return Multiply(A, POISE_OK, &t->by_row, &t->rows, &t->columns, x, y);
}

static PoiseErr MultTranspose_PCOO(PoiseMat A, PoiseVec x, PoiseVec y)
{
  Pcoo *t = poisePcooOf(A);
  if (t->held.csr) return poiseHeldMult(&t->held, true, x, y);
  PoiseErr made = MakeFromRows(A, false, &t->by_column);
  return Multiply(A, made, &t->by_column, &t->columns, &t->rows, x, y);
}

static PoiseErr Ready_PCOO(PoiseMat A)
{
  Pcoo *t = poisePcooOf(A);
  double *whole;
  if (t->held.csr) return poiseHeldReady(&t->held);
  const IndexedProduct p = ProductOf(&t->by_row, &t->rows, &t->columns);
  if (t->rows.halo) TRY(poiseHaloReady(t->rows.halo));
  if (t->columns.halo) TRY(poiseHaloReady(t->columns.halo));
  TRY(MakeWhole(A->ctx->device, &t->columns, 1, &whole));
  return poiseIndexedArguments(&p, &A->csr.val, &(CsrMultTransposeArgs){0});
}

static PoiseErr ReadyColumns_PCOO(PoiseMat A, bool transposed, int k)
{
  Pcoo *t = poisePcooOf(A);
  Device *dev = A->ctx->device;
  Index *index = transposed ? &t->by_column : &t->by_row;
  double *whole;
  if (t->held.csr) return poiseHeldReadyColumns(&t->held, transposed, k);
  PoiseErr e = transposed ? MakeFromRows(A, false, index) : POISE_OK;
  if (!e) e = poiseRowBlocksReadyColumns(dev, &index->blocks, 0);
  if (!e) e = MakeWhole(dev, transposed ? &t->rows : &t->columns, k, &whole);
  TRY(PoiseAgree(A->ctx, e));
  TRY(poiseHaloReadyColumns(t->rows.halo, k));
  return poiseHaloReadyColumns(t->columns.halo, k);
}

/* The diagonal is the product of the entries on it with ones. */
static PoiseErr StartDiagonal(PoiseMat A, int b, const double **one)
{
  Pcoo *t = poisePcooOf(A);
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
  Pcoo *t = poisePcooOf(A);
  const double *one = NULL;
  if (t->held.csr) return poiseHeldDiagonal(A, &t->held, b, d);
  PoiseErr e = StartDiagonal(A, b, &one);
  if (!e) e = Launch(A, &t->diagonal, &t->rows, &(Axis){.n = 1}, 1, one, d);
  return Deliver(&t->rows, 1, e, d);
}

static PoiseErr SetValues_PCOO(PoiseMat A, Side where, const double *val)
{
  const Pcoo *t = poisePcooOf(A);
  return t->held.csr ? poiseHeldSetValues(&t->held, where, val) : poiseMatReplaceValues(A, where, val);
}

/* ---- norms ----------------------------------------------------------------------------------- */

typedef struct Sorted { /* triplets in the order of rows */
  PoiseInt *row, *col;
  double *val;
} Sorted;

static PoiseErr Sort(PoiseMat A, Sorted *s)
{
  Pcoo *t = poisePcooOf(A);
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
  const Pcoo *t = poisePcooOf(A);
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
  const Pcoo *t = poisePcooOf(A);
  Side side = A->ctx->device->ops->is_host ? HOST : DEVICE;
  if (t->held.csr) {
    TRY(poiseHeldView(A, &t->held));
    return poisePrint(A->ctx, "  triplets in the order of rows: products as of CSR\n");
  }
  TRY(poiseHeldViewSizes(A, poiseBufferBytes(&A->csr.val, side), t->rows.nghost + t->columns.nghost,
                         "rows and columns"));
  return poisePrint(A->ctx, "  triplets in any order: products through an index by row\n");
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
  poiseBufferAdd(&a->wide, sum);
}

static void Bytes_PCOO(PoiseMat A, PoiseBytes *sum) /* the values are A->csr's */
{
  const Pcoo *t = poisePcooOf(A);
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
static PoiseErr Predict_PCOO(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  const Pcoo *t = poisePcooOf(A);
  const Device *dev = A->ctx->device;
  const PoiseMatCounts *counts = plan->counts;
  if (t->held.csr) return poiseHeldPredict(&t->held, counts, p);
  bool transpose = counts ? counts->transpose != 0 : t->by_column.made;
  int64_t nz = counts ? counts->nonzeros : A->csr.nz;
  MatPlan index = {.transpose = true, .nz = nz, .m = nz, .nloc = t->rows.n, .nghost = t->rows.nghost};
  if (counts) poisePredict(dev, 8 * nz, ON_BOTH, p);
  if (!counts) poisePredictBuffer(&A->csr.val, p);
  poiseTransposedPredict(A, &index, p);
  index.nloc = t->columns.n, index.nghost = t->columns.nghost;
  if (transpose) poiseTransposedPredict(A, &index, p);
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
  poiseBufferDestroy(&a->wide);
}

static void Destroy_PCOO(PoiseMat A)
{
  Pcoo *t = poisePcooOf(A);
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
    .maker = "PoiseMatCreateTriplets",
    .size = sizeof(Pcoo),
    .ready = Ready_PCOO,
    .ready_columns = ReadyColumns_PCOO,
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Form seg: segmented CSR after segSpMV (He, Tan, Tlelo-Cuautle, Wang, Tang 2015). A row is divided into
  segments of at most S entries. S is the smallest power of two not below the mean row length. Each thread
  block sums about as many segments as every other.

  The arrays stay plain CSR, and a segment's place follows from the offsets. The paper fills segments up with
  zeros (-mat_seg_padded, for comparison). The paper adds the segments of a row on the host. Here the thread
  block adds them, in order. Rows that do not fit into one thread block are split as in csri.
*/
#include "mat/object/bytes.h"
#include "mat/csr/keys_kernels.h"
#include "row_blocks.h"
#include "seg_kernels.h"

static const PoiseOption options[] = {
    {"mat_seg_length", POISE_OPTION_CHOICE, offsetof(ProductOptions, segment), "0", 0, 0,
     "0|1|2|4|8|16|32|64|128|256",
     "entries of a segment; 0: the smallest power of two not below the mean row length, at most 256"},
    {"mat_seg_padded", POISE_OPTION_BOOL, offsetof(ProductOptions, padded), "no", 0, 0, NULL,
     "copy values and columns into zero-padded segments, as published, for comparison; if x is not "
     "finite, zeros times it are NaN"},
    {0},
};

/* ---- the cut --------------------------------------------------------------------------------- */

/* Count the segments of groups of rows in a->count, scanned, and all of them. */
static PoiseErr Count(Device *dev, SegCutArgs *a, int64_t *segments)
{
  int64_t groups = (a->A.m + SEG_ROWS - 1) / SEG_ROWS;
  TRY(LAUNCH(dev, seg_count, a));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = groups, .count = a->count}));
  return poiseDeviceFetch(dev, a->count + groups, sizeof *segments, segments);
}

/* Make row blocks of A, or of the padded segments. */
static PoiseErr Cut(Product *p, SegCutArgs *a)
{
  PoiseMat A = p->A;
  Device *dev = A->ctx->device;
  Segments *s = &p->segments;
  const ProductPlan *plan = &p->plan;
  a->block = plan->row_block, a->limit = p->w.limit = plan->limit, a->fragment = plan->fragment;
  TRY(Count(dev, a, &s->counted));
  a->nrow_block = p->w.n = (s->counted + a->block - 1) / a->block;
  TRY(poiseRowBlocksBegin(dev, A->csr.m, &p->w, &a->row_block, &a->fragments));
  TRY(LAUNCH(dev, seg_cut, a));
  TRY(poiseRowBlocksEnd(dev, &p->w, &a->A));
  return A->csr.halo && !s->padded ? poiseRowBlocksOrder(A, &p->w, POISE_BLOCK)
                                   : POISE_OK; /* padded copies simply wait for ghosts */
}

static PoiseErr PaddedPattern(Segments *s, CsrView *P)
{
  P->nz = s->nz;
  P->ptr32 = NULL, P->ptr64 = NULL;
  TRY(poiseBufferRead(&s->ptr, DEVICE, s->wide ? (void *)&P->ptr64 : (void *)&P->ptr32));
  return poiseBufferRead(&s->col, DEVICE, &P->col);
}

/* Make the offsets of the padded segments, which become those of a->A. */
static PoiseErr Pad(Product *p, SegCutArgs *a)
{
  PoiseContext ctx = p->A->ctx;
  Device *dev = ctx->device;
  Segments *s = &p->segments;
  SegPadArgs pad = {.cut = *a, .P = a->A, .nsegment = s->filled};
  s->nz = s->filled * p->plan.segment;
  s->wide = s->nz > poiseContextHome(ctx)->hooks.most_narrow;
  TRY(poiseBufferCreate(dev, (size_t)(p->A->csr.m + 1) * (s->wide ? 8 : 4), "offsets of segments", &s->ptr));
  TRY(poiseBufferCreate(dev, (size_t)s->nz * sizeof(int32_t), "columns of segments", &s->col));
  TRY(poiseBufferCreate(dev, (size_t)s->nz * sizeof(double), "values of segments", &s->val));
  TRY(poiseBufferWrite(&s->ptr, DEVICE, &pad.ptr));
  TRY(poiseBufferWrite(&s->col, DEVICE, &pad.col)); /* Fill writes all of it, so no zeros are copied */
  pad.P.ptr32 = s->wide ? NULL : pad.ptr, pad.P.ptr64 = s->wide ? pad.ptr : NULL;
  TRY(LAUNCH(dev, seg_offsets, &pad));
  return PaddedPattern(s, &a->A);
}

/* Tiles, where each row is one segment, which is read from where it is. */
static void PlanAgain(Product *p)
{
  const PoiseMat A = p->A;
  ProductRequest request = poiseProductRequest(&p->options, PRODUCT_SEG, 0);
  request.single = !p->segments.padded && p->segments.counted <= A->csr.m;
  poiseProductPlan(&A->ctx->device->model, &request, &A->blocks.statistics, NULL, &p->plan);
}

static PoiseErr CutOrPad(Product *p, Buffer *count)
{
  PoiseMat A = p->A;
  Device *dev = A->ctx->device;
  SegCutArgs a = {.length = p->plan.segment};
  TRY(poiseBufferCreate(dev, (size_t)(A->csr.m / SEG_ROWS + 2) * sizeof(int64_t), "counts of segments",
                        count));
  TRY(poiseBufferWrite(count, DEVICE, &a.count));
  TRY(poiseCsrPattern(&A->csr, &a.A));
  TRY(Count(dev, &a, &p->segments.filled));
  if (p->segments.padded) TRY(Pad(p, &a));
  TRY(Cut(p, &a));
  PlanAgain(p);
  return POISE_OK;
}

/* ---- the form -------------------------------------------------------------------------------- */

/* What the plan says, of all parts. */
static PoiseErr Arguments(Product *p, SegMultArgs *a)
{
  a->length = p->plan.segment, a->segments = p->segments.counted;
  a->c.m.rows = POISE_BLOCK, a->c.m.tile = p->plan.tile, a->c.m.vary = p->A->blocks.vary;
  return poiseRowBlocksArguments(&p->w, &a->c);
}

static PoiseErr Make_SEG(Product *p)
{
  Buffer count = {0};
  p->segments.padded = p->options.padded;
  PoiseErr e = CutOrPad(p, &count);
  poiseBufferDestroy(&count);
  return e ? e : Arguments(p, &(SegMultArgs){0});
}

/* Copy columns and values into the padded segments. */
static PoiseErr Ready_SEG(Product *p)
{
  Segments *s = &p->segments;
  PoiseMat A = p->A;
  SegPadArgs a = {.cut = {.length = p->plan.segment}, .nsegment = s->filled};
  if (!s->padded || s->state == A->version.values) return POISE_OK;
  TRY(poiseCsrView(&A->csr, &a.cut.A));
  a.P = a.cut.A;
  TRY(PaddedPattern(s, &a.P));
  TRY(poiseBufferWrite(&s->col, DEVICE, &a.col));
  TRY(poiseBufferWrite(&s->val, DEVICE, &a.val));
  TRY(LAUNCH(A->ctx->device, seg_fill, &a));
  s->state = A->version.values;
  return POISE_OK;
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once, and 16 per row block. */
static PoiseErr Launch_SEG(Product *p, ProductPart part, const ProductArgs *args)
{
  SegMultArgs a = {0};
  TRY(poiseCsrArguments(p, args, &a.c.m));
  if (p->segments.padded) {
    TRY(PaddedPattern(&p->segments, &a.c.m.A));
    TRY(poiseBufferRead(&p->segments.val, DEVICE, &a.c.m.A.val));
  }
  TRY(Arguments(p, &a));
  TRY(poiseRowBlocksPart(&p->w, part, &a.c));
  return LAUNCH(p->A->ctx->device, seg_mult, &a);
}

static PoiseErr View_SEG(Product *p)
{
  const PoiseMat A = p->A;
  const Segments *s = &p->segments;
  double length = (double)p->plan.segment,
         sums[] = {(double)s->filled, (double)p->w.parts, (double)p->w.nfragment, (double)s->nz,
                   (double)A->csr.nz};
  char summed[64] = "rows summed one by one";
  TRY(PoiseSum(A->ctx, 5, sums));
  TRY(PoiseMax(A->ctx, 1, &length)); /* of the rank with the longest segments */
  int lanes = 1 << poiseSegLanes((int64_t)length);
  if (poiseModelIsGpu(&A->ctx->device->model))
    snprintf(summed, sizeof summed, lanes > 1 ? "%d threads for each" : "a thread for each", lanes);
  TRY(poisePrint(
      A->ctx,
      "    seg: %.0f segments of up to %.0f entries, %s, in %.0f row blocks; %.0f fragments of longer rows\n",
      sums[0], length, summed, sums[1], sums[2]));
  if (!p->options.padded) return POISE_OK;
  return poisePrint(A->ctx, "    segments are copies filled up with zeros: %.0f entries for %.0f\n", sums[3],
                    sums[4]);
}

/* Predict copies into n segments of `length` entries. */
static void PredictPadded(PoiseMat A, const int64_t n[2], int64_t length, int64_t m, PoisePrediction *p)
{
  int64_t bytes[2];
  for (int k = 0; k < 2; k++) {
    int64_t nz = n[k] * length, width = nz > poiseContextHome(A->ctx)->hooks.most_narrow ? 8 : 4;
    bytes[k] = (m + 1) * width + 12 * nz;
  }
  poisePredictBetween(A->ctx->device, bytes[0], bytes[1], ON_DEVICE, p);
}

/* Bounds for n rows with nz entries, at most `some` of them not empty. They fill nz / S segments, or with
   a partial segment each, one more per row. A row of at least a chunk counts as a whole row block. nz
   bounds the number of such rows. */
static PoiseErr Predict_SEG(PoiseMat A, const ProductOptions *o, MatPlan *plan, PoisePrediction *p)
{
  int64_t m = plan->m, nz = plan->nz;
  ProductRequest request = poiseProductRequest(o, PRODUCT_SEG, 0);
  ProductPlan cuts;
  poiseProductPlan(&A->ctx->device->model, &request, &(CsrStatistics){.m = m, .nz = nz}, NULL, &cuts);
  int64_t S = cuts.segment, block = cuts.row_block, chunk = cuts.limit;
  int64_t some = m < nz ? m : nz, cut = plan->columns + S > chunk ? nz / (chunk - S) : 0;
  const int64_t filled[] = {(nz + S - 1) / S, (nz + some * (S - 1)) / S};
  int64_t segments[] = {cut || filled[0] < m ? m : filled[0], nz / S + m};
  RowBlocksPlan w = {.ordered = PoiseSize(A->ctx) > 1 && !o->padded};
  if (cut > some) cut = some;
  segments[1] += cut * block;
  for (int k = 0; k < 2; k++) w.n[k] = (segments[k] + block - 1) / block;
  if (cut) w.fragments = (o->padded ? filled[1] * S : nz) / SEG_FRAGMENT + cut;
  if (o->padded) PredictPadded(A, filled, S, m, p);
  poiseRowBlocksPredict(A, &w, plan, p);
  return POISE_OK;
}

const ProductForm poiseForm_seg = {
    .name = "seg",
    .fuses = true,
    .options = options,
    .make = Make_SEG,
    .ready = Ready_SEG,
    .launch = Launch_SEG,
    .launch_columns = poiseSeveralLaunch,
    .view = View_SEG,
    .predict = Predict_SEG,
};

/* ---- host kernels ---------------------------------------------------------------------------- */

PoiseErr poiseHost_seg_count(Device *dev, const void *args)
{
  const SegCutArgs *a = args;
  int64_t n = (a->A.m + SEG_ROWS - 1) / SEG_ROWS;
  (void)dev;
  HOST_PARALLEL_FOR(dev, n)
  for (int64_t k = 0; k < n; k++) poiseSegCount(a, k);
  return POISE_OK;
}

PoiseErr poiseHost_seg_cut(Device *dev, const void *args)
{
  const SegCutArgs *a = args;
  int64_t n = a->nrow_block + 1;
  (void)dev;
  HOST_PARALLEL_FOR(dev, n)
  for (int64_t w = 0; w < n; w++) poiseSegCut(a, w);
  return POISE_OK;
}

PoiseErr poiseHost_seg_offsets(Device *dev, const void *args)
{
  const SegPadArgs *a = args;
  int64_t n = a->cut.A.m / SEG_ROWS + 1;
  (void)dev;
  HOST_PARALLEL_FOR(dev, n)
  for (int64_t k = 0; k < n; k++) poiseSegOffsets(a, k);
  return POISE_OK;
}

PoiseErr poiseHost_seg_fill(Device *dev, const void *args)
{
  const SegPadArgs *a = args;
  (void)dev;
  HOST_PARALLEL_FOR(dev, a->nsegment)
  for (int64_t k = 0; k < a->nsegment; k++) poiseSegFill(a, k);
  return POISE_OK;
}

/* A core sums a row fastest in one pass. Segments only decide how rows are divided over threads. */
PoiseErr poiseHost_seg_mult(Device *dev, const void *args)
{
  const SegMultArgs *a = args;
  return poiseHost_csri_mult(dev, &a->c);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type seg: segmented CSR after segSpMV (He, Tan, Tlelo-Cuautle, Wang, Tang 2015). A row is divided into
  segments of at most S entries. S is the smallest power of two not below the mean row length. Each thread
  block sums about as many segments as every other.

  The arrays stay plain CSR, and a segment's place follows from the offsets. The paper fills segments up with
  zeros (-mat_seg_padded, for comparison). The paper adds the segments of a row on the host. Here the thread
  block adds them, in order. Rows that do not fit into one thread block are split as in csri.
*/
#include "mat/csr/keys_kernels.h"
#include "seg_kernels.h"
#include "row_blocks.h"

typedef struct SegPadded { /* the padded segments */
  int64_t nz, state;       /* state: A->version.values of them */
  bool wide;
  Buffer ptr, col, val;
} SegPadded;

typedef struct SegData {
  CsrData csr; /* first: of the transpose product */
  int asked;   /* segments of 2^(asked - 1) entries are asked for; 0: none are */
  int wants_padded;
  int64_t built; /* A->version.pattern when the row blocks were made; 0: there are none */
  int was_asked; /* then */
  int64_t tried; /* A->version.pattern at the latest attempt */
  ProductPlan plan;
  int64_t filled, segments; /* segments with entries; segments as row blocks count them */
  bool is_padded;
  SegPadded padded;
  RowBlocks w;
} SegData;
POISE_BEGINS_WITH_CSR(SegData);

static const PoiseOption options[] = {
    {"mat_seg_length", POISE_OPTION_CHOICE, offsetof(SegData, asked), "0", 0, 0, "0|1|2|4|8|16|32|64|128|256",
     "entries of a segment; 0: the smallest power of two not below the mean row length, at most 256"},
    {"mat_seg_padded", POISE_OPTION_BOOL, offsetof(SegData, wants_padded), "no", 0, 0, NULL,
     "copy values and columns into zero-padded segments, as published, for comparison; if x is not "
     "finite, zeros times it are NaN"},
    {0},
};

/* ---- the cut --------------------------------------------------------------------------------- */

void poiseSegRequest(const void *data, ProductRequest *r)
{
  const SegData *d = data;
  r->segment = d->asked ? INT64_C(1) << (d->asked - 1) : 0;
}

/* single: each row is one segment, read from where it is. */
static void Plan(PoiseMat A, SegData *d, bool single)
{
  ProductRequest request = {.type = PRODUCT_SEG, .single = single};
  poiseSegRequest(d, &request);
  poiseProductPlan(&A->ctx->device->model, &request, &A->csr.statistics, NULL, &d->plan);
}

static void Release(SegData *d)
{
  poiseRowBlocksDestroy(&d->w);
  poiseBufferDestroy(&d->padded.ptr);
  poiseBufferDestroy(&d->padded.col);
  poiseBufferDestroy(&d->padded.val);
  d->built = d->padded.state = 0;
}

/* Count the segments of groups of rows in a->count, scanned, and all of them. */
static PoiseErr Count(PoiseMat A, SegCutArgs *a, int64_t *segments)
{
  Device *dev = A->ctx->device;
  int64_t groups = (a->A.m + SEG_ROWS - 1) / SEG_ROWS;
  TRY(LAUNCH(dev, seg_count, a));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = groups, .count = a->count}));
  return poiseDeviceFetch(dev, a->count + groups, sizeof *segments, segments);
}

/* Make row blocks of A, or of the padded segments. */
static PoiseErr Cut(PoiseMat A, SegData *d, SegCutArgs *a)
{
  Device *dev = A->ctx->device;
  a->block = d->plan.row_block, a->limit = d->w.limit = d->plan.limit, a->fragment = d->plan.fragment;
  TRY(Count(A, a, &d->segments));
  a->nrow_block = d->w.n = (d->segments + a->block - 1) / a->block;
  TRY(poiseRowBlocksBegin(dev, A->csr.m, &d->w, &a->row_block, &a->fragments));
  TRY(LAUNCH(dev, seg_cut, a));
  TRY(poiseRowBlocksEnd(dev, &d->w, &a->A));
  return A->csr.halo && !d->is_padded ? poiseRowBlocksOrder(A, &d->w, POISE_BLOCK)
                                      : POISE_OK; /* padded copies simply wait for ghosts */
}

static PoiseErr PaddedPattern(SegData *d, CsrView *P)
{
  P->nz = d->padded.nz;
  P->ptr32 = NULL, P->ptr64 = NULL;
  TRY(poiseBufferRead(&d->padded.ptr, DEVICE, d->padded.wide ? (void *)&P->ptr64 : (void *)&P->ptr32));
  return poiseBufferRead(&d->padded.col, DEVICE, &P->col);
}

/* Copy columns and values into the padded segments. */
static PoiseErr Fill(PoiseMat A, SegData *d)
{
  SegPadArgs a = {.cut = {.length = d->plan.segment}, .nsegment = d->filled};
  if (!d->is_padded || d->padded.state == A->version.values) return POISE_OK;
  TRY(poiseCsrView(&A->csr, &a.cut.A));
  a.P = a.cut.A;
  TRY(PaddedPattern(d, &a.P));
  TRY(poiseBufferWrite(&d->padded.col, DEVICE, &a.col));
  TRY(poiseBufferWrite(&d->padded.val, DEVICE, &a.val));
  TRY(LAUNCH(A->ctx->device, seg_fill, &a));
  d->padded.state = A->version.values;
  return POISE_OK;
}

/* Make the offsets of the padded segments, which become those of a->A. */
static PoiseErr Pad(PoiseMat A, SegData *d, SegCutArgs *a)
{
  Device *dev = A->ctx->device;
  SegPadded *p = &d->padded;
  SegPadArgs pad = {.cut = *a, .P = a->A, .nsegment = d->filled};
  p->nz = d->filled * d->plan.segment;
  p->wide = p->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  TRY(poiseBufferCreate(dev, (size_t)(A->csr.m + 1) * (p->wide ? 8 : 4), "offsets of segments", &p->ptr));
  TRY(poiseBufferCreate(dev, (size_t)p->nz * sizeof(int32_t), "columns of segments", &p->col));
  TRY(poiseBufferCreate(dev, (size_t)p->nz * sizeof(double), "values of segments", &p->val));
  TRY(poiseBufferWrite(&p->ptr, DEVICE, &pad.ptr));
  TRY(poiseBufferWrite(&p->col, DEVICE, &pad.col)); /* Fill writes all of it, so no zeros are copied */
  pad.P.ptr32 = p->wide ? NULL : pad.ptr, pad.P.ptr64 = p->wide ? pad.ptr : NULL;
  TRY(LAUNCH(dev, seg_offsets, &pad));
  return PaddedPattern(d, &a->A);
}

static PoiseErr CutOrPad(PoiseMat A, SegData *d, Buffer *count)
{
  SegCutArgs a = {.length = d->plan.segment};
  TRY(poiseBufferCreate(A->ctx->device, (size_t)(A->csr.m / SEG_ROWS + 2) * sizeof(int64_t),
                        "counts of segments", count));
  TRY(poiseBufferWrite(count, DEVICE, &a.count));
  TRY(poiseCsrPattern(&A->csr, &a.A));
  TRY(Count(A, &a, &d->filled));
  if (d->is_padded) TRY(Pad(A, d, &a));
  TRY(Cut(A, d, &a));
  Plan(A, d, !d->is_padded && d->segments <= A->csr.m);
  return POISE_OK;
}

static PoiseErr SetUp_SEG(PoiseMat A)
{
  SegData *d = A->data;
  Buffer count = {0};
  bool other = d->was_asked != d->asked || d->is_padded != d->wants_padded;
  if (d->built == A->version.pattern && !other) return POISE_OK;
  /* A captured loop has the old row blocks. All ranks must count alike, so neither a failure of the latest
     set-up here nor lengths are examined. */
  if (d->tried == A->version.pattern && other) A->version.product++;
  d->tried = A->version.pattern;
  Release(d);
  d->was_asked = d->asked;
  d->is_padded = d->wants_padded;
  Plan(A, d, false);
  PoiseErr e = CutOrPad(A, d, &count);
  poiseBufferDestroy(&count);
  if (!e) d->built = A->version.pattern;
  return e;
}

/* ---- products -------------------------------------------------------------------------------- */

/* What A's data say, of all parts. */
static PoiseErr Arguments(PoiseMat A, SegMultArgs *a)
{
  SegData *d = A->data;
  a->length = d->plan.segment, a->segments = d->segments;
  a->c.m.rows = POISE_BLOCK, a->c.m.tile = d->plan.tile, a->c.m.vary = A->csr.vary;
  return poiseRowBlocksArguments(&d->w, &a->c);
}

static PoiseErr Ready_SEG(PoiseMat A)
{
  SegData *d = A->data;
  TRY(SetUp_SEG(A));
  TRY(Fill(A, d));
  return d->w.there ? POISE_OK : Arguments(A, &(SegMultArgs){0});
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once, and 16 per row block. */
static PoiseErr Launch_SEG(PoiseMat A, ProductPart part, const ProductArgs *p)
{
  SegData *d = A->data;
  SegMultArgs a = {0};
  TRY(poiseCsrArguments(A, p, &a.c.m));
  if (d->is_padded) {
    TRY(PaddedPattern(d, &a.c.m.A));
    TRY(poiseBufferRead(&d->padded.val, DEVICE, &a.c.m.A.val));
  }
  TRY(Arguments(A, &a));
  TRY(poiseRowBlocksPart(&d->w, part, &a.c));
  return LAUNCH(A->ctx->device, seg_mult, &a);
}

static void Inherit_SEG(const void *A, void *B)
{
  const SegData *from = A;
  SegData *to = B;
  to->asked = from->asked, to->wants_padded = from->wants_padded;
}

static int64_t Partials_SEG(PoiseMat A)
{
  const SegData *d = A->data;
  return poiseRowBlocksPartials(&d->w); /* from the latest set-up, see Ready_SEG */
}

static PoiseErr View_SEG(PoiseMat A)
{
  const SegData *d = A->data;
  bool gpu = poiseModelIsGpu(&A->ctx->device->model);
  double length = (double)d->plan.segment,
         sums[] = {(double)d->filled, (double)d->w.parts, (double)d->w.nfragment, (double)d->padded.nz,
                   (double)A->csr.nz};
  char summed[64] = "rows summed one by one";
  if (!A->assembled) return POISE_OK;
  TRY(PoiseSum(A->ctx, 5, sums));
  TRY(PoiseMax(A->ctx, 1, &length)); /* of the rank with the longest segments */
  int lanes = 1 << poiseSegLanes((int64_t)length);
  if (gpu) snprintf(summed, sizeof summed, lanes > 1 ? "%d threads for each" : "a thread for each", lanes);
  TRY(poisePrint(
      A->ctx,
      "    seg: %.0f segments of up to %.0f entries, %s, in %.0f row blocks; %.0f fragments of longer rows\n",
      sums[0], length, summed, sums[1], sums[2]));
  if (d->built) TRY(poisePlanView(A, &d->plan));
  if (!d->is_padded) return POISE_OK;
  return poisePrint(A->ctx, "    segments are copies filled up with zeros: %.0f entries for %.0f\n", sums[3],
                    sums[4]);
}

static void Bytes_SEG(PoiseMat A, PoiseBytes *sum)
{
  const SegData *d = A->data;
  poiseCsrDataBytes(A, sum);
  poiseRowBlocksBytes(&d->w, sum);
  poiseBufferAdd(&d->padded.ptr, sum);
  poiseBufferAdd(&d->padded.col, sum);
  poiseBufferAdd(&d->padded.val, sum);
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
static PoiseErr Predict_SEG(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p)
{
  const SegData *d = data;
  int64_t m = plan->m, nz = plan->nz;
  ProductRequest request = {.type = PRODUCT_SEG};
  ProductPlan cuts;
  poiseSegRequest(d, &request);
  poiseProductPlan(&A->ctx->device->model, &request, &(CsrStatistics){.m = m, .nz = nz}, NULL, &cuts);
  int64_t S = cuts.segment, block = cuts.row_block, chunk = cuts.limit;
  int64_t some = m < nz ? m : nz, cut = plan->columns + S > chunk ? nz / (chunk - S) : 0;
  const int64_t filled[] = {(nz + S - 1) / S, (nz + some * (S - 1)) / S};
  int64_t segments[] = {cut || filled[0] < m ? m : filled[0], nz / S + m};
  RowBlocksPlan w = {.ordered = PoiseSize(A->ctx) > 1 && !d->wants_padded};
  if (cut > some) cut = some;
  segments[1] += cut * block;
  for (int k = 0; k < 2; k++) w.n[k] = (segments[k] + block - 1) / block;
  if (cut) w.fragments = (d->wants_padded ? filled[1] * S : nz) / SEG_FRAGMENT + cut;
  poiseCsrDataPredict(A, plan, p);
  if (d->wants_padded) PredictPadded(A, filled, S, m, p);
  poiseRowBlocksPredict(A, &w, plan, p);
  return POISE_OK;
}

static void Destroy_SEG(PoiseMat A)
{
  poiseCsrDataDestroy(A);
  Release(A->data);
}

const MatType poiseMatType_seg = {
    .name = "seg",
    .stored = true,
    .fuse = true,
    .size = sizeof(SegData),
    .options = options,
    .inherit = Inherit_SEG,
    .setup = SetUp_SEG,
    .ready = Ready_SEG,
    .partials = Partials_SEG,
    .launch = Launch_SEG,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_SEG,
    .bytes = Bytes_SEG,
    .predict = Predict_SEG,
    .destroy = Destroy_SEG,
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type seg: segmented CSR after segSpMV (He, Tan, Tlelo-Cuautle, Wang, Tang 2015). A row is cut into segments of at most S entries, S a
  power of two just above the mean length of rows, and a block of threads sums about as many segments as all others. The arrays stay plain
  CSR, where the paper fills segments up with zeros (-mat_seg_padded, to compare with): a segment's place follows from the offsets. Where
  the paper adds the segments of a row on the host and sums them, here the block does, in order; rows that do not fit into one are cut
  into pieces as in csri.
*/
#include "windows.h"

typedef struct SegPadded { /* the filled segments */
  int64_t nz, state;       /* state: A->state of the values */
  bool wide;
  Buffer ptr, col, val;
} SegPadded;

typedef struct SegData {
  CsrData csr; /* first: of the transpose product */
  int asked;   /* for segments of 2^(asked - 1) entries; 0: for none */
  int wants_padded;
  int64_t built;            /* c->built of what was cut; 0: nothing was */
  int was_asked;            /* then */
  int64_t tried;            /* c->built of what was to be cut */
  ProductPlan plan;
  int64_t filled, segments; /* segments that entries are in; and as windows count them */
  bool is_padded;
  SegPadded padded;
  Windows w;
} SegData;

static const PoiseOption options[] = {
    {"mat_seg_length", POISE_OPTION_CHOICE, offsetof(SegData, asked), "0", 0, 0, "0|1|2|4|8|16|32|64|128|256",
     "entries of a segment; 0: the smallest power of two that is not less than the mean length of rows, 256 at most"},
    {"mat_seg_padded", POISE_OPTION_BOOL, offsetof(SegData, wants_padded), "no", 0, 0, NULL,
     "copy values and columns into segments that are filled up with zeros, as published: to compare with; where x is "
     "not finite, zeros times it are NaN"},
    {0},
};

/* ---- the cut -------------------------------------------------------------------------------------------------------- */

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
  poiseWindowsDestroy(&d->w);
  poiseBufferDestroy(&d->padded.ptr);
  poiseBufferDestroy(&d->padded.col);
  poiseBufferDestroy(&d->padded.val);
  d->built = d->padded.state = 0;
}

/* Counts of segments of groups of rows, scanned, in a->count, and all of them. */
static PoiseErr Count(PoiseMat A, SegCutArgs *a, int64_t *segments)
{
  Device *dev = A->ctx->device;
  int64_t groups = (a->A.m + SEG_ROWS - 1) / SEG_ROWS;
  TRY(poiseLaunch(dev, KERNEL_seg_count, a, sizeof *a));
  TRY(LAUNCH(dev, scan, ScanArgs, .n = groups, .count = a->count));
  TRY(poiseDeviceCopy(dev, segments, a->count + groups, sizeof *segments, COPY_TO_HOST));
  return poiseDeviceSync(dev);
}

/* The matrix that is cut: A, or the filled segments. */
static PoiseErr Cut(PoiseMat A, SegData *d, SegCutArgs *a)
{
  Device *dev = A->ctx->device;
  a->block = d->plan.row_block, a->limit = d->w.limit = d->plan.limit, a->piece = d->plan.piece;
  TRY(Count(A, a, &d->segments));
  a->nwindow = d->w.n = (d->segments + a->block - 1) / a->block;
  TRY(poiseWindowsBegin(dev, A->csr.m, &d->w, &a->window, &a->pieces));
  TRY(poiseLaunch(dev, KERNEL_seg_cut, a, sizeof *a));
  TRY(poiseWindowsEnd(dev, &d->w, &a->A));
  return A->csr.halo && !d->is_padded ? poiseWindowsOrder(A, &d->w, POISE_BLOCK)
                                      : POISE_OK; /* copies just wait for ghosts */
}

static PoiseErr PaddedPattern(SegData *d, CsrView *P)
{
  P->nz = d->padded.nz;
  P->ptr32 = NULL, P->ptr64 = NULL;
  TRY(poiseBufferRead(&d->padded.ptr, DEVICE, d->padded.wide ? (void *)&P->ptr64 : (void *)&P->ptr32));
  return poiseBufferRead(&d->padded.col, DEVICE, &P->col);
}

/* Columns and values are copied into the filled segments. */
static PoiseErr Fill(PoiseMat A, SegData *d)
{
  SegPadArgs a = {.cut = {.length = d->plan.segment}, .nsegment = d->filled};
  if (!d->is_padded || d->padded.state == A->state) return POISE_OK;
  TRY(poiseCsrView(&A->csr, &a.cut.A));
  a.P = a.cut.A;
  TRY(PaddedPattern(d, &a.P));
  TRY(poiseBufferWrite(&d->padded.col, DEVICE, &a.col));
  TRY(poiseBufferWrite(&d->padded.val, DEVICE, &a.val));
  TRY(poiseLaunch(A->ctx->device, KERNEL_seg_fill, &a, sizeof a));
  d->padded.state = A->state;
  return POISE_OK;
}

/* The offsets of the filled segments, which a->A has then. */
static PoiseErr Pad(PoiseMat A, SegData *d, SegCutArgs *a)
{
  Device *dev = A->ctx->device;
  SegPadded *p = &d->padded;
  SegPadArgs pad = {.cut = *a, .P = a->A, .nsegment = d->filled};
  p->nz = d->filled * d->plan.segment;
  p->wide = p->nz > poiseContextHome(A->ctx)->most_narrow;
  TRY(poiseBufferCreate(dev, (size_t)(A->csr.m + 1) * (p->wide ? 8 : 4), "offsets of segments", &p->ptr));
  TRY(poiseBufferCreate(dev, (size_t)p->nz * sizeof(int32_t), "columns of segments", &p->col));
  TRY(poiseBufferCreate(dev, (size_t)p->nz * sizeof(double), "values of segments", &p->val));
  TRY(poiseBufferWrite(&p->ptr, DEVICE, &pad.ptr));
  TRY(poiseBufferWrite(&p->col, DEVICE, &pad.col)); /* with what Fill brings; else zeros would be fetched */
  pad.P.ptr32 = p->wide ? NULL : pad.ptr, pad.P.ptr64 = p->wide ? pad.ptr : NULL;
  TRY(poiseLaunch(dev, KERNEL_seg_offsets, &pad, sizeof pad));
  return PaddedPattern(d, &a->A);
}

static PoiseErr CutOrPad(PoiseMat A, SegData *d, Buffer *count)
{
  SegCutArgs a = {.length = d->plan.segment};
  TRY(poiseBufferCreate(A->ctx->device, (size_t)(A->csr.m / SEG_ROWS + 2) * sizeof(int64_t), "counts of segments", count));
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
  if (d->built == A->csr.built && !other) return POISE_OK;
  /* A captured loop knows the old cut. All ranks must count alike, so it is not asked whether the latest set-up failed here, nor of lengths. */
  if (d->tried == A->csr.built && other) A->pattern++;
  d->tried = A->csr.built;
  Release(d);
  d->was_asked = d->asked;
  d->is_padded = d->wants_padded;
  Plan(A, d, false);
  PoiseErr e = CutOrPad(A, d, &count);
  poiseBufferDestroy(&count);
  if (!e) d->built = A->csr.built;
  return e;
}

/* ---- products ------------------------------------------------------------------------------------------------------- */

static PoiseErr Arguments(PoiseMat A, SegMultArgs *a)
{
  SegData *d = A->data;
  TRY(SetUp_SEG(A));
  TRY(Fill(A, d));
  a->length = d->plan.segment, a->segments = d->segments;
  a->c.m.rows = POISE_BLOCK, a->c.m.tile = d->plan.tile, a->c.m.vary = A->csr.vary;
  return poiseWindowsArguments(&d->w, &a->c);
}

static PoiseErr Ready_SEG(PoiseMat A)
{
  SegMultArgs a = {0};
  return Arguments(A, &a);
}

static PoiseErr Part_SEG(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part)
{
  SegMultArgs *a = (SegMultArgs *)m; /* begins with it */
  SegData *d = A->data;
  if (part != REST) TRY(Arguments(A, a));
  if (part != REST) TRY(poiseCsrArguments(A, x, y, m));
  if (part != REST && d->is_padded) {
    TRY(PaddedPattern(d, &m->A));
    TRY(poiseBufferRead(&d->padded.val, DEVICE, &m->A.val));
  }
  return poiseWindowsMult(A, &d->w, part, KERNEL_seg_mult, &a->c, sizeof *a);
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once, and 16 per window. */
static PoiseErr Mult_SEG(PoiseMat A, ScalarRef alpha, PoiseVec x, ScalarRef beta, PoiseVec y, const double *skip,
                         const Fuse *fuse)
{
  SegMultArgs a = {.c.m = {.a = alpha, .b = beta, .skip = skip}};
  if (fuse) a.c.m.fuse = *fuse;
  return poiseCsrProduct(A, x, y, &a.c.m, Part_SEG);
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
  return poiseWindowsPartials(&d->w); /* as of the latest set-up: see Ready_SEG */
}

static PoiseErr View_SEG(PoiseMat A)
{
  const SegData *d = A->data;
  bool gpu = poiseModelIsGpu(&A->ctx->device->model);
  double length = (double)d->plan.segment,
         sums[] = {(double)d->filled, (double)d->w.parts, (double)d->w.npiece, (double)d->padded.nz, (double)A->csr.nz};
  char summed[64] = "rows summed one by one";
  if (!A->assembled) return POISE_OK;
  TRY(PoiseSum(A->ctx, 5, sums));
  TRY(PoiseMax(A->ctx, 1, &length)); /* of the rank that has the longest ones */
  int lanes = 1 << poiseSegLanes((int64_t)length);
  if (gpu) snprintf(summed, sizeof summed, lanes > 1 ? "%d threads for each" : "a thread for each", lanes);
  TRY(PoisePrintf(A->ctx, "    seg: %.0f segments of up to %.0f entries, %s, in %.0f windows; %.0f pieces of longer rows\n",
                  sums[0], length, summed, sums[1], sums[2]));
  if (d->built) TRY(poisePlanView(A, &d->plan));
  if (!d->is_padded) return POISE_OK;
  return PoisePrintf(A->ctx, "    segments are copies filled up with zeros: %.0f entries for %.0f\n", sums[3], sums[4]);
}

static void Bytes_SEG(PoiseMat A, PoiseBytes *sum)
{
  const SegData *d = A->data;
  poiseCsrDataBytes(A, sum);
  poiseWindowsBytes(&d->w, sum);
  poiseBufferAdd(&d->padded.ptr, sum);
  poiseBufferAdd(&d->padded.col, sum);
  poiseBufferAdd(&d->padded.val, sum);
}

/* Copies into n segments of so many entries. */
static void PredictPadded(PoiseMat A, const int64_t n[2], int64_t length, int64_t m, PoisePrediction *p)
{
  int64_t bytes[2];
  for (int k = 0; k < 2; k++) {
    int64_t nz = n[k] * length, width = nz > poiseContextHome(A->ctx)->most_narrow ? 8 : 4;
    bytes[k] = (m + 1) * width + 12 * nz;
  }
  poisePredictBetween(A->ctx->device, bytes[0], bytes[1], ON_DEVICE, p);
}

/* n rows, of which at most `some` have entries, nz in all: they fill nz / S segments or, with a rest in each of them, a segment each more. A
   row of a chunk or more counts as a whole window; how many these can be is known from nz. */
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
  WindowsPlan w = {.ordered = PoiseSize(A->ctx) > 1 && !d->wants_padded};
  if (cut > some) cut = some;
  segments[1] += cut * block;
  for (int k = 0; k < 2; k++) w.n[k] = (segments[k] + block - 1) / block;
  if (cut) w.pieces = (d->wants_padded ? filled[1] * S : nz) / SEG_PIECE + cut;
  poiseCsrDataPredict(A, plan, p);
  if (d->wants_padded) PredictPadded(A, filled, S, m, p);
  poiseWindowsPredict(A, &w, plan, p);
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
    .mult = Mult_SEG,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_SEG,
    .bytes = Bytes_SEG,
    .predict = Predict_SEG,
    .destroy = Destroy_SEG,
};

/* ---- host kernels --------------------------------------------------------------------------------------------------- */

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
  int64_t n = a->nwindow + 1;
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

/* A core sums a row best in one go: what is cut into segments is how rows are shared out. */
PoiseErr poiseHost_seg_mult(Device *dev, const void *args)
{
  const SegMultArgs *a = args;
  return poiseHost_csri_mult(dev, &a->c);
}

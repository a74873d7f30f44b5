/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type csri: plain CSR, worked on in windows of equally many rows and entries, however long the rows are; rows longer than a window are
  shared out in pieces, whose sums are added in order. After CSR-I (Flegar & Quintana-Orti 2017), which cuts the entries into equal
  chunks and adds the parts of rows by atomics; here windows end at row ends and nothing depends on who comes first.
*/
#include "csr_rows.h"

enum { CSRI_CHUNK = 8192, CSRI_PIECE = 8192 };

typedef struct CsriData {
  CsrData csr; /* first: of the transpose product */
  PoiseInt asked;
  int64_t pattern; /* of the matrix that was cut; 0: none was */
  int64_t chunk, piece, nwindow, npiece, ninterior;
  Buffer window, first, owner, sum, arrived, order;
} CsriData;

static const PoiseOption options[] = {
    {"mat_csri_chunk", POISE_OPTION_INT, offsetof(CsriData, asked), "0", 0, 8192, NULL,
     "rows and entries of a window; longer rows are cut; 0: as suits the device"},
    {0},
};

/* ---- the cut -------------------------------------------------------------------------------------------------------- */

static void Release(CsriData *d)
{
  Buffer *const all[] = {&d->window, &d->first, &d->owner, &d->sum, &d->arrived, &d->order};
  for (int k = 0; k < 6; k++) poiseBufferDestroy(all[k]);
  d->pattern = 0;
}

static int64_t Chunk(PoiseMat A)
{
  const CsriData *d = A->data;
  const DeviceOps *ops = A->ctx->device->ops;
  return d->asked ? d->asked : ops->chunk ? ops->chunk : CSRI_CHUNK;
}

static int64_t Windows(PoiseMat A)
{
  int64_t chunk = Chunk(A);
  return (A->csr.m + A->csr.nz + chunk - 1) / chunk;
}

/* Where rows are cut, on the device, and how many pieces there are. */
static PoiseErr Cut(PoiseMat A, CsriData *d)
{
  Device *dev = A->ctx->device;
  CsriCutArgs cut = {.chunk = d->chunk, .piece = d->piece, .nwindow = d->nwindow};
  TRY(poiseBufferCreate(dev, (size_t)(d->nwindow + 1) * sizeof(int32_t), "windows", &d->window));
  TRY(poiseBufferCreate(dev, (size_t)(d->nwindow + 1) * sizeof(int64_t), "pieces of windows", &d->first));
  TRY(poiseCsrView(&A->csr, &cut.A));
  TRY(poiseBufferWrite(&d->window, DEVICE, &cut.window));
  TRY(poiseBufferWrite(&d->first, DEVICE, &cut.pieces));
  TRY(poiseLaunch(dev, KERNEL_csri_cut, &cut, sizeof cut));
  TRY(LAUNCH(dev, scan, ScanArgs, .n = d->nwindow, .count = cut.pieces));
  if (dev->ops->is_host) {
    d->npiece = cut.pieces[d->nwindow];
    return POISE_OK;
  }
  TRY(poiseDeviceCopy(dev, &d->npiece, cut.pieces + d->nwindow, sizeof d->npiece, COPY_TO_HOST));
  return poiseDeviceSync(dev);
}

/* Several ranks: windows without ghosts first, so that they can go ahead of the exchange. Pieces always wait for it. */
static PoiseErr Order(PoiseMat A, CsriData *d)
{
  Csr *c = &A->csr;
  const void *ptr;
  const int32_t *col, *window;
  int32_t *order;
  int64_t boundary = 0;
  TRY(poiseBufferCreate(A->ctx->device, (size_t)d->nwindow * sizeof(int32_t), "window order", &d->order));
  TRY(poiseBufferWrite(&d->order, HOST, &order));
  TRY(poiseBufferRead(&d->window, HOST, &window));
  TRY(poiseBufferRead(&c->ptr, HOST, &ptr));
  TRY(poiseBufferRead(&c->col, HOST, &col));
  d->ninterior = 0;
  for (int64_t w = 0; w < d->nwindow; w++) {
    bool inside = true;
    for (int64_t k = poiseCsrPtr(c, ptr, window[w]); inside && k < poiseCsrPtr(c, ptr, window[w + 1]); k++)
      inside = col[k] < c->nloc;
    order[inside ? d->ninterior++ : d->nwindow - ++boundary] = (int32_t)w;
  }
  return POISE_OK;
}

static PoiseErr SetUp_CSRI(PoiseMat A)
{
  CsriData *d = A->data;
  Device *dev = A->ctx->device;
  CsriOwnArgs own;
  if (d->pattern == A->pattern && d->chunk == Chunk(A)) return POISE_OK;
  Release(d);
  d->chunk = Chunk(A);
  d->piece = d->asked ? d->asked : dev->ops->piece ? dev->ops->piece : CSRI_PIECE;
  d->nwindow = own.nwindow = Windows(A);
  TRY(Cut(A, d));
  TRY(poiseBufferCreate(dev, (size_t)d->npiece * sizeof(int32_t), "windows of pieces", &d->owner));
  TRY(poiseBufferCreate(dev, (size_t)d->npiece * sizeof(double), "sums of pieces", &d->sum));
  TRY(poiseBufferCreate(dev, (size_t)d->nwindow * sizeof(int32_t), "pieces that arrived", &d->arrived));
  TRY(poiseBufferRead(&d->first, DEVICE, &own.first));
  TRY(poiseBufferWrite(&d->owner, DEVICE, &own.owner));
  TRY(poiseLaunch(dev, KERNEL_csri_own, &own, sizeof own));
  if (A->csr.halo) TRY(Order(A, d));
  d->pattern = A->pattern;
  return POISE_OK;
}

/* ---- products ------------------------------------------------------------------------------------------------------- */

static PoiseErr Arguments(PoiseMat A, CsriMultArgs *a)
{
  CsriData *d = A->data;
  TRY(SetUp_CSRI(A));
  a->chunk = d->chunk, a->piece = d->piece, a->nwindow = d->nwindow;
  a->m.vary = A->csr.vary;
  TRY(poiseCsrView(&A->csr, &a->m.A));
  TRY(poiseBufferRead(&d->window, DEVICE, &a->window));
  TRY(poiseBufferRead(&d->first, DEVICE, &a->first));
  TRY(poiseBufferRead(&d->owner, DEVICE, &a->owner));
  TRY(poiseBufferUpdate(&d->sum, DEVICE, &a->sum));
  TRY(poiseBufferUpdate(&d->arrived, DEVICE, &a->arrived));
  return A->csr.halo ? poiseBufferRead(&d->order, DEVICE, &a->m.order) : POISE_OK;
}

static PoiseErr Ready_CSRI(PoiseMat A)
{
  CsriMultArgs a = {0};
  return Arguments(A, &a);
}

static PoiseErr Launch(PoiseMat A, CsriMultArgs a, int64_t first, int64_t last, bool pieces)
{
  const CsriData *d = A->data;
  if (a.m.order) a.m.order += first;
  a.m.nblock = last - first;
  a.npiece = pieces ? d->npiece : 0;
  return poiseLaunch(A->ctx->device, KERNEL_csri_mult, &a, sizeof a);
}

static PoiseErr Vectors(PoiseMat A, PoiseVec x, PoiseVec y, CsriMultArgs *a)
{
  TRY(Arguments(A, a));
  if (!a->m.x) TRY(poiseVecRead(x, &a->m.x));
  if (!a->m.b.slot && a->m.b.value == 0 && !a->m.skip) return poiseVecWrite(y, &a->m.y);
  return poiseVecUpdate(y, &a->m.y);
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once, and 12 per window. Interior windows run while the ghosts travel. */
static PoiseErr Mult_CSRI(PoiseMat A, ScalarRef alpha, PoiseVec x, ScalarRef beta, PoiseVec y, const double *skip,
                          const Fuse *fuse)
{
  CsriData *d = A->data;
  Halo *halo = A->csr.halo;
  CsriMultArgs a = {.m = {.a = alpha, .b = beta, .skip = skip}};
  if (fuse) a.m.fuse = *fuse;
  if (!halo) {
    TRY(Vectors(A, x, y, &a));
    return Launch(A, a, 0, d->nwindow, true);
  }
  PoiseErr e = poiseVecRead(x, &a.m.x); /* a failure below must not keep the neighbours waiting */
  TRY(poiseHaloBegin(halo, e, a.m.x));
  if (!e) e = Vectors(A, x, y, &a);
  if (!e) e = Launch(A, a, 0, d->ninterior, false);
  PoiseErr ex = poiseHaloEnd(halo, &a.m.ghost);
  TRY(e);
  TRY(ex);
  return Launch(A, a, d->ninterior, d->nwindow, true);
}

static int64_t Partials_CSRI(PoiseMat A)
{
  return 2 * Windows(A);
}

static PoiseErr View_CSRI(PoiseMat A)
{
  double sums[2] = {0, 0};
  PoiseErr e = PoiseAgree(A->ctx, A->assembled ? SetUp_CSRI(A) : POISE_OK);
  const CsriData *d = A->data;
  if (!e) sums[0] = (double)d->nwindow, sums[1] = (double)d->npiece;
  TRY(e);
  TRY(PoiseSum(A->ctx, 2, sums));
  return PoisePrintf(A->ctx, "    csri: %.0f windows of %lld rows and entries, %.0f pieces of longer rows\n", sums[0],
                     (long long)Chunk(A), sums[1]);
}

static void Bytes_CSRI(PoiseMat A, PoiseBytes *sum)
{
  const CsriData *d = A->data;
  const Buffer *const all[] = {&d->window, &d->first, &d->owner, &d->sum, &d->arrived, &d->order};
  poiseCsrDataBytes(A, sum);
  for (int k = 0; k < 6; k++) poiseBufferAdd(all[k], sum);
}

static void Destroy_CSRI(PoiseMat A)
{
  poiseCsrDataDestroy(A);
  Release(A->data);
}

const MatType poiseMatType_csri = {
    .name = "csri",
    .stored = true,
    .fuse = true,
    .size = sizeof(CsriData),
    .options = options,
    .setup = SetUp_CSRI,
    .ready = Ready_CSRI,
    .partials = Partials_CSRI,
    .mult = Mult_CSRI,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_CSRI,
    .bytes = Bytes_CSRI,
    .destroy = Destroy_CSRI,
};

/* ---- host kernels --------------------------------------------------------------------------------------------------- */

PoiseErr poiseHost_csri_cut(Device *dev, const void *args)
{
  const CsriCutArgs *a = args;
  int64_t n = a->nwindow + 1;
  (void)dev;
  HOST_PARALLEL_FOR(dev, n)
  for (int64_t w = 0; w < n; w++) poiseCsriCut(a, w);
  return POISE_OK;
}

PoiseErr poiseHost_csri_own(Device *dev, const void *args)
{
  const CsriOwnArgs *a = args;
  (void)dev;
  for (int64_t w = 0; w < a->nwindow; w++)
    for (int64_t p = a->first[w]; p < a->first[w + 1]; p++) a->owner[p] = (int32_t)w;
  return POISE_OK;
}

/* The dots of rows [begin, end) as partial `at`. */
static void FuseRows(const Fuse *f, const double *y, int64_t begin, int64_t end, int64_t at)
{
  for (int k = 0; k < f->ndot; k++)
    f->partial[k][at] = f->u[k]   ? poiseHostDot(f->u[k], y, begin, end)
                        : f->d[k] ? poiseHostWeightedDot(f->d[k], y, begin, end)
                                  : poiseHostDot(y, y, begin, end);
}

static double PieceSum(const CsriMultArgs *a, int64_t p)
{
  int64_t w = a->owner[p], row = a->window[w + 1] - 1, k = poiseCsrOffset(&a->m.A, row) + (p - a->first[w]) * a->piece;
  int64_t end = poiseCsrOffset(&a->m.A, row + 1), last = k + a->piece < end ? k + a->piece : end;
  return a->m.ghost ? poiseHostRowSum(&a->m, k, last, true, false) : poiseHostRowSum(&a->m, k, last, false, false);
}

/* The rows that were cut: sums of pieces in order. */
static void Join(const CsriMultArgs *a, double alpha, double beta)
{
  for (int64_t p = 0; p < a->npiece;) {
    int64_t w = a->owner[p], row = a->window[w + 1] - 1;
    double s = 0;
    for (; p < a->first[w + 1]; p++) s += a->sum[p];
    a->m.y[row] = poiseHostUpdate(alpha, s, beta, a->m.y[row]);
    FuseRows(&a->m.fuse, a->m.y, row, row + 1, a->nwindow + w);
  }
}

PoiseErr poiseHost_csri_mult(Device *dev, const void *args)
{
  const CsriMultArgs *a = args;
  const CsrMultArgs *m = &a->m;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t k = 0; k < m->nblock; k++) {
    int64_t w = m->order ? m->order[k] : k, begin = a->window[w], end = poiseCsriEnd(a, w);
    if (m->ghost)
      poiseHostRows(m, alpha, beta, begin, end, true);
    else
      poiseHostRows(m, alpha, beta, begin, end, false);
    FuseRows(&m->fuse, m->y, begin, end, w);
    for (int f = 0; f < m->fuse.ndot && end == a->window[w + 1]; f++) m->fuse.partial[f][a->nwindow + w] = 0;
  }
  HOST_PARALLEL_FOR(dev, a->npiece)
  for (int64_t p = 0; p < a->npiece; p++) a->sum[p] = PieceSum(a, p);
  Join(a, alpha, beta);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Type csr: plain CSR, rows shared out over threads or blocks; and the host's kernels for it. */
#include "csr_rows.h"
#include "windows.h"

typedef struct CsrType {
  CsrData csr; /* first */
  int asked;   /* for columns of 16 bits */
  Index16 index16;
} CsrType;

static const PoiseOption options[] = {
    {"mat_index16", POISE_OPTION_BOOL, offsetof(CsrType, asked), "no", 0, 0, NULL,
     "on GPUs, 16-bit columns beside the CSR, block by block where they are the rank's own and lie in a few bands: "
     "products read 10 bytes per nonzero"},
    {0},
};

void poiseCsrRequest(const void *data, ProductRequest *r)
{
  r->index16 = ((const CsrType *)data)->asked;
}

/* The host gains nothing: 4 instructions more per nonzero take longer than reading 2 bytes more (measured: 1.3 times as long). */
static PoiseErr SetUp_CSR(PoiseMat A)
{
  CsrType *t = A->data;
  return poiseIndex16SetUp(A, t->asked && !A->library && !A->ctx->device->ops->is_host, &t->index16);
}

/* ---- products ------------------------------------------------------------------------------------------------------- */

PoiseErr poiseCsrArguments(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m)
{
  TRY(poiseCsrView(&A->csr, &m->A));
  if (!m->x) TRY(poiseVecRead(x, &m->x));
  if (!m->b.slot && m->b.value == 0 && !m->skip) return poiseVecWrite(y, &m->y); /* skipped, y keeps its content */
  return poiseVecUpdate(y, &m->y);
}

PoiseErr poiseCsrProduct(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, PartOfProduct *call)
{
  Halo *halo = A->csr.halo;
  if (!halo) return call(A, x, y, m, WHOLE);
  PoiseErr e = poiseVecRead(x, &m->x); /* a failure below must not keep the neighbours waiting */
  TRY(poiseHaloBegin(halo, e, m->x));
  if (!e) e = call(A, x, y, m, INTERIOR);
  PoiseErr ex = poiseHaloEnd(halo, &m->ghost);
  TRY(e);
  TRY(ex);
  return call(A, x, y, m, REST);
}

PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m)
{
  Csr *c = &A->csr;
  int64_t first = part == REST ? c->ninterior : 0, last = part == INTERIOR ? c->ninterior : c->nblock;
  const int32_t *order;
  if (part != WHOLE) {
    TRY(poiseBufferRead(&c->order, DEVICE, &order));
    m->order = order ? order + first : NULL;
  }
  m->nblock = last - first;
  m->rows = c->rows;
  m->tile = c->tile;
  m->vary = c->vary, m->spread = c->statistics.spread;
  return POISE_OK;
}

static PoiseErr Part_CSR(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part)
{
  if (part != REST) TRY(SetUp_CSR(A));
  if (part != REST) TRY(poiseIndex16View(A, &((CsrType *)A->data)->index16, &m->index16));
  if (part != REST) TRY(poiseCsrArguments(A, x, y, m));
  TRY(poiseCsrBlocks(A, part, m));
  return poiseLaunch(A->ctx->device, KERNEL_csr_mult, m, sizeof *m);
}

/* ---- products by a library of the device's ---------------------------------------------------------------------------- */

static void DropPlan(PoiseMat A)
{
  CsrData *t = A->data;
  if (t->planned) A->ctx->device->ops->csr_plan_free(A->ctx->device, &t->plan);
  t->planned = 0;
  poiseBufferDestroy(&t->whole);
}

/* Nothing is left to be allocated by products. */
static PoiseErr Ready_CSR(PoiseMat A)
{
  CsrData *t = A->data;
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  int64_t columns = c->nloc + c->nghost;
  CsrView view;
  double *whole;
  TRY(SetUp_CSR(A));
  if (!A->library || t->planned == A->pattern) return POISE_OK;
  DropPlan(A);
  TRY(poiseCsrView(c, &view));
  if (c->halo) {
    TRY(poiseBufferCreate(dev, (size_t)columns * sizeof(double), "x with its ghosts", &t->whole));
    TRY(poiseBufferWrite(&t->whole, DEVICE, &whole));
  }
  TRY(dev->ops->csr_plan(dev, A->library - 1, &view, columns, &t->plan));
  t->planned = A->pattern;
  return POISE_OK;
}

/* y = A x. The library takes x in one array: where there are ghosts, it and they are copied together. */
static PoiseErr MultByLibrary(PoiseMat A, PoiseVec x, PoiseVec y)
{
  CsrData *t = A->data;
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  CsrLibraryArgs m = {.x = NULL};
  const double *ghost = NULL;
  double *whole;
  PoiseErr e = Ready_CSR(A);
  if (!e) e = poiseVecRead(x, &m.x);
  TRY(poiseMatGhosts(A, e, m.x, &ghost)); /* a failure above must not keep the neighbours waiting */
  if (c->halo) {
    TRY(poiseBufferWrite(&t->whole, DEVICE, &whole));
    TRY(poiseDeviceCopy(dev, whole, m.x, (size_t)c->nloc * sizeof *whole, COPY_ON_DEVICE));
    if (c->nghost) TRY(poiseDeviceCopy(dev, whole + c->nloc, ghost, (size_t)c->nghost * sizeof *whole, COPY_ON_DEVICE));
    m.x = whole;
  }
  TRY(poiseCsrView(c, &m.A));
  TRY(poiseVecWrite(y, &m.y));
  m.plan = t->plan.device;
  return poiseLaunch(dev, KERNEL_csr_library, &m, sizeof m);
}

PoiseErr PoiseMatSetCSRKernel(PoiseMat A, const char *name)
{
  CALLED(OBJECT(A), GIVEN(name));
  const Device *dev = A->ctx->device;
  int library;
  TRY(poiseDeviceLibrary(dev, dev->ops->csr_libraries, name, "products of csr", &library));
  return poiseMatSetLibrary(A, library);
}

static bool Composes_CSR(PoiseMat A)
{
  return A->library != 0;
}

PoiseErr poiseMatSetLibrary(PoiseMat A, int library)
{
  if (A->library == library) return POISE_OK;
  if (!A->work) TRY(poiseVecCreateLayout(A->rows, &A->work)); /* products are composed */
  if (A->type->composes == Composes_CSR) DropPlan(A);
  A->library = library;
  poiseChoiceForget(A);
  A->pattern++; /* what was captured with the other product is void */
  return POISE_OK;
}

const char *PoiseMatCSRKernel(PoiseMat A)
{
  CALLED_OR("", OBJECT(A));
  return A->library ? A->ctx->device->ops->csr_libraries[A->library - 1] : "own";
}

/* ---- products by the device's own kernel -------------------------------------------------------------------------------- */

/* Reads 12 bytes per nonzero, or 10 with columns of 16 bits, 4 per row offset, x and y once. Interior blocks run while the ghosts
   travel. */
static PoiseErr Mult_CSR(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip, const Fuse *fuse)
{
  CsrMultArgs m = {.a = a, .b = b, .skip = skip};
  if (A->library) return MultByLibrary(A, x, y);
  if (fuse) m.fuse = *fuse;
  return poiseCsrProduct(A, x, y, &m, Part_CSR);
}

/* A's columns as rows, without values. */
static PoiseErr ColumnsView(PoiseMat A, CsrView *T)
{
  Transposed *t = &((CsrData *)A->data)->by_column;
  const Csr *c = &A->csr;
  *T = (CsrView){.b = c->b, .m = c->nloc + c->nghost, .nloc = c->m, .nz = c->nz};
  TRY(poiseBufferRead(&t->ptr, DEVICE, t->wide ? (void *)&T->ptr64 : (void *)&T->ptr32));
  return poiseBufferRead(&t->row, DEVICE, &T->col);
}

/* As csri cuts rows, where there is work for several threads; but no columns of a usual length, which a GPU sums as fast without. It needs
   windows for their pieces only. */
static PoiseErr CutColumns(PoiseMat A)
{
  Windows *w = &((CsrData *)A->data)->columns;
  Device *dev = A->ctx->device;
  CsrView T;
  TRY(ColumnsView(A, &T));
  int64_t chunk = poiseColumnsChunk(&dev->model, T.b, T.m, T.nz);
  if (!chunk) return POISE_OK;
  TRY(poiseWindowsCutRows(dev, &T, w, (WindowsCut){chunk, chunk, poiseColumnsPiece(chunk, T.nz), false}));
  if (poiseModelIsGpu(&dev->model) && !w->npiece) poiseWindowsDestroy(w);
  return POISE_OK;
}

static PoiseErr Transpose(PoiseMat A)
{
  CsrData *t = A->data;
  if (t->pattern == A->pattern) return POISE_OK;
  poiseTransposedDestroy(&t->by_column);
  poiseWindowsDestroy(&t->columns);
  t->pattern = 0;
  TRY(poiseTransposedCreate(A, &t->by_column));
  TRY(CutColumns(A));
  t->pattern = A->pattern;
  return POISE_OK;
}

static PoiseErr LaunchTranspose(PoiseMat A, PoiseVec x, double *y)
{
  CsrData *d = A->data;
  Transposed *t = &d->by_column;
  Csr *c = &A->csr;
  CsrMultTransposeArgs a = {.owned = c->nloc};
  CsrMultArgs *m = &a.c.m;
  TRY(Transpose(A));
  TRY(ColumnsView(A, &m->A));
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&a.perm64 : (void *)&a.perm32));
  TRY(poiseBufferRead(&c->val, DEVICE, &m->A.val));
  m->y = y;
  m->rows = c->b ? POISE_BLOCK / (int)c->b : POISE_BLOCK;
  m->nblock = d->columns.n ? d->columns.n : (m->A.m + m->rows - 1) / m->rows;
  if (d->columns.n) TRY(poiseWindowsArguments(&d->columns, &a.c));
  a.c.npiece = d->columns.npiece;
  if (x) TRY(poiseVecRead(x, &m->x));
  if (c->halo) TRY(poiseHaloGhostWrite(c->halo, &a.ghost));
  return poiseLaunch(A->ctx->device, c->b ? KERNEL_bcsr_mult_transpose : KERNEL_csr_mult_transpose, &a, sizeof a);
}

PoiseErr poiseCsrMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y)
{
  double *out;
  PoiseErr e = poiseVecWrite(y, &out);
  if (!e) e = LaunchTranspose(A, x, out);
  return A->csr.halo ? poiseHaloReverse(A->csr.halo, e, out) : e;
}

PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d)
{
  CsrDiagonalArgs m = {.b = b, .d = d};
  TRY(poiseCsrView(&A->csr, &m.A));
  return poiseLaunch(A->ctx->device, KERNEL_csr_diagonal, &m, sizeof m);
}

void poiseCsrDataBytes(PoiseMat A, PoiseBytes *sum)
{
  const CsrData *d = A->data;
  const Transposed *t = &d->by_column;
  poiseBufferAdd(&t->ptr, sum);
  poiseBufferAdd(&t->from, sum);
  poiseBufferAdd(&t->row, sum);
  poiseBufferAdd(&d->whole, sum);
  poiseWindowsBytes(&d->columns, sum);
  sum->device += d->plan.bytes;
}

/* A device makes the transpose itself, and keeps windows of columns only where one is long. */
void poiseCsrDataPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  int64_t width = plan->nz > poiseContextHome(A->ctx)->most_narrow ? 8 : 4, m = plan->nloc + plan->nghost;
  int64_t chunk = plan->transpose ? poiseColumnsChunk(&dev->model, plan->b, m, plan->nz) : 0;
  bool gpu = poiseModelIsGpu(&dev->model);
  if (plan->transpose) poisePredict(dev, (m + 1) * width + plan->nz * (width + 4), ON_DEVICE, p);
  if (!chunk || (gpu && plan->m < chunk)) return;
  int64_t n = poiseWindowsOf(m, plan->nz, chunk);
  WindowsPlan w = {.n = {n, n}, .pieces = plan->m < chunk ? 0 : plan->nz / chunk};
  PoisePrediction windows = {.beyond = NULL};
  MatPlan columns = *plan;
  poiseWindowsPredict(A, &w, &columns, &windows);
  if (gpu) windows.least = (PoiseBytes){0};
  poisePredictSum(&windows, p);
}

/* A library's products are composed, and take x with its ghosts. */
static PoiseErr Predict_CSR(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  const CsrType *t = data;
  poiseCsrDataPredict(A, plan, p);
  if (!A->library && t->asked && !dev->ops->is_host) poiseIndex16Predict(dev, plan, p);
  if (!A->library) return POISE_OK;
  poisePredict(dev, 8 * plan->m, ON_DEVICE, p);
  if (PoiseSize(A->ctx) > 1) poisePredict(dev, 8 * (plan->nloc + plan->nghost), ON_DEVICE, p);
  plan->partials[0] = plan->partials[1] = POISE_NBLOCKS(plan->m);
  p->beyond = "what the library asks for";
  return POISE_OK;
}

static PoiseErr View_CSR(PoiseMat A)
{
  CsrType *t = A->data;
  const CsrStatistics *s = &A->csr.statistics;
  ProductRequest request = {.type = PRODUCT_CSR};
  ProductPlan plan;
  TRY(PoisePrintf(A->ctx, "  products by kernel %s of device %s\n", PoiseMatCSRKernel(A), A->ctx->device->ops->name));
  poiseCsrRequest(t, &request);
  poiseProductPlan(&A->ctx->device->model, &request, s, NULL, &plan);
  if (A->assembled && !A->library) TRY(poisePlanView(A, &plan));
  if (!t->asked || !A->assembled) return POISE_OK;
  if (A->library) return PoisePrintf(A->ctx, "    columns of 16 bits: not for a library\n");
  if (A->ctx->device->ops->is_host)
    return PoisePrintf(A->ctx, "    columns of 16 bits: not on the host, where products would take longer\n");
  TRY(PoiseAgree(A->ctx, SetUp_CSR(A)));
  return poiseIndex16Print(A, &t->index16);
}

static void Inherit_CSR(const void *from, void *to)
{
  ((CsrType *)to)->asked = ((const CsrType *)from)->asked;
}

static void Bytes_CSR(PoiseMat A, PoiseBytes *sum)
{
  poiseCsrDataBytes(A, sum);
  poiseIndex16Bytes(&((const CsrType *)A->data)->index16, sum);
}

void poiseCsrDataDestroy(PoiseMat A)
{
  poiseTransposedDestroy(&((CsrData *)A->data)->by_column);
  poiseWindowsDestroy(&((CsrData *)A->data)->columns);
  DropPlan(A);
}

static void Destroy_CSR(PoiseMat A)
{
  poiseCsrDataDestroy(A);
  poiseIndex16Destroy(&((CsrType *)A->data)->index16);
}

const MatType poiseMatType_csr = {
    .name = "csr",
    .stored = true,
    .fuse = true,
    .composes = Composes_CSR,
    .size = sizeof(CsrType),
    .options = options,
    .inherit = Inherit_CSR,
    .setup = SetUp_CSR,
    .ready = Ready_CSR,
    .mult = Mult_CSR,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_CSR,
    .bytes = Bytes_CSR,
    .predict = Predict_CSR,
    .destroy = Destroy_CSR,
};

/* ---- host kernels --------------------------------------------------------------------------------------------------- */

PoiseErr poiseHost_csr_mult(Device *dev, const void *args)
{
  const CsrMultArgs *a = args;
  double alpha = poiseScalar(a->a), beta = poiseScalar(a->b);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, a->nblock)
  for (int64_t k = 0; k < a->nblock; k++) {
    int64_t block = a->order ? a->order[k] : k, begin = block * POISE_BLOCK; /* the host asks for no other number of rows */
    int64_t end = begin + POISE_BLOCK < a->A.m ? begin + POISE_BLOCK : a->A.m;
    if (a->index16.code && a->index16.window[block * POISE_WINDOWS] >= 0)
      poiseHostRows(a, alpha, beta, begin, end, HOST_INDEX16);
    else if (a->ghost)
      poiseHostRows(a, alpha, beta, begin, end, HOST_GHOSTS);
    else
      poiseHostRows(a, alpha, beta, begin, end, HOST_OWNED);
    poiseHostFuse(&a->fuse, a->y, begin, end, block);
  }
  return POISE_OK;
}

/* What stands for a library on the mock device, which keeps in the plan what it was made for. */
PoiseErr poiseHost_csr_library(Device *dev, const void *args)
{
  const CsrLibraryArgs *a = args;
  (void)dev;
  if (memcmp(a->plan, &a->A, sizeof a->A)) FAIL(POISE_ERR_INTERNAL, "a library's product with the plan of another matrix");
  for (int64_t i = 0; i < a->A.m; i++) {
    double s = 0;
    for (int64_t k = poiseCsrOffset(&a->A, i); k < poiseCsrOffset(&a->A, i + 1); k++) s += a->A.val[k] * a->x[a->A.col[k]];
    a->y[i] = s;
  }
  return POISE_OK;
}

/* Of entries [k, last) of a column: its part of A^T x, or with x = NULL the sum of their absolute values. */
POISE_INLINE double ColumnSum(const CsrMultTransposeArgs *a, const double *x, bool wide, int64_t k, int64_t last)
{
  const CsrView *A = &a->c.m.A;
  double s = 0;
  for (; k < last; k++) {
    double v = A->val[wide ? a->perm64[k] : a->perm32[k]];
    s += x ? v * x[A->col[k]] : fabs(v);
  }
  return s;
}

POISE_INLINE void Columns(const CsrMultTransposeArgs *args, const double *x, bool wide, int64_t begin, int64_t end)
{
  const CsrMultTransposeArgs local = *args, *a = &local; /* so that stores to y cannot change it */
  const CsrView *A = &a->c.m.A;
  for (int64_t j = begin; j < end; j++)
    *(j < a->owned ? a->c.m.y + j : a->ghost + (j - a->owned)) =
        ColumnSum(a, x, wide, wide ? A->ptr64[j] : A->ptr32[j], wide ? A->ptr64[j + 1] : A->ptr32[j + 1]);
}

static double PieceOfColumn(const CsrMultTransposeArgs *a, const CsriPiece *p)
{
  return ColumnSum(a, a->c.m.x, a->perm64 != NULL, p->first, p->first + p->nz);
}

PoiseErr poiseHost_csr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = args;
  const CsrMultArgs *m = &a->c.m;
  (void)dev;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t b = 0; b < m->nblock; b++) {
    int64_t begin = b * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    if (a->c.window) begin = a->c.window[b].begin, end = begin + a->c.window[b].rows;
    if (!m->x)
      Columns(a, NULL, m->A.ptr64 != NULL, begin, end);
    else if (m->A.ptr64)
      Columns(a, m->x, true, begin, end);
    else
      Columns(a, m->x, false, begin, end);
  }
  HOST_PARALLEL_FOR(dev, a->c.npiece)
  for (int64_t p = 0; p < a->c.npiece; p++) a->c.sum[p] = PieceOfColumn(a, &a->c.part[p]);
  for (int64_t p = 0; p < a->c.npiece;) { /* in their order */
    int64_t end = a->c.first[a->c.part[p].window + 1];
    double s = 0, *y = poiseOfColumn(a, poiseCsriRow(&a->c, &a->c.part[p]));
    for (; p < end; p++) s += a->c.sum[p];
    *y = s;
  }
  return POISE_OK;
}

PoiseErr poiseHost_csr_diagonal(Device *dev, const void *args)
{
  const CsrDiagonalArgs *a = args;
  int64_t m = poiseInNumbers(&a->A, a->A.m), nblock = POISE_NBLOCKS(m);
  int b = a->b;
  (void)dev;
  if (m) memset(a->d, 0, (size_t)m * (size_t)b * sizeof(double));
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t block = 0; block < nblock; block++)
    for (int64_t i = block * POISE_BLOCK; i < (block + 1) * POISE_BLOCK && i < m; i++) {
      int64_t first = i - i % b; /* of the diagonal block */
      NumberRow row = poiseNumberRow(&a->A, i);
      for (int64_t k = 0; k < row.n; k++) {
        int64_t j = poiseNumberColumn(&a->A, &row, k) - first;
        if (j >= 0 && j < b) a->d[first * b + j * b + i % b] = a->A.val[poiseNumberPlace(&row, k)];
      }
    }
  return POISE_OK;
}

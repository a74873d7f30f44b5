/* SPDX-License-Identifier: BSD-3-Clause */
/* Type csr: plain CSR, whose rows are divided over threads or thread blocks; and its host kernels. */
#include "auto.h"
#include "csr_rows.h"
#include "index16.h"
#include "mat/mat_device.h"
#include "transpose_kernels.h"
#include "row_blocks.h"

enum { INDEX16_NO, INDEX16_YES, INDEX16_AUTO };

typedef struct CsrType {
  CsrData csr; /* first */
  int asked;   /* for 16-bit columns */
  int decided; /* what was asked for when the latest were decided on */
  Index16 index16;
} CsrType;
POISE_BEGINS_WITH_CSR(CsrType);

static const char index16_words[] = "no|false=no|0=no|yes|=yes|true=yes|1=yes|auto";

static const PoiseOption options[] = {
    {"mat_index16", POISE_OPTION_CHOICE, offsetof(CsrType, asked), "auto", 0, 0, index16_words,
     "GPU: store columns also in 16 bits, in thread blocks whose columns are the rank's own and in few "
     "bands; SpMV reads 10 bytes per nonzero; auto: for tiles of a large matrix, where memory is free"},
    {0},
};

void poiseCsrRequest(const void *data, ProductRequest *r)
{
  r->index16 = ((const CsrType *)data)->asked == INDEX16_YES;
}

/* Where the plan has them, and they are little beside the memory that is left. */
static bool Pays(PoiseMat A)
{
  const Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  ProductPlan plan;
  int64_t left = INT64_MAX, total;
  poiseProductPlan(&dev->model, &(ProductRequest){.type = PRODUCT_CSR}, &c->statistics, NULL, &plan);
  if (plan.index16 && dev->ops->memory && dev->ops->memory(dev, &left, &total)) {
    PoiseErrorClear();
    left = 0;
  }
  return plan.index16 && (int64_t)sizeof(uint16_t) * c->nz <= left / INDEX16_LITTLE;
}

/* 16-bit columns do not help the host: 4 more instructions per nonzero take longer than reading 2 more
   bytes (measured: 1.3 times as long). */
static PoiseErr SetUp_CSR(PoiseMat A)
{
  CsrType *t = A->data;
  Index16 *d = &t->index16;
  bool may = t->asked != INDEX16_NO && !A->asked.library && !A->ctx->device->ops->is_host, on = may,
       changed = t->decided != t->asked;
  if (may && t->asked == INDEX16_AUTO) on = d->built == A->version.pattern && !changed ? d->on : Pays(A);
  t->decided = t->asked;
  return poiseIndex16SetUp(A, on, changed, d);
}

/* ---- products -------------------------------------------------------------------------------- */

PoiseErr poiseCsrIndex16(PoiseMat A, Index16View *v)
{
  if (A->type != &poiseMatType_csr) return POISE_OK;
  Index16 *d = &((CsrType *)A->data)->index16;
  return d->built == A->version.pattern ? poiseIndex16View(A, d, v) : POISE_OK;
}

PoiseErr poiseCsrArguments(PoiseMat A, const ProductArgs *p, CsrMultArgs *m)
{
  m->a = p->a, m->b = p->b;
  m->x = p->x, m->ghost = p->ghost, m->skip = p->skip;
  m->y = p->y, m->scale = p->scale;
  if (p->fuse) m->fuse = *p->fuse;
  return poiseCsrView(&A->csr, &m->A);
}

PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m)
{
  Csr *c = &A->csr;
  TRY(poiseBlocksPart(&c->order, &c->interior, c->nblock, part, m));
  m->rows = c->rows;
  m->tile = c->tile;
  m->vary = c->vary, m->x_lines = c->statistics.x_lines;
  return POISE_OK;
}

/* ---- products by a library of the device's --------------------------------------------------- */

static void DropPlan(PoiseMat A)
{
  CsrData *t = poiseCsrData(A);
  if (t->planned) A->ctx->device->ops->mat->csr_plan_free(A->ctx->device, &t->plan);
  t->planned = 0;
  poiseBufferDestroy(&t->whole);
}

/* Allocate all that products need. */
static PoiseErr Ready_CSR(PoiseMat A)
{
  CsrData *t = poiseCsrData(A);
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  int64_t columns = c->nloc + c->nghost;
  CsrView view;
  double *whole;
  TRY(SetUp_CSR(A));
  if (!A->asked.library || t->planned == A->version.pattern) return POISE_OK;
  DropPlan(A);
  TRY(poiseCsrView(c, &view));
  if (c->halo) {
    TRY(poiseBufferCreate(dev, (size_t)columns * sizeof(double), "x with its ghosts", &t->whole));
    TRY(poiseBufferWrite(&t->whole, DEVICE, &whole));
  }
  TRY(dev->ops->mat->csr_plan(dev, A->asked.library - 1, &view, columns, &t->plan));
  t->planned = A->version.pattern;
  return POISE_OK;
}

/* y = A x. The library takes x in one array: where there are ghosts, it and they are copied together, and all
   rows wait for them. */
static PoiseErr LaunchLibrary(PoiseMat A, ProductPart part, const ProductArgs *p)
{
  CsrData *t = poiseCsrData(A);
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  CsrLibraryArgs m = {.x = p->x, .y = p->y, .plan = t->plan.device};
  size_t owned = (size_t)c->nloc * sizeof(double), ghosts = (size_t)c->nghost * sizeof(double);
  double *whole;
  if (part == INTERIOR) return POISE_OK;
  if (part == REST) {
    TRY(poiseBufferWrite(&t->whole, DEVICE, &whole));
    TRY(poiseDeviceCopy(dev, whole, p->x, owned, COPY_ON_DEVICE));
    TRY(poiseDeviceCopy(dev, whole + c->nloc, p->ghost, ghosts, COPY_ON_DEVICE));
    m.x = whole;
  }
  TRY(poiseCsrView(c, &m.A));
  return LAUNCH(dev, csr_library, &m);
}

PoiseErr PoiseMatSetCSRKernel(PoiseMat A, const char *name)
{
  CALLED(OBJECT(A), GIVEN(name));
  const Device *dev = A->ctx->device;
  int library;
  TRY(poiseDeviceLibrary(dev, poiseCsrLibraries(dev), name, "products of csr", &library));
  return poiseMatSetLibrary(A, library);
}

static bool Composes_CSR(PoiseMat A)
{
  return A->asked.library != 0;
}

PoiseErr poiseMatSetLibrary(PoiseMat A, int library)
{
  if (A->asked.library == library) return POISE_OK;
  if (!A->made.work) TRY(poiseVecCreateLayout(A->rows, &A->made.work)); /* products are composed */
  if (A->type->composes == Composes_CSR) DropPlan(A);
  A->asked.library = library;
  poiseChoiceForget(A);
  A->version.product++; /* loops captured with the other product are invalid */
  return POISE_OK;
}

const char *PoiseMatCSRKernel(PoiseMat A)
{
  CALLED_OR("", OBJECT(A));
  return A->asked.library ? poiseCsrLibraries(A->ctx->device)[A->asked.library - 1] : "own";
}

/* ---- products by the device's own kernel ----------------------------------------------------- */

/* Reads 12 bytes per nonzero, or 10 with columns of 16 bits, 4 per row offset, x and y once. */
static PoiseErr Launch_CSR(PoiseMat A, ProductPart part, const ProductArgs *p)
{
  CsrMultArgs m = {0};
  if (A->asked.library) return LaunchLibrary(A, part, p);
  TRY(poiseCsrArguments(A, p, &m));
  TRY(poiseCsrBlocks(A, part, &m));
  TRY(poiseIndex16View(A, &((CsrType *)A->data)->index16, &m.index16));
  return LAUNCH(A->ctx->device, csr_mult, &m);
}

/* A view of the columns as rows, without values. */
static PoiseErr ColumnsView(const IndexedProduct *p, CsrView *T)
{
  Transposed *t = p->index;
  *T = (CsrView){.b = p->b, .m = p->n, .nloc = p->m, .nz = p->nz};
  TRY(poiseBufferRead(&t->ptr, DEVICE, t->wide ? (void *)&T->ptr64 : (void *)&T->ptr32));
  return poiseBufferRead(&t->row, DEVICE, &T->col);
}

/* Divide columns as csri divides rows, if there is work for several threads. A GPU sums columns of a usual
   length as fast without blocks. It needs them only for the fragments of long columns. */
PoiseErr poiseIndexedCut(Device *dev, const IndexedProduct *p)
{
  RowBlocks *w = p->blocks;
  CsrView T;
  TRY(ColumnsView(p, &T));
  int64_t chunk = poiseColumnsChunk(&dev->model, T.b, T.m, T.nz);
  if (!chunk) return POISE_OK;
  TRY(poiseRowBlocksCutRows(dev, &T, w,
                            (RowBlocksCut){chunk, chunk, poiseColumnsFragment(chunk, T.nz), false}));
  if (poiseModelIsGpu(&dev->model) && !w->nfragment) poiseRowBlocksDestroy(w);
  return POISE_OK;
}

PoiseErr poiseIndexedArguments(const IndexedProduct *p, Buffer *val, CsrMultTransposeArgs *a)
{
  Transposed *t = p->index;
  CsrMultArgs *m = &a->c.m;
  TRY(ColumnsView(p, &m->A));
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&a->perm64 : (void *)&a->perm32));
  TRY(poiseBufferRead(val, DEVICE, &m->A.val));
  m->rows = p->b ? POISE_BLOCK / p->b : POISE_BLOCK;
  m->nblock = p->blocks->n ? p->blocks->n : (m->A.m + m->rows - 1) / m->rows;
  if (p->blocks->n) TRY(poiseRowBlocksArguments(p->blocks, &a->c));
  a->c.nfragment = p->blocks->nfragment;
  a->owned = p->owned;
  return POISE_OK;
}

static IndexedProduct ByColumn(PoiseMat A)
{
  CsrData *d = poiseCsrData(A);
  const Csr *c = &A->csr;
  return (IndexedProduct){.b = c->b,
                          .n = c->nloc + c->nghost,
                          .owned = c->nloc,
                          .m = c->m,
                          .nz = c->nz,
                          .index = &d->by_column,
                          .blocks = &d->columns};
}

static PoiseErr Transpose(PoiseMat A)
{
  CsrData *t = poiseCsrData(A);
  const IndexedProduct p = ByColumn(A);
  if (t->pattern == A->version.pattern) return POISE_OK;
  poiseTransposedDestroy(&t->by_column);
  poiseRowBlocksDestroy(&t->columns);
  t->pattern = 0;
  TRY(poiseTransposedCreate(A, &t->by_column));
  TRY(poiseIndexedCut(A->ctx->device, &p));
  t->pattern = A->version.pattern;
  return POISE_OK;
}

/* All arguments but vectors. */
static PoiseErr TransposeArguments(PoiseMat A, CsrMultTransposeArgs *a)
{
  const IndexedProduct p = ByColumn(A);
  TRY(Transpose(A));
  return poiseIndexedArguments(&p, &A->csr.val, a);
}

PoiseErr poiseCsrReadyTranspose(PoiseMat A)
{
  return TransposeArguments(A, &(CsrMultTransposeArgs){0});
}

static PoiseErr LaunchTranspose(PoiseMat A, PoiseVec x, double *y)
{
  CsrMultTransposeArgs a = {.c.m.y = y};
  TRY(TransposeArguments(A, &a));
  if (x) TRY(poiseVecRead(x, &a.c.m.x));
  if (A->csr.halo) TRY(poiseHaloGhostWrite(A->csr.halo, &a.ghost));
  if (A->csr.b) return LAUNCH(A->ctx->device, bcsr_mult_transpose, &a);
  return LAUNCH(A->ctx->device, csr_mult_transpose, &a);
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
  return LAUNCH(A->ctx->device, csr_diagonal, &m);
}

void poiseCsrDataBytes(PoiseMat A, PoiseBytes *sum)
{
  const CsrData *d = poiseCsrData(A);
  const Transposed *t = &d->by_column;
  poiseBufferAdd(&t->ptr, sum);
  poiseBufferAdd(&t->from, sum);
  poiseBufferAdd(&t->row, sum);
  poiseBufferAdd(&d->whole, sum);
  poiseRowBlocksBytes(&d->columns, sum);
  sum->device += d->plan.bytes;
}

/* Predict the transpose. A device makes it itself, and keeps blocks of columns only if one is long. */
void poiseCsrDataPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  int64_t width = plan->nz > poiseContextHome(A->ctx)->hooks.most_narrow ? 8 : 4,
          m = plan->nloc + plan->nghost;
  int64_t chunk = plan->transpose ? poiseColumnsChunk(&dev->model, plan->b, m, plan->nz) : 0;
  bool gpu = poiseModelIsGpu(&dev->model);
  if (plan->transpose) poisePredict(dev, (m + 1) * width + plan->nz * (width + 4), ON_DEVICE, p);
  if (!chunk || (gpu && plan->m < chunk)) return;
  int64_t n = poiseRowBlocksOf(m, plan->nz, chunk);
  RowBlocksPlan w = {.n = {n, n}, .fragments = plan->m < chunk ? 0 : plan->nz / chunk};
  PoisePrediction row_blocks = {.beyond = NULL};
  MatPlan columns = *plan;
  poiseRowBlocksPredict(A, &w, &columns, &row_blocks);
  if (gpu) row_blocks.least = (PoiseBytes){0};
  poisePredictSum(&row_blocks, p);
}

/* Predict a library's products, which are composed, and take x with its ghosts. */
static PoiseErr Predict_CSR(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  const CsrType *t = data;
  poiseCsrDataPredict(A, plan, p);
  bool large = plan->nz >= INDEX16_LEAST;
  if (!A->asked.library && !dev->ops->is_host && (t->asked == INDEX16_YES || (t->asked && large)))
    poiseIndex16Predict(dev, plan, p);
  if (!A->asked.library) return POISE_OK;
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
  if (A->asked.library) TRY(poisePrint(A->ctx, "    A x by the library %s\n", PoiseMatCSRKernel(A)));
  poiseCsrRequest(t, &request);
  poiseProductPlan(&A->ctx->device->model, &request, s, NULL, &plan);
  if (A->assembled && !A->asked.library) TRY(poisePlanView(A, &plan));
  if (t->asked == INDEX16_NO || !A->assembled) return POISE_OK;
  int64_t some = plan.index16; /* on any rank; each has a plan of its own */
  TRY(poiseCommMaxInt(A->ctx->comm, &some, 1));
  if (t->asked == INDEX16_AUTO && (A->asked.library || !some)) return POISE_OK;
  if (A->asked.library) return poisePrint(A->ctx, "    columns of 16 bits: not for a library\n");
  if (A->ctx->device->ops->is_host)
    return poisePrint(A->ctx, "    columns of 16 bits: not on the host, where products would take longer\n");
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
  poiseTransposedDestroy(&poiseCsrData(A)->by_column);
  poiseRowBlocksDestroy(&poiseCsrData(A)->columns);
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
    .launch = Launch_CSR,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_CSR,
    .bytes = Bytes_CSR,
    .predict = Predict_CSR,
    .destroy = Destroy_CSR,
};

/* ---- host kernels ---------------------------------------------------------------------------- */

PoiseErr poiseHost_csr_mult(Device *dev, const void *args)
{
  const CsrMultArgs *a = args;
  double alpha = poiseScalar(a->a), beta = poiseScalar(a->b);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, a->nblock)
  for (int64_t k = 0; k < a->nblock; k++) {
    /* the host uses no other number of rows */
    int64_t block = poiseBlockOf(a, k), begin = block * POISE_BLOCK;
    int64_t end = begin + POISE_BLOCK < a->A.m ? begin + POISE_BLOCK : a->A.m;
    if (a->index16.code && a->index16.base[block * POISE_BANDS] >= 0)
      poiseHostRows(a, alpha, beta, begin, end, HOST_INDEX16);
    else if (a->ghost)
      poiseHostRows(a, alpha, beta, begin, end, HOST_GHOSTS);
    else
      poiseHostRows(a, alpha, beta, begin, end, HOST_OWNED);
    poiseHostFinishRows(a, begin, end, block);
  }
  return POISE_OK;
}

/* The part of A^T x of entries [k, last) of a column. With x = NULL: the sum of their absolute values. */
POISE_INLINE double ColumnSum(const CsrMultTransposeArgs *a, const double *x, bool wide, int64_t k,
                              int64_t last)
{
  const CsrView *A = &a->c.m.A;
  double s = 0;
  for (; k < last; k++) {
    double v = A->val[wide ? a->perm64[k] : a->perm32[k]];
    s += x ? v * x[A->col[k]] : fabs(v);
  }
  return s;
}

POISE_INLINE void Columns(const CsrMultTransposeArgs *args, const double *x, bool wide, int64_t begin,
                          int64_t end)
{
  /* a local copy, so that stores to y cannot change it */
  const CsrMultTransposeArgs local = *args, *a = &local;
  const CsrView *A = &a->c.m.A;
  for (int64_t j = begin; j < end; j++)
    *(j < a->owned ? a->c.m.y + j : a->ghost + (j - a->owned)) =
        ColumnSum(a, x, wide, wide ? A->ptr64[j] : A->ptr32[j], wide ? A->ptr64[j + 1] : A->ptr32[j + 1]);
}

static double FragmentOfColumn(const CsrMultTransposeArgs *a, const RowFragment *p)
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
    if (a->c.row_block) begin = a->c.row_block[b].begin, end = begin + a->c.row_block[b].rows;
    if (!m->x)
      Columns(a, NULL, m->A.ptr64 != NULL, begin, end);
    else if (m->A.ptr64)
      Columns(a, m->x, true, begin, end);
    else
      Columns(a, m->x, false, begin, end);
  }
  HOST_PARALLEL_FOR(dev, a->c.nfragment)
  for (int64_t p = 0; p < a->c.nfragment; p++) a->c.sum[p] = FragmentOfColumn(a, &a->c.part[p]);
  for (int64_t p = 0; p < a->c.nfragment;) { /* in their order */
    int64_t end = a->c.first[a->c.part[p].row_block + 1];
    double s = 0, *y = poiseOfColumn(a, poiseCsriRow(&a->c, &a->c.part[p]));
    for (; p < end; p++) s += a->c.sum[p];
    *y = s;
  }
  return POISE_OK;
}

PoiseErr poiseHost_csr_diagonal(Device *dev, const void *args)
{
  const CsrDiagonalArgs *a = args;
  int64_t m = poiseInScalars(&a->A, a->A.m), nblock = POISE_NBLOCKS(m);
  int b = a->b;
  (void)dev;
  if (m) memset(a->d, 0, (size_t)m * (size_t)b * sizeof(double));
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t block = 0; block < nblock; block++)
    for (int64_t i = block * POISE_BLOCK; i < (block + 1) * POISE_BLOCK && i < m; i++) {
      int64_t first = i - i % b; /* of the diagonal block */
      ScalarRow row = poiseNumberRow(&a->A, i);
      for (int64_t k = 0; k < row.n; k++) {
        int64_t j = poiseNumberColumn(&a->A, &row, k) - first;
        if (j >= 0 && j < b) a->d[first * b + j * b + i % b] = a->A.val[poiseNumberPlace(&row, k)];
      }
    }
  return POISE_OK;
}

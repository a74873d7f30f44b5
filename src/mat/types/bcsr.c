/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type bcsr: dense blocks of one size, column-major, as entries of a CSR of blocks (Eberhardt & Hoemmen 2016).
  It reads 8 + 4 / b^2 bytes per scalar, where CSR reads 12. The b scalars of x that belong to a block are
  read once for all its rows. This file has the products and the host kernels.
*/
#include "bcsr_kernels.h"
#include "bcsr_rows.h"
#include "blocks.h"
#include "mat/bytes.h"
#include "transpose_kernels.h"
#include "row_blocks.h"

typedef struct BcsrData {
  CsrData csr;
  int asked;            /* BCSR_... */
  int64_t built, tried; /* A->version.pattern at the latest set-up, and at the latest attempt */
  int was_asked;        /* then */
  int form;             /* the form chosen: BCSR_... */
  ProductPlan plan;
  RowBlocks w; /* unless the form is even groups, which are those of the CSR */
} BcsrData;
POISE_BEGINS_WITH_CSR(BcsrData);

static const char *const forms[] = {"auto", "even", "balanced", "block", "column", "row"}; /* BCSR_... */

static const PoiseOption options[] = {
    {"mat_bcsr_kernel", POISE_OPTION_CHOICE, offsetof(BcsrData, asked), "auto", 0, 0,
     "auto|even|balanced|block|column|row",
     "SpMV of bcsr: groups of rows (even), row blocks with equally many blocks (balanced: for uneven "
     "rows), or on a GPU one of the paper's three"},
    {0},
};

/* ---- the form -------------------------------------------------------------------------------- */

/* Does the form exist? A form has groups of so many block rows; 0: there is no such kernel. */
static PoiseErr CheckForm(const Device *dev, int b, int form, int rows)
{
  if (!rows)
    FAIL(POISE_ERR_UNSUPPORTED, "device %s has no kernel '%s' for products of bcsr with blocks of %d x %d",
         dev->ops->name, forms[form], b, b);
  return POISE_OK;
}

static PoiseErr Choose(PoiseMat A, BcsrData *d)
{
  const Device *dev = A->ctx->device;
  const ProductRequest request = {.type = PRODUCT_BCSR, .b = A->csr.b, .form = d->asked};
  poiseProductPlan(&dev->model, &request, &A->csr.statistics, &A->csr.statistics, &d->plan);
  d->form = d->plan.form == FORM_GROUPS     ? BCSR_EVEN
            : d->plan.form == FORM_BALANCED ? BCSR_BALANCED
                                            : d->asked;
  return CheckForm(dev, A->csr.b, d->form, d->plan.rows);
}

static PoiseErr SetUp_BCSR(PoiseMat A)
{
  BcsrData *d = A->data;
  bool other = d->was_asked != d->asked;
  if (d->built == A->version.pattern && !other) return POISE_OK;
  /* a captured loop has the old form; all ranks count alike */
  if (d->tried == A->version.pattern && other) A->version.product++;
  d->tried = A->version.pattern;
  poiseRowBlocksDestroy(&d->w);
  d->built = 0;
  d->was_asked = d->asked;
  TRY(Choose(A, d));
  const ProductPlan *p = &d->plan;
  if (d->form == BCSR_BALANCED)
    TRY(poiseRowBlocksCut(A, &d->w, (RowBlocksCut){p->row_block, p->limit, p->fragment, false}));
  if (d->form > BCSR_BALANCED) d->w.parts = (A->csr.m + p->rows - 1) / p->rows;
  if (A->csr.halo && d->form != BCSR_EVEN) TRY(poiseRowBlocksOrder(A, &d->w, p->rows));
  d->built = A->version.pattern;
  return POISE_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

/* What A's data say, of all parts. */
static PoiseErr Arguments(PoiseMat A, BcsrMultArgs *a)
{
  BcsrData *d = A->data;
  a->form = d->form, a->c.m.rows = d->plan.rows;
  return d->form == BCSR_BALANCED ? poiseRowBlocksArguments(&d->w, &a->c) : POISE_OK;
}

static PoiseErr Ready_BCSR(PoiseMat A)
{
  BcsrData *d = A->data;
  BcsrMultArgs a = {0};
  TRY(SetUp_BCSR(A));
  if (d->w.there) return POISE_OK;
  TRY(Arguments(A, &a));
  return d->form == BCSR_EVEN ? POISE_OK : poiseRowBlocksPart(&d->w, REST, &a.c); /* the order's place */
}

/* Reads 8 bytes per number, 4 per block and per offset, x and y once. Blocks of 1 x 1 are a CSR, and
   multiplied as such. */
static PoiseErr Launch_BCSR(PoiseMat A, ProductPart part, const ProductArgs *p)
{
  BcsrData *d = A->data;
  Device *dev = A->ctx->device;
  BcsrMultArgs a = {0};
  bool numbers = A->csr.b == 1;
  TRY(poiseCsrArguments(A, p, &a.c.m));
  TRY(Arguments(A, &a));
  TRY(d->form == BCSR_EVEN ? poiseCsrBlocks(A, part, &a.c.m) : poiseRowBlocksPart(&d->w, part, &a.c));
  if (numbers && d->form == BCSR_EVEN) return LAUNCH(dev, csr_mult, &a.c.m);
  if (numbers && d->form == BCSR_BALANCED) return LAUNCH(dev, csri_mult, &a.c);
  return LAUNCH(dev, bcsr_mult, &a);
}

static void Inherit_BCSR(const void *from, void *to)
{
  ((BcsrData *)to)->asked = ((const BcsrData *)from)->asked;
}

static int64_t Partials_BCSR(PoiseMat A)
{
  const BcsrData *d = A->data; /* from the latest set-up, see Ready_BCSR */
  return d->form == BCSR_EVEN ? A->csr.nblock : poiseRowBlocksPartials(&d->w);
}

static PoiseErr View_BCSR(PoiseMat A)
{
  const BcsrData *d = A->data;
  if (!A->assembled || !d->built) return POISE_OK;
  if (A->asked.share > 0)
    TRY(poisePrint(A->ctx, "    auto chose bcsr: blocks take %.2f of the bytes of csr\n", A->asked.share));
  TRY(poisePlanView(A, &d->plan));
  if (d->form == BCSR_EVEN) return POISE_OK;
  if (d->form > BCSR_BALANCED) return poisePrint(A->ctx, "    bcsr: kernel %s\n", forms[d->form]);
  return poisePrint(
      A->ctx,
      "    bcsr: row blocks of %lld rows and blocks, longer rows in fragments (of rank 0: %lld, %lld)\n",
      (long long)d->w.limit, (long long)d->w.n, (long long)d->w.nfragment);
}

static void Bytes_BCSR(PoiseMat A, PoiseBytes *sum)
{
  poiseCsrDataBytes(A, sum);
  poiseRowBlocksBytes(&((const BcsrData *)A->data)->w, sum);
}

static PoiseErr Predict_BCSR(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  const ProductRequest request = {
      .type = PRODUCT_BCSR, .b = plan->b, .form = ((const BcsrData *)data)->asked};
  const int64_t groups[] = {plan->nblock[0], plan->nblock[1]};
  PoisePrediction even;
  ProductBounds bounds;
  poiseProductBounds(&dev->model, &request, plan->m, plan->nz, &bounds);
  poiseCsrDataPredict(A, plan, p);
  TRY(CheckForm(dev, plan->b, request.form, bounds.rows[0]));
  even = *p;
  if (bounds.balanced) poiseRowBlocksPredictCut(A, bounds.row_block, bounds.limit, false, plan, p);
  if (bounds.groups && bounds.balanced) poisePredictEither(&even, p), poisePlanEither(groups, plan->partials);
  if (bounds.groups || bounds.balanced) return POISE_OK; /* groups are those of the CSR */
  int64_t parts = (plan->m + bounds.rows[0] - 1) / bounds.rows[0];
  if (PoiseSize(A->ctx) > 1) poisePredict(dev, 4 * parts, ON_BOTH, p);
  plan->partials[0] = plan->partials[1] = parts;
  return POISE_OK;
}

static void Destroy_BCSR(PoiseMat A)
{
  poiseCsrDataDestroy(A);
  poiseRowBlocksDestroy(&((BcsrData *)A->data)->w);
}

const MatType poiseMatType_bcsr = {
    .name = "bcsr",
    .blocked = true,
    .fuse = true,
    .size = sizeof(BcsrData),
    .options = options,
    .inherit = Inherit_BCSR,
    .setup = SetUp_BCSR,
    .ready = Ready_BCSR,
    .partials = Partials_BCSR,
    .launch = Launch_BCSR,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_BCSR,
    .bytes = Bytes_BCSR,
    .predict = Predict_BCSR,
    .destroy = Destroy_BCSR,
};

/* ---- host kernels ---------------------------------------------------------------------------- */

typedef struct {
  void (*rows)(const CsrMultArgs *m, double alpha, double beta, int64_t begin, int64_t end);
  void (*fragment)(const CsrMultArgs *m, int64_t k, int64_t last, double *sum);
} OfSize;
#define OF_SIZE(b)                                                                                 \
  static void Rows##b(const CsrMultArgs *m, double alpha, double beta, int64_t begin, int64_t end) \
  {                                                                                                \
    poiseHostBlockRows(b, m, alpha, beta, begin, end);                                             \
  }                                                                                                \
  static void Fragment##b(const CsrMultArgs *m, int64_t k, int64_t last, double *sum)              \
  {                                                                                                \
    poiseHostAddBlocks(b, m, k, last, sum);                                                        \
  }
POISE_BLOCK_SIZES(OF_SIZE)
#define BOTH(b) {Rows##b, Fragment##b},
static const OfSize of_size[MAX_BLOCK_SIZE + 1] = {{0}, POISE_BLOCK_SIZES(BOTH)};

/* Finish split rows: add the sums of their fragments in order. */
static void Join(const CsriMultArgs *a, double alpha, double beta)
{
  int64_t b = a->m.A.b;
  for (int64_t p = 0; p < a->nfragment;) {
    int64_t row = poiseCsriRow(a, &a->part[p]), end = a->first[a->part[p].row_block + 1];
    double s[MAX_BLOCK_SIZE] = {0}, *y = a->m.y + row * b;
    for (; p < end; p++) {
      for (int64_t r = 0; r < b; r++) s[r] += a->sum[p * b + r];
      /* 0 for all but the last fragment */
      for (int f = 0; f < a->m.fuse.ndot; f++) a->m.fuse.partial[f][a->parts + p] = 0;
    }
    for (int64_t r = 0; r < b; r++) y[r] = poiseHostUpdate(alpha, s[r], beta, y[r]);
    poiseHostFinishRows(&a->m, row * b, (row + 1) * b, a->parts + p - 1);
  }
}

PoiseErr poiseHost_bcsr_mult(Device *dev, const void *args)
{
  const BcsrMultArgs *balanced = args;
  const CsriMultArgs *a = &balanced->c;
  const CsrMultArgs *m = &a->m;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  int64_t b = m->A.b;
  const OfSize *size = &of_size[b];
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t k = 0; k < m->nblock; k++) {
    int64_t group = poiseBlockOf(m, k), begin = group * m->rows;
    int64_t end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    if (balanced->form == BCSR_BALANCED)
      begin = a->row_block[group].begin, end = begin + a->row_block[group].rows;
    size->rows(m, alpha, beta, begin, end);
    poiseHostFinishRows(m, begin * b, end * b, group);
  }
  if (balanced->form != BCSR_BALANCED) return POISE_OK;
  HOST_PARALLEL_FOR(dev, a->nfragment)
  for (int64_t p = 0; p < a->nfragment; p++)
    size->fragment(m, a->part[p].first, a->part[p].first + a->part[p].nz, a->sum + p * b);
  Join(a, alpha, beta);
  return POISE_OK;
}

/* The part of A^T x of entries [k, last) of a block column. With x = NULL: the sums of their absolute
   values. */
static void ColumnSum(const CsrMultTransposeArgs *a, int64_t k, int64_t last, double *out)
{
  const CsrMultArgs *m = &a->c.m;
  int64_t b = m->A.b;
  double sum[MAX_BLOCK_SIZE] = {0};
  for (; k < last; k++) {
    const double *v = m->A.val + poisePermuted(a, k) * b * b;
    for (int64_t c = 0; c < b; c++)
      for (int64_t r = 0; r < b; r++)
        sum[c] += m->x ? v[c * b + r] * m->x[m->A.col[k] * b + r] : fabs(v[c * b + r]);
  }
  memcpy(out, sum, (size_t)b * sizeof *sum);
}

PoiseErr poiseHost_bcsr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = args;
  const CsrMultArgs *m = &a->c.m;
  int64_t b = m->A.b;
  (void)dev;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t g = 0; g < m->nblock; g++) {
    int64_t begin = g * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    if (a->c.row_block) begin = a->c.row_block[g].begin, end = begin + a->c.row_block[g].rows;
    for (int64_t j = begin; j < end; j++)
      ColumnSum(a, poiseCsrOffset(&m->A, j), poiseCsrOffset(&m->A, j + 1), poiseOfColumn(a, j * b));
  }
  HOST_PARALLEL_FOR(dev, a->c.nfragment)
  for (int64_t p = 0; p < a->c.nfragment; p++) {
    const RowFragment *z = &a->c.part[p];
    ColumnSum(a, z->first, z->first + z->nz, a->c.sum + p * b);
  }
  for (int64_t p = 0; p < a->c.nfragment;) { /* in their order */
    int64_t end = a->c.first[a->c.part[p].row_block + 1];
    double *y = poiseOfColumn(a, poiseCsriRow(&a->c, &a->c.part[p]) * b);
    memset(y, 0, (size_t)b * sizeof *y);
    for (; p < end; p++)
      for (int64_t c = 0; c < b; c++) y[c] += a->c.sum[p * b + c];
  }
  return POISE_OK;
}

PoiseErr poiseHost_bcsr_transpose_blocks(Device *dev, const void *args)
{
  const BcsrTransposeBlocksArgs *a = args;
  int64_t b = a->b, nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t g = 0; g < nblock; g++)
    for (int64_t k = g * POISE_BLOCK; k < (g + 1) * POISE_BLOCK && k < a->n; k++) {
      int64_t from = a->from32 ? a->from32[k] : a->from64 ? a->from64[k] : k;
      poiseTransposeBlock(b, a->x + from * b * b, a->out + k * b * b);
    }
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Form bcsr: dense blocks of one size, column-major, as entries of a CSR of blocks (Eberhardt & Hoemmen 2016).
  It reads 8 + 4 / b^2 bytes per scalar, where CSR reads 12. The b scalars of x that belong to a block are
  read once for all its rows. This file has the products and the host kernels.
*/
#include "bcsr_kernels.h"
#include "bcsr_rows.h"
#include "transposed_kernels.h"
#include "mat/object/bytes.h"
#include "mat/csr/local_csr.h"
#include "row_blocks.h"

static const char *const kernels[] = {"auto", "even", "balanced", "block", "column", "row"}; /* BCSR_... */

static const PoiseOption options[] = {
    {"mat_bcsr_kernel", POISE_OPTION_CHOICE, offsetof(ProductOptions, blocks), "auto", 0, 0,
     "auto|even|balanced|block|column|row",
     "SpMV of bcsr: groups of rows (even), row blocks with equally many blocks (balanced: for uneven "
     "rows), or on a GPU one of the paper's three"},
    {0},
};

/* The kernel of a plan: BCSR_... In fp32 there are groups of rows alone. */
static int KernelOf(const Product *p)
{
  if (p->single || p->plan.form == FORM_GROUPS) return BCSR_EVEN;
  return p->plan.form == FORM_BALANCED ? BCSR_BALANCED : p->options.blocks;
}

/* Does the kernel exist? It has groups of so many block rows; 0: it does not. */
static PoiseErr Check(const Device *dev, int b, int kernel, int rows)
{
  if (!rows)
    FAIL(POISE_ERR_UNSUPPORTED, "device %s has no kernel '%s' for products of bcsr with blocks of %d x %d",
         dev->ops->name, kernels[kernel], b, b);
  return POISE_OK;
}

/* What the plan says, of all parts. */
static PoiseErr Arguments(Product *p, BcsrMultArgs *a)
{
  a->form = KernelOf(p), a->c.m.rows = p->plan.rows;
  return a->form == BCSR_BALANCED ? poiseRowBlocksArguments(&p->w, &a->c) : POISE_OK;
}

static PoiseErr Make_BCSR(Product *p)
{
  PoiseMat A = p->A;
  const ProductPlan *plan = &p->plan;
  int kernel = KernelOf(p);
  BcsrMultArgs a = {0};
  TRY(poiseMatMeasure(A));
  if (kernel == BCSR_EVEN) return poiseMatOrderBlocks(A);
  TRY(Check(A->ctx->device, A->csr.b, kernel, plan->rows));
  if (kernel == BCSR_BALANCED)
    TRY(poiseRowBlocksCut(A, &p->w, (RowBlocksCut){plan->row_block, plan->limit, plan->fragment, false}));
  else
    p->w.parts = (A->csr.m + plan->rows - 1) / plan->rows;
  if (A->csr.halo) TRY(poiseRowBlocksOrder(A, &p->w, plan->rows));
  TRY(Arguments(p, &a));
  return poiseRowBlocksPart(&p->w, REST, &a.c); /* the order's place */
}

/* Reads 8 bytes per number, 4 per block and per offset, x and y once. Blocks of 1 x 1 are a CSR, and
   multiplied as such. */
static PoiseErr Launch_BCSR(Product *p, ProductPart part, const ProductArgs *args)
{
  Device *dev = p->A->ctx->device;
  BcsrMultArgs a = {0};
  CsrMultArgs_f32 single;
  bool numbers = p->A->csr.b == 1;
  if (p->single) {
    TRY(poiseCsrArgumentsSingle(p, part, args, &single));
    return LAUNCH(dev, bcsr_mult_f32, &single);
  }
  TRY(poiseCsrArguments(p, args, &a.c.m));
  TRY(Arguments(p, &a));
  TRY(a.form == BCSR_EVEN ? poiseCsrBlocks(p->A, part, &a.c.m) : poiseRowBlocksPart(&p->w, part, &a.c));
  if (numbers && a.form == BCSR_EVEN) return LAUNCH(dev, csr_mult, &a.c.m);
  if (numbers && a.form == BCSR_BALANCED) return LAUNCH(dev, csri_mult, &a.c);
  return LAUNCH(dev, bcsr_mult, &a);
}

static PoiseErr View_BCSR(Product *p)
{
  PoiseContext ctx = p->A->ctx;
  int kernel = KernelOf(p);
  if (kernel == BCSR_EVEN) return POISE_OK;
  if (kernel > BCSR_BALANCED) return poisePrint(ctx, "    bcsr: kernel %s\n", kernels[kernel]);
  return poisePrint(
      ctx, "    bcsr: row blocks of %lld rows and blocks, longer rows in fragments (of rank 0: %lld, %lld)\n",
      (long long)p->w.limit, (long long)p->w.n, (long long)p->w.nfragment);
}

static PoiseErr Predict_BCSR(PoiseMat A, const ProductOptions *o, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  ProductRequest request = poiseProductRequest(o, PRODUCT_BCSR, 0);
  const int64_t groups[] = {plan->nblock[0], plan->nblock[1]};
  PoisePrediction even;
  ProductBounds bounds;
  request.b = plan->b;
  poiseProductBounds(&dev->model, &request, plan->m, plan->nz, &bounds);
  TRY(Check(dev, plan->b, request.form, bounds.rows[0]));
  even = *p;
  poiseMatOrderPredict(A, plan, &even);
  if (bounds.groups && !bounds.balanced) *p = even;
  if (bounds.balanced) poiseRowBlocksPredictCut(A, bounds.row_block, bounds.limit, false, plan, p);
  if (bounds.groups && bounds.balanced) poisePredictEither(&even, p), poisePlanEither(groups, plan->partials);
  if (bounds.groups || bounds.balanced) return POISE_OK; /* groups are those of MatBlocks */
  int64_t parts = (plan->m + bounds.rows[0] - 1) / bounds.rows[0];
  if (PoiseSize(A->ctx) > 1) poisePredict(dev, 4 * parts, ON_BOTH, p);
  plan->partials[0] = plan->partials[1] = parts;
  return POISE_OK;
}

const ProductForm poiseForm_bcsr = {
    .name = "bcsr",
    .fuses = true,
    .options = options,
    .make = Make_BCSR,
    .launch = Launch_BCSR,
    .launch_columns = poiseSeveralLaunch,
    .view = View_BCSR,
    .predict = Predict_BCSR,
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

static void MultGroup(const BcsrMultArgs *a, double alpha, double beta, int64_t group)
{
  const CsrMultArgs *m = &a->c.m;
  int64_t b = m->A.b, begin = group * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
  if (a->form == BCSR_BALANCED) begin = a->c.row_block[group].begin, end = begin + a->c.row_block[group].rows;
  poiseHostKeepRows(m, begin * b, end * b);
  of_size[b].rows(m, alpha, beta, begin, end);
  poiseHostFinishRows(m, begin * b, end * b, group);
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
  HOST_BLOCKS_IF(dev, HOST_WORTH(dev, m->nblock, 8.0 * (double)(b * b * m->A.nz)), m->nblock, 1, k,
                 MultGroup(balanced, alpha, beta, poiseBlockOf(m, k)));
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

/* The same of A^T X, for all columns of X side by side. */
static void WideColumnSum(const CsrMultTransposeArgs *a, int64_t k, int64_t last, double *out)
{
  const CsrMultArgs *m = &a->c.m;
  int64_t b = m->A.b, wide = a->wide;
  memset(out, 0, (size_t)(b * wide) * sizeof *out);
  for (; k < last; k++) {
    const double *v = m->A.val + poisePermuted(a, k) * b * b, *x = m->x + m->A.col[k] * b * wide;
    for (int64_t c = 0; c < b; c++)
      for (int64_t r = 0; r < b; r++)
        for (int64_t j = 0; j < wide; j++) out[c * wide + j] += v[c * b + r] * x[r * wide + j];
  }
}

static void AddColumn(const CsrMultTransposeArgs *a, int64_t k, int64_t last, double *out)
{
  if (a->wide > 1)
    WideColumnSum(a, k, last, out);
  else
    ColumnSum(a, k, last, out);
}

static double *OfColumn(const CsrMultTransposeArgs *a, int64_t j)
{
  return a->wide > 1 ? poiseOfWideColumn(a, j) : poiseOfColumn(a, j);
}

PoiseErr poiseHost_bcsr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = args;
  const CsrMultArgs *m = &a->c.m;
  int64_t b = m->A.b, size = a->wide > 1 ? b * a->wide : b;
  (void)dev;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t g = 0; g < m->nblock; g++) {
    int64_t begin = g * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    if (a->c.row_block) begin = a->c.row_block[g].begin, end = begin + a->c.row_block[g].rows;
    for (int64_t j = begin; j < end; j++)
      AddColumn(a, poiseCsrOffset(&m->A, j), poiseCsrOffset(&m->A, j + 1), OfColumn(a, j * b));
  }
  HOST_PARALLEL_FOR(dev, a->c.nfragment)
  for (int64_t p = 0; p < a->c.nfragment; p++) {
    const RowFragment *z = &a->c.part[p];
    AddColumn(a, z->first, z->first + z->nz, a->c.sum + p * size);
  }
  for (int64_t p = 0; p < a->c.nfragment;) { /* in their order */
    int64_t end = a->c.first[a->c.part[p].row_block + 1];
    double *y = OfColumn(a, poiseCsriRow(&a->c, &a->c.part[p]) * b);
    memset(y, 0, (size_t)size * sizeof *y);
    for (; p < end; p++)
      for (int64_t c = 0; c < size; c++) y[c] += a->c.sum[p * size + c];
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Form csr: rows divided over threads, or on a GPU as tiles, uniform row blocks through shared memory; and its
  host kernels. Both use the blocks of rows that a matrix has for all its products (statistics.c).
*/
#include "bcsr_kernels.h"
#include "csr_rows.h"
#include "index16.h"
#include "mat/object/mat.h"
#include "row_blocks.h"

static const char index16_words[] = "no|false=no|0=no|yes|=yes|true=yes|1=yes|auto";

static const PoiseOption options[] = {
    {"mat_index16", POISE_OPTION_CHOICE, offsetof(ProductOptions, index16), "auto", 0, 0, index16_words,
     "GPU: store columns also in 16 bits, in thread blocks whose columns are the rank's own and in few "
     "bands; SpMV reads 10 bytes per nonzero; auto: for tiles of a large matrix, where memory is free"},
    {0},
};

/* ---- what forms share ------------------------------------------------------------------------ */

PoiseErr poiseCsrArguments(Product *p, const ProductArgs *a, CsrMultArgs *m)
{
  m->a = a->a, m->b = a->b;
  m->x = a->x, m->ghost = a->ghost, m->skip = a->skip;
  m->y = a->y, m->scale = a->scale;
  m->add = a->add, m->also = a->also;
  if (a->fuse) m->fuse = *a->fuse;
  return poiseCsrView(&p->A->csr, &m->A);
}

PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m)
{
  MatBlocks *b = &A->blocks;
  TRY(poiseBlocksPart(&b->order, &b->interior, b->n, part, m));
  m->rows = b->rows, m->lanes = b->lanes, m->ranges = b->ranges;
  m->tile = b->tile;
  m->vary = b->vary, m->x_lines = b->statistics.x_lines;
  return POISE_OK;
}

/* Reads 8 or 6 bytes per entry, or 4 + 4 / b^2 per number of blocks. */
PoiseErr poiseCsrArgumentsSingle(Product *p, ProductPart part, const ProductArgs *a, CsrMultArgs_f32 *m)
{
  CsrMultArgs rows = {0};
  CsrView v;
  TRY(poiseCsrPattern(&p->A->csr, &v));
  TRY(poiseCsrBlocks(p->A, part, &rows));
  *m = (CsrMultArgs_f32){.A = {.b = v.b, .m = v.m, .nloc = v.nloc, .nz = v.nz},
                         .rows = rows.rows,
                         .lanes = rows.lanes,
                         .ranges = rows.ranges,
                         .vary = rows.vary,
                         .first = rows.first,
                         .nblock = rows.nblock,
                         .tile = rows.tile,
                         .x_lines = rows.x_lines,
                         .order = rows.order,
                         .a = a->a,
                         .b = a->b,
                         .x = a->x,
                         .ghost = a->ghost,
                         .skip = a->skip,
                         .y = a->y,
                         .scale = a->scale,
                         .add = a->add,
                         .also = a->also};
  if (a->fuse) m->fuse = *a->fuse;
  m->A.ptr64 = v.ptr64, m->A.ptr32 = v.ptr32, m->A.col = v.col;
  TRY(poiseIndex16View(p->A, &m->index16));
  return poiseBufferRead(&p->val, DEVICE, &m->A.val);
}

/* ---- the form -------------------------------------------------------------------------------- */

static PoiseErr Make_CSR(Product *p)
{
  TRY(poiseMatMeasure(p->A));
  return poiseMatOrderBlocks(p->A);
}

/* Reads 12 bytes per nonzero, or 10 with columns of 16 bits, 4 per row offset, x and y once. */
static PoiseErr Launch_CSR(Product *p, ProductPart part, const ProductArgs *a)
{
  Device *dev = p->A->ctx->device;
  CsrMultArgs m = {0};
  CsrMultArgs_f32 single;
  if (p->single) {
    TRY(poiseCsrArgumentsSingle(p, part, a, &single));
    return LAUNCH(dev, csr_mult_f32, &single);
  }
  TRY(poiseCsrArguments(p, a, &m));
  TRY(poiseCsrBlocks(p->A, part, &m));
  TRY(poiseIndex16View(p->A, &m.index16));
  return LAUNCH(dev, csr_mult, &m);
}

PoiseErr poiseProductMultRows(Product *p, int64_t begin, int64_t end, ProductArgs *a)
{
  Device *dev = p->A->ctx->device;
  int rows = p->A->blocks.rows;
  BcsrMultArgs b = {.form = BCSR_EVEN};
  CsrMultArgs *m = &b.c.m;
  CsrMultArgs_f32 single;
  if (begin % rows || end % rows)
    FAIL(POISE_ERR_INTERNAL, "rows %lld to %lld are not blocks of %d", (long long)begin, (long long)end,
         rows);
  if (p->single) {
    TRY(poiseCsrArgumentsSingle(p, WHOLE, a, &single));
    single.first = begin / rows, single.nblock = (end - begin) / rows;
    return p->A->csr.b > 1 ? LAUNCH(dev, bcsr_mult_f32, &single) : LAUNCH(dev, csr_mult_f32, &single);
  }
  TRY(poiseCsrArguments(p, a, m));
  TRY(poiseCsrBlocks(p->A, WHOLE, m));
  m->first = begin / rows, m->nblock = (end - begin) / rows;
  if (m->A.b <= 1) TRY(poiseIndex16View(p->A, &m->index16));
  return m->A.b > 1 ? LAUNCH(dev, bcsr_mult, &b) : LAUNCH(dev, csr_mult, m);
}

static PoiseErr View_CSR(Product *p)
{
  int asked = p->options.index16;
  PoiseMat A = p->A;
  if (asked == INDEX16_NO) return POISE_OK;
  int64_t some = p->plan.index16; /* on any rank; each has a plan of its own */
  TRY(poiseCommMaxInt(A->ctx->comm, &some, 1));
  if (asked == INDEX16_AUTO && !some) return POISE_OK;
  if (!A->ctx->device->ops->is_host) return poiseIndex16Print(A);
  return poisePrint(A->ctx, "    columns of 16 bits: not on the host, where products would take longer\n");
}

/* The order of blocks. */
void poiseMatOrderPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  if (PoiseSize(A->ctx) == 1) return;
  poisePredictBetween(A->ctx->device, 4 * plan->nblock[0], 4 * plan->nblock[1], ON_BOTH, p);
}

static PoiseErr Predict_CSR(PoiseMat A, const ProductOptions *o, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  bool large = plan->nz >= INDEX16_LEAST;
  poiseMatOrderPredict(A, plan, p);
  if (!dev->ops->is_host && (o->index16 == INDEX16_YES || (o->index16 && large)))
    poiseIndex16Predict(dev, plan, p);
  return POISE_OK;
}

const ProductForm poiseForm_csr = {
    .name = "csr",
    .fuses = true,
    .options = options,
    .make = Make_CSR,
    .launch = Launch_CSR,
    .launch_columns = poiseSeveralLaunch,
    .view = View_CSR,
    .predict = Predict_CSR,
};

PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d)
{
  CsrDiagonalArgs m = {.b = b, .d = d};
  TRY(poiseCsrView(&A->csr, &m.A));
  return LAUNCH(A->ctx->device, csr_diagonal, &m);
}

/* ---- host kernels ---------------------------------------------------------------------------- */

static void MultBlock(const CsrMultArgs *a, double alpha, double beta, int64_t block)
{
  /* the host uses no other number of rows */
  int64_t begin = block * POISE_BLOCK, end = begin + POISE_BLOCK < a->A.m ? begin + POISE_BLOCK : a->A.m;
  poiseHostKeepRows(a, begin, end);
  if (a->index16.code && a->index16.base[block * POISE_BANDS] >= 0)
    poiseHostRows(a, alpha, beta, begin, end, HOST_INDEX16);
  else if (a->ghost)
    poiseHostRows(a, alpha, beta, begin, end, HOST_GHOSTS);
  else
    poiseHostRows(a, alpha, beta, begin, end, HOST_OWNED);
  poiseHostFinishRows(a, begin, end, block);
}

PoiseErr poiseHost_csr_mult(Device *dev, const void *args)
{
  const CsrMultArgs *a = args;
  double alpha = poiseScalar(a->a), beta = poiseScalar(a->b);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_BLOCKS_IF(dev, HOST_WORTH(dev, a->nblock, 12.0 * (double)a->A.nz), a->nblock, 1, k,
                 MultBlock(a, alpha, beta, poiseBlockOf(a, k)));
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Form csri: row blocks of equally many rows and entries, whatever the lengths of rows. Rows that are too long
  for one are split into fragments, whose sums are added in order. It follows CSR-I (Flegar & Quintana-Orti
  2017), which cuts the entries into equal chunks and adds parts of rows by atomics. Here row blocks end at
  row ends, and nothing depends on the order of execution. Rows besides those that are split may go in tiles.
*/
#include "csr_rows.h"
#include "hubs.h"
#include "mat/object/bytes.h"
#include "row_blocks.h"

static const PoiseOption options[] = {
    {"mat_csri_chunk", POISE_OPTION_INT, offsetof(ProductOptions, chunk), "0", 0, 8192, NULL,
     "rows and entries of a row block; longer rows are split; 0: automatic"},
    {"mat_csri_hubs", POISE_OPTION_INT, offsetof(ProductOptions, hubs), "-1", -1, 8192, NULL,
     "GPU: number of high-degree columns (hubs) whose x is cached in shared memory, rounded down to a "
     "power of two; -1: automatic; 0 or 1: none"},
    {"mat_combine", POISE_OPTION_CHOICE, offsetof(ProductOptions, combine), "ordered", 0, 0, "ordered|atomic",
     "how the fragments of split rows are added: in their order, or in any order by atomic additions, as "
     "in the paper of csri"},
    {0},
};

/* What the plan says, of all parts. */
static PoiseErr Arguments(Product *p, CsriMultArgs *a)
{
  const MatBlocks *b = &p->A->blocks;
  a->uncut = p->plan.uncut, a->exact = p->plan.form == FORM_SHARED;
  a->m.rows = p->plan.rows, a->m.tile = p->plan.tile;
  a->m.vary = b->vary, a->m.x_lines = b->statistics.x_lines;
  TRY(poiseHubsArguments(&p->hubs, a));
  return poiseRowBlocksArguments(&p->w, a);
}

static PoiseErr Make_CSRI(Product *p)
{
  const ProductPlan *plan = &p->plan;
  int rows = plan->rows;
  PoiseMat A = p->A;
  TRY(poiseRowBlocksCut(
      A, &p->w, (RowBlocksCut){plan->row_block, plan->limit, plan->fragment, plan->form == FORM_SHARED}));
  if (rows < POISE_BLOCK) p->w.parts = (A->csr.m + rows - 1) / rows;
  if (A->csr.halo) TRY(poiseRowBlocksOrder(A, &p->w, rows));
  return Arguments(p, &(CsriMultArgs){0});
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once, and 16 per row block. */
static PoiseErr Launch_CSRI(Product *p, ProductPart part, const ProductArgs *args)
{
  CsriMultArgs a = {.fill = part != REST};
  TRY(poiseCsrArguments(p, args, &a.m));
  TRY(Arguments(p, &a));
  TRY(poiseRowBlocksPart(&p->w, part, &a));
  return LAUNCH(p->A->ctx->device, csri_mult, &a);
}

static PoiseErr View_CSRI(Product *p)
{
  PoiseMat A = p->A;
  bool tiles = p->form == &poiseForm_csri && p->plan.rows < POISE_BLOCK;
  double sums[] = {(double)p->w.parts, (double)p->w.nfragment, tiles, p->hubs.entries, (double)A->csr.nz};
  int64_t limit = p->w.limit; /* 0 on ranks of other forms */
  TRY(PoiseSum(A->ctx, 5, sums));
  TRY(poiseCommMaxInt(A->ctx->comm, &limit, 1));
  if (p->options.combine == COMBINE_ATOMIC)
    TRY(poisePrint(A->ctx, "    csri: %.0f row blocks, shared rows by atomic additions\n", sums[0]));
  else
    TRY(poisePrint(A->ctx,
                   "    csri: %.0f %s of equal work, %.0f fragments of rows of %lld entries or more\n",
                   sums[0], sums[2] > 0 ? "uniform row blocks" : "row blocks", sums[1], (long long)limit));
  if (sums[3] == 0) return POISE_OK;
  return poisePrint(A->ctx, "      x of columns with %.1f %% of the nonzeros is kept at hand\n",
                    100 * sums[3] / sums[4]);
}

/* Row blocks follow from the sizes, from hubs, and from the device's choice for these rows; fragments
   do not. */
static PoiseErr Predict_CSRI(PoiseMat A, const ProductOptions *o, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  ProductRequest request = poiseProductRequest(o, PRODUCT_CSRI, plan->nloc + plan->nghost);
  ProductBounds bounds;
  poiseProductBounds(&dev->model, &request, plan->m, plan->nz, &bounds);
  poiseHubsPredict(dev, bounds.hub_bits, p);
  poiseRowBlocksPredictCut(A, bounds.row_block, bounds.limit, request.exact, plan, p);
  if (!request.exact) return POISE_OK;
  poisePredict(dev, 8 * plan->m, ON_DEVICE, p); /* the product is composed */
  plan->partials[0] = plan->partials[1] = POISE_NBLOCKS(plan->m);
  return POISE_OK;
}

/* Where additions are atomic products are composed: they come in any order, so finished rows are not known
   before the end. */
const ProductForm poiseForm_csri = {
    .name = "csri",
    .fuses = true,
    .options = options,
    .make = Make_CSRI,
    .launch = Launch_CSRI,
    .launch_columns = poiseSeveralLaunch,
    .view = View_CSRI,
    .predict = Predict_CSRI,
};

/* ---- host kernels ---------------------------------------------------------------------------- */

PoiseErr poiseHost_csri_cut(Device *dev, const void *args)
{
  const CsriCutArgs *a = args;
  int64_t n = a->nrow_block + 1;
  (void)dev;
  HOST_PARALLEL_FOR(dev, n)
  for (int64_t w = 0; w < n; w++) poiseCsriCut(a, w);
  return POISE_OK;
}

PoiseErr poiseHost_csri_fragments(Device *dev, const void *args)
{
  const CsriFragmentsArgs *a = args;
  (void)dev;
  for (int64_t w = 0; w < a->nrow_block; w++)
    for (int64_t p = a->first[w]; p < a->first[w + 1]; p++) poiseCsriFragment(a, w, p);
  return POISE_OK;
}

static double PartSum(const CsrMultArgs *m, int64_t k, int64_t last)
{
  return m->ghost ? poiseHostRowSum(m, k, last, true, false) : poiseHostRowSum(m, k, last, false, false);
}

static double FragmentSum(const CsriMultArgs *a, int64_t p)
{
  return PartSum(&a->m, a->part[p].first, a->part[p].first + a->part[p].nz);
}

/* Finish split rows: add the sums of their fragments in order. */
static void Join(const CsriMultArgs *a, double alpha, double beta)
{
  for (int64_t p = 0; p < a->nfragment;) {
    int64_t row = poiseCsriRow(a, &a->part[p]), end = a->first[a->part[p].row_block + 1];
    double s = 0;
    for (; p < end; p++) {
      s += a->sum[p];
      /* 0 for all but the last fragment */
      for (int f = 0; f < a->m.fuse.ndot; f++) a->m.fuse.partial[f][a->parts + p] = 0;
    }
    a->m.y[row] = poiseHostUpdate(alpha, s, beta, a->m.y[row]);
    poiseHostFinishRows(&a->m, row, row + 1, a->parts + p - 1);
  }
}

static void Add(double *to, double v)
{
  HOST_ATOMIC
  *to += v;
}

static void ExactRowBlock(const CsrMultArgs *m, const RowBlock *z)
{
  int64_t k = z->first, stop = z->first + z->nz, last = z->begin + z->rows;
  for (int64_t i = z->begin; i < last; i++) {
    int64_t end = poiseCsrOffset(&m->A, i + 1);
    if (i == z->begin)
      Add(&m->y[i], PartSum(m, k, end));
    else
      m->y[i] = PartSum(m, k, end);
    k = end;
  }
  if (k < stop) Add(&m->y[last], PartSum(m, k, stop));
}

static void Exactly(Device *dev, const CsriMultArgs *a)
{
  const CsrMultArgs *m = &a->m;
  (void)dev;
  if (a->fill && m->A.m) memset(m->y, 0, (size_t)m->A.m * sizeof *m->y);
  HOST_BLOCKS(dev, m->nblock, 1, k, ExactRowBlock(m, &a->row_block[poiseBlockOf(m, k)]));
}

static void RowBlockRows(const CsriMultArgs *a, double alpha, double beta, int64_t w)
{
  const CsrMultArgs *m = &a->m;
  int64_t begin = a->row_block[w].begin, end = begin + a->row_block[w].rows;
  if (m->ghost)
    poiseHostRows(m, alpha, beta, begin, end, true);
  else
    poiseHostRows(m, alpha, beta, begin, end, false);
  poiseHostFinishRows(m, begin, end, w);
}

/* A piece of the work: long rows' fragments, then row blocks. */
static void Piece(const CsriMultArgs *a, double alpha, double beta, int64_t k)
{
  if (k < a->nfragment)
    a->sum[k] = FragmentSum(a, k);
  else
    RowBlockRows(a, alpha, beta, poiseBlockOf(&a->m, k - a->nfragment));
}

PoiseErr poiseHost_csri_mult(Device *dev, const void *args)
{
  const CsriMultArgs *a = args;
  const CsrMultArgs *m = &a->m;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  if (a->exact) {
    Exactly(dev, a);
    return POISE_OK;
  }
  int64_t n = a->nfragment + m->nblock;
  HOST_BLOCKS(dev, n, 1, k, Piece(a, alpha, beta, k));
  Join(a, alpha, beta);
  return POISE_OK;
}

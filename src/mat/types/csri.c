/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type csri: plain CSR, divided into row blocks of equally many rows and entries, whatever the lengths of
  rows. Rows that are too long for one are split into fragments, whose sums are added in order. It follows
  CSR-I (Flegar & Quintana-Orti 2017), which cuts the entries into equal chunks and adds parts of rows by
  atomics. Here row blocks end at row ends, and nothing depends on the order of execution.
*/
#include "mat/csr/statistics.h"
#include "csr_rows.h"
#include "hubs.h"
#include "row_blocks.h"

enum { ORDERED, ATOMIC };

typedef struct CsriData {
  CsrData csr;
  PoiseInt asked, hubs_asked;
  int combine;   /* ORDERED, ATOMIC */
  int64_t built; /* A->version.pattern when the row blocks were made; 0: there are none */
  PoiseInt was_asked, hubs_were_asked; /* then */
  bool exact;                          /* row blocks were made for ATOMIC */
  int64_t tried;                       /* A->version.pattern at the latest attempt */
  ProductPlan plan;                    /* of rows less than POISE_BLOCK: rows that are not split are uniform,
                                          and go in tiles of so many rows */
  RowBlocks w;
  Hubs hubs;
} CsriData;
POISE_BEGINS_WITH_CSR(CsriData);

static const PoiseOption options[] = {
    {"mat_csri_chunk", POISE_OPTION_INT, offsetof(CsriData, asked), "0", 0, 8192, NULL,
     "rows and entries of a row block; longer rows are split; 0: automatic"},
    {"mat_csri_hubs", POISE_OPTION_INT, offsetof(CsriData, hubs_asked), "-1", -1, 8192, NULL,
     "GPU: number of high-degree columns (hubs) whose x is cached in shared memory, rounded down to a "
     "power of two; -1: automatic; 0 or 1: none"},
    {"mat_combine", POISE_OPTION_CHOICE, offsetof(CsriData, combine), "ordered", 0, 0, "ordered|atomic",
     "how the fragments of split rows are added: in their order, or in any order by atomic additions, as "
     "in the paper of csri"},
    {0},
};

/* ---- the cut --------------------------------------------------------------------------------- */

void poiseCsriRequest(const void *data, ProductRequest *r)
{
  const CsriData *d = data;
  r->chunk = d->asked, r->hubs = d->hubs_asked, r->exact = d->combine == ATOMIC;
}

/* Plan once to know which hubs to look for, and again when they have been found. */
static PoiseErr Plan(PoiseMat A, CsriData *d)
{
  const Csr *c = &A->csr;
  const DeviceModel *model = &A->ctx->device->model;
  ProductRequest request = {.type = PRODUCT_CSRI, .columns = c->nloc + c->nghost, .hub_bits = HUBS_UNKNOWN};
  CsrStatistics cut = c->statistics;
  poiseCsriRequest(d, &request);
  if (!d->exact) TRY(poiseCsrCutStatistics(A, &request, &cut));
  poiseProductPlan(model, &request, &c->statistics, &cut, &d->plan);
  TRY(poiseHubsFind(A, d->plan.hub_bits, d->hubs_asked < 0, &d->hubs));
  request.hub_bits = d->hubs.bits;
  poiseProductPlan(model, &request, &c->statistics, &cut, &d->plan);
  return POISE_OK;
}

static PoiseErr SetUp_CSRI(PoiseMat A)
{
  CsriData *d = A->data;
  bool other =
      d->was_asked != d->asked || d->hubs_were_asked != d->hubs_asked || d->exact != (d->combine == ATOMIC);
  if (d->built == A->version.pattern && !other) return POISE_OK;
  /* A captured loop has the old row blocks. All ranks must count alike, so neither a failure of the latest
     set-up here nor the sizes are examined. */
  if (d->tried == A->version.pattern && other) A->version.product++;
  d->tried = A->version.pattern;
  poiseRowBlocksDestroy(&d->w);
  d->built = 0;
  d->was_asked = d->asked, d->hubs_were_asked = d->hubs_asked;
  d->exact = d->combine == ATOMIC;
  poiseHubsDestroy(&d->hubs);
  TRY(Plan(A, d));
  int rows = d->plan.rows;
  TRY(poiseRowBlocksCut(A, &d->w,
                        (RowBlocksCut){d->plan.row_block, d->plan.limit, d->plan.fragment, d->exact}));
  if (rows < POISE_BLOCK) d->w.parts = (A->csr.m + rows - 1) / rows;
  if (A->csr.halo) TRY(poiseRowBlocksOrder(A, &d->w, rows));
  d->built = A->version.pattern;
  return POISE_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

/* What A's data say, of all parts. */
static PoiseErr Arguments(PoiseMat A, CsriMultArgs *a)
{
  CsriData *d = A->data;
  a->uncut = d->plan.uncut, a->exact = d->exact;
  a->m.rows = d->plan.rows, a->m.tile = d->plan.tile, a->m.vary = A->csr.vary,
  a->m.x_lines = A->csr.statistics.x_lines;
  TRY(poiseHubsArguments(&d->hubs, a));
  return poiseRowBlocksArguments(&d->w, a);
}

static PoiseErr Ready_CSRI(PoiseMat A)
{
  const CsriData *d = A->data;
  TRY(SetUp_CSRI(A));
  return d->w.there ? POISE_OK : Arguments(A, &(CsriMultArgs){0});
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once, and 16 per row block. */
static PoiseErr Launch_CSRI(PoiseMat A, ProductPart part, const ProductArgs *p)
{
  CsriData *d = A->data;
  Device *dev = A->ctx->device;
  CsriMultArgs a = {.fill = part != REST};
  TRY(poiseCsrArguments(A, p, &a.m));
  TRY(Arguments(A, &a));
  TRY(poiseRowBlocksPart(&d->w, part, &a));
  if (d->plan.rows < POISE_BLOCK && !d->w.nfragment) return LAUNCH(dev, csr_mult, &a.m);
  return LAUNCH(dev, csri_mult, &a);
}

static void Inherit_CSRI(const void *A, void *B)
{
  const CsriData *from = A;
  CsriData *to = B;
  to->asked = from->asked, to->hubs_asked = from->hubs_asked, to->combine = from->combine;
}

/* Composed if additions are atomic: they come in any order, so finished rows are not known before the end. */
static bool Composes_CSRI(PoiseMat A)
{
  return ((const CsriData *)A->data)->combine == ATOMIC;
}

static int64_t Partials_CSRI(PoiseMat A)
{
  const CsriData *d = A->data;
  return poiseRowBlocksPartials(&d->w); /* from the latest set-up, see Ready_CSRI */
}

static PoiseErr View_CSRI(PoiseMat A)
{
  const CsriData *d = A->data;
  bool blocks = d->plan.rows < POISE_BLOCK;
  double sums[] = {(double)d->w.parts, (double)d->w.nfragment, blocks, d->hubs.entries, (double)A->csr.nz};
  if (!A->assembled) return POISE_OK;
  TRY(PoiseSum(A->ctx, 5, sums));
  if (d->exact)
    TRY(poisePrint(A->ctx, "    csri: %.0f row blocks, shared rows by atomic additions\n", sums[0]));
  else
    TRY(poisePrint(
        A->ctx, "    csri: %.0f %s of equal work, %.0f fragments of rows of %lld entries or more\n", sums[0],
        sums[2] > 0 ? "uniform row blocks" : "row blocks", sums[1], (long long)d->w.limit));
  if (d->built) TRY(poisePlanView(A, &d->plan));
  if (sums[3] == 0) return POISE_OK;
  return poisePrint(A->ctx, "      x of columns with %.1f %% of the nonzeros is kept at hand\n",
                    100 * sums[3] / sums[4]);
}

static void Bytes_CSRI(PoiseMat A, PoiseBytes *sum)
{
  const CsriData *d = A->data;
  poiseCsrDataBytes(A, sum);
  poiseRowBlocksBytes(&d->w, sum);
  poiseHubsBytes(&d->hubs, sum);
}

/* Row blocks follow from the sizes, from hubs, and from the device's choice for these rows; fragments
   do not. */
static PoiseErr Predict_CSRI(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p)
{
  const CsriData *d = data;
  const Device *dev = A->ctx->device;
  ProductRequest request = {
      .type = PRODUCT_CSRI, .columns = plan->nloc + plan->nghost, .hub_bits = HUBS_UNKNOWN};
  ProductBounds bounds;
  poiseCsriRequest(d, &request);
  poiseProductBounds(&dev->model, &request, plan->m, plan->nz, &bounds);
  poiseCsrDataPredict(A, plan, p);
  poiseHubsPredict(dev, bounds.hub_bits, p);
  poiseRowBlocksPredictCut(A, bounds.row_block, bounds.limit, request.exact, plan, p);
  if (!request.exact) return POISE_OK;
  poisePredict(dev, 8 * plan->m, ON_DEVICE, p); /* the product is composed */
  plan->partials[0] = plan->partials[1] = POISE_NBLOCKS(plan->m);
  return POISE_OK;
}

static void Destroy_CSRI(PoiseMat A)
{
  CsriData *d = A->data;
  poiseCsrDataDestroy(A);
  poiseRowBlocksDestroy(&d->w);
  poiseHubsDestroy(&d->hubs);
}

const MatType poiseMatType_csri = {
    .name = "csri",
    .stored = true,
    .fuse = true,
    .composes = Composes_CSRI,
    .size = sizeof(CsriData),
    .options = options,
    .inherit = Inherit_CSRI,
    .setup = SetUp_CSRI,
    .ready = Ready_CSRI,
    .partials = Partials_CSRI,
    .launch = Launch_CSRI,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_CSRI,
    .bytes = Bytes_CSRI,
    .predict = Predict_CSRI,
    .destroy = Destroy_CSRI,
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
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t k = 0; k < m->nblock; k++) ExactRowBlock(m, &a->row_block[poiseBlockOf(m, k)]);
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
  HOST_PARALLEL_FOR(dev, n)
  for (int64_t k = 0; k < n; k++)
    if (k < a->nfragment)
      a->sum[k] = FragmentSum(a, k);
    else
      RowBlockRows(a, alpha, beta, poiseBlockOf(m, k - a->nfragment));
  Join(a, alpha, beta);
  return POISE_OK;
}

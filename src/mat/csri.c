/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Type csri: plain CSR, worked on in windows of equally many rows and entries, however long the rows are; rows that are too long for one are
  shared out in pieces, whose sums are added in order. After CSR-I (Flegar & Quintana-Orti 2017), which cuts the entries into equal
  chunks and adds the parts of rows by atomics; here windows end at row ends and nothing depends on who comes first.
*/
#include "csr_rows.h"
#include "hubs.h"
#include "windows.h"

enum { ORDERED, ATOMIC };

typedef struct CsriData {
  CsrData csr; /* first: of the transpose product */
  PoiseInt asked, hubs_asked;
  int combine;                         /* ORDERED, ATOMIC */
  int64_t built;                       /* c->built of what was cut; 0: nothing was */
  PoiseInt was_asked, hubs_were_asked; /* then */
  bool exact;                          /* it was cut for ATOMIC */
  int64_t tried;                       /* c->built of what was to be cut */
  ProductPlan plan; /* of rows less than POISE_BLOCK: those that are not cut are even, and go by tiles */
  Windows w;
  Hubs hubs;
} CsriData;

static const PoiseOption options[] = {
    {"mat_csri_chunk", POISE_OPTION_INT, offsetof(CsriData, asked), "0", 0, 8192, NULL,
     "rows and entries of a window; longer rows are cut; 0: as suits the device"},
    {"mat_csri_hubs", POISE_OPTION_INT, offsetof(CsriData, hubs_asked), "-1", -1, 8192, NULL,
     "on GPUs, the columns with the most entries whose x products keep at hand, down to a power of 2; -1: where it pays; 0 "
     "or 1: none"},
    {"mat_combine", POISE_OPTION_CHOICE, offsetof(CsriData, combine), "ordered", 0, 0, "ordered|atomic",
     "parts of rows that are cut are added in their order, or by atomic additions in none, as in the paper of csri"},
    {0},
};

/* ---- the cut -------------------------------------------------------------------------------------------------------- */

void poiseCsriRequest(const void *data, ProductRequest *r)
{
  const CsriData *d = data;
  r->chunk = d->asked, r->hubs = d->hubs_asked, r->exact = d->combine == ATOMIC;
}

/* Once to know which hubs are to be looked for, and again when they were. */
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
  bool other = d->was_asked != d->asked || d->hubs_were_asked != d->hubs_asked || d->exact != (d->combine == ATOMIC);
  if (d->built == A->csr.built && !other) return POISE_OK;
  /* A captured loop knows the old cut. All ranks must count alike, so it is not asked whether the latest set-up failed here, nor of chunks. */
  if (d->tried == A->csr.built && other) A->pattern++;
  d->tried = A->csr.built;
  poiseWindowsDestroy(&d->w);
  d->built = 0;
  d->was_asked = d->asked, d->hubs_were_asked = d->hubs_asked;
  d->exact = d->combine == ATOMIC;
  poiseHubsDestroy(&d->hubs);
  TRY(Plan(A, d));
  int rows = d->plan.rows;
  TRY(poiseWindowsCut(A, &d->w, (WindowsCut){d->plan.row_block, d->plan.limit, d->plan.piece, d->exact}));
  if (rows < POISE_BLOCK) d->w.parts = (A->csr.m + rows - 1) / rows;
  if (A->csr.halo) TRY(poiseWindowsOrder(A, &d->w, rows));
  d->built = A->csr.built;
  return POISE_OK;
}

/* ---- products ------------------------------------------------------------------------------------------------------- */

static PoiseErr Arguments(PoiseMat A, CsriMultArgs *a)
{
  CsriData *d = A->data;
  TRY(SetUp_CSRI(A));
  a->uncut = d->plan.uncut, a->exact = d->exact;
  a->m.rows = d->plan.rows, a->m.tile = d->plan.tile, a->m.vary = A->csr.vary,
  a->m.spread = A->csr.statistics.spread;
  TRY(poiseHubsArguments(&d->hubs, a));
  return poiseWindowsArguments(&d->w, a);
}

static PoiseErr Ready_CSRI(PoiseMat A)
{
  CsriMultArgs a = {0};
  return Arguments(A, &a);
}

static PoiseErr Part_CSRI(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part)
{
  CsriMultArgs *a = (CsriMultArgs *)m; /* begins with it */
  CsriData *d = A->data;
  if (part != REST) TRY(Arguments(A, a));
  if (part != REST) TRY(poiseCsrArguments(A, x, y, m));
  a->fill = part != REST;
  bool as_csr = d->plan.rows < POISE_BLOCK && !d->w.npiece;
  return poiseWindowsMult(A, &d->w, part, as_csr ? KERNEL_csr_mult : KERNEL_csri_mult, a, as_csr ? sizeof *m : sizeof *a);
}

/* Reads 12 bytes per nonzero, 4 per row offset, x and y once, and 16 per window. Interior windows run while the ghosts travel. */
static PoiseErr Mult_CSRI(PoiseMat A, ScalarRef alpha, PoiseVec x, ScalarRef beta, PoiseVec y, const double *skip,
                          const Fuse *fuse)
{
  CsriMultArgs a = {.m = {.a = alpha, .b = beta, .skip = skip}};
  if (fuse) a.m.fuse = *fuse;
  return poiseCsrProduct(A, x, y, &a.m, Part_CSRI);
}

static void Inherit_CSRI(const void *A, void *B)
{
  const CsriData *from = A;
  CsriData *to = B;
  to->asked = from->asked, to->hubs_asked = from->hubs_asked, to->combine = from->combine;
}

/* Atomic additions come in any order, so the finished rows are not known before the end. */
static bool Composes_CSRI(PoiseMat A)
{
  return ((const CsriData *)A->data)->combine == ATOMIC;
}

static int64_t Partials_CSRI(PoiseMat A)
{
  const CsriData *d = A->data;
  return poiseWindowsPartials(&d->w); /* as of the latest set-up: see Ready_CSRI */
}

static PoiseErr View_CSRI(PoiseMat A)
{
  const CsriData *d = A->data;
  bool blocks = d->plan.rows < POISE_BLOCK;
  double sums[] = {(double)d->w.parts, (double)d->w.npiece, blocks, d->hubs.entries, (double)A->csr.nz};
  if (!A->assembled) return POISE_OK;
  TRY(PoiseSum(A->ctx, 5, sums));
  if (d->exact)
    TRY(PoisePrintf(A->ctx, "    csri: %.0f windows, shared rows by atomic additions\n", sums[0]));
  else
    TRY(PoisePrintf(A->ctx, "    csri: %.0f %s, %.0f pieces of rows of %lld entries or more\n", sums[0],
                    sums[2] > 0 ? "blocks of even rows" : "windows", sums[1], (long long)d->w.limit));
  if (d->built) TRY(poisePlanView(A, &d->plan));
  if (sums[3] == 0) return POISE_OK;
  return PoisePrintf(A->ctx, "      x of columns with %.1f %% of the nonzeros is kept at hand\n", 100 * sums[3] / sums[4]);
}

static void Bytes_CSRI(PoiseMat A, PoiseBytes *sum)
{
  const CsriData *d = A->data;
  poiseCsrDataBytes(A, sum);
  poiseWindowsBytes(&d->w, sum);
  poiseHubsBytes(&d->hubs, sum);
}

/* Windows follow from the sizes, whether there are hubs, and what the device makes of the rows; not so the pieces. */
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
  poiseWindowsPredictCut(A, bounds.row_block, bounds.limit, request.exact, plan, p);
  if (!request.exact) return POISE_OK;
  poisePredict(dev, 8 * plan->m, ON_DEVICE, p); /* the product is composed */
  plan->partials[0] = plan->partials[1] = POISE_NBLOCKS(plan->m);
  return POISE_OK;
}

static void Destroy_CSRI(PoiseMat A)
{
  CsriData *d = A->data;
  poiseCsrDataDestroy(A);
  poiseWindowsDestroy(&d->w);
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
    .mult = Mult_CSRI,
    .mult_transpose = poiseCsrMultTranspose,
    .diagonal = poiseCsrDiagonal,
    .view = View_CSRI,
    .bytes = Bytes_CSRI,
    .predict = Predict_CSRI,
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
    for (int64_t p = a->first[w]; p < a->first[w + 1]; p++) poiseCsriOwn(a, w, p);
  return POISE_OK;
}

static double PartSum(const CsrMultArgs *m, int64_t k, int64_t last)
{
  return m->ghost ? poiseHostRowSum(m, k, last, true, false) : poiseHostRowSum(m, k, last, false, false);
}

static double PieceSum(const CsriMultArgs *a, int64_t p)
{
  return PartSum(&a->m, a->part[p].first, a->part[p].first + a->part[p].nz);
}

/* The rows that were cut: sums of pieces in order. */
static void Join(const CsriMultArgs *a, double alpha, double beta)
{
  for (int64_t p = 0; p < a->npiece;) {
    int64_t row = poiseCsriRow(a, &a->part[p]), end = a->first[a->part[p].window + 1];
    double s = 0;
    for (; p < end; p++) {
      s += a->sum[p];
      for (int f = 0; f < a->m.fuse.ndot; f++) a->m.fuse.partial[f][a->parts + p] = 0; /* but of the last one */
    }
    a->m.y[row] = poiseHostUpdate(alpha, s, beta, a->m.y[row]);
    poiseHostFuse(&a->m.fuse, a->m.y, row, row + 1, a->parts + p - 1);
  }
}

static void Add(double *to, double v)
{
  HOST_ATOMIC
  *to += v;
}

static void ExactWindow(const CsrMultArgs *m, const CsrWindow *z)
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
  for (int64_t k = 0; k < m->nblock; k++) ExactWindow(m, &a->window[m->order ? m->order[k] : k]);
}

static void WindowRows(const CsriMultArgs *a, double alpha, double beta, int64_t w)
{
  const CsrMultArgs *m = &a->m;
  int64_t begin = a->window[w].begin, end = begin + a->window[w].rows;
  if (m->ghost)
    poiseHostRows(m, alpha, beta, begin, end, true);
  else
    poiseHostRows(m, alpha, beta, begin, end, false);
  poiseHostFuse(&m->fuse, m->y, begin, end, w);
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
  int64_t n = a->npiece + m->nblock;
  HOST_PARALLEL_FOR(dev, n)
  for (int64_t k = 0; k < n; k++)
    if (k < a->npiece)
      a->sum[k] = PieceSum(a, k);
    else
      WindowRows(a, alpha, beta, m->order ? m->order[k - a->npiece] : k - a->npiece);
  Join(a, alpha, beta);
  return POISE_OK;
}

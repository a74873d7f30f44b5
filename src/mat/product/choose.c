/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Which form a product has: the plan's choice (product_plan.c) among those that the matrix was asked to have.
  Each rank chooses for its own rows. What a plan can only know once it was looked for (columns that fit into
  16 bits, hubs) is looked for where it would use it, and the plan is made again.
*/
#include <math.h>

#include "hubs.h"
#include "index16.h"
#include "mat/object/bytes.h"
#include "mat/object/mat_type.h"
#include "pcsr.h"
#include "row_blocks.h"
#include "statistics.h"

/* ---- what is asked for ----------------------------------------------------------------------- */

enum { MOST_FORMS = 4 };

/* The forms that a plan may choose for each ProductType; their options are read. */
static const ProductForm *const forms_of[][MOST_FORMS] = {
    [PRODUCT_ANY] = {&poiseForm_csr, &poiseForm_csri, &poiseForm_seg},
    [PRODUCT_CSR] = {&poiseForm_csr},
    [PRODUCT_CSRI] = {&poiseForm_csri, &poiseForm_csr}, /* which are tiles where nothing is split */
    [PRODUCT_SEG] = {&poiseForm_seg},
    [PRODUCT_BCSR] = {&poiseForm_bcsr},
};

/* Form k of those that a matrix of that type may have; NULL: there are no more. */
static const ProductForm *FormAt(const MatType *type, int k)
{
  return !type->form ? forms_of[type->product][k] : k ? NULL : type->form;
}

PoiseErr poiseProductRegister(PoiseContext ctx)
{
#define PRODUCT_FORM(name) \
  if (poiseForm_##name.options) TRY(poiseOptionsRegister(ctx, #name, poiseForm_##name.options));
#include "forms.def"
#undef PRODUCT_FORM
  return POISE_OK;
}

_Static_assert(sizeof(ProductOptions) == 2 * sizeof(PoiseInt) + 6 * sizeof(int), "compared by bytes");

void poiseProductAsk(PoiseMat A, const ProductOptions *o)
{
  if (!memcmp(o, &A->product.options, sizeof *o)) return;
  poiseProductRelease(&A->product);
  A->product.options = *o;
  A->version.product++; /* loops captured with the other product are invalid */
}

PoiseErr poiseProductReadOptions(PoiseMat A)
{
  ProductOptions o = A->product.options;
  const ProductForm *form;
  for (int k = 0; (form = FormAt(A->asked.type, k)); k++)
    if (form->options) TRY(PoiseOptionsRead(A->ctx, A->asked.prefix, form->options, &o));
  if (poiseMatIsAutoByName(A)) TRY(PoiseOptionsRead(A->ctx, A->asked.prefix, poiseForm_bcsr.options, &o));
  poiseProductAsk(A, &o);
  return POISE_OK;
}

ProductRequest poiseProductRequest(const ProductOptions *o, ProductType type, int64_t columns)
{
  return (ProductRequest){.type = type,
                          .form = o->blocks,
                          .exact = o->combine == COMBINE_ATOMIC,
                          .columns = columns,
                          .chunk = o->chunk,
                          .hubs = o->hubs,
                          .hub_bits = HUBS_UNKNOWN,
                          .segment = o->segment ? INT64_C(1) << (o->segment - 1) : 0};
}

static ProductRequest RequestOf(const Product *p)
{
  const Csr *c = &p->A->csr;
  ProductType type = p->A->type->product;
  if (p->options.library && type == PRODUCT_ANY) type = PRODUCT_CSR;
  ProductRequest r = poiseProductRequest(&p->options, type, c->nloc + c->nghost);
  r.b = c->b, r.ranges = p->A->blocks.ranges;
  return r;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Do 16-bit columns have room? They are little beside the memory that is left. */
static bool HasRoom(PoiseMat A)
{
  Device *dev = A->ctx->device;
  int64_t left = INT64_MAX, total;
  if (dev->ops->memory && dev->ops->memory(dev, &left, &total)) {
    PoiseErrorClear();
    left = 0;
  }
  return (int64_t)sizeof(uint16_t) * A->csr.nz <= left / INDEX16_LITTLE;
}

/* 16-bit columns do not help the host: 4 more instructions per nonzero take longer than reading 2 more
   bytes (measured: 1.3 times as long). */
static bool LooksForIndex16(const Product *p)
{
  const PoiseMat A = p->A;
  int asked = p->options.index16;
  bool reads = A->type->product <= PRODUCT_CSRI && !p->options.library && !A->ctx->device->ops->is_host;
  bool has = A->blocks.index16.kept; /* for which there was room */
  return reads && (asked == INDEX16_YES || (asked == INDEX16_AUTO && p->plan.index16 && (has || HasRoom(A))));
}

/* Plan, and again once 16-bit columns and hubs were looked for. */
static PoiseErr Plan(Product *p, ProductRequest *r)
{
  PoiseMat A = p->A;
  const DeviceModel *model = &A->ctx->device->model;
  const CsrStatistics *all = &A->blocks.statistics;
  bool cuts = r->type == PRODUCT_ANY || r->type == PRODUCT_CSRI;
  p->cut = *all;
  if (cuts && !r->exact) TRY(poiseCsrCutStatistics(A, r, &p->cut));
  const CsrStatistics *cut = cuts ? &p->cut : NULL;
  poiseProductPlan(model, r, all, cut, &p->plan);
  if (LooksForIndex16(p)) {
    TRY(poiseIndex16Make(A));
    r->index16 = A->blocks.index16.kept;
    poiseProductPlan(model, r, all, cut, &p->plan);
  } else {
    poiseIndex16Release(A);
  }
  if (p->plan.type != PRODUCT_CSRI || p->plan.form == FORM_TILES) return POISE_OK;
  TRY(poiseHubsFind(A, p->plan.hub_bits, p->options.hubs < 0, &p->hubs));
  r->hub_bits = p->hubs.bits;
  poiseProductPlan(model, r, all, cut, &p->plan);
  return POISE_OK;
}

/* Tiles beside which nothing is split are those of csr. */
static const ProductForm *FormOf(const Product *p)
{
  switch (p->plan.form) {
  case FORM_ROWS:
    return &poiseForm_csr;
  case FORM_TILES:
    return p->cut.cut && p->plan.type == PRODUCT_CSRI ? &poiseForm_csri : &poiseForm_csr;
  case FORM_SEGMENTS:
    return &poiseForm_seg;
  case FORM_ROW_BLOCKS:
  case FORM_SHARED:
    return &poiseForm_csri;
  default:
    return &poiseForm_bcsr;
  }
}

PoiseErr poiseProductChoose(Product *p, const ProductForm **form)
{
  PoiseMat A = p->A;
  *form = &poiseForm_pcsr;
  if (poiseMatSplits(A)) return POISE_OK;
  TRY(poiseMatMeasure(A));
  *form = A->type->form;
  if (*form) return POISE_OK;
  ProductRequest r = RequestOf(p);
  TRY(Plan(p, &r));
  *form = r.type == PRODUCT_CSR && p->options.library ? &poiseForm_library : FormOf(p);
  if (*form != &poiseForm_csr) poiseIndex16Release(A);
  return POISE_OK;
}

/* ---- in fp32 --------------------------------------------------------------------------------- */

/* Products in fp32 are those of csr, and of groups of rows of blocks. Where A works by another form, and
   these would lose by uneven rows what fewer bytes gain, fp64 is as fast. */
static PoiseErr IsUneven(PoiseMat A, bool *uneven)
{
  const double gain = 1.5; /* 12 bytes of an entry over 8 */
  const CsrStatistics *s = &A->blocks.statistics;
  const DeviceModel *model = &A->ctx->device->model;
  int b = A->csr.b;
  ProductRequest request = {.type = b > 1 ? PRODUCT_BCSR : PRODUCT_CSR, .b = b};
  ProductPlan alike, other;
  *uneven = false;
  if (!A->product.form || A->product.plan.type == PRODUCT_CSR) return POISE_OK;
  TRY(poiseMatMeasure(A));
  poiseProductPlan(model, &request, s, s, &alike);
  request.type = PRODUCT_CSRI;
  poiseProductPlan(model, &request, s, s, &other);
  *uneven = b > 1 ? alike.form == FORM_BALANCED : alike.times > gain * other.times;
  return POISE_OK;
}

PoiseErr poiseMatLacksSingle(PoiseMat A, const char **why)
{
  bool uneven = false, has = poiseMatHolds(A) && !poiseMatSplits(A);
  if (has) TRY(IsUneven(A, &uneven));
  *why = !has                          ? "the type of the matrix has no products in fp32"
         : uneven                      ? "its rows are too uneven for products in fp32"
         : A->csr.b > MAX_SINGLE_BLOCK ? "its blocks are too large for products in fp32"
                                       : NULL;
  return POISE_OK;
}

/* ---- view ------------------------------------------------------------------------------------ */

enum { ANY = 3, WORDS = 256 };

/* The forms that auto compared, on rank 0: in microseconds where the device says how fast it is, else beside
   the chosen one. */
static void Explain(const Product *p, char *why)
{
  const DeviceModel *model = &p->A->ctx->device->model;
  ProductRequest r = RequestOf(p);
  ProductPlan plan[ANY];
  r.index16 = p->A->blocks.index16.kept;
  for (int k = 0; k < ANY; k++) {
    r.type = PRODUCT_CSR + k;
    poiseProductPlan(model, &r, &p->A->blocks.statistics, &p->cut, &plan[k]);
  }
  bool known = p->plan.seconds > 0;
  size_t n = 0;
  if (known) n = (size_t)snprintf(why, WORDS, "%.1f us predicted", 1e6 * p->plan.seconds);
  if (!known) n = (size_t)snprintf(why, WORDS, "predicted to be the fastest");
  if (!poiseModelIsGpu(model))
    n += (size_t)snprintf(why + n, WORDS - n, " with %d threads", model->host_threads);
  for (int k = 0; k < ANY; k++) {
    if (PRODUCT_CSR + k == (int)p->plan.type) continue;
    n += (size_t)snprintf(why + n, WORDS - n, ", %s ", forms_of[PRODUCT_ANY][k]->name);
    n += (size_t)(known ? snprintf(why + n, WORDS - n, "%.1f us", 1e6 * plan[k].seconds)
                        : snprintf(why + n, WORDS - n, "%.2f times as long", plan[k].times / p->plan.times));
  }
}

static PoiseErr ViewChoice(const Product *p)
{
  PoiseContext ctx = p->A->ctx;
  const CsrStatistics *s = &p->A->blocks.statistics;
  double sum[5 + ANY] = {(double)s->m, (double)s->nz, (double)s->squares, (double)s->empty,
                         (double)p->cut.cut};
  char why[WORDS];
  sum[5 + p->plan.type - PRODUCT_CSR] = 1;
  TRY(PoiseSum(ctx, 5 + ANY, sum));
  double mean = sum[1] / fmax(sum[0], 1), deviation = sqrt(fmax(0, sum[2] / fmax(sum[0], 1) - mean * mean));
  TRY(poisePrint(
      ctx,
      "    lengths of rows deviate by %.2f of their mean; %.0f rows are empty; csri would split rows "
      "with %.1f %% of the nonzeros\n",
      mean > 0 ? deviation / mean : 0, sum[3], 100 * sum[4] / fmax(sum[1], 1)));
  Explain(p, why);
  TRY(poisePrint(ctx, "    auto chose %s: %s\n", forms_of[PRODUCT_ANY][p->plan.type - PRODUCT_CSR]->name,
                 why));
  if (fmax(fmax(sum[5], sum[6]), sum[7]) == PoiseSize(ctx)) return POISE_OK;
  return poisePrint(ctx, "      on rank 0; of all ranks %.0f have csr, %.0f csri, %.0f seg\n", sum[5], sum[6],
                    sum[7]);
}

static PoiseErr ViewPlan(const Product *p)
{
  char words[WORDS] = "";
  poisePlanWords(&p->A->ctx->device->model, &p->plan, words, sizeof words);
  if (p->plan.seconds == 0) return poisePrint(p->A->ctx, "    A x by %s\n", words);
  return poisePrint(p->A->ctx, "    A x by %s; predicted %.1f us\n", words, 1e6 * p->plan.seconds);
}

/* Forms of ranks may differ, but for those that all were asked for. What forms print is of all ranks: so each
   is asked that a rank has. */
static PoiseErr ViewForms(Product *p)
{
  static const ProductForm *const all[] = {
#define PRODUCT_FORM(name) &poiseForm_##name,
#include "forms.def"
#undef PRODUCT_FORM
  };
  enum { FORMS = sizeof all / sizeof *all };
  int64_t has[FORMS];
  for (int k = 0; k < FORMS; k++) has[k] = p->form == all[k];
  TRY(poiseCommMaxInt(p->A->ctx->comm, has, FORMS));
  for (int k = 0; k < FORMS; k++)
    if (has[k] && all[k]->view) TRY(all[k]->view(p));
  return POISE_OK;
}

PoiseErr poiseProductView(PoiseMat A)
{
  Product *p = &A->product;
  if (!p->form || p->form == &poiseForm_pcsr) return POISE_OK;
  if (A->asked.share > 0)
    TRY(poisePrint(A->ctx, "    auto chose bcsr: blocks take %.2f of the bytes of csr\n", A->asked.share));
  bool any = A->type->product == PRODUCT_ANY && !A->type->form;
  if (any && !p->options.library) TRY(ViewChoice(p));
  if (any && p->options.library)
    TRY(poisePrint(A->ctx, "    auto chose csr: as -mat_csr_kernel %s was asked for\n",
                   PoiseMatCSRKernel(A)));
  if (p->form != &poiseForm_library && !A->type->form) TRY(ViewPlan(p));
  return ViewForms(p);
}

/* ---- what one will hold ---------------------------------------------------------------------- */

static PoiseErr PredictForm(PoiseMat A, const ProductForm *form, MatPlan *plan, PoisePrediction *p)
{
  return form->predict ? form->predict(A, &A->product.options, plan, p) : POISE_OK;
}

PoiseErr poiseProductPredict(PoiseMat A, MatPlan *plan, PoisePrediction *p)
{
  const Product *x = &A->product;
  const MatPlan before = *plan;
  const MatType *type = A->asked.type;
  bool scalars = !type->form && (type->product == PRODUCT_ANY || type->product == PRODUCT_CSR);
  poiseTransposedPredict(A, plan, p);
  if (!plan->counts) poiseSeveralPredict(A, p);
  const PoisePrediction start = *p;
  if (x->options.library && scalars) return PredictForm(A, &poiseForm_library, plan, p);
  if (!plan->counts && x->form && !(poiseMatChanged(&x->made, A) & x->depends))
    return PredictForm(A, x->form, plan, p);
  /* csri has tiles where devices have them */
  int most = type->product == PRODUCT_CSRI && !A->ctx->device->model.bulk ? 1 : MOST_FORMS;
  for (int k = 0; k < most && FormAt(type, k); k++) {
    PoisePrediction mine = start;
    MatPlan cut = before;
    TRY(PredictForm(A, FormAt(type, k), &cut, &mine));
    if (!k)
      *p = mine, *plan = cut;
    else
      poisePredictEither(&mine, p), poisePlanEither(cut.partials, plan->partials);
  }
  return POISE_OK;
}

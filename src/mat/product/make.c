/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a product: it is made when it is first needed, and anew when what it depends on has changed. */
#include "hubs.h"
#include "index16.h"
#include "mat/mat_device.h"
#include "pcsr.h"
#include "row_blocks.h"

PoiseErr poiseMatProductsInit(PoiseMat A)
{
  ProductOptions *o = &A->product.options;
  A->product.A = A->transposed.A = A->several.A = A;
  A->product.depends = CHANGED_PATTERN | CHANGED_PRODUCT, A->transposed.depends = CHANGED_PATTERN;
  A->transposed.fixed = &poiseForm_transposed, A->transposed.silent = true;
  A->several.fixed = &poiseForm_several, A->several.depends = A->product.depends;
#define PRODUCT_FORM(name) \
  if (poiseForm_##name.options) TRY(PoiseOptionsDefaults(poiseForm_##name.options, o));
#include "forms.def"
#undef PRODUCT_FORM
  return POISE_OK;
}

void poiseProductInitSingle(PoiseMat A, Product *p)
{
  p->A = A, p->single = true, p->depends = CHANGED_PATTERN | CHANGED_PRODUCT;
  p->fixed = A->csr.b > 1 ? &poiseForm_bcsr : &poiseForm_csr;
}

void poiseProductRelease(Product *p)
{
  Segments *s = &p->segments;
  poiseRowBlocksDestroy(&p->w);
  poiseHubsDestroy(&p->hubs);
  poiseTransposedDestroy(&p->index);
  poiseBufferDestroy(&s->ptr);
  poiseBufferDestroy(&s->col);
  poiseBufferDestroy(&s->val);
  *s = (Segments){0};
  if (p->library.planned) {
    Device *dev = p->A->ctx->device;
    dev->ops->mat->csr_plan_free(dev, &p->library.plan);
  }
  poiseBufferDestroy(&p->library.whole);
  p->library = (LibraryProduct){0};
  p->form = NULL, p->plan = (ProductPlan){0}, p->made = (Version){0};
}

static PoiseErr Make(Product *p)
{
  const ProductForm *form = p->fixed;
  if (!form) TRY(poiseProductChoose(p, &form));
  if (form->make) TRY(form->make(p));
  p->form = form;
  return POISE_OK;
}

PoiseErr poiseProductSetUp(Product *p)
{
  if (!(poiseMatChanged(&p->made, p->A) & p->depends)) return POISE_OK;
  poiseProductRelease(p);
  poiseLogBegin(p->A->ctx, EVENT_MatChoose);
  PoiseErr e = Make(p);
  poiseLogEnd(p->A->ctx, EVENT_MatChoose, 0, 0);
  if (e) poiseProductRelease(p);
  TRY(e);
  p->made = p->A->version;
  return POISE_OK;
}

bool poiseProductFuses(const Product *p)
{
  return p->form && p->form->fuses && p->plan.form != FORM_SHARED;
}

PoiseErr poiseProductReady(Product *p)
{
  PoiseMat A = p->A;
  if (poiseMatHolds(A)) TRY(poiseProductSetUp(p));
  if (p == &A->product && !poiseProductFuses(p) && !p->work) TRY(poiseVecCreateLocal(A->rows, &p->work));
  return p->form && p->form->ready ? p->form->ready(p) : POISE_OK;
}

int64_t poiseProductPartials(const Product *p)
{
  if (!poiseProductFuses(p)) return POISE_NBLOCKS(p->A->rows->n);
  return p->w.parts ? p->w.parts + p->w.nfragment : p->A->blocks.n;
}

double poiseProductTraffic(const Product *p)
{
  const Csr *c = &p->A->csr;
  double number = p->single ? 4 : 8;
  return number * (double)poiseCsrScalars(c) + 4.0 * (double)c->nz +
         (c->wide ? 8.0 : 4.0) * (double)(c->m + 1) +
         number * (double)((c->m + c->nloc + c->nghost) * poiseCsrSide(c));
}

void poiseProductAddBytes(const Product *p, PoiseBytes *sum)
{
  const Buffer *const all[] = {&p->hubs.column,   &p->segments.ptr, &p->segments.col, &p->segments.val,
                               &p->library.whole, &p->index.ptr,    &p->index.from,   &p->index.row};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferAdd(all[k], sum);
  poiseRowBlocksBytes(&p->w, sum);
  const PoiseVec vectors[] = {p->work, p->column[0], p->column[1], p->wide};
  for (int k = 0; k < 4; k++)
    if (vectors[k]) poiseBufferAdd(&vectors[k]->data, sum);
  poiseBufferAdd(&p->ghost_column, sum);
  sum->device += p->library.plan.bytes;
}

void poiseProductDestroy(Product *p)
{
  poiseProductRelease(p);
  PoiseVecDestroy(&p->work);
  PoiseVecDestroy(&p->column[0]);
  PoiseVecDestroy(&p->column[1]);
  PoiseVecDestroy(&p->wide);
  poiseBufferDestroy(&p->ghost_column);
  poiseBufferDestroy(&p->val);
  *p = (Product){0};
}

void poiseMatProductsDestroy(PoiseMat A)
{
  poiseProductDestroy(&A->product);
  poiseProductDestroy(&A->transposed);
  poiseProductDestroy(&A->several);
  poiseMatBlocksDestroy(&A->blocks);
}

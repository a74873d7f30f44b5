/* SPDX-License-Identifier: BSD-3-Clause */
/* Form library: y = A x by a library of the device's, for comparison. */
#include "csr_kernels.h"
#include "mat/object/mat.h"
#include "mat/mat_device.h"

static PoiseErr Make_Library(Product *p)
{
  return poiseMatMeasure(p->A);
}

/* All that launches need, as they allocate nothing. */
static PoiseErr Ready_Library(Product *p)
{
  Csr *c = &p->A->csr;
  LibraryProduct *l = &p->library;
  Device *dev = p->A->ctx->device;
  int64_t columns = c->nloc + c->nghost;
  CsrView view;
  double *whole;
  if (l->planned) return POISE_OK;
  TRY(poiseCsrView(c, &view));
  if (c->halo && !l->whole.dev)
    TRY(poiseBufferCreate(dev, (size_t)columns * sizeof(double), "x with its ghosts", &l->whole));
  if (c->halo) TRY(poiseBufferWrite(&l->whole, DEVICE, &whole));
  TRY(dev->ops->mat->csr_plan(dev, p->options.library - 1, &view, columns, &l->plan));
  l->planned = true;
  return POISE_OK;
}

/* The library takes x in one array: where there are ghosts, it and they are copied together. */
static PoiseErr Launch_Library(Product *p, ProductPart part, const ProductArgs *a)
{
  Csr *c = &p->A->csr;
  Device *dev = p->A->ctx->device;
  CsrLibraryArgs m = {.x = a->x, .y = a->y, .plan = p->library.plan.device};
  size_t owned = (size_t)c->nloc * sizeof(double), ghosts = (size_t)c->nghost * sizeof(double);
  double *whole;
  (void)part; /* never divided */
  if (c->halo) {
    TRY(poiseBufferWrite(&p->library.whole, DEVICE, &whole));
    TRY(poiseDeviceCopy(dev, whole, a->x, owned, COPY_ON_DEVICE));
    TRY(poiseDeviceCopy(dev, whole + c->nloc, a->ghost, ghosts, COPY_ON_DEVICE));
    m.x = whole;
  }
  TRY(poiseCsrView(c, &m.A));
  return LAUNCH(dev, csr_library, &m);
}

static PoiseErr View_Library(Product *p)
{
  TRY(poisePrint(p->A->ctx, "    A x by the library %s\n", PoiseMatCSRKernel(p->A)));
  if (p->options.index16 != INDEX16_YES) return POISE_OK;
  return poisePrint(p->A->ctx, "    columns of 16 bits: not for a library\n");
}

/* Products are composed, and take x with its ghosts. */
static PoiseErr Predict_Library(PoiseMat A, const ProductOptions *o, MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = A->ctx->device;
  (void)o;
  poisePredict(dev, 8 * plan->m, ON_DEVICE, p);
  if (PoiseSize(A->ctx) > 1) poisePredict(dev, 8 * (plan->nloc + plan->nghost), ON_DEVICE, p);
  plan->partials[0] = plan->partials[1] = POISE_NBLOCKS(plan->m);
  p->beyond = "what the library asks for";
  return POISE_OK;
}

const ProductForm poiseForm_library = {
    .name = "library",
    .make = Make_Library,
    .ready = Ready_Library,
    .launch = Launch_Library,
    .view = View_Library,
    .predict = Predict_Library,
};

/* ---- what users say -------------------------------------------------------------------------- */

PoiseErr poiseMatSetLibrary(PoiseMat A, int library)
{
  ProductOptions o = A->product.options;
  o.library = library;
  poiseProductAsk(A, &o);
  return POISE_OK;
}

PoiseErr PoiseMatSetCSRKernel(PoiseMat A, const char *name)
{
  CALLED(OBJECT(A), GIVEN(name));
  const Device *dev = A->ctx->device;
  int library;
  TRY(poiseDeviceLibrary(dev, poiseCsrLibraries(dev), name, "products of csr", &library));
  return poiseMatSetLibrary(A, library);
}

const char *PoiseMatCSRKernel(PoiseMat A)
{
  CALLED_OR("", OBJECT(A));
  int library = A->product.options.library;
  return library ? poiseCsrLibraries(A->ctx->device)[library - 1] : "own";
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Form several: products with wide vectors, of several columns, which read the matrix once for all of them.
  Types csr, csri, seg and auto have the same arrays, and the same product of this form; bcsr has that of
  its blocks.

  On a host it has the row blocks of the ordinary product, so that a column has that one's bits. On a GPU
  it has its own, which come to shared memory one by one. Rows that are too long for one are split into
  fragments, whose sums are added in order.
*/
#include "csr_columns_kernels.h"
#include "mat/object/bytes.h"
#include "row_blocks.h"

static bool OnGpu(const Product *p)
{
  return poiseModelIsGpu(&p->A->ctx->device->model);
}

/* Does the ordinary product of a host have row blocks, which end at row ends, of the matrix as it is
   stored? */
static bool HasRowBlocks(const Product *own)
{
  return own->w.n && own->plan.form != FORM_SHARED && !own->segments.padded;
}

/* Room for the sums of fragments of all columns that there may be. */
static PoiseErr MakeSums(Product *p, int64_t fragments)
{
  int64_t numbers = fragments * poiseCsrSide(&p->A->csr) * POISE_MAX_COLUMNS;
  poiseBufferDestroy(&p->w.sum);
  return poiseBufferCreate(p->A->ctx->device, (size_t)numbers * sizeof(double), "sums of fragments",
                           &p->w.sum);
}

static PoiseErr Arguments(Product *p, ProductPart part, ColumnsMultArgs *a)
{
  PoiseMat A = p->A;
  Product *own = &A->product;
  RowBlocks *w = OnGpu(p) ? &p->w : &own->w;
  a->c.m.rows = p->plan.rows, a->c.m.tile = p->plan.tile, a->even = p->plan.form == FORM_TILES;
  if (!OnGpu(p) && !HasRowBlocks(own)) return poiseCsrBlocks(A, part, &a->c.m);
  TRY(poiseRowBlocksArguments(w, &a->c));
  if (!OnGpu(p)) TRY(poiseBufferUpdate(&p->w.sum, DEVICE, &a->c.sum));
  return poiseRowBlocksPart(w, part, &a->c);
}

static PoiseErr MakeOnHost(Product *p)
{
  Product *own = &p->A->product;
  TRY(poiseProductSetUp(own));
  if (!HasRowBlocks(own)) {
    TRY(poiseMatMeasure(p->A));
    return poiseMatOrderBlocks(p->A);
  }
  p->w.parts = own->w.parts, p->w.nfragment = own->w.nfragment;
  return MakeSums(p, own->w.nfragment);
}

static PoiseErr MakeOnGpu(Product *p)
{
  PoiseMat A = p->A;
  TRY(poiseMatMeasure(A));
  poiseColumnsPlan(A->csr.b, &A->blocks.statistics, &p->plan);
  TRY(poiseRowBlocksCut(A, &p->w, (RowBlocksCut){p->plan.row_block, p->plan.limit, p->plan.fragment, false}));
  TRY(MakeSums(p, p->w.nfragment));
  return A->csr.halo ? poiseRowBlocksOrder(A, &p->w, POISE_BLOCK) : POISE_OK;
}

/* All that launches read is on the device then, so that they allocate nothing. */
static PoiseErr Make_Several(Product *p)
{
  TRY(OnGpu(p) ? MakeOnGpu(p) : MakeOnHost(p));
  return Arguments(p, REST, &(ColumnsMultArgs){0});
}

/* The row blocks of a host are those of the ordinary product. */
static PoiseErr Ready_Several(Product *p)
{
  return OnGpu(p) ? POISE_OK : poiseProductSetUp(&p->A->product);
}

/* Reads 12 bytes per nonzero, or 8 per number and 4 per block, 4 per row offset, and for each column x and y
   once. */
static PoiseErr Launch_Several(Product *p, ProductPart part, const ProductArgs *args)
{
  Device *dev = p->A->ctx->device;
  ColumnsMultArgs a = {.columns = args->columns};
  TRY(poiseCsrArguments(p, args, &a.c.m));
  TRY(Arguments(p, part, &a));
  return p->A->csr.b > 1 ? LAUNCH(dev, bcsr_mult_columns, &a) : LAUNCH(dev, csr_mult_columns, &a);
}

void poiseSeveralPredict(PoiseMat A, PoisePrediction *p)
{
  PoisePrediction held = {.beyond = NULL};
  poiseProductAddBytes(&A->several, &held.least);
  held.most = held.least;
  poisePredictSum(&held, p);
}

/* Rows of row blocks and fragments, which do not depend on the type of values. */
static void TakeRows(const CsriMultArgs *from, CsriMultArgs_f32 *to)
{
  to->m.rows = from->m.rows, to->m.tile = from->m.tile;
  to->m.first = from->m.first, to->m.nblock = from->m.nblock, to->m.order = from->m.order;
  to->limit = from->limit, to->parts = from->parts, to->nfragment = from->nfragment;
  to->row_block = from->row_block, to->part = from->part, to->first = from->first;
  to->sum = from->sum, to->arrived = from->arrived, to->next = from->next;
}

/* In fp32. A host goes by blocks of rows that are not cut. Reads 8 bytes per nonzero, or 4 per number and 4
   per block, 4 per row offset, and for each column x and y once. */
static PoiseErr LaunchSingle(Product *p, ProductPart part, const ProductArgs *args)
{
  Product *several = &p->A->several;
  ColumnsMultArgs_f32 a = {.columns = args->columns};
  ColumnsMultArgs rows = {.columns = args->columns};
  TRY(poiseCsrArgumentsSingle(p, part, args, &a.c.m));
  if (OnGpu(p)) {
    TRY(Arguments(several, part, &rows));
    TakeRows(&rows.c, &a.c);
    a.even = rows.even;
  }
  return LAUNCH(p->A->ctx->device, mult_columns_f32, &a);
}

PoiseErr poiseSeveralReadySingle(Product *p)
{
  return OnGpu(p) ? poiseProductReady(&p->A->several) : POISE_OK;
}

PoiseErr poiseSeveralLaunch(Product *p, ProductPart part, const ProductArgs *a)
{
  if (p->single) return LaunchSingle(p, part, a);
  return Launch_Several(&p->A->several, part, a);
}

const ProductForm poiseForm_several = {
    .name = "several",
    .fuses = true,
    .make = Make_Several,
    .ready = Ready_Several,
    .launch = Launch_Several,
};

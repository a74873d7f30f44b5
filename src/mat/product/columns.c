/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with wide vectors: composed column by column, where a form has no way of its own. */
#include "mat/object/mat.h"
#include "pcsr.h"
#include "vec/vec_kernels.h"

/* ---- what is composed ------------------------------------------------------------------------ */

/* A vector of these rows with k columns, or more, on the device. */
static PoiseErr MakeVector(const Layout *rows, int k, PoiseVec *x)
{
  Layout *wide;
  double *p;
  if (*x && poiseVecColumns(*x) >= k) return POISE_OK;
  PoiseVecDestroy(x);
  TRY(poiseLayoutColumns(rows, k, &wide));
  PoiseErr e = poiseVecCreateLocal(wide, x);
  poiseLayoutDestroy(&wide);
  return e ? e : poiseVecWrite(*x, &p);
}

static PoiseErr ReadyByColumns(PoiseMat A, int columns)
{
  Product *p = &A->product;
  TRY(MakeVector(A->cols, 1, &p->column[0]));
  TRY(MakeVector(A->rows, 1, &p->column[1]));
  return MakeVector(A->rows, columns, &p->wide);
}

/* Does one launch take all columns? */
static bool InOnePass(const Product *p)
{
  return p->form && p->form->launch_columns && !p->A->csr.halo;
}

PoiseErr poiseMatReadyColumns(PoiseMat A, int columns)
{
  TRY(poiseProductReady(&A->product));
  return InOnePass(&A->product) ? poiseProductReady(&A->several) : ReadyByColumns(A, columns);
}

int64_t poiseMatPartialsColumns(PoiseMat A, int columns)
{
  if (columns <= 1) return poiseMatPartials(A);
  if (InOnePass(&A->product)) return poiseProductPartials(&A->several);
  return POISE_NBLOCKS(A->rows->n);
}

/* T = A X, one column after the other. T has X's columns, or more that are not used. */
static PoiseErr ByColumns(Product *p, PoiseErr mine, const Operands *v, PoiseVec T)
{
  Operands one = {.x = p->column[0], .y = p->column[1]};
  int k = poiseVecColumns(v->x);
  for (int j = 0; j < k; j++) {
    ProductArgs plain = {.a = {NULL, 1}};
    if (!mine) mine = poiseVecTakeColumn(v->x, j, one.x);
    PoiseErr e = poiseProductMult(p, mine, &one, &plain);
    if (!mine) mine = e;
    if (!mine) mine = poiseVecPutColumnOf(one.y, j, k, T);
  }
  return mine;
}

static PoiseErr Finish(PoiseVec t, PoiseVec y, const ProductArgs *a, bool overwrites)
{
  AxpbyArgs rest = {.n = y->layout->n, .a = a->a, .b = a->b, .skip = a->skip, .scale = a->scale};
  if (t == y) rest.a = (ScalarRef){NULL, 1};
  if (a->fuse) rest.fuse = *a->fuse, rest.systems = a->fuse->systems;
  rest.systems.n = poiseVecColumns(y);
  TRY(poiseVecRead(t, &rest.x));
  TRY(overwrites && !a->skip && t != y ? poiseVecWrite(y, &rest.y) : poiseVecUpdate(y, &rest.y));
  return LAUNCH(y->ctx->device, axpby_columns, &rest);
}

static PoiseErr MultInOnePass(Product *p, const Operands *v, ProductArgs *a, bool overwrites)
{
  PoiseMat A = p->A;
  const double *x;
  double *y;
  a->columns = poiseVecColumns(v->y);
  TRY(poiseProductReady(&A->several));
  TRY(poiseVecRead(v->x, &x));
  TRY(overwrites && !a->skip ? poiseVecWrite(v->y, &y) : poiseVecUpdate(v->y, &y));
  a->x = x, a->y = y;
  poiseLogBegin(A->ctx, EVENT_MatMult);
  PoiseErr e = p->form->launch_columns(p, WHOLE, a);
  poiseLogEnd(A->ctx, EVENT_MatMult, 2.0 * a->columns * (double)poiseCsrScalars(&A->csr), poiseMatTraffic(A));
  return e;
}

PoiseErr poiseProductMultColumns(Product *p, PoiseErr mine, const Operands *v, ProductArgs *a)
{
  bool overwrites = !a->b.slot && a->b.value == 0,
       in_place = overwrites && !a->skip && !a->a.slot && a->a.value == 1;
  if (!mine && InOnePass(p)) return MultInOnePass(p, v, a, overwrites);
  PoiseVec t = in_place || mine ? v->y : p->wide;
  TRY(ByColumns(p, mine, v, t));
  return in_place && !a->scale && !a->fuse ? POISE_OK : Finish(t, v->y, a, overwrites);
}

/* ---- in fp32 --------------------------------------------------------------------------------- */

bool poiseProductTakesColumns(const Product *p)
{
  return p->single && p->form && p->form->single_columns && !p->A->csr.halo;
}

PoiseErr poiseProductReadyColumns(Product *p)
{
  return poiseProductReady(p);
}

PoiseErr poiseMatMultSingleColumns(Product *p, int columns, double a, Buffer *x, double b, Buffer *y,
                                   const double *skip)
{
  ProductArgs args = {.a.value = a, .b.value = b, .skip = skip, .columns = columns};
  TRY(poiseBufferRead(x, DEVICE, &args.x));
  TRY(b == 0 && !skip ? poiseBufferWrite(y, DEVICE, &args.y) : poiseBufferUpdate(y, DEVICE, &args.y));
  poiseLogBegin(p->A->ctx, EVENT_MatMult);
  PoiseErr e = p->form->launch_columns(p, WHOLE, &args);
  poiseLogEnd(p->A->ctx, EVENT_MatMult, 2.0 * columns * (double)poiseCsrScalars(&p->A->csr),
              poiseProductTraffic(p));
  return e;
}

/* ---- what users call ------------------------------------------------------------------------- */

/* Y = op(A) X, where op(A) has rows `rows` and columns `cols`. */
static PoiseErr CheckProduct(PoiseMat A, const Layout *rows, const Layout *cols, PoiseVec X, PoiseVec Y)
{
  TRY(poiseMatCheckUsable(A));
  if (X == Y) FAIL(POISE_ERR_ARG, "X and Y of a product are the same vector");
  if (poiseVecColumns(X) != poiseVecColumns(Y))
    FAIL(POISE_ERR_SIZE, "X has %d columns, Y has %d", poiseVecColumns(X), poiseVecColumns(Y));
  if (X->layout->N != cols->N || X->layout->n != cols->n || Y->layout->N != rows->N ||
      Y->layout->n != rows->n)
    FAIL(POISE_ERR_SIZE,
         "A is %lld x %lld (%lld x %lld on rank %d), X has %lld rows (%lld) and Y %lld (%lld)",
         (long long)A->rows->N, (long long)A->cols->N, (long long)A->rows->n, (long long)A->cols->n,
         PoiseRank(A->ctx), (long long)X->layout->N, (long long)X->layout->n, (long long)Y->layout->N,
         (long long)Y->layout->n);
  return POISE_OK;
}

PoiseErr PoiseMatMultBlock(PoiseMat A, PoiseVec X, PoiseVec Y)
{
  CALLED(OBJECT(A), OBJECT(X), OBJECT(Y));
  ProductArgs plain = {.a = {NULL, 1}};
  if (poiseVecColumns(X) == 1 && poiseVecColumns(Y) == 1) return PoiseMatMult(A, X, Y);
  TRY(poisePartsFollow(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, X, Y);
  if (!e) e = poiseProductReady(&A->product);
  if (!e) e = poiseMatReadyColumns(A, poiseVecColumns(X));
  TRY(PoiseAgree(A->ctx, e));
  e = poiseProductMult(&A->product, POISE_OK, &(Operands){.x = X, .y = Y}, &plain);
  if (!e) e = poiseBufferSyncBorrowed(&Y->data);
  return PoiseAgree(A->ctx, e);
}

static PoiseErr TransposedByColumns(PoiseMat A, PoiseVec X, PoiseVec Y)
{
  PoiseErr e = POISE_OK;
  PoiseVec x = A->product.column[1], y = A->product.column[0];
  for (int j = 0; j < poiseVecColumns(X); j++) {
    if (!e) e = poiseVecTakeColumn(X, j, x);
    PoiseErr product = PoiseMatMultTranspose(A, x, y);
    if (!e) e = product;
    if (!e) e = poiseVecPutColumn(y, j, Y);
  }
  return e;
}

PoiseErr PoiseMatMultTransposeBlock(PoiseMat A, PoiseVec X, PoiseVec Y)
{
  CALLED(OBJECT(A), OBJECT(X), OBJECT(Y));
  if (poiseVecColumns(X) == 1 && poiseVecColumns(Y) == 1) return PoiseMatMultTranspose(A, X, Y);
  PoiseErr e = CheckProduct(A, A->cols, A->rows, X, Y);
  if (!e) e = ReadyByColumns(A, poiseVecColumns(X));
  TRY(PoiseAgree(A->ctx, e));
  e = TransposedByColumns(A, X, Y);
  if (!e) e = poiseBufferSyncBorrowed(&Y->data);
  return PoiseAgree(A->ctx, e);
}

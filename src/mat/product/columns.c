/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with wide vectors: composed column by column, where a form has no way of its own. */
#include "mat/object/mat.h"
#include "pcsr.h"
#include "row_blocks.h"
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

static PoiseErr MakeGhosts(Product *p)
{
  PoiseMat A = p->A;
  size_t bytes = (size_t)(A->csr.nghost * poiseCsrSide(&A->csr)) * sizeof(double);
  double *ghost;
  if (!A->csr.halo || p->ghost_column.dev) return POISE_OK;
  TRY(poiseBufferCreate(A->ctx->device, bytes, "a column of ghosts", &p->ghost_column));
  return poiseBufferWrite(&p->ghost_column, DEVICE, &ghost);
}

/* Is one column multiplied after the other? Of a product that is ready. */
static bool HasColumns(const Product *p)
{
  const MatType *type = p->A->type;
  return type->mult ? !type->ready_columns : !p->form->launch_columns;
}

/* Does it multiply all columns by A->several, which is a product of its own? */
static bool IsSeveral(const Product *p)
{
  return p->form && p->form->launch_columns == poiseSeveralLaunch;
}

/* What this rank has for k columns; a product within another is y = A x alone. Local. */
static PoiseErr ReadyHere(Product *p, const Layout *x, const Layout *y, int k)
{
  TRY(poiseProductReady(p));
  if (IsSeveral(p)) return poiseProductReady(&p->A->several);
  if (HasColumns(p)) {
    TRY(MakeVector(x, 1, &p->column[0]));
    TRY(MakeVector(y, 1, &p->column[1]));
    TRY(MakeGhosts(p));
  }
  if (!p->silent) TRY(MakeVector(y, k, &p->wide));
  return poiseRowBlocksReadyColumns(p->A->ctx->device, &p->w, p->A->csr.b);
}

/* Products of A and of its transpose share halos. All ranks alike. */
static void TakeRoom(PoiseMat A, int k)
{
  Product *p = &A->product;
  if (k <= p->room) return;
  p->room = k;
  p->moved++;
}

PoiseErr poiseMatReadyColumns(PoiseMat A, int k)
{
  TakeRoom(A, k);
  TRY(PoiseAgree(A->ctx, ReadyHere(&A->product, A->cols, A->rows, k)));
  if (A->type->ready_columns) return A->type->ready_columns(A, false, k);
  return poiseMatSplits(A) ? poisePartsReadyColumns(A, k) : poiseHaloReadyColumns(poiseMatHalo(A), k);
}

PoiseErr poiseTransposedReadyColumns(PoiseMat A, int k)
{
  TakeRoom(A, k);
  TRY(PoiseAgree(A->ctx, ReadyHere(&A->transposed, A->rows, A->cols, k)));
  return poiseHaloReadyColumns(A->csr.halo, k);
}

int64_t poiseMatPartialsColumns(PoiseMat A, int columns)
{
  if (columns <= 1) return poiseMatPartials(A);
  if (IsSeveral(&A->product)) return poiseProductPartials(&A->several);
  return POISE_NBLOCKS(A->rows->n);
}

/* T = op(A) X, one column after the other, by a user's function. T has X's columns, or more that are not
   used. The function may be collective: after a failure of one rank it is called for other columns too. */
static PoiseErr ByColumns(PoiseMat A, PoiseErr (*mult)(PoiseMat, PoiseVec, PoiseVec), PoiseVec x, PoiseVec y,
                          PoiseVec X, PoiseVec T)
{
  ErrorState first;
  PoiseErr kept = POISE_OK;
  int k = poiseVecColumns(X);
  for (int j = 0; j < k; j++) {
    PoiseErr e = poiseVecTakeColumn(X, j, x), product = mult(A, x, y);
    if (!e) e = product;
    if (!e) e = poiseVecPutColumnOf(y, j, k, T);
    if (e && !kept) poiseErrorSave(&first);
    if (!kept) kept = e;
  }
  if (kept) poiseErrorRestore(&first);
  return kept;
}

static PoiseErr UserColumns(Product *p, const Operands *v, PoiseVec T)
{
  poiseLogBegin(p->A->ctx, EVENT_MatMult);
  PoiseErr e = ByColumns(p->A, p->A->type->mult, p->column[0], p->column[1], v->x, T);
  poiseLogEnd(p->A->ctx, EVENT_MatMult, 0, 0);
  return e;
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

/* The columns of what travels and of the matrix's rows are all there: a form without a way of its own is
   launched for one after the other, all of its rows at once. */
static PoiseErr LaunchByColumns(Product *p, const ProductArgs *a)
{
  Device *dev = p->A->ctx->device;
  ColumnsArgs x = {.n = p->column[0]->layout->n, .k = 1, .from_row = a->columns, .to_row = 1, .from = a->x},
              ghost = x, y = {.n = p->column[1]->layout->n, .k = 1, .from_row = 1, .to_row = a->columns};
  ProductArgs one = {.a = {NULL, 1}};
  double *to;
  TRY(poiseVecWrite(p->column[0], &x.to));
  TRY(poiseVecWrite(p->column[1], &to));
  if (a->ghost) TRY(poiseBufferWrite(&p->ghost_column, DEVICE, &ghost.to));
  ghost.n = (int64_t)(p->ghost_column.bytes / sizeof(double)), ghost.from = a->ghost;
  one.x = x.to, one.ghost = ghost.to, one.y = to, y.from = to;
  for (int j = 0; j < a->columns; j++) {
    x.list[0] = ghost.list[0] = (uint8_t)j, x.from_column = ghost.from_column = 1;
    y.to = a->y ? (double *)a->y + j : NULL;
    TRY(LAUNCH(dev, columns, &x));
    if (a->ghost) TRY(LAUNCH(dev, columns, &ghost));
    TRY(p->form->launch(p, WHOLE, &one));
    TRY(LAUNCH(dev, columns, &y));
  }
  return POISE_OK;
}

PoiseErr poiseProductLaunchColumns(Product *p, ProductPart part, const ProductArgs *a)
{
  if (p->form->launch_columns) return p->form->launch_columns(p, part, a);
  return part == INTERIOR ? POISE_OK : LaunchByColumns(p, a);
}

/* T = A X, whose columns this call tells the product. */
static PoiseErr Wide(Product *p, PoiseErr mine, const Operands *v, PoiseVec T, int k)
{
  ProductArgs plain = {.a = {NULL, 1}, .columns = k};
  return poiseProductMult(p, mine, &(Operands){.x = v->x, .y = T}, &plain);
}

PoiseErr poiseProductMultColumns(Product *p, PoiseErr mine, const Operands *v, ProductArgs *a)
{
  const MatType *type = p->A->type;
  bool overwrites = !a->b.slot && a->b.value == 0,
       in_place = overwrites && !a->skip && !a->a.slot && a->a.value == 1;
  int k = poiseVecColumns(v->x); /* y may have more */
  if (!mine) mine = poiseProductReady(p);
  if (!mine && !type->mult && p->form->launch_columns && p->form->fuses) {
    if (IsSeveral(p)) mine = poiseProductReady(&p->A->several);
    a->columns = k;
    return poiseProductMult(p, mine, v, a);
  }
  PoiseVec t = in_place || mine ? v->y : p->wide;
  if (type->mult && HasColumns(p))
    TRY(mine ? mine : UserColumns(p, v, t));
  else
    TRY(Wide(p, mine, v, t, k));
  return in_place && !a->scale && !a->fuse ? POISE_OK : Finish(t, v->y, a, overwrites);
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
  TRY(PoiseAgree(A->ctx, CheckProduct(A, A->rows, A->cols, X, Y)));
  TRY(poiseMatReadyColumns(A, poiseVecColumns(X)));
  PoiseErr e = poiseProductMult(&A->product, POISE_OK, &(Operands){.x = X, .y = Y}, &plain);
  if (!e) e = poiseBufferSyncBorrowed(&Y->data);
  return PoiseAgree(A->ctx, e);
}

static PoiseErr MultTransposed(PoiseMat A, bool by_columns, PoiseVec X, PoiseVec Y)
{
  const Product *p = &A->product;
  poiseLogBegin(A->ctx, EVENT_MatMultTranspose);
  PoiseErr e = by_columns ? ByColumns(A, A->type->mult_transpose, p->column[1], p->column[0], X, Y)
                          : A->type->mult_transpose(A, X, Y);
  poiseLogEnd(A->ctx, EVENT_MatMultTranspose, 2.0 * poiseVecColumns(X) * (double)poiseCsrScalars(&A->csr),
              poiseMatTraffic(A));
  return e;
}

static PoiseErr ReadyTransposed(PoiseMat A, bool by_columns, int k)
{
  if (by_columns) return poiseMatReadyColumns(A, k);
  if (!A->type->ready_columns) return poiseTransposedReadyColumns(A, k);
  TakeRoom(A, k);
  return A->type->ready_columns(A, true, k);
}

PoiseErr PoiseMatMultTransposeBlock(PoiseMat A, PoiseVec X, PoiseVec Y)
{
  CALLED(OBJECT(A), OBJECT(X), OBJECT(Y));
  if (poiseVecColumns(X) == 1 && poiseVecColumns(Y) == 1) return PoiseMatMultTranspose(A, X, Y);
  PoiseErr e = CheckProduct(A, A->cols, A->rows, X, Y);
  bool by_columns = !poiseMatHolds(A) && !A->type->ready_columns;
  if (!e && !A->type->mult_transpose)
    e = PoiseErrorSet(POISE_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "matrix type %s has no transpose product", A->type->name);
  TRY(PoiseAgree(A->ctx, e));
  TRY(ReadyTransposed(A, by_columns, poiseVecColumns(X)));
  e = MultTransposed(A, by_columns, X, Y);
  if (!e) e = poiseBufferSyncBorrowed(&Y->data);
  return PoiseAgree(A->ctx, e);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products with vectors: checks, the exchange of ghosts beside the rows that need none, and what is composed
  for forms that launch y = A x alone.
*/
#include "mat/object/mat.h"
#include "pcsr.h"
#include "vec/vec_kernels.h"

/* ---- the exchange ---------------------------------------------------------------------------- */

Halo *poiseMatHalo(PoiseMat A)
{
  if (poiseMatSplits(A)) return A->parts->kept->csr.halo;
  return A->type->mult ? NULL : A->csr.halo;
}

static bool ByColumns(const Product *p)
{
  return p->fixed == &poiseForm_transposed;
}

/* Which brings the ghosts of x; by columns rows have none. */
static Halo *Before(const Product *p)
{
  return ByColumns(p) ? NULL : poiseMatHalo(p->A);
}

/* Which takes results of other ranks' rows, or columns, to them. */
static Halo *After(const Product *p)
{
  if (ByColumns(p)) return p->A->csr.halo;
  return poiseMatSplits(p->A) ? p->A->parts->owners : NULL;
}

static PoiseErr Begin(const Product *p, Halo *halo, PoiseErr mine, const Operands *v, const void *x)
{
  if (p->single) return poiseHaloBeginSingle(halo, mine, x);
  return poiseHaloBegin(halo, mine, v->x ? poiseVecPlace(v->x, x) : x);
}

static PoiseErr End(const Product *p, Halo *halo, ProductArgs *a)
{
  const double *ghost = NULL;
  const float *ghost_f32 = NULL;
  PoiseErr e = p->single ? poiseHaloEndSingle(halo, &ghost_f32) : poiseHaloEnd(halo, &ghost);
  a->ghost = p->single ? (const void *)ghost_f32 : ghost;
  return e;
}

/* ---- a product ------------------------------------------------------------------------------- */

static PoiseErr ReadX(const Product *p, const Operands *v, ProductArgs *a)
{
  const double *x = NULL;
  if (p->single) return poiseBufferRead(v->x_f32, DEVICE, &a->x);
  PoiseErr e = v->x ? poiseVecRead(v->x, &x) : POISE_OK; /* |A|^T 1 takes none */
  a->x = x;
  return e;
}

/* y is to be written; a product that is skipped leaves it as it is. */
static PoiseErr OpenY(const Product *p, const Operands *v, ProductArgs *a)
{
  bool overwrites = !a->b.slot && a->b.value == 0 && !a->skip;
  double *y = NULL;
  if (p->single)
    return overwrites ? poiseBufferWrite(v->y_f32, DEVICE, &a->y)
                      : poiseBufferUpdate(v->y_f32, DEVICE, &a->y);
  PoiseErr e = overwrites ? poiseVecWrite(v->y, &y) : poiseVecUpdate(v->y, &y);
  a->y = y;
  return e;
}

/* Ghosts that have come before the product are no reason to divide it. A library wants all x in one array. */
static bool Divides(const Product *p, Halo *halo)
{
  return halo && p->form != &poiseForm_library && (p->single || !poiseHaloIsThere(halo));
}

static PoiseErr MultByUser(const Product *p, const Operands *v)
{
  PoiseMat A = p->A;
  poiseLogBegin(A->ctx, EVENT_MatMult);
  PoiseErr e = A->type->mult(A, v->x, v->y);
  poiseLogEnd(A->ctx, EVENT_MatMult, 2.0 * (double)poiseCsrScalars(&A->csr), poiseMatTraffic(A));
  return e;
}

static bool IsPlain(const ProductArgs *a) /* y = A x */
{
  return !a->a.slot && a->a.value == 1 && !a->b.slot && a->b.value == 0 && !a->scale && !a->fuse;
}

/* A product of a form without Fuse: t = A x, then y = D (a t + b y) and the dots in one pass. If skipped, t
   is computed and not used. */
static PoiseErr Compose(Product *p, const Operands *v, const ProductArgs *a)
{
  PoiseMat A = p->A;
  bool overwrites = !a->b.slot && a->b.value == 0, in_place = overwrites && !a->a.slot && a->a.value == 1;
  AxpbyArgs rest = {.n = A->rows->n, .a = a->a, .b = a->b, .skip = a->skip, .scale = a->scale};
  ProductArgs plain = {.a = {NULL, 1}};
  Operands t = {.x = v->x, .y = v->y};
  /* eager loops enqueue nothing to be skipped */
  if (in_place && !a->scale && (!a->skip || A->type->eager)) {
    TRY(poiseProductMult(p, POISE_OK, &t, &plain));
    return poiseVecFuse(v->y, a->skip, a->fuse);
  }
  t.y = p->work;
  TRY(poiseProductMult(p, POISE_OK, &t, &plain));
  TRY(poiseVecRead(p->work, &rest.x));
  TRY(overwrites && !a->skip ? poiseVecWrite(v->y, &rest.y) : poiseVecUpdate(v->y, &rest.y));
  if (a->fuse) rest.fuse = *a->fuse;
  return LAUNCH(A->ctx->device, axpby, &rest);
}

/* Of more columns the vectors count, x and y. */
static void LogEnd(const Product *p, const ProductArgs *a)
{
  double columns = a->columns > 1 ? a->columns : 1, n = a->scale ? (double)p->A->rows->n : 0,
         bytes = p->single ? poiseProductTraffic(p) : poiseMatTraffic(p->A),
         more = (columns - 1) * (p->single ? 4 : 8) * (double)(p->A->rows->n + p->A->cols->n);
  poiseLogEnd(p->A->ctx, EVENT_MatMult, columns * (2.0 * (double)poiseCsrScalars(&p->A->csr) + n),
              bytes + more + 8 * n);
}

PoiseErr poiseProductMult(Product *p, PoiseErr mine, const Operands *v, ProductArgs *a)
{
  if (v->y && poiseVecColumns(v->y) > 1 && !a->columns) return poiseProductMultColumns(p, mine, v, a);
  PoiseMat A = p->A;
  PoiseErr exchanged = POISE_OK, e = mine ? mine : poiseProductReady(p);
  if (!e && !a->columns && !poiseProductFuses(p) && (a->skip || !IsPlain(a))) return Compose(p, v, a);
  if (A->type->mult) return e ? e : MultByUser(p, v);
  Halo *before = poiseHaloOf(Before(p), a->columns), *after = poiseHaloOf(After(p), a->columns);
  int columns = a->columns > 1 ? a->columns : 1;
  if ((before && before->columns != columns) || (after && after->columns != columns))
    FAIL(POISE_ERR_INTERNAL, "a product with %d columns has a halo for others", columns); /* of all ranks */
  if (!p->silent) poiseLogBegin(A->ctx, EVENT_MatMult);
  if (!e) e = ReadX(p, v, a);
  if (before) exchanged = Begin(p, before, e, v, a->x);
  bool divides = Divides(p, before);
  if (!e) e = exchanged;
  if (!e) e = OpenY(p, v, a);
  if (!e && divides)
    e = a->columns ? poiseProductLaunchColumns(p, INTERIOR, a) : p->form->launch(p, INTERIOR, a);
  if (before && !exchanged) exchanged = End(p, before, a);
  if (!e) e = exchanged;
  ProductPart part = divides ? REST : WHOLE;
  if (!e) e = a->columns ? poiseProductLaunchColumns(p, part, a) : p->form->launch(p, part, a);
  if (after) e = poiseHaloReverse(after, e, a->y);
  if (!p->silent) LogEnd(p, a);
  return e;
}

PoiseErr poiseMatMultFuse(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                          const double *scale, const Fuse *fuse)
{
  ProductArgs args = {.a = a, .b = b, .skip = skip, .scale = scale, .fuse = fuse};
  return poiseProductMult(&A->product, POISE_OK, &(Operands){.x = x, .y = y}, &args);
}

PoiseErr poiseMatMultPlain(PoiseMat A, PoiseVec x, PoiseVec y)
{
  ProductArgs a = {.a = {NULL, 1}};
  return poiseProductMult(&A->product, POISE_OK, &(Operands){.x = x, .y = y}, &a);
}

PoiseErr poiseMatMultSingle(Product *p, int columns, double a, Buffer *x, double b, Buffer *y,
                            const double *skip)
{
  ProductArgs args = {.a.value = a, .b.value = b, .skip = skip, .columns = columns};
  return poiseProductMult(p, POISE_OK, &(Operands){.x_f32 = x, .y_f32 = y}, &args);
}

PoiseErr poiseTransposedMult(PoiseMat A, PoiseVec x, PoiseVec y)
{
  ProductArgs a = {.a = {NULL, 1}};
  return poiseProductMult(&A->transposed, POISE_OK, &(Operands){.x = x, .y = y}, &a);
}

int64_t poiseMatPartials(PoiseMat A)
{
  return poiseProductPartials(&A->product);
}

double poiseMatTraffic(PoiseMat A)
{
  if (A->type->eager) return 0;
  if (poiseMatSplits(A)) return poiseMatTraffic(A->parts->kept) + poiseMatTraffic(A->parts->taken);
  return poiseProductTraffic(&A->product);
}

PoiseErr poiseMatReady(PoiseMat A)
{
  Product *p = &A->product;
  double *work;
  CsrView v;
  TRY(poisePartsFollow(A));
  TRY(poiseMatCheckUsable(A));
  TRY(poiseProductReady(p));
  if (A->type->eager) return POISE_OK;
  if (A->type->ready) TRY(A->type->ready(A));
  if (p->work) TRY(poiseVecWrite(p->work, &work));
  if (poiseMatSplits(A)) return poisePartsReady(A);
  if (poiseMatHolds(A)) TRY(poiseCsrView(&A->csr, &v));
  return A->csr.halo ? poiseHaloReady(A->csr.halo) : POISE_OK;
}

PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost)
{
  if (!A->csr.halo) return mine;
  TRY(poiseHaloBegin(A->csr.halo, mine, x));
  return poiseHaloEnd(A->csr.halo, ghost);
}

/* ---- what users call -------------------------------------------------------------------------- */

/* y = a A x + b y, then the dots of y. mine: this rank's error so far. Whatever fails, this rank takes
   part in the communication, and the caller agrees afterwards. */
static PoiseErr Mult(PoiseMat A, PoiseErr mine, double a, PoiseVec x, double b, PoiseVec y, const Fuse *fuse)
{
  if (A->type->mult) { /* a user's function may be collective */
    if (!mine) mine = poiseProductReady(&A->product);
    TRY(PoiseAgree(A->ctx, mine));
  }
  if (mine) return poiseProductMult(&A->product, mine, &(Operands){0}, &(ProductArgs){0});
  TRY(poiseMatMultFuse(A, (ScalarRef){NULL, a}, x, (ScalarRef){NULL, b}, y, NULL, NULL, fuse));
  return poiseBufferSyncBorrowed(&y->data);
}

static PoiseErr CheckLayout(PoiseMat A, const Layout *needed, const char *name, PoiseVec v)
{
  if (poiseLayoutSame(needed, v->layout)) return POISE_OK;
  if (poiseVecColumns(v) > 1)
    FAIL(POISE_ERR_SIZE, "%s has %d columns: PoiseMatMultBlock takes such vectors", name, poiseVecColumns(v));
  FAIL(POISE_ERR_SIZE, "A is %lld x %lld (%lld x %lld on rank %d), %s has %lld entries (%lld)",
       (long long)A->rows->N, (long long)A->cols->N, (long long)A->rows->n, (long long)A->cols->n,
       PoiseRank(A->ctx), name, (long long)v->layout->N, (long long)v->layout->n);
}

/* out = op(A) in, where op(A) has rows `rows` and columns `cols`. */
static PoiseErr CheckProduct(PoiseMat A, const Layout *rows, const Layout *cols, PoiseVec in, PoiseVec out)
{
  TRY(poiseMatCheckUsable(A));
  if (in == out) FAIL(POISE_ERR_ARG, "x and y of a product are the same vector");
  TRY(CheckLayout(A, cols, "x", in));
  TRY(CheckLayout(A, rows, "y", out));
  return POISE_OK;
}

PoiseErr PoiseMatMultAdd(PoiseMat A, double a, PoiseVec x, double b, PoiseVec y)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y));
  TRY(poisePartsFollow(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, y);
  return PoiseAgree(A->ctx, Mult(A, e, a, x, b, y, NULL));
}

PoiseErr PoiseMatMult(PoiseMat A, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y));
  return PoiseMatMultAdd(A, 1, x, 0, y);
}

PoiseErr PoiseMatResidual(PoiseMat A, PoiseVec b, PoiseVec x, PoiseVec r)
{
  CALLED(OBJECT(A), OBJECT(b), OBJECT(x), OBJECT(r));
  TRY(poisePartsFollow(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, r);
  if (!e) e = poiseVecCheckSame(b, "b", r, "r");
  if (!e) e = PoiseVecCopy(b, r);
  return PoiseAgree(A->ctx, Mult(A, e, -1, x, 1, r, NULL));
}

PoiseErr PoiseMatMultDot(PoiseMat A, PoiseVec x, PoiseVec y, PoiseVec u, double *dot)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y), OBJECT(u), GIVEN(dot));
  Fuse f = {.ndot = 1};
  if (!poiseMatHolds(A)) { /* as a user's function may itself use the context's scratch */
    TRY(PoiseMatMult(A, x, y));
    return PoiseVecDot(u, y, dot);
  }
  TRY(poisePartsFollow(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, y);
  if (!e) e = poiseVecCheckSame(u, "u", y, "y");
  if (!e && u != y) e = poiseVecRead(u, &f.u[0]); /* NULL: (y, y) */
  if (!e) e = poiseProductReady(&A->product);     /* decides how many partials there are */
  if (!e) e = poiseReduceReserve(A->ctx, poiseMatPartials(A));
  if (!e) e = poiseBufferWrite(&A->ctx->reduce_partial, DEVICE, &f.partial[0]);
  e = Mult(A, e, 1, x, 0, y, &f);
  return poiseReduceFinish(A->ctx, e, 1, poiseMatPartials(A), false, dot);
}

PoiseErr PoiseMatMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y));
  PoiseErr e = CheckProduct(A, A->cols, A->rows, x, y);
  if (!e && !A->type->mult_transpose)
    e = PoiseErrorSet(POISE_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "matrix type %s has no transpose product", A->type->name);
  TRY(PoiseAgree(A->ctx, e));
  poiseLogBegin(A->ctx, EVENT_MatMultTranspose);
  e = A->type->mult_transpose(A, x, y);
  poiseLogEnd(A->ctx, EVENT_MatMultTranspose, 2.0 * (double)poiseCsrScalars(&A->csr), poiseMatTraffic(A));
  if (!e) e = poiseBufferSyncBorrowed(&y->data);
  return PoiseAgree(A->ctx, e);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of a matrix: checks, the exchange of ghosts beside the rows that need none, and what is composed
  for types that launch y = A x alone.
*/
#include "vec/vec_kernels.h"
#include "mat/types/auto.h"
#include "mat/types/pcsr.h"

/* Does the product of the type take factors, skip, scale and Fuse? */
static bool Fuses(PoiseMat A)
{
  return A->type->fuse && !(A->type->composes && A->type->composes(A)) && !poiseMatSplits(A);
}

int64_t poiseMatPartials(PoiseMat A)
{
  if (!Fuses(A)) return POISE_NBLOCKS(A->rows->n);
  return A->type->partials ? A->type->partials(A) : A->csr.nblock;
}

double poiseMatTraffic(PoiseMat A)
{
  const Csr *c = &A->csr;
  if (A->type->eager) return 0;
  if (poiseMatSplits(A)) return poiseMatTraffic(A->made.parts->kept) + poiseMatTraffic(A->made.parts->taken);
  return 8.0 * (double)poiseCsrScalars(c) + 4.0 * (double)c->nz + (c->wide ? 8.0 : 4.0) * (double)(c->m + 1) +
         8.0 * (double)((c->m + c->nloc + c->nghost) * poiseCsrSide(c));
}

/* What a launch needs is there, and y is to be written; a product that is skipped leaves it as it is. */
static PoiseErr OpenProduct(PoiseMat A, PoiseVec y, ProductArgs *p)
{
  bool overwrites = !p->b.slot && p->b.value == 0 && !p->skip;
  if (A->type->ready) TRY(A->type->ready(A));
  return overwrites ? poiseVecWrite(y, &p->y) : poiseVecUpdate(y, &p->y);
}

Halo *poiseMatHalo(PoiseMat A)
{
  if (poiseMatSplits(A)) return A->made.parts->kept->csr.halo;
  return A->type->mult ? NULL : A->csr.halo;
}

/* Ghosts that have come before the product are no reason to divide it. A library wants all x in one array. */
static bool Divides(PoiseMat A)
{
  return !poiseHaloIsThere(A->csr.halo) || A->asked.library;
}

/* On several ranks the rows that need no ghosts are multiplied while these travel. The exchange takes place
   whatever fails on this rank, as the neighbours wait for it. */
static PoiseErr LaunchProduct(PoiseMat A, PoiseVec x, PoiseVec y, ProductArgs *p)
{
  Halo *halo = A->csr.halo;
  PoiseErr exchanged = POISE_OK, e = poiseVecRead(x, &p->x);
  if (halo) TRY(poiseHaloBegin(halo, e, poiseVecPlace(x, p->x)));
  bool divides = halo && Divides(A);
  if (!e) e = OpenProduct(A, y, p);
  if (!e && divides) e = A->type->launch(A, INTERIOR, p);
  if (halo) exchanged = poiseHaloEnd(halo, &p->ghost);
  TRY(e);
  TRY(exchanged);
  return A->type->launch(A, divides ? REST : WHOLE, p);
}

PoiseErr poiseMatMultPlain(PoiseMat A, PoiseVec x, PoiseVec y)
{
  ProductArgs p = {.a = {NULL, 1}};
  if (poiseMatSplits(A)) return poisePartsMult(A, POISE_OK, x, y);
  return A->type->mult ? A->type->mult(A, x, y) : LaunchProduct(A, x, y, &p);
}

/* A product of a type without Fuse: t = A x, then y = D (a t + b y) and the dots in one pass. If skipped, t
   is computed in vain. */
static PoiseErr Compose(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                        const double *scale, const Fuse *fuse)
{
  bool overwrites = !b.slot && b.value == 0;
  AxpbyArgs p = {.n = A->rows->n, .a = a, .b = b, .skip = skip, .scale = scale};
  /* eager loops enqueue nothing to be skipped */
  if ((!skip || A->type->eager) && overwrites && !a.slot && a.value == 1 && !scale) {
    TRY(poiseMatMultPlain(A, x, y));
    return poiseVecFuse(y, skip, fuse);
  }
  TRY(poiseMatMultPlain(A, x, A->made.work));
  TRY(poiseVecRead(A->made.work, &p.x));
  TRY(overwrites && !skip ? poiseVecWrite(y, &p.y) : poiseVecUpdate(y, &p.y));
  if (fuse) p.fuse = *fuse;
  return LAUNCH(A->ctx->device, axpby, &p);
}

PoiseErr poiseMatMultFuse(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                          const double *scale, const Fuse *fuse)
{
  ProductArgs p = {.a = a, .b = b, .skip = skip, .scale = scale, .fuse = fuse};
  double n = scale ? (double)A->rows->n : 0;
  poiseLogBegin(A->ctx, EVENT_MatMult);
  PoiseErr e = Fuses(A) ? LaunchProduct(A, x, y, &p) : Compose(A, a, x, b, y, skip, scale, fuse);
  poiseLogEnd(A->ctx, EVENT_MatMult, 2.0 * (double)poiseCsrScalars(&A->csr) + n, poiseMatTraffic(A) + 8 * n);
  return e;
}

PoiseErr poiseMatReady(PoiseMat A)
{
  CsrView v;
  double *work;
  const int32_t *order;
  TRY(poiseMatChoose(A));
  TRY(poisePartsFollow(A));
  TRY(poiseMatCheckUsable(A));
  if (!Fuses(A) && !A->made.work) TRY(poiseVecCreateLayout(A->rows, &A->made.work));
  if (A->type->eager) return POISE_OK;
  if (!Fuses(A)) TRY(poiseVecWrite(A->made.work, &work));
  if (poiseMatSplits(A)) return poisePartsReady(A);
  if (poiseMatHolds(A)) TRY(poiseCsrView(&A->csr, &v));
  if (A->type->ready) TRY(A->type->ready(A));
  if (!A->csr.halo) return POISE_OK;
  TRY(poiseHaloReady(A->csr.halo));
  return poiseBufferRead(&A->csr.order, DEVICE, &order);
}

PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost)
{
  if (!A->csr.halo) return mine;
  TRY(poiseHaloBegin(A->csr.halo, mine, x));
  return poiseHaloEnd(A->csr.halo, ghost);
}

/* Only take part in the exchange: the neighbours of a rank that cannot multiply need it. */
static PoiseErr ExchangeOnly(PoiseMat A, PoiseErr mine)
{
  const double *ghost;
  if (poiseMatSplits(A)) return poisePartsMult(A, mine, NULL, NULL);
  (void)poiseMatGhosts(A, mine, NULL, &ghost);
  return mine;
}

/* y = a A x + b y, then the dots of y. mine: this rank's error so far. Whatever fails, this rank takes
   part in the communication, and the caller agrees afterwards. */
static PoiseErr Product(PoiseMat A, PoiseErr mine, double a, PoiseVec x, double b, PoiseVec y,
                        const Fuse *fuse)
{
  /* a user's function may be collective, so all call it or none does */
  if (!Fuses(A) && (!poiseMatHolds(A) || !A->made.work)) {
    TRY(PoiseAgree(A->ctx, mine));
    if (!A->made.work) TRY(poiseVecCreateLayout(A->rows, &A->made.work));
  }
  if (mine) return ExchangeOnly(A, mine);
  TRY(poiseMatMultFuse(A, (ScalarRef){NULL, a}, x, (ScalarRef){NULL, b}, y, NULL, NULL, fuse));
  return poiseBufferSyncBorrowed(&y->data);
}

/* ---- what users call -------------------------------------------------------------------------- */

static PoiseErr CheckLayout(PoiseMat A, const Layout *needed, const char *name, PoiseVec v)
{
  if (poiseLayoutSame(needed, v->layout)) return POISE_OK;
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
  TRY(poiseMatChoose(A));
  TRY(poisePartsFollow(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, y);
  return PoiseAgree(A->ctx, Product(A, e, a, x, b, y, NULL));
}

PoiseErr PoiseMatMult(PoiseMat A, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y));
  return PoiseMatMultAdd(A, 1, x, 0, y);
}

PoiseErr PoiseMatResidual(PoiseMat A, PoiseVec b, PoiseVec x, PoiseVec r)
{
  CALLED(OBJECT(A), OBJECT(b), OBJECT(x), OBJECT(r));
  TRY(poiseMatChoose(A));
  TRY(poisePartsFollow(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, r);
  if (!e) e = poiseVecCheckSame(b, "b", r, "r");
  if (!e) e = PoiseVecCopy(b, r);
  return PoiseAgree(A->ctx, Product(A, e, -1, x, 1, r, NULL));
}

PoiseErr PoiseMatMultDot(PoiseMat A, PoiseVec x, PoiseVec y, PoiseVec u, double *dot)
{
  CALLED(OBJECT(A), OBJECT(x), OBJECT(y), OBJECT(u), GIVEN(dot));
  Fuse f = {.ndot = 1};
  if (!poiseMatHolds(A)) { /* as a user's function may itself use the context's scratch */
    TRY(PoiseMatMult(A, x, y));
    return PoiseVecDot(u, y, dot);
  }
  TRY(poiseMatChoose(A));
  TRY(poisePartsFollow(A));
  PoiseErr e = CheckProduct(A, A->rows, A->cols, x, y);
  if (!e) e = poiseVecCheckSame(u, "u", y, "y");
  if (!e && u != y) e = poiseVecRead(u, &f.u[0]);  /* NULL: (y, y) */
  if (!e && A->type->ready) e = A->type->ready(A); /* decides how many partials there are */
  if (!e) e = poiseReduceReserve(A->ctx, poiseMatPartials(A));
  if (!e) e = poiseBufferWrite(&A->ctx->reduce_partial, DEVICE, &f.partial[0]);
  e = Product(A, e, 1, x, 0, y, &f);
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

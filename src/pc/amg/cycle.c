/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The cycle: z = M r from a zero guess, with the same smoother before and after the correction, so that M is
  symmetric, and positive definite, where A is.

  The smoother is the Chebyshev iteration of the fourth kind with optimal weights (J. Lottes, Optimal
  polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30, 2023, equations 5.9 to 5.11),
  which needs no lower bound of the spectrum; or l1-jacobi (A. Baker, R. Falgout, T. Kolev, U. Yang,
  Multigrid smoothers for ultraparallel computing, SIAM J. Sci. Comput. 33, 2011).

  A level of degree k takes 2 k products by A, one each by R and P, and 2 k passes of the smoother. The
  residual goes on from one product to the next, and the last pass of the smoother makes it new from b.

  On several ranks a failure of one is kept, and it goes on: the others wait for what it sends in products.
*/
#include "amg.h"
#include "vec/vec_kernels.h"
#include "amg_kernels.h"

/* Weights of degrees 1 to 4: Lottes, table 1. */
static const double weights[][AMG_DEGREES] = {
    {1.125},
    {1.02387287570313, 1.26408905371085},
    {1.00842544782028, 1.0886783920873, 1.33753125909618},
    {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.3826886924100},
};

/* Over-correction of plain aggregation, whose coarse functions have too much energy (D. Braess, Towards
   algebraic multigrid for elliptic problems of second order, Computing 55, 1995). M stays positive. */
static const double over = 1.8;

static const ScalarRef one = {NULL, 1}, minus = {NULL, -1}, zero = {NULL, 0};

/* The first failure stays. */
static void Keep(PoiseErr *e, PoiseErr next)
{
  if (!*e) *e = next;
}

/* ---- the smoother ---------------------------------------------------------------------------- */

/* Coefficients of step w = 0, 1, ... of `degree`. */
static void Coefficients(const Amg *amg, const AmgLevel *l, int degree, int w, AmgSmoothArgs *a)
{
  a->c1 = 0, a->c2 = 1, a->beta = 1;
  if (amg->options.smoother == AMG_JACOBI) return;
  double lambda = l->lambda > 0 ? l->lambda : 1;
  a->c1 = w ? (2.0 * w - 1) / (2.0 * w + 3) : 0;
  a->c2 = (8.0 * w + 4) / ((2.0 * w + 3) * lambda);
  a->beta = weights[degree - 1][w];
}

typedef struct Step { /* which vectors a step of the smoother has; NULL: not */
  PoiseVec r, x, was, d, add, from, to;
  bool fresh;
} Step;

static PoiseErr Launch(PoisePC pc, AmgLevel *l, AmgSmoothArgs *a, const Step *v, const double *skip,
                       const Fuse *fuse)
{
  a->n = l->A->rows->n, a->b = l->side, a->fresh = v->fresh, a->skip = skip;
  if (fuse) a->fuse = *fuse;
  TRY(poiseBufferRead(&l->inverse, DEVICE, &a->inverse));
  TRY(poiseVecRead(v->r, &a->r));
  if (v->add) TRY(poiseVecRead(v->add, &a->add));
  if (v->from) TRY(poiseVecRead(v->from, &a->from));
  if (v->to) TRY(poiseVecUpdate(v->to, &a->to));
  if (v->was) TRY(poiseVecRead(v->was, &a->was));
  if (v->d) TRY(poiseVecUpdate(v->d, &a->d));
  TRY(v->fresh && !skip ? poiseVecWrite(v->x, &a->x) : poiseVecUpdate(v->x, &a->x));
  return LAUNCH(pc->ctx->device, amg_smooth, a);
}

/* x = the smoother's result for b from 0; t = b - A x. Or, of the bottom, x alone. */
static PoiseErr Before(PoisePC pc, AmgLevel *l, int degree, bool bottom, PoiseVec b, PoiseVec x,
                       const double *skip)
{
  PoiseErr e = POISE_OK;
  for (int w = 0; w < degree; w++) {
    bool last = w + 1 == degree, copies = !last || !bottom;
    AmgSmoothArgs a = {0};
    Coefficients(pc->data, l, degree, w, &a);
    Step v = {.r = w ? l->r : b, .x = x, .was = w ? l->d : NULL, .d = last ? NULL : l->d, .fresh = !w};
    if (copies && (last || !w)) v.from = b, v.to = last ? l->t : l->r;
    Keep(&e, Launch(pc, l, &a, &v, skip, NULL));
    if (!last) Keep(&e, poiseMatMultFuse(l->A, minus, l->d, one, l->r, skip, NULL, NULL));
  }
  if (!bottom) Keep(&e, poiseMatMultFuse(l->A, minus, x, one, l->t, skip, NULL, NULL));
  return e;
}

/* x += add + the smoother's result for the residual t, which belongs to x + add. */
static PoiseErr After(PoisePC pc, AmgLevel *l, int degree, PoiseVec add, PoiseVec x, const double *skip,
                      const Fuse *fuse)
{
  PoiseErr e = POISE_OK;
  for (int w = 0; w < degree; w++) {
    bool last = w + 1 == degree;
    AmgSmoothArgs a = {0};
    Coefficients(pc->data, l, degree, w, &a);
    Step v = {.r = l->t, .x = x, .was = w ? l->d : NULL, .d = last ? NULL : l->d, .add = w ? NULL : add};
    Keep(&e, Launch(pc, l, &a, &v, skip, last ? fuse : NULL));
    if (!last) Keep(&e, poiseMatMultFuse(l->A, minus, l->d, one, l->t, skip, NULL, NULL));
  }
  return e;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static PoiseErr Correct(PoisePC pc, int k, PoiseVec b, PoiseVec x, const double *skip, const Fuse *fuse);

/* y = x + b y */
static PoiseErr Add(PoisePC pc, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip)
{
  AxpbyArgs a = {.n = x->layout->n, .a = one, .b = b, .skip = skip};
  TRY(poiseVecRead(x, &a.x));
  TRY(poiseVecUpdate(y, &a.y));
  return LAUNCH(pc->ctx->device, axpby, &a);
}

/* A second time, for what the first left of the coarse problem: x2 = M (b - A x), x += x2. */
static PoiseErr Again(PoisePC pc, int k, const double *skip)
{
  AmgLevel *l = &((Amg *)pc->data)->level[k];
  PoiseErr e = Add(pc, l->b, zero, l->r2, skip);
  Keep(&e, poiseMatMultFuse(l->A, minus, l->x, one, l->r2, skip, NULL, NULL));
  Keep(&e, Correct(pc, k, l->r2, l->x2, skip, NULL));
  Keep(&e, Add(pc, l->x2, one, l->x, skip));
  return e;
}

static PoiseErr Bottom(PoisePC pc, AmgLevel *l, PoiseVec b, PoiseVec x, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  TRY(amg->dense ? poiseAmgBottomApply(pc->ctx->device, &amg->bottom, b, x, skip)
                 : Before(pc, l, AMG_DEGREES, true, b, x, skip));
  return fuse ? poiseVecFuse(x, skip, fuse) : POISE_OK;
}

/* x = M_k b, with the level's own vectors; of the first level that every rank holds, from and to the parts of
   ranks. */
static PoiseErr Below(PoisePC pc, int k, const double *skip)
{
  Amg *amg = pc->data;
  AmgLevel *l = &amg->level[k];
  bool parts = poiseAmgIsRedundant(amg, k);
  PoiseErr e = parts ? poiseAmgCollect(&amg->redundant, amg->redundant.b, l->b) : POISE_OK;
  Keep(&e, Correct(pc, k, l->b, l->x, skip, NULL));
  if (amg->options.w_cycle && k + 1 < amg->count) Keep(&e, Again(pc, k, skip));
  if (parts) Keep(&e, poiseAmgTakePart(&amg->redundant, l->x, amg->redundant.x, skip, NULL));
  return e;
}

/* x = M_k b. */
static PoiseErr Correct(PoisePC pc, int k, PoiseVec b, PoiseVec x, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  const AmgOptions *o = &amg->options;
  AmgLevel *l = &amg->level[k], *next = l + 1;
  ScalarRef scale = {NULL, l->smoothed ? 1 : over};
  if (k + 1 == amg->count) return Bottom(pc, l, b, x, skip, fuse);
  bool parts = poiseAmgIsRedundant(amg, k + 1);
  PoiseErr e = Before(pc, l, (int)o->degree, false, b, x, skip);
  Keep(&e, poiseMatMultFuse(l->R, one, l->t, zero, parts ? amg->redundant.b : next->b, skip, NULL, NULL));
  Keep(&e, Below(pc, k + 1, skip));
  Keep(&e, poiseMatMultFuse(l->P, scale, parts ? amg->redundant.x : next->x, zero, l->r, skip, NULL, NULL));
  Keep(&e, poiseMatMultFuse(l->A, minus, l->r, one, l->t, skip, NULL, NULL));
  Keep(&e, After(pc, l, (int)o->degree, l->r, x, skip, fuse));
  return e;
}

PoiseErr poiseAmgCycle(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  AmgLevel *l = &amg->level[0];
  if (!poiseAmgIsRedundant(amg, 0)) return Correct(pc, 0, r, z, skip, fuse);
  PoiseErr e = poiseAmgCollect(&amg->redundant, r, l->b);
  Keep(&e, Correct(pc, 0, l->b, l->x, skip, NULL));
  Keep(&e, poiseAmgTakePart(&amg->redundant, l->x, z, skip, fuse));
  return e;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static PoiseErr Make(PoiseMat A, PoiseVec *v)
{
  double *there;
  if (!*v) TRY(poiseVecCreateLocal(A->rows, v));
  return poiseVecWrite(*v, &there);
}

static PoiseErr Prepare(Amg *amg, int k)
{
  const AmgOptions *o = &amg->options;
  AmgLevel *l = &amg->level[k];
  const double *inverse;
  bool bottom = k + 1 == amg->count, smooths = !bottom || !amg->dense,
       has = k > 0 || poiseAmgIsRedundant(amg, 0);
  PoiseVec *const coarse[] = {&l->b, &l->x}, *const twice[] = {&l->r2, &l->x2},
                  *const smoothed[] = {&l->d, &l->r};
  for (int j = 0; j < 2 && has; j++) TRY(Make(l->A, coarse[j]));
  for (int j = 0; j < 2 && k && !bottom && o->w_cycle; j++) TRY(Make(l->A, twice[j]));
  for (int j = o->degree > 1 || bottom ? 0 : 1; j < 2 && smooths; j++) TRY(Make(l->A, smoothed[j]));
  if (smooths) TRY(poiseBufferRead(&l->inverse, DEVICE, &inverse));
  return bottom ? POISE_OK : Make(l->A, &l->t);
}

/* The matrices of a level. Collective where they are; agrees. */
static PoiseErr PrepareMatrices(PoiseContext ctx, AmgLevel *l)
{
  PoiseMat const all[] = {l->A, l->P, l->R};
  for (int j = 0; j < 3; j++)
    if (all[j]) TRY(PoiseAgree(ctx, poiseMatReady(all[j])));
  return POISE_OK;
}

PoiseErr poiseAmgVectors(PoisePC pc)
{
  Amg *amg = pc->data;
  PoiseErr e = POISE_OK;
  for (int k = 0; k < amg->count && !e; k++) {
    PoiseContext ctx = poiseAmgContext(pc, k);
    e = PrepareMatrices(ctx, &amg->level[k]);
    if (!e) e = PoiseAgree(ctx, Prepare(amg, k));
  }
  if (!e && amg->redundant.A) e = poiseAmgRedundantReady(&amg->redundant);
  return PoiseAgree(pc->ctx, e);
}

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
  for (int w = 0; w < degree; w++) {
    bool last = w + 1 == degree, copies = !last || !bottom;
    AmgSmoothArgs a = {0};
    Coefficients(pc->data, l, degree, w, &a);
    Step v = {.r = w ? l->r : b, .x = x, .was = w ? l->d : NULL, .d = last ? NULL : l->d, .fresh = !w};
    if (copies && (last || !w)) v.from = b, v.to = last ? l->t : l->r;
    TRY(Launch(pc, l, &a, &v, skip, NULL));
    if (!last) TRY(poiseMatMultFuse(l->A, minus, l->d, one, l->r, skip, NULL, NULL));
  }
  return bottom ? POISE_OK : poiseMatMultFuse(l->A, minus, x, one, l->t, skip, NULL, NULL);
}

/* x += add + the smoother's result for the residual t, which belongs to x + add. */
static PoiseErr After(PoisePC pc, AmgLevel *l, int degree, PoiseVec add, PoiseVec x, const double *skip,
                      const Fuse *fuse)
{
  for (int w = 0; w < degree; w++) {
    bool last = w + 1 == degree;
    AmgSmoothArgs a = {0};
    Coefficients(pc->data, l, degree, w, &a);
    Step v = {.r = l->t, .x = x, .was = w ? l->d : NULL, .d = last ? NULL : l->d, .add = w ? NULL : add};
    TRY(Launch(pc, l, &a, &v, skip, last ? fuse : NULL));
    if (!last) TRY(poiseMatMultFuse(l->A, minus, l->d, one, l->t, skip, NULL, NULL));
  }
  return POISE_OK;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static PoiseErr Correct(PoisePC pc, int k, PoiseVec b, PoiseVec x, const double *skip, const Fuse *fuse);

/* A second time, for what the first left of the coarse problem: x2 = M (b - A x), x += x2. */
static PoiseErr Again(PoisePC pc, int k, const double *skip)
{
  AmgLevel *l = &((Amg *)pc->data)->level[k];
  AxpbyArgs copy = {.n = l->A->rows->n, .a = one, .b = zero, .skip = skip};
  TRY(poiseVecRead(l->b, &copy.x));
  TRY(poiseVecUpdate(l->r2, &copy.y));
  TRY(LAUNCH(pc->ctx->device, axpby, &copy));
  TRY(poiseMatMultFuse(l->A, minus, l->x, one, l->r2, skip, NULL, NULL));
  TRY(Correct(pc, k, l->r2, l->x2, skip, NULL));
  AxpbyArgs add = {.n = l->A->rows->n, .a = one, .b = one, .skip = skip};
  TRY(poiseVecRead(l->x2, &add.x));
  TRY(poiseVecUpdate(l->x, &add.y));
  return LAUNCH(pc->ctx->device, axpby, &add);
}

static PoiseErr Bottom(PoisePC pc, AmgLevel *l, PoiseVec b, PoiseVec x, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  TRY(amg->dense ? poiseAmgBottomApply(pc->ctx->device, &amg->bottom, b, x, skip)
                 : Before(pc, l, AMG_DEGREES, true, b, x, skip));
  return fuse ? poiseVecFuse(x, skip, fuse) : POISE_OK;
}

/* x = M_k b. */
static PoiseErr Correct(PoisePC pc, int k, PoiseVec b, PoiseVec x, const double *skip, const Fuse *fuse)
{
  Amg *amg = pc->data;
  const AmgOptions *o = &amg->options;
  AmgLevel *l = &amg->level[k], *next = l + 1;
  ScalarRef scale = {NULL, o->type == AMG_UNSMOOTHED ? over : 1};
  if (k + 1 == amg->count) return Bottom(pc, l, b, x, skip, fuse);
  TRY(Before(pc, l, (int)o->degree, false, b, x, skip));
  TRY(poiseMatMultFuse(l->R, one, l->t, zero, next->b, skip, NULL, NULL));
  TRY(Correct(pc, k + 1, next->b, next->x, skip, NULL));
  if (o->w_cycle && k + 2 < amg->count) TRY(Again(pc, k + 1, skip));
  TRY(poiseMatMultFuse(l->P, scale, next->x, zero, l->r, skip, NULL, NULL));
  TRY(poiseMatMultFuse(l->A, minus, l->r, one, l->t, skip, NULL, NULL));
  return After(pc, l, (int)o->degree, l->r, x, skip, fuse);
}

PoiseErr poiseAmgCycle(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  return Correct(pc, 0, r, z, skip, fuse);
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
  bool bottom = k + 1 == amg->count, smooths = !bottom || !amg->dense;
  PoiseVec *const coarse[] = {&l->b, &l->x}, *const twice[] = {&l->r2, &l->x2},
                  *const smoothed[] = {&l->d, &l->r};
  TRY(poiseMatReady(l->A));
  for (int j = 0; j < 2 && k; j++) TRY(Make(l->A, coarse[j]));
  for (int j = 0; j < 2 && k && !bottom && o->w_cycle; j++) TRY(Make(l->A, twice[j]));
  for (int j = o->degree > 1 || bottom ? 0 : 1; j < 2 && smooths; j++) TRY(Make(l->A, smoothed[j]));
  if (smooths) TRY(poiseBufferRead(&l->inverse, DEVICE, &inverse));
  if (bottom) return POISE_OK;
  TRY(Make(l->A, &l->t));
  TRY(poiseMatReady(l->P));
  return poiseMatReady(l->R);
}

PoiseErr poiseAmgVectors(PoisePC pc)
{
  Amg *amg = pc->data;
  for (int k = 0; k < amg->count; k++) TRY(Prepare(amg, k));
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Smoothing by products with approximate inverses of incomplete factors, of icc, or of ilu where A is not
  symmetric, on the rank's own block (H. Anzt, T. Huckle, J. Braeckle, J. Dongarra, Incomplete sparse
  approximate inverses for parallel preconditioning, Parallel Computing 71, 2018). M^-1 = upper lower is in
  place of D^-1 in the polynomials of cycle.c. These need the largest eigenvalue of M^-1 A, which is estimated
  by the power method: M^-1 A is symmetric in the product (x, A y), and the quotient of Rayleigh in it is
    (x, A M^-1 A x) / (x, A x) = (y, M^-1 y) / (x, y),   y = A x.

  Factors are made by sweeps over all entries at once, so nothing waits for rows. Two are enough. Further ones
  gain nothing where factors are good. Elsewhere they come closer to small pivots, from which M^-1 A has a few
  large eigenvalues, and the polynomials then damp the others less.
*/
#include "mat/object/mat.h"
#include "pc/factor.h"
#include "pc/isai.h"
#include "vec/vec_kernels.h"
#include "inverses.h"
#include "transfer.h"

enum { SWEEPS = 2, STEPS = 12 };
static const double safe = 1.1; /* the estimate is from below */

static PoiseErr Prepare(PoiseContext ctx, PoiseMat A, bool odd, PoisePC *factors)
{
  TRY(PoisePCCreate(ctx, factors));
  TRY(PoisePCSetType(*factors, odd ? "ilu" : "icc"));
  TRY(PoisePCSetOperator(*factors, A));
  Incomplete *f = (*factors)->data;
  f->triangles = TRIANGLES_ISAI;
  f->setup_sweeps = SWEEPS;
  return POISE_OK;
}

static PoiseErr MakeMatrix(PoisePC factors, bool upper, PoiseMat *to)
{
  static const char what[] = "approximate inverse";
  Csr c = {0};
  if (!*to) return poiseAmgCreatePart(factors->P, poiseIsaiMatrix(factors, upper, &c), what, &c, to);
  (*to)->version.values++;
  return poiseIsaiMatrix(factors, upper, &(*to)->csr);
}

/* y = A x. Of A that has parts on all ranks collective. */
static PoiseErr Multiply(PoiseMat A, PoiseVec x, PoiseVec y)
{
  return poiseMatMultFuse(A, (ScalarRef){NULL, 1}, x, (ScalarRef){NULL, 0}, y, NULL, NULL, NULL);
}

/* x = M^-1 y. Local. */
static PoiseErr Solve(const AmgLevel *l, PoiseVec y, PoiseVec half, PoiseVec x)
{
  TRY(Multiply(l->lower, y, half));
  return Multiply(l->upper, half, x);
}

/* *largest: of M^-1 A, by steps of the power method from x. Ranks agree on failures before they meet again.
   Collective. */
static PoiseErr Power(PoiseContext ctx, const AmgLevel *l, PoiseVec x, PoiseVec y, PoiseVec half,
                      double *largest)
{
  TRY(PoiseAgree(ctx, PoiseVecSetRandom(x, 1)));
  for (int k = 0; k < STEPS; k++) {
    double norm, before, after;
    TRY(PoiseVecNorm(x, POISE_NORM_2, &norm));
    if (norm == 0) return POISE_OK;
    TRY(PoiseAgree(ctx, PoiseVecScale(x, 1 / norm)));
    TRY(PoiseAgree(ctx, Multiply(l->A, x, y)));
    TRY(PoiseVecDot(x, y, &before));
    TRY(PoiseAgree(ctx, Solve(l, y, half, x)));
    TRY(PoiseVecDot(x, y, &after));
    *largest = safe * after / before;
  }
  return POISE_OK;
}

/* A form of A's products that is made for these alone is released: a cycle in fp32 has its own, and takes it
   for a sign of uneven rows. Collective. */
static PoiseErr Estimate(PoiseContext ctx, AmgLevel *l)
{
  PoiseVec v[3] = {NULL};
  bool had = l->A->product.form;
  PoiseErr e = POISE_OK;
  for (int k = 0; k < 3 && !e; k++) e = poiseVecCreateLocal(l->A->rows, &v[k]);
  e = PoiseAgree(ctx, e);
  if (!e) e = Power(ctx, l, v[0], v[1], v[2], &l->largest);
  for (int k = 0; k < 3; k++) PoiseVecDestroy(&v[k]);
  if (!had) poiseProductRelease(&l->A->product);
  return e;
}

static PoiseErr Divide(AmgLevel *l)
{
  AxpbyArgs a = {.n = l->lower->csr.nz, .a.value = 1 / l->largest};
  TRY(poiseBufferUpdate(&l->lower->csr.val, DEVICE, &a.y));
  a.x = a.y;
  l->lower->version.values++;
  return LAUNCH(l->A->ctx->device, axpby, &a);
}

PoiseErr poiseAmgInverses(PoiseContext ctx, AmgLevel *l, bool odd)
{
  PoisePC factors = NULL;
  l->largest = 0;
  PoiseErr e = PoiseAgree(ctx, Prepare(ctx, l->A, odd, &factors));
  if (!e) e = PoiseAgree(ctx, PoisePCSetUp(factors));
  if (!e) e = MakeMatrix(factors, false, &l->lower);
  if (!e) e = MakeMatrix(factors, true, &l->upper);
  e = PoiseAgree(ctx, e);
  PoisePCDestroy(&factors);
  poiseBufferDestroy(&l->inverse);
  if (e || odd) return e;
  TRY(Estimate(ctx, l));
  return l->largest > 0 && poiseFinite(l->largest) ? PoiseAgree(ctx, Divide(l)) : POISE_OK;
}

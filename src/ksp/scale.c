/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Squares of norms below 1e-154 or above 1e154 under- or overflow. If the first norm is near these limits, b,
  the guess and the absolute tolerance are multiplied by a power of 2. x is divided by it in the end. This is
  exact, and does not affect other solves.
*/
#include <float.h>

#include "methods.h"
#include "scale.h"
#include "solve.h"

enum { MOST_SCALINGS = 2 /* the first may see M^-1 b overflow */, MOST_EXPONENT = 1000 };

/* With a guess, b may be 0, or so small that the square of its norm is 0. */
int poiseKSPRange(PoiseKSP ksp)
{
  if (ksp->solve.again || ksp->solve.scalings == MOST_SCALINGS) return RANGE_ANY;
  if (ksp->norm == POISE_KSP_NORM_NONE) return RANGE_DOTS;
  if (ksp->options.guess_nonzero) return RANGE_NORM_AND_B;
  return ksp->mixed.active ? RANGE_SINGLE : RANGE_NORM;
}

bool poiseKSPOutOfRange(PoiseKSP ksp, const double *slots)
{
  ksp->solve.scaling = slots[SLOT_DONE] != 0 && slots[SLOT_REASON] == REASON_RANGE && !ksp->systems.n;
  return ksp->solve.scaling;
}

/* The largest entry of v or of M^-1 v, or a value between them, depending on the norm. NaN, infinite and 0
   say nothing. */
static PoiseErr Magnitude(PoiseKSP ksp, PoiseVec v, double *m)
{
  double applied, *p;
  TRY(PoiseVecNorm(v, POISE_NORM_INF, m));
  if (ksp->norm == POISE_KSP_NORM_UNPRECONDITIONED || ksp->type->squares || !(*m > 0) || !poiseFinite(*m))
    return POISE_OK;
  PoiseVec z = ksp->work[2];
  poiseKSPPrecondition(ksp, v, z, NULL);
  poiseKSPFailed(ksp, poiseVecUpdate(z, &p));
  TRY(PoiseAgree(ksp->ctx, ksp->solve.failed));
  TRY(PoiseVecNorm(z, POISE_NORM_INF, &applied));
  if (!(applied > 0) || !poiseFinite(applied)) return POISE_OK;
  *m = ksp->norm == POISE_KSP_NORM_PRECONDITIONED ? applied : sqrt(*m) * sqrt(applied);
  return POISE_OK;
}

/* Not where (b, M^-1 b) is 0 as M is indefinite. */
double poiseKSPTinyB(PoiseKSP ksp)
{
  return ksp->solve.size_b < poiseLeastNorm() ? ksp->solve.size_b : 0;
}

/* The magnitude of b. Or that of the first residual, if b = 0, or if its square would overflow. 0: the
   first norm was that of b, or b is 0. */
static PoiseErr MagnitudeOfProblem(PoiseKSP ksp, double *m)
{
  static const double apart = 0x1p400;
  const double *slots = ksp->loop.status[0];
  double of_b, of_r;
  TRY(Magnitude(ksp, ksp->solve.b, &of_b));
  *m = of_b;
  if (of_b > 0 && poiseFinite(of_b)) ksp->solve.size_b = of_b;
  if (!ksp->options.guess_nonzero || !poiseFinite(of_b)) return POISE_OK;
  if (poiseInRange(slots[SLOT_NORM0]) && !(of_b > 0 && of_b < poiseLeastNorm())) {
    *m = 0;
    return POISE_OK;
  }
  PoiseVec r = ksp->work[poiseKSPRowsVector(ksp)];
  poiseKSPResidual(ksp, ksp->solve.b, r);
  TRY(PoiseAgree(ksp->ctx, ksp->solve.failed));
  TRY(Magnitude(ksp, r, &of_r));
  if (!poiseFinite(of_r)) return POISE_OK;
  *m = ksp->solve.size_b > 0 ? fmax(of_b, of_r / apart) : of_r;
  return POISE_OK;
}

static PoiseErr ApplyHere(PoiseKSP ksp, PoiseVec x, int exponent)
{
  if (!ksp->rhs) TRY(poiseVecCreateLocal(ksp->rows, &ksp->rhs));
  if (ksp->solve.b != ksp->rhs) TRY(PoiseVecCopy(ksp->solve.b, ksp->rhs));
  ksp->solve.b = ksp->rhs;
  ksp->solve.scale = ldexp(ksp->solve.scale, exponent);
  if (ksp->solve.size_b > 0) ksp->solve.size_b = fmax(ldexp(ksp->solve.size_b, exponent), DBL_MIN);
  TRY(PoiseVecScale(ksp->solve.b, ldexp(1, exponent)));
  if (!ksp->options.guess_nonzero) return POISE_OK;
  TRY(PoiseVecCopy(x, ksp->work[0]));
  return PoiseVecScale(ksp->work[0], ksp->solve.scale);
}

static PoiseErr Apply(PoiseKSP ksp, PoiseVec x, int exponent)
{
  return PoiseAgree(ksp->ctx, ApplyHere(ksp, x, exponent));
}

PoiseErr poiseKSPRescale(PoiseKSP ksp, PoiseVec x)
{
  double m = 0;
  int exponent = 0;
  ksp->solve.finishing = true; /* so that nothing is skipped */
  PoiseErr e = MagnitudeOfProblem(ksp, &m);
  ksp->solve.finishing = false;
  TRY(e);
  if (m > 0 && poiseFinite(m)) (void)frexp(m, &exponent);
  int before = ilogb(ksp->solve.scale), now = before - exponent;
  now = now > MOST_EXPONENT ? MOST_EXPONENT : now < -MOST_EXPONENT ? -MOST_EXPONENT : now;
  ksp->solve.scalings = now != before ? ksp->solve.scalings + 1 : MOST_SCALINGS;
  return now != before ? Apply(ksp, x, now - before) : POISE_OK;
}

PoiseErr poiseKSPScaled(PoiseKSP ksp, PoiseVec x)
{
  double before, now;
  bool forbids = poiseDeviceForbid(ksp->ctx->device, false);
  PoiseErr e = PoiseVecNorm(ksp->work[0], POISE_NORM_INF, &before);
  if (!e) e = PoiseVecNorm(x, POISE_NORM_INF, &now);
  poiseDeviceForbid(ksp->ctx->device, forbids);
  TRY(e);
  ksp->solve.vanished = before > 0 && now < DBL_MIN;
  if (!ksp->solve.vanished) return POISE_OK;
  ksp->result.rnorm = ksp->result.slots[SLOT_NORM0] / ksp->solve.scale; /* of x = 0 */
  if (ksp->result.reason > 0) ksp->result.reason = POISE_DIVERGED_BREAKDOWN;
  return POISE_OK;
}

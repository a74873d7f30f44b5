/* SPDX-License-Identifier: BSD-3-Clause */
/* Products whose rows are scaled in the same pass, against the product and the scaling apart. */
#ifndef POISE_TEST_SCALED_H
#define POISE_TEST_SCALED_H

#include "mat/object/mat.h"
#include "sample.h"

enum { SCALED_DOTS = 3 };

/* A scale of either sign, with zeros. */
static inline double ScaledBy(PoiseInt i)
{
  return i % 7 == 3 ? 0 : 1.5 * TestRandom(5, (uint64_t)i);
}

/* The same with a NaN on each rank that has so many rows. */
static inline double ScaledByNaN(PoiseInt i)
{
  return i % 101 == 1 ? NAN : ScaledBy(i);
}

/* y and z have the same bits, or NaN both; repeats = false: but for rounding. */
static inline void ScaledSame(PoiseVec y, PoiseVec z, bool repeats)
{
  const double *p, *q;
  if (!CHECK_OK(PoiseVecGetRead(y, &p)) || !CHECK_OK(PoiseVecGetRead(z, &q))) return;
  int64_t wrong = 0;
  for (PoiseInt i = 0; i < PoiseVecLocalSize(y); i++)
    wrong += SampleBits(p[i]) != SampleBits(q[i]) && !(isnan(p[i]) && isnan(q[i])) &&
             (repeats || !(fabs(p[i] - q[i]) <= 1e-9));
  CHECK_INT(wrong, 0);
  CHECK_OK(PoiseVecRestore(y, &p));
  CHECK_OK(PoiseVecRestore(z, &q));
}

/* y = D (a A x + b y), and the dots of f, whose partials were NaN. */
static inline void ScaledMult(PoiseMat A, double a, PoiseVec x, double b, PoiseVec y, const double *skip,
                              PoiseVec d, const Fuse *f)
{
  PoiseContext ctx = PoiseMatContext(A);
  const double *scale = NULL;
  PoiseErr e = d ? poiseVecRead(d, &scale) : POISE_OK;
  const ScalarRef alpha = {NULL, a}, beta = {NULL, b};
  CHECK_OK(e);
  CHECK_OK(PoiseAgree(ctx, poiseMatMultFuse(A, alpha, x, beta, y, skip, scale, f)));
}

/* (u, y), (y, y) and (y, u y), of all ranks. */
static inline void ScaledDots(PoiseVec u, PoiseVec y, double dot[SCALED_DOTS])
{
  PoiseVec w;
  CHECK_OK(PoiseVecDot(u, y, &dot[0]));
  CHECK_OK(PoiseVecDot(y, y, &dot[1]));
  if (!CHECK_OK(PoiseVecDuplicate(y, &w))) return;
  CHECK_OK(PoiseVecPointwiseMult(w, u, y));
  CHECK_OK(PoiseVecDot(w, y, &dot[2]));
  CHECK_OK(PoiseVecDestroy(&w));
}

/* The dots of which the first `ndot` were made with y. */
static inline void ScaledCheckDots(int ndot, PoiseVec sums, PoiseVec u, PoiseVec y)
{
  PoiseContext ctx = PoiseVecContext(y);
  double got[SCALED_DOTS] = {0}, dot[SCALED_DOTS] = {0};
  PoiseInt n = PoiseVecLocalSize(sums) / SCALED_DOTS;
  const double *p;
  if (CHECK_OK(PoiseVecGetRead(sums, &p))) {
    for (PoiseInt k = 0; k < ndot * n; k++) got[k / n] += p[k];
    CHECK_OK(PoiseVecRestore(sums, &p));
  }
  CHECK_OK(PoiseSum(ctx, SCALED_DOTS, got));
  ScaledDots(u, y, dot);
  for (int k = 0; k < ndot; k++)
    CHECK((isnan(got[k]) && isnan(dot[k])) ||
          fabs(got[k] - dot[k]) <= 1e-12 * (dot[1] + (double)PoiseVecSize(y)));
}

/* Products of A with x, in all forms: with each number of dots, over NaN, added to y, with NaN in D, skipped
   and not. repeats: A's products have the same bits each time. y is overwritten. */
static inline void ScaledCheck(PoiseMat A, PoiseVec x, PoiseVec y, bool repeats)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseVec apart, d, u, flag, sums;
  CHECK_OK(PoiseAgree(ctx, poiseMatReady(A)));
  int64_t n = poiseMatPartials(A);
  if (!CHECK_OK(PoiseVecDuplicate(y, &apart)) || !CHECK_OK(PoiseVecDuplicate(y, &d)) ||
      !CHECK_OK(PoiseVecDuplicate(y, &u)) || !CHECK_OK(PoiseVecCreate(ctx, 1, POISE_DECIDE, &flag)) ||
      !CHECK_OK(PoiseVecCreate(ctx, SCALED_DOTS * n, POISE_DECIDE, &sums)))
    return;
  CHECK_OK(PoiseVecSet(flag, 1));
  SampleFill(u, 6);
  for (int ndot = 0; ndot <= SCALED_DOTS; ndot++) {
    bool adds = ndot % 2, skips = ndot == 2;
    double a = adds ? -2 : 1, b = adds ? 0.25 : 0, *partial = NULL;
    const double *skip = NULL;
    Fuse f = {.ndot = ndot};
    SampleSet(d, ndot == 3 ? ScaledByNaN : ScaledBy);
    SampleConstant(sums, NAN);
    CHECK_OK(poiseVecRead(u, &f.u[0]));
    CHECK_OK(poiseVecRead(u, &f.d[2]));
    CHECK_OK(poiseVecUpdate(sums, &partial));
    for (int k = 0; k < ndot; k++) f.partial[k] = partial ? partial + k * n : NULL;
    SampleFill(y, 7);
    if (skips) {
      uint64_t bits = SampleDigest(y);
      CHECK_OK(poiseVecRead(flag, &skip));
      ScaledMult(A, a, x, b, y, skip, d, &f);
      CHECK(SampleDigest(y) == bits);
      CHECK_OK(PoiseVecSet(flag, 0));
      CHECK_OK(poiseVecRead(flag, &skip));
    }
    if (!adds) SampleConstant(y, NAN); /* is not looked at */
    CHECK_OK(PoiseVecCopy(y, apart));
    ScaledMult(A, a, x, b, y, skip, d, &f);
    ScaledMult(A, a, x, b, apart, NULL, NULL, NULL);
    CHECK_OK(PoiseVecPointwiseMult(apart, apart, d));
    ScaledSame(y, apart, repeats);
    ScaledCheckDots(ndot, sums, u, y);
  }
  PoiseVecDestroy(&apart);
  PoiseVecDestroy(&d);
  PoiseVecDestroy(&u);
  PoiseVecDestroy(&flag);
  PoiseVecDestroy(&sums);
}

#endif

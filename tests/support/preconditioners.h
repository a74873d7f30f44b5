/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners: made from options, compared with a reference, with dots, and without memory. */
#ifndef POISE_TEST_PRECONDITIONERS_H
#define POISE_TEST_PRECONDITIONERS_H

#include "pc/pc.h"
#include "sample.h"

/* options: "-x_pc_factor_..." for prefix x_, or NULL */
static inline PoisePC Make(PoiseContext ctx, const char *type, PoiseMat P, const char *options)
{
  PoisePC pc;
  if (!CHECK_OK(PoisePCCreate(ctx, &pc))) return NULL;
  CHECK_OK(PoisePCSetType(pc, type));
  CHECK_OK(PoisePCSetOperator(pc, P));
  if (!options) return pc;
  SetOptions(ctx, options);
  CHECK_OK(PoisePCSetOptionsPrefix(pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(pc));
  return pc;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Largest |z - x| relative to the largest |x|: z = M^-1 r where z held NaN; x is what `solve` makes of r. */
static inline double Difference(PoisePC pc, void (*solve)(const void *factors, long double *x),
                                const void *factors)
{
  PoiseVec r = NULL, z = NULL;
  const double *b, *y;
  double worst = 0, scale = 1;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return INFINITY;
  PoiseInt n = PoiseVecLocalSize(z);
  long double *x = malloc((size_t)(n + 1) * sizeof *x);
  SampleFill(r, 5);
  SampleConstant(z, NAN);
  if (!CHECK_OK(PoisePCApply(pc, r, z))) worst = INFINITY;
  CHECK_OK(PoiseVecGetRead(r, &b));
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt i = 0; i < n; i++) x[i] = b[i];
  solve(factors, x);
  for (PoiseInt i = 0; i < n; i++) scale = poiseLarger(scale, fabs((double)x[i]));
  for (PoiseInt i = 0; i < n; i++) worst = poiseLarger(worst, fabs((double)(x[i] - y[i])) / scale);
  PoiseVecRestore(r, &b);
  PoiseVecRestore(z, &y);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  free(x);
  return worst;
}

/* M is symmetric, (u, M v) = (v, M u) but for the rounding of the sums, and positive for v. */
static inline void CheckSymmetric(PoisePC pc)
{
  PoiseVec u, v, w;
  double uMv, vMu, vMv, nu, nw;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &u, &v)) || !CHECK_OK(PoiseVecDuplicate(u, &w))) return;
  SampleFill(u, 1);
  SampleFill(v, 2);
  CHECK_OK(PoisePCApply(pc, v, w));
  CHECK_OK(PoiseVecDot(u, w, &uMv));
  CHECK_OK(PoiseVecDot(v, w, &vMv));
  CHECK_OK(PoiseVecNorm(u, POISE_NORM_2, &nu));
  CHECK_OK(PoiseVecNorm(w, POISE_NORM_2, &nw));
  CHECK_OK(PoisePCApply(pc, u, w));
  CHECK_OK(PoiseVecDot(v, w, &vMu));
  CHECK(fabs(uMv - vMu) <= 1e-15 * nu * nw);
  CHECK(vMv > 0);
  PoiseVecDestroy(&u);
  PoiseVecDestroy(&v);
  PoiseVecDestroy(&w);
}

/* The bits of z, which held NaN, from apply(pc, r, z). */
static inline uint64_t ApplyBy(PoisePC pc, PoiseErr (*apply)(PoisePC, PoiseVec, PoiseVec))
{
  PoiseVec r, z;
  uint64_t digest = 0;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return 0;
  SampleFill(r, 4);
  SampleConstant(z, NAN);
  if (CHECK_OK(apply(pc, r, z))) digest = SampleDigest(z);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  return digest;
}

static inline uint64_t Apply(PoisePC pc)
{
  return ApplyBy(pc, PoisePCApply);
}

/* By a preconditioner that is made for it. */
static inline uint64_t Applied(PoiseMat A, const char *type, const char *options)
{
  PoisePC pc = Make(PoiseMatContext(A), type, A, options);
  uint64_t digest = Apply(pc);
  PoisePCDestroy(&pc);
  return digest;
}

/* Do the partials hold the dots of z with u and with itself? */
static inline void CheckDots(const Fuse *f, PoiseVec u, PoiseVec z, const double *partial)
{
  const double *x, *y;
  CHECK_OK(PoiseVecGetRead(u, &x));
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt b = 0; b < POISE_NBLOCKS(PoiseVecLocalSize(z)); b++)
    for (int k = 0; k < f->ndot; k++) {
      double sum = 0, scale = 0;
      for (PoiseInt i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < PoiseVecLocalSize(z); i++) {
        sum += (k ? y[i] : x[i]) * y[i];
        scale += fabs((k ? y[i] : x[i]) * y[i]);
      }
      CHECK_NEAR(partial[k * POISE_NBLOCKS(PoiseVecLocalSize(z)) + b], sum, 1e-13 * scale);
    }
  PoiseVecRestore(u, &x);
  PoiseVecRestore(z, &y);
}

/* z = M^-1 r with the dots of z; then, if that works on a device, skipped: z and the dots stay. */
static inline void CheckFusedApply(PoisePC pc, bool skips)
{
  PoiseContext ctx = pc->ctx;
  PoiseVec r, z, u;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(r, &u))) return;
  int64_t nblock = POISE_NBLOCKS(PoiseVecLocalSize(z));
  Buffer partial, skip;
  Fuse f = {.ndot = 2};
  double *p;
  const double *word;
  SampleFill(r, 1);
  SampleFill(u, 2);
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)(2 * nblock) * sizeof(double), "dots", &partial));
  CHECK_OK(poiseBufferCreate(ctx->device, sizeof(double), "skip", &skip));
  for (int skipped = 0; skipped < 1 + skips; skipped++) {
    CHECK_OK(poiseBufferWrite(&skip, HOST, &p));
    *p = skipped;
    CHECK_OK(poiseBufferRead(&skip, DEVICE, &word));
    CHECK_OK(poiseBufferUpdate(&partial, DEVICE, &p));
    f.partial[0] = p, f.partial[1] = p + nblock;
    CHECK_OK(poiseVecRead(u, &f.u[0]));
    if (skipped) SampleFill(r, 77);
    uint64_t before = skipped ? SampleDigest(z) : 0;
    CHECK_OK(poisePCApplyFuse(pc, r, z, word, &f));
    if (skipped) CHECK(SampleDigest(z) == before);
    CHECK_OK(poiseBufferRead(&partial, HOST, &word));
    CheckDots(&f, u, z, word);
  }
  poiseBufferDestroy(&partial);
  poiseBufferDestroy(&skip);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&u);
}

/* ---- without memory -------------------------------------------------------------------------- */

/* What a preconditioner is used with, and how: `use` sets it up by itself and applies it to r, as often as
   wanted. */
typedef struct Given {
  PoiseMat A;
  PoiseVec r, z;
} Given;
typedef PoiseErr UsePC(PoisePC pc, Given *g);

/* Is it as it should be? After a failure, or after a use. */
typedef void JudgePC(PoisePC pc, const Given *g, bool failed, const void *arg);

typedef struct UseOf {
  UsePC *use;
  Given *g;
} UseOf;

static inline PoiseErr CreateAndUse(PoiseContext ctx, void *arg)
{
  UseOf *u = arg;
  PoisePC pc;
  POISE_TRY(PoisePCCreate(ctx, &pc));
  PoiseErr e = u->use(pc, u->g);
  PoisePCDestroy(&pc);
  return e;
}

/* The last rank's n-th allocation fails. */
static inline void FailUse(PoiseContext ctx, int n, UsePC *use, PoisePC pc, Given *g)
{
  if (PoiseRank(ctx) == PoiseSize(ctx) - 1) poiseAllocFailAt(ctx, n);
  PoiseErr e = use(pc, g);
  CHECK(!e || e == POISE_ERR_MEMORY || e == POISE_ERR_REMOTE);
  poiseAllocFailAt(ctx, 0);
}

/* Each allocation fails once, with a preconditioner of its own. Then the n-th one fails, n = 1, 1 + step, ...
   below `most`: what is left is good for another attempt. */
static inline void CheckWithoutMemory(PoiseMat A, UsePC *use, int most, int step, JudgePC *judge,
                                      const void *arg)
{
  PoiseContext ctx = PoiseMatContext(A);
  Given g = {.A = A};
  if (!CHECK_OK(PoiseMatCreateVecs(A, &g.r, &g.z))) return;
  SampleFill(g.r, 4);
  TestAllocationFailures(ctx, CreateAndUse, &(UseOf){use, &g});
  for (int n = 1; n < most; n += step) {
    PoisePC pc = Make(ctx, "none", A, NULL);
    FailUse(ctx, n, use, pc, &g);
    judge(pc, &g, true, arg);
    CHECK_OK(use(pc, &g));
    judge(pc, &g, false, arg);
    PoisePCDestroy(&pc);
  }
  PoiseVecDestroy(&g.r);
  PoiseVecDestroy(&g.z);
}

/* Iterations of a solve by these options, of prefix s_, to 1e-10 of |b|, or tenfold. */
static inline PoiseInt IterationsBy(PoiseMat A, const char *options)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseKSP ksp;
  PoiseVec x, b;
  double norm = INFINITY, norm0 = 0;
  SetOptions(ctx, options);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return INT32_MAX;
  SampleFill(b, 9);
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "s_"));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK(PoiseKSPConvergedReason(ksp) > 0);
  CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &norm));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm0));
  CHECK(norm <= 1e-9 * norm0);
  PoiseInt its = PoiseKSPIterations(ksp);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  return its;
}

/* max |A z - r| where z = M^-1 r */
static inline double Residual(PoisePC pc, PoiseMat A)
{
  PoiseVec r, z, t;
  double norm = INFINITY;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(r, &t))) return norm;
  SampleFill(r, 4);
  SampleConstant(z, NAN);
  if (CHECK_OK(PoisePCApply(pc, r, z)) && CHECK_OK(PoiseMatResidual(A, r, z, t)))
    PoiseVecNorm(t, POISE_NORM_INF, &norm);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&t);
  return norm;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What every type of Mat, PC and KSP must do, for all types in the types.def files. So a new type is tested as
  soon as it is listed. Other suites check its results.
*/
#include "problem.h"
#include "scaled.h"
#include "ksp/methods.h"
#include "mat/mat_device.h"
#include "mat/object/mat_type.h"

enum { N = 90, B = 3 };

/* tridiag(-1, 4, -1) / 4, in which one row is longer; blocks of B on each rank. Symmetric and dominant: every
   method and preconditioner works, also Richardson's without one. */
static PoiseErr Matrix(PoiseContext ctx, int blocks, PoiseMat *A)
{
  PoiseInt begin, m, n = (PoiseInt)blocks * B, far = n / 2;
  PoiseSplit(ctx, blocks, &begin, &m);
  begin *= B, m *= B;
  POISE_TRY(PoiseMatCreate(ctx, m, m, n, n, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = begin; !e && i < begin + m; i++) { /* Assemble speaks of a failure, to all ranks */
    PoiseInt cols[] = {i - 1, i, i + 1 < n ? i + 1 : -1,
                       i == 0 && far > 1     ? far
                       : i == far && far > 1 ? 0
                                             : -1};
    e = PoiseMatAddBlock(*A, 1, &i, 4, cols, (double[]){-0.25, 1, -0.25, -0.125});
  }
  POISE_TRY(PoiseMatAssemble(*A));
  return PoiseMatSetBlockSize(*A, B);
}

static double Difference(PoiseVec x, double a, PoiseVec y) /* |x - a y| in the largest entry */
{
  PoiseVec t;
  double norm = NAN;
  if (!CHECK_OK(PoiseVecDuplicate(x, &t))) return NAN;
  CHECK_OK(PoiseVecWAXPY(t, -a, y, x));
  CHECK_OK(PoiseVecNorm(t, POISE_NORM_INF, &norm));
  PoiseVecDestroy(&t);
  return norm;
}

static double Largest(PoiseVec x)
{
  double norm = NAN;
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_INF, &norm));
  return norm;
}

/* Rank 0 writes, and names the type. */
#define CHECK_VIEW(ctx, call, name)                       \
  do {                                                    \
    char text_[4096];                                     \
    FILE *file_ = TestPrintBegin(ctx);                    \
    CHECK_OK(call);                                       \
    TestPrintEnd(ctx, file_, text_, sizeof text_);        \
    CHECK(PoiseRank(ctx) || strstr(text_, name) != NULL); \
  } while (0)

/* ---- Mat ------------------------------------------------------------------------------------- */

#define MAT_TYPE(name) #name,
static const char *const mats[] = {
#include "mat/types.def"
};
#undef MAT_TYPE
#define MAT_TYPE(name) &poiseMatType_##name,
static const MatType *const tables[] = {
#include "mat/types.def"
};
#undef MAT_TYPE
enum { MATS = sizeof mats / sizeof *mats };

/* The k-th way in which the device multiplies by a matrix of this type; NULL: there are no more. */
static const char *KernelOf(PoiseContext ctx, const char *type, int k)
{
  const char *const *libraries = poiseCsrLibraries(ctx->device);
  if (k == 0) return "own";
  return libraries && !strcmp(type, "csr") ? libraries[k - 1] : NULL;
}

/* What cuSPARSE cannot: offsets of 64 bits. */
static bool Refuses(PoiseMat A)
{
  bool refuses = A->product.options.library && A->csr.wide && !strcmp(A->ctx->device->ops->name, "cuda");
  PoiseVec x, y;
  if (!refuses || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return refuses;
  CHECK_ERR(PoiseMatMult(A, x, y), POISE_ERR_UNSUPPORTED, "64-bit offsets");
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return true;
}

typedef struct Way {
  const char *type, *kernel;
} Way;

static PoiseErr UseMat(PoiseContext ctx, void *arg)
{
  const Way *way = arg;
  PoiseMat A = NULL;
  PoiseVec x = NULL, y = NULL;
  PoiseErr e = Matrix(ctx, N / B, &A);
  if (!e) e = PoiseMatSetType(A, way->type);
  if (!e) e = PoiseMatSetCSRKernel(A, way->kernel);
  if (!e) e = PoiseMatCreateVecs(A, &x, &y);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e && A->type->mult_transpose) e = PoiseMatMultTranspose(A, x, y);
  if (!e && A->type->diagonal) e = PoiseMatGetDiagonal(A, y);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  return e;
}

static void CheckScaled(PoiseMat A, bool repeats)
{
  PoiseVec x, y;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseVecSetRandom(x, 3))) return;
  ScaledCheck(A, x, y, repeats);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
}

static void CheckMat(PoiseContext ctx, Way *way)
{
  PoiseMat A;
  if (!CHECK_OK(Matrix(ctx, N / B, &A)) || !CHECK_OK(PoiseMatSetType(A, way->type)) ||
      !CHECK_OK(PoiseMatSetCSRKernel(A, way->kernel)))
    return;
  if (Refuses(A)) {
    PoiseMatDestroy(&A);
    return;
  }
  for (int k = 0; k < 2; k++) { /* new values are seen */
    PoiseMat C;
    if (!CHECK_OK(PoiseMatDuplicate(A, 1, &C)) || !CHECK_OK(PoiseMatSetCSRKernel(C, "own")) ||
        !CHECK_OK(PoiseMatSetType(C, "csr")))
      return;
    SampleSameProducts(A, C, true, 1e-14);
    PoiseMatDestroy(&C);
    CHECK_OK(PoiseMatScale(A, 2));
  }
  CheckScaled(A, !strcmp(way->kernel, "own"));
  CHECK_VIEW(ctx, PoiseMatView(A), way->type);
  const char *kernel = strcmp(way->kernel, "own") ? way->kernel : "A x by"; /* the view tells how */
  if (!strcmp(way->type, "csr")) CHECK_VIEW(ctx, PoiseMatView(A), kernel);
  PoiseMatDestroy(&A);
  if (CHECK_OK(Matrix(ctx, 0, &A))) {
    PoiseVec x, y;
    CHECK_OK(PoiseMatSetType(A, way->type));
    CHECK_OK(PoiseMatSetCSRKernel(A, way->kernel));
    if (CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) CHECK_OK(PoiseMatMult(A, x, y));
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
  }
  PoiseMatDestroy(&A);
  TestAllocationFailures(ctx, UseMat, way);
}

static void TestMats(PoiseContext ctx)
{
  for (int k = 0; k < MATS; k++)
    for (int l = 0; poiseTypeHolds(tables[k]) && KernelOf(ctx, mats[k], l); l++) /* the others: test_pcsc.c */
      CheckMat(ctx, &(Way){mats[k], KernelOf(ctx, mats[k], l)});
}

/* Of a user's function too, whose product is scaled in a pass behind it. */
static void TestScaledShell(PoiseContext ctx)
{
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &(PoiseShell){.mult = SampleTwice},
                                    NULL, &A)))
    return;
  CheckScaled(A, true);
  PoiseMatDestroy(&A);
}

/* ---- products by libraries ------------------------------------------------------------------- */

/* Is A x, by the kernel of A's choice, that of the device's own? */
static void CheckSame(PoiseMat A)
{
  PoiseVec x, y, z;
  char kernel[64];
  snprintf(kernel, sizeof kernel, "%s", PoiseMatCSRKernel(A));
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) || !CHECK_OK(PoiseVecDuplicate(y, &z))) return;
  CHECK_OK(PoiseVecSetRandom(x, 5));
  CHECK_OK(PoiseVecSet(y, NAN));
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseMatSetCSRKernel(A, "own"));
  CHECK_OK(PoiseMatMult(A, x, z));
  CHECK(Difference(y, 1, z) <= 1e-14 * (1 + Largest(z)));
  CHECK_OK(PoiseMatSetCSRKernel(A, kernel));
  CHECK(!strcmp(PoiseMatCSRKernel(A), kernel));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
}

/* What a matrix says that it holds is what it has taken; without the library it is gone. */
static void CheckHeld(PoiseMat A, PoiseVec x, PoiseVec y, const char *library)
{
  PoiseBytes before, with, without;
  Device *dev = PoiseMatContext(A)->device;
  CHECK_OK(PoiseMatSetCSRKernel(A, "own"));
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseMatBytes(A, &before, NULL));
  int64_t device = dev->bytes;
  CHECK_OK(PoiseMatSetCSRKernel(A, library));
  CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseMatBytes(A, &with, NULL));
  CHECK_INT(with.device - before.device, dev->bytes - device);
  CHECK_OK(PoiseMatSetCSRKernel(A, "own"));
  CHECK_OK(PoiseMatBytes(A, &without, NULL));
  CHECK_INT(without.device - before.device, dev->bytes - device);
  CHECK(without.device < with.device || !A->csr.nz);
  CHECK_OK(PoiseMatSetCSRKernel(A, library));
}

static void CheckLibrary(PoiseContext ctx, const char *library)
{
  PoiseMat A, C;
  PoiseVec x, y, z;
  PoiseInt begin, end;
  bool repeats = strcmp(library, "cusparse") != 0; /* of which its makers do not say so */
  if (!CHECK_OK(Matrix(ctx, N / B, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)) ||
      !CHECK_OK(PoiseVecDuplicate(y, &z)))
    return;
  CHECK_OK(PoiseMatSetCSRKernel(A, library));
  if (!Refuses(A)) {
    CheckSame(A);
    CheckHeld(A, x, y, library);
    CHECK_OK(PoiseVecSetRandom(x, 6));
    CHECK_OK(PoiseMatMult(A, x, y));
    for (int k = 0; repeats && k < 20; k++) {
      CHECK_OK(PoiseMatMult(A, x, z));
      CHECK(Difference(z, 1, y) == 0);
    }
    CHECK_OK(PoiseMatShift(A, 0.5)); /* new values */
    CheckSame(A);
    CHECK_OK(PoiseMatMult(A, x, y)); /* what it is prepared for ends here: */
    PoiseVecRange(x, &begin, &end);
    for (PoiseInt i = begin; i < end; i++) /* a new pattern */
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &(PoiseInt){(7 * i + 3) % N}, &(double){0.125}));
    CHECK_OK(PoiseMatAssemble(A));
    CheckSame(A);
    CHECK_OK(PoiseMatSetType(A, "csr"));
    if (CHECK_OK(PoiseMatDuplicate(A, 1, &C))) {
      CHECK(!strcmp(PoiseMatCSRKernel(C), library));
      CheckSame(C);
    }
    PoiseMatDestroy(&C);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  PoiseMatDestroy(&A);
}

static void TestLibraries(PoiseContext ctx)
{
  PoiseMat A;
  bool cuda = !strcmp(ctx->device->ops->name, "cuda");
  char words[80];
  for (int l = 1; KernelOf(ctx, "csr", l); l++) CheckLibrary(ctx, KernelOf(ctx, "csr", l));
  if (!CHECK_OK(Matrix(ctx, N / B, &A))) return;
  snprintf(words, sizeof words, "device %s has no kernel 'nothing' for products of csr; it has: own",
           ctx->device->ops->name);
  CHECK_ERR(PoiseMatSetCSRKernel(A, "nothing"), POISE_ERR_UNSUPPORTED, words);
  CHECK_OK(PoiseMatSetOptionsPrefix(A, "l_"));
  SetOptions(ctx, "-l_mat_csr_kernel cusparse_alg2");
  if (cuda)
    CHECK_OK(PoiseMatSetFromOptions(A));
  else
    CHECK_ERR(PoiseMatSetFromOptions(A), POISE_ERR_UNSUPPORTED, "has no kernel 'cusparse_alg2'");
  CHECK(!strcmp(PoiseMatCSRKernel(A), cuda ? "cusparse_alg2" : "own"));
  PoiseMatDestroy(&A);
}

/* ---- PC -------------------------------------------------------------------------------------- */

#define PC_TYPE(name) #name,
static const char *const pcs[] = {
#include "pc/types.def"
};
#undef PC_TYPE
enum { PCS = sizeof pcs / sizeof *pcs };

/* shell: cannot be without a user's function */
static bool Listed(const char *name)
{
  return strcmp(name, "shell") != 0;
}

static PoiseErr UsePC(PoiseContext ctx, void *arg)
{
  PoiseMat A = NULL;
  PoisePC pc = NULL;
  PoiseVec r = NULL, z = NULL;
  PoiseErr e = Matrix(ctx, N / B, &A);
  if (!e) e = PoisePCCreate(ctx, &pc);
  if (!e) e = PoisePCSetType(pc, arg);
  if (!e) e = PoisePCSetOperator(pc, A);
  if (!e) e = PoisePCSetUp(pc);
  if (!e) e = PoiseMatCreateVecs(A, &z, &r);
  if (!e) e = PoiseAgree(ctx, PoiseVecSet(r, 1));
  if (!e) e = PoisePCApply(pc, r, z);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  return e;
}

static void CheckPC(PoisePC pc, PoiseMat A, const char *name)
{
  PoiseVec r, z, kept, again;
  PoiseContext ctx = PoiseMatContext(A);
  if (!CHECK_OK(PoisePCSetType(pc, name)) || !CHECK_OK(PoisePCSetOperator(pc, A)) ||
      !CHECK_OK(PoisePCSetUp(pc)))
    return;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &z, &r)) || !CHECK_OK(PoiseVecDuplicate(z, &again)) ||
      !CHECK_OK(PoiseVecDuplicate(r, &kept)))
    return;
  CHECK_OK(PoiseVecSetRandom(r, 11));
  CHECK_OK(PoiseVecCopy(r, kept));
  CHECK_OK(PoiseVecSet(z, NAN));
  CHECK_OK(PoisePCApply(pc, r, z)); /* whatever z held */
  CHECK_OK(PoiseVecSet(again, NAN));
  int64_t calls = ctx->memory.calls;
  CHECK_OK(PoisePCApply(pc, r, again));
  CHECK_INT(ctx->memory.calls, calls); /* allocates nothing */
  CHECK(Difference(z, 1, again) == 0); /* repeats */
  CHECK(Difference(r, 1, kept) == 0);  /* r is only read */
  CHECK(Largest(z) > 0.1 && Largest(z) < 10);
  CHECK_OK(PoiseVecScale(r, 4));
  CHECK_OK(PoisePCApply(pc, r, again));
  CHECK(Difference(again, 4, z) == 0); /* a power of 2 changes no rounding */
  CHECK_OK(PoiseVecSet(r, 0));
  CHECK_OK(PoisePCApply(pc, r, again));
  CHECK(Largest(again) == 0);

  CHECK_OK(PoiseMatScale(A, 4)); /* new values of P */
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(PoisePCApply(pc, kept, again));
  CHECK_NEAR(Difference(again, strcmp(name, "none") ? 0.25 : 1, z), 0, 1e-12);
  CHECK_OK(PoiseMatScale(A, 0.25));
  CHECK_VIEW(ctx, PoisePCView(pc), name);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&kept);
  PoiseVecDestroy(&again);
}

static void TestPCs(PoiseContext ctx)
{
  PoiseMat A, empty;
  PoisePC pc;
  if (!CHECK_OK(Matrix(ctx, N / B, &A)) || !CHECK_OK(Matrix(ctx, 0, &empty)) ||
      !CHECK_OK(PoisePCCreate(ctx, &pc)))
    return;
  for (int k = 0; k < PCS; k++) {
    if (!Listed(pcs[k])) continue;
    CheckPC(pc, A, pcs[k]);
    PoiseVec r, z;
    CHECK_OK(PoisePCSetOperator(pc, empty));
    CHECK_OK(PoisePCSetUp(pc));
    if (CHECK_OK(PoiseMatCreateVecs(empty, &z, &r))) CHECK_OK(PoisePCApply(pc, r, z));
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
  }
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&empty);
  for (int k = 0; k < PCS; k++)
    if (Listed(pcs[k])) TestAllocationFailures(ctx, UsePC, (void *)pcs[k]);
}

/* ---- KSP ------------------------------------------------------------------------------------- */

#define KSP_TYPE(name) #name,
static const char *const ksps[] = {
#include "ksp/types.def"
};
#undef KSP_TYPE
enum { KSPS = sizeof ksps / sizeof *ksps };

static PoiseErr Open(PoiseContext ctx, const char *type, int blocks, Problem *s)
{
  *s = (Problem){0};
  POISE_TRY(Matrix(ctx, blocks, &s->A));
  POISE_TRY(PoiseMatCreateVecs(s->A, &s->x, &s->b));
  POISE_TRY(PoiseAgree(ctx, PoiseVecSetRandom(s->b, 2)));
  POISE_TRY(PoiseKSPCreate(ctx, &s->ksp));
  POISE_TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  POISE_TRY(PoiseKSPSetType(s->ksp, type));
  POISE_TRY(PoiseKSPKeepHistory(s->ksp, 1));
  return PoiseKSPSetTolerances(s->ksp, 1e-8, -1, -1, 200);
}

static PoiseErr UseKSP(PoiseContext ctx, void *arg)
{
  Problem s;
  PoiseErr e = Open(ctx, arg, N / B, &s);
  if (!e) e = PoiseKSPSolve(s.ksp, s.b, s.x);
  ProblemClose(&s);
  return e;
}

static PoiseKSPReason SolveNow(Problem *s)
{
  CHECK_OK(PoiseVecSet(s->x, NAN)); /* a zero guess: x is not read */
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
  return PoiseKSPConvergedReason(s->ksp);
}

static void CheckKSP(PoiseContext ctx, Problem *s)
{
  PoiseVec x, b;
  const double *norm;
  double residual, size;
  PoiseInt count;
  bool direct = !strcmp(PoiseKSPType(s->ksp), "preonly"); /* converges to M^-1 b and has no norm */
  if (!CHECK_OK(PoiseVecDuplicate(s->x, &x)) || !CHECK_OK(PoiseVecDuplicate(s->b, &b))) return;
  CHECK_OK(PoiseVecCopy(s->b, b));

  CHECK_INT(SolveNow(s), direct ? POISE_CONVERGED_ITS : POISE_CONVERGED_RTOL);
  PoiseInt its = PoiseKSPIterations(s->ksp);
  CHECK_OK(PoiseVecCopy(s->x, x));
  CHECK(Difference(s->b, 1, b) == 0);
  if (!direct && CHECK_OK(PoiseKSPTrueResidual(s->ksp, s->b, s->x, &residual)) &&
      CHECK_OK(PoiseVecNorm(s->b, POISE_NORM_2, &size))) {
    CHECK(residual < 1e-7 * size);
    if (CHECK_OK(PoiseKSPHistory(s->ksp, &count, &norm)) && CHECK_INT(count, its + 1)) {
      CHECK(norm[its] == PoiseKSPResidualNorm(s->ksp));
      CHECK(norm[its] <= 1e-8 * norm[0] && norm[its - 1] > 1e-8 * norm[0]);
    }
  }

  int64_t calls = ctx->memory.calls;
  SolveNow(s); /* the same again, without an allocation */
  CHECK_INT(ctx->memory.calls, calls);
  CHECK_INT(PoiseKSPIterations(s->ksp), its);
  CHECK(Difference(s->x, 1, x) == 0);
  s->ksp->options.replay = 0; /* and without a captured loop */
  SolveNow(s);
  s->ksp->options.replay = 8;
  CHECK_INT(PoiseKSPIterations(s->ksp), its);
  CHECK(Difference(s->x, 1, x) == 0);

  CHECK_OK(PoiseVecSet(s->b, 0));
  CHECK(SolveNow(s) > 0);
  CHECK(Largest(s->x) == 0);
  CHECK_OK(PoiseVecSet(s->b, NAN));
  if (!direct) CHECK_INT(SolveNow(s), POISE_DIVERGED_NANORINF);
  CHECK_OK(PoiseVecCopy(b, s->b));
  CHECK_INT(SolveNow(s), direct ? POISE_CONVERGED_ITS : POISE_CONVERGED_RTOL); /* as if nothing had been */
  CHECK(Difference(s->x, 1, x) == 0);

  CHECK_OK(PoiseKSPSetNormType(s->ksp, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPSetTolerances(s->ksp, -1, -1, -1, 3));
  CHECK_INT(SolveNow(s), POISE_CONVERGED_ITS);
  CHECK_INT(PoiseKSPIterations(s->ksp), direct ? 1 : 3);
  CHECK_OK(PoiseKSPSetNormType(s->ksp, POISE_KSP_NORM_DEFAULT));
  CHECK_OK(PoiseKSPSetTolerances(s->ksp, -1, -1, -1, 200));
  CHECK_VIEW(ctx, PoiseKSPView(s->ksp), PoiseKSPType(s->ksp));
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
}

/* A method may refuse a preconditioner, but none. */
static bool Takes(Problem *s, const char *pc_type)
{
  PoisePC pc;
  CHECK_OK(PoiseKSPGetPC(s->ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, pc_type));
  PoiseErr e = PoiseKSPSetUp(s->ksp);
  return e == POISE_OK || !CHECK(e == POISE_ERR_UNSUPPORTED && strcmp(pc_type, "none"));
}

/* May the method lack a kernel, as it multiplies with A^T, and the device does not? */
static bool LacksTransposed(PoiseContext ctx, const char *type)
{
  Problem s;
  bool lacks = false;
  if (!CHECK_OK(Open(ctx, type, N / B, &s))) return true;
  if (s.ksp->type->transposes) {
    PoiseErr e = PoiseMatMultTranspose(s.A, s.b, s.x);
    lacks = e == POISE_ERR_UNSUPPORTED || e == POISE_ERR_REMOTE;
    CHECK(!e || lacks);
    PoiseErrorClear();
  }
  ProblemClose(&s);
  return lacks;
}

static void TestKSPs(PoiseContext ctx)
{
  static const char *const with[] = {"none", "jacobi", "icc"};
  for (int k = 0; k < KSPS; k++) {
    Problem s;
    if (LacksTransposed(ctx, ksps[k])) continue;
    if (CHECK_OK(Open(ctx, ksps[k], N / B, &s)))
      for (int j = 0; j < 3; j++)
        if (Takes(&s, with[j])) CheckKSP(ctx, &s);
    ProblemClose(&s);
    if (CHECK_OK(Open(ctx, ksps[k], 0, &s))) CHECK(SolveNow(&s) > 0);
    ProblemClose(&s);
    TestAllocationFailures(ctx, UseKSP, (void *)ksps[k]);
  }
}

/* The same solve by another kernel: norms to rounding, and iterations. */
static void CheckSolve(PoiseContext ctx, const char *ksp, const char *pc, const char *library, bool moves)
{
  Problem s, own;
  PoisePC p;
  PoiseMat P;
  const double *a, *b;
  PoiseInt n, m;
  bool repeats = strcmp(library, "cusparse") != 0, alone = PoiseSize(ctx) == 1,
       multiplies = !strcmp(pc, "sor"), estimates = !strcmp(ksp, "chebyshev"); /* with the first kernel */
  if (!CHECK_OK(Open(ctx, ksp, N / B, &s)) || !CHECK_OK(Open(ctx, ksp, N / B, &own))) return;
  CHECK_OK(PoiseMatSetCSRKernel(s.A, library));
  for (Problem *t = &s;; t = &own) {
    CHECK_OK(PoiseKSPGetPC(t->ksp, &p));
    CHECK_OK(PoisePCSetOptionsPrefix(p, "m_"));
    CHECK_OK(PoisePCSetType(p, pc));
    CHECK_OK(PoisePCSetFromOptions(p));
    if (multiplies && CHECK_OK(PoiseMatDuplicate(t->A, 1, &P))) { /* by a matrix of its own */
      CHECK_OK(PoiseKSPSetOperators(t->ksp, t->A, P));
      PoiseMatDestroy(&P);
    }
    if (moves) CHECK_OK(PoiseMatSetOrder(t->A, POISE_ORDER_RCM));
    if (t == &own) break;
  }
  if (s.A->csr.wide && !strcmp(ctx->device->ops->name, "cuda")) {
    CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "64-bit offsets");
  } else {
    ctx->device->forbid_copies = alone;
    CHECK(SolveNow(&s) == SolveNow(&own));
    ctx->device->forbid_copies = false;
    CHECK_INT(PoiseKSPIterations(s.ksp), PoiseKSPIterations(own.ksp));
    CHECK(!strcmp(PoiseMatCSRKernel(s.ksp->A), library) && (s.ksp->A != s.A) == (moves && alone));
    CHECK(Difference(s.x, 1, own.x) <= 1e-10);
    if (CHECK_OK(PoiseKSPHistory(s.ksp, &n, &a)) && CHECK_OK(PoiseKSPHistory(own.ksp, &m, &b)) &&
        CHECK_INT(n, m))
      for (PoiseInt k = 0; k < n; k++) CHECK_NEAR(a[k], b[k], 1e-11 * b[0]);
    if (repeats && !moves) CheckKSP(ctx, &s);
    CHECK_OK(PoiseMatScale(s.A, 2)); /* what is captured sees it */
    CHECK_OK(PoiseMatScale(own.A, 2));
    CHECK(SolveNow(&s) == SolveNow(&own));
    CHECK(Difference(s.x, 1, own.x) <= 1e-10);
    CHECK_OK(PoiseMatSetCSRKernel(s.A, "own")); /* and this */
    SolveNow(&s);
    CHECK(Difference(s.x, 1, own.x) <= (multiplies || estimates ? 1e-10 : 0));
  }
  ProblemClose(&s);
  ProblemClose(&own);
}

static void TestLibrarySolves(PoiseContext ctx)
{
  if (!poiseCsrLibraries(ctx->device)) TEST_SKIP("this device has no libraries");
  SetOptions(ctx, "-m_pc_sor_its 2");
  for (int l = 1; KernelOf(ctx, "csr", l); l++) {
    const char *library = KernelOf(ctx, "csr", l);
    for (int k = 0; k < KSPS; k++)
      if (strcmp(ksps[k], "preonly")) CheckSolve(ctx, ksps[k], k % 2 ? "jacobi" : "none", library, false);
    CheckSolve(ctx, "gmres", "sor", library, false);
    CheckSolve(ctx, "cg", "jacobi", library, true);
  }
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"mat", TestMats, 0},
                               {"scaled_shell", TestScaledShell, 0},
                               {"libraries", TestLibraries, 0},
                               {"pc", TestPCs, 0},
                               {"ksp", TestKSPs, 0},
                               {"library_solves", TestLibrarySolves, 0},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "types", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers inside preconditioners, and preconditioners of the user's. */
#include "api.h"

enum { N = 36 };

typedef struct Outer {
  Dense D;
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  PoisePC pc;
  double rhs[N];
} Outer;

static Outer Begin(PoiseContext ctx, const char *text)
{
  Outer s = {.D = System(CONVECTION, N)};
  double exact[N];
  s.A = MatOf(ctx, &s.D, 1, 0);
  for (int i = 0; i < N; i++) exact[i] = Random(210, (uint64_t)i);
  DenseMult(&s.D, exact, s.rhs);
  CHECK_OK(PoiseMatCreateVecs(s.A, &s.x, &s.b));
  VecFill(s.b, s.rhs);
  CHECK_OK(PoiseKSPCreate(ctx, &s.ksp));
  CHECK_OK(PoiseKSPSetOptionsPrefix(s.ksp, "o_"));
  CHECK_OK(PoiseOptionsSetString(ctx, text));
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_OK(PoiseKSPSetFromOptions(s.ksp));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, -1, -1, 500));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &s.pc));
  return s;
}

static void End(Outer *s)
{
  CHECK_OK(PoiseKSPDestroy(&s->ksp));
  CHECK_OK(PoiseVecDestroy(&s->b));
  CHECK_OK(PoiseVecDestroy(&s->x));
  CHECK_OK(PoiseMatDestroy(&s->A));
  DenseFree(&s->D);
}

static void Solves(Outer *s)
{
  double x[N], r[N];
  if (!CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x))) return;
  CHECK(PoiseKSPConvergedReason(s->ksp) > 0);
  VecAll(s->x, x);
  DenseMult(&s->D, x, r);
  for (int i = 0; i < N; i++) r[i] -= s->rhs[i];
  CHECK_NEAR(Norm(N, r), 0, 1e-7 * Norm(N, s->rhs));
}

static void TestInner(PoiseContext ctx)
{
  static const char *const texts[] = {
      "-o_ksp_type fgmres -o_pc_type ksp -o_ksp_ksp_type gmres -o_ksp_pc_type jacobi -o_ksp_ksp_rtol 1e-2",
      "-o_ksp_type fgmres -o_pc_type ksp -o_ksp_ksp_type bicgstab -o_ksp_pc_type ilu",
      "-o_ksp_type gmres -o_pc_type ksp -o_ksp_ksp_type richardson -o_ksp_ksp_norm_type none "
      "-o_ksp_ksp_max_it 3 "
      "-o_ksp_pc_type sor",
      "-o_ksp_type bicgstab -o_pc_type ksp -o_ksp_ksp_type preonly -o_ksp_pc_type jacobi",
      "-o_ksp_type richardson -o_pc_type ksp -o_ksp_ksp_type gmres -o_ksp_ksp_rtol 1e-3 -o_ksp_pc_type none",
      "-o_ksp_type preonly -o_pc_type ksp -o_ksp_ksp_type gmres -o_ksp_ksp_rtol 1e-11 -o_ksp_pc_type bjacobi",
      "-o_ksp_type gmres -o_pc_type bjacobi -o_sub_pc_type lu -o_sub_ksp_type preonly",
      "-o_ksp_type fgmres -o_pc_type bjacobi -o_sub_pc_type jacobi -o_sub_ksp_type gmres -o_sub_ksp_rtol "
      "1e-3",
      "-o_ksp_type gmres -o_pc_type bjacobi -o_sub_pc_type jacobi -o_sub_ksp_type richardson "
      "-o_sub_ksp_norm_type none "
      "-o_sub_ksp_max_it 4",
      "-o_ksp_type fgmres -o_pc_type bjacobi -o_pc_bjacobi_local_blocks 3 -o_sub_pc_type sor -o_sub_ksp_type "
      "bcgs",
      "-o_ksp_type gmres -o_pc_type bjacobi -o_pc_bjacobi_blocks 12 -o_sub_pc_type ilu -o_sub_ksp_type "
      "preonly",
      "-o_ksp_type fgmres -o_pc_type ksp -o_ksp_ksp_type fgmres -o_ksp_pc_type bjacobi -o_ksp_sub_pc_type lu",
  };
  for (int k = 0; k < 12; k++) {
    static const char *const keys[] = {"o_pc_bjacobi_local_blocks", "o_pc_bjacobi_blocks"};
    ApiCase("%s", texts[k]);
    for (int j = 0; j < 2; j++) CHECK_OK(PoiseOptionsSet(ctx, keys[j], "0"));
    if (k == 11 || k == 6) {
      CHECK_OK(PoiseOptionsSet(ctx, "o_ksp_ksp_rtol", "1e-3"));
      CHECK_OK(PoiseOptionsSet(ctx, "o_ksp_ksp_norm_type", "default"));
    }
    if (k == 3 || k == 4 || k == 5)
      CHECK_OK(PoiseOptionsSetString(ctx, "-o_ksp_ksp_norm_type default -o_ksp_ksp_max_it 99"));
    if (k == 9 || k == 10)
      CHECK_OK(PoiseOptionsSetString(ctx, "-o_sub_ksp_norm_type default -o_sub_ksp_max_it 99"));
    Outer s = Begin(ctx, texts[k]);
    Solves(&s);
    Solves(&s);
    CHECK_OK(PoiseMatScale(s.A, 3)); /* new values reach what is inside */
    for (int i = 0; i < N * N; i++) s.D.a[i] *= 3;
    Solves(&s);
    if (k == 5) CHECK_INT(PoiseKSPIterations(s.ksp), 1);
    End(&s);
  }
}

/* What changes from one application to the next is refused where it would do harm. */
static void TestVarying(PoiseContext ctx)
{
  static const char *const outside[] = {"gmres", "cg", "bicgstab", "minres", "chebyshev"};
  CHECK_OK(PoiseOptionsSetString(
      ctx, "-o_ksp_ksp_norm_type default -o_ksp_ksp_max_it 99 -o_sub_ksp_norm_type default"));
  for (int k = 0; k < 5; k++) {
    ApiCase("%s", outside[k]);
    Outer s = Begin(ctx, "-o_pc_type ksp -o_ksp_ksp_type gmres -o_ksp_pc_type none");
    CHECK_OK(PoiseKSPSetType(s.ksp, outside[k]));
    CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_UNSUPPORTED, "gmres");
    CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "");
    CHECK_OK(PoiseKSPSetType(s.ksp, "fgmres"));
    Solves(&s);
    End(&s);
  }
}

/* ---- the user's own -------------------------------------------------------------------------- */

typedef struct Own {
  int setups, applications;
  PoiseVec d;
  PoiseErr fail;
} Own;

static PoiseErr SetUp(void *arg, PoiseMat P)
{
  Own *own = arg;
  own->setups++;
  POISE_TRY(PoiseMatGetDiagonal(P, own->d));
  return PoiseVecReciprocal(own->d);
}

static PoiseErr Apply(void *arg, PoiseVec r, PoiseVec z)
{
  Own *own = arg;
  own->applications++;
  if (own->fail && PoiseRank(PoiseVecContext(r)) == PoiseSize(PoiseVecContext(r)) - 1)
    POISE_FAIL(own->fail, "not in the mood");
  return PoiseVecPointwiseMult(z, own->d, r);
}

/* The same as jacobi, whose iterations it takes. */
static void TestShell(PoiseContext ctx)
{
  Outer s = Begin(ctx, "-o_ksp_type gmres -o_pc_type jacobi");
  Own own = {0};
  double x[N];
  Solves(&s);
  VecAll(s.x, x);
  PoiseInt its = PoiseKSPIterations(s.ksp);
  CHECK_OK(PoiseVecDuplicate(s.x, &own.d));
  CHECK_OK(PoisePCSetShell(s.pc, &(PoiseShellPC){Apply, SetUp}, &own));
  CHECK(!strcmp(PoisePCType(s.pc), "shell"));
  Solves(&s);
  VecIs(s.x, x, 1e-12);
  CHECK_INT(PoiseKSPIterations(s.ksp), its);
  CHECK_INT(own.setups, 1);
  CHECK(own.applications >= its);
  Solves(&s);
  CHECK_INT(own.setups, 1); /* nothing is new */
  CHECK_OK(PoiseMatScale(s.A, 2));
  for (int i = 0; i < N * N; i++) s.D.a[i] *= 2;
  Solves(&s);
  CHECK_INT(own.setups, 2);
  own.fail = POISE_ERR_USER;
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_USER, "mood");
  CHECK_ERR(PoisePCApply(s.pc, s.b, s.x), POISE_ERR_USER, "mood");
  own.fail = POISE_OK;
  Solves(&s);
  CHECK_OK(PoiseVecDestroy(&own.d));
  End(&s);
}

/* Solvers of a matrix that is a function: jacobi takes its diagonal. */
static PoiseErr Mult(void *arg, PoiseVec x, PoiseVec y)
{
  return PoiseMatMult(((Outer *)arg)->A, x, y);
}

static PoiseErr Diagonal(void *arg, PoiseVec d)
{
  return PoiseMatGetDiagonal(((Outer *)arg)->A, d);
}

static void TestShellMatrix(PoiseContext ctx)
{
  Outer s = Begin(ctx, "-o_ksp_type gmres -o_pc_type none");
  PoiseMat S = NULL;
  PoiseInt m;
  PoiseMatLocalSizes(s.A, &m, NULL);
  CHECK_OK(PoiseMatCreateShell(ctx, m, m, N, N, &(PoiseShell){Mult, NULL, Diagonal}, &s, &S));
  static const char *const pcs[] = {"none", "jacobi"};
  for (int k = 0; k < 2; k++) {
    CHECK_OK(PoisePCSetType(s.pc, pcs[k]));
    CHECK_OK(PoiseKSPSetOperators(s.ksp, S, NULL));
    Solves(&s);
  }
  CHECK_OK(PoisePCSetType(s.pc, "ilu")); /* of another matrix */
  CHECK_OK(PoiseKSPSetOperators(s.ksp, S, s.A));
  Solves(&s);
  CHECK_OK(PoiseKSPSetOperators(s.ksp, S, NULL));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "");
  CHECK_OK(PoiseKSPDestroy(&s.ksp));
  CHECK_OK(PoiseMatDestroy(&S));
  End(&s);
}

const Test nested_tests[] = {{"inner", TestInner},
                             {"varying", TestVarying},
                             {"shell", TestShell},
                             {"shell_matrix", TestShellMatrix},
                             {NULL, NULL}};

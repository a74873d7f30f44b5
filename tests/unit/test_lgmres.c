/* SPDX-License-Identifier: BSD-3-Clause */
/* Method lgmres beside gmres: what kept corrections gain, save and do not spoil. tests/api compares its
   iterates with the definition. */
#include "ksp/ksp.h"
#include "problem.h"

enum { ROWS = 12, SIDE = 24 };

static PoiseErr Take(PoiseContext ctx, const char *options, Problem *p)
{
  TRY(PoiseMatCreateVecs(p->A, &p->x, &p->b));
  TRY(PoiseOptionsSetString(ctx, options));
  TRY(PoiseKSPCreate(ctx, &p->ksp));
  TRY(PoiseKSPSetOperators(p->ksp, p->A, NULL));
  TRY(PoiseKSPKeepHistory(p->ksp, 1));
  return PoiseKSPSetFromOptions(p->ksp);
}

/* A Laplacian on a grid, whose b is random; undone by ProblemClose. */
static bool Open(PoiseContext ctx, const char *options, Problem *p)
{
  *p = (Problem){0};
  if (CHECK_OK(ScaledLaplacian(ctx, SIDE, SIDE, 1, &p->A)) && CHECK_OK(Take(ctx, options, p)) &&
      CHECK_OK(PoiseVecSetRandom(p->b, 5)))
    return true;
  ProblemClose(p);
  return false;
}

/* The history of a solve to rtol 1e-8, and x within that, though the norm may be another. */
static PoiseInt Solve(Problem *p, const double **norms)
{
  PoiseInt count = 0;
  double r = NAN, b = NAN;
  CHECK_OK(PoiseKSPSetTolerances(p->ksp, 1e-8, 0, -1, 5000));
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_INT(PoiseKSPConvergedReason(p->ksp), POISE_CONVERGED_RTOL);
  CHECK_OK(PoiseKSPHistory(p->ksp, &count, norms));
  CHECK_OK(PoiseKSPTrueResidual(p->ksp, p->b, p->x, &r));
  CHECK_OK(PoiseVecNorm(p->b, POISE_NORM_2, &b));
  CHECK(r <= 1e-7 * b);
  return count - 1;
}

/* A cycle of five. Before there is a correction lgmres is gmres, to the last bit. Two kept corrections then
   take less than four fifths of its iterations, as gmres(5) is slow here; none are gmres. */
static void TestBesideGMRES(PoiseContext ctx)
{
  static const char *const words[] = {"-ksp_pc_side left", "-ksp_pc_side right",
                                      "-ksp_pc_side right -ksp_gmres_basis fp32",
                                      "-ksp_pc_side left -ksp_gmres_cgs_refinement_type refine_always"};
  for (int k = 0; k < 4; k++) {
    Problem p;
    const double *h;
    double before[5001];
    if (!Open(ctx, "-ksp_type gmres -ksp_gmres_restart 5 -pc_type jacobi -ksp_gmres_basis fp64", &p)) return;
    CHECK_OK(PoiseOptionsSetString(ctx, words[k]));
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    PoiseInt its = Solve(&p, &h);
    memcpy(before, h, (size_t)(its + 1) * sizeof *h);
    CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_type lgmres"));
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    CHECK(Solve(&p, &h) < its - its / 5);
    for (int i = 0; i <= 5; i++) CHECK(h[i] == before[i]);
    CHECK(h[10] != before[10]); /* there the first one is used */
    CHECK_OK(PoiseKSPLGMRESSetAugDim(p.ksp, 0));
    PoiseInt same = Solve(&p, &h);
    for (int i = 0; i <= 20; i++) CHECK_NEAR(h[i], before[i], 1e-6 * before[i]);
    CHECK(same > its - its / 10 && same < its + its / 10);
    ProblemClose(&p);
    CHECK_OK(PoiseOptionsSetString(
        ctx, "-ksp_pc_side default -ksp_gmres_basis fp64 -ksp_gmres_cgs_refinement_type refine_never"));
  }
}

/* Kept corrections that would leave no vector of Krylov's space leave one. */
static void TestMost(PoiseContext ctx)
{
  Problem p;
  const double *h;
  double before[5001];
  if (!Open(ctx, "-ksp_type lgmres -pc_type jacobi -ksp_gmres_restart 4 -ksp_lgmres_augment 3", &p)) return;
  PoiseInt its = Solve(&p, &h);
  memcpy(before, h, (size_t)(its + 1) * sizeof *h);
  CHECK_OK(PoiseKSPLGMRESSetAugDim(p.ksp, 9999));
  CHECK_INT(Solve(&p, &h), its);
  for (PoiseInt i = 0; i <= its; i++) CHECK(h[i] == before[i]);
  CHECK_ERR(PoiseKSPLGMRESSetAugDim(p.ksp, 10000), POISE_ERR_ARG, "10000");
  CHECK_ERR(PoiseKSPLGMRESSetAugDim(p.ksp, -1), POISE_ERR_ARG, "-1");
  CHECK_OK(PoiseKSPGMRESSetRestart(p.ksp, 1)); /* none is kept */
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, -1, 9));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPIterations(p.ksp), 9);
  CHECK_OK(PoiseKSPSetType(p.ksp, "gmres"));
  CHECK_OK(PoiseKSPLGMRESSetAugDim(p.ksp, -1)); /* which is none of its settings */
  ProblemClose(&p);
}

typedef struct Counted {
  PoiseMat A;
  int products;
} Counted;

static PoiseErr Mult_Counted(void *arg, PoiseVec x, PoiseVec y)
{
  Counted *c = arg;
  c->products++;
  return PoiseMatMult(c->A, x, y);
}

/* A kept correction needs no product: none, one, two, two in cycles of five. */
static void TestProducts(PoiseContext ctx)
{
  Problem p;
  Counted c = {0};
  PoiseMat shell;
  PoiseInt n;
  int products[2];
  if (!Open(ctx, "-ksp_type gmres -pc_type none -ksp_gmres_restart 5 -ksp_lgmres_augment 2", &p)) return;
  c.A = p.A;
  PoiseMatLocalSizes(p.A, &n, NULL);
  CHECK_OK(PoiseMatCreateShell(ctx, n, n, POISE_DECIDE, POISE_DECIDE, &(PoiseShell){.mult = Mult_Counted}, &c,
                               &shell));
  CHECK_OK(PoiseKSPSetOperators(p.ksp, shell, NULL));
  for (int k = 0; k < 2; k++) {
    c.products = 0;
    CHECK_OK(PoiseOptionsSetString(ctx, k ? "-ksp_type lgmres" : "-ksp_type gmres"));
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, -1, 20));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPIterations(p.ksp), 20);
    products[k] = c.products;
  }
  CHECK_INT(products[0] - products[1], 5);
  PoiseMatDestroy(&shell);
  ProblemClose(&p);
}

/* The cyclic shift plus tiny I: cycles of three gain nothing that a double can tell. Corrections are 0, or
   too short for differences of residuals to tell their products: none is kept, and nothing breaks down. */
static void TestStagnation(PoiseContext ctx)
{
  static const double tiny[] = {0, 1e-200, 1e-30, 1e-18, 1e-12};
  for (size_t t = 0; t < sizeof tiny / sizeof *tiny; t++) {
    Problem p = {0};
    double b[ROWS] = {1}, r;
    CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, ROWS, ROWS, &p.A));
    for (PoiseInt i = 0; i < ROWS; i++)
      CHECK_OK(PoiseMatAddBlock(p.A, PoiseRank(ctx) == 0, &i, 2, (PoiseInt[]){i, (i + 1) % ROWS},
                                (double[]){tiny[t], 1}));
    if (CHECK_OK(PoiseMatAssemble(p.A)) &&
        CHECK_OK(Take(ctx, "-ksp_type lgmres -pc_type none -ksp_gmres_restart 3", &p))) {
      CHECK_OK(SampleToVec(b, p.b));
      CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-8, 0, -1, 40));
      CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
      CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
      CHECK_OK(PoiseKSPTrueResidual(p.ksp, p.b, p.x, &r));
      CHECK_NEAR(r, 1, 1e-10);
    }
    ProblemClose(&p);
  }
}

/* Replayed or one by one, the same bits; and a cycle that ends in each of its columns gives the x whose
   residual it tells. */
static void TestColumns(PoiseContext ctx)
{
  Problem p;
  double r, told[2];
  if (!Open(ctx, "-ksp_type lgmres -pc_type jacobi -ksp_pc_side right -ksp_gmres_restart 4", &p)) return;
  for (int its = 4; its < 14; its++)
    for (int replay = 0; replay < 2; replay++) {
      p.ksp->options.replay = replay ? 8 : 0;
      CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, -1, its));
      CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
      CHECK_INT(PoiseKSPIterations(p.ksp), its);
      told[replay] = PoiseKSPResidualNorm(p.ksp);
      CHECK_OK(PoiseKSPTrueResidual(p.ksp, p.b, p.x, &r));
      CHECK_NEAR(r, told[replay], 1e-12 * r);
      if (replay) CHECK(told[0] == told[1]);
    }
  p.ksp->options.replay = -1;
  ProblemClose(&p);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {
      {"beside gmres", TestBesideGMRES, 0}, {"most", TestMost, 0},       {"products", TestProducts, 0},
      {"stagnation", TestStagnation, 0},    {"columns", TestColumns, 0}, {NULL, NULL, 0},
  };
  return TestMain(argc, argv, "lgmres", tests);
}

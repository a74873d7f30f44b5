/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Symmetric relaxation in Eisenstat's form. Applied it is judged by sor, which has tests of its own; the
  matrix between its sweeps by what these and A make of a vector; solves by true residuals, and by the
  iterations that sor takes in the natural norm.
*/
#include "colour_order.h"
#include "ksp/between.h"
#include "problem.h"

static const double omegas[] = {1, 0.6, 1.7};

/* ---- M --------------------------------------------------------------------------------------- */

static PoisePC WithOmega(PoiseContext ctx, const char *type, PoiseMat A, double omega)
{
  char words[200];
  snprintf(words, sizeof words, "-x_pc_sor_order colours\n-x_pc_sor_omega %g\n-x_pc_eisenstat_omega %g",
           omega, omega);
  return Make(ctx, type, A, words);
}

/* |(2 - omega) M^-1 r - that of sor|, of the largest number of it. */
static double Distance(PoiseMat A, double omega)
{
  PoiseContext ctx = A->ctx;
  PoisePC mine = WithOmega(ctx, "eisenstat", A, omega), sor = WithOmega(ctx, "sor", A, omega);
  PoiseVec r, z, w;
  double size = 0, distance = INFINITY;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(z, &w))) return INFINITY;
  SampleFill(r, 3);
  SampleConstant(z, NAN);
  CHECK_OK(PoisePCApply(mine, r, z));
  CHECK_OK(PoisePCApply(sor, r, w));
  CHECK_OK(PoiseVecNorm(w, POISE_NORM_INF, &size));
  CHECK_OK(PoiseVecAXPBY(z, -1, 2 - omega, w));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &distance));
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&w);
  PoisePCDestroy(&mine);
  PoisePCDestroy(&sor);
  return size > 0 ? distance / size : distance;
}

static void TestNumbers(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 33};
  for (int kind = 0; kind < NKINDS; kind++)
    for (int layout = 0; layout < NLAYOUTS; layout++)
      for (int q = 0; q < 4; q++) {
        Shape s = ShapeOf(ctx, kind, layout, sizes[q]);
        if (kind == FULL) s.diagonal = 40;
        PoiseMat A = Matrix(ctx, &s);
        CHECK_NEAR(Distance(A, omegas[q % 3]), 0, 1e-12);
        PoiseMatDestroy(&A);
      }
}

static void TestBlocks(PoiseContext ctx)
{
  for (int b = 1; b <= 8; b++)
    for (int kind = ANY; kind <= SYMMETRIC; kind++) { /* diagonal blocks: symmetric, and others */
      Shape s;
      PoiseMat A = BlockyShape(ctx, kind, b, 9, 9, &s);
      CHECK_NEAR(Distance(A, omegas[b % 3]), 0, 1e-12);
      PoiseMatDestroy(&A);
    }
}

/* Diagonals that are negative, or whose blocks are indefinite, are divided too. */
static void TestIndefinite(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 40);
  s.weak = 7, s.value = -5;
  PoiseMat A = Matrix(ctx, &s);
  CHECK_NEAR(Distance(A, 1.3), 0, 1e-12);
  PoiseMatDestroy(&A);
  A = BlockyShape(ctx, SYMMETRIC, 3, 8, -6, &s);
  CHECK_NEAR(Distance(A, 0.9), 0, 1e-12);
  PoiseMatDestroy(&A);
}

static void TestFused(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 11, 12, 13, 0);
  PoisePC pc = Make(ctx, "eisenstat", A, NULL);
  CheckFusedApply(pc, true);
  CheckSymmetric(pc);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- the matrix between the sweeps ----------------------------------------------------------- */

/* y = K^-1 A S^-1 x */
static void Compose(PoisePC pc, PoiseVec x, PoiseVec y)
{
  PoiseVec u, v, copy;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &u, &v)) || !CHECK_OK(PoiseVecDuplicate(x, &copy))) return;
  CHECK_OK(PoiseVecCopy(x, copy));
  CHECK_OK(pc->type->out_of(pc, copy, u));
  CHECK_OK(PoiseMatMult(pc->P, u, v));
  CHECK_OK(pc->type->into(pc, v, y));
  PoiseVecDestroy(&u);
  PoiseVecDestroy(&v);
  PoiseVecDestroy(&copy);
}

/* Of B x, and of a B x + b y. */
static void CheckBetween(PoiseMat A, double omega)
{
  PoisePC pc = WithOmega(A->ctx, "eisenstat", A, omega);
  PoiseVec r = NULL, x = NULL, y = NULL, z = NULL;
  double size = 1, distance = INFINITY;
  CHECK_OK(PoisePCSetUp(pc));
  PoiseMat B = pc->type->between(pc, false);
  if (!CHECK(B != NULL) || !CHECK_OK(PoiseMatCreateVecs(A, NULL, &r)) ||
      !CHECK_OK(PoiseMatCreateVecs(B, &x, &y)) || !CHECK_OK(PoiseVecDuplicate(y, &z)))
    return;
  SampleFill(r, 8);
  CHECK_OK(PoiseVecSet(x, 0));
  CHECK_OK(PoiseVecSet(z, 0));
  CHECK_OK(pc->type->into(pc, r, x));
  Compose(pc, x, z);
  CHECK_OK(PoiseMatMult(B, x, y));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &size));
  CHECK_OK(PoiseVecAXPY(y, -1, z));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &distance));
  CHECK(distance <= 1e-12 * size);
  CHECK_OK(PoiseVecCopy(x, y));
  CHECK_OK(PoiseMatMultAdd(B, 0.3, x, -2, y)); /* 0.3 B x - 2 x */
  CHECK_OK(PoiseVecAXPY(y, -0.3, z));
  CHECK_OK(PoiseVecAXPY(y, 2, x));
  CHECK_OK(PoiseVecNorm(y, POISE_NORM_INF, &distance));
  CHECK(distance <= 1e-12 * (size + NormOf(x)));
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
}

static void TestBetween(PoiseContext ctx)
{
  for (int k = 0; k < 3; k++) {
    for (int kind = 0; kind < NKINDS; kind++) {
      Shape s = ShapeOf(ctx, kind, EVEN, 37);
      if (kind == FULL) s.diagonal = 40;
      PoiseMat A = Matrix(ctx, &s);
      CheckBetween(A, omegas[k]);
      PoiseMatDestroy(&A);
    }
    for (int b = 2; b <= 8; b += 3) {
      Shape s;
      PoiseMat A = BlockyShape(ctx, k ? SYMMETRIC : ANY, b, 300 / b, 300, &s);
      CheckBetween(A, omegas[k]);
      PoiseMatDestroy(&A);
    }
    PoiseMat A = Grid(ctx, 17, 16, 15, 0.3);
    CheckBetween(A, omegas[k]);
    PoiseMatDestroy(&A);
  }
}

/* ---- solves ---------------------------------------------------------------------------------- */

static bool Open(PoiseMat A, const char *method, const char *pc, const char *more, Problem *p)
{
  char words[400];
  snprintf(words, sizeof words, "-e_ksp_type %s\n-e_pc_type %s\n-e_pc_sor_order colours\n%s", method, pc,
           more);
  if (!ProblemOpen(A, p)) return false;
  SetOptions(A->ctx, words);
  SampleFill(p->b, 6);
  CHECK_OK(PoiseKSPSetOptionsPrefix(p->ksp, "e_"));
  return CHECK_OK(PoiseKSPSetFromOptions(p->ksp));
}

static void Close(Problem *p)
{
  p->A = NULL;
  ProblemClose(p);
}

/* Solve, and judge: b - A x, and whether it was between the sweeps. */
static PoiseInt Solve(Problem *p, bool between, double tolerance)
{
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK(PoiseKSPConvergedReason(p->ksp) > 0);
  CHECK_INT(p->ksp->between != NULL, between && PoiseSize(p->ksp->ctx) == 1);
  CHECK(ProblemResidual(p) <= tolerance * NormOf(p->b));
  return PoiseKSPIterations(p->ksp);
}

#define TIGHT "-e_ksp_rtol 1e-11"

static void TestMethods(PoiseContext ctx)
{
  static const char *const methods[] = {
      "cg",    "prcg", "fcg",   "minres",    "cr",     "gcr",    "gmres", "fgmres", "bicgstab", "cgs",
      "tfqmr", "idr",  "bcgsl", "chebyshev", "lgmres", "symmlq", "bicg",  "qmr",    "lsqr",     "richardson"};
  PoiseMat A = Grid(ctx, 9, 10, 7, 0);
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    Problem p;
    PoiseKSP known;
    if (PoiseKSPCreate(ctx, &known)) return;
    PoiseErr e = PoiseKSPSetType(known, methods[k]);
    PoiseErrorClear();
    PoiseKSPDestroy(&known);
    if (e) continue; /* other names of other versions */
    bool transposes =
        !strcmp(methods[k], "bicg") || !strcmp(methods[k], "qmr") || !strcmp(methods[k], "lsqr");
    if (!Open(A, methods[k], "eisenstat", TIGHT "\n-e_ksp_max_it 20000", &p)) continue;
    if (!strcmp(methods[k], "prcg") && PoiseSize(ctx) > 1)
      CHECK(PoiseKSPSolve(p.ksp, p.b, p.x) == POISE_ERR_UNSUPPORTED); /* M is then no diagonal */
    else
      Solve(&p, !transposes, 1e-8);
    Close(&p);
  }
  PoiseMatDestroy(&A);
}

/* As many iterations as cg takes with sor, in the same norm. */
static void TestAsMany(PoiseContext ctx)
{
  for (int k = 0; k < 6; k++) {
    PoiseMat A = Grid(ctx, 12, 11, 10, 0);
    Shape s;
    Problem p, q;
    char words[200];
    if (k % 2) PoiseMatDestroy(&A), A = BlockyShape(ctx, SYMMETRIC, 3, 40, 120, &s);
    snprintf(words, sizeof words, "-e_ksp_rtol 1e-9\n-e_pc_sor_omega %g\n-e_pc_eisenstat_omega %g",
             omegas[k / 2], omegas[k / 2]);
    if (!Open(A, "cg", "eisenstat", words, &p) || !Open(A, "cg", "sor", words, &q)) return;
    CHECK_OK(PoiseKSPSetNormType(q.ksp, POISE_KSP_NORM_NATURAL));
    PoiseInt mine = Solve(&p, true, 1e-6), its = Solve(&q, false, 1e-6);
    CHECK(mine >= its - 1 && mine <= its + 1);
    Close(&p);
    Close(&q);
    PoiseMatDestroy(&A);
  }
}

static void TestUnsymmetric(PoiseContext ctx)
{
  static const char *const methods[] = {"bicgstab", "gmres", "idr"};
  for (int k = 0; k < 3; k++) {
    Problem p;
    PoiseMat A = Grid(ctx, 12, 11, 10, 0.4);
    if (!Open(A, methods[k], "eisenstat", TIGHT, &p)) return;
    Solve(&p, true, 1e-8);
    Close(&p);
    PoiseMatDestroy(&A);
  }
}

/* A guess saves iterations, and the tolerance stays that of b. A solution as guess takes none. */
static void TestGuess(PoiseContext ctx)
{
  Problem p;
  PoiseMat A = Grid(ctx, 12, 11, 10, 0);
  if (!Open(A, "cg", "eisenstat", "-e_ksp_rtol 1e-9\n-e_ksp_initial_guess_nonzero 1", &p)) return;
  CHECK_OK(PoiseVecSet(p.x, 0));
  PoiseInt from_zero = Solve(&p, true, 1e-8);
  CHECK_OK(PoiseVecCopy(p.x, p.exact));
  CHECK_OK(PoiseVecSetRandom(p.x, 5));
  CHECK_OK(PoiseVecAXPBY(p.x, 1, 1e-5, p.exact));
  PoiseInt near = Solve(&p, true, 1e-8);
  CHECK(near > 0 && near < from_zero);
  CHECK(ProblemError(&p, 1) <= 1e-7 * NormOf(p.exact));
  CHECK(Solve(&p, true, 1e-8) <= 1);
  CHECK_OK(PoiseVecSet(p.b, 0)); /* x becomes 0, whatever the guess */
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, 1e-12, 1e5, 10000));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(NormOf(p.x) <= 1e-7); /* the tolerance is then of the first norm */
  Close(&p);
  PoiseMatDestroy(&A);
}

/* ---- where M is applied ---------------------------------------------------------------------- */

static PoiseErr Watch(PoiseKSP ksp, PoiseInt iteration, double norm, void *count)
{
  (void)ksp, (void)iteration, (void)norm;
  ++*(int *)count;
  return POISE_OK;
}

static void TestNot(PoiseContext ctx)
{
  static const char *const words[] = {"-e_ksp_norm_type unpreconditioned", "-e_ksp_norm_type preconditioned",
                                      "-e_ksp_norm_type default\n-e_ksp_view_eigenvalues 1",
                                      "-e_ksp_view_eigenvalues 0\n-e_ksp_monitor_true_residual 1"};
  static const char *const why[] = {"a norm is asked for", "a norm is asked for", "eigenvalues",
                                    "the true residual"};
  PoiseMat A = Grid(ctx, 9, 8, 7, 0), P;
  char text[8000];
  Problem p;
  int count = 0;
  for (int k = 0; k < 4; k++) {
    if (!Open(A, "cg", "eisenstat", words[k], &p)) return;
    TEST_PRINTED(ctx, text, sizeof text, PoiseKSPSolve(p.ksp, p.b, p.x));
    TEST_PRINTED(ctx, text, sizeof text, PoiseKSPView(p.ksp));
    CHECK(p.ksp->between == NULL && PoiseKSPConvergedReason(p.ksp) > 0);
    if (PoiseRank(ctx) == 0 && PoiseSize(ctx) == 1) CHECK(strstr(text, why[k]) != NULL);
    Close(&p);
  }
  if (!Open(A, "cg", "eisenstat", TIGHT "\n-e_ksp_monitor_true_residual 0", &p) ||
      !CHECK_OK(PoiseMatDuplicate(A, 1, &P)))
    return;
  CHECK_OK(PoiseKSPSetOperators(p.ksp, A, P));
  Solve(&p, false, 1e-8);
  CHECK_OK(PoiseKSPSetOperators(p.ksp, A, NULL));
  Solve(&p, true, 1e-8);
  CHECK_OK(PoiseKSPAddMonitor(p.ksp, Watch, &count));
  Solve(&p, false, 1e-8);
  CHECK(count > 0);
  Close(&p);
  PoiseMatDestroy(&P);
  PoiseMatDestroy(&A);
}

/* A method for symmetric matrices applies an M that may be indefinite. Others work between the sweeps. */
static void TestMixedSigns(PoiseContext ctx)
{
  static const char *const methods[] = {"minres", "gmres"};
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 40);
  s.weak = 7, s.value = -5;
  PoiseMat A = Matrix(ctx, &s);
  for (int k = 0; k < 2; k++) {
    Problem p;
    if (!Open(A, methods[k], "eisenstat", TIGHT, &p)) return;
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(p.ksp->between != NULL, k && PoiseSize(ctx) == 1);
    if (PoiseKSPConvergedReason(p.ksp) != POISE_DIVERGED_INDEFINITE_PC)
      CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && ProblemResidual(&p) <= 1e-8 * NormOf(p.b));
    Close(&p);
  }
  PoiseMatDestroy(&A);
}

/* Inside another preconditioner it is applied. */
static void TestInside(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 9, 8, 7, 0);
  Problem p;
  if (!Open(A, "cg", "bjacobi", TIGHT "\n-e_sub_ksp_type preonly\n-e_sub_pc_type eisenstat", &p)) return;
  Solve(&p, false, 1e-8);
  Close(&p);
  PoiseMatDestroy(&A);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* New values, other settings, another pattern, another preconditioner and back. */
static void TestChanges(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 9, 8, 7, 0), B = Grid(ctx, 7, 7, 11, 0.2);
  Problem p, q;
  PoisePC pc;
  if (!Open(A, "gmres", "eisenstat", TIGHT, &p)) return;
  Solve(&p, true, 1e-8);
  CHECK_OK(PoiseMatShift(A, 2));
  CHECK_OK(PoiseKSPSetUp(p.ksp));
  CHECK_OK(PoiseMatShift(A, 1));
  int64_t calls = ctx->memory.calls;
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  if (PoiseSize(ctx) == 1) CHECK_INT(ctx->memory.calls, calls);
  PoiseInt shifted = Solve(&p, true, 1e-8);
  SetOptions(ctx, "-e_pc_eisenstat_omega 1.3");
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  Solve(&p, true, 1e-8);
  SetOptions(ctx, "-e_pc_eisenstat_omega 1");
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_INT(Solve(&p, true, 1e-8), shifted);
  CHECK_OK(PoiseKSPGetPC(p.ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  Solve(&p, false, 1e-8);
  CHECK_OK(PoisePCSetType(pc, "eisenstat"));
  CHECK_OK(PoiseKSPSetType(p.ksp, "bicgstab"));
  Solve(&p, true, 1e-8);
  Close(&p);
  if (!Open(A, "bicgstab", "eisenstat", TIGHT, &p) || !ProblemOpen(B, &q)) return;
  Solve(&p, true, 1e-8);
  PoiseKSPDestroy(&q.ksp);
  q.ksp = p.ksp, p.ksp = NULL;
  SampleFill(q.b, 2);
  CHECK_OK(PoiseKSPSetOperators(q.ksp, B, NULL));
  Solve(&q, true, 1e-8);
  Close(&p);
  Close(&q);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestTold(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 11, 10, 0);
  Problem p;
  char text[8000];
  const double *norms;
  PoiseInt n;
  PoiseBytes before, held;
  if (!Open(A, "cg", "eisenstat", "-e_ksp_rtol 1e-9", &p)) return;
  CHECK_OK(PoiseKSPBytes(p.ksp, &before));
  CHECK_OK(PoiseKSPKeepHistory(p.ksp, 1));
  PoiseInt its = Solve(&p, true, 1e-7);
  CHECK_OK(PoiseKSPHistory(p.ksp, &n, &norms));
  if (CHECK_INT(n, its + 1))
    CHECK(norms[its] <= 1e-9 * norms[0] && norms[its] == PoiseKSPResidualNorm(p.ksp));
  CHECK_OK(PoiseKSPBytes(p.ksp, &held));
  CHECK(held.host + held.device >= before.host + before.device + 4 * 8 * PoiseVecLocalSize(p.x));
  TEST_PRINTED(ctx, text, sizeof text, PoiseKSPView(p.ksp));
  if (PoiseRank(ctx) == 0)
    CHECK(strstr(text, PoiseSize(ctx) > 1 ? "not between the sweeps of eisenstat: A is of several ranks"
                                          : "between the sweeps of eisenstat: ") != NULL);
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, 0, 1e5, 3));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
  CHECK_INT(PoiseKSPIterations(p.ksp), 3);
  Close(&p);
  PoiseMatDestroy(&A);
}

static void TestRefused(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 20 * PoiseSize(ctx));
  s.weak = 3, s.value = 0;
  PoiseMat A = Matrix(ctx, &s);
  Problem p;
  if (!Open(A, "cg", "eisenstat", "", &p)) return;
  PoiseErr e = PoiseKSPSetUp(p.ksp);
  if (PoiseRank(ctx) == 0)
    CHECK_ERR(e, POISE_ERR_NUMERIC, "the diagonal entry of row 3 is zero");
  else
    CHECK(e == POISE_ERR_NUMERIC || e == POISE_ERR_REMOTE);
  SetOptions(ctx, "-e_pc_eisenstat_omega 2");
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_ERR(PoiseKSPSetUp(p.ksp), POISE_ERR_OPTION, "pc_eisenstat_omega is 2, not between 0 and 2");
  Close(&p);
  PoiseMatDestroy(&A);
}

/* Several at once are solved one after the other. */
static void TestSeveral(PoiseContext ctx)
{
  enum { MANY = 3 };
  PoiseMat A = Grid(ctx, 9, 8, 7, 0);
  Problem p;
  PoiseVec B, X;
  if (!Open(A, "cg", "eisenstat", TIGHT, &p)) return;
  PoiseInt n = PoiseVecLocalSize(p.b);
  if (!CHECK_OK(PoiseVecCreateBlock(ctx, n, POISE_DECIDE, MANY, &B)) || !CHECK_OK(PoiseVecDuplicate(B, &X)))
    return;
  CHECK_OK(PoiseVecSetRandom(B, 4));
  CHECK_OK(PoiseKSPSolveBlock(p.ksp, B, X));
  for (int k = 0; k < MANY; k++) {
    CHECK_OK(PoiseVecGetColumn(B, k, p.b));
    CHECK_OK(PoiseVecGetColumn(X, k, p.x));
    CHECK(ProblemResidual(&p) <= 1e-8 * NormOf(p.b));
  }
  PoiseVecDestroy(&B);
  PoiseVecDestroy(&X);
  Close(&p);
  PoiseMatDestroy(&A);
}

/* ---- without memory -------------------------------------------------------------------------- */

static PoiseErr SolveAfresh(PoiseContext ctx, void *arg)
{
  const Problem *p = arg;
  PoiseKSP ksp;
  PoisePC pc;
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  PoiseErr e = PoiseKSPSetType(ksp, "cg");
  if (!e) e = PoiseKSPGetPC(ksp, &pc);
  if (!e) e = PoisePCSetType(pc, "eisenstat");
  if (!e) e = PoiseKSPSetOperators(ksp, p->A, NULL);
  if (!e) e = PoiseKSPSetInitialGuessNonzero(ksp, 1);
  if (!e) e = PoiseKSPSolve(ksp, p->b, p->x);
  PoiseKSPDestroy(&ksp);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  Problem p;
  if (!ProblemOpen(Matrix(ctx, &s), &p)) return;
  SampleFill(p.b, 1);
  SampleFill(p.x, 2);
  TestAllocationFailures(ctx, SolveAfresh, &p);
  ProblemClose(&p);
}

static const Test tests[] = {{"numbers", TestNumbers, 0},
                             {"blocks", TestBlocks, 0},
                             {"indefinite", TestIndefinite, 0},
                             {"fused", TestFused, 0},
                             {"between", TestBetween, TEST_SERIAL},
                             {"methods", TestMethods, 0},
                             {"as_many", TestAsMany, 0},
                             {"unsymmetric", TestUnsymmetric, 0},
                             {"guess", TestGuess, 0},
                             {"not", TestNot, 0},
                             {"mixed_signs", TestMixedSigns, 0},
                             {"inside", TestInside, 0},
                             {"changes", TestChanges, 0},
                             {"told", TestTold, 0},
                             {"refused", TestRefused, 0},
                             {"several", TestSeveral, 0},
                             {"memory", TestMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "eisenstat", tests);
}

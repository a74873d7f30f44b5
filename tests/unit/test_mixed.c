/* SPDX-License-Identifier: BSD-3-Clause */
/* -ksp_precision mixed: what is solved and how exactly, what a replacement keeps, when a solve goes on in
   fp64 or works so from the start, and what it says. */
#include "ksp/methods.h"
#include "problem.h"

enum { NX = 30, NY = 24, N = NX * NY, MOST = 3000 };

typedef struct Way {
  const char *method, *pc;
  PoisePCSide side;
  bool symmetric;
} Way;

static const Way ways[] = {
    {"cg", "none", POISE_PC_LEFT, true},
    {"cg", "jacobi", POISE_PC_LEFT, true},
    {"cg", "pbjacobi", POISE_PC_LEFT, true},
    {"cg", "bjacobi", POISE_PC_LEFT, true},
    {"cg", "amg", POISE_PC_LEFT, true},
    {"prcg", "jacobi", POISE_PC_LEFT, true},
    {"bicgstab", "none", POISE_PC_LEFT, false},
    {"bicgstab", "jacobi", POISE_PC_LEFT, false},
    {"bicgstab", "jacobi", POISE_PC_RIGHT, false},
    {"bicgstab", "pbjacobi", POISE_PC_RIGHT, false},
    {"bicgstab", "bjacobi", POISE_PC_RIGHT, false},
    {"bicgstab", "bjacobi", POISE_PC_LEFT, false},
    {"gmres", "jacobi", POISE_PC_LEFT, false},
    {"gmres", "bjacobi", POISE_PC_RIGHT, false},
    {"fgmres", "jacobi", POISE_PC_RIGHT, false},
    {"lgmres", "jacobi", POISE_PC_LEFT, false},
};
enum { NWAYS = sizeof ways / sizeof *ways };

static const char *const types[] = {"csr", "csri", "bcsr"};
enum { NTYPES = sizeof types / sizeof *types };

/* Five points on nx x ny, times factor, with convection unless symmetric. vary: how far coefficients differ,
   which are then no numbers of fp32. */
static PoiseErr Grid(PoiseContext ctx, int nx, int ny, double vary, bool symmetric, double factor,
                     PoiseMat *A)
{
  static const int dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
  PoiseInt begin, m, n = nx * ny;
  PoiseSplit(ctx, n / 2, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, 2 * m, 2 * m, n, n, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = 2 * begin; !e && i < 2 * (begin + m);
       i++) /* Assemble speaks of a failure, to all ranks */
    for (int k = 0; !e && k < 5; k++) {
      PoiseInt x = i % nx + dx[k], y = i / nx + dy[k], j = y * nx + x;
      if (x < 0 || x >= nx || y < 0 || y >= ny) continue;
      double v =
          (k ? -1 : 4) * (1 + vary * TestRandom(1, (uint64_t)i)) * (1 + vary * TestRandom(1, (uint64_t)j));
      if (!symmetric && k) v *= k % 2 ? 1.3 : 0.7;
      v *= factor;
      e = PoiseMatAddBlock(*A, 1, &i, 1, &j, &v);
    }
  POISE_TRY(PoiseMatAssemble(*A));
  return PoiseMatSetBlockSize(*A, 2);
}

static bool Open(PoiseContext ctx, bool mixed, const Way *w, const char *type, double factor, Problem *p)
{
  *p = (Problem){.A = NULL};
  SetOptions(ctx, mixed ? "-ksp_precision mixed" : "-ksp_precision fp64");
  return CHECK_OK(Grid(ctx, NX, NY, 0.4, w->symmetric, factor, &p->A)) &&
         CHECK_OK(PoiseMatSetType(p->A, type)) && CHECK_OK(PoiseMatCreateVecs(p->A, &p->x, &p->b)) &&
         CHECK_OK(PoiseVecSetRandom(p->b, 3)) && CHECK_OK(PoiseKSPCreate(ctx, &p->ksp)) &&
         CHECK_OK(PoiseKSPSetOperators(p->ksp, p->A, NULL)) && CHECK_OK(PoiseKSPSetFromOptions(p->ksp)) &&
         CHECK_OK(PoiseKSPSetType(p->ksp, w->method)) && CHECK_OK(PoiseKSPGetPC(p->ksp, &p->pc)) &&
         CHECK_OK(PoisePCSetType(p->pc, w->pc)) && CHECK_OK(PoiseKSPSetPCSide(p->ksp, w->side)) &&
         CHECK_OK(PoiseKSPKeepHistory(p->ksp, 1)) &&
         CHECK_OK(PoiseKSPSetTolerances(p->ksp, 1e-12, 0, 1e30, MOST));
}

/* Solve, and look at the norms: one for each iteration. */
static void Solve(Problem *p)
{
  const double *h = NULL;
  PoiseInt count = 0;
  CHECK_OK(PoiseKSPSolve(p->ksp, p->b, p->x));
  CHECK_OK(PoiseKSPHistory(p->ksp, &count, &h));
  CHECK_INT(count, PoiseKSPIterations(p->ksp) + 1);
  for (PoiseInt k = 0; k < count; k++) CHECK(h[k] >= 0 && h[k] <= 1e4 * h[0]);
}

static bool Says(const Problem *p, const char *words)
{
  return strstr(PoiseKSPReasonDetail(p->ksp), words) != NULL;
}

/* ---- what is solved -------------------------------------------------------------------------- */

/* Right-hand sides: the iterations of bicgstab for one differ by a third with rounding. */
static int Sides(const Way *w)
{
  return strcmp(w->method, "bicgstab") ? 1 : 5;
}

/* The iterations of all. From the right the tolerance is that of b - A x itself. */
static PoiseInt Iterations(PoiseContext ctx, bool mixed, const Way *w, const char *type)
{
  PoiseInt its = 0;
  Problem p;
  if (!Open(ctx, mixed, w, type, 1, &p)) return 0;
  for (int side = 0; side < Sides(w); side++) {
    CHECK_OK(PoiseVecSetRandom(p.b, 3 + (uint64_t)side));
    Solve(&p);
    its += PoiseKSPIterations(p.ksp);
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
    CHECK(ProblemResidual(&p) <= (w->side == POISE_PC_RIGHT ? 1.01e-12 : 1e-11) * NormOf(p.b));
    if (!CHECK(p.ksp->mixed.active == mixed))
      printf("%s, %s, %s: %s\n", w->method, w->pc, type, PoiseKSPReasonDetail(p.ksp));
    if (mixed && p.ksp->type->wide) CHECK(p.ksp->mixed.replaced > 0);
    CHECK(!Says(&p, "fp64"));
  }
  ProblemClose(&p);
  return its;
}

static void TestConverges(PoiseContext ctx)
{
  for (int k = 0; k < NWAYS * NTYPES; k++) {
    const Way *w = &ways[k / NTYPES];
    const char *type = types[k % NTYPES];
    PoiseInt fp64 = Iterations(ctx, false, w, type), mixed = Iterations(ctx, true, w, type);
    if (!CHECK((double)mixed <= 1.25 * (double)fp64 + 5 * Sides(w)))
      printf("%s, %s: %lld iterations in fp64, %lld mixed\n", w->method, w->pc, (long long)fp64,
             (long long)mixed);
  }
}

/* cg must build a large space, which a method loses that starts afresh from each replaced residual. */
static void TestKeeps(PoiseContext ctx)
{
  enum { SIDE = 80 };
  PoiseInt its[2] = {0};
  for (int mixed = 0; mixed < 2; mixed++) {
    Problem p;
    SetOptions(ctx, mixed ? "-ksp_precision mixed" : "-ksp_precision fp64");
    PoiseMat A;
    if (!CHECK_OK(Grid(ctx, SIDE, SIDE, 0, true, 1.0 / 3, &A)) || !ProblemOpen(A, &p)) return;
    CHECK_OK(PoiseVecSetRandom(p.b, 3));
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, 0, 1e30, MOST));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    its[mixed] = PoiseKSPIterations(p.ksp);
    CHECK(p.ksp->mixed.replaced > 0 || !mixed);
    CHECK(p.ksp->mixed.keeps == (mixed == 1));
    ProblemClose(&p);
  }
  if (!CHECK((double)its[1] <= 1.3 * (double)its[0]))
    printf("%lld iterations, mixed %lld\n", (long long)its[0], (long long)its[1]);
}

/* The bits of fp64 do not depend on a solve before; those of mixed repeat. New values of A are used. */
static void TestRepeats(PoiseContext ctx)
{
  static const Way *const some[] = {&ways[1], &ways[5], &ways[8], &ways[12]};
  for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
    uint64_t bits[2][2];
    for (int turn = 0; turn < 2; turn++)
      for (int mixed = 0; mixed < 2; mixed++) {
        Problem p;
        if (!Open(ctx, mixed, some[k], "csr", 1, &p)) return;
        Solve(&p);
        bits[turn][mixed] = SampleDigest(p.x);
        Solve(&p);
        if (!CHECK(SampleDigest(p.x) == bits[turn][mixed]))
          printf("%s %d: %s\n", some[k]->method, mixed, PoiseKSPReasonDetail(p.ksp));
        CHECK_OK(PoiseMatScale(p.A, 3));
        Solve(&p);
        CHECK(ProblemResidual(&p) <= 1e-11 * NormOf(p.b));
        CHECK_OK(PoiseMatSetType(p.A, "bcsr"));
        Solve(&p);
        CHECK(ProblemResidual(&p) <= 1e-11 * NormOf(p.b));
        ProblemClose(&p);
      }
    for (int mixed = 0; mixed < 2; mixed++) CHECK(bits[0][mixed] == bits[1][mixed]);
    CHECK(bits[0][0] != bits[0][1]);
  }
}

/* Host and mock: the same bits, by a captured loop and without. */
static void TestDevices(PoiseContext ctx)
{
  static const char *const devices[] = {"-device host", "-device mock", "-device mock -ksp_replay 0"};
  (void)ctx;
  for (int w = 0; w < NWAYS; w++) {
    uint64_t bits[3] = {0};
    PoiseInt its[3] = {0};
    for (int k = 0; k < 3; k++) {
      PoiseContext own;
      Problem p;
      if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, devices[k], &own))) return;
      if (Open(own, true, &ways[w], "csr", 1, &p)) {
        CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
        Solve(&p);
        bits[k] = SampleDigest(p.x), its[k] = PoiseKSPIterations(p.ksp);
      }
      ProblemClose(&p);
      CHECK_OK(PoiseFinalize(&own));
      CHECK(bits[k] == bits[0] && its[k] == its[0]);
    }
  }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void TestNumbers(PoiseContext ctx)
{
  static const double sizes[] = {1e-200, 1e-36, 1e-12, 1e12, 1e38, 1e200};
  for (int w = 0; w < NWAYS; w++) {
    Problem p;
    if (!Open(ctx, true, &ways[w], "csr", 1, &p)) return;
    SampleConstant(p.b, NAN);
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_NANORINF);
    SampleConstant(p.b, 0);
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0 && PoiseKSPIterations(p.ksp) == 0);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      CHECK_OK(PoiseVecSetRandom(p.b, 3));
      CHECK_OK(PoiseVecScale(p.b, sizes[k]));
      CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
      CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
      CHECK(p.ksp->mixed.active);
      CHECK_OK(PoiseVecScale(p.b, 1 / sizes[k])); /* whose squares are numbers */
      CHECK_OK(PoiseVecScale(p.x, 1 / sizes[k]));
      CHECK(ProblemResidual(&p) <= 1e-11 * NormOf(p.b));
    }
    ProblemClose(&p);
  }
}

/* A of any size: its values are scaled. Where r and M^-1 r are too far apart, the solve is in fp64. */
static void TestScaledMatrix(PoiseContext ctx)
{
  static const double sizes[] = {1e-60, 1e-20, 1e20, 1e60};
  static const bool far[] = {true, false, false, true};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    Problem p;
    if (!Open(ctx, true, &ways[1], "csr", sizes[k], &p)) return;
    Solve(&p);
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
    CHECK(ProblemResidual(&p) <= 1e-11 * NormOf(p.b));
    CHECK((p.ksp->mixed.left_at == 0) == far[k] && Says(&p, "too far apart for fp32") == far[k]);
    ProblemClose(&p);
  }
}

/* With a guess, a limit of iterations, and a monitor of b - A x. */
static void TestLimits(PoiseContext ctx)
{
  for (int w = 0; w < NWAYS; w++) {
    Problem p;
    if (!Open(ctx, true, &ways[w], "csr", 1, &p)) return;
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, 0, 1e30, 4));
    Solve(&p);
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_DIVERGED_ITS);
    CHECK_INT(PoiseKSPIterations(p.ksp), 4);
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, 0, 1e30, MOST));
    CHECK_OK(PoiseKSPSetInitialGuessNonzero(p.ksp, 1));
    CHECK_OK(PoiseVecSetRandom(p.x, 5));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
    CHECK(ProblemResidual(&p) <= 1e-11 * NormOf(p.b));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(PoiseKSPIterations(p.ksp) <= 2);
    ProblemClose(&p);
  }
}

typedef struct Iterates {
  Problem *p;
  PoiseVec x, r;
  double worst; /* | |b - A x| - norm | / norm of iterates */
} Iterates;

static PoiseErr Compare(PoiseKSP ksp, PoiseInt its, double norm, void *arg)
{
  Iterates *t = arg;
  double residual;
  (void)its;
  POISE_TRY(PoiseKSPBuildSolution(ksp, t->x));
  POISE_TRY(PoiseMatResidual(t->p->A, t->p->b, t->x, t->r));
  POISE_TRY(PoiseVecNorm(t->r, POISE_NORM_2, &residual));
  t->worst = fmax(t->worst, fabs(residual - norm) / norm);
  return POISE_OK;
}

/* A monitor sees iterates with the residuals that norms tell, and to look at them changes nothing. */
static void TestMonitors(PoiseContext ctx)
{
  char text[200000];
  for (int w = 0; w < NWAYS; w++) {
    Problem p;
    Iterates t = {&p, NULL, NULL, 0};
    if (!Open(ctx, true, &ways[w], "csr", 1, &p)) return;
    Solve(&p);
    uint64_t bits = SampleDigest(p.x);
    SetOptions(ctx, "-ksp_replay 0");
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    CHECK_OK(PoiseVecDuplicate(p.x, &t.x));
    CHECK_OK(PoiseVecDuplicate(p.x, &t.r));
    CHECK_OK(PoiseKSPAddMonitor(p.ksp, Compare, &t));
    Solve(&p);
    CHECK(SampleDigest(p.x) == bits);
    /* what fp32 rounds off where the residual of bicgstab rises in between stays: on a GPU it is more */
    bool rises = !strcmp(ways[w].method, "bicgstab") && !strcmp(ctx->device->ops->name, "cuda");
    double most = rises ? 1 : 0.5;
    bool is_true = ways[w].side == POISE_PC_RIGHT || !strcmp(ways[w].pc, "none");
    if (is_true && !CHECK(t.worst <= most)) printf("%s with %s: %g\n", ways[w].method, ways[w].pc, t.worst);
    SetOptions(ctx, "-ksp_monitor_true_residual yes");
    CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
    TEST_PRINTED(ctx, text, sizeof text, PoiseKSPSolve(p.ksp, p.b, p.x));
    SetOptions(ctx, "-ksp_monitor_true_residual no -ksp_replay -1");
    CHECK(SampleDigest(p.x) == bits);
    CHECK_OK(PoiseVecDestroy(&t.x));
    CHECK_OK(PoiseVecDestroy(&t.r));
    ProblemClose(&p);
  }
}

/* Claims end at the tolerance itself, whatever it is. */
static void TestTolerances(PoiseContext ctx)
{
  for (int k = 0; k < 40; k++) {
    double rtol = pow(10, -4 - 0.2 * k);
    Problem p;
    if (!Open(ctx, true, &ways[k % 2 ? 0 : 8], "csr", 1, &p)) return;
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, rtol, 0, 1e30, MOST));
    Solve(&p);
    CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
    if (!CHECK(ProblemResidual(&p) <= 1.001 * rtol * NormOf(p.b)))
      printf("rtol %g: %g\n", rtol, ProblemResidual(&p) / NormOf(p.b));
    ProblemClose(&p);
  }
}

/* ---- fp64 ------------------------------------------------------------------------------------ */

/* Rows so far apart that fp32 has no numbers for the small ones: the solve goes on in fp64, and says so. */
static void TestBeyond(PoiseContext ctx)
{
  PoiseMat A;
  Problem p;
  PoiseInt begin, m;
  PoiseSplit(ctx, N, &begin, &m);
  SetOptions(ctx, "-ksp_precision mixed");
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, N, N, &A))) return;
  for (PoiseInt i = begin; i < begin + m; i++) {
    double v = i % 3 ? 1 : i % 2 ? 1e-50 : 1e50;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &v));
  }
  if (!CHECK_OK(PoiseMatAssemble(A)) || !ProblemOpen(A, &p)) return;
  CHECK_OK(PoiseVecSetRandom(p.b, 3));
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoisePCSetType(p.pc, "jacobi"));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, 0, 1e30, MOST));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
  CHECK(Says(&p, "fp64") && !p.ksp->mixed.active);
  ProblemClose(&p);
}

/* The square of a Laplacian on a line, whose condition fp32 cannot stand: replacements gain nothing, or A is
   indefinite in fp32. */
static void Square(PoiseContext ctx, PoiseInt rows)
{
  static const double v[] = {6, -4, 1};
  Problem p;
  PoiseMat A;
  PoiseInt begin, m;
  PoiseSplit(ctx, rows, &begin, &m);
  SetOptions(ctx, "-ksp_precision mixed");
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, rows, rows, &A))) return;
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = i - 2; j <= i + 2; j++) {
      double s = v[j > i ? j - i : i - j] / 3;
      if (j >= 0 && j < rows) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &s));
    }
  if (!CHECK_OK(PoiseMatAssemble(A)) || !ProblemOpen(A, &p)) return;
  CHECK_OK(PoiseVecSetRandom(p.b, 3));
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-6, 0, 1e30, 100000));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK_INT(PoiseKSPConvergedReason(p.ksp), POISE_CONVERGED_RTOL);
  CHECK(ProblemResidual(&p) <= 1e-5 * NormOf(p.b));
  CHECK(Says(&p, "-ksp_precision mixed went on in fp64 after"));
  ProblemClose(&p);
}

static void TestIllConditioned(PoiseContext ctx)
{
  Square(ctx, 200);
  Square(ctx, 400);
}

static PoiseErr Copy(void *arg, PoiseVec x, PoiseVec y)
{
  (void)arg;
  return PoiseVecCopy(x, y);
}

/* What works in fp64 from the start says why, in the view too. */
static void TestRefuses(PoiseContext ctx)
{
  char text[20000];
  static const Way minres = {"minres", "none", POISE_PC_LEFT, true};
  Problem p;
  if (!Open(ctx, true, &minres, "csr", 1, &p)) return;
  Solve(&p);
  CHECK(Says(&p, "worked in fp64: the method has no form in fp32"));
  TEST_PRINTED(ctx, text, sizeof text, PoiseKSPView(p.ksp));
  if (PoiseRank(ctx) == 0) CHECK(strstr(text, "precision: fp64, though mixed was asked for") != NULL);
  ProblemClose(&p);
  if (!Open(ctx, true, &ways[1], "csr", 1, &p)) return;
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, 0, 1e30, 5));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(Says(&p, "worked in fp64: without a norm"));
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_DEFAULT));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, 0, 1e30, MOST));
  Solve(&p);
  CHECK(p.ksp->mixed.active && PoiseKSPConvergedReason(p.ksp) == POISE_CONVERGED_RTOL);
  TEST_PRINTED(ctx, text, sizeof text, PoiseKSPView(p.ksp));
  if (PoiseRank(ctx) == 0) CHECK(strstr(text, "precision: mixed, the recurrence in fp32") != NULL);
  ProblemClose(&p);
}

/* A shell has no values. */
static void TestShell(PoiseContext ctx)
{
  static const PoiseShell identity = {.mult = Copy};
  Problem p;
  PoiseMat A;
  PoiseInt begin, m;
  PoiseSplit(ctx, N, &begin, &m);
  SetOptions(ctx, "-ksp_precision mixed");
  if (!CHECK_OK(PoiseMatCreateShell(ctx, m, m, N, N, &identity, NULL, &A)) || !ProblemOpen(A, &p)) return;
  CHECK_OK(PoiseVecSetRandom(p.b, 3));
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
  CHECK(Says(&p, "worked in fp64: the type of the matrix has no products in fp32"));
  ProblemClose(&p);
}

static PoiseErr Body(PoiseContext ctx, void *arg)
{
  const Way *w = arg;
  PoiseMat A = NULL;
  PoiseVec x = NULL, b = NULL;
  PoiseKSP ksp = NULL;
  PoisePC pc;
  PoiseErr e = Grid(ctx, NX, NY, 0.4, w->symmetric, 1, &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &b);
  if (!e) e = PoiseAgree(ctx, PoiseVecSetRandom(b, 3));
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e) e = PoiseKSPSetFromOptions(ksp);
  if (!e) e = PoiseKSPSetType(ksp, w->method);
  if (!e) e = PoiseKSPGetPC(ksp, &pc);
  if (!e) e = PoisePCSetType(pc, w->pc);
  if (!e) e = PoiseKSPSetTolerances(ksp, 1e-8, 0, 1e30, MOST);
  if (!e) e = PoiseKSPSolve(ksp, b, x);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&A);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  SetOptions(ctx, "-ksp_precision mixed");
  TestAllocationFailures(ctx, Body, (void *)&ways[1]);
  TestAllocationFailures(ctx, Body, (void *)&ways[12]);
}

static const Test tests[] = {
    {"converges", TestConverges, 0},
    {"keeps", TestKeeps, 0},
    {"repeats", TestRepeats, 0},
    {"devices", TestDevices, TEST_SERIAL | TEST_HOST_ONLY},
    {"numbers", TestNumbers, 0},
    {"scaled_matrix", TestScaledMatrix, 0},
    {"limits", TestLimits, 0},
    {"monitors", TestMonitors, 0},
    {"tolerances", TestTolerances, 0},
    {"beyond", TestBeyond, 0},
    {"ill_conditioned", TestIllConditioned, 0},
    {"refuses", TestRefuses, 0},
    {"shell", TestShell, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "mixed", tests);
}
